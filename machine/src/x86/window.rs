//! Loads of a P6 that miss while later instructions run (`[window]` of a machine file).
//!
//! Instructions complete in order, so that a load whose line is under way holds those behind it. They are issued all
//! the same, until so many micro-operations wait as the core has entries; then nothing is issued until the line comes.
//! A slot of [`Processor::time`] is a micro-operation. So each load that misses has a limit: the slot at which the
//! entries are used up. A wait for anything else moves the limits by its length. Loads that miss meanwhile ask for
//! their lines at once, as many as the core can have under way; the bus takes them as its depth allows.
//!
//! What runs ahead, and for how long, depends on the instructions alone, not on how they are cut into blocks. While a
//! line is under way, instructions run one after another ([`Processor::run_carefully`]), each behind a look at the
//! window.
//!
//! Not as hardware:
//!
//! - An address that needs a register whose line is under way holds all instructions behind it, not only those that
//!   need its result. Only the register that was loaded counts, until another load writes it; what was computed from
//!   it counts as there, except by LEA.
//! - A wrong prediction, an exception, an interrupt, a device and an instruction of the system wait until all lines are
//!   there, even if the branch did not need them.
//! - A divide fills the window with its slots, though it is a few micro-operations.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

use super::config::WindowConfig;
use super::op::Op;
use super::processor::Processor;
use super::registers::gpr;
use crate::account::Event;
use crate::config::LATEST;
use crate::memory::attribute;

/// A load whose data is not there yet. Times are in slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Ahead {
    /// The window is full from here on.
    limit: u64,
    /// The data is there.
    done: u64,
    /// It has asked for a line, and does not wait for one that another asked for.
    fills: bool,
}

/// The window, and when each register has what was loaded into it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Window {
    /// The oldest first.
    ahead: VecDeque<Ahead>,
    late: [u64; 8],
    /// When the data of the last instruction's loads is there.
    latest: u64,
}

impl Window {
    /// True if a load waits for its data.
    #[inline(always)]
    pub(super) fn is_open(&self) -> bool {
        !self.ahead.is_empty()
    }

    /// Can a run lead to this state? A snapshot is checked by this before use.
    pub(super) fn fits(&self, config: Option<&WindowConfig>) -> bool {
        let most = config.map_or(0, |config| config.entries as usize + 1);
        let possible = |&at: &u64| at < LATEST;
        self.ahead.len() <= most
            && (self.ahead.iter()).all(|ahead| possible(&ahead.limit) && possible(&ahead.done))
            && self.late.iter().all(possible)
            && possible(&self.latest)
    }

    /// The time to which an instruction waits that could be issued at `now`, and needs something that is there at
    /// `needs`.
    #[inline(always)]
    fn issue(&mut self, now: u64, needs: u64) -> u64 {
        if needs <= now
            && let Some(oldest) = self.ahead.front()
            && oldest.done.min(oldest.limit) > now
        {
            return now;
        }
        self.issue_after(now, needs)
    }

    /// [`Window::issue`] where something is waited for, or data has come.
    #[inline(never)]
    fn issue_after(&mut self, now: u64, needs: u64) -> u64 {
        let mut at = now;
        self.wait(&mut at, needs);
        while let Some(&oldest) = self.ahead.front() {
            if oldest.done > at {
                if oldest.limit > at {
                    break;
                }
                self.wait(&mut at, oldest.done);
            }
            self.ahead.pop_front();
        }
        at
    }

    /// Nothing is issued until `until`.
    fn wait(&mut self, at: &mut u64, until: u64) {
        let slots = until.saturating_sub(*at);
        *at += slots;
        self.held(slots);
    }

    /// Nothing was issued for so many slots.
    fn held(&mut self, slots: u64) {
        for ahead in &mut self.ahead {
            ahead.limit += slots;
        }
    }

