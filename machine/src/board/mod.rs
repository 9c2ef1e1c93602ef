//! Board `prep`: UART, interrupt controllers, control device and ROM on the processor bus.
//!
//! RAM is not here: the memory system asks the board only for addresses above RAM. The address map
//! is that of a PReP machine (PowerPC Reference Platform Specification 1.1, section 5.1): ISA I/O
//! ports from 0x80000000, interrupt acknowledge at 0xbffffff0.

mod console;
mod control;
mod pic;
mod uart;

pub use console::Console;
pub use control::{Effect, Half, TlbView};

use serde::{Deserialize, Serialize};

use crate::config::MachineConfig;

/// The instant of an access: what the control device's clock registers read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Instant {
    /// Core cycles since reset.
    pub cycles: u64,
    /// Completed instructions since reset.
    pub instructions: u64,
}

/// No device answered: the access ends in a machine check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BusError {
    pub physical: u32,
    pub size: u32,
    pub write: bool,
    pub reason: &'static str,
}

pub(crate) const ROM_BASE: u32 = 0xfff0_0000;
/// Bytes of ROM; a shorter image is padded with ones, as erased flash reads.
pub const ROM_SIZE: usize = 1 << 20;

const PIC_MASTER: u32 = 0x8000_0020;
const PIC_SLAVE: u32 = 0x8000_00a0;
const PIC_EDGE_LEVEL: u32 = 0x8000_04d0;
const UART: u32 = 0x8000_03f8;
const CONTROL_KERNEL: u32 = 0x8000_0f00;
const CONTROL_USER: u32 = 0x8000_1000;
const INTERRUPT_ACKNOWLEDGE: u32 = 0xbfff_fff0;

/// ISA interrupt request of the UART at 0x3f8 (COM1 by convention).
const UART_IRQ: u8 = 4;

/// All devices of the board.
#[derive(Debug)]
pub struct Board {
    uart: uart::Uart,
    pics: pic::PicPair,
    control: Option<control::Control>,
    rom: Option<Vec<u8>>,
    console: Console,
}

/// All devices, for a snapshot.
#[derive(Serialize, Deserialize)]
pub(crate) struct BoardState {
    uart: uart::Uart,
    pics: pic::PicPair,
    control: Option<control::Control>,
    rom: Option<Vec<u8>>,
    printed: Vec<u8>,
    typed: Vec<u8>,
}

impl Board {
    /// A board after power-on.
    pub fn new(config: &MachineConfig, console: Console) -> Self {
        Board {
            uart: uart::Uart::new(),
            pics: pic::PicPair::new(),
            control: config.board.control.then(control::Control::new),
            rom: None,
            console,
        }
    }

    /// Fits a ROM at 0xfff00000. `image` longer than [`ROM_SIZE`] is cut.
    pub fn fit_rom(&mut self, image: &[u8]) {
        let mut rom = image[..image.len().min(ROM_SIZE)].to_vec();
        rom.resize(ROM_SIZE, 0xff);
        self.rom = Some(rom);
    }

    /// Says what the control device's FEATURES register reads (docs/interfaces.md, section 2).
    pub fn set_features(&mut self, features: u32) {
        if let Some(control) = &mut self.control {
            control.set_features(features);
        }
    }

    /// The TLB entry that the control device's TLB_VSID, TLB_PAGE and TLB_WORD read from now on.
    pub fn show_tlb(&mut self, view: TlbView) {
        if let Some(control) = &mut self.control {
            control.show_tlb(view);
        }
    }

    /// A read of `size` bytes (1, 2, 4 or 8), big-endian in the low bits of the result.
    ///
    /// # Errors
    /// When no device answers at this address with this size.
    pub fn read(&mut self, physical: u32, size: u32, now: Instant) -> Result<u64, BusError> {
        if physical >= ROM_BASE
            && let Some(value) = self.read_rom(physical, size)
        {
            return Ok(value);
        }
        let fail = |reason| BusError {
            physical,
            size,
            write: false,
            reason,
        };
        if let Some((half, offset)) = control_half(physical)
            && let Some(control) = &mut self.control
        {
            return control
                .read(half, offset, size, now)
                .map(u64::from)
                .map_err(fail);
        }
        if size != 1 {
            return Err(fail(
                "no device answers; devices of the ISA bus are one byte wide",
            ));
        }
        let value = match physical {
            UART..=0x8000_03ff => {
                let value = self.uart.read(physical - UART, &mut self.console);
                self.update_interrupts();
                value
            }
            PIC_MASTER..=0x8000_0021 => self.pics.read(false, physical & 1),
            PIC_SLAVE..=0x8000_00a1 => self.pics.read(true, physical & 1),
            PIC_EDGE_LEVEL..=0x8000_04d1 => self.pics.read_edge_level(physical & 1),
            INTERRUPT_ACKNOWLEDGE..=0xbfff_ffff => self.pics.acknowledge(),
            _ => return Err(fail("no device answers")),
        };
        Ok(value.into())
    }

