//! Frames of a profile whose every number is known:
//!
//! ```text
//! demo.Main.main 4 ─ demo.Main.work 19
//! demo.Main$$Lambda.run 3 ─ demo.Main.work 13
//! ```

use cprof_profile::amounts::Amounts;
use cprof_profile::measure::measure;
use cprof_profile::model::{Level, Profile};
use cprof_profile::natives::native_calls;
use cprof_profile::tree::{Symbols, Tree};
use cprof_synthetic::Recording;
use cprof_synthetic::classes::{ClassWriter, op};
use cprof_views::forest::{Arranged, Forest};
use cprof_views::svg::{self, Costs, Frames, Picture, callees, callers};

fn tree(profile: &Profile) -> (Symbols, Tree) {
    let symbols = Symbols::new(profile);
    let measures = measure(profile).unwrap();
    let natives = native_calls(profile, &measures).unwrap();
    let tree = Tree::new(profile, &symbols, &measures, &natives, |_| true);
    (symbols, tree)
}

/// The demo's contexts with their own bytecodes.
fn demo() -> (Arranged, Amounts) {
    bytecodes(&cprof_synthetic::demo().profile(&[]))
}

fn bytecodes(profile: &Profile) -> (Arranged, Amounts) {
    let (symbols, tree) = tree(profile);
    let mut forest = Forest::new(false);
    let places = forest.add(&symbols, &tree);
    let arranged = forest.arrange();
    let [_, _, own] = tree.counts();
    let own = arranged.column(&arranged.positions(&places), own);
    (arranged, own)
}

/// Depth, method, x, cost, own.
fn rows(arranged: &Arranged, frames: &Frames) -> Vec<(u32, String, u64, u64, u64)> {
    let row = |f: &svg::Frame| (f.depth, arranged.symbols[f.symbol as usize].method.clone(), f.x, f.cost, f.own);
    frames.list.iter().map(row).collect()
}

fn expected(rows: &[(u32, &str, u64, u64, u64)]) -> Vec<(u32, String, u64, u64, u64)> {
    rows.iter().map(|&(depth, method, x, cost, own)| (depth, method.to_owned(), x, cost, own)).collect()
}

#[test]
fn contexts_are_apart_where_nothing_is_counted_in_or_below_them() {
    let (arranged, own) = demo();
    let nothing = Amounts::zeros(arranged.len());
    assert_eq!((arranged.apart(&own, &own), arranged.apart(&own, &nothing)), (0, own.sum()));
    // In a callee of main alone: 19 of work below it, and 4 of main's own.
    let work = (0..arranged.len()).find(|&i| own.iter().nth(i) == Some(19)).unwrap();
    let mut counted = nothing;
    counted.set(work, 1);
    assert_eq!(arranged.apart(&own, &counted), own.sum() - 19 - 4);
}

#[test]
fn callees_stand_below_their_callers() {
    let (arranged, own) = demo();
    let costs = Costs { after: &own, before: None };
    let all =
        [(0, "all", 0, 39, 0), (1, "main", 0, 23, 4), (2, "work", 0, 19, 19), (1, "run", 23, 16, 3), (2, "work", 23, 13, 13)];
    let frames = callees(&arranged, costs, 0);
    assert_eq!(rows(&arranged, &frames), expected(&all));
    assert_eq!((frames.hidden, frames.hidden_cost), (0, 0), "native methods cost nothing, and are not missing");
    let frames = callees(&arranged, costs, 17);
    assert_eq!(rows(&arranged, &frames), expected(&all[..3]));
    assert_eq!((frames.hidden, frames.hidden_cost), (2, 16));
}

#[test]
fn callers_stand_below_what_they_called() {
    let (arranged, own) = demo();
    let costs = Costs { after: &own, before: None };
    let mut found = rows(&arranged, &callers(&arranged, costs, 0));
    found.sort();
    let mut all = expected(&[
        (0, "all", 0, 39, 0),
        (1, "main", 0, 4, 4),
        (1, "work", 4, 32, 0),
        (2, "main", 4, 19, 19),
        (2, "run", 23, 13, 13),
        (1, "run", 36, 3, 3),
    ]);
    all.sort();
    assert_eq!(found, all);
    let frames = callers(&arranged, costs, 5);
    assert_eq!((frames.list.len(), frames.hidden, frames.hidden_cost), (4, 2, 7));
}

/// A method that calls itself, of two bytecodes.
#[test]
fn callers_of_deep_recursion_are_drawn_as_far_as_can_be_looked_at() {
    const DEEP: u64 = 4000;
    let mut recording = Recording::new();
    let mut class = ClassWriter::new("A", "java/lang/Object");
    class.method("down", "()V", 9, &[op::NOP, op::RETURN]);
    let down = recording.class(class.finish(), false, Level::Precise)[0];
    let tree_root = recording.arena.tree("main", 0, 1);
    (0..DEEP).fold(tree_root, |caller, _| recording.arena.node(tree_root, caller, down, 0, &[1]));
    let profile = recording.profile(&[]);
    let (arranged, own) = bytecodes(&profile);
    let frames = callers(&arranged, Costs { after: &own, before: None }, 0);
    let levels = u64::from(svg::LEVELS);
    assert_eq!(frames.list.len() as u64, 2 + levels, "all, the method, its callers");
    // What has so many callers, and the outermost of them, which has no more.
    let last = *frames.list.last().unwrap();
    assert_eq!((last.depth, last.cost, last.own), (svg::LEVELS + 1, 2 * (DEEP - levels), 2));
    assert_eq!((frames.hidden, frames.further_cost), (0, last.cost - last.own));
    let picture = Picture { title: "deep", about: "", metric: "bytecodes", reverse: true, min_width: 0.5, apart: None };
    let mut out = Vec::new();
    svg::write(&picture, &arranged, Costs { after: &own, before: None }, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.contains("callers more than 1,000 levels up, not drawn, have 75.0%"), "{}", &text[..2000]);
}

#[test]
fn what_is_compared_is_matched_by_name() {
    let (arranged, own) = demo();
    let before: Amounts = own.iter().map(|own| own * 2).collect();
    for frames in [callees, callers].map(|f| f(&arranged, Costs { after: &own, before: Some(&before) }, 0)) {
        assert!(frames.list.iter().all(|f| f.before == 2 * f.cost), "{frames:?}");
    }
}

#[test]
fn a_picture_of_nothing_and_of_hostile_names() {
    let profile = cprof_synthetic::Recording::new().profile(&[]);
    let (symbols, tree) = tree(&profile);
    let mut forest = Forest::new(true);
    forest.add(&symbols, &tree);
    let arranged = forest.arrange();
    let title = "]]></svg><script>\u{1}&\"";
    let picture = Picture { title, about: "empty.cprof", metric: "bytecodes", reverse: false, min_width: 0.5, apart: None };
    let mut out = Vec::new();
    svg::write(&picture, &arranged, Costs { after: &[0].into_iter().collect(), before: None }, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.contains("empty.cprof: 0 bytecodes"));
    assert_eq!((text.matches("<script>").count(), text.matches("</svg>").count()), (1, 1));
    assert!(text.contains("]]&gt;&lt;/svg&gt;&lt;script&gt;\\u{1}&amp;&quot;"));
}
