//! Guards of claims as functions of simple labels.
//!
//! The edges of a property process or never claim are guarded by expressions. Taken as they
//! are, `p` and `not p` would be two unrelated propositions, and the automaton would look
//! nondeterministic, or sensitive to stuttering, where it is not. So expressions are taken
//! apart at `and`, `or`, `not` and (in)equalities; what is left are the propositions.
//! An expression that may fail stays whole: as a guard it counts as true where it fails,
//! and that would change if it were cut.

use rapidhash::RapidHashMap;
#[cfg(feature = "programs")]
use stubborn_ir::{BinaryOp, Expr, Program, UnaryOp};
use stubborn_ltl::automaton::Draft;
use stubborn_ltl::guard::Guard;
use stubborn_system::LabelId;

use crate::property::Claim;

/// The guards of a [`Claim`], taken apart.
#[derive(Clone, Debug)]
pub struct ClaimGuards {
    draft: Draft,
    labels: Vec<LabelId>,
    of_label: RapidHashMap<LabelId, Guard>,
}

impl ClaimGuards {
    /// Every label is a proposition of its own.
    pub fn unrelated(claim: &Claim) -> Self {
        let mut this = Self::whole();
        for label in claim.edges.iter().filter_map(|edge| edge.guard) {
            let guard = this.proposition(label, format!("{label:?}"));
            this.of_label.insert(label, guard);
        }
        this
    }

    fn whole() -> Self {
        Self {
            draft: Draft::new(Vec::new(), 1),
            labels: Vec::new(),
            of_label: RapidHashMap::default(),
        }
    }

    pub(crate) fn into_parts(self) -> (Draft, Vec<LabelId>, RapidHashMap<LabelId, Guard>) {
        (self.draft, self.labels, self.of_label)
    }

    fn proposition(&mut self, label: LabelId, name: String) -> Guard {
        let known = self.labels.iter().position(|known| *known == label);
        let number = known.unwrap_or_else(|| {
            self.labels.push(label);
            self.draft.propositions.push(name);
            self.labels.len() - 1
        });
        self.draft.guards.variable(number as u32)
    }
}

#[cfg(feature = "programs")]
impl ClaimGuards {
    /// Takes the guards of a claim apart. Adds labels to the program, so this comes before
    /// the program becomes a system.
    pub fn new(program: &mut Program, claim: &Claim) -> Self {
        let mut this = Self::whole();
        for label in claim.edges.iter().filter_map(|edge| edge.guard) {
            if !this.of_label.contains_key(&label) {
                let expr = program.labels[label.index()].expr.clone();
                let guard = this.guard(program, &expr, label);
                this.of_label.insert(label, guard);
            }
        }
        this
    }

    fn guard(&mut self, program: &mut Program, expr: &Expr, whole: LabelId) -> Guard {
        // Expressions of front-ends are no deeper than their limits; a test that never
        // fails costs one pass. What is false by what is known so far is no reason to leave out
        // what comes after it: it may be about processes that a search has yet to meet.
        if program.may_fail(expr) || *expr == Expr::Const(0) {
            return self.proposition(whole, format!("{whole:?}"));
        }
        self.function(program, expr)
    }

    /// The function for an expression that cannot fail.
    fn function(&mut self, program: &mut Program, expr: &Expr) -> Guard {
        match expr {
            Expr::Const(0) => Guard::FALSE,
            Expr::Const(_) => Guard::TRUE,
            Expr::And(left, right) => {
                let (left, right) = (self.function(program, left), self.function(program, right));
                self.draft.guards.and(left, right)
            }
            Expr::Or(left, right) => {
                let (left, right) = (self.function(program, left), self.function(program, right));
                self.draft.guards.or(left, right)
            }
            Expr::Unary(UnaryOp::Not, operand) => {
                let inner = self.function(program, operand);
                self.draft.guards.not(inner)
            }
            Expr::If(condition, then, otherwise) => {
                let condition = self.function(program, condition);
                let (then, otherwise) = (
                    self.function(program, then),
                    self.function(program, otherwise),
                );
                let guards = &mut self.draft.guards;
                let first = guards.and(condition, then);
                let second = guards.minus(otherwise, condition);
                guards.or(first, second)
            }
            Expr::Binary(op, left, right) => {
                // One of each pair of opposites is a proposition.
                let turned = matches!(
                    op,
                    BinaryOp::NotEqual | BinaryOp::GreaterEqual | BinaryOp::Greater
                );
                let Some(opposite) = op.opposite().filter(|_| turned) else {
                    return self.atom(program, expr.clone());
                };
                let opposite = Expr::Binary(opposite, left.clone(), right.clone());
                let inner = self.atom(program, opposite);
                self.draft.guards.not(inner)
            }
            _ => self.atom(program, expr.clone()),
        }
    }

    fn atom(&mut self, program: &mut Program, expr: Expr) -> Guard {
        let label = program.label(expr);
        self.proposition(label, format!("{label:?}"))
    }
}
