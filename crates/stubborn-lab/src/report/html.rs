//! The report as one page that needs nothing else: no network, no other file.

use std::fmt::Write;

use super::svg::escaped;
use super::{Report, Section};
use crate::compare::{self, Comparison};
use crate::table::{Cell, Heading, Table, Tone, Whose};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The page.
pub fn page(report: &Report) -> String {
    let mut body = String::new();
    body += &overview(report);
    for section in &report.sections {
        body += &section_html(section);
    }
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>stubborn lab: published tables and ours</title>\n<style>\n{STYLE}</style>\n</head>\n\
         <body>\n<div class=\"layout\">\n{}<main>\n{body}</main>\n</div>\n\
         <script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        navigation(report)
    )
}

/// `guard-based/5` as an anchor.
fn anchor(id: &str) -> String {
    id.replace('/', "-")
}

fn navigation(report: &Report) -> String {
    let mut out = format!(
        "<nav aria-label=\"Contents\">\n<h1>stubborn lab</h1>\n<p>{} results</p>\n\
         <button id=\"theme\" type=\"button\">Light or dark</button>\n\
         <div class=\"group\">Overview</div>\n<a href=\"#summary\">Where we stand</a>\n\
         <a href=\"#worse\">Where we are worse</a>\n",
        report.results
    );
    if report.weaker.is_some() {
        out += "<a href=\"#weaker\">With weaker relations</a>\n";
    }
    for section in &report.sections {
        let _ = writeln!(
            out,
            "<div class=\"group\">{}</div>",
            escaped(&section.group)
        );
        for table in &section.tables {
            let (better, equal, worse) = compare::tally(table);
            let pill = if worse > 0 {
                format!("<span class=\"pill bad\">{worse} worse</span>")
            } else if better + equal > 0 {
                format!("<span class=\"pill\">{} fine</span>", better + equal)
            } else {
                String::new()
            };
            let number = table.id.rsplit('/').next().unwrap_or_default();
            let name = match number.parse::<u32>() {
                Ok(number) => format!("Table {number}"),
                Err(_) => number.to_owned(),
            };
            let _ = writeln!(out, "<a href=\"#{}\">{name}{pill}</a>", anchor(&table.id));
        }
    }
    out + "</nav>\n"
}

fn overview(report: &Report) -> String {
    let tables = report.tables();
    let tallies = tables.iter().map(compare::tally);
    let (better, equal, worse) = tallies.fold((0, 0, 0), |sum, one| {
        (sum.0 + one.0, sum.1 + one.1, sum.2 + one.2)
    });
    let absent: usize = tables.iter().flat_map(|t| t.absent.values()).sum();
    let mut out = String::from(
        "<section id=\"summary\">\n<h2>Where we stand</h2>\n\
         <p class=\"note\">Published tables on partial-order reduction, each with our own figures \
         beside the printed ones. States and transitions are compared; times of other machines \
         are shown, not ranked.</p>\n<div class=\"cards\">\n",
    );
    for (class, number, text) in [
        ("good", better, "figures better than printed"),
        ("", equal, "equal, as far as printed"),
        ("bad", worse, "worse than printed"),
        ("", absent, "of ours still missing"),
    ] {
        let _ = writeln!(
            out,
            "<div class=\"card {class}\"><b>{number}</b><span>{text}</span></div>"
        );
    }
    out += "</div>\n<div class=\"scroll\"><table><thead><tr><th>table</th><th class=\"words\">shows</th>\
            <th>better</th><th>equal</th><th>worse</th><th>missing</th><th>share</th></tr></thead><tbody>\n";
    for table in &tables {
        let (better, equal, worse) = compare::tally(table);
        let absent: usize = table.absent.values().sum();
        let _ = writeln!(
            out,
            "<tr><td><a href=\"#{}\">{}</a></td><td class=\"words\">{}</td>{}{}{}{}<td>{}</td></tr>",
            anchor(&table.id),
            escaped(&table.id),
            escaped(&table.title),
            count_cell(better),
            count_cell(equal),
            count_cell(worse),
            count_cell(absent),
            bar(better, equal, worse)
        );
    }
    out += "</tbody></table></div>\n<ul class=\"plain\">\n";
    for origin in &report.origins {
        let _ = writeln!(out, "<li>{}</li>", escaped(origin));
    }
    out += "</ul>\n</section>\n";
    out += &worse_html(&compare::worse(&tables));
    if let Some((level, changes)) = &report.weaker {
        let _ = writeln!(
            out,
            "<section id=\"weaker\"><h2>With <code>--relations {}</code> instead</h2>\
             <p class=\"note\">The same tables with weaker relations between transitions: {} figures \
             are worse. A lab that could not show this would show nothing.</p>",
            escaped(level),
            changes.len()
        );
        out += "<div class=\"scroll\"><table><thead><tr><th>table</th><th class=\"words\">row</th><th class=\"words\">column</th>\
                <th>usual</th><th>weaker</th><th>factor</th></tr></thead><tbody>\n";
        for change in changes {
            let _ = writeln!(
                out,
                "<tr><td>{}</td><td class=\"words\">{}</td><td class=\"words\">{}</td>{}{}{}</tr>",
                escaped(&change.experiment),
                escaped(&change.row),
                escaped(&change.column),
                number_cell(change.before),
                number_cell(change.after),
                number_cell(change.after / change.before.max(1e-9))
            );
        }
        out += "</tbody></table></div></section>\n";
    }
    out
}

