//! Exceptions: their vectors, what they save, and how the processor enters and leaves them.

mod embedded;

pub use embedded::leave_critical;

use super::registers::{Registers, Wide, msr};
use crate::account::Names;
use crate::config::Family;
use crate::observe::Interruption;
use crate::powerpc::mmu::{Access, FaultKind, Mpc8xxFault, Ppc405Fault};

macro_rules! vectors {
    ($($(#[$doc:meta])* $name:ident $offset:literal $text:literal $counter:literal,)*) => {
        /// Exception vectors (PEM 6.2; 603: MPC603e UM 4.2; 8xx: 860 UM 7.1.3; 405: PPC405
        /// UM chapter 5; 970: Linux 2.6 arch/ppc/kernel/head.S).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Vector { $($(#[$doc])* $name,)* }

        /// How many vectors there are.
        pub const VECTORS: usize = [$($text,)*].len();

        impl Vector {
            /// Every vector. The 8xx's own stand behind the others, and the 405's and the 970's behind those:
            /// they are at offsets that the 603 uses too.
            pub const ALL: [Vector; VECTORS] = [$(Vector::$name,)*];

            /// Offset from the prefix.
            #[must_use]
            pub const fn offset(self) -> u32 {
                match self { $(Vector::$name => $offset,)* }
            }

            /// The name in messages and traces.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Vector::$name => $text,)* }
            }

            /// The name in counters: `exception.<name>`. Vectors with the same name share a counter.
            #[must_use]
            pub const fn counter_name(self) -> &'static str {
                match self { $(Vector::$name => $counter,)* }
            }
        }
    };
}

// Offset, name, counter.
vectors! {
    SystemReset 0x0100 "system-reset" "reset",
    MachineCheck 0x0200 "machine-check" "machine-check",
    DataStorage 0x0300 "data-storage" "dsi",
    InstructionStorage 0x0400 "instruction-storage" "isi",
    External 0x0500 "external" "external",
    Alignment 0x0600 "alignment" "alignment",
    Program 0x0700 "program" "program",
    FloatUnavailable 0x0800 "float-unavailable" "fp-unavailable",
    Decrementer 0x0900 "decrementer" "decrementer",
    SystemCall 0x0c00 "system-call" "system-call",
    Trace 0x0d00 "trace" "trace",
    /// Nothing here raises it.
    FloatAssist 0x0e00 "float-assist" "fp-assist",
    /// 604 and 750.
    PerformanceMonitor 0x0f00 "performance-monitor" "performance-monitor",
    /// 603: no entry in the instruction TLB.
    InstructionTlbMiss 0x1000 "instruction-tlb-miss" "itlb-miss",
    /// 603: no entry in the data TLB, for a load.
    DataLoadTlbMiss 0x1100 "data-load-tlb-miss" "dtlb-load-miss",
    /// 603: no entry in the data TLB for a store, or one whose C bit is clear.
    DataStoreTlbMiss 0x1200 "data-store-tlb-miss" "dtlb-store-miss",
    InstructionBreakpoint 0x1300 "instruction-breakpoint" "instruction-breakpoint",
    SystemManagement 0x1400 "system-management" "system-management",
    /// 750. Nothing here raises it.
    Thermal 0x1700 "thermal" "thermal",
    /// 8xx: an instruction that the core lacks.
    SoftwareEmulation 0x1000 "software-emulation" "software-emulation",
    /// 8xx: no entry in the instruction TLB.
    ItlbMiss 0x1100 "itlb-miss" "itlb-miss",
    /// 8xx: no entry in the data TLB.
    DtlbMiss 0x1200 "dtlb-miss" "dtlb-miss",
    /// 8xx: an entry that is not valid or does not permit the fetch.
    ItlbError 0x1300 "itlb-error" "itlb-error",
    /// 8xx: an entry that is not valid, does not permit the access, or is unchanged.
    DtlbError 0x1400 "dtlb-error" "dtlb-error",
    /// 405.
    CriticalInput 0x0100 "critical-input" "critical-input",
    /// 405: programmable interval timer.
    Pit 0x1000 "pit" "pit",
    /// 405: fixed interval timer.
    Fit 0x1010 "fit" "fit",
    /// 405.
    Watchdog 0x1020 "watchdog" "watchdog",
    /// 405: no entry in the unified TLB for a load or store.
    DataMiss 0x1100 "data-miss" "dtlb-miss",
    /// 405: none for a fetch.
    InstructionMiss 0x1200 "instruction-miss" "itlb-miss",
    /// 405.
    Debug 0x2000 "debug" "debug",
    /// 970: no entry in the SLB for a load or store.
    DataSegment 0x0380 "data-segment" "data-segment",
    /// 970: none for a fetch.
    InstructionSegment 0x0480 "instruction-segment" "instruction-segment",
}

