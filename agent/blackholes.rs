//! Methods that the compilers treat as blackholes: benchmarks (JMH) name empty methods by `-XX:CompileCommand=blackhole,…`, or in
//! a file of such commands, so that what is passed to them is computed and nothing is done with it. HotSpot takes the command for
//! methods that are a bare return only, and prints a warning otherwise (method.cpp, compilerOracle.cpp; JDK 17 to 25).

use crate::flags::Flags;
use cprof_profile::names::Pattern;

/// The patterns of this JVM's commands, over `Class.method`.
pub fn of(flags: &Flags) -> Vec<Pattern> {
    let (given, file) = flags.commands();
    let file = file.and_then(|path| std::fs::read_to_string(path).ok());
    [given, file].into_iter().flatten().flat_map(|text| text.lines().filter_map(pattern).collect::<Vec<_>>()).collect()
}

/// The method of `blackhole,org/acme/Bench.sink(I)V`, which may also be written with `::`, with dots or spaces, and with `*`.
fn pattern(command: &str) -> Option<Pattern> {
    let mut words = command.split([',', ' ', '\t', '\r']).filter(|word| !word.is_empty());
    if !words.next()?.eq_ignore_ascii_case("blackhole") {
        return None;
    }
    let mut method = words.next()?.replace("::", ".");
    if let Some(name) = words.next().filter(|word| !word.starts_with('(')) {
        method = format!("{method}.{name}");
    }
    let named = method.split('(').next()?;
    Some(Pattern::new(named))
}

#[cfg(test)]
mod tests {
    use super::pattern;

    #[test]
    fn commands_are_read_as_the_jvm_reads_them() {
        for command in [
            "blackhole,org/acme/Bench.sink",
            "blackhole,org.acme.Bench::sink",
            "Blackhole org/acme/Bench sink",
            "blackhole org.acme.Bench.sink (I)V",
            "blackhole,org.acme.Bench::sink(I)V",
            "blackhole,*Bench.s*\r",
        ] {
            assert!(pattern(command).is_some_and(|pattern| pattern.matches("org.acme.Bench.sink")), "{command}");
        }
        for command in ["", "blackhole", "quiet", "inline,org/acme/Bench.sink", "dontinline,*.*"] {
            assert!(pattern(command).is_none(), "{command}");
        }
        assert!(!pattern("blackhole,org/acme/Bench.sink").unwrap().matches("org.acme.Bench.other"));
    }
}
