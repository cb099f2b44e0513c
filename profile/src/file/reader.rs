//! Reading, with every length, number and reference checked.

use super::ReadError;
use super::columns::ColumnReader;
use super::header::{Counts, ENTRY, FORMAT, Header, VERSION};
use crate::cache::CacheSpec;
use crate::flow::{Block, Edge, Flow, kind_from_number};
use crate::model::{
    Class, Counters, Departure, DepartureKind, Method, Misses, Native, NativeSite, Nodes, Profile, Thread, level_from_number,
    special,
};
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use zip::ZipArchive;

/// Reads a profile.
pub fn read(path: &Path) -> Result<Profile, ReadError> {
    let io = |error| ReadError::Io { path: path.to_owned(), error };
    let file = File::open(path).map_err(io)?;
    let kind = file.metadata().map_err(io)?;
    if !kind.is_file() {
        let what =
            if kind.is_dir() { "it is a directory" } else { "it is a pipe or a device, and profiles are read back and forth" };
        return Err(ReadError::Foreign { path: path.to_owned(), found: what.into() });
    }
    read_from(BufReader::new(file), path)
}

/// Bytes of a zip's last record, which ends its directory (APPNOTE 4.3.16), of one without a comment, as profiles are.
const END_OF_DIRECTORY: u64 = 22;

/// Reads a profile from anything; `path` is for messages.
pub fn read_from<R: Read + Seek>(mut source: R, path: &Path) -> Result<Profile, ReadError> {
    let io = |error| ReadError::Io { path: path.to_owned(), error };
    let mut start = Vec::new();
    source.rewind().map_err(io)?;
    source.by_ref().take(64).read_to_end(&mut start).map_err(io)?;
    let size = source.seek(SeekFrom::End(0)).map_err(io)?;
    let foreign = |found: String| ReadError::Foreign { path: path.to_owned(), found };
    let named = start.get(30..30 + ENTRY.len()) == Some(ENTRY.as_bytes());
    if !start.starts_with(b"PK\x03\x04") || !named {
        return Err(foreign(describe(&start)));
    }
    let mut end = Vec::new();
    source.seek(SeekFrom::Start(size.saturating_sub(END_OF_DIRECTORY))).map_err(io)?;
    source.by_ref().take(4).read_to_end(&mut end).map_err(io)?;
    let zip = ZipArchive::new(source).map_err(|e| match &end[..] {
        b"PK\x05\x06" => ReadError::Damaged { path: path.to_owned(), what: format!("its directory cannot be read: {e}") },
        _ => ReadError::Truncated { path: path.to_owned(), bytes: size },
    })?;
    let mut r = ColumnReader::new(zip, path);
    let header = r.bytes(ENTRY, size)?;
    let header: Header = match serde_json::from_slice(&header) {
        Ok(header) => header,
        Err(e) => return Err(later(&header, path).unwrap_or_else(|| r.damaged(format!("its header {ENTRY}: {e}")))),
    };
    if header.format != FORMAT {
        return Err(foreign(format!("its header says {:?}", header.format)));
    }
    if header.version != VERSION {
        let written_by = header.written_by;
        return Err(ReadError::Version { path: path.to_owned(), found: header.version, reads: VERSION, written_by });
    }
    if !header.needs.is_empty() {
        return Err(ReadError::Needs { path: path.to_owned(), needs: header.needs, written_by: header.written_by });
    }
    contents(&mut r, header)
}

/// What a file that is no profile seems to be.
fn describe(start: &[u8]) -> String {
    let kinds: [(&[u8], &str); 6] = [
        (b"PK", "a zip or jar of something else"),
        (b"\x1f\x8b", "gzip data"),
        (b"\x7fELF", "an ELF program or library"),
        (b"\xca\xfe\xba\xbe", "a Java class file"),
        (b"FLR\0", "a JDK Flight Recorder file"),
        (b"JAVA PROFILE", "a Java heap dump"),
    ];
    if start.is_empty() {
        return "it is empty".into();
    }
    let kind = kinds.iter().find(|(magic, _)| start.starts_with(magic));
    match (kind, std::str::from_utf8(start)) {
        (Some((_, what)), _) => format!("it is {what}"),
        (None, Ok(text)) if !text.contains('\0') => {
            format!("it begins with the text {:?}", text.chars().take(20).collect::<String>())
        }
        _ => format!("it begins with the bytes {:02x?}", &start[..start.len().min(8)]),
    }
}

