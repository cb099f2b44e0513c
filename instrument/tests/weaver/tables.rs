//! The attributes of code move with it: checked on every class of the sample, by readers that know nothing of the weaver.

use cprof_instrument::classfile::instructions::Instructions;
use cprof_instrument::classfile::{ClassFile, Code, Method};
use cprof_instrument::weave::Policy;
use cprof_instrument::{Level, Options, Treatment, Weaver, WovenMethod};

use crate::support::assembler::{Class, Code as AssembledCode};
use crate::support::frames::{self, Frame, Type};
use crate::support::jdk;

pub struct Everything(pub u32);

impl Policy for Everything {
    fn treat(&mut self, _: &ClassFile<'_>, _: &Method<'_>) -> Result<Treatment, &'static str> {
        Ok(Treatment::default())
    }

    fn id(&mut self, _: &Method<'_>, _: u16, _: bool) -> Option<u32> {
        self.0 += 1;
        Some(self.0)
    }
}

/// The content of an attribute of code.
fn attribute<'c>(class: &ClassFile<'_>, code: &Code<'c>, wanted: &str) -> Option<&'c [u8]> {
    let named = |name: u16| class.pool.utf8(name) == Ok(wanted.as_bytes());
    code.attributes().find(|&(name, ..)| named(name)).map(|(.., content)| content)
}

/// A method before and after.
struct Pair<'p> {
    classes: [&'p ClassFile<'p>; 2],
    methods: [&'p Method<'p>; 2],
    codes: [Code<'p>; 2],
    woven: &'p WovenMethod,
    /// Slots of the injected locals.
    shift: usize,
    name: String,
}

impl Pair<'_> {
    fn table(&self, side: usize, wanted: &str) -> Option<&[u8]> {
        attribute(self.classes[side], &self.codes[side], wanted)
    }

    fn parameter_slots(&self) -> usize {
        let parameters = frames::initial(self.classes[0], self.methods[0]);
        parameters.iter().map(|t| if matches!(t, Type::Plain(3 | 4)) { 2 } else { 1 }).sum()
    }

    /// Where an instruction's code begins, injected instructions included, and where the next one's does.
    fn place(&self, bci: u32) -> (u32, u32) {
        let map = &self.woven.map;
        let at = map.partition_point(|i| i.bci < bci);
        assert!(at == map.len() || map[at].bci == bci, "{}: {bci} is an instruction", self.name);
        let position = |i: usize| map.get(i).map_or(u32::MAX, |i| i.arrival);
        (position(at), position(at + 1))
    }
}

