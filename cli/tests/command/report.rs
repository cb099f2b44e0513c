//! `cprof report` and its errors, on a synthetic profile whose every count is known.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

struct Profile(PathBuf);

impl Profile {
    fn new(test: &str) -> Profile {
        Profile::of(test, &cprof_synthetic::demo().profile(&[]))
    }

    fn of(test: &str, profile: &cprof_profile::model::Profile) -> Profile {
        let path = std::env::temp_dir().join(format!("cprof-cli-{test}-{}.cprof", std::process::id()));
        cprof_profile::file::write(&path, profile).unwrap();
        Profile(path)
    }

    fn report(&self, options: &[&str]) -> String {
        let output = cprof(&[&["report", self.0.to_str().unwrap()], options].concat());
        assert!(output.status.success(), "{options:?}: {}", String::from_utf8_lossy(&output.stderr));
        // Columns have no room for it.
        let told = options.contains(&"csv") && !options.contains(&"--coverage");
        let file = self.0.display();
        let not_covered = format!("cprof: note: {file}: not covered: 1 class; cprof report {file} --coverage lists them\n");
        assert_eq!(String::from_utf8_lossy(&output.stderr), if told { &not_covered } else { "" }, "{options:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn json(&self, options: &[&str]) -> serde_json::Value {
        serde_json::from_str(&self.report(&[&["--format", "json"], options].concat())).unwrap()
    }
}

impl Drop for Profile {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).unwrap();
    }
}

fn cprof(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cprof")).args(arguments).output().unwrap()
}

