//! Petri nets as guarded commands, which is what cards explore.
//!
//! A place is a variable, or a value of one that it shares with others, and a transition a command: guards `p >= k` and `p < k`,
//! and additions of constants. Transitions and labels keep their numbers. Cards count with 32 bits, so a place that may hold more than [`MOST_TOKENS`] has
//! a smaller range here than in the net; a step that leaves it fails, and whoever sees that gives no answer.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

use stubborn_ir::{
    BinaryOp, Command, Expr, Model, Program, ProgramLabel, Statement, VarId, Variable,
};
use stubborn_net::{Atom, CompareOp, Formula, IntExpr, NetSystem, PlaceId, TransitionId};
use stubborn_system::layout::bits_for;
use stubborn_system::{LabelId, System};

/// The most tokens of a place: sums of a hundred such places have 31 bits.
const MOST_TOKENS: i64 = (1 << 24) - 1;
/// Most transitions of a net that is worth lowering.
const MOST_TRANSITIONS: usize = 4_000;

/// A net as guarded commands.
pub(super) struct Lowered<'n> {
    net: &'n NetSystem,
    pub(super) model: Arc<Model>,
    homes: Vec<Home>,
}

/// Where the tokens of a place are.
#[derive(Clone, Copy, Debug)]
enum Home {
    /// In a variable of its own.
    Own(VarId),
    /// There is one if a variable, which several places share, has this value.
    Shared(VarId, i32),
}

impl<'n> Lowered<'n> {
    /// The net as a program; or why it is none for a card.
    pub(super) fn new(system: &'n NetSystem) -> Result<Self, String> {
        let net = system.net();
        if net.transition_count() > MOST_TRANSITIONS {
            return Err(format!(
                "the net has {} transitions, too many to compile for a card",
                net.transition_count()
            ));
        }
        let mut program = Program::new(net.name());
        let homes = homes(system, &mut program)?;
        let labels = Labels {
            system,
            homes: &homes,
        };
        // Not by `Program::label`: equal expressions must not share a number here.
        for label in 0..system.structure().labels.len() {
            let expr = labels.label(LabelId::new(label))?;
            program.labels.push(ProgramLabel { expr, text: None });
        }
        let site = program.out_of_range_site("a place", None);
        for transition in net.transitions() {
            program.command(Command {
                name: net.transition_label(transition).to_owned(),
                guards: system.structure().transitions[transition.index()]
                    .guards
                    .clone(),
                body: body(system, &homes, transition, site),
                ..Command::default()
            });
        }
        let model = Model::within(program, Arc::clone(system.shared_budget()));
        Ok(Self {
            net: system,
            model: Arc::new(model.map_err(|error| error.to_string())?),
            homes,
        })
    }

    /// The states of the net that states of the program stand for, one after the other.
    pub(super) fn states(&self, states: &[u32]) -> Vec<u32> {
        let (from, to) = (self.model.layout(), self.net.layout());
        let mut all = Vec::with_capacity(states.len() / from.words() * to.words());
        // A step that failed has a state of its own.
        let error = self.net.structure().error_state.as_ref();
        for state in states.chunks_exact(from.words()) {
            let at = all.len();
            if let Some(error) = error.filter(|_| self.model.is_error(state)) {
                all.extend_from_slice(error);
                continue;
            }
            all.resize(at + to.words(), 0);
            let value = |variable| from.get(state, self.model.encoding().first_field(variable));
            for (place, home) in self.net.net().places().zip(&self.homes) {
                let tokens = match home {
                    Home::Own(variable) => value(*variable),
                    Home::Shared(variable, here) => i64::from(value(*variable) == i64::from(*here)),
                };
                to.field(self.net.field(place)).set(&mut all[at..], tokens);
            }
        }
        all
    }
}

