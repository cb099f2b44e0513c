//! Inserting: from a class file and its plans to the class file that counts itself.
//!
//! Append-only: new constants go behind the old ones, so that whatever code movement does not touch is copied byte for
//! byte. Per method: [`layout`] makes room for our locals, [`placement`] decides where counters go, [`writing`] writes the code,
//! instruction by instruction, [`body`] has it written until all jumps reach, [`frames`] and [`tables`] bring the attributes along,
//! [`method_info`] puts them together. [`sequences`] holds the injected bytecode itself, [`calls`] what it calls.

mod body;
mod calls;
mod forwarders;
mod frames;
mod layout;
mod method_info;
mod placement;
mod pool;
mod sequences;
mod tables;
mod writing;

pub use sequences::ENTRY_LENGTH;

use std::fmt;

use body::{Body, Design, Source};
use frames::{Around, Frames, Suits};
use layout::Layout;
use placement::{BlockCounters, Placement};
use pool::NewConstants;
use tables::Moved;

use crate::abi;
use crate::classfile::instructions::{Instruction, Instructions};
use crate::classfile::opcode::op;
use crate::classfile::stack_map::StackMapTable;
use crate::classfile::{ClassFile, Code, Error, Method, Pool, tag};
use crate::flow::{Graph, mark};
use crate::probes::{Level, Planner};

/// How classes are woven.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// How precisely departures are placed.
    pub level: Level,
    /// Contexts distinguish call sites.
    pub sites: bool,
    /// Method caches are simulated: returns look the caller up.
    pub caches: bool,
    /// The class's loader is not to be asked for the runtime class: it is called through methods that every class inherits from
    /// `java.lang.Object`, to which they are added when that class is woven. For the classes of all loaders but the JVM's own.
    pub inherited_calls: bool,
    /// Report in [`WovenMethod::map`] where instructions went.
    pub maps: bool,
}

/// What is to be done with a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Treatment {
    /// It begins a counted extent (`root=`).
    pub root: bool,
    /// Counting is switched on in its prologue (`System.initPhase1`).
    pub starts_counting: bool,
    /// The thread's tree is given back when it returns (`Thread.exit`, the first of a virtual thread).
    pub ends_thread: bool,
}

/// What the weaver asks whoever knows the JVM and the options.
pub trait Policy {
    /// What to do with a method that has code, or why it must stay as it is.
    fn treat(&mut self, class: &ClassFile<'_>, method: &Method<'_>) -> Result<Treatment, &'static str>;

    /// A new method id, for a method with so many counters; `None` if they are used up. Called once per woven method,
    /// in the order of the class file.
    fn id(&mut self, method: &Method<'_>, counters: u16, leaf: bool) -> Option<u32>;

    /// Whether `java.lang.Object` gets the methods for [`Options::inherited_calls`]. A class that is loaded already may get none
    /// (JVMTI, RetransformClasses).
    fn adds_methods(&self) -> bool {
        true
    }
}

/// A class that counts itself.
#[derive(Debug)]
pub struct Woven {
    /// The class file.
    pub bytes: Vec<u8>,
    /// The methods that count.
    pub methods: Vec<WovenMethod>,
    /// The methods with code that do not.
    pub skipped: Vec<Skipped>,
    /// Bytes of code of all of these.
    pub code_length: u64,
}

/// A method that counts itself.
#[derive(Debug, Clone)]
pub struct WovenMethod {
    /// Position in the class file's method table.
    pub index: u16,
    /// Its id.
    pub id: u32,
    /// Number of its counters.
    pub counters: u16,
    /// It publishes no node.
    pub leaf: bool,
    /// How precisely its departures are placed: less than asked for where more would not fit.
    pub level: Level,
    /// With [`Options::maps`]: where the program's instructions went; ascending.
    pub map: Vec<Copied>,
}

impl WovenMethod {
    /// The program's instruction at a position in the new code; `None` where that is injected code.
    pub fn instruction_at(&self, position: u32) -> Option<&Copied> {
        self.map.binary_search_by_key(&position, |i| i.at).ok().map(|found| &self.map[found])
    }
}

/// An instruction of the program's in the new code. All other positions are of injected code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Copied {
    /// Where control arrives for it: it stands here, or the injected code that is executed before it does.
    pub arrival: u32,
    /// Its position in the new code.
    pub at: u32,
    /// Its bytecode index in the original code.
    pub bci: u32,
    /// For what the counters say of a frame that is about to execute it: the bytecode index at which it is active. A jump that
    /// has been counted has reached its target; a frame that returns has left (`None`).
    pub counted: Option<u32>,
    /// The counters say of such a frame what they should. Not yet in a handler that is entered behind its monitorexit: a frame that
    /// is before that is as amid injected code.
    pub settled: bool,
}

