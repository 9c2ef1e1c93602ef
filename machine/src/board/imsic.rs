//! The incoming message-signalled interrupt controllers of RISC-V processors (RISC-V Advanced Interrupt Architecture
//! 1.0, chapter 3). Each processor has an interrupt file for machine mode and one for supervisor mode. A store to the
//! page of a file makes one of its interrupts pending; the processor sees the rest through CSRs. What is wired reaches
//! the files of supervisor mode through an [`Aplic`].

use serde::{Deserialize, Serialize};

use super::aplic::Aplic;
use super::{At, Console, Device, Effect, restored, saved};

/// Interrupts of a file, from 1 on.
pub(super) const IDENTITIES: u32 = 63;

/// Registers of a file by the numbers that `miselect` and `siselect` have for them; PENDING and ENABLED are halves of
/// 32 bits. TOP stands for `mtopei` and `stopei`.
pub(crate) mod register {
    pub(crate) const DELIVERY: u32 = 0x70;
    pub(crate) const THRESHOLD: u32 = 0x72;
    pub(crate) const TOP: u32 = 0x76;
    pub(crate) const PENDING: u32 = 0x80;
    pub(crate) const ENABLED: u32 = 0xc0;
}
use register::{DELIVERY, ENABLED, PENDING, THRESHOLD, TOP};

/// The number under which [`super::Board::read_control_register`] knows a register of a processor's file.
pub(crate) fn number(processor: u8, supervisor: bool, register: u32) -> u32 {
    u32::from(2 * processor + u8::from(supervisor)) << 8 | register
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct File {
    delivers: bool,
    /// Interrupts from this one on are held back; 0: none.
    threshold: u8,
    pending: u64,
    enabled: u64,
}

impl File {
    /// The interrupt that goes first, the lowest one; 0 for none.
    fn top(&self) -> u32 {
        let heard = match self.threshold {
            0 => !0,
            least => (1 << least) - 1,
        };
        let asking = self.pending & self.enabled & heard;
        if asking == 0 {
            0
        } else {
            asking.trailing_zeros()
        }
    }
}

/// Puts a half of 32 bits into a register. There is no interrupt 0.
fn put(whole: &mut u64, high: u32, value: u32) {
    let shift = 32 * high;
    *whole = (*whole & !(0xffff_ffff << shift) | u64::from(value) << shift) & !1;
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Imsic {
    /// For each processor that of machine mode, then that of supervisor mode.
    files: Vec<File>,
    wired: Aplic,
}

impl Imsic {
    pub fn new(processors: u8) -> Self {
        Imsic {
            files: vec![File::default(); 2 * usize::from(processors)],
            wired: Aplic::default(),
        }
    }

    /// An interrupt of a file becomes pending, if there is such a file and such an interrupt.
    fn ask(&mut self, file: u32, interrupt: u32) {
        if let Some(file) = self.files.get_mut(file as usize)
            && (1..=IDENTITIES).contains(&interrupt)
        {
            file.pending |= 1 << interrupt;
        }
    }

    fn send(&mut self) {
        for (processor, interrupt) in self.wired.messages() {
            self.ask(processor.saturating_mul(2).saturating_add(1), interrupt);
        }
    }
}

/// The window of what is wired; 0 and 1 have the pages of machine and of supervisor mode.
pub(super) const WIRED: u8 = 2;

impl Device for Imsic {
    fn widths(&self) -> &'static [u32] {
        &[4]
    }

    fn read(&mut self, at: At, _: &mut Console) -> Result<u64, &'static str> {
        let wired = at.window == WIRED;
        Ok(if wired {
            self.wired.read(at.offset).into()
        } else {
            0
        })
    }

    fn write(
        &mut self,
        at: At,
        value: u64,
        _: &mut Console,
    ) -> Result<Option<Effect>, &'static str> {
        if at.window == WIRED {
            self.wired.write(at.offset, value as u32);
            self.send();
        } else if at.offset & 0xfff == 0 {
            self.ask(2 * (at.offset >> 12) + u32::from(at.window), value as u32);
        }
        Ok(None)
    }

    fn set_input(&mut self, line: u8, high: bool) {
        self.wired.set_input(u32::from(line), high);
        self.send();
    }

    fn read_control_register(&mut self, number: u32) -> Option<u32> {
        let file = self.files.get((number >> 8) as usize)?;
        let half = |whole: u64| (whole >> (32 * (number & 1))) as u32;
        Some(match number & 0xff {
            DELIVERY => file.delivers.into(),
            THRESHOLD => file.threshold.into(),
            TOP => file.top() << 16 | file.top(),
            register if register & !1 == PENDING => half(file.pending),
            register if register & !1 == ENABLED => half(file.enabled),
            _ => 0,
        })
    }

    fn write_control_register(&mut self, number: u32, value: u32) -> bool {
        let Some(file) = self.files.get_mut((number >> 8) as usize) else {
            return false;
        };
        match number & 0xff {
            DELIVERY => file.delivers = value == 1,
            THRESHOLD => file.threshold = (value & IDENTITIES) as u8,
            // The interrupt that goes first is taken.
            TOP => file.pending &= !(1 << file.top()),
            register if register & !1 == PENDING => put(&mut file.pending, number & 1, value),
            register if register & !1 == ENABLED => put(&mut file.enabled, number & 1, value),
            _ => {}
        }
        true
    }

    fn drives(&self, line: u8) -> bool {
        let file = self.files.get(usize::from(line & 15));
        file.is_some_and(|file| file.delivers && file.top() != 0)
    }

    fn save(&self) -> Vec<u8> {
        saved(self)
    }

    fn restore(&mut self, state: &[u8]) -> bool {
        let count = self.files.len();
        restored(self, state, |state: &Self| {
            let good = |file: &File| (file.pending | file.enabled) & 1 == 0 && file.threshold < 64;
            state.files.len() == count && state.files.iter().all(good) && state.wired.fits()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::Instant;

    #[test]
    fn a_store_asks_the_file_of_its_page_and_the_lowest_interrupt_goes_first() {
        let (mut imsic, mut console) = (Imsic::new(2), Console::memory());
        let mut store = |imsic: &mut Imsic, offset, value| {
            let at = At {
                window: 1,
                offset,
                size: 4,
                now: Instant::default(),
            };
            imsic.write(at, value, &mut console).unwrap();
        };
        let of = |register| number(1, true, register);
        for (register, value) in [(DELIVERY, 1), (ENABLED, 1 << 5), (ENABLED + 1, 1 << 8)] {
            assert!(imsic.write_control_register(of(register), value));
        }
        // There are no interrupts 0 and 64, and 6 is not enabled.
        for value in [0, 64, 6, 5, 40] {
            assert_eq!(imsic.drives(3), value == 40);
            store(&mut imsic, 0x1000, value);
        }
        assert!(imsic.drives(3) && !imsic.drives(2) && !imsic.drives(1));
        for top in [5, 40, 0] {
            assert_eq!(imsic.read_control_register(of(TOP)), Some(top << 16 | top));
            imsic.write_control_register(of(TOP), 0);
        }
        assert!(!imsic.drives(3));
        assert_eq!(imsic.read_control_register(of(PENDING)), Some(1 << 6));
        store(&mut imsic, 0x1000, 40);
        imsic.write_control_register(of(THRESHOLD), 40);
        assert!(!imsic.drives(3), "the threshold holds it back");
        assert!(!imsic.write_control_register(number(2, false, DELIVERY), 1));
    }
}