/// Variables for places. Places of which only one can be marked, with one token, share one: a sum that does not
/// grow says so, if each of them has more than half of it. So states are much narrower than one bit a place.
fn homes(system: &NetSystem, program: &mut Program) -> Result<Vec<Home>, String> {
    let net = system.net();
    let initial = |place: PlaceId| net.initial(place);
    let mut homes: Vec<Option<Home>> = vec![None; net.place_count()];
    let sums = system.invariants().all();
    // Those that need the fewest bits a place first. What is left of others is worth less each time.
    let mut waiting: BinaryHeap<Reverse<(u64, usize)>> =
        (0..sums.len()).map(|at| Reverse((0, at))).collect();
    while let Some(Reverse((expected, at))) = waiting.pop() {
        let sum = &sums[at];
        let is_large = |weight: u64| 2 * u128::from(weight) > sum.total;
        let members = sum.weights.iter();
        let members = members.filter(|(p, weight)| is_large(*weight) && homes[p.index()].is_none());
        let members: Vec<PlaceId> = members.map(|(place, _)| *place).collect();
        if sum.total == 0 || members.len() < 2 {
            continue;
        }
        // One of them is always marked, or a value says that none is.
        let whole = |(_, weight): &(PlaceId, u64)| u128::from(*weight) == sum.total;
        let always =
            sum.constant && members.len() == sum.weights.len() && sum.weights.iter().all(whole);
        let last = members.len() as i64 - i64::from(always);
        let cost = 1_000 * u64::from(bits_for(0, last)) / members.len() as u64;
        if cost > expected {
            waiting.push(Reverse((cost, at)));
            continue;
        }
        let values = (i32::from(!always)..).zip(&members);
        let marked = values.clone().find(|(_, place)| initial(**place) > 0);
        let variable = Variable::integer(
            net.place_label(members[0]),
            0,
            last as i32,
            marked.map_or(0, |(value, _)| value),
        );
        let variable = program.variable(variable);
        for (value, place) in values {
            homes[place.index()] = Some(Home::Shared(variable, value));
        }
    }
    let own = |(place, home): (PlaceId, Option<Home>)| {
        if let Some(home) = home {
            return Ok(home);
        }
        let name = net.place_label(place);
        let tokens = i32::try_from(initial(place)).ok();
        let Some(tokens) = tokens.filter(|n| i64::from(*n) <= MOST_TOKENS) else {
            return Err(format!(
                "the place `{name}` has {} tokens, too many for a card",
                initial(place)
            ));
        };
        let most = most_tokens(system, place) as i32;
        let variable = program.variable(Variable::integer(name, 0, most, tokens));
        Ok(Home::Own(variable))
    };
    net.places().zip(homes).map(own).collect()
}

/// What a transition does.
fn body(
    system: &NetSystem,
    homes: &[Home],
    transition: TransitionId,
    site: stubborn_ir::Site,
) -> Vec<Statement> {
    let mut body = Vec::new();
    let mut shared: BTreeMap<VarId, i32> = BTreeMap::new();
    for (place, change) in system.net().effects(transition) {
        match homes[place.index()] {
            Home::Own(variable) => {
                // More than any place can hold is as good as anything larger.
                let change = change.clamp(-MOST_TOKENS - 1, MOST_TOKENS + 1) as i32;
                let sum = Expr::plus(Expr::Var(variable), Expr::Const(change));
                body.push(Statement::assign(variable, sum, site));
            }
            // Which of them is marked afterwards: this one, or another one or none.
            Home::Shared(variable, value) if change > 0 => {
                shared.insert(variable, value);
            }
            Home::Shared(variable, _) => {
                shared.entry(variable).or_insert(0);
            }
        }
    }
    let assigned = shared.into_iter();
    body.extend(
        assigned.map(|(variable, value)| Statement::assign(variable, Expr::Const(value), site)),
    );
    body
}

/// Whether some place may get more tokens than a card counts.
pub(super) fn may_outgrow_card(net: &NetSystem) -> bool {
    let is_cut = |place| net.layout().field(net.field(place)).max > MOST_TOKENS;
    net.net().places().any(is_cut)
}

/// The most tokens that the variable of a place holds.
fn most_tokens(net: &NetSystem, place: PlaceId) -> i64 {
    net.layout().field(net.field(place)).max.min(MOST_TOKENS)
}

/// Labels of a net as expressions.
struct Labels<'n> {
    system: &'n NetSystem,
    homes: &'n [Home],
}

