//! What tests share: models, devices, and the reference to compare with.
#![allow(dead_code)] // each test file uses a part of it

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use stubborn_diagnostics::SourceFile;
use stubborn_gpu::{Device, DeviceError};
use stubborn_ir::Model;
use stubborn_promela::source::FileLoader;
use stubborn_search::Target;
use stubborn_system::{FailureKind, Successors, System};

/// A device to test with; none, said on standard error, where there is none.
pub(crate) fn device() -> Option<Device> {
    match Device::open() {
        Ok(device) => Some(device),
        Err(DeviceError::NoDevice(reason)) => {
            eprintln!("skipped: {reason} (install pocl-opencl-icd)");
            None
        }
        Err(other) => panic!("{other}"),
    }
}

/// The model in a file.
pub(crate) fn load(path: &Path) -> Arc<Model> {
    try_load(path).expect("a well-formed model")
}

/// The model in a file, if it is one.
pub(crate) fn try_load(path: &Path) -> Option<Arc<Model>> {
    let text = std::fs::read(path).expect("the file is readable");
    let text = String::from_utf8_lossy(&text);
    if path.extension().is_some_and(|e| e == "dve") {
        let name = path.file_stem().map(|s| s.to_string_lossy().into_owned());
        let source = SourceFile::new(name.unwrap_or_default(), text);
        let (lowered, _) = stubborn_dve::compile(&source);
        return Some(Arc::new(Model::new(lowered?.into_program()).ok()?));
    }
    let loaded = stubborn_promela::load(
        path,
        &text,
        &stubborn_promela::Options::default(),
        &FileLoader,
    );
    Some(Arc::new(loaded.ok()?.model))
}

/// What the interpreter finds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) states: u64,
    pub(crate) transitions: u64,
    pub(crate) deadlocks: u64,
    pub(crate) levels: Vec<u64>,
    /// For each target, how often it was hit, and how far away.
    pub(crate) hits: Vec<Option<(u64, u64)>>,
}

/// Explores by the interpreter; `None` beyond a limit.
pub(crate) fn reference(model: &Model, targets: &[Target], most: usize) -> Option<Found> {
    let words = model.layout().words();
    let mut executor = model.executor();
    let mut out = Successors::new(words);
    let initial = model.initial_states();
    let mut seen: HashSet<Box<[u32]>> = HashSet::new();
    seen.insert(initial.clone().into());
    let mut level: Vec<Box<[u32]>> = vec![initial.into()];
    let mut found = Found {
        hits: vec![None; targets.len()],
        ..Found::default()
    };
    let mut depth = 0;
    while !level.is_empty() {
        found.levels.push(level.len() as u64);
        let mut next: Vec<Box<[u32]>> = Vec::new();
        for state in &level {
            out.clear();
            executor.successors(state, &mut out);
            found.transitions += out.len() as u64;
            let is_error = model.is_error(state);
            found.deadlocks += u64::from(out.is_empty());
            let mut steps = [0, 0];
            for step in out.iter() {
                let sites = step.outcome.sites(model.structure());
                let kinds: Vec<bool> = sites
                    .map(|site| site.kind == FailureKind::Assertion)
                    .collect();
                steps[0] += u64::from(kinds.contains(&false));
                steps[1] += u64::from(kinds.contains(&true));
                if seen.insert(step.state.into()) {
                    next.push(step.state.into());
                }
            }
            for (target, hits) in targets.iter().zip(&mut found.hits) {
                let times = match target {
                    Target::Deadlock => u64::from(out.is_empty() && !is_error),
                    Target::InvalidEnd => {
                        let valid = model
                            .program()
                            .valid_end
                            .is_some_and(|label| executor.label(state, label));
                        u64::from(out.is_empty() && !is_error && !valid)
                    }
                    Target::Errors => steps[0],
                    Target::Assertions => steps[1],
                    Target::Label(label) => u64::from(!is_error && executor.label(state, *label)),
                };
                if times > 0 {
                    hits.get_or_insert((0, depth)).0 += times;
                }
            }
            if seen.len() > most {
                return None;
            }
        }
        level = next;
        depth += 1;
    }
    found.states = seen.len() as u64;
    Some(found)
}
