//! What kinds of bytecodes were executed, in blocks of what size, and how branches went: program properties as the literature on
//! dynamic metrics counts them, but exact for all contexts chosen.
//!
//! A [`Mix`] is a sum over annotations; [`groups`] are opcodes that belong together, [`branches`] outcomes of branches. [`types`]
//! are those of the objects that bytecodes make.

pub mod branches;
pub mod groups;
pub mod types;

use crate::method::{Annotation, Block, Row, Way};
use branches::Branches;
use cprof_instrument::classfile::opcode::COUNT;
use cprof_profile::model::Level;
use std::collections::BTreeMap;

/// Counts of one or more methods.
#[derive(Debug, Clone)]
pub struct Mix {
    /// Bytecodes executed: the sum of [`Mix::opcodes`] and of [`Mix::unexplained`].
    pub bytecodes: u64,
    /// Executions by opcode. A widened instruction counts for the instruction that it widens.
    pub opcodes: [u64; COUNT],
    /// Executed blocks by how many bytecodes were executed in them: fewer than the block has where an exception ended it. The sum
    /// of products is that of [`Mix::opcodes`].
    pub block_sizes: BTreeMap<u32, u64>,
    /// Outcomes of branches and switches.
    pub branches: Branches,
    /// Executions of each bytecode that was executed at all, by number of executions: how many bytecodes of a class file.
    pub sites: BTreeMap<u64, u64>,
    /// Bytecodes that contradicting counts hide, see [`Annotation::unexplained`].
    pub unexplained: i64,
}

impl Default for Mix {
    fn default() -> Mix {
        Mix {
            bytecodes: 0,
            opcodes: [0; COUNT],
            block_sizes: BTreeMap::new(),
            branches: Branches::default(),
            sites: BTreeMap::new(),
            unexplained: 0,
        }
    }
}

impl Mix {
    /// Adds a method.
    pub fn add(&mut self, annotation: &Annotation) {
        self.bytecodes = self.bytecodes.saturating_add(annotation.bytecodes);
        self.unexplained = self.unexplained.wrapping_add(annotation.unexplained);
        for row in annotation.rows.iter().filter(|row| row.executions > 0) {
            if let Some(count) = self.opcodes.get_mut(row.opcode as usize) {
                *count = count.saturating_add(row.executions);
            }
            *self.sites.entry(row.executions).or_default() += 1;
            self.branches.add(row);
        }
        for block in &annotation.blocks {
            let rows = &annotation.rows[block.rows.0 as usize..][..block.rows.1 as usize];
            self.block(block, rows, annotation.level);
        }
    }

    fn block(&mut self, block: &Block, rows: &[Row], level: Level) {
        let length = rows.len() as u32;
        let mut whole = block.executions;
        let mut count = |length: u32, times: u64| {
            if length > 0 && times > 0 {
                let sum = self.block_sizes.entry(length).or_default();
                *sum = sum.saturating_add(times);
            }
        };
        // What leaves at the last bytecode leaves a whole block; counted by blocks, every block counts whole.
        let before_last = if level == Level::Precise { &rows[..rows.len().saturating_sub(1)] } else { &[] };
        for (executed, row) in (1..).zip(before_last) {
            for outcome in &row.outcomes {
                match outcome.way {
                    Way::Thrown | Way::Caught | Way::Active => {
                        count(executed, outcome.count);
                        whole = whole.saturating_sub(outcome.count);
                    }
                    Way::Resumed => count(length - executed, outcome.count),
                    Way::Taken | Way::NotTaken | Way::Case { .. } => {}
                }
            }
        }
        count(length, whole);
    }

    /// How many blocks were executed.
    pub fn blocks(&self) -> u64 {
        self.block_sizes.values().fold(0, |sum, times| sum.saturating_add(*times))
    }

    /// Mean number of bytecodes executed per block; none without blocks.
    pub fn mean_block(&self) -> Option<f64> {
        let bytecodes = self.opcodes.iter().fold(0u64, |sum, n| sum.saturating_add(*n));
        (self.blocks() > 0).then(|| bytecodes as f64 / self.blocks() as f64)
    }

    /// The smallest size that at least this share (0 to 1) of the executed blocks do not exceed; none without blocks.
    pub fn block_quantile(&self, share: f64) -> Option<u32> {
        // As a float their number may be larger than it is.
        let wanted = ((share * self.blocks() as f64).ceil().max(1.0) as u64).min(self.blocks());
        let mut seen = 0u64;
        self.block_sizes
            .iter()
            .find(|(_, times)| {
                seen = seen.saturating_add(**times);
                seen >= wanted
            })
            .map(|(size, _)| *size)
    }

    /// How many bytecodes of class files were executed at least once.
    pub fn touched(&self) -> u64 {
        self.sites.values().sum()
    }

    /// The smallest number of bytecodes of class files that together make this share (0 to 1) of all executions.
    pub fn hottest(&self, share: f64) -> u64 {
        let all = self.opcodes.iter().fold(0u128, |sum, n| sum + u128::from(*n));
        let wanted = (share * all as f64).ceil() as u128;
        let (mut executions, mut sites) = (0u128, 0u64);
        for (&each, &of) in self.sites.iter().rev() {
            if executions >= wanted {
                break;
            }
            let missing = (wanted - executions).div_ceil(u128::from(each)).min(u128::from(of)) as u64;
            executions += u128::from(each) * u128::from(missing);
            sites += missing;
        }
        sites
    }

    /// Executions of all opcodes of a group.
    pub fn of_group(&self, group: groups::Group) -> u64 {
        let of = self.opcodes.iter().enumerate().filter(|(opcode, _)| groups::Group::of(*opcode as u8) == group);
        of.fold(0, |sum, (_, n)| sum.saturating_add(*n))
    }
}
