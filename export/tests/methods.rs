//! Formats that sum up by method, compared with the sums of `cprof report`.

mod common;

use common::hostile;
use cprof_export::{ByLine, Source, callgrind, chrome, collapsed, csv, json, pprof, speedscope};
use cprof_profile::measure::measure;
use cprof_profile::merge::Merger;
use cprof_profile::metrics::{Metric, Sheet, counted};
use cprof_profile::model::{Level, Profile};
use cprof_profile::projections::by_method;
use cprof_profile::tree::{Symbols, Tree};
use cprof_synthetic::Recording;
use cprof_synthetic::classes::{ClassWriter, op};
use std::collections::BTreeMap;
use std::io;

/// Own and inclusive numbers of a function, and its calls.
#[derive(Debug, Default, PartialEq, Eq)]
struct Function {
    own: Vec<u64>,
    inclusive: Vec<u64>,
    calls: u64,
}

fn add(to: &mut Vec<u64>, numbers: &[u64]) {
    to.resize(numbers.len(), 0);
    to.iter_mut().zip(numbers).for_each(|(sum, n)| *sum += n);
}

/// Reads callgrind's format as callgrind_annotate does: a function that is called costs what its calls cost.
fn read(text: &str) -> (BTreeMap<String, Function>, Vec<u64>) {
    let mut functions: BTreeMap<String, Function> = BTreeMap::new();
    let (mut files, mut names) = (BTreeMap::new(), BTreeMap::new());
    let name = |table: &mut BTreeMap<String, String>, text: &str| {
        let (number, name) = text.split_once(')').unwrap();
        match name.strip_prefix(' ') {
            Some(name) => {
                assert_eq!(table.insert(number.to_owned(), name.to_owned()), None, "named once");
                name.to_owned()
            }
            None => table[number].clone(),
        }
    };
    let (mut function, mut callee, mut calls, mut totals) = (String::new(), String::new(), None, Vec::new());
    let (_, body) = text.split_once("\nevents: ").unwrap();
    for line in body.lines().skip(1).filter(|l| !l.is_empty()) {
        match line.split_once('=') {
            Some(("fn", text)) => function = name(&mut names, text),
            Some(("cfn", text)) => callee = name(&mut names, text),
            Some(("fl" | "fi" | "fe" | "cfi", text)) => drop(name(&mut files, text)),
            Some(("calls", text)) => calls = Some(text.split_once(' ').unwrap().0.parse::<u64>().unwrap()),
            _ => {
                let (place, numbers) = line.split_once(' ').unwrap();
                let numbers: Vec<u64> = numbers.split(' ').map(|n| n.parse().unwrap()).collect();
                match (place, calls.take()) {
                    ("totals:", _) => totals = numbers,
                    (_, None) => add(&mut functions.entry(function.clone()).or_default().own, &numbers),
                    (_, Some(0)) => panic!("callgrind_annotate takes the costs for the caller's own: {callee}"),
                    (_, Some(calls)) => {
                        let called = functions.entry(callee.clone()).or_default();
                        called.calls += calls;
                        add(&mut called.inclusive, &numbers);
                    }
                }
            }
        }
    }
    (functions, totals)
}

#[test]
fn callgrind_costs_what_a_report_says() {
    hostile().test(|source, metrics, expected| {
        let mut bytes = Vec::new();
        callgrind::write(source, &ByLine::default(), &mut bytes).unwrap();
        let (functions, totals) = read(&String::from_utf8(bytes).unwrap());
        assert_eq!(totals, metrics.iter().map(Metric::sum).collect::<Vec<_>>());
        let mut own: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
        let mut inclusive: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
        for ((_, stack), numbers) in expected {
            add(own.entry(stack.last().unwrap()).or_default(), numbers);
            let mut methods: Vec<&str> = stack.iter().map(String::as_str).collect();
            methods.sort();
            methods.dedup();
            methods.into_iter().for_each(|method| add(inclusive.entry(method).or_default(), numbers));
        }
        for (name, function) in functions.iter().filter(|f| !f.0.starts_with('[')) {
            assert_eq!(function.inclusive, inclusive[name.as_str()], "{name}");
            if let Some(own) = own.get(name.as_str()) {
                assert_eq!(&function.own, own, "{name}");
                // Some methods are active once by a call that was not counted.
                assert!((own[0]..=own[0] + 1).contains(&function.calls), "{name}: {} calls, {} counted", function.calls, own[0]);
            }
        }
        assert!(inclusive.keys().all(|name| functions.contains_key(*name)));
        assert_eq!(functions.keys().filter(|name| name.starts_with('[')).count(), 2, "threads");
    });
}

/// Wherever the lines are, the file's among them.
#[test]
fn callgrind_costs_the_same_with_lines() {
    hostile().test(|source, _, _| {
        let written = |by_line: &ByLine| {
            let mut bytes = Vec::new();
            callgrind::write(source, by_line, &mut bytes).unwrap();
            String::from_utf8(bytes).unwrap()
        };
        let mut by_line = ByLine::new(vec!["cycles[a \"b\",4k/16]".to_owned(), "bytecodes".to_owned()]);
        for symbol in 0..13 {
            for (file, line) in [("com/acme/S0.java", 11), ("com/acme/S1.java", 12), ("other; file=\n.java", 13)] {
                by_line.add(symbol, file, 1, [(line, 3), (line + u16::from(symbol % 2 == 0), 1)].into_iter());
                by_line.add(symbol, file, 0, [(line, 100)].into_iter());
            }
        }
        let (without, with) = (written(&ByLine::default()), written(&by_line));
        assert_eq!(read(&with), read(&without));
        // The costs of calls behind them are in the method's own file.
        let other = with.split("\nfi=").skip(1).collect::<Vec<_>>();
        assert!(other.len() > 10 && other.iter().any(|lines| lines.contains(") other; file=\\u000a.java\n13 0 0 ")), "{with}");
        for lines in other {
            let before_calls = lines.split_once("\ncfi=").map_or(lines, |(before, _)| before);
            assert!(before_calls.contains("\nfe=(") || !lines.contains("\ncfi="), "{lines}");
        }
    });
}

