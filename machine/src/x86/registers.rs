//! The registers of a processor (SDM volume 1, chapter 3; volume 3, chapter 2).

use serde::{Deserialize, Serialize};

use super::flags::Flags;

/// Numbers of the general registers.
pub mod gpr {
    pub const EAX: u8 = 0;
    pub const ECX: u8 = 1;
    pub const EDX: u8 = 2;
    pub const EBX: u8 = 3;
    pub const ESP: u8 = 4;
    pub const EBP: u8 = 5;
    pub const ESI: u8 = 6;
    pub const EDI: u8 = 7;
    /// A register that is always zero: the base or index that an address does not have.
    pub const NONE: u8 = 8;
}

/// Numbers of the segment registers.
pub mod segment {
    pub const ES: u8 = 0;
    pub const CS: u8 = 1;
    pub const SS: u8 = 2;
    pub const DS: u8 = 3;
    pub const FS: u8 = 4;
    pub const GS: u8 = 5;
}

/// Bits of EFLAGS.
pub mod eflags {
    pub const CF: u32 = 1;
    /// Always set.
    pub const ONE: u32 = 1 << 1;
    pub const PF: u32 = 1 << 2;
    pub const AF: u32 = 1 << 4;
    pub const ZF: u32 = 1 << 6;
    pub const SF: u32 = 1 << 7;
    pub const TF: u32 = 1 << 8;
    pub const IF: u32 = 1 << 9;
    pub const DF: u32 = 1 << 10;
    pub const OF: u32 = 1 << 11;
    pub const IOPL: u32 = 3 << 12;
    pub const NT: u32 = 1 << 14;
    pub const RF: u32 = 1 << 16;
    pub const VM: u32 = 1 << 17;
    pub const AC: u32 = 1 << 18;
    pub const ID: u32 = 1 << 21;
    /// Results of arithmetic.
    pub const STATUS: u32 = CF | PF | AF | ZF | SF | OF;
}

/// Bits of CR0.
pub mod cr0 {
    pub const PE: u32 = 1;
    pub const MP: u32 = 1 << 1;
    pub const EM: u32 = 1 << 2;
    pub const TS: u32 = 1 << 3;
    /// Always set: the unit is a 387 or better.
    pub const ET: u32 = 1 << 4;
    pub const NE: u32 = 1 << 5;
    pub const WP: u32 = 1 << 16;
    pub const AM: u32 = 1 << 18;
    pub const NW: u32 = 1 << 29;
    pub const CD: u32 = 1 << 30;
    pub const PG: u32 = 1 << 31;
}

/// Bits of CR4 that a P6 has here.
pub mod cr4 {
    /// RDTSC in ring 0 only.
    pub const TSD: u32 = 1 << 2;
    pub const PSE: u32 = 1 << 4;
    /// Entries of 64 bits, and physical addresses of 36.
    pub const PAE: u32 = 1 << 5;
    pub const PGE: u32 = 1 << 7;
}

/// Bits of a descriptor's access rights, as [`Segment::access`] has them: its second word from bit 8 on.
pub mod access {
    /// Code or data: set by a load.
    pub const ACCESSED: u32 = 1;
    /// Data may be written, code may be read.
    pub const READ_WRITE: u32 = 1 << 1;
    /// Data grows downwards; code is conforming.
    pub const DOWN_CONFORMING: u32 = 1 << 2;
    pub const CODE: u32 = 1 << 3;
    /// Code or data, not a system descriptor.
    pub const ORDINARY: u32 = 1 << 4;
    pub const DPL_SHIFT: u32 = 5;
    pub const PRESENT: u32 = 1 << 7;
    /// 32 bits: the default operand size of code, the stack's width, the upper bound of data that grows downwards.
    pub const BIG: u32 = 1 << 14;
    pub const GRANULAR: u32 = 1 << 15;
}

/// A segment register, with what its descriptor said when it was loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    pub selector: u16,
    pub base: u32,
    /// The last byte, or the last below the segment if that grows downwards.
    pub limit: u32,
    /// Bits of [`access`]; 0 of a null selector.
    pub access: u32,
    /// So many bytes from offset 0 on may be read without any further check.
    pub read_end: u64,
    /// The same for writes.
    pub write_end: u64,
}

impl Segment {
    /// A segment register with this content.
    #[must_use]
    pub fn new(selector: u16, base: u32, limit: u32, access: u32) -> Self {
        let mut segment = Segment {
            selector,
            base,
            limit,
            access,
            read_end: 0,
            write_end: 0,
        };
        let ordinary = access & access::ORDINARY != 0 && access & access::PRESENT != 0;
        let code = access & access::CODE != 0;
        let down = !code && access & access::DOWN_CONFORMING != 0;
        if ordinary && !down {
            let end = u64::from(limit) + 1;
            let second = access & access::READ_WRITE != 0;
            segment.read_end = if !code || second { end } else { 0 };
            segment.write_end = if !code && second { end } else { 0 };
        }
        segment
    }

