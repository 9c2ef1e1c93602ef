//! Loads and stores of shorter formats, integers and packed decimal numbers (SDM volume 1, sections 4.8 and 8.2).

use super::arithmetic::{denormal, special_one};
use super::extended::{Class, Extended, Loaded};
use super::round::{Computed, Control, fit, integer, overflows};
use super::status;
use crate::float::Format;

/// What a store writes, and the exceptions that it raises.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stored {
    pub bits: u64,
    pub flags: u16,
    pub up: bool,
}

/// FLD of a shorter format.
pub(super) fn load(loaded: Loaded) -> Computed {
    if loaded.value.class() == Class::Signalling {
        return Computed::plain(loaded.value.quiet(), status::INVALID);
    }
    Computed::plain(loaded.value, denormal(loaded.denormal))
}

/// FST to a shorter format.
pub(super) fn store(value: Extended, control: Control, format: Format) -> Stored {
    if let Some(special) = special_one(value) {
        return Stored {
            bits: special.value.narrow_nan(format),
            flags: special.flags,
            up: false,
        };
    }
    let infinity = format.signed(value.is_negative(), format.infinity());
    if value.class() == Class::Infinity {
        return Stored {
            bits: infinity,
            flags: 0,
            up: false,
        };
    }
    let (fitted, flags) = fit(value.exact(), control, format);
    match overflows(&fitted, flags, control) {
        Some(infinite) => Stored {
            // Of the same sign the largest number is next to infinity.
            bits: infinity - u64::from(!infinite),
            flags: flags | status::PRECISION,
            up: infinite,
        },
        None => Stored {
            bits: format.pack(&fitted),
            flags,
            up: fitted.up,
        },
    }
}

/// FIST to an integer of so many bits.
pub(super) fn store_integer(value: Extended, control: Control, bits: u32) -> Stored {
    let least = 1 << (bits - 1);
    let invalid = Stored {
        bits: least,
        flags: status::INVALID,
        up: false,
    };
    if matches!(
        value.class(),
        Class::Unsupported | Class::Infinity | Class::Quiet | Class::Signalling
    ) {
        return invalid;
    }
    let negative = value.is_negative();
    match integer(value.exact(), control.mode()) {
        Some((magnitude, flags, up)) if magnitude < least + u64::from(negative) => {
            let signed = if negative {
                magnitude.wrapping_neg()
            } else {
                magnitude
            };
            Stored {
                bits: signed & (u64::MAX >> (64 - bits)),
                flags,
                up,
            }
        }
        _ => invalid,
    }
}

/// The decimal number of FBSTP that tells an invalid operation: its lower 64 bits and its upper 16.
const INDEFINITE: (u64, u16) = (0xc000_0000_0000_0000, 0xffff);
/// Larger than the largest.
const DECIMAL: u64 = 1_000_000_000_000_000_000;

/// FBLD: eighteen digits, two a byte, and a sign in the last byte.
pub(super) fn from_decimal(low: u64, high: u16) -> Extended {
    let digits = u128::from(high & 0xff) << 64 | u128::from(low);
    let digit = |n: u32| (digits >> (4 * n)) as u64 & 0xf;
    // Digits above nine are undefined: they count as they are.
    let magnitude = (0..18).rev().fold(0, |sum, n| sum * 10 + digit(n));
    Extended::from_integer(magnitude.cast_signed()).with_sign(high & 0x8000 != 0)
}

/// FBSTP: lower 64 bits, upper 16, the exceptions, and whether the magnitude was rounded up.
pub(super) fn to_decimal(value: Extended, control: Control) -> (u64, u16, u16, bool) {
    let invalid = (INDEFINITE.0, INDEFINITE.1, status::INVALID, false);
    if matches!(
        value.class(),
        Class::Unsupported | Class::Infinity | Class::Quiet | Class::Signalling
    ) {
        return invalid;
    }
    match integer(value.exact(), control.mode()) {
        Some((magnitude, flags, up)) if magnitude < DECIMAL => {
            let mut digits = 0_u128;
            let mut rest = magnitude;
            for n in 0..18 {
                digits |= u128::from(rest % 10) << (4 * n);
                rest /= 10;
            }
            let sign = if value.is_negative() { 0x8000 } else { 0 };
            (digits as u64, (digits >> 64) as u16 | sign, flags, up)
        }
        _ => invalid,
    }
}