#[test]
fn events_have_names_without_punctuation() {
    hostile().test(|source, _, _| {
        let mut bytes = Vec::new();
        callgrind::write(source, &ByLine::default(), &mut bytes).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.contains("\nevents: calls exceptional_exits bytecodes cycles_a__b__4k_16\n"), "{}", &text[..500]);
        assert!(text.contains("\nevent: cycles_a__b__4k_16 : cycles[a \"b\",4k/16]\n"));
        assert!(text.contains("\ncmd: a\\u000ab\n"));
    });
}

#[test]
fn methods_in_tables_cost_what_a_report_says() {
    let profile = cprof_synthetic::demo().profile(&[]);
    let measures = measure(&profile).unwrap();
    let natives = cprof_profile::natives::native_calls(&profile, &measures).unwrap();
    let symbols = Symbols::new(&profile);
    let tree = Tree::by_thread(&profile, &symbols, &measures, &natives, |_| true);
    let metrics = counted(&tree);
    let sheet = Sheet { profile: &profile, symbols: &symbols, tree: &tree, metrics: &metrics };
    let source = Source::new(sheet, &|_| {}).unwrap();
    let (mut table, mut object) = (Vec::new(), Vec::new());
    csv::write_methods(&source, &mut table).unwrap();
    json::write_methods(&source, &mut object).unwrap();
    let object: serde_json::Value = serde_json::from_slice(&object).unwrap();
    let mut reader = ::csv::Reader::from_reader(&table[..]);
    let rows: Vec<_> = reader.records().map(Result::unwrap).collect();
    let mut expected = by_method(&tree, &symbols);
    expected.sort_by_key(|row| &symbols.list[row.symbol as usize]);
    assert_eq!((rows.len(), object["methods"].as_array().unwrap().len()), (expected.len(), expected.len()));
    for (i, row) in expected.iter().enumerate() {
        let symbol = &symbols.list[row.symbol as usize];
        assert_eq!((&rows[i][0], &rows[i][1], &rows[i][2]), (&*symbol.class, &*symbol.method, &*symbol.descriptor));
        let number = |column: usize| rows[i][column].parse::<u64>().unwrap();
        assert_eq!([number(6), number(8), number(10), number(11)], [row.calls, row.exceptional_exits, row.own, row.total]);
        let method = &object["methods"][i];
        assert_eq!((&method["own"][2], &method["total"][2]), (&row.own.into(), &row.total.into()));
    }
}

/// Classes, their versions and threads are in profiles as they came.
#[test]
fn the_same_counts_give_the_same_file() {
    let recorded = |class: &str, thread: &str, line: u16| {
        let mut recording = Recording::new();
        let mut writer = ClassWriter::new(class, "java/lang/Object");
        writer.method_with_lines("m", "()V", 9, &[op::RETURN], &[(0, line)]);
        let methods = recording.class(writer.finish(), false, Level::Precise);
        let counters = recording.path(0, 0, &[0], false);
        let tree = recording.arena.tree(thread, 0, 1);
        recording.arena.node(tree, tree, methods[0], 0, &counters);
        recording.profile(&[])
    };
    let one = recorded("b/B", "first", 1);
    let (other, version) = (recorded("a/A", "second", 1), recorded("b/B", "first", 2));
    let files = |order: [&Profile; 3]| {
        let mut merger = Merger::default();
        order.into_iter().for_each(|profile| merger.add(profile.clone(), "p").unwrap());
        let profile = merger.finish().profile;
        let measures = measure(&profile).unwrap();
        let symbols = Symbols::new(&profile);
        let tree = Tree::by_thread(&profile, &symbols, &measures, &[], |_| true);
        let metrics = counted(&tree);
        let source =
            Source::new(Sheet { profile: &profile, symbols: &symbols, tree: &tree, metrics: &metrics }, &|_| {}).unwrap();
        let mut files: Vec<(&str, Vec<u8>)> = Vec::new();
        let mut file = |name, write: &dyn Fn(&mut Vec<u8>) -> io::Result<()>| {
            let mut bytes = Vec::new();
            write(&mut bytes).unwrap();
            files.push((name, bytes));
        };
        file("callgrind", &|out| callgrind::write(&source, &ByLine::default(), out));
        file("csv", &|out| csv::write_contexts(&source, out));
        file("json", &|out| json::write_contexts(&source, out));
        file("speedscope", &|out| speedscope::write(&source, out));
        file("pprof", &|out| pprof::write(&source, &ByLine::default(), out));
        file("collapsed", &|out| collapsed::write(&source, &metrics[0], out));
        file("chrome", &|out| chrome::write(&source, &metrics[0], out));
        files
    };
    for ((name, one), (_, other)) in files([&one, &other, &version]).iter().zip(files([&version, &other, &one])) {
        assert_eq!(*one, other, "{name}");
    }
}
