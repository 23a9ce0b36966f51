//! The one depth-first walk behind all emptiness checks and provisos.
//!
//! It keeps a path, the components that are still open (path-based, with the marks collected
//! in each: Couvreur, *On-the-fly verification of linear temporal logic*, 1999; Renault,
//! Duret-Lutz, Kordon, Poitrenaud, *Three SCC-based emptiness checks for generalized Büchi
//! automata*, 2013), and what the proviso needs to know of the nodes in them. Nodes of
//! complete components only keep flags in the space. A node is entered once. Its list of
//! edges may grow while it is the last of the path: at once, or when all others were taken
//! and the walk is about to leave it; whether it is the root of its component is decided
//! after that.
//!
//! What the proviso decides is in `watch`, the second pass of a nested search in `nested`.
//!
//! Nodes through which no accepting cycle goes (*loose* ones: the automaton is in a component
//! without any) belong to no component of interest. After so many nodes that a violation is not
//! near, they are explored some at a time, in any order, and what they lead to is where walks start.

use rapidhash::RapidHashSet;
use stubborn_ltl::automaton::Marks;
use stubborn_search::Limit;

use crate::experiments::ahead::settle;
use crate::places::Places;
use crate::proviso::{CycleProviso, EdgeOrder, Rule};
use crate::space::{Counts, Edge, Node, Space, flags, known};

/// How acceptance is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Emptiness {
    /// By strongly connected components: any number of acceptance sets, and a violation is
    /// found as soon as its cycle is closed.
    #[default]
    Components,
    /// By a nested depth-first search for one acceptance set (Courcoubetis, Vardi, Wolper,
    /// Yannakakis, *Memory-efficient algorithms for the verification of temporal
    /// properties*, 1992, with accepting edges instead of states). In weak components of the
    /// automaton any cycle will do, and there is no second pass. For comparison.
    Nested,
}

impl Emptiness {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Components, Self::Nested];

    /// As the user calls it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Components => "scc",
            Self::Nested => "ndfs",
        }
    }
}

impl std::str::FromStr for Emptiness {
    type Err = UnknownEmptiness;

    fn from_str(text: &str) -> Result<Self, UnknownEmptiness> {
        let found = Self::ALL.into_iter().find(|check| check.name() == text);
        found.ok_or_else(|| UnknownEmptiness(text.into()))
    }
}

/// A name that is no emptiness check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownEmptiness(String);

impl std::fmt::Display for UnknownEmptiness {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = Emptiness::ALL.map(Emptiness::name).join(", ");
        write!(out, "`{}` is no emptiness check; there are {names}", self.0)
    }
}

impl std::error::Error for UnknownEmptiness {}

/// Whether anything dangerous was seen behind a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colour {
    /// Expanded, or all successors were green when it was left: no cycle without expanded
    /// node goes through it.
    Green,
    /// On the path, only green successors so far.
    Orange,
    /// On the path, with a successor that is not green.
    Purple,
    /// Left while purple.
    Red,
}

/// A place among the nodes of open components.
pub(crate) type Place = u32;

/// Nodes that are explored at once, where order does not matter: their successors make a good batch
/// for a store. The last loose ones that were found come first, so that the search goes into depth.
pub(crate) const ABREAST: usize = 16;

/// Nodes of the path that a node can reach: the deepest two, and a bound for the depth of
/// the others (-1 if there are none).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reach {
    pub(crate) nodes: [Option<Place>; 2],
    pub(crate) others: i32,
}

impl Reach {
    pub(crate) const NOTHING: Self = Self {
        nodes: [None; 2],
        others: -1,
    };
}

/// A node of an open component.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Live {
    pub(crate) node: Node,
    /// Its depth on the path, also after it was left.
    pub(crate) depth: u32,
    pub(crate) on_path: bool,
    pub(crate) colour: Colour,
    /// To be expanded before it is left.
    pub(crate) marked: bool,
    pub(crate) expanded: bool,
    /// What it reached when it was left.
    pub(crate) reach: Reach,
}

