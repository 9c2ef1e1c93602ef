//! The board: the devices on the processor bus, at the addresses of its map.
//!
//! RAM is not here: the memory system asks the board only for addresses above RAM. Each board is one file: its
//! devices, address map, interrupt wiring and device tree, and the effect of an access that no device answers. The
//! control device (docs/interfaces.md, section 2) is the simulator's own, at the same addresses on every board.

mod address;
mod apic;
mod aplic;
mod clint;
mod console;
mod control;
mod cpm;
mod device;
mod disk;
mod fads;
mod imsic;
mod ipic;
mod keyboard;
mod mcm;
mod mpc83xx;
mod mpc86xx;
mod mpc8xx;
mod nvram;
mod openpic;
mod parts;
mod pc;
mod pic;
mod pit;
mod plic;
mod ppc405gp;
mod prep;
mod registers;
mod rtc;
mod siu;
mod tree;
mod uart;
mod uic;
mod virt;

pub use address::{PHYSICAL_BITS, Physical};
pub use console::Console;
pub use control::{Effect, Half, TlbView};
pub use device::{BusError, Instant};
pub use disk::DISK_MOST;
pub(crate) use imsic::{number as imsic_number, register as imsic_register};
pub(crate) use mpc8xx::IMMR as MPC8XX_IMMR;
pub(crate) use nvram::SIZE as NVRAM_SIZE;
pub use pc::Pc;
pub use tree::Target;
pub(crate) use tree::{Tree, clocks};
pub(crate) use virt::{CONSOLE as VIRT_CONSOLE, nodes as virt_nodes, processor_handle};
pub use virt::{RAM as VIRT_RAM, Virt};

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::config::{BoardKind, MachineConfig};
use control::Control;
use device::{At, Device, restored, saved};
use parts::{Node, Number, Parts, Window, Wire};

/// Bytes of ROM; a shorter image is padded with ones, as erased flash reads.
pub const ROM_SIZE: usize = 1 << 20;
pub(crate) const ROM_BASE: Physical = 0xfff0_0000;

/// The control device of the boards of PowerPC and x86. Its kernel half ends a page, and its user half is the next one.
const CONTROL: u32 = 0x8000_0000;
const CONTROL_KERNEL: u32 = 0xf00;
const CONTROL_USER: u32 = 0x1000;

impl BoardKind {
    fn parts(self, config: &MachineConfig) -> Parts {
        match self {
            BoardKind::Prep => prep::parts(config),
            BoardKind::Mpc83xx => mpc83xx::parts(),
            BoardKind::Mpc86xx => mpc86xx::parts(config),
            BoardKind::Mpc8xx => mpc8xx::parts(),
            BoardKind::Fads => fads::parts(),
            BoardKind::Ppc405gp => ppc405gp::parts(),
        }
    }
}

/// All devices of the board.
#[derive(Debug)]
pub struct Board {
    parts: Parts,
    control: Option<Control>,
    control_at: Physical,
    rom: Option<Vec<u8>>,
    console: Console,
    /// A processor that stays in reset whatever software writes.
    dead_processor: Option<u8>,
}

/// All devices, for a snapshot.
#[derive(Serialize, Deserialize)]
pub(crate) struct BoardState {
    devices: Vec<Vec<u8>>,
    control: Option<Control>,
    rom: Option<Vec<u8>>,
    printed: Vec<u8>,
    typed: Vec<u8>,
}

/// Who answers an address.
enum Answers {
    Control(Half, u32),
    Rom(usize),
    Device(Window),
    Nobody,
}

impl Board {
    /// A board after power-on.
    pub fn new(config: &MachineConfig, console: Console) -> Self {
        Board {
            parts: config.board.kind.parts(config),
            control: (config.board.control).then(|| Control::new(config.core.clock)),
            control_at: CONTROL.into(),
            rom: None,
            console,
            dead_processor: config.board.dead_processor,
        }
    }

    /// The board of a PC after power-on.
    #[must_use]
    pub fn pc(pc: &Pc, console: Console) -> Self {
        Board {
            parts: pc::parts(pc),
            control: (pc.control).then(|| Control::new(pc.clock)),
            control_at: CONTROL.into(),
            rom: None,
            console,
            dead_processor: None,
        }
    }

    /// Board `virt` of RISC-V machines after power-on.
    #[must_use]
    pub fn virt(virt: &Virt, console: Console) -> Self {
        Board {
            parts: virt::parts(virt),
            control: (virt.control).then(|| Control::new(virt.clock)),
            control_at: virt::CONTROL,
            rom: None,
            console,
            dead_processor: virt.dead_processor,
        }
    }

