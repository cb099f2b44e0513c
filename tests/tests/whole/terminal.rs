//! In a real terminal, by tmux: `cprof top` at 80 and 200 columns, with and without colour, and its keys (`live.rs` has it
//! without one); the colours of what prints and ends.

use cprof_tests::live::{Workers, cprof, recording};
use cprof_tests::run::Report;
use cprof_tests::{OrFail, build, is_without, jdk, run, text, within};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(30);
const HEIGHT: usize = 24;

/// A terminal with one command in it, which says how it ended.
struct Terminal {
    server: String,
    width: usize,
    directory: PathBuf,
}

impl Terminal {
    fn start(width: usize, colour: bool, command: &str, directory: &Path) -> Terminal {
        let terminal = Terminal { server: format!("cprof-{}", build::unique()), width, directory: directory.to_owned() };
        let script = format!("{command}; echo ended with $?; sleep 60");
        let mut tmux = terminal.tmux();
        tmux.args(["-f", "/dev/null", "new-session", "-d", "-x", &width.to_string(), "-y", &HEIGHT.to_string(), &script]);
        tmux.env_remove("TMUX").env_remove("NO_COLOR").env("TERM", "xterm-256color");
        if !colour {
            tmux.env("NO_COLOR", "1");
        }
        build::must(&mut tmux);
        terminal
    }

    fn tmux(&self) -> Command {
        let mut tmux = Command::new("tmux");
        tmux.args(["-L", &self.server]).current_dir(&self.directory);
        tmux
    }

    /// What is on the screen; with the codes for colour, or without.
    fn screen(&self, codes: bool) -> String {
        let mut tmux = self.tmux();
        tmux.args(["capture-pane", "-p"]);
        if codes {
            tmux.arg("-e");
        }
        build::must(&mut tmux)
    }

    /// Waits for a screen on which this holds.
    fn until(&self, what: &str, holds: impl Fn(&str) -> bool) -> String {
        let screen = within(PATIENCE, what, || {
            let screen = self.screen(false);
            if holds(&screen) { Ok(screen) } else { Err(format!("the screen is\n{screen}")) }
        });
        // Drawn for this terminal: no line was broken into two.
        assert!(screen.lines().all(|line| line.chars().count() <= self.width), "{screen}");
        screen
    }

    fn press(&self, key: &str) {
        build::must(self.tmux().args(["send-keys", key]));
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.tmux().arg("kill-server").stderr(Stdio::null()).status();
    }
}

/// A row of the table: a rate, a share, a rate, a name.
fn is_row(line: &str) -> bool {
    line.split_whitespace().nth(1).is_some_and(|share| share.ends_with('%'))
}

/// By a key they come from the terminal, to the program too; from another process to `cprof run` alone.
#[test]
fn interrupts_of_either_kind_reach_the_program() {
    if is_without("tmux") {
        return;
    }
    let bench = &run::benches()[0];
    for (way, by_key) in [("key", true), ("kill", false)] {
        let directory = build::fresh(&format!("interrupt-{way}"));
        let java = bench.jdk.command("java");
        let program = format!("{} -cp {} Spins", java.get_program().display(), bench.built.class_path);
        let (cprof, out) = (build::cprof(), directory.join("it.cprof"));
        let run = format!("{} run --quiet -o {} -- {program}", cprof.display(), out.display());
        let terminal = Terminal::start(200, false, &format!("sh -c 'echo $$ >pid; exec {run}'"), &directory);
        terminal.until("program", |screen| screen.contains("ready"));
        if by_key {
            terminal.press("C-c");
        } else {
            let pid = fs::read_to_string(directory.join("pid")).or_fail("the process id");
            cprof_tests::signal(pid.trim().parse().or_fail(&pid), libc::SIGINT);
        }
        terminal.until("end", |screen| screen.contains("ended with 130"));
        assert_eq!(Report::read(&out).tree.of_method("Spins.step(I)I").calls, 1000, "{way}");
    }
}

