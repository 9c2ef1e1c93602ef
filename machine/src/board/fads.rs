//! Board `fads`: an MPC855T or MPC860T on Motorola's FADS, as Linux 2.4 and 2.6 (arch/ppc) know it. IMMR is at
//! 0xff000000 and the board's control registers are at 0xff010000 (Linux 2.4.31 arch/ppc/platforms/fads.h). The
//! console is SMC1 of the communications processor. An access that nothing answers ends the run.

use super::cpm::{self, Cpm};
use super::mpc8xx::{IMMR, IMMR_SIZE, system};
use super::registers::{Plain, words};
use super::siu::{self, Siu};
use super::{Node, Parts, Window, Wire};

const BCSR: u32 = 0xff01_0000;
/// BCSR0 to BCSR4.
const BCSR_SIZE: u32 = 0x14;

const INTERRUPTS: usize = 0;
const CPM: usize = 1;
const INTERNAL: usize = 2;
const CONTROL: usize = 3;

const fn of_cpm(offset: u32, size: u32, window: u8) -> Window {
    Window {
        window,
        ..Window::at(IMMR + offset, size, CPM)
    }
}

const WINDOWS: [Window; 7] = [
    Window::at(IMMR + siu::FIRST, siu::SIZE, INTERRUPTS),
    of_cpm(cpm::INTERRUPTS_AT, cpm::INTERRUPTS_SIZE, cpm::INTERRUPTS),
    of_cpm(cpm::COMMAND_AT, 2, cpm::COMMAND),
    of_cpm(cpm::CHANNELS_AT, cpm::CHANNELS_SIZE, cpm::CHANNELS),
    of_cpm(
        cpm::DUAL_PORT_RAM_AT,
        cpm::DUAL_PORT_RAM_SIZE,
        cpm::DUAL_PORT_RAM,
    ),
    Window::at(IMMR, IMMR_SIZE, INTERNAL),
    Window::at(BCSR, BCSR_SIZE, CONTROL),
];

/// What an access that nothing answers was meant for: units that are not modelled (MPC860 User's Manual, chapter
/// "Memory Map"), and the internal memory maps of other boards (IMAP_ADDR in Linux 2.4.31 arch/ppc/platforms).
const NODES: [Node; 13] = [
    Node::at(IMMR + 0x080, 0x080, "PCMCIA interface"),
    Node::at(IMMR + 0x840, 0x020, "LCD controller"),
    Node::at(IMMR + 0x860, 0x020, "I2C controller"),
    Node::at(IMMR + 0x900, 0x030, "SDMA registers"),
    Node::at(IMMR + 0x980, 0x040, "CPM timers"),
    Node::at(IMMR + 0xa00, 0x080, "SCC1 to SCC4"),
    Node::at(IMMR + 0xaa0, 0x018, "SPI controller"),
    Node::at(IMMR + 0xe00, 0x200, "FEC, the fast Ethernet controller"),
    Node::at(IMMR, IMMR_SIZE, "IMMR"),
    Node::at(BCSR, 0x1_0000, "BCSR"),
    Node::at(
        0xfa20_0000,
        0x1_0000,
        "IMMR of MBX and RPX boards: on this board it is at 0xff000000, which kernels for FADS expect",
    ),
    Node::at(
        0xfff0_0000,
        0x1_0000,
        "IMMR of TQM8xx boards: on this board it is at 0xff000000, which kernels for FADS expect",
    ),
    Node::at(0xff02_0000, 0x1_0000, "PCMCIA memory"),
];

const fn level(line: u8) -> Wire {
    Wire {
        from: CPM,
        to: INTERRUPTS,
        line,
    }
}

/// The communications processor interrupts at one of the eight internal levels: software chooses.
const WIRES: [Wire; 8] = [
    level(1),
    level(3),
    level(5),
    level(7),
    level(9),
    level(11),
    level(13),
    level(15),
];

pub(super) fn parts() -> Parts {
    Parts {
        devices: vec![
            Box::new(Siu::new()),
            Box::new(Cpm::new(IMMR)),
            Box::new(Plain::new(system())),
            Box::new(Plain::new(words(0, BCSR_SIZE))),
        ],
        windows: &WINDOWS,
        wires: &WIRES,
        master: Some(CPM),
        nodes: &NODES,
        strict: true,
        ..Parts::around(INTERRUPTS)
    }
}
