//! From a decoded instruction to the code that runs it.

#[macro_use]
mod forms;

use super::at_once::AtOnce;
use super::core::Core;
use super::instruction::{Instruction, Opcode, Operands};
use super::registers::Register;
use super::system::{self, Continues};
use super::word::Word;
use super::{
    Exception, branch, condition, doubleword, exception, float, integer, load_store, multiply,
    rotate, system_405, system_970,
};
use crate::powerpc::engine::Handler;
use crate::powerpc::engine::line::Op;
use crate::powerpc::processor::Processor;

/// Runs the op after `op`.
///
/// # Safety
/// `op` must point into the decoded lines of `m` and not be the one that ends its line.
#[inline(always)]
unsafe fn go_on(m: &mut Processor, op: *const Op) -> *const Op {
    // SAFETY: every op of a line but its last is followed by another one.
    unsafe {
        let next = op.add(1);
        ((*next).run)(m, next)
    }
}

/// The instruction at `op` raised `e`: its handler is next.
///
/// # Safety
/// `op` must be running.
#[cold]
#[inline(never)]
unsafe fn raise(m: &mut Processor, op: *const Op, e: Exception) -> *const Op {
    // SAFETY: `op` is running.
    unsafe { m.raise(op, e) }
}

/// What an instruction does, without going on to the next one.
pub type Alone = fn(&mut Processor, &Operands) -> Result<(), Exception>;

/// The code of an instruction.
#[derive(Clone, Copy)]
pub struct Code {
    /// Runs it and the ones after it.
    pub run: Handler,
    /// Runs it alone; of an instruction that ends a block there is no such form.
    pub alone: Option<Alone>,
}

impl Code {
    fn alone(run: Handler, alone: Alone) -> Code {
        Code {
            run,
            alone: Some(alone),
        }
    }

    fn ending(run: Handler) -> Code {
        Code { run, alone: None }
    }
}

type System = fn(&mut Processor, &Operands) -> Result<Continues, Exception>;

/// # Safety
/// `op` must be running.
unsafe fn run_system(m: &mut Processor, op: *const Op, f: System) -> *const Op {
    // SAFETY: the caller's: `op` is running.
    let address = unsafe { m.address(op) };
    m.registers.pc = address.wrapping_add(4);
    // SAFETY: as above.
    match f(m, unsafe { &(*op).operands }) {
        Ok(Continues::Next) => m.enter(address.wrapping_add(4)),
        Ok(Continues::Jump) => m.enter(m.registers.pc),
        Ok(Continues::Stop) => m.stopped(),
        // SAFETY: as above.
        Err(e) => unsafe { raise(m, op, e) },
    }
}

/// Continues at the op that is `offset` bytes of code from `op`, in the same line.
///
/// # Safety
/// `op` must be running, and its line have that place.
#[inline(always)]
unsafe fn near(m: &mut Processor, op: *const Op, offset: u32) -> *const Op {
    // SAFETY: decoding has checked that the target, a multiple of 4 bytes away, is in the line of `op`.
    unsafe {
        if m.hot.cycles >= m.hot.deadline {
            let target = m.address(op).wrapping_add(offset);
            return m.enter_elsewhere(target);
        }
        const OP: isize = size_of::<Op>() as isize / 4;
        m.begin(op.byte_offset(offset.cast_signed() as isize * OP))
    }
}

/// `b` and `bl`.
///
/// # Safety
/// `op` must be running.
unsafe fn b<W: Word>(m: &mut Processor, op: *const Op) -> *const Op {
    // SAFETY: `op` is running.
    let (address, i) = unsafe { (m.address(op), &(*op).operands) };
    branch::link::<W>(&mut m.registers, i, address);
    // SAFETY: as above.
    unsafe {
        if !m.predictor.target_at_once(address) {
            return b_slowly::<false>(m, op);
        }
        m.predictor.branches += 1;
        m.follow(op, branch::target(i, address))
    }
}

