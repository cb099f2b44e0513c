//! Two profiles joined: laws on random trees, and lambdas, anonymous classes and call sites that got other numbers.

use cprof_compare::diff::{Comparison, Fate, rank};
use cprof_compare::overlap::overlap;
use cprof_compare::pair::By;
use cprof_instrument::Level;
use cprof_instrument::abi::{flags, header};
use cprof_profile::measure::measure;
use cprof_profile::metrics::{Metric, Sheet, counted};
use cprof_profile::model::Profile;
use cprof_profile::natives::native_calls;
use cprof_profile::tree::{Symbols, Tree, What};
use cprof_synthetic::Recording;
use cprof_synthetic::classes::{ClassWriter, op};
use proptest::prelude::*;

/// A method: class, name, descriptor, code.
type Method<'a> = (&'a str, &'a str, &'a str, &'a [u8]);

/// A context: position of the caller + 1, 0 for none; position of the method; call site; calls.
type Context = (usize, usize, u32, u64);

/// A profile with everything computed from it.
struct Measured {
    profile: Profile,
    symbols: Symbols,
    tree: Tree,
    metrics: Vec<Metric>,
}

impl Measured {
    fn new(methods: &[Method<'_>], contexts: &[Context]) -> Measured {
        let mut recording = Recording::new();
        let mut ids = vec![0; methods.len()];
        let mut counters = vec![Vec::new(); methods.len()];
        let mut classes: Vec<&str> = methods.iter().map(|m| m.0).collect();
        classes.sort_unstable();
        classes.dedup();
        for (c, class) in classes.iter().enumerate() {
            let mut writer = ClassWriter::new(class, "java/lang/Object");
            let mine: Vec<usize> = (0..methods.len()).filter(|&m| methods[m].0 == *class).collect();
            mine.iter().for_each(|&m| writer.method(methods[m].1, methods[m].2, 0x0009, methods[m].3));
            let logged = recording.class(writer.finish(), false, Level::Precise);
            for (place, (&m, id)) in mine.iter().zip(logged).enumerate() {
                ids[m] = id;
                counters[m] = recording.path(c, place, &[0], false);
            }
        }
        let arena = &mut recording.arena;
        if contexts.iter().any(|c| c.2 != 0) {
            arena.put(header::FLAGS, flags::SITES);
        }
        let tree = arena.tree("main", 0, 1);
        let mut nodes = vec![tree];
        for &(caller, method, site, calls) in contexts {
            let counters: Vec<u64> = counters[method].iter().map(|c| c * calls).collect();
            nodes.push(arena.node(tree, nodes[caller], ids[method], site, &counters));
        }
        let profile = recording.profile(&[]);
        let measures = measure(&profile).unwrap();
        let natives = native_calls(&profile, &measures).unwrap();
        let symbols = Symbols::new(&profile);
        let tree = Tree::new(&profile, &symbols, &measures, &natives, |_| true);
        let metrics = counted(&tree);
        Measured { profile, symbols, tree, metrics }
    }

    fn sheet(&self) -> Sheet<'_> {
        Sheet { profile: &self.profile, symbols: &self.symbols, tree: &self.tree, metrics: &self.metrics }
    }
}

fn compare<'a>(before: &'a Measured, after: &'a Measured) -> Comparison<'a> {
    Comparison::new(before.sheet(), after.sheet())
}

/// Fate and change in bytecodes by method.
fn changes(comparison: &Comparison<'_>) -> Vec<(String, Fate, i128)> {
    let mut rows = comparison.by_method(comparison.metrics()[2], &comparison.method_fates());
    rank(&mut rows, |row| row.at);
    let name = |at| format!("{}.{}", comparison.symbol(at).class, comparison.symbol(at).method);
    rows.iter().map(|row| (name(row.at), row.fate, row.change())).collect()
}

/// So many constants pushed and popped, then a return: 2n + 1 bytecodes.
fn code(constants: &[u8]) -> Vec<u8> {
    constants.iter().flat_map(|c| [op::ICONST_1 + c, 0x57]).chain([op::RETURN]).collect()
}

fn joined(comparison: &Comparison<'_>) -> Vec<(String, String, bool)> {
    let renumbered = &comparison.methods.renumbering.renumbered;
    renumbered.iter().map(|r| (r.before.clone(), r.after.clone(), r.by == By::Place)).collect()
}

/// What the methods of the first profile are called in pictures of both.
fn renamed(comparison: &Comparison<'_>) -> Vec<String> {
    let names = comparison.methods.renamed(comparison.before.symbols, comparison.after.symbols);
    names.into_iter().map(|symbol| symbol.method).collect()
}

