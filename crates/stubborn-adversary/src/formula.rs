//! Random formulas, smaller ones, and how they are written.

use crate::random::Random;
use crate::reference::ctl::is_temporal;
use crate::reference::ltl::Formula;

/// How formulas are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// `[] p`, `<> p`, `p V q`.
    Spin,
    /// `G p`, `F p`, `p R q`.
    Spot,
}

/// A formula over so many propositions, as people write them or of any shape.
pub fn random(random: &mut Random, propositions: usize) -> Formula {
    match random.chance(1, 2) {
        true => usual(random, propositions),
        false => {
            let depth = 2 + random.below(2);
            any(random, propositions, depth)
        }
    }
}

fn usual(random: &mut Random, propositions: usize) -> Formula {
    let mut literal = || {
        let proposition = Formula::Proposition(random.below(propositions));
        Box::new(match random.chance(1, 3) {
            true => Formula::Not(Box::new(proposition)),
            false => proposition,
        })
    };
    let (p, q) = (literal(), literal());
    let ever = |p| Box::new(Formula::Finally(p));
    let always = |p| Box::new(Formula::Globally(p));
    match random.below(10) {
        0 => Formula::Globally(p),
        1 => Formula::Finally(p),
        2 => Formula::Globally(ever(p)),
        3 => Formula::Finally(always(p)),
        4 => Formula::Globally(Box::new(Formula::Implies(p, ever(q)))),
        5 => Formula::Until(p, q),
        6 => Formula::WeakUntil(p, q),
        7 => Formula::Implies(Box::new(Formula::Globally(ever(p))), always(ever(q))),
        8 => Formula::Finally(Box::new(Formula::And(p, ever(q)))),
        _ => Formula::Globally(Box::new(Formula::Implies(p, Box::new(Formula::Next(q))))),
    }
}

fn any(random: &mut Random, propositions: usize, depth: usize) -> Formula {
    if depth == 0 || random.chance(1, 8) {
        return match random.below(16) {
            0 => Formula::True,
            1 => Formula::False,
            _ => Formula::Proposition(random.below(propositions)),
        };
    }
    let kind = random.below(14);
    let mut operand = || Box::new(any(random, propositions, depth - 1));
    match kind {
        0 | 1 => Formula::Not(operand()),
        2 => Formula::And(operand(), operand()),
        3 => Formula::Or(operand(), operand()),
        4 => Formula::Implies(operand(), operand()),
        5 => Formula::Equivalent(operand(), operand()),
        6 => Formula::Next(operand()),
        7 | 8 => Formula::Finally(operand()),
        9 => Formula::Globally(operand()),
        10 => Formula::Until(operand(), operand()),
        11 => Formula::WeakUntil(operand(), operand()),
        12 => Formula::Release(operand(), operand()),
        _ => Formula::StrongRelease(operand(), operand()),
    }
}

/// The text of a formula; propositions are given as they stand in it.
pub fn text(formula: &Formula, propositions: &[String], syntax: Syntax) -> String {
    let operands: Vec<String> = formula
        .operands()
        .into_iter()
        .map(|operand| text(operand, propositions, syntax))
        .collect();
    let spin = syntax == Syntax::Spin;
    let unary = |operator: &str| format!("{operator} ({})", operands[0]);
    // The same operator again needs no parentheses on the side to which it groups.
    let is_same = |side: usize| {
        let operand = formula.operands()[side];
        std::mem::discriminant(operand) == std::mem::discriminant(formula)
    };
    let groups = match (formula, syntax) {
        (
            Formula::Until(..)
            | Formula::WeakUntil(..)
            | Formula::Release(..)
            | Formula::Implies(..),
            _,
        )
        | (Formula::StrongRelease(..), Syntax::Spot) => Some(usize::from(!spin)),
        _ => None,
    };
    let operand = |side: usize| match groups == Some(side) && is_same(side) {
        true => operands[side].clone(),
        false => format!("({})", operands[side]),
    };
    let binary = |operator: &str| format!("{} {operator} {}", operand(0), operand(1));
    match formula {
        Formula::True => "true".into(),
        Formula::False => "false".into(),
        Formula::Proposition(number) => propositions[*number].clone(),
        Formula::Not(_) => unary("!"),
        Formula::And(..) => binary("&&"),
        Formula::Or(..) => binary("||"),
        Formula::Implies(..) => binary("->"),
        Formula::Equivalent(..) => binary("<->"),
        Formula::Next(_) => unary("X"),
        Formula::Finally(_) => unary(if spin { "<>" } else { "F" }),
        Formula::Globally(_) => unary(if spin { "[]" } else { "G" }),
        Formula::Until(..) => binary("U"),
        Formula::WeakUntil(..) => binary("W"),
        Formula::Release(..) => binary(if spin { "V" } else { "R" }),
        Formula::StrongRelease(..) => binary("M"),
    }
}

