//! What a proviso decides while a walk goes on.
//!
//! The idea behind all coloured rules: let `s` be the last node of the path and `s → x` an
//! edge to a node seen before, the last edge of some cycle to be explored. If `x` is on the
//! path, the cycle contains all of the path from `x` to `s`. If `x` was left and its
//! component is open, it contains all from the deepest node of the path that `x` reaches
//! (through nodes that were left and not expanded) to `s`. So one expanded node in that
//! interval is enough, or one that will be expanded, or turn out harmless, before it is
//! left. The rules differ in which node of the interval they choose.

use crate::proviso::{EdgeOrder, End, Insight, Rule};
use crate::space::Space;
use crate::walk::{Colour, Place, Reach, Status, Walk};

/// How many nodes that were left a look at [`Reach`] goes through before it makes do with a
/// bound.
const PATIENCE: u32 = 24;

impl<S: Space> Walk<'_, S> {
    /// An edge from the last node, which is not expanded, to a node seen before. True to
    /// expand the last node now.
    pub(crate) fn on_known(&mut self, depth: usize, to: Status) -> bool {
        let proviso = self.proviso;
        let place = self.frames[depth].place as usize;
        match proviso.rule {
            Rule::Nothing
            | Rule::Full
            | Rule::ClosedSet
            | Rule::Sticky
            | Rule::BreadthSource
            | Rule::BreadthDestination
            | Rule::Topological
            | Rule::Optimal
            | Rule::OptimalStrong => false,
            Rule::Always | Rule::Parallel | Rule::TwoPhase => match (to, proviso.end) {
                (Status::OnPath(_), End::Source) => true,
                (Status::OnPath(target), End::Destination) => {
                    self.live[target as usize].marked = true;
                    false
                }
                _ => false,
            },
            Rule::Conditional => match (to, proviso.end) {
                (Status::OnPath(target), _) if self.live[target as usize].expanded => false,
                (Status::OnPath(_), End::Source) => true,
                (Status::OnPath(target), End::Destination) => {
                    if !self.live[place].marked {
                        self.live[target as usize].marked = true;
                    }
                    false
                }
                _ => false,
            },
            Rule::Colored | Rule::Weighted | Rule::Stab => {
                // The last node may be green by a scan.
                let is_harmless = match to {
                    Status::New => true,
                    Status::OnPath(target) | Status::Live(target) => {
                        self.live[target as usize].colour == Colour::Green
                    }
                    Status::Dead { dangerous } => !dangerous || proviso.insight != Insight::Nothing,
                };
                if is_harmless || self.live[place].colour == Colour::Green {
                    return false;
                }
                self.on_danger(depth, to)
            }
        }
    }

    /// The same for the coloured rules and a node that is not harmless.
    fn on_danger(&mut self, depth: usize, to: Status) -> bool {
        let proviso = self.proviso;
        let has_links = proviso.insight == Insight::Highlink;
        let place = self.frames[depth].place as usize;
        if has_links {
            self.add_reach(depth, to);
        }
        // How deep the interval begins; `None` if that is not known.
        let begin = match to {
            Status::OnPath(target) => Some(self.live[target as usize].depth as i32),
            Status::Live(target) if has_links => Some(self.highlink(target)),
            _ => None,
        };
        let on_path = matches!(to, Status::OnPath(_));
        match proviso.rule {
            Rule::Stab => {
                let need = &mut self.frames[depth].need;
                *need = (*need).max(begin.unwrap_or(depth as i32));
                return false;
            }
            Rule::Colored => {
                self.live[place].colour = Colour::Purple;
                if let Status::OnPath(target) = to
                    && !(self.live[place].marked && proviso.order == EdgeOrder::UnknownFirst)
                {
                    self.live[target as usize].marked = true;
                }
                return false;
            }
            _ => {}
        }
        let Some(begin) = begin else {
            self.live[place].colour = Colour::Purple;
            return true;
        };
        if begin < 0 {
            return false;
        }
        self.live[place].colour = Colour::Purple;
        if self
            .expanded_depths
            .last()
            .is_some_and(|d| *d as i32 >= begin)
        {
            return false;
        }
        if proviso.end == End::Source && on_path {
            return true;
        }
        if self.live[place].marked && proviso.order == EdgeOrder::UnknownFirst {
            return false;
        }
        // The mark of the last node itself would come too late if it were collected.
        if proviso.deepest && begin < depth as i32 {
            let collected = &mut self.frames[depth].collected;
            *collected = (*collected).max(begin);
        } else {
            self.mark(begin);
        }
        false
    }

    /// An edge from an expanded node to one seen before.
    pub(crate) fn on_known_from_expanded(&mut self, to: Status, expanded_late: bool) {
        if let Status::OnPath(target) = to
            && self.proviso.rule == Rule::Always
            && self.proviso.end == End::Destination
            && !expanded_late
        {
            self.live[target as usize].marked = true;
        }
    }

    fn mark(&mut self, depth: i32) {
        let place = self.frames[depth as usize].place;
        self.live[place as usize].marked = true;
    }

    /// All edges of the last node were taken, and it is not expanded. True to expand it.
    pub(crate) fn on_exhausted(&mut self, depth: usize) -> bool {
        let frame = self.frames[depth];
        let live = self.live[frame.place as usize];
        match self.proviso.rule {
            Rule::Always | Rule::Conditional => self.proviso.end == End::Destination && live.marked,
            Rule::Nothing
            | Rule::Full
            | Rule::ClosedSet
            | Rule::Sticky
            | Rule::Parallel
            | Rule::TwoPhase
            | Rule::BreadthSource
            | Rule::BreadthDestination
            | Rule::Topological
            | Rule::Optimal
            | Rule::OptimalStrong => false,
            Rule::Stab => frame.need == depth as i32,
            Rule::Colored | Rule::Weighted => {
                if live.colour != Colour::Purple {
                    return false;
                }
                if !live.marked && frame.collected >= 0 {
                    self.mark(frame.collected);
                }
                live.marked
            }
        }
    }

    /// The last node is about to leave the path.
    pub(crate) fn on_leave(&mut self, depth: usize) {
        let frame = self.frames[depth];
        let live = &mut self.live[frame.place as usize];
        let dangerous = match self.proviso.rule {
            Rule::Stab => frame.need >= 0 && !live.expanded,
            _ => live.colour == Colour::Purple,
        };
        live.colour = match dangerous {
            true => Colour::Red,
            false => Colour::Green,
        };
    }

    /// A child of the last node has left the path; the last node is not expanded. `open` is
    /// the child's place if its component is not complete.
    pub(crate) fn on_child_done(
        &mut self,
        depth: usize,
        colour: Colour,
        open: Option<Place>,
        need: i32,
    ) {
        if colour != Colour::Red || open.is_none() && self.proviso.insight != Insight::Nothing {
            return;
        }
        let frame = &mut self.frames[depth];
        frame.need = frame.need.max(need);
        let live = &mut self.live[frame.place as usize];
        if matches!(self.proviso.rule, Rule::Colored | Rule::Weighted)
            && live.colour == Colour::Orange
        {
            live.colour = Colour::Purple;
        }
        if let (Some(child), Insight::Highlink) = (open, self.proviso.insight) {
            self.add_reach(depth, Status::Live(child));
        }
    }

    /// The node at this depth was expanded: the nodes before it that have nothing left to
    /// do and saw nothing dangerous will not.
    pub(crate) fn scan(&mut self, depth: usize) {
        for above in (0..depth).rev() {
            let frame = self.frames[above];
            let orange = self.live[frame.place as usize].colour == Colour::Orange;
            let needed = self.proviso.rule == Rule::Stab && frame.need >= 0;
            if !orange || needed || self.is_pending(above) {
                break;
            }
            self.live[frame.place as usize].colour = Colour::Green;
        }
    }

    // ---- highlinks ----

    /// The depth of the deepest node of the path that a node left before can reach, or more;
    /// -1 if what it reached was expanded since.
    fn highlink(&mut self, place: Place) -> i32 {
        let reach = self.refreshed(self.live[place as usize].reach, PATIENCE);
        self.live[place as usize].reach = reach;
        let deepest = match reach.nodes[0] {
            Some(node) => self.live[node as usize].depth as i32,
            None => -1,
        };
        deepest.max(reach.others.min(self.frames.len() as i32 - 1))
    }

    fn add_reach(&mut self, depth: usize, to: Status) {
        let more = match to {
            Status::OnPath(target) => Reach {
                nodes: [Some(target), None],
                others: -1,
            },
            Status::Live(target) => {
                let reach = self.refreshed(self.live[target as usize].reach, PATIENCE);
                self.live[target as usize].reach = reach;
                reach
            }
            Status::New | Status::Dead { .. } => return,
        };
        let own = self.refreshed(self.frames[depth].reach, PATIENCE);
        self.frames[depth].reach = self.joined(own, more);
    }

    /// The same with nodes of the path only: one that was left is replaced by what it
    /// reached, or by a bound when patience is at an end.
    fn refreshed(&mut self, reach: Reach, patience: u32) -> Reach {
        let is_fine = |live: &crate::walk::Live| live.on_path && !is_harmless(live);
        let mut nodes = reach.nodes.iter().flatten();
        if nodes.all(|place| is_fine(&self.live[*place as usize])) {
            return reach;
        }
        let mut result = Reach {
            nodes: [None; 2],
            others: reach.others,
        };
        for place in reach.nodes.into_iter().flatten() {
            let live = self.live[place as usize];
            let part = if is_harmless(&live) {
                continue;
            } else if live.on_path {
                Reach {
                    nodes: [Some(place), None],
                    others: -1,
                }
            } else if patience == 0 {
                Reach {
                    nodes: [None; 2],
                    others: live.depth as i32 - 1,
                }
            } else {
                let part = self.refreshed(live.reach, patience - 1);
                self.live[place as usize].reach = part;
                part
            };
            result = self.joined(result, part);
        }
        result
    }

    /// Both; what does not fit is bounded by its depth.
    fn joined(&self, first: Reach, second: Reach) -> Reach {
        let mut all: Vec<Place> = first
            .nodes
            .into_iter()
            .chain(second.nodes)
            .flatten()
            .collect();
        all.sort_unstable_by_key(|place| std::cmp::Reverse(self.live[*place as usize].depth));
        all.dedup();
        let mut others = first.others.max(second.others);
        if let Some(third) = all.get(2) {
            others = others.max(self.live[*third as usize].depth as i32);
        }
        Reach {
            nodes: [all.first().copied(), all.get(1).copied()],
            others,
        }
    }
}

fn is_harmless(live: &crate::walk::Live) -> bool {
    live.expanded || live.colour == Colour::Green
}
