//! What was executed, by source file.

mod notes;
mod places;
mod program;

use crate::args::Export;
use crate::loaded::view::View;
use crate::output;
use anyhow::{Context, Result, bail};
use cprof_annotate::lines::{self, Lines, NotRun};
use cprof_annotate::method::{Annotation, Choice, Way, annotate};
use cprof_export::lcov::File;
use cprof_instrument::classfile::ClassFile;
use cprof_profile::model::{Class, Gap, Profile};
use cprof_profile::names::stable;
use notes::Notes;
use places::Places;
use program::Program;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// So many names are in a note.
const NAMED: usize = 4;

/// The files of what is wanted, by path, with all that they have code for. What is left out is told.
pub fn files(view: &View, args: &Export) -> Result<BTreeMap<String, File>> {
    let profile = &view.profile;
    let damaged = || format!("{} cannot be evaluated", view.file);
    let (places, gaps) = (Places::new(args)?, Gaps::of(profile));
    let mut coverage = Coverage { files: BTreeMap::new(), places, gaps, notes: Notes::default() };
    let program = (!args.classes.is_empty()).then(|| Program::read(args, profile, &mut coverage)).transpose()?;

    let nodes = view.chosen_nodes();
    let ran = view.ran(&nodes);
    let positions = lines::positions(profile, &ran);
    let is_wanted = |(class, positions): (&Class, &BTreeSet<u16>)| match &program {
        Some(program) => program.has(&class.name),
        None => !positions.is_empty(),
    };
    let wanted: Vec<bool> = profile.classes.iter().zip(&positions).map(is_wanted).collect();
    if let Some(program) = &program {
        let any_ran = wanted.iter().zip(&positions).any(|(wanted, positions)| *wanted && !positions.is_empty());
        output::notes(&program.told(view, any_ran));
    }

    let mut names: HashMap<&str, Names> = HashMap::new();
    for (class, _) in profile.classes.iter().zip(&wanted).filter(|(_, wanted)| **wanted) {
        let names = names.entry(&class.name).or_insert_with(|| Names::new(stable(&class.name, class.hidden)));
        // What is damaged is so below.
        ClassFile::parse(&class.bytes).iter().for_each(|parsed| names.add(parsed));
    }
    let choice = Choice { profile, measures: &view.measures, nodes: &nodes, charges: None };
    let is_shown = |method: u32| ran[method as usize] && wanted[profile.methods[method as usize].class as usize];
    let mut refused = None;
    annotate(&choice, is_shown, |annotation| {
        let method = &profile.methods[annotation.method as usize];
        let class = &profile.classes[method.class as usize];
        let name = names[class.name.as_str()].of_method(&method.name, &method.descriptor);
        let added = coverage.add(&class.name, &class.source_file, &name, &annotation);
        refused = refused.take().or(added.err());
    })
    .with_context(damaged)?;
    if let Some(refused) = refused {
        return Err(refused);
    }
    for (number, class) in profile.classes.iter().enumerate().filter(|(number, _)| wanted[*number]) {
        let not_run = lines::not_run(profile, number as u32, &positions).with_context(damaged)?;
        coverage.add_not_run(&class.name, &class.source_file, &names[class.name.as_str()], &not_run)?;
    }
    let Coverage { files, places, notes, .. } = coverage;
    output::notes(&notes.told(view, &places, program.is_some()));
    output::notes(&notes::of_sources(view, &places));
    output::notes(&notes::of_profile(profile, &wanted));
    if files.is_empty() {
        bail!("{}: there is no line to write{}", view.file, notes.way_out(&places));
    }
    Ok(files)
}

/// Files by path.
struct Coverage<'p> {
    files: BTreeMap<String, File>,
    places: Places,
    gaps: Gaps<'p>,
    notes: Notes,
}

