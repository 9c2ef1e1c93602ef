//! The registers of one processor.

use serde::{Deserialize, Serialize};

/// Bits of the machine state register (PEM 2.3.1), by value.
pub mod msr {
    /// Power management.
    pub const POW: u32 = 0x0004_0000;
    /// 603: r0 to r3 are the four temporary registers of the TLB-miss handlers.
    pub const TGPR: u32 = 0x0002_0000;
    /// 405: critical interrupts enabled.
    pub const CE: u32 = 0x0002_0000;
    /// 405: debug exceptions enabled.
    pub const DE: u32 = 0x0200;
    /// All that a 405 has here: WE (which is POW), CE, EE, PR, ME, DE, IR, DR. Debug wait mode (DWE), and the bits for
    /// an auxiliary processor, which the 405GP lacks, are not modelled.
    pub const OF_405: u32 = POW | CE | EE | PR | ME | DE | IR | DR;
    /// All that a 970 has in the lower half. Its AltiVec unit is not modelled, so VEC is not there.
    pub const OF_970: u32 = POW | EE | PR | FP | ME | FE0 | SE | BE | FE1 | IR | DR | RI;
    /// Exceptions run little-endian.
    pub const ILE: u32 = 0x0001_0000;
    /// External interrupts and decrementer enabled.
    pub const EE: u32 = 0x8000;
    /// Problem state (user mode).
    pub const PR: u32 = 0x4000;
    /// Floating point available.
    pub const FP: u32 = 0x2000;
    /// Machine checks enabled.
    pub const ME: u32 = 0x1000;
    /// Floating-point exception mode 0.
    pub const FE0: u32 = 0x0800;
    /// Single step.
    pub const SE: u32 = 0x0400;
    /// Branch trace.
    pub const BE: u32 = 0x0200;
    /// Floating-point exception mode 1.
    pub const FE1: u32 = 0x0100;
    /// Exception prefix: vectors at 0xfff0_0000.
    pub const IP: u32 = 0x0040;
    /// Instruction address translation.
    pub const IR: u32 = 0x0020;
    /// Data address translation.
    pub const DR: u32 = 0x0010;
    /// 604 and 750: marks a process for the performance monitor.
    pub const PM: u32 = 0x0004;
    /// Recoverable exception.
    pub const RI: u32 = 0x0002;
    /// Little-endian.
    pub const LE: u32 = 0x0001;
}

/// Bits of the XER that instructions set (PEM 2.1.5), by value.
pub mod xer {
    /// Summary overflow.
    pub const SO: u32 = 0x8000_0000;
    /// Overflow.
    pub const OV: u32 = 0x4000_0000;
    /// Carry.
    pub const CA: u32 = 0x2000_0000;
    /// Byte count of `lswx` and `stswx`.
    pub const COUNT: u32 = 0x7f;
}

/// Bits of a condition register field, by value.
pub mod condition {
    pub const LT: u8 = 8;
    pub const GT: u8 = 4;
    pub const EQ: u8 = 2;
    /// Summary overflow; unordered after a floating-point compare.
    pub const SO: u8 = 1;
}

/// The condition register as its eight fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConditionRegister {
    field: [u8; 8],
}

impl ConditionRegister {
    /// Where the fields, a byte each, are in it.
    pub(crate) const PLACE: usize = std::mem::offset_of!(ConditionRegister, field);

    pub fn field(&self, n: u8) -> u8 {
        self.field[usize::from(n & 7)]
    }

    pub fn set_field(&mut self, n: u8, value: u8) {
        self.field[usize::from(n & 7)] = value;
    }

    /// Bit `n`, numbered from the most significant one.
    pub fn bit(&self, n: u8) -> bool {
        self.field(n >> 2) & (8 >> (n & 3)) != 0
    }

    pub fn set_bit(&mut self, n: u8, value: bool) {
        let mask = 8u8 >> (n & 3);
        let old = self.field(n >> 2);
        self.set_field(n >> 2, if value { old | mask } else { old & !mask });
    }

    /// The register as `mfcr` reads it.
    pub fn word(&self) -> u32 {
        self.field
            .iter()
            .fold(0, |word, &field| word << 4 | u32::from(field))
    }

