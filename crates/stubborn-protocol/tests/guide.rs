//! The guide, `docs/protocols.md`: its program holds, and broken as it says it gives what it
//! promises. The files in `guide/` are the guide's own text, with one change each, and `sections.rs` what it
//! says besides.

#[rustfmt::skip]
#[path = "guide/lock_server.rs"]
mod lock_server;
#[rustfmt::skip]
#[allow(unused_variables)]
#[path = "guide/careless_server.rs"]
mod careless_server;
#[rustfmt::skip]
#[path = "guide/misspelt_kind.rs"]
mod misspelt_kind;
#[path = "guide/sections.rs"]
mod sections;

const GUIDE: &str = include_str!("../../../docs/protocols.md");

/// The guide's program, as a module instead of a test.
fn program() -> String {
    let block = GUIDE.split("```rust\n").nth(1).expect("a program");
    let block = block.split("```").next().expect("its end");
    assert!(block.contains("#[test]\nfn nobody_works_twice()"));
    block.replace("#[test]\nfn ", "pub(crate) fn ")
}

/// What a test that fails says.
fn failure(test: fn()) -> String {
    let failed = std::panic::catch_unwind(test).expect_err("a failing test");
    *failed.downcast::<String>().expect("a text")
}

/// What the guide says, on one line.
fn promises(text: &str) -> bool {
    GUIDE
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .contains(text)
}

#[test]
fn the_program_of_the_guide_holds() {
    assert_eq!(program(), include_str!("guide/lock_server.rs"));
    lock_server::nobody_works_twice();
}

#[test]
fn a_server_that_forgets_fails_with_the_shortest_way() {
    assert!(promises(
        "Forget `*free = false`, and the test fails with the shortest way"
    ));
    assert!(promises("to the accident, six steps"));
    let broken = program().replace("        *free = false;\n", "");
    assert_eq!(broken, include_str!("guide/careless_server.rs"));
    let text = failure(careless_server::nobody_works_twice);
    assert!(
        text.contains("`mutual exclusion` is violated, by the shortest way"),
        "{text}"
    );
    assert!(text.contains(" 6. ") && !text.contains(" 7. "), "{text}");
    assert!(text.contains("--Request") && text.contains("*"), "{text}");
}

#[test]
fn a_misspelt_kind_fails() {
    assert!(promises("Write `\"Grnat\"` for `kind!(Message::Grant)`"));
    let promised = "waits for `Grnat`, which nobody sends: is `Grant` meant?";
    assert!(promises(promised));
    let broken = program().replace("kind!(Message::Grant)", "\"Grnat\"");
    assert_eq!(broken, include_str!("guide/misspelt_kind.rs"));
    let text = failure(misspelt_kind::nobody_works_twice);
    assert!(text.contains(promised), "{text}");
}

#[test]
fn accidents_are_drawn_where_pictures_are_asked_for() {
    assert!(promises(
        "Set `STUBBORN_SVG` to a directory to have it as a picture, too."
    ));
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("guide-pictures");
    std::fs::create_dir_all(&folder).expect("a folder");
    let picture = folder.join("lock-server-mutual-exclusion.svg");
    let _ = std::fs::remove_file(&picture);
    // The variable is that of a process: another one runs the broken test.
    let itself = std::env::current_exe().expect("a path");
    let broken = "guide::a_server_that_forgets_fails_with_the_shortest_way";
    let run = std::process::Command::new(itself)
        .env("STUBBORN_SVG", &folder)
        .args(["--exact", broken])
        .output();
    assert!(run.expect("a run").status.success());
    let text = std::fs::read_to_string(&picture).expect("a picture");
    assert!(text.contains("<svg") && text.contains("Request"));
}
