//! Board `ppc405gp`: the part of a PPC405GP that Linux 6.1 for boards with a 405EX or 405EZ uses (its own file for
//! Walnut is gone): interrupt controller and first UART. An access that nothing answers ends the run. Device control
//! registers of other units, such as the memory controller's, read zero.

use vm_fdt::{Error, FdtWriter};

use super::uart::Uart;
use super::uic::{self, Uic};
use super::{Node, Parts, Target, Tree, Window, Wire};
use crate::config::MachineConfig;

const UART: u32 = 0xef60_0300;

const INTERRUPTS: usize = 0;
const SERIAL: usize = 1;

const WINDOWS: [Window; 1] = [Window::at(UART, 8, SERIAL)];

const NODES: [Node; 3] = [
    Node::at(UART, 0x100, "/plb/opb/serial@ef600300"),
    Node::at(0xef60_0000, 0x1_0000, "/plb/opb"),
    Node::at(0xe800_0000, 0x0700_0000, "PCI bridge"),
];

/// Source 0: UART0 (PPC405GP UM p.220).
const WIRES: [Wire; 1] = [Wire {
    from: SERIAL,
    to: INTERRUPTS,
    line: 0,
}];

pub(super) fn parts() -> Parts {
    Parts {
        devices: vec![Box::new(Uic::new()), Box::new(Uart::new())],
        windows: &WINDOWS,
        wires: &WIRES,
        nodes: &NODES,
        strict: true,
        ..Parts::around(INTERRUPTS)
    }
}

pub(super) const TREE: Tree = Tree {
    model: "pagewalk,ppc405gp",
    // Linux arch/powerpc/platforms/40x/ppc40x_simple.c.
    boards: &[
        "amcc,acadia",
        "amcc,haleakala",
        "amcc,kilauea",
        "amcc,makalu",
        "apm,klondike",
        "est,hotfoot",
        "plathome,obs600",
    ],
    timebase_interrupt: None,
    stdout: ("stdout-path", "/plb/opb/serial@ef600300"),
    nodes,
    on_qemu: false,
    // Linux begins with two TLB entries of 16 MB (arch/powerpc/kernel/head_40x.S, initial_mmu).
    reach: 32 << 20,
    stack: false,
};

fn nodes(fdt: &mut FdtWriter, config: &MachineConfig, _: Target) -> Result<(), Error> {
    super::tree::control_node(fdt, config)?;
    let (_, _, bus) = super::clocks(config);
    let controller = fdt.begin_node("interrupt-controller")?;
    fdt.property_string("compatible", "ibm,uic")?;
    fdt.property_null("interrupt-controller")?;
    fdt.property_u32("cell-index", 0)?;
    fdt.property_array_u32("dcr-reg", &[uic::FIRST, uic::REGISTERS])?;
    fdt.property_u32("#address-cells", 0)?;
    fdt.property_u32("#size-cells", 0)?;
    fdt.property_u32("#interrupt-cells", 2)?;
    fdt.property_phandle(1)?;
    fdt.end_node(controller)?;
    let plb = fdt.begin_node("plb")?;
    fdt.property_string("compatible", "ibm,plb3")?;
    fdt.property_u32("#address-cells", 1)?;
    fdt.property_u32("#size-cells", 1)?;
    fdt.property_null("ranges")?;
    fdt.property_u32("clock-frequency", bus)?;
    let opb = fdt.begin_node("opb")?;
    fdt.property_string("compatible", "ibm,opb")?;
    fdt.property_u32("#address-cells", 1)?;
    fdt.property_u32("#size-cells", 1)?;
    fdt.property_array_u32("ranges", &[0xef60_0000, 0xef60_0000, 0x00a0_0000])?;
    fdt.property_u32("clock-frequency", bus / 2)?;
    super::tree::serial_node(fdt, config, UART, &[0, uic::HIGH_LEVEL])?;
    fdt.end_node(opb)?;
    fdt.end_node(plb)
}
