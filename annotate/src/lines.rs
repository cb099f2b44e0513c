//! Annotations added up by source line.

use crate::method::{Annotation, Choice, Outcome, for_each_counted, shown};
use cprof_instrument::classfile::ClassFile;
use cprof_instrument::classfile::instructions::Instructions;
use cprof_profile::code::{CodeError, LineTable};
use cprof_profile::cycles::EvaluateError;
use cprof_profile::model::Profile;
use cprof_profile::source_map::SourceMap;
use std::collections::{BTreeMap, BTreeSet};

/// A source line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line {
    /// How often its most executed bytecode was executed. Where several methods have code on the line (a lambda, a field
    /// initialiser in each constructor), theirs are added.
    pub executions: u64,
    /// Bytecodes executed.
    pub bytecodes: u64,
    /// Cycles of its bytecodes; 0 without a processor.
    pub cycles: u64,
    /// Where control went from its branches, and exceptions.
    pub outcomes: Vec<LineOutcome>,
}

/// An outcome of one of a line's bytecodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineOutcome {
    /// The method, index in [`Profile::methods`].
    pub method: u32,
    /// The bytecode.
    pub bci: u32,
    /// Its mnemonic.
    pub mnemonic: String,
    /// What happened.
    pub outcome: Outcome,
}

/// Lines by number.
pub type Lines = BTreeMap<u16, Line>;

/// Adds a method's lines to others of the same source file. Bytecodes without a line number are in none.
pub fn add(lines: &mut Lines, annotation: &Annotation) {
    let mut of_method: BTreeMap<u16, u64> = BTreeMap::new();
    for row in &annotation.rows {
        let Some(number) = row.line else { continue };
        let most = of_method.entry(number).or_default();
        *most = (*most).max(row.executions);
        let line = lines.entry(number).or_default();
        line.bytecodes = line.bytecodes.saturating_add(row.executions);
        line.cycles = line.cycles.saturating_add(row.cycles);
        line.outcomes.extend(row.outcomes.iter().map(|outcome| LineOutcome {
            method: annotation.method,
            bci: row.bci,
            mnemonic: row.text.mnemonic.clone(),
            outcome: outcome.clone(),
        }));
    }
    for (number, executions) in of_method {
        let line = lines.entry(number).or_default();
        line.executions = line.executions.saturating_add(executions);
    }
}

/// What the bytecodes on a source line of one method cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Costs {
    /// Bytecodes executed.
    pub bytecodes: u64,
    /// Cycles, as of [`Row::cycles`](crate::method::Row::cycles); 0 without a processor.
    pub cycles: u64,
}

/// Hands each method that is wanted (by index in [`Profile::methods`]), and within it each `group` of its nodes, with the costs of
/// each of its source lines to `each`, class by class; line 0 is that of bytecodes without one. As the rows of an [`Annotation`],
/// they are no more than the method's own but where counts contradict each other, and less of cycles where some belong to no
/// single bytecode.
///
/// # Errors
/// As [`annotate`](crate::method::annotate).
pub fn costs(
    choice: &Choice<'_>,
    wanted: impl Fn(u32) -> bool,
    group: impl Fn(u32) -> u32,
    mut each: impl FnMut(u32, u32, BTreeMap<u16, Costs>),
) -> Result<(), EvaluateError> {
    for_each_counted(choice, wanted, group, |method, group, _, _, counted| {
        let placed = choice.charges.map(|charges| charges.place(method, group, counted)).transpose()?;
        let mut lines: BTreeMap<u16, Costs> = BTreeMap::new();
        for (at, instruction) in counted.code.instructions.iter().enumerate() {
            let line = lines.entry(counted.code.lines.line(instruction.bci).unwrap_or(0)).or_default();
            line.bytecodes = line.bytecodes.saturating_add(shown(counted.executions[at]));
            line.cycles = line.cycles.saturating_add(placed.as_ref().map_or(0, |placed| placed.cycles[at]));
        }
        each(method, group, lines);
        Ok(())
    })
}

/// A method of a class that did not run, or was not covered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotRun {
    /// Name.
    pub name: String,
    /// Descriptor.
    pub descriptor: String,
    /// The line of its first bytecode that has one.
    pub first: Option<u16>,
    /// Its source lines.
    pub lines: BTreeSet<u16>,
    /// Its conditional branches and switches.
    pub branches: Vec<NotTaken>,
}

/// A branch that was not executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotTaken {
    /// The bytecode.
    pub bci: u32,
    /// Its source line.
    pub line: Option<u16>,
    /// To how many bytecodes it leads: as many as it has outcomes once it was executed.
    pub ways: usize,
}

/// Where the methods that `ran`, by index in [`Profile::methods`], are in their class files, by class.
pub fn positions(profile: &Profile, ran: &[bool]) -> Vec<BTreeSet<u16>> {
    let mut positions = vec![BTreeSet::new(); profile.classes.len()];
    for (method, _) in profile.methods.iter().zip(ran).filter(|(_, ran)| **ran) {
        positions[method.class as usize].insert(method.index);
    }
    positions
}

/// The methods of a class (index in [`Profile::classes`]) with code, but for those that ran, of all [`positions`].
///
/// # Errors
/// The profile's copy of the class is damaged.
pub fn not_run(profile: &Profile, class: u32, ran: &[BTreeSet<u16>]) -> Result<Vec<NotRun>, CodeError> {
    let of = &profile.classes[class as usize];
    let fail = |e: cprof_instrument::Error| CodeError { class: of.name.clone(), reason: e.to_string() };
    let parsed = ClassFile::parse(&of.bytes).map_err(fail)?;
    all_but(&parsed, &ran[class as usize]).map_err(fail)
}

/// The methods of a class file with code, but for those with these positions in it.
///
/// # Errors
/// A method's code is damaged.
pub fn all_but(class: &ClassFile<'_>, ran: &BTreeSet<u16>) -> Result<Vec<NotRun>, cprof_instrument::Error> {
    let map = SourceMap::of(class);
    let mut out = Vec::new();
    for method in class.methods.iter().filter(|m| !ran.contains(&m.index)) {
        let Some(code) = class.code(method)? else { continue };
        let table = LineTable::read(class, &code, &map);
        let mut branches = Vec::new();
        for instruction in Instructions::new(code.bytes, code.at) {
            let instruction = instruction?;
            let ways = match instruction.is_conditional() {
                true => 2,
                false => instruction.switch_targets().collect::<BTreeSet<i64>>().len(),
            };
            if ways > 0 {
                branches.push(NotTaken { bci: instruction.bci, line: table.line(instruction.bci), ways });
            }
        }
        out.push(NotRun {
            name: method.name_str().into_owned(),
            descriptor: method.descriptor_str().into_owned(),
            first: table.first(),
            lines: (0..code.bytes.len() as u32).filter_map(|bci| table.line(bci)).collect(),
            branches,
        });
    }
    Ok(out)
}
