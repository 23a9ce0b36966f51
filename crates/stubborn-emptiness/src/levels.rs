//! The first levels of a product, breadth-first: how much a reduction leaves of it, without a verdict.

use std::time::Instant;

use stubborn_reduce::{StubbornReduction, steer::SteeredReduction};
use stubborn_search::Limit;
use stubborn_store::Store;
use stubborn_system::Reduction;

use crate::check::{Bounds, Check, Reductions, Setting};
use crate::prepare::Prepared;
use crate::space::{Node, Space, known};
use crate::walk::ABREAST;

/// What is at which distance from the start of a product.
#[derive(Clone, Debug, Default)]
pub struct ProductLevels {
    /// How many nodes.
    pub sizes: Vec<u64>,
    /// Nothing follows, or nothing that was asked for.
    pub is_complete: bool,
    /// What it took to choose sets, in [units](Reduction::work).
    pub work: u64,
}

impl Check<'_> {
    /// The first levels of the product, of `most` nodes and no deeper than `depth`, with what the reduction
    /// keeps by itself: no proviso puts anything back. `None` if there is a limit in the way.
    pub fn levels(&self, most: u64, depth: Option<usize>) -> Option<ProductLevels> {
        let automaton = self.property.automaton().clone();
        let (prepared, reductions) = match self.prepare(&automaton) {
            Ok((prepared, reductions, _)) => (prepared, reductions),
            Err(_) => (Prepared::as_is(automaton), Reductions::default()),
        };
        let memory = self.limits.memory_budget(self.system);
        let width = self.system.layout().words() + 1;
        let store = Store::new(width, &self.store, &memory).ok()?;
        let bounds = Bounds {
            memory: &memory,
            started: Instant::now(),
            gate: None,
        };
        let setting = self.setting(&prepared, &reductions, None, &store, bounds);
        let mut levels = self.levels_of(&setting, most, depth).ok()?;
        let classic = reductions.classic.iter().map(StubbornReduction::work);
        let steered = reductions.steering.iter().map(|tables| tables.reduction());
        levels.work = classic.sum::<u64>() + steered.map(SteeredReduction::work).sum::<u64>();
        Some(levels)
    }

    fn levels_of(
        &self,
        setting: &Setting<'_>,
        most: u64,
        depth: Option<usize>,
    ) -> Result<ProductLevels, Limit> {
        let mut product = self.product(setting, None);
        let (mut level, mut edges) = (Vec::new(), Vec::new());
        product.initial(&mut level)?;
        let mut levels = ProductLevels::default();
        let mut nodes = level.len() as u64;
        while !level.is_empty() {
            levels.sizes.push(level.len() as u64);
            if depth.is_some_and(|depth| levels.sizes.len() > depth) {
                break;
            }
            let mut next: Vec<Node> = Vec::new();
            for some in level.chunks(ABREAST) {
                edges.clear();
                product.kept_of_all(some, &mut edges)?;
                let fresh = edges.iter().filter(|e| e.known() & known::FRESH != 0);
                next.extend(fresh.map(|edge| edge.to));
                if nodes + next.len() as u64 > most {
                    levels.sizes.push(next.len() as u64);
                    return Ok(levels);
                }
            }
            nodes += next.len() as u64;
            level = next;
        }
        levels.is_complete = true;
        Ok(levels)
    }
}

#[cfg(test)]
mod tests {
    use stubborn_ir::{Command, Expr, Model, Program, Statement, Variable};
    use stubborn_ltl::formula::Formulas;
    use stubborn_ltl::parser::{AnyName, Syntax, parse};
    use stubborn_reduce::{Algorithm, Config};
    use stubborn_system::{RelationLevel, System};

    use super::*;
    use crate::prepare::{Fitting, SteeringMode};
    use crate::{CheckVerdict, Property, ReductionRequest};

    /// Counters that go up to 15, and that the first one gets there.
    fn counters(count: usize) -> (Model, Property) {
        let mut program = Program::new("counters");
        let mut last = None;
        for number in 0..count {
            let name = format!("x{number}");
            let x = program.variable(Variable::integer(&name, 0, 15, 0));
            let below = program.label(Expr::less(Expr::Var(x), Expr::Const(15)));
            let site = program.out_of_range_site(&name, None);
            program.command(Command {
                name,
                guards: vec![below],
                body: vec![Statement::assign(
                    x,
                    Expr::plus(Expr::Var(x), Expr::Const(1)),
                    site,
                )],
                ..Command::default()
            });
            last.get_or_insert(program.label(Expr::equal(Expr::Var(x), Expr::Const(15))));
        }
        let mut formulas = Formulas::new();
        let (formula, _) = parse(&mut formulas, "<> p", Syntax::Spin, &mut AnyName);
        let formula = formula.expect("a formula");
        let labels = last.into_iter().collect();
        let property = Property::from_formula(formulas, formula, labels, &Default::default());
        let model = Model::new(program).expect("it is small");
        (model, property.expect("a small automaton"))
    }

    /// A check that stops to look at its tree loses and repeats nothing, whether there is a better one or not; and its
    /// levels have all its nodes.
    #[test]
    fn levels_and_large_checks_have_all_nodes() {
        let (model, property) = counters(4);
        let check = Check::new(&model, &property);
        let result = check.run().expect("it works");
        assert_eq!(result.verdict, CheckVerdict::Holds);
        // Where the first counter has got there, the automaton has no move any more, but the node is one.
        assert_eq!(result.counts.states, 16 * 16 * 16 * 16);
        let levels = check.levels(u64::MAX, None).expect("there is room");
        assert_eq!(levels.sizes.iter().sum::<u64>(), result.counts.states);
        assert!(levels.is_complete && levels.work == 0);
        let few = check.levels(1_000, None).expect("there is room");
        assert!(!few.is_complete && few.sizes.iter().sum::<u64>() < 1_100);
        let compared = few.sizes.len() - 1;
        assert_eq!(few.sizes[..compared], levels.sizes[..compared]);
        let relations = model.relations(RelationLevel::Syntax);
        for steering in [SteeringMode::Off, SteeringMode::Mixed] {
            let reduced = Check {
                reduction: Some(ReductionRequest {
                    config: Config::new(Algorithm::Beam),
                    relations: &relations,
                    proviso: Default::default(),
                    fitting: Fitting::default(),
                }),
                steering,
                ..check.clone()
            };
            let reduced = reduced.levels(u64::MAX, Some(10)).expect("there is room");
            assert!(reduced.is_complete && reduced.sizes.len() <= 11);
            assert!(reduced.work > 0);
            assert!(reduced.sizes.iter().sum::<u64>() < 100, "{reduced:?}");
        }
    }
}
