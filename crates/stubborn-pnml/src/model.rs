//! From a PNML text to a [`Model`]: the net, and what the file's own ids mean in it.
//!
//! Properties speak of the places and transitions of the file. In a P/T net each is one node
//! of the [`Net`]; in a coloured net it is the range of its unfolded nodes (the unfolder keeps
//! them together), so that the cardinality of a place is a sum over the range and a transition
//! is fireable if any in the range is.

use std::borrow::Cow;
use std::ops::Range;

use rapidhash::RapidHashMap;
use stubborn_diagnostics::{Diagnostic, SourceFile, Span};
use stubborn_system::budget::UNLIMITED;
use stubborn_system::{Budget, Patience};

use crate::coloured;
use crate::raw::{self, ArcKind, NetKind, RawNet, RawUnits};
use crate::report::{Report, gave_up, poll, shown};
use crate::unfold::UnfoldLimits;
use crate::xml::{Dropped, Step};
use stubborn_net::Names;
use stubborn_net::{Net, NetBuilder};
use stubborn_net::{Nupn, NupnError, UnitId};
use stubborn_net::{PlaceId, TransitionId};

/// A net with the meaning of the file's ids.
#[derive(Clone, Debug)]
pub struct Model {
    /// The net; of a coloured net, the unfolding.
    pub net: Net,
    /// True if the file has a coloured net and [`Model::net`] is its unfolding.
    pub coloured: bool,
    pub(crate) places: SourceNodes,
    pub(crate) transitions: SourceNodes,
}

impl Model {
    /// The numbers of the places that a word means in a property file: the place with this id, or else
    /// with this name.
    pub(crate) fn place(&self, word: &str) -> Result<Range<u32>, Which> {
        self.places.by_id_or_name(word)
    }

    /// As [`place`](Self::place), of transitions.
    pub(crate) fn transition(&self, word: &str) -> Result<Range<u32>, Which> {
        self.transitions.by_id_or_name(word)
    }

    /// The places that a place of the file stands for; none if the file has no such place.
    pub fn places_of(&self, id: &str) -> Option<impl ExactSizeIterator<Item = PlaceId> + use<>> {
        Some(self.places.find(id)?.map(PlaceId))
    }

    /// The transitions that a transition of the file stands for; none if the file has no such
    /// transition, and an empty range if no instance of it can ever fire.
    pub fn transitions_of(
        &self,
        id: &str,
    ) -> Option<impl ExactSizeIterator<Item = TransitionId> + use<>> {
        Some(self.transitions.find(id)?.map(TransitionId))
    }

    /// The places of the file in its order, each with its places in the net.
    ///
    /// The contest's questions about all places or transitions (one-safe, stable marking,
    /// quasi-liveness, liveness) are about those of the file: a place of a coloured net is
    /// one-safe if its colours never hold two tokens together, a transition is quasi-live if any
    /// of its instances can fire.
    pub fn place_groups(&self) -> impl Iterator<Item = (&str, Range<u32>)> {
        self.places.groups()
    }

    /// The transitions of the file in its order, each with its transitions in the net.
    pub fn transition_groups(&self) -> impl Iterator<Item = (&str, Range<u32>)> {
        self.transitions.groups()
    }

    /// The ids of the places of the file, in its order.
    pub fn source_places(&self) -> &Names {
        &self.places.names
    }

    /// The ids of the transitions of the file, in its order.
    pub fn source_transitions(&self) -> &Names {
        &self.transitions.names
    }

    /// A model around a net that was built in a program.
    pub fn from_net(net: Net) -> Self {
        let mut places = Names::new();
        let mut transitions = Names::new();
        let (mut place_labels, mut transition_labels) = (Labels::default(), Labels::default());
        for place in net.places() {
            let number = places.push(net.place_name(place)) as u32;
            place_labels.add(number, net.place_name(place), net.place_label(place));
        }
        for transition in net.transitions() {
            let number = transitions.push(net.transition_name(transition)) as u32;
            let label = net.transition_label(transition);
            transition_labels.add(number, net.transition_name(transition), label);
        }
        Self {
            places: SourceNodes::one_to_one(places, place_labels),
            transitions: SourceNodes::one_to_one(transitions, transition_labels),
            coloured: false,
            net,
        }
    }
}

/// Why a word means no node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// There is none of this name.
    None,
    /// It may be either of two, which have these ids.
    Either(String, String),
}

