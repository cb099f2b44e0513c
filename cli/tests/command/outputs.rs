//! Where commands write, and what may be in it: closed pipes, files that are read, names that would control a terminal.

use cprof_profile::model::{Gap, Profile};
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn folder(change: impl Fn(&mut Profile)) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut profile = cprof_synthetic::demo().profile(&[]);
    change(&mut profile);
    for name in ["a.cprof", "b.cprof"] {
        cprof_profile::file::write(&folder.path().join(name), &profile).unwrap();
    }
    fs::write(folder.path().join("budget.toml"), "[[budget]]\nmethod = \"demo.Main.*\"\nlimits = [\"own bytecodes < 3\"]")
        .unwrap();
    folder
}

fn command(folder: &Path, line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cprof"));
    command.args(line.split_whitespace()).current_dir(folder);
    command
}

fn run(folder: &Path, line: &str) -> Output {
    command(folder, line).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Every command that shows or writes something of a profile.
const COMMANDS: [&str; 23] = [
    "report a.cprof",
    "report a.cprof --format csv",
    "report a.cprof --format json",
    "report a.cprof --tree",
    "report a.cprof --threads",
    "report a.cprof --coverage",
    "annotate a.cprof demo.*",
    "histogram a.cprof",
    "histogram a.cprof --by method",
    "histogram a.cprof --by line",
    "diff a.cprof b.cprof",
    "diff a.cprof b.cprof --by context --format csv",
    "overlap a.cprof b.cprof",
    "flamegraph a.cprof -o -",
    "html a.cprof -o -",
    "export a.cprof --format pprof -o -",
    "export a.cprof --format collapsed -o -",
    "export a.cprof --format callgrind -o -",
    "export a.cprof --format speedscope -o -",
    "export a.cprof --format chrome -o -",
    "export a.cprof --format csv -o -",
    "export a.cprof --format json -o -",
    "merge a.cprof b.cprof --quiet -o -",
];

/// What reports of `a.cprof` say beside rows.
const NOT_COVERED: &str = "cprof: note: a.cprof: not covered: 1 class; cprof report a.cprof --coverage lists them\n";

#[test]
fn whoever_stops_reading_has_seen_enough() {
    // More than any buffer on the way holds.
    let folder = folder(|p| p.methods.iter_mut().for_each(|m| m.name = "long".repeat(500_000)));
    for line in COMMANDS {
        let mut child = command(folder.path(), line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        // Part of a profile is none.
        let (code, said) = match line.starts_with("merge") {
            true => (1, "who reads it stopped before the profile was whole; read all of it, or name a file\n"),
            false => (0, ""),
        };
        assert_eq!(output.status.code(), Some(code), "{line}");
        let error = text(&output.stderr).replace(NOT_COVERED, "");
        assert_eq!(error.trim_start_matches("cprof: standard output cannot be written: "), said, "{line}");
    }
}

#[test]
fn a_full_disk_is_said_with_what_was_written() {
    let folder = folder(|_| {});
    for line in COMMANDS {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let output =
            command(folder.path(), line).stdout(full).stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{line}");
        assert!(error.contains("cannot be written: ") && error.contains("No space left on device"), "{line}: {error}");
    }
}

#[test]
fn a_file_that_cannot_be_written_is_named() {
    let folder = folder(|_| {});
    let formats = ["pprof", "collapsed", "callgrind", "speedscope", "chrome", "csv", "json", "parquet"];
    let exports = formats.map(|format| format!("export a.cprof --format {format}"));
    let others = ["flamegraph a.cprof", "html a.cprof", "merge a.cprof b.cprof", "check a.cprof --budget budget.toml"];
    for line in others.into_iter().map(str::to_owned).chain(exports) {
        // Nothing is found out before the first byte is written.
        let output = with_room_for(0, folder.path(), &format!("{line} -o out"));
        let error = text(&output.stderr);
        assert!(!output.status.success() && error.contains("File too large"), "{line}: {error}");
        match line.contains("parquet") {
            true => assert!(error.starts_with("cprof: a.cprof cannot be exported to out/methods/"), "{error}"),
            false => {
                let path = folder.path().join("out");
                let says = format!("cprof: {} cannot be written: File too large (os error 27)\n", "out");
                assert!(error == says || error == says.replace("out ", &format!("{} ", path.display())), "{line}: {error}");
                assert!(!path.exists(), "{line}");
            }
        }
        assert!(!error.contains(".cprof-") && !error.contains("standard output"), "{line}: {error}");
        if line.contains("parquet") {
            continue;
        }
        let output = run(folder.path(), &format!("{line} -o /dev/full"));
        let error = text(&output.stderr);
        assert!(!output.status.success() && error.contains("/dev/full cannot be written: No space left"), "{line}: {error}");
    }
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().starts_with(".cprof-")), "{left:?}");
}

