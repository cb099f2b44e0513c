//! Synthetic recordings: class files, arenas and logs made by hand, so that tests know every count.

pub mod arena;
pub mod classes;

use arena::Arena;
use cprof_instrument::Level;
use cprof_instrument::classfile::ClassFile;
use cprof_profile::model::{Counters, Profile, RunFacts};
use cprof_profile::recording::log::{ClassEntry, Entry, encode};
use cprof_profile::recording::{Log, Stack, assemble, capture};

/// A recording in the making: classes with their method ids, and an arena.
pub struct Recording {
    /// The trees.
    pub arena: Arena,
    /// The class log, as the agent writes it.
    pub log: Vec<u8>,
    /// The class files logged.
    pub classes: Vec<Vec<u8>>,
    next_id: u32,
}

impl Default for Recording {
    fn default() -> Recording {
        Recording::new()
    }
}

impl Recording {
    /// Without classes and trees.
    pub fn new() -> Recording {
        Recording { arena: Arena::new(), log: Vec::new(), classes: Vec::new(), next_id: 16 }
    }

    /// Logs a class as the agent would; answers the ids of its methods with code, in order.
    pub fn class(&mut self, bytes: Vec<u8>, hidden: bool, level: Level) -> Vec<u32> {
        let class = ClassFile::parse(&bytes).unwrap();
        let mut methods = Vec::new();
        for method in class.methods.iter().filter(|m| m.has_code()) {
            let plan = cprof_instrument::plan(&class, method).unwrap().unwrap();
            self.arena.method(self.next_id, plan.counters, plan.leaf);
            methods.push((method.index, self.next_id, level));
            self.next_id += 1;
        }
        let ids = methods.iter().map(|m| m.1).collect();
        let name = class.name_str().into_owned();
        let entry = ClassEntry { name: &name, loader: "", hidden, bytes: &bytes, methods, skipped: vec![] };
        encode(&Entry::Class(entry), &mut self.log);
        self.classes.push(bytes);
        ids
    }

    /// Logs a class as the agent would that wove none of its methods: `exclude=` left it out.
    pub fn class_left_out(&mut self, bytes: Vec<u8>) {
        let name = ClassFile::parse(&bytes).unwrap().name_str().into_owned();
        let entry = ClassEntry { name: &name, loader: "", hidden: false, bytes: &bytes, methods: vec![], skipped: vec![] };
        encode(&Entry::Class(entry), &mut self.log);
        self.classes.push(bytes);
    }

    /// The counters of one execution of a method of the class last logged: the blocks it enters, in order, each named by
    /// its first bytecode; the way out is a return unless `leaves_by_exception`.
    pub fn path(&self, class: usize, method: usize, blocks: &[u32], leaves_by_exception: bool) -> Vec<u64> {
        let class = ClassFile::parse(&self.classes[class]).unwrap();
        let method = class.methods.iter().filter(|m| m.has_code()).nth(method).unwrap();
        let plan = cprof_instrument::plan(&class, method).unwrap().unwrap();
        let number = |start: u32| plan.blocks.iter().position(|b| b.start == start).unwrap() as u32;
        let exit = plan.blocks.len() as u32;
        let mut vertices = vec![exit];
        vertices.extend(blocks.iter().map(|&b| number(b)));
        if !leaves_by_exception {
            vertices.push(exit);
        }
        let mut counters = vec![0; plan.counters as usize];
        for step in vertices.windows(2) {
            let edge = plan.edges.iter().find(|e| (e.from, e.to) == (step[0], step[1])).expect("an edge of the flow");
            if let Some(counter) = edge.counter {
                counters[counter as usize] += 1;
            }
        }
        counters
    }

    /// Logs a class that was left as it was.
    pub fn not_covered(&mut self, name: &str, reason: &str) {
        encode(&Entry::NotCovered { name, reason }, &mut self.log);
    }

