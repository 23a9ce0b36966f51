//! Printing: results to standard output, colours only where a person looks.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use anstyle::{AnsiColor, Style};
use stubborn::LoadedModel;

/// Whether messages on standard error get colours.
pub(crate) fn stderr_has_colour() -> bool {
    wants_colour() && std::io::stderr().is_terminal()
}

fn wants_colour() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
        && std::env::var_os("TERM").is_none_or(|v| v != "dumb")
}

/// Colours of standard output, if it is a terminal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint {
    enabled: bool,
}

impl Paint {
    pub(crate) fn for_stdout() -> Self {
        Self {
            enabled: wants_colour() && std::io::stdout().is_terminal(),
        }
    }

    fn with(self, style: Style, text: &str) -> String {
        if self.enabled {
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }

    pub(crate) fn good(self, text: &str) -> String {
        self.with(AnsiColor::Green.on_default().bold(), text)
    }

    pub(crate) fn bad(self, text: &str) -> String {
        self.with(AnsiColor::Red.on_default().bold(), text)
    }

    pub(crate) fn unsure(self, text: &str) -> String {
        self.with(AnsiColor::Yellow.on_default().bold(), text)
    }
}

/// Prints a result. Somebody who stops reading (`| head`) is no error.
pub(crate) fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    said(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
}

/// Whether results could not be written to standard output.
static IS_LOST: AtomicBool = AtomicBool::new(false);

/// Notes whether results were written. A reader that closes its pipe has seen what it wants; on a full
/// disk, nobody may take the exit status for a result.
pub(crate) fn said(written: std::io::Result<()>) {
    if let Err(error) = written
        && error.kind() != std::io::ErrorKind::BrokenPipe
        && !IS_LOST.swap(true, Ordering::Relaxed)
    {
        print_error(&format!(
            "error: cannot write to standard output: {error}\n"
        ));
    }
}

/// Whether results are lost.
pub(crate) fn is_lost() -> bool {
    IS_LOST.load(Ordering::Relaxed)
}

/// Prints a message, not a result.
pub(crate) fn print_error(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Shows what a model's author should look at.
pub(crate) fn show_warnings(model: &LoadedModel) {
    if !model.warnings().is_empty() {
        let text = model.text().render(model.warnings(), stderr_has_colour());
        print_error(&text);
    }
    for property in model.temporal().iter().filter(|p| p.property.is_ok()) {
        print_error(&property.remarks);
    }
}

/// `1234567` as `1,234,567`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Bytes as people read them: `1.4 GiB`.
pub(crate) fn bytes(number: u64) -> String {
    let units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let mut value = number as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 {
        format!("{number} bytes")
    } else {
        format!("{value:.1} {}", units[unit])
    }
}

/// `1 state`, `2 states`, `1,000 states`.
pub(crate) fn counted(number: u64, singular: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {singular}{plural}", grouped(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(bytes(5), "5 bytes");
        assert_eq!(bytes(3 << 29), "1.5 GiB");
        assert_eq!(counted(1, "state"), "1 state");
        assert_eq!(counted(1000, "state"), "1,000 states");
    }
}