impl Which {
    /// The message about it.
    pub(crate) fn message(&self, kind: &str, word: &str, span: Span) -> Diagnostic {
        let word = shown(word);
        match self {
            Self::None => {
                let what = format!("the net has no {kind} `{word}`");
                let help = format!("a {kind} is named by its `id` or its `name` in the file");
                Diagnostic::error("PNM064", what, span).help(help)
            }
            Self::Either(one, other) => {
                let (one, other) = (shown(one), shown(other));
                let what = format!(
                    "`{word}` may mean two: the {kind} with the id `{one}` and the one with the id \
                     `{other}`"
                );
                let help =
                    format!("`\"id:{one}\"` means the first and `\"id:{other}\"` the second");
                Diagnostic::error("PNM082", what, span).help(help)
            }
        }
    }
}

/// The names of nodes that are called otherwise than their ids.
#[derive(Clone, Debug, Default)]
pub(crate) struct Labels {
    nodes: RapidHashMap<Box<str>, Vec<u32>>,
}

impl Labels {
    /// Adds the label of a node, if it says something the id does not.
    pub(crate) fn add(&mut self, node: u32, id: &str, label: &str) {
        if !label.is_empty() && label != id {
            self.nodes.entry(label.into()).or_default().push(node);
        }
    }

    fn of(&self, label: &str) -> &[u32] {
        self.nodes.get(label).map_or(&[], |nodes| nodes)
    }
}

/// The nodes of the file, each with the range of its nodes in the net.
#[derive(Clone, Debug)]
pub(crate) struct SourceNodes {
    names: Names,
    /// Node `i` of the file is `starts[i]..starts[i + 1]` in the net.
    starts: Vec<u32>,
    /// Positions in `names`, ordered by name.
    by_name: Vec<u32>,
    labels: Labels,
}

impl SourceNodes {
    /// `starts` has one entry more than `names`.
    pub(crate) fn new(names: Names, starts: Vec<u32>, labels: Labels) -> Self {
        let mut by_name: Vec<u32> = (0..names.len() as u32).collect();
        by_name.sort_unstable_by(|a, b| names.get(*a as usize).cmp(names.get(*b as usize)));
        Self {
            names,
            starts,
            by_name,
            labels,
        }
    }

    pub(crate) fn one_to_one(names: Names, labels: Labels) -> Self {
        let starts = (0..=names.len() as u32).collect();
        Self::new(names, starts, labels)
    }

    /// The same nodes of the file, with other ranges.
    pub(crate) fn with_ranges(&self, starts: Vec<u32>) -> Self {
        Self {
            starts,
            ..self.clone()
        }
    }

    fn groups(&self) -> impl Iterator<Item = (&str, Range<u32>)> {
        let ranges = self.starts.windows(2).map(|pair| pair[0]..pair[1]);
        self.names.iter().zip(ranges)
    }

    fn range(&self, node: u32) -> Range<u32> {
        self.starts[node as usize]..self.starts[node as usize + 1]
    }

    fn number(&self, id: &str) -> Option<u32> {
        let at = self
            .by_name
            .binary_search_by(|n| self.names.get(*n as usize).cmp(id))
            .ok()?;
        Some(self.by_name[at])
    }

    fn find(&self, id: &str) -> Option<Range<u32>> {
        self.number(id).map(|node| self.range(node))
    }

    /// The node that a word means: its id counts, and its name if there is no such id.
    fn by_id_or_name(&self, word: &str) -> Result<Range<u32>, Which> {
        self.find(word).map_or_else(|| self.called(word), Ok)
    }

    /// The node with an id or a name, or with the id alone after `id:`.
    pub(crate) fn called(&self, word: &str) -> Result<Range<u32>, Which> {
        let by_name = self.labels.of(word).iter().copied();
        let mut all = self.number(word).into_iter().chain(by_name);
        match (all.next(), all.next()) {
            (Some(node), None) => Ok(self.range(node)),
            (Some(one), Some(other)) => {
                let id = |node| self.names.get(node as usize).to_owned();
                Err(Which::Either(id(one), id(other)))
            }
            (None, _) => {
                let id = word.strip_prefix("id:").and_then(|id| self.find(id));
                id.ok_or(Which::None)
            }
        }
    }
}

