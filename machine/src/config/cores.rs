//! How the kinds of core differ, apart from the keys of a machine file: one row for each kind.
//!
//! Numbers and sizes are keys of the machine file. This table says how a core works.

use serde::{Deserialize, Serialize};

/// Which processor: chooses the instruction set, the MMU and the pipeline description.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CoreKind {
    #[serde(rename = "603")]
    Ppc603,
    #[serde(rename = "603e")]
    Ppc603e,
    #[serde(rename = "604")]
    Ppc604,
    #[serde(rename = "604e")]
    Ppc604e,
    #[serde(rename = "750")]
    Ppc750,
    /// MPC860 and its relatives, such as the MPC855T.
    #[serde(rename = "8xx")]
    Mpc8xx,
    /// PPC405 of the 405GP.
    #[serde(rename = "405")]
    Ppc405,
    /// PowerPC 970, of 64 bits.
    #[serde(rename = "970")]
    Ppc970,
}

/// Whose registers, instructions and exceptions a core has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// 603, 604 and 750: the PowerPC operating environment with segments, BATs and a floating-point unit.
    Classic,
    /// The 8xx. It has no floating-point unit, no segment registers, no BATs and no optional instructions (866 UM
    /// table 3-3, the same core).
    Mpc8xx,
    /// The 405: the IBM PowerPC embedded environment. It lacks the same, and has critical interrupts, timers, device
    /// control registers and multiply-accumulate instructions of its own (PPC405 UM).
    Ppc405,
    /// The 970: the PowerPC operating environment of 64 bits, with the bridge to segment registers and without BATs.
    Ppc970,
}

/// What reloads the TLBs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reloader {
    /// A walk of the hash table in hardware.
    Hash,
    /// Software, by `tlbld` and `tlbli`. `key`: SRR1\[KEY\] holds the key of the access (603e UM appendix C.2).
    Software { key: bool },
    /// Software, by Mx_RPN.
    Registers,
    /// Software, by `tlbwe`.
    Unified,
    /// A walk of the hash table of 64-bit cores in hardware.
    Wide,
}

/// Which events the performance monitor counts, and in how many counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Monitor {
    None,
    /// Two counters.
    Ppc604,
    /// Four counters.
    Ppc604e,
    /// Four counters, which user programs may read.
    Ppc750,
}

/// What a core puts on the bus (Bus Interface for 32-Bit Microprocessors, 2-9, 4-14 to 4-20).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Broadcast {
    /// Nothing (603, 603e; 8xx; 405; 970, whose fabric is not modelled).
    Never,
    /// While HID0\[ABE\] is set, all but TLB and I-cache invalidations (750).
    Enabled,
    /// Everything (604, 604e).
    Always,
}

/// The power-saving mode that setting MSR\[POW\] enters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Power {
    /// None: on an 8xx PLPRCR decides, and POW does nothing at full power.
    None,
    /// Nap, without a bit of HID0 (604 UM 7.2.13, recalled; on the 405 the bit is WE; the 970's HID0 is not asked).
    Nap,
    /// The one that HID0 selects: doze, nap or sleep (603e UM 2.1.2.1, 750 UM 2.1.2.2).
    Hid0,
}

/// Special-purpose registers beside those that all of 603, 604 and 750 have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registers {
    /// HID1: the clock's configuration.
    pub hid1: bool,
    /// DABR: data address breakpoint.
    pub dabr: bool,
    /// PIR: the processor's number.
    pub pir: bool,
    /// L2CR, ICTC and THRM1 to THRM3.
    pub l2_and_thermal: bool,
}

