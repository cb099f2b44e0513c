//! `cprof diff`, `cprof overlap` and `cprof check` on synthetic profiles whose every count is known.

use cprof_profile::amounts::Amounts;
use cprof_profile::cache::CacheSpec;
use cprof_profile::model::{Gap, Misses, Profile, Run};
use cprof_synthetic::{counters, set_counters};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A folder with profiles.
struct Folder(TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn profile(&self, name: &str, profile: &Profile) -> PathBuf {
        let path = self.0.path().join(name);
        cprof_profile::file::write(&path, profile).unwrap();
        path
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

/// The demo: `main` 1 call, 4 bytecodes; `work` 3 + 1 calls, 19 + 13; the lambda's `run` 1 call, 3; 5 native calls.
fn demo() -> Profile {
    cprof_synthetic::demo().profile(&[])
}

/// The same with everything executed twice.
fn twice() -> Profile {
    let mut profile = demo();
    let counters = counters(&profile);
    set_counters(&mut profile, counters.iter().map(|c| c * 2));
    profile.departures.iter_mut().for_each(|d| d.count *= 2);
    profile
}

/// Exit code, standard output, standard error.
fn cprof(arguments: &[&str], files: &[&Path]) -> (i32, String, String) {
    let (command, options) = arguments.split_first().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_cprof")).arg(command).args(files).args(options).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn good(arguments: &[&str], files: &[&Path]) -> String {
    let (code, out, error) = cprof(arguments, files);
    assert_eq!((code, error.as_str()), (0, ""), "{arguments:?}");
    out
}

#[test]
fn no_difference_is_said() {
    let folder = Folder::new();
    let a = folder.profile("a.cprof", &demo());
    for by in ["method", "context"] {
        let text = good(&["diff", "--by", by], &[&a, &a]);
        assert!(text.contains("no difference in calls, exceptional_exits, bytecodes"), "{text}");
        assert!(text.contains("methods   0 new, 0 gone, 0 changed, 4 the same"), "{text}");
        assert_eq!(good(&["diff", "--by", by, "--format", "csv"], &[&a, &a]).lines().count(), 1, "only the header");
    }
    // The same is called from elsewhere.
    let mut moved = demo();
    moved.nodes.parent[2] = 0;
    let moved = folder.profile("moved.cprof", &moved);
    let text = good(&["diff"], &[&a, &moved]);
    assert!(
        text.contains("no method differs in calls, exceptional_exits, bytecodes; the contexts that do: --by context"),
        "{text}"
    );
    assert!(good(&["diff", "--by", "context"], &[&a, &moved]).contains("by bytecodes, without callees"));
    let overlap = good(&["overlap", "--format", "csv"], &[&a, &a]);
    assert_eq!(
        overlap,
        "metric,by_context,by_method,before,after\r\ncalls,100.000000,100.000000,11,11\r\n\
         exceptional_exits,100.000000,100.000000,1,1\r\nbytecodes,100.000000,100.000000,39,39\r\n"
    );
}

#[test]
fn changes_are_ranked_and_signed() {
    let folder = Folder::new();
    let (a, b) = (folder.profile("a.cprof", &demo()), folder.profile("b.cprof", &twice()));
    let expected = "fate,class,method,descriptor,native,was,before,after,change,before_total,after_total,change_total\r\n\
                    changed,demo.Main,work,(I)V,false,,32,64,32,32,64,32\r\n\
                    changed,demo.Main,main,([Ljava/lang/String;)V,false,,4,8,4,23,46,23\r\n\
                    changed,demo.Main$$Lambda,run,()V,false,,3,6,3,16,32,16\r\n\
                    changed,java.lang.Thread,yield,()V,true,,0,0,0,0,0,0\r\n";
    assert_eq!(good(&["diff", "--format", "csv"], &[&a, &b]), expected);
    let back = good(&["diff", "--format", "csv", "--top", "1"], &[&b, &a]);
    assert!(back.ends_with("changed,demo.Main,work,(I)V,false,,64,32,-32,64,32,-32\r\n"), "{back}");
    let contexts = good(&["diff", "--format", "csv", "--by", "context", "--top", "1"], &[&a, &b]);
    let rows: Vec<&str> = contexts.lines().skip(1).collect();
    assert_eq!(rows.len(), 2, "the context and its caller: {contexts}");
    assert!(rows[0].contains(",changed,demo.Main,work,") && rows[1].contains(",changed,demo.Main,main,"), "{contexts}");
    let json: Value = serde_json::from_str(&good(&["diff", "--format", "json", "--metric", "calls"], &[&b, &a])).unwrap();
    assert_eq!((&json["metric"], &json["totals"][2]["change"]), (&"calls".into(), &(-39).into()));
    assert_eq!(json["rows"][0]["method"], "yield");
    assert_eq!(json["rows"][0]["change"], -5);
    let text = good(&["diff", "--by", "context"], &[&a, &b]);
    assert!(text.contains("demo.Main.work(int) < demo.Main.main(String[])"), "{text}");
    assert!(text.contains("+39  +100.00%  bytecodes"), "{text}");
    // All shares are as before.
    assert!(good(&["overlap", "--metric", "bytecodes"], &[&a, &b]).contains("   100.00%    100.00%      39     78  bytecodes"));
}

#[test]
fn what_rows_cannot_say_is_said_beside_them() {
    let folder = Folder::new();
    let mut unfinished = demo();
    unfinished.run.lost_calls = 3;
    let (a, b) = (folder.profile("a.cprof", &demo()), folder.profile("b.cprof", &unfinished));
    for (command, files) in [("diff", &[&*a, &*b][..]), ("overlap", &[&a, &b]), ("report", &[&b])] {
        let (code, rows, notes) = cprof(&[command, "--format", "csv"], files);
        assert!(code == 0 && !rows.contains("incomplete") && notes.starts_with("cprof: note: "), "{command}: {rows}{notes}");
        assert!(notes.contains("incomplete"), "{command}: {notes}");
    }
}

#[test]
fn a_part_of_both() {
    let folder = Folder::new();
    let (a, b) = (folder.profile("a.cprof", &demo()), folder.profile("b.cprof", &twice()));
    let rows = good(&["diff", "--format", "csv", "--thread", "worker"], &[&a, &b]);
    assert!(rows.contains("work,(I)V,false,,13,26,13,"), "{rows}");
    let rows = good(&["diff", "--format", "csv", "--root", "demo.Main.main"], &[&a, &b]);
    assert!(rows.contains("work,(I)V,false,,19,38,19,") && !rows.contains("Lambda"), "{rows}");
    let (code, _, error) = cprof(&["diff", "--root", "demo.Main.nobody"], &[&a, &b]);
    assert!(code == 1 && error.contains("a.cprof has no calls of demo.Main.nobody"), "{error}");
}

#[test]
fn other_caches_other_metrics() {
    let folder = Folder::new();
    let cached = |cache: &str| {
        let mut profile = demo();
        let zeros = Amounts::zeros(profile.nodes.len());
        profile.caches = vec![cache.parse::<CacheSpec>().unwrap()];
        profile.misses = vec![Misses { entry: zeros.clone(), returns: zeros }];
        profile
    };
    let (a, b) = (folder.profile("a.cprof", &cached("4k/16")), folder.profile("b.cprof", &cached("1k/4")));
    let text = good(&["diff"], &[&a, &b]);
    assert!(text.contains("a.cprof has entry_misses[4k/16], return_misses[4k/16]"), "{text}");
    assert!(text.contains("b.cprof has entry_misses[1k/4], return_misses[1k/4]"), "{text}");
    let (code, _, error) = cprof(&["diff", "--metric", "entry_misses"], &[&a, &b]);
    assert_eq!(code, 1);
    assert!(error.contains("there is no metric entry_misses; there are calls, exceptional_exits, bytecodes"), "{error}");
    assert!(error.contains("only") && error.contains("b.cprof has entry_misses[1k/4]"), "{error}");
    // A budget's short name is one cache's misses in the profile, and another's in the baseline.
    let budget = folder.write("misses.toml", "[[budget]]\nmethod = \"*\"\nlimits = [\"entry_misses +0%\"]\n");
    let check = |baseline: &Path| {
        cprof(&["check", "--budget", budget.to_str().unwrap(), "--baseline", baseline.to_str().unwrap()], &[&a])
    };
    let (code, out, _) = check(&b);
    assert!(code == 2 && out.contains("it has entry_misses[1k/4], and the profile entry_misses[4k/16]"), "{code} {out}");
    assert_eq!(check(&a).0, 0);
}

#[test]
fn a_run_beside_the_sum_of_several() {
    let folder = Folder::new();
    let mut twice = demo();
    twice.runs = vec![Run::default(), Run::default()];
    let (one, both) = (folder.profile("one.cprof", &demo()), folder.profile("both.cprof", &twice));
    let text = good(&["diff"], &[&both, &one]);
    assert!(text.contains("not one run is compared with one: ") && text.contains("both.cprof is of 2 runs, "), "{text}");
    assert!(!good(&["diff"], &[&both, &both]).contains("not one run"));
}

#[test]
fn empty_damaged_and_strange_profiles() {
    let folder = Folder::new();
    let a = folder.profile("a.cprof", &demo());
    let empty = folder.profile("empty.cprof", &Profile::default());
    let text = good(&["diff"], &[&a, &empty]);
    assert!(text.contains("methods   0 new, 4 gone, 0 changed, 0 the same"), "{text}");
    assert!(text.contains("empty.cprof: nothing was counted in it"), "{text}");
    let text = good(&["overlap"], &[&empty, &empty]);
    assert!(text.contains("         -          -       0      0  bytecodes"), "{text}");
    let mut other = demo();
    other.classes.iter_mut().for_each(|c| c.name = format!("other/{}", c.name));
    other.natives.iter_mut().for_each(|n| n.class = format!("other/{}", n.class));
    let other = folder.profile("other.cprof", &other);
    let text = good(&["overlap", "--metric", "bytecodes"], &[&a, &other]);
    assert!(text.contains("0.00%"), "{text}");
    assert!(text.contains("the profiles have no method in common") && text.contains("is of demo.Main"), "{text}");
    let cut = folder.write("cut.cprof", "PK\u{3}\u{4}");
    for command in ["diff", "overlap"] {
        let (code, out, error) = cprof(&[command], &[&a, &cut]);
        assert_eq!((code, out.as_str()), (1, ""));
        assert!(error.contains("cut.cprof"), "{error}");
    }
}

/// A class file may call a method nearly anything.
#[test]
fn hostile_names() {
    let folder = Folder::new();
    let mut hostile = demo();
    hostile.methods.iter_mut().for_each(|m| m.name = format!("{} ,\"<&>\n\u{1b}[2J é;%::{}", m.name, "x".repeat(60_000)));
    let (a, b) = (folder.profile("a.cprof", &demo()), folder.profile("b.cprof", &hostile));
    let json: Value = serde_json::from_str(&good(&["diff", "--format", "json"], &[&a, &b])).unwrap();
    assert_eq!(json["methods"]["new"], 3);
    assert!(good(&["diff", "--format", "csv", "--by", "context"], &[&b, &a]).contains("\"work ,\"\"<&>\n"));
    let budget = folder.write("b.toml", "[[budget]]\nmethod = \"demo.Main.*\"\nlimits = [\"own bytecodes < 3\"]");
    for by in ["method", "context"] {
        let review = good(&["diff", "--format", "markdown", "--by", by], &[&a, &b]);
        let is_laid_out = |line: &str| {
            line.is_empty()
                || line.starts_with(['*', '|', '-', '>'])
                || ["by bytecodes,", "4 differ in other"].iter().any(|text| line.starts_with(text))
        };
        let broken = review.lines().find(|line| !is_laid_out(line));
        assert!(broken.is_none() && !review.contains('\u{1b}'), "{broken:?}");
    }
    for format in ["text", "github", "junit", "json", "markdown"] {
        let (code, out, error) = cprof(&["check", "--budget", budget.to_str().unwrap(), "--format", format], &[&b]);
        assert_eq!((code, error.as_str()), (1, ""), "{format}");
        assert!(!out.contains('\u{1b}'), "{format}");
        match format {
            "github" => assert_eq!(out.lines().count(), 1),
            "text" => assert_eq!(out.lines().count(), 2),
            "json" => drop(serde_json::from_str::<Value>(&out).unwrap()),
            // A table of one row, its limit, and three contexts of it.
            "markdown" => assert_eq!(out.lines().filter(|line| !line.is_empty()).count(), 8, "{out}"),
            _ => assert!(out.contains("&quot;&lt;&amp;&gt;"), "{out}"),
        }
    }
}

/// Checks the demo twice over against the demo as its baseline, with these limits for `work`.
fn check(limits: &str, options: &[&str]) -> (i32, String, String) {
    let folder = Folder::new();
    let (a, b) = (folder.profile("a.cprof", &demo()), folder.profile("b.cprof", &twice()));
    let budget = folder.write("budget.toml", &format!("[[budget]]\nmethod = \"demo.Main.work\"\nlimits = [{limits}]"));
    let baseline = ["--baseline", a.to_str().unwrap(), "--budget", budget.to_str().unwrap()];
    cprof(&[&["check"], &baseline[..], options].concat(), &[&b])
}

#[test]
fn one_wrong_limit_does_not_end_the_check() {
    let (code, out, err) = check("'cycles[jop rws=3 rws=4] == 1', 'bytecodes <= 64'", &[]);
    assert!(code == 2 && err.is_empty(), "{code} {err}");
    assert!(out.contains("budget.toml:3: ") && out.contains("rws is given a value more than once"), "{out}");
    assert!(out.contains("of 2 limits 1 held"), "{out}");
}

#[test]
fn what_grew_is_not_to_blame_for_too_little() {
    let (code, out, _) = check("'calls >= 100'", &[]);
    assert!(code == 1 && out.contains("must be >= 100; baseline 4") && !out.contains("; +"), "{out}");
    let (code, out, _) = check("'calls <= 5'", &[]);
    assert!(code == 1 && out.contains("baseline 4; +"), "{out}");
}

#[test]
fn a_budget_of_what_was_not_covered_is_not_kept() {
    let folder = Folder::new();
    let mut profile = demo();
    let gap = |class: &str, method: Option<&str>| Gap {
        class: class.into(),
        method: method.map(Into::into),
        reason: "too large".into(),
    };
    profile.gaps = vec![gap("demo/Big", Some("parse([B)V")), gap("demo/Old", None), gap("demo/Main", Some("work([B)V"))];
    let file = folder.profile("a.cprof", &profile);
    for (method, optional, expected, gap) in [
        ("demo.Big.parse", true, 2, "demo.Big.parse([B)V"),
        ("demo.Old.run", true, 2, "demo.Old"),
        ("demo.Big.*", false, 2, "demo.Big.parse([B)V"),
        ("demo.Old.*", true, 0, "demo.Old"),
        // Another of that name was counted.
        ("demo.Main.work", false, 2, "demo.Main.work([B)V"),
    ] {
        let text = format!("[[budget]]\nmethod = \"{method}\"\nlimits = [\"calls <= 1\"]\noptional = {optional}\n");
        let budget = folder.write("budget.toml", &text);
        let (code, out, err) = cprof(&["check", "--budget", budget.to_str().unwrap()], &[&file]);
        assert!(code == expected && out.contains(&format!("{gap} was not covered: too large")), "{method}: {code} {out}{err}");
    }
}

#[test]
fn budgets_hold_or_not() {
    let code = |limits: &str| check(limits, &[]).0;
    assert_eq!(
        code("'bytecodes <= 64', 'calls == 8', 'own bytecodes >= 64', 'bytecodes +100%', 'bytecodes +32', 'total calls < 19'"),
        0
    );
    for exceeded in
        ["bytecodes <= 63", "calls == 7", "bytecodes +99.9999%", "bytecodes +31", "bytecodes == baseline", "calls < 8"]
    {
        assert_eq!(code(&format!("'calls == 8', '{exceeded}'")), 1, "{exceeded}");
    }
    let (_, text, _) = check("'bytecodes +50%'", &[]);
    let line = text.lines().next().unwrap();
    assert!(
        line.ends_with(
            "budget.toml:3: demo.Main.work: 64 bytecodes with callees, must be <= 48 (bytecodes +50%); baseline 32; \
         +19 in demo.Main.main(String[]) > demo.Main.work(int); +13 in demo.Main$$Lambda.run() > demo.Main.work(int)"
        ),
        "{line}"
    );
}

/// The demo a thousand times over, with a method cache that missed so often when `work` returned. When it is called, loading so
/// small a method costs nothing.
fn missed(times: u64) -> Profile {
    let mut profile = demo();
    let counters = counters(&profile);
    set_counters(&mut profile, counters.iter().map(|c| c * 1000));
    profile.departures.iter_mut().for_each(|d| d.count *= 1000);
    let zeros = Amounts::zeros(profile.nodes.len());
    let mut returns = zeros.clone();
    // The context of `work` on the main thread.
    returns.set(2, times);
    profile.caches = vec!["4k/16".parse::<CacheSpec>().unwrap()];
    profile.misses = vec![Misses { entry: zeros, returns }];
    profile
}

/// Cycles of `work` on jop, as a report has them.
fn reported_cycles(profile: &Path) -> u64 {
    let report: Value = serde_json::from_str(&good(&["report", "--target", "jop", "--format", "json"], &[profile])).unwrap();
    let work = report["methods"].as_array().unwrap().iter().find(|row| row["method"] == "work");
    work.and_then(|work| work["cycles_total"].as_u64()).unwrap_or_else(|| panic!("no cycles of work in {report}"))
}

#[test]
fn cycles_are_held_against_a_baseline() {
    let folder = Folder::new();
    let profile = |times: u64| folder.profile(&format!("{times}.cprof"), &missed(times));
    let (base, one) = (profile(0), profile(1));
    let cycles = reported_cycles(&base);
    let each = reported_cycles(&one) - cycles;
    assert!(each > 0 && each * 100 < cycles, "a miss costs {each} of {cycles} cycles");
    // As many misses as two per cent have room for, and one more.
    let most = cycles * 2 / 100 / each;
    let budget = folder
        .write("budget.toml", "[[budget]]\nmethod = 'demo.Main.work'\nlimits = ['cycles[jop] +2%', 'cycles[jop,4k/16] +2%']");
    let options = ["check", "--baseline", base.to_str().unwrap(), "--budget", budget.to_str().unwrap(), "--format"];
    for (times, code, outcome) in [(0, 0, "held"), (most, 0, "held"), (most + 1, 1, "exceeded")] {
        let checked = profile(times);
        let (exit, out, error) = cprof(&[&options[..], &["json"]].concat(), &[&checked]);
        assert_eq!((exit, error.as_str()), (code, ""), "{times} misses: {out}");
        let report: Value = serde_json::from_str(&out).unwrap();
        let limits = report["limits"].as_array().unwrap();
        assert_eq!(limits.len(), 2, "{out}");
        for limit in limits {
            assert_eq!(
                (limit["outcome"].as_str(), limit["value"].as_u64()),
                (Some(outcome), Some(cycles + times * each)),
                "{out}"
            );
            if outcome == "exceeded" {
                assert_eq!(limit["baseline"], cycles, "{out}");
            }
        }
    }
    let (_, text, _) = cprof(&[&options[..], &["text"]].concat(), &[&profile(most + 1)]);
    let line = text.lines().next().unwrap();
    assert!(line.contains(" cycles[jop] with callees, must be <= ") && line.contains("(cycles[jop] +2%); baseline "), "{line}");
    // Another processor's cycles are other numbers, of both profiles: more expensive misses no longer fit.
    let (exit, out, _) = cprof(&[&options[..], &["text", "--set", "rws=3"]].concat(), &[&profile(most)]);
    assert_eq!(exit, 1, "{out}");
    // A budget may name it as reports do; that is what counts then.
    let named = folder.write("named.toml", "[[budget]]\nmethod = 'demo.Main.work'\nlimits = ['cycles[jop rws=3,4k/16] == 0']");
    let value = |budget: &Path, more: &[&str]| {
        let all = [&["check", "--budget", budget.to_str().unwrap(), "--format", "json"], more].concat();
        let report: Value = serde_json::from_str(&cprof(&all, &[&one]).1).unwrap();
        report["limits"][0]["value"].as_u64().unwrap()
    };
    let plain = folder.write("plain.toml", "[[budget]]\nmethod = 'demo.Main.work'\nlimits = ['cycles[jop] == 0']");
    let slower = value(&plain, &["--set", "rws=3"]);
    assert!(slower > value(&plain, &[]));
    assert_eq!([value(&named, &[]), value(&named, &["--set", "rws=4"])], [slower; 2]);
    // Others are set beside it.
    assert_eq!(value(&named, &["--set", "wws=4"]), value(&plain, &["--set", "rws=3", "--set", "wws=4"]));
}

/// A profile that was recorded with another cache than its baseline is compared on the same one.
#[test]
fn cycles_are_compared_with_one_cache() {
    let folder = Folder::new();
    let budget = folder.write("budget.toml", "[[budget]]\nmethod = 'demo.Main.work'\nlimits = ['cycles[jop] == baseline']");
    let mut ideal = missed(9);
    (ideal.caches, ideal.misses, ideal.run.options) = (Vec::new(), Vec::new(), "cache=ideal".into());
    let (simulated, ideal) = (folder.profile("simulated.cprof", &missed(9)), folder.profile("ideal.cprof", &ideal));
    let check = |checked: &Path, baseline: &Path| {
        cprof(&["check", "--baseline", baseline.to_str().unwrap(), "--budget", budget.to_str().unwrap()], &[checked])
    };
    let (code, out, _) = check(&ideal, &simulated);
    assert_eq!(code, 0, "{out}");
    let (code, out, _) = check(&simulated, &ideal);
    assert!(code == 2 && out.contains("method cache 4k/16 was not simulated"), "{out}");
}

#[test]
fn what_cannot_be_checked() {
    for (limits, reason) in [
        ("'misses < 3'", "there is no metric misses; there are calls, exceptional_exits, bytecodes"),
        ("'cycles[nobody] < 3'", "nobody"),
        ("'cycles[jop] < 3'", "method cache 4k/16 was not simulated in this run"),
        ("'cycles[jop,what] < 3'", "what"),
    ] {
        let (code, out, error) = check(limits, &[]);
        assert_eq!((code, error.as_str()), (2, ""), "{limits}");
        assert!(out.contains("cannot be checked") && out.contains(reason), "{out}");
    }
    let (code, out, error) = check("'calls'", &[]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(error.contains("budget.toml:3:11: limit \"calls\": \"\" is no comparison"), "{error}");
    let folder = Folder::new();
    let (a, none) =
        (folder.profile("a.cprof", &demo()), folder.write("none.toml", "[[budget]]\nmethod = 'a.B.c'\nlimits = ['calls == 0']"));
    let checked = |budget: &Path, file: &Path| cprof(&["check", "--budget", budget.to_str().unwrap()], &[file]);
    let (code, out, _) = checked(&none, &a);
    assert!(
        code == 2
            && out.contains("has no call of a.B.c; give classes")
            && out.contains(". optional = true allows it to be missing"),
        "{out}"
    );
    for (roots, options, says) in [
        (vec![], "include=demo.*", "which has what include= and exclude= selected; give"),
        (vec!["demo.Main.main"], "root=demo.Main.main", "which has calls of demo.Main.main and what they call; give"),
        (
            vec!["demo.Main.main"],
            "root=demo.Main.main,exclude=a.*",
            "which has calls of demo.Main.main and what they call, as far as include= and exclude= selected it; give",
        ),
    ] {
        let mut profile = demo();
        profile.run.roots = roots.into_iter().map(str::to_owned).collect();
        profile.run.options = options.to_owned();
        let (_, out, _) = checked(&none, &folder.profile("part.cprof", &profile));
        assert!(out.contains(&format!("has no call of a.B.c, {says}")), "{out}");
    }
    let optional = folder.write("o.toml", "[[budget]]\nmethod = 'a.B.c'\nlimits = ['calls == 0']\noptional = true");
    let (code, out, _) = checked(&optional, &a);
    assert!(code == 0 && out.contains("of 1 limit 0 held, 1 skipped"), "{out}");
    let relative = folder.write("r.toml", "[[budget]]\nmethod = 'demo.Main.work'\nlimits = ['calls +0%']");
    let (code, out, _) = checked(&relative, &a);
    assert!(code == 2 && out.contains("no baseline") || out.contains("none was given; --baseline FILE does"), "{out}");
    let missing = folder.0.path().join("missing");
    assert_eq!((checked(&missing, &a).0, checked(&relative, &missing).0), (2, 3));
    let unwritable = cprof(&["check", "--budget", optional.to_str().unwrap(), "-o", "/nowhere/x"], &[&a]);
    assert!(unwritable.0 == 3 && unwritable.2.contains("/nowhere/x cannot be written"), "{}", unwritable.2);
}

#[test]
fn methods_that_the_baseline_never_called_cost_nothing_there() {
    let folder = Folder::new();
    let (full, empty) =
        (folder.profile("full.cprof", &demo()), folder.profile("empty.cprof", &cprof_synthetic::Recording::new().profile(&[])));
    let checked = |limit: &str, optional: bool, file: &Path, baseline: &Path| {
        let text = format!("[[budget]]\nmethod = 'demo.Main.work'\nlimits = ['{limit}']\noptional = {optional}");
        let budget = folder.write("budget.toml", &text);
        let options = ["check", "--baseline", baseline.to_str().unwrap(), "--budget", budget.to_str().unwrap()];
        let (code, out, _) = cprof(&options, &[file]);
        (code, out)
    };
    for (limit, code) in [
        ("calls <= baseline", 1),
        ("bytecodes +2%", 1),
        ("bytecodes == baseline", 1),
        ("calls <= baseline +4", 0),
        ("calls >= baseline", 0),
        ("calls <= 4", 0),
    ] {
        let (found, out) = checked(limit, true, &full, &empty);
        assert_eq!(found, code, "{limit}: {out}");
        // The other way round there is nothing to check.
        let (found, out) = checked(limit, true, &empty, &full);
        assert!(found == 0 && out.contains("1 skipped"), "{limit}: {out}");
    }
    let (_, out) = checked("calls <= baseline", true, &full, &empty);
    assert!(out.contains("demo.Main.work: 4 own calls, must be <= 0 (calls <= baseline); baseline 0; +"), "{out}");
    let (code, out) = checked("calls <= baseline", false, &full, &empty);
    let says = "the baseline has no call of demo.Main.work; record the baseline anew, or compare with 0 by optional = true";
    assert!(code == 2 && out.contains(says), "{out}");
    assert_eq!(checked("calls <= 4", false, &full, &empty).0, 0, "a limit that needs no baseline");
}

#[test]
fn reports_for_ci() {
    let limits = "'bytecodes <= 64', 'calls == 7', 'misses < 1'";
    let (code, out, _) = check(limits, &["--format", "github"]);
    assert_eq!(code, 2);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), 2, "{out}");
    assert!(lines[0].starts_with("::error file="), "{out}");
    assert!(
        lines[0].contains("budget.toml,line=3,col=30,title=cprof%3A demo.Main.work::demo.Main.work: 8 own calls, must be == 7"),
        "{out}"
    );
    let (_, out, _) = check(limits, &["--format", "junit"]);
    let xml = roxmltree::Document::parse(&out).unwrap();
    let suite = xml.descendants().find(|n| n.has_tag_name("testsuite")).unwrap();
    let numbers = ["tests", "failures", "errors", "skipped"].map(|name| suite.attribute(name).unwrap());
    assert_eq!(numbers, ["3", "1", "1", "0"]);
    let cases: Vec<_> = suite.children().filter(|n| n.has_tag_name("testcase")).collect();
    assert_eq!(cases.len(), 3);
    assert_eq!((cases[0].attribute("name"), cases[0].first_element_child()), (Some("bytecodes <= 64"), None));
    assert_eq!(cases[1].first_element_child().unwrap().attribute("message"), Some("8 own calls, must be == 7; baseline 4"));
    let (_, out, _) = check(limits, &["--format", "json"]);
    let json: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(json["limits"][1]["outcome"], "exceeded");
    assert_eq!((&json["limits"][1]["value"], &json["limits"][1]["baseline"]), (&8.into(), &4.into()));
    // What holds and what cannot be checked has the same keys.
    let held = &json["limits"][0];
    assert_eq!((&held["bound"], &held["reason"], &held["contexts"]), (&64.into(), &Value::Null, &Value::Array(Vec::new())));
    assert!(held["baseline"].is_u64(), "{held}");
    let keys = |limit: &Value| limit.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!((keys(&json["limits"][0]), keys(&json["limits"][2])), (keys(&json["limits"][1]), keys(&json["limits"][1])));
}

#[test]
fn cycles_are_those_of_the_recorded_processor() {
    let folder = Folder::new();
    let mut profile = demo();
    let budget = folder.write("b.toml", "[[budget]]\nmethod = '*'\nlimits = ['cycles >= 1']");
    let check = |profile: &Path| cprof(&["check", "--budget", budget.to_str().unwrap()], &[profile]);
    let (code, out, _) = check(&folder.profile("a.cprof", &profile));
    assert_eq!(code, 2);
    assert!(out.contains("the recording is for no processor; name one, as cycles[jop]"), "{out}");
    profile.run.target = "jop".to_owned();
    profile.caches.clear();
    profile.misses.clear();
    let text = std::fs::read_to_string(&budget).unwrap();
    std::fs::write(&budget, text.replace("cycles >= 1", "cycles >= 1', 'cycles[jop,none] >= 1")).unwrap();
    let (code, out, error) = check(&folder.profile("jop.cprof", &profile));
    assert_eq!((code, out.lines().count()), (2, 2), "{out}{error}");
    assert!(out.contains("simulated"), "cycles mean those with jop's own cache: {out}");
}

#[test]
fn what_makes_numbers_doubtful_is_said_in_every_format() {
    let folder = Folder::new();
    let mut profile = demo();
    profile.run.bounded = true;
    profile.warnings = (1..=7).map(|n| format!("record {n} is damaged")).collect();
    let a = folder.profile("a.cprof", &profile);
    let budget = folder
        .write("b.toml", "[[budget]]\nmethod = '*'\nlimits = ['cycles[jop,none] > 0', 'cycles[jop,ideal] > 0', 'calls > 0']");
    let file = a.display();
    let says = [
        format!("{file}: cycles[jop,ideal], cycles[jop,none]: contexts were bounded or folded"),
        format!("{file}: record 1 is damaged"),
        format!("{file}: record 5 is damaged"),
        format!("{file}: 2 more warnings; cprof report {file} shows all"),
    ];
    let two = ["--target", "jop", "--cache", "ideal", "--cache", "none"];
    let check = ["check", "--budget", budget.to_str().unwrap(), "--format"];
    for (arguments, files) in [
        ([&check[..], &["text"]].concat(), vec![&*a]),
        ([&check[..], &["junit"]].concat(), vec![&*a]),
        ([&check[..], &["github"]].concat(), vec![&*a]),
        ([&check[..], &["json"]].concat(), vec![&*a]),
        ([&["diff"][..], &two].concat(), vec![&*a, &*a]),
        ([&["diff", "--format", "json"][..], &two].concat(), vec![&*a, &*a]),
        ([&["overlap"][..], &two].concat(), vec![&*a, &*a]),
        ([&["overlap", "--format", "json"][..], &two].concat(), vec![&*a, &*a]),
    ] {
        let out = good(&arguments, &files);
        for says in &says {
            assert_eq!(out.matches(says).count(), 1, "{arguments:?}: {says}\n{out}");
        }
        assert!(!out.contains("record 6"), "{arguments:?}: {out}");
    }
}

#[test]
fn recordings_of_other_parts_are_told_apart() {
    let folder = Folder::new();
    let with = |name: &str, options: &str| {
        let mut profile = demo();
        profile.run.options = options.to_owned();
        folder.profile(name, &profile)
    };
    let all = with("all.cprof", "quiet,bba=precise,out=all.cprof");
    let part = with("part.cprof", "bba=block,exclude=java.*,out=part.cprof");
    let other = with("other.cprof", "out=other.cprof,exclude=java.*,bba=block");
    let budget = folder.write("budget.toml", "[[budget]]\nmethod = \"demo.Main.work\"\nlimits = [\"bytecodes +1%\"]\n");
    let said = |before: &Path, after: &Path| {
        let check = [
            Path::new("check"),
            after,
            Path::new("--baseline"),
            before,
            Path::new("--budget"),
            &budget,
            Path::new("--format"),
            Path::new("json"),
        ];
        let check = Command::new(env!("CARGO_BIN_EXE_cprof")).args(check).output().unwrap();
        let notes = |json: &str| serde_json::from_str::<Value>(json).unwrap()["notes"].to_string();
        [notes(&good(&["diff", "--format", "json"], &[before, after])), notes(&String::from_utf8(check.stdout).unwrap())]
    };
    for notes in said(&all, &part) {
        let differs = "what was counted differs: with no such option in";
        assert!(notes.contains(differs) && notes.contains("all.cprof, bba=block, exclude=java.* in"), "{notes}");
    }
    assert_eq!(said(&part, &other), ["[]", "[]"]);

    let merged = folder.0.path().join("merged.cprof");
    let merge = |files: [&Path; 2]| {
        let arguments = ["merge", "-o", merged.to_str().unwrap()];
        let output = Command::new(env!("CARGO_BIN_EXE_cprof")).args(arguments).args(files).output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(merge([&all, &part]).contains("different parts of the programs were counted"));
    assert!(!merge([&part, &other]).contains("different parts"));
    for notes in said(&merged, &part) {
        assert!(!notes.contains("differs"), "its runs were recorded alike: {notes}");
    }
}

#[test]
fn a_comparison_is_by_the_same_metric_as_reports() {
    let folder = Folder::new();
    let (before, after) = (folder.profile("a.cprof", &demo()), folder.profile("b.cprof", &twice()));
    let metric = |options: &[&str]| {
        let out = good(&[&["diff", "--format", "json"], options].concat(), &[&before, &after]);
        serde_json::from_str::<Value>(&out).unwrap()["metric"].as_str().unwrap().to_owned()
    };
    assert_eq!(metric(&[]), "bytecodes");
    assert_eq!(metric(&["--target", "jop", "--cache", "ideal", "--cache", "none"]), "cycles[jop,ideal]");
}

#[test]
fn a_review_has_tables() {
    let folder = Folder::new();
    let (a, b) = (folder.profile("a.cprof", &demo()), folder.profile("b.cprof", &twice()));
    let text = good(&["diff", "--format", "markdown", "--top", "1"], &[&a, &b]);
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| ")).collect();
    assert_eq!(
        rows,
        [
            "| before | after | change |  | metric |",
            "| 11 | 22 | +11 | +100.00% | `calls` |",
            "| 1 | 2 | +1 | +100.00% | `exceptional_exits` |",
            "| 39 | 78 | +39 | +100.00% | `bytecodes` |",
            "| change |  | before | after | with callees | method |",
            "| +32 | +100.00% | 32 | 64 | +32 | `demo.Main.work(int)` |",
        ]
    );
    for line in ["- methods: 0 new, 0 gone, 4 changed, 0 the same", "2 more with +7; --top 0 shows all"] {
        assert!(text.contains(&format!("\n{line}\n")), "{text}");
    }
    // A table begins behind an empty line, or it is none.
    let lines: Vec<&str> = text.lines().collect();
    let begins = |at: &usize| lines[*at].starts_with('|') && !lines[at - 1].starts_with('|');
    let tables: Vec<&str> = (1..lines.len()).filter(begins).map(|at| lines[at - 1]).collect();
    assert_eq!(tables, ["", ""], "{text}");

    let (code, text, _) =
        check("'bytecodes <= 64', 'calls == 7', 'misses < 1', 'bytecodes == baseline'", &["--format", "markdown"]);
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| ")).collect();
    assert_eq!(
        (code, rows),
        (
            2,
            vec![
                "|  | limit | baseline | counted | must be | method |",
                "| held | `bytecodes <= 64` | 32 | 64 | \\<= 64 | `demo.Main.work` |",
                "| **exceeded** | `calls == 7` | 4 | 8 | == 7 | `demo.Main.work` |",
                "| **not checked** | `misses < 1` |  |  |  | `demo.Main.work` |",
                "| **exceeded** | `bytecodes == baseline` | 32 | 64 | == 32 | `demo.Main.work` |",
            ]
        ),
        "{text}"
    );
    assert!(text.contains("b.cprof`: of 4 limits 1 held, 2 exceeded, 1 could not be checked**\n"), "{text}");
    assert!(text.contains(":3`: `demo.Main.work`: 8 own calls, must be == 7; baseline 4\n  - `+"), "{text}");
}
