//! Arithmetic with decimal digits. OF after DAA and DAS, and the other undefined flags, are as a P6 leaves them as far
//! as that is known.

use super::Done;
use crate::x86::access::{Byte, Width as _};
use crate::x86::exception::Exception;
use crate::x86::flags::Flags;
use crate::x86::op::Op;
use crate::x86::processor::Processor;
use crate::x86::registers::eflags::{AF, CF, OF};

fn set(p: &mut Processor, result: u32, carry: bool, half: bool) {
    let plain = Flags::arithmetic(Byte::BITS, result, 0).word() & !(AF | CF | OF);
    let flags = plain | if carry { CF } else { 0 } | if half { AF } else { 0 };
    p.registers.flags = Flags::from_word(flags);
}

/// DAA, DAS
pub(in crate::x86) fn adjust_packed(p: &mut Processor, op: &Op) -> Done {
    let subtract = op.extra == 0x2f;
    let old = p.register::<Byte>(0);
    let flags = p.registers.flags;
    let mut value = old;
    let mut carry = false;
    let half = old & 15 > 9 || flags.half();
    if half {
        if subtract {
            carry = flags.carry() || old < 6;
            value = value.wrapping_sub(6) & 0xff;
        } else {
            carry = flags.carry() || old + 6 > 0xff;
            value = value.wrapping_add(6) & 0xff;
        }
    }
    if old > 0x99 || flags.carry() {
        value = if subtract {
            value.wrapping_sub(0x60)
        } else {
            value.wrapping_add(0x60)
        } & 0xff;
        carry = true;
    }
    p.set_register::<Byte>(0, value);
    set(p, value, carry, half);
    Ok(())
}

/// AAA, AAS
pub(in crate::x86) fn adjust_unpacked(p: &mut Processor, op: &Op) -> Done {
    let subtract = op.extra == 0x3f;
    let ax = p.registers.gpr[0] & 0xffff;
    let adjust = ax & 15 > 9 || p.registers.flags.half();
    let mut new = ax;
    if adjust {
        new = if subtract {
            ax.wrapping_sub(0x106)
        } else {
            ax.wrapping_add(0x106)
        } & 0xffff;
    }
    new &= 0xff0f;
    p.set_register::<crate::x86::access::Word>(0, new);
    set(p, new & 0xff, adjust, adjust);
    Ok(())
}

/// AAM
pub(in crate::x86) fn after_multiply(p: &mut Processor, op: &Op) -> Done {
    let base = op.immediate & 0xff;
    if base == 0 {
        return Err(Exception::DIVIDE);
    }
    let al = p.register::<Byte>(0);
    let (high, low) = (al / base, al % base);
    p.set_register::<crate::x86::access::Word>(0, high << 8 | low);
    p.registers.flags = Flags::arithmetic(Byte::BITS, low, 0);
    Ok(())
}

/// AAD
pub(in crate::x86) fn before_divide(p: &mut Processor, op: &Op) -> Done {
    let ax = p.registers.gpr[0] & 0xffff;
    let value = (ax >> 8).wrapping_mul(op.immediate & 0xff).wrapping_add(ax) & 0xff;
    p.set_register::<crate::x86::access::Word>(0, value);
    p.registers.flags = Flags::arithmetic(Byte::BITS, value, 0);
    Ok(())
}
