//! Which shapes caches and TLBs can have. The same rule checks machine files and the models themselves.

use std::fmt;
use std::ops::RangeInclusive;

/// A number of a shape that does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// Its key, after the cache's or TLB's own.
    pub key: &'static str,
    /// The value, and what is allowed.
    pub message: String,
}

impl fmt::Display for Misfit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}", self.key, self.message)
    }
}

impl From<Misfit> for String {
    fn from(misfit: Misfit) -> String {
        misfit.to_string()
    }
}

/// Bytes of a cache at most.
pub const CACHE_MOST: u32 = 1 << 26;
/// Bytes of a level-one cache at most: its lines are kept decoded.
pub const L1_MOST: u32 = 1 << 20;

/// Bytes of the smallest page, whose synonyms an I-cache tells apart.
pub const PAGE: u32 = 4096;

/// An I-cache whose ways have so many bytes is indexed by effective addresses, before RAM of so many bytes: the bits of
/// an address in RAM, and the bits of the index that come from the effective address. `None` if the places of its lines
/// are more than 32 bits can number.
#[must_use]
pub fn place_bits(way: u32, ram: u32) -> Option<(u32, u32)> {
    let index = way.max(PAGE) - PAGE;
    if index == 0 {
        return Some((0, 0));
    }
    let bits = ram.checked_next_power_of_two()?.max(PAGE).trailing_zeros();
    (bits + index.count_ones() <= u32::BITS).then_some((bits, index))
}

const WAYS: RangeInclusive<u32> = 1..=64;
const LINE: RangeInclusive<u32> = 16..=128;
const ENTRIES: RangeInclusive<u32> = 1..=4096;

/// Is `value` a power of two in `range`?
///
/// # Errors
/// What is allowed.
pub fn power_of_two(
    key: &'static str,
    value: u32,
    range: &RangeInclusive<u32>,
) -> Result<(), Misfit> {
    if value.is_power_of_two() && range.contains(&value) {
        return Ok(());
    }
    let (low, high) = (range.start(), range.end());
    Err(Misfit {
        key,
        message: format!("is {value}: allowed are powers of two from {low} to {high}"),
    })
}

/// Can a cache have this shape?
///
/// # Errors
/// What is allowed.
pub fn cache(size: u32, ways: u32, line: u32, most: u32) -> Result<(), Misfit> {
    power_of_two("line", line, &LINE)?;
    power_of_two("ways", ways, &WAYS)?;
    power_of_two("size", size, &(*LINE.start()..=most))?;
    if ways * line > size {
        return Err(Misfit {
            key: "ways",
            message: format!(
                "is {ways}: {ways} ways of {line}-byte lines do not fit the size, which is {size}"
            ),
        });
    }
    Ok(())
}

/// Can an ERAT have this shape? It may be fully associative.
///
/// # Errors
/// What is allowed.
pub fn erat(entries: u32, ways: u32) -> Result<(), Misfit> {
    power_of_two("entries", entries, &(1..=128))?;
    power_of_two("ways", ways, &(1..=entries))
}

/// Can a TLB have this shape?
///
/// # Errors
/// What is allowed.
pub fn tlb(entries: u32, ways: u32) -> Result<(), Misfit> {
    power_of_two("entries", entries, &ENTRIES)?;
    power_of_two("ways", ways, &WAYS)?;
    if ways > entries {
        return Err(Misfit {
            key: "ways",
            message: format!("is {ways}: allowed are 1 to the entries, which are {entries}"),
        });
    }
    Ok(())
}
