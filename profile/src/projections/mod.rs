//! Tables: what a profile says by method, by thread, in total.

mod methods;
mod threads;

pub use methods::{MethodRow, Totals, by_method, totals, totals_of_nodes};
pub use threads::{ThreadRow, by_thread, labels};
