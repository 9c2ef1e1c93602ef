//! One processor: its parts, how it issues instructions, and its run loop.

use super::config::{Config, Cost, Extensions, FULL, PIPE_A, PIPE_B};
use super::csr::{Csr, mstatus, privilege};
use super::decode::decode;
use super::dump::Dump;
use super::mmu::{Miss, Mmu, Translation};
use super::op::{CLASSES, Op, register};
use super::pmp::right;
use super::predictor::Predictor;
use super::trap::{Fatal, Raised, Trap, cause};
use crate::account::{Account, Plain};
use crate::board::{Instant, VIRT_RAM};
use crate::computer::{self, Progress, Progressing as _, Running, Sanitized};
use crate::engine::blocks::Blocks;
use crate::engine::straight::{Runs, Straight};
use crate::loader::CauseRange;
use crate::memory::cache::ARRIVING;
use crate::memory::{Memory, RamAddress, attribute};
use crate::observe::Observers;
use crate::observe::stale::Origin;

/// No line: the next instruction is fetched in any case.
pub(super) const NOWHERE: (u64, RamAddress) = (1, 0);

/// Why a run ended.
pub type Stop = computer::Stop<Trap, Fatal>;

/// A simulated processor, with its access to the uncore.
pub struct Processor {
    /// Its number in the machine: mhartid.
    pub(super) number: u8,
    pub(super) config: Config,
    pub(super) extensions: Extensions,
    /// x0 to x31, f0 to f31, and more: see [`register`].
    pub(super) registers: [u64; register::ALL],
    /// The instruction that runs, or the next one.
    pub pc: u64,
    /// Where the processor goes on behind the instruction that runs.
    pub(super) next: u64,
    pub(super) privilege: u8,
    pub(super) csr: Csr,
    pub(super) mmu: Mmu,
    pub memory: Memory,
    /// The counters, as of the last call of [`Processor::settle`].
    pub account: Account,
    pub(super) observers: Observers<Dump>,
    pub(super) blocks: Box<Blocks<Straight<Op>>>,
    pub(super) predictor: Predictor,
    /// By class of instruction.
    pub(super) costs: [Cost; CLASSES],

    /// The cycle in which the last instruction was issued.
    pub(super) cycles: u64,
    /// The pipes that the only instruction of this cycle can use; 0 without one, [`FULL`] if there is no place for
    /// another.
    pub(super) used: u8,
    /// The cycle from which a register's value can be used.
    pub(super) ready: [u64; register::ALL],
    pub(super) instructions: u64,

    pub(super) fetches_by: Translation,
    pub(super) data_by: Translation,
    /// No region of PMP binds machine mode.
    pub(super) machine_free: bool,
    /// The virtual address of the line that was fetched last, and where it is in RAM; or [`NOWHERE`].
    pub(super) fetched: (u64, RamAddress),
    /// What a reservation holds: the line's address.
    pub(super) reservation: Option<RamAddress>,
    /// The exception that the running instruction has raised.
    pub(super) raised: Trap,
    /// Waits for an interrupt.
    pub(super) waiting: bool,
    pub(super) running: Running<Processor>,
    /// The translation sanitizer is on.
    pub(super) sanitized: bool,
    /// The words of the last walk, and whether the last access loaded an entry: for the sanitizer.
    pub(super) walked: Origin,
    pub(super) refilled: bool,
    /// The calls that led to the one of the firmware that runs, the outermost first, while somebody listens.
    pub(super) path: Vec<u32>,
    pub(super) several: bool,
    pub(super) ram_size: u64,
    pub(super) line: u64,

    /// Look-ups, accesses, branches: not yet in the account.
    pub(super) look_ups: [u64; 2],
    pub(super) accesses: u64,
    pub(super) line_fetches: u64,
    pub(super) branches: u64,
    pub(super) mispredicted: u64,
    pub(super) progress: Progress,
}

