//! The control device: the only device of the boards that no real machine has (docs/interfaces.md, section 2).

use serde::{Deserialize, Serialize};

use super::Instant;

const MAGIC: u32 = 0x5057_4c4b;
/// CONTEXT and COMMAND, and FORK, are used, whether or not a profile is recorded, so that it does not change what the
/// guest does.
const FEATURES: u32 = 4 | 8;

/// Which of the two register blocks an access reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    Kernel,
    User,
}

/// The request that a write makes of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Stop with this exit status.
    PowerOff(u32),
    /// The dynamic cause from now on (number of docs/interfaces.md, section 3).
    Cause(u32),
    /// Physical address of a byte with a cause's number, and of its name behind that.
    CauseName(u32),
    /// The address space that runs from now on.
    Context(u32),
    /// Physical address of the path of the program in the current context.
    Command(u32),
    /// A child's address space: from now on it runs the program of the current context.
    Fork(u32),
    /// Write a state dump with this label.
    Dump(u32),
    /// Show this TLB entry: the most significant bit chooses the instruction TLB, the others are the entry's number.
    TlbSelect(u32),
    RegionBegin(u32),
    RegionEnd(u32),
}

/// A TLB entry as the control device shows it: of an 8xx by its own registers (`mmu::mpc8xx`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlbView {
    /// Sets of the TLB in the upper half, ways in the lower.
    pub shape: u32,
    /// V in the most significant bit, and the VSID. 8xx: then whether the entry is reserved, and the ASID.
    pub vsid: u32,
    /// EA\[4-19\] of the page. 8xx: EA\[0-19\].
    pub page: u32,
    /// As a PTE's word 1: RPN, C, WIMG, PP. 8xx: as it was written to Mx_RPN.
    pub word1: u32,
    /// 8xx: as it was written to Mx_TWC, without the table's base.
    pub level_one: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Control {
    /// Of the core, in Hz.
    clock: u32,
    tlb: TlbView,
    latched_cycles_high: u32,
    latched_instructions_high: u32,
}

impl Control {
    pub fn new(clock: u64) -> Self {
        Control {
            clock: clock.try_into().unwrap_or(u32::MAX),
            tlb: TlbView::default(),
            latched_cycles_high: 0,
            latched_instructions_high: 0,
        }
    }

    pub fn show_tlb(&mut self, view: TlbView) {
        self.tlb = view;
    }

    pub fn read(
        &mut self,
        half: Half,
        offset: u32,
        size: u32,
        now: Instant,
    ) -> Result<u32, &'static str> {
        word_access(offset, size)?;
        let value = match (half, offset) {
            (Half::Kernel, 0x00) | (Half::User, 0x18) => MAGIC,
            (Half::Kernel, 0x04) => FEATURES,
            (Half::Kernel, 0x2c) => self.tlb.shape,
            (Half::Kernel, 0x30) => self.tlb.vsid,
            (Half::Kernel, 0x34) => self.tlb.page,
            (Half::Kernel, 0x38) => self.tlb.word1,
            (Half::Kernel, 0x3c) => self.tlb.level_one,
            (Half::Kernel, 0x40) => self.clock,
            (Half::User, 0x08) => {
                self.latched_cycles_high = (now.cycles >> 32) as u32;
                now.cycles as u32
            }
            (Half::User, 0x0c) => self.latched_cycles_high,
            (Half::User, 0x10) => {
                self.latched_instructions_high = (now.instructions >> 32) as u32;
                now.instructions as u32
            }
            (Half::User, 0x14) => self.latched_instructions_high,
            _ => return Err("the control device has no readable register there"),
        };
        Ok(value)
    }

    pub fn write(
        &mut self,
        half: Half,
        offset: u32,
        size: u32,
        value: u32,
    ) -> Result<Effect, &'static str> {
        word_access(offset, size)?;
        let effect = match (half, offset) {
            (Half::Kernel, 0x08) => Effect::PowerOff(value),
            (Half::Kernel, 0x0c) => Effect::Cause(value),
            (Half::Kernel, 0x44) => Effect::CauseName(value),
            (Half::Kernel, 0x1c) => Effect::Context(value),
            (Half::Kernel, 0x20) => Effect::Command(value),
            (Half::Kernel, 0x24) => Effect::Dump(value),
            (Half::Kernel, 0x28) => Effect::Fork(value),
            (Half::Kernel, 0x2c) => Effect::TlbSelect(value),
            (Half::User, 0x00) => Effect::RegionBegin(value),
            (Half::User, 0x04) => Effect::RegionEnd(value),
            _ => return Err("the control device has no writable register there"),
        };
        Ok(effect)
    }
}

fn word_access(offset: u32, size: u32) -> Result<(), &'static str> {
    if size == 4 && offset.is_multiple_of(4) {
        Ok(())
    } else {
        Err("the control device takes aligned 32-bit accesses only")
    }
}
