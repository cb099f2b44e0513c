//! Files that are cut, foreign, of another version, or made to do harm.

use cprof_profile::cycles;
use cprof_profile::file::{self, ReadError};
use cprof_profile::measure::measure;
use cprof_profile::model::{Native, Profile, special};
use cprof_profile::natives::native_calls;
use cprof_profile::projections::by_method;
use cprof_profile::target::{Library, Model};
use cprof_profile::tree::{Symbols, Tree};
use proptest::prelude::*;
use std::io::{Cursor, Read, Write};
use std::path::Path;
use std::sync::LazyLock;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

type Entries = Vec<(String, Vec<u8>)>;

static JOP: LazyLock<Model> = LazyLock::new(|| Library.load("jop").unwrap());
static GOOD: LazyLock<Vec<u8>> =
    LazyLock::new(|| file::write_to(Cursor::new(Vec::new()), &cprof_synthetic::demo().profile(&[])).unwrap().into_inner());

fn read(bytes: &[u8]) -> Result<Profile, ReadError> {
    file::read_from(Cursor::new(bytes), Path::new("x.cprof"))
}

fn entries(bytes: &[u8]) -> Entries {
    let mut zip = ZipArchive::new(Cursor::new(bytes)).unwrap();
    let mut out: Entries = Vec::new();
    for i in 0..zip.len() {
        let mut entry = zip.by_index(i).unwrap();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        let name = entry.name().unwrap().into_owned();
        out.push((name, bytes));
    }
    out
}

