//! Non-volatile memory of a PReP machine, behind three ports: the address, low and high byte, and a byte of data
//! (PowerPC Reference Platform Specification 1.1, I/O map). It holds zeroes after power-on.

use serde::{Deserialize, Serialize};

use super::{At, Console, Device, Effect, restored, saved};

/// Bytes of memory.
pub(crate) const SIZE: usize = 8 << 10;

/// The ports, counted from the device's first.
const ADDRESS_LOW: u32 = 0;
const ADDRESS_HIGH: u32 = 1;
const DATA: u32 = 3;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Nvram {
    address: u16,
    bytes: Vec<u8>,
}

impl Nvram {
    pub fn new() -> Self {
        Nvram {
            address: 0,
            bytes: vec![0; SIZE],
        }
    }
}

impl Device for Nvram {
    fn widths(&self) -> &'static [u32] {
        &[1]
    }

    fn read(&mut self, at: At, _: &mut Console) -> Result<u64, &'static str> {
        Ok(match at.offset {
            ADDRESS_LOW => self.address & 0xff,
            ADDRESS_HIGH => self.address >> 8,
            DATA => self.bytes[usize::from(self.address) % SIZE].into(),
            _ => 0xff,
        }
        .into())
    }

    fn write(
        &mut self,
        at: At,
        value: u64,
        _: &mut Console,
    ) -> Result<Option<Effect>, &'static str> {
        let byte = value as u8;
        match at.offset {
            ADDRESS_LOW => self.address = self.address & 0xff00 | u16::from(byte),
            ADDRESS_HIGH => self.address = self.address & 0x00ff | u16::from(byte) << 8,
            DATA => self.bytes[usize::from(self.address) % SIZE] = byte,
            _ => {}
        }
        Ok(None)
    }

    fn save(&self) -> Vec<u8> {
        saved(self)
    }

    fn restore(&mut self, state: &[u8]) -> bool {
        restored(self, state, |nvram: &Nvram| nvram.bytes.len() == SIZE)
    }
}
