//! The overlap of two profiles: how far they spread a metric over the same contexts or methods.
//!
//! M. Arnold and B. G. Ryder (A Framework for Reducing the Cost of Instrumented Code, PLDI 2001) define it for edges and fields,
//! M. Arnold and D. Grove (CGO 2005) for call graphs; the articles about JP, by W. Binder, P. Moret and others, compare calling
//! context trees by it. It is the sum, over everything that both profiles have, of the smaller of its two shares.

use cprof_profile::amounts::Amounts;

/// The share that two distributions have in common, an exact fraction between 0 and 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overlap {
    common: u128,
    whole: u128,
}

impl Overlap {
    /// In percent, rounded; only equal distributions are 100.
    pub fn percent(self) -> f64 {
        match self.common == self.whole {
            true => 100.0,
            false => (self.common as f64 / self.whole as f64 * 100.0).min(100f64.next_down()),
        }
    }

    /// In percent with so many digits after the point, at most 6, rounded down: only equal distributions are `100.00`.
    pub fn to_text(self, digits: u32) -> String {
        let unit = 10u128.pow(digits);
        let most = 100 * unit;
        // That times 2^128 does not fit; below, dividing both by the same keeps the leading 100 bits.
        let shift = 128u32.saturating_sub(self.whole.leading_zeros()).saturating_sub(100);
        let (common, whole) = (self.common >> shift, self.whole >> shift);
        let units = if self.common == self.whole { most } else { (common * most / whole).min(most - 1) };
        format!("{}.{:0width$}", units / unit, units % unit, width = digits as usize)
    }
}

/// The overlap of two columns, row by row; none when one of them is all zeros: it has no shares.
pub fn overlap(before: &Amounts, after: &Amounts) -> Option<Overlap> {
    let (a, b) = (u128::from(before.sum()), u128::from(after.sum()));
    let both = before.iter().zip(after.iter());
    // min(x / a, y / b) = min(x · b, y · a) / (a · b), without rounding.
    let common = both.fold(0u128, |sum, (x, y)| sum.saturating_add((u128::from(x) * b).min(u128::from(y) * a)));
    (a > 0 && b > 0).then(|| Overlap { common: common.min(a * b), whole: a * b })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of<const N: usize>(before: [u64; N], after: [u64; N]) -> Option<Overlap> {
        overlap(&before.into_iter().collect(), &after.into_iter().collect())
    }

    #[test]
    fn by_hand() {
        // Shares 1/4, 3/4 and 1/2, 1/2: 1/4 + 1/2.
        assert_eq!(of([1, 3], [2, 2]).unwrap().to_text(2), "75.00");
        assert_eq!(of([1, 0], [0, 9]).unwrap().to_text(2), "0.00");
        assert_eq!(of([1, 0], [0, 0]), None);
        assert_eq!(of([], []), None);
        assert_eq!(of([1, 2], [2, 1]).unwrap().to_text(6), "66.666666");
        let nearly = of([1 << 62, 1], [1 << 62, 2]).unwrap();
        assert_eq!((nearly.to_text(2), nearly.to_text(6)), ("99.99".to_owned(), "99.999999".to_owned()));
        assert!(nearly.percent() < 100.0);
        assert_eq!(of([1_000_000, 1], [1_000_000, 2]).unwrap().to_text(2), "99.99", "not 100: they are not equal");
        assert_eq!(of([u64::MAX, u64::MAX], [u64::MAX, u64::MAX]).unwrap().to_text(2), "100.00");
        assert_eq!(of([u64::MAX - 5, 5], [u64::MAX - 5, 5]).unwrap().to_text(2), "100.00");
    }

    proptest! {
        #[test]
        fn laws(rows in proptest::collection::vec((0u64..1 << 40, 0u64..1 << 40), 1..20), times in 1u64..1000) {
            let (a, b): (Amounts, Amounts) = rows.into_iter().unzip();
            prop_assert_eq!(overlap(&a, &b), overlap(&b, &a));
            if let Some(overlap) = overlap(&a, &b) {
                prop_assert!((0.0..=100.0).contains(&overlap.percent()));
            }
            if a.iter().any(|x| x > 0) {
                let scaled: Amounts = a.iter().map(|x| x * times).collect();
                prop_assert_eq!(overlap(&a, &scaled).unwrap().to_text(2), "100.00");
                prop_assert_eq!(overlap(&a, &a).unwrap().percent(), 100.0);
            }
        }
    }
}