impl Coverage<'_> {
    /// The file of a method's class, with the method in it; none where it was not found, or where the method has no `lines`, the
    /// first in its code and the last of all.
    fn file(
        &mut self,
        class: &str,
        source_file: &str,
        (name, lines, calls): (&str, Option<(u16, u16)>, u64),
    ) -> Result<Option<&mut File>> {
        let lines = lines.filter(|_| !source_file.is_empty());
        self.notes.method(class, lines.is_some());
        let Some((first, last)) = lines else { return Ok(None) };
        let Some(path) = self.places.path(class, source_file, last)? else { return Ok(None) };
        let file = self.files.entry(path).or_default();
        file.function(name, first, calls);
        Ok(Some(file))
    }

    /// Adds a method with its counts.
    fn add(&mut self, class: &str, source_file: &str, name: &str, annotation: &Annotation) -> Result<()> {
        let lines = || annotation.rows.iter().filter_map(|row| row.line);
        let lines = lines().next().zip(lines().max());
        let Some(file) = self.file(class, source_file, (name, lines, annotation.calls))? else { return Ok(()) };
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
        Ok(())
    }

    /// Adds methods of a class with zeros, but for those that were not covered.
    fn add_not_run(&mut self, class: &str, source_file: &str, names: &Names, methods: &[NotRun]) -> Result<()> {
        for method in methods {
            if self.gaps.has(class, method) {
                self.notes.gap();
                continue;
            }
            let name = names.of_method(&method.name, &method.descriptor);
            let lines = method.first.zip(method.lines.last().copied());
            let Some(file) = self.file(class, source_file, (&name, lines, 0))? else { continue };
            method.lines.iter().for_each(|line| file.line(*line, 0));
            for branch in method.branches.iter().filter(|branch| branch.ways > 1) {
                if let Some(line) = branch.line {
                    file.branch(line, &name, branch.bci, &vec![None; branch.ways]);
                }
            }
        }
        Ok(())
    }
}

/// What was not covered, by class: that is no zero.
struct Gaps<'p>(HashMap<&'p str, Vec<&'p Gap>>);

impl<'p> Gaps<'p> {
    fn of(profile: &'p Profile) -> Gaps<'p> {
        let mut gaps: HashMap<&str, Vec<&Gap>> = HashMap::new();
        profile.gaps.iter().for_each(|gap| gaps.entry(&gap.class).or_default().push(gap));
        Gaps(gaps)
    }

    fn has(&self, class: &str, method: &NotRun) -> bool {
        self.0.get(class).is_some_and(|gaps| gaps.iter().any(|gap| gap.is_of(class, &method.name, &method.descriptor)))
    }
}

/// What the lines and branches of a class file are, to tell versions of a class apart: the JVM gives an agent that comes later the
/// same class in other bytes. None where it is damaged.
fn layout(bytes: &[u8]) -> Option<Vec<NotRun>> {
    let class = ClassFile::parse(bytes).ok()?;
    let mut methods = lines::all_but(&class, &BTreeSet::new()).ok()?;
    methods.sort_by(|a, b| (&a.name, &a.descriptor).cmp(&(&b.name, &b.descriptor)));
    Some(methods)
}

/// Whether two class files are the same in that.
fn same_layout(one: &[u8], other: &[u8]) -> bool {
    one == other || layout(one).is_some_and(|one| layout(other).is_some_and(|other| one == other))
}

/// How the methods of a class are called in a file that may have other classes, too.
struct Names {
    /// The class, for people.
    class: String,
    /// Descriptors by name, of all its versions.
    descriptors: HashMap<String, BTreeSet<String>>,
}

impl Names {
    fn new(class: String) -> Names {
        Names { class, descriptors: HashMap::new() }
    }

    /// Adds a version of the class.
    fn add(&mut self, class: &ClassFile<'_>) {
        for method in class.methods.iter().filter(|m| m.has_code()) {
            self.descriptors.entry(method.name_str().into_owned()).or_default().insert(method.descriptor_str().into_owned());
        }
    }

    /// `com.acme.Main.run`, and with a descriptor if there are several.
    fn of_method(&self, name: &str, descriptor: &str) -> String {
        let is_overloaded = self.descriptors.get(name).is_some_and(|descriptors| descriptors.len() > 1);
        let descriptor = if is_overloaded { descriptor } else { "" };
        format!("{}.{name}{descriptor}", self.class)
    }
}