/// As on a full disk: no file may grow beyond so many blocks of 512 bytes.
fn with_room_for(blocks: u32, folder: &Path, line: &str) -> Output {
    let mut shell = Command::new("sh");
    let limited = format!("ulimit -f {blocks}; exec \"$@\"");
    shell.args(["-c", &limited, "sh", env!("CARGO_BIN_EXE_cprof")]).args(line.split_whitespace()).current_dir(folder);
    shell.output().unwrap()
}

#[test]
fn what_was_written_before_stands_until_all_is_written_anew() {
    let folder = folder(|_| {});
    let all = || {
        let read = |path: std::path::PathBuf| (fs::read(&path).unwrap(), path);
        let mut files = vec![read(folder.path().join("plot.svg"))];
        for table in fs::read_dir(folder.path().join("tables")).unwrap() {
            files.extend(fs::read_dir(table.unwrap().path()).unwrap().map(|file| read(file.unwrap().path())));
        }
        files
    };
    let (tables, plot) = ("export a.cprof --format parquet -o tables", "explore a.cprof --plot plot.svg");
    for line in [tables, plot] {
        assert!(run(folder.path(), line).status.success());
    }
    let before = all();
    assert_eq!(before.len(), 6);
    let sizes: Vec<usize> = before.iter().map(|(bytes, _)| bytes.len()).collect();
    let mut failures = 0;
    // The first tables fit, later ones do not.
    for blocks in 0..=*sizes.iter().max().unwrap() as u32 / 512 {
        for line in [&format!("{tables} --target jop --cache ideal"), plot] {
            if !with_room_for(blocks, folder.path(), line).status.success() {
                failures += 1;
                assert!(all() == before, "{line}, {blocks}");
            } else if line != plot {
                // What went well once is restored.
                assert!(run(folder.path(), tables).status.success());
            }
        }
    }
    assert!(failures > 4, "{sizes:?}");
}

/// Nor is another put in the place of a file that is protected, though its directory would allow that.
#[test]
fn a_protected_file_stays() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::os::unix::process::CommandExt;
    let folder = folder(|_| ());
    let folder = folder.path();
    let (kept, mode) = (folder.join("kept.svg"), fs::Permissions::from_mode);
    fs::write(&kept, "kept").unwrap();
    fs::set_permissions(&kept, mode(0o444)).unwrap();
    fs::set_permissions(folder, mode(0o777)).unwrap();
    for name in ["a.cprof", "b.cprof"] {
        fs::set_permissions(folder.join(name), mode(0o644)).unwrap();
    }
    // Whom modes bind.
    let bound = |line: &str| {
        if fs::metadata(&kept).unwrap().uid() != 0 {
            return command(folder, line).output().unwrap();
        }
        // The command may be where only root finds it. What this process writes itself, a process that another test starts
        // meanwhile has open, and nobody can run it.
        let copied = Command::new("cp").args([env!("CARGO_BIN_EXE_cprof"), "cprof"]).current_dir(folder).status().unwrap();
        assert!(copied.success());
        let mut command = Command::new(folder.join("cprof"));
        command.args(line.split_whitespace()).current_dir(folder).uid(65534).gid(65534).output().unwrap()
    };
    for line in ["flamegraph a.cprof -o kept.svg", "merge a.cprof b.cprof -o kept.svg", "run -o kept.svg -- java -version"] {
        let output = bound(line);
        let said = text(&output.stderr);
        assert!(!output.status.success() && said.contains("kept.svg cannot be written: Permission denied"), "{line}: {said}");
        assert_eq!(fs::read_to_string(&kept).unwrap(), "kept", "{line}");
    }
    fs::create_dir(folder.join("closed")).unwrap();
    fs::set_permissions(folder.join("closed"), mode(0o555)).unwrap();
    let output = bound("run -o closed/it.cprof -- java -version");
    let said = "cprof: cannot write closed/it.cprof: closed may not be written to; name another file with --out\n";
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(1), said));
}

#[test]
fn files_that_are_no_text_are_named_with_the_place() {
    let folder = folder(|_| {});
    fs::write(folder.path().join("bad.toml"), b"# a\n# caf\xe9\n").unwrap();
    for line in ["check a.cprof --budget bad.toml", "explore a.cprof --matrix bad.toml", "report a.cprof --target ./bad.toml"] {
        let output = run(folder.path(), line);
        let error = text(&output.stderr);
        assert!(!output.status.success() && error.contains("bad.toml:2:6: the byte 0xe9 is not UTF-8"), "{line}: {error}");
    }
}

