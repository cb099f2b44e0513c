//! Lines of a class that its compiler numbered otherwise than its source: the maps of the SourceDebugExtension attribute (JVMS
//! §4.7.11), which JSR-45 defines.
//!
//! Kotlin's compiler copies inline functions into their callers, and numbers the copies beyond the end of the file. Its map has
//! two parts ("strata"): `Kotlin`, the default, says where a copy was taken from, `KotlinDebug` where its call stands.

use cprof_instrument::classfile::ClassFile;
use std::collections::HashMap;

/// Where lines of a class stand in its own source file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceMap {
    /// Those of the default stratum before others: the first that has a line holds.
    ranges: Vec<Range>,
    /// Lines of no source.
    none: Vec<Range>,
}

/// Where Kotlin's compiler has what it added to a copy of its own, for its debugger (`kotlin/jvm/internal/FakeKt`).
const FAKE: (&str, Option<&str>) = ("fake.kt", Some("kotlin/jvm/internal/FakeKt"));

/// A file of a map.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    /// The class's own.
    Own,
    /// None.
    None,
    /// Another.
    Other,
}

/// `INPUT#FILE,COUNT:OUTPUT,STEP`: COUNT lines of a source, from INPUT, that stand for STEP lines of the class each, from OUTPUT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Range {
    input: u32,
    count: u32,
    output: u32,
    step: u32,
}

impl Range {
    fn line(&self, line: u16) -> Option<u16> {
        let (behind, step) = (u32::from(line).checked_sub(self.output)?, self.step.max(1));
        let within = behind / step < self.count;
        within.then(|| self.input.checked_add(behind / step)?.try_into().ok()).flatten()
    }
}

impl SourceMap {
    /// The map of a class; empty where it has none, or none that can be read: lines are as they are numbered, then.
    pub fn of(class: &ClassFile<'_>) -> SourceMap {
        let map = class.source_debug_extension().zip(class.source_file());
        map.map_or_else(SourceMap::default, |(text, file)| SourceMap::parse(&text, &class.name_str(), &file))
    }

    /// Keeps what leads to the source file of a class (internal name): code from other files stands where it was copied to.
    fn parse(text: &str, class: &str, source_file: &str) -> SourceMap {
        let mut lines = text.split(['\n', '\r']).filter(|line| !line.is_empty());
        let Some(("SMAP", default)) = lines.next().zip(lines.nth(1)) else { return SourceMap::default() };
        let is_own =
            |name: &str, path: Option<&str>| name == source_file && path.is_none_or(|path| package(path) == package(class));
        let (mut of_default, mut of_others, mut none) = (Vec::new(), Vec::new(), Vec::new());
        let mut stratum = "";
        let mut section = "";
        let mut files: HashMap<&str, Source> = HashMap::new();
        let mut file = "0";
        while let Some(line) = lines.next() {
            if let Some(begins) = line.strip_prefix('*') {
                section = begins.split(' ').next().unwrap_or_default();
                match section {
                    "S" => {
                        stratum = begins[1..].trim();
                        files.clear();
                        file = "0";
                    }
                    // What follows is another map, of a source of this one's source.
                    "O" | "E" => break,
                    _ => {}
                }
            } else if section == "F" {
                let (line, path) = match line.strip_prefix("+ ") {
                    Some(line) => (line, lines.next()),
                    None => (line, None),
                };
                if let Some((id, name)) = line.split_once(' ') {
                    let source = match (name, path) {
                        FAKE => Source::None,
                        _ if is_own(name, path) => Source::Own,
                        _ => Source::Other,
                    };
                    files.insert(id, source);
                }
            } else if section == "L" {
                let Some((range, of)) = range(line) else { continue };
                file = of.unwrap_or(file);
                match files.get(file) {
                    Some(Source::Own) if stratum == default => of_default.push(range),
                    Some(Source::Own) => of_others.push(range),
                    Some(Source::None) => none.push(range),
                    Some(Source::Other) | None => {}
                }
            }
        }
        of_default.append(&mut of_others);
        SourceMap { ranges: of_default, none }
    }

    /// The line of the source that a line of the class stands for: itself, where the map does not say. `None`: it stands for none.
    pub fn line(&self, line: u16) -> Option<u16> {
        let of = |ranges: &[Range]| ranges.iter().find_map(|range| range.line(line));
        of(&self.ranges).or_else(|| of(&self.none).is_none().then_some(line))
    }
}

/// A row of a line section, and the number of its file where it says one: else it is that of the row before.
fn range(row: &str) -> Option<(Range, Option<&str>)> {
    let (from, to) = row.split_once(':')?;
    let (from, count) = from.split_once(',').map_or((from, "1"), |(from, count)| (from, count));
    let (input, file) = from.split_once('#').map_or((from, None), |(input, file)| (input, Some(file)));
    let (output, step) = to.split_once(',').map_or((to, "1"), |(output, step)| (output, step));
    let range =
        Range { input: input.parse().ok()?, count: count.parse().ok()?, output: output.parse().ok()?, step: step.parse().ok()? };
    Some((range, file))
}

