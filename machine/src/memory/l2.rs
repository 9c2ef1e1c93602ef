//! A second-level or third-level cache for instructions and data. Its lines have the size of the L1s' lines.
//!
//! An L3 works as an L2 of the same place does, behind an L2: what goes from there to memory, or comes from there,
//! passes it ([`Bus::stand_before_memory`]). A look-aside L3 is shared by all processors. An L3 includes no other
//! level.
//!
//! What a look-aside L2 does is in [`super::look_aside`]. Any other works as the 750's does: every L1 fill and every
//! L1 write-back allocates a line in it, and it holds modified lines itself. It is not inclusive: a line may leave
//! the L2 and stay in an L1. Only an in-line L2 includes the D-cache. What an L2 of a processor's own does when it
//! has to be coherent is in [`super::private`].

use super::RamAddress;
use super::bus::{Answer, Bus, BusTiming};
use super::cache::{Cache, CacheGeometry, Evicted};
use super::delivery::Delivery;
use crate::account::{Account, Array, Cause, Charge, Event, Plain};
use serde::{Deserialize, Serialize};

/// Where the L2 is connected, and its latencies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum L2Timing {
    /// On its own back-side bus (750).
    Backside {
        /// Core cycles from the L1 miss to the critical double word.
        hit: u32,
        /// Core cycles from the L1 miss to the bus request when the L2 misses too.
        miss: u32,
        /// Core cycles between further beats.
        beat: u32,
    },
    /// Between its processor's bus and that of the system, with a controller of its own (604; Bus Interface for 32-Bit
    /// Microprocessors, appendix D). The latencies are as on a back side.
    InLine {
        /// Core cycles from the L1 miss to the critical double word.
        hit: u32,
        /// Core cycles from the L1 miss to the request on the system's bus.
        miss: u32,
        /// Core cycles between further beats.
        beat: u32,
    },
    /// On the 60x bus; it answers in place of the memory controller (boards of the 603 and 604).
    LookAside {
        /// Bus clocks from the start of the burst to the first beat on a hit.
        first: u32,
        /// Bus clocks between further beats on a hit.
        next: u32,
        /// How its controller runs it; `None`: modified lines come and go without bus time, and a look-up takes none.
        beside: Option<Beside>,
    },
}

/// How the controller of a look-aside L2 runs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beside {
    /// Bus clocks from the start of a transaction until it is known whether the L2 answers: memory is asked no earlier.
    pub look_up: u32,
    /// What is written to it is written to memory, too, so that no line of it is modified.
    pub through: bool,
    /// A burst write that misses gets a place in it. A burst read always does.
    pub allocates_writes: bool,
}

/// Which of the caches behind the L1s it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Level {
    /// The L2.
    Second,
    /// The L3.
    Third,
}

/// The L2, or the L3: tags, states and timing.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct L2 {
    /// Tags and states.
    pub cache: Cache,
    pub(super) timing: L2Timing,
    level: Level,
    /// How it delivers a line: after the request of the L1 that missed, or after the start of the burst beside memory.
    pub(super) answer: Answer,
    /// Half core cycles from that start until memory is asked; 0 for an L2 that does not stand beside memory.
    pub(super) look_up: u64,
    /// Address of the line filled last, and the cycle when the fill ends. A read of the line waits for that cycle.
    filled: (u32, u64),
}

/// L2CR bits (750).
pub mod l2cr {
    /// L2 enable.
    pub const L2E: u32 = 0x8000_0000;
    /// Shift of L2SIZ: 1 is 256 KB, 2 is 512 KB, 3 is 1 MB.
    pub const L2SIZ_SHIFT: u32 = 28;
    /// L2 global invalidate.
    pub const L2I: u32 = 0x0020_0000;
}

impl L2 {
    /// True if it is behind a processor, which controls it by L2CR.
    pub(crate) fn is_back_side(&self) -> bool {
        matches!(self.timing, L2Timing::Backside { .. })
    }