#[test]
fn a_working_directory_that_is_gone_is_said() {
    for (line, what) in
        [("attach 1", "cprof-1.cprof"), ("attach 1 -o app.cprof", "app.cprof"), ("clean cprof-0-1-2", "cprof-0-1-2")]
    {
        let folder = tempfile::tempdir().unwrap();
        let mut shell = Command::new("sh");
        shell.args(["-c", "rmdir \"$PWD\" && exec \"$@\"", "sh", env!("CARGO_BIN_EXE_cprof")]);
        let output = shell.args(line.split_whitespace()).current_dir(folder.path()).output().unwrap();
        let error = text(&output.stderr);
        let says = "cannot be found out, as the working directory is gone; give the whole path: No such file or directory";
        assert!(error.starts_with(&format!("cprof: where {what}")) && error.contains(says), "{line}: {error}");
    }
}

#[test]
fn what_is_read_is_not_written_over() {
    let folder = folder(|p| p.classes.iter_mut().for_each(|c| c.source_file = "Main.java".to_owned()));
    let before = fs::read(folder.path().join("a.cprof")).unwrap();
    let models = [("mine", "./base.toml"), ("base", "bytecodes")];
    for (name, base) in models {
        let text = format!("base = \"{base}\"\ntitle = \"t\"\naccuracy = \"coarse\"\n");
        fs::write(folder.path().join(format!("{name}.toml")), text).unwrap();
    }
    fs::write(folder.path().join("matrix.toml"), "targets = [\"jop\", \"./mine.toml\"]").unwrap();
    fs::write(folder.path().join("Main.java"), "package demo; class Main {}").unwrap();
    let cycles = "[[budget]]\nmethod = \"*\"\nlimits = [\"cycles[./mine.toml,ideal] > 0\"]";
    fs::write(folder.path().join("cycles.toml"), cycles).unwrap();
    for line in [
        "flamegraph a.cprof -o a.cprof",
        "flamegraph b.cprof --diff a.cprof -o ./a.cprof",
        "html a.cprof -o a.cprof",
        "html b.cprof --diff a.cprof -o a.cprof",
        "export a.cprof --format csv -o a.cprof",
        "check a.cprof --budget budget.toml -o a.cprof",
        "check b.cprof --baseline a.cprof --budget budget.toml -o a.cprof",
        "check a.cprof --budget budget.toml -o budget.toml",
        "merge a.cprof b.cprof -o a.cprof",
        // Models, with what they are based on.
        "export a.cprof --format csv --target mine.toml -o mine.toml",
        "export a.cprof --format csv --target ./mine.toml -o base.toml",
        "flamegraph a.cprof --target mine.toml -o base.toml",
        "html b.cprof --diff a.cprof --target mine.toml -o base.toml",
        "explore a.cprof --matrix matrix.toml --plot base.toml",
        "check a.cprof --budget cycles.toml -o base.toml",
        // Sources, but not what is beside them.
        "html a.cprof --source . -o Main.java",
        "html a.cprof --source a.cprof -o a.cprof",
    ] {
        let output = run(folder.path(), line);
        let (code, error) = (output.status.code().unwrap_or(0), text(&output.stderr));
        assert!(
            code != 0 && (error.contains("is read, and would be written over") || error.contains("and the one to write")),
            "{line}: {error}"
        );
    }
    assert!(fs::read(folder.path().join("a.cprof")).unwrap() == before);
    for (name, base) in models {
        let text = fs::read_to_string(folder.path().join(format!("{name}.toml"))).unwrap();
        assert!(text.starts_with(&format!("base = \"{base}\"")), "{text}");
    }
    assert_eq!(fs::read_to_string(folder.path().join("Main.java")).unwrap(), "package demo; class Main {}");
    // What comes with cprof is in no file.
    fs::write(folder.path().join("jop.toml"), "mine").unwrap();
    for line in ["export a.cprof --format csv --target jop --cache ideal -o jop.toml", "html a.cprof --source . -o Main.html"] {
        let output = run(folder.path(), line);
        assert!(output.status.success(), "{line}: {}", text(&output.stderr));
    }
    assert!(fs::read_to_string(folder.path().join("budget.toml")).unwrap().starts_with("[[budget]]"));
}

