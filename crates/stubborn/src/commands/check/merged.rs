//! Promela models without what nobody notices.
//!
//! Where no flag says otherwise, a Promela model is checked with statements merged, and without dead
//! values and control states: fewer states, the same verdicts (docs/soundness.md). Whoever reads a
//! counterexample wants the model as it is written. So what is found is looked for once more, in that
//! model: every search ends as soon as it is found.

use stubborn::{
    CheckError, CheckOptions, Language, LoadOptions, LoadedModel, Obstacle, PromelaOptions,
    SearchError, Temporal, Verdict,
};

use super::asked::Asked;
use super::{Results, rounds};
use crate::commands::{growing, load_with};
use crate::exit::Failure;
use crate::options::{CheckArgs, EngineName, ModelArgs};
use crate::reports::is_page;

/// The second search gives up after this many times the states of the first...
const MORE_STATES: u64 = 20;
/// ... but not before.
const FEW_STATES: u64 = 1_000_000;

/// Whether nothing was asked for that shows single steps, is kept and taken up again, or is run
/// elsewhere; and whether the model can be read twice.
fn is_possible(args: &CheckArgs, model: &ModelArgs) -> bool {
    let language = model.language.map(Into::into);
    let language = language.or_else(|| Language::of_path(&model.model));
    let spin = &args.spin;
    let shows_steps = spin.coverage || spin.trail.is_some() || args.trace.is_some();
    let shows_steps = shows_steps || args.suite.report.iter().any(|file| is_page(file));
    let is_kept = args.checkpoint.checkpoint.is_some() || args.checkpoint.spill.is_some();
    let on_card = matches!(model.engine, EngineName::Gpu | EngineName::Auto);
    language == Some(Language::Promela)
        && model.promela.leaves_it_open()
        && model.model.as_os_str() != "-"
        && !(shows_steps || is_kept || on_card)
        && !args.cluster.is_asked_for()
        && !args.reduction.is_about_one_model()
        && !args.temporal.options().weak_fairness
}

/// Loads the model, without what nobody notices if that is possible and no property that is asked
/// for sees it; and says which.
pub(super) fn load(
    args: &CheckArgs,
    model_args: &ModelArgs,
    options: &LoadOptions,
    mut quiet: bool,
) -> Result<(LoadedModel, bool), Failure> {
    if is_possible(args, model_args) {
        let smaller = LoadOptions {
            promela: PromelaOptions {
                merge: true,
                dead_variables: true,
                dead_locations: true,
                ..options.promela.clone()
            },
            ..options.clone()
        };
        let (model, _) = load_with(model_args, smaller, quiet)?;
        let sees = |one: &&Temporal| matches!(one.property, Err(Obstacle::CountsSteps(_)));
        let asked = Asked::new(&args.properties, &model)?;
        if !asked.temporal.iter().any(sees) {
            drop(asked);
            return Ok((model, true));
        }
        quiet = true;
    }
    Ok((load_with(model_args, options.clone(), quiet)?.0, false))
}

/// Looks for what was found once more in the model as it is written. That model, if `results` are
/// about it now; otherwise they stay as they are.
pub(super) fn retell(
    args: &CheckArgs,
    model_args: &ModelArgs,
    load_options: LoadOptions,
    options: &CheckOptions<'_>,
    results: &mut Results,
) -> Result<Option<LoadedModel>, Failure> {
    results.is_told_merged = true;
    // (What was read before can be read again, unless there is no room or time left.)
    let Ok((mut model, _)) = load_with(model_args, load_options, true) else {
        return Ok(None);
    };
    let mut options = options.clone();
    let searches = results.figures();
    let most = match results.hunted.is_empty() {
        true => results.total(&searches).states * MORE_STATES,
        // Searches do not find it soon.
        false => 0,
    };
    let most = most.max(FEW_STATES);
    options.limits.states = Some(options.limits.states.unwrap_or(most).min(most));
    let is_found = |question: &stubborn::Question| {
        let mut answers = results.report.answers.iter();
        let same = |a: &super::Answer| {
            (&a.question.name, a.question.kind) == (&question.name, question.kind)
        };
        answers.any(|answer| same(answer) && answer.violation.is_some())
    };
    let is_violated = |name: &str| {
        let mut answers = results.temporal.iter();
        answers.any(|a| a.name == name && a.verdict == Verdict::Violated)
    };
    let violated = results.report.answers.iter();
    let violated = violated.filter(|answer| answer.violation.is_some()).count();
    let again = growing(&mut model, |model| {
        let mut asked = Asked::again(&args.properties, model)?;
        // What a process states that is not known yet, nobody can ask about: everything is asked
        // until it is.
        if asked.questions.iter().filter(|q| is_found(q)).count() == violated {
            asked.questions.retain(&is_found);
            asked
                .temporal
                .retain(|property| is_violated(&property.name));
        }
        rounds::answer(model, &asked, &options, &|questions, options| {
            stubborn::check(model, questions, options)
        })
    });
    let again = match again {
        Ok(again) => again,
        Err(failure) if failure.is_no_answer() => return Ok(None),
        Err(failure) => return Err(failure),
    };
    let told = again.report.answers.iter();
    let told = told.filter(|answer| is_found(&answer.question)).count();
    if told < violated || again.verdicts().any(|verdict| verdict == Verdict::Unknown) {
        return Ok(None);
    }
    let questions = stubborn::questions(&model);
    for answer in &mut results.report.answers {
        // Labels may have other numbers.
        let old = &answer.question;
        let same = |q: &&stubborn::Question| (&q.name, q.kind) == (&old.name, old.kind);
        if let Some(question) = questions.iter().find(same) {
            answer.question = question.clone();
        }
    }
    let told = again.report.answers.iter().map(|new| {
        let mut old = results.report.answers.iter();
        let old = old.find(|old| old.question == new.question);
        old.map(|old| old.verdict) == Some(new.verdict)
    });
    let temporal = again.temporal.iter();
    let mut told = told.chain(temporal.map(|new| new.verdict == Verdict::Violated));
    if !told.all(|is_told| is_told) {
        let text = "not without merged statements".to_owned();
        return Err(CheckError::Search(SearchError::ReplayFailed(text)).into());
    }
    results.is_told_merged = false;
    results.hunted.clear();
    rounds::merge(results, again);
    Ok(Some(model))
}
