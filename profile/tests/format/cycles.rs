//! Cycles of synthetic recordings, added up by hand.

use cprof_instrument::Level;
use cprof_instrument::abi::header;
use cprof_profile::cycles::ledger::Charge;
use cprof_profile::cycles::{Evaluation, Metrics, Options, evaluate_into};
use cprof_profile::measure::measure;
use cprof_profile::model::{Departure, DepartureKind, Level as Counted, Misses, Profile};
use cprof_profile::natives::native_calls;
use cprof_profile::target::source::read;
use cprof_profile::target::{Library, Model};
use cprof_synthetic::Recording;
use cprof_synthetic::classes::{ClassWriter, op};
use std::io::Cursor;
use std::path::Path;

const INVOKESPECIAL: u8 = 183;
const STATIC: u16 = 0x0009;
const PUBLIC: u16 = 0x0001;

fn options(cache: &str) -> Options {
    Options { cache: Some(cache.parse().unwrap()), ..Options::default() }
}

fn on(profile: &Profile, model: &Model, options: &Options) -> Result<Evaluation, String> {
    let measures = measure(profile).unwrap();
    let natives = native_calls(profile, &measures).unwrap();
    let mut charged = vec![0i64; profile.nodes.len()];
    let mut ledger = |charge: Charge<'_>| charged[charge.node as usize] += charge.cycles;
    let evaluation = evaluate_into(profile, &measures, &natives, model, options, &mut ledger).map_err(|e| e.to_string())?;
    let cycles: Vec<i64> = evaluation.nodes.cycles.iter().map(|cycles| cycles as i64).collect();
    assert_eq!(charged, cycles, "the ledger has all that nodes are charged");
    Ok(evaluation)
}

fn jop() -> Model {
    Library.load("jop").unwrap()
}

fn cycles(evaluation: &Evaluation) -> Vec<u64> {
    evaluation.nodes.cycles.iter().collect()
}

fn sum(evaluation: &Evaluation) -> Metrics {
    let mut sum = Metrics::default();
    (0..evaluation.nodes.len()).for_each(|node| sum.add(&evaluation.nodes.get(node)));
    sum
}

#[test]
fn hits() {
    let profile = cprof_synthetic::demo().profile(&[]);
    let ideal = on(&profile, &jop(), &options("ideal")).unwrap();
    // Root; main: iconst_1 1, goto 4, return 21, and 3 calls by invokestatic, 75 each.
    // work on the main thread: twice iload_0 1, ifeq 4, iinc 4, goto 4, iload_0 1, ifeq 4, return 21, calls of a native
    // method nothing; and once iload_0 1, ifeq 4 up to the exception, which costs no return.
    // On the other thread: run, iconst_1 1, a call 75, return 21; work with two rounds 52.
    assert_eq!(cycles(&ideal), [0, 251, 83, 0, 97, 52]);
    assert_eq!(ideal.notes, Vec::<String>::new());
    let total = sum(&ideal);
    // 6 entries; the first methods of threads return to nobody, and one call ended with an exception.
    assert_eq!((total.entries, total.returns, total.entry_misses, total.return_misses), (6, 3, 0, 0));
    assert_eq!((total.estimated, total.upcalls, total.hit_rate()), (0, 0, Some(1.0)));
}

