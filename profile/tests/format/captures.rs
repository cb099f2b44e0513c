//! Arenas as the runtime leaves them: whole, in use, damaged.

use cprof_instrument::Level;
use cprof_instrument::abi::{self, header, kind};
use cprof_profile::integrity;
use cprof_profile::measure::measure;
use cprof_profile::model::{DepartureKind, Profile, special};
use cprof_profile::names::thousands;
use cprof_profile::recording::rates::{Change, Meter};
use cprof_profile::recording::{CaptureError, Frame, Log, Memory, Stack, assemble, capture};
use cprof_synthetic::Recording;
use cprof_synthetic::classes::{ClassWriter, op};

/// `A.a` calls `A.b`, which calls `A.c`, which calls nothing: 0 invokestatic, 3 return.
fn chain() -> (Recording, Vec<u32>) {
    let mut recording = Recording::new();
    let mut class = ClassWriter::new("A", "java/lang/Object");
    for (name, callee) in [("a", "b"), ("b", "c"), ("c", "a")] {
        let callee = class.methodref("A", callee, "()V");
        class.method(name, "()V", 9, &[op::INVOKESTATIC, callee[0], callee[1], op::RETURN]);
    }
    let ids = recording.class(class.finish(), false, Level::Precise);
    (recording, ids)
}

fn stack(tree: u32, frames: &[(u32, u32)]) -> Stack {
    Stack { tree, current: None, frames: frames.iter().map(|&(method, bci)| Frame { method, bci }).collect() }
}

/// As [`stack`], of a thread whose current node is known.
fn stack_in(tree: u32, current: u32, frames: &[(u32, u32)]) -> Stack {
    Stack { current: Some(current), ..stack(tree, frames) }
}

/// Where the frames of a stack were placed, in order of node.
fn active(profile: &Profile) -> Vec<u32> {
    profile.departures.iter().filter(|d| d.kind == DepartureKind::Active).map(|d| d.node).collect()
}

fn flags(recording: &mut Recording, flags: u32, depth: u32) {
    recording.arena.put(header::FLAGS, flags);
    recording.arena.put(header::DEPTH, depth);
}

/// As a copy is that found the disk full.
#[test]
fn what_is_missing_at_the_end_is_told() {
    let (mut r, ids) = chain();
    let tree = r.arena.tree("main", 0, 1);
    r.arena.node(tree, tree, ids[0], 0, &[1]);
    let whole = r.arena.bytes().len() as u64;
    r.arena.put64(header::TOP, whole + 4096);
    let says = format!(
        "the recording is cut short: its last 4,096 of {} bytes are missing, with their contexts",
        thousands(whole + 4096)
    );
    assert_eq!(r.profile(&[]).warnings, [says]);
}

#[test]
fn an_active_frame_has_not_executed_the_rest_of_its_block() {
    let (mut r, ids) = chain();
    let tree = r.arena.tree("main", 0, 1);
    let a = r.arena.node(tree, tree, ids[0], 0, &[1]);
    let b = r.arena.node(tree, a, ids[1], 0, &[1]);
    let profile = r.profile(&[stack(tree, &[(ids[0], 0), (ids[1], 0)])]);
    assert_eq!(profile.warnings, Vec::<String>::new());
    assert_eq!(active(&profile), [1, 2]);
    assert_eq!(measure(&profile).unwrap().own, [0, 1, 1]);
    let without = r.profile(&[]);
    assert_eq!(measure(&without).unwrap().own, [0, 2, 2]);
    assert_ne!(a, b);
}

#[test]
fn frames_from_before_counting_are_passed_over_and_strange_ones_reported() {
    let (mut r, ids) = chain();
    let tree = r.arena.tree("main", 0, 1);
    r.arena.node(tree, tree, ids[1], 0, &[1]);
    let profile = r.profile(&[stack(tree, &[(ids[0], 0), (ids[1], 0)])]);
    assert_eq!((active(&profile), profile.warnings), (vec![1], vec![]));
    let profile = r.profile(&[stack(tree, &[(ids[1], 0), (ids[2], 0)]), stack(tree + 1, &[(ids[0], 0)])]);
    assert_eq!(active(&profile), [1]);
    assert_eq!(
        profile.warnings,
        [
            "2 frames were active and have no context (those of methods that another agent, or JFR, has changed have none): each of their blocks may count once too often or too rarely"
        ]
    );
}

