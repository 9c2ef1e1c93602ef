//! Board `mpc83xx`: the part of an MPC8313E's internal memory map (MPC8313E RM chapter 2) that Linux for
//! `MPC8313ERDB` and for boards with other members of the family uses: system configuration, interrupt controller,
//! reset registers, clocks, one UART. IMMR is at 0xe0000000.
//! An access that nothing answers ends the run.

use vm_fdt::{Error, FdtWriter};

use super::ipic::{self, Ipic};
use super::registers::{self, Kind, Plain, Register};
use super::uart::Uart;
use super::{Effect, Node, Parts, Target, Tree, Window, Wire};
use crate::config::MachineConfig;

const IMMR: u32 = 0xe000_0000;
const IMMR_SIZE: u32 = 0x10_0000;

const SYSTEM: usize = 0;
const RESET: usize = 1;
const SERIAL: usize = 2;
const INTERRUPTS: usize = 3;
const CLOCKS: usize = 4;

const WINDOWS: [Window; 5] = [
    Window::at(IMMR + 0x100, 0x100, SYSTEM),
    Window::at(IMMR + 0x700, 0x100, INTERRUPTS),
    Window::at(IMMR + 0x900, 0x100, RESET),
    Window::at(IMMR + 0xa00, 0x100, CLOCKS),
    Window::at(IMMR + 0x4500, 8, SERIAL),
];

const NODES: [Node; 3] = [
    Node::at(IMMR + 0x700, 0x100, "/soc@e0000000/pic@700"),
    Node::at(IMMR + 0x4500, 0x100, "/soc@e0000000/serial@4500"),
    Node::at(IMMR, IMMR_SIZE, "/soc@e0000000"),
];

/// Interrupt source of UART1.
const UART_SOURCE: u8 = 9;

const WIRES: [Wire; 1] = [Wire {
    from: SERIAL,
    to: INTERRUPTS,
    line: UART_SOURCE,
}];

/// SPCR: Linux sets TBEN to start the time base, which always counts here.
const SPCR: Register = registers::word(0x10, Kind::Storage);
/// SICRL and SICRH, and SCCR: which unit has which pins and clocks. Linux for an MPC834x writes there about its USB.
const SICRL: Register = registers::word(0x14, Kind::Storage);
const SICRH: Register = registers::word(0x18, Kind::Storage);
const SCCR: Register = registers::word(0x08, Kind::Storage);
/// RPR enables writes of RCR. A write of RCR resets the board, which ends the run.
const RPR: Register = registers::word(0x18, Kind::Storage);
const RCR: Register = registers::word(0x1c, Kind::Asks(Effect::PowerOff(0)));

pub(super) fn parts() -> Parts {
    Parts {
        devices: vec![
            Box::new(Plain::new([SPCR, SICRL, SICRH])),
            Box::new(Plain::new([RPR, RCR])),
            Box::new(Uart::new()),
            Box::new(Ipic::new()),
            Box::new(Plain::new([SCCR])),
        ],
        windows: &WINDOWS,
        wires: &WIRES,
        nodes: &NODES,
        strict: true,
        ..Parts::around(INTERRUPTS)
    }
}

pub(super) const TREE: Tree = Tree {
    model: "pagewalk,mpc83xx",
    boards: &[
        "MPC8313ERDB",
        "fsl,mpc8315erdb",
        "fsl,mpc8308rdb",
        "MPC834xMDS",
        "MPC834xMITX",
        "analogue-and-micro,asp8347e",
        "MPC832xMDS",
        "MPC832xRDB",
        "MPC836xMDS",
        "fsl,mpc8360rdk",
        "fsl,mpc837xmds",
        "fsl,mpc8377rdb",
        "keymile,KMETER1",
    ],
    timebase_interrupt: None,
    stdout: ("stdout-path", "/soc@e0000000/serial@4500"),
    nodes,
    on_qemu: false,
    // The first BAT maps 256 MB.
    reach: 256 << 20,
    stack: true,
};

fn nodes(fdt: &mut FdtWriter, config: &MachineConfig, _: Target) -> Result<(), Error> {
    super::tree::control_node(fdt, config)?;
    let (_, _, bus) = super::clocks(config);
    let soc = super::tree::begin_soc(fdt, &["simple-bus"], IMMR, IMMR_SIZE, 0x200)?;
    fdt.property_u32("bus-frequency", bus)?;
    let pic = fdt.begin_node("pic@700")?;
    fdt.property_null("interrupt-controller")?;
    fdt.property_u32("#address-cells", 0)?;
    fdt.property_u32("#interrupt-cells", 2)?;
    fdt.property_array_u32("reg", &[0x700, 0x100])?;
    fdt.property_string("compatible", "fsl,ipic")?;
    fdt.property_string("device_type", "ipic")?;
    fdt.property_phandle(1)?;
    fdt.end_node(pic)?;
    super::tree::serial_node(fdt, config, 0x4500, &[UART_SOURCE.into(), ipic::LOW_LEVEL])?;
    fdt.end_node(soc)
}
