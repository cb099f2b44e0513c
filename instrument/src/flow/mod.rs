//! The control flow of one method: basic blocks and edges.
//!
//! A block ends at a branch, switch, return or athrow, as in the articles' Default BBA (Binder et al.), and before a
//! jump target or handler. An invoke does not end a block. One exception to the rule: a constructor's call of
//! `super(...)` or `this(...)` ends its block, because no handler may cover it (JVMS §4.10.1.6), so that what leaves it
//! by an exception has to be derived from what entered and what came out.

mod stack;
mod super_calls;
mod throws;

use crate::classfile::instructions::{Instructions, padding};
use crate::classfile::opcode::{COUNT, MOVES, Moves, op};
use crate::classfile::{ClassFile, Code, Error, Method, access};

/// Marks on bytecode indices.
pub mod mark {
    /// An instruction starts here.
    pub const START: u8 = 1;
    /// A basic block starts here.
    pub const LEADER: u8 = 2;
    /// A branch or switch leads here.
    pub const TARGET: u8 = 4;
    /// An exception handler starts here.
    pub const HANDLER: u8 = 8;
    /// The instruction may throw, or run other code (resolution, class initialisation, a call).
    pub const THROWS: u8 = 16;
    /// The instruction physically before this one never passes control to it, not even as a jsr whose subroutine
    /// returns.
    pub const CUT_OFF: u8 = 32;
    /// The constructor's call of super(...) or this(...).
    pub const SUPER_CALL: u8 = 64;
    /// A monitorexit.
    pub const UNLOCK: u8 = 128;
}

/// A basic block: bytecode indices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// First instruction.
    pub start: u32,
    /// End, exclusive.
    pub end: u32,
    /// Last instruction.
    pub last: u32,
    /// Number of loops around the block, as far as backward jumps tell.
    pub depth: u16,
    /// Some instruction in it may throw or run other code.
    pub throws: bool,
    /// In a constructor, `this` is not yet initialised in it.
    pub uninitialised: bool,
    /// In a constructor, no path from the entry leads here: whether `this` is initialised, its stack map alone says.
    pub dead: bool,
}

/// How control passes along an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EdgeKind {
    /// Into the method: from EXIT to the first block.
    Entry,
    /// Into the block that follows.
    Fall,
    /// A jump: a branch taken, goto, jsr.
    Taken,
    /// A switch to one of its targets; one edge for each distinct target.
    Case,
    /// Out of the method by a return instruction: to EXIT.
    Return,
    /// Into an exception handler: from EXIT.
    Handler,
    /// An exception out of a constructor's super() or this() call: to EXIT.
    SuperThrow,
    /// Out of a subroutine by `ret` (to EXIT), or back from it after a `jsr` (from EXIT).
    Subroutine,
}

/// An edge between blocks, given by their numbers; the number of blocks stands for EXIT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowEdge {
    /// Block it leaves.
    pub from: u32,
    /// Block it enters.
    pub to: u32,
    /// How.
    pub kind: EdgeKind,
}

/// An instruction that loads an int or a reference from a local.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// Where it is.
    pub bci: u32,
    /// The local's slot.
    pub local: u16,
    /// A reference.
    pub reference: bool,
}

/// Opcodes of which [`Graph::mark_leaders`] may note more than that they are there. (To pass the others by, by one look at a table,
/// takes a twentieth off weaving.)
const NOTED: [bool; 256] = {
    let mut noted = [false; 256];
    let mut opcode = 0;
    while opcode < COUNT {
        noted[opcode] = !matches!(MOVES[opcode], Moves::Nothing)
            || matches!(
                opcode as u8,
                op::IRETURN
                    ..=op::RETURN | op::ATHROW | op::GETFIELD | op::PUTFIELD | op::MONITOREXIT | op::NEW | op::INVOKESPECIAL
            );
        opcode += 1;
    }
    noted
};

