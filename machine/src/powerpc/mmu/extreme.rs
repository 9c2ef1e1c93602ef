//! What the TLBs of a 603, 604 or 750 do with the keys of `[tlb.extreme]`.

use super::{Kind, Mmu, Reach, Reaches, TlbEntry, hash, tlb};
use crate::account::{Account, Plain};
use crate::memory::Ram;

impl Mmu {
    /// The entries of a set of both TLBs leave.
    pub fn leave(&mut self, set: u32) -> Reaches {
        self.front_mut()
            .map_or(Reaches::NOTHING, |front| front.leave(set))
    }

    /// A walk has loaded the page of `ea`. The next one of its segment is loaded, too, if the hash table has an entry
    /// for it that was used before, so that nothing is written. That takes no time. Returns its address, and where
    /// another entry may have gone.
    pub fn walk_ahead(
        &mut self,
        ea: u32,
        fetch: bool,
        ram: &Ram,
        account: &mut Account,
    ) -> Option<(u32, Reaches)> {
        let next = (ea & !0xfff).wrapping_add(0x1000);
        let Kind::Hash32(unit) = &mut self.kind else {
            return None;
        };
        let front = &mut unit.front;
        let segment = front.segments.get(ea);
        let tag = tlb::tag(segment, next);
        let tlb = if fetch {
            &mut front.itlb
        } else {
            &mut front.dtlb
        };
        if (ea ^ next) >> 28 != 0 || tlb.find(tag).is_some() {
            return None;
        }
        let found = hash::peek(front.sdr1, segment, next, ram)?;
        if found.word1 & hash::R == 0 {
            return None;
        }
        if tlb.fill(TlbEntry::new(tag, found.word1)).is_some() {
            account.add_plain(Plain::tlb_evicted(fetch), 1);
        }
        let mut reaches = Reaches::NOTHING;
        reaches.add(fetch, Reach::Set(next));
        Some((next, reaches))
    }
}
