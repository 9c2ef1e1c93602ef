//! What a computer asks of a PowerPC: above all what it does when its turn begins and ends, and between two turns.

use super::{Fatal, Processor};
use crate::account::Plain;
use crate::board::{Board, Console};
use crate::computer::{Breakpoints, Cpu, Sanitized as _};
use crate::config::MachineConfig;
use crate::memory::{Memory, Notice, Uncore};
use crate::powerpc::dump::StateDump;
use crate::powerpc::mmu::{Invalidation, Mmu};
use crate::powerpc::{Exception, Registers, hid0, msr};

impl Cpu for Processor {
    type Config = MachineConfig;
    type Exception = Exception;
    type Fatal = Fatal;
    type Dump = StateDump;

    fn uncore(config: &MachineConfig, console: Console) -> Result<Uncore, String> {
        Uncore::from_config(config, Board::new(config, console))
    }

    fn caches(config: &MachineConfig, uncore: Uncore) -> Result<Memory, String> {
        Memory::from_config(config, uncore)
    }

    crate::computer::cpu_parts!(watched_pieces);
    crate::computer::cpu_calls!();

    fn state_changed(&mut self) {
        Processor::state_changed(self);
    }

    fn observers_changed(&mut self) {
        self.state_changed();
    }

    /// With the oracle every load, every store and every block entered goes through MMU and caches, and every block
    /// goes through the schedule. Only two results are remembered: the numbers of the pipeline's states, and the state
    /// that a wait for a branch leads to.
    fn set_oracle(&mut self, on: bool) {
        self.running.oracle = on;
        self.drop_shortcuts();
    }

    fn set_compiler(&mut self, seen: Option<u32>) {
        self.compiler.set(seen);
    }

    fn compiler_refused(&self) -> Option<&str> {
        self.compiler.refused()
    }

    /// Accesses to a watched page take no shortcut.
    fn breakpoints_mut(&mut self) -> &mut Breakpoints {
        self.drop_shortcuts();
        &mut self.running.breakpoints
    }

    fn make_ready(&mut self) {
        Processor::make_ready(self);
    }

    fn hears_interrupts(&self) -> bool {
        self.registers.msr & msr::EE != 0
    }

    fn look_around(&mut self) {
        if self.sanitized {
            self.heed_watched();
            self.heed_stores();
        }
        self.hot.set_deadline(0);
    }

    fn park(&mut self) {
        let reservation = &mut self.registers.reservation;
        self.memory
            .exchange(self.number, reservation, &mut self.account);
    }

    fn told(&mut self, notice: Notice, in_reset: bool) {
        match notice {
            _ if in_reset => {}
            Notice::Translation(ea, cause) => {
                self.mmu.taken(ea, cause, &mut self.account);
                let reaches = self
                    .mmu
                    .invalidate(Invalidation::Address(ea), &mut self.account);
                self.forget(reaches);
                self.note_invalidation(Some(ea));
                self.account.add_plain(Plain::TlbReceived, 1);
            }
            Notice::Instruction(physical) => {
                self.memory.instruction.invalidate(physical);
            }
            // Of RISC-V.
            Notice::Fence(..) => {}
        }
    }

    /// A hard reset ends: the processor begins at the reset vector, with MSR\[IP\] if there is a ROM.
    fn start(&mut self, now: u64) {
        const RESET: u32 = 0x100;
        const HIGH: u32 = 0xfff0_0000;
        self.start_clock(now.max(self.hot.cycles));
        let (pc, msr) = if self.memory.uncore.board.has_rom() {
            (HIGH | RESET, msr::IP)
        } else {
            (RESET, 0)
        };
        self.registers = Registers {
            msr_absent: self.registers.msr_absent,
            pir: self.registers.pir,
            msr,
            pc,
            ..Registers::default()
        };
        self.mmu = match Mmu::from_config(&self.config) {
            Ok(mmu) => mmu,
            Err(message) => unreachable!("a reset makes what a new machine has: {message}"),
        };
        hid0::write(&mut self.memory, hid0::ICFI | hid0::DCFI);
        hid0::write(&mut self.memory, 0);
        self.memory.reset_l2();
        self.running.times.wake = None;
        self.refresh();
        self.state_changed();
    }

    fn asleep(&self) -> Fatal {
        Fatal::Asleep {
            pc: self.registers.pc,
        }
    }

    fn state(&self, label: u32, caches: bool, several: bool) -> StateDump {
        let take = if caches {
            StateDump::take
        } else {
            StateDump::of_translation
        };
        let (registers, now) = (&self.registers, self.hot.cycles);
        StateDump {
            processor: several.then_some(self.number),
            ..take(label, now, registers, &self.mmu, &self.memory)
        }
    }
}

impl Processor {
    /// [`Cpu::end_turn`], for `engine`, which does not know the computer.
    pub(crate) fn end_turn(&mut self) {
        Cpu::end_turn(self);
    }
}
