//! An x86 processor under GDB's control.
//!
//! First come the registers that GDB knows of every i386, in GDB's order; then the system's registers, which GDB finds
//! by name. GDB writes the general registers, EIP, EFLAGS and the floating-point unit's; it reads the others. There are
//! no watchpoints: GDB steps instead.

use super::processor::Processor;
use super::registers::segment;
use crate::debug::{Debugged, Layout, Row};
use crate::memory::RamAddress;

/// An i386 with the system's registers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct I386;

const EIP: usize = 8;
const EFLAGS: usize = 9;
/// Of the floating-point unit: eight registers, then words.
const UNIT: std::ops::Range<usize> = 16..32;
/// `cs` to `gs`, as the machine numbers them.
const ORDER: [u8; 6] = [
    segment::CS,
    segment::SS,
    segment::DS,
    segment::ES,
    segment::FS,
    segment::GS,
];

const GENERAL: [&str; 4] = ["eax", "ecx", "edx", "ebx"];
const AFTER_EIP: [&str; 7] = ["eflags", "cs", "ss", "ds", "es", "fs", "gs"];
/// The floating-point unit's words: control, status, tags, and where the last instruction and its operand were.
const WORDS: [&str; 8] = [
    "fctrl", "fstat", "ftag", "fiseg", "fioff", "foseg", "fooff", "fop",
];
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

impl Layout for I386 {
    const ARCHITECTURE: &'static str = "i386";
    const BIG_ENDIAN: bool = false;
    const PC: usize = EIP;

    fn rows() -> Vec<Row> {
        const CORE: &str = "org.gnu.gdb.i386.core";
        const INTEGER: &str = "type=\"int32\"";
        const POINTER: &str = "type=\"data_ptr\"";
        vec![
            Row::named(CORE, &GENERAL, 32, INTEGER),
            Row::named(CORE, &["esp", "ebp"], 32, POINTER),
            Row::named(CORE, &["esi", "edi"], 32, INTEGER),
            Row::named(CORE, &["eip"], 32, "type=\"code_ptr\""),
            Row::named(CORE, &AFTER_EIP, 32, INTEGER),
            Row::counted(CORE, ("st", 8), 80, "type=\"i387_ext\""),
            Row::named(CORE, &WORDS, 32, "type=\"int\" group=\"float\""),
            Row::named(
                "org.pagewalk.system",
                &SYSTEM,
                32,
                "type=\"uint32\" group=\"system\"",
            ),
        ]
    }
}

impl Debugged for Processor {
    type Layout = I386;

    const HELD: &'static str = "waits to be started";
    const SLEEPS: &'static str = "halted";

    fn values(&mut self) -> Vec<u128> {
        let registers = &self.registers;
        let selectors = ORDER.map(|number| registers.segment(number).selector.into());
        let unit = self
            .fpu
            .as_ref()
            .map_or([0; UNIT.end - UNIT.start], |unit| unit.shown());
        let base = |number| registers.segment(number).base;
        let system: [u32; SYSTEM.len()] = [
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
        let words = registers.gpr[..8].iter().copied();
        let words = words
            .chain([registers.eip, registers.eflags()])
            .chain(selectors);
        let words = words.map(u128::from).chain(unit);
        words.chain(system.map(u128::from)).collect()
    }

    fn set_values(&mut self, values: &[u128], before: &[u128]) {
        if values == before {
            return;
        }
        let registers = &mut self.registers;
        for (register, &value) in registers.gpr[..8].iter_mut().zip(values) {
            *register = value as u32;
        }
        registers.eip = values[EIP] as u32;
        if values[EFLAGS] != before[EFLAGS] {
            // Virtual-8086 mode is not there.
            const VM: u32 = 1 << 17;
            registers.set_eflags(values[EFLAGS] as u32, !VM);
        }
        if let Some(unit) = &mut self.fpu
            && values[UNIT] != before[UNIT]
        {
            unit.set_shown(&values[UNIT]);
        }
        self.modes_changed();
    }

    fn place(&self, address: u64) -> Option<RamAddress> {
        self.peek_translation(address.try_into().ok()?)
    }

    fn is_written(&mut self, at: RamAddress) {
        self.written(at, 1);
    }
}
