//! Rows and blocks of a method.

use super::counts::{Counts, Totals};
use super::outcomes::{choices, departures, shown};
use super::{Annotation, Block, Choice, Row};
use crate::disassemble;
use cprof_instrument::classfile::instructions::{Instruction, Instructions};
use cprof_instrument::classfile::{ClassFile, Method};
use cprof_profile::code::{CodeError, LineTable};
use cprof_profile::cycles::EvaluateError;
use cprof_profile::flow::EdgeKind;
use cprof_profile::model::Level;
use cprof_profile::recover::Recovery;
use cprof_profile::source_map::SourceMap;

/// A method's instructions, with their blocks and lines.
pub(crate) struct Instructed<'p> {
    pub(crate) method: &'p cprof_profile::model::Method,
    pub(crate) instructions: Vec<Instruction<'p>>,
    /// The block of each instruction.
    pub(crate) blocks: Vec<usize>,
    pub(crate) lines: LineTable,
    recovery: Recovery,
    /// The class's name, for errors.
    class: String,
}

/// And with what was counted; beside the rows.
pub(crate) struct Counted<'c, 'p> {
    pub(crate) code: &'c Instructed<'p>,
    pub(crate) counts: Counts,
    /// Executions of each instruction, below 0 where counts contradict each other.
    pub(crate) executions: Vec<i64>,
}

impl<'p> Instructed<'p> {
    /// `method` in the profile is `parsed` in its class.
    pub(super) fn new(
        method: &'p cprof_profile::model::Method,
        class: &ClassFile<'p>,
        parsed: &Method<'p>,
        map: &SourceMap,
    ) -> Result<Instructed<'p>, CodeError> {
        let name = class.name_str().into_owned();
        let fail = |reason: String| CodeError { class: name.clone(), reason };
        let code = class.code(parsed).map_err(|e| fail(e.to_string()))?;
        let Some(code) = code else { return Err(fail(format!("{} has no code", method.name))) };
        let recovery = Recovery::new(&method.flow).map_err(|e| fail(format!("flow of {}: {e}", method.name)))?;
        let instructions: Vec<Instruction<'p>> =
            Instructions::new(code.bytes, code.at).collect::<Result<_, _>>().map_err(|e| fail(e.to_string()))?;
        let block = |i: &Instruction<'_>| {
            method.flow.block_at(i.bci).ok_or_else(|| fail(format!("{} has no block at {}", method.name, i.bci)))
        };
        let blocks = instructions.iter().map(block).collect::<Result<_, _>>()?;
        Ok(Instructed { method, instructions, blocks, lines: LineTable::read(class, &code, map), recovery, class: name })
    }

    /// The row at a bytecode index.
    pub(crate) fn row_at(&self, bci: u32) -> Option<usize> {
        self.instructions.binary_search_by_key(&bci, |i| i.bci).ok()
    }
}

impl<'c, 'p> Counted<'c, 'p> {
    pub(super) fn new(code: &'c Instructed<'p>, totals: &Totals) -> Result<Counted<'c, 'p>, CodeError> {
        let counts = Counts::new(code.method, &code.recovery, totals, &code.class)?;
        let start = |block: usize| code.method.flow.blocks[block].start;
        let executions = code.instructions.iter().zip(&code.blocks);
        let executions = executions.map(|(i, &block)| counts.executions(block, start(block), i.bci)).collect();
        Ok(Counted { code, counts, executions })
    }

    /// How often a row's instruction has completed: as often as what follows it in its block began. Counted by blocks, that is not
    /// known, and each execution is taken to have.
    pub(crate) fn completed(&self, row: usize) -> i64 {
        let bci = self.code.instructions[row].bci;
        let departed = match self.code.method.level {
            Level::Precise => self.counts.departed_in(bci, bci + 1),
            Level::Block => &[],
        };
        departed.iter().fold(self.executions[row], |completed, d| completed.wrapping_sub(d.count))
    }

    /// How often edges of a kind out of a block were followed.
    pub(crate) fn leaving(&self, block: usize, kind: EdgeKind) -> i64 {
        self.edges(|e| e.from as usize == block && e.kind == kind)
    }

