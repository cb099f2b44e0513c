//! Directories that are, that look like, and that only pretend to be recordings.

use cprof_instrument::abi::{self, flags, header};
use cprof_live::process::{Process, own_user};
use cprof_live::recordings::{CleanError, OpenError, Recording, Shelf, State, remove};
use cprof_live::take::{self, TakeError};
use cprof_profile::model::{RunFacts, Taken};
use cprof_profile::recording::files::DirectoryName;
use cprof_profile::recording::log::{ClassEntry, Entry, encode};
use cprof_profile::recording::{CaptureError, LOG_VERSION, Origin, OriginError};
use rustix::fs::{CWD, FileType, FlockOperation, Mode, flock, mknodat};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, PermissionsExt, chown, symlink};
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::{SystemTime, UNIX_EPOCH};
use tempfile::TempDir;

/// No process has this id: the kernel's largest is 2²².
const DEAD: u32 = 1 << 23;

/// The user "nobody", of whom every Linux has one.
const NOBODY: u32 = 65534;

/// Milliseconds since 1970.
static NOW: LazyLock<u64> = LazyLock::new(|| SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64);

/// A shelf of its own.
struct Place(TempDir);

impl Place {
    fn new() -> Place {
        Place(TempDir::new().unwrap())
    }

    fn shelf(&self) -> Shelf {
        Shelf::at(self.0.path())
    }

    fn name(pid: u32) -> DirectoryName {
        DirectoryName { user: own_user(), pid, started_ms: *NOW }
    }

    fn path(&self, pid: u32) -> PathBuf {
        self.0.path().join(Place::name(pid).to_string())
    }

    /// A recording of a process that has counted nothing yet.
    fn recording(&self, pid: u32) -> PathBuf {
        let path = self.path(pid);
        DirBuilder::new().mode(0o700).create(&path).unwrap();
        let arena = File::create(path.join("arena")).unwrap();
        arena.set_len(abi::CHUNKS).unwrap();
        let put = |at: u64, value: u32| arena.write_all_at(&value.to_le_bytes(), at).unwrap();
        put(header::MAGIC, abi::MAGIC);
        put(header::VERSION, abi::LAYOUT_VERSION);
        put(header::TOP, abi::CHUNKS as u32);
        put(header::METHOD_COUNT, 1);
        fs::write(path.join("classes"), log(LOG_VERSION)).unwrap();
        path
    }
}

fn log(version: u32) -> Vec<u8> {
    let run = RunFacts { cprof_version: "7.7".into(), main_class: "Main".into(), ..RunFacts::default() };
    let mut log = Vec::new();
    encode(&Entry::Origin(&Origin { log_version: version, process_start: 5, run }.to_json()), &mut log);
    encode(&Entry::Unattended("the program paused"), &mut log);
    log
}

fn open(path: &std::path::Path) -> Result<Recording, String> {
    Recording::open(path).map_err(|e| e.to_string())
}

#[test]
fn a_recording_becomes_a_profile() {
    let place = Place::new();
    let recording = open(&place.recording(DEAD)).unwrap();
    assert!(!recording.is_recorded());
    let profile = take::read(&recording).unwrap().profile(Taken::Killed).unwrap();
    assert_eq!((profile.run.main_class.as_str(), profile.run.taken, profile.run.ended_ms), ("Main", Taken::Killed, 0));
    assert_eq!(profile.warnings, ["the program paused"]);
}

#[test]
fn command_lines_may_be_long() {
    let place = Place::new();
    let path = place.recording(DEAD);
    let command_line = vec!["x".repeat(100_000); 20];
    let run = RunFacts { main_class: "Main".into(), command_line: command_line.clone(), ..RunFacts::default() };
    let mut log = Vec::new();
    encode(&Entry::Origin(&Origin { log_version: LOG_VERSION, process_start: 5, run }.to_json()), &mut log);
    fs::write(path.join("classes"), log).unwrap();
    assert_eq!(take::origin(&open(&path).unwrap()).unwrap().run.command_line, command_line);
}