fn bar(better: usize, equal: usize, worse: usize) -> String {
    let total = (better + equal + worse).max(1) as f64;
    let part = |class: &str, n: usize| {
        let share = 100.0 * n as f64 / total;
        format!("<i class=\"{class}\" style=\"width:{share:.1}%\"></i>")
    };
    format!(
        "<span class=\"bar\" title=\"{better} better, {equal} equal, {worse} worse\">{}{}{}</span>",
        part("g", better),
        part("e", equal),
        part("b", worse)
    )
}

fn count_cell(number: usize) -> String {
    format!("<td data-v=\"{number}\">{number}</td>")
}

fn number_cell(number: f64) -> String {
    format!("<td data-v=\"{number}\">{number:.2}</td>")
}

fn worse_html(worse: &[&Comparison]) -> String {
    let mut out = format!(
        "<section id=\"worse\">\n<h2>Where we are worse than a paper</h2>\n\
         <p class=\"note\">{} figures, sorted by how many times ours is the printed one. Each is a \
         bug or a finding.</p>\n",
        worse.len()
    );
    out += "<div class=\"tools\"><input type=\"search\" placeholder=\"Find rows\" \
            aria-label=\"Find rows\" data-table=\"t-worse\"></div>\n\
            <div class=\"scroll\"><table id=\"t-worse\"><thead><tr><th>table</th><th class=\"words\">row</th>\
            <th class=\"words\">column</th><th>paper</th><th>ours</th><th>factor</th></tr></thead><tbody>\n";
    for c in worse {
        let hint = if c.is_doubtful {
            " title=\"hard to read in print\""
        } else {
            ""
        };
        let _ = writeln!(
            out,
            "<tr><td><a href=\"#{}\">{}</a></td><td class=\"words\">{}</td>\
             <td class=\"words\">{}</td><td data-v=\"{}\"{hint}>{}</td>\
             <td class=\"worse\" data-v=\"{}\">{}</td>{}</tr>",
            anchor(&c.experiment),
            escaped(&c.experiment),
            escaped(&c.row),
            escaped(&c.column),
            c.paper,
            escaped(&c.paper_text),
            c.ours,
            escaped(&c.ours_text),
            number_cell(c.factor())
        );
    }
    out + "</tbody></table></div>\n</section>\n"
}

fn section_html(section: &Section) -> String {
    let mut out = format!(
        "<section id=\"{}\">\n<h2>{}</h2>\n",
        escaped(&section.group),
        escaped(&section.title)
    );
    for table in &section.tables {
        out += &table_html(table);
        let plots: Vec<_> = section
            .plots
            .iter()
            .filter(|p| p.experiment == table.id)
            .collect();
        if !plots.is_empty() {
            out += "<div class=\"plots\">\n";
            for plot in plots {
                let _ = writeln!(
                    out,
                    "<figure><figcaption>{}</figcaption>\n{}\n</figure>",
                    escaped(&plot.title),
                    plot.inline
                );
            }
            out += "</div>\n";
        }
    }
    out + "</section>\n"
}