/// A node of the path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) place: Place,
    /// How many nodes had been entered when its edges were made; too many if that is not known.
    pub(crate) made: u64,
    /// Where its edges begin; they end where those of the next frame begin.
    pub(crate) first_edge: usize,
    pub(crate) next_edge: usize,
    /// Where its postponed edges begin.
    pub(crate) first_postponed: usize,
    /// The postponed edges have become the edges.
    pub(crate) late: bool,
    /// It was expanded when the walk was about to leave it.
    pub(crate) expanded_late: bool,
    /// One of its edges has all marks, and a second pass must find out about cycles.
    pub(crate) has_accepting_edge: bool,
    /// Every cycle through it is accepting, as a nested search knows.
    pub(crate) accepts_every_cycle: bool,
    /// The deepest bound of an interval that holds no expanded node yet; -1 if none.
    pub(crate) need: i32,
    /// The deepest destination that waits to be marked; -1 if none.
    pub(crate) collected: i32,
    pub(crate) reach: Reach,
}

/// A component as far as it is known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Root {
    /// Its first node.
    pub(crate) place: Place,
    /// The marks on its edges.
    pub(crate) inside: Marks,
    /// The marks of the edge by which it was entered.
    pub(crate) incoming: Marks,
}

/// What is known of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    New,
    OnPath(Place),
    Live(Place),
    Dead { dangerous: bool },
}

/// A walk.
pub struct Walk<'s, S: Space> {
    pub(crate) space: &'s mut S,
    pub(crate) proviso: CycleProviso,
    emptiness: Emptiness,
    /// What an accepting cycle has to collect; `None` to look at everything.
    all_marks: Option<Marks>,
    pub(crate) live: Vec<Live>,
    pub(crate) places: Places,
    pub(crate) frames: Vec<Frame>,
    pub(crate) edges: Vec<Edge>,
    pub(crate) postponed: Vec<Edge>,
    pub(crate) roots: Vec<Root>,
    /// A node that was about to be entered when a limit was reached, with the marks of the edge
    /// that leads to it. Then everything else is as it was before, and the walk can go on.
    pub(crate) waiting: Option<(Node, Marks)>,
    /// Loose nodes that were entered and not explored. They are dead already.
    pub(crate) loose: Vec<Node>,
    /// Where walks start, from the last ones explored.
    starts: Vec<Node>,
    /// So many nodes are entered depth-first, loose or not.
    pub(crate) depth_first: u64,
    /// The limit was reached while these were explored.
    pub(crate) is_between: bool,
    /// Depths of the expanded nodes of the path, increasing.
    pub(crate) expanded_depths: Vec<u32>,
    /// What was done so far.
    pub counts: Counts,
}

impl<'s, S: Space> Walk<'s, S> {
    /// A walk that looks for a cycle with all these marks, or only walks.
    pub fn new(
        space: &'s mut S,
        proviso: CycleProviso,
        emptiness: Emptiness,
        all_marks: Option<Marks>,
    ) -> Self {
        Self {
            space,
            proviso,
            emptiness,
            all_marks,
            live: Vec::new(),
            places: Places::default(),
            frames: Vec::new(),
            edges: Vec::new(),
            postponed: Vec::new(),
            roots: Vec::new(),
            waiting: None,
            loose: Vec::new(),
            starts: Vec::new(),
            depth_first: u64::MAX,
            is_between: false,
            expanded_depths: Vec::new(),
            counts: Counts::default(),
        }
    }

