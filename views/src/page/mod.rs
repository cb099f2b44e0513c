//! The page: one HTML file with the data as packed columns and the scripts that show them.
//!
//! What the scripts read is described in `assets/model.js`. The page forbids itself everything from elsewhere, and every script
//! but its own, by a Content-Security-Policy; names of the profile are in it only packed.

mod pack;

use crate::forest::{Forest, Places};
use crate::xml::escaped;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cprof_profile::amounts::Amounts;
use cprof_profile::metrics::Metric;
use cprof_profile::tree::{Symbol, Symbols, Tree};
use pack::{element, varints};
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Write};

const SKELETON: &str = include_str!("../../assets/page.html");
const STYLE: &str = include_str!("../../assets/page.css");

/// The scripts, as one module: what stands later uses what stands before.
const SCRIPTS: [&str; 12] = [
    include_str!("../../assets/format.js"),
    include_str!("../../assets/unpack.js"),
    include_str!("../../assets/model.js"),
    include_str!("../../assets/callers.js"),
    include_str!("../../assets/search.js"),
    include_str!("../../assets/list.js"),
    include_str!("../../assets/layout.js"),
    include_str!("../../assets/flame.js"),
    include_str!("../../assets/methods.js"),
    include_str!("../../assets/contexts.js"),
    include_str!("../../assets/method.js"),
    include_str!("../../assets/main.js"),
];

/// Annotated methods that are deflated together: few enough to be unpacked at a click, enough to be small.
const METHODS_PER_PIECE: usize = 64;

/// Which profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The profile that is shown.
    After,
    /// The one that it is compared with.
    Before,
}

/// What the page says besides the numbers.
#[derive(Debug, Default, Serialize)]
pub struct Facts {
    /// What ran.
    pub title: String,
    /// The profile's file, and the one it is compared with.
    pub file: String,
    /// The profile that it is compared with.
    pub before: Option<String>,
    /// Name and value, in order: JVM, start, options, ….
    pub run: Vec<(String, String)>,
    /// What a reader must know: cautions, warnings, metrics that only one of two profiles has.
    pub notes: Vec<String>,
    /// What was not covered: class or method, and the reason.
    pub gaps: Vec<(String, String)>,
    /// The metric to begin with.
    pub metric: String,
}

/// A method's code with its counts.
#[derive(Debug, Serialize)]
pub struct Code {
    /// Whose.
    #[serde(skip)]
    pub symbol: Symbol,
    /// What the rows' cycles are of: metrics of the page.
    pub cycles: Vec<String>,
    /// The method's own of each: those of its rows, and what `notes` say.
    pub whole: Vec<u64>,
    /// Which of the methods with this name that have different code, and how many there are.
    pub variant: (usize, usize),
    /// Its bytecodes in order.
    pub rows: Vec<CodeRow>,
    /// Where its source is, if it was found.
    pub source: Option<CodeSource>,
    /// Cycles of the method that belong to no single bytecode, as sentences.
    pub notes: Vec<String>,
}

/// A bytecode: an array in JSON.
#[derive(Debug, Clone, Serialize)]
pub struct CodeRow(
    /// Bytecode index.
    pub u32,
    /// Source line; 0: unknown.
    pub u16,
    /// In javap's notation.
    pub String,
    /// 1: begins a block.
    pub u8,
    /// How often it was executed.
    pub u64,
    /// In the order of [`Code::cycles`].
    pub Vec<u64>,
    /// Where control went from here: the way, how often.
    pub Vec<(String, u64)>,
);

/// The lines of a method.
#[derive(Debug, Clone, Serialize)]
pub struct CodeSource {
    /// The file.
    pub name: String,
    /// Number of the first line.
    pub first: u16,
    /// Lines.
    pub lines: Vec<String>,
}

/// A thread, or threads of one name.
struct Slice {
    side: Side,
    label: String,
    threads: u64,
    places: Places,
    metrics: Vec<Metric>,
}

/// A page in the making.
pub struct Page {
    forest: Forest,
    metrics: Vec<(String, Cow<'static, str>)>,
    slices: Vec<Slice>,
    codes: Vec<Code>,
}

#[derive(Serialize)]
struct Named<'a> {
    name: &'a str,
    unit: &'a str,
}

#[derive(Serialize)]
struct ThreadRow<'a> {
    label: &'a str,
    threads: u64,
    /// Numbers of the elements that hold its columns; none: it is what the others leave.
    after: Option<usize>,
    before: Option<usize>,
}

/// What the script reads first.
#[derive(Serialize)]
struct Meta<'a> {
    #[serde(flatten)]
    facts: &'a Facts,
    version: &'a str,
    contexts: usize,
    sites: bool,
    metrics: Vec<Named<'a>>,
    threads: Vec<ThreadRow<'a>>,
    /// Per symbol that has code: the piece it is in.
    code: BTreeMap<u32, usize>,
}

