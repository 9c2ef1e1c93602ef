//! Causes of a kernel that was built without `__cause_` symbols, such as Linux: a file names its functions
//! (docs/interfaces.md, section 3).

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::account::Cause;
use crate::loader::{CauseRange, ElfImage, LoadError, Symbol};

/// The largest size of such a file, in bytes.
const FILE_MOST: usize = 1 << 20;

/// Code of a cause, by names of symbols.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    /// `name`: the function and its parts (`name.part.0`); `first..next`: from `first` up to, not including, `next`.
    symbols: Vec<String>,
}

/// A piece of code, and the entry of the file that names it.
struct Claim {
    start: u32,
    end: u32,
    cause: Cause,
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
        let cause = of_code(name).map_err(bad)?;
        let before = claims.len();
        for entry in &table.symbols {
            labels
                .claim(cause, entry, image, &mut claims)
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

/// The cause with this name, if it can be a property of code.
fn of_code(name: &str) -> Result<Cause, String> {
    let by_mode = [Cause::User, Cause::Kernel, Cause::Walk];
    let mut allowed = Cause::ALL.into_iter().filter(|c| !by_mode.contains(c));
    allowed
        .clone()
        .find(|cause| cause.name() == name)
        .ok_or_else(|| {
            let first = allowed.next().map_or("", Cause::name).to_owned();
            let names = allowed.fold(first, |text, cause| text + ", " + cause.name());
            format!("[{name}] is no cause of code; allowed are {names}")
        })
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
    fn claim(
        &self,
        cause: Cause,
        entry: &str,
        image: &ElfImage,
        claims: &mut Vec<Claim>,
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
                before.cause.name(),
                before.entry,
                claim.cause.name(),
                claim.entry,
                claim.start
            ));
        }
        let nearest = |address: u32| address.saturating_add(line / 2) & !(line - 1);
        let (start, end) = (nearest(claim.start), nearest(claim.end));
        match ranges.last_mut() {
            Some(range) if range.name == claim.cause.name() && start <= range.end => {
                range.end = range.end.max(end);
            }
            _ if start < end => ranges.push(CauseRange {
                start,
                end,
                name: claim.cause.name().to_owned(),
            }),
            _ => {}
        }
        if last.as_ref().is_none_or(|before| before.end < claim.end) {
            last = Some(claim);
        }
    }
    Ok(ranges)
}
