//! Exceptions, interrupts, limits, breakpoints: what interrupts the flow of instructions.

use super::{Fatal, Processor, Stop};
use crate::board::{BusError, Effect, TlbView};
use crate::engine::Exit;
use crate::engine::line::Op;
use crate::mmu::{Fault, Translation};
use crate::observe::observers::Scene;
use crate::powerpc::system::Flow;
use crate::powerpc::{Exception, Vector, exception, msr};

/// Addresses whose accesses stop the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watchpoint {
    pub address: u32,
    pub length: u32,
    pub reads: bool,
    pub writes: bool,
}

impl Watchpoint {
    fn covers(&self, ea: u32, bytes: u32) -> bool {
        let (start, end) = (
            u64::from(self.address),
            u64::from(self.address) + u64::from(self.length),
        );
        u64::from(ea) < end && u64::from(ea) + u64::from(bytes) > start
    }
}

impl Processor {
    /// What must be done before the next block: interrupts, limits, stops. Sets the next deadline.
    pub(super) fn events(&mut self) -> Option<Stop> {
        if let Some(stop) = self.stop.take() {
            return Some(stop);
        }
        let now = self.hot.cycles;
        if now >= self.limits.cycles || self.hot.instructions >= self.limits.instructions {
            return Some(Stop::Limit);
        }
        self.take_notice();
        if let Some(stop) = self.save_power() {
            return Some(stop);
        }
        if self.registers.msr & msr::EE != 0 {
            // External interrupts come before the decrementer (PEM table 6-3).
            let pending = if self.board.interrupt(0) {
                Some(Exception::External)
            } else if self.performance.interrupt() {
                self.performance.acknowledge();
                Some(Exception::PerformanceMonitor)
            } else if self.timers.pending() {
                self.timers.acknowledge();
                Some(Exception::Decrementer)
            } else {
                None
            };
            if let Some(exception) = pending
                && !self.take(exception, 0)
            {
                return self.stop.take();
            }
        }
        self.hot.set_deadline(self.next_deadline());
        let pc = self.registers.pc;
        if self.breakpoints.contains(&pc) && self.passing != Some(pc) {
            self.passing = Some(pc);
            return Some(Stop::Breakpoint { address: pc });
        }
        None
    }

    /// Notes what has happened by now and may interrupt the processor.
    pub(super) fn take_notice(&mut self) {
        self.timers.advance(self.hot.cycles);
        self.watch_performance();
        if self.next_poll().is_some() {
            self.board.poll(self.hot.cycles);
        }
    }

    /// Would an interrupt be taken before the next instruction?
    pub(super) fn interrupted(&self) -> bool {
        self.registers.msr & msr::EE != 0
            && (self.board.interrupt(0) || self.timers.pending() || self.performance.interrupt())
    }

    /// When the board must be looked at next, if it changes by itself.
    pub(super) fn next_poll(&self) -> Option<u64> {
        self.board.deadline(self.hot.cycles)
    }

    fn next_deadline(&self) -> u64 {
        let now = self.hot.cycles;
        let mut next = self.limits.cycles.min(self.timers.next_expiry());
        if self.limits.instructions != u64::MAX {
            // No block runs more instructions in a cycle than are dispatched and folded.
            let left = self.limits.instructions - self.hot.instructions;
            let width = u64::from(self.config.pipeline.dispatch) + 1;
            next = next.min(now + (left / width).max(1));
        }
        if let Some(poll) = self.next_poll() {
            next = next.min(poll);
        }
        if let Some(period) = self.performance.period() {
            next = next.min(now + period);
        }
        next
    }

    /// An interrupt may have become deliverable: the next block is not begun before that is looked at.
    pub(crate) fn look_at_interrupts(&mut self) {
        if self.interrupted() || self.registers.msr & msr::POW != 0 {
            self.hot.set_deadline(0);
        } else {
            self.hot.due = self.hot.due.min(self.timers.next_expiry());
            self.hot.deadline = self.hot.deadline.min(self.hot.due);
        }
    }

