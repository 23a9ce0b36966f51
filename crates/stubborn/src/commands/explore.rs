//! `stubborn explore`: the size of the state space.

mod graph;

use std::cell::RefCell;
use std::fmt::Write;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use stubborn::emptiness::{Compared, Counts, CycleProviso, ExplorationResult};
use stubborn::plan::{Keeper, Keeping};
use stubborn::search::Engine;
use stubborn::search::SearchResult;
use stubborn::{CheckOptions, End, LoadedModel};

use super::race::Use;
use super::{
    Figures, Incomplete, budget, figures_json, growing, growing_together, load, refuse_checkpoints,
    search_options, why_ended, why_incomplete,
};
use crate::checkpoint::Checkpoints;
use crate::cluster::Team;
use crate::exit::{Failure, Status};
use crate::json;
use crate::options::{EngineName, ExploreArgs, ProvisoList, StoreName};
use crate::progress::Line;
use crate::terminal::{Paint, counted, grouped, print};
use crate::watch;

/// Most failing steps that are named.
const SHOWN_FAILURES: usize = 4;

pub(crate) fn run(args: &ExploreArgs) -> Result<Status, Failure> {
    // A comparison prints an object for each proviso, and none for all.
    let json = args.output.json && args.comparison.compare.is_none();
    let budget = budget(&args.model, &args.search, ("explore", json), &[], 1)?;
    let quiet = args.output.quiet || args.output.json;
    let (mut model, load_time) = load(&args.model, &[], quiet, &budget)?;
    let mut options = search_options(&args.search, &args.reduction, "none", &model)?;
    let on_card = args.model.engine == EngineName::Gpu;
    let with_card = args.model.engine == EngineName::Auto;
    if (on_card || with_card)
        && (args.comparison.compare.is_some() || args.net.structural.is_some() || args.unused)
    {
        return Err(Failure::wrong(
            "--engine gpu and auto count states: they have no --compare, --structural and --unused",
        ));
    }
    let line = Line::new(
        args.output.quiet,
        args.search.max_states,
        args.search.timeout,
    );
    let show = |progress: &stubborn::Progress| line.show(progress);
    options.observer = Some(&show);
    let has_cycles = options.reduction.cycle_proviso.is_some();
    if args.cluster.is_asked_for() && (args.comparison.compare.is_some() || has_cycles) {
        return Err(Failure::wrong(
            "several processes are not for --compare and the provisos of infinite runs",
        ));
    }
    if args.checkpoint.checkpoint.is_some() && (args.comparison.compare.is_some() || has_cycles) {
        return Err(Failure::wrong(
            "--checkpoint is not for --compare and the provisos of infinite runs",
        ));
    }
    if let Some(ProvisoList(provisos)) = &args.comparison.compare {
        let (status, text) = compared(args, &mut model, provisos, &options)?;
        drop(line);
        watch::conclude();
        print(&text);
        return Ok(status);
    }
    if let Some(proviso) = options.reduction.cycle_proviso.filter(|_| !on_card) {
        if args.net.structural.is_some() {
            return Err(Failure::wrong(
                "--structural keeps deadlocks, not the infinite runs that a cycle proviso is for",
            ));
        }
        let (reduction, result) = growing(&mut model, |model| {
            stubborn::explore_with_proviso(model, proviso, &options)
        })?;
        drop(line);
        watch::conclude();
        return Ok(with_proviso(args, &model, &reduction, &result, load_time));
    }
    if args.checkpoint.checkpoint.is_some() {
        refuse_checkpoints(&args.model, &args.net)?;
    }
    let (search, net) = (&args.search, &args.net);
    let draws = args.aut.is_some() || args.dot.is_some() || args.branching;
    if args.cluster.is_asked_for() && draws {
        return Err(Failure::wrong(
            "several processes are not for --aut, --dot and --branching",
        ));
    }
    let team = super::team(
        &args.cluster,
        &args.model,
        (search, net),
        &args.checkpoint,
        &model,
    )?;
    let disk = super::disk(&args.model, &args.search, &args.checkpoint)?;
    let checkpoints = Checkpoints::begin(&args.checkpoint, &args.output, &mut model, &budget)?;
    let keeper = checkpoints.as_deref().map(|keeper| keeper as &dyn Keeper);
    let together = super::together(&args.cluster, team.as_ref(), keeper, {
        let growth = checkpoints.as_ref().map(|kept| kept.growth());
        (growth.unwrap_or_default(), &mut model)
    })?;
    let keeper = match &together {
        Some(together) => Some(together as &dyn Keeper),
        None => keeper,
    };
    let started = Instant::now();
    let (run, smaller) = match args.net.structural {
        None => {
            let run = growing_together(&mut model, team.as_ref(), |model| {
                if let Some(checkpoints) = &checkpoints {
                    checkpoints.is_about(model);
                }
                let card = stubborn::GraphicsCard::new(model);
                let several = team.as_ref().map(Team::engine);
                let several = several.as_ref().map(|engine| engine as &dyn Engine);
                let only = on_card.then_some(&card as &dyn Engine).or(several);
                let engines = super::engines(only, disk.as_ref());
                // A larger model begins anew.
                let keeping = keeper.map(Keeping::new);
                let options = CheckOptions {
                    engines: &engines,
                    keeping: keeping.as_ref(),
                    ..options.clone()
                };
                if with_card {
                    let judge = |run: &stubborn::Run| match run.result.is_complete() {
                        true => Use::Answer,
                        false => super::spoilt(Use::Nothing, run.result.end),
                    };
                    return super::race_with_card(model, &options, judge, &|options| {
                        stubborn::explore(model, options)
                    });
                }
                let run = stubborn::explore(model, &options);
                Checkpoints::about(checkpoints.as_ref(), model, run)
            });
            (super::or_resume(checkpoints.as_deref(), run)?, None)
        }
        Some(rules) => match stubborn::explore_smaller(&model, rules, &options) {
            Some(smaller) => smaller.map(|(run, sizes)| (run, Some(sizes)))?,
            None => return Err(Failure::wrong("--structural is about Petri nets")),
        },
    };
    let result = run.result;
    let traffic = team.as_ref().and_then(Team::traffic);
    if team.as_ref().is_some_and(Team::is_worker) {
        watch::conclude();
        return Ok(Status::Fine);
    }
    let graph = match draws && result.is_complete() {
        true => Some(growing(&mut model, |model| {
            graph::build(args, model, &options)
        })??),
        false => None,
    };
    drop(line);
    watch::conclude();
    if let Some(checkpoints) = &checkpoints {
        checkpoints.end();
    }
    if let Some(graph) = &graph {
        graph.write(args, &model)?;
    }

    let figures = Figures {
        // With relations and everything else that the search needed first.
        explore_seconds: started.elapsed().as_secs_f64(),
        ..Figures::of(&result)
    };
    let conclude = || {
        if let Some(checkpoints) = &checkpoints {
            checkpoints.conclude(!matches!(result.end, End::Limit(_)));
        }
    };
    let incomplete = why_incomplete(&model, &result, args.search.store);
    let status = if incomplete.is_some() {
        Status::Unknown
    } else {
        Status::Fine
    };
    if args.output.json {
        let mut object = figures_json(&model, &args.search, &run.reduction, &figures, load_time);
        // Scripts rely on the fields; others are for models that need them, or asked for.
        let failing = failing(&model, &result);
        if !failing.is_empty() {
            object.insert("failing_steps".into(), failing.into());
        }
        if let Some(incomplete) = Incomplete::of(&model, &result, args.search.store) {
            incomplete.put_into(&mut object);
        }
        if args.levels {
            object.insert("levels".into(), json!(result.level_sizes));
        }
        if let Some(graph) = graph.as_ref().filter(|_| args.branching) {
            object.insert("branching".into(), json!(graph.branching()));
        }
        if args.unused {
            object.insert("unused".into(), json!(never_taken(&model, &result.fired)));
        }
        print(&json::line("explore", object));
        conclude();
        return Ok(status);
    }
    let mut text = figures.line(&run.reduction, model.language()) + "\n";
    let ends = match figures.invalid_ends {
        Some(invalid) => format!(
            "{}, {} of them invalid",
            counted(figures.deadlocks.unwrap_or(0), "end state"),
            grouped(invalid)
        ),
        None => counted(figures.deadlocks.unwrap_or(0), "deadlock"),
    };
    let _ = writeln!(text, "{ends}");
    text += &failing_lines(&failing(&model, &result));
    if let Some(sizes) = smaller {
        let _ = writeln!(
            text,
            "of a reduced net: {} of {}, {} of {}",
            sizes.places_left,
            counted(sizes.places as u64, "place"),
            sizes.transitions_left,
            counted(sizes.transitions as u64, "transition"),
        );
    }
    if !args.output.quiet {
        let store = match (args.search.store, result.store) {
            (StoreName::Tree, stubborn::StoreKind::Plain) => "plain",
            (asked, _) => asked.name(),
        };
        let _ = write!(text, "{}, {store} store", figures.costs(load_time));
        if let Some(traffic) = &traffic {
            let _ = write!(text, ", {traffic}");
        }
        text.push('\n');
    }
    if let Some(reason) = incomplete {
        let _ = writeln!(
            text,
            "{}: {reason}",
            Paint::for_stdout().unsure("incomplete")
        );
    }
    if args.levels {
        text += &levels(&result.level_sizes);
    }
    if let Some(graph) = graph.as_ref().filter(|_| args.branching) {
        text += &graph.branching().to_string();
    }
    if args.unused {
        text += &unused(&model, &result.fired);
    }
    print(&text);
    conclude();
    Ok(status)
}

