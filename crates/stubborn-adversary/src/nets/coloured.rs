//! Small symmetric nets, and their unfolding by the book: every binding of every transition.

use std::collections::{BTreeMap, BTreeSet};

use crate::minimise::without_some;
use crate::random::Random;
use crate::reference::net::{Arcs, Condition, Net, NetTransition, Sum};

/// More places or transitions than these are too many for one without colours.
const MOST_NODES: usize = 80;

/// What the colours of a basic sort are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One black token.
    Dot,
    /// Names that go round.
    Cyclic,
    /// Names in a row.
    Finite,
    /// Numbers.
    Range,
}

/// A basic sort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sort {
    /// What its colours are.
    pub kind: Kind,
    /// How many there are.
    pub colours: usize,
}

/// Numbers of basic sorts: one, or a product.
pub type Product = Vec<usize>;
/// A colour of a product: one of each sort.
pub type Colour = Vec<usize>;
/// How often each colour occurs.
type Bag = BTreeMap<Colour, i64>;

/// A term: a bag of colours of one product, or one colour of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Term {
    /// What a variable is bound to.
    Variable(usize),
    /// A colour of a basic sort.
    Constant(usize, usize),
    /// The next colour of a basic sort (the first after the last), or the one before.
    Shifted(bool, usize, Box<Term>),
    /// One of each.
    All(Product),
    /// None.
    Empty(Product),
    /// Colours put together.
    Tuple(Vec<Term>),
    /// The same several times.
    Times(i64, Box<Term>),
    /// Together; nothing at all is not written down.
    Add(Vec<Term>),
    /// The first without the others.
    Subtract(Vec<Term>),
}

impl Term {
    fn parts(&self) -> Vec<&Term> {
        match self {
            Self::Variable(_) | Self::Constant(..) | Self::All(_) | Self::Empty(_) => vec![],
            Self::Shifted(_, _, inner) | Self::Times(_, inner) => vec![inner],
            Self::Tuple(parts) | Self::Add(parts) | Self::Subtract(parts) => parts.iter().collect(),
        }
    }

    fn variables(&self, used: &mut BTreeSet<usize>) {
        if let Self::Variable(number) = self {
            used.insert(*number);
        }
        self.parts().iter().for_each(|part| part.variables(used));
    }

    fn smaller(&self) -> Vec<Term> {
        match self {
            Self::Times(_, inner) => vec![(**inner).clone()],
            Self::Add(parts) => without_some(parts).into_iter().map(Self::Add).collect(),
            Self::Subtract(parts) => vec![parts[0].clone()],
            _ => vec![],
        }
    }
}

/// How two colours are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Relation {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

/// When a transition may fire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Guard {
    /// Always, or never.
    Constant(bool),
    /// Two colours compared.
    Compare(Relation, Term, Term),
    /// The other one does not hold.
    Not(Box<Guard>),
    /// All hold.
    And(Vec<Guard>),
    /// One holds.
    Or(Vec<Guard>),
    /// The second holds if the first does.
    Imply(Box<Guard>, Box<Guard>),
}

impl Guard {
    fn variables(&self, used: &mut BTreeSet<usize>) {
        match self {
            Self::Constant(_) => {}
            Self::Compare(_, left, right) => {
                left.variables(used);
                right.variables(used);
            }
            Self::Not(inner) => inner.variables(used),
            Self::And(parts) | Self::Or(parts) => parts.iter().for_each(|p| p.variables(used)),
            Self::Imply(left, right) => {
                left.variables(used);
                right.variables(used);
            }
        }
    }
}

/// Places, each with what is taken from it or given to it.
type Side = Vec<(usize, Term)>;

/// A transition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColouredTransition {
    /// What its variables must fulfil.
    pub guard: Option<Guard>,
    /// What it takes.
    pub takes: Side,
    /// What it gives.
    pub gives: Side,
}

/// A symmetric net.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coloured {
    /// Its basic sorts.
    pub sorts: Vec<Sort>,
    /// The sorts of its variables.
    pub variables: Vec<Product>,
    /// The sorts of its places.
    pub places: Vec<Product>,
    /// What is in each place at the start.
    pub initial: Vec<Term>,
    /// What can fire.
    pub transitions: Vec<ColouredTransition>,
}

