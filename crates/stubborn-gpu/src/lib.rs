//! Exact exploration on a graphics card.
//!
//! A [`Model`] becomes a program in OpenCL C that computes
//! successors as the interpreter does, and a kernel that runs whole levels of a breadth-first
//! search with it: states are expanded, and their successors looked up and stored in a table in
//! the card's memory, without the host touching any of them. Nothing is lost or confused: the
//! table holds whole states, or trees that stand for them (A. Laarman, J. van de Pol, M. Weber,
//! *Parallel recursive state compression for free*, 2011), and a table that turns out to be too
//! small makes the search start again with a larger one. (Others have done so with tables that may
//! lose states, or for one language: A. Wijs, M. Osama, *A GPU tree database for many-core
//! explicit state space exploration*, 2023.)
//!
//! The same kernels run on a CPU through `pocl`, which is how they are tested. Why things are as
//! they are is in `docs/decisions/0007-gpu-engine.md`.
//!
//! ```no_run
//! # use std::sync::Arc;
//! # fn example(model: Arc<stubborn_ir::Model>) -> Result<(), Box<dyn std::error::Error>> {
//! let device = stubborn_gpu::Device::open()?;
//! let targets = [stubborn_search::Target::Deadlock];
//! let compiled = stubborn_gpu::Engine::new(&device).takes(&model, &targets)?;
//! let outcome = compiled.run(&device, &stubborn_gpu::Options::default())?;
//! println!("{} states", outcome.states);
//! # Ok(()) }
//! ```

mod cache;
mod device;
mod packing;
mod sample;
mod search;
mod sets;
mod translate;
mod way;

use std::cell::OnceCell;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use stubborn_ir::Model;
use stubborn_search::Target;
use stubborn_system::System;

pub use device::{Device, DeviceError, DeviceInfo};
pub use search::{Figures, Hit, Options, Outcome};
pub use sets::Sets;

use device::Built;
use packing::Packing;
use translate::Translation;

/// Local memory that a work-group should take: several share a processor.
const LOCAL_BYTES: usize = 24 << 10;
/// Splits of a chain that one work-item remembers.
const SPLITS: usize = 12;

/// Why a model cannot be explored on a card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(String);

impl Refusal {
    fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refusal {}

/// Why a search on a card gave no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The model is not for a card.
    Refused(Refusal),
    /// The card turned out not to be able to go on; in words.
    Gave(&'static str),
    /// A value has more bits than a sample of states suggested. (Searches begin again by
    /// themselves.)
    Escaped,
    /// Keys are too long for the slots of the table. (Searches begin again with longer ones by
    /// themselves.)
    TooWide,
    /// Something with the device.
    Device(DeviceError),
}

impl From<DeviceError> for Failure {
    fn from(error: DeviceError) -> Self {
        Self::Device(error)
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refusal) => refusal.fmt(f),
            Self::Gave(reason) => f.write_str(reason),
            Self::Escaped => f.write_str("a value does not fit"),
            Self::TooWide => f.write_str("a key does not fit"),
            Self::Device(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Failure {}

/// Explores models on one device.
#[derive(Clone, Copy, Debug)]
pub struct Engine<'d> {
    device: &'d Device,
}

/// A model whose program is on the device.
pub struct Compiled {
    model: Arc<Model>,
    /// The same with the smallest ranges.
    narrow: Model,
    translation: Translation,
    /// Leaves out steps.
    sets: Option<Sets>,
    built: Built,
    /// What it was built from.
    source: String,
    options: String,
    /// Work-items of a group.
    group: usize,
    compile_time: Duration,
    /// How many bits more than a sample suggests fields have; all that there can be if `None`.
    slack: Option<u32>,
    /// The table has slots of 32 bits.
    has_quotients: bool,
    /// The same with more bits, once that was needed.
    wider: OnceCell<Box<Compiled>>,
}

impl<'d> Engine<'d> {
    /// On this device.
    pub fn new(device: &'d Device) -> Self {
        Self { device }
    }

    /// Translates and compiles a model for a search for targets; or why that cannot be done.
    pub fn takes(&self, model: &Arc<Model>, targets: &[Target]) -> Result<Compiled, Failure> {
        self.compile(model, targets, None, (Some(0), true))
    }

    /// The same, for a search that is reduced.
    pub fn takes_reduced(
        &self,
        model: &Arc<Model>,
        targets: &[Target],
        sets: &Sets,
    ) -> Result<Compiled, Failure> {
        self.compile(model, targets, Some(sets), (Some(0), true))
    }

