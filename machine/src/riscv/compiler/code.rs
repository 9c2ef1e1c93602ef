//! Compiled code as it is kept: versions of blocks, the places that lead to them, and what leads where.

use rustc_hash::FxHashMap;

use super::thunks::{Notes, Thunks};
use crate::engine::compiler::SITES;
use crate::engine::compiler::memory::{CodeMemory, Slot};
use crate::engine::compiler::tables::{Jumps, Known};
use crate::engine::schedule::{Number, Schedule};
use crate::engine::straight::Straight;
use crate::memory::{Fixed, RamAddress};
use crate::riscv::op::Op;

/// Bytes of a version at most.
pub const BYTES: usize = 1 << 15;

/// Slots of a version at most.
pub const SLOTS: usize = 8;

/// Versions of the instructions behind one part of a block at most.
pub const VERSIONS: u8 = 12;

/// A part of a block.
pub type Part = *const Straight<Op>;

/// The instructions behind a part of a block, compiled for one state of the pipeline.
pub struct Version {
    /// The part and the state.
    pub key: u64,
    pub part: Part,
    pub state: Number,
    /// The head of its block.
    pub head: Part,
    /// Of its first instruction: the virtual address, and that in RAM.
    pub va: u64,
    pub pa: RamAddress,
    /// [`mode`]
    pub mode: u8,
    pub schedule: Box<Schedule>,
    /// Its code from its account on.
    pub begin: usize,
    /// It has not been dropped.
    pub valid: bool,
}

impl Version {
    /// Cycles from its beginning to its last issue.
    pub fn last(&self) -> u64 {
        self.schedule.last.0
    }

    /// Where `va`, which is in its page, is in RAM.
    pub fn in_ram(&self, va: u64) -> RamAddress {
        self.pa & !0xfff | (va & 0xfff) as RamAddress
    }
}

/// The modes of fetches and of data as one number.
pub fn mode(fetches: u8, data: u8) -> u8 {
    fetches << 4 | data
}

/// The key of the versions of the instructions behind a part for a state. `fetches`: the line of the first one has not
/// been fetched. The host's addresses have 47 bits, and those of parts are even.
pub fn key(part: Part, state: Number, fetches: bool) -> u64 {
    (part as u64 | u64::from(fetches)) << 16 | u64::from(state)
}

/// The part of a key.
pub fn part_of(key: u64) -> u64 {
    key >> 16
}

/// What compiled code calls for.
#[derive(Clone, Copy)]
pub enum Kind {
    /// The version has ended, and goes on at this address in this state. Its jump goes through the slot, at first to
    /// the address beside that. Without a slot it is never linked. `pa`: where the jump expects that address in RAM.
    Edge {
        target: u64,
        state: Number,
        slot: Option<(Slot, usize)>,
        pa: RamAddress,
    },
    /// The version has ended by a jump to a register, in this state.
    Indirect { state: Number },
    /// The version would end after the deadline.
    Late,
    /// The instruction runs by the interpreter's function. `step`: its number among the steps of the schedule.
    Alone { step: u16 },
    /// An instruction that is plain runs by the interpreter's function.
    Plain,
    /// The lines of an instruction are fetched.
    Fetch { step: u16 },
}

/// A place in compiled code that calls Rust.
#[derive(Clone, Copy)]
pub struct Site {
    pub version: u32,
    pub kind: Kind,
    /// The instruction: 1 is the first one.
    pub number: u8,
    /// What was added to the counts at the beginning of the version, and has not happened yet
    /// ([`super::calls::packed`]).
    pub ahead: u64,
    /// The same behind what the site does.
    pub behind: u64,
    /// The virtual address of the line that was fetched last.
    pub line: u64,
}

/// Where a jump to a register goes on.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub struct Target {
    pub va: u64,
    /// [`Target::key`]
    pub key: u32,
    /// The I-cache's tag of its line, and where it stands.
    pub tag: u32,
    pub tag_at: *const u32,
    /// Physical minus virtual address.
    pub delta: u64,
    pub code: usize,
    /// Where its page is in RAM.
    pub page: RamAddress,
}

/// Targets at a time, and the logarithm of the size of one.
pub const TARGETS: usize = 1 << 12;
pub const TARGET_SHIFT: i8 = 6;

const _: () = assert!(size_of::<Target>() == 1 << TARGET_SHIFT);

impl Target {
    pub const NONE: Target = Target {
        va: 1,
        key: 0,
        tag: 0,
        tag_at: std::ptr::null(),
        delta: 0,
        code: 0,
        page: 0,
    };

    /// A target's place among all.
    pub fn place(va: u64, state: Number) -> usize {
        ((va >> 1) as u32 ^ Self::mixed(state)) as usize % TARGETS
    }

