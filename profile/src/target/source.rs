//! One model file, read and checked by itself: its shape, its keys, its formulas; `costs` are its tables of costs. Bases are joined in
//! [`super::model`].

mod costs;

use super::expression::Expression;
use super::names::Space;
use super::{Place, TargetError};
use costs::{read_costs, read_software};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A model file.
#[derive(Debug, Clone, Default)]
pub struct Source {
    /// The file as it was named.
    pub file: String,
    /// Where the file is; none for a model that comes with cprof.
    pub path: Option<PathBuf>,
    /// What is in it.
    pub text: String,
    /// `base`, and where it is named.
    pub base: Option<(String, Place)>,
    /// One line about the model.
    pub title: Option<String>,
    /// How far its numbers can be trusted, as written.
    pub accuracy: Option<(String, Place)>,
    /// What its numbers are, where they are not cycles, and where that is said.
    pub unit: Option<(String, Place)>,
    /// Whether bytecodes cost something only once they have completed; none: it is not said.
    pub only_completed: Option<bool>,
    /// What it does not say.
    pub gaps: Vec<String>,
    /// Where numbers come from, by short name.
    pub sources: BTreeMap<String, String>,
    /// Bytes of a word of memory.
    pub word_bytes: Option<u32>,
    /// Parameters with their values.
    pub parameters: BTreeMap<String, Parameter>,
    /// The method cache, as written.
    pub cache: Option<(String, Place)>,
    /// Short name of where the method cache comes from; empty: it is not said.
    pub cache_source: String,
    /// `[load]`: hit, miss.
    pub load: [Option<Formula>; 2],
    /// Costs by name space and number.
    pub costs: Vec<(Space, usize, Formula)>,
}

/// A parameter.
#[derive(Debug, Clone)]
pub struct Parameter {
    /// Its value unless set otherwise.
    pub value: i64,
    /// The least value that makes sense; none: any does.
    pub min: Option<i64>,
    /// What it is.
    pub about: String,
    /// Where its value comes from: in a file the short name, in a model the text; empty: it is not said.
    pub source: String,
    /// Where it stands.
    pub place: Place,
}

/// A formula with all that reports and errors need.
#[derive(Debug, Clone)]
pub struct Formula {
    /// As written.
    pub text: String,
    /// What it means.
    pub expression: Expression,
    /// To be added to the base's, instead of taking its place.
    pub relative: bool,
    /// An average (from `[software]`).
    pub estimated: bool,
    /// Where it comes from: in a file a short name, in a [`Model`](super::Model) what that stands for.
    pub source: String,
    /// Where the formula begins, behind its `+` if it is relative.
    pub place: Place,
    /// Line and column of each byte of the formula and of its end.
    places: Arc<[(usize, usize)]>,
}

impl Formula {
    /// Where in the file a byte of the expression stands: escapes and line ends are longer there.
    pub fn place_of(&self, at: usize) -> Place {
        match self.places.get(at).or(self.places.last()) {
            Some(&(line, column)) => Place { file: self.place.file.clone(), line, column },
            None => self.place.clone(),
        }
    }
}

/// Reads text and knows where things stand in it.
struct Reader<'t> {
    file: &'t str,
    text: &'t str,
}

type Item<'t> = Spanned<DeValue<'t>>;

