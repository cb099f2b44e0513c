//! The arithmetic of captures: what was counted in a stretch.

use super::capture::Capture;
use super::rows::{Reading, Unpacked};

impl Capture {
    /// Adds what earlier captures of the same arena have counted, or takes it away (false). What was counted while counting was
    /// paused is the capture at the end of the pause less the one at its beginning. Frames that were active then leave departures
    /// at the pause, and negative ones where they went on. What was wrong with one of them is wrong with the result.
    pub fn combine(&mut self, others: &[(&Capture, bool)]) {
        if others.is_empty() {
            return;
        }
        let mut counters = Unpacked::new(self);
        for &(other, plus) in others {
            self.add(&mut counters, other, if plus { 1 } else { -1 });
            let more = other.warnings.iter().filter(|warning| !self.warnings.contains(warning));
            let more: Vec<String> = more.cloned().collect();
            self.warnings.extend(more);
        }
        self.rows.bytes = counters.bytes();
        self.settle();
        self.less_pauses = true;
    }

    /// Which nodes have counted anything, they or what they called.
    pub(super) fn used(&self) -> Vec<bool> {
        let mut rows = Reading::new(self);
        let missed = |node: usize| self.misses.iter().any(|m| m.entry.get(node) != 0 || m.returns.get(node) != 0);
        let mut used: Vec<bool> = (0..self.nodes()).map(|node| rows.next().iter().any(|&n| n != 0) || missed(node)).collect();
        for (node, ..) in &self.departures {
            used[*node as usize] = true;
        }
        for node in (0..used.len()).rev() {
            used[self.parent[node] as usize] |= used[node];
        }
        used
    }

    fn add(&mut self, counters: &mut Unpacked, other: &Capture, sign: i64) {
        self.lost_calls = self.lost_calls.wrapping_add_signed(sign * other.lost_calls as i64);
        let mut rows = Reading::new(other);
        let references = other.references();
        for (i, reference) in references.iter().enumerate() {
            let theirs = rows.next();
            let Some(mine) = self.node_at(*reference) else { continue };
            let node = mine as usize;
            for (a, &b) in counters.of(node).iter_mut().zip(theirs) {
                *a = if sign < 0 { a.wrapping_sub(b) } else { a.wrapping_add(b) };
            }
            for (ours, theirs) in self.misses.iter_mut().zip(&other.misses) {
                for (a, b) in [(&mut ours.entry, &theirs.entry), (&mut ours.returns, &theirs.returns)] {
                    let (sum, more) = (a.get(node), b.get(i));
                    a.set(node, if sign < 0 { sum.wrapping_sub(more) } else { sum.wrapping_add(more) });
                }
            }
        }
        for &(node, place, count) in &other.departures {
            if let Some(mine) = self.node_at(references[node as usize]) {
                self.departures.push((mine, place, sign * count));
            }
        }
    }
}
