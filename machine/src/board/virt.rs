//! Board `virt`: devices and addresses of QEMU's board of this name for RISC-V (hw/riscv/virt.c), as far as they are
//! here: CLINT, PLIC, a 16550, the first of its places for virtio with a disk, and a device that powers off. RAM begins
//! at 2 GB.

use serde::{Deserialize, Serialize};
use vm_fdt::FdtWriter;

use super::clint::Clint;
use super::disk::Disk;
use super::plic::Plic;
use super::uart::Uart;
use super::{At, Console, Device, Effect, Parts, Physical, Window, Wire, restored, saved};

/// Where RAM begins.
pub const RAM: Physical = 0x8000_0000;
/// The page before the control device's user half; QEMU's board has nothing there.
pub(super) const CONTROL: Physical = 0x0600_0000;
const CONTROL_KERNEL: u32 = 0xf00;
const CONTROL_USER: u32 = 0x1000;

const FINISHER_AT: u32 = 0x0010_0000;
const CLINT_AT: u32 = 0x0200_0000;
const PLIC_AT: u32 = 0x0c00_0000;
const PLIC_SIZE: u32 = 0x0060_0000;
const UART_AT: u32 = 0x1000_0000;
const UART_LINE: u8 = 10;
const DISK_AT: u32 = 0x1000_1000;
const DISK_LINE: u8 = 1;

const CLINT: usize = 0;
const PLIC: usize = 1;
const UART: usize = 2;
const FINISHER: usize = 3;
const DISK: usize = 4;

const WINDOWS: [Window; 5] = [
    Window::at(CLINT_AT, 0x1_0000, CLINT),
    Window::at(PLIC_AT, PLIC_SIZE, PLIC),
    Window::at(UART_AT, 8, UART),
    Window::at(FINISHER_AT, 0x1000, FINISHER),
    Window::at(DISK_AT, 0x1000, DISK),
];

const fn context(line: u8) -> Wire {
    Wire {
        from: PLIC,
        to: CLINT,
        line,
    }
}

/// The interrupts of UART and disk, then the contexts of 8 processors.
const WIRES: [Wire; 18] = [
    Wire {
        from: UART,
        to: PLIC,
        line: UART_LINE,
    },
    Wire {
        from: DISK,
        to: PLIC,
        line: DISK_LINE,
    },
    context(0),
    context(1),
    context(2),
    context(3),
    context(4),
    context(5),
    context(6),
    context(7),
    context(8),
    context(9),
    context(10),
    context(11),
    context(12),
    context(13),
    context(14),
    context(15),
];

/// What a machine file says of the board.
#[derive(Clone, Copy, Debug)]
pub struct Virt {
    pub processors: u8,
    /// The core's clock in Hz.
    pub clock: u64,
    /// Ticks of mtime in a second.
    pub timebase: u64,
    /// It has the control device.
    pub control: bool,
}

pub(super) fn parts(virt: &Virt) -> Parts {
    Parts {
        devices: vec![
            Box::new(Clint::new(virt.processors, virt.clock, virt.timebase)),
            Box::new(Plic::new(virt.processors)),
            Box::new(Uart::new()),
            Box::new(Finisher),
            Box::new(Disk::new(RAM)),
        ],
        master: Some(DISK),
        windows: &WINDOWS,
        wires: &WIRES,
        ..Parts::around(CLINT)
    }
}

/// SiFive's test device: a write ends the run.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Finisher;

const FAIL: u64 = 0x3333;
const PASS: u64 = 0x5555;
const RESET: u64 = 0x7777;

impl Device for Finisher {
    fn widths(&self) -> &'static [u32] {
        &[2, 4]
    }

    fn read(&mut self, _: At, _: &mut Console) -> Result<u64, &'static str> {
        Ok(0)
    }

    fn write(
        &mut self,
        at: At,
        value: u64,
        _: &mut Console,
    ) -> Result<Option<Effect>, &'static str> {
        Ok(match (at.offset, value & 0xffff) {
            // A restart ends the run, too.
            (0, PASS | RESET) => Some(Effect::PowerOff(0)),
            (0, FAIL) => Some(Effect::PowerOff((value >> 16) as u32)),
            _ => None,
        })
    }

    fn save(&self) -> Vec<u8> {
        saved(self)
    }

    fn restore(&mut self, state: &[u8]) -> bool {
        restored(self, state, |_| true)
    }
}

/// The device tree's phandle of processor `number`'s interrupt controller; that of the PLIC is [`PLIC_HANDLE`].
pub(crate) fn processor_handle(number: u8) -> u32 {
    u32::from(number) + 1
}

const PLIC_HANDLE: u32 = 0x20;
const FINISHER_HANDLE: u32 = 0x21;

