//! From TOML text and `--set` overrides to a checked [`MachineConfig`].

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use serde::de::DeserializeOwned;
use toml::de::{DeTable, DeValue};

use super::check::Problem;
use super::wording::{in_plain_english, whole_number_most};
use super::{ConfigError, MachineConfig, check, inputs};

/// A machine file of one architecture.
pub(crate) trait MachineFile: DeserializeOwned {
    /// What is wrong with it, by key.
    fn problems(&self) -> Vec<Problem>;

    /// What follows from keys for others of a machine without problems.
    fn complete(&mut self);

    /// Why a machine of this `core.kind` cannot have the table or key at `path`. `None`: it may have it, or the kind is
    /// unknown.
    fn refusal(_kind: &str, _path: &str) -> Option<String> {
        None
    }
}

impl MachineFile for MachineConfig {
    fn problems(&self) -> Vec<Problem> {
        check::problems(self)
    }

    fn complete(&mut self) {
        self.tlb.grow();
    }

    fn refusal(kind: &str, path: &str) -> Option<String> {
        let kind = toml::Value::from(kind).try_into().ok()?;
        check::refusal(kind, path)
    }
}

/// One `--set key=value`: a dotted path and a TOML value.
#[derive(Debug, Clone, PartialEq)]
pub struct Override {
    path: String,
    value: toml::Value,
    text: String,
}

impl Override {
    /// Parses `tlb.data.entries=32`. The value is TOML; a bare word is taken as a string.
    ///
    /// # Errors
    /// When there is no `=` or no key before it.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        let fail = |message: &str| ConfigError::InOverride {
            setting: text.to_owned(),
            message: message.to_owned(),
        };
        let (path, value) = text
            .split_once('=')
            .ok_or_else(|| fail("write it as key=value, for example tlb.data.entries=32"))?;
        let path = path.trim();
        if path.is_empty() || path.split('.').any(str::is_empty) {
            return Err(fail(
                "the key before '=' is a dotted path such as tlb.data.entries",
            ));
        }
        let value = value.trim();
        let value = toml::from_str::<toml::Table>(&format!("v = {value}"))
            .ok()
            .and_then(|mut table| table.remove("v"))
            .unwrap_or_else(|| toml::Value::String(value.to_owned()));
        Ok(Override {
            path: path.to_owned(),
            value,
            text: text.to_owned(),
        })
    }

    /// The setting of a key to a value that a file has.
    pub(super) fn of(path: &str, value: toml::Value) -> Self {
        Override {
            path: path.to_owned(),
            text: format!("{path}={value}"),
            value,
        }
    }

    /// Refuses a setting whose path has a table or key that `table` lacks and a core of this kind cannot have. Without
    /// this, the complaint would be that the table's other keys are missing.
    fn check_kind<File: MachineFile>(
        &self,
        table: &toml::Table,
        kind: &str,
    ) -> Result<(), ConfigError> {
        let mut inner = Some(table);
        let ends = self.path.match_indices('.').map(|(end, _)| end);
        for end in ends.chain([self.path.len()]) {
            let path = &self.path[..end];
            let value = inner.and_then(|table| table.get(last(path)));
            if value.is_none()
                && let Some(reason) = File::refusal(kind, path)
            {
                return Err(ConfigError::InOverride {
                    setting: self.text.clone(),
                    message: format!("`{path}` {reason}"),
                });
            }
            inner = value.and_then(toml::Value::as_table);
        }
        Ok(())
    }

    /// Whether it sets a key of a table that `table` has not.
    fn is_of_new_table(&self, table: &toml::Table) -> bool {
        let mut parts: Vec<&str> = self.path.split('.').collect();
        parts.pop();
        let mut at = Some(table);
        for part in parts {
            at = at.and_then(|table| table.get(part)?.as_table());
        }
        at.is_none()
    }

    fn given(&self) -> &str {
        self.text
            .split_once('=')
            .map_or("", |(_, value)| value.trim())
    }

    fn apply(&self, table: &mut toml::Table) -> Result<(), ConfigError> {
        let (parents, key) = match self.path.rsplit_once('.') {
            Some((parents, key)) => (parents.split('.').collect(), key),
            None => (Vec::new(), self.path.as_str()),
        };
        let mut at = table;
        for parent in parents {
            let next = at
                .entry(parent)
                .or_insert_with(|| toml::Value::Table(toml::Table::new()));
            at = next.as_table_mut().ok_or_else(|| ConfigError::InOverride {
                setting: self.text.clone(),
                message: format!("`{parent}` holds a value, not a table of keys"),
            })?;
        }
        // A value that looks like a number or a date (core.kind=604) stays a string if the file has a string there.
        let value = match (at.get(key), &self.value) {
            (
                _,
                value @ (toml::Value::String(_) | toml::Value::Array(_) | toml::Value::Table(_)),
            ) => value.clone(),
            (Some(toml::Value::String(_)), _) => toml::Value::String(self.given().to_owned()),
            (_, value) => value.clone(),
        };
        at.insert(key.to_owned(), value);
        Ok(())
    }
}

