//! Instructions with a memory operand.

use super::arithmetic::{compare, compute};
use super::convert::{Stored, from_decimal, load, store, store_integer, to_decimal};
use super::extended::{Extended, Loaded};
use super::round::Computed;
use super::{Fpu, Host, operation, status};
use crate::float::{DOUBLE, SINGLE};
use crate::x86::exception::Exception;

/// A format in memory of an arithmetic operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Single,
    Double,
    Word,
    Long,
    Quad,
}

use Format::{Double, Long, Quad, Single, Word};

impl Format {
    fn bytes(self) -> u32 {
        match self {
            Word => 2,
            Single | Long => 4,
            Double | Quad => 8,
        }
    }

    fn read<H: Host>(self, host: &mut H) -> Result<Loaded, Exception> {
        let bits = host.load(0, self.bytes())?;
        let integer = |value: i64| Loaded {
            value: Extended::from_integer(value),
            denormal: false,
        };
        Ok(match self {
            Single => Extended::from_single(bits as u32),
            Double => Extended::from_double(bits),
            Word => integer((bits as i16).into()),
            Long => integer((bits as i32).into()),
            Quad => integer(bits.cast_signed()),
        })
    }
}

impl Fpu {
    /// `opcode`: the low three bits of the first byte; `number`: bits 3 to 5 of the second.
    pub(super) fn memory<H: Host>(
        &mut self,
        opcode: u8,
        number: u8,
        host: &mut H,
    ) -> Result<(), Exception> {
        // What does not wait for a pending error.
        match (opcode, number) {
            (1, 6) => return self.store_environment(host),
            (1, 7) => return host.store(0, 2, self.control.into()),
            (5, 6) => return self.save(host),
            (5, 7) => return host.store(0, 2, self.status_word().into()),
            (1, 1) | (3, 1 | 4 | 6) | (5, 1 | 5) | (7, 1) => {
                return Err(Exception::INVALID_OPCODE);
            }
            _ => self.wait()?,
        }
        match (opcode, number) {
            (0, _) => self.arithmetic_of(number, Single.read(host)?),
            (2, _) => self.arithmetic_of(number, Long.read(host)?),
            (4, _) => self.arithmetic_of(number, Double.read(host)?),
            (6, _) => self.arithmetic_of(number, Word.read(host)?),
            (1, 0) => self.push(load(Single.read(host)?)),
            (5, 0) => self.push(load(Double.read(host)?)),
            (3, 0) => self.push(load(Long.read(host)?)),
            (7, 0) => self.push(load(Word.read(host)?)),
            (7, 5) => self.push(load(Quad.read(host)?)),
            (3, 5) => {
                let significand = host.load(0, 8)?;
                let head = host.load(8, 2)? as u16;
                self.push(Computed::plain(Extended { head, significand }, 0));
            }
            (7, 4) => {
                let value = from_decimal(host.load(0, 8)?, host.load(8, 2)? as u16);
                self.push(Computed::plain(value, 0));
            }
            (1, 4) => self.load_environment(host)?,
            (1, 5) => {
                let word = host.load(0, 2)? as u16;
                self.set_control_word(word);
            }
            (5, 4) => self.restore(host)?,
            (1, 2) => self.store_number(Single, false, host)?,
            (1, _) => self.store_number(Single, true, host)?,
            (5, 2) => self.store_number(Double, false, host)?,
            (5, _) => self.store_number(Double, true, host)?,
            (3, 2) => self.store_number(Long, false, host)?,
            (3, 3) => self.store_number(Long, true, host)?,
            (7, 2) => self.store_number(Word, false, host)?,
            (7, 3) => self.store_number(Word, true, host)?,
            (7, 6) => self.store_decimal(host)?,
            (7, _) => self.store_number(Quad, true, host)?,
            _ => self.store_extended(host)?,
        }
        Ok(())
    }

    fn arithmetic_of(&mut self, number: u8, operand: Loaded) {
        let Some(operation) = operation(number) else {
            self.compare_with(operand);
            if number == 3 && self.finished() {
                self.pop();
            }
            return;
        };
        let result = match self.get(0) {
            Some(top) => compute(
                operation,
                top,
                operand.value,
                operand.denormal,
                self.control(),
            ),
            None => Computed::underflow(),
        };
        self.deliver(0, result);
    }

    fn compare_with(&mut self, operand: Loaded) {
        let (order, flags) = match self.get(0) {
            Some(top) => compare(top, operand.value, false),
            None => (None, status::INVALID | status::STACK),
        };
        let denormal = if operand.denormal && order.is_some() {
            status::DENORMAL
        } else {
            0
        };
        self.set_order(order, flags | denormal);
    }

    /// The exceptions of a store, and its bits if it is to write them.
    fn outcome(&self, format: Format) -> Stored {
        let empty = self.get(0).is_none();
        let value = self.get(0).unwrap_or(Extended::INDEFINITE);
        let control = self.control();
        let stored = match format {
            Single => store(value, control, SINGLE),
            Double => store(value, control, DOUBLE),
            Word => store_integer(value, control, 16),
            Long => store_integer(value, control, 32),
            Quad => store_integer(value, control, 64),
        };
        if empty {
            return Stored {
                flags: status::INVALID | status::STACK,
                ..stored
            };
        }
        stored
    }

    fn store_number<H: Host>(
        &mut self,
        format: Format,
        pop: bool,
        host: &mut H,
    ) -> Result<(), Exception> {
        let Stored { bits, flags, up } = self.outcome(format);
        let stores = self.stores(flags);
        if stores {
            host.store(0, format.bytes(), bits)?;
        }
        self.raise_store(flags, up);
        if stores && pop {
            self.pop();
        }
        Ok(())
    }

    /// FSTP of the register's own format, which converts nothing.
    fn store_extended<H: Host>(&mut self, host: &mut H) -> Result<(), Exception> {
        let flags = match self.get(0) {
            Some(_) => 0,
            None => status::INVALID | status::STACK,
        };
        let value = self.get(0).unwrap_or(Extended::INDEFINITE);
        self.store_ten((value.significand, value.head), flags, false, host)
    }

    fn store_decimal<H: Host>(&mut self, host: &mut H) -> Result<(), Exception> {
        let value = self.get(0).unwrap_or(Extended::INDEFINITE);
        let (low, high, flags, up) = to_decimal(value, self.control());
        let flags = match self.get(0) {
            Some(_) => flags,
            None => status::INVALID | status::STACK,
        };
        self.store_ten((low, high), flags, up, host)
    }

    /// Stores ten bytes and pops.
    fn store_ten<H: Host>(
        &mut self,
        (low, high): (u64, u16),
        flags: u16,
        up: bool,
        host: &mut H,
    ) -> Result<(), Exception> {
        let stores = self.stores(flags);
        if stores {
            host.check_store(0, 10)?;
            host.store(0, 8, low)?;
            host.store(8, 2, high.into())?;
        }
        self.raise_store(flags, up);
        if stores {
            self.pop();
        }
        Ok(())
    }
}