#[test]
fn misses() {
    let mut profile = cprof_synthetic::demo().profile(&[]);
    // main and run have 2 words: loading one takes 6 + 3·2 = 12 cycles, 3 more than a return hides. work has 4 words, whose
    // 16 cycles a call hides.
    let none = on(&profile, &jop(), &options("none")).unwrap();
    assert_eq!(cycles(&none), [0, 251, 83 + 2 * 3, 0, 97, 52 + 3]);
    assert_eq!((sum(&none).entry_misses, sum(&none).return_misses, sum(&none).hit_rate()), (6, 3, Some(0.0)));
    let mut slow = jop();
    slow.set([("rws", 9)]).unwrap();
    // Memory ten times as slow: 6 + 5·10 = 56, 19 more than a call hides; 6 + 3·10 = 36, 27 more than a return hides.
    let hit = on(&profile, &slow, &options("ideal")).unwrap();
    let miss = on(&profile, &slow, &options("none")).unwrap();
    let more: Vec<u64> = cycles(&miss).iter().zip(cycles(&hit)).map(|(a, b)| a - b).collect();
    assert_eq!(more, [0, 3 * 19, 2 * 27, 0, 19, 27]);

    let refused = on(&profile, &jop(), &Options::default()).unwrap_err();
    assert!(refused.contains("4k/16") && refused.contains("simulated no method cache"), "{refused}");
    profile.caches = vec!["1k/4".parse().unwrap(), "4k/16".parse().unwrap()];
    let outcomes = Misses { entry: vec![0, 1, 2, 0, 1, 1].into(), returns: vec![0, 0, 1, 0, 0, 0].into() };
    profile.misses = vec![Misses { entry: vec![0; 6].into(), returns: vec![0; 6].into() }, outcomes];
    let simulated = on(&profile, &slow, &Options::default()).unwrap();
    let more: Vec<u64> = cycles(&simulated).iter().zip(cycles(&hit)).map(|(a, b)| a - b).collect();
    assert_eq!(more, [0, 2 * 19, 27, 0, 19, 0]);
    assert_eq!((sum(&simulated).entry_misses, sum(&simulated).return_misses), (5, 1));
    let refused = on(&profile, &jop(), &options("4k/16@shared")).unwrap_err();
    assert!(refused.contains("which simulated 1k/4, 4k/16") && refused.contains("4k/16@shared"), "{refused}");
    let bytes = cprof_profile::file::write_to(Cursor::new(Vec::new()), &profile).unwrap();
    assert_eq!(cprof_profile::file::read_from(bytes, Path::new("x.cprof")).unwrap(), profile, "caches survive the file");
}

#[test]
fn a_first_method_that_returned_to_itself_is_charged_for_what_missed() {
    let mut profile = cprof_synthetic::demo().profile(&[]);
    profile.run.bounded = true;
    profile.caches = vec!["4k/16".parse().unwrap()];
    let mut evaluated = |returns: u64| {
        let returns = vec![0, returns, 0, 0, 0, 0];
        profile.misses = vec![Misses { entry: vec![0; 6].into(), returns: returns.into() }];
        on(&profile, &jop(), &options("4k/16")).unwrap()
    };
    let (none, two) = (evaluated(0), evaluated(2));
    // As in `misses`: 3 cycles more than a return hides.
    assert_eq!(cycles(&two)[1] - cycles(&none)[1], 2 * 3);
    let node = two.nodes.get(1);
    assert_eq!((node.return_misses, node.returns), (2, 2));
    assert!(node.hit_rate().is_some_and(|rate| (0.0..1.0).contains(&rate)), "{node:?}");
}

#[test]
fn counting_bytecodes_is_a_model_too() {
    let profile = cprof_synthetic::demo().profile(&[]);
    let measures = measure(&profile).unwrap();
    let counted = on(&profile, &Library.load("bytecodes").unwrap(), &Options::default()).unwrap();
    // main's single invokestatic was executed once and led to three calls in this invented recording; the calls of yield are
    // bytecodes too, but calls of native methods cost a processor nothing.
    assert_eq!(measures.own, [0, 4, 19, 0, 3, 13]);
    assert_eq!(cycles(&counted), [0, 3 + 3, 19 - 3, 0, 3, 13 - 2]);
}

/// `Main.main` calls `Main.run` by invokevirtual and invokespecial, and the JVM calls `Main.<clinit>` below it.
/// There are `specials` special calls. Where sites are merged, `run` was called so many times.
fn mixed(specials: u32, called: u32) -> (Profile, Profile) {
    calling("demo/Main", ("run", "()V"), specials, called)
}

