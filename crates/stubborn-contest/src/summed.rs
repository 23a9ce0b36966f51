//! The tokens of all colours of a place together.
//!
//! Questions about a coloured net speak of the places of the file, whose tokens are sums over colours. A
//! step of the net changes these sums by fixed amounts. So the sums of every reachable marking solve the
//! state equation of a net with one place for each of the file, and one transition for each way
//! to change them. It knows less than the equation of the net itself, but is small where that one has
//! thousands of places.

use std::collections::BTreeSet;
use std::ops::Range;
use std::time::Duration;

use stubborn_net::{
    Atom, Bounds, CompareOp, Formula, IntExpr, Invariants, Linearise, Net, NetBuilder, PlaceId,
    StateEquation, Weight,
};

/// The net of the sums. It says how they change, and nothing about what is enabled.
pub(crate) struct Summed<'n> {
    net: &'n Net,
    groups: Vec<Range<u32>>,
    group_of: Vec<PlaceId>,
    sums: Net,
    bounds: Bounds,
}

impl<'n> Summed<'n> {
    /// For a net whose places are in groups, in their order; none where numbers become too large.
    pub(crate) fn new(net: &'n Net, groups: impl Iterator<Item = Range<u32>>) -> Option<Self> {
        // Places that are always empty were left out, and with them may be all of a group.
        let groups: Vec<Range<u32>> = groups.filter(|group| !group.is_empty()).collect();
        let mut builder = NetBuilder::new("sums");
        let mut group_of = Vec::with_capacity(net.place_count());
        for (number, group) in groups.iter().enumerate() {
            let mut initial = group.clone().map(|p| net.initial(PlaceId(p)));
            let initial = initial.try_fold(0u64, |sum, n| sum.checked_add(n))?;
            let place = builder.place(&number.to_string(), initial);
            group_of.resize(group.end as usize, place);
        }
        let mut changes: BTreeSet<Vec<(PlaceId, i64)>> = BTreeSet::new();
        for t in net.transitions() {
            let of_places = net.effects(t);
            let of_groups = of_places.map(|(place, change)| (group_of[place.index()], change));
            changes.insert(added_up(of_groups)?);
        }
        for change in changes.into_iter().filter(|change| !change.is_empty()) {
            let t = builder.transition("t");
            for (place, change) in change {
                let weight = Weight::try_from(change.unsigned_abs()).ok()?;
                match change > 0 {
                    true => builder.output(t, place, weight),
                    false => builder.input(place, t, weight),
                }
            }
        }
        let sums = builder.build().ok()?;
        let bounds = Bounds::new(&sums, &Invariants::default());
        Some(Self {
            net,
            groups,
            group_of,
            sums,
            bounds,
        })
    }

    /// The most tokens that some places ever hold together, if that is a question about sums and they
    /// prove something.
    pub(crate) fn bound(&self, places: &[PlaceId], time: Duration) -> Option<u64> {
        let sums = self.sums_of(places)?;
        let weights: Vec<(PlaceId, i64)> = sums.into_iter().map(|sum| (sum, 1)).collect();
        StateEquation::new(&self.sums).bound(&weights, time)
    }

    /// Whether the sums prove that a state formula holds in no reachable marking.
    pub(crate) fn excludes(&self, formula: &Formula, time: Duration) -> bool {
        let equation = StateEquation::new(&self.sums);
        let linear = Linearise::new(&self.sums, &self.bounds);
        linear.never(&equation, &self.implied(formula, true), time)
    }

    /// Places as sums, each as often as it occurs; none if they are not all of each group.
    fn sums_of(&self, places: &[PlaceId]) -> Option<Vec<PlaceId>> {
        let mut times = vec![0u32; self.group_of.len()];
        places.iter().for_each(|place| times[place.index()] += 1);
        let mut sums = Vec::new();
        for group in &self.groups {
            let times = &times[group.start as usize..group.end as usize];
            if times.iter().any(|n| *n != times[0]) {
                return None;
            }
            let sum = self.group_of[group.start as usize];
            sums.extend((0..times[0]).map(|_| sum));
        }
        Some(sums)
    }

