//! The header, the shared library and the example fit together, where there is a C compiler; and
//! what a caller can do wrong is an error.

use std::ffi::{CStr, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::ptr::{null, null_mut};

use stubborn_c::*;

/// Where cargo puts what it builds for this test.
fn library() -> Option<PathBuf> {
    let here = std::env::current_exe().expect("this program has a path");
    let name = format!(
        "{}stubborn_c{}",
        std::env::consts::DLL_PREFIX,
        std::env::consts::DLL_SUFFIX
    );
    let folders = here.ancestors().skip(1).take(2);
    folders
        .map(|folder| folder.join(&name))
        .find(|path| path.exists())
}

fn compiled(source: &Path, flags: &[&str], program: &Path) -> Option<()> {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let library = library().expect("cargo builds the library with its tests");
    let folder = library.parent().expect("it lies in a folder");
    let output = Command::new("cc")
        .args(["-Wall", "-Wextra", "-Werror"])
        .args(flags)
        .arg("-I")
        .arg(package.join("include"))
        .arg(source)
        .arg("-o")
        .arg(program)
        .arg(&library)
        .arg(format!("-Wl,-rpath,{}", folder.display()))
        .output()
        .ok()?;
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Some(())
}

#[test]
fn the_example_in_c_finds_the_deadlock_with_fewer_states() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/philosophers.c");
    let program = folder.path().join("philosophers");
    if compiled(&source, &["-std=c99", "-pedantic"], &program).is_none() {
        eprintln!("skipped: there is no C compiler");
        return;
    }
    let output = Command::new(&program).output().expect("it runs");
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(
        output.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let number = |line: &str, at: usize| -> u32 {
        let numbers = line
            .split(|c: char| !c.is_ascii_digit())
            .filter(|n| !n.is_empty());
        numbers
            .map(|n| n.parse().expect("a number"))
            .nth(at)
            .expect("one more number")
    };
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "unreduced: 478 states, 1 deadlocks");
    assert_eq!(lines.len(), 6, "{text}");
    for line in &lines[1..5] {
        assert!(
            number(line, 0)
                < if line.starts_with("closure") {
                    478
                } else {
                    100
                },
            "{line}"
        );
        assert_eq!(number(line, 1), 1, "{line}");
    }
    assert_eq!(
        lines[5],
        "refused: -1, there is no transition 2, but 2 from 0"
    );
}

fn error() -> String {
    // SAFETY: valid until the next call.
    unsafe { CStr::from_ptr(stubborn_error()) }
        .to_string_lossy()
        .into_owned()
}

/// Transition 0 runs round a cycle, transition 1 is bad.
fn ring(keep: i32, algorithm: Option<&CStr>) -> *mut Reduction {
    let relations = stubborn_relations_new(2, 0);
    // SAFETY: fresh relations, given away once.
    unsafe {
        assert_eq!(stubborn_is_visible(relations, 1), 0);
        stubborn_reduction_new(relations, keep, algorithm.map_or(null(), CStr::as_ptr))
    }
}

#[test]
fn nothing_that_is_wrong_does_harm() {
    // SAFETY: null is allowed everywhere, and says why it is not enough.
    unsafe {
        assert_eq!(stubborn_can_enable(null_mut(), 0, 0), -1);
        assert!(stubborn_reduction_new(null_mut(), 0, null()).is_null());
        assert!(stubborn_worker_new(null()).is_null());
        assert_eq!(stubborn_set(null_mut(), null(), 0, null(), null_mut()), -1);
        assert_eq!(error(), "there is no worker");
        stubborn_relations_free(null_mut());
        stubborn_reduction_free(null_mut());
        stubborn_worker_free(null_mut());
    }
    assert!(ring(7, None).is_null());
    assert!(ring(0, Some(c"magic")).is_null());
    assert!(error().contains("magic"), "{}", error());

    let relations = stubborn_relations_new(2, 1);
    // SAFETY: fresh relations.
    unsafe {
        assert_eq!(stubborn_waits_for(relations, 0, 1), -1);
        assert_eq!(error(), "there is no condition 1, but 1 from 0");
        assert_eq!(stubborn_belongs_to(relations, 0, u32::MAX), -1);
        assert_eq!(stubborn_is_visible(relations, 2), -1);
        stubborn_relations_free(relations);
    }
}

unsafe extern "C" fn as_context_says(context: *mut c_void, _: *const u32, _: usize) -> bool {
    // SAFETY: the test hands over a truth value.
    unsafe { *context.cast::<bool>() }
}

#[test]
fn the_search_says_which_sets_are_not_enough() {
    let mut again = false;
    for algorithm in [None, Some(c"beam")] {
        let reduction = ring(2, algorithm);
        assert!(!reduction.is_null(), "{}", error());
        // SAFETY: the worker has a share of its own in the reduction.
        let worker = unsafe {
            let worker = stubborn_worker_new(reduction);
            stubborn_reduction_free(reduction);
            worker
        };
        let (enabled, mut chosen) = ([0, 1], [9, 9]);
        let mut set = |again: &mut bool, asked: bool| {
            let situation = Here::new(
                std::ptr::from_mut(again).cast(),
                None,
                asked.then_some(as_context_says as _),
            );
            // SAFETY: arrays of two elements, and a function for its context.
            unsafe {
                stubborn_set(
                    worker,
                    enabled.as_ptr(),
                    2,
                    &raw const situation,
                    chosen.as_mut_ptr(),
                )
            }
        };
        assert_eq!(set(&mut again, false), -1);
        assert!(error().contains("not enough"), "{}", error());
        again = false;
        assert_eq!(set(&mut again, true), 1, "{algorithm:?}");
        again = true;
        assert_eq!(set(&mut again, true), 2, "{algorithm:?}");
        again = false;
        // SAFETY: used no more.
        unsafe { stubborn_worker_free(worker) };
    }
}
