//! Which of several numbered things of one profile is which of the other's.

use std::collections::BTreeMap;

/// A lambda or class of a family (see [`crate::numbered`]).
#[derive(Debug, Clone)]
pub struct Member<P> {
    /// Its name.
    pub name: String,
    /// A method's descriptor.
    pub descriptor: String,
    /// Its code with what it names.
    pub full: P,
    /// Its opcodes.
    pub shape: P,
}

impl<P> Member<P> {
    fn same_name(&self, other: &Member<P>) -> bool {
        (&self.name, &self.descriptor) == (&other.name, &other.descriptor)
    }
}

/// Why two are taken for the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum By {
    /// They have the same code.
    Code,
    /// They alone have the same opcodes; what these name or load differs.
    Shape,
    /// They have the same name and descriptor, and stand at the same place among those whose code is the same.
    Name,
    /// They stand at the same place; neither name nor code is the same. An assumption, to be said.
    Place,
}

/// Members as positions before and after.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pairs {
    /// Those taken for the same, in order of the first.
    pub same: Vec<(usize, usize, By)>,
    /// Groups in which nothing tells which is which; they are taken for gone and new.
    pub unclear: Vec<(Vec<usize>, Vec<usize>)>,
}

/// Pairs the members of a family, each list in order of number. `complete`: the lists are all there are, as the methods of a
/// class file are; then the place of a member means something. Exchanging the lists exchanges the answer.
pub fn pair<P: Ord>(before: &[Member<P>], after: &[Member<P>], complete: bool) -> Pairs {
    let mut found = Pairs::default();
    let mut free = (vec![true; before.len()], vec![true; after.len()]);
    by_print(before, after, &mut free, &mut found, |m| &m.full, By::Code);
    by_print(before, after, &mut free, &mut found, |m| &m.shape, By::Shape);
    found.same.sort_unstable_by_key(|p| p.0);
    // Pairs that no other crosses divide both lists; what is between two of them stays between them.
    let fixed = uncrossed(&found.same);
    let (mut i, mut j) = (0, 0);
    for (to_i, to_j) in fixed.into_iter().chain([(before.len(), after.len())]) {
        let left: Vec<usize> = (i..to_i).filter(|&i| free.0[i]).collect();
        let right: Vec<usize> = (j..to_j).filter(|&j| free.1[j]).collect();
        gap(before, after, left, right, complete, &mut found);
        (i, j) = (to_i, to_j);
    }
    found.same.sort_unstable_by_key(|p| p.0);
    found
}

/// Pairs members with the same print: as many as there are of it, of a shape only when there is one.
fn by_print<'m, P: Ord>(
    before: &'m [Member<P>],
    after: &'m [Member<P>],
    free: &mut (Vec<bool>, Vec<bool>),
    found: &mut Pairs,
    print: impl Fn(&'m Member<P>) -> &'m P,
    by: By,
) {
    let mut groups: BTreeMap<&P, (Vec<usize>, Vec<usize>)> = BTreeMap::new();
    (0..before.len()).filter(|&i| free.0[i]).for_each(|i| groups.entry(print(&before[i])).or_default().0.push(i));
    (0..after.len()).filter(|&j| free.1[j]).for_each(|j| groups.entry(print(&after[j])).or_default().1.push(j));
    for (mut left, mut right) in groups.into_values() {
        if left.is_empty() || right.is_empty() || (by == By::Shape && (left.len(), right.len()) != (1, 1)) {
            continue;
        }
        let mut take = |i: usize, j: usize| {
            found.same.push((i, j, by));
            (free.0[i], free.1[j]) = (false, false);
        };
        if left.len() == right.len() {
            left.into_iter().zip(right).for_each(|(i, j)| take(i, j));
            continue;
        }
        // Some went or came, and their code does not say which: names decide as far as they do.
        for i in std::mem::take(&mut left) {
            match right.iter().position(|&j| after[j].same_name(&before[i])) {
                Some(at) => take(i, right.remove(at)),
                None => left.push(i),
            }
        }
        left.iter().for_each(|&i| free.0[i] = false);
        right.iter().for_each(|&j| free.1[j] = false);
        found.unclear.push((left, right));
    }
}

/// Of pairs in order of the first, those that all others are on the same side of before and after.
fn uncrossed(same: &[(usize, usize, By)]) -> Vec<(usize, usize)> {
    let mut least_after: Vec<usize> = same.iter().map(|p| p.1).collect();
    for k in (0..least_after.len().saturating_sub(1)).rev() {
        least_after[k] = least_after[k].min(least_after[k + 1]);
    }
    let mut most = None;
    let mut fixed = Vec::new();
    for (k, &(i, j, _)) in same.iter().enumerate() {
        if most.is_none_or(|m| m < j) && least_after.get(k + 1).is_none_or(|&l| j < l) {
            fixed.push((i, j));
        }
        most = most.max(Some(j));
    }
    fixed
}