impl Labels<'_> {
    fn label(&self, label: LabelId) -> Result<Expr, String> {
        match (self.system.formula(label), self.system.threshold(label)) {
            (Some(formula), _) => self.formula(formula),
            (None, Some((place, CompareOp::GreaterOrEqual, tokens))) => {
                Ok(self.at_least(place, tokens))
            }
            (None, Some((place, _, tokens))) => Ok(self.below(place, tokens)),
            (None, None) => Err("the net has a label without a meaning".into()),
        }
    }

    fn tokens(&self, place: PlaceId) -> Expr {
        match self.homes[place.index()] {
            Home::Own(variable) => Expr::Var(variable),
            Home::Shared(variable, value) => Expr::equal(Expr::Var(variable), Expr::Const(value)),
        }
    }

    fn at_least(&self, place: PlaceId, tokens: u32) -> Expr {
        match (self.homes[place.index()], tokens) {
            (Home::Shared(..), 1) => self.tokens(place),
            (Home::Own(_), _) if i64::from(tokens) <= MOST_TOKENS => {
                let tokens = Expr::Const(tokens as i32);
                Expr::binary(BinaryOp::GreaterEqual, self.tokens(place), tokens)
            }
            _ => Expr::Const(0),
        }
    }

    fn below(&self, place: PlaceId, tokens: u32) -> Expr {
        Expr::negation(self.at_least(place, tokens))
    }

    fn formula(&self, formula: &Formula) -> Result<Expr, String> {
        let all = |parts: &[Formula]| -> Result<Vec<Expr>, String> {
            parts.iter().map(|part| self.formula(part)).collect()
        };
        Ok(match formula {
            Formula::Atom(Atom::Constant(value)) => Expr::Const(i32::from(*value)),
            Formula::Atom(Atom::Compare(op, left, right)) => self.comparison(*op, left, right)?,
            Formula::Atom(Atom::Fireable(transitions)) => {
                self.any_enabled(transitions.iter().copied())
            }
            Formula::Atom(Atom::Deadlock) => {
                Expr::negation(self.any_enabled(self.system.net().transitions()))
            }
            Formula::Not(inner) => Expr::negation(self.formula(inner)?),
            Formula::And(parts) => balanced(all(parts)?, &Expr::and, 1),
            Formula::Or(parts) => balanced(all(parts)?, &Expr::or, 0),
            Formula::Next(_) | Formula::Globally(_) | Formula::Finally(_) | Formula::Until(..) => {
                return Err("a label of the net is about more than one state".into());
            }
        })
    }

    fn any_enabled(&self, transitions: impl Iterator<Item = TransitionId>) -> Expr {
        let enabled = |transition: TransitionId| {
            let pre = self.system.net().pre(transition).iter();
            let enough = pre.map(|arc| self.at_least(arc.node, arc.weight));
            let inhibitors = self.system.net().inhibitors(transition).iter();
            let few = inhibitors.map(|arc| self.below(arc.node, arc.weight));
            balanced(enough.chain(few).collect(), &Expr::and, 1)
        };
        balanced(transitions.map(enabled).collect(), &Expr::or, 0)
    }

    fn comparison(&self, op: CompareOp, left: &IntExpr, right: &IntExpr) -> Result<Expr, String> {
        if left.places.is_empty() && right.places.is_empty() {
            let holds = op.holds(left.constant.into(), right.constant.into());
            return Ok(Expr::Const(i32::from(holds)));
        }
        let op = match op {
            CompareOp::LessOrEqual => BinaryOp::LessEqual,
            CompareOp::Less => BinaryOp::Less,
            CompareOp::Equal => BinaryOp::Equal,
            CompareOp::NotEqual => BinaryOp::NotEqual,
            CompareOp::GreaterOrEqual => BinaryOp::GreaterEqual,
            CompareOp::Greater => BinaryOp::Greater,
        };
        Ok(Expr::binary(op, self.sum(left)?, self.sum(right)?))
    }

    /// A sum that stays below the largest number. A constant that does not is as good as that number, which no
    /// sum of tokens reaches.
    fn sum(&self, sum: &IntExpr) -> Result<Expr, String> {
        let constant = i32::try_from(sum.constant).unwrap_or(i32::MAX);
        if sum.places.is_empty() {
            return Ok(Expr::Const(constant));
        }
        let most = sum
            .places
            .iter()
            .map(|place| most_tokens(self.system, *place));
        if most.sum::<i64>() + i64::from(constant) >= i64::from(i32::MAX) {
            return Err("a sum of tokens may have more than 31 bits".into());
        }
        let places = sum.places.iter().map(|place| self.tokens(*place));
        let places = balanced(places.collect(), &Expr::plus, 0);
        Ok(Expr::plus(places, Expr::Const(constant)))
    }
}

