//! What executing costs on a processor.
//!
//! A model is a TOML file ([`source`] reads one, [`library`] finds it and its bases, [`model`] puts them together), or
//! anything else that implements [`CycleEstimator`]. No processor is named in this code.

pub mod expression;
pub mod library;
pub mod model;
pub mod names;
pub mod source;

pub use library::{Library, ModelFile, Shipped};
pub use model::{Accuracy, Model};

use crate::cache::CacheSpec;
use cprof_instrument::classfile::instructions::Instruction;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use thiserror::Error;

/// How a method was called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum InvokeKind {
    /// `invokevirtual`
    Virtual,
    /// `invokespecial`
    Special,
    /// `invokestatic`
    Static,
    /// `invokeinterface`
    Interface,
    /// `invokedynamic`
    Dynamic,
    /// By the JVM or by native code: no bytecode asked for it.
    Vm,
}

impl InvokeKind {
    /// All, in the order of their numbers.
    pub const ALL: [InvokeKind; 6] = [Self::Virtual, Self::Special, Self::Static, Self::Interface, Self::Dynamic, Self::Vm];

    /// The kind of an invoke instruction.
    pub fn of_opcode(opcode: u8) -> Option<InvokeKind> {
        use cprof_instrument::classfile::opcode::op;
        Some(match opcode {
            op::INVOKEVIRTUAL => Self::Virtual,
            op::INVOKESPECIAL => Self::Special,
            op::INVOKESTATIC => Self::Static,
            op::INVOKEINTERFACE => Self::Interface,
            op::INVOKEDYNAMIC => Self::Dynamic,
            _ => return None,
        })
    }

    /// Its name in models and reports.
    pub fn name(self) -> &'static str {
        names::INVOKE_KINDS[self as usize]
    }
}

/// What executing a bytecode once costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cost {
    /// Cycles.
    pub cycles: u64,
    /// They are an average: the processor executes this bytecode in software, or nobody published its time.
    pub estimated: bool,
}

/// What the numbers of a processor's model are.
pub const CYCLES: &str = "cycles";

/// A processor's timing.
///
/// Costs must not depend on what was executed before but for the outcome of a method cache lookup. For a processor that
/// TOML can describe, write a model file; `examples/cycle_estimator.rs` of this crate shows one that it cannot (a switch
/// whose cost grows with the number of its cases).
pub trait CycleEstimator {
    /// Name in reports.
    fn name(&self) -> &str;

    /// The cost of a bytecode that is neither an invoke nor a return. A widened instruction (`wide`) is one instruction.
    ///
    /// # Errors
    /// The model has no number for it.
    fn bytecode(&self, instruction: &Instruction<'_>) -> Result<Cost, TargetError>;

    /// Cycles of a call by `kind` whose callee was in the method cache, or missed and has `miss` words. Charged to the caller.
    ///
    /// # Errors
    /// The model has no number for it.
    fn invoke(&self, kind: InvokeKind, miss: Option<u32>) -> Result<u64, TargetError>;

    /// Cycles of a return instruction; `miss`: the size in words of the method returned to, when the cache missed it.
    /// Charged to the method that returns.
    ///
    /// # Errors
    /// The model has no number for it.
    fn leave(&self, opcode: u8, miss: Option<u32>) -> Result<u64, TargetError>;

    /// A method's size in words of the processor's memory.
    fn words(&self, code_length: u32) -> u32 {
        code_length.div_ceil(4)
    }

    /// Whether a bytecode costs something only once it has completed, as where what it does is counted: not if it threw, or was
    /// still at it when the profile was taken. In methods counted by blocks that is not known, and all of a block costs.
    fn only_completed(&self) -> bool {
        false
    }

    /// The clock in MHz, where the model has one.
    fn clock_mhz(&self) -> Option<u64>;

    /// The method cache it has unless another is asked for.
    fn cache(&self) -> CacheSpec;
}

/// What is wrong with a model, where, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub struct TargetError {
    /// File, or name of a shipped model; line and column from 1.
    pub place: Option<Place>,
    /// As a sentence without a full stop.
    pub message: String,
}

/// A place in a model's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file as it was named, or `<shipped name>.toml`.
    pub file: String,
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

impl fmt::Display for TargetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        f.write_str(&self.message)
    }
}

impl Place {
    /// Where a file goes on behind this beginning of it.
    pub fn behind(file: &str, before: &str) -> Place {
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let (line, column) = (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1);
        Place { file: file.to_owned(), line, column }
    }
}

/// Most bytes of a file that somebody has written.
const MOST_TEXT: u64 = 4 << 20;

/// The bytes of a file that somebody has written: a model, or one of its like. The agent reads them, too, in a program whose
/// memory is not to be filled.
///
/// # Errors
/// It cannot be read, or has more than 4 MB, as devices have.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MOST_TEXT + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > MOST_TEXT {
        true => Err(io::Error::other("it has more than 4 MB, so it is something else; name another file")),
        false => Ok(bytes),
    }
}

/// The text of a file that should be one: models and all that is written by hand beside them are in UTF-8.
///
/// # Errors
/// It is not UTF-8; with the place of the first byte that is not.
pub fn text(file: &str, bytes: Vec<u8>) -> Result<String, TargetError> {
    String::from_utf8(bytes).map_err(|e| {
        let good = e.utf8_error().valid_up_to();
        let byte = e.as_bytes().get(good).copied().unwrap_or_default();
        TargetError {
            place: Some(Place::behind(file, &String::from_utf8_lossy(&e.as_bytes()[..good]))),
            message: format!("the byte 0x{byte:02x} is not UTF-8, in which the file must be; save it in that encoding"),
        }
    })
}

impl TargetError {
    /// An error without a place.
    pub fn new(message: impl Into<String>) -> TargetError {
        TargetError { place: None, message: message.into() }
    }

    /// What is wrong with the text of a file as TOML, or as what it should be a description of.
    pub fn of_toml(file: &str, text: &str, error: &toml::de::Error) -> TargetError {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or(text);
        TargetError { place: Some(Place::behind(file, before)), message: in_words(error) }
    }
}

/// What the TOML library says of a file, for who knows TOML and not what it is read with.
pub fn in_words(error: &toml::de::Error) -> String {
    let message = error.message().trim_end();
    let Some((found, wanted)) = message.strip_prefix("invalid type: ").and_then(|types| types.rsplit_once(", expected ")) else {
        return message.to_owned();
    };
    let found = match found {
        "map" => "a table",
        "sequence" => "a list",
        found => found,
    };
    let wanted = match wanted {
        "a sequence" if found == "a table" => "a list of tables, with two brackets around its name, as [[budget]],",
        "a sequence" => "a list in brackets",
        "a string" => "a text in quotes",
        "a boolean" => "true or false",
        "i64" => "a whole number",
        wanted if wanted == "a map" || wanted.starts_with("struct ") => "a table",
        wanted => wanted,
    };
    format!("{wanted} is expected, not {found}")
}
