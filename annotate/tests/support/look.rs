//! What commands do with a profile; the fuzz targets look at theirs with it too.

use cprof_annotate::charges::Charges;
use cprof_annotate::histogram::Mix;
use cprof_annotate::lines;
use cprof_annotate::method::{Choice, annotate};
use cprof_profile::cache::CacheSpec;
use cprof_profile::cycles::{Options, evaluate};
use cprof_profile::measure::measure;
use cprof_profile::model::Profile;
use cprof_profile::natives::native_calls;
use cprof_profile::projections;
use cprof_profile::target::{CycleEstimator, Library, Model};
use cprof_profile::tree::{Symbols, Tree};

/// The model that is looked with.
pub fn model() -> Model {
    Library.load("jop").unwrap()
}

/// Everything that commands do with a profile; answers how many methods were annotated.
pub fn look(profile: &Profile, model: &dyn CycleEstimator) -> usize {
    let options = Options { cache: Some(CacheSpec::IDEAL), ..Options::default() };
    let Ok(mut measures) = measure(profile) else { return 0 };
    let Ok(natives) = native_calls(profile, &measures) else { return 0 };
    if let Ok(evaluation) = evaluate(profile, &measures, &natives, model, &options) {
        measures.processor = evaluation.nodes;
    }
    let symbols = Symbols::new(profile);
    projections::by_method(&Tree::new(profile, &symbols, &measures, &natives, |_| true), &symbols);
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
    let ran = vec![true; profile.methods.len()];
    for class in 0..profile.classes.len() {
        let _ = lines::not_run(profile, class as u32, &lines::positions(profile, &ran)); // damaged: an error
    }
    annotated
}
