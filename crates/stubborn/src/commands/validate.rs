//! `stubborn validate`: does a reduction keep what it must, on this very model?

use std::fmt::Write;

use stubborn::reduce::validate::{Limits, Report, validate};
use stubborn::reduce::{Aim, Algorithm, Config, ConfigError, Goals, Plan, measured};
use stubborn::system::RelationLevel;
use stubborn::{CheckOptions, LoadedModel, Por};

use super::{growing, load};
use crate::exit::{Failure, Status};
use crate::options::ValidateArgs;
use crate::terminal::{Paint, counted, print};

pub(crate) fn run(args: &ValidateArgs) -> Result<Status, Failure> {
    let (mut model, _) = load(&args.model, &args.invariant, false)?;
    grow(&mut model, args)?;
    let options = args.reduction.options(args.seed, "auto")?;
    let measured = match &options.measured {
        Some(saved) => Some(saved.of(&model)?),
        None => None,
    };
    let analysed = measured
        .is_none()
        .then(|| model.system().relations(options.relations));
    let limits = Limits {
        exhaustive_states: args.max_states,
        sampled_states: args.samples,
        // Relations that argue with what is reachable say nothing about other states.
        random_states: match options.relations {
            RelationLevel::Reach => 0,
            _ => args.random_states,
        },
        seed: args.seed,
        ..Limits::default()
    };
    let paint = Paint::for_stdout();
    // As long as everything is refused, something is wrong with the command.
    let mut status = Status::Wrong;
    for (name, aim) in aims(&model) {
        let config = match &options.por {
            Por::Chosen(config) => config.clone(),
            Por::None => {
                return Err(Failure::wrong(
                    "without a reduction there is nothing to validate",
                ));
            }
            Por::Auto => Config::new(match aim {
                Aim::Goals(_) => Algorithm::Goal,
                Aim::Deadlocks | Aim::Traces { .. } => Algorithm::Beam,
            }),
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
    growing(model, None, |model| {
        stubborn::explore(model, &options).map(|_| ())
    })
}

fn refused(name: &str, refusal: &ConfigError, paint: Paint) -> String {
    format!("{}  {name}: {refusal}\n", paint.unsure("refused "))
}

/// What a reduction may be asked to keep in this model.
fn aims(model: &LoadedModel) -> Vec<(String, Aim)> {
    let structure = model.system().structure();
    let mut aims = vec![("deadlocks".to_owned(), Aim::Deadlocks)];
    let labels: Vec<_> = structure.properties.iter().map(|p| p.violated_by).collect();
    if !labels.is_empty() {
        let name = "assertions and invariants".to_owned();
        aims.push((name, Aim::Goals(Goals::labels(labels))));
    }
    if !model.asserting().is_empty() {
        let goals = Goals {
            any_of: Vec::new(),
            transitions: model.asserting().to_vec(),
        };
        aims.push(("steps with assertions".to_owned(), Aim::Goals(goals)));
    }
    let failing: Vec<_> = structure
        .transition_ids()
        .filter(|t| structure.transition(*t).may_fail)
        .collect();
    if !failing.is_empty() {
        let goals = Goals {
            any_of: Vec::new(),
            transitions: failing,
        };
        aims.push(("failing steps".to_owned(), Aim::Goals(goals)));
    }
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