    /// The same, with as many bits as a sample of states suggests, or as ranges say; and with quotients in
    /// the table, or not.
    fn compile(
        &self,
        model: &Arc<Model>,
        targets: &[Target],
        sets: Option<&Sets>,
        (slack, has_quotients): (Option<u32>, bool),
    ) -> Result<Compiled, Failure> {
        let started = Instant::now();
        let narrow = narrowed(model)?;
        let translation = translate::translate(&narrow, packed(&narrow, slack), targets, sets)?;
        let proviso = sets.is_some_and(Sets::has_proviso);
        let local = self.device.info().local_memory as usize;
        let (group, rows) = shape(&translation, proviso, local)?;
        let source = [
            include_str!("prelude.cl"),
            &translation.text,
            include_str!("kernels.cl"),
        ]
        .concat();
        let options = format!(
            "-cl-std=CL1.2 -w -DWG={group}u -DROWS={rows}u -DKEPT={}u -DSPLITS={SPLITS}u -DLONG_CHAIN={}u -DLONG_WAYS={}u",
            search::KEPT,
            2_000,
            1 << 18
        );
        let reduce = match (sets, proviso) {
            (None, _) => "",
            (Some(_), false) => " -DREDUCE",
            (Some(_), true) => " -DREDUCE -DPROVISO",
        };
        let options = options + reduce;
        let options = match has_quotients {
            true => options + &format!(" -DQUOTIENT -DSTEP_BITS={}u", search::STEP_BITS),
            false => options,
        };
        // Optimised, pocl takes work-items for loops to vectorise, and counts wrongly; without, it
        // also compiles several times faster.
        let options = match self.device.info().is_cpu {
            true => options + " -cl-opt-disable",
            false => options,
        };
        let built = self.device.build(&source, &options)?;
        Ok(Compiled {
            model: Arc::clone(model),
            narrow,
            translation,
            sets: sets.cloned(),
            built,
            source,
            options,
            group,
            compile_time: started.elapsed(),
            slack,
            has_quotients,
            wider: OnceCell::new(),
        })
    }

    /// The program that would be compiled, for people.
    pub fn source(model: &Model, targets: &[Target]) -> Result<String, Refusal> {
        let narrow = narrowed(model)?;
        translate::translate(&narrow, packed(&narrow, Some(0)), targets, None)
            .map(|translation| translation.text)
    }
}

/// Where everything lies.
fn packed(model: &Model, slack: Option<u32>) -> Packing {
    let sample = slack.map(|slack| (sample::states(model), slack));
    Packing::new(
        model,
        sample.as_ref().map(|(states, slack)| (&states[..], *slack)),
    )
}

/// The model with the smallest ranges: on a card, bits are time. Commands and labels have the
/// same numbers, and every run is one of both.
fn narrowed(model: &Model) -> Result<Model, Refusal> {
    let mut program = model.program().clone();
    stubborn_ir::narrow::narrow(&mut program, model.budget());
    Model::within(program, Arc::clone(model.shared_budget()))
        .map_err(|error| Refusal::new(error.to_string()))
}

/// How many work-items make a group, and how many successors each may stage.
fn shape(
    translation: &Translation,
    proviso: bool,
    local: usize,
) -> Result<(usize, usize), Refusal> {
    // With a proviso, who has staged a state is noted beside it.
    let words = translation.packing.words + usize::from(proviso);
    let rounds = translation.rounds.max(1);
    let few = 512; // for counters
    for (bytes, least) in [(LOCAL_BYTES, 3), (local.saturating_sub(few), 2)] {
        for group in [128, 64, 32, 16] {
            let rows = bytes.saturating_sub(few) / (8 * words * group);
            // Two rows are for what was new.
            if let Some(rows) = rows.checked_sub(2)
                && rows >= least
            {
                return Ok((group, rows.min(rounds + 1).max(2)));
            }
        }
    }
    let bits = translation.packing.bits;
    Err(Refusal::new(format!(
        "a state has {bits} bits, too many for a work-group's memory"
    )))
}

impl Compiled {
    /// Explores the model.
    pub fn run(&self, device: &Device, options: &Options<'_>) -> Result<Outcome, Failure> {
        if let Some(wider) = self.wider.get() {
            return wider.run(device, options);
        }
        let (slack, has_quotients) = match search::run(device, self, options) {
            // One more bit is often enough; a few more, or all that there can be.
            Err(Failure::Escaped) => match self.slack {
                Some(0) => (Some(1), self.has_quotients),
                Some(1) => (Some(3), self.has_quotients),
                _ => (None, self.has_quotients),
            },
            Err(Failure::TooWide) => (self.slack, false),
            result => return result,
        };
        let wider = Engine::new(device).compile(
            &self.model,
            &self.translation.targets,
            self.sets.as_ref(),
            (slack, has_quotients),
        )?;
        self.wider
            .get_or_init(|| Box::new(wider))
            .run(device, options)
    }

    /// A shortest way to what the last [run](Self::run) has hit: what is hit at its end, and its states, the
    /// initial one first; `None` if a limit was reached before it was found.
    ///
    /// After a reduced search that is a way without reduction, which is often shorter: who stores a state
    /// first is a matter of chance on a card, and with a proviso the same levels would not be found again.
    pub fn way(
        &self,
        device: &Device,
        hit: &Hit,
        options: &Options<'_>,
    ) -> Result<Option<(Hit, Vec<u32>)>, Failure> {
        if let Some(wider) = self.wider.get() {
            return wider.way(device, hit, options);
        }
        if self.sets.is_none() {
            let way = way::find(device, self, hit, options)?;
            return Ok(way.map(|way| (hit.clone(), way)));
        }
        let whole = Engine::new(device).compile(
            &self.model,
            &[hit.target],
            None,
            (self.slack, self.has_quotients),
        )?;
        let first = Options {
            stop: stubborn_search::Stop::FirstViolation,
            ..*options
        };
        match whole.run(device, &first)?.hits.first() {
            Some(nearest) => whole.way(device, nearest, options),
            None => Ok(None),
        }
    }

    /// How long translating and compiling took.
    pub fn compile_time(&self) -> Duration {
        self.compile_time
    }

    /// Whether the compiled program was found in the cache.
    pub fn is_from_cache(&self) -> bool {
        self.built.from_cache
    }
}

impl fmt::Debug for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compiled")
            .field("model", &self.model.program().name)
            .field("group", &self.group)
            .finish_non_exhaustive()
    }
}
