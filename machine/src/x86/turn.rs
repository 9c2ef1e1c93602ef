//! What a computer asks of an x86 processor: above all what it does when its turn begins and ends, and between two
//! turns. Who has the turn holds the uncore, the observers and the decoded blocks.

use super::config::Config;
use super::dump::Dump;
use super::processor::{NOWHERE, Processor};
use super::registers::eflags;
use super::stop::{Fatal, Raised};
use crate::board::{Board, Console, Pc};
use crate::computer::{Cpu, Sanitized};
use crate::memory::{Memory, Notice, Uncore};

impl Cpu for Processor {
    type Config = Config;
    type Exception = Raised;
    type Fatal = Fatal;
    type Dump = Dump;

    fn uncore(config: &Config, console: Console) -> Result<Uncore, String> {
        let pc = Pc {
            processors: config.processors,
            clock: config.core.clock,
            control: config.board.control,
            apic_clock: config.board.apic_clock.map(u64::from),
            core_per_two_bus: config.bus.core_per_two_bus(),
        };
        Uncore::of_x86(config, Board::pc(&pc, console))
    }

    fn caches(config: &Config, uncore: Uncore) -> Result<Memory, String> {
        Memory::of_x86(config, uncore)
    }

    crate::computer::cpu_parts!(blocks);
    crate::computer::cpu_calls!();

    fn state_changed(&mut self) {
        self.modes_changed();
    }

    fn set_oracle(&mut self, on: bool) {
        self.running.oracle = on;
        self.look_up_all();
    }

    fn set_compiler(&mut self, seen: Option<u32>) {
        self.set_compiled(seen);
    }

    fn compiler_refused(&self) -> Option<&str> {
        self.compiler.refused()
    }

    fn make_ready(&mut self) {
        self.choose_noting();
        self.choose_sanitizer();
    }

    fn in_units(&self, cycle: u64) -> u64 {
        self.slots_at(cycle)
    }

    fn hears_interrupts(&self) -> bool {
        self.registers.system & eflags::IF != 0
    }

    fn look_around(&mut self) {
        if self.sanitized {
            self.heed_stores();
        }
        self.due_at_once();
    }

    /// A processor that waits to be started keeps its caches, so that it hears too.
    fn told(&mut self, notice: Notice, _in_reset: bool) {
        if let Notice::Instruction(physical) = notice {
            self.memory.instruction.invalidate(physical);
            self.fetched = NOWHERE;
        }
    }

    /// It begins in real mode at the first byte of the page that the message names.
    fn start(&mut self, now: u64) {
        let page = self.memory.uncore.board.start_page(self.number);
        self.begin_at(page, now);
    }

    fn asleep(&self) -> Fatal {
        Fatal::Asleep {
            eip: self.registers.eip,
        }
    }

    fn state(&self, label: u32, _caches: bool, several: bool) -> Dump {
        Dump {
            processor: several.then_some(self.number),
            ..Dump::take(label, self.now(), &self.registers, &self.mmu)
        }
    }
}
