//! Walking the contexts of a source.

use crate::Source;
use cprof_profile::tree::Visit;
use std::io;

/// How many contexts are walked between two words of progress.
const STEP: u64 = 1 << 14;

impl Source<'_> {
    /// Walks threads and contexts depth first, callees in order of name. It is walk number `pass` of `passes` that a format
    /// needs.
    pub(crate) fn walk(&self, pass: usize, passes: usize, mut visit: impl FnMut(Visit) -> io::Result<()>) -> io::Result<()> {
        let tree = self.sheet.tree;
        let (mut done, all) = (0, tree.len() as f64);
        let mut result = Ok(());
        tree.walk(
            |children| children.sort_unstable_by_key(|&c| self.key(c)),
            |step| {
                if result.is_ok() {
                    result = visit(step);
                    if matches!(step, Visit::Enter { .. }) {
                        done += 1;
                        if done % STEP == 0 {
                            (self.progress)((pass as f64 + done as f64 / all) / passes as f64);
                        }
                    }
                }
                result.is_ok()
            },
        );
        result
    }
}