/// Reads a PNML text. The model is there unless there is an error among the messages.
pub fn load(source: &SourceFile) -> (Option<Model>, Vec<Diagnostic>) {
    load_with(source, &UnfoldLimits::default())
}

/// As [`load`], with limits of one's own for the unfolding of coloured nets.
pub fn load_with(source: &SourceFile, limits: &UnfoldLimits) -> (Option<Model>, Vec<Diagnostic>) {
    load_within(source, limits, &UNLIMITED)
}

/// As [`load_with`], within a budget: there is no model if it is spent.
pub fn load_within(
    source: &SourceFile,
    limits: &UnfoldLimits,
    budget: &Budget,
) -> (Option<Model>, Vec<Diagnostic>) {
    let mut report = Report::default();
    // Offsets of 32 bits: a longer text could only be reported at wrong places.
    if u32::try_from(source.text().len()).is_err() {
        report.fatal(Diagnostic::error(
            "PNM016",
            "files of 4 GiB and more are not supported",
            Span::default(),
        ));
        return (None, report.into_messages());
    }
    let model = read_model(source.text(), limits, budget, &mut report);
    match model {
        Ok(model) => {
            let usable = !report.has_errors();
            (model.filter(|_| usable), report.into_messages())
        }
        Err(fatal) => {
            report.fatal(*fatal);
            (None, report.into_messages())
        }
    }
}

/// Turns the bytes of a file into text: UTF-8, or ISO 8859-1 where the file declares it.
pub fn decode(bytes: Vec<u8>) -> Result<String, Diagnostic> {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]).to_ascii_lowercase();
    if head.contains("encoding=\"iso-8859-1\"") || head.contains("encoding='iso-8859-1'") {
        return Ok(bytes.iter().map(|byte| char::from(*byte)).collect());
    }
    match String::from_utf8(bytes) {
        Ok(mut text) => {
            if text.starts_with('\u{feff}') {
                text.drain(..'\u{feff}'.len_utf8());
            }
            Ok(text)
        }
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            Err(Diagnostic::error(
                "PNM001",
                "the file is not UTF-8 text",
                Span::new(at, at + 1),
            )
            .help("save it as UTF-8"))
        }
    }
}

fn read_model(
    text: &str,
    limits: &UnfoldLimits,
    budget: &Budget,
    report: &mut Report,
) -> Step<Option<Model>> {
    budget.begin("parsing the net");
    let raw = raw::read(text, budget, report)?;
    let nodes = NodeTable::new(&raw, report)?;
    let model = match raw.kind {
        NetKind::PlaceTransition => place_transition(&raw, &nodes, budget, report)?,
        NetKind::Symmetric => coloured::model(&raw, &nodes, (limits, budget), report)?,
    };
    poll(budget)?;
    if !report.has_errors() {
        let mut dropped = Dropped::default();
        raw.forest.report_unread(&mut dropped)?;
        dropped.report(report)?;
    }
    Ok(model)
}

/// What an id of the file names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Node {
    /// The place at this position.
    Place(u32),
    /// The transition at this position.
    Transition(u32),
}

/// All ids of places and transitions.
pub(crate) struct NodeTable<'r> {
    by_id: RapidHashMap<&'r str, Node>,
}

impl<'r> NodeTable<'r> {
    fn new(raw: &'r RawNet<'_>, report: &mut Report) -> Step<Self> {
        let mut by_id: RapidHashMap<&'r str, Node> = RapidHashMap::default();
        let places = raw.places.iter().enumerate();
        let transitions = raw.transitions.iter().enumerate();
        let nodes = places
            .map(|(i, place)| (place.id.as_ref(), Node::Place(i as u32), place.span))
            .chain(transitions.map(|(i, transition)| {
                (
                    transition.id.as_ref(),
                    Node::Transition(i as u32),
                    transition.span,
                )
            }));
        for (id, node, span) in nodes {
            if let Some(first) = by_id.insert(id, node) {
                let first_span = match first {
                    Node::Place(i) => raw.places[i as usize].span,
                    Node::Transition(i) => raw.transitions[i as usize].span,
                };
                report.add(
                    Diagnostic::error(
                        "PNM008",
                        format!("two nodes have the id `{}`", shown(id)),
                        span,
                    )
                    .related(first_span, "the first one"),
                )?;
            }
        }
        Ok(Self { by_id })
    }

    fn get(&self, id: &str) -> Option<Node> {
        self.by_id.get(id).copied()
    }
}

