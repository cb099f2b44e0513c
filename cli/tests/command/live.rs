//! Commands for recordings, with recordings that no JVM makes.

use cprof_live::process::{Process, own_user};
use cprof_profile::model::RunFacts;
use cprof_profile::recording::files::{ARENA, CLASS_LOG, DirectoryName, SHARED_MEMORY};
use cprof_profile::recording::log::{Entry, encode};
use cprof_profile::recording::{LOG_VERSION, Origin};
use cprof_synthetic::arena::Arena;
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// No process has this id: the kernel's largest is 2²².
const DEAD: u32 = 1 << 23;

/// A recording's directory; removed when dropped.
struct Recording(PathBuf);

impl Recording {
    fn new(shelf: &Path, pid: u32, process_start: u64) -> Recording {
        let path = shelf.join(DirectoryName { user: own_user(), pid, started_ms: 1000 }.to_string());
        DirBuilder::new().mode(0o700).create(&path).unwrap();
        fs::write(path.join(ARENA), Arena::new().bytes()).unwrap();
        let mut log = Vec::new();
        encode(&Entry::Origin(&Origin { log_version: LOG_VERSION, process_start, run: RunFacts::default() }.to_json()), &mut log);
        fs::write(path.join(CLASS_LOG), log).unwrap();
        Recording(path)
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        // The command may have removed it.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn cprof(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cprof"));
    command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn error(output: &Output) -> &str {
    str::from_utf8(&output.stderr).unwrap()
}

#[test]
fn top_says_no_rate_of_a_recording_that_has_ended() {
    let own = Process::find(std::process::id()).unwrap();
    let recording = Recording::new(Path::new(SHARED_MEMORY), own.inner_pid, own.start);
    let agent = File::open(recording.0.join(ARENA)).unwrap();
    flock(&agent, FlockOperation::LockExclusive).unwrap();
    let pid = own.pid.to_string();
    let whole = cprof(&["top", &pid, "--every", "10ms"]).output().unwrap();
    assert_eq!((whole.status.code(), error(&whole)), (Some(0), ""));
    let cut = cprof(&["top", &pid, "--every", "2s"]).spawn().unwrap();
    std::thread::sleep(Duration::from_secs(1));
    drop(agent);
    let cut = cut.wait_with_output().unwrap();
    assert_eq!((cut.status.code(), cut.stdout.len()), (Some(1), 0));
    assert!(error(&cut).contains("ended within the time, so that there is no rate"), "{}", error(&cut));
}

#[test]
fn all_is_removed_whether_anybody_reads_what_it_was() {
    let shelf = tempfile::tempdir().unwrap();
    for (out, code) in [(Stdio::piped(), 0), (File::options().write(true).open("/dev/full").unwrap().into(), 1)] {
        let recordings = [DEAD, DEAD + 1, DEAD + 2].map(|pid| Recording::new(shelf.path(), pid, 1));
        let mut clean = cprof(&["clean"]);
        let mut child = clean.args(recordings.iter().map(|recording| &recording.0)).stdout(out).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", error(&output));
        assert!(recordings.iter().all(|recording| !recording.0.exists()));
    }
}

#[test]
fn one_recording_may_be_named_twice() {
    let shelf = tempfile::tempdir().unwrap();
    let recording = Recording::new(shelf.path(), DEAD, 1);
    let twice = cprof(&["clean"]).args([&recording.0, &recording.0]).output().unwrap();
    let told = String::from_utf8(twice.stdout.clone()).unwrap();
    assert_eq!((twice.status.code(), told.lines().count(), error(&twice)), (Some(0), 1, ""));
    let gone = cprof(&["clean"]).arg(&recording.0).output().unwrap();
    let expected = format!("cprof: {} is no recording in {}", recording.0.display(), shelf.path().display());
    assert!(gone.status.code() == Some(1) && error(&gone).starts_with(&expected), "{}", error(&gone));
}

#[test]
fn a_recording_without_contexts_takes_no_profiles_place() {
    let shelf = tempfile::tempdir().unwrap();
    let recording = Recording::new(shelf.path(), DEAD, 1);
    let out = shelf.path().join("good.cprof");
    fs::write(&out, "good").unwrap();
    let output = cprof(&["recover", recording.0.to_str().unwrap(), "-o", out.to_str().unwrap()]).output().unwrap();
    let told = error(&output);
    assert!(output.status.code() == Some(1) && told.contains("good.cprof was not written"), "{told}");
    assert_eq!(fs::read_to_string(&out).unwrap(), "good");
}
