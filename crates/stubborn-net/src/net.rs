//! The place/transition net: weights both ways as sparse rows.
//!
//! Evangelista, "Experimenting with Stubborn Sets on Petri Nets" (definitions 1 and 2), calls a
//! net `(P, T, W)` with `W : (P × T) ∪ (T × P) → ℕ`. `W(p,t)` and `W(t,p)` are kept apart,
//! because the dependency relation looks at both and not at their difference: a transition
//! that takes a token and puts it back (a read loop) is not the same as one that does not touch
//! the place. *Inhibitor arcs* are kept beside them: their transition needs fewer tokens than the weight
//! (Hack, "Petri net languages", 1976). Each of the four directions is one array in compressed sparse row form, so that a
//! net with a million nodes costs some tens of megabytes and nothing is ever quadratic.

use std::fmt;

use rapidhash::RapidHashMap;

use crate::ids::{PlaceId, TransitionId};
use crate::names::Names;
use crate::nupn::Nupn;

/// The weight of an arc.
pub type Weight = u32;

/// A number of tokens in a place or a sum of such numbers.
pub type Tokens = u64;

/// One end of an arc: the node at the other end, and the weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Arc<N> {
    /// The node at the other end.
    pub node: N,
    /// How many tokens the arc moves; never 0.
    pub weight: Weight,
}

/// Sparse rows of arcs, each sorted by node.
#[derive(Clone, Debug)]
struct Rows<N> {
    starts: Vec<u32>,
    arcs: Vec<Arc<N>>,
}

impl<N: Copy + Ord> Rows<N> {
    #[inline]
    fn row(&self, index: usize) -> &[Arc<N>] {
        &self.arcs[self.starts[index] as usize..self.starts[index + 1] as usize]
    }

    /// Sorts `entries` into rows and makes one arc of parallel ones: `join` has their weight.
    fn collect(
        rows: usize,
        entries: impl Iterator<Item = (usize, Arc<N>)> + Clone,
        join: fn(Weight, Weight) -> Option<Weight>,
    ) -> Result<Self, BuildError>
    where
        N: Default,
    {
        let mut starts = vec![0u32; rows + 1];
        for (row, _) in entries.clone() {
            starts[row + 1] = starts[row + 1]
                .checked_add(1)
                .ok_or(BuildError::TooManyArcs)?;
        }
        for row in 0..rows {
            starts[row + 1] = starts[row + 1]
                .checked_add(starts[row])
                .ok_or(BuildError::TooManyArcs)?;
        }
        let mut next = starts.clone();
        let mut arcs = vec![
            Arc {
                node: N::default(),
                weight: 0
            };
            starts[rows] as usize
        ];
        for (row, arc) in entries {
            arcs[next[row] as usize] = arc;
            next[row] += 1;
        }
        // Sort each row, then close the gaps that merged arcs leave.
        let mut kept = 0usize;
        let mut begin = 0usize;
        for row in 0..rows {
            let end = starts[row + 1] as usize;
            arcs[begin..end].sort_unstable_by_key(|arc| arc.node);
            let row_start = kept;
            for i in begin..end {
                let arc = arcs[i];
                if kept > row_start && arcs[kept - 1].node == arc.node {
                    arcs[kept - 1].weight = join(arcs[kept - 1].weight, arc.weight)
                        .ok_or(BuildError::WeightOverflow)?;
                } else {
                    arcs[kept] = arc;
                    kept += 1;
                }
            }
            begin = end;
            starts[row + 1] = kept as u32;
        }
        arcs.truncate(kept);
        Ok(Self { starts, arcs })
    }

    /// The same arcs seen from the other end.
    fn reversed<M: Copy + Ord + Default>(
        &self,
        rows: usize,
        index: impl Fn(N) -> usize + Copy,
        make: impl Fn(usize) -> M + Copy,
    ) -> Result<Rows<M>, BuildError> {
        let entries = (0..self.starts.len() - 1).flat_map(move |row| {
            self.row(row).iter().map(move |arc| {
                (
                    index(arc.node),
                    Arc {
                        node: make(row),
                        weight: arc.weight,
                    },
                )
            })
        });
        // No two of them are parallel.
        Rows::collect(rows, entries, |_, _| None)
    }
}