/// A million contexts take long enough to sum up for that to be said on the terminal meanwhile.
#[test]
fn a_summary_that_takes_long_comes() {
    if is_without("tmux") {
        return;
    }
    let bench = &run::benches()[0];
    let directory = build::fresh("long-summary");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("views/Hostile.java");
    let java = bench.jdk.command("java");
    let javac = format!("{} -m jdk.compiler/com.sun.tools.javac.Main -d out {}", java.get_program().display(), source.display());
    let run = format!("{} run --sites --target jop --cache 4k/16 -o it.cprof -- {javac}", build::cprof().display());
    let terminal = Terminal::start(200, false, &run, &directory);
    let screen = terminal.until("end", |screen| screen.contains("ended with 0"));
    assert!(screen.contains("it.cprof: more with: cprof report it.cprof"), "{screen}");
}

#[test]
fn top_fits_the_terminal_and_obeys_keys() {
    if is_without("tmux") {
        return;
    }
    let bench = run::benches().pop().expect("a JDK");
    let directory = build::fresh("terminal");
    let workers = Workers::start(&bench, Some("quiet"), &[], &[]).started();
    let pid = workers.pid();
    let top = format!("{} top {pid} --every 300ms", build::cprof().display());
    for (width, colour) in [(80, true), (200, true), (80, false), (200, false)] {
        let terminal = Terminal::start(width, colour, &top, &directory);
        let context = format!("{width} columns, colour {colour}");
        // A terminal reads what is written to it in pieces, so the screen may be taken between two of them.
        let full = |screen: &str| screen.lines().count() == HEIGHT && screen.lines().skip(5).all(is_row);
        let screen = terminal.until("table", full);
        let lines: Vec<&str> = screen.lines().collect();
        assert!(lines[0].starts_with(&format!("cprof top: JVM {pid}, Workers, ")), "{context}: {screen}");
        assert!(lines[1].contains(" bytecodes/s, ") && lines[3].starts_with("m methods  c contexts"), "{context}: {screen}");
        assert!(lines[4].trim_start().starts_with("bytecodes/s   share"), "{context}: {screen}");
        let coded = terminal.screen(true);
        let bold = coded.lines().next().is_some_and(|line| line.contains("\x1b[1m"));
        assert_eq!((bold, coded.contains('\x1b')), (colour, colour), "{context}: {coded:?}");

        terminal.press("c");
        let screen = terminal.until("contexts", |screen| screen.contains("context ← callers") && screen.contains("Workers.work"));
        assert_eq!(screen.contains("with callees"), width >= 100, "{context}: {screen}");
        assert!(screen.lines().any(|line| is_row(line) && line.contains(" ← ")), "{context}: {screen}");
        terminal.press("t");
        terminal.until("threads", |screen| screen.contains("  thread (by ") && screen.contains("worker-0"));
        terminal.press("m");
        terminal.press("s");
        terminal.until("order", |screen| screen.contains("method (by calls)"));
        terminal.press("Space");
        let paused = terminal.until("pause", |screen| screen.lines().next().is_some_and(|line| line.ends_with(", paused")));
        std::thread::sleep(Duration::from_millis(700));
        let rows = |screen: &str| screen.lines().skip(4).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(rows(&terminal.screen(false)), rows(&paused), "{context}");
        terminal.press("w");
        terminal.until("note", |screen| screen.contains(&format!("wrote cprof-{pid}-")));
        // Arrows begin as the escape key does, and what is no character is no key.
        terminal.press("Up");
        build::must(terminal.tmux().args(["send-keys", "-H", "e9"]));
        terminal.press("Space");
        terminal.until("going on", |screen| screen.lines().next().is_some_and(|line| !line.ends_with(", paused")));
        // The screen from before is back, and the cursor with it.
        terminal.press("q");
        let screen = terminal.until("end", |screen| screen.contains("ended with 0"));
        assert!(!screen.contains("bytecodes/s"), "{context}: {screen}");
    }
    let written = fs::read_dir(&directory).or_fail(directory.display()).flatten().map(|e| e.path()).next().expect("a snapshot");
    assert_eq!(cprof(&["report", text(&written)]).code, 0);

    // One whose terminal goes away goes, too.
    let terminal = Terminal::start(80, true, &format!("sh -c 'echo $$ >pid; exec {top}'"), &directory);
    terminal.until("table", |screen| screen.lines().any(is_row));
    let running = fs::read_to_string(directory.join("pid")).or_fail("the process id");
    drop(terminal);
    let top_is_there = || Path::new("/proc").join(running.trim()).exists();
    within(PATIENCE, "cprof top to go with its terminal", || if top_is_there() { Err("it is there") } else { Ok(()) });

    let terminal = Terminal::start(80, true, &top, &directory);
    terminal.until("table", |screen| screen.lines().any(is_row));
    workers.kill();
    terminal.until("the program's end", |screen| {
        screen.contains(&format!("process {pid} has ended")) && screen.contains("ended with 0")
    });
    let left = recording(pid).expect("it was killed");
    assert_eq!(cprof(&["clean", text(&left)]).code, 0);
}

