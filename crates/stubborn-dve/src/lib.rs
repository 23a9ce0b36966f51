//! Front-end for DVE, the modelling language of the DiVinE model checker, in which
//! the BEEM benchmark (Radek Pelánek, "BEEM: Benchmarks for Explicit Model
//! Checkers", SPIN 2007) is written.
//!
//! Text flows one way: [`token`] (lexer), a recursive-descent parser to the syntax
//! tree of [`ast`], name resolution and checks to the [`model`], and the guarded commands
//! of the IR ([`lower`]). No stage gives up: [`compile`] (or [`load`], which stops before
//! the last stage) returns what is wrong as a list of diagnostics.
//!
//! ```
//! use stubborn_diagnostics::SourceFile;
//!
//! let text = "byte x; process P { state a, b; init a; trans a -> b { guard x == 0; effect x = 7; }; }
//!             system async;";
//! let (lowered, diagnostics) = stubborn_dve::compile(&SourceFile::new("tiny.dve", text));
//! assert!(diagnostics.is_empty());
//! let mut lowered = lowered.expect("there are no errors");
//!
//! // A proposition over its names, as a label of the program:
//! let text = SourceFile::new("goal", "P.b and x > 1");
//! let (goal, _) = stubborn_dve::load_expression(lowered.model(), &text);
//! let condition = lowered.condition(&goal.expect("it is correct"));
//! let label = lowered.program_mut().label(condition);
//!
//! // The program, ready to run:
//! let system = stubborn_ir::Model::new(lowered.into_program()).expect("it is small");
//!
//! let (model, diagnostics) = stubborn_dve::load(&SourceFile::new("bad.dve", "byte x = 300;"));
//! assert!(model.is_none());
//! assert_eq!(diagnostics[0].code, "DVE056");
//! ```
//!
//! # The language as it is understood here
//!
//! The semantics is that of DiVinE's own interpreter, which computed the results of
//! the BEEM database. What surprises people:
//!
//! * `and` and `or` bind equally strongly, to the left: `a or b and c` is
//!   `(a or b) and c`. So do `|`, `&` and `^`. `not x == 0` is `(not x) == 0`.
//! * The right operand of `and`, `or` and `imply` counts as true only if it is
//!   positive; the left one, and a whole guard, if it is not zero. All three evaluate
//!   the right operand only if the left one does not decide.
//! * Expressions are computed with 32-bit integers. Only a store checks the range of
//!   its variable (`byte`: 0 to 255, `int`: -32768 to 32767).
//! * A store out of range, an index out of range and a division by zero lead to one
//!   *error state*, a state of its own without successors. A guard whose evaluation
//!   fails is enabled, and its transition leads there. So does a rendezvous whose two
//!   halves both assign to the same global variable in their effects.
//! * The effects of a transition run one after another, after the process has moved.
//!   In a rendezvous the values are stored first, then the receiver moves and runs its
//!   effects, then the sender.
//! * If any process is in a committed state, only processes in committed states move;
//!   of a rendezvous both must be.
//! * A bare array name is its element 0.
//! * Inside a block comment `//` hides the rest of the line, even a `*/`.
//!
//! Where we deviate from DiVinE, on purpose:
//!
//! 1. **Buffered channels transfer first**, then the effects run: what is sent are the
//!    values of the state before the step, and effects see what was received. DiVinE
//!    runs the effects first, so that a receive overwrites them.
//! 2. **`^` works** (bitwise exclusive or); DiVinE parses it and then cannot evaluate it.
//! 3. **`system sync` is refused** with a message; DiVinE accepts it and aborts.
//! 4. `%` by zero and an index outside a constant array lead to the error state, where
//!    DiVinE crashes or reads stray memory; a shift uses the low five bits of its right
//!    operand; probabilistic transitions (`=>`) are refused; a failing guard of one
//!    receiver does not turn other steps on its channel into errors; more initial values
//!    than an array has elements are an error, where DiVinE drops them (zeros, of which models of BEEM
//!    have too many, are dropped here, too).
//!
//! # Diagnostics
//!
//! | code | meaning |
//! | --- | --- |
//! | DVE001 | A character that no DVE token starts with. |
//! | DVE002 | A `/*` comment that is never closed; mind that `//` inside it hides the rest of its line. |
//! | DVE003 | A number that does not fit into 32 bits. |
//! | DVE004 | The text is longer than this front-end accepts. |
//! | DVE005 | So many errors that the rest is not reported. |
//! | DVE010 | A token where another one is expected. |
//! | DVE011 | An expression nested too deeply, or a chain of operators that is too long. |
//! | DVE012 | `!` used as negation: DVE writes `not`. |
//! | DVE013 | A part of a process or transition that is repeated or comes too late. |
//! | DVE014 | `system sync`, the lock-step composition, which is not supported. |
//! | DVE015 | The first transition of a process has no source state that it could repeat. |
//! | DVE016 | The model has no process besides the property process. |
//! | DVE017 | The `system` line is missing. |
//! | DVE018 | Text after the `system` line. |
//! | DVE019 | A process without an `init` state. |
//! | DVE020 | A probabilistic transition (`=>`), which is not supported. |
//! | DVE021 | A process without states. |
//! | DVE030 | A name that is not declared. |
//! | DVE031 | A name declared twice in one scope. |
//! | DVE032 | A name that is declared, but as something else than is needed here. |
//! | DVE033 | `P.s` or `P->x` where P is no process. |
//! | DVE034 | A state that the process does not have. |
//! | DVE035 | `P->x` outside the property process. |
//! | DVE036 | A variable that the process named before `->` does not have. |
//! | DVE037 | A system process looks at the property process. |
//! | DVE050 | An assignment to, or a receive into, a constant. |
//! | DVE051 | A receive into, or an assignment to, something that is no variable. |
//! | DVE052 | The uses of a channel disagree about the number of values sent. |
//! | DVE053 | An index on something that is no array. |
//! | DVE054 | An array without elements, or more memory than this front-end accepts. |
//! | DVE055 | A list as the initial value of a scalar, a single value for an array, or a value that is too many. |
//! | DVE056 | An initial value outside the range of its type. |
//! | DVE057 | An initial value that cannot be computed. |
//! | DVE058 | A property process that synchronises or has effects. |
//! | DVE059 | An acceptance condition other than Büchi in the property process. |
//! | DVE080 | Warning: a constant index outside its array, which always leads to the error state. |
//! | DVE081 | Warning: a constant outside the range of the variable it is stored in. |
//! | DVE090 | So many transitions, or pairs of them on rendezvous channels, that the model is too large. |

