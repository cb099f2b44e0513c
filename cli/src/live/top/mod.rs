//! `cprof top`: what a JVM does now.
//!
//! [`view`] holds what is shown and turns it into lines; [`text`] fits names into columns; [`screen`] is the terminal.

mod screen;
mod text;
mod view;

use super::{out_path, which};
use crate::args::Top;
use crate::output;
use crate::style::Style;
use anyhow::{Context, Result, ensure};
use cprof_live::process::Process;
use cprof_live::recordings::Recording;
use cprof_live::take;
use cprof_profile::model::{RunFacts, Taken};
use cprof_profile::recording::Log;
use cprof_profile::recording::rates::{Look, Meter};
use screen::Screen;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use view::{Kind, View};

/// Rows of the table that is not for a terminal.
const PLAIN_ROWS: usize = 40;
/// Its width: names are not shortened.
const PLAIN_WIDTH: usize = usize::MAX;
/// Keys, as terminals send them: escape, and control-C, which ends nothing by itself where keys are not buffered.
const ESCAPE: u8 = 0x1B;
const INTERRUPT: u8 = 3;
/// How long a process whose recording has ended may take to end.
const ENDING: Duration = Duration::from_secs(1);

/// The keys among what a terminal sent: without arrows and the like, which begin as the escape key does. They come in one piece, and
/// keys pressed later may be behind them. (ECMA-48 5.4: `ESC [`, parameters, one final byte; `ESC O` and one byte are keys of a
/// keypad; `ESC` and another byte is a key with Alt, but for those that end this as the escape key does.)
fn keys(mut typed: &[u8]) -> Vec<u8> {
    let mut keys = Vec::new();
    while let [first, rest @ ..] = typed {
        typed = match (*first, rest) {
            (ESCAPE, [b'[', sequence @ ..]) => {
                let end = sequence.iter().position(|byte| (0x40..=0x7E).contains(byte));
                end.map_or(&[], |end| &sequence[end + 1..])
            }
            // An arrow with Alt.
            (ESCAPE, [ESCAPE, b'[' | b'O', ..]) => rest,
            (ESCAPE, [ESCAPE | INTERRUPT | b'q', ..]) => {
                keys.push(ESCAPE);
                rest
            }
            (ESCAPE, [b'O', _, rest @ ..] | [_, rest @ ..]) => rest,
            (key, rest) => {
                keys.push(key);
                rest
            }
        };
    }
    keys
}

/// Looks at a recording again and again.
struct Watch {
    process: Process,
    recording: Recording,
    run: RunFacts,
    meter: Meter,
    /// The last look, and when.
    last: Option<(Look, Instant)>,
}

/// Shows it: on a terminal until a key or the JVM's end, otherwise once.
pub fn top(args: &Top) -> Result<()> {
    let process = which::process(args.pid)?;
    let (recording, run) = recorded(args.pid)?;
    let mut watch = Watch { process, recording, run, meter: Meter::default(), last: None };
    if io::stdout().is_terminal() && io::stdin().is_terminal() { watch.live(args) } else { watch.once(args) }
}

/// What a process records now, and who it is.
fn recorded(pid: u32) -> Result<(Recording, RunFacts)> {
    let recording = which::recorded(pid)?;
    let run = take::origin(&recording)?.run;
    Ok((recording, run))
}

impl Watch {
    /// Looks; from the second time on, fills the view with what happened meanwhile. False: the recording has ended, and nobody
    /// knows when, so that there is no rate.
    fn look(&mut self, view: &mut View) -> Result<bool> {
        let begin = Instant::now();
        let reading = take::read(&self.recording)?;
        if !self.recording.is_recorded() {
            return Ok(false);
        }
        let (capture, log) = reading.into_parts();
        let look = self.meter.look(capture, &Log::read(&log));
        if let Some((earlier, when)) = &self.last {
            view.update(&look, look.since(earlier), begin.duration_since(*when), &self.meter);
        }
        view.memory = self.recording.size();
        view.took = begin.elapsed();
        self.last = Some((look, begin));
        Ok(true)
    }

    /// What the process records now that the recording has ended: cprof was detached and attached again. Or why it records nothing.
    fn next(&self) -> Result<(Recording, RunFacts), String> {
        let pid = self.process.pid;
        let since = Instant::now();
        while self.process.is_alive() {
            match recorded(pid) {
                Ok(next) => return Ok(next),
                Err(error) if since.elapsed() > ENDING => return Err(format!("cprof was detached: {error:#}")),
                Err(_) => std::thread::sleep(Duration::from_millis(20)),
            }
        }
        Err(format!("process {pid} has ended; if it was killed: cprof recover {pid}"))
    }