/// As [`mixed`], of a class of this name, and a method of this name and descriptor.
fn calling(class: &str, (name, descriptor): (&str, &str), specials: u32, called: u32) -> (Profile, Profile) {
    let build = |sites: bool| {
        let mut recording = Recording::new();
        let mut main = ClassWriter::new(class, "java/lang/Object");
        let run = main.methodref(class, name, descriptor);
        let mut code = vec![op::ALOAD_0, op::INVOKEVIRTUAL, run[0], run[1]];
        for _ in 0..specials {
            code.extend([op::ALOAD_0, INVOKESPECIAL, run[0], run[1]]);
        }
        code.push(op::RETURN);
        main.method("main", "()V", PUBLIC, &code);
        main.method(name, descriptor, PUBLIC, &[op::RETURN]);
        main.method("<clinit>", "()V", 0x0008, &[op::RETURN]);
        let ids = recording.class(main.finish(), false, Level::Precise);
        let path = recording.path(0, 0, &[0], false);
        let leaf = recording.path(0, 1, &[0], false);
        let times = |n: u64| leaf.iter().map(|c| c * n).collect::<Vec<u64>>();
        let arena = &mut recording.arena;
        if sites {
            arena.put(header::FLAGS, 1);
        }
        let tree = arena.tree("main", 0, 1);
        let main_node = arena.node(tree, tree, ids[0], 0, &path);
        if sites {
            arena.node(tree, main_node, ids[1], 2, &times(1));
            for s in 0..specials {
                arena.node(tree, main_node, ids[1], 6 + 4 * s, &times(1));
            }
        } else {
            arena.node(tree, main_node, ids[1], 0, &times(u64::from(called)));
        }
        arena.node(tree, main_node, ids[2], 0, &times(1));
        recording.profile(&[])
    };
    (build(false), build(true))
}

/// JOP with another price of calls.
fn overlaid(invoke: &str) -> Model {
    let overlay = format!(
        "base = \"jop\"\ntitle = \"t\"\naccuracy = \"coarse\"\n[sources]\ns = \"s\"\n[invoke]\nsource = \"s\"\n{invoke}\n"
    );
    let base = Library.shipped().iter().find(|s| s.name == "jop").unwrap().text;
    Model::new("uneven", vec![read("uneven.toml", &overlay).unwrap(), read("jop.toml", base).unwrap()]).unwrap()
}

#[test]
fn calls_of_several_kinds_and_of_none() {
    for specials in [0, 1, 2] {
        let (merged, by_site) = mixed(specials, 1 + specials);
        for profile in [&merged, &by_site] {
            let result = on(profile, &jop(), &options("ideal")).unwrap();
            // aload_0 1 per call, return 21; virtual 100, special 75; the class initialiser as static 75, apart.
            let own = 21 + (1 + 100) + u64::from(specials) * (1 + 75);
            assert_eq!(result.nodes.get(1).cycles, own + 75, "{specials}");
            assert_eq!(result.nodes.get(1).upcalls, 75);
            let without = on(profile, &jop(), &Options { without_upcalls: true, ..options("ideal") }).unwrap();
            assert_eq!((without.nodes.get(1).cycles, without.nodes.get(1).upcalls), (own, 0));
            assert_eq!(result.notes, Vec::<String>::new());
        }
        // Misses of the merged context cannot be told apart by kind, which is said where it matters; by site they can.
        let notes = |profile, model: &Model| on(profile, model, &options("none")).unwrap().notes.len();
        let uneven = overlaid("special = \"+50*miss\"");
        assert_eq!((notes(&merged, &uneven), notes(&merged, &jop())), (usize::from(specials > 0), 0));
        assert_eq!(notes(&by_site, &uneven), 0);
        let cycles = |cache| on(&by_site, &uneven, &options(cache)).unwrap().nodes.get(1).cycles;
        assert_eq!(cycles("none") - cycles("ideal"), 50 * u64::from(specials));
    }
}

#[test]
fn more_or_fewer_calls_than_executed_call_sites() {
    let own = 21 + 3 + 100 + 2 * 75;
    // Of five calls, three had a call site; the class initialiser had none either.
    let more = on(&mixed(2, 5).0, &jop(), &options("ideal")).unwrap();
    assert_eq!((more.nodes.get(1).cycles, more.nodes.get(1).upcalls), (own + 3 * 75, 3 * 75));
    assert_eq!(more.notes, Vec::<String>::new());
    let without = on(&mixed(2, 5).0, &jop(), &Options { without_upcalls: true, ..options("ideal") }).unwrap();
    assert_eq!((without.nodes.get(1).cycles, without.nodes.get(1).upcalls), (own, 0));
    // One of three executions called nobody: most likely the virtual one, on null. If it was a special one, 25 cycles are
    // missing.
    let fewer = on(&mixed(2, 2).0, &jop(), &options("ideal")).unwrap();
    assert_eq!(fewer.nodes.get(1).cycles, own - 100 + 75);
    assert!(
        fewer.notes[0].starts_with("1 calls in this recording went") && fewer.notes[0].contains("off by 25 at most"),
        "{:?}",
        fewer.notes
    );
    // Where all kinds cost the same it does not matter.
    assert!(on(&mixed(2, 2).0, &Library.load("bytecodes").unwrap(), &options("ideal")).unwrap().notes.is_empty());
}

