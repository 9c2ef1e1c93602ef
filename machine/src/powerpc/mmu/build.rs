//! The MMU that a machine file describes.

use super::hash64::Refills;
use super::walker::AnyWalker;
use super::{DirectStore, Front6xx, Kind, Mmu, MmuGeometry, Reload, Tlb, TlbGeometry, WalkTiming};
use crate::config::{self, Family, MachineConfig, TlbConfig, TlbPair};
use crate::memory::Forward;
use crate::tlb::second_level::SecondLevel;

fn geometry(tlb: &TlbConfig) -> TlbGeometry {
    TlbGeometry {
        entries: tlb.entries,
        ways: tlb.ways,
    }
}

/// Puts the parts that a machine file names in place of the core's own.
fn swap_parts(front: &mut Front6xx, tlbs: &TlbPair) -> Result<(), String> {
    for (tlb, config) in [
        (&mut front.itlb, &tlbs.instruction),
        (&mut front.dtlb, &tlbs.data),
    ] {
        if let Some(name) = &config.replacement {
            tlb.set_replacement(name)?;
        }
    }
    if let Some(second) = &tlbs.l2 {
        let shape = TlbGeometry {
            entries: second.entries,
            ways: second.ways,
        };
        let mut tlb = Tlb::new(shape)?;
        if let Some(name) = &second.replacement {
            tlb.set_replacement(name)?;
        }
        front.second = Some(SecondLevel::new(tlb, second));
    }
    Ok(())
}

impl Mmu {
    /// The MMU of a machine, as after a hard reset.
    ///
    /// # Errors
    /// What the machine file asks for and cannot be had.
    pub fn from_config(machine: &MachineConfig) -> Result<Self, String> {
        let core = machine.core.kind.core();
        let timing = machine.walk.as_ref().map(|walk| WalkTiming {
            start: walk.start,
            access: walk.access,
            finish: walk.finish,
            forward: if walk.whole_line {
                Forward::Line
            } else {
                machine.cache.data.forward
            },
            cached: walk.cached,
        });
        let reload = match (core.reload, timing) {
            (config::Reloader::Hash, Some(walk)) => Reload::Hash(walk),
            (config::Reloader::Hash | config::Reloader::Wide, None) => {
                return Err("there is no [walk]".to_owned());
            }
            (config::Reloader::Wide, Some(walk)) => {
                let unified = machine.tlb.unified.clone();
                let unified = unified.ok_or("there is no [tlb.unified]")?;
                Reload::Wide {
                    tlb: TlbGeometry {
                        entries: unified.entries,
                        ways: unified.ways.ok_or("there is no tlb.unified.ways")?,
                    },
                    walk,
                    refills: Refills {
                        instruction: unified.instruction_refill,
                        data: unified.data_refill,
                    },
                }
            }
            (config::Reloader::Software { key }, _) => Reload::Software { key },
            (config::Reloader::Registers, _) => Reload::Registers,
            (config::Reloader::Unified, _) => {
                let unified = machine.tlb.unified.clone();
                let unified = unified.ok_or("there is no [tlb.unified]")?;
                Reload::Unified {
                    instruction: unified.instruction_refill,
                    data: unified.data_refill,
                }
            }
        };
        let mut mmu = Self::new(MmuGeometry {
            instruction: geometry(&machine.tlb.instruction),
            data: geometry(&machine.tlb.data),
            bats: if core.family == Family::Classic { 4 } else { 0 },
            reload,
            direct_store: if core.direct_store {
                DirectStore::Error
            } else {
                DirectStore::Unsupported
            },
        })?;
        if let Some(front) = mmu.front_mut() {
            swap_parts(front, &machine.tlb)?;
        }
        if let (Kind::Hash32(unit), Some(walk)) = (mmu.kind_mut(), &machine.walk) {
            unit.set_walker(AnyWalker::from_config(&walk.walker, &walk.options)?);
        }
        Ok(mmu)
    }
}
