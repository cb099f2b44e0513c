//! `cprof export`: profiles in the formats of other tools.

mod by_line;
mod lcov;

use crate::args::{Export, ExportFormat as Format};
use crate::compare::{cautions, cautions_of_contexts};
use crate::loaded::view::{Shape, View};
use crate::metrics::{Notes, OnProcessor, TARGET_ADDS, columns, load};
use crate::output::{self, Output};
use crate::parquet;
use crate::progress::Progress;
use crate::usage::Usage;
use anyhow::{Context, Result, anyhow, bail};
use by_line::Of;
use cprof_compare::metric::find;
use cprof_export::{ByLine, Source, callgrind, chrome, collapsed, csv, json, pprof, speedscope};
use cprof_profile::metrics::{Metric, Sheet};
use cprof_profile::names;
use std::path::Path;

/// Refuses what a format has no room for.
fn refuse_contradictions(args: &Export) -> Result<()> {
    let wrong = |text: &str| Err(Usage(text.to_owned()).into());
    if args.lines && args.format != Format::Pprof {
        return wrong("--lines is for pprof; callgrind and lcov have lines without it, and the other formats have none");
    }
    if args.format != Format::Lcov && !(args.source.is_empty() && args.classes.is_empty()) {
        return wrong("--source and --classes are for the format lcov; cprof annotate has a --source, too");
    }
    match args.format {
        Format::Csv | Format::Json => {}
        _ if args.methods => return wrong("--methods is for the formats csv and json; the others have stacks, or files"),
        Format::Parquet if args.metric.is_some() => {
            return wrong("--metric is for the other formats; in parquet every metric has its column or rows");
        }
        Format::Parquet if args.out == Path::new("-") => {
            return wrong("parquet is a file per table, which standard output cannot be; name a directory with -o, as -o fleet");
        }
        Format::Lcov if args.metric.is_some() || args.on.are_given() => {
            return wrong("lcov has how often lines were executed, and no other metrics; cprof annotate has what they cost");
        }
        Format::Pprof => output::spares_terminal(&args.out, "pprof's format", "app.pb.gz")?,
        _ => {}
    }
    output::spares(&args.out, [&args.part.file])
}

/// Writes a profile in another format.
pub fn export(args: &Export) -> Result<()> {
    refuse_contradictions(args)?;
    if args.format == Format::Parquet {
        let view = View::load(&args.part, None, Shape::Both { apart: true })?;
        view.tell_if_nothing();
        output::notes(&cautions_of_contexts(&view));
        return parquet::export(view, args.part.named().as_deref(), &args.out, &args.on);
    }
    if args.format == Format::Lcov {
        return export_lcov(args);
    }
    let (view, processors, mut by_line) = match args.format {
        Format::Callgrind => {
            let (view, processors) = load(&args.part, &args.on, &args.out, Shape::Nodes)?;
            // Metrics have their names without a tree, too.
            let chosen = choose(columns(&view, &view.tree, &processors), args)?;
            let by_line = by_line::by_line(&view, &processors, &chosen, Of::Methods)?;
            (view.into_tree(true), processors, by_line)
        }
        _ => {
            let shape = if args.lines { Shape::Both { apart: true } } else { Shape::Tree { apart: true } };
            let (view, processors) = load(&args.part, &args.on, &args.out, shape)?;
            (view, processors, ByLine::default())
        }
    };
    view.tell_if_nothing();
    output::notes(&cautions_of_contexts(&view));
    let chosen = choose(columns(&view, &view.tree, &processors), args)?;
    let of_models: Vec<String> = processors.iter().map(OnProcessor::column).collect();
    let evaluated = |metric: &Metric| of_models.contains(&metric.name);
    if args.lines {
        if !chosen.iter().any(|metric| metric.unit == "bytecodes" || evaluated(metric)) {
            output::note(&format!("--lines changes nothing: {} arise on no single line", chosen[0].name));
        }
        by_line = by_line::by_line(&view, &processors, &chosen, Of::Contexts)?;
    }
    if args.metric.is_none() && args.on.are_given() && !chosen.iter().any(evaluated) {
        output::note(&format!("{} is written, for which the format has room; --metric names another number", chosen[0].name));
    }
    if chosen.iter().any(evaluated) {
        Notes::of(&processors).tell(&view.file);
    }
    drop(processors);
    let sheet = Sheet { profile: &view.profile, symbols: &view.symbols, tree: &view.tree, metrics: &chosen };
    let progress = Progress::start(format!("writing {}", args.out.display()));
    let hear = |done| progress.reached(done);
    let source = Source::new(sheet, &hear).with_context(|| format!("{} cannot be exported", view.file))?;
    if args.format == Format::Collapsed {
        check_size(collapsed::size(&source, &chosen[0]), output::room(&args.out))?;
    }
    let mut out = Output::create(&args.out)?;
    let written = match (args.format, args.methods) {
        (Format::Pprof, _) => pprof::write(&source, &by_line, &mut out),
        (Format::Collapsed, _) => collapsed::write(&source, &chosen[0], &mut out),
        (Format::Callgrind, _) => callgrind::write(&source, &by_line, &mut out),
        (Format::Speedscope, _) => speedscope::write(&source, &mut out),
        (Format::Chrome, _) => chrome::write(&source, &chosen[0], &mut out),
        (Format::Csv, false) => csv::write_contexts(&source, &mut out),
        (Format::Csv, true) => csv::write_methods(&source, &mut out),
        (Format::Json, false) => json::write_contexts(&source, &mut out),
        (Format::Json, true) => json::write_methods(&source, &mut out),
        (Format::Parquet | Format::Lcov, _) => unreachable!("they are written above"),
    };
    written.with_context(|| output::cannot(&args.out))?;
    out.finish()?;
    Ok(())
}

