//! Compiled code as it is kept: versions of blocks, the places that lead to them, and what leads where.

use rustc_hash::FxHashMap;

use super::thunks::Thunks;
use crate::engine::compiler::SITES;
use crate::engine::compiler::memory::{CodeMemory, Slot};
use crate::engine::compiler::tables::{Jumps, Known};
use crate::memory::Fixed;
use crate::powerpc::dispatch::Alone;
use crate::powerpc::engine::Hot;
use crate::powerpc::engine::line::Op;
use crate::powerpc::engine::shortcut::Shortcut;
use crate::powerpc::engine::timing::{BlockTiming, State};

/// Bytes of a piece of code at most.
pub(super) const BYTES: usize = 1 << 15;

/// The account of the blocks that follow in the same piece of code.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rest {
    pub cycles: u64,
    /// See [`super::calls::packed`].
    pub counts: u64,
}

/// A block, compiled for one state of the pipeline. Blocks that follow each other, each in a line, may be one piece of
/// code: then the first one's version is that of the code, and the versions of the further ones only tell what runs
/// there.
#[derive(Clone, Copy, Debug)]
pub struct Version {
    /// Its block and state.
    pub(super) key: u64,
    pub op: *const Op,
    pub timing: BlockTiming,
    /// Effective address of the line.
    pub line: u32,
    /// Effective address of the block.
    pub(super) ea: u32,
    /// The I-cache's tag word of the line, and where it is.
    pub(super) tag: u32,
    pub(super) tag_at: *const u32,
    /// The shortcut of fetches from the page.
    pub(super) shortcut: *const Shortcut,
    pub(super) cause: u32,
    /// The mode of fetches.
    pub(super) mode: u8,
    /// Physical minus effective address.
    pub(super) delta: u32,
    /// It ends with a compiled branch.
    pub branch: bool,
    /// What its code's account has beside the block.
    pub rest: Rest,
    /// Its code from its account on, and behind that.
    pub(super) begin: usize,
    pub body: usize,
    /// It has not been dropped.
    pub(super) valid: bool,
}

impl Version {
    /// True if fetches come from its page in its mode, and its cause is the one that the account has.
    pub fn is_in(&self, hot: &Hot, mode: usize) -> bool {
        mode == usize::from(self.mode)
            && hot.page == self.ea & !0xfff
            && hot.page_delta == self.delta
            && hot.code_cause == self.cause
    }

    /// True if all blocks of the code, the first of which has begun, begin before the deadline.
    pub fn is_early(&self, hot: &Hot) -> bool {
        hot.cycles.saturating_add(self.rest.cycles) < hot.deadline || self.rest.counts == 0
    }

    /// True if `op`, whose block has just begun in the state of this version, can run by it.
    ///
    /// # Safety
    /// `op` must point to a decoded op.
    pub unsafe fn can_run(&self, hot: &Hot, mode: usize, op: *const Op) -> bool {
        // SAFETY: the caller's.
        let timing = unsafe { (*op).timing };
        self.is_in(hot, mode)
            && self.line == hot.line
            && self.is_early(hot)
            && hot.pipeline == timing.after
            && (timing.after, timing.cycles) == (self.timing.after, self.timing.cycles)
    }
}

/// Where an edge leads.
#[derive(Clone, Copy, Debug)]
pub enum To {
    /// To this op, in the same line.
    Near(*const Op),
    /// By the link of this op.
    Follow(*const Op),
}

/// What compiled code calls for.
#[derive(Clone, Copy)]
pub enum Kind {
    /// A way out of a block, which leads to [`Site::ea`] in this state. Its jump goes through the slot, at first to
    /// the address beside that. An edge without a slot is not linked. `delta`: physical minus effective address there.
    Edge {
        to: To,
        state: State,
        delta: u32,
        slot: Option<(Slot, usize)>,
    },
    /// A jump to a register.
    Register { state: State },
    /// An instruction that only the interpreter runs.
    Stay { op: *const Op },
    /// An instruction that runs alone. `bytes`: of its access, if it has one of which the model can be asked first.
    Alone {
        op: *const Op,
        run: Alone,
        bytes: u8,
    },
    /// The prediction of a branch at [`Site::ea`]; its static prediction, if it is conditional.
    Predict { conditional: Option<bool> },
}

/// A place in compiled code that calls Rust.
#[derive(Clone, Copy)]
pub struct Site {
    pub version: u32,
    pub ea: u32,
    pub kind: Kind,
}

/// Where a jump to a register goes on.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Target {
    /// Its effective address, and what must be as in the version: [`Target::key`].
    pub(super) ea: u32,
    pub(super) key: u32,
    /// Where the I-cache's tag of its line is, and what it must be.
    pub(super) tag_at: *const u32,
    pub(super) tag: u32,
    /// Physical minus effective address.
    pub(super) delta: u32,
    /// The shortcut of fetches from its page.
    pub(super) shortcut: *const Shortcut,
    pub(super) code: usize,
}

/// Targets at a time, and the logarithm of the size of one.
pub(super) const TARGETS: usize = 1 << 12;
pub(super) const TARGET_SHIFT: i8 = 6;

