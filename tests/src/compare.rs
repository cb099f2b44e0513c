//! The comparison: for each program, on each JDK, in each mode, the oracle's tree and cprof's must be equal.

use crate::program::Program;
use crate::run::{self, Bench, MODES, Mode, Report};
use crate::tree::{Bound, Tree};
use std::collections::HashSet;
use std::path::Path;
use std::sync::Mutex;

/// Reasons for which methods may be left out by cprof, and which: how their names (or their class's) begin, or end after a `*`. The
/// oracle's tree is compared without them. Any other gap is a failure.
const ALLOWED_GAPS: &[(&str, &[&str])] = &[
    ("an empty finalize()", &["*.finalize()V"]),
    (
        "the interpreter of this JVM runs code of its own",
        &[
            "java.lang.Math.abs(D)D",
            "java.lang.Math.cbrt(D)D",
            "java.lang.Math.cos(D)D",
            "java.lang.Math.exp(D)D",
            "java.lang.Math.fma(",
            "java.lang.Math.log(D)D",
            "java.lang.Math.log10(D)D",
            "java.lang.Math.pow(DD)D",
            "java.lang.Math.sin(D)D",
            "java.lang.Math.sqrt(D)D",
            "java.lang.Math.tan(D)D",
            "java.lang.Math.tanh(D)D",
            "java.lang.StrictMath.sqrt(D)D",
            "java.lang.Float.float16ToFloat(S)F",
            "java.lang.Float.floatToFloat16(F)S",
            "java.lang.ref.Reference.get()Ljava/lang/Object;",
            "java.util.zip.CRC32C.update",
        ],
    ),
    ("changes the current thread", &["java.lang.VirtualThread.", "jdk.internal.vm.Continuation."]),
    (FLIGHT_RECORDER, &["jdk.internal.event.", "jdk.jfr.Event", "jdk.jfr.events."]),
];

/// The reason for a class of which not all methods are seen by any agent, the oracle's breakpoints excepted.
const FLIGHT_RECORDER: &str = "added by the JVM's flight recorder";
const ADDED: &[&str] = &["begin", "end", "commit", "isEnabled", "shouldCommit"];

/// JVMs at a time.
const WORKERS: usize = 2;
/// Programs in one JVM. More save starting JVMs, but a JVM takes longer to set a breakpoint, and to find one, the more there are:
/// of fourteen programs, six at a time took 110 s of CPU, three 92, two 84, each alone 95.
const TOGETHER: usize = 2;

/// Methods (by prefix) that differ between two runs of one program, or because of what the agent registered in the JDK before the
/// program began. Neither their bytecodes nor what they call is compared; their calls are.
const UNCERTAIN: &[&str] = &[
    // Which way sets and maps probe and iterate is drawn at start-up (ImmutableCollections.SALT32L), and tables of modules are
    // filled in such an order.
    "java.util.ImmutableCollections$",
    "jdk.internal.loader.BuiltinClassLoader.findLoadedModule(",
    "java.lang.Module.isStaticallyExportedOrOpen(",
    "java.lang.Module.isExplicitlyExportedOrOpened(",
    // The table of method types holds them weakly, so that the garbage collector has a say.
    "java.lang.invoke.MethodType$ConcurrentWeakInternSet.",
    "jdk.internal.util.ReferencedKeyMap.", // from JDK 21 on
    // A class loader's table of locks has the names of classes that the agent caused to be loaded.
    "java.lang.ClassLoader.getClassLoadingLock(",
    // The tables of members hidden from reflection have the agent's.
    "jdk.internal.reflect.Reflection.filterFields(",
    "jdk.internal.reflect.Reflection.filterMethods(",
    "jdk.internal.reflect.Reflection.registerFilter(",
];

/// What the JVM calls because an agent has changed a class (JDK 25, once per module): documented in docs/exactness.md.
const BECAUSE_OF_AGENTS: &str = "jdk.internal.module.Modules.transformedByAgent(";

/// The outcome of all comparisons.
#[derive(Debug, Default)]
pub struct Outcome {
    /// One per program, JDK and mode that differed.
    pub failures: Vec<String>,
    /// Contexts compared.
    pub contexts: usize,
    /// Comparisons.
    pub cases: usize,
}

impl Outcome {
    fn case(&mut self, name: &str, path: &Path, problems: Vec<String>, contexts: usize) {
        self.cases += 1;
        self.contexts += contexts;
        if problems.is_empty() {
            println!("ok    {name}: {contexts} contexts");
        } else {
            println!("DIFFERS {name}, {}\n  {}", path.display(), problems.join("\n  "));
            self.failures.push(name.to_owned());
        }
    }

