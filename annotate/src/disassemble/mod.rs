//! Bytecode as text, in the notation of `javap -c`.
//!
//! [`text()`] makes one instruction readable, [`Text::lines`] lays it out as javap does; [`constants`] says what stands behind
//! `#7`, [`numbers`] writes floating point numbers as Java does.

pub mod constants;
pub mod numbers;

use cprof_instrument::Error;
use cprof_instrument::classfile::ClassFile;
use cprof_instrument::classfile::instructions::Instruction;
use cprof_instrument::classfile::opcode::{MNEMONIC, op};
use std::fmt;

/// Where javap begins comments, in characters from the beginning of `   0: `.
const COMMENT_COLUMN: usize = 40;

/// An instruction as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// `invokespecial`; with `_w` behind it where `wide` precedes the instruction.
    pub mnemonic: String,
    /// `#1`, `2, 200`, `36`; of a switch what it begins with, `{ // 1 to 5`. Empty for instructions without operands.
    pub operands: String,
    /// What the constant is, without the slashes: `Method java/lang/Object."<init>":()V`. Empty for instructions without one.
    pub comment: String,
    /// Of a switch: value and target bytecode index, in the order of the class file; last the default.
    pub cases: Vec<Case>,
}

/// A case of a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Case {
    /// The value; none: the default.
    pub value: Option<i32>,
    /// The bytecode index it leads to. Not checked against the code.
    pub target: i64,
}

impl fmt::Display for Text {
    /// On one line: `invokespecial #1  // Method java/lang/Object."<init>":()V`, `tableswitch { 1: 36, 2: 38, default: 42 }`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.mnemonic)?;
        if !self.cases.is_empty() {
            let cases: Vec<String> = self.cases.iter().map(|case| format!("{}: {}", case.label(), case.target)).collect();
            return write!(f, " {{ {} }}", cases.join(", "));
        }
        if !self.operands.is_empty() {
            write!(f, " {}", self.operands.trim_start())?;
        }
        if !self.comment.is_empty() {
            write!(f, "  // {}", self.comment)?;
        }
        Ok(())
    }
}

impl Case {
    /// The value as text, or `default`.
    pub fn label(&self) -> String {
        self.value.map_or_else(|| "default".to_owned(), |value| value.to_string())
    }
}

impl Text {
    /// The lines that `javap -c` prints for the instruction, from the bytecode index on: without the indentation, which all lines
    /// of a method share.
    pub fn lines(&self, bci: u32) -> Vec<String> {
        let mut first = format!("{bci:4}: {:<13} {}", self.mnemonic, self.operands);
        if !self.comment.is_empty() {
            let padding = COMMENT_COLUMN.saturating_sub(first.chars().count()).max(1);
            first.extend(std::iter::repeat_n(' ', padding));
            first.push_str("// ");
            first.push_str(&self.comment);
        }
        first.truncate(first.trim_end().len());
        let mut lines = vec![first];
        if !self.cases.is_empty() {
            lines.extend(self.cases.iter().map(|case| format!("    {:>14}: {}", case.label(), case.target)));
            lines.push("      }".to_owned());
        }
        lines
    }
}

/// The text of an instruction of a class. Fails where it names a constant that is not there or of the wrong kind.
pub fn text(class: &ClassFile<'_>, instruction: &Instruction<'_>) -> Result<Text, Error> {
    let i = instruction;
    let name = MNEMONIC.get(i.opcode as usize).copied().unwrap_or("?");
    let mnemonic = if i.is_wide() { format!("{name}_w") } else { name.to_owned() };
    let mut text = Text { mnemonic, operands: String::new(), comment: String::new(), cases: Vec::new() };
    match i.opcode {
        op::BIPUSH => text.operands = (i.bytes[1] as i8).to_string(),
        op::SIPUSH => text.operands = (i.u2() as i16).to_string(),
        op::LDC | op::LDC_W | op::LDC2_W => text.constant(class, i.ldc_index(), "")?,
        op::IINC => {
            let local = i.local().unwrap_or_default();
            let step = if i.is_wide() { i16::from_be_bytes([i.bytes[4], i.bytes[5]]) } else { i16::from(i.bytes[2] as i8) };
            text.operands = format!("{local}, {step}");
        }
        op::ILOAD..=op::ALOAD | op::ISTORE..=op::ASTORE | op::RET => text.operands = i.local().unwrap_or_default().to_string(),
        op::TABLESWITCH | op::LOOKUPSWITCH => text.switch(i),
        op::GETSTATIC..=op::INVOKESTATIC | op::NEW | op::ANEWARRAY | op::CHECKCAST | op::INSTANCEOF => {
            text.constant(class, i.u2(), "")?;
        }
        op::INVOKEINTERFACE | op::INVOKEDYNAMIC | op::MULTIANEWARRAY => {
            text.constant(class, i.u2(), &format!(",  {}", i.bytes[3]))?;
        }
        // With a space before it, as javap has it.
        op::NEWARRAY => text.operands = format!(" {}", element(i.bytes[1])),
        _ => text.operands = i.jump_target().map(|target| target.to_string()).unwrap_or_default(),
    }
    Ok(text)
}

impl Text {
    fn constant(&mut self, class: &ClassFile<'_>, index: u16, more: &str) -> Result<(), Error> {
        self.operands = format!("#{index}{more}");
        self.comment = constants::describe(class, index)?;
        Ok(())
    }

    fn switch(&mut self, i: &Instruction<'_>) {
        let word = |bytes: &[u8]| i32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let operands = i.operands_of_switch();
        let mut targets = i.switch_targets();
        let default = targets.next().unwrap_or_default();
        let cases: Vec<Case> = if i.opcode == op::TABLESWITCH {
            let (low, high) = (word(&operands[4..]), word(&operands[8..]));
            self.operands = format!("{{ // {low} to {high}");
            (low..=high).zip(targets).map(|(value, target)| Case { value: Some(value), target }).collect()
        } else {
            let pairs = operands[8..].chunks_exact(8);
            self.operands = format!("{{ // {}", pairs.len());
            pairs.zip(targets).map(|(pair, target)| Case { value: Some(word(pair)), target }).collect()
        };
        self.cases = cases;
        self.cases.push(Case { value: None, target: default });
    }
}

/// The element type of newarray (JVMS table 6.5.newarray-A).
pub(crate) fn element(code: u8) -> &'static str {
    const NAMES: [&str; 8] = ["boolean", "char", "float", "double", "byte", "short", "int", "long"];
    code.checked_sub(4).and_then(|at| NAMES.get(at as usize)).copied().unwrap_or("?")
}
