//! Recordings in shared memory: directories of this user's (for root: of anyone's), of living and of dead processes.

mod clean;
mod memory;
mod open;
mod shelf;

pub use clean::{CleanError, remove};
pub use memory::FileMemory;
pub use open::{OpenError, Recording};
pub use shelf::{Found, Shelf, State};
