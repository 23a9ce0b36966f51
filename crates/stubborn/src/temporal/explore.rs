//! The state space that is left when a reduction keeps infinite runs.

use stubborn_emptiness::{Exploration, ExplorationResult, Proviso};
use stubborn_reduce::{Aim, Algorithm, Config, ConfigError, Plan, StubbornReduction};
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
    if options.threads > 1 {
        return Err(CheckError::Reduction(ConfigError::new(
            "cycle provisos need a depth-first search on one thread",
        )));
    }
    let system = model.system();
    let config = match &options.reduction.por {
        Por::None => None,
        Por::Auto => Some(Config::new(Algorithm::Beam)),
        Por::Chosen(config) => Some(config.clone()),
    };
    let relations = match config {
        None => None,
        Some(_) => Some(options.reduction.fixed_relations(model)?),
    };
    let reduction = match (&config, &relations) {
        (None, _) | (_, None) => None,
        (Some(config), Some(relations)) => {
            // Nothing is visible where there is no property.
            let aim = Aim::Traces {
                labels: Vec::new(),
                infinite: true,
            };
            let plan = Plan::new(config, aim)?;
            Some(StubbornReduction::new(system, relations, plan)?)
        }
    };
    let result = Exploration {
        reduction: reduction.as_ref().map(|r| r as &dyn Reduction),
        proviso,
        relations: relations.as_ref(),
        seed: options.seed,
        store: options.store.clone(),
        limits: options.limits,
        observer: options.observer,
        ..Exploration::new(system)
    }
    .run();
    if model.is_outgrown() {
        return Err(CheckError::Outgrown);
    }
    let result = result?;
    let name = config.map_or("none", |config| config.algorithm.name());
    Ok((name.into(), result))
}
