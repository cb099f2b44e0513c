//! `cprof export`: profiles in the formats of other tools.

use crate::args::{Export, ExportFormat as Format};
use crate::metrics::metrics;
use crate::output::{self, Output};
use crate::parquet;
use crate::progress::Progress;
use crate::report::view::View;
use anyhow::{Context, Result, anyhow, bail};
use cprof_compare::metric::find;
use cprof_export::{Source, callgrind, chrome, collapsed, csv, json, pprof, speedscope};
use cprof_profile::metrics::{Metric, Sheet};

/// Writes a profile in another format.
pub fn export(args: &Export) -> Result<()> {
    if args.methods && !matches!(args.format, Format::Csv | Format::Json) {
        bail!("--methods is for the formats csv and json; the others have stacks");
    }
    if args.format == Format::Pprof {
        output::spares_terminal(&args.out, "pprof's format", "app.pb.gz")?;
    }
    if args.metric.is_some() && args.format == Format::Parquet {
        bail!("--metric is for the other formats; in parquet every metric has its column or rows");
    }
    let parquet = args.format == Format::Parquet;
    if !parquet {
        output::spares(&args.out, [&args.part.file])?;
    }
    let view = View::load_by_thread(&args.part)?;
    if parquet {
        return parquet::export(&view, &args.out, &args.on);
    }
    let chosen = choose(metrics(&view, &args.on)?, args)?;
    let sheet = Sheet { profile: &view.profile, symbols: &view.symbols, tree: &view.tree, metrics: &chosen };
    let progress = Progress::start(format!("writing {}", args.out.display()));
    let hear = |done| progress.reached(done);
    let source = Source::new(sheet, &hear).with_context(|| format!("{} cannot be exported", view.file))?;
    let mut out = Output::create(&args.out)?;
    let written = match (args.format, args.methods) {
        (Format::Pprof, _) => pprof::write(&source, &mut out),
        (Format::Collapsed, _) => collapsed::write(&source, &chosen[0], &mut out),
        (Format::Callgrind, _) => callgrind::write(&source, &mut out),
        (Format::Speedscope, _) => speedscope::write(&source, &mut out),
        (Format::Chrome, _) => chrome::write(&source, &chosen[0], &mut out),
        (Format::Csv, false) => csv::write_contexts(&source, &mut out),
        (Format::Csv, true) => csv::write_methods(&source, &mut out),
        (Format::Json, false) => json::write_contexts(&source, &mut out),
        (Format::Json, true) => json::write_methods(&source, &mut out),
        (Format::Parquet, _) => unreachable!("tables are written above"),
    };
    written.with_context(|| format!("{} cannot be written", args.out.display()))?;
    out.finish()?;
    Ok(())
}

/// The metrics to write: the one named; or all, or bytecodes where there is room for one.
fn choose(mut all: Vec<Metric>, args: &Export) -> Result<Vec<Metric>> {
    let one = matches!(args.format, Format::Collapsed | Format::Chrome).then_some("bytecodes");
    let Some(name) = args.metric.as_deref().or(one) else { return Ok(all) };
    let found = find(all.iter(), name).map_err(|e| anyhow!("{}: {e} (--target adds cycles)", args.part.file.display()));
    Ok(vec![all.swap_remove(found?)])
}