    pub fn set_word(&mut self, word: u32) {
        for (n, field) in self.field.iter_mut().enumerate() {
            *field = (word >> (28 - 4 * n) & 15) as u8;
        }
    }
}

/// The XER with the bits that instructions set kept apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FixedPointException {
    pub so: bool,
    pub ov: bool,
    pub ca: bool,
    /// The string count. Reserved bits read as zero.
    rest: u32,
}

impl FixedPointException {
    pub fn word(&self) -> u32 {
        let bit = |set: bool, mask: u32| if set { mask } else { 0 };
        self.rest | bit(self.so, xer::SO) | bit(self.ov, xer::OV) | bit(self.ca, xer::CA)
    }

    pub fn set_word(&mut self, word: u32) {
        self.so = word & xer::SO != 0;
        self.ov = word & xer::OV != 0;
        self.ca = word & xer::CA != 0;
        self.rest = word & xer::COUNT;
    }

    /// Bytes that `lswx` and `stswx` move.
    pub fn count(&self) -> u32 {
        self.rest & xer::COUNT
    }

    /// Only the low seven bits of `count` are kept.
    pub fn set_count(&mut self, count: u32) {
        self.rest = count & xer::COUNT;
    }
}

/// A register number, below 32 by construction; or [`Register::ZERO`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Register(u8);

impl Register {
    /// Reads as zero: the meaning of "(rA|0)" if rA is 0.
    pub const ZERO: Register = Register(32);

    pub const fn new(number: u32) -> Register {
        Register((number & 31) as u8)
    }

    /// `new`, or `ZERO` for number 0.
    pub const fn or_zero(number: u32) -> Register {
        if number & 31 == 0 {
            Register::ZERO
        } else {
            Register::new(number)
        }
    }

    #[inline(always)]
    pub const fn number(self) -> u8 {
        self.0
    }

    #[inline(always)]
    pub const fn index(self) -> usize {
        // SAFETY: every constructor yields a number of at most 32, and the field is private.
        unsafe { std::hint::assert_unchecked(self.0 <= 32) };
        self.0 as usize
    }

    /// The register after this one; r0 follows r31 (string instructions wrap so).
    pub const fn following(self) -> Register {
        Register::new(self.0 as u32 + 1)
    }
}

/// The general-purpose registers, and a slot that reads as zero for [`Register::ZERO`]. They have 64 bits; a core with
/// 32 uses the lower halves and keeps the upper ones 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GeneralRegisters([u64; 33]);

impl Default for GeneralRegisters {
    fn default() -> Self {
        GeneralRegisters([0; 33])
    }
}

impl GeneralRegisters {
    /// The lower half.
    #[inline(always)]
    pub fn get(&self, register: Register) -> u32 {
        self.0[register.index()] as u32
    }

    /// Sets the lower half, and clears the upper one. `register` must not be [`Register::ZERO`]: decoding yields that
    /// for sources only.
    #[inline(always)]
    pub fn set(&mut self, register: Register, value: u32) {
        self.set_whole(register, value.into());
    }

    /// All 64 bits.
    #[inline(always)]
    pub fn whole(&self, register: Register) -> u64 {
        self.0[register.index()]
    }

    /// Sets all 64 bits; as [`GeneralRegisters::set`].
    #[inline(always)]
    pub fn set_whole(&mut self, register: Register, value: u64) {
        debug_assert!(register != Register::ZERO);
        self.0[register.index()] = value;
    }

    /// The lower halves of r0 to r31.
    pub fn all(&self) -> [u32; 32] {
        std::array::from_fn(|n| self.0[n] as u32)
    }

    /// Sets the lower halves of r0 to r31, and clears the upper ones.
    pub fn set_all(&mut self, values: &[u32; 32]) {
        for (register, &value) in self.0.iter_mut().zip(values) {
            *register = value.into();
        }
    }

    /// r0 to r31.
    pub fn all_whole(&self) -> [u64; 32] {
        std::array::from_fn(|n| self.0[n])
    }

    /// Sets r0 to r31.
    pub fn set_all_whole(&mut self, values: &[u64; 32]) {
        self.0[..32].copy_from_slice(values);
    }
}

