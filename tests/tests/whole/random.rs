//! Classes full of what javac does not write: every context of each is counted as the oracle counts it, from the start and in a
//! JVM that cprof comes to, and cprof changes neither what they print nor what the verifier says.

use cprof_tests::attach::Running;
use cprof_tests::compare::{self, Outcome};
use cprof_tests::jdk::Jdk;
use cprof_tests::program::Program;
use cprof_tests::run::{self, Bench, Mode, Report};
use cprof_tests::tree::{Bound, Tree};
use cprof_tests::{OrFail, build, random};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// Has the compilers compile what has been called some times.
const SOON: &[&str] = &[
    "-Xbatch",
    "-XX:Tier3InvocationThreshold=4",
    "-XX:Tier3MinInvocationThreshold=2",
    "-XX:Tier3CompileThreshold=6",
    "-XX:Tier3BackEdgeThreshold=20",
    "-XX:Tier4InvocationThreshold=8",
    "-XX:Tier4MinInvocationThreshold=4",
    "-XX:Tier4CompileThreshold=10",
    "-XX:Tier4BackEdgeThreshold=40",
];

const MODES: &[&Mode] = &[
    &Mode { name: "interpreter", flags: &["-Xint"], options: "", bound: Bound::None },
    &Mode { name: "soon compiled", flags: SOON, options: "", bound: Bound::None },
    &Mode { name: "call sites and a cache", flags: &[], options: ",sites=on,cache=2k/8", bound: Bound::None },
];

/// Seeds that share a JVM.
const TOGETHER: usize = 8;

/// The seeds: always the same, or those that `CPROF_SEEDS=100..200` says, 200 not included.
fn seeds() -> Vec<u64> {
    let range = std::env::var("CPROF_SEEDS").unwrap_or("12..20".into());
    let (from, to) = range.split_once("..").unwrap_or_else(|| panic!("CPROF_SEEDS={range} is not FROM..TO"));
    let [from, to] = [from, to].map(|seed| seed.parse().or_fail(format_args!("CPROF_SEEDS={range}")));
    (from..to).collect()
}

#[test]
fn random_classes_are_counted_as_the_oracle_counts_them() {
    let benches = run::benches();
    let compared = seeds().chunks(TOGETHER).map(|seeds| compare(&benches, seeds)).fold(Outcome::default(), Outcome::and);
    compared.assert();
}

/// A JDK with the random classes of a directory.
fn with_classes(bench: &Bench, oldest: &Jdk, directory: &Path) -> Bench {
    Bench { built: random::built(&bench.built, oldest, directory), ..bench.clone() }
}

fn all_with_classes(benches: &[Bench], directory: &Path) -> Vec<Bench> {
    benches.iter().map(|bench| with_classes(bench, &benches[0].jdk, directory)).collect()
}

/// Compares the classes of some seeds. Where anything differs they are kept, those of each seed by itself if it differs then,
/// too: where a JVM ends, the seeds behind are not run.
fn compare(benches: &[Bench], seeds: &[u64]) -> Outcome {
    let directory = build::fresh(&format!("random-{}-{}", seeds[0], seeds.len()));
    println!("seeds {seeds:?}, classes in {}", directory.display());
    let programs: Vec<Program> = seeds.iter().map(|&seed| random::write(seed, true, &directory)).collect();
    let ours = all_with_classes(benches, &directory);
    // A JVM that crashes, or refuses the classes, leaves nothing to compare; other seeds are compared all the same.
    let compared = catch_unwind(AssertUnwindSafe(|| compare::in_modes(&ours, MODES, |_| programs.clone())));
    let outcome = compared.unwrap_or_else(|_| Outcome { failures: vec![format!("seeds {seeds:?}")], contexts: 0, cases: 1 });
    if !outcome.failures.is_empty() {
        println!("each seed by itself:");
        let alone =
            || seeds.iter().map(|seed| compare(benches, std::slice::from_ref(seed))).fold(Outcome::default(), Outcome::and);
        let alone = (seeds.len() > 1).then(alone).filter(|alone| !alone.failures.is_empty());
        return alone.unwrap_or(outcome);
    }
    std::fs::remove_dir_all(&directory).or_fail(directory.display());
    outcome
}

/// In these, random classes are halted: with frames active wherever their code calls something.
const HALTED_MODES: &[&Mode] = &[
    &Mode { name: "soon compiled", flags: SOON, options: "", bound: Bound::None },
    &Mode { name: "call sites and a cache", flags: &[], options: ",sites=on,cache=2k/8", bound: Bound::None },
    &Mode { name: "depth=2", flags: SOON, options: ",depth=2", bound: Bound::Depth(2) },
    &Mode { name: "recursion=fold", flags: &["-Xint"], options: ",recursion=fold", bound: Bound::Recursion },
];

