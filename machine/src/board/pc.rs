//! Board `pc`: the devices of a PC with an ISA bus, at the I/O ports that they have on every PC; and with a P6 its
//! local APICs and an I/O APIC, at the addresses that these have on every PC.

use super::apic::{self, Apics, Clocks};
use super::keyboard::{self, Keyboard};
use super::pic::{self, PicPair};
use super::pit::{self, Pit};
use super::rtc::Rtc;
use super::uart::Uart;
use super::{Parts, Physical, Window, Wire};

const UART: usize = 0;
const PICS: usize = 1;
const TIMER: usize = 2;
const CLOCK: usize = 3;
const KEYBOARD: usize = 4;
const APICS: usize = 5;

const fn window(first: Physical, last: Physical, device: usize, window: u8) -> Window {
    Window {
        first,
        last,
        device,
        window,
    }
}

/// Windows of I/O ports.
const PORTS: [Window; 9] = [
    window(0x3f8, 0x3ff, UART, 0),
    window(0x20, 0x21, PICS, pic::MASTER),
    window(0xa0, 0xa1, PICS, pic::SLAVE),
    window(0x4d0, 0x4d1, PICS, pic::EDGE_LEVEL),
    window(0x40, 0x43, TIMER, 0),
    window(0x61, 0x61, TIMER, pit::SPEAKER),
    window(0x70, 0x71, CLOCK, 0),
    window(0x60, 0x60, KEYBOARD, keyboard::DATA),
    window(0x64, 0x64, KEYBOARD, keyboard::COMMANDS),
];

/// In memory: the local APIC of the processor that asks, and the I/O APIC.
const WINDOWS: [Window; 2] = [
    window(0xfee0_0000, 0xfee0_0fff, APICS, apic::LOCAL),
    window(0xfec0_0000, 0xfec0_0fff, APICS, apic::IO),
];

const fn wire(from: usize, to: usize, line: u8) -> Wire {
    Wire { from, to, line }
}

/// Interrupt requests of the timer, of the UART at 0x3f8 (COM1 by convention), and of keyboard and mouse.
/// The last five are a P6's: the timer is input 2 of the I/O APIC (Intel MultiProcessor Specification 1.4, 3.6.2).
const WIRES: [Wire; 9] = [
    wire(TIMER, PICS, 0),
    wire(UART, PICS, 4),
    wire(KEYBOARD, PICS, keyboard::KEYBOARD_LINE),
    wire(KEYBOARD, PICS, keyboard::MOUSE_LINE),
    wire(TIMER, APICS, 2),
    wire(UART, APICS, 4),
    wire(KEYBOARD, APICS, keyboard::KEYBOARD_LINE),
    wire(KEYBOARD, APICS, keyboard::MOUSE_LINE),
    wire(PICS, APICS, apic::LINT0),
];

/// Those of an i486.
const WITHOUT_APICS: usize = 4;

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
            Box::new(Keyboard::new()),
        ],
        ports: &PORTS,
        wires: WIRES.split_at(WITHOUT_APICS).0,
        ones: 0..u32::MAX.into(),
        ..Parts::around(PICS)
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
