//! The original code of the profile's methods.

use crate::model::Profile;
use crate::source_map::{SourceMap, SourceMaps};
use cprof_instrument::classfile::instructions::{Instruction, Instructions};
use cprof_instrument::classfile::{ClassFile, Code, mutf8};
use thiserror::Error;

/// A class in the profile that cannot be read, or a method whose code does not fit its flow.
#[derive(Debug, Error)]
#[error("the profile's copy of {class} is damaged: {reason}")]
pub struct CodeError {
    /// Internal name of the class.
    pub class: String,
    /// What is wrong.
    pub reason: String,
}

/// Calls `each` with every method's index, its class and its place in it, class by class.
pub fn for_each_method<'p>(
    profile: &'p Profile,
    mut each: impl FnMut(usize, &ClassFile<'p>, &cprof_instrument::classfile::Method<'p>) -> Result<(), CodeError>,
) -> Result<(), CodeError> {
    let mut order: Vec<usize> = (0..profile.methods.len()).collect();
    order.sort_by_key(|&m| profile.methods[m].class);
    for same in order.chunk_by(|&a, &b| profile.methods[a].class == profile.methods[b].class) {
        let class = &profile.classes[profile.methods[same[0]].class as usize];
        let fail = |reason: String| CodeError { class: class.name.clone(), reason };
        let parsed = ClassFile::parse(&class.bytes).map_err(|e| fail(e.to_string()))?;
        for &m in same {
            let index = profile.methods[m].index;
            let method = parsed.methods.get(index as usize);
            each(m, &parsed, method.ok_or_else(|| fail(format!("it has no method {index}")))?)?;
        }
    }
    Ok(())
}

/// What a method's bytecodes cost: sums up to each, so that any range is a difference.
#[derive(Debug, Clone, Default)]
pub struct Costs {
    starts: Vec<u32>,
    /// `sums[i]`: the bytecodes before the i-th together; one more than there are bytecodes.
    sums: Vec<i64>,
}

impl Costs {
    /// The costs of a method's code, at a price for each bytecode.
    pub fn by(code: &[u8], at: usize, mut price: impl FnMut(&Instruction<'_>) -> u64) -> Result<Costs, cprof_instrument::Error> {
        let mut costs = Costs { starts: Vec::new(), sums: vec![0] };
        let mut sum = 0i64;
        for instruction in Instructions::new(code, at) {
            let instruction = instruction?;
            costs.starts.push(instruction.bci);
            sum = sum.wrapping_add(price(&instruction) as i64);
            costs.sums.push(sum);
        }
        Ok(costs)
    }

    fn before(&self, bci: u32) -> i64 {
        self.sums[self.starts.partition_point(|&s| s < bci)]
    }

    /// The bytecodes that start in `start..end`.
    pub fn range(&self, start: u32, end: u32) -> i64 {
        self.before(end).wrapping_sub(self.before(start))
    }
}

/// The source lines of a method's bytecodes.
#[derive(Debug, Clone, Default)]
pub struct LineTable {
    /// (bytecode index, line) in order of bytecode index.
    rows: Vec<(u16, u16)>,
}

impl LineTable {
    /// Reads the LineNumberTable (JVMS §4.7.12), with the lines that its class's map says they stand for; empty where there is
    /// none.
    pub fn read(class: &ClassFile<'_>, code: &Code<'_>, map: &SourceMap) -> LineTable {
        let mut table = LineTable::default();
        for (name, _, content) in code.attributes() {
            if class.pool.utf8(name) == Ok(b"LineNumberTable") {
                let rows = content.get(2..).unwrap_or_default().as_chunks::<4>().0;
                let u2 = |row: &[u8; 4], at: usize| u16::from_be_bytes([row[at], row[at + 1]]);
                // What is on no line goes with what stands before it.
                table.rows.extend(rows.iter().filter_map(|row| Some((u2(row, 0), map.line(u2(row, 2))?))));
            }
        }
        // Of several at one bytecode the last holds.
        table.rows.sort_by_key(|row| row.0);
        table
    }

    /// The line of a bytecode, where the compiler recorded one; no source has a line 0.
    pub fn line(&self, bci: u32) -> Option<u16> {
        let after = self.rows.partition_point(|&(start, _)| u32::from(start) <= bci);
        Some(self.rows[after.checked_sub(1)?].1).filter(|&line| line > 0)
    }

    /// The line of the first bytecode that has one: compilers may check parameters before.
    pub fn first(&self) -> Option<u16> {
        self.rows.iter().map(|row| row.1).find(|&line| line > 0)
    }
}

/// The source line of every method's bytecodes.
pub struct Lines {
    tables: Vec<LineTable>,
}

impl Lines {
    /// Reads the line numbers of every method.
    pub fn read(profile: &Profile) -> Result<Lines, CodeError> {
        let mut tables = vec![LineTable::default(); profile.methods.len()];
        let mut maps = SourceMaps::default();
        for_each_method(profile, |m, class, method| {
            let fail = |e: cprof_instrument::Error| CodeError { class: class.name_str().into_owned(), reason: e.to_string() };
            if let Some(code) = class.code(method).map_err(fail)? {
                tables[m] = LineTable::read(class, &code, maps.of(class));
            }
            Ok(())
        })?;
        Ok(Lines { tables })
    }

    /// [`LineTable::first`] of a method.
    pub fn first(&self, method: usize) -> Option<u16> {
        self.tables.get(method)?.first()
    }

    /// The line of a bytecode of a method, where the compiler recorded one.
    pub fn line(&self, method: usize, bci: u32) -> Option<u16> {
        self.tables.get(method)?.line(bci)
    }
}

/// A name in a class file as text.
pub(crate) fn text(name: &[u8]) -> String {
    mutf8::decode(name).into_owned()
}
