//! What does not fit: methods, jumps, constants.

use std::time::{Duration, Instant};

use cprof_instrument::classfile::{ClassFile, tag};
use cprof_instrument::{Level, Options, SkipReason, Weaver, Woven};

use crate::support::assembler::{Class, Code};
use crate::tables::Everything;

const OPTIONS: Options = Options { level: Level::Precise, sites: false, caches: false, inherited_calls: false, maps: false };

fn weave(build: impl FnOnce(&mut Code, &mut Class)) -> Woven {
    let mut class = Class::new(49, "T", "S");
    let mut code = Code::new(8, 8);
    build(&mut code, &mut class);
    class.method(8, "m", "(I)V", &code).expect("it fits");
    // Ids that need a constant each.
    Weaver::new().weave(&class.finish(), &OPTIONS, &mut Everything(100_000)).expect("well-formed").expect("a method")
}

/// So many `i / 0`, four bytes each, seven with their ids.
fn divide(code: &mut Code, times: usize) {
    for _ in 0..times {
        code.put(&[26, 3, 108, 87]);
    }
}

#[test]
fn a_method_that_would_grow_too_long_counts_by_the_block() {
    let woven = weave(|code, _| {
        divide(code, 12_000);
        code.put(&[177]);
    });
    assert_eq!(woven.skipped, []);
    assert_eq!(woven.methods[0].level, Level::Block);
}

#[test]
fn a_method_without_any_room_is_left_alone_and_named() {
    let woven = weave(|code, _| {
        divide(code, 16_380);
        code.put(&[177]);
    });
    assert!(woven.methods.is_empty());
    assert_eq!(woven.skipped[0].reason, SkipReason::TooLarge);
}

/// JVMS §4.7.3. With our locals the JVM would take the class.
#[test]
fn a_method_without_room_for_its_parameters_is_the_jvms_to_refuse() {
    for (locals, accepted) in [(3, true), (2, false)] {
        let mut class = Class::new(49, "T", "S");
        let mut code = Code::new(8, locals);
        code.put(&[177]);
        class.method(8, "m", "(IJ)V", &code).expect("it fits");
        let woven = Weaver::new().weave(&class.finish(), &OPTIONS, &mut Everything(15)).expect("well-formed").expect("a method");
        let refused = woven.skipped.first().map(|s| s.reason.to_string());
        assert_eq!(woven.methods.len(), usize::from(accepted));
        assert_eq!(refused.is_some_and(|why| why.contains("fewer locals than its parameters take")), !accepted);
    }
}

/// Of a class with this method alone; `None` where it is woven.
fn refusal(version: u16, (access, name, descriptor): (u16, &str, &str), code: &Code) -> Option<String> {
    let mut class = Class::new(version, "T", "S");
    class.method(access, name, descriptor, code).expect("it fits");
    let woven = Weaver::new().weave(&class.finish(), &OPTIONS, &mut Everything(15)).expect("well-formed").expect("a method");
    assert_eq!(woven.methods.len() + woven.skipped.len(), 1);
    woven.skipped.first().map(|s| s.reason.to_string())
}

/// As above: the second half of a long or double.
#[test]
fn a_long_beyond_the_last_local_is_the_jvms_to_refuse() {
    for (locals, accepted) in [(3, true), (2, true), (1, false)] {
        let mut code = Code::new(8, locals);
        code.put(&[9, 63, 177]); // lconst_0, lstore_0
        let refusal = refusal(49, (8, "m", "(I)V"), &code);
        assert_eq!(
            refusal.is_none_or(|why| !why.contains("a long or double beyond the last local")),
            accepted,
            "{locals} locals"
        );
    }
}