#[test]
fn other_versions_and_other_files_are_named() {
    let place = Place::new();
    let path = place.recording(DEAD);
    let read = || take::read(&open(&path).unwrap()).and_then(|reading| reading.profile(Taken::Killed)).unwrap_err();
    fs::write(path.join("classes"), log(LOG_VERSION + 1)).unwrap();
    let later = |error: &OriginError| matches!(error, OriginError::Version { found, .. } if *found == LOG_VERSION + 1);
    assert!(matches!(read(), TakeError::ClassLog { ref error, .. } if later(error)));
    assert!(read().to_string().contains("use cprof 7.7"));
    fs::write(path.join("classes"), "something else").unwrap();
    assert!(matches!(read(), TakeError::ClassLog { error: OriginError::Missing, .. }));
    let arena = OpenOptions::new().write(true).open(path.join("arena")).unwrap();
    arena.write_all_at(&(abi::LAYOUT_VERSION + 1).to_le_bytes(), header::VERSION).unwrap();
    assert!(matches!(read(), TakeError::Arena { error: CaptureError::Version { .. }, written_by: None, .. }));
    fs::write(path.join("classes"), log(LOG_VERSION + 1)).unwrap();
    assert!(read().to_string().ends_with("use the cprof that recorded it, cprof 7.7"), "{}", read());
    arena.write_all_at(b"ELF!", 0).unwrap();
    assert!(matches!(read(), TakeError::Arena { error: CaptureError::Magic { .. }, .. }));
    assert!(read().to_string().contains(&path.display().to_string()), "the message names the place");
}

#[test]
fn a_recording_that_is_being_made_is_not_called_damaged() {
    let place = Place::new();
    let path = place.recording(DEAD);
    fs::write(path.join("classes"), "").unwrap();
    let agent = File::open(path.join("arena")).unwrap();
    let error = || take::read(&open(&path).unwrap()).and_then(|reading| reading.origin().map(|_| ())).unwrap_err();
    assert!(matches!(error(), TakeError::ClassLog { error: OriginError::Missing, .. }), "nobody is at it");
    flock(&agent, FlockOperation::LockExclusive).unwrap();
    assert!(matches!(error(), TakeError::Beginning { .. }));
    OpenOptions::new().write(true).open(path.join("arena")).unwrap().write_all_at(&[0; 4], header::MAGIC).unwrap();
    assert!(matches!(error(), TakeError::Beginning { .. }));
}

#[test]
fn a_file_that_is_cut_short_is_an_error_before_and_after_it_is_opened() {
    let place = Place::new();
    let path = place.recording(DEAD);
    let recording = open(&path).unwrap();
    for len in [abi::CHUNKS - 1, abi::METHODS, 4096, 7, 0] {
        OpenOptions::new().write(true).open(path.join("arena")).unwrap().set_len(len).unwrap();
        let error = take::read(&recording).unwrap_err();
        assert!(matches!(error, TakeError::Arena { error: CaptureError::Short { .. }, .. }), "{len}: {error}");
    }
}

#[test]
fn what_the_jvm_kept_for_itself_is_said_to_be_missing() {
    let place = Place::new();
    let path = place.recording(DEAD);
    let arena = OpenOptions::new().read(true).write(true).open(path.join("arena")).unwrap();
    let warnings = || take::read(&open(&path).unwrap()).unwrap().profile(Taken::Killed).unwrap().warnings;
    // However little of the file takes room on the disk: it may be a copy.
    assert_eq!(warnings(), ["the program paused"]);
    // Contexts of which the file has the place only.
    let mut top = [0; 8];
    arena.read_exact_at(&mut top, header::TOP).unwrap();
    arena.write_all_at(&(u64::from_le_bytes(top) + (1 << 20)).to_le_bytes(), header::TOP).unwrap();
    arena.set_len(arena.metadata().unwrap().len() + (1 << 20)).unwrap();
    assert!(warnings()[0].contains("stepped over"), "{:?}", warnings());
    arena.write_all_at(&flags::PRIVATE.to_le_bytes(), header::FLAGS).unwrap();
    assert!(warnings()[0].contains("contexts that the JVM kept") && warnings().len() == 2, "{:?}", warnings());
    arena.write_all_at(&(flags::PRIVATE | flags::LOG_PRIVATE).to_le_bytes(), header::FLAGS).unwrap();
    assert!(warnings()[1].contains("classes that the JVM kept") && warnings().len() == 3, "{:?}", warnings());
}

