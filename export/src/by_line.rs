//! Own costs of methods by source line.

use cprof_profile::metrics::Metric;
use std::collections::BTreeMap;

/// What the source lines of methods cost, for formats that have lines: in those metrics that arise on lines, bytecodes and cycles.
/// What a method costs beyond the sum over its lines stands on none.
#[derive(Debug, Default)]
pub struct ByLine {
    /// Names of the metrics.
    metrics: Vec<String>,
    /// By symbol and line, beside the metrics.
    costs: BTreeMap<(u32, u16), Vec<u64>>,
}

impl ByLine {
    /// Nothing, in metrics of these names.
    pub fn new(metrics: Vec<String>) -> ByLine {
        ByLine { metrics, costs: BTreeMap::new() }
    }

    /// Adds to the cost of a line of a method, given by its symbol, in one of the metrics.
    pub fn add(&mut self, symbol: u32, line: u16, metric: usize, amount: u64) {
        // Line 0 is none.
        if amount > 0 && line > 0 {
            let costs = self.costs.entry((symbol, line)).or_insert_with(|| vec![0; self.metrics.len()]);
            costs[metric] = costs[metric].saturating_add(amount);
        }
    }

    /// What a method, which costs `own` in the `metrics` of a sheet, costs on its lines. On the `first` of them is what stands on
    /// none; a metric that costs more on the lines than in all, as it may when counts contradict each other, is there whole.
    pub(crate) fn of(&self, symbol: Option<u32>, first: u32, metrics: &[Metric], own: &[u64]) -> BTreeMap<u32, Vec<u64>> {
        let of_symbol = || symbol.into_iter().flat_map(|symbol| self.costs.range((symbol, 0)..=(symbol, u16::MAX)));
        let mut lines = BTreeMap::from([(first, own.to_vec())]);
        for (at, &own) in own.iter().enumerate() {
            let Some(metric) = self.metrics.iter().position(|name| *name == metrics[at].name) else { continue };
            let Some(rest) = of_symbol().try_fold(own, |rest, (_, costs)| rest.checked_sub(costs[metric])) else { continue };
            let mut set = |line: u32, cost: u64| {
                let costs = lines.entry(line).or_insert_with(|| vec![0; metrics.len()]);
                costs[at] = cost;
            };
            set(first, rest);
            for (&(_, line), costs) in of_symbol().filter(|(_, costs)| costs[metric] > 0) {
                let more = if u32::from(line) == first { rest } else { 0 };
                set(line.into(), costs[metric] + more);
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metric(name: &str) -> Metric {
        Metric { name: name.to_owned(), unit: "", own: Default::default() }
    }

    #[test]
    fn what_stands_on_no_line_is_on_the_first() {
        let mut by_line = ByLine::new(vec!["bytecodes".to_owned(), "cycles".to_owned()]);
        for (symbol, line, metric, amount) in [
            (3, 7, 0, 5),
            (3, 7, 0, 1),
            (3, 9, 0, 4),
            (3, 9, 1, 40),
            (4, 9, 0, 1000),
            (2, u16::MAX, 0, 9),
            (3, 0, 0, 7),
            (3, 8, 1, 0),
        ] {
            by_line.add(symbol, line, metric, amount);
        }
        let of = |symbol, first, own: [u64; 3]| {
            let metrics = ["calls", "cycles", "bytecodes"].map(metric);
            by_line.of(symbol, first, &metrics, &own).into_iter().collect::<Vec<_>>()
        };
        assert_eq!(of(Some(3), 7, [2, 50, 12]), [(7, vec![2, 10, 8]), (9, vec![0, 40, 4])]);
        assert_eq!(of(Some(3), 5, [2, 50, 10]), [(5, vec![2, 10, 0]), (7, vec![0, 0, 6]), (9, vec![0, 40, 4])]);
        // More on the lines than in all.
        assert_eq!(of(Some(3), 7, [2, 39, 10]), [(7, vec![2, 39, 6]), (9, vec![0, 0, 4])]);
        // Nothing on lines; no method.
        assert_eq!(of(Some(5), 7, [1, 2, 3]), [(7, vec![1, 2, 3])]);
        assert_eq!(of(None, 0, [1, 2, 3]), [(0, vec![1, 2, 3])]);
    }
}
