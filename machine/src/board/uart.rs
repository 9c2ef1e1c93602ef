//! 16550 UART (National Semiconductor PC16550D data sheet, section 8).
//!
//! The serial line takes no simulated time, so that printing disturbs no measurement: a written byte leaves at once. A
//! byte of input arrives when there is room and the guest listens. It listens if the receive interrupt is enabled, or
//! when it reads the line status. A driver that has emptied the receiver must read the status several times in a row,
//! since drivers read it once or twice at their start. What a driver clears arrives again.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::{At, Console, Device, Effect, restored, saved};

const FIFO_DEPTH: usize = 16;

/// Who reads the line status so often, one time after another, waits for input. Linux's driver reads it twice at its
/// start.
const POLLS: u8 = 3;

const IER_RECEIVED: u8 = 1;
const IER_TRANSMIT_EMPTY: u8 = 2;
const LCR_DIVISOR_LATCH: u8 = 0x80;
const FCR_ENABLE: u8 = 1;
const FCR_CLEAR_RECEIVE: u8 = 2;
const MCR_LOOPBACK: u8 = 0x10;
const LSR_DATA_READY: u8 = 1;
const LSR_TRANSMITTER_EMPTY: u8 = 0x60;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Uart {
    receive: VecDeque<u8>,
    interrupt_enable: u8,
    fifo_control: u8,
    line_control: u8,
    modem_control: u8,
    scratch: u8,
    divisor: u16,
    /// THR-empty interrupt not yet acknowledged by reading IIR.
    transmit_empty: bool,
    /// How often the line status has been read without another access, up to [`POLLS`].
    polled: u8,
    /// The receiver holds bytes of the loopback.
    looped: bool,
    /// A driver has emptied the receiver, and has not waited for input since.
    cleared: bool,
}

impl Uart {
    pub fn new() -> Self {
        Uart {
            receive: VecDeque::new(),
            interrupt_enable: 0,
            fifo_control: 0,
            line_control: 0,
            modem_control: 0,
            scratch: 0,
            divisor: 0,
            transmit_empty: false,
            polled: 0,
            looped: false,
            cleared: false,
        }
    }

    /// True if a UART can be in this state. A snapshot is checked by this before use.
    fn fits(&self) -> bool {
        self.receive.len() <= FIFO_DEPTH && self.polled <= POLLS
    }

    fn get(&mut self, register: u32, console: &mut Console) -> u8 {
        let latch = self.line_control & LCR_DIVISOR_LATCH != 0;
        let polls = self.polled;
        self.polled = if register == 5 {
            (polls + 1).min(POLLS)
        } else {
            0
        };
        match register {
            0 if latch => self.divisor as u8,
            1 if latch => (self.divisor >> 8) as u8,
            0 => {
                self.receive(console);
                let byte = self.receive.pop_front();
                self.looped &= !self.receive.is_empty();
                // Who looked at the status and found a byte reads on.
                if byte.is_some() && polls > 0 {
                    self.arrive(console);
                }
                self.receive(console);
                byte.unwrap_or(0)
            }
            1 => self.interrupt_enable,
            2 => {
                self.receive(console);
                let identification = self.identification();
                if identification == 0x02 {
                    self.transmit_empty = false;
                }
                let fifos = if self.fifo_control & FCR_ENABLE != 0 {
                    0xc0
                } else {
                    0
                };
                identification | fifos
            }
            3 => self.line_control,
            4 => self.modem_control,
            5 => {
                if !self.cleared || polls == POLLS {
                    self.cleared = false;
                    self.arrive(console);
                }
                self.receive(console);
                let ready = if self.receive.is_empty() {
                    0
                } else {
                    LSR_DATA_READY
                };
                LSR_TRANSMITTER_EMPTY | ready
            }
            6 => self.modem_status(),
            _ => self.scratch,
        }
    }

