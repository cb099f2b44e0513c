//! Tests of recordings, the profile file, recovery, cycles and processor models, in one program, as each is linked with
//! everything.

mod captures;
mod cycles;
mod hostile;
mod merge;
mod native_methods;
mod recovery;
mod round_trip;
mod target_errors;
mod target_models;
mod trees;
