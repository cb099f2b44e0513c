//! Merging synthetic recordings: sums, order, what goes together and what does not.

use cprof_profile::cycles::{Options, evaluate};
use cprof_profile::file;
use cprof_profile::measure::measure;
use cprof_profile::merge::{MergeError, Merged, Merger};
use cprof_profile::model::{Departure, DepartureKind, Level, Misses, Profile, special};
use cprof_profile::natives::native_calls;
use cprof_profile::projections::{by_method, by_thread, totals};
use cprof_profile::target::{Library, Model, ModelFile};
use cprof_profile::tree::{Symbol, Symbols, Tree, Visit, What};
use cprof_synthetic::classes::{ClassWriter, op};
use cprof_synthetic::{counters, set_counters};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::Path;
use std::sync::LazyLock;

static JOP: LazyLock<Model> = LazyLock::new(|| Library.load("jop").unwrap());
static DEMO: LazyLock<Profile> = LazyLock::new(|| cprof_synthetic::demo().profile(&[]));

fn merge(profiles: &[&Profile]) -> Result<Merged, MergeError> {
    let mut merger = Merger::default();
    for (i, profile) in profiles.iter().enumerate() {
        merger.add((*profile).clone(), &format!("{i}.cprof"))?;
    }
    let merged = merger.finish();
    // Any reader takes it.
    let bytes = file::write_to(Cursor::new(Vec::new()), &merged.profile).unwrap();
    assert_eq!(file::read_from(bytes, Path::new("all.cprof")).unwrap(), merged.profile);
    Ok(merged)
}

fn merged(profiles: &[&Profile]) -> Profile {
    merge(profiles).unwrap().profile
}

/// Everything counted, by name: per label and path of methods calls, exits, bytecodes, cycles, misses.
type Counts = BTreeMap<(String, Vec<Symbol>), Vec<u64>>;

fn counts(profile: &Profile) -> Counts {
    let symbols = Symbols::new(profile);
    let mut measures = measure(profile).unwrap();
    let natives = native_calls(profile, &measures).unwrap();
    let cache = Some(profile.caches.first().copied().unwrap_or("ideal".parse().unwrap()));
    let options = Options { cache, ..Options::default() };
    measures.processor = evaluate(profile, &measures, &natives, &*JOP, &options).unwrap().nodes;
    let mut counts = Counts::new();
    for t in 0..profile.threads.len() {
        let tree = Tree::new(profile, &symbols, &measures, &natives, |thread| thread == t);
        let mut path = Vec::new();
        tree.walk(
            |_| {},
            |visit| {
                let Visit::Enter { context, .. } = visit else {
                    path.pop();
                    return true;
                };
                let c = tree.context(context);
                let What::Method(symbol) = c.what else { panic!("folded") };
                path.push(symbols.list[symbol as usize].clone());
                let sums = counts.entry((profile.threads[t].label(), path.clone())).or_insert(vec![0; 6]);
                let p = tree.on_processor(context).own;
                for (sum, more) in
                    sums.iter_mut().zip([c.calls, c.exceptional_exits, c.own, p.cycles, p.entry_misses, p.return_misses])
                {
                    *sum += more;
                }
                true
            },
        );
    }
    counts
}

fn sum(profiles: &[&Profile]) -> Counts {
    let mut all = Counts::new();
    for (key, values) in profiles.iter().flat_map(|p| counts(p)) {
        let sums = all.entry(key).or_insert(vec![0; values.len()]);
        sums.iter_mut().zip(values).for_each(|(sum, more)| *sum += more);
    }
    all
}

fn demo() -> Profile {
    DEMO.clone()
}

/// As the demo, with all counts several times, and outcomes of a cache.
fn times(factor: u64) -> Profile {
    let mut profile = demo();
    let counters = counters(&profile);
    set_counters(&mut profile, counters.into_iter().map(|c| c * factor));
    profile.departures.iter_mut().for_each(|d| d.count *= factor as i64);
    profile.caches = vec!["4k/16".parse().unwrap()];
    let column = |more: u64| (0..profile.nodes.len() as u64).map(|n| (n % 2) * factor + more % 2).collect();
    profile.misses = vec![Misses { entry: column(0), returns: vec![0; profile.nodes.len()].into() }];
    profile.run.pid = factor as u32;
    profile
}

/// Another program that calls the demo's `work`, whose class has other bytes on this JDK.
fn other_jdk() -> Profile {
    let mut recording = cprof_synthetic::Recording::new();
    let mut main = ClassWriter::new("demo/Main", "java/lang/Object");
    main.method("main", "([Ljava/lang/String;)V", 0x0009, &[op::ICONST_1, op::RETURN]);
    let ids = recording.class(main.finish(), false, Level::Precise);
    let path = recording.path(0, 0, &[0], false);
    let tree = recording.arena.tree("main", 0, 1);
    recording.arena.node(tree, tree, ids[0], 0, &path);
    let mut profile = recording.profile(&[]);
    profile.run.jvm_version = "25".into();
    profile.run.main_class = "demo.Other".into();
    profile
}

