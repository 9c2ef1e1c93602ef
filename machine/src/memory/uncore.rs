//! The uncore: RAM, the L2, the bus and the board, which all processors share.

use super::{Physical, RamAddress};
use std::ops::{Deref, DerefMut};

use serde::{Deserialize, Serialize};

use super::l2::{L2, Level, l2cr};
use super::{Bus, BusTiming, CacheGeometry, Delivery, L2Timing, Memory, Notice, Peer, Ram};
use crate::account::{Account, Cause, Charge};
use crate::board::{Board, BoardState, BusError, Effect, Instant};

/// Everything behind the processors.
#[derive(Debug)]
pub struct Uncore {
    /// The contents of memory.
    pub ram: Ram,
    /// The L2, if the machine has one: the one that all processors share, or that of the processor which holds the
    /// uncore.
    pub l2: Option<L2>,
    /// The 60x bus.
    pub bus: Bus,
    /// One transaction is on the bus at a time, one write at most waits for memory, and the L2, if there is one, stands
    /// beside memory and is written through. So it is on the boards of the i486, whose every store is written. The
    /// functions that have a `ONE` are compiled twice: for these machines, and for all.
    pub(super) posts_one: bool,
    /// The devices.
    pub board: Board,
    /// The processors as the others see them, by number; empty in a machine with one.
    pub(crate) peers: Vec<Peer>,
    /// What the others must be told of when this turn ends.
    pub(crate) notices: Vec<Notice>,
    /// Regions of interest that this turn begins and ends, and dumps that it asks for: they concern all processors.
    pub(crate) effects: Vec<Effect>,
}

/// An [`Uncore`] in a snapshot.
#[derive(Serialize, Deserialize)]
pub(crate) struct UncoreState {
    pub(crate) ram: Ram,
    l2: Option<L2>,
    bus: Bus,
    board: BoardState,
}

impl Uncore {
    /// Makes an uncore in its state after reset: with an empty L2, an empty L3, and an idle bus. `levels`: the L2 and
    /// the L3, if there are any.
    ///
    /// # Errors
    /// When a cache's shape or the bus's timing is not valid.
    pub fn new(
        ram: Ram,
        levels: [Option<(CacheGeometry, L2Timing)>; 2],
        bus: BusTiming,
        board: Board,
    ) -> Result<Self, String> {
        if bus.ratio_x2 < 2 {
            return Err("the core's clock is slower than the bus's".to_string());
        }
        for (shape, _) in levels.iter().flatten() {
            ram.suits(shape)?;
        }
        let [l2, l3] = levels;
        let l2 = l2.map(|(shape, timing)| L2::new(shape, timing, &bus));
        let l3 = l3.map(|(shape, timing)| L2::third(shape, timing, &bus));
        let mut bus = Bus::new(bus);
        if let Some(l3) = l3.transpose()? {
            bus.stand_before_memory(l3);
        }
        let l2 = l2.transpose()?;
        Ok(Self {
            ram,
            posts_one: bus.posts_one() && l2.as_ref().is_none_or(L2::writes_through),
            l2,
            bus,
            board,
            peers: Vec::new(),
            notices: Vec::new(),
            effects: Vec::new(),
        })
    }

    /// Processor `number`, a new one of several, has its entry here. All L2s are alike after reset, so that the first
    /// processor's is the one that is here already.
    pub(crate) fn join(&mut self, number: u8, memory: &Memory) {
        let l2 = (number > 0 && memory.has_private_l2()).then(|| self.l2.clone());
        self.peers.extend(memory.empty_peer().map(|peer| Peer {
            l2: l2.flatten(),
            ..peer
        }));
    }

    /// The uncore's state, for a snapshot.
    pub(crate) fn state(&self) -> UncoreState {
        UncoreState {
            ram: self.ram.clone(),
            l2: self.l2.clone(),
            bus: self.bus.clone(),
            board: self.board.state(),
        }
    }

    /// Restores a state that [`Uncore::state`] returned. False if this machine could not have reached that state.
    #[must_use]
    pub(crate) fn set_state(&mut self, state: UncoreState) -> bool {
        let ram = self.ram.size();
        let l2 = match (&state.l2, &self.l2) {
            (Some(l2), Some(fresh)) => l2.fits(fresh, ram),
            (None, None) => true,
            _ => false,
        };
        if !l2 || !state.ram.is_like(&self.ram) || !state.bus.fits(&self.bus, ram) {
            return false;
        }
        self.ram = state.ram;
        self.l2 = state.l2;
        self.bus.restore(state.bus);
        self.board.set_state(state.board)
    }

