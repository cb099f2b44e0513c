//! Calling contexts.

use super::json::Document;
use super::{coverage, methods};
use crate::args::{Report, Sort};
use crate::loaded::choice::loose;
use crate::loaded::processor::{Columns, HEADER};
use crate::loaded::view::{View, share};
use crate::style::Style;
use crate::table::field;
use anyhow::Result;
use cprof_profile::call_lines::CallLines;
use cprof_profile::names::{Pattern, thousands};
use cprof_profile::tree::{Context, Visit, What};
use serde::{Serialize, Serializer};
use std::cmp::Reverse;
use std::io::{self, Write};

/// Where a context was called from, as text: a line, or a bytecode index where the class has no line numbers.
fn site(view: &View, lines: &Option<CallLines>, context: &Context) -> Option<(u32, Option<u16>)> {
    let bci = context.site.checked_sub(1)?;
    let line = lines.as_ref().and_then(|l| l.line(&view.tree, context));
    Some((bci, line))
}

fn lines(view: &View) -> Result<Option<CallLines>> {
    Ok(if view.profile.run.sites { Some(CallLines::read(&view.profile, &view.symbols)?) } else { None })
}

/// Contexts that fit the filter, and their callers.
fn kept(view: &View, args: &Report) -> Vec<bool> {
    let tree = &view.tree;
    let Some(filter) = &args.filter else { return vec![true; tree.len()] };
    let pattern = loose(filter, Pattern::new);
    let chosen = view.symbols.fitting(&pattern);
    let mut kept = vec![false; tree.len()];
    for i in (0..tree.len()).rev() {
        kept[i] |= matches!(tree.what(i as u32), What::Method(s) if chosen[s as usize]);
        if kept[i] {
            kept[tree.parent(i as u32) as usize] = true;
        }
    }
    kept
}

/// Whether a context at a depth is as near to the root and as dear as the options want; without them, a share of so many percent.
fn large(view: &View, args: &Report, default: f64) -> impl Fn(u32, usize) -> bool {
    let least = args.min_share.unwrap_or(default) * view.whole() as f64;
    move |c, depth| args.max_depth.is_none_or(|d| depth <= d as usize) && view.cost(c).1 as f64 * 100.0 >= least
}

/// How many levels of the tree are indented, each further than the one before.
const DEEPEST: usize = 100;

/// For people: indented, dearest first; what is small is left out and summed up behind its caller.
pub fn text(view: &View, args: &Report, out: &mut dyn Write, style: Style) -> Result<()> {
    methods::head(view, out, style)?;
    writeln!(out)?;
    let lines = lines(view)?;
    let kept = kept(view, args);
    let whole = view.whole();
    let (wide, narrow) = (thousands(whole).len().max(12), thousands(view.totals.calls).len().max(10));
    if !kept[0] {
        writeln!(out, "no method's name fits {}\n", args.filter.as_deref().unwrap_or_default())?;
        return Ok(coverage::line(view, out, style)?);
    }
    let row = |numbers: [&str; 4], what: &str| {
        let [total, part, own, calls] = numbers;
        format!("{total:>wide$}  {part:>6}  {own:>wide$}  {calls:>narrow$}  {what}")
    };
    writeln!(out, "{}", style.bold(&row(["with callees", "share", view.unit(), "calls"], "context")))?;
    let large = large(view, args, 1.0);
    let shown = |c: u32, depth: usize| kept[c as usize] && large(c, depth);
    // How many callees are left out below a context, and what they cost.
    let left_out = |c: u32, depth: usize| {
        let hidden = view.tree.children(c).iter().filter(|&&child| !shown(child, depth + 1));
        hidden.fold((0u64, 0u64), |(n, total), &child| (n + 1, total.saturating_add(view.cost(child).1)))
    };
    let more = |(n, total): (u64, u64)| match n {
        0 => String::new(),
        n => format!("{} more: {} ({})", thousands(n), thousands(total), share(total, whole)),
    };
    let mut write = |context: u32, depth: usize| -> io::Result<()> {
        let c = &view.tree.context(context);
        let mut notes = Vec::new();
        if c.exceptional_exits > 0 {
            notes.push(format!("{} by exception", thousands(c.exceptional_exits)));
        }
        notes.extend(Some(more(left_out(context, depth))).filter(|m| !m.is_empty()));
        let notes = if notes.is_empty() { String::new() } else { format!("  … {}", notes.join(", ")) };
        let what = format!("{}{}{}", indent(depth - 1), label(view, &lines, c), style.dim(&notes));
        let (own, total) = view.cost(context);
        let numbers = [thousands(total), share(total, whole), thousands(own), thousands(c.calls)];
        writeln!(out, "{}", row(numbers.each_ref().map(String::as_str), &what))
    };
    let mut result = Ok(());
    let sort = args.sort.unwrap_or_default();
    let order = |children: &mut Vec<u32>| children.sort_by(|&a, &b| in_order(view, sort, a, b));
    view.tree.walk(order, |visit| match visit {
        Visit::Enter { context, depth } if result.is_ok() && shown(context, depth) => {
            result = write(context, depth);
            result.is_ok()
        }
        _ => false,
    });
    result?;
    let hidden = more(left_out(0, 0));
    if !hidden.is_empty() {
        writeln!(out, "{}", style.dim(&row(["", "", "", ""], &format!("… {hidden}"))))?;
    }
    writeln!(out)?;
    coverage::line(view, out, style)?;
    Ok(())
}