#[test]
fn what_the_jvm_asks_for_is_not_the_callers_calls() {
    let called = |class, method| {
        let evaluation = on(&calling(class, method, 0, 5).0, &jop(), &options("ideal")).unwrap();
        (evaluation.nodes.get(1).cycles, evaluation.nodes.get(1).upcalls)
    };
    // One call by invokevirtual, four by the JVM; the class initialiser.
    let by_jvm = (21 + 1 + 100 + 4 * 75 + 75, 5 * 75);
    assert_eq!(called("demo/Main", ("loadClass", "(Ljava/lang/String;)Ljava/lang/Class;")), by_jvm);
    assert_eq!(called("java/lang/SomeError", ("<init>", "(Ljava/lang/String;)V")), by_jvm);
    // Other methods have one caller, and their sites' kinds suffice.
    let by_caller = (21 + 1 + 5 * 100 + 75, 75);
    assert_eq!(called("demo/Main", ("findClass", "(Ljava/lang/String;)Ljava/lang/Class;")), by_caller);
    assert_eq!(called("demo/SomeError", ("<init>", "(Ljava/lang/String;)V")), by_caller);
    assert_eq!(called("java/lang/ref/SomeError", ("<init>", "(Ljava/lang/String;)V")), by_caller);

    // What their misses cost are the JVM's, too. Where not all missed, it is not known whose did.
    let uneven = overlaid("vm = \"+50*miss\"");
    let (mut profile, _) = calling("demo/Main", ("loadClass", "(Ljava/lang/String;)Ljava/lang/Class;"), 0, 5);
    let none = on(&profile, &uneven, &options("none")).unwrap();
    assert_eq!((none.nodes.get(1).cycles, none.nodes.get(1).upcalls), (21 + 1 + 100 + 5 * 125, 5 * 125));
    assert_eq!(none.notes, Vec::<String>::new());
    let without = on(&profile, &uneven, &Options { without_upcalls: true, ..options("none") }).unwrap();
    assert_eq!((without.nodes.get(1).cycles, without.nodes.get(1).upcalls), (21 + 1 + 100, 0));
    profile.caches = vec!["4k/16".parse().unwrap()];
    profile.misses = vec![Misses { entry: vec![0, 1, 3, 0].into(), returns: vec![0; 4].into() }];
    let some = on(&profile, &uneven, &options("4k/16")).unwrap();
    assert_eq!((some.nodes.get(1).cycles, some.nodes.get(1).upcalls), (21 + 1 + 100 + 5 * 75 + 2 * 50, 5 * 75 + 2 * 50));
    assert!(
        some.notes[0].starts_with("3 calls in this recording") && some.notes[0].contains("off by 100 at most"),
        "{:?}",
        some.notes
    );
}

#[test]
fn a_miss_may_cost_less_than_a_hit() {
    let (cheaper, cheap) = (overlaid("\"*\" = \"-50*miss\""), overlaid("\"*\" = \"-50\""));
    let loads = calling("demo/Main", ("loadClass", "(Ljava/lang/String;)Ljava/lang/Class;"), 0, 5).0;
    // The class initialiser's call, which the JVM made, is not charged there.
    let mut bounded = mixed(2, 3).0;
    bounded.run.bounded = true;
    for profile in [mixed(2, 3).0, mixed(2, 3).1, mixed(2, 5).0, loads, bounded] {
        let missed = on(&profile, &cheaper, &options("none")).unwrap();
        assert_eq!(cycles(&missed), cycles(&on(&profile, &cheap, &options("none")).unwrap()), "all calls miss");
        assert_ne!(cycles(&missed), cycles(&on(&profile, &cheaper, &options("ideal")).unwrap()));
    }
}