/// A net without colours, and what the nodes of the one with colours are there.
#[derive(Clone, Debug)]
pub struct Unfolded {
    /// The net.
    pub net: Net,
    /// The places that each place stands for.
    pub places: Vec<Vec<usize>>,
    /// Likewise.
    pub transitions: Vec<Vec<usize>>,
}

impl Unfolded {
    /// A condition about the net with colours, said of the one without.
    pub fn condition(&self, condition: &Condition) -> Condition {
        let spread = |of: &[Vec<usize>], nodes: &[usize]| {
            nodes.iter().flat_map(|node| of[*node].clone()).collect()
        };
        let sum = |sum: &Sum| Sum {
            places: spread(&self.places, &sum.places),
            constant: sum.constant,
        };
        let inner = |inner: &Condition| Box::new(self.condition(inner));
        match condition {
            Condition::Constant(_) | Condition::Deadlock => condition.clone(),
            Condition::Compare(comparison, left, right) => {
                Condition::Compare(*comparison, sum(left), sum(right))
            }
            Condition::Fireable(all) => Condition::Fireable(spread(&self.transitions, all)),
            Condition::Not(a) => Condition::Not(inner(a)),
            Condition::And(a, b) => Condition::And(inner(a), inner(b)),
            Condition::Or(a, b) => Condition::Or(inner(a), inner(b)),
        }
    }
}

impl Coloured {
    /// All colours of a product.
    fn colours(&self, product: &[usize]) -> Vec<Colour> {
        product.iter().fold(vec![vec![]], |colours, sort| {
            let each = |colour: &Colour| {
                let last = 0..self.sorts[*sort].colours;
                let longer = last.map(|last| [colour.as_slice(), &[last]].concat());
                longer.collect::<Vec<_>>()
            };
            colours.iter().flat_map(each).collect()
        })
    }

    fn bag(&self, term: &Term, binding: &[Colour]) -> Bag {
        let mut bag = Bag::new();
        let mut put = |colour: Colour, times: i64| *bag.entry(colour).or_default() += times;
        match term {
            Term::Variable(number) => put(binding[*number].clone(), 1),
            Term::Constant(_, colour) => put(vec![*colour], 1),
            Term::Shifted(forward, sort, inner) => {
                let count = self.sorts[*sort].colours;
                let step = if *forward { 1 } else { count - 1 };
                let [colour] = self.colour(inner, binding)[..] else {
                    panic!("a product has no next colour");
                };
                put(vec![(colour + step) % count], 1);
            }
            Term::All(product) => {
                for colour in self.colours(product) {
                    put(colour, 1);
                }
            }
            Term::Empty(_) => {}
            Term::Tuple(parts) => {
                let mut tuples = Bag::from([(vec![], 1)]);
                for part in parts {
                    let part = self.bag(part, binding);
                    let longer = tuples.iter().flat_map(|(tuple, times)| {
                        let part = part.iter();
                        part.map(move |(colour, n)| ([&tuple[..], colour].concat(), times * n))
                    });
                    tuples = longer.collect();
                }
                return tuples;
            }
            Term::Times(factor, inner) => {
                for (colour, times) in self.bag(inner, binding) {
                    put(colour, factor * times);
                }
            }
            Term::Add(parts) | Term::Subtract(parts) => {
                for (number, part) in parts.iter().enumerate() {
                    let is_less = number > 0 && matches!(term, Term::Subtract(_));
                    for (colour, times) in self.bag(part, binding) {
                        put(colour, if is_less { -times } else { times });
                    }
                }
            }
        }
        bag
    }

    /// The only colour of a term.
    fn colour(&self, term: &Term, binding: &[Colour]) -> Colour {
        let bag = self.bag(term, binding);
        let mut colours = bag.into_keys();
        colours.next().expect("a colour")
    }

    fn holds(&self, guard: &Guard, binding: &[Colour]) -> bool {
        let holds = |guard: &Guard| self.holds(guard, binding);
        match guard {
            Guard::Constant(value) => *value,
            Guard::Compare(relation, left, right) => {
                let (left, right) = (self.colour(left, binding), self.colour(right, binding));
                match relation {
                    Relation::Equal => left == right,
                    Relation::NotEqual => left != right,
                    Relation::Less => left < right,
                    Relation::LessEqual => left <= right,
                    Relation::Greater => left > right,
                    Relation::GreaterEqual => left >= right,
                }
            }
            Guard::Not(inner) => !holds(inner),
            Guard::And(parts) => parts.iter().all(holds),
            Guard::Or(parts) => parts.iter().any(holds),
            Guard::Imply(left, right) => !holds(left) || holds(right),
        }
    }