    /// What the agent would write, with these frames still active.
    pub fn profile(&self, stacks: &[Stack]) -> Profile {
        let bytes = self.arena.bytes();
        let capture = capture(&bytes, stacks).unwrap();
        let run = RunFacts { cprof_version: "test".into(), main_class: "demo.Main".into(), pid: 7, ..RunFacts::default() };
        assemble(capture, &Log::read(&self.log), run)
    }
}

/// All counters of a profile's nodes, one after the other.
pub fn counters(profile: &Profile) -> Vec<u64> {
    let mut rows = profile.nodes.rows();
    (0..profile.nodes.len()).flat_map(|node| rows.of(node).to_vec()).collect()
}

/// Gives the nodes of a profile these counters.
pub fn set_counters(profile: &mut Profile, counters: impl IntoIterator<Item = u64>) {
    profile.nodes.counters = Counters::pack(counters, &profile.methods, &profile.nodes.method).unwrap();
}

/// A small program: `demo.Main.main` calls `work` three times, once with an exception out of it; `work` calls
/// `Thread.yield` (native) once per round of its loop; a lambda class calls `work` on a second thread.
///
/// Own bytecodes: `main` 4; `work` on the main thread 8 + 8 + 3, on the other 13; the lambda's `run` 3.
pub fn demo() -> Recording {
    use classes::{ClassWriter, op};
    let mut recording = Recording::new();
    let mut thread = ClassWriter::new("java/lang/Thread", "java/lang/Object");
    thread.native("yield", "()V", 0x0109);
    recording.class(thread.finish(), false, Level::Precise);

    let mut main = ClassWriter::new("demo/Main", "java/lang/Object");
    let work = main.methodref("demo/Main", "work", "(I)V");
    let nap = main.methodref("java/lang/Thread", "yield", "()V");
    // 0 iconst_1, 1 invokestatic work, 4 goto 7, 7 return
    main.method(
        "main",
        "([Ljava/lang/String;)V",
        0x0009,
        &[op::ICONST_1, op::INVOKESTATIC, work[0], work[1], op::GOTO, 0, 3, op::RETURN],
    );
    // 0 iload_0, 1 ifeq 13, 4 invokestatic yield, 7 iinc 0 -1, 10 goto 0, 13 return
    let loops =
        [op::ILOAD_0, op::IFEQ, 0, 12, op::INVOKESTATIC, nap[0], nap[1], op::IINC, 0, 255, op::GOTO, 255, 246, op::RETURN];
    main.method("work", "(I)V", 0x0009, &loops);
    let ids = recording.class(main.finish(), false, Level::Precise);

    let mut lambda = ClassWriter::new("demo/Main$$Lambda$14", "java/lang/Object");
    let work = lambda.methodref("demo/Main", "work", "(I)V");
    lambda.method("run", "()V", 0x0001, &[op::ICONST_1, op::INVOKESTATIC, work[0], work[1], op::RETURN]);
    let lambda_id = recording.class(lambda.finish(), true, Level::Precise)[0];

    let main_path = recording.path(1, 0, &[0, 7], false);
    let once = recording.path(1, 1, &[0, 4, 0, 13], false);
    let twice = recording.path(1, 1, &[0, 4, 0, 4, 0, 13], false);
    let thrown = recording.path(1, 1, &[0, 4], true);
    let sum = |paths: &[&[u64]]| (0..once.len()).map(|i| paths.iter().map(|p| p[i]).sum()).collect::<Vec<u64>>();

    let arena = &mut recording.arena;
    let tree = arena.tree("main", 0, 1);
    let main_node = arena.node(tree, tree, ids[0], 0, &main_path);
    let work_node = arena.node(tree, main_node, ids[1], 0, &sum(&[&once, &once, &thrown]));
    arena.departure(tree, work_node, 4, 1);
    let tree = arena.tree("worker-1", 2, 2);
    let run = recording.path(2, 0, &[0], false);
    let arena = &mut recording.arena;
    let run_node = arena.node(tree, tree, lambda_id, 0, &run);
    arena.node(tree, run_node, ids[1], 0, &twice);
    recording.not_covered("demo/Broken", "the class file is damaged");
    recording
}
