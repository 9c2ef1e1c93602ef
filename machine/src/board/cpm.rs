//! The communications processor module of the MPC8xx as far as a console needs it: its interrupt controller, the
//! dual-port RAM, and the serial management controllers SMC1 and SMC2 as UARTs with buffer descriptors (MPC860 User's
//! Manual, chapters "Communications Processor", "SMCs" and "CPM Interrupt Controller"). SMC1 is the console; nothing is
//! connected to SMC2.
//!
//! As on the 16550, the serial line takes no simulated time: a buffer leaves when its descriptor becomes ready. Its
//! event comes [`EVENT_DELAY`] later. Input comes a buffer at a time, [`EVENT_DELAY`] apart.

use serde::{Deserialize, Serialize};

use super::{At, Console, Device, Effect, restored, saved};

/// Core cycles from a sent buffer to its event, and between received buffers. Drivers refill the buffers and clear the
/// event register afterwards (Linux 2.6.12 drivers/serial/cpm_uart/cpm_uart_core.c, `cpm_uart_int`), so an event that
/// came at once would be lost.
const EVENT_DELAY: u64 = 10_000;

/// A channel moves at most this many bytes at once, and goes on after [`EVENT_DELAY`].
const BYTES_AT_ONCE: u32 = 4096;

/// The device's windows: their numbers.
pub(super) const INTERRUPTS: u8 = 0;
pub(super) const COMMAND: u8 = 1;
pub(super) const CHANNELS: u8 = 2;
pub(super) const DUAL_PORT_RAM: u8 = 3;

/// Places in the internal memory map (MPC860 User's Manual, chapter "Memory Map").
pub(super) const INTERRUPTS_AT: u32 = 0x930;
pub(super) const INTERRUPTS_SIZE: u32 = 0x20;
pub(super) const COMMAND_AT: u32 = 0x9c0;
pub(super) const CHANNELS_AT: u32 = 0xa80;
pub(super) const CHANNELS_SIZE: u32 = 0x20;
pub(super) const DUAL_PORT_RAM_AT: u32 = 0x2000;
pub(super) const DUAL_PORT_RAM_SIZE: u32 = 0x2000;

/// CICR: the interrupt level of the whole module, and the enable.
const CICR_LEVEL_SHIFT: u32 = 13;
const CICR_ENABLE: u32 = 0x80;

/// CPCR: reset, the opcode, the channel, and the flag that reads 0 when a command is done.
const CPCR_RESET: u16 = 0x8000;
pub(super) const CPCR_FLAG: u16 = 1;
const INIT_BOTH: u16 = 0;
const INIT_RECEIVE: u16 = 1;
const INIT_TRANSMIT: u16 = 2;
const STOP_TRANSMIT: u16 = 4;
const RESTART_TRANSMIT: u16 = 6;

const CHANNEL_COUNT: usize = 2;
/// Of SMC1 and SMC2: their channel numbers in CPCR, their interrupt vectors, and the places of their parameters in the
/// dual-port RAM.
const CPCR_CHANNEL: [u16; CHANNEL_COUNT] = [9, 13];
const VECTOR: [u32; CHANNEL_COUNT] = [4, 3];
const PARAMETERS: [u32; CHANNEL_COUNT] = [0x1e80, 0x1f80];
/// The channel that the console is connected to.
const CONSOLE: usize = 0;

/// Offsets of a channel's parameters.
mod parameter {
    pub const RECEIVE_BASE: u32 = 0x00;
    pub const TRANSMIT_BASE: u32 = 0x02;
    pub const BUFFER_SIZE: u32 = 0x06;
    pub const RECEIVE_POINTER: u32 = 0x10;
    pub const TRANSMIT_POINTER: u32 = 0x20;
}

/// A descriptor's status: the buffer is to be sent, or is empty and can be filled.
const READY: u16 = 0x8000;
/// The descriptor is the last of its ring.
const WRAP: u16 = 0x2000;
/// The buffer gives an event when it is done.
const INTERRUPT: u16 = 0x1000;
/// READY stays set, so that the buffer is used again in the next round.
const CONTINUOUS: u16 = 0x0200;
/// Bytes of a descriptor: status, length, address of the buffer.
const DESCRIPTOR: u32 = 8;

/// SMCMR: enable bits. SMCE: events.
const TRANSMITTER_ON: u16 = 2;
const RECEIVER_ON: u16 = 1;
const EVENT_SENT: u8 = 2;
const EVENT_RECEIVED: u8 = 1;

