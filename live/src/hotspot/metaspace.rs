//! A JVM's memory for classes, as it says itself.

use super::attach::{AttachError, STANDING, ask};
use super::jvm::Jvm;

/// A JVM's metaspace, where it is limited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metaspace {
    /// Loaded classes.
    pub classes: u64,
    /// What is limited of it; at least one.
    pub rooms: Vec<Room>,
}

/// Something of which a JVM has only so much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// What.
    pub kind: Kind,
    /// Bytes that it may have.
    pub limit: u64,
    /// Bytes that it has.
    pub committed: u64,
}

/// What is limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Everything: `-XX:MaxMetaspaceSize`.
    All,
    /// The space of the classes themselves: `-XX:CompressedClassSpaceSize`, which is never unlimited.
    Classes,
}

/// A space for classes with as much as that left is not taken for limited: it is the half of what it is unless limited.
const PLENTY: u64 = 512 << 20;

impl Metaspace {
    /// Of a JVM; none where it is not limited, or the JVM does not say so in the words of HotSpot 17 to 25
    /// (`metaspaceReporter.cpp`).
    ///
    /// # Errors
    /// The JVM cannot be asked.
    pub fn of(jvm: &Jvm) -> Result<Option<Metaspace>, AttachError> {
        // To count classes the JVM stands still and goes through all loaders.
        let basic = ask(jvm, "jcmd", ["VM.metaspace basic", "", ""], STANDING)?;
        if limit(&basic).is_none() && class_space(&basic).is_none() {
            return Ok(None);
        }
        Ok(Metaspace::parse(&ask(jvm, "jcmd", ["VM.metaspace", "", ""], STANDING)?))
    }

    fn parse(report: &str) -> Option<Metaspace> {
        let all = limit(report).and_then(|limit| {
            // "Both: 44 chunks, 4.40 MB capacity, 1.03 MB ( 23%) committed, …"
            let committed = part(behind(report, "Both:")?, "committed")?;
            Some(Room { kind: Kind::All, limit, committed })
        });
        let rooms: Vec<Room> = all.into_iter().chain(class_space(report)).collect();
        // "Total Usage - 16 loaders, 951 classes (794 shared):"
        let usage = behind(report, "Total Usage")?;
        let classes = usage.split(", ").find_map(|part| part.split_once(" classes")?.0.trim().parse().ok())?;
        (!rooms.is_empty()).then_some(Metaspace { classes, rooms })
    }
}

impl Room {
    /// Bytes that may still be had.
    pub fn left(&self) -> u64 {
        self.limit.saturating_sub(self.committed)
    }
}

impl Kind {
    /// The option that limits it.
    pub fn option(self) -> &'static str {
        match self {
            Kind::All => "-XX:MaxMetaspaceSize",
            Kind::Classes => "-XX:CompressedClassSpaceSize",
        }
    }
}

/// The space of classes, where it has not plenty left: "Class space: 1.00 GB reserved, 128.00 KB ( <1%) committed, …"
fn class_space(report: &str) -> Option<Room> {
    let line = behind(report, "Class space:")?;
    let room = Room { kind: Kind::Classes, limit: part(line, "reserved")?, committed: part(line, "committed")? };
    (room.left() < PLENTY).then_some(room)
}

/// The size that is called so in a line of several.
fn part(line: &str, name: &str) -> Option<u64> {
    // Not at a comma within a number.
    line.split(", ").find_map(|part| size(part.trim().trim_end_matches(',').strip_suffix(name)?))
}

/// What follows a mark at the beginning of a line, the first of its kind.
fn behind<'r>(report: &'r str, mark: &str) -> Option<&'r str> {
    report.lines().find_map(|line| line.trim_start().strip_prefix(mark))
}

fn limit(report: &str) -> Option<u64> {
    size(behind(report, "MaxMetaspaceSize:")?)
}

/// `48.00 MB`, and what may follow. The JVM writes numbers as its locale has them, `48,00 MB` say.
fn size(text: &str) -> Option<u64> {
    let mut words = text.split_whitespace();
    let number: f64 = words.next()?.replace(',', ".").parse().ok()?;
    let unit = match words.next()? {
        "bytes" => 0,
        "KB" => 10,
        "MB" => 20,
        "GB" => 30,
        _ => return None,
    };
    Some((number * f64::from(1u32 << unit)) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_and_no_others() {
        let report = |limit: &str, class_space: &str| {
            format!(
                "0\n\nTotal Usage - 16 loaders, 951 classes (794 shared):\n\
                 \x20 Non-Class:   25 chunks,      4.12 MB capacity,  891.00 KB ( 21%) committed,   846.08 KB ( 20%) used\n\
                 \x20      Both:   44 chunks,      4.40 MB capacity,    1.25 MB ( 23%) committed,   937.77 KB ( 21%) used\n\n\
                 Virtual space:\n  Non-class space:       64.00 MB reserved,     192.00 KB ( <1%) committed,  1 nodes.\n\
                 \x20     Class space:       {class_space} reserved,     128.00 KB ( <1%) committed,  1 nodes.\n\
                 \x20            Both:      112.00 MB reserved,       1.06 MB ( <1%) committed. \n\n\
                 MaxMetaspaceSize: {limit}\nCompressedClassSpaceSize: {class_space}\n"
            )
        };
        let all = Room { kind: Kind::All, limit: 48 << 20, committed: 1280 << 10 };
        let classes = Room { kind: Kind::Classes, limit: 16 << 20, committed: 128 << 10 };
        let parsed = |limit, class_space| Metaspace::parse(&report(limit, class_space)).map(|m| (m.classes, m.rooms));
        assert_eq!(parsed("48.00 MB", "1.00 GB"), Some((951, vec![all])));
        assert_eq!(parsed("unlimited", "16.00 MB"), Some((951, vec![classes])));
        assert_eq!(parsed("48.00 MB", "16.00 MB"), Some((951, vec![all, classes])));
        let german = report("48,00 MB", "16,00 MB").replace("1.25 MB", "1,25 MB").replace("128.00 KB", "128,00 KB");
        assert_eq!(Metaspace::parse(&german).map(|m| (m.classes, m.rooms)), Some((951, vec![all, classes])));
        assert_eq!(all.left(), (48 << 20) - (1280 << 10));
        assert_eq!(parsed("unlimited", "1.00 GB"), None);
        assert_eq!(Metaspace::parse("101\nOperation jcmd not recognized!"), None);
    }
}