/// Bytes of a machine file at most.
const FILE_MOST: u64 = 1 << 20;

/// The text of a machine file.
///
/// # Errors
/// When it cannot be read.
pub(crate) fn text_of(path: &Path) -> Result<String, ConfigError> {
    read_text(path).map_err(|error| ConfigError::Unreadable {
        file: path.display().to_string(),
        message: error.to_string(),
    })
}

fn read_text(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    File::open(path)?
        .take(FILE_MOST + 1)
        .read_to_string(&mut text)?;
    if text.len() as u64 > FILE_MOST {
        let message =
            format!("has more than {FILE_MOST} bytes, which are the most for a machine file");
        return Err(std::io::Error::other(message));
    }
    Ok(text)
}

/// A checked machine from the text of its file, with `overrides` applied in order; `file` is the name used in messages.
///
/// # Errors
/// Names file, line, key and what is allowed, or the override at fault.
pub(crate) fn read<File: MachineFile>(
    text: &str,
    file: &str,
    overrides: &[Override],
) -> Result<File, ConfigError> {
    let mut config: File = machine_of(text).map_err(|error| in_file::<File>(text, file, &error))?;
    if let Some(problem) = config.problems().into_iter().next() {
        let line = line_of_path(text, problem.path).unwrap_or(1);
        return Err(ConfigError::InFile {
            file: file.to_owned(),
            line,
            message: problem.to_string(),
        });
    }
    let mut table: toml::Table =
        toml::from_str(text).map_err(|error| in_file::<File>(text, file, &error))?;
    if let Some(inputs) = inputs::take(&mut table) {
        inputs::check::<File>(&inputs, &table, text, file)?;
    }
    if overrides.is_empty() {
        config.complete();
        return Ok(config);
    }
    changed(&table, overrides)
}

/// The machine of a file, without its table `[inputs]`.
fn machine_of<File: MachineFile>(text: &str) -> Result<File, toml::de::Error> {
    let mut table = DeTable::parse(text)?;
    inputs::leave_out(table.get_mut());
    File::deserialize(toml::de::Deserializer::from(table))
}

/// The machine of a file in `table` with `overrides` applied in order.
///
/// # Errors
/// Names the override at fault and what is allowed.
pub(super) fn changed<File: MachineFile>(
    table: &toml::Table,
    overrides: &[Override],
) -> Result<File, ConfigError> {
    let kind = kind_of(table, overrides);
    if let Some(config) = at_once(table, overrides, kind.as_deref()) {
        return Ok(config);
    }
    let mut table = table.clone();
    let made = |setting: &Override| setting.is_of_new_table(&table);
    let last_made = overrides.iter().rposition(made);
    for (number, setting) in overrides.iter().enumerate() {
        if let Some(kind) = &kind {
            setting.check_kind::<File>(&table, kind)?;
        }
        setting.apply(&mut table)?;
        let Err(error) = table.clone().try_into::<File>() else {
            continue;
        };
        // Keys and types are checked after each override, sizes only after all: two of them may fit only
        // together. A table that the file has not is whole after the last override that adds to one.
        if error.message().starts_with("missing field ")
            && last_made.is_some_and(|last| number < last)
        {
            continue;
        }
        return Err(ConfigError::InOverride {
            setting: setting.text.clone(),
            message: refused::<File>(&table, kind.as_deref()).unwrap_or_else(|| {
                in_plain_english(
                    error.message(),
                    Some(setting.given()),
                    allowed::<File>(&table, &setting.path, error.message()),
                )
            }),
        });
    }
    let mut config: File =
        table
            .try_into()
            .map_err(|error: toml::de::Error| ConfigError::InOverride {
                setting: String::new(),
                message: in_plain_english(error.message(), None, None),
            })?;
    if let Some(problem) = config.problems().into_iter().next() {
        let setting = overrides
            .iter()
            .rev()
            .find(|setting| problem.path.starts_with(parent(&setting.path)))
            .unwrap_or(&overrides[overrides.len() - 1]);
        return Err(ConfigError::InOverride {
            setting: setting.text.clone(),
            message: problem.to_string(),
        });
    }
    config.complete();
    Ok(config)
}

/// As [`changed`], if nothing is wrong and no override replaces what another one sets. It reads the table once, not
/// after each override. `None`: something is wrong, and [`changed`] finds out what.
fn at_once<File: MachineFile>(
    table: &toml::Table,
    overrides: &[Override],
    kind: Option<&str>,
) -> Option<File> {
    let mut paths: Vec<String> = (overrides.iter().map(|it| it.path.clone() + ".")).collect();
    paths.sort_unstable();
    if paths.windows(2).any(|two| two[1].starts_with(&two[0])) {
        return None;
    }
    let mut table = table.clone();
    for setting in overrides {
        if let Some(kind) = kind {
            setting.check_kind::<File>(&table, kind).ok()?;
        }
        setting.apply(&mut table).ok()?;
    }
    let mut config: File = table.try_into().ok()?;
    if !config.problems().is_empty() {
        return None;
    }
    config.complete();
    Some(config)
}