    /// A write of `size` bytes (1, 2, 4 or 8). The machine carries out the effect it returns.
    ///
    /// # Errors
    /// When no device answers at this address with this size.
    pub fn write(
        &mut self,
        physical: u32,
        size: u32,
        value: u64,
    ) -> Result<Option<Effect>, BusError> {
        let fail = |reason| BusError {
            physical,
            size,
            write: true,
            reason,
        };
        if let Some((half, offset)) = control_half(physical)
            && let Some(control) = &mut self.control
        {
            return control
                .write(half, offset, size, value as u32)
                .map(Some)
                .map_err(fail);
        }
        if size != 1 {
            return Err(fail(
                "no device answers; devices of the ISA bus are one byte wide",
            ));
        }
        let value = value as u8;
        match physical {
            UART..=0x8000_03ff => {
                self.uart.write(physical - UART, value, &mut self.console);
                self.update_interrupts();
            }
            PIC_MASTER..=0x8000_0021 => self.pics.write(false, physical & 1, value),
            PIC_SLAVE..=0x8000_00a1 => self.pics.write(true, physical & 1, value),
            PIC_EDGE_LEVEL..=0x8000_04d1 => self.pics.write_edge_level(physical & 1, value),
            _ => return Err(fail("no device answers")),
        }
        Ok(None)
    }

    /// What memory looks like to a debugger: ROM only, no side effects.
    pub fn peek(&self, physical: u32) -> Option<u8> {
        let rom = self.rom.as_ref()?;
        rom.get(physical.checked_sub(ROM_BASE)? as usize).copied()
    }

    /// The processor's external interrupt input.
    pub fn interrupt(&self) -> bool {
        self.pics.interrupt()
    }

    /// Takes in console input that has come since the last call; the machine calls it at its
    /// deadlines while [`Console::live`] says that input can come at any time.
    pub fn poll(&mut self) {
        self.uart.receive(&mut self.console);
        self.update_interrupts();
    }

    pub fn console(&self) -> &Console {
        &self.console
    }

    pub fn console_mut(&mut self) -> &mut Console {
        &mut self.console
    }

    pub(crate) fn state(&self) -> BoardState {
        BoardState {
            uart: self.uart.clone(),
            pics: self.pics.clone(),
            control: self.control.clone(),
            rom: self.rom.clone(),
            printed: self.console.printed().to_vec(),
            typed: self.console.typed(),
        }
    }

    /// Puts the devices into `state`. False if no board can have come to it.
    #[must_use]
    pub(crate) fn set_state(&mut self, state: BoardState) -> bool {
        let fits = state.uart.fits()
            && state.pics.fits()
            && state.control.is_some() == self.control.is_some()
            && state.rom.as_ref().is_none_or(|rom| rom.len() == ROM_SIZE)
            && state.printed.len() <= console::KEPT;
        if !fits {
            return false;
        }
        self.uart = state.uart;
        self.pics = state.pics;
        self.control = state.control;
        self.rom = state.rom;
        self.console.resume(state.printed, state.typed);
        true
    }

    fn update_interrupts(&mut self) {
        self.pics.set_request(UART_IRQ, self.uart.interrupt());
    }

    fn read_rom(&self, physical: u32, size: u32) -> Option<u64> {
        let rom = self.rom.as_ref()?;
        let start = (physical - ROM_BASE) as usize;
        let bytes = rom.get(start..start + size as usize)?;
        Some(
            bytes
                .iter()
                .fold(0, |value, &byte| value << 8 | u64::from(byte)),
        )
    }
}

/// Does the address belong to the control device, whose accesses cost nothing?
#[must_use]
pub fn is_control(physical: u32) -> bool {
    control_half(physical).is_some()
}

fn control_half(physical: u32) -> Option<(Half, u32)> {
    match physical {
        CONTROL_KERNEL..=0x8000_0fff => Some((Half::Kernel, physical - CONTROL_KERNEL)),
        CONTROL_USER..=0x8000_1fff => Some((Half::User, physical - CONTROL_USER)),
        _ => None,
    }
}
