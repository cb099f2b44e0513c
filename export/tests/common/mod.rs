//! Profiles whose every context is known, and what of them must be found in each format.

use cprof_export::{Source, names};
use cprof_profile::measure::Measures;
use cprof_profile::metrics::{Metric, Sheet, counted};
use cprof_profile::model::{Class, Level, Method, Native, Nodes, Profile, RunFacts, Thread, special};
use cprof_profile::natives::NativeCalls;
use cprof_profile::tree::{Symbols, Tree, What};
use cprof_synthetic::classes::{ClassWriter, op};
use std::collections::BTreeMap;

/// Own numbers by thread and stack, callers first.
pub type Stacks = BTreeMap<(String, Vec<String>), Vec<u64>>;

/// A profile in the making.
pub struct Made {
    profile: Profile,
    measures: Measures,
    natives: Vec<NativeCalls>,
}

impl Made {
    /// A profile with these methods: class, name, descriptor. Method m begins at line 10 (m + 1); the call at bytecode 1 is a
    /// line further down.
    pub fn new(methods: &[(&str, &str, &str)]) -> Made {
        let mut profile =
            Profile { run: RunFacts { main_class: "a\nb".into(), pid: 7, ..RunFacts::default() }, ..Profile::default() };
        for (m, (class, name, descriptor)) in methods.iter().enumerate() {
            let mut file = ClassWriter::new("X", "java/lang/Object");
            let line = 10 * (m as u16 + 1);
            file.method_with_lines("x", "()V", 9, &[op::ICONST_1, op::GOTO, 0, 3, op::RETURN], &[(0, line), (1, line + 1)]);
            let (name, descriptor) = (name.to_string(), descriptor.to_string());
            let (loader, hidden, source_file) = (String::new(), false, format!("S{m}.java"));
            profile.classes.push(Class { name: class.replace('.', "/"), loader, hidden, source_file, bytes: file.finish() });
            let (class, level) = (m as u32, Level::Precise);
            profile.methods.push(Method { class, index: 0, name, descriptor, access: 9, level, flow: Default::default() });
        }
        profile.natives.push(Native { class: "java/lang/Thread".into(), name: "yield".into(), descriptor: "()V".into() });
        Made { profile, measures: Measures::default(), natives: Vec::new() }
    }

    fn node(&mut self, method: u32, parent: u32, site: u32, numbers: [u64; 3]) -> u32 {
        let Nodes { method: methods, parent: parents, site: sites, .. } = &mut self.profile.nodes;
        methods.push(method);
        parents.push(parent);
        sites.push(site);
        self.measures.calls.push(numbers[0]);
        self.measures.exceptional_exits.push(numbers[1]);
        self.measures.own.push(numbers[2]);
        methods.len() as u32 - 1
    }

    /// Adds a thread; answers its root.
    pub fn thread(&mut self, name: &str) -> u32 {
        let first_node = self.profile.nodes.len() as u32;
        let (similar_names, other_names, virtual_threads, leases) = (false, false, false, 1);
        self.profile.threads.push(Thread { name: name.into(), similar_names, other_names, virtual_threads, leases, first_node });
        self.node(special::ROOT, first_node, 0, [0; 3])
    }

    /// Adds a context: method, its caller, bytecode index of the call if known; calls, exits, bytecodes.
    pub fn context(&mut self, method: u32, parent: u32, bci: Option<u32>, numbers: [u64; 3]) -> u32 {
        self.node(method, parent, bci.map_or(0, |bci| bci + 1), numbers)
    }

    /// Adds a marker of contexts folded together.
    pub fn folded(&mut self, parent: u32) -> u32 {
        self.node(special::FOLDED, parent, 0, [0; 3])
    }

    /// Adds calls of a native method from the context last made.
    pub fn native(&mut self, calls: u64) {
        self.natives.push(NativeCalls { node: self.profile.nodes.len() as u32 - 1, native: 0, site: 0, calls });
    }

    /// Calls `test` with the source, and what must be found in it.
    pub fn test(&self, test: impl FnOnce(&Source, &[Metric], &Stacks)) {
        self.sheet(|source, symbols, tree, metrics| test(source, metrics, &stacks(symbols, tree, metrics)));
    }