    /// A device was accessed: it may interrupt now, or change by itself sooner than it would have.
    pub(crate) fn look_at_board(&mut self) {
        self.look_at_interrupts();
        if let Some(poll) = self.next_poll() {
            self.hot.due = self.hot.due.min(poll);
            self.hot.deadline = self.hot.deadline.min(poll);
        }
    }

    /// Instructions must be run one by one.
    pub(crate) fn single_steps(&self) -> bool {
        let near_limit = self.limits.instructions.wrapping_sub(self.hot.instructions) < 64;
        self.registers.msr & (msr::SE | msr::BE) != 0
            || !self.breakpoints.is_empty()
            || !self.watchpoints.is_empty()
            || near_limit
    }

    /// Does IABR name an instruction in the block of `mask` + 1 bytes around `ea`?
    pub(crate) fn breaks_in(&self, ea: u32, mask: u32) -> bool {
        const ENABLED: u32 = 2;
        const TRANSLATED: u32 = 1;
        let iabr = self.registers.iabr;
        if iabr & ENABLED == 0 || (iabr ^ ea) & !(mask | 3) != 0 {
            return false;
        }
        let translated = self.registers.msr & msr::IR != 0;
        !self.config.core.kind.core().breakpoint_translated
            || (iabr & TRANSLATED != 0) == translated
    }

    /// The exception that DABR raises for an access at `ea`, which does not leave its double word (604
    /// UM 2.1.2.6).
    pub(crate) fn check_breakpoint(&self, ea: u32, store: bool) -> Result<(), Exception> {
        const TRANSLATED: u32 = 4;
        const MATCH: u32 = 0x0040_0000;
        let dabr = self.registers.dabr;
        let (bit, dsisr) = if store {
            (2, MATCH | crate::mmu::fault::bits::STORE)
        } else {
            (1, MATCH)
        };
        let translated = self.registers.msr & msr::DR != 0;
        if dabr & bit == 0 || (dabr ^ ea) & !7 != 0 || (dabr & TRANSLATED != 0) != translated {
            return Ok(());
        }
        Err(Exception::DataStorage { address: ea, dsisr })
    }

    /// The instruction `word` at `ea` has been run alone; `traced` is MSR[SE,BE] before it.
    pub(crate) fn after_single(&mut self, ea: u32, word: u32, traced: u32) {
        self.passing = None;
        let completed = self
            .last_exception
            .is_none_or(|(_, count)| count != self.hot.instructions);
        if traced == 0 || !completed || self.stop.is_some() {
            return;
        }
        let jumped = self.registers.pc != ea.wrapping_add(4);
        let branch = matches!(word >> 26, 16 | 18) || word >> 26 == 19 && jumped;
        // rfi, sc and what raised an exception are not traced (PEM 6.4.12).
        let is_rfi = word & 0xfc00_07fe == 0x4c00_0064;
        if !is_rfi && (traced & msr::SE != 0 || branch) && !self.take(Exception::Trace, 0) {
            self.hot.exit = Exit::Stopped;
        }
    }

    /// The exception that a failed translation of `ea` raises.
    pub(crate) fn fault(&mut self, fault: Fault, ea: u32) -> Exception {
        self.hot.cycles += fault.cycles;
        self.forget(fault.gone);
        Exception::of_fault(fault.kind, ea)
    }

