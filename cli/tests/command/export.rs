//! `cprof export` and its errors, on a synthetic profile whose every count is known.

use cprof_profile::model::{Gap, Level};
use cprof_synthetic::Recording;
use cprof_synthetic::classes::{ClassWriter, op};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn cprof(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cprof")).args(arguments).output().unwrap()
}

/// A profile in a folder of its own.
struct Profile(tempfile::TempDir);

impl Profile {
    fn new() -> Profile {
        let profile = Profile(tempfile::tempdir().unwrap());
        cprof_profile::file::write(&profile.path("it.cprof"), &cprof_synthetic::demo().profile(&[])).unwrap();
        profile
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn run(&self, options: &[&str]) -> Output {
        cprof(&[&["export", self.path("it.cprof").to_str().unwrap()], options].concat())
    }

    /// What is written to standard output.
    fn export(&self, options: &[&str]) -> String {
        let output = self.run(&[options, &["-o", "-"]].concat());
        assert!(output.status.success(), "{options:?}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(output.stderr.is_empty(), "{options:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn fails(&self, options: &[&str]) -> String {
        let output = self.run(options);
        assert!(output.stdout.is_empty() && output.status.code() == Some(1), "{options:?}");
        String::from_utf8(output.stderr).unwrap()
    }
}

#[test]
fn stacks_begin_with_their_thread() {
    let profile = Profile::new();
    let expected = "[main];demo.Main.main(java.lang.String[]):void 4\n\
                    [main];demo.Main.main(java.lang.String[]):void;demo.Main.work(int):void 19\n\
                    [worker-*];demo.Main$$Lambda.run():void 3\n\
                    [worker-*];demo.Main$$Lambda.run():void;demo.Main.work(int):void 13\n";
    let all = profile.export(&["--format", "collapsed"]);
    assert_eq!(all.replace("[worker-1", "[worker-*"), expected);
    let part = profile.export(&["--format", "collapsed", "--thread", "worker", "--root", "demo.Main.work", "--metric", "calls"]);
    let lines: Vec<&str> = part.lines().collect();
    assert_eq!(lines.len(), 2, "{part}");
    assert!(lines[0].ends_with("];demo.Main.work(int):void 1"), "{part}");
    assert!(lines[1].ends_with("];demo.Main.work(int):void;java.lang.Thread.yield():void [native] 2"), "{part}");
}

#[test]
fn tables_have_all_metrics() {
    let profile = Profile::new();
    let head = |options: &[&str]| profile.export(options).lines().next().unwrap().to_owned();
    assert_eq!(
        head(&["--format", "csv"]),
        "index,parent,thread,class,method,descriptor,native,file,site,line,calls,calls_total,\
         exceptional_exits,exceptional_exits_total,bytecodes,bytecodes_total"
    );
    assert_eq!(
        head(&["--format", "csv", "--methods", "--metric", "bytecodes"]),
        "class,method,descriptor,native,file,line,bytecodes,bytecodes_total"
    );
    let json: serde_json::Value = serde_json::from_str(&profile.export(&["--format", "json", "--methods"])).unwrap();
    let main = json["methods"].as_array().unwrap().iter().find(|row| row["method"] == "main").unwrap();
    assert_eq!((json["metrics"][2]["name"].as_str(), main["own"][2].as_u64()), (Some("bytecodes"), Some(4)));
}

#[test]
fn what_is_named_twice_is_a_column_once() {
    let profile = Profile::new();
    let model = profile.path("mine.toml");
    std::fs::write(&model, "base = \"jop\"\ntitle = \"t\"\naccuracy = \"coarse\"\n").unwrap();
    let other = profile.path("it.cprof").with_file_name("./mine.toml");
    let mut options = vec!["--format", "csv", "--methods", "--cache", "ideal", "--cache", "none", "--cache", "ideal"];
    for target in ["jop", model.to_str().unwrap(), "jop", other.to_str().unwrap()] {
        options.extend(["--target", target]);
    }
    let all = profile.export(&options);
    let columns: Vec<&str> = all.lines().next().unwrap().split('"').filter(|name| name.starts_with("cycles[")).collect();
    let once = ["cycles[jop,ideal]", "cycles[jop,none]", "cycles[mine,ideal]", "cycles[mine,none]"];
    assert_eq!(columns, once.map(|name| [name.to_owned(), format!("{name}_total")]).concat());
}

#[test]
fn approximate_cycles_are_told() {
    let profile = Profile::new();
    let mut bounded = cprof_synthetic::demo().profile(&[]);
    bounded.run.bounded = true;
    cprof_profile::file::write(&profile.path("it.cprof"), &bounded).unwrap();
    let (it, before) = (profile.path("it.cprof"), format!("cprof: note: {}: cycles[", profile.path("it.cprof").display()));
    let on = ["--target", "jop", "--cache", "ideal", "-o"];
    for (command, options, tells) in [
        ("export", &["--format", "pprof"][..], true),
        ("export", &["--format", "parquet"], true),
        ("export", &["--format", "collapsed", "--metric", "cycles"], true),
        ("export", &["--format", "collapsed"], false),
        ("flamegraph", &[], true),
        ("flamegraph", &["--metric", "calls"], false),
    ] {
        let out = profile.path(&format!("{command}{}", options.join("")));
        let output = cprof(&[&[command, it.to_str().unwrap()][..], options, &on, &[out.to_str().unwrap()]].concat());
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{options:?}: {told}");
        let is_of_contexts = |line: &&str| line.contains("it.cprof: contexts were folded by depth= or recursion=fold");
        assert_eq!(told.lines().filter(is_of_contexts).count(), 1, "{options:?}: {told}");
        let told: String = told.split_inclusive('\n').filter(|line| !is_of_contexts(line)).collect();
        match tells {
            true => assert!(told.starts_with(&before) && told.contains("callers are not always known"), "{options:?}: {told}"),
            false if options.contains(&"collapsed") => assert!(
                told.ends_with("bytecodes is written, for which the format has room; --metric names another number\n")
                    && told.lines().count() == 1,
                "{told}"
            ),
            false => assert_eq!(told, "", "{options:?}"),
        }
    }
}

#[test]
fn every_format_is_written_to_a_file() {
    let profile = Profile::new();
    for format in ["pprof", "collapsed", "callgrind", "speedscope", "chrome", "csv", "json"] {
        let out = profile.path(format);
        let output = profile.run(&["--format", format, "-o", out.to_str().unwrap()]);
        assert!(output.status.success() && output.stdout.is_empty() && output.stderr.is_empty(), "{format}");
        assert!(out.metadata().unwrap().len() > 100, "{format}");
    }
    assert_eq!(std::fs::read(profile.path("pprof")).unwrap()[..2], [0x1f, 0x8b]);
    let callgrind = std::fs::read_to_string(profile.path("callgrind")).unwrap();
    assert!(callgrind.contains("\nevents: bytecodes calls exceptional_exits\n"), "{callgrind}");
}

#[test]
fn errors_say_what_there_is() {
    let profile = Profile::new();
    let message = profile.fails(&["--format", "pprof", "-o", "x", "--metric", "cycles"]);
    assert!(
        message
            .contains("it.cprof: there is no metric cycles; there are calls, exceptional_exits, bytecodes; --target adds cycles"),
        "{message}"
    );
    let message = profile.fails(&["--format", "json", "-o", "/nowhere/x"]);
    assert!(message.contains("/nowhere/x cannot be written"), "{message}");
    let message = profile.fails(&["--format", "json", "-o", "-", "--thread", "nobody"]);
    assert!(message.contains("no thread whose name fits nobody"), "{message}");
    let message = profile.fails(&["--format", "json", "-o", "/dev/full"]);
    assert!(message.contains("/dev/full cannot be written"), "{message}");
    assert_eq!(profile.run(&["--format", "elf", "-o", "-"]).status.code(), Some(2));
}

#[test]
fn what_is_no_profile_makes_no_file() {
    let profile = Profile::new();
    let bytes = std::fs::read(profile.path("it.cprof")).unwrap();
    let cases: [(&str, &[u8], &str); 3] = [
        ("empty", b"", "is not a cprof profile: it is empty"),
        ("cut", &bytes[..bytes.len() / 2], "is cut short"),
        ("class", b"\xca\xfe\xba\xbe\0\0\0\x3d", "a Java class file"),
    ];
    for (name, bytes, says) in cases {
        std::fs::write(profile.path(name), bytes).unwrap();
        let (from, to) = (profile.path(name), profile.path("out"));
        let output = cprof(&["export", from.to_str().unwrap(), "--format", "pprof", "-o", to.to_str().unwrap()]);
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(1) && message.contains(says), "{message}");
        assert!(!Path::new(&to).exists());
    }
}

/// A profile of one method, 2 bytecodes on each of these lines of a source, executed three times.
fn on_lines(profile: &Profile, name: &str, source: &str, lines: [u16; 2]) {
    let mut recording = Recording::new();
    let mut class = ClassWriter::new("a/A", "java/lang/Object");
    let [first, second] = lines;
    class.method_with_lines("m", "()V", 9, &[op::NOP, op::NOP, op::NOP, op::RETURN], &[(0, first), (2, second)]);
    let ids = recording.class(class.finish(), false, Level::Precise);
    let tree = recording.arena.tree("main", 0, 1);
    recording.arena.node(tree, tree, ids[0], 0, &[3]);
    let mut made = recording.profile(&[]);
    made.classes[0].source_file = source.into();
    made.run.started_ms = lines.into_iter().map(u64::from).sum();
    cprof_profile::file::write(&profile.path(name), &made).unwrap();
}

#[test]
fn versions_of_a_method_have_lines_of_their_own() {
    const NOTE: &str = "there are several versions of a.A: costs stand on the lines of each, which no one source has all";
    let profile = Profile::new();
    on_lines(&profile, "1.cprof", "A.java", [7, 8]);
    on_lines(&profile, "2.cprof", "B.java", [8, 9]);
    on_lines(&profile, "3.cprof", "A.java", [7, 9]);
    let merged = |names: [&str; 2], options: &[&str]| {
        let [one, other] = names.map(|name| profile.path(name).to_str().unwrap().to_owned());
        assert!(cprof(&["merge", &one, &other, "-o", profile.path("it.cprof").to_str().unwrap()]).status.success());
        let output = profile.run(&[&["--format", "callgrind", "--metric", "bytecodes", "-o", "-"], options].concat());
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (text(output.stdout), text(output.stderr))
    };
    for names in [["1.cprof", "2.cprof"], ["2.cprof", "1.cprof"]] {
        let (out, notes) = merged(names, &[]);
        assert!(out.contains("\n7 6\n8 6\nfi=(2) a/B.java\n8 6\n9 6\nfe=(1)\n") && notes.contains(NOTE), "{out}{notes}");
    }
    let (out, notes) = merged(["3.cprof", "1.cprof"], &[]);
    assert!(out.contains("\n7 12\n8 6\n9 6\n") && notes.contains(NOTE), "{out}{notes}");
    let (out, notes) = merged(["1.cprof", "1.cprof"], &[]);
    assert!(out.contains("\n7 12\n8 12\n") && !notes.contains("several versions"), "{out}{notes}");
}

#[test]
fn a_damaged_class_leaves_what_was_counted() {
    let profile = Profile::new();
    let mut damaged = cprof_synthetic::demo().profile(&[]);
    let method = damaged.methods.iter_mut().find(|method| method.name == "work").unwrap();
    // The first of its bytecodes is in no block.
    method.flow.blocks.iter_mut().find(|block| block.end - block.start > 1).unwrap().start += 1;
    cprof_profile::file::write(&profile.path("it.cprof"), &damaged).unwrap();
    for format in [&["--format", "callgrind"][..], &["--format", "pprof", "--lines"]] {
        let output = profile.run(&[format, &["-o", profile.path("out").to_str().unwrap()]].concat());
        let notes = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() && notes.contains("all own costs stand on methods' first lines: "), "{notes}");
    }
}

/// Counts of the demo's methods, and of a class file that has not run.
#[test]
fn lcov_has_what_ran_and_what_did_not() {
    let profile = Profile::new();
    on_lines(&profile, "it.cprof", "A.java", [7, 8]);
    let ran =
        "TN:\nSF:a/A.java\nFN:7,a.A.m\nFNDA:3,a.A.m\nFNF:1\nFNH:1\nBRF:0\nBRH:0\nDA:7,3\nDA:8,3\nLF:2\nLH:2\nend_of_record\n";
    assert_eq!(profile.export(&["--format", "lcov"]), ran);

    let classes = profile.path("classes");
    std::fs::create_dir(&classes).unwrap();
    let class = |name: &str, source: &str, first: u16| {
        let mut class = ClassWriter::new(name, "java/lang/Object");
        class.source_file(source);
        let branch = [op::ICONST_0, op::IFEQ, 0, 4, op::NOP, op::RETURN];
        class.method_with_lines("m", "()V", 9, &branch, &[(0, first), (4, first + 1)]);
        class.method_with_lines("m", "(I)V", 9, &[op::RETURN], &[(0, first + 2)]);
        std::fs::write(classes.join(format!("{}.class", name.replace('/', "-"))), class.finish()).unwrap();
    };
    class("b/B", "B.java", 3);
    std::fs::write(classes.join("no.class"), "no class").unwrap();
    let arguments = ["--format", "lcov", "--classes", classes.to_str().unwrap(), "-o", "-"];
    let output = profile.run(&arguments);
    let (text, notes) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    let not_run = "TN:\nSF:b/B.java\nFN:3,b.B.m()V\nFN:5,b.B.m(I)V\nFNDA:0,b.B.m()V\nFNDA:0,b.B.m(I)V\nFNF:2\nFNH:0\n\
                   BRDA:3,0,0,-\nBRDA:3,0,1,-\nBRF:2\nBRH:0\nDA:3,0\nDA:4,0\nDA:5,0\nLF:3\nLH:0\nend_of_record\n";
    assert_eq!(text, not_run);
    assert!(
        notes.contains("no class of --classes ran in ") && notes.contains("left out: ") && notes.contains("no.class ("),
        "{notes}"
    );
    // What runs is the profile's, whatever the class file says.
    class("a/A", "A.java", 70);
    let output = profile.run(&arguments);
    let (text, notes) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!(text, format!("{ran}{not_run}"));
    assert!(
        notes.contains("1 class that ran is not as in --classes, but of another build") && !notes.contains("no class"),
        "{notes}"
    );
    // What is read is not written over.
    let jar = profile.path("empty.jar");
    std::fs::write(&jar, [&b"PK\x05\x06"[..], &[0; 18]].concat()).unwrap();
    for out in [classes.join("b-B.class"), profile.path("it.cprof"), jar.clone()] {
        let read = [classes.to_str().unwrap(), "--classes", jar.to_str().unwrap()];
        let output = profile.run(&[&["--format", "lcov", "-o", out.to_str().unwrap(), "--classes"][..], &read].concat());
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && message.contains("would be written over"), "{message}");
    }

    let sources = profile.path("src");
    std::fs::create_dir_all(sources.join("a")).unwrap();
    let file = sources.join("a/A.java");
    std::fs::write(&file, "package a;").unwrap();
    let of_sources = [&arguments[..], &["--source", sources.to_str().unwrap()]].concat();
    let output = profile.run(&of_sources);
    assert_eq!(String::from_utf8(output.stdout).unwrap(), ran.replace("a/A.java", file.to_str().unwrap()));
    let notes = String::from_utf8(output.stderr).unwrap();
    assert!(notes.contains("1 source file was not found in --source, ") && notes.contains("left out: b/B.java\n"), "{notes}");
    assert!(notes.contains("of which they are not: ") && notes.contains("A.java\n"), "the source has no line 8: {notes}");
}

#[test]
fn lcov_says_what_it_leaves_out() {
    let profile = Profile::new();
    let classes = profile.path("classes");
    std::fs::create_dir(&classes).unwrap();
    let class = |name: &str, lines: &[(u16, u16)]| {
        let mut class = ClassWriter::new(name, "java/lang/Object");
        class.source_file("X.java");
        class.method_with_lines("m", "()V", 9, &[op::RETURN], lines);
        class.method_with_lines("n", "()V", 9, &[op::RETURN], lines);
        std::fs::write(classes.join(format!("{name}.class")), class.finish()).unwrap();
    };
    for name in ["Gone", "Half", "Out", "Plain"] {
        class(name, &[(0, 5)]);
    }
    class("Bare", &[]);
    let gap = |class: &str, method: Option<&str>| Gap {
        class: class.to_owned(),
        method: method.map(str::to_owned),
        reason: "too large".to_owned(),
    };
    let mut recorded = cprof_synthetic::demo().profile(&[]);
    recorded.gaps = vec![gap("Gone", None), gap("Half", Some("m()V"))];
    recorded.run.options = "exclude=Out".to_owned();
    recorded.run.roots = vec!["demo.Main.main".to_owned()];
    cprof_profile::file::write(&profile.path("it.cprof"), &recorded).unwrap();
    let output = profile.run(&["--format", "lcov", "--classes", classes.to_str().unwrap(), "-o", "-"]);
    let (text, notes) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    let functions: Vec<&str> = text.lines().filter(|line| line.starts_with("FN:")).collect();
    assert_eq!(functions, ["FN:5,Half.n", "FN:5,Plain.m", "FN:5,Plain.n"], "{notes}");
    for note in [
        "note: 3 methods were not covered, and left out; cprof report ",
        "note: 1 class has no line numbers or no name of a source (javac -g), and left out: Bare\n",
        "note: not counted, because of include= or exclude=, and left out: Out\n",
        "note: only calls of demo.Main.main were counted, and what they call: what else ran has zeros\n",
    ] {
        assert!(notes.contains(note), "{note}: {notes}");
    }
    let only = profile.path("only");
    std::fs::create_dir(&only).unwrap();
    let fails = || profile.fails(&["--format", "lcov", "--classes", only.to_str().unwrap(), "-o", "-"]);
    let nothing = fails();
    let empty = format!("no class file was found in {}\n", only.display());
    assert!(nothing.contains(&empty) && nothing.ends_with("there is no line to write\n"), "{nothing}");
    std::fs::copy(classes.join("Bare.class"), only.join("Bare.class")).unwrap();
    let bare = fails();
    assert!(bare.contains("; its classes have no line numbers or no name of a source (javac -g)"), "{bare}");
}

#[test]
fn lcov_refuses_what_it_has_no_room_for() {
    let profile = Profile::new();
    let nowhere = profile.path("nowhere");
    let nowhere = nowhere.to_str().unwrap();
    for (options, code, says) in [
        (&["--format", "lcov", "--metric", "calls"][..], 2, "lcov has how often lines were executed, and no other metrics"),
        (&["--format", "lcov", "--target", "jop"], 2, "lcov has how often"),
        (&["--format", "lcov", "--methods"], 2, "--methods is for the formats csv and json"),
        (&["--format", "lcov", "--lines"], 2, "--lines is for pprof"),
        (&["--format", "csv", "--classes", nowhere], 2, "--source and --classes are for the format lcov"),
        (&["--format", "pprof", "--source", nowhere], 2, "--source and --classes are for the format lcov"),
        (&["--format", "lcov", "--classes", nowhere], 1, "cannot read class files in "),
        (&["--format", "lcov", "--source", nowhere], 1, "cannot read sources in "),
    ] {
        let output = profile.run(&[options, &["-o", profile.path("out").to_str().unwrap()]].concat());
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(code) && message.contains(says), "{options:?}: {message}");
        assert!(!profile.path("out").exists(), "{options:?}");
    }
    on_lines(&profile, "it.cprof", "A.java", [7, 8]);
    let empty = profile.path("empty");
    std::fs::create_dir(&empty).unwrap();
    let message = profile.fails(&["--format", "lcov", "--source", empty.to_str().unwrap(), "-o", "x"]);
    let says = "there is no line to write; --source is the directory in which those of the packages are";
    assert!(message.contains(says), "{message}");
}