impl Page {
    /// Without anything. `sites`: contexts that differ in the call site are different; `metrics`: names and units.
    pub fn new(sites: bool, metrics: Vec<(String, Cow<'static, str>)>) -> Page {
        Page { forest: Forest::new(sites), metrics, slices: Vec::new(), codes: Vec::new() }
    }

    /// The contexts of threads of one label, with the page's metrics in their order.
    pub fn add(&mut self, side: Side, label: &str, threads: u64, symbols: &Symbols, tree: &Tree, metrics: Vec<Metric>) {
        assert!(
            metrics.iter().map(|m| (&m.name, &m.unit)).eq(self.metrics.iter().map(|(name, unit)| (name, unit))),
            "not the page's metrics"
        );
        let places = self.forest.add(symbols, tree);
        self.slices.push(Slice { side, label: label.to_owned(), threads, places, metrics });
    }

    /// The code of a method.
    pub fn add_code(&mut self, code: Code) {
        self.codes.push(code);
    }

    /// Writes the page.
    pub fn write(self, facts: &Facts, out: &mut impl Write) -> io::Result<()> {
        let Page { forest, metrics, slices, mut codes } = self;
        let sites = forest.tells_sites();
        let arranged = forest.arrange();
        let mut parts = Parts::new(facts, out)?;

        let marks = |(s, &twin): (&Symbol, &bool)| u8::from(s.native) | u8::from(twin) << 1;
        let marks = arranged.symbols.iter().zip(&arranged.twins).map(marks);
        let names: Vec<_> =
            arranged.symbols.iter().zip(marks).map(|(s, marks)| (&s.class, &s.method, &s.descriptor, marks)).collect();
        parts.element("symbols", &serde_json::to_vec(&names)?)?;
        parts.element("tree-symbol", &varints(arranged.symbol.iter().map(|&s| s.into())))?;
        parts.element("tree-step", &varints(steps(&arranged.parent).into_iter()))?;
        if sites {
            parts.element("tree-site", &varints(arranged.site.iter().map(|&s| s.into())))?;
        }

        let mut threads: BTreeMap<&str, ThreadRow> = BTreeMap::new();
        // A profile without any thread has its columns all the same.
        let sides = if facts.before.is_some() { &[Side::After, Side::Before][..] } else { &[Side::After] };
        for &side in sides {
            let of_side: Vec<(usize, &Slice)> = slices.iter().enumerate().filter(|(_, s)| s.side == side).collect();
            // The largest is what the others leave: it would double the page.
            let largest = of_side.iter().max_by_key(|(_, s)| s.metrics.first().map_or(0, |m| m.own.len())).map(|(i, _)| *i);
            let mut sums = vec![Amounts::zeros(arranged.len()); metrics.len()];
            for &(i, slice) in &of_side {
                let positions = arranged.positions(&slice.places);
                for (sum, metric) in sums.iter_mut().zip(&slice.metrics) {
                    positions.iter().zip(metric.own.iter()).for_each(|(&at, own)| sum.add(at as usize, own));
                }
                let own_columns = (Some(i) != largest).then_some(i);
                if own_columns.is_some() {
                    write_slice(&mut parts, i, slice, &positions)?;
                }
                let row = threads.entry(&slice.label).or_insert(ThreadRow {
                    label: &slice.label,
                    threads: slice.threads,
                    after: None,
                    before: None,
                });
                // Numbers from 1; 0 is the rest.
                let number = Some(own_columns.map_or(0, |i| i + 1));
                match side {
                    Side::After => row.after = number,
                    Side::Before => row.before = number,
                }
            }
            let prefix = if side == Side::After { "after" } else { "before" };
            for (m, sum) in sums.iter().enumerate() {
                parts.element(&format!("{prefix}-{m}"), &varints(sum.iter()))?;
            }
        }

        let code = write_codes(&mut parts, &arranged.symbols, &mut codes)?;
        let meta = Meta {
            facts,
            version: env!("CARGO_PKG_VERSION"),
            contexts: arranged.len(),
            sites,
            metrics: metrics.iter().map(|(name, unit)| Named { name, unit }).collect(),
            threads: threads.into_values().collect(),
            code,
        };
        parts.element("meta", &serde_json::to_vec(&meta)?)?;
        parts.finish()
    }
}

/// Per context but the first: 0 below the one before it, 1 beside it, 2 beside its caller, and so on.
fn steps(parent: &[u32]) -> Vec<u64> {
    let mut depth = vec![0u64; parent.len()];
    let mut steps = Vec::with_capacity(parent.len());
    for i in 1..parent.len() {
        depth[i] = depth[parent[i] as usize] + 1;
        steps.push(depth[i - 1] + 1 - depth[i]);
    }
    steps
}

/// The contexts of a slice in which something was counted, and the numbers there.
fn write_slice<W: Write>(parts: &mut Parts<W>, number: usize, slice: &Slice, positions: &[u32]) -> io::Result<()> {
    let counted = |i: &usize| slice.metrics.iter().any(|m| m.own.get(*i) != 0);
    let mut order: Vec<usize> = (0..positions.len()).filter(counted).collect();
    order.sort_by_key(|&i| positions[i]);
    let mut before = 0;
    let steps = order.iter().map(|&i| {
        let step = positions[i] - before;
        before = positions[i];
        u64::from(step)
    });
    parts.element(&format!("slice-{}-context", number + 1), &varints(steps))?;
    for (m, metric) in slice.metrics.iter().enumerate() {
        parts.element(&format!("slice-{}-{m}", number + 1), &varints(order.iter().map(|&i| metric.own.get(i))))?;
    }
    Ok(())
}

/// In pieces; answers in which piece each symbol's code is.
fn write_codes<W: Write>(parts: &mut Parts<W>, symbols: &[Symbol], codes: &mut [Code]) -> io::Result<BTreeMap<u32, usize>> {
    codes.sort_by(|a, b| a.symbol.cmp(&b.symbol));
    let mut of_symbol = BTreeMap::new();
    // All code of a name is in one piece: the page reads no other.
    let methods: Vec<&[Code]> = codes.chunk_by(|a, b| a.symbol == b.symbol).collect();
    for (piece, methods) in methods.chunks(METHODS_PER_PIECE).enumerate() {
        let mut content: BTreeMap<u32, &[Code]> = BTreeMap::new();
        for codes in methods {
            let within = &symbols[1..];
            if let Ok(at) = within.binary_search(&codes[0].symbol) {
                of_symbol.insert(at as u32 + 1, piece);
                content.insert(at as u32 + 1, codes);
            }
        }
        parts.element(&format!("code-{piece}"), &serde_json::to_vec(&content)?)?;
    }
    Ok(of_symbol)
}

/// The page around its data.
struct Parts<'a, W: Write> {
    out: &'a mut W,
    rest: String,
}

