//! The agent's options: what stands after `-agentpath:libcprof.so=`. They are here and not in the agent, so that a command can
//! tell what is wrong with them before it starts a JVM or asks one.

mod caches;

use caches::Caches;
pub use caches::{MOST_BLOCKS, simulation};

use crate::cache::CacheSpec;
use crate::target::{Library, ModelFile};
use std::fmt;
use std::path::{Path, PathBuf};

/// So many times as large are stacks where cprof counts: woven frames are larger.
pub const STACKS: u64 = 4;

/// What the user asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// As given, for the profile.
    pub text: String,
    /// `out=`, with `%p` and `%t` still in it.
    pub out: PathBuf,
    /// No line at the end.
    pub quiet: bool,
    /// `bba=block`: a block that was entered counts whole.
    pub block: bool,
    /// Contexts distinguish call sites.
    pub sites: bool,
    /// `depth=`, 0: unlimited.
    pub depth: u32,
    /// `recursion=fold`.
    pub fold: bool,
    /// `root=`: patterns of methods, see [`crate::names::Pattern::matches_method`].
    pub roots: Vec<String>,
    /// Dotted class names with `*`.
    pub include: Vec<String>,
    /// Dotted class names with `*`.
    pub exclude: Vec<String>,
    /// `max-nodes=`, 0: unlimited.
    pub max_nodes: u64,
    /// `max-memory=` in bytes; `None`: the default for this machine.
    pub max_memory: Option<u64>,
    /// Fix what makes runs differ.
    pub deterministic: bool,
    /// The processor model that reports show unless asked for another; empty: none.
    pub target: String,
    /// The files of that model that do not come with cprof: its own, that of its base, and so on.
    pub model: Vec<ModelFile>,
    /// The method caches to simulate; those of which outcomes follow from the counts are not among them.
    pub caches: Vec<CacheSpec>,
}

/// What is wrong with the options, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong(String);

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

const VALID: &str = "out=PATH, quiet, bba=precise|block, sites=on|off, depth=N, recursion=full|fold, root=Class.method, \
                     include=PATTERN, exclude=PATTERN, max-nodes=N, max-memory=SIZE, deterministic=on|off, \
                     target=NAME, cache=SIZE/BLOCKS[+…], cache-scope=thread|shared";

/// The smallest `max-memory=`: a tree for each thread of a small program.
const LEAST_MEMORY: u64 = 16 << 20;
/// The largest: references in the arena are 32 bits wide in units of 8 bytes.
const MOST_MEMORY: u64 = 30 << 30;

/// The values of an option, as often as it is given, in the text of options that were valid when a recording began.
pub fn values<'o>(options: &'o str, name: &str) -> impl Iterator<Item = &'o str> {
    options
        .split(',')
        .filter_map(|option| option.split_once('='))
        .filter(move |(given, _)| *given == name)
        .map(|(_, value)| value)
}

/// Whether a word is the name of an option.
fn is_option(word: &str) -> bool {
    VALID.split(", ").any(|option| option.split('=').next() == Some(word))
}

