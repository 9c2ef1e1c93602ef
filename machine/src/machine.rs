//! The whole computer. It owns the processor and the uncore behind it, loads the boot image and runs.

mod turns;

pub(crate) use turns::TurnsState;

pub use crate::processor::{Fatal, Limits, Stop, Watchpoint};

use crate::board::{Board, Console, Instant};
use crate::config::MachineConfig;
use crate::engine::pages;
use crate::loader::Boot;
use crate::memory::l2::l2cr;
use crate::memory::{Memory, Uncore};
use crate::mmu::Mmu;
use crate::observe::Counters;
use crate::observe::dump::StateDump;
use crate::powerpc::msr;
use crate::powerpc::registers::{Register, Registers};
use crate::processor::{Pause, Processor};

/// What a dump shows of a processor: [`StateDump::take`] or [`StateDump::of_translation`].
pub type TakeState = fn(u32, u64, &Registers, &Mmu, &Memory) -> StateDump;

/// A simulated computer.
///
/// The processor whose turn it is holds the uncore ([`Held`](crate::memory::Held)): docs/machine.md.
pub struct Machine {
    processors: Vec<Processor>,
    /// The number of the one whose turn it is.
    current: usize,
    /// Its turn is over. Otherwise a run goes on with it.
    turn_over: bool,
    /// Only this one has turns, as long as it can go on: [`Machine::run_alone`].
    alone: Option<usize>,
    /// The address spaces in which those run whose turn it is not.
    contexts: Vec<u32>,
    /// Which are held in reset.
    held: Vec<bool>,
    /// MSR with which a processor begins after a reset: MSR\[IP\] if there is a ROM.
    reset: u32,
}

impl Machine {
    /// Makes a machine in its state after reset, with the memory contents and register values that `boot` asks for.
    ///
    /// # Errors
    /// When the models cannot build what the machine file asks for, or when the boot image does not fit into RAM.
    pub fn new(config: MachineConfig, boot: &Boot, console: Console) -> Result<Machine, String> {
        let board = Board::new(&config, console);
        let processors = turns::processors(&config, board, &boot.causes)?;
        let number = processors.len();
        let mut machine = Machine {
            held: (0..config.processors).map(|number| number != 0).collect(),
            reset: if boot.rom.is_some() { msr::IP } else { 0 },
            processors,
            current: 0,
            turn_over: true,
            alone: None,
            contexts: vec![0; number],
        };
        machine.place(boot)?;
        machine.processor_mut().state_changed();
        Ok(machine)
    }

    fn place(&mut self, boot: &Boot) -> Result<(), String> {
        let Processor {
            memory, registers, ..
        } = &mut self.processors[self.current];
        pages::large(memory.uncore.ram.bytes_mut());
        for chunk in &boot.chunks {
            let start = chunk.physical as usize;
            memory
                .uncore
                .ram
                .bytes_mut()
                .get_mut(start..start + chunk.bytes.len())
                .ok_or_else(|| format!("{:#x} is not in RAM", chunk.physical))?
                .copy_from_slice(&chunk.bytes);
        }
        registers.pc = boot.entry;
        registers.gpr.set(Register::new(3), boot.structure);
        for (number, value) in (4..).zip(boot.handed) {
            registers.gpr.set(Register::new(number), value);
        }
        registers.gpr.set(Register::new(1), boot.stack);
        if let Some(rom) = &boot.rom {
            memory.uncore.board.fit_rom(rom);
            registers.msr = msr::IP;
        } else {
            self.enable_l2();
        }
        Ok(())
    }

    /// Enables a 750's L2, as firmware does before it starts a kernel: Linux leaves L2CR as it finds it.
    fn enable_l2(&mut self) {
        let own = self.config().core.kind.core().registers.l2_and_thermal;
        let Processor {
            memory, registers, ..
        } = &mut self.processors[self.current];
        let Some(l2) = &memory.uncore.l2 else { return };
        if !own || !l2.is_back_side() {
            return;
        }
        let size = (l2.cache.geometry().size >> 17)
            .checked_ilog2()
            .unwrap_or(0)
            & 3;
        registers.l2cr = l2cr::L2E | size << l2cr::L2SIZ_SHIFT;
        memory.uncore.write_l2cr(registers.l2cr);
    }

    /// The configuration that the machine was made from.
    #[must_use]
    pub fn config(&self) -> &MachineConfig {
        self.processors[0].config()
    }

    /// The processor whose turn it is: the one that stopped the last run.
    #[must_use]
    pub fn processor(&self) -> &Processor {
        &self.processors[self.current]
    }

