//! Instructions whose operands are registers.

use std::cmp::Ordering;

use super::arithmetic::{compare, compute, square_root};
use super::extended::{Class, Extended};
use super::remainder::{Partial, extract, partial_remainder, scale, to_integer};
use super::round::{Computed, Control, round};
use super::transcendental::{
    Function, arctangent, exponential, logarithm, logarithm_of_successor, trigonometric,
};
use super::{AF, CF, Fpu, Host, OF, PF, SF, ZF, operation, status};
use crate::float::Exact;
use crate::x86::config::Kind;
use crate::x86::exception::Exception;

/// The constants of FLD1, FLDL2T, FLDL2E, FLDPI, FLDLG2 and FLDLN2: exponent and significand. The latter is cut; more
/// bits follow, so that it is rounded as the control word says (SDM volume 1, 8.3.8 and table 8-7).
const CONSTANTS: [(i32, u64, u64); 6] = [
    (0, 0x8000_0000_0000_0000, 0),
    (1, 0xd49a_784b_cd1b_8afe, 0x492b_f6ff_4daf_db4c),
    (0, 0xb8aa_3b29_5c17_f0bb, 0xbe87_fed0_691d_3e88),
    (1, 0xc90f_daa2_2168_c234, 0xc4c6_628b_80dc_1cd1),
    (-2, 0x9a20_9a84_fbcf_f798, 0x8f89_59ac_0b7c_9178),
    (-1, 0xb172_17f7_d1cf_79ab, 0xc9e3_b398_03f2_f6af),
];

impl Fpu {
    /// `opcode`: the low three bits of the first byte.
    pub(super) fn register<H: Host>(
        &mut self,
        opcode: u8,
        modrm: u8,
        host: &mut H,
    ) -> Result<(), Exception> {
        let (number, i) = (modrm >> 3 & 7, modrm & 7);
        // What does not wait for a pending error: FNENI, FNDISI, FNCLEX, FNINIT, FNSETPM, FNSTSW AX.
        match (opcode, modrm) {
            (3, 0xe0 | 0xe1 | 0xe4) => return Ok(()),
            (3, 0xe2) => {
                self.status &= !(status::EXCEPTIONS | status::STACK | status::SUMMARY);
                return Ok(());
            }
            (3, 0xe3) => {
                self.initialize();
                return Ok(());
            }
            (7, 0xe0) => {
                host.set_ax(self.status_word());
                return Ok(());
            }
            _ if !exists(opcode, modrm, host.kind()) => return Err(Exception::INVALID_OPCODE),
            _ => self.wait()?,
        }
        match (opcode, number) {
            (0, 2) | (4, 2) => self.compare_with_register(i, false, 0),
            (0, 3) | (4, 3) | (6, 2) => self.compare_with_register(i, false, 1),
            (0, _) => {
                self.arithmetic(number, i, 0);
            }
            (4, _) => {
                self.arithmetic(number, i, i);
            }
            (6, 3) => self.compare_with_register(i, false, 2),
            (6, _) => {
                if self.arithmetic(number, i, i) {
                    self.pop();
                }
            }
            (1, 0) => {
                let value = self.get(i);
                self.push(
                    value.map_or_else(Computed::underflow, |value| Computed::plain(value, 0)),
                );
            }
            (1 | 5 | 7, 1) => self.exchange(i),
            (1, 2) => {}
            (1, 3) => {
                // An old form that checks nothing.
                if let Some(top) = self.get(0) {
                    self.set(i, top);
                }
                self.set_codes(status::C1, 0);
                self.pop();
            }
            (5, 3) | (7, 2 | 3) => self.copy_to(i, true),
            (5, 2) => self.copy_to(i, false),
            (1, 4) => self.unary(i),
            (1, 5) => self.load_constant(usize::from(i)),
            (1, _) => self.function(modrm),
            (2 | 3, 0..=3) => self.move_if(number, opcode == 3, i, host.eflags()),
            (2, _) => self.compare_with_register(i, true, 2),
            (3, 5) => self.compare_to_flags(i, true, false, host),
            (3, _) => self.compare_to_flags(i, false, false, host),
            (5, 0) => {
                self.set_codes(status::C1, 0);
                self.free(i);
            }
            (5, 4) => self.compare_with_register(i, true, 0),
            (5, _) => self.compare_with_register(i, true, 1),
            (7, 0) => {
                self.set_codes(status::C1, 0);
                self.free(i);
                self.pop();
            }
            (7, 5) => self.compare_to_flags(i, true, true, host),
            _ => self.compare_to_flags(i, false, true, host),
        }
        Ok(())
    }

