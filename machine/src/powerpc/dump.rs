//! The state of the translation hardware and the caches at an instant, as data, text and JSON.

mod hash;
mod text;

pub use hash::{HashTable, PteRow};

use serde::Serialize;

use crate::memory::{Cache, Memory};
use crate::observe::Shown;
use crate::powerpc::Registers;
use crate::powerpc::mmu::hash64::{EratEntry, SlbEntry};
use crate::powerpc::mmu::mpc8xx::tlb::PageSize;
use crate::powerpc::mmu::{
    Bats, Hash64, Mmu, Mpc8xx, Ppc405, Segments, Tlb, mpc8xx, ppc405, segment,
};

/// Everything a dump shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StateDump {
    /// The value that the guest wrote to DUMP, or the caller's.
    pub label: u32,
    /// Whose state it is, by number. Absent if the machine has one processor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processor: Option<u8>,
    /// Core cycles since reset.
    pub cycle: u64,
    pub pc: u32,
    pub msr: u32,
    /// None on an 8xx.
    pub segments: Vec<SegmentRow>,
    pub instruction_bats: Vec<BatRow>,
    pub data_bats: Vec<BatRow>,
    pub instruction_tlb: Vec<TlbRow>,
    pub data_tlb: Vec<TlbRow>,
    /// Empty if the machine has none.
    pub l2_tlb: Vec<TlbRow>,
    /// An 8xx's address space; with it come its TLBs in place of the two above.
    pub casid: Option<u8>,
    pub instruction_entries: Vec<EntryRow>,
    pub data_entries: Vec<EntryRow>,
    /// A 405's TLB, in place of those above.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unified_tlb: Option<UnifiedTlb>,
    /// What a 970 has, in place of those above.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wide: Option<WideTables>,
    /// Absent where SDR1 names no table that lies in RAM.
    pub hash_table: Option<HashTable>,
    pub instruction_cache: Vec<LineRow>,
    pub data_cache: Vec<LineRow>,
    pub l2_cache: Vec<LineRow>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SegmentRow {
    pub number: u32,
    pub direct_store: bool,
    pub supervisor_key: bool,
    pub user_key: bool,
    pub no_execute: bool,
    pub vsid: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BatRow {
    pub number: u32,
    pub effective: u32,
    pub physical: u32,
    /// Bytes of the block.
    pub size: u64,
    pub supervisor: bool,
    pub user: bool,
    pub wimg: u8,
    pub pp: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TlbRow {
    pub set: u32,
    pub way: u8,
    pub vsid: u32,
    /// EA bits 4 to 19.
    pub page_index: u32,
    pub physical: u32,
    pub changed: bool,
    pub wimg: u8,
    pub pp: u8,
}

/// An entry of an 8xx's TLB.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EntryRow {
    pub number: u32,
    /// Kept out of replacement.
    pub reserved: bool,
    pub effective: u32,
    pub physical: u32,
    pub size: PageSize,
    pub asid: u8,
    /// Hits in every address space.
    pub shared: bool,
    /// Access protection group.
    pub group: u32,
    /// Both descriptors are valid.
    pub valid: bool,
    /// Valid subpages of 1 KB, the first one the most significant of four bits.
    pub subpages: u32,
    pub changed: bool,
    pub wimg: u8,
    /// The descriptors as they were loaded.
    pub level_one: u32,
    pub level_two: u32,
}

/// The TLB of a 405 that software loads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnifiedTlb {
    /// The address space that runs.
    pub pid: u8,
    /// A field of two bits for each zone.
    pub zpr: u32,
    /// Valid entries.
    pub entries: Vec<UnifiedRow>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnifiedRow {
    pub number: u32,
    pub effective: u32,
    pub physical: u32,
    /// Bytes of the page.
    pub size: u32,
    /// Address space; 0 is in all of them.
    pub tid: u8,
    pub zone: u32,
    pub execute: bool,
    pub write: bool,
    pub wimg: u8,
}

/// SLB, ERATs and TLB of a 970.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WideTables {
    pub sdr1: u64,
    /// Valid entries.
    pub slb: Vec<SlbRow>,
    pub instruction_erat: Vec<EratRow>,
    pub data_erat: Vec<EratRow>,
    pub tlb: Vec<WideTlbRow>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SlbRow {
    pub number: usize,
    /// First address of the segment.
    pub effective: u64,
    pub vsid: u64,
    pub supervisor_key: bool,
    pub user_key: bool,
    pub no_execute: bool,
    pub large: bool,
}

/// 4 KB of a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EratRow {
    pub number: usize,
    pub effective: u64,
    pub physical: u32,
    /// Of a page of 16 MB.
    pub large: bool,
    pub changed: bool,
    pub wimg: u8,
    pub pp: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WideTlbRow {
    pub set: u32,
    pub way: u8,
    pub vsid: u64,
    /// Number of the page in its segment.
    pub page_index: u32,
    pub large: bool,
    pub physical: u32,
    pub no_execute: bool,
    pub changed: bool,
    pub wimg: u8,
    pub pp: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LineRow {
    pub set: u32,
    pub way: u8,
    pub physical: u32,
    pub modified: bool,
}

impl StateDump {
    /// Reads the state; nothing changes, nothing is counted.
    #[must_use]
    pub fn take(label: u32, cycle: u64, registers: &Registers, mmu: &Mmu, memory: &Memory) -> Self {
        let second = memory.uncore.l2.as_ref();
        StateDump {
            instruction_cache: lines(&memory.instruction, |place| memory.places.physical(place)),
            data_cache: lines(&memory.data, |pa| pa),
            l2_cache: second.map_or_else(Vec::new, |l2| lines(&l2.cache, |pa| pa)),
            ..Self::of_translation(label, cycle, registers, mmu, memory)
        }
    }

    /// The state without the caches, whose lines are many.
    #[must_use]
    pub fn of_translation(
        label: u32,
        cycle: u64,
        registers: &Registers,
        mmu: &Mmu,
        memory: &Memory,
    ) -> Self {
        let (front, unit) = (mmu.front(), mmu.mpc8xx());
        StateDump {
            label,
            processor: None,
            cycle,
            pc: registers.pc,
            msr: registers.msr,
            segments: front.map_or_else(Vec::new, |front| segments(&front.segments)),
            instruction_bats: front.map_or_else(Vec::new, |front| bats(&front.ibat)),
            data_bats: front.map_or_else(Vec::new, |front| bats(&front.dbat)),
            instruction_tlb: front.map_or_else(Vec::new, |front| tlb(&front.itlb)),
            data_tlb: front.map_or_else(Vec::new, |front| tlb(&front.dtlb)),
            l2_tlb: front
                .and_then(|front| front.second.as_ref())
                .map_or_else(Vec::new, |second| tlb(&second.tlb)),
            casid: unit.map(Mpc8xx::casid),
            instruction_entries: unit.map_or_else(Vec::new, |unit| entries(&unit.instruction.tlb)),
            data_entries: unit.map_or_else(Vec::new, |unit| entries(&unit.data.tlb)),
            unified_tlb: mmu.ppc405().map(unified),
            wide: mmu.hash64().map(wide),
            hash_table: mmu
                .hash_table()
                .and_then(|base| HashTable::read(base, memory)),
            instruction_cache: Vec::new(),
            data_cache: Vec::new(),
            l2_cache: Vec::new(),
        }
    }

    /// The dump as one JSON object.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::json!(self)
    }
}

fn segments(segments: &Segments) -> Vec<SegmentRow> {
    (0..)
        .zip(segments.all())
        .map(|(number, &value)| SegmentRow {
            number,
            direct_store: value & segment::T != 0,
            supervisor_key: value & segment::KS != 0,
            user_key: value & segment::KP != 0,
            no_execute: value & segment::N != 0,
            vsid: value & segment::VSID,
        })
        .collect()
}

/// Valid BATs (PEM 7.4.3: BEPI, BL, Vs, Vp; BRPN, WIMG, PP).
fn bats(bats: &Bats) -> Vec<BatRow> {
    (0..bats.count())
        .map(|n| (n as u32, bats.upper(n), bats.lower(n)))
        .filter(|(_, upper, _)| upper & 3 != 0)
        .map(|(number, upper, lower)| BatRow {
            number,
            effective: upper & 0xfffe_0000,
            physical: lower & 0xfffe_0000,
            size: (u64::from(upper >> 2 & 0x7ff) + 1) << 17,
            supervisor: upper & 2 != 0,
            user: upper & 1 != 0,
            wimg: (lower >> 3 & 15) as u8,
            pp: (lower & 3) as u8,
        })
        .collect()
}

fn tlb(tlb: &Tlb) -> Vec<TlbRow> {
    tlb.valid_entries()
        .map(|(set, entry)| TlbRow {
            set,
            way: entry.way(),
            vsid: entry.vsid(),
            page_index: entry.page(),
            physical: entry.rpn(),
            changed: entry.changed(),
            wimg: entry.attributes(),
            pp: entry.pp(),
        })
        .collect()
}

fn unified(unit: &Ppc405) -> UnifiedTlb {
    let entries = (0..).zip(unit.entries());
    let row = |(number, entry): (u32, &ppc405::Entry)| UnifiedRow {
        number,
        effective: entry.page(),
        physical: entry.physical(),
        size: entry.bytes(),
        tid: entry.tid(),
        zone: entry.zone(),
        execute: entry.low() & ppc405::low::EXECUTE != 0,
        write: entry.low() & ppc405::low::WRITE != 0,
        wimg: entry.attributes(),
    };
    UnifiedTlb {
        pid: unit.pid(),
        zpr: unit.zpr(),
        entries: entries
            .filter(|(_, entry)| entry.valid())
            .map(row)
            .collect(),
    }
}

fn wide(unit: &Hash64) -> WideTables {
    let segment = |(number, entry): (usize, &SlbEntry)| SlbRow {
        number,
        effective: entry.segment(),
        vsid: entry.vsid(),
        supervisor_key: entry.key(false),
        user_key: entry.key(true),
        no_execute: entry.no_execute(),
        large: entry.large(),
    };
    let erat = |fetch| {
        let entries = unit.erat(fetch).entries().iter().enumerate();
        let row = |(number, entry): (usize, &Option<EratEntry>)| {
            let entry = entry.as_ref()?;
            Some(EratRow {
                number,
                effective: entry.ea,
                physical: entry.physical,
                large: entry.large,
                changed: entry.changed,
                wimg: entry.attributes,
                pp: entry.pp,
            })
        };
        entries.filter_map(row).collect()
    };
    let entries = unit.slb.entries().iter().enumerate();
    WideTables {
        sdr1: unit.sdr1,
        slb: entries
            .filter(|(_, entry)| entry.valid())
            .map(segment)
            .collect(),
        instruction_erat: erat(true),
        data_erat: erat(false),
        tlb: unit
            .tlb()
            .valid_entries()
            .map(|(set, entry)| WideTlbRow {
                set,
                way: entry.way(),
                vsid: entry.vsid,
                page_index: entry.page,
                large: entry.large,
                physical: entry.physical,
                no_execute: entry.no_execute,
                changed: entry.changed,
                wimg: entry.attributes,
                pp: entry.pp,
            })
            .collect(),
    }
}

fn entries(tlb: &mpc8xx::tlb::Tlb) -> Vec<EntryRow> {
    tlb.valid_entries()
        .map(|(number, entry)| EntryRow {
            number,
            reserved: tlb.reserved(number),
            effective: entry.page(),
            physical: entry.physical(entry.page()),
            size: entry.size(),
            asid: entry.asid(),
            shared: entry.shared(),
            group: entry.group(),
            valid: entry.page_valid(),
            subpages: entry.subpages(),
            changed: entry.changed(),
            wimg: entry.attributes(),
            level_one: entry.twc(),
            level_two: entry.rpn(),
        })
        .collect()
}

fn lines(cache: &Cache, physical: impl Fn(u32) -> u32) -> Vec<LineRow> {
    cache
        .lines()
        .map(|(set, way, address, modified)| LineRow {
            set,
            way,
            physical: physical(address),
            modified,
        })
        .collect()
}

impl Shown for StateDump {
    fn to_json(&self) -> serde_json::Value {
        StateDump::to_json(self)
    }
}
