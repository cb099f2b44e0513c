//! The tables of a synthetic recording, read back by the library's own reader.

use cprof_fleet::{Column, Export, ExportError, MESSAGES, blocks, message, methods, nodes, run_id, runs};
use cprof_profile::amounts::Amounts;
use cprof_profile::measure::measure;
use cprof_profile::model::{Misses, Profile};
use cprof_profile::natives::native_calls;
use cprof_profile::projections::by_method;
use cprof_profile::tree::{Symbols, Tree};
use cprof_synthetic::{counters, set_counters};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::io::Write;

/// Rows as the library's reader shows them.
fn rows(bytes: Vec<u8>) -> Vec<Value> {
    let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
    let metadata = reader.metadata().file_metadata().key_value_metadata().unwrap();
    assert!(metadata.iter().any(|m| m.key == "cprof.tables" && m.value.as_deref() == Some("1")));
    let value = |field: &Field| match field {
        Field::Null => Value::Null,
        Field::Bool(flag) => json!(flag),
        Field::Int(number) => json!(number),
        Field::Long(number) | Field::TimestampMillis(number) => json!(number),
        Field::Str(text) => json!(text),
        other => panic!("no column has a value like {other:?}"),
    };
    let object = |row: Row| Value::Object(row.get_column_iter().map(|(name, field)| (name.clone(), value(field))).collect());
    reader.get_row_iter(None).unwrap().map(|row| object(row.unwrap())).collect()
}

struct Tables {
    runs: Vec<Value>,
    methods: Vec<Value>,
    nodes: Vec<Value>,
    metrics: Vec<Value>,
    blocks: Vec<Value>,
}

