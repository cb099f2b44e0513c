//! Flame graphs as SVG: a picture everywhere, and in a browser one to click on, to search and to walk through with the keys.

mod frames;

pub use frames::{Costs, Frame, Frames, LEVELS, callees, callers};

use crate::colour;
use crate::forest::Arranged;
use crate::xml::escaped;
use cprof_profile::names::{relative, thousands};
use cprof_profile::tree::Symbol;
use std::borrow::Cow;
use std::io::{self, Write};

const STYLE: &str = include_str!("../../assets/flamegraph.css");
const SCRIPT: &str = include_str!("../../assets/flamegraph.js");

/// Width of the picture in its own units, which are pixels unless it is scaled.
const WIDTH: f64 = 1200.0;
/// Space left and right of the frames.
const MARGIN: f64 = 10.0;
/// Height of a frame with the gap below it.
const ROW: u32 = 17;
/// Height of what stands above the frames.
const HEAD: u32 = 86;
/// Width of a character of the frames' font.
const CHARACTER: f64 = 6.7;

/// What a picture says about itself.
#[derive(Debug)]
pub struct Picture<'a> {
    /// Its heading.
    pub title: &'a str,
    /// The profile, or both.
    pub about: &'a str,
    /// What widths are: a metric's name.
    pub metric: &'a str,
    /// Callers below callees.
    pub reverse: bool,
    /// Frames narrower than this are left out, in pixels of a picture [`WIDTH`] wide.
    pub min_width: f64,
    /// Of a comparison: what contexts cost that only the one profile has, and those that only the one before has.
    pub apart: Option<[u64; 2]>,
}

/// The least cost that is `min_width` wide.
fn least(whole: u64, min_width: f64) -> u64 {
    (whole as f64 * min_width / (WIDTH - 2.0 * MARGIN)).ceil() as u64
}

