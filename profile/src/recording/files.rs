//! Where recordings are: the names that the agent and the `cprof` command agree on.

/// The directory with the recordings' directories. A tmpfs on every Linux with glibc's `shm_open`.
pub const SHARED_MEMORY: &str = "/dev/shm";
/// The arena's file in a recording's directory.
pub const ARENA: &str = "arena";
/// The class log's file.
pub const CLASS_LOG: &str = "classes";

/// The name of a recording's directory: `cprof-<user>-<process>-<start>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct DirectoryName {
    /// Effective user of the process, in its own user namespace: for people. Whose a recording is, its directory's owner says.
    pub user: u32,
    /// Process id, in its own PID namespace.
    pub pid: u32,
    /// When it was made, milliseconds since 1970.
    pub started_ms: u64,
}

impl std::fmt::Display for DirectoryName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cprof-{}-{}-{}", self.user, self.pid, self.started_ms)
    }
}

impl DirectoryName {
    /// The parts of a name; none for names that the agent does not give.
    pub fn parse(name: &str) -> Option<DirectoryName> {
        let mut parts = name.strip_prefix("cprof-")?.split('-');
        let parsed = DirectoryName {
            user: parts.next()?.parse().ok()?,
            pid: parts.next()?.parse().ok()?,
            started_ms: parts.next()?.parse().ok()?,
        };
        (parts.next().is_none() && parsed.to_string() == name).then_some(parsed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let name = DirectoryName { user: 1000, pid: 70, started_ms: 1_795_172_307_999 };
        assert_eq!(DirectoryName::parse(&name.to_string()), Some(name));
        for other in ["cprof-1-2", "cprof-1-2-3-4", "cprof-+1-2-3", "cprof-01-2-3", "cprof-1-2-x", "other", "cprof-1-2-3/"] {
            assert_eq!(DirectoryName::parse(other), None, "{other}");
        }
    }
}
