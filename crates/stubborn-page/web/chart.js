// A run as a table of what changed, or as a message sequence chart (ITU-T Z.120 has the notation):
// time goes down, every process has a line, messages are arrows from where they were sent to where
// they were received.
import { applied, changesOf, content, dot, el, hue, svg } from "./dom.js";

const COLUMN = 150;
const ROW = 26;
const HEAD = 34;

const shortened = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

// run: {values, steps, cycle, word}; all states before each step are made from the first one.
function* walked(run) {
  let values = run.values;
  for (const [at, step] of run.steps.entries()) {
    const after = applied(values, step.changes);
    yield { at, step, before: values, after };
    values = after;
  }
}

export function table(model, run, go) {
  const { word } = run;
  const shown = word ? word.propositions.map((name, at) => ({ name, at })).slice(0, 12) : [];
  const head = el("div", { class: "row head" }, el("span", {}, ""), el("span", {}, "step"), el("span", {}, "what changed"));
  for (const { name } of shown) head.append(el("span", { class: "truth", title: name }, shortened(name, 40)));
  if (word) head.append(el("span", { class: "truth", title: "states of the automaton of violating runs" }, "automaton"));
  const rows = [head];
  const marked = [];
  const truths = (state) => {
    if (!word) return [];
    const at = run.cycle !== null && state === run.steps.length ? run.cycle : state;
    const letter = word.truth[at];
    const cells = shown.map((p) => {
      const holds = letter?.[p.at];
      return el("span", { class: `truth ${holds ? "yes" : "nope"}`, title: `${p.name} is ${holds ? "true" : "false"} after this step` }, holds ? "●" : "○");
    });
    const states = word.automaton[at] ?? [];
    const marked = word.accepting[at] ? " accepting" : "";
    return [...cells, el("span", { class: `truth automaton${marked}`, title: marked ? "it collects a mark of acceptance here" : undefined }, states.join(" "))];
  };
  const row = (state, ...cells) => {
    const inLoop = run.cycle !== null && state > run.cycle;
    const line = el("div", { class: `row${inLoop ? " loop" : ""}`, onclick: () => go(state) }, ...cells, ...truths(state));
    rows.push(line);
    marked.push(line);
  };
  row(0, el("span", { class: "no" }, ""), el("span", { class: "who" }, "start"), el("span", {}));
  for (const { at, step, before, after } of walked(run)) {
    if (at === run.cycle) rows.push(el("div", { class: "row turn" }, el("span", {}, "↻"), el("span", {}, "then for ever")));
    const transition = model.transitions[step.transition];
    const changes = changesOf(model, step, before, after);
    const problems = (step.problems ?? []).map((text) => el("div", { class: "problem" }, text));
    const name = el("span", { class: "who" }, dot(transition.processes), transition.title);
    row(at + 1, el("span", { class: "no" }, String(at + 1)), name, el("span", { class: "changes" }, changes.join(", "), ...problems));
  }
  if (run.cycle !== null) {
    rows.push(el("div", { class: "row turn" }, el("span", {}, "↻"), el("span", {}, run.cycle ? `back to the state after step ${run.cycle}` : "back to the start")));
  }
  const columns = `2.2em minmax(11em, 1.3fr) minmax(8em, 1.3fr)${" 5.5em".repeat(word ? shown.length + 1 : 0)}`;
  return { shown: el("div", { class: run.steps.length > 500 ? "long table" : "table", style: `--columns:${columns}` }, ...rows), marked };
}

