//! Which frames a flame graph has, and where: positions and widths are numbers of the metric, not pixels.

use crate::forest::Arranged;
use cprof_profile::amounts::Amounts;

/// A frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// Index in [`Arranged::symbols`]; the root's is 0.
    pub symbol: u32,
    /// 0 is the root.
    pub depth: u32,
    /// Where it begins.
    pub x: u64,
    /// Its width: the cost with callees; of callers, the part of the cost below that they asked for.
    pub cost: u64,
    /// The part of it that no frame below has.
    pub own: u64,
    /// What `cost` was in the profile that this one is compared with.
    pub before: u64,
}

/// The frames of a graph.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Frames {
    /// Each before those below it.
    pub list: Vec<Frame>,
    /// Frames that are too narrow: of contexts, how many in all; of callers, how many of which the callers were not looked for.
    pub hidden: u64,
    /// What they cost together.
    pub hidden_cost: u64,
    /// Of callers, what those more than [`LEVELS`] up asked for: they were not looked for.
    pub further_cost: u64,
}

/// How far up callers are looked for. Every level costs a look at all contexts that reach it: without a bound, deep recursion
/// would cost the square of its depth.
pub const LEVELS: u32 = 1000;

/// Own costs beside the contexts of a tree.
#[derive(Debug, Clone, Copy)]
pub struct Costs<'a> {
    /// What widths are.
    pub after: &'a Amounts,
    /// Those compared with.
    pub before: Option<&'a Amounts>,
}

/// Contexts that cost at least `least`, callers first.
pub fn callees(contexts: &Arranged, costs: Costs<'_>, least: u64) -> Frames {
    let after = contexts.totals(costs.after);
    let before = costs.before.map(|own| contexts.totals(own));
    let mut frames = Frames::default();
    let mut depth = vec![0u32; contexts.len()];
    // Per depth, where the next frame begins.
    let mut next = vec![0u64];
    let mut i = 0;
    while i < contexts.len() {
        if i > 0 {
            depth[i] = depth[contexts.parent[i] as usize] + 1;
        }
        let at = depth[i] as usize;
        let x = next[at];
        next[at] = x.saturating_add(after.get(i));
        if i > 0 && (after.get(i) == 0 || after.get(i) < least) {
            let end = contexts.end[i] as usize;
            frames.hidden += (i..end).filter(|&at| after.get(at) > 0).count() as u64;
            frames.hidden_cost = frames.hidden_cost.saturating_add(after.get(i));
            i = end;
            continue;
        }
        next.truncate(at + 1);
        next.push(x);
        let before = before.as_ref().map_or(0, |b| b.get(i));
        frames.list.push(Frame {
            symbol: contexts.symbol[i],
            depth: depth[i],
            x,
            cost: after.get(i),
            own: costs.after.get(i),
            before,
        });
        i += 1;
    }
    frames
}

/// A context that the costs of a frame come from, seen from one of its callers.
#[derive(Clone, Copy)]
struct Origin {
    symbol: u32,
    context: u32,
    after: u64,
    before: u64,
}

/// Methods by their own cost, and below each its callers, as far as they cost at least `least`.
pub fn callers(contexts: &Arranged, costs: Costs<'_>, least: u64) -> Frames {
    let origin = |i: usize| Origin {
        symbol: contexts.symbol[i],
        context: i as u32,
        after: costs.after.get(i),
        before: costs.before.map_or(0, |b| b.get(i)),
    };
    let all: Vec<Origin> = (1..contexts.len()).map(origin).filter(|o| o.after > 0 || o.before > 0).collect();
    let mut frames = Frames::default();
    let (cost, before) = sums(&all);
    frames.list.push(Frame { symbol: 0, depth: 0, x: 0, cost, own: 0, before });
    let mut open = vec![(all, 1, 0)];
    while let Some((mut origins, depth, begin)) = open.pop() {
        origins.sort_unstable_by_key(|o| (o.symbol, o.context));
        let mut x: u64 = begin;
        let mut below = Vec::new();
        for group in origins.chunk_by(|a, b| a.symbol == b.symbol) {
            let (cost, before) = sums(group);
            let at = x;
            x = x.saturating_add(cost);
            if cost == 0 {
                continue;
            }
            if cost < least {
                frames.hidden += 1;
                frames.hidden_cost = frames.hidden_cost.saturating_add(cost);
                continue;
            }
            let callers = callers_of(contexts, group);
            let own = cost - sums(&callers).0;
            below.push((Frame { symbol: group[0].symbol, depth, x: at, cost, own, before }, callers));
        }
        for (frame, callers) in below {
            frames.list.push(frame);
            // The first row are the methods themselves.
            if depth == LEVELS + 1 {
                frames.further_cost = frames.further_cost.saturating_add(frame.cost - frame.own);
            } else if !callers.is_empty() {
                open.push((callers, depth + 1, frame.x));
            }
        }
    }
    frames
}

/// The same costs, seen one caller further up.
fn callers_of(contexts: &Arranged, group: &[Origin]) -> Vec<Origin> {
    let mut callers: Vec<Origin> = Vec::with_capacity(group.len());
    for origin in group {
        let context = contexts.parent[origin.context as usize];
        if context != 0 {
            callers.push(Origin { symbol: contexts.symbol[context as usize], context, ..*origin });
        }
    }
    callers.sort_unstable_by_key(|o| o.context);
    callers.dedup_by(|next, kept| {
        let same = next.context == kept.context;
        if same {
            kept.after = kept.after.saturating_add(next.after);
            kept.before = kept.before.saturating_add(next.before);
        }
        same
    });
    callers
}

fn sums(origins: &[Origin]) -> (u64, u64) {
    origins.iter().fold((0, 0), |(after, before), o| (o.after.saturating_add(after), o.before.saturating_add(before)))
}
