// The graph of states: layers by distance from the start, drawn on a canvas, so that thousands of
// states can be moved about.
import { $ } from "./dom.js";

const ACROSS = 74;
const DOWN = 30;
const RADIUS = 9;
// Larger layers are wrapped into several columns, so that a large graph is no needle.
const ROWS = 60;

export class Graph {
  constructor(canvas, { pick, grow }) {
    this.canvas = canvas;
    this.nodes = new Map();
    this.roots = [];
    this.path = [];
    this.current = null;
    this.onlyKept = false;
    this.view = { x: 0, y: 0, zoom: 1 };
    this.hovered = null;
    this.names = () => "";
    this.stale = true;
    new ResizeObserver(() => this.resized()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.paint());
    let drag = null;
    canvas.addEventListener("pointerdown", (event) => {
      drag = { x: event.offsetX, y: event.offsetY, moved: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (drag) {
        const [dx, dy] = [event.offsetX - drag.x, event.offsetY - drag.y];
        if (!drag.moved && Math.hypot(dx, dy) < 4) return;
        drag = { x: event.offsetX, y: event.offsetY, moved: true };
        this.view.x += dx;
        this.view.y += dy;
        this.paint();
      } else {
        const at = this.at(event.offsetX, event.offsetY);
        if (at === this.hovered) return;
        this.hovered = at;
        canvas.style.cursor = at === null ? "grab" : "pointer";
        this.paint();
      }
    });
    canvas.addEventListener("pointerup", (event) => {
      const at = drag && !drag.moved ? this.at(event.offsetX, event.offsetY) : null;
      drag = null;
      if (at !== null) pick(at);
    });
    canvas.addEventListener("pointerleave", () => {
      this.hovered = null;
      this.paint();
    });
    canvas.addEventListener("dblclick", (event) => {
      const at = this.at(event.offsetX, event.offsetY);
      if (at !== null) grow(at);
    });
    canvas.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        this.zoomBy(Math.exp(-event.deltaY / 400), event.offsetX, event.offsetY);
      },
      { passive: false },
    );
  }

  resized() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const scale = devicePixelRatio || 1;
    this.canvas.width = width * scale;
    this.canvas.height = height * scale;
    // A canvas of another size is empty.
    this.draw();
  }

  node(id) {
    let node = this.nodes.get(id);
    if (!node) {
      node = { id, steps: null, left: null, some: new Map(), error: false, bad: false, x: 0, y: 0 };
      this.nodes.set(id, node);
      this.stale = true;
    }
    return node;
  }

  // All steps of a state: [[transition, to], ...].
  expand(id, steps, marks) {
    const node = this.node(id);
    if (!node.steps) {
      node.steps = steps;
      for (const [, to] of steps) this.node(to);
      this.stale = true;
    }
    Object.assign(node, marks);
  }

  // One step that is known of a state.
  edge(from, transition, to) {
    const node = this.node(from);
    this.node(to);
    const key = `${transition}:${to}`;
    if (!node.steps && !node.some.has(key)) {
      node.some.set(key, [transition, to]);
      this.stale = true;
    }
  }

  // What the reduction leaves out of a state; null if that is not known.
  leave(id, left) {
    const node = this.nodes.get(id);
    if (node) node.left = left && new Set(left);
    this.stale = true;
  }

  forgetLeft() {
    for (const node of this.nodes.values()) node.left = null;
    this.stale = true;
  }

  steps(node) {
    return node.steps ?? [...node.some.values()];
  }

  keeps(node, transition) {
    return !node.left?.has(transition);
  }

  // The shortest known way from a start: [[from, transition, to], ...].
  way(target) {
    const parents = new Map(this.roots.map((root) => [root, null]));
    const queue = [...this.roots];
    for (const from of queue) {
      if (from === target) break;
      const node = this.nodes.get(from);
      for (const [transition, to] of node ? this.steps(node) : []) {
        if (parents.has(to)) continue;
        parents.set(to, [from, transition, to]);
        queue.push(to);
      }
    }
    const way = [];
    for (let step = parents.get(target); step; step = parents.get(step[0])) way.unshift(step);
    return parents.has(target) ? way : null;
  }

  layout() {
    const layer = new Map();
    const layers = [];
    const put = (id, at) => {
      layer.set(id, at);
      (layers[at] ??= []).push(this.nodes.get(id));
    };
    this.kept = new Set(this.roots);
    const reduced = [...this.roots];
    for (const from of reduced) {
      const node = this.nodes.get(from);
      for (const [transition, to] of node ? this.steps(node) : []) {
        if (this.keeps(node, transition) && !this.kept.has(to)) {
          this.kept.add(to);
          reduced.push(to);
        }
      }
    }
    const queue = this.roots.filter((id) => this.nodes.has(id));
    for (const id of queue) put(id, 0);
    for (const from of queue) {
      const node = this.nodes.get(from);
      for (const [, to] of this.steps(node)) {
        if (layer.has(to) || (this.onlyKept && !this.kept.has(to))) continue;
        put(to, layer.get(from) + 1);
        queue.push(to);
      }
    }
    this.shown = queue.map((id) => this.nodes.get(id));
    // Neighbours in the layers beside, for the order within a layer.
    const beside = new Map(this.shown.map((node) => [node, { before: [], after: [] }]));
    for (const node of this.shown) {
      for (const [, to] of this.steps(node)) {
        const other = this.nodes.get(to);
        const distance = (layer.get(to) ?? NaN) - layer.get(node.id);
        if (distance === 1) {
          beside.get(node).after.push(other);
          beside.get(other).before.push(node);
        }
      }
    }
    for (const all of layers) all.forEach((node, at) => (node.order = at));
    const mean = (nodes, of) => nodes.reduce((sum, node) => sum + of(node), 0) / nodes.length;
    const sort = (all, side) => {
      const weight = (node) => {
        const near = beside.get(node)[side];
        return near.length ? mean(near, (other) => other.order) : node.order;
      };
      const weights = new Map(all.map((node) => [node, weight(node)]));
      all.sort((a, b) => weights.get(a) - weights.get(b) || a.id - b.id);
      all.forEach((node, at) => (node.order = at));
    };
    for (let round = 0; round < 3; round++) {
      for (let at = 1; at < layers.length; at++) sort(layers[at], "before");
      for (let at = layers.length - 2; at > 0; at--) sort(layers[at], "after");
    }
    let x = 0;
    layers.forEach((all) => {
      const columns = Math.ceil(all.length / ROWS);
      if (columns > 1) {
        const rows = Math.ceil(all.length / columns);
        all.forEach((node, number) => {
          node.x = x + (number % columns) * DOWN;
          node.y = (Math.floor(number / columns) - (rows - 1) / 2) * DOWN;
        });
        x += (columns - 1) * DOWN + ACROSS;
        return;
      }
      // Near the middle of where they come from, without overlaps.
      let next = -Infinity;
      let drift = 0;
      const wish = all.map((node) => {
        const near = beside.get(node).before;
        return near.length ? mean(near, (other) => other.y) : (node.order - (all.length - 1) / 2) * DOWN;
      });
      all.forEach((node, number) => {
        node.x = x;
        node.y = Math.max(wish[number], next);
        next = node.y + DOWN;
        drift += node.y - wish[number];
      });
      for (const node of all) node.y -= drift / all.length;
      x += ACROSS;
    });
    this.stale = false;
    $("counts").textContent = this.counts();
  }

  counts() {
    const all = this.nodes.size;
    const open = [...this.nodes.values()].some((node) => !node.steps);
    const kept = [...this.nodes.values()].filter((node) => this.kept.has(node.id)).length;
    const more = open ? " so far" : "";
    return kept < all ? `${kept} of ${all} states are kept${more}` : `${all} states${more}`;
  }

  at(x, y) {
    const { view } = this;
    const reach = Math.max(RADIUS, 6 / view.zoom);
    const [px, py] = [(x - view.x) / view.zoom, (y - view.y) / view.zoom];
    let best = null;
    for (const node of this.shown ?? []) {
      if (Math.abs(node.x - px) > reach) continue;
      const distance = Math.hypot(node.x - px, node.y - py);
      if (distance <= reach && (!best || distance < best[0])) best = [distance, node.id];
    }
    return best && best[1];
  }

  zoomBy(factor, x = this.canvas.clientWidth / 2, y = this.canvas.clientHeight / 2) {
    const { view } = this;
    const zoom = Math.min(3, Math.max(0.02, view.zoom * factor));
    view.x = x - ((x - view.x) * zoom) / view.zoom;
    view.y = y - ((y - view.y) * zoom) / view.zoom;
    view.zoom = zoom;
    this.paint();
  }

  // Shows all, unless it would have to be smaller than `least`; says whether it did.
  fit(least = 0) {
    if (this.stale) this.layout();
    if (!this.shown.length) return false;
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const xs = this.shown.map((node) => node.x);
    const ys = this.shown.map((node) => node.y);
    const low = [xs.reduce((a, b) => Math.min(a, b)), ys.reduce((a, b) => Math.min(a, b))];
    const high = [xs.reduce((a, b) => Math.max(a, b)), ys.reduce((a, b) => Math.max(a, b))];
    const zoom = Math.min(1.4, (width - 60) / (high[0] - low[0] + 1), (height - 50) / (high[1] - low[1] + 1));
    if (zoom < least) return false;
    this.view.zoom = Math.max(0.02, zoom);
    this.view.x = width / 2 - ((low[0] + high[0]) / 2) * this.view.zoom;
    this.view.y = height / 2 - ((low[1] + high[1]) / 2) * this.view.zoom;
    this.paint();
    return true;
  }

  // Brings the current state into view; only moves if it has to, unless it must: then a small graph is shown whole.
  show(must) {
    if (this.stale) this.layout();
    if (must && this.fit(0.7)) return;
    const node = this.nodes.get(this.current);
    if (!node) return this.paint();
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (must) this.view.zoom = Math.max(this.view.zoom, 0.9);
    const { view } = this;
    const [x, y] = [node.x * view.zoom + view.x, node.y * view.zoom + view.y];
    const outside = x < 60 || x > width - 120 || y < 40 || y > height - 40;
    if (outside || must) {
      view.x += width * (node.steps?.length ? 0.4 : 0.75) - x;
      view.y += height / 2 - y;
    }
    this.paint();
  }

  paint() {
    if (this.waiting) return;
    this.waiting = true;
    const draw = () => {
      if (this.waiting) this.draw();
      this.waiting = false;
    };
    requestAnimationFrame(draw);
    // Pages that nobody sees get no frames, but may be printed.
    setTimeout(draw, 200);
  }

  draw() {
    if (this.stale) this.layout();
    const pen = this.canvas.getContext("2d");
    const style = getComputedStyle(document.documentElement);
    const colours = new Map();
    const colour = (name) => {
      if (!colours.has(name)) colours.set(name, style.getPropertyValue(`--${name}`).trim());
      return colours.get(name);
    };
    const scale = devicePixelRatio || 1;
    const { view } = this;
    const { clientWidth: width, clientHeight: height } = this.canvas;
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.setTransform(scale * view.zoom, 0, 0, scale * view.zoom, scale * view.x, scale * view.y);
    const [left, right] = [-view.x / view.zoom - ACROSS, (width - view.x) / view.zoom + ACROSS];
    const [top, bottom] = [-view.y / view.zoom - DOWN, (height - view.y) / view.zoom + DOWN];
    const inside = (node) => node.x > left && node.x < right && node.y > top && node.y < bottom;
    const detail = view.zoom > 0.3;
    const many = this.shown.length > 1500;
    const onPath = new Set();
    this.path.forEach(([from, transition, to]) => onPath.add(`${from}:${transition}:${to}`));
    const shown = new Set(this.shown);
    const kinds = ["dim", "far", "left", "kept", "next", "path"];
    const paths = () => Object.fromEntries(kinds.map((kind) => [kind, new Path2D()]));
    const [strokes, heads] = [paths(), paths()];
    for (const node of this.shown) {
      for (const [transition, to] of this.steps(node)) {
        const other = this.nodes.get(to);
        if (!shown.has(other) || (!inside(node) && !inside(other))) continue;
        const keeps = this.keeps(node, transition);
        if (this.onlyKept && !keeps) continue;
        const kind = onPath.has(`${node.id}:${transition}:${to}`)
          ? "path"
          : !keeps
            ? node.id === this.current
              ? "left"
              : "far"
            : !this.kept.has(node.id)
              ? "dim"
              : node.id === this.current
                ? "next"
                : "kept";
        const faint = kind === "far" || kind === "dim";
        if (detail && !(many && faint)) head(heads[kind], other, trace(strokes[kind], node, other));
        else {
          strokes[kind].moveTo(node.x, node.y);
          strokes[kind].lineTo(other.x, other.y);
        }
      }
    }
    const line = (kind, stroke, wide, dash, alpha) => {
      pen.globalAlpha = alpha;
      pen.strokeStyle = pen.fillStyle = colour(stroke);
      pen.lineWidth = Math.max(wide, 0.6 / view.zoom);
      // Thousands of dashes cost more than all else.
      pen.setLineDash(detail && !(many && alpha < 1) ? dash : []);
      pen.stroke(strokes[kind]);
      pen.setLineDash([]);
      pen.fill(heads[kind]);
      pen.globalAlpha = 1;
    };
    line("dim", "quiet", 1, [], 0.25);
    line("far", "left", 1, [5, 4], this.shown.length > 60 ? 0.3 : 0.6);
    line("left", "left", 1.6, [5, 4], 1);
    line("kept", "edge", 1.1, [], 0.9);
    line("next", "kept", 2, [], 1);
    line("path", "accent", 2.6, [], 1);

    const passed = new Set(this.path.flatMap(([from, , to]) => [from, to]));
    // From afar, states of one kind are one path of squares.
    const small = new Map();
    for (const node of this.shown) {
      if (!inside(node)) continue;
      const current = node.id === this.current;
      const alpha = this.kept.has(node.id) || current || passed.has(node.id) ? 1 : 0.35;
      const over = node.steps?.length === 0;
      const fill = node.error ? "bad" : current ? "accent" : passed.has(node.id) ? "soft" : over ? "end" : node.steps ? "node" : "panel";
      const edge = node.bad || node.error ? "bad" : current || passed.has(node.id) ? "accent" : "edge";
      if (!detail && !current) {
        const kind = `${alpha} ${fill} ${edge}`;
        if (!small.has(kind)) small.set(kind, { alpha, fill, edge, path: new Path2D() });
        small.get(kind).path.rect(node.x - RADIUS, node.y - RADIUS, 2 * RADIUS, 2 * RADIUS);
        continue;
      }
      pen.globalAlpha = alpha;
      pen.beginPath();
      pen.arc(node.x, node.y, current ? RADIUS + 3 : RADIUS, 0, 2 * Math.PI);
      pen.fillStyle = colour(fill);
      pen.fill();
      pen.lineWidth = current || node.bad ? 2.2 : 1.2;
      pen.strokeStyle = colour(edge);
      if (!node.steps) pen.setLineDash([2, 2]);
      pen.stroke();
      pen.setLineDash([]);
      if (view.zoom > 0.55) {
        pen.fillStyle = colour(current || node.error ? "panel" : "text");
        pen.font = `${node.id > 999 ? 6 : 8}px system-ui, sans-serif`;
        pen.textAlign = "center";
        pen.textBaseline = "middle";
        pen.fillText(node.id, node.x, node.y + 0.5);
      }
    }
    for (const { alpha, fill, edge, path } of small.values()) {
      pen.globalAlpha = alpha;
      pen.fillStyle = colour(fill);
      pen.fill(path);
      pen.lineWidth = 1 / view.zoom;
      pen.strokeStyle = colour(edge);
      pen.stroke(path);
    }
    pen.globalAlpha = 1;
    this.number(pen, colour);
    this.tip(pen, colour, scale);
  }

  // The numbers of the next steps, as in the list of steps.
  number(pen, colour) {
    const node = this.nodes.get(this.current);
    if (!node?.steps || this.view.zoom < 0.5) return;
    pen.font = "bold 9px system-ui, sans-serif";
    node.steps.forEach(([transition, to], at) => {
      const other = this.nodes.get(to);
      if (!this.shown.includes(other) || other === node || (this.onlyKept && !this.keeps(node, transition))) return;
      const [x, y] = [other.x * 0.62 + node.x * 0.38, other.y * 0.62 + node.y * 0.38];
      pen.fillStyle = colour("panel");
      pen.beginPath();
      pen.arc(x, y, 6.5, 0, 2 * Math.PI);
      pen.fill();
      pen.fillStyle = colour(this.keeps(node, transition) ? "kept" : "left");
      pen.fillText(at + 1, x, y + 0.5);
    });
  }

  tip(pen, colour, scale) {
    const node = this.nodes.get(this.hovered);
    if (!node) return;
    const { view } = this;
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    const from = this.nodes.get(this.current);
    const by = from ? this.steps(from).filter(([, to]) => to === node.id) : [];
    const lines = [`state ${node.id}${node.steps?.length === 0 ? ", nobody can move" : ""}`];
    lines.push(...by.map(([transition]) => this.names(transition)));
    if (!node.steps) lines.push("click: go there; double click: grow");
    pen.font = "12px system-ui, sans-serif";
    const wide = Math.max(...lines.map((text) => pen.measureText(text).width)) + 14;
    const x = Math.min(node.x * view.zoom + view.x + 14, this.canvas.clientWidth - wide - 4);
    const y = Math.min(node.y * view.zoom + view.y + 12, this.canvas.clientHeight - lines.length * 17 - 10);
    pen.fillStyle = colour("panel");
    pen.strokeStyle = colour("edge");
    pen.lineWidth = 1;
    pen.beginPath();
    pen.roundRect(x, y, wide, lines.length * 17 + 6, 5);
    pen.fill();
    pen.stroke();
    pen.fillStyle = colour("text");
    pen.textAlign = "left";
    lines.forEach((text, at) => pen.fillText(text, x + 7, y + 14 + at * 17));
  }
}

