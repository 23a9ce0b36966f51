//! Whatever sizes a caller gives, and however little memory there is: an error, or an answer.
#![cfg(unix)]

use std::ffi::CStr;
use std::process::Command;
use std::ptr::{null, null_mut};

use stubborn_c::*;

/// Set in the process that has little memory.
const LITTLE: &str = "STUBBORN_C_LITTLE_MEMORY";

fn error() -> String {
    // SAFETY: valid until the next call.
    let text = unsafe { CStr::from_ptr(stubborn_error()) };
    text.to_string_lossy().into_owned()
}

/// All that can be done with so many transitions and conditions, and facts of every kind about the first
/// `stated` of them. How far it came.
fn use_all(
    transitions: u32,
    conditions: u32,
    stated: u32,
    keep: i32,
    algorithm: Option<&CStr>,
) -> u32 {
    let relations = stubborn_relations_new(transitions, conditions);
    if relations.is_null() {
        assert!(!error().is_empty());
        return 0;
    }
    let (rows, columns) = (stated.min(transitions), stated.min(conditions));
    // SAFETY: what was made is used in this thread and freed once; arrays have the lengths that are said.
    unsafe {
        for row in 0..rows {
            for other in 0..rows {
                stubborn_can_enable(relations, row, other);
                stubborn_disturbs(relations, row, other);
                stubborn_only_disables(relations, other, row);
            }
            for condition in 0..columns {
                stubborn_waits_for(relations, row, condition);
                stubborn_can_satisfy(relations, row, condition);
            }
            stubborn_belongs_to(relations, row, row % 7);
            stubborn_is_visible(relations, row);
        }
        stubborn_belongs_to(relations, 0, (1 << 16) - 1);
        stubborn_belongs_to(relations, u32::MAX, u32::MAX);
        let name = algorithm.map_or(null(), CStr::as_ptr);
        let reduction = stubborn_reduction_new(relations, keep, name);
        if reduction.is_null() {
            assert!(!error().is_empty());
            return 1;
        }
        let worker = stubborn_worker_new(reduction);
        stubborn_reduction_free(reduction);
        if worker.is_null() {
            assert!(!error().is_empty());
            return 2;
        }
        let enabled: Vec<u32> = (0..transitions).collect();
        let mut chosen = vec![0; enabled.len()];
        let count = enabled.len();
        let set = stubborn_set(worker, enabled.as_ptr(), count, null(), chosen.as_mut_ptr());
        assert!(set <= count as i64);
        // More than there are, which nobody reads.
        for beyond in [count + 1, usize::MAX] {
            let pointers = (enabled.as_ptr(), chosen.as_mut_ptr());
            assert_eq!(
                stubborn_set(worker, pointers.0, beyond, null(), pointers.1),
                -1
            );
            assert!(error().contains("enabled transitions"), "{}", error());
        }
        stubborn_worker_free(worker);
        3 + u32::from(set >= 0)
    }
}

#[test]
fn sizes_that_nobody_has_memory_for_are_errors() {
    if std::env::var_os(LITTLE).is_none() {
        // In a process of its own: where an allocation failed, it would abort.
        let test = "sizes_that_nobody_has_memory_for_are_errors";
        let script = format!("ulimit -v 262144; exec \"$0\" --exact {test} --nocapture");
        let mut shell = Command::new("sh");
        let this = std::env::current_exe().expect("this program has a path");
        let shell = shell.args(["-c", &script]).arg(this).env(LITTLE, "1");
        let output = shell.env("RUST_BACKTRACE", "0").output().expect("a shell");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}\n{error}", output.status);
        return;
    }
    assert!(stubborn_relations_new(u32::MAX, u32::MAX).is_null());
    assert!(error().contains("too many"), "{}", error());
    let sizes = [0, 1, 2, 65, 30_000, 46_000, 1 << 20, 1 << 30, u32::MAX];
    let (mut refused, mut done) = (0, 0);
    for transitions in sizes {
        for conditions in sizes {
            for algorithm in [None, Some(c"beam")] {
                match use_all(transitions, conditions, 3, 0, algorithm) {
                    4 => done += 1,
                    _ => refused += 1,
                }
            }
        }
    }
    assert!(refused > 100 && done > 10, "{refused} refused, {done} done");
    // SAFETY: null is allowed everywhere.
    unsafe { stubborn_relations_free(null_mut()) };
}