impl Reader<'_> {
    fn place(&self, at: usize) -> Place {
        let at = (0..=at.min(self.text.len())).rev().find(|&at| self.text.is_char_boundary(at)).unwrap_or(0);
        Place::behind(self.file, &self.text[..at])
    }

    /// Line and column of places that only rise: the file is not read from its beginning for each.
    fn places(&self, offsets: &[usize]) -> Vec<(usize, usize)> {
        let mut at = offsets.first().copied().unwrap_or_default();
        let Place { mut line, mut column, .. } = self.place(at);
        let place = |&offset: &usize| {
            for c in self.text.get(at..offset).unwrap_or_default().chars() {
                (line, column) = if c == '\n' { (line + 1, 1) } else { (line, column + 1) };
            }
            at = offset;
            (line, column)
        };
        offsets.iter().map(place).collect()
    }

    fn error<T>(&self, span: Range<usize>, message: impl Into<String>) -> Result<T, TargetError> {
        Err(TargetError { place: Some(self.place(span.start)), message: message.into() })
    }

    fn table<'i, 't>(&self, name: &str, item: &'i Item<'t>) -> Result<&'i DeTable<'t>, TargetError> {
        match item.get_ref() {
            DeValue::Table(table) => Ok(table),
            other => self.error(item.span(), format!("{name} must be a table, not {}", other.type_str())),
        }
    }

    fn text(&self, name: &str, item: &Item<'_>) -> Result<String, TargetError> {
        match item.get_ref() {
            DeValue::String(text) => Ok(text.trim().to_owned()),
            other => self.error(item.span(), format!("{name} must be a text in quotes, not {}", other.type_str())),
        }
    }

    fn integer(&self, name: &str, item: &Item<'_>) -> Result<i64, TargetError> {
        if let DeValue::Integer(number) = item.get_ref()
            && let Ok(value) = i64::from_str_radix(number.as_str(), number.radix())
        {
            return Ok(value);
        }
        let quoted = if matches!(item.get_ref(), DeValue::String(_)) { ", without quotes" } else { "" };
        self.error(item.span(), format!("{name} must be a whole number of at most 64 bits{quoted}"))
    }

    fn truth(&self, name: &str, item: &Item<'_>) -> Result<bool, TargetError> {
        match item.get_ref() {
            DeValue::Boolean(value) => Ok(*value),
            other => self.error(item.span(), format!("{name} must be true or false, not {}", other.type_str())),
        }
    }

    fn unknown<T>(&self, key: &Spanned<toml::de::DeString<'_>>, place: &str, known: &[&str]) -> Result<T, TargetError> {
        self.error(key.span(), format!("{place} has no key {:?}; it has {}", key.get_ref(), known.join(", ")))
    }

    /// A formula: a number, or a text in quotes.
    fn formula(&self, name: &str, item: &Item<'_>, source: &str, estimated: bool) -> Result<Formula, TargetError> {
        let span = item.span();
        let (text, offsets) = match item.get_ref() {
            DeValue::Integer(_) if self.text.get(span.clone()).is_some_and(|text| text.starts_with('+')) => {
                return self.error(span, format!("{name} is a number with a plus sign: in quotes, it is added to what the base says; without the sign, it takes its place"));
            }
            DeValue::Integer(_) => (self.integer(name, item)?.to_string(), vec![span.start]),
            DeValue::String(text) => {
                let offsets = offsets(self.text.get(span.clone()).unwrap_or_default(), text);
                (text.to_string(), offsets.into_iter().map(|offset| span.start + offset).collect())
            }
            other => {
                return self.error(span, format!("{name} must be a number or a formula in quotes, not {}", other.type_str()));
            }
        };
        if text.chars().count() > LONGEST {
            return self.error(
                span,
                format!("the formula of {name} is longer than {LONGEST} characters; give parts of it to parameters"),
            );
        }
        let body = text.trim_start();
        let relative = matches!(item.get_ref(), DeValue::String(_)) && body.starts_with(['+', '-']);
        let skipped = text.len() - body.len() + usize::from(body.starts_with('+'));
        let places = self.places(offsets.get(skipped..).unwrap_or_default());
        let place_of = |at: usize| match places.get(at).or(places.last()) {
            Some(&(line, column)) => Place { file: self.file.to_owned(), line, column },
            None => self.place(span.start),
        };
        let expression = Expression::parse(&text[skipped..]).map_err(|e| TargetError {
            place: Some(place_of(e.at)),
            message: format!("in the formula of {name}: {}", e.message),
        })?;
        Ok(Formula {
            text: body.trim_end().to_owned(),
            expression,
            relative,
            estimated,
            source: source.to_owned(),
            place: place_of(0),
            places: places.into(),
        })
    }
}

/// Where each byte of a text and its end stand in `raw`, its notation in TOML: quotes, escapes, line ends that do not count.
fn offsets(raw: &str, text: &str) -> Vec<usize> {
    let quote = raw.chars().next().unwrap_or('"');
    let mut at = quote.len_utf8();
    if raw.starts_with(&String::from(quote).repeat(3)) && raw.len() >= 6 {
        at = 3;
        // The first line end is none of the text's.
        at += ["\r\n", "\n"].iter().find(|end| raw[at..].starts_with(**end)).map_or(0, |end| end.len());
    }
    let rest = |at: usize| raw.get(at..).unwrap_or_default();
    let mut offsets = Vec::with_capacity(text.len() + 1);
    for c in text.chars() {
        // A backslash at a line's end takes all space behind it away.
        while quote == '"' && rest(at).starts_with('\\') && rest(at + 1).starts_with(char::is_whitespace) {
            at += 1;
            at += rest(at).len() - rest(at).trim_start().len();
        }
        offsets.extend(std::iter::repeat_n(at, c.len_utf8()));
        at += match (rest(at).chars().next(), rest(at + 1).chars().next()) {
            (Some('\\'), Some('x')) if quote == '"' => 4,
            (Some('\\'), Some('u')) if quote == '"' => 6,
            (Some('\\'), Some('U')) if quote == '"' => 10,
            (Some('\\'), Some(_)) if quote == '"' => 2,
            (Some('\r'), Some('\n')) if c == '\n' => 2,
            (Some(written), _) => written.len_utf8(),
            (None, _) => 0,
        };
    }
    offsets.push(at);
    offsets
}