    /// What follows for the sums where a state formula has a value.
    fn implied(&self, formula: &Formula, value: bool) -> Formula {
        let anything = || Formula::Atom(Atom::Constant(true));
        let each = |parts: &[Formula]| parts.iter().map(|p| self.implied(p, value)).collect();
        match formula {
            Formula::Not(inner) => self.implied(inner, !value),
            Formula::And(parts) if value => Formula::And(each(parts)),
            Formula::Or(parts) if !value => Formula::And(each(parts)),
            Formula::And(parts) | Formula::Or(parts) => Formula::Or(each(parts)),
            Formula::Atom(Atom::Constant(constant)) => {
                Formula::Atom(Atom::Constant(*constant == value))
            }
            Formula::Atom(Atom::Compare(op, left, right)) => {
                let op = if value { *op } else { op.negated() };
                let number = |number: &IntExpr| {
                    Some(IntExpr {
                        places: self.sums_of(&number.places)?,
                        constant: number.constant,
                    })
                };
                match (number(left), number(right)) {
                    (Some(left), Some(right)) => Formula::Atom(Atom::Compare(op, left, right)),
                    _ => anything(),
                }
            }
            Formula::Atom(Atom::Fireable(transitions)) if value => {
                let needed = transitions.iter().map(|t| {
                    let inputs = self.net.pre(*t).iter();
                    added_up(inputs.map(|arc| (self.group_of[arc.node.index()], arc.weight.into())))
                });
                let Some(needed) = needed.collect::<Option<BTreeSet<_>>>() else {
                    return anything();
                };
                let enough = |(place, least): &(PlaceId, i64)| {
                    let tokens = IntExpr::tokens(vec![*place]);
                    let least = IntExpr::constant(least.unsigned_abs());
                    Formula::Atom(Atom::Compare(CompareOp::GreaterOrEqual, tokens, least))
                };
                let enabled = |needs: &Vec<_>| Formula::And(needs.iter().map(enough).collect());
                Formula::Or(needed.iter().map(enabled).collect())
            }
            _ => anything(),
        }
    }
}

/// Numbers of the same place added up, without zeros; none where they become too large.
fn added_up(numbers: impl Iterator<Item = (PlaceId, i64)>) -> Option<Vec<(PlaceId, i64)>> {
    let mut numbers: Vec<(PlaceId, i64)> = numbers.collect();
    numbers.sort_unstable();
    let mut sums: Vec<(PlaceId, i64)> = Vec::with_capacity(numbers.len());
    for (place, number) in numbers {
        match sums.last_mut() {
            Some((last, sum)) if *last == place => *sum = sum.checked_add(number)?,
            _ => sums.push((place, number)),
        }
    }
    sums.retain(|(_, sum)| *sum != 0);
    Some(sums)
}

#[cfg(test)]
mod tests {
    use stubborn_adversary::nets::coloured::Coloured;
    use stubborn_adversary::nets::{generate, print};
    use stubborn_adversary::random::Random as Chance;
    use stubborn_adversary::reference::net::Sum;
    use stubborn_diagnostics::SourceFile;
    use stubborn_net::NetSystem;
    use stubborn_pnml::{load, parse_state_formula};
    use stubborn_system::{Random, Successors};

    use super::*;
    use crate::testing::cyclic_net;
    use crate::walk::walk;

    const TIME: Duration = Duration::from_secs(10);

    /// Places of two colours each, and one thing for all.
    #[test]
    fn what_all_colours_share_bounds_them_together() {
        let mut builder = NetBuilder::new("shared");
        let idle = [0, 1].map(|c| builder.place(&format!("idle{c}"), 3));
        let busy = [0, 1].map(|c| builder.place(&format!("busy{c}"), 0));
        let tool = builder.place("tool", 2);
        for c in [0, 1] {
            let take = builder.transition(&format!("take{c}"));
            let give = builder.transition(&format!("give{c}"));
            for place in [idle[c], tool] {
                builder.input(place, take, 1);
                builder.output(give, place, 1);
            }
            builder.output(take, busy[c], 1);
            builder.input(busy[c], give, 1);
        }
        let net = builder.build().unwrap();
        let summed = Summed::new(&net, [0..2, 2..4, 4..5, 5..5].into_iter()).unwrap();
        assert_eq!(summed.sums.transition_count(), 2);
        assert_eq!(summed.bound(&busy, TIME), Some(2));
        assert_eq!(summed.bound(&[busy[0]], TIME), None, "of one colour");
        let fireable = |t: u32| Formula::Atom(Atom::Fireable(vec![stubborn_net::TransitionId(t)]));
        let no_tool = {
            let (tokens, one) = (IntExpr::tokens(vec![tool]), IntExpr::constant(1));
            Formula::Atom(Atom::Compare(CompareOp::Less, tokens, one))
        };
        let both = |a: Formula, b: Formula| Formula::And(vec![a, b]);
        assert!(summed.excludes(&both(fireable(0), no_tool.clone()), TIME));
        assert!(!summed.excludes(&both(fireable(1), no_tool.clone()), TIME));
        assert!(!summed.excludes(&both(fireable(0).negated(), no_tool), TIME));
    }