#[test]
fn frames_that_a_frame_without_context_called_have_theirs() {
    let (mut r, ids) = chain();
    let tree = r.arena.tree("main", 0, 1);
    let [first, second, third] = [(ids[0], 0), (ids[1], 0), (ids[2], 0)];
    let a = r.arena.node(tree, tree, first.0, 0, &[1]);
    let b = r.arena.node(tree, a, second.0, 0, &[1]);
    let c = r.arena.node(tree, b, third.0, 0, &[1]);
    let strange = (ids[2] + 7, 0);
    let lost = [
        "1 frame was active and has no context (those of methods that another agent, or JFR, has changed have none): each of their blocks may count once too often or too rarely",
    ];
    let profile = r.profile(&[stack_in(tree, c, &[strange, second, third])]);
    assert_eq!((active(&profile), &*profile.warnings), (vec![2, 3], &lost.map(String::from)[..]), "the outermost");
    for frames in [&[first, third][..], &[first, strange, third], &[strange, first, strange, third]] {
        let profile = r.profile(&[stack_in(tree, c, frames)]);
        assert_eq!(active(&profile), [1, 3], "{frames:?}");
        assert_eq!(profile.warnings, lost, "{frames:?}");
    }
    let profile = r.profile(&[stack_in(tree, c, &[first, second, third])]);
    assert_eq!((active(&profile), profile.warnings), (vec![1, 2, 3], vec![]));
}

/// A constructor that failed inside `super(...)` is above what is called afterwards, where what catches the exception is not
/// woven; others were called without.
#[test]
fn frames_below_a_call_that_failed_are_those_of_the_current_context() {
    for depth in [0, 1, 9] {
        let (mut r, ids) = chain();
        flags(&mut r, 0, depth);
        let [failed, first, second] = [ids[0], ids[1], ids[2]];
        for constructor in [failed, first] {
            r.arena.put(abi::METHODS + abi::METHOD_ENTRY * u64::from(constructor) + 4, 1 << abi::METHOD_CLASS);
        }
        let tree = r.arena.tree("main", 0, 1);
        let a = r.arena.node(tree, tree, failed, 0, &[1]);
        let b = r.arena.node(tree, a, first, 0, &[1]);
        let c = r.arena.node(tree, if depth == 1 { a } else { b }, second, 0, &[1]);
        r.arena.node(tree, tree, second, 0, &[1]);
        for (frames, nodes) in [(&[(first, 0), (second, 0)][..], &[2, 3][..]), (&[(second, 0)], &[3])] {
            let profile = r.profile(&[stack_in(tree, c, frames)]);
            assert_eq!((&*active(&profile), &*profile.warnings), (nodes, &[][..]), "{frames:?}");
        }
    }
}

#[test]
fn contexts_of_methods_that_the_class_log_lost_are_told_together() {
    let (mut r, ids) = chain();
    let tree = r.arena.tree("main", 0, 1);
    for &id in &ids[..2] {
        let lost = r.arena.node(tree, tree, id, 0, &[1]);
        r.arena.node(tree, lost, ids[2], 0, &[1]);
    }
    let torn = r.log.len() - 1;
    r.log.truncate(torn);
    let profile = r.profile(&[]);
    assert_eq!(profile.nodes.method, [special::ROOT]);
    let says = [
        format!("the class log ends with {torn} bytes of a record that was not finished; they were ignored"),
        "2 contexts were left out: their callers were left out".to_owned(),
        "2 contexts were left out: their methods are not in the class log, as of code of an earlier recording, or where the log ends early".to_owned(),
    ];
    assert_eq!(profile.warnings, says);
}