/// Position of each vector's counter: that of the first vector with its counter's name.
static COUNTERS: [u8; VECTORS] = {
    let mut counters = [0; VECTORS];
    let mut n = 0;
    while n < VECTORS {
        let mut first = 0;
        while !same(
            Vector::ALL[first].counter_name(),
            Vector::ALL[n].counter_name(),
        ) {
            first += 1;
        }
        counters[n] = first as u8;
        n += 1;
    }
    counters
};

const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut n = 0;
    while n < a.len() && n < b.len() && a[n] == b[n] {
        n += 1;
    }
    n == a.len() && n == b.len()
}

impl Vector {
    fn family(self) -> Family {
        if self as u8 >= Vector::DataSegment as u8 {
            Family::Ppc970
        } else if self as u8 >= Vector::CriticalInput as u8 {
            Family::Ppc405
        } else if self as u8 >= Vector::SoftwareEmulation as u8 {
            Family::Mpc8xx
        } else {
            Family::Classic
        }
    }

    /// True if a processor of this family has it. Two of different names may share an offset.
    #[must_use]
    pub fn exists(self, family: Family) -> bool {
        // The 970 has neither the 603's TLB misses nor what follows them.
        let of_603 = (0x1000..=0x1400).contains(&self.offset());
        if family == Family::Ppc970 && of_603 {
            return false;
        }
        let replaced = Vector::ALL
            .iter()
            .any(|&other| other.family() == family && other.offset() == self.offset());
        self.family() == family || self.family() == Family::Classic && !replaced
    }

    /// As observers show it.
    #[must_use]
    pub fn interruption(self) -> Interruption {
        Interruption {
            name: self.name(),
            counter: self.counter_name(),
        }
    }

    /// Position of its counter.
    #[inline]
    #[must_use]
    pub fn counter(self) -> usize {
        COUNTERS[self as usize].into()
    }
}

/// How a PowerPC's counters are called.
pub const NAMES: Names = Names {
    exception: |position| {
        let vector = Vector::ALL.get(position)?;
        // Some vectors share a counter, which has the position of the first of them.
        let own = vector.counter() == position;
        own.then(|| format!("exception.{}", vector.counter_name()))
    },
    ..Names::GENERAL
};

/// An exception, raised by an instruction or between two, with the register values that its handler sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exception {
    /// Physical address that nothing answers.
    MachineCheck {
        physical: u32,
    },
    /// `dsisr` as PEM table 6-8.
    DataStorage {
        address: u32,
        dsisr: u32,
    },
    /// `srr1`: the cause bits alone, 0x4000_0000, 0x1000_0000 or 0x0800_0000.
    InstructionStorage {
        srr1: u32,
    },
    External,
    /// DSISR comes from the instruction word (PEM table 6-10).
    Alignment {
        address: u32,
    },
    /// `srr1`: one of the bits in [`program`].
    Program {
        srr1: u32,
    },
    FloatUnavailable,
    Decrementer,
    SystemCall,
    Trace,
    PerformanceMonitor,
    /// 603: the MMU has set IMISS, ICMP, HASH1 and HASH2; `srr1` holds KEY, I/D and WAY.
    InstructionTlbMiss {
        srr1: u32,
    },
    /// 603: the MMU has set DMISS, DCMP, HASH1 and HASH2; `srr1` holds KEY and WAY.
    DataLoadTlbMiss {
        srr1: u32,
    },
    /// As above, with the store bit.
    DataStoreTlbMiss {
        srr1: u32,
    },
    InstructionBreakpoint,
    /// 8xx.
    SoftwareEmulation,
    /// 8xx: the MMU has set MI_EPN.
    ItlbMiss,
    /// 8xx: the MMU has set MD_EPN. It does not distinguish loads from stores.
    DtlbMiss,
    /// 8xx: `srr1` as of [`Exception::InstructionStorage`].
    ItlbError {
        srr1: u32,
    },
    /// 8xx: `dsisr` as of [`Exception::DataStorage`].
    DtlbError {
        address: u32,
        dsisr: u32,
    },
    /// 405.
    CriticalInput,
    /// 405: the watchdog's first time-out.
    Watchdog,
    /// 405.
    Pit,
    /// 405.
    Fit,
    /// 405: a data storage exception; `esr` as [`crate::powerpc::mmu::ppc405::cause`].
    Refused {
        address: u32,
        esr: u32,
    },
    /// 405: an instruction storage exception.
    FetchRefused {
        esr: u32,
    },
    /// 405: the unified TLB has no entry for a load or store.
    DataMiss {
        address: u32,
        esr: u32,
    },
    /// 405: it has none for a fetch.
    InstructionMiss,
    /// 405: an instruction has been completed, and DBCR0 asks for an exception then.
    Completed,
    /// 970: the SLB has no entry for a load or store.
    DataSegment {
        address: u32,
    },
    /// 970: it has none for a fetch.
    InstructionSegment,
}

