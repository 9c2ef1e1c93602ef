//! A computer of PowerPC processors, and what is in its memory when it begins.

pub use crate::computer::{Limits, Watchpoint};
pub use crate::powerpc::processor::{Fatal, Stop};

use crate::board::Console;
use crate::computer::Computer;
use crate::config::MachineConfig;
use crate::memory::l2::l2cr;
use crate::powerpc::loader::Boot;
use crate::powerpc::msr;
use crate::powerpc::processor::Processor;
use crate::powerpc::registers::Register;

/// A simulated computer of PowerPC processors.
pub type Machine = Computer<Processor>;

impl Computer<Processor> {
    /// Makes a machine in its state after reset, with the memory contents and register values that `boot` asks for.
    ///
    /// # Errors
    /// When the models cannot build what the machine file asks for, or when the boot image does not fit into RAM.
    pub fn new(config: MachineConfig, boot: &Boot, console: Console) -> Result<Machine, String> {
        let mut machine = Computer::build(&config, console, &boot.causes)?;
        machine.place(boot)?;
        machine.processor_mut().state_changed();
        Ok(machine)
    }

    fn place(&mut self, boot: &Boot) -> Result<(), String> {
        let Processor {
            memory, registers, ..
        } = self.processor_mut();
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
            self.processor_mut().enable_l2();
        }
        Ok(())
    }
}

impl Processor {
    /// Enables a 750's L2, as firmware does before it starts a kernel: Linux leaves L2CR as it finds it.
    pub(crate) fn enable_l2(&mut self) {
        let own = self.config().core.kind.core().registers.l2_and_thermal;
        let Some(l2) = &self.memory.uncore.l2 else {
            return;
        };
        if !own || !l2.is_back_side() {
            return;
        }
        let size = (l2.cache.geometry().size >> 17)
            .checked_ilog2()
            .unwrap_or(0)
            & 3;
        self.registers.l2cr = l2cr::L2E | size << l2cr::L2SIZ_SHIFT;
        let value = self.registers.l2cr;
        self.memory.uncore.write_l2cr(value);
    }
}
