//! Random guarded systems: a few variables, five to nine transitions, some with oddities.

use stubborn_system::{LabelId, ProcessId, Random, Transition};

use super::tiny::{Tiny, fields};

/// Which oddities random systems may have.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shape {
    /// Processes with program counters.
    pub processes: bool,
    /// Transitions that write the program counter of another process.
    pub remote_counters: bool,
    /// Transitions with two successors.
    pub nondeterminism: bool,
    /// Transitions that fail in some states.
    pub failures: bool,
    /// Transitions of low priority.
    pub priorities: bool,
    /// Transitions of no process, or at no location of theirs.
    pub loose: bool,
}

impl Shape {
    /// The shapes take turns.
    pub fn in_turn(seed: u64) -> Self {
        Self {
            processes: seed % 2 == 1,
            remote_counters: seed % 4 == 3,
            nondeterminism: seed.is_multiple_of(3),
            failures: seed.is_multiple_of(5),
            priorities: seed.is_multiple_of(7),
            loose: seed % 16 == 11,
        }
    }
}

/// What happens to one variable.
#[derive(Clone, Copy, Debug)]
enum Change {
    Set(i64),
    Add(i64),
    Copy(usize),
}

#[derive(Clone, Debug)]
struct Assignments(Vec<(usize, Change)>);

impl Assignments {
    fn random(random: &mut Random, sizes: &[i64], variables: &[usize]) -> Self {
        let change = |v: &usize, random: &mut Random| {
            let size = sizes[*v] as usize;
            let change = match random.below(10) {
                0..5 => Change::Set(random.below(size) as i64),
                5..8 => Change::Add(1 + random.below(size - 1) as i64),
                _ => Change::Copy(random.below(sizes.len())),
            };
            (*v, change)
        };
        Self(variables.iter().map(|v| change(v, random)).collect())
    }

    fn reads(&self) -> Vec<usize> {
        self.0
            .iter()
            .filter_map(|(v, change)| match change {
                Change::Set(_) => None,
                Change::Add(_) => Some(*v),
                Change::Copy(from) => Some(*from),
            })
            .collect()
    }

    fn apply(&self, sizes: &[i64], values: &[i64]) -> Vec<i64> {
        let mut after = values.to_vec();
        for (v, change) in &self.0 {
            after[*v] = match change {
                Change::Set(value) => *value,
                Change::Add(value) => (values[*v] + value) % sizes[*v],
                Change::Copy(from) => values[*from] % sizes[*v],
            };
        }
        after
    }
}

/// A random system; the same for the same seed and shape.
pub fn system(seed: u64, shape: Shape) -> Tiny {
    padded_system(seed, shape, 0, 0)
}

/// The same after so many labels and transitions that never hold and never fire: numbers that do
/// not fit into one word, or beyond what tables are kept as bits for.
pub fn padded_system(seed: u64, shape: Shape, labels: usize, transitions: usize) -> Tiny {
    let mut random = Random::new(seed);
    let count = if shape.processes {
        2 + random.below(3)
    } else {
        0
    };
    let shared = 2 + random.below(3) - usize::from(count > 2);
    let sizes: Vec<i64> = (0..count + shared)
        .map(|_| 2 + random.below(2) as i64)
        .collect();
    let mut tiny = Tiny::new(&sizes);
    for at in 0..labels {
        tiny.label(format!("never {at}"), &[], |_| false);
    }
    for at in 0..transitions {
        let never = [LabelId::new(at % labels)];
        tiny.simple(&format!("never {at}"), &never, (&[], &[]), |_| {});
    }
    let processes: Vec<ProcessId> = (0..count).map(|p| tiny.process(p)).collect();
    let mut guards: Vec<(Vec<usize>, LabelId)> = Vec::new();
    for at in 0..5 + random.below(5) {
        let mut own: Vec<LabelId> = Vec::new();
        let mut description = Transition {
            name: format!("t{at}"),
            ..Transition::default()
        };
        let mut written = Vec::new();
        if count > 0 {
            let p = random.below(count);
            let partner = (p + 1 + random.below(count - 1)) % count;
            let both = random.percent(10);
            let of_none = shape.loose && random.percent(20);
            let own_processes = [Some(p), both.then_some(partner)].into_iter().flatten();
            for p in own_processes.filter(|_| !of_none) {
                if shape.loose && random.percent(30) {
                    description.processes.push(processes[p]);
                    description.sources.push(None);
                    continue;
                }
                let location = random.below(sizes[p] as usize) as i64;
                own.push(tiny.label(format!("x{p} = {location}"), &[p], move |v| {
                    v[p] == location
                }));
                description.processes.push(processes[p]);
                description.sources.push(Some(location as u32));
                written.push(p);
            }
            if shape.remote_counters && random.percent(15) {
                written.push(partner);
            }
        }
        for _ in 0..random.below(3) {
            let reuse = !guards.is_empty() && random.percent(30);
            let guard = if reuse {
                guards[random.below(guards.len())].1
            } else {
                random_label(&mut tiny, &mut random, &sizes, &mut guards)
            };
            if !own.contains(&guard) {
                own.push(guard);
            }
        }
        for _ in 0..1 + random.below(2) {
            written.push(count + random.below(shared));
        }
        written.sort_unstable();
        written.dedup();
        let first = Assignments::random(&mut random, &sizes, &written);
        let second = (shape.nondeterminism && random.percent(20))
            .then(|| Assignments::random(&mut random, &sizes, &written));
        let fails = (shape.failures && random.percent(15)).then(|| {
            let v = random.below(sizes.len());
            (v, random.below(sizes[v] as usize) as i64)
        });
        description.guards = own;
        description.deterministic = second.is_none();
        description.may_fail = fails.is_some();
        description.priority = u8::from(shape.priorities && random.percent(15));
        let mut reads = first.reads();
        reads.extend(second.iter().flat_map(|s| s.reads()));
        reads.extend(fails.iter().map(|(v, _)| *v));
        description.reads = fields(&reads);
        description.writes = fields(&written);
        let sizes = sizes.clone();
        tiny.transition(description, move |values| {
            if fails.is_some_and(|(v, bad)| values[v] == bad) {
                return vec![None];
            }
            let mut after = vec![Some(first.apply(&sizes, values))];
            after.extend(second.iter().map(|s| Some(s.apply(&sizes, values))));
            after.dedup();
            after
        });
    }
    // Labels that guard nothing: goals.
    for _ in 0..3 {
        random_label(&mut tiny, &mut random, &sizes, &mut Vec::new());
    }
    tiny
}

