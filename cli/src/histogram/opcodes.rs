//! By opcode, with blocks and branches.

use super::top;
use crate::args::Histogram;
use crate::loaded::view::{View, share};
use crate::style::Style;
use crate::table::Table;
use crate::table::field;
use anyhow::Result;
use cprof_annotate::histogram::Mix;
use cprof_annotate::histogram::branches::Outcomes;
use cprof_annotate::histogram::groups::Group;
use cprof_instrument::classfile::opcode::{MNEMONIC, op};
use cprof_profile::names::thousands;
use serde::Serialize;
use std::io::{self, Write};

/// Shares of the executed blocks that are no larger.
const QUANTILES: [(f64, &str); 4] = [(0.5, "half"), (0.9, "90%"), (0.99, "99%"), (1.0, "all")];

/// Whether an opcode is counted.
type Counts = fn(u8) -> bool;

/// Densities per thousand bytecodes: what is counted, and its opcodes.
const DENSITIES: [(&str, Counts); 6] = [
    ("array accesses", |o| matches!(Group::of(o), Group::ArrayLoad | Group::ArrayStore)),
    ("field accesses", |o| matches!(Group::of(o), Group::Field | Group::StaticField)),
    ("floating point operations", is_floating),
    ("allocations", |o| Group::of(o) == Group::Allocation),
    ("virtual and interface calls", |o| matches!(o, op::INVOKEVIRTUAL | op::INVOKEINTERFACE)),
    ("monitors entered", |o| o == op::MONITORENTER),
];

/// Arithmetic, comparisons and conversions of float and double.
fn is_floating(opcode: u8) -> bool {
    let between = matches!(opcode, op::I2F | op::I2D | op::L2F | op::L2D | op::F2I..=op::D2F);
    Group::of(opcode) == Group::Float || matches!(opcode, op::FCMPL..=op::DCMPG) || between
}

/// Opcodes that were executed, most frequent first.
fn executed(mix: &Mix) -> Vec<(u8, u64)> {
    let mut rows: Vec<(u8, u64)> = (0u8..).zip(mix.opcodes).filter(|row| row.1 > 0).collect();
    rows.sort_by_key(|&(opcode, executions)| (std::cmp::Reverse(executions), opcode));
    rows
}

fn density(mix: &Mix, fits: Counts) -> f64 {
    let of = (0u8..).zip(mix.opcodes).filter(|row| fits(row.0)).fold(0u64, |sum, row| sum.saturating_add(row.1));
    if mix.bytecodes == 0 { 0.0 } else { of as f64 * 1000.0 / mix.bytecodes as f64 }
}

/// For people.
pub fn text(view: &View, mix: &Mix, args: &Histogram, out: &mut dyn Write, style: Style) -> Result<()> {
    writeln!(out, "{}", style.bold(&view.file))?;
    writeln!(out, "{} bytecodes executed\n", thousands(mix.bytecodes))?;
    let rows = executed(mix);
    let shown = top(args, rows.len());
    let mut table = Table::new(&["executions", "share", "opcode"]);
    for &(opcode, executions) in &rows[..shown] {
        table.row(vec![thousands(executions), share(executions, mix.bytecodes), MNEMONIC[opcode as usize].to_owned()]);
    }
    table.print(out, style)?;
    if shown < rows.len() {
        let rest = rows[shown..].iter().fold(0u64, |sum, row| sum.saturating_add(row.1));
        let more = format!(
            "{} more opcodes: {} ({}); --top 0 shows all",
            rows.len() - shown,
            thousands(rest),
            share(rest, mix.bytecodes)
        );
        writeln!(out, "{}", style.dim(&more))?;
    }
    if mix.unexplained != 0 {
        let text = format!("{} bytecodes are of no opcode: counts that contradict each other", mix.unexplained);
        writeln!(out, "{}", style.warning(&text))?;
    }
    writeln!(out)?;
    groups(mix, out, style)?;
    blocks(mix, out)?;
    branches(mix, out, style)?;
    properties(mix, out)?;
    Ok(())
}

fn groups(mix: &Mix, out: &mut dyn Write, style: Style) -> io::Result<()> {
    let mut rows: Vec<(Group, u64)> = Group::ALL.map(|g| (g, mix.of_group(g))).into_iter().filter(|row| row.1 > 0).collect();
    rows.sort_by_key(|&(group, executions)| (std::cmp::Reverse(executions), group));
    let mut table = Table::new(&["executions", "share", "group"]);
    for (group, executions) in rows {
        table.row(vec![thousands(executions), share(executions, mix.bytecodes), group.name().to_owned()]);
    }
    table.print(out, style)
}

fn blocks(mix: &Mix, out: &mut dyn Write) -> io::Result<()> {
    let Some(mean) = mix.mean_block() else { return Ok(()) };
    let quantiles = QUANTILES.map(|(share, name)| (name, mix.block_quantile(share).unwrap_or_default()));
    let quantiles = quantiles.map(|(name, size)| format!("{name} up to {}", thousands(size.into()))).join(", ");
    writeln!(out, "\n{} blocks executed, of {mean:.2} bytecodes on average: {quantiles}", thousands(mix.blocks()))
}

