//! Decoding (RISC-V Unprivileged ISA 20191213, chapter 24; Privileged Architecture 20211203): an instruction is looked
//! up in the tables of [`super::execute`].

use super::compressed::expand;
use super::config::Extensions;
use super::execute::{File, Immediate, Row, illegal, tables};
use super::op::{Class, Op, register};

/// The opcode of the only instruction for integers that reads the program counter.
const AUIPC: u32 = 0x17;

/// A field of an instruction.
fn field(word: u32, low: u32, bits: u32) -> u32 {
    word >> low & ((1 << bits) - 1)
}

/// The op of an instruction of 2 or 4 bytes on a core with these extensions. What is no instruction becomes an op that
/// raises the exception.
#[must_use]
pub fn decode(word: u32, extensions: Extensions) -> Op {
    let (whole, raw, length) = if word & 3 == 3 {
        (Some(word), word, 4)
    } else {
        (expand(word as u16), word & 0xffff, 2)
    };
    let found = whole.and_then(|whole| Some((whole, row(whole, extensions)?)));
    let op = found.and_then(|(whole, row)| op(whole, raw, length, row));
    op.unwrap_or_else(|| Op::new(illegal, raw, length, Class::System))
}

fn row(word: u32, extensions: Extensions) -> Option<&'static Row> {
    let mut rows = tables(word & 0x7f).iter().flat_map(|table| table.iter());
    let row = rows.find(|row| word & row.form.mask == row.bits)?;
    row.needs
        .is_none_or(|needed| extensions.has(needed))
        .then_some(row)
}

/// The number of a register, see [`register`].
fn number(file: File, word: u32, low: u32) -> u8 {
    let number = field(word, low, 5) as u8;
    match file {
        File::None => 0,
        File::X => number,
        File::F => number + register::FLOAT,
    }
}

/// `raw`: as it is in memory; `length`: bytes of that. `None`: it asks for a reserved rounding mode.
fn op(word: u32, raw: u32, length: u8, row: &Row) -> Option<Op> {
    let (form, class) = (row.form, row.class);
    let rd = number(form.rd, word, 7);
    let divides = matches!(
        class,
        Class::Divide | Class::DivideWord | Class::FloatDivideSingle | Class::FloatDivideDouble
    );
    Some(Op {
        // x0 and nothing are the same as a target.
        rd: if rd == 0 { register::SINK } else { rd },
        rs1: number(form.rs1, word, 15),
        rs2: number(form.rs2, word, 20),
        rs3: if divides {
            register::DIVIDER
        } else {
            number(form.rs3, word, 27)
        },
        immediate: immediate(form.immediate, word)?,
        plain: class.is_plain() && word & 0x7f != AUIPC,
        ..Op::new(row.run, raw, length, class)
    })
}

fn immediate(kind: Immediate, word: u32) -> Option<i32> {
    let sign = word.cast_signed() >> 31;
    let part = |low, bits, to: u32| (field(word, low, bits) << to).cast_signed();
    Some(match kind {
        Immediate::None => 0,
        Immediate::I => word.cast_signed() >> 20,
        Immediate::S => word.cast_signed() >> 25 << 5 | part(7, 5, 0),
        Immediate::B => sign << 12 | part(7, 1, 11) | part(25, 6, 5) | part(8, 4, 1),
        Immediate::U => (word & 0xffff_f000).cast_signed(),
        Immediate::J => sign << 20 | part(12, 8, 12) | part(20, 1, 11) | part(21, 10, 1),
        Immediate::Rounding => match field(word, 12, 3) {
            5 | 6 => return None,
            mode => mode.cast_signed(),
        },
        Immediate::Csr(number) => part(20, 12, 0) | i32::from(number) << 12 | part(15, 5, 13),
    })
}
