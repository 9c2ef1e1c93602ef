//! Compiled code as it is kept: blocks, the places that lead to them, and what leads where.

use super::shape::Shape;
use super::thunks::Thunks;
use crate::engine::compiler::SITES;
use crate::engine::compiler::memory::{CodeMemory, Slot};
use crate::engine::compiler::tables::{Jumps, Known};
use crate::memory::Fixed;
use crate::x86::chain::Chain;
use crate::x86::op::Op;
use crate::x86::tlb::Shortcut;

/// Bytes of a block's code at most.
pub(super) const BYTES: usize = 1 << 15;

/// Slots of a block at most.
pub(super) const SLOTS: usize = 8;

/// A compiled block.
#[derive(Clone, Copy)]
pub struct Version {
    pub head: *const Op,
    /// The chain of its first op.
    pub original: Chain,
    pub eip: u32,
    pub linear: u32,
    pub pa: u32,
    /// Its bytes.
    pub length: u32,
    pub slots: u16,
    /// What accesses of its ring have in their shortcuts.
    pub mark: u32,
    /// Where its code begins, behind the checks of the way that leads there.
    pub body: usize,
    /// How often it went on to a block for which it has no jump.
    pub lacks: u8,
    /// It has not been dropped.
    pub valid: bool,
}

/// See [`Version::lacks`]: so often, and the block is compiled anew.
const LACKS: u8 = 16;

/// What compiled code calls for.
#[derive(Clone, Copy)]
pub enum Kind {
    /// The block has ended, and goes on at this EIP: by a jump, or straight on. Its jump goes through the slot, at
    /// first to the address beside that. Without a slot it always goes by [`super::calls::go`].
    Edge {
        target: u32,
        jump: bool,
        /// Where the block is expected, if an edge has been prepared for that.
        pa: Option<u32>,
        slot: Option<(Slot, usize)>,
    },
    /// The block has ended by a jump to different places.
    Indirect,
    /// The op runs by the interpreter's function. `flags`: that reads flags, or gives some. `template`: it has a
    /// template, and so changes neither a segment nor the mode.
    Alone { flags: bool, template: bool },
    /// The op, and what follows it, runs by its chain.
    Stay,
    /// The rest of the block from the op on runs one instruction after another. `check`: something may be due before
    /// it.
    Rest { check: bool },
    /// The fetch of a line.
    Fetch,
}

/// Where a jump to different places goes on.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub struct Target {
    /// EIP there, and what must be as in the block that jumps: [`Target::key`].
    pub eip: u32,
    pub key: u32,
    /// Its physical address, and how far that is from the linear one.
    pub pa: u32,
    pub delta: u32,
    /// The place of the shortcut of its page, and what that must be.
    pub place: u32,
    pub load: u32,
    /// Where the cache's tag of its line is, and what it must be.
    pub tag_at: usize,
    pub tag: u32,
    pub code: usize,
}

/// Targets at a time, and the logarithm of the size of one.
pub const TARGETS: usize = 1 << 11;
pub const TARGET_SHIFT: i8 = 6;

const _: () = assert!(size_of::<Target>() == 1 << TARGET_SHIFT);

impl Target {
    pub const NONE: Target = Target {
        eip: 0,
        key: u32::MAX,
        pa: 0,
        delta: 0,
        place: 0,
        load: 0,
        tag_at: 0,
        tag: 0,
        code: 0,
    };

    /// The ring and the cause.
    pub fn key(mark: u32, head: &Op) -> u32 {
        mark | u32::from(head.extra)
    }
}

/// A place in compiled code that calls Rust.
#[derive(Clone, Copy)]
pub struct Site {
    pub version: u32,
    pub op: *const Op,
    /// What is added to the counts there ([`super::calls::packed`]): those of the block's ops before `op`.
    pub counts: u64,
    /// What the op itself counts if it runs at once.
    pub own: u64,
    /// The linear address of the line that was fetched last.
    pub fetched: u32,
    pub kind: Kind,
}

/// What [`Known`] finds the code of the block at `head` by.
fn key(head: *const Op) -> u64 {
    (head as usize / size_of::<Op>()) as u64
}

/// All compiled code of a processor.
pub struct Code {
    pub memory: CodeMemory,
    pub thunks: Thunks,
    pub versions: Vec<Version>,
    /// Blocks that were ever compiled.
    pub made: u64,
    /// How often everything was dropped: then there are other sites.
    pub cleared: u64,
    pub sites: Vec<Site>,
    known: Known,
    pub incoming: Jumps,
    pub targets: Fixed<Target>,
    /// What the code was compiled for, and must find as it was.
    pub places: Places,
}

/// Addresses that stand in compiled code.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Places {
    /// The decoded blocks.
    pub blocks: usize,
    /// The tags of the caches.
    pub tags: [usize; 2],
    /// The predictor's buffer.
    pub branches: usize,
    pub ram: usize,
    /// How often all decoded blocks were dropped.
    pub resets: u64,
}