/// A later version may have another header, and one that needs more may have more in it; the version and what is needed must stay
/// where they are.
fn later(header: &[u8], path: &Path) -> Option<ReadError> {
    let header: serde_json::Value = serde_json::from_slice(header).ok()?;
    let found = u32::try_from(header.get("version")?.as_u64()?).ok()?;
    let written_by = header.get("written_by").and_then(|w| w.as_str()).unwrap_or("of a later version").to_owned();
    if found != VERSION {
        return Some(ReadError::Version { path: path.to_owned(), found, reads: VERSION, written_by });
    }
    let needs = header.get("needs")?.as_array()?.iter().filter_map(|need| need.as_str().map(str::to_owned));
    let needs: Vec<String> = needs.collect();
    (!needs.is_empty()).then(|| ReadError::Needs { path: path.to_owned(), needs, written_by })
}

fn contents<R: Read + Seek>(r: &mut ColumnReader<'_, R>, header: Header) -> Result<Profile, ReadError> {
    let Counts { strings, classes, methods, blocks, edges, natives, native_sites, threads, nodes, departures, gaps } =
        header.counts;
    let mut strings = Strings::read(r, strings as usize)?;
    let mut profile = Profile { run: header.run, runs: header.runs, warnings: header.warnings, ..Profile::default() };
    let gap_list = r.bytes("gaps.json", MOST_TEXT)?;
    profile.gaps = serde_json::from_slice(&gap_list).map_err(|e| r.damaged(format!("its entry gaps.json: {e}")))?;
    if profile.gaps.len() != gaps as usize {
        return Err(r.damaged(format!("it has {} gaps where its header says {gaps}", profile.gaps.len())));
    }
    profile.classes = read_classes(r, &mut strings, classes as usize)?;
    let mut flows = read_flows(r, methods as usize, blocks as usize, edges as usize)?.into_iter();
    let class: Vec<u32> = r.column("methods/class.u32", methods as usize)?;
    let index: Vec<u16> = r.column("methods/index.u16", methods as usize)?;
    let name = strings.column(r, "methods/name.u32", methods as usize)?;
    let descriptor = strings.column(r, "methods/descriptor.u32", methods as usize)?;
    let access: Vec<u16> = r.column("methods/access.u16", methods as usize)?;
    let level: Vec<u8> = r.column("methods/level.u8", methods as usize)?;
    for (i, (name, descriptor)) in name.into_iter().zip(descriptor).enumerate() {
        let (Some(level), Some(flow), true) = (level_from_number(level[i]), flows.next(), class[i] < classes) else {
            return Err(r.damaged(format!("its method {i} has a class or level that does not exist")));
        };
        profile.methods.push(Method { class: class[i], index: index[i], name, descriptor, access: access[i], level, flow });
    }
    let class = strings.column(r, "natives/class.u32", natives as usize)?;
    let name = strings.column(r, "natives/name.u32", natives as usize)?;
    let descriptor = strings.column(r, "natives/descriptor.u32", natives as usize)?;
    for ((class, name), descriptor) in class.into_iter().zip(name).zip(descriptor) {
        profile.natives.push(Native { class, name, descriptor });
    }
    profile.native_sites = read_native_sites(r, native_sites as usize, methods, natives)?;
    profile.threads = read_threads(r, &mut strings, threads as usize)?;
    profile.nodes = read_nodes(r, &profile, nodes as usize)?;
    profile.departures = read_departures(r, departures as usize, nodes)?;
    profile.caches = header.caches;
    profile.misses = read_misses(r, &profile.caches, nodes)?;
    Ok(profile)
}

