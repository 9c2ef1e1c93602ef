//! A disk behind virtio-mmio (OASIS Virtual I/O Device 1.1: 2.6, 4.2 and 5.2): one queue of split rings, without
//! indirect descriptors. The disk is a copy in memory. A request is done when the driver tells of it, and takes no
//! time.
//!
//! What a driver may say wrongly - rings outside of RAM, chains that do not end - makes the device ask for a reset
//! (2.1.2), and it does nothing more until then.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{At, Console, Device, Effect, restored, saved};

/// The largest disk.
pub const DISK_MOST: u64 = 256 << 20;
const SECTOR: usize = 512;

/// "virt", the layout of today, the kind of device, and the vendor that QEMU's devices have, whom xv6 looks for.
const MAGIC: u32 = 0x7472_6976;
const VERSION: u32 = 2;
const BLOCK: u32 = 2;
const VENDOR: u32 = 0x554d_4551;

/// Descriptors of the queue.
const QUEUE: u32 = 128;
/// Bytes of one piece of a request, and pieces of a request.
const PIECE_MOST: u32 = 1 << 16;
const PIECES_MOST: u32 = QUEUE - 2;

const SIZE_MAX: u64 = 1 << 1;
const SEG_MAX: u64 = 1 << 2;
const FLUSH: u64 = 1 << 9;
const VERSION_1: u64 = 1 << 32;
const FEATURES: u64 = VERSION_1 | SIZE_MAX | SEG_MAX | FLUSH;

const STATUS_READY: u32 = 4;
const STATUS_FEATURES: u32 = 8;
const STATUS_BROKEN: u32 = 0x40;

const ASKS_FOR_USED: u32 = 1;
const ASKS_FOR_CHANGE: u32 = 2;

const DESCRIPTOR: u64 = 16;
const NEXT: u16 = 1;
const DEVICE_WRITES: u16 = 2;
const INDIRECT: u16 = 4;

const DONE: u8 = 0;
const FAILED: u8 = 1;
const UNKNOWN: u8 = 2;

/// What the driver has set up; a reset empties it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Driver {
    status: u32,
    features: u64,
    /// Which half of the features is seen, and which is written.
    device_half: u32,
    driver_half: u32,
    queue: u32,
    size: u32,
    ready: bool,
    /// Descriptors, and the rings that driver and device write.
    areas: [u64; 3],
    asks: u32,
    /// Heads taken from the driver's ring.
    taken: u16,
    /// It has told of new requests.
    told: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Disk {
    driver: Driver,
    content: Option<Vec<u8>>,
    /// Where RAM begins.
    ram: u64,
    #[serde(skip)]
    wrote: Vec<Range<usize>>,
}

/// The driver has broken a rule.
#[derive(Debug)]
struct Broken;

/// A piece of a request, in RAM.
struct Piece {
    at: Range<usize>,
    device_writes: bool,
}

impl Disk {
    pub fn new(ram: u64) -> Self {
        Disk {
            driver: Driver::default(),
            content: None,
            ram,
            wrote: Vec::new(),
        }
    }

    /// The bytes of RAM at a physical address.
    fn place(&self, ram: &[u8], at: u64, size: u64) -> Result<Range<usize>, Broken> {
        let first = at.checked_sub(self.ram).ok_or(Broken)?;
        let end = first.checked_add(size).ok_or(Broken)?;
        if end > ram.len() as u64 {
            return Err(Broken);
        }
        Ok(first as usize..end as usize)
    }

    fn number<const BYTES: usize>(&self, ram: &[u8], at: u64) -> Result<u64, Broken> {
        let bytes = &ram[self.place(ram, at, BYTES as u64)?];
        Ok(bytes
            .iter()
            .rev()
            .fold(0, |all, &byte| all << 8 | u64::from(byte)))
    }

    fn put(&mut self, ram: &mut [u8], at: u64, bytes: &[u8]) -> Result<(), Broken> {
        let place = self.place(ram, at, bytes.len() as u64)?;
        ram[place.clone()].copy_from_slice(bytes);
        self.wrote.push(place);
        Ok(())
    }

    /// An address in a ring or table, `at` bytes behind its beginning.
    fn area(&self, number: usize, at: u64) -> Result<u64, Broken> {
        self.driver.areas[number].checked_add(at).ok_or(Broken)
    }

