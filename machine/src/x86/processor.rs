//! One processor: its parts and its run loop.

use super::blocks::{self, Blocks, Head, Link, Plan, linked};
use super::chain::Here;
use super::config::{Config, Kind};
use super::decode::{self, Mode, Repeating, decode};
use super::dump::Dump;
use super::exception::Exception;
use super::op::Op;
use super::paging::Mmu;
use super::predictor::Predictor;
use super::registers::{Registers, Segment, cr0, eflags, segment};
use super::stop::Stop;
use super::tlb::{Need, Shortcut};
use super::window::Window;
use super::x87::Fpu;
use crate::account::{Account, Cause};
use crate::board::Instant;
use crate::computer::{Breakpoints, Limits};
use crate::engine::fetch::CodeCauses;
use crate::engine::line::NO_CAUSE;
use crate::loader::CauseRange;
use crate::memory::{Forward, Memory};
use crate::observe::Observers;

/// No line: the next instruction is fetched in any case.
pub(super) const NOWHERE: u32 = 1;

/// See [`Exception::RESTART`].
pub(super) const RESTART: Exception = Exception::RESTART;

/// A simulated processor, with its access to the uncore.
pub struct Processor {
    /// Its number in the machine.
    pub(super) number: u8,
    pub(super) kind: Kind,
    pub registers: Registers,
    pub(super) fpu: Option<Box<Fpu>>,
    pub mmu: Mmu,
    pub memory: Memory,
    /// The counters, as of the last call of [`Processor::settle`].
    pub account: Account,
    pub observers: Observers<Dump>,
    pub(super) config: Config,
    pub(super) blocks: Box<Blocks>,
    pub(super) predictor: Predictor,
    pub(super) causes: CodeCauses,

    /// Issue slots since reset, [`Kind::slots`] in a cycle, without those of the block that runs
    /// ([`Processor::slots`]).
    pub(super) time: u64,
    /// The time from which something else than the next block is due.
    pub(super) deadline: u64,
    /// The same for the block that runs, less the slots of the whole block.
    pub(super) due: u64,
    /// Of blocks that have ended.
    pub(super) instructions: u64,
    /// The op that runs, and the head of its block.
    pub(super) here: Here,
    pub(super) head: Here,
    /// Data accesses, fetches of lines, branches, wrong predictions: not yet in the account.
    pub(super) accesses: u64,
    pub(super) fetches: u64,
    pub(super) branches: u64,
    pub(super) mispredicted: u64,

    /// The linear address of the line that was fetched last, or [`NOWHERE`].
    pub(super) fetched: u32,
    /// The physical address of its page.
    pub(super) fetched_page: u32,
    /// EIP, linear and physical address of the block that runs.
    pub(super) block_eip: u32,
    pub(super) block_linear: u32,
    pub(super) block_pa: u32,