    /// Takes `exception` at the program counter. False if the machine cannot go on.
    pub(crate) fn take(&mut self, exception: Exception, word: u32) -> bool {
        let pc = self.registers.pc;
        let vector = exception.vector();
        self.drain_pipeline();
        if self.hosted {
            self.stop = Some(Stop::Exception(exception));
            return false;
        }
        if let Some(error) = self.unanswered.take() {
            self.stop = Some(Stop::Fatal(Fatal::Unanswered { pc, error }));
            return false;
        }
        if let Exception::MachineCheck { physical } = exception
            && self.registers.msr & msr::ME == 0
        {
            self.stop = Some(Stop::Fatal(Fatal::Checkstop { pc, physical }));
            return false;
        }
        // A vector whose first instruction cannot even be run handles nothing.
        if let Some((last, count)) = self.last_exception
            && count == self.hot.instructions
            && matches!(
                vector,
                Vector::Program
                    | Vector::InstructionStorage
                    | Vector::InstructionTlbMiss
                    | Vector::SoftwareEmulation
                    | Vector::ItlbMiss
                    | Vector::ItlbError
            )
            && pc & 0xffff == last.offset()
        {
            self.stop = Some(Stop::Fatal(Fatal::NoHandler { vector: last, pc }));
            return false;
        }
        self.close_watch();
        self.settle();
        exception::enter(&mut self.registers, exception, word);
        // What it takes to get there is charged to the handler.
        self.code_cause = self.causes.of(self.registers.pc);
        let cost = &self.config.exception;
        self.hot.cycles += u64::from(if exception.is_failed_reload() {
            cost.tlb_miss_entry
        } else {
            cost.entry
        });
        self.predictor.context_changed();
        self.account.counters.exception(vector);
        self.observers.exception(vector, pc, self.hot.cycles);
        self.last_exception = Some((vector, self.hot.instructions));
        self.mode_changed(Flow::Jump) != Flow::Stop
    }

    /// `op` raised `exception`.
    ///
    /// # Safety
    /// `op` must be the op that is running.
    pub(crate) unsafe fn raise(&mut self, op: *const Op, exception: Exception) -> *const Op {
        // SAFETY: the caller's.
        let address = unsafe { self.address(op) };
        if exception == Exception::SystemCall {
            self.registers.pc = address.wrapping_add(4);
        } else {
            // SAFETY: the caller's.
            unsafe { self.take_back(op) };
            self.registers.pc = address;
        }
        let word = self.lines.word(op);
        if self.take(exception, word) {
            self.enter_slowly(self.registers.pc)
        } else {
            self.stopped()
        }
    }

    /// Leaves the inner loop for good.
    pub(crate) fn stopped(&mut self) -> *const Op {
        self.hot.exit = Exit::Stopped;
        std::ptr::null()
    }

    /// The MSR has changed. What has run before must have been settled.
    pub(crate) fn mode_changed(&mut self, flow: Flow) -> Flow {
        if self.registers.msr & msr::LE != 0 {
            let pc = self.registers.pc;
            self.stop = Some(Stop::Fatal(Fatal::LittleEndian { pc }));
            return Flow::Stop;
        }
        self.select_shortcuts();
        self.choose_cause();
        self.look_at_interrupts();
        if self.single_steps() {
            self.hot.set_deadline(0);
        }
        flow
    }

    /// Carries out what a write to the control device asks for.
    pub(crate) fn carry_out(&mut self, effect: Effect) {
        self.close_watch();
        self.settle();
        match effect {
            Effect::PowerOff(status) => self.halt(Stop::PowerOff { status }),
            Effect::Cause(number) => self.set_dynamic_cause(number),
            Effect::TlbSelect(selected) => {
                self.board.show_tlb(self.tlb_view(selected));
            }
            _ => {}
        }
        let scene = Scene {
            cycle: self.hot.cycles,
            registers: &self.registers,
            mmu: &self.mmu,
            memory: &self.memory,
            account: &self.account,
        };
        if let Some(report) = self.observers.effect(effect, &scene) {
            self.report(self.hot.line, report);
        }
        if let Effect::FrameFreed(frame) = effect
            && self.observers.sanitizers.is_some()
        {
            self.drop_frame(frame);
        }
    }

