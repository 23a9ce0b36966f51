//! Ways to ask: everything that the command line offers, in random combinations.

use crate::coverage::Coverage;
use crate::minimise::{Shrink, without_some};
use crate::random::Random;

/// What is asked, as far as options depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// `explore`, everything.
    Explore,
    /// `explore`, reduced.
    ExploreReduced,
    /// `check` of what can be seen in states and steps, deadlocks among it.
    Safety,
    /// The same without deadlocks.
    Goals,
    /// `check` of what can be seen in runs.
    Temporal,
    /// `check` of what can be seen in trees of runs.
    Branching,
}

/// Options with their values; each can be left out alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Configuration {
    /// An option and its value, if it has one, in each.
    pub groups: Vec<Vec<String>>,
    /// Whether `hunt` is asked instead of `check`.
    pub hunts: bool,
}

/// The folder of checkpoints.
pub const SAVED: &str = "saved";

const ALGORITHMS: [&str; 10] = [
    "closure", "beam", "clostar", "deletion", "clodel", "inc", "ample1", "ample2", "goal", "lpor",
];
const RELATIONS: [&str; 5] = ["sets", "syntax", "exact", "reach", "located"];
/// Where measured relations come from.
const DEPENDENCIES: [&str; 7] = [
    "sets",
    "syntax",
    "exact",
    "reach",
    "full",
    "dynamic",
    "disabling",
];
/// So many of them are for enabling sets, too.
const PRECEDENCES: usize = 6;
const STARTS: [&str; 4] = ["rnd", "fst", "min_e", "min_f"];
const SCAPEGOATS: [&str; 8] = [
    "rnd", "fst", "min_t", "max_t", "min_e", "max_e", "min_f", "max_f",
];
const DELETES: [&str; 6] = ["rnd", "fst", "min_e", "max_e", "min_f", "max_f"];
const CHOICES: [&str; 3] = ["first", "min", "random"];
const SAFETY_PROVISOS: [&str; 4] = ["auto", "closed-set", "stack", "terminal"];
const PROVISO_PREFIXES: [&str; 3] = ["", "dead-", "highlink-"];
const PROVISO_RULES: [&str; 9] = [
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

/// Options with all their values, as far as there are few: what the coverage should have.
const VALUES: [(&str, &[&str]); 19] = [
    ("--por", &ALGORITHMS),
    ("--por", &["none"]),
    ("--relations", &RELATIONS),
    ("--start", &STARTS),
    ("--scapegoat", &SCAPEGOATS),
    ("--delete", &DELETES),
    ("--choice", &CHOICES),
    ("--proviso", &SAFETY_PROVISOS),
    ("--store", &["tree", "plain", "bitstate", "compact"]),
    ("--engine", &["compiled", "interpreted"]),
    ("--order", &["bfs", "dfs"]),
    ("--threads", &["2", "3", "4"]),
    ("--processes", &["2", "3"]),
    ("--spill", &["spilled"]),
    ("--steering", &["off", "mixed", "only"]),
    ("--visibility", &["vi", "c2", "relaxed"]),
    ("--expand", &["all", "visible"]),
    ("--emptiness", &["scc", "ndfs"]),
    ("--finite-runs", &["stutter", "ignore"]),
];

/// Names of everything that configurations may note; some only for safety.
pub fn features(safety: bool) -> Vec<String> {
    let mut names: Vec<String> = [
        "--weak",
        "--no-nds",
        "--no-heuristic",
        "--minimise",
        "--fairness",
        "--seed",
        "--max-states",
        "--memory-limit",
        "--timeout",
    ]
    .map(|flag| format!("option {flag}"))
    .to_vec();
    for (option, values) in VALUES {
        let values = values.iter().filter(|value| {
            let lossy_or_goal = ["bitstate", "compact", "goal"].contains(*value);
            safety || !lossy_or_goal && option != "--proviso"
        });
        names.extend(values.map(|value| format!("option {option} {value}")));
    }
    names.push("way hunt".into());
    if safety {
        names.push("option --relations FILE".into());
        names.push("way resume".into());
    }
    for rule in PROVISO_RULES {
        names.push(format!("proviso {rule}"));
    }
    names
}

impl Configuration {
    /// A random one.
    pub fn random(random: &mut Random, task: Task) -> Self {
        let mut made = Self::default();
        if matches!(task, Task::Safety | Task::Goals | Task::Temporal) && random.chance(1, 40) {
            made.hunt(random, task);
            return made;
        }
        made.search(random, task);
        match task {
            Task::Explore | Task::Branching => {}
            Task::ExploreReduced => made.reduction(random, task),
            Task::Safety | Task::Goals | Task::Temporal => {
                if random.chance(4, 5) {
                    made.reduction(random, task);
                } else if random.chance(1, 2) {
                    made.push("--por", Some("none"));
                }
            }
        }
        if task == Task::Temporal {
            made.temporal(random);
        }
        made.limits(random, task);
        made
    }

    /// Leaves out what is about processes, for systems that have none.
    pub fn without_processes(&mut self, random: &mut Random) {
        self.groups
            .retain(|group| !["--fairness", "--choice"].contains(&group[0].as_str()));
        let others = ["closure", "beam", "deletion", "lpor"];
        for group in &mut self.groups {
            if group.len() == 2 && group[1].starts_with("ample") {
                group[1] = (*random.pick(&others)).to_owned();
            }
        }
    }

    /// Adds an option.
    pub fn push(&mut self, option: &str, value: Option<&str>) {
        let words = [Some(option), value].into_iter().flatten();
        self.groups.push(words.map(str::to_owned).collect());
    }

    fn maybe(&mut self, random: &mut Random, whole: usize, option: &str, values: &[&str]) {
        if random.chance(1, whole) {
            self.push(option, Some(*random.pick(values)));
        }
    }

    /// Looks for violations by short searches.
    fn hunt(&mut self, random: &mut Random, task: Task) {
        self.hunts = true;
        self.push("--timeout", Some("0.5"));
        let threads = (1 + random.below(2)).to_string();
        self.push("--threads", Some(&threads));
        let seed = random.below(1000).to_string();
        self.push("--seed", Some(&seed));
        if task == Task::Temporal {
            self.maybe(random, 4, "--finite-runs", &["stutter", "ignore"]);
            if random.chance(1, 8) {
                self.push("--fairness", None);
            }
        }
    }

    fn search(&mut self, random: &mut Random, task: Task) {
        self.maybe(
            random,
            3,
            "--engine",
            &["compiled", "interpreted", "interpreted"],
        );
        // These have their own order and store.
        match (random.below(75), task) {
            (_, Task::Branching) | (3.., _) => {}
            (0, _) => {
                self.push("--processes", Some(*random.pick(&["2", "3"])));
                return;
            }
            (1, _) => {
                self.push("--spill", Some("spilled"));
                // With this little, everything is on disk.
                self.push("--memory-limit", Some(*random.pick(&["16M", "20M", "24M"])));
                return;
            }
            (_, Task::Temporal) => {}
            (_, _) => {
                let (states, words) = (1 + random.below(60), ["--checkpoint", SAVED]);
                let every = ["--checkpoint-every", "0s", "--max-states"];
                let mut group: Vec<String> =
                    words.iter().chain(&every).map(|w| (*w).into()).collect();
                group.push(states.to_string());
                self.groups.push(group);
            }
        }
        self.maybe(random, 3, "--order", &["bfs", "dfs", "dfs"]);
        self.maybe(random, 4, "--threads", &["2", "3", "4"]);
        let exact = matches!(task, Task::Temporal | Task::Branching);
        // Others are refused there, or make no difference.
        let chance = if exact { 4 } else { 3 };
        self.maybe(random, chance, "--store", &["tree", "plain"]);
        // These are slow to set up.
        if !exact && !self.has("--store") {
            self.maybe(random, 30, "--store", &["bitstate", "compact"]);
        }
        if random.chance(1, 4) {
            let seed = random.below(1000).to_string();
            self.push("--seed", Some(&seed));
        }
    }

    fn reduction(&mut self, random: &mut Random, task: Task) {
        let algorithms: Vec<&str> = match task {
            Task::Goals => ALGORITHMS.to_vec(),
            _ => ALGORITHMS
                .into_iter()
                .filter(|name| *name != "goal")
                .collect(),
        };
        let algorithm = *random.pick(&algorithms);
        self.push("--por", Some(algorithm));
        match task != Task::Temporal && random.chance(1, 20) {
            true => {
                let dependency = *random.pick(&DEPENDENCIES);
                let precedence = *random.pick(&DEPENDENCIES[..PRECEDENCES]);
                let file = format!("{dependency}-{precedence}.json");
                self.push("--relations", Some(&file));
            }
            false => self.maybe(random, 2, "--relations", &RELATIONS),
        }
        let grows = ["closure", "beam", "clostar", "deletion", "clodel", "goal"];
        if grows.contains(&algorithm) && random.chance(1, 4) {
            self.push("--weak", None);
        }
        let is_ample = ["ample1", "ample2"].contains(&algorithm);
        if !is_ample && random.chance(1, 6) {
            self.push("--no-nds", None);
        }
        // Strategies that ask the search are refused where there is a proviso.
        let known = |values: &[&'static str], random: &mut Random| -> Vec<&'static str> {
            let sane = task == Task::ExploreReduced || random.chance(1, 20);
            let values = values.iter().copied();
            values
                .filter(|value| sane || !value.ends_with("_f"))
                .collect()
        };
        if ["closure", "clostar", "clodel", "inc"].contains(&algorithm) {
            let values = known(&STARTS, random);
            self.maybe(random, 2, "--start", &values);
        }
        if !["ample1", "ample2", "lpor", "deletion"].contains(&algorithm) {
            let values = known(&SCAPEGOATS, random);
            self.maybe(random, 4, "--scapegoat", &values);
            if !self.has("--scapegoat") && random.chance(1, 6) {
                self.push("--no-heuristic", None);
            }
        }
        if ["deletion", "clodel"].contains(&algorithm) {
            let values = known(&DELETES, random);
            self.maybe(random, 2, "--delete", &values);
        }
        if algorithm == "deletion" && random.chance(1, 4) {
            self.push("--minimise", None);
        }
        if is_ample {
            self.maybe(random, 2, "--choice", &CHOICES);
        }
        let depth_first = self.value("--order") == Some("dfs");
        match task {
            Task::Explore | Task::Branching => {}
            Task::ExploreReduced => {
                if random.chance(1, 4) {
                    let ways = [
                        "--order",
                        "--threads",
                        "--store",
                        "--processes",
                        "--spill",
                        "--checkpoint",
                    ];
                    self.groups
                        .retain(|group| !ways.contains(&group[0].as_str()));
                    let proviso = cycle_proviso(random);
                    self.push("--proviso", Some(&proviso));
                }
            }
            Task::Safety | Task::Goals => {
                // They belong to an order, and one of them to one thread.
                let threads = self.has("--threads");
                let fits = |name: &&str| match *name {
                    "stack" => depth_first && !threads,
                    "terminal" => !depth_first,
                    _ => true,
                };
                let fitting: Vec<&str> = SAFETY_PROVISOS.into_iter().filter(fits).collect();
                self.maybe(random, 2, "--proviso", &fitting);
            }
            Task::Temporal => {
                if random.chance(1, 2) {
                    let proviso = cycle_proviso(random);
                    self.push("--proviso", Some(&proviso));
                }
            }
        }
    }

    fn temporal(&mut self, random: &mut Random) {
        self.maybe(random, 2, "--steering", &["off", "mixed", "only"]);
        self.maybe(random, 3, "--visibility", &["vi", "c2", "relaxed"]);
        self.maybe(random, 4, "--expand", &["all", "visible"]);
        self.maybe(random, 2, "--emptiness", &["scc", "ndfs"]);
        self.maybe(random, 4, "--finite-runs", &["stutter", "ignore", "ignore"]);
        if random.chance(1, 8) {
            self.push("--fairness", None);
        }
    }

    fn limits(&mut self, random: &mut Random, task: Task) {
        // At the user's limit, `auto` tries a reduction.
        let whole = match task {
            Task::Temporal if !self.has("--por") => 2,
            _ => 12,
        };
        if random.chance(1, whole) && !self.has("--checkpoint") {
            let most = [10, 100, 1000][random.below(3)];
            let states = (1 + random.below(most)).to_string();
            self.push("--max-states", Some(&states));
        }
        if !self.has("--memory-limit") {
            self.maybe(random, 40, "--memory-limit", &["1K", "100K", "1M", "none"]);
        }
        self.maybe(random, 40, "--timeout", &["0", "0.0001", "0.001", "60"]);
    }

    /// All words.
    pub fn arguments(&self) -> Vec<String> {
        self.groups.concat()
    }

    /// Whether an option is there.
    pub fn has(&self, option: &str) -> bool {
        self.groups.iter().any(|group| group[0] == option)
    }

    /// The value of an option, if it is there.
    pub fn value(&self, option: &str) -> Option<&str> {
        let group = self.groups.iter().find(|group| group[0] == option)?;
        group.get(1).map(String::as_str)
    }

    /// If relations are read from a file: what `inspect` needs to know to write it.
    pub fn measured_relations(&self) -> Option<Vec<String>> {
        let file = self.value("--relations")?;
        let (dependency, precedence) = file.strip_suffix(".json")?.split_once('-')?;
        let words = [
            "--relations",
            "full",
            "--write-relations",
            file,
            "--dependency",
            dependency,
            "--precedence",
            precedence,
        ];
        Some(words.map(str::to_owned).to_vec())
    }

    /// Whether there is hardly any time.
    pub fn is_short(&self) -> bool {
        let limit = self.value("--timeout").and_then(|limit| limit.parse().ok());
        limit.is_some_and(|seconds: f64| seconds <= 1.0)
    }

    /// Whether states may be overlooked.
    pub fn is_lossy(&self) -> bool {
        matches!(self.value("--store"), Some("bitstate" | "compact"))
    }

    /// How often a state may be counted: a bitstate store says of a state that several threads
    /// find at the same moment that it is new to each that sets one of its bits first.
    pub fn most_visits(&self) -> usize {
        let threads = self.value("--threads").and_then(|n| n.parse().ok());
        match self.value("--store") {
            Some("bitstate") => threads.unwrap_or(1),
            _ => 1,
        }
    }

    /// Whether a limit may end the search.
    pub fn is_limited(&self) -> bool {
        ["--max-states", "--memory-limit", "--timeout"]
            .iter()
            .any(|limit| self.has(limit))
    }

    /// Whether everything is explored, whatever the question. (`auto` may reduce after all when a limit,
    /// such as the one before a checkpoint, comes first.)
    pub fn is_unreduced(&self) -> bool {
        match self.value("--por") {
            Some("none") => !self.is_limited(),
            None => !self.is_limited() && !self.has("--checkpoint"),
            Some(_) => false,
        }
    }

    /// Counts what it has.
    pub fn note(&self, coverage: &mut Coverage) {
        if self.hunts {
            coverage.note("way hunt");
        }
        for group in &self.groups {
            let value = group.get(1).map(String::as_str);
            match (group[0].as_str(), value) {
                ("--seed" | "--shuffle" | "--max-states" | "--memory-limit" | "--timeout", _) => {
                    coverage.note(&format!("option {}", group[0]));
                }
                ("--checkpoint", _) => coverage.note("way resume"),
                (option, None) if option.starts_with("--structural=") => {
                    coverage.note("option --structural=RULES");
                }
                ("--proviso", Some(value)) if !SAFETY_PROVISOS.contains(&value) => {
                    let rule = strip(value);
                    coverage.note(&format!("proviso {rule}"));
                }
                ("--relations", Some(value)) if value.ends_with(".json") => {
                    coverage.note("option --relations FILE");
                }
                (option, Some(value)) => coverage.note(&format!("option {option} {value}")),
                (option, None) => coverage.note(&format!("option {option}")),
            }
        }
    }
}

/// The rule in the name of a cycle proviso.
fn strip(name: &str) -> &str {
    let prefixes = PROVISO_PREFIXES.iter().filter(|prefix| !prefix.is_empty());
    let mut rule = name;
    for prefix in prefixes {
        rule = rule.strip_prefix(prefix).unwrap_or(rule);
    }
    for suffix in ["-scan", "-known", "-unknown"] {
        rule = rule.strip_suffix(suffix).unwrap_or(rule);
    }
    rule
}

/// A cycle proviso: `known` goes with sources and `unknown` with destinations, and most
/// variants are for rules that colour states.
fn cycle_proviso(random: &mut Random) -> String {
    let rule = *random.pick(&PROVISO_RULES);
    let colours = !["source", "dest", "cond-source", "cond-dest"].contains(&rule);
    let prefix = match (colours, rule) {
        (false, _) => "",
        (true, "colored-dest") => *random.pick(&PROVISO_PREFIXES[..2]),
        (true, _) => *random.pick(&PROVISO_PREFIXES),
    };
    let middle = match rule {
        "stab" => "",
        _ if random.chance(1, 2) => "",
        _ if rule.ends_with("source") => "-known",
        _ => "-unknown",
    };
    let suffix = if colours && random.chance(1, 2) {
        "-scan"
    } else {
        ""
    };
    format!("{prefix}{rule}{middle}{suffix}")
}

impl Shrink for Configuration {
    fn candidates(&self) -> Vec<Self> {
        let fewer = without_some(&self.groups).into_iter();
        let hunts = self.hunts;
        let mut all: Vec<Self> = fewer.map(|groups| Self { groups, hunts }).collect();
        for (number, group) in self.groups.iter().enumerate() {
            let simpler = match (group[0].as_str(), group.get(1).map(String::as_str)) {
                ("--threads", Some("3" | "4")) => "2",
                ("--por", Some(name)) if name != "beam" && name != "closure" => "beam",
                _ => continue,
            };
            let mut groups = self.groups.clone();
            groups[number][1] = simpler.to_owned();
            all.push(Self { groups, hunts });
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_declared_option_is_sampled() {
        let mut coverage = Coverage::declared(features(true));
        let mut random = Random::new(1);
        for _ in 0..20_000 {
            for task in [
                Task::Explore,
                Task::ExploreReduced,
                Task::Safety,
                Task::Goals,
                Task::Temporal,
                Task::Branching,
            ] {
                Configuration::random(&mut random, task).note(&mut coverage);
            }
        }
        assert_eq!(coverage.missing(), Vec::<&str>::new());
    }

    #[test]
    fn a_file_of_relations_says_how_it_is_made() {
        let mut configuration = Configuration::default();
        configuration.push("--relations", Some("reach"));
        assert_eq!(configuration.measured_relations(), None);
        configuration.groups.clear();
        configuration.push("--relations", Some("full-dynamic.json"));
        let words = configuration.measured_relations().unwrap().join(" ");
        assert!(words.ends_with("full-dynamic.json --dependency full --precedence dynamic"));
    }

    #[test]
    fn rules_are_found_in_names() {
        assert_eq!(
            strip("highlink-weighted-source-known-scan"),
            "weighted-source"
        );
        assert_eq!(strip("dead-dest"), "dest");
        assert_eq!(strip("stab"), "stab");
    }
}
