//! Exact values, and rounding them to single or double precision.

use super::status::{fpscr, raise};
use crate::powerpc::registers::Registers;

pub const SIGN: u64 = 1 << 63;
pub const INFINITY: u64 = 0x7ff << 52;
/// The quiet bit of a NaN.
pub const QUIET: u64 = 1 << 51;
/// The NaN of an invalid operation.
pub const DEFAULT_NAN: u64 = INFINITY | QUIET;
const FRACTION: u64 = (1 << 52) - 1;

pub fn is_nan(value: u64) -> bool {
    value & !SIGN > INFINITY
}

pub fn is_signalling(value: u64) -> bool {
    is_nan(value) && value & QUIET == 0
}

pub fn is_infinite(value: u64) -> bool {
    value & !SIGN == INFINITY
}

pub fn is_zero(value: u64) -> bool {
    value & !SIGN == 0
}

/// A precision that results are rounded to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    Single,
    Double,
}

impl Precision {
    /// Bits of the significand.
    fn bits(self) -> u32 {
        match self {
            Precision::Single => 24,
            Precision::Double => 53,
        }
    }

    /// Exponent of the largest numbers; the smallest normal ones have one minus this.
    fn largest(self) -> i32 {
        match self {
            Precision::Single => 127,
            Precision::Double => 1023,
        }
    }

    /// The bias that an enabled overflow or underflow adds to the exponent (PEM 3.3.6.2.1).
    fn adjustment(self) -> i32 {
        match self {
            Precision::Single => 192,
            Precision::Double => 1536,
        }
    }
}

/// A finite number: `significand` x 2^(exponent - 127), with bit 127 set unless it is zero; plus,
/// when `sticky`, something smaller than its last bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exact {
    pub negative: bool,
    pub exponent: i32,
    pub significand: u128,
    pub sticky: bool,
}

impl Exact {
    /// The finite value of `bits`.
    pub fn from_bits(bits: u64) -> Exact {
        let field = (bits >> 52 & 0x7ff) as i32;
        let fraction = u128::from(bits & FRACTION);
        let (exponent, significand) = if field == 0 {
            (-1022, fraction << 75)
        } else {
            (field - 1023, (fraction | 1 << 52) << 75)
        };
        Exact {
            negative: bits & SIGN != 0,
            exponent,
            significand,
            sticky: false,
        }
        .normalized()
    }

    pub fn is_zero(&self) -> bool {
        self.significand == 0
    }

    /// With bit 127 of the significand set.
    pub fn normalized(self) -> Exact {
        if self.significand == 0 {
            return self;
        }
        let shift = self.significand.leading_zeros();
        Exact {
            exponent: self.exponent - shift as i32,
            significand: self.significand << shift,
            ..self
        }
    }

    /// The square root of a number that is not negative and has no more bits than a double.
    pub fn root(self) -> Exact {
        let scale = self.exponent - 127;
        // An even scale, for its half is the root's. The lowest bit of the significand is 0.
        let odd = scale.rem_euclid(2);
        let significand = self.significand >> odd;
        let root = significand.isqrt();
        Exact {
            negative: false,
            exponent: (scale + odd) / 2 + 63,
            significand: root << 64,
            sticky: root * root != significand,
        }
        .normalized()
    }

    /// Shifted right by `by` bits; lost bits make it sticky.
    fn shifted(self, by: u32) -> Exact {
        let (significand, lost) = if by > 127 {
            (0, self.significand != 0)
        } else if by == 0 {
            (self.significand, false)
        } else {
            (self.significand >> by, self.significand << (128 - by) != 0)
        };
        Exact {
            significand,
            sticky: self.sticky | lost,
            exponent: self.exponent + by as i32,
            ..self
        }
    }

    /// The product of two numbers of at most 64 significant bits.
    pub fn times(self, other: Exact) -> Exact {
        let product = (self.significand >> 64) * (other.significand >> 64);
        Exact {
            negative: self.negative != other.negative,
            // The product of two significands below 2 is below 4, so bit 127 has twice the weight.
            exponent: self.exponent + other.exponent + 1,
            significand: product,
            sticky: false,
        }
        .normalized()
    }

    /// The quotient of two numbers of at most 53 significant bits, `other` not zero.
    pub fn over(self, other: Exact) -> Exact {
        let (dividend, divisor) = (self.significand >> 1, other.significand >> 75);
        Exact {
            negative: self.negative != other.negative,
            exponent: self.exponent - other.exponent + 53,
            significand: dividend / divisor,
            sticky: dividend % divisor != 0,
        }
        .normalized()
    }

