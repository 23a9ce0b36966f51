//! What can never happen, found by looking at the net as if tokens were never taken away.
//!
//! A place that stays empty under this generous rule is empty in every reachable marking, and
//! a transition with such an input never fires. (Planning calls it delete relaxation.) What inhibits a
//! transition is not looked at either: that only makes more possible. Linear in the size of the net.

use crate::ids::{PlaceId, TransitionId};
use crate::net::Net;

/// The places and transitions that the generous rule reaches.
#[derive(Clone, Debug)]
pub struct Relaxed {
    marked: Vec<bool>,
    fired: Vec<bool>,
}

impl Relaxed {
    /// Analyses a net.
    pub fn new(net: &Net) -> Self {
        Self::after(net, |place| net.initial(place) > 0)
    }

    /// What is possible from a marking on, of which it is known which places are marked.
    pub fn after(net: &Net, is_marked: impl Fn(PlaceId) -> bool) -> Self {
        let mut marked: Vec<bool> = net.places().map(is_marked).collect();
        let mut fired = vec![false; net.transition_count()];
        let mut missing: Vec<u32> = net
            .transitions()
            .map(|t| {
                net.pre(t)
                    .iter()
                    .filter(|arc| !marked[arc.node.index()])
                    .count() as u32
            })
            .collect();
        let mut ready: Vec<TransitionId> = net
            .transitions()
            .filter(|t| missing[t.index()] == 0)
            .collect();
        while let Some(transition) = ready.pop() {
            fired[transition.index()] = true;
            for arc in net.post(transition) {
                if std::mem::replace(&mut marked[arc.node.index()], true) {
                    continue;
                }
                for consumer in net.consumers(arc.node) {
                    missing[consumer.node.index()] -= 1;
                    if missing[consumer.node.index()] == 0 {
                        ready.push(consumer.node);
                    }
                }
            }
        }
        Self { marked, fired }
    }

    /// False if the place is empty in every reachable marking.
    pub fn can_be_marked(&self, place: PlaceId) -> bool {
        self.marked[place.index()]
    }

    /// False if the transition is enabled in no reachable marking.
    pub fn can_fire(&self, transition: TransitionId) -> bool {
        self.fired[transition.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::NetBuilder;

    #[test]
    fn a_transition_behind_a_place_that_stays_empty_never_fires() {
        let mut builder = NetBuilder::new("n");
        let [a, b, c, d] = ["a", "b", "c", "d"].map(|n| builder.place(n, u64::from(n == "a")));
        let [t, u, v] = ["t", "u", "v"].map(|n| builder.transition(n));
        builder.input(a, t, 1);
        builder.output(t, b, 1);
        builder.input(c, u, 1);
        builder.output(u, d, 1);
        builder.input(b, v, 1);
        builder.input(a, v, 1);
        let net = builder.build().unwrap();
        let relaxed = Relaxed::new(&net);
        assert!(relaxed.can_fire(t) && !relaxed.can_fire(u));
        assert!(relaxed.can_fire(v), "the rule does not take tokens away");
        assert!(relaxed.can_be_marked(b) && !relaxed.can_be_marked(d));
    }
}
