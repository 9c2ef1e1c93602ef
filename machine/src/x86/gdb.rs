//! An x86 processor under GDB's control.
//!
//! The first registers are those that GDB knows of every i386, in its order; the system's follow and are found by
//! name. GDB writes the general registers, EIP, EFLAGS and the floating-point unit's; it reads the others. There are no
//! watchpoints: GDB steps instead.

use std::fmt::Write as _;

use gdbstub::arch::{Arch, RegId, Registers};

use super::processor::Processor;
use super::registers::segment;
use crate::debug::Debugged;

/// An i386 with the system's registers.
#[derive(Debug)]
pub enum I386 {}

impl Arch for I386 {
    type Usize = u32;
    type Registers = File;
    type BreakpointKind = usize;
    type RegId = Id;
}

/// Registers of 32 bits before those of the floating-point unit.
const WORDS: [&str; 16] = [
    "eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi", "eip", "eflags", "cs", "ss", "ds",
    "es", "fs", "gs",
];
const EIP: usize = 8;
const EFLAGS: usize = 9;
const SEGMENTS: usize = 10;
/// `cs` to `gs`, as the machine numbers them.
const ORDER: [u8; 6] = [
    segment::CS,
    segment::SS,
    segment::DS,
    segment::ES,
    segment::FS,
    segment::GS,
];

/// Registers of the floating-point unit, of 80 bits.
const FLOATS: usize = 8;

/// Its words: control, status, tags, and where the last instruction and its operand were.
const UNIT: [&str; 8] = [
    "fctrl", "fstat", "ftag", "fiseg", "fioff", "foseg", "fooff", "fop",
];

/// The system's registers.
const SYSTEM: [&str; 13] = [
    "cr0",
    "cr2",
    "cr3",
    "cr4",
    "cpl",
    "gdt_base",
    "gdt_limit",
    "idt_base",
    "idt_limit",
    "ldt",
    "tr",
    "fs_base",
    "gs_base",
];

/// A copy of all registers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct File {
    words: [u32; WORDS.len()],
    floats: [[u8; 10]; FLOATS],
    unit: [u32; UNIT.len()],
    system: [u32; SYSTEM.len()],
}

/// One register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Id {
    Word(usize),
    Float(usize),
    Unit(usize),
    System(usize),
}

const FIRST_FLOAT: usize = WORDS.len();
const FIRST_UNIT: usize = FIRST_FLOAT + FLOATS;
const FIRST_SYSTEM: usize = FIRST_UNIT + UNIT.len();
const END: usize = FIRST_SYSTEM + SYSTEM.len();

impl RegId for Id {
    fn from_raw_id(id: usize) -> Option<(Self, Option<std::num::NonZeroUsize>)> {
        let (register, size) = match id {
            0..FIRST_FLOAT => (Id::Word(id), 4),
            FIRST_FLOAT..FIRST_UNIT => (Id::Float(id - FIRST_FLOAT), 10),
            FIRST_UNIT..FIRST_SYSTEM => (Id::Unit(id - FIRST_UNIT), 4),
            FIRST_SYSTEM..END => (Id::System(id - FIRST_SYSTEM), 4),
            _ => return None,
        };
        Some((register, std::num::NonZeroUsize::new(size)))
    }
}

impl Registers for File {
    type ProgramCounter = u32;

    fn pc(&self) -> u32 {
        self.words[EIP]
    }

    fn gdb_serialize(&self, mut write_byte: impl FnMut(Option<u8>)) {
        for id in 0..END {
            if let Some((register, _)) = Id::from_raw_id(id) {
                let bytes = self.bytes(register);
                bytes.into_iter().for_each(|byte| write_byte(Some(byte)));
            }
        }
    }

    fn gdb_deserialize(&mut self, bytes: &[u8]) -> Result<(), ()> {
        let mut rest = bytes;
        for id in 0..END {
            let (register, size) = Id::from_raw_id(id).ok_or(())?;
            let size = size.map_or(0, std::num::NonZeroUsize::get);
            let (own, others) = rest.split_at_checked(size).ok_or(())?;
            rest = others;
            if !self.set_bytes(register, own) {
                return Err(());
            }
        }
        Ok(())
    }
}

impl File {
    fn bytes(&self, register: Id) -> Vec<u8> {
        match register {
            Id::Word(n) => self.words[n].to_le_bytes().to_vec(),
            Id::Float(n) => self.floats[n].to_vec(),
            Id::Unit(n) => self.unit[n].to_le_bytes().to_vec(),
            Id::System(n) => self.system[n].to_le_bytes().to_vec(),
        }
    }

    /// False if the register has not so many bytes.
    fn set_bytes(&mut self, register: Id, bytes: &[u8]) -> bool {
        if let Id::Float(n) = register {
            return bytes.try_into().is_ok_and(|bytes| {
                self.floats[n] = bytes;
                true
            });
        }
        let Ok(bytes) = bytes.try_into() else {
            return false;
        };
        let value = u32::from_le_bytes(bytes);
        match register {
            Id::Word(n) => self.words[n] = value,
            Id::Unit(n) => self.unit[n] = value,
            Id::System(n) => self.system[n] = value,
            Id::Float(_) => {}
        }
        true
    }

