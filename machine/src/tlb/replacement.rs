//! The interface for the part that chooses which entry of a TLB's set a new one replaces.
//!
//! A policy is one file in `replacement/`, one line in the list below, and its name in [`REPLACEMENTS`]. A machine file
//! names it by the key `replacement` of a TLB. docs/extend.md has a
//! worked example.
//!
//! A set with invalid entries is filled there first, whatever the policy.

use super::Slot;
use crate::config::REPLACEMENTS;
use serde::{Deserialize, Serialize};

/// A replacement policy, with its state of all sets of one TLB.
pub trait Replacement {
    /// The policy for an empty TLB.
    fn new(sets: u32, ways: u32) -> Self;

    /// For how many ways of a set an engine may report only the last use, whatever uses came before. 1: only for the
    /// entry that was used last; to use it again must change nothing.
    fn free_ways(&self, ways: u32) -> u32;

    /// An access hits the entry in `way`, or it was loaded.
    fn used(&mut self, _set: usize, _way: u8) {}

    /// An entry was loaded into `way`. [`Replacement::used`] follows.
    fn loaded(&mut self, _set: usize, _way: u8) {}

    /// The way to fill in a set whose last entries are invalid. The order of entries is that of their uses, which is
    /// not exact for most policies: see [`Replacement::victim`].
    fn free<S: Slot>(&self, entries: &[S]) -> u8 {
        let invalid = entries.iter().filter(|entry| !entry.valid());
        invalid.map(Slot::way).min().unwrap_or(0)
    }

    /// The way to replace in a full set. The first of `entries` was used last. The order of the others is not exact if
    /// [`Replacement::free_ways`] exceeds 2: such a policy must not depend on it.
    fn victim<S: Slot>(&mut self, set: usize, entries: &[S]) -> u8;

    /// True if a policy made with `fresh` can be in this state. Snapshots are checked by this before use.
    fn fits(&self, fresh: &Self) -> bool;
}

/// The policies, and how a machine file names them.
macro_rules! policies {
    ($($text:literal $module:ident $part:ident,)*) => {
        $(pub mod $module;)*

        /// One of the policies.
        #[derive(Debug, Clone, Serialize, Deserialize)]
        pub enum AnyReplacement { $(#[doc = $text] $part($module::$part),)* }

        impl AnyReplacement {
            /// The policy with this name, for an empty TLB.
            ///
            /// # Errors
            /// There is no such name.
            pub fn named(name: &str, sets: u32, ways: u32) -> Result<Self, String> {
                match name {
                    $($text => Ok(Self::$part(Replacement::new(sets, ways))),)*
                    _ => Err(format!("is \"{name}\": allowed are {}", REPLACEMENTS.join(", "))),
                }
            }

            pub(crate) fn free_ways(&self, ways: u32) -> u32 {
                match self { $(Self::$part(policy) => policy.free_ways(ways),)* }
            }

            #[inline(always)]
            pub(crate) fn used(&mut self, set: usize, way: u8) {
                match self { $(Self::$part(policy) => policy.used(set, way),)* }
            }

            pub(crate) fn loaded(&mut self, set: usize, way: u8) {
                match self {
                    $(Self::$part(policy) => {
                        policy.loaded(set, way);
                        policy.used(set, way);
                    })*
                }
            }

            pub(crate) fn free<S: Slot>(&self, entries: &[S]) -> u8 {
                match self { $(Self::$part(policy) => policy.free(entries),)* }
            }

            pub(crate) fn victim<S: Slot>(&mut self, set: usize, entries: &[S]) -> u8 {
                match self { $(Self::$part(policy) => policy.victim(set, entries),)* }
            }

            pub(crate) fn fits(&self, fresh: &Self) -> bool {
                match (self, fresh) {
                    $((Self::$part(policy), Self::$part(fresh)) => policy.fits(fresh),)*
                    _ => false,
                }
            }
        }
    };
}

policies! {
    "lru" lru Lru,
    "pseudo-lru" pseudo_lru PseudoLru,
    "fifo" fifo Fifo,
    "random" random Random,
    "not-mru" not_mru NotMru,
}

impl AnyReplacement {
    /// True if the entry that was used longest ago is always replaced, and the policy has no state. Invalid entries are
    /// those that were used longest ago.
    #[inline(always)]
    pub(crate) fn takes_last(&self) -> bool {
        matches!(self, Self::Lru(_))
    }
}

impl Default for AnyReplacement {
    fn default() -> Self {
        Self::Lru(lru::Lru)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_machine_files_is_a_policy() {
        for name in REPLACEMENTS {
            assert!(AnyReplacement::named(name, 4, 4).is_ok(), "{name}");
        }
        assert!(AnyReplacement::named("clock", 4, 4).is_err());
    }
}
