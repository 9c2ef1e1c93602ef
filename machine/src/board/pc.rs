//! Board `pc`: the devices of a PC with an ISA bus, at the I/O ports that they have on every PC; and with a P6 its
//! local APICs and an I/O APIC, at the addresses that these have on every PC.

use super::apic::{self, Apics, Clocks};
use super::pic::{self, PicPair};
use super::pit::{self, Pit};
use super::registers::{Kind, Plain, Register};
use super::rtc::Rtc;
use super::uart::Uart;
use super::{Effect, Parts, Window, Wire};

const UART: usize = 0;
const PICS: usize = 1;
const TIMER: usize = 2;
const CLOCK: usize = 3;
const RESET: usize = 4;
const APICS: usize = 5;

const fn window(first: u32, last: u32, device: usize, window: u8) -> Window {
    Window {
        first,
        last,
        device,
        window,
    }
}

/// Windows of I/O ports.
const PORTS: [Window; 8] = [
    window(0x3f8, 0x3ff, UART, 0),
    window(0x20, 0x21, PICS, pic::MASTER),
    window(0xa0, 0xa1, PICS, pic::SLAVE),
    window(0x4d0, 0x4d1, PICS, pic::EDGE_LEVEL),
    window(0x40, 0x43, TIMER, 0),
    window(0x61, 0x61, TIMER, pit::SPEAKER),
    window(0x70, 0x71, CLOCK, 0),
    window(0x64, 0x64, RESET, 0),
];

/// The keyboard controller, of which only the line to the processor's reset is there: commands from 0xf0 on pulse
/// lines, that of bit 0 ends the run. Its status reads as zero: nothing waits.
const KEYBOARD: Register = Register {
    offset: 0,
    size: 1,
    reset: 0,
    kind: Kind::Commands(0xf1, 0xf0, Effect::PowerOff(0)),
};

/// In memory: the local APIC of the processor that asks, and the I/O APIC.
const WINDOWS: [Window; 2] = [
    window(0xfee0_0000, 0xfee0_0fff, APICS, apic::LOCAL),
    window(0xfec0_0000, 0xfec0_0fff, APICS, apic::IO),
];

/// Interrupt requests of the timer, and of the UART at 0x3f8 (COM1 by convention).
/// The last three are a P6's: the timer is input 2 of the I/O APIC (Intel MultiProcessor Specification 1.4, 3.6.2).
const WIRES: [Wire; 5] = [
    Wire {
        from: TIMER,
        to: PICS,
        line: 0,
    },
    Wire {
        from: UART,
        to: PICS,
        line: 4,
    },
    Wire {
        from: TIMER,
        to: APICS,
        line: 2,
    },
    Wire {
        from: UART,
        to: APICS,
        line: 4,
    },
    Wire {
        from: PICS,
        to: APICS,
        line: apic::LINT0,
    },
];

/// How the interrupt controllers are asked for a vector.
pub(super) const ACKNOWLEDGE: Window = window(0, 0, PICS, pic::ACKNOWLEDGE);

/// What a machine file says of a PC.
#[derive(Clone, Copy, Debug)]
pub struct Pc {
    pub processors: u8,
    /// The core's clock in Hz.
    pub clock: u64,
    /// It has the control device.
    pub control: bool,
    /// The APICs' clock in Hz, if there are APICs.
    pub apic_clock: Option<u64>,
    /// Core cycles in two of the bus.
    pub core_per_two_bus: u64,
}

pub(super) fn parts(pc: &Pc) -> Parts {
    let clock = pc.clock;
    let mut parts = Parts {
        devices: vec![
            Box::new(Uart::new()),
            Box::new(PicPair::new()),
            Box::new(Pit::new(clock)),
            Box::new(Rtc::new(clock)),
            Box::new(Plain::new([KEYBOARD])),
        ],
        windows: &[],
        ports: &PORTS,
        wires: &WIRES[..2],
        controller: PICS,
        starter: PICS,
        master: None,
        nodes: &[],
        strict: false,
        ones: 0..u32::MAX,
    };
    if let Some(bus) = pc.apic_clock {
        parts.devices.push(Box::new(Apics::new(
            pc.processors,
            Clocks {
                core: clock,
                bus,
                per_two_ticks: pc.core_per_two_bus,
            },
        )));
        parts.windows = &WINDOWS;
        parts.wires = &WIRES;
        parts.controller = APICS;
        parts.starter = APICS;
    }
    parts
}