/// A serial management controller.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Channel {
    mode: u16,
    events: u8,
    mask: u8,
    /// By the command STOP TRANSMIT.
    stopped: bool,
    /// The cycle of the next event for a sent buffer: the first one sent since the last event.
    sent: Option<u64>,
    /// The cycle of the event after that, for the last buffer sent, if there were several.
    last_sent: Option<u64>,
    /// The transmitter goes on at this cycle, if more was ready than [`BYTES_AT_ONCE`].
    resume: Option<u64>,
    /// No buffer is filled before this cycle.
    receive_from: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Cpm {
    /// Base of the internal memory map: buffers may lie in the dual-port RAM.
    base: u32,
    vector: u16,
    configuration: u32,
    mask: u32,
    in_service: u32,
    command: u16,
    channels: [Channel; CHANNEL_COUNT],
    dual_port: Vec<u8>,
}

impl Cpm {
    pub fn new(base: u32) -> Self {
        Cpm {
            base,
            vector: 0,
            configuration: 0,
            mask: 0,
            in_service: 0,
            command: 0,
            channels: Default::default(),
            dual_port: vec![0; DUAL_PORT_RAM_SIZE as usize],
        }
    }

    /// CIPR. A source here has an event register and a mask, and is pending as long as any event is set that the mask
    /// lets through.
    fn pending(&self) -> u32 {
        let sources = self.channels.iter().zip(VECTOR);
        sources
            .filter(|(channel, _)| channel.events & channel.mask != 0)
            .fold(0, |bits, (_, vector)| bits | 1 << vector)
    }

    /// The requests of higher priority than what is in service: the larger vector is the higher one.
    fn requests(&self) -> u32 {
        let served = 32 - self.in_service.leading_zeros();
        let above = u32::MAX.checked_shl(served).unwrap_or(0);
        self.pending() & self.mask & above
    }

    /// The acknowledge of CIVR: the vector of the highest request, which is in service from now on, or 0, the error
    /// vector.
    fn acknowledge(&mut self) {
        let requests = self.requests();
        let vector = requests.checked_ilog2().unwrap_or(0);
        if requests != 0 {
            self.in_service |= 1 << vector;
        }
        self.vector = (vector as u16) << 11;
    }

    fn half(&self, offset: u32) -> u16 {
        let at = (offset % (DUAL_PORT_RAM_SIZE - 1)) as usize;
        u16::from_be_bytes([self.dual_port[at], self.dual_port[at + 1]])
    }

    fn set_half(&mut self, offset: u32, value: u16) {
        let at = (offset % (DUAL_PORT_RAM_SIZE - 1)) as usize;
        self.dual_port[at..at + 2].copy_from_slice(&value.to_be_bytes());
    }

    /// A command of CPCR.
    fn obey(&mut self, command: u16) {
        self.command = command & !CPCR_FLAG;
        if command & CPCR_RESET != 0 {
            self.channels = Default::default();
            (self.configuration, self.mask, self.in_service) = (0, 0, 0);
            return;
        }
        if command & CPCR_FLAG == 0 {
            return;
        }
        let number = command >> 4 & 0xf;
        let Some(number) = CPCR_CHANNEL.iter().position(|&own| own == number) else {
            return;
        };
        let place = PARAMETERS[number];
        let opcode = command >> 8 & 0xf;
        if opcode == INIT_BOTH || opcode == INIT_RECEIVE {
            let base = self.half(place + parameter::RECEIVE_BASE);
            self.set_half(place + parameter::RECEIVE_POINTER, base);
        }
        if opcode == INIT_BOTH || opcode == INIT_TRANSMIT {
            let base = self.half(place + parameter::TRANSMIT_BASE);
            self.set_half(place + parameter::TRANSMIT_POINTER, base);
        }
        let stopped = &mut self.channels[number].stopped;
        match opcode {
            STOP_TRANSMIT => *stopped = true,
            INIT_BOTH | INIT_TRANSMIT | RESTART_TRANSMIT => *stopped = false,
            _ => {}
        }
    }

    /// Goes to the next descriptor of a ring.
    fn advance(&mut self, status: u16, place: u32, pointer: u32, base: u32) {
        let next = if status & WRAP != 0 {
            self.half(place + base)
        } else {
            self.half(place + pointer).wrapping_add(DESCRIPTOR as u16)
        };
        self.set_half(place + pointer, next);
    }

    /// Status, length and buffer of a descriptor.
    fn descriptor(&self, at: u32) -> (u16, u16, u32) {
        let buffer = u32::from(self.half(at + 4)) << 16 | u32::from(self.half(at + 6));
        (self.half(at), self.half(at + 2), buffer)
    }

    /// The place of a buffer's byte in the dual-port RAM, if it is there.
    fn own(&self, address: u32) -> Option<usize> {
        let offset = address.wrapping_sub(self.base + DUAL_PORT_RAM_AT);
        (offset < DUAL_PORT_RAM_SIZE).then_some(offset as usize)
    }

