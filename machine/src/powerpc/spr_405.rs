//! Special-purpose registers of the 405 (PPC405 UM chapter 10; numbers: Linux asm/reg_booke.h).
//!
//! Of the debug events there is that of a completed instruction (IC); a reset by DBCR0 ends the run. Otherwise the
//! debug registers keep what is written and do nothing. DCWR, SLER and SU0R: write-through without
//! translation is modelled, little-endian storage and the user attribute are not.

use super::registers::{Embedded, Registers};
use super::spr::number as n;
use super::timers::embedded::Register as Timer;
use crate::powerpc::mmu::ppc405::RealMode;
use crate::powerpc::processor::{Processor, Stop};

/// SPR numbers.
pub mod number {
    /// Free for users.
    pub const USPRG0: u32 = 256;
    /// SPRG4 to SPRG7 as users may read them.
    pub const SPRG4_READ: u32 = 260;
    pub const SPRG7_READ: u32 = 263;
    pub const SPRG4: u32 = 276;
    pub const SPRG7: u32 = 279;
    /// Zone protection.
    pub const ZPR: u32 = 944;
    /// The address space that runs.
    pub const PID: u32 = 945;
    /// Cache control.
    pub const CCR0: u32 = 947;
    pub const IAC3: u32 = 948;
    pub const IAC4: u32 = 949;
    pub const DVC1: u32 = 950;
    pub const DVC2: u32 = 951;
    /// Storage control without translation: guarded, write-through, little-endian, user attribute.
    pub const SGR: u32 = 953;
    pub const DCWR: u32 = 954;
    pub const SLER: u32 = 955;
    pub const SU0R: u32 = 956;
    pub const DBCR1: u32 = 957;
    /// What `icread` has read.
    pub const ICDBDR: u32 = 979;
    pub const ESR: u32 = 980;
    pub const DEAR: u32 = 981;
    pub const EVPR: u32 = 982;
    pub const TSR: u32 = 984;
    pub const TCR: u32 = 986;
    pub const PIT: u32 = 987;
    pub const SRR2: u32 = 990;
    pub const SRR3: u32 = 991;
    pub const DBSR: u32 = 1008;
    pub const DBCR0: u32 = 1010;
    pub const IAC1: u32 = 1012;
    pub const IAC2: u32 = 1013;
    pub const DAC1: u32 = 1014;
    pub const DAC2: u32 = 1015;
    /// Cacheable data and fetches without translation.
    pub const DCCR: u32 = 1018;
    pub const ICCR: u32 = 1019;
}

use number as own;

/// Registers that keep what is written.
const PLAIN: [u32; 13] = [
    own::SLER,
    own::SU0R,
    own::IAC1,
    own::IAC2,
    own::IAC3,
    own::IAC4,
    own::DAC1,
    own::DAC2,
    own::DVC1,
    own::DVC2,
    own::DBCR0,
    own::DBCR1,
    own::DBSR,
];

/// DBCR0\[RST\]
const RESET: u32 = 0x3000_0000;

/// DBCR0\[EDM\]: an external debugger gets the events.
const EXTERNAL: u32 = 0x8000_0000;
/// DBCR0\[IDM\] and \[IC\]: an exception when an instruction is completed.
const EACH_INSTRUCTION: u32 = 0x4800_0000;
/// DBSR\[IC\]
pub const COMPLETED: u32 = 0x8000_0000;

/// Position of a register in [`PLAIN`].
const fn place(number: u32) -> usize {
    let mut n = 0;
    while PLAIN[n] != number {
        n += 1;
    }
    n
}

/// DBSR.
pub fn debug_status(own: &mut Embedded) -> &mut u32 {
    const PLACE: usize = place(own::DBSR);
    &mut own.plain[PLACE]
}

/// Does DBCR0 ask for an exception after each instruction, while MSR\[DE\] is set?
pub fn stops_at_each_instruction(registers: &Registers) -> bool {
    const PLACE: usize = place(own::DBCR0);
    let control = registers
        .embedded
        .as_ref()
        .map_or(0, |own| own.plain[PLACE]);
    control & (EXTERNAL | EACH_INSTRUCTION) == EACH_INSTRUCTION
}

