//! Columns of numbers that are mostly small.
//!
//! Most contexts of a large tree cost little: of 2.2 million in a compiler's run, 616 executed more than 65,534 bytecodes of
//! their own, and 568 were ever left by an exception. Two bytes hold such a number, or none; the others are looked up beside
//! them.

use rustc_hash::FxHashMap;

/// A column of numbers.
#[derive(Debug, Clone)]
pub struct Amounts {
    form: Form,
}

/// A column goes from form to form as its numbers come, and never back.
#[derive(Debug, Clone)]
enum Form {
    /// Those that are not 0, by position, and a bit for each position up to the last of them: looking into the map for zeros
    /// would take a miss of the processor's cache each.
    Sparse { len: usize, some: Vec<u64>, numbers: FxHashMap<usize, u64> },
    /// Numbers below [`LARGE`], and by position those that are not.
    Short { numbers: Vec<u16>, large: FxHashMap<usize, u64> },
    /// Where too many are large: all as they are.
    Long(Vec<u64>),
}

/// Stands for a number that is in the map.
const LARGE: u16 = u16::MAX;

/// So many numbers in a map are no sign of a column that is full of such.
const FEW: usize = 1 << 14;

impl Default for Amounts {
    fn default() -> Amounts {
        Amounts::zeros(0)
    }
}

impl Amounts {
    /// As many zeros.
    pub fn zeros(len: usize) -> Amounts {
        Amounts { form: Form::Sparse { len, some: Vec::new(), numbers: FxHashMap::default() } }
    }

    /// How many.
    pub fn len(&self) -> usize {
        match &self.form {
            Form::Sparse { len, .. } => *len,
            Form::Short { numbers, .. } => numbers.len(),
            Form::Long(numbers) => numbers.len(),
        }
    }

    /// None at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number at a position.
    #[inline]
    pub fn get(&self, at: usize) -> u64 {
        match &self.form {
            // As most are.
            Form::Short { numbers, .. } if numbers[at] != LARGE => numbers[at].into(),
            _ => self.look_up(at),
        }
    }

    fn look_up(&self, at: usize) -> u64 {
        match &self.form {
            Form::Sparse { len, some, numbers } => {
                assert!(at < *len, "position {at} of {len}");
                match some.get(at / 64).map_or(0, |bits| bits >> (at % 64) & 1) {
                    0 => 0,
                    _ => numbers[&at],
                }
            }
            Form::Short { numbers, large } => large.get(&at).copied().unwrap_or(numbers[at].into()),
            Form::Long(numbers) => numbers[at],
        }
    }

    /// Replaces the number at a position.
    pub fn set(&mut self, at: usize, number: u64) {
        match &mut self.form {
            Form::Sparse { len, some, numbers } => {
                assert!(at < *len, "position {at} of {len}");
                let (word, bit) = (at / 64, 1 << (at % 64));
                if number == 0 {
                    if let Some(bits) = some.get_mut(word).filter(|bits| **bits & bit != 0) {
                        *bits &= !bit;
                        numbers.remove(&at);
                    }
                    return;
                }
                if some.len() <= word {
                    some.resize(word + 1, 0);
                }
                some[word] |= bit;
                numbers.insert(at, number);
                // They mostly come in order: so many among the first will be as many among all.
                if numbers.len() > FEW.max(at / 16) {
                    let mut short = Amounts { form: Form::Short { numbers: vec![0; *len], large: FxHashMap::default() } };
                    numbers.iter().for_each(|(&at, &number)| short.set(at, number));
                    *self = short;
                }
            }
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
    #[inline]
    pub fn add(&mut self, at: usize, more: u64) {
        match &mut self.form {
            // Before anything is looked up: it may be far from what was used last.
            _ if more == 0 => {}
            // As most are.
            Form::Short { numbers, .. } if more < u64::from(LARGE) - u64::from(numbers[at]) => numbers[at] += more as u16,
            Form::Short { numbers, large } if numbers[at] == LARGE => {
                let number = large.entry(at).or_default();
                *number = number.saturating_add(more);
            }
            _ => self.set(at, self.get(at).saturating_add(more)),
        }
    }

    /// Appends a number.
    pub fn push(&mut self, number: u64) {
        match &mut self.form {
            Form::Sparse { len, .. } => *len += 1,
            Form::Short { numbers, .. } => numbers.push(0),
            Form::Long(numbers) => numbers.push(0),
        }
        if number > 0 {
            self.set(self.len() - 1, number);
        }
    }

    /// Keeps the first ones.
    pub fn truncate(&mut self, len: usize) {
        match &mut self.form {
            Form::Sparse { len: old, some, numbers } => {
                *old = len.min(*old);
                numbers.retain(|&at, _| at < len);
                some.truncate(len.div_ceil(64));
                if let Some(last) = some.get_mut(len / 64) {
                    *last &= (1 << (len % 64)) - 1;
                }
            }
            Form::Short { numbers, large } => {
                numbers.truncate(len);
                numbers.shrink_to_fit();
                large.retain(|&at, _| at < len);
            }
            Form::Long(numbers) => {
                numbers.truncate(len);
                numbers.shrink_to_fit();
            }
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
        // Few that are not 0, then many, then many large ones, then anything.
        let mut amounts = Amounts::zeros(20_000);
        let mut expected = vec![0u64; 20_000];
        let mut state = 1u64;
        let mut forms = [0; 3];
        for round in 0..190_000u64 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let at = (state >> 33) as usize % expected.len();
            let number = match round {
                ..30_000 => state >> 60 & u64::from(round % 8 == 0),
                30_000..70_000 => state >> 60,
                70_000..150_000 => [65_535, 65_536, 1 << 40, u64::MAX][round as usize % 4],
                _ => state >> (round % 64),
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
                let form = match amounts.form {
                    Form::Sparse { .. } => 0,
                    Form::Short { .. } => 1,
                    Form::Long(_) => 2,
                };
                forms[form] += 1;
                assert!(amounts.iter().eq(expected.iter().copied()), "{round}");
            }
        }
        assert!(forms.iter().all(|&times| times > 10), "{forms:?}");
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
        let mut sparse = Amounts::zeros(3);
        sparse.set(2, 9);
        sparse.truncate(2);
        assert_eq!(sparse, [0, 0]);
        sparse.push(0);
        assert_eq!(sparse, vec![0, 0, 0]);
        sparse.set(1, 7);
        sparse.truncate(2);
        assert_eq!(sparse, [0, 7]);
    }
}
