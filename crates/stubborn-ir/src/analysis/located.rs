//! Which values shared fields have, location by location.
//!
//! A process that tests a counter in one step and increments it in the next leaves the plain
//! fixpoint of [`domains`](super::domains) without a bound: it does not know at which location
//! a shared field has which values. Here, for fields that became open there, every process that
//! writes them has a table of values by its location, and what other processes write may come in
//! at any location (thread-modular analysis with interference, after Miné, *Static analysis of
//! run-time errors in embedded critical parallel C programs*, 2011, with sets of values instead
//! of intervals). What comes out are values that no run leaves, and the plain fixpoint is
//! computed again within these.
//!
//! Work is bounded by a budget of evaluations, and by the number of values of a field.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::ControlFlow;

use stubborn_system::{FieldId, LabelId, System};

use super::domains::Domains;
use super::enumerate::{Condition, Ended, Enumeration, LOOK_EVERY};
use super::support::{Support, shares};
use crate::interpreter::Interpreter;
use crate::{Model, VarId};

/// Most values of a field that is followed.
const MOST_VALUES: usize = 256;
/// Most fields that are followed.
const MOST_FIELDS: usize = 24;
/// Evaluations for everything.
const BUDGET: u64 = 1_000_000;
/// Combinations of the other fields that are kept, for all commands together.
const MOST_COMBINATIONS: usize = 200_000;

/// Raw values that a field never leaves.
pub(super) type Bounds = HashMap<FieldId, BTreeSet<u32>>;

/// Bounds for fields of which `domains` knows nothing.
pub(super) fn bounds(model: &Model, supports: &[Support], domains: &Domains) -> Bounds {
    bounds_of(model, supports, domains, MOST_VALUES)
}

fn bounds_of(model: &Model, supports: &[Support], domains: &Domains, most_values: usize) -> Bounds {
    // Elements of arrays are written at places that depend on other values: that takes too
    // many combinations.
    let variables = (0..model.program().variables.len()).map(|at| VarId(at as u32));
    let mut followed: Vec<FieldId> = (variables.map(|v| model.encoding().fields(v)))
        .filter_map(|mut fields| fields.next().filter(|_| fields.next().is_none()))
        .filter(|field| domains.is_open(*field) && model.layout().field(*field).process.is_none())
        .collect();
    followed.truncate(MOST_FIELDS);
    let mut budget = BUDGET;
    while !followed.is_empty() {
        let Some(mut analysis) = Analysis::new(model, supports, domains, &followed, budget) else {
            break;
        };
        analysis.most_values = most_values;
        match analysis.run() {
            Outcome::Stable => return followed.into_iter().zip(analysis.values).collect(),
            Outcome::TooMany(at) => {
                followed.remove(at);
                budget = analysis.budget;
            }
            Outcome::OutOfBudget => break,
        }
    }
    Bounds::new()
}

/// How a run ended.
enum Outcome {
    /// Nothing new comes up.
    Stable,
    /// A field, by its place among those that are followed, has too many values.
    TooMany(usize),
    /// All evaluations are used up.
    OutOfBudget,
}

/// A command with what does not change while the analysis runs.
struct Step {
    /// States with all values of the fields that are not followed; the program counters of
    /// `processes` among them. With the time when each was last looked at.
    combinations: Vec<(Vec<u32>, u64)>,
    /// Fields that are followed and whose values before matter.
    before: Vec<usize>,
    /// Fields that are followed and that it may write.
    written: Vec<usize>,
    /// Guards that test fields that are followed.
    guards: Vec<LabelId>,
    /// The processes whose program counters it tests or writes.
    processes: Vec<usize>,
    /// Those of them whose program counters it may write.
    moved: Vec<usize>,
    /// It reads fields of which nothing is known.
    blind: bool,
}

/// Values of one field, by the location of one process.
#[derive(Default)]
struct Table {
    /// By raw value of the program counter.
    at: BTreeMap<u32, BTreeSet<u32>>,
    /// What others write, at any time.
    interference: BTreeSet<u32>,
}