/// Inhibitor arcs, from both ends.
#[derive(Clone, Debug)]
struct Inhibitors {
    of_transition: Rows<PlaceId>,
    of_place: Rows<TransitionId>,
}

/// Why a net cannot be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuildError {
    /// The weights of parallel arcs add up to more than a [`Weight`] holds.
    WeightOverflow,
    /// There are 2³² arcs or more.
    TooManyArcs,
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WeightOverflow => "the weights of parallel arcs add up to more than 2^32 - 1",
            Self::TooManyArcs => "the net has more than 2^32 - 1 arcs",
        })
    }
}

impl std::error::Error for BuildError {}

/// Collects places, transitions and arcs in any order, then builds a [`Net`].
///
/// ```
/// use stubborn_net::NetBuilder;
///
/// let mut builder = NetBuilder::new("handshake");
/// let idle = builder.place("idle", 2);
/// let busy = builder.place("busy", 0);
/// let start = builder.transition("start");
/// builder.input(idle, start, 1);
/// builder.output(start, busy, 1);
/// let net = builder.build().unwrap();
/// assert_eq!(net.effect(start, idle), -1);
/// assert_eq!(net.effect(start, busy), 1);
/// ```
#[derive(Clone, Debug, Default)]
pub struct NetBuilder {
    name: String,
    place_names: Names,
    transition_names: Names,
    place_labels: RapidHashMap<PlaceId, Box<str>>,
    transition_labels: RapidHashMap<TransitionId, Box<str>>,
    initial: Vec<Tokens>,
    inputs: Vec<(TransitionId, PlaceId, Weight)>,
    outputs: Vec<(TransitionId, PlaceId, Weight)>,
    inhibitors: Vec<(TransitionId, PlaceId, Weight)>,
    nupn: Option<Nupn>,
}

impl NetBuilder {
    /// An empty net.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }

    /// Adds a place with its initial tokens.
    pub fn place(&mut self, id: &str, initial: Tokens) -> PlaceId {
        self.initial.push(initial);
        PlaceId::new(self.place_names.push(id))
    }

    /// Adds a transition.
    pub fn transition(&mut self, id: &str) -> TransitionId {
        TransitionId::new(self.transition_names.push(id))
    }

    /// Gives a place a name for people, where it differs from the id.
    pub fn label_place(&mut self, place: PlaceId, label: &str) {
        self.place_labels.insert(place, label.into());
    }

    /// Gives a transition a name for people, where it differs from the id.
    pub fn label_transition(&mut self, transition: TransitionId, label: &str) {
        self.transition_labels.insert(transition, label.into());
    }

    /// An arc from a place to a transition; an arc of weight 0 is no arc.
    pub fn input(&mut self, place: PlaceId, transition: TransitionId, weight: Weight) {
        if weight > 0 {
            self.inputs.push((transition, place, weight));
        }
    }

    /// An arc from a transition to a place; an arc of weight 0 is no arc.
    pub fn output(&mut self, transition: TransitionId, place: PlaceId, weight: Weight) {
        if weight > 0 {
            self.outputs.push((transition, place, weight));
        }
    }

    /// An inhibitor arc: the transition needs fewer tokens than the weight in the place. Of parallel ones
    /// the lightest counts. A weight is at least 1.
    pub fn inhibitor(&mut self, place: PlaceId, transition: TransitionId, weight: Weight) {
        self.inhibitors.push((transition, place, weight.max(1)));
    }

    /// All arcs of a transition of another net, whose places are called as `place` says; arcs of places that
    /// are not there are left out.
    pub fn arcs_of(
        &mut self,
        net: &Net,
        old: TransitionId,
        new: TransitionId,
        place: impl Fn(PlaceId) -> Option<PlaceId>,
    ) {
        for arc in net.pre(old) {
            place(arc.node)
                .into_iter()
                .for_each(|p| self.input(p, new, arc.weight));
        }
        for arc in net.post(old) {
            place(arc.node)
                .into_iter()
                .for_each(|p| self.output(new, p, arc.weight));
        }
        for arc in net.inhibitors(old) {
            place(arc.node)
                .into_iter()
                .for_each(|p| self.inhibitor(p, new, arc.weight));
        }
    }

