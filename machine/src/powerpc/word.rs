//! The width of a core's registers. Each instruction is written once for both: with `u32` for the cores of 32 bits,
//! with `u64` for those of 64, where MSR\[SF\] decides about addresses, carries and compares.

use std::ops::{BitAnd, BitOr, BitXor, Not};

use super::core::Core;
use super::exception::Exception;
use super::registers::{Register, Registers, condition};
use crate::memory::Datum;

/// The sum of two numbers and a carry.
pub struct Sum<W> {
    pub value: W,
    pub carry: bool,
    pub overflow: bool,
}

/// What a general register holds.
pub trait Word:
    Copy
    + Ord
    + Not<Output = Self>
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
{
    /// The core has 64 bits.
    const WIDE: bool;
    const ZERO: Self;

    fn get(r: &Registers, register: Register) -> Self;
    fn set(r: &mut Registers, register: Register, value: Self);

    /// The number of 32 bits, sign-extended.
    fn signed(value: u32) -> Self;
    /// The number of 32 bits, zero-extended.
    fn unsigned(value: u32) -> Self;
    /// The number of 64 bits, or its lower half.
    fn of(value: u64) -> Self;
    /// The lower half.
    fn low(self) -> u32;
    /// As a number of 64 bits, zero-extended.
    fn whole(self) -> u64;

    fn plus(self, other: Self) -> Self;
    /// The lower part of the product with a signed number.
    fn times(self, other: Self) -> Self;
    /// The sum; carry and overflow are those of the mode.
    fn sum(r: &Registers, left: Self, right: Self, carry: bool) -> Sum<Self>;
    /// LT, GT or EQ against 0, in the mode.
    fn sign(self, r: &Registers) -> u8;

    fn link(r: &Registers) -> Self;
    fn set_link(r: &mut Registers, value: Self);
    fn count(r: &Registers) -> Self;
    fn set_count(r: &mut Registers, value: Self);
    /// Decrements CTR; true if it is 0 then, in the mode.
    fn count_down(r: &mut Registers) -> bool;

    /// The address that a number is in the mode.
    fn address(self, r: &Registers) -> Self;
    /// `bytes` further, in the mode.
    fn further(self, r: &Registers, bytes: u32) -> Self {
        self.plus(Self::unsigned(bytes)).address(r)
    }

    /// Runs `f` with the lower half of an address. An exception gets the upper half.
    fn at<C: Core, T>(
        self,
        c: &mut C,
        f: impl FnOnce(&mut C, u32) -> Result<T, Exception>,
    ) -> Result<T, Exception>;

    #[inline(always)]
    fn load<C: Core, T: Datum>(self, c: &mut C) -> Result<T, Exception> {
        self.at(c, |c, ea| c.load(ea))
    }

    #[inline(always)]
    fn store<C: Core, T: Datum>(self, c: &mut C, value: T) -> Result<(), Exception> {
        self.at(c, |c, ea| c.store(ea, value))
    }
}

/// LT, GT or EQ of two numbers.
#[inline(always)]
pub fn order<T: Ord>(left: T, right: T) -> u8 {
    (u8::from(left < right) * condition::LT)
        | (u8::from(left > right) * condition::GT)
        | (u8::from(left == right) * condition::EQ)
}

impl Word for u32 {
    const WIDE: bool = false;
    const ZERO: u32 = 0;

    #[inline(always)]
    fn get(r: &Registers, register: Register) -> u32 {
        r.gpr.get(register)
    }

    #[inline(always)]
    fn set(r: &mut Registers, register: Register, value: u32) {
        r.gpr.set(register, value);
    }

    #[inline(always)]
    fn signed(value: u32) -> u32 {
        value
    }

    #[inline(always)]
    fn unsigned(value: u32) -> u32 {
        value
    }

    #[inline(always)]
    fn of(value: u64) -> u32 {
        value as u32
    }

    #[inline(always)]
    fn low(self) -> u32 {
        self
    }

    #[inline(always)]
    fn whole(self) -> u64 {
        self.into()
    }

    #[inline(always)]
    fn plus(self, other: u32) -> u32 {
        self.wrapping_add(other)
    }

    #[inline(always)]
    fn times(self, other: u32) -> u32 {
        self.wrapping_mul(other)
    }

    #[inline(always)]
    fn sum(_: &Registers, left: u32, right: u32, carry: bool) -> Sum<u32> {
        let (partial, out1) = left.overflowing_add(right);
        let (value, out2) = partial.overflowing_add(u32::from(carry));
        Sum {
            value,
            carry: out1 | out2,
            overflow: (left ^ value) & (right ^ value) & 0x8000_0000 != 0,
        }
    }

