//! RAM: bytes, in one or several pieces of the physical addresses. Words are read and written in either byte order.

use super::fixed::Fixed;
use serde::{Deserialize, Serialize};

use super::{CacheGeometry, PHYSICAL_BITS, Physical, RamAddress};

/// Pieces begin at multiples of this and have multiples of it, but for the last one's size: a way of a cache is at most
/// as large, so that a line's set follows from its RAM address as it does from its physical one.
pub const PIECE: u32 = 1 << 20;

/// The board's RAM.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Ram {
    /// Of all pieces, one after another.
    bytes: Fixed<u8>,
    /// In the order of their addresses.
    pieces: Vec<Piece>,
}

/// RAM at consecutive physical addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Piece {
    start: Physical,
    first: RamAddress,
    size: u32,
}

impl Piece {
    /// How far into this piece `physical` is; `None` outside.
    #[inline]
    fn offset(&self, physical: Physical) -> Option<u32> {
        let offset = physical.wrapping_sub(self.start);
        (offset < self.size.into()).then_some(offset as u32)
    }
}

impl Ram {
    /// `size` bytes of zeroes from physical address 0 on.
    #[must_use]
    pub fn new(size: usize) -> Self {
        Self {
            bytes: Fixed::from(vec![0; size]),
            pieces: vec![Piece {
                start: 0,
                first: 0,
                size: size as u32,
            }],
        }
    }

    /// Zeroes in pieces: where each begins, and its bytes.
    ///
    /// # Errors
    /// When a piece does not begin at a multiple of [`PIECE`] or, unless it is the last, has not a multiple of that,
    /// when two overlap or stand in the wrong order, or when all together have more bytes than 32 bits can number.
    pub fn in_pieces(pieces: &[(Physical, u32)]) -> Result<Self, String> {
        let mut ram = Self {
            bytes: Fixed::default(),
            pieces: Vec::new(),
        };
        let (mut first, mut end) = (0_u32, 0);
        for (n, &(start, size)) in pieces.iter().enumerate() {
            let last = n + 1 == pieces.len();
            if start % Physical::from(PIECE) != 0
                || size == 0
                || size % if last { 4096 } else { PIECE } != 0
            {
                return Err(format!(
                    "RAM of {size:#x} bytes at {start:#x}: a piece begins at a multiple of {PIECE:#x} and has one, \
                     of a page if it is the last"
                ));
            }
            if start < end || start + Physical::from(size) > 1 << PHYSICAL_BITS {
                return Err(format!(
                    "RAM of {size:#x} bytes at {start:#x}: pieces are in order, do not overlap, and lie below \
                     2^{PHYSICAL_BITS}"
                ));
            }
            ram.pieces.push(Piece { start, first, size });
            end = start + Physical::from(size);
            first = (first.checked_add(size))
                .ok_or_else(|| "all pieces of RAM together have less than 4 GB".to_string())?;
        }
        ram.bytes = Fixed::from(vec![0; first as usize]);
        Ok(ram)
    }

    /// Can a cache of this shape be in front of it?
    ///
    /// # Errors
    /// When RAM does not begin at 0, or has several pieces, and a way is larger than [`PIECE`].
    pub(super) fn suits(&self, cache: &CacheGeometry) -> Result<(), String> {
        if self.is_plain() || cache.size / cache.ways <= PIECE {
            return Ok(());
        }
        Err(format!(
            "a cache with ways of more than {PIECE:#x} bytes needs RAM in one piece from 0 on"
        ))
    }

    /// RAM addresses are physical addresses.
    fn is_plain(&self) -> bool {
        matches!(self.pieces[..], [Piece { start: 0, .. }])
    }