    /// Adds the units of a nested-unit net.
    pub fn units(&mut self, nupn: Nupn) {
        self.nupn = Some(nupn);
    }

    /// Sorts the arcs into rows.
    pub fn build(self) -> Result<Net, BuildError> {
        let places = self.place_names.len();
        let transitions = self.transition_names.len();
        let rows = |arcs: &[(TransitionId, PlaceId, Weight)], join| {
            let entry = |&(t, p, weight): &(TransitionId, PlaceId, Weight)| {
                (t.index(), Arc { node: p, weight })
            };
            Rows::collect(transitions, arcs.iter().map(entry), join)
        };
        let pre = rows(&self.inputs, Weight::checked_add)?;
        let post = rows(&self.outputs, Weight::checked_add)?;
        let inhibitors = match self.inhibitors.as_slice() {
            [] => None,
            arcs => {
                let of_transition = rows(arcs, |a, b| Some(a.min(b)))?;
                let of_place = of_transition.reversed(places, PlaceId::index, TransitionId::new)?;
                Some(Box::new(Inhibitors {
                    of_transition,
                    of_place,
                }))
            }
        };
        let consumers = pre.reversed(places, PlaceId::index, TransitionId::new)?;
        let producers = post.reversed(places, PlaceId::index, TransitionId::new)?;
        Ok(Net {
            name: self.name,
            place_names: self.place_names,
            transition_names: self.transition_names,
            place_labels: self.place_labels,
            transition_labels: self.transition_labels,
            initial: self.initial,
            pre,
            post,
            consumers,
            producers,
            inhibitors,
            nupn: self.nupn,
        })
    }
}

/// A place/transition net with its initial marking.
#[derive(Clone, Debug)]
pub struct Net {
    name: String,
    place_names: Names,
    transition_names: Names,
    place_labels: RapidHashMap<PlaceId, Box<str>>,
    transition_labels: RapidHashMap<TransitionId, Box<str>>,
    initial: Vec<Tokens>,
    pre: Rows<PlaceId>,
    post: Rows<PlaceId>,
    consumers: Rows<TransitionId>,
    producers: Rows<TransitionId>,
    /// None where there are none, as nearly everywhere.
    inhibitors: Option<Box<Inhibitors>>,
    nupn: Option<Nupn>,
}

impl Net {
    /// What the file calls the net.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number of places.
    pub fn place_count(&self) -> usize {
        self.initial.len()
    }

    /// The number of transitions.
    pub fn transition_count(&self) -> usize {
        self.transition_names.len()
    }

    /// The number of arcs, parallel ones counted once.
    pub fn arc_count(&self) -> usize {
        let inhibitors = self.inhibitors.as_ref();
        let inhibitors = inhibitors.map_or(0, |rows| rows.of_transition.arcs.len());
        self.pre.arcs.len() + self.post.arcs.len() + inhibitors
    }

    /// All places.
    pub fn places(&self) -> impl ExactSizeIterator<Item = PlaceId> + Clone + use<> {
        (0..self.place_count()).map(PlaceId::new)
    }

    /// All transitions.
    pub fn transitions(&self) -> impl ExactSizeIterator<Item = TransitionId> + Clone + use<> {
        (0..self.transition_count()).map(TransitionId::new)
    }

    /// The id a place has in the file; the unfolding writes `place(colour)`.
    pub fn place_name(&self, place: PlaceId) -> &str {
        self.place_names.get(place.index())
    }

    /// The id a transition has in the file; the unfolding writes `transition(x=colour)`.
    pub fn transition_name(&self, transition: TransitionId) -> &str {
        self.transition_names.get(transition.index())
    }

    /// What people call the place: its label where the file gives one, else its id.
    pub fn place_label(&self, place: PlaceId) -> &str {
        self.place_labels
            .get(&place)
            .map_or_else(|| self.place_name(place), AsRef::as_ref)
    }