#![forbid(unsafe_code)]

pub mod ast;
pub mod codes;
pub mod evaluate;
pub mod lower;
pub mod model;
mod parser;

mod resolve;
pub mod token;

pub use bumpalo::Bump;
pub use lower::Lowered;
pub use parser::MAX_INPUT_BYTES;
pub use resolve::MAX_CELLS;

use model::Model;
use stubborn_diagnostics::{Diagnostic, Reporter, SourceFile};
use stubborn_system::Budget;
use stubborn_system::budget::UNLIMITED;

/// Greatest height of an expression's tree, and greatest depth of the parser's
/// recursion: every pass over an expression may recurse without fear.
pub const MAX_EXPRESSION_HEIGHT: u32 = 1000;

/// Parses a model without checking it: whatever the text is, the parts that could
/// be understood come back, with diagnostics about the others. Expressions are in `arena`.
pub fn parse<'src>(
    source: &'src SourceFile,
    arena: &'src Bump,
) -> (ast::Model<'src>, Vec<Diagnostic>) {
    let mut reporter = Reporter::new(codes::TOO_MANY_ERRORS);
    let tree = parser::parse_model(source.text(), arena, &mut reporter, &UNLIMITED);
    (tree, reporter.finish())
}

/// Parses and checks a model. There is a model exactly if no diagnostic is an error.
pub fn load(source: &SourceFile) -> (Option<Model>, Vec<Diagnostic>) {
    let mut reporter = Reporter::new(codes::TOO_MANY_ERRORS);
    let arena = Bump::new();
    let tree = parser::parse_model(source.text(), &arena, &mut reporter, &UNLIMITED);
    let model = resolve::resolve_model(&tree, &mut reporter);
    let usable = !reporter.has_errors();
    (usable.then_some(model), reporter.finish())
}

/// Parses, checks and lowers a model to guarded commands. There is a result exactly if no
/// diagnostic is an error.
pub fn compile(source: &SourceFile) -> (Option<Lowered>, Vec<Diagnostic>) {
    compile_within(source, &UNLIMITED)
}

/// As [`compile`], within a budget: if it is spent, there may be no result although nothing is
/// wrong.
pub fn compile_within(source: &SourceFile, budget: &Budget) -> (Option<Lowered>, Vec<Diagnostic>) {
    budget.begin("parsing the model");
    let mut reporter = Reporter::new(codes::TOO_MANY_ERRORS);
    let arena = Bump::new();
    let tree = parser::parse_model(source.text(), &arena, &mut reporter, budget);
    let model = resolve::resolve_model(&tree, &mut reporter);
    if reporter.has_errors() || budget.poll().is_some() {
        return (None, reporter.finish());
    }
    budget.begin("lowering the model");
    let mut lowered = lower::lower(model, source.name(), &mut reporter);
    if let Some(lowered) = &mut lowered {
        stubborn_ir::narrow::find_failures(lowered.program_mut(), budget);
    }
    (
        lowered.filter(|_| budget.poll().is_none()),
        reporter.finish(),
    )
}

/// Parses and checks a stand-alone expression over the names of a model, such as an
/// invariant or a proposition of a temporal formula.
///
/// Besides everything that guards may say it may negate with `!`, and it names the
/// local variables of processes as `P.x` or `P->x`.
pub fn load_expression(
    model: &Model,
    source: &SourceFile,
) -> (Option<model::Expr>, Vec<Diagnostic>) {
    let mut reporter = Reporter::new(codes::TOO_MANY_ERRORS);
    let arena = Bump::new();
    let expression = parser::parse_expression(source.text(), &arena, &mut reporter)
        .and_then(|tree| resolve::resolve_expression(model, &tree, &mut reporter));
    let usable = !reporter.has_errors();
    (expression.filter(|_| usable), reporter.finish())
}
