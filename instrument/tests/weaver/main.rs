//! Tests of the weaver on class files made for them, from real JDKs, and damaged.

mod counts;
mod flow;
mod hostile;
mod independent_reader;
mod limits;
mod support;
mod tables;
