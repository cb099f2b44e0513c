//! Which processes are JVMs.

use super::launcher::Arguments;
use super::perfdata::PerfData;
use crate::process::{self, Process, own_user, read_foreign};
use crate::recordings::Shelf;
use cprof_profile::names;
use rustix::fs::OFlags;
use std::io;
use std::path::Path;

/// A HotSpot JVM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Jvm {
    /// The process.
    pub process: Process,
    /// The class whose `main` runs, or the jar; empty when neither the JVM nor its command line tells.
    pub main: String,
    /// `17.0.19` or the like; empty when it is not known.
    pub version: String,
    /// What it says about commands from outside; none: it says nothing (-XX:-UsePerfData).
    pub attachable: Option<bool>,
    /// What cprof does in it.
    pub cprof: Presence,
    /// The agent's library that it has loaded, by the path that it sees; none also where there are several.
    pub agent: Option<String>,
}

/// What cprof does in a JVM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// It is not loaded.
    Absent,
    /// Loaded, but without a recording in shared memory: it counts in private memory, or has been detached.
    Loaded,
    /// It records in shared memory.
    Recording,
}

/// Why a process is not one to talk to.
#[derive(Debug)]
pub enum NotJvm {
    /// It is of another kind.
    Other,
    /// It is a `java` without a JVM in it so far.
    Starting,
    /// It has ended, or is about to.
    Ended,
    /// Another user's, or one with more rights than this command, about which nothing can be known.
    Unreadable,
}

impl NotJvm {
    /// Why HotSpot is not in a process.
    fn without(process: &Process) -> NotJvm {
        let is_java = |program: &Path| program.file_name().is_some_and(|name| name == "java");
        match process.program() {
            _ if process.is_ending() => NotJvm::Ended,
            Some(program) if is_java(&program) => NotJvm::Starting,
            _ => NotJvm::Other,
        }
    }
}

impl Jvm {
    /// Looks at a process.
    pub fn of(process: Process) -> Result<Jvm, NotJvm> {
        let files = process.mapped_files().map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => NotJvm::Unreadable,
            _ => NotJvm::without(&process),
        })?;
        let library = hotspot_among(&files).ok_or_else(|| NotJvm::without(&process))?;
        // A JVM that publishes none leaves the file of an earlier process of its id where it is.
        let publishes = files.iter().any(|file| PerfData::is_file_of(Path::new(file), &process));
        let data = if publishes { PerfData::of(&process).unwrap_or_default() } else { PerfData::default() };
        let text = |name| data.text(name).unwrap_or_default().to_owned();
        let version = match text("java.property.java.version") {
            known if !known.is_empty() => known,
            _ => match text("java.property.java.vm.version") {
                known if !known.is_empty() => known.split(['+', '-']).next().unwrap_or_default().to_owned(),
                _ => release(&process, library).unwrap_or_default(),
            },
        };
        let main = match text("sun.rt.javaCommand") {
            command if !command.is_empty() => names::main_of(&command, &process.command_line()).to_owned(),
            _ => main_of(&process.command_line(), |file| arguments_of(&process, file)),
        };
        // The first character: "can attach" (HotSpot, runtime/statSampler.cpp and perfData.cpp).
        let attachable = data.text("sun.rt.jvmCapabilities").map(|c| c.starts_with('1'));
        let agents: Vec<&String> = files.iter().filter(|file| file_name(file) == b"libcprof.so").collect();
        let agent = if let [agent] = agents[..] { Some(agent.clone()) } else { None };
        let recording = matches!(Shelf::of(&process).of_process(&process), Ok(Some(_)));
        let cprof = match (recording, agents.is_empty()) {
            (true, _) => Presence::Recording,
            (false, false) => Presence::Loaded,
            (false, true) => Presence::Absent,
        };
        Ok(Jvm { process, main, version, attachable, cprof, agent })
    }

    /// 17 of `17.0.19`; none when it is not known.
    pub fn feature(&self) -> Option<u32> {
        let mut parts = self.version.split(['.', '-', '+', '_']);
        match parts.next()?.parse().ok()? {
            1 => parts.next()?.parse().ok(),
            feature => Some(feature),
        }
    }
}

