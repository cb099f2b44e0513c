//! A model with its bases joined, its parameters set and its formulas evaluated.

use super::names::Space;
use super::source::{Formula, Parameter, Source};
use super::{CYCLES, Cost, CycleEstimator, InvokeKind, Place, TargetError};
use crate::cache::CacheSpec;
use crate::options::MOST_BLOCKS;
use cprof_instrument::classfile::instructions::Instruction;
use cprof_instrument::classfile::opcode::op;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// How far a model's numbers can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accuracy {
    /// Cycles are those of the processor, but for what the gaps say.
    Exact,
    /// A variation of an exact model that nobody built or measured.
    Hypothetical,
    /// Some costs were measured or published, the others are approximations that the gaps state.
    Coarse,
}

impl Accuracy {
    /// All, with their names.
    pub const ALL: [(Accuracy, &'static str); 3] =
        [(Accuracy::Exact, "exact"), (Accuracy::Hypothetical, "hypothetical"), (Accuracy::Coarse, "coarse")];
}

impl fmt::Display for Accuracy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::ALL.iter().find(|a| a.0 == *self).map_or("", |a| a.1);
        f.pad(name)
    }
}

/// The sum of these is a cost: an entry, and what overlays add to it.
type Terms = Vec<Formula>;

/// A target model.
#[derive(Debug, Clone)]
pub struct Model {
    name: String,
    /// One line about it.
    pub title: String,
    /// How far its numbers can be trusted.
    pub accuracy: Accuracy,
    /// What its numbers are: [`CYCLES`], or what it counts that is no processor.
    pub unit: String,
    only_completed: bool,
    /// What it does not say, its own gaps first, then its base's.
    pub gaps: Vec<String>,
    /// Its file, its base's, and so on.
    pub files: Vec<String>,
    /// Where those of them are that do not come with cprof, without links.
    pub paths: Vec<PathBuf>,
    /// What is in those.
    pub texts: Vec<String>,
    /// Parameters with the values now set.
    pub parameters: BTreeMap<String, Parameter>,
    cache: CacheSpec,
    /// Where the method cache comes from; empty: its files do not say.
    pub cache_source: String,
    word_bytes: u32,
    load: [Terms; 2],
    costs: BTreeMap<(u8, usize), Terms>,
    /// By opcode.
    bytecodes: Vec<Cost>,
}

fn key(space: Space, number: usize) -> (u8, usize) {
    (space as u8, number)
}

fn at<T>(place: &Place, message: impl Into<String>) -> Result<T, TargetError> {
    Err(TargetError { place: Some(place.clone()), message: message.into() })
}

/// What formulas can refer to beside parameters.
#[derive(Clone, Copy)]
struct Given<'a> {
    parameters: &'a BTreeMap<String, Parameter>,
    /// Size in words, load time, whether it missed.
    call: Option<(i64, Option<i64>, i64)>,
}

impl Given<'_> {
    fn value(&self, name: &str) -> Option<i64> {
        match (name, self.call) {
            ("n", Some((n, ..))) => Some(n),
            ("l", Some((_, l, _))) => l,
            ("miss", Some((.., miss))) => Some(miss),
            _ => self.parameters.get(name).map(|p| p.value),
        }
    }
}