#[test]
fn top_ends_when_cprof_is_detached() {
    if is_without("tmux") {
        return;
    }
    let bench = run::benches().pop().expect("a JDK");
    let directory = build::fresh("terminal-detached");
    let workers = Workers::start(&bench, None, &[], &[]).started();
    let pid = workers.pid().to_string();
    let out = directory.join("it.cprof");
    let attach = ["attach", &pid, "--include", "Workers", "-o", text(&out)];
    let top = format!("{} top {pid} --every 300ms", build::cprof().display());
    for paused in [false, true] {
        assert_eq!(cprof(&attach).code, 0);
        let terminal = Terminal::start(200, true, &top, &directory);
        terminal.until("table", |screen| screen.lines().any(is_row));
        if paused {
            terminal.press("Space");
            terminal.until("pause", |screen| screen.lines().next().is_some_and(|line| line.ends_with(", paused")));
        }
        assert_eq!(cprof(&["detach", &pid]).code, 0);
        let said = format!("cprof was detached: JVM {pid} is not being recorded");
        terminal.until("end", |screen| screen.contains(&said) && screen.contains("ended with 0"));
    }
    workers.kill();
}

/// With the variables as they are in most terminals, and as they are where no colours are wanted.
const COLOURS: [(&str, bool); 4] = [("", true), ("NO_COLOR= ", true), ("NO_COLOR=1 ", false), ("TERM=dumb ", false)];

#[test]
fn what_is_printed_has_colours_where_they_are_wanted() {
    if is_without("tmux") {
        return;
    }
    let jdk = jdk::all().pop().expect("a JDK");
    let directory = build::fresh("colours");
    for name in ["a.cprof", "b.cprof"] {
        let mut java = jdk.command("java");
        java.arg(build::agent_option("quiet,root=MotorControl.measured", Path::new(name)));
        build::must(java.arg("-cp").arg(build::examples(&jdk)).arg("MotorControl").current_dir(&directory));
    }
    fs::write(directory.join("b.toml"), "[[budget]]\nmethod = \"MotorControl.measured\"\nlimits = [\"calls == 1\"]\n")
        .or_fail("b.toml");
    let commands = [
        "report a.cprof --top 2",
        "report a.cprof --tree --min-share 30",
        "diff a.cprof b.cprof",
        "overlap a.cprof b.cprof",
        "check a.cprof --budget b.toml",
    ];
    for command in commands {
        let mut texts = Vec::new();
        for (variables, colour) in COLOURS {
            let terminal = Terminal::start(160, true, &format!("{variables}{} {command}", build::cprof().display()), &directory);
            let context = format!("{variables}{command}");
            texts.push(terminal.until("end", |screen| screen.contains("ended with 0")));
            let coded = terminal.screen(true);
            assert_eq!(coded.contains('\x1b'), colour, "{context}: {coded:?}");
        }
        assert!(texts.iter().all(|text| *text == texts[0] && text.lines().count() > 1), "{command}: {texts:#?}");
        // Where nobody looks there is none, whatever the variables say.
        let piped = build::must(
            Command::new(build::cprof())
                .args(command.split(' '))
                .current_dir(&directory)
                .env_remove("NO_COLOR")
                .env("TERM", "xterm"),
        );
        assert!(!piped.is_empty() && !piped.contains('\x1b'), "{command}: {piped:?}");
    }
}
