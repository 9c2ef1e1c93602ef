//! The core-local interruptor of RISC-V boards (SiFive FU540-C000 manual, chapter 9): for each processor a software
//! interrupt and a comparison with mtime, which all have in common. The lines of the PLIC and of interrupt files
//! pass through it, so that it knows all that interrupts a processor.

use serde::{Deserialize, Serialize};

use super::{At, Console, Device, Effect, restored, saved};

/// Bits of mip.
const MACHINE_SOFTWARE: u64 = 1 << 3;
const MACHINE_TIMER: u64 = 1 << 7;
const MACHINE_EXTERNAL: u64 = 1 << 11;
const SUPERVISOR_EXTERNAL: u64 = 1 << 9;

const COMPARISONS: u32 = 0x4000;
const TIME: u32 = 0xbff8;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Clint {
    software: Vec<bool>,
    comparisons: Vec<u64>,
    /// Lines of the PLIC: for each processor that of machine mode, then that of supervisor mode. From 16 on those of
    /// interrupt files.
    external: u32,
    /// What each processor that sleeps waits for: bits of mie.
    waits: Vec<u64>,
    /// The cycle of the last poll.
    polled: u64,
    /// Core cycles and ticks of mtime in a second.
    clock: u64,
    timebase: u64,
}

impl Clint {
    pub fn new(processors: u8, clock: u64, timebase: u64) -> Self {
        let count = usize::from(processors);
        Clint {
            software: vec![false; count],
            comparisons: vec![u64::MAX; count],
            external: 0,
            waits: vec![0; count],
            polled: 0,
            clock,
            timebase,
        }
    }

    fn time(&self, cycles: u64) -> u64 {
        (u128::from(cycles) * u128::from(self.timebase) / u128::from(self.clock)) as u64
    }

    /// The first cycle in which mtime is `ticks`.
    fn cycle_of(&self, ticks: u64) -> u64 {
        let cycles = (u128::from(ticks) * u128::from(self.clock)).div_ceil(self.timebase.into());
        u64::try_from(cycles).unwrap_or(u64::MAX)
    }

    fn register(&mut self, offset: u32) -> Option<&mut u64> {
        let number = offset.checked_sub(COMPARISONS)? / 8;
        self.comparisons.get_mut(number as usize)
    }
}

impl Device for Clint {
    fn widths(&self) -> &'static [u32] {
        &[4, 8]
    }

    fn read(&mut self, at: At, _: &mut Console) -> Result<u64, &'static str> {
        let (offset, shift) = (at.offset & !7, 8 * (at.offset & 4));
        let value = if at.offset < COMPARISONS {
            return Ok(match self.software.get(at.offset as usize / 4) {
                Some(&software) if at.size == 4 => software.into(),
                _ => 0,
            });
        } else if offset == TIME {
            self.time(at.now.cycles)
        } else {
            self.register(offset).map_or(0, |register| *register)
        };
        Ok(if at.size == 8 {
            value
        } else {
            value >> shift & 0xffff_ffff
        })
    }

    fn write(
        &mut self,
        at: At,
        value: u64,
        _: &mut Console,
    ) -> Result<Option<Effect>, &'static str> {
        if at.offset < COMPARISONS {
            if let Some(software) = self.software.get_mut(at.offset as usize / 4) {
                *software = value & 1 != 0;
            }
            return Ok(None);
        }
        // mtime is the machine's time, and cannot be written.
        let shift = 8 * (at.offset & 4);
        if let Some(register) = self.register(at.offset & !7) {
            *register = if at.size == 8 {
                value
            } else {
                *register & !(0xffff_ffff << shift) | (value & 0xffff_ffff) << shift
            };
        }
        Ok(None)
    }

    fn set_input(&mut self, line: u8, high: bool) {
        self.external = self.external & !(1 << line) | u32::from(high) << line;
    }

    fn lines(&self, processor: u8, now: u64) -> u64 {
        let number = usize::from(processor);
        let external = self.external | self.external >> 16;
        let mut lines = 0;
        if self.software.get(number).is_some_and(|&software| software) {
            lines |= MACHINE_SOFTWARE;
        }
        if self
            .comparisons
            .get(number)
            .is_some_and(|&ticks| ticks <= self.time(now))
        {
            lines |= MACHINE_TIMER;
        }
        if external >> (2 * number) & 1 != 0 {
            lines |= MACHINE_EXTERNAL;
        }
        if external >> (2 * number + 1) & 1 != 0 {
            lines |= SUPERVISOR_EXTERNAL;
        }
        lines
    }

    fn wait_for(&mut self, processor: u8, lines: u64) {
        if let Some(waits) = self.waits.get_mut(usize::from(processor)) {
            *waits = lines;
        }
    }

    fn interrupts(&self, processor: u8) -> bool {
        let waits = self.waits.get(usize::from(processor)).copied().unwrap_or(0);
        self.lines(processor, self.polled) & waits != 0
    }

    fn asks(&self, processor: u8) -> bool {
        let number = usize::from(processor);
        self.software.get(number) == Some(&true) || self.external >> (16 + 2 * number) & 3 != 0
    }

    fn deadline(&self, now: u64, _: &Console) -> Option<u64> {
        let next = self.comparisons.iter().map(|&ticks| self.cycle_of(ticks));
        next.filter(|&cycle| cycle > now && cycle != u64::MAX).min()
    }

    fn poll(&mut self, now: u64, _: &mut Console) {
        self.polled = now;
    }

    fn save(&self) -> Vec<u8> {
        saved(self)
    }

    fn restore(&mut self, state: &[u8]) -> bool {
        let fresh = (self.software.len(), self.clock, self.timebase);
        restored(self, state, |state: &Self| {
            (state.software.len(), state.clock, state.timebase) == fresh
                && state.comparisons.len() == fresh.0
                && state.waits.len() == fresh.0
        })
    }
}
