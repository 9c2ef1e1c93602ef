//! One processor: its parts and its run loop.

mod run;

use super::blocks::Blocks;
use super::chain::Here;
use super::compiler::Compiler;
use super::config::{Config, Kind};
use super::decode::{Mode, Repeating};
use super::dump::Dump;
use super::exception::Exception;
use super::mmu::Mmu;
use super::predictor::Predictor;
use super::registers::{Registers, Segment, cr0, segment};
use super::tlb::{Need, Shortcut};
use super::window::Window;
use super::x87::Fpu;
use crate::account::Account;
use crate::account::CodeCauses;
use crate::account::NO_CAUSE;
use crate::board::Instant;
use crate::computer::{Progress, Progressing as _, Running};
use crate::loader::CauseRange;
use crate::memory::{Forward, Memory};
use crate::observe::Observers;
use crate::observe::causes::numbered;

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
    pub observers: Box<Observers<Dump>>,
    pub(super) config: Config,
    pub(super) blocks: Box<Blocks>,
    pub(super) predictor: Predictor,
    pub(super) causes: CodeCauses,
    pub compiler: Compiler,

    /// Issue slots since reset, [`Kind::slots`] in a cycle, without those of the block that runs
    /// ([`Processor::slots`]).
    pub(super) time: u64,
    /// [`Running::deadline`] for the block that runs, less the slots of the whole block.
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
    /// Every translation and every line is looked up, for the oracle.
    pub(super) probes: bool,
    /// The translation sanitizer is on.
    pub(super) sanitized: bool,
    /// What the last walk had from the walk cache, and whether the last access loaded an entry: for the sanitizer.
    pub(super) known: Option<u64>,
    pub(super) refilled: bool,
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
    pub(super) halted: bool,
    /// Its times are in slots.
    pub(super) running: Running<Processor>,
    /// So many instructions, and the blocks become single instructions.
    pub(super) alarm: u64,
    pub(super) code_cause: u8,
    pub(super) window: Window,
    /// The same as [`Op::extra`] of a block's head has it, or a value that no head has: then each block that is entered
    /// tells the observers.
    pub(super) head_cause: u32,
    pub(super) progress: Progress,
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
        let mut processor = Processor {
            number,
            kind: config.core.kind,
            registers: Registers::real_mode(0, config.core.signature),
            fpu: Some(Box::new(Fpu::new())),
            mmu,
            account: Account::new(ram_size, line as usize),
            observers: Box::default(),
            blocks: Box::new(Blocks::new(ram_size)),
            predictor: Predictor::new(config.branch.as_ref().map_or(0, |branch| branch.entries)),
            causes: CodeCauses::new(numbered(causes)),
            compiler: Compiler::new(config.processors),
            time: 0,
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
            probes: false,
            sanitized: false,
            known: None,
            refilled: false,
            noting: false,
            wrote: 0,
            repeating: None,
            single: false,
            inhibited: false,
            software: false,
            halted: false,
            running: Running::default(),
            alarm: u64::MAX,
            code_cause: NO_CAUSE,
            window: Window::default(),
            head_cause: NO_CAUSE.into(),
            progress: Progress::default(),
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
        self.running.times.wake = None;
        self.inhibited = false;
        self.modes_changed();
    }

    /// The configuration that the machine was made from.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// With the oracle each instruction is decoded anew, and every access looks up TLB and caches.
    pub(super) fn look_up_all(&mut self) {
        self.probes = self.running.oracle;
        self.caches_on = self.registers.cr0 & cr0::CD == 0 && !self.probes;
        self.mmu.drop_shortcuts();
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

    pub(super) fn mode(&self) -> Mode {
        Mode {
            kind: self.kind,
            wide: self.registers.segment(segment::CS).big(),
            lock: (self.config.clocks.lock * self.kind.slots()) as u16,
            wait: self.wait,
        }
    }
}
