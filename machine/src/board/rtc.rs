//! MC146818 real-time clock of an ISA bus, with its 114 bytes of RAM (Motorola MC146818 data sheet). The time of day
//! follows the core's clock from a fixed instant on, so that runs are alike. It cannot be set: a write to the time is
//! ignored. It has no alarm and no interrupts.

use serde::{Deserialize, Serialize};

use super::{At, Console, Device, Effect, restored, saved};

/// Bytes of registers and RAM.
const SIZE: usize = 128;

/// The time at power-on: midnight of the first of January 1999, a Friday. The data sheet's week begins with Sunday, 1.
const YEAR: u64 = 1999;
const WEEKDAY: u64 = 6;

mod register {
    pub const SECONDS: u8 = 0;
    pub const MINUTES: u8 = 2;
    pub const HOURS: u8 = 4;
    pub const WEEKDAY: u8 = 6;
    pub const DAY: u8 = 7;
    pub const MONTH: u8 = 8;
    pub const YEAR: u8 = 9;
    pub const A: u8 = 10;
    pub const B: u8 = 11;
    pub const C: u8 = 12;
    pub const D: u8 = 13;
}

/// Register A: an update is in progress. An update takes 1984 us; the bit is set 244 us before it begins.
const UPDATING: u8 = 0x80;
const UPDATE_US: u64 = 244 + 1984;
/// Register A after power-on: the time base of 32768 Hz, a rate of 1024 Hz.
const RATE: u8 = 0x26;
/// Register B: binary numbers instead of BCD; 24 hours.
const BINARY: u8 = 4;
const HOURS_24: u8 = 2;
/// Register D: the contents are valid.
const VALID: u8 = 0x80;

const DAY_SECONDS: u64 = 24 * 60 * 60;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Rtc {
    /// Core cycles in a second.
    clock: u64,
    index: u8,
    bytes: Vec<u8>,
}

impl Rtc {
    pub fn new(clock: u64) -> Self {
        let mut bytes = vec![0; SIZE];
        bytes[usize::from(register::A)] = RATE;
        bytes[usize::from(register::B)] = HOURS_24;
        Rtc {
            clock,
            index: 0,
            bytes,
        }
    }

    fn is_time(index: u8) -> bool {
        matches!(
            index,
            register::SECONDS | register::MINUTES | register::HOURS | register::WEEKDAY
                ..=register::YEAR
        )
    }

    /// A register of the time, as this format (binary or BCD) has it.
    fn time(&self, index: u8, now: u64) -> u8 {
        let seconds = now / self.clock;
        let days = seconds / DAY_SECONDS;
        let (year, month, day) = date(days);
        let part = match index {
            register::SECONDS => seconds % 60,
            register::MINUTES => seconds / 60 % 60,
            register::HOURS => seconds / 3600 % 24,
            register::WEEKDAY => (WEEKDAY - 1 + days) % 7 + 1,
            register::DAY => day,
            register::MONTH => month,
            _ => year % 100,
        } as u8;
        if self.bytes[usize::from(register::B)] & BINARY != 0 {
            part
        } else {
            (part / 10) << 4 | (part % 10)
        }
    }

    fn is_updating(&self, now: u64) -> bool {
        let left = self.clock - now % self.clock;
        left <= self.clock * UPDATE_US / 1_000_000
    }
}

/// Year, month and day so many days after power-on.
fn date(days: u64) -> (u64, u64, u64) {
    let leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let (mut year, mut left) = (YEAR, days);
    loop {
        let length = if leap(year) { 366 } else { 365 };
        if left < length {
            break;
        }
        left -= length;
        year += 1;
    }
    let february = if leap(year) { 29 } else { 28 };
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if left < length {
            break;
        }
        left -= length;
        month += 1;
    }
    (year, month, left + 1)
}

impl Device for Rtc {
    fn widths(&self) -> &'static [u32] {
        &[1]
    }

    fn read(&mut self, at: At, _: &mut Console) -> Result<u64, &'static str> {
        let now = at.now.cycles;
        let stored = self.bytes[usize::from(self.index) % SIZE];
        let byte = match self.index {
            _ if at.offset == 0 => 0xff,
            index if Self::is_time(index) => self.time(index, now),
            register::A if self.is_updating(now) => stored | UPDATING,
            register::C => 0,
            register::D => VALID,
            _ => stored,
        };
        Ok(byte.into())
    }

    fn write(
        &mut self,
        at: At,
        value: u64,
        _: &mut Console,
    ) -> Result<Option<Effect>, &'static str> {
        let byte = value as u8;
        if at.offset == 0 {
            // The uppermost bit is not the clock's: on a PC it masks the NMI.
            self.index = byte & 0x7f;
        } else if !Self::is_time(self.index) {
            let kept = if self.index == register::A {
                !UPDATING
            } else {
                0xff
            };
            self.bytes[usize::from(self.index) % SIZE] = byte & kept;
        }
        Ok(None)
    }

    fn save(&self) -> Vec<u8> {
        saved(self)
    }

    fn restore(&mut self, state: &[u8]) -> bool {
        let clock = self.clock;
        restored(self, state, |rtc: &Rtc| {
            rtc.clock == clock && rtc.bytes.len() == SIZE
        })
    }
}
