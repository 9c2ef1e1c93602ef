//! The parts against a plain model, which keeps all that has happened and looks for the first clock that no rule of the
//! data sheet forbids.

use super::*;
use crate::memory::RamAddress;
use proptest::prelude::*;

/// What has happened to a bank.
#[derive(Debug, Clone, Copy)]
enum Happened {
    /// Its row was strobed at this clock, had the first beat of its last column at that, and its last beat at that.
    Row {
        row: u32,
        strobe: u64,
        column: u64,
        last: u64,
    },
    /// It was closed at this clock.
    Closed { at: u64 },
    /// A refresh ended at this clock.
    Refreshed { end: u64 },
}

struct Model {
    timing: DramTiming,
    banks: Vec<Vec<Happened>>,
    last: u64,
    next_refresh: u64,
}

impl Model {
    fn new(timing: DramTiming) -> Self {
        Self {
            timing,
            banks: vec![Vec::new(); timing.banks as usize],
            last: 0,
            next_refresh: timing.refresh_interval.into(),
        }
    }

    /// The clock from which the open row of a bank may be closed.
    fn may_close(&self, bank: usize) -> u64 {
        match self.banks[bank].last() {
            Some(&Happened::Row { strobe, last, .. }) => last
                .max(strobe + u64::from(self.timing.cycle.saturating_sub(self.timing.precharge))),
            _ => 0,
        }
    }

    /// The clock from which a row of the bank may be strobed, if its open row is closed as soon as may be.
    fn may_strobe(&self, bank: usize) -> u64 {
        match self.banks[bank].last() {
            None => 0,
            Some(&Happened::Row { .. }) => self.may_close(bank) + u64::from(self.timing.precharge),
            Some(&Happened::Closed { at }) => at + u64::from(self.timing.precharge),
            Some(&Happened::Refreshed { end }) => end,
        }
    }

    fn access(&mut self, pa: RamAddress, from: u64, beats: u32) -> u64 {
        let t = self.timing;
        let mut at = from.max(self.last);
        // A refresh comes before an access that does not precede it.
        if at >= self.next_refresh {
            while self.next_refresh + u64::from(t.refresh_interval) <= at {
                self.next_refresh += u64::from(t.refresh_interval);
            }
            let ready = (0..self.banks.len())
                .map(|bank| self.may_strobe(bank))
                .max();
            let begin = self.next_refresh.max(self.last).max(ready.unwrap_or(0));
            let end = begin + u64::from(t.refresh_length);
            for bank in &mut self.banks {
                bank.push(Happened::Refreshed { end });
            }
            self.next_refresh += u64::from(t.refresh_interval);
            at = at.max(end);
        }
        let row = pa / t.row;
        let bank = (row % t.banks) as usize;
        let open = match self.banks[bank].last() {
            Some(&Happened::Row {
                row: open,
                strobe,
                column,
                ..
            }) if open == row => Some((strobe, column)),
            _ => None,
        };
        let (strobe, first) = match (open, self.banks[bank].last()) {
            (Some((strobe, column)), _) => {
                let pace = u64::from(t.page_cycle.max(t.group));
                (strobe, (at + u64::from(t.column_access)).max(column + pace))
            }
            (None, Some(Happened::Row { .. })) => {
                let strobe = at.max(self.may_close(bank)) + u64::from(t.precharge);
                (strobe, strobe + u64::from(t.access))
            }
            (None, _) => {
                let strobe = at.max(self.may_strobe(bank));
                (strobe, strobe + u64::from(t.access))
            }
        };
        // Beat by beat: a new group of beats waits for its column.
        let mut last = first;
        let mut column = first;
        for beat in 1..beats {
            if beat % t.group == 0 {
                column = (column + u64::from(t.page_cycle)).max(last + 1);
                last = column;
            } else {
                last += 1;
            }
        }
        self.banks[bank].push(Happened::Row {
            row,
            strobe,
            column,
            last,
        });
        if !t.open_page {
            let at = self.may_close(bank);
            self.banks[bank].push(Happened::Closed { at });
        }
        self.last = last;
        first
    }
}

fn access(dram: &mut Dram, pa: RamAddress, from: u64, beats: u32) -> (u64, u64) {
    dram.access::<false>(pa, (from, 0), (beats, dram.span(beats)))
}

fn timing() -> impl Strategy<Value = DramTiming> {
    (
        (1u32..9, 1u32..6, 1u32..6, 0u32..6, 0u32..14),
        (0u32..3, 9u32..11, 0u32..3, any::<bool>()),
        (40u32..400, 1u32..20),
    )
        .prop_map(
            |(
                (access, column, page_cycle, precharge, cycle),
                (banks, row, group, open_page),
                refresh,
            )| {
                DramTiming {
                    access: access.max(column),
                    column_access: column,
                    page_cycle,
                    precharge,
                    cycle,
                    banks: 1 << banks,
                    row: 1 << row,
                    group: 1 << group,
                    open_page,
                    refresh_interval: refresh.0,
                    refresh_length: refresh.1,
                }
            },
        )
}

proptest! {
    #[test]
    fn accesses_come_when_the_model_says(
        timing in timing(),
        accesses in prop::collection::vec((0u32..1 << 13, 0u64..60, 0u32..4, 0u32..20), 1..200),
        ratio in 2u32..7,
    ) {
        let mut dram = Dram::new(timing, ratio);
        let mut model = Model::new(timing);
        let edge = |clock: u64| clock * u64::from(ratio);
        let mut clock = 0;
        for (pa, gap, beats, idle) in accesses {
            clock += gap;
            if idle == 0 {
                clock += 1000;
            }
            let beats = 1 << beats;
            let (first, last) = access(&mut dram, pa, edge(clock), beats);
            prop_assert_eq!(first, edge(model.access(pa, clock, beats)));
            prop_assert_eq!(last, edge(model.last));
            prop_assert_eq!(dram.busy(), edge(model.last));
        }
    }
}

/// 70 ns parts on a bus of 66 MHz: what a data sheet's clocks give for a burst, a row that is open, another row of the
/// same bank, and one of another bank.
#[test]
fn bursts_of_70_ns_parts() {
    let timing = DramTiming {
        access: 5,
        column_access: 2,
        page_cycle: 3,
        precharge: 4,
        cycle: 9,
        banks: 2,
        row: 4096,
        group: 1,
        open_page: true,
        refresh_interval: 1040,
        refresh_length: 9,
    };
    let mut dram = Dram::new(timing, 2);
    assert_eq!(access(&mut dram, 0, 0, 4).0, 2 * 5);
    assert_eq!(dram.busy(), 2 * 14);
    assert_eq!(access(&mut dram, 32, 2 * 20, 4).0, 2 * 22);
    // A column right behind it comes when the parts can have the next one, not when its own address could be there.
    assert_eq!(access(&mut dram, 64, 2 * 31, 4).0, 2 * (31 + 3));
    assert_eq!(access(&mut dram, 8192, 2 * 44, 4).0, 2 * (44 + 4 + 5));
    assert_eq!(access(&mut dram, 4096, 2 * 70, 4).0, 2 * (70 + 5));
    // The refresh of clock 1040 holds all banks for 9 clocks. Their rows were closed in time for it.
    assert_eq!(access(&mut dram, 4096, 2 * 1042, 4).0, 2 * (1040 + 9 + 5));
}