/// What is within a numbered class follows it, though its own code does not tell it from what is within another.
#[test]
fn classes_follow_the_one_they_are_in() {
    let (x, y, same) = (code(&[0]), code(&[1, 1]), code(&[2]));
    let profile = |first: &[u8], second: &[u8]| {
        let methods = [
            ("a/N$1", "run", "()V", first),
            ("a/N$1$$Lambda", "go", "()V", &same),
            ("a/N$2", "run", "()V", second),
            ("a/N$2$$Lambda", "go", "()V", &same),
        ];
        Measured::new(&methods, &[(0, 0, 0, 1), (1, 1, 0, 5), (0, 2, 0, 1), (3, 3, 0, 7)])
    };
    let (before, after) = (profile(&x, &y), profile(&y, &x));
    let comparison = compare(&before, &after);
    assert_eq!(
        joined(&comparison),
        [("a.N$1".to_owned(), "a.N$2".to_owned(), false), ("a.N$2".to_owned(), "a.N$1".to_owned(), false)]
    );
    let names = comparison.methods.renamed(comparison.before.symbols, comparison.after.symbols);
    let classes: Vec<String> = names.into_iter().map(|symbol| symbol.class).collect();
    assert_eq!(classes, ["a.N$2", "a.N$2$$Lambda", "a.N$1", "a.N$1$$Lambda"]);
}

#[test]
fn lambdas_are_found_under_other_numbers() {
    let (main, x, y, new) = (code(&[]), code(&[0]), code(&[0, 1]), code(&[2, 2, 2]));
    let y_changed = code(&[0, 1, 3]);
    let before = Measured::new(
        &[("a/M", "main", "()V", &main), ("a/M", "lambda$main$0", "()V", &x), ("a/M", "lambda$main$1", "()V", &y)],
        &[(0, 0, 0, 1), (1, 1, 0, 5), (1, 2, 0, 7)],
    );
    let after = Measured::new(
        &[
            ("a/M", "main", "()V", &main),
            ("a/M", "lambda$main$0", "()V", &new),
            ("a/M", "lambda$main$1", "()V", &x),
            ("a/M", "lambda$main$2", "()V", &y_changed),
        ],
        &[(0, 0, 0, 1), (1, 1, 0, 2), (1, 2, 0, 5), (1, 3, 0, 7)],
    );
    let comparison = compare(&before, &after);
    let lambda = |n: u32| format!("a.M.lambda$main${n}");
    assert_eq!(joined(&comparison), [(lambda(0), lambda(1), false), (lambda(1), lambda(2), true)]);
    assert_eq!(comparison.methods.renumbering.unclear, []);
    assert_eq!(changes(&comparison), [(lambda(2), Fate::Changed, 14), (lambda(0), Fate::New, 14)]);
    let fates = comparison.context_fates();
    assert_eq!(fates.iter().filter(|f| **f == Fate::Same).count(), 3, "the root, main and the first lambda: {fates:?}");
    assert_eq!(renamed(&comparison), ["main", "lambda$main$1", "lambda$main$2"]);
}

#[test]
fn what_cannot_be_told_is_gone_and_new() {
    let (main, x, p, q) = (code(&[]), code(&[0]), code(&[1, 1]), code(&[2, 2, 2]));
    let before =
        Measured::new(&[("a/M", "main", "()V", &main), ("a/M", "lambda$main$0", "()V", &x)], &[(0, 0, 0, 1), (1, 1, 0, 5)]);
    let after = Measured::new(
        &[("a/M", "main", "()V", &main), ("a/M", "lambda$main$0", "()V", &p), ("a/M", "lambda$main$1", "()V", &q)],
        &[(0, 0, 0, 1), (1, 1, 0, 5), (1, 2, 0, 1)],
    );
    let comparison = compare(&before, &after);
    assert_eq!(joined(&comparison), []);
    let unclear = &comparison.methods.renumbering.unclear;
    assert_eq!((unclear.len(), unclear[0].before.len(), unclear[0].after.len()), (1, 1, 2));
    let fates: Vec<Fate> = changes(&comparison).into_iter().map(|c| c.1).collect();
    assert_eq!(fates, [Fate::New, Fate::Gone, Fate::New], "although one of them has the same name");
    assert_eq!(renamed(&comparison), ["main", "lambda$main$0 (before)"]);
}

