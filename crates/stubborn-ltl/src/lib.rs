//! LTL formulas and (generalised) Büchi automata: everything about them that needs
//! neither a model nor a search.
//!
//! | module | for |
//! | --- | --- |
//! | [`formula`], [`parser`], [`mod@print`] | formulas, read and written in SPIN's and Spot's notation |
//! | [`normal`] | normalised formulas and simplification |
//! | [`translate`] | from a formula to an automaton |
//! | [`automaton`], [`guard`] | the automata and the labels of their edges |
//! | [`reduce`] | smaller automata, complements, one acceptance set instead of several |
//! | [`components`], [`emptiness`], [`product`] | what an automaton accepts |
//! | [`stutter`] | stutter invariance, and the normal form that partial-order reduction needs |
//! | [`hoa`] | the exchange format of automata, and graphs |
//! | [`lasso`], [`random`] | words, the definition of LTL on them, random formulas: for tests |
//!
//! ```
//! use stubborn_ltl::formula::Formulas;
//! use stubborn_ltl::parser::{AnyName, Syntax, parse};
//! use stubborn_ltl::translate::{TranslationOptions, translate};
//!
//! let mut formulas = Formulas::new();
//! let (formula, messages) =
//!     parse(&mut formulas, "[] (request -> <> grant)", Syntax::Spin, &mut AnyName);
//! assert!(messages.is_empty());
//! let formula = formula.expect("no messages, so there is a formula");
//!
//! // A search looks for a run that violates the formula.
//! let negation = formulas.not(formula);
//! let automaton = translate(&formulas, negation, &TranslationOptions::default())?;
//! assert_eq!(automaton.propositions(), ["request", "grant"]);
//! assert_eq!(automaton.state_count(), 2);
//!
//! // From the initial state, with a request (bit 0) and no grant (bit 1):
//! let letter = [0b01];
//! assert_eq!(automaton.successors(automaton.initial(), &letter).count(), 2);
//! # Ok::<(), stubborn_ltl::translate::TranslationError>(())
//! ```

#![forbid(unsafe_code)]

mod alternating;
pub mod automaton;
pub mod components;
pub mod emptiness;
pub mod formula;
pub mod guard;
pub mod hoa;
mod implication;
pub mod lasso;
pub mod normal;
pub mod parser;
pub mod print;
pub mod product;
pub mod random;
pub mod reduce;
mod rewrite;
mod scan;
pub mod stutter;
pub mod translate;
