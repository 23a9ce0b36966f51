//! The net behind the seam: what searches and reductions see of it.
//!
//! A place is a field, [packed](packing) in as many bits as its [bound](crate::Bounds) needs (one for a
//! safe place, none for a place that never changes, 32 where nothing is known). A transition is
//! a transition, and its guards are labels `p >= k`, and `p < k` for inhibitor arcs, one for each pair of
//! place and threshold, shared by all transitions that need it. Nothing is compiled: [`executor`] works from tables
//! that are proportional to the number of arcs. [`relations`] derives the relations from the arcs.
//!
//! A place that gets more tokens than its field holds is an error outcome. It can happen where
//! the bound is not proved: the file claimed the net to be safe and it is not, or a place really
//! collects 2³² tokens. Such a step is not declared as one that may fail
//! ([`stubborn_system::Transition::may_fail`]), because it would then conflict with
//! everything. That is sound: the relations are those of the mathematical net, which knows no
//! overflow, so a search that meets none gives the answer of the net, reduced or not. After one that
//! meets one, nobody says that something holds ([`System::left_out`]); it may have found violations.

mod enough;
mod exclusion;
mod executor;
mod packing;
mod relations;
mod tables;

use std::sync::atomic::{AtomicU64, Ordering};

use rapidhash::RapidHashMap;
use stubborn_diagnostics::{Diagnostic, Span};
use stubborn_system::layout::LayoutBuilder;
use stubborn_system::{
    Budget, Executor, FailureKind, FailureSite, FieldId, FieldKind, Label, LabelId, Layout,
    Property, PropertyKind, RelationLevel, Relations, Structure, System, Transition,
};

use crate::bounds::{BoundSource, Bounds};
use crate::formula::{CompareOp, Formula};
use crate::ids::{PlaceId, TransitionId};
use crate::invariants::{InvariantBudget, Invariants};
use crate::net::{Net, Tokens};
use crate::system::executor::NetExecutor;
pub use crate::system::tables::Census;
use crate::system::tables::Tables;

/// What a label of the system means.
#[derive(Clone, Debug)]
pub(crate) enum Meaning {
    /// The place holds at least so many tokens.
    AtLeast(PlaceId, u32),
    /// The place holds fewer tokens.
    Below(PlaceId, u32),
    /// A state formula.
    Formula(Formula),
}

/// The step that failed because a place would have had more tokens than fit. Of several the one with the
/// smallest numbers, so that it does not depend on who was first.
#[derive(Debug)]
struct FirstOverflow(AtomicU64);

impl FirstOverflow {
    const NONE: u64 = u64::MAX;

    fn note(&self, transition: u32, site: u32) {
        let step = u64::from(transition) << 32 | u64::from(site);
        self.0.fetch_min(step, Ordering::Relaxed);
    }

    fn forget(&self) {
        self.0.store(Self::NONE, Ordering::Relaxed);
    }

    /// The transition and the failure site.
    fn get(&self) -> Option<(TransitionId, usize)> {
        let step = self.0.load(Ordering::Relaxed);
        (step != Self::NONE).then_some((TransitionId((step >> 32) as u32), step as u32 as usize))
    }
}

/// How a net is prepared for execution.
#[derive(Clone, Copy, Debug)]
pub struct NetOptions {
    /// Width of the field of a place of which no bound is known, 1 to 32. A narrow one makes
    /// short states; a place that needs more is an error outcome, and a wider one can be tried.
    pub unknown_bits: u8,
    /// Work for place invariants.
    pub invariants: InvariantBudget,
}

impl Default for NetOptions {
    fn default() -> Self {
        Self {
            unknown_bits: 32,
            invariants: InvariantBudget::default(),
        }
    }
}

impl NetOptions {
    /// For searches that may miss an answer, but have neither room nor time to give away: fields of half
    /// a word for places without a known bound, wider ones where the net begins with many tokens; and
    /// those invariants that are found soon, which are nearly always all that make states shorter.
    pub fn narrow(net: &Net) -> Self {
        let most = net.initial_marking().iter().max().copied().unwrap_or(0);
        let bits = u64::BITS - most.leading_zeros() + 4;
        Self {
            unknown_bits: bits.clamp(16, 32) as u8,
            invariants: InvariantBudget {
                operations: 4_000_000,
            },
        }
    }

    /// The most tokens that a place without a known bound can hold.
    fn most_tokens(&self) -> u64 {
        (1 << self.unknown_bits.clamp(1, 32)) - 1
    }
}

