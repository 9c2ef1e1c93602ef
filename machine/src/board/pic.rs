//! A pair of 8259A interrupt controllers (Intel 8259A data sheet), slave on input 2 of the master.

use serde::{Deserialize, Serialize};

use super::{At, Console, Device, Effect, restored, saved};

/// Address windows of a pair: the master's ports, the slave's ports, the edge/level control registers of the ISA
/// bridge, and the address that is read to acknowledge an interrupt.
pub const MASTER: u8 = 0;
pub const SLAVE: u8 = 1;
pub const EDGE_LEVEL: u8 = 2;
pub const ACKNOWLEDGE: u8 = 3;

const CASCADE: u8 = 2;
/// The input that a controller names when it is asked and has no request.
const SPURIOUS: u8 = 7;

/// Which initialisation word port 1 expects next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Expect {
    Mask,
    Vector,
    Cascade,
    Mode,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Pic {
    /// Levels of the inputs.
    lines: u8,
    /// Interrupt request register.
    request: u8,
    /// In-service register.
    service: u8,
    mask: u8,
    vector: u8,
    expect: Expect,
    single: bool,
    mode_word: bool,
    /// All inputs level-triggered (ICW1 LTIM).
    level: bool,
    /// Inputs that are level-triggered (ELCR of the ISA bridge).
    edge_level: u8,
    auto_end: bool,
    rotate_on_auto_end: bool,
    special_mask: bool,
    read_service: bool,
    poll: bool,
    /// Input of lowest priority.
    lowest: u8,
}

impl Pic {
    fn new() -> Self {
        Pic {
            lines: 0,
            request: 0,
            service: 0,
            mask: 0xff,
            vector: 0,
            expect: Expect::Mask,
            single: false,
            mode_word: false,
            level: false,
            edge_level: 0,
            auto_end: false,
            rotate_on_auto_end: false,
            special_mask: false,
            read_service: false,
            poll: false,
            lowest: 7,
        }
    }

    /// True if a controller can be in this state. A snapshot is checked by this before use.
    fn fits(&self) -> bool {
        self.lowest < 8
    }

    fn set(&mut self, input: u8, high: bool) {
        let bit = 1 << input;
        let was = self.lines & bit != 0;
        if high {
            self.lines |= bit;
            if !was || self.is_level(bit) {
                self.request |= bit;
            }
        } else {
            self.lines &= !bit;
            // An edge that goes away before it is acknowledged is lost, on the 8259A too.
            self.request &= !bit;
        }
    }

    fn is_level(&self, bit: u8) -> bool {
        self.level || self.edge_level & bit != 0
    }

    /// Highest-priority request that may interrupt what is in service.
    fn pending(&self) -> Option<u8> {
        for step in 1..=8 {
            let input = (self.lowest + step) & 7;
            let bit = 1 << input;
            if self.service & bit != 0 && !self.special_mask {
                return None;
            }
            if self.request & !self.mask & !self.service & bit != 0 {
                return Some(input);
            }
        }
        None
    }

    fn accept(&mut self, input: u8) {
        let bit = 1 << input;
        if !self.is_level(bit) {
            self.request &= !bit;
        }
        if self.auto_end {
            if self.rotate_on_auto_end {
                self.lowest = input;
            }
        } else {
            self.service |= bit;
        }
    }

    fn highest_in_service(&self) -> Option<u8> {
        (1..=8)
            .map(|step| (self.lowest + step) & 7)
            .find(|&input| self.service & 1 << input != 0)
    }

    fn read(&mut self, port: u32) -> u8 {
        if self.poll {
            self.poll = false;
            return match self.pending() {
                Some(input) => {
                    self.accept(input);
                    0x80 | input
                }
                // The data sheet says nothing of the input then. Linux 2.6 expects what an INTA cycle gives.
                None => SPURIOUS,
            };
        }
        match (port, self.read_service) {
            (0, true) => self.service,
            (0, false) => self.request,
            _ => self.mask,
        }
    }

    fn write(&mut self, port: u32, value: u8) {
        if port == 0 {
            if value & 0x10 != 0 {
                self.initialize(value);
            } else if value & 0x08 != 0 {
                self.operate(value);
            } else {
                self.end_of_interrupt(value);
            }
            return;
        }
        match self.expect {
            Expect::Mask => self.mask = value,
            Expect::Vector => {
                self.vector = value & 0xf8;
                self.expect = match (self.single, self.mode_word) {
                    (false, _) => Expect::Cascade,
                    (true, true) => Expect::Mode,
                    (true, false) => Expect::Mask,
                };
            }
            // The wiring of the cascade is fixed on this board.
            Expect::Cascade => {
                self.expect = if self.mode_word {
                    Expect::Mode
                } else {
                    Expect::Mask
                }
            }
            Expect::Mode => {
                self.auto_end = value & 2 != 0;
                self.expect = Expect::Mask;
            }
        }
    }