/// Bytes of all names together: some tens of millions of methods' names. A file has each text once and may refer to it often, so
/// that a few kilobytes would otherwise take all memory that there is.
const MOST_TEXT: u64 = 1 << 30;

struct Strings {
    text: String,
    /// Where each begins, and the end of the last.
    starts: Vec<usize>,
    /// Bytes that may still be copied.
    left: u64,
}

impl Strings {
    fn read<R: Read + Seek>(r: &mut ColumnReader<'_, R>, count: usize) -> Result<Strings, ReadError> {
        let sizes: Vec<u32> = r.column("strings/size.u32", count)?;
        let text = r.bytes("strings/text.utf8", MOST_TEXT)?;
        let text = String::from_utf8(text).map_err(|_| r.damaged("its texts are not UTF-8"))?;
        let mut starts = vec![0];
        let mut at = 0usize;
        for size in sizes {
            at = at.saturating_add(size as usize);
            if !text.is_char_boundary(at) {
                return Err(r.damaged("its texts do not have the sizes they should have"));
            }
            starts.push(at);
        }
        if at != text.len() {
            return Err(r.damaged("its texts do not have the sizes they should have"));
        }
        Ok(Strings { text, starts, left: MOST_TEXT })
    }

    fn get(&self, number: u32) -> Option<&str> {
        let number = number as usize;
        Some(&self.text[*self.starts.get(number)?..*self.starts.get(number + 1)?])
    }

    fn column<R: Read + Seek>(
        &mut self,
        r: &mut ColumnReader<'_, R>,
        name: &str,
        count: usize,
    ) -> Result<Vec<String>, ReadError> {
        let numbers: Vec<u32> = r.column(name, count)?;
        let texts: Option<Vec<&str>> = numbers.into_iter().map(|n| self.get(n)).collect();
        let texts = texts.ok_or_else(|| r.damaged(format!("its entry {name} refers to a text that does not exist")))?;
        let size: u64 = texts.iter().map(|text| text.len() as u64).sum();
        let left = self.left.checked_sub(size);
        let left = left.ok_or_else(|| r.damaged(format!("with its entry {name} its names have more than {MOST_TEXT} bytes")))?;
        let texts = texts.into_iter().map(str::to_owned).collect();
        self.left = left;
        Ok(texts)
    }
}

fn read_classes<R: Read + Seek>(
    r: &mut ColumnReader<'_, R>,
    strings: &mut Strings,
    count: usize,
) -> Result<Vec<Class>, ReadError> {
    let name = strings.column(r, "classes/name.u32", count)?;
    let loader = strings.column(r, "classes/loader.u32", count)?;
    let source = strings.column(r, "classes/source.u32", count)?;
    let hidden: Vec<u8> = r.column("classes/hidden.u8", count)?;
    let sizes: Vec<u32> = r.column("classes/size.u32", count)?;
    let total: u64 = sizes.iter().map(|&s| u64::from(s)).sum();
    let all = r.bytes("classes/bytes.bin", total)?;
    if all.len() as u64 != total {
        return Err(r.damaged(format!("its classes have {} bytes where they should have {total}", all.len())));
    }
    let mut rest = &all[..];
    let mut classes = Vec::with_capacity(count);
    let texts = name.into_iter().zip(loader).zip(source);
    for (((name, loader), source_file), (size, hidden)) in texts.zip(sizes.into_iter().zip(hidden)) {
        let (bytes, after) = rest.split_at(size as usize);
        rest = after;
        classes.push(Class { name, loader, hidden: hidden != 0, source_file, bytes: bytes.to_vec() });
    }
    Ok(classes)
}

