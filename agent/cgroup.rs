//! How much memory the process can have: the machine's, or less where a container's group of processes has a limit (cgroups(7)), or
//! the process its addresses (`ulimit -v`).

use cprof_profile::names::thousands;
use cprof_profile::proc::{Group, control_groups};
use std::fmt;
use std::fs;
use std::path::PathBuf;

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

/// The names of a group's files.
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
        // A name among them may be no text.
        let [names, mounts] = ["cgroup", "mountinfo"].map(|file| fs::read(format!("/proc/self/{file}")).unwrap_or_default());
        let mut limits = Limits::of_groups(&String::from_utf8_lossy(&names), &String::from_utf8_lossy(&mounts));
        let group = limits.groups.iter().filter_map(limit).min().unwrap_or(u64::MAX);
        limits.contexts = (machine().min(group) / 4).min(group.saturating_sub(heap) / 2).min(addresses(heap)).clamp(LEAST, MOST);
        limits
    }

    /// Those of these groups alone, as [`control_groups`] finds them.
    pub fn of_groups(names: &str, mounts: &str) -> Limits {
        Limits { contexts: MOST, groups: control_groups(names, mounts, "memory") }
    }

    /// What the tightest group leaves; `None`: no group has a limit below what the machine has.
    pub fn left(&self) -> Option<Left> {
        self.groups.iter().filter_map(left).min_by_key(|left| left.bytes)
    }
}

fn files(group: &Group) -> &'static Files {
    if group.version == 1 { &VERSION_1 } else { &VERSION_2 }
}

/// `None`: it has none, which is `max` in version 2.
fn limit(group: &Group) -> Option<u64> {
    fs::read_to_string(group.path.join(files(group).limit)).ok()?.trim().parse().ok()
}

fn left(group: &Group) -> Option<Left> {
    let files = files(group);
    // Version 1 has a large number for none.
    let limit = limit(group).filter(|&limit| limit < machine())?;
    let used: u64 = fs::read_to_string(group.path.join(files.usage)).ok()?.trim().parse().ok()?;
    let statistics = fs::read_to_string(group.path.join("memory.stat")).unwrap_or_default();
    let pages = |name: &&str| statistics.lines().find_map(|line| line.strip_prefix(*name)?.trim().parse::<u64>().ok());
    let spare = files.spare.iter().filter_map(pages).sum();
    Some(Left { bytes: limit.saturating_sub(used.saturating_sub(spare)), limit, file: group.path.join(files.limit) })
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
        put("v2/memory.max", "max\n");
        put("v2/a/memory.max", "3000\n");
        put("v2/a/b/memory.max", "4000\n");
        put("v1/memory.limit_in_bytes", "9223372036854771712\n");
        put("v1/x/memory.limit_in_bytes", "2000\n");
        let at = root.display();
        let mounts = format!("1 0 0:1 / {at}/v1 rw - cgroup cgroup rw,memory\n2 0 0:2 / {at}/v2 rw - cgroup2 cgroup2 rw\n");
        let least = |names: &str| Limits::of_groups(names, &mounts).groups.iter().filter_map(limit).min();
        assert_eq!(least("0::/a/b\n"), Some(3000));
        assert_eq!(least("0::/\n"), None);
        assert_eq!(least("5:cpu,memory:/x\n0::/a\n"), Some(2000));
        assert_eq!(least("5:cpuset:/x\n"), None);
        // One that cannot be seen: what is mounted is better than nothing.
        let inside = mounts.replace(&format!("/ {at}/v2"), &format!("/docker/x {at}/v2/a"));
        let least = Limits::of_groups("0::/elsewhere\n", &inside).groups.iter().filter_map(limit).min();
        assert_eq!(least, Some(3000));
        // What is left of them, pages that the kernel takes back not counted.
        put("v2/a/memory.current", "2500\n");
        put("v2/a/memory.stat", "anon 900\ninactive_file 300\nactive_file 100\n");
        put("v2/a/b/memory.current", "100\n");
        assert_eq!(
            Limits::of_groups("0::/a/b\n", &mounts).left(),
            Some(Left { bytes: 900, limit: 3000, file: root.join("v2/a/memory.max") })
        );
        fs::remove_dir_all(&root).unwrap();
    }
}
