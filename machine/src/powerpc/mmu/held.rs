//! Entries of the TLBs, as the translation sanitizer knows them.

use super::hash64::{EratEntry, table};
use super::{Front6xx, Kind, Mmu, Reach, Reached, Reaches, TlbEntry, hash, segment, tlb};
use crate::account::tlb_events::{Space, TlbLoad};
use crate::memory::{Memory, Ram};
use crate::observe::stale::{Key, Side};

/// An entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Held {
    pub key: Key,
    /// The page's physical address.
    pub frame: u32,
    /// Whatever else it says, without the R bit.
    pub bits: u64,
    /// Its C bit, where hardware sets it.
    pub changed: bool,
    /// It is good in every address space.
    pub global: bool,
}

/// Bits of an address within its segment. `tlbie` and a TLB's tag know no others.
pub const IN_SEGMENT: u32 = 0x0fff_ffff;

fn of_6xx(fetch: bool, entry: &TlbEntry) -> Held {
    Held {
        key: Key {
            page: u64::from(entry.page()) << 12,
            shift: 12,
            space: entry.vsid(),
            side: Side::of(fetch),
        },
        frame: entry.rpn(),
        bits: u64::from(entry.word1() & 0xfff & !hash::R & !hash::C),
        changed: entry.changed(),
        global: false,
    }
}

fn of_front(front: &Front6xx, vsid: u32, ea: u32, fetch: bool) -> Option<Held> {
    let tlb = if fetch { &front.itlb } else { &front.dtlb };
    Some(of_6xx(fetch, tlb.find(tlb::tag(vsid, ea))?))
}

fn all_of_front(front: &Front6xx) -> Vec<Held> {
    let of = |fetch: bool| move |(_, entry): (u32, &TlbEntry)| of_6xx(fetch, entry);
    let code = front.itlb.valid_entries().map(of(true));
    code.chain(front.dtlb.valid_entries().map(of(false)))
        .collect()
}

/// Of a 970 the TLB and both ERATs count as one TLB.
fn key_64(vsid: u64, address: u32, large: bool) -> Key {
    let shift = if large { 24 } else { 12 };
    Key {
        page: u64::from((address & IN_SEGMENT) >> shift << shift),
        shift,
        space: vsid as u32,
        side: Side::Data,
    }
}

fn of_64(entry: &super::hash64::tlb::Entry) -> Held {
    Held {
        key: key_64(entry.vsid, entry.page << entry.shift(), entry.large),
        frame: entry.physical,
        bits: u64::from(entry.attributes) << 8
            | u64::from(entry.pp)
            | u64::from(entry.no_execute) << 2,
        changed: entry.changed,
        global: false,
    }
}

/// An ERAT does not know whether the page may be fetched from: the TLB's entry, if it is still there, does.
fn of_erat(entry: &EratEntry) -> Held {
    let key = key_64(entry.vsid, entry.ea as u32, entry.large);
    let inside = (1_u32 << key.shift) - 1;
    Held {
        key,
        frame: entry.physical & !inside,
        bits: u64::from(entry.attributes) << 8 | u64::from(entry.pp),
        changed: entry.changed,
        global: false,
    }
}

/// The page of a key, as the walk of a 970 looks for it.
fn page_64(key: &Key) -> table::Page {
    table::Page {
        ea: key.page,
        vsid: key.space.into(),
        large: key.shift != 12,
    }
}

fn of_8xx(fetch: bool, entry: &super::mpc8xx::tlb::Entry) -> Held {
    let bytes = entry.size().bytes();
    Held {
        key: Key {
            page: entry.page().into(),
            shift: bytes.trailing_zeros() as u8,
            space: if entry.shared() {
                0
            } else {
                entry.asid().into()
            },
            side: Side::of(fetch),
        },
        frame: entry.physical(entry.page()),
        bits: u64::from(entry.rpn() & 0xfff) | u64::from(entry.twc()) << 32,
        changed: false,
        global: entry.shared(),
    }
}

fn of_405(entry: &super::ppc405::Entry) -> Held {
    Held {
        key: Key {
            page: entry.page().into(),
            shift: entry.bytes().trailing_zeros() as u8,
            space: entry.tid().into(),
            side: Side::Data,
        },
        frame: entry.physical(),
        bits: u64::from(entry.low() & 0x3ff),
        changed: false,
        global: entry.tid() == 0,
    }
}