    /// Walks until an accepting cycle is found (then the last component contains it, see
    /// [`accepting_component`](Self::accepting_component)) or everything was seen. After a limit it
    /// goes on where it was, if it [can](Self::can_go_on).
    pub fn run(&mut self) -> Result<bool, Limit> {
        self.is_between = false;
        if let Some((node, incoming)) = self.waiting.take() {
            self.counts.states -= 1;
            self.push(node, incoming)?;
            if self.walk()? {
                return Ok(true);
            }
        } else if self.proviso.goes_ahead() {
            settle(self.space, self.proviso.rule)?;
        }
        let mut initial = Vec::new();
        self.space.initial(&mut initial)?;
        for node in initial {
            if self.sets_aside() && self.space.is_loose(node)? {
                self.set_aside(node);
            } else if self.walk_from(node)? {
                return Ok(true);
            }
        }
        while !self.loose.is_empty() {
            let from = self.loose.len().saturating_sub(ABREAST);
            let nodes = self.loose.split_off(from);
            let found = self.explore_loose(&nodes);
            if found.is_err() {
                // They are explored once more.
                self.is_between = self.frames.is_empty() && self.waiting.is_none();
                self.loose.extend(nodes);
            }
            if found? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Enters a node, if it is new, and all that it reaches but loose nodes.
    fn walk_from(&mut self, node: Node) -> Result<bool, Limit> {
        if self.status(node) != Status::New {
            return Ok(false);
        }
        self.push(node, Marks::NONE)?;
        self.walk()
    }

    /// Explores loose nodes, and walks from where they lead to.
    fn explore_loose(&mut self, nodes: &[Node]) -> Result<bool, Limit> {
        self.space.go_on(self.bytes(), &self.counts)?;
        // The path is empty, and so are the lists.
        let mut edges = std::mem::take(&mut self.postponed);
        edges.clear();
        let explored = self.space.kept_of_all(nodes, &mut edges);
        let taken = edges.len() as u64;
        let mut starts = std::mem::take(&mut self.starts);
        starts.clear();
        for edge in &edges {
            match edge.known() {
                dead if dead & u32::from(flags::DEAD) != 0 => {}
                loose if loose & known::LOOSE != 0 => self.set_aside(edge.to),
                _ => starts.push(edge.to),
            }
        }
        edges.clear();
        self.postponed = edges;
        let mut found = explored.map(|()| false);
        for start in &starts {
            if found == Ok(false) {
                found = self.walk_from(*start);
            }
        }
        self.starts = starts;
        if found.is_ok() {
            self.counts.transitions += taken;
        }
        found
    }

    /// Whether loose nodes are set aside.
    fn sets_aside(&self) -> bool {
        self.counts.states >= self.depth_first
    }

    /// Enters a loose node, if it is new.
    fn set_aside(&mut self, node: Node) {
        if self.space.set_flags(node, flags::DEAD) & flags::DEAD == 0 {
            self.counts.states += 1;
            self.loose.push(node);
        }
    }

    /// Whether a limit was reached between two nodes, and not in the middle of one.
    pub fn can_go_on(&self) -> bool {
        self.waiting.is_some() || self.is_between
    }

    /// After a cycle was found: the nodes of the component it lies in, as far as known.
    pub fn accepting_component(&self) -> impl Iterator<Item = Node> + '_ {
        let from = self.roots.last().map_or(0, |root| root.place as usize);
        self.live[from..].iter().map(|live| live.node)
    }

    /// After a cycle was found: the nodes of the component it lies in, and those whose
    /// component is not complete yet. The whole path to the cycle consists of such nodes, and of loose
    /// ones.
    pub(crate) fn into_regions(self) -> (RapidHashSet<Node>, RapidHashSet<Node>) {
        let open = self.live.iter().map(|live| live.node).collect();
        (self.accepting_component().collect(), open)
    }

    /// What an accepting cycle has to collect.
    pub(crate) fn wanted_marks(&self) -> Marks {
        self.all_marks.unwrap_or_default()
    }

    fn walk(&mut self) -> Result<bool, Limit> {
        while let Some(top) = self.frames.last().copied() {
            let depth = self.frames.len() - 1;
            if let Some(edge) = self.edges.get(top.next_edge).copied() {
                self.frames[depth].next_edge += 1;
                if self.follow(depth, edge)? {
                    return Ok(true);
                }
            } else if self.postponed.len() > top.first_postponed {
                let frame = &mut self.frames[depth];
                self.edges.truncate(frame.first_edge);
                self.edges
                    .extend(self.postponed.drain(frame.first_postponed..));
                frame.next_edge = frame.first_edge;
                frame.late = true;
            } else if !self.live[top.place as usize].expanded && self.on_exhausted(depth) {
                self.frames[depth].expanded_late = true;
                self.expand(depth)?;
            } else {
                if self.emptiness == Emptiness::Nested
                    && top.has_accepting_edge
                    && self.second_pass(self.live[top.place as usize].node)?
                {
                    return Ok(true);
                }
                self.pop(depth);
            }
        }
        Ok(false)
    }

    /// Takes one edge of the last node. True if it closes an accepting cycle.
    fn follow(&mut self, depth: usize, edge: Edge) -> Result<bool, Limit> {
        let frame = self.frames[depth];
        let status = self.status_behind(edge, frame.made);
        let first_look = !frame.late;
        let postpone = match self.proviso.order {
            EdgeOrder::AsGiven => false,
            EdgeOrder::KnownFirst => first_look && status == Status::New,
            EdgeOrder::UnknownFirst => {
                first_look && status != Status::New && status != Status::OnPath(frame.place)
            }
        };
        if postpone {
            self.postponed.push(edge);
            return Ok(false);
        }
        self.counts.transitions += 1;
        if !frame.accepts_every_cycle && self.all_marks.is_some_and(|all| edge.marks.contains(all))
        {
            self.frames[depth].has_accepting_edge = true;
        }
        if status == Status::New {
            self.push(edge.to, edge.marks)?;
            return Ok(false);
        }
        if let Status::OnPath(place) | Status::Live(place) = status {
            let inside = self.close_cycle(place, edge.marks);
            if self.emptiness == Emptiness::Components
                && self.all_marks.is_some_and(|all| inside.contains(all))
                || frame.accepts_every_cycle && matches!(status, Status::OnPath(_))
            {
                return Ok(true);
            }
        }
        if self.live[frame.place as usize].expanded {
            self.on_known_from_expanded(status, frame.expanded_late);
        } else if self.on_known(depth, status) {
            self.expand(depth)?;
        }
        Ok(false)
    }

    /// An edge from the last node to a node of an open component: all components between
    /// are one. Returns its marks.
    fn close_cycle(&mut self, to: Place, marks: Marks) -> Marks {
        let mut collected = marks;
        while let Some(root) = self.roots.pop() {
            collected = collected.union(root.inside);
            if root.place <= to {
                self.roots.push(Root {
                    inside: collected,
                    ..root
                });
                break;
            }
            collected = collected.union(root.incoming);
        }
        collected
    }

    pub(crate) fn status(&mut self, node: Node) -> Status {
        if let Some(place) = self.places.get(node, &self.live) {
            return self.status_at(place);
        }
        match self.space.flags(node) {
            known if known & flags::DEAD != 0 => Status::Dead {
                dangerous: known & flags::DANGEROUS != 0,
            },
            _ => Status::New,
        }
    }

    fn status_at(&self, place: Place) -> Status {
        match self.live[place as usize].on_path {
            true => Status::OnPath(place),
            false => Status::Live(place),
        }
    }

    /// The status of the end of an edge of the last node, whose edges were made when so many nodes
    /// had been entered.
    ///
    /// What was dead then is dead. What belonged to an open component still does, at the same place:
    /// the first node of that component is on the path, and not behind the last node. Anything else
    /// is new, unless something was entered since.
    fn status_behind(&mut self, edge: Edge, made: u64) -> Status {
        let known = edge.known();
        if known >= known::PLACE {
            return self.status_at(known - known::PLACE);
        }
        if known & known::UNTOLD != 0 {
            return self.status(edge.to);
        }
        if known & u32::from(flags::DEAD) != 0 {
            let dangerous = known & u32::from(flags::DANGEROUS) != 0;
            return Status::Dead { dangerous };
        }
        match made == self.counts.states {
            true => Status::New,
            false => self.status(edge.to),
        }
    }

    /// Looks up the ends of the edges of the last node, from one on, that were just made: all at
    /// once, so that one does not wait for the other. Those to loose nodes that are set aside are taken.
    fn recognise(&mut self, first: usize) {
        let mut kept = first;
        for at in first..self.edges.len() {
            let mut edge = self.edges[at];
            let known = edge.known();
            let is_dead = known & u32::from(flags::DEAD) != 0;
            let place = match known & (known::FRESH | known::UNTOLD) == 0 && !is_dead {
                true => self.places.get(edge.to, &self.live),
                false => None,
            };
            if known & known::LOOSE != 0 && place.is_none() && self.sets_aside() {
                self.counts.transitions += 1;
                if !is_dead {
                    self.set_aside(edge.to);
                }
                continue;
            }
            if let Some(place) = place.and_then(|place| place.checked_add(known::PLACE)) {
                edge = Edge::told(edge.to, edge.marks, place);
            }
            self.edges[kept] = edge;
            kept += 1;
        }
        self.edges.truncate(kept);
    }

    fn push(&mut self, node: Node, incoming: Marks) -> Result<(), Limit> {
        self.counts.states += 1;
        self.counts.depth = self.counts.depth.max(self.frames.len() as u64);
        if let Err(limit) = self.space.go_on(self.bytes(), &self.counts) {
            self.waiting = Some((node, incoming));
            return Err(limit);
        }
        let depth = self.frames.len();
        let place = self.live.len() as Place;
        self.places.insert(node, place);
        self.live.push(Live {
            node,
            depth: depth as u32,
            on_path: true,
            colour: Colour::Orange,
            marked: false,
            expanded: false,
            reach: Reach::NOTHING,
        });
        self.roots.push(Root {
            place,
            inside: Marks::NONE,
            incoming,
        });
        let first_edge = self.edges.len();
        self.frames.push(Frame {
            place,
            made: 0,
            first_edge,
            next_edge: first_edge,
            first_postponed: self.postponed.len(),
            late: false,
            expanded_late: false,
            has_accepting_edge: false,
            accepts_every_cycle: false,
            need: -1,
            collected: -1,
            reach: Reach::NOTHING,
        });
        let left_out = self.space.kept(node, &mut self.edges)?;
        self.recognise(first_edge);
        self.frames[depth].made = self.counts.states;
        if self.emptiness == Emptiness::Nested && self.all_marks.is_some() {
            self.frames[depth].accepts_every_cycle = self.space.accepts_every_cycle(node)?;
        }
        if !left_out {
            self.note_expanded(depth);
        } else if self.expands_at_once(node, first_edge) {
            self.expand(depth)?;
        }
        Ok(())
    }

    /// Whether a node that was just entered is expanded before any of its edges is taken.
    fn expands_at_once(&mut self, node: Node, first_edge: usize) -> bool {
        match self.proviso.rule {
            Rule::Full => true,
            Rule::ClosedSet => self.reaches_entered(first_edge),
            Rule::TwoPhase => self.edges.len() - first_edge != 1,
            _ => self.proviso.goes_ahead() && self.space.flags(node) & flags::EXPANDED != 0,
        }
    }

    /// Whether one of the edges of the last node leads to a node entered before.
    fn reaches_entered(&mut self, first_edge: usize) -> bool {
        (first_edge..self.edges.len()).any(|at| self.status(self.edges[at].to) != Status::New)
    }

    /// Puts the edges of the last node back that the reduction left out.
    fn expand(&mut self, depth: usize) -> Result<(), Limit> {
        let node = self.live[self.frames[depth].place as usize].node;
        self.counts.expanded_by_proviso += 1;
        self.space.set_flags(node, flags::EXPANDED);
        let first = self.edges.len();
        self.space.rest(node, &mut self.edges)?;
        self.recognise(first);
        self.note_expanded(depth);
        Ok(())
    }

    fn note_expanded(&mut self, depth: usize) {
        let frame = &mut self.frames[depth];
        frame.need = -1;
        let live = &mut self.live[frame.place as usize];
        live.expanded = true;
        live.colour = Colour::Green;
        self.expanded_depths.push(depth as u32);
        if self.proviso.scan {
            self.scan(depth);
        }
    }

    /// Whether a frame has edges that were not taken.
    pub(crate) fn is_pending(&self, depth: usize) -> bool {
        let frame = &self.frames[depth];
        let (edges, postponed) = match self.frames.get(depth + 1) {
            Some(next) => (next.first_edge, next.first_postponed),
            None => (self.edges.len(), self.postponed.len()),
        };
        frame.next_edge < edges || frame.first_postponed < postponed
    }

    fn pop(&mut self, depth: usize) {
        self.on_leave(depth);
        let Some(frame) = self.frames.pop() else {
            return;
        };
        self.edges.truncate(frame.first_edge);
        self.postponed.truncate(frame.first_postponed);
        if self.expanded_depths.last() == Some(&(depth as u32)) {
            self.expanded_depths.pop();
        }
        let is_root = self.roots.last().is_some_and(|r| r.place == frame.place);
        let colour = self.live[frame.place as usize].colour;
        if is_root {
            self.roots.pop();
            let first = frame.place as usize;
            for live in &self.live[first..] {
                self.places.remove(live.node, &self.live);
                let danger = match live.colour {
                    Colour::Red => flags::DANGEROUS,
                    _ => 0,
                };
                self.space.set_flags(live.node, flags::DEAD | danger);
            }
            self.live.truncate(first);
        } else {
            let live = &mut self.live[frame.place as usize];
            live.on_path = false;
            live.reach = frame.reach;
        }
        if depth > 0 && !self.live[self.frames[depth - 1].place as usize].expanded {
            self.on_child_done(
                depth - 1,
                colour,
                (!is_root).then_some(frame.place),
                frame.need,
            );
        }
    }

    /// What the walk takes, roughly.
    pub(crate) fn bytes(&self) -> usize {
        self.live.capacity() * size_of::<Live>()
            + self.places.bytes()
            + self.loose.capacity() * size_of::<Node>()
            + self.frames.capacity() * size_of::<Frame>()
            + (self.edges.capacity() + self.postponed.capacity()) * size_of::<Edge>()
    }
}