/// SRR1 bits of a program exception (PEM 6.4.7).
pub mod program {
    pub const FLOAT: u32 = 0x0010_0000;
    pub const ILLEGAL: u32 = 0x0008_0000;
    pub const PRIVILEGED: u32 = 0x0004_0000;
    pub const TRAP: u32 = 0x0002_0000;
}

/// MSR bits that an exception saves in SRR1 (PEM 6.3: all but SRR1[1-4] and [10-15], which hold the cause).
const SAVED: u32 = 0x87c0_ffff;

/// MSR bits that an exception leaves as they are; the others are cleared (PEM table 6-5).
const KEPT: u32 = msr::ILE | msr::ME | msr::IP;

/// MSR bits that `rfi` takes from SRR1 (PEM `rfi`; PM on the cores that have it).
const RETURNED: u32 = 0x87c0_ff73 | msr::PM;

/// MSR bits that exist; the others read as zero whatever is written (603e UM table 2-2, 604 UM 2.1.2). SRR1[0-3]
/// holds CR0 when a 603's reload handler ends with `rfi`.
const IMPLEMENTED: u32 = 0x0007_ff73 | msr::PM;

/// Err unless the processor is in supervisor state.
#[inline(always)]
pub fn privileged(r: &Registers) -> Result<(), Exception> {
    if r.msr & msr::PR == 0 {
        Ok(())
    } else {
        Err(Exception::Program {
            srr1: program::PRIVILEGED,
        })
    }
}

/// Err unless floating point is available.
#[inline(always)]
pub fn float_available(r: &Registers) -> Result<(), Exception> {
    if r.msr & msr::FP != 0 {
        Ok(())
    } else {
        Err(Exception::FloatUnavailable)
    }
}

impl Exception {
    /// The exception that a failed translation of `ea` raises.
    pub fn of_fault(kind: FaultKind, ea: u32) -> Exception {
        match kind {
            FaultKind::Isi { srr1 } => Exception::InstructionStorage { srr1 },
            FaultKind::Dsi { dsisr } => Exception::DataStorage { address: ea, dsisr },
            FaultKind::MachineCheck { pa } => Exception::MachineCheck { physical: pa },
            FaultKind::Software(miss) => match miss.access {
                Access::Fetch => Exception::InstructionTlbMiss { srr1: miss.srr1 },
                Access::Load => Exception::DataLoadTlbMiss { srr1: miss.srr1 },
                Access::Store => Exception::DataStoreTlbMiss { srr1: miss.srr1 },
            },
            FaultKind::Mpc8xx { fault, instruction } => match (fault, instruction) {
                (Mpc8xxFault::Miss, true) => Exception::ItlbMiss,
                (Mpc8xxFault::Miss, false) => Exception::DtlbMiss,
                (Mpc8xxFault::Error { bits }, true) => Exception::ItlbError { srr1: bits },
                (Mpc8xxFault::Error { bits }, false) => Exception::DtlbError {
                    address: ea,
                    dsisr: bits,
                },
            },
            FaultKind::Ppc405 { fault, instruction } => match (fault, instruction) {
                (Ppc405Fault::Miss { .. }, true) => Exception::InstructionMiss,
                (Ppc405Fault::Miss { esr }, false) => Exception::DataMiss { address: ea, esr },
                (Ppc405Fault::Storage { esr }, true) => Exception::FetchRefused { esr },
                (Ppc405Fault::Storage { esr }, false) => Exception::Refused { address: ea, esr },
            },
            FaultKind::Segment { instruction: true } => Exception::InstructionSegment,
            FaultKind::Segment { instruction: false } => Exception::DataSegment { address: ea },
        }
    }

