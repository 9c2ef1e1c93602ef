//! Exceptions of the processor: vectors and error codes (SDM volume 3, chapter 6).

use std::fmt;
use std::num::NonZeroU32;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::account::Names;

/// An exception that an instruction raises. The address of a page fault is in CR2 by then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exception(NonZeroU32);

/// Set in every exception's number, so that none is 0.
const SOME: NonZeroU32 = NonZeroU32::new(1 << 31).unwrap();
/// The exception pushes an error code.
const CODED: u32 = 1 << 5;
/// Where the error code begins.
const CODE: u32 = 8;

impl Exception {
    pub const DIVIDE: Self = Self::plain(0);
    pub const DEBUG: Self = Self::plain(1);
    pub const BREAKPOINT: Self = Self::plain(3);
    pub const OVERFLOW: Self = Self::plain(4);
    pub const BOUND: Self = Self::plain(5);
    pub const INVALID_OPCODE: Self = Self::plain(6);
    /// CR0.TS or CR0.EM forbids an instruction of the floating-point unit.
    pub const NO_FLOAT: Self = Self::plain(7);
    pub const DOUBLE_FAULT: Self = Self::coded(8, 0);
    /// An earlier floating-point instruction has left an unmasked error.
    pub const FLOAT: Self = Self::plain(16);
    pub const ALIGNMENT: Self = Self::coded(17, 0);
    pub const GENERAL: Self = Self::coded(13, 0);
    pub const STACK: Self = Self::coded(12, 0);

    /// Not an exception: the instruction stops between two elements, or before it begins, and runs again.
    pub(super) const RESTART: Self = Self::plain(31);

    const fn plain(vector: u8) -> Self {
        Self(SOME.saturating_add(vector as u32))
    }

    const fn coded(vector: u8, code: u16) -> Self {
        Self(SOME.saturating_add((code as u32) << CODE | CODED | vector as u32))
    }

    /// #TS with the selector at fault.
    #[must_use]
    pub const fn task(selector: u16) -> Self {
        Self::coded(10, selector)
    }

    /// #NP with the selector at fault.
    #[must_use]
    pub const fn absent(selector: u16) -> Self {
        Self::coded(11, selector)
    }

    /// #SS with the selector at fault.
    #[must_use]
    pub const fn stack(selector: u16) -> Self {
        Self::coded(12, selector)
    }

    /// #GP with the selector at fault.
    #[must_use]
    pub const fn general(selector: u16) -> Self {
        Self::coded(13, selector)
    }

    /// #PF with the bits of its error code.
    #[must_use]
    pub const fn page(code: u16) -> Self {
        Self::coded(14, code)
    }

    /// With these bits in the error code, if the exception's error code holds a selector: the bit of an external event,
    /// or the selector's.
    #[must_use]
    pub(super) fn with_bits(self, bits: u16) -> Self {
        if matches!(self.vector(), 10..=13) {
            Self(self.0 | u32::from(bits) << CODE)
        } else {
            self
        }
    }

    /// Its number in the interrupt descriptor table.
    #[must_use]
    pub fn vector(self) -> u8 {
        self.0.get() as u8 & 31
    }

    /// The error code that it pushes, if it pushes one.
    #[must_use]
    pub fn code(self) -> Option<u16> {
        let word = self.0.get();
        (word & CODED != 0).then_some((word >> CODE) as u16)
    }

    /// The name in manuals.
    #[must_use]
    pub fn name(self) -> &'static str {
        NAMES.get(usize::from(self.vector())).unwrap_or(&"?")
    }
}

/// Short names by vector.
const NAMES: [&str; 20] = [
    "#DE",
    "#DB",
    "NMI",
    "#BP",
    "#OF",
    "#BR",
    "#UD",
    "#NM",
    "#DF",
    "segment overrun",
    "#TS",
    "#NP",
    "#SS",
    "#GP",
    "#PF",
    "vector 15",
    "#MF",
    "#AC",
    "#MC",
    "vector 19",
];

/// The name of a vector, also of one that is no exception but an interrupt.
#[must_use]
pub fn name(vector: u8) -> &'static str {
    &ALL_NAMES[usize::from(vector)].0
}

/// The name of the counter of a vector.
#[must_use]
pub fn counter_name(vector: u8) -> &'static str {
    &ALL_NAMES[usize::from(vector)].1
}

/// By vector: in messages, and in counters.
static ALL_NAMES: LazyLock<Vec<(String, String)>> = LazyLock::new(|| {
    let all = (0..=u8::MAX).map(|vector| match NAMES.get(usize::from(vector)) {
        Some(name) => {
            let counter = name.trim_start_matches('#').to_lowercase();
            ((*name).to_owned(), format!("exception.{counter}"))
        }
        None => (format!("interrupt {vector}"), format!("interrupt.{vector}")),
    });
    all.collect()
});

/// How an x86 processor's counters are called. The walk of its page table has names that a PowerPC's walk of a hash
/// table has otherwise; other counters of such a walk stay away.
pub const COUNTERS: Names = Names {
    renamed: &[
        ("hash.search", "walk.count"),
        ("hash.search.instruction", "walk.count.instruction"),
        ("hash.referenced", "walk.accessed"),
        ("hash.changed", "walk.dirty"),
        ("tlb.load", "tlb.flush"),
        ("tlb.taken", "tlb.flush.entries"),
    ],
    absent: &[
        "hash.",
        "reservation.",
        "sync.",
        "tlb.l2.",
        "tlb.shadow.",
        "tlb.received",
        "tlb.retried",
        "walk.cache.",
    ],
    exception: |vector| {
        let vector = u8::try_from(vector).ok()?;
        Some(counter_name(vector).to_owned())
    },
};

impl fmt::Display for Exception {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code() {
            Some(code) => write!(out, "{} with error code {code:#06x}", self.name()),
            None => write!(out, "{}", self.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vector_and_code_come_back() {
        assert_eq!(Exception::page(7).vector(), 14);
        assert_eq!(Exception::page(7).code(), Some(7));
        assert_eq!(Exception::general(0xfff8).code(), Some(0xfff8));
        assert_eq!(Exception::DIVIDE.code(), None);
        assert_eq!(Exception::DIVIDE.vector(), 0);
        assert_eq!(std::mem::size_of::<Result<(), Exception>>(), 4);
    }
}
