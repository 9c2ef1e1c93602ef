//! What compiled code calls: the interpreter's own functions, with exact state.

use super::code::{Kind, Site, Target, Version};
use super::hot::CALL;
use crate::x86::access::Width;
use crate::x86::blocks::Successor;
use crate::x86::chain::Here;
use crate::x86::flags::Flags;
use crate::x86::op::Op;
use crate::x86::processor::{NOWHERE, Processor};
use crate::x86::registers::eflags;

/// The data that compiled code shares with Rust.
#[derive(Debug)]
#[repr(C)]
pub struct Shared {
    /// What blocks that have ended count, and is not yet in the processor's counts: see [`packed`].
    pub counts: u64,
    /// A block does not begin at or after this time.
    pub until: u64,
    /// The head of the block that the interpreter goes on with, or null.
    pub next: *const Op,
    pub ram: *mut u8,
    /// The lines that accesses look at, and, of a P6, those that fetches do.
    pub data: Lines,
    pub code: Lines,
    /// See [`crate::engine::blocks::Blocks::held`].
    pub held: *const u64,
    /// The look-up of jumps to different places.
    pub targets: *const Target,
    /// The flags of arithmetic: OF in bit 0, [`NO_HALF`], and from bit 8 on those that LAHF gives.
    pub flags: u64,
}

/// The lines of a cache.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Lines {
    pub tags: *mut u32,
    /// See [`crate::memory::Cache::trees`]; null, and not used, if the cache has none.
    pub ways: *mut u8,
    pub trees: *mut u64,
}

impl Lines {
    const NONE: Lines = Lines {
        tags: std::ptr::null_mut(),
        ways: std::ptr::null_mut(),
        trees: std::ptr::null_mut(),
    };
}

// SAFETY: the pointers are of the same processor's blocks and memory. `enter` sets them anew whenever compiled code
// begins, and takes `next` when that has ended.
unsafe impl Send for Shared {}

impl Shared {
    pub const NEW: Shared = Shared {
        counts: 0,
        until: 0,
        next: std::ptr::null(),
        ram: std::ptr::null_mut(),
        data: Lines::NONE,
        code: Lines::NONE,
        held: std::ptr::null(),
        targets: std::ptr::null(),
        flags: 0,
    };
}

/// Bits of a count.
const BITS: u32 = 16;

/// Slots after which the counts are added. In each of them are less than four of anything that is counted.
const UNTIL_ADDED: u64 = 1 << (BITS - 2);

/// The slots of a compiled block are not more: a block that begins before [`Shared::until`] ends before the deadline.
pub const SLOTS_MOST: u16 = 512;

/// Instructions, branches, accesses and fetches as one number.
pub const fn packed(instructions: u8, branches: u8, accesses: u8, fetches: u8) -> u64 {
    instructions as u64
        | (branches as u64) << BITS
        | (accesses as u64) << (2 * BITS)
        | (fetches as u64) << (3 * BITS)
}

/// In [`Shared::flags`]: AF is clear, whatever its bit says.
pub const NO_HALF: i8 = i8::MIN;

/// The flags as EFLAGS has them.
fn word(flags: u64) -> u32 {
    const LOW: u32 = eflags::STATUS & 0xff;
    let flags = flags as u32;
    let word = flags >> 8 & LOW | ((flags & 1) * eflags::OF);
    if flags as u8 & NO_HALF.cast_unsigned() == 0 {
        word
    } else {
        word & !eflags::AF
    }
}

/// The flags as compiled code has them.
pub fn hosts(flags: Flags) -> u64 {
    let word = flags.word();
    u64::from((word & 0xff) << 8 | u32::from(word & eflags::OF != 0))
}

impl Processor {
    /// The counts of blocks that have ended, and these, go to the processor's.
    fn add_counts(&mut self, more: u64) {
        const MASK: u64 = (1 << BITS) - 1;
        let counts = std::mem::take(&mut self.compiler.shared.counts).wrapping_add(more);
        self.instructions += counts & MASK;
        self.branches += counts >> BITS & MASK;
        self.accesses += counts >> (2 * BITS) & MASK;
        self.fetches += counts >> (3 * BITS);
    }

