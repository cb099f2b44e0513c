//! The profile reader, and everything a report does with what it let through.
//!
//! An input that begins as a zip is read as a file. Any other is a list of changes to the columns of a good profile, so that
//! the fuzzer need not guess checksums: entry, position (two bytes), value; an entry number from 128 up sets its length instead.
#![no_main]

#[path = "../../annotate/tests/support/look.rs"]
mod look;

use cprof_profile::file;
use cprof_profile::target::Model;
use libfuzzer_sys::fuzz_target;
use std::io::{Cursor, Read, Write};
use std::path::Path;
use std::sync::LazyLock;
use zip::write::SimpleFileOptions;

static MODEL: LazyLock<Model> = LazyLock::new(look::model);

static GOOD: LazyLock<Vec<(String, Vec<u8>)>> = LazyLock::new(|| {
    let bytes = file::write_to(Cursor::new(Vec::new()), &cprof_synthetic::demo().profile(&[])).expect("a good profile");
    let mut zip = zip::ZipArchive::new(bytes).expect("a good zip");
    let count = zip.len();
    let entry = |i| {
        let mut entry = zip.by_index(i).expect("a good entry");
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).expect("good data");
        (entry.name().expect("a good name").into_owned(), bytes)
    };
    (0..count).map(entry).collect()
});

fn changed(changes: &[u8]) -> Vec<u8> {
    let mut entries = GOOD.clone();
    for change in changes.as_chunks::<4>().0 {
        let which = usize::from(change[0] & 0x7F) % entries.len();
        let at = usize::from(u16::from_le_bytes([change[1], change[2]]));
        let bytes = &mut entries[which].1;
        if change[0] >= 128 {
            bytes.resize(at, change[3]);
        } else if !bytes.is_empty() {
            let at = at % bytes.len();
            bytes[at] = change[3];
        }
    }
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in entries {
        let options = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
        zip.start_file(name, options).expect("memory takes it");
        zip.write_all(&bytes).expect("memory takes it");
    }
    zip.finish().expect("memory takes it").into_inner()
}

fuzz_target!(|data: &[u8]| {
    let changed = if data.starts_with(b"PK") { data.to_vec() } else { changed(data) };
    let Ok(profile) = file::read_from(Cursor::new(changed), Path::new("fuzz.cprof")) else { return };
    look::look(&profile, &*MODEL);
    // What was read can be written.
    file::write_to(Cursor::new(Vec::new()), &profile).expect("memory takes it");
});