    /// True if what the D-cache holds, this L2 holds too.
    pub(super) fn is_inclusive(&self) -> bool {
        matches!(self.timing, L2Timing::InLine { .. })
    }

    /// Makes an empty L2 in its state after reset, for this bus. A back-side L2 is off until L2CR enables it (750 UM
    /// 9.1.3); the others are on.
    ///
    /// # Errors
    /// When the geometry is not valid; see [`CacheGeometry::check`].
    pub fn new(geometry: CacheGeometry, timing: L2Timing, bus: &BusTiming) -> Result<Self, String> {
        let mut cache = Cache::new(geometry)?;
        cache.set_enabled(!matches!(timing, L2Timing::Backside { .. }));
        let (first, next, clock) = match timing {
            L2Timing::Backside { hit, beat, .. } | L2Timing::InLine { hit, beat, .. } => {
                (hit, beat, 2)
            }
            L2Timing::LookAside { first, next, .. } => (first, next, bus.ratio_x2),
        };
        let look_up = match timing {
            L2Timing::LookAside {
                beside: Some(beside),
                ..
            } => beside.look_up,
            _ => 0,
        };
        let times = |clocks: u32| u64::from(clocks) * u64::from(clock);
        Ok(Self {
            cache,
            timing,
            level: Level::Second,
            answer: Answer::new(times(first), times(next), bus),
            look_up: times(look_up),
            filled: (0, 0),
        })
    }

    /// Makes an empty L3, which is on from the beginning.
    ///
    /// # Errors
    /// As [`L2::new`].
    pub fn third(
        geometry: CacheGeometry,
        timing: L2Timing,
        bus: &BusTiming,
    ) -> Result<Self, String> {
        let mut l3 = Self::new(geometry, timing, bus)?;
        l3.cache.set_enabled(true);
        l3.level = Level::Third;
        Ok(l3)
    }

    /// Counts a look-up.
    #[inline(always)]
    pub(super) fn looked_up(level: Level, charge: Charge, account: &mut Account) {
        match level {
            Level::Second => account.add_to(Event::L2Access, charge, 1),
            Level::Third => account.add_plain(Plain::L3Access, 1),
        }
    }

    /// Counts a look-up that found nothing.
    #[inline(always)]
    pub(super) fn missed(level: Level, pa: RamAddress, charge: Charge, account: &mut Account) {
        match level {
            Level::Second => {
                account.add_to(Event::L2Miss, charge, 1);
                account.line_missed(Array::L2, pa, charge);
            }
            Level::Third => account.add_plain(Plain::L3Miss, 1),
        }
    }

    /// Counts a modified line that goes out.
    #[inline(always)]
    pub(super) fn wrote_out(&self, cause: Cause, account: &mut Account) {
        match self.level {
            Level::Second => account.add_as(Event::L2Writeback, cause, 1),
            Level::Third => account.add_plain(Plain::L3Writeback, 1),
        }
    }

    /// True if this state is possible for a machine with the same configuration as `fresh`. Checked before a snapshot
    /// is used.
    pub(crate) fn fits(&self, fresh: &Self, ram: usize) -> bool {
        self.timing == fresh.timing
            && self.level == fresh.level
            && (self.answer, self.look_up) == (fresh.answer, fresh.look_up)
            && self.cache.fits(&fresh.cache, ram)
            && self.filled.1 < crate::config::LATEST
    }

    /// Its state after a hard reset.
    pub(super) fn reset(&mut self) {
        self.cache.invalidate_all();
        self.cache.set_enabled(!self.is_back_side());
    }

    /// True if it stands beside memory, with a controller that takes time.
    #[inline(always)]
    pub(super) fn stands_beside(&self) -> bool {
        matches!(
            self.timing,
            L2Timing::LookAside {
                beside: Some(_),
                ..
            }
        )
    }