#[test]
fn a_log_that_is_only_long_takes_no_memory() {
    let place = Place::new();
    let path = place.recording(DEAD);
    let log = OpenOptions::new().write(true).open(path.join("classes")).unwrap();
    log.set_len(1 << 40).unwrap();
    let recording = open(&path).unwrap();
    assert!(recording.log().unwrap().len() <= 1 << 20);
    assert_eq!(take::read(&recording).unwrap().origin().unwrap().process_start, 5);
}

#[test]
fn a_log_with_holes_is_read_to_its_end() {
    let place = Place::new();
    let path = place.recording(DEAD);
    let zeros = vec![0; 100_000];
    let class = ClassEntry { name: "A", loader: "", hidden: false, bytes: &zeros, methods: Vec::new(), skipped: Vec::new() };
    let mut bytes = log(LOG_VERSION);
    encode(&Entry::Class(class), &mut bytes);
    encode(&Entry::Warning("the end"), &mut bytes);
    // As `cp --sparse=always` makes it.
    let copy = File::create(path.join("classes")).unwrap();
    copy.set_len(bytes.len() as u64).unwrap();
    for (at, page) in bytes.chunks(4096).enumerate().filter(|(_, page)| page.iter().any(|&b| b != 0)) {
        copy.write_all_at(page, at as u64 * 4096).unwrap();
    }
    assert!(copy.metadata().unwrap().blocks() * 512 < bytes.len() as u64);
    assert!(open(&path).unwrap().log().unwrap() == bytes);
}

#[test]
fn whose_a_recording_is_its_owner_says_and_not_its_name() {
    let place = Place::new();
    let own = Process::find(std::process::id()).unwrap();
    let origin = Origin { log_version: LOG_VERSION, process_start: own.start, run: RunFacts::default() };
    let mut log = Vec::new();
    encode(&Entry::Origin(&origin.to_json()), &mut log);
    let path = place.recording(own.pid);
    fs::write(path.join("classes"), log).unwrap();
    let agent = File::open(path.join("arena")).unwrap();
    flock(&agent, FlockOperation::LockExclusive).unwrap();
    // A process in a user namespace has another number for its user.
    let inside = place.0.path().join(DirectoryName { user: own_user() + 1, ..Place::name(own.pid) }.to_string());
    fs::rename(&path, &inside).unwrap();
    assert_eq!(place.shelf().recordings().unwrap()[0].owner, own_user());
    assert_eq!(place.shelf().of_process(&own).unwrap().unwrap().path(), inside);
    // Somebody else's under this user's name; only root can make one, and look at it.
    fs::rename(&inside, &path).unwrap();
    if own_user() == 0 {
        [path.join("arena"), path.join("classes"), path].iter().for_each(|file| chown(file, Some(NOBODY), None).unwrap());
        assert!(matches!(place.shelf().recordings().unwrap()[0].state, State::Recorded(_)));
        assert!(place.shelf().of_process(&own).unwrap().is_none());
    }
}