/// A net as a [`System`].
///
/// ```
/// use stubborn_net::{NetBuilder, NetSystem};
/// use stubborn_system::{Successors, System};
///
/// let mut builder = NetBuilder::new("two steps");
/// let a = builder.place("a", 1);
/// let b = builder.place("b", 0);
/// let t = builder.transition("t");
/// builder.input(a, t, 1);
/// builder.output(t, b, 1);
/// let system = NetSystem::new(builder.build().unwrap()).unwrap();
///
/// let mut successors = Successors::new(system.layout().words());
/// let initial = system.initial_states();
/// system.executor().successors(&initial, &mut successors);
/// assert_eq!(successors.len(), 1);
/// assert_eq!(system.tokens(successors.state(0), b), 1);
/// ```
pub struct NetSystem {
    net: Net,
    layout: Layout,
    structure: Structure,
    meanings: Vec<Meaning>,
    invariants: Invariants,
    bounds: Bounds,
    tables: Tables,
    /// The field of each place.
    field_of: Vec<FieldId>,
    /// The field that marks the error state, if any step can fail.
    failed: Option<FieldId>,
    overflow: FirstOverflow,
    budget: std::sync::Arc<Budget>,
}

impl NetSystem {
    /// Prepares a net for execution. Fails where a place starts with more tokens than fit.
    pub fn new(net: Net) -> Result<Self, Diagnostic> {
        Self::with_options(net, NetOptions::default())
    }

    /// As [`new`](Self::new), with options.
    pub fn with_options(net: Net, options: NetOptions) -> Result<Self, Diagnostic> {
        Self::within(net, options, std::sync::Arc::default())
    }

    /// As [`with_options`](Self::with_options), with what this and everything that is done about
    /// the net may take. Fails also if that is too little.
    pub fn within(
        net: Net,
        options: NetOptions,
        budget: std::sync::Arc<Budget>,
    ) -> Result<Self, Diagnostic> {
        budget.begin("looking for place invariants");
        let mut invariants = Invariants::find_within(&net, options.invariants, &budget);
        // Bounds rest on the invariants, so they are multiplied out once more.
        if !invariants.check(&net) {
            invariants = Invariants::default();
        }
        Self::knowing(net, invariants, options, budget)
    }

    /// As [`within`](Self::within), with invariants that are known already. They are believed.
    pub fn knowing(
        net: Net,
        invariants: Invariants,
        options: NetOptions,
        budget: std::sync::Arc<Budget>,
    ) -> Result<Self, Diagnostic> {
        let poll = || match budget.poll() {
            None => Ok(()),
            Some(spent) => Err(Diagnostic::error(
                "PNM051",
                spent.to_string(),
                Span::default(),
            )),
        };
        poll()?;
        budget.begin("preparing the net for execution");
        let bounds = Bounds::new(&net, &invariants);
        let mut layout = LayoutBuilder::new();
        let mut failures = Vec::new();
        let mut failure_of = vec![None; net.place_count()];
        let range = |place| field_range(&net, &bounds, place, &options);
        let ranges: Vec<(i64, i64)> = net.places().map(range).collect::<Result<_, _>>()?;
        let bits: Vec<u32> = ranges
            .iter()
            .map(|(min, max)| u64::BITS - (max - min).unsigned_abs().leading_zeros())
            .collect();
        let mut field_of = vec![FieldId::new(0); net.place_count()];
        for word in packing::words(&net, &invariants, &bits) {
            layout.align_to_word();
            for place in word {
                let range = ranges[place.index()];
                let name = net.place_label(place);
                field_of[place.index()] = layout.field(name, range, FieldKind::Integer, None);
            }
        }
        for place in net.places() {
            let range = ranges[place.index()];
            let fits = bounds
                .bound(place)
                .is_some_and(|bound| bound <= u64::from(u32::MAX));
            let (kind, what) = match bounds.source(place) {
                BoundSource::Constant => continue,
                BoundSource::Invariant | BoundSource::Firings if fits => continue,
                BoundSource::Claimed => (
                    FailureKind::BrokenPromise,
                    "one token, though the file says it is safe".to_owned(),
                ),
                BoundSource::Invariant | BoundSource::Firings | BoundSource::Unknown => {
                    (FailureKind::Unrepresented, format!("{} tokens", range.1))
                }
            };
            failure_of[place.index()] = Some(failures.len() as u32);
            failures.push(FailureSite {
                kind,
                message: format!(
                    "the place `{}` gets more than {what}",
                    net.place_label(place)
                ),
                span: None,
            });
        }
        let failed =
            (!failures.is_empty()).then(|| layout.field("failed", (0, 1), FieldKind::Failed, None));
        let layout = layout.finish();
        let error_state = failed.map(|failed| {
            let mut state = vec![0; layout.words()];
            layout.field(failed).set(&mut state, 1);
            state
        });
        poll()?;
        let (mut structure, meanings) = structure(&net, &field_of, failed);
        poll()?;
        structure.failures = failures;
        structure.error_state = error_state;
        let tables = Tables::new(&net, &layout, &field_of, &failure_of, failed);
        Ok(Self {
            net,
            layout,
            structure,
            meanings,
            invariants,
            bounds,
            tables,
            field_of,
            failed,
            overflow: FirstOverflow(AtomicU64::new(FirstOverflow::NONE)),
            budget,
        })
    }

