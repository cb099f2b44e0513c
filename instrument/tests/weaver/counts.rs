//! The oracle: random methods are interpreted as they are and woven, and from the counters of the woven ones everything
//! that happened must follow.
//!
//! A failure names the seed and size of a program; `COUNTS_SEED=… COUNTS_SIZE=… cargo test -p cprof-instrument counts`
//! runs that one alone.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use cprof_instrument::classfile::{ClassFile, Method};
use cprof_instrument::weave::Policy;
use cprof_instrument::{Level, Options, SkipReason, Treatment, Weaver, Woven, plan};

use crate::support::interpreter::{End, Machine, Value};
use crate::support::random::Random;
use crate::support::runtime::Runtime;
use crate::support::truth::Truth;
use crate::support::{generator, solver};

/// Treats methods at random, but always alike.
struct Numbering {
    random: Random,
    may_end: bool,
    next: u32,
}

impl Policy for Numbering {
    fn treat(&mut self, _: &ClassFile<'_>, _: &Method<'_>) -> Result<Treatment, &'static str> {
        Ok(Treatment {
            root: self.random.percent(10),
            starts_counting: false,
            ends_thread: self.may_end && self.random.percent(10),
        })
    }

    fn id(&mut self, _: &Method<'_>, _: u16, _: bool) -> Option<u32> {
        self.next += 1;
        Some(self.next)
    }
}

/// What a run of the test has covered: a generator that makes nothing of interest must not pass for a proof.
#[derive(Debug, Default)]
struct Covered {
    programs: u64,
    too_long: u64,
    stopped: u64,
    thrown: u64,
    caught: u64,
    super_throws: u64,
    leaves: u64,
    block_level: u64,
    /// Stopped at an instruction whose way out was counted already: a return, a jump.
    returning: u64,
    jumping: u64,
    /// Stopped in a handler that is not entered yet.
    unsettled: u64,
    /// Nodes of methods in which some jump does not reach any more when they are woven.
    long: u64,
    nodes: u64,
    instructions: u64,
}

/// How often each program is stopped.
const STOPS: usize = 3;

fn check(seed: u64, size: usize, covered: &mut Covered) {
    let mut random = Random::new(seed);
    let Some(mut bytes) = generator::class(&mut random, size) else {
        covered.too_long += 1;
        return;
    };
    let options = Options {
        level: *random.pick(&[Level::Precise, Level::Block]),
        sites: random.percent(30),
        caches: random.percent(30),
        inherited_calls: random.percent(30),
        maps: true,
    };
    let fuel = 40 + random.below(400);
    let arguments = [
        Value::Int(random.below(7) as i32 - 3),
        Value::Int(random.below(3) as i32),
        Value::Long(random.next() as i64 % 5),
        Value::Half,
    ];
    tighten(&mut bytes, &arguments, fuel);
    let class = ClassFile::parse(&bytes).expect("the original");
    // Small ids, and ids that need a constant.
    let next = *random.pick(&[15, 30_000, 40_000]);
    // Only the JVM's own classes end threads.
    let mut policy = Numbering { random: Random::new(seed), may_end: !options.inherited_calls, next };
    let woven = Weaver::new().weave(&bytes, &options, &mut policy).expect("woven").expect("methods");
    if woven.skipped.iter().any(|s| s.reason == SkipReason::TooLarge) {
        covered.too_long += 1;
        return;
    }
    assert_eq!(woven.skipped, [], "nothing is left out");
    // Only in a long method may a far jump find no way round; it counts right by the block, too.
    let as_asked = woven.methods.iter().all(|m| m.level == options.level);
    assert!(as_asked || bytes.len() > 0x6000, "there is room for what was asked");

    let woven_class = ClassFile::parse(&woven.bytes).expect("the woven class");
    let program = Program { class: &class, woven: &woven, woven_class: &woven_class, options, fuel, arguments };
    let instructions = program.check(usize::MAX, covered);
    // A few times it is stopped at some instruction.
    for _ in 0..STOPS {
        program.check(random.below(instructions), covered);
    }
    covered.programs += 1;
}

