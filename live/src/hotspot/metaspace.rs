//! A JVM's memory for classes, as it says itself.

use super::attach::{AttachError, ask};
use super::jvm::Jvm;

/// A JVM's metaspace, where it is limited (`-XX:MaxMetaspaceSize`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metaspace {
    /// Bytes that it may have.
    pub limit: u64,
    /// Bytes that it has.
    pub committed: u64,
    /// Loaded classes.
    pub classes: u64,
}

impl Metaspace {
    /// Of a JVM; none where it is not limited, or the JVM does not say so in the words of HotSpot 17 to 25
    /// (`metaspaceReporter.cpp`).
    ///
    /// # Errors
    /// The JVM cannot be asked.
    pub fn of(jvm: &Jvm) -> Result<Option<Metaspace>, AttachError> {
        // To count classes the JVM stands still and goes through all loaders.
        if limit(&ask(jvm, "jcmd", ["VM.metaspace basic", "", ""])?).is_none() {
            return Ok(None);
        }
        Ok(Metaspace::parse(&ask(jvm, "jcmd", ["VM.metaspace", "", ""])?))
    }

    fn parse(report: &str) -> Option<Metaspace> {
        let limit = limit(report)?;
        let behind = |mark: &str| behind(report, mark);
        // "Both: 44 chunks, 4.40 MB capacity, 1.03 MB ( 23%) committed, …"
        let committed = behind("Both:")?.split(',').find_map(|part| size(part.trim_end().strip_suffix("committed")?))?;
        // "Total Usage - 16 loaders, 951 classes (794 shared):"
        let classes = behind("Total Usage")?.split(", ").find_map(|part| part.split_once(" classes")?.0.trim().parse().ok())?;
        Some(Metaspace { limit, committed, classes })
    }

    /// Bytes that may still be had.
    pub fn left(&self) -> u64 {
        self.limit.saturating_sub(self.committed)
    }
}

/// What follows a mark at the beginning of a line, the first of its kind.
fn behind<'r>(report: &'r str, mark: &str) -> Option<&'r str> {
    report.lines().find_map(|line| line.trim_start().strip_prefix(mark))
}

fn limit(report: &str) -> Option<u64> {
    size(behind(report, "MaxMetaspaceSize:")?)
}

/// `48.00 MB`, and what may follow.
fn size(text: &str) -> Option<u64> {
    let mut words = text.split_whitespace();
    let number: f64 = words.next()?.parse().ok()?;
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
        let report = |limit: &str| {
            format!(
                "0\n\nTotal Usage - 16 loaders, 951 classes (794 shared):\n\
                 \x20 Non-Class:   25 chunks,      4.12 MB capacity,  891.00 KB ( 21%) committed,   846.08 KB ( 20%) used\n\
                 \x20      Both:   44 chunks,      4.40 MB capacity,    1.25 MB ( 23%) committed,   937.77 KB ( 21%) used\n\n\
                 Virtual space:\n             Both:      112.00 MB reserved,       1.06 MB ( <1%) committed. \n\n\
                 MaxMetaspaceSize: {limit}\nCompressedClassSpaceSize: 48.00 MB\n"
            )
        };
        let limited = Metaspace { limit: 48 << 20, committed: 1280 << 10, classes: 951 };
        assert_eq!(Metaspace::parse(&report("48.00 MB")), Some(limited));
        assert_eq!(limited.left(), (48 << 20) - (1280 << 10));
        assert_eq!(Metaspace::parse(&report("unlimited")), None);
        assert_eq!(Metaspace::parse("101\nOperation jcmd not recognized!"), None);
    }
}