    fn put_flags(&mut self) {
        self.registers.flags = Flags::from_word(word(self.compiler.shared.flags));
    }

    /// The time at which no block of compiled code begins.
    pub(super) fn compiled_until(&self) -> u64 {
        // Each slot has one instruction at most. Those of the block that runs are not counted yet.
        let left = self.alarm.saturating_sub(self.instructions + 64);
        let added = self.time + UNTIL_ADDED.min(left);
        (self.running.deadline.min(added)).saturating_sub(SLOTS_MOST.into())
    }

    /// The state becomes as if the interpreter ran the op of `site`, but for the flags.
    fn prepare(&mut self, site: &Site, version: &Version) {
        self.head = Here::at(version.head);
        self.here = Here::at(site.op);
        self.block_eip = version.eip;
        self.block_linear = version.linear;
        self.block_pa = version.pa;
        self.registers.eip = version.eip.wrapping_add(version.length);
        self.fetched = site.fetched;
        self.fetched_page = version.pa & !0xfff;
        self.due = (self.running.deadline).saturating_sub(version.slots.into());
        self.add_counts(site.counts);
        self.compiler.pays.cost += CALL;
    }

    /// Compiled code goes on behind the op of `site`.
    fn resume(&mut self, site: &Site) {
        let counted = site.counts.wrapping_add(site.own);
        self.compiler.shared.counts = 0_u64.wrapping_sub(counted);
        self.compiler.shared.until = self.compiled_until();
    }

    /// The processor gets the state that the interpreter would have at `site`. Copies of the site and of its block,
    /// which stay when code is compiled or dropped.
    ///
    /// # Safety
    /// `site` must be a site.
    unsafe fn catch_up(&mut self, site: *const Site) -> (Site, Version) {
        // SAFETY: the caller's; nothing is compiled before both are copied.
        let (&site, &version) = unsafe { self.at_site(site) };
        self.prepare(&site, &version);
        self.put_flags();
        self.here = Here::NONE;
        (site, version)
    }

    /// A site and its block.
    ///
    /// # Safety
    /// `site` must be a site, and nothing be compiled or dropped while they are used.
    unsafe fn at_site<'a>(&self, site: *const Site) -> (&'a Site, &'a Version) {
        let Some(code) = &self.compiler.code else {
            unreachable!("compiled code runs");
        };
        // SAFETY: the caller's.
        unsafe {
            let site = &*site;
            let version: *const Version = code.version(site.version);
            (site, &*version)
        }
    }
}

/// Runs the block at `head`, which has begun, by the compiled code at `body`. Returns the head of the next block, or
/// null, as [`crate::x86::chain::Chain`] does.
///
/// # Safety
/// `body` must be the code of that block.
pub(super) unsafe fn enter(p: &mut Processor, enter: usize, body: usize) -> *const Op {
    p.compiler.shared.counts = 0;
    p.compiler.shared.ram = p.memory.uncore.ram.pointer();
    p.compiler.shared.data = Processor::lines(&p.memory.data);
    p.compiler.shared.code = Processor::lines(&p.memory.instruction);
    p.compiler.shared.held = p.blocks.held();
    let targets = p.compiler.code.as_ref().map(|code| code.targets.pointer());
    p.compiler.shared.targets = targets.unwrap_or(std::ptr::null_mut());
    p.compiler.shared.flags = hosts(p.registers.flags);
    p.compiler.shared.until = p.compiled_until();
    // SAFETY: `Thunks::write` has written this function.
    unsafe {
        let enter: extern "sysv64" fn(*mut Processor, usize) -> *const Op =
            std::mem::transmute(enter);
        enter(&raw mut *p, body)
    }
}