/// The `core.kind` of the machine in `table` after all `overrides`.
fn kind_of(table: &toml::Table, overrides: &[Override]) -> Option<String> {
    let kind = |table: &toml::Table| Some(table.get("core")?.get("kind")?.as_str()?.to_owned());
    let mut settings = (overrides.iter())
        .filter(|it| ["core", "core.kind"].contains(&it.path.as_str()))
        .peekable();
    if settings.peek().is_none() {
        return kind(table);
    }
    let mut table = table.clone();
    for setting in settings {
        setting.apply(&mut table).ok()?;
    }
    kind(&table)
}

/// What `table` has and a core of this kind cannot have. The reader may have found a lack or a wrong value in it, which
/// is not to be mended but to be removed.
fn refused<File: MachineFile>(table: &toml::Table, kind: Option<&str>) -> Option<String> {
    let kind = kind?;
    let mut inner: Vec<(String, &toml::Table)> = vec![(String::new(), table)];
    while let Some((prefix, table)) = inner.pop() {
        for (key, value) in table {
            let path = format!("{prefix}{key}");
            if let Some(reason) = File::refusal(kind, &path) {
                return Some(format!("`{path}` {reason}"));
            }
            if let Some(table) = value.as_table() {
                inner.push((format!("{path}."), table));
            }
        }
    }
    None
}

/// The last key of a dotted path.
fn last(path: &str) -> &str {
    path.rsplit_once('.').map_or(path, |(_, key)| key)
}

fn parent(path: &str) -> &str {
    path.rsplit_once('.').map_or(path, |(parent, _)| parent)
}

fn in_file<File: MachineFile>(text: &str, file: &str, error: &toml::de::Error) -> ConfigError {
    let line = error.span().map_or(1, |span| line_at(text, span.start));
    let found = error.span().and_then(|span| path_at(text, span.start));
    let table = toml::from_str(text).map(|mut table| {
        inputs::take(&mut table);
        table
    });
    let table = table.unwrap_or_default();
    let kind = kind_of(&table, &[]);
    let message = refused::<File>(&table, kind.as_deref()).unwrap_or_else(|| {
        let allowed = found.and_then(|path| allowed::<File>(&table, &path, error.message()));
        in_plain_english(error.message(), None, allowed)
    });
    ConfigError::InFile {
        file: file.to_owned(),
        line,
        message,
    }
}

/// What the checks allow for a key of whole numbers, whose value in `table` is no number of its type, as the reader's
/// `message` says. `None`: all numbers of the type, or something else is wrong too. It asks the checks about the least
/// and the greatest number.
fn allowed<File: MachineFile>(table: &toml::Table, path: &str, message: &str) -> Option<String> {
    let most = whole_number_most(message)?;
    [0, most].iter().find_map(|&number| {
        let mut table = table.clone();
        let (mut at, mut keys) = (&mut table, path.split('.').peekable());
        while let Some(key) = keys.next() {
            if keys.peek().is_none() {
                at.insert(key.to_owned(), toml::Value::Integer(number));
                break;
            }
            at = at.get_mut(key)?.as_table_mut()?;
        }
        let config: File = table.try_into().ok()?;
        let problems = config.problems();
        let problem = problems.into_iter().find(|problem| problem.path == path)?;
        let (_, allowed) = problem.message.split_once(": allowed are ")?;
        Some(allowed.to_owned())
    })
}

/// The dotted path of the value at this place of a file.
fn path_at(text: &str, offset: usize) -> Option<String> {
    fn within(table: &DeTable<'_>, offset: usize) -> Option<String> {
        table.iter().find_map(|(key, value)| {
            let name = key.get_ref();
            match value.get_ref() {
                DeValue::Table(inner) => within(inner, offset).map(|path| format!("{name}.{path}")),
                _ => value.span().contains(&offset).then(|| name.to_string()),
            }
        })
    }
    within(DeTable::parse(text).ok()?.get_ref(), offset)
}

/// The line of a place in a text, counted from one.
pub(super) fn line_at(text: &str, offset: usize) -> usize {
    text.as_bytes()[..offset.min(text.len())]
        .iter()
        .filter(|&&byte| byte == b'\n')
        .count()
        + 1
}

/// Line of the key that a dotted path names, or of its nearest parent.
fn line_of_path(text: &str, path: &str) -> Option<usize> {
    let root = DeTable::parse(text).ok()?;
    let mut table = root.get_ref();
    let mut line = None;
    for part in path.split('.') {
        let Some((key, value)) = table.get_key_value(part) else {
            break;
        };
        line = Some(line_at(text, key.span().start));
        match value.get_ref() {
            DeValue::Table(inner) => table = inner,
            _ => break,
        }
    }
    line
}
