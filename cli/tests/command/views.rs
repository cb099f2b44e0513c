//! `cprof flamegraph` and `cprof html` on a synthetic profile: what they write and what they refuse. In a browser they are tested
//! by `tests/views`.

use cprof_profile::amounts::Amounts;
use cprof_profile::model::Misses;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn cprof(folder: &Path, arguments: &[&str]) -> Output {
    fs::write(folder.join("damaged.cprof"), "no profile").unwrap();
    cprof_profile::file::write(&folder.join("demo.cprof"), &cprof_synthetic::demo().profile(&[])).unwrap();
    cprof_profile::file::write(&folder.join("empty.cprof"), &cprof_synthetic::Recording::new().profile(&[])).unwrap();
    Command::new(env!("CARGO_BIN_EXE_cprof")).args(arguments).current_dir(folder).output().unwrap()
}

/// Standard output; on the other one only which profiles are empty.
fn writes(folder: &Path, arguments: &[&str]) -> String {
    let output = cprof(folder, arguments);
    let empty = arguments.iter().filter(|name| **name == "empty.cprof").count();
    let said = "cprof: empty.cprof: nothing was counted in it\n".repeat(empty);
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr)), (Some(0), said.into()), "{arguments:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn to_a_pipe_and_to_a_file() {
    let folder = tempfile::tempdir().unwrap();
    for command in ["flamegraph", "html"] {
        let piped = writes(folder.path(), &[command, "demo.cprof", "-o", "-"]);
        assert_eq!(writes(folder.path(), &[command, "demo.cprof", "-o", "out"]), "");
        assert_eq!(fs::read_to_string(folder.path().join("out")).unwrap(), piped, "{command}");
        assert!(piped.len() > 1000);
    }
}

#[test]
fn of_profiles_without_anything_in_common() {
    let folder = tempfile::tempdir().unwrap();
    for (after, before) in [("demo.cprof", "empty.cprof"), ("empty.cprof", "demo.cprof"), ("empty.cprof", "empty.cprof")] {
        let picture = writes(folder.path(), &["flamegraph", after, "--diff", before, "-o", "-"]);
        let (new, gone) = (if after == "demo.cprof" { 39 } else { 0 }, if before == "demo.cprof" { 39 } else { 0 });
        let said = format!("in new contexts: {new} · in contexts now gone, which are not drawn: {gone} ");
        assert!(picture.contains(&said), "{after} {before}: {}", &picture[..4000.min(picture.len())]);
        assert!(writes(folder.path(), &["html", after, "--diff", before, "-o", "-"]).contains("id=\"before-0\""));
    }
}

/// Calls of the same contexts that ended otherwise.
#[test]
fn what_was_counted_before_is_not_new_where_it_cost_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut calm = cprof_synthetic::demo().profile(&[]);
    calm.departures.clear();
    cprof_profile::file::write(&folder.path().join("calm.cprof"), &calm).unwrap();
    for (after, before, sum) in [("demo.cprof", "calm.cprof", 1), ("calm.cprof", "demo.cprof", 0)] {
        let output = cprof(folder.path(), &["flamegraph", after, "--diff", before, "--metric", "exceptional_exits", "-o", "-"]);
        let picture = String::from_utf8(output.stdout).unwrap();
        assert!(picture.contains(&format!(": {sum} exceptional_exits")), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(picture.contains("in new contexts: 0 · in contexts now gone, which are not drawn: 0 "), "{after}");
    }
}

#[test]
fn what_only_one_profile_has_is_not_drawn_unasked() {
    let folder = tempfile::tempdir().unwrap();
    let mut on = cprof_synthetic::demo().profile(&[]);
    on.run.target = "jop".to_owned();
    let zeros = Amounts::zeros(on.nodes.len());
    on.caches = vec!["4k/16".parse().unwrap()];
    on.misses = vec![Misses { entry: zeros.clone(), returns: zeros }];
    cprof_profile::file::write(&folder.path().join("on.cprof"), &on).unwrap();
    let draw = |arguments: &[&str]| {
        cprof(folder.path(), &[&["flamegraph", "on.cprof", "--diff", "demo.cprof", "-o", "-"], arguments].concat())
    };
    let drawn = draw(&[]);
    let (picture, said) = (String::from_utf8_lossy(&drawn.stdout), String::from_utf8_lossy(&drawn.stderr));
    assert!(drawn.status.success() && said.contains("bytecodes are drawn: demo.cprof: "), "{said}");
    assert!(picture.contains("bytecodes"), "{said}");
    // Cycles that both have, if not those with the processor's own cache.
    let mut before = on.clone();
    before.caches = vec!["1k/4".parse().unwrap()];
    cprof_profile::file::write(&folder.path().join("1k.cprof"), &before).unwrap();
    on.caches.push("1k/4".parse().unwrap());
    on.misses.push(on.misses[0].clone());
    cprof_profile::file::write(&folder.path().join("both.cprof"), &on).unwrap();
    let drawn = cprof(folder.path(), &["flamegraph", "both.cprof", "--diff", "1k.cprof", "-o", "-"]);
    let said = String::from_utf8_lossy(&drawn.stderr);
    assert!(said.contains("cycles[jop,1k/4] are drawn: 1k.cprof: there is no metric cycles[jop,4k/16]"), "{said}");
    let refused = draw(&["--metric", "cycles[jop,4k/16]"]);
    assert_eq!(refused.status.code(), Some(1), "{}", String::from_utf8_lossy(&refused.stderr));
}

#[test]
fn what_cannot_be_done_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let fails = |arguments: &[&str]| {
        let output = cprof(folder.path(), arguments);
        assert!(output.stdout.is_empty() && output.status.code() == Some(1), "{arguments:?}");
        assert!(!folder.path().join("out").exists(), "{arguments:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let metric = fails(&["flamegraph", "demo.cprof", "-o", "out", "--metric", "seconds"]);
    assert_eq!(
        metric,
        "cprof: demo.cprof: there is no metric seconds; there are calls, exceptional_exits, bytecodes; --target adds cycles, or allocations\n"
    );
    for command in ["flamegraph", "html"] {
        assert!(fails(&[command, "damaged.cprof", "-o", "out"]).contains("damaged.cprof"));
        assert!(fails(&[command, "demo.cprof", "--diff", "damaged.cprof", "-o", "out"]).contains("damaged.cprof"));
        assert!(fails(&[command, "demo.cprof", "--thread", "nobody", "-o", "out"]).contains("no thread whose name fits nobody"));
        assert!(fails(&[command, "demo.cprof", "--root", "A.b", "-o", "out"]).contains("no calls of A.b"));
    }
    assert!(fails(&["html", "demo.cprof", "--source", "nowhere", "-o", "out"]).contains("nowhere"));
}