/// Exit code and standard error of a command that must print nothing else.
fn fails(arguments: &[&str]) -> (i32, String) {
    let output = cprof(arguments);
    assert!(output.stdout.is_empty(), "{arguments:?}");
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn options_that_contradict_each_other_are_refused() {
    for options in [
        &["--threads", "--min-share", "5"][..],
        &["--threads", "--max-depth", "1"],
        &["--coverage", "--min-share", "5"],
        &["--coverage", "--max-depth", "1"],
        &["--coverage", "--target", "jop"],
        &["--coverage", "--cache", "ideal"],
        &["--coverage", "--set", "rws=2"],
        &["--coverage", "--no-upcalls"],
        &["--root", ""],
        &["--thread", ""],
        &["--filter", ""],
    ] {
        let output = cprof(&[&["report", "demo.cprof"], options].concat());
        assert_eq!(output.status.code(), Some(2), "{options:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn what_is_said_several_times_is_one_line_and_methods_too_large_are_named() {
    let mut recording = cprof_synthetic::demo();
    for number in 1..=3 {
        recording.not_covered(&format!("demo/Hidden.0x{number:016x}"), "a hidden class that was defined before cprof came");
    }
    let mut profile = recording.profile(&[]);
    let work = profile.methods.iter().position(|method| method.name == "work").unwrap();
    profile.methods[work].level = cprof_profile::model::Level::Block;
    let written = Profile::of("said", &profile);
    let coverage = written.report(&["--coverage"]);
    let hidden: Vec<&str> = coverage.lines().filter(|line| line.starts_with("demo.Hidden")).collect();
    assert_eq!(hidden, ["demo.Hidden: a hidden class that was defined before cprof came (3 times)"]);
    assert!(coverage.contains("\ndemo.Main.work(I)V: too large for precise counting\n"), "{coverage}");
    let csv = written.report(&["--coverage", "--format", "csv"]);
    assert!(csv.ends_with("\r\ndemo.Main,work(I)V,too large for precise counting\r\n"), "{csv}");
    let said = "1 method was too large for precise counting: after an exception its block counts whole";
    assert!(coverage.contains(&format!("{said}\n")), "{coverage}");
    assert!(written.report(&[]).contains(&format!("{said}; see --coverage\n")));
    let json = written.json(&[]);
    assert_eq!(json["coverage"]["too_large"][0]["method"], "work");
    assert_eq!(json["coverage"]["classes_not_covered"], 4, "each is one");

    profile.run.options = "bba=block".into();
    cprof_profile::file::write(&written.0, &profile).unwrap();
    assert!(!written.report(&["--coverage"]).contains("too large"), "it was asked for");
}

#[test]
fn long_lists_of_what_was_not_covered_are_summed_up() {
    let mut recording = cprof_synthetic::demo();
    (0..30).for_each(|number| recording.not_covered(&format!("demo/H{number}"), "a reason"));
    (0..2).for_each(|number| recording.not_covered(&format!("demo/I{number}"), "another"));
    let mut profile = recording.profile(&[]);
    let method =
        cprof_profile::model::Gap { class: "demo/J".to_owned(), method: Some("m()V".to_owned()), reason: "a reason".to_owned() };
    profile.gaps.push(method);
    let work = profile.methods.iter().position(|method| method.name == "work").unwrap();
    profile.methods[work].level = cprof_profile::model::Level::Block;
    let written = Profile::of("reasons", &profile);
    let coverage = written.report(&["--coverage"]);
    let (list, rest) = coverage.split_once("\n\n").unwrap();
    assert_eq!(list.lines().count(), 35, "{coverage}");
    assert!(rest.starts_with("1 method, 30 classes: a reason\n2 classes: another\n"), "{coverage}");
    assert!(rest.contains("\n1 method: too large for precise counting\n"), "{coverage}");
}

#[test]
fn methods_as_csv() {
    let profile = Profile::new("csv");
    let expected = "class,method,descriptor,calls,exceptional_exits,bytecodes,bytecodes_total\r\n\
                    demo.Main,work,(I)V,4,1,32,32\r\n\
                    demo.Main,main,([Ljava/lang/String;)V,1,0,4,23\r\n\
                    demo.Main$$Lambda,run,()V,1,0,3,16\r\n\
                    java.lang.Thread,yield,()V,5,0,0,0\r\n";
    assert_eq!(profile.report(&["--format", "csv"]), expected);
    let rows = |options: &[&str]| {
        let text = profile.report(&[&["--format", "csv"], options].concat());
        text.lines().skip(1).map(|l| l.split(',').nth(1).unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(rows(&["--sort", "calls"]), ["yield", "work", "main", "run"]);
    assert_eq!(rows(&["--sort", "name"]), ["main", "work", "run", "yield"]);
    assert_eq!(rows(&["--sort", "total", "--top", "2"]), ["work", "main"]);
    assert_eq!(rows(&["--filter", "Lambda"]), ["run"]);
    assert_eq!(rows(&["--filter", "demo.Main.*"]), ["work", "main"]);
    assert_eq!(rows(&["--thread", "worker"]), ["work", "run", "yield"]);
    for tree in [&[][..], &["--tree"]] {
        assert!(profile.report(&[tree, &["--filter", "nobody"]].concat()).contains("no method's name fits nobody"), "{tree:?}");
    }
}

#[test]
fn methods_as_json() {
    let profile = Profile::new("json");
    let report = profile.json(&[]);
    assert_eq!(report["totals"]["bytecodes"], 39);
    assert_eq!(report["totals"]["calls"], 6);
    assert_eq!(report["totals"]["native_calls"], 5);
    assert_eq!(report["methods"][0]["method"], "work");
    assert_eq!(report["methods"][3]["native"], true);
    assert_eq!(report["coverage"]["classes_not_covered"], 1);
    assert_eq!(report["coverage"]["gaps"][0]["class"], "demo.Broken");
    assert_eq!(report["run"]["main_class"], "demo.Main");
}

#[test]
fn a_root_restricts_rows_and_totals() {
    let profile = Profile::new("root");
    let report = profile.json(&["--root", "demo.Main$$Lambda.run"]);
    assert_eq!(report["totals"]["bytecodes"], 16);
    assert_eq!(report["methods"].as_array().unwrap().len(), 3);
    let report = profile.json(&["--root", "demo/Main.work"]);
    assert_eq!((&report["totals"]["calls"], &report["totals"]["contexts"]), (&4.into(), &1.into()));
    let (code, message) = fails(&["report", profile.0.to_str().unwrap(), "--root", "Main.work"]);
    assert_eq!(code, 1);
    assert!(message.contains("no calls of Main.work; similar names: demo.Main.work"), "{message}");
    for part in [["--thread", "worker"], ["--root", "demo.Main.work"]] {
        let (code, message) = fails(&[&["report", profile.0.to_str().unwrap(), "--coverage"], &part[..]].concat());
        assert!(code == 2 && message.contains("cannot be used with"), "{message}");
    }
    let (code, message) = fails(&["report", profile.0.to_str().unwrap(), "--thread", "nobody"]);
    assert_eq!(code, 1);
    assert!(message.contains("no thread whose name fits nobody") && message.contains("--threads lists them"), "{message}");
}

#[test]
fn numbers_that_are_not_told_apart_are_said_to_be_so() {
    let mut profile = cprof_synthetic::demo().profile(&[]);
    let main = profile.threads.iter_mut().find(|thread| thread.name == "main").unwrap();
    main.name = "worker-7".to_owned();
    let written = Profile::of("numbers", &profile);
    let said = "threads whose names differ in numbers share trees, which";
    for (chosen, told) in [("worker-7", Some("worker-7 does not choose: worker-*\n")), ("worker-*", None)] {
        let output = cprof(&["report", written.0.to_str().unwrap(), "--thread", chosen]);
        assert!(output.status.success());
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(error.split_once(said).map(|(_, rest)| rest.trim_start()), told, "{error}");
    }
    let (code, message) = fails(&["report", written.0.to_str().unwrap(), "--thread", "worker-12"]);
    assert_eq!(code, 1);
    assert!(message.contains(&format!("{said} worker-12 does not choose: worker-*; cprof report")), "{message}");
}

#[test]
fn trees_of_threads_of_several_names_are_told() {
    let mut profile = cprof_synthetic::demo().profile(&[]);
    let main = profile.threads.iter_mut().find(|thread| thread.name == "main").unwrap();
    main.other_names = true;
    let written = Profile::of("names", &profile);
    for (chosen, told) in [
        ("main*", "threads of other names counted in 1 tree of those chosen, too\n"),
        ("worker-*", "1 tree is of threads of several names, and not chosen\n"),
    ] {
        let output = cprof(&["report", written.0.to_str().unwrap(), "--thread", chosen]);
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() && error.ends_with(told), "{error}");
    }
    let (_, message) = fails(&["report", written.0.to_str().unwrap(), "--thread", "nobody"]);
    assert!(message.contains("fits nobody; 1 tree is of threads of several names, and not chosen; cprof report"), "{message}");
}

#[test]
fn the_tree_for_other_tools() {
    let profile = Profile::new("tree");
    let expected = "index,parent,class,method,descriptor,site,line,native,calls,exceptional_exits,bytecodes,bytecodes_total\r\n\
                    1,0,demo.Main,main,([Ljava/lang/String;)V,,,false,1,0,4,23\r\n\
                    2,1,demo.Main,work,(I)V,,,false,3,1,19,19\r\n\
                    3,2,java.lang.Thread,yield,()V,,,true,3,0,0,0\r\n\
                    4,0,demo.Main$$Lambda,run,()V,,,false,1,0,3,16\r\n\
                    5,4,demo.Main,work,(I)V,,,false,1,0,13,13\r\n\
                    6,5,java.lang.Thread,yield,()V,,,true,2,0,0,0\r\n";
    assert_eq!(profile.report(&["--tree", "--format", "csv"]), expected);
    let report = profile.json(&["--tree"]);
    assert_eq!(report["contexts"].as_array().unwrap().len(), 6);
    assert_eq!(report["contexts"][4]["bytecodes_total"], 13);
    assert_eq!(report["contexts"][4]["site"], serde_json::Value::Null);

    // By name unless they are to be in another order.
    let mut named = cprof_synthetic::demo().profile(&[]);
    named.classes.iter_mut().filter(|c| c.name.contains("Lambda")).for_each(|c| c.name = "a/First".to_owned());
    cprof_profile::file::write(&profile.0, &named).unwrap();
    let first = |options: &[&str]| profile.json(&[&["--tree"], options].concat())["contexts"][0]["class"].clone();
    assert_eq!([first(&[]), first(&["--sort", "name"]), first(&["--sort", "cost"])], ["a.First", "a.First", "demo.Main"]);
}

#[test]
fn the_tree_for_people() {
    let profile = Profile::new("text-tree");
    let tree = profile.report(&["--tree"]);
    let after = |text: &str| tree.lines().find(|l| l.contains(text)).unwrap_or_else(|| panic!("{text} in\n{tree}")).to_owned();
    assert!(after("demo.Main.main").contains(" 59.0% "), "{tree}");
    assert!(after("    demo.Main.work").contains("1 by exception"), "{tree}");
    let pruned = profile.report(&["--tree", "--min-share", "45"]);
    assert!(pruned.contains("… 1 more: 16 (41.0%)") && !pruned.contains("Lambda"), "{pruned}");
    let shallow = profile.report(&["--tree", "--max-depth", "1"]);
    assert!(shallow.contains("… 1 more: 19 (48.7%)"), "{shallow}");
    // Rows are as many as there are, unless that is asked for.
    let rows = |options: &[&str]| profile.report(&[&["--tree", "--format", "csv"], options].concat()).lines().count() - 1;
    assert_eq!([rows(&[]), rows(&["--min-share", "45%"]), rows(&["--max-depth", "1"])], [6, 2, 2]);
    let filtered = profile.report(&["--tree", "--filter", "Lambda"]);
    assert!(filtered.contains("Lambda.run") && !filtered.contains("Main.main"), "{filtered}");
}

#[test]
fn tables_for_people() {
    let profile = Profile::new("text");
    let text = profile.report(&[]);
    assert!(text.contains("bytecodes          39"), "{text}");
    assert!(text.contains("82.1%") && text.contains("demo.Main.work(int)"), "{text}");
    assert!(text.contains("java.lang.Thread.yield() (native)"), "{text}");
    assert!(text.contains("not covered: 1 class; --coverage lists them"), "{text}");
    assert!(!text.contains('\x1b'), "no colour without a terminal");
    let top = profile.report(&["--top", "1"]);
    assert!(top.contains("3 more methods with 7 bytecodes (17.9%)"), "{top}");
    let threads = profile.report(&["--threads"]);
    assert!(threads.contains("worker-*") && threads.contains("59.0%"), "{threads}");
    let top = profile.report(&["--threads", "--top", "1"]);
    assert!(!top.contains("worker-*") && top.contains("\n1 more name with 16 bytecodes (41.0%); --top 0 shows all\n"), "{top}");
    assert_eq!(profile.report(&["--threads", "--top", "2"]), threads);
    assert_eq!(profile.json(&["--threads", "--top", "1"])["threads"].as_array().unwrap().len(), 1);
    assert_eq!(
        profile.report(&["--threads", "--format", "csv"]),
        "thread,threads,contexts,calls,exceptional_exits,bytecodes\r\nmain,1,2,4,1,23\r\nworker-*,2,2,2,0,16\r\n"
    );
    let threads = profile.json(&["--threads", "--root", "demo.Main.work"]);
    assert_eq!(threads["threads"][1]["bytecodes"], 13);
    assert_eq!(threads["totals"], profile.json(&["--root", "demo.Main.work"])["totals"]);
    assert_eq!(threads["coverage"]["classes_not_covered"], 1);
    let coverage = profile.report(&["--coverage"]);
    assert!(coverage.starts_with("demo.Broken: the class file is damaged\n"), "{coverage}");
    assert_eq!(
        profile.report(&["--coverage", "--format", "csv"]),
        "class,method,reason\r\ndemo.Broken,,the class file is damaged\r\n"
    );
}

#[test]
fn a_reader_that_stops_reading_is_no_error() {
    let profile = Profile::new("pipe");
    let mut child = Command::new(env!("CARGO_BIN_EXE_cprof"))
        .args(["report", profile.0.to_str().unwrap(), "--tree", "--format", "json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut message = String::new();
    child.stderr.take().unwrap().read_to_string(&mut message).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(message, "");
}

#[test]
fn errors_say_what_and_what_to_do() {
    let (code, message) = fails(&["report", "/no/such.cprof"]);
    assert_eq!((code, message.as_str()), (1, "cprof: cannot read /no/such.cprof: No such file or directory (os error 2)\n"));
    let (code, message) = fails(&["report", Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml").to_str().unwrap()]);
    assert!(code == 1 && message.contains("is not a cprof profile: it begins with the text"), "{message}");
    for wrong in [
        &["report"][..],
        &["report", "x", "--sort", "colour"],
        &["report", "x", "--tree", "--min-share", "5%%"],
        &["nothing"],
        &["run"],
    ] {
        assert_eq!(fails(wrong).0, 2, "{wrong:?}");
    }
    for (arguments, word) in
        [(&["--help"][..], "cprof run --"), (&["run", "--help"], "CPROF_AGENT"), (&["report", "--help"], "--min-share")]
    {
        let output = cprof(arguments);
        assert!(output.status.success() && String::from_utf8_lossy(&output.stdout).contains(word), "{arguments:?}");
    }
    assert_eq!(String::from_utf8(cprof(&["--version"]).stdout).unwrap(), format!("cprof {}\n", env!("CARGO_PKG_VERSION")));
}
