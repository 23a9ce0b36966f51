//! Message sequence charts: a run as a drawing, in SVG.
//!
//! Time goes down. Every process has a line; what it does alone is a dot with a text, a
//! rendez-vous is an arrow across, and a message through a buffer is an arrow from where it
//! was sent to where it was received (ITU-T Z.120 has the notation, of which this is a small
//! part). Messages that nobody received end in an open circle.

use std::collections::VecDeque;
use std::fmt::Write;

use stubborn_search::Trace;
use stubborn_system::{ProcessId, System};

use crate::story;

const COLUMN: usize = 190;
const ROW: usize = 26;
const HEAD: usize = 60;
/// Longer texts are cut.
const LONGEST_TEXT: usize = 24;
/// Longer runs are drawn up to here, and said to be longer.
const MOST_STEPS: usize = 2_000;

/// A message on its way.
#[derive(Clone)]
struct Sent {
    column: usize,
    y: usize,
    text: String,
}

/// Draws a run.
pub fn svg(system: &dyn System, trace: &Trace) -> String {
    let structure = system.structure();
    let shown = trace.len().min(MOST_STEPS);
    let mut columns: Vec<Option<usize>> = vec![None; structure.processes.len()];
    for number in 0..shown {
        let step = trace.step(number);
        for process in &structure.transition(step.transition).processes {
            columns[process.index()] = Some(0);
        }
    }
    for (number, column) in columns.iter_mut().flatten().enumerate() {
        *column = number;
    }
    let width = columns.iter().flatten().count().max(1) * COLUMN + 20;
    let height = HEAD + (shown + 2) * ROW;
    let mut chart = Chart {
        system,
        columns: &columns,
        sent: vec![VecDeque::new(); system.layout().channels().len()],
        body: String::new(),
    };
    for number in 0..shown {
        chart.step(trace, number, HEAD + (number + 1) * ROW);
    }
    chart.unreceived();
    if shown == trace.len() {
        let violated = story::violated_in(system, trace.last_state());
        let violated: Vec<String> = violated.into_iter().map(|(name, _)| name).collect();
        if !violated.is_empty() {
            let _ = writeln!(
                chart.body,
                "<text x=\"10\" y=\"{}\" fill=\"red\">violated: {}</text>",
                height - ROW / 4,
                escaped(&violated.join("; "))
            );
        }
    }
    let body = chart.body;
    let mut out = String::new();
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <defs><marker id=\"head\" markerWidth=\"8\" markerHeight=\"8\" refX=\"7\" refY=\"4\" \
         orient=\"auto\"><path d=\"M0,0 L8,4 L0,8 z\"/></marker></defs>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>"
    );
    for (process, column) in structure.processes.iter().zip(&columns) {
        let Some(column) = column else { continue };
        let x = centre(*column);
        let name = escaped(&process.name);
        let _ = writeln!(
            out,
            "<rect x=\"{}\" y=\"14\" width=\"130\" height=\"24\" fill=\"#eef\" stroke=\"black\"/>\
             <text x=\"{x}\" y=\"30\" text-anchor=\"middle\">{name}</text>\
             <line x1=\"{x}\" y1=\"38\" x2=\"{x}\" y2=\"{}\" stroke=\"#999\"/>",
            x - 65,
            height - ROW / 2,
        );
    }
    out += &body;
    if shown < trace.len() {
        let _ = writeln!(
            out,
            "<text x=\"10\" y=\"{}\">... and {} more steps</text>",
            height - 4,
            trace.len() - shown
        );
    }
    out + "</svg>\n"
}

fn centre(column: usize) -> usize {
    column * COLUMN + 80
}

struct Chart<'a> {
    system: &'a dyn System,
    columns: &'a [Option<usize>],
    /// By channel: the messages in it, oldest first.
    sent: Vec<VecDeque<Sent>>,
    body: String,
}

