//! Where cycles and executions stand, on a recording whose every count is known.

use cprof_annotate::charges::Charges;
use cprof_annotate::histogram::Mix;
use cprof_annotate::method::{Annotation, Choice, Outcome, Way, annotate};
use cprof_profile::cycles::{Options, evaluate};
use cprof_profile::measure::measure;
use cprof_profile::model::{Departure, DepartureKind, Level, Profile};
use cprof_profile::natives::native_calls;
use cprof_profile::target::{CycleEstimator, InvokeKind, Library};
use cprof_synthetic::Recording;
use cprof_synthetic::classes::{ClassWriter, op};

/// A method by name in all contexts, on JOP with this cache.
fn on_jop(profile: &Profile, name: &str, cache: &str) -> Annotation {
    let model = Library.load("jop").unwrap();
    let options = Options { cache: Some(cache.parse().unwrap()), ..Options::default() };
    let mut measures = measure(profile).unwrap();
    let natives = native_calls(profile, &measures).unwrap();
    measures.processor = evaluate(profile, &measures, &natives, &model, &options).unwrap().nodes;
    let nodes = vec![true; profile.nodes.len()];
    let charges = Charges::collect(profile, &measures, &natives, &model, &options, &nodes).unwrap();
    let choice = Choice { profile, measures: &measures, nodes: &nodes, charges: Some(&charges) };
    let mut found = Vec::new();
    annotate(&choice, |method| profile.methods[method as usize].name == name, |annotation| found.push(annotation)).unwrap();
    assert_eq!(found.len(), 1);
    found.remove(0)
}

fn cycles(annotation: &Annotation) -> Vec<u64> {
    assert_eq!((&annotation.elsewhere[..], annotation.unexplained), (&[][..], 0));
    assert_eq!(annotation.rows.iter().map(|row| row.cycles).sum::<u64>(), annotation.cycles);
    annotation.rows.iter().map(|row| row.cycles).collect()
}

#[test]
fn calls_stand_at_the_invoke_and_misses_where_they_arise() {
    let profile = cprof_synthetic::demo().profile(&[]);
    // iconst_1, three calls of 75 cycles, goto, return.
    assert_eq!(cycles(&on_jop(&profile, "main", "ideal")), [1, 3 * 75, 4, 21]);
    // iload_0, ifeq, a native call, iinc, goto, three returns.
    assert_eq!(cycles(&on_jop(&profile, "work", "ideal")), [8, 8 * 4, 0, 4 * 4, 4 * 4, 3 * 21]);
    // Each return loads a caller of two words, which takes 3 cycles more.
    assert_eq!(cycles(&on_jop(&profile, "work", "none")), [8, 8 * 4, 0, 4 * 4, 4 * 4, 3 * (21 + 3)]);
}

#[test]
fn calls_of_native_methods_are_taken_back_where_they_are_certain() {
    let mut recording = Recording::new();
    let mut object = ClassWriter::new("java/lang/Object", "");
    object.native("hashCode", "()I", 0x0101);
    recording.class(object.finish(), false, Level::Precise);
    let mut other = ClassWriter::new("B", "A");
    other.method("hashCode", "()I", 1, &[op::ICONST_1, 172]); // ireturn
    recording.class(other.finish(), false, Level::Precise);
    let mut main = ClassWriter::new("A", "java/lang/Object");
    let [a, b] = main.methodref("A", "hashCode", "()I");
    let [c, d] = main.methodref("java/lang/Object", "hashCode", "()I");
    let code = [op::ALOAD_0, op::INVOKEVIRTUAL, a, b, op::POP, op::ALOAD_0, op::INVOKESPECIAL, c, d, op::POP, op::RETURN];
    main.method("m", "()V", 1, &code);
    let id = recording.class(main.finish(), false, Level::Precise)[0];
    let tree = recording.arena.tree("main", 0, 1);
    recording.arena.node(tree, tree, id, 0, &[10]);
    let mut profile = recording.profile(&[]);
    profile.run.folded = true;
    // The first may have been a call of B.hashCode, which is somewhere else; the other was not.
    let price = Library.load("jop").unwrap().invoke(InvokeKind::Virtual, None).unwrap();
    let at = cycles(&on_jop(&profile, "m", "ideal"));
    assert_eq!([at[1], at[4]], [10 * price, 0]);
}