impl Processor {
    /// A processor in its state after reset, in machine mode at the beginning of RAM.
    ///
    /// # Errors
    /// When the models cannot build what the machine file asks for.
    pub fn new(
        number: u8,
        config: Config,
        memory: Memory,
        _: &[CauseRange],
    ) -> Result<Processor, String> {
        let ram = memory.uncore.ram.size();
        let line = config.cache.data.line;
        let branch = &config.branch;
        let mut processor = Processor {
            number,
            extensions: config.core.set(),
            registers: [0; register::ALL],
            pc: VIRT_RAM,
            next: VIRT_RAM,
            privilege: privilege::MACHINE,
            csr: Csr::reset(config.core.pmp_granularity),
            mmu: Mmu::new(&config)?,
            account: Account::new(ram, line as usize),
            observers: Observers::default(),
            blocks: Box::new(Blocks::new(ram)),
            predictor: Predictor::new(branch.entries, branch.targets),
            costs: config.costs(),
            cycles: 0,
            used: 0,
            ready: [0; register::ALL],
            instructions: 0,
            fetches_by: Translation::Bare(true),
            data_by: Translation::Bare(true),
            machine_free: true,
            fetched: NOWHERE,
            reservation: None,
            raised: Trap::default(),
            waiting: false,
            running: Running::default(),
            sanitized: false,
            walked: Origin::default(),
            refilled: false,
            path: Vec::new(),
            several: config.processors > 1,
            ram_size: ram as u64,
            line: line.into(),
            look_ups: [0; 2],
            accesses: 0,
            line_fetches: 0,
            branches: 0,
            mispredicted: 0,
            progress: Progress::default(),
            memory,
            config,
        };
        processor.memory.enable_caches();
        processor.modes_changed();
        Ok(processor)
    }

    /// A register's value.
    #[inline(always)]
    pub(super) fn x(&self, number: u8) -> u64 {
        self.registers[usize::from(number) % register::ALL]
    }

    /// Writes a register; x0 is [`register::SINK`].
    #[inline(always)]
    pub(super) fn set(&mut self, number: u8, value: u64) {
        self.registers[usize::from(number) % register::ALL] = value;
    }

    /// Writes a register of numbers.
    #[inline(always)]
    pub(super) fn set_float(&mut self, number: u8, value: u64) {
        self.csr.mstatus |= mstatus::FS;
        self.set(number, value);
    }

    /// Raises an exception unless the unit of numbers is on.
    #[inline(always)]
    pub(super) fn float_on(&mut self, op: &Op) -> Result<(), Raised> {
        if self.csr.mstatus & mstatus::FS == 0 {
            return self.raise(cause::ILLEGAL, op.word.into());
        }
        Ok(())
    }

    /// Cycles and completed instructions since reset.
    #[inline(always)]
    #[must_use]
    pub fn instant(&self) -> Instant {
        Instant {
            processor: self.number,
            cycles: self.cycles,
            instructions: self.instructions,
        }
    }

    /// The core does nothing else for so many cycles.
    #[inline(always)]
    pub(super) fn advance(&mut self, cycles: u32) {
        if cycles != 0 {
            self.cycles += u64::from(cycles);
            self.used = 0;
        }
    }

    /// Where a physical address is in RAM, if all of `bytes` are there.
    #[inline(always)]
    pub(super) fn ram_address(&self, physical: u64, bytes: u64) -> Option<RamAddress> {
        let at = physical.wrapping_sub(VIRT_RAM);
        (at <= self.ram_size.wrapping_sub(bytes)).then_some(at as RamAddress)
    }

    /// Issues an instruction: when its operands are there and a pipe is free.
    #[inline(always)]
    fn issue(&mut self, op: &Op) {
        let ready = |number: u8| self.ready[usize::from(number) % register::ALL];
        let mut from = ready(op.rs1).max(ready(op.rs2));
        if op.rs3 != 0 {
            from = from.max(ready(op.rs3));
        }
        let cost = self.costs[op.class as usize];
        if from > self.cycles {
            self.cycles = from;
            self.used = cost.first;
        } else if self.used == 0 {
            self.used = cost.first;
        } else if cost.pipes != 0 && self.used | cost.pipes == PIPE_A | PIPE_B {
            // Two that do not both need the same pipe.
            self.used = FULL;
        } else {
            self.cycles += 1;
            self.used = cost.first;
        }
        let done = self.cycles + u64::from(cost.latency);
        self.ready[usize::from(op.rd) % register::ALL] = done;
        if op.rs3 == register::DIVIDER {
            self.ready[usize::from(register::DIVIDER)] = done;
        }
    }

    /// A conditional branch was taken or not.
    #[inline(always)]
    pub(super) fn branched(&mut self, taken: bool) {
        self.branches += 1;
        if !self.predictor.predicts(self.pc, taken) {
            self.mispredict();
        }
    }