impl Table {
    /// A value at a location; true if it is new.
    fn insert(&mut self, location: u32, value: u32) -> bool {
        let interference = &self.interference;
        let fresh = || interference.clone();
        self.at.entry(location).or_insert_with(fresh).insert(value)
    }

    /// A value that somebody else writes; true if it is new anywhere.
    fn interfere(&mut self, value: u32) -> bool {
        if !self.interference.insert(value) {
            return false;
        }
        let mut grown = false;
        for values in self.at.values_mut() {
            grown |= values.insert(value);
        }
        grown
    }
}

/// What a step does to a field.
struct Arrival {
    field: usize,
    /// Its value then; `None` if it is whatever it was.
    value: Option<u32>,
    is_written: bool,
}

struct Analysis<'m> {
    model: &'m Model,
    supports: &'m [Support],
    interpreter: Interpreter<'m>,
    followed: Vec<FieldId>,
    counters: Vec<FieldId>,
    steps: Vec<Step>,
    /// All values of each field that is followed.
    values: Vec<BTreeSet<u32>>,
    /// By process and field; of processes that write the field.
    tables: Vec<Vec<Option<Table>>>,
    /// When a process came to a location, or a table of it last grew there.
    reached: Vec<BTreeMap<u32, u64>>,
    /// When a field last got a new value.
    renewed: Vec<u64>,
    /// Counts what is found.
    now: u64,
    /// Commands that look at a table or a field that has grown since they last ran.
    dirty: Vec<bool>,
    /// Of a field; it is given up if it has more.
    most_values: usize,
    budget: u64,
}

impl<'m> Analysis<'m> {
    /// Everything in its initial state; `None` if that is too much already.
    fn new(
        model: &'m Model,
        supports: &'m [Support],
        domains: &Domains,
        followed: &[FieldId],
        budget: u64,
    ) -> Option<Self> {
        let counters = model.program().processes.iter();
        let counters = counters.map(|p| model.encoding().first_field(p.counter));
        let mut analysis = Self {
            model,
            supports,
            interpreter: Interpreter::new(model),
            followed: followed.to_vec(),
            counters: counters.collect(),
            steps: Vec::new(),
            values: Vec::new(),
            tables: Vec::new(),
            reached: Vec::new(),
            renewed: vec![1; followed.len()],
            now: 1,
            dirty: vec![true; supports.len()],
            most_values: MOST_VALUES,
            budget,
        };
        let mut kept = 0;
        for support in supports {
            if model.budget().poll().is_some() {
                return None;
            }
            let step = analysis.step(support, domains)?;
            kept += step.combinations.len();
            if kept > MOST_COMBINATIONS {
                return None;
            }
            analysis.steps.push(step);
        }
        let initial = model.initial_states();
        let raw = |field: FieldId| model.layout().field(field).raw(&initial);
        analysis.values = followed.iter().map(|f| BTreeSet::from([raw(*f)])).collect();
        let start = |counter: &FieldId| BTreeMap::from([(raw(*counter), 1)]);
        analysis.reached = analysis.counters.iter().map(start).collect();
        let no_tables = || followed.iter().map(|_| None).collect();
        analysis.tables = analysis.counters.iter().map(|_| no_tables()).collect();
        for step in &analysis.steps {
            for process in &step.processes {
                for field in &step.written {
                    let table = analysis.tables[*process][*field].get_or_insert_default();
                    table.insert(raw(analysis.counters[*process]), raw(followed[*field]));
                }
            }
        }
        Some(analysis)
    }