fn branches(mix: &Mix, out: &mut dyn Write, style: Style) -> io::Result<()> {
    let branches = &mix.branches;
    if branches.all().sites > 0 {
        writeln!(out)?;
        let mut table = Table::new(&["executions", "taken", "share", "branches", "always", "never", "conditional branches"]);
        let mut row = |name: &str, o: &Outcomes| {
            let counts = [o.executed(), o.taken].map(thousands);
            let sites = [o.sites, o.always, o.never].map(thousands);
            table.row([&counts[..], &[share(o.taken, o.executed())], &sites[..], &[name.to_owned()]].concat());
        };
        let mut kinds: Vec<(&u8, &Outcomes)> = branches.by_opcode.iter().collect();
        kinds.sort_by_key(|(opcode, outcomes)| (std::cmp::Reverse(outcomes.executed()), **opcode));
        kinds.into_iter().for_each(|(opcode, outcomes)| row(MNEMONIC[*opcode as usize], outcomes));
        row("backward", &branches.backward);
        row("forward", &branches.forward);
        row("all", &branches.all());
        table.print(out, style)?;
    }
    let s = &branches.switches;
    if s.sites > 0 {
        let (executed, default) = (thousands(s.executed), share(s.default, s.executed));
        let switches = if s.sites == 1 { "switch" } else { "switches" };
        writeln!(out, "\n{executed} executions of {} {switches}, {default} to where the default leads", thousands(s.sites))?;
    }
    Ok(())
}

fn properties(mix: &Mix, out: &mut dyn Write) -> io::Result<()> {
    let hottest = mix.hottest(0.9);
    writeln!(
        out,
        "\n{} bytecodes of the class files were executed; {} of them make 90% of all executions",
        thousands(mix.touched()),
        thousands(hottest)
    )?;
    writeln!(out, "\nper thousand bytecodes:")?;
    for (name, fits) in DENSITIES {
        writeln!(out, "{:10.3}  {name}", density(mix, fits))?;
    }
    Ok(())
}

/// A row per opcode that was executed.
pub fn csv(mix: &Mix, args: &Histogram, out: &mut dyn Write) -> Result<()> {
    write!(out, "opcode,mnemonic,group,executions\r\n")?;
    let rows = executed(mix);
    for &(opcode, executions) in &rows[..top(args, rows.len())] {
        let group = field(Group::of(opcode).name());
        write!(out, "{opcode},{},{group},{executions}\r\n", MNEMONIC[opcode as usize])?;
    }
    if mix.unexplained != 0 {
        write!(out, ",,contradicting counts,{}\r\n", mix.unexplained)?;
    }
    Ok(())
}

#[derive(Serialize)]
struct Report<'a> {
    bytecodes: u64,
    unexplained: i64,
    opcodes: Vec<Opcode>,
    groups: Vec<Counted<'a>>,
    blocks: Blocks,
    branches: Vec<Branch>,
    switches: Switches,
    executed_sites: u64,
    sites_of_90_percent: u64,
    per_thousand: Vec<Density<'a>>,
    file: &'a str,
}

#[derive(Serialize)]
struct Opcode {
    opcode: u8,
    mnemonic: &'static str,
    group: &'static str,
    executions: u64,
}

#[derive(Serialize)]
struct Counted<'a> {
    group: &'a str,
    executions: u64,
}

#[derive(Serialize)]
struct Blocks {
    executed: u64,
    mean: Option<f64>,
    /// (size, times)
    sizes: Vec<(u32, u64)>,
}

#[derive(Serialize)]
struct Branch {
    kind: &'static str,
    executions: u64,
    taken: u64,
    not_taken: u64,
    sites: u64,
    always_taken: u64,
    never_taken: u64,
}

#[derive(Serialize)]
struct Switches {
    executions: u64,
    default: u64,
    sites: u64,
}

#[derive(Serialize)]
struct Density<'a> {
    what: &'a str,
    density: f64,
}

/// One object.
pub fn json(view: &View, mix: &Mix, args: &Histogram, out: &mut dyn Write) -> Result<()> {
    let branch = |kind, o: &Outcomes| Branch {
        kind,
        executions: o.executed(),
        taken: o.taken,
        not_taken: o.not_taken,
        sites: o.sites,
        always_taken: o.always,
        never_taken: o.never,
    };
    let b = &mix.branches;
    let by_opcode = b.by_opcode.iter().map(|(opcode, o)| branch(MNEMONIC[*opcode as usize], o));
    let sums = [("backward", b.backward), ("forward", b.forward), ("all", b.all())];
    let rows = executed(mix);
    let report = Report {
        bytecodes: mix.bytecodes,
        unexplained: mix.unexplained,
        opcodes: rows[..top(args, rows.len())]
            .iter()
            .map(|&(opcode, executions)| Opcode {
                opcode,
                mnemonic: MNEMONIC[opcode as usize],
                group: Group::of(opcode).name(),
                executions,
            })
            .collect(),
        groups: Group::ALL.map(|g| Counted { group: g.name(), executions: mix.of_group(g) }).into_iter().collect(),
        blocks: Blocks {
            executed: mix.blocks(),
            mean: mix.mean_block(),
            sizes: mix.block_sizes.iter().map(|(size, times)| (*size, *times)).collect(),
        },
        branches: by_opcode.chain(sums.iter().map(|(kind, o)| branch(kind, o))).collect(),
        switches: Switches { executions: b.switches.executed, default: b.switches.default, sites: b.switches.sites },
        executed_sites: mix.touched(),
        sites_of_90_percent: mix.hottest(0.9),
        per_thousand: DENSITIES.iter().map(|(what, fits)| Density { what, density: density(mix, *fits) }).collect(),
        file: &view.file,
    };
    serde_json::to_writer_pretty(&mut *out, &report).map_err(io::Error::from)?;
    writeln!(out)?;
    Ok(())
}
