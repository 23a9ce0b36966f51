//! Edge labels: Boolean functions over atomic propositions, as hash-consed
//! reduced ordered binary decision diagrams (Bryant, "Graph-based algorithms for
//! Boolean function manipulation", 1986).
//!
//! A [`Guard`] is a node of a [`Guards`] arena. Equal functions are equal handles,
//! so that "is this label empty" and "are these labels the same" are comparisons of
//! integers, and any number of propositions works. The arena only grows: algorithms
//! work on a scratch arena and copy what they keep ([`Guards::import`]). Its size is
//! bounded: past [`Guards::NODE_LIMIT`] nodes every result is `false` and
//! [`Guards::overflowed`] says so; who builds a guard asks before relying on it.

use rapidhash::{RapidHashMap, RapidHashSet};

/// A Boolean function over propositions; only meaningful with the [`Guards`] it came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Guard(u32);

impl Guard {
    /// The function that never holds.
    pub const FALSE: Guard = Guard(0);
    /// The function that always holds.
    pub const TRUE: Guard = Guard(1);

    /// Whether this is the constant false.
    pub fn is_false(self) -> bool {
        self == Self::FALSE
    }

    /// Whether this is the constant true.
    pub fn is_true(self) -> bool {
        self == Self::TRUE
    }
}

/// Number of a variable: the index of a proposition, or above them a helper of some algorithm.
pub type Variable = u32;

