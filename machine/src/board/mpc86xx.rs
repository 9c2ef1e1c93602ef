//! Board `mpc86xx`: the part of an MPC8641's configuration space (MPC8641D Reference Manual, chapter 2) that Linux for
//! `MPC8641HPCN` uses: interrupt controller, start of processors, reset, one UART. CCSR is at 0xffe00000. Its cores
//! here are 603s, 604s and 750s; the real one has e600s. An access that nothing answers ends the run.

use vm_fdt::{Error, FdtWriter};

use super::mcm::Mcm;
use super::openpic::{Model, OpenPic, Shape};
use super::registers::{self, Kind, Plain};
use super::uart::Uart;
use super::{Effect, Node, Parts, Target, Tree, Window, Wire};
use crate::config::MachineConfig;

const CCSR: u32 = 0xffe0_0000;
const CCSR_SIZE: u32 = 0x10_0000;

const COHERENCY: usize = 0;
const SERIAL: usize = 1;
const INTERRUPTS: usize = 2;
const UTILITIES: usize = 3;

const WINDOWS: [Window; 4] = [
    Window::at(CCSR + 0x1000, 0x1000, COHERENCY),
    Window::at(CCSR + 0x4500, 8, SERIAL),
    Window::at(CCSR + 0x4_0000, 0x4_0000, INTERRUPTS),
    Window::at(CCSR + 0xe_0000, 0x1000, UTILITIES),
];

const NODES: [Node; 5] = [
    Node::at(CCSR + 0x1000, 0x1000, "/soc@ffe00000/mcm@1000"),
    Node::at(CCSR + 0x4500, 0x100, "/soc@ffe00000/serial@4500"),
    Node::at(CCSR + 0x4_0000, 0x4_0000, "/soc@ffe00000/pic@40000"),
    Node::at(
        CCSR + 0xe_0000,
        0x1000,
        "/soc@ffe00000/global-utilities@e0000",
    ),
    Node::at(CCSR, CCSR_SIZE, "/soc@ffe00000"),
];

/// Interrupt sources of the MPIC, of which the first 16 are for pins. Linux writes to the registers of 256.
const SOURCES: usize = 256;
/// The source of the UARTs: internal interrupt 26.
const UART_SOURCE: u8 = 16 + 26;
/// Sense of an interrupt in the device tree: active high level.
const HIGH_LEVEL: u32 = 2;

/// The timers count an eighth of the platform clock, which is the bus clock here.
const BUS_CLOCKS_PER_TICK: u64 = 8;

const WIRES: [Wire; 1] = [Wire {
    from: SERIAL,
    to: INTERRUPTS,
    line: UART_SOURCE,
}];

/// RSTCR: HRESET_REQ (2) resets the board, which ends the run.
const RSTCR: registers::Register = registers::word(0xb0, Kind::AsksFor(2, Effect::PowerOff(0)));

pub(super) fn parts(config: &MachineConfig) -> Parts {
    let pic = Shape {
        model: Model::Mpc8641,
        processors: config.processors,
        inputs: SOURCES,
        tick: config.bus.core_cycles(BUS_CLOCKS_PER_TICK),
    };
    Parts {
        devices: vec![
            Box::new(Mcm::new()),
            Box::new(Uart::new()),
            Box::new(OpenPic::new(pic)),
            Box::new(Plain::new([RSTCR])),
        ],
        windows: &WINDOWS,
        wires: &WIRES,
        starter: COHERENCY,
        nodes: &NODES,
        strict: true,
        ..Parts::around(INTERRUPTS)
    }
}

pub(super) const TREE: Tree = Tree {
    model: "pagewalk,mpc86xx",
    boards: &[
        "fsl,mpc8641hpcn",
        "fsl,MPC8610HPCD",
        "gef,sbc610",
        "gef,sbc310",
        "gef,ppc9a",
        "artesyn,MVME7100",
    ],
    timebase_interrupt: None,
    stdout: ("stdout-path", "/soc@ffe00000/serial@4500"),
    nodes,
    on_qemu: false,
    // The first BAT maps 256 MB.
    reach: 256 << 20,
    stack: true,
};

fn nodes(fdt: &mut FdtWriter, config: &MachineConfig, _: Target) -> Result<(), Error> {
    super::tree::control_node(fdt, config)?;
    let (_, _, bus) = super::clocks(config);
    let soc = super::tree::begin_soc(
        fdt,
        &["fsl,mpc8641-soc", "simple-bus"],
        CCSR,
        CCSR_SIZE,
        0x1000,
    )?;
    fdt.property_u32("bus-frequency", bus)?;
    let mcm = fdt.begin_node("mcm@1000")?;
    fdt.property_string_list(
        "compatible",
        vec!["fsl,mpc8641-mcm".to_owned(), "fsl,mcm".to_owned()],
    )?;
    fdt.property_array_u32("reg", &[0x1000, 0x1000])?;
    fdt.end_node(mcm)?;
    let pic = fdt.begin_node("pic@40000")?;
    fdt.property_null("interrupt-controller")?;
    fdt.property_u32("#address-cells", 0)?;
    fdt.property_u32("#interrupt-cells", 4)?;
    fdt.property_array_u32("reg", &[0x4_0000, 0x4_0000])?;
    fdt.property_string("compatible", "fsl,mpic")?;
    fdt.property_string("device_type", "open-pic")?;
    fdt.property_null("big-endian")?;
    fdt.property_null("single-cpu-affinity")?;
    fdt.property_u32("last-interrupt-source", SOURCES as u32 - 1)?;
    fdt.property_phandle(1)?;
    fdt.end_node(pic)?;
    super::tree::serial_node(fdt, config, 0x4500, &[UART_SOURCE.into(), HIGH_LEVEL, 0, 0])?;
    let utilities = fdt.begin_node("global-utilities@e0000")?;
    fdt.property_string("compatible", "fsl,mpc8641-guts")?;
    fdt.property_array_u32("reg", &[0xe_0000, 0x1000])?;
    fdt.property_null("fsl,has-rstcr")?;
    fdt.end_node(utilities)?;
    fdt.end_node(soc)
}
