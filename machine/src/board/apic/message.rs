//! Messages of the APIC bus.

use serde::{Deserialize, Serialize};

/// What a message asks for: bits 8 to 10 of the interrupt command and of redirection entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Delivery {
    Fixed,
    Lowest,
    NonMaskable,
    Init,
    StartUp,
    External,
    EndOfInterrupt,
    /// Reserved, or not modelled.
    Nothing,
}

impl Delivery {
    pub fn from_bits(word: u32) -> Delivery {
        match word >> 8 & 7 {
            0 => Delivery::Fixed,
            1 => Delivery::Lowest,
            4 => Delivery::NonMaskable,
            5 => Delivery::Init,
            6 => Delivery::StartUp,
            7 => Delivery::External,
            _ => Delivery::Nothing,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Destination {
    All,
    Others,
    Physical(u8),
    Logical(u8),
}

/// How it reaches the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Mode {
    Bus,
    /// From a processor to itself.
    Own,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Message {
    pub vector: u8,
    pub delivery: Delivery,
    pub destination: Destination,
    pub mode: Mode,
    /// Level-triggered: its end is a message too.
    pub level: bool,
    /// The processor that sends it.
    pub sender: Option<u8>,
    /// The input of the I/O APIC that sends it.
    pub input: Option<u8>,
}
