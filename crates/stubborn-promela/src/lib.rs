//! Promela: the language of SPIN.
//!
//! ```text
//! text ─► preprocess ─► parser (ast) ─► resolve + flow (hir) ─► lower (guarded commands)
//! ```
//!
//! [`load`] does it all. Each stage never fails half-way but collects [diagnostics] with stable codes
//! `PMLnnn`. Expressions that are no part of a model, such as invariants and propositions, are read
//! after it, each as one expression to its end: see [`Parsed::expression`].
//!
//! [diagnostics]: stubborn_diagnostics::Diagnostic
//!
//! ```
//! use stubborn_promela::{Options, load, source::NoIncludes};
//! use stubborn_system::System;
//!
//! let text = "byte x; active [2] proctype P() { x++; x-- }";
//! let loaded = load("m.pml".as_ref(), text, &Options::default(), &NoIncludes).unwrap();
//! assert_eq!(loaded.model.structure().processes.len(), 2);
//! ```
//!
//! # Diagnostics
//!
//! | code | meaning |
//! | --- | --- |
//! | PML001 | The text is longer than this front-end accepts. |
//! | PML002 | An included file that cannot be read. |
//! | PML003 | `#include` without a file name in double quotes. |
//! | PML004 | Files that include each other too deeply. |
//! | PML005 | A `#define`, `#if` or `#ifdef` that is not complete, or a condition that cannot be computed. |
//! | PML006 | A preprocessor directive that does not exist. |
//! | PML007 | `#if`, `#elif`, `#else` and `#endif` that do not belong together. |
//! | PML008 | An `#error` of the model. |
//! | PML009 | Macros or inlines that expand to too long a text. |
//! | PML010 | A macro that is used with a wrong number of arguments, or whose arguments do not end. |
//! | PML020 | Something else is expected here. |
//! | PML021 | A keyword where a name is expected. |
//! | PML022 | Blocks or expressions nested too deeply, or an expression that is too long. |
//! | PML023 | An inline that uses itself. |
//! | PML024 | An inline that is used with a wrong number of arguments. |
//! | PML025 | Embedded C code, which is not supported. |
//! | PML026 | A parameter with an initial value. |
//! | PML027 | An empty `ltl` formula. |
//! | PML028 | A `typedef` without fields. |
//! | PML029 | A parameter of an inline that is no single name, or is named twice. |
//! | PML030 | Warning: an inline without statements. |
//! | PML031 | A field of a message that is `unsigned`. |
//! | PML032 | A number that is no decimal number; as a warning, one that does not fit into 32 bits. |
//! | PML033 | A block, option or choice without statements. |
//! | PML034 | `return` outside of an inline whose value is used. |
//! | PML035 | A label before a declaration. |
//! | PML036 | An inline that is not defined before it is used. |
//! | PML040 | A model that starts no process. |
//! | PML041 | A name that is declared twice. |
//! | PML042 | An mtype set with more than 255 names. |
//! | PML043 | A predefined name that is declared. |
//! | PML044 | An mtype set or a type that is not declared before. |
//! | PML045 | An `unsigned` variable without a width of 1 to 31 bits. |
//! | PML046 | A size that makes no sense, or is too large. |
//! | PML047 | A value that must be constant, and is not. |
//! | PML048 | An initial value of the wrong kind; as a warning, one that has no effect. |
//! | PML049 | A parameter that is an array. |
//! | PML050 | `np_` outside of a never claim. |
//! | PML051 | A predefined variable that is read or written where that cannot be. |
//! | PML052 | A process type that is not declared. |
//! | PML053 | `run` inside of an expression. |
//! | PML054 | A variable that is no channel where one is needed. |
//! | PML055 | A variable that is not declared. |
//! | PML056 | A field that a variable does not have, or a variable with fields where a number is needed. |
//! | PML057 | An index that is missing, or of something that is no array. |
//! | PML058 | A label or variable that another process type does not have. |
//! | PML059 | A variable or label that several blocks of another process type have, so that it is not clear which is meant. |
//! | PML060 | A priority that is no number from 1 to 255. |
//! | PML061 | Warning: a global whose initial value is computed before those that it uses. |
//! | PML062 | Warning: a constant that is cut off where it is stored. |
//! | PML063 | Warning: `else` beside a send or receive. |
//! | PML070 | Warning: a label before the first statement of an option. |
//! | PML071 | A label at the start of a block. |
//! | PML072 | A channel that is declared after the first statement. |
//! | PML073 | A label that is declared twice. |
//! | PML074 | A choice with two `else`. |
//! | PML075 | `break` outside of a loop. |
//! | PML076 | A receive that stores two fields in one variable. |
//! | PML077 | A range of a loop or a choice without values. |
//! | PML078 | `for (x in c)` about something that is no array and no channel with room, or a variable that does not fit. |
//! | PML079 | Warning: `unless` in a `d_step`. |
//! | PML080 | Warning: a loop that does nothing and never ends. |
//! | PML081 | A label that is not there. |
//! | PML082 | A jump into or out of a `d_step`. |
//! | PML083 | Jumps that lead nowhere but to each other. |
//! | PML084 | `run` in a `d_step`. |
//! | PML090 | An initial value that cannot be computed. |
//! | PML091 | More than 255 channels. |
//! | PML092 | `run` that neither stands alone nor on the right of an assignment. |
//! | PML093 | `run` with a wrong number of arguments. |
//! | PML094 | Something that cannot be assigned. |
//! | PML095 | A step that needs too many intermediate values. |
//! | PML096 | A model whose states are too large. |
//! | PML097 | A message whose number of fields no channel takes. |
//! | PML098 | A never claim that changes the model, or whose steps are too many to be taken at once. |
//! | PML099 | A trace that names something else than sends and receives on global channels. |
//! | PML100 | Warning: a channel that several processes claim by `xr` or `xs`. |
//! | PML101 | Too many processes that ask about each other by `enabled()`. |
//! | PML102 | More processes exist at the start than there may be. |
//! | PML103 | Warning: a send with fewer fields than its channel takes. |

#![forbid(unsafe_code)]

pub mod ast;
mod condition;
pub mod flow;
pub mod hir;
mod load;
pub mod lower;
mod parser;
mod preprocess;
mod resolve;
pub mod source;
pub mod token;
pub mod trail;

pub use parser::KEYWORDS;

pub use load::{Expression, Loaded, Options, Parsed, StartName, load, parse, parse_within};
pub use resolve::Standing;