    /// 2 in ring 3, otherwise 0: as a [`Need`].
    pub(super) user: Need,
    /// What [`Shortcut::mark`] gives of it.
    pub(super) mark: u32,
    pub(super) paging: bool,
    /// Accesses may be compared with the line used last, instead of a look-up.
    pub(super) caches_on: bool,
    pub(super) writes_back: bool,
    /// How many slots an address waits for a register that the instruction before wrote ([`Mode::wait`]).
    pub(super) wait: u16,
    pub(super) ram_size: usize,
    /// Bytes of a cache line.
    pub(super) line: u32,
    pub(super) forward: Forward,
    /// Always-probe mode: no shortcuts are taken.
    pub(super) oracle: bool,
    /// Every translation and every line is looked up: for the oracle, or for a sanitizer.
    pub(super) probes: bool,
    pub(super) sanitized: bool,
    /// Trace or listener are told of misses and exceptions.
    pub(super) noting: bool,
    /// The registers that the last block's last instruction wrote, for an address that follows at once.
    pub(super) wrote: u8,
    /// A string instruction that goes on where EIP points to it.
    pub(super) repeating: Option<Repeating>,
    /// The next block is one instruction.
    pub(super) single: bool,
    /// No interrupt before the instruction after the next.
    pub(super) inhibited: bool,
    /// The instruction of a single step was INT: TF does not trap after it.
    pub(super) software: bool,
    /// Exceptions in a row since an instruction completed, and how many had completed by the last one.
    pub(super) in_a_row: (u32, u64),
    pub(super) halted: bool,
    /// If set, exceptions stop the machine instead of being taken.
    pub(super) hosted: bool,
    pub(super) stop: Option<Stop>,
    pub(super) limits: Limits,
    /// So many instructions, and the blocks become single instructions.
    pub(super) alarm: u64,
    pub(super) several: bool,
    /// The turn is over at the first block entered at or after this time, in slots.
    pub(super) turn_end: u64,
    /// The cycle at which a device of the board does something by itself, when this was looked up last.
    pub(super) polled_at: u64,
    /// The processor sleeps until this cycle, unless another wakes it.
    pub(super) wake: Option<u64>,
    pub(super) breakpoints: Breakpoints,
    pub(super) dynamic_cause: Option<Cause>,
    pub(super) code_cause: u8,
    pub(super) window: Window,
    /// The same as [`Op::extra`] of a block's head has it, or a value that no head has: then each block that is entered
    /// tells the observers.
    pub(super) head_cause: u32,
    pub(super) settled: super::accounting::Settled,
}

impl Processor {
    /// Makes a processor that begins in real mode at address 0; its view of memory is `memory`.
    ///
    /// # Errors
    /// When the models cannot build what the machine file asks for.
    pub fn new(
        number: u8,
        config: Config,
        memory: Memory,
        causes: &[CauseRange],
    ) -> Result<Processor, String> {
        let mmu = Mmu::new(&config)?;
        let ram_size = memory.uncore.ram.size();
        let line = config.line();
        let data = config.cache.unified.as_ref().or(config.cache.data.as_ref());
        let forward = data.map_or(Forward::Line, |cache| cache.forward);
        let ranges = causes.iter().filter_map(|range| {
            let cause = Cause::ALL.iter().find(|c| c.name() == range.name)?;
            Some((range.start, range.end, *cause as u8))
        });
        let mut processor = Processor {
            number,
            kind: config.core.kind,
            registers: Registers::real_mode(0, config.core.signature),
            fpu: Some(Box::new(Fpu::new())),
            mmu,
            account: Account::new(ram_size, line as usize),
            observers: Observers::default(),
            blocks: Box::new(Blocks::new(ram_size)),
            predictor: Predictor::new(config.branch.as_ref().map_or(0, |branch| branch.entries)),
            causes: CodeCauses::new(ranges.collect()),
            time: 0,
            deadline: 0,
            due: 0,
            instructions: 0,
            here: Here::NONE,
            head: Here::NONE,
            accesses: 0,
            fetches: 0,
            branches: 0,
            mispredicted: 0,
            fetched: NOWHERE,
            fetched_page: 0,
            block_eip: 0,
            block_linear: 0,
            block_pa: 0,
            user: 0,
            mark: 0,
            paging: false,
            caches_on: false,
            writes_back: config.core.kind == Kind::P6,
            // The load's first slot is counted already.
            wait: match (config.core.kind, config.clocks.load) {
                (Kind::I486, _) => 1,
                (Kind::P6, load) => load.map_or(0, |load| (load * Kind::P6.slots() - 1) as u16),
            },
            ram_size,
            line,
            forward,
            oracle: false,
            probes: false,
            sanitized: false,
            noting: false,
            wrote: 0,
            repeating: None,
            single: false,
            inhibited: false,
            software: false,
            in_a_row: (0, u64::MAX),
            halted: false,
            hosted: false,
            stop: None,
            limits: Limits::NONE,
            alarm: u64::MAX,
            several: config.processors > 1,
            turn_end: u64::MAX,
            polled_at: u64::MAX,
            wake: None,
            breakpoints: Breakpoints::default(),
            dynamic_cause: None,
            code_cause: NO_CAUSE,
            window: Window::default(),
            head_cause: NO_CAUSE.into(),
            settled: super::accounting::Settled::default(),
            memory,
            config,
        };
        processor.modes_changed();
        Ok(processor)
    }

