//! The 970's MMU against a plain model: what SLB, ERATs, TLB and hash table make of an access, also when they no longer
//! agree.

use std::collections::HashMap;

use crate::common::{SUPERVISOR, TABLE, USER, account, cases, plain_memory};
use pagewalk_machine::memory::{Forward, Memory};
use pagewalk_machine::powerpc::mmu::hash64::{Page, Refills, table};
use pagewalk_machine::powerpc::mmu::{
    Access, FaultKind, Hash64, Invalidation, TlbGeometry, Unit as _, WalkTiming,
};
use proptest::prelude::*;

/// What an access gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Given {
    /// Physical address, and W, I, M, G.
    Address(u32, u32),
    Segment,
    /// DSISR, or bits of SRR1.
    Storage(u32),
}

const NO_PTE: u32 = 0x4000_0000;
const NO_EXECUTE: u32 = 0x1000_0000;
const PROTECTION: u32 = 0x0800_0000;
const STORE: u32 = 0x0200_0000;

fn touch(unit: &mut Hash64, ea: u32, access: Access, msr: u32, memory: &mut Memory) -> Given {
    match unit.translate(ea, access, msr, memory, 0, &mut account()) {
        Ok(translation) => Given::Address(translation.pa, translation.attributes.into()),
        Err(fault) => match fault.kind {
            FaultKind::Segment { instruction } => {
                assert_eq!(instruction, access == Access::Fetch);
                Given::Segment
            }
            FaultKind::Isi { srr1 } => Given::Storage(srr1),
            FaultKind::Dsi { dsisr } => Given::Storage(dsisr),
            other => panic!("{other:?}"),
        },
    }
}

/// A segment as the SLB describes it: VSID, keys of supervisor and user, no-execute, large pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Segment {
    vsid: u64,
    keys: [bool; 2],
    no_execute: bool,
    large: bool,
}

/// VSID, number of the page in its segment, and whether it is a large one.
type Key = (u64, u32, bool);

/// A PTE's second double word.
type Pte = u32;

#[derive(Clone, Copy, Debug)]
struct Erat {
    page: u32,
    large: bool,
    keys: [bool; 2],
    physical: u32,
    pte: Pte,
}

struct Model {
    /// By slot, with ESID.
    slb: [Option<(u32, Segment)>; 64],
    /// By VSID, page number and size.
    table: HashMap<Key, Pte>,
    /// Sets of the TLB, most recently used last.
    tlb: Vec<Vec<(Key, Pte)>>,
    /// Ways of the ERATs, and the next one of each set; of fetches and data accesses.
    erats: [Vec<Vec<Option<Erat>>>; 2],
    next: [Vec<usize>; 2],
}

const TLB: TlbGeometry = TlbGeometry {
    entries: 8,
    ways: 2,
};
const ERATS: [TlbGeometry; 2] = [
    TlbGeometry {
        entries: 4,
        ways: 2,
    },
    TlbGeometry {
        entries: 4,
        ways: 4,
    },
];

fn shift(large: bool) -> u32 {
    if large { 24 } else { 12 }
}

fn permits(pte: Pte, key: bool, store: bool) -> bool {
    match pte & 3 {
        0 => !key,
        1 => !key || !store,
        2 => true,
        _ => !store,
    }
}

impl Model {
    fn new() -> Self {
        let sets = |geometry: &TlbGeometry| {
            vec![vec![None; geometry.ways as usize]; geometry.sets() as usize]
        };
        Model {
            slb: [None; 64],
            tlb: vec![Vec::new(); TLB.sets() as usize],
            erats: [sets(&ERATS[0]), sets(&ERATS[1])],
            next: [
                vec![0; ERATS[0].sets() as usize],
                vec![0; ERATS[1].sets() as usize],
            ],
            table: HashMap::new(),
        }
    }

    fn segment(&self, ea: u32) -> Option<Segment> {
        let found = self
            .slb
            .iter()
            .flatten()
            .find(|(esid, _)| *esid == ea >> 28);
        found.map(|(_, segment)| *segment)
    }

    /// The PTE, with R set, and C if `store`.
    fn walk(&mut self, key: Key, store: bool) -> Option<Pte> {
        let pte = self.table.get_mut(&key)?;
        *pte |= 0x100 | if store { 0x80 } else { 0 };
        Some(*pte)
    }