/// What stands before a context with so many callers: beyond [`DEEPEST`] their number, as lines of a deep recursion would be as long
/// as it is deep.
fn indent(callers: usize) -> String {
    if callers <= DEEPEST {
        return "  ".repeat(callers);
    }
    format!("{}({}) ", "  ".repeat(DEEPEST), thousands(callers as u64))
}

fn label(view: &View, lines: &Option<CallLines>, context: &Context) -> String {
    let mut label = context.what.name(|symbol| view.readable(symbol));
    match site(view, lines, context) {
        Some((bci, Some(line))) => label.push_str(&format!("  from line {line}, bytecode {bci}")),
        Some((bci, None)) => label.push_str(&format!("  from bytecode {bci}")),
        None => {}
    }
    label
}

fn in_order(view: &View, sort: Sort, a: u32, b: u32) -> std::cmp::Ordering {
    let key = |context: u32| {
        let (own, total) = view.cost(context);
        let c = view.tree.context(context);
        match sort {
            // In a tree the dearest branch is the one to follow.
            Sort::Cost | Sort::Total | Sort::CyclesTotal => Reverse((total, own, c.calls)),
            Sort::Cycles => Reverse((own, total, c.calls)),
            Sort::Bytecodes => Reverse((c.own, c.total, c.calls)),
            Sort::BytecodesTotal => Reverse((c.total, c.own, c.calls)),
            Sort::Calls => Reverse((c.calls, total, own)),
            Sort::Exits => Reverse((c.exceptional_exits, total, own)),
            Sort::Name => Reverse((0, 0, 0)),
        }
    };
    key(a).cmp(&key(b)).then_with(|| by_name(view, a, b))
}

fn by_name(view: &View, a: u32, b: u32) -> std::cmp::Ordering {
    let [a, b] = [a, b].map(|context| view.tree.context(context));
    (view.symbol(&a), a.site).cmp(&(view.symbol(&b), b.site))
}

/// A context for other tools; `docs/report.md` describes the fields.
#[derive(Serialize)]
struct Row<'a> {
    index: u32,
    parent: u32,
    class: &'a str,
    method: &'a str,
    descriptor: &'a str,
    site: Option<u32>,
    line: Option<u16>,
    native: bool,
    calls: u64,
    exceptional_exits: u64,
    bytecodes: u64,
    bytecodes_total: u64,
    #[serde(flatten)]
    processor: Option<Columns>,
}

