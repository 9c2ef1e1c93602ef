//! Board `prep`: a UART, a pair of interrupt controllers, a timer, a clock and non-volatile memory on an ISA bus, and
//! an OpenPIC on the PCI bus if the machine file asks for it. The address map is that of a PReP machine (PowerPC
//! Reference Platform Specification 1.1, section 5.1): ISA I/O ports from 0x80000000, interrupt acknowledge at
//! 0xbffffff0. An access elsewhere raises a machine check; or it finds an empty bus, whose addresses read as ones, if
//! the machine file says so.

use vm_fdt::{Error, FdtWriter};

use super::nvram::Nvram;
use super::openpic::{Model, OpenPic, Shape};
use super::pic::{self, PicPair};
use super::pit::Pit;
use super::registers::{Kind, Plain, Register};
use super::rtc::Rtc;
use super::uart::Uart;
use super::{Effect, Node, Parts, Physical, Target, Tree, Window, Wire};
use crate::config::{EmptyBus, InterruptController, MachineConfig};

const UART: usize = 0;
const PICS: usize = 1;
const TIMER: usize = 2;
const CLOCK: usize = 3;
const MEMORY: usize = 4;
const RESET: usize = 5;
const OPENPIC: usize = 6;

const fn window(first: Physical, last: Physical, device: usize, window: u8) -> Window {
    Window {
        first,
        last,
        device,
        window,
    }
}

/// Where firmware puts the OpenPIC: a place of PCI memory, which begins at 0xc0000000 (recalled of the MVME2600's
/// memory map). The bridge takes 256 KB for it (MTX Series Programmer's Reference Guide, 2-57).
const OPENPIC_BASE: u32 = 0xfc00_0000;
const OPENPIC_SIZE: u32 = 0x0004_0000;

/// The last is the OpenPIC's, which not every machine has.
const WINDOWS: [Window; 10] = [
    window(0x8000_03f8, 0x8000_03ff, UART, 0),
    window(0x8000_0020, 0x8000_0021, PICS, pic::MASTER),
    window(0x8000_00a0, 0x8000_00a1, PICS, pic::SLAVE),
    window(0x8000_04d0, 0x8000_04d1, PICS, pic::EDGE_LEVEL),
    window(0xbfff_fff0, 0xbfff_ffff, PICS, pic::ACKNOWLEDGE),
    window(0x8000_0040, 0x8000_0043, TIMER, 0),
    window(0x8000_0070, 0x8000_0071, CLOCK, 0),
    window(0x8000_0074, 0x8000_0077, MEMORY, 0),
    window(0x8000_0092, 0x8000_0092, RESET, 0),
    Window::at(OPENPIC_BASE, OPENPIC_SIZE, OPENPIC),
];

const NODES: [Node; 2] = [
    Node::at(0x8000_0000, 0x1_0000, "/isa"),
    Node::at(OPENPIC_BASE, OPENPIC_SIZE, "/interrupt-controller@fc000000"),
];

/// Buses: ISA ports and PCI configuration from 0x80000000, PCI memory from 0xc0000000 to the system ROM.
const BUSES: std::ops::Range<Physical> = 0x8000_0000..0xff00_0000;

/// Port 0x92: setting its bit 0 resets the processor, which ends the run.
const PORT_92: Register = Register {
    offset: 0,
    size: 1,
    reset: 0,
    kind: Kind::AsksFor(1, Effect::PowerOff(0)),
};

/// ISA interrupt request of the timer.
const TIMER_IRQ: u8 = 0;
/// ISA interrupt request of the UART at 0x3f8 (COM1 by convention).
const UART_IRQ: u8 = 4;

/// External interrupt sources of the OpenPIC, and the one that the 8259 pair drives, active high (MTX Series
/// Programmer's Reference Guide, 2-48 and 2-62).
const OPENPIC_INPUTS: usize = 16;
const CASCADE: u8 = 0;

/// The timers' prescaler divides the bridge's clock, the processor bus's, by eight (MVME2300 Series Programmer's
/// Reference Guide, 2-63).
const BUS_CLOCKS_PER_TICK: u64 = 8;

/// The OpenPIC is the last in this list, as it is in the list of address windows.
const WIRES: [Wire; 3] = [
    Wire {
        from: TIMER,
        to: PICS,
        line: TIMER_IRQ,
    },
    Wire {
        from: UART,
        to: PICS,
        line: UART_IRQ,
    },
    Wire {
        from: PICS,
        to: OPENPIC,
        line: CASCADE,
    },
];