/// What is left with each of several cycle provisos, as a table; lines of JSON are printed at
/// once.
fn compared(
    args: &ExploreArgs,
    model: &mut LoadedModel,
    provisos: &[CycleProviso],
    options: &CheckOptions<'_>,
) -> Result<(Status, String), Failure> {
    let seeds = args.comparison.seeds(args.search.seed);
    let all: RefCell<Vec<Compared>> = RefCell::default();
    let name = growing(model, |model| {
        all.borrow_mut().clear();
        stubborn::compare_provisos(model, provisos, &seeds, options, &mut |one| {
            if args.output.json {
                print(&json::line("explore", json::fields(compared_json(&one))));
            }
            all.borrow_mut().push(one);
        })
    })?;
    let all = all.into_inner();
    let limit = all.iter().find_map(|one| one.limit);
    let status = limit.map_or(Status::Fine, |_| Status::Unknown);
    if args.output.json {
        return Ok((status, String::new()));
    }
    let orders = counted(seeds.len() as u64, "order");
    let mut text = format!("reduced by {name}, sums over {orders} of the transitions\n\n");
    let width = provisos.iter().map(|p| p.to_string().len()).max();
    let width = width.unwrap_or(0).max("proviso".len());
    let _ = writeln!(
        text,
        "{:<width$}  {:>13}  {:>13}  {:>11}",
        "proviso", "states", "transitions", "expanded"
    );
    for proviso in provisos {
        let sum = |of: fn(&Counts) -> u64| {
            let own = all.iter().filter(|one| one.proviso == *proviso);
            grouped(own.map(|one| of(&one.counts)).sum())
        };
        let _ = writeln!(
            text,
            "{:<width$}  {:>13}  {:>13}  {:>11}",
            proviso.to_string(),
            sum(|counts| counts.states),
            sum(|counts| counts.transitions),
            sum(|counts| counts.expanded_by_proviso),
        );
    }
    if let Some(limit) = limit {
        let _ = writeln!(
            text,
            "{}: {}",
            Paint::for_stdout().unsure("incomplete"),
            why_ended(model, limit)
        );
    }
    Ok((status, text))
}

