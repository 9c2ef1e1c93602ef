//! Wired interrupts that become stores: the platform-level controller of RISC-V's Advanced Interrupt Architecture 1.0
//! (chapter 4), with one domain, of supervisor mode, that does nothing but send messages.

use serde::{Deserialize, Serialize};

/// Sources are numbered from 1 on.
pub(super) const SOURCES: u32 = 31;

const DOMAIN: u32 = 0x0000;
const FIRST_MODE: u32 = 4;
const LAST_MODE: u32 = 4 * SOURCES;
const SET_PENDING: u32 = 0x1c00;
const SET_PENDING_OF: u32 = 0x1cdc;
const CLEAR_PENDING: u32 = 0x1d00;
const CLEAR_PENDING_OF: u32 = 0x1ddc;
const ENABLE: u32 = 0x1e00;
const ENABLE_OF: u32 = 0x1edc;
const DISABLE: u32 = 0x1f00;
const DISABLE_OF: u32 = 0x1fdc;
/// The same in the order of bytes of RISC-V.
const SET_PENDING_OF_LITTLE: u32 = 0x2000;
const TARGETS: u32 = 0x3000;
const FIRST_TARGET: u32 = TARGETS + 4;
const LAST_TARGET: u32 = TARGETS + 4 * SOURCES;

/// Bits of domaincfg: interrupts are sent; by messages, always.
const ON: u32 = 1 << 8;
const MESSAGES: u32 = 0x8000_0004;

/// Modes of a source: without a wire, an edge, or a level.
mod mode {
    pub const DETACHED: u8 = 1;
    pub const RISE: u8 = 4;
    pub const FALL: u8 = 5;
    pub const HIGH: u8 = 6;
    pub const LOW: u8 = 7;
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Aplic {
    on: bool,
    modes: [u8; 32],
    targets: [u32; 32],
    inputs: u32,
    pending: u32,
    enabled: u32,
}

impl Aplic {
    /// Does this source ask, as its mode has it?
    fn asks(&self, source: u32) -> bool {
        let high = self.inputs >> source & 1 != 0;
        match self.modes[source as usize] {
            mode::RISE | mode::HIGH => high,
            mode::FALL | mode::LOW => !high,
            _ => false,
        }
    }

    fn is_level(&self, source: u32) -> bool {
        matches!(self.modes[source as usize], mode::HIGH | mode::LOW)
    }

    /// Software makes a source pending; a level that is not there cannot be.
    fn set_pending(&mut self, source: u32) {
        let active = self.modes[source as usize] != 0;
        if active && (!self.is_level(source) || self.asks(source)) {
            self.pending |= 1 << source;
        }
    }

    /// The wire of a source, which the board has wired, changes.
    pub fn set_input(&mut self, source: u32, high: bool) {
        let asked = self.asks(source);
        self.inputs = self.inputs & !(1 << source) | u32::from(high) << source;
        if self.asks(source) && !asked {
            self.pending |= 1 << source;
        } else if self.is_level(source) && !self.asks(source) {
            self.pending &= !(1 << source);
        }
    }

    /// The messages that are due: processors, and the numbers of their interrupts.
    pub fn messages(&mut self) -> Vec<(u32, u32)> {
        let due = if self.on {
            self.pending & self.enabled
        } else {
            0
        };
        self.pending &= !due;
        let sources = (1..=SOURCES).filter(|source| due >> source & 1 != 0);
        let targets = sources.map(|source| self.targets[source as usize]);
        targets.map(|word| (word >> 18, word & 0x7ff)).collect()
    }

    pub fn read(&self, offset: u32) -> u32 {
        match offset {
            DOMAIN => MESSAGES | if self.on { ON } else { 0 },
            FIRST_MODE..=LAST_MODE => self.modes[offset as usize / 4].into(),
            SET_PENDING => self.pending,
            // The wires, as their modes have them.
            CLEAR_PENDING => {
                let asking = (1..=SOURCES).filter(|&source| self.asks(source));
                asking.fold(0, |all, source| all | 1 << source)
            }
            ENABLE => self.enabled,
            FIRST_TARGET..=LAST_TARGET => self.targets[(offset - TARGETS) as usize / 4],
            _ => 0,
        }
    }

