//! The whole computer. It owns the processor and the uncore behind it, loads the boot image and runs.

pub use crate::processor::{Fatal, Limits, Stop, Watchpoint};

use crate::board::{Board, Console, Instant};
use crate::config::MachineConfig;
use crate::loader::Boot;
use crate::memory::l2::l2cr;
use crate::memory::{Memory, Uncore};
use crate::powerpc::msr;
use crate::powerpc::registers::Register;
use crate::processor::Processor;

/// A simulated computer.
///
/// Its processor holds the uncore ([`Held`](crate::memory::Held)). With several processors the machine passes the uncore
/// from one to the next: docs/machine.md.
pub struct Machine {
    processor: Processor,
}

impl Machine {
    /// Makes a machine in its state after reset, with the memory contents and register values that `boot` asks for.
    ///
    /// # Errors
    /// When the models cannot build what the machine file asks for, or when the boot image does not fit into RAM.
    pub fn new(config: MachineConfig, boot: &Boot, console: Console) -> Result<Machine, String> {
        let board = Board::new(&config, console);
        let uncore = Uncore::from_config(&config, board)?;
        let memory = Memory::from_config(&config, uncore)?;
        let processor = Processor::new(0, config, memory, &boot.causes)?;
        let mut machine = Machine { processor };
        machine.place(boot)?;
        machine.processor.state_changed();
        Ok(machine)
    }

    fn place(&mut self, boot: &Boot) -> Result<(), String> {
        let Processor {
            memory, registers, ..
        } = &mut self.processor;
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
        registers.gpr.set(Register::new(3), boot.device_tree);
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
        } = &mut self.processor;
        let Some(l2) = &memory.uncore.l2 else { return };
        if !own {
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
        self.processor.config()
    }

    /// The processor.
    #[must_use]
    pub fn processor(&self) -> &Processor {
        &self.processor
    }

    /// The processor, to change it.
    pub fn processor_mut(&mut self) -> &mut Processor {
        &mut self.processor
    }

    /// RAM, L2, bus and board: everything behind the processor.
    #[must_use]
    pub fn uncore(&self) -> &Uncore {
        &self.processor.memory.uncore
    }

    /// The uncore, to change it.
    pub fn uncore_mut(&mut self) -> &mut Uncore {
        &mut self.processor.memory.uncore
    }

    /// Runs until something stops the machine, or a limit is reached.
    pub fn run(&mut self, limits: Limits) -> Stop {
        self.processor.run(limits)
    }

    /// Turns always-probe mode on or off: see [`Processor::set_oracle`].
    pub fn set_oracle(&mut self, on: bool) {
        self.processor.set_oracle(on);
    }

    /// Turns running a program without a kernel on or off: see [`Processor::set_hosted`].
    pub fn set_hosted(&mut self, on: bool) {
        self.processor.set_hosted(on);
    }

    /// Cycles and completed instructions since reset.
    #[must_use]
    pub fn instant(&self) -> Instant {
        self.processor.instant()
    }
}
