//! From a decoded instruction to the code that runs it.

use super::instruction::{Instruction, Opcode, Operands};
use super::registers::Register;
use super::system::{self, Flow};
use super::word::Word;
use super::{
    Exception, branch, condition, doubleword, exception, float, integer, load_store, multiply,
    rotate, system_405, system_970,
};
use crate::engine::Handler;
use crate::engine::line::Op;
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
#[cold]
#[inline(never)]
unsafe fn raise(m: &mut Processor, op: *const Op, e: Exception) -> *const Op {
    // SAFETY: `op` is running.
    unsafe { m.raise(op, e) }
}

/// An instruction that touches registers only.
macro_rules! plain {
    ($f:expr) => {{
        unsafe fn run<W: Word>(m: &mut Processor, op: *const Op) -> *const Op {
            // SAFETY: `op` is running.
            unsafe {
                $f(&mut m.registers, &(*op).operands);
                go_on(m, op)
            }
        }
        run::<W> as Handler
    }};
}

/// The variants of a register instruction by its OE and Rc bits.
macro_rules! overflow_record {
    ($i:expr, $f:ident) => {
        match ($i.overflow, $i.record) {
            (false, false) => plain!(integer::$f::<W, false, false>),
            (false, true) => plain!(integer::$f::<W, false, true>),
            (true, false) => plain!(integer::$f::<W, true, false>),
            (true, true) => plain!(integer::$f::<W, true, true>),
        }
    };
}

/// The same for one that a single width of registers has.
macro_rules! own_overflow_record {
    ($i:expr, $f:path) => {{
        use $f as f;
        match ($i.overflow, $i.record) {
            (false, false) => plain!(f::<false, false>),
            (false, true) => plain!(f::<false, true>),
            (true, false) => plain!(f::<true, false>),
            (true, true) => plain!(f::<true, true>),
        }
    }};
}

/// The variants of a register instruction by its Rc bit.
macro_rules! record {
    ($i:expr, $f:path) => {{
        use $f as f;
        if $i.record {
            plain!(f::<W, true>)
        } else {
            plain!(f::<W, false>)
        }
    }};
}

/// The same for one that a single width of registers has.
macro_rules! own_record {
    ($i:expr, $f:path) => {{
        use $f as f;
        if $i.record {
            plain!(f::<true>)
        } else {
            plain!(f::<false>)
        }
    }};
}

/// One of two functions, by the width of the registers.
macro_rules! by_width {
    ($macro:ident, $narrow:path, $wide:path) => {
        if W::WIDE {
            $macro!($wide)
        } else {
            $macro!($narrow)
        }
    };
}