const TOP: [&str; 15] = [
    "base",
    "title",
    "accuracy",
    "unit",
    "only_completed",
    "gaps",
    "word_bytes",
    "sources",
    "parameters",
    "cache",
    "load",
    "bytecodes",
    "software",
    "invoke",
    "return",
];

/// Characters of a formula, at most: it is kept for every bytecode that has it, and evaluated for methods of every size.
const LONGEST: usize = 1000;

/// Metrics that there are without any model: nothing else may be called so.
pub const METRICS_WITHOUT_MODEL: [&str; 5] = ["calls", "exceptional_exits", "bytecodes", "entry_misses", "return_misses"];

/// Other columns of exports, and words of budgets.
const COLUMNS: [&str; 12] =
    ["index", "parent", "thread", "class", "method", "descriptor", "native", "file", "site", "line", "own", "total"];

/// Letters of a unit, at most.
const LONGEST_UNIT: usize = 40;

/// More parameters than this are taken for a mistake: the place of each is looked for in the text.
const MOST_PARAMETERS: usize = 1000;

/// Reads a model file.
///
/// # Errors
/// Anything that is no model, with line and column.
pub fn read(file: &str, text: &str) -> Result<Source, TargetError> {
    let reader = Reader { file, text };
    let document = DeTable::parse(text).map_err(|e| TargetError::of_toml(file, text, &e))?;
    let document = document.get_ref();
    let mut model = Source { file: file.to_owned(), text: text.to_owned(), ..Source::default() };
    if let Some(sources) = document.get("sources") {
        for (key, item) in reader.table("[sources]", sources)? {
            model.sources.insert(key.get_ref().to_string(), reader.text(key.get_ref(), item)?);
        }
    }
    // In the order of the text, so that the first mistake is the one reported.
    let mut keys: Vec<_> = document.iter().collect();
    keys.sort_by_key(|(key, _)| key.span().start);
    let mut rest = Vec::new();
    for (key, item) in keys {
        match key.get_ref().as_ref() {
            "sources" => {}
            "base" => model.base = Some((reader.text("base", item)?, reader.place(item.span().start))),
            "title" => match reader.text("title", item)? {
                title if title.is_empty() => return reader.error(item.span(), "title is empty; say what processor it is"),
                title => model.title = Some(title),
            },
            "accuracy" => model.accuracy = Some((reader.text("accuracy", item)?, reader.place(item.span().start))),
            "unit" => model.unit = Some((read_unit(&reader, item)?, reader.place(item.span().start))),
            "only_completed" => model.only_completed = Some(reader.truth("only_completed", item)?),
            "gaps" => read_gaps(&reader, item, &mut model)?,
            "word_bytes" => match reader.integer("word_bytes", item)? {
                bytes @ 1..=64 => model.word_bytes = Some(bytes as u32),
                _ => return reader.error(item.span(), "word_bytes must be between 1 and 64"),
            },
            "parameters" => read_parameters(&reader, item, &mut model)?,
            "cache" => read_cache(&reader, item, &mut model)?,
            "load" => read_load(&reader, item, &mut model)?,
            "bytecodes" => rest.extend(read_costs(&reader, item, "bytecodes", Space::Bytecodes, &mut model)?),
            "invoke" => rest.extend(read_costs(&reader, item, "invoke", Space::Invokes, &mut model)?),
            "return" => rest.extend(read_costs(&reader, item, "return", Space::Returns, &mut model)?),
            "software" => read_software(&reader, item, &mut model)?,
            _ => return reader.unknown(key, "a target model", &TOP),
        }
    }
    // Last: another table, [software], may name what they would stand for.
    for (space, formula) in rest {
        let named: Vec<usize> = model.costs.iter().filter(|c| c.0 == space).map(|c| c.1).collect();
        model.costs.extend(space.all().filter(|n| !named.contains(n)).map(|n| (space, n, formula.clone())));
    }
    Ok(model)
}

/// Metrics are called so, in reports and in budgets.
fn read_unit(reader: &Reader, item: &Item) -> Result<String, TargetError> {
    let unit = reader.text("unit", item)?;
    if METRICS_WITHOUT_MODEL.contains(&unit.as_str()) {
        return reader
            .error(item.span(), format!("{unit} are counted without a model; call what this one counts something else"));
    }
    if COLUMNS.contains(&unit.as_str()) || unit.ends_with("_total") {
        return reader.error(
            item.span(),
            format!("{unit} means something else in exports or budgets; call what is counted something else"),
        );
    }
    if !is_word(&unit) || unit.len() > LONGEST_UNIT {
        let wanted = "unit must be one word, as \"allocations\": a letter, then letters, digits and _";
        return reader.error(item.span(), format!("{wanted}, {LONGEST_UNIT} at most"));
    }
    Ok(unit)
}

