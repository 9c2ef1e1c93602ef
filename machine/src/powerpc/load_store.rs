//! Integer and floating-point loads and stores (PEM 4.2.3).

use super::core::{CacheOperation, Core};
use super::exception::Exception;
use super::float::format::{double_from_single, single_from_double};
use super::instruction::Operands;
use super::registers::condition;

type Outcome = Result<(), Exception>;

/// rA or zero, plus displacement.
#[inline(always)]
fn displaced<C: Core>(c: &mut C, i: &Operands) -> u32 {
    c.registers().gpr.get(i.a).wrapping_add(i.imm)
}

/// rA or zero, plus rB.
#[inline(always)]
pub fn indexed<C: Core>(c: &mut C, i: &Operands) -> u32 {
    let r = c.registers();
    r.gpr.get(i.a).wrapping_add(r.gpr.get(i.b))
}

macro_rules! loads {
    ($($name:ident $update:ident $indexed:ident $indexed_update:ident:
       $type:ty as |$value:ident| $extended:expr;)*) => {$(
        #[inline(always)]
        pub fn $name<C: Core>(c: &mut C, i: &Operands) -> Outcome {
            let ea = displaced(c, i);
            let $value = c.load::<$type>(ea)?;
            c.registers().gpr.set(i.t, $extended);
            Ok(())
        }

        #[inline(always)]
        pub fn $update<C: Core>(c: &mut C, i: &Operands) -> Outcome {
            let ea = displaced(c, i);
            let $value = c.load::<$type>(ea)?;
            let r = c.registers();
            r.gpr.set(i.a, ea);
            r.gpr.set(i.t, $extended);
            Ok(())
        }

        #[inline(always)]
        pub fn $indexed<C: Core>(c: &mut C, i: &Operands) -> Outcome {
            let ea = indexed(c, i);
            let $value = c.load::<$type>(ea)?;
            c.registers().gpr.set(i.t, $extended);
            Ok(())
        }

        #[inline(always)]
        pub fn $indexed_update<C: Core>(c: &mut C, i: &Operands) -> Outcome {
            let ea = indexed(c, i);
            let $value = c.load::<$type>(ea)?;
            let r = c.registers();
            r.gpr.set(i.a, ea);
            r.gpr.set(i.t, $extended);
            Ok(())
        }
    )*};
}

loads! {
    lbz lbzu lbzx lbzux: u8 as |value| u32::from(value);
    lhz lhzu lhzx lhzux: u16 as |value| u32::from(value);
    lha lhau lhax lhaux: u16 as |value| value as i16 as u32;
    lwz lwzu lwzx lwzux: u32 as |value| value;
}

macro_rules! stores {
    ($($name:ident $update:ident $indexed:ident $indexed_update:ident: $type:ty;)*) => {$(
        #[inline(always)]
        pub fn $name<C: Core>(c: &mut C, i: &Operands) -> Outcome {
            let ea = displaced(c, i);
            let value = c.registers().gpr.get(i.t) as $type;
            c.store(ea, value)
        }

        #[inline(always)]
        pub fn $update<C: Core>(c: &mut C, i: &Operands) -> Outcome {
            let ea = displaced(c, i);
            let value = c.registers().gpr.get(i.t) as $type;
            c.store(ea, value)?;
            c.registers().gpr.set(i.a, ea);
            Ok(())
        }

        #[inline(always)]
        pub fn $indexed<C: Core>(c: &mut C, i: &Operands) -> Outcome {
            let ea = indexed(c, i);
            let value = c.registers().gpr.get(i.t) as $type;
            c.store(ea, value)
        }

        #[inline(always)]
        pub fn $indexed_update<C: Core>(c: &mut C, i: &Operands) -> Outcome {
            let ea = indexed(c, i);
            let value = c.registers().gpr.get(i.t) as $type;
            c.store(ea, value)?;
            c.registers().gpr.set(i.a, ea);
            Ok(())
        }
    )*};
}

stores! {
    stb stbu stbx stbux: u8;
    sth sthu sthx sthux: u16;
    stw stwu stwx stwux: u32;
}

#[inline(always)]
pub fn lhbrx<C: Core>(c: &mut C, i: &Operands) -> Outcome {
    let ea = indexed(c, i);
    let value = c.load::<u16>(ea)?.swap_bytes();
    c.registers().gpr.set(i.t, u32::from(value));
    Ok(())
}

