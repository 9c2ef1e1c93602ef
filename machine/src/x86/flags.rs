//! The flags of arithmetic, kept as the last result and its carries, from which each flag is computed when it is read.

use serde::Deserialize;
use serde::ser::{Serialize, SerializeStruct, Serializer};

use super::registers::eflags::{AF, CF, OF, PF, SF, ZF};

/// Bits of [`Flags::rest`]: the carries out of the two most significant bits, and out of bit 3.
const CARRY: u32 = 1 << 31;
const CARRY_BELOW: u32 = 1 << 30;
const HALF: u32 = 1 << 3;
/// SF is the opposite of the result's sign.
const SIGN_FLIPPED: u32 = 1;
/// Changes the byte that PF is computed from.
const PARITY_SHIFT: u32 = 8;

/// The six flags. Several results leave the same ones: where flags are compared, shown or kept, only what they are
/// counts.
#[derive(Clone, Copy, Deserialize)]
pub struct Flags {
    /// The last result, its sign extended to 32 bits: ZF, SF, PF.
    result: u32,
    /// CF, OF, AF, and how SF and PF differ from those of `result`.
    rest: u32,
}

impl PartialEq for Flags {
    fn eq(&self, other: &Self) -> bool {
        self.word() == other.word()
    }
}

impl Eq for Flags {}

impl std::fmt::Debug for Flags {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Flags({:#x})", self.word())
    }
}

impl Serialize for Flags {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Flags { result, rest } = Self::from_word(self.word());
        let mut parts = serializer.serialize_struct("Flags", 2)?;
        parts.serialize_field("result", &result)?;
        parts.serialize_field("rest", &rest)?;
        parts.end()
    }
}

impl Default for Flags {
    /// All flags clear.
    fn default() -> Self {
        Self::from_word(0)
    }
}

impl Flags {
    /// After an addition or subtraction of `bits` bits with this result. `carries` has the carry, or the borrow, out of
    /// each bit.
    #[inline(always)]
    #[must_use]
    pub fn arithmetic(bits: u32, result: u32, carries: u32) -> Self {
        let shift = 32 - bits;
        Flags {
            result: ((result << shift).cast_signed() >> shift).cast_unsigned(),
            rest: (carries << shift) & (CARRY | CARRY_BELOW) | carries & HALF,
        }
    }

    /// After a result with these values of CF and OF. AF is clear.
    #[inline(always)]
    #[must_use]
    pub fn with_carry(bits: u32, result: u32, carry: bool, overflow: bool) -> Self {
        let shift = 32 - bits;
        Flags {
            result: ((result << shift).cast_signed() >> shift).cast_unsigned(),
            rest: u32::from(carry) << 31 | u32::from(carry ^ overflow) << 30,
        }
    }

    /// The same flags with another CF.
    #[inline(always)]
    #[must_use]
    pub fn set_carry(self, carry: bool) -> Self {
        let below = carry ^ self.overflow();
        Flags {
            rest: self.rest & !(CARRY | CARRY_BELOW)
                | u32::from(carry) << 31
                | u32::from(below) << 30,
            ..self
        }
    }

    /// The same flags with other CF and OF.
    #[inline(always)]
    #[must_use]
    pub fn set_carry_overflow(self, carry: bool, overflow: bool) -> Self {
        Flags {
            rest: self.rest & !(CARRY | CARRY_BELOW)
                | u32::from(carry) << 31
                | u32::from(carry ^ overflow) << 30,
            ..self
        }
    }

    #[inline(always)]
    #[must_use]
    pub fn carry(self) -> bool {
        self.rest & CARRY != 0
    }

    #[inline(always)]
    #[must_use]
    pub fn overflow(self) -> bool {
        (self.rest ^ self.rest << 1) & CARRY != 0
    }

    #[inline(always)]
    #[must_use]
    pub fn half(self) -> bool {
        self.rest & HALF != 0
    }

    #[inline(always)]
    #[must_use]
    pub fn zero(self) -> bool {
        self.result == 0
    }

