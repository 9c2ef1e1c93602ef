//! What a computer and a session ask of a RISC-V processor.

use super::config::{Config, Extension};
use super::csr::privilege;
use super::dump::Dump;
use super::processor::Processor;
use super::trap::{self, COUNTERS, Fatal, Trap};
use crate::account::Names;
use crate::board::{Board, Console, VIRT_RAM, Virt};
use crate::computer::{Cpu, Guest, Progressing as _, Sanitized};
use crate::engine::straight::Runs as _;
use crate::loader::{ElfImage, LoadError};
use crate::memory::{Behind, Memory, MemoryTiming, Notice, Ram, Uncore};
use crate::observe::symbolize::Symbolizer;

impl Config {
    /// What the board must know.
    pub(super) fn virt(&self) -> Virt {
        Virt {
            processors: self.processors,
            clock: self.core.clock,
            timebase: self.core.timebase,
            control: self.board.control,
            files: self.core.set().has(Extension::Ssaia),
            dead_processor: self.board.dead_processor,
        }
    }
}

impl Cpu for Processor {
    type Config = Config;
    type Exception = Trap;
    type Fatal = Fatal;
    type Dump = Dump;

    fn uncore(config: &Config, console: Console) -> Result<Uncore, String> {
        let behind = Behind {
            bus: config.bus.shared(),
            depth: 1,
            streaming: false,
            address_only: config.bus.address_only,
            memory: &config.memory,
            levels: [config.cache.l2.as_ref(), None],
            clock: config.core.clock,
            line: config.cache.data.line,
        };
        let ram = Ram::in_pieces(&[(VIRT_RAM, config.memory.size)])?;
        Uncore::of(&behind, ram, Board::virt(&config.virt(), console))
    }

    fn caches(config: &Config, uncore: Uncore) -> Result<Memory, String> {
        let (code, data) = (&config.cache.instruction, &config.cache.data);
        let timing = MemoryTiming {
            fills_wait: config.memory.kind.is_some(),
            several: config.processors > 1,
            ..MemoryTiming::plain(code.forward, data.forward, config.cache.store_queue)
        };
        Memory::new(uncore, code.into(), data.into(), timing)
    }

    crate::computer::cpu_parts!(blocks);
    crate::computer::cpu_calls!();

    fn state_changed(&mut self) {
        self.modes_changed();
        self.mmu.drop_shortcuts();
    }

    fn set_oracle(&mut self, on: bool) {
        self.running.oracle = on;
        self.page_fetched = false;
        self.mmu.drop_shortcuts();
    }

    fn set_compiler(&mut self, seen: Option<u32>) {
        self.set_compiled(seen);
    }

    fn compiler_refused(&self) -> Option<&str> {
        self.compiler.refused()
    }

    fn make_ready(&mut self) {
        self.choose_sanitizer();
        self.page_fetched = false;
    }

    fn look_around(&mut self) {
        if self.sanitized {
            self.heed_stores();
        }
        self.running.deadline = 0;
    }

    fn park(&mut self) {
        let (number, reservation) = (self.number, &mut self.reservation);
        self.memory.exchange(number, reservation, &mut self.account);
    }

    fn told(&mut self, notice: Notice, _in_reset: bool) {
        if let Notice::Fence(va, asid) = notice {
            self.drop_translations(va, asid);
        }
    }

    fn start(&mut self, now: u64) {
        self.start_clock(now.max(self.cycles));
        self.running.deadline = 0;
    }

    fn asleep(&self) -> Fatal {
        Fatal::Asleep { pc: self.pc }
    }

    fn state(&self, label: u32, _caches: bool, several: bool) -> Dump {
        Dump {
            processor: several.then_some(self.number),
            ..Dump::take(label, self.cycles, self.csr.satp, &self.mmu)
        }
    }
}

/// The names that programs' conventions give x0 to x31.
pub(super) const NAMES: [&str; 32] = [
    "zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0", "a1", "a2", "a3", "a4",
    "a5", "a6", "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4",
    "t5", "t6",
];

impl Guest for Processor {
    const NAME: &'static str = "RISC-V";
    const NAMES: Names = COUNTERS;

    fn executable(elf: &[u8], name: &str) -> Result<ElfImage, LoadError> {
        ElfImage::parse_riscv(elf, name)
    }

    fn next_instruction(&self) -> u64 {
        self.told(self.pc)
    }

    fn is_user(&self) -> bool {
        self.privilege == privilege::USER
    }

    fn registers(&self, _symbols: &Symbolizer) -> String {
        let csr = &self.csr;
        let mode = match self.privilege {
            privilege::USER => "user",
            privilege::SUPERVISOR => "supervisor",
            _ => "machine",
        };
        let mut text = format!(
            "pc {:016x} {mode} mode mstatus {:x} satp {:x}\n",
            self.pc, csr.mstatus, csr.satp
        );
        let [s, m] = &csr.levels;
        text += &format!(
            "mcause {:x} mepc {:x} mtval {:x} scause {:x} sepc {:x} stval {:x}\n",
            m.cause, m.epc, m.tval, s.cause, s.epc, s.tval
        );
        for (n, name) in NAMES.iter().enumerate() {
            let end = if n % 4 == 3 { "\n" } else { " " };
            text += &format!("{name:4} {:016x}{end}", self.registers[n]);
        }
        text
    }

    fn exception_name(trap: &Trap) -> &'static str {
        trap::name(trap.cause)
    }

    fn explain(&self, fatal: &Fatal, place: &dyn Fn(u64) -> String) -> String {
        format!("{fatal}, at {}", place(self.pc))
    }
}
