//! The attributes of code move with it: checked on every class of the sample, by readers that know nothing of the weaver.

use cprof_instrument::classfile::{ClassFile, Code, Method};
use cprof_instrument::weave::Policy;
use cprof_instrument::{Level, Options, Treatment, Weaver, WovenMethod};

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
        let named = |name: u16| self.classes[side].pool.utf8(name) == Ok(wanted.as_bytes());
        self.codes[side].attributes().find(|&(name, ..)| named(name)).map(|(.., content)| content)
    }

    /// Where an instruction's code begins, injected instructions included, and where the next one's does.
    fn place(&self, bci: u32) -> (u32, u32) {
        let map = &self.woven.map;
        let at = map.partition_point(|&(_, original)| original < bci);
        assert!(at == map.len() || map[at].1 == bci, "{}: {bci} is an instruction", self.name);
        let position = |i: usize| map.get(i).map_or(u32::MAX, |m| m.0);
        (position(at), position(at + 1))
    }
}

fn each_method(check: &mut dyn FnMut(&Pair<'_>)) {
    let options = Options { level: Level::Precise, sites: false, inherited_calls: false, maps: true };
    let mut weaver = Weaver::new();
    for (name, bytes) in jdk::classes() {
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
        let parameters = frames::initial(pair.classes[0], pair.methods[0]);
        let parameters = parameters.iter().map(|t| if matches!(t, Type::Plain(3 | 4)) { 2 } else { 1 }).sum::<usize>();
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
                let found = new.get(&pair.place(bci).0).map(|f| Frame { locals: trimmed(f.locals.clone()), stack: f.stack.clone() });
                found == Some(Frame { locals, stack })
            })
        };
        // Where a long is stored across the last parameter, ours stand a little higher.
        let gap = (0..3).find(|gap| agrees(parameters + gap));
        assert!(gap.is_some(), "{}: {old:?} became {new:?}", pair.name);
        gaps += u64::from(gap != Some(0));
        compared += old.len() as u64;
    });
    assert!(compared > 10_000, "{compared} stack maps compared");
    assert!(gaps < compared / 100, "{gaps} methods with room between the parameters and the injected locals");
}

#[test]
fn lines_and_variables_move_along() {
    let (mut lines, mut variables) = (0u64, 0u64);
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
            let parameters = usize::from(pair.codes[1].max_locals).min(frames::initial(pair.classes[0], pair.methods[0]).len());
            for row in (2..old.len()).step_by(10) {
                assert_eq!(u32::from(u2(new, row)), position(u2(old, row)), "{}", pair.name);
                assert_eq!(old[row + 4..row + 8], new[row + 4..row + 8], "{}: name and type", pair.name);
                let (slot, now) = (usize::from(u2(old, row + 8)), usize::from(u2(new, row + 8)));
                assert!(now == slot || now == slot + pair.shift, "{}: slot {slot} became {now}", pair.name);
                assert!(slot >= parameters || now == slot, "{}: a parameter stays in slot {slot}", pair.name);
                variables += 1;
            }
        }
    });
    assert!(lines > 10_000, "{lines} lines compared");
    println!("{lines} lines, {variables} variables");
}