    fn edges(&self, fits: impl Fn(&cprof_profile::flow::Edge) -> bool) -> i64 {
        let edges = self.code.method.flow.edges.iter().zip(&self.counts.edges);
        edges.filter(|(e, _)| fits(e)).fold(0i64, |sum, (_, count)| sum.wrapping_add(*count))
    }
}

pub(super) fn annotation<'p>(
    choice: &Choice<'p>,
    m: u32,
    group: u32,
    class: &ClassFile<'p>,
    totals: &Totals,
    counted: &Counted<'_, 'p>,
) -> Result<Annotation, EvaluateError> {
    let fail = |e: cprof_instrument::Error| CodeError { class: class.name_str().into_owned(), reason: e.to_string() };
    let mut rows = Vec::with_capacity(counted.code.instructions.len());
    for (at, instruction) in counted.code.instructions.iter().enumerate() {
        let text = disassemble::text(class, instruction).map_err(fail)?;
        rows.push(row(counted, at, instruction, text));
    }
    let mut elsewhere = Vec::new();
    if let Some(charges) = choice.charges {
        let placed = charges.place(m, group, counted)?;
        rows.iter_mut().zip(&placed.cycles).for_each(|(row, cycles)| row.cycles = *cycles);
        elsewhere = placed.elsewhere(totals.cycles);
    }
    let executed = rows.iter().fold(0u64, |sum, row| sum.saturating_add(row.executions));
    Ok(Annotation {
        method: m,
        level: counted.code.method.level,
        calls: totals.calls,
        exceptional_exits: totals.exceptional_exits,
        bytecodes: totals.own,
        cycles: totals.cycles,
        blocks: blocks(counted, &rows),
        rows,
        elsewhere,
        unexplained: totals.own.wrapping_sub(executed) as i64,
    })
}

fn row(counted: &Counted<'_, '_>, at: usize, i: &Instruction<'_>, text: disassemble::Text) -> Row {
    let block = counted.code.blocks[at];
    let bounds = counted.code.method.flow.blocks[block];
    let is_last = counted.code.blocks.get(at + 1) != Some(&block);
    let mut outcomes = Vec::new();
    if is_last {
        outcomes = choices(&counted.code.method.flow, &counted.counts, block, i.is_conditional(), &text);
    }
    let super_throws = if is_last { counted.leaving(block, EdgeKind::SuperThrow) } else { 0 };
    // Counted by blocks, what left the block is shown where it begins.
    let next = counted.code.instructions.get(at + 1).map_or(bounds.end, |next| next.bci).min(bounds.end);
    let (start, end) = match counted.code.method.level {
        Level::Precise => (i.bci, next),
        Level::Block if i.bci == bounds.start => (bounds.start, bounds.end),
        Level::Block => (0, 0),
    };
    outcomes.extend(departures(&counted.counts, start, end, super_throws));
    Row {
        bci: i.bci,
        opcode: i.opcode,
        text,
        line: counted.code.lines.line(i.bci),
        block: block as u32,
        executions: shown(counted.executions[at]),
        cycles: 0,
        outcomes,
    }
}

fn blocks(counted: &Counted<'_, '_>, rows: &[Row]) -> Vec<Block> {
    let mut blocks = Vec::with_capacity(counted.code.method.flow.blocks.len());
    let mut first = 0;
    for (b, bounds) in counted.code.method.flow.blocks.iter().enumerate() {
        let of = rows[first..].iter().take_while(|row| row.block as usize == b);
        let (mut count, mut bytecodes, mut cycles) = (0u32, 0u64, 0u64);
        for row in of {
            count += 1;
            bytecodes = bytecodes.saturating_add(row.executions);
            cycles = cycles.saturating_add(row.cycles);
        }
        blocks.push(Block {
            start: bounds.start,
            end: bounds.end,
            rows: (first as u32, count),
            executions: shown(counted.counts.entered[b]),
            handled: shown(counted.edges(|e| e.to as usize == b && e.kind == EdgeKind::Handler)),
            bytecodes,
            cycles,
        });
        first += count as usize;
    }
    blocks
}
