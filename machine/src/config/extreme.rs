//! The section `[tlb.extreme]` of a machine file: a TLB that does often what an architecture allows and cores do
//! seldom, so that an error of a kernel shows. docs/check.md has examples.

use serde::{Deserialize, Serialize};

use super::{Checker, TlbConfig};

/// The value of [`Extreme::keep`].
const UNTIL_FLUSHED: &str = "until-flushed";
/// Ways of a set, and entries of a TLB, that keeps its entries.
const WAYS: u32 = 64;
const ENTRIES: u32 = 4096;
const SETS: u32 = ENTRIES / WAYS;

/// What a TLB does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Extreme {
    /// With `"until-flushed"` an entry leaves only by a flush, up to 64 entries of a set, and 4,096 in all.
    pub keep: Option<String>,
    /// At one of four exceptions and interrupts the entries of a set leave. This number chooses which.
    pub evict: Option<u32>,
    /// A walk loads the translation of the next page too, if it is valid and was used before.
    pub ahead: bool,
}

impl Extreme {
    pub(crate) fn check(&self, checker: &mut Checker) {
        if let Some(keep) = self.keep.as_deref().filter(|&keep| keep != UNTIL_FLUSHED) {
            let message = format!("is \"{keep}\": allowed is \"{UNTIL_FLUSHED}\"");
            checker.fail("tlb.extreme.keep", message);
        }
    }

    /// Refuses the keys that are set, of these: core `kind` cannot do so.
    pub(crate) fn refuse(
        &self,
        checker: &mut Checker,
        keys: &[&'static str],
        kind: &str,
        why: &str,
    ) {
        for (key, set) in [
            ("tlb.extreme.keep", self.keep.is_some()),
            ("tlb.extreme.evict", self.evict.is_some()),
            ("tlb.extreme.ahead", self.ahead),
        ] {
            if set && keys.iter().any(|last| key.ends_with(last)) {
                let message = format!("does not go with core.kind \"{kind}\", {why}: remove it");
                checker.fail(key, message);
            }
        }
    }

    /// Entries and ways of a TLB of this shape. `by_set`: a flush removes a whole set, so that kernels count the sets.
    pub(crate) fn shape(&self, (entries, ways): (u32, u32), by_set: bool) -> (u32, u32) {
        if self.keep.is_none() {
            return (entries, ways);
        }
        let own = (entries / ways).next_power_of_two();
        let sets = if by_set { own } else { own.max(SETS) };
        let ways = WAYS.min(ENTRIES / sets).max(ways.next_power_of_two());
        (sets * ways, ways)
    }

    /// Gives a TLB the shape.
    pub(crate) fn grow(&self, tlb: &mut TlbConfig, by_set: bool) {
        (tlb.entries, tlb.ways) = self.shape((tlb.entries, tlb.ways), by_set);
    }

    /// The set whose entries leave at an exception in this cycle, if any do.
    #[must_use]
    pub fn leaves(&self, cycle: u64) -> Option<u32> {
        let seed = u64::from(self.evict?);
        let mixed = (cycle ^ seed << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed >> 62 == 0).then_some((mixed >> 20) as u32)
    }
}
