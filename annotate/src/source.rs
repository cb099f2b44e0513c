//! Finding the sources of classes, in directories and in archives such as `src.zip` or `…-sources.jar`.

use crate::places::{MAX_SIZE, Place, PlaceError, Things, whole};
use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Component, Path, PathBuf};
use thiserror::Error;
use zip::ZipArchive;

const SOURCES: Things = Things { name: "sources", archive: "a zip or jar of sources" };

/// A source that cannot be read.
#[derive(Debug, Error)]
pub enum SourceError {
    /// Nor can where it is.
    #[error(transparent)]
    Place(#[from] PlaceError),
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

impl Source {
    /// Whether it is a file of its own, and none in an archive.
    pub fn is_file(&self) -> bool {
        self.name == self.file.display().to_string()
    }
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
        Ok(Sources { places: paths.iter().map(|path| Place::open(path, SOURCES)).collect::<Result<_, _>>()? })
    }

    /// The source of a class (internal name) by its SourceFile attribute: below the package's directories, also below one for
    /// the module, as in the JDK's `src.zip`; last at the top, where Kotlin allows it. What is not just where the package says
    /// must declare it: a class of the same name in another package has another source. None where it is nowhere.
    ///
    /// # Errors
    /// It is there, but cannot be read.
    pub fn find(&mut self, class: &str, source_file: &str) -> Result<Option<Source>, SourceError> {
        let Some(wanted) = Wanted::new(class, source_file) else { return Ok(None) };
        for place in &mut self.places {
            let found = match place {
                Place::Directory(directory) => in_directory(directory, &wanted)?,
                Place::Archive(name, archive) => in_archive(name, archive, &wanted)?,
            };
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }
}

/// What is looked for.
#[derive(Debug, PartialEq)]
struct Wanted<'a> {
    /// `java/lang/String.java`
    path: String,
    /// `String.java`, or a path
    file: &'a str,
    /// `java.lang`; empty: none.
    package: String,
}

impl<'a> Wanted<'a> {
    /// None where the names, which the class file chose, would lead elsewhere.
    fn new(class: &str, file: &'a str) -> Option<Wanted<'a>> {
        let plain = |part: &str| {
            let mut components = Path::new(part).components();
            matches!((components.next(), components.next()), (Some(Component::Normal(name)), None) if name == part)
        };
        let package: Vec<&str> = class.split('/').collect();
        let package = &package[..package.len() - 1];
        let fits = !file.contains(['\\', '\0']) && file.split('/').chain(package.iter().copied()).all(plain);
        let path = || match file.contains('/') {
            // A script's path, as JRuby and Jython have it.
            true => file.to_owned(),
            false => package.iter().chain([&file]).copied().collect::<Vec<_>>().join("/"),
        };
        fits.then(|| Wanted { path: path(), file, package: package.join(".") })
    }

    /// Whether these are its lines. A path that has the whole package says so itself, whatever the language.
    fn is(&self, lines: &[String], at_path: bool) -> bool {
        (at_path && !self.package.is_empty()) || declared(lines) == self.package
    }
}

fn in_directory(directory: &Path, wanted: &Wanted<'_>) -> Result<Option<Source>, SourceError> {
    let io = |path: &Path, error| SOURCES.io(path, error);
    let exact = directory.join(&wanted.path);
    let entries = fs::read_dir(directory).map_err(|e| io(directory, e))?.flatten();
    let mut modules: Vec<PathBuf> = entries.map(|entry| entry.path().join(&wanted.path)).collect();
    modules.sort();
    for candidate in [exact.clone()].into_iter().chain(modules).chain([directory.join(wanted.file)]) {
        // What is no file, and what cannot be looked at, is not the source.
        let Ok(metadata) = fs::metadata(&candidate) else { continue };
        if metadata.is_file() {
            let name = candidate.display().to_string();
            let lines = read(File::open(&candidate).map_err(|e| io(&candidate, e))?, &name, |e| io(&candidate, e).into())?;
            if wanted.is(&lines, candidate == exact) {
                return Ok(Some(Source { name, file: candidate, lines }));
            }
        }
    }
    Ok(None)
}

fn in_archive(
    path: &Path,
    archive: &mut ZipArchive<BufReader<File>>,
    wanted: &Wanted<'_>,
) -> Result<Option<Source>, SourceError> {
    // The order of candidates; none: it is no candidate.
    let rank = |name: &str| match name.strip_suffix(&wanted.path) {
        Some("") => Some(0),
        Some(module) if module.find('/') == Some(module.len() - 1) => Some(1),
        _ => (name == wanted.file).then_some(2),
    };
    let names = archive.file_names().flatten();
    let mut candidates: Vec<(i32, String)> = names.filter_map(|name| Some((rank(&name)?, name.into_owned()))).collect();
    candidates.sort();
    for (rank, entry) in candidates {
        let name = format!("{}!{entry}", path.display());
        let damaged = |error| PlaceError::Archive { things: SOURCES, path: path.to_owned(), error };
        let entry = archive.by_name(&entry).map_err(damaged)?;
        let lines = read(entry, &name, |error| SOURCES.io(path, error).into())?;
        if wanted.is(&lines, rank == 0) {
            return Ok(Some(Source { name, file: path.to_owned(), lines }));
        }
    }
    Ok(None)
}

/// The package that a source in Java, Kotlin, Groovy or Scala declares; empty: none. Scala may do so in several lines.
fn declared(lines: &[String]) -> String {
    let mut parts = Vec::new();
    let mut in_comment = false;
    for line in lines {
        let code = uncommented(line, &mut in_comment);
        let code = code.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
        let name = code.strip_prefix("package").filter(|rest| rest.starts_with(char::is_whitespace));
        let name = name.and_then(|name| name.split([';', '{', ' ', '\t']).find(|word| !word.is_empty()));
        match name {
            // `package object`: what comes is code.
            Some("object") => break,
            Some(name) => parts.push(name.replace('`', "")),
            // No declaration stands behind imports or code.
            None if code.starts_with("import ") || code.contains('{') => break,
            None if !parts.is_empty() && !code.is_empty() => break,
            None => {}
        }
    }
    parts.join(".")
}

/// A line without its comments; `within`: it begins in one.
fn uncommented(line: &str, within: &mut bool) -> String {
    let mut code = String::new();
    let mut rest = line;
    loop {
        if *within {
            let Some((_, after)) = rest.split_once("*/") else { return code };
            (rest, *within) = (after, false);
        }
        let Some(at) = rest.find("//").into_iter().chain(rest.find("/*")).min() else { return code + rest };
        code.push_str(&rest[..at]);
        if rest[at..].starts_with("//") {
            return code;
        }
        (rest, *within) = (&rest[at + 2..], true);
    }
}

/// Ends with LF, CR LF or CR alone (JLS §3.4).
fn lines(text: &str) -> Vec<String> {
    let ended = text.replace("\r\n", "\n").replace('\r', "\n");
    ended.lines().map(str::to_owned).collect()
}

/// The lines of a source.
fn read(from: impl Read, name: &str, fail: impl Fn(io::Error) -> SourceError) -> Result<Vec<String>, SourceError> {
    let Some(bytes) = whole(from).map_err(fail)? else { return Err(SourceError::Large { name: name.to_owned() }) };
    Ok(lines(&String::from_utf8_lossy(&bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use zip::write::SimpleFileOptions;

    fn temporary(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("{name}-{}", std::process::id()))
    }

    #[test]
    fn names_from_class_files_do_not_lead_elsewhere() {
        let path = |class, file| Wanted::new(class, file).map(|wanted| wanted.path);
        assert_eq!(path("java/lang/String$1", "String.java").as_deref(), Some("java/lang/String.java"));
        assert_eq!(path("Main", "Main.kt").as_deref(), Some("Main.kt"));
        assert_eq!(path("src/a/RUBY", "src/a.rb").as_deref(), Some("src/a.rb"));
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
            assert_eq!(path(class, file), None, "{class} {file}");
        }
    }

    #[test]
    fn directories_and_archives_with_and_without_modules() {
        let directory = temporary("cprof-sources");
        fs::create_dir_all(directory.join("tree/mod/a/b")).unwrap();
        fs::write(directory.join("tree/mod/a/b/C.java"), "package a.b;\ntwo\n").unwrap();
        fs::write(directory.join("tree/K.kt"), b"package p\nfun \xff\n").unwrap();
        let archive = directory.join("src.zip");
        let mut zip = zip::ZipWriter::new(File::create(&archive).unwrap());
        for (name, text) in [("m/a/b/D.java", "package a.b;"), ("a/b/D.java", "plain"), ("xa/b/E.java", "package a.b;")] {
            zip.start_file(name, SimpleFileOptions::default()).unwrap();
            zip.write_all(text.as_bytes()).unwrap();
        }
        zip.finish().unwrap();

        let mut sources = Sources::open(&[directory.join("tree"), archive.clone()]).unwrap();
        let mut find = |class, file| sources.find(class, file).unwrap().map(|s| (s.name, s.lines.join("|")));
        let (name, text) = find("a/b/C$1", "C.java").unwrap();
        assert!(name.ends_with("tree/mod/a/b/C.java") && text == "package a.b;|two", "{name}: {text}");
        assert_eq!(find("p/KKt", "K.kt").unwrap().1, "package p|fun \u{fffd}");
        let (name, text) = find("a/b/D", "D.java").unwrap();
        assert!(name.ends_with("src.zip!a/b/D.java") && text == "plain", "{name}: {text}");
        assert_eq!(find("a/b/E", "E.java"), None);
        let refused = |path| match Sources::open(&[path]) {
            Err(SourceError::Place(error)) => error,
            _ => panic!("it was opened"),
        };
        assert!(matches!(refused(directory.join("nowhere")), PlaceError::Io { .. }));
        assert!(matches!(refused(directory.join("tree/K.kt")), PlaceError::Archive { .. }));
        assert!(matches!(refused("/dev/null".into()), PlaceError::Pipe { .. }));
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn a_class_of_the_same_name_in_another_package_has_another_source() {
        let directory = temporary("cprof-other-sources");
        fs::create_dir_all(&directory).unwrap();
        let files = [
            ("T.java", "class T {}"),
            ("m/Main.java", "/* package none; */\nclass Main {}"),
            ("deep/er/Deep.java", "class Deep {}"),
            ("a/In.java", "package a;"),
            ("m/p/Mod.java", "package m.p;"),
            ("deep/er/p/Far.java", "package p;"),
            ("Top.kt", "@file:JvmName(\"Top\")\npackage p // of all\n"),
        ];
        let archive = directory.join("src.zip");
        let mut zip = zip::ZipWriter::new(File::create(&archive).unwrap());
        let tree = directory.join("tree");
        for (name, text) in files {
            zip.start_file(name, SimpleFileOptions::default()).unwrap();
            zip.write_all(text.as_bytes()).unwrap();
            fs::create_dir_all(tree.join(name).parent().unwrap()).unwrap();
            fs::write(tree.join(name), text).unwrap();
        }
        zip.finish().unwrap();
        for place in [tree, archive] {
            let mut sources = Sources::open(std::slice::from_ref(&place)).unwrap();
            let mut find = |class, file| sources.find(class, file).unwrap().map(|s| s.name);
            let at = |name: &Option<String>, path: &str| name.as_ref().is_some_and(|name| name.ends_with(path));
            for (class, file) in
                [("p/T", "T.java"), ("Deep", "Deep.java"), ("In", "In.java"), ("p/Mod", "Mod.java"), ("p/Far", "Far.java")]
            {
                assert_eq!(find(class, file), None, "{class} in {}", place.display());
            }
            for (class, file, path) in [
                ("T", "T.java", "T.java"),
                ("Main", "Main.java", "m/Main.java"),
                ("m/p/Mod", "Mod.java", "m/p/Mod.java"),
                ("p/Top", "Top.kt", "Top.kt"),
            ] {
                assert!(at(&find(class, file), path), "{class} in {}", place.display());
            }
        }
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn lines_end_as_for_javac() {
        assert_eq!(lines("a\rb\r\nc\n\rd"), ["a", "b", "c", "", "d"]);
    }

    #[test]
    fn declarations_of_packages() {
        for (text, package) in [
            ("", ""),
            ("// package a;\n/* x\npackage b; */ package c.d; import e;", "c.d"),
            ("\u{feff}package `in`.b\n\nimport c", "in.b"),
            ("package a.b\npackage c\n\npackage object d", "a.b.c"),
            ("package a {\npackage b {", "a.b"),
            ("import a.B;\nclass C {\npackage d;", ""),
            ("packaged a", ""),
        ] {
            assert_eq!(declared(&lines(text)), package, "{text}");
        }
    }
}
