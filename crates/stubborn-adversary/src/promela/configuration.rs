//! Ways to ask for the same answers: options that must not change a verdict.

use crate::random::Random;

/// Options, each with its value.
pub type Options = Vec<Vec<String>>;

/// Which values there are; the first is the default, and is written as often as others.
const CHOICES: &[(&str, &[&str])] = &[
    ("--engine", &["compiled", "interpreted"]),
    ("--order", &["bfs", "dfs"]),
    ("--threads", &["1", "2", "3"]),
    ("--store", &["tree", "plain", "bitstate", "compact"]),
    ("--seed", &["0", "1", "7", "4294967296"]),
    (
        "--relations",
        &["sets", "syntax", "exact", "reach", "located"],
    ),
    ("--steering", &["off", "mixed", "only"]),
    ("--visibility", &["vi", "c2", "relaxed"]),
    ("--expand", &["all", "visible"]),
    ("--emptiness", &["scc", "ndfs"]),
];

/// Reductions, and the options that only they have.
const REDUCTIONS: &[(&str, &[&str])] = &[
    ("none", &[]),
    ("auto", &[]),
    ("closure", &["--weak", "--start", "--scapegoat"]),
    ("beam", &["--weak", "--scapegoat"]),
    ("clostar", &["--weak", "--start", "--scapegoat"]),
    ("deletion", &["--weak", "--delete", "--minimise"]),
    ("clodel", &["--weak", "--start", "--scapegoat", "--delete"]),
    ("inc", &["--start", "--scapegoat"]),
    ("ample1", &["--choice"]),
    ("ample2", &["--choice"]),
    ("goal", &["--weak", "--scapegoat"]),
    ("lpor", &[]),
];

const STRATEGIES: &[(&str, &[&str])] = &[
    ("--start", &["rnd", "fst", "min_e", "min_f"]),
    (
        "--scapegoat",
        &[
            "rnd", "fst", "min_t", "max_t", "min_e", "max_e", "min_f", "max_f",
        ],
    ),
    (
        "--delete",
        &["rnd", "fst", "min_e", "max_e", "min_f", "max_f"],
    ),
    ("--choice", &["first", "min", "random"]),
];

const PROVISOS: &[&str] = &[
    "auto",
    "closed-set",
    "stack",
    "terminal",
    "source",
    "dest",
    "cond-source",
    "cond-dest",
    "colored-dest",
    "weighted-source",
    "weighted-dest",
    "deepest-dest",
    "stab",
];

const SWITCHES: &[&str] = &["--merge", "--dead-variables", "--dead-locations"];

/// Everything that [`noted`] may say.
pub fn all() -> Vec<String> {
    let mut all = Vec::new();
    for (option, values) in CHOICES.iter().chain(STRATEGIES) {
        all.extend(
            values
                .iter()
                .map(|value| format!("option {option} {value}")),
        );
    }
    all.extend(
        REDUCTIONS
            .iter()
            .map(|(name, _)| format!("option --por {name}")),
    );
    all.extend(
        PROVISOS
            .iter()
            .map(|name| format!("option --proviso {name}")),
    );
    let switches = SWITCHES
        .iter()
        .chain(&["--weak", "--minimise", "--no-nds", "--no-heuristic"]);
    all.extend(switches.map(|switch| format!("option {switch}")));
    all
}

/// An option as the coverage knows it: variants of provisos count as what they vary.
pub fn noted(option: &[String]) -> String {
    let mut text = format!("option {}", option.join(" "));
    if option[0] == "--max-states" {
        return "option --max-states".to_owned();
    }
    if option[0] == "--proviso" {
        for part in ["dead-", "highlink-", "-known", "-unknown", "-scan"] {
            text = text.replace(part, "");
        }
    }
    text
}

fn option(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Options that say how successors and states are kept, for every command that searches.
pub fn search(random: &mut Random) -> Options {
    let mut all = Vec::new();
    for (name, part) in [
        ("--engine", 4),
        ("--order", 4),
        ("--threads", 3),
        ("--store", 3),
    ] {
        if random.chance(part, 10) {
            all.push(choose(name, random));
        }
    }
    for switch in SWITCHES {
        if random.chance(1, 6) {
            all.push(option(&[switch]));
        }
    }
    all
}

fn choose(name: &str, random: &mut Random) -> Vec<String> {
    let known = CHOICES
        .iter()
        .chain(STRATEGIES)
        .find(|(known, _)| *known == name);
    known.map_or_else(Vec::new, |(_, values)| {
        option(&[name, *random.pick(values)])
    })
}

/// Options that say what is left out.
pub fn reduction(random: &mut Random) -> Options {
    let (name, own) = random.pick(REDUCTIONS);
    let mut all = vec![option(&["--por", name])];
    if *name == "none" {
        return all;
    }
    for strategy in *own {
        if random.chance(1, 4) {
            all.push(
                match STRATEGIES.iter().any(|(known, _)| known == strategy) {
                    true => choose(strategy, random),
                    false => option(&[strategy]),
                },
            );
        }
    }
    let scapegoat = all.iter().any(|option| option[0] == "--scapegoat");
    if own.contains(&"--scapegoat") && !scapegoat && random.chance(1, 6) {
        all.push(option(&["--no-heuristic"]));
    }
    if own.contains(&"--weak") && random.chance(1, 8) {
        all.push(option(&["--no-nds"]));
    }
    // From 5 ms a run for the first ones to over 100 ms for the last ones, and for the default.
    let levels = ["sets", "syntax", "exact", "reach", "located", ""];
    let level = levels[random.weighted(&[20, 24, 10, 2, 1, 2])];
    if !level.is_empty() {
        all.push(option(&["--relations", level]));
    }
    if random.chance(1, 5) {
        all.push(choose("--seed", random));
    }
    all
}

/// A proviso, from time to time.
pub fn proviso(random: &mut Random) -> Options {
    if !random.chance(1, 2) {
        return Vec::new();
    }
    let mut name = (*random.pick(PROVISOS)).to_owned();
    let colours = ["weighted", "deepest", "stab"]
        .iter()
        .any(|start| name.starts_with(start));
    if colours {
        name = format!("{}{name}", random.pick(&["", "", "dead-", "highlink-"]));
        let order = if name.contains("source") {
            "-known"
        } else {
            "-unknown"
        };
        name = format!("{name}{}", random.pick(&["", order]));
        name = format!("{name}{}", random.pick(&["", "-scan"]));
    }
    vec![option(&["--proviso", &name])]
}

/// Options for temporal properties.
pub fn temporal(random: &mut Random) -> Options {
    let mut all = Vec::new();
    for name in ["--steering", "--visibility", "--expand", "--emptiness"] {
        if random.chance(1, 3) {
            all.push(choose(name, random));
        }
    }
    all
}
