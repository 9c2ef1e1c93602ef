//! Registers of units that are otherwise not modelled: they keep what is written.

use serde::{Deserialize, Serialize};

use super::{At, Console, Device, Effect, restored, saved};

/// The behaviour of a register.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// Keeps what is written.
    Storage,
    /// Keeps what is written, except these bits, which read as zero: commands that take no time.
    Clears(u32),
    /// A write with one of these bits makes this request of the machine.
    AsksFor(u32, Effect),
    /// Every write makes this request of the machine.
    Asks(Effect),
}

/// A register of up to four bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Register {
    pub offset: u32,
    /// Bytes.
    pub size: u32,
    pub reset: u32,
    pub kind: Kind,
}

/// A unit of such registers. Each is read and written as a whole, or by bytes and half-words of it.
#[derive(Clone, Debug)]
pub(super) struct Plain {
    registers: Vec<Register>,
    values: Values,
}

/// Words that keep what is written, from offset `first` to before `end`.
pub(super) fn words(first: u32, end: u32) -> impl Iterator<Item = Register> {
    (first..end)
        .step_by(4)
        .map(|offset| word(offset, Kind::Storage))
}

/// A register of 32 bits that is 0 after a reset.
pub(super) const fn word(offset: u32, kind: Kind) -> Register {
    Register {
        offset,
        size: 4,
        reset: 0,
        kind,
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Values(Vec<u32>);

impl Plain {
    pub fn new(registers: impl IntoIterator<Item = Register>) -> Self {
        let registers: Vec<Register> = registers.into_iter().collect();
        let values = registers.iter().map(|register| register.reset).collect();
        Plain {
            registers,
            values: Values(values),
        }
    }

    /// The register that contains the whole access, and by how many bits the access is shifted in it.
    fn find(&self, at: At) -> Result<(usize, u32), &'static str> {
        let mut registers = self.registers.iter();
        let index = registers.position(|register| {
            register.offset <= at.offset && at.offset + at.size <= register.offset + register.size
        });
        let index = index.ok_or("there is no register")?;
        let register = &self.registers[index];
        Ok((
            index,
            8 * (register.offset + register.size - at.offset - at.size),
        ))
    }
}

fn mask(size: u32) -> u32 {
    u32::MAX >> (32 - 8 * size)
}

impl Device for Plain {
    fn widths(&self) -> &'static [u32] {
        &[1, 2, 4]
    }

    fn read(&mut self, at: At, _: &mut Console) -> Result<u64, &'static str> {
        let (index, shift) = self.find(at)?;
        Ok(u64::from(self.values.0[index] >> shift & mask(at.size)))
    }

    fn write(
        &mut self,
        at: At,
        value: u64,
        _: &mut Console,
    ) -> Result<Option<Effect>, &'static str> {
        let (index, shift) = self.find(at)?;
        let written = (value as u32 & mask(at.size)) << shift;
        let register = &mut self.values.0[index];
        *register = *register & !(mask(at.size) << shift) | written;
        Ok(match self.registers[index].kind {
            Kind::Storage => None,
            Kind::Clears(bits) => {
                *register &= !bits;
                None
            }
            Kind::AsksFor(bits, effect) => (written & bits != 0).then_some(effect),
            Kind::Asks(effect) => Some(effect),
        })
    }

    fn save(&self) -> Vec<u8> {
        saved(&self.values)
    }

    fn restore(&mut self, state: &[u8]) -> bool {
        let count = self.registers.len();
        restored(&mut self.values, state, |values: &Values| {
            values.0.len() == count
        })
    }
}