fn table_html(table: &Table) -> String {
    let id = anchor(&table.id);
    let mut out = format!(
        "<h3 id=\"{id}\"><span class=\"id\">{}</span>{}</h3>\n",
        escaped(&table.id),
        escaped(&table.title)
    );
    let lines = table.source.iter().chain(&table.caption);
    for line in lines {
        let _ = writeln!(out, "<p class=\"source\">{}.</p>", escaped(line));
    }
    for note in &table.notes {
        let _ = writeln!(out, "<p class=\"note\">{}</p>", escaped(note));
    }
    let (better, equal, worse) = compare::tally(table);
    let _ = writeln!(
        out,
        "<div class=\"tools\"><input type=\"search\" placeholder=\"Find rows\" \
         aria-label=\"Find rows\" data-table=\"t-{id}\">"
    );
    if better + equal + worse > 0 {
        let _ = writeln!(
            out,
            "{}<span>{better} better, {equal} equal, {worse} worse</span>\
             <button type=\"button\" data-worse=\"t-{id}\" aria-pressed=\"false\">Only worse</button>",
            bar(better, equal, worse)
        );
    }
    let _ = writeln!(
        out,
        "</div>\n<div class=\"scroll\"><table id=\"t-{id}\"><thead><tr>"
    );
    for heading in &table.headings {
        out += &heading_html(heading);
    }
    out += "</tr></thead><tbody>\n";
    for row in &table.rows {
        out += "<tr>";
        for (cell, heading) in row.iter().zip(&table.headings) {
            out += &cell_html(cell, heading);
        }
        out += "</tr>\n";
    }
    out += "</tbody></table></div>\n";
    if !table.missing.is_empty() {
        let _ = writeln!(
            out,
            "<details><summary>{} rows without a model</summary><ul class=\"plain\">",
            table.missing.len()
        );
        for (row, reason) in &table.missing {
            let _ = writeln!(out, "<li>{}: {}</li>", escaped(row), escaped(reason));
        }
        out += "</ul></details>\n";
    }
    if !table.absent.is_empty() {
        let total: usize = table.absent.values().sum();
        let _ = writeln!(
            out,
            "<details><summary>{total} figures missing</summary><ul class=\"plain\">"
        );
        for (reason, count) in &table.absent {
            let _ = writeln!(out, "<li>{count}: {}</li>", escaped(reason));
        }
        out += "</ul></details>\n";
    }
    out
}

fn heading_html(heading: &Heading) -> String {
    let class = if heading.whose == Whose::Ours {
        " class=\"ours\""
    } else {
        ""
    };
    format!(
        "<th{class} scope=\"col\">{}<small>{}</small></th>",
        escaped(&heading.title),
        heading.whose.text()
    )
}

fn cell_html(cell: &Cell, heading: &Heading) -> String {
    let mut classes = Vec::new();
    match cell.tone {
        Tone::Plain => {}
        Tone::Better => classes.push("better"),
        Tone::Equal => classes.push("equal"),
        Tone::Worse => classes.push("worse"),
        Tone::Absent => classes.push("absent"),
    }
    if heading.whose == Whose::Ours && matches!(cell.tone, Tone::Plain | Tone::Absent) {
        classes.push("ours");
    }
    let class = if classes.is_empty() {
        String::new()
    } else {
        format!(" class=\"{}\"", classes.join(" "))
    };
    let value = cell
        .sort
        .map_or_else(String::new, |v| format!(" data-v=\"{v}\""));
    let hint = if cell.hint.is_empty() {
        String::new()
    } else {
        format!(" title=\"{}\"", escaped(&cell.hint))
    };
    format!("<td{class}{value}{hint}>{}</td>", escaped(&cell.text))
}
