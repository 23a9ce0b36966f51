//! A stubborn set at one state: what is in it, and what pulled each transition in.
//!
//! This is how one learns to write models that reduce well: the reasons lead from the kept
//! transitions to the variables over which they quarrel.

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use stubborn::record::state_values;
use stubborn::reduce::experiments::measured::MeasuredReduction;
use stubborn::reduce::explain::reason;
use stubborn::reduce::{Aim, Config, Goals, Plan, StubbornReduction};
use stubborn::system::{Expander, Reason, Reduction, RelationLevel, SetMember, TransitionId};
use stubborn::{Trace, story};

use super::{Known, View};
use crate::commands::simulate::read_trace;
use crate::exit::Failure;
use crate::json;
use crate::options::InspectFormat;

/// More disabled members than this are counted.
const LISTED: usize = 40;

pub(super) fn show(view: &View<'_>, file: &Path) -> Result<String, Failure> {
    let system = view.model.reference();
    let trace = if file == Path::new("start") {
        Trace::new(&system.initial_states()[..system.layout().words()])
    } else {
        read_trace(view.model, file)?
    };
    let algorithm = view.args.por.as_deref().unwrap_or("beam").parse()?;
    let labels = view.structure.properties.iter().map(|p| p.violated_by);
    let aim = match algorithm {
        stubborn::reduce::Algorithm::Goal => Aim::Goals(Goals::labels(labels)),
        _ => Aim::Deadlocks,
    };
    let plan = Plan::new(&Config::new(algorithm), aim)?;
    let name = plan.settings.to_string();
    let (analysed, measured);
    let reduction: &dyn Reduction = match &view.relations {
        Some(Known::Measured(saved)) => {
            let relations = Arc::clone(saved.relations());
            measured = MeasuredReduction::new(system, relations, plan)?;
            &measured
        }
        Some(Known::Analysed(relations)) => {
            analysed = StubbornReduction::new(system, relations, plan)?;
            &analysed
        }
        None => {
            let relations = system.relations(RelationLevel::Reach);
            analysed = StubbornReduction::new(system, &relations, plan)?;
            &analysed
        }
    };

    let state = trace.last_state();
    let mut expander = Expander::new(system, Some(reduction));
    expander.compute(state).map_err(Failure::no_answer)?;
    let is_reduced = expander.choose(state);
    let mut enabled: Vec<TransitionId> = expander.successors().transitions().to_vec();
    enabled.dedup();
    let set = expander.last_set();

    let steps = trace.len();
    if view.args.format == InspectFormat::Json {
        let kept = enabled.iter().map(|id| {
            let transition = &view.structure.transition(*id).name;
            json!({"transition": transition, "kept": expander.keeps(*id)})
        });
        let members = set.iter().map(|member| {
            json!({
                "transition": view.structure.transition(member.transition).name,
                "enabled": enabled.contains(&member.transition),
                "reason": reason(system, member),
            })
        });
        let object = json!({
            "model": view.model.name(),
            "language": view.model.language().name(),
            "por": name,
            "steps": steps,
            "state": state_values(system, state),
            "reduced": is_reduced,
            "enabled": kept.collect::<Vec<_>>(),
            "set": members.collect::<Vec<_>>(),
        });
        return Ok(json::pretty("inspect", json::fields(object)));
    }
    let mut out = format!(
        "The state after {steps} steps\n{}",
        story::state(system, state, false)
    );
    let kept_count = enabled.iter().filter(|t| expander.keeps(**t)).count();
    let _ = writeln!(
        out,
        "\n{} of {} enabled transitions are kept by {name}",
        kept_count,
        enabled.len()
    );
    if !is_reduced {
        out += "Nothing is left out here.\n";
    }
    for id in &enabled {
        let mark = if expander.keeps(*id) {
            "kept    "
        } else {
            "left out"
        };
        let _ = writeln!(out, "  {mark}  {}", view.structure.transition(*id).name);
    }
    if set
        .iter()
        .all(|member| member.reason == Reason::NotExcluded)
    {
        return Ok(out);
    }
    out += "\nThe set, and why each transition is in it\n";
    let (on, off): (Vec<&SetMember>, Vec<&SetMember>) = set
        .iter()
        .partition(|member| enabled.contains(&member.transition));
    for member in on.iter().chain(off.iter().take(LISTED)) {
        let is_enabled = enabled.contains(&member.transition);
        let name = &view.structure.transition(member.transition).name;
        let what = if is_enabled { "enabled " } else { "disabled" };
        let _ = writeln!(
            out,
            "  {what}  {name}\n            {}",
            reason(system, member)
        );
    }
    if off.len() > LISTED {
        let _ = writeln!(out, "  and {} more disabled ones", off.len() - LISTED);
    }
    Ok(out)
}
