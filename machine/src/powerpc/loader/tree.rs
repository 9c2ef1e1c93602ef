//! The flattened device tree (docs/interfaces.md, section 4; format: Devicetree Specification 0.4, chapter 5): the
//! nodes that every board has. Each board adds its devices.

use std::ops::Range;

use vm_fdt::{Error, FdtWriter};

use crate::board::{Target, Tree, clocks};
use crate::config::{InterruptController, MachineConfig};
use crate::loader::LoadError;

/// Time base of QEMU's 40p, in Hz. The tree uses it for every clock, because QEMU models no other.
const QEMU_TIMEBASE: u32 = 100_000_000;

/// Builds the tree for a kernel with this command line and initramfs (physical addresses).
///
/// # Errors
/// When `arguments` holds a NUL byte.
pub fn device_tree(
    config: &MachineConfig,
    target: Target,
    arguments: &str,
    initramfs: Option<Range<u32>>,
) -> Result<Vec<u8>, LoadError> {
    let name = config.board.kind.tree().map_or("", |tree| tree.boards[0]);
    device_tree_of(name, config, target, arguments, initramfs)
}

/// [`device_tree`] for the board that Linux knows by this name.
///
/// # Errors
/// As [`device_tree`].
pub(super) fn device_tree_of(
    name: &str,
    config: &MachineConfig,
    target: Target,
    arguments: &str,
    initramfs: Option<Range<u32>>,
) -> Result<Vec<u8>, LoadError> {
    let Some(board) = config.board.kind.tree() else {
        return Err(LoadError::BadTree {
            message: format!(
                "kernels for board.kind \"{}\" read none",
                config.board.kind.name()
            ),
        });
    };
    if target == Target::Qemu40p && !board.on_qemu {
        return Err(LoadError::BadTree {
            message: "QEMU's 40p has board.kind \"prep\", and no other".to_owned(),
        });
    }
    if target == Target::Qemu40p
        && config.board.interrupt_controller != InterruptController::default()
    {
        return Err(LoadError::BadTree {
            message: "QEMU's 40p has one processor and no OpenPIC".to_owned(),
        });
    }
    Ok(build(name, config, board, target, arguments, initramfs)?)
}

fn build(
    name: &str,
    config: &MachineConfig,
    board: &Tree,
    target: Target,
    arguments: &str,
    initramfs: Option<Range<u32>>,
) -> Result<Vec<u8>, Error> {
    let mut fdt = FdtWriter::new()?;
    let root = fdt.begin_node("")?;
    fdt.property_string("model", board.model)?;
    fdt.property_string("compatible", name)?;
    fdt.property_u32("#address-cells", 1)?;
    fdt.property_u32("#size-cells", 1)?;
    processor(&mut fdt, config, board.timebase_interrupt, target)?;
    let memory = fdt.begin_node("memory@0")?;
    fdt.property_string("device_type", "memory")?;
    fdt.property_array_u32("reg", &[0, config.memory.size])?;
    fdt.end_node(memory)?;
    (board.nodes)(&mut fdt, config, target)?;
    let chosen = fdt.begin_node("chosen")?;
    fdt.property_string("bootargs", arguments)?;
    let (property, console) = board.stdout;
    fdt.property_string(property, console)?;
    if let Some(range) = initramfs {
        fdt.property_u32("linux,initrd-start", range.start)?;
        fdt.property_u32("linux,initrd-end", range.end)?;
    }
    fdt.end_node(chosen)?;
    fdt.end_node(root)?;
    fdt.finish()
}

fn processor(
    fdt: &mut FdtWriter,
    config: &MachineConfig,
    timebase_interrupt: Option<[u32; 2]>,
    target: Target,
) -> Result<(), Error> {
    let (clock, timebase, bus) = match target {
        Target::Pagewalk => clocks(config),
        Target::Qemu40p => (QEMU_TIMEBASE, QEMU_TIMEBASE, QEMU_TIMEBASE),
    };
    let cpus = fdt.begin_node("cpus")?;
    fdt.property_u32("#address-cells", 1)?;
    fdt.property_u32("#size-cells", 0)?;
    for number in 0..config.processors {
        let cpu = fdt.begin_node(&format!("cpu@{number}"))?;
        fdt.property_string("device_type", "cpu")?;
        fdt.property_string(
            "compatible",
            &format!("PowerPC,{}", config.core.kind.name()),
        )?;
        fdt.property_u32("reg", number.into())?;
        fdt.property_u32("cpu-version", config.core.pvr)?;
        fdt.property_u32("clock-frequency", clock)?;
        fdt.property_u32("timebase-frequency", timebase)?;
        fdt.property_u32("bus-frequency", bus)?;
        fdt.property_u32("d-cache-size", config.cache.data.size)?;
        fdt.property_u32("i-cache-size", config.cache.instruction.size)?;
        fdt.property_u32("d-cache-line-size", config.cache.data.line)?;
        fdt.property_u32("i-cache-line-size", config.cache.instruction.line)?;
        let (entries, sets) = match &config.tlb.unified {
            Some(unified) => (
                unified.entries,
                unified.ways.map_or(1, |ways| unified.entries / ways),
            ),
            None => (config.tlb.data.entries, config.tlb.data.sets()),
        };
        fdt.property_u32("tlb-size", entries)?;
        fdt.property_u32("tlb-sets", sets)?;
        if let Some(interrupt) = timebase_interrupt {
            fdt.property_u32("interrupt-parent", 1)?;
            fdt.property_array_u32("interrupts", &interrupt)?;
        }
        if config.processors > 1 {
            let reaches = config.core.kind.broadcasts_translations();
            let reaches = reaches && config.tlb.broadcast.unwrap_or(true);
            fdt.property_u32("tlb-broadcast", reaches.into())?;
        }
        fdt.end_node(cpu)?;
    }
    fdt.end_node(cpus)
}