    /// Writes to a device, which may then access memory by itself.
    ///
    /// # Errors
    /// When no device answers, or a device was told to access memory that is not there.
    pub fn write_device(
        &mut self,
        physical: Physical,
        bytes: u32,
        value: u64,
        now: Instant,
    ) -> Result<Option<Effect>, BusError> {
        let effect = self.board.write(physical, bytes, value, now)?;
        self.board.transfer(now.cycles, self.ram.bytes_mut())?;
        Ok(effect)
    }

    /// Lets the devices do what is due by cycle `now`.
    pub(crate) fn poll_devices(&mut self, now: u64) {
        self.board.poll(now);
        // The next write to the board reports an error.
        let _ = self.board.transfer(now, self.ram.bytes_mut());
    }

    /// Applies a write to L2CR: enable, global invalidate. A look-aside L2 has no such register.
    pub fn write_l2cr(&mut self, value: u32) {
        if let Some(l2) = &mut self.l2
            && l2.is_back_side()
        {
            l2.cache.set_enabled(value & l2cr::L2E != 0);
            if value & l2cr::L2I != 0 {
                l2.cache.invalidate_all();
            }
        }
    }

    /// Reads a line for an L1 that missed at cycle `now`.
    #[inline(always)]
    pub(super) fn read_line(
        &mut self,
        pa: RamAddress,
        now: u64,
        cause: Cause,
        account: &mut Account,
    ) -> Delivery {
        match &mut self.l2 {
            Some(l2) if l2.cache.enabled() => l2.read_line(pa, now, &mut self.bus, cause, account),
            _ => self.bus.read_line(pa, now, account),
        }
    }

    /// As [`Uncore::read_line`], unless the line comes by an L2 in front of the bus, or by an L3. Then this does
    /// nothing.
    #[inline(always)]
    pub(super) fn read_directly<const KNOWN: bool>(
        &mut self,
        pa: RamAddress,
        now: u64,
        charged: (Cause, Charge),
        account: &mut Account,
    ) -> Option<Delivery> {
        let bus = &mut self.bus;
        match &mut self.l2 {
            Some(l2) if KNOWN || l2.cache.enabled() => (KNOWN || l2.stands_beside())
                .then(|| l2.read_beside::<KNOWN>(Level::Second, pa, now, bus, charged, account)),
            _ => (bus.third().is_none()).then(|| bus.read_line(pa, now, account)),
        }
    }

    /// Writes a modified line that an L1 evicted at `now`; returns the cycle when it is written.
    #[inline(always)]
    pub(super) fn write_line(
        &mut self,
        pa: RamAddress,
        now: u64,
        cause: Cause,
        account: &mut Account,
    ) -> u64 {
        match &mut self.l2 {
            Some(l2) if l2.cache.enabled() => l2.write_line(pa, now, &mut self.bus, cause, account),
            _ => self.bus.write_line(pa, now, account),
        }
    }

    /// Writes a beat or less to cached memory; returns the cycle when it is written.
    #[inline(always)]
    pub(super) fn write_single<const ONE: bool>(
        &mut self,
        pa: RamAddress,
        now: u64,
        account: &mut Account,
    ) -> u64 {
        match &mut self.l2 {
            Some(l2) if ONE || l2.cache.enabled() => {
                l2.write_single::<ONE>(pa, now, &mut self.bus, account)
            }
            _ => self.bus.write_single::<ONE>(pa, now, account),
        }
    }
}

/// Access to the uncore, which one processor has at a time. The processor whose turn it is has exclusive access; the
/// other processors do not run. Passing the uncore to the next processor copies one pointer.
#[derive(Debug, Default)]
pub struct Loan(Option<Box<Uncore>>);

impl Loan {
    /// Gives access to `uncore`.
    #[must_use]
    pub fn new(uncore: Uncore) -> Self {
        Loan(Some(Box::new(uncore)))
    }

    /// The uncore, if it is here.
    #[inline(always)]
    #[must_use]
    pub(crate) fn get(&self) -> Option<&Uncore> {
        self.0.as_deref()
    }

    /// Gives the uncore up.
    #[must_use]
    pub(crate) fn release(self) -> Option<Uncore> {
        self.0.map(|uncore| *uncore)
    }
}

/// A copy of a processor's memory has no access to the uncore.
impl Clone for Loan {
    fn clone(&self) -> Self {
        Loan(None)
    }
}

impl Deref for Loan {
    type Target = Uncore;

    #[inline(always)]
    fn deref(&self) -> &Uncore {
        self.0.as_deref().unwrap_or_else(|| absent())
    }
}

impl DerefMut for Loan {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Uncore {
        self.0.as_deref_mut().unwrap_or_else(|| absent())
    }
}

#[cold]
#[inline(never)]
fn absent() -> ! {
    unreachable!("a processor uses the uncore in its turn only")
}
