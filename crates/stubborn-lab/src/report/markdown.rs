//! The report as Markdown files, for the repository.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::Report;
use crate::compare;
use crate::table::{Cell, Table, Tone, Whose};

/// Rows of the list of what is worse, on the first page.
const MOST_WORSE: usize = 60;

/// All files: name and text.
pub fn files(report: &Report) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    files.insert("README.md".to_owned(), summary(report));
    for section in &report.sections {
        let mut text = format!("# {}\n\n", section.title);
        let _ = writeln!(text, "{GENERATED}\n");
        let _ = writeln!(
            text,
            "Beside each printed figure stands ours: **bold** where it is worse, *slanted* \
             where it is better, `–` where there is none.\n"
        );
        for table in &section.tables {
            text += &table_text(table);
            for plot in section.plots.iter().filter(|p| p.experiment == table.id) {
                let _ = writeln!(text, "![{}]({}.svg)\n", plot.title, plot.name);
            }
        }
        files.insert(format!("{}.md", section.group), text);
        for plot in &section.plots {
            files.insert(format!("{}.svg", plot.name), plot.alone.clone() + "\n");
        }
    }
    files
}

const GENERATED: &str = "<!-- Written by `stubborn lab report`; changes here are lost. -->";

fn summary(report: &Report) -> String {
    let mut text = format!("# Results\n\n{GENERATED}\n\n");
    let _ = writeln!(
        text,
        "Published tables on partial-order reduction, each with our own figures beside them. \
         `stubborn lab run` makes the runs, `stubborn lab report` these pages.\n"
    );
    for origin in &report.origins {
        let _ = writeln!(text, "- {origin}");
    }
    let _ = writeln!(
        text,
        "\n## Where we stand\n\nFigures that can be compared (states and transitions, not \
         times): how many of ours are better than printed, equal, worse, or missing.\n\n\
         | table | | better | equal | worse | missing |\n| --- | --- | ---: | ---: | ---: | ---: |"
    );
    for section in &report.sections {
        for table in &section.tables {
            let (better, equal, worse) = compare::tally(table);
            let absent: usize = table.absent.values().sum();
            let _ = writeln!(
                text,
                "| [{}]({}.md#{}) | {} | {better} | {equal} | {worse} | {absent} |",
                table.id,
                section.group,
                anchor(&heading(table)),
                table.title
            );
        }
    }
    let tables = report.tables();
    let worse = compare::worse(&tables);
    let _ = writeln!(text, "\n## Where we are worse than a paper\n");
    if worse.is_empty() {
        text += "Nowhere, among the figures that there are.\n";
    } else {
        let shown = worse.len().min(MOST_WORSE);
        let _ = writeln!(
            text,
            "{} figures, sorted by how many times ours is the printed one; the first {shown}:\n\n\
             | table | row | column | paper | ours | factor |\n\
             | --- | --- | --- | ---: | ---: | ---: |",
            worse.len()
        );
        for c in worse.iter().take(MOST_WORSE) {
            let doubt = if c.is_doubtful { " (hard to read)" } else { "" };
            let _ = writeln!(
                text,
                "| {} | {} | {} | {}{doubt} | {} | {:.2} |",
                c.experiment,
                cell_text(&c.row),
                cell_text(&c.column),
                c.paper_text,
                c.ours_text,
                c.factor()
            );
        }
    }
    if let Some((level, changes)) = &report.weaker {
        let _ = writeln!(
            text,
            "\n## With `--relations {level}` instead\n\n{} figures are worse then.\n",
            changes.len()
        );
        if !changes.is_empty() {
            text +=
                "| table | row | column | usual | weaker |\n| --- | --- | --- | ---: | ---: |\n";
        }
        for c in changes.iter().take(MOST_WORSE) {
            let _ = writeln!(
                text,
                "| {} | {} | {} | {:.2} | {:.2} |",
                c.experiment,
                cell_text(&c.row),
                cell_text(&c.column),
                c.before,
                c.after
            );
        }
    }
    text
}

fn heading(table: &Table) -> String {
    format!("{}: {}", table.id, table.title)
}

/// As GitHub makes anchors of headings.
fn anchor(heading: &str) -> String {
    let lower = heading.to_lowercase();
    let kept = lower
        .chars()
        .filter(|c| c.is_alphanumeric() || *c == ' ' || *c == '-' || *c == '_');
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Bars would end a cell.
fn cell_text(text: &str) -> String {
    text.replace('|', "\\|")
}

fn table_text(table: &Table) -> String {
    let mut text = format!("## {}\n\n", heading(table));
    if let Some(source) = &table.source {
        let _ = writeln!(text, "{source}.");
    }
    if let Some(caption) = &table.caption {
        let _ = writeln!(text, "{caption}.");
    }
    for note in &table.notes {
        let _ = writeln!(text, "{note}");
    }
    let (better, equal, worse) = compare::tally(table);
    if better + equal + worse > 0 {
        let _ = writeln!(text, "\nBetter {better}, equal {equal}, worse {worse}.");
    }
    text.push('\n');
    let mut rule = String::from("|");
    text.push('|');
    for heading in &table.headings {
        let (title, whose) = (cell_text(&heading.title), heading.whose.text());
        let comma = if whose.is_empty() { "" } else { ", " };
        let _ = write!(text, " {title}{comma}{whose} |");
        rule += if heading.whose == Whose::Name {
            " --- |"
        } else {
            " ---: |"
        };
    }
    let _ = writeln!(text, "\n{rule}");
    for row in &table.rows {
        text.push('|');
        for cell in row {
            let _ = write!(text, " {} |", shown(cell));
        }
        text.push('\n');
    }
    text.push('\n');
    if !table.missing.is_empty() {
        text += "Rows without a model:\n\n";
        for (row, reason) in &table.missing {
            let _ = writeln!(text, "- {row}: {reason}");
        }
        text.push('\n');
    }
    if !table.absent.is_empty() {
        text += "Missing figures:\n\n";
        for (reason, count) in &table.absent {
            let _ = writeln!(text, "- {count}: {reason}");
        }
        text.push('\n');
    }
    text
}

fn shown(cell: &Cell) -> String {
    let text = cell_text(&cell.text);
    match cell.tone {
        Tone::Worse => format!("**{text}**"),
        Tone::Better => format!("*{text}*"),
        Tone::Plain | Tone::Equal | Tone::Absent => text,
    }
}
