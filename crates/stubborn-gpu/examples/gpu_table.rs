//! Explores models on a card and compares the counts with known ones: a line for each.
//!
//! `gpu_table FOLDER TABLE [NAME...]`: the table has lines with a file, states, transitions and
//! deadlocks, `?` for what is not known. With `REPEAT=n`, each is run n times; `SPELLING=out` and
//! `SPELLING=tables` say how commands are chosen, whatever pays. `TABLE_BYTES` is the size of the first table,
//! and `REGION_BYTES` that of the regions that it is served in. With `SETS=1`, searches are reduced for deadlocks: only
//! their number is compared, and states are told as parts of all.
#![allow(clippy::print_stdout)]

#[path = "../tests/support/mod.rs"]
mod support;

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use stubborn_gpu::{Compiled, Device, Engine, Failure, Options, Sets, Spelling};
use stubborn_ir::Model;
use stubborn_reduce::{Aim, Algorithm, Config, Plan, StubbornReduction};
use stubborn_search::Target;
use stubborn_system::{Reduction, RelationLevel, System};

/// A search for deadlocks that leaves out what need not be seen for them.
fn reduced(engine: Engine<'_>, model: &Arc<Model>) -> Result<Compiled, Box<dyn std::error::Error>> {
    let plan = Plan::new(&Config::new(Algorithm::Closure), Aim::Deadlocks)?;
    let relations = model.relations(RelationLevel::Located);
    let reduction = StubbornReduction::new(&**model, &relations, plan)?;
    let rows = reduction.closure().ok_or("closure has no rows")?;
    let sets = Sets::new(&rows, false).map_err(Failure::from)?;
    Ok(engine.takes_reduced(model, &[Target::Deadlock], &sets)?)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, folder, table, names @ ..] = &arguments[..] else {
        return Err("FOLDER TABLE [NAME...]".into());
    };
    let number = |name: &str| std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok());
    let opened = Instant::now();
    let device = Device::open()?;
    println!(
        "# {:?}, opened in {:.3} s",
        device.info(),
        opened.elapsed().as_secs_f64()
    );
    println!(
        "# model words bits | states transitions deadlocks levels, ok if as known | search s, M states/s, M transitions/s | whole s: load, compile, of it the driver (times, bytes), prepare | nodes bytes/state restarts"
    );
    let engine = Engine::new(&device);
    let engine = match std::env::var("SPELLING").as_deref() {
        Ok("out") => engine.spelling(Spelling::Out),
        Ok("tables") => engine.spelling(Spelling::Tables),
        _ => engine,
    };
    let is_reduced = number("SETS").is_some();
    let (mut logs, mut counted) = (0.0, 0);
    let (mut parts, mut part_count) = (0.0, 0);
    for line in std::fs::read_to_string(table)?.lines() {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let [file, known @ ..] = &columns[..] else {
            continue;
        };
        if file.starts_with('#')
            || !(names.is_empty() || names.iter().any(|n| file.contains(n.as_str())))
        {
            continue;
        }
        let begun = Instant::now();
        let path = Path::new(folder).join(file);
        let Some(model) = path.exists().then(|| support::try_load(&path)).flatten() else {
            println!("{file} FAILED to load");
            continue;
        };
        let load = begun.elapsed();
        let compiled = match is_reduced {
            true => reduced(engine, &model),
            false => engine.takes(&model, &[]).map_err(Into::into),
        };
        let compiled = match compiled {
            Ok(compiled) => compiled,
            Err(reason) => {
                println!("{file} REFUSED {reason}");
                continue;
            }
        };
        for _ in 0..number("REPEAT").unwrap_or(1) {
            let options = Options {
                table: number("TABLE_BYTES"),
                region: number("REGION_BYTES"),
                ..Options::default()
            };
            let outcome = match compiled.run(&device, &options) {
                Ok(outcome) => outcome,
                Err(reason) => {
                    println!("{file} FAILED {reason}");
                    break;
                }
            };
            let counts = [outcome.states, outcome.transitions, outcome.deadlocks];
            let compared = counts.iter().zip(known);
            let right = compared
                .skip(if is_reduced { 2 } else { 0 })
                .all(|(count, known)| *known == "?" || *known == count.to_string());
            let figures = &outcome.figures;
            let seconds = figures.last_try.as_secs_f64();
            let rate = |count: u64| count as f64 / seconds / 1e6;
            println!(
                "{file:<28} {} {:>3} | {} {} {} {} {} {:?} | {seconds:.4} s {:.1} {:.1} | whole {:.2}: {:.2} {:.2} {:.2}{} ({} {}) {:.3} | {} {:.2} {}",
                figures.words,
                figures.bits,
                counts[0],
                counts[1],
                counts[2],
                outcome.level_sizes.len(),
                if right { "ok" } else { "WRONG" },
                outcome.end,
                rate(counts[0]),
                rate(counts[1]),
                begun.elapsed().as_secs_f64(),
                load.as_secs_f64(),
                compiled.compile_time().as_secs_f64(),
                compiled.build_time().as_secs_f64(),
                if compiled.is_from_cache() {
                    " cached"
                } else {
                    ""
                },
                compiled.compilations(),
                compiled.source_bytes(),
                figures.prepare.as_secs_f64(),
                figures.nodes,
                figures.tables as f64 / counts[0] as f64,
                figures.restarts,
            );
            if let Some(all) = known.first().and_then(|all| all.parse::<f64>().ok())
                && is_reduced
            {
                let part = counts[0] as f64 / all;
                println!("# {file} keeps {:.2}% of its states", 100.0 * part);
                parts += part.ln();
                part_count += 1;
            }
            if counts[0] >= 10_000_000 {
                logs += rate(counts[0]).ln();
                counted += 1;
            }
        }
    }
    if part_count > 0 {
        println!(
            "# geometric mean of {part_count} parts: {:.1}%",
            100.0 * (parts / f64::from(part_count)).exp()
        );
    }
    if counted > 0 {
        println!(
            "# geometric mean of {counted} runs of 10 M states and more: {:.1} M states/s",
            (logs / f64::from(counted)).exp()
        );
    }
    Ok(())
}