/// At which call of `RandomRun.odd`: by the thread itself if the number is odd, by another one, which it waits for, if it is
/// even.
const HALTS: [u32; 2] = [24, 71];

/// How the JVM ends then.
const HALTED: i32 = 5;

#[test]
fn active_frames_of_random_classes_count_for_what_they_have_executed() {
    let (benches, seeds) = (run::benches(), seeds());
    let halted = |(i, halt): (usize, &u32)| {
        let seed = seeds[i % seeds.len()];
        let directory = build::fresh(&format!("random-{seed}-halted-{halt}"));
        let mut program = random::write(seed, true, &directory);
        std::fs::write(directory.join("halt"), halt.to_string()).or_fail(directory.display());
        let ours = all_with_classes(&benches, &directory);
        // Where fewer calls are made it ends as usual.
        program.exit = ours[0].plain(&[&program], &[]).code;
        assert!([0, HALTED].contains(&program.exit), "seed {seed}: {}", program.exit);
        let outcome = compare::in_modes(&ours, HALTED_MODES, |_| vec![program.clone()]);
        if outcome.failures.is_empty() {
            std::fs::remove_dir_all(&directory).or_fail(directory.display());
        }
        (outcome, program.exit)
    };
    let (outcomes, exits): (Vec<Outcome>, Vec<i32>) = HALTS.iter().enumerate().map(halted).unzip();
    assert!(exits.contains(&HALTED), "none was halted: {seeds:?} make too few calls");
    outcomes.into_iter().fold(Outcome::default(), Outcome::and).assert();
}

/// Which of each seed's methods are roots (`measured` without any) and which classes are left out, by the ends of their names;
/// further options, and what they make of the tree. Where a class is left out, so are those with constructors that call its own:
/// what catches their exceptions must be woven.
const PARTS: &[(&[&str], &[&str], &str, Bound)] = &[
    (&[], &["A", "B"], "", Bound::None),
    (&[], &["A", "B", "F"], ",recursion=fold", Bound::Recursion),
    (&[], &["A", "B"], ",depth=2", Bound::Depth(2)),
    (&["A.m5", "A.<init>", "B.m1", "I.m12"], &[], ",sites=on", Bound::None),
    (&["A.m4", "A.m8", "B.m0", "I.m13"], &[], ",recursion=fold", Bound::Recursion),
    (&["A.m7", "A.m9", "A.<clinit>", "B.m2"], &["F"], ",depth=1", Bound::Depth(1)),
    (&["I.m12", "I.m13"], &["A", "B", ""], ",sites=on,depth=3", Bound::Depth(3)),
];

#[test]
fn parts_of_random_classes_are_counted_as_parts_of_the_oracles_tree() {
    let oldest = run::benches()[0].jdk.clone();
    let directory = build::fresh("random-parts");
    // Half of what shares a JVM otherwise: it runs often.
    let programs: Vec<Program> = seeds().iter().take(TOGETHER / 2).map(|&seed| random::write(seed, false, &directory)).collect();
    run::on_every_jdk(|bench| {
        let bench = with_classes(bench, &oldest, &directory);
        let all: Vec<&Program> = programs.iter().collect();
        let truth = bench.oracle(&all, &["-Xint"], "");
        if bench.jdk.feature == oldest.feature {
            let each = bench.oracle(&all, &["-Xint"], ",each");
            assert_eq!(truth.difference("the oracle", &each, "with each instruction by itself"), None);
        }
        let mut contexts = 0;
        for (i, (methods, classes, options, bound)) in PARTS.iter().enumerate() {
            let roots = |program: &Program| match methods {
                [] => program.roots.clone(),
                methods => methods.iter().map(|method| format!("{}{method}", program.name)).collect(),
            };
            let parts: Vec<Program> = programs.iter().map(|p| Program { roots: roots(p), ..p.clone() }).collect();
            let left_out: Vec<String> =
                programs.iter().flat_map(|p| classes.iter().map(|class| format!("{}{class}", p.name))).collect();
            let options = left_out.iter().fold((*options).to_owned(), |options, class| format!("{options},exclude={class}"));
            let out = directory.join(format!("part-{i}-{}.cprof", bench.jdk.feature));
            let flags = if i % 2 == 0 { SOON } else { &["-Xint"] };
            let (report, _) = bench.cprof(&parts.iter().collect::<Vec<_>>(), flags, &options, &out);
            let all: Vec<String> = parts.iter().flat_map(|p| p.roots.clone()).collect();
            let is_left_out = |method: &str| {
                left_out.iter().any(|class| method.strip_prefix(class.as_str()).is_some_and(|rest| rest.starts_with('.')))
            };
            let expected = truth.below(&all, is_left_out).bounded(*bound);
            contexts += expected.len();
            let difference = expected.difference("oracle", &report.tree, "cprof");
            assert_eq!(difference, None, "{all:?} {options} on {}", bench.jdk.feature);
        }
        assert!(contexts > 500, "{contexts} contexts say little");
    });
    std::fs::remove_dir_all(&directory).or_fail(directory.display());
}