    /// Both.
    pub fn and(mut self, other: Outcome) -> Outcome {
        self.failures.extend(other.failures);
        self.contexts += other.contexts;
        self.cases += other.cases;
        self
    }

    /// Ends the test.
    pub fn assert(self) {
        println!("{} comparisons, {} contexts", self.cases, self.contexts);
        assert!(self.cases > 0, "nothing was compared");
        assert!(
            self.failures.is_empty(),
            "{} of {} comparisons failed: {}",
            self.failures.len(),
            self.cases,
            self.failures.join(", ")
        );
    }
}

/// Modes between programs and JDKs take turns: what they show beyond the others is of a program or of a JDK.
const IN_TURN: [&str; 2] = ["C1", "waiting for compilers"];

/// Compares programs on every JDK, in all modes (of [`IN_TURN`] in one) or in those of `CPROF_TEST_MODES=interpreter,default`.
pub fn everywhere(benches: &[Bench], programs: impl Fn(&Bench) -> Vec<Program> + Sync) -> Outcome {
    let chosen = std::env::var("CPROF_TEST_MODES").ok();
    let is_chosen = |mode: &&Mode| chosen.as_ref().is_none_or(|chosen| chosen.split(',').any(|name| name == mode.name));
    let turn = |nth: usize| IN_TURN[nth % IN_TURN.len()];
    let is_due = |mode: &&Mode, nth| chosen.is_some() || !IN_TURN.contains(&mode.name) || mode.name == turn(nth);
    let due = |nth| MODES.iter().filter(is_chosen).filter(|mode| is_due(mode, nth)).collect();
    by_turns(benches, due, programs)
}

/// Compares programs on every JDK, in these modes.
pub fn in_modes(benches: &[Bench], modes: &[&Mode], programs: impl Fn(&Bench) -> Vec<Program> + Sync) -> Outcome {
    by_turns(benches, |_| modes.to_vec(), programs)
}

/// `modes`: those of the nth comparison; the next JDK is one turn further with the same programs.
fn by_turns<'m>(
    benches: &[Bench],
    modes: impl Fn(usize) -> Vec<&'m Mode> + Sync,
    programs: impl Fn(&Bench) -> Vec<Program> + Sync,
) -> Outcome {
    let of_jdk = |(jdk, bench)| groups(programs(bench)).into_iter().enumerate().map(move |(i, group)| (bench, group, jdk + i));
    // Whoever is done takes the next: one JDK's take longer than another's.
    let left = Mutex::new(benches.iter().enumerate().flat_map(of_jdk));
    let work = || {
        let next = || left.lock().expect("nobody fails while taking the next").next();
        let compared = |all: Outcome, (bench, group, turn): (_, Vec<Program>, _)| all.and(compare(bench, &group, &modes(turn)));
        std::iter::from_fn(next).fold(Outcome::default(), compared)
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(work)).collect();
        let outcomes = workers.into_iter().map(|worker| worker.join().expect("the comparison itself failed, see above"));
        outcomes.fold(Outcome::default(), Outcome::and)
    })
}

/// Programs that share a JVM.
fn groups(programs: Vec<Program>) -> Vec<Vec<Program>> {
    let (alone, together): (Vec<Program>, Vec<Program>) = programs.into_iter().partition(|p| p.alone);
    // First what takes longest.
    alone.into_iter().map(|p| vec![p]).chain(together.chunks(TOGETHER).map(<[_]>::to_vec)).collect()
}

/// Says what was being compared when a panic ended it.
struct Comparing(String);

impl Drop for Comparing {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("FAILED {}, see above", self.0);
        }
    }
}

