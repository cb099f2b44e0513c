//! How much memory the process can have: the machine's, or less where a container's group of processes has a limit (cgroups(7)), or
//! the process its addresses (`ulimit -v`).

use cprof_profile::names::thousands;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// What contexts may take unless the user says, at least: a tree for each thread of a small program.
const LEAST: u64 = 16 << 20;
/// And at most.
const MOST: u64 = 8 << 30;

/// How much memory the agent may take.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Bytes of contexts, unless the user says: a quarter of what the process can have; where that is limited, no more than half
    /// of what the heap leaves.
    pub contexts: u64,
    groups: Vec<Group>,
}

/// A group of processes that may have a limit.
#[derive(Debug, Clone)]
struct Group {
    path: PathBuf,
    files: &'static Files,
}

/// A group's files.
#[derive(Debug)]
struct Files {
    limit: &'static str,
    usage: &'static str,
    /// In `memory.stat`: pages of files, which the kernel takes back before it ends a process.
    spare: [&'static str; 2],
}

const VERSION_1: Files = Files {
    limit: "memory.limit_in_bytes",
    usage: "memory.usage_in_bytes",
    spare: ["total_inactive_file ", "total_active_file "],
};
const VERSION_2: Files = Files { limit: "memory.max", usage: "memory.current", spare: ["inactive_file ", "active_file "] };

/// What a limit leaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// Bytes.
    pub bytes: u64,
    /// Of so many.
    pub limit: u64,
    /// Where that stands.
    pub file: PathBuf,
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let megabytes = |bytes: u64| thousands(bytes >> 20);
        write!(f, "{} MB of {} in {} are left", megabytes(self.bytes), megabytes(self.limit), self.file.display())
    }
}

impl Left {
    /// Bytes that are the program's, which has more garbage, classes and compiled code later: none of them is to be taken.
    pub fn without_spare(&self) -> u64 {
        self.bytes.saturating_sub((self.limit / 16).clamp(16 << 20, 256 << 20))
    }
}

impl Limits {
    /// This process's, whose heap has at most so many bytes.
    pub fn of(heap: u64) -> Limits {
        let names = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let groups = groups(&names, Path::new("/sys/fs/cgroup"));
        let group = groups.iter().filter_map(Group::limit).min().unwrap_or(u64::MAX);
        let contexts = (machine().min(group) / 4).min(group.saturating_sub(heap) / 2).min(addresses(heap)).clamp(LEAST, MOST);
        Limits { contexts, groups }
    }

    /// Those of groups with these names.
    #[cfg(test)]
    pub fn of_groups(names: &str, mounted: &Path) -> Limits {
        Limits { contexts: MOST, groups: groups(names, mounted) }
    }

    /// What the tightest group leaves; `None`: no group has a limit below what the machine has.
    pub fn left(&self) -> Option<Left> {
        self.groups.iter().filter_map(Group::left).min_by_key(|left| left.bytes)
    }
}

impl Group {
    /// `None`: it has none, which is `max` in version 2.
    fn limit(&self) -> Option<u64> {
        fs::read_to_string(self.path.join(self.files.limit)).ok()?.trim().parse().ok()
    }

    fn left(&self) -> Option<Left> {
        // Version 1 has a large number for none.
        let limit = self.limit().filter(|&limit| limit < machine())?;
        let used: u64 = fs::read_to_string(self.path.join(self.files.usage)).ok()?.trim().parse().ok()?;
        let statistics = fs::read_to_string(self.path.join("memory.stat")).unwrap_or_default();
        let pages = |name: &&str| statistics.lines().find_map(|line| line.strip_prefix(*name)?.trim().parse::<u64>().ok());
        let spare = self.files.spare.iter().filter_map(pages).sum();
        Some(Left { bytes: limit.saturating_sub(used.saturating_sub(spare)), limit, file: self.path.join(self.files.limit) })
    }
}

fn machine() -> u64 {
    // SAFETY: sysconf has no preconditions.
    let (pages, size) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    u64::try_from(pages).unwrap_or(0) * u64::try_from(size).unwrap_or(0)
}

/// Half of what a limit of addresses leaves when the JVM has taken what it sets aside without using it: for its heap and what is
/// kept of that, for classes, for code, for its libraries; and the C library, for what each thread allocates.
fn addresses(heap: u64) -> u64 {
    const SET_ASIDE: u64 = 7 << 29;
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: getrlimit writes the structure.
    match unsafe { libc::getrlimit(libc::RLIMIT_AS, &mut limit) } {
        0 if limit.rlim_cur != libc::RLIM_INFINITY => {
            limit.rlim_cur.saturating_sub(SET_ASIDE).saturating_sub(heap + heap / 16) / 2
        }
        _ => u64::MAX,
    }
}

/// The groups that `/proc/self/cgroup` names, and those they are in, below where they are mounted. In a container their names may
/// be those outside, and what is there may be its own group only: that of the mount itself.
fn groups(names: &str, mounted: &Path) -> Vec<Group> {
    let groups = names.lines().filter_map(|line| {
        // number:controllers:path; version 2 has number 0 and names no controllers.
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        let (root, files) = match controllers {
            "" => (mounted.to_owned(), &VERSION_2),
            _ if controllers.split(',').any(|controller| controller == "memory") => (mounted.join("memory"), &VERSION_1),
            _ => return None,
        };
        let group = root.join(path.trim_start_matches('/'));
        let above = group.ancestors().take_while(|above| above.starts_with(&root));
        Some(above.map(|path| Group { path: path.to_owned(), files }).collect::<Vec<_>>())
    });
    groups.flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_limit_counts() {
        let root = std::env::temp_dir().join(format!("cprof-cgroup-{}", std::process::id()));
        let put = |name: &str, text: &str| {
            let file = root.join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        put("memory.max", "max\n");
        put("a/memory.max", "3000\n");
        put("a/b/memory.max", "4000\n");
        put("memory/memory.limit_in_bytes", "9223372036854771712\n");
        put("memory/docker/x/memory.limit_in_bytes", "2000\n");
        let limit = |names: &str, root: &Path| groups(names, root).iter().filter_map(Group::limit).min();
        assert_eq!(limit("0::/a/b\n", &root), Some(3000));
        assert_eq!(limit("0::/\n", &root), None);
        // Its name outside, of which nothing can be seen inside.
        assert_eq!(limit("0::/../elsewhere\n", &root.join("a")), Some(3000));
        assert_eq!(limit("5:cpu,memory:/docker/x\n1:name=systemd:/docker/x\n", &root), Some(2000));
        assert_eq!(limit("5:cpuset:/docker/x\n", &root), None);
        // What is left of them, pages that the kernel takes back not counted.
        put("a/memory.current", "2500\n");
        put("a/memory.stat", "anon 900\ninactive_file 300\nactive_file 100\n");
        put("a/b/memory.current", "100\n");
        assert_eq!(
            Limits::of_groups("0::/a/b\n", &root).left(),
            Some(Left { bytes: 900, limit: 3000, file: root.join("a/memory.max") })
        );
        fs::remove_dir_all(&root).unwrap();
    }
}
