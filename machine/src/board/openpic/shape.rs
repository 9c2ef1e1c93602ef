//! The chips that an OpenPIC is in, and how they differ.

use super::control;

pub const TIMERS: usize = 4;
const IPIS: usize = 4;

/// Which chip the controller is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// A bridge on the PCI bus: little-endian.
    Raven,
    /// On the processor's own bus: big-endian.
    Mpc8641,
}

impl Model {
    /// Version of the register interface: what the feature register reads.
    pub fn version(self) -> u32 {
        match self {
            Model::Raven => 3,
            Model::Mpc8641 => 2,
        }
    }

    /// Bits of a vector.
    pub fn vector(self) -> u32 {
        match self {
            Model::Raven => 0xff,
            Model::Mpc8641 => 0xffff,
        }
    }
}

/// Block revision register 1 of the MPC8641: block 0x40, version 2.0 (recalled). Linux takes a
/// version below 3.1 for one group of timers.
pub const BLOCK_REVISION: u32 = 0x0040_0200;

/// What a controller is built for.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub model: Model,
    /// 1 to 8.
    pub processors: u8,
    /// External interrupt sources.
    pub inputs: usize,
    /// Core cycles in a tick of the timers.
    pub tick: u64,
}

impl Shape {
    /// A bit for each processor.
    pub fn all(&self) -> u8 {
        u8::MAX >> (8 - self.processors)
    }

    /// The processors that the processor-init register can hold in reset.
    pub fn holdable(&self) -> u8 {
        match self.model {
            Model::Raven => self.all() & !1,
            Model::Mpc8641 => 0,
        }
    }

    pub fn timer(&self, number: usize) -> usize {
        self.inputs + number
    }

    pub fn ipi(&self, channel: usize) -> usize {
        self.inputs + TIMERS + channel
    }

    pub fn sources(&self) -> usize {
        self.inputs + TIMERS + IPIS
    }

    pub fn is_external(&self, source: usize) -> bool {
        source < self.inputs
    }

    /// Bits that a source's vector/priority register keeps.
    pub fn control_bits(&self, source: usize) -> u32 {
        let common = control::MASK | control::PRIORITY | self.model.vector();
        if self.is_external(source) {
            common | control::POLARITY | control::SENSE
        } else {
            common
        }
    }
}