impl<'a, W: Write> Parts<'a, W> {
    fn new(facts: &Facts, out: &'a mut W) -> io::Result<Parts<'a, W>> {
        let script = SCRIPTS.concat();
        let hash = |text: &str| STANDARD.encode(Sha256::digest(text.as_bytes()));
        let policy = format!(
            "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
            hash(&script),
            hash(STYLE)
        );
        let (head, rest) =
            SKELETON.split_once("{{data}}\n").ok_or_else(|| io::Error::other("assets/page.html has no {{data}}"))?;
        let head = head.replace("{{policy}}", &policy).replace("{{style}}", STYLE).replace("{{title}}", &escaped(&facts.title));
        out.write_all(head.as_bytes())?;
        Ok(Parts { out, rest: rest.replace("{{script}}", &script) })
    }

    fn element(&mut self, id: &str, bytes: &[u8]) -> io::Result<()> {
        element(self.out, id, bytes)
    }

    fn finish(self) -> io::Result<()> {
        self.out.write_all(self.rest.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_lead_from_context_to_context() {
        // 0 ─ 1 ─ 2, 1 ─ 3, 0 ─ 4
        assert_eq!(steps(&[0, 0, 1, 1, 0]), [0, 0, 1, 2]);
    }

    #[test]
    fn all_code_of_a_name_is_in_one_piece() {
        let symbol = |method: &str| Symbol { class: "A".into(), method: method.into(), descriptor: "()V".into(), native: false };
        let code = |method| Code {
            symbol: symbol(method),
            cycles: vec![],
            whole: vec![],
            variant: (1, 1),
            rows: vec![],
            source: None,
            notes: vec![],
        };
        let mut codes: Vec<Code> = (0..3 * METHODS_PER_PIECE).map(|_| code("many")).chain([code("other")]).collect();
        let mut out = Vec::new();
        let facts = Facts::default();
        let mut parts = Parts::new(&facts, &mut out).unwrap();
        let pieces = write_codes(&mut parts, &["", "many", "other"].map(symbol), &mut codes).unwrap();
        assert_eq!(pieces, BTreeMap::from([(1, 0), (2, 0)]));
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("id=\"code-0\"") && !text.contains("id=\"code-1\""));
    }

    #[test]
    fn the_scripts_do_not_end_their_element() {
        assert!(SCRIPTS.iter().all(|s| !s.contains("</script") && !s.contains("<!--")));
        assert!(!STYLE.contains("</style"));
    }

    #[test]
    fn a_title_is_text() {
        let facts = Facts { title: "</title><script>{{data}}".to_owned(), ..Facts::default() };
        let mut out = Vec::new();
        Page::new(false, Vec::new()).write(&facts, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("<title>&lt;/title&gt;&lt;script&gt;{{data}} · cprof</title>"), "{}", &text[..2000]);
    }
}
