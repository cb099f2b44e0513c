//! What is written is read again, by the rules of the format, and compared context by context.

mod common;

use common::{Made, Stacks, add, hostile};
use cprof_export::{ByLine, Source, callgrind, chrome, collapsed, csv, json, pprof, speedscope};
use cprof_profile::metrics::Metric;
use flate2::read::GzDecoder;
use prost::Message;
use serde_json::Value;
use std::io::{Read, Write};

fn written(write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(&mut bytes).unwrap();
    bytes
}

/// One metric of stacks.
fn only(stacks: &Stacks, metric: usize) -> Stacks {
    let mut one = Stacks::new();
    for ((thread, stack), numbers) in stacks {
        add(&mut one, thread.clone(), stack.clone(), vec![numbers[metric]]);
    }
    one
}

fn unescaped(text: &str) -> String {
    let mut units = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("\\u") {
        units.extend(rest[..at].encode_utf16());
        units.push(u16::from_str_radix(&rest[at + 2..at + 6], 16).unwrap());
        rest = &rest[at + 6..];
    }
    units.extend(rest.encode_utf16());
    String::from_utf16(&units).unwrap()
}

/// Lines are samples of their own, and the context's together.
#[test]
fn pprof_has_every_context() {
    pprof_has_every_context_with(&ByLine::default());
    let mut by_line = ByLine::new(vec!["bytecodes".to_owned(), "cycles[a \"b\",4k/16]".to_owned()]);
    for context in 0..100 {
        for file in ["com/acme/S0.java", "com/acme/S1.java", "elsewhere.java"] {
            by_line.add(context, file, 0, [(10, 1), (12, 3)].into_iter());
            by_line.add(context, file, 1, [(12, u64::from(context))].into_iter());
        }
    }
    let lines = pprof_has_every_context_with(&by_line);
    // Of a method that is in one of the files, and the costs of the others beside.
    let main = |file: &str, line| {
        ("com.acme.Main.main():void".to_owned(), file.to_owned(), 20 * i64::from(file == "com/acme/S1.java"), line)
    };
    for place in [main("com/acme/S1.java", 20), main("com/acme/S1.java", 12), main("elsewhere.java", 10)] {
        assert!(lines.contains(&place), "{place:?}");
    }
}

/// Function, file, its first line, line.
type Place = (String, String, i64, i64);

