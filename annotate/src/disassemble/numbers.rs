//! Floating point numbers as `Double.toString` and `Float.toString` write them.
//!
//! Java (from JDK 19 on) and Rust both print the shortest decimal that rounds to the number; only the layout differs: Java has
//! always a digit on both sides of the point, and an exponent below 10⁻³ and from 10⁷ on.

/// As `Double.toString`.
pub fn java_double(value: f64) -> String {
    layout(value, &format!("{value:e}"), &format!("{value:.1e}"))
}

/// As `Float.toString`.
pub fn java_float(value: f32) -> String {
    layout(f64::from(value), &format!("{value:e}"), &format!("{value:.1e}"))
}

/// Where one digit would do, Java takes the nearest number of two: `4.9E-324`, not `5E-324`.
fn layout(value: f64, shortest: &str, of_two_digits: &str) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    let sign = if value.is_sign_negative() { "-" } else { "" };
    if value.is_infinite() {
        return format!("{sign}Infinity");
    }
    if value == 0.0 {
        return format!("{sign}0.0");
    }
    let text = if shortest.contains('.') { shortest } else { of_two_digits }.trim_start_matches('-');
    // Rust's {:e} is always digits, perhaps with a point, and an exponent.
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let digits = mantissa.replace('.', "");
    let digits = digits.trim_end_matches('0');
    let text = match exponent {
        -3..0 => format!("0.{}{digits}", "0".repeat((-exponent - 1) as usize)),
        0..7 => {
            let whole = exponent as usize + 1;
            let padded = format!("{digits:0<whole$}");
            let (whole, rest) = padded.split_at(whole);
            format!("{whole}.{}", if rest.is_empty() { "0" } else { rest })
        }
        _ => {
            let (first, rest) = digits.split_at(1);
            format!("{first}.{}E{exponent}", if rest.is_empty() { "0" } else { rest })
        }
    };
    format!("{sign}{text}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles() {
        for (value, text) in [
            (1.0, "1.0"),
            (1e10, "1.0E10"),
            (0.001, "0.001"),
            (0.00099, "9.9E-4"),
            (123456.789, "123456.789"),
            (1234567.0, "1234567.0"),
            (12345678.0, "1.2345678E7"),
            (-100.0, "-100.0"),
            (f64::MAX, "1.7976931348623157E308"),
            (5e-324, "4.9E-324"),
            (2e-323, "2.0E-323"),
            (1e-322, "9.9E-323"),
            (-0.0, "-0.0"),
            (f64::NEG_INFINITY, "-Infinity"),
            (f64::NAN, "NaN"),
            (2e23, "2.0E23"),
            (0.05, "0.05"),
        ] {
            assert_eq!(java_double(value), text);
        }
    }

    #[test]
    fn floats() {
        for (value, text) in [(1.5, "1.5"), (1e-45, "1.4E-45"), (3.4e38, "3.4E38"), (16777216e10, "1.6777216E17"), (0.1, "0.1")] {
            assert_eq!(java_float(value), text);
        }
    }
}
