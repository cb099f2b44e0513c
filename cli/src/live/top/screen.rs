//! The terminal: taken at the beginning, given back as it was however the command ends.

use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, DisableLineWrap, EnableLineWrap, EndSynchronizedUpdate, EnterAlternateScreen,
    LeaveAlternateScreen, disable_raw_mode, enable_raw_mode, size,
};
use crossterm::{execute, queue};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use std::io::{self, Write};
use std::time::Duration;

/// The alternate screen with keys unbuffered.
pub struct Screen;

impl Screen {
    /// Takes the terminal.
    pub fn new() -> io::Result<Screen> {
        enable_raw_mode()?;
        let screen = Screen;
        // Names may have characters that are wider than they are counted.
        execute!(io::stdout(), EnterAlternateScreen, DisableLineWrap, Hide)?;
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
        let lines = lines(width.into(), height.into());
        for (row, line) in lines.iter().take(height.into()).enumerate() {
            queue!(out, MoveTo(0, row as u16), Clear(ClearType::CurrentLine))?;
            out.write_all(line.as_bytes())?;
        }
        if lines.len() < usize::from(height) {
            queue!(out, MoveTo(0, lines.len() as u16), Clear(ClearType::FromCursorDown))?;
        }
        queue!(out, EndSynchronizedUpdate)?;
        let mut terminal = io::stdout().lock();
        terminal.write_all(&out)?;
        terminal.flush()
    }

    /// What was typed in this time, as the terminal sends it; `None`: the terminal has gone. (crossterm's own events are not told that,
    /// and are waited for without end: its issue 793.)
    pub fn typed(&mut self, wait: Duration) -> io::Result<Option<Vec<u8>>> {
        let stdin = io::stdin();
        let mut asked = [PollFd::new(&stdin, PollFlags::IN)];
        match poll(&mut asked, Some(&wait.try_into().unwrap_or_default())) {
            Ok(0) | Err(Errno::INTR) => return Ok(Some(Vec::new())),
            Ok(_) if !asked[0].revents().contains(PollFlags::IN) => return Ok(None),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        let mut bytes = [0; 256];
        match rustix::io::read(&stdin, &mut bytes) {
            Ok(0) | Err(Errno::IO) => Ok(None),
            Ok(length) => Ok(Some(bytes[..length].to_vec())),
            Err(Errno::INTR) => Ok(Some(Vec::new())),
            Err(error) => Err(error.into()),
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // A terminal that has gone needs nothing.
        let _ = execute!(io::stdout(), Show, EnableLineWrap, LeaveAlternateScreen);
        let _ = disable_raw_mode();
    }
}
