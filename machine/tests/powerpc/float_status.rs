//! FR, FI and FPRF, which qemu-ppc does not judge: against exact arithmetic on integers.
//!
//! An IEEE number is an integer times a power of two. The exact result of an instruction is computed on such integers
//! without rounding; FI then says whether the result differs from it, FR whether the result's magnitude is the larger
//! one (PEM table 2-4).

use crate::support::config;
use num_bigint::{BigInt, Sign};
use pagewalk_machine::board::Console;
use pagewalk_machine::powerpc::loader::Boot;
use pagewalk_machine::powerpc::machine::{Limits, Machine, Stop};
use pagewalk_machine::powerpc::msr;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};

const CODE: u32 = 0x10_0000;

/// Bits of the FPSCR.
const FR: u32 = 0x0004_0000;
const FI: u32 = 0x0002_0000;
const OX: u32 = 0x1000_0000;

/// f1 (operation) f2, f3 for the fused ones.
#[derive(Clone, Copy, Debug)]
enum Operation {
    Add,
    Subtract,
    Multiply,
    Divide,
    /// f1 x f3 + f2.
    MultiplyAdd,
    MultiplySubtract,
    NegativeMultiplyAdd,
    NegativeMultiplySubtract,
    Round,
}

use Operation::{
    Add, Divide, Multiply, MultiplyAdd, MultiplySubtract, NegativeMultiplyAdd,
    NegativeMultiplySubtract, Round, Subtract,
};

const OPERATIONS: [Operation; 9] = [
    Add,
    Subtract,
    Multiply,
    Divide,
    MultiplyAdd,
    MultiplySubtract,
    NegativeMultiplyAdd,
    NegativeMultiplySubtract,
    Round,
];

impl Operation {
    /// The instruction with f4 as its target (PEM appendix A).
    fn word(self, single: bool) -> u32 {
        let opcode = if single { 59 } else { 63 };
        let (extended, b, c) = match self {
            Add => (21, 2, 0),
            Subtract => (20, 2, 0),
            Multiply => (25, 0, 3),
            Divide => (18, 2, 0),
            MultiplyAdd => (29, 2, 3),
            MultiplySubtract => (28, 2, 3),
            NegativeMultiplyAdd => (31, 2, 3),
            NegativeMultiplySubtract => (30, 2, 3),
            Round => return 63 << 26 | 4 << 21 | 1 << 11 | 12 << 1,
        };
        opcode << 26 | 4 << 21 | 1 << 16 | b << 11 | c << 6 | extended << 1
    }

    /// numerator x 2^exponent / denominator of the exact result.
    fn exact(self, a: f64, b: f64, c: f64) -> (BigInt, i64, BigInt) {
        let one = || BigInt::from(1);
        let fused = |subtract: bool, negate: bool| {
            let product = (integer(a) * integer(c), -2 * SCALE);
            let addend = integer(b) << SCALE;
            let sum = if subtract {
                product.0 - addend
            } else {
                product.0 + addend
            };
            (if negate { -sum } else { sum }, product.1, one())
        };
        match self {
            Add => (integer(a) + integer(b), -SCALE, one()),
            Subtract => (integer(a) - integer(b), -SCALE, one()),
            Multiply => (integer(a) * integer(c), -2 * SCALE, one()),
            Divide => (integer(a), 0, integer(b)),
            MultiplyAdd => fused(false, false),
            MultiplySubtract => fused(true, false),
            NegativeMultiplyAdd => fused(false, true),
            NegativeMultiplySubtract => fused(true, true),
            Round => (integer(a), -SCALE, one()),
        }
    }
}

/// Every finite double is a multiple of 2^-1074.
const SCALE: i64 = 1074;

/// `value` x 2^1074.
fn integer(value: f64) -> BigInt {
    let bits = value.to_bits();
    let (field, fraction) = (bits >> 52 & 0x7ff, bits & ((1 << 52) - 1));
    let magnitude = match field {
        0 => BigInt::from(fraction),
        _ => BigInt::from(fraction | 1 << 52) << (field - 1),
    };
    if bits >> 63 != 0 {
        -magnitude
    } else {
        magnitude
    }
}

/// Is the magnitude of `result` less than, equal to or greater than that of the exact result?
fn compare(
    result: f64,
    (numerator, exponent, denominator): (BigInt, i64, BigInt),
) -> std::cmp::Ordering {
    // result x 2^1074 x denominator against numerator x 2^(exponent + 1074).
    let mut left = BigInt::from_biguint(Sign::Plus, integer(result).magnitude().clone())
        * BigInt::from_biguint(Sign::Plus, denominator.magnitude().clone());
    let mut right = BigInt::from_biguint(Sign::Plus, numerator.magnitude().clone());
    let shift = exponent + SCALE;
    if shift >= 0 {
        right <<= shift;
    } else {
        left <<= -shift;
    }
    left.cmp(&right)
}