#[test]
fn sums_go_to_pipes_and_through_links() {
    let folder = folder(|_| {});
    let path = |name: &str| folder.path().join(name);
    assert!(run(folder.path(), "merge a.cprof b.cprof --quiet -o all.cprof").status.success());
    let all = fs::read(path("all.cprof")).unwrap();
    let piped = run(folder.path(), "merge a.cprof b.cprof -o -");
    assert_eq!(piped.stdout, all);
    let said = text(&piped.stderr);
    assert!(
        said.contains("cprof: merged 2 runs into standard output (") && said.ends_with("4 contexts of 2 threads)\n"),
        "{said}"
    );

    fs::write(path("linked"), "old").unwrap();
    std::os::unix::fs::symlink("linked", path("link")).unwrap();
    assert!(run(folder.path(), "merge a.cprof b.cprof --quiet -o link").status.success());
    assert!(path("link").is_symlink() && fs::read(path("linked")).unwrap() == all);

    assert!(Command::new("mkfifo").arg(path("pipe")).status().unwrap().success());
    let reader = Command::new("cat").arg(path("pipe")).stdout(Stdio::piped()).spawn().unwrap();
    assert!(run(folder.path(), "merge a.cprof b.cprof --quiet -o pipe").status.success());
    assert_eq!(reader.wait_with_output().unwrap().stdout, all);
    assert!(path("pipe").symlink_metadata().unwrap().file_type().is_fifo(), "nothing has taken its place");
    let read = run(folder.path(), "report /dev/null");
    assert_eq!(read.status.code(), Some(1));
    assert!(text(&read.stderr).contains("it is a pipe or a device"), "{}", text(&read.stderr));
}

#[test]
fn what_was_opened_by_the_shell_is_written_on() {
    let folder = folder(|_| {});
    let sh = |script: &str| {
        let script = script.replace("cprof export", &format!("{} export", env!("CARGO_BIN_EXE_cprof")));
        let output = Command::new("sh").args(["-c", &script]).current_dir(folder.path()).output().unwrap();
        (output.status.code(), text(&output.stderr), fs::read_to_string(folder.path().join("log")).unwrap())
    };
    let csv = text(&run(folder.path(), "export a.cprof --format csv -o -").stdout).replace("\r\n", "\n");
    for out in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "-"] {
        let (code, told, log) =
            sh(&format!("echo old > log; {{ echo before; cprof export a.cprof --format csv -o {out}; echo after; }} >> log"));
        assert_eq!((code, told.as_str()), (Some(0), ""), "{out}");
        assert_eq!(log.replace("\r\n", "\n"), format!("old\nbefore\n{csv}after\n"), "{out}");
    }
    for (out, number) in [("/dev/stderr", 2), ("/dev/fd/3", 3)] {
        for (opened, old) in [(">", ""), (">>", "old\n")] {
            let command = format!("cprof export a.cprof --format csv -o {out}");
            let (code, _, log) = sh(&format!(
                "echo old > log; {{ echo before >&{number}; {command}; echo after >&{number}; }} {number}{opened} log"
            ));
            let expected = format!("{old}before\n{csv}after\n");
            assert_eq!((code, log.replace("\r\n", "\n")), (Some(0), expected), "{out} {opened}");
        }
    }
}

#[test]
fn who_stops_reading_a_named_output_has_not_got_it() {
    let folder = folder(|_| {});
    assert!(Command::new("mkfifo").arg(folder.path().join("pipe")).status().unwrap().success());
    // Opened, and closed at once: a page is more than a pipe takes in unread.
    let reader = Command::new("sh").args(["-c", "exec < pipe"]).current_dir(folder.path()).spawn().unwrap();
    let output = run(folder.path(), "html a.cprof -o pipe");
    reader.wait_with_output().unwrap();
    let told = text(&output.stderr);
    let expected = "cprof: pipe cannot be written: who reads it stopped before it was whole\n";
    assert_eq!((output.status.code(), told.as_str()), (Some(1), expected));
}

#[test]
fn profiles_are_written_into_pipes() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reader = Command::new("cat").arg(&pipe).stdout(Stdio::piped()).spawn().unwrap();
    let profile = cprof_synthetic::demo().profile(&[]);
    let size = cprof_profile::file::write(&pipe, &profile).unwrap();
    let bytes = reader.wait_with_output().unwrap().stdout;
    assert_eq!(bytes.len() as u64, size);
    assert!(pipe.symlink_metadata().unwrap().file_type().is_fifo());
    // A link to a file is replaced, one to a device is not; nothing in /dev is.
    let (file, link) = (folder.path().join("file"), folder.path().join("link"));
    fs::write(&file, "mine").unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    cprof_profile::file::write(&link, &profile).unwrap();
    assert!(!link.is_symlink() && fs::read_to_string(&file).unwrap() == "mine");
    let null = folder.path().join("null");
    std::os::unix::fs::symlink("/dev/null", &null).unwrap();
    cprof_profile::file::write(&null, &profile).unwrap();
    assert!(null.is_symlink());
    assert!(cprof_profile::file::read_from(std::io::Cursor::new(bytes), &pipe).unwrap() == profile);
}

