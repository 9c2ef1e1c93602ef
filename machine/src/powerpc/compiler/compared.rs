//! Comparisons whose condition fields have not been made: compiled code keeps their operands, because most fields are
//! read by one branch or by nothing.
//!
//! XER[SO], which a field has a copy of, does not change while a comparison is kept: an instruction that changes it has
//! no template, and the fields are made before it runs.

use std::mem::offset_of;

use crate::powerpc::Registers;
use crate::powerpc::word::order;

/// How the operands of a comparison are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    Signed = 1,
    Unsigned = 2,
}

impl Kind {
    pub fn of(signed: bool) -> Kind {
        if signed { Kind::Signed } else { Kind::Unsigned }
    }
}

/// The comparisons of the eight condition fields.
#[derive(Debug)]
#[repr(C)]
pub struct Compared {
    /// A [`Kind`], or 0: the field is in the register.
    kinds: [u8; 8],
    operands: [[u32; 2]; 8],
}

impl Compared {
    pub const NONE: Compared = Compared {
        kinds: [0; 8],
        operands: [[0; 2]; 8],
    };

    /// Where the left operand is, and the right one, at a field's place.
    pub const LEFT: i32 = 0;
    pub const RIGHT: i32 = size_of::<u32>() as i32;

    /// The place of a field's operands.
    pub fn place(number: u8) -> i32 {
        (offset_of!(Compared, operands) + usize::from(number) * size_of::<[u32; 2]>()) as i32
    }

    /// The place of a field's kind.
    pub fn kind_place(number: u8) -> i32 {
        (offset_of!(Compared, kinds) + usize::from(number)) as i32
    }

    /// Makes the fields that are to be made.
    #[inline(always)]
    pub fn make(&mut self, registers: &mut Registers) {
        if u64::from_ne_bytes(self.kinds) != 0 {
            self.make_some(registers);
        }
    }

    fn make_some(&mut self, registers: &mut Registers) {
        for (number, kind) in (0..).zip(&mut self.kinds) {
            let [left, right] = self.operands[usize::from(number)];
            let field = match std::mem::take(kind) {
                0 => continue,
                kind if kind == Kind::Signed as u8 => {
                    order(left.cast_signed(), right.cast_signed())
                }
                _ => order(left, right),
            };
            (registers.cr).set_field(number, field | u8::from(registers.xer.so));
        }
    }
}