#[test]
fn a_caller_in_another_tree_is_none() {
    let (mut r, ids) = chain();
    let one = r.arena.tree("one", 0, 1);
    let a = r.arena.node(one, one, ids[0], 0, &[1]);
    let two = r.arena.tree("two", 0, 1);
    r.arena.node(two, a, ids[1], 0, &[1]);
    r.arena.node(two, two, ids[2], 0, &[1]);
    let profile = r.profile(&[]);
    assert_eq!(
        (profile.nodes.method, profile.warnings),
        (vec![special::ROOT, 0, special::ROOT, 1], vec!["1 context without a caller was left out".to_owned()])
    );
}

/// Threads of one name take over each other's trees: what another has counted there is not what a frame from before counting did.
#[test]
fn frames_from_before_counting_have_no_context_of_the_same_name() {
    let (mut r, ids) = chain();
    let tree = r.arena.tree("main", 0, 2);
    let a = r.arena.node(tree, tree, ids[0], 0, &[1]);
    let b = r.arena.node(tree, a, ids[1], 0, &[1]);
    let a_of_a = r.arena.node(tree, a, ids[0], 0, &[1]);
    let placed = |current, frames: &[(u32, u32)]| active(&r.profile(&[stack_in(tree, current, frames)]));
    let (first, second) = ((ids[0], 0), (ids[1], 0));
    assert_eq!(placed(b, &[first, second]), [1, 2], "both are counted");
    assert_eq!(placed(tree, &[first, second]), [0; 0], "none is");
    assert_eq!(placed(a, &[first, first]), [1], "of a recursion only the inner one");
    assert_eq!(placed(a_of_a, &[second, first, first]), [1, 3], "recursion that was called from a frame without context");
    assert_eq!(
        placed(a, &[second, first, second]),
        [1, 2],
        "on its way out a frame is there and its caller's node the current one"
    );
}

#[test]
fn frames_of_leaf_methods_are_found_below_the_current_node() {
    let mut r = Recording::new();
    let mut class = ClassWriter::new("A", "java/lang/Object");
    let callee = class.methodref("A", "leaf", "()V");
    class.method("a", "()V", 9, &[op::INVOKESTATIC, callee[0], callee[1], op::RETURN]);
    class.method("leaf", "()V", 9, &[op::NOP, op::RETURN]);
    let ids = r.class(class.finish(), false, Level::Precise);
    let tree = r.arena.tree("main", 0, 1);
    let a = r.arena.node(tree, tree, ids[0], 0, &[1]);
    r.arena.node(tree, a, ids[1], 0, &[1]);
    r.arena.node(tree, tree, ids[1], 0, &[1]);
    let placed = |current, frames: &[(u32, u32)]| active(&r.profile(&[stack_in(tree, current, frames)]));
    assert_eq!(placed(a, &[(ids[0], 0), (ids[1], 0)]), [1, 2]);
    assert_eq!(placed(tree, &[(ids[0], 0), (ids[1], 0)]), [3], "its caller is from before counting");
    assert_eq!(placed(tree, &[(ids[1], 0)]), [3]);
}

#[test]
fn stacks_follow_call_sites() {
    let (mut r, ids) = chain();
    flags(&mut r, 1, 0);
    let tree = r.arena.tree("main", 0, 1);
    let a = r.arena.node(tree, tree, ids[0], 0, &[1]);
    r.arena.node(tree, a, ids[1], 4, &[1]);
    r.arena.node(tree, a, ids[1], 1, &[1]);
    let profile = r.profile(&[stack(tree, &[(ids[0], 0), (ids[1], 0)])]);
    assert_eq!(active(&profile), [1, 3]);
    assert_eq!(profile.nodes.site, [0, 0, 4, 1]);
}