    /// Sends what is ready. The error is the address of a buffer that is nowhere: the channel waits there.
    fn send(
        &mut self,
        number: usize,
        now: u64,
        ram: &[u8],
        console: &mut Console,
    ) -> Result<(), u32> {
        let place = PARAMETERS[number];
        let mut left = BYTES_AT_ONCE;
        loop {
            let channel = &mut self.channels[number];
            if channel.mode & TRANSMITTER_ON == 0 || channel.stopped {
                channel.resume = None;
                return Ok(());
            }
            if channel.resume.is_some_and(|at| now < at) {
                return Ok(());
            }
            channel.resume = None;
            let at = self.half(place + parameter::TRANSMIT_POINTER).into();
            let (status, length, buffer) = self.descriptor(at);
            if status & READY == 0 {
                return Ok(());
            }
            // A descriptor counts as a byte, so that a ring of empty buffers uses up the limit too.
            let costs = u32::from(length) + 1;
            if costs > left && left != BYTES_AT_ONCE {
                self.channels[number].resume = Some(now + EVENT_DELAY);
                return Ok(());
            }
            left = left.saturating_sub(costs);
            for offset in 0..u32::from(length) {
                let address = buffer.wrapping_add(offset);
                let byte = match self.own(address) {
                    Some(place) => self.dual_port[place],
                    None => *ram.get(address as usize).ok_or(address)?,
                };
                if number == CONSOLE {
                    console.put(byte);
                }
            }
            if status & CONTINUOUS == 0 {
                self.set_half(at, status & !READY);
            }
            if status & INTERRUPT != 0 {
                let channel = &mut self.channels[number];
                if channel.sent.is_none() {
                    channel.sent = Some(now + EVENT_DELAY);
                } else {
                    channel.last_sent = Some(now + EVENT_DELAY);
                }
            }
            self.advance(
                status,
                place,
                parameter::TRANSMIT_POINTER,
                parameter::TRANSMIT_BASE,
            );
        }
    }

    /// The descriptor that input goes to, if the console's receiver is on and has an empty buffer.
    fn empty(&self) -> Option<u32> {
        let channel = &self.channels[CONSOLE];
        let at = self.half(PARAMETERS[CONSOLE] + parameter::RECEIVE_POINTER);
        let (status, ..) = self.descriptor(at.into());
        (channel.mode & RECEIVER_ON != 0 && status & READY != 0).then_some(at.into())
    }

    /// Fills one buffer with what was typed.
    fn receive(&mut self, now: u64, ram: &mut [u8], console: &mut Console) -> Result<(), u32> {
        let Some(at) = self.empty() else {
            return Ok(());
        };
        if now < self.channels[CONSOLE].receive_from {
            return Ok(());
        }
        let place = PARAMETERS[CONSOLE];
        let (status, _, buffer) = self.descriptor(at);
        let room = self.half(place + parameter::BUFFER_SIZE);
        let mut length = 0;
        while length < room {
            let address = buffer.wrapping_add(length.into());
            let place = match self.own(address) {
                Some(place) => self.dual_port.get_mut(place),
                None => ram.get_mut(address as usize),
            };
            let place = place.ok_or(address)?;
            let Some(byte) = console.take() else { break };
            *place = byte;
            length += 1;
        }
        if length == 0 {
            return Ok(());
        }
        let channel = &mut self.channels[CONSOLE];
        channel.receive_from = now + EVENT_DELAY;
        if status & INTERRUPT != 0 {
            channel.events |= EVENT_RECEIVED;
        }
        self.set_half(at + 2, length);
        // Errors of the line do not occur.
        let kept = status & (WRAP | INTERRUPT | CONTINUOUS);
        let empty = if status & CONTINUOUS != 0 { READY } else { 0 };
        self.set_half(at, kept | empty);
        self.advance(
            status,
            place,
            parameter::RECEIVE_POINTER,
            parameter::RECEIVE_BASE,
        );
        Ok(())
    }

    /// True if a module can be in this state. A snapshot is checked by this before use.
    fn fits(&self, base: u32) -> bool {
        self.base == base && self.dual_port.len() == DUAL_PORT_RAM_SIZE as usize
    }
}

/// Offsets of the interrupt controller's registers.
mod controller {
    pub const CIVR: u32 = 0x00;
    pub const CICR: u32 = 0x10;
    pub const CIPR: u32 = 0x14;
    pub const CIMR: u32 = 0x18;
    pub const CISR: u32 = 0x1c;
}

const NO_REGISTER: &str = "there is no register of this size";

