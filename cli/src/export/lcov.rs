//! What was executed, by source file.

use crate::args::Export;
use crate::loaded::view::View;
use crate::output;
use anyhow::{Context, Result, bail};
use cprof_annotate::class_files;
use cprof_annotate::lines::{self, Lines, NotRun};
use cprof_annotate::method::{Annotation, Choice, Way, annotate};
use cprof_annotate::source::Sources;
use cprof_export::lcov::File;
use cprof_export::{names, source_path};
use cprof_instrument::classfile::ClassFile;
use cprof_profile::model::{Class, Profile};
use cprof_profile::names::{Pattern, argument, counted, few, selects, stable};
use cprof_profile::options::values;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

/// So many names are in a note.
const NAMED: usize = 4;

/// The files of what is wanted, by path, with all that they have code for; notes say what is left out.
pub fn files(view: &View, args: &Export) -> Result<BTreeMap<String, File>> {
    let mut files = Files { places: Places::new(args)?, files: BTreeMap::new() };
    let profile = &view.profile;
    let program = match args.classes.is_empty() {
        true => None,
        false => Some(add_program(view, args, &mut files)?),
    };
    let is_wanted =
        |class: &Class| !class.source_file.is_empty() && program.as_ref().is_none_or(|names| names.contains(&class.name));
    let wanted: Vec<bool> = profile.classes.iter().map(is_wanted).collect();
    let nodes = view.chosen_nodes();
    let ran = view.ran(&nodes);
    let damaged = || format!("{} cannot be evaluated", view.file);

    let names: Vec<Option<Names>> = profile.classes.iter().zip(&wanted).map(|(c, wanted)| wanted.then(|| Names::of(c))).collect();
    let choice = Choice { profile, measures: &view.measures, nodes: &nodes, charges: None };
    let is_shown = |method: u32| ran[method as usize] && wanted[profile.methods[method as usize].class as usize];
    let mut refused = None;
    annotate(&choice, is_shown, |annotation| {
        let method = &profile.methods[annotation.method as usize];
        let class = &profile.classes[method.class as usize];
        let Some(names) = &names[method.class as usize] else { return };
        match files.of(&class.name, &class.source_file) {
            Ok(Some(file)) => add(file, &names.of_method(&method.name, &method.descriptor), &annotation),
            Ok(None) => {}
            Err(e) => {
                refused.get_or_insert(e);
            }
        }
    })
    .with_context(damaged)?;
    if let Some(refused) = refused {
        return Err(refused);
    }

    let mut gaps = 0;
    for (number, class) in profile.classes.iter().enumerate() {
        let Some(names) = &names[number] else { continue };
        let not_run = lines::not_run(profile, number as u32, &ran).with_context(damaged)?;
        let Some(file) = files.of(&class.name, &class.source_file)? else { continue };
        for method in not_run {
            match is_covered(profile, &class.name, &method) {
                true => add_not_run(file, &names.of_method(&method.name, &method.descriptor), &method),
                false => gaps += 1,
            }
        }
    }
    // The JDK's are nowhere below one's own sources.
    if program.is_some() {
        files.places.tell_missing();
    }
    if gaps > 0 {
        let methods = counted(gaps, "method was", "methods were");
        let list = format!("cprof report {} --coverage lists why", argument(&view.file));
        output::note(&format!("{methods} not covered, and left out; {list}"));
    }
    tell_versions(profile, &wanted);
    let mut files = files.files;
    files.retain(|_, file| !file.is_empty());
    if files.is_empty() {
        bail!("{}: nothing that ran is of a source file that was asked for{}", view.file, way_out(args));
    }
    Ok(files)
}

/// For who has got nothing.
fn way_out(args: &Export) -> &'static str {
    match (args.source.is_empty(), args.classes.is_empty()) {
        (true, true) => "; its classes have no line numbers (javac -g)",
        (false, true) => "; --source is the directory above those of the packages",
        (true, false) => "; --classes is a directory above those of the packages, or a jar",
        (false, false) => "; --source and --classes are directories above those of the packages",
    }
}

