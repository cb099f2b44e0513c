//! Room for contexts and classes while the VM prepares itself, before it can call the agent.
//!
//! What every start takes is made ready by a thread of the agent's, as the kernel is slow to give memory and the VM has to do
//! meanwhile. The runtime's native methods can be found only when the VM can run Java code. Before, and with `-javaagent:`,
//! `--add-modules` or a module path, the JDK computes the module graph, in more contexts than any first step would hold. Until
//! then the runtime writes down how much room it wants ([`cprof_instrument::abi::header::WANTED`]), and a thread of the agent's
//! makes it.

use crate::arena::Arena;
use crate::class_log::ClassLog;
use crate::{contained, faults, threads};
use std::sync::Arc;
use std::time::Duration;

/// The runtime waits some of that, once per step of the arena, and as long as the step takes.
const LOOK: Duration = Duration::from_millis(1);

/// Begins to make room, and to look for wishes.
pub fn begin(arena: &Arc<Arena>, log: &Arc<ClassLog>) {
    let (looking, log) = (arena.clone(), log.clone());
    arena.take_wishes(true);
    let started = threads::start("cprof room", move || {
        // A panic has been reported, and the tree folds what finds no room.
        let _ = contained(|| {
            faults::pass("room");
            log.prepare();
            looking.prepare();
            while looking.grant() {
                std::thread::sleep(LOOK);
            }
            Ok(())
        });
        end(&looking);
    });
    if !started {
        end(arena);
        arena.prepare();
    }
}

/// The VM can call the agent now.
pub fn end(arena: &Arena) {
    arena.take_wishes(false);
}
