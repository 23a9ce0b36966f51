// The page: one run with a current state, and everything around it.
import { ask, live, wanted } from "./api.js";
import { $, applied, changesOf, dot, el, content } from "./dom.js";
import { Graph } from "./graph.js";
import { Source } from "./source.js";
import { sequenceChart, table } from "./chart.js";
import { setView } from "./sets.js";
import { showCheck } from "./progress.js";

let model, source, graph, status;
// The run that is shown: {initial, values, steps, cycle, word, title, trace}; `at` steps of it are taken.
let run, at;
let state = null;
let drawnRun = null;
let asChart = false;
let showAll = false;
// Answers about states do not change.
const states = new Map();
// Numbers of what was asked last: late answers to older questions are dropped.
let turn = 0;

const how = () => `question=${$("question").value}&algorithm=${$("algorithm").value}&relations=${$("relations").value}`;
const stateAt = (position) => (position ? run.steps[position - 1].to : run.initial);

function complain(error) {
  $("message").textContent = error.message ?? String(error);
  $("message").hidden = false;
}

const attempt = (work) => async (...given) => {
  try {
    $("message").hidden = true;
    return await work(...given);
  } catch (error) {
    complain(error);
  } finally {
    document.body.dataset.turn = ++turn;
  }
};

async function stateOf(id) {
  if (!states.has(id)) states.set(id, await ask(`state/${id}`));
  return states.get(id);
}

// ---- the run ----

async function startRun(parts) {
  const first = await stateOf(parts.initial);
  run = { cycle: null, word: null, trace: null, title: "by hand", ...parts, values: first.values };
}

const go = attempt(async (position) => {
  at = Math.max(0, Math.min(position, run.steps.length));
  const here = await stateOf(stateAt(at));
  state = here;
  renderRun();
  renderState();
  renderSource();
  growAround();
  await showSet();
});

// Takes a step of the current state. Where the run goes on differently, it is left.
const take = attempt(async (number) => {
  const step = state.steps[number];
  if (!step) return;
  const next = run.steps[at];
  if (next?.transition === step.transition && next.to === step.to) return go(at + 1);
  if (run.trace !== null) run.title = `by hand, left “${run.title}” after ${at} steps`;
  Object.assign(run, { steps: [...run.steps.slice(0, at), step], cycle: null, word: null, trace: null });
  await go(at + 1);
});

const undo = attempt(async () => {
  if (!at) return;
  if (run.trace !== null) return go(at - 1);
  run.steps = run.steps.slice(0, at - 1);
  await go(at - 1);
});

const follow = attempt(async (number, position) => {
  const trace = await ask(`trace/${number}`);
  await startRun({ ...trace, trace: number });
  if (trace.question !== null && trace.question !== Number($("question").value)) {
    $("question").value = trace.question;
    chooseUsual();
    graph.forgetLeft();
  }
  let from = trace.initial;
  for (const step of trace.steps) {
    graph.edge(from, step.transition, step.to);
    from = step.to;
  }
  await go(position ?? trace.steps.length);
  if (trace.cut) complain(`the run has ${trace.cut} steps; the first ${trace.steps.length} are shown`);
  graph.show(true);
});

// Goes to a state of the graph: along the run, by a step, or by the shortest way that is known.
const visit = attempt(async (id) => {
  const number = state.steps.findIndex((step) => step.to === id);
  if (number >= 0) return take(number);
  for (let position = 0; position <= run.steps.length; position++) if (stateAt(position) === id) return go(position);
  const way = graph.way(id);
  if (!way) return;
  const initial = way.length ? way[0][0] : id;
  const all = await Promise.all(way.map(([from]) => stateOf(from)));
  const steps = way.map(([, transition, to], place) => all[place].steps.find((s) => s.transition === transition && s.to === to));
  await startRun({ initial, steps });
  await go(steps.length);
});

// ---- what is shown ----

function renderRun() {
  const box = $("run");
  // Long runs are drawn once, and marked.
  if (drawnRun?.of !== run.steps || drawnRun.chart !== asChart) {
    drawnRun = { of: run.steps, chart: asChart, ...(asChart ? sequenceChart : table)(model, run, go) };
    box.replaceChildren(drawnRun.shown);
  }
  drawnRun.marked.forEach((line, position) => {
    line?.classList.toggle("at", position === at);
    line?.classList.toggle("ahead", position > at);
  });
  drawnRun.marked[at]?.scrollIntoView?.({ block: "nearest" });
  const own = run.trace === null ? [el("option", { value: "", selected: true }, run.title)] : [el("option", { value: "" }, "by hand, from here")];
  const traces = (status?.traces ?? []).map((trace, number) => el("option", { value: number, selected: run.trace === number }, `${trace.title} (${trace.steps})`));
  $("traces").replaceChildren(...own, ...traces);
  $("position").textContent = `${stateAt(at)}, after ${at} of ${run.steps.length} steps`;
  $("back").disabled = $("first").disabled = !at;
  $("forth").disabled = $("last").disabled = at === run.steps.length;
}

