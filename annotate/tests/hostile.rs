//! Damaged classes and counts: an error or numbers, never a panic.

use cprof_annotate::charges::Charges;
use cprof_annotate::histogram::Mix;
use cprof_annotate::lines;
use cprof_annotate::method::{Choice, annotate};
use cprof_profile::cycles::{Options, evaluate};
use cprof_profile::measure::measure;
use cprof_profile::model::{Departure, DepartureKind, Profile};
use cprof_profile::natives::native_calls;
use cprof_profile::target::{Bytecodes, CycleEstimator, Library, Model};
use cprof_synthetic::{counters, set_counters};

fn model() -> Model {
    Library.load("jop").unwrap()
}

/// Everything that the commands do with a profile; answers how many methods were annotated.
fn look(profile: &Profile, model: &dyn CycleEstimator) -> usize {
    let options = Options { cache: Some(cprof_profile::cache::CacheSpec::IDEAL), ..Options::default() };
    let Ok(mut measures) = measure(profile, &Bytecodes) else { return 0 };
    let Ok(natives) = native_calls(profile, &measures) else { return 0 };
    let Ok(evaluation) = evaluate(profile, &measures, &natives, model, &options) else { return 0 };
    measures.processor = evaluation.nodes;
    let nodes = vec![true; profile.nodes.len()];
    let Ok(charges) = Charges::collect(profile, &measures, &natives, model, &options, &nodes) else { return 0 };
    let choice = Choice { profile, measures: &measures, nodes: &nodes, charges: Some(&charges) };
    let (mut annotated, mut mix, mut by_line) = (0, Mix::default(), lines::Lines::new());
    let done = annotate(
        &choice,
        |_| true,
        |annotation| {
            annotated += 1;
            mix.add(&annotation);
            lines::add(&mut by_line, &annotation);
            for row in &annotation.rows {
                assert!(!row.text.lines(row.bci).is_empty());
            }
            let rows = annotation.rows.iter().map(|row| row.cycles as i64);
            let cycles = rows.chain(annotation.elsewhere.iter().map(|e| e.cycles)).fold(0i64, i64::wrapping_add);
            assert_eq!(cycles, annotation.cycles as i64, "even where counts contradict each other");
        },
    );
    if done.is_ok() {
        assert_eq!(mix.block_quantile(0.5).is_some(), mix.mean_block().is_some());
        assert!(mix.hottest(0.9) <= mix.touched());
    }
    for class in 0..profile.classes.len() {
        let _ = lines::not_run(profile, class as u32); // damaged: an error
    }
    annotated
}

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
