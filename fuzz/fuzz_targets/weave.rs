//! The class-file reader and the weaver. Seeds: any class files, for example `jimage extract --dir corpus/weave`.
#![no_main]

#[path = "../../instrument/tests/weaver/support/invariants.rs"]
mod invariants;

use cprof_instrument::Weaver;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    invariants::check(&mut Weaver::new(), data);
});
