//! Branches (PEM 4.2.4.1): condition and target. The pipeline predicts them.

use super::instruction::Operands;
use super::registers::Registers;
use super::word::Word;

/// BO bits (PEM table 4-17), by value.
mod bo {
    /// Don't test the condition.
    pub const ANY_CONDITION: u8 = 16;
    /// Branch if the condition is true.
    pub const IF_TRUE: u8 = 8;
    /// Don't decrement CTR.
    pub const KEEP_COUNT: u8 = 4;
    /// Branch if CTR became zero.
    pub const IF_ZERO: u8 = 2;
}

/// Decrements CTR if BO says so; then true if BO and BI are satisfied.
#[inline(always)]
pub fn taken<W: Word>(r: &mut Registers, i: &Operands) -> bool {
    let options = i.t.number();
    let count = if options & bo::KEEP_COUNT == 0 {
        W::count_down(r) == (options & bo::IF_ZERO != 0)
    } else {
        true
    };
    let condition =
        options & bo::ANY_CONDITION != 0 || r.cr.bit(i.a.number()) == (options & bo::IF_TRUE != 0);
    count && condition
}

/// The branch has no condition: it is always taken.
#[inline(always)]
pub fn always(i: &Operands) -> bool {
    let both = bo::ANY_CONDITION | bo::KEEP_COUNT;
    i.t.number() & both == both
}

/// The condition of a conditional branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Only [`condition_bit`], which must have this value.
    Bit(bool),
    /// Only CTR, which must not be zero after the decrement.
    CountNotZero,
    /// Both; or CTR, which must be zero; or none.
    Other,
}

/// The condition that BO encodes.
pub fn condition(i: &Operands) -> Condition {
    let options = i.t.number();
    let set = |bit: u8| options & bit != 0;
    match (set(bo::ANY_CONDITION), set(bo::KEEP_COUNT)) {
        (false, true) => Condition::Bit(set(bo::IF_TRUE)),
        (true, false) if !set(bo::IF_ZERO) => Condition::CountNotZero,
        _ => Condition::Other,
    }
}

/// A condition is tested, [`condition_bit`].
#[inline(always)]
pub fn tests_condition(i: &Operands) -> bool {
    i.t.number() & bo::ANY_CONDITION == 0
}

/// It decrements CTR: is it taken if CTR is 0 then, or if it is not?
pub fn counts(i: &Operands) -> Option<bool> {
    let options = i.t.number();
    (options & bo::KEEP_COUNT == 0).then_some(options & bo::IF_ZERO != 0)
}

/// The value that the tested condition must have.
pub fn wanted(i: &Operands) -> bool {
    i.t.number() & bo::IF_TRUE != 0
}

/// The static prediction of a `bc`: backward taken, forward not; reversed by y.
#[inline(always)]
pub fn static_prediction(i: &Operands) -> bool {
    (i.imm.cast_signed() < 0) != y_bit(i)
}

/// BI: the bit of the condition register that is tested.
#[inline(always)]
pub fn condition_bit(i: &Operands) -> u8 {
    i.a.number() & 31
}

/// BO[4], the y bit: reverses the static prediction (PEM 4.2.4.2).
#[inline(always)]
pub fn y_bit(i: &Operands) -> bool {
    i.t.number() & 1 != 0
}

/// Target of `b` and `bc` at `cia`.
#[inline(always)]
pub fn target(i: &Operands, cia: u32) -> u32 {
    if i.absolute() {
        i.imm
    } else {
        cia.wrapping_add(i.imm)
    }
}

/// Sets LR to the address after `cia` if LK is set.
#[inline(always)]
pub fn link<W: Word>(r: &mut Registers, i: &Operands, cia: u32) {
    if i.link() {
        r.lr = cia.wrapping_add(4);
        if W::WIDE {
            r.wide.lr = r.wide.pc;
        }
    }
}
