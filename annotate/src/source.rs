//! Finding the sources of classes, in directories and in archives such as `src.zip` or `…-sources.jar`.

use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Component, Path, PathBuf};
use thiserror::Error;
use zip::ZipArchive;
use zip::result::ZipError;

/// The largest file that is taken for a source.
const MAX_SIZE: u64 = 64 << 20;

/// A place that was given for sources cannot be read.
#[derive(Debug, Error)]
pub enum SourceError {
    /// The file system says so.
    #[error("cannot read sources in {}: {error}", path.display())]
    Io {
        /// The place, or the file in it.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// It is a file, but no archive.
    #[error("cannot read sources in {}: {error}. Give a directory, or a zip or jar of sources", path.display())]
    Archive {
        /// The place.
        path: PathBuf,
        /// Why.
        error: ZipError,
    },
    /// Nobody writes such a source.
    #[error("{name} is larger than {} MB, so it is taken for no source", MAX_SIZE >> 20)]
    Large {
        /// The file, or archive and entry.
        name: String,
    },
}

/// A source file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Where it was found: a path, or `archive!entry`.
    pub name: String,
    /// The file itself, or the archive that it is in.
    pub file: PathBuf,
    /// Its lines, the first is line 1; bytes that are no UTF-8 replaced.
    pub lines: Vec<String>,
}

enum Place {
    Directory(PathBuf),
    Archive(PathBuf, Box<ZipArchive<BufReader<File>>>),
}

/// Places where sources are looked for, in order.
pub struct Sources {
    places: Vec<Place>,
}

impl Sources {
    /// Opens directories and archives.
    ///
    /// # Errors
    /// One cannot be read.
    pub fn open(paths: &[PathBuf]) -> Result<Sources, SourceError> {
        let place = |path: &PathBuf| {
            let io = |error| SourceError::Io { path: path.clone(), error };
            if fs::metadata(path).map_err(io)?.is_dir() {
                return Ok(Place::Directory(path.clone()));
            }
            let archive = ZipArchive::new(BufReader::new(File::open(path).map_err(io)?));
            let archive = archive.map_err(|error| SourceError::Archive { path: path.clone(), error })?;
            Ok(Place::Archive(path.clone(), Box::new(archive)))
        };
        Ok(Sources { places: paths.iter().map(place).collect::<Result<_, _>>()? })
    }