/// `b` within its line.
///
/// # Safety
/// `op` must be running, and its target be in the same line.
unsafe fn b_near(m: &mut Processor, op: *const Op) -> *const Op {
    // SAFETY: `op` is running.
    unsafe {
        if !m.predictor.target_at_once(m.address(op)) {
            return b_slowly::<true>(m, op);
        }
        m.predictor.branches += 1;
        near(m, op, (*op).operands.imm)
    }
}

/// The end of `b` and `bl` where the target cache does not hold the target, or a taken branch costs something.
///
/// # Safety
/// As [`b`] or, with NEAR, [`b_near`].
#[inline(never)]
unsafe fn b_slowly<const NEAR: bool>(m: &mut Processor, op: *const Op) -> *const Op {
    // SAFETY: as in `conditional`.
    unsafe {
        let (address, i) = (m.address(op), &(*op).operands);
        let wait = m.predictor.unconditional(address);
        m.wait(wait);
        if NEAR {
            near(m, op, i.imm)
        } else {
            m.follow(op, branch::target(i, address))
        }
    }
}

/// Cycles that the branch which is running waits for its condition.
///
/// # Safety
/// The branch must be running.
#[inline(always)]
unsafe fn doubt(m: &Processor) -> u8 {
    // SAFETY: `begin` has left where the block began that the branch ends.
    unsafe { (*m.hot.block).timing.doubt }
}

/// Where a `bc` goes.
mod to {
    /// In its line.
    pub const LINE: u8 = 0;
    /// At a distance. Operands b and c may be other than those of a `bc`, as [`super::on`] says.
    pub const RELATIVE: u8 = 1;
    /// As its operands say.
    pub const ANY: u8 = 2;
}

/// Goes on behind a `bc` whose condition has been tested.
///
/// # Safety
/// `op` must be running; with [`to::LINE`] its target must be in the same line.
#[inline(always)]
unsafe fn resolve<const TO: u8>(m: &mut Processor, op: *const Op, taken: bool) -> *const Op {
    // SAFETY: the caller's. After the last instruction of a line there is the op that ends it.
    unsafe {
        let (address, i) = (m.address(op), &(*op).operands);
        let sure = (m.predictor).is_sure(address, taken, branch::static_prediction(i), || doubt(m));
        if !sure || taken && !m.predictor.target_at_once(address) {
            return resolve_slowly::<TO>(m, op, taken);
        }
        m.predictor.branches += 1;
        if taken {
            go_to_target::<TO>(m, op)
        } else {
            near(m, op, 4)
        }
    }
}

/// As [`resolve`], of a branch that costs something or trains the predictor.
///
/// # Safety
/// As [`resolve`].
#[inline(never)]
unsafe fn resolve_slowly<const TO: u8>(m: &mut Processor, op: *const Op, taken: bool) -> *const Op {
    // SAFETY: the caller's.
    unsafe {
        let (address, doubt) = (m.address(op), doubt(m));
        let statically_taken = branch::static_prediction(&(*op).operands);
        let wait = m
            .predictor
            .conditional(address, taken, statically_taken, doubt);
        m.wait(wait);
        if taken {
            go_to_target::<TO>(m, op)
        } else {
            near(m, op, 4)
        }
    }
}

/// Goes on at the target of a `bc`.
///
/// # Safety
/// As [`resolve`].
#[inline(always)]
unsafe fn go_to_target<const TO: u8>(m: &mut Processor, op: *const Op) -> *const Op {
    // SAFETY: the caller's.
    unsafe {
        let (address, i) = (m.address(op), &(*op).operands);
        match TO {
            to::LINE => near(m, op, i.imm),
            to::RELATIVE => m.follow(op, address.wrapping_add(i.imm)),
            _ => m.follow(op, branch::target(i, address)),
        }
    }
}

