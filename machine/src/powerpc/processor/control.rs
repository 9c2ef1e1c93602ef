//! Requests of the control device, reports of sanitizers, and the cost of device accesses.

use super::{Fatal, Processor, Stop};
use crate::board::{Effect, TlbView};
use crate::computer::Cpu as _;
use crate::powerpc::processor::msr;

impl Processor {
    /// Carries out a write to the control device.
    pub(crate) fn carry_out(&mut self, effect: Effect) {
        self.close_watch_in_line();
        self.settle();
        match effect {
            Effect::PowerOff(status) => self.halt(Stop::PowerOff { status }),
            Effect::Cause(number) => self.set_dynamic_cause(number),
            Effect::TlbSelect(selected) => {
                let view = self.tlb_view(selected);
                self.memory.uncore.board.show_tlb(view);
            }
            _ => {}
        }
        self.observe(effect);
        self.heed_listener();
    }

    /// The kernel has given the MMU an address space by the number `space`. On boards of foreign kernels, which do not
    /// write CONTEXT, this tells the observers which one runs.
    pub(crate) fn note_space(&mut self, space: u32) {
        self.note_number(space);
        if self.config.board.is_foreign() {
            self.close_watch_in_line();
            self.observers.space(space, self.hot.cycles);
            self.heed_listener();
        }
    }

    /// An `rfi` may go to the first instruction of a program. On boards of foreign kernels, which do not write COMMAND,
    /// this tells the observers which one runs.
    pub(crate) fn note_program(&mut self) {
        let registers = &self.registers;
        if self.config.board.is_foreign() && registers.msr & msr::PR != 0 {
            self.observers.begins(registers.pc);
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

    /// Stops the machine once the current block is done, if a listener's batch is full.
    #[inline]
    pub(crate) fn heed_listener(&mut self) {
        if self.observers.batch_is_full() {
            self.hot.set_deadline(0);
        }
    }

    /// Stops the machine once the current block is done.
    pub(crate) fn halt(&mut self, stop: Stop) {
        self.running.stop.get_or_insert(stop);
        self.hot.set_deadline(0);
    }

    /// Stops the run with a fetch sanitizer's `report` on `pc` or its line.
    fn report(&mut self, pc: u32, report: String) {
        self.halt(Stop::Fatal(Fatal::Sanitizer { pc, report }));
    }

    /// The instruction at `ea` is about to be fetched.
    #[inline]
    pub(crate) fn sanitize_fetch(&mut self, ea: u32, place: u32) {
        if let Some(report) = self.observers.fetched(place, &self.memory) {
            self.report(ea, report);
        }
    }

    /// Charges an access to the board: a bus transfer, or nothing for the control device.
    pub(crate) fn charge_device(&mut self, physical: u32) {
        if !self.memory.uncore.board.is_free(physical.into()) {
            self.hot.cycles += self
                .config
                .bus
                .core_cycles(u64::from(self.config.bus.device));
        }
    }
}
