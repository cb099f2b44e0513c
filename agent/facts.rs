//! The facts about a run, for its profile; and at once for its recording, as the JVM may be killed.

use crate::jvmti::Jvmti;
use cprof_profile::model::RunFacts;
use cprof_profile::names::main_of;
use cprof_profile::options::Options;
use cprof_profile::proc;
use cprof_profile::recording::{LOG_VERSION, Origin};

/// What ran, but for its end.
pub fn run(jvmti: Jvmti, options: &Options, pid: u32, started_ms: u64) -> RunFacts {
    let property = |name| jvmti.system_property(name).unwrap_or_default();
    let arguments = std::fs::read("/proc/self/cmdline").unwrap_or_default();
    let arguments = arguments.strip_suffix(b"\0").unwrap_or(&arguments);
    let arguments: Vec<String> = arguments.split(|&b| b == 0).map(|a| String::from_utf8_lossy(a).into_owned()).collect();
    RunFacts {
        cprof_version: env!("CARGO_PKG_VERSION").to_owned(),
        jvm_version: property("java.vm.version"),
        jvm_vendor: format!("{} {}", property("java.vm.vendor"), property("java.vm.name")),
        main_class: main_of(&property("sun.java.command"), &arguments).to_owned(),
        command_line: arguments,
        options: options.text.clone(),
        pid,
        started_ms,
        target: options.target.clone(),
        model: options.model.clone(),
        roots: options.roots.clone(),
        ..RunFacts::default()
    }
}

/// The first record of the class log.
pub fn origin(jvmti: Jvmti, options: &Options, pid: u32, started_ms: u64) -> Origin {
    Origin { log_version: LOG_VERSION, process_start: process_start(), run: run(jvmti, options, pid, started_ms) }
}

/// When this process began, in clock ticks since the machine's start; 0 where /proc does not tell.
fn process_start() -> u64 {
    std::fs::read_to_string("/proc/self/stat").ok().and_then(|stat| proc::start(&stat)).unwrap_or(0)
}