#[test]
fn where_callers_are_lost_calls_count_where_they_are_executed() {
    let mut profile = cprof_synthetic::demo().profile(&[]);
    profile.run.bounded = true;
    let result = on(&profile, &jop(), &options("ideal")).unwrap();
    // main executed one invokestatic; the executions of work's site reached a native method and cost nothing.
    assert_eq!(cycles(&result), [0, 251 - 2 * 75, 83, 0, 97, 52]);
    assert!(result.notes[0].contains("bounded"), "{:?}", result.notes);
}

#[test]
fn where_callers_are_lost_native_calls_cost_nothing_by_whatever_instruction() {
    for kinds in [[INVOKESPECIAL, op::INVOKEVIRTUAL], [op::INVOKEVIRTUAL, INVOKESPECIAL]] {
        let mut recording = Recording::new();
        let mut main = ClassWriter::new("demo/Main", "java/lang/Object");
        let native = main.methodref("demo/Main", "copy", "()V");
        let call = |kind| [op::ALOAD_0, kind, native[0], native[1]];
        main.method("main", "()V", PUBLIC, &[&kinds.map(call).concat()[..], &[op::RETURN]].concat());
        main.native("copy", "()V", 0x0102);
        let ids = recording.class(main.finish(), false, Level::Precise);
        let path = recording.path(0, 0, &[0], false);
        let arena = &mut recording.arena;
        let tree = arena.tree("main", 0, 1);
        arena.node(tree, tree, ids[0], 0, &path);
        let mut profile = recording.profile(&[]);
        profile.run.bounded = true;
        let result = on(&profile, &jop(), &options("ideal")).unwrap();
        assert_eq!(result.nodes.get(1).cycles, 2 + 21, "two times aload_0, and return");
    }
}

#[test]
fn blocks_left_by_an_exception_count_whole_only_where_they_were_counted_so() {
    let run = |level: Level| {
        let mut recording = Recording::new();
        let mut main = ClassWriter::new("demo/Main", "java/lang/Object");
        let other = main.methodref("demo/Other", "missing", "()V");
        main.method(
            "main",
            "()V",
            STATIC,
            &[op::ICONST_1, op::POP, op::INVOKESTATIC, other[0], other[1], op::ICONST_1, op::POP, op::RETURN],
        );
        let ids = recording.class(main.finish(), false, level);
        let path = recording.path(0, 0, &[0], true);
        let arena = &mut recording.arena;
        let tree = arena.tree("main", 0, 1);
        let node = arena.node(tree, tree, ids[0], 0, &path);
        arena.departure(tree, node, if level == Level::Precise { 2 } else { 0 }, 1);
        on(&recording.profile(&[]), &jop(), &options("ideal")).unwrap().nodes.get(1)
    };
    assert_eq!(run(Level::Precise).cycles, 2, "up to the exception; it was the call that failed, so nobody was called");
    assert_eq!(run(Level::Block).cycles, 4, "the block whole, but neither call nor return (Default BBA)");
}

#[test]
fn cycles_that_64_bits_do_not_hold_are_refused() {
    let text = |cost: i64| {
        format!(
            "base = \"jop\"\ntitle = \"t\"\naccuracy = \"coarse\"\n[sources]\ns = \"s\"\n[bytecodes]\nsource = \"s\"\niload_0 = {cost}\n"
        )
    };
    let base = Library.shipped().iter().find(|s| s.name == "jop").unwrap().text;
    let with = |cost| Model::new("m", vec![read("m.toml", &text(cost)).unwrap(), read("jop.toml", base).unwrap()]).unwrap();
    let profile = cprof_synthetic::demo().profile(&[]);
    // No context executes more than work does on the main thread.
    let fits = i64::MAX / 19;
    let exact = on(&profile, &with(fits), &options("ideal")).unwrap();
    let plain = on(&profile, &with(0), &options("ideal")).unwrap();
    assert!(cycles(&exact)[2] > u64::MAX / 8 && (cycles(&exact)[2] - cycles(&plain)[2]).is_multiple_of(fits as u64));
    for cost in [fits + 1, i64::MAX] {
        let refused = on(&profile, &with(cost), &options("ideal")).unwrap_err();
        assert!(refused.starts_with("cycles may not fit 64 bits: 19 bytecodes were executed in one context"), "{refused}");
    }
}

