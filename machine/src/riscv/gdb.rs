//! A RISC-V processor under GDB's control: x0 to x31, pc, and f0 to f31, in GDB's order.

use std::fmt::Write as _;
use std::num::NonZeroUsize;

use gdbstub::arch::{Arch, RegId, Registers};

use super::computer::NAMES;
use super::processor::Processor;
use crate::debug::Debugged;

/// RISC-V of 64 bits.
#[derive(Debug)]
pub enum Rv64 {}

impl Arch for Rv64 {
    type Usize = u64;
    type Registers = File;
    type BreakpointKind = usize;
    type RegId = Id;
}

const PC: usize = 32;
const FLOAT: usize = 33;
const ALL: usize = 65;

/// The registers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File([u64; ALL]);

impl Default for File {
    fn default() -> Self {
        File([0; ALL])
    }
}

/// The number of a register.
#[derive(Clone, Copy, Debug)]
pub struct Id(usize);

impl RegId for Id {
    fn from_raw_id(id: usize) -> Option<(Self, Option<NonZeroUsize>)> {
        (id < ALL).then_some((Id(id), NonZeroUsize::new(8)))
    }
}

impl Registers for File {
    type ProgramCounter = u64;

    fn pc(&self) -> u64 {
        self.0[PC]
    }

    fn gdb_serialize(&self, mut write_byte: impl FnMut(Option<u8>)) {
        let bytes = self.0.iter().flat_map(|register| register.to_le_bytes());
        bytes.for_each(|byte| write_byte(Some(byte)));
    }

    fn gdb_deserialize(&mut self, bytes: &[u8]) -> Result<(), ()> {
        for (register, bytes) in self.0.iter_mut().zip(bytes.chunks(8)) {
            *register = u64::from_le_bytes(bytes.try_into().map_err(|_| ())?);
        }
        Ok(())
    }
}

impl Debugged for Processor {
    type Arch = Rv64;
    const WATCHES: bool = false;
    const HELD: &'static str = "held in reset";
    const SLEEPS: &'static str = "waits for an interrupt";

    fn description() -> String {
        let mut text = String::from(
            "<?xml version=\"1.0\"?><target version=\"1.0\"><architecture>riscv:rv64</architecture>\
             <feature name=\"org.gnu.gdb.riscv.cpu\">",
        );
        let mut register = |name: &str, kind: &str| {
            let _ = write!(
                text,
                "<reg name=\"{name}\" bitsize=\"64\" type=\"{kind}\"/>"
            );
        };
        for name in NAMES {
            register(
                name,
                if matches!(name, "sp" | "gp" | "tp" | "s0") {
                    "data_ptr"
                } else {
                    "long"
                },
            );
        }
        register("pc", "code_ptr");
        text += "</feature><feature name=\"org.gnu.gdb.riscv.fpu\">";
        for n in 0..32 {
            let _ = write!(
                text,
                "<reg name=\"f{n}\" bitsize=\"64\" type=\"ieee_double\"/>"
            );
        }
        text += "</feature></target>";
        text
    }

    fn file(&mut self) -> File {
        let mut file = File::default();
        file.0[..32].copy_from_slice(&self.registers[..32]);
        file.0[PC] = self.pc;
        file.0[FLOAT..].copy_from_slice(&self.registers[32..64]);
        file
    }

    fn set_file(&mut self, file: &File) {
        self.registers[1..32].copy_from_slice(&file.0[1..32]);
        self.registers[32..64].copy_from_slice(&file.0[FLOAT..]);
        self.pc = file.0[PC] & !1;
    }

    fn register(file: &File, id: Id) -> Vec<u8> {
        file.0[id.0].to_le_bytes().to_vec()
    }

    fn set_register(file: &mut File, id: Id, bytes: &[u8]) -> bool {
        let value = bytes.try_into().map(u64::from_le_bytes);
        value.is_ok_and(|value| {
            file.0[id.0] = value;
            true
        })
    }

    fn read_byte(&self, address: u64) -> Option<u8> {
        let at = self.ram_address(self.peek(address)?, 1)?;
        self.memory.uncore.ram.read_u8(at)
    }

    fn write_byte(&mut self, address: u64, byte: u8) -> bool {
        let Some(at) = self.peek(address).and_then(|pa| self.ram_address(pa, 1)) else {
            return false;
        };
        self.code_written(at, 1);
        self.memory.uncore.ram.write_u8(at, byte)
    }
}
