//! The tables of contexts and of what else is known of them.

use crate::identity::{self, fnv};
use crate::table::{Cell, Table};
use crate::{Export, ExportError};
use cprof_profile::amounts::Amounts;
use cprof_profile::call_lines::CallLines;
use cprof_profile::projections::labels;
use cprof_profile::tree::{Tree, What};
use parquet::data_type::ByteArray;
use std::io::Write;

/// Writes the tables `nodes` and `metrics`: the contexts of each label of threads in a tree of their own.
pub fn nodes<W: Write + Send>(export: &Export<'_>, nodes: W, metrics: W) -> Result<(W, W), ExportError> {
    let profile = export.profile;
    let mut writer = Writer {
        export,
        lines: CallLines::read(profile, export.symbols)?,
        run_id: export.run_id.into(),
        symbols: export.symbols.list.iter().map(identity::of_symbol).collect(),
        nodes: Table::new("nodes", nodes)?,
        metrics: Table::new("metrics", metrics)?,
        next: 0,
    };
    for (label, threads) in labels(profile, |t| export.threads[t]) {
        let tree = Tree::new(profile, export.symbols, export.measures, export.natives, |t| threads.binary_search(&t).is_ok());
        let tree = match export.roots {
            Some(roots) => tree.at_and_below(|symbol| roots[symbol as usize]),
            None => tree,
        };
        writer.tree(&label, &tree, &threads)?;
    }
    Ok((writer.nodes.finish()?, writer.metrics.finish()?))
}

struct Writer<'a, W: Write + Send> {
    export: &'a Export<'a>,
    lines: CallLines,
    run_id: ByteArray,
    /// Hashes of the methods' names.
    symbols: Vec<u64>,
    nodes: Table<W>,
    metrics: Table<W>,
    /// The next row's number.
    next: u64,
}

impl<W: Write + Send> Writer<'_, W> {
    /// The contexts of the threads of a label; the root is none.
    fn tree(&mut self, label: &str, tree: &Tree, threads: &[usize]) -> Result<(), ExportError> {
        let first = self.next;
        // Of each context so far, callers before callees: the hash of its path, and how many calls it is deep.
        let mut paths: Vec<(u64, i32)> = Vec::with_capacity(tree.len());
        paths.push((identity::START, 0));
        let label: ByteArray = label.into();
        for (i, c) in tree.contexts().enumerate().skip(1) {
            let (above, depth) = paths[c.parent as usize];
            let (hash, method) = match c.what {
                What::Method(symbol) => (self.symbols[symbol as usize], Cell::Signed(symbol.into())),
                What::Root | What::Folded => (0, Cell::Null),
            };
            let path = fnv(fnv(above, &hash.to_le_bytes()), &c.site.to_le_bytes());
            paths.push((path, depth + 1));
            let site = c.site.checked_sub(1);
            let line = self.lines.line(tree, &c);
            let id = |context: u32| first + u64::from(context) - 1;
            self.nodes.row([
                Cell::Text(self.run_id.clone()),
                Cell::Count(id(i as u32)),
                if c.parent == 0 { Cell::Null } else { Cell::Count(id(c.parent)) },
                Cell::Signed(path as i64),
                Cell::Small(depth + 1),
                Cell::Text(label.clone()),
                method,
                Cell::or_null(site, |bci| Cell::Small(bci as i32)),
                Cell::or_null(line, |line| Cell::Small(line.into())),
                Cell::Count(c.calls),
                Cell::Count(c.exceptional_exits),
                Cell::Count(c.own),
                Cell::Count(c.total),
            ])?;
        }
        self.metrics(tree, threads)?;
        self.next += tree.len() as u64 - 1;
        Ok(())
    }

    /// The further numbers of these contexts that are not 0.
    fn metrics(&mut self, tree: &Tree, threads: &[usize]) -> Result<(), ExportError> {
        let profile = self.export.profile;
        for column in self.export.columns {
            let mut sums = Amounts::zeros(tree.len());
            for &t in threads {
                for node in profile.nodes_of_thread(t) {
                    sums.add(tree.of_node[node] as usize, column.nodes.get(node));
                }
            }
            let (metric, cache) = (ByteArray::from(&*column.metric), ByteArray::from(column.cache.as_str()));
            let target = column.target.as_deref().map(ByteArray::from);
            for (i, value) in sums.iter().enumerate().skip(1).filter(|(_, value)| *value > 0) {
                self.metrics.row([
                    Cell::Text(self.run_id.clone()),
                    Cell::Count(self.next + i as u64 - 1),
                    Cell::Text(metric.clone()),
                    Cell::or_null(target.clone(), Cell::Text),
                    Cell::Text(cache.clone()),
                    Cell::Count(value),
                ])?;
            }
        }
        Ok(())
    }
}
