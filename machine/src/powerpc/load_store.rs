//! Integer and floating-point loads and stores (PEM 4.2.3).

use super::core::{CacheOperation, Core};
use super::exception::Exception;
use super::float::format::{double_from_single, single_from_double};
use super::instruction::Operands;
use super::registers::condition;
use super::word::Word;
use crate::memory::Datum;

type Outcome = Result<(), Exception>;

/// rA or zero, plus displacement.
#[inline(always)]
fn displaced<W: Word, C: Core>(c: &mut C, i: &Operands) -> W {
    let r = c.registers();
    W::get(r, i.a).plus(W::signed(i.imm)).address(r)
}

/// rA or zero, plus rB.
#[inline(always)]
pub fn indexed<W: Word, C: Core>(c: &mut C, i: &Operands) -> W {
    let r = c.registers();
    W::get(r, i.a).plus(W::get(r, i.b)).address(r)
}

macro_rules! loads {
    ($($name:ident $update:ident $indexed:ident $indexed_update:ident:
       $type:ty as |$value:ident| $extended:expr;)*) => {$(
        #[inline(always)]
        pub fn $name<W: Word, C: Core>(c: &mut C, i: &Operands) -> Outcome {
            let ea: W = displaced(c, i);
            let $value: $type = ea.load(c)?;
            W::set(c.registers(), i.t, $extended);
            Ok(())
        }

        #[inline(always)]
        pub fn $update<W: Word, C: Core>(c: &mut C, i: &Operands) -> Outcome {
            let ea: W = displaced(c, i);
            let $value: $type = ea.load(c)?;
            let r = c.registers();
            W::set(r, i.a, ea);
            W::set(r, i.t, $extended);
            Ok(())
        }

        #[inline(always)]
        pub fn $indexed<W: Word, C: Core>(c: &mut C, i: &Operands) -> Outcome {
            let ea: W = indexed(c, i);
            let $value: $type = ea.load(c)?;
            W::set(c.registers(), i.t, $extended);
            Ok(())
        }

        #[inline(always)]
        pub fn $indexed_update<W: Word, C: Core>(c: &mut C, i: &Operands) -> Outcome {
            let ea: W = indexed(c, i);
            let $value: $type = ea.load(c)?;
            let r = c.registers();
            W::set(r, i.a, ea);
            W::set(r, i.t, $extended);
            Ok(())
        }
    )*};
}

loads! {
    lbz lbzu lbzx lbzux: u8 as |value| W::unsigned(value.into());
    lhz lhzu lhzx lhzux: u16 as |value| W::unsigned(value.into());
    lha lhau lhax lhaux: u16 as |value| W::signed(value as i16 as u32);
    lwz lwzu lwzx lwzux: u32 as |value| W::unsigned(value);
    // Only cores of 64 bits. There is no lwau.
    lwa lwau lwax lwaux: u32 as |value| W::signed(value);
    ld ldu ldx ldux: u64 as |value| W::of(value);
}

macro_rules! stores {
    ($($name:ident $update:ident $indexed:ident $indexed_update:ident: $type:ty;)*) => {$(
        #[inline(always)]
        pub fn $name<W: Word, C: Core>(c: &mut C, i: &Operands) -> Outcome {
            let ea: W = displaced(c, i);
            let value = W::get(c.registers(), i.t).whole() as $type;
            ea.store(c, value)
        }

        #[inline(always)]
        pub fn $update<W: Word, C: Core>(c: &mut C, i: &Operands) -> Outcome {
            let ea: W = displaced(c, i);
            let value = W::get(c.registers(), i.t).whole() as $type;
            ea.store(c, value)?;
            W::set(c.registers(), i.a, ea);
            Ok(())
        }

        #[inline(always)]
        pub fn $indexed<W: Word, C: Core>(c: &mut C, i: &Operands) -> Outcome {
            let ea: W = indexed(c, i);
            let value = W::get(c.registers(), i.t).whole() as $type;
            ea.store(c, value)
        }

        #[inline(always)]
        pub fn $indexed_update<W: Word, C: Core>(c: &mut C, i: &Operands) -> Outcome {
            let ea: W = indexed(c, i);
            let value = W::get(c.registers(), i.t).whole() as $type;
            ea.store(c, value)?;
            W::set(c.registers(), i.a, ea);
            Ok(())
        }
    )*};
}

