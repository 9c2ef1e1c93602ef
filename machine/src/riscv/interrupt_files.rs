//! The CSRs of Smaia and Ssaia, by which a processor sees its interrupt files (RISC-V Advanced Interrupt Architecture
//! 1.0, chapters 2 and 3). Interrupts of other kinds have the priorities of the architecture, which cannot be changed.

use super::config::Extension;
use super::processor::Processor;
use super::trap::interrupt;
use crate::board::{imsic_number, imsic_register};

/// Numbers of `siselect`, `sireg` and `stopei`; those of machine mode are [`MACHINE`] higher.
const SELECT: u16 = 0x150;
const REGISTER: u16 = 0x151;
const TOP: u16 = 0x15c;
const MACHINE: u16 = 0x200;

impl Processor {
    fn file_register(&self, machine: bool, register: u32) -> u32 {
        imsic_number(self.number, !machine, register)
    }

    /// Reads a CSR of an interrupt file. `None`: there is none, or no such register of it.
    pub(super) fn read_file(&mut self, number: u16) -> Option<u64> {
        if !self.extensions.has(Extension::Ssaia) {
            return None;
        }
        let machine = number & MACHINE != 0;
        let selected = self.csr.selected[usize::from(machine)];
        let of = |register| self.file_register(machine, register);
        let register = match number & !MACHINE {
            SELECT => return Some(selected),
            TOP => of(imsic_register::TOP),
            REGISTER => match selected {
                // Priorities, none of which can be set.
                0x30..=0x3f if selected & 1 == 0 => return Some(0),
                // The interrupt that goes first, which `stopei` and `mtopei` show.
                0x76 => return Some(0),
                0x70..=0x7f => of(selected as u32),
                0x80..=0xff if selected & 1 == 0 => {
                    let low = of(selected as u32);
                    let board = &mut self.memory.uncore.board;
                    let half = [low, low + 1].map(|number| board.read_control_register(number));
                    return Some(u64::from(half[1]) << 32 | u64::from(half[0]));
                }
                _ => return None,
            },
            // stopi and mtopi: the interrupt that this mode would take.
            _ => {
                let theirs = if machine {
                    !self.csr.mideleg
                } else {
                    self.csr.mideleg
                };
                let asking = self.mip() & self.csr.mie & theirs;
                let first = interrupt::ORDER.iter().find(|&&n| asking >> n & 1 != 0);
                return Some(first.map_or(0, |&n| u64::from(n) << 16 | 1));
            }
        };
        Some(
            self.memory
                .uncore
                .board
                .read_control_register(register)
                .into(),
        )
    }

    /// Writes one that can be read.
    pub(super) fn write_file(&mut self, number: u16, value: u64) {
        let machine = number & MACHINE != 0;
        let selected = &mut self.csr.selected[usize::from(machine)];
        if number & !MACHINE == SELECT {
            *selected = value & 0x1ff;
            return;
        }
        let register = if number & !MACHINE == TOP {
            imsic_register::TOP
        } else {
            *selected as u32
        };
        let first = self.file_register(machine, register);
        let board = &mut self.memory.uncore.board;
        board.write_control_register(first, value as u32);
        if register >= imsic_register::PENDING {
            board.write_control_register(first + 1, (value >> 32) as u32);
        }
        self.running.deadline = 0;
    }
}