impl Model {
    /// Joins a file with its bases: `chain[0]` is the model itself, each next one the base of the one before.
    ///
    /// # Errors
    /// Something is missing, refers to what is not there, or has no value.
    pub fn new(name: &str, chain: Vec<Source>) -> Result<Model, TargetError> {
        let mut model = Model {
            name: name.to_owned(),
            title: String::new(),
            accuracy: Accuracy::Coarse,
            unit: CYCLES.to_owned(),
            only_completed: chain.iter().find_map(|s| s.only_completed).unwrap_or(false),
            gaps: chain.iter().flat_map(|s| s.gaps.clone()).collect(),
            files: chain.iter().map(|s| s.file.clone()).collect(),
            paths: chain.iter().filter_map(|s| s.path.clone()).collect(),
            texts: chain.iter().filter(|s| s.path.is_some()).map(|s| s.text.clone()).collect(),
            parameters: BTreeMap::new(),
            cache: CacheSpec::IDEAL,
            cache_source: String::new(),
            word_bytes: 4,
            load: [Vec::new(), Vec::new()],
            costs: BTreeMap::new(),
            bytecodes: Vec::new(),
        };
        let first = Place { file: model.files.first().cloned().unwrap_or_default(), line: 1, column: 1 };
        let required = |what: &str| at(&first, format!("the model has no {what}"));
        match chain.first() {
            Some(Source { title: Some(title), .. }) => model.title = title.clone(),
            _ => return required("title"),
        }
        match chain.first().and_then(|s| s.accuracy.as_ref()) {
            Some((text, place)) => match Accuracy::ALL.iter().find(|a| a.1 == text) {
                Some((accuracy, _)) => model.accuracy = *accuracy,
                None => return at(place, format!("accuracy is {}, not {text:?}", Accuracy::ALL.map(|a| a.1).join(" or "))),
            },
            None => return required("accuracy"),
        }
        let unit = chain.iter().find_map(|s| s.unit.clone());
        for source in chain.into_iter().rev() {
            model.overlay(source)?;
        }
        if let Some((unit, place)) = unit {
            model.unit = unit;
            model.check_counts_alone(&place)?;
        }
        model.check_complete(&first)?;
        model.check_names()?;
        model.evaluate()?;
        Ok(model)
    }

    /// Puts a file's entries over what is there.
    fn overlay(&mut self, source: Source) -> Result<(), TargetError> {
        let sources = source.sources;
        let named = |short: &str| sources.get(short).cloned().unwrap_or_default();
        if let Some((text, place)) = &source.cache {
            self.cache = CacheSpec::from_str(text).or_else(|e| at(place, e.to_string()))?;
            // Runs for this target would be refused.
            if self.cache.blocks > MOST_BLOCKS {
                return at(place, format!("{text:?} has more blocks than can be simulated, which is {MOST_BLOCKS}"));
            }
            self.cache_source = named(&source.cache_source);
        }
        self.word_bytes = source.word_bytes.unwrap_or(self.word_bytes);
        for (name, mut parameter) in source.parameters {
            if let Some(base) = self.parameters.get(&name) {
                parameter.min = parameter.min.or(base.min);
                if parameter.about.is_empty() {
                    parameter.about.clone_from(&base.about);
                }
            }
            if let Some(min) = parameter.min.filter(|&min| parameter.value < min) {
                return at(&parameter.place, below(&name, parameter.value, min));
            }
            parameter.source = named(&parameter.source);
            self.parameters.insert(name, parameter);
        }
        for (terms, formula) in self.load.iter_mut().zip(source.load) {
            if let Some(mut formula) = formula {
                formula.source = named(&formula.source);
                put(terms, formula, "the load time")?;
            }
        }
        for (space, number, mut formula) in source.costs {
            formula.source = named(&formula.source);
            put(self.costs.entry(key(space, number)).or_default(), formula, space.name(number))?;
        }
        Ok(())
    }

    /// That a model which counts something else than cycles has no method cache.
    fn check_counts_alone(&self, place: &Place) -> Result<(), TargetError> {
        if self.counts_cycles() || self.cache == CacheSpec::IDEAL {
            return Ok(());
        }
        let (unit, cache) = (&self.unit, self.cache);
        let way_out = "say default = \"ideal\" in its [cache], with its source, or leave unit out";
        at(place, format!("a model that counts {unit} has no method cache, and this one, or its base, has {cache}; {way_out}"))
    }

    /// Whether its numbers are cycles.
    pub fn counts_cycles(&self) -> bool {
        self.unit == CYCLES
    }

    fn check_complete(&self, first: &Place) -> Result<(), TargetError> {
        for (space, table) in [(Space::Bytecodes, "[bytecodes]"), (Space::Invokes, "[invoke]"), (Space::Returns, "[return]")] {
            let missing: Vec<&str> =
                space.all().filter(|&n| !self.costs.contains_key(&key(space, n))).map(|n| space.name(n)).collect();
            if !missing.is_empty() {
                return at(
                    first,
                    format!("{table} gives no cost for {}; \"*\" stands for all that have no key", missing.join(", ")),
                );
            }
        }
        if self.load[0].is_empty() != self.load[1].is_empty() {
            return at(first, "[load] needs both hit and miss");
        }
        Ok(())
    }

