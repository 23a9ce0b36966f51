// How far the check is, what it found, and how many states each level has.
import { $, el, grouped, svg } from "./dom.js";

const amount = (bytes) => (bytes > 2 ** 30 ? `${(bytes / 2 ** 30).toFixed(1)} GiB` : `${(bytes / 2 ** 20).toFixed(1)} MiB`);

export function showCheck(status, follow) {
  const { progress } = status;
  const now = status.running
    ? progress.states
      ? `searching: ${grouped(progress.states)} states, ${grouped(progress.speed)} a second, level ${progress.depth}`
      : "searching"
    : "";
  $("searching").textContent = now;
  $("searching").classList.toggle("running", status.running);
  const out = [];
  for (const answer of status.answers) {
    const how = [answer.note].filter(Boolean).join(", ");
    const open = answer.trace === null || answer.trace === undefined ? null : el("button", { class: "link", onclick: () => follow(answer.trace) }, `show the run (${steps(status.traces[answer.trace])})`);
    out.push(el("div", { class: `answer ${answer.verdict}`, title: how }, el("span", { class: "verdict" }, answer.verdict), el("span", { class: "what" }, answer.title), open));
    if (answer.why) out.push(el("pre", { class: "why" }, answer.why));
  }
  if (status.failure) out.push(el("div", { class: "problem" }, status.failure));
  if (status.running && progress.states) {
    out.push(el("div", { class: "quiet" }, `${grouped(progress.states)} states, ${grouped(progress.transitions)} steps, ${grouped(progress.queue)} waiting, ${amount(progress.memory)}, ${progress.seconds.toFixed(0)} s`));
    if (status.samples.length > 1) out.push(curve(status.samples));
  }
  const levels = status.running ? sampledLevels(status.samples) : status.levels.length ? status.levels : (status.survey?.levels ?? []);
  if (levels.length > 1) {
    const whose = status.running ? "so far" : status.levels.length ? "of the first search" : status.survey.complete ? "" : `of the first ${grouped(status.survey.states)} states`;
    out.push(bars(levels), el("div", { class: "quiet" }, `${levels.length} levels ${whose}, the largest with ${grouped(levels.reduce((a, b) => Math.max(a, b)))} states`));
  }
  if (!out.length) out.push(el("p", { class: "quiet" }, status.running ? "searching" : "nothing was asked"));
  $("check").replaceChildren(...out);
}

const steps = (trace) => (trace ? `${trace.steps} step${trace.steps === 1 ? "" : "s"}` : "");

// Levels between two looks at the search share what was found between them.
function sampledLevels(samples) {
  const levels = [];
  let [level, states] = [0, 0];
  for (const [, found, depth] of samples) {
    if (depth < level) return levels;
    const span = Math.max(depth - level, 1);
    for (let at = level; at < Math.max(depth, level + 1) && at - level < 5000; at++) levels[at] = (levels[at] ?? 0) + (found - states) / span;
    [level, states] = [depth, found];
  }
  return levels;
}

function bars(levels) {
  const [width, height, most] = [280, 54, 140];
  const share = Math.ceil(levels.length / most);
  const shown = [];
  for (let at = 0; at < levels.length; at += share) shown.push(levels.slice(at, at + share).reduce((a, b) => Math.max(a, b ?? 0), 0));
  const top = shown.reduce((a, b) => Math.max(a, b), 1);
  const wide = width / shown.length;
  const bar = (size, at) => {
    const tall = Math.max(1, (size / top) * (height - 2));
    return svg("rect", { x: at * wide, y: height - tall, width: Math.max(0.5, wide - (wide > 3 ? 1 : 0)), height: tall }, svg("title", {}, `level ${at * share}: ${grouped(size)} states`));
  };
  return svg("svg", { class: "levels", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": "states by level" }, ...shown.map(bar));
}

function curve(samples) {
  const [width, height] = [280, 30];
  const last = samples.at(-1)[0] || 1;
  const top = samples.reduce((a, s) => Math.max(a, s[3]), 1);
  const points = samples.map(([seconds, , , speed]) => `${((seconds / last) * width).toFixed(1)},${(height - 1 - (speed / top) * (height - 3)).toFixed(1)}`);
  return svg("svg", { class: "speed", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": "states a second" }, svg("polyline", { points: points.join(" ") }));
}
