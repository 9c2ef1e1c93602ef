//! The boards' parts of the device tree.

use vm_fdt::FdtWriter;

use super::{CONTROL, CONTROL_KERNEL, CONTROL_USER, mpc8xx, mpc83xx, mpc86xx, ppc405gp, prep};
use crate::config::{BoardKind, MachineConfig};

/// Which computer the tree describes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Target {
    /// This machine.
    #[default]
    Pagewalk,
    /// QEMU's `-M 40p`, to run the same kernel there: without the control device, and with QEMU's time base of 100
    /// MHz (hw/ppc/prep.c, `ibm_40p_init`).
    Qemu40p,
}

/// The board's part of the device tree, and where its kernels expect the tree.
pub(crate) struct Tree {
    pub model: &'static str,
    /// Names of real boards whose kernels find here whatever they need: the root of the tree is compatible with one of
    /// them. The loader takes the first that the kernel knows.
    pub boards: &'static [&'static str],
    /// The cell pair of the time base's interrupt in the processor's node, if kernels ask for it.
    pub timebase_interrupt: Option<[u32; 2]>,
    /// Property of /chosen that names the console, and its value.
    pub stdout: (&'static str, &'static str),
    /// Writes the nodes of the devices.
    pub nodes: fn(&mut FdtWriter, &MachineConfig, Target) -> Result<(), vm_fdt::Error>,
    /// QEMU models this board.
    pub on_qemu: bool,
    /// The tree lies below this address, where kernels map it early.
    pub reach: u32,
    /// The loader gives the kernel a stack, as firmware does, because Linux begins on it.
    pub stack: bool,
}

impl BoardKind {
    /// The board's part of the device tree; a board whose kernels read none has none.
    pub(crate) fn tree(self) -> Option<&'static Tree> {
        match self {
            BoardKind::Prep => Some(&prep::TREE),
            BoardKind::Mpc83xx => Some(&mpc83xx::TREE),
            BoardKind::Mpc86xx => Some(&mpc86xx::TREE),
            BoardKind::Mpc8xx => Some(&mpc8xx::TREE),
            BoardKind::Ppc405gp => Some(&ppc405gp::TREE),
            BoardKind::Fads => None,
        }
    }
}

/// Begins the node of the internal memory map, `size` bytes at `base`, whose first `own` bytes are its own registers.
pub(super) fn begin_soc(
    fdt: &mut FdtWriter,
    compatible: &[&str],
    base: u32,
    size: u32,
    own: u32,
) -> Result<vm_fdt::FdtWriterNode, vm_fdt::Error> {
    let soc = fdt.begin_node(&format!("soc@{base:x}"))?;
    fdt.property_u32("#address-cells", 1)?;
    fdt.property_u32("#size-cells", 1)?;
    fdt.property_string("device_type", "soc")?;
    let compatible = compatible.iter().map(ToString::to_string).collect();
    fdt.property_string_list("compatible", compatible)?;
    fdt.property_array_u32("ranges", &[0, base, size])?;
    fdt.property_array_u32("reg", &[base, own])?;
    Ok(soc)
}

/// The node of a UART at `address` of its bus, whose interrupt is `interrupt` of the controller with phandle 1.
pub(super) fn serial_node(
    fdt: &mut FdtWriter,
    config: &MachineConfig,
    address: u32,
    interrupt: &[u32],
) -> Result<(), vm_fdt::Error> {
    let serial = fdt.begin_node(&format!("serial@{address:x}"))?;
    fdt.property_string("device_type", "serial")?;
    fdt.property_string("compatible", "ns16550")?;
    fdt.property_array_u32("reg", &[address, 0x100])?;
    fdt.property_u32("clock-frequency", config.board.uart_clock)?;
    fdt.property_u32("current-speed", 115_200)?;
    fdt.property_u32("interrupt-parent", 1)?;
    fdt.property_array_u32("interrupts", interrupt)?;
    fdt.end_node(serial)
}

/// The node of the control device on the boards for Linux: kernel half, user half.
pub(super) fn control_node(
    fdt: &mut FdtWriter,
    config: &MachineConfig,
) -> Result<(), vm_fdt::Error> {
    if !config.board.control {
        return Ok(());
    }
    let kernel = CONTROL + CONTROL_KERNEL;
    let control = fdt.begin_node(&format!("pagewalk@{kernel:x}"))?;
    fdt.property_string("compatible", "pagewalk,control")?;
    let halves = [kernel, 0x100, CONTROL + CONTROL_USER, 0x1000];
    fdt.property_array_u32("reg", &halves)?;
    fdt.end_node(control)
}

/// Core, time base and bus clock in Hz, rounded to the nearest.
pub(crate) fn clocks(config: &MachineConfig) -> (u32, u32, u32) {
    let bus_clock = |divider: u64| {
        let per = config.bus.core_per_two_bus() * divider;
        (2 * config.core.clock + per / 2) / per
    };
    let ticks = config.cycles_per_two_ticks();
    // The check of machine files keeps core.clock, and so the others, below 4 GHz.
    let cell = |hertz: u64| u32::try_from(hertz).unwrap_or(u32::MAX);
    (
        cell(config.core.clock),
        cell((2 * config.core.clock + ticks / 2) / ticks),
        cell(bus_clock(1)),
    )
}
