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
mod cycles;
mod device;
mod packing;
mod sample;
mod search;
mod sets;
mod tables;
mod translate;
mod watch;
mod way;

use std::cell::OnceCell;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use stubborn_ir::{Model, VarId};
use stubborn_search::{End, Limit, Target};
use stubborn_system::System;

pub use cycles::{Cycles, Lasso};
pub use device::{Device, DeviceError, DeviceInfo};
pub use search::{Figures, Hit, Options, Outcome};
pub use sets::Sets;
pub use translate::Spelling;
pub use watch::Watch;

use device::Built;
use packing::{Packing, Wish};
use translate::Translation;

/// Local memory that a work-group should take: several share a processor.
const LOCAL_BYTES: usize = 24 << 10;
/// Splits of a chain that one work-item remembers, and steps that it makes between and after them, first
/// where chains run in circles.
const FEW_SPLITS: [u32; 3] = [12, 1 << 16, 1 << 18];
/// The same for models with chains that need more.
const MANY_SPLITS: [u32; 3] = [60, 1 << 19, 1 << 20];

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
    /// A step of the model runs through too many steps of its own. (Searches begin again with more room for
    /// them, once.)
    TooLong,
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
            Self::TooLong => {
                f.write_str("a step of the model runs through too many steps of its own for a card")
            }
            Self::Device(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Failure {}

/// Explores models on one device.
#[derive(Clone, Copy, Debug)]
pub struct Engine<'d> {
    device: &'d Device,
    spelling: Option<Spelling>,
}

/// What is looked for, and how.
#[derive(Clone, Debug, Default)]
struct Asked {
    targets: Vec<Target>,
    /// Leaves out steps.
    sets: Option<Sets>,
    /// Looks at runs.
    watch: Option<Watch>,
    /// How commands are chosen; by default, as it pays.
    spelling: Option<Spelling>,
    /// Bits of a state that fit into a short slot of the first table.
    one_word: u32,
    /// Some states of the model, once they are known.
    sample: Arc<OnceLock<Vec<u32>>>,
}

/// How a program is made. A search that meets what does not fit begins again with another.
#[derive(Clone, Copy, Debug)]
struct Shape {
    /// How many bits more than a sample suggests fields have; all that there can be if `None`.
    slack: Option<u32>,
    /// The table has slots of 32 bits.
    has_quotients: bool,
    /// States have two words at least: numbers of nodes are shorter than states.
    is_split: bool,
    /// There is room for long chains.
    has_long_chains: bool,
}

/// A model whose program is on the device.
pub struct Compiled {
    model: Arc<Model>,
    /// The same with the smallest ranges, and with the automaton's state, if there is one.
    narrow: Model,
    translation: Translation,
    asked: Asked,
    built: Built,
    /// What it was built from.
    source: String,
    options: String,
    /// Work-items of a group.
    group: usize,
    compile_time: Duration,
    /// What the driver's compiler took of it.
    build_time: Duration,
    shape: Shape,
    /// The same in another shape, once that was needed.
    other: OnceCell<Box<Compiled>>,
}

impl<'d> Engine<'d> {
    /// On this device.
    pub fn new(device: &'d Device) -> Self {
        Self {
            device,
            spelling: None,
        }
    }

    /// With commands chosen in this way, whatever pays. (Where tables do not fit, they are spelled out.)
    #[must_use]
    pub fn spelling(self, spelling: Spelling) -> Self {
        Self {
            spelling: Some(spelling),
            ..self
        }
    }

    /// Translates and compiles a model for a search for targets; or why that cannot be done.
    pub fn takes(&self, model: &Arc<Model>, targets: &[Target]) -> Result<Compiled, Failure> {
        let targets = targets.to_vec();
        self.compile_first(
            model,
            Asked {
                targets,
                ..Asked::default()
            },
        )
    }

    /// The same, for a search that is reduced.
    pub fn takes_reduced(
        &self,
        model: &Arc<Model>,
        targets: &[Target],
        sets: &Sets,
    ) -> Result<Compiled, Failure> {
        self.compile_first(
            model,
            Asked {
                targets: targets.to_vec(),
                sets: Some(sets.clone()),
                ..Asked::default()
            },
        )
    }

    /// The same, for the product with an automaton, in which [cycles](Compiled::cycles) are looked for.
    pub fn takes_product(&self, model: &Arc<Model>, watch: &Watch) -> Result<Compiled, Failure> {
        self.compile_first(
            model,
            Asked {
                watch: Some(watch.clone()),
                ..Asked::default()
            },
        )
    }

