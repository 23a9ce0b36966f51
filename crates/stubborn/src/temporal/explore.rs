//! The state space that is left when a reduction keeps infinite runs.

use stubborn_emptiness::{Compared, CycleProviso, Exploration, ExplorationResult};
use stubborn_plan::{CheckError, CheckOptions};

use crate::check::planner;
use crate::load::LoadedModel;

/// An exploration with a cycle proviso, and without a property: every cycle of what is
/// explored has a state with all its steps. Depth-first, on one thread; with a seed, the
/// transitions are taken in another order. Also says how sets were computed.
pub fn explore_with_proviso(
    model: &LoadedModel,
    proviso: CycleProviso,
    options: &CheckOptions<'_>,
) -> Result<(String, ExplorationResult), CheckError> {
    planner(model, options).explore_runs(&[proviso], |exploration| {
        Exploration {
            proviso,
            ..exploration.clone()
        }
        .run()
    })
}

/// The same with several provisos, each in several orders. Every result is told as it comes;
/// if the model turns out to be too small, they come again.
pub fn compare_provisos(
    model: &LoadedModel,
    provisos: &[CycleProviso],
    seeds: &[Option<u64>],
    options: &CheckOptions<'_>,
    tell: &mut dyn FnMut(Compared),
) -> Result<String, CheckError> {
    let result = planner(model, options).explore_runs(provisos, |exploration| {
        exploration.compare(provisos, seeds, tell)
    });
    Ok(result?.0)
}
