//! The MMU that a machine file describes.

use super::{DirectStore, Mmu, MmuGeometry, Reload, TlbGeometry, WalkTiming};
use crate::config::{CoreKind, MachineConfig, TlbConfig};
use crate::memory::Forward;

fn geometry(tlb: &TlbConfig) -> TlbGeometry {
    TlbGeometry {
        entries: tlb.entries,
        ways: tlb.ways,
    }
}

impl Mmu {
    /// The MMU of a machine, as after a hard reset.
    ///
    /// # Errors
    /// What the machine file asks for and cannot be had.
    pub fn from_config(machine: &MachineConfig) -> Result<Self, String> {
        let kind = machine.core.kind;
        let mpc8xx = kind == CoreKind::Mpc8xx;
        let reload = match &machine.walk {
            Some(walk) => Reload::Hash(WalkTiming {
                start: walk.start,
                access: walk.access,
                finish: walk.finish,
                forward: if walk.whole_line {
                    Forward::Whole
                } else {
                    Forward::Critical
                },
                cached: walk.cached,
            }),
            None if mpc8xx => Reload::Registers,
            // Only the 603e and later report the key (603e UM appendix C.2).
            None => Reload::Software {
                key: kind != CoreKind::Ppc603,
            },
        };
        let direct_store = match kind {
            CoreKind::Ppc604 | CoreKind::Ppc604e => DirectStore::Error,
            CoreKind::Ppc603 | CoreKind::Ppc603e | CoreKind::Ppc750 | CoreKind::Mpc8xx => {
                DirectStore::Unsupported
            }
        };
        Self::new(MmuGeometry {
            instruction: geometry(&machine.tlb.instruction),
            data: geometry(&machine.tlb.data),
            bats: if mpc8xx { 0 } else { 4 },
            reload,
            direct_store,
        })
    }
}
