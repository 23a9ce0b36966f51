//! Charts as pictures.

use std::fmt::Write;

use crate::chart::Chart;
use crate::value::Pid;

const COLUMN: usize = 160;
const ROW: usize = 26;
const TOP: usize = 40;

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// Writing into a string cannot fail; the result is ignored on purpose.
macro_rules! put {
    ($out:expr, $($arg:tt)*) => {{ let _ = writeln!($out, $($arg)*); }};
}

pub(crate) fn draw(chart: &Chart) -> String {
    let x = |p: Pid| p.index() * COLUMN + COLUMN / 2;
    let count: usize = chart
        .lines()
        .map(|(_, _, delivered)| 1 + delivered.len())
        .sum();
    let (width, height) = (
        chart.processes().len() * COLUMN + 420,
        TOP + (count + 2) * ROW,
    );
    let mut out = String::new();
    put!(
        out,
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="12">"#
    );
    put!(
        out,
        r##"<defs><marker id="head" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#205090"/></marker></defs>"##
    );
    for (at, name) in chart.processes().iter().enumerate() {
        let x = x(Pid(at as u16));
        put!(
            out,
            r#"<text x="{x}" y="20" text-anchor="middle" font-weight="bold">{}</text>"#,
            escape(name)
        );
        put!(
            out,
            r##"<line x1="{x}" y1="28" x2="{x}" y2="{}" stroke="#bbb"/>"##,
            height - 10
        );
    }
    let side = chart.processes().len() * COLUMN;
    let mut y = TOP + ROW / 2;
    for (process, note, delivered) in chart.lines() {
        for (from, message) in delivered {
            let (a, b) = (x(*from), x(process));
            put!(
                out,
                r##"<line x1="{a}" y1="{y}" x2="{b}" y2="{y}" stroke="#205090" marker-end="url(#head)"/>"##
            );
            put!(
                out,
                r##"<text x="{}" y="{}" text-anchor="middle" fill="#205090">{}</text>"##,
                (a + b) / 2,
                y - 4,
                escape(message)
            );
            y += ROW;
        }
        let x = x(process);
        put!(out, r##"<circle cx="{x}" cy="{y}" r="4" fill="#c04020"/>"##);
        put!(
            out,
            r#"<text x="{side}" y="{}">{}</text>"#,
            y + 4,
            escape(&note)
        );
        y += ROW;
    }
    put!(out, "</svg>");
    out
}