    /// Whatever is seen on a walk is neither excluded nor above a bound.
    #[test]
    fn sums_exclude_nothing_that_happens() {
        let mut random = Random::new(0x5a5a_0c01_0c01_5a5a);
        let (mut bounded, mut excluded) = (0, 0);
        for number in 0..300 {
            let system = NetSystem::new(cyclic_net(&mut random)).unwrap();
            let net = system.net();
            let count = net.place_count() as u32;
            let middle = 1 + random.below(count as usize - 1) as u32;
            let summed = Summed::new(net, [0..middle, middle..count].into_iter()).unwrap();
            let places: Vec<PlaceId> = (0..middle).map(PlaceId).collect();
            let bound = summed.bound(&places, TIME);
            let least = IntExpr::constant(random.below(4) as u64);
            let many = Atom::Compare(CompareOp::Greater, IntExpr::tokens(places.clone()), least);
            let t = stubborn_net::TransitionId(random.below(net.transition_count()) as u32);
            let fires = Formula::Atom(Atom::Fireable(vec![t]));
            let few = Formula::Atom(many.clone()).negated();
            let formulas = [Formula::Atom(many), Formula::And(vec![fires, few])];
            let never = formulas.each_ref().map(|f| summed.excludes(f, TIME));
            bounded += usize::from(bound.is_some());
            excluded += usize::from(never.contains(&true));
            let mut steps = 0;
            walk(&system, TIME, &mut |state: &[u32], _: &Successors| {
                let sum: u64 = places.iter().map(|p| system.tokens(state, *p)).sum();
                assert!(bound.is_none_or(|bound| sum <= bound), "net {number}");
                for (formula, never) in formulas.iter().zip(never) {
                    let holds = formula.holds(net, &|p| system.tokens(state, p)).unwrap();
                    assert!(!(holds && never), "net {number}: {formula:?}");
                }
                steps += 1;
                steps < 300
            });
        }
        assert!(bounded > 50 && excluded > 50, "{bounded} {excluded}");
    }

    /// The sums of random symmetric nets, and of these with colours folded, exclude and bound nothing that the
    /// unfolding by the book comes to.
    #[test]
    fn sums_of_colours_exclude_nothing_that_is_reachable() {
        let (mut bounded, mut excluded) = (0, 0);
        for seed in 0..150 {
            let chance = &mut Chance::new(seed);
            let source = Coloured::random(chance);
            let unfolded = source.unfold().expect("a small net");
            let Some(graph) = unfolded.net.explore(200) else {
                continue;
            };
            let text = print::coloured(&source);
            let model = load(&SourceFile::new("net", text.as_str())).0;
            let model = model.expect("a net");
            let folded = model.folded(&stubborn_system::budget::UNLIMITED);
            let model = folded.filter(|_| seed % 2 == 0).unwrap_or(model);
            let groups = model.place_groups().map(|(_, group)| group);
            let summed = Summed::new(&model.net, groups).expect("small numbers");
            for _ in 0..6 {
                let count = (source.places.len(), source.transitions.len());
                let condition = generate::condition(chance, count.0, count.1, 2);
                let shown = print::condition(&condition);
                let formula = SourceFile::new("formula", shown.as_str());
                let formula = parse_state_formula(&formula, &model).expect("a formula");
                let meant = unfolded.condition(&condition);
                let mut states = graph.states.iter();
                let happens = states.any(|marking| meant.holds(&unfolded.net, marking));
                let never = summed.excludes(&formula, TIME);
                assert!(!(happens && never), "{shown}\n{text}");
                excluded += usize::from(never);
            }
            for (place, spread) in unfolded.places.iter().enumerate() {
                let places = spread.clone();
                let sum = Sum {
                    places,
                    constant: 0,
                };
                let most = graph.states.iter().map(|m| sum.value(m)).max();
                let name = format!("p{place}");
                let places: Vec<PlaceId> = model.places_of(&name).expect("a place").collect();
                let bound = summed.bound(&places, TIME);
                assert!(
                    bound.is_none_or(|bound| Some(bound) >= most),
                    "{name}\n{text}"
                );
                bounded += usize::from(bound.is_some());
            }
        }
        assert!(bounded > 50 && excluded > 50, "{bounded} {excluded}");
    }
}