/// A random system of one or two processes that may go round for ever: for each location of its process, a
/// transition has a list of where it may lead, nowhere, to one location or to one of two. Its last labels
/// are goals.
pub fn circles(seed: u64) -> Tiny {
    let mut random = Random::new(seed);
    let sizes: Vec<i64> = (0..1 + random.below(2))
        .map(|_| 3 + random.below(3) as i64)
        .collect();
    let mut tiny = Tiny::new(&sizes);
    let processes: Vec<ProcessId> = (0..sizes.len()).map(|p| tiny.process(p)).collect();
    for (p, process) in processes.iter().enumerate() {
        for at in 0..2 + random.below(2) {
            let size = sizes[p] as usize;
            let outcomes = |random: &mut Random| -> Vec<i64> {
                let count = [0, 1, 2, 2][random.below(4)];
                let mut all: Vec<_> = (0..count).map(|_| random.below(size) as i64).collect();
                all.dedup();
                all
            };
            let table: Vec<Vec<i64>> = (0..size).map(|_| outcomes(&mut random)).collect();
            let leads = table.clone();
            let guard = tiny.label(format!("t{at} can move x{p}"), &[p], move |values| {
                !leads[values[p] as usize].is_empty()
            });
            let description = Transition {
                name: format!("t{at} of x{p}"),
                processes: vec![*process],
                sources: vec![None],
                guards: vec![guard],
                reads: fields(&[p]),
                writes: fields(&[p]),
                deterministic: table.iter().all(|outcomes| outcomes.len() < 2),
                ..Transition::default()
            };
            tiny.transition(description, move |values| {
                let to = |location: &i64| {
                    let mut after = values.to_vec();
                    after[p] = *location;
                    Some(after)
                };
                table[values[p] as usize].iter().map(to).collect()
            });
        }
    }
    for (p, size) in sizes.iter().enumerate() {
        let last = size - 1;
        tiny.label(format!("x{p} = {last}"), &[p], move |values| {
            values[p] == last
        });
    }
    tiny
}

/// A comparison of one variable with a constant, or of two variables.
fn random_label(
    tiny: &mut Tiny,
    random: &mut Random,
    sizes: &[i64],
    guards: &mut Vec<(Vec<usize>, LabelId)>,
) -> LabelId {
    let v = random.below(sizes.len());
    let w = random.below(sizes.len());
    let constant = random.below(sizes[v] as usize) as i64;
    let (tests, label) = match random.below(5) {
        0 | 1 => (
            vec![v],
            tiny.label(format!("x{v} = {constant}"), &[v], move |s| {
                s[v] == constant
            }),
        ),
        2 | 3 => (
            vec![v],
            tiny.label(format!("x{v} ≠ {constant}"), &[v], move |s| {
                s[v] != constant
            }),
        ),
        _ => (
            vec![v, w],
            tiny.label(format!("x{v} = x{w}"), &[v, w], move |s| s[v] == s[w]),
        ),
    };
    guards.push((tests, label));
    label
}