    pub fn vector(self) -> Vector {
        match self {
            Exception::MachineCheck { .. } => Vector::MachineCheck,
            Exception::DataStorage { .. } => Vector::DataStorage,
            Exception::InstructionStorage { .. } => Vector::InstructionStorage,
            Exception::External => Vector::External,
            Exception::Alignment { .. } => Vector::Alignment,
            Exception::Program { .. } => Vector::Program,
            Exception::FloatUnavailable => Vector::FloatUnavailable,
            Exception::Decrementer => Vector::Decrementer,
            Exception::SystemCall => Vector::SystemCall,
            Exception::Trace => Vector::Trace,
            Exception::PerformanceMonitor => Vector::PerformanceMonitor,
            Exception::InstructionTlbMiss { .. } => Vector::InstructionTlbMiss,
            Exception::DataLoadTlbMiss { .. } => Vector::DataLoadTlbMiss,
            Exception::DataStoreTlbMiss { .. } => Vector::DataStoreTlbMiss,
            Exception::InstructionBreakpoint => Vector::InstructionBreakpoint,
            Exception::SoftwareEmulation => Vector::SoftwareEmulation,
            Exception::ItlbMiss => Vector::ItlbMiss,
            Exception::DtlbMiss => Vector::DtlbMiss,
            Exception::ItlbError { .. } => Vector::ItlbError,
            Exception::DtlbError { .. } => Vector::DtlbError,
            Exception::CriticalInput => Vector::CriticalInput,
            Exception::Watchdog => Vector::Watchdog,
            Exception::Pit => Vector::Pit,
            Exception::Fit => Vector::Fit,
            Exception::Refused { .. } => Vector::DataStorage,
            Exception::FetchRefused { .. } => Vector::InstructionStorage,
            Exception::DataMiss { .. } => Vector::DataMiss,
            Exception::InstructionMiss => Vector::InstructionMiss,
            Exception::Completed => Vector::Debug,
            Exception::DataSegment { .. } => Vector::DataSegment,
            Exception::InstructionSegment => Vector::InstructionSegment,
        }
    }

    /// No entry in the TLB on a 603, 8xx or 405, no PTE in the hash table on the others; on the 970 also no entry in
    /// the SLB.
    pub fn is_failed_reload(self) -> bool {
        const NO_PTE: u32 = 0x4000_0000;
        match self {
            Exception::InstructionTlbMiss { .. }
            | Exception::DataLoadTlbMiss { .. }
            | Exception::DataStoreTlbMiss { .. }
            | Exception::ItlbMiss
            | Exception::DtlbMiss
            | Exception::DataMiss { .. }
            | Exception::InstructionMiss
            | Exception::DataSegment { .. }
            | Exception::InstructionSegment => true,
            Exception::DataStorage { dsisr, .. } => dsisr & NO_PTE != 0,
            Exception::InstructionStorage { srr1 } => srr1 & NO_PTE != 0,
            _ => false,
        }
    }

    /// 603: the handler runs with the temporary registers in place of r0 to r3.
    fn uses_temporary_registers(self) -> bool {
        matches!(
            self,
            Exception::InstructionTlbMiss { .. }
                | Exception::DataLoadTlbMiss { .. }
                | Exception::DataStoreTlbMiss { .. }
        )
    }

    /// The bits that SRR1 gets besides the saved MSR.
    fn cause_bits(self, r: &Registers) -> u32 {
        match self {
            Exception::InstructionStorage { srr1 }
            | Exception::ItlbError { srr1 }
            | Exception::Program { srr1 } => srr1,
            // SRR1[0-3] is a copy of CR0 (603e UM table 4-11).
            Exception::InstructionTlbMiss { srr1 }
            | Exception::DataLoadTlbMiss { srr1 }
            | Exception::DataStoreTlbMiss { srr1 } => srr1 | u32::from(r.cr.field(0)) << 28,
            _ => 0,
        }
    }
}

/// DSISR of an alignment exception, from the instruction word (PEM table 6-10): the opcode, the
/// addressing mode, rD and rA.
fn alignment_dsisr(word: u32) -> u32 {
    let registers = word >> 16 & 0x3ff;
    let opcode = if word >> 26 == 31 {
        // Bits 29-30, 25, and 21-24 of an indexed form.
        (word >> 1 & 3) << 15 | (word >> 6 & 1) << 14 | (word >> 7 & 15) << 10
    } else {
        // Bits 5 and 1-4 of a displaced form.
        (word >> 26 & 1) << 14 | (word >> 27 & 15) << 10
    };
    opcode | registers
}