    /// A board without any device but the control device, which has its kernel half in the page at `control_at` and its
    /// user half in the next one. `clock`: the core's, in Hz.
    #[must_use]
    pub fn bare(control_at: Physical, clock: u64, console: Console) -> Self {
        Board {
            parts: Parts::default(),
            control: Some(Control::new(clock)),
            control_at,
            rom: None,
            console,
            dead_processor: None,
        }
    }

    fn port(&self, port: u16) -> Option<Window> {
        let port = Physical::from(port);
        let mut ports = self.parts.ports.iter();
        ports
            .find(|window| (window.first..=window.last).contains(&port))
            .copied()
    }

    /// Reads an I/O port; ones where nobody answers.
    pub fn port_read(&mut self, port: u16, size: u32, now: Instant) -> u32 {
        (0..size).rev().fold(0, |value, n| {
            let port = port.wrapping_add(n as u16);
            let byte = self.port(port).and_then(|window| {
                let at = self.at(window, port.into(), 1, now).ok()?;
                let byte = self.parts.devices[window.device].read(at, &mut self.console);
                self.spread(window.device);
                byte.ok()
            });
            value << 8 | byte.unwrap_or(0xff) as u32 & 0xff
        })
    }

    /// Writes an I/O port. The machine carries out the effect.
    pub fn port_write(&mut self, port: u16, size: u32, value: u32, now: Instant) -> Option<Effect> {
        let mut effect = None;
        for n in 0..size {
            let port = port.wrapping_add(n as u16);
            let Some(window) = self.port(port) else {
                continue;
            };
            if let Ok(at) = self.at(window, port.into(), 1, now) {
                let byte = u64::from(value >> (8 * n) & 0xff);
                let done = self.parts.devices[window.device].write(at, byte, &mut self.console);
                self.spread(window.device);
                effect = effect.or(done.ok().flatten());
            }
        }
        effect
    }

    /// The processor takes an external interrupt: its vector.
    pub fn acknowledge(&mut self, processor: u8, now: Instant) -> u8 {
        if let Some(vector) = self.parts.devices[self.parts.controller].acknowledge(processor) {
            return vector;
        }
        let window = pc::ACKNOWLEDGE;
        let vector = self
            .at(window, window.first, 1, now)
            .and_then(|at| self.parts.devices[window.device].read(at, &mut self.console));
        self.spread(window.device);
        vector.unwrap_or(0) as u8
    }

    /// Takes the processor's pending non-maskable interrupt, if there is one.
    pub fn non_maskable(&mut self, processor: u8) -> bool {
        self.parts.devices[self.parts.controller].take_non_maskable(processor)
    }

    /// The page at which a processor starts that the board no longer holds, in real mode.
    #[must_use]
    pub fn start_page(&self, processor: u8) -> u8 {
        self.parts.devices[self.parts.starter].start_page(processor)
    }

    /// Fits a ROM at 0xfff00000. `image` longer than [`ROM_SIZE`] is cut.
    pub fn fit_rom(&mut self, image: &[u8]) {
        let mut rom = image[..image.len().min(ROM_SIZE)].to_vec();
        rom.resize(ROM_SIZE, 0xff);
        self.rom = Some(rom);
    }

    /// True if there is a ROM: a PowerPC then begins there.
    #[must_use]
    pub fn has_rom(&self) -> bool {
        self.rom.is_some()
    }

    /// The TLB entry that the control device's TLB_VSID, TLB_PAGE and TLB_WORD read from now on.
    pub fn show_tlb(&mut self, view: TlbView) {
        if let Some(control) = &mut self.control {
            control.show_tlb(view);
        }
    }

    fn answers(&self, physical: Physical) -> Answers {
        if self.control.is_some()
            && let Some((half, offset)) = self.control_offset(physical)
        {
            return Answers::Control(half, offset);
        }
        if physical >= ROM_BASE && self.rom.is_some() {
            return Answers::Rom((physical - ROM_BASE) as usize);
        }
        let mut windows = self.parts.windows.iter();
        match windows.find(|window| (window.first..=window.last).contains(&physical)) {
            Some(window) => Answers::Device(*window),
            None => Answers::Nobody,
        }
    }

    /// True for the control device, whose accesses cost nothing, so that observing a run does not change it.
    #[must_use]
    pub fn is_free(&self, physical: Physical) -> bool {
        self.control_offset(physical).is_some()
    }

    /// The register of the control device at this address.
    fn control_offset(&self, physical: Physical) -> Option<(Half, u32)> {
        let offset = u32::try_from(physical.checked_sub(self.control_at)?).ok()?;
        match offset {
            CONTROL_KERNEL..=0xfff => Some((Half::Kernel, offset - CONTROL_KERNEL)),
            CONTROL_USER..=0x1fff => Some((Half::User, offset - CONTROL_USER)),
            _ => None,
        }
    }

