//! Trees by name, made beside a profile's nodes and in their place, have the contexts that a straightforward reading of the nodes
//! gives.

use cprof_profile::cycles::{Columns, Metrics};
use cprof_profile::measure::Measures;
use cprof_profile::model::{Class, Level, Method, Native, Nodes, Profile, Thread, special};
use cprof_profile::natives::NativeCalls;
use cprof_profile::projections::{Totals, totals, totals_of_nodes};
use cprof_profile::tree::{Symbols, Tree, What};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Several classes have the same name, and so do some methods.
const METHODS: u32 = 12;
const NAMES: u32 = 7;
const LABELS: [&str; 3] = ["main", "worker", "other"];

/// A node: its parent as a share of the nodes of its thread before it, method, site, numbers, calls of a native method.
type Drawn = (u16, u32, u32, [u64; 4], u64);

fn node() -> impl Strategy<Value = Drawn> {
    let number = prop_oneof![0..3u64, 0..100_000u64];
    let method = prop_oneof![10 => 0..METHODS, 1 => Just(special::FOLDED)];
    let numbers = [number.clone(), number.clone(), number.clone(), number];
    (any::<u16>(), method, 0..4u32, numbers, prop_oneof![3 => Just(0), 1 => 1..9u64])
}

fn threads() -> impl Strategy<Value = Vec<(usize, Vec<Drawn>)>> {
    prop::collection::vec((0..LABELS.len(), prop::collection::vec(node(), 0..60)), 1..6)
}

fn build(threads: &[(usize, Vec<Drawn>)], sites: bool, on_processor: bool) -> (Profile, Measures, Vec<NativeCalls>) {
    let mut profile = Profile::default();
    for m in 0..METHODS {
        let (name, loader) = (format!("a/C{}", m % NAMES), m.to_string());
        profile.classes.push(Class { name, loader, hidden: false, source_file: String::new(), bytes: Vec::new() });
        let (name, descriptor, level) = ("m".to_owned(), "()V".to_owned(), Level::Precise);
        profile.methods.push(Method { class: m, index: 0, name, descriptor, access: 9, level, flow: Default::default() });
    }
    profile.natives.push(Native { class: "java/lang/Thread".into(), name: "yield".into(), descriptor: "()V".into() });
    let (mut measures, mut natives) = (Measures::default(), Vec::new());
    let mut add = |nodes: &mut Nodes, parent: u32, &(_, method, site, [calls, exits, own, cycles], native): &Drawn| {
        let node = nodes.method.len() as u32;
        nodes.method.push(method);
        nodes.parent.push(parent);
        let site = if sites { site } else { 0 };
        nodes.site.extend(sites.then_some(site));
        measures.calls.push(calls);
        measures.exceptional_exits.push(exits);
        measures.own.push(own);
        if on_processor {
            measures.processor.push();
            measures.processor.add(node as usize, &Metrics { cycles, entries: calls, ..Metrics::default() });
        }
        natives.extend((native > 0).then_some(NativeCalls { node, native: 0, site, calls: native }));
    };
    for (label, nodes) in threads {
        let first = profile.nodes.len() as u32;
        let (similar_names, other_names, virtual_threads, leases) = (false, false, false, 1);
        let name = LABELS[*label].to_owned();
        profile.threads.push(Thread { name, similar_names, other_names, virtual_threads, leases, first_node: first });
        add(&mut profile.nodes, first, &(0, special::ROOT, 0, [0; 4], 0));
        for (i, drawn) in nodes.iter().enumerate() {
            add(&mut profile.nodes, first + u32::from(drawn.0) % (i as u32 + 1), drawn);
        }
    }
    (profile, measures, natives)
}

/// A step from a caller: label, name, or what else it is; site.
type Path = Vec<(String, u32)>;
/// By path: calls, exits, own, cycles, and the same own with everything below.
type Sums = BTreeMap<Path, [u64; 5]>;

fn name(symbol: u32, symbols: &Symbols) -> String {
    format!("{}.{}", symbols.list[symbol as usize].class, symbols.list[symbol as usize].method)
}