/// An instruction that may raise an exception.
macro_rules! checked {
    ($f:expr) => {{
        unsafe fn run<W: Word>(m: &mut Processor, op: *const Op) -> *const Op {
            // SAFETY: `op` is running.
            unsafe {
                match $f(m, &(*op).operands) {
                    Ok(()) => go_on(m, op),
                    Err(e) => raise(m, op, e),
                }
            }
        }
        run::<W> as Handler
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
        unsafe fn run<W: Word>(m: &mut Processor, op: *const Op) -> *const Op {
            // SAFETY: `op` is running.
            unsafe { run_system(m, op, $f) }
        }
        run::<W> as Handler
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
unsafe fn b<W: Word>(m: &mut Processor, op: *const Op) -> *const Op {
    // SAFETY: `op` is running.
    let (address, i) = unsafe { (m.address(op), &(*op).operands) };
    branch::link::<W>(&mut m.registers, i, address);
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
unsafe fn conditional<W: Word, const NEAR: bool>(m: &mut Processor, op: *const Op) -> *const Op {
    // SAFETY: `op` is running; with NEAR its target is in the same line. After the last
    // instruction of a line there is the op that ends it.
    unsafe {
        let i = &(*op).operands;
        let address = m.address(op);
        let taken = branch::taken::<W>(&mut m.registers, i);
        branch::link::<W>(&mut m.registers, i, address);
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
#[inline(always)]
unsafe fn to_register<W: Word, const COUNT: bool>(m: &mut Processor, op: *const Op) -> *const Op {
    // SAFETY: `op` is running; after the last instruction of a line there is the op that ends it.
    unsafe {
        let i = &(*op).operands;
        let address = m.address(op);
        let taken = branch::taken::<W>(&mut m.registers, i);
        let r = &m.registers;
        let whole = if COUNT { W::count(r) } else { W::link(r) }.address(r);
        let target = whole.low() & !3;
        branch::link::<W>(&mut m.registers, i, address);
        let wait = if branch::always(i) {
            m.predictor.to_register(address, target)
        } else {
            let (statically_taken, doubt) = (branch::y_bit(i), (*m.hot.block).doubt);
            m.predictor
                .conditional_to_register(address, taken, statically_taken, doubt, target)
        };
        m.wait(wait);
        if taken {
            if W::WIDE {
                m.go_to((whole.whole() >> 32) as u32);
            }
            m.enter(target)
        } else {
            near(m, op, 4)
        }
    }
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
) -> (Handler, Operands) {
    let i = instruction;
    let mut operands = i.operands;
    let target = index as i64 * 4 + i64::from(operands.imm.cast_signed());
    let stays = near_allowed && !operands.absolute() && (0..words as i64 * 4).contains(&target);
    let run = match i.opcode {
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

        Opcode::Lbz => checked!(load_store::lbz::<W, _>),
        Opcode::Lbzu => checked!(load_store::lbzu::<W, _>),
        Opcode::Lbzx => checked!(load_store::lbzx::<W, _>),
        Opcode::Lbzux => checked!(load_store::lbzux::<W, _>),
        Opcode::Lhz => checked!(load_store::lhz::<W, _>),
        Opcode::Lhzu => checked!(load_store::lhzu::<W, _>),
        Opcode::Lhzx => checked!(load_store::lhzx::<W, _>),
        Opcode::Lhzux => checked!(load_store::lhzux::<W, _>),
        Opcode::Lha => checked!(load_store::lha::<W, _>),
        Opcode::Lhau => checked!(load_store::lhau::<W, _>),
        Opcode::Lhax => checked!(load_store::lhax::<W, _>),
        Opcode::Lhaux => checked!(load_store::lhaux::<W, _>),
        Opcode::Lwz => checked!(load_store::lwz::<W, _>),
        Opcode::Lwzu => checked!(load_store::lwzu::<W, _>),
        Opcode::Lwzx => checked!(load_store::lwzx::<W, _>),
        Opcode::Lwzux => checked!(load_store::lwzux::<W, _>),
        Opcode::Lhbrx => checked!(load_store::lhbrx::<W, _>),
        Opcode::Lwbrx => checked!(load_store::lwbrx::<W, _>),
        Opcode::Lwarx => checked!(load_store::lwarx::<W, _>),
        Opcode::Stb => checked!(load_store::stb::<W, _>),
        Opcode::Stbu => checked!(load_store::stbu::<W, _>),
        Opcode::Stbx => checked!(load_store::stbx::<W, _>),
        Opcode::Stbux => checked!(load_store::stbux::<W, _>),
        Opcode::Sth => checked!(load_store::sth::<W, _>),
        Opcode::Sthu => checked!(load_store::sthu::<W, _>),
        Opcode::Sthx => checked!(load_store::sthx::<W, _>),
        Opcode::Sthux => checked!(load_store::sthux::<W, _>),
        Opcode::Stw => checked!(load_store::stw::<W, _>),
        Opcode::Stwu => checked!(load_store::stwu::<W, _>),
        Opcode::Stwx => checked!(load_store::stwx::<W, _>),
        Opcode::Stwux => checked!(load_store::stwux::<W, _>),
        Opcode::Sthbrx => checked!(load_store::sthbrx::<W, _>),
        Opcode::Stwbrx => checked!(load_store::stwbrx::<W, _>),
        Opcode::Stwcx => checked!(load_store::stwcx::<W, _>),
        Opcode::Lmw => ending!(load_store::lmw::<W, _>),
        Opcode::Stmw => ending!(load_store::stmw::<W, _>),
        Opcode::Lswi => ending!(load_store::lswi::<W, _>),
        Opcode::Lswx => ending!(load_store::lswx::<W, _>),
        Opcode::Stswi => ending!(load_store::stswi::<W, _>),
        Opcode::Stswx => ending!(load_store::stswx::<W, _>),

        Opcode::Lfs => float_access!(load_store::lfs::<W, _>),
        Opcode::Lfsu => float_access!(load_store::lfsu::<W, _>),
        Opcode::Lfsx => float_access!(load_store::lfsx::<W, _>),
        Opcode::Lfsux => float_access!(load_store::lfsux::<W, _>),
        Opcode::Lfd => float_access!(load_store::lfd::<W, _>),
        Opcode::Lfdu => float_access!(load_store::lfdu::<W, _>),
        Opcode::Lfdx => float_access!(load_store::lfdx::<W, _>),
        Opcode::Lfdux => float_access!(load_store::lfdux::<W, _>),
        Opcode::Stfs => float_access!(load_store::stfs::<W, _>),
        Opcode::Stfsu => float_access!(load_store::stfsu::<W, _>),
        Opcode::Stfsx => float_access!(load_store::stfsx::<W, _>),
        Opcode::Stfsux => float_access!(load_store::stfsux::<W, _>),
        Opcode::Stfd => float_access!(load_store::stfd::<W, _>),
        Opcode::Stfdu => float_access!(load_store::stfdu::<W, _>),
        Opcode::Stfdx => float_access!(load_store::stfdx::<W, _>),
        Opcode::Stfdux => float_access!(load_store::stfdux::<W, _>),
        Opcode::Stfiwx => float_access!(load_store::stfiwx::<W, _>),

        Opcode::B if stays && !operands.link() => b_near,
        Opcode::B => b::<W>,
        Opcode::Bc => conditional_branch::<W>(&mut operands, stays),
        Opcode::Bclr => to_register::<W, false>,
        Opcode::Bcctr => to_register::<W, true>,

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
        Opcode::Ld => checked!(load_store::ld::<W, _>),
        Opcode::Ldu => checked!(load_store::ldu::<W, _>),
        Opcode::Lwa => checked!(load_store::lwa::<W, _>),
        Opcode::Std => checked!(load_store::std::<W, _>),
        Opcode::Stdu => checked!(load_store::stdu::<W, _>),
        Opcode::Ldx => checked!(load_store::ldx::<W, _>),
        Opcode::Ldux => checked!(load_store::ldux::<W, _>),
        Opcode::Lwax => checked!(load_store::lwax::<W, _>),
        Opcode::Lwaux => checked!(load_store::lwaux::<W, _>),
        Opcode::Ldarx => checked!(load_store::ldarx),
        Opcode::Stdx => checked!(load_store::stdx::<W, _>),
        Opcode::Stdux => checked!(load_store::stdux::<W, _>),
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
    (run, operands)
}