/// JVMS §4.7.4, §4.7.12 to §4.7.14. Written anew, they would have nothing behind their rows, and one of each would be there.
#[test]
fn tables_that_the_jvm_refuses_are_not_mended() {
    const LINES: (&str, &[u8]) = ("LineNumberTable", &[0, 1, 0, 0, 0, 1]);
    const VARIABLES: (&str, &[u8]) = ("LocalVariableTable", &[0, 0]);
    const TYPES: (&str, &[u8]) = ("LocalVariableTypeTable", &[0, 0]);
    const MAPS: (&str, &[u8]) = ("StackMapTable", &[0, 0]);
    let refusal = |tables: &[(&'static str, Vec<u8>)]| {
        let mut code = Code::new(8, 8);
        code.put(&[177]);
        code.attributes = tables.to_vec();
        refusal(51, (8, "m", "()V"), &code)
    };
    for (name, content) in [LINES, VARIABLES, TYPES, MAPS] {
        assert_eq!(refusal(&[(name, content.to_vec())]), None, "{name}");
        let why = refusal(&[(name, [content, &[0]].concat())]).unwrap_or_default();
        assert!(why.contains("bytes behind a table's last row"), "{name}: {why:?}");
    }
    let maps = (MAPS.0, MAPS.1.to_vec());
    let why = refusal(&[maps.clone(), maps]).unwrap_or_default();
    assert!(why.contains("a second table of stack maps"), "{why:?}");
}

/// HotSpot would write out of bounds (classFileParser.cpp, `copy_localvariable_table`), or refuse the class.
#[test]
fn locals_get_no_names_where_their_tables_have_no_room_or_none_are_expected() {
    let rows_of = |class: &Class| {
        let bytes = class.finish();
        let woven = Weaver::new().weave(&bytes, &OPTIONS, &mut Everything(15)).expect("well-formed").expect("a method");
        assert_eq!(woven.skipped, []);
        let class = ClassFile::parse(&woven.bytes).expect("well-formed");
        let code = class.code(&class.methods[0]).expect("readable").expect("code");
        let tables = code.attributes().filter(|&(name, ..)| class.pool.utf8(name) == Ok(b"LocalVariableTable"));
        tables.map(|(.., content)| usize::from(u16::from_be_bytes([content[0], content[1]]))).sum::<usize>()
    };
    let with = |table: &'static str, rows: u16| {
        let mut class = Class::new(49, "T", "S");
        let (name, of) = (class.pool.utf8("x"), class.pool.utf8("I"));
        let mut code = Code::new(8, 8);
        let run = class.pool.method("E", "run", "()V");
        code.put_u2(184, run).put(&[21, 4, 87, 177]); // E.run(), local 4 is loaded
        let row = [0, name, of, 5].map(u16::to_be_bytes).concat();
        let rows = (0..rows).flat_map(|i| [&(i % 7).to_be_bytes()[..], &row].concat());
        code.attributes.push((table, rows.collect()));
        let count = (code.attributes[0].1.len() / 10) as u16;
        code.attributes[0].1.splice(0..0, count.to_be_bytes());
        class.method(8, "m", "()V", &code).expect("it fits");
        rows_of(&class)
    };
    assert_eq!(with("LocalVariableTable", 2), 3);
    assert_eq!([65_534, 65_535].map(|rows| with("LocalVariableTable", rows)), [65_535, 65_535]);
    assert_eq!(with("LocalVariableTypeTable", 0), 1);
    assert_eq!(with("LocalVariableTypeTable", 1), 0);
}

/// Constants and locals that are not there might be, woven.
#[test]
fn variables_that_the_jvm_refuses_are_not_mended() {
    for (name, of, local, accepted) in
        [(0, 0, 7, true), (900, 0, 7, false), (0, 900, 7, false), (0, 0, 8, false), (0, 1, 7, false)]
    {
        let mut class = Class::new(49, "T", "S");
        let (x, types) = (class.pool.utf8("x"), [class.pool.utf8("I"), class.pool.utf8("J")]);
        let mut code = Code::new(8, 8);
        code.put(&[177]);
        let (name, of) = (if name == 0 { x } else { name }, types.get(of).copied().unwrap_or(900));
        code.attributes.push(("LocalVariableTable", [1, 0, 1, name, of, local].map(u16::to_be_bytes).concat()));
        class.method(8, "m", "()V", &code).expect("it fits");
        let woven = Weaver::new().weave(&class.finish(), &OPTIONS, &mut Everything(15)).expect("well-formed").expect("a method");
        assert_eq!(woven.skipped.is_empty(), accepted, "{name} {of} {local}: {:?}", woven.skipped);
    }
}

