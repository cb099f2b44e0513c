//! A limit: `bytecodes <= 1_250_000`, `own calls == 3`, `cycles[jop] +2%`, `bytecodes == baseline`.

use std::fmt;
use thiserror::Error;

/// Whether callees count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The methods alone.
    Own,
    /// With everything they called.
    Total,
}

/// How a number must be related to its bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "they are what they are called")]
pub enum Order {
    Less,
    AtMost,
    Equal,
    AtLeast,
    Greater,
}

/// What a number is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Right {
    /// A number.
    Number(u64),
    /// The same of the baseline, plus or minus so much.
    Baseline(i64),
    /// The same of the baseline, plus or minus so many millionths of it.
    BaselinePercent(i64),
}

/// What must hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    /// As written.
    pub text: String,
    /// Whether callees count; as written, or what is usual for the metric.
    pub scope: Scope,
    /// Name of the metric, as written.
    pub metric: String,
    /// How.
    pub order: Order,
    /// With what.
    pub right: Right,
}

/// A bound as a number of millionths, so that percentages of whole numbers are exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound(i128);

const MILLION: i128 = 1_000_000;

/// A text that is no limit.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("{0}; it takes [own|total] METRIC followed by <=, <, ==, >= or > and a number or baseline, or by +2% or -100")]
pub struct LimitError(String);

impl Limit {
    /// Reads a limit.
    pub fn parse(text: &str) -> Result<Limit, LimitError> {
        let fail = |reason: String| Err(LimitError(reason));
        let mut rest = text.trim();
        let mut scope = None;
        for (word, meant) in [("own", Scope::Own), ("total", Scope::Total)] {
            if let Some(after) = rest.strip_prefix(word).filter(|after| after.starts_with(char::is_whitespace)) {
                (scope, rest) = (Some(meant), after.trim_start());
                break;
            }
        }
        let end = metric_end(rest);
        if rest[..end].contains('[') && !rest[..end].ends_with(']') {
            return fail(format!("{rest:?} has a [ without its ]"));
        }
        // cycles[jop, 4k/16] is written without the space elsewhere.
        let metric = rest[..end].replace(", ", ",");
        if metric.is_empty() {
            return fail("it names no metric".to_owned());
        }
        let rest = rest[end..].trim_start();
        let (order, right) = match order(rest) {
            Some((order, right)) => (order, right.trim_start()),
            None if rest.starts_with(['+', '-']) => (Order::AtMost, rest),
            None => return fail(format!("{rest:?} is no comparison")),
        };
        let right = match (right.strip_prefix("baseline"), rest.starts_with(['+', '-'])) {
            (Some(margin), _) => margin_of(margin.trim_start())?,
            (None, true) => margin_of(right)?,
            (None, false) => match digits(right).map(|digits| digits.parse()) {
                Some(Ok(number)) => Right::Number(number),
                Some(Err(_)) => return fail(format!("{right} is too large: costs have 64 bits")),
                None => return fail(format!("{right:?} is no whole number")),
            },
        };
        // How often a method is called is asked about the method; what it costs, about everything it causes.
        let usual = if matches!(metric.as_str(), "calls" | "exceptional_exits") { Scope::Own } else { Scope::Total };
        Ok(Limit { text: text.trim().to_owned(), scope: scope.unwrap_or(usual), metric, order, right })
    }

    /// Whether a baseline is needed.
    pub fn is_relative(&self) -> bool {
        !matches!(self.right, Right::Number(_))
    }

    /// What the number is compared with; none when that is of a baseline and there is none.
    pub fn bound(&self, baseline: Option<u64>) -> Option<Bound> {
        let of = |baseline: u64, more: i128| i128::from(baseline) * MILLION + more;
        match self.right {
            Right::Number(number) => Some(Bound(of(number, 0))),
            Right::Baseline(more) => baseline.map(|b| Bound(of(b, i128::from(more) * MILLION))),
            Right::BaselinePercent(millionths) => baseline.map(|b| Bound(of(b, i128::from(b) * i128::from(millionths)))),
        }
    }

