//! pprof's format: profile.proto, compressed with gzip.
//!
//! - Every metric of the sheet is a sample type, counted in `count`; `bytecodes` is the one shown first.
//! - Every context in which something was counted is a sample of its own, so stacks are as they were.
//! - A caller's location has the line of the call where call sites were distinguished, else the method's first line; so has the
//!   method at the top, whose own bytecodes are on several lines. With costs [by line](ByLine) of contexts, each of these lines
//!   is a sample of its own.
//! - A method's name is that of [`crate::names`], its system name as the JVM has it. Samples have the thread's label as the label
//!   `thread`.
//!
//! A sample repeats the locations of all callers, so the size before compression is the sum of the depths of all contexts. In
//! memory are one stack, the locations and the names.

pub mod proto;
mod stack;

use crate::names;
use crate::source::Frame;
use crate::{ByLine, Source};
use cprof_profile::tree::{Visit, What};
use flate2::Compression;
use flate2::write::GzEncoder;
use prost::Message;
use prost::encoding::{encode_varint, encoded_len_varint};
use rustc_hash::FxHashMap;
use stack::Stack;
use std::io::{self, Write};
use std::rc::Rc;

/// How much is encoded before it is compressed: many samples.
const BUFFER: usize = 1 << 16;

/// Texts by number; 0 is the empty one.
struct Texts {
    list: Vec<String>,
    numbers: FxHashMap<String, i64>,
}

impl Texts {
    fn new() -> Texts {
        Texts { list: vec![String::new()], numbers: FxHashMap::from_iter([(String::new(), 0)]) }
    }

    fn number(&mut self, text: &str) -> i64 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.list.len() as i64;
        self.list.push(text.to_owned());
        self.numbers.insert(text.to_owned(), number);
        number
    }
}

/// A line of a method; in a file other than the method's, of which some versions may be from another.
type Place = (Frame, Option<Rc<str>>, u32);

/// Locations by number, from 1.
#[derive(Default)]
struct Locations {
    list: Vec<Place>,
    numbers: FxHashMap<Place, u64>,
}

impl Locations {
    fn number(&mut self, frame: Frame, file: Option<Rc<str>>, line: u32) -> u64 {
        *self.numbers.entry((frame, file, line)).or_insert_with_key(|place| {
            self.list.push(place.clone());
            self.list.len() as u64
        })
    }
}

/// Writes all metrics of the sheet, own costs of contexts `by_line`.
pub fn write(source: &Source, by_line: &ByLine, out: &mut dyn Write) -> io::Result<()> {
    let mut out = GzEncoder::new(out, Compression::fast());
    let mut texts = Texts::new();
    out.write_all(&head(source, &mut texts).encode_to_vec())?;
    let locations = samples(source, by_line, &mut texts, &mut out)?;
    out.write_all(&tail(source, texts, &locations).encode_to_vec())?;
    out.finish()?.flush()
}

/// What the numbers are of.
fn head(source: &Source, texts: &mut Texts) -> proto::Profile {
    let (sheet, run) = (&source.sheet, &source.sheet.profile.run);
    let sample_type = |m: &cprof_profile::metrics::Metric, texts: &mut Texts| proto::ValueType {
        r#type: texts.number(&m.name),
        // As pprof's own profiles have it; any other unit pprof writes behind each number.
        unit: texts.number("count"),
    };
    let sample_types: Vec<_> = sheet.metrics.iter().map(|m| sample_type(m, texts)).collect();
    let first = sheet.metrics.iter().find(|m| m.name == "bytecodes").or(sheet.metrics.first());
    let vm = format!("{} {}", run.jvm_vendor, run.jvm_version);
    let mut comments = vec![concat!("exported by cprof ", env!("CARGO_PKG_VERSION")).to_owned(), vm.trim().to_owned()];
    if !run.options.is_empty() {
        comments.push(format!("options: {}", run.options));
    }
    comments.extend(run.taken.caution().map(str::to_owned));
    comments.extend(sheet.profile.warnings.iter().cloned());
    // From the first run's beginning to the last one's end is no time that anything took.
    let took = if sheet.profile.runs.is_empty() { run.ended_ms.saturating_sub(run.started_ms) } else { 0 };
    proto::Profile {
        sample_type: sample_types,
        default_sample_type: first.map_or(0, |m| texts.number(&m.name)),
        time_nanos: (run.started_ms as i64).saturating_mul(1_000_000),
        duration_nanos: (took as i64).saturating_mul(1_000_000),
        comment: comments.iter().map(|c| texts.number(c)).collect(),
        ..proto::Profile::default()
    }
}

