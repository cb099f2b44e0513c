//! Own costs of methods by source line.

use cprof_profile::metrics::Metric;
use std::collections::{BTreeMap, HashSet};
use std::rc::Rc;

/// What the source lines of methods cost, or those of single contexts, for formats that have lines: in those metrics that arise on
/// lines, bytecodes and cycles. What costs more than the sum over its lines has that on none.
#[derive(Debug, Default)]
pub struct ByLine {
    /// Names of the metrics.
    metrics: Vec<String>,
    files: HashSet<Rc<str>>,
    /// By symbol (or context), file and line, beside the metrics.
    costs: BTreeMap<(u32, Rc<str>, u16), Vec<u64>>,
}

/// A line of a source file, and its costs beside the metrics of a sheet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    /// The file's path; none: the one that the method is in.
    pub file: Option<Rc<str>>,
    /// Number.
    pub number: u32,
    /// Costs.
    pub costs: Vec<u64>,
}

impl ByLine {
    /// Nothing, in metrics of these names.
    pub fn new(metrics: Vec<String>) -> ByLine {
        ByLine { metrics, ..ByLine::default() }
    }

    /// Adds to the cost of lines of a method, given by its symbol (or of a context), in one of the metrics. `file`: the path of its
    /// source ([`source_path`](crate::source_path)); versions of a method may be from several.
    pub fn add(&mut self, of: u32, file: &str, metric: usize, lines: impl Iterator<Item = (u16, u64)>) {
        let file = self.files.get(file).cloned().unwrap_or_else(|| {
            let file: Rc<str> = file.into();
            self.files.insert(Rc::clone(&file));
            file
        });
        // Line 0 is none.
        for (line, amount) in lines.filter(|&(line, amount)| line > 0 && amount > 0) {
            let costs = self.costs.entry((of, Rc::clone(&file), line)).or_insert_with(|| vec![0; self.metrics.len()]);
            costs[metric] = costs[metric].saturating_add(amount);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.costs.is_empty()
    }

    /// What a method (or context), which costs `own` in the `metrics` of a sheet, costs on its lines, those of its own file first,
    /// which is `place`'s, as is the line where what stands on none is. Where counts contradict each other, lines may cost more than the
    /// method: what is too much is taken off the dearest.
    pub(crate) fn of(&self, what: Option<u32>, place: (&str, u32), metrics: &[Metric], own: &[u64]) -> Vec<Line> {
        let (file, first) = place;
        let mut lines = vec![Line { file: None, number: first, costs: own.to_vec() }];
        let from = |what: u32| (what, Rc::from(""), 0);
        let all = what.into_iter().flat_map(|what| self.costs.range(from(what)..from(what + 1)));
        let is_elsewhere = |of: &Rc<str>| **of != *file;
        let positions: Vec<_> = metrics.iter().map(|metric| self.metrics.iter().position(|name| *name == metric.name)).collect();
        let (elsewhere, here): (Vec<_>, Vec<_>) = all.partition(|((_, of, _), _)| is_elsewhere(of));
        for ((_, of, number), costs) in here.into_iter().chain(elsewhere) {
            let of = Some(of).filter(|of| is_elsewhere(of)).cloned();
            let costs = positions.iter().map(|at| at.map_or(0, |at| costs[at])).collect();
            lines.push(Line { file: of, number: (*number).into(), costs });
        }
        for (metric, &own) in own.iter().enumerate() {
            let sum: u128 = lines[1..].iter().map(|line| u128::from(line.costs[metric])).sum();
            lines[0].costs[metric] = u128::from(own).saturating_sub(sum) as u64;
            take_off(&mut lines[1..], metric, sum.saturating_sub(own.into()));
        }
        // The first line may be one of those.
        if let Some(at) = lines[1..].iter().position(|line| line.file.is_none() && line.number == first) {
            let same = lines.remove(1 + at);
            lines[0].costs.iter_mut().zip(same.costs).for_each(|(sum, cost)| *sum += cost);
        }
        lines
    }
}

/// Takes what is too much of a metric off the dearest lines.
fn take_off(lines: &mut [Line], metric: usize, mut excess: u128) {
    while excess > 0 {
        let Some(dearest) = lines.iter_mut().max_by_key(|line| line.costs[metric]) else { return };
        let off = excess.min(dearest.costs[metric].into());
        dearest.costs[metric] -= off as u64;
        excess -= off;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metric(name: &str) -> Metric {
        Metric { name: name.to_owned(), unit: "".into(), own: Default::default() }
    }

    /// The lines of a method in `A.java`: file, number, calls, cycles, bytecodes.
    fn lines(by_line: &ByLine, symbol: Option<u32>, first: u32, own: [u64; 3]) -> Vec<(String, u32, Vec<u64>)> {
        let lines = by_line.of(symbol, ("A.java", first), &["calls", "cycles", "bytecodes"].map(metric), &own).into_iter();
        lines.map(|line| (line.file.unwrap_or_default().to_string(), line.number, line.costs)).collect()
    }

    fn line(file: &str, number: u32, costs: [u64; 3]) -> (String, u32, Vec<u64>) {
        (file.to_owned(), number, costs.to_vec())
    }

    fn some() -> ByLine {
        let mut by_line = ByLine::new(vec!["bytecodes".to_owned(), "cycles".to_owned()]);
        by_line.add(3, "A.java", 0, [(0, 7), (7, 5), (9, 4)].into_iter());
        by_line.add(3, "A.java", 0, [(7, 1)].into_iter());
        by_line.add(3, "A.java", 1, [(8, 0), (9, 40)].into_iter());
        by_line.add(4, "A.java", 0, [(9, 1000)].into_iter());
        by_line.add(2, "B.java", 0, [(u16::MAX, 9)].into_iter());
        by_line
    }

    #[test]
    fn what_stands_on_no_line_is_on_the_first() {
        let of = |symbol, first, own| lines(&some(), symbol, first, own);
        assert_eq!(of(Some(3), 7, [2, 50, 12]), [line("", 7, [2, 10, 8]), line("", 9, [0, 40, 4])]);
        let with_another_first = [line("", 5, [2, 10, 0]), line("", 7, [0, 0, 6]), line("", 9, [0, 40, 4])];
        assert_eq!(of(Some(3), 5, [2, 50, 10]), with_another_first);
        // Nothing on lines; no method.
        assert_eq!(of(Some(5), 7, [1, 2, 3]), [line("", 7, [1, 2, 3])]);
        assert_eq!(of(None, 0, [1, 2, 3]), [line("", 0, [1, 2, 3])]);
    }

    #[test]
    fn what_is_too_much_is_taken_off_the_dearest() {
        let of = |own| lines(&some(), Some(3), 7, own);
        assert_eq!(of([2, 39, 9]), [line("", 7, [2, 0, 5]), line("", 9, [0, 39, 4])]);
        assert_eq!(of([2, 0, 3]), [line("", 7, [2, 0, 0]), line("", 9, [0, 0, 3])]);
        assert_eq!(of([2, 0, 0]), [line("", 7, [2, 0, 0]), line("", 9, [0, 0, 0])]);
        let mut by_line = some();
        by_line.add(3, "A.java", 0, [(7, u64::MAX), (9, u64::MAX)].into_iter());
        let of = lines(&by_line, Some(3), 8, [0, 40, 7]);
        assert_eq!(of, [line("", 8, [0, 0, 0]), line("", 7, [0, 0, 7]), line("", 9, [0, 40, 0])]);
    }

    #[test]
    fn versions_from_other_files_stand_in_those() {
        let mut by_line = some();
        by_line.add(3, "0.java", 0, [(7, 1), (3, 2)].into_iter());
        let of = lines(&by_line, Some(3), 7, [2, 40, 15]);
        assert_eq!(
            of,
            [line("", 7, [2, 0, 8]), line("", 9, [0, 40, 4]), line("0.java", 3, [0, 0, 2]), line("0.java", 7, [0, 0, 1])]
        );
    }
}