    /// Reads a line for an L1 that missed at cycle `now`.
    pub fn read_line(
        &mut self,
        pa: RamAddress,
        now: u64,
        bus: &mut Bus,
        cause: Cause,
        account: &mut Account,
    ) -> Delivery {
        if self.stands_beside() {
            let charged = (cause, account.charge(cause));
            return self.read_beside::<false>(self.level, pa, now, bus, charged, account);
        }
        if let Some(delivery) = self.hit(pa, now, bus, cause, account) {
            return delivery;
        }
        let delivery = self.fetch(pa, now + self.look_up(), bus, account);
        self.allocate(pa, false, delivery.complete(), bus, cause, account);
        delivery
    }

    /// Core cycles by which the look-up delays the bus request of a line that is not there.
    pub(super) fn look_up(&self) -> u64 {
        match self.timing {
            L2Timing::Backside { miss, .. } | L2Timing::InLine { miss, .. } => miss.into(),
            L2Timing::LookAside { .. } => 0,
        }
    }

    /// The look-up for an L1 that missed at cycle `now`. `None`: the line is not there.
    #[inline(always)]
    pub(super) fn hit(
        &mut self,
        pa: RamAddress,
        now: u64,
        bus: &mut Bus,
        cause: Cause,
        account: &mut Account,
    ) -> Option<Delivery> {
        let charge = account.charge(cause);
        Self::looked_up(self.level, charge, account);
        if !self.cache.access(pa, false) {
            Self::missed(self.level, pa, charge, account);
            return None;
        }
        if let L2Timing::LookAside { .. } = self.timing {
            return Some(bus.read_burst(now, &self.answer, account));
        }
        let (filled, at) = self.filled;
        let now = if filled == self.cache.line_address(pa) {
            now.max(at)
        } else {
            now
        };
        let first = 2 * now + self.answer.first;
        Some(Delivery {
            first,
            complete: (first + self.answer.span) / 2,
            beats: self.answer.beats,
        })
    }

    /// Reads a line that is not there from memory; it has no place here yet.
    #[inline(always)]
    pub(super) fn fetch(
        &mut self,
        pa: RamAddress,
        request: u64,
        bus: &mut Bus,
        account: &mut Account,
    ) -> Delivery {
        let delivery = bus.read_line(pa, request, account);
        self.filled = (self.cache.line_address(pa), delivery.complete());
        delivery
    }

    /// Writes a modified line that an L1 evicted at `now`. Returns the cycle when this line, and a line that it evicts,
    /// are written.
    pub fn write_line(
        &mut self,
        pa: RamAddress,
        now: u64,
        bus: &mut Bus,
        cause: Cause,
        account: &mut Account,
    ) -> u64 {
        if let L2Timing::LookAside {
            first,
            next,
            beside: Some(beside),
        } = self.timing
        {
            return self.write_beside((first, next, beside), pa, now, bus, cause, account);
        }
        if self.cache.access(pa, true) {
            now
        } else {
            self.allocate(pa, true, now, bus, cause, account)
        }
    }

    #[inline(always)]
    fn allocate(
        &mut self,
        pa: RamAddress,
        dirty: bool,
        now: u64,
        bus: &mut Bus,
        cause: Cause,
        account: &mut Account,
    ) -> u64 {
        match self.place(pa, dirty, cause, account) {
            Some(out) if out.dirty => {
                self.wrote_out(cause, account);
                bus.write_line(out.pa, now, account)
            }
            _ => now,
        }
    }

    /// Gives a line a place; returns the line that had it.
    #[inline(always)]
    pub(super) fn place(
        &mut self,
        pa: RamAddress,
        dirty: bool,
        cause: Cause,
        account: &mut Account,
    ) -> Option<Evicted> {
        let out = self.cache.fill(pa, dirty)?;
        Self::evicted(self.level, out.pa, cause, account);
        Some(out)
    }

    /// Notes that a line has left it.
    #[inline(always)]
    pub(super) fn evicted(level: Level, pa: RamAddress, cause: Cause, account: &mut Account) {
        if level == Level::Second {
            account.pollution.line_evicted(Array::L2, pa, cause);
        }
    }
}

#[cfg(test)]
mod tests;