/// Draws the contexts.
pub fn write(picture: &Picture<'_>, contexts: &Arranged, costs: Costs<'_>, out: &mut impl Write) -> io::Result<()> {
    let whole = costs.after.sum();
    let least = least(whole, picture.min_width);
    let frames = if picture.reverse { callers(contexts, costs, least) } else { callees(contexts, costs, least) };
    let depth = frames.list.iter().map(|f| f.depth).max().unwrap_or(0);
    let height = HEAD + (depth + 1) * ROW + 14;
    writeln!(
        out,
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" role="group" aria-label="Flame graph of {}">"#,
        escaped(picture.title)
    )?;
    writeln!(out, "<style>{STYLE}</style>")?;
    writeln!(out, r#"<rect class="paper" width="100%" height="100%"/>"#)?;
    writeln!(out, r#"<text class="title" x="{MARGIN}" y="24">{}</text>"#, escaped(picture.title))?;
    writeln!(out, r#"<text class="about" x="{MARGIN}" y="42">{}</text>"#, escaped(&about(picture, whole)))?;
    let said = said(picture, costs, &frames, whole);
    writeln!(out, r#"<text class="about" x="{MARGIN}" y="58">{}</text>"#, escaped(&said))?;
    writeln!(out, r#"<text id="detail" class="about" x="{MARGIN}" y="76"> </text>"#)?;
    // What is no browser leaves this out.
    writeln!(
        out,
        r#"<foreignObject x="{}" y="8" width="240" height="26"><input xmlns="http://www.w3.org/1999/xhtml" id="search" type="search" placeholder="search  ( / )" aria-label="Search"/></foreignObject>"#,
        WIDTH - MARGIN - 240.0
    )?;
    writeln!(
        out,
        r#"<g id="frames" data-whole="{whole}" data-left="{MARGIN}" data-width="{}" data-character="{CHARACTER}">"#,
        WIDTH - 2.0 * MARGIN
    )?;
    let scale = (WIDTH - 2.0 * MARGIN) / whole.max(1) as f64;
    for frame in &frames.list {
        write_frame(frame, picture, contexts, costs.before.is_some(), scale, whole, out)?;
    }
    writeln!(out, "</g>\n<script><![CDATA[\n{SCRIPT}]]></script>\n</svg>")
}

fn about(picture: &Picture<'_>, whole: u64) -> String {
    let direction = if picture.reverse { "; below each method its callers" } else { "" };
    format!("{}: {} {}{direction}", picture.about, thousands(whole), picture.metric)
}

/// What is not drawn, and what is new or gone.
fn said(picture: &Picture<'_>, costs: Costs<'_>, frames: &Frames, whole: u64) -> String {
    let mut said = Vec::new();
    if let Some(before) = costs.before {
        let sum = before.sum();
        said.push(format!("before: {} ({})", thousands(sum), relative(sum, whole)));
        if let Some([new, gone]) = picture.apart.map(|apart| apart.map(thousands)) {
            said.push(format!("in new contexts: {new}"));
            said.push(format!("in contexts now gone, which are not drawn: {gone}"));
        }
        said.push("red: more, blue: less".to_owned());
    }
    if frames.hidden > 0 {
        let what = if picture.reverse { "narrower frames, with their callers," } else { "narrower contexts" };
        said.push(format!("not drawn: {} {what} with {}", thousands(frames.hidden), share(frames.hidden_cost, whole)));
    }
    if frames.further_cost > 0 {
        let levels = thousands(LEVELS.into());
        said.push(format!("callers more than {levels} levels up, not drawn, have {}", share(frames.further_cost, whole)));
    }
    said.join(" · ")
}

fn write_frame(
    frame: &Frame,
    picture: &Picture<'_>,
    contexts: &Arranged,
    compares: bool,
    scale: f64,
    whole: u64,
    out: &mut impl Write,
) -> io::Result<()> {
    let symbol = &contexts.symbols[frame.symbol as usize];
    let (x, width) = (MARGIN + frame.x as f64 * scale, frame.cost as f64 * scale);
    let y = HEAD + frame.depth * ROW;
    let fill = if compares {
        colour::of_change(frame.before, frame.cost)
    } else if frame.symbol == 0 {
        "#d5d8dd".to_owned()
    } else {
        colour::of_package(symbol.class.rsplit_once('.').map_or("", |(package, _)| package))
    };
    let label = label(symbol);
    let full = full(symbol, contexts.twins[frame.symbol as usize]);
    let mut title = format!("{full}\n{} {} ({})", thousands(frame.cost), picture.metric, share(frame.cost, whole));
    if !picture.reverse {
        title.push_str(&format!(", own {}", thousands(frame.own)));
    }
    if compares {
        title.push_str(&format!(", before {} ({})", thousands(frame.before), relative(frame.before, frame.cost)));
    }
    let tab = if frame.depth == 0 { 0 } else { -1 };
    write!(
        out,
        r#"<g data-x="{}" data-v="{}" data-d="{}" data-n="{}" tabindex="{tab}" role="button"><title>{}</title><rect x="{x:.2}" y="{y}" width="{width:.2}" height="{}" fill="{fill}"/>"#,
        frame.x,
        frame.cost,
        frame.depth,
        escaped(&label),
        escaped(&title),
        ROW - 1
    )?;
    let room = ((width - 6.0) / CHARACTER).floor().max(0.0) as usize;
    if room >= 3 {
        write!(out, r#"<text x="{:.2}" y="{}">{}</text>"#, x + 3.0, y + 12, escaped(&cut(&label, room)))?;
    }
    writeln!(out, "</g>")
}

/// `Main.run`
fn label(symbol: &Symbol) -> String {
    if symbol.class.is_empty() {
        return symbol.method.clone();
    }
    let class = symbol.class.rsplit_once('.').map_or(symbol.class.as_str(), |(_, class)| class);
    format!("{class}.{}", symbol.method)
}

/// `com.acme.Main.run(int)`
fn full(symbol: &Symbol, twin: bool) -> String {
    if symbol.class.is_empty() { symbol.method.clone() } else { symbol.readable(twin) }
}

fn cut(label: &str, room: usize) -> Cow<'_, str> {
    if label.chars().count() <= room {
        return Cow::Borrowed(label);
    }
    Cow::Owned(label.chars().take(room - 1).chain(['…']).collect())
}

fn share(part: u64, whole: u64) -> String {
    if whole == 0 { "-".into() } else { format!("{:.1}%", part as f64 * 100.0 / whole as f64) }
}
