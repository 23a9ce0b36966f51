//! The front-end: modules of JavaScript that are put together into one, and a sheet of styles.

/// The modules, each after those that it imports from.
const MODULES: [&str; 8] = [
    include_str!("../web/api.js"),
    include_str!("../web/dom.js"),
    include_str!("../web/graph.js"),
    include_str!("../web/source.js"),
    include_str!("../web/chart.js"),
    include_str!("../web/sets.js"),
    include_str!("../web/progress.js"),
    include_str!("../web/app.js"),
];

pub(crate) const STYLE: &str = include_str!("../web/page.css");
const HTML: &str = include_str!("../web/index.html");

/// All modules as one: imports are gone, and what was exported is just there.
pub(crate) fn script() -> String {
    let lines = MODULES.iter().flat_map(|module| module.lines());
    let lines = lines.filter(|line| !line.starts_with("import "));
    let lines = lines.map(|line| line.strip_prefix("export ").unwrap_or(line));
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// The page that loads script and styles from its server.
#[cfg(feature = "serve")]
pub(crate) fn html() -> &'static str {
    HTML
}

/// The page with everything in it.
pub(crate) fn alone(title: &str, recorded: &str) -> String {
    // Nothing in a text may end the element that it is in.
    let recorded = recorded.replace('<', "\\u003c");
    let title = title.replace('&', "&amp;").replace('<', "&lt;");
    let policy = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
                  script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:\">";
    HTML.replace("<!-- policy -->", policy)
        .replace(
            "<title>stubborn</title>",
            &format!("<title>{title}</title>"),
        )
        .replace(
            "<link rel=\"stylesheet\" href=\"page.css\">",
            &format!("<style>\n{STYLE}</style>"),
        )
        .replace(
            "<script type=\"module\" src=\"page.js\"></script>",
            &format!(
                "<script type=\"application/json\" id=\"recorded\">{recorded}</script>\n\
                 <script type=\"module\">\n{}</script>",
                script()
            ),
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_put_together_without_imports_and_exports() {
        let script = script();
        assert!(!script.contains("\nimport ") && !script.contains("\nexport "));
        assert!(!script.contains("</script"));
        for module in MODULES {
            for line in module.lines().filter(|line| line.starts_with("import ")) {
                assert!(line.ends_with(';'), "imports take one line: {line}");
            }
        }
    }

    #[test]
    fn texts_cannot_leave_the_file_they_are_in() {
        let page = alone("a<b", "{\"x\":\"</script><script>alert(1)\"}");
        assert!(page.contains("<title>a&lt;b</title>"));
        assert!(!page.contains("</script><script>alert"));
        assert!(!page.contains("src=\"page.js\"") && !page.contains("href=\"page.css\""));
    }
}