impl Options {
    /// Parses the text after `=`; empty is all defaults.
    ///
    /// # Errors
    /// Options that do not exist, have no such value, or contradict each other.
    pub fn parse(text: &str) -> Result<Options, Wrong> {
        let mut o = Options {
            text: text.to_owned(),
            out: PathBuf::from("cprof-%p.cprof"),
            quiet: false,
            block: false,
            sites: false,
            depth: 0,
            fold: false,
            roots: Vec::new(),
            include: Vec::new(),
            exclude: Vec::new(),
            max_nodes: 0,
            max_memory: None,
            deterministic: false,
            target: String::new(),
            model: Vec::new(),
            caches: Vec::new(),
        };
        let mut seen = Vec::new();
        let mut caches = Caches::default();
        for (position, option) in text.split(',').filter(|option| !option.is_empty()).enumerate() {
            let (name, value) = match option.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None if is_option(option) => (option, None),
                // As in libcprof.so=jop,cache=4k/16.
                None if Library.is_named(option) => ("target", Some(option)),
                // What else stands first may have been meant to be either.
                None if position == 0 => {
                    let unknown = Library.load(option).err().map(|e| format!(", and {e}")).unwrap_or_default();
                    return Err(Wrong(format!("there is no option {option:?}{unknown}; options are {VALID}")));
                }
                None => (option, None),
            };
            let repeatable = matches!(name, "root" | "include" | "exclude");
            if !repeatable && seen.contains(&name) {
                return Err(Wrong(format!("option {name}= is given twice; give it once")));
            }
            seen.push(name);
            match name {
                "target" | "cache" | "cache-scope" => caches.set(name, value.unwrap_or_default())?,
                _ => o.set(name, value)?,
            }
        }
        caches.check(&mut o)?;
        Ok(o)
    }

    fn set(&mut self, name: &str, value: Option<&str>) -> Result<(), Wrong> {
        let needed = || match value {
            Some(value) if !value.is_empty() => Ok(value),
            _ => Err(Wrong(format!("option {name} needs a value: {name}=…; options are {VALID}"))),
        };
        let one_of = |first: &str, second: &str| match needed()? {
            value if value == first => Ok(false),
            value if value == second => Ok(true),
            value => Err(Wrong(format!("{name}={value} is not valid; {name}= takes {first} or {second}"))),
        };
        match name {
            "out" => {
                let out = needed()?;
                if let Some(stream) = of_program(out) {
                    return Err(Wrong(format!(
                        "out={out} is not valid: {stream} is the program's; name a file, as out=app.cprof"
                    )));
                }
                self.out = PathBuf::from(out);
            }
            "quiet" if value.is_none() => self.quiet = true,
            "quiet" => return Err(Wrong("option quiet takes no value".to_owned())),
            "bba" => self.block = one_of("precise", "block")?,
            "sites" => self.sites = one_of("off", "on")?,
            "recursion" => self.fold = one_of("full", "fold")?,
            "deterministic" => self.deterministic = one_of("off", "on")?,
            "depth" => self.depth = number(name, needed()?, u64::from(u32::MAX >> 1))? as u32,
            "max-nodes" => self.max_nodes = number(name, needed()?, u64::from(u32::MAX))?,
            "max-memory" => self.max_memory = Some(size(name, needed()?)?),
            "root" => self.roots.push(root(needed()?)?),
            "include" => self.include.push(pattern(name, needed()?)?),
            "exclude" => self.exclude.push(pattern(name, needed()?)?),
            _ => return Err(Wrong(format!("there is no option {name:?}; options are {VALID}"))),
        }
        Ok(())
    }
}

/// Which of a program's own streams is meant by the name of a file.
pub fn of_program(out: &str) -> Option<&'static str> {
    match out {
        "-" | "/dev/stdout" | "/dev/fd/1" | "/proc/self/fd/1" => Some("standard output"),
        "/dev/stderr" | "/dev/fd/2" | "/proc/self/fd/2" => Some("standard error"),
        _ => None,
    }
}

/// The file to write: `%p` is the process, `%t` the start of its recording in seconds since 1970, `%%` a percent sign.
pub fn out_path(pattern: &Path, pid: u32, start: u64) -> PathBuf {
    let value = |letter| match letter {
        'p' => Some(pid.to_string()),
        't' => Some(start.to_string()),
        '%' => Some('%'.to_string()),
        _ => None,
    };
    PathBuf::from(filled(&pattern.to_string_lossy(), value))
}

/// A pattern with the values of letters behind a percent sign in their places; what has none stays as it is.
fn filled(pattern: &str, value: impl Fn(char) -> Option<String>) -> String {
    let mut filled = String::new();
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        match (c, if c == '%' { chars.next() } else { None }) {
            ('%', Some(letter)) => match value(letter) {
                Some(value) => filled.push_str(&value),
                None => filled.extend(['%', letter]),
            },
            _ => filled.push(c),
        }
    }
    filled
}

/// The pattern that [`out_path`] makes this file of, whatever is in its name.
pub fn literal(path: &str) -> String {
    path.replace('%', "%%")
}

/// A pattern with the start of the recording filled in, for those who cannot know it otherwise.
pub fn with_start(pattern: &str, start: u64) -> String {
    filled(pattern, |letter| (letter == 't').then(|| start.to_string()))
}

/// Where a profile of this name is written if it cannot be where it should: the working directory, and then that for temporary
/// files.
pub fn elsewhere(name: &Path) -> [PathBuf; 2] {
    [name.to_owned(), std::env::temp_dir().join(name)]
}

fn number(name: &str, value: &str, most: u64) -> Result<u64, Wrong> {
    match value.parse::<u64>() {
        Ok(n) if (1..=most).contains(&n) => Ok(n),
        _ => Err(Wrong(format!("{name}={value} is not valid; {name}= takes a number from 1 to {most}"))),
    }
}

fn size(name: &str, value: &str) -> Result<u64, Wrong> {
    let wrong = || {
        let (least, most) = (LEAST_MEMORY >> 20, MOST_MEMORY >> 30);
        Wrong(format!("{name}={value} is not valid; {name}= takes a size from {least}m to {most}g, as 512m or 2g"))
    };
    let digits = value.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match value[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" => 10,
        "m" | "mb" => 20,
        "g" | "gb" => 30,
        _ => return Err(wrong()),
    };
    let bytes = digits.parse::<u64>().ok().and_then(|n| n.checked_mul(1 << shift)).ok_or_else(wrong)?;
    if (LEAST_MEMORY..=MOST_MEMORY).contains(&bytes) { Ok(bytes) } else { Err(wrong()) }
}