/// The text of a formula of branching time; see [`crate::reference::ctl`] for `some`.
pub fn branching_text(formula: &Formula, propositions: &[String], some: u64) -> String {
    branching(formula, propositions, some, &mut 0)
}

fn branching(formula: &Formula, propositions: &[String], some: u64, next: &mut u32) -> String {
    let quantifier = match some >> (*next % 64) & 1 {
        1 => "E",
        _ => "A",
    };
    *next += u32::from(is_temporal(formula));
    let mut operands = Vec::new();
    for operand in formula.operands() {
        operands.push(branching(operand, propositions, some, next));
    }
    let unary = |operator: &str| format!("{operator} ({})", operands[0]);
    let binary = |operator: &str| format!("({}) {operator} ({})", operands[0], operands[1]);
    match formula {
        Formula::True => "true".into(),
        Formula::False => "false".into(),
        Formula::Proposition(number) => propositions[*number].clone(),
        Formula::Not(_) => unary("!"),
        Formula::And(..) => binary("&&"),
        Formula::Or(..) => binary("||"),
        Formula::Implies(..) => binary("->"),
        Formula::Equivalent(..) => binary("<->"),
        Formula::Next(_) => unary(&format!("{quantifier}X")),
        Formula::Finally(_) => unary(&format!("{quantifier}F")),
        Formula::Globally(_) => unary(&format!("{quantifier}G")),
        Formula::Until(..) => format!("{quantifier} ({})", binary("U")),
        Formula::WeakUntil(..) => format!("{quantifier} ({})", binary("W")),
        Formula::Release(..) => format!("{quantifier} ({})", binary("R")),
        Formula::StrongRelease(..) => format!(
            "{quantifier} (({}) U (({}) && ({})))",
            operands[1], operands[0], operands[1]
        ),
    }
}

/// The operator, for the coverage.
pub fn operator(formula: &Formula) -> &'static str {
    match formula {
        Formula::True | Formula::False => "constant",
        Formula::Proposition(_) => "proposition",
        Formula::Not(_) => "not",
        Formula::And(..) => "and",
        Formula::Or(..) => "or",
        Formula::Implies(..) => "implies",
        Formula::Equivalent(..) => "equivalent",
        Formula::Next(_) => "next",
        Formula::Finally(_) => "finally",
        Formula::Globally(_) => "globally",
        Formula::Until(..) => "until",
        Formula::WeakUntil(..) => "weak until",
        Formula::Release(..) => "release",
        Formula::StrongRelease(..) => "strong release",
    }
}

/// Notes all operators.
pub fn note(formula: &Formula, coverage: &mut crate::coverage::Coverage) {
    coverage.note(&format!("formula {}", operator(formula)));
    for operand in formula.operands() {
        note(operand, coverage);
    }
}

/// What [`note`] may note.
pub fn features() -> Vec<String> {
    let p = || Box::new(Formula::True);
    let all = [
        Formula::True,
        Formula::Proposition(0),
        Formula::Not(p()),
        Formula::And(p(), p()),
        Formula::Or(p(), p()),
        Formula::Implies(p(), p()),
        Formula::Equivalent(p(), p()),
        Formula::Next(p()),
        Formula::Finally(p()),
        Formula::Globally(p()),
        Formula::Until(p(), p()),
        Formula::WeakUntil(p(), p()),
        Formula::Release(p(), p()),
        Formula::StrongRelease(p(), p()),
    ];
    let names = all.iter().map(|f| format!("formula {}", operator(f)));
    names.collect()
}