/// How a kind of core works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Core {
    /// The name used in machine files and in the device tree.
    pub name: &'static str,
    pub reload: Reloader,
    /// The core has the direct-store interface: a load or store to such a segment ends in a transfer error.
    pub direct_store: bool,
    pub family: Family,
    pub registers: Registers,
    pub monitor: Monitor,
    pub power: Power,
    /// MSR\[TGPR\]: a TLB miss swaps r0 to r3.
    pub temporary_registers: bool,
    /// MSR\[PM\]: marks a process for the performance monitor.
    pub marks: bool,
    /// IABR compares its TE bit with MSR\[IR\]; the 603 looks at addresses only (604 UM 2.1.2.5, 603e UM 2.1.2.5).
    pub breakpoint_translated: bool,
    /// HID0\[ICFI, DCFI\] clear themselves; on the 603 software clears them (604 UM 2.1.2.3, 603e UM 2.1.2.1).
    pub flash_bits_clear: bool,
    /// `icbi` does not translate its address and takes the whole set (603e UM 3.7.8).
    pub icbi_by_index: bool,
    /// Bits of the effective address above a page index the I-cache (PPC405GP UM p.140).
    pub effective_index: bool,
    pub broadcast: Broadcast,
    /// The D-cache has a shared state (MESI); a core without it (MEI) gives a line up to whoever reads it (Bus
    /// Interface for 32-Bit Microprocessors 2-9 and 4-20, MPC7400 UM 3-15).
    pub shared_state: bool,
    /// The D-cache writes every store through to the L2, and gives no line a place for a store.
    pub stores_through: bool,
    /// The branch target cache holds instructions and is emptied by exceptions, `rfi`, `icbi` and flash invalidation
    /// (MPC7400 UM 6-29). The 604's holds addresses and stays.
    pub volatile_targets: bool,
    /// Integer units for adds, logic, shifts and compares.
    pub integer_units: usize,
    /// Multiplies and divides have a unit of their own (604: MCIU).
    pub complex_unit: bool,
}

const NO_REGISTERS: Registers = Registers {
    hid1: false,
    dabr: false,
    pir: false,
    l2_and_thermal: false,
};

/// One IU (603 UM).
const PPC603: Core = Core {
    name: "603",
    reload: Reloader::Software { key: false },
    direct_store: false,
    family: Family::Classic,
    registers: NO_REGISTERS,
    monitor: Monitor::None,
    power: Power::Hid0,
    temporary_registers: true,
    marks: true,
    breakpoint_translated: false,
    flash_bits_clear: false,
    icbi_by_index: true,
    effective_index: false,
    broadcast: Broadcast::Never,
    shared_state: false,
    stores_through: false,
    volatile_targets: false,
    integer_units: 1,
    complex_unit: false,
};

/// The SRU adds and compares too (gcc's description).
const PPC603E: Core = Core {
    name: "603e",
    reload: Reloader::Software { key: true },
    registers: Registers {
        hid1: true,
        ..NO_REGISTERS
    },
    integer_units: 2,
    ..PPC603
};

/// Two SCIU and an MCIU (604 UM p.35).
const PPC604: Core = Core {
    name: "604",
    reload: Reloader::Hash,
    direct_store: true,
    family: Family::Classic,
    registers: Registers {
        dabr: true,
        pir: true,
        ..NO_REGISTERS
    },
    monitor: Monitor::Ppc604,
    power: Power::Nap,
    temporary_registers: true,
    marks: true,
    breakpoint_translated: true,
    flash_bits_clear: true,
    icbi_by_index: false,
    effective_index: false,
    broadcast: Broadcast::Always,
    shared_state: true,
    stores_through: false,
    volatile_targets: false,
    integer_units: 2,
    complex_unit: true,
};

const PPC604E: Core = Core {
    name: "604e",
    registers: Registers {
        hid1: true,
        ..PPC604.registers
    },
    monitor: Monitor::Ppc604e,
    ..PPC604
};

/// IU1 (everything) and IU2 (no multiply, no divide; gcc's description).
const PPC750: Core = Core {
    name: "750",
    direct_store: false,
    registers: Registers {
        hid1: true,
        dabr: true,
        pir: false,
        l2_and_thermal: true,
    },
    monitor: Monitor::Ppc750,
    power: Power::Hid0,
    broadcast: Broadcast::Enabled,
    shared_state: false,
    volatile_targets: true,
    complex_unit: false,
    ..PPC604
};

/// ALU and IMUL-IDIV (gcc's mpc.md; MPC565 RM 3.4.2, whose core is the same).
const MPC8XX: Core = Core {
    name: "8xx",
    reload: Reloader::Registers,
    direct_store: false,
    family: Family::Mpc8xx,
    registers: NO_REGISTERS,
    monitor: Monitor::None,
    power: Power::None,
    temporary_registers: false,
    marks: false,
    breakpoint_translated: true,
    flash_bits_clear: true,
    icbi_by_index: false,
    effective_index: false,
    broadcast: Broadcast::Never,
    shared_state: false,
    stores_through: false,
    volatile_targets: false,
    integer_units: 1,
    complex_unit: true,
};

