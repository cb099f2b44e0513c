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
use cprof_profile::source_map::SourceMap;

/// A method's instructions with what was counted; beside the rows.
pub(crate) struct Counted<'p> {
    pub(crate) method: &'p cprof_profile::model::Method,
    pub(crate) counts: Counts,
    pub(crate) instructions: Vec<Instruction<'p>>,
    /// The block of each instruction.
    pub(crate) blocks: Vec<usize>,
    /// Executions of each, below 0 where counts contradict each other.
    pub(crate) executions: Vec<i64>,
    pub(crate) lines: LineTable,
}

impl<'p> Counted<'p> {
    /// `method` in the profile is `parsed` in its class.
    pub(super) fn new(
        method: &'p cprof_profile::model::Method,
        class: &ClassFile<'p>,
        parsed: &Method<'p>,
        map: &SourceMap,
        totals: &Totals,
    ) -> Result<Counted<'p>, CodeError> {
        let name = class.name_str();
        let fail = |reason: String| CodeError { class: name.clone().into_owned(), reason };
        let code = class.code(parsed).map_err(|e| fail(e.to_string()))?;
        let Some(code) = code else { return Err(fail(format!("{} has no code", method.name))) };
        let counts = Counts::new(method, totals, &name)?;
        let instructions: Vec<Instruction<'p>> =
            Instructions::new(code.bytes, code.at).collect::<Result<_, _>>().map_err(|e| fail(e.to_string()))?;
        let (mut blocks, mut executions) = (Vec::new(), Vec::new());
        for i in &instructions {
            let block = method.flow.block_at(i.bci).ok_or_else(|| fail(format!("{} has no block at {}", method.name, i.bci)))?;
            blocks.push(block);
            executions.push(counts.executions(block, method.flow.blocks[block].start, i.bci));
        }
        Ok(Counted { method, counts, instructions, blocks, executions, lines: LineTable::read(class, &code, map) })
    }

    /// The row at a bytecode index.
    pub(crate) fn row_at(&self, bci: u32) -> Option<usize> {
        self.instructions.binary_search_by_key(&bci, |i| i.bci).ok()
    }

    /// How often edges of a kind out of a block were followed.
    pub(crate) fn leaving(&self, block: usize, kind: EdgeKind) -> i64 {
        self.edges(|e| e.from as usize == block && e.kind == kind)
    }

    fn edges(&self, fits: impl Fn(&cprof_profile::flow::Edge) -> bool) -> i64 {
        let edges = self.method.flow.edges.iter().zip(&self.counts.edges);
        edges.filter(|(e, _)| fits(e)).fold(0i64, |sum, (_, count)| sum.wrapping_add(*count))
    }
}

pub(super) fn annotation<'p>(
    choice: &Choice<'p>,
    m: u32,
    class: &ClassFile<'p>,
    totals: &Totals,
    counted: &Counted<'p>,
) -> Result<Annotation, EvaluateError> {
    let fail = |e: cprof_instrument::Error| CodeError { class: class.name_str().into_owned(), reason: e.to_string() };
    let mut rows = Vec::with_capacity(counted.instructions.len());
    for (at, instruction) in counted.instructions.iter().enumerate() {
        let text = disassemble::text(class, instruction).map_err(fail)?;
        rows.push(row(counted, at, instruction, text));
    }
    let mut elsewhere = Vec::new();
    if let Some(charges) = choice.charges {
        let placed = charges.place(m, counted)?;
        rows.iter_mut().zip(&placed.cycles).for_each(|(row, cycles)| row.cycles = *cycles);
        elsewhere = placed.elsewhere(totals.cycles);
    }
    let executed = rows.iter().fold(0u64, |sum, row| sum.saturating_add(row.executions));
    Ok(Annotation {
        method: m,
        level: counted.method.level,
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

fn row(counted: &Counted<'_>, at: usize, i: &Instruction<'_>, text: disassemble::Text) -> Row {
    let block = counted.blocks[at];
    let bounds = counted.method.flow.blocks[block];
    let is_last = counted.blocks.get(at + 1) != Some(&block);
    let mut outcomes = Vec::new();
    if is_last {
        outcomes = choices(&counted.method.flow, &counted.counts, block, i.is_conditional(), &text);
    }
    let super_throws = if is_last { counted.leaving(block, EdgeKind::SuperThrow) } else { 0 };
    // Counted by blocks, what left the block is shown where it begins.
    let next = counted.instructions.get(at + 1).map_or(bounds.end, |next| next.bci).min(bounds.end);
    let (start, end) = match counted.method.level {
        Level::Precise => (i.bci, next),
        Level::Block if i.bci == bounds.start => (bounds.start, bounds.end),
        Level::Block => (0, 0),
    };
    outcomes.extend(departures(&counted.counts, start, end, super_throws));
    Row {
        bci: i.bci,
        opcode: i.opcode,
        text,
        line: counted.lines.line(i.bci),
        block: block as u32,
        executions: shown(counted.executions[at]),
        cycles: 0,
        outcomes,
    }
}

fn blocks(counted: &Counted<'_>, rows: &[Row]) -> Vec<Block> {
    let mut blocks = Vec::with_capacity(counted.method.flow.blocks.len());
    let mut first = 0;
    for (b, bounds) in counted.method.flow.blocks.iter().enumerate() {
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
