//! `cprof annotate` and `cprof histogram`, and their errors, on a synthetic profile whose every count is known.

use cprof_profile::model::{Gap, Level, Profile};
use cprof_synthetic::Recording;
use cprof_synthetic::classes::{ClassWriter, op};
use std::path::PathBuf;
use std::process::{Command, Output};

struct File(PathBuf);

impl File {
    fn of(test: &str, profile: &Profile) -> File {
        let path = std::env::temp_dir().join(format!("cprof-annotate-{test}-{}.cprof", std::process::id()));
        cprof_profile::file::write(&path, profile).unwrap();
        File(path)
    }

    fn demo(test: &str) -> File {
        File::of(test, &cprof_synthetic::demo().profile(&[]))
    }

    fn run(&self, command: &str, arguments: &[&str]) -> Output {
        let mut cprof = Command::new(env!("CARGO_BIN_EXE_cprof"));
        cprof.arg(command).arg(&self.0).args(arguments).output().unwrap()
    }

    fn text(&self, command: &str, arguments: &[&str]) -> String {
        let output = self.run(command, arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(output.stderr.is_empty(), "{arguments:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn json(&self, command: &str, arguments: &[&str]) -> serde_json::Value {
        serde_json::from_str(&self.text(command, &[arguments, &["--format", "json"]].concat())).unwrap()
    }

    fn fails(&self, command: &str, arguments: &[&str]) -> String {
        let output = self.run(command, arguments);
        assert!(output.stdout.is_empty() && output.status.code() == Some(1), "{arguments:?}");
        String::from_utf8(output.stderr).unwrap()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).unwrap();
    }
}

/// `demo.Main.main`: two bytecodes on line 0, which is none, two on line 3; another method, without lines.
#[test]
fn bytecodes_on_no_line_are_told() {
    let mut recording = Recording::new();
    let mut class = ClassWriter::new("demo/Main", "java/lang/Object");
    let code = [op::NOP, op::NOP, op::NOP, op::RETURN];
    class.method_with_lines("main", "()V", 9, &code, &[(0, 0), (2, 3)]);
    class.method("bare", "()V", 9, &code);
    let ids = recording.class(class.finish(), false, Level::Precise);
    let tree = recording.arena.tree("main", 0, 1);
    for id in ids {
        recording.arena.node(tree, tree, id, 0, &[5]);
    }
    let mut profile = recording.profile(&[]);
    profile.classes[0].source_file = "Main.java".into();
    let file = File::of("no-line", &profile);
    let lines = file.text("histogram", &["--by", "line", "--format", "csv"]);
    let head = "class,source_file,line,bytecodes,executions,branches,taken\r\n";
    assert_eq!(lines, format!("{head}demo.Main,Main.java,,30,,0,0\r\ndemo.Main,Main.java,3,10,5,0,0\r\n"));
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join("demo")).unwrap();
    std::fs::write(directory.path().join("demo/Main.java"), "package demo;\nclass Main {\nvoid main() {}\n}\n").unwrap();
    let source = file.text("annotate", &["demo.Main.main", "--source", directory.path().to_str().unwrap()]);
    assert!(source.ends_with("demo.Main.main(): 10 bytecodes are of no line; without --source they are shown\n"), "{source}");
}

#[test]
fn bytecode_for_people() {
    let file = File::demo("text");
    let expected = "\
demo.Main.work(int)
4 calls, 1 left by an exception, 32 bytecodes (82.1%)

executions  share  line  bytecode
         8               block 0-3
         8  25.0%           0: iload_0
         8  25.0%           1: ifeq          13
         3                          taken: to 13
         5                          not taken
         5               block 4-12
         5  15.6%           4: invokestatic  #16                 // Method java/lang/Thread.yield:()V
         1                          left the method by an exception
         4  12.5%           7: iinc          0, -1
         4  12.5%          10: goto          0
         3               block 13-13
         3   9.4%          13: return
";
    assert_eq!(file.text("annotate", &["demo.Main.work(I)V"]), expected);
    assert_eq!(file.text("annotate", &["demo/Main.work"]), expected);
    let class = file.text("annotate", &["demo.Main"]);
    assert!(class.starts_with(expected) && class.contains("\n\ndemo.Main.main(String[])\n"), "{class}");
    let worker = file.text("annotate", &["demo.Main.work", "--thread", "worker"]);
    assert!(worker.contains("1 call, 13 bytecodes (81.2%)") && !worker.contains("exception"), "{worker}");
    let lambda = file.text("annotate", &["demo.Main$$Lambda.run", "--target", "jop", "--cache", "none"]);
    assert!(lambda.contains("executions  cycles  share  line  bytecode"), "{lambda}");
    let bare = file.text("annotate", &["demo.Main.main", "--source", env!("CARGO_MANIFEST_DIR")]);
    assert!(bare.contains("no source: its class file has no source lines for it") && bare.contains("invokestatic"), "{bare}");
}