    /// The pieces of a request.
    fn chain(&self, ram: &[u8], head: u64) -> Result<Vec<Piece>, Broken> {
        let (mut pieces, mut next) = (Vec::new(), head);
        loop {
            if next >= self.driver.size.into() || pieces.len() >= self.driver.size as usize {
                return Err(Broken);
            }
            let at = self.area(0, next * DESCRIPTOR)?;
            self.place(ram, at, DESCRIPTOR)?;
            let address = self.number::<8>(ram, at)?;
            let size = self.number::<4>(ram, at + 8)?;
            let flags = self.number::<2>(ram, at + 12)? as u16;
            if flags & INDIRECT != 0 {
                return Err(Broken);
            }
            let at_ram = self.place(ram, address, size)?;
            pieces.push(Piece {
                at: at_ram,
                device_writes: flags & DEVICE_WRITES != 0,
            });
            if flags & NEXT == 0 {
                return Ok(pieces);
            }
            next = self.number::<2>(ram, at + 14)?;
        }
    }

    /// Does what one request asks for; returns how many bytes of RAM were written.
    fn request(&mut self, ram: &mut [u8], pieces: &[Piece]) -> Result<u32, Broken> {
        let [head, data @ .., status] = pieces else {
            return Err(Broken);
        };
        if head.device_writes
            || head.at.len() != 16
            || !status.device_writes
            || status.at.len() != 1
        {
            return Err(Broken);
        }
        let header = &ram[head.at.clone()];
        let word = |from: usize| {
            header[from..]
                .iter()
                .rev()
                .fold(0, |all, &b| all << 8 | u64::from(b))
        };
        let (kind, sector) = (word(0) as u32, word(8));
        let (mut state, mut written) = (DONE, 0);
        match kind {
            0 | 1 => {
                if self.moves(ram, data, sector, kind == 0).is_none() {
                    state = FAILED;
                } else if kind == 0 {
                    written = data.iter().map(|piece| piece.at.len()).sum();
                }
            }
            // Flush: the disk always has all that was written.
            4 => {}
            // Its name.
            8 => match data {
                [piece] if piece.device_writes => {
                    let mut name = [0; 20];
                    name[..8].copy_from_slice(b"pagewalk");
                    written = piece.at.len().min(name.len());
                    let at = piece.at.start..piece.at.start + written;
                    ram[at.clone()].copy_from_slice(&name[..written]);
                    self.wrote.push(at);
                }
                _ => state = FAILED,
            },
            _ => state = UNKNOWN,
        }
        ram[status.at.start] = state;
        self.wrote.push(status.at.clone());
        Ok(written as u32 + 1)
    }

    /// Copies between RAM and the disk, all or nothing. `None`: it cannot be done.
    fn moves(&mut self, ram: &mut [u8], data: &[Piece], sector: u64, reads: bool) -> Option<()> {
        let content = self.content.as_mut()?;
        let bytes: usize = data.iter().map(|piece| piece.at.len()).sum();
        let first = usize::try_from(sector).ok()?.checked_mul(SECTOR)?;
        let fits = first.checked_add(bytes)? <= content.len() && bytes.is_multiple_of(SECTOR);
        let small = data.len() <= PIECES_MOST as usize
            && data
                .iter()
                .all(|piece| piece.at.len() <= PIECE_MOST as usize);
        if !fits || !small || data.iter().any(|piece| piece.device_writes != reads) {
            return None;
        }
        let mut at = first;
        for piece in data {
            let part = at..at + piece.at.len();
            at = part.end;
            if reads {
                ram[piece.at.clone()].copy_from_slice(&content[part]);
                self.wrote.push(piece.at.clone());
            } else {
                content[part].copy_from_slice(&ram[piece.at.clone()]);
            }
        }
        Some(())
    }

    /// Does all requests that the driver's ring has.
    fn serve(&mut self, ram: &mut [u8]) -> Result<(), Broken> {
        let size = u64::from(self.driver.size);
        let newest = self.number::<2>(ram, self.area(1, 2)?)? as u16;
        if u64::from(newest.wrapping_sub(self.driver.taken)) > size {
            return Err(Broken);
        }
        while self.driver.taken != newest {
            let slot = u64::from(self.driver.taken) % size;
            let head = self.number::<2>(ram, self.area(1, 4 + 2 * slot)?)?;
            let pieces = self.chain(ram, head)?;
            let written = self.request(ram, &pieces)?;
            self.driver.taken = self.driver.taken.wrapping_add(1);
            let used = [head as u32, written].map(u32::to_le_bytes);
            self.put(ram, self.area(2, 4 + 8 * slot)?, used.as_flattened())?;
            self.put(ram, self.area(2, 2)?, &self.driver.taken.to_le_bytes())?;
            // The driver may not want to be told.
            if self.number::<2>(ram, self.area(1, 0)?)? & 1 == 0 {
                self.driver.asks |= ASKS_FOR_USED;
            }
        }
        Ok(())
    }

