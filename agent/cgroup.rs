//! How much memory the process can have: the machine's, or less where a container's group of processes has a limit (cgroups(7)), or
//! the process its addresses (`ulimit -v`).

use std::fs;
use std::path::{Path, PathBuf};

/// Bytes.
pub fn memory() -> u64 {
    // SAFETY: sysconf has no preconditions.
    let (pages, size) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    let machine = u64::try_from(pages).unwrap_or(0) * u64::try_from(size).unwrap_or(0);
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let group = limit(&groups, Path::new("/sys/fs/cgroup")).unwrap_or(machine);
    machine.min(group).min(addresses())
}

/// What a limit of addresses leaves when the JVM has taken what it sets aside without using it: for classes, for code, for its
/// libraries; and half of the rest for its heap.
fn addresses() -> u64 {
    const SET_ASIDE: u64 = 5 << 29;
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: getrlimit writes the structure.
    match unsafe { libc::getrlimit(libc::RLIMIT_AS, &mut limit) } {
        0 if limit.rlim_cur != libc::RLIM_INFINITY => limit.rlim_cur.saturating_sub(SET_ASIDE) / 2,
        _ => u64::MAX,
    }
}

/// The least limit of the groups that `/proc/self/cgroup` names, and of those they are in, below where they are mounted. In a
/// container their names may be those outside, and what is there may be its own group only: that of the mount itself.
fn limit(groups: &str, mounted: &Path) -> Option<u64> {
    let limits = groups.lines().filter_map(|line| {
        // number:controllers:path; version 2 has number 0 and names no controllers.
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        let (root, file) = match controllers {
            "" => (mounted.to_owned(), "memory.max"),
            _ if controllers.split(',').any(|controller| controller == "memory") => {
                (mounted.join("memory"), "memory.limit_in_bytes")
            }
            _ => return None,
        };
        let group = root.join(path.trim_start_matches('/'));
        group.ancestors().take_while(|above| above.starts_with(&root)).filter_map(|group| number(group.join(file))).min()
    });
    limits.min()
}

/// None of a limit that is not set, `max` in version 2.
fn number(file: PathBuf) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
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
        assert_eq!(limit("0::/a/b\n", &root), Some(3000));
        assert_eq!(limit("0::/\n", &root), None);
        // Its name outside, of which nothing can be seen inside.
        assert_eq!(limit("0::/../elsewhere\n", &root.join("a")), Some(3000));
        assert_eq!(limit("5:cpu,memory:/docker/x\n1:name=systemd:/docker/x\n", &root), Some(2000));
        assert_eq!(limit("5:cpuset:/docker/x\n", &root), None);
        fs::remove_dir_all(&root).unwrap();
    }
}
