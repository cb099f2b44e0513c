//! What `/proc` says of a process: to itself while it records, and to who looks at it.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// A field of a `stat`, 3 or a later one (proc_pid_stat(5)).
pub fn field(stat: &str, number: usize) -> Option<&str> {
    // The command's name, in parentheses, may contain anything: fields are counted from its end.
    stat.rsplit_once(')')?.1.split_whitespace().nth(number.checked_sub(3)?)
}

/// When a process began, in clock ticks since the machine's start, from its `stat`.
pub fn start(stat: &str) -> Option<u64> {
    field(stat, 22)?.parse().ok()
}

/// A control group, where this process sees it (cgroups(7)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Its directory.
    pub path: PathBuf,
    /// 1 or 2: what its files are called depends on it.
    pub version: u8,
    /// The process is in it. Otherwise that one cannot be seen from here, and this is what is mounted: another of the same
    /// container's, most likely.
    pub is_its: bool,
}

/// The groups that have to do with a controller, as `memory` or `pids`: those that a process's `cgroup` names and those they are
/// in, from the inside, as far as they are mounted, which `mountinfo` says (proc_pid_mountinfo(5)). Version 2 has one hierarchy,
/// version 1 one with the controller, and a system may have both.
pub fn control_groups(names: &str, mountinfo: &str, controller: &str) -> Vec<Group> {
    let has = |names: &str| names.split(',').any(|name| name == controller);
    let mut groups = Vec::new();
    for name in names.lines() {
        // number:controllers:path; version 2 has number 0 and names no controllers.
        let Some((controllers, path)) = name.split_once(':').and_then(|(_, rest)| rest.split_once(':')) else { continue };
        let version = if controllers.is_empty() { 2 } else { 1 };
        if version == 1 && !has(controllers) {
            continue;
        }
        let mounts = mountinfo.lines().filter_map(Mount::parse);
        let mounted = mounts.filter(|mount| match version {
            2 => mount.kind == "cgroup2",
            _ => mount.kind == "cgroup" && has(mount.options),
        });
        let mounted: Vec<Mount<'_>> = mounted.collect();
        // In a container its names may be those outside; what begins with `..` cannot be seen here.
        let below = |mount: &Mount<'_>| {
            let below = Path::new(path).strip_prefix(&mount.root).ok().filter(|below| !below.starts_with(".."))?;
            Some((mount.point.clone(), mount.point.join(below)))
        };
        let seen: Vec<(PathBuf, PathBuf)> = mounted.iter().filter_map(below).collect();
        for (point, group) in &seen {
            let above = group.ancestors().take_while(|group| group.starts_with(point));
            groups.extend(above.map(|path| Group { path: path.to_owned(), version, is_its: true }));
        }
        if let (true, Some(mount)) = (seen.is_empty(), mounted.into_iter().next()) {
            groups.push(Group { path: mount.point, version, is_its: false });
        }
    }
    groups
}

/// A line of `mountinfo`.
struct Mount<'l> {
    /// What of the file system is mounted.
    root: PathBuf,
    /// Where.
    point: PathBuf,
    kind: &'l str,
    options: &'l str,
}

impl Mount<'_> {
    fn parse(line: &str) -> Option<Mount<'_>> {
        let (mount, system) = line.split_once(" - ")?;
        let mut system = system.split(' ');
        let (kind, options) = (system.next()?, system.nth(1)?);
        let mut mount = mount.split(' ').skip(3);
        Some(Mount { root: unescaped(mount.next()?), point: unescaped(mount.next()?), kind, options })
    }
}

/// Blanks, line ends and backslashes are three octal digits behind a backslash there.
fn unescaped(text: &str) -> PathBuf {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        let digits = behind.get(..3).filter(|_| *first == b'\\').and_then(|digits| str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &behind[3..];
            }
            None => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    OsString::from_vec(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
31 23 0:28 / /sys rw - tmpfs tmpfs rw
32 31 0:29 / /sys/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct
39 31 0:36 / /sys/with\\040blank rw,relatime shared:9 master:3 - cgroup cgroup rw,pids
41 31 0:38 / /sys/unified rw,relatime - cgroup2 cgroup2 rw
";

    fn groups(names: &str, mounts: &str) -> Vec<(String, u8)> {
        let groups = control_groups(names, mounts, "pids").into_iter();
        groups.filter(|group| group.is_its).map(|group| (group.path.display().to_string(), group.version)).collect()
    }

    #[test]
    fn groups_are_found_where_they_are_mounted() {
        let found = |groups: &[(&str, u8)]| groups.iter().map(|&(path, version)| (path.to_owned(), version)).collect::<Vec<_>>();
        let first = found(&[("/sys/with blank/a/b", 1), ("/sys/with blank/a", 1), ("/sys/with blank", 1)]);
        assert_eq!(groups("9:cpu,cpuacct:/c\n8:pids:/a/b\n", MOUNTS), first);
        assert_eq!(groups("0::/d\n", MOUNTS), found(&[("/sys/unified/d", 2), ("/sys/unified", 2)]));
        assert_eq!(groups("9:cpu,cpuacct:/c\nnonsense\n1:name=systemd:/\n", MOUNTS), []);
        // In a container whose groups have their names outside.
        let inside = MOUNTS.replace("/ /sys/unified", "/docker/x /sys/unified");
        assert_eq!(groups("0::/docker/x/d\n", &inside), found(&[("/sys/unified/d", 2), ("/sys/unified", 2)]));
        // Another's, not the one that is mounted.
        for name in ["0::/elsewhere/d\n", "0::/docker/y\n"] {
            assert_eq!(groups(name, &inside), []);
        }
        assert_eq!(groups("0::/../d\n", MOUNTS), []);
        let unseen = control_groups("0::/../d\n", MOUNTS, "pids");
        assert_eq!(unseen, [Group { path: "/sys/unified".into(), version: 2, is_its: false }]);
    }

    #[test]
    fn what_is_escaped_is_read() {
        assert_eq!(unescaped("/a\\040b\\134c"), Path::new("/a b\\c"));
        assert_eq!(unescaped("/a\\04"), Path::new("/a\\04"));
    }

    #[test]
    fn names_of_commands_may_be_anything() {
        let rest: Vec<String> = (3..30).map(|field| field.to_string()).collect();
        assert_eq!(start(&format!("7 (a) b) {}", rest.join(" "))), Some(22));
        assert_eq!(start("7 (a) 3 4"), None);
    }
}
