//! Causes of a kernel that was built without `__cause_` symbols, such as Linux: a file names its functions
//! (docs/interfaces.md, section 3).

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::account::CauseNames;
use crate::loader::{CauseRange, ElfImage, LoadError, Symbol};

/// The ranges with the numbers of their causes.
pub(crate) fn numbered(ranges: &[CauseRange]) -> Vec<(u32, u32, u8)> {
    let names = ranges.iter().map(|range| range.name.as_str());
    // `Computer::build` has refused what can be no name.
    let names = CauseNames::with(names).unwrap_or_default();
    let ranges = ranges.iter().filter_map(|range| {
        let cause = names.find(&range.name)?;
        Some((range.start, range.end, cause.number()))
    });
    ranges.collect()
}

/// The largest size of such a file, in bytes.
const FILE_MOST: usize = 1 << 20;

/// Code of a cause, by names of symbols.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    /// `name`: the function and its parts (`name.part.0`); `first..next`: from `first` up to, not including, `next`.
    symbols: Vec<String>,
    /// The file gives the cause this name. Without this a name that no cause has is a mistake.
    #[serde(default)]
    new: bool,
}

/// A piece of code, and the entry of the file that names it.
struct Claim<'a> {
    start: u32,
    end: u32,
    cause: &'a str,
    entry: String,
}

/// The causes of `image` by the file's `text`; `file` is its name in messages. Boundaries are moved to the nearest
/// multiple of `line`, since whole cache lines are charged.
///
/// # Errors
/// When the text is no such file, when the image has none of a cause's symbols, or when two causes claim the same code.
pub fn causes_by_symbols(
    text: &str,
    file: &str,
    image: &ElfImage,
    line: u32,
) -> Result<Vec<CauseRange>, LoadError> {
    let bad = |message: String| LoadError::BadCauses {
        file: file.to_owned(),
        message,
    };
    if text.len() > FILE_MOST {
        return Err(bad(format!("has more than {FILE_MOST} bytes")));
    }
    let tables: BTreeMap<String, Table> =
        toml::from_str(text).map_err(|error| bad(error.to_string()))?;
    if image.labels.is_empty() {
        return Err(bad(format!(
            "{} has no symbols to find causes by: give the vmlinux before it was stripped",
            image.file
        )));
    }
    let labels = Labels::new(image);
    let mut claims = Vec::new();
    for (name, table) in &tables {
        check(name, table.new).map_err(bad)?;
        let before = claims.len();
        for entry in &table.symbols {
            labels
                .claim(name, entry, image, &mut claims)
                .map_err(|message| bad(format!("[{name}] \"{entry}\": {message}")))?;
        }
        if claims.len() == before {
            let names = table.symbols.join(", ");
            return Err(bad(format!(
                "[{name}]: {} has none of these symbols: {names}",
                image.file
            )));
        }
    }
    ranges(claims, line).map_err(bad)
}

/// Refuses a name that no cause of code has, and that is not `new`.
fn check(name: &str, new: bool) -> Result<(), String> {
    let known = CauseNames::default();
    let allowed = known.all().filter(|(cause, _)| cause.is_of_code());
    let allowed: Vec<&str> = allowed.map(|(_, name)| name).collect();
    if allowed.contains(&name) || new && known.find(name).is_none() {
        return Ok(());
    }
    let names = allowed.join(", ");
    Err(format!(
        "[{name}] is no cause of code; allowed are {names}, and with `new = true` a name of the file's choice"
    ))
}

/// The labels of an image in order of their addresses, which are virtual.
struct Labels<'a>(Vec<&'a Symbol>);

impl<'a> Labels<'a> {
    fn new(image: &'a ElfImage) -> Self {
        let mut labels: Vec<&Symbol> = image.labels.iter().collect();
        labels.sort_by_key(|label| label.address);
        Labels(labels)
    }

    /// The addresses of all labels with this name; static functions can share one.
    fn named(&self, name: &str) -> Vec<u32> {
        let labels = self.0.iter().filter(|label| label.name == name);
        labels.map(|label| label.address).collect()
    }

    /// Adds the code that `entry` names. Symbols that the image does not have are passed over: one file serves
    /// kernels of several configurations.
    fn claim<'n>(
        &self,
        cause: &'n str,
        entry: &str,
        image: &ElfImage,
        claims: &mut Vec<Claim<'n>>,
    ) -> Result<(), String> {
        let mut add = |start: u32, end: u32| {
            let claim = image.physical(start).map(|physical| Claim {
                start: physical,
                end: physical.saturating_add(end - start),
                cause,
                entry: entry.to_owned(),
            });
            claims.extend(claim);
        };
        if let Some((first, next)) = entry.split_once("..") {
            let ends = self.named(next);
            for start in self.named(first) {
                let end = ends.iter().filter(|&&end| end > start).min();
                let end = end.ok_or_else(|| format!("there is no {next} behind {first}"))?;
                add(start, *end);
            }
            return Ok(());
        }
        let part = format!("{entry}.");
        for (index, label) in self.0.iter().enumerate() {
            if label.name != entry && !label.name.starts_with(&part) {
                continue;
            }
            let mut behind = self.0[index..].iter().map(|other| other.address);
            let next = behind.find(|&address| address > label.address);
            match (label.size, next) {
                (0, Some(next)) => add(label.address, next),
                (0, None) => return Err("its end is not known: write first..next".to_owned()),
                (size, _) => add(label.address, label.address.saturating_add(size)),
            }
        }
        Ok(())
    }
}

/// The claims as ranges of whole lines, in order.
fn ranges(mut claims: Vec<Claim>, line: u32) -> Result<Vec<CauseRange>, String> {
    claims.sort_by_key(|claim| claim.start);
    let mut ranges: Vec<CauseRange> = Vec::new();
    let mut last: Option<Claim> = None;
    for claim in claims {
        if let Some(before) = &last
            && claim.start < before.end
            && claim.cause != before.cause
        {
            return Err(format!(
                "[{}] \"{}\" and [{}] \"{}\" share the code at physical address {:#010x}",
                before.cause, before.entry, claim.cause, claim.entry, claim.start
            ));
        }
        let nearest = |address: u32| address.saturating_add(line / 2) & !(line - 1);
        let (start, end) = (nearest(claim.start), nearest(claim.end));
        match ranges.last_mut() {
            Some(range) if range.name == claim.cause && start <= range.end => {
                range.end = range.end.max(end);
            }
            _ if start < end => ranges.push(CauseRange {
                start,
                end,
                name: claim.cause.to_owned(),
            }),
            _ => {}
        }
        if last.as_ref().is_none_or(|before| before.end < claim.end) {
            last = Some(claim);
        }
    }
    Ok(ranges)
}