    /// Between the top and register `i`, with the result in `destination`, which is one of them.
    fn arithmetic(&mut self, number: u8, i: u8, destination: u8) -> bool {
        // The top is the first operand, wherever the result goes.
        let Some(operation) = operation(number) else {
            return false;
        };
        let result = match (self.get(0), self.get(i)) {
            (Some(top), Some(other)) => compute(operation, top, other, false, self.control()),
            _ => Computed::underflow(),
        };
        self.deliver(destination, result)
    }

    /// Did the last comparison end without an unmasked exception, so that it may pop?
    pub(super) fn finished(&self) -> bool {
        self.status & status::SUMMARY == 0
    }

    /// Sets C3, C2 and C0 as a comparison does.
    pub(super) fn set_order(&mut self, order: Option<Ordering>, flags: u16) {
        self.raise(flags, false);
        let codes = match order {
            Some(Ordering::Greater) => 0,
            Some(Ordering::Less) => status::C0,
            Some(Ordering::Equal) => status::C3,
            None => status::C0 | status::C2 | status::C3,
        };
        self.set_codes(status::C0 | status::C2 | status::C3, codes);
    }

    fn order(&self, i: u8, quietly: bool) -> (Option<Ordering>, u16) {
        match (self.get(0), self.get(i)) {
            (Some(top), Some(other)) => compare(top, other, quietly),
            _ => (None, status::INVALID | status::STACK),
        }
    }

    fn compare_with_register(&mut self, i: u8, quietly: bool, pops: u8) {
        let (order, flags) = self.order(i, quietly);
        self.set_order(order, flags);
        if self.finished() {
            for _ in 0..pops {
                self.pop();
            }
        }
    }

    /// FCOMI and FUCOMI: ZF, PF and CF; the other flags become 0. C1 stays, unless a register is empty.
    fn compare_to_flags<H: Host>(&mut self, i: u8, quietly: bool, pop: bool, host: &mut H) {
        let (order, flags) = self.order(i, quietly);
        let up = flags & status::STACK == 0 && self.status & status::C1 != 0;
        let goes_on = self.raise(flags, up);
        let codes = match order {
            Some(Ordering::Greater) => 0,
            Some(Ordering::Less) => CF,
            Some(Ordering::Equal) => ZF,
            None => ZF | PF | CF,
        };
        host.set_eflags(host.eflags() & !(OF | SF | ZF | AF | PF | CF) | codes);
        if goes_on && pop {
            self.pop();
        }
    }

    fn exchange(&mut self, i: u8) {
        let (top, other) = (self.get(0), self.get(i));
        let flags = if top.is_none() || other.is_none() {
            status::INVALID | status::STACK
        } else {
            0
        };
        if self.raise(flags, false) {
            self.set(0, other.unwrap_or(Extended::INDEFINITE));
            self.set(i, top.unwrap_or(Extended::INDEFINITE));
        }
    }

    /// FST and FSTP to a register.
    fn copy_to(&mut self, i: u8, pop: bool) {
        let value = self.get(0);
        let result = value.map_or_else(Computed::underflow, |value| Computed::plain(value, 0));
        if self.deliver(i, result) && pop {
            self.pop();
        }
    }

