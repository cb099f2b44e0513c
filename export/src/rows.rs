//! Contexts and methods as rows, for tables.

use crate::Source;
use cprof_profile::tree::{Active, Visit, What};
use std::io;

/// A context as a row.
pub(crate) struct Row {
    /// In the tree.
    pub context: u32,
    /// Running number, from 1.
    pub index: u32,
    /// The caller's; 0 for a thread's first methods.
    pub parent: u32,
    /// Its thread.
    pub thread: usize,
}

/// Calls `each` with every context, callers before callees.
pub(crate) fn contexts(source: &Source, mut each: impl FnMut(Row) -> io::Result<()>) -> io::Result<()> {
    let mut open: Vec<u32> = Vec::new();
    let (mut next, mut in_thread) = (1, 0);
    source.walk(0, 1, |step| {
        let Visit::Enter { context, .. } = step else {
            open.pop();
            return Ok(());
        };
        if let Some(thread) = source.thread(context) {
            in_thread = thread;
            open.push(0);
            return Ok(());
        }
        let row = Row { context, index: next, parent: open.last().copied().unwrap_or(0), thread: in_thread };
        open.push(next);
        next += 1;
        each(row)
    })
}

/// A method over all its contexts.
pub(crate) struct Method {
    /// Of the sheet's symbols.
    pub symbol: u32,
    /// Beside the sheet's metrics.
    pub own: Vec<u64>,
    /// With what was called; inner calls of a recursive method are in the outer one's already.
    pub total: Vec<u64>,
}

/// The methods of the tree, in order of name.
pub(crate) fn methods(source: &Source) -> io::Result<Vec<Method>> {
    let sheet = &source.sheet;
    let zeros = vec![0u64; sheet.metrics.len()];
    let mut rows: Vec<Option<Method>> = sheet.symbols.list.iter().map(|_| None).collect();
    let mut active = Active::new(rows.len());
    let mut outermost = Running::new(zeros.len());
    source.walk(0, 1, |step| {
        let (context, enter) = match step {
            Visit::Enter { context, .. } => (context, true),
            Visit::Leave { context } => (context, false),
        };
        let What::Method(symbol) = source.context(context).what else {
            if enter {
                outermost.count(sheet.metrics.iter().map(|m| m.own.get(context as usize)));
            }
            return Ok(());
        };
        let row = rows[symbol as usize].get_or_insert_with(|| Method { symbol, own: zeros.clone(), total: zeros.clone() });
        if enter {
            if active.enter(symbol) {
                outermost.open();
            }
            outermost.count(sheet.metrics.iter().map(|m| m.own.get(context as usize)));
            add(&mut row.own, sheet.metrics.iter().map(|m| m.own.get(context as usize)));
        } else if active.leave(symbol) {
            outermost.close(&mut row.total);
        }
        Ok(())
    })?;
    let mut rows: Vec<Method> = rows.into_iter().flatten().collect();
    rows.sort_by(|a, b| sheet.symbols.list[a.symbol as usize].cmp(&sheet.symbols.list[b.symbol as usize]));
    Ok(rows)
}

/// What is counted on a walk, and with it what calls cost with their callees.
pub(crate) struct Running {
    /// Counts end at 64 bits each; together they do not.
    so_far: Vec<u128>,
    /// What it was when each of the open calls began.
    before: Vec<u128>,
}

impl Running {
    /// For that many metrics.
    pub(crate) fn new(width: usize) -> Running {
        Running { so_far: vec![0; width], before: Vec::new() }
    }

    /// A call begins.
    pub(crate) fn open(&mut self) {
        self.before.extend(&self.so_far);
    }

    /// A context was reached that counted this itself.
    pub(crate) fn count(&mut self, own: impl Iterator<Item = u64>) {
        self.so_far.iter_mut().zip(own).for_each(|(sum, own)| *sum += u128::from(own));
    }

    /// The innermost open call ends; `sums` grow by what was counted in it.
    pub(crate) fn close(&mut self, sums: &mut [u64]) {
        let begin = self.before.len() - self.so_far.len();
        let counted = self.so_far.iter().zip(self.before.drain(begin..)).map(|(now, then)| now - then);
        add(sums, counted.map(|counted| u64::try_from(counted).unwrap_or(u64::MAX)));
    }
}

/// Adds numbers to numbers.
pub(crate) fn add(to: &mut [u64], numbers: impl Iterator<Item = u64>) {
    for (sum, number) in to.iter_mut().zip(numbers) {
        *sum = sum.saturating_add(number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_cost_the_same_whatever_was_counted_before() {
        let mut running = Running::new(1);
        let [mut outer, mut inner, mut huge] = [[0]; 3];
        (0..3).for_each(|_| running.count([u64::MAX].into_iter()));
        running.open();
        running.count([5].into_iter());
        running.open();
        running.count([7].into_iter());
        running.close(&mut inner);
        running.close(&mut outer);
        running.open();
        (0..2).for_each(|_| running.count([u64::MAX].into_iter()));
        running.close(&mut huge);
        assert_eq!([outer, inner, huge], [[12], [7], [u64::MAX]]);
    }
}
