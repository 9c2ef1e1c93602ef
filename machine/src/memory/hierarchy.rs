//! The caches, the bus and RAM put together: what each kind of access does and costs.
//!
//! Rules of timing: Transfers use the bus in the order of their requests. A write-back follows the fill that caused
//! it and delays only later transfers. A store that misses, or bypasses the cache, is posted; the core waits only
//! while the store queue is full. For write-backs of `dcbz`, `dcbst` and `dcbf` it waits only while all write-back
//! buffers are in use, for a touch while all touch buffers are. A line has its place in an L1 from its request on. An
//! access that finds it incomplete waits for its beat, or for the whole line, as the core forwards them.

use super::RamAddress;
use super::arrivals::Arrivals;
use super::attribute;
use super::broadcast::Broadcast;
use super::cache::{Cache, CacheGeometry, Had};
use super::coherence::Seen;
use super::fill::Asked;
use super::l2::L2;
use super::places::Places;
use super::posted::{POSTED_MAX, PostedWrites};
use super::prefetch;
use super::touch::Touches;
use super::uncore::{Loan, Uncore};
use super::{Forward, TouchedLine};
use crate::account::{Account, Array, Cause, Charge, Event};
use serde::{Deserialize, Serialize};

/// What the core's memory unit does, beside the shapes of the caches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryTiming {
    /// Which beats fetches get of a line that is being filled.
    pub instruction_forward: Forward,
    /// Which beats loads and stores get of one.
    pub data_forward: Forward,
    /// Stores that can wait for the bus without holding the core; 0: the core waits for each.
    pub store_queue: u32,
    /// Modified lines that can wait for the bus; 0: the core waits for each.
    pub write_back_buffers: u32,
    /// Touched lines that can be on their way; 0: touches do nothing.
    pub touch_buffers: u32,
    /// Where a touched line goes.
    pub touched_line: TouchedLine,
    /// `icbi` invalidates every way of the set without comparing (603, UM 3.7.8).
    pub icbi_whole_set: bool,
    /// What the core puts on the bus beside transfers.
    pub broadcast: Broadcast,
    /// If it broadcasts, `tlbie` and `tlbsync` too.
    pub tlb_broadcast: bool,
    /// The D-cache has a shared state: MESI, not MEI.
    pub shared_state: bool,
    /// The D-cache writes every store through to an in-line L2, and gives no line a place for one (970).
    pub stores_through: bool,
    /// While a line is filled into the D-cache, no other access of the core gets at that (603e UM 3.3).
    pub data_blocked: bool,
    /// A fill waits for the write-back buffer that its victim needs. It does where memory is made of parts; with memory
    /// of constant time such waits are left out.
    pub fills_wait: bool,
    /// The core goes on while a load waits, and waits later (x86/window.rs).
    pub loads_ahead: bool,
    /// The machine has several processors, which see each other's transactions.
    pub several: bool,
}

/// `dcbz` on memory that the D-cache may not hold: the core takes an alignment exception.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("dcbz on memory that the data cache may not hold")]
pub struct CacheInhibited;

/// Memory as one processor sees it: its own caches and queues, and the uncore behind them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Memory {
    /// What is behind the caches. A snapshot and a copy leave it out.
    #[serde(skip)]
    pub uncore: Loan,
    /// What double words held before they were written, of a copy whose stores are undone.
    #[serde(skip)]
    pub(crate) undo: Option<Vec<(u32, u64)>>,
    /// The processor's number.
    pub(super) number: u8,
    /// L1 instruction cache. Its addresses are those of [`Memory::places`].
    pub instruction: Cache,
    /// Where it holds the lines of RAM.
    pub(crate) places: Places,
    /// L1 data cache.
    pub data: Cache,
    pub(super) timing: MemoryTiming,
    /// The L2 is the processor's own, and has to be coherent with others.
    pub(super) private_l2: bool,
    /// Lines may come by transactions that other processors see, or through an L2 of the processor's own.
    pub(super) fills_are_seen: bool,
    /// [`Memory::has_known_shape`].
    pub(super) known_shape: bool,
    pub(super) instruction_arrivals: Arrivals,
    pub(super) data_arrivals: Arrivals,
    /// The cycle from which accesses get at the D-cache again.
    pub(super) blocked: u64,
    pub(super) stores: PostedWrites,
    pub(super) write_backs: PostedWrites,
    pub(super) touches: Touches,
    /// HID0\[ABE\].
    pub(super) broadcast_enabled: bool,
    /// Every store is written through, whatever its page says (8xx: DC_CST).
    write_through: bool,
}

