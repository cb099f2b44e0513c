//! End-to-end tests of cprof: what the breakpoint oracle (`oracle/`) counts and what cprof reports must be equal, context by
//! context.
//!
//! - [`jdk`]: the JDKs of this machine
//! - [`build`]: compiles the oracle, `programs/` and the native library they use
//! - [`assemble`]: class files that javac does not write
//! - [`annotated`]: what `cprof annotate` and `cprof histogram` say
//! - [`attach`]: a running JVM, and commands to the agent in it
//! - [`caches`], [`processor`]: method caches, and the cycles a processor takes, simulated from what the oracle saw
//! - [`callgrind`]: profiles in callgrind's format
//! - [`compare`]: runs a program in all ways and compares
//! - [`guests`]: a program with other agents in it
//! - [`load`], [`http`], [`servers`]: servers, and clients that keep them busy
//! - [`faults`]: what goes wrong in the agent when a test says so
//! - [`javap`]: bytecode as the JDK itself prints it
//! - [`live`]: JVMs that are looked at, and ended, from outside
//! - [`program`]: what a program's head comment says about it
//! - [`tree`]: calling context trees by name, and where two of them differ
//! - [`evaluated`]: what `cprof report --target` says
//! - [`trace`]: calls and returns as the oracle saw them, in order
//! - [`random`]: classes full of what javac does not write
//! - [`run`]: programs under the oracle, under cprof, and under neither

pub mod annotated;
pub mod assemble;
pub mod attach;
pub mod build;
pub mod caches;
pub mod callgrind;
pub mod compare;
pub mod evaluated;
pub mod faults;
pub mod guests;
pub mod http;
pub mod javap;
pub mod jdk;
pub mod lcov;
pub mod live;
pub mod load;
pub mod processor;
pub mod program;
pub mod random;
pub mod run;
pub mod servers;
pub mod trace;
pub mod tree;

use std::fmt::Display;
use std::path::Path;
use std::time::{Duration, Instant};

/// Sends a signal to a child that has not been waited for, so that the pid is its own.
pub fn signal(pid: u32, signal: i32) {
    // SAFETY: kill has no memory to misuse.
    assert_eq!(unsafe { libc::kill(pid as i32, signal) }, 0);
}

/// Ends the test with a message, with the context of an error.
pub trait OrFail<T> {
    /// The value, or a panic that says what was being done.
    fn or_fail(self, doing: impl Display) -> T;
}

impl<T, E: Display> OrFail<T> for Result<T, E> {
    #[track_caller]
    fn or_fail(self, doing: impl Display) -> T {
        self.unwrap_or_else(|error| panic!("{doing}: {error}"))
    }
}

impl<T> OrFail<T> for Option<T> {
    #[track_caller]
    fn or_fail(self, doing: impl Display) -> T {
        self.unwrap_or_else(|| panic!("{doing}: not as expected"))
    }
}

/// A path as an argument of a command.
pub fn text(path: &Path) -> &str {
    path.to_str().expect("paths of tests are text")
}

/// How long what is asked of a JVM may take on a machine that is busy with something else.
pub(crate) const PATIENCE: Duration = Duration::from_secs(180);

/// Waits until something is so: a minute, for what takes a moment where nothing is wrong.
#[track_caller]
pub fn until(what: impl Display, mut is_so: impl FnMut() -> bool) {
    within(Duration::from_secs(60), what, || if is_so() { Ok(()) } else { Err("it is not so") });
}

/// Asks until there is an answer. Fails with why there was none the last time.
#[track_caller]
pub fn within<T, E: Display>(limit: Duration, what: impl Display, mut ask: impl FnMut() -> Result<T, E>) -> T {
    let since = Instant::now();
    loop {
        match ask() {
            Ok(answer) => return answer,
            Err(why) => assert!(since.elapsed() < limit, "waiting in vain for {what}: {why}"),
        }
        // What takes long need not be looked at so often.
        std::thread::sleep((since.elapsed() / 20).clamp(Duration::from_millis(5), Duration::from_millis(50)));
    }
}

/// Whether this machine lacks something, as `CPROF_WITHOUT` says, a list with commas: scripts/test sets it, and says what was
/// skipped. Tests that need what is neither there nor named fail.
pub fn is_without(what: &str) -> bool {
    let list = std::env::var("CPROF_WITHOUT").unwrap_or_default();
    list.split(',').any(|one| one == what)
}