#[test]
fn the_default_cache_is_the_models() {
    let profile = cprof_synthetic::demo().profile(&[]);
    let by_default = |name: &str| on(&profile, &Library.load(name).unwrap(), &Options::default());
    let ideal = on(&profile, &Library.load("picojava").unwrap(), &options("ideal")).unwrap();
    assert_eq!(by_default("picojava").unwrap().nodes, ideal.nodes);
    assert!(by_default("jop").unwrap_err().contains("4k/16 was not simulated"), "{:?}", by_default("jop").err());
}

/// One of the demo's threw.
#[test]
fn calls_count_as_they_are_charged_where_only_what_has_completed_counts() {
    let model = |only_completed: bool| {
        let costs =
            "[bytecodes]\nsource = \"m\"\n\"*\" = 0\n[invoke]\nsource = \"m\"\n\"*\" = 3\n[return]\nsource = \"m\"\n\"*\" = 7\n";
        let head = format!(
            "title = \"t\"\naccuracy = \"exact\"\nunit = \"ones\"\nonly_completed = {only_completed}\n[sources]\nm = \"m\"\n"
        );
        Model::new("m", vec![read("m.toml", &(head + costs)).unwrap()]).unwrap()
    };
    for bounded in [false, true] {
        let mut profile = cprof_synthetic::demo().profile(&[]);
        assert!(!profile.departures.is_empty());
        profile.run.bounded = bounded;
        let [all, completed] = [false, true].map(|only| on(&profile, &model(only), &Options::default()).unwrap());
        assert!(sum(&all).cycles > 0);
        assert_eq!(cycles(&all), cycles(&completed), "bounded: {bounded}");
        assert_eq!(all.notes, completed.notes);
    }
}

#[test]
fn where_only_what_has_completed_counts_departures_take_it_away() {
    let mut recording = Recording::new();
    let mut class = ClassWriter::new("demo/Main", "java/lang/Object");
    class.method("f", "()V", STATIC, &[op::NOP, op::ICONST_1, op::POP, op::RETURN]);
    let id = recording.class(class.finish(), false, Level::Precise)[0];
    let tree = recording.arena.tree("main", 0, 1);
    recording.arena.node(tree, tree, id, 0, &[5]);
    let model = |only_completed: bool| {
        let costs = "[bytecodes]\nsource = \"m\"\n\"*\" = 0\niconst_1 = 1\n[invoke]\nsource = \"m\"\n\"*\" = 0\n[return]\nsource = \"m\"\n\"*\" = 0\n";
        let head = format!(
            "title = \"t\"\naccuracy = \"exact\"\nunit = \"ones\"\nonly_completed = {only_completed}\n[sources]\nm = \"m\"\n"
        );
        Model::new("m", vec![read("m.toml", &(head + costs)).unwrap()]).unwrap()
    };
    let (thrown, active) = (DepartureKind::Thrown, DepartureKind::Active);
    for (departures, executed, completed) in [
        (vec![], 5, 5),
        (vec![(thrown, 2)], 5, 3),
        // Of the first one does not know yet.
        (vec![(thrown, 2), (active, 1)], 5, 2),
        // What threw was begun while counting was paused.
        (vec![(thrown, 1), (active, -1)], 5, 5),
    ] {
        let mut profile = recording.profile(&[]);
        let departure = |(kind, count)| Departure { node: 1, bci: 1, kind, count };
        profile.departures = departures.into_iter().map(departure).collect();
        for (model, expected) in [(model(false), executed), (model(true), completed)] {
            let evaluation = on(&profile, &model, &Options::default()).unwrap();
            assert_eq!(cycles(&evaluation), [0, expected], "{:?}", profile.departures);
            assert_eq!(evaluation.notes, Vec::<String>::new());
        }
        profile.methods[0].level = Counted::Block;
        let by_block = on(&profile, &model(true), &Options::default()).unwrap();
        let told = by_block.notes.iter().any(|note| note.contains("1 method was counted by whole blocks"));
        assert_eq!((sum(&by_block).cycles, told), (5, !profile.departures.is_empty()), "{:?}", profile.departures);
    }
}
