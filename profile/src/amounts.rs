//! Columns of numbers that are mostly small.
//!
//! Most contexts of a large tree cost little: of 47 million in a compiler's run, one in 200 executed more than 65,000 bytecodes. Two
//! bytes hold such a number; the others are looked up beside them.

use rustc_hash::FxHashMap;

/// A column of numbers.
#[derive(Debug, Clone)]
pub struct Amounts {
    form: Form,
}

#[derive(Debug, Clone)]
enum Form {
    /// Numbers below [`LARGE`], and by position those that are not.
    Short { numbers: Vec<u16>, large: FxHashMap<usize, u64> },
    /// Where too many are large: all as they are.
    Long(Vec<u64>),
}

/// Stands for a number that is in the map.
const LARGE: u16 = u16::MAX;

/// So many large numbers are no sign of a column of large numbers.
const FEW: usize = 1 << 14;

impl Default for Amounts {
    fn default() -> Amounts {
        Amounts { form: Form::Short { numbers: Vec::new(), large: FxHashMap::default() } }
    }
}

impl Amounts {
    /// As many zeros.
    pub fn zeros(len: usize) -> Amounts {
        Amounts { form: Form::Short { numbers: vec![0; len], large: FxHashMap::default() } }
    }

    /// How many.
    pub fn len(&self) -> usize {
        match &self.form {
            Form::Short { numbers, .. } => numbers.len(),
            Form::Long(numbers) => numbers.len(),
        }
    }

    /// None at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number at a position.
    pub fn get(&self, at: usize) -> u64 {
        match &self.form {
            Form::Short { numbers, large } => match numbers[at] {
                LARGE => large[&at],
                number => number.into(),
            },
            Form::Long(numbers) => numbers[at],
        }
    }

    /// Replaces the number at a position.
    pub fn set(&mut self, at: usize, number: u64) {
        match &mut self.form {
            Form::Short { numbers, large } => {
                if number < LARGE.into() {
                    if numbers[at] == LARGE {
                        large.remove(&at);
                    }
                    numbers[at] = number as u16;
                } else {
                    numbers[at] = LARGE;
                    large.insert(at, number);
                    if large.len() > FEW.max(numbers.len() / 8) {
                        self.form = Form::Long(self.iter().collect());
                    }
                }
            }
            Form::Long(numbers) => numbers[at] = number,
        }
    }

    /// Adds to the number at a position, up to 2⁶⁴ - 1.
    pub fn add(&mut self, at: usize, more: u64) {
        match &mut self.form {
            // As most are.
            Form::Short { numbers, .. } if more < u64::from(LARGE) - u64::from(numbers[at]) => numbers[at] += more as u16,
            _ => self.set(at, self.get(at).saturating_add(more)),
        }
    }

    /// Appends a number.
    pub fn push(&mut self, number: u64) {
        match &mut self.form {
            Form::Short { numbers, .. } if number < LARGE.into() => numbers.push(number as u16),
            Form::Short { numbers, .. } => {
                numbers.push(0);
                self.set(self.len() - 1, number);
            }
            Form::Long(numbers) => numbers.push(number),
        }
    }

    /// Keeps the first ones.
    pub fn truncate(&mut self, len: usize) {
        match &mut self.form {
            Form::Short { numbers, large } => {
                numbers.truncate(len);
                large.retain(|&at, _| at < len);
            }
            Form::Long(numbers) => numbers.truncate(len),
        }
    }

    /// All, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = u64> + '_ {
        (0..self.len()).map(|at| self.get(at))
    }

    /// The sum, up to 2⁶⁴ - 1.
    pub fn sum(&self) -> u64 {
        self.iter().fold(0, u64::saturating_add)
    }
}

impl PartialEq for Amounts {
    fn eq(&self, other: &Amounts) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Amounts {}

impl PartialEq<Vec<u64>> for Amounts {
    fn eq(&self, other: &Vec<u64>) -> bool {
        self.iter().eq(other.iter().copied())
    }
}

impl<const N: usize> PartialEq<[u64; N]> for Amounts {
    fn eq(&self, other: &[u64; N]) -> bool {
        self.iter().eq(other.iter().copied())
    }
}

impl From<Vec<u64>> for Amounts {
    fn from(numbers: Vec<u64>) -> Amounts {
        numbers.into_iter().collect()
    }
}

impl Extend<u64> for Amounts {
    fn extend<I: IntoIterator<Item = u64>>(&mut self, numbers: I) {
        numbers.into_iter().for_each(|number| self.push(number));
    }
}

impl FromIterator<u64> for Amounts {
    fn from_iter<I: IntoIterator<Item = u64>>(numbers: I) -> Amounts {
        let mut all = Amounts::default();
        all.extend(numbers);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_what_was_put_there() {
        // Few large ones, then so many that the column changes its form, then fewer again.
        let mut amounts = Amounts::zeros(20_000);
        let mut expected = vec![0u64; 20_000];
        let mut state = 1u64;
        let mut forms = [0, 0];
        for round in 0..120_000u64 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let at = (state >> 33) as usize % expected.len();
            let number = match round {
                ..30_000 => state >> 60,
                30_000..60_000 => [65_534, 65_535, 65_536, u64::MAX][round as usize % 4],
                _ => state,
            };
            if round % 3 == 0 {
                amounts.add(at, number);
                expected[at] = expected[at].saturating_add(number);
            } else {
                amounts.set(at, number);
                expected[at] = number;
            }
            assert_eq!(amounts.get(at), expected[at]);
            if round % 2000 == 0 {
                amounts.push(number);
                expected.push(number);
                forms[usize::from(matches!(amounts.form, Form::Long(_)))] += 1;
                assert!(amounts.iter().eq(expected.iter().copied()), "{round}");
            }
        }
        assert!(forms[0] > 20 && forms[1] > 20, "{forms:?}");
    }

    #[test]
    fn columns_of_another_form_are_equal() {
        let mut amounts = Amounts::zeros(2);
        let mut long: Amounts = (0..40_000).map(|_| u64::MAX).collect();
        assert!(matches!(long.form, Form::Long(_)));
        long.truncate(2);
        assert_ne!(amounts, long);
        (0..2).for_each(|at| amounts.set(at, u64::MAX));
        assert_eq!(amounts, long);
        assert_eq!(amounts.sum(), u64::MAX);
        amounts.truncate(1);
        assert_eq!(amounts, [u64::MAX]);
        amounts.set(0, 3);
        assert_eq!((amounts.get(0), amounts.is_empty()), (3, false));
    }
}