/// Changes the MSR, and with MSR[TGPR] the meaning of r0 to r3.
pub fn set_msr(r: &mut Registers, value: u32) {
    let value = value & IMPLEMENTED & !r.msr_absent;
    // On a 405 the bit is CE.
    if (r.msr ^ value) & msr::TGPR != 0 && r.embedded.is_none() {
        let mut all = r.gpr.all();
        all[..4].swap_with_slice(&mut r.temporary);
        r.gpr.set_all(&all);
    }
    r.msr = value;
}

/// Takes `exception` with `r.pc` at the instruction that raised it, or for the exceptions that follow
/// an instruction (system call, trace) and those between two (external, decrementer) at the next one.
/// `word` is the instruction that raised it.
pub fn enter(r: &mut Registers, exception: Exception, word: u32) {
    if r.embedded.is_some() {
        return embedded::enter(r, exception);
    }
    r.srr0 = r.pc;
    r.srr1 = r.msr & SAVED | exception.cause_bits(r);
    match exception {
        Exception::DataStorage { address, dsisr } | Exception::DtlbError { address, dsisr } => {
            r.dar = address;
            r.dsisr = dsisr;
        }
        Exception::Alignment { address } => {
            r.dar = address;
            r.dsisr = alignment_dsisr(word);
        }
        Exception::DataSegment { address } => r.dar = address,
        _ => {}
    }
    if r.wide.there {
        return enter_970(r, exception);
    }
    let mut next = r.msr & KEPT;
    if r.msr & msr::ILE != 0 {
        next |= msr::LE;
    }
    if exception.uses_temporary_registers() {
        next |= msr::TGPR;
    }
    if exception.vector() == Vector::MachineCheck {
        next &= !msr::ME;
    }
    set_msr(r, next);
    let prefix = if next & msr::IP != 0 { 0xfff0_0000 } else { 0 };
    r.pc = prefix | exception.vector().offset();
}

/// The rest of [`enter`] on a 970: the upper halves, and the handler at HIOR in 64-bit mode (Linux 2.6.11
/// arch/ppc/kernel/head.S: its handlers leave that mode themselves).
fn enter_970(r: &mut Registers, exception: Exception) {
    let with_address = matches!(
        exception,
        Exception::DataStorage { .. } | Exception::DataSegment { .. } | Exception::Alignment { .. }
    );
    let w = &mut r.wide;
    (w.srr0, w.srr1) = (w.pc, w.msr());
    if with_address {
        w.dar = w.far;
    }
    w.far = 0;
    w.mode = true;
    let handler = w.hior.wrapping_add(exception.vector().offset().into());
    w.pc = (handler >> 32) as u32;
    r.pc = handler as u32;
    let kept = if exception.vector() == Vector::MachineCheck {
        0
    } else {
        msr::ME
    };
    set_msr(r, r.msr & kept);
}

/// `rfid` of a 970.
pub fn leave_970(r: &mut Registers) {
    let next = r.srr1 & RETURNED;
    set_msr(r, next);
    let w = &mut r.wide;
    w.mode = w.srr1 & Wide::SF != 0;
    w.pc = if w.mode { w.srr0 } else { 0 };
    r.pc = r.srr0 & !3;
}

/// `rfi`: returns to SRR0 with the MSR of SRR1.
pub fn leave(r: &mut Registers) {
    if r.embedded.is_some() {
        set_msr(r, r.srr1);
        r.pc = r.srr0 & !3;
        return;
    }
    let next = r.srr1 & RETURNED | r.msr & !RETURNED & !(msr::TGPR | msr::POW);
    set_msr(r, next);
    r.pc = r.srr0 & !3;
}

#[cfg(test)]
mod tests {
    use super::{Exception, enter, leave};
    use crate::powerpc::registers::Registers;

    /// A reload handler ends with CR0 in SRR1[0-3], which must not get into the MSR, nor into SRR1 of the next miss.
    #[test]
    fn cr0_of_a_reload_stays_out_of_the_msr() {
        let mut r = Registers::default();
        r.cr.set_field(0, 8);
        enter(&mut r, Exception::DataLoadTlbMiss { srr1: 0 }, 0);
        assert_eq!(r.srr1 >> 28, 8);
        leave(&mut r);
        assert_eq!(r.msr, 0);
        r.cr.set_field(0, 2);
        enter(&mut r, Exception::DataLoadTlbMiss { srr1: 0 }, 0);
        assert_eq!(r.srr1 >> 28, 2);
    }
}
