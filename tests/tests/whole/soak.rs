//! The agent comes and leaves, over and over, in a program whose threads and classes do so too: totals are exact, and nothing
//! grows.

use cprof_tests::attach::Running;
use cprof_tests::run::{Bench, Report};
use cprof_tests::{OrFail, build, live, run, text};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Of tests/programs/Soak.java: threads of a round, and calls of `tick` in each of them and in the class that is loaded for the
/// round.
const THREADS: u64 = 20;
const TICKS: u64 = 50;
/// Rounds of the program between attaching and detaching.
const ROUNDS: u64 = 5;
/// The program's heap.
const HEAP_MB: u64 = 128;

/// How long on each JDK; `scripts/soak` sets more.
fn duration() -> Duration {
    Duration::from_secs(std::env::var("CPROF_SOAK_SECONDS").map_or(8, |n| n.parse().or_fail("CPROF_SOAK_SECONDS")))
}

/// What must not grow.
#[derive(Debug, Clone, Copy)]
struct Size {
    /// Without the heap, all of which is there from the start.
    memory_kb: u64,
    files: u64,
    threads: u64,
}

impl Size {
    fn of(program: &Running) -> Size {
        let threads = Size::threads(program);
        let memory_kb = program.status("VmRSS").saturating_sub(HEAP_MB * 1024);
        Size { memory_kb, files: program.files() as u64, threads }
    }

    /// When no more of them end: one that was joined is there as long as it waits for a processor.
    fn threads(program: &Running) -> u64 {
        let mut threads = program.status("Threads");
        loop {
            std::thread::sleep(Duration::from_millis(200));
            match program.status("Threads") {
                fewer if fewer < threads => threads = fewer,
                _ => return threads,
            }
        }
    }

    /// The largest of both in everything.
    fn max(self, other: Size) -> Size {
        Size {
            memory_kb: self.memory_kb.max(other.memory_kb),
            files: self.files.max(other.files),
            threads: self.threads.max(other.threads),
        }
    }

    /// More than twice that, more than comes and goes by itself, and more than the metaspace that each round of attaching is
    /// known to leave behind (docs/attach-design.md).
    fn has_outgrown(self, early: Size, rounds: u64) -> bool {
        const FRAGMENTS_KB: u64 = 400;
        self.memory_kb > 2 * early.memory_kb + FRAGMENTS_KB * rounds
            || self.files > 2 * early.files
            || self.threads > 2 * early.threads + THREADS
    }
}

/// Sets it when dropped, so that a failed round does not wait for snapshots without end.
struct Stops<'a>(&'a AtomicBool);

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Takes a snapshot from outside each second until told to stop; answers how many there were.
fn snapshots(pid: &str, out: &Path, stop: &AtomicBool) -> u64 {
    let mut taken = 0;
    while !stop.load(Ordering::Relaxed) {
        let ending = live::cprof(&["snapshot", pid, "-q", "-o", text(out)]);
        // Between detaching and attaching there is nothing to read, and at first not yet.
        let nothing = ["not being recorded", "is just beginning"].iter().any(|why| ending.stderr.contains(why));
        assert!(ending.code == 0 || nothing, "{}", ending.stderr);
        taken += u64::from(ending.code == 0);
        std::thread::sleep(Duration::from_millis(if nothing { 50 } else { 1000 }));
    }
    taken
}

/// Attaches, has work done, detaches, and checks the totals.
fn round(program: &mut Running, out: &Path, jdk: u32) {
    program.done(&format!("out={}", out.display()));
    program.ask(&ROUNDS.to_string());
    program.done("command=detach");
    let tree = Report::read(out).tree;
    let calls = |method: &str| tree.of_method(method).calls;
    assert_eq!(calls("Soak.tick(I)I"), ROUNDS * THREADS * TICKS, "JDK {jdk}");
    assert_eq!(calls("Soak.ticks()V"), ROUNDS * THREADS, "JDK {jdk}");
    assert_eq!(calls("Soak$Guest.tick()V"), ROUNDS * TICKS, "JDK {jdk}");
    program.ask(&ROUNDS.to_string());
    program.ask("0");
}

fn soak(bench: &Bench) {
    let jdk = bench.jdk.feature;
    let directory = build::fresh(&format!("soak-{jdk}"));
    let mut java = bench.jdk.command("java");
    java.args([format!("-Xms{HEAP_MB}m"), format!("-Xmx{HEAP_MB}m"), "-XX:+AlwaysPreTouch".into()]);
    java.args(["-cp", &bench.built.class_path, "Soak"]);
    let mut program = Running::start(java, &directory);
    let (pid, stop, begin) = (program.pid().to_string(), AtomicBool::new(false), Instant::now());
    std::thread::scope(|scope| {
        let looking = scope.spawn(|| snapshots(&pid, &directory.join("snapshot.cprof"), &stop));
        let running = Stops(&stop);
        // The first fifth warms the program up.
        let (mut rounds, mut early, mut late) = (0, None::<Size>, None::<Size>);
        while begin.elapsed() < duration() || late.is_none() {
            round(&mut program, &directory.join("round.cprof"), jdk);
            rounds += 1;
            let size = Size::of(&program);
            let largest = if early.is_none() || begin.elapsed() < duration() / 5 { &mut early } else { &mut late };
            *largest = Some(largest.map_or(size, |largest| largest.max(size)));
        }
        drop(running);
        let taken = looking.join().expect("a snapshot failed");
        assert!(taken > 0, "JDK {jdk}: no snapshot met a recording");
        let (early, late) = (early.expect("there was a round"), late.expect("there was another"));
        println!("JDK {jdk}: {rounds} rounds, {taken} snapshots; at most {early:?} in the first fifth, {late:?} in the rest");
        assert!(!late.has_outgrown(early, rounds), "JDK {jdk}: from {early:?} to {late:?}");
    });
    assert_eq!(program.end(), (String::new(), String::new()), "JDK {jdk}");
}

#[test]
fn nothing_grows_and_totals_are_exact() {
    for bench in run::benches() {
        soak(&bench);
    }
}