#[test]
fn profiles_in_which_nothing_was_counted_are_told() {
    let folder = folder(|_| {});
    let mut empty = cprof_synthetic::Recording::new().profile(&[]);
    cprof_profile::file::write(&folder.path().join("empty.cprof"), &empty).unwrap();
    empty.run.roots = vec!["a.B.c".to_owned(), "d.E.f".to_owned()];
    cprof_profile::file::write(&folder.path().join("roots.cprof"), &empty).unwrap();
    let told = |line: &str, says: &str| {
        // A directory has one part of a run.
        let _ = fs::remove_dir_all(folder.path().join("tables"));
        let output = run(folder.path(), line);
        let rows = line.starts_with("report a.cprof") && line.contains("--format csv") && !line.contains("--coverage");
        let says = format!("{says}{}", if rows { NOT_COVERED } else { "" });
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), says), "{line}");
    };
    let shows = |line: &&str| {
        ["report", "histogram", "explore", "export", "html", "flamegraph"].iter().any(|command| line.starts_with(command))
    };
    for line in COMMANDS.into_iter().filter(shows).chain(["export a.cprof --format parquet -o tables"]) {
        told(line, "");
        told(&line.replace("a.cprof", "empty.cprof"), "cprof: empty.cprof: nothing was counted in it\n");
        let says = "cprof: roots.cprof: nothing was counted in it: only calls of a.B.c, d.E.f would have been\n";
        told(&line.replace("a.cprof", "roots.cprof"), says);
        if line.contains("--coverage") {
            continue; // of all of the profile
        }
        let part = format!("{line} --thread main --root demo.Main$$Lambda.run");
        told(&part, "cprof: a.cprof: nothing was counted in this part of it\n");
        // Native calls alone are something.
        told(&format!("{line} --root java.lang.Thread.yield"), "");
    }
}

#[test]
fn names_do_not_control_the_terminal() {
    let hostile = "\n\r\u{1b}[2J\0\u{9b}é";
    let folder = folder(|p| {
        p.methods.iter_mut().for_each(|m| m.name.push_str(hostile));
        p.classes.iter_mut().for_each(|c| c.source_file.push_str(hostile));
        p.threads.iter_mut().for_each(|t| t.name.push_str(hostile));
        p.gaps.iter_mut().for_each(|g| g.class.push_str(hostile));
        p.natives.iter_mut().for_each(|n| n.name.push_str(hostile));
        p.warnings.push(hostile.to_owned());
        p.run.main_class.push_str(hostile);
        p.run.options.push_str(hostile);
        p.run.jvm_vendor.push_str(hostile);
    });
    let as_text =
        |line: &&str| !["csv", "json", "flamegraph", "html", "export", "merge"].iter().any(|other| line.contains(other));
    for line in COMMANDS.into_iter().filter(as_text).chain(["diff a.cprof b.cprof --by context"]) {
        let output = run(folder.path(), line);
        assert!(output.status.success(), "{line}: {}", text(&output.stderr));
        let all = text(&output.stdout) + &text(&output.stderr);
        let control = all.lines().find(|line| line.contains(|c: char| c.is_control()));
        assert_eq!(control, None, "{line}");
        assert!(!all.lines().any(|line| line.starts_with("\\r")), "{line}: a name goes on in another line\n{all}");
    }
}

#[test]
fn names_in_errors_do_not_control_the_terminal() {
    let hostile = "\u{1b}[2J\r\u{9b}";
    let folder = folder(|p| {
        p.classes.iter_mut().for_each(|c| c.name.push_str(hostile));
        p.gaps = vec![Gap { class: "a/Gone".to_owned(), method: None, reason: hostile.to_owned() }];
    });
    for line in ["report a.cprof --root none.work", "annotate a.cprof a.Gone"] {
        let output = run(folder.path(), line);
        let error = text(&output.stderr);
        assert!(!output.status.success() && error.contains("\\u{1b}[2J\\r"), "{line}: {error}");
        assert!(!error.trim_end().contains(|c: char| c.is_control()), "{line}: {error:?}");
    }
}
