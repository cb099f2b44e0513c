//! The terminal: taken at the beginning, given back as it was however the command ends.

use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::event::{self, Event};
use crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
    disable_raw_mode, enable_raw_mode, size,
};
use crossterm::{execute, queue};
use std::io::{self, Write};
use std::time::Duration;

/// The alternate screen with keys unbuffered.
pub struct Screen;

impl Screen {
    /// Takes the terminal.
    pub fn new() -> io::Result<Screen> {
        enable_raw_mode()?;
        let screen = Screen;
        execute!(io::stdout(), EnterAlternateScreen, Hide)?;
        Ok(screen)
    }

    /// Shows lines, made for so many columns and rows. Each is written over the last and all of them go out at once, as standard
    /// output would pass them on in pieces of a kilobyte: nothing flickers, and nobody sees one half of two pictures.
    pub fn show(&mut self, lines: impl FnOnce(usize, usize) -> Vec<String>) -> io::Result<()> {
        // Some terminals do not know their size: those of serial lines, of `script`.
        let (width, height) = match size()? {
            (0, _) | (_, 0) => (80, 24),
            size => size,
        };
        let mut out = Vec::new();
        queue!(out, BeginSynchronizedUpdate)?;
        for (row, line) in lines(width.into(), height.into()).iter().take(height.into()).enumerate() {
            queue!(out, MoveTo(0, row as u16), Clear(ClearType::CurrentLine))?;
            out.write_all(line.as_bytes())?;
        }
        queue!(out, Clear(ClearType::FromCursorDown), EndSynchronizedUpdate)?;
        let mut terminal = io::stdout().lock();
        terminal.write_all(&out)?;
        terminal.flush()
    }

    /// What the user did, if anything in this time.
    pub fn event(&mut self, wait: Duration) -> io::Result<Option<Event>> {
        if event::poll(wait)? { event::read().map(Some) } else { Ok(None) }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // A terminal that has gone needs nothing.
        let _ = execute!(io::stdout(), Show, LeaveAlternateScreen);
        let _ = disable_raw_mode();
    }
}