/// Writes a sample per context, or per line of it.
fn samples(source: &Source, by_line: &ByLine, texts: &mut Texts, out: &mut dyn Write) -> io::Result<Locations> {
    let sheet = &source.sheet;
    let key = texts.number("thread");
    let labels = source.labels().map(|label| proto::Label { key, str: texts.number(label), num: 0 });
    let labels: Vec<Vec<u8>> = labels.map(|label| label.encode_to_vec()).collect();
    let mut locations = Locations::default();
    let (mut stack, mut thread) = (Stack::default(), 0);
    let mut buffer: Vec<u8> = Vec::with_capacity(2 * BUFFER);
    let (mut own, mut values): (Vec<u64>, Vec<u8>) = (Vec::new(), Vec::new());
    source.walk(0, 1, |step| {
        let (context, enter) = match step {
            Visit::Enter { context, .. } => (context, true),
            Visit::Leave { context } => (context, false),
        };
        if let Some(t) = source.thread(context) {
            thread = t;
            return Ok(());
        }
        let caller = source.context(context).parent;
        let called = source.context(caller).what != What::Root;
        if !enter {
            if called {
                stack.pop();
            }
            return Ok(());
        }
        if called {
            let frame = source.frame(caller);
            let line = source.places.call_line(sheet.tree, context);
            stack.push(locations.number(frame, None, line.unwrap_or_else(|| source.places.first_line(frame))));
        }
        if sheet.metrics.iter().all(|m| m.own.get(context as usize) == 0) {
            return Ok(());
        }
        own.clear();
        own.extend(sheet.metrics.iter().map(|m| m.own.get(context as usize)));
        let frame = source.frame(context);
        let mut write = |file, line, costs: &[u64]| {
            values.clear();
            costs.iter().for_each(|&cost| encode_varint(cost, &mut values));
            sample(locations.number(frame, file, line), &stack, &values, &labels[thread], &mut buffer);
        };
        if by_line.is_empty() {
            write(None, source.places.first_line(frame), &own);
        } else {
            let place = source.places.of(frame);
            let lines = by_line.of(Some(context), (&place.file, place.line), sheet.metrics, &own);
            let some = lines.into_iter().filter(|line| line.costs.iter().any(|&cost| cost > 0));
            some.for_each(|line| write(line.file, line.number, &line.costs));
        }
        if buffer.len() >= BUFFER {
            out.write_all(&buffer)?;
            buffer.clear();
        }
        Ok(())
    })?;
    out.write_all(&buffer)?;
    Ok(locations)
}

/// Appends `Profile.sample`, a `Sample`: location ids, values, label.
fn sample(top: u64, callers: &Stack, values: &[u8], label: &[u8], to: &mut Vec<u8>) {
    /// A field with a length: its number, shifted by three, and wire type 2.
    const fn key(field: u64) -> u64 {
        field << 3 | 2
    }
    let field = |length: usize| 1 + encoded_len_varint(length as u64) + length;
    let locations = encoded_len_varint(top) + callers.bytes().len();
    encode_varint(key(2), to);
    encode_varint((field(locations) + field(values.len()) + field(label.len())) as u64, to);
    encode_varint(key(1), to);
    encode_varint(locations as u64, to);
    encode_varint(top, to);
    to.extend_from_slice(callers.bytes());
    for (number, content) in [(2, values), (3, label)] {
        encode_varint(key(number), to);
        encode_varint(content.len() as u64, to);
        to.extend_from_slice(content);
    }
}

/// What samples refer to.
fn tail(source: &Source, mut texts: Texts, locations: &Locations) -> proto::Profile {
    let mut functions: FxHashMap<(Frame, Option<&str>), proto::Function> = FxHashMap::default();
    let mut elsewhere = source.frames() as u64;
    for (frame, file, _) in &locations.list {
        functions.entry((*frame, file.as_deref())).or_insert_with(|| {
            let frame = *frame;
            let place = source.places.of(frame);
            let name = source.name(frame);
            // Where both names are the same, pprof may take the name for one of C++ and cut it.
            let system = source.symbol(frame).map_or_else(|| name.clone(), names::internal);
            proto::Function {
                id: match file {
                    None => u64::from(frame.0) + 1,
                    Some(_) => {
                        elsewhere += 1;
                        elsewhere
                    }
                },
                name: texts.number(&name),
                system_name: texts.number(&system),
                filename: texts.number(file.as_deref().unwrap_or(&place.file)),
                start_line: if file.is_none() { i64::from(place.line) } else { 0 },
            }
        });
    }
    let location = |(i, (frame, file, line)): (usize, &Place)| proto::Location {
        id: i as u64 + 1,
        mapping_id: 1,
        line: vec![proto::Line { function_id: functions[&(*frame, file.as_deref())].id, line: i64::from(*line) }],
    };
    let location = locations.list.iter().enumerate().map(location).collect();
    let mut functions: Vec<proto::Function> = functions.into_values().collect();
    functions.sort_unstable_by_key(|f| f.id);
    let mapping = proto::Mapping {
        id: 1,
        filename: texts.number(source.title()),
        has_functions: true,
        has_filenames: true,
        has_line_numbers: true,
    };
    proto::Profile {
        mapping: vec![mapping],
        location,
        function: functions,
        string_table: texts.list,
        ..proto::Profile::default()
    }
}