    /// FCMOVcc: `number` chooses below, equal, below or equal, unordered; `not` the opposite.
    fn move_if(&mut self, number: u8, not: bool, i: u8, eflags: u32) {
        let flags = match number {
            0 => CF,
            1 => ZF,
            2 => CF | ZF,
            _ => PF,
        };
        let holds = (eflags & flags != 0) != not;
        match (self.get(0), self.get(i)) {
            (Some(_), Some(other)) if holds => self.set(0, other),
            (Some(_), Some(_)) => {}
            _ => {
                self.deliver(0, Computed::underflow());
            }
        }
    }

    /// FCHS, FABS, FTST, FXAM.
    fn unary(&mut self, i: u8) {
        match i {
            0 | 1 => {
                let result = match self.get(0) {
                    Some(top) if i == 0 => Computed::plain(top.negated(), 0),
                    Some(top) => Computed::plain(top.with_sign(false), 0),
                    None => Computed::underflow(),
                };
                self.deliver(0, result);
            }
            4 => {
                let (order, flags) = match self.get(0) {
                    Some(top) => compare(top, Extended::ZERO, false),
                    None => (None, status::INVALID | status::STACK),
                };
                self.set_order(order, flags);
            }
            _ => self.examine(),
        }
    }

    /// FXAM: C3, C2 and C0 tell the class, C1 the sign, of an empty register too.
    fn examine(&mut self) {
        let top = self.content(0);
        let class = match top.class() {
            _ if self.is_empty(0) => status::C3 | status::C0,
            Class::Unsupported => 0,
            Class::Quiet | Class::Signalling => status::C0,
            Class::Normal => status::C2,
            Class::Infinity => status::C2 | status::C0,
            Class::Zero => status::C3,
            Class::Denormal => status::C3 | status::C2,
        };
        let sign = if top.is_negative() { status::C1 } else { 0 };
        self.set_codes(status::CODES, class | sign);
    }

    fn load_constant(&mut self, i: usize) {
        let result = match CONSTANTS.get(i) {
            Some(&(exponent, high, low)) => {
                let exact = Exact {
                    negative: false,
                    exponent,
                    significand: u128::from(high) << 64 | u128::from(low),
                    sticky: false,
                };
                // It raises no precision exception.
                Computed::plain(round(exact, self.control(), 64).value, 0)
            }
            None => Computed::plain(Extended::ZERO, 0),
        };
        self.push(result);
    }

    /// 0xd9 0xf0 to 0xd9 0xff.
    fn function(&mut self, modrm: u8) {
        let control = self.control();
        match modrm {
            0xf0 => self.one_operand(exponential),
            0xf1 => self.two_operands(logarithm),
            0xf2 => self.tangent(),
            0xf3 => self.two_operands(arctangent),
            0xf4 => self.extraction(control),
            0xf5 => self.remainder(true),
            0xf6 => self.rotate(7),
            0xf7 => self.rotate(1),
            0xf8 => self.remainder(false),
            0xf9 => self.two_operands(logarithm_of_successor),
            0xfa => self.one_operand(square_root),
            0xfb => self.sine_and_cosine(),
            0xfc => self.one_operand(to_integer),
            0xfd => {
                let result = match (self.get(0), self.get(1)) {
                    (Some(a), Some(b)) => scale(a, b, control),
                    _ => Computed::underflow(),
                };
                self.deliver(0, result);
            }
            0xfe => self.angle(Function::Sine),
            _ => self.angle(Function::Cosine),
        }
    }

    fn rotate(&mut self, by: u8) {
        self.turn(by);
        self.set_codes(status::C1, 0);
    }

    fn one_operand(&mut self, function: impl Fn(Extended, Control) -> Computed) {
        let result = match self.get(0) {
            Some(top) => function(top, self.control()),
            None => Computed::underflow(),
        };
        self.deliver(0, result);
    }

    /// Of the top and the register below it, which the result replaces.
    fn two_operands(&mut self, function: impl Fn(Extended, Extended, Control) -> Computed) {
        let result = match (self.get(0), self.get(1)) {
            (Some(top), Some(next)) => function(top, next, self.control()),
            _ => Computed::underflow(),
        };
        if self.deliver(1, result) {
            self.pop();
        }
    }