#[derive(Clone, Copy)]
pub(super) enum Side {
    Instruction,
    Data,
}

impl Memory {
    /// These bytes are about to be written: what they hold is remembered, if stores are undone.
    pub(crate) fn remember(&mut self, pa: u32, bytes: u32) {
        if let Some(undo) = &mut self.undo {
            for at in (pa & !7..pa.saturating_add(bytes)).step_by(8) {
                if let Some(value) = self.uncore.ram.read_u64(at) {
                    undo.push((at, value));
                }
            }
        }
    }

    /// Memory with empty, disabled L1 caches, as after a hard reset.
    ///
    /// # Errors
    /// What is wrong with a cache's shape or with the timing.
    pub fn new(
        uncore: Uncore,
        instruction: CacheGeometry,
        data: CacheGeometry,
        timing: MemoryTiming,
    ) -> Result<Self, String> {
        let queues = [
            timing.store_queue,
            timing.write_back_buffers,
            timing.touch_buffers,
        ];
        if queues.iter().any(|&entries| entries > POSTED_MAX) {
            return Err(format!(
                "store queue, write-back and touch buffers have {queues:?} entries: 0 to {POSTED_MAX} are allowed"
            ));
        }
        let other = |l2: &L2| l2.cache.geometry().line != data.line;
        let burst = uncore.bus.timing().line;
        if instruction.line != data.line
            || burst != data.line
            || uncore.l2.as_ref().is_some_and(other)
        {
            return Err("all caches must have the same line size".to_string());
        }
        for cache in [&instruction, &data] {
            uncore.ram.suits(cache)?;
        }
        let mut memory = Self {
            undo: None,
            private_l2: uncore.l2_is_private(timing.several),
            fills_are_seen: timing.several || uncore.l2_is_private(timing.several),
            uncore: Loan::new(uncore),
            number: 0,
            instruction: Cache::new(instruction)?,
            places: Places::PHYSICAL,
            data: Cache::new(data)?,
            timing,
            instruction_arrivals: Arrivals::default(),
            data_arrivals: Arrivals::default(),
            blocked: 0,
            stores: PostedWrites::default(),
            write_backs: PostedWrites::default(),
            touches: Touches::default(),
            broadcast_enabled: false,
            write_through: false,
            known_shape: false,
        };
        memory.known_shape = memory.has_known_shape();
        Ok(memory)
    }

    /// True if this state is possible for a machine with the same configuration as `fresh`. Checked before a snapshot
    /// is used.
    pub(crate) fn fits(&self, fresh: &Self) -> bool {
        let ram = fresh.uncore.ram.size();
        let places = fresh.places.size(ram);
        self.places == fresh.places
            && self.instruction.fits(&fresh.instruction, places)
            && self.data.fits(&fresh.data, ram)
            && self.timing == fresh.timing
            && (self.private_l2, self.fills_are_seen) == (fresh.private_l2, fresh.fills_are_seen)
            && self.known_shape == fresh.known_shape
            && self.blocked < crate::config::LATEST
            && self.stores.fits()
            && self.write_backs.fits()
            && self.touches.fits(ram)
            && self.instruction_arrivals.fits(places)
            && self.data_arrivals.fits(ram)
    }

    /// The memory unit's timing.
    #[must_use]
    pub fn timing(&self) -> &MemoryTiming {
        &self.timing
    }

    /// Drops all touched lines, because the D-cache is switched on or off, or emptied.
    pub fn forget_touches(&mut self) {
        self.touches.clear();
    }