/// A method with code that was left as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Position in the class file's method table.
    pub index: u16,
    /// Why.
    pub reason: SkipReason,
}

/// Why a method was left as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkipReason {
    /// The policy said so.
    Policy(&'static str),
    /// Its code or an attribute of it cannot be read.
    Malformed(Error),
    /// With counters it would be longer than 65535 bytes, or need jumps that reach too far.
    TooLarge,
    /// It has 65531 or more locals, or stores long and double values across ours in a row.
    TooManyLocals,
    /// It needs nearly 65535 slots of the operand stack.
    StackTooDeep,
    /// No method id was left.
    NoId,
}

impl From<Error> for SkipReason {
    fn from(error: Error) -> Self {
        Self::Malformed(error)
    }
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Policy(why) => f.write_str(why),
            Self::Malformed(error) => write!(f, "malformed code: {error}"),
            Self::TooLarge => f.write_str("with counters it would exceed the 64 KB that a method may have"),
            Self::TooManyLocals => f.write_str("no room for more local variables where cprof needs them"),
            Self::StackTooDeep => f.write_str("no room for more on its operand stack"),
            Self::NoId => f.write_str("cprof has no number for it, or no room in memory for what it knows of methods"),
        }
    }
}

/// Weaves classes one after the other, reusing its memory; keep one per thread.
#[derive(Debug, Default)]
pub struct Weaver {
    planner: Planner,
    placement: Placement,
    body: Body,
    constants: NewConstants,
    methods: Vec<u8>,
}

impl Weaver {
    /// A new weaver.
    pub fn new() -> Self {
        Self::default()
    }

    /// Weaves a class. `None`: no method of it has code that may count.
    ///
    /// # Errors
    /// The class file cannot be read, or its constant pool has no room; it should then be used as it is.
    pub fn weave(&mut self, bytes: &[u8], options: &Options, policy: &mut dyn Policy) -> Result<Option<Woven>, Error> {
        let class = ClassFile::parse(bytes)?;
        self.weave_parsed(&class, options, policy)
    }

    /// As [`Self::weave`], for a class already parsed.
    ///
    /// # Errors
    /// As [`Self::weave`].
    pub fn weave_parsed(
        &mut self,
        class: &ClassFile<'_>,
        options: &Options,
        policy: &mut dyn Policy,
    ) -> Result<Option<Woven>, Error> {
        let mut frames = Frames::default();
        self.constants.begin(class.pool.count(), Some(class.super_index).filter(|&heir| options.inherited_calls && heir != 0));
        self.methods.clear();
        let mut woven = Vec::with_capacity(class.methods.len());
        let mut skipped = Vec::new();
        let mut code_length = 0;
        for method in &class.methods {
            let start = self.methods.len();
            let result = match class.code(method) {
                Ok(None) => None,
                Ok(Some(code)) => Some(self.method(class, method, &code, options, policy, &mut frames)),
                Err(error) => Some(Err(error.into())),
            };
            match result {
                Some(Ok(method)) => {
                    code_length += self.body.out.len() as u64;
                    woven.push(method);
                }
                failed => {
                    if let Some(Err(reason)) = failed {
                        code_length += u64::from(method.code_length().unwrap_or(0));
                        skipped.push(Skipped { index: method.index, reason });
                    }
                    self.methods.truncate(start);
                    self.methods.extend_from_slice(&class.bytes[method.span.0..method.span.1]);
                }
            }
        }
        if woven.is_empty() && skipped.is_empty() {
            return Ok(None);
        }
        let mut method_count = class.methods.len();
        if class.name() == forwarders::CLASS && policy.adds_methods() {
            method_count += usize::from(forwarders::write(&mut self.methods, &mut self.constants));
        }
        let full = Error::new(class.pool.end, "no room for more constants");
        let count = self.constants.count().ok_or(full)?;
        let old = class.bytes;
        let mut out = Vec::with_capacity(old.len() + self.methods.len() + self.constants.bytes.len());
        out.extend_from_slice(&old[..8]);
        out.extend_from_slice(&count.to_be_bytes());
        out.extend_from_slice(&old[10..class.pool.end]);
        out.extend_from_slice(&self.constants.bytes);
        out.extend_from_slice(&old[class.pool.end..class.methods_at]);
        out.extend_from_slice(&u16::try_from(method_count).map_err(|_| full)?.to_be_bytes());
        out.extend_from_slice(&self.methods);
        out.extend_from_slice(&old[class.attributes_at..]);
        Ok(Some(Woven { bytes: out, methods: woven, skipped, code_length }))
    }