    /// The sum; `toward_negative` is the rounding mode that makes an exact zero negative.
    pub fn plus(self, other: Exact, toward_negative: bool) -> Exact {
        if self.is_zero() && other.is_zero() {
            let negative = if self.negative == other.negative {
                self.negative
            } else {
                toward_negative
            };
            return Exact { negative, ..self };
        }
        if self.is_zero() {
            return other;
        }
        if other.is_zero() {
            return self;
        }
        // One bit of room for the carry.
        let (a, b) = (self.shifted(1), other.shifted(1));
        let (large, small) = if (a.exponent, a.significand) >= (b.exponent, b.significand) {
            (a, b)
        } else {
            (b, a)
        };
        let small = small.shifted((large.exponent - small.exponent) as u32);
        if large.negative == small.negative {
            return Exact {
                significand: large.significand + small.significand,
                sticky: large.sticky | small.sticky,
                ..large
            }
            .normalized();
        }
        let borrow = u128::from(small.sticky);
        let difference = large.significand - small.significand - borrow;
        if difference == 0 && !small.sticky {
            return Exact {
                negative: toward_negative,
                significand: 0,
                ..large
            };
        }
        Exact {
            significand: difference,
            sticky: large.sticky | small.sticky,
            ..large
        }
        .normalized()
    }
}

/// Rounding modes of FPSCR[RN].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Nearest,
    Zero,
    Up,
    Down,
}

pub fn mode(r: &Registers) -> Mode {
    match r.fpscr & fpscr::RN {
        0 => Mode::Nearest,
        1 => Mode::Zero,
        2 => Mode::Up,
        _ => Mode::Down,
    }
}

impl Mode {
    /// True if rounding increases the magnitude: its last bit is `odd`, and the remainder is compared with half of
    /// that bit.
    pub fn increments(self, negative: bool, odd: bool, remainder: Remainder) -> bool {
        match self {
            Mode::Nearest => {
                remainder == Remainder::AboveHalf || remainder == Remainder::Half && odd
            }
            Mode::Zero => false,
            Mode::Up => !negative && remainder != Remainder::None,
            Mode::Down => negative && remainder != Remainder::None,
        }
    }
}

/// The remainder below the last kept bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remainder {
    None,
    BelowHalf,
    Half,
    AboveHalf,
}

/// Keeps the upper `bits` of `exact`'s significand, aligned to the right. Also returns the remainder.
pub fn split(exact: Exact, bits: u32) -> (u64, Remainder) {
    let kept = (exact.significand >> (128 - bits)) as u64;
    let rest = exact.significand << bits;
    let half = 1u128 << 127;
    let remainder = match (rest.cmp(&half), rest == 0, exact.sticky) {
        (_, true, false) => Remainder::None,
        (_, true, true) | (std::cmp::Ordering::Less, ..) => Remainder::BelowHalf,
        (std::cmp::Ordering::Equal, _, false) => Remainder::Half,
        _ => Remainder::AboveHalf,
    };
    (kept, remainder)
}

/// A rounded result and the exceptions of rounding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rounded {
    /// In register format.
    pub bits: u64,
    /// OX, UX, XX, FI and FR.
    pub status: u32,
    /// FPRF.
    pub class: u32,
}

/// FPRF of a value in double precision (PEM table 2-5), in place.
pub fn class(bits: u64) -> u32 {
    let negative = bits & SIGN != 0;
    let code = match (bits >> 52 & 0x7ff, bits & FRACTION) {
        (0x7ff, 0) => {
            if negative {
                0x09
            } else {
                0x05
            }
        }
        (0x7ff, _) => 0x11,
        (0, 0) => {
            if negative {
                0x12
            } else {
                0x02
            }
        }
        (0, _) => {
            if negative {
                0x18
            } else {
                0x14
            }
        }
        _ => {
            if negative {
                0x08
            } else {
                0x04
            }
        }
    };
    code << 12
}

/// The bits of `significand` x 2^(exponent - 52), or less bits for a smaller significand.
fn pack(negative: bool, exponent: i32, significand: u64) -> u64 {
    let sign = if negative { SIGN } else { 0 };
    if significand == 0 {
        return sign;
    }
    let shift = significand.leading_zeros() as i32 - 11;
    let (significand, exponent) = (significand << shift, exponent - shift);
    if exponent < -1022 {
        return sign | significand >> (-1022 - exponent);
    }
    sign | ((exponent + 1023) as u64) << 52 | significand & FRACTION
}

