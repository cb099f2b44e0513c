//! What must hold for any bytes whatever; shared with the fuzz target.

use cprof_instrument::classfile::{ClassFile, Method};
use cprof_instrument::flow::Block;
use cprof_instrument::weave::Policy;
use cprof_instrument::{Level, Options, Planner, Treatment, Weaver};

/// Weaves everything, in every way in turn.
#[derive(Default)]
struct Everything {
    next: u32,
}

impl Policy for Everything {
    fn treat(&mut self, _: &ClassFile<'_>, method: &Method<'_>) -> Result<Treatment, &'static str> {
        let bits = method.index;
        Ok(Treatment { root: bits & 1 != 0, starts_counting: bits & 2 != 0, ends_thread: bits & 4 != 0 })
    }

    fn id(&mut self, _: &Method<'_>, _: u16, _: bool) -> Option<u32> {
        self.next += 9_999;
        Some(self.next)
    }
}

/// Weaves the bytes, which may be anything, and checks what comes out. Answers whether they were woven.
///
/// # Panics
/// If the weaver does, or writes what it cannot read.
pub fn check(weaver: &mut Weaver, bytes: &[u8]) -> bool {
    let choice = bytes.len();
    let options = Options {
        level: if choice & 1 == 0 { Level::Precise } else { Level::Block },
        sites: choice & 2 != 0,
        inherited_calls: choice & 4 != 0,
        maps: choice & 8 != 0,
        caches: choice & 16 != 0,
    };
    let Ok(Some(woven)) = weaver.weave(bytes, &options, &mut Everything::default()) else { return false };
    let (before, after) = (ClassFile::parse(bytes), ClassFile::parse(&woven.bytes));
    let (before, after) = (before.expect("it was woven"), after.expect("what was written can be read"));
    assert_eq!(before.name(), after.name());
    if before.name() != b"java/lang/Object" {
        assert_eq!(before.methods.len(), after.methods.len());
    }
    let mut outline = Planner::default();
    for method in &woven.methods {
        let (old, new) = (&before.methods[usize::from(method.index)], &after.methods[usize::from(method.index)]);
        assert_eq!((old.name, old.descriptor, old.access), (new.name, new.descriptor, new.access));
        let plan = cprof_instrument::plan(&before, old).expect("it was planned").expect("it has code");
        assert_eq!((plan.counters, plan.leaf), (method.counters, method.leaf));
        // What readers of recordings see of it.
        assert_eq!(outline.outline(&before, old), Ok(true));
        let places = |blocks: &[Block]| blocks.iter().map(|b| (b.start, b.end)).collect::<Vec<_>>();
        assert_eq!((places(&outline.graph.blocks), outline.counters), (places(&plan.blocks), plan.counters));
        assert_eq!(outline.edges, plan.edges);
        let code = after.code(new).expect("readable code").expect("code");
        assert!(code.handlers().all(|h| h.start < h.end && usize::from(h.end) <= code.bytes.len()));
        let replanned = cprof_instrument::plan(&after, new);
        assert!(replanned.is_ok(), "{}: the new code is malformed: {:?}", old.name_str(), replanned.err());
    }
    assert_eq!(
        woven.methods.len() + woven.skipped.len(),
        before.methods.iter().filter(|m| m.has_code()).count(),
        "what has code counts, or is named"
    );
    true
}
