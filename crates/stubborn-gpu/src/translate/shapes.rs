//! Commands that differ by numbers alone become one function.
//!
//! What a card's compiler takes grows with the text, and faster than that within one function. Processes of a
//! model are often copies of each other, and so are most of the pairs that send and receive: their commands
//! read and write other fields, and other values, in the same way. Such commands share a *shape*: a function
//! that finds its numbers in a row of a table. Where processes are says by tables, too, which command
//! it is. Functions are called: nothing is there twice.
//!
//! Words of a state are then chosen at run time and cannot be registers, which makes a step slower. So this is
//! for long texts.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::{Round, Slot};
use crate::translate::expressions::Source;

/// Bytes of tables, of the 64 KiB that cards have for constants.
const MOST_BYTES: usize = 52 << 10;
/// Stands for a number that was taken out; its suffix follows.
const MARK: char = '\u{1}';

/// A text without its numbers, and the numbers.
fn without_numbers(text: &str) -> (String, Vec<u32>) {
    let (mut shape, mut numbers) = (String::with_capacity(text.len()), Vec::new());
    let mut rest = text;
    let mut is_in_name = false;
    while let Some(next) = rest.chars().next() {
        // A choice needs its constants.
        let is_case = !is_in_name && rest.starts_with("case ");
        let length = match is_case {
            true => rest.find(':').map_or(rest.len(), |at| at + 1),
            false if is_in_name || !next.is_ascii_digit() => next.len_utf8(),
            false => rest
                .find(|c: char| !c.is_ascii_hexdigit() && c != 'x')
                .unwrap_or(rest.len()),
        };
        let (token, after) = rest.split_at(length);
        let number = match token.strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16).ok(),
            None => token.parse().ok(),
        };
        match number.filter(|_| !is_in_name) {
            Some(number) => {
                shape.push(MARK);
                numbers.push(number);
            }
            None => shape += token,
        }
        is_in_name = !is_case && (next.is_ascii_alphanumeric() || next == '_');
        rest = after;
    }
    (shape, numbers)
}

/// Numbers of a table, with the shortest type that has them all.
fn table(name: &str, numbers: &[u32], bytes: &mut usize) -> String {
    let (kind, size) = match numbers.iter().max().copied().unwrap_or(0) {
        0..=0xff => ("uchar", 1),
        0x100..=0xffff => ("ushort", 2),
        _ => ("uint", 4),
    };
    *bytes += size * numbers.len();
    let mut text = format!("__constant {kind} {name}[] = {{");
    for number in numbers {
        let _ = write!(text, "{number}u,");
    }
    // No table is empty.
    text += "0u};\n";
    text
}

/// A function for each shape, and one that calls that of a command by its number.
pub(super) fn functions(
    name: &str,
    (parameters, arguments): (&str, &str),
    bodies: &BTreeMap<u32, String>,
    bytes: &mut usize,
) -> String {
    let mut shapes: BTreeMap<String, Vec<(u32, Vec<u32>)>> = BTreeMap::new();
    for (at, body) in bodies {
        let (shape, numbers) = without_numbers(body);
        shapes.entry(shape).or_default().push((*at, numbers));
    }
    let commands = bodies.keys().last().map_or(0, |last| *last as usize + 1);
    let (mut shape_of, mut row_of) = (vec![0; commands], vec![0; commands]);
    let (mut text, mut cases) = (String::new(), String::new());
    for (nr, (shape, members)) in shapes.iter().enumerate() {
        for (row, (at, _)) in members.iter().enumerate() {
            shape_of[*at as usize] = nr as u32;
            row_of[*at as usize] = row as u32;
        }
        // Columns that are not the same in all rows, each once.
        let column = |at: usize| members.iter().map(move |(_, numbers)| numbers[at]);
        let mut columns: Vec<Vec<u32>> = Vec::new();
        let mut pieces = shape.split(MARK);
        let mut body = pieces.next().unwrap_or_default().to_owned();
        for (at, piece) in pieces.enumerate() {
            let numbers: Vec<u32> = column(at).collect();
            if numbers.iter().all(|number| *number == numbers[0]) {
                let _ = write!(body, "{}{piece}", numbers[0]);
                continue;
            }
            let known = columns.iter().position(|known| *known == numbers);
            let place = known.unwrap_or(columns.len());
            if known.is_none() {
                columns.push(numbers);
            }
            let (kind, piece) = match piece.strip_prefix("ul") {
                Some(piece) => ("ulong", piece),
                None => piece
                    .strip_prefix('u')
                    .map_or(("int", piece), |piece| ("uint", piece)),
            };
            let _ = write!(body, "({kind})k[{place}]{piece}");
        }
        if columns.is_empty() {
            let _ = write!(text, "CALLED uint {name}{nr}({parameters}) {{\n{body}}}\n");
            let _ = writeln!(cases, "  case {nr}: return {name}{nr}({arguments});");
            continue;
        }
        let rows = (0..members.len()).flat_map(|row| columns.iter().map(move |column| column[row]));
        let rows: Vec<u32> = rows.collect();
        let row_table = table(&format!("{name}{nr}_rows"), &rows, bytes);
        let kind = row_table.split(' ').nth(1).unwrap_or_default();
        let _ = write!(
            text,
            "{row_table}CALLED uint {name}{nr}({parameters}, const uint row) {{\n  \
             __constant const {kind}* k = {name}{nr}_rows + row * {}u;\n{body}}}\n",
            columns.len()
        );
        let _ = writeln!(
            cases,
            "  case {nr}: return {name}{nr}({arguments}, {name}_row[at]);"
        );
    }
    text += &table(&format!("{name}_shape"), &shape_of, bytes);
    text += &table(&format!("{name}_row"), &row_of, bytes);
    let _ = write!(
        text,
        "CALLED uint {name}(const uint at, {parameters}) {{\n  switch ({name}_shape[at]) {{\n{cases}  }}\n  return 0;\n}}\n"
    );
    text
}