/// Variable of the two constants: below every real one.
const LEAF: Variable = Variable::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Node {
    variable: Variable,
    low: Guard,
    high: Guard,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Operation {
    And,
    Or,
    Xor,
}

/// One conjunction of literals: pairs of variable and polarity, in the order of variables.
pub type Cube = Vec<(Variable, bool)>;

/// An arena of guards.
#[derive(Clone, Debug)]
pub struct Guards {
    nodes: Vec<Node>,
    unique: RapidHashMap<Node, Guard>,
    binary: RapidHashMap<(Operation, Guard, Guard), Guard>,
    negations: RapidHashMap<Guard, Guard>,
    implications: RapidHashMap<(Guard, Guard), bool>,
    overflowed: bool,
}

impl Default for Guards {
    fn default() -> Self {
        Self::new()
    }
}

impl Guards {
    /// Most nodes an arena holds.
    pub const NODE_LIMIT: usize = 4_000_000;

    /// Most variables: operations recurse once per variable, and must not overflow the stack.
    pub const VARIABLE_LIMIT: u32 = 4_096;

    /// An arena with the two constants.
    pub fn new() -> Self {
        let leaf = |guard| Node {
            variable: LEAF,
            low: guard,
            high: guard,
        };
        Self {
            nodes: vec![leaf(Guard::FALSE), leaf(Guard::TRUE)],
            unique: RapidHashMap::default(),
            binary: RapidHashMap::default(),
            negations: RapidHashMap::default(),
            implications: RapidHashMap::default(),
            overflowed: false,
        }
    }

    /// Number of nodes, the two constants included.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether only the constants exist.
    pub fn is_empty(&self) -> bool {
        self.nodes.len() == 2
    }

    /// True once a limit was hit: results since then may be wrong and must be thrown away.
    pub fn overflowed(&self) -> bool {
        self.overflowed
    }

    /// Drops the memory of results; they are computed again when asked for.
    pub fn forget_operations(&mut self) {
        self.binary = RapidHashMap::default();
        self.negations = RapidHashMap::default();
        self.implications = RapidHashMap::default();
    }

    fn node(&self, guard: Guard) -> Node {
        self.nodes[guard.0 as usize]
    }

    fn make(&mut self, variable: Variable, low: Guard, high: Guard) -> Guard {
        if low == high {
            return low;
        }
        let node = Node {
            variable,
            low,
            high,
        };
        if let Some(guard) = self.unique.get(&node) {
            return *guard;
        }
        if self.nodes.len() >= Self::NODE_LIMIT || variable >= Self::VARIABLE_LIMIT {
            self.overflowed = true;
            return Guard::FALSE;
        }
        let guard = Guard(self.nodes.len() as u32);
        self.nodes.push(node);
        self.unique.insert(node, guard);
        guard
    }

    /// The function "variable is true".
    pub fn variable(&mut self, variable: Variable) -> Guard {
        self.make(variable, Guard::FALSE, Guard::TRUE)
    }

    /// The function "variable has this value".
    pub fn literal(&mut self, variable: Variable, value: bool) -> Guard {
        if value {
            self.variable(variable)
        } else {
            self.make(variable, Guard::TRUE, Guard::FALSE)
        }
    }

    /// Negation.
    pub fn not(&mut self, guard: Guard) -> Guard {
        if guard.is_false() {
            return Guard::TRUE;
        }
        if guard.is_true() {
            return Guard::FALSE;
        }
        if let Some(known) = self.negations.get(&guard) {
            return *known;
        }
        let node = self.node(guard);
        let low = self.not(node.low);
        let high = self.not(node.high);
        let result = self.make(node.variable, low, high);
        self.negations.insert(guard, result);
        self.negations.insert(result, guard);
        result
    }

    /// Conjunction.
    pub fn and(&mut self, left: Guard, right: Guard) -> Guard {
        if left == right || right.is_true() {
            return left;
        }
        if left.is_true() {
            return right;
        }
        if left.is_false() || right.is_false() {
            return Guard::FALSE;
        }
        self.combine(Operation::And, left, right)
    }

    /// Disjunction.
    pub fn or(&mut self, left: Guard, right: Guard) -> Guard {
        if left == right || right.is_false() {
            return left;
        }
        if left.is_false() {
            return right;
        }
        if left.is_true() || right.is_true() {
            return Guard::TRUE;
        }
        self.combine(Operation::Or, left, right)
    }

    /// Exclusive disjunction.
    pub fn xor(&mut self, left: Guard, right: Guard) -> Guard {
        if left == right {
            return Guard::FALSE;
        }
        if left.is_false() {
            return right;
        }
        if right.is_false() {
            return left;
        }
        if left.is_true() {
            return self.not(right);
        }
        if right.is_true() {
            return self.not(left);
        }
        self.combine(Operation::Xor, left, right)
    }

    /// `left` without `right`.
    pub fn minus(&mut self, left: Guard, right: Guard) -> Guard {
        if left.is_false() || right.is_false() {
            return left;
        }
        let outside = self.not(right);
        self.and(left, outside)
    }

    fn combine(&mut self, operation: Operation, left: Guard, right: Guard) -> Guard {
        let (left, right) = if left <= right {
            (left, right)
        } else {
            (right, left)
        };
        let key = (operation, left, right);
        if let Some(known) = self.binary.get(&key) {
            return *known;
        }
        let (a, b) = (self.node(left), self.node(right));
        let variable = a.variable.min(b.variable);
        let (a_low, a_high) = if a.variable == variable {
            (a.low, a.high)
        } else {
            (left, left)
        };
        let (b_low, b_high) = if b.variable == variable {
            (b.low, b.high)
        } else {
            (right, right)
        };
        let (low, high) = match operation {
            Operation::And => (self.and(a_low, b_low), self.and(a_high, b_high)),
            Operation::Or => (self.or(a_low, b_low), self.or(a_high, b_high)),
            Operation::Xor => (self.xor(a_low, b_low), self.xor(a_high, b_high)),
        };
        let result = self.make(variable, low, high);
        self.binary.insert(key, result);
        result
    }

    /// Whether `left` implies `right`. Builds no nodes and stops at the first difference.
    pub fn implies(&mut self, left: Guard, right: Guard) -> bool {
        if left == right || left.is_false() || right.is_true() {
            return true;
        }
        if left.is_true() || right.is_false() {
            return false;
        }
        if let Some(known) = self.implications.get(&(left, right)) {
            return *known;
        }
        let variable = self.node(left).variable.min(self.node(right).variable);
        let (left0, left1) = self.cofactors(left, variable);
        let (right0, right1) = self.cofactors(right, variable);
        let result = self.implies(left0, right0) && self.implies(left1, right1);
        self.implications.insert((left, right), result);
        result
    }

    /// Whether both can hold together.
    pub fn intersect(&mut self, left: Guard, right: Guard) -> bool {
        !self.and(left, right).is_false()
    }

    /// The value under a valuation: bit `i % 64` of word `i / 64` is the value of
    /// variable `i`, missing words are zero.
    #[inline]
    pub fn holds(&self, guard: Guard, valuation: &[u64]) -> bool {
        let mut current = guard;
        while current.0 > 1 {
            let node = &self.nodes[current.0 as usize];
            let word = valuation
                .get(node.variable as usize / 64)
                .copied()
                .unwrap_or(0);
            current = if word >> (node.variable % 64) & 1 == 1 {
                node.high
            } else {
                node.low
            };
        }
        current.is_true()
    }

    /// One cube inside `guard`, if there is any: the path with the fewest true variables first.
    pub fn some_cube(&self, guard: Guard) -> Option<Cube> {
        if guard.is_false() {
            return None;
        }
        let mut cube = Cube::new();
        let mut current = guard;
        while !current.is_true() {
            let node = self.node(current);
            let value = node.low.is_false();
            cube.push((node.variable, value));
            current = if value { node.high } else { node.low };
        }
        Some(cube)
    }

    /// The variables that `guard` depends on, ascending.
    pub fn support(&self, guard: Guard) -> Vec<Variable> {
        let mut seen = RapidHashSet::default();
        let mut variables = std::collections::BTreeSet::new();
        let mut todo = vec![guard];
        while let Some(current) = todo.pop() {
            if current.0 <= 1 || !seen.insert(current) {
                continue;
            }
            let node = self.node(current);
            variables.insert(node.variable);
            todo.extend([node.low, node.high]);
        }
        variables.into_iter().collect()
    }

    /// An irredundant sum of products equal to `guard` (Minato, "Fast generation of
    /// irredundant sum-of-products forms from binary decision diagrams", 1992): short
    /// labels for people. `None` if it has more than `limit` products.
    pub fn cubes(&mut self, guard: Guard, limit: usize) -> Option<Vec<Cube>> {
        let mut covers = Covers::new();
        let cover = self.irredundant(guard, guard, &mut covers).1;
        if covers.counts[cover as usize] > limit {
            return None;
        }
        let mut cubes = Vec::new();
        // Products that share a beginning are walked with one stack.
        let mut todo: Vec<(u32, Cube)> = vec![(cover, Cube::new())];
        while let Some((at, cube)) = todo.pop() {
            if at <= Covers::UNIT {
                cubes.extend((at == Covers::UNIT).then_some(cube));
                continue;
            }
            let (variable, without, off, on) = covers.nodes[at as usize];
            for (part, value) in [(on, true), (off, false)] {
                if part != Covers::EMPTY {
                    let mut longer = cube.clone();
                    longer.push((variable, value));
                    todo.push((part, longer));
                }
            }
            todo.push((without, cube));
        }
        Some(cubes)
    }

    /// A cover between `lower` and `upper`, as function and as set of products.
    fn irredundant(&mut self, lower: Guard, upper: Guard, covers: &mut Covers) -> (Guard, u32) {
        if lower.is_false() {
            return (Guard::FALSE, Covers::EMPTY);
        }
        if upper.is_true() {
            return (Guard::TRUE, Covers::UNIT);
        }
        if let Some(known) = covers.memo.get(&(lower, upper)) {
            return *known;
        }
        let variable = self.node(lower).variable.min(self.node(upper).variable);
        let (lower0, lower1) = self.cofactors(lower, variable);
        let (upper0, upper1) = self.cofactors(upper, variable);
        let need0 = self.minus(lower0, upper1);
        let need1 = self.minus(lower1, upper0);
        let (cover0, off) = self.irredundant(need0, upper0, covers);
        let (cover1, on) = self.irredundant(need1, upper1, covers);
        let rest0 = self.minus(lower0, cover0);
        let rest1 = self.minus(lower1, cover1);
        let rest = self.or(rest0, rest1);
        let common = self.and(upper0, upper1);
        let (cover, without) = self.irredundant(rest, common, covers);
        let low = self.or(cover0, cover);
        let high = self.or(cover1, cover);
        let result = (
            self.make(variable, low, high),
            covers.add(variable, without, off, on),
        );
        covers.memo.insert((lower, upper), result);
        result
    }

    /// The node of a function that is not constant: its variable, and the functions for
    /// the variable being false and true.
    pub fn decision(&self, guard: Guard) -> Option<(Variable, Guard, Guard)> {
        let node = self.node(guard);
        (node.variable != LEAF).then_some((node.variable, node.low, node.high))
    }

    fn cofactors(&self, guard: Guard, variable: Variable) -> (Guard, Guard) {
        let node = self.node(guard);
        if node.variable == variable {
            (node.low, node.high)
        } else {
            (guard, guard)
        }
    }

    /// Copies a function from another arena, renaming variable `i` to `rename[i]`
    /// (in any order; variables outside `rename` keep their number).
    pub fn import(&mut self, from: &Guards, guard: Guard, rename: &[Variable]) -> Guard {
        let mut memo = RapidHashMap::default();
        self.import_with(from, guard, rename, &mut memo)
    }

    /// [`Guards::import`] of many functions of one arena, sharing the work through `memo`.
    pub fn import_with(
        &mut self,
        from: &Guards,
        guard: Guard,
        rename: &[Variable],
        memo: &mut RapidHashMap<Guard, Guard>,
    ) -> Guard {
        if guard.0 <= 1 {
            return guard;
        }
        if let Some(known) = memo.get(&guard) {
            return *known;
        }
        let node = from.node(guard);
        let low = self.import_with(from, node.low, rename, memo);
        let high = self.import_with(from, node.high, rename, memo);
        let variable = rename
            .get(node.variable as usize)
            .copied()
            .unwrap_or(node.variable);
        let result = if variable < self.node(low).variable && variable < self.node(high).variable {
            self.make(variable, low, high)
        } else {
            // The new name lies below others: the diagram must be rearranged.
            let positive = self.variable(variable);
            let negative = self.literal(variable, false);
            let on = self.and(positive, high);
            let off = self.and(negative, low);
            self.or(on, off)
        };
        memo.insert(guard, result);
        result
    }
}

/// Sets of products with shared parts: a node has a variable, the products without it,
/// and the rests of those with it false and with it true.
struct Covers {
    nodes: Vec<(Variable, u32, u32, u32)>,
    /// Number of products, saturating.
    counts: Vec<usize>,
    memo: RapidHashMap<(Guard, Guard), (Guard, u32)>,
}

impl Covers {
    /// No product.
    const EMPTY: u32 = 0;
    /// The empty product only.
    const UNIT: u32 = 1;

    fn new() -> Self {
        let nodes = vec![(LEAF, 0, 0, 0), (LEAF, 0, 0, 0)];
        Self {
            nodes,
            counts: vec![0, 1],
            memo: RapidHashMap::default(),
        }
    }

    fn add(&mut self, variable: Variable, without: u32, off: u32, on: u32) -> u32 {
        let count = [without, off, on].iter().fold(0usize, |sum, part| {
            sum.saturating_add(self.counts[*part as usize])
        });
        self.nodes.push((variable, without, off, on));
        self.counts.push(count);
        self.nodes.len() as u32 - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_functions_are_equal_handles() {
        let mut guards = Guards::new();
        let (a, b) = (guards.variable(0), guards.variable(1));
        let not_a = guards.not(a);
        let left = guards.and(a, b);
        let right = guards.and(not_a, b);
        assert_eq!(guards.or(left, right), b);
        let either = guards.or(a, b);
        let differ = guards.xor(a, b);
        let both = guards.and(a, b);
        assert_eq!(guards.minus(either, both), differ);
        assert!(guards.implies(differ, either));
        assert!(!guards.implies(either, differ));
    }

    #[test]
    fn valuations_reach_beyond_one_word() {
        let mut guards = Guards::new();
        let (a, b) = (guards.variable(3), guards.variable(130));
        let both = guards.and(a, b);
        assert!(guards.holds(both, &[8, 0, 4]));
        assert!(!guards.holds(both, &[8, 0, 0]));
        assert!(!guards.holds(both, &[8]));
        assert_eq!(guards.support(both), [3, 130]);
    }

    #[test]
    fn cubes_cover_exactly() {
        let mut guards = Guards::new();
        let mut function = Guard::FALSE;
        // Exactly two of five.
        for valuation in 0u64..32 {
            if valuation.count_ones() == 2 {
                let mut cube = Guard::TRUE;
                for variable in 0..5 {
                    let literal = guards.literal(variable, valuation >> variable & 1 == 1);
                    cube = guards.and(cube, literal);
                }
                function = guards.or(function, cube);
            }
        }
        let cubes = guards.cubes(function, 20).expect("there are fewer");
        assert!(guards.cubes(function, 9).is_none());
        for valuation in 0u64..32 {
            let covered = cubes.iter().any(|cube| {
                cube.iter()
                    .all(|(variable, value)| (valuation >> variable & 1 == 1) == *value)
            });
            assert_eq!(covered, valuation.count_ones() == 2);
        }
        assert_eq!(cubes.len(), 10);
    }

    #[test]
    fn import_renames_in_any_order() {
        let mut guards = Guards::new();
        let (a, b) = (guards.variable(0), guards.variable(1));
        let not_b = guards.not(b);
        let function = guards.and(a, not_b);
        let mut other = Guards::new();
        let copy = other.import(&guards, function, &[7, 2]);
        assert!(other.holds(copy, &[1 << 7]));
        assert!(!other.holds(copy, &[1 << 7 | 1 << 2]));
    }

    #[test]
    fn as_many_variables_as_allowed_fit_on_the_stack() {
        let mut guards = Guards::new();
        let mut chains = [Guard::TRUE, Guard::TRUE];
        for variable in (0..Guards::VARIABLE_LIMIT).rev() {
            let literal = guards.variable(variable);
            let chain = &mut chains[variable as usize % 2];
            *chain = guards.make(variable, Guard::FALSE, *chain);
            assert!(!literal.is_false());
        }
        let both = guards.and(chains[0], chains[1]);
        let negation = guards.not(both);
        assert!(guards.or(both, negation).is_true());
        assert!(guards.implies(both, chains[1]));
        assert_eq!(guards.cubes(both, 1).map(|cubes| cubes.len()), Some(1));
        let mut other = Guards::new();
        assert!(!other.import(&guards, both, &[]).is_false());
        assert!(!guards.overflowed() && !other.overflowed());
    }

    #[test]
    fn too_many_variables_are_noticed() {
        let mut guards = Guards::new();
        guards.variable(Guards::VARIABLE_LIMIT);
        assert!(guards.overflowed());
    }
}