/// `bc` and its simplified mnemonics.
///
/// # Safety
/// `op` must be running; with NEAR its target must be in the same line.
#[inline(always)]
unsafe fn conditional<W: Word, const NEAR: bool>(m: &mut Processor, op: *const Op) -> *const Op {
    // SAFETY: `op` is running; with NEAR its target is in the same line. After the last
    // instruction of a line there is the op that ends it.
    unsafe {
        let i = &(*op).operands;
        let address = m.address(op);
        let taken = branch::taken::<W>(&mut m.registers, i);
        branch::link::<W>(&mut m.registers, i, address);
        if NEAR {
            resolve::<{ to::LINE }>(m, op, taken)
        } else {
            resolve::<{ to::ANY }>(m, op, taken)
        }
    }
}

/// The condition of a relative `bc` without LK that tests either a bit or CTR.
mod on {
    /// A bit of the condition register is 0: operand b is its field, c its mask.
    pub const FALSE: u8 = 0;
    /// That bit is 1.
    pub const TRUE: u8 = 1;
    /// CTR, decremented, is not 0.
    pub const COUNT: u8 = 2;
}

/// As [`conditional`], of a relative `bc` without LK that tests either a bit or CTR.
///
/// # Safety
/// As [`conditional`].
#[inline(always)]
unsafe fn simple<W: Word, const ON: u8, const NEAR: bool>(
    m: &mut Processor,
    op: *const Op,
) -> *const Op {
    // SAFETY: as in `conditional`.
    unsafe {
        let i = &(*op).operands;
        let taken = if ON == on::COUNT {
            !W::count_down(&mut m.registers)
        } else {
            let field = m.registers.cr.field(i.b.number());
            (field & i.c.number() != 0) == (ON == on::TRUE)
        };
        if NEAR {
            resolve::<{ to::LINE }>(m, op, taken)
        } else {
            resolve::<{ to::RELATIVE }>(m, op, taken)
        }
    }
}

/// The code for a `bc`.
fn conditional_branch<W: Word>(operands: &mut Operands, stays: bool) -> Handler {
    macro_rules! variants {
        ($f:ident $(, $on:expr)?) => {
            if stays { $f::<W, $({ $on },)? true> } else { $f::<W, $({ $on },)? false> }
        };
    }
    if operands.link() || operands.absolute() {
        return variants!(conditional);
    }
    match branch::condition(operands) {
        branch::Condition::Bit(wanted) => {
            let bit = u32::from(branch::condition_bit(operands));
            operands.b = Register::new(bit >> 2);
            operands.c = Register::new(8 >> (bit & 3));
            if wanted {
                variants!(simple, on::TRUE)
            } else {
                variants!(simple, on::FALSE)
            }
        }
        branch::Condition::CountNotZero => variants!(simple, on::COUNT),
        branch::Condition::Other => variants!(conditional),
    }
}

/// `bclr` and `bcctr`.
///
/// # Safety
/// `op` must be running.
#[inline(always)]
unsafe fn to_register<W: Word, const COUNT: bool>(m: &mut Processor, op: *const Op) -> *const Op {
    // SAFETY: `op` is running; after the last instruction of a line there is the op that ends it.
    unsafe {
        let i = &(*op).operands;
        let address = m.address(op);
        let taken = branch::taken::<W>(&mut m.registers, i);
        let r = &m.registers;
        let whole = if COUNT { W::count(r) } else { W::link(r) }.address(r);
        let whole = whole.whole();
        branch::link::<W>(&mut m.registers, i, address);
        let sure = branch::always(i)
            || (m.predictor).is_sure(address, taken, branch::y_bit(i), || doubt(m));
        if !sure || taken && !m.predictor.register_at_once(address, whole as u32 & !3) {
            return to_register_slowly::<W>(m, op, taken, whole);
        }
        m.predictor.branches += 1;
        go_to_register::<W>(m, op, taken, whole)
    }
}

/// The end of `bclr` and `bcctr` that cost something or train the predictor. The register holds `whole`.
///
/// # Safety
/// `op` must be running.
#[inline(never)]
unsafe fn to_register_slowly<W: Word>(
    m: &mut Processor,
    op: *const Op,
    taken: bool,
    whole: u64,
) -> *const Op {
    // SAFETY: `op` is running.
    unsafe {
        let (address, i) = (m.address(op), &(*op).operands);
        let target = whole as u32 & !3;
        let wait = if branch::always(i) {
            m.predictor.to_register(address, target)
        } else {
            let (statically_taken, doubt) = (branch::y_bit(i), doubt(m));
            m.predictor
                .conditional_to_register(address, taken, statically_taken, doubt, target)
        };
        m.wait(wait);
        go_to_register::<W>(m, op, taken, whole)
    }
}