    /// What people call the transition: its label where the file gives one, else its id.
    pub fn transition_label(&self, transition: TransitionId) -> &str {
        self.transition_labels
            .get(&transition)
            .map_or_else(|| self.transition_name(transition), AsRef::as_ref)
    }

    /// The tokens of a place in the initial marking.
    pub fn initial(&self, place: PlaceId) -> Tokens {
        self.initial[place.index()]
    }

    /// The initial marking, one entry per place.
    pub fn initial_marking(&self) -> &[Tokens] {
        &self.initial
    }

    /// The places a transition takes tokens from, with `W(p,t)`.
    pub fn pre(&self, transition: TransitionId) -> &[Arc<PlaceId>] {
        self.pre.row(transition.index())
    }

    /// The places a transition gives tokens to, with `W(t,p)`.
    pub fn post(&self, transition: TransitionId) -> &[Arc<PlaceId>] {
        self.post.row(transition.index())
    }

    /// The transitions that take tokens from a place, with `W(p,t)`.
    pub fn consumers(&self, place: PlaceId) -> &[Arc<TransitionId>] {
        self.consumers.row(place.index())
    }

    /// The transitions that give tokens to a place, with `W(t,p)`.
    pub fn producers(&self, place: PlaceId) -> &[Arc<TransitionId>] {
        self.producers.row(place.index())
    }

    /// The places of which a transition needs fewer tokens than the weight.
    pub fn inhibitors(&self, transition: TransitionId) -> &[Arc<PlaceId>] {
        match &self.inhibitors {
            None => &[],
            Some(rows) => rows.of_transition.row(transition.index()),
        }
    }

    /// The transitions that need fewer tokens of a place than the weight.
    pub fn inhibited(&self, place: PlaceId) -> &[Arc<TransitionId>] {
        match &self.inhibitors {
            None => &[],
            Some(rows) => rows.of_place.row(place.index()),
        }
    }

    /// The weight of the inhibitor arc between two nodes; 0 if there is none.
    pub fn inhibitor_weight(&self, place: PlaceId, transition: TransitionId) -> Weight {
        weight_in(self.inhibitors(transition), place)
    }

    /// Whether there are inhibitor arcs.
    pub fn has_inhibitors(&self) -> bool {
        self.inhibitors.is_some()
    }

    /// Whether a marking enables a transition: its inputs have enough tokens, and what inhibits it has
    /// few.
    pub fn is_enabled(&self, transition: TransitionId, tokens: impl Fn(PlaceId) -> Tokens) -> bool {
        let enough = |arc: &Arc<PlaceId>| tokens(arc.node) >= Tokens::from(arc.weight);
        self.pre(transition).iter().all(enough) && !self.is_inhibited(transition, tokens)
    }

    /// Whether some place has so many tokens that a transition is disabled.
    pub fn is_inhibited(
        &self,
        transition: TransitionId,
        tokens: impl Fn(PlaceId) -> Tokens,
    ) -> bool {
        let many = |arc: &Arc<PlaceId>| tokens(arc.node) >= Tokens::from(arc.weight);
        self.inhibitors(transition).iter().any(many)
    }

    /// Whether every marking enables a transition.
    pub fn is_always_enabled(&self, transition: TransitionId) -> bool {
        self.pre(transition).is_empty() && self.inhibitors(transition).is_empty()
    }

    /// `W(p,t)`.
    pub fn input_weight(&self, place: PlaceId, transition: TransitionId) -> Weight {
        weight_in(self.pre(transition), place)
    }

    /// `W(t,p)`.
    pub fn output_weight(&self, transition: TransitionId, place: PlaceId) -> Weight {
        weight_in(self.post(transition), place)
    }

    /// `W(t,p) - W(p,t)`: what firing the transition changes in the place.
    pub fn effect(&self, transition: TransitionId, place: PlaceId) -> i64 {
        i64::from(self.output_weight(transition, place))
            - i64::from(self.input_weight(place, transition))
    }

