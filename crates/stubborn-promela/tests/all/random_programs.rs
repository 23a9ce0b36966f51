//! Random small programs, counted by SPIN and by us.

use std::fmt::Write;
use std::path::Path;

use stubborn_system::Random;

use crate::support::{Scratch, count, has_spin, spin_counts};

/// Writes a program of a few processes that use two numbers, a buffer and a rendez-vous.
pub(crate) fn program(seed: u64) -> String {
    program_with(seed, false)
}

/// The same with many assertions, mostly in atomic sequences.
pub(crate) fn program_with_assertions(seed: u64) -> String {
    program_with(seed, true)
}

fn program_with(seed: u64, asserts: bool) -> String {
    let mut random = Random::new(seed);
    let mut text =
        String::from("byte x, y;\nchan q = [2] of { byte };\nchan r = [0] of { byte };\n");
    for name in ["A", "B", "C"].iter().take(2 + random.below(2)) {
        let _ = writeln!(text, "active proctype {name}() {{ byte v;");
        let mut writer = Writer {
            random: &mut random,
            inside: Inside::Body,
            loops: 0,
            asserts,
        };
        let statements = 2 + writer.random.below(3);
        let body = writer.sequence(statements, 2);
        let _ = writeln!(text, "{body}\n}}");
    }
    text
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Body,
    Atomic,
    DStep,
}

struct Writer<'r> {
    random: &'r mut Random,
    inside: Inside,
    loops: usize,
    /// Mostly atomic sequences, d_steps with loops, and assertions.
    asserts: bool,
}

impl Writer<'_> {
    fn sequence(&mut self, statements: usize, depth: usize) -> String {
        let parts: Vec<String> = (0..statements).map(|_| self.statement(depth)).collect();
        parts.join("; ")
    }

    fn variable(&mut self) -> &'static str {
        ["x", "y", "v"][self.random.below(3)]
    }

    fn condition(&mut self) -> String {
        let number = self.random.below(3);
        match self.random.below(5) {
            0 => format!("len(q) < {number}"),
            1 => format!("q?[{number}]"),
            2 => format!(
                "({} != {number} || {} == {})",
                self.variable(),
                self.variable(),
                self.variable()
            ),
            _ => format!(
                "{} {} {number}",
                self.variable(),
                self.random.pick(&["==", "!=", "<", ">="])
            ),
        }
    }

    fn simple(&mut self) -> String {
        if self.asserts && self.random.one_in(3) {
            return format!("assert({})", self.condition());
        }
        let number = self.random.below(3);
        let target = self.variable();
        let kinds = if self.inside == Inside::DStep { 3 } else { 8 };
        match self.random.below(kinds) {
            0 => format!("{target} = {number}"),
            1 => format!("{target} = ({} + {}) % 3", self.variable(), self.variable()),
            2 => format!("{target} = 1 - {target} % 2"),
            3 => format!("q!{target}"),
            4 => format!(
                "q?{}",
                self.random.pick(&["v", "x", "0", "1", "eval(y)", "_"])
            ),
            5 => format!("r!{target}"),
            6 => format!("r?{}", self.random.pick(&["v", "1", "_"])),
            _ => self.condition(),
        }
    }

    fn atomic(&mut self, depth: usize) -> String {
        self.inside = Inside::Atomic;
        let count = 2 + self.random.below(2);
        let body = self.sequence(count, depth - 1);
        self.inside = Inside::Body;
        format!("atomic {{ {body} }}")
    }

    fn statement(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.simple();
        }
        if self.asserts && self.inside == Inside::Body && self.random.one_in(2) {
            return self.atomic(depth);
        }
        match self.random.below(9) {
            0 if self.inside == Inside::Body => self.atomic(depth),
            1 if self.inside != Inside::DStep => {
                let outer = self.inside;
                let guard = self.condition();
                self.inside = Inside::DStep;
                let mut body = self.sequence(2, 0);
                if self.asserts {
                    let (round, step) = (self.variable(), self.simple());
                    body +=
                        &format!("; do :: {round} < 3 -> {step}; {round}++ :: else -> break od");
                }
                self.inside = outer;
                format!("d_step {{ {guard}; {body} }}")
            }
            2 if self.inside == Inside::Body => {
                let main = self.sequence(2, depth - 1);
                let guard = self.condition();
                let escape = self.simple();
                format!("{{ {main} }} unless {{ {guard} -> {escape} }}")
            }
            3 if self.inside != Inside::DStep && self.loops == 0 => {
                self.loops += 1;
                let guard = self.condition();
                let step = self.sequence(1, depth - 1);
                let leave = self.condition();
                self.loops -= 1;
                format!("do :: {guard} -> {step} :: {leave} -> break od")
            }
            4 | 5 if self.inside != Inside::DStep => {
                let mut options = String::new();
                for _ in 0..2 {
                    let first = self.condition();
                    let rest = self.sequence(1, depth - 1);
                    let _ = write!(options, ":: {first} -> {rest} ");
                }
                if self.random.below(2) == 0 {
                    let rest = self.simple();
                    let _ = write!(options, ":: else -> {rest} ");
                }
                format!("if {options}fi")
            }
            _ => self.simple(),
        }
    }
}

fn compare(seeds: std::ops::Range<u64>, asserts: bool) {
    if !has_spin() {
        return;
    }
    let scratch = Scratch::new(&format!("random-{}-{asserts}", seeds.start));
    let mut compared = 0;
    for seed in seeds {
        let text = program_with(seed, asserts);
        let ours = match count(Path::new("m.pml"), &text, 200_000) {
            Ok(counts) => counts,
            Err(message) => panic!("seed {seed}: {message}\n{text}"),
        };
        // A failure ends SPIN's search at once, and an endless chain never ends it.
        if !ours.failures.is_empty() || !ours.complete {
            continue;
        }
        let Some(spin) = spin_counts(&text, &scratch).filter(|c| c.complete) else {
            continue;
        };
        assert_eq!(
            (ours.states, ours.transitions),
            (spin.states, spin.transitions),
            "seed {seed}:\n{text}"
        );
        // SPIN counts each violation on a way through a sequence, we count the way.
        let errors = |count: usize| count.min(if asserts { 1 } else { usize::MAX });
        let (found, expected) = (errors(ours.errors), errors(spin.errors));
        assert_eq!(found, expected, "seed {seed}:\n{text}");
        compared += 1;
    }
    assert!(compared > 0, "no program could be compared");
}

#[test]
fn a_few_random_programs_have_the_counts_of_spin() {
    compare(1..9, false);
    compare(1..5, true);
}

#[test]
#[ignore = "long: compiles a verifier for each program, about half a minute"]
fn more_random_programs_have_the_counts_of_spin() {
    compare(9..50, false);
    compare(5..50, true);
}

#[test]
#[ignore = "long: compiles a verifier for each program, about ten minutes"]
fn many_random_programs_have_the_counts_of_spin() {
    compare(100..400, false);
    compare(100..400, true);
}