/// A JDK's `release` file has a dozen lines.
const LONGEST_RELEASE: u64 = 64 << 10;
/// Of a file of arguments, so much is read.
const LONGEST_ARGUMENTS: u64 = 1 << 20;

/// The last part of a path.
fn file_name(path: &str) -> &[u8] {
    Path::new(path).file_name().map_or(&[], |name| name.as_encoded_bytes())
}

/// HotSpot's library, if it is among these. OpenJ9 has one of the same name, and would write its state to a file when it is to be woken.
fn hotspot_among(files: &[String]) -> Option<&String> {
    let is_j9 = files.iter().any(|file| file_name(file).starts_with(b"libj9vm"));
    files.iter().find(|file| file_name(file) == b"libjvm.so").filter(|_| !is_j9)
}

/// `JAVA_VERSION` of the `release` file that every JDK has in its directory; libjvm.so is in `lib/server` below it.
fn release(process: &Process, library: &str) -> Option<String> {
    let home = Path::new(library).ancestors().nth(3)?;
    let (text, _) = read_foreign(&process.path(home.join("release").to_str()?), LONGEST_RELEASE, OFlags::empty()).ok()?;
    let text = String::from_utf8_lossy(&text);
    let version = text.lines().find_map(|l| l.strip_prefix("JAVA_VERSION="))?;
    Some(version.trim_matches('"').to_owned())
}

/// The main class or jar of a command line, as the launcher finds it. `read`: see [`Arguments::of`].
fn main_of(arguments: &[String], read: impl Fn(&Path) -> Option<Vec<u8>>) -> String {
    let main = Arguments::of(arguments.get(1..).unwrap_or_default(), read).main;
    main.map_or_else(String::new, |main| main.to_string_lossy().into_owned())
}

/// A file of arguments of a process, unless it is another user's: what it names is told, and it may be a link to anything.
fn arguments_of(process: &Process, file: &Path) -> Option<Vec<u8>> {
    let within = if file.is_absolute() { "root" } else { "cwd" };
    let path = Path::new("/proc").join(process.pid.to_string()).join(within).join(file.strip_prefix("/").unwrap_or(file));
    let (text, _) = (process.user == own_user()).then(|| read_foreign(&path, LONGEST_ARGUMENTS, OFlags::empty()))?.ok()?;
    Some(text)
}

/// All JVMs of this user, for root of all users.
///
/// # Errors
/// `/proc` cannot be read.
pub fn all() -> io::Result<Vec<Jvm>> {
    let own = own_user();
    let processes = process::all()?.into_iter().filter_map(|pid| Process::find(pid).ok());
    Ok(processes.filter(|p| own == 0 || p.user == own).filter_map(|p| Jvm::of(p).ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_jvms_are_not_taken_for_hotspot() {
        let among = |files: &[&str]| hotspot_among(&files.iter().map(|&file| file.to_owned()).collect::<Vec<_>>()).cloned();
        let hotspot = "/opt/jdk/lib/server/libjvm.so";
        assert_eq!(among(&["/lib/libc.so.6", hotspot]).as_deref(), Some(hotspot));
        assert_eq!(among(&["/opt/j9/lib/default/libjvm.so", "/opt/j9/lib/default/libj9vm29.so"]), None);
        assert_eq!(among(&["/lib/libjvm.so.6"]), None);
    }

    #[test]
    fn main_classes_of_command_lines() {
        let read = |_: &Path| Some(b"-Xmx1g Main".to_vec());
        let main = |line: &str| main_of(&line.split(' ').map(str::to_owned).collect::<Vec<_>>(), read);
        assert_eq!(main("java -Xmx1g -cp a:b --add-opens java.base/java.lang=ALL-UNNAMED com.acme.Main -x y"), "com.acme.Main");
        assert_eq!(main("java -jar app.jar run"), "app.jar");
        assert_eq!(main("java -m acme/com.acme.Main"), "acme/com.acme.Main");
        assert_eq!(main("java -ea @options x"), "Main");
        assert_eq!(main("java -version"), "");
    }
}