#[test]
fn executions_and_outcomes() {
    let mut profile = cprof_synthetic::demo().profile(&[]);
    let work = on_jop(&profile, "work", "ideal");
    let executions = |annotation: &Annotation| annotation.rows.iter().map(|row| row.executions).collect::<Vec<_>>();
    assert_eq!(executions(&work), [8, 8, 5, 4, 4, 3]);
    let outcome = |way, target, count| Outcome { way, target, count };
    assert_eq!(work.rows[1].outcomes, [outcome(Way::Taken, Some(13), 3), outcome(Way::NotTaken, Some(4), 5)]);
    assert_eq!(work.rows[2].outcomes, [outcome(Way::Thrown, None, 1)]);

    // The same, but counting was resumed within the call: the rest of the block was executed once more.
    let node = profile.departures[0].node;
    profile.departures = vec![Departure { node, bci: 4, kind: DepartureKind::Active, count: -1 }];
    let resumed = on_jop(&profile, "work", "ideal");
    assert_eq!(resumed.rows[2].outcomes, [outcome(Way::Resumed, None, 1)]);
    assert_eq!(resumed.rows[3].executions, resumed.rows[2].executions + 1);
    assert_eq!(resumed.unexplained, 0);
    let mut mix = Mix::default();
    mix.add(&resumed);
    let in_blocks: u64 = mix.block_sizes.iter().map(|(size, times)| u64::from(*size) * times).sum();
    assert_eq!((in_blocks, mix.bytecodes), (resumed.bytecodes, resumed.bytecodes));
}

#[test]
fn a_part_of_the_contexts() {
    let profile = cprof_synthetic::demo().profile(&[]);
    let measures = measure(&profile).unwrap();
    // The second thread only: its tree's root, the lambda, work.
    let nodes: Vec<bool> = (0..profile.nodes.len()).map(|node| node >= profile.threads[1].first_node as usize).collect();
    let choice = Choice { profile: &profile, measures: &measures, nodes: &nodes, charges: None };
    let mut bytecodes = Vec::new();
    annotate(&choice, |_| true, |a| bytecodes.push((profile.methods[a.method as usize].name.clone(), a.calls, a.bytecodes)))
        .unwrap();
    bytecodes.sort();
    let row = |name: &str, calls, bytecodes| (name.to_owned(), calls, bytecodes);
    assert_eq!(bytecodes, [row("main", 0, 0), row("run", 1, 3), row("work", 1, 13)]);
}

#[test]
fn quantiles_and_hottest() {
    let profile = cprof_synthetic::demo().profile(&[]);
    let measures = measure(&profile).unwrap();
    let nodes = vec![true; profile.nodes.len()];
    let choice = Choice { profile: &profile, measures: &measures, nodes: &nodes, charges: None };
    let mut mix = Mix::default();
    annotate(&choice, |_| true, |annotation| mix.add(&annotation)).unwrap();
    // Sizes 1, 2 and 3: five, eight and six times.
    assert_eq!([0.0, 0.26, 0.27, 0.68, 0.69, 1.0].map(|share| mix.block_quantile(share)), [1, 1, 2, 2, 3, 3].map(Some));
    // 8, 8, 5, 4, 4, 3 and seven times 1.
    assert_eq!((mix.touched(), mix.hottest(0.4), mix.hottest(0.5), mix.hottest(1.0)), (13, 2, 3, 13));
    assert_eq!((Mix::default().block_quantile(0.5), Mix::default().hottest(0.9), Mix::default().mean_block()), (None, 0, None));
}
