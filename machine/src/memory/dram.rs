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
}

/// No row.
const NO_ROW: u32 = u32::MAX;

/// What of [`DramTiming`] each access needs, in half core cycles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Pace {
    access: u64,
    column_access: u64,
    precharge: u64,
    /// From a row strobe until the row may be closed, at least.
    kept: u64,
    /// From beat to beat, and what the first beat of a group takes longer.
    step: u64,
    gap: u64,
    /// From a column of an open row to the next.
    columns: u64,
    /// Beats of a group: 1 << this.
    group: u32,
    /// Bytes of a row: 1 << this.
    row: u32,
    /// Banks less one.
    banks: u32,
    open_page: bool,
}

impl Pace {
    fn new(timing: &DramTiming, ratio: u32) -> Self {
        let clocks = |number: u32| u64::from(number) * u64::from(ratio);
        let (step, gap) = timing.steps();
        Self {
            access: clocks(timing.access),
            column_access: clocks(timing.column_access),
            precharge: clocks(timing.precharge),
            kept: clocks(timing.cycle.saturating_sub(timing.precharge)),
            step: clocks(step),
            gap: clocks(gap),
            columns: clocks(timing.page_cycle.max(timing.group)),
            group: timing.group.trailing_zeros(),
            row: timing.row.trailing_zeros(),
            banks: timing.banks - 1,
            open_page: timing.open_page,
        }
    }
}

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
    pace: Pace,
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
            pace: Pace::new(&timing, ratio),
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
        let open = self.timing.open_page;
        (self.timing, self.ratio, self.pace, self.banks.len())
            == (fresh.timing, fresh.ratio, fresh.pace, fresh.banks.len())
            && edge(self.busy)
            && edge(self.refresh)
            && self
                .banks
                .iter()
                .all(|bank| edge(bank.ready) && edge(bank.column) && (open || bank.row == NO_ROW))
    }

    #[inline(always)]
    fn after(&self, edge: u64, clocks: u32) -> u64 {
        edge + u64::from(clocks) * u64::from(self.ratio)
    }

    /// Half core cycles from the first of `beats` to the last.
    #[inline(always)]
    #[must_use]
    pub fn span(&self, beats: u32) -> u64 {
        let (pace, last) = (&self.pace, beats - 1);
        u64::from(last) * pace.step + u64::from(last >> pace.group) * pace.gap
    }

    /// An access to `beats` at `pa`, with `span` from the first to the last ([`Dram::span`]). It is strobed at `from`
    /// at the earliest, and its first beat cannot come before the edge `free`. Returns the edges of the first beat and
    /// of the last. `CLOSED`: it is known that no row stays open.
    #[inline(always)]
    pub fn access<const CLOSED: bool>(
        &mut self,
        pa: RamAddress,
        (from, free): (u64, u64),
        (beats, span): (u32, u64),
    ) -> (u64, u64) {
        let mut strobe = from.max(self.busy);
        if strobe >= self.refresh {
            strobe = self.refreshed(strobe);
        }
        let pace = &self.pace;
        let row = pa >> pace.row;
        let bank = &mut self.banks[(row & pace.banks) as usize];
        let (close, first) = if !CLOSED && bank.row == row {
            (bank.ready, (strobe + pace.column_access).max(bank.column))
        } else {
            let mut open = strobe.max(bank.ready);
            if !CLOSED && bank.row != NO_ROW {
                open += pace.precharge;
            }
            (open + pace.kept, open + pace.access)
        };
        let first = first.max(free);
        let last = first + span;
        // The row may be closed after the last beat, and so late that the bank's cycle is kept.
        let close = close.max(last);
        if !CLOSED && pace.open_page {
            let groups = (beats + (1 << pace.group) - 1) >> pace.group;
            *bank = Bank {
                row,
                ready: close,
                column: first + u64::from(groups) * pace.columns,
            };
        } else {
            bank.ready = close + pace.precharge;
        }
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