/// Does the 405 have SPR `number`?
pub fn exists(number: u32) -> bool {
    matches!(
        number,
        n::SRR0
            | n::SRR1
            | n::SPRG0..=n::SPRG3
            | n::TBL_READ
            | n::TBU_READ
            | n::TBL_WRITE
            | n::TBU_WRITE
            | n::PVR
            | own::USPRG0
            | own::SPRG4_READ..=own::SPRG7_READ
            | own::SPRG4..=own::SPRG7
            | own::ZPR
            | own::PID
            | own::CCR0
            | own::SGR
            | own::DCWR
            | own::ICDBDR
            | own::ESR
            | own::DEAR
            | own::EVPR
            | own::TSR
            | own::TCR
            | own::PIT
            | own::SRR2
            | own::SRR3
            | own::DCCR
            | own::ICCR
    ) || PLAIN.contains(&number)
}

/// CCR0.
pub fn cache_control(registers: &Registers) -> u32 {
    registers.embedded.as_ref().map_or(0, |own| own.ccr0)
}

fn timer(number: u32) -> Option<Timer> {
    match number {
        own::PIT => Some(Timer::Pit),
        own::TCR => Some(Timer::Control),
        own::TSR => Some(Timer::Status),
        _ => None,
    }
}

fn real_mode(number: u32) -> Option<RealMode> {
    match number {
        own::ICCR => Some(RealMode::CacheFetches),
        own::DCCR => Some(RealMode::CacheData),
        own::DCWR => Some(RealMode::WriteThrough),
        own::SGR => Some(RealMode::Guarded),
        _ => None,
    }
}

fn register(registers: &mut Registers, number: u32) -> Option<&mut u32> {
    let r = registers.embedded.as_mut()?;
    Some(match number {
        own::USPRG0 => &mut r.usprg,
        own::SPRG4_READ..=own::SPRG7_READ => &mut r.sprg[(number - own::SPRG4_READ) as usize],
        own::SPRG4..=own::SPRG7 => &mut r.sprg[(number - own::SPRG4) as usize],
        own::CCR0 => &mut r.ccr0,
        own::ICDBDR => &mut r.icdbdr,
        own::ESR => &mut r.esr,
        own::DEAR => &mut r.dear,
        own::EVPR => &mut r.evpr,
        own::SRR2 => &mut r.srr2,
        own::SRR3 => &mut r.srr3,
        _ => {
            let place = PLAIN.iter().position(|&plain| plain == number)?;
            &mut r.plain[place]
        }
    })
}

/// Reads an SPR of the 405; `None` if it is none of these.
pub fn read(m: &mut Processor, number: u32) -> Option<u32> {
    let unit = m.mmu.ppc405()?;
    if let Some(register) = real_mode(number) {
        return Some(unit.real_mode(register));
    }
    match number {
        own::PID => return Some(unit.pid().into()),
        own::ZPR => return Some(unit.zpr()),
        _ => {}
    }
    if let Some(register) = timer(number) {
        let cycles = m.cycles();
        return m.timers.read_embedded(register, cycles);
    }
    register(&mut m.registers, number).map(|register| *register)
}

/// Writes an SPR of the 405. False if it is none of these.
pub fn write(m: &mut Processor, number: u32, value: u32) -> bool {
    let Some(unit) = m.mmu.ppc405_mut() else {
        return false;
    };
    if let Some(register) = real_mode(number) {
        let reaches = unit.set_real_mode(register, value);
        m.forget(reaches);
        return true;
    }
    match number {
        own::PID => {
            unit.set_pid(value as u8);
            m.note_space(value & 0xff);
            return true;
        }
        own::ZPR => {
            unit.set_zpr(value);
            return true;
        }
        _ => {}
    }
    if let Some(register) = timer(number) {
        let cycles = m.cycles();
        m.timers.write_embedded(register, value, cycles);
        m.look_at_interrupts();
        return true;
    }
    let Some(register) = register(&mut m.registers, number) else {
        return false;
    };
    match number {
        // Read-only.
        own::SPRG4_READ..=own::SPRG7_READ | own::ICDBDR => {}
        own::EVPR => *register = value & 0xffff_0000,
        // Ones clear.
        own::DBSR => *register &= !value,
        _ => *register = value,
    }
    if number == own::DBCR0 && value & RESET != 0 {
        m.halt(Stop::PowerOff { status: 0 });
    }
    true
}