#[inline(always)]
pub fn lwbrx<C: Core>(c: &mut C, i: &Operands) -> Outcome {
    let ea = indexed(c, i);
    let value = c.load::<u32>(ea)?.swap_bytes();
    c.registers().gpr.set(i.t, value);
    Ok(())
}

#[inline(always)]
pub fn sthbrx<C: Core>(c: &mut C, i: &Operands) -> Outcome {
    let ea = indexed(c, i);
    let value = c.registers().gpr.get(i.t) as u16;
    c.store(ea, value.swap_bytes())
}

#[inline(always)]
pub fn stwbrx<C: Core>(c: &mut C, i: &Operands) -> Outcome {
    let ea = indexed(c, i);
    let value = c.registers().gpr.get(i.t);
    c.store(ea, value.swap_bytes())
}

/// lwarx, stwcx., lmw, stmw, eciwx and ecowx must be word-aligned (603e UM 4.5.6, 604 UM 4.5.6).
#[inline(always)]
fn word_aligned(ea: u32) -> Outcome {
    if ea & 3 == 0 {
        Ok(())
    } else {
        Err(Exception::Alignment { address: ea })
    }
}

pub fn lwarx<C: Core>(c: &mut C, i: &Operands) -> Outcome {
    let ea = indexed(c, i);
    word_aligned(ea)?;
    let value = c.load_reserved(ea)?;
    c.registers().gpr.set(i.t, value);
    Ok(())
}

pub fn stwcx<C: Core>(c: &mut C, i: &Operands) -> Outcome {
    let ea = indexed(c, i);
    word_aligned(ea)?;
    let value = c.registers().gpr.get(i.t);
    let done = c.store_conditional(ea, value)?;
    let r = c.registers();
    let field = if done { condition::EQ } else { 0 } | u8::from(r.xer.so);
    r.cr.set_field(0, field);
    Ok(())
}

/// After a fault midway the earlier registers are loaded and rA is unchanged, so that the instruction can be
/// restarted.
pub fn lmw<C: Core>(c: &mut C, i: &Operands) -> Outcome {
    let mut ea = displaced(c, i);
    word_aligned(ea)?;
    let mut register = i.t;
    loop {
        let value = c.load_element::<u32>(ea)?;
        if register != i.a {
            c.registers().gpr.set(register, value);
        }
        if register.number() == 31 {
            return Ok(());
        }
        register = register.following();
        ea = ea.wrapping_add(4);
    }
}

pub fn stmw<C: Core>(c: &mut C, i: &Operands) -> Outcome {
    let mut ea = displaced(c, i);
    word_aligned(ea)?;
    let mut register = i.t;
    loop {
        let value = c.registers().gpr.get(register);
        c.store_element::<u32>(ea, value)?;
        if register.number() == 31 {
            return Ok(());
        }
        register = register.following();
        ea = ea.wrapping_add(4);
    }
}

/// Loads `count` bytes into successive registers from rT on, left-justified. An address register
/// among the targets keeps its value (an invalid form), as for `lmw`.
fn load_string<C: Core>(
    c: &mut C,
    i: &Operands,
    mut ea: u32,
    mut count: u32,
    also: Option<u8>,
) -> Outcome {
    let mut register = i.t;
    while count > 0 {
        let value = if count >= 4 {
            let word = c.load_element::<u32>(ea)?;
            ea = ea.wrapping_add(4);
            count -= 4;
            word
        } else {
            let mut word = 0;
            for byte in 0..count {
                word |= u32::from(c.load_element::<u8>(ea)?) << (24 - 8 * byte);
                ea = ea.wrapping_add(1);
            }
            count = 0;
            word
        };
        if register != i.a && also != Some(register.number()) {
            c.registers().gpr.set(register, value);
        }
        register = register.following();
    }
    Ok(())
}

fn store_string<C: Core>(c: &mut C, i: &Operands, mut ea: u32, mut count: u32) -> Outcome {
    let mut register = i.t;
    while count > 0 {
        let value = c.registers().gpr.get(register);
        if count >= 4 {
            c.store_element::<u32>(ea, value)?;
            ea = ea.wrapping_add(4);
            count -= 4;
        } else {
            for byte in 0..count {
                c.store_element::<u8>(ea, (value >> (24 - 8 * byte)) as u8)?;
                ea = ea.wrapping_add(1);
            }
            count = 0;
        }
        register = register.following();
    }
    Ok(())
}

/// NB of `lswi` and `stswi`: 0 means 32.
fn immediate_count(i: &Operands) -> u32 {
    match i.b.number() {
        0 => 32,
        count => u32::from(count),
    }
}