fn tables(profile: &Profile, root: Option<&str>, columns: &[Column<'_>]) -> Result<Tables, ExportError> {
    let symbols = Symbols::new(profile);
    let measures = measure(profile).unwrap();
    let natives = native_calls(profile, &measures).unwrap();
    let roots: Option<Vec<bool>> = root.map(|root| symbols.list.iter().map(|s| s.method == root).collect());
    let all = Tree::new(profile, &symbols, &measures, &natives, |_| true);
    let tree = roots.as_ref().map(|roots| all.at_and_below(|s| roots[s as usize]));
    let tree = tree.as_ref().unwrap_or(&all);
    let chosen: Vec<bool> = tree.of_node.iter().map(|&context| context > 0).collect();
    let export = Export {
        run_id: &run_id(profile),
        file: "a.cprof",
        part: root,
        profile,
        symbols: &symbols,
        measures: &measures,
        natives: &natives,
        threads: &vec![true; profile.threads.len()],
        roots: roots.as_deref(),
        nodes: &chosen,
        columns,
    };
    let (contexts, metrics) = nodes(&export, Vec::new(), Vec::new())?;
    Ok(Tables {
        runs: rows(runs(&export, Vec::new())?),
        methods: rows(methods(&export, &by_method(tree, &symbols), Vec::new())?),
        nodes: rows(contexts),
        metrics: rows(metrics),
        blocks: rows(blocks(&export, Vec::new())?),
    })
}

fn pick(row: &Value, columns: &[&str]) -> Vec<Value> {
    columns.iter().map(|c| row[c].clone()).collect()
}

fn sum(rows: &[Value], column: &str) -> i64 {
    rows.iter().map(|row| row[column].as_i64().unwrap()).sum()
}

#[test]
fn every_count_is_there() {
    let profile = cprof_synthetic::demo().profile(&[]);
    let t = tables(&profile, None, &[]).unwrap();
    assert_eq!(
        pick(&t.runs[0], &["file", "merged_runs", "pid", "main_class", "ended"])[..3],
        [json!("a.cprof"), json!(1), json!(7)]
    );
    assert_eq!(t.runs[0]["ended"], Value::Null);
    let columns = ["class", "method", "native", "level", "calls", "exceptional_exits", "bytecodes", "bytecodes_total"];
    let expected = [
        json!(["demo.Main", "main", false, "precise", 1, 0, 4, 23]),
        json!(["demo.Main", "work", false, "precise", 4, 1, 32, 32]),
        json!(["demo.Main$$Lambda", "run", false, "precise", 1, 0, 3, 16]),
        json!(["java.lang.Thread", "yield", true, null, 5, 0, 0, 0]),
    ];
    assert_eq!(t.methods.iter().map(|m| json!(pick(m, &columns))).collect::<Vec<_>>(), expected);
    // main, work, yield below it; run, work, yield below it.
    let columns = ["node_id", "parent_id", "depth", "thread", "calls", "bytecodes", "bytecodes_total"];
    let expected = [
        json!([0, null, 1, "main", 1, 4, 23]),
        json!([1, 0, 2, "main", 3, 19, 19]),
        json!([2, 1, 3, "main", 3, 0, 0]),
        json!([3, null, 1, "worker-*", 1, 3, 16]),
        json!([4, 3, 2, "worker-*", 1, 13, 13]),
        json!([5, 4, 3, "worker-*", 2, 0, 0]),
    ];
    assert_eq!(t.nodes.iter().map(|n| json!(pick(n, &columns))).collect::<Vec<_>>(), expected);
    assert_eq!((sum(&t.blocks, "bytecodes"), t.metrics.len()), (39, 0));
    let work = t.methods.iter().find(|m| m["method"] == "work").unwrap()["method_id"].clone();
    // 0-4: entered 1 + 1 for each round; 4-13: each round, one of which ended at 4; 13-14: not when that happened.
    let of_work = t.blocks.iter().filter(|b| b["method_id"] == work);
    let columns = ["start_bci", "end_bci", "executions", "bytecodes"];
    assert_eq!(
        of_work.map(|b| json!(pick(b, &columns))).collect::<Vec<_>>(),
        [json!([0, 4, 8, 16]), json!([4, 13, 5, 13]), json!([13, 14, 3, 3])]
    );
}

#[test]
fn a_part_is_a_part_in_every_table() {
    let profile = cprof_synthetic::demo().profile(&[]);
    let t = tables(&profile, Some("work"), &[]).unwrap();
    assert_eq!((sum(&t.nodes, "bytecodes"), sum(&t.blocks, "bytecodes"), sum(&t.methods, "bytecodes")), (32, 32, 32));
    assert_eq!(t.nodes.len(), 4, "work and yield on either thread");
    assert_eq!(t.nodes[0]["context"], t.nodes[2]["context"], "the same path, on another thread");
    assert_ne!(t.nodes[0]["context"], t.nodes[1]["context"]);
}

#[test]
fn further_numbers_stand_beside_the_nodes() {
    let mut profile = cprof_synthetic::demo().profile(&[]);
    let misses: Amounts = (0..profile.nodes.len() as u64).collect();
    profile.caches = vec!["4k/16".parse().unwrap()];
    profile.misses = vec![Misses { entry: misses.clone(), returns: misses.clone() }];
    let column =
        Column { metric: "cycles".into(), target: Some("jop rws=3".into()), cache: "4k/16".into(), nodes: Cow::Owned(misses) };
    let t = tables(&profile, None, &[column]).unwrap();
    // Roots are nodes 0 and 3.
    assert_eq!(t.metrics.iter().map(|m| m["value"].as_i64().unwrap()).collect::<Vec<_>>(), [1, 2, 4, 5]);
    assert_eq!(t.metrics.iter().map(|m| m["node_id"].as_i64().unwrap()).collect::<Vec<_>>(), [0, 1, 3, 4]);
    assert_eq!(json!(pick(&t.metrics[0], &["metric", "target", "cache"])), json!(["cycles", "jop rws=3", "4k/16"]));
}

#[test]
fn empty_profiles_have_empty_tables() {
    let empty = cprof_synthetic::Recording::new().profile(&[]);
    let t = tables(&empty, None, &[]).unwrap();
    assert_eq!((t.runs.len(), t.methods.len(), t.nodes.len(), t.metrics.len(), t.blocks.len()), (1, 0, 0, 0, 0));
}

#[test]
fn hostile_names_survive() {
    let mut profile = cprof_synthetic::demo().profile(&[]);
    let name = "π \"quoted\"; <init>\u{1F980}\u{0}".to_owned() + &"x".repeat(65_000);
    profile.threads[0].name.clone_from(&name);
    profile.methods[0].name.clone_from(&name);
    profile.run.command_line = vec![name.clone(), "b".into()];
    let t = tables(&profile, None, &[]).unwrap();
    assert_eq!(t.methods[0]["method"], name);
    // Threads stand in order of label.
    assert_eq!(t.nodes.iter().filter(|n| n["thread"] == name.as_str()).count(), 3);
    let arguments: Vec<String> = serde_json::from_str(t.runs[0]["command_line"].as_str().unwrap()).unwrap();
    assert_eq!(arguments, [name, "b".into()]);
}

#[test]
fn runs_are_told_apart_and_known_again() {
    let profile = cprof_synthetic::demo().profile(&[]);
    let id = run_id(&profile);
    assert_eq!(id, run_id(&profile.clone()));
    let mut later = profile.clone();
    later.run.started_ms += 1;
    let mut other = profile.clone();
    let mut changed = counters(&other);
    changed[0] += 1;
    set_counters(&mut other, changed);
    assert!(id.len() == 16 && id != run_id(&later) && id != run_id(&other));
}

#[test]
fn more_rows_than_a_group_and_counts_that_do_not_fit() {
    let mut profile = cprof_synthetic::demo().profile(&[]);
    // Each context below main again and again, told apart by call site.
    profile.run.sites = true;
    profile.nodes.site = vec![0; profile.nodes.len()];
    profile.threads.truncate(1);
    for column in [&mut profile.nodes.method, &mut profile.nodes.parent, &mut profile.nodes.site] {
        column.truncate(3);
    }
    let mut rows = profile.nodes.rows();
    let mut all = rows.of(1).to_vec();
    let work = rows.of(2).to_vec();
    all.extend(&work);
    for site in 0..70_000 {
        profile.nodes.method.push(profile.nodes.method[2]);
        profile.nodes.parent.push(1);
        profile.nodes.site.push(site + 10);
        all.extend(&work);
    }
    set_counters(&mut profile, all);
    let t = tables(&profile, None, &[]).unwrap();
    assert_eq!(sum(&t.methods, "bytecodes"), sum(&t.nodes, "bytecodes"));
    assert_eq!(t.nodes.iter().filter(|n| n["site"] == 70_008).count(), 1, "work at the last site");
    let large = Column {
        metric: "cycles".into(),
        target: None,
        cache: "none".into(),
        nodes: Cow::Owned(vec![u64::MAX; profile.nodes.len()].into()),
    };
    let error = tables(&profile, None, &[large]).err().unwrap().to_string();
    assert!(error.starts_with("table metrics: value is 18446744073709551615"), "{error}");
}

#[test]
fn a_full_disk_is_an_error() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let profile = cprof_synthetic::demo().profile(&[]);
    let symbols = Symbols::new(&profile);
    let measures = measure(&profile).unwrap();
    let tree = Tree::new(&profile, &symbols, &measures, &[], |_| true);
    let export = Export {
        run_id: "0",
        part: None,
        file: "",
        profile: &profile,
        symbols: &symbols,
        measures: &measures,
        natives: &[],
        threads: &[true, true],
        roots: None,
        nodes: &vec![true; profile.nodes.len()],
        columns: &[],
    };
    assert!(
        methods(&export, &by_method(&tree, &symbols), Full)
            .err()
            .unwrap()
            .to_string()
            .starts_with("table methods cannot be written")
    );
}

#[test]
fn the_documentation_has_the_columns_there_are() {
    let page = include_str!("../../docs/fleet.md");
    for schema in MESSAGES {
        let mut words = schema.split_whitespace();
        let table = words.nth(1).unwrap();
        assert_eq!(message(table), Some(schema));
        let section = page.split(&format!("### `{table}`")).nth(1).unwrap_or_else(|| panic!("no section on {table}"));
        let section = section.split("\n##").next().unwrap();
        for line in schema.lines().skip(1).filter(|l| *l != "}") {
            let column = line.split_whitespace().nth(2).unwrap().trim_end_matches(';');
            assert!(section.contains(&format!("`{column}`")), "docs/fleet.md does not name {column} of {table}");
        }
    }
}