    /// The TLB entry that the control device shows: the most significant bit of `selected` chooses the instruction
    /// TLB, the others are the entry's number.
    fn tlb_view(&self, selected: u32) -> TlbView {
        const INSTRUCTION: u32 = 1 << 31;
        let fetch = selected & INSTRUCTION != 0;
        let entry = self.mmu.view(fetch, selected & !INSTRUCTION);
        TlbView {
            shape: entry.shape,
            vsid: entry.space,
            page: entry.page,
            word1: entry.word1,
            level_one: entry.level_one,
        }
    }

    /// Stops the machine once the current block is done.
    fn halt(&mut self, stop: Stop) {
        self.stop.get_or_insert(stop);
        self.hot.set_deadline(0);
    }

    /// A sanitizer has found something about the code at `pc`, or in the line there.
    fn report(&mut self, pc: u32, report: String) {
        self.halt(Stop::Fatal(Fatal::Sanitizer { pc, report }));
    }

    /// `ea` has been translated. False if that is a crime.
    #[inline]
    pub(crate) fn sanitize_translation(
        &mut self,
        ea: u32,
        fetch: bool,
        translation: &Translation,
    ) -> bool {
        let Some(report) = self.observers.translated(ea, fetch, translation, &self.mmu) else {
            return true;
        };
        self.report(if fetch { ea } else { self.hot.line }, report);
        false
    }

    /// The instruction at `ea` is about to be fetched.
    #[inline]
    pub(crate) fn sanitize_fetch(&mut self, ea: u32, physical: u32) {
        if let Some(report) = self.observers.fetched(physical, &self.memory) {
            self.report(ea, report);
        }
    }

    /// The exception that an access raises which no device answers: on some boards the run ends instead.
    pub(crate) fn unanswered(&mut self, error: BusError) -> Exception {
        let physical = error.physical;
        if error.fatal {
            self.unanswered = Some(error);
        }
        Exception::MachineCheck { physical }
    }

    /// What an access to the board costs: a bus transfer, but nothing for the control device.
    pub(crate) fn charge_device(&mut self, physical: u32) {
        if !self.board.is_free(physical) {
            self.hot.cycles += self
                .config
                .bus
                .core_cycles(u64::from(self.config.bus.device));
        }
    }

    /// Notes an access that somebody watches.
    pub(crate) fn watch(&mut self, ea: u32, bytes: u32, write: bool) {
        let hit = self
            .watchpoints
            .iter()
            .any(|w| (if write { w.writes } else { w.reads }) && w.covers(ea, bytes));
        if hit {
            self.halt(Stop::Watchpoint { address: ea, write });
        }
    }

    /// Accesses to the page must not take shortcuts, because they are watched.
    pub(crate) fn watched(&self, page: u32) -> bool {
        let broken = self.registers.dabr & 3 != 0 && self.registers.dabr & !0xfff == page;
        broken || self.watchpoints.iter().any(|w| w.covers(page, 4096))
    }

    /// Stops the machine before the instruction at `address`.
    pub fn add_breakpoint(&mut self, address: u32) {
        self.breakpoints.push(address);
    }

    /// True if there was one.
    pub fn remove_breakpoint(&mut self, address: u32) -> bool {
        let found = self.breakpoints.iter().position(|&a| a == address);
        found.is_some_and(|n| {
            self.breakpoints.swap_remove(n);
            true
        })
    }

    /// Removes breakpoints and watchpoints.
    pub fn clear_breakpoints(&mut self) {
        self.breakpoints.clear();
        self.watchpoints.clear();
        self.drop_shortcuts();
    }

    /// Stops the machine after the instruction that accesses these addresses.
    pub fn add_watchpoint(&mut self, watchpoint: Watchpoint) {
        self.watchpoints.push(watchpoint);
        self.drop_shortcuts();
    }

    /// True if there was one.
    pub fn remove_watchpoint(&mut self, watchpoint: &Watchpoint) -> bool {
        let found = self.watchpoints.iter().position(|w| w == watchpoint);
        found.is_some_and(|n| {
            self.watchpoints.swap_remove(n);
            true
        })
    }
}