#[test]
fn rows_as_json() {
    let file = File::demo("json");
    let annotated = file.json("annotate", &["demo.Main.work"]);
    let method = &annotated["methods"][0];
    assert_eq!((&method["calls"], &method["bytecodes"], &method["level"]), (&4.into(), &32.into(), &"precise".into()));
    let row = &method["rows"][1];
    assert_eq!((&row["bci"], &row["text"], &row["executions"]), (&1.into(), &"ifeq 13".into(), &8.into()));
    assert_eq!(row["outcomes"][0], serde_json::json!({ "way": "taken", "target": 13, "count": 3 }));
    assert_eq!(row["line"], serde_json::Value::Null);
    let block = serde_json::json!({ "start": 4, "end": 13, "executions": 5, "handled": 0, "bytecodes": 13 });
    assert_eq!(method["blocks"][1], block);
    assert!(method.get("cycles").is_none());
}

#[test]
fn errors_say_what_was_meant() {
    let file = File::demo("errors");
    for (what, wanted) in [
        ("demo.Main.wrok", "no class or method demo.Main.wrok; methods of that class that ran: main, work"),
        ("demo.Mian", "similar names: demo.Main"),
        ("Main.work", "similar names: demo.Main.work"),
        ("zzz", "give classes with their packages"),
        ("java.lang.Thread.yield", "is native: it has no bytecode"),
    ] {
        let message = file.fails("annotate", &[what]);
        assert!(message.contains(wanted), "{what}: {message}");
    }
    let message = file.fails("annotate", &["demo.Main.main", "--thread", "worker"]);
    assert!(message.contains("did not run in this part"), "{message}");
    let message = file.fails("annotate", &["demo.Main", "--source", "/no/such"]);
    assert!(message.contains("cannot read sources in /no/such"), "{message}");
    let message = file.fails("annotate", &["demo.Main", "--source", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")]);
    assert!(message.contains("Give a directory, or a zip or jar"), "{message}");
}

#[test]
fn what_was_not_covered_is_told_apart_from_what_is_not_there() {
    let mut profile = cprof_synthetic::demo().profile(&[]);
    let gap = |class: &str, method: Option<&str>| Gap {
        class: class.to_owned(),
        method: method.map(str::to_owned),
        reason: "too large".to_owned(),
    };
    profile.gaps = vec![gap("demo/Main", Some("parse([B)V")), gap("demo/Old", None)];
    let file = File::of("gaps", &profile);
    for (what, wanted) in [
        ("demo.Main.parse", "demo.Main.parse([B)V was not covered: too large"),
        ("demo.Main.parse(byte[])", "demo.Main.parse([B)V was not covered: too large"),
        ("demo.Old", "demo.Old was not covered: too large"),
        ("demo.Main.prase", "no class or method demo.Main.prase"),
    ] {
        let message = file.fails("annotate", &[what]);
        assert!(message.contains(wanted), "{what}: {message}");
    }
    file.text("annotate", &["demo.Main"]);
}

#[test]
fn histograms() {
    let file = File::demo("histogram");
    let csv = "opcode,mnemonic,group,executions\r\n\
               26,iload_0,local loads,8\r\n\
               153,ifeq,conditional branches,8\r\n\
               184,invokestatic,calls,7\r\n\
               167,goto,jumps,5\r\n\
               177,return,returns,5\r\n\
               132,iinc,local stores,4\r\n\
               4,iconst_1,constants,2\r\n";
    assert_eq!(file.text("histogram", &["--format", "csv"]), csv);
    assert_eq!(
        file.text("histogram", &["--by", "method", "--format", "csv"]),
        "class,method,descriptor,bytecodes,blocks,branches,taken\r\n\
         demo.Main,work,(I)V,32,16,8,3\r\n\
         demo.Main,main,([Ljava/lang/String;)V,4,2,0,0\r\n\
         demo.Main$$Lambda,run,()V,3,1,0,0\r\n"
    );
    assert_eq!(
        file.text("histogram", &["--by", "line", "--format", "csv", "--top", "1"]),
        "class,source_file,line,bytecodes,executions,branches,taken\r\ndemo.Main,,,36,,8,3\r\n"
    );
    let json = file.json("histogram", &[]);
    // The block that an exception left after one of its three bytecodes counts as one of that size.
    assert_eq!(json["blocks"]["sizes"], serde_json::json!([[1, 5], [2, 8], [3, 6]]));
    assert_eq!(json["branches"][0]["taken"], 3);
    let text = file.text("histogram", &[]);
    assert!(text.contains("39 bytecodes executed") && text.contains("19 blocks executed, of 2.05 bytecodes"), "{text}");
    let rows = file.json("histogram", &["--by", "class", "--root", "demo.Main$$Lambda.run"]);
    assert_eq!(
        rows["rows"][0],
        serde_json::json!({ "class": "demo.Main", "bytecodes": 13, "blocks": 6, "branches": 3, "taken": 1 })
    );
    assert!(!text.contains('\x1b'), "no colour without a terminal");
}

#[test]
fn damaged_classes_are_named() {
    let good = cprof_synthetic::demo().profile(&[]);
    let mut cut = good.clone();
    let class = cut.classes.iter_mut().find(|c| c.name == "demo/Main").unwrap();
    class.bytes.truncate(class.bytes.len() / 2);
    let file = File::of("cut", &cut);
    // The constant of `invokestatic yield` is another than a method.
    let mut other = good;
    let class = other.classes.iter_mut().find(|c| c.name == "demo/Main").unwrap();
    let code = [op::ILOAD_0, op::IFEQ, 0, 12, op::INVOKESTATIC];
    let at = class.bytes.windows(code.len()).position(|w| w == code).unwrap() + code.len();
    class.bytes[at..at + 2].copy_from_slice(&[0xff, 0xff]);
    let wrong = File::of("wrong", &other);
    for (file, command) in [(&file, "annotate"), (&file, "histogram"), (&wrong, "annotate"), (&wrong, "histogram")] {
        let arguments: &[&str] = if command == "annotate" { &["demo.Main.work"] } else { &[] };
        let message = file.fails(command, arguments);
        assert!(message.contains("the profile's copy of demo/Main is damaged"), "{command}: {message}");
    }
}

#[test]
fn names_of_any_kind_come_through() {
    let odd = "p/\"Q;\\ uot,e\u{e9}\u{20ac}";
    let mut class = ClassWriter::new(odd, "java/lang/Object");
    class.method("<odd name>", "()V", 0x0009, &[op::RETURN]);
    let mut recording = Recording::new();
    let id = recording.class(class.finish(), false, Level::Precise)[0];
    let path = recording.path(0, 0, &[0], false);
    let tree = recording.arena.tree("main", 0, 1);
    recording.arena.node(tree, tree, id, 0, &path);
    let file = File::of("names", &recording.profile(&[]));
    let dotted = odd.replace('/', ".");
    let annotated = file.json("annotate", &[&dotted]);
    assert_eq!(
        (&annotated["methods"][0]["class"], &annotated["methods"][0]["method"]),
        (&dotted.as_str().into(), &"<odd name>".into())
    );
    assert!(file.text("annotate", &[&format!("{dotted}.<odd name>")]).contains("0: return"));
    let csv = file.text("histogram", &["--by", "method", "--format", "csv"]);
    assert!(csv.contains(&format!("\"{}\",<odd name>,()V,1,1,0,0\r\n", dotted.replace('"', "\"\""))), "{csv}");
    assert_eq!(file.json("histogram", &["--by", "class"])["rows"][0]["class"], dotted.as_str());
}