/// Files by path.
struct Files {
    places: Places,
    files: BTreeMap<String, File>,
}

impl Files {
    /// That of a class; none where it was not found.
    fn of(&mut self, class: &str, source_file: &str) -> Result<Option<&mut File>> {
        let path = self.places.path(class, source_file)?;
        Ok(path.map(|path| self.files.entry(path).or_default()))
    }
}

/// Where source files are.
struct Places {
    /// None: where their packages say.
    sources: Option<Sources>,
    out: PathBuf,
    /// By path in the package's directories.
    known: HashMap<String, Option<String>>,
}

impl Places {
    fn new(args: &Export) -> Result<Places> {
        let sources = (!args.source.is_empty()).then(|| Sources::open(&args.source)).transpose()?;
        Ok(Places { sources, out: args.out.clone(), known: HashMap::new() })
    }

    fn path(&mut self, class: &str, source_file: &str) -> Result<Option<String>> {
        let path = source_path(&class.replace('/', "."), source_file);
        let Some(sources) = &mut self.sources else {
            let mut escaped = String::new();
            names::escaped(&path, |_| false, &mut escaped);
            return Ok(Some(escaped));
        };
        if let Some(known) = self.known.get(&path) {
            return Ok(known.clone());
        }
        let found = sources.find(class, source_file)?;
        output::spares(&self.out, found.iter().map(|source| &source.file))?;
        // What is in an archive has no path of its own.
        let is_file = |name: &str, file: &Path| name == file.display().to_string();
        let found = found.map(|s| if is_file(&s.name, &s.file) { s.name } else { path.clone() });
        self.known.insert(path, found.clone());
        Ok(found)
    }

    /// Those that were not found.
    fn tell_missing(&self) {
        let mut missing: Vec<&String> = self.known.iter().filter(|(_, found)| found.is_none()).map(|(path, _)| path).collect();
        missing.sort();
        if !missing.is_empty() {
            let files = counted(missing.len() as u64, "source file was", "source files were");
            output::note(&format!("{files} not found below --source, and left out: {}", few(&missing, NAMED)));
        }
    }
}

/// How the methods of a class are called in a file that may have other classes, too.
struct Names {
    class: String,
    /// Names that several of its methods have.
    overloaded: HashSet<String>,
}

impl Names {
    fn of(class: &Class) -> Names {
        let methods = ClassFile::parse(&class.bytes).map(|parsed| overloaded(&parsed)).unwrap_or_default();
        Names { class: stable(&class.name, class.hidden), overloaded: methods }
    }

    /// `com.acme.Main.run`, and with a descriptor if there are several.
    fn of_method(&self, name: &str, descriptor: &str) -> String {
        let descriptor = if self.overloaded.contains(name) { descriptor } else { "" };
        format!("{}.{name}{descriptor}", self.class)
    }
}

fn overloaded(class: &ClassFile<'_>) -> HashSet<String> {
    let mut seen = HashSet::new();
    let names = class.methods.iter().filter(|m| m.has_code()).map(|m| m.name_str().into_owned());
    names.filter(|name| !seen.insert(name.clone())).collect()
}

/// Adds a method with its counts. Without line numbers it is in no file.
fn add(file: &mut File, name: &str, annotation: &Annotation) {
    let Some(first) = annotation.rows.iter().find_map(|row| row.line) else { return };
    file.function(name, first, annotation.calls);
    let mut of_method = Lines::new();
    lines::add(&mut of_method, annotation);
    of_method.iter().for_each(|(number, line)| file.line(*number, line.executions));
    for row in &annotation.rows {
        let is_choice = |way: &Way| matches!(way, Way::Taken | Way::NotTaken | Way::Case { .. });
        let counts = row.outcomes.iter().filter(|outcome| is_choice(&outcome.way)).map(|outcome| outcome.count);
        let ways: Vec<Option<u64>> = counts.map(|count| (row.executions > 0).then_some(count)).collect();
        if let Some(line) = row.line.filter(|_| ways.len() > 1) {
            file.branch(line, name, row.bci, &ways);
        }
    }
}

