// Small helpers for the document.

export const $ = (id) => document.getElementById(id);

// el("button", {class: "x", onclick: f}, "text", child, ...)
export function el(name, attributes, ...children) {
  return fill(document.createElement(name), attributes, children);
}

export function svg(name, attributes, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

export const grouped = (number) => Math.round(number).toLocaleString("en");

// Processes have colours that differ in any light.
export const hue = (process) => (process * 67 + 215) % 360;

export function dot(processes) {
  const shown = processes.length ? processes : [null];
  return shown.map((p) => el("span", { class: "dot", style: p === null ? undefined : `--hue:${hue(p)}` }));
}

// What a channel holds in a state.
export function content(model, channel, values) {
  const { length, cells } = model.channels[channel];
  const message = (cell) => (cell.length === 1 ? values[cell[0]] : `(${cell.map((f) => values[f]).join(", ")})`);
  return cells.slice(0, Number(values[length]) || 0).map(message);
}

const equal = (one, other) => one.length === other.length && one.every((x, at) => x === other[at]);

// What a step did, besides moving the program counters of its own processes: messages first.
export function changesOf(model, step, before, after) {
  const texts = [];
  const channels = new Set();
  const movers = model.transitions[step.transition].processes;
  const others = [];
  for (const [at, value] of step.changes) {
    const field = model.fields[at];
    if (field.kind === "length" || field.kind === "cell") channels.add(field.channel);
    else if (field.kind === "location") {
      if (!movers.includes(field.process)) others.push(`${model.processes[field.process].name} at ${value}`);
    } else others.push(`${field.name} = ${value}`);
  }
  for (const channel of channels) {
    const name = model.channels[channel].name;
    const [old, now] = [content(model, channel, before), content(model, channel, after)];
    if (equal(old, now)) continue;
    if (equal(old, now.slice(0, -1))) texts.push(`${name} gets ${now.at(-1)}`);
    else if (equal(now, old.slice(1))) texts.push(`${name} gives ${old[0]}`);
    else texts.push(`${name} = [${now.join(", ")}]`);
  }
  return [...texts, ...others];
}

export function applied(values, changes) {
  const after = values.slice();
  for (const [at, value] of changes) after[at] = value;
  return after;
}
