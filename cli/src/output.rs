//! Where a command writes: a file that is there whole or not at all, or standard output.

use crate::style::{Style, printable_or_marked};
use crate::usage::Usage;
use anyhow::{Context, Result, anyhow, bail};
use cprof_profile::file::{self, same, way_out};
use cprof_profile::model::Profile;
use cprof_profile::names::argument;
use rustix::fs::{Access, AtFlags, CWD, OFlags, access, linkat, statvfs};
use rustix::io::Errno;
use std::fmt;
use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Cursor, IsTerminal, Write};
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tempfile::{Builder, NamedTempFile, TempPath};

/// Enough that writing is not what takes the time.
const BUFFER: usize = 1 << 20;
/// What the names of unfinished files begin with.
const UNFINISHED: &str = ".cprof-";
/// Of new files, before the user's mask.
const MODE: u32 = 0o666;
/// What a mode says of who may read, write and execute.
const PERMISSIONS: u32 = 0o777;
/// Links are followed so often, as Linux does.
const MOST_LINKS: usize = 40;
const STANDARD_OUTPUT: u32 = 1;

/// An output that is being written; without [`Output::finish`] a file stays as it was.
pub enum Output {
    /// `-`
    Standard(BufWriter<io::Stdout>),
    /// A file that takes the place of the one asked for when it is complete.
    Beside(BufWriter<File>, Unfinished, PathBuf),
    /// A device or a pipe, which nothing can replace, or what this process was given open.
    Within(BufWriter<File>, PathBuf),
}

/// An unfinished file: it goes when its command does.
pub enum Unfinished {
    /// It has no name, so that nothing is left of it however the command ends.
    Nameless,
    /// On file systems that have no such files: a name of its own, which stays behind when a signal ends the command.
    Named(TempPath),
}

impl Unfinished {
    /// A new file in a folder.
    fn create(folder: &Path) -> io::Result<(File, Unfinished)> {
        let mut nameless = File::options();
        nameless.write(true).mode(MODE).custom_flags(OFlags::TMPFILE.bits() as i32);
        match nameless.open(folder) {
            Ok(file) => Ok((file, Unfinished::Nameless)),
            Err(_) => Unfinished::named(folder),
        }
    }

    fn named(folder: &Path) -> io::Result<(File, Unfinished)> {
        let named = Builder::new().prefix(UNFINISHED).permissions(Permissions::from_mode(MODE)).tempfile_in(folder)?;
        // Taken apart, since it would say its name with every error, and that is one that nobody knows.
        let (file, name) = named.into_parts();
        Ok((file, Unfinished::Named(name)))
    }

    /// Puts it in the place of the target.
    fn finish(self, file: &File, target: &Path) -> io::Result<()> {
        let name = match self {
            Unfinished::Named(name) => name,
            Unfinished::Nameless => {
                // linkat(2) replaces no file, rename(2) does.
                let number = format!("/proc/self/fd/{}", file.as_raw_fd());
                let link = |name: &Path| linkat(CWD, &number, CWD, name, AtFlags::SYMLINK_FOLLOW).map_err(io::Error::from);
                Builder::new().prefix(UNFINISHED).make_in(folder(target), link).map(NamedTempFile::into_temp_path)?
            }
        };
        name.persist(target).map_err(|e| e.error)
    }
}

/// Where a file is.
fn folder(file: &Path) -> &Path {
    file.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The file that a link of the user's points to, whether it is there or not; `None`: the path names no link, or one to something
/// else. Those in /dev say where they lead in no path.
pub fn behind_link(path: &Path) -> Option<PathBuf> {
    let leads_to_file = || path.metadata().map_or(true, |target| target.is_file());
    (path.is_symlink() && !path.starts_with("/dev") && leads_to_file()).then(|| written(path))
}

/// What is written where a path is named: links are followed.
fn written(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| to_be_made(path))
}

/// What a path names that is not there: a link to nothing names what it points to.
fn to_be_made(path: &Path) -> PathBuf {
    let mut at = path.to_owned();
    for _ in 0..MOST_LINKS {
        // Links such as /dev/stdout say where they lead in no path.
        match at.read_link() {
            Ok(to) if !at.exists() => at = folder(&at).join(to),
            _ => break,
        }
    }
    at
}

/// Which of this process's own descriptors a path names, as /dev/stdout does.
fn descriptor(path: &Path) -> Option<u32> {
    let own = Path::new("/proc/self/fd").canonicalize().ok()?;
    let mut at = path.to_owned();
    for _ in 0..MOST_LINKS {
        if folder(&at).canonicalize().is_ok_and(|folder| folder == own) {
            return at.file_name()?.to_str()?.parse().ok();
        }
        at = folder(&at).join(at.read_link().ok()?);
    }
    None
}

