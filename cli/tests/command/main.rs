//! Tests of the `cprof` command on synthetic profiles, in one program, as each is linked with everything.

mod annotate;
mod compare;
mod export;
mod live;
mod merge;
mod outputs;
mod processors;
mod report;
mod run;
mod usage;
mod views;