    fn check_names(&self) -> Result<(), TargetError> {
        let costs =
            self.costs.iter().map(|((space, _), terms)| (*space != Space::Bytecodes as u8, !self.load[0].is_empty(), terms));
        let load = self.load.iter().map(|terms| (true, false, terms));
        for (in_call, has_load, terms) in costs.chain(load) {
            for formula in terms {
                let mut unknown = None;
                formula.expression.names(&mut |name, offset| {
                    let given = match name {
                        "n" | "miss" => in_call,
                        "l" => in_call && has_load,
                        name => self.parameters.contains_key(name),
                    };
                    if !given && unknown.is_none() {
                        unknown = Some((name, offset));
                    }
                });
                if let Some((name, offset)) = unknown {
                    let place = formula.place_of(offset);
                    let mut known: Vec<&str> = self.parameters.keys().map(String::as_str).collect();
                    if in_call {
                        known.extend(["n", "miss"]);
                    }
                    if has_load && in_call {
                        known.push("l");
                    }
                    let hint = if name == "l" && in_call && self.load[0].is_empty() { "; l needs a [load] table" } else { "" };
                    let known = if known.is_empty() { "none at all".to_owned() } else { known.join(", ") };
                    return at(
                        &place,
                        format!("the formula uses {name}, which is not among the names it may use: {known}{hint}"),
                    );
                }
            }
        }
        Ok(())
    }

    /// Evaluates what does not depend on calls, and tries what does.
    fn evaluate(&mut self) -> Result<(), TargetError> {
        let mut bytecodes = vec![Cost::default(); 256];
        for opcode in Space::Bytecodes.all() {
            let terms = &self.costs[&key(Space::Bytecodes, opcode)];
            let cycles = self.sum(terms, None, Space::Bytecodes.name(opcode))?;
            bytecodes[opcode] = Cost { cycles, estimated: terms.iter().any(|t| t.estimated) };
        }
        self.bytecodes = bytecodes;
        [None, Some(1), Some(self.most_words())].into_iter().try_for_each(|miss| self.try_calls(miss))?;
        if let Some(clock) = self.parameters.get("clock_mhz").filter(|p| p.value < 1) {
            return at(&clock.place, below("clock_mhz", clock.value, 1));
        }
        Ok(())
    }

    /// The words of the largest method (JVMS §4.7.3).
    fn most_words(&self) -> u32 {
        u32::from(u16::MAX).div_ceil(self.word_bytes)
    }

    fn try_calls(&self, miss: Option<u32>) -> Result<(), TargetError> {
        for kind in InvokeKind::ALL {
            self.invoke(kind, miss)?;
        }
        for opcode in Space::Returns.all() {
            self.leave(opcode as u8, miss)?;
        }
        Ok(())
    }

    /// Tries the costs of calls for methods of every size; loading a model tries the smallest and the largest.
    ///
    /// # Errors
    /// One has no value, or one below 0.
    pub fn try_all_sizes(&self) -> Result<(), TargetError> {
        (1..=self.most_words()).try_for_each(|words| self.try_calls(Some(words)))
    }

    fn sum(&self, terms: &Terms, call: Option<(i64, Option<i64>, i64)>, what: &str) -> Result<u64, TargetError> {
        let given = Given { parameters: &self.parameters, call };
        let mut sum = 0i64;
        for formula in terms {
            let fail = |offset: usize, message: String| {
                let place = formula.place_of(offset);
                let mut used: Vec<String> = Vec::new();
                formula.expression.names(&mut |name, _| {
                    let value = given.value(name).map_or_else(String::new, |v| format!("{name} = {v}"));
                    if !used.contains(&value) {
                        used.push(value);
                    }
                });
                let with = if used.is_empty() { String::new() } else { format!(" with {}", used.join(", ")) };
                TargetError { place: Some(place), message: format!("the cost of {what}{with}: {message}") }
            };
            let value = formula.expression.evaluate(&|name| given.value(name)).map_err(|e| fail(e.at, e.message))?;
            sum = sum.checked_add(value).ok_or_else(|| fail(0, "the value does not fit 64 bits".into()))?;
            if std::ptr::eq(formula, &terms[terms.len() - 1]) && sum < 0 {
                return Err(fail(0, format!("it is {sum}, and no cost can be below 0")));
            }
        }
        Ok(sum as u64)
    }

