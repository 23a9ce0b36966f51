//! scratch
use std::collections::HashMap;
use std::path::Path;
use stubborn_promela::{load, Loaded, Options, source::FileLoader};
use stubborn_system::{System, Successors, Outcome, FailureKind};
pub struct R { states: usize, trans: usize, asserts: usize, ends: usize, fails: Vec<String>, complete: bool }
fn explore(loaded: &Loaded, max: usize) -> Result<R, Outcome> {
    let m = &loaded.model;
    let mut ex = m.executor();
    let mut succ = Successors::new(m.layout().words());
    let init = m.initial_states();
    let mut seen: HashMap<Vec<u32>, ()> = HashMap::new();
    seen.insert(init.clone(), ());
    let mut todo = vec![init];
    let mut r = R { states: 1, trans: 1, asserts: 0, ends: 0, fails: vec![], complete: true };
    while let Some(s) = todo.pop() {
        succ.clear();
        ex.successors(&s, &mut succ);
        if succ.is_empty() && !ex.label(&s, m.structure().valid_end.unwrap()) { r.ends += 1; }
        for n in succ.iter() {
            if loaded.lowered.missing(n.outcome).is_some() { return Err(n.outcome); }
            if let Some(site) = n.outcome.site(m.structure()) {
                r.asserts += 1;
                if site.kind != FailureKind::Assertion { if !r.fails.contains(&site.message) { r.fails.push(site.message.clone()); } continue; }
            }
            r.trans += 1;
            if !seen.contains_key(n.state) {
                if seen.len() >= max { r.complete = false; return Ok(r); }
                seen.insert(n.state.to_vec(), ());
                r.states += 1;
                todo.push(n.state.to_vec());
            }
        }
    }
    Ok(r)
}
pub fn run(path: &Path, text: &str, max: usize) -> Result<(R, Loaded), String> {
    let mut loaded = load(path, text, &Options::default(), &FileLoader).map_err(|(s, d)| s.render(&d, false))?;
    loop {
        match explore(&loaded, max) {
            Ok(r) => return Ok((r, loaded)),
            Err(o) => loaded = loaded.grown(o).unwrap().map_err(|(s, d)| s.render(&d, false))?,
        }
    }
}
fn main() {
    let args: Vec<String> = std::env::args().collect();
    if args[1] == "probes" {
        let mut ok = 0; let mut bad = 0;
        for line in std::fs::read_to_string(&args[2]).unwrap().lines() {
            let c: Vec<&str> = line.splitn(6, '\t').collect();
            let (id, s, t, e, text) = (c[0], c[1], c[2], c[3], c[4]);
            match run(Path::new("m.pml"), text, 100000) {
                Err(m) => if s == "REJECT" { ok += 1 } else { bad += 1; println!("{id}: {}\n   {text}", m.lines().next().unwrap_or("")); },
                Ok((r, _)) => {
                    let got = (r.states.to_string(), r.trans.to_string(), (r.asserts + r.ends).to_string());
                    if got == (s.to_string(), t.to_string(), e.to_string()) { ok += 1 } else { bad += 1; println!("{id}: got {}/{}/{} want {s}/{t}/{e} {:?}\n   {text}", got.0, got.1, got.2, r.fails); }
                }
            }
        }
        println!("{ok} ok {bad} bad");
        return;
    }
    if args[1] == "corpus" {
        let max: usize = args[2].parse().unwrap();
        let root = Path::new("/work/shared/corpus/promela");
        let tsv = std::fs::read_to_string(root.join("EXPECTED.tsv")).unwrap();
        let (mut ok, mut bad) = (0, 0);
        for line in tsv.lines().skip(2) {
            let c: Vec<&str> = line.split('\t').collect();
            if c[1] != "OK" || c[6] != "complete" { continue }
            let want: f64 = c[2].parse().unwrap_or(0.0);
            if want > max as f64 { continue }
            if args.len() > 3 && !c[0].contains(&args[3]) { continue }
            let path = root.join(c[0]);
            let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
            let t0 = std::time::Instant::now();
            match std::panic::catch_unwind(|| run(&path, &text, 2 * max + 1000)) {
                Err(_) => { bad += 1; println!("{}: PANIC", c[0]) }
                Ok(Err(m)) => { bad += 1; println!("{}: {}", c[0], m.lines().take(3).collect::<Vec<_>>().join(" | ")); }
                Ok(Ok((r, l))) => {
                    let good = r.states.to_string() == c[2] && r.trans.to_string() == c[3] && ((r.asserts + r.ends > 0) == (c[4] != "0"));
                    if good { ok += 1 } else { bad += 1; println!("{}: got {}/{}/{}a+{}e want {}/{}/{} {} {:?} complete={}", c[0], r.states, r.trans, r.asserts, r.ends, c[2], c[3], c[4], c[5], r.fails, r.complete); }
                    if t0.elapsed().as_secs_f64() > 2.0 { println!("   {} took {:.1}s, {} states, {} commands, {} words", c[0], t0.elapsed().as_secs_f64(), r.states, l.model.program().commands.len(), l.model.layout().words()); }
                }
            }
        }
        println!("{ok} ok {bad} bad");
        return;
    }
    let text = std::fs::read_to_string(&args[1]).unwrap();
    match run(Path::new(&args[1]), &text, 1000000) {
        Err(m) => println!("{m}"),
        Ok((r, l)) => {
            if args.len() > 2 { for c in &l.model.program().commands { println!("{} [{:?}]: {} => {:?} cont {:?}", c.name, c.priority, c.guards.iter().map(|g| l.model.program().text(&l.model.program().labels[g.index()].expr)).collect::<Vec<_>>().join(" & "), c.body.len(), c.continues); } }
            println!("{} states {} transitions {} assertions/failures {} invalid ends {:?}", r.states, r.trans, r.asserts, r.ends, r.fails);
        }
    }
}
