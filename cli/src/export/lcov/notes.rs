//! What is not in the files, or may be another in them than it seems.

use super::places::{Found, Places};
use super::{NAMED, same_layout};
use crate::loaded::view::View;
use cprof_profile::model::{Profile, RunFacts};
use cprof_profile::names::{argument, counted, few, stable};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// What is found out while they are made.
#[derive(Default)]
pub struct Notes {
    /// Methods that were not covered.
    gaps: u64,
    /// Classes (internal names) with code, and whether some of it is on a line.
    lines: BTreeMap<String, bool>,
}

impl Notes {
    /// A method was not covered.
    pub fn gap(&mut self) {
        self.gaps += 1;
    }

    /// A method of a class has lines of a source file, or none.
    pub fn method(&mut self, class: &str, has_lines: bool) {
        match self.lines.get_mut(class) {
            Some(known) => *known |= has_lines,
            None => drop(self.lines.insert(class.to_owned(), has_lines)),
        }
    }

    /// What was not covered, and, of a program's own classes, what is on no line and in no source.
    pub fn told(&self, view: &View, places: &Places, of_program: bool) -> Vec<String> {
        let mut told = Vec::new();
        if self.gaps > 0 {
            let methods = counted(self.gaps, "method was", "methods were");
            let list = format!("cprof report {} --coverage lists why", argument(&view.file));
            told.push(format!("{methods} not covered, and left out; {list}"));
        }
        let bare: Vec<String> = self.lines.iter().filter(|(_, has)| !**has).map(|(class, _)| stable(class, false)).collect();
        if of_program && !bare.is_empty() {
            let classes = counted(bare.len() as u64, "class has", "classes have");
            let named = few(&bare, NAMED);
            told.push(format!("{classes} no line numbers or no name of a source (javac -g), and left out: {named}"));
        }
        let missing = places.missing();
        if of_program && !missing.is_empty() {
            let files = counted(missing.len() as u64, "source file was", "source files were");
            let named = few(&missing, NAMED);
            told.push(format!("{files} not found in --source, where the packages' directories should be, and left out: {named}"));
        }
        told
    }

    /// For who has got nothing, where the notes do not say it.
    pub fn way_out(&self, places: &Places) -> &'static str {
        match () {
            () if !places.missing().is_empty() => "; --source is the directory in which those of the packages are",
            () if self.lines.is_empty() => "",
            () => "; its classes have no line numbers or no name of a source (javac -g)",
        }
    }
}

/// Sources that are not what the classes were compiled from, as far as that shows.
pub fn of_sources(view: &View, places: &Places) -> Vec<String> {
    let named = |is: &dyn Fn(&Found) -> bool| {
        let names: Vec<&String> = places.found().filter(|found| is(found)).map(|found| &found.name).collect();
        (!names.is_empty()).then(|| few(&names, NAMED))
    };
    let short = named(&|found| found.last > found.lines);
    let newer = named(&|found| found.file.as_ref().is_some_and(|file| view.is_older_than(file)));
    let short =
        short.map(|files| format!("the classes have lines that these sources do not have, of which they are not: {files}"));
    let newer = newer.map(|files| format!("changed after the profile was taken, so that lines may be others: {files}"));
    short.into_iter().chain(newer).collect()
}

/// What the recording, or a merge of several, makes of it.
pub fn of_profile(profile: &Profile, wanted: &[bool]) -> Vec<String> {
    let mut told = Vec::new();
    let mut bytes: HashMap<&str, &[u8]> = HashMap::new();
    let mut several: BTreeSet<String> = BTreeSet::new();
    for class in profile.classes.iter().zip(wanted).filter(|(class, wanted)| **wanted && !class.hidden).map(|(class, _)| class) {
        if !same_layout(bytes.entry(&class.name).or_insert(&class.bytes), &class.bytes) {
            several.insert(stable(&class.name, false));
        }
    }
    if !several.is_empty() {
        let named = few(&several.iter().collect::<Vec<_>>(), NAMED);
        told.push(format!("there are several versions of {named}, whose lines are put together: no source has them all"));
    }
    let mut runs: Vec<&RunFacts> = profile.runs.iter().map(|run| &run.facts).collect();
    if runs.is_empty() {
        runs.push(&profile.run);
    }
    // One without roots has counted everything.
    if runs.iter().all(|run| !run.roots.is_empty()) {
        let roots: BTreeSet<&String> = runs.iter().flat_map(|run| &run.roots).collect();
        let roots = few(&roots.into_iter().collect::<Vec<_>>(), NAMED);
        told.push(format!("only calls of {roots} were counted, and what they call: what else ran has zeros"));
    }
    told
}