/// A descriptor of this process's own as a file: who opened it writes on where this ends.
fn copy_of(number: u32) -> io::Result<File> {
    let number = RawFd::try_from(number).map_err(io::Error::other)?;
    // SAFETY: it was among the open ones just now, given to this process or opened by it, and nobody closes it meanwhile: what is
    // opened before an output is, is open beside it.
    Ok(unsafe { BorrowedFd::borrow_raw(number) }.try_clone_to_owned()?.into())
}

/// Whether a path names standard output.
pub fn is_standard(path: &Path) -> bool {
    path == Path::new("-") || descriptor(path) == Some(STANDARD_OUTPUT)
}

/// Lets those use a new file who may use the one that it is to replace, before there is anything in it.
fn keep_mode(file: &File, replaced: &Path) -> io::Result<()> {
    let Ok(old) = replaced.metadata() else { return Ok(()) };
    let mode = old.mode() & PERMISSIONS;
    // Some file systems have one mode for all files, and set none.
    if file.metadata()?.mode() & PERMISSIONS == mode { Ok(()) } else { file.set_permissions(Permissions::from_mode(mode)) }
}

/// What is another when a file was written anew: a new file takes the place of an older one. Times alone would not do: those of a
/// file are a server's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity(u64, u64, i64, i64);

impl Identity {
    /// Of what there is; `None`: nothing.
    pub fn of(file: &Path) -> Option<Identity> {
        let facts = file.metadata().ok()?;
        Some(Identity(facts.dev(), facts.ino(), facts.mtime(), facts.mtime_nsec()))
    }
}

/// Refuses to write over what is read.
pub fn spares<'f>(out: &Path, read: impl IntoIterator<Item = &'f PathBuf>) -> Result<()> {
    match same(out, read) {
        Some(file) => {
            bail!(Usage(format!("{} is read, and would be written over; name another file to write", file.display())))
        }
        None => Ok(()),
    }
}

/// `; show it with: cprof report app.cprof`; nothing of a pipe or a device, which keeps nothing.
pub fn shown_with(profile: &Path) -> String {
    let gone = descriptor(profile).is_some() || is_standard(profile) || profile.metadata().is_ok_and(|file| !file.is_file());
    if gone { String::new() } else { format!("; show it with: cprof report {}", argument(&profile.display().to_string())) }
}

/// Says on standard error what was done or is to be known. Whether anybody reads it changes nothing: the command goes on.
pub fn tell(what: fmt::Arguments<'_>) {
    let what = what.to_string();
    // Names in it may be anybody's. Lines are kept: a JVM says in several why it did not load an agent.
    let lines: Vec<_> = what.split('\n').map(printable_or_marked).collect();
    let _ = writeln!(io::stderr(), "cprof: {}", lines.join("\n"));
}

/// Says on standard error what a reader of the numbers should know.
pub fn note(what: &str) {
    tell(format_args!("{}", Style::of(&io::stderr()).warning(&format!("note: {what}"))));
}

/// Those for which there is no room in what is printed: columns have none.
pub fn notes<'n>(notes: impl IntoIterator<Item = &'n String>) {
    notes.into_iter().for_each(|what| note(what));
}

/// The whole path of a file, as somebody with another working directory must name it; links are not followed.
pub fn absolute(path: &Path) -> Result<PathBuf> {
    if path.as_os_str().is_empty() {
        bail!(Usage("a file without a name cannot be written; name one".to_owned()));
    }
    std::path::absolute(path).with_context(|| {
        format!("where {} is cannot be found out, as the working directory is gone; give the whole path", path.display())
    })
}

/// Refuses a file that whoever writes it would find impossible at the end of the run. `seen` is where a path of the writer's is
/// for this command.
pub fn has_place(out: &Path, seen: impl Fn(&Path) -> PathBuf) -> Result<()> {
    if is_standard(out) || descriptor(out).is_some() {
        return Ok(());
    }
    let missing = |directory: &&Path| !directory.as_os_str().is_empty() && !seen(directory).is_dir();
    if let Some(directory) = out.parent().filter(missing) {
        let (out, directory) = (out.display(), directory.display());
        bail!("cannot write {out}: {directory} is no directory; create it, or name another file with --out");
    }
    if seen(out).is_dir() || out.as_os_str().as_bytes().ends_with(b"/") {
        bail!(Usage(format!("{} is a directory; name a file with --out, as -o app.cprof", out.display())));
    }
    // A pipe or a device is written to, and where links lead is seen when it is written; anything else is put there.
    let is_put = !seen(out).is_symlink() && !seen(out).metadata().is_ok_and(|found| !found.is_file());
    let place = folder(out);
    if is_put && matches!(access(seen(place), Access::WRITE_OK), Err(Errno::ACCESS | Errno::ROFS)) {
        bail!("cannot write {}: {} may not be written to; name another file with --out", out.display(), place.display());
    }
    may_replace(&seen(out)).with_context(|| cannot(out))
}

