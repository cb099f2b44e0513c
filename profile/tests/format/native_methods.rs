//! Calls of native methods, derived from their call sites.

use cprof_instrument::Level;
use cprof_instrument::abi::{flags, header, kind};
use cprof_profile::cache::CacheSpec;
use cprof_profile::cycles::{Evaluation, Options, evaluate};
use cprof_profile::measure::measure;
use cprof_profile::merge::Merger;
use cprof_profile::model::Profile;
use cprof_profile::natives::{NotTold, native_calls};
use cprof_profile::target::{CycleEstimator, InvokeKind, Library};
use cprof_synthetic::Recording;
use cprof_synthetic::classes::{ClassWriter, op};

/// Class, name, site and calls of every native method called.
fn natives(profile: &Profile) -> Vec<(String, String, u32, u64)> {
    let calls = native_calls(profile, &measure(profile).unwrap()).unwrap();
    let native = |n: u32| profile.natives[n as usize].clone();
    calls.iter().map(|c| (native(c.native).class, native(c.native).name, c.site, c.calls)).collect()
}

fn found(class: &str, name: &str, site: u32, calls: u64) -> (String, String, u32, u64) {
    (class.into(), name.into(), site, calls)
}

/// What is said of calls that are not told.
fn said(profile: &Profile) -> Option<String> {
    NotTold::of(profile).sentence(profile)
}

fn merged(profiles: &[Profile]) -> Profile {
    let mut merger = Merger::default();
    profiles.iter().for_each(|profile| merger.add(profile.clone(), "a.cprof").unwrap());
    merger.finish().profile
}

/// `Object` with native `hashCode`, `getClass` (final) and `clone`.
fn library() -> Recording {
    let mut recording = Recording::new();
    let mut object = ClassWriter::new("java/lang/Object", "");
    object.native("hashCode", "()I", 0x0101);
    object.native("getClass", "()Ljava/lang/Class;", 0x0111);
    object.native("clone", "()Ljava/lang/Object;", 0x0104);
    recording.class(object.finish(), false, Level::Precise);
    let mut handle = ClassWriter::new("java/lang/invoke/MethodHandle", "java/lang/Object");
    handle.native("invokeExact", "([Ljava/lang/Object;)Ljava/lang/Object;", 0x0191);
    recording.class(handle.finish(), false, Level::Precise);
    recording
}

/// `B.hashCode` in Java.
fn overriding() -> Vec<u8> {
    let mut b = ClassWriter::new("B", "A");
    b.method("hashCode", "()I", 1, &[op::ICONST_1, 172]); // ireturn
    b.finish()
}

/// `A.m`, whose code calls each of `calls` on `this` and drops the result; the last one by this instruction.
fn calling(last: u8, calls: &[(&str, &str, &str)]) -> Vec<u8> {
    let mut a = ClassWriter::new("A", "java/lang/Object");
    let mut code = Vec::new();
    for (i, (class, name, descriptor)) in calls.iter().enumerate() {
        let callee = a.methodref(class, name, descriptor);
        let opcode = if i + 1 == calls.len() { last } else { op::INVOKEVIRTUAL };
        code.extend([op::ALOAD_0, opcode, callee[0], callee[1], op::POP]);
    }
    code.push(op::RETURN);
    a.method("m", "()V", 1, &code);
    a.finish()
}

/// All of them.
fn program(calls: &[(&str, &str, &str)]) -> (Recording, u32, u32) {
    let mut recording = library();
    let b = recording.class(overriding(), false, Level::Precise)[0];
    let a = recording.class(calling(op::INVOKEVIRTUAL, calls), false, Level::Precise)[0];
    (recording, a, b)
}

#[test]
fn what_java_methods_did_not_take_was_native() {
    let (mut r, a, b) =
        program(&[("A", "hashCode", "()I"), ("java/lang/Object", "hashCode", "()I"), ("A", "getClass", "()Ljava/lang/Class;")]);
    let tree = r.arena.tree("main", 0, 1);
    let m = r.arena.node(tree, tree, a, 0, &[10]);
    r.arena.node(tree, m, b, 0, &[7]);
    // Twice the call of getClass threw; once the first hashCode.
    r.arena.departure(tree, m, 11, 2);
    r.arena.departure(tree, m, 1, 1);
    let expected = [found("java/lang/Object", "hashCode", 0, 10 + 9 - 7), found("java/lang/Object", "getClass", 0, 9)];
    assert_eq!(natives(&r.profile(&[])), expected);
}

