//! `cprof list`: the JVMs that run, and what dead ones have left.

use super::which;
use crate::args::{Format, List};
use crate::date::utc;
use crate::style::Style;
use crate::table::Table;
use crate::table::field;
use anyhow::{Context, Result};
use cprof_live::hotspot::jvm::{self, Jvm, Presence};
use cprof_live::process::{own_user, user_name};
use cprof_live::recordings::{Found, Recording, Shelf, State};
use cprof_profile::names::{counted, size};
use cprof_profile::recording::{Log, Origin};
use serde_json::json;
use std::io::{self, Write};

/// Prints it.
pub fn list(args: &List) -> Result<()> {
    if args.stale { stale(args.format) } else { jvms(args.format) }
}

fn jvms(format: Format) -> Result<()> {
    let jvms = jvm::all().context("looking for JVMs in /proc")?;
    let mut out = io::stdout().lock();
    match format {
        Format::Text if jvms.is_empty() => {
            let whose = if own_user() == 0 { "" } else { " of this user" };
            writeln!(out, "no JVMs{whose} run; cprof list --stale shows what dead ones have left")?;
        }
        Format::Text => {
            let mut table = Table::new(&["pid", "user", "JDK", "cprof", "main"]);
            for jvm in &jvms {
                let pid = jvm.process.pid.to_string();
                table.row(vec![
                    pid,
                    user_name(jvm.process.user),
                    jvm.version.clone(),
                    presence(jvm).to_owned(),
                    jvm.main.clone(),
                ]);
            }
            let style = Style::of(&io::stdout());
            table.print(&mut out, style)?;
        }
        Format::Csv => {
            write!(out, "pid,user,jdk,cprof,main\r\n")?;
            for jvm in &jvms {
                let (user, version, main) = (field(&user_name(jvm.process.user)), field(&jvm.version), field(&jvm.main));
                write!(out, "{},{user},{version},{},{main}\r\n", jvm.process.pid, presence(jvm))?;
            }
        }
        Format::Json => {
            let row = |j: &Jvm| json!({"pid": j.process.pid, "user": user_name(j.process.user), "jdk": j.version, "cprof": presence(j), "main": j.main});
            writeln!(out, "{:#}", json!({"jvms": jvms.iter().map(row).collect::<Vec<_>>()}))?;
        }
    }
    Ok(())
}

fn presence(jvm: &Jvm) -> &'static str {
    match jvm.cprof {
        Presence::Absent => "no",
        Presence::Loaded => "loaded",
        Presence::Recording => "records",
    }
}

/// A line of `--stale`.
struct Leftover {
    found: Found,
    size: u64,
    main: String,
    what: String,
}

fn stale(format: Format) -> Result<()> {
    let shelf = Shelf::here();
    let all = which::recordings(&shelf)?;
    let leftovers: Vec<Leftover> = all.into_iter().filter(|f| !f.may_be_beginning()).map(leftover).collect();
    // Rows are of what this user has.
    let of_others = if format == Format::Text { shelf.of_others(|_| true).map_or(0, |others| others.len()) } else { 0 };
    let mut out = io::stdout().lock();
    match format {
        Format::Text if leftovers.is_empty() => {
            let whose = if of_others > 0 { " of this user" } else { "" };
            writeln!(out, "dead JVMs{whose} have left nothing in {}", shelf.path().display())?;
        }
        Format::Text => {
            let mut table = Table::new(&["pid", "user", "size", "started", "main", "recording"]);
            for l in &leftovers {
                let name = &l.found.name;
                let place = if l.what.is_empty() { l.found.path.display().to_string() } else { l.what.clone() };
                let cells =
                    [name.pid.to_string(), user_name(l.found.owner), size(l.size), utc(name.started_ms), l.main.clone(), place];
                table.row(cells.to_vec());
            }
            let style = Style::of(&io::stdout());
            table.print(&mut out, style)?;
            let others = leftovers.iter().any(|l| l.found.owner != own_user());
            let whose = if others { "those of its user" } else { "them" };
            writeln!(out, "\ncprof recover PID writes a profile of one; cprof clean removes {whose}, with what was counted")?;
        }
        Format::Csv => {
            write!(out, "pid,user,size,started_ms,main,recording,problem\r\n")?;
            for l in &leftovers {
                let (name, path) = (&l.found.name, l.found.path.display().to_string());
                let (user, main, path, what) = (field(&user_name(l.found.owner)), field(&l.main), field(&path), field(&l.what));
                write!(out, "{},{user},{},{},{main},{path},{what}\r\n", name.pid, l.size, name.started_ms)?;
            }
        }
        Format::Json => {
            let row = |l: &Leftover| {
                let name = &l.found.name;
                json!({"pid": name.pid, "user": user_name(l.found.owner), "size": l.size, "started_ms": name.started_ms, "main": l.main,
                       "recording": l.found.path.display().to_string(), "problem": l.what})
            };
            writeln!(out, "{:#}", json!({"recordings": leftovers.iter().map(row).collect::<Vec<_>>()}))?;
        }
    }
    if of_others > 0 {
        let recordings = counted(of_others as u64, "recording there is another user's", "recordings there are other users'");
        writeln!(out, "{recordings}, of living JVMs or dead ones; root sees them")?;
    }
    Ok(())
}

fn leftover(found: Found) -> Leftover {
    let (size, main, what) = match &found.state {
        State::Left(recording) | State::Recorded(recording) => match origin(recording) {
            Ok(origin) => (recording.size(), origin.run.main_class, String::new()),
            Err(why) => (recording.size(), String::new(), why),
        },
        State::Begun => (0, String::new(), format!("{}: nothing was counted", found.path.display())),
        State::Foreign(error) => (0, String::new(), error.to_string()),
    };
    Leftover { size, main, what, found }
}

fn origin(recording: &Recording) -> Result<Origin, String> {
    let log = recording.beginning().map_err(|e| e.to_string())?;
    Origin::of(&Log::read(&log)).map_err(|e| format!("{}: {e}", recording.path().display()))
}