struct Program<'p> {
    class: &'p ClassFile<'p>,
    woven: &'p Woven,
    woven_class: &'p ClassFile<'p>,
    options: Options,
    fuel: usize,
    arguments: [Value; 4],
}

impl Program<'_> {
    /// Runs it as it is and woven, until the instruction of this number is about to be executed. Answers how many were.
    fn check(&self, stop_at: usize, covered: &mut Covered) -> usize {
        let &Program { class, woven, woven_class, options, fuel, arguments } = self;
        let mut original = Machine::new(class, Truth::new(options.sites, stop_at), fuel);
        let end = original.run(0, &arguments, None);
        let constructors = class.methods.iter().map(|m| m.name == b"<init>").collect();
        let mut counting = Machine::new(woven_class, Runtime::new(woven, constructors, options.sites, stop_at), fuel);
        assert_eq!(counting.run(0, &arguments, None), end, "the result");
        if let End::Throw(exception) = end {
            assert_eq!(counting.class_of(exception), original.class_of(exception));
        }
        // Whatever the program could notice happened at the same places.
        let original_of = |method: usize, position: usize| {
            woven.methods[method].instruction_at(position as u32).expect("an instruction of the program's")
        };
        let bci = |method: usize, position: usize| original_of(method, position).bci as usize;
        let events: Vec<_> = counting.observer.events.iter().map(|&(what, m, position)| (what, m, bci(m, position))).collect();
        assert_eq!(events, original.observer.events, "calls and exceptions, and where");
        let active: Vec<_> = counting.active.iter().rev().map(|&(m, position)| (m, bci(m, position))).collect();
        let expected_active: Vec<_> = original.active.iter().rev().copied().collect();
        assert_eq!(active, expected_active, "active frames");
        // Nor is it looked at where it has not yet entered its handler.
        if counting.active.iter().any(|&(m, position)| !original_of(m, position).settled) {
            covered.unsettled += 1;
            return original.observer.instructions;
        }
        // The innermost one may have left its block already, or its method.
        let counted = |&(m, position): &(usize, usize)| Some((m, original_of(m, position).counted? as usize));
        let active: Vec<_> = counting.active.iter().rev().filter_map(counted).collect();
        if active.len() < expected_active.len() {
            covered.returning += 1;
        } else if active != expected_active {
            original.observer.stands_at(active.last().expect("a frame").1);
            covered.jumping += 1;
        }
        compare(class, woven, &options, &original.observer, &counting.observer, &active, covered);
        covered.stopped += u64::from(end == End::Stopped);
        covered.thrown += u64::from(matches!(end, End::Throw(_)));
        original.observer.instructions
    }
}

/// Lowers every method's max_stack to what the run needs, so that the weaver has to ask for all that it needs itself.
fn tighten(bytes: &mut [u8], arguments: &[Value], fuel: usize) {
    let class = ClassFile::parse(bytes).expect("the original");
    let mut machine = Machine::new(&class, Truth::new(false, usize::MAX), fuel);
    machine.run(0, arguments, None);
    let places: Vec<_> = class
        .methods
        .iter()
        .enumerate()
        // The u2 max_stack, the u2 max_locals and the u4 length stand before the code.
        .map(|(k, m)| (class.code(m).expect("code").expect("code").at - 8, machine.highest(k)))
        .collect();
    for (at, highest) in places {
        bytes[at..at + 2].copy_from_slice(&highest.to_be_bytes());
    }
}