/// What left the block is before the calls or behind them.
#[test]
fn a_block_that_was_left_has_not_called_an_overridden_native_method_for_certain() {
    let mut r = library();
    let b = r.class(overriding(), false, Level::Precise)[0];
    let calls = [("A", "hashCode", "()I"), ("A", "getClass", "()Ljava/lang/Class;")];
    let a = r.class(calling(op::INVOKEVIRTUAL, &calls), false, Level::Block)[0];
    let tree = r.arena.tree("main", 0, 1);
    let m = r.arena.node(tree, tree, a, 0, &[10]);
    let b = r.arena.node(tree, m, b, 0, &[7]);
    r.arena.departure(tree, b, 0, 2);
    r.arena.departure(tree, m, 0, 4);
    // Five returned from Java. Of the four that left the block, two did so in Java, and two it is not known where.
    let hash_code = found("java/lang/Object", "hashCode", 0, 10 - 4 - 5);
    let get_class = found("java/lang/Object", "getClass", 0, 10);
    assert_eq!(natives(&r.profile(&[])), [hash_code, get_class]);
}

/// As of a string, whose `hashCode` nothing overrides.
#[test]
fn a_call_that_can_only_be_of_a_java_method_takes_none_from_the_native_one() {
    for (access, opcode) in [(0x0011, op::INVOKEVIRTUAL), (0x0002, op::INVOKESPECIAL), (0x0001, op::INVOKESPECIAL)] {
        let mut r = library();
        let mut last = ClassWriter::new("Last", "java/lang/Object");
        last.method("hashCode", "()I", access, &[op::ICONST_1, 172]); // ireturn
        let last = r.class(last.finish(), false, Level::Precise)[0];
        let b = r.class(overriding(), false, Level::Precise)[0];
        let calls = [("java/lang/Object", "hashCode", "()I"), ("Last", "hashCode", "()I")];
        let a = r.class(calling(opcode, &calls), false, Level::Precise)[0];
        let tree = r.arena.tree("main", 0, 1);
        let m = r.arena.node(tree, tree, a, 0, &[10]);
        r.arena.node(tree, m, last, 0, &[10]);
        r.arena.node(tree, m, b, 0, &[3]);
        assert_eq!(natives(&r.profile(&[])), [found("java/lang/Object", "hashCode", 0, 7)], "access {access:#x}");
    }
}

#[test]
fn call_sites_are_kept_apart_where_contexts_are() {
    let (mut r, a, b) = program(&[("A", "hashCode", "()I"), ("A", "hashCode", "()I")]);
    r.arena.put(header::FLAGS, 1);
    let tree = r.arena.tree("main", 0, 1);
    let m = r.arena.node(tree, tree, a, 0, &[10]);
    r.arena.node(tree, m, b, 7, &[4]);
    let expected = [found("java/lang/Object", "hashCode", 2, 10), found("java/lang/Object", "hashCode", 7, 6)];
    assert_eq!(natives(&r.profile(&[])), expected);
}

/// `X.f` and `Y.f` are native, and so are the calls of one method of both; a subclass of `X` has an `f` in Java, and one of `Y` if
/// `both`.
fn two_of_one_name(both: bool) -> (Recording, u32, u32) {
    let mut r = library();
    for (name, over) in [("X", "X2"), ("Y", "Y2")] {
        let mut native = ClassWriter::new(name, "java/lang/Object");
        native.native("f", "()I", 0x0100);
        r.class(native.finish(), false, Level::Precise);
        if name == "X" || both {
            let mut java = ClassWriter::new(over, name);
            java.method("f", "()I", 0, &[op::ICONST_1, 172]); // ireturn
            r.class(java.finish(), false, Level::Precise);
        }
    }
    let java = if both { 1 } else { 0 };
    let calls = [("X", "f", "()I"), ("Y", "f", "()I"), ("Y", "f", "()I")];
    let a = r.class(calling(op::INVOKEVIRTUAL, &calls), false, Level::Precise)[0];
    (r, a, a - 1 - java)
}