#[test]
fn stacks_follow_folded_recursion() {
    let (mut r, ids) = chain();
    flags(&mut r, 2, 0);
    let tree = r.arena.tree("main", 0, 1);
    let a = r.arena.node(tree, tree, ids[0], 0, &[2]);
    let b = r.arena.node(tree, a, ids[1], 0, &[2]);
    let profile = r.profile(&[stack(tree, &[(ids[0], 0), (ids[1], 0), (ids[0], 0), (ids[1], 0)])]);
    assert_eq!(profile.departures.iter().map(|d| (d.node, d.count)).collect::<Vec<_>>(), [(1, 2), (2, 2)]);
    assert!(profile.run.bounded);
    let known = r.profile(&[stack_in(tree, b, &[(ids[0], 0), (ids[1], 0), (ids[0], 0), (ids[1], 0)])]);
    assert_eq!(known.departures, profile.departures, "the thread's node is that of the inner frame as of the outer one");
}

#[test]
fn stacks_follow_the_depth_limit() {
    let (mut r, ids) = chain();
    flags(&mut r, 0, 1);
    let tree = r.arena.tree("main", 0, 1);
    let a = r.arena.node(tree, tree, ids[0], 0, &[1]);
    r.arena.node(tree, a, ids[1], 0, &[1]);
    r.arena.node(tree, a, ids[2], 0, &[1]);
    let deepest = r.arena.node(tree, a, ids[0], 0, &[1]);
    let profile = r.profile(&[stack(tree, &[(ids[0], 0), (ids[1], 0), (ids[2], 0), (ids[0], 0)])]);
    assert_eq!(active(&profile), [1, 2, 3, 4]);
    let recursion = [(ids[0], 0); 3];
    let count = |stack| r.profile(&[stack]).departures.iter().map(|d| (d.node, d.count)).collect::<Vec<_>>();
    assert_eq!(count(stack(tree, &recursion)), [(1, 1), (4, 2)]);
    assert_eq!(count(stack_in(tree, deepest, &recursion)), [(1, 1), (4, 2)]);
}

#[test]
fn what_runs_outside_the_roots_is_left_out() {
    let (mut r, ids) = chain();
    flags(&mut r, 4, 0);
    let tree = r.arena.tree("main", 0, 1);
    let outside = r.arena.marker(tree, kind::OUTSIDE);
    let a = r.arena.node(tree, outside, ids[0], 0, &[5]);
    r.arena.departure(tree, a, 0, 3);
    let b = r.arena.node(tree, tree, ids[1], 0, &[1]);
    r.arena.node(tree, b, ids[2], 0, &[1]);
    let profile = r.profile(&[stack(tree, &[(ids[0], 0), (ids[1], 0), (ids[2], 0)])]);
    assert_eq!(profile.nodes.method[1..], [0, 1], "b and c");
    assert_eq!(active(&profile), [1, 2]);
    assert_eq!(profile.departures.len(), 2);
}

#[test]
fn folded_contexts_are_kept_apart_and_found() {
    let (mut r, ids) = chain();
    flags(&mut r, 8, 0);
    let tree = r.arena.tree("main", 0, 1);
    r.arena.node(tree, tree, ids[0], 0, &[1]);
    let folded = r.arena.marker(tree, kind::OVERFLOW);
    r.arena.node(tree, folded, ids[1], 0, &[4]);
    let c = r.arena.node(tree, folded, ids[2], 0, &[4]);
    let frames = [(ids[0], 0), (ids[1], 0), (ids[2], 0)];
    let profile = r.profile(&[stack(tree, &frames)]);
    assert_eq!(profile.nodes.method, [special::ROOT, 0, special::FOLDED, 1, 2]);
    assert_eq!(profile.nodes.parent, [0, 0, 0, 2, 2]);
    assert_eq!(active(&profile), [1, 3, 4]);
    assert_eq!(active(&r.profile(&[stack_in(tree, c, &frames)])), [1, 3, 4], "the caller of what is folded, too");
    assert!(profile.run.folded);
}

