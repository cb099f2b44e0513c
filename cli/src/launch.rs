//! `cprof run`: the java command with the agent, from start to summary.

use crate::agent::{self, AGENT};
use crate::args::Run;
use crate::live;
use crate::output::{self, Identity, tell};
use crate::report;
use crate::signals;
use crate::stack_size;
use crate::style::Style;
use crate::usage::Usage;
use anyhow::{Context, Result, bail};
use cprof_profile::model::now_ms;
use cprof_profile::names::argument;
use cprof_profile::options;
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithRawSiginfo;
use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};

/// Runs the program and answers its exit code.
pub fn run(args: &Run) -> Result<ExitCode> {
    let Some((java, arguments)) = args.command.split_first() else { bail!("no java command") };
    let name = Path::new(java).file_name().unwrap_or(java);
    if name != "java" {
        bail!(Usage(format!(
            "{} is not a java command. Give one, as in: cprof run -- java -jar app.jar. For a program that starts \
             java itself, put the agent into JAVA_TOOL_OPTIONS: -agentpath:/path/to/{AGENT}=out=app-%p.cprof, a file for each JVM; \
             tools of the JDK take it behind -J, as in javac -J-agentpath:/path/to/{AGENT}=out=app.cprof",
            Path::new(java).display()
        )));
    }
    let now = now_ms() / 1000;
    // The agent replaces links, for it may be a privileged program's. This one is named by whoever has it.
    let linked = output::behind_link(Path::new(&args.out)).and_then(|file| file.to_str().map(options::literal));
    let out = linked.unwrap_or_else(|| options::with_start(&args.out, now));
    // The agent would find out at the end of the run.
    let filled = options::out_path(Path::new(&out), 0, now);
    if !in_directory_of_process(&out) {
        output::has_place(&filled, Path::to_owned)?;
    }
    // The agent's own line is replaced by the summary.
    let mut given = agent::Options::quiet();
    given.add("out", &out)?;
    given.counting(&args.counting)?;
    if args.deterministic {
        given.add("deterministic", "on")?;
    }
    given.check()?;
    let library = agent::find()?;
    if library.as_os_str().as_bytes().contains(&b'=') {
        bail!(
            "the agent is {}, and a JVM takes what is behind the first = for options; put it where the path has none, and name \
             it in CPROF_AGENT",
            library.display()
        );
    }
    let mut option = OsString::from("-agentpath:");
    option.push(library);
    option.push("=");
    option.push(given.text());

    // Handlers first: a signal that comes while the JVM is being started must reach it, not end us.
    let mut passed_on = signals::heeded(&[SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2]);
    // Of this one the JVM makes a thread dump though it was being ignored, as shells have it for jobs in the background.
    passed_on.push(SIGQUIT);
    let mut signals = SignalsInfo::<WithRawSiginfo>::new(passed_on).context("setting up how signals are passed on")?;
    signals::hear_of_children()?;
    let mut command = Command::new(java);
    // The user's own -Xss on the command line comes later and wins.
    let variables = stack_size::VARIABLES.map(|(name, _)| std::env::var_os(name));
    command.arg(option.as_os_str()).args(stack_size::leading(&variables));
    if args.deterministic {
        command.args(DETERMINISTIC).env("TZ", "UTC").env("LC_ALL", "C.UTF-8");
    }
    command.args(stack_size::widened(arguments));
    let path_of = |pid| options::out_path(Path::new(&out), pid, now);
    let before = (path_of(0) == path_of(1)).then(|| places(&path_of(0)));
    let mut child = command.spawn().with_context(|| {
        format!("cannot start {}; name the java command by its path, or put it on PATH", Path::new(java).display())
    })?;
    let pid = child.id();
    let path = path_of(pid);
    // A JVM is far from writing anything yet.
    let places = before.unwrap_or_else(|| places(&path));
    let handle = signals.handle();
    let forwarder = std::thread::spawn(move || signals.forever().for_each(|signal| forward(&signal, pid)));
    let status = child.wait().context("waiting for the JVM")?;
    handle.close();
    // The thread ends when its signals are closed; a panic in it has nothing to add to the program's result.
    let _ = forwarder.join();

    summarise(&path, written(&places), pid, args.quiet);
    Ok(ExitCode::from(exit_code(status)))
}

/// What can be set from outside so that runs do not differ: everything the program could ask its machine.
const DETERMINISTIC: [&str; 4] = ["-XX:ActiveProcessorCount=1", "-Duser.timezone=UTC", "-Duser.language=en", "-Duser.country=US"];