fn compared_json(one: &Compared) -> Value {
    json!({
        "proviso": one.proviso.to_string(),
        "seed": one.seed,
        "states": one.counts.states,
        "transitions": one.counts.transitions,
        "expanded": one.counts.expanded_by_proviso,
        "complete": one.limit.is_none(),
        "explore_seconds": one.time.as_secs_f64(),
    })
}

/// What is left with a cycle proviso.
fn with_proviso(
    args: &ExploreArgs,
    model: &LoadedModel,
    reduction: &str,
    result: &ExplorationResult,
    load_time: Duration,
) -> Status {
    let figures = Figures::of_exploration(result);
    let status = match result.limit {
        None => Status::Fine,
        Some(_) => Status::Unknown,
    };
    let proviso = args.reduction.proviso.cycles.unwrap_or_default();
    if args.output.json {
        let mut object = figures_json(model, &args.search, reduction, &figures, load_time);
        object.insert("order".into(), "dfs".into());
        object.insert("proviso".into(), proviso.to_string().into());
        if let Some(limit) = result.limit {
            Incomplete::limit(model, limit).put_into(&mut object);
        }
        print(&json::line("explore", object));
        return status;
    }
    let mut text = figures.line(reduction, model.language()) + "\n";
    let deadlocks = counted(figures.deadlocks.unwrap_or(0), "deadlock");
    let expanded = counted(result.counts.expanded_by_proviso, "state");
    let _ = writeln!(
        text,
        "{deadlocks}; the proviso {proviso} expanded {expanded}"
    );
    if !args.output.quiet {
        let _ = writeln!(text, "{}", figures.costs(load_time));
    }
    if let Some(limit) = result.limit {
        let _ = writeln!(
            text,
            "{}: {}",
            Paint::for_stdout().unsure("incomplete"),
            why_ended(model, limit)
        );
    }
    print(&text);
    status
}