    /// Whether a number keeps within a bound.
    pub fn holds(&self, number: u64, bound: Bound) -> bool {
        let number = i128::from(number) * MILLION;
        match self.order {
            Order::Less => number < bound.0,
            Order::AtMost => number <= bound.0,
            Order::Equal => number == bound.0,
            Order::AtLeast => number >= bound.0,
            Order::Greater => number > bound.0,
        }
    }
}

impl Bound {
    /// As a number, for other tools, if it is not [whole](Bound::exact): as near as can be.
    pub fn to_f64(self) -> f64 {
        self.0 as f64 / MILLION as f64
    }

    /// The number, if it is whole.
    pub fn exact(self) -> Option<i128> {
        (self.0 % MILLION == 0).then_some(self.0 / MILLION)
    }

    /// Whether it is below nothing.
    pub fn is_negative(self) -> bool {
        self.0 < 0
    }

    /// Without its sign: the whole number, and millionths.
    pub fn parts(self) -> (u128, u32) {
        let size = self.0.unsigned_abs();
        (size / MILLION.unsigned_abs(), (size % MILLION.unsigned_abs()) as u32)
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Order::Less => "<",
            Order::AtMost => "<=",
            Order::Equal => "==",
            Order::AtLeast => ">=",
            Order::Greater => ">",
        })
    }
}

/// Where a metric's name ends: names have comparison signs and spaces in brackets only.
fn metric_end(text: &str) -> usize {
    let mut open = false;
    for (at, c) in text.char_indices() {
        match c {
            '[' => open = true,
            ']' => return at + 1,
            _ if !open && (c.is_whitespace() || "<>=+-".contains(c)) => return at,
            _ => {}
        }
    }
    text.len()
}

fn order(text: &str) -> Option<(Order, &str)> {
    // Longer signs first.
    let signs = [("<=", Order::AtMost), (">=", Order::AtLeast), ("==", Order::Equal), ("<", Order::Less), (">", Order::Greater)];
    signs.into_iter().find_map(|(sign, order)| Some((order, text.strip_prefix(sign)?)))
}

/// `1_250_000` without its `_`.
fn digits(text: &str) -> Option<String> {
    let good = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    text.split('_').all(good).then(|| text.replace('_', ""))
}