impl Device for Cpm {
    fn widths(&self) -> &'static [u32] {
        &[1, 2, 4]
    }

    fn read(&mut self, at: At, _: &mut Console) -> Result<u64, &'static str> {
        let value = match (at.window, at.offset, at.size) {
            (INTERRUPTS, controller::CIVR, 2) => self.vector.into(),
            (INTERRUPTS, controller::CICR, 4) => self.configuration,
            (INTERRUPTS, controller::CIPR, 4) => self.pending(),
            (INTERRUPTS, controller::CIMR, 4) => self.mask,
            (INTERRUPTS, controller::CISR, 4) => self.in_service,
            (COMMAND, 0, 2) => self.command.into(),
            (CHANNELS, offset, size) => {
                let channel = &self.channels[(offset / 0x10) as usize % CHANNEL_COUNT];
                match (offset % 0x10, size) {
                    (2, 2) => channel.mode.into(),
                    (6, 1) => channel.events.into(),
                    (10, 1) => channel.mask.into(),
                    _ => return Err(NO_REGISTER),
                }
            }
            (DUAL_PORT_RAM, offset, size) => {
                let place = offset as usize..(offset + size) as usize;
                let bytes = self.dual_port.get(place).ok_or(NO_REGISTER)?;
                bytes
                    .iter()
                    .fold(0, |value, &byte| value << 8 | u32::from(byte))
            }
            _ => return Err(NO_REGISTER),
        };
        Ok(value.into())
    }

    fn write(
        &mut self,
        at: At,
        value: u64,
        _: &mut Console,
    ) -> Result<Option<Effect>, &'static str> {
        let word = value as u32;
        match (at.window, at.offset, at.size) {
            (INTERRUPTS, controller::CIVR, 2) => {
                if word & 1 != 0 {
                    self.acknowledge();
                }
            }
            (INTERRUPTS, controller::CICR, 4) => self.configuration = word & 0x00ff_ffff,
            // Writing a one does not clear a source with an event register.
            (INTERRUPTS, controller::CIPR, 4) => {}
            (INTERRUPTS, controller::CIMR, 4) => self.mask = word,
            (INTERRUPTS, controller::CISR, 4) => self.in_service &= !word,
            (COMMAND, 0, 2) => self.obey(word as u16),
            (CHANNELS, offset, size) => {
                let channel = &mut self.channels[(offset / 0x10) as usize % CHANNEL_COUNT];
                match (offset % 0x10, size) {
                    (2, 2) => channel.mode = word as u16,
                    (6, 1) => channel.events &= !(word as u8),
                    (10, 1) => channel.mask = word as u8,
                    _ => return Err(NO_REGISTER),
                }
            }
            (DUAL_PORT_RAM, offset, size) => {
                let place = offset as usize..(offset + size) as usize;
                let bytes = self.dual_port.get_mut(place).ok_or(NO_REGISTER)?;
                bytes.copy_from_slice(&word.to_be_bytes()[4 - size as usize..]);
            }
            _ => return Err(NO_REGISTER),
        }
        Ok(None)
    }

    fn interrupt(&self) -> bool {
        self.configuration & CICR_ENABLE != 0 && self.requests() != 0
    }

    /// CICR chooses one of the eight internal levels; the SIU's inputs for these have the odd numbers.
    fn drives(&self, line: u8) -> bool {
        let level = self.configuration >> CICR_LEVEL_SHIFT & 7;
        self.interrupt() && u32::from(line) == 2 * level + 1
    }

    fn deadline(&self, now: u64, console: &Console) -> Option<u64> {
        let channels = self.channels.iter();
        let channels = channels.flat_map(|channel| [channel.sent, channel.resume]);
        let input = (console.waits() && self.empty().is_some())
            .then_some(self.channels[CONSOLE].receive_from);
        let due = channels
            .chain([input, console.next_check(now)])
            .flatten()
            .min();
        due.map(|due| due.max(now + 1))
    }

    fn poll(&mut self, now: u64, _: &mut Console) {
        for channel in &mut self.channels {
            if channel.sent.is_some_and(|due| due <= now) {
                channel.sent = channel.last_sent.take();
                channel.events |= EVENT_SENT;
            }
        }
    }

    fn transfer(&mut self, now: u64, ram: &mut [u8], console: &mut Console) -> Result<(), u32> {
        for number in 0..CHANNEL_COUNT {
            self.send(number, now, ram, console)?;
        }
        self.receive(now, ram, console)
    }

    fn save(&self) -> Vec<u8> {
        saved(self)
    }

    fn restore(&mut self, state: &[u8]) -> bool {
        let base = self.base;
        restored(self, state, |cpm: &Cpm| cpm.fits(base))
    }
}
