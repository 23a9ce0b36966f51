//! Plots as SVG: scatter, box and cactus plots.
//!
//! Colours come from classes (`s0`, `s1`, … for series), so that a page decides about light
//! and dark; a plot in a file of its own carries [`STYLE`].

use std::fmt::Write;

use crate::scores::BoxSummary;

/// The style of a plot that stands alone.
pub const STYLE: &str = "<style>\
text{font:12px system-ui,sans-serif;fill:#454b54}\
.grid{stroke:#e3e6ea;stroke-width:1}.axis{stroke:#9aa1ab;stroke-width:1}\
.guide{stroke:#9aa1ab;stroke-width:1;stroke-dasharray:4 4}\
.dot{fill-opacity:.65}.line{fill:none;stroke-width:2}.box{fill-opacity:.18;stroke-width:1.5}\
.s0{fill:#0b66c2;stroke:#0b66c2}.s1{fill:#c2410c;stroke:#c2410c}.s2{fill:#0f8a5f;stroke:#0f8a5f}\
.s3{fill:#8b3fc4;stroke:#8b3fc4}.s4{fill:#b7880b;stroke:#b7880b}.s5{fill:#0e8fa8;stroke:#0e8fa8}\
@media(prefers-color-scheme:dark){text{fill:#b9c1cc}.grid{stroke:#2b3139}.axis,.guide{stroke:#5b6470}\
.s0{fill:#6cb2ff;stroke:#6cb2ff}.s1{fill:#ff9d66;stroke:#ff9d66}.s2{fill:#58d3a1;stroke:#58d3a1}\
.s3{fill:#c99bf2;stroke:#c99bf2}.s4{fill:#e8c04f;stroke:#e8c04f}.s5{fill:#5fd0e6;stroke:#5fd0e6}}\
text{stroke:none}.line,.line.s0{fill:none}</style>";

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 440.0;
const LEFT: f64 = 76.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 18.0;
const BOTTOM: f64 = 52.0;
const COLOURS: usize = 6;

/// Points or a line with a name.
#[derive(Clone, Debug)]
pub struct Series {
    /// Its name.
    pub name: String,
    /// Its points.
    pub points: Vec<Point>,
}

/// A point.
#[derive(Clone, Debug)]
pub struct Point {
    /// To the right.
    pub x: f64,
    /// Up.
    pub y: f64,
    /// What is said on demand.
    pub label: String,
}

/// Escapes text for SVG and HTML.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}

/// An axis: from values to places.
struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    is_log: bool,
}

impl Axis {
    /// By powers of ten around all values.
    fn log(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let (mut low, mut high) = (f64::MAX, f64::MIN);
        for value in values.filter(|v| *v > 0.0) {
            low = low.min(value.log10());
            high = high.max(value.log10());
        }
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        let (low, mut high) = (low.floor(), high.ceil());
        if high - low < 1.0 {
            high = low + 1.0;
        }
        Self {
            low,
            high,
            from,
            to,
            is_log: true,
        }
    }

    fn linear(low: f64, high: f64, from: f64, to: f64) -> Self {
        let high = if high - low < 1e-9 { low + 1.0 } else { high };
        Self {
            low,
            high,
            from,
            to,
            is_log: false,
        }
    }

    fn place(&self, value: f64) -> f64 {
        let value = if self.is_log {
            value.max(1e-12).log10()
        } else {
            value
        };
        let part = ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        self.from + part * (self.to - self.from)
    }

    /// Where lines and numbers stand.
    fn ticks(&self) -> Vec<(f64, String)> {
        if self.is_log {
            let range = self.low as i32..=self.high as i32;
            return range
                .map(|power| (10_f64.powi(power), power_text(power)))
                .collect();
        }
        let rough = (self.high - self.low) / 8.0;
        let magnitude = 10_f64.powf(rough.max(1e-9).log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|s| s * magnitude);
        let step = steps.into_iter().find(|s| *s >= rough).unwrap_or(magnitude);
        let first = (self.low / step).ceil() as i64;
        let last = (self.high / step).floor() as i64;
        let text = |value: f64| format!("{}", (value * 1000.0).round() / 1000.0);
        let numbers = (first..=last).map(|n| n as f64 * step);
        numbers.map(|value| (value, text(value))).collect()
    }
}

fn power_text(power: i32) -> String {
    match power {
        0 => "1".into(),
        1 => "10".into(),
        2 => "100".into(),
        -1 => "0.1".into(),
        -2 => "0.01".into(),
        -3 => "0.001".into(),
        3 => "1k".into(),
        4 => "10k".into(),
        5 => "100k".into(),
        6 => "1M".into(),
        7 => "10M".into(),
        8 => "100M".into(),
        power => format!("1e{power}"),
    }
}

