//! The adversary's command line, against programs that cannot do what is asked.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

fn adversary(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_stubborn-adversary"))
        .args(arguments)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn wrong_usage_is_told() {
    let unknown = adversary(&["sheep", "--subject", "/bin/true"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(text(&unknown.stderr).contains("there is no kind `sheep`, only dve, nets, automata"));
    let missing = adversary(&["dve", "--subject", "/no/such/program"]);
    assert_eq!(missing.status.code(), Some(2));
    let case = adversary(&["--case", "dve", "--subject", "/bin/true"]);
    assert_eq!(case.status.code(), Some(2));
}

/// Whoever says nothing is wrong; what is found is printed, written, and found again.
#[test]
fn a_mismatch_is_reported_and_can_be_made_again() {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("found");
    let _ = std::fs::remove_dir_all(&out);
    let out_argument = out.to_str().unwrap();
    let common = ["--subject", "/bin/true", "--out", out_argument];
    let mut arguments = vec!["dve", "--cases", "1", "--seed", "2", "--threads", "1"];
    arguments.extend(common);
    let found = adversary(&arguments);
    assert_eq!(found.status.code(), Some(1), "{}", text(&found.stderr));
    assert!(text(&found.stderr).contains("--seed 2, against "));
    let output = text(&found.stdout);
    assert!(output.contains("MISMATCH output"), "{output}");
    let mut folders = std::fs::read_dir(&out).unwrap();
    let folder = folders.next().unwrap().unwrap().path();
    for file in ["command", "expected", "got", "seed", "model.dve"] {
        assert!(folder.join(file).exists(), "{file}");
    }
    let seed = std::fs::read_to_string(folder.join("seed")).unwrap();
    let mut arguments = vec!["--case", seed.trim()];
    arguments.extend(common);
    let again = adversary(&arguments);
    assert_eq!(again.status.code(), Some(1));
    assert!(text(&again.stdout).contains("MISMATCH output"));
}

/// Who is told to end kills what it runs, and says what it has compared.
#[test]
fn an_interrupted_attack_tells_its_counts() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let sleeper = folder.join("sleeper");
    std::fs::write(&sleeper, "#!/bin/sh\nexec sleep 60\n").unwrap();
    std::fs::set_permissions(&sleeper, PermissionsExt::from_mode(0o755)).unwrap();
    let attack = Command::new(env!("CARGO_BIN_EXE_stubborn-adversary"))
        .args(["dve", "--seconds", "60", "--threads", "2", "--seed", "2"])
        .arg("--subject")
        .arg(&sleeper)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_secs(2));
    let pid = attack.id().to_string();
    let began = Instant::now();
    assert!(Command::new("kill").arg(pid).status().unwrap().success());
    let output = attack.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(began.elapsed() < Duration::from_secs(20));
    let told = text(&output.stderr);
    assert!(told.contains("interrupted; --seed 2: dve "), "{told}");
    assert!(text(&output.stdout).contains(" runs, "));
}
