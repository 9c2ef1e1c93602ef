//! The table `[inputs]` of a machine file: what the sources leave open for a key, as values that it may have.
//!
//! It changes nothing of the machine. It is checked, so that each value is one that `--set` would take, and left out
//! of the configuration: a range that becomes narrower makes no other machine.

use toml::de::{DeTable, DeValue};

use super::ConfigError;
use super::parse::{MachineFile, Override, changed, line_at};

/// The key of the table in a machine file.
const TABLE: &str = "inputs";
/// Values that a key may have at least and at most.
const VALUES: std::ops::RangeInclusive<usize> = 2..=16;
/// Keys with values at most.
const KEYS_MOST: usize = 64;

/// The table `[inputs]`, taken out of a machine file.
pub(super) fn take(table: &mut toml::Table) -> Option<toml::Value> {
    table.remove(TABLE)
}

/// The same of a table with the places of its values.
pub(super) fn leave_out(table: &mut DeTable<'_>) {
    table.remove(TABLE);
}

/// Checks the table of a file whose machine is right, and is `table` as TOML.
///
/// # Errors
/// Names line, key and value, and what is allowed.
pub(super) fn check<File: MachineFile>(
    inputs: &toml::Value,
    table: &toml::Table,
    text: &str,
    file: &str,
) -> Result<(), ConfigError> {
    let fail = |path: &str, message: String| ConfigError::InFile {
        file: file.to_owned(),
        line: line_of(text, path),
        message,
    };
    let mut found = Vec::new();
    keys(inputs, String::new(), &mut found);
    if !inputs.is_table() {
        return Err(fail(
            "",
            format!("`{TABLE}` is no table of keys and their values"),
        ));
    }
    if found.len() > KEYS_MOST {
        return Err(fail(
            "",
            format!(
                "`{TABLE}` has {} keys: allowed are up to {KEYS_MOST}",
                found.len()
            ),
        ));
    }
    let (mut first, mut last) = (Vec::new(), Vec::new());
    for (path, value) in &found {
        let name = format!("`{TABLE}`, {path}");
        let values = value
            .as_array()
            .filter(|values| VALUES.contains(&values.len()));
        let Some(values) = values else {
            let (least, most) = (VALUES.start(), VALUES.end());
            return Err(fail(
                path,
                format!(
                    "{name}: write a list of {least} to {most} values, the fastest first, as in [5, 12]"
                ),
            ));
        };
        let number = |value: &toml::Value| match value {
            toml::Value::Integer(value) => Some(*value as f64),
            toml::Value::Float(value) => Some(*value),
            _ => None,
        };
        if values.first() == values.last() {
            let message =
                format!("{name}: the first value is the last one, so that nothing varies");
            return Err(fail(path, message));
        }
        let numbers: Vec<f64> = values.iter().filter_map(number).collect();
        let own = at(table, path).and_then(number);
        if let Some(own) = own.filter(|_| numbers.len() == values.len())
            && (numbers.iter().all(|&value| value < own)
                || numbers.iter().all(|&value| own < value))
        {
            let message = format!("{name}: the file's own value, {own}, is not between these");
            return Err(fail(path, message));
        }
        for value in values {
            let setting = Override::of(path, value.clone());
            changed::<File>(table, std::slice::from_ref(&setting))
                .map_err(|error| fail(path, format!("{name}={value}: {}", words(&error))))?;
        }
        first.push(Override::of(path, values[0].clone()));
        last.push(Override::of(path, values[values.len() - 1].clone()));
    }
    for (settings, which) in [(first, "first"), (last, "last")] {
        if !settings.is_empty() {
            changed::<File>(table, &settings).map_err(|error| {
                fail(
                    "",
                    format!(
                        "`{TABLE}`, the {which} values of all keys together: {}",
                        words(&error)
                    ),
                )
            })?;
        }
    }
    Ok(())
}

/// The keys with their dotted paths: written as `bus.read-first`, with quotes or without.
fn keys<'a>(value: &'a toml::Value, path: String, found: &mut Vec<(String, &'a toml::Value)>) {
    match value {
        toml::Value::Table(table) => {
            for (key, value) in table {
                let path = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                keys(value, path, found);
            }
        }
        _ => found.push((path, value)),
    }
}

/// The value of a dotted key.
fn at<'a>(table: &'a toml::Table, path: &str) -> Option<&'a toml::Value> {
    let (first, rest) = path.split_once('.').unwrap_or((path, ""));
    let value = table.get(first)?;
    if rest.is_empty() {
        Some(value)
    } else {
        at(value.as_table()?, rest)
    }
}

fn words(error: &ConfigError) -> &str {
    match error {
        ConfigError::Unreadable { message, .. }
        | ConfigError::InFile { message, .. }
        | ConfigError::InOverride { message, .. } => message,
    }
}

/// The line of a key of the table, or of the table.
fn line_of(text: &str, path: &str) -> usize {
    fn within(table: &DeTable<'_>, path: &str) -> Option<usize> {
        table.iter().find_map(|(key, value)| {
            let rest = path.strip_prefix(key.get_ref().as_ref())?;
            match (rest.strip_prefix('.'), value.get_ref()) {
                (None, _) if rest.is_empty() => Some(key.span().start),
                (Some(rest), DeValue::Table(inner)) => within(inner, rest),
                _ => None,
            }
        })
    }
    let parsed = DeTable::parse(text).ok();
    let root = parsed.as_ref().map(toml::Spanned::get_ref);
    let place = root.and_then(|root| {
        let (key, value) = root.get_key_value(TABLE)?;
        let inner = match value.get_ref() {
            DeValue::Table(inner) => within(inner, path),
            _ => None,
        };
        inner.or(Some(key.span().start))
    });
    place.map_or(1, |offset| line_at(text, offset))
}