#[test]
fn a_profile_merged_with_itself_doubles() {
    let one = demo();
    let two = merged(&[&one, &one]);
    assert_eq!((two.classes.len(), two.methods.len(), two.nodes.len()), (one.classes.len(), one.methods.len(), one.nodes.len()));
    assert_eq!((two.threads.len(), two.natives.len(), two.gaps.len()), (2, 1, 1));
    assert_eq!(counters(&two), counters(&one).iter().map(|c| c * 2).collect::<Vec<_>>());
    assert_eq!(two.departures, [Departure { count: 2, ..one.departures[0] }]);
    assert_eq!(two.threads.iter().map(|t| t.leases).collect::<Vec<_>>(), [2, 4]);
    assert_eq!(two.runs.len(), 2);
    assert_eq!((two.runs[1].file.as_str(), two.runs[1].facts.pid), ("1.cprof", 7));
    assert_eq!((two.run.main_class.as_str(), two.run.pid), ("demo.Main", 7), "what all have in common");
    assert_eq!(counts(&two), sum(&[&one, &one]));
}

#[test]
fn one_profile_stays_as_it_is() {
    let one = times(3);
    let again = merged(&[&one]);
    assert_eq!(counts(&again), counts(&one));
    assert_eq!(merged(&[&again]).runs, again.runs, "a run's own name stays");
}

#[test]
fn other_jdks_stay_apart_and_reports_join_them() {
    let (one, other) = (demo(), other_jdk());
    let all = merged(&[&one, &other]);
    assert_eq!(all.classes.iter().filter(|c| c.name == "demo/Main").count(), 2);
    assert_eq!(counts(&all), sum(&[&one, &other]));
    let (symbols, measures) = (Symbols::new(&all), measure(&all).unwrap());
    let natives = native_calls(&all, &measures).unwrap();
    let tree = Tree::new(&all, &symbols, &measures, &natives, |_| true);
    let rows = by_method(&tree, &symbols);
    let main = rows.iter().find(|r| symbols.list[r.symbol as usize].method == "main").unwrap();
    assert_eq!((main.calls, main.own), (2, 6));
    assert_eq!(totals(&tree, &symbols).own, 39 + 2);
    let apart = Tree::by_thread(&all, &symbols, &measures, &natives, |_| true);
    let threads = by_thread(&all, &symbols, |_| true, &apart);
    assert_eq!(
        threads.iter().map(|t| (t.label.as_str(), t.threads, t.totals.own)).collect::<Vec<_>>(),
        [("main", 2, 25), ("worker-*", 2, 16)]
    );
    assert_eq!((all.run.main_class.as_str(), all.run.jvm_version.as_str()), ("", ""), "what differs is not said of all");
}

#[test]
fn hidden_classes_are_known_by_name_without_the_running_number() {
    let (one, mut two) = (demo(), demo());
    let lambda = two.classes.iter_mut().find(|c| c.hidden).unwrap();
    lambda.name = format!("{}/0x00007f0012345678", lambda.name);
    let all = merged(&[&one, &two]);
    assert_eq!((all.classes.len(), all.nodes.len()), (one.classes.len(), one.nodes.len()));
    two.classes.iter_mut().for_each(|c| c.loader = "another".into());
    assert_eq!(merged(&[&one, &two]).classes.len(), 2 * one.classes.len(), "classes of two loaders are two");
}

#[test]
fn a_method_counted_in_two_ways_stays_two() {
    let (one, mut two) = (demo(), demo());
    two.methods.iter_mut().for_each(|m| m.level = Level::Block);
    let all = merged(&[&one, &two]);
    assert_eq!(all.methods.len(), 2 * one.methods.len());
    assert_eq!(counts(&all), sum(&[&one, &two]));
}