    /// What everything that is done about it may take.
    pub fn shared_budget(&self) -> &std::sync::Arc<Budget> {
        &self.budget
    }

    /// The net.
    pub fn net(&self) -> &Net {
        &self.net
    }

    /// The bounds that the encoding rests on.
    pub fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    /// The invariants that the bounds and the strongest relations rest on.
    pub fn invariants(&self) -> &Invariants {
        &self.invariants
    }

    /// The field of a place.
    pub fn field(&self, place: PlaceId) -> FieldId {
        self.field_of[place.index()]
    }

    /// The state formula that a label stands for; none if it is a guard.
    pub fn formula(&self, label: LabelId) -> Option<&Formula> {
        match self.meanings.get(label.index())? {
            Meaning::Formula(formula) => Some(formula),
            Meaning::AtLeast(..) | Meaning::Below(..) => None,
        }
    }

    /// The place, and what a label asks of its tokens: at least so many, or fewer; none if it is a
    /// formula.
    pub fn threshold(&self, label: LabelId) -> Option<(PlaceId, CompareOp, u32)> {
        match self.meanings.get(label.index())? {
            Meaning::AtLeast(place, tokens) => Some((*place, CompareOp::GreaterOrEqual, *tokens)),
            Meaning::Below(place, tokens) => Some((*place, CompareOp::Less, *tokens)),
            Meaning::Formula(_) => None,
        }
    }

    /// The tokens of a place in a state.
    pub fn tokens(&self, state: &[u32], place: PlaceId) -> Tokens {
        self.tables.tokens(state, place)
    }

    /// Whether some step failed since it was [forgotten](Self::forget_overflow), because a place
    /// would have had more tokens than fit: then not all runs of the net were seen.
    pub fn has_overflown(&self) -> bool {
        self.overflow.get().is_some()
    }

    /// Forgets that a step failed.
    pub fn forget_overflow(&self) {
        self.overflow.forget();
    }

    /// The number of tokens in a state, and of its fullest place.
    pub fn census(&self, state: &[u32]) -> Census {
        self.tables.census(state)
    }

    /// Adds a state formula as a label, for the proposition of a property; none if the formula
    /// has temporal operators.
    pub fn add_label(&mut self, formula: Formula) -> Option<LabelId> {
        if !formula.is_state_formula() {
            return None;
        }
        let places = formula.places(&self.net).into_iter();
        let mut tests: Vec<FieldId> = places.map(|place| self.field(place)).collect();
        // A formula is false in the error state, whatever it says.
        tests.extend(self.failed);
        self.structure.labels.push(Label {
            text: formula.display(&self.net).to_string(),
            tests,
        });
        self.meanings.push(Meaning::Formula(formula));
        Some(LabelId::new(self.meanings.len() - 1))
    }

    /// Adds the property that a state formula holds in every reachable state; none if the
    /// formula has temporal operators.
    pub fn add_invariant(
        &mut self,
        name: impl Into<String>,
        holds: Formula,
        span: Option<Span>,
    ) -> Option<LabelId> {
        let violated_by = self.add_label(holds.negated())?;
        self.structure.properties.push(Property {
            name: name.into(),
            kind: PropertyKind::Invariant,
            violated_by,
            span,
        });
        Some(violated_by)
    }

    /// Adds the question whether a state formula holds in some reachable state; none if the formula
    /// has temporal operators.
    pub fn add_reachable(&mut self, name: impl Into<String>, wanted: Formula) -> Option<LabelId> {
        let label = self.add_label(wanted)?;
        self.structure.properties.push(Property {
            name: name.into(),
            kind: PropertyKind::Reachable,
            violated_by: label,
            span: None,
        });
        Some(label)
    }
}

