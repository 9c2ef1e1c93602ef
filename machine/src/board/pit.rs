//! 8254 interval timer of an ISA bus (Intel 82C54 data sheet): three counters at 1.19 MHz, of which counter 0 drives an
//! interrupt request. Counting in BCD is not modelled, nor are the gates: every counter counts.

use serde::{Deserialize, Serialize};

use super::{At, Console, Device, Effect, restored, saved};

/// Clock of the counters in Hz: 14.31818 MHz divided by 12, as on a PC.
const FREQUENCY: u128 = 1_193_182;

const COUNTERS: usize = 3;
/// The window of a PC's port 0x61; window 0 has the counters and the control word.
pub const SPEAKER: u8 = 1;
/// Port 0x61 keeps the gate of counter 2 and the speaker's bit; bit 4 changes with every refresh of memory, each 18
/// ticks; bit 5 is the output of counter 2.
const KEPT: u8 = 3;
const REFRESH_TICKS: u64 = 18;

/// The port of the control word, counted from the device's first.
const CONTROL: u32 = 3;

/// Bits 4 and 5 of the control word: latch the count, or which of its bytes the port takes (3: both, low first).
const LATCH: u8 = 0;
const LOW: u8 = 1;
const HIGH: u8 = 2;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Counter {
    mode: u8,
    access: u8,
    /// The count that it begins with: 0 is 65536.
    reload: u16,
    /// The next byte is the high one.
    high_next: bool,
    /// A low byte that waits for its high one.
    low: u8,
    latched: Option<u16>,
    /// The tick at which it began; none before a count is written.
    began: Option<u64>,
}

impl Counter {
    fn reload(&self) -> u64 {
        match self.reload {
            0 => 0x1_0000,
            count => count.into(),
        }
    }

    /// Modes 2 and 3 begin again at the end of each period; the others count once.
    fn is_periodic(&self) -> bool {
        matches!(self.mode, 2 | 3)
    }

    /// The count at a tick.
    fn value(&self, tick: u64) -> u16 {
        let Some(began) = self.began else { return 0 };
        let passed = tick.saturating_sub(began);
        let count = match self.mode {
            2 => self.reload() - passed % self.reload(),
            3 => self.reload() - 2 * passed % self.reload(),
            _ => self.reload().wrapping_sub(passed),
        };
        count as u16
    }

    /// The output's level at a tick, and the tick at which it changes next.
    fn output(&self, tick: u64) -> (bool, Option<u64>) {
        // Before a count is written, the output has the mode's first level.
        let Some(began) = self.began else {
            return (self.is_periodic(), None);
        };
        let (passed, reload) = (tick.saturating_sub(began), self.reload());
        if !self.is_periodic() {
            let high = passed >= reload;
            return (high, (!high).then_some(began + reload));
        }
        // Low for the last tick of the period, or for its second half.
        let falls = if self.mode == 2 {
            reload - 1
        } else {
            reload.div_ceil(2)
        };
        let begin = tick - passed % reload;
        let high = passed % reload < falls;
        (high, Some(begin + if high { falls } else { reload }))
    }

    fn read(&mut self, tick: u64) -> u8 {
        let count = self.latched.unwrap_or_else(|| self.value(tick));
        let high = match self.access {
            LOW => false,
            HIGH => true,
            _ => {
                self.high_next = !self.high_next;
                !self.high_next
            }
        };
        if high || self.access == LOW {
            self.latched = None;
        }
        if high {
            (count >> 8) as u8
        } else {
            count as u8
        }
    }

    fn write(&mut self, byte: u8, tick: u64) {
        let wide = u16::from(byte);
        self.reload = match self.access {
            LOW => wide,
            HIGH => wide << 8,
            _ if self.high_next => wide << 8 | u16::from(self.low),
            _ => {
                (self.low, self.high_next) = (byte, true);
                return;
            }
        };
        self.high_next = false;
        self.began = Some(tick);
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Pit {
    /// Core cycles in a second.
    clock: u64,
    counters: [Counter; COUNTERS],
    /// Port 0x61, as written.
    speaker: u8,
    /// Counter 0's output, as of the last poll or access.
    output: bool,
}

impl Pit {
    pub fn new(clock: u64) -> Self {
        Pit {
            clock,
            counters: Default::default(),
            speaker: 0,
            output: false,
        }
    }

    fn tick(&self, cycle: u64) -> u64 {
        (u128::from(cycle) * FREQUENCY / u128::from(self.clock)) as u64
    }

    /// The first cycle of a tick.
    fn cycle(&self, tick: u64) -> u64 {
        (u128::from(tick) * u128::from(self.clock)).div_ceil(FREQUENCY) as u64
    }

    fn control(&mut self, word: u8, tick: u64) {
        let Some(counter) = self.counters.get_mut(usize::from(word >> 6)) else {
            // The read-back command: its bits 1 to 3 choose counters whose counts are latched if bit 5 is clear.
            for (number, counter) in self.counters.iter_mut().enumerate() {
                if word & 0x20 == 0 && word & 2 << number != 0 {
                    counter.latched.get_or_insert(counter.value(tick));
                }
            }
            return;
        };
        let access = word >> 4 & 3;
        if access == LATCH {
            let value = counter.value(tick);
            counter.latched.get_or_insert(value);
            return;
        }
        // Modes 6 and 7 are 2 and 3.
        let mode = word >> 1 & 7;
        *counter = Counter {
            mode: if mode >= 6 { mode & 3 } else { mode },
            access,
            ..Counter::default()
        };
    }
}

impl Device for Pit {
    fn widths(&self) -> &'static [u32] {
        &[1]
    }

    fn read(&mut self, at: At, _: &mut Console) -> Result<u64, &'static str> {
        let tick = self.tick(at.now.cycles);
        if at.window == SPEAKER {
            let refresh = ((tick / REFRESH_TICKS) & 1) as u8;
            let output = u8::from(self.counters[2].output(tick).0);
            return Ok((self.speaker | refresh << 4 | output << 5).into());
        }
        // The control word cannot be read.
        let counter = self.counters.get_mut(at.offset as usize);
        Ok(counter.map_or(0, |counter| counter.read(tick)).into())
    }

    fn write(
        &mut self,
        at: At,
        value: u64,
        _: &mut Console,
    ) -> Result<Option<Effect>, &'static str> {
        let (tick, byte) = (self.tick(at.now.cycles), value as u8);
        if at.window == SPEAKER {
            self.speaker = byte & KEPT;
            return Ok(None);
        }
        if at.offset == CONTROL {
            self.control(byte, tick);
        } else if let Some(counter) = self.counters.get_mut(at.offset as usize) {
            counter.write(byte, tick);
        }
        self.output = self.counters[0].output(tick).0;
        Ok(None)
    }

    fn interrupt(&self) -> bool {
        self.output
    }

    fn deadline(&self, now: u64, _: &Console) -> Option<u64> {
        let (level, next) = self.counters[0].output(self.tick(now));
        if level != self.output {
            return Some(now + 1);
        }
        next.map(|tick| self.cycle(tick).max(now + 1))
    }

    fn poll(&mut self, now: u64, _: &mut Console) {
        self.output = self.counters[0].output(self.tick(now)).0;
    }

    fn save(&self) -> Vec<u8> {
        saved(self)
    }

    fn restore(&mut self, state: &[u8]) -> bool {
        let clock = self.clock;
        restored(self, state, |pit: &Pit| pit.clock == clock)
    }
}
