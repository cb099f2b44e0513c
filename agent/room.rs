//! Room for contexts before the VM can call the agent.
//!
//! The runtime's native methods can be found only when the VM can run Java code. Before, and with `-javaagent:`, `--add-modules` or a module path, the JDK
//! computes the module graph, in more contexts than any first step would hold. Until then the runtime writes down how much room it wants
//! ([`cprof_instrument::abi::header::WANTED`]), and a thread of the agent's makes it.

use crate::arena::Arena;
use crate::{contained, faults, threads};
use std::sync::Arc;
use std::time::Duration;

/// The runtime waits some of that, once per step of the arena, and as long as the step takes.
const LOOK: Duration = Duration::from_millis(1);

/// Begins to look for wishes.
pub fn begin(arena: &Arc<Arena>) {
    let looking = arena.clone();
    arena.take_wishes(true);
    let started = threads::start("cprof room", move || {
        // A panic has been reported, and the tree folds what finds no room.
        let _ = contained(|| {
            faults::pass("room");
            while looking.grant() {
                std::thread::sleep(LOOK);
            }
            Ok(())
        });
        end(&looking);
    });
    if !started {
        end(arena);
    }
}

/// The VM can call the agent now.
pub fn end(arena: &Arena) {
    arena.take_wishes(false);
}