    fn remainder(&mut self, nearest: bool) {
        self.set_codes(status::C2, 0);
        match (self.get(0), self.get(1)) {
            (Some(a), Some(b)) => {
                let Partial { computed, codes } = partial_remainder(a, b, nearest, self.control());
                if self.deliver(0, computed)
                    && let Some(codes) = codes
                {
                    self.set_codes(status::CODES, codes);
                }
            }
            _ => {
                self.deliver(0, Computed::underflow());
            }
        }
    }

    /// Replaces the top by `below`, and pushes `above`.
    fn split_top(&mut self, below: Computed, above: Extended) {
        if !self.is_empty(7) && below.flags & status::STACK == 0 {
            let overflow = Computed::overflow();
            if self.deliver(0, overflow) {
                self.turn(7);
                self.set(0, Extended::INDEFINITE);
            }
            return;
        }
        if self.deliver(0, below) {
            self.turn(7);
            self.set(0, above);
        }
    }

    /// What a push would meet, if there is no room for it.
    fn overflow(&self) -> Option<Computed> {
        (!self.is_empty(7)).then(Computed::overflow)
    }

    fn extraction(&mut self, control: Control) {
        let (exponent, significand) = match self.get(0) {
            Some(top) => extract(top, control),
            None => (Computed::underflow(), Extended::INDEFINITE),
        };
        self.split_top(exponent, significand);
    }

    fn angle(&mut self, function: Function) {
        let result = match self.get(0) {
            Some(top) => trigonometric(function, top, self.control()),
            None => Some(Computed::underflow()),
        };
        match result {
            Some(result) => {
                self.set_codes(status::C2, 0);
                self.deliver(0, result);
            }
            None => self.set_codes(status::C1 | status::C2, status::C2),
        }
    }

    fn tangent(&mut self) {
        let result = match self.get(0) {
            Some(top) => trigonometric(Function::Tangent, top, self.control()),
            None => Some(Computed::underflow()),
        };
        let Some(result) = result.or_else(|| self.overflow()) else {
            self.set_codes(status::C1 | status::C2, status::C2);
            return;
        };
        self.set_codes(status::C2, 0);
        // A NaN is pushed as well, instead of one.
        let above = if result.value.is_nan() {
            result.value
        } else {
            Extended::ONE
        };
        self.split_top(result, above);
    }

    fn sine_and_cosine(&mut self) {
        let both = match self.get(0) {
            Some(top) => {
                let control = self.control();
                let sine = trigonometric(Function::Sine, top, control);
                sine.zip(trigonometric(Function::Cosine, top, control))
            }
            None => Some((Computed::underflow(), Computed::underflow())),
        };
        let overflow = || self.overflow().map(|overflow| (overflow, overflow));
        let Some((sine, cosine)) = both.or_else(overflow) else {
            self.set_codes(status::C1 | status::C2, status::C2);
            return;
        };
        self.set_codes(status::C2, 0);
        let flags = sine.flags | cosine.flags;
        let sine = Computed {
            flags,
            up: cosine.up,
            ..sine
        };
        self.split_top(sine, cosine.value);
    }
}

/// Is there such an instruction?
fn exists(opcode: u8, modrm: u8, kind: Kind) -> bool {
    let number = modrm >> 3 & 7;
    match (opcode, number) {
        (6, 3) => modrm == 0xd9,
        (0 | 4 | 6, _) => true,
        (1, 2) => modrm == 0xd0,
        (1, 4) => matches!(modrm, 0xe0 | 0xe1 | 0xe4 | 0xe5),
        (1, 5) => modrm != 0xef,
        (1, _) => true,
        (2 | 3, 0..=3) | (3, 5 | 6) | (7, 5 | 6) => kind == Kind::P6,
        (2, 5) => modrm == 0xe9,
        (5, 0..=5) | (7, 0..=3) => true,
        _ => false,
    }
}
