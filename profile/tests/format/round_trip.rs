//! From a synthetic recording to a file and back, and to the numbers.

use cprof_profile::file;
use cprof_profile::measure::measure;
use cprof_profile::metrics::counted;
use cprof_profile::model::{Gap, Profile};
use cprof_profile::natives::native_calls;
use cprof_profile::projections::{by_method, by_thread, totals};
use cprof_profile::tree::{Symbols, Tree};
use std::io::{self, Cursor, Seek, SeekFrom, Write};
use std::path::Path;

fn through_file(profile: &Profile) -> Profile {
    let bytes = file::write_to(Cursor::new(Vec::new()), profile).unwrap();
    file::read_from(bytes, Path::new("test.cprof")).unwrap()
}

#[test]
fn what_is_written_is_read() {
    let profile = cprof_synthetic::demo().profile(&[]);
    assert_eq!(profile.warnings, Vec::<String>::new());
    assert_eq!(profile.nodes.len(), 6);
    assert_eq!(profile.gaps, [Gap { class: "demo/Broken".into(), method: None, reason: "the class file is damaged".into() }]);
    assert_eq!(through_file(&profile), profile);
}

/// A disk with room for so many bytes.
struct Disk {
    written: Cursor<Vec<u8>>,
    room: usize,
}

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left = self.room.saturating_sub(self.written.position() as usize).min(bytes.len());
        if left == 0 && !bytes.is_empty() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.written.write(&bytes[..left])
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Disk {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.written.seek(to)
    }
}

#[test]
fn a_full_disk_is_an_error_and_nothing_is_printed() {
    const CHILD: &str = "CPROF_TEST_FULL_DISK";
    if std::env::var_os(CHILD).is_none() {
        // The standard error of a process of its own.
        let this = std::env::current_exe().unwrap();
        let name = "round_trip::a_full_disk_is_an_error_and_nothing_is_printed";
        let child = std::process::Command::new(this).args(["--exact", name, "--nocapture"]).env(CHILD, "1").output().unwrap();
        let [ran, said] = [&child.stdout, &child.stderr].map(|text| String::from_utf8_lossy(text));
        assert!(child.status.success() && said.is_empty(), "{said}");
        assert!(ran.contains("1 passed"), "{ran}");
        return;
    }
    let profile = cprof_synthetic::demo().profile(&[]);
    let bytes = file::write_to(Cursor::new(Vec::new()), &profile).unwrap().into_inner();
    for room in 0..bytes.len() {
        let disk = Disk { written: Cursor::new(Vec::new()), room };
        let error = file::write_to(disk, &profile).err().unwrap_or_else(|| panic!("{room} bytes are enough"));
        assert_eq!(error.kind(), io::ErrorKind::StorageFull, "{room}: {error}");
    }
    let enough = file::write_to(Disk { written: Cursor::new(Vec::new()), room: bytes.len() }, &profile).unwrap();
    assert!(enough.written.into_inner() == bytes);
}

/// Who ends would wait for ever otherwise, as a JVM does while it writes.
#[test]
fn a_pipe_is_written_to_if_somebody_reads_it() {
    let directory = std::env::temp_dir().join(format!("cprof-pipe-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let pipe = directory.join("p");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut profile = cprof_synthetic::demo().profile(&[]);
    // More than a pipe holds.
    profile.classes[0].bytes.resize(300_000, 0);
    let refused = file::write(&pipe, &profile).unwrap_err().to_string();
    assert!(refused.contains("it is a pipe that nobody reads"), "{refused}");
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || std::fs::read(pipe).unwrap()
    });
    let written = file::write(&pipe, &profile).unwrap();
    let read = reader.join().unwrap();
    assert_eq!((read.len() as u64, file::read_from(Cursor::new(read), &pipe).unwrap()), (written, profile));
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn an_empty_profile_is_a_profile() {
    let profile = cprof_synthetic::Recording::new().profile(&[]);
    assert_eq!(through_file(&profile), profile);
    let tree = Tree::new(&profile, &Symbols::new(&profile), &measure(&profile).unwrap(), &[], |_| true);
    assert_eq!(tree.len(), 1);
}

#[test]
fn the_numbers_are_those_of_the_program() {
    let profile = through_file(&cprof_synthetic::demo().profile(&[]));
    let symbols = Symbols::new(&profile);
    let measures = measure(&profile).unwrap();
    let natives = native_calls(&profile, &measures).unwrap();
    let tree = Tree::new(&profile, &symbols, &measures, &natives, |_| true);
    let rows: Vec<_> = by_method(&tree, &symbols)
        .iter()
        .map(|r| {
            let s = &symbols.list[r.symbol as usize];
            (format!("{}.{}", s.class, s.method), r.calls, r.exceptional_exits, r.own, r.total)
        })
        .collect();
    // work: 0 1 4 7 10 0 1 13 is 8 bytecodes; with two rounds 13; up to the exception at 4: 3
    let expected = [
        ("demo.Main.main", 1, 0, 4, 23),
        ("demo.Main.work", 4, 1, 32, 32),
        ("demo.Main$$Lambda.run", 1, 0, 3, 16),
        ("java.lang.Thread.yield", 5, 0, 0, 0),
    ];
    let expected = expected.map(|(name, a, b, c, d)| (name.to_owned(), a, b, c, d));
    assert_eq!(rows, expected);
    let totals = totals(&tree, &symbols);
    assert_eq!((totals.calls, totals.native_calls, totals.exceptional_exits, totals.own), (6, 5, 1, 39));
    let apart = Tree::by_thread(&profile, &symbols, &measures, &natives, |_| true);
    let threads = by_thread(&profile, &symbols, |_| true, &apart);
    assert_eq!(
        threads.iter().map(|t| (t.label.as_str(), t.threads, t.totals.own)).collect::<Vec<_>>(),
        [("main", 1, 23), ("worker-*", 2, 16)]
    );
    let work = symbols.list.iter().position(|s| s.method == "work").unwrap() as u32;
    let below = tree.at_and_below(|s| s == work);
    assert_eq!(below.len(), 3, "work of both threads merged, and yield");
    assert_eq!(below.context(0).total, 32);
}

#[test]
fn metrics_stand_beside_the_contexts() {
    let profile = through_file(&cprof_synthetic::demo().profile(&[]));
    let symbols = Symbols::new(&profile);
    let measures = measure(&profile).unwrap();
    let natives = native_calls(&profile, &measures).unwrap();
    let all = Tree::new(&profile, &symbols, &measures, &natives, |_| true);
    let bytecodes = all.sums(measures.own.iter());
    assert_eq!(bytecodes, all.contexts().map(|c| c.own).collect::<Vec<_>>());
    let counted = counted(&all);
    assert_eq!(
        counted.iter().map(|m| (m.name.as_str(), m.sum())).collect::<Vec<_>>(),
        [("calls", 11), ("exceptional_exits", 1), ("bytecodes", 39)]
    );
    assert_eq!(counted[2].totals(&all), all.contexts().map(|c| c.total).collect::<Vec<_>>());
    // A part: nodes outside are not added up.
    let work = symbols.list.iter().position(|s| s.method == "work").unwrap() as u32;
    let below = Tree::new(&profile, &symbols, &measures, &natives, |t| t == 1).at_and_below(|s| s == work);
    assert_eq!(below.sums(measures.own.iter()), below.contexts().map(|c| c.own).collect::<Vec<_>>());
}