    #[inline(always)]
    #[must_use]
    pub fn sign(self) -> bool {
        (self.result >> 31 ^ self.rest) & 1 != 0
    }

    #[inline(always)]
    #[must_use]
    pub fn parity(self) -> bool {
        ((self.result ^ self.rest >> PARITY_SHIFT) as u8)
            .count_ones()
            .is_multiple_of(2)
    }

    /// As the bits of EFLAGS.
    #[must_use]
    pub fn word(self) -> u32 {
        let bit = |set: bool, flag: u32| if set { flag } else { 0 };
        bit(self.carry(), CF)
            | bit(self.parity(), PF)
            | bit(self.half(), AF)
            | bit(self.zero(), ZF)
            | bit(self.sign(), SF)
            | bit(self.overflow(), OF)
    }

    /// From the bits of EFLAGS.
    #[must_use]
    pub fn from_word(word: u32) -> Self {
        let carry = word & CF != 0;
        let overflow = word & OF != 0;
        // The byte of this result has even parity, and its sign is plus.
        let result = if word & ZF != 0 { 0 } else { 1 << 8 };
        let mut rest = u32::from(carry) << 31 | u32::from(carry ^ overflow) << 30;
        if word & AF != 0 {
            rest |= HALF;
        }
        if word & SF != 0 {
            rest |= SIGN_FLIPPED;
        }
        if word & PF == 0 {
            rest |= 1 << PARITY_SHIFT;
        }
        Flags { result, rest }
    }

    /// The condition `number` of Jcc, SETcc and CMOVcc.
    #[inline(always)]
    #[must_use]
    pub fn condition(self, number: u8) -> bool {
        let met = match number >> 1 & 7 {
            0 => self.overflow(),
            1 => self.carry(),
            2 => self.zero(),
            3 => self.carry() || self.zero(),
            4 => self.sign(),
            5 => self.parity(),
            6 => self.sign() != self.overflow(),
            _ => self.zero() || self.sign() != self.overflow(),
        };
        met != (number & 1 != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::x86::registers::eflags::STATUS;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_word_comes_back(word: u32) {
            prop_assert_eq!(Flags::from_word(word).word(), word & STATUS);
        }

        /// Against sums that have room for the carry.
        #[test]
        fn addition_and_subtraction(a: u32, b: u32, size in 0usize..3) {
            let bits = [8, 16, 32][size];
            let mask = u64::from(u32::MAX >> (32 - bits));
            let (a, b) = (u64::from(a) & mask, u64::from(b) & mask);
            let sign = |value: u64| value >> (bits - 1) & 1;
            for subtract in [false, true] {
                let (r, carries) = if subtract {
                    let r = (a as u32).wrapping_sub(b as u32);
                    (r, !(a as u32) & b as u32 | (!(a as u32) | b as u32) & r)
                } else {
                    let r = (a as u32).wrapping_add(b as u32);
                    (r, a as u32 & b as u32 | (a as u32 | b as u32) & !r)
                };
                let flags = Flags::arithmetic(bits, r, carries);
                let result = u64::from(r) & mask;
                let (carry, half, overflow) = if subtract {
                    (b > a, b & 15 > a & 15, sign(a) != sign(b) && sign(result) != sign(a))
                } else {
                    (a + b > mask, (a & 15) + (b & 15) > 15, sign(a) == sign(b) && sign(result) != sign(a))
                };
                prop_assert_eq!(flags.carry(), carry);
                prop_assert_eq!(flags.half(), half);
                prop_assert_eq!(flags.overflow(), overflow);
                prop_assert_eq!(flags.zero(), result == 0);
                prop_assert_eq!(flags.sign(), sign(result) != 0);
                prop_assert_eq!(flags.parity(), (result as u8).count_ones().is_multiple_of(2));
                prop_assert!(!flags.set_carry(false).carry() && flags.set_carry(true).carry());
                prop_assert_eq!(flags.set_carry(!carry).overflow(), overflow);
            }
        }
    }
}