impl Chart<'_> {
    fn column(&self, process: ProcessId) -> usize {
        self.columns[process.index()].unwrap_or(0)
    }

    fn step(&mut self, trace: &Trace, number: usize, y: usize) {
        let step = trace.step(number);
        let structure = self.system.structure();
        let transition = structure.transition(step.transition);
        let Some(first) = transition.processes.first() else {
            return;
        };
        let column = self.column(*first);
        let text = short(&transition.title());
        let mut is_message = false;
        if let Some(partner) = transition.processes.get(1) {
            let to = self.column(*partner);
            let mut text = text.clone();
            if structure.error_state.as_deref() != Some(step.after) {
                // Without the receiver's name, at which the arrow ends.
                let owner = format!("{}.", structure.processes[partner.index()].name);
                let got = story::received(self.system, step.transition, step.after);
                let got = got
                    .iter()
                    .map(|value| value.strip_prefix(&owner).unwrap_or(value));
                let got: Vec<&str> = got.collect();
                if !got.is_empty() {
                    text += &format!(" ({})", got.join(", "));
                }
            }
            self.arrow((column, y), (to, y), &text);
            is_message = true;
        }
        // The receiver of a rendez-vous may go on by itself.
        let actor = transition
            .processes
            .last()
            .map_or(column, |p| self.column(*p));
        if structure.error_state.as_deref() != Some(step.after) {
            for channel in 0..self.sent.len() {
                let old = story::messages(self.system, channel, step.before);
                let new = story::messages(self.system, channel, step.after);
                is_message |= old != new;
                self.transfer(channel, &old, &new, (actor, y));
            }
        }
        let x = centre(column);
        if !is_message {
            let _ = writeln!(
                self.body,
                "<circle cx=\"{x}\" cy=\"{y}\" r=\"2.5\"/>\
                 <text x=\"{}\" y=\"{}\" fill=\"#444\">{}</text>",
                x + 6,
                y + 4,
                escaped(&text)
            );
        }
        let problems = step.outcome.sites(structure).map(|s| s.message.as_str());
        let problems: Vec<&str> = problems.collect();
        if !problems.is_empty() {
            let _ = writeln!(
                self.body,
                "<text x=\"{}\" y=\"{}\" fill=\"red\">{}</text>",
                x + 6,
                y + 14,
                escaped(&problems.join("; "))
            );
        }
    }

    /// What a step did to a channel: takes messages out, puts messages in.
    fn transfer(&mut self, channel: usize, old: &[String], new: &[String], at: (usize, usize)) {
        if old == new {
            return;
        }
        // Messages taken out in order, or one from the middle.
        let in_order = (0..=old.len()).find(|taken| new.starts_with(&old[*taken..]));
        let without = |place: &usize| {
            let left: Vec<&String> = old[..*place].iter().chain(&old[place + 1..]).collect();
            left == new.iter().collect::<Vec<_>>()
        };
        let removed: Vec<usize> = match (0..old.len()).find(without) {
            Some(place) => vec![place],
            None => vec![0; in_order.unwrap_or(0)],
        };
        for place in removed {
            if let Some(sent) = self.sent[channel].remove(place) {
                self.arrow((sent.column, sent.y), at, &sent.text);
            }
        }
        let name = &self.system.layout().channels()[channel].name;
        let kept = self.sent[channel].len();
        let place =
            (0..kept.min(new.len())).find(|p| self.sent[channel][*p].text != label(name, &new[*p]));
        for (number, message) in new.iter().enumerate() {
            let is_new = number >= kept && place.is_none() || Some(number) == place;
            if is_new && self.sent[channel].len() < new.len() {
                let sent = Sent {
                    column: at.0,
                    y: at.1,
                    text: label(name, message),
                };
                let queue = &mut self.sent[channel];
                queue.insert(number.min(queue.len()), sent);
                let _ = writeln!(
                    self.body,
                    "<circle cx=\"{}\" cy=\"{}\" r=\"2.5\"/>",
                    centre(at.0),
                    at.1
                );
            }
        }
    }

    fn arrow(&mut self, from: (usize, usize), to: (usize, usize), text: &str) {
        let (x1, x2) = (centre(from.0), centre(to.0));
        let text = escaped(text);
        // A message to oneself is a bow.
        if x1 == x2 {
            let _ = writeln!(
                self.body,
                "<path d=\"M{x1},{} C{},{} {},{} {x2},{}\" fill=\"none\" stroke=\"black\" \
                 marker-end=\"url(#head)\"/><text x=\"{}\" y=\"{}\">{text}</text>",
                from.1,
                x1 + 30,
                from.1,
                x1 + 30,
                to.1,
                to.1,
                x1 + 28,
                to.1,
            );
            return;
        }
        let middle = x1.midpoint(x2);
        let _ = writeln!(
            self.body,
            "<line x1=\"{x1}\" y1=\"{}\" x2=\"{x2}\" y2=\"{}\" stroke=\"black\" \
             marker-end=\"url(#head)\"/>\
             <text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{text}</text>",
            from.1,
            to.1,
            from.1.midpoint(to.1) - 4,
        );
    }

    fn unreceived(&mut self) {
        for sent in self.sent.clone().into_iter().flatten() {
            let x = centre(sent.column);
            let _ = writeln!(
                self.body,
                "<line x1=\"{x}\" y1=\"{0}\" x2=\"{1}\" y2=\"{0}\" stroke=\"black\"/>\
                 <circle cx=\"{2}\" cy=\"{0}\" r=\"4\" fill=\"white\" stroke=\"black\"/>\
                 <text x=\"{3}\" y=\"{4}\">{5}</text>",
                sent.y,
                x + 40,
                x + 44,
                x + 8,
                sent.y - 4,
                escaped(&sent.text),
            );
        }
    }
}