impl Mmu {
    /// Does the sanitizer know the TLBs? A second-level TLB behind those of a 603, 604 or 750 it does not know.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.front().is_none_or(|front| front.second.is_none())
    }

    /// Does hardware load the TLBs from a hash table?
    #[must_use]
    pub fn has_hash_table(&self) -> bool {
        matches!(self.kind(), Kind::Hash32(_) | Kind::Hash64(_))
    }

    /// The hash table's first byte, and that behind its last. A 603's software may search one, too, as SDR1 names it.
    #[must_use]
    pub fn table_place(&self) -> Option<(u64, u64)> {
        match self.kind() {
            Kind::Hash32(super::Hash32 { front, .. })
            | Kind::Soft6xx(super::Soft6xx { front, .. })
                if front.sdr1 != 0 =>
            {
                let sdr1 = front.sdr1;
                let begin = u64::from(sdr1 & 0xffff_0000 & !((sdr1 & 0x1ff) << 16));
                Some((begin, begin + (u64::from(sdr1 & 0x1ff) + 1) * 0x1_0000))
            }
            Kind::Hash64(unit) => {
                let place = table::Place::of(unit.sdr1);
                let bytes = (place.mask + 1) * u64::from(table::GROUP_BYTES);
                Some((place.base, place.base + bytes))
            }
            _ => None,
        }
    }

    /// The physical address of the hash table's entry for the page of `key`.
    #[must_use]
    pub fn in_table(&self, key: &Key, ram: &Ram) -> Option<u32> {
        match self.kind() {
            Kind::Hash32(super::Hash32 { front, .. })
            | Kind::Soft6xx(super::Soft6xx { front, .. })
                if front.sdr1 != 0 =>
            {
                let found = hash::peek(front.sdr1, key.space, key.page as u32, ram)?;
                Some(found.pa)
            }
            Kind::Hash64(unit) => Some(table::peek(unit.sdr1, &page_64(key), ram)?.pa),
            _ => None,
        }
    }

    /// Takes every entry of the page of `key` out of the hash table, in a memory that undoes it.
    pub fn hide_in_table(&self, key: &Key, memory: &mut Memory) {
        while let Some(pa) = self.in_table(key, &memory.uncore.ram) {
            memory.remember(pa, 8);
            memory.uncore.ram.write_u64(pa, 0);
        }
    }

    /// The address by which a flush of `ea` names entries.
    #[must_use]
    pub fn flushed_address(&self, ea: u32) -> u32 {
        match self.kind() {
            Kind::Mpc8xx(_) | Kind::Ppc405(_) => ea,
            _ => ea & IN_SEGMENT,
        }
    }

    /// The first table that a register names (M_TWB of an 8xx).
    #[must_use]
    pub fn first_table(&self) -> Option<u32> {
        match self.kind() {
            Kind::Mpc8xx(unit) => Some(unit.base()),
            _ => None,
        }
    }

    /// The numbers of address spaces in force: of a core with segments those of all of them.
    #[must_use]
    pub fn spaces(&self) -> Vec<u32> {
        match self.kind() {
            Kind::Mpc8xx(unit) => vec![unit.casid().into()],
            Kind::Ppc405(unit) => vec![unit.pid().into()],
            Kind::Hash64(_) => Vec::new(),
            Kind::Hash32(super::Hash32 { front, .. })
            | Kind::Soft6xx(super::Soft6xx { front, .. }) => {
                let all = front.segments.all().iter();
                all.map(|segment| segment & segment::VSID).collect()
            }
        }
    }

    /// The addresses that an entry translates now.
    pub fn reaches_of(&self, key: &Key) -> Reaches {
        let mut reached = Reached::default();
        match self.kind() {
            Kind::Hash64(_) => reached = Reached::Everything,
            Kind::Mpc8xx(_) | Kind::Ppc405(_) => reached.add(Reach::Page {
                ea: key.page as u32,
                bytes: 1 << key.shift.max(12),
            }),
            Kind::Hash32(super::Hash32 { front, .. })
            | Kind::Soft6xx(super::Soft6xx { front, .. }) => {
                for (number, segment) in (0..).zip(front.segments.all()) {
                    if segment & segment::VSID == key.space {
                        reached.add(Reach::Page {
                            ea: number << 28 | key.page as u32 & IN_SEGMENT,
                            bytes: 4096,
                        });
                    }
                }
            }
        }
        Reaches {
            instruction: reached,
            data: reached,
        }
    }

    /// The entry that translates `ea`.
    #[must_use]
    pub fn held(&self, ea: u32, fetch: bool, user: bool) -> Option<Held> {
        match self.kind() {
            Kind::Hash32(super::Hash32 { front, .. })
            | Kind::Soft6xx(super::Soft6xx { front, .. }) => {
                of_front(front, front.segments.get(ea), ea, fetch)
            }
            Kind::Hash64(unit) => {
                let (_, entry) = unit.erat(fetch).find(unit.whole(ea, fetch))?;
                Some(of_erat(entry))
            }
            Kind::Mpc8xx(unit) => {
                let tlb = &unit.side(fetch).tlb;
                let number = tlb.find(ea, unit.casid(), user)?;
                Some(of_8xx(fetch, tlb.entry(number)?))
            }
            Kind::Ppc405(unit) => {
                let number = unit.search(ea)?;
                Some(of_405(unit.entries().get(number as usize)?))
            }
        }
    }

    /// The entry that has just been loaded.
    #[must_use]
    pub fn loaded(&self, load: &TlbLoad) -> Option<Held> {
        let (fetch, address) = (load.fetch, load.page.address);
        let vsid = match load.page.space {
            Some(Space::Vsid(vsid)) => Some(vsid),
            _ => None,
        };
        match self.kind() {
            Kind::Hash32(super::Hash32 { front, .. })
            | Kind::Soft6xx(super::Soft6xx { front, .. }) => {
                of_front(front, vsid? & segment::VSID, address, fetch)
            }
            Kind::Hash64(unit) => {
                let set = unit.tlb().ways(load.set as usize);
                let loaded = set.iter().find(|entry| {
                    entry.valid
                        && Some(entry.vsid as u32) == vsid
                        && entry.page << entry.shift() == address
                });
                loaded.map(of_64)
            }
            Kind::Mpc8xx(unit) => Some(of_8xx(fetch, unit.side(fetch).tlb.entry(load.way)?)),
            Kind::Ppc405(unit) => Some(of_405(unit.entries().get(load.way as usize)?)),
        }
    }

    /// Every entry.
    #[must_use]
    pub fn all_held(&self) -> Vec<Held> {
        match self.kind() {
            Kind::Hash32(unit) => all_of_front(&unit.front),
            Kind::Soft6xx(unit) => all_of_front(&unit.front),
            Kind::Hash64(unit) => {
                let erats = [true, false].into_iter();
                let erats = erats.flat_map(|fetch| unit.erat(fetch).entries().iter().flatten());
                let tlb = unit.tlb().valid_entries().map(|(_, entry)| of_64(entry));
                tlb.chain(erats.map(of_erat)).collect()
            }
            Kind::Mpc8xx(unit) => [true, false]
                .into_iter()
                .flat_map(|fetch| {
                    let entries = unit.side(fetch).tlb.valid_entries();
                    entries.map(move |(_, entry)| of_8xx(fetch, entry))
                })
                .collect(),
            Kind::Ppc405(unit) => {
                let valid = unit.entries().iter().filter(|entry| entry.valid());
                valid.map(of_405).collect()
            }
        }
    }

    /// Removes what translates `ea`.
    pub fn drop_held(&mut self, ea: u32, fetch: bool, user: bool) {
        match self.kind_mut() {
            Kind::Hash32(super::Hash32 { front, .. })
            | Kind::Soft6xx(super::Soft6xx { front, .. }) => {
                front.itlb.invalidate_class(ea);
                front.dtlb.invalidate_class(ea);
                front.second = None;
            }
            Kind::Hash64(unit) => unit.drop_page(ea),
            Kind::Mpc8xx(unit) => {
                let casid = unit.casid();
                let tlb = &mut unit.side_mut(fetch).tlb;
                if let Some(number) = tlb.find(ea, casid, user) {
                    tlb.invalidate(number);
                }
            }
            Kind::Ppc405(unit) => unit.drop(ea),
        }
    }
}
