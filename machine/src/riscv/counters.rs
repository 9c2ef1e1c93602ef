//! Counters of cycles, instructions and events (RISC-V Privileged Architecture 20211203, 3.1.10 to 3.1.12). Events have
//! SiFive's numbers: a class, and a bit for each event of the class, as Linux's perf names them for a U74
//! (tools/perf/pmu-events/arch/riscv/sifive/u74).

use serde::{Deserialize, Serialize};
use vm_fdt::{Error, FdtWriter};

use super::config::Config;
use super::processor::Processor;
use crate::account::{Event, Plain};

/// The first counter of events.
const FIRST: usize = 3;
/// Counters of events have so many bits, as Rocket's have (rocket/CSR.scala).
const BITS: u32 = 40;
/// The bits of an event's number that are its class.
const CLASS: u64 = 0xff;
/// Events that are counted, of each class.
const EVENTS: [u64; 3] = [1 << 14 | 1 << 16, 1 << 13 | 1 << 14, 0x3f << 8];

/// Numbers of events that SBI gives a meaning, the last one of each range, and the event of the core
/// (RISC-V SBI 0.3, 11.1).
const MEANINGS: [(u32, u64); 7] = [
    (0x4, 0x302),       // misses of the caches
    (0x5, 0x4000),      // branches
    (0x6, 0x6001),      // those predicted wrongly
    (0x1_0001, 0x202),  // misses of the D-cache
    (0x1_0009, 0x102),  // of the I-cache
    (0x1_0019, 0x1002), // of the data TLB
    (0x1_0021, 0x802),  // of the instruction TLB
];

/// The registers.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Hpm {
    inhibit: u32,
    events: [u64; 32],
    /// What a counter shows, less what is counted for it; all that it shows while it is inhibited.
    held: [u64; 32],
    /// Indirect jumps, and those predicted wrongly.
    pub jumps: u64,
    pub misdirected: u64,
}

/// The counters that can be inhibited: with counters of events mcycle and minstret, too.
fn inhibitable(config: &Config) -> u32 {
    let counters = config.core.event_counters;
    if counters == 0 {
        0
    } else {
        ((1 << (FIRST as u32 + counters)) - 1) & !2
    }
}

impl Processor {
    fn is_event_counter(&self, number: usize) -> bool {
        (FIRST..FIRST + self.config.core.event_counters as usize).contains(&number)
    }

    /// What has been counted since reset.
    fn counted(&self, number: usize) -> u64 {
        match number {
            0 => return self.cycles,
            2 => return self.instructions,
            _ => {}
        }
        let (hpm, all) = (&self.csr.hpm, &self.account.counters);
        let branches = all.plain(Plain::Branch) + self.branches;
        let mispredicted = all.plain(Plain::BranchMispredict) + self.mispredicted;
        let event = hpm.events[number];
        let count = |bit| match (event & CLASS, bit) {
            (0, 14) => branches.wrapping_sub(hpm.jumps),
            (0, 16) => hpm.jumps,
            (1, 13) => mispredicted.wrapping_sub(hpm.misdirected),
            (1, 14) => hpm.misdirected,
            (2, 8) => all.total(Event::InstructionCacheMiss),
            (2, 9) => all.total(Event::DataCacheMiss) + all.total(Event::DataCacheInhibited),
            (2, 10) => all.total(Event::DataCacheWriteback),
            (2, 11) => all.total(Event::InstructionTlbMiss),
            (2, 12) => all.total(Event::DataTlbMiss),
            (2, 13) => all.plain(Plain::SecondTlbMiss),
            _ => 0,
        };
        (8..24).filter(|bit| event >> bit & 1 != 0).map(count).sum()
    }

    /// A counter: mcycle, minstret, or one of events.
    pub(super) fn counter_shows(&self, number: usize) -> u64 {
        let hpm = &self.csr.hpm;
        if hpm.inhibit >> number & 1 != 0 {
            return hpm.held[number];
        }
        let value = self.counted(number).wrapping_add(hpm.held[number]);
        if self.is_event_counter(number) {
            value & ((1 << BITS) - 1)
        } else {
            value
        }
    }

    /// Writes a counter; nothing happens where there is none.
    pub(super) fn set_counter(&mut self, number: usize, value: u64) {
        if !(number == 0 || number == 2 || self.is_event_counter(number)) {
            return;
        }
        let inhibited = self.csr.hpm.inhibit >> number & 1 != 0;
        // The count of the instruction that writes minstret comes on top.
        let counted = self.counted(number) + u64::from(number == 2);
        let base = if inhibited { 0 } else { counted };
        let value = if self.is_event_counter(number) {
            value & ((1 << BITS) - 1)
        } else {
            value
        };
        self.csr.hpm.held[number] = value.wrapping_sub(base);
    }

    /// mcountinhibit, or the event of a counter.
    pub(super) fn counter_setting(&self, number: usize) -> u64 {
        let hpm = &self.csr.hpm;
        if number == 0 {
            hpm.inhibit.into()
        } else {
            hpm.events[number]
        }
    }

    /// Writes mcountinhibit, or the event of a counter, of which it keeps what can be counted.
    pub(super) fn set_counter_setting(&mut self, number: usize, value: u64) {
        let changed = if number == 0 {
            let old = self.csr.hpm.inhibit;
            old ^ value as u32 & inhibitable(&self.config)
        } else {
            u32::from(self.is_event_counter(number)) << number
        };
        let those = (0..32).filter(|n| changed >> n & 1 != 0);
        let shown: Vec<_> = those.map(|n| (n, self.counter_shows(n))).collect();
        if number == 0 {
            self.csr.hpm.inhibit ^= changed;
        } else if changed != 0 {
            let class = (value & CLASS) as usize;
            let there = EVENTS.get(class).copied().unwrap_or_default() & value;
            self.csr.hpm.events[number] = if there == 0 { 0 } else { there | class as u64 };
        }
        // A counter goes on from what it showed.
        for (n, value) in shown {
            self.set_counter(n, value);
        }
    }
}

/// The node by which firmware finds the counters (OpenSBI docs/pmu_support.md).
///
/// # Errors
/// When the tree cannot be written.
pub fn node(fdt: &mut FdtWriter, config: &Config) -> Result<(), Error> {
    if config.core.event_counters == 0 {
        return Ok(());
    }
    let counters = inhibitable(config) & !7;
    let halves = |value: u64| [(value >> 32) as u32, value as u32];
    let node = fdt.begin_node("pmu")?;
    fdt.property_string("compatible", "riscv,pmu")?;
    let events = MEANINGS.map(|(meaning, event)| {
        let [high, low] = halves(event);
        [meaning, high, low]
    });
    fdt.property_array_u32("riscv,event-to-mhpmevent", events.as_flattened())?;
    let of = MEANINGS.map(|(meaning, _)| [meaning, meaning, counters]);
    fdt.property_array_u32("riscv,event-to-mhpmcounters", of.as_flattened())?;
    let raw: Vec<u32> = (0..)
        .zip(EVENTS)
        .flat_map(|(class, events)| {
            let cells = [halves(class), halves(!events)];
            cells.into_iter().flatten().chain([counters])
        })
        .collect();
    fdt.property_array_u32("riscv,raw-event-to-mhpmcounters", &raw)?;
    fdt.end_node(node)
}