/// All of them joined in a tree: compilers count brackets.
fn balanced(mut all: Vec<Expr>, join: &dyn Fn(Expr, Expr) -> Expr, none: i32) -> Expr {
    match all.len() {
        0 => Expr::Const(none),
        1 => all.remove(0),
        len => {
            let right = all.split_off(len / 2);
            join(balanced(all, join, none), balanced(right, join, none))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use stubborn_net::{NetBuilder, NetSystem};
    use stubborn_system::{Random, Successors};

    use super::*;

    /// A net with a few places, some of which may collect tokens without end, or inhibit.
    fn random_net(random: &mut Random) -> NetSystem {
        let mut builder = NetBuilder::new("random");
        let places: Vec<PlaceId> = (0..2 + random.below(5))
            .map(|at| builder.place(&format!("p{at}"), random.below(4) as u64))
            .collect();
        for at in 0..1 + random.below(6) {
            let transition = builder.transition(&format!("t{at}"));
            for _ in 0..random.below(3) {
                builder.input(
                    *random.pick(&places),
                    transition,
                    1 + random.below(3) as u32,
                );
            }
            while random.one_in(4) {
                let weight = 1 + random.below(3) as u32;
                builder.inhibitor(*random.pick(&places), transition, weight);
            }
            for _ in 0..random.below(3) {
                builder.output(
                    transition,
                    *random.pick(&places),
                    1 + random.below(2) as u32,
                );
            }
        }
        NetSystem::new(builder.build().expect("small weights")).expect("few tokens")
    }

    /// A few automata, of which one or two move at once, and sometimes take or leave a resource.
    fn random_automata(random: &mut Random) -> NetSystem {
        let mut builder = NetBuilder::new("automata");
        let resource = builder.place("resource", 1 + random.below(2) as u64);
        let mut automata: Vec<Vec<PlaceId>> = Vec::new();
        for nr in 0..1 + random.below(4) {
            let places = (0..1 + random.below(5))
                .map(|at| builder.place(&format!("a{nr}_{at}"), u64::from(at == 0)));
            automata.push(places.collect());
        }
        for at in 0..3 + random.below(10) {
            let transition = builder.transition(&format!("t{at}"));
            random.shuffle(&mut automata);
            for places in automata.iter().take(1 + random.below(2)) {
                builder.input(*random.pick(places), transition, 1);
                builder.output(transition, *random.pick(places), 1);
            }
            match random.below(4) {
                0 => builder.input(resource, transition, 1),
                1 => builder.output(transition, resource, 1),
                2 => builder.inhibitor(*random.pick(&automata[0]), transition, 1),
                _ => {}
            }
        }
        NetSystem::new(builder.build().expect("small weights")).expect("few tokens")
    }

    fn random_number(random: &mut Random, places: &[PlaceId]) -> IntExpr {
        IntExpr {
            places: (0..random.below(4)).map(|_| *random.pick(places)).collect(),
            constant: match random.one_in(12) {
                true => u64::MAX - random.below(2) as u64,
                false => random.below(4) as u64,
            },
        }
    }

    fn random_formula(random: &mut Random, system: &NetSystem, depth: usize) -> Formula {
        let places: Vec<PlaceId> = system.net().places().collect();
        let transitions: Vec<TransitionId> = system.net().transitions().collect();
        let ops = [
            CompareOp::LessOrEqual,
            CompareOp::Less,
            CompareOp::Equal,
            CompareOp::NotEqual,
            CompareOp::GreaterOrEqual,
            CompareOp::Greater,
        ];
        let parts = |random: &mut Random| {
            let count = random.below(4);
            (0..count)
                .map(|_| random_formula(random, system, depth - 1))
                .collect()
        };
        match random.below(if depth == 0 { 4 } else { 7 }) {
            0 => Formula::Atom(Atom::Deadlock),
            1 => {
                let some = (0..random.below(3)).map(|_| *random.pick(&transitions));
                Formula::Atom(Atom::Fireable(some.collect()))
            }
            2 | 3 => {
                let (left, right) = (
                    random_number(random, &places),
                    random_number(random, &places),
                );
                Formula::Atom(Atom::Compare(*random.pick(&ops), left, right))
            }
            4 => random_formula(random, system, depth - 1).negated(),
            5 => Formula::And(parts(random)),
            _ => Formula::Or(parts(random)),
        }
    }

    /// Successors and labels of the first states, those of the program told as those of the net.
    fn states(
        system: &dyn System,
        told: &dyn Fn(&[u32]) -> Vec<u32>,
    ) -> BTreeSet<(Vec<u32>, String)> {
        let (mut executor, words) = (system.executor(), system.layout().words());
        let mut waiting = vec![system.initial_states()];
        let (mut seen, mut all) = (BTreeSet::from([told(&waiting[0])]), BTreeSet::new());
        let mut out = Successors::new(words);
        // In an order that does not depend on how states are written.
        while !waiting.is_empty() && seen.len() < 300 {
            let mut next = Vec::new();
            for state in std::mem::take(&mut waiting) {
                out.clear();
                executor.successors(&state, &mut out);
                let holds = (0..system.structure().labels.len())
                    .map(|label| executor.label(&state, LabelId::new(label)));
                let holds: Vec<bool> = holds.collect();
                let steps: Vec<_> = out
                    .iter()
                    .map(|step| {
                        (
                            step.transition,
                            told(step.state),
                            step.outcome.failed().is_some(),
                        )
                    })
                    .collect();
                all.insert((told(&state), format!("{holds:?} {steps:?}")));
                next.extend(
                    out.iter()
                        .filter(|step| seen.insert(told(step.state)))
                        .map(|s| s.state.to_vec()),
                );
            }
            waiting = next;
        }
        all
    }

    #[test]
    fn lowered_nets_have_the_same_states_steps_and_labels() {
        let (mut refused, mut shared) = (0, 0);
        for seed in 0..400 {
            let mut random = Random::new(seed);
            let mut system = match seed % 2 {
                0 => random_net(&mut random),
                _ => random_automata(&mut random),
            };
            for _ in 0..3 {
                let formula = random_formula(&mut random, &system, 2);
                system
                    .add_label(formula)
                    .expect("it has no temporal operators");
            }
            let lowered = match Lowered::new(&system) {
                Ok(lowered) => lowered,
                Err(reason) => {
                    assert!(reason.contains("31 bits"), "seed {seed}: {reason}");
                    refused += 1;
                    continue;
                }
            };
            let shares = lowered
                .homes
                .iter()
                .any(|home| matches!(home, Home::Shared(..)));
            shared += usize::from(shares);
            let expected = states(&system, &<[u32]>::to_vec);
            let found = states(&*lowered.model, &|state| lowered.states(state));
            assert_eq!(found, expected, "seed {seed}");
        }
        assert!(refused < 100, "{refused} nets were refused");
        assert!(shared > 100, "places of {shared} nets share variables");
    }

    /// Philosophers and forks: sums of four places for each philosopher, and of five for each fork.
    #[test]
    fn places_share_variables_where_that_saves_most() {
        let mut builder = NetBuilder::new("philosophers");
        let count = 20;
        let forks: Vec<PlaceId> = (0..count)
            .map(|at| builder.place(&format!("fork{at}"), 1))
            .collect();
        for at in 0..count {
            let (left, right) = (forks[at], forks[(at + 1) % count]);
            let [thinks, first, second, eats] = ["thinks", "first", "second", "eats"]
                .map(|name| builder.place(&format!("{name}{at}"), u64::from(name == "thinks")));
            for (name, from, to, needs) in [
                ("left", thinks, first, Some(left)),
                ("right", thinks, second, Some(right)),
                ("then right", first, eats, Some(right)),
                ("then left", second, eats, Some(left)),
                ("done", eats, thinks, None),
            ] {
                let transition = builder.transition(&format!("{name}{at}"));
                builder.input(from, transition, 1);
                builder.output(transition, to, 1);
                match needs {
                    Some(fork) => builder.input(fork, transition, 1),
                    None => [left, right]
                        .iter()
                        .for_each(|fork| builder.output(transition, *fork, 1)),
                }
            }
        }
        let system = NetSystem::new(builder.build().expect("small weights")).expect("few tokens");
        let lowered = Lowered::new(&system).expect("it is small");
        let variables = lowered.model.program().variables.iter();
        let bits = variables.map(|v| u32::from(bits_for(v.item.min.into(), v.item.max.into())));
        assert_eq!(bits.sum::<u32>(), 60);
    }

    #[test]
    fn places_that_a_card_cannot_count_are_noticed() {
        let mut builder = NetBuilder::new("counter");
        let place = builder.place("p", MOST_TOKENS as u64);
        let transition = builder.transition("t");
        builder.output(transition, place, 1);
        let system = NetSystem::new(builder.build().expect("a net")).expect("it fits");
        assert!(may_outgrow_card(&system));
        let lowered = Lowered::new(&system).expect("so many fit");
        let mut out = Successors::new(lowered.model.layout().words());
        let mut executor = lowered.model.executor();
        executor.successors(&lowered.model.initial_states(), &mut out);
        assert!(out.iter().all(|step| step.outcome.failed().is_some()));

        let mut builder = NetBuilder::new("more");
        builder.place("p", MOST_TOKENS as u64 + 1);
        let system = NetSystem::new(builder.build().expect("a net")).expect("it fits");
        let refusal = Lowered::new(&system).err().expect("too many");
        assert!(refusal.contains("too many for a card"), "{refusal}");
    }
}