    /// ICW1
    fn initialize(&mut self, value: u8) {
        *self = Pic {
            lines: self.lines,
            edge_level: self.edge_level,
            mask: 0,
            expect: Expect::Vector,
            single: value & 2 != 0,
            mode_word: value & 1 != 0,
            level: value & 8 != 0,
            ..Pic::new()
        };
        self.request = self.lines & if self.level { 0xff } else { self.edge_level };
    }

    /// OCW3
    fn operate(&mut self, value: u8) {
        self.poll = value & 4 != 0;
        if value & 2 != 0 {
            self.read_service = value & 1 != 0;
        }
        if value & 0x40 != 0 {
            self.special_mask = value & 0x20 != 0;
        }
    }

    /// OCW2
    fn end_of_interrupt(&mut self, value: u8) {
        let named = value & 7;
        match value >> 5 {
            0 => self.rotate_on_auto_end = false,
            4 => self.rotate_on_auto_end = true,
            1 | 5 => {
                if let Some(input) = self.highest_in_service() {
                    self.service &= !(1 << input);
                    if value >> 5 == 5 {
                        self.lowest = input;
                    }
                }
            }
            3 => self.service &= !(1 << named),
            7 => {
                self.service &= !(1 << named);
                self.lowest = named;
            }
            6 => self.lowest = named,
            _ => {}
        }
    }
}

/// Master and slave, as the ISA bus of a PReP machine has them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PicPair {
    master: Pic,
    slave: Pic,
}

impl PicPair {
    pub fn new() -> Self {
        PicPair {
            master: Pic::new(),
            slave: Pic::new(),
        }
    }

    /// Level of ISA interrupt request 0 to 15.
    fn set_request(&mut self, irq: u8, high: bool) {
        if irq < 8 {
            self.master.set(irq, high);
        } else {
            self.slave.set(irq - 8, high);
            self.cascade();
        }
    }

    /// An INTA cycle: the vector of the highest request, or the spurious vector (input 7).
    fn acknowledge(&mut self) -> u8 {
        let Some(input) = self.master.pending() else {
            return self.master.vector | SPURIOUS;
        };
        self.master.accept(input);
        if input != CASCADE {
            return self.master.vector | input;
        }
        let vector = match self.slave.pending() {
            Some(input) => {
                self.slave.accept(input);
                self.slave.vector | input
            }
            None => self.slave.vector | SPURIOUS,
        };
        self.cascade();
        vector
    }

    fn get(&mut self, slave: bool, port: u32) -> u8 {
        let value = if slave {
            self.slave.read(port)
        } else {
            self.master.read(port)
        };
        self.cascade();
        value
    }

    fn put(&mut self, slave: bool, port: u32, value: u8) {
        if slave {
            self.slave.write(port, value)
        } else {
            self.master.write(port, value)
        }
        self.cascade();
    }

    fn edge_level(&self, slave: u32) -> u8 {
        if slave == 1 {
            self.slave.edge_level
        } else {
            self.master.edge_level
        }
    }

    /// Timer, keyboard, cascade, clock and coprocessor inputs stay edge-triggered.
    fn set_edge_level(&mut self, slave: u32, value: u8) {
        if slave == 1 {
            self.slave.edge_level = value & 0xde;
        } else {
            self.master.edge_level = value & 0xf8;
        }
    }

    fn cascade(&mut self) {
        let high = self.slave.pending().is_some();
        // The slave drops and raises its output between two requests, so each one is an edge.
        if high && self.master.service & 1 << CASCADE == 0 {
            self.master.set(CASCADE, false);
        }
        self.master.set(CASCADE, high);
    }
}

impl Device for PicPair {
    fn widths(&self) -> &'static [u32] {
        &[1]
    }

    fn read(&mut self, at: At, _: &mut Console) -> Result<u64, &'static str> {
        let value = match at.window {
            EDGE_LEVEL => self.edge_level(at.offset),
            ACKNOWLEDGE => self.acknowledge(),
            pic => self.get(pic == SLAVE, at.offset),
        };
        Ok(value.into())
    }

    fn write(
        &mut self,
        at: At,
        value: u64,
        _: &mut Console,
    ) -> Result<Option<Effect>, &'static str> {
        let value = value as u8;
        match at.window {
            EDGE_LEVEL => self.set_edge_level(at.offset, value),
            ACKNOWLEDGE => return Err("interrupt acknowledge is only read"),
            pic => self.put(pic == SLAVE, at.offset, value),
        }
        Ok(None)
    }

    fn interrupt(&self) -> bool {
        self.master.pending().is_some()
    }

    fn set_input(&mut self, line: u8, high: bool) {
        self.set_request(line, high);
    }

    fn save(&self) -> Vec<u8> {
        saved(self)
    }

    fn restore(&mut self, state: &[u8]) -> bool {
        restored(self, state, |pair| pair.master.fits() && pair.slave.fits())
    }
}