#[test]
fn a_pause_is_taken_away_to_the_bytecode() {
    let (mut r, ids) = chain();
    let tree = r.arena.tree("main", 0, 1);
    let a = r.arena.node(tree, tree, ids[0], 0, &[1]);
    let earlier = capture(&r.arena.bytes(), &[stack(tree, &[(ids[0], 0)])]).unwrap();
    // While paused: a returns from its call, is called ten times more, and stands at its last bytecode.
    r.arena.add(a, false, 0, 10);
    let b = r.arena.node(tree, a, ids[1], 0, &[7]);
    r.arena.node(tree, b, ids[2], 0, &[5]);
    let later = capture(&r.arena.bytes(), &[stack(tree, &[(ids[0], 3)])]).unwrap();
    r.arena.add(a, false, 0, 2);
    r.arena.add(b, false, 0, 1);
    let mut end = capture(&r.arena.bytes(), &[]).unwrap();
    end.combine(&[(&later, false), (&earlier, true)]);
    let profile = assemble(end, &Log::read(&r.log), Default::default());
    assert_eq!(profile.nodes.len(), 3, "what ran only meanwhile is in no profile");
    let measures = measure(&profile).unwrap();
    assert_eq!(measures.calls, [0, 3, 1]);
    // One call before the pause left one bytecode, after it none was left to execute; two whole calls.
    assert_eq!(measures.own, [0, 1 + 2 * 2, 2]);
    assert_eq!(measures.inconsistent, 0);
}

#[test]
fn what_was_wrong_at_a_pause_is_wrong_in_the_profile() {
    let (mut r, ids) = chain();
    let tree = r.arena.tree("main", 0, 1);
    r.arena.node(tree, tree, ids[0], 0, &[1]);
    let taken = |frames: &[(u32, u32)]| capture(&r.arena.bytes(), &[stack(tree, frames)]).unwrap();
    let strange = taken(&[(ids[0], 0), (ids[2], 0)]);
    let mut end = taken(&[]);
    end.combine(&[(&strange, false), (&strange, true)]);
    assert_eq!(
        end.warnings,
        [
            "1 frame was active and has no context (those of methods that another agent, or JFR, has changed have none): each of their blocks may count once too often or too rarely"
        ]
    );
}

#[test]
fn a_damaged_list_of_departures_costs_no_other_context() {
    let (mut r, ids) = chain();
    let tree = r.arena.tree("main", 0, 1);
    let a = r.arena.node(tree, tree, ids[0], 0, &[1]);
    r.arena.departure(tree, a, 0, 1);
    r.arena.node(tree, a, ids[1], 0, &[1]);
    r.arena.put(u64::from(a) * abi::UNIT + abi::node::DEPARTURES, tree);
    let profile = r.profile(&[]);
    assert_eq!(profile.nodes.len(), 3);
    assert_eq!(profile.warnings, ["of 1 contexts not all exceptions can be read; some of their blocks count whole"]);
}

#[test]
fn departures_from_bytecodes_that_do_not_exist_cost_nothing_else() {
    let (mut r, ids) = chain();
    let tree = r.arena.tree("main", 0, 1);
    let a = r.arena.node(tree, tree, ids[0], 0, &[9]);
    r.arena.departure(tree, a, 0, 4);
    // The second would be the first bytecode if it were cut to 16 bits.
    for place in [4, 1 << 16] {
        r.arena.departure(tree, a, place, 1);
    }
    let profile = r.profile(&[]);
    assert_eq!(profile.departures.iter().map(|d| (d.bci, d.count)).collect::<Vec<_>>(), [(0, 4)]);
    assert_eq!(profile.warnings, ["2 places of exceptions lie in no block of their methods; those blocks count whole"]);
    assert_eq!(measure(&profile).unwrap().own.get(1), 4 + 2 * 5);
    assert_eq!(integrity::check(&profile).unwrap().contexts, 1);
}

#[test]
fn departures_are_read_and_joined() {
    let (mut r, ids) = chain();
    let tree = r.arena.tree("main", 0, 1);
    let a = r.arena.node(tree, tree, ids[0], 0, &[9]);
    r.arena.departure(tree, a, 0, 4);
    r.arena.departure(tree, a, 3, 1);
    r.arena.departure(tree, a, 0, 2);
    let profile = r.profile(&[]);
    let departures: Vec<_> = profile.departures.iter().map(|d| (d.node, d.bci, d.kind, d.count)).collect();
    assert_eq!(departures, [(1, 0, DepartureKind::Thrown, 6), (1, 3, DepartureKind::Thrown, 1)]);
    let measures = measure(&profile).unwrap();
    assert_eq!((measures.exceptional_exits.get(1), measures.own.get(1)), (7, 6 + 2 * 3));
}

