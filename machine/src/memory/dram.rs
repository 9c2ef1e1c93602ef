//! DRAM: rows, banks, precharge and refresh.
//!
//! A bank opens a row by its row strobe; the first beat comes `access` later, further beats of the row every
//! `page_cycle`, those of a later access too. Then the bank precharges before it opens another row. In the closed-page
//! mode it precharges after each access, in the open-page mode when an access needs another of its rows. A refresh
//! holds all banks and closes their rows. Edges are bus clock edges in half core cycles, as in [`super::bus`].

use super::RamAddress;
use serde::{Deserialize, Serialize};

/// The parts, in bus clocks: each time of a data sheet is rounded up to a whole one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DramTiming {
    /// From the row strobe to the first beat.
    pub access: u32,
    /// From the column strobe of an open row to the first beat.
    pub column_access: u32,
    /// From column strobe to column strobe of an open row.
    pub page_cycle: u32,
    /// From the end of a row to the next row strobe of the bank.
    pub precharge: u32,
    /// From row strobe to row strobe of a bank, at least.
    pub cycle: u32,
    /// Banks, a power of two: consecutive rows lie in consecutive banks.
    pub banks: u32,
    /// Bytes of a row, a power of two.
    pub row: u32,
    /// Beats that one column access moves, a power of two. They follow each other in consecutive clocks.
    pub group: u32,
    /// A row stays open until another row of its bank is needed.
    pub open_page: bool,
    /// Clocks from refresh to refresh.
    pub refresh_interval: u32,
    /// Clocks for which a refresh holds all banks.
    pub refresh_length: u32,
}

impl DramTiming {
    /// Clocks from beat to beat within a group, and what the next group's first beat takes longer than that.
    #[must_use]
    pub fn steps(&self) -> (u32, u32) {
        match self.group {
            1 => (self.page_cycle, 0),
            group => (1, self.page_cycle.saturating_sub(group)),
        }
    }

    /// Clocks from the first of `beats` to the first beat that a further column can have.
    #[must_use]
    pub fn columns(&self, beats: u32) -> u32 {
        beats.div_ceil(self.group) * self.page_cycle.max(self.group)
    }

    /// Clocks from the first of `beats` to the last.
    #[must_use]
    pub fn span(&self, beats: u32) -> u32 {
        let (step, gap) = self.steps();
        let last = beats - 1;
        last * step + (last >> self.group.trailing_zeros()) * gap
    }
}

/// No row.
const NO_ROW: u32 = u32::MAX;

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Bank {
    /// The open row: an address divided by the bytes of a row.
    row: u32,
    /// If a row is open, the edge from which it may be closed; else the one from which another may be opened.
    ready: u64,
    /// The edge from which a further column of the open row may have its first beat.
    column: u64,
}

/// The banks, and when they can do what.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Dram {
    timing: DramTiming,
    /// Half core cycles of a bus clock.
    ratio: u32,
    banks: Vec<Bank>,
    /// The edge of the last beat so far: all banks have the same data lines.
    busy: u64,
    /// The edge at which the next refresh is due.
    refresh: u64,
}

impl Dram {
    /// Memory whose banks are precharged. `ratio`: half core cycles of a bus clock.
    #[must_use]
    pub fn new(timing: DramTiming, ratio: u32) -> Self {
        let bank = Bank {
            row: NO_ROW,
            ready: 0,
            column: 0,
        };
        Self {
            timing,
            ratio,
            banks: vec![bank; timing.banks as usize],
            busy: 0,
            refresh: u64::from(timing.refresh_interval) * u64::from(ratio),
        }
    }

    /// The parts' times.
    #[must_use]
    pub fn timing(&self) -> &DramTiming {
        &self.timing
    }

    /// The edge of the last beat of all accesses so far.
    #[inline]
    #[must_use]
    pub fn busy(&self) -> u64 {
        self.busy
    }

    /// True if this state is possible for a machine with the same configuration as `fresh`. Checked before a snapshot
    /// is used.
    pub(crate) fn fits(&self, fresh: &Self) -> bool {
        let edge = |at: u64| at < crate::config::LATEST && at.is_multiple_of(self.ratio.into());
        (self.timing, self.ratio, self.banks.len())
            == (fresh.timing, fresh.ratio, fresh.banks.len())
            && edge(self.busy)
            && edge(self.refresh)
            && self
                .banks
                .iter()
                .all(|bank| edge(bank.ready) && edge(bank.column))
    }

    #[inline(always)]
    fn after(&self, edge: u64, clocks: u32) -> u64 {
        edge + u64::from(clocks) * u64::from(self.ratio)
    }

    /// An access to `beats` at `pa`, strobed at `from` at the earliest, whose first beat cannot come before the edge
    /// `free`. Returns the edges of the first beat and of the last.
    #[inline(never)]
    pub fn access(&mut self, pa: RamAddress, from: u64, free: u64, beats: u32) -> (u64, u64) {
        let mut strobe = from.max(self.busy);
        if strobe >= self.refresh {
            strobe = self.refreshed(strobe);
        }
        let t = &self.timing;
        let row = pa >> t.row.trailing_zeros();
        let index = (row & (t.banks - 1)) as usize;
        let bank = self.banks[index];
        let (opened, first) = if bank.row == row {
            (None, self.after(strobe, t.column_access).max(bank.column))
        } else {
            let ready = strobe.max(bank.ready);
            let open = if bank.row == NO_ROW {
                ready
            } else {
                self.after(ready, t.precharge)
            };
            (Some(open), self.after(open, t.access))
        };
        let first = first.max(free);
        let last = self.after(first, t.span(beats));
        // When the row may be closed: after the last beat, and so late that the bank's cycle is kept.
        let close = opened.map_or(bank.ready, |open| {
            self.after(open, t.cycle.saturating_sub(t.precharge))
        });
        let close = close.max(last);
        self.banks[index] = if t.open_page {
            let column = self.after(first, t.columns(beats));
            Bank {
                row,
                ready: close,
                column,
            }
        } else {
            Bank {
                row: NO_ROW,
                ready: self.after(close, t.precharge),
                column: 0,
            }
        };
        self.busy = last;
        (first, last)
    }

    /// A refresh is due before an access at `strobe`; returns the edge from which the access can be strobed. Refreshes
    /// that were due while the memory was idle have passed unseen.
    #[cold]
    fn refreshed(&mut self, strobe: u64) -> u64 {
        let interval = self.after(0, self.timing.refresh_interval);
        let due = self.refresh + (strobe - self.refresh) / interval * interval;
        let ready = self.banks.iter().map(|bank| {
            if bank.row == NO_ROW {
                bank.ready
            } else {
                self.after(bank.ready, self.timing.precharge)
            }
        });
        let begin = ready.max().unwrap_or_default().max(due).max(self.busy);
        let end = self.after(begin, self.timing.refresh_length);
        self.refresh = due + interval;
        for bank in &mut self.banks {
            *bank = Bank {
                row: NO_ROW,
                ready: end,
                column: 0,
            };
        }
        strobe.max(end)
    }
}

#[cfg(test)]
mod tests;