export function sequenceChart(model, run, go) {
  const movers = new Set();
  for (const step of run.steps) {
    for (const process of model.transitions[step.transition].processes) movers.add(process);
    for (const [from, to] of step.arrows ?? []) movers.add(from).add(to);
  }
  const columns = new Map([...movers].sort((a, b) => a - b).map((process, at) => [process, at]));
  const x = (process) => 60 + (columns.get(process) ?? 0) * COLUMN + COLUMN / 2;
  const y = (at) => HEAD + (at + 1) * ROW;
  const width = 60 + Math.max(columns.size, 1) * COLUMN + 60;
  const height = HEAD + (run.steps.length + 2) * ROW;
  const marks = [];
  const lines = [];
  const marked = [null];
  const waiting = model.channels.map(() => []);
  const arrow = (from, to, text, loop) => {
    const [x1, y1, x2, y2] = [x(from.process), from.y, x(to.process), to.y];
    const bow = x1 === x2 ? `M${x1},${y1} C${x1 + 40},${y1} ${x1 + 40},${y2} ${x2 + 3},${y2}` : `M${x1},${y1} L${x2},${y2}`;
    marks.push(svg("path", { d: bow, class: `arrow${loop ? " loop" : ""}`, "marker-end": "url(#tip)" }));
    const across = x1 === x2 ? x1 + 44 : (x1 + x2) / 2;
    marks.push(svg("text", { x: across, y: (y1 + y2) / 2 - 4, "text-anchor": x1 === x2 ? "start" : "middle" }, shortened(text, 28)));
  };
  for (const { at, step, before, after } of walked(run)) {
    const transition = model.transitions[step.transition];
    const here = { process: transition.processes[0] ?? step.arrows?.[0]?.[1], y: y(at) };
    const loop = run.cycle !== null && at >= run.cycle;
    const band = svg("rect", { x: 0, y: y(at) - ROW / 2, width, height: ROW, class: `band${loop ? " loop" : ""}`, onclick: () => go(at + 1) });
    lines.push(band, svg("text", { x: 10, y: y(at) + 4, class: "no" }, String(at + 1)));
    marked.push(band);
    if (here.process === undefined) {
      marks.push(svg("text", { x: 60, y: y(at) + 4 }, transition.title));
      continue;
    }
    const label = shortened(transition.title.replace(/^[^:]*: */, ""), 24);
    let said = false;
    if (transition.processes.length > 1) {
      arrow(here, { process: transition.processes[1], y: y(at) }, label, loop);
      said = true;
    }
    const actor = { process: transition.processes.at(-1) ?? here.process, y: y(at) };
    for (const [from, to, text] of step.arrows ?? []) {
      if (from !== to) arrow({ process: from, y: y(at) - ROW * 0.45 }, { process: to, y: y(at) }, text, loop);
      said = from !== to;
    }
    const channels = new Set(step.changes.map(([field]) => model.fields[field].channel).filter((c) => c !== null));
    for (const channel of channels) {
      const [old, now] = [content(model, channel, before), content(model, channel, after)];
      const queue = waiting[channel];
      const name = model.channels[channel].name;
      const gone = now.length < old.length ? old.findIndex((message, place) => message !== now[place]) : -1;
      if (gone >= 0) {
        const [sent] = queue.splice(gone, 1);
        if (sent) arrow(sent, actor, `${name}: ${old[gone]}`, loop);
        said = true;
      }
      if (now.length > old.length) {
        let place = now.findIndex((message, number) => message !== old[number]);
        if (place < 0) place = old.length;
        queue.splice(place, 0, { ...actor, text: `${name}: ${now[place]}` });
        marks.push(svg("circle", { cx: x(actor.process), cy: y(at), r: 3, style: `fill:hsl(${hue(actor.process)} 60% 50%)` }));
        said = true;
      }
    }
    if (!said) {
      marks.push(svg("circle", { cx: x(here.process), cy: y(at), r: 3, style: `fill:hsl(${hue(here.process)} 60% 50%)` }), svg("text", { x: x(here.process) + 8, y: y(at) + 4, class: "quiet" }, label));
    }
    for (const problem of step.problems ?? []) marks.push(svg("text", { x: x(here.process) + 8, y: y(at) + 15, class: "problem" }, problem));
  }
  // What nobody received ends in an open circle.
  for (const sent of waiting.flat()) {
    const from = x(sent.process);
    marks.push(
      svg("path", { d: `M${from},${sent.y} h36`, class: "arrow" }),
      svg("circle", { cx: from + 40, cy: sent.y, r: 4, class: "lost" }),
      svg("text", { x: from + 8, y: sent.y - 4 }, shortened(sent.text, 24)),
    );
  }
  const heads = [...columns.keys()].map((process) =>
    svg("g", {}, svg("line", { x1: x(process), x2: x(process), y1: HEAD - 6, y2: height - ROW, class: "life" }), svg("rect", { x: x(process) - 62, y: 4, width: 124, height: 24, rx: 4, class: "who", style: `--hue:${hue(process)}` }), svg("text", { x: x(process), y: 20, "text-anchor": "middle" }, shortened(model.processes[process].name, 18))),
  );
  const turn = run.cycle === null ? [] : [svg("text", { x: 10, y: height - 8, class: "turn" }, run.cycle ? `↻ back to the state after step ${run.cycle}` : "↻ back to the start")];
  const tip = svg("marker", { id: "tip", markerWidth: 8, markerHeight: 8, refX: 7, refY: 4, orient: "auto" }, svg("path", { d: "M0,0 L8,4 L0,8 z", class: "tip" }));
  const shown = svg("svg", { class: "chart", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "message sequence chart" }, svg("defs", {}, tip), ...lines, ...heads, ...marks, ...turn);
  return { shown, marked };
}