    /// Puts the processor into the state that a boot loader leaves: protected mode without paging, flat segments, and a
    /// GDT at `gdt` whose descriptors 1 and 2 are code and data.
    pub(super) fn enter_flat(&mut self, gdt: u32, eip: u32) {
        const CODE: u32 = 0xc09b;
        const DATA: u32 = 0xc093;
        let registers = &mut self.registers;
        registers.cr0 |= cr0::PE;
        registers.gdtr = super::registers::Table {
            base: gdt,
            limit: 0x17,
        };
        for segment in &mut registers.segments {
            *segment = Segment::new(0x10, 0, u32::MAX, DATA);
        }
        registers.segments[usize::from(segment::CS)] = Segment::new(0x08, 0, u32::MAX, CODE);
        registers.eip = eip;
        self.modes_changed();
    }

    /// Begins in real mode at the first byte of page `page`, at cycle `now`.
    pub(super) fn begin_at(&mut self, page: u8, now: u64) {
        self.start_clock(now.max(self.now()));
        self.registers = Registers::real_mode(u16::from(page) << 8, self.config.core.signature);
        self.flush_tlbs(false);
        self.halted = false;
        self.wake = None;
        self.inhibited = false;
        self.modes_changed();
    }

    /// The configuration that the machine was made from.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Turns always-probe mode on or off. When it is on, each instruction is decoded anew, and every access looks up
    /// TLB and caches. Cycles and counters must not change; the mode exists to prove that.
    pub fn set_oracle(&mut self, on: bool) {
        self.oracle = on;
        self.look_up_all();
    }

    /// Shows every translation to the sanitizer from now on, if there is one.
    pub(super) fn look_up_all(&mut self) {
        self.probes = self.oracle || self.sanitized;
        self.caches_on = self.registers.cr0 & cr0::CD == 0 && !self.probes;
        self.mmu.drop_shortcuts();
    }

    /// With `on`, an exception stops the machine, and the caller of the run handles it.
    pub fn set_hosted(&mut self, on: bool) {
        self.hosted = on;
    }

    /// Core cycles since reset.
    #[inline(always)]
    #[must_use]
    pub fn now(&self) -> u64 {
        match self.kind {
            Kind::I486 => self.slots(),
            Kind::P6 => self.slots() / 3,
        }
    }

    /// Issue slots since reset.
    #[inline(always)]
    pub(super) fn slots(&self) -> u64 {
        self.time + u64::from(self.here.op().issued)
    }

    /// The time in slots at which `cycle` begins.
    pub(super) fn slots_at(&self, cycle: u64) -> u64 {
        cycle.saturating_mul(self.kind.slots().into())
    }

    #[inline(always)]
    pub(super) fn add_cycles(&mut self, cycles: u64) {
        let slots = cycles * u64::from(self.kind.slots());
        self.time += slots;
        self.window_held(slots);
    }

    /// The same of what begins when all loads have their data.
    pub(super) fn add_clocks(&mut self, cycles: u64) {
        self.close_window();
        self.add_cycles(cycles);
    }

    /// Cycles and completed instructions since reset.
    #[must_use]
    pub fn instant(&self) -> Instant {
        Instant {
            processor: self.number,
            cycles: self.now(),
            instructions: self.completed(),
        }
    }

    /// Completed instructions since reset.
    #[inline(always)]
    pub(super) fn completed(&self) -> u64 {
        self.instructions + u64::from(self.here.op().number)
    }