    /// As narrow as a sample of states suggests.
    fn compile_first(&self, model: &Arc<Model>, asked: Asked) -> Result<Compiled, Failure> {
        self.compile(
            model,
            Asked {
                spelling: self.spelling,
                one_word: tables::longest_key(self.device),
                ..asked
            },
            Shape {
                slack: Some(0),
                has_quotients: true,
                is_split: false,
                has_long_chains: false,
            },
        )
    }

    fn compile(
        &self,
        model: &Arc<Model>,
        asked: Asked,
        mut shape: Shape,
    ) -> Result<Compiled, Failure> {
        let started = Instant::now();
        let (narrow, packing) = packed(model, &asked, shape)?;
        // A key that will not fit is no reason to compile twice.
        shape.has_quotients &= packing.words > 1 || packing.longest_word() <= asked.one_word;
        let translation = translate::translate(&narrow, packing, &asked)?;
        let proviso = asked.sets.as_ref().is_some_and(Sets::has_proviso);
        let local = self.device.info().local_memory as usize;
        let (group, rows) = rows(&translation, proviso, local)?;
        let source = [
            include_str!("prelude.cl"),
            &translation.text,
            include_str!("kernels.cl"),
        ]
        .concat();
        let [splits, long_chain, long_ways] = match shape.has_long_chains {
            false => FEW_SPLITS,
            true => MANY_SPLITS,
        };
        let options = format!(
            "-cl-std=CL1.2 -w -DWG={group}u -DROWS={rows}u -DKEPT={}u -DSPLITS={splits}u -DLONG_CHAIN={long_chain}u -DLONG_WAYS={long_ways}u",
            tables::KEPT,
        );
        let reduce = match (&asked.sets, proviso) {
            (None, _) => "",
            (Some(_), false) => " -DREDUCE",
            (Some(_), true) => " -DREDUCE -DPROVISO",
        };
        let options = options + reduce;
        let options = match shape.has_quotients {
            true => options + &format!(" -DQUOTIENT -DSTEP_BITS={}u", tables::STEP_BITS),
            false => options,
        };
        // Optimised, pocl takes work-items for loops to vectorise, and counts wrongly; without, it
        // also compiles several times faster.
        let info = self.device.info();
        let options = match info.is_cpu {
            true => options + " -cl-opt-disable",
            // The code is as fast as with more of it, and compiled in four fifths of the time.
            false if info.version.contains("CUDA") => options + " -cl-nv-opt-level=1",
            false => options,
        };
        let building = Instant::now();
        let built = self.device.build(&source, &options)?;
        let build_time = building.elapsed();
        Ok(Compiled {
            model: Arc::clone(model),
            narrow,
            translation,
            asked,
            built,
            source,
            options,
            group,
            compile_time: started.elapsed(),
            build_time,
            shape,
            other: OnceCell::new(),
        })
    }

    /// The program that would be compiled, for people.
    pub fn source(model: &Model, targets: &[Target]) -> Result<String, Refusal> {
        let asked = Asked {
            targets: targets.to_vec(),
            ..Asked::default()
        };
        let shape = Shape {
            slack: Some(0),
            has_quotients: true,
            is_split: false,
            has_long_chains: false,
        };
        let (narrow, packing) = packed(model, &asked, shape)?;
        translate::translate(&narrow, packing, &asked).map(|translation| translation.text)
    }
}

/// The model as it is packed, and where everything lies.
fn packed(model: &Model, asked: &Asked, shape: Shape) -> Result<(Model, Packing), Refusal> {
    let (narrow, watcher) = narrowed(model, asked.watch.as_ref())?;
    let sample = || asked.sample.get_or_init(|| sample::states(&narrow));
    let sample = shape.slack.map(|slack| (&sample()[..], slack));
    let wish = Wish {
        watcher,
        fewest_words: if shape.is_split { 2 } else { 1 },
        one_word: asked.one_word,
    };
    let packing = Packing::new(&narrow, sample, wish);
    Ok((narrow, packing))
}