    /// The bindings of the variables that a transition uses, of which its guard holds. Others are
    /// bound to nothing.
    fn bindings(&self, transition: &ColouredTransition) -> Vec<Vec<Colour>> {
        let mut used = BTreeSet::new();
        for (_, term) in transition.takes.iter().chain(&transition.gives) {
            term.variables(&mut used);
        }
        if let Some(guard) = &transition.guard {
            guard.variables(&mut used);
        }
        let mut bindings = vec![vec![Colour::new(); self.variables.len()]];
        for variable in used {
            let colours = self.colours(&self.variables[variable]);
            let each = |binding: &Vec<Colour>| {
                let binding = binding.clone();
                colours.iter().map(move |colour| {
                    let mut bound = binding.clone();
                    bound[variable] = colour.clone();
                    bound
                })
            };
            bindings = bindings.iter().flat_map(each).collect();
        }
        let guard = transition.guard.as_ref();
        bindings.retain(|binding| guard.is_none_or(|guard| self.holds(guard, binding)));
        bindings
    }

    /// The same net without colours: a place for every place and colour, and a transition for
    /// every binding that the guard allows. None if a term takes more away than there is, or there
    /// are too many.
    pub fn unfold(&self) -> Option<Unfolded> {
        let mut numbers = BTreeMap::new();
        let mut places = vec![Vec::new(); self.places.len()];
        for (place, product) in self.places.iter().enumerate() {
            for colour in self.colours(product) {
                places[place].push(numbers.len());
                numbers.insert((place, colour), numbers.len());
            }
        }
        let tokens = |place: usize, term: &Term, binding: &[Colour]| -> Option<Arcs> {
            let bag = self.bag(term, binding).into_iter();
            bag.map(|(colour, times)| Some((numbers[&(place, colour)], u64::try_from(times).ok()?)))
                .collect()
        };
        let arcs = |side: &Side, binding: &[Colour]| -> Option<Arcs> {
            let mut all = BTreeMap::new();
            for (place, term) in side {
                for (number, times) in tokens(*place, term, binding)? {
                    *all.entry(number).or_default() += times;
                }
            }
            Some(all.into_iter().filter(|(_, weight)| *weight > 0).collect())
        };
        let mut net = Net {
            initial: vec![0; numbers.len()],
            transitions: Vec::new(),
        };
        for (place, term) in self.initial.iter().enumerate() {
            for (number, times) in tokens(place, term, &[])? {
                net.initial[number] += times;
            }
        }
        let mut transitions = Vec::new();
        for transition in &self.transitions {
            let first = net.transitions.len();
            for binding in self.bindings(transition) {
                net.transitions.push(NetTransition {
                    takes: arcs(&transition.takes, &binding)?,
                    gives: arcs(&transition.gives, &binding)?,
                    inhibitors: vec![],
                });
            }
            transitions.push((first..net.transitions.len()).collect());
        }
        let fits = numbers.len() <= MOST_NODES && net.transitions.len() <= MOST_NODES;
        fits.then_some(Unfolded {
            net,
            places,
            transitions,
        })
    }

    /// A random net that can be unfolded.
    pub fn random(random: &mut Random) -> Self {
        loop {
            let net = Maker::new(random).net();
            if net.unfold().is_some() {
                return net;
            }
        }
    }

    /// Smaller nets.
    pub fn candidates(&self) -> Vec<Self> {
        let mut all = Vec::new();
        for transitions in without_some(&self.transitions) {
            all.push(Self {
                transitions,
                ..self.clone()
            });
        }
        for (number, transition) in self.transitions.iter().enumerate() {
            let mut with = |transition: ColouredTransition| {
                let mut smaller = self.clone();
                smaller.transitions[number] = transition;
                all.push(smaller);
            };
            if transition.guard.is_some() {
                with(ColouredTransition {
                    guard: None,
                    ..transition.clone()
                });
            }
            for takes in smaller_sides(&transition.takes) {
                with(ColouredTransition {
                    takes,
                    ..transition.clone()
                });
            }
            for gives in smaller_sides(&transition.gives) {
                with(ColouredTransition {
                    gives,
                    ..transition.clone()
                });
            }
        }
        for (place, term) in self.initial.iter().enumerate() {
            for term in term.smaller() {
                let mut smaller = self.clone();
                smaller.initial[place] = term;
                all.push(smaller);
            }
        }
        all.retain(|net| net.unfold().is_some());
        all
    }
}