fn root(value: &str) -> Result<String, Wrong> {
    let (name, rest) = value.split_at(value.find('(').unwrap_or(value.len()));
    if !rest.is_empty() && !rest.contains([')', '*']) {
        return Err(Wrong(format!("root={value} is not valid: its parenthesis is not closed")));
    }
    match name.rsplit_once('.') {
        Some((class, method)) if !class.is_empty() && !method.is_empty() => Ok(value.to_owned()),
        _ => Err(Wrong(format!("root={value} is not valid; root= takes a class and a method, as root=com.acme.Main.run"))),
    }
}

fn pattern(name: &str, value: &str) -> Result<String, Wrong> {
    if value.contains('/') {
        return Err(Wrong(format!("{name}={value} is not valid; class names are written with dots, as {name}=com.acme.*")));
    }
    Ok(value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults() {
        let o = Options::parse("").unwrap();
        assert!(!o.quiet && !o.block && !o.sites && !o.fold && o.depth == 0 && o.max_memory.is_none());
        assert_eq!(out_path(&o.out, 7, 0), Path::new("cprof-7.cprof"));
    }

    #[test]
    fn names_of_files_are_filled_in_once() {
        for name in ["a%p.cprof", "a%%p", "%", "%%", "50%", "%t%", "%é"] {
            assert_eq!(out_path(Path::new(&literal(name)), 7, 11), Path::new(name));
            assert_eq!(out_path(Path::new(&with_start(name, 11)), 7, 99), out_path(Path::new(name), 7, 11), "{name}");
        }
        assert_eq!(with_start("%p-%t-%%t", 11), "%p-11-%%t");
    }

    #[test]
    fn all_options() {
        let o = Options::parse(
            "out=/a/%p-%t%%.cprof,quiet,bba=block,sites=on,depth=9,recursion=fold,root=a.B.c,root=D.<init>,include=a.*,\
             exclude=b.C,max-nodes=5,max-memory=1g,deterministic=on",
        )
        .unwrap();
        assert!(o.quiet && o.block && o.sites && o.fold && o.deterministic);
        assert_eq!((o.depth, o.max_nodes, o.max_memory), (9, 5, Some(1 << 30)));
        assert_eq!(o.roots, ["a.B.c", "D.<init>"]);
        assert_eq!((o.include.as_slice(), o.exclude.as_slice()), (&["a.*".to_owned()][..], &["b.C".to_owned()][..]));
        assert_eq!(out_path(&o.out, 7, 11), Path::new("/a/7-11%.cprof"));
    }

    #[test]
    fn a_processor_may_stand_anywhere() {
        for text in ["jop,quiet,cache=4k/16", "quiet,jop,cache=4k/16", "cache=4k/16,quiet,jop", "quiet,cache=4k/16,target=jop"] {
            let o = Options::parse(text).unwrap();
            assert_eq!((o.target.as_str(), o.caches.len()), ("jop", 1), "{text}");
        }
    }

    #[test]
    fn wrong_options_name_the_option_and_the_way_out() {
        for (text, names, way) in [
            ("colour=red", "colour", "bba=precise|block"),
            ("jup,cache=4k/16", "jup", "jop"),
            ("quiet,jup", "jup", "target=NAME"),
            ("jop,target=jop", "target", "twice"),
            ("bba=exact", "bba=exact", "precise or block"),
            ("sites", "sites", "needs a value"),
            ("quiet=yes", "quiet", "no value"),
            ("depth=0", "depth=0", "from 1"),
            ("depth=x", "depth=x", "number"),
            ("max-memory=1q", "max-memory=1q", "512m"),
            ("max-memory=99999999999999999999g", "max-memory=9", "512m"),
            ("max-memory=é", "max-memory=é", "512m"),
            ("quiett", "quiett", "out=PATH"),
            ("root=main", "root=main", "com.acme.Main.run"),
            ("root=A.main(I", "root=A.main(I", "not closed"),
            ("include=a/b", "include=a/b", "dots"),
            ("out=a,out=b", "out", "twice"),
            ("out=-", "out=-", "name a file"),
            ("out=/dev/stdout", "standard output is the program's", "name a file"),
            ("out=/dev/stderr", "standard error is the program's", "name a file"),
            ("cache=4k/16@shared,cache-scope=thread", "cache=4k/16@shared", "leave one of them out"),
        ] {
            let message = Options::parse(text).unwrap_err().to_string();
            assert!(message.contains(names) && message.contains(way), "{text}: {message}");
        }
    }
}