    #[allow(dead_code, reason = "one of the tests that share this has no deep trees")]
    /// Calls `test` with the source alone: all stacks of deep trees would take too much room.
    pub fn deep(&self, test: impl FnOnce(&Source, &[Metric])) {
        self.sheet(|source, _, _, metrics| test(source, metrics));
    }

    fn sheet(&self, test: impl FnOnce(&Source, &Symbols, &Tree, &[Metric])) {
        let symbols = Symbols::new(&self.profile);
        let tree = Tree::by_thread(&self.profile, &symbols, &self.measures, &self.natives, |_| true);
        let mut metrics = counted(&tree);
        // One with a name for which formats need quotes, and with numbers that 32 bits do not hold.
        let own = metrics[2].own.iter().map(|n| n << 35).collect();
        metrics.push(Metric { name: "cycles[a \"b\",4k/16]".into(), unit: "cycles".into(), own });
        let sheet = Sheet { profile: &self.profile, symbols: &symbols, tree: &tree, metrics: &metrics };
        test(&Source::new(sheet, &|_| {}).unwrap(), &symbols, &tree, &metrics);
    }
}

fn stacks(symbols: &Symbols, tree: &Tree, metrics: &[Metric]) -> Stacks {
    let mut stacks = Stacks::new();
    let mut at: Vec<(String, Vec<String>)> = vec![Default::default()];
    for (i, context) in tree.contexts().enumerate().skip(1) {
        let (mut thread, mut stack) = at[context.parent as usize].clone();
        match context.what {
            What::Method(symbol) => stack.push(names::method(&symbols.list[symbol as usize])),
            What::Folded => stack.push(names::FOLDED.to_owned()),
            What::Root => thread = tree.threads.iter().find(|t| t.0 == i as u32).unwrap().1.clone(),
        }
        at.push((thread.clone(), stack.clone()));
        add(&mut stacks, thread, stack, metrics.iter().map(|m| m.own.get(i)).collect());
    }
    stacks
}

/// Adds a stack's numbers, unless all are 0.
pub fn add(stacks: &mut Stacks, thread: String, stack: Vec<String>, numbers: Vec<u64>) {
    if numbers.iter().any(|&n| n > 0) {
        let sums = stacks.entry((thread, stack)).or_insert_with(|| vec![0; numbers.len()]);
        sums.iter_mut().zip(numbers).for_each(|(sum, n)| *sum += n);
    }
}

/// Two threads; recursion, natives, folded contexts, a call from two sites; names that formats trip over.
pub fn hostile() -> Made {
    let long = "n".repeat(65_535);
    let mut made = Made::new(&[
        ("com.acme.Main", "main", "([Ljava/lang/String;)V"),
        ("com.acme.Main", "main", "()V"),
        ("A", "<init>", "(LA$B;J)V"),
        ("Ünï.Código", "größe 😀", "()[[I"),
        ("scala.A$", "$plus$colon", "(I)Lscala/A$;"),
        ("Kt", "is it; \"quoted\", (yes)? 12", "()V"),
        ("Kt", "line\nbreak\r\u{2028}\0\t\\", "()V"),
        ("Kt", long.as_str(), "()V"),
        ("", "", "no descriptor;"),
        ("Kt", "ends", "()L12;"),
        ("Kt", "\\u000a", "()V"),
        ("Kt", "\n", "()V"),
        ("#Kt=(3)", " +7", "()V"),
    ]);
    for thread in ["main", "worker \"1\"; [2]\n"] {
        let root = made.thread(thread);
        let mut caller = made.context(0, root, None, [1, 0, 5]);
        for method in 0..13 {
            let from = made.context(method, caller, Some(1), [2, 1, 10 + u64::from(method)]);
            made.native(3);
            made.context(method, caller, Some(0), [1, 0, 7]);
            // From a method whose own part is nothing, and again: it is active already.
            let empty = made.context((method + 1) % 13, from, Some(4), [0, 0, 0]);
            made.context(method, empty, None, [4, 0, 1 << 20]);
            if method % 4 == 0 {
                caller = from;
            }
        }
        let folded = made.folded(root);
        made.context(5, folded, None, [9, 2, 100]);
    }
    made
}
