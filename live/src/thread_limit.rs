//! Whether a process can start another thread.

use crate::process::{Process, read, user_name};
use cprof_profile::proc::control_groups;
use std::fs;
use std::path::PathBuf;

/// Capabilities with which the kernel asks for no limit (linux/capability.h; kernel/fork.c): CAP_SYS_ADMIN and CAP_SYS_RESOURCE.
const EXEMPT: u64 = 1 << 21 | 1 << 24;

/// Why it cannot, and the way out. What cannot be found out is no reason.
pub fn reached(process: &Process) -> Option<String> {
    of_user(process).or_else(|| of_group(process.pid))
}

/// The user's limit (getrlimit(2), RLIMIT_NPROC).
fn of_user(process: &Process) -> Option<String> {
    // In another user namespace the kernel counts that one's threads.
    if !process.shares("ns/user") {
        return None;
    }
    let pid = process.pid;
    let (user, _, capabilities) = owner(&read(&format!("/proc/{pid}/status")).ok()?)?;
    let (limit, hard) = limits(&read(&format!("/proc/{pid}/limits")).ok()?)?;
    if user == 0 || capabilities & EXEMPT != 0 {
        return None;
    }
    let ids = fs::read_dir("/proc").ok()?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let owners = ids.filter_map(|id| owner(&read(&format!("/proc/{id}/status")).ok()?));
    let threads: u64 = owners.filter(|&(of, ..)| of == user).map(|(_, threads, _)| threads).sum();
    (threads >= limit).then(|| {
        format!("{} has {threads} threads, and its limit is {limit} (ulimit -u); {}", user_name(user), advice(pid, threads, hard))
    })
}

/// How to give a process room for some threads more than these: within its hard limit, if that leaves any (getrlimit(2)).
fn advice(pid: u32, threads: u64, hard: Option<u64>) -> String {
    let more = threads + 64;
    match hard.map_or(more, |hard| hard.min(more)) {
        // With a colon, the hard limit stays as it is.
        within if within > threads => format!("as that user or root, raise it with: prlimit --pid {pid} --nproc={within}:"),
        _ => format!("as root, raise it with: prlimit --pid {pid} --nproc={more}"),
    }
}

/// A limit of its control group or of one above.
fn of_group(pid: u32) -> Option<String> {
    let groups = read(&format!("/proc/{pid}/cgroup")).ok()?;
    let mounts = read("/proc/self/mountinfo").ok()?;
    let (group, threads, limit) = full(&groups, &mounts)?;
    let file = group.join("pids.max");
    Some(format!("its control group has {threads} threads, and its limit is {limit}; raise that in {}", file.display()))
}

/// The first control group that takes no more threads, and how many it has and may have.
fn full(groups: &str, mounts: &str) -> Option<(PathBuf, u64, u64)> {
    let number = |file: PathBuf| read(file.to_str()?).ok()?.trim().parse::<u64>().ok();
    control_groups(groups, mounts, "pids").into_iter().filter(|group| group.is_its).find_map(|group| {
        let (threads, limit) = (number(group.path.join("pids.current"))?, number(group.path.join("pids.max"))?);
        (threads >= limit).then_some((group.path, threads, limit))
    })
}

/// Of `/proc/<pid>/status`: the real user, the number of threads, and the capabilities in effect.
fn owner(status: &str) -> Option<(u32, u64, u64)> {
    let first = |name: &str| status.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next();
    Some((first("Uid:")?.parse().ok()?, first("Threads:")?.parse().ok()?, u64::from_str_radix(first("CapEff:")?, 16).ok()?))
}

/// Of `/proc/<pid>/limits`: the soft limit of processes, which is one of threads, and the hard one; `None`: unlimited.
fn limits(limits: &str) -> Option<(u64, Option<u64>)> {
    let mut limits =
        limits.lines().find_map(|line| line.strip_prefix("Max processes"))?.split_whitespace().map(|limit| limit.parse().ok());
    Some((limits.next()??, limits.next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_proc_says_is_understood() {
        let status =
            "Name:\tjava\nUid:\t1000\t1001\t1001\t1001\nThreads:\t42\nCapInh:\t0000000000000000\nCapEff:\t0000000001000000\n";
        assert_eq!(owner(status), Some((1000, 42, 1 << 24)));
        assert_eq!(owner("Uid:\t1000\nThreads:\t"), None, "it has ended meanwhile");
        let text = "Limit                     Soft Limit           Hard Limit           Units     \n\
            Max stack size            8388608              unlimited            bytes     \n\
            Max processes             400                  32082                processes \n";
        assert_eq!(limits(text), Some((400, Some(32082))));
        assert_eq!(limits(&text.replace("32082", "unlimited")), Some((400, None)));
        assert_eq!(limits(&text.replace("400  ", "unlimited")), None);
    }

    #[test]
    fn the_advice_stays_within_the_hard_limit() {
        assert!(advice(7, 60, None).ends_with("as that user or root, raise it with: prlimit --pid 7 --nproc=124:"));
        assert!(advice(7, 60, Some(123)).ends_with("--nproc=123:"));
        assert!(advice(7, 60, Some(60)).ends_with("as root, raise it with: prlimit --pid 7 --nproc=124"));
    }

    #[test]
    fn a_full_group_is_found_wherever_it_is_mounted() {
        let base = std::env::temp_dir().join(format!("cprof-pids-{}", std::process::id()));
        let put = |group: &str, threads: &str, limit: &str| {
            let group = base.join(group);
            fs::create_dir_all(&group).unwrap();
            fs::write(group.join("pids.current"), threads).unwrap();
            fs::write(group.join("pids.max"), limit).unwrap();
        };
        put("pids/a/b", "5\n", "max\n");
        put("pids/a", "9\n", "9\n");
        put("pids/c", "8\n", "9\n");
        put("unified/d", "9\n", "7\n");
        let at = base.display();
        let mounts = format!(
            "31 23 0:28 / /sys rw - tmpfs tmpfs rw\n\
             32 31 0:29 / {at}/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct\n\
             39 31 0:36 / {at}/pids rw,relatime shared:9 master:3 - cgroup cgroup rw,pids\n\
             41 31 0:38 / {at}/unified rw,relatime - cgroup2 cgroup2 rw\n"
        );
        let full = |groups: &str, mounts: &str| {
            full(groups, mounts)
                .map(|(group, threads, limit)| (group.strip_prefix(&base).unwrap().to_str().unwrap().to_owned(), threads, limit))
        };
        let found = |group: &str, threads, limit| Some((group.to_owned(), threads, limit));
        assert_eq!(full("9:cpu,cpuacct:/a\n8:pids:/a/b\n0::/\n", &mounts), found("pids/a", 9, 9), "the group above");
        assert_eq!(full("8:pids:/c\n0::/d\n", &mounts), found("unified/d", 9, 7), "both versions");
        assert_eq!(full("9:cpu,cpuacct:/a\n8:pids:/c\n0::/\n", &mounts), None);
        // In a container whose groups have their names outside.
        let inside = mounts.replace(&format!("/ {at}/pids"), &format!("/docker/x {at}/pids"));
        assert_eq!(full("8:pids:/docker/x/a/b\n", &inside), found("pids/a", 9, 9));
        assert_eq!(full("8:pids:/elsewhere/a\n", &inside), None);
        put("pids", "9\n", "9\n");
        assert_eq!(full("8:pids:/../a\n", &mounts), None, "another's, not the one that is mounted");
        fs::remove_dir_all(&base).unwrap();
    }
}