/// Every count of every context, and that there are no others.
fn compare(
    class: &ClassFile<'_>,
    woven: &Woven,
    options: &Options,
    truth: &Truth,
    counted: &Runtime,
    active: &[(usize, usize)],
    covered: &mut Covered,
) {
    let plans: Vec<_> = class.methods.iter().map(|m| plan(class, m).expect("a plan").expect("code")).collect();
    // Where each active frame's node is: down the tree, by method and call site.
    let mut frames: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let (mut node, mut site) = (0, 0);
    for &(method, bci) in active {
        node = truth.nodes[node].children[&(method, if options.sites { site } else { 0 })];
        frames.entry(node).or_default().push(bci);
        site = bci + 1;
    }
    let mut pairs = vec![(0, 0)];
    while let Some((t, c)) = pairs.pop() {
        let (expected, node) = (&truth.nodes[t], &counted.nodes[c]);
        let id = |key: &(usize, usize)| (woven.methods[key.0].id, key.1 as u32);
        let keys: Vec<_> = expected.children.keys().map(id).collect();
        assert_eq!(keys, node.children.keys().copied().collect::<Vec<_>>(), "contexts called from here");
        pairs.extend(expected.children.values().copied().zip(node.children.values().copied()));
        if t == 0 {
            continue;
        }
        let (method, plan) = (&woven.methods[expected.key.0], &plans[expected.key.0]);
        assert_eq!((method.counters, method.leaf), (plan.counters, plan.leaf));
        let mut departures: BTreeMap<u32, u64> = BTreeMap::new();
        for (&(bci, _), &number) in &node.departures {
            *departures.entry(bci).or_default() += number;
        }
        for &bci in frames.get(&t).into_iter().flatten() {
            *departures.entry(bci as u32).or_default() += 1;
        }
        let counts = solver::solve(plan, &node.counters, &departures);
        let left = |caught: bool| node.departures.iter().filter(|(k, _)| k.1 == caught).map(|(_, n)| n).sum::<u64>();
        assert_eq!(node.counters[0], expected.calls, "calls");
        assert_eq!(left(false) + counts.super_throws as u64, expected.exceptional_exits, "exceptional exits");
        for (block, &entries) in plan.blocks.iter().zip(&counts.blocks) {
            let executed = expected.executed.range(block.start as usize..block.end as usize).next();
            assert_eq!(entries > 0, executed.is_some(), "the block at {} was entered", block.start);
        }
        let entered = |bci: &u32| counts.blocks[solver::block_of(plan, *bci)] > 0;
        for bci in method.map.iter().map(|i| i.bci).filter(entered) {
            let first = match method.level {
                Level::Precise => bci,
                // Blocks that were entered count whole.
                Level::Block => plan.blocks[solver::block_of(plan, bci)].start,
            };
            let executed = expected.executed.get(&(first as usize)).copied().unwrap_or(0);
            let counted = counts.executed(plan, method.level, &departures, bci);
            assert_eq!(counted, executed as i64, "executions of {bci} of {:?}", expected.key);
            covered.instructions += 1;
        }
        covered.nodes += 1;
        covered.caught += left(true);
        covered.super_throws += counts.super_throws as u64;
        covered.leaves += u64::from(method.leaf);
        covered.long += u64::from(method.map.last().is_some_and(|i| i.at > 0x8000));
        covered.block_level += u64::from(method.level == Level::Block);
    }
}

/// Runs a program; when it fails, looks for a smaller one that fails too, and names that.
fn check_or_shrink(seed: u64, size: usize, covered: &mut Covered) {
    let run = |size: usize, covered: &mut Covered| catch_unwind(AssertUnwindSafe(|| check(seed, size, covered)));
    if run(size, covered).is_err() {
        let smallest = (1..=size).find(|&s| run(s, covered).is_err()).unwrap_or(size);
        panic!("the program of COUNTS_SEED={seed} COUNTS_SIZE={smallest} is miscounted");
    }
}

#[test]
fn counts_of_random_programs_are_exact() {
    let number = |name: &str| std::env::var(name).ok().map(|v| v.parse::<u64>().expect("a number"));
    let mut covered = Covered::default();
    if let Some(seed) = number("COUNTS_SEED") {
        return check(seed, number("COUNTS_SIZE").unwrap_or(8) as usize, &mut covered);
    }
    for seed in 0..number("COUNTS_PROGRAMS").unwrap_or(5_000) {
        check_or_shrink(seed, 1 + seed as usize % 9, &mut covered);
    }
    println!("{covered:?}");
    let Covered { programs, too_long, stopped, thrown, caught, super_throws, leaves, block_level, long, .. } = covered;
    assert!(too_long * 20 < programs, "{covered:?}");
    for reached in [stopped, thrown, caught, super_throws, leaves, block_level, long] {
        assert!(reached * 100 > programs, "{covered:?}");
    }
    assert!(covered.returning > 0 && covered.jumping > 0 && covered.unsettled > 0, "{covered:?}");
}