/// See [`super::thunks::Thunks::go`]: the address of the code of the next block, or of that which leaves.
///
/// # Safety
/// Compiled code passes the processor that entered it, which nothing else uses meanwhile, and a site of its own.
pub(super) unsafe extern "sysv64" fn go(
    p: *mut Processor,
    site: *const Site,
    target: u32,
) -> usize {
    // SAFETY: the caller's. A version's head is that of a block while its code runs.
    unsafe {
        let p = &mut *p;
        let (site, version) = p.catch_up(site);
        let (target, jump) = match site.kind {
            Kind::Edge { target, jump, .. } => (target, jump),
            _ => (target, true),
        };
        p.registers.eip = target;
        if jump {
            p.fetched = NOWHERE;
        }
        let next = if p.time >= p.running.deadline || p.instructions >= p.alarm {
            std::ptr::null()
        } else {
            match site.kind {
                Kind::Edge { jump: false, .. } => {
                    p.next_block(version.head, Some(Successor::Straight))
                }
                Kind::Edge { .. } => p.block_behind_jump::<false>(version.head),
                _ => p.block_behind_jump::<true>(version.head),
            }
        };
        p.on(next, &site)
    }
}

/// See [`super::thunks::Thunks::entered`].
///
/// # Safety
/// As [`go`].
pub(super) unsafe extern "sysv64" fn entered(
    p: *mut Processor,
    site: *const Site,
    target: u32,
) -> usize {
    // SAFETY: as in `go`.
    unsafe {
        let p = &mut *p;
        let (site, version) = p.catch_up(site);
        let (target, pa) = match site.kind {
            Kind::Edge {
                target,
                pa: Some(pa),
                ..
            } => (target, pa),
            // It stays in the page.
            _ => (
                target,
                version.pa.wrapping_add(target.wrapping_sub(version.eip)),
            ),
        };
        let linear = target.wrapping_add(version.linear.wrapping_sub(version.eip));
        p.registers.eip = target;
        p.fetched = linear & !(p.line - 1);
        p.fetched_page = pa & !0xfff;
        p.block_eip = target;
        p.block_linear = linear;
        p.block_pa = pa;
        let next = p.block_at(pa, true);
        p.on(next, &site)
    }
}

/// See [`super::thunks::Thunks::fetch`]: how long the fetch of a line waits whose page has a shortcut, but which the
/// thunk has not found in its set.
///
/// # Safety
/// As [`go`].
pub(super) unsafe extern "sysv64" fn fetch(p: *mut Processor, pa: u32, now: u64) -> u64 {
    // SAFETY: the caller's.
    unsafe {
        let p = &mut *p;
        let slots = u64::from(p.kind.slots());
        p.fetch_stall(pa, 0, now / slots) * slots
    }
}

impl Processor {
    /// The address of compiled code that goes on with the block at `head`, which has been entered, or of that which
    /// leaves. The jump of `site` may lead there.
    ///
    /// # Safety
    /// `head` must be null or the head of a block.
    unsafe fn on(&mut self, head: *const Op, site: &Site) -> usize {
        let cleared = self.compiler.code.as_ref().map(|code| code.cleared);
        // SAFETY: the caller's.
        let version = unsafe { self.goes_on(head, site) };
        let shape = self.shape();
        let Some(code) = &mut self.compiler.code else {
            unreachable!("compiled code runs");
        };
        let Some(number) = version else {
            self.compiler.shared.next = head;
            return code.thunks.leave;
        };
        if cleared == Some(code.cleared) {
            match site.kind {
                Kind::Indirect => code.aim(number, &shape),
                _ => code.link(site, number),
            }
        }
        let (head, body) = (code.version(number).head, code.version(number).body);
        self.head = Here::at(head);
        self.compiler.shared.counts = 0;
        self.compiler.shared.until = self.compiled_until();
        body
    }

    /// # Safety
    /// As [`Processor::on`].
    unsafe fn goes_on(&mut self, head: *const Op, site: &Site) -> Option<u32> {
        if head.is_null() || !self.compiled_code_is_good() {
            return None;
        }
        // Where all code is dropped, so is that of the site.
        let before = self.compiler.code.as_ref().map(|code| code.cleared);
        // SAFETY: the caller's.
        let number = unsafe { self.compiled(head, true) };
        let cleared = self.compiler.code.as_ref().map(|code| code.cleared);
        if let Kind::Edge { pa, .. } = site.kind
            && pa != Some(self.block_pa)
            && cleared == before
        {
            // What was not known when the block was compiled may be known now.
            self.compiler.learn(site);
        }
        let number = number?;
        // SAFETY: the caller's.
        let head = unsafe { &*head };
        (self.time < self.compiled_until()
            && self.wrote & head.after == 0
            && u32::from(head.extra) == self.head_cause)
            .then_some(number)
    }
}