/// Calls `each` with every context that is kept and large enough, depth first, callees in order of name unless another is asked for:
/// the same run gives the same rows.
fn each_row(view: &View, args: &Report, mut each: impl FnMut(Row) -> io::Result<()>) -> Result<()> {
    let lines = lines(view)?;
    let kept = kept(view, args);
    let large = large(view, args, 0.0);
    let mut open: Vec<u32> = vec![0];
    let mut next = 1;
    let mut result = Ok(());
    let order = |children: &mut Vec<u32>| {
        children.retain(|&child| kept[child as usize]);
        children.sort_by(|&a, &b| match args.sort {
            Some(sort) => in_order(view, sort, a, b),
            None => by_name(view, a, b),
        });
    };
    view.tree.walk(order, |visit| {
        let Visit::Enter { context, depth } = visit else {
            open.pop();
            return true;
        };
        if !large(context, depth) {
            open.push(0);
            return false;
        }
        let c = &view.tree.context(context);
        let symbol = view.symbol(c);
        let site = site(view, &lines, c);
        let on = view.processor.as_ref().map(|_| view.tree.on_processor(context));
        let row = Row {
            index: next,
            parent: open.last().copied().unwrap_or(0),
            class: symbol.map_or("", |s| &s.class),
            method: symbol.map_or("(folded)", |s| &s.method),
            descriptor: symbol.map_or("", |s| &s.descriptor),
            site: site.map(|s| s.0),
            line: site.and_then(|s| s.1),
            native: symbol.is_some_and(|s| s.native),
            calls: c.calls,
            exceptional_exits: c.exceptional_exits,
            bytecodes: c.own,
            bytecodes_total: c.total,
            processor: on.map(|on| Columns::new(&on.own, on.cycles_total, c.own)),
        };
        open.push(next);
        next += 1;
        if result.is_ok() {
            result = each(row);
        }
        result.is_ok()
    });
    Ok(result?)
}

/// A row per context.
pub fn csv(view: &View, args: &Report, out: &mut dyn Write) -> Result<()> {
    write!(
        out,
        "index,parent,class,method,descriptor,site,line,native,calls,exceptional_exits,bytecodes,bytecodes_total{}\r\n",
        if view.processor.is_some() { HEADER } else { "" }
    )?;
    let number = |n: Option<u32>| n.map(|n| n.to_string()).unwrap_or_default();
    each_row(view, args, |r| {
        let names = [field(r.class), field(r.method), field(r.descriptor)].join(",");
        let (site, line) = (number(r.site), number(r.line.map(u32::from)));
        let [calls, exits, own, total] = [r.calls, r.exceptional_exits, r.bytecodes, r.bytecodes_total];
        let processor = r.processor.as_ref().map(Columns::csv).unwrap_or_default();
        let (index, parent, native) = (r.index, r.parent, r.native);
        write!(out, "{index},{parent},{names},{site},{line},{native},{calls},{exits},{own},{total}{processor}\r\n")
    })
}

/// `totals`, `contexts`, `coverage`, `run`.
pub fn json(view: &View, args: &Report, out: &mut dyn Write) -> Result<()> {
    #[derive(Serialize)]
    struct Contexts<'a> {
        #[serde(serialize_with = "rows")]
        contexts: (&'a View, &'a Report),
    }
    let contexts = Contexts { contexts: (view, args) };
    serde_json::to_writer(&mut *out, &Document::new(view, contexts)).map_err(io::Error::from)?;
    writeln!(out)?;
    Ok(())
}

/// The rows one by one: a million of them need not be in memory together.
fn rows<S: Serializer>(&(view, args): &(&View, &Report), serializer: S) -> Result<S::Ok, S::Error> {
    use serde::ser::{Error, SerializeSeq};
    let mut sequence = serializer.serialize_seq(None)?;
    let mut failed = None;
    let walked = each_row(view, args, |row| {
        sequence.serialize_element(&row).map_err(|e| {
            failed.get_or_insert(e);
            io::Error::other("a row that cannot be written")
        })
    });
    match (failed, walked) {
        (Some(e), _) => Err(e),
        (None, Err(e)) => Err(S::Error::custom(e)),
        (None, Ok(())) => sequence.end(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deep_contexts_have_the_number_of_their_callers() {
        assert_eq!(indent(0), "");
        assert_eq!(indent(100), " ".repeat(200));
        assert_eq!(indent(101), format!("{}(101) ", " ".repeat(200)));
        assert_eq!(indent(20_000), format!("{}(20,000) ", " ".repeat(200)));
    }
}
