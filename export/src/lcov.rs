//! Which lines, methods and branches were executed, and how often: lcov's tracefiles (`man geninfo`), which genhtml and the
//! coverage views of editors and of code hosts read.
//!
//! There are no contexts and no costs in it, so it is not written from a [`Source`](crate::Source) but from [`File`]s.

use crate::names::escaped;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// A source file. Counts of the same thing, as of a class that several loaders have defined, are added up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct File {
    /// Executions by line.
    lines: BTreeMap<u16, u64>,
    /// First line and calls, by method.
    functions: BTreeMap<String, (u16, u64)>,
    /// How often each way was taken, by line, method and bytecode index; none where the branch was not executed.
    branches: BTreeMap<(u16, String, u32), Vec<Option<u64>>>,
}

impl File {
    /// Adds a line.
    pub fn line(&mut self, line: u16, executions: u64) {
        add(self.lines.entry(line).or_default(), executions);
    }

    /// Adds a method that begins on a line. Its name must be its own in the file.
    pub fn function(&mut self, name: &str, line: u16, calls: u64) {
        let known = self.functions.entry(name.to_owned()).or_insert((line, 0));
        known.0 = known.0.min(line);
        add(&mut known.1, calls);
    }

    /// Adds a branch of a method: how often each of its ways was taken; none: it was not executed.
    pub fn branch(&mut self, line: u16, function: &str, bci: u32, ways: &[Option<u64>]) {
        let known = self.branches.entry((line, function.to_owned(), bci)).or_default();
        known.resize(known.len().max(ways.len()), None);
        for (known, more) in known.iter_mut().zip(ways) {
            if let Some(more) = more {
                add(known.get_or_insert(0), *more);
            }
        }
    }

    fn write(&self, path: &str, out: &mut dyn Write) -> io::Result<()> {
        let name = |text: &str| {
            let mut name = String::new();
            // Readers take a comma for the end of a name.
            escaped(text, |c| c == ',', &mut name);
            name
        };
        let hit = |counts: &mut dyn Iterator<Item = u64>| counts.filter(|count| *count > 0).count();
        writeln!(out, "TN:\nSF:{path}")?;
        for (function, (line, _)) in &self.functions {
            writeln!(out, "FN:{line},{}", name(function))?;
        }
        for (function, (_, calls)) in &self.functions {
            writeln!(out, "FNDA:{calls},{}", name(function))?;
        }
        writeln!(out, "FNF:{}\nFNH:{}", self.functions.len(), hit(&mut self.functions.values().map(|f| f.1)))?;
        let (mut on_line, mut block) = (0, 0);
        for ((line, ..), ways) in &self.branches {
            block = if on_line == *line { block + 1 } else { 0 };
            on_line = *line;
            for (way, taken) in ways.iter().enumerate() {
                let taken = taken.map_or_else(|| "-".to_owned(), |taken| taken.to_string());
                writeln!(out, "BRDA:{line},{block},{way},{taken}")?;
            }
        }
        let ways = || self.branches.values().flatten();
        writeln!(out, "BRF:{}\nBRH:{}", ways().count(), hit(&mut ways().filter_map(|way| *way)))?;
        for (line, executions) in &self.lines {
            writeln!(out, "DA:{line},{executions}")?;
        }
        writeln!(out, "LF:{}\nLH:{}\nend_of_record", self.lines.len(), hit(&mut self.lines.values().copied()))
    }
}

fn add(sum: &mut u64, more: u64) {
    *sum = sum.saturating_add(more);
}

/// Writes files, by path.
pub fn write(files: &BTreeMap<String, File>, out: &mut dyn Write) -> io::Result<()> {
    files.iter().try_for_each(|(path, file)| file.write(path, out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_and_its_sums() {
        let mut file = File::default();
        file.function("B.run(I)V", 7, 0);
        file.function("A,.main", 3, 2);
        file.function("A,.main", 3, 1);
        for (line, executions) in [(3, 3), (4, 0), (7, 0), (4, 9)] {
            file.line(line, executions);
        }
        file.branch(4, "A,.main", 9, &[Some(2), Some(0)]);
        file.branch(4, "A,.main", 9, &[None, None]);
        file.branch(4, "A,.main", 12, &[None, None]);
        file.branch(7, "B.run(I)V", 0, &[None, None, None]);
        let mut text = Vec::new();
        write(&BTreeMap::from([("a/A.java".to_owned(), file)]), &mut text).unwrap();
        let expected = "TN:\nSF:a/A.java\n\
                        FN:3,A\\u002c.main\nFN:7,B.run(I)V\nFNDA:3,A\\u002c.main\nFNDA:0,B.run(I)V\nFNF:2\nFNH:1\n\
                        BRDA:4,0,0,2\nBRDA:4,0,1,0\nBRDA:4,1,0,-\nBRDA:4,1,1,-\nBRDA:7,0,0,-\nBRDA:7,0,1,-\nBRDA:7,0,2,-\nBRF:7\nBRH:1\n\
                        DA:3,3\nDA:4,9\nDA:7,0\nLF:3\nLH:2\nend_of_record\n";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }
}