#[test]
fn the_model_of_the_processor_is_that_of_all_runs_or_none() {
    let with = |text: &str| {
        let mut profile = demo();
        profile.run.target = "/m.toml".into();
        profile.run.model = vec![ModelFile { path: "/m.toml".into(), text: text.into() }];
        profile
    };
    let (one, other) = (with("title = 1"), with("title = 2"));
    let all = merged(&[&one, &one]);
    assert_eq!((&all.run.target, &all.run.model), (&one.run.target, &one.run.model));
    assert!(all.runs.iter().all(|run| run.facts.model.is_empty()), "it is there once");
    assert_eq!(merged(&[&all, &one]).run.model, one.run.model);
    for differing in [[&one, &other], [&all, &other], [&other, &all]] {
        let Merged { profile, notes } = merge(&differing).unwrap();
        assert_eq!((&*profile.run.target, profile.run.model.len()), ("", 0));
        assert!(notes[0].contains("different models of /m.toml"), "{notes:?}");
        assert_eq!(merged(&[&profile, &one]).run.target, "", "nor when they are merged once more");
    }
    let mut elsewhere = with("title = 1");
    (elsewhere.run.target, elsewhere.run.model[0].path) = ("/there/m.toml".into(), "/there/m.toml".into());
    assert_eq!(merged(&[&one, &elsewhere]).run.model, one.run.model, "the same text in another place");
    elsewhere.run.target = "/there/n.toml".into();
    assert_eq!(merged(&[&one, &elsewhere]).run.target, "", "reports call it something else");
}

#[test]
fn caches_that_not_all_simulated_are_left_out_and_said_to_be() {
    let (with, without) = (times(2), demo());
    let mut named = with.clone();
    named.run.target = "jop".into();
    for order in [[&named, &without, &named], [&without, &named, &named], [&named, &named, &without]] {
        let Merged { profile, notes } = merge(&order).unwrap();
        assert_eq!((profile.caches.len(), profile.misses.len()), (0, 0));
        assert_eq!(profile.run.target, "", "reports must not ask for it by themselves");
        assert_eq!(merge(&[&profile]).unwrap().profile.run.target, "", "nor when they are merged once more");
        let without = order.iter().position(|p| p.caches.is_empty()).unwrap();
        assert!(notes[0].contains("4k/16 was left out") && notes[0].contains(&format!("{without}.cprof did not")), "{notes:?}");
        assert_eq!(profile.warnings, notes);
    }
    let mut swapped = with.clone();
    swapped.caches.insert(0, "lru:2k/8".parse().unwrap());
    swapped.misses.insert(0, Misses { entry: vec![9; with.nodes.len()].into(), returns: vec![9; with.nodes.len()].into() });
    let Merged { profile, notes } = merge(&[&with, &swapped]).unwrap();
    assert_eq!((profile.caches.clone(), notes.len()), (with.caches.clone(), 1));
    assert_eq!(profile.misses[0].entry, with.misses[0].entry.iter().map(|n| n * 2).collect::<Vec<_>>());
    // Reports may take the first.
    let mut other = swapped.clone();
    other.caches.reverse();
    other.misses.reverse();
    for order in [[&swapped, &other], [&other, &swapped]] {
        let all = merged(&order);
        assert_eq!((&all.caches, &all.misses[0].entry), (&other.caches, &profile.misses[0].entry));
    }
    assert_eq!(merged(&[&swapped, &swapped]).caches, swapped.caches);
}

#[test]
fn what_is_native_in_some_runs_only_is_told_for_these() {
    let native = demo();
    // There the call site's method is Java, and not counted.
    let mut java = demo();
    java.native_sites.clear();
    java.natives.clear();
    let calls = |profile: &Profile| {
        let measures = measure(profile).unwrap();
        native_calls(profile, &measures).unwrap().iter().map(|call| call.calls).sum::<u64>()
    };
    assert!(calls(&native) > 0);
    for order in [[&native, &java, &native], [&java, &native, &native], [&native, &native, &java]] {
        assert_eq!(calls(&merged(&order)), 2 * calls(&native));
    }
    // One that has not executed it may not know it.
    let mut idle = java.clone();
    let none = vec![0; counters(&idle).len()];
    set_counters(&mut idle, none);
    idle.departures.clear();
    for order in [[&native, &idle], [&idle, &native]] {
        let all = merged(&order);
        assert_eq!((calls(&all), all.methods.len()), (calls(&native), native.methods.len()));
    }
}

#[test]
fn what_does_not_go_together_is_refused_by_name() {
    let one = demo();
    let mut sites = demo();
    sites.run.sites = true;
    sites.nodes.site = vec![0; sites.nodes.len()];
    for order in [[&one, &sites], [&sites, &one]] {
        let error = merge(&order).unwrap_err().to_string();
        let (with, without) = if order[0].run.sites { (0, 1) } else { (1, 0) };
        assert!(
            error.starts_with(&format!("{with}.cprof was recorded with call sites (sites=on) and {without}.cprof was not")),
            "{error}"
        );
    }
    let mut bounded = demo();
    bounded.run.bounded = true;
    assert!(merge(&[&one, &bounded]).unwrap_err().to_string().starts_with("1.cprof was recorded with contexts folded"));
    let [two, five] = ["out=a.cprof,depth=2", "depth=5"].map(|options| {
        let mut profile = bounded.clone();
        profile.run.options = options.to_owned();
        profile
    });
    let error = merge(&[&two, &five]).unwrap_err().to_string();
    assert!(error.starts_with("1.cprof was recorded with contexts folded (depth=5) and 0.cprof was not"), "{error}");
    assert!(merge(&[&two, &two]).is_ok());
    assert_eq!(merged(&[&sites, &sites]).nodes.site.len(), one.nodes.len());
}

