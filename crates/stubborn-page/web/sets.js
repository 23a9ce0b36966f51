// The stubborn set of a state, with its reasons; and what is left out, and why that is safe.
import { dot, el, svg } from "./dom.js";

// What the checker says of members that are there because all are.
const NOTHING = "nothing allowed to leave it out";

export function setView(model, state, set, { take, jump }) {
  const name = (t) => model.transitions[t].title;
  const who = (t) => [dot(model.transitions[t].processes), el("span", { class: "name" }, name(t))];
  const number = (t) => state.steps.findIndex((step) => step.transition === t) + 1;
  const step = (t) => {
    const at = number(t);
    return at ? el("button", { class: "step", title: "take this step", onclick: () => take(at - 1) }, String(at)) : el("span", { class: "step off" }, "–");
  };
  const out = [];
  const left = set.enabled.length - set.kept.length;
  const says = set.algorithm === "none" ? "Without reduction all steps are taken." : `${set.kept.length} of ${set.enabled.length} possible steps ${set.kept.length === 1 ? "is" : "are"} kept${left ? `, ${left} left out` : ": nothing is left out here"}.`;
  if (!set.enabled.length) return [el("p", { class: "quiet" }, "No step is possible here.")];
  out.push(el("p", { class: "summary" }, says));

  if (!left && set.members.every((member) => member.reason === NOTHING)) {
    if (set.algorithm !== "none") out.push(el("p", { class: "quiet" }, "Every smaller set would lack something: each step here quarrels, directly or through others, with all the rest, or the question can see it."));
  } else if (set.members.length && set.algorithm !== "none") {
    // Each member hangs below the one that pulled it in.
    const below = new Map();
    const inside = new Set(set.members.map((member) => member.transition));
    for (const member of set.members) {
      const parent = inside.has(member.because) && member.because !== member.transition ? member.because : null;
      if (!below.has(parent)) below.set(parent, []);
      below.get(parent).push(member);
    }
    const done = new Set();
    const branch = (member) => {
      if (done.has(member.transition)) return null;
      done.add(member.transition);
      const badge = member.key ? el("span", { class: "tag key", title: "whatever happens outside the set, this step stays possible" }, "key") : member.enabled ? null : el("span", { class: "tag off" }, "disabled");
      const children = (below.get(member.transition) ?? []).map(branch).filter(Boolean);
      return el(
        "li",
        { class: member.enabled ? "on" : "off" },
        el("div", { class: "member" }, step(member.transition), who(member.transition), badge),
        el("div", { class: "reason" }, member.reason),
        children.length ? el("ul", {}, ...children) : null,
      );
    };
    const roots = [...(below.get(null) ?? []), ...set.members].map(branch).filter(Boolean);
    out.push(el("h3", {}, "In the set, and what pulled each in"), el("ul", { class: "tree" }, ...roots));
    if (set.more) out.push(el("p", { class: "quiet" }, `and ${set.more} more disabled ones`));
  }

  if (left) {
    const done = "Nothing more has to be done from here: what is asked for is reached, or cannot be reached any more.";
    out.push(el("h3", {}, "Left out, and why that is safe"), el("p", { class: "quiet" }, set.kept.length ? set.safe : done));
    const items = set.left.map((one) => {
      const tried = one.diamonds.map((diamond) => {
        const other = `“${name(diamond.with)}”`;
        if (diamond.same) {
          return el(
            "div",
            { class: "diamond" },
            drawn(number(diamond.with), number(one.transition)),
            el("span", {}, `before or after ${other}: both ways lead to `, el("button", { class: "link", onclick: () => jump(diamond.meets, diamond.with, one.transition) }, `state ${diamond.meets}`)),
          );
        }
        const text = diamond.possible ? `before or after ${other} it leads elsewhere, but not to what is asked for` : `after ${other} it is not possible, but what is asked for does not need it`;
        return el("div", { class: "diamond" }, el("span", {}, text));
      });
      return el("li", { class: "left" }, el("div", { class: "member" }, step(one.transition), who(one.transition), el("span", { class: "tag left" }, "left out")), ...tried);
    });
    out.push(el("ul", { class: "tree" }, ...items));
  }
  if (set.proviso) out.push(el("p", { class: "quiet proviso" }, set.proviso));
  return out;
}

// Two ways around to the same state.
function drawn(kept, left) {
  const way = (d, kind) => svg("path", { d, class: kind });
  const text = (x, y, number, kind) => svg("text", { x, y, class: kind, "text-anchor": "middle" }, String(number));
  return svg(
    "svg",
    { class: "diamonds", width: 74, height: 44, viewBox: "0 0 74 44", "aria-hidden": "true" },
    way("M8,22 L35,7", "keep"), way("M8,22 L35,37", "leave"), way("M39,7 L66,22", "leave"), way("M39,37 L66,22", "keep"),
    ...[[6, 22], [37, 6], [37, 38], [68, 22]].map(([cx, cy]) => svg("circle", { cx, cy, r: 4 })),
    text(18, 9, kept, "keep"), text(18, 42, left, "leave"), text(56, 9, left, "leave"), text(56, 42, kept, "keep"),
  );
}
