//! A PowerPC under GDB's control.

mod arch;
mod registers;

use gdbstub::arch::Arch;

use super::Processor;
use crate::debug::Debugged;
use arch::{PowerPc, RegisterFile, RegisterId, target_description};

impl Debugged for Processor {
    type Arch = PowerPc;

    const WATCHES: bool = true;
    const HELD: &'static str = ", held in reset";
    const SLEEPS: &'static str = ", saves power";

    fn description() -> String {
        target_description()
    }

    fn file(&mut self) -> RegisterFile {
        registers::read(self)
    }

    fn set_file(&mut self, file: &RegisterFile) {
        registers::write(self, file);
    }

    fn register(file: &RegisterFile, id: <PowerPc as Arch>::RegId) -> Vec<u8> {
        match id {
            RegisterId::Float(n) => file.fpr[n].to_be_bytes().to_vec(),
            RegisterId::Whole(n) => file.whole[n].to_be_bytes().to_vec(),
            other => registers::word(file, other).to_be_bytes().to_vec(),
        }
    }

    fn set_register(file: &mut RegisterFile, id: <PowerPc as Arch>::RegId, bytes: &[u8]) -> bool {
        let value = bytes
            .iter()
            .fold(0, |value: u64, &byte| value << 8 | u64::from(byte));
        match (id, bytes.len()) {
            (RegisterId::Float(n), 8) => file.fpr[n] = value,
            (RegisterId::Whole(n), 8) => file.whole[n] = value,
            (RegisterId::Float(_) | RegisterId::Whole(_), _) => return false,
            (other, 4) => registers::set_word(file, other, value as u32),
            _ => return false,
        }
        true
    }

    fn read_byte(&self, address: u64) -> Option<u8> {
        self.peek(address.try_into().ok()?)
    }

    fn write_byte(&mut self, address: u64, byte: u8) -> bool {
        u32::try_from(address).is_ok_and(|address| self.poke(address, byte))
    }
}