/// Whether the directory of a file to write has the process in its name, which is not known yet.
fn in_directory_of_process(out: &str) -> bool {
    Path::new(out).parent().is_some_and(|directory| options::out_path(directory, 0, 0) != options::out_path(directory, 1, 0))
}

/// Passes a signal on to the JVM.
fn forward(signal: &libc::siginfo_t, pid: u32) {
    // Of a key on a terminal (sigaction(2)), which reaches every process in its foreground: the JVM has had this one.
    if matches!(signal.si_signo, SIGINT | SIGQUIT) && signal.si_code == libc::SI_KERNEL {
        return;
    }
    // The pid is our child's, which is not reaped before the signals are closed or is being reaped now: then there is no such
    // process, as pids are not used again at once.
    if let (Some(child), Some(signal)) = (Pid::from_raw(pid as i32), Signal::from_named_raw(signal.si_signo)) {
        let _ = kill_process(child, signal);
    }
}

fn exit_code(status: ExitStatus) -> u8 {
    match (status.code(), status.signal()) {
        (Some(code), _) => code as u8,
        (None, signal) => 128 + signal.unwrap_or(0) as u8,
    }
}

/// Prints the summary unless it is to be `quiet`, and why there is none. Whether anybody reads that: the exit code is the program's.
fn summarise(path: &Path, written: Option<PathBuf>, pid: u32, quiet: bool) {
    if let Some(path) = written {
        if quiet {
            return;
        }
        // Standard error is not ours meanwhile: how far it is is said there, by another thread.
        let mut summary = Vec::new();
        match report::summary(&path, &mut summary, Style::of(&io::stderr())) {
            Ok(()) => drop(io::stderr().write_all(&summary)),
            Err(e) => tell(format_args!("{e:#}")),
        }
        return;
    }
    let shown = path.display();
    if path.metadata().is_ok_and(|file| !file.is_file()) {
        if !quiet {
            tell(format_args!("the profile went into {shown}, which is no file: there is nothing to sum up"));
        }
        return;
    }
    let older = if path.is_file() { ": what is there is of another run" } else { "" };
    tell(format_args!("no profile was written to {shown}{older}"));
    if let Some(left) = live::left_by(pid) {
        let left = left.display().to_string();
        let out = argument(&shown.to_string());
        tell(format_args!("what it had counted is in {left}; write it with: cprof recover {} -o {out}", argument(&left)));
    }
}

/// Where a file may be, and what was there.
type Place = (PathBuf, Option<Identity>);

/// Where the profile may be in the end, best first: where it is to be, or [elsewhere](options::elsewhere), as the agent then
/// says.
fn places(path: &Path) -> Vec<Place> {
    let elsewhere = path.file_name().map(|name| options::elsewhere(Path::new(name)));
    let places = std::iter::once(path.to_owned()).chain(elsewhere.into_iter().flatten());
    places.map(|place| (place.clone(), Identity::of(&place))).collect()
}

/// The profile of this run. What was there before is another run's, and what another user has in the directory for temporary
/// files none of ours.
fn written(places: &[Place]) -> Option<PathBuf> {
    let own = std::fs::metadata("/proc/self").map(|own| own.uid()).ok();
    let is_new = |(place, before): &&Place| place.is_file() && Identity::of(place) != *before;
    let is_ours = |(place, _): &&Place| place.symlink_metadata().is_ok_and(|file| file.is_file() && Some(file.uid()) == own);
    let (wanted, elsewhere) = places.split_first()?;
    let found = Some(wanted).filter(is_new).or_else(|| elsewhere.iter().filter(is_new).find(is_ours));
    found.map(|(place, _)| place.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_was_written_elsewhere_in_this_run_is_found() {
        let name = format!("cprof-launch-test-{}.cprof", std::process::id());
        let other = std::env::temp_dir().join(&name);
        let (of_none, of_other) = (places(&Path::new("/nowhere").join(&name)), places(&other));
        assert_eq!(written(&of_none), None);
        fs::write(&other, "").unwrap();
        assert_eq!(written(&of_none), Some(other.clone()));
        assert_eq!(written(&of_other), Some(other.clone()));
        assert_eq!(written(&places(&other)), None, "another run's");
        fs::remove_file(&other).unwrap();
        assert_eq!(written(&places(Path::new("/dev/null"))), None);
    }
}