    fn call(&self, space: Space, number: usize, miss: Option<u32>) -> Result<u64, TargetError> {
        let n = i64::from(miss.unwrap_or(0));
        let load = &self.load[usize::from(miss.is_some())];
        let missed = i64::from(miss.is_some());
        let l = match load.is_empty() {
            true => None,
            false => Some(self.sum(load, Some((n, None, missed)), "loading a method")? as i64),
        };
        self.sum(&self.costs[&key(space, number)], Some((n, l, missed)), space.name(number))
    }

    /// Sets parameters. Costs need have values only with all of them.
    ///
    /// # Errors
    /// There is no such parameter, a value is below its least, or a cost has no value with them.
    pub fn set<'n>(&mut self, values: impl IntoIterator<Item = (&'n str, i64)>) -> Result<(), TargetError> {
        for (name, value) in values {
            self.takes(name, value)?;
            match self.parameters.get_mut(name) {
                Some(parameter) => parameter.value = value,
                None => return Err(self.unknown(name)),
            }
        }
        self.evaluate()
    }

    /// That it has a parameter of this name, whatever values it can have.
    ///
    /// # Errors
    /// It has not; the error says which there are.
    pub fn has(&self, parameter: &str) -> Result<(), TargetError> {
        if self.parameters.contains_key(parameter) { Ok(()) } else { Err(self.unknown(parameter)) }
    }

    /// That the parameter may have this value, whatever the formulas come to with it.
    ///
    /// # Errors
    /// It has a least value, which is greater.
    pub fn takes(&self, parameter: &str, value: i64) -> Result<(), TargetError> {
        match self.parameters.get(parameter).and_then(|parameter| parameter.min) {
            Some(min) if value < min => Err(TargetError::new(below(parameter, value, min))),
            _ => Ok(()),
        }
    }

    fn unknown(&self, parameter: &str) -> TargetError {
        let known: Vec<String> = self.parameters.iter().map(|(n, p)| format!("{n} ({})", p.value)).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        TargetError::new(format!("target {} has no parameter {parameter}; it has {known}", self.name))
    }

    /// The formulas whose sum is a cost, the base's first, each with where it comes from.
    pub fn formulas(&self, space: Space, number: usize) -> impl Iterator<Item = &Formula> {
        self.costs.get(&key(space, number)).into_iter().flatten()
    }

    /// The formulas of the load time on a hit and on a miss.
    pub fn load_formulas(&self, miss: bool) -> impl Iterator<Item = &Formula> {
        self.load[usize::from(miss)].iter()
    }

    /// The cost of an opcode that is neither an invoke nor a return.
    pub fn opcode(&self, opcode: u8) -> Cost {
        self.bytecodes[opcode as usize]
    }
}

fn below(parameter: &str, value: i64, min: i64) -> String {
    format!("{parameter} is {value}, and must be at least {min}")
}

fn put(terms: &mut Terms, formula: Formula, what: &str) -> Result<(), TargetError> {
    if !formula.relative {
        terms.clear();
    } else if terms.is_empty() {
        return at(&formula.place, format!("{what} has no cost in a base that {:?} could change", formula.text));
    }
    terms.push(formula);
    Ok(())
}

impl CycleEstimator for Model {
    fn name(&self) -> &str {
        &self.name
    }

    /// A widened instruction costs what `wide` costs, and what it costs without.
    fn bytecode(&self, instruction: &Instruction<'_>) -> Result<Cost, TargetError> {
        let cost = self.opcode(instruction.opcode);
        if !instruction.is_wide() {
            return Ok(cost);
        }
        let wide = self.opcode(op::WIDE);
        Ok(Cost { cycles: cost.cycles.saturating_add(wide.cycles), estimated: cost.estimated || wide.estimated })
    }

    fn invoke(&self, kind: InvokeKind, miss: Option<u32>) -> Result<u64, TargetError> {
        self.call(Space::Invokes, kind as usize, miss)
    }

    fn leave(&self, opcode: u8, miss: Option<u32>) -> Result<u64, TargetError> {
        self.call(Space::Returns, opcode as usize, miss)
    }

    fn words(&self, code_length: u32) -> u32 {
        code_length.div_ceil(self.word_bytes)
    }

    fn only_completed(&self) -> bool {
        self.only_completed
    }

    fn clock_mhz(&self) -> Option<u64> {
        self.parameters.get("clock_mhz").and_then(|p| u64::try_from(p.value).ok())
    }

    fn cache(&self) -> CacheSpec {
        self.cache
    }
}