/// No Java method takes from `Y.f` what it took from `X.f`; where both may, the call sites tell.
#[test]
fn native_methods_of_one_name_are_told_apart() {
    let (mut r, a, java) = two_of_one_name(false);
    let tree = r.arena.tree("main", 0, 1);
    let m = r.arena.node(tree, tree, a, 0, &[10]);
    r.arena.node(tree, m, java, 0, &[4]);
    assert_eq!(natives(&r.profile(&[])), [found("X", "f", 0, 6), found("Y", "f", 0, 20)]);

    let (mut r, a, java) = two_of_one_name(true);
    r.arena.put(header::FLAGS, 1);
    let tree = r.arena.tree("main", 0, 1);
    let m = r.arena.node(tree, tree, a, 0, &[10]);
    r.arena.node(tree, m, java, 7, &[4]);
    assert_eq!(natives(&r.profile(&[])), [found("X", "f", 2, 10), found("Y", "f", 7, 6), found("Y", "f", 12, 10)]);
}

const HASH_AND_CLASS: &[(&str, &str, &str)] = &[("A", "hashCode", "()I"), ("A", "getClass", "()Ljava/lang/Class;")];

#[test]
fn where_callees_are_folded_only_certain_calls_are_told() {
    let (mut r, a, _) = program(HASH_AND_CLASS);
    r.arena.put(header::FLAGS, 2);
    let tree = r.arena.tree("main", 0, 1);
    r.arena.node(tree, tree, a, 0, &[10]);
    let profile = r.profile(&[]);
    assert_eq!(natives(&profile), [found("java/lang/Object", "getClass", 0, 10)]);
    assert_eq!(
        said(&profile).unwrap(),
        "calls of native methods are not shown where Java methods may stand in for them: java.lang.Object.hashCode(); \
         contexts were folded by depth= or recursion=fold"
    );
}

#[test]
fn contexts_that_found_no_room_have_callees_elsewhere() {
    let (mut r, a, b) = program(HASH_AND_CLASS);
    let tree = r.arena.tree("main", 0, 1);
    r.arena.node(tree, tree, a, 0, &[10]);
    let plain = r.profile(&[]);
    assert_eq!(said(&plain), None);
    let folded = r.arena.marker(tree, kind::OVERFLOW);
    r.arena.node(tree, folded, b, 0, &[10]);
    r.arena.put(header::FLAGS, flags::OVERFLOW);
    let profile = r.profile(&[]);
    assert!(profile.run.folded);
    assert_eq!(natives(&profile), [found("java/lang/Object", "getClass", 0, 10)]);
    assert!(said(&profile).unwrap().ends_with("hashCode(); contexts were folded for want of room"));
    // The runs of a merged profile are not told apart.
    let all = merged(&[plain.clone(), profile]);
    assert_eq!(natives(&all), [found("java/lang/Object", "getClass", 0, 20)]);
    let mut lost = plain;
    lost.run.lost_calls = 1;
    assert!(said(&lost).unwrap().ends_with("calls found no room"));
}

#[test]
fn methods_that_were_not_counted_may_have_been_called_instead() {
    let left_out = |class: Vec<u8>| {
        let mut r = library();
        r.class_left_out(class);
        let a = r.class(calling(op::INVOKEVIRTUAL, HASH_AND_CLASS), false, Level::Precise)[0];
        let tree = r.arena.tree("main", 0, 1);
        r.arena.node(tree, tree, a, 0, &[10]);
        r.profile(&[])
    };
    let profile = left_out(overriding());
    assert_eq!(profile.run.uncounted, ["hashCode()I"]);
    assert_eq!(natives(&profile), [found("java/lang/Object", "getClass", 0, 10)]);
    assert!(said(&profile).unwrap().ends_with("java.lang.Object.hashCode(); some Java methods of these names were not counted"));
    // Static, private and abstract methods are selected by no such call, and one of another type has another name.
    let mut other = ClassWriter::new("B", "A");
    other.method("hashCode", "()I", 0x0009, &[op::ICONST_1, 172]);
    other.method("getClass", "()Ljava/lang/Class;", 0x0002, &[op::ALOAD_0, 176]); // areturn
    other.method("hashCode", "()J", 1, &[9, 173]); // lconst_0, lreturn
    let told = left_out(other.finish());
    assert_eq!((told.run.uncounted.len(), said(&told)), (0, None));
    assert_eq!(natives(&told).len(), 2);
    // As the runs of a merged profile are not told apart, neither are their callees.
    let all = merged(&[told, profile]);
    assert_eq!(all.run.uncounted, ["hashCode()I"]);
    assert_eq!(natives(&all), [found("java/lang/Object", "getClass", 0, 20)]);
}

