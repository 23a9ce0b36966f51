//! What the kernels must know to compute stubborn sets.

use std::fmt::Write;

use stubborn_ir::Model;
use stubborn_system::System;

use super::expressions::Source;
use crate::Refusal;
use crate::sets::Sets;

/// `blocked`: which guards of a command do not hold, as bits; all labels of commands; and which commands
/// may go wrong after their first step.
pub(super) fn functions(
    out: &mut Source<'_>,
    model: &Model,
    sets: &Sets,
) -> Result<String, Refusal> {
    let (program, structure) = (model.program(), model.structure());
    let guards = |at: usize| &program.commands[at].guards;
    let commands = 0..program.commands.len();
    let most = commands.clone().map(|at| guards(at).len()).max();
    let most = most.unwrap_or(0).max(1);
    if most > 32 {
        return Err(Refusal::new("a command has too many guards for sets"));
    }
    let mut text = format!(
        "#define GUARDS {most}u\nCALLED uint blocked(const uint t, const State* s) {{\n  uint f = 0;\n  switch (t) {{\n"
    );
    let mut of = Vec::new();
    for at in commands.clone() {
        let _ = writeln!(text, "  case {at}: {{");
        for (number, guard) in guards(at).iter().enumerate() {
            let value = out.expression(&program.labels[guard.index()].expr, "s")?;
            // One that fails counts as true.
            let _ = writeln!(
                text,
                "  {{ uint bad = 0; if (!({value}) && bad == 0) f |= {}u; }}",
                1_u32 << number
            );
        }
        text += "  } break;\n";
        let labels = guards(at).iter().map(|guard| guard.index().to_string());
        let none = std::iter::repeat_n("0".to_owned(), most - guards(at).len());
        of.extend(labels.chain(none));
    }
    let may_fail = commands.map(|at| {
        let goes_on = program.commands[at].continues.is_some();
        let fails = structure.transitions[at].may_fail;
        if goes_on && fails { "1" } else { "0" }
    });
    let may_fail: Vec<&str> = may_fail.collect();
    let _ = write!(
        text,
        "  }}\n  return f;\n}}\n\
         __constant ushort guard_of[] = {{ {} }};\n\
         __constant uchar fails_later[] = {{ {} }};\n\
         #define COMMANDS {}u\n#define SET_WORDS {}u\n",
        of.join(", "),
        may_fail.join(", "),
        program.commands.len(),
        sets.words(),
    );
    Ok(text)
}
