//! The formulas of target models: integers, parameters, `+ - * /`, parentheses, `max`, `min`, `ceildiv`.
//!
//! Every formula has a value or an error; there are no loops, no floating point and no way to run for longer than to read it. `/`
//! rounds down.

use std::fmt;

/// Formulas nested deeper than this are refused, so that neither reading nor evaluating one can exhaust the stack.
const DEEPEST: usize = 50;

/// A parsed formula.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expression {
    root: Node,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Node {
    Number(i64),
    /// A name and where it stands in the formula.
    Name(String, usize),
    Binary(Operator, Box<Node>, Box<Node>, usize),
    Negative(Box<Node>, usize),
    Max(Vec<Node>),
    Min(Vec<Node>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    CeilDivide,
}

/// What is wrong with a formula or its value, and at which byte of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpressionError {
    /// Offset in bytes.
    pub at: usize,
    /// As a sentence without a full stop.
    pub message: String,
}

impl fmt::Display for ExpressionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at character {}: {}", self.at + 1, self.message)
    }
}

impl std::error::Error for ExpressionError {}

fn error<T>(at: usize, message: impl Into<String>) -> Result<T, ExpressionError> {
    Err(ExpressionError { at, message: message.into() })
}

impl Expression {
    /// A constant.
    pub fn constant(value: i64) -> Expression {
        Expression { root: Node::Number(value) }
    }

    /// Reads a formula.
    pub fn parse(text: &str) -> Result<Expression, ExpressionError> {
        let mut parser = Parser { text, at: 0, depth: 0 };
        let root = parser.sum()?;
        match parser.peek() {
            None => Ok(Expression { root }),
            Some(c) => error(parser.at, format!("{c:?} is not expected here")),
        }
    }

    /// The value, with names looked up by `value`.
    ///
    /// # Errors
    /// A name without a value, division by zero, a value outside 64 bits.
    pub fn evaluate(&self, value: &dyn Fn(&str) -> Option<i64>) -> Result<i64, ExpressionError> {
        self.root.evaluate(value)
    }

    /// Calls `each` with every name in the formula and its offset.
    pub fn names<'e>(&'e self, each: &mut dyn FnMut(&'e str, usize)) {
        self.root.names(each);
    }
}

impl Node {
    fn evaluate(&self, value: &dyn Fn(&str) -> Option<i64>) -> Result<i64, ExpressionError> {
        let best = |all: &[Node], better: fn(i64, i64) -> i64| {
            let mut best = None;
            for node in all {
                let v = node.evaluate(value)?;
                best = Some(best.map_or(v, |b| better(b, v)));
            }
            best.map_or_else(|| error(0, "nothing to choose from"), Ok)
        };
        match self {
            Node::Number(n) => Ok(*n),
            Node::Name(name, at) => match value(name) {
                Some(v) => Ok(v),
                None => error(*at, format!("{name} has no value here")),
            },
            Node::Max(all) => best(all, i64::max),
            Node::Min(all) => best(all, i64::min),
            Node::Negative(node, at) => match node.evaluate(value)?.checked_neg() {
                Some(v) => Ok(v),
                None => error(*at, "the value does not fit 64 bits"),
            },
            Node::Binary(operator, a, b, at) => {
                let (a, b) = (a.evaluate(value)?, b.evaluate(value)?);
                if b == 0 && matches!(operator, Operator::Divide | Operator::CeilDivide) {
                    return error(*at, "division by zero");
                }
                let result = match operator {
                    Operator::Add => a.checked_add(b),
                    Operator::Subtract => a.checked_sub(b),
                    Operator::Multiply => a.checked_mul(b),
                    Operator::Divide => floor(a, b),
                    Operator::CeilDivide => a.checked_neg().and_then(|a| floor(a, b)).and_then(i64::checked_neg),
                };
                result.map_or_else(|| error(*at, "the value does not fit 64 bits"), Ok)
            }
        }
    }

    fn names<'e>(&'e self, each: &mut dyn FnMut(&'e str, usize)) {
        match self {
            Node::Number(_) => {}
            Node::Name(name, at) => each(name, *at),
            Node::Negative(node, _) => node.names(each),
            Node::Binary(_, a, b, _) => {
                a.names(each);
                b.names(each);
            }
            Node::Max(all) | Node::Min(all) => all.iter().for_each(|n| n.names(each)),
        }
    }
}

