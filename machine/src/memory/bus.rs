//! The 60x bus: when a transfer begins and ends.
//!
//! Bus clock edge k is at core cycle floor(k × ratio). A transfer begins `request` clocks after the first edge at or
//! after its request, or when the bus becomes free, whichever is later. It holds the bus until `turnaround` clocks
//! after its last beat. A beat of a read reaches the core `return_path` clocks after it was on the bus. Transfers are
//! served in the order of their requests.

use crate::observe::{Account, Plain};
use serde::{Deserialize, Serialize};

/// The most processors that a machine has (config/check.rs).
const PROCESSORS: usize = 8;

/// Bus timing in bus clocks; the sources are beside the values in the machine files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BusTiming {
    /// Core clocks per bus clock, times two (2:1 is 4, 2.5:1 is 5).
    pub ratio_x2: u32,
    /// From a request to the start of its address tenure on an idle bus.
    pub request: u32,
    /// From the last beat of a transfer until the bus is free.
    pub turnaround: u32,
    /// From a beat of a read on the bus to the core that waits for it.
    pub return_path: u32,
    /// From the start of a burst read to its first beat.
    pub read_first: u32,
    /// Between further beats of a burst read.
    pub read_next: u32,
    /// From the start of a burst write to its first beat.
    pub write_first: u32,
    /// Between further beats of a burst write.
    pub write_next: u32,
    /// A single-beat read, whole.
    pub single_read: u32,
    /// A single-beat write, whole.
    pub single_write: u32,
    /// A transaction without data, whole.
    pub address_only: u32,
    /// Bytes a beat (8 on the 60x bus).
    pub beat: u32,
}

/// When the beats of a line reach the core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// When the first one does, which holds the address asked for, in half core cycles.
    first: u64,
    /// Half core cycles between beats.
    step: u64,
    /// Beats, a power of two.
    beats: u32,
    /// Bytes of a beat: 1 << this.
    shift: u32,
}

impl Delivery {
    /// A line of `bytes` whose first beat of `width` bytes comes at the core cycle `first`, each further one
    /// `step` cycles later.
    #[must_use]
    pub fn new(first: u64, step: u32, bytes: u32, width: u32) -> Self {
        Self {
            first: 2 * first,
            step: 2 * u64::from(step),
            beats: (bytes >> width.trailing_zeros()).max(1),
            shift: width.trailing_zeros(),
        }
    }

    /// True if a run can lead to this state. A snapshot is checked by this before use.
    pub(crate) fn fits(&self) -> bool {
        self.first < crate::config::LATEST
            && self.step <= u64::from(u32::MAX)
            && self.beats.is_power_of_two()
            && self.shift < u32::BITS
    }

    /// Core cycle of beat `number`, from 0 on.
    #[must_use]
    pub fn beat(&self, number: u32) -> u64 {
        (self.first + u64::from(number) * self.step) / 2
    }

    /// Core cycle of the first beat.
    #[must_use]
    pub fn critical(&self) -> u64 {
        self.beat(0)
    }

    /// Core cycle of the last beat.
    #[must_use]
    pub fn complete(&self) -> u64 {
        self.beat(self.beats - 1)
    }

    /// The beat that holds `pa`, when that of `critical` comes first and the others follow in order, round
    /// within the line.
    #[must_use]
    pub fn beat_of(&self, critical: u32, pa: u32) -> u32 {
        (pa >> self.shift).wrapping_sub(critical >> self.shift) & (self.beats - 1)
    }
}

/// The bus and when it is free.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Bus {
    timing: BusTiming,
    /// The edge from which the bus is free, in half core cycles: a multiple of the ratio.
    free_edge: u64,
    /// The core cycle at which the last transfer is over, for reads at the core.
    done: u64,
    /// The core cycle at which each processor's last `tlbie` is over.
    invalidated: [u64; PROCESSORS],
}

impl Bus {
    /// A bus that is free from cycle 0.
    #[must_use]
    pub fn new(timing: BusTiming) -> Self {
        Self {
            timing,
            free_edge: 0,
            done: 0,
            invalidated: [0; PROCESSORS],
        }
    }

    /// Its timing.
    #[must_use]
    pub fn timing(&self) -> &BusTiming {
        &self.timing
    }

    /// The core cycle from which the bus is free.
    #[inline]
    #[must_use]
    pub fn free_at(&self) -> u64 {
        self.free_edge / 2
    }

    /// True if this state is possible for a machine with the same configuration as `fresh`. Checked before a snapshot
    /// is used.
    pub(crate) fn fits(&self, fresh: &Self) -> bool {
        let latest = crate::config::LATEST;
        self.timing == fresh.timing
            && self.free_edge < latest
            && self
                .free_edge
                .is_multiple_of(u64::from(self.timing.ratio_x2))
            && self.done < latest
    }

    /// The core cycle at which all transfers are done.
    #[must_use]
    pub fn done_at(&self) -> u64 {
        self.done
    }