    fn put(&mut self, register: u32, value: u8, console: &mut Console) {
        let latch = self.line_control & LCR_DIVISOR_LATCH != 0;
        self.polled = 0;
        match register {
            0 if latch => self.divisor = self.divisor & 0xff00 | u16::from(value),
            1 if latch => self.divisor = self.divisor & 0x00ff | u16::from(value) << 8,
            0 => {
                if self.modem_control & MCR_LOOPBACK != 0 {
                    if self.receive.len() < self.depth() {
                        self.receive.push_back(value);
                        self.looped = true;
                    }
                } else {
                    console.put(value);
                }
                self.transmit_empty = true;
            }
            1 => {
                let value = value & 0x0f;
                if value & !self.interrupt_enable & IER_TRANSMIT_EMPTY != 0 {
                    self.transmit_empty = true;
                }
                self.interrupt_enable = value;
                self.receive(console);
            }
            2 => {
                if value & FCR_CLEAR_RECEIVE != 0 || (value ^ self.fifo_control) & FCR_ENABLE != 0 {
                    self.clear_receiver(console);
                    self.cleared |= value & FCR_CLEAR_RECEIVE != 0;
                }
                self.fifo_control = value & 0xc9;
                self.receive(console);
            }
            3 => self.line_control = value,
            4 => self.modem_control = value & 0x1f,
            5 | 6 => {}
            _ => self.scratch = value,
        }
    }

    /// Empties the receiver. Input from the console comes again.
    fn clear_receiver(&mut self, console: &mut Console) {
        let bytes = std::mem::take(&mut self.receive);
        if !std::mem::take(&mut self.looped) {
            console.put_back(bytes.into_iter());
        }
    }

    /// What waits arrives, if the interrupt is enabled.
    fn receive(&mut self, console: &mut Console) {
        if self.interrupt_enable & IER_RECEIVED != 0 {
            self.arrive(console);
        }
    }

    /// Moves waiting console input into the receiver while it has room.
    fn arrive(&mut self, console: &mut Console) {
        if self.modem_control & MCR_LOOPBACK != 0 {
            return;
        }
        while self.receive.len() < self.depth() {
            let Some(byte) = console.take() else { break };
            self.receive.push_back(byte);
        }
    }

    fn depth(&self) -> usize {
        if self.fifo_control & FCR_ENABLE != 0 {
            FIFO_DEPTH
        } else {
            1
        }
    }

    /// IIR without the FIFO bits. Line-status and modem-status interrupts have no source here. Data
    /// below the trigger level count as the character time-out, which comes at once.
    fn identification(&self) -> u8 {
        if self.interrupt_enable & IER_RECEIVED != 0 && !self.receive.is_empty() {
            let trigger = match (self.fifo_control & FCR_ENABLE, self.fifo_control >> 6) {
                (0, _) | (_, 0) => 1,
                (_, 1) => 4,
                (_, 2) => 8,
                _ => 14,
            };
            if self.receive.len() >= trigger {
                0x04
            } else {
                0x0c
            }
        } else if self.interrupt_enable & IER_TRANSMIT_EMPTY != 0 && self.transmit_empty {
            0x02
        } else {
            0x01
        }
    }

    /// Carrier, data set ready and clear to send are always there; loopback mirrors MCR.
    fn modem_status(&self) -> u8 {
        if self.modem_control & MCR_LOOPBACK == 0 {
            return 0xb0;
        }
        let control = self.modem_control;
        (control & 2) << 3 | (control & 1) << 5 | (control & 0x0c) << 4
    }
}

impl Device for Uart {
    fn widths(&self) -> &'static [u32] {
        &[1]
    }

    fn read(&mut self, at: At, console: &mut Console) -> Result<u64, &'static str> {
        Ok(self.get(at.offset, console).into())
    }

    fn write(
        &mut self,
        at: At,
        value: u64,
        console: &mut Console,
    ) -> Result<Option<Effect>, &'static str> {
        self.put(at.offset, value as u8, console);
        Ok(None)
    }

    fn interrupt(&self) -> bool {
        self.identification() & 1 == 0
    }

    fn deadline(&self, now: u64, console: &Console) -> Option<u64> {
        console.next_check(now)
    }

    fn poll(&mut self, _now: u64, console: &mut Console) {
        self.receive(console);
    }

    fn save(&self) -> Vec<u8> {
        saved(self)
    }

    fn restore(&mut self, state: &[u8]) -> bool {
        restored(self, state, Self::fits)
    }
}
