//! Options that only Petri nets have.

use clap::Args;
use stubborn::net::ReductionRules;

/// How a net is prepared.
#[derive(Args, Debug)]
pub(crate) struct NetArgs {
    /// Make the net smaller before the search, keeping what is asked
    ///
    /// With RULES, only by some of dead, transitions, places, irrelevant, post, pre (separated by
    /// commas): dead transitions, redundant transitions and places, transitions that are of no use to
    /// what is asked, post- and pre-agglomeration.
    #[arg(long, value_name = "RULES", num_args = 0..=1, require_equals = true,
          default_missing_value = "all", help_heading = "Petri nets", value_parser = rules)]
    pub(crate) structural: Option<ReductionRules>,
}

fn rules(text: &str) -> Result<ReductionRules, String> {
    let mut rules = ReductionRules::NONE;
    for name in text.split(',') {
        match name {
            "all" => rules = ReductionRules::ALL,
            "none" => rules = ReductionRules::NONE,
            "dead" => rules.dead_transitions = true,
            "transitions" => rules.redundant_transitions = true,
            "places" => rules.redundant_places = true,
            "irrelevant" => rules.irrelevant_transitions = true,
            "post" => rules.post_agglomeration = true,
            "pre" => rules.pre_agglomeration = true,
            other => {
                return Err(format!(
                    "`{other}` is no rule; there are all, none, dead, transitions, places, \
                     irrelevant, post, pre"
                ));
            }
        }
    }
    Ok(rules)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_named_one_by_one() {
        assert_eq!(rules("all"), Ok(ReductionRules::ALL));
        let two = rules("post,pre").unwrap();
        assert!(two.post_agglomeration && two.pre_agglomeration && !two.dead_transitions);
        assert!(rules("poste").is_err());
    }
}