stores! {
    stb stbu stbx stbux: u8;
    sth sthu sthx sthux: u16;
    stw stwu stwx stwux: u32;
    // Only cores of 64 bits.
    std stdu stdx stdux: u64;
}

#[inline(always)]
pub fn lhbrx<W: Word, C: Core>(c: &mut C, i: &Operands) -> Outcome {
    let ea: W = indexed(c, i);
    let value = ea.load::<C, u16>(c)?.swap_bytes();
    c.registers().gpr.set(i.t, u32::from(value));
    Ok(())
}

#[inline(always)]
pub fn lwbrx<W: Word, C: Core>(c: &mut C, i: &Operands) -> Outcome {
    let ea: W = indexed(c, i);
    let value = ea.load::<C, u32>(c)?.swap_bytes();
    c.registers().gpr.set(i.t, value);
    Ok(())
}

#[inline(always)]
pub fn sthbrx<W: Word, C: Core>(c: &mut C, i: &Operands) -> Outcome {
    let ea: W = indexed(c, i);
    let value = c.registers().gpr.get(i.t) as u16;
    ea.store(c, value.swap_bytes())
}

#[inline(always)]
pub fn stwbrx<W: Word, C: Core>(c: &mut C, i: &Operands) -> Outcome {
    let ea: W = indexed(c, i);
    let value = c.registers().gpr.get(i.t);
    ea.store(c, value.swap_bytes())
}

/// lwarx, stwcx., lmw, stmw, eciwx and ecowx must be word-aligned (603e UM 4.5.6, 604 UM 4.5.6); ldarx and stdcx. to
/// double words (PEM 4.2.6).
#[inline(always)]
fn aligned(ea: u32, bytes: u32) -> Outcome {
    if ea & (bytes - 1) == 0 {
        Ok(())
    } else {
        Err(Exception::Alignment { address: ea })
    }
}

#[inline(always)]
fn load_reserved<W: Word, C: Core, T: Datum>(c: &mut C, i: &Operands) -> Outcome {
    let ea: W = indexed(c, i);
    let value = ea.at(c, |c, ea| {
        aligned(ea, T::BYTES)?;
        c.load_reserved::<T>(ea)
    })?;
    W::set(c.registers(), i.t, W::of(value.raw()));
    Ok(())
}

#[inline(always)]
fn store_conditional<W: Word, C: Core, T: Datum>(c: &mut C, i: &Operands) -> Outcome {
    let ea: W = indexed(c, i);
    let value = T::from_raw(W::get(c.registers(), i.t).whole());
    let done = ea.at(c, |c, ea| {
        aligned(ea, T::BYTES)?;
        c.store_conditional(ea, value)
    })?;
    let r = c.registers();
    let field = if done { condition::EQ } else { 0 } | u8::from(r.xer.so);
    r.cr.set_field(0, field);
    Ok(())
}

pub fn lwarx<W: Word, C: Core>(c: &mut C, i: &Operands) -> Outcome {
    load_reserved::<W, C, u32>(c, i)
}

pub fn stwcx<W: Word, C: Core>(c: &mut C, i: &Operands) -> Outcome {
    store_conditional::<W, C, u32>(c, i)
}

pub fn ldarx<C: Core>(c: &mut C, i: &Operands) -> Outcome {
    load_reserved::<u64, C, u64>(c, i)
}

pub fn stdcx<C: Core>(c: &mut C, i: &Operands) -> Outcome {
    store_conditional::<u64, C, u64>(c, i)
}

/// After a fault midway the earlier registers are loaded and rA is unchanged, so that the instruction can be
/// restarted.
pub fn lmw<W: Word, C: Core>(c: &mut C, i: &Operands) -> Outcome {
    let mut ea: W = displaced(c, i);
    let mut register = i.t;
    loop {
        let value = ea.at(c, |c, ea| {
            aligned(ea, 4)?;
            c.load_element::<u32>(ea)
        })?;
        if register != i.a {
            c.registers().gpr.set(register, value);
        }
        if register.number() == 31 {
            return Ok(());
        }
        register = register.following();
        ea = ea.further(c.registers(), 4);
    }
}