    /// As a real-mode program loads it.
    #[must_use]
    pub fn real(selector: u16) -> Self {
        const DATA: u32 =
            access::PRESENT | access::ORDINARY | access::READ_WRITE | access::ACCESSED;
        Self::new(selector, u32::from(selector) << 4, 0xffff, DATA)
    }

    /// From the two words of a descriptor.
    #[must_use]
    pub fn from_descriptor(selector: u16, low: u32, high: u32) -> Self {
        let base = low >> 16 | (high & 0xff) << 16 | high & 0xff00_0000;
        let mut limit = low & 0xffff | high & 0x000f_0000;
        let access = high >> 8 & 0xf0ff;
        if access & access::GRANULAR != 0 {
            limit = limit << 12 | 0xfff;
        }
        Self::new(selector, base, limit, access)
    }

    /// Its privilege level.
    #[must_use]
    pub fn dpl(&self) -> u8 {
        (self.access >> access::DPL_SHIFT & 3) as u8
    }

    /// Does `access` have all of these bits?
    #[inline(always)]
    #[must_use]
    pub fn is(&self, bits: u32) -> bool {
        self.access & bits == bits
    }

    /// Its default size is 32 bits.
    #[inline(always)]
    #[must_use]
    pub fn big(&self) -> bool {
        self.is(access::BIG)
    }
}

/// GDTR or IDTR.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    pub base: u32,
    pub limit: u16,
}

/// All registers but those of the floating-point unit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Registers {
    /// The general registers, and from [`gpr::NONE`] on zeroes.
    pub gpr: [u32; 16],
    pub eip: u32,
    /// The flags of arithmetic.
    pub flags: Flags,
    /// All other flags.
    pub system: u32,
    /// ES, CS, SS, DS, FS, GS, and two that do not exist.
    pub segments: [Segment; 8],
    pub ldtr: Segment,
    pub tr: Segment,
    pub gdtr: Table,
    pub idtr: Table,
    pub cr0: u32,
    pub cr2: u32,
    pub cr3: u32,
    pub cr4: u32,
    /// With CR4.PAE: the entries of the table at CR3, each for 1 GB, as they were when CR3 was loaded.
    pub directories: [u64; 4],
    pub dr: [u32; 8],
    pub cpl: u8,
    /// Where the local APIC is, and that it is on (P6: MSR 0x1b).
    pub apic_base: u32,
}

impl Registers {
    /// The state in which a processor begins in real mode at the first byte of `segment`. The caches are on, as
    /// firmware leaves them.
    #[must_use]
    pub fn real_mode(segment: u16, signature: u32) -> Self {
        let mut gpr = [0; 16];
        gpr[usize::from(gpr::EDX)] = signature;
        Registers {
            gpr,
            eip: 0,
            flags: Flags::default(),
            system: eflags::ONE,
            segments: std::array::from_fn(|n| {
                Segment::real(if n == usize::from(segment::CS) {
                    segment
                } else {
                    0
                })
            }),
            ldtr: Segment::default(),
            tr: Segment::default(),
            gdtr: Table {
                base: 0,
                limit: 0xffff,
            },
            idtr: Table {
                base: 0,
                limit: 0x3ff,
            },
            cr0: cr0::ET,
            cr2: 0,
            cr3: 0,
            cr4: 0,
            directories: [0; 4],
            dr: [0, 0, 0, 0, 0, 0, 0xffff_0ff0, 0x0000_0400],
            cpl: 0,
            apic_base: 0xfee0_0800,
        }
    }

    /// The general register `number`.
    #[inline(always)]
    #[must_use]
    pub fn get(&self, number: u8) -> u32 {
        self.gpr[usize::from(number & 15)]
    }

    /// Writes a general register.
    #[inline(always)]
    pub fn set(&mut self, number: u8, value: u32) {
        self.gpr[usize::from(number & 7)] = value;
    }

    /// A segment register.
    #[inline(always)]
    #[must_use]
    pub fn segment(&self, number: u8) -> &Segment {
        &self.segments[usize::from(number & 7)]
    }

    /// The whole of EFLAGS.
    #[must_use]
    pub fn eflags(&self) -> u32 {
        self.system | self.flags.word()
    }

    /// Writes the flags in `mask`.
    pub fn set_eflags(&mut self, value: u32, mask: u32) {
        let word = self.eflags() & !mask | value & mask;
        self.flags = Flags::from_word(word);
        self.system = word & !eflags::STATUS | eflags::ONE;
    }

    /// Protected mode.
    #[inline]
    #[must_use]
    pub fn protected(&self) -> bool {
        self.cr0 & cr0::PE != 0
    }

    /// Address translation is on.
    #[inline]
    #[must_use]
    pub fn paging(&self) -> bool {
        self.cr0 & cr0::PG != 0
    }

    /// Entries of page tables have 64 bits.
    #[inline(always)]
    #[must_use]
    pub fn wide_entries(&self) -> bool {
        self.cr4 & cr4::PAE != 0
    }

    /// What the stack segment leaves of ESP.
    #[inline(always)]
    #[must_use]
    pub fn stack_mask(&self) -> u32 {
        if self.segment(segment::SS).big() {
            u32::MAX
        } else {
            0xffff
        }
    }
}
