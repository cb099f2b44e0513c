//! Writing.

use super::columns::{ColumnWriter, FAST};
use super::header::{ENTRY, Header};
use super::{WriteError, beyond_standard_streams};
use crate::flow::kind_number;
use crate::model::{Profile, level_number};
use rustc_hash::FxHashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Cursor, Seek, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// Up to so many bytes of classes are not compressed: that takes 12 ms for the 3 MB of a program that does next to nothing, an
/// eighth of the time the whole program takes, and saves a disk 1.7 MB.
const STORED_CLASSES: usize = 4 << 20;

/// Bytes written at a time: few enough that memory is not fresh each time, which the kernel is slow to give.
const BUFFER: usize = 128 << 10;

/// How long a pipe's reader is waited for.
const READER: Duration = Duration::from_secs(3);

/// Writes a profile to a temporary name beside `path`, then renames it; devices and pipes, which nothing may replace, are written
/// to. Answers the number of bytes.
pub fn write(path: &Path, profile: &Profile) -> Result<u64, WriteError> {
    let fail = |e| WriteError::new(path.to_owned(), e);
    if let Some(stream) = stream(path).map_err(fail)? {
        return write_within(stream, profile).map_err(fail);
    }
    may_replace(path).map_err(fail)?;
    let (temporary, file) = temporary(path).map_err(fail)?;
    let written = (|| {
        let file = beyond_standard_streams(file)?;
        let out = write_to(BufWriter::with_capacity(BUFFER, file), profile)?;
        let size = out.into_inner().map_err(io::IntoInnerError::into_error)?.metadata()?.len();
        fs::rename(&temporary, path)?;
        Ok(size)
    })();
    written.map_err(|e| {
        // The first failure is the one to report; what is left behind would be no profile.
        let _ = fs::remove_file(&temporary);
        fail(e)
    })
}

/// That a file, if there is one, may be written: who protected it does not want another in its place either. (A link is replaced,
/// whatever it leads to.)
fn may_replace(path: &Path) -> io::Result<()> {
    match OpenOptions::new().write(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path) {
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => Err(e),
        _ => Ok(()),
    }
}

/// The device or pipe that a path leads to, open; `None`: it leads to none. Links to files are replaced, not followed, since agents
/// of privileged programs write to directories where others may put one; for the same reason another user's pipe, at which they
/// would wait for a reader, is refused. What is asked about is what is opened, whatever the path leads to by then.
fn stream(path: &Path) -> io::Result<Option<File>> {
    let Ok(found) = OpenOptions::new().read(true).custom_flags(libc::O_PATH).open(path) else { return Ok(None) };
    let target = found.metadata()?;
    // /dev/stdout is a link, and may lead to a file.
    let in_dev = path.starts_with("/dev") && !path.starts_with("/dev/shm");
    if target.is_dir() || target.is_file() && !in_dev {
        return Ok(None);
    }
    let is_pipe = target.file_type().is_fifo();
    if is_pipe && target.uid() != fs::metadata("/proc/self")?.uid() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is another user's pipe"));
    }
    let again = format!("/proc/self/fd/{}", found.as_raw_fd());
    let opened = if is_pipe { read_by_somebody(&again) } else { OpenOptions::new().write(true).open(again) };
    opened.map(Some)
}

/// Opens a pipe that has a reader by now or soon. Who opens one otherwise waits for a reader, with a JVM that would end.
fn read_by_somebody(pipe: &str) -> io::Result<File> {
    let begin = Instant::now();
    loop {
        match OpenOptions::new().write(true).custom_flags(libc::O_NONBLOCK).open(pipe) {
            Err(e) if e.raw_os_error() == Some(libc::ENXIO) && begin.elapsed() < READER => {
                thread::sleep(Duration::from_millis(20))
            }
            Err(e) if e.raw_os_error() == Some(libc::ENXIO) => return Err(io::Error::other("it is a pipe that nobody reads")),
            other => return other,
        }
    }
}

/// A zip cannot be written from front to end, so it is complete before the first byte of it goes anywhere.
fn write_within(mut stream: File, profile: &Profile) -> io::Result<u64> {
    let bytes = write_to(Cursor::new(Vec::new()), profile)?.into_inner();
    let mut rest = &bytes[..];
    while !rest.is_empty() {
        match stream.write(rest) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => rest = &rest[written..],
            // A pipe that is full.
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => thread::sleep(Duration::from_millis(1)),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(bytes.len() as u64)
}

fn temporary(path: &Path) -> io::Result<(PathBuf, File)> {
    let name = path.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "it names no file"))?;
    for attempt in 0.. {
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}-{attempt}", std::process::id()));
        let temporary = path.with_file_name(hidden);
        match OpenOptions::new().write(true).create_new(true).open(&temporary) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && attempt < 100 => {}
            other => return other.map(|file| (temporary, file)),
        }
    }
    unreachable!("the loop ends by returning")
}

/// Texts by number, each once.
#[derive(Default)]
struct Strings<'p> {
    numbers: FxHashMap<&'p str, u32>,
    list: Vec<&'p str>,
}

impl<'p> Strings<'p> {
    fn number(&mut self, text: &'p str) -> u32 {
        *self.numbers.entry(text).or_insert_with(|| {
            self.list.push(text);
            self.list.len() as u32 - 1
        })
    }

    fn column<T>(&mut self, items: &'p [T], text: impl Fn(&'p T) -> &'p str) -> Vec<u32> {
        items.iter().map(|i| self.number(text(i))).collect()
    }
}