    /// Must be called after a change from outside, and after every change of ring, CR0 or mode.
    pub fn modes_changed(&mut self) {
        self.set_ring(self.registers.cpl);
        self.paging = self.registers.paging();
        self.mmu.set_wide(self.registers.wide_entries());
        let registers = &self.registers;
        let caches = registers.cr0 & cr0::CD == 0;
        if self.memory.data.enabled() != caches {
            self.memory.data.set_enabled(caches);
            self.memory.instruction.set_enabled(caches);
        }
        if self.caches_on != (caches && !self.probes) || !self.paging {
            self.caches_on = caches && !self.probes;
            self.mmu.drop_shortcuts();
        }
        self.fetched = NOWHERE;
        self.breaks_off();
        self.due_at_once();
        self.choose_cause();
    }

    /// Accesses are those of `ring` from now on.
    pub(super) fn set_ring(&mut self, ring: u8) {
        self.registers.cpl = ring;
        self.user = if ring == 3 { 2 } else { 0 };
        self.mark = Shortcut::mark(self.user);
    }

    /// What follows is not the next instruction of the code that ran.
    pub(super) fn breaks_off(&mut self) {
        self.wrote = 0;
        self.repeating = None;
    }

    /// IF or TF may have changed.
    pub(super) fn flags_changed(&mut self) {
        self.due_at_once();
    }

    /// No interrupt before the instruction after the next (STI, MOV SS, POP SS).
    pub(super) fn inhibit(&mut self) {
        self.inhibited = true;
        self.due_at_once();
    }

    /// INVD and WBINVD.
    pub(super) fn empty_caches(&mut self) {
        self.memory.data.invalidate_all();
        self.memory.instruction.invalidate_all();
        self.fetched = NOWHERE;
    }

    fn mode(&self) -> Mode {
        Mode {
            kind: self.kind,
            wide: self.registers.segment(segment::CS).big(),
            lock: (self.config.clocks.lock * self.kind.slots()) as u16,
            wait: self.wait,
        }
    }

    /// Goes to the next instruction: fetches its line if that is another. Returns its physical address, and whether
    /// its code has 32 bits. `None`: it has raised an exception.
    #[inline(always)]
    fn enter_block(&mut self) -> Option<(u32, bool)> {
        let cs = self.registers.segment(segment::CS);
        let eip = self.registers.eip;
        let (linear, wide, limit) = (cs.base.wrapping_add(eip), cs.big(), cs.limit);
        self.block_eip = eip;
        if eip > limit {
            self.raise(Exception::GENERAL);
            return None;
        }
        let pa = match self.enter(linear) {
            Ok(pa) => pa,
            Err(exception) => {
                self.raise(exception);
                return None;
            }
        };
        self.block_linear = linear;
        self.block_pa = pa;
        Some((pa, wide))
    }

    /// Runs the next instructions.
    #[inline(always)]
    pub(super) fn run(&mut self) {
        let Some((pa, wide)) = self.enter_block() else {
            return;
        };
        let limit = self.registers.segment(segment::CS).limit;
        if self.oracle || self.single || !blocks::fits(self.block_eip, limit) {
            return self.run_single(pa);
        }
        let mut head = self.blocks.find(pa, wide);
        if head.is_null() {
            head = self.decode_block(pa, wide);
        }
        if self.window.is_open() && !head.is_null() {
            // SAFETY: this is the head of a whole block.
            unsafe { self.run_carefully(head) };
            return;
        }
        self.run_blocks(head);
    }

    /// The physical address of the code at `eip`, if it is in the page of the block that runs, and a fetch of its line
    /// would change nothing but the counts.
    #[inline(always)]
    fn stays_in_page(&self, eip: u32) -> Option<u32> {
        let away = eip.wrapping_sub(self.block_eip);
        let pa = self.block_pa.wrapping_add(away);
        let linear = self.block_linear.wrapping_add(away);
        let stays =
            (linear ^ self.block_linear) & !0xfff == 0 && self.fetches_unchanged::<false>(pa);
        stays.then_some(pa)
    }