/// Every method that is woven, of the sample and of the classes made here.
fn each_method(check: &mut dyn FnMut(&Pair<'_>)) {
    let own = [("maps that hold less than the parameters", fewer_locals()), ("maps around detours", detours())];
    let own = own.iter().map(|(name, bytes)| (*name, bytes));
    let options = Options { level: Level::Precise, sites: false, caches: false, inherited_calls: false, maps: true };
    let mut weaver = Weaver::new();
    for (name, bytes) in own.chain(jdk::classes().iter().map(|(name, bytes)| (name.as_str(), bytes))) {
        let Some(woven) = weaver.weave(bytes, &options, &mut Everything(15)).expect("a good class") else { continue };
        assert_eq!(woven.skipped, [], "{name}");
        let (old, new) = (ClassFile::parse(bytes).expect("good"), ClassFile::parse(&woven.bytes).expect("good"));
        for method in &woven.methods {
            let methods = [&old, &new].map(|class| &class.methods[usize::from(method.index)]);
            let code = |k: usize| [&old, &new][k].code(methods[k]).expect("readable").expect("code");
            let shift = match (method.leaf, method.counters) {
                (true, 1) => 0,
                (true, _) => 2,
                _ => 5,
            };
            let name = format!("{name} {}{}", methods[0].name_str(), methods[0].descriptor_str());
            check(&Pair { classes: [&old, &new], methods, codes: [code(0), code(1)], woven: method, shift, name });
        }
    }
}

/// A method of two int parameters with these stack maps.
fn with_maps(count: u16, maps: &[u8], build: impl FnOnce(&mut AssembledCode, &mut Class)) -> Vec<u8> {
    let mut class = Class::new(52, "T", "S");
    let mut code = AssembledCode::new(4, 12);
    build(&mut code, &mut class);
    let mut table = count.to_be_bytes().to_vec();
    table.extend_from_slice(maps);
    code.attributes.push(("StackMapTable", table));
    class.method(8, "m", "(II)V", &code).expect("it fits");
    class.finish()
}

/// Stack maps that end below the place of the injected locals, and come back above it.
fn fewer_locals() -> Vec<u8> {
    #[rustfmt::skip]
    let maps = [
        252, 0, 4, 4, // append a long: (int, int, long)
        255, 0, 3, 0, 0, 0, 0, // full: nothing at all
        252, 0, 0, 1, // append: (int)
        253, 0, 0, 1, 4, // append: (int, int, long)
        1, // same
        250, 0, 1, // chop one: (int, int)
        250, 0, 1, // chop one more: (int)
        254, 0, 1, 1, 1, 1, // append: (int, int, int, int)
        249, 0, 1, // chop two: (int, int)
        64 + 1, 1, // the same, and an int on the stack
        247, 0, 100, 1, // likewise, further on
        251, 0, 100, // same, further on
        255, 0, 1, 0, 1, 2, 0, 2, 1, 1, // full: (float) and two ints on the stack
        255, 0, 1, 0, 3, 1, 1, 2, 0, 1, 4, // full: (int, int, float) and a long on the stack
    ];
    with_maps(14, &maps, |code, class| {
        let run = class.pool.method("E", "run", "()V");
        code.put(&[0; 300]).put_u2(184, run).put(&[177]);
    })
}

/// A conditional jump that needs a detour, from and to where other locals live than on the way.
fn detours() -> Vec<u8> {
    let mut maps = vec![252, 0, 0, 1]; // behind the store: (int, int, int)
    let (mut count, mut last) = (1, 0);
    let mut sites = Vec::new();
    let bytes = |maps: &[u8], count: u16, sites: &mut Vec<usize>| {
        with_maps(count, maps, |code, _| {
            let far = code.label();
            code.put(&[26]).jump(153, far).put(&[3, 61]);
            sites.push(code.bytes.len());
            for _ in 0..60 {
                for _ in 0..100 {
                    code.put(&[26, 3, 108, 87]); // local 0 / 0
                }
                let next = code.label();
                code.jump(167, next).place(next);
                sites.push(code.bytes.len());
            }
            code.put(&[0]).place(far);
            sites.push(code.bytes.len());
            code.put(&[177]);
        })
    };
    bytes(&maps, 1, &mut sites); // once for the places
    maps[1..3].copy_from_slice(&(sites[0] as u16).to_be_bytes());
    last += sites[0];
    for &site in &sites[1..sites.len() - 1] {
        maps.push(251); // same
        maps.extend_from_slice(&((site - last - 1) as u16).to_be_bytes());
        (count, last) = (count + 1, site);
    }
    maps.extend_from_slice(&[250, 0, 0]); // where the jump lands: (int, int)
    bytes(&maps, count + 1, &mut Vec::new())
}

fn u2(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// A frame's locals with the injected ones in their place, without the useless slots at the end.
fn with_ours(mut locals: Vec<Type>, insert_at: usize, shift: usize) -> Vec<Type> {
    let ours = [Type::Plain(4), Type::Half, Type::Plain(4), Type::Half, Type::Plain(1)];
    locals.resize(locals.len().max(insert_at), Type::Plain(0));
    locals.splice(insert_at..insert_at, ours[..shift].iter().cloned());
    trimmed(locals)
}

fn trimmed(mut locals: Vec<Type>) -> Vec<Type> {
    while locals.last() == Some(&Type::Plain(0)) {
        locals.pop();
    }
    locals
}

#[test]
fn stack_maps_say_what_they_said_and_ours() {
    let (mut compared, mut gaps) = (0u64, 0u64);
    each_method(&mut |pair| {
        let Some(old) = pair.table(0, "StackMapTable") else { return };
        let old = frames::read(pair.classes[0], pair.methods[0], old);
        let new = pair.table(1, "StackMapTable").map(|t| frames::read(pair.classes[1], pair.methods[1], t));
        let new = new.unwrap_or_default();
        let parameters = pair.parameter_slots();
        let moved = |item: &Type| match item {
            &Type::Uninitialized(bci) => {
                let (from, to) = pair.place(bci.into());
                let opcodes = pair.codes[1].bytes;
                // The `new` itself, which is the last instruction of its place.
                let at = (from..to.min(opcodes.len() as u32)).rev().find(|&at| opcodes[at as usize] == 187 && at + 3 == to);
                Type::Uninitialized(at.expect("a new where there was one") as u16)
            }
            other => other.clone(),
        };
        let agrees = |insert_at: usize| {
            old.iter().all(|(&bci, frame)| {
                let locals = with_ours(frame.locals.iter().map(moved).collect(), insert_at, pair.shift);
                let stack = frame.stack.iter().map(moved).collect();
                let found =
                    new.get(&pair.place(bci).0).map(|f| Frame { locals: trimmed(f.locals.clone()), stack: f.stack.clone() });
                found == Some(Frame { locals, stack })
            })
        };
        // Where a long is stored across the last parameter, ours stand a little higher.
        let gap = (0..3).find(|gap| agrees(parameters + gap));
        assert!(gap.is_some(), "{}: {old:?} became {new:?}", pair.name);
        // Wherever a jump, switch or exception lands, there is one.
        let code = &pair.codes[1];
        let instructions = Instructions::new(code.bytes, code.at).map(|i| i.expect("whole"));
        let jumps = instructions.flat_map(|i| i.jump_target().into_iter().chain(i.switch_targets()));
        for target in jumps.chain(code.handlers().map(|h| h.target.into())) {
            assert!(new.contains_key(&(target as u32)), "{}: no stack map at {target}", pair.name);
        }
        gaps += u64::from(gap != Some(0));
        compared += old.len() as u64;
    });
    assert!(compared > 10_000, "{compared} stack maps compared");
    assert!(gaps < compared / 100, "{gaps} methods with room between the parameters and the injected locals");
}

#[test]
fn lines_and_variables_move_along() {
    let (mut lines, mut variables, mut unmoved) = (0u64, 0u64, 0u64);
    each_method(&mut |pair| {
        let position = |bci: u16| if bci == 0 { 0 } else { pair.place(bci.into()).0 };
        if let (Some(old), new) = (pair.table(0, "LineNumberTable"), pair.table(1, "LineNumberTable")) {
            let new = new.expect("a table of lines");
            assert_eq!(old.len(), new.len(), "{}", pair.name);
            for row in (2..old.len()).step_by(4) {
                assert_eq!(u32::from(u2(new, row)), position(u2(old, row)), "{}", pair.name);
                assert_eq!(u2(new, row + 2), u2(old, row + 2), "{}: the line", pair.name);
                lines += 1;
            }
        }
        if let (Some(old), new) = (pair.table(0, "LocalVariableTable"), pair.table(1, "LocalVariableTable")) {
            let new = new.expect("a table of variables");
            let parameters = pair.parameter_slots();
            for row in (2..old.len()).step_by(10) {
                assert_eq!(u32::from(u2(new, row)), position(u2(old, row)), "{}", pair.name);
                assert_eq!(old[row + 4..row + 8], new[row + 4..row + 8], "{}: name and type", pair.name);
                let (slot, now) = (usize::from(u2(old, row + 8)), usize::from(u2(new, row + 8)));
                assert!(now == slot || now == slot + pair.shift, "{}: slot {slot} became {now}", pair.name);
                assert!(slot >= parameters || now == slot, "{}: a parameter stays in slot {slot}", pair.name);
                // A few may stay below room for a long stored across the last parameter.
                unmoved += u64::from(slot >= parameters && now == slot && pair.shift > 0);
                variables += 1;
            }
        }
    });
    assert!(lines > 10_000, "{lines} lines compared");
    assert!(unmoved * 100 <= variables, "{unmoved} of {variables} variables behind the parameters were not moved");
}

#[test]
fn unreachable_code_may_have_half_a_value_in_the_parameters_place() {
    let maps = [255, 0, 4, 0, 2, 1, 4, 0, 0]; // full: (int, long), where nothing leads to
    let bytes = with_maps(1, &maps, |code, class| {
        let run = class.pool.method("E", "run", "()V");
        code.put_u2(184, run).put(&[177, 31, 88, 177]); // lload_1, pop2, return
    });
    let options = Options { level: Level::Precise, sites: false, caches: false, inherited_calls: false, maps: false };
    let woven = Weaver::new().weave(&bytes, &options, &mut Everything(15)).expect("a good class");
    let woven = woven.expect("a method");
    assert_eq!((woven.methods.len(), woven.skipped.len()), (1, 0));
}

#[test]
fn type_annotations_that_lead_nowhere_stay_as_they_are() {
    let variable = |start: u8, length: u8| [0x40, 0, 1, 0, start, 0, length, 0, 2, 0, 0, 9, 0, 0]; // of local 2
    let new = |bci: u8| [0x44, 0, bci, 0, 0, 9, 0, 0];
    let all = [&[0, 4][..], &variable(3, 2), &new(3), &variable(39, 2), &new(39)].concat();
    let unknown = [0, 1, 0xFF, 1, 2, 3];
    let mut class = Class::new(49, "T", "S");
    let mut code = AssembledCode::new(2, 4);
    let run = class.pool.method("E", "run", "()V");
    code.put_u2(184, run).put(&[3, 61, 177]); // E.run(), local 2 = 0
    code.attributes.push(("RuntimeVisibleTypeAnnotations", all.clone()));
    code.attributes.push(("RuntimeInvisibleTypeAnnotations", unknown.to_vec()));
    class.method(8, "m", "(II)V", &code).expect("it fits");
    let options = Options { level: Level::Precise, sites: false, caches: false, inherited_calls: false, maps: true };
    let woven = Weaver::new().weave(&class.finish(), &options, &mut Everything(15)).expect("a good class").expect("a method");
    assert_eq!(woven.skipped, []);
    let class = ClassFile::parse(&woven.bytes).expect("good");
    let code = class.code(&class.methods[0]).expect("readable").expect("code");
    let table = |wanted: &str| attribute(&class, &code, wanted).expect("it is still there");
    let moved = table("RuntimeVisibleTypeAnnotations");
    let at = woven.methods[0].map.iter().find(|i| i.bci == 3).expect("an instruction").at;
    assert_eq!([u2(moved, 9), u2(moved, 17)], [7, at as u16], "the local and the instruction");
    assert_eq!(moved[24..], all[24..]);
    assert_eq!(table("RuntimeInvisibleTypeAnnotations"), unknown);
}

/// As some optimisers leave them. Of a line, the instruction before is not; variables there are the JVM's to refuse.
#[test]
fn what_points_into_an_instruction_or_behind_the_code_does_so_afterwards() {
    let mut class = Class::new(49, "T", "S");
    let mut code = AssembledCode::new(2, 3);
    let run = class.pool.method("E", "run", "()V");
    // 0: E.run(), 3: 300, 6: local 2 = it, 7: return
    code.put_u2(184, run).put(&[17, 1, 44, 61, 177]);
    let ends = [0, 3, 4, 5, 6, 7, 8];
    let variables = ends.map(|start: u8| [0, start, 0, 8 - start, 0, 1, 0, 1, 0, 2]).concat();
    let lengths = ends.map(|end: u8| [0, 0, 0, end, 0, 1, 0, 1, 0, 2]).concat();
    let lines = ends.map(|start: u8| [0, start, 0, 9]).concat();
    code.attributes.push(("LocalVariableTable", [&[0, 2 * ends.len() as u8][..], &variables, &lengths].concat()));
    code.attributes.push(("LineNumberTable", [&[0, ends.len() as u8][..], &lines].concat()));
    class.method(8, "m", "(II)V", &code).expect("it fits");
    let options = Options { level: Level::Precise, sites: false, caches: false, inherited_calls: false, maps: true };
    let woven = Weaver::new().weave(&class.finish(), &options, &mut Everything(15)).expect("a good class").expect("a method");
    let class = ClassFile::parse(&woven.bytes).expect("good");
    let code = class.code(&class.methods[0]).expect("readable").expect("code");
    let table = |wanted: &str| attribute(&class, &code, wanted).expect("it is still there");
    let starts: Vec<u32> = Instructions::new(code.bytes, 0).map(|i| i.expect("good").bci).collect();
    let at = |bci: u32| woven.methods[0].map.iter().find(|i| i.bci == bci).expect("an instruction").at;
    // Positions of an instruction, in it, behind the code.
    let is_like = |new: u32, old: u8| match old {
        4 | 5 => at(3) < new && new < at(6) && !starts.contains(&new),
        8 => new as usize == code.bytes.len(),
        _ => starts.contains(&new),
    };
    let (variables, lines) = (table("LocalVariableTable"), table("LineNumberTable"));
    for (i, old) in ends.into_iter().enumerate() {
        for new in [u2(variables, 2 + 10 * i), u2(lines, 2 + 4 * i)] {
            assert!(is_like(new.into(), old), "{old} begins at {new}");
        }
        let end = u2(variables, 4 + 10 * (ends.len() + i)).into();
        assert!(old == 8 || is_like(end, old), "{old} ends at {end}");
    }
}

/// What HotSpot calls a local that a load at `bci` names, if it has no other way to call it (bytecodeUtils.cpp,
/// `print_local_var`).
fn called(class: &ClassFile<'_>, table: Option<&[u8]>, slot: usize, bci: usize) -> String {
    let rows = table.map_or(&[][..], |table| table[2..].as_chunks::<10>().0);
    let holds = |row: &&[u8; 10]| {
        let start = usize::from(u2(*row, 0));
        usize::from(u2(*row, 8)) == slot && (start..start + usize::from(u2(*row, 2))).contains(&bci)
    };
    let name = |row: &[u8; 10]| String::from_utf8_lossy(class.pool.utf8(u2(row, 4)).expect("a name")).into_owned();
    rows.iter().find(holds).map_or_else(|| format!("<local{slot}>"), name)
}

#[test]
fn locals_are_called_as_before() {
    let (mut named, mut nameless) = (0u64, 0u64);
    each_method(&mut |pair| {
        let [old, new] = [0, 1].map(|side| pair.table(side, "LocalVariableTable"));
        // HotSpot refuses a class that names a local twice by the same name (classFileParser.cpp, `LVT_Hash`, which does not
        // compare types).
        let rows = new.map_or(&[][..], |table| table[2..].as_chunks::<10>().0);
        let mut keys: Vec<_> = rows.iter().map(|row| (u2(row, 0), u2(row, 2), u2(row, 4), u2(row, 8))).collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), rows.len(), "{}", pair.name);
        for i in Instructions::new(pair.codes[0].bytes, pair.codes[0].at).map(|i| i.expect("whole")) {
            let (21 | 25 | 26..=29 | 42..=45, Some(slot)) = (i.opcode, i.local().map(usize::from)) else { continue };
            if slot < pair.parameter_slots() {
                continue;
            }
            let before = called(pair.classes[0], old, slot, i.bci as usize);
            // The injected instructions come first.
            let (from, to) = pair.place(i.bci);
            let code = &pair.codes[1];
            let moved = Instructions::new(code.bytes, code.at).map(|i| i.expect("whole"));
            let there = moved.filter(|j| (from..to).contains(&j.bci) && j.local().is_some()).find(|j| {
                (i.opcode >= 42 || i.opcode == 25) == (j.opcode >= 42 || j.opcode == 25)
                    && [slot, slot + pair.shift].map(Some).contains(&j.local().map(usize::from))
            });
            let there = there.unwrap_or_else(|| panic!("{}: the load at {} is nowhere", pair.name, i.bci));
            let after = called(pair.classes[1], new, usize::from(there.local().expect("a load")), there.bci as usize);
            assert_eq!(after, before, "{}: at {}", pair.name, i.bci);
            *if before.starts_with('<') { &mut nameless } else { &mut named } += 1;
        }
    });
    assert!(named > 1000 && nameless > 1000, "{named} loads of locals with names, {nameless} without");
}

#[test]
fn classes_older_than_such_names_get_none() {
    for (version, named) in [(48, false), (49, true)] {
        let mut class = Class::new(version, "T", "S");
        let mut code = AssembledCode::new(2, 4);
        let run = class.pool.method("E", "run", "()V");
        code.put_u2(184, run).put(&[3, 61, 28, 87, 177]); // E.run(), local 2 = 0, load it
        class.method(8, "m", "(II)V", &code).expect("it fits");
        let options = Options { level: Level::Precise, sites: false, caches: false, inherited_calls: false, maps: false };
        let woven = Weaver::new().weave(&class.finish(), &options, &mut Everything(15)).expect("a good class").expect("a method");
        let text = b"<local2>";
        assert_eq!(woven.bytes.windows(text.len()).any(|window| window == text), named, "version {version}");
    }
}