    #[inline(always)]
    fn sign(self, _: &Registers) -> u8 {
        order(self.cast_signed(), 0)
    }

    #[inline(always)]
    fn link(r: &Registers) -> u32 {
        r.lr
    }

    #[inline(always)]
    fn set_link(r: &mut Registers, value: u32) {
        r.lr = value;
    }

    #[inline(always)]
    fn count(r: &Registers) -> u32 {
        r.ctr
    }

    #[inline(always)]
    fn set_count(r: &mut Registers, value: u32) {
        r.ctr = value;
    }

    #[inline(always)]
    fn count_down(r: &mut Registers) -> bool {
        r.ctr = r.ctr.wrapping_sub(1);
        r.ctr == 0
    }

    #[inline(always)]
    fn address(self, _: &Registers) -> u32 {
        self
    }

    #[inline(always)]
    fn at<C: Core, T>(
        self,
        c: &mut C,
        f: impl FnOnce(&mut C, u32) -> Result<T, Exception>,
    ) -> Result<T, Exception> {
        f(c, self)
    }
}

fn halves(value: u64) -> (u32, u32) {
    ((value >> 32) as u32, value as u32)
}

fn joined(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

impl Word for u64 {
    const WIDE: bool = true;
    const ZERO: u64 = 0;

    #[inline(always)]
    fn get(r: &Registers, register: Register) -> u64 {
        r.gpr.whole(register)
    }

    #[inline(always)]
    fn set(r: &mut Registers, register: Register, value: u64) {
        r.gpr.set_whole(register, value);
    }

    #[inline(always)]
    fn signed(value: u32) -> u64 {
        value.cast_signed() as u64
    }

    #[inline(always)]
    fn unsigned(value: u32) -> u64 {
        value.into()
    }

    #[inline(always)]
    fn of(value: u64) -> u64 {
        value
    }

    #[inline(always)]
    fn low(self) -> u32 {
        self as u32
    }

    #[inline(always)]
    fn whole(self) -> u64 {
        self
    }

    #[inline(always)]
    fn plus(self, other: u64) -> u64 {
        self.wrapping_add(other)
    }

    #[inline(always)]
    fn times(self, other: u64) -> u64 {
        self.wrapping_mul(other)
    }

    /// All 64 bits are added; in 32-bit mode carry and overflow are those out of the lower half.
    #[inline(always)]
    fn sum(r: &Registers, left: u64, right: u64, carry: bool) -> Sum<u64> {
        let (partial, out1) = left.overflowing_add(right);
        let (value, out2) = partial.overflowing_add(u64::from(carry));
        let overflow = (left ^ value) & (right ^ value);
        if r.wide.mode {
            Sum {
                value,
                carry: out1 | out2,
                overflow: overflow >> 63 != 0,
            }
        } else {
            Sum {
                value,
                // Bit 32 of the sum without the upper halves.
                carry: (left ^ right ^ value) >> 32 & 1 != 0,
                overflow: overflow >> 31 & 1 != 0,
            }
        }
    }

    #[inline(always)]
    fn sign(self, r: &Registers) -> u8 {
        if r.wide.mode {
            order(self.cast_signed(), 0)
        } else {
            order((self as u32).cast_signed(), 0)
        }
    }

    #[inline(always)]
    fn link(r: &Registers) -> u64 {
        joined(r.wide.lr, r.lr)
    }

    #[inline(always)]
    fn set_link(r: &mut Registers, value: u64) {
        (r.wide.lr, r.lr) = halves(value);
    }

    #[inline(always)]
    fn count(r: &Registers) -> u64 {
        joined(r.wide.ctr, r.ctr)
    }

    #[inline(always)]
    fn set_count(r: &mut Registers, value: u64) {
        (r.wide.ctr, r.ctr) = halves(value);
    }

    #[inline(always)]
    fn count_down(r: &mut Registers) -> bool {
        let count = Self::count(r).wrapping_sub(1);
        Self::set_count(r, count);
        count.address(r) == 0
    }

    #[inline(always)]
    fn address(self, r: &Registers) -> u64 {
        if r.wide.mode {
            self
        } else {
            u64::from(self as u32)
        }
    }

    #[inline(always)]
    fn at<C: Core, T>(
        self,
        c: &mut C,
        f: impl FnOnce(&mut C, u32) -> Result<T, Exception>,
    ) -> Result<T, Exception> {
        let (far, ea) = halves(self);
        if far == 0 {
            return f(c, ea);
        }
        c.far(far, |c| f(c, ea))
    }
}