    /// The processor, to change it.
    pub fn processor_mut(&mut self) -> &mut Processor {
        &mut self.processors[self.current]
    }

    /// All processors, by number. One whose turn it is not holds no uncore, and its D-cache's tags are there.
    #[must_use]
    pub fn processors(&self) -> &[Processor] {
        &self.processors
    }

    /// True if the processor with this number is held in reset: nobody has started it.
    #[must_use]
    pub fn is_held(&self, number: usize) -> bool {
        self.held.get(number).is_some_and(|&held| held)
    }

    /// RAM, L2, bus and board: everything behind the processor.
    #[must_use]
    pub fn uncore(&self) -> &Uncore {
        &self.processor().memory.uncore
    }

    /// The uncore, to change it.
    pub fn uncore_mut(&mut self) -> &mut Uncore {
        &mut self.processor_mut().memory.uncore
    }

    /// Runs until something stops the machine, or a limit is reached.
    pub fn run(&mut self, limits: Limits) -> Stop {
        if self.processors.len() > 1 {
            return self.run_in_turns(limits);
        }
        let processor = &mut self.processors[0];
        processor.make_ready();
        loop {
            if let Pause::Stopped(stop) = processor.turn(limits) {
                processor.settle();
                return stop;
            }
        }
    }

    /// As [`Machine::run`], but the other processors stand still: for a debugger. They run while
    /// this one is held in reset or saves power, since it may wait for them.
    pub fn run_alone(&mut self, number: usize, limits: Limits) -> Stop {
        self.turn_over |= self.current != number;
        self.alone = Some(number);
        let stop = self.run(limits);
        self.alone = None;
        stop
    }

    /// Turns always-probe mode on or off: see [`Processor::set_oracle`].
    pub fn set_oracle(&mut self, on: bool) {
        for processor in &mut self.processors {
            processor.set_oracle(on);
        }
    }

    /// Turns running a program without a kernel on or off: see [`Processor::set_hosted`].
    pub fn set_hosted(&mut self, on: bool) {
        for processor in &mut self.processors {
            processor.set_hosted(on);
        }
    }

    /// Stops the machine before the instruction at `address`, whichever processor comes to it.
    pub fn add_breakpoint(&mut self, address: u32) {
        for processor in &mut self.processors {
            processor.add_breakpoint(address);
        }
    }

    /// True if there was one.
    pub fn remove_breakpoint(&mut self, address: u32) -> bool {
        let all = self.processors.iter_mut();
        all.fold(false, |found, processor| {
            processor.remove_breakpoint(address) | found
        })
    }

    /// Removes breakpoints and watchpoints.
    pub fn clear_breakpoints(&mut self) {
        for processor in &mut self.processors {
            processor.clear_breakpoints();
        }
    }

    /// Stops the machine after the instruction, of any processor, that accesses these addresses.
    pub fn add_watchpoint(&mut self, watchpoint: Watchpoint) {
        for processor in &mut self.processors {
            processor.add_watchpoint(watchpoint);
        }
    }

    /// True if there was one.
    pub fn remove_watchpoint(&mut self, watchpoint: &Watchpoint) -> bool {
        let all = self.processors.iter_mut();
        all.fold(false, |found, processor| {
            processor.remove_watchpoint(watchpoint) | found
        })
    }

    /// The state of each processor, in order. Where there are several, a state says whose it is.
    pub fn states(&mut self, label: u32, take: TakeState) -> Vec<StateDump> {
        let several = self.processors.len() > 1;
        self.each(|processor| {
            let now = processor.instant();
            let Processor {
                registers,
                mmu,
                memory,
                ..
            } = &*processor;
            StateDump {
                processor: several.then_some(now.processor),
                ..take(label, now.cycles, registers, mmu, memory)
            }
        })
    }

    /// The counters of all processors in sum.
    #[must_use]
    pub fn counters(&self) -> Counters {
        let mut sum = self.processors[0].account.counters.clone();
        for processor in &self.processors[1..] {
            sum.accumulate(&processor.account.counters);
        }
        if self.processors.len() > 1 {
            sum.set_elapsed(self.instant().cycles);
        }
        sum
    }

    /// Cycles since reset on the clock that is furthest ahead, and completed instructions of all processors.
    #[must_use]
    pub fn instant(&self) -> Instant {
        let all = self.processors.iter();
        all.fold(self.processor().instant(), |sum, processor| {
            let now = processor.instant();
            let own = now.processor == sum.processor;
            Instant {
                cycles: sum.cycles.max(now.cycles),
                instructions: sum.instructions + if own { 0 } else { now.instructions },
                ..sum
            }
        })
    }
}
