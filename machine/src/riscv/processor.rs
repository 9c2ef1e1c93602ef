//! One processor: its parts, how it issues instructions, and its run loop.

use super::compiler::Compiler;
use super::config::{Config, Cost, Extensions};
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
use crate::engine::schedule::{Issued, Ready, Schedule, Scheduled as _, Schedules};
use crate::engine::straight::{Runs, Straight};
use crate::loader::CauseRange;
use crate::memory::cache::ARRIVING;
use crate::memory::{Memory, RamAddress, attribute};
use crate::observe::Observers;
use crate::observe::stale::Origin;

/// No line: the next instruction is fetched in any case.
pub(super) const NOWHERE: (u64, RamAddress) = (1, 0);
/// Bits of the address of a line that PMP has several rights for: each fetch asks.
const UNEVEN: u64 = 3;

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
    /// What it left of the cycle ([`Issued`]): the pipes that its only instruction can use; 0 without one,
    /// [`FULL`](super::config::FULL) if there is no place for another.
    pub(super) used: u8,
    /// The cycle from which a register's value can be used.
    pub(super) ready: Ready,
    pub(super) schedules: Schedules,
    pub compiler: Compiler,
    pub(super) instructions: u64,

    pub(super) fetches_by: Translation,
    pub(super) data_by: Translation,
    /// No region of PMP binds machine mode.
    pub(super) machine_free: bool,
    /// A region of PMP begins or ends inside of a page.
    pub(super) protects_finely: bool,
    /// The virtual address of the line that was fetched last, and where it is in RAM; or [`NOWHERE`].
    pub(super) fetched: (u64, RamAddress),
    /// The whole page of that line is translated by the entry that the TLB of fetches used last, and nobody watches.
    pub(super) page_fetched: bool,
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
            schedules: Schedules::default(),
            compiler: Compiler::new(config.processors),
            instructions: 0,
            fetches_by: Translation::Bare(true),
            data_by: Translation::Bare(true),
            machine_free: true,
            protects_finely: false,
            fetched: NOWHERE,
            page_fetched: false,
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

    /// Issues an instruction that is in no schedule.
    #[inline(always)]
    fn issue(&mut self, op: &Op) {
        let issued = (self.cycles, self.used);
        (self.cycles, self.used) = op.issue(&self.costs, issued, &mut self.ready);
        self.schedules.lose();
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
        self.page_fetched = false;
        self.running.deadline = 0;
        self.settle();
        self.choose_cause();
    }

    /// Where the code at `va` is in RAM, by a look-up.
    fn fetch_page(&mut self, va: u64) -> Result<RamAddress, Raised> {
        self.page_fetched = false;
        let physical = self.translate(va, right::EXECUTE, 2)?;
        let Some(at) = self.ram_address(physical, 2) else {
            return self.fault(right::EXECUTE, Miss::Access, va);
        };
        self.page_fetched = matches!(self.fetches_by, Translation::By(_))
            && !self.running.oracle
            && !self.sanitized
            && !self.config.tlb.extreme.ahead
            && !self.protects_finely;
        Ok(at)
    }

    #[inline(never)]
    fn fetch_line(&mut self, va: u64) -> Result<RamAddress, Raised> {
        let inside = self.line - 1;
        let machine = self.fetches_by == Translation::Bare(true);
        if self.fetched.0 == va & !inside | UNEVEN {
            let at = self.fetched.1 | (va & inside) as RamAddress;
            let pa = VIRT_RAM + u64::from(at);
            if self.csr.pmp.allows(right::EXECUTE, pa, 2, machine) {
                return Ok(at);
            }
            return self.fault(right::EXECUTE, Miss::Access, va);
        }
        let at = if self.page_fetched && (va ^ self.fetched.0) & !0xffe == 0 {
            // The look-up would find the entry that was used last.
            self.look_ups[0] += 1;
            self.fetched.1 & !0xfff | (va & 0xfff) as RamAddress
        } else {
            self.fetch_page(va)?
        };
        self.line_fetches += 1;
        let recent = self.memory.instruction.mru_hit(at);
        if self.running.oracle || recent.is_none_or(|tag| tag & ARRIVING != 0) {
            let (memory, now) = (&mut self.memory, self.cycles);
            let stall = memory.fetch(at, attribute::COHERENT, now, &mut self.account);
            self.stall(stall);
        }
        self.fetched = (va & !inside, at & !(inside as RamAddress));
        let start = VIRT_RAM + u64::from(self.fetched.1);
        if self.protects_finely && self.csr.pmp.rights(start, self.line, machine).is_none() {
            self.fetched.0 |= UNEVEN;
            // What was decoded asks for whole lines.
            self.running.stale = true;
        }
        Ok(at)
    }

    fn is_uneven(&self) -> bool {
        self.fetched.0 & UNEVEN == UNEVEN
    }

    /// Fetches the lines that an instruction is the first of.
    #[inline(always)]
    pub(super) fn fetch_lines(&mut self, op: &Op) -> Result<(), Raised> {
        if op.fetches {
            self.fetch(self.pc)?;
            self.fetch(self.pc.wrapping_add(u64::from(op.length) - 2))?;
        }
        Ok(())
    }

    /// Runs the instructions of a block behind `head`, its head or one of its instructions, by their schedule for the
    /// state that the pipeline is in, or as many of them as nothing else is due.
    ///
    /// # Safety
    /// `head` must be such a part of a block of [`Runs::blocks`], and `schedule` that of what is behind it.
    #[inline(always)]
    unsafe fn run_by(
        &mut self,
        schedule: &Schedule,
        head: *const Straight<Op>,
    ) -> Result<(), Raised> {
        let (begin, first, pc) = ((self.cycles, self.used), self.instructions, self.pc);
        let (count, end) = (schedule.count, begin.0 + schedule.last.0);
        let limit = self.running.limits.instructions;
        if end >= self.running.deadline || first + count as u64 >= limit {
            // SAFETY: the caller's.
            return unsafe { self.run_behind(head) };
        }
        // SAFETY: the schedule counts the instructions.
        let mut next = unsafe { head.add(1) };
        for step in &schedule.steps {
            let n = step.number();
            // SAFETY: as above.
            let part = unsafe { head.add(n) };
            // SAFETY: as above.
            unsafe { self.run_plain(next, part) };
            // SAFETY: as above.
            let op = unsafe { op(part) };
            self.pc = pc.wrapping_add(step.at());
            self.instructions = first + n as u64 - 1;
            if op.fetches {
                let before = step.before(begin.0);
                (self.cycles, self.used) = before;
                let fetched = self.fetch_lines(op);
                if fetched.is_err() || (self.cycles, self.used) != before {
                    // SAFETY: as above.
                    unsafe { self.issue_again(head, n - 1, begin) };
                    fetched?;
                    self.step(&Op {
                        fetches: false,
                        ..*op
                    })?;
                    // SAFETY: as above.
                    return unsafe { self.go_on(part) };
                }
            }
            let issued = step.issued(begin.0);
            (self.cycles, self.used) = issued;
            self.next = self.pc.wrapping_add(op.length.into());
            let done = (op.run)(self, op);
            if n == count {
                self.schedules.ends(schedule, begin.0, &mut self.ready);
                done?;
                self.pc = self.next;
                self.instructions += 1;
                return Ok(());
            }
            let late = self.cycles - issued.0;
            let stops = self.running.stale || end >= self.running.deadline;
            if done.is_err() || late != 0 || stops {
                // By then every register is ready, and no time of a register needs to be entered.
                if late >= step.longest() {
                    self.schedules.idle(self.cycles);
                } else {
                    // SAFETY: as above.
                    unsafe { self.issue_again(head, n, begin) };
                }
                done?;
                self.pc = self.next;
                self.instructions += 1;
                // SAFETY: as above.
                return unsafe { self.go_on(part) };
            }
            // SAFETY: as above.
            next = unsafe { part.add(1) };
        }
        // SAFETY: as above.
        unsafe { self.run_plain(next, head.add(count + 1)) };
        (self.cycles, self.used) = (end, schedule.last.1);
        self.schedules.ends(schedule, begin.0, &mut self.ready);
        self.pc = pc.wrapping_add(schedule.bytes);
        self.instructions = first + count as u64;
        Ok(())
    }

    /// As [`Runs::run_decoded`], by the schedule for the state that the pipeline is in, if there is one.
    ///
    /// # Safety
    /// As [`Runs::run_decoded`].
    #[inline(always)]
    pub(super) unsafe fn run_scheduled(&mut self, head: *const Straight<Op>) -> Result<(), Raised> {
        // SAFETY: the caller's: parts follow the head, up to the block's end, and stay as they are.
        let ops = (1..).map_while(|n| match unsafe { &*head.add(n) } {
            Straight::Instruction(op) => Some(op),
            _ => None,
        });
        let block = (head.addr(), self.blocks.resets());
        let pipeline = ((self.cycles, self.used), &self.ready);
        let found = self.schedules.take(block, pipeline, &self.costs, ops);
        let Some(taken) = found else {
            // SAFETY: the caller's.
            return unsafe { self.run_behind(head) };
        };
        // SAFETY: as above.
        let result = unsafe { self.run_by(&taken.schedule, head) };
        self.schedules.put(taken);
        result
    }

    /// Runs the instructions from one part of a block up to another one, which are plain.
    ///
    /// # Safety
    /// Both must be parts of a block that lives, or the first one behind it.
    #[inline(always)]
    unsafe fn run_plain(&mut self, mut part: *const Straight<Op>, end: *const Straight<Op>) {
        while part < end {
            // SAFETY: the caller's.
            let op = unsafe { op(part) };
            let done = (op.run)(self, op);
            debug_assert!(done.is_ok(), "a plain instruction raises no exception");
            // SAFETY: as above.
            part = unsafe { part.add(1) };
        }
    }

    /// Goes on behind an instruction of a block, if nothing else is due.
    ///
    /// # Safety
    /// As [`Processor::run_by`].
    #[inline(never)]
    unsafe fn go_on(&mut self, head: *const Straight<Op>) -> Result<(), Raised> {
        if self.running.stale || self.is_due() {
            return Ok(());
        }
        // SAFETY: the caller's.
        unsafe { self.run_decoded(head) }
    }

    /// Enters the times of the registers that the first `count` instructions of a block write, which began at `begin`.
    ///
    /// # Safety
    /// As [`Processor::run_by`].
    #[cold]
    pub(super) unsafe fn issue_again(
        &mut self,
        head: *const Straight<Op>,
        count: usize,
        mut begin: Issued,
    ) {
        for n in 1..=count {
            // SAFETY: the caller's.
            let op = unsafe { op(head.add(n)) };
            begin = op.issue(&self.costs, begin, &mut self.ready);
        }
        self.schedules.lose();
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

/// The instruction in this part of a block.
///
/// # Safety
/// The part must have one, and the block must live.
#[inline(always)]
pub(super) unsafe fn op<'a>(part: *const Straight<Op>) -> &'a Op {
    // SAFETY: the caller's.
    match unsafe { &*part } {
        Straight::Instruction(op) => op,
        // SAFETY: the caller's.
        _ => unsafe { std::hint::unreachable_unchecked() },
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
        let fetches = first == 0 || first + u32::from(op.length) > line || self.is_uneven();
        Op {
            fetches,
            plain: op.plain && !fetches,
            ..op
        }
    }

    #[inline(always)]
    fn address(&self) -> u64 {
        self.pc
    }

    #[inline(always)]
    fn decodes_each(&self) -> bool {
        self.running.oracle || !self.running.breakpoints.is_empty() || self.is_uneven()
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
        self.fetch_lines(op)?;
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

    #[inline(always)]
    unsafe fn run_decoded(&mut self, head: *const Straight<Op>) -> Result<(), Raised> {
        // SAFETY: the caller's.
        unsafe {
            match self.run_compiled(head).inspect(|_| self.blocks.lose_last()) {
                Some(result) => result,
                None => self.run_scheduled(head),
            }
        }
    }

    fn take_exception(&mut self, _: Raised) {
        Processor::take_exception(self);
    }

    fn take_interrupt(&mut self) {
        Processor::take_interrupt(self);
    }
}
