//! Which signals end this process, and when.

use crate::output;
use anyhow::{Context, Result};
use signal_hook::consts::{SIGCHLD, SIGXFSZ};
use signal_hook::flag;
use signal_hook::iterator::Signals;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Beyond the limit of its files (`ulimit -f`) a command says what it could not write, as where a disk is full, instead of being
/// killed in the midst of it. (By a handler that nobody asks: programs that it runs do not inherit those.)
pub fn outlive_full_files() {
    for signal in heeded(&[SIGXFSZ]) {
        // Without one, the command is killed as it was.
        let _ = flag::register(signal, Arc::default());
    }
}

/// Where the end of children is ignored, as some who start commands have it, nobody could wait for one (wait(2)): from here on it is
/// not.
pub fn hear_of_children() -> Result<()> {
    if heeded(&[SIGCHLD]).is_empty() {
        flag::register(SIGCHLD, Arc::default()).context("setting up how the JVM's end is met")?;
    }
    Ok(())
}

/// Signals that come while a command finishes what it has begun.
#[derive(Clone, Default)]
pub struct Interrupts {
    signalled: Arc<AtomicBool>,
    parting: Arc<Mutex<String>>,
}

impl Interrupts {
    /// Whether the first has come.
    pub fn have_come(&self) -> bool {
        self.signalled.load(Ordering::Relaxed)
    }

    /// Does something for which the first is told to wait; `parting`: what is said if the second comes meanwhile.
    pub fn during<T>(&self, parting: String, doing: impl FnOnce() -> T) -> T {
        self.say_at_second(parting);
        let done = doing();
        self.say_at_second(String::new());
        done
    }

    /// From here on. Empty: nothing is said of either.
    fn say_at_second(&self, parting: String) {
        *self.parting.lock().unwrap_or_else(PoisonError::into_inner) = parting;
    }
}

/// From here on, the first of these signals does not end this process, which finishes what it has begun; the second does.
pub fn finish_first(signals: &[i32]) -> Result<Interrupts> {
    let mut signals = Signals::new(heeded(signals)).context("setting up how signals are met")?;
    let interrupts = Interrupts::default();
    let Interrupts { signalled, parting } = interrupts.clone();
    std::thread::spawn(move || {
        for signal in signals.forever() {
            let again = signalled.swap(true, Ordering::Relaxed);
            let parting = parting.lock().unwrap_or_else(PoisonError::into_inner);
            if !parting.is_empty() {
                let waits = "interrupted: waiting for what has begun; interrupted again, this command ends at once";
                output::tell(format_args!("{}", if again { &*parting } else { waits }));
            }
            if again {
                std::process::exit(128 + signal);
            }
        }
    });
    Ok(interrupts)
}

/// Those of `signals` that were not being ignored when this process was started: who wrote `nohup` before a command wants it to
/// go on, and so does the program that it runs, which inherits what is ignored but no handlers (execve(2)).
pub fn heeded(signals: &[i32]) -> Vec<i32> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = ignored(&status);
    signals.iter().copied().filter(|signal| ignored >> (signal - 1) & 1 == 0).collect()
}

/// `SigIgn` of `/proc/<pid>/status`: a bit for each signal, the lowest for number 1.
fn ignored(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mask_is_of_signals_from_one_on() {
        let status = "SigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\nSigCgt:\t0000000180000000\n";
        assert_eq!(ignored(status), 1 << (signal_hook::consts::SIGHUP - 1) | 1 << (signal_hook::consts::SIGPIPE - 1));
        assert_eq!(ignored(""), 0);
    }
}