    /// The source of a class (internal name) by its SourceFile attribute: below the package's directories, also below one for
    /// the module, as in the JDK's `src.zip`; last at the top, where Kotlin allows it. None where it is nowhere.
    ///
    /// # Errors
    /// It is there, but cannot be read.
    pub fn find(&mut self, class: &str, source_file: &str) -> Result<Option<Source>, SourceError> {
        let Some(path) = relative(class, source_file) else { return Ok(None) };
        for place in &mut self.places {
            let found = match place {
                Place::Directory(directory) => in_directory(directory, &path)?,
                Place::Archive(name, archive) => in_archive(name, archive, &path)?,
            };
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }
}

/// `java/lang/String.java`; none where the names, which the class file chose, would lead elsewhere.
fn relative(class: &str, source_file: &str) -> Option<String> {
    let plain = |part: &str| {
        let mut components = Path::new(part).components();
        matches!((components.next(), components.next()), (Some(Component::Normal(name)), None) if name == part)
    };
    let package: Vec<&str> = class.split('/').collect();
    let package = &package[..package.len() - 1];
    let fits = plain(source_file) && !source_file.contains(['\\', '\0']) && package.iter().all(|part| plain(part));
    fits.then(|| package.iter().chain([&source_file]).copied().collect::<Vec<_>>().join("/"))
}

fn in_directory(directory: &Path, path: &str) -> Result<Option<Source>, SourceError> {
    let io = |path: &Path, error| SourceError::Io { path: path.to_owned(), error };
    let mut candidates = vec![directory.join(path)];
    let mut modules: Vec<PathBuf> =
        fs::read_dir(directory).map_err(|e| io(directory, e))?.flatten().map(|entry| entry.path().join(path)).collect();
    modules.sort();
    candidates.append(&mut modules);
    candidates.extend(path.rsplit('/').next().map(|file| directory.join(file)));
    for candidate in candidates {
        // What is no file, and what cannot be looked at, is not the source.
        let Ok(metadata) = fs::metadata(&candidate) else { continue };
        if metadata.is_file() {
            let name = candidate.display().to_string();
            let text = read(File::open(&candidate).map_err(|e| io(&candidate, e))?, &name, |e| io(&candidate, e))?;
            return Ok(Some(Source { name, file: candidate, lines: text.lines().map(str::to_owned).collect() }));
        }
    }
    Ok(None)
}

fn in_archive(path: &Path, archive: &mut ZipArchive<BufReader<File>>, file: &str) -> Result<Option<Source>, SourceError> {
    let fits = |name: &str| name == file || name.strip_suffix(file).is_some_and(|module| module.ends_with('/'));
    let names = archive.file_names().flatten().filter(|name| fits(name));
    let Some(entry) = names.min_by_key(|name| name.len()).map(|name| name.into_owned()) else { return Ok(None) };
    let name = format!("{}!{entry}", path.display());
    let entry = archive.by_name(&entry).map_err(|error| SourceError::Archive { path: path.to_owned(), error })?;
    let text = read(entry, &name, |error| SourceError::Io { path: path.to_owned(), error })?;
    Ok(Some(Source { name, file: path.to_owned(), lines: text.lines().map(str::to_owned).collect() }))
}

fn read(from: impl Read, name: &str, fail: impl Fn(io::Error) -> SourceError) -> Result<String, SourceError> {
    let mut bytes = Vec::new();
    from.take(MAX_SIZE + 1).read_to_end(&mut bytes).map_err(fail)?;
    if bytes.len() as u64 > MAX_SIZE {
        return Err(SourceError::Large { name: name.to_owned() });
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use zip::write::SimpleFileOptions;

    #[test]
    fn names_from_class_files_do_not_lead_elsewhere() {
        assert_eq!(relative("java/lang/String$1", "String.java").as_deref(), Some("java/lang/String.java"));
        assert_eq!(relative("Main", "Main.kt").as_deref(), Some("Main.kt"));
        for (class, file) in [
            ("a/B", "../B.java"),
            ("a/B", "/etc/passwd"),
            ("../a/B", "B.java"),
            ("a/../../B", "B.java"),
            ("/a/B", "B.java"),
            ("a//B", "B.java"),
            ("a/B", ""),
            ("a/B", ".."),
            ("a/B", "x\\B.java"),
            ("./B", "B.java"),
        ] {
            assert_eq!(relative(class, file), None, "{class} {file}");
        }
    }

    #[test]
    fn directories_and_archives_with_and_without_modules() {
        let directory = std::env::temp_dir().join(format!("cprof-sources-{}", std::process::id()));
        fs::create_dir_all(directory.join("tree/mod/a/b")).unwrap();
        fs::write(directory.join("tree/mod/a/b/C.java"), "one\ntwo\n").unwrap();
        fs::write(directory.join("tree/K.kt"), b"fun \xff\n").unwrap();
        let archive = directory.join("src.zip");
        let mut zip = zip::ZipWriter::new(File::create(&archive).unwrap());
        for (name, text) in [("m/a/b/D.java", "module"), ("a/b/D.java", "plain"), ("xa/b/E.java", "other")] {
            zip.start_file(name, SimpleFileOptions::default()).unwrap();
            zip.write_all(text.as_bytes()).unwrap();
        }
        zip.finish().unwrap();

        let mut sources = Sources::open(&[directory.join("tree"), archive.clone()]).unwrap();
        let mut find = |class, file| sources.find(class, file).unwrap().map(|s| (s.name, s.lines.join("|")));
        let (name, text) = find("a/b/C$1", "C.java").unwrap();
        assert!(name.ends_with("tree/mod/a/b/C.java") && text == "one|two", "{name}: {text}");
        assert_eq!(find("p/KKt", "K.kt").unwrap().1, "fun \u{fffd}");
        let (name, text) = find("a/b/D", "D.java").unwrap();
        assert!(name.ends_with("src.zip!a/b/D.java") && text == "plain", "{name}: {text}");
        assert_eq!(find("a/b/E", "E.java"), None);
        assert!(matches!(Sources::open(&[directory.join("nowhere")]), Err(SourceError::Io { .. })));
        assert!(matches!(Sources::open(&[directory.join("tree/K.kt")]), Err(SourceError::Archive { .. })));
        fs::remove_dir_all(directory).unwrap();
    }
}