    fn touch(&mut self, ea: u32, access: Access, user: bool) -> Given {
        let (fetch, store) = (access == Access::Fetch, access == Access::Store);
        let bit = if store { STORE } else { 0 };
        let side = usize::from(!fetch);
        let set = (ea >> 12) as usize % self.erats[side].len();
        let held = self.erats[side][set]
            .iter()
            .flatten()
            .find(|e| e.page == ea >> 12);
        let key = |segment: &Segment| {
            let page = (ea & 0x0fff_ffff) >> shift(segment.large);
            (segment.vsid, page, segment.large)
        };
        let erat = if let Some(&erat) = held {
            erat
        } else {
            let Some(segment) = self.segment(ea) else {
                return Given::Segment;
            };
            if fetch && segment.no_execute {
                return Given::Storage(NO_EXECUTE);
            }
            let key = key(&segment);
            let set_of = key.1 as usize % self.tlb.len();
            let found = self.tlb[set_of].iter().position(|(held, _)| *held == key);
            let entry = match found {
                Some(place) => self.tlb[set_of].remove(place),
                None => {
                    let Some(pte) = self.walk(key, false) else {
                        return Given::Storage(NO_PTE | bit);
                    };
                    if self.tlb[set_of].len() == TLB.ways as usize {
                        self.tlb[set_of].remove(0);
                    }
                    (key, pte)
                }
            };
            self.tlb[set_of].push(entry);
            let pte = entry.1;
            if fetch && pte & 0xc != 0 {
                return Given::Storage(NO_EXECUTE);
            }
            if !permits(pte, segment.keys[usize::from(user)], store) {
                return Given::Storage(PROTECTION | bit);
            }
            let bytes = 1u32 << shift(segment.large);
            let erat = Erat {
                page: ea >> 12,
                large: segment.large,
                keys: segment.keys,
                physical: pte & !(bytes - 1) | ea & (bytes - 1) & !0xfff,
                pte,
            };
            let next = &mut self.next[side][set];
            self.erats[side][set][*next] = Some(erat);
            *next = (*next + 1) % ERATS[side].ways as usize;
            erat
        };
        if !permits(erat.pte, erat.keys[usize::from(user)], store) {
            return Given::Storage(PROTECTION | bit);
        }
        if store && erat.pte & 0x80 == 0 {
            let Some(segment) = self.segment(ea) else {
                return Given::Segment;
            };
            let key = key(&segment);
            if self.walk(key, true).is_none() {
                return Given::Storage(NO_PTE | bit);
            }
            for (held, pte) in self.tlb.iter_mut().flatten() {
                if *held == key {
                    *pte |= 0x80;
                }
            }
            for held in self.erats.iter_mut().flatten().flatten().flatten() {
                if held.page == ea >> 12 {
                    held.pte |= 0x80;
                }
            }
        }
        Given::Address(erat.physical | ea & 0xfff, erat.pte >> 3 & 15)
    }

