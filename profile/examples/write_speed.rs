//! How long each step takes from an arena to a table.
//!
//! `cargo run --release -p cprof-profile --example write_speed -- 1000000 classes.bin`: how many contexts to invent, and
//! optionally a file whose bytes are written along as if they were an executed class's.

use cprof_profile::{file, measure, natives, projections, recording, tree};
use std::time::Instant;

fn main() {
    let mut args = std::env::args().skip(1);
    let nodes: u32 = args.next().and_then(|n| n.parse().ok()).unwrap_or(1_000_000);
    let mut recording = cprof_synthetic::demo();
    let (main, work) = (16, 17);
    let path = recording.path(1, 1, &[0, 4, 0, 4, 0, 13], false);
    let call = recording.path(1, 0, &[0, 7], false);
    let tree = recording.arena.tree("bulk", 0, 1);
    let mut random = 88172645463325252u64;
    let mut open = vec![tree];
    for _ in 0..nodes {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        open.truncate(1 + random as usize % open.len().min(40));
        let (method, counters) = if random & 256 == 0 { (main, &call) } else { (work, &path) };
        let counters: Vec<u64> = counters.iter().map(|c| c * (1 + random % 90)).collect();
        open.push(recording.arena.node(tree, open[open.len() - 1], method, 0, &counters));
    }
    println!("arena: {} MB", recording.arena.bytes().len() >> 20);
    let step = |name: &str, start: Instant| println!("{name:10} {:8.1} ms", start.elapsed().as_secs_f64() * 1e3);

    let start = Instant::now();
    let capture = recording::capture(&recording.arena.bytes(), &[]).expect("a good arena");
    step("capture", start);
    let start = Instant::now();
    let log = recording::Log::read(&recording.log);
    let mut profile = recording::assemble(capture, &log, Default::default());
    step("assemble", start);
    if let Some(classes) = args.next() {
        let mut class = profile.classes[0].clone();
        class.bytes = std::fs::read(classes).expect("a readable file");
        profile.classes.push(class);
    }
    let path = std::env::temp_dir().join(format!("write_speed-{}.cprof", std::process::id()));
    let start = Instant::now();
    let size = file::write(&path, &profile).expect("a writable directory");
    step("write", start);
    println!("file: {} kB", size >> 10);
    let start = Instant::now();
    let profile = file::read(&path).expect("what was written");
    step("read", start);
    std::fs::remove_file(path).expect("the file just read");
    let start = Instant::now();
    let measures = measure::measure(&profile).expect("good classes");
    step("measure", start);
    let start = Instant::now();
    let natives = natives::native_calls(&profile, &measures).expect("good classes");
    step("natives", start);
    let start = Instant::now();
    let symbols = tree::Symbols::new(&profile);
    let tree = tree::Tree::new(&profile, &symbols, &measures, &natives, |_| true);
    step("tree", start);
    let start = Instant::now();
    let rows = projections::by_method(&tree, &symbols);
    step("by method", start);
    println!("{} contexts after merging, {} methods", tree.len(), rows.len());
}