/// Choices by locations: a place in a state, and what is chosen by the number there. Small numbers are
/// commands, plus 1; larger ones are choices.
#[derive(Default)]
struct Choices {
    commands: u32,
    words: Vec<u32>,
    shifts: Vec<u32>,
    masks: Vec<u32>,
    least: Vec<u32>,
    counts: Vec<u32>,
    firsts: Vec<u32>,
    ahead: Vec<u32>,
}

impl Choices {
    /// Makes room for a choice.
    fn reserve(&mut self) -> usize {
        for column in [
            &mut self.words,
            &mut self.shifts,
            &mut self.masks,
            &mut self.least,
            &mut self.counts,
            &mut self.firsts,
        ] {
            column.push(0);
        }
        self.words.len() - 1
    }

    /// A choice by where a process is; without one, the only option.
    fn set(&mut self, at: usize, out: &Source<'_>, process: Option<usize>, options: &[(u32, u32)]) {
        let spot = process.and_then(|process| out.counter(process));
        let (mut options, fixed) = (
            options.to_vec(),
            process.and_then(|p| out.fixed_location(p)),
        );
        if let Some(fixed) = fixed {
            // It is there, and no bits say so.
            options.retain(|(location, _)| *location == fixed);
            options.iter_mut().for_each(|option| option.0 = 0);
        }
        let least = options.iter().map(|(location, _)| *location).min();
        let most = options.iter().map(|(location, _)| *location).max();
        let (least, most) = (least.unwrap_or(0), most.unwrap_or(0));
        if let Some(spot) = spot {
            self.words[at] = spot.word;
            self.shifts[at] = spot.shift;
            self.masks[at] = spot.mask() as u32;
        }
        self.least[at] = least;
        self.counts[at] = most - least + 1;
        self.firsts[at] = self.ahead.len() as u32;
        let first = self.ahead.len();
        self.ahead.resize(first + (most - least) as usize + 1, 0);
        for (location, option) in options {
            self.ahead[first + (location - least) as usize] = option;
        }
    }

    fn round(&mut self, out: &Source<'_>, at: usize, round: &Round) {
        match round {
            Round::Free(command) => self.set(at, out, None, &[(0, command + 1)]),
            Round::Process(process, locations) => {
                let options: Vec<(u32, u32)> = locations
                    .iter()
                    .map(|(location, slot)| match slot {
                        Slot::One(command) => (*location, command + 1),
                        Slot::ByPartner(partner, by) => {
                            let choice = self.reserve();
                            let by: Vec<(u32, u32)> = by
                                .iter()
                                .map(|(there, command)| (*there, command + 1))
                                .collect();
                            self.set(choice, out, Some(*partner), &by);
                            (*location, self.commands + 1 + choice as u32)
                        }
                    })
                    .collect();
                self.set(at, out, Some(*process), &options);
            }
        }
    }
}