// A line or a bow from one state to another; the angle at which it arrives.
function trace(path, from, to) {
  if (from === to) {
    path.moveTo(from.x + 5, from.y - 8);
    path.bezierCurveTo(from.x + 22, from.y - 26, from.x - 22, from.y - 26, from.x - 5, from.y - 8);
    return Math.PI * 0.36;
  }
  if (to.x > from.x) {
    const half = (to.x - from.x) / 2;
    path.moveTo(from.x + RADIUS, from.y);
    path.bezierCurveTo(from.x + half, from.y, to.x - half, to.y, to.x - RADIUS, to.y);
    return 0;
  }
  // Back, or within a layer: around.
  const bow = 18 + Math.abs(to.x - from.x) * 0.12;
  const side = from.y <= to.y ? -1 : 1;
  if (to.x === from.x) {
    path.moveTo(from.x + RADIUS * 0.7, from.y - side * RADIUS * 0.7);
    path.quadraticCurveTo(from.x + 26, (from.y + to.y) / 2, to.x + RADIUS * 0.8, to.y + side * RADIUS * 0.7);
    return Math.PI * (side < 0 ? 0.72 : -0.72);
  }
  path.moveTo(from.x - 3, from.y + side * RADIUS);
  path.bezierCurveTo(from.x - 20, from.y + side * bow * 1.6, to.x + 20, to.y + side * bow * 1.6, to.x + 3, to.y + side * RADIUS);
  return side < 0 ? Math.PI * 0.64 : -Math.PI * 0.64;
}

function head(path, to, angle) {
  const distance = RADIUS + 1;
  const [x, y] = [to.x - Math.cos(angle) * distance, to.y - Math.sin(angle) * distance];
  const point = (turn) => [x - Math.cos(angle + turn) * 7, y - Math.sin(angle + turn) * 7];
  path.moveTo(x, y);
  path.lineTo(...point(0.42));
  path.lineTo(...point(-0.42));
  path.closePath();
}