    /// The head of the block at `eip`, which follows the one at `head` behind a jump. Null, unless it is linked and
    /// in the same page, fits the segment, and a fetch of its line would change nothing but the counts. Nothing is
    /// changed; [`Processor::go_to`] enters the block.
    ///
    /// # Safety
    /// `head` must be that of the block that was entered last, of a core that fetches through its data TLB and cache.
    #[inline(always)]
    pub(super) unsafe fn follows_at_once(&self, head: *const Op, eip: u32) -> *const Op {
        let cs = self.registers.segment(segment::CS);
        match self.stays_in_page(eip) {
            // SAFETY: the caller's.
            Some(pa) if blocks::fits(eip, cs.limit) => unsafe {
                linked(head, Link::Taken, pa, cs.big())
            },
            _ => std::ptr::null(),
        }
    }

    /// Enters the block at `eip`, which [`Processor::follows_at_once`] has found, by a jump, which always fetches.
    #[inline(always)]
    pub(super) fn go_to(&mut self, eip: u32) {
        let away = eip.wrapping_sub(self.block_eip);
        self.block_eip = eip;
        self.block_linear = self.block_linear.wrapping_add(away);
        self.block_pa = self.block_pa.wrapping_add(away);
        self.fetches += 1;
        self.fetched = self.block_linear & !(self.line - 1);
    }

    /// The head of the block that follows the one at `head` behind a jump within the segment, which has just been made;
    /// or null if the instruction at EIP must begin otherwise. `INDIRECT`: the jump goes to different places.
    ///
    /// # Safety
    /// `head` must be that of the block that was entered last.
    #[inline(always)]
    pub(super) unsafe fn block_behind_jump<const INDIRECT: bool>(
        &mut self,
        head: *const Op,
    ) -> *const Op {
        let cs = self.registers.segment(segment::CS);
        let eip = self.registers.eip;
        let (linear, wide) = (cs.base.wrapping_add(eip), cs.big());
        if !blocks::fits(eip, cs.limit) {
            return std::ptr::null();
        }
        // SAFETY: the caller's.
        unsafe {
            if self.kind == Kind::I486 {
                let next = if INDIRECT {
                    match self.stays_in_page(eip) {
                        Some(pa) => self.blocks.target(eip, pa, wide),
                        None => std::ptr::null(),
                    }
                } else {
                    self.follows_at_once(head, eip)
                };
                if !next.is_null() {
                    self.go_to(eip);
                    return next;
                }
            }
            // A jump always fetches.
            let Some(pa) = self.fetch_at_once::<true>(linear) else {
                return self.next_block_slowly(head, Link::Taken);
            };
            let next = if INDIRECT {
                self.blocks.target(eip, pa, wide)
            } else {
                linked(head, Link::Taken, pa, wide)
            };
            if next.is_null() {
                return self.next_block_slowly(head, Link::Taken);
            }
            self.block_eip = eip;
            self.block_linear = linear;
            self.block_pa = pa;
            next
        }
    }

    /// The head of the block that follows the one at `head` by the link `way`, or where EIP points to; or null if the
    /// instruction there must begin otherwise.
    ///
    /// # Safety
    /// `head` must be that of the block that was entered last.
    #[inline(always)]
    pub(super) unsafe fn next_block(&mut self, head: *const Op, way: Option<Link>) -> *const Op {
        let cs = self.registers.segment(segment::CS);
        let eip = self.registers.eip;
        let (linear, wide) = (cs.base.wrapping_add(eip), cs.big());
        if !blocks::fits(eip, cs.limit) {
            return std::ptr::null();
        }
        // SAFETY: the caller's.
        unsafe {
            let straight = self.block_eip.wrapping_add((*head).at.into());
            let link = match way {
                Some(link) => link,
                None if straight == eip => Link::Straight,
                None => Link::Taken,
            };
            let pa = if linear & !(self.line - 1) == self.fetched {
                self.fetched_page | linear & 0xfff
            } else {
                match self.fetch_at_once::<true>(linear) {
                    Some(pa) => pa,
                    None => return self.next_block_slowly(head, link),
                }
            };
            let next = linked(head, link, pa, wide);
            if next.is_null() {
                return self.next_block_slowly(head, link);
            }
            self.block_eip = eip;
            self.block_linear = linear;
            self.block_pa = pa;
            next
        }
    }