/// See [`super::thunks::Thunks::stay`].
///
/// # Safety
/// As [`go`].
pub(super) unsafe extern "sysv64" fn stay(p: *mut Processor, site: *const Site) {
    // SAFETY: as in `go`. The op is one of the block, and runs by its own chain, not by compiled code.
    unsafe {
        let p = &mut *p;
        let (site, version) = p.catch_up(site);
        let chain = if site.op == version.head.add(1) {
            version.original
        } else {
            (*site.op).chain
        };
        p.compiler.shared.next = chain(p, site.op);
    }
}

/// See [`super::thunks::Thunks::rest`].
///
/// # Safety
/// As [`go`].
pub(super) unsafe extern "sysv64" fn rest(p: *mut Processor, site: *const Site) {
    // SAFETY: as in `go`.
    unsafe {
        let p = &mut *p;
        let (&site, &version) = p.at_site(site);
        p.prepare(&site, &version);
        p.put_flags();
        let check = matches!(site.kind, Kind::Rest { check: true });
        p.compiler.shared.next = p.run_on(site.op, check);
    }
}

/// See [`super::thunks::Thunks::alone`]. Not 0: leave.
///
/// # Safety
/// As [`go`].
pub(super) unsafe extern "sysv64" fn alone(p: *mut Processor, site: *const Site) -> u64 {
    // SAFETY: as in `go`.
    unsafe {
        let p = &mut *p;
        let (&site, &version) = p.at_site(site);
        p.prepare(&site, &version);
        let op = &*site.op;
        let (flags, fetches, same) = match site.kind {
            Kind::Alone { flags, template } => (flags, false, template),
            _ => (false, true, true),
        };
        if flags {
            p.put_flags();
        }
        match (op.run)(p, op) {
            Ok(()) => {
                if flags {
                    p.compiler.shared.flags = hosts(p.registers.flags);
                }
                if p.time < p.due && (same || p.runs_compiled(version.mark)) {
                    p.resume(&site);
                    return 0;
                }
                p.put_flags();
                p.compiler.shared.next = p.run_on(site.op.add(1), !fetches);
            }
            Err(exception) => {
                if !flags {
                    p.put_flags();
                }
                p.compiler.shared.next = p.break_off(site.op, exception);
            }
        }
        1
    }
}

/// See [`super::thunks::Thunks::load`]: how long a load waits whose page has a shortcut, but whose line the thunk has
/// not found in its set.
///
/// # Safety
/// As [`go`].
pub(super) unsafe extern "sysv64" fn load(p: *mut Processor, pa: u32, now: u64) -> u64 {
    // SAFETY: the caller's.
    unsafe {
        let p = &mut *p;
        p.memory.load_cached(pa, now, &mut p.account)
    }
}

/// See [`super::thunks::Thunks::missed`]: how long a store waits whose line is not at hand.
///
/// # Safety
/// As [`go`].
pub(super) unsafe extern "sysv64" fn missed(p: *mut Processor, pa: u32, now: u64) -> u64 {
    // SAFETY: the caller's.
    unsafe {
        let p = &mut *p;
        let slots = u64::from(p.kind.slots());
        p.store_stall(pa, 0, now / slots) * slots
    }
}

/// See [`super::thunks::Thunks::store`]: how long a store waits whose page has a shortcut.
///
/// # Safety
/// As [`go`].
pub(super) unsafe extern "sysv64" fn store<W: Width>(
    p: *mut Processor,
    pa: u32,
    value: u32,
    now: u64,
) -> u64 {
    // SAFETY: the caller's.
    unsafe {
        let p = &mut *p;
        let stall = p.memory.store_unified(pa, now, &mut p.account);
        p.written(pa, W::BYTES);
        p.ram_write(pa, W::BYTES, value);
        if p.running.deadline == 0 {
            // Code has changed.
            p.compiler.shared.until = 0;
        }
        stall
    }
}
