//! Turns of a machine with several processors: what one does when its turn begins and ends, and between two turns.

use super::{Processor, Stop};
use crate::memory::Notice;
use crate::mmu::{Invalidation, Mmu};
use crate::observe::Plain;
use crate::powerpc::{Registers, msr};

/// Why a processor does not go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Pause {
    /// The next turn may be another's.
    TurnOver,
    /// The machine stops.
    Stopped(Stop),
}

/// What a snapshot keeps of a processor's turn.
pub(crate) type TurnState = (u64, Option<u64>);

impl Processor {
    /// The cycle at which the processor goes on: its clock, or when it wakes.
    pub(crate) fn goes_on(&self) -> u64 {
        self.wake.unwrap_or(self.hot.cycles)
    }

    /// True if it saves power.
    pub(crate) fn sleeps(&self) -> bool {
        self.wake.is_some()
    }

    /// Its external interrupt input has been raised by cycle `now`.
    pub(crate) fn rouse(&mut self, now: u64) {
        if self.registers.msr & msr::EE != 0
            && let Some(wake) = &mut self.wake
        {
            *wake = (*wake).min(now.max(self.hot.cycles));
        }
    }

    /// Has saved power until `cycle`, if it does.
    pub(crate) fn sleep_until(&mut self, cycle: u64) {
        if self.sleeps() && cycle > self.hot.cycles {
            self.pass(cycle);
        }
    }

    /// Its turn begins, and lasts until cycle `end`. A processor that saves power has done so until it wakes, at
    /// `latest` until that cycle.
    pub(crate) fn begin_turn(&mut self, end: u64, latest: u64) {
        self.turn_end = end;
        if let Some(wake) = self.wake.take() {
            self.pass(wake.min(latest).max(self.hot.cycles));
        }
        self.hot.set_deadline(0);
    }

    /// Ends its turn at the next block: others must see at once what it does.
    pub(crate) fn end_turn(&mut self) {
        self.turn_end = 0;
        self.hot.set_deadline(0);
    }

    /// Puts what others reach of a processor that does not run into the uncore, or takes it out again. The processor
    /// holds the uncore.
    pub(crate) fn park(&mut self) {
        let reservation = &mut self.registers.reservation;
        self.memory
            .exchange(self.number, reservation, &mut self.account);
    }

    /// Does what another processor has broadcast.
    pub(crate) fn told(&mut self, notice: Notice) {
        match notice {
            Notice::Translation(ea, cause) => {
                self.mmu.taken(ea, cause, &mut self.account);
                let reaches = self
                    .mmu
                    .invalidate(Invalidation::Address(ea), &mut self.account);
                self.forget(reaches);
                self.account.add_plain(Plain::TlbReceived, 1);
            }
            Notice::FrameFreed(frame) => self.drop_frame(frame),
            Notice::Instruction(physical) => {
                self.memory.instruction.invalidate(physical);
            }
        }
    }

    /// A hard reset ends at cycle `now`: the processor begins at the reset vector, with MSR\[IP\] as `ip` says.
    ///
    /// # Errors
    /// What the machine file asks for and cannot be had.
    pub(crate) fn reset(&mut self, now: u64, ip: u32) -> Result<(), String> {
        const RESET: u32 = 0x100;
        const HIGH: u32 = 0xfff0_0000;
        const FLASH_INVALIDATE: u32 = 0x0c00;
        self.start_clock(now.max(self.hot.cycles));
        self.registers = Registers {
            msr_absent: self.registers.msr_absent,
            pir: self.registers.pir,
            msr: ip,
            pc: RESET | if ip == 0 { 0 } else { HIGH },
            ..Registers::default()
        };
        self.mmu = Mmu::from_config(&self.config)?;
        self.memory.write_hid0(FLASH_INVALIDATE);
        self.memory.write_hid0(0);
        self.memory.reset_l2();
        self.wake = None;
        self.refresh();
        self.state_changed();
        Ok(())
    }

    pub(crate) fn turn_state(&self) -> TurnState {
        (self.turn_end, self.wake)
    }

    pub(crate) fn set_turn_state(&mut self, (end, wake): TurnState) {
        self.turn_end = end;
        self.wake = wake;
    }
}
