//! Two profiles beside each other.
//!
//! [`numbered`] takes running numbers out of names, [`prints`] says what a method's code does whatever its names are, [`pair`]
//! finds which of several numbered things is which, [`renumbering`]
//! does so for two profiles, [`methods`] and [`contexts`] join them, [`mod@diff`] and
//! [`mod@overlap`] are what can be said then. [`budget`] compares a profile with limits. [`metric`] and [`mod@similar`] find what
//! somebody means.
#![forbid(unsafe_code)]

pub mod budget;
pub mod contexts;
pub mod diff;
pub mod methods;
pub mod metric;
pub mod numbered;
pub mod overlap;
pub mod pair;
pub mod prints;
pub mod renumbering;
pub mod similar;