/// Formulas with one part replaced by one of its operands, or by a constant.
pub fn candidates(formula: &Formula) -> Vec<Formula> {
    let mut all: Vec<Formula> = formula.operands().into_iter().cloned().collect();
    match formula {
        Formula::True | Formula::False => return vec![],
        _ => all.extend([Formula::True, Formula::False]),
    }
    let operands = formula.operands();
    for (number, operand) in operands.iter().enumerate() {
        for smaller in candidates(operand) {
            let mut operands: Vec<Formula> = operands.iter().map(|o| (*o).clone()).collect();
            operands[number] = smaller;
            all.push(rebuild(formula, operands));
        }
    }
    all
}

/// The same operator with other operands.
fn rebuild(formula: &Formula, operands: Vec<Formula>) -> Formula {
    let mut operands = operands.into_iter().map(Box::new);
    let mut next = || operands.next().unwrap_or(Box::new(Formula::True));
    match formula {
        Formula::True | Formula::False | Formula::Proposition(_) => formula.clone(),
        Formula::Not(_) => Formula::Not(next()),
        Formula::And(..) => Formula::And(next(), next()),
        Formula::Or(..) => Formula::Or(next(), next()),
        Formula::Implies(..) => Formula::Implies(next(), next()),
        Formula::Equivalent(..) => Formula::Equivalent(next(), next()),
        Formula::Next(_) => Formula::Next(next()),
        Formula::Finally(_) => Formula::Finally(next()),
        Formula::Globally(_) => Formula::Globally(next()),
        Formula::Until(..) => Formula::Until(next(), next()),
        Formula::WeakUntil(..) => Formula::WeakUntil(next(), next()),
        Formula::Release(..) => Formula::Release(next(), next()),
        Formula::StrongRelease(..) => Formula::StrongRelease(next(), next()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_are_written_in_both_ways() {
        let p = || Box::new(Formula::Proposition(0));
        let formula = Formula::Globally(Box::new(Formula::Release(p(), p())));
        let names = ["\"x\"".to_owned()];
        assert_eq!(
            text(&formula, &names, Syntax::Spin),
            "[] ((\"x\") V (\"x\"))"
        );
        assert_eq!(
            text(&formula, &names, Syntax::Spot),
            "G ((\"x\") R (\"x\"))"
        );
    }

    #[test]
    fn formulas_of_branching_time_have_quantifiers() {
        let p = || Box::new(Formula::Proposition(0));
        let until = Formula::StrongRelease(Box::new(Formula::Next(p())), p());
        let formula = Formula::Globally(Box::new(until));
        let names = ["x".to_owned()];
        assert_eq!(
            branching_text(&formula, &names, 0b101),
            "EG (A ((x) U ((EX (x)) && (x))))"
        );
    }

    #[test]
    fn operators_group_to_the_left_or_to_the_right() {
        let p = |number| Box::new(Formula::Proposition(number));
        let names = ["a", "b", "c"].map(str::to_owned);
        let left = Formula::Until(Box::new(Formula::Until(p(0), p(1))), p(2));
        assert_eq!(text(&left, &names, Syntax::Spin), "(a) U (b) U (c)");
        assert_eq!(text(&left, &names, Syntax::Spot), "((a) U (b)) U (c)");
        let right = Formula::Until(p(0), Box::new(Formula::Until(p(1), p(2))));
        assert_eq!(text(&right, &names, Syntax::Spin), "(a) U ((b) U (c))");
        assert_eq!(text(&right, &names, Syntax::Spot), "(a) U (b) U (c)");
    }

    #[test]
    fn candidates_end() {
        let mut formula = any(&mut Random::new(5), 2, 3);
        let mut steps = 0;
        while let Some(smaller) = candidates(&formula).pop() {
            formula = smaller;
            steps += 1;
        }
        assert!(steps > 0 && steps < 100);
        assert!(matches!(formula, Formula::True | Formula::False));
    }
}
