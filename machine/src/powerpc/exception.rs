//! Exceptions: their vectors, what they save, and how the processor enters and leaves them.

/// Exception vectors: offsets from the prefix (PEM 6.2; 603: MPC603e UM 4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum Vector {
    SystemReset = 0x0100,
    MachineCheck = 0x0200,
    DataStorage = 0x0300,
    InstructionStorage = 0x0400,
    External = 0x0500,
    Alignment = 0x0600,
    Program = 0x0700,
    FloatUnavailable = 0x0800,
    Decrementer = 0x0900,
    SystemCall = 0x0c00,
    Trace = 0x0d00,
    /// 604 and 750.
    PerformanceMonitor = 0x0f00,
    /// 603: no entry in the instruction TLB.
    InstructionTlbMiss = 0x1000,
    /// 603: no entry in the data TLB, for a load.
    DataLoadTlbMiss = 0x1100,
    /// 603: no entry in the data TLB for a store, or one whose C bit is clear.
    DataStoreTlbMiss = 0x1200,
    InstructionBreakpoint = 0x1300,
    SystemManagement = 0x1400,
}

impl Vector {
    /// Every vector, in order of address.
    pub const ALL: [Vector; 17] = [
        Vector::SystemReset,
        Vector::MachineCheck,
        Vector::DataStorage,
        Vector::InstructionStorage,
        Vector::External,
        Vector::Alignment,
        Vector::Program,
        Vector::FloatUnavailable,
        Vector::Decrementer,
        Vector::SystemCall,
        Vector::Trace,
        Vector::PerformanceMonitor,
        Vector::InstructionTlbMiss,
        Vector::DataLoadTlbMiss,
        Vector::DataStoreTlbMiss,
        Vector::InstructionBreakpoint,
        Vector::SystemManagement,
    ];

    /// The name in counters: `exception.<name>`.
    pub const fn name(self) -> &'static str {
        match self {
            Vector::SystemReset => "system-reset",
            Vector::MachineCheck => "machine-check",
            Vector::DataStorage => "data-storage",
            Vector::InstructionStorage => "instruction-storage",
            Vector::External => "external",
            Vector::Alignment => "alignment",
            Vector::Program => "program",
            Vector::FloatUnavailable => "float-unavailable",
            Vector::Decrementer => "decrementer",
            Vector::SystemCall => "system-call",
            Vector::Trace => "trace",
            Vector::PerformanceMonitor => "performance-monitor",
            Vector::InstructionTlbMiss => "instruction-tlb-miss",
            Vector::DataLoadTlbMiss => "data-load-tlb-miss",
            Vector::DataStoreTlbMiss => "data-store-tlb-miss",
            Vector::InstructionBreakpoint => "instruction-breakpoint",
            Vector::SystemManagement => "system-management",
        }
    }

    /// Position in [`Vector::ALL`].
    pub fn index(self) -> usize {
        match self {
            Vector::InstructionTlbMiss => 12,
            Vector::DataLoadTlbMiss => 13,
            Vector::DataStoreTlbMiss => 14,
            Vector::InstructionBreakpoint => 15,
            Vector::SystemManagement => 16,
            Vector::PerformanceMonitor => 11,
            Vector::Trace => 10,
            Vector::SystemCall => 9,
            _ => (self as usize >> 8) - 1,
        }
    }
}

/// What an instruction, or an event between two, raises; with everything its handler will see.
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
}

/// SRR1 bits of a program exception (PEM 6.4.7).
pub mod program {
    pub const FLOAT: u32 = 0x0010_0000;
    pub const ILLEGAL: u32 = 0x0008_0000;
    pub const PRIVILEGED: u32 = 0x0004_0000;
    pub const TRAP: u32 = 0x0002_0000;
}