    /// Is `other` RAM of the same size at the same addresses?
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.pieces == other.pieces && self.bytes.len() == other.bytes.len()
    }

    /// Where all of `[physical, physical + bytes)` is in RAM; `None` unless it is, in one piece.
    #[inline]
    #[must_use]
    pub fn at(&self, physical: Physical, bytes: u32) -> Option<RamAddress> {
        self.pieces.iter().find_map(|piece| {
            let offset = piece.offset(physical)?;
            (piece.size - offset >= bytes).then_some(piece.first + offset)
        })
    }

    /// The physical address of a byte of RAM; `None` beyond it.
    #[must_use]
    pub fn physical(&self, at: RamAddress) -> Option<Physical> {
        self.pieces.iter().find_map(|piece| {
            let offset = at.checked_sub(piece.first)?;
            (offset < piece.size).then(|| piece.start + Physical::from(offset))
        })
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
    pub fn contains(&self, pa: RamAddress, len: usize) -> bool {
        (pa as usize)
            .checked_add(len)
            .is_some_and(|end| end <= self.bytes.len())
    }

    /// All bytes, by RAM address.
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

    /// Where the byte at RAM address 0 is. It stays there.
    #[inline]
    #[must_use]
    pub fn pointer(&self) -> *mut u8 {
        self.bytes.pointer()
    }

    /// The `N` bytes at `pa` (any alignment), or `None` outside RAM. A word is made of them in the guest's byte order.
    #[inline]
    #[must_use]
    pub fn get<const N: usize>(&self, pa: RamAddress) -> Option<[u8; N]> {
        let start = pa as usize;
        self.bytes
            .get(start..start.checked_add(N)?)?
            .try_into()
            .ok()
    }

    /// Writes `N` bytes; false outside RAM.
    #[inline]
    pub fn put<const N: usize>(&mut self, pa: RamAddress, value: [u8; N]) -> bool {
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
    pub fn read_u8(&self, pa: RamAddress) -> Option<u8> {
        self.bytes.get(pa as usize).copied()
    }

    /// The big-endian word at `pa` (any alignment), or `None` outside RAM. [`Ram::little`] reads the other order.
    #[inline]
    #[must_use]
    pub fn read_u32(&self, pa: RamAddress) -> Option<u32> {
        self.get(pa).map(u32::from_be_bytes)
    }

    /// The big-endian double word at `pa` (any alignment), or `None` outside RAM.
    #[inline]
    #[must_use]
    pub fn read_u64(&self, pa: RamAddress) -> Option<u64> {
        self.get(pa).map(u64::from_be_bytes)
    }

    /// Writes a byte; false outside RAM.
    #[inline]
    pub fn write_u8(&mut self, pa: RamAddress, value: u8) -> bool {
        self.put(pa, [value])
    }

    /// Writes a big-endian word; false outside RAM. [`Ram::put_little`] writes the other order.
    #[inline]
    pub fn write_u32(&mut self, pa: RamAddress, value: u32) -> bool {
        self.put(pa, value.to_be_bytes())
    }

    /// Writes a big-endian double word; false outside RAM.
    #[inline]
    pub fn write_u64(&mut self, pa: RamAddress, value: u64) -> bool {
        self.put(pa, value.to_be_bytes())
    }

    /// Writes the low-order `bytes` of `value`, 8 at most, big-endian; false outside RAM.
    #[inline]
    pub fn write_part(&mut self, pa: RamAddress, bytes: u32, value: u64) -> bool {
        if bytes == 4 {
            return self.write_u32(pa, value as u32);
        }
        self.write_other(pa, bytes, value)
    }

    /// As [`Ram::write_part`], of what is no word: the latter is by far the most common.
    #[inline(never)]
    fn write_other(&mut self, pa: RamAddress, bytes: u32, value: u64) -> bool {
        match bytes {
            1 => self.write_u8(pa, value as u8),
            2 => self.put(pa, (value as u16).to_be_bytes()),
            8 => self.write_u64(pa, value),
            // A part of an operand that crosses a double word.
            _ => (0..bytes).all(|n| self.write_u8(pa + n, (value >> (8 * (bytes - 1 - n))) as u8)),
        }
    }

    /// The word of 1, 2, 4 or 8 bytes at `pa` (any alignment), the low byte first, or `None` outside RAM.
    #[inline(always)]
    #[must_use]
    pub fn little(&self, pa: RamAddress, bytes: u32) -> Option<u64> {
        match bytes {
            1 => self.get(pa).map(|[byte]: [u8; 1]| byte.into()),
            2 => self.get(pa).map(|half| u16::from_le_bytes(half).into()),
            4 => self.get(pa).map(|word| u32::from_le_bytes(word).into()),
            _ => self.get(pa).map(u64::from_le_bytes),
        }
    }

    /// Writes the low-order 1, 2, 4 or 8 bytes of `value`, the low one first; false outside RAM.
    #[inline(always)]
    pub fn put_little(&mut self, pa: RamAddress, bytes: u32, value: u64) -> bool {
        match bytes {
            1 => self.put(pa, [value as u8]),
            2 => self.put(pa, (value as u16).to_le_bytes()),
            4 => self.put(pa, (value as u32).to_le_bytes()),
            _ => self.put(pa, value.to_le_bytes()),
        }
    }

    /// Sets `len` bytes from `pa` to zero; false (and nothing done) unless all of them are RAM.
    pub fn zero(&mut self, pa: RamAddress, len: usize) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_lie_anywhere_in_56_bits_and_are_numbered_through() {
        let top = (1 << PHYSICAL_BITS) - u64::from(PIECE);
        let mut ram =
            Ram::in_pieces(&[(1 << 31, 2 * PIECE), (1 << 33, PIECE), (top, PIECE)]).unwrap();
        assert_eq!(ram.size(), 4 << 20);
        assert_eq!(ram.at(1 << 31, 4), Some(0));
        assert_eq!(ram.at((1 << 33) + 4, 4), Some(2 * PIECE + 4));
        assert_eq!(ram.at(top + u64::from(PIECE) - 4, 4), Some(4 * PIECE - 4));
        for none in [
            0,
            (1 << 31) - 4,
            (1 << 31) + u64::from(2 * PIECE),
            1 << PHYSICAL_BITS,
        ] {
            assert_eq!(ram.at(none, 4), None);
        }
        assert_eq!(ram.at((1 << 31) + u64::from(2 * PIECE) - 2, 4), None);
        for at in [0, 2 * PIECE - 1, 2 * PIECE, 4 * PIECE - 1] {
            let physical = ram.physical(at).unwrap();
            assert_eq!(ram.at(physical, 1), Some(at));
        }
        assert_eq!(ram.physical(4 * PIECE), None);
        assert!(ram.put(8, 0x1122_3344_u32.to_le_bytes()));
        assert_eq!(ram.get(8).map(u32::from_le_bytes), Some(0x1122_3344));
        assert_eq!(ram.read_u32(8), Some(0x4433_2211));
    }

    #[test]
    fn pieces_that_cannot_be_are_refused() {
        for pieces in [
            &[(4096, PIECE)][..],
            &[(0, 0)],
            &[(0, 4096), (1 << 31, PIECE)],
            &[(0, 2 * PIECE), (u64::from(PIECE), PIECE)],
            &[(1 << 31, PIECE), (0, PIECE)],
            &[((1 << PHYSICAL_BITS) - u64::from(PIECE), 2 * PIECE)],
            &[(0, 0xfff0_0000), (1 << 33, PIECE)],
        ] {
            assert!(Ram::in_pieces(pieces).is_err(), "{pieces:x?}");
        }
    }
}
