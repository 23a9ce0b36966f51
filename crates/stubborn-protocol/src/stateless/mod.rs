//! Searching without remembering states: dynamic partial-order reduction, and others to compare
//! it with.
//!
//! | module | holds |
//! | --- | --- |
//! | `classic` | dynamic reduction by Flanagan and Godefroid |
//! | `messages` | protocols as threads, for [source sets and wakeup trees](stubborn_dpor) |
//! | `local_sets` | local reduction inside dynamic reduction |
//!
//! Only for state graphs without cycles: a stateless search never comes to an end in others. A
//! cycle is noticed, and refused. Where one process can keep another one from a step, dynamic
//! reduction is refused, too.

mod classic;
mod local_sets;
mod messages;

use std::collections::HashSet;

use stubborn_dpor::{self as dpor, Seen};
use stubborn_reduce::{Aim, Algorithm, Config, Goals, Plan, StubbornReduction};
use stubborn_system::{Executor, Expander, LabelId, Reduction, RelationLevel, System};

use crate::error::CheckError;
use crate::experiments::PrintedReduction;
use crate::model::{Core, Model, Role};
use crate::value::Value;

use classic::Walk;
use local_sets::LocalSets;
pub use messages::{MessageProgram, MessageState};

/// How a stateless search chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stateless {
    /// Everything, in every order.
    All,
    /// By the stubborn sets of local partial-order reduction.
    Local,
    /// Dynamic partial-order reduction as it was invented.
    Dynamic,
    /// Dynamic partial-order reduction with source sets.
    Source,
    /// Dynamic partial-order reduction with source sets and wakeup trees: every trace once.
    Optimal,
}

/// What a stateless search saw.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatelessReport {
    /// Visits of states; a state that is reached twice counts twice.
    pub visits: u64,
    /// Paths to their ends.
    pub executions: u64,
    /// Paths that were given up, because all that was left had been tried.
    pub given_up: u64,
    /// Names of violated invariants, sorted.
    pub violated: Vec<String>,
    /// Nothing was given up.
    pub complete: bool,
}

/// A stateless search, ready to [run](StatelessSearch::run).
#[derive(Clone, Copy)]
pub struct StatelessSearch<'m> {
    model: &'m Core,
    how: Stateless,
    reduction: LocalReduction,
    in_local_sets: bool,
    most_visits: u64,
}

/// Which form of local reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LocalReduction {
    Own,
    Printed { net: bool },
}

impl std::fmt::Debug for StatelessSearch<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StatelessSearch")
            .field("how", &self.how)
            .field("in_local_sets", &self.in_local_sets)
            .field("most_visits", &self.most_visits)
            .finish_non_exhaustive()
    }
}

impl<M: Value> Model<M> {
    /// A search for violated invariants that remembers no states.
    pub fn stateless(&self, how: Stateless) -> StatelessSearch<'_> {
        StatelessSearch {
            model: &self.core,
            how,
            reduction: LocalReduction::Own,
            in_local_sets: false,
            most_visits: u64::MAX,
        }
    }
}

struct Run<'m> {
    model: &'m Core,
    executor: Box<dyn Executor + 'm>,
    bad: Vec<(LabelId, String)>,
    on_path: HashSet<Vec<u32>>,
    report: StatelessReport,
}

fn refuse<T>(why: &str) -> Result<T, CheckError> {
    Err(CheckError::Stateless(why.to_owned()))
}

impl<'m> StatelessSearch<'m> {
    /// Where dynamic reduction has a choice, it takes what local reduction would explore.
    pub fn in_local_sets(mut self) -> Self {
        self.in_local_sets = true;
        self
    }

    /// Local reduction [as printed](crate::Reduction::Printed).
    pub fn as_printed(mut self, net: bool) -> Self {
        self.reduction = LocalReduction::Printed { net };
        self
    }

    /// Gives up after so many visits of states.
    pub fn most_visits(mut self, visits: u64) -> Self {
        self.most_visits = visits;
        self
    }

    /// Searches until all invariants are known to be violated.
    ///
    /// # Errors
    /// Where the search would not be sound, or not come to an end; and if a handler does what
    /// its declaration excludes.
    pub fn run(&self) -> Result<StatelessReport, CheckError> {
        let model = self.model;
        let properties = model.structure().properties.iter();
        let mut run = Run {
            model,
            executor: model.executor(),
            bad: properties
                .map(|p| (p.violated_by, p.name.clone()))
                .collect(),
            on_path: HashSet::new(),
            report: StatelessReport {
                complete: true,
                ..StatelessReport::default()
            },
        };
        match self.how {
            Stateless::All => run.by_sets(None, self.most_visits)?,
            Stateless::Local => {
                let reduction: Box<dyn Reduction> = match self.reduction {
                    LocalReduction::Own => Box::new(local_reduction(model)?),
                    LocalReduction::Printed { net } => Box::new(printed_reduction(model, net)?),
                };
                run.by_sets(Some(&*reduction), self.most_visits)?;
            }
            Stateless::Dynamic => self.classic(&mut run)?,
            Stateless::Source => self.by_traces(dpor::Algorithm::Source, &mut run)?,
            Stateless::Optimal => self.by_traces(dpor::Algorithm::Optimal, &mut run)?,
        }
        if let Some(misuse) = model.misuses().first() {
            return Err(CheckError::Misuse(misuse.clone()));
        }
        run.report.violated.sort();
        Ok(run.report)
    }