function renderState() {
  const { values } = state;
  const last = at ? new Set(run.steps[at - 1].changes.map(([field]) => field)) : new Set();
  const value = (field) => el("span", { class: `value${last.has(field) ? " changed" : ""}` }, `${model.fields[field].name.replace(/^.*\.(?=[^.\]]+$)/, "")} = ${values[field]}`);
  const shown = (field) => showAll || last.has(field) || !["0", "false", "", "[]", "{}"].includes(values[field]);
  const own = (process) => model.fields.map((field, number) => ({ ...field, number })).filter((field) => field.kind === "value" && field.process === process).filter((field) => shown(field.number));
  const rows = [];
  if (state.error) rows.push(el("div", { class: "problem" }, "The last step has failed: runs end here."));
  for (const number of state.violated) rows.push(el("div", { class: "problem" }, `violated here: ${model.questions[number].name}`));
  model.processes.forEach((process, number) => {
    const place = process.location === null ? null : el("span", { class: `location${last.has(process.location) ? " changed" : ""}` }, values[process.location]);
    const fields = own(number).map((field) => value(field.number));
    rows.push(el("div", { class: "process" }, el("span", { class: "whose" }, dot([number]), process.name), el("span", { class: "fields" }, place, ...fields)));
  });
  const shared = own(null).map((field) => value(field.number));
  if (shared.length) rows.push(el("div", { class: "process" }, el("span", { class: "whose" }, model.processes.length ? "shared" : "state"), el("span", { class: "fields" }, ...shared)));
  model.channels.forEach((channel, number) => {
    const messages = content(model, number, values);
    const touched = [channel.length, ...channel.cells.flat()].some((field) => last.has(field));
    if (messages.length || showAll || touched) rows.push(el("div", { class: "process" }, el("span", { class: "whose" }, channel.name), el("span", { class: "fields" }, el("span", { class: `value${touched ? " changed" : ""}` }, `[${messages.join(", ")}]`))));
  });
  const all = el("label", { class: "quiet all" }, el("input", { type: "checkbox", checked: showAll, onchange: (event) => { showAll = event.target.checked; renderState(); } }), " also what is 0 or empty");
  const steps = state.steps.map((step, number) => {
    const transition = model.transitions[step.transition];
    const changes = changesOf(model, step, values, applied(values, step.changes));
    const planned = run.steps[at]?.transition === step.transition && run.steps[at].to === step.to;
    const left = graph.nodes.get(state.state)?.left?.has(step.transition);
    return el(
      "li",
      { class: `${planned ? "planned " : ""}${left ? "left" : ""}`, onclick: () => take(number) },
      el("button", { class: "step", "aria-label": `take step ${number + 1}` }, String(number + 1)),
      el(
        "span",
        { class: "what" },
        el("span", { class: "name" }, dot(transition.processes), transition.title),
        el("span", { class: "changes" }, changes.join(", "), ...(step.problems ?? []).map((text) => el("div", { class: "problem" }, text))),
      ),
      left ? el("span", { class: "tag left" }, "left out") : planned ? el("span", { class: "tag" }, "next") : null,
    );
  });
  const over = state.steps.length || state.error ? [] : [el("pre", { class: "over" }, state.over ?? "No step is possible here.")];
  $("state").replaceChildren(...rows, all, el("h3", {}, state.steps.length ? `${state.steps.length} possible step${state.steps.length > 1 ? "s" : ""}` : "The run ends here"), ...over, el("ol", { class: "steps" }, ...steps));
}

function renderSource() {
  const enabled = new Map(state.steps.map((step) => [step.transition, step]));
  const left = graph.nodes.get(state.state)?.left;
  const next = run.steps[at]?.transition;
  const marks = [];
  model.transitions.forEach((transition, number) => {
    if (!transition.place) return;
    const waits = transition.processes.some((process, place) => transition.sources[place] !== null && transition.sources[place] !== undefined && transition.sources[place] === state.locations[process]);
    const kind = number === next ? "next" : enabled.has(number) ? (left?.has(number) ? "left" : "can") : waits ? "waits" : null;
    if (kind) marks.push({ place: transition.place, kind, process: transition.processes[0] });
  });
  source.mark(marks);
}

function growAround() {
  graph.expand(state.state, state.steps.map((step) => [step.transition, step.to]), { error: state.error, bad: state.violated.length > 0 });
  graph.current = state.state;
  graph.path = run.steps.slice(0, at).map((step, place) => [stateAt(place), step.transition, step.to]);
  graph.show();
}