impl Serialize for GeneralRegisters {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.all_whole().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for GeneralRegisters {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut registers = GeneralRegisters::default();
        registers.set_all_whole(&<[u64; 32]>::deserialize(deserializer)?);
        Ok(registers)
    }
}

/// The registers of programs and of the exception mechanism. The MMU has its own (BATs, segment registers, SDR1, the
/// 603's reload registers); time base and decrementer are in [`super::timers`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registers {
    pub gpr: GeneralRegisters,
    pub fpr: [u64; 32],
    pub cr: ConditionRegister,
    pub xer: FixedPointException,
    pub lr: u32,
    pub ctr: u32,
    /// Next instruction's address, whenever no instruction is executing.
    pub pc: u32,
    pub fpscr: u32,
    pub msr: u32,
    /// Bits of the MSR that this core lacks and others have.
    pub msr_absent: u32,
    pub srr0: u32,
    pub srr1: u32,
    pub dar: u32,
    pub dsisr: u32,
    pub sprg: [u32; 4],
    /// External access register.
    pub ear: u32,
    pub hid0: u32,
    pub hid1: u32,
    /// Instruction address breakpoint.
    pub iabr: u32,
    /// Data address breakpoint (604, 750).
    pub dabr: u32,
    /// L2 control (750).
    pub l2cr: u32,
    /// Instruction cache throttling (750).
    pub ictc: u32,
    /// THRM1 to THRM3 (750).
    pub thermal: [u32; 3],
    /// Processor identification (604).
    pub pir: u32,
    /// The four registers that MSR[TGPR] swaps for r0 to r3 (603).
    pub temporary: [u32; 4],
    /// Development support: SPR 144 to 159 (8xx).
    pub development: [u32; 16],
    /// A command of IC_CST, or of DC_CST, has failed (8xx).
    pub cache_error: [bool; 2],
    /// Physical address of the reserved granule of `lwarx`.
    pub reservation: Option<u32>,
    /// What only a 405 has.
    pub embedded: Option<Embedded>,
    /// What only a 970 has.
    pub wide: Wide,
}

/// What only a 64-bit core (970) has: the upper halves of registers that others have too, and registers of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wide {
    /// The core has 64 bits.
    pub there: bool,
    /// MSR\[SF\]: addresses, carries and the compares of Rc have 64 bits.
    pub mode: bool,
    /// Upper halves.
    pub pc: u32,
    pub lr: u32,
    pub ctr: u32,
    pub srr0: u32,
    pub srr1: u32,
    pub dar: u32,
    pub sprg: [u32; 4],
    /// Upper half of the address that is being accessed; 0 when none is.
    pub far: u32,
    /// Address of the vectors.
    pub hior: u64,
    /// HID0, HID1, HID4 and HID5.
    pub hid: [u64; 4],
}

impl Wide {
    /// SF as a bit of the MSR's upper half.
    pub const SF: u32 = 0x8000_0000;

    /// True if a core like that of `fresh` can be in this state, between two instructions.
    pub(crate) fn fits(&self, fresh: &Wide) -> bool {
        let narrow = Wide {
            there: false,
            ..Wide::default()
        };
        self.there == fresh.there && self.far == 0 && (self.there || *self == narrow)
    }

    /// The MSR's upper half.
    pub fn msr(&self) -> u32 {
        if self.mode { Wide::SF } else { 0 }
    }
}

/// The registers that only a 405 has, but for those of its MMU and timers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Embedded {
    /// Upper half of the vectors' addresses.
    pub evpr: u32,
    /// Cause of the last exception.
    pub esr: u32,
    /// Address of the access that raised it.
    pub dear: u32,
    /// PC that a critical exception saves.
    pub srr2: u32,
    /// MSR that it saves.
    pub srr3: u32,
    /// SPRG4 to SPRG7.
    pub sprg: [u32; 4],
    /// USPRG0.
    pub usprg: u32,
    /// What `icread` has read.
    pub icdbdr: u32,
    /// CCR0: cache control.
    pub ccr0: u32,
    /// Registers that keep what is written and do nothing: SLER, SU0R, and debugging.
    pub plain: [u32; 13],
}