#[test]
fn a_class_that_was_not_covered_may_have_been_called_instead() {
    let uncounted = |class: &str| {
        let (mut r, a, _) = program(HASH_AND_CLASS);
        r.not_covered(class, "for whatever reason");
        let tree = r.arena.tree("main", 0, 1);
        r.arena.node(tree, tree, a, 0, &[10]);
        r.profile(&[]).run.uncounted
    };
    assert_eq!(uncounted("B"), ["hashCode()I"], "refused by the JVM");
    assert_eq!(uncounted("Unknown"), ["hashCode()I"], "its loader does not see cprof");
    assert!(uncounted("A").is_empty(), "it has no such method");
    assert!(uncounted("A$$Lambda$14.0x0000000800c03000").is_empty());
}

#[test]
fn what_no_class_overrides_is_told_however_contexts_are_folded() {
    let mut r = library();
    let a = r.class(calling(op::INVOKEVIRTUAL, HASH_AND_CLASS), false, Level::Precise)[0];
    let tree = r.arena.tree("main", 0, 1);
    r.arena.node(tree, tree, a, 0, &[10]);
    let plain = r.profile(&[]);
    r.arena.put(header::FLAGS, 2);
    let profile = r.profile(&[]);
    assert_eq!(natives(&profile), [found("java/lang/Object", "hashCode", 0, 10), found("java/lang/Object", "getClass", 0, 10)]);
    assert_eq!(said(&profile), None);
    // Merged with a run that loaded an overriding class, it is one method with it.
    let (mut r, a, b) = program(HASH_AND_CLASS);
    let tree = r.arena.tree("main", 0, 1);
    let m = r.arena.node(tree, tree, a, 0, &[10]);
    r.arena.node(tree, m, b, 0, &[7]);
    for order in [[plain.clone(), r.profile(&[])], [r.profile(&[]), plain]] {
        let all = merged(&order);
        assert_eq!(all.methods.len(), 2);
        assert_eq!(natives(&all), [found("java/lang/Object", "hashCode", 0, 13), found("java/lang/Object", "getClass", 0, 20)]);
    }
}

#[test]
fn calls_of_the_superclass_are_told_beside_others_that_are_not() {
    let mut r = library();
    r.class(overriding(), false, Level::Precise);
    let calls = [("A", "hashCode", "()I"), ("java/lang/Object", "hashCode", "()I")];
    let a = r.class(calling(op::INVOKESPECIAL, &calls), false, Level::Precise)[0];
    r.arena.put(header::FLAGS, 2);
    let tree = r.arena.tree("main", 0, 1);
    r.arena.node(tree, tree, a, 0, &[10]);
    let profile = r.profile(&[]);
    assert_eq!(natives(&profile), [found("java/lang/Object", "hashCode", 0, 10)]);
    assert!(said(&profile).is_some());
    // One of two calls is charged, and it is said why.
    let model = Library.load("jop").unwrap();
    let measures = measure(&profile).unwrap();
    let calls = native_calls(&profile, &measures).unwrap();
    let options = Options { cache: Some(CacheSpec::IDEAL), ..Options::default() };
    let on = |natives| evaluate(&profile, &measures, natives, &model, &options).unwrap();
    let (some, none) = (on(&calls), on(&[]));
    let cycles = |result: &Evaluation| result.nodes.get(1).cycles;
    let price = model.invoke(InvokeKind::Special, None).unwrap();
    assert_eq!(cycles(&none) - cycles(&some), 10 * price);
    assert!(some.notes.iter().any(|note| note.contains("as if Java methods had been called")), "{:?}", some.notes);
}

#[test]
fn arrays_have_the_methods_of_object_and_method_handles_are_no_natives() {
    let (mut r, a, _) = program(&[
        ("[I", "clone", "()Ljava/lang/Object;"),
        ("java/lang/invoke/MethodHandle", "invokeExact", "([Ljava/lang/Object;)Ljava/lang/Object;"),
        ("Unknown", "hashCode", "()J"),
    ]);
    let tree = r.arena.tree("main", 0, 1);
    r.arena.node(tree, tree, a, 0, &[3]);
    assert_eq!(natives(&r.profile(&[])), [found("java/lang/Object", "clone", 0, 3)]);
}
