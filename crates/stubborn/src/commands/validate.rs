//! `stubborn validate`: does a reduction keep what it must, on this very model?

use std::fmt::Write;
use std::sync::Arc;

use stubborn::plan::reduction::{asserting_steps, failing_steps, usual_algorithm};
use stubborn::reduce::experiments::measured;
use stubborn::reduce::validate::{Limits, Report, validate};
use stubborn::reduce::{Aim, Algorithm, Config, ConfigError, Goals, Plan};
use stubborn::system::RelationLevel;
use stubborn::{CheckOptions, LoadedModel, Por};

use super::{growing, load, no_card};
use crate::exit::{Failure, Status};
use crate::options::ValidateArgs;
use crate::terminal::{Paint, counted, print};

pub(crate) fn run(args: &ValidateArgs) -> Result<Status, Failure> {
    no_card(args.model.engine)?;
    let (mut model, _) = load(&args.model, &args.invariant, false, &Arc::default())?;
    grow(&mut model, args)?;
    let options = args.reduction.options(args.seed, "auto", &model)?;
    let measured = options.measured.as_ref();
    let analysed = measured
        .is_none()
        .then(|| model.system().relations(options.relations));
    let limits = Limits {
        exhaustive_states: args.max_states,
        sampled_states: args.samples,
        // Relations that argue with what is reachable say nothing about other states.
        random_states: match options.relations {
            RelationLevel::Reach | RelationLevel::Located => 0,
            _ => args.random_states,
        },
        seed: args.seed,
        ..Limits::default()
    };
    let paint = Paint::for_stdout();
    // As long as everything is refused, something is wrong with the command.
    let mut status = Status::Wrong;
    for Asked { name, aim, usual } in aims(&model) {
        let config = match &options.por {
            Por::Chosen(config) => config.clone(),
            Por::None => {
                return Err(Failure::wrong(
                    "without a reduction there is nothing to validate",
                ));
            }
            Por::Auto => Config::new(usual),
        };
        let plan = match Plan::new(&config, aim) {
            Ok(plan) => plan,
            Err(refusal) => {
                print(&refused(&name, &refusal, paint));
                continue;
            }
        };
        // The reference execution: real code, and the simplest there is.
        let system = model.reference();
        let report = match (measured, &analysed) {
            (Some(relations), _) => measured::validate(system, relations, &plan, &limits),
            (None, Some(relations)) => validate(system, relations, &plan, &limits),
            (None, None) => continue,
        };
        let report = match report {
            Ok(report) => report,
            Err(refusal) => {
                print(&refused(&name, &refusal, paint));
                continue;
            }
        };
        status = match status {
            Status::Violated => Status::Violated,
            _ if report.is_clean() => Status::Fine,
            _ => Status::Violated,
        };
        print(&told(&model, &name, &plan, &report, paint));
    }
    Ok(status)
}

/// Makes room for all processes that are started within the states that will be looked at.
fn grow(model: &mut LoadedModel, args: &ValidateArgs) -> Result<(), Failure> {
    if model.promela().is_none() {
        return Ok(());
    }
    let mut options = CheckOptions::default();
    options.reduction.por = Por::None;
    options.limits.states = Some(args.max_states as u64);
    growing(model, |model| {
        stubborn::explore(model, &options).map(|_| ())
    })
}

fn refused(name: &str, refusal: &ConfigError, paint: Paint) -> String {
    format!("{}  {name}: {refusal}\n", paint.unsure("refused "))
}

/// What a reduction may be asked to keep.
struct Asked {
    name: String,
    aim: Aim,
    /// What computes sets for it by default.
    usual: Algorithm,
}

/// What a reduction may be asked to keep in this model.
fn aims(model: &LoadedModel) -> Vec<Asked> {
    let structure = model.system().structure();
    let labels = structure.properties.iter().map(|p| p.violated_by);
    let mut kinds = vec![
        ("assertions and invariants", Goals::labels(labels)),
        ("steps with assertions", asserting_steps(structure)),
        ("failing steps", failing_steps(structure)),
    ];
    kinds.retain(|(_, goals)| *goals != Goals::default());
    let mut aims = vec![Asked {
        name: "deadlocks".to_owned(),
        aim: Aim::Deadlocks,
        usual: Algorithm::Beam,
    }];
    let mut all = Goals::default();
    for (_, goals) in &kinds {
        all.any_of.extend(goals.any_of.iter().cloned());
        all.transitions.extend(&goals.transitions);
    }
    all.transitions.sort_unstable();
    all.transitions.dedup();
    if !kinds.is_empty() {
        aims.push(Asked {
            name: "all of it in one search".to_owned(),
            aim: Aim::Goals(all),
            usual: Algorithm::Beam,
        });
    }
    aims.extend(kinds.into_iter().map(|(name, goals)| {
        let aim = Aim::Goals(goals);
        Asked {
            name: name.to_owned(),
            usual: usual_algorithm(&aim),
            aim,
        }
    }));
    aims
}

fn told(model: &LoadedModel, name: &str, plan: &Plan, report: &Report, paint: Paint) -> String {
    let label = if report.is_clean() {
        paint.good("valid   ")
    } else {
        paint.bad("INVALID ")
    };
    let mut out = format!("{label}  {name}, by {}\n", plan.settings);
    let _ = writeln!(
        out,
        "          {}{}, {} of them reduced; relations tried in {}",
        counted(report.states_checked as u64, "state"),
        if report.exhaustive {
            " (all there are)"
        } else {
            " (a sample)"
        },
        report.states_reduced,
        counted(report.states_tried as u64, "state"),
    );
    if report.outcomes_compared {
        out += "          full and reduced search were compared\n";
    }
    if report.states_cut_short > 0 {
        let number = counted(report.states_cut_short as u64, "state");
        let _ = writeln!(
            out,
            "          around {number} only some paths were followed"
        );
    }
    for violation in &report.violations {
        let text = violation.describe(model.reference());
        let _ = writeln!(out, "  {}", text.replace('\n', "\n  "));
    }
    out
}
