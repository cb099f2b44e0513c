//! The bytecodes and blocks of a method with what was counted.
//!
//! [`counts`] adds up the chosen contexts and recovers every edge, [`build`] makes rows and blocks of them, [`outcomes`] says
//! where control went, [`merge`] adds up methods with the same code.

pub(crate) mod build;
pub mod counts;
mod merge;
mod outcomes;

pub use merge::annotate_by_name;
pub(crate) use outcomes::shown;
pub use outcomes::{Outcome, Way};

use crate::charges::Charges;
use crate::disassemble::Text;
use build::{Counted, Instructed};
use counts::Totals;
use cprof_instrument::classfile::ClassFile;
use cprof_profile::code::for_each_method;
use cprof_profile::cycles::EvaluateError;
use cprof_profile::measure::Measures;
use cprof_profile::model::{Level, Profile};
use cprof_profile::source_map::SourceMaps;

/// What to add up.
#[derive(Clone, Copy)]
pub struct Choice<'a> {
    /// The profile.
    pub profile: &'a Profile,
    /// Its measures: calls, exits and bytecodes, and cycles where it was evaluated on a processor.
    pub measures: &'a Measures,
    /// Per node of the profile: to be added up. Nodes that are no method's (`special::FIRST` and above) are not looked at.
    pub nodes: &'a [bool],
    /// Where the cycles of the chosen nodes arise; none: cycles are not asked for, and are 0.
    pub charges: Option<&'a Charges<'a>>,
}

/// A method with what was counted in all chosen contexts.
#[derive(Debug, Clone)]
pub struct Annotation {
    /// Index in [`Profile::methods`].
    pub method: u32,
    /// How it was counted: with [`Level::Block`], a block that was entered counts whole.
    pub level: Level,
    /// Calls.
    pub calls: u64,
    /// Calls that ended with an exception.
    pub exceptional_exits: u64,
    /// Bytecodes executed in the method itself, as in `cprof report`.
    pub bytecodes: u64,
    /// Cycles of the method itself, as in `cprof report`; 0 without a processor.
    pub cycles: u64,
    /// Every bytecode in order.
    pub rows: Vec<Row>,
    /// Every basic block in order.
    pub blocks: Vec<Block>,
    /// Cycles of the method that belong to no single bytecode. With those of the rows they make up [`Annotation::cycles`].
    pub elsewhere: Vec<Elsewhere>,
    /// [`Annotation::bytecodes`] less those of the rows. Not 0 only where counts contradict each other, as they may when a
    /// profile was read while the program ran.
    pub unexplained: i64,
}

/// A bytecode.
#[derive(Debug, Clone)]
pub struct Row {
    /// Bytecode index.
    pub bci: u32,
    /// The instruction in javap's notation.
    pub text: Text,
    /// The opcode; for a widened instruction that of the instruction.
    pub opcode: u8,
    /// Source line, where the class file has a LineNumberTable.
    pub line: Option<u16>,
    /// Index in [`Annotation::blocks`] of the block it is in.
    pub block: u32,
    /// How often it was executed; also the bytecodes it counts for, as each execution is one.
    pub executions: u64,
    /// Its cycles: those of its executions; of an invoke, its calls'; of a return, with what misses cost more. 0 without a
    /// processor.
    pub cycles: u64,
    /// Where control went from here: branches, switches, exceptions. Empty for other bytecodes, where nothing was thrown.
    pub outcomes: Vec<Outcome>,
}

/// A basic block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// First bytecode index.
    pub start: u32,
    /// End, exclusive.
    pub end: u32,
    /// Its rows: index of the first in [`Annotation::rows`], and how many.
    pub rows: (u32, u32),
    /// How often it was entered.
    pub executions: u64,
    /// How often of these as the handler of an exception.
    pub handled: u64,
    /// Bytecodes executed in it.
    pub bytecodes: u64,
    /// Cycles of its rows; 0 without a processor.
    pub cycles: u64,
}

/// Cycles that belong to a method but to no single bytecode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Elsewhere {
    /// Why.
    pub why: Why,
    /// How many; below 0 where too much stands in the rows.
    pub cycles: i64,
}

/// Why cycles belong to no single bytecode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Why {
    /// Calls by the JVM or native code, which no bytecode asked for.
    Upcalls,
    /// Calls, or what their misses cost more, through one of several call sites; which is known only with `sites=on`.
    Sites,
    /// What returns cost more because the caller's method was not in the method cache, where the method returns from several
    /// places.
    Returns,
    /// Counts that contradict each other.
    Unexplained,
}

impl Why {
    /// As a sentence without a full stop.
    pub fn about(self) -> &'static str {
        match self {
            Why::Upcalls => "calls by the JVM and native code",
            Why::Sites => "calls through one of several call sites; recorded with sites=on they stand at theirs",
            Why::Returns => "returns that missed the method cache, at one of several return instructions",
            Why::Unexplained => "counts that contradict each other",
        }
    }
}

/// Annotates methods (by index in [`Profile::methods`]) that are wanted, class by class, and hands each to `each`. A method that
/// ran in other contexts only has zeros.
///
/// # Errors
/// The profile's copy of a class is damaged, or does not fit its counts.
pub fn annotate(
    choice: &Choice<'_>,
    wanted: impl Fn(u32) -> bool,
    mut each: impl FnMut(Annotation),
) -> Result<(), EvaluateError> {
    for_each_counted(
        choice,
        wanted,
        |_| 0,
        |method, group, class, totals, counted| {
            each(build::annotation(choice, method, group, class, totals, counted)?);
            Ok(())
        },
    )
}

/// Recovers what was counted of each method that is wanted, class by class, and within it of each `group` of its nodes, for `each`.
pub(crate) fn for_each_counted<'p>(
    choice: &Choice<'p>,
    wanted: impl Fn(u32) -> bool,
    group: impl Fn(u32) -> u32,
    mut each: impl FnMut(u32, u32, &ClassFile<'p>, &Totals, &Counted<'_, 'p>) -> Result<(), EvaluateError>,
) -> Result<(), EvaluateError> {
    let totals = counts::totals(choice, wanted, group);
    let mut refused = None;
    let mut maps = SourceMaps::default();
    for_each_method(choice.profile, |m, class, method| {
        let Some(groups) = totals.get(&(m as u32)) else { return Ok(()) };
        let code = Instructed::new(&choice.profile.methods[m], class, method, maps.of(class))?;
        for (group, totals) in groups {
            match each(m as u32, *group, class, totals, &Counted::new(&code, totals)?) {
                Ok(()) => {}
                Err(EvaluateError::Code(e)) => return Err(e),
                // Only the closure's own kind of error ends the loop; this one has no class to blame.
                Err(e) => {
                    refused.get_or_insert(e);
                }
            }
        }
        Ok(())
    })?;
    refused.map_or(Ok(()), Err)
}
