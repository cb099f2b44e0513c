//! What a program consists of, whether it ran or not.

use super::{Coverage, NAMED, Names, same_layout};
use crate::args::Export;
use crate::loaded::view::View;
use crate::output;
use anyhow::Result;
use cprof_annotate::class_files::{self, ClassFileAt};
use cprof_annotate::lines;
use cprof_instrument::classfile::ClassFile;
use cprof_profile::model::{Class, Profile};
use cprof_profile::names::{Pattern, counted, few, selects, stable};
use cprof_profile::options::values;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::PathBuf;

/// The classes of `--classes`.
#[derive(Default)]
pub struct Program {
    names: HashSet<String>,
    /// Places without class files.
    empty: Vec<String>,
    /// Class files that are none.
    unread: Vec<String>,
    /// Classes that the recording was told to leave out.
    left_out: BTreeSet<String>,
    /// Classes that have run, with whether one of the class files is what has.
    recorded: HashMap<String, bool>,
}

impl Program {
    /// Reads it, and adds the classes that are not in the profile.
    pub fn read(args: &Export, profile: &Profile, coverage: &mut Coverage<'_>) -> Result<Program> {
        let mut recorded = Recorded { classes: HashMap::new(), selection: Selection::of(profile) };
        profile.classes.iter().filter(|c| !c.hidden).for_each(|c| recorded.classes.entry(&c.name).or_default().push(c));
        output::spares(&args.out, &args.classes)?;
        let mut program = Program::default();
        let mut refused = None;
        for place in &args.classes {
            let mut last = PathBuf::new();
            class_files::each(place, &mut |class_file| {
                if refused.is_none() && last != class_file.file {
                    last = class_file.file.to_owned();
                    refused = output::spares(&args.out, [&last]).err();
                }
                if refused.is_none() {
                    refused = program.add(class_file, &recorded, coverage).err();
                }
            })?;
            if last.as_os_str().is_empty() {
                program.empty.push(place.display().to_string());
            }
        }
        refused.map_or(Ok(program), Err)
    }

    /// Whether it has a class of this internal name.
    pub fn has(&self, class: &str) -> bool {
        self.names.contains(class)
    }

    fn add(&mut self, class_file: ClassFileAt<'_>, recorded: &Recorded<'_>, coverage: &mut Coverage<'_>) -> Result<()> {
        let read = class_file.bytes.and_then(|bytes| {
            let class = ClassFile::parse(bytes).map_err(|e| e.to_string())?;
            let methods = lines::all_but(&class, &BTreeSet::new()).map_err(|e| e.to_string())?;
            Ok((bytes, class, methods))
        });
        let (bytes, class, methods) = match read {
            Ok(read) => read,
            Err(reason) => {
                self.unread.push(format!("{} ({reason})", class_file.name));
                return Ok(());
            }
        };
        let name = class.name_str().into_owned();
        if let Some(versions) = recorded.classes.get(name.as_str()) {
            let same = versions.iter().any(|version| same_layout(&version.bytes, bytes));
            *self.recorded.entry(name.clone()).or_default() |= same;
            self.names.insert(name);
            return Ok(());
        }
        // What is for a newer Java is not known to be code of this one. Of several class files of a name the first is the
        // program's, as on a class path.
        if class_file.for_newer || !self.names.insert(name.clone()) {
            return Ok(());
        }
        let readable = stable(&name, false);
        if !recorded.selection.has(&readable) {
            self.left_out.insert(readable);
            return Ok(());
        }
        let mut names = Names::new(readable);
        names.add(&class);
        coverage.add_not_run(&name, &class.source_file().unwrap_or_default(), &names, &methods)
    }

    /// What is to be said of it.
    pub fn told(&self, view: &View, any_ran: bool) -> Vec<String> {
        let mut told = Vec::new();
        if !self.empty.is_empty() {
            told.push(format!("no class file was found in {}", few(&self.empty, NAMED)));
        }
        if !self.unread.is_empty() {
            told.push(format!("could not be read, and left out: {}", few(&self.unread, NAMED)));
        }
        if !self.left_out.is_empty() {
            let named = few(&self.left_out.iter().collect::<Vec<_>>(), NAMED);
            told.push(format!("not counted, because of include= or exclude=, and left out: {named}"));
        }
        let mut other: Vec<String> =
            self.recorded.iter().filter(|(_, same)| !**same).map(|(name, _)| stable(name, false)).collect();
        other.sort();
        if !other.is_empty() {
            let classes = counted(other.len() as u64, "class that ran is not", "classes that ran are not");
            told.push(format!(
                "{classes} as in --classes, but of another build, or changed by another agent; lines are those of what ran: {}",
                few(&other, NAMED)
            ));
        }
        if !any_ran {
            told.push(format!("no class of --classes ran in this part of {}", view.file));
        }
        told
    }
}

/// What the profile has of a program.
struct Recorded<'p> {
    /// Versions of classes by internal name.
    classes: HashMap<&'p str, Vec<&'p Class>>,
    selection: Selection,
}

/// What the recording selected of classes, or the recordings of a merged profile.
struct Selection(Vec<[Vec<Pattern>; 2]>);

impl Selection {
    fn of(profile: &Profile) -> Selection {
        let patterns = |options: &str, name| values(options, name).map(Pattern::new).collect();
        let of = |options: &str| [patterns(options, "include"), patterns(options, "exclude")];
        match profile.runs.is_empty() {
            true => Selection(vec![of(&profile.run.options)]),
            false => Selection(profile.runs.iter().map(|run| of(&run.facts.options)).collect()),
        }
    }

    fn has(&self, class: &str) -> bool {
        self.0.iter().any(|[include, exclude]| selects(include, exclude, class))
    }
}