fn open(height: f64, title: &str, style: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
         aria-label=\"{}\">{style}\n",
        escaped(title)
    )
}

/// Grid, numbers and names of both axes.
fn frame(out: &mut String, x: &Axis, y: &Axis, x_name: &str, y_name: &str) {
    let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
    for (value, text) in x.ticks() {
        let at = x.place(value);
        let _ = writeln!(
            out,
            "<line class=\"grid\" x1=\"{at:.1}\" y1=\"{TOP}\" x2=\"{at:.1}\" y2=\"{bottom}\"/>\
             <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{text}</text>",
            bottom + 17.0
        );
    }
    for (value, text) in y.ticks() {
        let at = y.place(value);
        let _ = writeln!(
            out,
            "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{right}\" y2=\"{at:.1}\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>",
            LEFT - 7.0,
            at + 4.0
        );
    }
    let middle = f64::midpoint(TOP, bottom);
    let _ = writeln!(
        out,
        "<path class=\"axis\" fill=\"none\" d=\"M{LEFT} {TOP}V{bottom}H{right}\"/>\
         <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\
         <text transform=\"translate(16 {middle:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
        f64::midpoint(LEFT, right),
        HEIGHT - 12.0,
        escaped(x_name),
        escaped(y_name)
    );
}

fn legend(out: &mut String, names: &[&str]) {
    for (at, name) in names.iter().enumerate() {
        let y = TOP + 14.0 + 18.0 * at as f64;
        let _ = writeln!(
            out,
            "<circle class=\"dot s{}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"5\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            at % COLOURS,
            LEFT + 16.0,
            y - 4.0,
            LEFT + 28.0,
            y,
            escaped(name)
        );
    }
}

/// Points over two logarithmic axes, with lines for equal, a tenth and a hundredth.
pub fn scatter(title: &str, x_name: &str, y_name: &str, series: &[Series], style: &str) -> String {
    let mut out = open(HEIGHT, title, style);
    let points = || series.iter().flat_map(|s| &s.points);
    let both = || points().flat_map(|p| [p.x, p.y]);
    let x = Axis::log(both(), LEFT, WIDTH - RIGHT);
    let y = Axis::log(both(), HEIGHT - BOTTOM, TOP);
    frame(&mut out, &x, &y, x_name, y_name);
    for (share, text) in [(1.0, "same"), (0.1, "1/10"), (0.01, "1/100")] {
        let (low, high) = (10_f64.powf(x.low) / share, 10_f64.powf(x.high));
        let start = low.min(high);
        let (x1, y1) = (x.place(start), y.place(start * share));
        let (x2, y2) = (x.place(high), y.place(high * share));
        let _ = writeln!(
            out,
            "<line class=\"guide\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>",
            x2 - 6.0,
            (y2 + 24.0).min(HEIGHT - BOTTOM - 4.0)
        );
    }
    for (at, one) in series.iter().enumerate() {
        for point in &one.points {
            let _ = writeln!(
                out,
                "<circle class=\"dot s{}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"4\"><title>{}</title></circle>",
                at % COLOURS,
                x.place(point.x),
                y.place(point.y),
                escaped(&point.label)
            );
        }
    }
    let names: Vec<&str> = series.iter().map(|s| s.name.as_str()).collect();
    legend(&mut out, &names);
    out + "</svg>"
}

/// How many models each configuration finishes within how much time.
pub fn cactus(title: &str, series: &[Series], style: &str) -> String {
    let mut out = open(HEIGHT, title, style);
    let most = series.iter().map(|s| s.points.len()).max().unwrap_or(0);
    let x = Axis::linear(0.0, most as f64, LEFT, WIDTH - RIGHT);
    let times = series.iter().flat_map(|s| s.points.iter().map(|p| p.y));
    let y = Axis::log(times, HEIGHT - BOTTOM, TOP);
    frame(
        &mut out,
        &x,
        &y,
        "models",
        "seconds of processor time, each",
    );
    for (at, one) in series.iter().enumerate() {
        let mut path = String::new();
        for (step, point) in one.points.iter().enumerate() {
            let command = if step == 0 { 'M' } else { 'L' };
            let place = (x.place(step as f64 + 1.0), y.place(point.y));
            let _ = write!(path, "{command}{:.1} {:.1}", place.0, place.1);
        }
        let _ = writeln!(
            out,
            "<path class=\"line s{}\" d=\"{path}\"><title>{}: {} models</title></path>",
            at % COLOURS,
            escaped(&one.name),
            one.points.len()
        );
    }
    let names: Vec<&str> = series.iter().map(|s| s.name.as_str()).collect();
    legend(&mut out, &names);
    out + "</svg>"
}

