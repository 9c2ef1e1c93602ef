//! Special-purpose registers that only the 8xx has: interrupt enable, caches, MMU.
//!
//! The development-support registers (SPR 144 to 159) keep what is written and do nothing: no comparator
//! matches, no counter counts, nothing enters debug mode.
//!
//! Not modelled: DPDR (SPR 630), and the cache's lines one by one (IC_ADR, IC_DAT, DC_ADR, DC_DAT, and the
//! commands that name a line).

use super::exception;
use super::registers::msr;
use super::spr::number as n;
use crate::powerpc::mmu::mpc8xx::{REGISTERS, number::M_TWB};
use crate::powerpc::processor::Processor;

/// SPR numbers (Linux asm/reg_8xx.h; 860 UM chapter 5).
pub mod number {
    /// External interrupt enable: a write sets MSR\[EE\] and MSR\[RI\].
    pub const EIE: u32 = 80;
    /// External interrupt disable: a write clears MSR\[EE\] and sets MSR\[RI\].
    pub const EID: u32 = 81;
    /// Non-recoverable interrupt: a write clears MSR\[EE\] and MSR\[RI\].
    pub const NRI: u32 = 82;
    /// The first development-support register.
    pub const CMPA: u32 = 144;
    /// Interrupt cause: no debug interrupt ever comes, so it reads 0.
    pub const ICR: u32 = 148;
    /// The last development-support register.
    pub const BAR: u32 = 159;
    /// Internal memory map: base address of the on-chip devices, part and mask number.
    pub const IMMR: u32 = 638;
    /// Instruction cache control and status.
    pub const IC_CST: u32 = 560;
    /// Data cache control and status.
    pub const DC_CST: u32 = 568;
}

use number::{BAR, CMPA, DC_CST, EID, EIE, IC_CST, ICR, IMMR, NRI};

/// IMMR as it reads: the devices begin at 0xff000000. The part number is that of the MPC860P, whose die the MPC855T
/// shares (recalled). Writes are ignored: the board's address map is fixed.
const INTERNAL_MAP: u32 = 0xff00_0502;

/// IC_CST and DC_CST (860 UM 8.3; Linux asm/reg_8xx.h).
mod cache {
    /// Bits 4 to 7: the command.
    pub const COMMAND: u32 = 0x0f00_0000;
    pub const ENABLE: u32 = 0x0200_0000;
    pub const DISABLE: u32 = 0x0400_0000;
    pub const LOAD_AND_LOCK: u32 = 0x0600_0000;
    pub const UNLOCK_ALL: u32 = 0x0a00_0000;
    pub const INVALIDATE_ALL: u32 = 0x0c00_0000;
    /// DC_CST alone.
    pub const FORCE_WRITE_THROUGH: u32 = 0x0100_0000;
    pub const LEAVE_WRITE_THROUGH: u32 = 0x0300_0000;
    /// Status: enabled.
    pub const ENABLED: u32 = 0x8000_0000;
    /// Status of DC_CST: every store is written through.
    pub const WRITE_THROUGH: u32 = 0x4000_0000;
    /// Error type 2: no place to lock. Reading clears it.
    pub const NO_PLACE: u32 = 0x0010_0000;
}

/// Does the 8xx have SPR `number`?
pub fn exists(number: u32) -> bool {
    match number {
        n::DSISR
        | n::DAR
        | n::DEC
        | n::SRR0
        | n::SRR1
        | n::SPRG0..=n::SPRG3
        | n::TBL_READ
        | n::TBU_READ
        | n::TBL_WRITE
        | n::TBU_WRITE
        | n::PVR
        | EIE
        | EID
        | NRI
        | CMPA..=BAR
        | IMMR
        | IC_CST
        | DC_CST => true,
        _ => REGISTERS.contains(&number),
    }
}

/// Reads an SPR of the 8xx; `None` if it is none of these.
pub fn read(m: &mut Processor, number: u32) -> Option<u32> {
    m.mmu.mpc8xx()?;
    match number {
        // They have no value to read.
        EIE | EID | NRI | ICR => Some(0),
        CMPA..=BAR => Some(m.registers.development[(number - CMPA) as usize]),
        IMMR => Some(INTERNAL_MAP),
        IC_CST | DC_CST => Some(read_status(m, number == IC_CST)),
        _ => m.mmu.mpc8xx()?.read(number),
    }
}

/// Writes an SPR of the 8xx. False if it is none of these.
pub fn write(m: &mut Processor, number: u32, value: u32) -> bool {
    if m.mmu.mpc8xx().is_none() {
        return false;
    }
    match number {
        EIE => enable_interrupts(m, msr::EE | msr::RI),
        EID => enable_interrupts(m, msr::RI),
        NRI => enable_interrupts(m, 0),
        CMPA..=BAR => m.registers.development[(number - CMPA) as usize] = value,
        IMMR => {}
        IC_CST => command(m, true, value & cache::COMMAND),
        DC_CST => command(m, false, value & cache::COMMAND),
        _ if REGISTERS.contains(&number) => {
            if let Some(unit) = m.mmu.mpc8xx_mut() {
                let reaches = unit.write(number, value, &mut m.account);
                m.note_load();
                m.observers
                    .tlb(&mut m.account.tlb, m.hot.line, m.hot.cycles);
                m.heed_listener();
                m.forget(reaches);
            }
            if number == M_TWB {
                m.note_space(value >> 12);
            }
        }
        _ => return false,
    }
    true
}

fn enable_interrupts(m: &mut Processor, bits: u32) {
    let state = m.registers.msr & !(msr::EE | msr::RI) | bits;
    m.settle();
    exception::set_msr(&mut m.registers, state);
    m.look_at_interrupts();
}

fn read_status(m: &mut Processor, instruction: bool) -> u32 {
    let bit = |set: bool, bit: u32| if set { bit } else { 0 };
    let memory = &m.memory;
    let (enabled, error) = if instruction {
        (
            memory.instruction.enabled(),
            &mut m.registers.cache_error[0],
        )
    } else {
        (memory.data.enabled(), &mut m.registers.cache_error[1])
    };
    bit(enabled, cache::ENABLED)
        | bit(!instruction && memory.write_through(), cache::WRITE_THROUGH)
        | bit(std::mem::take(error), cache::NO_PLACE)
}

fn command(m: &mut Processor, instruction: bool, command: u32) {
    m.memory.forget_touches();
    let side = if instruction {
        &mut m.memory.instruction
    } else {
        &mut m.memory.data
    };
    match command {
        cache::ENABLE => side.set_enabled(true),
        cache::DISABLE => side.set_enabled(false),
        cache::INVALIDATE_ALL => side.invalidate_all(),
        // Lines cannot be locked here: the command fails as it does if no way of the set may be locked.
        cache::LOAD_AND_LOCK => m.registers.cache_error[usize::from(!instruction)] = true,
        cache::UNLOCK_ALL => {}
        cache::FORCE_WRITE_THROUGH if !instruction => m.memory.force_write_through(true),
        cache::LEAVE_WRITE_THROUGH if !instruction => m.memory.force_write_through(false),
        _ => {}
    }
    m.drop_shortcuts();
}