    /// The time from which a line can be asked for at `now`, if `most` can be under way.
    fn ask(&mut self, now: u64, most: usize) -> u64 {
        let at = self.issue(now, 0);
        let under_way = |ahead: &&Ahead| ahead.fills && ahead.done > at;
        if self.ahead.iter().filter(under_way).count() < most {
            return at;
        }
        let ends = self.ahead.iter().filter(under_way).map(|ahead| ahead.done);
        let mut ends: Vec<u64> = ends.collect();
        ends.sort_unstable();
        match ends.len().checked_sub(most) {
            Some(over) => self.issue(at, ends[over]),
            None => at,
        }
    }

    /// A load at `now` has its data at `done`. Returns the time to which the core waits, because an instruction has
    /// more loads than the window `entries`.
    fn add(&mut self, now: u64, (done, fills): (u64, bool), entries: u32) -> u64 {
        let mut at = now;
        while self.ahead.len() > entries as usize {
            let oldest = self.ahead.pop_front().map_or(0, |oldest| oldest.done);
            at = self.issue(at, oldest);
        }
        self.latest = self.latest.max(done);
        let limit = at + u64::from(entries);
        self.ahead.push_back(Ahead { limit, done, fills });
        at
    }

    /// The time to which an instruction waits that could be issued at `now`, with these registers in its address.
    /// `loaded`: the registers that the instruction before it loaded.
    #[inline(always)]
    fn begin(&mut self, now: u64, address: [u8; 2], mut loaded: u8) -> u64 {
        let latest = std::mem::take(&mut self.latest);
        while loaded != 0 {
            self.late[loaded.trailing_zeros() as usize & 7] = latest;
            loaded &= loaded - 1;
        }
        let late = |register: u8| match register {
            gpr::NONE => 0,
            register => self.late[usize::from(register & 7)],
        };
        let needs = late(address[0]).max(late(address[1]));
        self.issue(now, needs)
    }
}

impl Processor {
    /// The core has a window in which later instructions run while a load waits.
    #[inline(always)]
    pub(super) fn runs_ahead(&self) -> bool {
        self.config.window.is_some()
    }

    /// A load from memory that caches may hold. What it waits for is waited for later.
    #[inline(never)]
    pub(super) fn load_ahead(&mut self, pa: u32) {
        let Some(WindowConfig { entries, misses }) = self.config.window else {
            return;
        };
        let fills = self.memory.data.find(pa).is_none();
        if fills && self.window.is_open() {
            let at = self.window.ask(self.slots(), misses as usize);
            self.wait_until(at);
        }
        let now = self.now();
        let wait = (self.memory).load_ahead(pa, attribute::COHERENT, now, &mut self.account);
        if wait == 0 {
            return;
        }
        let now = self.slots();
        let done = now + self.slots_at(wait);
        let at = self.window.add(now, (done, fills), entries);
        self.wait_until(at);
        self.run_on_carefully();
    }

    /// Before an instruction: `before` are the slots of its block before it, `loaded` the registers that the one
    /// before it loaded.
    #[inline(always)]
    pub(super) fn look_at_window(&mut self, op: &Op, before: u16, loaded: u8) {
        let now = self.time + u64::from(before);
        let at = self.window.begin(now, [op.base, op.index], loaded);
        self.pass_slots(now, at);
    }

    /// All loads get their data before what comes now.
    #[inline(always)]
    pub(super) fn close_window(&mut self) {
        if self.window.is_open() {
            self.wait_for_window();
        }
    }

    #[inline(never)]
    fn wait_for_window(&mut self) {
        let last = self.window.ahead.iter().map(|ahead| ahead.done).max();
        self.window = Window::default();
        self.wait_until(last.unwrap_or(0));
    }

    /// Waits until `at`, in slots.
    fn wait_until(&mut self, at: u64) {
        let now = self.slots();
        self.pass_slots(now, at);
    }

    /// The wait from `now` to `at`, in slots, is one for memory.
    fn pass_slots(&mut self, now: u64, at: u64) {
        if at > now {
            let slots = u64::from(self.kind.slots());
            (self.account).add(Event::MemoryStall, at / slots - now / slots);
            self.time += at - now;
        }
    }

    /// Something else than a load holds the core for `slots`.
    #[inline(always)]
    pub(super) fn window_held(&mut self, slots: u64) {
        if self.window.is_open() {
            self.window.held(slots);
        }
    }
}

#[cfg(test)]
mod tests;
