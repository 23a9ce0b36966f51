//! Every way to configure a reduction, for tests.

use stubborn_reduce::{Algorithm, Choice, Config, Delete, Scapegoat, Start};

/// Every valid combination of algorithm and strategies.
pub(crate) fn all_configs() -> Vec<Config> {
    let mut configs = Vec::new();
    let starts: Vec<Option<Start>> = options(Start::ALL);
    let scapegoats = options(Scapegoat::ALL);
    let deletes = options(Delete::ALL);
    let choices = options(Choice::ALL);
    for algorithm in Algorithm::ALL {
        for weak in [false, true] {
            for disabling_sets in [true, false] {
                for heuristic in [true, false] {
                    for start in &starts {
                        for scapegoat in &scapegoats {
                            for delete in &deletes {
                                for choice in &choices {
                                    for minimise in [false, true] {
                                        let config = Config {
                                            weak,
                                            disabling_sets,
                                            heuristic,
                                            start: *start,
                                            scapegoat: *scapegoat,
                                            delete: *delete,
                                            choice: *choice,
                                            minimise,
                                            seed: 17,
                                            ..Config::new(*algorithm)
                                        };
                                        if config.settings().is_ok() {
                                            configs.push(config);
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
    configs
}

fn options<T: Copy>(all: &[T]) -> Vec<Option<T>> {
    std::iter::once(None)
        .chain(all.iter().map(|x| Some(*x)))
        .collect()
}