/// What is left between two fixed pairs.
fn gap<P>(before: &[Member<P>], after: &[Member<P>], left: Vec<usize>, right: Vec<usize>, complete: bool, found: &mut Pairs) {
    if left.is_empty() || right.is_empty() {
        return; // plainly gone, plainly new
    }
    let same_name = |(i, j): (&usize, &usize)| before[*i].same_name(&after[*j]);
    let named = left.len() == right.len() && left.iter().zip(&right).all(same_name);
    if named || (complete && left.len() == right.len()) {
        let how = |pair| if same_name(pair) { By::Name } else { By::Place };
        found.same.extend(left.iter().zip(&right).map(|(i, j)| (*i, *j, how((i, j)))));
    } else {
        found.unclear.push((left, right));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Members with these codes; one with the same letter in the other case has the same shape.
    fn family(codes: &str) -> Vec<Member<char>> {
        let member = |(n, code): (usize, char)| Member {
            name: n.to_string(),
            descriptor: String::new(),
            full: code,
            shape: code.to_ascii_lowercase(),
        };
        codes.chars().enumerate().map(member).collect()
    }

    fn pairs(before: &str, after: &str) -> Vec<(usize, usize, By)> {
        let pairs = pair(&family(before), &family(after), true);
        assert_eq!(pairs.unclear, [], "{before} {after}");
        pairs.same
    }

    #[test]
    fn equal_code_is_the_same_wherever_it_moved() {
        use By::{Code, Name, Place, Shape};
        assert_eq!(pairs("xyz", "wxyz"), [(0, 1, Code), (1, 2, Code), (2, 3, Code)]);
        assert_eq!(pairs("xy", "yx"), [(0, 1, Code), (1, 0, Code)]);
        assert_eq!(pairs("xX", "xX"), [(0, 0, Code), (1, 1, Code)]);
        assert_eq!(pairs("xyz", "xqz"), [(0, 0, Code), (1, 1, Name), (2, 2, Code)]);
        assert_eq!(pairs("xy", "qxr"), [(0, 1, Code), (1, 2, Place)]);
        assert_eq!(pairs("xy", "wxY"), [(0, 1, Code), (1, 2, Shape)], "the opcodes are the same");
        assert_eq!(pairs("xy", "pxyq"), [(0, 1, Code), (1, 2, Code)]);
    }

    #[test]
    fn what_cannot_be_told_is_said() {
        let unclear = |before, after, complete| pair(&family(before), &family(after), complete).unclear;
        assert_eq!(unclear("x", "pq", true), [(vec![0], vec![0, 1])]);
        assert_eq!(
            unclear("xx", "x", true),
            [(vec![1], vec![])],
            "which of two equal ones is gone, the name says; that it does, we say"
        );
        assert_eq!(unclear("ax", "pa", true), [], "x is gone and p is new: a stands between them");
        assert_eq!(unclear("ax", "bay", false), [(vec![1], vec![2])], "a place among some says nothing");
    }

    proptest! {
        #[test]
        fn exchanging_the_lists_exchanges_the_answer(before in "[a-cA-C]{0,7}", after in "[a-cA-C]{0,7}", complete: bool) {
            let (before, after) = (family(&before), family(&after));
            let (there, back) = (pair(&before, &after, complete), pair(&after, &before, complete));
            let mut mirrored: Vec<_> = back.same.iter().map(|&(i, j, by)| (j, i, by)).collect();
            mirrored.sort_by_key(|p| p.0);
            prop_assert_eq!(&there.same, &mirrored);
            let sorted = |mut groups: Vec<(Vec<usize>, Vec<usize>)>| { groups.sort(); groups };
            let turned = back.unclear.into_iter().map(|(a, b)| (b, a)).collect();
            prop_assert_eq!(sorted(there.unclear.clone()), sorted(turned));
            // Nothing is in two pairs.
            let mut seen: Vec<usize> = there.same.iter().map(|p| p.1).collect();
            seen.sort_unstable();
            seen.dedup();
            prop_assert_eq!(seen.len(), there.same.len());
        }

        #[test]
        fn a_family_is_itself(codes in "[a-cA-C]{0,9}") {
            let family = family(&codes);
            let expected: Vec<_> = (0..family.len()).map(|i| (i, i, By::Code)).collect();
            prop_assert_eq!(pair(&family, &family, true), Pairs { same: expected, unclear: vec![] });
        }
    }
}
