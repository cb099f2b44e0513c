//! The class files of a program, in directories and jars.

use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use thiserror::Error;
use zip::ZipArchive;
use zip::result::ZipError;

/// No compiler writes such a class file.
const MAX_SIZE: u64 = 64 << 20;

/// A place that cannot be read.
#[derive(Debug, Error)]
pub enum ClassesError {
    /// The file system says so.
    #[error("cannot read class files in {}: {error}", path.display())]
    Io {
        /// The place, or the file in it.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// It is no directory, and no archive.
    #[error("cannot read class files in {}: {error}. Give a directory of class files, or a jar", path.display())]
    Archive {
        /// The place.
        path: PathBuf,
        /// Why.
        error: ZipError,
    },
    /// It cannot be searched.
    #[error("{} is a pipe or a device. Give a directory of class files, or a jar", path.display())]
    Pipe {
        /// The place.
        path: PathBuf,
    },
}

/// Hands the class files in a directory or a jar to `each`, in order of name, with where they are (`jar!entry`). Those of a jar for
/// other versions of Java (`META-INF/versions`) are not: a program that has run with them has them in its profile.
///
/// # Errors
/// Something cannot be read.
pub fn each(path: &Path, each: &mut dyn FnMut(&str, &[u8])) -> Result<(), ClassesError> {
    let io = |error| ClassesError::Io { path: path.to_owned(), error };
    let metadata = fs::metadata(path).map_err(io)?;
    if metadata.is_dir() {
        return in_directory(path, each);
    }
    // A pipe would be waited for, and cannot be read back and forth.
    if !metadata.is_file() {
        return Err(ClassesError::Pipe { path: path.to_owned() });
    }
    let damaged = |error| ClassesError::Archive { path: path.to_owned(), error };
    let mut archive = ZipArchive::new(BufReader::new(File::open(path).map_err(io)?)).map_err(damaged)?;
    let is_meant = |name: &str| name.ends_with(".class") && !name.starts_with("META-INF/versions/");
    let mut names: Vec<String> =
        archive.file_names().flatten().filter(|name| is_meant(name)).map(|name| name.into_owned()).collect();
    names.sort();
    for name in names {
        let bytes = read(archive.by_name(&name).map_err(damaged)?).map_err(io)?;
        each(&format!("{}!{name}", path.display()), &bytes);
    }
    Ok(())
}

/// Links to directories are not followed: they may lead back.
fn in_directory(directory: &Path, each: &mut dyn FnMut(&str, &[u8])) -> Result<(), ClassesError> {
    let io = |path: &Path, error| ClassesError::Io { path: path.to_owned(), error };
    let entries = fs::read_dir(directory).map_err(|e| io(directory, e))?;
    let mut entries: Vec<fs::DirEntry> = entries.collect::<Result<_, _>>().map_err(|e| io(directory, e))?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        if entry.file_type().map_err(|e| io(&path, e))?.is_dir() {
            in_directory(&path, each)?;
        } else if path.extension().is_some_and(|extension| extension == "class") && path.is_file() {
            let bytes = File::open(&path).and_then(read).map_err(|e| io(&path, e))?;
            each(&path.display().to_string(), &bytes);
        }
    }
    Ok(())
}

fn read(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(MAX_SIZE).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use zip::write::SimpleFileOptions;

    #[test]
    fn directories_and_jars() {
        let directory = std::env::temp_dir().join(format!("cprof-class-files-{}", std::process::id()));
        fs::create_dir_all(directory.join("tree/b/c")).unwrap();
        for (name, text) in [("tree/b/c/D.class", "d"), ("tree/A.class", "a"), ("tree/b/C.java", "no")] {
            fs::write(directory.join(name), text).unwrap();
        }
        std::os::unix::fs::symlink(&directory, directory.join("tree/loop")).unwrap();
        let jar = directory.join("it.jar");
        let mut zip = zip::ZipWriter::new(File::create(&jar).unwrap());
        for (name, text) in
            [("z/Z.class", "z"), ("BOOT-INF/classes/a/B.class", "b"), ("META-INF/versions/21/z/Z.class", "no"), ("x.txt", "")]
        {
            zip.start_file(name, SimpleFileOptions::default()).unwrap();
            zip.write_all(text.as_bytes()).unwrap();
        }
        zip.finish().unwrap();
        let found = |path: &Path| {
            let mut found = Vec::new();
            each(path, &mut |name, bytes| {
                let name = name.trim_start_matches(directory.to_str().unwrap()).to_owned();
                found.push((name, String::from_utf8(bytes.to_vec()).unwrap()));
            })
            .unwrap();
            found
        };
        let of =
            |list: &[(&str, &str)]| list.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect::<Vec<_>>();
        assert_eq!(found(&directory.join("tree")), of(&[("/tree/A.class", "a"), ("/tree/b/c/D.class", "d")]));
        assert_eq!(found(&jar), of(&[("/it.jar!BOOT-INF/classes/a/B.class", "b"), ("/it.jar!z/Z.class", "z")]));
        let fails = |path: &Path| each(path, &mut |_, _| {}).unwrap_err().to_string();
        assert!(fails(&directory.join("nowhere")).contains("No such file"));
        assert!(fails(&directory.join("tree/A.class")).ends_with("Give a directory of class files, or a jar"));
        assert!(fails("/dev/null".as_ref()).contains("a device"));
        fs::remove_dir_all(directory).unwrap();
    }
}