pub fn stmw<W: Word, C: Core>(c: &mut C, i: &Operands) -> Outcome {
    let mut ea: W = displaced(c, i);
    let mut register = i.t;
    loop {
        let value = c.registers().gpr.get(register);
        ea.at(c, |c, ea| {
            aligned(ea, 4)?;
            c.store_element::<u32>(ea, value)
        })?;
        if register.number() == 31 {
            return Ok(());
        }
        register = register.following();
        ea = ea.further(c.registers(), 4);
    }
}

/// Loads `count` bytes into successive registers from rT on, left-justified. An address register
/// among the targets keeps its value (an invalid form), as for `lmw`.
fn load_string<W: Word, C: Core>(
    c: &mut C,
    i: &Operands,
    mut ea: W,
    mut count: u32,
    also: Option<u8>,
) -> Outcome {
    let mut register = i.t;
    while count > 0 {
        let value = if count >= 4 {
            let word = ea.at(c, |c, ea| c.load_element::<u32>(ea))?;
            ea = ea.further(c.registers(), 4);
            count -= 4;
            word
        } else {
            let mut word = 0;
            for byte in 0..count {
                let value = ea.at(c, |c, ea| c.load_element::<u8>(ea))?;
                word |= u32::from(value) << (24 - 8 * byte);
                ea = ea.further(c.registers(), 1);
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

fn store_string<W: Word, C: Core>(c: &mut C, i: &Operands, mut ea: W, mut count: u32) -> Outcome {
    let mut register = i.t;
    while count > 0 {
        let value = c.registers().gpr.get(register);
        if count >= 4 {
            ea.at(c, |c, ea| c.store_element::<u32>(ea, value))?;
            ea = ea.further(c.registers(), 4);
            count -= 4;
        } else {
            for byte in 0..count {
                let byte = (value >> (24 - 8 * byte)) as u8;
                ea.at(c, |c, ea| c.store_element::<u8>(ea, byte))?;
                ea = ea.further(c.registers(), 1);
            }
            count = 0;
        }
        register = register.following();
    }
    Ok(())
}

/// rA or zero.
fn based<W: Word, C: Core>(c: &mut C, i: &Operands) -> W {
    let r = c.registers();
    W::get(r, i.a).address(r)
}

/// NB of `lswi` and `stswi`: 0 means 32.
fn immediate_count(i: &Operands) -> u32 {
    match i.b.number() {
        0 => 32,
        count => u32::from(count),
    }
}

pub fn lswi<W: Word, C: Core>(c: &mut C, i: &Operands) -> Outcome {
    let ea: W = based(c, i);
    load_string(c, i, ea, immediate_count(i), None)
}

pub fn lswx<W: Word, C: Core>(c: &mut C, i: &Operands) -> Outcome {
    let ea: W = indexed(c, i);
    let count = c.registers().xer.count();
    load_string(c, i, ea, count, Some(i.b.number()))
}

pub fn stswi<W: Word, C: Core>(c: &mut C, i: &Operands) -> Outcome {
    let ea: W = based(c, i);
    store_string(c, i, ea, immediate_count(i))
}

pub fn stswx<W: Word, C: Core>(c: &mut C, i: &Operands) -> Outcome {
    let ea: W = indexed(c, i);
    let count = c.registers().xer.count();
    store_string(c, i, ea, count)
}

/// A floating-point operand must be word-aligned (603e UM 4.5.6, 604 UM 4.5.6). A 970 splits one that is not, as it
/// does those of general registers, unless it crosses the end of a page (Apple's XNU, `AlignAssist64.s`).
#[inline(always)]
fn float_aligned<W: Word, T: Datum>(ea: u32) -> Outcome {
    let crosses = ea & 0xfff > 0x1000 - T::BYTES;
    if W::WIDE && !crosses {
        return Ok(());
    }
    aligned(ea, 4)
}

macro_rules! float_accesses {
    ($($name:ident $update:ident $indexed:ident $indexed_update:ident: $access:ident;)*) => {$(
        #[inline(always)]
        pub fn $name<W: Word, C: Core>(c: &mut C, i: &Operands) -> Outcome {
            let ea: W = displaced(c, i);
            $access(c, i, ea)
        }

        #[inline(always)]
        pub fn $update<W: Word, C: Core>(c: &mut C, i: &Operands) -> Outcome {
            let ea: W = displaced(c, i);
            $access(c, i, ea)?;
            W::set(c.registers(), i.a, ea);
            Ok(())
        }

        #[inline(always)]
        pub fn $indexed<W: Word, C: Core>(c: &mut C, i: &Operands) -> Outcome {
            let ea: W = indexed(c, i);
            $access(c, i, ea)
        }

        #[inline(always)]
        pub fn $indexed_update<W: Word, C: Core>(c: &mut C, i: &Operands) -> Outcome {
            let ea: W = indexed(c, i);
            $access(c, i, ea)?;
            W::set(c.registers(), i.a, ea);
            Ok(())
        }
    )*};
}

#[inline(always)]
fn load_single<W: Word, C: Core>(c: &mut C, i: &Operands, ea: W) -> Outcome {
    let value = ea.at(c, |c, ea| {
        float_aligned::<W, u32>(ea)?;
        c.load::<u32>(ea)
    })?;
    c.registers().fpr[i.t.index() & 31] = double_from_single(value);
    Ok(())
}

#[inline(always)]
fn load_double<W: Word, C: Core>(c: &mut C, i: &Operands, ea: W) -> Outcome {
    let value = ea.at(c, |c, ea| {
        float_aligned::<W, u64>(ea)?;
        c.load::<u64>(ea)
    })?;
    c.registers().fpr[i.t.index() & 31] = value;
    Ok(())
}

#[inline(always)]
fn store_float<W: Word, C: Core, T: Datum>(c: &mut C, ea: W, value: T) -> Outcome {
    ea.at(c, |c, ea| {
        float_aligned::<W, T>(ea)?;
        c.store(ea, value)
    })
}

#[inline(always)]
fn store_single<W: Word, C: Core>(c: &mut C, i: &Operands, ea: W) -> Outcome {
    let value = single_from_double(c.registers().fpr[i.t.index() & 31]);
    store_float(c, ea, value)
}

#[inline(always)]
fn store_double<W: Word, C: Core>(c: &mut C, i: &Operands, ea: W) -> Outcome {
    let value = c.registers().fpr[i.t.index() & 31];
    store_float(c, ea, value)
}

float_accesses! {
    lfs lfsu lfsx lfsux: load_single;
    lfd lfdu lfdx lfdux: load_double;
    stfs stfsu stfsx stfsux: store_single;
    stfd stfdu stfdx stfdux: store_double;
}

#[inline(always)]
pub fn stfiwx<W: Word, C: Core>(c: &mut C, i: &Operands) -> Outcome {
    let ea: W = indexed(c, i);
    let value = c.registers().fpr[i.t.index() & 31] as u32;
    store_float(c, ea, value)
}

macro_rules! cache_instructions {
    ($($name:ident $operation:ident;)*) => {$(
        pub fn $name<W: Word, C: Core>(c: &mut C, i: &Operands) -> Outcome {
            let ea: W = indexed(c, i);
            ea.at(c, |c, ea| c.cache_operation(CacheOperation::$operation, ea))
        }
    )*};
}

cache_instructions! {
    dcbf Flush;
    dcbst Store;
    dcbt Touch;
    dcbtst TouchForStore;
    dcbz Zero;
    dcbzl ZeroLine;
    icbi InstructionInvalidate;
}

/// Privileged, because it can discard data.
pub fn dcbi<W: Word, C: Core>(c: &mut C, i: &Operands) -> Outcome {
    super::exception::privileged(c.registers())?;
    let ea: W = indexed(c, i);
    ea.at(c, |c, ea| c.cache_operation(CacheOperation::Invalidate, ea))
}
