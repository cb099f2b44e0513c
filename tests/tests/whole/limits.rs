//! When room for contexts runs out, contexts are folded; nothing that was counted gets lost, and nothing is added.

use cprof_tests::run::{Bench, Report};
use cprof_tests::{OrFail, build, program, run};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Programs of one thread that do the same in each run.
const PROGRAMS: &[&str] = &["Finally", "Recursion", "Rethrow"];

fn counted(bench: &Bench, program: &program::Program, options: &str) -> Report {
    let out = build::directory().join(format!("limits-{}-{}.cprof", program.name, bench.jdk.feature));
    bench.cprof(&[program], &[], options, &out).0
}

/// Writes a class and compiles it to where its source is.
fn compile(bench: &Bench, source: &Path, text: &str) {
    let folder = source.parent().expect("a folder");
    fs::create_dir_all(folder).or_fail(folder.display());
    fs::write(source, text).or_fail(source.display());
    build::must(bench.jdk.command("javac").arg("-d").arg(folder).arg(source));
}

#[test]
fn what_ran_outside_the_roots_stays_outside_when_there_is_no_room() {
    for bench in run::benches() {
        for program in program::named(&bench.jdk, PROGRAMS) {
            let whole = counted(&bench, &program, "");
            let folded = counted(&bench, &program, ",max-nodes=1");
            let name = format!("{} on {}", program.name, bench.jdk.feature);
            assert!(folded.tree.len() < whole.tree.len(), "{name}: {} contexts were not folded", whole.tree.len());
            assert_eq!(folded.tree.total(), whole.tree.total(), "{name}");
        }
    }
}

/// The JVM sets aside addresses of its own, and does not start where there are none left.
#[test]
fn a_limit_of_addresses_leaves_room_for_the_jvm() {
    for bench in run::benches() {
        for megabytes in [3000_u64, 8000] {
            let out = build::fresh(&format!("limits-addresses-{}", bench.jdk.feature)).join("it.cprof");
            let mut limited = Command::new("prlimit");
            limited.arg(format!("--as={}", megabytes << 20));
            let mut java = bench.program(&["-Xmx64m"]);
            java.arg(build::agent_option("quiet", &out)).arg("Recursion");
            let ending = run::end(run::under(limited, &java));
            assert_eq!((ending.code, ending.stderr.as_str()), (0, ""), "JDK {}, {megabytes} MB", bench.jdk.feature);
            assert!(!Report::read(&out).tree.is_empty());
        }
    }
}

/// Pairs of methods in [`bushy`].
const PAIRS: u64 = 400;
/// How deep they call each other.
const DEPTH: u32 = 11;

/// Many methods, so that some are called for the first time when there is no room any more, and many contexts of each.
fn bushy() -> String {
    let pair = |i| {
        let body = |name| format!("static void {name}{i}(int d) {{ if (d > 0) {{ a{i}(d - 1); b{i}(d - 1); }} }}");
        body("a") + &body("b")
    };
    let pairs: String = (0..PAIRS).map(pair).collect();
    let calls: String = (0..PAIRS).map(|i| format!("a{i}({DEPTH});")).collect();
    format!("class Bushy {{ {pairs} public static void main(String[] args) {{ {calls} }} }}")
}

#[test]
fn totals_are_exact_when_memory_is_at_its_limit() {
    for bench in run::benches() {
        let directory = build::fresh(&format!("bushy-{}", bench.jdk.feature));
        let (source, out) = (directory.join("Bushy.java"), directory.join("it.cprof"));
        compile(&bench, &source, &bushy());
        for caches in ["", ",cache=4k/16", ",cache=1k/4+4k/16"] {
            let mut java = bench.jdk.command("java");
            java.arg(build::agent_option(&format!("quiet,max-memory=16m{caches}"), &out));
            build::must(java.arg("-cp").arg(&directory).arg("Bushy"));
            let mut report = Command::new(build::cprof());
            let told =
                build::must(report.arg("report").arg(&out).args(["--filter", "Bushy.*", "--format", "json", "--top", "0"]));
            let report: serde_json::Value = serde_json::from_str(&told).or_fail("reading the JSON of cprof report");
            let methods = report["methods"].as_array().expect("a list of methods");
            let calls: u64 = methods.iter().map(|method| method["calls"].as_u64().expect("a number")).sum();
            assert_eq!(calls, 1 + PAIRS * ((2 << DEPTH) - 1), "JDK {}{caches}", bench.jdk.feature);
            assert_eq!(report["coverage"]["lost_calls"], 0, "JDK {}{caches}", bench.jdk.feature);
            let told = build::must(Command::new(build::cprof()).arg("report").arg(&out));
            assert!(told.contains("contexts beyond the limit were folded"), "JDK {}{caches}: {told}", bench.jdk.feature);
        }
    }
}

