//! One processor: its parts and its run loop.

use super::blocks::{self, Block, Blocks, Head, Plan};
use super::config::{Config, Kind};
use super::decode::{self, Mode, Repeating, decode};
use super::exception::Exception;
use super::observers::Observers;
use super::op::{FIRST_LINE, LAST_LINE, Op};
use super::paging::Mmu;
use super::predictor::Predictor;
use super::registers::{Registers, Segment, cr0, eflags, segment};
use super::stop::Stop;
use super::tlb::Need;
use super::x87::Fpu;
use crate::board::Instant;
use crate::engine::fetch::CodeCauses;
use crate::engine::line::NO_CAUSE;
use crate::loader::CauseRange;
use crate::machine::Limits;
use crate::memory::cache::ARRIVING;
use crate::memory::{Forward, Memory};
use crate::observe::{Account, Cause};

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
    /// Exceptions and interrupts taken, by vector.
    pub exceptions: Box<[u64; 256]>,
    pub observers: Observers,
    pub(super) config: Config,
    pub(super) blocks: Box<Blocks>,
    pub(super) predictor: Predictor,
    pub(super) causes: CodeCauses,

    /// Issue slots since reset: [`Kind::slots`] in a cycle.
    pub(super) time: u64,
    /// The time from which something else than the next block is due.
    pub(super) deadline: u64,
    /// Of blocks that have ended.
    pub(super) instructions: u64,
    /// Those before the one that runs in its block.
    pub(super) running: u8,
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
    block_linear: u32,
    block_pa: u32,

    /// 2 in ring 3, otherwise 0: as a [`Need`].
    pub(super) user: Need,
    pub(super) paging: bool,
    /// Accesses may be compared with the line used last, instead of a look-up.
    pub(super) caches_on: bool,
    pub(super) writes_back: bool,
    pub(super) ram_size: usize,
    /// Bytes of a cache line.
    pub(super) line: u32,
    pub(super) forward: Forward,
    /// Always-probe mode: no shortcuts are taken.
    pub(super) oracle: bool,
    /// Every translation and every line is looked up: for the oracle, or for a sanitizer.
    pub(super) probes: bool,
    pub(super) sanitized: bool,
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
    pub(super) breakpoints: Vec<u32>,
    pub(super) passing: Option<u32>,
    pub(super) dynamic_cause: Option<Cause>,
    pub(super) code_cause: u8,
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
        let mmu = Mmu::new(&config).ok_or("the machine file has no TLB")?;
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
            exceptions: Box::new([0; 256]),
            observers: Observers::default(),
            blocks: Box::new(Blocks::new(ram_size)),
            predictor: Predictor::new(config.branch.as_ref().map_or(0, |branch| branch.entries)),
            causes: CodeCauses::new(ranges.collect()),
            time: 0,
            deadline: 0,
            instructions: 0,
            running: 0,
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
            paging: false,
            caches_on: false,
            writes_back: config.core.kind == Kind::P6,
            ram_size,
            line,
            forward,
            oracle: false,
            probes: false,
            sanitized: false,
            wrote: 0,
            repeating: None,
            single: false,
            inhibited: false,
            software: false,
            halted: false,
            hosted: false,
            stop: None,
            limits: Limits::NONE,
            alarm: u64::MAX,
            several: config.processors > 1,
            turn_end: u64::MAX,
            polled_at: u64::MAX,
            wake: None,
            breakpoints: Vec::new(),
            passing: None,
            dynamic_cause: None,
            code_cause: NO_CAUSE,
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
    pub(super) fn start(&mut self, page: u8, now: u64) {
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
            Kind::I486 => self.time,
            Kind::P6 => self.time / 3,
        }
    }

    /// The time in slots at which `cycle` begins.
    pub(super) fn slots_at(&self, cycle: u64) -> u64 {
        cycle.saturating_mul(self.kind.slots().into())
    }

    #[inline(always)]
    pub(super) fn add_cycles(&mut self, cycles: u64) {
        self.time += cycles * u64::from(self.kind.slots());
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
        self.instructions + u64::from(self.running)
    }

    /// Must be called after a change from outside, and after every change of ring, CR0 or mode.
    pub fn modes_changed(&mut self) {
        let registers = &self.registers;
        self.user = if registers.cpl == 3 { 2 } else { 0 };
        self.paging = registers.paging();
        let caches = registers.cr0 & cr0::CD == 0;
        if self.memory.data.enabled() != caches {
            self.memory.data.set_enabled(caches);
            self.memory.instruction.set_enabled(caches);
        }
        self.caches_on = caches && !self.probes;
        self.fetched = NOWHERE;
        self.breaks_off();
        self.deadline = 0;
        self.choose_cause();
    }

    /// What follows is not the next instruction of the code that ran.
    pub(super) fn breaks_off(&mut self) {
        self.wrote = 0;
        self.repeating = None;
    }

    /// IF or TF may have changed.
    pub(super) fn flags_changed(&mut self) {
        self.deadline = 0;
    }

    /// No interrupt before the instruction after the next (STI, MOV SS, POP SS).
    pub(super) fn inhibit(&mut self) {
        self.inhibited = true;
        self.deadline = 0;
    }

    /// INVD and WBINVD.
    pub(super) fn empty_caches(&mut self) {
        self.memory.data.invalidate_all();
        self.memory.instruction.invalidate_all();
        self.fetched = NOWHERE;
    }

    /// Fetches the line of `linear`; returns the physical address of `linear`.
    #[inline(always)]
    fn fetch(&mut self, linear: u32) -> Result<u32, Exception> {
        self.fetches += 1;
        let user = self.user;
        let (pa, bits) = if !self.paging {
            (linear, 0)
        } else if !self.probes
            && let Some(hit) = self.mmu.fetching().hit_recent(linear, user)
        {
            hit
        } else {
            self.translate_slowly(linear, user, true)?
        };
        self.fetched = linear & !(self.line - 1);
        self.fetched_page = pa & !0xfff;
        if bits & super::tlb::pte::UNCACHED == 0 && self.caches_on {
            let cache = match self.kind {
                Kind::I486 => &self.memory.data,
                Kind::P6 => &self.memory.instruction,
            };
            if cache.mru_hit(pa).is_some_and(|tag| tag & ARRIVING == 0) {
                return Ok(pa);
            }
        }
        self.fetch_slowly(pa, bits);
        Ok(pa)
    }

    #[inline(never)]
    fn fetch_slowly(&mut self, pa: u32, bits: u32) {
        if pa as usize >= self.ram_size {
            return;
        }
        let (now, attributes) = (self.now(), self.attributes(bits));
        let account = &mut self.account;
        let stall = match self.kind {
            Kind::I486 => self
                .memory
                .fetch_unified(pa, attributes, self.forward, now, account),
            Kind::P6 => {
                self.blocks.mark_fetched(pa);
                self.memory.fetch(pa, attributes, now, account)
            }
        };
        self.add_cycles(stall);
    }

    /// Fetches the lines that `op` needs and that its block has not fetched.
    #[inline(always)]
    fn fetch_lines(&mut self, op: &Op) -> Result<(), Exception> {
        let at = match op.lines {
            FIRST_LINE => op.at,
            LAST_LINE => op.next - 1,
            _ => return self.fetch_lines_slowly(op),
        };
        if self.fetches_at_once(at) {
            return Ok(());
        }
        self.fetch_lines_slowly(op)
    }

    /// Fetches the line of the block's byte `at`, if that changes nothing but the counts: TLB and cache used the page
    /// and the line last, and the page is where it was.
    #[inline(always)]
    fn fetches_at_once(&mut self, at: u16) -> bool {
        let linear = self.block_linear.wrapping_add(at.into());
        let pa = self.block_pa.wrapping_add(at.into());
        // With the oracle or a sanitizer this is never so.
        if !self.caches_on {
            return false;
        }
        let (tlb, cache) = match &self.mmu.instruction {
            None => (&self.mmu.data, &self.memory.data),
            Some(tlb) => (tlb, &self.memory.instruction),
        };
        if cache.mru_hit(pa).is_none_or(|tag| tag & ARRIVING != 0) {
            return false;
        }
        if self.paging {
            let hit = tlb.hit_recent(linear, self.user);
            const UNCACHED: u32 = super::tlb::pte::UNCACHED;
            if hit.is_none_or(|(found, bits)| found != pa || bits & UNCACHED != 0) {
                return false;
            }
        }
        self.fetches += 1;
        self.fetched = linear & !(self.line - 1);
        true
    }

    #[inline(never)]
    fn fetch_lines_slowly(&mut self, op: &Op) -> Result<(), Exception> {
        let last = op.next - 1;
        for (bit, at) in [(FIRST_LINE, op.at), (LAST_LINE, last)] {
            if op.lines & bit == 0 {
                continue;
            }
            let linear = self.block_linear.wrapping_add(at.into()) & !(self.line - 1);
            let pa = self.fetch(linear)?;
            // The page may have got another frame since the block was entered.
            if (pa ^ self.block_pa) & !0xfff != 0 {
                return Err(RESTART);
            }
        }
        Ok(())
    }

    /// The physical address of the next instruction, whose line is fetched if it is another.
    #[inline(always)]
    fn enter(&mut self, linear: u32) -> Result<u32, Exception> {
        if linear & !(self.line - 1) == self.fetched {
            Ok(self.fetched_page | linear & 0xfff)
        } else {
            self.fetch(linear)
        }
    }

    fn mode(&self) -> Mode {
        Mode {
            kind: self.kind,
            wide: self.registers.segment(segment::CS).big(),
            lock: (self.config.clocks.lock * self.kind.slots()) as u16,
        }
    }

    /// Runs a block.
    #[inline(always)]
    pub(super) fn run_block(&mut self) {
        let cs = self.registers.segment(segment::CS);
        let eip = self.registers.eip;
        let (linear, wide, limit) = (cs.base.wrapping_add(eip), cs.big(), cs.limit);
        self.block_eip = eip;
        if eip > limit {
            return self.raise(Exception::GENERAL);
        }
        let pa = match self.enter(linear) {
            Ok(pa) => pa,
            Err(exception) => return self.raise(exception),
        };
        self.block_linear = linear;
        self.block_pa = pa;
        match self.blocks.find(pa, wide) {
            Some((ops, head)) if !self.oracle && !self.single => {
                // SAFETY: ops stay as they are, where they are, until `Blocks::enter`, which only `run_anew` calls,
                // between two blocks; and the blocks go to another processor only between two turns.
                let ops = unsafe { &*ops };
                self.run_ops(ops, head);
            }
            _ => self.run_anew(linear, pa, wide),
        }
    }

    /// Runs a block that is decoded first, or only its first instruction.
    #[inline(never)]
    fn run_anew(&mut self, linear: u32, pa: u32, wide: bool) {
        let one = self.oracle || self.single;
        let Some(block) = self.build(pa, if one { 1 } else { blocks::INSTRUCTIONS_MOST }) else {
            return self.run_apart(linear, pa);
        };
        if one {
            return self.run_one(&block);
        }
        self.blocks.enter(pa, wide, &block);
        if let Some((ops, head)) = self.blocks.find(pa, wide) {
            // SAFETY: as in `run_block`.
            let ops = unsafe { &*ops };
            self.run_ops(ops, head);
        }
    }

    #[inline(never)]
    fn build(&self, pa: u32, most: u8) -> Option<Block> {
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

    /// Runs a block, and returns whether it ran to its end.
    #[inline(always)]
    fn run_ops(&mut self, ops: &[Op], head: Head) -> bool {
        if head.cause != self.code_cause || self.observers.watches() {
            self.code_runs(head.cause, self.block_eip);
        }
        // The first instruction's address waits for what the block before wrote last.
        let wait = u64::from(self.wrote & head.waits != 0);
        self.registers.eip = self.block_eip.wrapping_add(head.length.into());
        let Some((first, others)) = ops.split_first() else {
            return true;
        };
        if let Err(exception) = self.run_op(first, wait) {
            self.interrupted(first, exception);
            return false;
        }
        for op in others {
            // What is due comes at the next instruction, wherever a block begins.
            let ran = if self.time >= self.deadline {
                Err(RESTART)
            } else {
                self.run_op(op, 0)
            };
            if let Err(exception) = ran {
                self.interrupted(op, exception);
                return false;
            }
        }
        self.wrote = head.wrote;
        self.running = 0;
        self.instructions += u64::from(head.instructions);
        true
    }

    /// Runs an instruction of a block, whose address waits for so many slots.
    #[inline(always)]
    fn run_op(&mut self, op: &Op, wait: u64) -> Result<(), Exception> {
        self.running = op.number;
        if op.lines != 0 {
            self.fetch_lines(op)?;
        }
        self.time += u64::from(op.slots) + wait;
        (op.run)(self, op)
    }

    /// Runs a block of one instruction, and traps after it if TF says so: not after INT, nor between a load of SS and
    /// the next instruction.
    #[inline(never)]
    fn run_one(&mut self, block: &Block) {
        let single = std::mem::take(&mut self.single);
        let traced = self.registers.system & eflags::TF != 0;
        self.software = false;
        if self.run_ops(&block.ops, block.head) {
            self.one_ran(single, traced);
        }
    }

    /// An instruction has run on its own.
    fn one_ran(&mut self, single: bool, traced: bool) {
        if single {
            self.deadline = 0;
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
        self.registers.eip = self.block_eip.wrapping_add(op.next.into());
        match (op.run)(self, &op) {
            Ok(()) => {
                self.instructions += 1;
                self.one_ran(single, traced);
            }
            Err(exception) => self.interrupted(&op, exception),
        }
        true
    }

    /// `op` has not run to its end.
    #[cold]
    #[inline(never)]
    fn interrupted(&mut self, op: &Op, exception: Exception) {
        self.running = 0;
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
    fn run_apart(&mut self, linear: u32, pa: u32) {
        let mut bytes = [0xff; decode::LONGEST];
        let here = (0x1000 - (pa & 0xfff) as usize).min(bytes.len());
        self.copy_code(pa, &mut bytes[..here]);
        let mode = self.mode();
        let mut decoded = decode(&bytes[..here], mode, 0);
        if decoded.is_none() {
            let next = (linear | 0xfff).wrapping_add(1);
            match self.fetch(next) {
                Ok(second) => self.copy_code(second, &mut bytes[here..]),
                Err(exception) => return self.raise(exception),
            }
            decoded = decode(&bytes, mode, 0);
        }
        let Some(decoded) = decoded else {
            return self.raise(Exception::GENERAL);
        };
        let length = decoded.length as u16;
        let op = Op {
            next: length,
            ..decoded.op
        };
        let head = Head {
            length,
            instructions: 1,
            cause: self.causes.of(pa),
            waits: decoded.waits,
            wrote: if decoded.ends { 0 } else { decoded.writes },
        };
        self.run_one(&Block {
            ops: vec![op],
            head,
        });
    }

    fn copy_code(&self, pa: u32, bytes: &mut [u8]) {
        for (n, byte) in (0..).zip(bytes) {
            let at = pa.wrapping_add(n);
            *byte = self.memory.uncore.ram.read_u8(at).unwrap_or(0xff);
        }
    }

    /// P6: a branch to `target` goes there if `taken`.
    pub(super) fn predict(&mut self, op: &Op, taken: bool, target: u32, conditional: bool) {
        let branch = self.block_eip.wrapping_add(op.at.into());
        if !(self.predictor).predicts(branch, target, taken, conditional) {
            self.mispredict();
        }
    }

    /// P6: a return to `target`.
    pub(super) fn predict_return(&mut self, target: u32) {
        if !self.predictor.returns_to(target) {
            self.mispredict();
        }
    }

    fn mispredict(&mut self) {
        self.mispredicted += 1;
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