    /// An indirect jump to [`Processor::next`]: a return, a call whose return address is `back`, or neither.
    pub(super) fn jumped(&mut self, returns: bool, back: Option<u64>) {
        self.branches += 1;
        self.csr.hpm.jumps += 1;
        let target = self.next;
        let right = if returns {
            self.predictor.returns.returns_to(target)
        } else {
            self.predictor.goes_to(self.pc, target)
        };
        if let Some(back) = back {
            self.predictor.returns.call(back);
        }
        if !right {
            self.csr.hpm.misdirected += 1;
            self.mispredict();
        }
    }

    fn mispredict(&mut self) {
        self.mispredicted += 1;
        self.advance(self.config.branch.mispredict);
    }

    /// Must be called after a change from outside, and after every change of privilege.
    pub fn modes_changed(&mut self) {
        self.choose_translation();
        self.fetched = NOWHERE;
        self.running.deadline = 0;
        self.settle();
        self.choose_cause();
    }

    #[inline(never)]
    fn fetch_line(&mut self, va: u64) -> Result<RamAddress, Raised> {
        let physical = self.translate(va, right::EXECUTE, 2)?;
        let Some(at) = self.ram_address(physical, 2) else {
            return self.fault(right::EXECUTE, Miss::Access, va);
        };
        self.line_fetches += 1;
        let recent = self.memory.instruction.mru_hit(at);
        if self.running.oracle || recent.is_none_or(|tag| tag & ARRIVING != 0) {
            let (memory, now) = (&mut self.memory, self.cycles);
            let stall = memory.fetch(at, attribute::COHERENT, now, &mut self.account);
            self.stall(stall);
        }
        let line = self.line - 1;
        self.fetched = (va & !line, at & !(line as u32));
        Ok(at)
    }

    /// These bytes are about to be written. There may be code, or a table that the sanitizer watches.
    #[inline(always)]
    pub(super) fn code_written(&mut self, at: RamAddress, bytes: u32) {
        if self.blocks.holds(at, bytes) {
            if self.sanitized && self.blocks.is_watched(at, bytes) {
                self.watched_store(at, bytes);
            }
            self.drop_code(at, bytes);
        }
    }

    /// Counts time in which nothing ran.
    pub(super) fn pass(&mut self, until: u64) {
        let slept = until.saturating_sub(self.cycles);
        self.cycles += slept;
        self.used = 0;
        self.account.add_plain(Plain::IdleCycles, slept);
    }
}

// SAFETY: no other blocks take the place of these, and no instruction enters or drops them.
unsafe impl Runs for Processor {
    type Instruction = Op;
    type Raised = Raised;

    #[inline(always)]
    fn decode(&self, at: RamAddress, bytes: &[u8]) -> Op {
        let half = |at| {
            bytes
                .get(at..at + 2)
                .map_or(0, |half| u16::from_le_bytes([half[0], half[1]]))
        };
        let low = half(0);
        let high = if low & 3 == 3 { half(2) } else { 0 };
        let op = decode(u32::from(high) << 16 | u32::from(low), self.extensions);
        let (line, first) = (self.line as u32, at & (self.line as u32 - 1));
        Op {
            fetches: first == 0 || first + u32::from(op.length) > line,
            ..op
        }
    }

    #[inline(always)]
    fn address(&self) -> u64 {
        self.pc
    }

    #[inline(always)]
    fn fetch(&mut self, va: u64) -> Result<RamAddress, Raised> {
        let (line, at) = self.fetched;
        if (va ^ line) & !(self.line - 1) == 0 && line & 1 == 0 {
            return Ok(at | (va & (self.line - 1)) as u32);
        }
        self.fetch_line(va)
    }

    #[inline(always)]
    fn step(&mut self, op: &Op) -> Result<(), Raised> {
        if op.fetches {
            self.fetch(self.pc)?;
            self.fetch(self.pc.wrapping_add(u64::from(op.length) - 2))?;
        }
        self.issue(op);
        self.next = self.pc.wrapping_add(op.length.into());
        (op.run)(self, op)?;
        self.pc = self.next;
        self.instructions += 1;
        Ok(())
    }

    #[inline(always)]
    fn blocks(&mut self) -> &mut Blocks<Straight<Op>> {
        &mut self.blocks
    }

    fn take_exception(&mut self, _: Raised) {
        Processor::take_exception(self);
    }

    fn take_interrupt(&mut self) {
        Processor::take_interrupt(self);
    }
}
