//! A model as text.

use std::fmt::Write;

use stubborn::system::{LabelId, Matrix, Relations, TransitionId};

use super::View;
use crate::terminal::counted;

/// More related things than this are counted.
const LISTED: usize = 24;

pub(super) fn show(view: &View<'_>) -> String {
    let args = view.args;
    let nothing_chosen =
        !(args.transitions || args.guards || args.fields || args.sets || view.relations.is_some());
    let mut out = summary(view);
    if args.transitions || args.sets || nothing_chosen {
        out += &transitions(view, args.sets);
    }
    if args.guards {
        out += &guards(view);
    }
    if args.fields {
        out += &fields(view);
    }
    if let Some(relations) = view.shown_relations() {
        out += &self::relations(view, relations);
    }
    out
}

fn summary(view: &View<'_>) -> String {
    let structure = view.structure;
    let layout = view.model.system().layout();
    let count = |number: usize, name| counted(number as u64, name);
    let mut out = format!("{} ({})\n", view.model.name(), view.model.language());
    let _ = writeln!(
        out,
        "{}, {}, {}, {} in {} of 32 bits, {}",
        count(structure.processes.len(), "process").replace("processs", "processes"),
        count(structure.transitions.len(), "transition"),
        count(structure.labels.len(), "label"),
        count(layout.fields().len(), "field"),
        count(layout.words(), "word"),
        count(layout.channels().len(), "buffered channel"),
    );
    for property in &structure.properties {
        let _ = writeln!(out, "{:?}: {}", property.kind, property.name);
    }
    out
}

fn transitions(view: &View<'_>, with_sets: bool) -> String {
    let mut out = String::from("\nTransitions\n");
    let mut all = view
        .transitions
        .iter()
        .map(|id| view.structure.transition(*id));
    if all.any(|transition| transition.title() != transition.name) {
        out += "  (#2: another one of the same statement; #way2: another way through an atomic sequence)\n";
    }
    for id in &view.transitions {
        let transition = view.structure.transition(*id);
        let _ = write!(out, "  {id:?}  {}", transition.name);
        if let Some(span) = transition.span {
            let line = view.model.text().line_number(span);
            let _ = write!(out, "  (line {line})");
        }
        let marks = [
            (transition.may_fail, "may fail"),
            (!transition.deterministic, "several successors"),
            (transition.priority > 0, "only if nothing else is possible"),
        ];
        for (_, mark) in marks.iter().filter(|(is_so, _)| *is_so) {
            let _ = write!(out, "  [{mark}]");
        }
        out.push('\n');
        let guards: Vec<String> = transition
            .guards
            .iter()
            .map(|g| conjunct(&view.structure.label(*g).text))
            .collect();
        if !guards.is_empty() {
            let _ = writeln!(out, "        when {}", guards.join(" and "));
        }
        if with_sets {
            for (what, fields) in [
                ("tests", view.field_names(&view.tests(*id))),
                ("reads", view.field_names(&transition.reads)),
                ("writes", view.field_names(&transition.writes)),
            ] {
                let _ = writeln!(out, "        {what:6} {{{}}}", fields.join(", "));
            }
        }
    }
    out
}

/// A condition as one of several that hold together: with parentheses, if it is a disjunction.
pub(super) fn conjunct(text: &str) -> String {
    let mut depth = 0;
    let is_disjunction = text.char_indices().any(|(at, c)| {
        depth += match c {
            '(' | '[' => 1,
            ')' | ']' => -1,
            _ => 0,
        };
        depth == 0 && text[at..].starts_with(" or ")
    });
    match is_disjunction {
        true => format!("({text})"),
        false => text.to_owned(),
    }
}

fn guards(view: &View<'_>) -> String {
    let mut out = String::from("\nGuards and other labels\n");
    for id in view.labels() {
        let label = view.structure.label(id);
        let tests = view.field_names(&label.tests).join(", ");
        let _ = writeln!(out, "  {id:?}  {}  tests {{{tests}}}", label.text);
    }
    out
}

fn fields(view: &View<'_>) -> String {
    let mut out = String::from("\nFields\n");
    let layout = view.model.system().layout();
    for (at, field) in layout.fields().iter().enumerate() {
        let _ = writeln!(
            out,
            "  f{at}  {}  {}..{}  word {}, bits {}..{}",
            field.name,
            field.min,
            field.max,
            field.word,
            field.shift,
            u32::from(field.shift) + u32::from(field.bits),
        );
    }
    out
}

fn relations(view: &View<'_>, relations: &Relations) -> String {
    let mut out = String::from("\nRelations between transitions (pairs of all possible)\n");
    let size = |rows: usize, columns: usize, count: usize| format!("{count} of {}", rows * columns);
    let between_transitions: [(&str, &Matrix<TransitionId, TransitionId>); 3] = [
        ("do not accord", &relations.do_not_accord.0),
        ("do not left-accord", &relations.do_not_left_accord.0),
        ("must disable", &relations.must_disable.0),
    ];
    for (name, matrix) in between_transitions {
        let size = size(matrix.rows(), matrix.columns(), matrix.count());
        let _ = writeln!(out, "  {name}: {size}");
    }
    for id in &view.transitions {
        let _ = writeln!(out, "  {id:?}  {}", view.structure.transition(*id).name);
        for (name, matrix) in between_transitions {
            row(&mut out, name, matrix.row(*id).map(|t| format!("{t:?}")));
        }
    }
    out += "\nRelations of guards\n";
    let of_guards: [(&str, &Matrix<LabelId, TransitionId>); 2] = [
        ("may be enabled by", &relations.may_enable.0),
        ("may be disabled by", &relations.may_disable.0),
    ];
    for (name, matrix) in of_guards {
        let size = size(matrix.rows(), matrix.columns(), matrix.count());
        let _ = writeln!(out, "  {name}: {size}");
    }
    let never = &relations.never_together.0;
    let size = size(never.rows(), never.columns(), never.count());
    let _ = writeln!(out, "  never together with: {size}");
    for id in view.labels() {
        let _ = writeln!(out, "  {id:?}  {}", view.structure.label(id).text);
        for (name, matrix) in of_guards {
            row(&mut out, name, matrix.row(id).map(|t| format!("{t:?}")));
        }
        row(
            &mut out,
            "never together with",
            never.row(id).map(|g| format!("{g:?}")),
        );
    }
    out
}

fn row(out: &mut String, name: &str, related: impl ExactSizeIterator<Item = String>) {
    let number = related.len();
    if number == 0 {
        return;
    }
    let listed: Vec<String> = related.take(LISTED).collect();
    let _ = write!(out, "        {name}: {}", listed.join(" "));
    if number > LISTED {
        let _ = write!(
            out,
            " and {} more (--format json lists them)",
            number - LISTED
        );
    }
    out.push('\n');
}