pub(super) fn parts(config: &MachineConfig) -> Parts {
    let plain = Parts {
        devices: vec![
            Box::new(Uart::new()),
            Box::new(PicPair::new()),
            Box::new(Pit::new(config.core.clock)),
            Box::new(Rtc::new(config.core.clock)),
            Box::new(Nvram::new()),
            Box::new(Plain::new([PORT_92])),
        ],
        windows: &WINDOWS[..WINDOWS.len() - 1],
        wires: &WIRES[..2],
        nodes: &NODES[..1],
        ones: match config.board.empty_bus {
            EmptyBus::MachineCheck => 0..0,
            EmptyBus::Ones => BUSES,
        },
        ..Parts::around(PICS)
    };
    match config.board.interrupt_controller {
        InterruptController::I8259 => plain,
        InterruptController::Openpic => with_openpic(plain, config),
    }
}

fn with_openpic(mut parts: Parts, config: &MachineConfig) -> Parts {
    parts.devices.push(Box::new(OpenPic::new(Shape {
        model: Model::Raven,
        processors: config.processors,
        inputs: OPENPIC_INPUTS,
        tick: config.bus.core_cycles(BUS_CLOCKS_PER_TICK),
    })));
    Parts {
        windows: &WINDOWS,
        wires: &WIRES,
        controller: OPENPIC,
        starter: OPENPIC,
        nodes: &NODES,
        ..parts
    }
}

pub(super) const TREE: Tree = Tree {
    model: "pagewalk,prep",
    boards: &["prep"],
    timebase_interrupt: None,
    stdout: ("linux,stdout-path", "/isa/serial@3f8"),
    nodes,
    on_qemu: true,
    // A kernel at 3 GB, with I/O above it, maps this much RAM early (two BATs of 256 MB).
    reach: 512 << 20,
    stack: false,
};

fn nodes(fdt: &mut FdtWriter, config: &MachineConfig, target: Target) -> Result<(), Error> {
    let openpic = config.board.interrupt_controller == InterruptController::Openpic;
    if openpic {
        openpic_node(fdt)?;
    }
    let isa = fdt.begin_node("isa")?;
    fdt.property_string("device_type", "isa")?;
    fdt.property_string("compatible", "prep,isa")?;
    // ISA style: address space (1: I/O ports), port, and the ports' place in physical memory.
    fdt.property_u32("#address-cells", 2)?;
    fdt.property_u32("#size-cells", 1)?;
    fdt.property_array_u32("ranges", &[1, 0, 0x8000_0000, 0x0001_0000])?;
    let controller = fdt.begin_node("interrupt-controller@20")?;
    fdt.property_string("device_type", "interrupt-controller")?;
    fdt.property_string("compatible", "chrp,iic")?;
    fdt.property_array_u32("reg", &[1, 0x20, 2, 1, 0xa0, 2])?;
    fdt.property_null("interrupt-controller")?;
    fdt.property_u32("#interrupt-cells", 2)?;
    if openpic {
        fdt.property_u32("interrupt-parent", OPENPIC_PHANDLE)?;
        fdt.property_array_u32("interrupts", &[CASCADE.into(), HIGH_LEVEL])?;
    }
    fdt.property_phandle(1)?;
    fdt.end_node(controller)?;
    let serial = fdt.begin_node("serial@3f8")?;
    fdt.property_string("device_type", "serial")?;
    fdt.property_string("compatible", "ns16550")?;
    fdt.property_array_u32("reg", &[1, 0x3f8, 8])?;
    fdt.property_u32("clock-frequency", config.board.uart_clock)?;
    fdt.property_u32("interrupt-parent", 1)?;
    // ISA IRQ 4, sense 3: rising edge.
    fdt.property_array_u32("interrupts", &[UART_IRQ.into(), 3])?;
    fdt.end_node(serial)?;
    if target == Target::Pagewalk && config.board.control {
        let control = fdt.begin_node("pagewalk@f00")?;
        fdt.property_string("compatible", "pagewalk,control")?;
        fdt.property_array_u32("reg", &[1, 0xf00, 0x100, 1, 0x1000, 0x1000])?;
        fdt.end_node(control)?;
    }
    fdt.end_node(isa)
}

const OPENPIC_PHANDLE: u32 = 2;
/// Sense of an interrupt in the device tree (Open Firmware Recommended Practice: OpenPIC binding): active high level.
const HIGH_LEVEL: u32 = 2;

fn openpic_node(fdt: &mut FdtWriter) -> Result<(), Error> {
    let node = fdt.begin_node(&format!("interrupt-controller@{OPENPIC_BASE:x}"))?;
    fdt.property_string("device_type", "open-pic")?;
    fdt.property_string("compatible", "chrp,open-pic")?;
    fdt.property_array_u32("reg", &[OPENPIC_BASE, OPENPIC_SIZE])?;
    fdt.property_null("interrupt-controller")?;
    fdt.property_u32("#address-cells", 0)?;
    fdt.property_u32("#interrupt-cells", 2)?;
    fdt.property_phandle(OPENPIC_PHANDLE)?;
    fdt.end_node(node)
}
