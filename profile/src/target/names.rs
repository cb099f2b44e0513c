//! The names that models give costs to, alone, as ranges and as lists: `nop`, `iload_0..iload_3`, `ifnull, ifnonnull`.

use cprof_instrument::classfile::opcode::{MNEMONIC, op};

/// Names of the kinds of calls, in the order of [`InvokeKind::ALL`](super::InvokeKind::ALL).
pub const INVOKE_KINDS: [&str; 6] = ["virtual", "special", "static", "interface", "dynamic", "vm"];

/// A set of names with numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Space {
    /// Bytecodes but for invokes and returns, numbered by opcode.
    Bytecodes,
    /// Kinds of calls.
    Invokes,
    /// Return instructions, numbered by opcode.
    Returns,
}

impl Space {
    /// Whether a number has a name here.
    pub fn has(self, number: usize) -> bool {
        let returns = op::IRETURN as usize..=op::RETURN as usize;
        let invokes = op::INVOKEVIRTUAL as usize..=op::INVOKEDYNAMIC as usize;
        match self {
            Space::Bytecodes => number < MNEMONIC.len() && !returns.contains(&number) && !invokes.contains(&number),
            Space::Invokes => number < INVOKE_KINDS.len(),
            Space::Returns => returns.contains(&number),
        }
    }

    /// All its numbers.
    pub fn all(self) -> impl Iterator<Item = usize> {
        (0..MNEMONIC.len()).filter(move |&n| self.has(n))
    }

    /// The name of a number.
    pub fn name(self, number: usize) -> &'static str {
        if self == Space::Invokes { INVOKE_KINDS[number] } else { MNEMONIC[number] }
    }

    fn number(self, name: &str) -> Result<usize, String> {
        if let Some(number) = self.all().find(|&n| self.name(n) == name) {
            return Ok(number);
        }
        Err(match (self, MNEMONIC.contains(&name)) {
            (Space::Invokes, _) => format!("{name} is no kind of call; there are {}", INVOKE_KINDS.join(", ")),
            (Space::Bytecodes, true) => format!("{name} has its cost in [invoke] or [return]"),
            (Space::Returns, true) => format!("{name} is no return instruction"),
            (_, false) => format!("there is no bytecode {name}; the names are those of the JVM specification"),
        })
    }

    /// The numbers that a key names.
    ///
    /// # Errors
    /// An unknown name, none where one should be, or a range that runs backwards or on.
    pub fn numbers(self, key: &str) -> Result<Vec<usize>, String> {
        let mut numbers = Vec::new();
        for part in key.split(',').map(str::trim) {
            let ends: Vec<&str> = part.split("..").map(str::trim).collect();
            if ends.contains(&"") {
                return Err(format!("a name is missing in \"{key}\""));
            }
            match ends[..] {
                [only] => numbers.push(self.number(only)?),
                [first, last] => {
                    let (from, to) = (self.number(first)?, self.number(last)?);
                    if from > to {
                        return Err(format!("{part} runs backwards: {last} has the smaller opcode"));
                    }
                    numbers.extend((from..=to).filter(|&n| self.has(n)));
                }
                _ => return Err(format!("{part} has more than two ends")),
            }
        }
        Ok(numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys() {
        assert_eq!(Space::Bytecodes.numbers("nop"), Ok(vec![0]));
        assert_eq!(Space::Bytecodes.numbers("iload_0..iload_3, ifnull"), Ok(vec![26, 27, 28, 29, 198]));
        assert_eq!(Space::Bytecodes.numbers("lookupswitch .. getstatic"), Ok(vec![171, 178]), "returns are not among them");
        assert_eq!(Space::Invokes.numbers("special,static"), Ok(vec![1, 2]));
        assert_eq!(Space::Returns.numbers("ireturn..return").map(|n| n.len()), Ok(6));
        for (space, key, part) in [
            (Space::Bytecodes, "iadd2", "no bytecode iadd2"),
            (Space::Bytecodes, "ireturn", "[return]"),
            (Space::Bytecodes, "isub..iadd", "backwards"),
            (Space::Bytecodes, "", "a name is missing"),
            (Space::Returns, "nop", "no return"),
            (Space::Invokes, "invokestatic", "virtual, special"),
        ] {
            let error = space.numbers(key).unwrap_err();
            assert!(error.contains(part), "{key}: {error}");
        }
    }
}
