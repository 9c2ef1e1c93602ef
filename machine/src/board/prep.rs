//! Board `prep`: a UART and a pair of interrupt controllers on an ISA bus. The address map is that of a PReP machine
//! (PowerPC Reference Platform Specification 1.1, section 5.1): ISA I/O ports from 0x80000000, interrupt acknowledge
//! at 0xbffffff0. An access elsewhere raises a machine check.

use vm_fdt::{Error, FdtWriter};

use super::pic::{self, PicPair};
use super::uart::Uart;
use super::{Node, Parts, Tree, Window, Wire};
use crate::config::MachineConfig;
use crate::loader::Target;

const UART: usize = 0;
const PICS: usize = 1;

const fn window(first: u32, last: u32, device: usize, window: u8) -> Window {
    Window {
        first,
        last,
        device,
        window,
    }
}

const WINDOWS: [Window; 5] = [
    window(0x8000_03f8, 0x8000_03ff, UART, 0),
    window(0x8000_0020, 0x8000_0021, PICS, pic::MASTER),
    window(0x8000_00a0, 0x8000_00a1, PICS, pic::SLAVE),
    window(0x8000_04d0, 0x8000_04d1, PICS, pic::EDGE_LEVEL),
    window(0xbfff_fff0, 0xbfff_ffff, PICS, pic::ACKNOWLEDGE),
];

const NODES: [Node; 1] = [Node {
    first: 0x8000_0000,
    last: 0x8000_ffff,
    path: "/isa",
}];

/// ISA interrupt request of the UART at 0x3f8 (COM1 by convention).
const UART_IRQ: u8 = 4;

const WIRES: [Wire; 1] = [Wire {
    from: UART,
    to: PICS,
    line: UART_IRQ,
}];

pub(super) fn parts() -> Parts {
    Parts {
        devices: vec![Box::new(Uart::new()), Box::new(PicPair::new())],
        windows: &WINDOWS,
        wires: &WIRES,
        controller: PICS,
        nodes: &NODES,
        strict: false,
    }
}

pub(super) const TREE: Tree = Tree {
    model: "pagewalk,prep",
    compatible: "prep",
    stdout: ("linux,stdout-path", "/isa/serial@3f8"),
    nodes,
    on_qemu: true,
    // A kernel at 3 GB, with I/O above it, maps this much RAM early (two BATs of 256 MB).
    reach: 512 << 20,
    stack: false,
};

fn nodes(fdt: &mut FdtWriter, config: &MachineConfig, target: Target) -> Result<(), Error> {
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
