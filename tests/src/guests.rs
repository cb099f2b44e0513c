//! A program with cprof and other agents in it, which come and leave in any order.

use crate::attach::Running;
use crate::build;
use crate::run::{self, Bench, Report};
use crate::tree::Tree;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is counted.
const ROOT: &str = "root=Serve.request";
/// What is asked of the program for [`Step::Measure`]: requests that are not compared, as call sites are linked in them, and
/// those that are.
const WARM: &str = "serve 5";
const COMPARED: &str = "serve 25";

/// One thing after the other.
#[derive(Debug, Clone)]
pub enum Step {
    /// Something is asked of the program (`tests/programs/agents/Beside.java`), and its answer kept.
    Ask(String),
    /// cprof comes.
    Attach,
    /// cprof leaves.
    Detach,
    /// 25 requests, whose answer is kept, and what they cost, if cprof is there.
    Measure,
    /// A Java agent comes, or is called again, with this argument.
    Agent(PathBuf, &'static str),
    /// A command of the JVM's own.
    Jcmd(Vec<String>),
}

/// A question.
pub fn ask(question: &str) -> Step {
    Step::Ask(question.to_owned())
}

/// What came of a run.
#[derive(Debug, Default)]
pub struct Outcome {
    /// What the program answered.
    pub answers: Vec<String>,
    /// A tree for each [`Step::Measure`] at which cprof was there.
    pub trees: Vec<Tree>,
}

/// A JDK, and a directory for files.
pub struct Guests {
    /// The JDK.
    pub bench: Bench,
    /// The directory.
    pub directory: PathBuf,
}

impl Guests {
    /// For every JDK. `name`: of the test.
    pub fn all(name: &str) -> Vec<Guests> {
        let guests = |bench: Bench| Guests { directory: build::fresh(&format!("{name}-{}", bench.jdk.feature)), bench };
        run::benches_with(&build::AGENTS).into_iter().map(guests).collect()
    }

    /// The JVM's option for cprof.
    pub fn cprof(&self) -> String {
        build::agent_option(&format!("{ROOT},quiet"), &self.file("end.cprof"))
    }

    /// A file of that name.
    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// The JVM's option for Byte Buddy's agent, and its jar: the agent's classes are on the class path.
    pub fn byte_buddy(&self) -> (String, PathBuf) {
        let jar = build::agent_jar(&self.bench.jdk, "Advised");
        (format!("-javaagent:{}", jar.display()), jar)
    }

    fn java(&self, options: &[&str]) -> Command {
        let mut java = self.bench.java(&[]);
        // JFR says on standard output that it has started; and on JDK 25, when any agent retransforms its event classes, that it
        // cannot change some of them again (docs/exactness.md).
        java.args(["-Xlog:jfr+startup=error", "-Xlog:jfr+system=error"]).args(options);
        java.args(["-cp", &self.bench.built.class_path, "Beside"]);
        java
    }

    /// What the oracle counts for the 25 requests, with other agents in the JVM before it.
    pub fn oracle(&self, options: &[&str]) -> Tree {
        let out = |directory: &Path| directory.join("oracle.csv");
        let count = |directory: &Path| {
            let oracle = build::library_option(&self.bench.built.oracle, ROOT, &out(directory));
            let mut running = Running::start(self.java(&[options, &[&oracle]].concat()), &self.directory);
            running.ask(COMPARED);
            assert_eq!(running.end(), (String::new(), String::new()));
        };
        let mut key = DefaultHasher::new();
        (self.bench.built.key, format!("{:?}", self.java(options)), ROOT, COMPARED).hash(&mut key);
        run::read_oracle(&out(&build::cached(&format!("beside-{}", self.bench.jdk.feature), key.finish(), count)))
    }

    /// Starts the program with options for the JVM, does the steps, and ends it.
    pub fn run(&self, options: &[&str], steps: &[Step]) -> Outcome {
        let mut running = Running::start(self.java(options), &self.directory);
        let mut counting = options.contains(&self.cprof().as_str());
        let mut outcome = Outcome::default();
        for step in steps {
            match step {
                Step::Ask(question) => outcome.answers.push(running.ask(question)),
                Step::Attach | Step::Detach => {
                    counting = matches!(step, Step::Attach);
                    let out = format!("{ROOT},out={}", self.file("end.cprof").display());
                    self.tell(&mut running, if counting { &out } else { "command=detach" });
                }
                Step::Measure => self.measure(&mut running, counting, &mut outcome),
                Step::Agent(jar, argument) => running.java_agent(jar, argument),
                Step::Jcmd(words) => {
                    build::must(self.bench.jdk.command("jcmd").arg(running.pid().to_string()).args(words));
                }
            }
        }
        assert_eq!(running.end(), (String::new(), String::new()), "JDK {}: {options:?} {steps:?}", self.bench.jdk.feature);
        outcome
    }

    fn tell(&self, running: &mut Running, command: &str) {
        let answer = running.done(command);
        // JFR keeps two of its event classes (docs/exactness.md).
        let kept = answer.get("not_restored").filter(|kept| !kept.starts_with("jdk/jfr/events/D"));
        assert_eq!(kept, None, "{answer:?}");
    }

    fn snapshot(&self, running: &mut Running) -> Tree {
        let file: &Path = &self.file("snapshot.cprof");
        self.tell(running, &format!("command=snapshot,out={}", file.display()));
        Report::read(file).tree
    }

    fn measure(&self, running: &mut Running, counting: bool, outcome: &mut Outcome) {
        running.ask(WARM);
        let before = counting.then(|| self.snapshot(running));
        outcome.answers.push(running.ask(COMPARED));
        if let Some(before) = before {
            outcome.trees.push(self.snapshot(running).since(&before));
        }
    }

    /// Fails unless the trees are as expected.
    pub fn assert_trees(&self, what: &str, trees: &[Tree], expected: &[&Tree]) {
        assert_eq!(trees.len(), expected.len(), "{what}");
        for (i, (tree, expected)) in trees.iter().zip(expected).enumerate() {
            let difference = tree.difference("cprof", expected, "oracle");
            assert_eq!(difference, None, "JDK {}, {what}, measured {i}", self.bench.jdk.feature);
        }
    }
}
