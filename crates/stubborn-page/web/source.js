// The model's text: where processes are, what the next step is, what was never taken.
import { $, el, hue } from "./dom.js";

export class Source {
  constructor(model) {
    this.model = model;
    this.file = 0;
    this.marked = new Set();
    this.byFile = model.files.map(() => new Map());
    model.transitions.forEach((transition, at) => {
      if (!transition.place) return;
      const [file, line] = transition.place;
      const lines = this.byFile[file];
      if (!lines.has(line)) lines.set(line, []);
      lines.get(line).push(at);
    });
    const select = $("files");
    // Texts without steps are those of properties.
    const shown = model.files.map((file, at) => ({ name: file.name, at })).filter(({ at }) => !at || this.byFile[at].size);
    select.hidden = shown.length < 2;
    select.replaceChildren(...shown.map(({ name, at }) => el("option", { value: at }, name)));
    select.onchange = () => this.open(Number(select.value));
    $("source-panel").hidden = !model.files.length;
    document.querySelector("main").classList.toggle("bare", !model.files.length);
    if (model.files.length) this.open(0);
  }

  open(file) {
    this.file = file;
    $("files").value = file;
    this.texts = this.model.files[file].text.split("\n");
    this.lines = this.texts.map((text, at) =>
      el("div", { class: "line" }, el("span", { class: "margin" }), el("span", { class: "no" }, String(at + 1)), el("code", {}, text || " ")),
    );
    const cut = this.model.files[file].cut ? [el("p", { class: "quiet" }, "the rest is too long to be shown")] : [];
    $("source").replaceChildren(...this.lines, ...cut);
    this.marked.clear();
    this.cover(this.survey);
    this.mark(this.marks ?? []);
  }

  // What a look at the first states says about which statements are ever taken.
  cover(survey) {
    this.survey = survey;
    if (!survey || !this.lines) return;
    const places = this.model.transitions.map((t, at) => t.place && [t.place[0], t.place[1], survey.fired[at]]);
    const lines = new Map();
    for (const [file, line, taken] of (survey.statements ?? places).filter(Boolean)) {
      const key = `${file}:${line}`;
      if (!lines.has(key)) lines.set(key, { file, line, all: 0, taken: 0 });
      lines.get(key).all += 1;
      lines.get(key).taken += taken;
    }
    const unit = survey.statements ? "statements" : "transitions";
    const seen = survey.complete ? `all ${survey.states.toLocaleString("en")} states` : `the first ${survey.states.toLocaleString("en")} states`;
    for (const { file, line, all, taken } of lines.values()) {
      if (file !== this.file || !this.lines[line - 1]) continue;
      const margin = this.lines[line - 1].firstChild;
      // Copies of a process share their text: one that is taken is enough, unless these are statements.
      const kind = !taken ? "never" : survey.statements && taken < all ? "partly" : "taken";
      margin.className = `margin ${kind}`;
      margin.title = taken ? `${taken} of ${all} ${unit} of this line are taken` : `not taken in ${seen}`;
    }
    const never = [...lines.values()].filter((line) => !line.taken).length;
    $("coverage").textContent = never ? `${never} of ${lines.size} lines with steps are not taken in ${seen}` : `every line with steps is taken in ${seen}`;
  }

  // marks: [{place, kind, process}], kind one of waits, can, left, next.
  mark(marks) {
    this.marks = marks;
    if (!this.lines) return;
    for (const line of this.marked) this.lines[line].lastChild.replaceChildren(this.texts[line] || " ");
    for (const line of this.marked) this.lines[line].classList.remove("here");
    this.marked.clear();
    const next = marks.find((mark) => mark.kind === "next") ?? marks[0];
    if (next && next.place[0] !== this.file) {
      this.open(next.place[0]);
      return;
    }
    const spans = new Map();
    for (const { place, kind, process } of marks) {
      const [file, from, column, to, end] = place;
      if (file !== this.file) continue;
      for (let line = from; line <= Math.min(to, from + 30); line++) {
        const text = this.texts[line - 1];
        if (text === undefined) break;
        const start = Math.max(line === from ? column - 1 : 0, text.length - text.trimStart().length);
        const stop = Math.min(line === to ? end - 1 : text.length, text.trimEnd().length);
        if (start >= stop) continue;
        if (!spans.has(line - 1)) spans.set(line - 1, []);
        spans.get(line - 1).push({ start, stop, kind, process });
      }
    }
    const rank = { next: 3, can: 2, left: 1, waits: 0 };
    for (const [line, all] of spans) {
      const text = this.texts[line];
      const cuts = [...new Set([0, text.length, ...all.flatMap((s) => [s.start, s.stop])])].sort((a, b) => a - b);
      const parts = [];
      for (let at = 0; at + 1 < cuts.length; at++) {
        const inside = all.filter((s) => s.start <= cuts[at] && s.stop >= cuts[at + 1]);
        const piece = text.slice(cuts[at], cuts[at + 1]);
        const best = inside.sort((a, b) => rank[b.kind] - rank[a.kind])[0];
        parts.push(best ? el("mark", { class: best.kind, style: `--hue:${hue(best.process ?? 0)}` }, piece) : piece);
      }
      this.lines[line].lastChild.replaceChildren(...parts);
      this.lines[line].classList.toggle("here", all.some((s) => s.kind === "next"));
      this.marked.add(line);
    }
    const first = next && this.lines[next.place[1] - 1];
    if (first) {
      const box = $("source");
      const [top, height] = [first.offsetTop, box.clientHeight];
      if (top < box.scrollTop + 20 || top > box.scrollTop + height - 60) box.scrollTop = top - height / 3;
    }
  }
}
