//! Once a budget is spent, nobody goes on; and what was done until then is right or nothing.

use std::sync::Arc;
use std::time::Duration;

use stubborn_diagnostics::SourceFile;
use stubborn_net::{
    InvariantBudget, Invariants, Net, NetBuilder, NetOptions, NetSystem, Preserve, Reduced,
    ReductionRules,
};
use stubborn_pnml::{UnfoldLimits, load_within};
use stubborn_system::{Budget, RelationLevel, Spent, System, TransitionId};

fn spent() -> Budget {
    Budget::unlimited().with_time(Some(Duration::ZERO))
}

/// A ring of places with one token, and a place that all transitions share.
fn ring(size: usize) -> Net {
    let mut builder = NetBuilder::new("ring");
    let shared = builder.place("shared", 1);
    let places: Vec<_> = (0..size)
        .map(|i| builder.place(&format!("p{i}"), u64::from(i == 0)))
        .collect();
    for i in 0..size {
        let t = builder.transition(&format!("t{i}"));
        builder.input(places[i], t, 1);
        builder.output(t, places[(i + 1) % size], 1);
        if i % 2 == 0 {
            builder.input(shared, t, 1);
        } else {
            builder.output(t, shared, 1);
        }
    }
    builder.build().expect("a sound net")
}

const COLOURED: &str = r#"<pnml><net id="n" type="http://www.pnml.org/version-2009/grammar/symmetricnet">
  <declaration><structure><declarations>
    <namedsort id="c" name="c"><cyclicenumeration>
      <feconstant id="a" name="a"/><feconstant id="b" name="b"/>
    </cyclicenumeration></namedsort>
    <variabledecl id="x" name="x"><usersort declaration="c"/></variabledecl>
  </declarations></structure></declaration>
  <page id="g">
    <place id="p"><type><structure><usersort declaration="c"/></structure></type>
      <hlinitialMarking><structure><all><usersort declaration="c"/></all></structure>
      </hlinitialMarking></place>
    <transition id="t"/>
    <arc id="i" source="p" target="t"><hlinscription><structure><numberof>
      <subterm><numberconstant value="1"><positive/></numberconstant></subterm>
      <subterm><variable refvariable="x"/></subterm></numberof></structure></hlinscription></arc>
  </page></net></pnml>"#;

#[test]
fn nothing_is_read_or_unfolded_without_a_budget() {
    let source = SourceFile::new("c.pnml", COLOURED);
    let limits = UnfoldLimits::default();
    let (model, messages) = load_within(&source, &limits, &Budget::unlimited());
    assert_eq!(
        model.map(|m| m.net.transition_count()),
        Some(2),
        "{messages:?}"
    );
    let budget = spent();
    let (model, messages) = load_within(&source, &limits, &budget);
    assert!(model.is_none());
    assert_eq!(messages[0].code, "PNM051");
    let reason = budget.reason();
    assert_eq!(
        reason.as_deref(),
        Some("the time limit was reached while parsing the net")
    );
}

#[test]
fn systems_are_not_prepared_without_a_budget() {
    let problem = NetSystem::within(ring(10), NetOptions::default(), Arc::new(spent())).err();
    assert_eq!(problem.map(|p| p.code), Some("PNM051"));
}

#[test]
fn invariants_are_found_as_long_as_there_is_a_budget() {
    let net = ring(50);
    let found = Invariants::find(&net, InvariantBudget::default());
    assert!(!found.all().is_empty());
    let given_up = Invariants::find_within(&net, InvariantBudget::default(), &spent());
    assert!(given_up.all().is_empty());
    assert!(given_up.check(&net));
}

#[test]
fn rules_are_applied_as_long_as_there_is_a_budget() {
    let net = ring(50);
    let smaller = Reduced::new(&net, &Preserve::Deadlocks, ReductionRules::ALL);
    assert!(smaller.net.place_count() < net.place_count());
    let same = Reduced::within(&net, &Preserve::Deadlocks, ReductionRules::ALL, &spent());
    assert_eq!(same.net.place_count(), net.place_count());
}

#[test]
fn relations_stop_where_they_are() {
    for level in [
        RelationLevel::Sets,
        RelationLevel::Syntax,
        RelationLevel::Reach,
    ] {
        let budget = Arc::new(Budget::unlimited());
        let net = NetSystem::within(ring(50), NetOptions::default(), Arc::clone(&budget));
        let net = net.expect("a sound net");
        let conflicts = |system: &NetSystem| {
            let relations = system.relations(level);
            let rows = (0..50).map(TransitionId::new);
            rows.map(|t| relations.do_not_accord.0.row_indices(t).len())
                .sum::<usize>()
        };
        assert!(conflicts(&net) > 0, "{level:?}");
        budget.stop();
        assert_eq!(conflicts(&net), 0, "{level:?}");
        assert_eq!(net.budget().spent(), Some(Spent::Interrupted));
    }
}
