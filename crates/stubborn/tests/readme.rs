//! What the README shows is what the program prints.

use std::path::Path;
use std::process::Command;

#[test]
fn the_sessions_in_the_readme_are_real() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join("README.md")).expect("it is there");
    let mut sessions = 0;
    for block in text.split("```console\n$ stubborn ").skip(1) {
        let (command, rest) = block.split_once('\n').expect("a command line");
        let (expected, _) = rest.split_once("```").expect("a closed block");
        let output = Command::new(env!("CARGO_BIN_EXE_stubborn"))
            .args(command.split_whitespace())
            .current_dir(&root)
            .output()
            .expect("the program starts");
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            expected,
            "{command}"
        );
        sessions += 1;
    }
    assert!(sessions > 0);
}
