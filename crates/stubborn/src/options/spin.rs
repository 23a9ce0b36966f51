//! Flags that users of SPIN have in their fingers, and what they are called here.

/// What to write instead of a flag of `spin` or `pan`, if it is one.
pub(crate) fn hint(flag: &str) -> Option<&'static str> {
    // Some come with their values: -m10000, -c0, -w24.
    let letter = flag.get(..2).unwrap_or(flag);
    Some(match (flag, letter) {
        // -run and -search, of which only the first letter comes here.
        ("-r" | "-s", _) => "-run and -search are `stubborn check MODEL`",
        (_, "-a") => {
            "claims and `ltl` formulas are checked without it; --acceptance is for `accept` labels \
             of models without a claim"
        }
        (_, "-l") => {
            "non-progress cycles are found by --only --ltl '[]<> !np_' --finite-runs ignore; -ltl NAME \
             is --property NAME"
        }
        (_, "-f") => "weak fairness is --fairness",
        (_, "-m") => {
            "there is no limit of depth; --max-states, --memory-limit and --timeout limit a \
                      search"
        }
        (_, "-i" | "-I") => "a breadth-first search, the default, finds shortest counterexamples",
        (_, "-c") => "every property is checked to its end; `explore` counts all errors",
        (_, "-n") => "unreached statements are not listed with --no-coverage",
        (_, "-w") => "tables grow as they need; --memory-limit limits them",
        (_, "-e" | "-E" | "-A" | "-N") => "--property names what is checked",
        (_, "-b") => "bounded searches are --max-states N; searches are breadth-first by default",
        (_, "-t" | "-k" | "-p" | "-g" | "-u") => {
            "simulations are `stubborn simulate`, trails its --trail"
        }
        (_, "-o") => "--as-written takes every statement for a step, --merge merges some",
        _ => return None,
    })
}

/// What a definition means to `pan`, where users of SPIN may mean that.
pub(crate) fn defined(name: &str) -> Option<&'static str> {
    Some(match name {
        "NP" => "for non-progress cycles write --only --ltl '[]<> !np_' --finite-runs ignore",
        "NFAIR" | "NOFAIR" => "weak fairness is --fairness",
        "NOREDUCE" => "reduction is switched off by --por none",
        "BITSTATE" => "it is --store bitstate",
        "HC" | "HC0" | "HC1" | "HC2" | "HC3" | "HC4" => "it is --store compact",
        "COLLAPSE" | "MA" => "states are compressed by --store tree, the default",
        "BFS" => "searches are breadth-first; --order dfs is the other one",
        "NCORE" => "threads are --threads N",
        "MEMLIM" => "memory is limited by --memory-limit SIZE",
        "SAFETY" | "NOCLAIM" => "--property names what is checked",
        "VECTORSZ" => "states may have any size",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_with_values_are_known() {
        assert!(hint("-m10000").is_some_and(|hint| hint.contains("--max-states")));
        assert!(hint("-r").is_some_and(|hint| hint.contains("stubborn check")));
        assert_eq!(hint("--nonsense"), None);
        assert_eq!(hint("-z"), None);
        assert!(defined("NP").is_some());
        assert_eq!(defined("N"), None);
    }
}
