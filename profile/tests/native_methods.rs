//! Calls of native methods, derived from their call sites.

use cprof_instrument::Level;
use cprof_instrument::abi::header;
use cprof_profile::measure::measure;
use cprof_profile::model::Profile;
use cprof_profile::natives::native_calls;
use cprof_profile::target::Bytecodes;
use cprof_synthetic::Recording;
use cprof_synthetic::classes::{ClassWriter, op};

/// Class, name, site and calls of every native method called.
fn natives(profile: &Profile) -> Vec<(String, String, u32, u64)> {
    let calls = native_calls(profile, &measure(profile, &Bytecodes).unwrap()).unwrap();
    let native = |n: u32| profile.natives[n as usize].clone();
    calls.iter().map(|c| (native(c.native).class, native(c.native).name, c.site, c.calls)).collect()
}

fn found(class: &str, name: &str, site: u32, calls: u64) -> (String, String, u32, u64) {
    (class.into(), name.into(), site, calls)
}

/// `Object` with native `hashCode`, `getClass` (final) and `clone`; `B.hashCode` in Java; `A.m`, whose code calls each of `calls`
/// on `this` and drops the result.
fn program(calls: &[(&str, &str, &str)]) -> (Recording, u32, u32) {
    let mut recording = Recording::new();
    let mut object = ClassWriter::new("java/lang/Object", "");
    object.native("hashCode", "()I", 0x0101);
    object.native("getClass", "()Ljava/lang/Class;", 0x0111);
    object.native("clone", "()Ljava/lang/Object;", 0x0104);
    recording.class(object.finish(), false, Level::Precise);
    let mut handle = ClassWriter::new("java/lang/invoke/MethodHandle", "java/lang/Object");
    handle.native("invokeExact", "([Ljava/lang/Object;)Ljava/lang/Object;", 0x0191);
    recording.class(handle.finish(), false, Level::Precise);
    let mut b = ClassWriter::new("B", "A");
    b.method("hashCode", "()I", 1, &[op::ICONST_1, 172]); // ireturn
    let b = recording.class(b.finish(), false, Level::Precise)[0];
    let mut a = ClassWriter::new("A", "java/lang/Object");
    let mut code = Vec::new();
    for (class, name, descriptor) in calls {
        let callee = a.methodref(class, name, descriptor);
        code.extend([op::ALOAD_0, op::INVOKEVIRTUAL, callee[0], callee[1], op::POP]);
    }
    code.push(op::RETURN);
    a.method("m", "()V", 1, &code);
    let a = recording.class(a.finish(), false, Level::Precise)[0];
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

#[test]
fn where_callees_are_folded_only_certain_calls_are_told() {
    let (mut r, a, _) = program(&[("A", "hashCode", "()I"), ("A", "getClass", "()Ljava/lang/Class;")]);
    r.arena.put(header::FLAGS, 2);
    let tree = r.arena.tree("main", 0, 1);
    r.arena.node(tree, tree, a, 0, &[10]);
    assert_eq!(natives(&r.profile(&[])), [found("java/lang/Object", "getClass", 0, 10)]);
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