/// A box with whiskers and outliers for each name, one below the other.
pub fn boxes(title: &str, x_name: &str, data: &[(String, Vec<f64>)], style: &str) -> String {
    const LINE: f64 = 30.0;
    const NAMES: f64 = 240.0;
    let summaries: Vec<(&str, BoxSummary)> = data
        .iter()
        .filter_map(|(name, values)| Some((name.as_str(), BoxSummary::of(values)?)))
        .collect();
    let bottom = TOP + LINE * summaries.len().max(1) as f64;
    let mut out = open(bottom + BOTTOM, title, style);
    let values = || data.iter().flat_map(|(_, values)| values.iter().copied());
    let (low, high) = (values().fold(0.0, f64::min), values().fold(0.0, f64::max));
    let x = Axis::linear(low - 0.2, high + 0.2, NAMES, WIDTH - RIGHT);
    for (value, text) in x.ticks() {
        let at = x.place(value);
        let _ = writeln!(
            out,
            "<line class=\"grid\" x1=\"{at:.1}\" y1=\"{TOP}\" x2=\"{at:.1}\" y2=\"{bottom}\"/>\
             <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{text}</text>",
            bottom + 17.0
        );
    }
    let _ = writeln!(
        out,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
        f64::midpoint(NAMES, WIDTH - RIGHT),
        bottom + 38.0,
        escaped(x_name)
    );
    for (at, (name, summary)) in summaries.iter().enumerate() {
        let middle = TOP + LINE * (at as f64 + 0.5);
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            NAMES - 8.0,
            middle + 4.0,
            escaped(name)
        );
        out += &one_box(&x, middle, name, summary);
    }
    out + "</svg>"
}

fn one_box(x: &Axis, middle: f64, name: &str, summary: &BoxSummary) -> String {
    let place = |value: f64| x.place(value);
    let (from, to) = (place(summary.lower), place(summary.upper));
    let (low, high) = (place(summary.low_whisker), place(summary.high_whisker));
    let (top, bottom) = (middle - 9.0, middle + 9.0);
    let median = place(summary.median);
    let mut out = format!(
        "<g class=\"s0\"><title>{}: median {:.2}, quartiles {:.2} and {:.2}</title>\
         <path class=\"line s0\" d=\"M{low:.1} {middle:.1}H{from:.1}M{to:.1} {middle:.1}H{high:.1}\
         M{low:.1} {:.1}v8M{high:.1} {:.1}v8\"/>\
         <rect class=\"box s0\" x=\"{from:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"18\"/>\
         <path class=\"line s1\" d=\"M{median:.1} {top:.1}V{bottom:.1}\"/>",
        escaped(name),
        summary.median,
        summary.lower,
        summary.upper,
        middle - 4.0,
        middle - 4.0,
        (to - from).max(1.0),
    );
    for outlier in &summary.outliers {
        let _ = write!(
            out,
            "<circle class=\"dot s0\" cx=\"{:.1}\" cy=\"{middle:.1}\" r=\"2\"/>",
            place(*outlier)
        );
    }
    out + "</g>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series() -> Vec<Series> {
        let point = |x: f64, y: f64| Point {
            x,
            y,
            label: "a < b".into(),
        };
        vec![Series {
            name: "beam & co".into(),
            points: vec![point(10.0, 1.0), point(1000.0, 100.0)],
        }]
    }

    /// Every tag closes, and text is escaped.
    fn is_well_formed(svg: &str) {
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>"));
        assert!(!svg.contains("a < b") && !svg.contains("NaN") && !svg.contains("inf"));
        for tag in ["text", "title", "g", "svg"] {
            let open =
                svg.matches(&format!("<{tag}>")).count() + svg.matches(&format!("<{tag} ")).count();
            assert_eq!(open, svg.matches(&format!("</{tag}>")).count(), "{tag}");
        }
    }

    #[test]
    fn plots_are_well_formed_even_of_nothing() {
        is_well_formed(&scatter("t", "x", "y", &series(), STYLE));
        is_well_formed(&scatter("t", "x", "y", &[], ""));
        is_well_formed(&cactus("t", &series(), ""));
        is_well_formed(&cactus("t", &[], ""));
        is_well_formed(&boxes(
            "t",
            "x",
            &[("a & b".into(), vec![1.0, 2.0, 9.0])],
            "",
        ));
        is_well_formed(&boxes("t", "x", &[], ""));
    }

    #[test]
    fn axes_cover_their_values() {
        let axis = Axis::log([3.0, 4000.0].into_iter(), 0.0, 100.0);
        assert_eq!((axis.low, axis.high), (0.0, 4.0));
        assert!((axis.place(100.0) - 50.0).abs() < 1e-9);
        let linear = Axis::linear(-1.0, 3.0, 0.0, 100.0);
        assert!(linear.ticks().iter().any(|(_, text)| text == "0"));
    }
}
