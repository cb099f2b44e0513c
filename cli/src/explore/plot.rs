//! Speedups as a picture: an SVG file with a bar for each configuration.

use cprof_views::xml::escaped;
use std::fmt::Write;

/// A configuration.
pub struct Bar {
    /// Its name.
    pub label: String,
    /// Percent against the base; none where it cannot be compared.
    pub speedup: Option<f64>,
}

/// Distances in pixels.
const ROW: f64 = 22.0;
const BAR: f64 = 14.0;
const TOP: f64 = 64.0;
const MARGIN: f64 = 16.0;
const PLOT: f64 = 480.0;
/// Beside the longest bars, for their numbers.
const NUMBER: f64 = 64.0;
/// Of a character of the labels' font, which is of fixed width, at 12 pixels.
const CHARACTER: f64 = 7.25;

/// Colours follow the reader's preference for light or dark. Numbers have a margin of the paper's colour, for lines go through
/// below them.
const STYLE: &str = "\
  text { font: 12px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; fill: #1f2328 }
  .paper { fill: #ffffff } .title { font-size: 15px; font-weight: bold } .quiet { fill: #59636e }
  .number { paint-order: stroke; stroke: #ffffff; stroke-width: 4px }
  .grid { stroke: #d1d9e0 } .zero { stroke: #59636e } .faster { fill: #1a7f64 } .slower { fill: #c4532d }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .number { stroke: #0d1117 }
    .paper { fill: #0d1117 } .quiet { fill: #9198a1 }
    .grid { stroke: #30363d } .zero { stroke: #9198a1 } .faster { fill: #3fb68b } .slower { fill: #f0805a }
  }
";

/// The picture; `base` names what speedups are against.
pub fn svg(title: &str, base: &str, bars: &[Bar]) -> String {
    let speedups = || bars.iter().filter_map(|b| b.speedup);
    let (low, high) = (speedups().fold(0.0, f64::min), speedups().fold(0.0, f64::max));
    let step = step(high - low);
    // Lines stand at multiples of the step; bars may end between two.
    let first = (low / step).ceil() * step;
    let high = if high > low { high } else { step };
    let longest = bars.iter().map(|b| b.label.chars().count()).max().unwrap_or(0);
    let left = MARGIN + longest as f64 * CHARACTER + MARGIN + if low < 0.0 { NUMBER } else { 0.0 };
    let x = |percent: f64| left + (percent - low) / (high - low) * PLOT;
    let bottom = TOP + bars.len() as f64 * ROW;
    let (width, height) = (left + PLOT + NUMBER + MARGIN, bottom + 32.0);
    let mut out = String::new();
    // Writing to a String cannot fail.
    let mut line = |text: std::fmt::Arguments<'_>| out.write_fmt(text).and_then(|()| out.write_char('\n')).unwrap_or_default();
    line(format_args!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0}" height="{height:.0}" viewBox="0 0 {width:.0} {height:.0}" role="img" aria-label="{}">"#,
        escaped(title)
    ));
    line(format_args!("<style>\n{STYLE}</style>"));
    line(format_args!(r#"<rect class="paper" width="100%" height="100%"/>"#));
    line(format_args!(r#"<text class="title" x="{MARGIN}" y="26">{}</text>"#, escaped(title)));
    line(format_args!(r#"<text class="quiet" x="{MARGIN}" y="46">speedup in percent against {}</text>"#, escaped(base)));
    let mut tick = first;
    while tick <= high + step / 1000.0 {
        // Sums of steps may miss zero by a rounding.
        let zero = tick.abs() < step / 2.0;
        let (class, at) = (if zero { "zero" } else { "grid" }, x(tick));
        line(format_args!(r#"<line class="{class}" x1="{at:.1}" y1="{TOP}" x2="{at:.1}" y2="{bottom:.1}"/>"#));
        let number = if zero { "0".to_owned() } else { format!("{:+}", (tick * 1000.0).round() / 1000.0) };
        line(format_args!(r#"<text class="quiet" x="{at:.1}" y="{:.1}" text-anchor="middle">{number}</text>"#, bottom + 18.0));
        tick += step;
    }
    for (i, bar) in bars.iter().enumerate() {
        let top = TOP + i as f64 * ROW;
        let middle = top + ROW / 2.0 + 4.0;
        line(format_args!(r#"<text x="{MARGIN}" y="{middle:.1}">{}</text>"#, escaped(&bar.label)));
        let Some(speedup) = bar.speedup else {
            line(format_args!(r#"<text class="quiet" x="{:.1}" y="{middle:.1}">not comparable</text>"#, x(0.0) + 6.0));
            continue;
        };
        let (class, from, to) = if speedup < 0.0 { ("slower", x(speedup), x(0.0)) } else { ("faster", x(0.0), x(speedup)) };
        let y = top + (ROW - BAR) / 2.0;
        line(format_args!(r#"<rect class="{class}" x="{from:.1}" y="{y:.1}" width="{:.1}" height="{BAR}" rx="2"/>"#, to - from));
        let (at, anchor) = if speedup < 0.0 { (from - 6.0, "end") } else { (to + 6.0, "start") };
        line(format_args!(r#"<text class="number" x="{at:.1}" y="{middle:.1}" text-anchor="{anchor}">{speedup:+.1}</text>"#));
    }
    line(format_args!("</svg>"));
    out
}

/// A round distance for about five lines over a range.
fn step(range: f64) -> f64 {
    let rough = (range / 5.0).max(0.001);
    let magnitude = 10f64.powf(rough.log10().floor());
    let round = [1.0, 2.0, 5.0].into_iter().find(|r| r * magnitude >= rough).unwrap_or(10.0);
    round * magnitude
}

#[cfg(test)]
mod tests {
    use super::{Bar, step, svg};

    #[test]
    fn bars_begin_at_zero_and_end_at_their_speedup() {
        let bar = |label: &str, speedup| Bar { label: label.to_owned(), speedup };
        let picture = svg("a & b", "<base>", &[bar("same", Some(0.0)), bar("twice", Some(100.0)), bar("half", Some(-50.0))]);
        // Steps of 50 over -50..100: 480 pixels for 150 percent, zero is a third from the left.
        let left = 16.0 + 5.0 * 7.25 + 16.0 + 64.0;
        let zero = left + 160.0;
        for part in [
            format!(r#"class="faster" x="{zero:.1}" y="68.0" width="0.0""#),
            format!(r#"class="faster" x="{zero:.1}" y="90.0" width="320.0""#),
            format!(r#"class="slower" x="{left:.1}" y="112.0" width="160.0""#),
            ">+100.0</text>".to_owned(),
            "a &amp; b".to_owned(),
            "&lt;base&gt;".to_owned(),
        ] {
            assert!(picture.contains(&part), "{part}:\n{picture}");
        }
    }

    #[test]
    fn what_cannot_be_compared_has_no_bar() {
        let picture = svg("t", "b", &[Bar { label: "x".to_owned(), speedup: None }]);
        assert!(picture.contains("not comparable") && !picture.contains("faster\" x") && !picture.contains("NaN"), "{picture}");
    }

    #[test]
    fn steps_are_round() {
        assert_eq!([step(0.0), step(9.0), step(23.0), step(4000.0)].map(|s| (s * 1000.0).round()), [1.0, 2e3, 5e3, 1e6]);
    }
}