/// Goes on where the register of `bclr` or `bcctr`, which holds `whole`, points to, if it is `taken`.
///
/// # Safety
/// `op` must be running.
#[inline(always)]
unsafe fn go_to_register<W: Word>(
    m: &mut Processor,
    op: *const Op,
    taken: bool,
    whole: u64,
) -> *const Op {
    if !taken {
        // SAFETY: `op` is running; after the last instruction of a line there is the op that ends it.
        return unsafe { near(m, op, 4) };
    }
    if W::WIDE {
        m.go_to((whole >> 32) as u32);
    }
    m.enter(whole as u32 & !3)
}

/// The code for `instruction`, which stands at `index` in a line of `words`, and its operands as that code expects
/// them. `near_allowed`: the line is complete, so that branches may stay in it.
#[allow(
    clippy::extra_unused_type_parameters,
    reason = "the macros make a function of every width for each instruction"
)]
pub fn handler<W: Word>(
    instruction: &Instruction,
    index: usize,
    words: usize,
    near_allowed: bool,
) -> (Code, Operands) {
    let i = instruction;
    let mut operands = i.operands;
    let target = index as i64 * 4 + i64::from(operands.imm.cast_signed());
    let stays = near_allowed && !operands.absolute() && (0..words as i64 * 4).contains(&target);
    let code = match i.opcode {
        Opcode::Addi | Opcode::Addis => plain!(integer::addi::<W>),
        Opcode::Addic => plain!(integer::addic::<W, false>),
        Opcode::AddicRecord => plain!(integer::addic::<W, true>),
        Opcode::Subfic => plain!(integer::subfic::<W>),
        Opcode::Mulli => plain!(integer::mulli::<W>),
        Opcode::Add => overflow_record!(i, add),
        Opcode::Addc => overflow_record!(i, addc),
        Opcode::Adde => overflow_record!(i, adde),
        Opcode::Addme => overflow_record!(i, addme),
        Opcode::Addze => overflow_record!(i, addze),
        Opcode::Subf => overflow_record!(i, subf),
        Opcode::Subfc => overflow_record!(i, subfc),
        Opcode::Subfe => overflow_record!(i, subfe),
        Opcode::Subfme => overflow_record!(i, subfme),
        Opcode::Subfze => overflow_record!(i, subfze),
        Opcode::Neg => overflow_record!(i, neg),
        Opcode::Mullw => overflow_record!(i, mullw),
        Opcode::Divw => overflow_record!(i, divw),
        Opcode::Divwu => overflow_record!(i, divwu),
        Opcode::Mulhw => record!(i, integer::mulhw),
        Opcode::Mulhwu => record!(i, integer::mulhwu),
        Opcode::Cmpi => plain!(integer::cmpi::<W>),
        Opcode::Cmpli => plain!(integer::cmpli::<W>),
        Opcode::Cmp => plain!(integer::cmp::<W>),
        Opcode::Cmpl => plain!(integer::cmpl::<W>),
        Opcode::AndiRecord | Opcode::AndisRecord => plain!(integer::andi_record::<W>),
        Opcode::Ori | Opcode::Oris => plain!(integer::ori::<W>),
        Opcode::Xori | Opcode::Xoris => plain!(integer::xori::<W>),
        Opcode::And => record!(i, integer::and),
        Opcode::Or => record!(i, integer::or),
        Opcode::Xor => record!(i, integer::xor),
        Opcode::Nand => record!(i, integer::nand),
        Opcode::Nor => record!(i, integer::nor),
        Opcode::Eqv => record!(i, integer::eqv),
        Opcode::Andc => record!(i, integer::andc),
        Opcode::Orc => record!(i, integer::orc),
        Opcode::Extsb => record!(i, integer::extsb),
        Opcode::Extsh => record!(i, integer::extsh),
        Opcode::Cntlzw => record!(i, integer::cntlzw),
        Opcode::Rlwimi => record!(i, rotate::rlwimi),
        Opcode::Rlwinm => record!(i, rotate::rlwinm),
        Opcode::Rlwnm => record!(i, rotate::rlwnm),
        Opcode::Slw => record!(i, rotate::slw),
        Opcode::Srw => record!(i, rotate::srw),
        Opcode::Sraw => record!(i, rotate::sraw),
        Opcode::Srawi => record!(i, rotate::srawi),

        Opcode::Lbz => access!(load_store::lbz::<W, _>),
        Opcode::Lbzu => access!(load_store::lbzu::<W, _>),
        Opcode::Lbzx => access!(load_store::lbzx::<W, _>),
        Opcode::Lbzux => access!(load_store::lbzux::<W, _>),
        Opcode::Lhz => access!(load_store::lhz::<W, _>),
        Opcode::Lhzu => access!(load_store::lhzu::<W, _>),
        Opcode::Lhzx => access!(load_store::lhzx::<W, _>),
        Opcode::Lhzux => access!(load_store::lhzux::<W, _>),
        Opcode::Lha => access!(load_store::lha::<W, _>),
        Opcode::Lhau => access!(load_store::lhau::<W, _>),
        Opcode::Lhax => access!(load_store::lhax::<W, _>),
        Opcode::Lhaux => access!(load_store::lhaux::<W, _>),
        Opcode::Lwz => access!(load_store::lwz::<W, _>),
        Opcode::Lwzu => access!(load_store::lwzu::<W, _>),
        Opcode::Lwzx => access!(load_store::lwzx::<W, _>),
        Opcode::Lwzux => access!(load_store::lwzux::<W, _>),
        Opcode::Lhbrx => access!(load_store::lhbrx::<W, _>),
        Opcode::Lwbrx => access!(load_store::lwbrx::<W, _>),
        Opcode::Lwarx => checked!(load_store::lwarx::<W, _>),
        Opcode::Stb => access!(load_store::stb::<W, _>),
        Opcode::Stbu => access!(load_store::stbu::<W, _>),
        Opcode::Stbx => access!(load_store::stbx::<W, _>),
        Opcode::Stbux => access!(load_store::stbux::<W, _>),
        Opcode::Sth => access!(load_store::sth::<W, _>),
        Opcode::Sthu => access!(load_store::sthu::<W, _>),
        Opcode::Sthx => access!(load_store::sthx::<W, _>),
        Opcode::Sthux => access!(load_store::sthux::<W, _>),
        Opcode::Stw => access!(load_store::stw::<W, _>),
        Opcode::Stwu => access!(load_store::stwu::<W, _>),
        Opcode::Stwx => access!(load_store::stwx::<W, _>),
        Opcode::Stwux => access!(load_store::stwux::<W, _>),
        Opcode::Sthbrx => access!(load_store::sthbrx::<W, _>),
        Opcode::Stwbrx => access!(load_store::stwbrx::<W, _>),
        Opcode::Stwcx => checked!(load_store::stwcx::<W, _>),
        Opcode::Lmw => ending!(load_store::lmw::<W, _>),
        Opcode::Stmw => ending!(load_store::stmw::<W, _>),
        Opcode::Lswi => ending!(load_store::lswi::<W, _>),
        Opcode::Lswx => ending!(load_store::lswx::<W, _>),
        Opcode::Stswi => ending!(load_store::stswi::<W, _>),
        Opcode::Stswx => ending!(load_store::stswx::<W, _>),

        Opcode::Lfs => float_access!(load_store::lfs),
        Opcode::Lfsu => float_access!(load_store::lfsu),
        Opcode::Lfsx => float_access!(load_store::lfsx),
        Opcode::Lfsux => float_access!(load_store::lfsux),
        Opcode::Lfd => float_access!(load_store::lfd),
        Opcode::Lfdu => float_access!(load_store::lfdu),
        Opcode::Lfdx => float_access!(load_store::lfdx),
        Opcode::Lfdux => float_access!(load_store::lfdux),
        Opcode::Stfs => float_access!(load_store::stfs),
        Opcode::Stfsu => float_access!(load_store::stfsu),
        Opcode::Stfsx => float_access!(load_store::stfsx),
        Opcode::Stfsux => float_access!(load_store::stfsux),
        Opcode::Stfd => float_access!(load_store::stfd),
        Opcode::Stfdu => float_access!(load_store::stfdu),
        Opcode::Stfdx => float_access!(load_store::stfdx),
        Opcode::Stfdux => float_access!(load_store::stfdux),
        Opcode::Stfiwx => float_access!(load_store::stfiwx),

        Opcode::B if stays && !operands.link() => Code::ending(b_near),
        Opcode::B => Code::ending(b::<W>),
        Opcode::Bc => Code::ending(conditional_branch::<W>(&mut operands, stays)),
        Opcode::Bclr => Code::ending(to_register::<W, false>),
        Opcode::Bcctr => Code::ending(to_register::<W, true>),

        Opcode::Crand => plain!(condition::crand),
        Opcode::Cror => plain!(condition::cror),
        Opcode::Crxor => plain!(condition::crxor),
        Opcode::Crnand => plain!(condition::crnand),
        Opcode::Crnor => plain!(condition::crnor),
        Opcode::Creqv => plain!(condition::creqv),
        Opcode::Crandc => plain!(condition::crandc),
        Opcode::Crorc => plain!(condition::crorc),
        Opcode::Mcrf => plain!(condition::mcrf),
        Opcode::Mtcrf => plain!(condition::mtcrf),
        Opcode::Mcrxr => plain!(condition::mcrxr),
        Opcode::Mfcr if W::WIDE && condition::one_field(i) => plain!(condition::mfocrf),
        Opcode::Mfcr => plain!(condition::mfcr),
        Opcode::Mflr => plain!(condition::mflr::<W>),
        Opcode::Mfctr => plain!(condition::mfctr::<W>),
        Opcode::Mfxer => plain!(condition::mfxer),
        Opcode::Mtlr => plain!(condition::mtlr::<W>),
        Opcode::Mtctr => plain!(condition::mtctr::<W>),
        Opcode::Mtxer => plain!(condition::mtxer),

        Opcode::Twi => checked!(system::twi),
        Opcode::Tw => checked!(system::tw),
        Opcode::Sc => system!(system::sc),
        Opcode::Rfi => system!(system::rfi),
        Opcode::Mfspr => by_width!(system, system::mfspr, system_970::mfspr),
        Opcode::Mtspr => by_width!(system, system::mtspr, system_970::mtspr),
        Opcode::Mftb => by_width!(system, system::mftb, system_970::mftb),
        Opcode::Mfmsr => by_width!(checked, system::mfmsr, system_970::mfmsr),
        Opcode::Mtmsr => by_width!(system, system::mtmsr, system_970::mtmsr),
        Opcode::Mfsr => by_width!(checked, system::mfsr, system_970::mfsr),
        Opcode::Mfsrin => by_width!(checked, system::mfsrin, system_970::mfsrin),
        Opcode::Mtsr => by_width!(system, system::mtsr, system_970::mtsr),
        Opcode::Mtsrin => by_width!(system, system::mtsrin, system_970::mtsrin),
        Opcode::Sync => by_width!(system, system::sync, system_970::sync),
        Opcode::Eieio => checked!(system::eieio),
        Opcode::Isync => system!(system::isync),
        Opcode::Tlbie => by_width!(system, system::tlbie, system_970::tlbie),
        Opcode::Tlbia => system!(system::tlbia),
        Opcode::Tlbsync => system!(system::tlbsync),
        Opcode::Tlbld => system!(system::tlbld),
        Opcode::Tlbli => system!(system::tlbli),
        Opcode::Rfci => system!(system_405::rfci),
        Opcode::Wrtee => system!(system_405::wrtee),
        Opcode::Wrteei => system!(system_405::wrteei),
        Opcode::Mfdcr => system!(system_405::mfdcr),
        Opcode::Mtdcr => system!(system_405::mtdcr),
        Opcode::Icbt => checked!(system_405::icbt),
        Opcode::Dcba => checked!(system_405::dcba),
        Opcode::Iccci => system!(system_405::iccci),
        Opcode::Dccci => system!(system_405::dccci),
        Opcode::Icread => system!(system_405::icread),
        Opcode::Dcread => system!(system_405::dcread),
        Opcode::Tlbre => system!(system_405::tlbre),
        Opcode::Tlbwe => system!(system_405::tlbwe),
        Opcode::Tlbsx if i.record => system!(system_405::tlbsx::<true>),
        Opcode::Tlbsx => system!(system_405::tlbsx::<false>),
        Opcode::Mac => match (i.overflow, i.record) {
            (false, false) => plain!(multiply::accumulate::<false, false>),
            (false, true) => plain!(multiply::accumulate::<false, true>),
            (true, false) => plain!(multiply::accumulate::<true, false>),
            (true, true) => plain!(multiply::accumulate::<true, true>),
        },
        Opcode::Mulhalf => own_record!(i, multiply::half),
        Opcode::Dlmzb => own_record!(i, integer::dlmzb),
        Opcode::Mulld => own_overflow_record!(i, doubleword::mulld),
        Opcode::Divd => own_overflow_record!(i, doubleword::divd),
        Opcode::Divdu => own_overflow_record!(i, doubleword::divdu),
        Opcode::Mulhd => own_record!(i, doubleword::mulhd),
        Opcode::Mulhdu => own_record!(i, doubleword::mulhdu),
        Opcode::Extsw => own_record!(i, doubleword::extsw),
        Opcode::Cntlzd => own_record!(i, doubleword::cntlzd),
        Opcode::Sld => own_record!(i, doubleword::sld),
        Opcode::Srd => own_record!(i, doubleword::srd),
        Opcode::Srad => own_record!(i, doubleword::srad),
        Opcode::Sradi | Opcode::SradiHigh => own_record!(i, doubleword::sradi),
        Opcode::Rldicl => own_record!(i, doubleword::rldicl),
        Opcode::Rldicr => own_record!(i, doubleword::rldicr),
        Opcode::Rldic => own_record!(i, doubleword::rldic),
        Opcode::Rldimi => own_record!(i, doubleword::rldimi),
        Opcode::Rldcl => own_record!(i, doubleword::rldcl),
        Opcode::Rldcr => own_record!(i, doubleword::rldcr),
        Opcode::Tdi => checked!(system_970::tdi),
        Opcode::Td => checked!(system_970::td),
        Opcode::Ld => access!(load_store::ld::<W, _>),
        Opcode::Ldu => access!(load_store::ldu::<W, _>),
        Opcode::Lwa => access!(load_store::lwa::<W, _>),
        Opcode::Std => access!(load_store::std::<W, _>),
        Opcode::Stdu => access!(load_store::stdu::<W, _>),
        Opcode::Ldx => access!(load_store::ldx::<W, _>),
        Opcode::Ldux => access!(load_store::ldux::<W, _>),
        Opcode::Lwax => access!(load_store::lwax::<W, _>),
        Opcode::Lwaux => access!(load_store::lwaux::<W, _>),
        Opcode::Ldarx => checked!(load_store::ldarx),
        Opcode::Stdx => access!(load_store::stdx::<W, _>),
        Opcode::Stdux => access!(load_store::stdux::<W, _>),
        Opcode::Stdcx => checked!(load_store::stdcx),
        Opcode::Rfid => system!(system_970::rfid),
        Opcode::Mtmsrd => system!(system_970::mtmsrd),
        Opcode::Tlbiel => system!(system_970::tlbiel),
        Opcode::Slbmte => system!(system_970::slbmte),
        Opcode::Slbie => system!(system_970::slbie),
        Opcode::Slbia => system!(system_970::slbia),
        Opcode::Slbmfev => system!(system_970::slbmfev),
        Opcode::Slbmfee => system!(system_970::slbmfee),
        Opcode::Eciwx => ending!(system::eciwx),
        Opcode::Ecowx => ending!(system::ecowx),
        Opcode::Dcbf => checked!(load_store::dcbf::<W, _>),
        Opcode::Dcbst => checked!(load_store::dcbst::<W, _>),
        Opcode::Dcbt => checked!(load_store::dcbt::<W, _>),
        Opcode::Dcbtst => checked!(load_store::dcbtst::<W, _>),
        // Bit 10 tells dcbzl.
        Opcode::Dcbz if W::WIDE && i.operands.t.number() & 1 != 0 => {
            checked!(load_store::dcbzl::<W, _>)
        }
        Opcode::Dcbz => checked!(load_store::dcbz::<W, _>),
        Opcode::Dcbi => checked!(load_store::dcbi::<W, _>),
        Opcode::Icbi => system!(system::icbi::<W>),

        Opcode::Fadd => float!(i, float::arithmetic::fadd),
        Opcode::Fsub => float!(i, float::arithmetic::fsub),
        Opcode::Fmul => float!(i, float::arithmetic::fmul),
        Opcode::Fdiv => float!(i, float::arithmetic::fdiv),
        Opcode::Fmadd => float!(i, float::arithmetic::fmadd),
        Opcode::Fmsub => float!(i, float::arithmetic::fmsub),
        Opcode::Fnmadd => float!(i, float::arithmetic::fnmadd),
        Opcode::Fnmsub => float!(i, float::arithmetic::fnmsub),
        Opcode::Fadds => float!(i, float::arithmetic::fadds),
        Opcode::Fsubs => float!(i, float::arithmetic::fsubs),
        Opcode::Fmuls => float!(i, float::arithmetic::fmuls),
        Opcode::Fdivs => float!(i, float::arithmetic::fdivs),
        Opcode::Fmadds => float!(i, float::arithmetic::fmadds),
        Opcode::Fmsubs => float!(i, float::arithmetic::fmsubs),
        Opcode::Fnmadds => float!(i, float::arithmetic::fnmadds),
        Opcode::Fnmsubs => float!(i, float::arithmetic::fnmsubs),
        Opcode::Fsel => float!(i, float::arithmetic::fsel),
        Opcode::Frsqrte => float!(i, float::estimate::frsqrte),
        Opcode::Fres => float!(i, float::estimate::fres),
        Opcode::Fmr => float!(i, float::arithmetic::fmr),
        Opcode::Fneg => float!(i, float::arithmetic::fneg),
        Opcode::Fabs => float!(i, float::arithmetic::fabs),
        Opcode::Fnabs => float!(i, float::arithmetic::fnabs),
        Opcode::Frsp => float!(i, float::convert::frsp),
        Opcode::Fctiw => float!(i, float::convert::fctiw),
        Opcode::Fctiwz => float!(i, float::convert::fctiwz),
        Opcode::Fcfid => float!(i, float::convert::fcfid),
        Opcode::Fctid => float!(i, float::convert::fctid),
        Opcode::Fctidz => float!(i, float::convert::fctidz),
        Opcode::Fsqrt => float!(i, float::arithmetic::fsqrt),
        Opcode::Fsqrts => float!(i, float::arithmetic::fsqrts),
        Opcode::Fcmpu => float!(i, float::arithmetic::fcmpu),
        Opcode::Fcmpo => float!(i, float::arithmetic::fcmpo),
        Opcode::Mffs => float!(i, float::status::mffs),
        Opcode::Mtfsf => float!(i, float::status::mtfsf),
        Opcode::Mtfsfi => float!(i, float::status::mtfsfi),
        Opcode::Mtfsb0 => float!(i, float::status::mtfsb0),
        Opcode::Mtfsb1 => float!(i, float::status::mtfsb1),
        Opcode::Mcrfs => float!(i, float::status::mcrfs),

        Opcode::Illegal => system!(system::illegal),
    };
    (code, operands)
}