/// Writes a profile to a sink, from its beginning, and gives the sink back.
pub fn write_to<W: Write + Seek>(out: W, profile: &Profile) -> io::Result<W> {
    let p = profile;
    let mut strings = Strings::default();
    let class_name = strings.column(&p.classes, |c| &c.name);
    let class_loader = strings.column(&p.classes, |c| &c.loader);
    let class_source = strings.column(&p.classes, |c| &c.source_file);
    let method_name = strings.column(&p.methods, |m| &m.name);
    let method_descriptor = strings.column(&p.methods, |m| &m.descriptor);
    let native_class = strings.column(&p.natives, |n| &n.class);
    let native_name = strings.column(&p.natives, |n| &n.name);
    let native_descriptor = strings.column(&p.natives, |n| &n.descriptor);
    let thread_name = strings.column(&p.threads, |t| &t.name);
    let texts: String = strings.list.concat();

    let mut w = ColumnWriter::new(out);
    let header = serde_json::to_vec_pretty(&Header::of(p, strings.list.len()))?;
    w.bytes(ENTRY, &header, None)?;
    w.bytes("gaps.json", &serde_json::to_vec(&p.gaps)?, Some(FAST))?;
    w.column("strings/size.u32", strings.list.iter().map(|s| s.len() as u32))?;
    w.bytes("strings/text.utf8", texts.as_bytes(), Some(FAST))?;

    w.column("classes/name.u32", class_name.into_iter())?;
    w.column("classes/loader.u32", class_loader.into_iter())?;
    w.column("classes/source.u32", class_source.into_iter())?;
    w.column("classes/hidden.u8", p.classes.iter().map(|c| u8::from(c.hidden)))?;
    w.column("classes/size.u32", p.classes.iter().map(|c| c.bytes.len() as u32))?;
    let size: usize = p.classes.iter().map(|c| c.bytes.len()).sum();
    let level = (size > STORED_CLASSES).then_some(FAST);
    w.parts("classes/bytes.bin", size, p.classes.iter().map(|c| &c.bytes[..]), level)?;

    w.column("methods/class.u32", p.methods.iter().map(|m| m.class))?;
    w.column("methods/index.u16", p.methods.iter().map(|m| m.index))?;
    w.column("methods/name.u32", method_name.into_iter())?;
    w.column("methods/descriptor.u32", method_descriptor.into_iter())?;
    w.column("methods/access.u16", p.methods.iter().map(|m| m.access))?;
    w.column("methods/level.u8", p.methods.iter().map(|m| level_number(m.level)))?;
    w.column("methods/counters.u16", p.methods.iter().map(|m| m.flow.counters))?;
    w.column("methods/blocks.u16", p.methods.iter().map(|m| m.flow.blocks.len() as u16))?;
    w.column("methods/edges.u32", p.methods.iter().map(|m| m.flow.edges.len() as u32))?;
    let blocks = || p.methods.iter().flat_map(|m| &m.flow.blocks);
    w.column("blocks/start.u16", blocks().map(|b| b.start as u16))?;
    w.column("blocks/end.u16", blocks().map(|b| b.end as u16))?;
    let edges = || p.methods.iter().flat_map(|m| &m.flow.edges);
    w.column("edges/from.u16", edges().map(|e| e.from as u16))?;
    w.column("edges/to.u16", edges().map(|e| e.to as u16))?;
    w.column("edges/kind.u8", edges().map(|e| kind_number(e.kind)))?;
    w.column("edges/counter.u16", edges().map(|e| e.counter.unwrap_or(u16::MAX)))?;

    w.column("natives/class.u32", native_class.into_iter())?;
    w.column("natives/name.u32", native_name.into_iter())?;
    w.column("natives/descriptor.u32", native_descriptor.into_iter())?;
    w.column("native_sites/method.u32", p.native_sites.iter().map(|s| s.method))?;
    w.column("native_sites/bci.u16", p.native_sites.iter().map(|s| s.bci as u16))?;
    w.column("native_sites/native.u32", p.native_sites.iter().map(|s| s.native))?;
    w.column("native_sites/dynamic.u8", p.native_sites.iter().map(|s| u8::from(s.dynamic)))?;

    w.column("threads/name.u32", thread_name.into_iter())?;
    let flags =
        |t: &crate::model::Thread| u8::from(t.similar_names) | u8::from(t.other_names) << 1 | u8::from(t.virtual_threads) << 2;
    w.column("threads/flags.u8", p.threads.iter().map(flags))?;
    w.column("threads/leases.u32", p.threads.iter().map(|t| t.leases))?;
    w.column("threads/first_node.u32", p.threads.iter().map(|t| t.first_node))?;

    w.small("nodes/method.leb128", p.nodes.method.iter().copied())?;
    let distances = p.nodes.parent.iter().enumerate().map(|(node, &parent)| node as u32 - parent);
    w.small("nodes/parent_distance.leb128", distances)?;
    if p.run.sites {
        w.small("nodes/site.leb128", p.nodes.site.iter().copied())?;
    }
    w.bytes("nodes/counters.leb128", p.nodes.counters.bytes(), Some(FAST))?;
    for (i, misses) in p.misses.iter().enumerate() {
        w.packed(&format!("misses/{i}/entry.leb128"), &misses.entry)?;
        w.packed(&format!("misses/{i}/return.leb128"), &misses.returns)?;
    }

    w.column("departures/node.u32", p.departures.iter().map(|d| d.node))?;
    w.column("departures/bci.u16", p.departures.iter().map(|d| d.bci as u16))?;
    w.column("departures/kind.u8", p.departures.iter().map(|d| d.kind as u8))?;
    w.column("departures/count.i64", p.departures.iter().map(|d| d.count))?;
    w.finish()
}
