//! Board `pc`: the devices of a PC with an ISA bus, at the I/O ports that they have on every PC.

use super::pic::{self, PicPair};
use super::pit::Pit;
use super::rtc::Rtc;
use super::uart::Uart;
use super::{Parts, Window, Wire};
use crate::x86::Config;

const UART: usize = 0;
const PICS: usize = 1;
const TIMER: usize = 2;
const CLOCK: usize = 3;

const fn window(first: u32, last: u32, device: usize, window: u8) -> Window {
    Window {
        first,
        last,
        device,
        window,
    }
}

/// Windows of I/O ports.
const PORTS: [Window; 6] = [
    window(0x3f8, 0x3ff, UART, 0),
    window(0x20, 0x21, PICS, pic::MASTER),
    window(0xa0, 0xa1, PICS, pic::SLAVE),
    window(0x4d0, 0x4d1, PICS, pic::EDGE_LEVEL),
    window(0x40, 0x43, TIMER, 0),
    window(0x70, 0x71, CLOCK, 0),
];

/// Interrupt requests of the timer, and of the UART at 0x3f8 (COM1 by convention).
const WIRES: [Wire; 2] = [
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
];

/// How the interrupt controllers are asked for a vector.
pub(super) const ACKNOWLEDGE: Window = window(0, 0, PICS, pic::ACKNOWLEDGE);

pub(super) fn parts(config: &Config) -> Parts {
    let clock = config.core.clock;
    Parts {
        devices: vec![
            Box::new(Uart::new()),
            Box::new(PicPair::new()),
            Box::new(Pit::new(clock)),
            Box::new(Rtc::new(clock)),
        ],
        windows: &[],
        ports: &PORTS,
        wires: &WIRES,
        controller: PICS,
        starter: PICS,
        master: None,
        nodes: &[],
        strict: false,
        ones: 0..u32::MAX,
    }
}
