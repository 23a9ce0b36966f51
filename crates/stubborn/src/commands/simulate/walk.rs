//! One walk through a model, step by step, as it is shown.

use std::io::Write;

use stubborn::diagnostics::Span;
use stubborn::system::{Executor, Outcome, Successors, System};
use stubborn::{LoadedModel, Trace, spin, story};

use crate::exit::Status;
use crate::terminal::print;

/// A model being walked through.
pub(super) struct Walk<'m> {
    pub(super) model: &'m LoadedModel,
    pub(super) system: &'m dyn System,
    executor: Box<dyn Executor + 'm>,
    pub(super) successors: Successors,
    with_states: bool,
    width: usize,
}

impl<'m> Walk<'m> {
    pub(super) fn new(model: &'m LoadedModel, with_states: bool) -> Self {
        let system = model.reference();
        let ids = system.structure().transition_ids();
        Self {
            model,
            executor: system.executor(),
            successors: Successors::new(system.layout().words()),
            with_states,
            width: ids.map(|t| story::name_width(system, t)).max().unwrap_or(0),
            system,
        }
    }

    pub(super) fn first_state(&self) -> Trace {
        let states = self.system.initial_states();
        Trace::new(&states[..self.system.layout().words()])
    }

    pub(super) fn along(&mut self, taken: &[usize]) -> Trace {
        let mut trace = self.first_state();
        for choice in taken {
            self.choices(&trace);
            self.take(&mut trace, *choice);
        }
        trace
    }

    /// Outcomes of the steps that start processes for which there is no room yet.
    pub(super) fn missing(&self) -> Vec<Outcome> {
        let Some(promela) = self.model.promela() else {
            return Vec::new();
        };
        let lowered = &promela.loaded().lowered;
        let outcomes = self.successors.iter().map(|s| s.outcome);
        outcomes.filter(|o| lowered.missing(*o).is_some()).collect()
    }

    pub(super) fn misses_something(&self) -> bool {
        !self.missing().is_empty()
    }

    pub(super) fn start(&self) {
        let state = self.first_state();
        print(&format!(
            "start\n{}",
            story::state(self.system, state.initial_state(), false)
        ));
    }

    /// Computes the steps from where the trace ends.
    pub(super) fn choices(&mut self, trace: &Trace) -> usize {
        self.successors.clear();
        self.executor
            .successors(trace.last_state(), &mut self.successors);
        self.successors.len()
    }

    pub(super) fn show_choices(&self, trace: &Trace) {
        let before = trace.last_state();
        let mut text = String::new();
        for (at, step) in self.successors.iter().enumerate() {
            let name = self.system.structure().transition(step.transition).title();
            let changes = story::changes(self.system, step.transition, before, step.state);
            let width = self.width;
            let line = format!("  [{}] {name:width$}  {}", at + 1, changes.join(", "));
            text += line.trim_end();
            text.push('\n');
        }
        if self.successors.is_empty() {
            text += "  no step is possible here (u takes one back, q quits)\n";
        }
        print(&text);
    }

    pub(super) fn take(&mut self, trace: &mut Trace, choice: usize) {
        let step = self.successors.get(choice);
        trace.push(step.transition, step.outcome, step.state);
    }

    pub(super) fn show(&self, trace: &Trace, number: usize) {
        let mut text = String::new();
        let step = trace.step(number);
        story::step_line(self.system, &step, 3, self.width, &mut text);
        for line in spin::printed(self.model, &step).lines() {
            text += &format!("       | {line}\n");
        }
        if self.with_states {
            text += &story::state(self.system, trace.state(number + 1), false);
        }
        print(&text);
    }

    /// Shows all of a trace, with where its cycle begins.
    pub(super) fn show_all(&self, trace: &Trace) {
        self.start();
        for number in 0..trace.len() {
            if trace.cycle_start() == Some(number) {
                print("  then for ever:\n");
            }
            self.show(trace, number);
        }
    }

    /// What is wrong where the trace ends: about its last step, the state after it, or that nobody
    /// can move there although not everybody may stop. [`Self::choices`] is about that state.
    pub(super) fn violations(&mut self, trace: &Trace) -> Vec<(String, Option<Span>)> {
        let structure = self.system.structure();
        let mut found = Vec::new();
        if let Some(last) = trace.len().checked_sub(1) {
            let sites = trace.step(last).outcome.sites(structure);
            found.extend(sites.map(|site| (site.message.clone(), site.span)));
        }
        let state = trace.last_state();
        found.extend(story::violated_in(self.system, state));
        let is_error = structure.error_state.as_deref() == Some(state);
        if self.successors.is_empty() && !is_error {
            let may_end = structure.valid_end;
            if !may_end.is_some_and(|label| self.executor.label(state, label)) {
                let what = if may_end.is_some() {
                    "invalid end state"
                } else {
                    "deadlock"
                };
                found.push((what.into(), None));
            }
        }
        found
    }

    /// Tells what is wrong, with places; false if nothing is.
    pub(super) fn tell_violations(&mut self, trace: &Trace) -> bool {
        let found = self.violations(trace);
        for (what, span) in &found {
            print(&format!(
                "violated: {what}\n{}",
                story::source_line(self.model, *span)
            ));
        }
        !found.is_empty()
    }

    /// Names what is violated in the state where a trace ends, and says whether anything is; that its
    /// last step fails and that nobody can move was said before.
    pub(super) fn conclude(&mut self, trace: &Trace) -> Status {
        for (what, span) in story::violated_in(self.system, trace.last_state()) {
            print(&format!(
                "violated: {what}\n{}",
                story::source_line(self.model, span)
            ));
        }
        self.choices(trace);
        if self.violations(trace).is_empty() {
            Status::Fine
        } else {
            Status::Violated
        }
    }

    /// Where the walk ended, and why if it had to.
    pub(super) fn end(&mut self, trace: &Trace) {
        if self.choices(trace) > 0 {
            return;
        }
        let state = trace.last_state();
        if self.system.structure().error_state.as_deref() == Some(state) {
            print("the run ends here: its last step failed\n");
        } else {
            print(&story::why_stuck(self.system, state));
        }
        let _ = std::io::stdout().flush();
    }
}