/// How many bytes there is room for where a file is to be; none: it is no file, or nobody says.
pub fn room(out: &Path) -> Option<u64> {
    let file = written(out);
    let is_none = is_standard(out) || descriptor(out).is_some() || file.metadata().is_ok_and(|found| !found.is_file());
    // Some file systems say nothing of their size.
    let space = statvfs(folder(&file)).ok().filter(|space| !is_none && space.f_blocks > 0)?;
    Some(space.f_bfree.saturating_mul(space.f_frsize))
}

/// Refuses to write what is no text to a terminal. `what` it is, and the name of a file as an `example`.
pub fn spares_terminal(out: &Path, what: &str, example: &str) -> Result<()> {
    if is_standard(out) && io::stdout().is_terminal() {
        bail!(Usage(format!("{what} is not text, and standard output is a terminal; name a file with -o, as -o {example}")));
    }
    Ok(())
}

/// Which output cannot be written: what an error begins with.
pub fn cannot(path: &Path) -> String {
    match is_standard(path) {
        true => "standard output cannot be written".to_owned(),
        false => format!("{} cannot be written", path.display()),
    }
}

/// Writes a profile; `-` is standard output. Answers the number of bytes.
pub fn write_profile(out: &Path, profile: &Profile) -> Result<u64> {
    let cannot = || cannot(out);
    match Output::create(out)? {
        Output::Beside(file, unfinished, target) => {
            let file = file::write_to(file, profile).with_context(cannot)?;
            Output::Beside(file, unfinished, target).finish().map(Option::unwrap_or_default)
        }
        // A profile is not written from front to end: it is complete before the first byte of it goes anywhere.
        mut stream => {
            let bytes = file::write_to(Cursor::new(Vec::new()), profile).with_context(cannot)?.into_inner();
            match stream.write_all(&bytes).and_then(|()| stream.flush()) {
                // Of a text somebody may have seen enough; part of a profile is none.
                Err(e) if e.kind() == io::ErrorKind::BrokenPipe => {
                    bail!("{}: who reads it stopped before the profile was whole; read all of it, or name a file", cannot())
                }
                written => written.with_context(cannot)?,
            }
            Ok(bytes.len() as u64)
        }
    }
}

/// That a file, if there is one, may be written: who protected it does not want another in its place either.
fn may_replace(file: &Path) -> io::Result<()> {
    // A pipe would be waited for.
    if !file.metadata().is_ok_and(|m| m.is_file()) {
        return Ok(());
    }
    match File::options().write(true).open(file) {
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => Err(e),
        _ => Ok(()),
    }
}

impl Output {
    /// Opens the file, or standard output for `-`.
    pub fn create(path: &Path) -> Result<Output> {
        let cannot = || cannot(path);
        if is_standard(path) {
            return Ok(Output::Standard(BufWriter::with_capacity(BUFFER, io::stdout())));
        }
        let target = written(path);
        let within = |file| Ok(Output::Within(BufWriter::with_capacity(BUFFER, file), path.to_owned()));
        if let Some(number) = descriptor(path) {
            return within(copy_of(number).with_context(cannot)?);
        }
        if target.metadata().is_ok_and(|m| !m.is_file() && !m.is_dir()) {
            return within(File::options().write(true).open(&target).with_context(cannot)?);
        }
        if target.is_dir() {
            bail!("{}: it is a directory; name a file", cannot());
        }
        may_replace(&target).with_context(cannot)?;
        // The library says at which path, and that is one that nobody knows.
        let reason = |e: &io::Error| e.to_string().split(" at path ").next().unwrap_or_default().to_owned();
        let unfinished = Unfinished::create(folder(&target));
        let (file, unfinished) = unfinished.map_err(|e| anyhow!("{}: {}; {}", cannot(), reason(&e), way_out(&e)))?;
        keep_mode(&file, &target).with_context(cannot)?;
        Ok(Output::Beside(BufWriter::with_capacity(BUFFER, file), unfinished, target))
    }