#[test]
fn anonymous_classes_and_what_names_them() {
    let (main, x, y) = (code(&[]), code(&[0]), code(&[1, 1]));
    let before = Measured::new(
        &[("a/M", "main", "()V", &main), ("a/M$1", "run", "()V", &x), ("a/M", "take", "(La/M$1;)V", &main)],
        &[(0, 0, 0, 1), (1, 1, 0, 3), (1, 2, 0, 1)],
    );
    let after = Measured::new(
        &[
            ("a/M", "main", "()V", &main),
            ("a/M$1", "run", "()V", &y),
            ("a/M$2", "run", "()V", &x),
            ("a/M", "take", "(La/M$2;)V", &main),
        ],
        &[(0, 0, 0, 1), (1, 1, 0, 1), (1, 2, 0, 3), (1, 3, 0, 1)],
    );
    let comparison = compare(&before, &after);
    assert_eq!(joined(&comparison), [("a.M$1".into(), "a.M$2".into(), false)]);
    assert_eq!(changes(&comparison), [("a.M$1.run".into(), Fate::New, 5)]);
}

#[test]
fn call_sites_of_changed_code_are_matched_by_order_or_merged() {
    let (callee, old, new) = (code(&[]), code(&[0, 0]), code(&[3, 3, 3]));
    let methods = |main| [("a/M", "main", "()V", main), ("a/M", "f", "()V", &callee[..])];
    let before = Measured::new(&methods(&old), &[(0, 0, 0, 1), (1, 1, 2, 10), (1, 1, 4, 20)]);
    let after = Measured::new(&methods(&new), &[(0, 0, 0, 1), (1, 1, 4, 10), (1, 1, 6, 21)]);
    let comparison = compare(&before, &after);
    assert_eq!((comparison.contexts.sites.by_order, comparison.contexts.sites.merged), (1, 0));
    let rows = comparison.by_context(comparison.metrics()[0], &comparison.context_fates());
    let by_calls: Vec<i128> = rows.iter().map(|r| r.change()).filter(|c| *c != 0).collect();
    assert_eq!(by_calls, [1]);
    // A third site: which of them it is cannot be known.
    let after = Measured::new(&methods(&new), &[(0, 0, 0, 1), (1, 1, 3, 1), (1, 1, 4, 10), (1, 1, 6, 21)]);
    let comparison = compare(&before, &after);
    assert_eq!((comparison.contexts.sites.by_order, comparison.contexts.sites.merged), (0, 1));
    assert_eq!(comparison.contexts.list.len(), 3, "root, main, f");
    // The same code: sites are where they were.
    let after = Measured::new(&methods(&old), &[(0, 0, 0, 1), (1, 1, 2, 10), (1, 1, 3, 20)]);
    assert_eq!(compare(&before, &after).contexts.list.len(), 5);
    // Nor does it matter which of several classes of one name came first.
    let lambdas = |first, second| {
        let methods = [
            ("a/M", "main", "()V", &callee[..]),
            ("a/M$$Lambda$1", "run", "()V", first),
            ("a/M$$Lambda$2", "run", "()V", second),
            ("a/M", "f", "()V", &callee[..]),
        ];
        Measured::new(&methods, &[(0, 0, 0, 1), (1, 1, 1, 1), (1, 2, 1, 1), (2, 3, 2, 10), (3, 3, 4, 20)])
    };
    let (one, other) = (lambdas(&old, &new), lambdas(&new, &old));
    let comparison = compare(&one, &other);
    assert_eq!((comparison.contexts.sites.by_order, comparison.contexts.sites.merged), (0, 0));
    // Only one profile has them.
    let after = Measured::new(&methods(&old), &[(0, 0, 0, 1), (1, 1, 0, 30)]);
    let comparison = compare(&before, &after);
    assert!(comparison.contexts.sites.only_one);
    assert_eq!(changes(&comparison), []);
}

#[test]
fn recursion_is_in_totals_once() {
    let code = code(&[0]);
    let methods = [("a/M", "main", "()V", &code[..]), ("a/M", "f", "()V", &code)];
    let before = Measured::new(&methods, &[(0, 0, 0, 1), (1, 1, 0, 1)]);
    let after = Measured::new(&methods, &[(0, 0, 0, 1), (1, 1, 0, 1), (2, 1, 0, 1), (3, 1, 0, 1)]);
    let comparison = compare(&before, &after);
    let rows = comparison.by_method(comparison.metrics()[2], &comparison.method_fates());
    assert_eq!((rows.len(), rows[0].change(), rows[0].total_change()), (1, 6, 6));
}

#[test]
fn profiles_without_a_common_method() {
    let code = code(&[0]);
    let before = Measured::new(&[("a/M", "main", "()V", &code)], &[(0, 0, 0, 1)]);
    let after = Measured::new(&[("b/N", "main", "()V", &code)], &[(0, 0, 0, 1)]);
    let comparison = compare(&before, &after);
    assert_eq!(comparison.methods.common(), 0);
    for metric in comparison.metrics().into_iter().filter(|m| m.before.sum() > 0) {
        for [a, b] in [comparison.columns(metric), comparison.method_columns(metric)] {
            assert_eq!(overlap(&a, &b).unwrap().to_text(2), "0.00");
        }
    }
}