/// Compares the programs of a group on one JDK, in some modes.
fn compare(bench: &Bench, group: &[Program], modes: &[&Mode]) -> Outcome {
    let mut outcome = Outcome::default();
    let group: Vec<&Program> = group.iter().collect();
    let comparable = group.iter().any(|p| !p.self_checking);
    let plain = bench.plain(&group, &[]);
    let jdk = bench.jdk.feature;
    assert_eq!(plain.code, run::exit(&group), "{} and others without cprof on {jdk}: {}", group[0].name, plain.stderr);
    let truth = comparable.then(|| bench.oracle(&group, &["-Xint"], ""));
    for mode in modes {
        // Of the mode: another test may be running the same program in others.
        let out = bench.built.results.join(format!("{}-{jdk}-{}.cprof", group[0].name, mode.name));
        let _ = std::fs::remove_file(&out); // it need not exist
        let names: Vec<&str> = group.iter().map(|program| program.name.as_str()).collect();
        let _comparing = Comparing(format!("{} on {jdk} ({})", names.join(", "), mode.name));
        let (report, ending) = bench.cprof(&group, mode.flags, mode.options, &out);
        for program in &group {
            let name = format!("{} on {jdk} ({})", program.name, mode.name);
            let mut problems = gaps(&report);
            if ending.stdout != plain.stdout || ending.code != program.exit {
                // Of several programs, whose it is cannot be told.
                let said = if group.len() == 1 { format!(": {}", ending.stderr) } else { String::new() };
                problems.push(format!("printed {:?} and ended with {}{said}", ending.stdout, ending.code));
            }
            let mut contexts = 0;
            if let Some(truth) = &truth {
                let whole = covered(truth, program, &report);
                // Folded, what may differ is not below the methods any more that it is the matter of: only methods are compared that
                // are called elsewhere alone. Which keys a set compares is a matter of its salt, so whether `equals` is called at all.
                let firm = (mode.bound != Bound::None).then(|| {
                    let mut names = whole.called(|m| is_uncertain(program, m));
                    names.retain(|name| !name.contains(".equals("));
                    names
                });
                let shown = |tree: &Tree| {
                    let tight = firm.as_ref().map(|firm| tree.without(|m| !firm.contains(m)));
                    tight.as_ref().unwrap_or(tree).cut(|m| is_uncertain(program, m))
                };
                let truth = shown(&whole.bounded(mode.bound));
                let counted = shown(&covered(&report.tree, program, &report));
                contexts = truth.len();
                problems.extend(truth.difference("oracle", &counted, "cprof"));
                for e in &program.expectations {
                    let sum = e.methods.iter().map(|m| truth.of_method(m)).sum();
                    problems.extend(e.contradicts(sum).map(|text| format!("the oracle: {text}")));
                }
            }
            let counted = report.tree.below(&program.roots, |_| false);
            for e in program.expectations.iter().chain(&ending.expectations()) {
                problems.extend(e.contradicts(e.methods.iter().map(|m| counted.of_method(m)).sum()));
            }
            outcome.case(&name, &program.path, problems, contexts);
        }
    }
    outcome
}

/// A tree without what may differ between two runs of one program.
pub fn certain(tree: &Tree) -> Tree {
    tree.cut(|method| UNCERTAIN.iter().any(|prefix| method.starts_with(prefix)))
}

/// Whether what a method does may differ between two runs of a program.
fn is_uncertain(program: &Program, method: &str) -> bool {
    let timing = program.timing.iter().map(String::as_str);
    UNCERTAIN.iter().copied().chain(timing).any(|prefix| method.starts_with(prefix))
}

/// The part of a tree that is a program's, and that all agents see.
fn covered(tree: &Tree, program: &Program, report: &Report) -> Tree {
    let added = |class: &str, method: &str| {
        let name = method.strip_prefix(class).and_then(|rest| rest.strip_prefix('.')).and_then(|rest| rest.split('(').next());
        name.is_some_and(|name| ADDED.contains(&name))
    };
    let gaps: HashSet<&str> = report.gaps.iter().map(|(name, _)| name.as_str()).collect();
    let recorded: Vec<&str> =
        report.gaps.iter().filter(|(_, reason)| reason.contains(FLIGHT_RECORDER)).map(|(name, _)| name.as_str()).collect();
    let left_out = |method: &str| gaps.contains(method) || recorded.iter().any(|class| added(class, method));
    tree.below(&program.roots, left_out).without(|method| method.starts_with(BECAUSE_OF_AGENTS))
}

fn gaps(report: &Report) -> Vec<String> {
    let is_of = |name: &str, place: &&str| place.strip_prefix('*').map_or(name.starts_with(place), |end| name.ends_with(end));
    let is_allowed = |(name, why): &&(String, String)| {
        ALLOWED_GAPS.iter().any(|(reason, places)| why.contains(reason) && places.iter().any(|place| is_of(name, place)))
    };
    let unknown = report.gaps.iter().filter(|gap| !is_allowed(gap));
    let gaps = unknown.map(|(name, reason)| format!("{name} is not covered: {reason}"));
    gaps.chain(report.warnings.iter().map(|w| format!("warning: {w}"))).collect()
}