/// The path of the console's node.
pub(crate) const CONSOLE: &str = "/soc/serial@10000000";

fn region(fdt: &mut FdtWriter, at: u32, size: u32) -> Result<(), vm_fdt::Error> {
    fdt.property_array_u64("reg", &[at.into(), size.into()])
}

/// Writes the nodes of the devices, in a root with cells of 64 bits. An empty place for a disk has none.
pub(crate) fn nodes(fdt: &mut FdtWriter, virt: &Virt, disk: bool) -> Result<(), vm_fdt::Error> {
    let soc = fdt.begin_node("soc")?;
    fdt.property_u32("#address-cells", 2)?;
    fdt.property_u32("#size-cells", 2)?;
    fdt.property_string("compatible", "simple-bus")?;
    fdt.property_null("ranges")?;

    let finisher = fdt.begin_node(&format!("test@{FINISHER_AT:x}"))?;
    let names = ["sifive,test1", "sifive,test0", "syscon"];
    fdt.property_string_list("compatible", names.map(str::to_owned).to_vec())?;
    region(fdt, FINISHER_AT, 0x1000)?;
    fdt.property_phandle(FINISHER_HANDLE)?;
    fdt.end_node(finisher)?;

    let processors = 0..virt.processors;
    let clint = fdt.begin_node(&format!("clint@{CLINT_AT:x}"))?;
    let names = ["sifive,clint0", "riscv,clint0"];
    fdt.property_string_list("compatible", names.map(str::to_owned).to_vec())?;
    region(fdt, CLINT_AT, 0x1_0000)?;
    // Software interrupt and timer of machine mode.
    let lines = processors
        .clone()
        .flat_map(|n| [processor_handle(n), 3, processor_handle(n), 7]);
    fdt.property_array_u32("interrupts-extended", &lines.collect::<Vec<_>>())?;
    fdt.end_node(clint)?;

    let plic = fdt.begin_node(&format!("plic@{PLIC_AT:x}"))?;
    let names = ["sifive,plic-1.0.0", "riscv,plic0"];
    fdt.property_string_list("compatible", names.map(str::to_owned).to_vec())?;
    region(fdt, PLIC_AT, PLIC_SIZE)?;
    fdt.property_u32("#address-cells", 0)?;
    fdt.property_u32("#interrupt-cells", 1)?;
    fdt.property_null("interrupt-controller")?;
    fdt.property_u32("riscv,ndev", 95)?;
    // External interrupts of machine and supervisor mode.
    let lines = processors.flat_map(|n| [processor_handle(n), 11, processor_handle(n), 9]);
    fdt.property_array_u32("interrupts-extended", &lines.collect::<Vec<_>>())?;
    fdt.property_phandle(PLIC_HANDLE)?;
    fdt.end_node(plic)?;

    let uart = fdt.begin_node(&format!("serial@{UART_AT:x}"))?;
    fdt.property_string("compatible", "ns16550a")?;
    region(fdt, UART_AT, 0x100)?;
    fdt.property_u32("clock-frequency", 3_686_400)?;
    fdt.property_u32("interrupt-parent", PLIC_HANDLE)?;
    fdt.property_u32("interrupts", UART_LINE.into())?;
    fdt.end_node(uart)?;

    if disk {
        let disk = fdt.begin_node(&format!("virtio_mmio@{DISK_AT:x}"))?;
        fdt.property_string("compatible", "virtio,mmio")?;
        region(fdt, DISK_AT, 0x1000)?;
        fdt.property_u32("interrupt-parent", PLIC_HANDLE)?;
        fdt.property_u32("interrupts", DISK_LINE.into())?;
        fdt.end_node(disk)?;
    }

    if virt.control {
        let kernel = CONTROL as u32 + CONTROL_KERNEL;
        let control = fdt.begin_node(&format!("pagewalk@{kernel:x}"))?;
        fdt.property_string("compatible", "pagewalk,control")?;
        let user = CONTROL as u32 + CONTROL_USER;
        let halves = [kernel, 0x100, user, 0x1000].map(u64::from);
        fdt.property_array_u64("reg", &halves)?;
        fdt.end_node(control)?;
    }
    fdt.end_node(soc)?;
    for (name, value) in [("poweroff", PASS), ("reboot", RESET)] {
        let node = fdt.begin_node(name)?;
        fdt.property_string("compatible", &format!("syscon-{name}"))?;
        fdt.property_u32("regmap", FINISHER_HANDLE)?;
        fdt.property_u32("offset", 0)?;
        fdt.property_u32("value", value as u32)?;
        fdt.end_node(node)?;
    }
    Ok(())
}