/// Steps that failed, in words and with their places. Runs end there, in one error state. (Where they go on
/// unseen, the exploration is incomplete, and says so.)
fn failing(model: &LoadedModel, result: &SearchResult) -> Vec<String> {
    let failures = &model.system().structure().failures;
    let sites = result.failed.iter().map(|site| &failures[site]);
    let sites = sites.filter(|site| !site.kind.leaves_out());
    let words = sites.map(|site| match site.span {
        Some(span) => format!("{} ({})", site.message, model.text().place(span)),
        None => site.message.clone(),
    });
    let mut words: Vec<String> = words.collect();
    words.sort_unstable();
    words.dedup();
    words
}

fn failing_lines(failing: &[String]) -> String {
    let mut text = String::new();
    for one in failing.iter().take(SHOWN_FAILURES) {
        let _ = writeln!(text, "a step fails, and its run ends: {one}");
    }
    if let Some(more) = failing.len().checked_sub(SHOWN_FAILURES + 1) {
        let _ = writeln!(
            text,
            "and {} more that fail",
            counted(more as u64 + 1, "step")
        );
    }
    text
}

fn levels(sizes: &[u64]) -> String {
    let mut text = String::from("\nlevel  states\n");
    for (level, states) in sizes.iter().enumerate() {
        let _ = writeln!(text, "{level:>5}  {}", grouped(*states));
    }
    text
}

fn never_taken<'m>(model: &'m LoadedModel, fired: &stubborn::system::BitSet) -> Vec<&'m str> {
    let structure = model.system().structure();
    let never = structure
        .transition_ids()
        .filter(|t| !fired.contains(t.index()));
    never
        .map(|t| structure.transition(t).name.as_str())
        .collect()
}

fn unused(model: &LoadedModel, fired: &stubborn::system::BitSet) -> String {
    let never = never_taken(model, fired);
    if never.is_empty() {
        return "\nevery transition was taken\n".into();
    }
    let mut text = format!(
        "\nnever taken: {}\n",
        counted(never.len() as u64, "transition")
    );
    for name in never {
        let _ = writeln!(text, "  {name}");
    }
    text
}