    fn classic(&self, run: &mut Run<'m>) -> Result<(), CheckError> {
        let inner = &self.model.inner;
        if inner.protocol.history.is_some() {
            return refuse("it does not follow a record of messages");
        }
        if inner.actions.iter().any(|a| a.role == Role::Crash) {
            return refuse("it does not follow crashes");
        }
        let mut visible = vec![false; inner.actions.len()];
        for transition in local_reduction(self.model)?.visible() {
            visible[transition.index()] = true;
        }
        let local_sets = if self.in_local_sets {
            Some(LocalSets::new(self.model)?)
        } else {
            None
        };
        Walk::new(run, local_sets, visible).explore(self.most_visits)
    }

    fn by_traces(&self, algorithm: dpor::Algorithm, run: &mut Run<'m>) -> Result<(), CheckError> {
        let mut program = self.model.as_program(self.in_local_sets)?;
        let most = self.most_visits;
        let counts = dpor::explore(&mut program, algorithm, &mut |seen| {
            if let Seen::State(state) = seen {
                run.visit(state.words());
            }
            !run.is_over(most)
        });
        let counts = counts?;
        run.report.executions = counts.executions;
        run.report.given_up = counts.given_up;
        Ok(())
    }
}

/// The sets of local reduction for all invariants.
fn local_reduction(model: &Core) -> Result<StubbornReduction, CheckError> {
    let bad = model.structure().properties.iter().map(|p| p.violated_by);
    let relations = model.relations(RelationLevel::Reach);
    let aim = Aim::Goals(Goals::labels(bad));
    let plan = Plan::new(&Config::new(Algorithm::Lpor), aim)?;
    Ok(StubbornReduction::new(model, &relations, plan)?)
}

/// The same as printed by those who invented it.
fn printed_reduction(model: &Core, net: bool) -> Result<PrintedReduction, CheckError> {
    let structure = model.structure();
    let bad = structure.properties.iter().map(|p| p.violated_by);
    let relations = model.relations(RelationLevel::Reach);
    let aim = Aim::Goals(Goals::labels(bad));
    Ok(PrintedReduction::new(structure, &relations, &aim, net)?)
}

impl Run<'_> {
    /// Counts a visit, and notes what is wrong in the state.
    fn visit(&mut self, state: &[u32]) {
        self.report.visits += 1;
        for (label, name) in &self.bad {
            if self.executor.label(state, *label) && !self.report.violated.contains(name) {
                self.report.violated.push(name.clone());
            }
        }
    }

    /// Whether there is nothing more to learn, or no more time to learn it.
    fn is_over(&mut self, most_visits: u64) -> bool {
        let report = &mut self.report;
        let all_violated = !self.bad.is_empty() && report.violated.len() == self.bad.len();
        report.complete &= all_violated || report.visits < most_visits;
        all_violated || report.visits >= most_visits
    }

    /// Every path through all successors, or those by stubborn sets.
    fn by_sets(
        &mut self,
        reduction: Option<&dyn Reduction>,
        most_visits: u64,
    ) -> Result<(), CheckError> {
        let mut steps = Expander::new(self.model, reduction);
        // Each entry: a state, and its successors that are still to be visited.
        let mut path: Vec<(Vec<u32>, Vec<Vec<u32>>)> = Vec::new();
        let mut next = Some(self.model.initial_states());
        loop {
            if let Some(state) = next.take() {
                if self.is_over(most_visits) {
                    return Ok(());
                }
                if !self.on_path.insert(state.clone()) {
                    return Err(CheckError::Cyclic);
                }
                self.visit(&state);
                if let Err(spent) = steps.compute(&state) {
                    return Err(CheckError::Limit(spent.to_string()));
                }
                steps.choose(&state);
                let chosen = steps.successors().iter();
                let chosen = chosen.filter(|s| steps.keeps(s.transition));
                let open: Vec<_> = chosen.map(|s| s.state.to_vec()).rev_collect();
                self.report.executions += u64::from(open.is_empty());
                path.push((state, open));
            }
            let Some((state, open)) = path.last_mut() else {
                return Ok(());
            };
            next = open.pop();
            if next.is_none() {
                self.on_path.remove(state);
                path.pop();
            }
        }
    }
}

/// Collects backwards, so that `pop` gives the first.
trait RevCollect: Iterator + Sized {
    fn rev_collect(self) -> Vec<Self::Item> {
        let mut all: Vec<_> = self.collect();
        all.reverse();
        all
    }
}

impl<I: Iterator> RevCollect for I {}