    /// The places a transition touches, in order, with `W(p,t)` and `W(t,p)`.
    pub fn touched(
        &self,
        transition: TransitionId,
    ) -> impl Iterator<Item = (PlaceId, Weight, Weight)> {
        let (pre, post) = (self.pre(transition), self.post(transition));
        let (mut i, mut j) = (0, 0);
        std::iter::from_fn(move || {
            let left = pre.get(i).map(|arc| arc.node);
            let right = post.get(j).map(|arc| arc.node);
            let place = match (left, right) {
                (None, None) => return None,
                (Some(p), None) | (None, Some(p)) => p,
                (Some(p), Some(q)) => p.min(q),
            };
            let (mut taken, mut given) = (0, 0);
            if left == Some(place) {
                taken = pre[i].weight;
                i += 1;
            }
            if right == Some(place) {
                given = post[j].weight;
                j += 1;
            }
            Some((place, taken, given))
        })
    }

    /// The places whose marking a transition changes, in order, with `W(t,p) - W(p,t)`.
    pub fn effects(&self, transition: TransitionId) -> impl Iterator<Item = (PlaceId, i64)> {
        self.touched(transition)
            .map(|(place, taken, given)| (place, i64::from(given) - i64::from(taken)))
            .filter(|(_, change)| *change != 0)
    }

    /// The nested units, where the file has them.
    pub fn units(&self) -> Option<&Nupn> {
        self.nupn.as_ref()
    }
}

fn weight_in(row: &[Arc<PlaceId>], place: PlaceId) -> Weight {
    row.binary_search_by_key(&place, |arc| arc.node)
        .map_or(0, |at| row[at].weight)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parallel_arcs_add_up_and_rows_are_sorted() {
        let mut builder = NetBuilder::new("n");
        let a = builder.place("a", 3);
        let b = builder.place("b", 0);
        let t = builder.transition("t");
        let u = builder.transition("u");
        builder.input(b, t, 2);
        builder.input(a, t, 1);
        builder.input(b, t, 3);
        builder.output(t, b, 5);
        builder.output(u, a, 1);
        builder.input(a, u, 0);
        let net = builder.build().unwrap();
        assert_eq!(
            net.pre(t),
            [Arc { node: a, weight: 1 }, Arc { node: b, weight: 5 }]
        );
        assert_eq!(net.pre(u), []);
        assert_eq!(net.consumers(b), [Arc { node: t, weight: 5 }]);
        assert_eq!(net.producers(a), [Arc { node: u, weight: 1 }]);
        assert_eq!(net.touched(t).collect::<Vec<_>>(), [(a, 1, 0), (b, 5, 5)]);
        assert_eq!(net.effects(t).collect::<Vec<_>>(), [(a, -1)]);
        assert_eq!(net.arc_count(), 4);
    }

    #[test]
    fn inhibitor_arcs_are_conditions_and_move_nothing() {
        let mut builder = NetBuilder::new("n");
        let [a, b] = ["a", "b"].map(|name| builder.place(name, 1));
        let [t, u] = ["t", "u"].map(|name| builder.transition(name));
        builder.inhibitor(b, t, 3);
        builder.inhibitor(b, t, 2);
        builder.input(a, t, 1);
        builder.inhibitor(a, u, 1);
        let net = builder.build().unwrap();
        assert_eq!(
            net.inhibitors(t),
            [Arc { node: b, weight: 2 }],
            "the lightest"
        );
        assert_eq!(net.inhibited(a), [Arc { node: u, weight: 1 }]);
        assert_eq!(net.touched(t).collect::<Vec<_>>(), [(a, 1, 0)]);
        assert_eq!(net.arc_count(), 3);
        let enabled = |t, a: Tokens, b: Tokens| net.is_enabled(t, |p| [a, b][p.index()]);
        assert!(enabled(t, 1, 1) && !enabled(t, 1, 2) && !enabled(t, 0, 0));
        assert!(enabled(u, 0, 9) && !enabled(u, 1, 0) && !net.is_always_enabled(u));
    }

    #[test]
    fn too_heavy_parallel_arcs_are_an_error() {
        let mut builder = NetBuilder::new("n");
        let a = builder.place("a", 0);
        let t = builder.transition("t");
        builder.input(a, t, u32::MAX);
        builder.input(a, t, 1);
        assert_eq!(builder.build().unwrap_err(), BuildError::WeightOverflow);
    }
}