    /// What is known of a command from the start.
    fn step(&mut self, support: &Support, domains: &Domains) -> Option<Step> {
        let structure = self.model.structure();
        let tests = |g: LabelId| structure.label(g).tests.as_slice();
        let place = |f: &FieldId| self.followed.iter().position(|g| g == f);
        let unknown = |f: &FieldId| domains.is_open(*f) && place(f).is_none();
        let usable = |g: &&LabelId| !tests(**g).iter().any(unknown);
        let (mut late, early): (Vec<LabelId>, Vec<LabelId>) =
            (support.guards.iter().filter(usable))
                .partition(|g| tests(**g).iter().any(|f| place(f).is_some()));
        // Comparing such fields with each other would take too many combinations.
        late.retain(|g| tests(*g).iter().filter(|f| place(f).is_some()).count() == 1);
        let is_touched = |f: &FieldId| {
            support.looked.binary_search(f).is_ok() || support.writes.binary_search(f).is_ok()
        };
        let processes = 0..self.counters.len();
        let processes: Vec<usize> = processes
            .filter(|p| is_touched(&self.counters[*p]))
            .collect();
        // Where processes are must be known.
        if processes.iter().any(|p| domains.is_open(self.counters[*p])) {
            return None;
        }
        // What a command stores unconditionally, it need not know before.
        let kept = |f: &&FieldId| place(f).is_some() && !support.always_sets(**f);
        let mut fields: Vec<FieldId> = support.reads.clone();
        fields.extend(early.iter().chain(&late).flat_map(|g| tests(*g)));
        fields.extend(support.writes.iter().filter(kept));
        fields.extend(processes.iter().map(|p| self.counters[*p]));
        fields.sort_unstable();
        fields.dedup();
        let mut before: Vec<usize> = fields.iter().filter_map(place).collect();
        before.sort_unstable();
        let blind = support.reads.iter().any(unknown);
        fields.retain(|f| !domains.is_open(*f));
        let views = domains.views(&fields)?;
        let views = views.into_iter().map(|v| (v.clone(), 0..v.len())).collect();
        let early = early.iter().map(|g| Condition::holds(self.model, *g));
        let mut enumeration = Enumeration::new(self.model, views, early.collect(), self.budget / 4);
        let mut combinations = Vec::new();
        let ended = enumeration.run(&mut |state| {
            combinations.push((state.to_vec(), 0));
            match combinations.len() > MOST_COMBINATIONS {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        self.budget = self.budget * 3 / 4 + enumeration.budget_left();
        let moves = |p: &usize| support.writes.binary_search(&self.counters[*p]).is_ok();
        (ended == Ended::Complete).then(|| Step {
            moved: processes.iter().copied().filter(moves).collect(),
            combinations,
            before,
            written: support.writes.iter().filter_map(place).collect(),
            guards: late,
            processes,
            blind,
        })
    }

    fn run(&mut self) -> Outcome {
        while self.dirty.contains(&true) {
            for command in 0..self.dirty.len() {
                if !std::mem::take(&mut self.dirty[command]) {
                    continue;
                }
                let spent = self.model.budget().poll().is_some();
                if spent || self.command(command).is_none() {
                    return Outcome::OutOfBudget;
                }
                let large = self.values.iter().position(|v| v.len() > self.most_values);
                if let Some(at) = large {
                    return Outcome::TooMany(at);
                }
            }
        }
        Outcome::Stable
    }

    /// Runs one command on all that is new; `None` if the budget is spent.
    fn command(&mut self, command: usize) -> Option<()> {
        for at in 0..self.steps[command].combinations.len() {
            let step = &self.steps[command];
            let (state, looked_at) = &step.combinations[at];
            let locations = self.locations(&step.processes, state);
            let Some(grown_at) = self.grown_at(step, &locations) else {
                continue;
            };
            if grown_at <= *looked_at {
                continue;
            }
            let mut state = state.clone();
            let candidates: Vec<Vec<u32>> = (step.before.iter())
                .map(|field| self.candidates(&step.processes, &locations, *field))
                .collect();
            self.steps[command].combinations[at].1 = self.now;
            self.choose(command, &locations, &candidates, &mut state)?;
        }
        Some(())
    }

    /// When something grew that matters to a step from these locations; `None` if they were
    /// not reached.
    fn grown_at(&self, step: &Step, locations: &[u32]) -> Option<u64> {
        let mut latest = 1;
        for (process, location) in step.processes.iter().zip(locations) {
            let grown = self.reached[*process].get(location)?;
            if !step.before.is_empty() || step.moved.contains(process) {
                latest = latest.max(*grown);
            }
        }
        let fields = step.before.iter().map(|field| self.renewed[*field]);
        Some(fields.fold(latest, u64::max))
    }

    fn locations(&self, processes: &[usize], state: &[u32]) -> Vec<u32> {
        let raw = |p: &usize| self.model.layout().field(self.counters[*p]).raw(state);
        processes.iter().map(raw).collect()
    }

    /// The values that a field may have where these processes are at these locations.
    fn candidates(&self, processes: &[usize], locations: &[u32], field: usize) -> Vec<u32> {
        let mut tables = Vec::new();
        for (process, location) in processes.iter().zip(locations) {
            if let Some(table) = &self.tables[*process][field] {
                match table.at.get(location) {
                    Some(values) => tables.push(values),
                    None => return Vec::new(),
                }
            }
        }
        let everywhere = |v: &&u32| tables.iter().all(|values| values.contains(v));
        self.values[field]
            .iter()
            .filter(everywhere)
            .copied()
            .collect()
    }

    /// Tries all values for the fields that are left.
    fn choose(
        &mut self,
        command: usize,
        locations: &[u32],
        candidates: &[Vec<u32>],
        state: &mut [u32],
    ) -> Option<()> {
        let done = self.steps[command].before.len() - candidates.len();
        let Some((values, rest)) = candidates.split_first() else {
            return self.fire(command, locations, state);
        };
        let field = self.followed[self.steps[command].before[done]];
        for raw in values {
            let layout = self.model.layout().field(field);
            layout.set(state, i64::from(*raw) + layout.min);
            self.choose(command, locations, rest, state)?;
        }
        Some(())
    }

    /// Runs a command on one combination.
    fn fire(&mut self, command: usize, locations: &[u32], state: &[u32]) -> Option<()> {
        let model = self.model;
        let step = &self.steps[command];
        let work = step.moved.len() * self.followed.len();
        let work = work + step.written.len() * self.counters.len();
        self.budget = self.budget.checked_sub(1 + work as u64 / 32)?;
        if self.budget.is_multiple_of(LOOK_EVERY) && model.budget().poll().is_some() {
            return None;
        }
        let fails = |g: &LabelId| {
            let expr = &model.program().labels[g.index()].expr;
            self.interpreter.evaluate(state, expr) == Ok(0)
        };
        if step.guards.iter().any(fails) {
            return Some(());
        }
        let mut after = state.to_vec();
        let body = &model.program().commands[command].body;
        if !step.blind {
            let outcome = self.interpreter.run_body(&mut after, body)?;
            if outcome.failed().is_some() {
                return Some(());
            }
        }
        let (blind, processes, moved) = (step.blind, step.processes.clone(), step.moved.clone());
        let (before, written) = (step.before.clone(), step.written.clone());
        let new = match blind {
            false => self
                .locations(&processes, &after)
                .into_iter()
                .map(Some)
                .collect(),
            true => self.blind_locations(command, &processes, locations),
        };
        for (process, location) in processes.iter().zip(&new) {
            match location {
                Some(location) if !self.reached[*process].contains_key(location) => {
                    self.note(*process, *location);
                }
                _ => {}
            }
        }
        for field in 0..self.followed.len() {
            let is_written = written.contains(&field);
            let value = match (is_written, blind) {
                (true, true) => match self.supports[command].constant_for(self.followed[field]) {
                    Some(raw) => Some(raw),
                    // It may store anything.
                    None => {
                        self.flood(field);
                        continue;
                    }
                },
                (true, false) => Some(self.raw(field, &after)),
                (false, _) if before.contains(&field) => Some(self.raw(field, state)),
                (false, _) => None,
            };
            let arrival = Arrival {
                field,
                value,
                is_written,
            };
            self.arrive(&arrival, &processes, &moved, locations, &new);
        }
        Some(())
    }

    fn raw(&self, field: usize, state: &[u32]) -> u32 {
        self.model.layout().field(self.followed[field]).raw(state)
    }

    /// Where processes are after a command that reads what nobody knows; `None` is anywhere.
    fn blind_locations(
        &self,
        command: usize,
        processes: &[usize],
        locations: &[u32],
    ) -> Vec<Option<u32>> {
        let support = &self.supports[command];
        let pairs = processes.iter().zip(locations);
        let after = |(process, location): (&usize, &u32)| {
            let counter = self.counters[*process];
            match shares(&support.writes, &[counter]) {
                true => support.constant_for(counter),
                false => Some(*location),
            }
        };
        pairs.map(after).collect()
    }

    /// A field has so many values that it will be given up.
    fn flood(&mut self, field: usize) {
        self.values[field].extend(0..=self.most_values as u32);
    }

    /// Notes where a field has which value after a step.
    fn arrive(
        &mut self,
        arrival: &Arrival,
        processes: &[usize],
        moved: &[usize],
        old: &[u32],
        new: &[Option<u32>],
    ) {
        let Arrival {
            field,
            value,
            is_written,
        } = *arrival;
        if let (true, Some(value)) = (is_written, value)
            && self.values[field].insert(value)
        {
            self.now += 1;
            self.renewed[field] = self.now;
            self.wake(|step| step.before.contains(&field));
        }
        let everybody = 0..self.counters.len();
        let concerned: Vec<usize> = match is_written {
            true => everybody.collect(),
            false => moved.to_vec(),
        };
        for process in concerned {
            let Some(table) = &mut self.tables[process][field] else {
                continue;
            };
            let Some(at) = processes.iter().position(|p| *p == process) else {
                if let (true, Some(value)) = (is_written, value)
                    && table.interfere(value)
                {
                    let everywhere: Vec<u32> = table.at.keys().copied().collect();
                    everywhere.iter().for_each(|l| self.note(process, *l));
                }
                continue;
            };
            let Some(location) = new[at] else {
                self.flood(field);
                continue;
            };
            let had = table.at.get(&old[at]).into_iter().flatten();
            let values: Vec<u32> = match value {
                Some(value) => vec![value],
                None => had.copied().collect(),
            };
            let mut grown = false;
            for value in values {
                grown |= table.insert(location, value);
            }
            if grown {
                self.note(process, location);
            }
        }
    }

    /// Something grew at a location of a process.
    fn note(&mut self, process: usize, location: u32) {
        self.now += 1;
        self.reached[process].insert(location, self.now);
        self.wake(|step| step.processes.contains(&process));
    }

    fn wake(&mut self, concerns: impl Fn(&Step) -> bool) {
        for (dirty, step) in self.dirty.iter_mut().zip(&self.steps) {
            *dirty |= concerns(step);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use stubborn_system::{FailureKind, Outcome as Fate, ProcessId, Successors};

    use super::super::domains::tests::cover;
    use super::*;
    use crate::testing::Random;
    use crate::{Command, Expr, Program, Site, Statement, Variable};

    struct Author {
        program: Program,
        site: Site,
    }

    impl Author {
        fn new(name: &str) -> Self {
            let mut program = Program::new(name);
            let site = program.site(FailureKind::Other, "out of range", None);
            Self { program, site }
        }

        fn variable(&mut self, name: &str) -> VarId {
            let variable = Variable::integer(name, -1_000_000, 1_000_000, 0);
            self.program.variable(variable)
        }

        fn process(&mut self, name: &str, locations: usize) -> ProcessId {
            let names = (0..locations).map(|at| at.to_string()).collect();
            self.program.process(name, names, 0)
        }

        fn step(
            &mut self,
            process: ProcessId,
            (from, to): (u32, i32),
            guard: Option<Expr>,
            body: Option<(VarId, Expr)>,
        ) {
            let site = self.site;
            let counter = self.program.processes[process.index()].counter;
            let go = Statement::assign(counter, Expr::Const(to), site);
            let body = body.map(|(variable, value)| Statement::assign(variable, value, site));
            let guards = guard.map(|g| self.program.label(g));
            self.program.command(Command {
                name: format!("{from} -> {to}"),
                processes: vec![process],
                sources: vec![Some(from)],
                guards: guards.into_iter().collect(),
                body: std::iter::once(go).chain(body).collect(),
                ..Command::default()
            });
        }
    }

    fn plus(variable: VarId, number: i32) -> Expr {
        Expr::plus(Expr::Var(variable), Expr::Const(number))
    }

    fn below(variable: VarId, number: i32) -> Expr {
        Expr::less(Expr::Var(variable), Expr::Const(number))
    }

    #[test]
    fn a_counter_that_is_tested_one_step_before_has_bounds() {
        let mut author = Author::new("counter");
        let x = author.variable("x");
        let (p, q) = (author.process("P", 2), author.process("Q", 1));
        author.step(p, (0, 1), Some(below(x, 3)), None);
        author.step(p, (1, 0), None, Some((x, plus(x, 5))));
        author.step(q, (0, 0), None, Some((x, Expr::Const(-2))));
        author.step(q, (0, 0), None, Some((x, Expr::Const(10))));
        let model = Model::new(author.program).expect("a sound program");
        let supports = Support::all(&model);
        let field = model.encoding().first_field(x);
        let domains = Domains::located(&model, &supports);
        assert!(!domains.is_open(field));
        let views = domains.views(&[field]).expect("it is not open");
        let min = model.layout().field(field).min;
        let mut values: Vec<i64> = (views[0].tuples.iter())
            .map(|raw| i64::from(*raw) + min)
            .collect();
        values.sort_unstable();
        assert_eq!(values, [-2, 0, 3, 5, 10, 15]);
    }

    /// Two processes that test, set, copy and increment two variables.
    fn random_counters(seed: u64) -> Program {
        let mut rng = Random::new(seed);
        let mut author = Author::new("counters");
        let variables = [author.variable("x"), author.variable("y")];
        for name in ["P", "Q"] {
            let locations = 2 + rng.below(3);
            let process = author.process(name, locations);
            for from in 0..locations {
                for _ in 0..1 + rng.below(2) {
                    let (tested, bound) = (*rng.pick(&variables), rng.range(-2, 4) as i32);
                    let guard = match rng.below(4) {
                        0 => None,
                        1 => Some(Expr::less(Expr::Const(bound), Expr::Var(tested))),
                        _ => Some(below(tested, bound)),
                    };
                    let (target, number) = (*rng.pick(&variables), rng.range(-1, 3) as i32);
                    let body = match rng.below(5) {
                        0 => None,
                        1 => Some((target, Expr::Const(number))),
                        2 => Some((target, Expr::Var(*rng.pick(&variables)))),
                        _ => Some((target, plus(target, number))),
                    };
                    let to = rng.below(locations) as i32;
                    author.step(process, (from as u32, to), guard, body);
                }
            }
        }
        author.program
    }

    /// The same where values are stored on conditions, processes move together and hidden variables have
    /// too many values.
    fn odd_counters(seed: u64) -> Program {
        let mut rng = Random::new(seed);
        let mut program = random_counters(seed);
        let site = program.site(FailureKind::Other, "out of range", None);
        let scalar = |name: &str, (min, max), owner| Variable {
            owner,
            ..Variable::integer(name, min, max, 0)
        };
        let processes = [ProcessId::new(0), ProcessId::new(1)];
        let wide = program.variable(scalar("wide", (-1_000_000, 1_000_000), None));
        let own = program.variable(scalar("own", (0, 5), Some(processes[0])));
        let numbers = [VarId(0), VarId(1), wide, own];
        let (mut commands, count) = (std::mem::take(&mut program.commands), numbers.len());
        for command in &mut commands {
            let any = |rng: &mut Random| numbers[rng.below(count)];
            let last = command.body.pop();
            let test = below(any(&mut rng), rng.range(-1, 3) as i32);
            command.body.extend(match rng.below(4) {
                0 => last.map(|last| Statement::If {
                    condition: test,
                    then: vec![last],
                    otherwise: Vec::new(),
                }),
                _ => last,
            });
            if rng.one_in(4) {
                let (to, from) = (any(&mut rng), any(&mut rng));
                command.body.push(match rng.one_in(2) {
                    true => Statement::assign(to, Expr::Const(1), site),
                    false => Statement::assign(to, Expr::Var(from), site),
                });
            }
            if rng.one_in(4) {
                let (a, b) = (any(&mut rng), any(&mut rng));
                command
                    .guards
                    .push(program.label(Expr::less(Expr::Var(a), plus(b, 2))));
            }
            let other = processes[usize::from(command.processes[0] == processes[0])];
            if rng.one_in(5) {
                command.processes.push(other);
                command.sources.push(rng.one_in(2).then_some(0));
                let counter = program.processes[other.index()].counter;
                let go = Statement::assign(counter, Expr::Const(1), site);
                command.body.extend(rng.one_in(2).then_some(go));
            }
        }
        let more = Statement::assign(wide, plus(wide, 1), site);
        commands.push(Command {
            name: "more".into(),
            body: vec![more],
            ..Command::default()
        });
        program.commands = commands;
        program
    }

    /// States that runs reach, many of them.
    fn reachable(model: &Model, most: usize) -> Vec<Vec<u32>> {
        let mut interpreter = Interpreter::new(model);
        let initial = model.initial_states();
        let (mut seen, mut states) = (HashSet::from([initial.clone()]), vec![initial]);
        let mut at = 0;
        while at < states.len() {
            let mut out = Successors::new(states[at].len());
            for t in model.structure().transition_ids() {
                interpreter.fire_once(&states[at], t, &mut out);
            }
            for next in out.iter().filter(|s| s.outcome == Fate::FINE) {
                if seen.len() < most && seen.insert(next.state.to_vec()) {
                    states.push(next.state.to_vec());
                }
            }
            at += 1;
        }
        states
    }

    #[test]
    fn no_run_leaves_the_bounds() {
        let mut bounded = 0;
        for seed in 0..15 {
            let model = Model::new(random_counters(seed)).expect("a sound program");
            let supports = Support::all(&model);
            let domains = Domains::located(&model, &supports);
            let plain = Domains::reachable(&model, &supports);
            let fields = (0..model.layout().fields().len()).map(FieldId::new);
            let closed = |f: FieldId| plain.is_open(f) && !domains.is_open(f);
            bounded += usize::from(fields.into_iter().any(closed));
            cover(&model, &domains, &reachable(&model, 2_000));
        }
        assert!(bounded > 1, "only {bounded} programs had anything to bound");
    }

    #[test]
    fn no_odd_run_leaves_the_bounds() {
        let (mut bounded, mut seeds) = (0, 0);
        for seed in 0..200 {
            let model = Model::new(odd_counters(seed)).expect("a sound program");
            let supports = Support::all(&model);
            let quick = Domains::quick(&model, &supports);
            let bounds = bounds_of(&model, &supports, &quick, 24);
            if bounds.is_empty() {
                continue;
            }
            seeds += 1;
            bounded += bounds.len();
            let states = reachable(&model, 1_000);
            for (field, values) in &bounds {
                let raw = |state: &Vec<u32>| model.layout().field(*field).raw(state);
                let outside = states.iter().map(raw).find(|raw| !values.contains(raw));
                assert_eq!(outside, None, "seed {seed}: {field:?} {values:?}");
            }
            cover(&model, &quick, &states);
            let domains = Domains::within(&model, &supports, &quick, bounds);
            cover(&model, &domains, &states);
        }
        assert!(bounded > 50, "{bounded} {seeds}");
    }

    /// The bounds of a variable, as values.
    fn values_of(model: &Model, variable: VarId) -> Option<Vec<i64>> {
        let supports = Support::all(model);
        let bounds = bounds(model, &supports, &Domains::quick(model, &supports));
        let field = model.encoding().first_field(variable);
        let min = model.layout().field(field).min;
        let values = bounds.get(&field)?.iter();
        Some(values.map(|raw| i64::from(*raw) + min).collect())
    }

    #[test]
    fn what_is_stored_on_a_condition_may_be_what_it_was() {
        let mut author = Author::new("condition");
        let x = author.variable("x");
        let y = author.program.variable(Variable::integer("y", 0, 1, 0));
        let p = author.process("P", 4);
        let is_twenty = || Some(Expr::equal(Expr::Var(x), Expr::Const(20)));
        author.step(p, (0, 0), Some(below(x, 20)), Some((x, plus(x, 1))));
        author.step(p, (0, 1), is_twenty(), None);
        author.step(p, (1, 2), None, Some((x, Expr::Const(7))));
        let store = author.program.commands[2].body.pop();
        author.program.commands[2].body.push(Statement::If {
            condition: below(y, 0),
            then: store.into_iter().collect(),
            otherwise: Vec::new(),
        });
        author.step(p, (2, 3), is_twenty(), Some((x, Expr::Const(50))));
        let model = Model::new(author.program).expect("a sound program");
        let expected: Vec<i64> = (0..=20).chain([50]).collect();
        assert_eq!(values_of(&model, x), Some(expected));
    }

    #[test]
    fn nothing_is_bounded_where_nobody_knows_where_processes_are() {
        let mut author = Author::new("anywhere");
        let (x, wide) = (author.variable("x"), author.variable("wide"));
        let names = (0..2_000).map(|at| at.to_string()).collect();
        let p = author.program.process("P", names, 1);
        author.step(p, (5, 5), Some(below(x, 20)), Some((x, plus(x, 1))));
        let counter = author.program.processes[p.index()].counter;
        for target in [counter, wide] {
            let value = plus(wide, 1);
            author.program.command(Command {
                name: "more".into(),
                body: vec![Statement::assign(target, value, author.site)],
                ..Command::default()
            });
        }
        let model = Model::new(author.program).expect("a sound program");
        assert_eq!(values_of(&model, x), None);
    }

    #[test]
    fn who_waits_at_a_location_is_run_again_when_values_come_there() {
        let mut author = Author::new("wait");
        let x = author.variable("x");
        let p = author.process("P", 2);
        let is_twenty = Expr::equal(Expr::Var(x), Expr::Const(20));
        author.step(p, (1, 1), Some(is_twenty), Some((x, Expr::Const(50))));
        // It stays where it is.
        author.program.commands[0].body.remove(0);
        author.step(p, (0, 1), None, None);
        author.step(p, (0, 0), Some(below(x, 20)), Some((x, plus(x, 1))));
        let model = Model::new(author.program).expect("a sound program");
        let expected: Vec<i64> = (0..=20).chain([50]).collect();
        assert_eq!(values_of(&model, x), Some(expected));
    }

    #[test]
    fn who_waits_at_a_location_is_run_again_when_others_write() {
        let mut author = Author::new("others");
        let x = author.variable("x");
        let (p, q) = (author.process("P", 2), author.process("Q", 3));
        let is_twenty = || Some(Expr::equal(Expr::Var(x), Expr::Const(20)));
        author.step(p, (1, 1), is_twenty(), Some((x, Expr::Const(50))));
        // Long after P has been at 20 elsewhere, with a value that is not new.
        author.step(q, (2, 0), None, Some((x, Expr::Const(20))));
        author.step(q, (1, 2), None, None);
        author.step(q, (0, 1), is_twenty(), Some((x, Expr::Const(0))));
        author.step(p, (0, 1), Some(below(x, 1)), None);
        author.step(p, (0, 0), Some(below(x, 20)), Some((x, plus(x, 1))));
        let model = Model::new(author.program).expect("a sound program");
        let expected: Vec<i64> = (0..=20).chain([50]).collect();
        assert_eq!(values_of(&model, x), Some(expected));
    }

    #[test]
    fn nothing_is_bounded_where_somebody_may_go_anywhere() {
        let mut author = Author::new("jump");
        let (x, wide) = (author.variable("x"), author.variable("wide"));
        let p = author.process("P", 3);
        author.step(p, (2, 2), Some(below(x, 20)), Some((x, plus(x, 1))));
        author.step(p, (0, 0), None, None);
        let counter = author.program.processes[p.index()].counter;
        author.program.commands[1].body =
            vec![Statement::assign(counter, Expr::Var(wide), author.site)];
        author.program.command(Command {
            name: "more".into(),
            body: vec![Statement::assign(wide, plus(wide, 1), author.site)],
            ..Command::default()
        });
        let model = Model::new(author.program).expect("a sound program");
        assert_eq!(values_of(&model, x), None);
    }
}