/// `fire` and `chain_fire` by tables; none if they are too long for a card.
pub(super) fn by_tables(
    out: &Source<'_>,
    rounds: &[&Round],
    chains: &[Vec<Round>],
) -> Option<String> {
    let mut bytes = 0;
    let mut text = functions(
        "step",
        ("const State* s, State* x", "s, x"),
        &out.commands,
        &mut bytes,
    );
    let mut choices = Choices {
        commands: out.commands.keys().last().map_or(0, |last| last + 1),
        ..Choices::default()
    };
    // Those of rounds first, then those of chains, one process after the other.
    let in_chains: usize = chains.iter().map(Vec::len).sum();
    for _ in 0..rounds.len() + in_chains {
        choices.reserve();
    }
    let mut of_process = Vec::new();
    let mut at = 0;
    for round in rounds {
        choices.round(out, at, round);
        at += 1;
    }
    for rounds in chains {
        of_process.push(at as u32);
        for round in rounds {
            choices.round(out, at, round);
            at += 1;
        }
    }
    for (name, numbers) in [
        ("choice_word", &choices.words),
        ("choice_shift", &choices.shifts),
        ("choice_mask", &choices.masks),
        ("choice_least", &choices.least),
        ("choice_count", &choices.counts),
        ("choice_first", &choices.firsts),
        ("choice_ahead", &choices.ahead),
        ("choice_chain", &of_process),
    ] {
        text += &table(name, numbers, &mut bytes);
    }
    let commands = choices.commands;
    let _ = write!(
        text,
        "static uint chosen(uint g, const State* s, State* x, uint* c) {{\n  \
         uint v;\n  do {{\n    \
         const uint l = ((uint)(s->w[choice_word[g]] >> choice_shift[g]) & choice_mask[g]) - choice_least[g];\n    \
         v = l < choice_count[g] ? choice_ahead[choice_first[g] + l] : 0u;\n    \
         g = v - {commands}u - 1u;\n  }} while (v > {commands}u);\n  \
         if (v == 0u) return 0u;\n  *c = v - 1u;\n  return step(v - 1u, s, x);\n}}\n\
         CALLED uint fire(const uint r, const State* s, State* x, uint* c) {{ return chosen(r, s, x, c); }}\n"
    );
    if !chains.is_empty() {
        text += "CALLED uint chain_fire(const uint p, const uint r, const State* s, State* x, uint* c) \
                 { return chosen(choice_chain[p] + r, s, x, c); }\n";
    }
    (bytes <= MOST_BYTES).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_taken_out_of_texts() {
        let (shape, numbers) = without_numbers("x->w[12] = 0x3ful<<t0 | get_in_2(7u, -1);");
        let mark = |text: &str| text.replace('#', &MARK.to_string());
        assert_eq!(shape, mark("x->w[#] = #ul<<t0 | get_in_2(#u, -#);"));
        assert_eq!(numbers, [12, 0x3f, 7, 1]);
        // Choices need their constants, and longer numbers have no place in a row.
        let (shape, numbers) = without_numbers("case 5: r1; case (-2): 0x1ffffffff; 4294967295u");
        assert_eq!(shape, mark("case 5: r1; case (-2): 0x1ffffffff; #u"));
        assert_eq!(numbers, [u32::MAX]);
    }

    #[test]
    fn one_function_serves_all_of_a_shape() {
        let bodies = [
            (0, "  return s->w[0] + 5u + 5u;\n".to_owned()),
            (2, "  return s->w[1] + 300u + 300u;\n".to_owned()),
            (3, "  return 7u;\n".to_owned()),
        ];
        let mut bytes = 0;
        let text = functions("f", ("const State* s", "s"), &bodies.into(), &mut bytes);
        // Equal columns are there once: two rows of two numbers, and shapes and rows of four commands.
        assert!(
            text.contains("__constant ushort f1_rows[] = {0u,5u,1u,300u,0u};"),
            "{text}"
        );
        assert!(
            text.contains("return s->w[(int)k[0]] + (uint)k[1] + (uint)k[1];"),
            "{text}"
        );
        assert!(
            text.contains("CALLED uint f0(const State* s) {\n  return 7u;\n}"),
            "{text}"
        );
        assert!(
            text.contains("__constant uchar f_shape[] = {1u,0u,1u,0u,0u};"),
            "{text}"
        );
        assert_eq!(bytes, 2 * 4 + 4 + 4);
    }
}
