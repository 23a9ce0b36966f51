//! Random walks: no answer about everything, but some about what is too large to be explored.

use std::fmt;
use std::time::{Duration, Instant};

use stubborn_search::Trace;
use stubborn_system::{Executor, LabelId, Outcome, Random, System};

use crate::chart::Chart;
use crate::coverage::Coverage;
use crate::executor::ProtocolExecutor;
use crate::model::{Core, Model};
use crate::report::Failure;
use crate::value::Value;

/// Random walks through a protocol, ready to be [taken](Simulation::run).
pub struct Simulation<'m> {
    model: &'m Core,
    seed: u64,
    walks: u64,
    steps: usize,
    time: Option<Duration>,
}

impl fmt::Debug for Simulation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Simulation")
            .field("protocol", &self.model.name())
            .field("seed", &self.seed)
            .field("walks", &self.walks)
            .finish_non_exhaustive()
    }
}

/// What walks have shown.
#[derive(Clone, Debug)]
pub struct SimulationReport {
    /// The protocol.
    pub protocol: String,
    /// How many there were.
    pub walks: u64,
    /// Steps of all of them.
    pub steps: u64,
    /// The first invariant that was violated.
    pub failure: Option<Failure>,
    /// The seed of the walk that violated it: [`seed`](Simulation::seed) begins with that walk.
    pub seed: Option<u64>,
    /// Handlers that panicked or did what their declarations exclude.
    pub misuses: Vec<String>,
    /// What never happened, in all that was done with the model so far.
    pub coverage: Coverage,
}

impl SimulationReport {
    /// Nothing bad happened. That says nothing about what else may happen.
    pub fn is_clean(&self) -> bool {
        self.failure.is_none() && self.misuses.is_empty()
    }
}

impl fmt::Display for SimulationReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { walks, steps, .. } = self;
        for misuse in &self.misuses {
            writeln!(f, "{}: {misuse}", self.protocol)?;
        }
        if let (Some(failure), Some(seed)) = (&self.failure, self.seed) {
            let property = &failure.property;
            writeln!(
                f,
                "{}: `{property}` is violated, seed {seed}",
                self.protocol
            )?;
            if let Some(chart) = &failure.chart {
                writeln!(f, "\n{chart}")?;
            }
        }
        writeln!(f, "{walks} walks, {steps} steps")?;
        self.coverage.fmt(f)
    }
}

impl<M: Value> Model<M> {
    /// Random walks: a hundred of at most a thousand steps, the same each time.
    ///
    /// ```
    /// use stubborn_protocol::Protocol;
    ///
    /// let mut p = Protocol::<u8>::new("counter");
    /// let counter = p.process("counter", 0_u64);
    /// p.action(counter, "counts").then(|n, _| *n += 1);
    /// p.invariant_over("below 50", &[counter], |n| *n, |n| n[0] < 50);
    /// let model = p.build()?;
    /// let report = model.simulate().seed(7).walks(3).steps(100).run();
    /// assert_eq!(report.failure.unwrap().trace.unwrap().len(), 50);
    /// # Ok::<(), stubborn_protocol::ProtocolError>(())
    /// ```
    pub fn simulate(&self) -> Simulation<'_> {
        Simulation {
            model: &self.core,
            seed: 0,
            walks: 100,
            steps: 1_000,
            time: None,
        }
    }
}

impl Simulation<'_> {
    /// Walks with other random numbers. Walk `n` has the seed `seed + n`.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// So many walks, if nothing bad happens.
    pub fn walks(mut self, walks: u64) -> Self {
        self.walks = walks;
        self
    }

    /// Walks of at most so many steps.
    pub fn steps(mut self, steps: usize) -> Self {
        self.steps = steps;
        self
    }

    /// Begins no walk after so long.
    pub fn time(mut self, time: Duration) -> Self {
        self.time = Some(time);
        self
    }

    /// Walks until something bad happens, or a limit is reached.
    pub fn run(&self) -> SimulationReport {
        let started = Instant::now();
        let mut report = SimulationReport {
            protocol: self.model.name().to_owned(),
            walks: 0,
            steps: 0,
            failure: None,
            seed: None,
            misuses: Vec::new(),
            coverage: Coverage::default(),
        };
        let structure = self.model.structure();
        let bad: Vec<(&String, LabelId)> = structure
            .properties
            .iter()
            .map(|p| (&p.name, p.violated_by))
            .collect();
        let error = structure.error_state.as_deref();
        let mut executor = ProtocolExecutor::new(&self.model.inner, error);
        for number in 0..self.walks {
            let late = self.time.is_some_and(|time| started.elapsed() >= time);
            if late || self.model.budget().poll().is_some() {
                break;
            }
            let seed = self.seed.wrapping_add(number);
            report.walks += 1;
            let (trace, violated) = self.walk(seed, &bad, &mut executor);
            report.steps += trace.len() as u64;
            report.misuses = self.model.misuses();
            if let Some(property) = violated {
                report.failure = Some(Failure {
                    property: property.clone(),
                    chart: Some(Chart::of(self.model, &trace)),
                    trace: Some(trace),
                    shortest: false,
                });
            }
            if !report.is_clean() {
                report.seed = Some(seed);
                break;
            }
        }
        report.coverage = Coverage::of(&self.model.inner, &[]);
        report
    }

    /// One walk, until it ends or an invariant is violated.
    fn walk<'p>(
        &self,
        seed: u64,
        bad: &[(&'p String, LabelId)],
        executor: &mut ProtocolExecutor<'_>,
    ) -> (Trace, Option<&'p String>) {
        // Seeds in a row begin nearly the same sequence.
        let mut random = Random::new(Random::new(seed).bits());
        let mut state = self.model.initial_states();
        let mut trace = Trace::new(&state);
        for step in 0..=self.steps {
            let violated = bad.iter().find(|(_, label)| executor.label(&state, *label));
            if let Some((name, _)) = violated {
                return (trace, Some(name));
            }
            if step == self.steps {
                break;
            }
            let Some((transition, outcome)) = executor.random_step(&mut state, &mut random) else {
                break;
            };
            trace.push(transition, outcome, &state);
            if outcome != Outcome::FINE {
                break;
            }
        }
        (trace, None)
    }
}
