//! The first counterexample as a trail for `spin -t`.
//!
//! Where it is about an `ltl` formula, SPIN follows the run with a claim that it makes of the formula. Which
//! statements that has only SPIN knows, so it is asked, where it is installed. Otherwise the trail has the
//! steps of the system alone, which `spin -t` replays as well.

use std::path::Path;
use std::process::Command;

use stubborn::{LoadedModel, TemporalAnswer, Trace, spin};

use super::{Results, temporal};
use crate::commands::scratch::Scratch;
use crate::commands::write_file;
use crate::exit::Failure;
use crate::options::ModelArgs;

/// Where SPIN leaves the claims that it makes of formulas.
const CLAIMS: &str = "_spin_nvr.tmp";

/// Writes the trail; without a counterexample there is no file.
pub(super) fn save(
    model: &LoadedModel,
    results: &Results,
    args: &ModelArgs,
    path: &Path,
) -> Result<(), Failure> {
    if model.promela().is_none() {
        return Err(Failure::wrong("--trail is for Promela models; try --trace"));
    }
    let Some((_, trace, _)) = results.traces().next() else {
        return Ok(());
    };
    let is_its =
        |a: &&TemporalAnswer| temporal::trace_of(a).is_some_and(|own| std::ptr::eq(own, trace));
    let claim = results.temporal.iter().find(is_its);
    let claim = claim.map(|answer| answer.name.as_str());
    let text = claim
        .and_then(|name| of_formula(model, trace, name, args))
        .or_else(|| spin::trail(model, trace, claim));
    text.map_or(Ok(()), |text| write_file(path, &text))
}

/// With the moves of SPIN's claim, if the property is a formula of the model and SPIN is there.
fn of_formula(model: &LoadedModel, trace: &Trace, name: &str, args: &ModelArgs) -> Option<String> {
    let formulas = &model.promela()?.loaded().program.formulas;
    formulas.iter().find(|formula| *formula.name == *name)?;
    let folder = Scratch::new()?;
    let promela = args.promela.options();
    let definitions = promela.definitions.iter();
    let definitions = definitions.map(|(name, text)| format!("-D{name}={text}"));
    let mut spin = Command::new("spin");
    spin.args(definitions).arg("-a");
    folder.run(spin.arg(args.model.canonicalize().ok()?))?;
    let claims = std::fs::read_to_string(folder.path().join(CLAIMS)).ok()?;
    spin::trail_of_formula(model, trace, name, &claims, &promela)
}