    /// Switches both L1 caches on.
    pub fn enable_caches(&mut self) {
        self.instruction.set_enabled(true);
        self.data.set_enabled(true);
    }

    /// Lets the core tell the bus of its cache instructions, or not, if it has a switch for that.
    pub fn set_broadcasts(&mut self, on: bool) {
        self.broadcast_enabled = on;
    }

    /// Turns write-through of every store on or off (8xx: DC_CST).
    pub fn force_write_through(&mut self, on: bool) {
        self.write_through = on;
    }

    /// True if every store is written through, whatever its page says.
    #[must_use]
    pub fn write_through(&self) -> bool {
        self.write_through
    }

    /// True if no line of the D-cache is ever modified, because stores go through to the L2.
    #[must_use]
    pub fn stores_through(&self) -> bool {
        self.timing.stores_through
    }

    /// An instruction fetch of the line in the place `pa` (or, past the cache, of the double word there); returns the
    /// stall. The caller counts the access.
    pub fn fetch(
        &mut self,
        pa: RamAddress,
        attributes: u8,
        now: u64,
        account: &mut Account,
    ) -> u64 {
        if attributes & attribute::INHIBITED != 0 || !self.instruction.enabled() {
            account.add(Event::InstructionCacheInhibited, 1);
            let global = attributes & attribute::COHERENT != 0;
            let stall = self.read_single(pa, global, now, account.cause, account) - now;
            account.add(Event::MemoryStall, stall);
            stall
        } else if !self.instruction.access(pa, false) {
            self.fetch_missed(pa, attributes, now, account)
        } else if self.instruction.arriving(pa) {
            self.fetch_arriving(pa, now, account)
        } else {
            0
        }
    }

    /// [`Memory::fetch`] of a line that the enabled I-cache does not hold.
    #[inline(always)]
    pub fn fetch_missed(
        &mut self,
        place: u32,
        attributes: u8,
        now: u64,
        account: &mut Account,
    ) -> u64 {
        if self.known_shape {
            self.fetch_missed_on::<true>(place, attributes, now, account)
        } else {
            self.fetch_missed_on::<false>(place, attributes, now, account)
        }
    }

    #[inline(never)]
    fn fetch_missed_on<const KNOWN: bool>(
        &mut self,
        place: u32,
        attributes: u8,
        now: u64,
        account: &mut Account,
    ) -> u64 {
        let (cause, pa) = (account.cause, self.places.physical(place));
        let charge = account.charge(cause);
        account.add_to(Event::InstructionCacheMiss, charge, 1);
        account.line_missed(Array::InstructionCache, pa, charge);
        if self.data.is_dirty(pa) {
            account.add(Event::InstructionCacheStale, 1);
        }
        let global = attributes & attribute::COHERENT != 0;
        let stall = if self.instruction.locked() {
            self.read_single(pa, global, now, cause, account) - now
        } else {
            let asked = Asked {
                side: Side::Instruction,
                global,
                ..Asked::load(self.timing.instruction_forward, cause)
            };
            self.fill::<KNOWN>(asked, charge, place, now, account) - now
        };
        account.add_to(Event::MemoryStall, charge, stall);
        stall
    }

    /// [`Memory::fetch`] of the most recently used line of its set in the I-cache, which is marked as not complete.
    #[inline(always)]
    pub fn fetch_arriving(&mut self, pa: RamAddress, now: u64, account: &mut Account) -> u64 {
        let forward = self.timing.instruction_forward;
        let stall = self.waited(Side::Instruction, pa, forward, now) - now;
        account.add(Event::MemoryStall, stall);
        stall
    }

    /// The block that was fetched from an incomplete line has its last instruction at `last` and would end at `end`.
    /// Returns by how much it ends later, because of that instruction's arrival.
    #[inline(always)]
    pub fn fetch_rest(&mut self, last: u32, end: u64, account: &mut Account) -> u64 {
        let forward = self.timing.instruction_forward;
        // It takes the cycle after the one in which it comes.
        let stall = self.waited(Side::Instruction, last, forward, end - 1) + 1 - end;
        account.add(Event::MemoryStall, stall);
        stall
    }