pub fn lswi<C: Core>(c: &mut C, i: &Operands) -> Outcome {
    let ea = c.registers().gpr.get(i.a);
    load_string(c, i, ea, immediate_count(i), None)
}

pub fn lswx<C: Core>(c: &mut C, i: &Operands) -> Outcome {
    let ea = indexed(c, i);
    let count = c.registers().xer.count();
    load_string(c, i, ea, count, Some(i.b.number()))
}

pub fn stswi<C: Core>(c: &mut C, i: &Operands) -> Outcome {
    let ea = c.registers().gpr.get(i.a);
    store_string(c, i, ea, immediate_count(i))
}

pub fn stswx<C: Core>(c: &mut C, i: &Operands) -> Outcome {
    let ea = indexed(c, i);
    let count = c.registers().xer.count();
    store_string(c, i, ea, count)
}

/// A floating-point operand must be word-aligned (603e UM 4.5.6, 604 UM 4.5.6).
macro_rules! float_accesses {
    ($($name:ident $update:ident $indexed:ident $indexed_update:ident: $access:ident;)*) => {$(
        #[inline(always)]
        pub fn $name<C: Core>(c: &mut C, i: &Operands) -> Outcome {
            let ea = displaced(c, i);
            $access(c, i, ea)
        }

        #[inline(always)]
        pub fn $update<C: Core>(c: &mut C, i: &Operands) -> Outcome {
            let ea = displaced(c, i);
            $access(c, i, ea)?;
            c.registers().gpr.set(i.a, ea);
            Ok(())
        }

        #[inline(always)]
        pub fn $indexed<C: Core>(c: &mut C, i: &Operands) -> Outcome {
            let ea = indexed(c, i);
            $access(c, i, ea)
        }

        #[inline(always)]
        pub fn $indexed_update<C: Core>(c: &mut C, i: &Operands) -> Outcome {
            let ea = indexed(c, i);
            $access(c, i, ea)?;
            c.registers().gpr.set(i.a, ea);
            Ok(())
        }
    )*};
}

#[inline(always)]
fn load_single<C: Core>(c: &mut C, i: &Operands, ea: u32) -> Outcome {
    word_aligned(ea)?;
    let value = c.load::<u32>(ea)?;
    c.registers().fpr[i.t.index() & 31] = double_from_single(value);
    Ok(())
}

#[inline(always)]
fn load_double<C: Core>(c: &mut C, i: &Operands, ea: u32) -> Outcome {
    word_aligned(ea)?;
    let value = c.load::<u64>(ea)?;
    c.registers().fpr[i.t.index() & 31] = value;
    Ok(())
}

#[inline(always)]
fn store_single<C: Core>(c: &mut C, i: &Operands, ea: u32) -> Outcome {
    word_aligned(ea)?;
    let value = single_from_double(c.registers().fpr[i.t.index() & 31]);
    c.store(ea, value)
}

#[inline(always)]
fn store_double<C: Core>(c: &mut C, i: &Operands, ea: u32) -> Outcome {
    word_aligned(ea)?;
    let value = c.registers().fpr[i.t.index() & 31];
    c.store(ea, value)
}

float_accesses! {
    lfs lfsu lfsx lfsux: load_single;
    lfd lfdu lfdx lfdux: load_double;
    stfs stfsu stfsx stfsux: store_single;
    stfd stfdu stfdx stfdux: store_double;
}

#[inline(always)]
pub fn stfiwx<C: Core>(c: &mut C, i: &Operands) -> Outcome {
    let ea = indexed(c, i);
    word_aligned(ea)?;
    let value = c.registers().fpr[i.t.index() & 31] as u32;
    c.store(ea, value)
}

macro_rules! cache_instructions {
    ($($name:ident $operation:ident;)*) => {$(
        pub fn $name<C: Core>(c: &mut C, i: &Operands) -> Outcome {
            let ea = indexed(c, i);
            c.cache_operation(CacheOperation::$operation, ea)
        }
    )*};
}

cache_instructions! {
    dcbf Flush;
    dcbst Store;
    dcbt Touch;
    dcbtst TouchForStore;
    dcbz Zero;
    icbi InstructionInvalidate;
}

/// Privileged, because it can discard data.
pub fn dcbi<C: Core>(c: &mut C, i: &Operands) -> Outcome {
    super::exception::privileged(c.registers())?;
    let ea = indexed(c, i);
    c.cache_operation(CacheOperation::Invalidate, ea)
}