/// Three ordinary methods, two lambdas, an anonymous class; which of the codes each has.
fn program(codes: &[u8; 6]) -> Vec<(&'static str, &'static str, &'static str, Vec<u8>)> {
    let names =
        [("a/M", "main"), ("a/M", "f"), ("a/M", "lambda$main$0"), ("a/M", "lambda$main$1"), ("a/M$1", "run"), ("a/M$2", "run")];
    let with = |((class, name), n): (_, &u8)| (class, name, "()V", code(&vec![n % 3; usize::from(*n)]));
    names.into_iter().zip(codes).map(with).collect()
}

/// A random program and its run.
#[derive(Debug)]
struct Run {
    codes: [u8; 6],
    contexts: Vec<Context>,
}

impl Run {
    fn measured(&self) -> Measured {
        let methods = program(&self.codes);
        let methods: Vec<Method<'_>> = methods.iter().map(|(c, n, d, code)| (*c, *n, *d, &code[..])).collect();
        Measured::new(&methods, &self.contexts)
    }
}

fn random() -> impl Strategy<Value = Run> {
    let contexts = proptest::collection::vec((any::<prop::sample::Index>(), 0usize..6, 0u32..3, 1u64..50), 0..25);
    (proptest::array::uniform6(0u8..4), contexts).prop_map(|(codes, contexts)| {
        let numbered = contexts.iter().enumerate();
        let contexts = numbered.map(|(i, (caller, m, site, calls))| (caller.index(i + 1), *m, *site, *calls)).collect();
        Run { codes, contexts }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_profile_does_not_differ_from_itself(a in random()) {
        let a = a.measured();
        let comparison = compare(&a, &a);
        prop_assert!(comparison.context_fates().iter().all(|f| *f == Fate::Same));
        prop_assert!(comparison.method_fates().into_iter().flatten().all(|f| f == Fate::Same));
        for metric in comparison.metrics().into_iter().filter(|m| m.before.sum() > 0) {
            let [before, after] = comparison.columns(metric);
            prop_assert_eq!(overlap(&before, &after).unwrap().percent(), 100.0);
        }
    }

    #[test]
    fn the_other_way_round_everything_is_negative(a in random(), b in random()) {
        let (a, b) = (a.measured(), b.measured());
        let (there, back) = (compare(&a, &b), compare(&b, &a));
        let mirrored = |fate| match fate { Fate::New => Fate::Gone, Fate::Gone => Fate::New, fate => fate };
        for (m, metric) in there.metrics().into_iter().enumerate() {
            let rows = |c: &Comparison<'_>, metric, sign: i128, turn: bool| {
                let rows = c.by_method(metric, &c.method_fates());
                let fate = |f| if turn { mirrored(f) } else { f };
                let mut methods: Vec<_> = rows.iter().map(|r| (fate(r.fate), sign * r.change(), sign * r.total_change())).collect();
                methods.sort_unstable();
                let rows = c.by_context(metric, &c.context_fates());
                let mut contexts: Vec<_> = rows.iter().map(|r| (fate(r.fate), sign * r.change(), sign * r.total_change())).collect();
                contexts.sort_unstable();
                (methods, contexts)
            };
            prop_assert_eq!(rows(&there, metric, 1, false), rows(&back, back.metrics()[m], -1, true));
        }
        prop_assert_eq!(there.contexts.list.len(), back.contexts.list.len());
    }

    #[test]
    fn nothing_is_lost(a in random(), b in random()) {
        let (a, b) = (a.measured(), b.measured());
        let comparison = compare(&a, &b);
        for metric in comparison.metrics() {
            let change = i128::from(metric.after.sum()) - i128::from(metric.before.sum());
            let rows = comparison.by_context(metric, &comparison.context_fates());
            prop_assert_eq!(rows.iter().map(|r| r.change()).sum::<i128>(), change);
            let rows = comparison.by_method(metric, &comparison.method_fates());
            prop_assert_eq!(rows.iter().map(|r| r.change()).sum::<i128>(), change);
            let totals = comparison.contexts.totals(&comparison.columns(metric)[1]);
            prop_assert_eq!(totals.get(0), metric.after.sum());
        }
        for context in comparison.contexts.list.iter().skip(1) {
            prop_assert!(context.before || context.after);
            prop_assert!(matches!(context.what, What::Method(_)));
        }
    }
}