/// From version 51 on it may be anything.
#[test]
fn padding_of_switches_is_zero_in_old_classes() {
    for (version, padding, accepted) in [(49, 0, true), (49, 1, false), (50, 1, false), (51, 1, true)] {
        let mut code = Code::new(8, 8);
        // iconst_0, lookupswitch without pairs to the return behind it
        code.put(&[3, 171, 0, padding, 0, 0, 0, 11, 0, 0, 0, 0, 177]);
        let refusal = refusal(version, (8, "m", "()V"), &code);
        assert_eq!(refusal.is_none_or(|why| !why.contains("padding")), accepted, "version {version}, {padding}");
    }
}

/// JVMS §2.9.2: their flags are looked at from version 51 on.
#[test]
fn an_old_initialiser_is_static_whatever_its_flags_say() {
    for (version, accepted) in [(49, true), (50, true), (51, false)] {
        let mut code = Code::new(0, 0);
        code.put(&[177]);
        assert_eq!(refusal(version, (0, "<clinit>", "()V"), &code).is_none(), accepted, "version {version}");
    }
}

#[test]
fn a_method_without_room_for_another_attribute_is_left_alone_and_named() {
    for (attributes, skipped) in [(65_534, None), (65_535, Some(SkipReason::TooLarge))] {
        let mut class = Class::new(51, "T", "S");
        let mut code = Code::new(8, 8);
        let run = class.pool.method("E", "run", "()V");
        code.put_u2(184, run).put(&[177]);
        code.attributes.resize(attributes, ("Unknown", Vec::new()));
        class.method(8, "m", "()V", &code).expect("it fits");
        let woven = Weaver::new().weave(&class.finish(), &OPTIONS, &mut Everything(15)).expect("well-formed").expect("a method");
        assert_eq!(woven.skipped.first().map(|s| s.reason.clone()), skipped);
    }
}

#[test]
fn the_very_first_instruction_is_covered() {
    let woven = weave(|code, class| {
        let method = class.pool.method("E", "run", "()V");
        code.put_u2(184, method).put(&[177]);
    });
    let class = ClassFile::parse(&woven.bytes).expect("well-formed");
    let code = class.code(&class.methods[0]).expect("readable").expect("code");
    let handler = code.handlers().next().expect("a catch-any handler");
    // Three calls: current, enter, and the program's.
    let calls: Vec<_> = (0..code.bytes.len()).filter(|&at| code.bytes[at] == 184).take(3).collect();
    assert!((handler.start..handler.end).contains(&(calls[2] as u16)), "{handler:?} of {calls:?}");
    assert!(usize::from(handler.start) > calls[1], "the entry itself is not covered: its node is not there yet");
}

/// Conditional jumps reach 32 KB; woven, these would have to reach further.
fn far_conditionals(number: usize, divisions: usize) -> Woven {
    weave(|code, _| {
        let far = code.label();
        for _ in 0..number {
            code.put(&[26]).jump(153, far);
        }
        // Here and there a place where detours may stand.
        for _ in 0..divisions / 100 {
            divide(code, 100);
            let next = code.label();
            code.jump(167, next).place(next);
        }
        code.place(far).put(&[177]);
    })
}

#[test]
fn conditional_jumps_that_reach_no_longer_take_a_detour() {
    let woven = far_conditionals(20, 7_500);
    assert_eq!(woven.skipped, []);
    assert_eq!(woven.methods[0].level, Level::Precise);
}

#[test]
fn thousands_of_detours_are_found_in_reasonable_time() {
    let begin = Instant::now();
    let woven = far_conditionals(700, 6_000);
    assert_eq!(woven.methods[0].level, Level::Precise);
    let class = ClassFile::parse(&woven.bytes).expect("well-formed");
    let integers = (1..class.pool.count() as u16).filter(|&i| class.pool.tag(i) == Ok(tag::INTEGER)).count();
    assert_eq!(integers, 1, "the method's id, once, however often the method was written");
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
}

#[test]
fn a_full_constant_pool_leaves_the_class_alone() {
    let mut class = Class::new(49, "T", "S");
    let mut code = Code::new(1, 1);
    code.put(&[177]);
    class.method(8, "m", "()V", &code).expect("it fits");
    for value in 0..65_525 {
        class.pool.integer(value);
    }
    let result = Weaver::new().weave(&class.finish(), &OPTIONS, &mut Everything(15));
    assert_eq!(result.err().map(|error| error.what), Some("no room for more constants"));
}