fn smaller_sides(side: &Side) -> Vec<Side> {
    let mut all = without_some(side);
    for (number, (_, term)) in side.iter().enumerate() {
        for term in term.smaller() {
            let mut smaller = side.clone();
            smaller[number].1 = term;
            all.push(smaller);
        }
    }
    all
}

/// Makes up nets.
struct Maker<'r> {
    random: &'r mut Random,
    sorts: Vec<Sort>,
    variables: Vec<Product>,
}

impl<'r> Maker<'r> {
    fn new(random: &'r mut Random) -> Self {
        let sorts: Vec<Sort> = (0..1 + random.below(3))
            .map(
                |_| match *random.pick(&[Kind::Dot, Kind::Cyclic, Kind::Finite, Kind::Range]) {
                    Kind::Dot => Sort {
                        kind: Kind::Dot,
                        colours: 1,
                    },
                    kind => Sort {
                        kind,
                        colours: [1, 2, 2, 3][random.below(4)],
                    },
                },
            )
            .collect();
        let mut maker = Self {
            random,
            sorts,
            variables: vec![],
        };
        maker.variables = (0..1 + maker.random.below(3))
            .map(|_| maker.product(5))
            .collect();
        maker
    }

    /// One sort, or two in one of so many cases.
    fn product(&mut self, cases: usize) -> Product {
        let count = 1 + usize::from(self.random.chance(1, cases));
        (0..count)
            .map(|_| self.random.below(self.sorts.len()))
            .collect()
    }

    fn variable(&mut self, product: &[usize]) -> Option<Term> {
        let fitting: Vec<usize> = (0..self.variables.len())
            .filter(|v| self.variables[*v] == product)
            .collect();
        let any = !fitting.is_empty();
        any.then(|| Term::Variable(*self.random.pick(&fitting)))
    }

    /// A term for one colour.
    fn colour(&mut self, product: &[usize], constant: bool) -> Term {
        let variable = self.variable(product).filter(|_| !constant);
        match (variable, product) {
            (Some(variable), _) if self.random.chance(3, 5) => variable,
            (_, [sort]) => {
                let Sort { kind, colours } = self.sorts[*sort];
                match kind == Kind::Cyclic && self.random.chance(1, 2) {
                    true => {
                        let inner = Box::new(self.colour(product, constant));
                        Term::Shifted(self.random.chance(1, 2), *sort, inner)
                    }
                    false => Term::Constant(*sort, self.random.below(colours)),
                }
            }
            (_, sorts) => {
                let sorts = sorts.iter();
                Term::Tuple(sorts.map(|sort| self.colour(&[*sort], constant)).collect())
            }
        }
    }

    /// A term for some tokens.
    fn bag(&mut self, product: &[usize], constant: bool) -> Term {
        let one = self.colour(product, constant);
        match self.random.below(16) {
            0..=6 => one,
            7 => Term::Times([0, 1, 2, 2][self.random.below(4)], Box::new(one)),
            8 => Term::All(product.to_vec()),
            9 => Term::Subtract(vec![Term::All(product.to_vec()), one]),
            10 => {
                // What is there twice and goes once.
                let both = Term::Add(vec![self.colour(product, constant), one.clone()]);
                Term::Subtract(vec![both, one])
            }
            11 => {
                let two = Term::Times(2, Box::new(Term::All(product.to_vec())));
                Term::Subtract(vec![two, one, self.colour(product, constant)])
            }
            12 if product.len() > 1 => {
                // A sum, everything, or nothing in the middle of a tuple.
                let mut parts: Vec<Term> = product
                    .iter()
                    .map(|sort| self.colour(&[*sort], constant))
                    .collect();
                let at = self.random.below(parts.len());
                parts[at] = self.bag(&[product[at]], constant);
                Term::Tuple(parts)
            }
            13 if self.random.chance(1, 4) => Term::Empty(product.to_vec()),
            _ => Term::Add(vec![one, self.bag(product, constant)]),
        }
    }

