//! `cprof export --format parquet`: a directory per table, in it a file per run.

use crate::args::Processors;
use crate::loaded::view::View;
use crate::metrics::{Notes, processors};
use crate::output::{self, Output};
use crate::progress::Progress;
use anyhow::{Context, Result, bail};
use cprof_fleet::{Column, Export, blocks, methods, nodes, part_in, run_id, runs};
use cprof_profile::projections::by_method;
use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::Path;

/// Refuses to replace another part of the run than this: questions to the directory would have other answers, and nobody knew why.
fn refuse_other_part(runs: &Path, part: Option<&str>, directory: &Path) -> Result<()> {
    let file = match File::open(runs) {
        Ok(file) => file,
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(()),
        Err(e) => return Err(e).with_context(|| format!("cannot read the table {}, which would be replaced", runs.display())),
    };
    // What is no table of a run is in nobody's way.
    let Ok(there) = part_in(file) else { return Ok(()) };
    let named = |part: Option<&str>| part.map_or("all of it".to_owned(), |part| format!("its part {part}"));
    if there.as_deref() != part {
        bail!(
            "{} has tables of this run already, of {}, which those of {} would replace; export them to a directory of their own",
            directory.display(),
            named(there.as_deref()),
            named(part)
        );
    }
    Ok(())
}

/// Adds a profile's tables to those in a directory; those of the same run are replaced.
pub fn export(mut view: View, part: Option<&str>, directory: &Path, on: &Processors) -> Result<()> {
    let run_id = run_id(&view.profile);
    let path = |table: &str| directory.join(table).join(format!("{run_id}.parquet"));
    refuse_other_part(&path("runs"), part, directory)?;
    // The other tables are made of trees of their own, one for each label of threads.
    let rows = by_method(&view.tree, &view.symbols);
    view.forget_tree();
    let profile = &view.profile;
    let mut columns = Vec::new();
    for (cache, misses) in profile.caches.iter().zip(&profile.misses) {
        for (metric, nodes) in [("entry_misses", &misses.entry), ("return_misses", &misses.returns)] {
            columns.push(Column { metric: metric.into(), target: None, cache: cache.to_string(), nodes: Cow::Borrowed(nodes) });
        }
    }
    let processors = processors(view.counted(), on, directory)?;
    Notes::of(&processors).tell(&view.file);
    for p in processors {
        let nodes = Cow::Owned(p.nodes.cycles);
        columns.push(Column { metric: p.model.unit.into(), target: Some(p.name), cache: p.cache.to_string(), nodes });
    }
    let chosen = view.chosen_nodes();
    let export = Export {
        run_id: &run_id,
        file: &view.file,
        part,
        profile,
        symbols: &view.symbols,
        measures: &view.measures,
        natives: &view.natives,
        threads: &view.threads,
        roots: view.roots.as_deref(),
        nodes: &chosen,
        columns: &columns,
    };
    let open = |table: &str| -> Result<Output> {
        let folder = directory.join(table);
        fs::create_dir_all(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
        Output::create(&path(table))
    };
    let _progress = Progress::start(format!("writing {}", directory.display()));
    let failed = |table: &str| format!("{} cannot be exported to {}", view.file, path(table).display());
    // Nothing is put in its place before all is written: until then, what an earlier export wrote stands.
    let whole = |table: &str, mut out: Output| -> Result<Output> {
        out.flush().with_context(|| failed(table))?;
        Ok(out)
    };
    let of_methods = whole("methods", methods(&export, &rows, open("methods")?).with_context(|| failed("methods"))?)?;
    let of_blocks = whole("blocks", blocks(&export, open("blocks")?).with_context(|| failed("blocks"))?)?;
    let both = || format!("{} and {}", failed("nodes"), path("metrics").display());
    let (contexts, metrics) = nodes(&export, open("nodes")?, open("metrics")?).with_context(both)?;
    let (contexts, metrics) = (whole("nodes", contexts)?, whole("metrics", metrics)?);
    let of_runs = whole("runs", runs(&export, open("runs")?).with_context(|| failed("runs"))?)?;
    // A run that is in this table is whole in the others: it leaves first, and comes last.
    if let Some(old) = path("runs").canonicalize().ok().filter(|old| old.is_file()) {
        fs::remove_file(&old).with_context(|| output::cannot(&old))?;
    }
    for table in [of_methods, of_blocks, contexts, metrics, of_runs] {
        table.finish()?;
    }
    Ok(())
}