/// The same with zeros.
fn add_not_run(file: &mut File, name: &str, method: &NotRun) {
    let Some(first) = method.first else { return };
    file.function(name, first, 0);
    method.lines.iter().for_each(|line| file.line(*line, 0));
    for branch in method.branches.iter().filter(|branch| branch.ways > 1) {
        if let Some(line) = branch.line {
            file.branch(line, name, branch.bci, &vec![None; branch.ways]);
        }
    }
}

/// Whether a method of which nothing was counted would have been: what was not covered is no zero.
fn is_covered(profile: &Profile, class: &str, method: &NotRun) -> bool {
    let full = format!("{}{}", method.name, method.descriptor);
    !profile.gaps.iter().any(|gap| gap.class == class && gap.method.as_ref().is_none_or(|m| *m == full))
}

/// Adds the classes of `--classes` that are not in the profile, with zeros; answers the names of all of them.
fn add_program(view: &View, args: &Export, files: &mut Files) -> Result<HashSet<String>> {
    let profile = &view.profile;
    let recorded: HashSet<&str> = profile.classes.iter().filter(|c| !c.hidden).map(|c| c.name.as_str()).collect();
    let selection = Selection::of(profile);
    let mut program: HashSet<String> = HashSet::new();
    let (mut unread, mut left_out, mut refused, mut any_ran) = (Vec::new(), Vec::new(), None, false);
    let mut class_file = |place: &str, bytes: &[u8]| -> Result<()> {
        let class = match ClassFile::parse(bytes) {
            Ok(class) => class,
            Err(e) => {
                unread.push(format!("{place} ({e})"));
                return Ok(());
            }
        };
        let name = class.name_str().into_owned();
        // Of several class files of a name the first is the program's, as on a class path.
        if !program.insert(name.clone()) || recorded.contains(name.as_str()) {
            any_ran |= recorded.contains(name.as_str());
            return Ok(());
        }
        let readable = stable(&name, false);
        if !selection.has(&readable) {
            left_out.push(readable);
            return Ok(());
        }
        let Some(source_file) = class.source_file() else { return Ok(()) };
        let not_run = match lines::all_but(&class, &BTreeSet::new()) {
            Ok(not_run) => not_run,
            Err(e) => {
                unread.push(format!("{place} ({e})"));
                return Ok(());
            }
        };
        let names = Names { class: readable, overloaded: overloaded(&class) };
        let Some(file) = files.of(&name, &source_file)? else { return Ok(()) };
        for method in not_run.iter().filter(|method| is_covered(profile, &name, method)) {
            add_not_run(file, &names.of_method(&method.name, &method.descriptor), method);
        }
        Ok(())
    };
    for place in &args.classes {
        class_files::each(place, &mut |name, bytes| {
            if refused.is_none() {
                refused = class_file(name, bytes).err();
            }
        })?;
    }
    if let Some(refused) = refused {
        return Err(refused);
    }
    for (classes, what) in [(unread, "could not be read"), (left_out, "what include= and exclude= of the recording left out is")]
    {
        if !classes.is_empty() {
            output::note(&format!("{what}: {}", few(&classes, NAMED)));
        }
    }
    if !any_ran {
        output::note(&format!("no class of --classes ran in {}", view.file));
    }
    Ok(program)
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

/// That lines of several versions of a class have been put together.
fn tell_versions(profile: &Profile, wanted: &[bool]) {
    let mut bytes: HashMap<&str, &[u8]> = HashMap::new();
    let mut several: BTreeSet<String> = BTreeSet::new();
    for class in profile.classes.iter().zip(wanted).filter(|(class, wanted)| **wanted && !class.hidden).map(|(class, _)| class) {
        if *bytes.entry(&class.name).or_insert(&class.bytes) != &class.bytes[..] {
            several.insert(stable(&class.name, false));
        }
    }
    if !several.is_empty() {
        let named = few(&several.into_iter().collect::<Vec<_>>(), NAMED);
        output::note(&format!("there are several versions of {named}, whose lines are put together: no source has them all"));
    }
}