#[test]
fn block_precision_counts_the_whole_block() {
    let mut r = Recording::new();
    let mut class = ClassWriter::new("A", "java/lang/Object");
    let callee = class.methodref("A", "a", "()V");
    class.method("a", "()V", 9, &[op::INVOKESTATIC, callee[0], callee[1], op::RETURN]);
    let ids = r.class(class.finish(), false, Level::Block);
    let tree = r.arena.tree("main", 0, 1);
    let a = r.arena.node(tree, tree, ids[0], 0, &[9]);
    r.arena.departure(tree, a, 0, 4);
    let measures = measure(&r.profile(&[])).unwrap();
    assert_eq!((measures.exceptional_exits.get(1), measures.own.get(1)), (4, 18));
}

#[test]
fn chunks_of_several_trees_interleave() {
    let (mut r, ids) = chain();
    let trees = [r.arena.tree("one", 0, 1), r.arena.tree("two", 0, 1)];
    let mut last = trees;
    for i in 0..200 {
        let t = i % 2;
        last[t] = r.arena.node(trees[t], last[t], ids[0], 0, &[1]);
    }
    let profile = r.profile(&[]);
    assert_eq!(profile.warnings, Vec::<String>::new());
    assert_eq!(profile.threads.iter().map(|t| t.first_node).collect::<Vec<_>>(), [0, 101]);
    assert!((1..101).chain(102..202).all(|n| profile.nodes.parent[n] == n as u32 - 1));
}

#[test]
fn a_chunk_without_a_header_is_stepped_over() {
    let (mut r, ids) = chain();
    let one = r.arena.tree("one", 0, 1);
    r.arena.node(one, one, ids[0], 0, &[1]);
    let hole = r.arena.bytes().len() as u64;
    let two = r.arena.tree("two", 0, 1);
    r.arena.node(two, two, ids[0], 0, &[2]);
    let three = r.arena.tree("three", 0, 1);
    r.arena.node(three, three, ids[0], 0, &[3]);
    r.arena.put(hole, 0);
    let profile = r.profile(&[]);
    assert_eq!(profile.threads.iter().map(|t| t.name.as_str()).collect::<Vec<_>>(), ["one", "three"]);
    assert_eq!(profile.warnings, [format!("4096 bytes at {hole} of the recording are no chunk and were stepped over")]);
}

#[test]
fn recordings_of_others_are_refused() {
    let mut r = Recording::new();
    let refused = |bytes: &[u8]| capture(&bytes, &[]).unwrap_err();
    assert_eq!(refused(&[]), CaptureError::Short { len: 0 });
    assert_eq!(refused(&r.arena.bytes()[..5000]), CaptureError::Short { len: 5000 });
    r.arena.put(header::VERSION, 99);
    assert_eq!(refused(r.arena.bytes()), CaptureError::Version { found: 99 });
    assert!(refused(r.arena.bytes()).to_string().contains("use the cprof that recorded it"));
    r.arena.put(header::MAGIC, 0);
    assert_eq!(refused(r.arena.bytes()), CaptureError::Magic { found: 0 });
}

#[test]
fn no_damage_to_an_arena_is_fatal() {
    let (mut r, ids) = chain();
    let tree = r.arena.tree("main", 0, 1);
    let mut last = tree;
    for i in 0..100 {
        last = r.arena.node(tree, last, ids[i % 3], 0, &[1]);
        r.arena.departure(tree, last, 0, 1);
    }
    let frames: Vec<(u32, u32)> = (0..100).map(|i| (ids[i % 3], 0)).collect();
    let stacks = [stack(tree, &frames)];
    let interesting = [0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 0x7FFF_FFFF, u32::MAX, tree, last];
    let end = r.arena.bytes().len() as u64;
    let places = (abi::CHUNKS..end).step_by(4).chain([8u64, 12, 40, 48, 52, 56]);
    for (i, at) in places.enumerate() {
        let old = r.arena.get(at);
        r.arena.put(at, interesting[i % interesting.len()]);
        if let Ok(captured) = capture(&r.arena.bytes(), &stacks) {
            let profile = assemble(captured, &Log::read(&r.log), Default::default());
            // Whatever was read can be evaluated or is refused; it never panics.
            let _ = measure(&profile);
        }
        r.arena.put(at, old);
    }
}