/// Nothing, `+2%`, `+0.25 %`, `-100`.
fn margin_of(text: &str) -> Result<Right, LimitError> {
    let fail = |reason: &str| LimitError(format!("{text:?} {reason}"));
    if text.is_empty() {
        return Ok(Right::Baseline(0));
    }
    let plus = text.strip_prefix('+').map(|amount| (1, amount));
    let signed = plus.or_else(|| text.strip_prefix('-').map(|amount| (-1, amount)));
    let (sign, amount) = signed.ok_or_else(|| fail("does not begin with + or -"))?;
    let amount = amount.trim_start();
    let Some(percent) = amount.strip_suffix('%').map(str::trim_end) else {
        let number = digits(amount).and_then(|d| d.parse::<i64>().ok());
        return Ok(Right::Baseline(sign * number.ok_or_else(|| fail("is neither a whole number nor a percentage"))?));
    };
    let (whole, fraction) = percent.split_once('.').unwrap_or((percent, "0"));
    let wrong = || fail("is no percentage of at most 4 digits after the point and at most 1_000_000");
    let fraction = digits(fraction).filter(|f| f.len() <= 4).ok_or_else(wrong)?;
    let whole: i64 = digits(whole).and_then(|w| w.parse().ok()).filter(|w| *w <= 1_000_000).ok_or_else(wrong)?;
    let fraction: i64 = format!("{fraction:0<4}").parse().map_err(|_| wrong())?;
    let millionths = sign * (whole * 10_000 + fraction);
    if millionths < -1_000_000 {
        return Err(fail("leaves less than nothing"));
    }
    Ok(Right::BaselinePercent(millionths))
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn any_text_is_a_limit_or_is_refused(text in "((own|total) )?[a-z\\[, é]{0,9}(<=|==|\\+|-|>| )?(baseline)?[ 0-9.%+_é-]{0,9}") {
            if let Ok(limit) = Limit::parse(&text) {
                assert_eq!(Limit::parse(&limit.text), Ok(limit));
            }
        }
    }

    fn parsed(text: &str) -> (Scope, String, Order, Right) {
        let limit = Limit::parse(text).unwrap();
        (limit.scope, limit.metric, limit.order, limit.right)
    }

    #[test]
    fn limits() {
        use {Order::*, Right::*, Scope::*};
        let is =
            |text, scope, metric: &str, order, right| assert_eq!(parsed(text), (scope, metric.into(), order, right), "{text}");
        is("bytecodes <= 1_250_000", Total, "bytecodes", AtMost, Number(1_250_000));
        is(" own bytecodes<7 ", Own, "bytecodes", Less, Number(7));
        is("calls == 3", Own, "calls", Equal, Number(3));
        is("total calls >= 3", Total, "calls", AtLeast, Number(3));
        is("exceptional_exits > 0", Own, "exceptional_exits", Greater, Number(0));
        is("cycles[jop] +2%", Total, "cycles[jop]", AtMost, BaselinePercent(20_000));
        is("cycles[jop rws=3, 4k/16]+0.25%", Total, "cycles[jop rws=3,4k/16]", AtMost, BaselinePercent(2_500));
        is("bytecodes -100", Total, "bytecodes", AtMost, Baseline(-100));
        is("bytecodes == baseline", Total, "bytecodes", Equal, Baseline(0));
        is("bytecodes >= baseline - 5 %", Total, "bytecodes", AtLeast, BaselinePercent(-50_000));
    }

    #[test]
    fn what_is_no_limit() {
        for (text, reason) in [
            ("", "it names no metric"),
            ("<= 3", "it names no metric"),
            ("calls", "\"\" is no comparison"),
            ("calls 3", "\"3\" is no comparison"),
            ("calls = 3", "\"= 3\" is no comparison"),
            ("calls <= 3.5", "\"3.5\" is no whole number"),
            ("calls <= 1__0", "\"1__0\" is no whole number"),
            ("calls <= -3", "\"-3\" is no whole number"),
            ("calls <= 18446744073709551616", "18446744073709551616 is too large"),
            ("calls +x%", "\"+x%\" is no percentage"),
            ("calls -100.0001%", "\"-100.0001%\" leaves less than nothing"),
            ("calls +1.23456%", "\"+1.23456%\" is no percentage"),
            ("calls +", "\"+\" is neither a whole number nor a percentage"),
            ("calls <= baseline 3", "\"3\" does not begin with + or -"),
            ("calls <= baselines", "\"s\" does not begin with + or -"),
            ("calls <= é", "\"é\" is no whole number"),
            ("calls <= baseline é", "\"é\" does not begin with + or -"),
        ] {
            let error = Limit::parse(text).unwrap_err().to_string();
            assert!(error.starts_with(reason), "{text}: {error}");
        }
    }

    #[test]
    fn percentages_are_exact() {
        let limit = Limit::parse("bytecodes +1%").unwrap();
        let bound = limit.bound(Some(1_000_000)).unwrap();
        assert!(limit.holds(1_010_000, bound) && !limit.holds(1_010_001, bound));
        let bound = limit.bound(Some(150)).unwrap();
        assert!(limit.holds(151, bound) && !limit.holds(152, bound), "151.5");
        assert_eq!((bound.parts(), bound.is_negative()), ((151, 500_000), false));
        let bound = limit.bound(Some(u64::MAX)).unwrap();
        assert!(limit.holds(u64::MAX, bound));
        assert!(!Limit::parse("bytecodes -0.0001%").unwrap().holds(u64::MAX, Bound(i128::from(u64::MAX) * (MILLION - 1))));
        assert_eq!(limit.bound(None), None);
    }
}
