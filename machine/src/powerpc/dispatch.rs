//! From a decoded instruction to the code that runs it.

use super::instruction::{Instruction, Opcode, Operands};
use super::registers::Register;
use super::system::{self, Flow};
use super::{
    Exception, branch, condition, exception, float, integer, load_store, multiply, rotate,
    system_405,
};
use crate::engine::Handler;
use crate::engine::line::Op;
use crate::processor::Processor;

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
#[cold]
#[inline(never)]
unsafe fn raise(m: &mut Processor, op: *const Op, e: Exception) -> *const Op {
    // SAFETY: `op` is running.
    unsafe { m.raise(op, e) }
}

/// An instruction that touches registers only.
macro_rules! plain {
    ($f:expr) => {{
        unsafe fn run(m: &mut Processor, op: *const Op) -> *const Op {
            // SAFETY: `op` is running.
            unsafe {
                $f(&mut m.registers, &(*op).operands);
                go_on(m, op)
            }
        }
        run as Handler
    }};
}

/// The variants of a register instruction by its OE and Rc bits.
macro_rules! overflow_record {
    ($i:expr, $f:ident) => {
        match ($i.overflow, $i.record) {
            (false, false) => plain!(integer::$f::<false, false>),
            (false, true) => plain!(integer::$f::<false, true>),
            (true, false) => plain!(integer::$f::<true, false>),
            (true, true) => plain!(integer::$f::<true, true>),
        }
    };
}

/// The variants of a register instruction by its Rc bit.
macro_rules! record {
    ($i:expr, $f:path) => {{
        use $f as f;
        if $i.record {
            plain!(f::<true>)
        } else {
            plain!(f::<false>)
        }
    }};
}

/// An instruction that may raise an exception.
macro_rules! checked {
    ($f:expr) => {{
        unsafe fn run(m: &mut Processor, op: *const Op) -> *const Op {
            // SAFETY: `op` is running.
            unsafe {
                match $f(m, &(*op).operands) {
                    Ok(()) => go_on(m, op),
                    Err(e) => raise(m, op, e),
                }
            }
        }
        run as Handler
    }};
}

/// A load or store of floating-point registers.
macro_rules! float_access {
    ($f:expr) => {
        checked!(|m: &mut Processor, i: &Operands| {
            exception::float_available(&m.registers)?;
            $f(m, i)
        })
    };
}

/// Floating-point arithmetic; may raise an exception that FPSCR and MSR enable.
macro_rules! float {
    ($i:expr, $f:path) => {{
        use $f as f;
        if $i.record {
            checked!(
                |m: &mut Processor, i: &Operands| float::instruction::<true>(
                    &mut m.registers,
                    i,
                    f
                )
            )
        } else {
            checked!(
                |m: &mut Processor, i: &Operands| float::instruction::<false>(
                    &mut m.registers,
                    i,
                    f
                )
            )
        }
    }};
}

/// An instruction that ends its block, because the next ones must see its changes.
macro_rules! system {
    ($f:expr) => {{
        unsafe fn run(m: &mut Processor, op: *const Op) -> *const Op {
            // SAFETY: `op` is running.
            unsafe { run_system(m, op, $f) }
        }
        run as Handler
    }};
}

type System = fn(&mut Processor, &Operands) -> Result<Flow, Exception>;

unsafe fn run_system(m: &mut Processor, op: *const Op, f: System) -> *const Op {
    // SAFETY: the caller's: `op` is running.
    let address = unsafe { m.address(op) };
    m.registers.pc = address.wrapping_add(4);
    // SAFETY: as above.
    match f(m, unsafe { &(*op).operands }) {
        Ok(Flow::Next) => m.enter(address.wrapping_add(4)),
        Ok(Flow::Jump) => m.enter(m.registers.pc),
        Ok(Flow::Stop) => m.stopped(),
        // SAFETY: as above.
        Err(e) => unsafe { raise(m, op, e) },
    }
}

/// An instruction that ends its block and may raise an exception, but does not change how the next line is entered.
macro_rules! ending {
    ($f:expr) => {
        system!(|m, i| $f(m, i).map(|()| Flow::Next))
    };
}

/// Continues at the op that is `offset` bytes of code from `op`, in the same line.
#[inline(always)]
unsafe fn near(m: &mut Processor, op: *const Op, offset: u32) -> *const Op {
    // SAFETY: decoding has checked that the target is in the line of `op`.
    unsafe {
        if m.hot.cycles >= m.hot.deadline {
            let target = m.address(op).wrapping_add(offset);
            return m.enter_elsewhere(target);
        }
        m.begin(op.offset((offset.cast_signed() / 4) as isize))
    }
}

/// `b` and `bl`.
unsafe fn b(m: &mut Processor, op: *const Op) -> *const Op {
    // SAFETY: `op` is running.
    let (address, i) = unsafe { (m.address(op), &(*op).operands) };
    branch::link(&mut m.registers, i, address);
    let wait = m.predictor.unconditional(address);
    m.wait(wait);
    // SAFETY: as above.
    unsafe { m.follow(op, branch::target(i, address)) }
}

