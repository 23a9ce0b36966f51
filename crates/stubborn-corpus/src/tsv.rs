//! Tables as text: lines of cells with tabs between, comments first.
//!
//! The printed tables of the papers are such files (`papers/` of the lab), and so are the
//! tables of the corpus. A comment `# key: value` says something about the whole table.

use std::collections::BTreeMap;

/// A table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tsv {
    /// What comments `# key: value` say.
    pub about: BTreeMap<String, String>,
    /// The names of columns.
    pub header: Vec<String>,
    /// The cells.
    pub rows: Vec<Vec<String>>,
}

impl Tsv {
    /// Reads a table. Anything is a table; cells that are missing are empty.
    pub fn parse(text: &str) -> Self {
        let mut table = Self::default();
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            if let Some(comment) = line.strip_prefix('#') {
                if let Some((key, value)) = comment.split_once(':') {
                    let old = table.about.entry(key.trim().into()).or_default();
                    if !old.is_empty() {
                        old.push(' ');
                    }
                    old.push_str(value.trim());
                }
                continue;
            }
            let cells = line.split('\t').map(|cell| cell.trim().to_owned());
            if table.header.is_empty() {
                table.header = cells.collect();
            } else {
                table.rows.push(cells.collect());
            }
        }
        table
    }

    /// Rows with access by column names.
    pub fn records(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().map(|cells| Row {
            header: &self.header,
            cells,
        })
    }

    /// Whether there is a column of this name.
    pub fn has(&self, column: &str) -> bool {
        self.header.iter().any(|name| name == column)
    }
}

/// A row of a table.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    header: &'a [String],
    cells: &'a [String],
}

impl<'a> Row<'a> {
    /// The cell in a column; empty if there is none.
    pub fn get(&self, column: &str) -> &'a str {
        let at = self.header.iter().position(|name| name == column);
        at.and_then(|at| self.cells.get(at)).map_or("", |c| c)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_header_and_short_rows() {
        let table = Tsv::parse("# paper: A. Author\n# note: one\n# note: two\na\tb\n1\t2\n3\n");
        assert_eq!(table.about["paper"], "A. Author");
        assert_eq!(table.about["note"], "one two");
        let cells: Vec<_> = table.records().map(|r| (r.get("a"), r.get("b"))).collect();
        assert_eq!(cells, [("1", "2"), ("3", "")]);
        assert!(table.has("b") && !table.has("c"));
    }
}
