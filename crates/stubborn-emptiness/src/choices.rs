//! Sets that are no function of the state, made one: what was chosen first stays.
//!
//! The strategies `min_f` and `max_f` (Evangelista, *Experimenting with stubborn sets on Petri
//! nets*, 2023) ask which successors the search has seen, and would choose another set when they
//! are asked again. But provisos look at a node more than once, and what they decide is about
//! one graph. So the first choice in each node is remembered. Most nodes share few sets.

use rapidhash::RapidHashMap;
use stubborn_system::BitSet;

use crate::space::Node;

/// A number of a set; 0 is that of everything.
type SetNumber = u32;

/// What was chosen in each node.
#[derive(Default)]
pub(crate) struct Choices {
    of: RapidHashMap<Node, SetNumber>,
    numbers: RapidHashMap<Box<[u64]>, SetNumber>,
    /// By number, from 1 on.
    sets: Vec<Box<[u64]>>,
}

impl Choices {
    /// What was chosen in a node is put into `kept`. Returns whether something was left out,
    /// or nothing if nothing was chosen yet.
    pub(crate) fn recall(&self, node: Node, kept: &mut BitSet) -> Option<bool> {
        match *self.of.get(&node)? {
            0 => Some(false),
            number => {
                kept.words_mut()
                    .copy_from_slice(&self.sets[number as usize - 1]);
                Some(true)
            }
        }
    }

    /// Remembers a choice: these transitions, or everything if nothing was left out.
    pub(crate) fn remember(&mut self, node: Node, kept: &BitSet, left_out: bool) {
        let number = match left_out {
            false => 0,
            true => self.number(kept.words()),
        };
        self.of.insert(node, number);
    }

    fn number(&mut self, words: &[u64]) -> SetNumber {
        if let Some(number) = self.numbers.get(words) {
            return *number;
        }
        self.sets.push(words.into());
        let number = self.sets.len() as SetNumber;
        self.numbers.insert(words.into(), number);
        number
    }

    /// About how much memory this takes.
    pub(crate) fn bytes(&self) -> usize {
        let a_node = size_of::<(Node, SetNumber)>() + 1;
        let words = self.sets.first().map_or(0, |set| size_of_val(&**set));
        self.of.capacity() * a_node + self.sets.len() * 2 * (words + 32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_choice_comes_back() {
        let mut choices = Choices::default();
        let mut kept = BitSet::new(70);
        assert_eq!(choices.recall(Node(3), &mut kept), None);
        for (node, transition) in [(3, 1), (4, 69), (5, 1)] {
            kept.clear();
            kept.insert(transition);
            choices.remember(Node(node), &kept, true);
        }
        choices.remember(Node(6), &kept, false);
        assert_eq!(choices.sets.len(), 2, "equal sets are kept once");
        assert_eq!(choices.recall(Node(4), &mut kept), Some(true));
        assert_eq!(kept.iter().collect::<Vec<_>>(), [69]);
        assert_eq!(choices.recall(Node(5), &mut kept), Some(true));
        assert_eq!(kept.iter().collect::<Vec<_>>(), [1]);
        assert_eq!(choices.recall(Node(6), &mut kept), Some(false));
    }
}