/// `b` within its line.
unsafe fn b_near(m: &mut Processor, op: *const Op) -> *const Op {
    // SAFETY: `op` is running.
    unsafe {
        let address = m.address(op);
        let wait = m.predictor.unconditional(address);
        m.wait(wait);
        near(m, op, (*op).operands.imm)
    }
}

/// The static prediction of a `bc`: backward taken, forward not; reversed by y.
#[inline(always)]
fn static_prediction(i: &Operands) -> bool {
    (i.imm.cast_signed() < 0) != branch::y_bit(i)
}

/// Adds the cycles of the `bc` at `address`, by its prediction and outcome.
///
/// # Safety
/// The branch must be running.
#[inline(always)]
unsafe fn predict(m: &mut Processor, address: u32, taken: bool, statically_taken: bool) {
    // SAFETY: `begin` has left where the block began that the branch ends.
    let doubt = unsafe { (*m.hot.block).doubt };
    let wait = m
        .predictor
        .conditional(address, taken, statically_taken, doubt);
    m.wait(wait);
}

/// `bc` and its simplified mnemonics.
#[inline(always)]
unsafe fn conditional<const NEAR: bool>(m: &mut Processor, op: *const Op) -> *const Op {
    // SAFETY: `op` is running; with NEAR its target is in the same line. After the last
    // instruction of a line there is the op that ends it.
    unsafe {
        let i = &(*op).operands;
        let address = m.address(op);
        let taken = branch::taken(&mut m.registers, i);
        branch::link(&mut m.registers, i, address);
        predict(m, address, taken, static_prediction(i));
        if !taken {
            return near(m, op, 4);
        }
        if NEAR {
            near(m, op, i.imm)
        } else {
            m.follow(op, branch::target(i, address))
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
#[inline(always)]
unsafe fn simple<const ON: u8, const NEAR: bool>(m: &mut Processor, op: *const Op) -> *const Op {
    // SAFETY: as in `conditional`.
    unsafe {
        let i = &(*op).operands;
        let taken = if ON == on::COUNT {
            m.registers.ctr = m.registers.ctr.wrapping_sub(1);
            m.registers.ctr != 0
        } else {
            let field = m.registers.cr.field(i.b.number());
            (field & i.c.number() != 0) == (ON == on::TRUE)
        };
        let address = m.address(op);
        predict(m, address, taken, static_prediction(i));
        if !taken {
            return near(m, op, 4);
        }
        if NEAR {
            near(m, op, i.imm)
        } else {
            m.follow(op, address.wrapping_add(i.imm))
        }
    }
}

/// The code for a `bc`.
fn conditional_branch(operands: &mut Operands, stays: bool) -> Handler {
    macro_rules! variants {
        ($f:ident $(, $on:expr)?) => {
            if stays { $f::<$({ $on },)? true> } else { $f::<$({ $on },)? false> }
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
#[inline(always)]
unsafe fn to_register<const COUNT: bool>(m: &mut Processor, op: *const Op) -> *const Op {
    // SAFETY: `op` is running; after the last instruction of a line there is the op that ends it.
    unsafe {
        let i = &(*op).operands;
        let address = m.address(op);
        let taken = branch::taken(&mut m.registers, i);
        let target = if COUNT {
            m.registers.ctr
        } else {
            m.registers.lr
        } & !3;
        branch::link(&mut m.registers, i, address);
        let wait = if branch::always(i) {
            m.predictor.to_register(address, target)
        } else {
            let (statically_taken, doubt) = (branch::y_bit(i), (*m.hot.block).doubt);
            m.predictor
                .conditional_to_register(address, taken, statically_taken, doubt, target)
        };
        m.wait(wait);
        if taken {
            m.enter(target)
        } else {
            near(m, op, 4)
        }
    }
}

/// The code for `instruction`, which stands at `index` in a line of `words`, and its operands as that code expects
/// them. `near_allowed`: the line is complete, so that branches may stay in it.
pub fn handler(
    instruction: &Instruction,
    index: usize,
    words: usize,
    near_allowed: bool,
) -> (Handler, Operands) {
    let i = instruction;
    let mut operands = i.operands;
    let target = index as i64 * 4 + i64::from(operands.imm.cast_signed());
    let stays = near_allowed && !operands.absolute() && (0..words as i64 * 4).contains(&target);
    let run = match i.opcode {
        Opcode::Addi | Opcode::Addis => plain!(integer::addi),
        Opcode::Addic => plain!(integer::addic::<false>),
        Opcode::AddicRecord => plain!(integer::addic::<true>),
        Opcode::Subfic => plain!(integer::subfic),
        Opcode::Mulli => plain!(integer::mulli),
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
        Opcode::Cmpi => plain!(integer::cmpi),
        Opcode::Cmpli => plain!(integer::cmpli),
        Opcode::Cmp => plain!(integer::cmp),
        Opcode::Cmpl => plain!(integer::cmpl),
        Opcode::AndiRecord | Opcode::AndisRecord => plain!(integer::andi_record),
        Opcode::Ori | Opcode::Oris => plain!(integer::ori),
        Opcode::Xori | Opcode::Xoris => plain!(integer::xori),
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

        Opcode::Lbz => checked!(load_store::lbz),
        Opcode::Lbzu => checked!(load_store::lbzu),
        Opcode::Lbzx => checked!(load_store::lbzx),
        Opcode::Lbzux => checked!(load_store::lbzux),
        Opcode::Lhz => checked!(load_store::lhz),
        Opcode::Lhzu => checked!(load_store::lhzu),
        Opcode::Lhzx => checked!(load_store::lhzx),
        Opcode::Lhzux => checked!(load_store::lhzux),
        Opcode::Lha => checked!(load_store::lha),
        Opcode::Lhau => checked!(load_store::lhau),
        Opcode::Lhax => checked!(load_store::lhax),
        Opcode::Lhaux => checked!(load_store::lhaux),
        Opcode::Lwz => checked!(load_store::lwz),
        Opcode::Lwzu => checked!(load_store::lwzu),
        Opcode::Lwzx => checked!(load_store::lwzx),
        Opcode::Lwzux => checked!(load_store::lwzux),
        Opcode::Lhbrx => checked!(load_store::lhbrx),
        Opcode::Lwbrx => checked!(load_store::lwbrx),
        Opcode::Lwarx => checked!(load_store::lwarx),
        Opcode::Stb => checked!(load_store::stb),
        Opcode::Stbu => checked!(load_store::stbu),
        Opcode::Stbx => checked!(load_store::stbx),
        Opcode::Stbux => checked!(load_store::stbux),
        Opcode::Sth => checked!(load_store::sth),
        Opcode::Sthu => checked!(load_store::sthu),
        Opcode::Sthx => checked!(load_store::sthx),
        Opcode::Sthux => checked!(load_store::sthux),
        Opcode::Stw => checked!(load_store::stw),
        Opcode::Stwu => checked!(load_store::stwu),
        Opcode::Stwx => checked!(load_store::stwx),
        Opcode::Stwux => checked!(load_store::stwux),
        Opcode::Sthbrx => checked!(load_store::sthbrx),
        Opcode::Stwbrx => checked!(load_store::stwbrx),
        Opcode::Stwcx => checked!(load_store::stwcx),
        Opcode::Lmw => ending!(load_store::lmw),
        Opcode::Stmw => ending!(load_store::stmw),
        Opcode::Lswi => ending!(load_store::lswi),
        Opcode::Lswx => ending!(load_store::lswx),
        Opcode::Stswi => ending!(load_store::stswi),
        Opcode::Stswx => ending!(load_store::stswx),

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

        Opcode::B if stays && !operands.link() => b_near,
        Opcode::B => b,
        Opcode::Bc => conditional_branch(&mut operands, stays),
        Opcode::Bclr => to_register::<false>,
        Opcode::Bcctr => to_register::<true>,

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
        Opcode::Mfcr => plain!(condition::mfcr),
        Opcode::Mflr => plain!(condition::mflr),
        Opcode::Mfctr => plain!(condition::mfctr),
        Opcode::Mfxer => plain!(condition::mfxer),
        Opcode::Mtlr => plain!(condition::mtlr),
        Opcode::Mtctr => plain!(condition::mtctr),
        Opcode::Mtxer => plain!(condition::mtxer),

        Opcode::Twi => checked!(system::twi),
        Opcode::Tw => checked!(system::tw),
        Opcode::Sc => system!(system::sc),
        Opcode::Rfi => system!(system::rfi),
        Opcode::Mfspr => system!(system::mfspr),
        Opcode::Mtspr => system!(system::mtspr),
        Opcode::Mftb => system!(system::mftb),
        Opcode::Mfmsr => checked!(system::mfmsr),
        Opcode::Mtmsr => system!(system::mtmsr),
        Opcode::Mfsr => checked!(system::mfsr),
        Opcode::Mfsrin => checked!(system::mfsrin),
        Opcode::Mtsr => system!(system::mtsr),
        Opcode::Mtsrin => system!(system::mtsrin),
        Opcode::Sync => system!(system::sync),
        Opcode::Eieio => checked!(system::eieio),
        Opcode::Isync => system!(system::isync),
        Opcode::Tlbie => system!(system::tlbie),
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
        Opcode::Mulhalf => record!(i, multiply::half),
        Opcode::Eciwx => ending!(system::eciwx),
        Opcode::Ecowx => ending!(system::ecowx),
        Opcode::Dcbf => checked!(load_store::dcbf),
        Opcode::Dcbst => checked!(load_store::dcbst),
        Opcode::Dcbt => checked!(load_store::dcbt),
        Opcode::Dcbtst => checked!(load_store::dcbtst),
        Opcode::Dcbz => checked!(load_store::dcbz),
        Opcode::Dcbi => checked!(load_store::dcbi),
        Opcode::Icbi => system!(system::icbi),

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
    (run, operands)
}