/// A tree of the right name may be below others in its list.
#[test]
fn threads_take_trees_of_their_names_from_below_others() {
    for bench in run::benches() {
        let out = build::fresh(&format!("namesakes-{}", bench.jdk.feature)).join("it.cprof");
        let mut java = bench.program(&[]);
        java.arg(build::agent_option("", &out)).arg("Namesakes");
        let ending = run::end(java);
        let threads = ending.stderr.split_once(" contexts of ").and_then(|(_, rest)| rest.split_once(" threads"));
        let threads: u32 = threads.expect("the line at the end").0.replace(',', "").parse().or_fail(&ending.stderr);
        assert!(threads < 20, "JDK {}: {}", bench.jdk.feature, ending.stderr);
        for name in ["worker*", "job*"] {
            let mut report = Command::new(build::cprof());
            let told = build::must(report.arg("report").arg(&out).args([
                "--thread",
                name,
                "--filter",
                "Namesakes.work",
                "--format",
                "csv",
            ]));
            // 25 calls each: fib(6) of them.
            assert!(told.contains(",5000,0,"), "JDK {}, {name}: {told}", bench.jdk.feature);
        }
    }
}

/// An agent in Java has the JDK compute the module graph before the VM can call cprof, in more contexts than there is room for at
/// first.
#[test]
fn there_is_room_before_the_vm_is_initialised() {
    for bench in run::benches() {
        let directory = build::fresh(&format!("early-{}", bench.jdk.feature));
        let source = directory.join("Idle.java");
        compile(&bench, &source, "public class Idle { public static void premain(String options) {} }");
        let jar = build::agent_jar_of(&bench.jdk, &directory, "Idle", &["Idle.class"]);
        for options in ["sites=on", "sites=on,cache=4k/16+lru:4k/16"] {
            let out = directory.join("plain.cprof");
            let mut java = bench.jdk.command("java");
            java.arg(build::agent_option(&format!("quiet,{options}"), &out));
            java.arg(format!("-javaagent:{}", jar.display())).args(["-cp", &bench.built.class_path, "Straight"]);
            build::must(&mut java);
            let told = build::must(Command::new(build::cprof()).arg("report").arg(&out));
            assert!(!told.contains("folded") && !told.contains("incomplete"), "JDK {}, {options}: {told}", bench.jdk.feature);
        }
    }
}

/// A class with a method that fits the class file and, woven, does not, and methods before and behind it; and a program that
/// loads it in five loaders.
const TOO_LARGE: [(&str, &str, &str); 2] = [
    (
        "loaded/TooLarge.java",
        "public class TooLarge implements Runnable {
            static int x;
            static void before() { x++; }
            static void tooLarge(int[] a) {",
        "}
            static int behind(int n) { int sum = 0; for (int i = 0; i < n; i++) sum += i % 2 == 0 ? i : last(i); return sum; }
            static int last(int n) { return n * 3; }
            public void run() { before(); tooLarge(new int[100]); behind(10); }
        }",
    ),
    (
        "Loads.java",
        "public class Loads {
            public static void main(String[] args) throws Exception {
                for (int i = 0; i < 5; i++) {
                    var loader = new java.net.URLClassLoader(new java.net.URL[] {new java.io.File(args[0]).toURI().toURL()}, null);
                    ((Runnable) loader.loadClass(\"TooLarge\").getDeclaredConstructor().newInstance()).run();
                }
            }
        }",
        "",
    ),
];

#[test]
fn a_class_with_a_method_that_is_too_large_is_counted_in_every_loader() {
    for bench in run::benches() {
        let directory = build::fresh(&format!("too-large-{}", bench.jdk.feature));
        let out = directory.join("it.cprof");
        for (name, begin, end) in TOO_LARGE {
            let source = directory.join(name);
            let body: String = (0..3600).map(|i| format!("if (a[{}] == {}) x++;\n", i % 100, i / 30)).collect();
            compile(&bench, &source, &if end.is_empty() { begin.to_owned() } else { format!("{begin}{body}{end}") });
        }
        let mut java = bench.java(&[]);
        java.arg(build::agent_option("quiet", &out));
        build::must(java.arg("-cp").arg(&directory).arg("Loads").arg(directory.join("loaded/")));
        let report = Report::read(&out);
        let counts = |method: &str| report.tree.of_method(&format!("TooLarge.{method}"));
        assert_eq!(["before()V", "behind(I)I", "last(I)I", "run()V"].map(|m| counts(m).calls), [5, 5, 25, 5]);
        // getstatic, iconst_1, iadd, putstatic, return; iload_0, iconst_3, imul, ireturn
        assert_eq!([counts("before()V").bytecodes, counts("last(I)I").bytecodes], [25, 100]);
        assert!(report.gaps.iter().any(|(what, _)| what.starts_with("TooLarge.tooLarge")), "{:?}", report.gaps);
        assert!(report.warnings.is_empty(), "{:?}", report.warnings);
    }
}

/// A thread that attaches by JNI has no name at its first call, by which it could find a tree.
#[test]
fn native_threads_that_attach_in_turn_have_one_tree() {
    for bench in run::benches() {
        let out = build::directory().join(format!("attaches-{}.cprof", bench.jdk.feature));
        let mut java = bench.java(&[]);
        java.arg(build::agent_option("quiet", &out));
        assert_eq!(build::must(java.args(["-cp", &bench.built.class_path, "Attaches", "400"])), "400\n");
        assert_eq!(Report::read(&out).tree.of_method("Attaches.called()V").calls, 400, "JDK {}", bench.jdk.feature);
        // Those of the JVM's own threads among them.
        let trees = cprof_profile::file::read(&out).or_fail(out.display()).threads.len();
        assert!(trees < 20, "JDK {}: {trees} trees", bench.jdk.feature);
    }
}
