//! What a board is made of: devices, their addresses, and the wires between them.

use super::address::Physical;
use super::device::Device;

/// Number of a device in its board's list.
pub(super) type Number = usize;

/// A range of addresses that a device answers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    pub(super) first: Physical,
    /// Inclusive.
    pub(super) last: Physical,
    pub(super) device: Number,
    /// The number that the device gives this window.
    pub(super) window: u8,
}

impl Window {
    /// The only window of a device: `size` bytes from `first` on.
    pub(super) const fn at(first: u32, size: u32, device: Number) -> Self {
        Self {
            first: first as Physical,
            last: (first + (size - 1)) as Physical,
            device,
            window: 0,
        }
    }
}

/// From a device's interrupt output to an input of another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wire {
    pub(super) from: Number,
    pub(super) to: Number,
    pub(super) line: u8,
}

/// Addresses that a node of the device tree names.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub(super) first: Physical,
    /// Inclusive.
    pub(super) last: Physical,
    pub(super) path: &'static str,
}

impl Node {
    /// The node for `size` bytes from `first` on.
    pub(super) const fn at(first: u32, size: u32, path: &'static str) -> Self {
        Self {
            first: first as Physical,
            last: (first + (size - 1)) as Physical,
            path,
        }
    }
}

/// The parts of a board.
#[derive(Debug, Default)]
pub(super) struct Parts {
    pub(super) devices: Vec<Box<dyn Device>>,
    pub(super) windows: &'static [Window],
    /// I/O ports of a PC, in an address space of their own.
    pub(super) ports: &'static [Window],
    /// Interrupt wires, in the order in which levels are passed on.
    pub(super) wires: &'static [Wire],
    /// The device that drives the processors' external interrupt inputs.
    pub(super) controller: Number,
    /// The device that holds processors in reset until they are started.
    pub(super) starter: Number,
    /// The device that reads and writes memory by itself.
    pub(super) master: Option<Number>,
    /// More specific windows come first.
    pub(super) nodes: &'static [Node],
    /// An access that nothing answers ends the run; if this is false, it raises a machine check.
    pub(super) strict: bool,
    /// Addresses where, if nothing answers, a read gives ones and a write does nothing.
    pub(super) ones: std::ops::Range<Physical>,
}

impl Parts {
    /// An interrupt controller that also starts the processors, without anything around it.
    pub(super) fn around(controller: Number) -> Self {
        Parts {
            controller,
            starter: controller,
            ..Parts::default()
        }
    }

    /// A bare board has none.
    pub(super) fn controller(&self) -> Option<&dyn Device> {
        self.devices.get(self.controller).map(|device| &**device)
    }
}
