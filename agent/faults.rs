//! Faults on demand: what a test makes go wrong, to see that the program does not notice. Only in builds with debug
//! assertions; in others these functions are empty and the points no code.
//!
//! The variable `CPROF_FAULTS` of the JVM names a file that is read when the agent is loaded and at each command to it. Its
//! line is `list PATH`: each point that is passed is appended to that file; or `KIND N POINT`: what happens where POINT is
//! passed for the N-th time. Kinds: `panic`; `error`, where the point can fail; `memory`: from there on no allocation of the
//! agent's succeeds; `slow`: it takes a second; `end`: the JVM is told to end, and the point is left when the agent has done
//! its part in that; the JVM goes on once the command is answered. When it happens, the line goes from the file.

/// The error numbers that faults are reported as: that of system calls, and that of JVMTI (JVMTI_ERROR_OUT_OF_MEMORY).
pub const NO_MEMORY: i32 = libc::ENOMEM;
/// As [`NO_MEMORY`], of JVMTI.
pub const JVMTI_NO_MEMORY: i32 = 110;

pub use switch::{answered, arm, fails, finished, memory_is_out};

/// Passes a point that cannot fail, but for panics and memory.
#[inline(always)]
pub fn pass(point: &'static str) {
    switch::pass(point);
}

/// Passes a point that fails as a system call does.
#[inline(always)]
pub fn io(point: &'static str) -> std::io::Result<()> {
    if fails(point) { Err(std::io::Error::from_raw_os_error(NO_MEMORY)) } else { Ok(()) }
}

#[cfg(not(debug_assertions))]
mod switch {
    /// Reads what is to go wrong.
    #[inline(always)]
    pub fn arm() {}

    /// Passes a point that may fail; whether it is to.
    #[inline(always)]
    pub fn fails(_point: &'static str) -> bool {
        false
    }

    #[inline(always)]
    pub fn pass(_point: &'static str) {}

    /// The agent has done its part in the end of the JVM.
    #[inline(always)]
    pub fn finished() {}

    /// A command is answered.
    #[inline(always)]
    pub fn answered() {}

    /// Whether allocations fail.
    #[inline(always)]
    pub fn memory_is_out() -> bool {
        false
    }
}

#[cfg(debug_assertions)]
mod switch {
    use crate::{Agent, lock, message};
    use std::fs::{File, OpenOptions};
    use std::io::Write;
    use std::path::PathBuf;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::{Duration, Instant};

    /// Longer than a JVM takes to begin its end once it was told, and than any command.
    const LONG: Duration = Duration::from_secs(60);
    const SLOW: Duration = Duration::from_secs(1);

    /// What happens.
    enum Kind {
        Panic,
        Error,
        Memory,
        Slow,
        End,
    }

    enum Order {
        List(File),
        Fault { kind: Kind, left: u32, point: String, file: PathBuf },
    }

    static ORDER: Mutex<Option<Order>> = Mutex::new(None);
    static OUT: AtomicBool = AtomicBool::new(false);
    static ENDS: AtomicBool = AtomicBool::new(false);

    /// Reads what is to go wrong.
    pub fn arm() {
        let Some(path) = std::env::var_os("CPROF_FAULTS") else { return };
        OUT.store(false, Ordering::Release);
        let order = std::fs::read_to_string(&path).ok();
        if order.as_deref() == Some("") {
            *lock(&ORDER) = None;
            return;
        }
        let order = order.and_then(|text| parse(text.trim(), PathBuf::from(&path)));
        if order.is_none() {
            message(&format!("{} has no order for faults; docs are in agent/faults.rs", path.display()));
        }
        *lock(&ORDER) = order;
    }

    fn parse(text: &str, file: PathBuf) -> Option<Order> {
        let (kind, rest) = text.split_once(' ')?;
        if kind == "list" {
            return OpenOptions::new().append(true).create(true).open(rest).ok().map(Order::List);
        }
        let kind = match kind {
            "panic" => Kind::Panic,
            "error" => Kind::Error,
            "memory" => Kind::Memory,
            "slow" => Kind::Slow,
            "end" => Kind::End,
            _ => return None,
        };
        let (left, point) = rest.split_once(' ')?;
        Some(Order::Fault { kind, left: left.parse().ok()?, point: point.to_owned(), file })
    }

    /// Passes a point that may fail; whether it is to.
    pub fn fails(point: &'static str) -> bool {
        at(point, "error")
    }

    pub fn pass(point: &'static str) {
        at(point, "");
    }

    fn at(point: &'static str, kinds: &str) -> bool {
        let mut order = lock(&ORDER);
        let kind = match &mut *order {
            Some(Order::List(file)) => {
                writeln!(file, "{point}:{kinds}").expect("the list of points can be written");
                return false;
            }
            Some(Order::Fault { kind, left, point: wanted, file }) if *left > 0 && wanted == point => {
                *left -= 1;
                if *left > 0 {
                    return false;
                }
                std::fs::write(file, "").expect("the file of orders can be written");
                kind
            }
            _ => return false,
        };
        match kind {
            Kind::Error => true,
            Kind::Memory => {
                OUT.store(true, Ordering::Release);
                false
            }
            Kind::Slow => {
                drop(order);
                std::thread::sleep(SLOW);
                false
            }
            Kind::End => {
                drop(order);
                ENDS.store(true, Ordering::Release);
                // SAFETY: the JVM handles this signal of its own accord.
                unsafe { libc::kill(libc::getpid(), libc::SIGTERM) };
                wait(|| Agent::get().is_some_and(|agent| agent.has_finished()));
                false
            }
            Kind::Panic => {
                drop(order);
                panic!("fault ordered at {point}");
            }
        }
    }

    fn wait(until: impl Fn() -> bool) {
        let since = Instant::now();
        while !until() && since.elapsed() < LONG {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// The agent has done its part in the end of the JVM.
    pub fn finished() {
        wait(|| !ENDS.load(Ordering::Acquire));
    }

    /// A command is answered.
    pub fn answered() {
        ENDS.store(false, Ordering::Release);
    }

    /// Whether allocations fail.
    pub fn memory_is_out() -> bool {
        OUT.load(Ordering::Acquire)
    }
}