    /// Everything is written: puts the file into its place. Returns its size; none for streams.
    pub fn finish(self) -> Result<Option<u64>> {
        match self {
            Output::Standard(mut out) => out.flush().map(|()| None).with_context(|| cannot(Path::new("-"))),
            Output::Within(mut out, path) => unread(out.flush()).map(|()| None).with_context(|| cannot(&path)),
            Output::Beside(out, unfinished, path) => {
                let file = out.into_inner().map_err(io::IntoInnerError::into_error).with_context(|| cannot(&path))?;
                let size = file.metadata().with_context(|| cannot(&path))?.len();
                unfinished.finish(&file, &path).with_context(|| cannot(&path))?;
                Ok(Some(size))
            }
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Output::Standard(out) => out.write(bytes),
            Output::Beside(out, ..) => out.write(bytes),
            Output::Within(out, _) => unread(out.write(bytes)),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Output::Standard(out) => out.flush(),
            Output::Beside(out, ..) => out.flush(),
            Output::Within(out, _) => unread(out.flush()),
        }
    }
}

/// Who stops reading standard output has seen enough; from what was named, all was to be read.
fn unread<T>(written: io::Result<T>) -> io::Result<T> {
    written.map_err(|e| match e.kind() {
        io::ErrorKind::BrokenPipe => io::Error::other("who reads it stopped before it was whole"),
        _ => e,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_file_is_there_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        for create in [Unfinished::create, Unfinished::named] {
            let beside = || {
                let (file, unfinished) = create(folder.path()).unwrap();
                Output::Beside(BufWriter::new(file), unfinished, path.clone())
            };
            fs::write(&path, "old").unwrap();
            let mut unfinished = beside();
            unfinished.write_all(b"half").unwrap();
            drop(unfinished);
            assert_eq!(fs::read_to_string(&path).unwrap(), "old");
            let mut finished = beside();
            finished.write_all(b"whole").unwrap();
            assert_eq!(finished.finish().unwrap(), Some(5));
            assert_eq!(fs::read_to_string(&path).unwrap(), "whole");
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
        }
    }

    #[test]
    fn files_have_room_and_pipes_take_everything() {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("not-yet", folder.path().join("link")).unwrap();
        for name in ["new", "link"] {
            assert!(room(&folder.path().join(name)).is_some_and(|room| room > 0), "{name}");
        }
        for name in ["-", "/dev/null", "/dev/stdout", "/no/such/folder/file"] {
            assert_eq!(room(name.as_ref()), None, "{name}");
        }
    }

    #[test]
    fn the_target_of_a_link_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link] = ["a.txt", "b.txt"].map(|name| folder.path().join(name));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let mut out = Output::create(&link).unwrap();
        out.write_all(b"new").unwrap();
        out.finish().unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert!(link.is_symlink());
    }

    #[test]
    fn a_link_to_nothing_says_what_is_made() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("in")).unwrap();
        let [file, first, second] = ["in/a.txt", "b.txt", "in/c.txt"].map(|name| folder.path().join(name));
        std::os::unix::fs::symlink("in/c.txt", &first).unwrap();
        std::os::unix::fs::symlink("a.txt", &second).unwrap();
        let mut out = Output::create(&first).unwrap();
        out.write_all(b"new").unwrap();
        out.finish().unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert!(first.is_symlink() && second.is_symlink());
        // A ring of links names nothing.
        fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink("../b.txt", &file).unwrap();
        assert!(to_be_made(&first).is_symlink());
    }

    #[test]
    fn descriptors_are_known_by_all_their_names() {
        for (name, number) in [("/dev/stdout", 1), ("/dev/stderr", 2), ("/dev/fd/2", 2), ("/proc/self/fd/7", 7)] {
            assert_eq!(descriptor(Path::new(name)), Some(number), "{name}");
        }
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("out");
        std::os::unix::fs::symlink("/dev/stdout", &link).unwrap();
        assert!(is_standard(&link) && is_standard(Path::new("-")));
        for other in ["/dev/null", "1", "/proc/1/fd/1", "/nowhere/at/all", "/"] {
            assert_eq!(descriptor(Path::new(other)), None, "{other}");
        }
    }

    #[test]
    fn what_is_replaced_leaves_its_mode() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        for mode in [0o600, 0o640, 0o444, 0o666] {
            fs::write(&path, "old").unwrap();
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            Output::create(&path).unwrap().finish().unwrap();
            assert_eq!(path.metadata().unwrap().mode() & PERMISSIONS, mode);
            fs::remove_file(&path).unwrap();
        }
    }

    #[test]
    fn what_cannot_be_written_is_said() {
        let error = |path: &str| Output::create(Path::new(path)).err().map(|e| e.to_string()).unwrap_or_default();
        assert_eq!(error("/"), "/ cannot be written: it is a directory; name a file");
        assert_eq!(
            error("/nowhere/a.txt"),
            "/nowhere/a.txt cannot be written: No such file or directory (os error 2); create the directory, or name another file"
        );
        let mut device = Output::create(Path::new("/dev/null")).unwrap();
        device.write_all(b"gone").unwrap();
        assert_eq!(device.finish().unwrap(), None);
    }
}
