//! Where a command writes: a file that is there whole or not at all, or standard output.

use crate::usage::Usage;
use anyhow::{Context, Result, anyhow, bail};
use cprof_profile::file::{same, way_out};
use std::fmt;
use std::fs::{File, Permissions};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::TempPath;

/// Enough that writing is not what takes the time.
const BUFFER: usize = 1 << 20;

/// An output that is being written; without [`Output::finish`] a file stays as it was.
pub enum Output {
    /// `-`
    Standard(BufWriter<io::Stdout>),
    /// A file beside the one asked for, until it is complete.
    Beside(BufWriter<File>, TempPath, PathBuf),
    /// A device or a pipe, which nothing can replace.
    Within(BufWriter<File>, PathBuf),
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
    let gone = profile == Path::new("-") || profile.metadata().is_ok_and(|file| !file.is_file());
    if gone { String::new() } else { format!("; show it with: cprof report {}", profile.display()) }
}

/// Says on standard error what was done or is to be known. Whether anybody reads it changes nothing: the command goes on.
pub fn tell(what: fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr(), "cprof: {what}");
}

/// The whole path of a file, as somebody with another working directory must name it; links are not followed.
pub fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).with_context(|| {
        format!("where {} is cannot be found out, as the working directory is gone; give the whole path", path.display())
    })
}

/// Refuses a file that whoever writes it would find impossible at the end of the run. `seen` is where a path of the writer's is for this command.
pub fn has_place(out: &Path, seen: impl Fn(&Path) -> PathBuf) -> Result<()> {
    let missing = |directory: &&Path| !directory.as_os_str().is_empty() && !seen(directory).is_dir();
    if let Some(directory) = out.parent().filter(missing) {
        let (out, directory) = (out.display(), directory.display());
        bail!("cannot write {out}: {directory} is no directory; create it, or name another file with --out");
    }
    if seen(out).is_dir() {
        bail!(Usage(format!("{} is a directory; name a file with --out, as -o app.cprof", out.display())));
    }
    Ok(())
}

/// Refuses to write what is no text to a terminal. `what` it is, and the name of a file as an `example`.
pub fn spares_terminal(out: &Path, what: &str, example: &str) -> Result<()> {
    if out == Path::new("-") && io::stdout().is_terminal() {
        bail!(Usage(format!("{what} is not text, and standard output is a terminal; name a file with -o, as -o {example}")));
    }
    Ok(())
}

/// Which output cannot be written: what an error begins with.
pub fn cannot(path: &Path) -> String {
    match path == Path::new("-") {
        true => "standard output cannot be written".to_owned(),
        false => format!("{} cannot be written", path.display()),
    }
}

impl Output {
    /// Opens the file, or standard output for `-`.
    pub fn create(path: &Path) -> Result<Output> {
        let cannot = || cannot(path);
        if path == Path::new("-") {
            return Ok(Output::Standard(BufWriter::with_capacity(BUFFER, io::stdout())));
        }
        // Links are followed: what they point to is what is written.
        let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if target.metadata().is_ok_and(|m| !m.is_file() && !m.is_dir()) {
            let file = File::options().write(true).open(&target).with_context(cannot)?;
            return Ok(Output::Within(BufWriter::with_capacity(BUFFER, file), path.to_owned()));
        }
        if target.is_dir() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory)).with_context(cannot);
        }
        let folder = target.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let beside = tempfile::Builder::new().prefix(".cprof-").permissions(Permissions::from_mode(0o666)).tempfile_in(folder);
        // The library says at which path, and that is one that nobody knows.
        let reason = |e: &io::Error| e.to_string().split(" at path ").next().unwrap_or_default().to_owned();
        let beside = beside.map_err(|e| anyhow!("{}: {}; {}", cannot(), reason(&e), way_out(&e)))?;
        // Taken apart, since it would say so whenever it is written.
        let (file, temporary) = beside.into_parts();
        Ok(Output::Beside(BufWriter::with_capacity(BUFFER, file), temporary, target))
    }

    /// Everything is written: puts the file into its place. Returns its size; none for streams.
    pub fn finish(self) -> Result<Option<u64>> {
        match self {
            Output::Standard(mut out) => out.flush().map(|()| None).with_context(|| cannot(Path::new("-"))),
            Output::Within(mut out, path) => out.flush().map(|()| None).with_context(|| cannot(&path)),
            Output::Beside(out, temporary, path) => {
                let file = out.into_inner().map_err(io::IntoInnerError::into_error).with_context(|| cannot(&path))?;
                let size = file.metadata().with_context(|| cannot(&path))?.len();
                temporary.persist(&path).map_err(|e| e.error).with_context(|| cannot(&path))?;
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
            Output::Within(out, _) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Output::Standard(out) => out.flush(),
            Output::Beside(out, ..) => out.flush(),
            Output::Within(out, _) => out.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_file_is_there_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        fs::write(&path, "old").unwrap();
        let mut unfinished = Output::create(&path).unwrap();
        unfinished.write_all(b"half").unwrap();
        drop(unfinished);
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        let mut finished = Output::create(&path).unwrap();
        finished.write_all(b"whole").unwrap();
        assert_eq!(finished.finish().unwrap(), Some(5));
        assert_eq!(fs::read_to_string(&path).unwrap(), "whole");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn what_cannot_be_written_is_said() {
        let error = |path: &str| Output::create(Path::new(path)).err().map(|e| e.to_string()).unwrap_or_default();
        assert_eq!(error("/"), "/ cannot be written");
        assert_eq!(
            error("/nowhere/a.txt"),
            "/nowhere/a.txt cannot be written: No such file or directory (os error 2); create the directory, or name another file"
        );
        let mut device = Output::create(Path::new("/dev/null")).unwrap();
        device.write_all(b"gone").unwrap();
        assert_eq!(device.finish().unwrap(), None);
    }
}
