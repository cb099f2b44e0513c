//! A small assembler for class files that javac does not write: code with labels, exception tables, and stack maps written in
//! full.
//!
//! - [`op`]: the opcodes
//! - [`code`]: the code of a method
//! - [`class`]: a class file and its constant pool
//! - [`odd`]: the classes that `programs/Generated.java` and `programs/Huge.java` call

pub mod class;
pub mod code;
pub mod odd;
pub mod op;

pub use class::{Class, Pool, access};
pub use code::{Code, Item, Label};
pub use odd::classes;