#[test]
fn rates_are_what_happened_between_two_looks() {
    let (mut r, ids) = chain();
    let tree = r.arena.tree("worker-7", 2, 3);
    let a = r.arena.node(tree, tree, ids[0], 0, &[1]);
    let b = r.arena.node(tree, a, ids[1], 0, &[5]);
    let mut meter = Meter::default();
    let mut look = |r: &Recording| meter.look(capture(&r.arena.bytes(), &[]).unwrap(), &Log::read(&r.log));
    let earlier = look(&r);
    r.arena.add(b, false, 0, 10);
    r.arena.node(tree, b, ids[2], 0, &[4]);
    let later = look(&r);
    let rates = later.since(&earlier);
    let change = |calls, own, total| Change { calls, own, total };
    assert_eq!(rates.all, change(14, 28, 28));
    assert_eq!(rates.threads, [(0, change(14, 28, 28))]);
    assert_eq!((later.thread(0), later.leases(0), later.contexts()), ("worker-*".to_owned(), 3, 3));
    assert_eq!(rates.contexts, [(1, change(0, 0, 28)), (2, change(10, 20, 28)), (3, change(4, 8, 8))]);
    let mut methods: Vec<_> = rates.methods.iter().map(|&(m, change)| (meter.name(m).method.as_str(), change)).collect();
    methods.sort_by_key(|m| m.0);
    assert_eq!(methods, [("b", change(10, 20, 20)), ("c", change(4, 8, 8))]);
    let path: Vec<_> = later.path(3).into_iter().map(|m| meter.name(m).method.as_str()).collect();
    assert_eq!(path, ["c", "b", "a"]);
}

#[test]
fn a_log_of_length_0_and_departures_in_a_circle_end() {
    let (mut r, ids) = chain();
    let tree = r.arena.tree("main", 0, 1);
    let a = r.arena.node(tree, tree, ids[0], 0, &[9]);
    let b = r.arena.node(tree, a, ids[1], 0, &[9]);
    r.arena.departure(tree, a, 0, 4);
    // The node becomes an empty log of events: it takes no room, and a reader would stay at it for ever.
    r.arena.put(u64::from(b) * abi::UNIT, kind::LOG);
    r.arena.put(u64::from(b) * abi::UNIT + 4, 0);
    let captured = capture(&r.arena.bytes(), &[]).unwrap();
    assert_eq!((captured.nodes(), captured.warnings.len()), (2, 1), "{:?}", captured.warnings);
}

/// An arena whose methods were entered in its table just after the table was copied.
struct Late<'a>(&'a [u8]);

impl Memory for Late<'_> {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn u32(&self, at: u64) -> Option<u32> {
        self.0.u32(at)
    }

    fn u64(&self, at: u64) -> Option<u64> {
        self.0.u64(at)
    }

    fn bytes(&self, at: u64, out: &mut [u8]) -> Option<()> {
        self.0.bytes(at, out)?;
        if at == abi::METHODS {
            out.fill(0);
        }
        Some(())
    }
}

#[test]
fn methods_that_come_while_the_arena_is_read_are_known() {
    let (mut r, ids) = chain();
    let tree = r.arena.tree("main", 0, 1);
    let a = r.arena.node(tree, tree, ids[0], 0, &[1]);
    r.arena.node(tree, a, ids[1], 0, &[1]);
    let captured = capture(&Late(r.arena.bytes()), &[]).unwrap();
    assert_eq!((captured.nodes(), captured.warnings), (3, Vec::<String>::new()));
}
