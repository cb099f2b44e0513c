//! What bytecodes, calls and returns cost: the tables of a model file that are made of costs.

use super::{Formula, Item, Reader, Source, source_name, table_source};
use crate::target::TargetError;
use crate::target::names::Space;
use toml::Spanned;
use toml::de::DeValue;

/// A table of costs: keys name bytecodes or kinds of calls, values are formulas or `{ cost = …, source = … }`. Returns that of
/// `"*"`, which is everything that has no key of its own.
pub(super) fn read_costs(
    reader: &Reader,
    item: &Item,
    name: &str,
    space: Space,
    model: &mut Source,
) -> Result<Option<(Space, Formula)>, TargetError> {
    let table = reader.table(&format!("[{name}]"), item)?;
    let mut default_source = None;
    if let Some(item) = table.get("source") {
        default_source = Some(source_name(reader, item, model)?);
    }
    let mut rest = None;
    for (key, item) in table {
        let key_text = key.get_ref().as_ref();
        if key_text == "source" {
            continue;
        }
        let mut source = default_source.clone();
        let mut cost = item;
        if let DeValue::Table(entry) = item.get_ref() {
            if entry.get("cost").is_none() {
                return reader.error(item.span(), format!("{key_text} has no cost, as in {{ cost = 4, source = \"measured\" }}"));
            }
            for (key, item) in entry {
                match key.get_ref().as_ref() {
                    "cost" => cost = item,
                    "source" => source = Some(source_name(reader, item, model)?),
                    _ => return reader.unknown(key, "a cost", &["cost", "source"]),
                }
            }
        }
        let Some(source) = source else {
            return reader.error(item.span(), format!("{key_text} has no source: name one, here or for all of [{name}]"));
        };
        let formula = reader.formula(key_text, cost, &source, false)?;
        if key_text == "*" {
            rest = Some((space, formula));
            continue;
        }
        let numbers = space.numbers(key_text).or_else(|message| reader.error(key.span(), message))?;
        for number in numbers {
            add(reader, key, space, number, formula.clone(), model)?;
        }
    }
    Ok(rest)
}

/// `[software]`: bytecodes that the processor leaves to software, all at one average cost.
pub(super) fn read_software(reader: &Reader, item: &Item, model: &mut Source) -> Result<(), TargetError> {
    let table = reader.table("[software]", item)?;
    let source = table_source(reader, item, table, "[software]", model)?;
    let mut cost = None;
    let mut bytecodes = None;
    for (key, item) in table {
        match key.get_ref().as_ref() {
            "cost" => cost = Some(reader.formula("cost", item, &source, true)?),
            "bytecodes" => bytecodes = Some((key, item)),
            "source" => {}
            _ => return reader.unknown(key, "[software]", &["cost", "bytecodes", "source"]),
        }
    }
    let (Some(cost), Some((key, list))) = (cost, bytecodes) else {
        return reader.error(item.span(), "[software] needs cost and bytecodes");
    };
    let DeValue::Array(list) = list.get_ref() else {
        return reader.error(list.span(), "bytecodes must be a list of names");
    };
    for item in list.iter() {
        let text = reader.text("a bytecode", item)?;
        let numbers = Space::Bytecodes.numbers(&text).or_else(|message| reader.error(item.span(), message))?;
        for number in numbers {
            add(reader, key, Space::Bytecodes, number, cost.clone(), model)?;
        }
    }
    Ok(())
}

fn add(
    reader: &Reader,
    key: &Spanned<toml::de::DeString<'_>>,
    space: Space,
    number: usize,
    formula: Formula,
    model: &mut Source,
) -> Result<(), TargetError> {
    if let Some(other) = model.costs.iter().find(|c| (c.0, c.1) == (space, number)) {
        let name = space.name(number);
        let lines = (other.2.place.line, formula.place.line);
        return reader
            .error(key.span(), format!("{name} has two costs in this file, in line {} and in line {}", lines.0, lines.1));
    }
    model.costs.push((space, number, formula));
    Ok(())
}
