//! SPIN as an oracle: its verifier with a few changes (see `oracle.c`), compiled and run.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::subject::{Folder, Run, Status, Subject};

/// SPIN's version whose verifier is known here.
const VERSION: &str = "Spin Version 6.5.2";

/// What is inserted.
const ORACLE: &str = include_str!("oracle.c");

/// Passages of a verifier, each there once, and what takes their place.
const CHANGES: &[(&str, &str)] = &[
    (
        "\t\t\tif (!(_m = do_transit(t, II)))\n\t\t\t{\tcontinue;\n",
        "\t\t\tif (!(_m = adversary_transit(t, II)))\n\t\t\t{\tADVERSARY_STEP_FAILED(t, _n)\n\t\t\t\tcontinue;\n",
    ),
    (
        "#include BACKWARD_MOVES\nR999:\t\t\t/* jumps here when done */\n#endif\n",
        "\t\t\tadversary_inside = -1;\n#include BACKWARD_MOVES\nR999:\t\t\t/* jumps here when done */\n#endif\n",
    ),
    (
        "\t\t\t((P0 *)_this)->_p = tt;\n\t\t} /* all options */",
        "\t\t\t((P0 *)_this)->_p = tt;\n\t\t\tadversary_undone(depth);\n\t\t} /* all options */",
    ),
    (
        "int\nBoundcheck(int x, int y, int a1, int a2, Trans *a3)\n{\n\tspin_assert((x >= 0 && x < y), \"- invalid array index\",\n\t\ta1, a2, a3);\n\treturn x;\n}\n",
        "",
    ),
    (
        "\tuerror = dfs_uerror;\n\tUerror = dfs_Uerror;\n",
        "\tuerror = adversary_uerror;\n\tUerror = adversary_Uerror;\n\tadversary_catch();\n",
    ),
    (
        "wrap_stats(void)\n{",
        "wrap_stats(void)\n{\tadversary_print();",
    ),
    ("(h < MAXPROC)", "(h < ADVERSARY_PROCESSES)"),
    ("if (h >= MAXPROC)", "if (h >= ADVERSARY_PROCESSES)"),
];

/// Passages that may be there several times, or not at all.
const MORE_CHANGES: &[(&str, &str)] = &[
    // Fields that a message does not have are 0, if it has one, and an error otherwise.
    (
        "if (fld == 0) r = ",
        "if (fld) adversary_note(\"too many fields in recv\"); else r = ",
    ),
];

/// What steps use, which come before the insertion.
const RECEIVERS: &str =
    "int adversary_look(void), adversary_is_channel(int), adversary_channel(int);\n";

/// Before this, everything is declared that the insertion uses.
const PLACE: &str = "int qs_empty(void);\n";

/// C compilers. The first compiles a verifier in a twentieth of the time of the second, and what it
/// makes runs for milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compiler {
    Tcc,
    Gcc,
}

/// SPIN, where it is installed.
#[derive(Clone, Copy, Debug)]
pub struct Spin {
    compiler: Compiler,
    /// Compiles what that one does not, and what it says is believed.
    careful: Compiler,
}

/// What a search of SPIN's found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Search {
    /// States stored.
    pub states: u64,
    /// Edges between them.
    pub edges: u64,
    /// Steps that failed, from states and inside of atomic sequences.
    pub failing: u64,
    /// How often each message came.
    pub messages: BTreeMap<String, u64>,
    /// Whether no limit was reached.
    pub complete: bool,
}

impl Search {
    /// How often messages came that contain this.
    pub fn count(&self, text: &str) -> u64 {
        let of = self
            .messages
            .iter()
            .filter(|(message, _)| message.contains(text));
        of.map(|(_, count)| count).sum()
    }

    /// All in a few lines, for people.
    pub fn summary(&self) -> String {
        let mut text = format!(
            "SPIN: {} states, {} transitions, {} failing steps{}",
            self.states,
            self.edges,
            self.failing,
            if self.complete {
                ""
            } else {
                ", a limit was reached"
            }
        );
        for (message, count) in &self.messages {
            text.push_str(&format!("\n{count} times: {message}"));
        }
        text
    }
}

/// Why there is no answer.
#[derive(Clone, Debug)]
pub enum NoAnswer {
    /// The translator does not accept the program.
    Refused(String),
    /// The verifier could not be compiled, crashed, or took too long.
    Unknown(String),
}

/// The macro with the most processes that there may be.
const PROCESSES: &str = "ADVERSARY_PROCESSES";

const TIME: Duration = Duration::from_secs(3);

/// SPIN's flag, with a command that it hands to a shell.
const PREPROCESSOR: &str = "-Ptcc -E -x c";