/// An arc whose ends are known.
#[derive(Clone, Copy)]
pub(crate) enum Ends {
    /// From a place to a transition.
    Input(PlaceId, TransitionId),
    /// From a transition to a place.
    Output(TransitionId, PlaceId),
}

/// Finds the nodes of an arc; reports what is wrong with it.
pub(crate) fn resolve_arc(
    raw: &RawNet<'_>,
    arc: usize,
    nodes: &NodeTable<'_>,
    report: &mut Report,
) -> Step<Option<Ends>> {
    let ends = ends(raw, arc, nodes, report)?;
    let arc = &raw.arcs[arc];
    if arc.kind != ArcKind::Normal && matches!(ends, Some(Ends::Output(..))) {
        let what = "an inhibitor or read arc goes from a place to a transition";
        report.error("PNM015", what, arc.span)?;
        return Ok(None);
    }
    Ok(ends)
}

/// Refuses read arcs beside other arcs from the same place to the same transition: whether the
/// transition then needs the tokens of both or of the larger one, tools do not agree on.
pub(crate) fn check_reads(
    raw: &RawNet<'_>,
    nodes: &NodeTable<'_>,
    report: &mut Report,
) -> Step<()> {
    if raw.arcs.iter().all(|arc| arc.kind != ArcKind::Read) {
        return Ok(());
    }
    let mut first: RapidHashMap<(Node, Node), ArcKind> = RapidHashMap::default();
    for arc in raw.arcs.iter().filter(|arc| arc.kind != ArcKind::Inhibitor) {
        let (Some(source), Some(target)) = (nodes.get(&arc.source), nodes.get(&arc.target)) else {
            continue;
        };
        let other = first.insert((source, target), arc.kind);
        if other.is_some_and(|other| other == ArcKind::Read || arc.kind == ArcKind::Read) {
            let what = "a read arc stands beside another arc between the same nodes";
            report.add(
                Diagnostic::error("PNM015", what, arc.span)
                    .help("make one arc of them, with the tokens that are needed"),
            )?;
        }
    }
    Ok(())
}

fn ends(
    raw: &RawNet<'_>,
    arc: usize,
    nodes: &NodeTable<'_>,
    report: &mut Report,
) -> Step<Option<Ends>> {
    let arc = &raw.arcs[arc];
    let mut ends = [None, None];
    for (end, (id, what)) in ends
        .iter_mut()
        .zip([(&arc.source, "source"), (&arc.target, "target")])
    {
        *end = nodes.get(id);
        if end.is_none() {
            report.add(
                Diagnostic::error(
                    "PNM009",
                    format!("the {what} of this arc, `{}`, does not exist", shown(id)),
                    arc.span,
                )
                .help("arcs connect places and transitions by their `id`"),
            )?;
        }
    }
    Ok(match ends {
        [Some(Node::Place(p)), Some(Node::Transition(t))] => {
            Some(Ends::Input(PlaceId(p), TransitionId(t)))
        }
        [Some(Node::Transition(t)), Some(Node::Place(p))] => {
            Some(Ends::Output(TransitionId(t), PlaceId(p)))
        }
        [Some(a), Some(_)] => {
            let kind = if matches!(a, Node::Place(_)) {
                "places"
            } else {
                "transitions"
            };
            report.error("PNM010", format!("this arc connects two {kind}"), arc.span)?;
            None
        }
        _ => None,
    })
}

fn place_transition(
    raw: &RawNet<'_>,
    nodes: &NodeTable<'_>,
    budget: &Budget,
    report: &mut Report,
) -> Step<Option<Model>> {
    let mut patience = Patience::new(budget, 1024);
    let mut builder = NetBuilder::new(raw.name.as_ref());
    for place in &raw.places {
        let id = builder.place(&place.id, place.initial.unwrap_or(0));
        if let Some(label) = differing(&place.label, &place.id) {
            builder.label_place(id, label);
        }
    }
    for transition in &raw.transitions {
        let id = builder.transition(&transition.id);
        if let Some(label) = differing(&transition.label, &transition.id) {
            builder.label_transition(id, label);
        }
    }
    for (index, arc) in raw.arcs.iter().enumerate() {
        if let Some(spent) = patience.spent() {
            return Err(gave_up(spent));
        }
        let weight = arc.weight.unwrap_or(1);
        match resolve_arc(raw, index, nodes, report)? {
            Some(Ends::Input(place, transition)) => match arc.kind {
                ArcKind::Normal => builder.input(place, transition, weight),
                ArcKind::Read => {
                    builder.input(place, transition, weight);
                    builder.output(transition, place, weight);
                }
                ArcKind::Inhibitor => builder.inhibitor(place, transition, weight),
            },
            Some(Ends::Output(transition, place)) => builder.output(transition, place, weight),
            None => {}
        }
    }
    check_reads(raw, nodes, report)?;
    if let Some(units) = &raw.units
        && let Some(nupn) = resolve_units(raw, units, nodes, report)?
    {
        builder.units(nupn);
    }
    match builder.build() {
        Ok(net) => Ok(Some(Model::from_net(net))),
        Err(error) => {
            report.error("PNM013", error.to_string(), raw.span)?;
            Ok(None)
        }
    }
}