impl System for NetSystem {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn structure(&self) -> &Structure {
        &self.structure
    }

    fn initial_states(&self) -> Vec<u32> {
        let mut state = vec![0; self.layout.words()];
        for place in self.net.places() {
            let field = self.layout.field(self.field(place));
            // The range was checked against the initial marking when the layout was made.
            field.set(&mut state, self.net.initial(place) as i64);
        }
        state
    }

    fn executor(&self) -> Box<dyn Executor + '_> {
        Box::new(NetExecutor::new(
            &self.tables,
            &self.meanings,
            self.structure.error_state.as_deref(),
            &self.overflow,
        ))
    }

    fn budget(&self) -> &Budget {
        &self.budget
    }

    fn left_out(&self) -> Option<String> {
        let (transition, site) = self.overflow.get()?;
        let transition = self.net.transition_label(transition);
        let what = &self.structure.failures[site].message;
        Some(format!("after the transition `{transition}`, {what}"))
    }

    fn defeats_reduction(&self) -> bool {
        self.has_overflown()
    }

    fn relations(&self, level: RelationLevel) -> Relations {
        self.budget.begin("computing relations");
        match level {
            RelationLevel::Sets => Relations::from_sets_within(&self.structure, &self.budget),
            RelationLevel::Syntax | RelationLevel::Exact => relations::from_arcs(self, false),
            RelationLevel::Reach | RelationLevel::Located => relations::from_arcs(self, true),
        }
    }
}

/// The values that the field of a place can hold.
fn field_range(
    net: &Net,
    bounds: &Bounds,
    place: PlaceId,
    options: &NetOptions,
) -> Result<(i64, i64), Diagnostic> {
    let initial = net.initial(place);
    let too_many = || {
        Diagnostic::error(
            "PNM070",
            format!(
                "the place `{}` has too many tokens: {initial}",
                net.place_label(place)
            ),
            Span::default(),
        )
        .help("places whose marking changes can hold 2^32 - 1 tokens")
    };
    let constant = bounds.source(place) == BoundSource::Constant;
    let largest = if constant {
        i64::MAX as u64
    } else {
        u64::from(u32::MAX)
    };
    if initial > largest {
        return Err(too_many());
    }
    if constant {
        return Ok((initial as i64, initial as i64));
    }
    let max = match bounds.bound(place) {
        Some(bound) => bound.min(u64::from(u32::MAX)),
        None => options.most_tokens(),
    };
    Ok((0, max.max(initial) as i64))
}

/// Transitions with their guards, and the guards as labels.
fn structure(
    net: &Net,
    field_of: &[FieldId],
    failed: Option<FieldId>,
) -> (Structure, Vec<Meaning>) {
    let mut structure = Structure::default();
    let mut meanings = Vec::new();
    let mut known: RapidHashMap<(PlaceId, u32, bool), LabelId> = RapidHashMap::default();
    for transition in net.transitions() {
        let enough = net.pre(transition).iter().map(|arc| (arc, true));
        let few = net.inhibitors(transition).iter().map(|arc| (arc, false));
        let guards = enough
            .chain(few)
            .map(|(arc, enough)| {
                let (place, tokens) = (arc.node, arc.weight);
                *known.entry((place, tokens, enough)).or_insert_with(|| {
                    let op = if enough { ">=" } else { "<" };
                    let mut tests = vec![field_of[place.index()]];
                    // Nothing is enabled in the error state, where places are empty.
                    tests.extend(failed.filter(|_| !enough));
                    structure.labels.push(Label {
                        text: format!("{} {op} {tokens}", net.place_label(place)),
                        tests,
                    });
                    meanings.push(match enough {
                        true => Meaning::AtLeast(place, tokens),
                        false => Meaning::Below(place, tokens),
                    });
                    LabelId::new(meanings.len() - 1)
                })
            })
            .collect();
        // An increment looks at what it increments.
        let changed: Vec<FieldId> = net
            .effects(transition)
            .map(|(place, _)| field_of[place.index()])
            .collect();
        structure.transitions.push(Transition {
            name: net.transition_label(transition).to_owned(),
            guards,
            reads: changed.clone(),
            writes: changed,
            deterministic: true,
            ..Transition::default()
        });
    }
    (structure, meanings)
}
