//! The MPC8641's coherency module (MPC8641D Reference Manual, chapter 7): the port configuration register, which starts
//! the processors.

use serde::{Deserialize, Serialize};

use super::{At, Console, Device, Effect, restored, saved};

/// Offset of the port configuration register from the module's first register.
const PORT_CONFIGURATION: u32 = 0x10;

/// The enable bit of processor 0; those of the others are to the left of it.
const FIRST: u32 = 24;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Mcm {
    /// A processor runs while its bit is set.
    port: u32,
}

impl Mcm {
    /// After a reset only processor 0 runs.
    pub fn new() -> Self {
        Mcm { port: 1 << FIRST }
    }
}

impl Device for Mcm {
    fn widths(&self) -> &'static [u32] {
        &[4]
    }

    fn read(&mut self, at: At, _: &mut Console) -> Result<u64, &'static str> {
        match at.offset {
            PORT_CONFIGURATION => Ok(self.port.into()),
            _ => Err("there is no register"),
        }
    }

    /// The bit of processor 0 stays set.
    fn write(
        &mut self,
        at: At,
        value: u64,
        _: &mut Console,
    ) -> Result<Option<Effect>, &'static str> {
        match at.offset {
            PORT_CONFIGURATION => {
                self.port = value as u32 | 1 << FIRST;
                Ok(None)
            }
            _ => Err("there is no register"),
        }
    }

    fn holds(&self, processor: u8) -> bool {
        self.port >> FIRST >> processor & 1 == 0
    }

    fn save(&self) -> Vec<u8> {
        saved(self)
    }

    fn restore(&mut self, state: &[u8]) -> bool {
        restored(self, state, |mcm: &Mcm| !mcm.holds(0))
    }
}
