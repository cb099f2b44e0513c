//! Whether a process can start another thread.

use crate::process::{Process, read, user_name};
use std::fs;
use std::path::Path;

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
        let more = threads + 64;
        // With a colon, the hard limit stays as it is.
        let colon = if hard.is_none_or(|hard| hard >= more) { ":" } else { "" };
        format!(
            "{} has {threads} threads, and its limit is {limit} (ulimit -u); as root, raise it with: prlimit --pid {pid} --nproc={more}{colon}",
            user_name(user),
        )
    })
}

/// A limit of its control group or of one above (cgroup v2, pids.max).
fn of_group(pid: u32) -> Option<String> {
    let groups = read(&format!("/proc/{pid}/cgroup")).ok()?;
    let group = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let mount = Path::new("/sys/fs/cgroup");
    let number = |group: &Path, file: &str| read(group.join(file).to_str()?).ok()?.trim().parse::<u64>().ok();
    mount.join(group).ancestors().take_while(|group| group.starts_with(mount)).find_map(|group| {
        let (threads, limit) = (number(group, "pids.current")?, number(group, "pids.max")?);
        (threads >= limit).then(|| {
            let file = group.join("pids.max");
            format!("its control group has {threads} threads, and its limit is {limit}; raise that in {}", file.display())
        })
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
}
