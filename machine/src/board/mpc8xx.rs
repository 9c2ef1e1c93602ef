//! Board `mpc8xx`: the part of an MPC875's internal memory map (MPC885 RM chapter 2) that Linux for `adder875` uses.
//! The console is a 16550 UART on the local bus; the real board has it on the CPM's SMC1. IMMR is at 0xff000000. An
//! access that nothing answers ends the run.

use vm_fdt::{Error, FdtWriter};

use super::cpm;
use super::registers::{self, Kind, Plain, words};
use super::siu::{self, Siu};
use super::uart::Uart;
use super::{Effect, Node, Parts, Target, Tree, Window, Wire};
use crate::config::MachineConfig;

/// Base of the internal memory map, on both boards of an 8xx.
pub(crate) const IMMR: u32 = 0xff00_0000;
pub(super) const IMMR_SIZE: u32 = 0x4000;
const LOCAL_BUS: u32 = 0xfa00_0000;

const INTERRUPTS: usize = 0;
const INTERNAL: usize = 1;
const SERIAL: usize = 2;

const WINDOWS: [Window; 3] = [
    Window::at(IMMR + siu::FIRST, siu::SIZE, INTERRUPTS),
    Window::at(IMMR, IMMR_SIZE, INTERNAL),
    Window::at(LOCAL_BUS, 8, SERIAL),
];

const NODES: [Node; 4] = [
    Node::at(IMMR, 0x24, "/soc@ff000000/interrupt-controller@0"),
    Node::at(IMMR + cpm::COMMAND_AT, 0x40, "/soc@ff000000/cpm@9c0"),
    Node::at(IMMR, IMMR_SIZE, "/soc@ff000000"),
    Node::at(LOCAL_BUS, 0x1000, "/localbus@fa000000/serial@0"),
];

/// External interrupt IRQ2: the even numbers are the pins, the odd ones the internal levels.
const SERIAL_INTERRUPT: u8 = 4;

const WIRES: [Wire; 1] = [Wire {
    from: SERIAL,
    to: INTERRUPTS,
    line: SERIAL_INTERRUPT,
}];

/// CPCR has 16 bits. FLG reads 0 right after a command is written, because commands take no time.
const CPCR: registers::Register = registers::Register {
    offset: cpm::COMMAND_AT,
    size: 2,
    reset: 0,
    kind: Kind::Clears(cpm::CPCR_FLAG as u32),
};

/// PLPRCR: with CSR (0x80) a checkstop resets the board. Linux sets it to restart, which ends the run.
const PLPRCR: registers::Register =
    registers::word(0x284, Kind::AsksFor(0x80, Effect::PowerOff(0)));

/// The registers that boards `mpc8xx` and `fads` have in common: all that are modelled, but for the interrupt
/// controllers and the communications processor.
pub(super) fn system() -> impl Iterator<Item = registers::Register> {
    // SIUMCR, SYPCR; SDCR; memory controller.
    (words(0x000, 0x008))
        .chain(words(0x030, 0x034))
        .chain(words(0x100, 0x180))
        // Time base and real-time clock; SCCR and PLPRCR; the keys of both groups.
        .chain(words(0x200, 0x210))
        .chain(words(0x220, 0x230))
        .chain(words(0x240, 0x24c))
        .chain(words(0x280, 0x284))
        .chain([PLPRCR])
        .chain(words(0x300, 0x310))
        .chain(words(0x320, 0x330))
        .chain(words(0x340, 0x348))
        .chain(words(0x380, 0x38c))
        // Ports A, C, D; RCCR.
        .chain(words(0x950, 0x97c))
        .chain(words(0x9c4, 0x9c8))
        // Baud rate generators; ports B and E, clock and time-slot assignment.
        .chain(words(0x9f0, 0xa00))
        .chain(words(0xab8, 0xaf4))
}

/// The same with a communications processor that does nothing: its registers keep what is written.
fn internal() -> Plain {
    const CONTROLLER_END: u32 = cpm::INTERRUPTS_AT + cpm::INTERRUPTS_SIZE;
    const RAM_END: u32 = cpm::DUAL_PORT_RAM_AT + cpm::DUAL_PORT_RAM_SIZE;
    Plain::new(
        system()
            // CIVR; CICR to CISR. No interrupt comes.
            .chain(words(cpm::INTERRUPTS_AT, cpm::INTERRUPTS_AT + 4))
            .chain(words(cpm::INTERRUPTS_AT + 0x10, CONTROLLER_END))
            .chain([CPCR])
            .chain(words(cpm::DUAL_PORT_RAM_AT, RAM_END)),
    )
}

pub(super) fn parts() -> Parts {
    Parts {
        devices: vec![
            Box::new(Siu::new()),
            Box::new(internal()),
            Box::new(Uart::new()),
        ],
        windows: &WINDOWS,
        wires: &WIRES,
        nodes: &NODES,
        strict: true,
        ..Parts::around(INTERRUPTS)
    }
}

pub(super) const TREE: Tree = Tree {
    model: "pagewalk,mpc8xx",
    boards: &[
        "analogue-and-micro,adder875",
        "fsl,mpc885ads",
        "fsl,mpc866ads",
        "fsl,ep88xc",
        "tqc,tqm8xx",
    ],
    // Internal level 7, as on an MPC885ADS.
    timebase_interrupt: Some([15, siu::HIGH_LEVEL]),
    stdout: ("stdout-path", "/localbus@fa000000/serial@0"),
    nodes,
    on_qemu: false,
    // Linux begins with four TLB entries of 8 MB (arch/powerpc/kernel/head_8xx.S, initial_mmu).
    reach: 32 << 20,
    stack: false,
};

fn nodes(fdt: &mut FdtWriter, config: &MachineConfig, _: Target) -> Result<(), Error> {
    super::tree::control_node(fdt, config)?;
    let soc = super::tree::begin_soc(
        fdt,
        &["fsl,pq1-soc", "simple-bus"],
        IMMR,
        IMMR_SIZE,
        IMMR_SIZE,
    )?;
    let pic = fdt.begin_node("interrupt-controller@0")?;
    fdt.property_null("interrupt-controller")?;
    fdt.property_u32("#interrupt-cells", 2)?;
    fdt.property_array_u32("reg", &[0, 0x24])?;
    fdt.property_string("compatible", "fsl,pq1-pic")?;
    fdt.property_phandle(1)?;
    fdt.end_node(pic)?;
    let cpm = fdt.begin_node("cpm@9c0")?;
    fdt.property_string("compatible", "fsl,cpm1")?;
    fdt.property_array_u32("reg", &[cpm::COMMAND_AT, 0x40])?;
    fdt.end_node(cpm)?;
    fdt.end_node(soc)?;
    let bus = fdt.begin_node("localbus@fa000000")?;
    fdt.property_string("compatible", "simple-bus")?;
    fdt.property_u32("#address-cells", 1)?;
    fdt.property_u32("#size-cells", 1)?;
    fdt.property_array_u32("ranges", &[0, LOCAL_BUS, 0x1000])?;
    super::tree::serial_node(fdt, config, 0, &[SERIAL_INTERRUPT.into(), siu::LOW_LEVEL])?;
    fdt.end_node(bus)
}
