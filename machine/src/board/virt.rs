//! Board `virt`: devices and addresses of QEMU's board of this name for RISC-V (hw/riscv/virt.c), as far as they are
//! here: CLINT, PLIC or interrupt files (IMSIC) with what is wired to them (APLIC), a 16550, the first of its places
//! for virtio with a disk, and a device that powers off. RAM begins at 2 GB.

use serde::{Deserialize, Serialize};
use vm_fdt::FdtWriter;

use super::aplic::SOURCES;
use super::clint::Clint;
use super::disk::Disk;
use super::imsic::{self, Imsic};
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
/// The pages of interrupt files of machine mode, and of supervisor mode.
const FILES_AT: [u32; 2] = [0x2400_0000, 0x2800_0000];
const FILE: u32 = 0x1000;
const WIRED_AT: u32 = 0x0d00_0000;
const WIRED_SIZE: u32 = 0x8000;
const UART_AT: u32 = 0x1000_0000;
const UART_LINE: u8 = 10;
const DISK_AT: u32 = 0x1000_1000;
const DISK_LINE: u8 = 1;

const CLINT: usize = 0;
/// A PLIC, or interrupt files.
const CONTROLLER: usize = 1;
const UART: usize = 2;
const FINISHER: usize = 3;
const DISK: usize = 4;

/// The controllers' windows come last: that of the PLIC, or those of the files and of what is wired to them.
const WINDOWS: [Window; 5] = [
    Window::at(CLINT_AT, 0x1_0000, CLINT),
    Window::at(UART_AT, 8, UART),
    Window::at(FINISHER_AT, 0x1000, FINISHER),
    Window::at(DISK_AT, 0x1000, DISK),
    Window::at(PLIC_AT, PLIC_SIZE, CONTROLLER),
];
const FILE_WINDOWS: [Window; 7] = {
    let [clint, uart, finisher, disk, _] = WINDOWS;
    let files = Window::at(FILES_AT[0], 8 * FILE, CONTROLLER);
    let supervisor = Window {
        window: 1,
        ..Window::at(FILES_AT[1], 8 * FILE, CONTROLLER)
    };
    let wired = Window {
        window: imsic::WIRED,
        ..Window::at(WIRED_AT, WIRED_SIZE, CONTROLLER)
    };
    [clint, uart, finisher, disk, files, supervisor, wired]
};

/// The interrupts of UART and disk, then those of 8 processors, which the CLINT knows from this line on.
const fn wires(first: u8) -> [Wire; 18] {
    const fn wire(from: usize, to: usize, line: u8) -> Wire {
        Wire { from, to, line }
    }
    let mut wires = [wire(UART, CONTROLLER, UART_LINE); 18];
    wires[1] = wire(DISK, CONTROLLER, DISK_LINE);
    let mut n = 0;
    while n < 16 {
        wires[2 + n] = wire(CONTROLLER, CLINT, first + n as u8);
        n += 1;
    }
    wires
}

const WIRES: [Wire; 18] = wires(0);
const FILE_WIRES: [Wire; 18] = wires(16);

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
    /// It has interrupt files.
    pub files: bool,
    /// A processor that stays in reset.
    pub dead_processor: Option<u8>,
}

