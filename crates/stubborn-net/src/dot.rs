//! A drawing of a net in the DOT language of Graphviz.
//!
//! Places are circles with their tokens, transitions boxes, weights stand at the arcs. A read
//! loop is drawn as one arc with two heads, an inhibitor arc ends in a ring. Nested units become clusters.

use std::fmt::{self, Write};

use crate::ids::{PlaceId, TransitionId};
use crate::net::Net;
use crate::nupn::{Nupn, UnitId};

/// The net as a DOT graph.
pub fn dot(net: &Net) -> impl fmt::Display + '_ {
    Drawing(net)
}

struct Drawing<'n>(&'n Net);

impl fmt::Display for Drawing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let net = self.0;
        writeln!(f, "digraph {} {{", quoted(net.name()))?;
        writeln!(f, "  node [fontname=\"sans-serif\", fontsize=10];")?;
        match net.units() {
            Some(units) => self.units(f, units)?,
            None => net.places().try_for_each(|place| self.place(f, place))?,
        }
        for transition in net.transitions() {
            let label = quoted(net.transition_label(transition));
            writeln!(f, "  t{} [shape=box, label={label}];", transition.0)?;
            self.arcs(f, transition)?;
        }
        writeln!(f, "}}")
    }
}

impl Drawing<'_> {
    fn place(&self, f: &mut fmt::Formatter<'_>, place: PlaceId) -> fmt::Result {
        let tokens = match self.0.initial(place) {
            0 => String::new(),
            n @ 1..=3 => "\u{25cf}".repeat(n as usize),
            n => n.to_string(),
        };
        let label = quoted(&tokens);
        let name = quoted(self.0.place_label(place));
        writeln!(
            f,
            "  p{} [shape=circle, label={label}, xlabel={name}];",
            place.0
        )
    }

    fn arcs(&self, f: &mut fmt::Formatter<'_>, transition: TransitionId) -> fmt::Result {
        let weight = |weight: u32| match weight {
            1 => String::new(),
            n => format!("label=\"{n}\""),
        };
        for (place, takes, gives) in self.0.touched(transition) {
            let (p, t) = (place.0, transition.0);
            if takes == gives {
                let comma = if takes == 1 { "" } else { ", " };
                writeln!(f, "  p{p} -> t{t} [dir=both{comma}{}];", weight(takes))?;
                continue;
            }
            if takes > 0 {
                writeln!(f, "  p{p} -> t{t} [{}];", weight(takes))?;
            }
            if gives > 0 {
                writeln!(f, "  t{t} -> p{p} [{}];", weight(gives))?;
            }
        }
        for arc in self.0.inhibitors(transition) {
            let (p, t) = (arc.node.0, transition.0);
            let comma = if arc.weight == 1 { "" } else { ", " };
            let label = weight(arc.weight);
            writeln!(f, "  p{p} -> t{t} [arrowhead=odot{comma}{label}];")?;
        }
        Ok(())
    }

    /// Clusters, one inside the other; an explicit stack, because units may nest deeply.
    fn units(&self, f: &mut fmt::Formatter<'_>, units: &Nupn) -> fmt::Result {
        let count = units.unit_count();
        let mut places = vec![Vec::new(); count];
        for place in self.0.places() {
            places[units.unit_of(place).0 as usize].push(place);
        }
        let mut inner = vec![Vec::new(); count];
        let mut open = Vec::new();
        for unit in (0..count as u32).rev() {
            match units.parent(UnitId(unit)) {
                Some(around) => inner[around.0 as usize].push(unit),
                None => open.push((unit, false)),
            }
        }
        while let Some((unit, done)) = open.pop() {
            if done {
                writeln!(f, "  }}")?;
                continue;
            }
            writeln!(f, "  subgraph cluster_{unit} {{")?;
            places[unit as usize]
                .iter()
                .try_for_each(|place| self.place(f, *place))?;
            open.push((unit, true));
            open.extend(inner[unit as usize].iter().map(|unit| (*unit, false)));
        }
        Ok(())
    }
}

fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                let _ = write!(out, "\\{c}");
            }
            '\n' => out.push_str("\\n"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::NetBuilder;

    #[test]
    fn a_small_net_is_drawn() {
        let mut builder = NetBuilder::new("a \"net\"");
        let p = builder.place("p", 2);
        let q = builder.place("q", 0);
        let t = builder.transition("t");
        builder.input(p, t, 1);
        builder.output(t, p, 1);
        builder.output(t, q, 3);
        builder.inhibitor(q, t, 2);
        let text = dot(&builder.build().unwrap()).to_string();
        for line in [
            "digraph \"a \\\"net\\\"\" {",
            "  p0 [shape=circle, label=\"●●\", xlabel=\"p\"];",
            "  t0 [shape=box, label=\"t\"];",
            "  p0 -> t0 [dir=both];",
            "  t0 -> p1 [label=\"3\"];",
            "  p1 -> t0 [arrowhead=odot, label=\"2\"];",
        ] {
            assert!(
                text.lines().any(|l| l == line),
                "{line} is missing in\n{text}"
            );
        }
        assert!(text.ends_with("}\n"));
    }
}