/// `com/acme` of `com/acme/SumsKt`.
fn package(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(package, _)| package)
}

/// The maps of classes, each read once where methods come class by class.
#[derive(Debug, Default)]
pub struct SourceMaps<'a> {
    last: Option<(&'a [u8], SourceMap)>,
}

impl<'a> SourceMaps<'a> {
    /// The map of a class.
    pub fn of(&mut self, class: &ClassFile<'a>) -> &SourceMap {
        self.last.take_if(|(bytes, _)| !std::ptr::eq(*bytes, class.bytes));
        &self.last.get_or_insert_with(|| (class.bytes, SourceMap::of(class))).1
    }
}

#[cfg(test)]
mod tests {
    use super::SourceMap;

    /// As Kotlin 2.2 writes it: line 6 of both files is the start of an inline function.
    const KOTLIN: &str = "SMAP\nSums.kt\nKotlin\n*S Kotlin\n*F\n+ 1 Sums.kt\ncom/acme/SumsKt\n+ 2 Twice.kt\ncom/acme/tools/TwiceKt\n*L\n\
                          1#1,23:1\n6#1,6:24\n6#2,3:30\n*S KotlinDebug\n*F\n+ 1 Sums.kt\ncom/acme/SumsKt\n*L\n15#1:24,6\n18#1:30,3\n*E\n";

    fn lines(text: &str, class: &str, file: &str, of: &[u16]) -> Vec<u16> {
        let map = SourceMap::parse(text, class, file);
        of.iter().filter_map(|&line| map.line(line)).collect()
    }

    #[test]
    fn copies_from_the_own_file_stand_where_they_were_taken_from_and_others_where_they_are_called() {
        let read = lines(KOTLIN, "com/acme/SumsKt", "Sums.kt", &[1, 15, 23, 24, 26, 29, 30, 32, 33]);
        assert_eq!(read, [1, 15, 23, 6, 8, 11, 18, 18, 33]);
        // Classes of a file share it.
        assert_eq!(lines(KOTLIN, "com/acme/Sums$1", "Sums.kt", &[29]), [11]);
        assert_eq!(lines(KOTLIN, "com/other/SumsKt", "Sums.kt", &[29]), [29]);
    }

    /// As Kotlin 1.9 and 2.2 write it for `repeat` and `let`.
    #[test]
    fn what_kotlin_adds_for_its_debugger_is_on_no_line() {
        let map = "SMAP\nR.kt\nKotlin\n*S Kotlin\n*F\n+ 1 R.kt\nRKt\n+ 2 fake.kt\nkotlin/jvm/internal/FakeKt\n*L\n1#1,10:1\n1#2:11\n*E\n";
        assert_eq!(lines(map, "RKt", "R.kt", &[3, 11, 4, 12]), [3, 4, 12]);
        // A program may have such a file, too.
        assert_eq!(lines(&map.replace("FakeKt", "MineKt"), "RKt", "R.kt", &[3, 11]), [3, 11]);
    }

    #[test]
    fn lines_of_pages_stay_those_of_the_java_source_between() {
        let page = "SMAP\nindex_jsp.java\nJSP\n*S JSP\n*F\n+ 0 index.jsp\nindex.jsp\n*L\n1,5:10,2\n*E\n";
        assert_eq!(lines(page, "org/apache/jsp/index_jsp", "index_jsp.java", &[10, 12]), [10, 12]);
        // Without a number, it is the file of the row before; without a path, its name is one.
        let own = "SMAP\nA.java\nX\n*S X\n*F\n3 A.java\n*L\n7#3,2:10,2\n9:14\n*E\n";
        assert_eq!(lines(own, "A", "A.java", &[10, 11, 12, 13, 14, 15]), [7, 7, 8, 8, 9, 15]);
    }

    #[test]
    fn what_is_no_map_changes_no_line() {
        let largest = "SMAP\nA.kt\nKotlin\n*S Kotlin\n*F\n1 A.kt\n*L\n4294967295#1,4294967295:1,4294967295\n65535#1,9:5,0\n*E\n";
        for text in [
            "",
            "SMAP",
            "SMAP\nA.kt\nKotlin\n*S",
            "*L\n1:2\n",
            "SMAP\nA.kt\nKotlin\n*S Kotlin\n*F\n+ 1\n*L\n#:,\nx#1:y\n",
            largest,
        ] {
            assert_eq!(lines(text, "A", "A.kt", &[0, 1, 4, 65535]), [0, 1, 4, 65535], "{text}");
        }
        // One line of the class for several of the source: the first.
        assert_eq!(lines(largest, "A", "A.kt", &[5, 6]), [65535, 6]);
    }
}