fn read_flows<R: Read + Seek>(
    r: &mut ColumnReader<'_, R>,
    methods: usize,
    blocks: usize,
    edges: usize,
) -> Result<Vec<Flow>, ReadError> {
    let counters: Vec<u16> = r.column("methods/counters.u16", methods)?;
    let block_counts: Vec<u16> = r.column("methods/blocks.u16", methods)?;
    let edge_counts: Vec<u32> = r.column("methods/edges.u32", methods)?;
    let start: Vec<u16> = r.column("blocks/start.u16", blocks)?;
    let end: Vec<u16> = r.column("blocks/end.u16", blocks)?;
    let from: Vec<u16> = r.column("edges/from.u16", edges)?;
    let to: Vec<u16> = r.column("edges/to.u16", edges)?;
    let kind: Vec<u8> = r.column("edges/kind.u8", edges)?;
    let counter: Vec<u16> = r.column("edges/counter.u16", edges)?;
    let mut block_rows = start.into_iter().zip(end).map(|(s, e)| Block { start: s.into(), end: e.into() });
    let mut edge_rows = from.into_iter().zip(to).zip(kind.into_iter().zip(counter)).map(|((from, to), (kind, counter))| {
        let counter = (counter != u16::MAX).then_some(counter);
        kind_from_number(kind).map(|kind| Edge { from: from.into(), to: to.into(), kind, counter })
    });
    let mut flows = Vec::with_capacity(methods);
    for (m, counters) in counters.into_iter().enumerate() {
        let blocks: Vec<Block> = block_rows.by_ref().take(block_counts[m] as usize).collect();
        let edges: Option<Vec<Edge>> = edge_rows.by_ref().take(edge_counts[m] as usize).collect();
        let edges = edges.ok_or_else(|| r.damaged(format!("an edge of method {m} is of a kind that does not exist")))?;
        let flow = Flow { blocks, edges, counters };
        if flow.blocks.len() != block_counts[m] as usize || flow.edges.len() != edge_counts[m] as usize {
            return Err(r.damaged("it has fewer blocks or edges than its methods say"));
        }
        flow.validate().map_err(|e| r.damaged(format!("the flow of method {m}: {e}")))?;
        flows.push(flow);
    }
    if block_rows.next().is_some() || edge_rows.next().is_some() {
        return Err(r.damaged("it has more blocks or edges than its methods say"));
    }
    Ok(flows)
}

fn read_native_sites<R: Read + Seek>(
    r: &mut ColumnReader<'_, R>,
    count: usize,
    methods: u32,
    natives: u32,
) -> Result<Vec<NativeSite>, ReadError> {
    let method: Vec<u32> = r.column("native_sites/method.u32", count)?;
    let bci: Vec<u16> = r.column("native_sites/bci.u16", count)?;
    let native: Vec<u32> = r.column("native_sites/native.u32", count)?;
    let dynamic: Vec<u8> = r.column("native_sites/dynamic.u8", count)?;
    let sites =
        (0..count).map(|i| NativeSite { method: method[i], bci: bci[i].into(), native: native[i], dynamic: dynamic[i] != 0 });
    let sites: Vec<NativeSite> = sites.collect();
    if !sites.is_sorted_by_key(|s| (s.method, s.bci)) || sites.iter().any(|s| s.method >= methods || s.native >= natives) {
        return Err(r.damaged("its native call sites are out of order, or refer to methods that do not exist"));
    }
    Ok(sites)
}

fn read_threads<R: Read + Seek>(
    r: &mut ColumnReader<'_, R>,
    strings: &mut Strings,
    count: usize,
) -> Result<Vec<Thread>, ReadError> {
    let name = strings.column(r, "threads/name.u32", count)?;
    let flags: Vec<u8> = r.column("threads/flags.u8", count)?;
    let leases: Vec<u32> = r.column("threads/leases.u32", count)?;
    let first: Vec<u32> = r.column("threads/first_node.u32", count)?;
    let thread = |(i, name)| Thread {
        name,
        similar_names: flags[i] & 1 != 0,
        other_names: flags[i] & 2 != 0,
        virtual_threads: flags[i] & 4 != 0,
        leases: leases[i],
        first_node: first[i],
    };
    Ok(name.into_iter().enumerate().map(thread).collect())
}