fn pack(entries: &Entries) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in entries {
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
        zip.start_file(name.as_str(), options).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// Everything a report does.
fn evaluate(profile: &Profile) {
    let Ok(measures) = measure(profile) else { return };
    let Ok(natives) = native_calls(profile, &measures) else { return };
    let symbols = Symbols::new(profile);
    let tree = Tree::new(profile, &symbols, &measures, &natives, |_| true);
    by_method(&tree, &symbols);
    // What cannot be evaluated is refused.
    let _ = cycles::evaluate(profile, &measures, &natives, &*JOP, &cycles::Options::default());
}

fn with_header(change: impl Fn(&mut serde_json::Value)) -> String {
    let mut entries = entries(&GOOD);
    let mut header: serde_json::Value = serde_json::from_slice(&entries[0].1).unwrap();
    change(&mut header);
    entries[0].1 = serde_json::to_vec(&header).unwrap();
    read(&pack(&entries)).unwrap_err().to_string()
}

#[test]
fn messages_name_the_file_what_was_found_and_the_way_out() {
    let message = |bytes: &[u8]| read(bytes).unwrap_err().to_string();
    for (bytes, found) in [
        (&b""[..], "it is empty"),
        (b"\xca\xfe\xba\xbe\0\0\0\x3d", "a Java class file"),
        (b"PK\x03\x04 some jar or other, which has no header", "a zip or jar of something else"),
        (b"#!/bin/sh\nexec java", "begins with the text \"#!/bin/sh"),
        (b"\0\x01\x02", "begins with the bytes [00, 01, 02]"),
    ] {
        let message = message(bytes);
        assert!(message.contains("x.cprof is not a cprof profile") && message.contains(found), "{message}");
        assert!(message.contains("cprof run"), "{message}");
    }
    let cut = message(&GOOD[..GOOD.len() / 2]);
    assert!(cut.contains("cut short") && cut.contains("record again"), "{cut}");
    let mut bytes = GOOD.to_vec();
    // Where the directory begins.
    let at = bytes.len() - 6;
    bytes[at..at + 4].fill(0xEE);
    let directory = message(&bytes);
    assert!(directory.contains("is damaged: its directory cannot be read"), "{directory}");
    let version = with_header(|h| h["version"] = 3.into());
    assert!(version.contains("format version 3, this cprof reads version 2"), "{version}");
    let version = with_header(|h| {
        h["version"] = 3.into();
        h["counts"] = "elsewhere".into();
        h["written_by"] = "9.9".into();
    });
    assert!(version.contains("format version 3") && version.contains("Use cprof 9.9"), "{version}");
    let needs = with_header(|h| h["needs"] = vec!["caches".to_owned()].into());
    assert!(needs.contains("understands: caches"), "{needs}");
    let needs = with_header(|h| {
        h["needs"] = vec!["frozen".to_owned()].into();
        h["run"]["taken"] = "frozen".into();
        h["written_by"] = "9.9".into();
    });
    assert!(needs.contains("understands: frozen") && needs.contains("9.9"), "{needs}");
    let format = with_header(|h| h["format"] = "other".into());
    assert!(format.contains("its header says \"other\""), "{format}");
    let count = with_header(|h| h["counts"]["nodes"] = u32::MAX.into());
    assert!(count.contains("is damaged") && count.contains("nodes/method.leb128"), "{count}");
}

#[test]
fn contexts_are_folded_if_the_header_says_so() {
    let mut profile = cprof_synthetic::demo().profile(&[]);
    profile.nodes.method.push(special::FOLDED);
    profile.nodes.parent.push(profile.threads[1].first_node);
    for folded in [true, false] {
        profile.run.folded = folded;
        let bytes = file::write_to(Cursor::new(Vec::new()), &profile).unwrap().into_inner();
        match read(&bytes) {
            Ok(profile) if folded => evaluate(&profile),
            Err(e) if !folded => assert!(e.to_string().contains("disagree on whether some are folded"), "{e}"),
            _ => panic!("folded: {folded}"),
        }
    }
}

#[test]
fn a_text_that_is_repeated_takes_no_more_memory_than_names_do() {
    let mut profile = cprof_synthetic::demo().profile(&[]);
    profile.natives = vec![Native { class: "x".repeat(1 << 20), ..profile.natives[0].clone() }];
    profile.native_sites.clear();
    let bytes = file::write_to(Cursor::new(Vec::new()), &profile).unwrap().into_inner();
    let mut entries = entries(&bytes);
    let mut header: serde_json::Value = serde_json::from_slice(&entries[0].1).unwrap();
    header["counts"]["natives"] = 1100.into();
    entries[0].1 = serde_json::to_vec(&header).unwrap();
    for (_, column) in entries.iter_mut().filter(|(name, _)| name.starts_with("natives/")) {
        *column = column.repeat(1100);
    }
    let bytes = pack(&entries);
    let message = read(&bytes).unwrap_err().to_string();
    assert!(message.contains("with its entry natives/class.u32 its names have more than 1073741824 bytes"), "{message}");
}

#[test]
fn every_cut_is_noticed() {
    for end in 0..GOOD.len() {
        assert!(read(&GOOD[..end]).is_err(), "cut at {end}");
    }
}

#[test]
fn a_missing_entry_is_named() {
    let all = entries(&GOOD);
    for missing in 1..all.len() {
        let mut rest = all.clone();
        let (name, _) = rest.remove(missing);
        let message = read(&pack(&rest)).unwrap_err().to_string();
        assert!(message.contains(&name), "{name}: {message}");
    }
}

#[test]
fn a_file_that_cannot_be_written_leaves_nothing() {
    let directory = std::env::temp_dir().join(format!("cprof-hostile-{}", std::process::id()));
    std::fs::create_dir(&directory).unwrap();
    let profile = cprof_synthetic::demo().profile(&[]);
    let error = file::write(&directory.join("no/such.cprof"), &profile).unwrap_err().to_string();
    assert!(error.contains("no/such.cprof") && error.contains("create the directory"), "{error}");
    // A directory stands where the file should: the rename fails after everything was written.
    std::fs::create_dir(directory.join("taken")).unwrap();
    std::fs::write(directory.join("taken/x"), "x").unwrap();
    assert!(file::write(&directory.join("taken"), &profile).is_err());
    let left: Vec<_> = std::fs::read_dir(&directory).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["taken"]);
    let path = directory.join("good.cprof");
    assert_eq!(file::write(&path, &profile).unwrap(), std::fs::metadata(&path).unwrap().len());
    assert_eq!(file::read(&path).unwrap(), profile);
    std::fs::remove_dir_all(directory).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn changed_bytes_never_panic(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8)) {
        let mut bytes = GOOD.clone();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Ok(profile) = read(&bytes) {
            evaluate(&profile);
        }
    }

    /// Behind the zip's checksums: entries changed, shortened, lengthened.
    #[test]
    fn changed_columns_never_panic(
        entry in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop_oneof![Just(0u8), Just(1), Just(0xFF), any::<u8>()]), 0..6),
        resize in prop_oneof![5 => Just(0i32), 1 => -9i32..9],
    ) {
        let mut all = entries(&GOOD);
        let which = entry.index(all.len());
        let bytes = &mut all[which].1;
        for (at, value) in changes {
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] = value;
            }
        }
        let len = (bytes.len() as i32 + resize).max(0);
        bytes.resize(len as usize, 0);
        if let Ok(profile) = read(&pack(&all)) {
            evaluate(&profile);
        }
    }
}