    fn once(&mut self, args: &Top) -> Result<()> {
        let mut view = View::new(args.pid, &self.run, Style::of(&io::stdout()));
        let begun = self.look(&mut view)?;
        std::thread::sleep(args.every);
        let pid = args.pid;
        ensure!(
            begun && self.look(&mut view)?,
            "the recording of JVM {pid} ended within the time, so that there is no rate; what there is now: cprof list, cprof list --stale"
        );
        let mut out = io::stdout().lock();
        for line in view.lines(PLAIN_WIDTH, PLAIN_ROWS + view::HEAD) {
            writeln!(out, "{line}")?;
        }
        Ok(())
    }

    fn live(&mut self, args: &Top) -> Result<()> {
        let ended = Arc::new(AtomicBool::new(false));
        // Whatever ends it, the terminal is given back.
        for signal in [SIGTERM, SIGHUP, SIGINT, SIGQUIT] {
            signal_hook::flag::register(signal, ended.clone())?;
        }
        let mut view = View::new(args.pid, &self.run, Style::of(&io::stdout()));
        view.keys = true;
        let mut screen = Screen::new().context("setting up the terminal")?;
        let mut next = Instant::now();
        while !ended.load(Ordering::Relaxed) {
            let has_ended = !self.recording.is_recorded() || !self.process.is_alive();
            if has_ended || !view.paused && Instant::now() >= next {
                if has_ended || !self.look(&mut view)? {
                    match self.next() {
                        Ok((recording, run)) if !view.paused => {
                            view.restart(&run);
                            (self.recording, self.run, self.meter, self.last) = (recording, run, Meter::default(), None);
                        }
                        // What is shown stays until the pause ends.
                        Ok(_) => {}
                        Err(why) => {
                            drop(screen);
                            output::tell(format_args!("{why}"));
                            return Ok(());
                        }
                    }
                }
                // Looking must not become all that a core does, however large the tree. A pause is over at once.
                next = Instant::now();
                if !view.paused {
                    next += if view.ready() { args.every.max(3 * view.took) } else { Duration::from_millis(200).min(args.every) };
                }
            }
            screen.show(|width, height| view.lines(width, height))?;
            let wait = if view.paused { args.every } else { next.saturating_duration_since(Instant::now()) };
            match screen.typed(wait.min(Duration::from_millis(250))).context("reading keys from the terminal")? {
                None => return Ok(()),
                Some(typed) => {
                    if !keys(&typed).into_iter().all(|key| self.key(key, &mut view)) {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    /// Does what a key says; false: the end.
    fn key(&mut self, key: u8, view: &mut View) -> bool {
        view.note.clear();
        match key {
            b'q' | ESCAPE | INTERRUPT => return false,
            b'm' => view.kind = Kind::Methods,
            b'c' => view.kind = Kind::Contexts,
            b't' => view.kind = Kind::Threads,
            b's' => view.order = view.order.next(),
            b' ' => {
                view.paused = !view.paused;
                // What happened in a pause is of no second that is shown.
                self.last = None;
            }
            b'w' => view.note = self.write().unwrap_or_else(|e| format!("no snapshot: {e:#}")),
            _ => {}
        }
        true
    }

    fn write(&self) -> Result<String> {
        ensure!(self.recording.is_recorded(), "the recording that is shown has ended");
        let profile = take::read(&self.recording)?.profile(Taken::Running)?;
        let now = profile.run.ended_ms / 1000;
        let path = out_path(&format!("cprof-{}-{now}.cprof", self.process.pid), profile.run.pid, profile.run.started_ms);
        output::write_profile(&path, &profile)?;
        Ok(format!("wrote {}", path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::{ESCAPE, keys};

    #[test]
    fn keys_behind_an_arrow_are_keys() {
        assert_eq!(keys(b"\x1b[A\xe9 \x1b[1;5Bw\x1bOPq"), b"\xe9 wq");
        assert_eq!(keys(b"mc\x1b"), [b'm', b'c', ESCAPE]);
        assert_eq!(keys(b"s\x1bx\x1b\x1b[c\x1b[200"), b"s");
        for typed in [b"\x1b\x1b", b"\x1b\x03", b"\x1bq"] {
            assert_eq!(keys(typed), [ESCAPE, typed[1]]);
        }
    }
}
