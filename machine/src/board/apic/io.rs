//! The I/O APIC: inputs and their redirection entries (82093AA data sheet, chapter 3).

use serde::{Deserialize, Serialize};

use super::message::{Delivery, Destination, Message, Mode};

pub(super) const INPUTS: usize = 24;

/// Registers behind the window: identification, version and arbitration; entries from 0x10 on, two words each.
const ENTRIES: u8 = 0x10;
/// Version 0x11, 23 as the last entry's number.
const VERSION: u32 = 0x11 | (INPUTS as u32 - 1) << 16;

const LOGICAL: u64 = 1 << 11;
const PENDING: u64 = 1 << 12;
const REMOTE: u64 = 1 << 14;
const LEVEL: u64 = 1 << 15;
const MASKED: u64 = 1 << 16;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct IoApic {
    id: u8,
    select: u8,
    entries: Vec<u64>,
    /// Levels of the inputs.
    lines: u32,
}

impl IoApic {
    pub fn new(id: u8) -> Self {
        IoApic {
            id,
            select: 0,
            entries: vec![MASKED; INPUTS],
            lines: 0,
        }
    }

    pub fn fits(&self) -> bool {
        self.entries.len() == INPUTS
    }

    pub fn read(&self, offset: u32) -> u32 {
        match offset {
            0x00 => self.select.into(),
            0x10 => self.register(),
            _ => 0,
        }
    }

    fn register(&self) -> u32 {
        match self.select {
            0 | 2 => u32::from(self.id) << 24,
            1 => VERSION,
            select => match self
                .entries
                .get(usize::from(select.wrapping_sub(ENTRIES) / 2))
            {
                Some(&entry) if select & 1 == 0 => entry as u32,
                Some(&entry) => (entry >> 32) as u32,
                None => 0,
            },
        }
    }

    /// It may send what an input has asked for.
    pub fn write(&mut self, offset: u32, value: u32) -> Option<Message> {
        match offset {
            0x00 => self.select = value as u8,
            0x10 if self.select == 0 => self.id = (value >> 24) as u8 & 0xf,
            0x10 if self.select >= ENTRIES => {
                let input = (self.select - ENTRIES) / 2;
                let entry = self.entries.get_mut(usize::from(input))?;
                if self.select & 1 == 0 {
                    // Delivery status and remote IRR are read only.
                    let kept = (PENDING | REMOTE) as u32;
                    *entry =
                        *entry >> 32 << 32 | u64::from(value & !kept) | *entry & u64::from(kept);
                    if *entry & LEVEL == 0 {
                        *entry &= !REMOTE;
                    }
                } else {
                    *entry = *entry & 0xffff_ffff | u64::from(value) << 32;
                }
                return self.again(input);
            }
            _ => {}
        }
        None
    }

    /// A level that is still there asks again.
    fn again(&mut self, input: u8) -> Option<Message> {
        let entry = *self.entries.get(usize::from(input))?;
        let high = self.lines >> input & 1 != 0;
        (high && entry & (LEVEL | REMOTE | PENDING | MASKED) == LEVEL).then(|| self.message(input))
    }

    /// The level of an input. An edge at a masked input is lost.
    pub fn set_input(&mut self, input: u8, high: bool) -> Option<Message> {
        let entry = *self.entries.get(usize::from(input))?;
        let rises = high && self.lines >> input & 1 == 0;
        self.lines = self.lines & !(1 << input) | u32::from(high) << input;
        if entry & LEVEL != 0 {
            return self.again(input);
        }
        (rises && entry & (MASKED | PENDING) == 0).then(|| self.message(input))
    }

    fn message(&mut self, input: u8) -> Message {
        let entry = &mut self.entries[usize::from(input)];
        *entry |= PENDING;
        let destination = (*entry >> 56) as u8;
        Message {
            vector: *entry as u8,
            delivery: Delivery::from_bits(*entry as u32),
            destination: if *entry & LOGICAL != 0 {
                Destination::Logical(destination)
            } else {
                Destination::Physical(destination & 0xf)
            },
            mode: Mode::Bus,
            level: *entry & LEVEL != 0,
            sender: None,
            input: Some(input),
        }
    }

    /// The message of an input has arrived.
    pub fn delivered(&mut self, input: u8) {
        if let Some(entry) = self.entries.get_mut(usize::from(input)) {
            *entry &= !PENDING;
            if *entry & LEVEL != 0 {
                *entry |= REMOTE;
            }
        }
    }

    /// A processor has ended a level-triggered interrupt.
    pub fn end_of_interrupt(&mut self, vector: u8) -> Option<Message> {
        let mut again = None;
        for input in 0..INPUTS as u8 {
            let entry = &mut self.entries[usize::from(input)];
            if *entry & LEVEL != 0 && *entry as u8 == vector {
                *entry &= !REMOTE;
                again = again.or(self.again(input));
            }
        }
        again
    }
}
