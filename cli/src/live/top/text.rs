//! Names and numbers in columns.

use crate::style::printable;
use cprof_profile::recording::rates::MethodName;

/// A method in at most so many characters: first the parameters go, then package names become letters, then packages go,
/// then the end is cut.
pub fn method(name: &MethodName, width: usize) -> String {
    let MethodName { class, method, parameters } = name;
    let (package, simple) = class.rsplit_once('.').map_or(("", class.as_str()), |(p, s)| (p, s));
    let letters: String = package.split('.').filter_map(|part| part.chars().next()).flat_map(|c| [c, '.']).collect();
    let shorter = [
        format!("{class}.{method}{parameters}"),
        format!("{class}.{method}(…)"),
        format!("{letters}{simple}.{method}(…)"),
        format!("{simple}.{method}(…)"),
    ];
    let fits = |text: &&String| text.chars().count() <= width;
    cut(shorter.iter().find(fits).unwrap_or(&shorter[3]), width)
}

/// A text in at most so many characters, with `…` for what is missing at its end.
pub fn cut(text: &str, width: usize) -> String {
    let text = &*printable(text);
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let mut cut: String = text.chars().take(width.saturating_sub(1)).collect();
    if width > 0 {
        cut.push('…');
    }
    cut
}

/// A number in at most six characters: `999`, `12.3k`, `4.56M`, `1.2G`.
pub fn short(number: f64) -> String {
    let mut scaled = number.max(0.0);
    for unit in ["", "k", "M", "G", "T"] {
        let digits = match scaled {
            _ if unit.is_empty() => 0,
            s if s < 9.995 => 2,
            s if s < 99.95 => 1,
            _ => 0,
        };
        if scaled < 999.5 {
            return format!("{scaled:.digits$}{unit}");
        }
        scaled /= 1000.0;
    }
    format!("{scaled:.0}P")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_lose_what_matters_least() {
        let name = MethodName { class: "com.acme.util.Sorter".into(), method: "sort".into(), parameters: "(int[], int)".into() };
        for (width, text) in [
            (99, "com.acme.util.Sorter.sort(int[], int)"),
            (36, "com.acme.util.Sorter.sort(…)"),
            (27, "c.a.u.Sorter.sort(…)"),
            (19, "Sorter.sort(…)"),
            (8, "Sorter.…"),
            (1, "…"),
            (0, ""),
        ] {
            assert_eq!(method(&name, width), text, "{width}");
        }
        let name = MethodName { class: "Main".into(), method: "f".into(), parameters: "()".into() };
        assert_eq!(method(&name, 8), "Main.f()");
    }

    #[test]
    fn numbers() {
        for (number, text) in [
            (0.0, "0"),
            (999.4, "999"),
            (999.6, "1.00k"),
            (12_345.0, "12.3k"),
            (123_456.0, "123k"),
            (999_999.0, "1.00M"),
            (2.5e9, "2.50G"),
            (3e15, "3P"),
        ] {
            assert_eq!(short(number), text);
        }
    }
}
