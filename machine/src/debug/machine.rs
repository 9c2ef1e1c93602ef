//! A PowerPC machine as a guest of the stub.

use gdbstub::arch::Arch;

use super::arch::{PowerPc, RegisterFile, RegisterId, target_description};
use super::guest::{Guest, Halt};
use super::registers;
use crate::board::Instant;
use crate::computer::{Breakpoints, Cpu as _, Limits};
use crate::machine::{Machine, Stop};

impl Guest for Machine {
    type Arch = PowerPc;
    type Stop = Stop;

    const WATCHES: bool = true;

    fn description(&self) -> String {
        target_description()
    }

    fn run(&mut self, limits: Limits, alone: Option<usize>) -> Stop {
        match alone {
            Some(number) => self.run_alone(number, limits),
            None => Machine::run(self, limits),
        }
    }

    fn halt(stop: &Stop) -> Halt {
        match stop {
            Stop::PowerOff { status } => Halt::Exited(*status as u8),
            Stop::Limit | Stop::Batch => Halt::Limit,
            Stop::Breakpoint { .. } => Halt::Breakpoint,
            Stop::Watchpoint { address, write } => Halt::Watchpoint {
                address: *address,
                write: *write,
            },
            Stop::Exception(_) | Stop::Fatal(_) => Halt::Dead,
        }
    }

    fn limit() -> Stop {
        Stop::Limit
    }

    fn instant(&self) -> Instant {
        Machine::instant(self)
    }

    fn processors(&self) -> usize {
        Machine::processors(self).len()
    }

    fn completed(&self, number: usize) -> u64 {
        Machine::processors(self)[number].instant().instructions
    }

    fn state(&self, number: usize) -> &'static str {
        if self.is_held(number) {
            ", held in reset"
        } else if Machine::processors(self)[number].sleeps() {
            ", saves power"
        } else {
            ""
        }
    }

    fn registers(&mut self, number: usize) -> RegisterFile {
        self.at(number, registers::read)
    }

    fn set_registers(&mut self, number: usize, file: &RegisterFile) {
        self.at(number, |processor| registers::write(processor, file));
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

    fn peek(&mut self, number: usize, address: u32) -> Option<u8> {
        self.at(number, |processor| processor.peek(address))
    }

    fn poke(&mut self, number: usize, address: u32, byte: u8) -> bool {
        self.at(number, |processor| processor.poke(address, byte))
    }

    fn breakpoints<T>(&mut self, change: impl FnMut(&mut Breakpoints) -> T) -> T {
        Machine::breakpoints(self, change)
    }
}
