//! The class files of a program, in directories and jars.

use crate::places::{MAX_SIZE, Place, PlaceError, Things, whole};
use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const CLASS_FILES: Things = Things { name: "class files", archive: "a jar" };

/// Where a jar has code for newer versions of Java only (JAR file specification, "Multi-release JAR files"); what a jar was made of,
/// or is put together from, has that somewhere below.
const VERSIONS: &str = "META-INF/versions/";

/// A class file.
pub struct ClassFileAt<'a> {
    /// Where it is: a path, or `archive!entry`.
    pub name: &'a str,
    /// The file itself, or the archive that it is in.
    pub file: &'a Path,
    /// It stands for another one, or none, where Java is newer than some version.
    pub for_newer: bool,
    /// What is in it, or why it cannot be read.
    pub bytes: Result<&'a [u8], String>,
}

/// Hands the class files in a directory or a jar to `take`, in order of name.
///
/// # Errors
/// The place cannot be searched.
pub fn each(path: &Path, take: &mut dyn FnMut(ClassFileAt<'_>)) -> Result<(), PlaceError> {
    match Place::open(path, CLASS_FILES)? {
        Place::Directory(directory) => in_directory(&directory, &directory, &mut HashSet::new(), take),
        Place::Archive(file, mut archive) => {
            let class_files = archive.file_names().flatten().filter(|name| name.ends_with(".class"));
            let mut entries: Vec<String> = class_files.map(|name| name.into_owned()).collect();
            entries.sort();
            for entry in entries {
                let bytes = archive.by_name(&entry).map_err(io::Error::other).and_then(read);
                take(ClassFileAt {
                    name: &format!("{}!{entry}", file.display()),
                    file: &file,
                    for_newer: entry.contains(VERSIONS),
                    bytes: bytes.as_deref().map_err(|e| e.to_string()),
                });
            }
            Ok(())
        }
    }
}

/// `seen`: directories by device and number; links may lead back.
fn in_directory(
    top: &Path,
    directory: &Path,
    seen: &mut HashSet<(u64, u64)>,
    take: &mut dyn FnMut(ClassFileAt<'_>),
) -> Result<(), PlaceError> {
    let fail = |e| CLASS_FILES.io(directory, e);
    let facts = fs::metadata(directory).map_err(fail)?;
    if !seen.insert((facts.dev(), facts.ino())) {
        return Ok(());
    }
    let entries = fs::read_dir(directory).map_err(fail)?.map(|entry| entry.map(|e| e.path()));
    let mut paths: Vec<PathBuf> = entries.collect::<Result<_, _>>().map_err(fail)?;
    paths.sort();
    for path in paths {
        if path.is_dir() {
            in_directory(top, &path, seen, take)?;
        } else if path.extension().is_some_and(|extension| extension == "class") && path.is_file() {
            let bytes = File::open(&path).and_then(read);
            take(ClassFileAt {
                name: &path.display().to_string(),
                file: &path,
                for_newer: path.strip_prefix(top).is_ok_and(|path| path.to_string_lossy().contains(VERSIONS)),
                bytes: bytes.as_deref().map_err(|e| e.to_string()),
            });
        }
    }
    Ok(())
}

fn read(from: impl Read) -> io::Result<Vec<u8>> {
    whole(from)?.ok_or_else(|| io::Error::other(format!("it is larger than {} MB", MAX_SIZE >> 20)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use zip::write::SimpleFileOptions;

    #[test]
    fn directories_and_jars() {
        let directory = std::env::temp_dir().join(format!("cprof-class-files-{}", std::process::id()));
        let jar = directory.join("it.jar");
        fs::create_dir_all(directory.join("tree/b/c")).unwrap();
        fs::create_dir_all(directory.join("tree/META-INF/versions/9")).unwrap();
        for (name, text) in [("b/c/D.class", "d"), ("A.class", "a"), ("b/C.java", "no"), ("META-INF/versions/9/A.class", "a9")] {
            fs::write(directory.join("tree").join(name), text).unwrap();
        }
        fs::create_dir_all(directory.join("elsewhere")).unwrap();
        fs::write(directory.join("elsewhere/E.class"), "e").unwrap();
        std::os::unix::fs::symlink("../elsewhere", directory.join("tree/link")).unwrap();
        std::os::unix::fs::symlink(".", directory.join("tree/loop")).unwrap();
        let mut zip = zip::ZipWriter::new(File::create(&jar).unwrap());
        let newer = "BOOT-INF/classes/META-INF/versions/21/z/Z.class";
        let entries = ["z/Z.class", "BOOT-INF/classes/a/B.class", newer, "x.txt", "bad.class"];
        for name in entries {
            zip.start_file(name, SimpleFileOptions::default()).unwrap();
            zip.write_all(name.repeat(9).as_bytes()).unwrap();
        }
        zip.finish().unwrap();
        // The end of what "bad.class" is compressed to.
        let mut bytes = fs::read(&jar).unwrap();
        let at = bytes.windows(9).position(|w| w == b"bad.class").unwrap() + 9;
        bytes[at..at + 8].fill(0xff);
        fs::write(&jar, bytes).unwrap();

        let found = |path: &Path| {
            let mut found = Vec::new();
            each(path, &mut |class| {
                let name = class.name.strip_prefix(directory.to_str().unwrap()).unwrap().to_owned();
                assert_eq!(class.file, if path == jar { jar.clone() } else { directory.join(&name[1..]) });
                found.push((name, class.for_newer, class.bytes.is_ok()));
            })
            .unwrap();
            found
        };
        let of = |list: &[(&str, bool, bool)]| list.iter().map(|(name, b, c)| ((*name).to_owned(), *b, *c)).collect::<Vec<_>>();
        assert_eq!(
            found(&directory.join("tree")),
            of(&[
                ("/tree/A.class", false, true),
                ("/tree/META-INF/versions/9/A.class", true, true),
                ("/tree/b/c/D.class", false, true),
                ("/tree/link/E.class", false, true)
            ])
        );
        assert_eq!(
            found(&jar),
            of(&[
                (&format!("/it.jar!{newer}"), true, true),
                ("/it.jar!BOOT-INF/classes/a/B.class", false, true),
                ("/it.jar!bad.class", false, false),
                ("/it.jar!z/Z.class", false, true),
            ])
        );
        let fails = |path: &Path| each(path, &mut |_| {}).unwrap_err().to_string();
        assert!(fails(&directory.join("nowhere")).contains("No such file"));
        assert!(fails(&directory.join("tree/A.class")).ends_with("Give a directory, or a jar"));
        assert!(fails("/dev/null".as_ref()).contains("a device"));
        fs::remove_dir_all(directory).unwrap();
    }
}