    fn guard(&mut self, depth: usize) -> Guard {
        match self.random.below(if depth == 0 { 6 } else { 12 }) {
            0 => Guard::Constant(self.random.chance(2, 3)),
            1..=6 => {
                let product = self.variables[self.random.below(self.variables.len())].clone();
                let ordered = match product[..] {
                    [sort] => matches!(self.sorts[sort].kind, Kind::Finite | Kind::Range),
                    _ => false,
                };
                let relation = match self.random.below(if ordered { 6 } else { 2 }) {
                    0 => Relation::Equal,
                    1 => Relation::NotEqual,
                    2 => Relation::Less,
                    3 => Relation::LessEqual,
                    4 => Relation::Greater,
                    _ => Relation::GreaterEqual,
                };
                let (left, right) = (self.colour(&product, false), self.colour(&product, false));
                Guard::Compare(relation, left, right)
            }
            7 => Guard::Not(Box::new(self.guard(depth - 1))),
            8 => {
                let left = Box::new(self.guard(depth - 1));
                Guard::Imply(left, Box::new(self.guard(depth - 1)))
            }
            kind => {
                let count = 1 + self.random.below(3);
                let parts = (0..count).map(|_| self.guard(depth - 1)).collect();
                match kind {
                    9 | 10 => Guard::And(parts),
                    _ => Guard::Or(parts),
                }
            }
        }
    }

    fn side(&mut self, places: &[Product]) -> Side {
        let mut side = Vec::new();
        for _ in 0..self.random.below(3) {
            let place = self.random.below(places.len());
            side.push((place, self.bag(&places[place], false)));
        }
        side
    }

    fn net(mut self) -> Coloured {
        let count = 1 + self.random.below(3);
        let places: Vec<Product> = (0..count).map(|_| self.product(4)).collect();
        let initial = places
            .iter()
            .map(|place| match self.random.below(4) {
                0 => Term::Add(vec![]),
                _ => self.bag(place, true),
            })
            .collect();
        let transitions = (0..1 + self.random.below(3))
            .map(|_| ColouredTransition {
                guard: self.random.chance(1, 2).then(|| self.guard(2)),
                takes: self.side(&places),
                gives: self.side(&places),
            })
            .collect();
        Coloured {
            sorts: self.sorts,
            variables: self.variables,
            places,
            initial,
            transitions,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_binding_becomes_a_transition() {
        let variable = |number| Term::Variable(number);
        let next = Term::Shifted(true, 0, Box::new(variable(0)));
        let others = Term::Subtract(vec![Term::All(vec![0]), variable(1)]);
        let net = Coloured {
            sorts: vec![Sort {
                kind: Kind::Cyclic,
                colours: 3,
            }],
            variables: vec![vec![0], vec![0]],
            places: vec![vec![0], vec![0, 0]],
            initial: vec![Term::Constant(0, 0), Term::Empty(vec![0, 0])],
            transitions: vec![
                // Round and round.
                ColouredTransition {
                    guard: None,
                    takes: vec![(0, variable(0))],
                    gives: vec![(0, next)],
                },
                // From the last colour only, to pairs of it and another one.
                ColouredTransition {
                    guard: Some(Guard::Compare(
                        Relation::Equal,
                        variable(1),
                        Term::Constant(0, 2),
                    )),
                    takes: vec![(0, variable(1))],
                    gives: vec![(1, Term::Tuple(vec![variable(1), others]))],
                },
            ],
        };
        let Unfolded {
            net,
            places,
            transitions,
        } = net.unfold().unwrap();
        assert_eq!(places.iter().map(Vec::len).collect::<Vec<_>>(), [3, 9]);
        assert_eq!(transitions, [vec![0, 1, 2], vec![3]]);
        assert_eq!(net.transitions[3].gives, [(3 + 6, 1), (3 + 7, 1)]);
        let graph = net.explore(10).unwrap();
        assert_eq!((graph.state_count(), graph.step_count()), (4, 4));
        assert_eq!(graph.deadlocks().count(), 1);
    }
}
