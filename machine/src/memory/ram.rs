//! RAM: big-endian bytes from physical address 0.

use serde::{Deserialize, Serialize};

/// The board's RAM.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Ram {
    bytes: Vec<u8>,
}

impl Ram {
    /// `size` bytes of zeroes.
    #[must_use]
    pub fn new(size: usize) -> Self {
        Self {
            bytes: vec![0; size],
        }
    }

    /// Size in bytes.
    #[inline]
    #[must_use]
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// True if all of `[pa, pa + len)` is RAM.
    #[inline]
    #[must_use]
    pub fn contains(&self, pa: u32, len: usize) -> bool {
        (pa as usize)
            .checked_add(len)
            .is_some_and(|end| end <= self.bytes.len())
    }

    /// All bytes, from physical address 0.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// All bytes, for loaders, debuggers and the engine's fast paths.
    #[inline]
    #[must_use]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    #[inline]
    fn get<const N: usize>(&self, pa: u32) -> Option<[u8; N]> {
        let start = pa as usize;
        self.bytes
            .get(start..start.checked_add(N)?)?
            .try_into()
            .ok()
    }

    #[inline]
    fn put<const N: usize>(&mut self, pa: u32, value: [u8; N]) -> bool {
        let start = pa as usize;
        let Some(place) = start
            .checked_add(N)
            .and_then(|end| self.bytes.get_mut(start..end))
        else {
            return false;
        };
        place.copy_from_slice(&value);
        true
    }

    /// The byte at `pa`, or `None` outside RAM.
    #[inline]
    #[must_use]
    pub fn read_u8(&self, pa: u32) -> Option<u8> {
        self.bytes.get(pa as usize).copied()
    }

    /// The halfword at `pa` (any alignment), or `None` outside RAM.
    #[inline]
    #[must_use]
    pub fn read_u16(&self, pa: u32) -> Option<u16> {
        self.get(pa).map(u16::from_be_bytes)
    }

    /// The word at `pa` (any alignment), or `None` outside RAM.
    #[inline]
    #[must_use]
    pub fn read_u32(&self, pa: u32) -> Option<u32> {
        self.get(pa).map(u32::from_be_bytes)
    }

    /// The double word at `pa` (any alignment), or `None` outside RAM.
    #[inline]
    #[must_use]
    pub fn read_u64(&self, pa: u32) -> Option<u64> {
        self.get(pa).map(u64::from_be_bytes)
    }

    /// Writes a byte; false outside RAM.
    #[inline]
    pub fn write_u8(&mut self, pa: u32, value: u8) -> bool {
        self.put(pa, [value])
    }

    /// Writes a halfword; false outside RAM.
    #[inline]
    pub fn write_u16(&mut self, pa: u32, value: u16) -> bool {
        self.put(pa, value.to_be_bytes())
    }

    /// Writes a word; false outside RAM.
    #[inline]
    pub fn write_u32(&mut self, pa: u32, value: u32) -> bool {
        self.put(pa, value.to_be_bytes())
    }

    /// Writes a double word; false outside RAM.
    #[inline]
    pub fn write_u64(&mut self, pa: u32, value: u64) -> bool {
        self.put(pa, value.to_be_bytes())
    }

    /// Writes the low-order `bytes` of `value`, 8 at most; false outside RAM.
    #[inline]
    pub fn write_part(&mut self, pa: u32, bytes: u32, value: u64) -> bool {
        if bytes == 4 {
            return self.write_u32(pa, value as u32);
        }
        self.write_other(pa, bytes, value)
    }

    /// As [`Ram::write_part`], of what is no word: the latter is by far the most common.
    #[inline(never)]
    fn write_other(&mut self, pa: u32, bytes: u32, value: u64) -> bool {
        match bytes {
            1 => self.write_u8(pa, value as u8),
            2 => self.write_u16(pa, value as u16),
            8 => self.write_u64(pa, value),
            // A part of an operand that crosses a double word.
            _ => (0..bytes).all(|n| self.write_u8(pa + n, (value >> (8 * (bytes - 1 - n))) as u8)),
        }
    }

    /// Sets `len` bytes from `pa` to zero; false (and nothing done) unless all of them are RAM.
    pub fn zero(&mut self, pa: u32, len: usize) -> bool {
        let start = pa as usize;
        let Some(place) = start
            .checked_add(len)
            .and_then(|end| self.bytes.get_mut(start..end))
        else {
            return false;
        };
        place.fill(0);
        true
    }
}