fn read_nodes<R: Read + Seek>(r: &mut ColumnReader<'_, R>, profile: &Profile, count: usize) -> Result<Nodes, ReadError> {
    let method = r.small("nodes/method.leb128", count)?;
    let mut parent = r.small("nodes/parent_distance.leb128", count)?;
    for (i, parent) in parent.iter_mut().enumerate() {
        // A distance beyond the first node becomes a parent that does not exist, which is refused below.
        *parent = (i as u32).checked_sub(*parent).unwrap_or(u32::MAX);
    }
    if r.has("nodes/site.leb128") != profile.run.sites {
        return Err(r.damaged("its header and its columns disagree on whether call sites are distinguished"));
    }
    let site = if profile.run.sites { r.small("nodes/site.leb128", count)? } else { Vec::new() };
    let mut threads = profile.threads.iter().peekable();
    let mut first = 0;
    let mut numbers = 0u64;
    for (i, (&method, &parent)) in method.iter().zip(&parent).enumerate() {
        let node = i as u32;
        let begins = threads.next_if(|t| t.first_node == node).is_some();
        if begins {
            first = node;
        }
        let fits =
            if method == special::ROOT { begins && parent == node } else { !begins && i > 0 && parent >= first && parent < node };
        let Some(counters) = counters_of(profile, method).filter(|_| fits) else {
            return Err(r.damaged(format!("its context {i} has a method or parent that does not exist")));
        };
        numbers += u64::from(counters);
    }
    if threads.next().is_some() {
        return Err(r.damaged("it has threads without contexts"));
    }
    if !profile.run.folded && method.contains(&special::FOLDED) {
        return Err(r.damaged("its header and its contexts disagree on whether some are folded"));
    }
    let bytes = r.packed_bytes("nodes/counters.leb128", numbers)?;
    let counters = Counters::new(bytes, &profile.methods, &method);
    let counters = counters.map_err(|why| r.not_packed("nodes/counters.leb128", numbers, why))?;
    Ok(Nodes { method, parent, site, counters })
}

fn read_misses<R: Read + Seek>(r: &mut ColumnReader<'_, R>, caches: &[CacheSpec], nodes: u32) -> Result<Vec<Misses>, ReadError> {
    let mut outcomes = Vec::new();
    for (i, cache) in caches.iter().enumerate() {
        if let Some(problem) = cache.problem() {
            return Err(r.damaged(format!("its method cache {i} cannot be: {problem}")));
        }
        if caches[..i].contains(cache) {
            return Err(r.damaged(format!("its method cache {cache} is there twice")));
        }
        let entry = r.packed(&format!("misses/{i}/entry.leb128"), nodes.into())?;
        let returns = r.packed(&format!("misses/{i}/return.leb128"), nodes.into())?;
        outcomes.push(Misses { entry, returns });
    }
    Ok(outcomes)
}

fn counters_of(profile: &Profile, method: u32) -> Option<u16> {
    match profile.methods.get(method as usize) {
        Some(method) => Some(method.flow.counters),
        None => (method >= special::FIRST).then_some(0),
    }
}

fn read_departures<R: Read + Seek>(r: &mut ColumnReader<'_, R>, count: usize, nodes: u32) -> Result<Vec<Departure>, ReadError> {
    let node: Vec<u32> = r.column("departures/node.u32", count)?;
    let bci: Vec<u16> = r.column("departures/bci.u16", count)?;
    let kind: Vec<u8> = r.column("departures/kind.u8", count)?;
    let number: Vec<i64> = r.column("departures/count.i64", count)?;
    let departure = |i: usize| {
        let kind = DepartureKind::from_number(kind[i])?;
        (node[i] < nodes).then_some(Departure { node: node[i], bci: bci[i].into(), kind, count: number[i] })
    };
    let departures: Option<Vec<Departure>> = (0..count).map(departure).collect();
    let departures = departures.filter(|d| d.is_sorted_by_key(|d| d.node));
    departures.ok_or_else(|| r.damaged("its departures are out of order, or refer to contexts that do not exist"))
}