fn expected(
    profile: &Profile,
    measures: &Measures,
    natives: &[NativeCalls],
    symbols: &Symbols,
    chosen: &[bool],
    apart: bool,
) -> Sums {
    let mut sums = Sums::new();
    let mut paths: Vec<Path> = Vec::new();
    let mut add = |path: &Path, numbers: [u64; 4]| {
        let sum = sums.entry(path.clone()).or_default();
        sum.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += number);
        for above in 0..=path.len() {
            if path[..above].is_empty() {
                continue;
            }
            sums.entry(path[..above].to_vec()).or_default()[4] += numbers[2];
        }
    };
    for (t, thread) in profile.threads.iter().enumerate() {
        for node in profile.nodes_of_thread(t) {
            let mut path = paths.get(profile.nodes.parent[node] as usize).cloned().unwrap_or_default();
            match profile.nodes.method[node] {
                special::ROOT => path = if apart { vec![(thread.label(), 0)] } else { Vec::new() },
                special::FOLDED => path.push(("folded".to_owned(), profile.nodes.site_of(node))),
                method => path.push((name(symbols.of_method(method), symbols), profile.nodes.site_of(node))),
            }
            if chosen[t] && !path.is_empty() {
                let cycles = if measures.processor.is_empty() { 0 } else { measures.processor.get(node).cycles };
                add(&path, [measures.calls.get(node), measures.exceptional_exits.get(node), measures.own.get(node), cycles]);
            }
            for native in natives.iter().filter(|n| chosen[t] && n.node as usize == node) {
                let mut path = path.clone();
                path.push(("java.lang.Thread.yield".to_owned(), native.site));
                add(&path, [native.calls, 0, 0, 0]);
            }
            paths.push(path);
        }
    }
    sums
}

fn found(tree: &Tree, symbols: &Symbols) -> Sums {
    let mut sums = Sums::new();
    let mut paths: Vec<Path> = vec![Vec::new()];
    for (i, context) in tree.contexts().enumerate().skip(1) {
        let mut path = paths[context.parent as usize].clone();
        path.push(match context.what {
            What::Root => (tree.threads.iter().find(|(at, _)| *at == i as u32).expect("a thread's").1.clone(), 0),
            What::Folded => ("folded".to_owned(), context.site),
            What::Method(symbol) => (name(symbol, symbols), context.site),
        });
        let cycles = tree.on_processor(i as u32).own.cycles;
        let numbers = [context.calls, context.exceptional_exits, context.own, cycles, context.total];
        assert!(sums.insert(path.clone(), numbers).is_none(), "{path:?} is there twice");
        paths.push(path);
    }
    sums
}

proptest! {
    #[test]
    fn contexts_are_those_of_the_nodes(
        threads in threads(),
        sites in any::<bool>(),
        on_processor in any::<bool>(),
        apart in any::<bool>(),
        chosen in prop::collection::vec(prop::bool::weighted(0.7), 6),
    ) {
        let (mut profile, mut measures, natives) = build(&threads, sites, on_processor);
        let symbols = Symbols::new(&profile);
        let expected = expected(&profile, &measures, &natives, &symbols, &chosen, apart);
        let beside = match apart {
            true => Tree::by_thread(&profile, &symbols, &measures, &natives, |t| chosen[t]),
            false => Tree::new(&profile, &symbols, &measures, &natives, |t| chosen[t]),
        };
        prop_assert_eq!(found(&beside, &symbols), expected.clone());
        let mut nodes = vec![false; profile.nodes.len()];
        (0..threads.len()).filter(|&t| chosen[t]).for_each(|t| nodes[profile.nodes_of_thread(t)].fill(true));
        let of_tree = totals(&beside, &symbols);
        let calls = natives.iter().filter(|native| nodes[native.node as usize]);
        let of_nodes = totals_of_nodes(&profile, &symbols, &measures, &nodes, calls);
        prop_assert!(of_nodes.contexts >= of_tree.contexts);
        prop_assert_eq!(Totals { contexts: of_tree.contexts, ..of_nodes }, of_tree);
        let calls = measures.calls.clone();
        let in_place = Tree::in_place(&mut profile, &symbols, &mut measures, &natives, |t| chosen[t], apart);
        prop_assert_eq!(found(&in_place, &symbols), expected);
        prop_assert!(profile.nodes.is_empty() && measures.calls.is_empty() && measures.processor.len() == Columns::default().len());
        prop_assert_eq!(&in_place.of_node, &beside.of_node);
        prop_assert_eq!(in_place.sums(calls.iter()), beside.sums(calls.iter()));
    }
}