    fn register(&self, offset: u32) -> u32 {
        let driver = &self.driver;
        let half = |value: u64, which| match which {
            0 => value as u32,
            1 => (value >> 32) as u32,
            _ => 0,
        };
        let sectors = self.content.as_ref().map_or(0, |disk| disk.len() / SECTOR) as u64;
        match offset {
            0x00 => MAGIC,
            0x04 => VERSION,
            // Otherwise it is zero: there is no device, and a driver looks no further.
            0x08 if self.content.is_some() => BLOCK,
            0x0c => VENDOR,
            0x10 => half(FEATURES, driver.device_half),
            0x34 if driver.queue == 0 => QUEUE,
            0x44 => u32::from(driver.ready && driver.queue == 0),
            0x60 => driver.asks,
            0x70 => driver.status,
            0x100 => half(sectors, 0),
            0x104 => half(sectors, 1),
            0x108 => PIECE_MOST,
            0x10c => PIECES_MOST,
            _ => 0,
        }
    }

    fn set_register(&mut self, offset: u32, value: u32) {
        let driver = &mut self.driver;
        let set = |whole: &mut u64, high: bool| {
            let shift = if high { 32 } else { 0 };
            *whole = *whole & !(0xffff_ffff << shift) | u64::from(value) << shift;
        };
        let first = driver.queue == 0 && !driver.ready;
        match offset {
            0x14 => driver.device_half = value,
            0x20 if driver.driver_half < 2 => set(&mut driver.features, driver.driver_half == 1),
            0x24 => driver.driver_half = value,
            0x30 => driver.queue = value,
            0x38 if first && value <= QUEUE && value.is_power_of_two() => driver.size = value,
            0x44 if driver.queue == 0 => driver.ready = value & 1 != 0 && driver.size != 0,
            0x50 => driver.told = value == 0,
            0x64 => driver.asks &= !value,
            0x70 if value == 0 => self.driver = Driver::default(),
            0x70 => {
                // A driver of today without VERSION_1, as xv6's, is served like the others.
                let good = driver.features & !FEATURES == 0;
                let refused = if good { 0 } else { STATUS_FEATURES };
                driver.status = driver.status & STATUS_BROKEN | value & 0xbf & !refused;
            }
            0x80..=0xa4 if first => {
                let (area, high) = ((offset - 0x80) / 16, offset & 4 != 0);
                if offset & 8 == 0 {
                    set(&mut driver.areas[area as usize], high);
                }
            }
            _ => {}
        }
    }
}

impl Device for Disk {
    fn widths(&self) -> &'static [u32] {
        &[1, 2, 4]
    }

    fn read(&mut self, at: At, _: &mut Console) -> Result<u64, &'static str> {
        let word = self.register(at.offset & !3) >> (8 * (at.offset & 3));
        Ok(u64::from(word) & (u64::MAX >> (64 - 8 * at.size)))
    }

    fn write(
        &mut self,
        at: At,
        value: u64,
        _: &mut Console,
    ) -> Result<Option<Effect>, &'static str> {
        if at.size == 4 && at.offset.is_multiple_of(4) && self.content.is_some() {
            self.set_register(at.offset, value as u32);
        }
        Ok(None)
    }

    fn interrupt(&self) -> bool {
        self.driver.asks != 0
    }

    fn transfer(&mut self, _: u64, ram: &mut [u8], _: &mut Console) -> Result<(), u32> {
        let driver = &mut self.driver;
        let works = driver.status & (STATUS_READY | STATUS_BROKEN) == STATUS_READY;
        if std::mem::take(&mut driver.told) && driver.ready && works && self.serve(ram).is_err() {
            self.driver.status |= STATUS_BROKEN;
            self.driver.asks |= ASKS_FOR_CHANGE;
        }
        Ok(())
    }

    fn take_written(&mut self) -> Vec<Range<usize>> {
        std::mem::take(&mut self.wrote)
    }

    fn insert(&mut self, mut disk: Vec<u8>) {
        disk.resize(disk.len().next_multiple_of(SECTOR), 0);
        self.content = Some(disk);
    }

    fn content(&self) -> Option<&[u8]> {
        self.content.as_deref()
    }

    fn save(&self) -> Vec<u8> {
        saved(self)
    }

    fn restore(&mut self, state: &[u8]) -> bool {
        let ram = self.ram;
        restored(self, state, |disk: &Disk| {
            let content = disk.content.as_ref().map_or(0, Vec::len);
            let size = disk.driver.size;
            disk.ram == ram
                && content as u64 <= DISK_MOST
                && content.is_multiple_of(SECTOR)
                && (size.is_power_of_two() && size <= QUEUE || size == 0 && !disk.driver.ready)
        })
    }
}

#[cfg(test)]
mod tests;