/// Rounds under the FPSCR in `r`, which is not changed.
pub fn round(r: &Registers, exact: Exact, precision: Precision) -> Rounded {
    let mode = mode(r);
    let bits = precision.bits();
    let smallest = 1 - precision.largest();
    if exact.is_zero() && !exact.sticky {
        let zero = pack(exact.negative, 0, 0);
        return Rounded {
            bits: zero,
            status: 0,
            class: class(zero),
        };
    }
    let mut status = 0;
    let mut exact = exact;
    // Tininess is detected before rounding (PEM 3.3.6.2.2).
    let tiny = exact.exponent < smallest;
    let underflow_enabled = r.fpscr & fpscr::UE != 0;
    if tiny && underflow_enabled {
        exact.exponent += precision.adjustment();
        status |= fpscr::UX;
    } else if tiny {
        exact = exact.shifted((smallest - exact.exponent) as u32);
    }
    let (kept, remainder) = split(exact, bits);
    let up = mode.increments(exact.negative, kept & 1 != 0, remainder);
    let rounded = kept + u64::from(up);
    let mut exponent = exact.exponent + i32::from(rounded >> bits != 0);
    if remainder != Remainder::None {
        status |= fpscr::XX | fpscr::FI;
        if tiny && !underflow_enabled {
            status |= fpscr::UX;
        }
    }
    if up {
        status |= fpscr::FR;
    }
    if exponent > precision.largest() {
        status |= fpscr::OX;
        if r.fpscr & fpscr::OE == 0 {
            return overflow(mode, exact.negative, precision);
        }
        exponent -= precision.adjustment();
    }
    // A carry out of the significand leaves a power of two.
    let significand = if rounded >> bits != 0 {
        rounded >> 1
    } else {
        rounded
    };
    let packed = pack(exact.negative, exponent, significand << (53 - bits));
    let denormal = tiny && !underflow_enabled && significand >> (bits - 1) == 0 && significand != 0;
    Rounded {
        bits: packed,
        status,
        class: match (denormal, exact.negative) {
            (false, _) => class(packed),
            (true, false) => 0x14 << 12,
            (true, true) => 0x18 << 12,
        },
    }
}

/// The result of a disabled overflow (PEM table 3-13).
fn overflow(mode: Mode, negative: bool, precision: Precision) -> Rounded {
    let infinite = match mode {
        Mode::Nearest => true,
        Mode::Zero => false,
        Mode::Up => !negative,
        Mode::Down => negative,
    };
    let largest = match precision {
        Precision::Single => 0x47ef_ffff_e000_0000,
        Precision::Double => INFINITY - 1,
    };
    let bits = if negative { SIGN } else { 0 } | if infinite { INFINITY } else { largest };
    Rounded {
        bits,
        // FR is left undefined by the architecture: set when the magnitude grew.
        status: fpscr::OX | fpscr::XX | fpscr::FI | if infinite { fpscr::FR } else { 0 },
        class: class(bits),
    }
}

/// Ends an arithmetic instruction: FR, FI and FPRF follow the result; exceptions add up; an enabled
/// invalid operation or zero divide leaves the target as it was (PEM 3.3.6.1).
pub fn deliver(r: &mut Registers, target: usize, result: Rounded) {
    r.fpscr &= !(fpscr::FR | fpscr::FI);
    raise(r, result.status);
    let invalid = result.status & fpscr::VX_ALL != 0 && r.fpscr & fpscr::VE != 0;
    let divide = result.status & fpscr::ZX != 0 && r.fpscr & fpscr::ZE != 0;
    if invalid || divide {
        return;
    }
    let fields = fpscr::FR | fpscr::FI | fpscr::FPRF;
    r.fpscr = r.fpscr & !fields | result.status & (fpscr::FR | fpscr::FI) | result.class;
    r.fpr[target & 31] = result.bits;
}

/// A result that needs no rounding: a NaN, an infinity.
pub fn special(bits: u64, status: u32) -> Rounded {
    Rounded {
        bits,
        status,
        class: class(bits),
    }
}

/// The first NaN among the operands, quieted, in the order of priority frA, frB, frC (PEM 3.3.5); raises VXSNAN if
/// any is signalling.
pub fn propagated(operands: &[u64]) -> Option<(u64, u32)> {
    let nan = operands.iter().find(|&&v| is_nan(v))?;
    let status = if operands.iter().any(|&v| is_signalling(v)) {
        fpscr::VXSNAN
    } else {
        0
    };
    Some((nan | QUIET, status))
}
