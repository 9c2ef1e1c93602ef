//! Taking exceptions, and the consequences of a change of mode.

use super::{Fatal, Processor, Stop};
use crate::board::BusError;
use crate::computer::EXCEPTIONS_MOST;
use crate::powerpc::engine::Exit;
use crate::powerpc::engine::line::Op;
use crate::powerpc::registers::Register;
use crate::powerpc::system::Continues;
use crate::powerpc::{Exception, Vector, exception, msr};

impl Processor {
    /// Takes `exception` at the program counter. False if the machine cannot go on.
    pub(crate) fn take(&mut self, exception: Exception, word: u32) -> bool {
        let pc = self.registers.pc;
        let vector = exception.vector();
        self.drain_pipeline();
        self.synchronize_shadows();
        if let Some(stop) = self.end_instead(exception) {
            // The instruction is given up: the machine is between two again.
            self.registers.wide.far = 0;
            self.running.stop = Some(stop);
            return false;
        }
        self.close_watch();
        self.settle();
        let interrupted = (pc, self.account.user, self.account.cause);
        self.observers
            .interrupted(self.registers.gpr.get(Register::new(1)));
        // The cycles up to here were the block's; those of the entry are charged to the handler.
        self.note_block();
        self.watch_performance();
        exception::enter(&mut self.registers, exception, word);
        self.note_handler();
        self.begin_watch();
        self.code_cause = self.causes.of(self.registers.pc);
        let cost = &self.config.exception;
        self.hot.cycles += u64::from(if exception.is_failed_reload() {
            cost.tlb_miss_entry
        } else {
            cost.entry
        });
        self.predictor.context_changed();
        self.account.counters.exception[vector.counter()] += 1;
        let which = vector.interruption();
        self.observers
            .exception(which, interrupted, self.hot.cycles);
        self.heed_listener();
        self.last_exception = Some((vector, self.hot.instructions));
        self.follow_handler(exception, pc);
        if let Some(set) = self.config.tlb.extreme.leaves(self.hot.cycles) {
            let reaches = self.mmu.leave(set);
            self.forget(reaches);
        }
        self.mode_changed(Continues::Jump) != Continues::Stop
    }

    /// Why the machine stops at the program counter instead of taking `exception`, if it does.
    fn end_instead(&mut self, exception: Exception) -> Option<Stop> {
        let pc = self.registers.pc;
        if self.running.hosted {
            return Some(Stop::Exception(exception));
        }
        if let Some(error) = self.unanswered.take() {
            return Some(Stop::Fatal(Fatal::Unanswered { pc, error }));
        }
        if let Exception::MachineCheck { physical } = exception
            && self.registers.msr & msr::ME == 0
        {
            return Some(Stop::Fatal(Fatal::Checkstop { pc, physical }));
        }
        // If the first instruction at a vector raises an exception itself, the vector has no handler.
        let vector = exception.vector();
        let (last, count) = self.last_exception?;
        if count != self.hot.instructions {
            self.in_a_row = 0;
            return None;
        }
        // A machine that is run on after this stop stays within what its snapshot may hold.
        self.in_a_row = EXCEPTIONS_MOST.min(self.in_a_row) + 1;
        if self.in_a_row > EXCEPTIONS_MOST {
            return Some(Stop::Fatal(Fatal::Stuck { vector, pc }));
        }
        let again = matches!(
            vector,
            Vector::Program
                | Vector::InstructionStorage
                | Vector::InstructionTlbMiss
                | Vector::SoftwareEmulation
                | Vector::ItlbMiss
                | Vector::ItlbError
                | Vector::InstructionMiss
                | Vector::InstructionSegment
        ) && pc & 0xffff == last.offset();
        again.then_some(Stop::Fatal(Fatal::NoHandler { vector: last, pc }))
    }

    /// An `isync`, `rfi`, `rfci` or exception: a 405 removes its shadow TLBs' entries.
    #[inline]
    pub(crate) fn synchronize_shadows(&mut self) {
        if let Some(unit) = self.mmu.ppc405_mut() {
            let reaches = unit.synchronize();
            self.forget(reaches);
        }
    }

    /// Takes `exception`, which `op` raised; returns the next op.
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

    /// The exception of an access that no device answers. On some boards the run ends instead.
    pub(crate) fn unanswered(&mut self, error: BusError) -> Exception {
        // The accesses of a PowerPC have 32 bits here.
        let physical = error.physical as u32;
        if error.fatal {
            self.unanswered = Some(error);
        }
        Exception::MachineCheck { physical }
    }

    /// Leaves the inner loop for good.
    pub(crate) fn stopped(&mut self) -> *const Op {
        self.hot.exit = Exit::Stopped;
        std::ptr::null()
    }

    /// The MSR has changed. The account must have been settled before.
    pub(crate) fn mode_changed(&mut self, flow: Continues) -> Continues {
        if self.registers.wide.there {
            self.go_to(self.registers.wide.pc);
        }
        self.select_shortcuts();
        self.choose_cause();
        self.look_at_interrupts();
        if self.single_steps() {
            self.hot.set_deadline(0);
        }
        // A machine that stops is in its new state, too: it can be saved, and run on.
        if self.registers.msr & msr::LE != 0 {
            let pc = self.registers.pc;
            self.running.stop = Some(Stop::Fatal(Fatal::LittleEndian { pc }));
            return Continues::Stop;
        }
        flow
    }
}