/// A letter, and then letters, digits and `_`.
fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn read_gaps(reader: &Reader, item: &Item, model: &mut Source) -> Result<(), TargetError> {
    let DeValue::Array(gaps) = item.get_ref() else {
        return reader.error(item.span(), "gaps must be a list of texts");
    };
    for gap in gaps.iter() {
        model.gaps.push(reader.text("a gap", gap)?);
    }
    Ok(())
}

fn read_parameters(reader: &Reader, item: &Item, model: &mut Source) -> Result<(), TargetError> {
    let parameters = reader.table("[parameters]", item)?;
    if parameters.len() > MOST_PARAMETERS {
        return reader.error(item.span(), format!("there are more than {MOST_PARAMETERS} parameters"));
    }
    for (key, item) in parameters {
        let name = key.get_ref().to_string();
        let why = match &*name {
            "n" | "l" | "miss" => Some("formulas are given that"),
            "max" | "min" | "ceildiv" => Some("it is a function's"),
            _ if !is_word(&name) => Some("it has a letter first, and then letters, digits and _"),
            _ => None,
        };
        if let Some(why) = why {
            return reader.error(key.span(), format!("{name:?} cannot be a parameter's name: {why}"));
        }
        if name == "source" && matches!(item.get_ref(), DeValue::String(_)) {
            return reader
                .error(key.span(), "a parameter names its source itself, as rws = { value = 1, source = \"measured\" }");
        }
        let mut parameter =
            Parameter { value: 0, min: None, about: String::new(), source: String::new(), place: reader.place(key.span().start) };
        match item.get_ref() {
            DeValue::Table(table) => {
                let mut value = None;
                for (key, item) in table {
                    match key.get_ref().as_ref() {
                        "value" => value = Some(reader.integer(&name, item)?),
                        "min" => parameter.min = Some(reader.integer("min", item)?),
                        "about" => parameter.about = reader.text("about", item)?,
                        "source" => parameter.source = source_name(reader, item, model)?,
                        _ => return reader.unknown(key, "a parameter", &["value", "min", "about", "source"]),
                    }
                }
                let Some(value) = value else { return reader.error(item.span(), format!("{name} has no value")) };
                parameter.value = value;
            }
            _ => parameter.value = reader.integer(&name, item)?,
        }
        if parameter.source.is_empty() {
            let value = parameter.value;
            return reader.error(
                item.span(),
                format!(
                    "{name} has no source: say where it comes from, as {name} = {{ value = {value}, source = \"measured\" }}"
                ),
            );
        }
        model.parameters.insert(name, parameter);
    }
    Ok(())
}

fn read_cache(reader: &Reader, item: &Item, model: &mut Source) -> Result<(), TargetError> {
    for (key, item) in reader.table("[cache]", item)? {
        match key.get_ref().as_ref() {
            "default" => model.cache = Some((reader.text("default", item)?, reader.place(item.span().start))),
            "source" => model.cache_source = source_name(reader, item, model)?,
            _ => return reader.unknown(key, "[cache]", &["default", "source"]),
        }
    }
    if model.cache_source.is_empty() {
        return reader.error(item.span(), "[cache] has no source: say where its default comes from");
    }
    Ok(())
}

fn read_load(reader: &Reader, item: &Item, model: &mut Source) -> Result<(), TargetError> {
    let table = reader.table("[load]", item)?;
    let source = table_source(reader, item, table, "[load]", model)?;
    for (key, item) in table {
        match key.get_ref().as_ref() {
            "hit" => model.load[0] = Some(reader.formula("hit", item, &source, false)?),
            "miss" => model.load[1] = Some(reader.formula("miss", item, &source, false)?),
            "source" => {}
            _ => return reader.unknown(key, "[load]", &["hit", "miss", "source"]),
        }
    }
    Ok(())
}

fn table_source(reader: &Reader, item: &Item, table: &DeTable, name: &str, model: &Source) -> Result<String, TargetError> {
    match table.get("source") {
        Some(source) => source_name(reader, source, model),
        None => reader.error(item.span(), format!("{name} has no source: say where its numbers come from")),
    }
}

fn source_name(reader: &Reader, item: &Item, model: &Source) -> Result<String, TargetError> {
    let name = reader.text("source", item)?;
    if model.sources.contains_key(&name) {
        return Ok(name);
    }
    let known: Vec<&str> = model.sources.keys().map(String::as_str).collect();
    let known = if known.is_empty() { "it has none".to_owned() } else { format!("it has {}", known.join(", ")) };
    reader.error(item.span(), format!("[sources] of this file has no {name:?}; {known}"))
}