pub(super) fn parts(virt: &Virt) -> Parts {
    let controller: Box<dyn Device> = if virt.files {
        Box::new(Imsic::new(virt.processors))
    } else {
        Box::new(Plic::new(virt.processors))
    };
    let (windows, wires): (&[Window], &[Wire]) = if virt.files {
        (&FILE_WINDOWS, &FILE_WIRES)
    } else {
        (&WINDOWS, &WIRES)
    };
    Parts {
        devices: vec![
            Box::new(Clint::new(virt.processors, virt.clock, virt.timebase)),
            controller,
            Box::new(Uart::new()),
            Box::new(Finisher),
            Box::new(Disk::new(RAM)),
        ],
        master: Some(DISK),
        windows,
        wires,
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

/// The device tree's phandle of processor `number`'s interrupt controller; that of what devices are
/// wired to is [`WIRED_HANDLE`].
pub(crate) fn processor_handle(number: u8) -> u32 {
    u32::from(number) + 1
}

const WIRED_HANDLE: u32 = 0x20;
const FINISHER_HANDLE: u32 = 0x21;
const FILES_HANDLE: u32 = 0x22;

/// The path of the console's node.
pub(crate) const CONSOLE: &str = "/soc/serial@10000000";

fn region(fdt: &mut FdtWriter, at: u32, size: u32) -> Result<(), vm_fdt::Error> {
    fdt.property_array_u64("reg", &[at.into(), size.into()])
}

/// The PLIC's node.
fn plic(fdt: &mut FdtWriter, processors: u8) -> Result<(), vm_fdt::Error> {
    let plic = fdt.begin_node(&format!("plic@{PLIC_AT:x}"))?;
    let names = ["sifive,plic-1.0.0", "riscv,plic0"];
    fdt.property_string_list("compatible", names.map(str::to_owned).to_vec())?;
    region(fdt, PLIC_AT, PLIC_SIZE)?;
    fdt.property_u32("#address-cells", 0)?;
    fdt.property_u32("#interrupt-cells", 1)?;
    fdt.property_null("interrupt-controller")?;
    fdt.property_u32("riscv,ndev", 95)?;
    // External interrupts of machine and supervisor mode.
    let lines = (0..processors).flat_map(|n| [processor_handle(n), 11, processor_handle(n), 9]);
    fdt.property_array_u32("interrupts-extended", &lines.collect::<Vec<_>>())?;
    fdt.property_phandle(WIRED_HANDLE)?;
    fdt.end_node(plic)
}

/// The nodes of the interrupt files, of machine mode and of supervisor mode.
fn interrupt_files(fdt: &mut FdtWriter, processors: u8) -> Result<(), vm_fdt::Error> {
    for (at, line) in FILES_AT.into_iter().zip([11, 9]) {
        let node = fdt.begin_node(&format!("imsics@{at:x}"))?;
        fdt.property_string("compatible", "riscv,imsics")?;
        region(fdt, at, FILE * u32::from(processors))?;
        fdt.property_u32("#interrupt-cells", 0)?;
        fdt.property_null("interrupt-controller")?;
        fdt.property_null("msi-controller")?;
        fdt.property_u32("#msi-cells", 0)?;
        fdt.property_u32("riscv,num-ids", imsic::IDENTITIES)?;
        let lines = (0..processors).flat_map(|n| [processor_handle(n), line]);
        fdt.property_array_u32("interrupts-extended", &lines.collect::<Vec<_>>())?;
        if line == 9 {
            fdt.property_phandle(FILES_HANDLE)?;
        }
        fdt.end_node(node)?;
    }
    let node = fdt.begin_node(&format!("aplic@{WIRED_AT:x}"))?;
    fdt.property_string("compatible", "riscv,aplic")?;
    region(fdt, WIRED_AT, WIRED_SIZE)?;
    fdt.property_u32("#interrupt-cells", 2)?;
    fdt.property_null("interrupt-controller")?;
    fdt.property_u32("riscv,num-sources", SOURCES)?;
    fdt.property_u32("msi-parent", FILES_HANDLE)?;
    fdt.property_phandle(WIRED_HANDLE)?;
    fdt.end_node(node)
}

/// A device's interrupt: a number of the PLIC, or a number with a high level.
fn wired(fdt: &mut FdtWriter, virt: &Virt, line: u8) -> Result<(), vm_fdt::Error> {
    const LEVEL_HIGH: u32 = 4;
    let words = [line.into(), LEVEL_HIGH];
    fdt.property_u32("interrupt-parent", WIRED_HANDLE)?;
    fdt.property_array_u32("interrupts", if virt.files { &words } else { &words[..1] })
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

    let clint = fdt.begin_node(&format!("clint@{CLINT_AT:x}"))?;
    let names = ["sifive,clint0", "riscv,clint0"];
    fdt.property_string_list("compatible", names.map(str::to_owned).to_vec())?;
    region(fdt, CLINT_AT, 0x1_0000)?;
    // Software interrupt and timer of machine mode.
    let lines = (0..virt.processors).flat_map(|n| [processor_handle(n), 3, processor_handle(n), 7]);
    fdt.property_array_u32("interrupts-extended", &lines.collect::<Vec<_>>())?;
    fdt.end_node(clint)?;

    if virt.files {
        interrupt_files(fdt, virt.processors)?;
    } else {
        plic(fdt, virt.processors)?;
    }

    let uart = fdt.begin_node(&format!("serial@{UART_AT:x}"))?;
    fdt.property_string("compatible", "ns16550a")?;
    region(fdt, UART_AT, 0x100)?;
    fdt.property_u32("clock-frequency", 3_686_400)?;
    wired(fdt, virt, UART_LINE)?;
    fdt.end_node(uart)?;

    if disk {
        let disk = fdt.begin_node(&format!("virtio_mmio@{DISK_AT:x}"))?;
        fdt.property_string("compatible", "virtio,mmio")?;
        region(fdt, DISK_AT, 0x1000)?;
        wired(fdt, virt, DISK_LINE)?;
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
