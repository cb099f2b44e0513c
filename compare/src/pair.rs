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
/// class file are; then the place of a member means something, also where the code differs. Exchanging the lists exchanges the
/// answer.
pub fn pair<P: Ord>(before: &[Member<P>], after: &[Member<P>], complete: bool) -> Pairs {
    let mut found = Pairs::default();
    let mut free = (vec![true; before.len()], vec![true; after.len()]);
    let whole = [(before.len(), after.len())];
    for (left, right) in in_gaps(before, after, &free, &whole, |m| &m.full) {
        if left.len() == right.len() {
            take(left, right, By::Code, &mut free, &mut found);
        }
    }
    // Of those that some went or came of, their place tells which where there are as many before as after.
    for (left, right) in in_gaps(before, after, &free, &gaps(before, after, &mut found), |m| &m.full) {
        if left.len() == right.len() {
            take(left, right, By::Code, &mut free, &mut found);
        }
    }
    // Names tell as far as they do; the rest is unclear.
    for (left, mut right) in in_gaps(before, after, &free, &whole, |m| &m.full) {
        let (mut unnamed, mut named) = (vec![], (vec![], vec![]));
        for i in left {
            match right.iter().position(|&j| after[j].same_name(&before[i])) {
                Some(at) => {
                    named.0.push(i);
                    named.1.push(right.remove(at));
                }
                None => unnamed.push(i),
            }
        }
        take(named.0, named.1, By::Code, &mut free, &mut found);
        unnamed.iter().for_each(|&i| free.0[i] = false);
        right.iter().for_each(|&j| free.1[j] = false);
        if !(unnamed.is_empty() && right.is_empty()) {
            found.unclear.push((unnamed, right));
        }
    }
    for (left, right) in in_gaps(before, after, &free, &whole, |m| &m.shape) {
        if (left.len(), right.len()) == (1, 1) {
            take(left, right, By::Shape, &mut free, &mut found);
        }
    }
    for (left, right) in in_gaps(before, after, &free, &gaps(before, after, &mut found), |_| ()) {
        gap(before, after, left, right, complete, &mut found);
    }
    found.same.sort_unstable_by_key(|p| p.0);
    found
}

/// The first of one list are the first of the other.
fn take(left: Vec<usize>, right: Vec<usize>, by: By, free: &mut (Vec<bool>, Vec<bool>), found: &mut Pairs) {
    for (i, j) in left.into_iter().zip(right) {
        found.same.push((i, j, by));
        (free.0[i], free.1[j]) = (false, false);
    }
}

/// Where what lies between two pairs that no other crosses ends, before and after: it stays between them.
fn gaps<P>(before: &[Member<P>], after: &[Member<P>], found: &mut Pairs) -> Vec<(usize, usize)> {
    found.same.sort_unstable_by_key(|p| p.0);
    let mut ends = uncrossed(&found.same);
    ends.push((before.len(), after.len()));
    ends
}

/// The free members with the same print, gap by gap, of which there are some before and some after.
fn in_gaps<'m, P, K: Ord>(
    before: &'m [Member<P>],
    after: &'m [Member<P>],
    free: &(Vec<bool>, Vec<bool>),
    gaps: &[(usize, usize)],
    print: impl Fn(&'m Member<P>) -> K,
) -> Vec<(Vec<usize>, Vec<usize>)> {
    let mut groups: BTreeMap<(usize, K), (Vec<usize>, Vec<usize>)> = BTreeMap::new();
    let gap_of = |at: usize, end: fn(&(usize, usize)) -> usize| gaps.partition_point(|gap| end(gap) <= at);
    for i in (0..before.len()).filter(|&i| free.0[i]) {
        groups.entry((gap_of(i, |gap| gap.0), print(&before[i]))).or_default().0.push(i);
    }
    for j in (0..after.len()).filter(|&j| free.1[j]) {
        groups.entry((gap_of(j, |gap| gap.1), print(&after[j]))).or_default().1.push(j);
    }
    groups.into_values().filter(|(left, right)| !left.is_empty() && !right.is_empty()).collect()
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
        assert_eq!(pairs("xwz", "wxwz"), [(0, 1, Code), (1, 2, Code), (2, 3, Code)], "one more with code that was there");
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