/// What was executed, which is of no contexts.
fn export_lcov(args: &Export) -> Result<()> {
    let view = View::load(&args.part, None, Shape::Nodes)?;
    view.tell_if_nothing();
    // What was folded ran below a root, or did not.
    output::notes(&if args.part.root.is_some() { cautions_of_contexts(&view) } else { cautions(&view) });
    let files = lcov::files(&view, args)?;
    let mut out = Output::create(&args.out)?;
    cprof_export::lcov::write(&files, &mut out).with_context(|| output::cannot(&args.out))?;
    out.finish()?;
    Ok(())
}

/// Stacks of so many bytes are told before they are written.
const LARGE: u64 = 1 << 30;

/// Refuses stacks that there is no `room` for, and says of large ones what takes less.
fn check_size(bytes: u64, room: Option<u64>) -> Result<()> {
    let size = names::size(bytes);
    let less = "as each has all its callers; --root chooses a part, and cprof flamegraph and the format pprof take less";
    match room {
        Some(room) if room < bytes => bail!("these stacks take {size}, {less}; there is room for {} here", names::size(room)),
        _ if bytes >= LARGE => output::note(&format!("these stacks take {size}, {less}")),
        _ => {}
    }
    Ok(())
}

/// The metrics to write, in their order: the one named; or all, or bytecodes where there is room for one.
fn choose(mut all: Vec<Metric>, args: &Export) -> Result<Vec<Metric>> {
    if args.format == Format::Callgrind {
        // What callgrind_annotate sorts by, and KCachegrind shows, unless told otherwise: the first.
        all.sort_by_key(|metric| metric.name != "bytecodes");
    }
    let one = matches!(args.format, Format::Collapsed | Format::Chrome).then_some("bytecodes");
    let Some(name) = args.metric.as_deref().or(one) else { return Ok(all) };
    let found = find(all.iter(), name, TARGET_ADDS).map_err(|e| anyhow!("{}: {e}", args.part.file.display()));
    Ok(vec![all.swap_remove(found?)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_is_not_filled() {
        let refused = check_size(5 << 30, Some(4 << 30)).unwrap_err().to_string();
        assert!(
            refused.starts_with("these stacks take 5.0 GB, ") && refused.ends_with("; there is room for 4.0 GB here"),
            "{refused}"
        );
        assert!(check_size(5 << 20, Some(5 << 20)).is_ok() && check_size(5 << 20, None).is_ok());
        assert!(check_size(5 << 20, Some(0)).is_err());
    }
}
