//! Descriptors (JVMS §4.3).

/// The parameter types of a method descriptor; a `None` item, then no more, where it is malformed.
pub fn parameters(descriptor: &[u8]) -> impl Iterator<Item = Option<&[u8]>> {
    let mut rest = descriptor.strip_prefix(b"(").unwrap_or(b"?");
    std::iter::from_fn(move || {
        if rest.first() == Some(&b')') || rest.is_empty() {
            return None;
        }
        let Some(length) = type_length(rest) else {
            rest = b"";
            return Some(None);
        };
        let (parameter, tail) = rest.split_at(length);
        rest = tail;
        Some(Some(parameter))
    })
}

/// Length of the type at the start of `text`.
fn type_length(text: &[u8]) -> Option<usize> {
    let dimensions = text.iter().take_while(|&&b| b == b'[').count();
    match text.get(dimensions) {
        Some(b'B' | b'C' | b'D' | b'F' | b'I' | b'J' | b'S' | b'Z') => Some(dimensions + 1),
        Some(b'L') => text.iter().position(|&b| b == b';').map(|end| end + 1),
        _ => None,
    }
}

/// Stack slots of a method's arguments (without the receiver) and of its result; of a field, 0 and its own. `None`
/// where the descriptor is malformed.
pub fn slots(descriptor: &[u8]) -> Option<(usize, usize)> {
    let of = |text: &[u8]| if matches!(text, b"J" | b"D") { 2 } else { 1 };
    if descriptor.first() != Some(&b'(') {
        return Some((0, of(descriptor)));
    }
    let mut arguments = 0;
    for parameter in parameters(descriptor) {
        arguments += of(parameter?);
    }
    let end = descriptor.iter().rposition(|&b| b == b')')?;
    let result = &descriptor[end + 1..];
    Some((arguments, if result == b"V" { 0 } else { of(result) }))
}

#[cfg(test)]
mod tests {
    use super::slots;

    #[test]
    fn counts_slots() {
        assert_eq!(slots(b"I"), Some((0, 1)));
        assert_eq!(slots(b"D"), Some((0, 2)));
        assert_eq!(slots(b"(IJ[[DLjava/lang/Object;[I)V"), Some((6, 0)));
        assert_eq!(slots(b"()J"), Some((0, 2)));
        assert_eq!(slots(b"(Ljava)V"), None);
    }
}