/// The flow graph of a method. Reused from method to method, for speed.
#[derive(Debug, Default)]
pub struct Graph {
    /// Marks by bytecode index, one more than the code has bytes.
    pub marks: Vec<u8>,
    /// The blocks, in code order.
    pub blocks: Vec<Block>,
    /// The edges; of one block, in the order of its last instruction's targets.
    pub edges: Vec<FlowEdge>,
    /// No instruction may throw or run other code.
    pub leaf: bool,
    /// A constructor stores something else to local 0 before `this` is initialised.
    pub overwrites_this: bool,
    /// Locals that long and double values are stored to, each once.
    pub wide_stores: Vec<u16>,
    /// Every load of an int or a reference from a local.
    pub loads: Vec<Load>,
    accesses_fields: bool,
    /// There is a monitorexit.
    has_unlocks: bool,
    block_at: Vec<u32>,
    switch_targets: Vec<u32>,
    /// In a constructor: the calls of `<init>` of its class or superclass, and where they end; and whether it creates such
    /// objects.
    own_inits: Vec<(u32, u32)>,
    own_new: bool,
    /// Stores to local 0.
    stores_of_0: Vec<u32>,
}

/// What the search for what throws has to know of the class and method around the code.
pub(crate) struct Context<'c, 'a> {
    pub(crate) class: &'c ClassFile<'a>,
    /// Local 0 is `this` wherever it is loaded, and fields are accessed, so that where `this` goes makes a difference.
    pub(crate) follow_this: bool,
    /// When the method runs, its class is initialised, or being initialised by this thread.
    pub(crate) initialised: bool,
}

impl Graph {
    /// The number that stands for EXIT in edges.
    pub fn exit(&self) -> u32 {
        self.blocks.len() as u32
    }

    /// The block that starts at `bci`.
    pub fn block_at(&self, bci: u32) -> u32 {
        self.block_at[bci as usize]
    }

