//! What the tests of the weaver are made of.

pub mod assembler;
pub mod frames;
pub mod generator;
pub mod interpreter;
pub mod invariants;
pub mod jdk;
pub mod random;
pub mod runtime;
pub mod solver;
pub mod truth;