    fn of(processor: &Processor) -> File {
        let registers = &processor.registers;
        let mut file = File::default();
        file.words[..8].copy_from_slice(&registers.gpr[..8]);
        file.words[EIP] = registers.eip;
        file.words[EFLAGS] = registers.eflags();
        for (place, number) in file.words[SEGMENTS..].iter_mut().zip(ORDER) {
            *place = registers.segment(number).selector.into();
        }
        if let Some(unit) = &processor.fpu {
            (file.unit, file.floats) = unit.shown();
        }
        let base = |number| registers.segment(number).base;
        file.system = [
            registers.cr0,
            registers.cr2,
            registers.cr3,
            registers.cr4,
            registers.cpl.into(),
            registers.gdtr.base,
            registers.gdtr.limit.into(),
            registers.idtr.base,
            registers.idtr.limit.into(),
            registers.ldtr.selector.into(),
            registers.tr.selector.into(),
            base(segment::FS),
            base(segment::GS),
        ];
        file
    }

    /// Writes back what GDB may write and what differs.
    fn put_into(&self, processor: &mut Processor) {
        let before = File::of(processor);
        if *self == before {
            return;
        }
        let registers = &mut processor.registers;
        registers.gpr[..8].copy_from_slice(&self.words[..8]);
        registers.eip = self.words[EIP];
        if self.words[EFLAGS] != before.words[EFLAGS] {
            // Virtual-8086 mode is not there.
            const VM: u32 = 1 << 17;
            registers.set_eflags(self.words[EFLAGS], !VM);
        }
        if let Some(unit) = &mut processor.fpu
            && (self.unit, self.floats) != (before.unit, before.floats)
        {
            unit.set_shown(&self.unit, &self.floats);
        }
        processor.modes_changed();
    }
}

fn target_description() -> String {
    let mut xml = String::from(
        "<?xml version=\"1.0\"?><!DOCTYPE target SYSTEM \"gdb-target.dtd\">\
         <target version=\"1.0\"><architecture>i386</architecture>\
         <feature name=\"org.gnu.gdb.i386.core\">",
    );
    let mut number = 0;
    let mut put = |name: &str, bits: u32, kind: &str, group: &str| {
        let _ = write!(
            xml,
            "<reg name=\"{name}\" bitsize=\"{bits}\" type=\"{kind}\"{group} regnum=\"{number}\"/>"
        );
        number += 1;
    };
    for name in WORDS {
        let kind = match name {
            "eip" => "code_ptr",
            "esp" | "ebp" => "data_ptr",
            _ => "int32",
        };
        put(name, 32, kind, "");
    }
    for n in 0..FLOATS {
        put(&format!("st{n}"), 80, "i387_ext", "");
    }
    for name in UNIT {
        put(name, 32, "int", " group=\"float\"");
    }
    xml.push_str("</feature><feature name=\"org.pagewalk.system\">");
    for (n, name) in SYSTEM.iter().enumerate() {
        let _ = write!(
            xml,
            "<reg name=\"{name}\" bitsize=\"32\" type=\"uint32\" group=\"system\" regnum=\"{}\"/>",
            FIRST_SYSTEM + n
        );
    }
    xml.push_str("</feature></target>");
    xml
}

impl Debugged for Processor {
    type Arch = I386;

    const WATCHES: bool = false;
    const HELD: &'static str = ", waits to be started";
    const SLEEPS: &'static str = ", halted";

    fn description() -> String {
        target_description()
    }

    fn file(&mut self) -> File {
        File::of(self)
    }

    fn set_file(&mut self, file: &File) {
        file.put_into(self);
    }

    fn register(file: &File, id: Id) -> Vec<u8> {
        file.bytes(id)
    }

    fn set_register(file: &mut File, id: Id, bytes: &[u8]) -> bool {
        file.set_bytes(id, bytes)
    }

    fn read_byte(&self, address: u64) -> Option<u8> {
        self.peek(address.try_into().ok()?)
    }

    fn write_byte(&mut self, address: u64, byte: u8) -> bool {
        u32::try_from(address).is_ok_and(|address| self.poke(address, byte))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_registers_survive_the_wire() {
        let mut file = File::default();
        file.words[EIP] = 0xc010_0000;
        file.floats[3] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
        file.unit[0] = 0x37f;
        file.system[2] = 0x5000;
        let mut bytes = Vec::new();
        file.gdb_serialize(|byte| bytes.push(byte.unwrap()));
        assert_eq!(bytes.len(), 4 * (16 + 8 + SYSTEM.len()) + 80);
        let mut other = File::default();
        other.gdb_deserialize(&bytes).unwrap();
        assert_eq!(other, file);
        assert!(other.gdb_deserialize(&bytes[1..]).is_err());
        let xml = target_description();
        for number in 0..END {
            assert!(xml.contains(&format!("regnum=\"{number}\"")), "{number}");
        }
    }
}