    /// Analyses a method, replacing what was here.
    ///
    /// # Errors
    /// Malformed code: unknown opcodes, jumps into an instruction or out of the code, code that runs off its end.
    pub fn analyse<'a>(&mut self, class: &ClassFile<'a>, method: &Method<'a>, code: &Code<'a>) -> Result<(), Error> {
        let is_constructor = self.shape(class, method, code, true)?;
        self.overwrites_this = false;
        if is_constructor {
            self.find_uninitialised(code);
            self.overwrites_this = self.stores_of_0.iter().any(|&bci| self.block_around(bci).uninitialised);
        }
        Ok(())
    }

    /// As [`Graph::analyse`], but for what only weaving needs: what throws is not looked for where [`Graph::unlocks`] does not ask,
    /// nor what is not initialised yet. `leaf`, `overwrites_this`, and these marks of blocks then say nothing.
    ///
    /// # Errors
    /// As there.
    pub fn outline<'a>(&mut self, class: &ClassFile<'a>, method: &Method<'a>, code: &Code<'a>) -> Result<(), Error> {
        self.shape(class, method, code, false).map(drop)
    }

    /// Marks, blocks and edges; `throws`: what throws, too, whoever asks. Answers whether it is a constructor that calls another.
    fn shape<'a>(&mut self, class: &ClassFile<'a>, method: &Method<'a>, code: &Code<'a>, throws: bool) -> Result<bool, Error> {
        let is_constructor = method.is_constructor() && class.super_index != 0;
        self.mark_leaders(class, code, is_constructor)?;
        self.mark_handlers(code)?;
        if is_constructor {
            self.mark_super_calls(class, code)?;
        }
        let context = (throws || self.has_unlocks).then(|| self.context(class, method));
        self.find_blocks(code, context.as_ref())?;
        self.find_edges(code)?;
        self.find_loop_depths();
        Ok(is_constructor)
    }

    fn context<'c, 'a>(&self, class: &'c ClassFile<'a>, method: &Method<'a>) -> Context<'c, 'a> {
        let follow_this = self.accesses_fields && method.access & access::STATIC == 0 && self.stores_of_0.is_empty();
        // A superclass is initialised before the interfaces (JVMS §5.5 step 7): an object that its initialiser makes has their
        // methods already.
        let initialised = class.access & access::INTERFACE == 0 || method.access & access::STATIC != 0;
        Context { class, follow_this, initialised }
    }

    fn mark_target(&mut self, target: i64, at: usize) -> Result<(), Error> {
        match usize::try_from(target).ok().filter(|&t| t + 1 < self.marks.len()) {
            Some(target) => {
                self.marks[target] |= mark::LEADER | mark::TARGET;
                Ok(())
            }
            None => Err(Error::new(at, "a jump out of the method")),
        }
    }

    /// Marks instruction starts and leaders.
    fn mark_leaders(&mut self, class: &ClassFile<'_>, code: &Code<'_>, is_constructor: bool) -> Result<(), Error> {
        self.marks.clear();
        self.marks.resize(code.bytes.len() + 1, 0);
        self.marks[0] = mark::LEADER;
        self.wide_stores.clear();
        self.loads.clear();
        self.accesses_fields = false;
        self.has_unlocks = false;
        self.stores_of_0.clear();
        self.own_inits.clear();
        self.own_new = false;
        for instruction in Instructions::new(code.bytes, code.at) {
            let i = instruction?;
            let bci = i.bci as usize;
            let next = bci + i.bytes.len();
            self.marks[bci] |= mark::START;
            if !NOTED[i.opcode as usize] {
                continue;
            }
            match i.opcode {
                op::IFEQ..=op::JSR | op::IFNULL | op::IFNONNULL | op::GOTO_W | op::JSR_W => {
                    self.mark_target(i.jump_target().unwrap_or(-1), code.at + bci)?;
                    self.marks[next] |= mark::LEADER;
                }
                op::TABLESWITCH | op::LOOKUPSWITCH => {
                    // The JVM's to refuse; with ours, it would be zero. Newer classes may have anything there.
                    if class.major < 51 && i.bytes[1..=padding(i.bci)].iter().any(|&byte| byte != 0) {
                        return Err(Error::new(code.at + bci, "a switch with padding that is not zero"));
                    }
                    for target in i.switch_targets() {
                        self.mark_target(target, code.at + bci)?;
                    }
                    self.marks[next] |= mark::LEADER;
                }
                op::IRETURN..=op::RETURN | op::ATHROW | op::RET => self.marks[next] |= mark::LEADER,
                op::ISTORE..=op::ASTORE_3 => {
                    let local = i.local().unwrap_or(0);
                    if local == 0 {
                        self.stores_of_0.push(i.bci);
                    }
                    let wide = matches!(
                        i.opcode,
                        op::LSTORE | op::DSTORE | op::LSTORE_0..=op::LSTORE_3 | op::DSTORE_0..=op::DSTORE_3
                    );
                    if wide && !self.wide_stores.contains(&local) {
                        self.wide_stores.push(local);
                    }
                }
                op::ILOAD | op::ILOAD_0..=op::ILOAD_3 | op::ALOAD | op::ALOAD_0..=op::ALOAD_3 => {
                    let reference = matches!(i.opcode, op::ALOAD | op::ALOAD_0..=op::ALOAD_3);
                    self.loads.extend(i.local().map(|local| Load { bci: i.bci, local, reference }));
                }
                op::GETFIELD | op::PUTFIELD => self.accesses_fields = true,
                op::MONITOREXIT => {
                    self.marks[bci] |= mark::UNLOCK;
                    self.has_unlocks = true;
                }
                op::NEW if is_constructor => self.own_new |= is_own_or_super(class, class.pool.class_name(i.u2())?),
                op::INVOKESPECIAL if is_constructor => {
                    let callee = class.pool.member(i.u2())?;
                    if callee.name == b"<init>" && is_own_or_super(class, callee.class) {
                        self.own_inits.push((i.bci, next as u32));
                    }
                }
                _ => {}
            }
            if i.is_unconditional() && !matches!(i.opcode, op::JSR | op::JSR_W) {
                self.marks[next] |= mark::CUT_OFF;
            }
        }
        Ok(())
    }

    fn mark_super_calls(&mut self, class: &ClassFile<'_>, code: &Code<'_>) -> Result<(), Error> {
        match self.own_inits[..] {
            // Nothing else it could finish than `this`.
            [(bci, next)] if !self.own_new => {
                self.marks[bci as usize] |= mark::SUPER_CALL;
                self.marks[next as usize] |= mark::LEADER;
                Ok(())
            }
            _ => super_calls::mark_along_paths(class, code, &mut self.marks),
        }
    }

    fn mark_handlers(&mut self, code: &Code<'_>) -> Result<(), Error> {
        for handler in code.handlers() {
            match self.marks.get_mut(handler.target as usize) {
                Some(marks) if (handler.target as usize) < code.bytes.len() => {
                    *marks |= mark::LEADER | mark::HANDLER;
                }
                _ => return Err(Error::new(code.at, "an exception handler out of the method")),
            }
            let whole = |bci: u16| bci as usize == code.bytes.len() || self.marks[bci as usize] & mark::START != 0;
            if handler.start >= handler.end || handler.end as usize > code.bytes.len() {
                return Err(Error::new(code.at, "an exception range out of the method"));
            }
            if !whole(handler.start) || !whole(handler.end) {
                return Err(Error::new(code.at, "an exception range that begins or ends inside an instruction"));
            }
        }
        Ok(())
    }

    /// Without the context, nothing is found to throw.
    fn find_blocks(&mut self, code: &Code<'_>, context: Option<&Context<'_, '_>>) -> Result<(), Error> {
        self.blocks.clear();
        self.block_at.clear();
        self.block_at.resize(code.bytes.len(), u32::MAX);
        self.leaf = true;
        let mut before = throws::Before::new(code.bytes);
        for instruction in Instructions::new(code.bytes, code.at) {
            let i = instruction?;
            let bci = i.bci as usize;
            if self.marks[bci] & mark::LEADER != 0 {
                self.block_at[bci] = self.blocks.len() as u32;
                let new = Block { start: i.bci, end: 0, last: 0, depth: 0, throws: false, uninitialised: false, dead: false };
                self.blocks.push(new);
                before.block_start();
            }
            let throws = context.map_or(Ok(false), |context| before.step(context, i))?;
            if let Some(block) = self.blocks.last_mut() {
                block.end = i.bci + i.bytes.len() as u32;
                block.last = i.bci;
                block.throws |= throws;
            }
            if throws {
                self.marks[bci] |= mark::THROWS;
                self.leaf = false;
            }
        }
        let marks = &self.marks[..code.bytes.len()];
        let inside = |&m: &u8| m & (mark::LEADER | mark::START) == mark::LEADER;
        // Several at once, which a search for the first is not.
        if !marks.iter().fold(false, |any, m| any | inside(m)) {
            return Ok(());
        }
        let bci = marks.iter().position(inside).unwrap_or(0);
        Err(Error::new(code.at + bci, "a jump or handler that leads into an instruction"))
    }

    fn find_edges(&mut self, code: &Code<'_>) -> Result<(), Error> {
        let exit = self.exit();
        self.edges.clear();
        self.edges.push(FlowEdge { from: exit, to: 0, kind: EdgeKind::Entry });
        for from in 0..exit {
            let block = self.blocks[from as usize];
            if self.marks[block.start as usize] & mark::HANDLER != 0 {
                self.edges.push(FlowEdge { from: exit, to: from, kind: EdgeKind::Handler });
            }
            let Some(last) = Instructions::from(code.bytes, block.last, code.at).next().transpose()? else { continue };
            let push = |edges: &mut Vec<FlowEdge>, to, kind| edges.push(FlowEdge { from, to, kind });
            let mut falls = !last.is_unconditional();
            match last.opcode {
                op::JSR | op::JSR_W => {
                    let to = self.block_at[last.jump_target().unwrap_or(0) as usize];
                    push(&mut self.edges, to, EdgeKind::Taken);
                    // Were there code of ours behind it, JDK 17 would take a class that it refuses (generateOopMap.cpp).
                    if from + 1 == exit {
                        return Err(Error::new(code.at + block.last as usize, "code that ends with a call of a subroutine"));
                    }
                    self.edges.push(FlowEdge { from: exit, to: from + 1, kind: EdgeKind::Subroutine });
                }
                op::IFEQ..=op::GOTO | op::IFNULL | op::IFNONNULL | op::GOTO_W => {
                    let to = self.block_at[last.jump_target().unwrap_or(0) as usize];
                    push(&mut self.edges, to, EdgeKind::Taken);
                }
                op::TABLESWITCH | op::LOOKUPSWITCH => {
                    self.switch_targets.clear();
                    self.switch_targets.extend(last.switch_targets().map(|t| self.block_at[t as usize]));
                    self.switch_targets.sort_unstable();
                    self.switch_targets.dedup();
                    for &to in &self.switch_targets {
                        push(&mut self.edges, to, EdgeKind::Case);
                    }
                }
                op::IRETURN..=op::RETURN => push(&mut self.edges, exit, EdgeKind::Return),
                op::RET => push(&mut self.edges, exit, EdgeKind::Subroutine),
                op::ATHROW => {}
                _ => falls = true,
            }
            if self.marks[block.last as usize] & mark::SUPER_CALL != 0 {
                push(&mut self.edges, exit, EdgeKind::SuperThrow);
            }
            if falls {
                if from + 1 == exit {
                    return Err(Error::new(code.at + block.last as usize, "code that runs off its end"));
                }
                push(&mut self.edges, from + 1, EdgeKind::Fall);
            }
        }
        Ok(())
    }

    /// Follows `this` from the entry to the super() or this() calls, and then on from there.
    fn find_uninitialised(&mut self, code: &Code<'_>) {
        let exit = self.exit();
        // By the block they leave, as `find_edges` wrote them.
        let between: Vec<FlowEdge> = self.edges.iter().filter(|e| e.from != exit && e.to != exit).copied().collect();
        let mut handlers: Vec<_> = code.handlers().collect();
        self.blocks.iter_mut().for_each(|block| block.dead = true);
        let (mut reached, mut behind_super) = (vec![0u32], Vec::new());
        for uninitialised in [true, false] {
            while let Some(b) = reached.pop() {
                let block = &mut self.blocks[b as usize];
                if !std::mem::replace(&mut block.dead, false) {
                    continue;
                }
                block.uninitialised = uninitialised;
                let block = *block;
                let Block { start, end, last, .. } = block;
                handlers.retain(|handler| {
                    let covers = start < u32::from(handler.end) && end > u32::from(handler.start);
                    if covers {
                        reached.push(self.block_at[handler.target as usize]);
                    }
                    !covers
                });
                let initialises = uninitialised && self.ends_in_super(&block);
                let next = if initialises { &mut behind_super } else { &mut reached };
                let first = between.partition_point(|e| e.from < b);
                next.extend(between[first..].iter().take_while(|e| e.from == b).map(|e| e.to));
                // Back from the subroutine.
                next.extend((matches!(code.bytes[last as usize], op::JSR | op::JSR_W) && b + 1 < exit).then_some(b + 1));
            }
            reached.append(&mut behind_super);
        }
    }

    /// The block that an instruction is in.
    pub fn block_around(&self, bci: u32) -> &Block {
        // The first begins at 0.
        &self.blocks[self.blocks.partition_point(|b| b.start <= bci) - 1]
    }

    /// Whether a constructor's call of `super(...)` or `this(...)` ends this block. No handler may cover it.
    pub fn ends_in_super(&self, block: &Block) -> bool {
        self.marks[block.last as usize] & mark::SUPER_CALL != 0
    }

    /// Whether a block releases a monitor before anything else in it can throw, as compilers end `synchronized`.
    pub fn unlocks(&self, block: u32) -> bool {
        self.marks_in(block).iter().find(|&&m| m & mark::THROWS != 0).is_some_and(|m| m & mark::UNLOCK != 0)
    }

    /// Whether a block releases a monitor anywhere.
    pub fn has_unlock(&self, block: u32) -> bool {
        self.marks_in(block).iter().any(|m| m & mark::UNLOCK != 0)
    }

    fn marks_in(&self, block: u32) -> &[u8] {
        let Block { start, end, .. } = self.blocks[block as usize];
        &self.marks[start as usize..end as usize]
    }

    /// Every backward jump is taken for a loop from its target to itself.
    fn find_loop_depths(&mut self) {
        for e in 0..self.edges.len() {
            let FlowEdge { from, to, kind } = self.edges[e];
            if matches!(kind, EdgeKind::Taken | EdgeKind::Case) && to <= from {
                for block in &mut self.blocks[to as usize..=from as usize] {
                    block.depth = block.depth.saturating_add(1);
                }
            }
        }
    }
}

/// Whether an `<init>` of the named class can be the one that a constructor has to call (JVMS §4.10.1.9, invokespecial).
fn is_own_or_super(class: &ClassFile<'_>, name: &[u8]) -> bool {
    name == class.name() || class.super_name() == Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classfile::instructions::Instruction;

    #[test]
    fn tables_say_of_an_opcode_what_its_instructions_do() {
        for opcode in 0..COUNT as u8 {
            let i = Instruction { bci: 0, opcode, bytes: &[opcode; 16] };
            let moves = MOVES[opcode as usize];
            assert_eq!(moves == Moves::Local, i.local().is_some(), "{opcode}");
            assert_eq!(moves == Moves::Jump, i.jump_target().is_some(), "{opcode}");
            assert_eq!(moves == Moves::Switch, i.switch_targets().next().is_some(), "{opcode}");
            assert!(NOTED[opcode as usize] || moves == Moves::Nothing && !i.is_unconditional(), "{opcode}");
        }
    }
}