    /// The same for a block that is not linked, or whose page has no shortcut; it fits the segment. A line that has
    /// been fetched already is not fetched again.
    ///
    /// # Safety
    /// `head` must be that of the block that was entered last.
    #[inline(never)]
    unsafe fn next_block_slowly(&mut self, head: *const Op, link: Link) -> *const Op {
        let Some((pa, wide)) = self.enter_block() else {
            return std::ptr::null();
        };
        // SAFETY: the caller's.
        unsafe {
            let mut next = linked(head, link, pa, wide);
            if next.is_null() {
                next = self.blocks.find(pa, wide);
                if next.is_null() {
                    return self.decode_block(pa, wide);
                }
                self.blocks.link(head, link, next);
            }
            next
        }
    }

    /// Decodes the block at `pa` and enters it. Returns its head, or null if its first instruction goes on in another
    /// page, and has been run.
    #[inline(never)]
    fn decode_block(&mut self, pa: u32, wide: bool) -> *const Op {
        match self.build(pa, blocks::INSTRUCTIONS_MOST) {
            Some(block) => self.blocks.enter(pa, wide, &block),
            None => {
                self.run_apart(pa);
                std::ptr::null()
            }
        }
    }

    /// Runs the instruction at `pa` alone.
    #[inline(never)]
    fn run_single(&mut self, pa: u32) {
        match self.build(pa, 1) {
            Some(block) if self.is_within(block[0].at.into()) => self.run_one(&block),
            Some(_) => self.raise(Exception::GENERAL),
            None => self.run_apart(pa),
        }
    }

    #[inline(never)]
    fn build(&self, pa: u32, most: u8) -> Option<Vec<Op>> {
        let page = (pa | 0xfff) as usize + 1;
        let code = self.memory.uncore.ram.bytes().get(pa as usize..page)?;
        let plan = Plan {
            mode: self.mode(),
            line: self.line,
            causes: &self.causes,
            most,
        };
        blocks::build(pa, code, &plan)
    }

    /// Are so many bytes from the block's beginning on within the segment?
    fn is_within(&self, bytes: u32) -> bool {
        let limit = self.registers.segment(segment::CS).limit;
        u64::from(self.block_eip) + u64::from(bytes) <= u64::from(limit) + 1
    }

    /// Runs a block of one instruction, and traps after it if TF says so: not after INT, nor between a load of SS and
    /// the next instruction.
    #[inline(never)]
    fn run_one(&mut self, block: &[Op]) {
        let single = std::mem::take(&mut self.single);
        let traced = self.registers.system & eflags::TF != 0;
        self.software = false;
        // SAFETY: this is a whole block.
        if unsafe { self.run_carefully(block.as_ptr()) } {
            self.one_ran(single, traced);
        }
    }

    /// An instruction has run on its own.
    fn one_ran(&mut self, single: bool, traced: bool) {
        if single {
            self.due_at_once();
        }
        if traced && !self.software && !self.inhibited {
            self.trap();
        }
    }

    /// The trap of TF, after an instruction or an element of a repeated one.
    fn trap(&mut self) {
        const SINGLE_STEP: u32 = 1 << 14;
        self.registers.dr[6] |= SINGLE_STEP;
        self.raise_here(Exception::DEBUG);
    }

    /// Goes on with a repeated instruction, if one has stopped between two elements.
    pub(super) fn go_on_repeating(&mut self) -> bool {
        let mode = self.mode();
        let Some(op) = self.repeating.take().and_then(|string| string.op(mode)) else {
            return false;
        };
        let single = std::mem::take(&mut self.single);
        let traced = self.registers.system & eflags::TF != 0;
        self.block_eip = self.registers.eip;
        self.registers.eip = self.block_eip.wrapping_add(op.length.into());
        match (op.run)(self, &op) {
            Ok(()) => {
                self.instructions += 1;
                self.one_ran(single, traced);
            }
            Err(exception) => self.interrupted(&op, 0, exception),
        }
        true
    }