/// The label, where it says something the id does not.
pub(crate) fn differing<'l>(label: &'l Option<Cow<'_, str>>, id: &str) -> Option<&'l str> {
    label
        .as_deref()
        .filter(|label| !label.is_empty() && *label != id)
}

/// The unit tree. Units that make no sense are ignored with a warning: they are a promise about
/// the net, and without it the answers stay right.
fn resolve_units(
    raw: &RawNet<'_>,
    units: &RawUnits<'_>,
    nodes: &NodeTable<'_>,
    report: &mut Report,
) -> Step<Option<Nupn>> {
    const NO_UNIT: UnitId = UnitId(u32::MAX);
    let by_id: RapidHashMap<&str, u32> = units
        .units
        .iter()
        .enumerate()
        .map(|(i, unit)| (unit.id.as_ref(), i as u32))
        .collect();
    let mut unit_of = vec![NO_UNIT; raw.places.len()];
    let mut parent = vec![None; units.units.len()];
    let mut problem: Option<(String, Span)> = None;
    if by_id.len() < units.units.len() {
        problem = Some(("two units have the same id".to_owned(), units.span));
    }
    for (index, unit) in units.units.iter().enumerate() {
        let this = UnitId(index as u32);
        for place in &unit.places {
            match nodes.get(place) {
                Some(Node::Place(p)) if unit_of[p as usize] == NO_UNIT => {
                    unit_of[p as usize] = this;
                }
                Some(Node::Place(_)) => {
                    problem = Some((
                        format!("the place `{}` is in two units", shown(place)),
                        unit.span,
                    ));
                }
                _ => {
                    problem = Some((format!("there is no place `{}`", shown(place)), unit.span));
                }
            }
        }
        for inner in &unit.subunits {
            match by_id.get(inner.as_ref()) {
                Some(&inner) if parent[inner as usize].is_none() => {
                    parent[inner as usize] = Some(this);
                }
                Some(_) => {
                    problem = Some((
                        format!("the unit `{}` lies in two units", shown(inner)),
                        unit.span,
                    ));
                }
                None => {
                    problem = Some((format!("there is no unit `{}`", shown(inner)), unit.span));
                }
            }
        }
    }
    if problem.is_none() {
        match Nupn::new(units.safe, unit_of, parent) {
            Ok(nupn) => {
                let tokens = raw.places.iter().map(|place| place.initial.unwrap_or(0));
                let initial: Vec<u64> = tokens.collect();
                let broken = if units.safe {
                    nupn.violated_by(&initial)
                } else {
                    None
                };
                match broken {
                    None => return Ok(Some(nupn)),
                    Some(place) => {
                        let id = shown(&raw.places[place.index()].id);
                        let what = format!("the initial marking of `{id}` is not unit-safe");
                        problem = Some((what, units.span));
                    }
                }
            }
            Err(NupnError::PlaceNotInOneUnit(p)) => {
                let id = shown(&raw.places[p.index()].id);
                problem = Some((format!("the place `{id}` is in no unit"), units.span));
            }
            Err(NupnError::NotATree(unit)) => {
                let unit = &units.units[unit.0 as usize];
                let what = format!("the unit `{}` lies in itself", shown(&unit.id));
                problem = Some((what, unit.span));
            }
        }
    }
    if let Some((what, span)) = problem {
        report.add(
            Diagnostic::warning("PNM018", what, span)
                .help("the units are ignored, with their promise that the net is safe"),
        )?;
    }
    Ok(None)
}