    fn remove(&mut self, gone: impl Fn(&Erat) -> bool) {
        for place in self.erats.iter_mut().flatten().flatten() {
            if place.as_ref().is_some_and(&gone) {
                *place = None;
            }
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// Slot, ESID, and the flags of a segment.
    Slb(u64, u32, u64, u8),
    SegmentRegister(u32, u32, u8),
    Slbie(u32),
    Slbia,
    Tlbie(u32, bool),
    /// VSID, page, large: the PTE, or none.
    Map(u64, u32, bool, Option<u32>),
    Touch(u32, u8, bool),
}

/// Addresses: four segments, of which a few pages meet in the same sets.
fn address() -> impl Strategy<Value = u32> {
    (
        0..4u32,
        prop_oneof![0..12u32, 0x1000..0x1008u32],
        0..4096u32,
    )
        .prop_map(|(segment, page, offset)| segment << 28 | page << 12 | offset)
}

fn step() -> impl Strategy<Value = Step> {
    let pte = || any::<u32>().prop_map(|word| (word & 0x0f00_0000 | word & 0x3f_f07f) & !0x180);
    prop_oneof![
        4 => (0..64u64, 0..4u32, 1..5u64, any::<u8>())
            .prop_map(|(n, esid, vsid, flags)| Step::Slb(n, esid, vsid, flags)),
        2 => (0..4u32, 1..5u32, any::<u8>()).prop_map(|(n, vsid, flags)| Step::SegmentRegister(n, vsid, flags)),
        1 => address().prop_map(Step::Slbie),
        1 => Just(Step::Slbia),
        3 => (address(), any::<bool>()).prop_map(|(ea, large)| Step::Tlbie(ea, large)),
        10 => (1..5u64, address(), any::<bool>(), prop::option::weighted(0.8, pte()))
            .prop_map(|(vsid, ea, large, pte)| Step::Map(vsid, (ea & 0x0fff_ffff) >> shift(large), large, pte)),
        40 => (address(), 0..3u8, any::<bool>()).prop_map(|(ea, kind, user)| Step::Touch(ea, kind, user)),
    ]
}

/// Where a page's PTE is, or can be: its own slot in its primary group, or one that is free.
fn place(sdr1: u64, page: &Page, memory: &Memory) -> u32 {
    let ram = &memory.uncore.ram;
    let (group, _) = table::Place::of(sdr1).groups(page)[0];
    let slot = |slot| group as u32 + slot * table::PTE_BYTES;
    let mut slots = (0..table::SLOTS).map(slot);
    let free = |&at: &u32| ram.read_u64(at).unwrap() & table::first::V == 0;
    slots
        .clone()
        .find(|&at| page.matches(ram.read_u64(at).unwrap(), false))
        .or_else(|| slots.find(free))
        .expect("a slot is free")
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn the_unit_is_the_model(steps in prop::collection::vec(step(), 1..400)) {
        let walk = WalkTiming { start: 1, access: 1, finish: 1, forward: Forward::Line, cached: true };
        let refills = Refills { instruction: 7, data: 7 };
        let mut unit = Hash64::new(ERATS, TLB, walk, refills).unwrap();
        let mut model = Model::new();
        let mut memory = plain_memory();
        unit.sdr1 = u64::from(TABLE);
        for step in steps {
            match step {
                Step::Slb(slot, esid, vsid, flags) => {
                    // Software has no segment twice.
                    let holds = |n: &u64| model.slb[*n as usize].is_some_and(|(held, _)| held == esid);
                    let slot = (0..64).find(holds).unwrap_or(slot);
                    let flag = |bit: u8| flags & bit != 0;
                    let segment = Segment { vsid, keys: [flag(1), flag(2)], no_execute: flag(4), large: flag(8) };
                    let word = vsid << 12 | [(1u8, 0x800u64), (2, 0x400), (4, 0x200), (8, 0x100)]
                        .into_iter().filter(|(bit, _)| flag(*bit)).map(|(_, word)| word).sum::<u64>();
                    unit.write_slb(u64::from(esid) << 28 | 0x0800_0000 | slot, word);
                    model.slb[slot as usize] = Some((esid, segment));
                }
                Step::SegmentRegister(number, vsid, flags) => {
                    // As above: the segment is in this slot, or nowhere.
                    if (0..64).any(|n| n != number as usize && model.slb[n].is_some_and(|(held, _)| held == number)) {
                        continue;
                    }
                    let flag = |bit: u8| flags & bit != 0;
                    let register = vsid | u32::from(flags & 7) << 28;
                    let segment = Segment {
                        vsid: vsid.into(), keys: [flag(4), flag(2)], no_execute: flag(1), large: false,
                    };
                    unit.write_segment(number, register);
                    model.slb[number as usize] = Some((number, segment));
                    prop_assert_eq!(unit.read_segment(number), register);
                }
                Step::Slbie(ea) => {
                    let _ = unit.invalidate_segment(ea.into());
                    for entry in &mut model.slb {
                        *entry = entry.filter(|(esid, _)| *esid != ea >> 28);
                    }
                    model.remove(|erat| erat.page >> 16 == ea >> 28);
                }
                Step::Slbia => {
                    let _ = unit.invalidate_segments();
                    model.slb[1..].fill(None);
                    model.remove(|_| true);
                }
                Step::Tlbie(ea, large) => {
                    let what = if large { Invalidation::Large(ea) } else { Invalidation::Address(ea) };
                    let _ = unit.invalidate(what, &mut account());
                    let sets = TLB.sets();
                    let page = (ea & 0x0fff_ffff) >> shift(large);
                    model.tlb[(page % sets) as usize].clear();
                    model.remove(|erat| erat.large == large && (large || erat.page % sets == page % sets));
                }
                Step::Map(vsid, page, large, pte) => {
                    let ea = u64::from(page) << shift(large);
                    let entry = Page { ea, vsid, large };
                    let at = place(unit.sdr1, &entry, &memory);
                    let first = if pte.is_some() { entry.first(false) } else { 0 };
                    let ram = &mut memory.uncore.ram;
                    ram.write_u32(at, (first >> 32) as u32);
                    ram.write_u32(at + 4, first as u32);
                    ram.write_u32(at + 12, pte.unwrap_or(0));
                    match pte {
                        Some(pte) => model.table.insert((vsid, page, large), pte),
                        None => model.table.remove(&(vsid, page, large)),
                    };
                }
                Step::Touch(ea, kind, user) => {
                    let access = [Access::Fetch, Access::Load, Access::Store][usize::from(kind)];
                    let msr = if user { USER } else { SUPERVISOR };
                    let given = touch(&mut unit, ea, access, msr, &mut memory);
                    let expected = model.touch(ea, access, user);
                    prop_assert_eq!(given, expected, "{:#x} {:?}", ea, access);
                    // R and C in memory.
                    for (&(vsid, page, large), &pte) in &model.table {
                        let entry = Page { ea: u64::from(page) << shift(large), vsid, large };
                        let found = table::peek(unit.sdr1, &entry, &memory.uncore.ram);
                        prop_assert_eq!(found.map(|found| found.second), Some(pte.into()));
                    }
                }
            }
        }
    }
}