/// Answers the places of all samples.
fn pprof_has_every_context_with(by_line: &ByLine) -> Vec<Place> {
    let mut all = Vec::new();
    let test = |source: &Source, metrics: &[Metric], expected: &Stacks| {
        let mut bytes = Vec::new();
        GzDecoder::new(&written(|out| pprof::write(source, by_line, out))[..]).read_to_end(&mut bytes).unwrap();
        let profile = pprof::proto::Profile::decode(&bytes[..]).unwrap();
        let text = |at: i64| profile.string_table[at as usize].clone();
        assert_eq!(text(0), "");
        let types: Vec<(String, String)> = profile.sample_type.iter().map(|t| (text(t.r#type), text(t.unit))).collect();
        assert_eq!(types, metrics.iter().map(|m| (m.name.clone(), "count".to_owned())).collect::<Vec<_>>());
        assert_eq!(text(profile.default_sample_type), "bytecodes");
        let mut found = Stacks::new();
        let mut lines = Vec::new();
        for sample in &profile.sample {
            let [label] = sample.label[..] else { panic!("one label") };
            assert_eq!(text(label.key), "thread");
            let mut stack = Vec::new();
            for id in sample.location_id.iter().rev() {
                let location = &profile.location[*id as usize - 1];
                assert_eq!((location.id, location.mapping_id), (*id, 1));
                let [line] = location.line[..] else { panic!("one line") };
                let function = profile.function.iter().find(|f| f.id == line.function_id).unwrap();
                stack.push(text(function.name));
                lines.push((text(function.name), text(function.filename), function.start_line, line.line));
            }
            add(&mut found, text(label.str), stack, sample.value.iter().map(|&v| v as u64).collect());
        }
        assert_eq!(&found, expected);
        let has = |name: &str, file: &str, start: i64, line: i64| {
            assert!(lines.contains(&(name.into(), file.into(), start, line)), "{name} {file} {start} {line}");
        };
        // Where it begins, and where it calls.
        has("com.acme.Main.main():void", "com/acme/S1.java", 20, 20);
        has("com.acme.Main.main(java.lang.String[]):void", "com/acme/S0.java", 10, 11);
        has("java.lang.Thread.yield():void [native]", "", 0, 0);
        all = lines;
    };
    hostile().test(test);
    all
}

#[test]
fn collapsed_has_every_context() {
    hostile().test(|source, metrics, expected| {
        for (m, metric) in metrics.iter().enumerate() {
            let text = String::from_utf8(written(|out| collapsed::write(source, metric, out))).unwrap();
            assert_eq!(text.len() as u64, collapsed::size(source, metric), "{}", metric.name);
            let mut found = Stacks::new();
            for line in text.lines() {
                let (stack, number) = line.rsplit_once(' ').unwrap();
                assert!(!stack.ends_with(|c: char| c.is_ascii_digit() && stack.contains(" 12")), "two numbers: {stack}");
                let mut frames = stack.split(';');
                let thread = frames.next().unwrap().strip_prefix('[').unwrap().strip_suffix(']').unwrap();
                let frames = frames.map(|f| f.replace("\\u003b", ";")).collect();
                add(&mut found, unescaped(thread), frames, vec![number.parse().unwrap()]);
            }
            assert_eq!(found, only(expected, m), "{}", metric.name);
            assert_eq!(text.lines().count(), metric.own.iter().filter(|&n| n > 0).count());
        }
    });
}

#[test]
fn speedscope_opens_the_thread_that_has_executed_most() {
    for (bytecodes, largest) in [([5, 9], "b"), ([9, 5], "a"), ([5, 5], "a")] {
        let mut made = Made::new(&[("A", "m", "()V")]);
        for (name, bytecodes) in ["a", "b"].into_iter().zip(bytecodes) {
            let root = made.thread(name);
            made.context(0, root, None, [1, 0, bytecodes]);
        }
        made.test(|source, _, _| {
            let file: Value = serde_json::from_slice(&written(|out| speedscope::write(source, out))).unwrap();
            let opened = &file["profiles"][file["activeProfileIndex"].as_u64().unwrap() as usize]["name"];
            assert_eq!(opened.as_str().unwrap(), format!("{largest}: bytecodes"));
        });
    }
}

#[test]
fn speedscope_has_every_context() {
    hostile().test(|source, metrics, expected| {
        let file: Value = serde_json::from_slice(&written(|out| speedscope::write(source, out))).unwrap();
        let frames = file["shared"]["frames"].as_array().unwrap();
        let profiles = file["profiles"].as_array().unwrap();
        assert_eq!(profiles.len(), metrics.len() * 2);
        assert_eq!(profiles[file["activeProfileIndex"].as_u64().unwrap() as usize]["name"], "main: bytecodes");
        for (m, metric) in metrics.iter().enumerate() {
            let mut found = Stacks::new();
            for profile in &profiles[2 * m..][..2] {
                let thread = profile["name"].as_str().unwrap().strip_suffix(&format!(": {}", metric.name)).unwrap();
                let (mut stack, mut at) = (Vec::new(), profile["startValue"].as_u64().unwrap());
                for event in profile["events"].as_array().unwrap() {
                    let now = event["at"].as_u64().unwrap();
                    add(&mut found, thread.into(), stack.clone(), vec![now.checked_sub(at).expect("in order")]);
                    at = now;
                    let name = frames[event["frame"].as_u64().unwrap() as usize]["name"].as_str().unwrap().to_owned();
                    match event["type"].as_str() {
                        Some("O") => stack.push(name),
                        Some("C") => assert_eq!(stack.pop(), Some(name)),
                        other => panic!("{other:?}"),
                    }
                }
                assert!(stack.is_empty());
                assert_eq!(profile["endValue"], at);
            }
            assert_eq!(found, only(expected, m), "{}", metric.name);
        }
        let init = frames.iter().find(|f| f["name"] == "A.<init>(A$B, long):void").unwrap();
        assert_eq!((&init["file"], &init["line"]), (&"S2.java".into(), &30.into()));
    });
}

#[test]
fn chrome_has_every_context() {
    hostile().test(|source, metrics, expected| {
        for (m, metric) in metrics.iter().enumerate() {
            let file: Value = serde_json::from_slice(&written(|out| chrome::write(source, metric, out))).unwrap();
            let mut found = Stacks::new();
            let mut thread = String::new();
            // Open events: end, name, what is not in events within.
            let mut open: Vec<(u64, String, u64)> = Vec::new();
            let mut close = |open: &mut Vec<(u64, String, u64)>, thread: &str, now: u64| {
                while open.last().is_some_and(|o| o.0 <= now) {
                    let stack = open.iter().map(|o| o.1.clone()).collect();
                    add(&mut found, thread.into(), stack, vec![open.pop().unwrap().2]);
                }
            };
            for event in file["traceEvents"].as_array().unwrap() {
                if event["ph"] == "M" {
                    close(&mut open, &thread, u64::MAX);
                    thread = event["args"]["name"].as_str().unwrap().into();
                    continue;
                }
                let (ts, dur) = (event["ts"].as_u64().unwrap(), event["dur"].as_u64().unwrap());
                close(&mut open, &thread, ts);
                if let Some((end, _, own)) = open.last_mut() {
                    assert!(ts + dur <= *end);
                    *own -= dur;
                }
                open.push((ts + dur, event["name"].as_str().unwrap().into(), dur));
            }
            close(&mut open, &thread, u64::MAX);
            assert_eq!(found, only(expected, m), "{}", metric.name);
        }
    });
}

#[test]
fn csv_has_every_context() {
    hostile().test(|source, metrics, expected| {
        let bytes = written(|out| csv::write_contexts(source, out));
        let mut reader = ::csv::Reader::from_reader(&bytes[..]);
        let head: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
        assert_eq!(head[12], "exceptional_exits");
        assert_eq!(head[16..], ["cycles[a \"b\",4k/16]", "cycles[a \"b\",4k/16]_total"]);
        let (mut found, mut below) = (Stacks::new(), vec![vec![0; metrics.len()]]);
        let (mut stacks, mut totals, mut parents) = (vec![Vec::new()], vec![Vec::new()], vec![0]);
        for row in reader.records() {
            let row: Vec<String> = row.unwrap().iter().map(str::to_owned).collect();
            let number = |column: usize| row[column].parse::<u64>().unwrap();
            assert_eq!(number(0), stacks.len() as u64);
            let mut stack: Vec<String> = stacks[number(1) as usize].clone();
            let (class, method, descriptor, native) = (row[3].clone(), row[4].clone(), row[5].clone(), row[6] == "true");
            let symbol = cprof_profile::tree::Symbol { class, method, descriptor, native };
            let folded = symbol.method == "(folded)";
            stack.push(if folded { symbol.method } else { cprof_export::names::method(&symbol) });
            let own: Vec<u64> = (0..metrics.len()).map(|m| number(10 + 2 * m)).collect();
            totals.push((0..metrics.len()).map(|m| number(11 + 2 * m)).collect());
            parents.push(number(1) as usize);
            add(&mut found, row[2].clone(), stack.clone(), own.clone());
            stacks.push(stack);
            below.push(own);
        }
        assert_eq!(&found, expected);
        for row in (1..below.len()).rev() {
            assert_eq!(below[row], totals[row]);
            let more = below[row].clone();
            below[parents[row]].iter_mut().zip(more).for_each(|(sum, n)| *sum += n);
        }
    });
}

#[test]
fn json_has_every_context() {
    hostile().test(|source, metrics, expected| {
        let file: Value = serde_json::from_slice(&written(|out| json::write_contexts(source, out))).unwrap();
        let numbers = |list: &Value| list.as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect::<Vec<_>>();
        let mut found = Stacks::new();
        let mut stacks: Vec<Vec<String>> = Vec::new();
        for context in file["contexts"].as_array().unwrap() {
            let mut stack = context["parent"].as_u64().map_or(Vec::new(), |p| stacks[p as usize].clone());
            stack.push(match context["method"].as_u64() {
                None => "(folded)".to_owned(),
                Some(m) => {
                    let m = &file["methods"][m as usize];
                    let text = |key: &str| m[key].as_str().unwrap().to_owned();
                    let native = m["native"].as_bool().unwrap();
                    let [class, method, descriptor] = ["class", "method", "descriptor"].map(text);
                    cprof_export::names::method(&cprof_profile::tree::Symbol { class, method, descriptor, native })
                }
            });
            let thread = file["threads"][context["thread"].as_u64().unwrap() as usize].as_str().unwrap();
            add(&mut found, thread.to_owned(), stack.clone(), numbers(&context["own"]));
            stacks.push(stack);
        }
        assert_eq!(&found, expected);
        let sums: Vec<u64> = metrics.iter().map(Metric::sum).collect();
        let mut roots = vec![0; metrics.len()];
        for context in file["contexts"].as_array().unwrap().iter().filter(|c| c["parent"].is_null()) {
            roots.iter_mut().zip(numbers(&context["total"])).for_each(|(sum, n)| *sum += n);
        }
        assert_eq!(roots, sums);
    });
}

/// A chain of calls.
fn chain(depth: u32) -> Made {
    let mut made = Made::new(&[("A", "a", "()V"), ("B", "b", "()V")]);
    let mut caller = made.thread("main");
    for i in 0..depth {
        caller = made.context(i % 2, caller, None, [1, 0, 2]);
    }
    made
}

#[test]
fn deep_stacks_are_linear_where_the_format_is() {
    let depth = 100_000;
    chain(depth).deep(|source, metrics| {
        for bytes in [
            written(|out| speedscope::write(source, out)),
            written(|out| chrome::write(source, &metrics[2], out)),
            written(|out| callgrind::write(source, &ByLine::default(), out)),
            written(|out| csv::write_contexts(source, out)),
            written(|out| json::write_contexts(source, out)),
        ] {
            assert!(bytes.len() < 1000 * depth as usize, "{}", bytes.len());
        }
    });
}

#[test]
fn deep_stacks_are_written_in_the_others() {
    let depth = 3000;
    chain(depth).deep(|source, metrics| {
        let text = written(|out| collapsed::write(source, &metrics[2], out));
        assert_eq!(text.iter().filter(|&&b| b == b'\n').count(), depth as usize);
        let mut bytes = Vec::new();
        GzDecoder::new(&written(|out| pprof::write(source, &ByLine::default(), out))[..]).read_to_end(&mut bytes).unwrap();
        let profile = pprof::proto::Profile::decode(&bytes[..]).unwrap();
        assert_eq!(profile.sample.len(), depth as usize);
        assert_eq!(profile.sample.last().unwrap().location_id.len(), depth as usize);
    });
}

#[test]
fn nothing_counted_is_a_file_with_nothing() {
    Made::new(&[]).test(|source, metrics, expected| {
        assert!(expected.is_empty());
        assert!(written(|out| collapsed::write(source, &metrics[2], out)).is_empty());
        assert_eq!(collapsed::size(source, &metrics[2]), 0);
        let file: Value = serde_json::from_slice(&written(|out| speedscope::write(source, out))).unwrap();
        assert_eq!(file["profiles"].as_array().unwrap().len(), 0);
        let file: Value = serde_json::from_slice(&written(|out| json::write_contexts(source, out))).unwrap();
        assert_eq!(file["contexts"].as_array().unwrap().len(), 0);
        let file: Value = serde_json::from_slice(&written(|out| chrome::write(source, &metrics[2], out))).unwrap();
        assert_eq!(file["traceEvents"].as_array().unwrap().len(), 1);
        assert_eq!(written(|out| csv::write_contexts(source, out)).iter().filter(|&&b| b == b'\n').count(), 1);
        let mut bytes = Vec::new();
        GzDecoder::new(&written(|out| pprof::write(source, &ByLine::default(), out))[..]).read_to_end(&mut bytes).unwrap();
        assert!(pprof::proto::Profile::decode(&bytes[..]).unwrap().sample.is_empty());
    });
}
