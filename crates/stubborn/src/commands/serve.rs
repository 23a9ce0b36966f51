//! `stubborn serve`: a page to look at a model, while it is checked.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use stubborn::{
    CheckError, CheckOptions, Language, LoadOptions, LoadedModel, Progress, PromelaOptions,
};
use stubborn_page::{Page, SURVEY_TIME, SURVEYED, ServeOptions, Session};

use super::check::asked::Asked;
use super::check::temporal;
use super::simulate::{foresee, read_saved};
use super::{growing, load_with, memory_limit, no_card, page, search_options};
use crate::exit::{Failure, Status};
use crate::interrupt;
use crate::options::ServeArgs;
use crate::terminal::print;

pub(crate) fn run(args: &ServeArgs) -> Result<Status, Failure> {
    no_card(args.model.engine)?;
    let stop = interrupt::end_soon()?;
    let mut model = load(args, false)?;
    if model.language() == Language::Promela {
        foresee(&mut model)?;
    }
    Asked::new(&args.properties, &model)?;
    // It is looked at until the program ends.
    let model: &'static LoadedModel = Box::leak(Box::new(model));
    let session = session(args, model)?;
    let options = ServeOptions { port: args.port };
    let page = Page::open(session, options)
        .map_err(|error| Failure::wrong(format!("cannot serve on port {}: {error}", args.port)))?;
    print(&format!(
        "{}: open {}\n(Ctrl-C ends it)\n",
        model.name(),
        page.address().url()
    ));
    let served = std::thread::scope(|scope| {
        let checker = std::thread::Builder::new().stack_size(256 << 20);
        checker.spawn_scoped(scope, || check(args, &page, model, stop))?;
        page.run(stop)
    });
    let wrong = |error| Failure::wrong(format!("cannot serve: {error}"));
    served.map_err(wrong)?;
    Ok(Status::Fine)
}

fn load(args: &ServeArgs, quiet: bool) -> Result<LoadedModel, Failure> {
    let needs = match &args.replay {
        Some(file) => read_saved(file)?.needs(),
        None => LoadOptions::default(),
    };
    let options = LoadOptions {
        invariants: args.properties.invariant.clone(),
        temporal: temporal::texts(&args.temporal.formulas)?,
        promela: promela_options(args.model.promela.options()),
        // Searches have limits of their own.
        budget: Arc::default(),
        ..needs
    };
    Ok(load_with(&args.model, options, quiet)?.0)
}

fn session(args: &ServeArgs, model: &'static LoadedModel) -> Result<Session<'static>, Failure> {
    let session = Session::new(page::subject(model));
    session.check().running = !args.no_check;
    if let Some(file) = &args.replay {
        let saved = read_saved(file)?;
        let trace = saved
            .replay(model)
            .map_err(|error| Failure::wrong(format!("{}: {error}", file.display())))?;
        session.add_trace(saved.shows.clone(), trace, None);
    }
    Ok(session)
}

/// Checks the model beside its page.
fn check(args: &ServeArgs, page: &Page<'static>, model: &'static LoadedModel, stop: &AtomicBool) {
    page.session().survey(SURVEYED, SURVEY_TIME, Some(stop));
    if args.no_check {
        return;
    }
    if let Err(failure) = answer(args, page, model, stop) {
        let session = page.session();
        let mut check = session.check();
        (check.running, check.failure) = (false, Some(failure.to_string()));
    }
}

fn answer(
    args: &ServeArgs,
    page: &Page<'static>,
    model: &'static LoadedModel,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    let session = page.session();
    let options = search_options(&args.search, &args.reduction, "auto", model)?;
    let observe = |progress: &Progress| session.check().observe(progress);
    let mut options = CheckOptions {
        temporal: args.temporal.options(),
        observer: Some(&observe),
        ..options
    };
    options.limits.interrupt = Some(stop);
    options.limits.time = args.search.timeout;
    options.limits.memory = memory_limit(args.search.memory_limit, 1);
    let ask = |model: &LoadedModel| {
        let asked = Asked::again(&args.properties, model)?;
        let report = stubborn::check(model, &asked.questions, &options)?;
        let temporal = stubborn::check_temporal(model, &asked.temporal, &options)?;
        Ok((report, temporal))
    };
    match ask(model) {
        // A larger model has other transitions, and perhaps longer states.
        Err(CheckError::Outgrown) => {
            let mut larger = load(args, true)?;
            let (report, temporal) = growing(&mut larger, ask)?;
            let session = self::session(args, Box::leak(Box::new(larger)))?;
            page::conclude(&session, &report, &temporal);
            page.show(session);
            page.session().survey(SURVEYED, SURVEY_TIME, Some(stop));
        }
        found => {
            let (report, temporal) = found?;
            page::conclude(&session, &report, &temporal);
        }
    }
    Ok(())
}

/// How a model is loaded to be looked at.
fn promela_options(options: PromelaOptions) -> PromelaOptions {
    PromelaOptions {
        coverage: true,
        ..options
    }
}