impl Spin {
    /// SPIN, if it can be used here.
    pub fn find() -> Result<Self, String> {
        let output = |program: &str, flag: &str| {
            let out = Command::new(program).arg(flag).output().ok()?;
            Some(String::from_utf8_lossy(&out.stdout).into_owned())
        };
        let version = output("spin", "-V").ok_or("spin is not installed")?;
        if !version.contains(VERSION) {
            return Err(format!("this is not {VERSION}: {}", version.trim()));
        }
        let (compiler, careful) = match (output("tcc", "-v"), output("gcc", "--version")) {
            (Some(_), Some(_)) => (Compiler::Tcc, Compiler::Gcc),
            (Some(_), None) => (Compiler::Tcc, Compiler::Tcc),
            (None, Some(_)) => (Compiler::Gcc, Compiler::Gcc),
            (None, None) => return Err("neither tcc nor gcc is installed".into()),
        };
        Ok(Self { compiler, careful })
    }

    /// The same with the compiler that is trusted most.
    pub fn careful(self) -> Self {
        let compiler = self.careful;
        Self { compiler, ..self }
    }

    /// Translates a program to a verifier, in a folder for nothing else.
    pub fn translate(
        self,
        subject: &Subject,
        folder: &Path,
        text: &str,
        flags: &[&str],
    ) -> Result<(), NoAnswer> {
        let write = |name: &str, text: &str| {
            fs::write(folder.join(name), text)
                .map_err(|error| NoAnswer::Unknown(format!("{name}: {error}")))
        };
        let verifier = folder.join("pan.c");
        // There may be one of another program.
        let _ = fs::remove_file(&verifier);
        write("m.pml", text)?;
        let mut command = Command::new("spin");
        // Starting gcc, which SPIN does, takes longer than all the rest.
        match self.compiler {
            _ if !text.contains('#') => _ = command.arg("-Pcat"),
            Compiler::Tcc => _ = command.arg(PREPROCESSOR),
            Compiler::Gcc => {}
        }
        command
            .args(["-a", "-o1", "-o2", "-o3"])
            .args(flags)
            .arg("m.pml");
        let run = subject.child(folder, command, TIME);
        let made = fs::read(&verifier).ok();
        let made = made.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        // SPIN goes on after some complaints, and says that there were errors.
        let harmless = |line: &str| line.contains("dubious use of 'else'");
        let refused = run
            .stdout
            .lines()
            .any(|line| line.contains("rror") && !harmless(line));
        let refused = refused && run.status != Status::Exit(0);
        let Some(mut made) = made.filter(|_| !refused) else {
            return Err(match run.status {
                Status::Exit(_) => NoAnswer::Refused(run.summary()),
                _ => NoAnswer::Unknown(run.summary()),
            });
        };
        for (old, new) in CHANGES {
            if made.matches(old).count() != 1 {
                return Err(NoAnswer::Unknown(format!(
                    "not once in the verifier: {old}"
                )));
            }
            made = made.replacen(old, new, 1);
        }
        for (old, new) in MORE_CHANGES {
            made = made.replace(old, new);
        }
        made = made.replacen(PLACE, &format!("{PLACE}{ORACLE}"), 1);
        made = with_headers_apart(&made);
        made.insert_str(0, RECEIVERS);
        write("pan.c", &made)?;
        let moves = fs::read_to_string(folder.join("pan.m"))
            .map_err(|error| NoAnswer::Unknown(format!("pan.m: {error}")))?;
        write("pan.m", &with_known_receivers(&moves))
    }

    /// Compiles the verifier, with so many processes at most: SPIN counts a claim as one.
    pub fn compile(
        self,
        subject: &Subject,
        folder: &Path,
        processes: i64,
        flags: &[&str],
    ) -> Result<(), NoAnswer> {
        let mut command = match self.compiler {
            Compiler::Tcc => Command::new("tcc"),
            Compiler::Gcc => Command::new("gcc"),
        };
        if let (Compiler::Tcc, Some(headers)) = (self.compiler, headers(subject)) {
            let path = headers.join(HEADERS);
            command.arg(format!("-DADVERSARY_HEADERS=\"{}\"", path.display()));
        }
        command.args(["-w", "-o", "pan", "pan.c", "-DNOREDUCE", "-DVECTORSZ=9000"]);
        command.args(["-DMEMLIM=1000", "-DNFAIR=3"]);
        command.arg(format!("-D{PROCESSES}={processes}"));
        command.args(flags);
        let run = subject.child(folder, command, TIME);
        match run.status {
            Status::Exit(0) => Ok(()),
            _ if self.compiler != self.careful => {
                self.careful().compile(subject, folder, processes, flags)
            }
            _ => Err(NoAnswer::Unknown(run.summary())),
        }
    }

    /// A search with the verifier that was compiled last.
    pub fn search(
        self,
        subject: &Subject,
        folder: &Path,
        arguments: &[String],
    ) -> Result<Search, NoAnswer> {
        let mut command = Command::new(folder.join("pan"));
        command.args(["-c0", "-n", "-w16"]).args(arguments);
        let run = subject.child(folder, command, TIME);
        match run.status {
            Status::Exit(0) => read(&run)
                .ok_or_else(|| NoAnswer::Unknown(format!("unreadable: {}", run.summary()))),
            _ => Err(NoAnswer::Unknown(run.summary())),
        }
    }
}

/// The header that stands for all others.
const HEADERS: &str = "all.h";

