//! The first levels of a product, breadth-first: how much a reduction leaves of it, without a verdict.

use std::time::Instant;

use stubborn_reduce::{StubbornReduction, steer::SteeredReduction};
use stubborn_search::Limit;
use stubborn_store::Store;
use stubborn_system::Reduction;

use crate::check::{Bounds, Check, Reductions, Setting};
use crate::prepare::{FiniteRuns, Prepared};
use crate::product::Watcher;
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
        let setting = Setting {
            watcher: Watcher {
                automaton: &prepared.automaton,
                starts: &prepared.starts,
                labels: self.property.labels(),
                stutters: self.finite_runs == FiniteRuns::Stutter,
                fair: None,
            },
            reductions: &reductions,
            store: &store,
            bounds: Bounds {
                memory: &memory,
                started: Instant::now(),
                gate: None,
            },
        };
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