    pub fn write(&mut self, offset: u32, value: u32) {
        // Source 0 is none, and so is one beyond the last.
        let named = value.min(SOURCES + 1);
        let bit = 1_u32.checked_shl(named).unwrap_or(0) & !1;
        match offset {
            DOMAIN => self.on = value & ON != 0,
            FIRST_MODE..=LAST_MODE => {
                let source = offset / 4;
                let known = [
                    mode::DETACHED,
                    mode::RISE,
                    mode::FALL,
                    mode::HIGH,
                    mode::LOW,
                ];
                let mode = known.into_iter().find(|&mode| u32::from(mode) == value);
                self.modes[source as usize] = mode.unwrap_or(0);
                if mode.is_none() {
                    self.pending &= !(1 << source);
                    self.enabled &= !(1 << source);
                }
            }
            SET_PENDING => {
                let sources = (1..=SOURCES).filter(|source| value >> source & 1 != 0);
                sources.for_each(|source| self.set_pending(source));
            }
            SET_PENDING_OF | SET_PENDING_OF_LITTLE if bit != 0 => self.set_pending(named),
            CLEAR_PENDING => self.pending &= !value,
            CLEAR_PENDING_OF => self.pending &= !bit,
            ENABLE => self.enable(value),
            ENABLE_OF => self.enable(bit),
            DISABLE => self.enabled &= !value,
            DISABLE_OF => self.enabled &= !bit,
            FIRST_TARGET..=LAST_TARGET => {
                self.targets[(offset - TARGETS) as usize / 4] = value;
            }
            _ => {}
        }
    }

    /// Sources without a mode cannot be enabled.
    fn enable(&mut self, bits: u32) {
        let active = (1..=SOURCES).filter(|&source| self.modes[source as usize] != 0);
        self.enabled |= bits & active.fold(0, |all, source| all | 1 << source);
    }

    /// Can a controller be in this state?
    pub fn fits(&self) -> bool {
        (self.pending | self.enabled) & 1 == 0 && self.modes.iter().all(|&mode| mode <= mode::LOW)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_sent_once_and_again_when_software_asks_while_it_is_there() {
        let mut aplic = Aplic::default();
        aplic.write(DOMAIN, ON);
        aplic.write(4 * 10, mode::HIGH.into());
        aplic.write(TARGETS + 4 * 10, 1 << 18 | 7);
        aplic.set_input(10, true);
        assert_eq!(aplic.messages(), [], "it is not enabled");
        aplic.write(ENABLE_OF, 10);
        assert_eq!(aplic.messages(), [(1, 7)]);
        assert_eq!(aplic.messages(), []);
        aplic.write(SET_PENDING_OF_LITTLE, 10);
        assert_eq!(aplic.messages(), [(1, 7)]);
        aplic.set_input(10, false);
        aplic.write(SET_PENDING_OF_LITTLE, 10);
        assert_eq!(aplic.messages(), []);
        assert_eq!(
            (aplic.read(DOMAIN), aplic.read(ENABLE)),
            (MESSAGES | ON, 1 << 10)
        );
    }

    #[test]
    fn an_edge_is_kept_and_sources_that_are_none_do_nothing() {
        let mut aplic = Aplic::default();
        aplic.write(DOMAIN, ON);
        aplic.write(4 * 3, mode::FALL.into());
        aplic.write(TARGETS + 4 * 3, 5);
        for source in [3, 0, 32, u32::MAX] {
            aplic.write(ENABLE_OF, source);
            aplic.write(SET_PENDING_OF, if source == 3 { 0 } else { source });
        }
        assert_eq!((aplic.read(ENABLE), aplic.messages()), (1 << 3, vec![]));
        aplic.set_input(3, true);
        aplic.set_input(3, false);
        aplic.set_input(3, true);
        assert_eq!(aplic.messages(), [(0, 5)]);
        aplic.write(4 * 3, 0);
        assert_eq!(aplic.read(ENABLE), 0);
    }
}