// SAFETY: the pointers of sites and versions point into the decoded blocks of the same processor.
unsafe impl Send for Code {}

impl Code {
    pub fn new(places: Places, shape: &Shape) -> std::io::Result<Box<Code>> {
        let mut memory = CodeMemory::new(places.tags[0])?;
        let thunks = Thunks::write(&mut memory, shape);
        Ok(Box::new(Code {
            memory,
            thunks,
            versions: Vec::new(),
            made: 0,
            cleared: 0,
            // Compiled code has pointers to sites, which stay where they are.
            sites: Vec::with_capacity(SITES),
            known: Known::default(),
            incoming: Jumps::default(),
            targets: vec![Target::NONE; TARGETS].into(),
            places,
        }))
    }

    pub fn version(&self, number: u32) -> &Version {
        &self.versions[number as usize]
    }

    /// The code of the block at `head`.
    #[inline]
    pub fn find(&mut self, head: *const Op) -> Option<u32> {
        self.known.find(key(head))
    }

    /// Adds a block's code.
    pub fn add(&mut self, version: Version) -> u32 {
        let number = self.versions.len() as u32;
        self.made += 1;
        self.versions.push(version);
        self.known.insert(key(version.head), number);
        number
    }

    pub fn is_full(&self, most: usize) -> bool {
        !self.memory.has_room(BYTES, SLOTS)
            || self.versions.len() >= most
            || self.sites.len() + 512 > SITES
    }

    /// Drops everything. `blocks`: the decoded blocks are still there.
    pub fn clear(&mut self, blocks: bool) {
        if blocks {
            for number in 0..self.versions.len() {
                self.give_back(number);
            }
        }
        self.cleared += 1;
        self.memory.clear();
        self.versions.clear();
        self.sites.clear();
        self.known.clear();
        self.targets.fill(Target::NONE);
        self.incoming.clear();
    }

    /// The interpreter runs the block again.
    fn give_back(&mut self, number: usize) {
        let version = &mut self.versions[number];
        if std::mem::take(&mut version.valid) {
            // SAFETY: the head is that of a block that is still there, valid or not, and nothing else refers to its
            // ops now. The pointer comes from `Blocks`, and so may be written through.
            unsafe {
                (*version.head.cast_mut()).issued = 0;
                (*version.head.add(1).cast_mut()).chain = version.original;
            }
        }
    }

    /// Drops the code of the block at `head`, which is still there. Nothing leads to it from now on.
    pub fn drop_block(&mut self, head: *const Op) {
        let Some(number) = self.known.remove(key(head)) else {
            return;
        };
        self.give_back(number as usize);
        let version = &self.versions[number as usize];
        let target = &mut self.targets[version.eip as usize % TARGETS];
        if target.code == version.body {
            *target = Target::NONE;
        }
        self.incoming.take_back(number, &mut self.memory);
    }

    /// The block of `site` has gone on to one for which it has no jump. Its head, if it is to be compiled
    /// anew, when it can have one; then its code is dropped. `at_once`: it need not have happened often.
    pub fn learn(&mut self, site: &Site, at_once: bool) -> Option<*const Op> {
        let version = &mut self.versions[site.version as usize];
        version.lacks = version.lacks.saturating_add(1);
        if !version.valid || !at_once && version.lacks < LACKS {
            return None;
        }
        let head = version.head;
        self.drop_block(head);
        Some(head)
    }

    /// Jumps to different places find this block from now on.
    pub fn aim(&mut self, to: u32, shape: &Shape) {
        let next = *self.version(to);
        // SAFETY: it is valid, and so is its head.
        let head = unsafe { &*next.head };
        if next.valid {
            let target = Target {
                eip: next.eip,
                key: Target::key(next.mark, head),
                pa: next.pa,
                delta: next.pa.wrapping_sub(next.linear),
                place: next.linear >> 12 & shape.code.shortcuts,
                load: Shortcut::wanted(next.linear, 1, next.mark),
                tag_at: shape.code.tag_at(next.pa),
                tag: shape.code.tag(next.pa),
                code: next.body,
            };
            self.targets[next.eip as usize % TARGETS] = target;
        }
    }

    /// The jump of `site` goes to this block from now on, if it always can.
    pub fn link(&mut self, site: &Site, to: u32) {
        let (from, next) = (self.version(site.version), self.version(to));
        let Kind::Edge {
            target,
            pa: Some(pa),
            slot: Some(slot),
            ..
        } = site.kind
        else {
            return;
        };
        let linear = target.wrapping_add(from.linear.wrapping_sub(from.eip));
        if from.valid
            && next.valid
            && (next.eip, next.linear, next.pa, next.mark) == (target, linear, pa, from.mark)
        {
            // SAFETY: both are valid, and so are their heads.
            let (one, other) = unsafe { (&*from.head, &*next.head) };
            if one.extra == other.extra && one.reg & other.after == 0 {
                // A jump that is linked comes here, too, when a check of it failed.
                (self.incoming).lead(slot, (to, next.body), &mut self.memory);
            }
        }
    }
}