#[test]
fn links_pipes_and_open_directories_are_not_recordings() {
    let place = Place::new();
    let path = place.recording(DEAD);
    let link = place.path(DEAD + 1);
    symlink(&path, &link).unwrap();
    assert!(open(&link).unwrap_err().contains("follows no links"));
    for file in ["arena", "classes"] {
        let elsewhere = place.0.path().join(file);
        fs::rename(path.join(file), &elsewhere).unwrap();
        symlink(&elsewhere, path.join(file)).unwrap();
        assert!(open(&path).unwrap_err().contains("a symbolic link"), "{file}");
        fs::remove_file(path.join(file)).unwrap();
        mknodat(CWD, path.join(file), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        assert!(open(&path).unwrap_err().contains("no ordinary file"), "{file}");
        fs::remove_file(path.join(file)).unwrap();
        fs::rename(&elsewhere, path.join(file)).unwrap();
    }
    assert!(open(&path).is_ok());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
    assert!(open(&path).unwrap_err().contains("mode 750"));
    let file = place.path(DEAD + 2);
    fs::write(&file, "x").unwrap();
    assert!(open(&file).unwrap_err().contains("no directory"));
}

#[test]
fn what_is_in_use_is_not_removed() {
    let place = Place::new();
    let path = place.recording(DEAD);
    let agent = File::open(path.join("arena")).unwrap();
    flock(&agent, FlockOperation::LockExclusive).unwrap();
    let found = place.shelf().look(Place::name(DEAD));
    assert!(matches!(found.state, State::Recorded(_)));
    assert!(matches!(remove(&place.shelf(), &found), Err(CleanError::InUse(..))));
    drop(agent);
    // The process that just ended may have its id taken by another: what counts is that nobody holds the lock.
    let found = place.shelf().look(Place::name(DEAD));
    assert!(matches!(found.state, State::Left(_)));
    remove(&place.shelf(), &found).unwrap();
    // Two may remove what is left at once.
    remove(&place.shelf(), &found).unwrap();
    assert!(!path.exists());
}

#[test]
fn a_process_id_that_is_in_use_again_protects_nothing_but_beginnings() {
    let place = Place::new();
    let own = std::process::id();
    let path = place.recording(own);
    // As if this process had just made the files and not locked them yet.
    fs::write(path.join("classes"), "").unwrap();
    let found = place.shelf().look(Place::name(own));
    assert!(found.may_be_beginning());
    assert!(matches!(remove(&place.shelf(), &found), Err(CleanError::InUse(..))));
    fs::write(path.join("classes"), log(LOG_VERSION)).unwrap();
    let found = place.shelf().look(Place::name(own));
    assert!(!found.may_be_beginning());
    remove(&place.shelf(), &found).unwrap();
    // The directory alone; an earlier process of that id may have made it.
    DirBuilder::new().mode(0o700).create(&path).unwrap();
    assert!(place.shelf().look(Place::name(own)).may_be_beginning());
    let earlier = DirectoryName { started_ms: 1000, ..Place::name(own) };
    fs::rename(&path, place.0.path().join(earlier.to_string())).unwrap();
    assert!(!place.shelf().look(earlier).may_be_beginning());
    let dead = place.path(DEAD);
    DirBuilder::new().mode(0o700).create(&dead).unwrap();
    let found = place.shelf().look(Place::name(DEAD));
    assert!(matches!(found.state, State::Begun) && !found.may_be_beginning());
    // With an arena: its process may live in another container.
    let arena = fs::File::create(dead.join("arena")).unwrap();
    flock(&arena, FlockOperation::NonBlockingLockExclusive).unwrap();
    let found = place.shelf().look(Place::name(DEAD));
    assert!(matches!(found.state, State::Begun) && found.may_be_beginning());
    assert!(matches!(remove(&place.shelf(), &found), Err(CleanError::InUse(..))));
    drop(arena);
    remove(&place.shelf(), &found).unwrap();
    assert!(!dead.exists());
}

#[test]
fn cleaning_follows_no_links_and_takes_nothing_else() {
    let place = Place::new();
    let target = place.recording(DEAD);
    symlink(&target, place.path(DEAD + 1)).unwrap();
    let found = place.shelf().look(Place::name(DEAD + 1));
    assert!(matches!(&found.state, State::Foreign(OpenError::Kind { .. })));
    assert!(remove(&place.shelf(), &found).is_err());
    assert!(target.join("arena").exists());
    // A link in the directory goes, what it leads to stays.
    let precious = place.0.path().join("precious");
    fs::write(&precious, "x").unwrap();
    let path = place.recording(DEAD + 2);
    let found = place.shelf().look(Place::name(DEAD + 2));
    fs::remove_file(path.join("arena")).unwrap();
    symlink(&precious, path.join("arena")).unwrap();
    remove(&place.shelf(), &found).unwrap();
    assert!(precious.exists() && !path.exists());
    // A directory with something else in it stays, and so does that.
    fs::write(target.join("notes.txt"), "x").unwrap();
    let found = place.shelf().look(Place::name(DEAD));
    assert!(matches!(remove(&place.shelf(), &found), Err(CleanError::Io { .. })));
    assert!(target.join("notes.txt").exists());
}

#[test]
fn the_shelf_lists_recordings_by_process_and_passes_other_names_over() {
    let place = Place::new();
    place.recording(DEAD + 1);
    place.recording(DEAD);
    for other in ["cprof", "cprof-1-2", "other", "cprof-1-2-3-4"] {
        fs::create_dir(place.0.path().join(other)).unwrap();
    }
    let pids: Vec<u32> = place.shelf().recordings().unwrap().iter().map(|f| f.name.pid).collect();
    assert_eq!(pids, [DEAD, DEAD + 1]);
}
