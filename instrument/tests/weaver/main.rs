//! Tests of the weaver on class files made for them, from real JDKs, and damaged.

mod counts;
mod hostile;
mod independent_reader;
mod support;
mod tables;