/// One pipeline of five stages with a multiplier (PPC405 UM chapter 1; gcc's 40x.md: IU and IMUL-IDIV).
const PPC405: Core = Core {
    name: "405",
    reload: Reloader::Unified,
    family: Family::Ppc405,
    power: Power::Nap,
    effective_index: true,
    ..MPC8XX
};

/// Two FXUs, of which one divides, two LSUs, two FPUs (notes on the POWER4 paper). The pipeline here has one LSU and
/// one FPU.
const PPC970: Core = Core {
    name: "970",
    reload: Reloader::Wide,
    direct_store: false,
    family: Family::Ppc970,
    registers: Registers {
        hid1: true,
        dabr: true,
        pir: true,
        l2_and_thermal: false,
    },
    monitor: Monitor::None,
    power: Power::Nap,
    temporary_registers: false,
    marks: false,
    breakpoint_translated: true,
    flash_bits_clear: true,
    icbi_by_index: false,
    broadcast: Broadcast::Never,
    shared_state: false,
    stores_through: true,
    volatile_targets: false,
    integer_units: 2,
    complex_unit: false,
    effective_index: false,
};

impl Core {
    /// The core has the registers, instructions and exceptions of the 8xx.
    #[must_use]
    pub fn is_8xx(&self) -> bool {
        self.family == Family::Mpc8xx
    }

    /// The core has a floating-point unit, segment registers and BATs.
    #[must_use]
    pub fn is_classic(&self) -> bool {
        self.family == Family::Classic
    }

    /// The core has 64 bits.
    #[must_use]
    pub fn is_970(&self) -> bool {
        self.family == Family::Ppc970
    }

    /// The core has a floating-point unit and segment registers, or the bridge to them.
    #[must_use]
    pub fn has_float(&self) -> bool {
        self.is_classic() || self.is_970()
    }
}

impl CoreKind {
    /// The upper halves of PVR that cores of this family have (Linux cpu_specs). Kinds of one family take each other's:
    /// a 604e's file may become a 604's by its kind alone.
    pub fn versions(self) -> &'static [u16] {
        match self.core().family {
            Family::Classic => &[
                0x0003, 0x0004, 0x0006, 0x0007, 0x0008, 0x0009, 0x000a, 0x7000,
            ],
            Family::Mpc8xx => &[0x0050],
            Family::Ppc405 => &[0x4011],
            Family::Ppc970 => &[0x0039, 0x003c, 0x0044],
        }
    }

    /// How a core of this kind works.
    #[must_use]
    pub const fn core(self) -> &'static Core {
        match self {
            CoreKind::Ppc603 => &PPC603,
            CoreKind::Ppc603e => &PPC603E,
            CoreKind::Ppc604 => &PPC604,
            CoreKind::Ppc604e => &PPC604E,
            CoreKind::Ppc750 => &PPC750,
            CoreKind::Mpc8xx => &MPC8XX,
            CoreKind::Ppc405 => &PPC405,
            CoreKind::Ppc970 => &PPC970,
        }
    }

    /// The 603 family reloads its TLBs in software by `tlbld` and `tlbli`.
    #[must_use]
    pub fn software_reload(self) -> bool {
        matches!(self.core().reload, Reloader::Software { .. })
    }

    /// The core puts transactions without data on the bus.
    #[must_use]
    pub fn broadcasts(self) -> bool {
        self.core().broadcast != Broadcast::Never
    }

    /// Its `tlbie` reaches the other processors, unless the machine file says otherwise.
    #[must_use]
    pub fn broadcasts_translations(self) -> bool {
        self.core().broadcast == Broadcast::Always
    }

    /// The core walks the hash table in hardware.
    #[must_use]
    pub fn hash_walk(self) -> bool {
        matches!(self.core().reload, Reloader::Hash | Reloader::Wide)
    }

    /// The name used in machine files and in the device tree.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.core().name
    }
}
