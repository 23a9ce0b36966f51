//! Python loads the library: the notebook of the examples runs, and corners are as they should be.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The package as an installation puts it together; `None` without a Python that is new enough.
fn package(folder: &Path) -> Option<()> {
    let new_enough = "import sys; sys.exit(sys.version_info < (3, 9))";
    let python = Command::new("python3").args(["-c", new_enough]).status();
    if !python.is_ok_and(|status| status.success()) {
        eprintln!("skipped: there is no Python 3.9");
        return None;
    }
    let here = std::env::current_exe().expect("this program has a path");
    let name = format!(
        "{}_stubborn{}",
        std::env::consts::DLL_PREFIX,
        std::env::consts::DLL_SUFFIX
    );
    let mut folders = here.ancestors().skip(1).take(2);
    let library = folders.find_map(|folder| Some(folder.join(&name)).filter(|path| path.exists()));
    let library = library.expect("cargo builds the library with its tests");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("python/stubborn");
    let target = folder.join("stubborn");
    std::fs::create_dir(&target).expect("a folder");
    std::fs::copy(library, target.join("_stubborn.abi3.so")).expect("a copy");
    std::fs::copy(source.join("__init__.py"), target.join("__init__.py")).expect("a copy");
    Some(())
}

fn run(script: &str, argument: &Path) {
    let folder = tempfile::tempdir().expect("a folder");
    if package(folder.path()).is_none() {
        return;
    }
    let script: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(script);
    let output = Command::new("python3")
        .arg(script)
        .arg(argument)
        .env("PYTHONPATH", folder.path())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .expect("Python starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

#[test]
fn the_notebook_runs() {
    run("run_notebook.py", &examples().join("tour.ipynb"));
}

#[test]
fn corners_are_as_they_should_be() {
    run("corners.py", &examples());
}
