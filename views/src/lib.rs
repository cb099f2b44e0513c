//! Pictures of profiles, each one file that needs nothing else: flame graphs as SVG, and an HTML page to explore.
//!
//! [`forest`] merges the trees that are shown (threads of a profile, two profiles that are compared) by name; [`svg`] draws
//! a flame graph of it, [`page`] writes it as columns beside the scripts that show them.
#![forbid(unsafe_code)]

mod colour;
pub mod forest;
pub mod page;
pub mod svg;
pub mod xml;
