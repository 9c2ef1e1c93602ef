//! Board `pc`: the devices of a PC with an ISA bus.

use super::uart::Uart;
use super::{Parts, Window};
use crate::x86::Config;

const UART: usize = 0;

/// Windows of I/O ports.
const PORTS: [Window; 1] = [Window::at(0x3f8, 8, UART)];

pub(super) fn parts(_config: &Config) -> Parts {
    Parts {
        devices: vec![Box::new(Uart::new())],
        windows: &[],
        ports: &PORTS,
        wires: &[],
        controller: UART,
        starter: UART,
        master: None,
        nodes: &[],
        strict: false,
        ones: 0..u32::MAX,
    }
}