/// The quotient rounded down; none on overflow.
fn floor(a: i64, b: i64) -> Option<i64> {
    let (quotient, rest) = (a.checked_div(b)?, a.checked_rem(b)?);
    Some(if rest != 0 && (rest < 0) != (b < 0) { quotient - 1 } else { quotient })
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    /// The next character that is not a space; `at` is moved to it.
    fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        let trimmed = rest.trim_start();
        self.at += rest.len() - trimmed.len();
        trimmed.chars().next()
    }

    fn accept(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.at += wanted.len_utf8();
        }
        found
    }

    fn expect(&mut self, wanted: char) -> Result<(), ExpressionError> {
        if self.accept(wanted) {
            return Ok(());
        }
        match self.peek() {
            Some(c) => error(self.at, format!("{wanted:?} is expected here, not {c:?}")),
            None => error(self.at, format!("{wanted:?} is missing at the end")),
        }
    }

    fn sum(&mut self) -> Result<Node, ExpressionError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return error(self.at, format!("a formula may be nested {DEEPEST} deep"));
        }
        let mut node = self.product()?;
        let mut terms = 0;
        loop {
            let operator = match self.peek() {
                Some('+') => Operator::Add,
                Some('-') => Operator::Subtract,
                _ => break,
            };
            node = self.binary(operator, node, Self::product, &mut terms)?;
        }
        self.depth -= 1;
        Ok(node)
    }

    fn product(&mut self) -> Result<Node, ExpressionError> {
        let mut node = self.atom()?;
        let mut factors = 0;
        loop {
            let operator = match self.peek() {
                Some('*') => Operator::Multiply,
                Some('/') => Operator::Divide,
                _ => return Ok(node),
            };
            node = self.binary(operator, node, Self::atom, &mut factors)?;
        }
    }

    /// The operator at `at` and its right side. Each makes the tree one deeper on the left.
    fn binary(
        &mut self,
        operator: Operator,
        left: Node,
        right: fn(&mut Self) -> Result<Node, ExpressionError>,
        count: &mut usize,
    ) -> Result<Node, ExpressionError> {
        let at = self.at;
        *count += 1;
        if *count > DEEPEST {
            return error(at, format!("more than {DEEPEST} operators in a row"));
        }
        self.at += 1;
        Ok(Node::Binary(operator, Box::new(left), Box::new(right(self)?), at))
    }

    fn atom(&mut self) -> Result<Node, ExpressionError> {
        let Some(c) = self.peek() else { return error(self.at, "a number or a name is missing at the end") };
        let at = self.at;
        if c == '(' {
            self.at += 1;
            let node = self.sum()?;
            self.expect(')')?;
            return Ok(node);
        }
        if c == '-' {
            self.at += 1;
            self.depth += 1;
            if self.depth > DEEPEST {
                return error(at, format!("a formula may be nested {DEEPEST} deep"));
            }
            let node = self.atom()?;
            self.depth -= 1;
            return Ok(Node::Negative(Box::new(node), at));
        }
        let word: String = self.text[at..].chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
        if word.is_empty() {
            return error(at, format!("{c:?} is not expected here"));
        }
        self.at += word.len();
        if c.is_ascii_digit() {
            // Between digits, as everywhere in TOML.
            let parted = word.split('_').all(|digits| !digits.is_empty());
            return match word.replace('_', "").parse() {
                Ok(number) if parted => Ok(Node::Number(number)),
                _ => error(at, format!("{word} is not a whole number of at most 64 bits")),
            };
        }
        if self.peek() != Some('(') {
            return Ok(Node::Name(word, at));
        }
        let mut arguments = self.arguments()?;
        match (word.as_str(), arguments.len()) {
            ("max", 1..) => Ok(Node::Max(arguments)),
            ("min", 1..) => Ok(Node::Min(arguments)),
            ("ceildiv", 2) => {
                let (b, a) = (arguments.pop(), arguments.pop());
                let (Some(a), Some(b)) = (a, b) else { return error(at, "ceildiv takes two values") };
                Ok(Node::Binary(Operator::CeilDivide, Box::new(a), Box::new(b), at))
            }
            ("ceildiv", given) => error(at, format!("ceildiv takes two values, not {given}")),
            _ => error(at, format!("there is no function {word}; there are max, min and ceildiv")),
        }
    }

    fn arguments(&mut self) -> Result<Vec<Node>, ExpressionError> {
        self.expect('(')?;
        let mut arguments = vec![self.sum()?];
        while self.accept(',') {
            if arguments.len() == DEEPEST {
                return error(self.at, format!("more than {DEEPEST} arguments"));
            }
            arguments.push(self.sum()?);
        }
        self.expect(')')?;
        Ok(arguments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<i64, ExpressionError> {
        let names = |name: &str| match name {
            "r" => Some(3),
            "big" => Some(i64::MAX),
            "small" => Some(i64::MIN),
            _ => None,
        };
        Expression::parse(text)?.evaluate(&names)
    }

    #[test]
    fn arithmetic() {
        for (text, expected) in [
            ("1", 1),
            ("1+2*3", 7),
            ("(1+2)*3", 9),
            ("10-4-3", 3),
            ("-2*3", -6),
            ("7/2", 3),
            ("-7/2", -4),
            ("7/-2", -4),
            ("-7/-2", 3),
            ("ceildiv(7,2)", 4),
            ("ceildiv(-7,2)", -3),
            ("ceildiv(8, 4)", 2),
            ("max(1, r, 2)", 3),
            ("min(4, r)", 3),
            ("max(-5)", -5),
            ("98+2*r+max(0,r-3)+max(0,r-2)", 105),
            ("- - 4", 4),
        ] {
            assert_eq!(value(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn errors_say_where() {
        for (text, at, part) in [
            ("", 0, "missing"),
            ("1+", 2, "missing"),
            ("1 2", 2, "not expected"),
            ("(1", 2, "missing"),
            ("max()", 4, "not expected"),
            ("ceildiv(1)", 0, "two values"),
            ("sqrt(4)", 0, "no function"),
            ("1+q", 2, "no value"),
            ("4/(r-3)", 1, "zero"),
            ("ceildiv(4,0)", 0, "zero"),
            ("1+big", 1, "64 bits"),
            ("big*2", 3, "64 bits"),
            ("-small", 0, "64 bits"),
            ("small/-1", 5, "64 bits"),
            ("ceildiv(small,1)", 0, "64 bits"),
            ("99999999999999999999", 0, "64 bits"),
            ("1.5", 1, "not expected"),
            ("2x", 0, "whole number"),
            ("é", 0, "not expected"),
        ] {
            let error = value(text).unwrap_err();
            assert_eq!(error.at, at, "{text}: {error}");
            assert!(error.message.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn depth_is_bounded() {
        for text in ["(".repeat(100_000), "-".repeat(100_000), "1+".repeat(100_000) + "1", "max(".repeat(100_000)] {
            assert!(Expression::parse(&text).is_err());
        }
    }
}
