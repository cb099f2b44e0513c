//! `cprof report --target`, `cprof explore`, `cprof targets`.

use cprof_profile::model::Misses;
use cprof_profile::target::ModelFile;
use std::path::PathBuf;
use std::process::Command;

struct Profile(PathBuf);

impl Profile {
    /// The demo, as if method caches 1k/4 and 4k/16 had been simulated; the second missed twice when methods were entered and
    /// once when one returned.
    fn new(test: &str) -> Profile {
        Profile::recorded_for(test, "", &["1k/4", "4k/16"])
    }

    /// The same of a run that was given a target, and one or both of the caches.
    fn recorded_for(test: &str, target: &str, caches: &[&str]) -> Profile {
        Profile::with(test, target, caches, "")
    }

    fn with(test: &str, target: &str, caches: &[&str], options: &str) -> Profile {
        let path = std::env::temp_dir().join(format!("cprof-processors-{test}-{}.cprof", std::process::id()));
        let mut profile = cprof_synthetic::demo().profile(&[]);
        profile.run.target = target.to_owned();
        profile.run.options = options.to_owned();
        profile.caches = caches.iter().map(|cache| cache.parse().unwrap()).collect();
        let all = Misses { entry: vec![0, 1, 3, 0, 1, 1].into(), returns: vec![0, 0, 2, 0, 0, 1].into() };
        let fewer = Misses { entry: vec![0, 1, 1, 0, 0, 0].into(), returns: vec![0, 0, 1, 0, 0, 0].into() };
        profile.misses = vec![all, fewer];
        profile.misses.truncate(caches.len());
        cprof_profile::file::write(&path, &profile).unwrap();
        Profile(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Profile {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).unwrap();
    }
}

/// Success, standard output, standard error.
fn cprof(arguments: &[&str]) -> (bool, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_cprof")).args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.success(), text(output.stdout), text(output.stderr))
}

fn prints(arguments: &[&str]) -> String {
    let (success, out, err) = cprof(arguments);
    // Beside rows of reports.
    let others = err.lines().filter(|line| !(arguments.contains(&"csv") && line.ends_with(" --coverage lists them")));
    assert!(success && others.count() == 0, "{arguments:?}: {err}");
    out
}

/// Rows, which have no room for notes: these are on standard error.
fn explores(arguments: &[&str], notes: &[&str]) -> String {
    let (success, rows, told) = cprof(&[&["explore", "--format", "csv"], arguments].concat());
    assert!(success && told.lines().all(|line| line.starts_with("cprof: note: ")), "{arguments:?}: {told}");
    assert!(!rows.contains("note") && notes.iter().all(|note| told.contains(note)), "{arguments:?}: {told}");
    rows
}

fn fails(arguments: &[&str]) -> String {
    let (success, out, err) = cprof(arguments);
    assert!(!success && out.is_empty(), "{arguments:?}: {out}");
    err
}

#[test]
fn the_processor_of_the_recording_is_shown_unless_another_is_named() {
    let own = Profile::recorded_for("own", "jop", &["1k/4", "4k/16"]);
    assert_eq!(prints(&["report", own.path()]), prints(&["report", own.path(), "--target", "jop", "--cache", "4k/16"]));
    assert!(prints(&["report", own.path(), "--target", "picojava"]).contains("on picojava"));
    // Its own cache was not simulated, another was.
    let other = Profile::recorded_for("other", "jop", &["1k/4"]);
    assert_eq!(prints(&["report", other.path()]), prints(&["report", other.path(), "--target", "jop", "--cache", "1k/4"]));
    assert_eq!(prints(&["report", other.path()]), prints(&["report", other.path(), "--target", "jop"]));
    assert!(fails(&["report", other.path(), "--target", "jop-2014"]).contains(" was not simulated"));
    let budget = other.0.with_extension("toml");
    for metric in ["cycles", "cycles[jop]"] {
        std::fs::write(&budget, format!("[[budget]]\nmethod = \"*\"\nlimits = [\"{metric} >= 1\"]\n")).unwrap();
        prints(&["check", other.path(), "--budget", budget.to_str().unwrap()]);
    }
    std::fs::remove_file(&budget).unwrap();
    let gone = Profile::recorded_for("gone", "./gone.toml", &["1k/4"]);
    let error = fails(&["report", gone.path()]);
    assert!(error.contains("gone.toml") && error.contains("--target bytecodes"), "{error}");
    assert!(prints(&["report", gone.path(), "--target", "bytecodes"]).contains("on bytecodes"));
}

#[test]
fn a_model_of_ones_own_is_shown_as_it_was_recorded() {
    let directory = std::env::temp_dir().join(format!("cprof-processors-kept-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let file = directory.join("mine.toml");
    let named = file.to_str().unwrap();
    let text = |iload: u32| {
        let head = "base = \"jop\"\ntitle = \"mine\"\naccuracy = \"coarse\"\n[sources]\nm = \"measured\"\n";
        format!("{head}[bytecodes]\nsource = \"m\"\n\"iload..iload_3, iinc\" = {iload}\n")
    };
    let recorded = |test: &str, iload| {
        let of_mine = Profile::recorded_for(test, named, &["4k/16"]);
        let mut profile = cprof_profile::file::read(&of_mine.0).unwrap();
        profile.run.model = vec![ModelFile { path: named.to_owned(), text: text(iload) }];
        cprof_profile::file::write(&of_mine.0, &profile).unwrap();
        of_mine
    };
    let (one, other) = (recorded("kept", 1), recorded("kept-other", 100));
    let cycles = |arguments: &[&str]| {
        let json = prints(&[&["report", "--format", "json"], arguments].concat());
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        (json["totals"]["cycles"].as_u64().unwrap(), json["totals"]["notes"].to_string())
    };
    // Its file is not there.
    let ((kept, notes), (slower, _)) = (cycles(&[one.path()]), cycles(&[other.path()]));
    assert!(slower > kept && !notes.contains("mine.toml"), "{kept} {slower} {notes}");
    std::fs::write(&file, text(1)).unwrap();
    assert_eq!(cycles(&[one.path()]), (kept, notes));
    // It is there, and was edited.
    std::fs::write(&file, text(100)).unwrap();
    let (same, notes) = cycles(&[one.path()]);
    assert!(same == kept && notes.contains("mine.toml has changed since that was recorded"), "{same} {kept} {notes}");
    assert_eq!(cycles(&[one.path(), "--target", named]).0, slower);
    let (_, table, told) = cprof(&["export", one.path(), "--format", "csv", "-o", "-"]);
    assert!(table.contains("cycles[mine,4k/16]") && told.contains("mine.toml has changed"), "{told}");
    let differ = "the models that they were recorded with differ";
    assert!(prints(&["diff", one.path(), other.path()]).contains(differ));
    assert!(!prints(&["diff", one.path(), other.path(), "--target", named]).contains(differ));
    let shipped = Profile::recorded_for("kept-shipped", "jop", &["4k/16"]);
    assert!(prints(&["diff", shipped.path(), one.path()]).contains(differ));
    assert!(!prints(&["diff", shipped.path(), shipped.path()]).contains(differ));
    let picture = |more: &[&str]| cprof(&[&["flamegraph", other.path(), "--diff", one.path(), "-o", "-"], more].concat());
    assert!(picture(&[]).2.contains(differ) && !picture(&["--target", named]).2.contains(differ));
    // A budget for cycles means those of the recording, unless it names the file.
    let budget = directory.join("budget.toml");
    let limits = format!(
        "[[budget]]\nmethod = \"*\"\nlimits = [\"cycles == {kept}\", \"cycles[mine,4k/16] == {kept}\", \"cycles[{named}] == {slower}\"]\n"
    );
    std::fs::write(&budget, limits).unwrap();
    let (success, out, err) = cprof(&["check", one.path(), "--budget", budget.to_str().unwrap()]);
    assert!(success && out.contains("has changed"), "{out}{err}");
    // Designs are compared with it, too, whether its file is there or not.
    let row = format!("{named},4k/16,,{kept},");
    let rows = explores(&[one.path()], &["mine.toml has changed", "hypothetical: jop-combined, "]);
    assert!(rows.lines().nth(1).unwrap().starts_with(&row) && rows.contains("\njop-combined,none,"), "{rows}");
    assert!(prints(&["explore", one.path()]).contains("mine.toml has changed"));
    std::fs::remove_file(&file).unwrap();
    let matrix = directory.join("matrix.toml");
    std::fs::write(&matrix, "[set]\nrws = [1, 2]\n[base]\nset = { rws = 2 }\n").unwrap();
    let rows = explores(&[one.path(), "--matrix", matrix.to_str().unwrap()], &[]);
    assert!(rows.contains(&format!("{named},4k/16,rws=1,{kept},")) && rows.contains(",0.000000,"), "{rows}");
    assert_eq!(rows.lines().count(), 1 + 3 * 2);
    let on_none = Profile::new("kept-none");
    let refused = fails(&["explore", on_none.path(), "--matrix", matrix.to_str().unwrap()]);
    assert!(refused.contains("matrix.toml: it names no processor, and the recording is for none"), "{refused}");
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn a_recording_with_a_cache_that_needs_no_simulation_is_shown_with_it() {
    for cache in ["ideal", "none"] {
        let profile = Profile::with(&format!("fixed-{cache}"), "jop", &[], &format!("quiet,target=jop,cache={cache}"));
        let as_named = prints(&["report", profile.path(), "--target", "jop", "--cache", cache]);
        assert_eq!(prints(&["report", profile.path()]), as_named);
        assert_eq!(prints(&["report", profile.path(), "--target", "jop"]), as_named);
        let table = prints(&["export", profile.path(), "--format", "csv", "-o", "-"]);
        assert!(table.contains(&format!("cycles[jop,{cache}]")), "{table}");
        // Another processor has its own, if that is such a one, too.
        let own = prints(&["report", profile.path(), "--target", "picojava", "--cache", "ideal"]);
        assert_eq!(prints(&["report", profile.path(), "--target", "picojava"]), own);
        let table = prints(&["export", profile.path(), "--target", "picojava", "--format", "csv", "-o", "-"]);
        assert!(table.contains("cycles[picojava,ideal]"), "{table}");
    }
    // Whoever wished for none, and simulated none.
    let profile = Profile::with("nothing", "", &[], "quiet");
    let refused = fails(&["report", profile.path(), "--target", "jop"]);
    assert!(refused.contains("4k/16 was not simulated in this run, which simulated no method cache. Record"), "{refused}");
}

#[test]
fn columns_follow_the_others() {
    let profile = Profile::new("csv");
    let csv = prints(&["report", profile.path(), "--target", "jop", "--format", "csv"]);
    // By hand in the profile crate's tests: 251 for main, 83 + 52 and one missed return of 3 more for work.
    let expected = "class,method,descriptor,calls,exceptional_exits,bytecodes,bytecodes_total,\
                    cycles,cycles_total,entry_misses,return_misses,hit_rate,cpi\r\n\
                    demo.Main,main,([Ljava/lang/String;)V,1,0,4,23,251,337,1,0,0.000000,62.750000\r\n\
                    demo.Main,work,(I)V,4,1,32,32,138,138,1,1,0.714286,4.312500\r\n\
                    demo.Main$$Lambda,run,()V,1,0,3,16,97,149,0,0,1.000000,32.333333\r\n\
                    java.lang.Thread,yield,()V,5,0,0,0,0,0,0,0,,\r\n";
    assert_eq!(csv, expected);
    let json = prints(&["report", profile.path(), "--target", "jop", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let totals = &json["totals"];
    assert_eq!((&totals["cycles"], &totals["target"], &totals["cache"]), (&486.into(), &"jop".into(), &"4k/16".into()));
    assert_eq!((&totals["entry_misses"], &totals["return_misses"], &totals["lookups"]), (&2.into(), &1.into(), &9.into()));
    assert_eq!(totals["milliseconds"], 0.00486);
    assert_eq!((&json["methods"][0]["cycles"], &json["methods"][0]["entry_misses"]), (&251.into(), &1.into()));
    let tree = prints(&["report", profile.path(), "--target", "jop", "--tree", "--format", "csv"]);
    assert!(tree.contains("\r\n2,1,demo.Main,work,(I)V,,,false,3,1,19,19,86,86,1,1,0.600000,4.526316\r\n"), "{tree}");
    let threads = prints(&["report", profile.path(), "--target", "jop", "--threads", "--format", "csv"]);
    assert!(threads.contains("main,1,2,4,1,23,337,337,2,1,"), "{threads}");
    let plain = prints(&["report", profile.path(), "--format", "csv"]);
    assert!(!plain.contains("cycles"), "{plain}");
}

#[test]
fn rows_are_in_order_of_the_column_that_is_named() {
    let profile = Profile::new("sorted");
    let first = |key: &str, more: &[&str]| {
        let csv = prints(&[&["report", profile.path(), "--sort", key, "--format", "csv", "--target", "jop"], more].concat());
        csv.lines().skip(1).take(3).map(|line| line.split(',').nth(1).unwrap().to_owned()).collect::<Vec<_>>()
    };
    for (key, order) in [
        ("bytecodes", ["work", "main", "run"]),
        ("bytecodes_total", ["work", "main", "run"]),
        ("cycles", ["main", "work", "run"]),
        ("cycles_total", ["main", "run", "work"]),
        ("cost", ["main", "work", "run"]),
        ("total", ["main", "run", "work"]),
    ] {
        assert_eq!(first(key, &[]), order, "{key}");
    }
    for key in ["cycles", "cycles_total"] {
        let refused = fails(&["report", profile.path(), "--sort", key]);
        assert!(refused.contains("--sort cycles") && refused.contains("--target"), "{refused}");
    }
}

/// Their numbers stand beside those of the same cache.
#[test]
fn pages_compare_recordings_with_their_caches_in_different_orders() {
    let one = Profile::recorded_for("order", "jop", &["1k/4", "4k/16"]);
    let other = Profile::recorded_for("other-order", "jop", &["4k/16", "1k/4"]);
    let page = cprof(&["html", one.path(), "--diff", other.path(), "-o", "-"]);
    // That a page's metrics are in its order is asserted where they are added.
    assert!(page.0 && page.1.contains("<html"), "{}", page.2);
}

#[test]
fn what_is_left_out_of_cycles_is_in_their_name() {
    let profile = Profile::new("left-out");
    for (option, name) in
        [("--no-upcalls", "cycles[jop no-upcalls,4k/16]"), ("--no-exceptions", "cycles[jop no-exceptions,4k/16]")]
    {
        let table =
            prints(&["export", profile.path(), "--format", "csv", "--target", "jop", "--cache", "4k/16", option, "-o", "-"]);
        assert!(table.contains(name), "{table}");
        let what = option.trim_start_matches("--");
        let on = &["--target", "jop", "--cache", "4k/16", "--set", "rws=3", option][..];
        let report = prints(&[&["report", profile.path()][..], on].concat());
        assert!(report.contains(&format!("on jop rws=3 {what} (model: exact)")), "{report}");
        let annotated = prints(&[&["annotate", profile.path(), "demo.Main.work"][..], on].concat());
        assert!(annotated.contains(&format!("%) on jop rws=3 {what}, 4k/16\n")), "{annotated}");
        let json = prints(&[&["annotate", profile.path(), "demo.Main.work", "--format", "json"][..], on].concat());
        assert!(json.contains(&format!("\"target\": \"jop rws=3 {what}\"")), "{json}");
        let explored = prints(&["explore", profile.path(), option]);
        assert!(
            explored.contains(&format!("note: costs are with {what}, as the options say, where nothing else is said")),
            "{explored}"
        );
        let directory = tempfile::tempdir().unwrap();
        let budget = directory.path().join("budget.toml");
        std::fs::write(&budget, "[[budget]]\nmethod = \"demo.Main.work\"\nlimits = [\"cycles[jop] >= 0\"]\n").unwrap();
        let checked = prints(&["check", profile.path(), "--budget", budget.to_str().unwrap(), "--set", "rws=3", option]);
        assert!(
            checked.contains(&format!("costs are with rws=3 {what}, as the options say, where nothing else is said")),
            "{checked}"
        );
    }
}

/// The shipped one and a copy with another cost are two processors.
#[test]
fn a_model_with_the_name_of_a_shipped_one_is_told_apart() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("jop.toml");
    std::fs::write(&file, "base = \"jop\"\ntitle = \"mine\"\naccuracy = \"coarse\"\n[sources]\nm = \"mine\"\n[bytecodes]\nsource = \"m\"\niload_0 = \"+100\"\n").unwrap();
    let profile = Profile::recorded_for("like-shipped", file.to_str().unwrap(), &["4k/16"]);
    assert!(prints(&["report", profile.path()]).contains("on jop.toml (model: coarse)"));
    assert!(prints(&["report", profile.path(), "--target", "jop"]).contains("on jop (model: exact)"));
    let json = prints(&["report", profile.path(), "--format", "json"]);
    let own = json.split("\"cycles\": ").nth(1).and_then(|rest| rest.split(',').next()).unwrap();
    let budget = directory.path().join("budget.toml");
    let limits = format!("limits = [\"cycles[jop.toml] == {own}\", \"cycles == {own}\", \"cycles[jop] < {own}\"]");
    std::fs::write(&budget, format!("[[budget]]\nmethod = \"*\"\n{limits}\n")).unwrap();
    let checked = prints(&["check", profile.path(), "--budget", budget.to_str().unwrap()]);
    assert!(checked.contains("3 held"), "{checked}");
}

/// A file's name is kept in full, and may be given otherwise.
#[test]
fn the_recordings_own_model_may_be_named_in_another_way() {
    let directory = std::env::temp_dir().join(format!("cprof-processors-named-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let file = directory.join("mine.toml");
    std::fs::write(&file, "base = \"jop\"\ntitle = \"mine\"\naccuracy = \"coarse\"\n").unwrap();
    let profile = Profile::recorded_for("named", file.to_str().unwrap(), &["1k/4"]);
    let as_recorded = prints(&["report", profile.path(), "--target", file.to_str().unwrap()]);
    let mut report = Command::new(env!("CARGO_BIN_EXE_cprof"));
    let report = report.current_dir(&directory).args(["report", profile.path(), "--target", "./mine.toml"]).output().unwrap();
    assert_eq!((String::from_utf8(report.stdout).unwrap(), report.stderr), (as_recorded, Vec::new()));
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn text_says_what_it_is_of() {
    let profile = Profile::new("text");
    let text = prints(&["report", profile.path(), "--target", "jop", "--set", "clock_mhz=50"]);
    for part in [
        "on jop clock_mhz=50 (model: exact): 0.010 ms at 50 MHz, CPI 12.46",
        "of method cache 4k/16: hit rate 66.67%",
        "entry misses",
    ] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    let ideal = prints(&["report", profile.path(), "--target", "jop", "--cache", "ideal", "--root", "demo.Main.work"]);
    assert!(ideal.contains("cycles") && ideal.contains("135") && !ideal.contains("misses of"), "{ideal}");
}

#[test]
fn what_cannot_be_answered_is_refused() {
    let profile = Profile::new("refused");
    let refused = fails(&["report", profile.path(), "--target", "jop", "--cache", "16k/64"]);
    assert!(refused.contains("16k/64") && refused.contains("simulated 1k/4, 4k/16"), "{refused}");
    assert!(fails(&["report", profile.path(), "--target", "jup"]).contains("jop-2014"));
    assert!(fails(&["report", profile.path(), "--target", "jop", "--set", "x=1"]).contains("rws (1)"));
    assert!(fails(&["report", profile.path(), "--target", "jop", "--set", "rws=fast"]).contains("whole number"));
    for option in [&["--cache", "4k/16"][..], &["--set", "rws=3"], &["--no-upcalls"], &["--no-exceptions"]] {
        let refused = fails(&[&["report", profile.path()][..], option].concat());
        assert!(refused.contains(option[0]) && refused.contains("--target"), "{refused}");
    }
    for cache in ["4k", "4k/0", "0/4", "mru:4k/16", "4k/16@core", "x/4", ""] {
        let refused = fails(&["report", profile.path(), "--target", "jop", "--cache", cache]);
        assert!(refused.contains("--cache") && refused.contains(&format!("'{cache}'")), "{refused}");
    }
    let refused = fails(&["report", profile.path(), "--target", "jop", "--cache", "lru:4k/16"]);
    assert!(refused.contains("lru:4k/16 was not simulated") && refused.contains("simulated 1k/4, 4k/16"), "{refused}");
    assert!(fails(&["report", profile.path(), "--target", "jop", "--cache", "4k"]).contains("number of blocks"));
}

#[test]
fn explore() {
    let profile = Profile::new("explore");
    let matrix = profile.0.with_extension("toml");
    let text = "targets = [\"jop\", \"jop-fast-invoke\"]\ncaches = [\"4k/16\", \"ideal\"]\n[set]\nrws = [1, 9]\n[base]\ntarget = \"jop\"\n";
    std::fs::write(&matrix, text).unwrap();
    let csv = explores(&[profile.path(), "--matrix", matrix.to_str().unwrap()], &["hypothetical: jop-fast-invoke"]);
    let rows: Vec<Vec<&str>> = csv.lines().map(|l| l.split(',').collect()).collect();
    assert_eq!(rows.len(), 1 + 2 * 2 * 2, "{csv}");
    assert_eq!(rows[1][..5], ["jop", "4k/16", "rws=1", "486", "39"]);
    assert_eq!(rows[1][7], "0.000000", "the base itself");
    assert_eq!(rows[3][..4], ["jop", "ideal", "rws=1", "483"]);
    assert_eq!(rows[3][7], "0.621118", "486 / 483");
    let same = prints(&["report", profile.path(), "--target", "jop-fast-invoke", "--set", "rws=9", "--format", "json"]);
    let same: serde_json::Value = serde_json::from_str(&same).unwrap();
    assert_eq!(rows[6][..3], ["jop-fast-invoke", "4k/16", "rws=9"]);
    assert_eq!(same["totals"]["cycles"].to_string(), rows[6][3], "a row is what a report says");
    let picture = profile.0.with_extension("svg");
    prints(&["explore", profile.path(), "--matrix", matrix.to_str().unwrap(), "--plot", picture.to_str().unwrap()]);
    let svg = std::fs::read_to_string(&picture).unwrap();
    std::fs::remove_file(&picture).unwrap();
    for part in ["<svg ", "speedup in percent against jop, 4k/16", "jop-fast-invoke, ideal rws=9", ">+0.0</text>", "</svg>"] {
        assert!(svg.contains(part), "{part}:\n{svg}");
    }
    let refused = fails(&["explore", profile.path(), "--plot", "/nowhere/at/all.svg"]);
    assert!(refused.contains("/nowhere/at/all.svg cannot be written"), "{refused}");
    std::fs::write(&matrix, "targets = [\"jop\"]\ncaches = [\"16k/64\"]\n").unwrap();
    let refused = fails(&["explore", profile.path(), "--matrix", matrix.to_str().unwrap()]);
    assert!(refused.contains("simulated 1k/4, 4k/16"), "{refused}");
    for (text, wrong) in [
        ("targets = [\"jop\"]\ncache = [\"16k/64\"]\n", "2:1: unknown field `cache`"),
        ("targets = [\"jop\"]\n[set]\nrws = []", "3:1: rws has no values"),
        ("targets = [\"jop\", \"jopp\"]", "1:19: there is no target \"jopp\""),
        ("targets = [\"jop\"]\ncaches = [\"4k/16\", \"4k/1x\"]", "2:20: \"4k/1x\" is no cache"),
        ("targets = [\"jop\"]\n[set]\nrwz = [1]", "3:1: target jop has no parameter rwz"),
        ("targets = [\"jop\"]\n[base]\ntarget = \"jop\"\ncache = \"4x\"", "4:9: \"4x\" is no cache"),
    ] {
        std::fs::write(&matrix, text).unwrap();
        let refused = fails(&["explore", profile.path(), "--matrix", matrix.to_str().unwrap()]);
        assert!(refused.contains(&format!("{}:{wrong}", matrix.display())), "{refused}");
    }
    for (text, wrong) in [
        ("[set]\nrws = [-1]", "rws is -1, and must be at least 0"),
        ("targets = []", "targets is empty; give it some, or leave it out"),
        ("caches = []", "caches is empty; give it some, or leave it out"),
        ("targets = [\"jop\", \"jop\"]\ncaches = [\"none\"]", "has jop, none more than once"),
    ] {
        std::fs::write(&matrix, text.replacen("[set]", "targets = [\"jop\"]\n[set]", 1)).unwrap();
        let refused = fails(&["explore", profile.path(), "--matrix", matrix.to_str().unwrap()]);
        assert!(refused.contains(wrong), "{refused}");
    }
    // Parameters by which something is divided, and the clock, have values that are never tried.
    let mine = profile.0.with_extension("mine.toml");
    let model = "base = \"jop\"\ntitle = \"t\"\naccuracy = \"coarse\"\n[sources]\nm = \"m\"\n[parameters]\nburst = { value = 4, source = \"m\" }\n\
                 [load]\nsource = \"m\"\nhit = 2\nmiss = \"8 + 6 * ceildiv(n, burst)\"\n";
    std::fs::write(&mine, model).unwrap();
    let mine = mine.to_str().unwrap();
    std::fs::write(&matrix, format!("targets = [\"{mine}\"]\n[set]\nburst = [2, 8]\nclock_mhz = [50]\n[base]\ntarget = \"{mine}\"\nset = {{ burst = 1 }}\n")).unwrap();
    assert_eq!(explores(&[profile.path(), "--matrix", matrix.to_str().unwrap()], &["coarse: "]).lines().count(), 1 + 2 * 4);
    let shown = prints(&["targets", "show", mine]);
    assert!(shown.contains("  burst = 4  [") && shown.contains("method cache: 4k/16  ["), "{shown}");
    std::fs::write(&matrix, format!("targets = [\"{mine}\"]\n[set]\nburst = [0]\n")).unwrap();
    let refused = fails(&["explore", profile.path(), "--matrix", matrix.to_str().unwrap()]);
    assert!(refused.contains("burst = 0: division by zero"), "{refused}");
    std::fs::write(&matrix, "targets = [\"jop\"]\n[set]\nrws = [1, -1]\n").unwrap();
    let refused = fails(&["explore", profile.path(), "--matrix", matrix.to_str().unwrap()]);
    assert!(refused.contains(&format!("{}:3:11: rws is -1, and must be at least 0", matrix.display())), "{refused}");
    std::fs::remove_file(mine).unwrap();
    std::fs::remove_file(&matrix).unwrap();
    let default = prints(&["explore", profile.path()]);
    assert!(default.contains("jop-combined, 1k/4") && default.contains("jop, none") && default.contains("+0.0%"), "{default}");
}

#[test]
fn targets() {
    let list = prints(&["targets"]);
    for name in ["bytecodes", "jop", "jop-2014", "aj-100", "komodo", "picojava", "shap", "hypothetical", "coarse"] {
        assert!(list.contains(name), "{name}:\n{list}");
    }
    let jop = prints(&["targets", "show", "jop", "--set", "rws=3"]);
    for part in ["getfield            17  = 11 + 2*rws  [", "rws = 3  wait states", "what it does not model", "WCET timing table"]
    {
        assert!(jop.contains(part), "{part}:\n{jop}");
    }
    let file = std::env::temp_dir().join(format!("cprof-check-{}.toml", std::process::id()));
    std::fs::write(&file, "base = \"jop\"\ntitle = \"mine\"\naccuracy = \"coarse\"\n").unwrap();
    let path = file.to_str().unwrap();
    assert!(prints(&["targets", "check", path]).contains("is a target model: mine\n  on top of cprof's jop.toml"));
    std::fs::write(&file, "base = \"jop\"\ntitle = \"mine\"\naccuracy = \"coarse\"\n[bytecodes]\nnop = 1\n").unwrap();
    assert!(fails(&["targets", "check", path]).contains(":5:7: nop has no source"));
    std::fs::remove_file(&file).unwrap();
    assert!(fails(&["targets", "check", "/dev/zero"]).contains("cannot read the target model /dev/zero: it has more than 4 MB"));
    assert!(fails(&["targets", "show", "none"]).contains("there is no target \"none\""));
}

#[test]
fn a_wrong_parameter_is_a_wrong_option_whoever_names_the_processor() {
    let profile = Profile::recorded_for("wrong-parameter", "jop", &["4k/16"]);
    for command in ["report", "export --format json -o -", "annotate demo.Main", "html -o -"] {
        let mut words = command.split(' ');
        let mut arguments = vec![words.next().unwrap(), profile.path()];
        arguments.extend(words);
        arguments.extend(["--set", "foo=3"]);
        let output = Command::new(env!("CARGO_BIN_EXE_cprof")).args(&arguments).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{command}: {message}");
        assert!(message.contains("foo") && !message.contains("recording names"), "{command}: {message}");
    }
}

#[test]
fn a_recorded_processor_that_is_no_file_is_not_waited_for() {
    let pipe = std::env::temp_dir().join(format!("cprof-model-{}.toml", std::process::id()));
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let profile = Profile::recorded_for("pipe", pipe.to_str().unwrap(), &[]);
    let message = fails(&["report", profile.path()]);
    std::fs::remove_file(&pipe).unwrap();
    assert!(message.contains("is no file") && message.contains("--target chooses another"), "{message}");
}

#[test]
fn a_model_may_count_something_else_than_cycles() {
    let profile = Profile::new("counting");
    let all = prints(&["report", profile.path(), "--target", "allocations"]);
    assert!(all.contains("\nallocations         0  (exact)\n"), "{all}");
    assert!(!all.contains("CPI") && !all.contains("misses") && !all.contains("cycles"), "{all}");
    let mine = profile.0.with_extension("mine.toml");
    let named = mine.to_str().unwrap();
    let model = |head: &str| {
        let costs = "[sources]\nm = \"m\"\n[bytecodes]\nsource = \"m\"\n\"*\" = 0\niinc = 1\n[invoke]\nsource = \"m\"\n\"*\" = 0\n\
                     [return]\nsource = \"m\"\n\"*\" = 0\n";
        std::fs::write(&mine, format!("title = \"t\"\naccuracy = \"exact\"\n{head}\n{costs}")).unwrap();
    };
    model("unit = \"steps\"");
    let column = format!("steps[{}]", mine.file_stem().unwrap().to_str().unwrap());
    let report = prints(&["report", profile.path(), "--target", named]);
    assert!(report.contains("steps               4  by ") && report.contains("\nsteps   share"), "{report}");
    assert!(prints(&["targets", "show", named]).contains("bytecodes, in steps"));
    // Once, however many caches were simulated.
    let exported = prints(&["export", profile.path(), "--format", "csv", "--methods", "--target", named, "-o", "-"]);
    let head = exported.lines().next().unwrap();
    assert_eq!((head.matches(&*column).count(), head.matches("cycles").count()), (2, 0), "{head}");
    let shown = prints(&["annotate", profile.path(), "demo.Main.work", "--target", named]);
    assert!(shown.contains("4 steps (100.0%)\n") && shown.contains("executions  steps   share"), "{shown}");
    assert!(fails(&["report", profile.path(), "--target", named, "--cache", "4k/16"]).contains("leave --cache out"));
    let export = ["export", profile.path(), "--format", "json", "--target", named, "--cache", "4k/16", "-o", "-"];
    assert!(fails(&export).contains("leave --cache out"));
    let both = ["export", profile.path(), "--format", "csv", "--target", named, "--target", "jop", "--cache", "4k/16", "-o", "-"];
    let both = prints(&both);
    assert!(both.contains(&column) && both.contains("\"cycles[jop,4k/16]\""), "{both}");
    let set = [named, "--target", "jop", "--cache", "4k/16", "--set", "rws=3", "-o", "-"];
    let set = prints(&[&["export", profile.path(), "--format", "csv", "--target"], &set[..]].concat());
    assert!(set.contains(&column) && set.contains("\"cycles[jop rws=3,4k/16]\""), "{set}");
    assert!(fails(&["report", profile.path(), "--target", named, "--set", "rws=3"]).contains("has no parameter rws"));
    let matrix = profile.0.with_extension("matrix.toml");
    std::fs::write(&matrix, format!("targets = [\"{named}\"]\n")).unwrap();
    let refused = fails(&["explore", profile.path(), "--matrix", matrix.to_str().unwrap()]);
    assert!(refused.contains(":1:12: ") && refused.contains("counts steps, and cycles are compared"), "{refused}");

    let budget = profile.0.with_extension("budget.toml");
    for (limit, code, said) in [
        (format!("steps[{named}] == 4"), 0, "1 held"),
        (format!("steps[{named}] > 4"), 1, "4 steps["),
        ("allocations == 0".to_owned(), 0, "1 held"),
        ("cycles[allocations,4k/16] == 0".to_owned(), 2, "there is no cycles[allocations,4k/16], but allocations\n"),
        ("allocations[jop] == 0".to_owned(), 2, "jop counts cycles: there is no allocations[jop], but cycles[jop]"),
        ("cycles[allocations rws=3] == 0".to_owned(), 2, "there is no cycles[allocations rws=3], but allocations\n"),
        (format!("cycles[{named},4k/16] == 4"), 2, &*format!("there is no cycles[{named},4k/16], but steps[{named}]\n")),
        ("bytecodes[jop] == 4".to_owned(), 2, "there is no metric bytecodes[jop]"),
        (format!("steps[{named},4k/16] == 4"), 2, "leave the cache out"),
        ("jop == 4".to_owned(), 2, "there is no metric jop"),
    ] {
        std::fs::write(&budget, format!("[[budget]]\nmethod = \"*\"\nlimits = ['{limit}']\n")).unwrap();
        let mut check = Command::new(env!("CARGO_BIN_EXE_cprof"));
        let output = check.args(["check", profile.path(), "--budget", budget.to_str().unwrap()]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!((output.status.code(), text.contains(said)), (Some(code), true), "{limit}: {text}");
    }

    // Parameters of processors are none of others beside them, and without processors nobody's.
    let check = |limits: &str, code: i32| {
        std::fs::write(&budget, format!("[[budget]]\nmethod = \"*\"\nlimits = [{limits}]\n")).unwrap();
        let mut check = Command::new(env!("CARGO_BIN_EXE_cprof"));
        check.args(["check", profile.path(), "--budget", budget.to_str().unwrap(), "--set", "rws=3"]);
        let output = check.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let text = text(output.stdout) + &text(output.stderr);
        assert_eq!(output.status.code(), Some(code), "{limits}: {text}");
        text
    };
    assert!(
        check(&format!("'steps[{named}] == 4', 'allocations == 0', 'cycles[jop,4k/16] > 0'"), 0).contains("of 3 limits 3 held")
    );
    assert!(check(&format!("'steps[{named}] == 4'"), 2).contains("limits has a parameter rws"));
    assert!(check("'misses[4k/16] == 4'", 2).contains("there is no metric misses[4k/16]"));
    let own = Profile::recorded_for("counting-own", "allocations", &[]);
    assert!(prints(&["report", own.path()]).contains("\nallocations "));
    let (done, _, told) = cprof(&["explore", own.path()]);
    assert!(
        done && told.contains("the recording is for allocations, which counts allocations: it is left out of cycles"),
        "{told}"
    );

    for (head, wrong) in [
        ("unit = \"calls\"", ":3:8: calls are counted without a model"),
        ("unit = \"my steps\"", ":3:8: unit must be one word"),
        ("unit = \"steps_total\"", ":3:8: steps_total means something else"),
        ("unit = \"line\"", ":3:8: line means something else"),
        ("unit = \"steps\"\nonly_completed = \"no\"", ":4:18: only_completed must be true or false, not string"),
        ("unit = \"steps\"\n[cache]\nsource = \"m\"\ndefault = \"4k/16\"", ":3:8: a model that counts steps has no method cache"),
        (
            "base = \"jop\"\nunit = \"steps\"",
            ":4:8: a model that counts steps has no method cache, and this one, or its base, has 4k/16",
        ),
    ] {
        model(head);
        let refused = fails(&["targets", "check", named]);
        assert!(refused.contains(wrong), "{refused}");
    }
    model(&format!("[load]\nsource = \"m\"\nmiss = 1\nhit = \"{}1\"", "1+".repeat(500)));
    assert!(fails(&["targets", "check", named]).contains("longer than 1000 characters"));
    for file in [mine, matrix, budget] {
        std::fs::remove_file(file).unwrap();
    }
}