fn label(channel: &str, message: &str) -> String {
    format!("{channel}: {message}")
}

/// What a transition does, without who does it and what a partner does.
fn short(name: &str) -> String {
    let own = name.split(" -> ").next().unwrap_or(name);
    let text = own.split_once(' ').map_or(own, |(_, text)| text);
    match text.char_indices().nth(LONGEST_TEXT) {
        Some((cut, _)) => format!("{}...", &text[..cut]),
        None => text.to_owned(),
    }
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Language, LoadOptions, load_text};

    /// The run that always takes the first step.
    fn first_run(text: &str) -> String {
        let model = load_text("m.pml", text, Language::Promela, &LoadOptions::default())
            .unwrap_or_else(|error| panic!("{error}"));
        let system = model.reference();
        let mut trace = Trace::new(&system.initial_states());
        let mut executor = system.executor();
        let mut out = stubborn_system::Successors::new(system.layout().words());
        for _ in 0..20 {
            out.clear();
            executor.successors(trace.last_state(), &mut out);
            if out.is_empty() {
                break;
            }
            trace.push(out.get(0).transition, out.outcome(0), out.state(0));
        }
        svg(system, &trace)
    }

    #[test]
    fn messages_are_arrows_from_sender_to_receiver() {
        let drawn = first_run(
            "chan q = [2] of { byte }; chan r = [0] of { byte };
             active proctype A() { q!1; q!2; r!3 } active proctype B() { q?_; r?_ }",
        );
        assert_eq!(drawn.matches("<line").count(), 2 + 2 + 1, "{drawn}");
        assert_eq!(drawn.matches("marker-end").count(), 2, "{drawn}");
        assert!(drawn.contains("q: 1") && drawn.contains("q: 2") && drawn.contains("r!3"));
        assert!(drawn.contains("r=\"4\""), "one message is never received");
    }

    #[test]
    fn a_rendezvous_shows_what_was_received() {
        let drawn = first_run(
            "chan r = [0] of { byte, byte }; byte x = 6;
             active proctype A() { r!x + 1,2 } active proctype B() { byte v; r?v,2 }",
        );
        assert!(drawn.contains("r!x + 1,2 (v = 7)"), "{drawn}");
    }

    #[test]
    fn a_violated_assertion_is_named() {
        let text = "byte x; process P { state a, b; init a; assert b: x == 1; trans a -> b {}; } system async;";
        let model = load_text("m.dve", text, Language::Dve, &LoadOptions::default())
            .unwrap_or_else(|error| panic!("{error}"));
        let system = model.reference();
        let mut trace = Trace::new(&system.initial_states());
        assert!(!svg(system, &trace).contains("violated"));
        let mut out = stubborn_system::Successors::new(system.layout().words());
        system.executor().successors(trace.last_state(), &mut out);
        trace.push(out.get(0).transition, out.outcome(0), out.state(0));
        assert!(svg(system, &trace).contains("violated: assertion in P.b"));
    }

    #[test]
    fn texts_are_escaped() {
        let drawn = first_run("byte x; active proctype A() { x < 3 && x > -1 }");
        assert!(drawn.contains("x &lt; 3 &amp;&amp; x"), "{drawn}");
    }
}
