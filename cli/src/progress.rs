//! Says on a terminal what takes long, and how much of it is done; says nothing anywhere else.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What takes less is not spoken of: it would only flicker.
const LONG: Duration = Duration::from_millis(400);
/// Between two looks at how much is done.
const INTERVAL: Duration = Duration::from_millis(200);
/// How much is done when nobody says.
const UNKNOWN: u64 = u64::MAX;

/// Something under way; its line goes when this is dropped.
pub struct Progress {
    shared: Arc<Shared>,
    speaker: Option<JoinHandle<()>>,
}

struct Shared {
    over: Mutex<bool>,
    wake: Condvar,
    /// Per cent, or [`UNKNOWN`].
    done: AtomicU64,
}

impl Progress {
    /// Begins; `doing` as in "reading app.cprof".
    pub fn start(doing: String) -> Progress {
        let shared = Arc::new(Shared::new());
        let able = io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|t| t != "dumb");
        let speaker = able.then(|| {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || shared.speak(&doing, &mut io::stderr()))
        });
        Progress { shared, speaker }
    }

    /// So much is done, 0 to 1.
    pub fn reached(&self, part: f64) {
        self.shared.done.store((part * 100.0) as u64, Ordering::Relaxed);
    }
}

impl Shared {
    fn new() -> Shared {
        Shared { over: Mutex::new(false), wake: Condvar::new(), done: AtomicU64::new(UNKNOWN) }
    }

    fn end(&self) {
        *self.over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.wake.notify_all();
    }

    /// Speaks until it is over.
    fn speak(&self, doing: &str, terminal: &mut dyn Write) {
        let begin = Instant::now();
        let mut wait = LONG;
        loop {
            let over = self.over.lock().unwrap_or_else(PoisonError::into_inner);
            let (over, _) = self.wake.wait_timeout_while(over, wait, |over| !*over).unwrap_or_else(PoisonError::into_inner);
            if *over {
                break;
            }
            // A terminal may take its time.
            drop(over);
            wait = INTERVAL;
            // Some terminals do not know how wide they are.
            let columns = crossterm::terminal::size().map_or(0, |(columns, _)| usize::from(columns));
            let columns = if columns == 0 { 80 } else { columns };
            let line = line(doing, self.done.load(Ordering::Relaxed), begin.elapsed(), columns);
            // Whether a terminal shows it changes nothing.
            let _ = write!(terminal, "\r{line}\x1b[K");
        }
        if wait == INTERVAL {
            let _ = write!(terminal, "\r\x1b[K");
        }
    }
}

/// The line, short enough not to be wrapped.
fn line(doing: &str, done: u64, elapsed: Duration, columns: usize) -> String {
    let seconds = elapsed.as_secs();
    let state = if done == UNKNOWN { format!(" … {seconds} s") } else { format!(" … {done} %, {seconds} s") };
    let room = columns.saturating_sub(state.chars().count() + 1);
    doing.chars().filter(|c| !c.is_control()).take(room).chain(state.chars()).collect()
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.shared.end();
        if let Some(speaker) = self.speaker.take() {
            let _ = speaker.join(); // it does not panic, and nothing depends on it
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_fits_the_terminal() {
        assert_eq!(line("reading a.cprof", UNKNOWN, Duration::from_secs(3), 80), "reading a.cprof … 3 s");
        assert_eq!(line("writing \x1b[mlong name", 7, Duration::from_secs(12), 24), "writing [ml … 7 %, 12 s");
    }

    /// Notes what is written, for another thread to see.
    struct Noted<'n>(&'n Mutex<Vec<u8>>);

    impl Write for Noted<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_is_long_is_spoken_of_until_it_is_over() {
        let (shared, said) = (Shared::new(), Mutex::new(Vec::new()));
        shared.done.store(50, Ordering::Relaxed);
        std::thread::scope(|scope| {
            scope.spawn(|| shared.speak("testing", &mut Noted(&said)));
            while said.lock().unwrap().is_empty() {
                std::thread::sleep(Duration::from_millis(10));
            }
            shared.end();
        });
        let said = String::from_utf8(said.into_inner().unwrap()).unwrap();
        assert!(said.starts_with("\rtesting … 50 %, ") && said.ends_with(" s\x1b[K\r\x1b[K"), "{said:?}");
    }

    #[test]
    fn what_is_short_is_over_at_once() {
        let begin = Instant::now();
        let progress = Progress::start("testing".into());
        progress.reached(0.5);
        drop(progress);
        assert!(begin.elapsed() < Duration::from_secs(5));
    }
}