    /// `op` has not run to its end. `issued`: the slots of its block so far.
    #[cold]
    #[inline(never)]
    pub(super) fn interrupted(&mut self, op: &Op, issued: u16, exception: Exception) {
        self.here = Here::NONE;
        self.time += u64::from(issued);
        self.instructions += u64::from(op.number);
        // A fault or a restart; traps are raised after the instruction.
        self.registers.eip = self.block_eip.wrapping_add(op.at.into());
        if exception != RESTART {
            self.fetched = NOWHERE;
            return self.raise_here(exception);
        }
        if op.number != 0 {
            self.wrote = op.after;
        }
        if self.repeating.is_some() && self.registers.system & eflags::TF != 0 {
            self.trap();
        }
    }

    fn raise(&mut self, exception: Exception) {
        self.registers.eip = self.block_eip;
        if exception != RESTART {
            self.raise_here(exception);
        }
    }

    /// Runs an instruction that lies in two pages, or in no RAM.
    #[inline(never)]
    fn run_apart(&mut self, pa: u32) {
        let mut bytes = [0xff; decode::LONGEST];
        let here = (0x1000 - (pa & 0xfff) as usize).min(bytes.len());
        self.copy_code(pa, &mut bytes[..here]);
        let mode = self.mode();
        let mut decoded = decode(&bytes[..here], mode, 0);
        if decoded.is_none() {
            if !self.is_within(here as u32 + 1) {
                return self.raise(Exception::GENERAL);
            }
            let next = (self.block_linear | 0xfff).wrapping_add(1);
            match self.fetch(next) {
                Ok(second) => self.copy_code(second, &mut bytes[here..]),
                Err(exception) => return self.raise(exception),
            }
            decoded = decode(&bytes, mode, 0);
        }
        let Some(decoded) = decoded else {
            return self.raise(Exception::GENERAL);
        };
        if !self.is_within(decoded.length as u32) {
            return self.raise(Exception::GENERAL);
        }
        let op = Op {
            issued: decoded.op.slots,
            ..decoded.op
        };
        let head = Head {
            pa,
            wide: mode.wide,
            cause: self.causes.of(pa),
            waits: decoded.waits,
            wrote: if decoded.ends { 0 } else { decoded.writes },
            length: decoded.length as u16,
            jumps: decoded.jumps,
        };
        let block = blocks::close(vec![op, op], &head);
        self.run_one(&block);
    }

    fn copy_code(&self, pa: u32, bytes: &mut [u8]) {
        for (n, byte) in (0..).zip(bytes) {
            let at = pa.wrapping_add(n);
            *byte = self.memory.uncore.ram.read_u8(at).unwrap_or(0xff);
        }
    }

    /// P6: a branch to `target` goes there if `taken`.
    #[inline(never)]
    pub(super) fn predict(&mut self, op: &Op, taken: bool, target: u32, conditional: bool) {
        let branch = self.block_eip.wrapping_add(op.at.into());
        if !(self.predictor).predicts(branch, target, taken, conditional) {
            self.mispredict();
        }
    }

    /// P6: a return to `target`.
    #[inline(never)]
    pub(super) fn predict_return(&mut self, target: u32) {
        if !self.predictor.returns_to(target) {
            self.mispredict();
        }
    }

    fn mispredict(&mut self) {
        self.mispredicted += 1;
        self.close_window();
        let penalty = self.config.branch.as_ref().map_or(0, |b| b.mispredict);
        self.add_cycles(penalty.into());
    }

    /// Reads the byte at a linear address through the current translation, without side effects.
    #[must_use]
    pub fn peek(&self, linear: u32) -> Option<u8> {
        let pa = self.peek_translation(linear)?;
        self.memory.uncore.ram.read_u8(pa)
    }

    /// Writes the byte at a linear address; false where there is no RAM.
    pub fn poke(&mut self, linear: u32, value: u8) -> bool {
        let Some(pa) = self.peek_translation(linear) else {
            return false;
        };
        if (pa as usize) < self.ram_size {
            self.written(pa, 1);
        }
        self.memory.uncore.ram.write_u8(pa, value)
    }
}
