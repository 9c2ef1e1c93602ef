//! What a board asks of a device.

use std::ops::Range;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::address::Physical;
use super::console::Console;
use super::control::Effect;

/// Which processor accesses the board, and when. The control device's clock registers read this.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instant {
    /// Number of the processor.
    pub processor: u8,
    /// Core cycles since reset.
    pub cycles: u64,
    /// Completed instructions since reset.
    pub instructions: u64,
}

/// No device answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BusError {
    pub physical: Physical,
    pub size: u32,
    pub write: bool,
    pub reason: &'static str,
    /// The device-tree node whose addresses these are, if there is one.
    pub node: Option<&'static str>,
    /// The run ends here; otherwise the processor takes a machine check.
    pub fatal: bool,
}

impl std::fmt::Display for BusError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what = if self.write { "write" } else { "read" };
        let (size, physical, reason) = (self.size, self.physical, self.reason);
        write!(
            out,
            "{what} of {size} bytes at physical address {physical:#010x}"
        )?;
        if let Some(node) = self.node {
            write!(out, " ({node})")?;
        }
        write!(out, ": {reason},")
    }
}

/// The place in a device that an access reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct At {
    /// Which of the device's windows.
    pub(super) window: u8,
    /// From the window's beginning.
    pub(super) offset: u32,
    /// Bytes: one of [`Device::widths`].
    pub(super) size: u32,
    pub(super) now: Instant,
}

/// A device of a board.
pub(super) trait Device: std::fmt::Debug + Send {
    /// The sizes of access that it takes, in bytes.
    fn widths(&self) -> &'static [u32];

    /// A read; big-endian in the low bits of the result.
    ///
    /// # Errors
    /// When there is no such register.
    fn read(&mut self, at: At, console: &mut Console) -> Result<u64, &'static str>;

    /// A write. It may return a request to the machine.
    ///
    /// # Errors
    /// When there is no such register.
    fn write(
        &mut self,
        at: At,
        value: u64,
        console: &mut Console,
    ) -> Result<Option<Effect>, &'static str>;

    /// The level of its interrupt output, if it has one.
    fn interrupt(&self) -> bool {
        false
    }

    /// The level at an interrupt input that its output is wired to. Some devices choose one of several inputs.
    fn drives(&self, _line: u8) -> bool {
        self.interrupt()
    }

    /// Level of the external interrupt input of a processor, of a board's interrupt controller.
    fn interrupts(&self, processor: u8) -> bool {
        processor == 0 && self.interrupt()
    }

    /// Does it ask this processor for attention in a way that another processor can bring about?
    fn asks(&self, processor: u8) -> bool {
        self.interrupts(processor)
    }

    /// All interrupt inputs of a RISC-V processor at cycle `now`, as bits of mip, of what drives them.
    fn lines(&self, _processor: u8, _now: u64) -> u64 {
        0
    }

    /// A RISC-V processor sleeps until one of these bits of mip is set.
    fn wait_for(&mut self, _processor: u8, _lines: u64) {}

    /// Level of the critical interrupt input of a processor, of a 405's interrupt controller.
    fn critical(&self, _processor: u8) -> bool {
        false
    }

    /// Reads a register that has a number in place of an address; `None` if it has none of this number.
    fn read_control_register(&mut self, _number: u32) -> Option<u32> {
        None
    }

    /// Writes such a register. False if it has none of this number.
    fn write_control_register(&mut self, _number: u32, _value: u32) -> bool {
        false
    }

    /// Does it hold this processor in reset?
    fn holds(&self, _processor: u8) -> bool {
        false
    }

    /// The page at which a processor that it no longer holds starts in real mode.
    fn start_page(&self, _processor: u8) -> u8 {
        0
    }

    /// A processor takes its external interrupt: the vector. `None`: another controller has it.
    fn acknowledge(&mut self, _processor: u8) -> Option<u8> {
        None
    }

    /// Takes a processor's pending non-maskable interrupt, if there is one.
    fn take_non_maskable(&mut self, _processor: u8) -> bool {
        false
    }

    /// Sets the level of an interrupt input, if the device has inputs.
    fn set_input(&mut self, _line: u8, _high: bool) {}

    /// The core cycle, after `now`, at which [`Device::poll`] must be called; `None` for a device that changes only
    /// when it is accessed.
    fn deadline(&self, _now: u64, _console: &Console) -> Option<u64> {
        None
    }

    /// Takes input from outside, and does what is due by cycle `now`.
    fn poll(&mut self, _now: u64, _console: &mut Console) {}

    /// Reads and writes memory by itself, as far as that is due by cycle `now`. The error is an address at which there
    /// is no memory.
    fn transfer(&mut self, _now: u64, _ram: &mut [u8], _console: &mut Console) -> Result<(), u32> {
        Ok(())
    }

    /// The bytes of RAM that it has written since the last call.
    fn take_written(&mut self) -> Vec<Range<usize>> {
        Vec::new()
    }

    /// Gives a drive its disk.
    fn insert(&mut self, _disk: Vec<u8>) {}

    /// What is on a drive's disk.
    fn content(&self) -> Option<&[u8]> {
        None
    }

    /// Its state, for a snapshot.
    fn save(&self) -> Vec<u8>;

    /// Puts it into a state that [`Device::save`] gave. False if no device can be in that state.
    fn restore(&mut self, saved: &[u8]) -> bool;
}

/// [`Device::save`] for a device whose fields are all state.
pub(super) fn saved(device: &impl Serialize) -> Vec<u8> {
    postcard::to_stdvec(device).unwrap_or_default()
}

/// [`Device::restore`] for such a device; `fits` tells which states are possible.
pub(super) fn restored<D: DeserializeOwned>(
    device: &mut D,
    saved: &[u8],
    fits: impl Fn(&D) -> bool,
) -> bool {
    let Some(state) = postcard::from_bytes(saved).ok().filter(|state| fits(state)) else {
        return false;
    };
    *device = state;
    true
}
