//! Where methods and calls are in source files.

use crate::source::{Frame, Order};
use cprof_profile::call_lines::CallLines;
use cprof_profile::code::CodeError;
use cprof_profile::metrics::Sheet;
use cprof_profile::tree::Tree;

/// Where a method is.
#[derive(Debug, Clone, Default)]
pub(crate) struct Place {
    /// Its [`source_path`].
    pub file: String,
    /// The line of its first bytecode that has one; 0 when the class does not say.
    pub line: u32,
}

/// The path of a class's source, as `com/acme/Main.java`; empty when the class does not say. `source`: its SourceFile attribute, a
/// name without directories (JVMS §4.7.10); where there are some, as JRuby and Jython have them, it is the path.
pub fn source_path(class: &str, source: &str) -> String {
    match class.rsplit_once('.') {
        Some((package, _)) if !source.is_empty() && !source.contains('/') => format!("{}/{source}", package.replace('.', "/")),
        _ => source.to_owned(),
    }
}

/// Places of methods, by frame, and of calls.
pub(crate) struct Places {
    of: Vec<Place>,
    calls: CallLines,
}

impl Places {
    pub(crate) fn read(sheet: &Sheet, order: &Order) -> Result<Places, CodeError> {
        let calls = CallLines::read(sheet.profile, sheet.symbols)?;
        let mut of: Vec<Option<Place>> = vec![None; sheet.symbols.list.len()];
        for (m, method) in sheet.profile.methods.iter().enumerate() {
            let symbol = sheet.symbols.of_method(m as u32) as usize;
            let source = &sheet.profile.classes[method.class as usize].source_file;
            let class = &sheet.symbols.list[symbol].class;
            let place = Place { file: source_path(class, source), line: calls.lines.first(m).map_or(0, u32::from) };
            // Of several versions of a class the one that says most, and in whatever order they were recorded the same.
            let key = |place: &Place| (place.file.is_empty(), place.line == 0, place.file.clone(), place.line);
            let known = &mut of[order.position[symbol] as usize];
            if known.as_ref().is_none_or(|known| key(&place) < key(known)) {
                *known = Some(place);
            }
        }
        Ok(Places { of: of.into_iter().map(Option::unwrap_or_default).collect(), calls })
    }

    /// Where a method is; nowhere for what is none.
    pub(crate) fn of(&self, frame: Frame) -> Place {
        self.of.get(frame.0 as usize).cloned().unwrap_or_default()
    }

    /// The first line of a method.
    pub(crate) fn first_line(&self, frame: Frame) -> u32 {
        self.of.get(frame.0 as usize).map_or(0, |place| place.line)
    }

    /// The line in its caller that a context was called from, where call sites were distinguished.
    pub(crate) fn call_line(&self, tree: &Tree, context: u32) -> Option<u32> {
        self.calls.line(tree, &tree.context(context)).map(u32::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_with_directories_are_where_they_say() {
        assert_eq!(source_path("com.acme.Main$1", "Main.java"), "com/acme/Main.java");
        assert_eq!(source_path("Main", "Main.java"), "Main.java");
        assert_eq!(source_path("com.acme.Main", ""), "");
        for path in ["py/t.py", "/home/me/t.rb"] {
            assert_eq!(source_path("org.python.pycode._pyx0", path), path);
        }
    }
}
