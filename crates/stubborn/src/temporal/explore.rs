//! The state space that is left when a reduction keeps infinite runs.

use stubborn_emptiness::{Compared, Exploration, ExplorationResult, Proviso};
use stubborn_reduce::{Aim, Algorithm, Config, ConfigError, Plan, StubbornReduction};
use stubborn_search::SearchError;
use stubborn_system::Reduction;

use crate::check::{CheckError, CheckOptions};
use crate::load::LoadedModel;
use crate::reduction::Por;

/// An exploration with a cycle proviso, and without a property: every cycle of what is
/// explored has a state with all its steps. Depth-first, on one thread; with a seed, the
/// transitions are taken in another order. Also says how sets were computed.
pub fn explore_with_proviso(
    model: &LoadedModel,
    proviso: Proviso,
    options: &CheckOptions<'_>,
) -> Result<(String, ExplorationResult), CheckError> {
    with_exploration(model, options, &[proviso], |exploration| {
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
    provisos: &[Proviso],
    seeds: &[Option<u64>],
    options: &CheckOptions<'_>,
    tell: &mut dyn FnMut(Compared),
) -> Result<String, CheckError> {
    let result = with_exploration(model, options, provisos, |exploration| {
        exploration.compare(provisos, seeds, tell)
    });
    Ok(result?.0)
}

/// Sets up an exploration, and does something with it. Also says how sets are computed.
fn with_exploration<T>(
    model: &LoadedModel,
    options: &CheckOptions<'_>,
    provisos: &[Proviso],
    run: impl FnOnce(&Exploration<'_>) -> Result<T, SearchError>,
) -> Result<(String, T), CheckError> {
    let refused = |why: String| Err(CheckError::Reduction(ConfigError::new(why)));
    if options.threads > 1 {
        return refused("cycle provisos need a depth-first search on one thread".into());
    }
    let system = model.system();
    let config = match &options.reduction.por {
        Por::None => None,
        Por::Auto => Some(Config::new(Algorithm::Beam)),
        Por::Chosen(config) => Some(config.clone()),
    };
    let is_weak = config.as_ref().is_some_and(|config| config.weak);
    if let Some(proviso) = provisos.iter().find(|p| is_weak && p.needs_strong_sets()) {
        return refused(format!("`{proviso}` is not sound with weak sets"));
    }
    let relations = match config {
        None => None,
        Some(_) => Some(options.reduction.fixed_relations(model)?),
    };
    let reduction = match (&config, &relations) {
        (None, _) | (_, None) => None,
        (Some(config), Some(relations)) => {
            // Nothing is visible where there is no property. Then sets for infinite runs are
            // those for deadlocks; only these may depend on what the search has seen, and an
            // exploration remembers its choices.
            let aim = match config.settings()?.asks_the_search() {
                true => Aim::Deadlocks,
                false => Aim::Traces {
                    labels: Vec::new(),
                    infinite: true,
                },
            };
            let plan = Plan::new(config, aim)?;
            Some(StubbornReduction::new(system, relations, plan)?)
        }
    };
    let result = run(&Exploration {
        reduction: reduction.as_ref().map(|r| r as &dyn Reduction),
        relations: relations.as_ref(),
        seed: options.seed,
        store: options.store.clone(),
        limits: options.limits,
        observer: options.observer,
        ..Exploration::new(system)
    });
    if model.is_outgrown() {
        return Err(CheckError::Outgrown);
    }
    let name = config.map_or("none", |config| config.algorithm.name());
    Ok((name.into(), result?))
}
