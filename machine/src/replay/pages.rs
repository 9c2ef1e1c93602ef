//! How large the pages of a trace are.

use std::collections::BTreeMap;
use std::str::FromStr;

use crate::shim::areas::PAGE;

use super::areas::SHIFT;

/// The size of pages between two addresses of the trace, or of all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRule {
    /// The first address, and the one after the last. `None`: everywhere.
    range: Option<(u64, u64)>,
    size: u32,
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

fn size(text: &str) -> Option<u32> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "k" | "kb" => 1 << 10,
        "m" | "mb" => 1 << 20,
        "" => 1,
        _ => return None,
    };
    digits.parse::<u32>().ok()?.checked_mul(unit)
}

impl FromStr for PageRule {
    type Err = String;

    /// `4M`, or `FIRST-END=4M`.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "\"{text}\" is neither a size such as 4M nor a range such as 0x400000-0x800000=4M"
            )
        };
        let (range, size_of) = match text.rsplit_once('=') {
            None => (None, text),
            Some((range, size_of)) => {
                let (first, end) = range.split_once('-').ok_or_else(wrong)?;
                let range = number(first).zip(number(end)).ok_or_else(wrong)?;
                (Some(range), size_of)
            }
        };
        let size = size(size_of).ok_or_else(wrong)?;
        if !size.is_power_of_two() || !(PAGE..=1 << SHIFT).contains(&size) {
            return Err(format!(
                "\"{text}\": a page has 4 KB to 4 MB, a power of two"
            ));
        }
        if let Some((first, end)) = range {
            let whole = |address: u64| address.is_multiple_of(size.into());
            if first >= end || !whole(first) || !whole(end) {
                return Err(format!(
                    "\"{text}\": the range begins and ends at multiples of the page's size, and is not empty"
                ));
            }
        }
        Ok(PageRule { range, size })
    }
}

/// The rules of a replay. A later one comes before an earlier one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageRules {
    rules: Vec<PageRule>,
    /// Pages that a side file tells, by their last addresses: where no rule says otherwise.
    told: BTreeMap<u64, (u64, u32)>,
    shared_from: Option<u64>,
}

impl PageRules {
    /// Pages by `rules`; addresses from `shared_from` on belong to all address spaces.
    #[must_use]
    pub fn new(rules: Vec<PageRule>, shared_from: Option<u64>) -> Self {
        PageRules {
            rules,
            told: BTreeMap::new(),
            shared_from,
        }
    }

    /// The same with pages of other sizes than 4 KB that a side file tells: address and bytes of each. Those that the
    /// machine does not have are pages of 4 KB.
    #[must_use]
    pub fn with_told(mut self, pages: impl IntoIterator<Item = (u64, u32)>) -> Self {
        let last = |address: u64, bytes: u32| address.saturating_add(u64::from(bytes) - 1);
        let pages = pages.into_iter().filter(|&(_, bytes)| bytes != 0);
        self.told = pages
            .map(|(address, bytes)| (last(address, bytes), (address, bytes)))
            .collect();
        self
    }

    /// Forgets what a side file tells of pages that a machine with these sizes does not have.
    pub(super) fn keep(&mut self, sizes: &[u32]) {
        self.told.retain(|_, (_, size)| sizes.contains(size));
    }

    pub(super) fn shared_from(&self) -> u64 {
        self.shared_from.unwrap_or(u64::MAX)
    }

    /// Checks that the machine, which has pages of `sizes`, has each page size the rules name.
    pub(super) fn check(&self, sizes: &[u32]) -> Result<(), String> {
        let missing = self.rules.iter().find(|rule| !sizes.contains(&rule.size));
        let Some(rule) = missing else { return Ok(()) };
        let names: Vec<_> = sizes.iter().map(|&size| name(size)).collect();
        Err(format!(
            "the machine has no pages of {}: its sizes here are {}",
            name(rule.size),
            names.join(", ")
        ))
    }

    /// Bytes of the page around an address of the trace.
    pub(super) fn size(&self, address: u64) -> u32 {
        let rule = self.rules.iter().rev().find(|rule| match rule.range {
            Some((first, end)) => (first..end).contains(&address),
            None => true,
        });
        let told = || {
            let (_, &(first, size)) = self.told.range(address..).next()?;
            (first <= address).then_some(size)
        };
        match rule {
            Some(rule) => rule.size,
            None => told().unwrap_or(PAGE),
        }
    }
}

fn name(size: u32) -> String {
    if size >= 1 << 20 {
        format!("{} MB", size >> 20)
    } else {
        format!("{} KB", size >> 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_rule_that_fits_counts() {
        let rules = ["16K", "0x400000-0x800000=4M", "0x800000-0x810000=64k"];
        let rules = rules.map(|text| text.parse().unwrap());
        let rules = PageRules::new(rules.to_vec(), None);
        let sizes = [0, 0x40_0000, 0x7f_ffff, 0x80_0000].map(|at| rules.size(at));
        assert_eq!(sizes, [16 << 10, 4 << 20, 4 << 20, 64 << 10]);
        assert_eq!(PageRules::default().size(9), PAGE);
        let refused = rules.check(&[PAGE, 16 << 10, 4 << 20]).unwrap_err();
        assert!(refused.contains("no pages of 64 KB"), "{refused}");
    }

    #[test]
    fn pages_of_a_side_file_count_where_no_rule_says_otherwise() {
        let told = [(0x40_0000, 4 << 20), (0x80_0000, 1 << 16)];
        let mut rules = PageRules::new(vec!["0x600000-0x700000=64K".parse().unwrap()], None);
        rules = rules.with_told(told);
        rules.keep(&[PAGE, 4 << 20]);
        let sizes =
            [0x3f_ffff, 0x40_0000, 0x60_0000, 0x7f_ffff, 0x80_0000].map(|at| rules.size(at));
        assert_eq!(sizes, [PAGE, 4 << 20, 64 << 10, 4 << 20, PAGE]);
    }

    #[test]
    fn what_is_no_rule_is_refused() {
        for text in [
            "",
            "4",
            "4G",
            "8M",
            "3M",
            "1=4M",
            "2-1=4K",
            "0x1000-0x3000=8K",
            "-=",
            "4096T",
        ] {
            assert!(text.parse::<PageRule>().is_err(), "{text}");
        }
    }
}