async function showSet() {
  const [here, asked] = [state, how()];
  $("set").classList.add("old");
  try {
    const set = await ask(`set/${here.state}?${asked}`);
    if (state !== here || asked !== how()) return;
    graph.leave(here.state, set.enabled.filter((t) => !set.kept.includes(t)));
    const jump = (to, kept, leftOut) => {
      const one = here.steps.find((step) => step.transition === kept);
      const other = here.steps.find((step) => step.transition === leftOut);
      if (one) graph.edge(one.to, leftOut, to);
      if (other) graph.edge(other.to, kept, to);
      return visit(to);
    };
    $("set").replaceChildren(...setView(model, here, set, { take, jump }));
    renderState();
    renderSource();
    graph.paint();
  } catch (error) {
    $("set").replaceChildren(el("p", { class: "quiet" }, error.message));
  } finally {
    $("set").classList.remove("old");
  }
}

// ---- the graph ----

// How far the graph was grown around each state: twice as far each time.
const reaches = new Map();

const grow = attempt(async (from = state.state, most = Math.min(2 * (reaches.get(from) ?? 30), 5000)) => {
  reaches.set(from, most);
  const reduced = $("reduced").checked ? 1 : 0;
  const grown = await ask(`grow?from=${from}&most=${most}&reduced=${reduced}&${how()}`);
  put(grown);
  graph.show();
});

function put(grown) {
  for (const one of grown.states) {
    graph.expand(one.state, one.steps, { error: one.error ?? false });
    graph.leave(one.state, one.left ?? []);
  }
}

// What a report knows of the graph around the start.
async function growRecorded() {
  try {
    put(await ask(`grow?from=${model.initial[0]}&most=150&reduced=0&${how()}`));
  } catch {
    // It has none for this question.
  }
}

// Another question or algorithm: what is left out changes in all states.
const choose = attempt(async () => {
  graph.forgetLeft();
  await showSet();
  if (!live) return;
  const known = [...graph.nodes.values()].filter((node) => node.steps).map((node) => node.id);
  const asked = how();
  for (let from = 0; from < known.length; from += 1000) {
    const left = await ask(`kept?${asked}`, known.slice(from, from + 1000).join(" "));
    if (asked !== how()) return;
    for (const [id, transitions] of Object.entries(left)) graph.leave(Number(id), transitions);
    graph.paint();
  }
});

function chooseUsual() {
  $("algorithm").value = model.questions[$("question").value]?.algorithm ?? "beam";
}

function cycle(select, changed) {
  select.selectedIndex = (select.selectedIndex + 1) % select.options.length;
  changed();
}

// ---- everything else ----

function draw(chart) {
  asChart = chart;
  $("as-table").setAttribute("aria-pressed", !chart);
  $("as-chart").setAttribute("aria-pressed", chart);
  renderRun();
}

const find = attempt(async (text) => {
  $("searching").textContent = `looking for ${text}`;
  const { trace } = await ask("find", text);
  if (trace === null) throw new Error(`no reachable state satisfies ${text}`);
  await look();
  await follow(trace);
});

const open = attempt(async (text) => {
  const { trace } = await ask("follow", text);
  await look();
  await follow(trace, 0);
});

const save = attempt(async () => {
  const words = [run.initial, ...run.steps.map((step) => `${step.transition}:${step.to}`)];
  const { file } = await ask("save", words.join(" "));
  const link = el("a", { href: URL.createObjectURL(new Blob([file], { type: "application/json" })), download: "run.json" });
  link.click();
  URL.revokeObjectURL(link.href);
});

async function look() {
  status = await ask("status");
  showCheck(status, follow);
  source?.cover(status.survey);
  if (run) renderRun();
  return status;
}

// While a check runs, looks again and again; opens its first counterexample if nobody has moved yet.
async function watch() {
  const before = status.generation;
  while (live && (status.running || !status.survey)) {
    await new Promise((done) => setTimeout(done, 400));
    try {
      await look();
    } catch (error) {
      complain(error);
      return;
    }
    if (status.generation !== before) return start();
  }
  if (!at && !run.steps.length && status.traces.length) await follow(0);
}

