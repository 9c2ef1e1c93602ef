//! The floating-point unit.

use serde::{Deserialize, Serialize};

use super::config::Kind;
use super::exception::Exception;

/// Where an instruction of the unit is, and its operand: what FNSAVE and FNSTENV store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pointers {
    pub cs: u16,
    pub eip: u32,
    pub ds: u16,
    pub offset: u32,
}

/// The processor, as the unit sees it.
pub trait Host {
    /// Reads `bytes` (1, 2, 4 or 8), little-endian, at `offset` from the memory operand's address.
    ///
    /// # Errors
    /// When the access faults.
    fn load(&mut self, offset: u32, bytes: u32) -> Result<u64, Exception>;

    /// Writes the same.
    ///
    /// # Errors
    /// When the access faults.
    fn store(&mut self, offset: u32, bytes: u32, value: u64) -> Result<(), Exception>;

    /// FNSTSW AX.
    fn set_ax(&mut self, value: u16);

    /// For FCMOVcc.
    fn eflags(&self) -> u32;

    /// FCOMI: ZF, PF and CF of `flags`; OF, SF and AF become 0.
    fn set_eflags(&mut self, flags: u32);

    /// The i486 lacks FCMOVcc and FCOMI.
    fn kind(&self) -> Kind;

    /// Of the instruction that runs.
    fn pointers(&self) -> Pointers;

    /// 16-bit operand size: the short form of the environment.
    fn narrow(&self) -> bool;
}

/// Registers and state.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Fpu {}

impl Fpu {
    /// The state after FNINIT.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs the instruction `opcode` (0xd8 to 0xdf) `modrm`; returns its clocks, on a P6 its issue slots.
    ///
    /// # Errors
    /// #UD for an instruction that the core lacks, #MF for an error that is pending, and what an access raises.
    pub fn execute<H: Host>(
        &mut self,
        _opcode: u8,
        _modrm: u8,
        _host: &mut H,
    ) -> Result<u32, Exception> {
        Err(Exception::INVALID_OPCODE)
    }

    /// FWAIT.
    ///
    /// # Errors
    /// #MF for an error that is pending.
    pub fn wait(&mut self) -> Result<(), Exception> {
        Ok(())
    }
}