    /// A transfer of `clocks` that is asked for at `now`, holds the bus for `hold` clocks more, and is over for
    /// the core `back` clocks after its last beat; returns the edge at which it begins, in half core cycles.
    #[inline(always)]
    fn transfer(
        &mut self,
        now: u64,
        clocks: u32,
        (hold, back): (u32, u32),
        account: &mut Account,
    ) -> u64 {
        let ratio = self.timing.ratio_x2;
        // Edge k is at cycle floor(k × ratio / 2), which is not before `now` exactly if
        // k × ratio >= 2 × now. It is counted from where the bus is free, which is near as a rule.
        let asked = match (2 * now).checked_sub(self.free_edge).map(u32::try_from) {
            // Every core cycle is an edge.
            _ if ratio == 2 => 2 * now,
            Some(Ok(idle)) => self.free_edge + u64::from(idle.next_multiple_of(ratio)),
            _ => (2 * now).next_multiple_of(u64::from(ratio)),
        };
        let ready = self.after(asked, self.timing.request);
        let edge = ready.max(self.free_edge);
        if edge > ready {
            account.add_plain(Plain::BusWait, (edge - ready) / 2);
        }
        self.free_edge = self.after(edge, clocks + hold);
        self.done = self.after(edge, clocks + back) / 2;
        account.add_plain(Plain::BusCycles, (self.free_edge - edge) / 2);
        edge
    }

    /// The edge `clocks` after `edge`.
    #[inline(always)]
    fn after(&self, edge: u64, clocks: u32) -> u64 {
        edge + u64::from(clocks) * u64::from(self.timing.ratio_x2)
    }

    /// Reads a line of `bytes` whose request is made at `now`.
    #[inline(always)]
    pub fn read_line(&mut self, now: u64, bytes: u32, account: &mut Account) -> Delivery {
        let t = self.timing;
        self.read_burst(now, bytes, t.read_first, t.read_next, account)
    }

    /// Reads a line of `bytes` from something on the bus that has its own beats (a look-aside L2).
    #[inline(always)]
    pub fn read_burst(
        &mut self,
        now: u64,
        bytes: u32,
        first: u32,
        next: u32,
        account: &mut Account,
    ) -> Delivery {
        let (shift, back) = (self.timing.beat.trailing_zeros(), self.timing.return_path);
        let beats = (bytes >> shift).max(1);
        let after = (self.timing.turnaround, back);
        let edge = self.transfer(now, first + (beats - 1) * next, after, account);
        account.add_plain(Plain::BusRead, 1);
        Delivery {
            first: self.after(edge, first + back),
            step: u64::from(next) * u64::from(self.timing.ratio_x2),
            beats,
            shift,
        }
    }

    /// Writes a line of `bytes`, posted at `now`; returns the cycle of its last beat.
    #[inline(always)]
    pub fn write_line(&mut self, now: u64, bytes: u32, account: &mut Account) -> u64 {
        let t = self.timing;
        let beats = (bytes >> t.beat.trailing_zeros()).max(1);
        let further = (beats - 1) * t.write_next;
        self.transfer(now, t.write_first + further, (t.turnaround, 0), account);
        account.add_plain(Plain::BusWrite, 1);
        self.done
    }

    /// Reads a beat or less; returns the cycle at which the data is there.
    pub fn read_single(&mut self, now: u64, account: &mut Account) -> u64 {
        let t = self.timing;
        self.transfer(now, t.single_read, (t.turnaround, t.return_path), account);
        account.add_plain(Plain::BusRead, 1);
        self.done
    }

    /// Writes a beat or less; returns the cycle at which it is done.
    #[inline]
    pub fn write_single(&mut self, now: u64, account: &mut Account) -> u64 {
        let t = self.timing;
        self.transfer(now, t.single_write, (t.turnaround, 0), account);
        account.add_plain(Plain::BusWrite, 1);
        self.done
    }

    /// An address tenure that another processor retries: TS, AACK, ARTRY, the shortest that there is (MPC7400 UM 9-22,
    /// BUS 3-18). Returns the cycle at which it is over.
    pub fn retried(&mut self, now: u64, account: &mut Account) -> u64 {
        const RETRIED: u32 = 3;
        self.transfer(now, RETRIED, (0, 0), account);
        self.done
    }

    /// A transaction without data, posted at `now`; returns the cycle at which it is done.
    pub fn address_only(&mut self, now: u64, account: &mut Account) -> u64 {
        self.transfer(now, self.timing.address_only, (0, 0), account);
        account.add_plain(Plain::BusAddress, 1);
        self.done
    }

    /// A broadcast `tlbie` or `tlbsync` of processor `number`. A processor whose own `tlbie` still
    /// waits retries those of others (604 UM p.122; Bus Interface for 32-Bit Microprocessors 4-20):
    /// the tenure is lost, and runs again behind that one. How long a receiver needs for the
    /// invalidation is not documented, and takes no time here.
    pub fn tlb_tenure(
        &mut self,
        number: u8,
        invalidate: bool,
        now: u64,
        account: &mut Account,
    ) -> u64 {
        let others = self.invalidated.iter().enumerate();
        let waits = others
            .filter(|&(other, _)| other != usize::from(number))
            .map(|(_, &done)| done)
            .max()
            .unwrap_or(0);
        let mut done = self.address_only(now, account);
        if waits > now {
            account.add_plain(Plain::TlbRetried, 1);
            done = self.address_only(done.max(waits), account);
        }
        if invalidate && let Some(own) = self.invalidated.get_mut(usize::from(number)) {
            *own = done;
        }
        done
    }
}