/// FPRF of a result (PEM table 2-5).
fn class(result: f64, single: bool) -> u32 {
    use std::num::FpCategory::{Infinite, Nan, Normal, Subnormal, Zero};
    // A single's class is that of the number in single format (PEM appendix D.4).
    let category = if single {
        (result as f32).classify()
    } else {
        result.classify()
    };
    let code = match (category, result.is_sign_negative()) {
        (Nan, _) => 0b10001,
        (Infinite, true) => 0b01001,
        (Normal, true) => 0b01000,
        (Subnormal, true) => 0b11000,
        (Zero, true) => 0b10010,
        (Zero, false) => 0b00010,
        (Subnormal, false) => 0b10100,
        (Normal, false) => 0b00100,
        (Infinite, false) => 0b00101,
    };
    code << 12
}

/// Runs one instruction on f1, f2 and f3; gives f4 and the FPSCR.
fn execute(machine: &mut Machine, word: u32, operands: [f64; 3], rounding: u32) -> (f64, u32) {
    machine
        .processor_mut()
        .memory
        .uncore
        .ram
        .write_u32(CODE, word);
    machine.processor_mut().memory.instruction.invalidate_all();
    let r = &mut machine.processor_mut().registers;
    r.fpr[1..4].copy_from_slice(&operands.map(f64::to_bits));
    r.fpr[4] = 0;
    r.fpscr = rounding;
    r.msr = msr::PR | msr::FP;
    r.pc = CODE;
    machine.processor_mut().state_changed();
    let instructions = machine.instant().instructions + 1;
    let stop = machine.run(Limits {
        instructions,
        cycles: u64::MAX,
    });
    assert_eq!(stop, Stop::Limit);
    (
        f64::from_bits(machine.processor_mut().registers.fpr[4]),
        machine.processor_mut().registers.fpscr,
    )
}

/// Numbers near one another, near the limits of both precisions, and short ones, whose results are exact.
fn operand() -> impl Strategy<Value = f64> {
    let exponent = prop_oneof![
        4 => 1000u64..1046,
        1 => 1u64..120,
        1 => 1930u64..2047,
        2 => 860u64..920,
        1 => 1130u64..1160,
        1 => Just(0u64),
    ];
    let fraction = prop_oneof![
        any::<u64>(),
        any::<u64>().prop_map(|f| f & !0x1fff_ffff),
        any::<u64>().prop_map(|f| f & (0xff << 44)),
        any::<u64>().prop_map(|f| f | 0xf_ffff_0000_0000),
    ];
    (exponent, fraction, any::<bool>()).prop_map(|(exponent, fraction, negative)| {
        let sign = u64::from(negative) << 63;
        f64::from_bits(sign | exponent << 52 | fraction & ((1 << 52) - 1))
    })
}

#[test]
fn fraction_bits_tell_how_the_result_was_rounded() {
    let boot = Boot::default();
    let mut machine =
        Machine::new(config("ppc604-133", &[]), &boot, Console::memory()).expect("a machine");
    machine.set_hosted(true);
    machine.processor_mut().memory.enable_caches();
    let mut runner = TestRunner::new(Config {
        rng_seed: RngSeed::Fixed(0x0066_7072_6600),
        failure_persistence: None,
        ..Config::with_cases(20_000)
    });
    let cases = (
        prop::sample::select(&OPERATIONS[..]),
        any::<bool>(),
        0u32..4,
        [operand(), operand(), operand()],
    );
    let machine = std::cell::RefCell::new(machine);
    runner
        .run(&cases, |(operation, single, rounding, [a, b, c])| {
            let single = single || matches!(operation, Round);
            prop_assume!(!matches!(operation, Divide) || b != 0.0);
            let word = operation.word(single);
            let (result, status) = execute(&mut machine.borrow_mut(), word, [a, b, c], rounding);
            let fprf = status & 0x0001_f000;
            prop_assert_eq!(fprf, class(result, single), "FPRF of {:e}", result);
            // FR is undefined after an overflow (PEM table 3-13).
            if status & OX != 0 {
                prop_assert!(status & FI != 0);
                return Ok(());
            }
            let order = compare(result, operation.exact(a, b, c));
            prop_assert_eq!(status & FI != 0, order.is_ne(), "FI, {:e}", result);
            prop_assert_eq!(status & FR != 0, order.is_gt(), "FR, {:e}", result);
            Ok(())
        })
        .unwrap_or_else(|failure| panic!("{failure}"));
}