/// The model with the smallest ranges: on a card, bits are time. Commands and labels have the
/// same numbers, and every run is one of both. An automaton's state is one more variable, the last one.
fn narrowed(model: &Model, watch: Option<&Watch>) -> Result<(Model, Option<VarId>), Refusal> {
    let mut program = model.program().clone();
    stubborn_ir::narrow::narrow(&mut program, model.budget());
    let watcher = watch.map(|watch| program.variable(watch.variable()));
    let model = Model::within(program, Arc::clone(model.shared_budget()))
        .map_err(|error| Refusal::new(error.to_string()))?;
    Ok((model, watcher))
}

/// How many work-items make a group, and how many successors each may stage.
fn rows(translation: &Translation, proviso: bool, local: usize) -> Result<(usize, usize), Refusal> {
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
        self.try_shapes(
            device,
            &|compiled| search::run(device, compiled, options),
            &|outcome| outcome.end == End::Limit(Limit::Memory),
        )
    }

    /// Looks for runs that the automaton of a [product](Engine::takes_product) accepts.
    pub fn cycles(&self, device: &Device, options: &Options<'_>) -> Result<Cycles, Failure> {
        self.try_shapes(
            device,
            &|compiled| cycles::find(device, compiled, options),
            &|cycles| cycles.end == End::Limit(Limit::Memory),
        )
    }

    /// Does something, again in another shape where this one turns out not to fit.
    fn try_shapes<T>(
        &self,
        device: &Device,
        attempt: &dyn Fn(&Compiled) -> Result<T, Failure>,
        is_out_of_memory: &dyn Fn(&T) -> bool,
    ) -> Result<T, Failure> {
        if let Some(other) = self.other.get() {
            return other.try_shapes(device, attempt, is_out_of_memory);
        }
        let mut shape = self.shape;
        let result = attempt(self);
        match &result {
            // One more bit is often enough; a few more, or all that there can be.
            Err(Failure::Escaped) if self.translation.packing.slack.is_some() => {
                shape.slack = match self.translation.packing.slack {
                    Some(0) => Some(1),
                    Some(1 | 2) => Some(3),
                    _ => None,
                };
            }
            Err(Failure::TooWide) if shape.has_quotients => shape.has_quotients = false,
            Err(Failure::TooLong) if !shape.has_long_chains => shape.has_long_chains = true,
            // Trees have shorter keys: slots need half the space.
            Ok(done)
                if is_out_of_memory(done)
                    && !shape.has_quotients
                    && !shape.is_split
                    && self.translation.packing.words == 1 =>
            {
                shape.is_split = true;
                shape.has_quotients = true;
            }
            _ => return result,
        }
        let other = Engine::new(device).compile(&self.model, self.asked.clone(), shape);
        let other = match (other, result) {
            (Ok(other), _) => other,
            // What was learnt is more than nothing.
            (Err(_), Ok(done)) => return Ok(done),
            (Err(failure), Err(_)) => return Err(failure),
        };
        self.other
            .get_or_init(|| Box::new(other))
            .try_shapes(device, attempt, is_out_of_memory)
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
        if let Some(other) = self.other.get() {
            return other.way(device, hit, options);
        }
        if self.asked.sets.is_none() {
            let way = way::find(device, self, hit, options)?;
            return Ok(way.map(|way| (hit.clone(), way)));
        }
        let asked = Asked {
            targets: vec![hit.target],
            spelling: self.asked.spelling,
            one_word: self.asked.one_word,
            ..Asked::default()
        };
        let whole = Engine::new(device).compile(&self.model, asked, self.shape)?;
        let first = Options {
            stop: stubborn_search::Stop::FirstViolation,
            ..*options
        };
        match whole.run(device, &first)?.hits.first() {
            Some(nearest) => whole.way(device, nearest, options),
            None => Ok(None),
        }
    }

    /// How long translating and compiling took, again where something did not fit included.
    pub fn compile_time(&self) -> Duration {
        let other = self.other.get();
        self.compile_time + other.map_or(Duration::ZERO, |other| other.compile_time())
    }

    /// How long the driver's compiler took of that.
    pub fn build_time(&self) -> Duration {
        let other = self.other.get();
        self.build_time + other.map_or(Duration::ZERO, |other| other.build_time())
    }

    /// How often it was compiled.
    pub fn compilations(&self) -> u32 {
        1 + self.other.get().map_or(0, |other| other.compilations())
    }

    /// Bytes of the program that was compiled last.
    pub fn source_bytes(&self) -> usize {
        let other = self.other.get();
        other.map_or(self.source.len(), |other| other.source_bytes())
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