/// What verifiers include, as they write it.
const INCLUDES: &[&str] = &[
    "stdio.h",
    "signal.h",
    "stdlib.h",
    "stdarg.h",
    "string.h",
    "ctype.h",
    "errno.h",
    "time.h",
    "unistd.h",
    "sys/times.h",
    "sys/types.h",
    "sys/stat.h",
    "limits.h",
    "fcntl.h",
    "stdint.h",
    "setjmp.h",
];

/// A verifier that includes one file in place of the system's headers, if it is compiled so.
fn with_headers_apart(verifier: &str) -> String {
    let mut apart = "#ifdef ADVERSARY_HEADERS\n#include ADVERSARY_HEADERS\n#endif\n".to_owned();
    for line in verifier.split_inclusive('\n') {
        let name = line.trim().strip_prefix("#include <");
        let name = name.and_then(|name| name.strip_suffix('>'));
        match name.is_some_and(|name| INCLUDES.contains(&name)) {
            true => apart += &format!("#ifndef ADVERSARY_HEADERS\n{line}#endif\n"),
            false => apart += line,
        }
    }
    apart
}

/// The folder of a file with all that the system's headers say: its declarations, and then its macros. To
/// find that out takes a compiler like tcc as long as the rest of a verifier.
fn headers(subject: &Subject) -> Option<&Path> {
    let make = || {
        let text: String = INCLUDES
            .iter()
            .map(|n| format!("#include <{n}>\n"))
            .collect();
        let made = subject.folder(&[("in.c".into(), text), ("none.c".into(), String::new())]);
        let preprocessed = |arguments: &[&str]| {
            let mut command = Command::new("tcc");
            command.arg("-E").args(arguments);
            let run = subject.child(made.path(), command, TIME);
            (run.status == Status::Exit(0)).then_some(run.stdout)
        };
        let predefined = preprocessed(&["-dM", "none.c"])?;
        let predefined: BTreeSet<&str> = predefined.lines().collect();
        let mut all = preprocessed(&["-P", "in.c"])?;
        for line in preprocessed(&["-dM", "in.c"])?.lines() {
            if line.starts_with("#define ") && !predefined.contains(line) {
                all += line;
                all.push('\n');
            }
        }
        let trial = format!("{all}int main(void) {{ return stdout == NULL; }}\n");
        fs::write(made.path().join(HEADERS), all).ok()?;
        fs::write(made.path().join("trial.c"), trial).ok()?;
        let mut command = Command::new("tcc");
        command.args(["-w", "-c", "-o", "trial.o", "trial.c"]);
        let run = subject.child(made.path(), command, TIME);
        (run.status == Status::Exit(0)).then_some(made)
    };
    subject.headers.get_or_init(make).as_ref().map(Folder::path)
}

/// Steps of a verifier in which receives from what is no channel fail, as steps of their own only.
/// Where all channels are rendez-vous, SPIN does not look at what a variable holds; and looking for
/// somebody to receive a message, it evaluates the channels of all who wait. And a d_step that begins with
/// something that is never blocked is not executed then; SPIN forgets to ask.
fn with_known_receivers(moves: &str) -> String {
    let mut known = String::new();
    let mut begins_d_step = false;
    for line in moves.lines() {
        let code = line.trim_start();
        begins_d_step |= code.contains("- [D_STEP");
        if begins_d_step && (code.starts_with("/* default ") || code == "if (!(1))") {
            known += "\t\tIfNotBlocked\n";
        }
        begins_d_step &= !code.starts_with("reached[");
        let channel = |start: &str, end: &str| code.strip_prefix(start)?.strip_suffix(end);
        let alone = channel("if (boq != ", ") continue;").filter(|channel| *channel != "-1");
        if let Some(channel) = alone.or_else(|| channel("if (q_zero(", "))")) {
            let is = format!("adversary_look() && !adversary_is_channel({channel})");
            known += &format!("\t\tif (boq != -1 && {is}) continue;\n");
        }
        match alone {
            Some(channel) => {
                known += &format!("\t\tif (boq != adversary_channel({channel})) continue;\n")
            }
            None => known += &format!("{line}\n"),
        }
    }
    known
}

fn read(run: &Run) -> Option<Search> {
    let out = &run.stdout;
    let number = |after: &str| -> Option<u64> {
        let line = out.lines().find(|line| line.contains(after))?;
        line.split_whitespace()
            .next()?
            .parse::<f64>()
            .ok()
            .map(|n| n as u64)
    };
    let mut messages = BTreeMap::new();
    for line in out.lines() {
        if let Some((count, message)) = line
            .strip_prefix("ADVERSARY ")
            .and_then(|rest| rest.split_once(' '))
        {
            *messages.entry(message.trim().to_owned()).or_default() += count.parse::<u64>().ok()?;
        }
    }
    Some(Search {
        states: number("states, stored")?,
        // SPIN counts the initial state as a transition.
        edges: number("transitions (")?.checked_sub(1)?,
        failing: messages.remove("failing steps")?,
        messages,
        complete: !out.contains("max search depth too small")
            && !out.contains("Search not completed"),
    })
}
