//! Damaged classes and counts: an error or numbers, never a panic.

#[path = "support/look.rs"]
mod look;

use cprof_profile::model::{Departure, DepartureKind};
use cprof_synthetic::{counters, set_counters};
use look::{look, model};

#[test]
fn every_changed_byte_of_a_class() {
    let good = cprof_synthetic::demo().profile(&[]);
    let model = model();
    assert_eq!(look(&good, &model), 3);
    let mut annotated = 0;
    for class in 0..good.classes.len() {
        for at in 0..good.classes[class].bytes.len() {
            for value in [0, 1, 0x7f, 0xaa, 0xab, 0xc4, 0xff] {
                let mut profile = good.clone();
                profile.classes[class].bytes[at] = value;
                annotated += usize::from(look(&profile, &model) > 0);
            }
        }
    }
    assert!(annotated > 100, "so few went through: {annotated}");
}

#[test]
fn counts_that_contradict_each_other() {
    let model = model();
    let good = cprof_synthetic::demo().profile(&[]);
    let counters = counters(&good);
    for counter in 0..counters.len() {
        for value in [0, 1 << 20, u64::MAX, 1 << 63] {
            let mut profile = good.clone();
            let mut changed = counters.clone();
            changed[counter] = value;
            set_counters(&mut profile, changed);
            look(&profile, &model);
        }
    }
    for (count, bci) in [(i64::MAX, 4), (i64::MIN, 4), (-7, 7), (5, 0), (1, 60000)] {
        for kind in [DepartureKind::Thrown, DepartureKind::Caught, DepartureKind::Active] {
            let mut profile = good.clone();
            for departure in &mut profile.departures {
                *departure = Departure { bci, kind, count, ..*departure };
            }
            look(&profile, &model);
        }
    }
}