/// A JVM that runs classes when it is asked to.
struct Turns<'t> {
    running: Running,
    names: &'t [String],
}

impl<'t> Turns<'t> {
    /// Starts it, with cprof in it if there are `options`.
    fn start(bench: &Bench, options: Option<&str>, names: &'t [String], directory: &Path) -> Turns<'t> {
        // The agent sees to it itself, once it is there.
        let mut java = bench.java(&[SOON, &["-XX:-OmitStackTraceInFastThrow"]].concat());
        if let Some(options) = options {
            java.arg(build::agent_with(&format!("quiet,{options}")));
        }
        java.args(["-cp", &bench.built.class_path, "RandomRun"]);
        Turns { running: Running::start(java, directory), names }
    }

    /// Before cprof comes half of the classes have run; of the others some are verified, as their subclasses were, and none is
    /// initialised.
    fn before(&mut self) -> Vec<String> {
        let half = &self.names[..self.names.len() / 2];
        half.iter().map(|name| self.running.ask(name)).collect()
    }

    /// All classes, called by `again`.
    fn again(&mut self) -> Vec<String> {
        self.names.iter().map(|name| self.running.ask(&format!("{name} again"))).collect()
    }

    fn end(self) {
        assert_eq!(self.running.end(), (String::new(), String::new()));
    }
}

/// Comes to a JVM, leaves it, comes again with other options, and leaves. The second time is compared with nothing, as no launch
/// has such a past, but it counts the same calls. What HotSpot links again after attaching is not among the classes' code.
#[test]
fn random_classes_are_counted_in_a_jvm_that_runs_as_in_one_that_was_started_with_cprof() {
    let seeds = seeds();
    let directory = build::fresh("random-attached");
    seeds.iter().for_each(|&seed| drop(random::write(seed, false, &directory)));
    let names: Vec<String> = seeds.iter().map(|seed| format!("Random{seed}")).collect();
    let roots: String = names.iter().map(|name| format!("root={name}.again,")).collect();
    let out = |name: &str, bench: &Bench| -> (PathBuf, String) {
        let out = directory.join(format!("{name}-{}.cprof", bench.jdk.feature));
        let option = format!("{roots}out={}", out.display());
        (out, option)
    };
    let oldest = run::benches()[0].jdk.clone();
    run::on_every_jdk(|bench| {
        let bench = &with_classes(bench, &oldest, &directory);
        let replies = build::fresh(&format!("random-attached-{}", bench.jdk.feature));
        let mut plain = Turns::start(bench, None, &names, &replies);
        let printed = [plain.before(), plain.again(), plain.again(), plain.again()];
        plain.end();

        let (file, options) = out("launched", bench);
        let mut launched = Turns::start(bench, Some(&options), &names, &replies);
        assert_eq!(launched.before(), printed[0]);
        assert_eq!(launched.again(), printed[1]);
        launched.end();
        let launched = Report::read(&file).tree;

        let mut attached = Turns::start(bench, None, &names, &replies);
        assert_eq!(attached.before(), printed[0]);
        let (file, options) = out("attached", bench);
        attached.running.done(&options);
        assert_eq!(attached.again(), printed[1]);
        attached.running.done("command=detach");
        let first: Tree = Report::read(&file).tree;
        assert_eq!(first.difference("attached", &launched, "launched"), None, "JDK {}", bench.jdk.feature);
        assert_eq!(attached.again(), printed[2]);
        let (file, options) = out("attached-again", bench);
        attached.running.done(&format!("{options},sites=on,cache=2k/8"));
        assert_eq!(attached.again(), printed[3]);
        attached.running.done("command=detach");
        attached.end();
        let counted = |tree: &Tree| names.iter().map(|name| tree.of_method(&format!("{name}.again()I")).calls).sum::<u64>();
        let second = Report::read(&file).tree;
        assert_eq!([&launched, &first, &second].map(counted), [names.len() as u64; 3], "JDK {}", bench.jdk.feature);
        std::fs::remove_dir_all(&replies).or_fail(replies.display());
    });
    std::fs::remove_dir_all(&directory).or_fail(directory.display());
}