    /// Weaves one method, appending its `method_info` to `self.methods`.
    fn method<'a>(
        &mut self,
        class: &ClassFile<'a>,
        method: &Method<'a>,
        code: &Code<'a>,
        options: &Options,
        policy: &mut dyn Policy,
        frames: &mut Frames<'a>,
    ) -> Result<WovenMethod, SkipReason> {
        let treatment = policy.treat(class, method).map_err(SkipReason::Policy)?;
        self.planner.plan(class, method, code)?;
        let Planner { graph, edges, counters, .. } = &self.planner;
        let (graph, counters) = (graph, *counters);
        let mut layout = Layout::new(method, code, graph, counters)?;
        let leaf = graph.leaf;
        let has_frames = class.major >= 50;
        // The JVM does not look at them in older classes.
        let original_frames = if has_frames { StackMapTable::of(class, code)? } else { None };
        let frame_at_0 =
            has_frames && graph.marks[0] & mark::TARGET != 0 || original_frames.is_some_and(|table| table.starts_at_0());
        self.placement.place(graph, edges);
        let id = policy.id(method, counters, leaf).ok_or(SkipReason::NoId)?;
        let mut level = options.level;
        let design = loop {
            let design = Design { id, constructor: method.is_constructor(), leaf, level, treatment, layout };
            let source = Source { code, graph, design, options, frame_at_0 };
            match self.body.write(&source, &mut self.placement, &mut self.constants) {
                Ok(()) => {}
                Err(SkipReason::TooLarge) if level == Level::Precise && !leaf => {
                    level = Level::Block;
                    self.placement.place(graph, edges);
                    continue;
                }
                Err(reason) => return Err(reason),
            }
            let around = Around { class, method, graph, body: &self.body, placement: &self.placement, layout };
            if !has_frames {
                frames.none();
                break design;
            }
            layout = match frames.rewrite(original_frames, &around, &mut self.constants)? {
                Suits::Well => break design,
                Suits::NotHere => layout.further(code, graph)?,
                Suits::NotThis => layout.keeping_this(code)?,
            };
            self.placement.place(graph, edges);
        };
        let (body, placement) = (&self.body, &self.placement);
        let moved = Moved { pool: &class.pool, graph, body, layout };
        let source = method_info::Source { class, method, code, moved: &moved, placement, frames: frames.content() };
        method_info::write(&mut self.methods, &source, &mut self.constants)?;
        let map = if options.maps { copied(code, graph, body, placement) } else { Vec::new() };
        Ok(WovenMethod { index: method.index, id, counters, leaf, level: design.level, map })
    }
}

/// Whether a class has this code already: another agent has kept what was woven.
pub fn is_woven(class: &ClassFile<'_>) -> bool {
    // Constants alone say nothing: HotSpot keeps those of all code that a class has had
    // (VM_RedefineClasses::merge_cp_and_rewrite).
    let codes = || class.methods.iter().filter_map(|method| class.code(method).ok().flatten());
    (1..class.pool.count() as u16).any(|index| is_of_runtime(&class.pool, index))
        && codes().any(|code| calls_runtime(&class.pool, code.bytes))
}

/// Whether code has injected code in it, which begins each method that counts.
pub fn calls_runtime(pool: &Pool<'_>, code: &[u8]) -> bool {
    let is_call = |i: Instruction<'_>| i.opcode == op::INVOKESTATIC && is_of_runtime(pool, i.u2());
    Instructions::new(code, 0).flatten().any(is_call)
}

/// Whether a constant is a method that only injected code calls.
fn is_of_runtime(pool: &Pool<'_>, index: u16) -> bool {
    pool.tag(index) == Ok(tag::METHODREF)
        && pool.member(index).is_ok_and(|member| match member.class {
            forwarders::CLASS => member.name.starts_with(forwarders::PREFIX.as_bytes()),
            other => other == abi::RUNTIME.as_bytes(),
        })
}

/// Where the instructions of a method went.
fn copied(code: &Code<'_>, graph: &Graph, body: &Body, placement: &Placement) -> Vec<Copied> {
    let mut map = Vec::new();
    for (number, block) in graph.blocks.iter().enumerate() {
        let mut settled = placement.blocks[number].behind_unlock == placement::NONE;
        for bci in (block.start..block.end).filter(|&bci| graph.marks[bci as usize] & mark::START != 0) {
            let at = bci as usize;
            let counted = match placement.blocks[number] {
                // Its node is its caller's again.
                _ if matches!(code.bytes[at], op::IRETURN..=op::RETURN) => None,
                BlockCounters { at_end, after, .. } if bci == block.last && at_end != placement::NONE => {
                    graph.blocks.get(after as usize).map(|after| after.start)
                }
                _ => Some(bci),
            };
            map.push(Copied { arrival: body.arrival[at], at: body.instruction[at], bci, counted, settled });
            settled |= graph.marks[at] & mark::UNLOCK != 0;
        }
    }
    map
}