    fn error(&self, physical: Physical, size: u32, write: bool, reason: &'static str) -> BusError {
        let mut nodes = self.parts.nodes.iter();
        let node = nodes.find(|node| (node.first..=node.last).contains(&physical));
        BusError {
            physical,
            size,
            write,
            reason,
            node: node.map(|node| node.path),
            fatal: self.parts.strict,
        }
    }

    /// A read of `size` bytes (1, 2, 4 or 8), big-endian in the low bits of the result.
    ///
    /// # Errors
    /// When no device answers at this address with this size.
    pub fn read(&mut self, physical: Physical, size: u32, now: Instant) -> Result<u64, BusError> {
        self.read_from(physical, size, now)
            .map_err(|reason| self.error(physical, size, false, reason))
    }

    fn read_from(
        &mut self,
        physical: Physical,
        size: u32,
        now: Instant,
    ) -> Result<u64, &'static str> {
        match self.answers(physical) {
            Answers::Control(half, offset) => match &mut self.control {
                Some(control) => control.read(half, offset, size, now).map(u64::from),
                None => Err(NOBODY),
            },
            Answers::Rom(start) => self.read_rom(start, size).ok_or("the ROM ends there"),
            Answers::Device(window) => {
                let at = self.at(window, physical, size, now)?;
                let value = self.parts.devices[window.device].read(at, &mut self.console);
                self.spread(window.device);
                value
            }
            Answers::Nobody if self.parts.ones.contains(&physical) => {
                Ok(u64::MAX >> (64 - 8 * size))
            }
            Answers::Nobody => Err(NOBODY),
        }
    }

    /// A write of `size` bytes (1, 2, 4 or 8). The machine carries out the effect it returns.
    ///
    /// # Errors
    /// When no device answers at this address with this size.
    pub fn write(
        &mut self,
        physical: Physical,
        size: u32,
        value: u64,
        now: Instant,
    ) -> Result<Option<Effect>, BusError> {
        self.write_to(physical, size, value, now)
            .map_err(|reason| self.error(physical, size, true, reason))
    }

    fn write_to(
        &mut self,
        physical: Physical,
        size: u32,
        value: u64,
        now: Instant,
    ) -> Result<Option<Effect>, &'static str> {
        match self.answers(physical) {
            Answers::Control(half, offset) => match &mut self.control {
                Some(control) => control.write(half, offset, size, value as u32).map(Some),
                None => Err(NOBODY),
            },
            Answers::Rom(_) => Err("the ROM cannot be written"),
            Answers::Device(window) => {
                let at = self.at(window, physical, size, now)?;
                let effect = self.parts.devices[window.device].write(at, value, &mut self.console);
                self.spread(window.device);
                effect
            }
            Answers::Nobody if self.parts.ones.contains(&physical) => Ok(None),
            Answers::Nobody => Err(NOBODY),
        }
    }

    fn at(
        &self,
        window: Window,
        physical: Physical,
        size: u32,
        now: Instant,
    ) -> Result<At, &'static str> {
        if !self.parts.devices[window.device].widths().contains(&size) {
            return Err("the device takes no access of this size");
        }
        Ok(At {
            window: window.window,
            offset: (physical - window.first) as u32,
            size,
            now,
        })
    }

    /// Passes on the level of a device's interrupt output, which may have changed.
    fn spread(&mut self, from: Number) {
        let mut changed = 1_u32 << from;
        for wire in self.parts.wires {
            if changed >> wire.from & 1 != 0 {
                let high = self.parts.devices[wire.from].drives(wire.line);
                self.parts.devices[wire.to].set_input(wire.line, high);
                changed |= 1 << wire.to;
            }
        }
    }

    /// Reads a device control register (405), or one of an interrupt file (RISC-V); zero if no device has it.
    pub fn read_control_register(&mut self, number: u32) -> u32 {
        let mut devices = self.parts.devices.iter_mut();
        devices
            .find_map(|device| device.read_control_register(number))
            .unwrap_or(0)
    }

    /// Writes such a register; nothing happens if no device has it.
    pub fn write_control_register(&mut self, number: u32, value: u32) {
        let mut devices = self.parts.devices.iter_mut();
        let written = devices.position(|device| device.write_control_register(number, value));
        if let Some(number) = written {
            self.spread(number);
        }
    }

    /// A byte as a debugger reads it: of the ROM only, without side effects.
    pub fn peek(&self, physical: Physical) -> Option<u8> {
        let rom = self.rom.as_ref()?;
        rom.get(physical.checked_sub(ROM_BASE)? as usize).copied()
    }

    /// A processor's external interrupt input.
    pub fn interrupt(&self, processor: u8) -> bool {
        (self.parts.controller()).is_some_and(|device| device.interrupts(processor))
    }

    /// All interrupt inputs of a RISC-V processor at cycle `now`, as bits of mip.
    #[must_use]
    pub fn lines(&self, processor: u8, now: Instant) -> u64 {
        (self.parts.controller()).map_or(0, |device| device.lines(processor, now.cycles))
    }

    /// Which processors the board's controller asks for attention, by bit.
    #[must_use]
    pub fn asked(&self) -> u8 {
        let controller = self.parts.controller();
        let asks = |number: &u8| controller.is_some_and(|device| device.asks(*number));
        (0..8).filter(asks).fold(0, |all, number| all | 1 << number)
    }

    /// A RISC-V processor sleeps until one of these bits of mip is set.
    pub fn wait_for(&mut self, processor: u8, lines: u64) {
        if let Some(device) = self.parts.devices.get_mut(self.parts.controller) {
            device.wait_for(processor, lines);
        }
    }

    /// A processor's critical interrupt input. Only a 405 has one.
    #[must_use]
    pub fn critical(&self, processor: u8) -> bool {
        (self.parts.controller()).is_some_and(|device| device.critical(processor))
    }

    /// Is this processor held in reset? It starts when that ends.
    #[must_use]
    pub fn holds(&self, processor: u8) -> bool {
        let starter = self.parts.devices.get(self.parts.starter);
        self.dead_processor == Some(processor)
            || starter.is_some_and(|device| device.holds(processor))
    }

    /// The core cycle, after `now`, at which [`Board::poll`] must be called, if it must at all.
    #[must_use]
    pub fn deadline(&self, now: u64) -> Option<u64> {
        let devices = self.parts.devices.iter();
        devices
            .filter_map(|device| device.deadline(now, &self.console))
            .min()
    }

    /// Takes input from outside, such as the console's, and does what is due by cycle `now`.
    pub fn poll(&mut self, now: u64) {
        for number in 0..self.parts.devices.len() {
            self.parts.devices[number].poll(now, &mut self.console);
            self.spread(number);
        }
    }

    /// Lets the device that reads and writes memory by itself do so: after a write to the board, and after
    /// [`Board::poll`].
    ///
    /// # Errors
    /// When it was given an address without memory. It will try again.
    pub fn transfer(&mut self, now: u64, ram: &mut [u8]) -> Result<(), BusError> {
        let Some(master) = self.parts.master else {
            return Ok(());
        };
        let done = self.parts.devices[master].transfer(now, ram, &mut self.console);
        self.spread(master);
        let reason = "a buffer of the communications processor is there, and no memory";
        done.map_err(|address| self.error(address.into(), 1, false, reason))
    }

    /// The bytes of RAM that the device has written by itself since the last call.
    pub fn take_written(&mut self) -> Vec<Range<usize>> {
        let master = self.parts.master;
        master.map_or_else(Vec::new, |master| self.parts.devices[master].take_written())
    }

    /// Gives the board's drive a disk, which is a copy of an image.
    pub fn insert_disk(&mut self, image: &[u8]) {
        if let Some(master) = self.parts.master {
            self.parts.devices[master].insert(image.to_vec());
        }
    }

    /// What is on that disk.
    #[must_use]
    pub fn disk(&self) -> Option<&[u8]> {
        self.parts.devices.get(self.parts.master?)?.content()
    }

    pub fn console(&self) -> &Console {
        &self.console
    }

    pub fn console_mut(&mut self) -> &mut Console {
        &mut self.console
    }

    pub(crate) fn state(&self) -> BoardState {
        BoardState {
            devices: self.parts.devices.iter().map(|d| d.save()).collect(),
            control: self.control.clone(),
            rom: self.rom.clone(),
            printed: self.console.printed().to_vec(),
            typed: self.console.typed(),
        }
    }

    /// Puts the devices into `state`. False if no board can be in that state.
    #[must_use]
    pub(crate) fn set_state(&mut self, state: BoardState) -> bool {
        let devices = &mut self.parts.devices;
        let fits = state.devices.len() == devices.len()
            && devices
                .iter_mut()
                .zip(&state.devices)
                .all(|(device, saved)| device.restore(saved))
            && state.control.is_some() == self.control.is_some()
            && state.rom.as_ref().is_none_or(|rom| rom.len() == ROM_SIZE)
            && state.printed.len() <= console::KEPT;
        if !fits {
            return false;
        }
        self.control = state.control;
        self.rom = state.rom;
        self.console.resume(state.printed, state.typed);
        true
    }

    fn read_rom(&self, start: usize, size: u32) -> Option<u64> {
        let rom = self.rom.as_ref()?;
        let bytes = rom.get(start..start + size as usize)?;
        Some(
            bytes
                .iter()
                .fold(0, |value, &byte| value << 8 | u64::from(byte)),
        )
    }
}

const NOBODY: &str = "no device answers";