    /// The part of the place that the state gives.
    pub fn mixed(state: Number) -> u32 {
        u32::from(state).wrapping_mul(0x9e5) & (TARGETS as u32 - 1)
    }

    /// The state and the modes.
    pub fn key(state: Number, mode: u8) -> u32 {
        u32::from(state) | u32::from(mode) << 16
    }
}

/// What compiled code was made for, and must find as it was: addresses that stand in it, and what its states and heads
/// mean.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Places {
    pub blocks: usize,
    pub resets: u64,
    /// [`crate::engine::schedule::Schedules::age`]
    pub age: u64,
    pub instruction_tags: usize,
    pub counters: usize,
    pub targets: usize,
    /// The shortcuts of the TLB of fetches.
    pub fetches: usize,
    pub notes: [Option<Notes>; 2],
}

/// All compiled code of a processor.
pub struct Code {
    pub memory: CodeMemory,
    pub thunks: Thunks,
    pub versions: Vec<Version>,
    /// Versions that were ever made.
    pub made: u64,
    /// How often everything was dropped: then there are other sites.
    pub cleared: u64,
    pub sites: Vec<Site>,
    /// By [`key`].
    pub known: Known,
    /// The versions of a block, by its head.
    blocks: FxHashMap<usize, Vec<u32>>,
    /// How many versions there are of the instructions behind a part.
    counts: FxHashMap<u64, u8>,
    pub incoming: Jumps,
    pub targets: Fixed<Target>,
    pub places: Places,
}

// SAFETY: the pointers of sites and versions point into the decoded blocks of the same processor.
unsafe impl Send for Code {}

impl Code {
    pub fn new(places: Places) -> std::io::Result<Box<Code>> {
        let mut memory = CodeMemory::new(places.instruction_tags)?;
        let thunks = Thunks::write(&mut memory, &places.notes);
        Ok(Box::new(Code {
            memory,
            thunks,
            versions: Vec::new(),
            made: 0,
            cleared: 0,
            // Compiled code has pointers to sites, which stay where they are.
            sites: Vec::with_capacity(SITES),
            known: Known::default(),
            blocks: FxHashMap::default(),
            counts: FxHashMap::default(),
            incoming: Jumps::default(),
            targets: vec![Target::NONE; TARGETS].into(),
            places,
        }))
    }

    pub fn version(&self, number: u32) -> &Version {
        &self.versions[number as usize]
    }

    pub fn is_full(&self, most: usize) -> bool {
        !self.memory.has_room(BYTES, SLOTS)
            || self.versions.len() >= most
            || self.sites.len() + 512 > SITES
    }

    /// Can there be one version more of the instructions behind the part of this key?
    pub fn takes_more_of(&self, key: u64) -> bool {
        self.counts
            .get(&part_of(key))
            .is_none_or(|&count| count < VERSIONS)
    }

    pub fn add(&mut self, version: Version) {
        let number = self.versions.len() as u32;
        self.made += 1;
        *self.counts.entry(part_of(version.key)).or_default() += 1;
        self.known.insert(version.key, number);
        self.blocks
            .entry(version.head as usize)
            .or_default()
            .push(number);
        self.versions.push(version);
    }

    /// Drops everything.
    pub fn clear(&mut self, places: Places) {
        self.cleared += 1;
        self.memory.clear();
        self.versions.clear();
        self.sites.clear();
        self.known.clear();
        self.blocks.clear();
        self.counts.clear();
        self.incoming.clear();
        self.targets.fill(Target::NONE);
        self.places = places;
    }

    /// Drops the versions of the block at `head`. Nothing leads to them from now on.
    pub fn drop_block(&mut self, head: Part) {
        for number in self.blocks.remove(&(head as usize)).unwrap_or_default() {
            self.incoming.take_back(number, &mut self.memory);
            let version = &mut self.versions[number as usize];
            version.valid = false;
            let target = &mut self.targets[Target::place(version.va, version.state)];
            if target.code == version.begin {
                *target = Target::NONE;
            }
            self.known.remove(version.key);
            self.counts.remove(&part_of(version.key));
        }
    }

    /// The jump of `site` goes to this version from now on, if it always can.
    pub fn link(&mut self, site: &Site, to: u32, find: impl FnOnce(&Version) -> Target) {
        let (from, next) = (self.version(site.version), self.version(to));
        if !from.valid || !next.valid || from.mode != next.mode {
            return;
        }
        match site.kind {
            Kind::Edge {
                target,
                state,
                pa,
                slot: Some(slot),
            } if (next.va, next.state, next.pa) == (target, state, pa) => {
                // A jump that is linked comes here, too, when a check of it failed.
                let to = (to, next.begin);
                self.incoming.lead(slot, to, &mut self.memory);
            }
            Kind::Indirect { state } if next.state == state => {
                let place = Target::place(next.va, state);
                self.targets[place] = find(next);
            }
            _ => {}
        }
    }
}