async function start() {
  states.clear();
  [model, status] = await Promise.all([ask("model"), ask("status")]);
  $("name").textContent = model.name.split(/[\\/]/).pop();
  $("name").title = model.name;
  $("language").textContent = model.language;
  document.title = `${$("name").textContent} - stubborn`;
  $("question").replaceChildren(...model.questions.map((question, number) => el("option", { value: number, title: question.name }, question.name)));
  $("algorithm").replaceChildren(el("option", { value: "none" }, "none"), ...model.algorithms.map((algorithm) => el("option", { value: algorithm.name, title: algorithm.about }, algorithm.name)));
  $("relations").replaceChildren(...model.relations.map((level) => el("option", { value: level, selected: level === "reach" }, level)));
  chooseUsual();
  $("expression").placeholder = model.finds ? "find a state: an expression of the model" : "find a state: field=value, or a text";
  source = new Source(model);
  graph = graph ?? new Graph($("graph"), { pick: visit, grow });
  Object.assign(graph, { nodes: new Map(), roots: model.initial, names: (t) => model.transitions[t].title });
  showCheck(status, follow);
  source.cover(status.survey);
  for (const one of document.querySelectorAll(".live, #find")) one.hidden = !live;
  for (const one of ["open", "save"]) $(one).hidden ||= !model.follows;
  await startRun({ initial: model.initial[0], steps: [] });
  await wishes();
  graph.show(true);
  document.body.dataset.painted = "yes";
  watch();
}

// What an address may ask for behind its token: `?trace=0&at=3&algorithm=deletion&keys=g,1`.
async function wishes() {
  for (const name of ["question", "algorithm", "relations"]) {
    if (wanted.has(name)) $(name).value = wanted.get(name);
    if (name === "question" && wanted.has(name) && !wanted.has("algorithm")) chooseUsual();
  }
  if (!live) await growRecorded();
  const trace = Number(wanted.get("trace") ?? -1);
  if (status.traces[trace]) await follow(trace, wanted.has("at") ? Number(wanted.get("at")) : undefined);
  else if (status.traces.length && !status.running && !wanted.has("start")) await follow(0);
  else {
    await go(0);
    if (live && model.questions.length) await grow(model.initial[0], 40);
    graph.fit();
  }
  for (const key of wanted.get("keys")?.split(",") ?? []) {
    await press(key);
    document.body.dataset.keys = key;
  }
  if (wanted.has("grow")) await grow(model.initial[0], Number(wanted.get("grow")));
  if (wanted.has("find")) await find(wanted.get("find"));
  if (wanted.has("fit")) graph.fit();
}

async function press(key) {
  if (/^[1-9]$/.test(key)) return take(Number(key) - 1);
  const does = {
    ArrowLeft: () => go(at - 1),
    ArrowRight: () => go(at + 1),
    Home: () => go(0),
    End: () => go(run.steps.length),
    u: undo,
    r: () => state.steps.length && take(Math.floor(Math.random() * state.steps.length)),
    g: () => grow(),
    f: () => graph.fit(),
    c: () => graph.show(true),
    "+": () => graph.zoomBy(1.25),
    "-": () => graph.zoomBy(0.8),
    k: () => $("reduced").click(),
    t: () => draw(!asChart),
    a: () => cycle($("algorithm"), choose),
    q: () => cycle($("question"), () => { chooseUsual(); choose(); }),
    l: () => cycle($("relations"), choose),
    "/": () => $("expression").focus(),
    "?": () => $("keys").showModal(),
  }[key];
  return does && (await does(), true);
}

document.addEventListener("keydown", async (event) => {
  const field = event.target.closest?.("input, select, dialog");
  if (event.key === "Escape") return event.target.blur?.();
  if (field || event.ctrlKey || event.metaKey || event.altKey || !model) return;
  if (/^([1-9]|Arrow(Left|Right)|Home|End|[urgfcktaql+\-/?])$/.test(event.key)) {
    event.preventDefault();
    await press(event.key);
  }
});
$("find").addEventListener("submit", (event) => {
  event.preventDefault();
  if ($("expression").value.trim()) find($("expression").value.trim());
});
$("open").onclick = () => $("file").click();
$("file").onchange = async () => $("file").files[0] && open(await $("file").files[0].text());
$("save").onclick = save;
$("helper").onclick = () => $("keys").showModal();
$("first").onclick = () => go(0);
$("back").onclick = () => go(at - 1);
$("forth").onclick = () => go(at + 1);
$("last").onclick = () => go(run.steps.length);
$("random").onclick = () => press("r");
$("grow").onclick = () => grow();
$("fit").onclick = () => graph.fit();
$("here").onclick = () => graph.show(true);
$("reduced").onchange = () => {
  graph.onlyKept = $("reduced").checked;
  graph.stale = true;
  graph.show();
};
$("as-table").onclick = () => draw(false);
$("as-chart").onclick = () => draw(true);
$("question").onchange = () => {
  chooseUsual();
  choose();
};
$("algorithm").onchange = $("relations").onchange = choose;
$("traces").onchange = () => ($("traces").value === "" ? ((run.trace = null), (run.title = "by hand"), renderRun()) : follow(Number($("traces").value)));
start().catch(complain);