    /// How long an access at `now` waits until it gets at the D-cache, which is then open. `None`: it is open.
    #[inline(always)]
    pub(super) fn blocked_for(&mut self, now: u64) -> Option<u64> {
        (self.blocked > now).then(|| std::mem::take(&mut self.blocked) - now)
    }

    /// True if accesses at `now` do not get at the D-cache.
    #[inline(always)]
    #[must_use]
    pub(crate) fn is_blocked(&self, now: u64) -> bool {
        self.blocked > now
    }

    /// Cycles until all posted stores and transfers are done.
    #[must_use]
    pub fn drain(&self, now: u64) -> u64 {
        let lines = (self.data_arrivals.last()).max(self.instruction_arrivals.last());
        self.uncore.bus.done_at().max(lines).saturating_sub(now)
    }

    /// A data access to `pa` follows. The host brings the word, and what a miss of the caches looks at.
    #[inline(always)]
    pub(crate) fn expect(&self, pa: RamAddress, account: &Account) {
        prefetch::soon(self.uncore.ram.bytes().get(pa as usize));
        prefetch::soon(account.pollution.of_line(pa));
        let l2 = self.uncore.l2.as_ref();
        prefetch::soon(l2.and_then(|l2| l2.cache.set_of(pa)));
    }

    #[inline(always)]
    pub(super) fn data_miss(&mut self, pa: RamAddress, charge: Charge, account: &mut Account) {
        account.add_to(Event::DataCacheMiss, charge, 1);
        account.line_missed(Array::DataCache, pa, charge);
    }

    /// An inhibited access to a line that is cached all the same: pushed if modified, then invalid.
    pub(super) fn purge_alias(
        &mut self,
        pa: RamAddress,
        attributes: u8,
        now: u64,
        cause: Cause,
        account: &mut Account,
    ) {
        if attributes & attribute::INHIBITED != 0
            && self.data.enabled()
            && (self.data.find(pa).is_some() || self.second(pa) != Had::Not)
        {
            self.flush_line(pa, now, true, cause, account);
        }
    }

    /// Writes a line to memory if L1 or L2 hold it modified; returns how long that waits for a buffer, or
    /// nothing if there is nothing to write.
    pub(super) fn flush_line(
        &mut self,
        pa: RamAddress,
        now: u64,
        invalidate: bool,
        cause: Cause,
        account: &mut Account,
    ) -> Option<u64> {
        // A line is written when it is there.
        let there = self.whole(pa, now);
        if invalidate {
            self.touches.take(self.data.line_address(pa));
        }
        let in_l1 = if invalidate {
            self.data.invalidate(pa)
        } else {
            self.data.clean(pa)
        };
        let in_l2 = self.uncore.l2.as_mut().is_some_and(|l2| {
            if invalidate {
                l2.cache.invalidate(pa)
            } else {
                l2.cache.clean(pa)
            }
        });
        if in_l1 {
            account.add_as(Event::DataCacheWriteback, cause, 1);
        } else if in_l2 {
            account.add_as(Event::L2Writeback, cause, 1);
        }
        if in_l1 || in_l2 {
            let done = self.uncore.bus.write_line(pa, there, account);
            return Some(self.posted_write_back(now, done));
        }
        None
    }

    /// The cycle from which a transaction may go on: at once, or when the other processors have answered a global one.
    pub(super) fn seen_if(
        &mut self,
        global: bool,
        seen: Seen,
        pa: RamAddress,
        now: u64,
        cause: Cause,
        account: &mut Account,
    ) -> u64 {
        if global {
            self.seen(seen, pa, now, cause, account).0
        } else {
            now
        }
    }

    /// Reads a beat; returns the cycle at which the data is there.
    pub(super) fn read_single(
        &mut self,
        pa: RamAddress,
        global: bool,
        now: u64,
        cause: Cause,
        account: &mut Account,
    ) -> u64 {
        let from = self.seen_if(global, Seen::Read, pa, now, cause, account);
        self.uncore.bus.read_single(pa, from, account)
    }
}