#[test]
fn harm_is_refused_by_name() {
    let one = demo();
    let refused = |change: &dyn Fn(&mut Profile), words: &str| {
        let mut bad = demo();
        change(&mut bad);
        let error = merge(&[&one, &bad]).map(|_| ()).unwrap_err();
        let text = format!("{error}: {}", std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default());
        assert!(text.contains("1.cprof") && text.contains(words), "{text}");
    };
    refused(&|p| p.classes[0].bytes.truncate(20), "demo/Main is damaged");
    refused(&|p| p.methods[0].flow.edges.iter_mut().for_each(|e| e.counter = None), "flow");
    refused(&|p| p.methods[0].index = 77, "no method 77");
    refused(&|p| p.departures[0].bci = 1000, "no bytecode 1000");
    refused(&|p| set_counters(p, counters(p).iter().map(|_| i64::MAX as u64).collect::<Vec<_>>()), "9,223,372,036,854,775,807");
    refused(&|p| p.departures[0].count = i64::MAX, "departures");
}

#[test]
fn negative_departures_and_folded_contexts_add_up() {
    let mut one = demo();
    one.departures[0].count = -1;
    let work = one.departures[0].node as usize;
    let mut all = counters(&one);
    let mut rows = one.nodes.rows();
    let before: usize = (0..work).map(|node| rows.of(node).len()).sum();
    all[before] = u64::MAX; // -1: caught between two counters
    set_counters(&mut one, all);
    let all = merged(&[&one, &demo()]);
    assert_eq!(all.departures[0].count, 0);
    let mut folded = demo();
    folded.run.folded = true;
    folded.run.lost_calls = 3;
    let last = folded.nodes.len() as u32 - 1;
    folded.nodes.method.push(special::FOLDED);
    folded.nodes.parent.push(folded.threads[1].first_node);
    assert_eq!(folded.departures[0].kind, DepartureKind::Thrown);
    let all = merged(&[&folded, &demo(), &folded]);
    assert_eq!(all.nodes.len() as u32, last + 2);
    assert_eq!((all.run.folded, all.run.lost_calls), (true, 6));
}

#[test]
fn nothing_and_empty_profiles_merge() {
    let empty = cprof_synthetic::Recording::new().profile(&[]);
    assert_eq!(merged(&[]), Profile { nodes: empty.nodes.clone(), ..Profile::default() });
    let all = merged(&[&empty, &demo(), &empty]);
    assert_eq!((all.runs.len(), counts(&all)), (3, counts(&demo())));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    /// In whatever order and grouping profiles are merged, their counts are the sum of all.
    #[test]
    fn order_and_grouping_make_no_difference(factors in prop::collection::vec(0u64..1000, 1..6), cut in 0usize..6, turn in 0usize..6) {
        let mut profiles: Vec<Profile> = factors.iter().map(|&f| if f % 5 == 4 { other_jdk() } else { times(f) }).collect();
        for profile in profiles.iter_mut().filter(|p| p.caches.is_empty()) {
            profile.caches = vec!["4k/16".parse().unwrap()];
            profile.misses = vec![Misses { entry: vec![1; profile.nodes.len()].into(), returns: vec![0; profile.nodes.len()].into() }];
        }
        let all: Vec<&Profile> = profiles.iter().collect();
        let expected = sum(&all);
        let together = merged(&all);
        prop_assert_eq!(&counts(&together), &expected);
        prop_assert_eq!(together.runs.len(), all.len());
        let (left, right) = all.split_at(cut.min(all.len()));
        let parts = [merged(left), merged(right)];
        let mut parts: Vec<&Profile> = parts.iter().filter(|p| !p.runs.is_empty()).collect();
        prop_assert_eq!(&counts(&merged(&parts)), &expected);
        parts.reverse();
        prop_assert_eq!(&counts(&merged(&parts)), &expected);
        let mut turned = all.clone();
        let by = turn % turned.len();
        turned.rotate_left(by);
        let turned = merged(&turned);
        prop_assert_eq!(&counts(&turned), &expected);
        prop_assert_eq!(turned.nodes.len(), together.nodes.len());
        prop_assert_eq!(turned.run, together.run);
    }
}