const _: () = assert!(size_of::<Target>() <= 1 << TARGET_SHIFT);

impl Target {
    const NONE: Target = Target {
        ea: 1,
        key: 0,
        tag_at: std::ptr::null(),
        tag: 0,
        delta: 0,
        shortcut: std::ptr::null(),
        code: 0,
    };

    /// A target's place among all.
    pub(super) fn place(ea: u32, state: State) -> usize {
        (ea >> 2 ^ Self::mixed(state)) as usize % TARGETS
    }

    /// The part of the place that the state gives.
    pub(super) fn mixed(state: State) -> u32 {
        u32::from(state).wrapping_mul(0x9e5) & (TARGETS as u32 - 1)
    }

    /// The state, cause and mode.
    pub(super) fn key(version: &Version, state: State) -> u32 {
        u32::from(state) | (version.cause & 0xff) << 16 | u32::from(version.mode) << 24
    }
}

/// The bits of a key that say which block it is.
pub(super) const BLOCK: u64 = (1 << 48) - 1;

/// All compiled code of a processor.
pub struct Code {
    pub(super) memory: CodeMemory,
    pub thunks: Thunks,
    pub(super) versions: Vec<Version>,
    /// Versions that were ever made.
    pub(super) made: u64,
    /// How often everything was dropped: then there are other sites.
    pub(super) cleared: u64,
    pub(super) sites: Vec<Site>,
    /// By block and state; [`NEVER`](crate::engine::compiler::heat::NEVER) where nothing will be compiled.
    pub(super) known: Known,
    pub(super) targets: Fixed<Target>,
    /// The versions in a decoded line.
    pub(super) lines: FxHashMap<u32, Vec<u32>>,
    /// How many versions a block has.
    pub(super) counts: FxHashMap<u64, u8>,
    pub(super) incoming: Jumps,
}

// SAFETY: the pointers of sites and versions point into the decoded lines of the same processor.
unsafe impl Send for Code {}

impl Code {
    pub(super) fn new(near: usize) -> std::io::Result<Box<Code>> {
        let mut memory = CodeMemory::new(near)?;
        let thunks = Thunks::write(&mut memory);
        Ok(Box::new(Code {
            memory,
            thunks,
            // Compiled code has pointers to sites, which stay where they are.
            versions: Vec::new(),
            made: 0,
            cleared: 0,
            sites: Vec::with_capacity(SITES),
            known: Known::default(),
            targets: vec![Target::NONE; TARGETS].into(),
            lines: FxHashMap::default(),
            counts: FxHashMap::default(),
            incoming: Jumps::default(),
        }))
    }

    pub fn version(&self, number: u32) -> &Version {
        &self.versions[number as usize]
    }

    /// Drops everything.
    pub fn clear(&mut self) {
        self.cleared += 1;
        self.memory.clear();
        self.versions.clear();
        self.sites.clear();
        self.known.clear();
        self.targets.fill(Target::NONE);
        self.lines.clear();
        self.counts.clear();
        self.incoming.clear();
    }

    /// Drops the versions of a decoded line, and returns their keys. Their code stays, but nothing leads to it.
    pub fn drop_line(&mut self, line: u32) -> Vec<u64> {
        let mut keys = Vec::new();
        for number in self.lines.remove(&line).unwrap_or_default() {
            // Another of its lines may have been dropped before.
            if !std::mem::take(&mut self.versions[number as usize].valid) {
                continue;
            }
            self.incoming.take_back(number, &mut self.memory);
            let version = &self.versions[number as usize];
            let key = version.key;
            let target = &mut self.targets[Target::place(version.ea, version.timing.before)];
            if target.code == version.begin {
                *target = Target::NONE;
            }
            self.known.remove(key);
            if let Some(count) = self.counts.get_mut(&(key & BLOCK)) {
                *count = count.saturating_sub(1);
            }
            keys.push(key);
        }
        keys
    }

    /// The jump of `site` goes to this version from now on, if it always can.
    pub fn link(&mut self, site: &Site, to: u32) {
        let Site { version, ea, kind } = *site;
        let (from, next) = (
            &self.versions[version as usize],
            &self.versions[to as usize],
        );
        if !from.valid || !next.valid || (from.mode, from.cause) != (next.mode, next.cause) {
            return;
        }
        match kind {
            Kind::Edge {
                state,
                delta,
                slot: Some(slot),
                ..
            } if (next.ea, next.timing.before, next.delta) == (ea, state, delta) => {
                // A jump that is linked comes here, too, when a check of it failed.
                (self.incoming).lead(slot, (to, next.begin), &mut self.memory);
            }
            Kind::Register { state } if next.timing.before == state => {
                self.targets[Target::place(next.ea, state)] = Target {
                    ea: next.ea,
                    key: Target::key(next, state),
                    tag_at: next.tag_at,
                    tag: next.tag,
                    delta: next.delta,
                    shortcut: next.shortcut,
                    code: next.begin,
                };
            }
            _ => {}
        }
    }

    pub(super) fn is_full(&self, most: usize) -> bool {
        !self.memory.has_room(BYTES, 256)
            || self.versions.len() >= most
            || self.sites.len() + 512 > SITES
    }
}
