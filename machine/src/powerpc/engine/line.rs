//! Decoded instructions, kept by physical cache line.
//!
//! While the I-cache holds a line, the words that it was filled with are executed: a store does not change the
//! decoded form. When the I-cache fills the line again, the words are compared with the decoded ones, and those that
//! have changed are decoded again.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};

use super::Handler;
use super::timing::{BlockTiming, Timings};
use crate::computer::pages;
use crate::memory::{Fixed, prefetch};
use crate::pipeline::MicroOp;
use crate::powerpc::instruction::Operands;
use crate::powerpc::instruction_set::{Decoded, InstructionSet};
use crate::powerpc::processor::Processor;

/// The next op of an op that always continues at the same place: a shortcut for entering its line.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Link {
    /// The place of that op in the store of lines, in words of 8 bytes.
    op: u32,
    /// The I-cache's tag word of the line of `op`.
    pub tag: u32,
    /// Index of that tag word while the line is its set's most recently used one, and above
    /// [`Link::CAUSE`] the line's cause.
    place: u32,
}

impl Link {
    const CAUSE: u32 = 24;

    /// No tag word is like this one's, because a line has more than four bytes.
    pub const NONE: Link = Link {
        op: 0,
        tag: u32::MAX,
        place: 0,
    };

    /// A link to `op` in the line with I-cache tag `tag` at index `place`, of `cause`.
    ///
    /// # Safety
    /// `op` must point into the store of lines at `base`.
    pub unsafe fn new(base: *const u8, op: *const Op, tag: u32, place: u32, cause: u8) -> Link {
        if place >> Link::CAUSE != 0 {
            return Link::NONE;
        }
        Link {
            // SAFETY: the caller's.
            op: unsafe { distance(base, op) },
            tag,
            place: place | u32::from(cause) << Link::CAUSE,
        }
    }

    /// The op linked to.
    ///
    /// # Safety
    /// The store of lines must be at `base`, and this be a link to one of its ops.
    #[inline(always)]
    pub unsafe fn op(&self, base: *const u8) -> *const Op {
        // SAFETY: the caller's.
        unsafe { base.add(self.op as usize * WORD).cast() }
    }

    #[inline(always)]
    pub fn place(&self) -> usize {
        (self.place & ((1 << Link::CAUSE) - 1)) as usize
    }

    #[inline(always)]
    pub fn cause(&self) -> u32 {
        self.place >> Link::CAUSE
    }
}

/// What ops and lines are aligned to, in bytes.
const WORD: usize = 8;

/// Words from `base` to `op`.
///
/// # Safety
/// `op` must point into the store of lines at `base`.
#[inline(always)]
unsafe fn distance(base: *const u8, op: *const Op) -> u32 {
    // SAFETY: the caller's. The store has less than 2^32 words.
    unsafe { (op.byte_offset_from(base) as usize / WORD) as u32 }
}

/// One decoded instruction.
#[repr(C)]
pub struct Op {
    pub run: Handler,
    pub operands: Operands,
    /// The cost from here to the end of the block.
    pub timing: BlockTiming,
    /// [`Line::decoded`] of the line.
    decoded: u16,
    /// Instructions from here to the end of the block.
    pub instructions: u8,
    /// Data accesses from here to the end of the block.
    pub accesses: u8,
    /// The link of an op that continues in another line.
    pub link: Link,
}

/// A decoded line: this header, one [`Op`] a word, one that goes on to the next line, the raw words, and what blocks
/// take that begin there ([`Lines::others`]).
#[repr(C)]
pub struct Line {
    /// Physical address and [`IN_USE`]; 0: not in use.
    pub physical: u32,
    /// Number of the code's own cause, or [`NO_CAUSE`].
    pub cause: u8,
    /// Code of the host has been compiled from it.
    compiled: bool,
    /// How often a line has been decoded in this place. Data about an earlier line in it has a lower number.
    decoded: u16,
}

/// Bit of [`Line::physical`]: in use. It makes a line's address its tag word in the I-cache.
const IN_USE: u32 = crate::memory::cache::VALID;

/// Bytes before the first op of a line.
const HEADER: usize = 8;
const _: () = assert!(size_of::<Line>() == HEADER && size_of::<Op>() == 40);

/// The fewest lines that the store holds: many times as many as an I-cache.
const CAPACITY: usize = 1 << 15;

/// Decoded forms of instructions that run on their own, by a hash of the word.
const SINGLES: usize = 256;

/// The fewest costs of blocks that a line keeps beside those that its ops keep.
const OTHERS: usize = 4;

/// Bytes of a large page of the host.
const LARGE: usize = 2 << 20;

/// The layout of a line.
#[derive(Clone, Copy, Debug)]
struct Shape {
    /// Instructions in a line.
    words: usize,
    /// Bytes from the header to the raw words.
    raw: usize,
    /// Bytes from the header to the costs of blocks, which are as many as there is room for.
    others: usize,
    /// Bytes from one line to the next.
    stride: usize,
}

impl Shape {
    fn new(words: usize) -> Shape {
        let raw = HEADER + (words + 1) * size_of::<Op>();
        let others = raw + words * 4;
        Shape {
            words,
            raw,
            others,
            stride: (others + OTHERS * size_of::<BlockTiming>()).next_multiple_of(64),
        }
    }
}

/// All decoded lines.
pub struct Lines {
    /// What the store is a part of.
    allocation: *mut u8,
    /// The store. A large page of the host begins there.
    base: *mut u8,
    shape: Shape,
    /// Lines that the store holds.
    capacity: usize,
    line_shift: u32,
    /// The instruction set that words are decoded with.
    set: InstructionSet,
    /// For each line of RAM the number of its decoded form plus one, or 0.
    index: Fixed<u32>,
    /// Numbers of unused forms.
    free: Vec<u32>,
    /// The costs of their blocks.
    pub(crate) timings: Timings,
    /// Numbers of forms whose compiled code is stale; and whether all compiled code is.
    stale: Vec<u32>,
    all_stale: bool,
}

// SAFETY: `allocation` is this structure's own, and `base` points into it.
unsafe impl Send for Lines {}

impl Drop for Lines {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with the same layout.
        unsafe { dealloc(self.allocation, Self::layout(self.shape, self.capacity)) }
    }
}

impl Lines {
    /// No lines yet. The I-cache has `cache_lines`.
    pub fn new(
        ram_bytes: usize,
        line_bytes: usize,
        cache_lines: usize,
        set: InstructionSet,
    ) -> Lines {
        let shape = Shape::new(line_bytes / 4);
        let capacity = CAPACITY.max(2 * cache_lines);
        let layout = Self::layout(shape, capacity);
        // SAFETY: the layout's size is not zero. Pages that are never touched cost nothing.
        let allocation = unsafe { alloc_zeroed(layout) };
        if allocation.is_null() {
            handle_alloc_error(layout);
        }
        let before = allocation.addr().wrapping_neg() % LARGE;
        // SAFETY: the layout has `LARGE` bytes more than the store. They are zero, and nothing else refers to them.
        let base = unsafe {
            let base = allocation.add(before);
            pages::large(std::slice::from_raw_parts_mut(base, layout.size() - LARGE));
            base
        };
        Lines {
            allocation,
            base,
            shape,
            capacity,
            line_shift: line_bytes.trailing_zeros(),
            set,
            index: Fixed::from(vec![0; ram_bytes.div_ceil(line_bytes)]),
            free: (0..capacity as u32).rev().collect(),
            timings: Timings::default(),
            stale: Vec::new(),
            all_stale: false,
        }
    }

    /// Is this the store for the lines of `line_bytes` of a RAM of so many bytes?
    pub fn are_for(&self, ram_bytes: usize, line_bytes: usize) -> bool {
        self.shape.words * 4 == line_bytes && self.index.len() == ram_bytes.div_ceil(line_bytes)
    }

    /// True if the line at `physical` has a decoded form.
    pub fn has(&self, physical: u32) -> bool {
        let entry = self.index.get((physical >> self.line_shift) as usize);
        entry.is_some_and(|&number| number != 0)
    }

    /// Memory for the store, wherever the next large page of the host begins. It is aligned as the host's allocator
    /// aligns all: what is aligned more, the allocator would write zeros to.
    fn layout(shape: Shape, capacity: usize) -> Layout {
        Layout::from_size_align(shape.stride * (capacity + SINGLES) + LARGE, WORD)
            .expect("caches are smaller than the address space")
    }

    fn header(&mut self, number: usize) -> &mut Line {
        // SAFETY: `number` < capacity + SINGLES, and zeroed memory is a valid `Line`.
        unsafe { &mut *self.base.add(number * self.shape.stride).cast::<Line>() }
    }

    fn op(&self, number: usize, index: usize) -> *mut Op {
        debug_assert!(number < self.capacity + SINGLES && index <= self.shape.words);
        // SAFETY: within the allocation.
        unsafe {
            self.base
                .add(number * self.shape.stride + HEADER + index * size_of::<Op>())
                .cast()
        }
    }

    /// The costs of blocks in other states than those that the ops of the line of `op` keep. A new one is entered in
    /// front, and the last one is dropped; a hit changes places with the cost in its op.
    ///
    /// # Safety
    /// `op` must point into this store, and nothing else refer to these costs.
    #[inline(always)]
    pub(super) unsafe fn others<'a>(&self, op: *const Op) -> &'a mut [BlockTiming] {
        let shape = self.shape;
        // SAFETY: the caller's. The costs are the last part of a line, and zeros are a cost, too.
        unsafe {
            let first = Self::line(op).cast::<u8>().add(shape.others).cast_mut();
            let count = (shape.stride - shape.others) / size_of::<BlockTiming>();
            std::slice::from_raw_parts_mut(first.cast(), count)
        }
    }

    fn raw(&mut self, number: usize) -> &mut [u8] {
        // SAFETY: the words follow the ops in the line's part of the allocation.
        unsafe {
            std::slice::from_raw_parts_mut(
                self.base.add(number * self.shape.stride + self.shape.raw),
                self.shape.words * 4,
            )
        }
    }

    /// The pointers that the fast path uses: index by physical line, base, and stride.
    pub fn parts(&self) -> (*const u32, *const u8, usize) {
        (self.index.pointer(), self.base, self.shape.stride)
    }

    /// Decodes `bytes` as the line at `physical`. `resident` tells whether the I-cache holds a line; the forms of
    /// such lines are kept.
    pub fn fill(&mut self, physical: u32, bytes: &[u8], cause: u8, resident: impl Fn(u32) -> bool) {
        if self.has_words(physical, bytes) {
            return;
        }
        let slot = (physical >> self.line_shift) as usize;
        let number = match self.index[slot] {
            0 => {
                let number = self.take(resident);
                self.index[slot] = number as u32 + 1;
                number
            }
            entry => entry as usize - 1,
        };
        self.raw(number).copy_from_slice(bytes);
        let header = self.header(number);
        header.physical = physical | IN_USE;
        header.cause = cause;
        let set = self.set;
        let words = bytes.len() / 4;
        let ops: Vec<Decoded> = (bytes.chunks_exact(4).enumerate())
            .map(|(index, word)| {
                let word = u32::from_be_bytes([word[0], word[1], word[2], word[3]]);
                set.op(word, index, words, true)
            })
            .collect();
        self.write(number, &ops);
    }

    /// An unused decoded form.
    fn take(&mut self, resident: impl Fn(u32) -> bool) -> usize {
        loop {
            if let Some(number) = self.free.pop() {
                return number as usize;
            }
            self.reclaim(&resident);
        }
    }

    /// Drops the decoded forms of all lines that the I-cache does not hold, and the links of the others, which may lead
    /// to dropped ones.
    #[cold]
    fn reclaim(&mut self, resident: &impl Fn(u32) -> bool) {
        for number in 0..self.capacity {
            let physical = self.header(number).physical & !IN_USE;
            if resident(physical) {
                for index in 0..=self.shape.words {
                    // SAFETY: `op` gives a place in this store, which holds a decoded line.
                    unsafe { (*self.op(number, index)).link = Link::NONE };
                }
            } else {
                self.index[(physical >> self.line_shift) as usize] = 0;
                self.header(number).physical = 0;
                self.make_stale(number);
                self.free.push(number as u32);
            }
        }
    }

    /// Decodes one instruction on its own, to be run outside any line.
    pub fn single(&mut self, word: u32, cause: u8) -> *const Op {
        let number = self.capacity + (word ^ word >> 11 ^ word >> 21) as usize % SINGLES;
        let bytes = word.to_be_bytes();
        let held = self.header(number).physical == IN_USE && self.raw(number)[..4] == bytes;
        let header = self.header(number);
        header.physical = IN_USE;
        header.cause = cause;
        if !held {
            self.write(number, &[self.set.op(word, 0, 1, false)]);
            self.raw(number)[..4].copy_from_slice(&bytes);
        }
        self.op(number, 0)
    }

    /// The header of the line of `op`.
    ///
    /// # Safety
    /// `op` must point into this store.
    unsafe fn line(op: *const Op) -> *const Line {
        // SAFETY: the caller's; a line's ops follow its header.
        unsafe {
            op.sub(usize::from((*op).timing.index))
                .cast::<Line>()
                .sub(1)
        }
    }

    /// A number of 48 bits that no other op has, nor one that stood in this place before: not 0.
    ///
    /// # Safety
    /// `op` must point into this store.
    #[inline(always)]
    pub(crate) unsafe fn key(&self, op: *const Op) -> u64 {
        // SAFETY: the caller's.
        let (place, decoded) = unsafe { (distance(self.base, op), (*op).decoded) };
        u64::from(place) | u64::from(decoded) << 32
    }

    /// The word that `op` was decoded from.
    pub fn word(&self, op: *const Op) -> u32 {
        // SAFETY: every op that runs lies in a line of this store, whose raw words follow its ops.
        unsafe {
            let raw = Self::line(op).cast::<u8>().add(self.shape.raw);
            let word = raw.cast::<[u8; 4]>().add(usize::from((*op).timing.index));
            u32::from_be_bytes(word.read())
        }
    }

    /// What the pipeline sees of the `count` instructions from `op` on.
    ///
    /// # Safety
    /// `op` must point into this store, and its line have so many.
    pub unsafe fn micro_ops(&self, op: *const Op, count: u8) -> impl Iterator<Item = MicroOp> {
        (0..usize::from(count)).map(move |n| {
            // SAFETY: the caller's.
            let word = self.word(unsafe { op.add(n) });
            self.set.micro_op(word)
        })
    }

    /// Drops the costs of all blocks, and the numbers of the pipeline's states.
    pub fn forget_timings(&mut self) {
        self.all_stale = true;
        self.timings = Timings::default();
        for number in 0..self.capacity + SINGLES {
            if self.header(number).physical != 0 {
                for index in 0..=self.shape.words {
                    // SAFETY: `op` gives a place in this store; what it holds is an op or zero.
                    unsafe { (*self.op(number, index)).timing = BlockTiming::none(index as u8) };
                }
                // SAFETY: as above; the first op knows its place in the line.
                unsafe { self.others(self.op(number, 0)).fill(BlockTiming::none(0)) };
            }
        }
    }

    /// The op of the instruction at `physical`, whose line must have been filled.
    pub fn at(&self, physical: u32) -> *const Op {
        let number = self.index[(physical >> self.line_shift) as usize] as usize - 1;
        let index = (physical as usize >> 2) & (self.shape.words - 1);
        self.op(number, index)
    }

    /// The op of the instruction at `physical`, and its line's cause, if the line has a decoded form. The host brings
    /// the line.
    #[inline(always)]
    pub fn decoded(&self, physical: u32) -> Option<(*const Op, u8)> {
        let line = self.expect(physical)?;
        let index = (physical as usize >> 2) & (self.shape.words - 1);
        // SAFETY: a line of the store has its header and its ops within its part of the allocation.
        unsafe {
            let op = line.add(HEADER + index * size_of::<Op>());
            Some((op.cast(), (*line.cast::<Line>()).cause))
        }
    }

    /// The decoded form of the line at `physical`, if it has one. The host brings it, or most of a long one.
    #[inline(always)]
    pub fn expect(&self, physical: u32) -> Option<*const u8> {
        /// The parts that a line of 32 bytes has.
        const PARTS: usize = 7;
        let number = *self.index.get((physical >> self.line_shift) as usize)?;
        let number = (number as usize).checked_sub(1)?;
        // SAFETY: the store has this line, behind which there are `SINGLES` others.
        unsafe {
            let line = self.base.add(number * self.shape.stride);
            for part in 0..PARTS {
                prefetch::at(line.add(part * 64));
            }
            Some(line.cast_const())
        }
    }

    /// True if the line at `physical` has a decoded form, which was made of these words.
    #[inline(always)]
    pub fn has_words(&self, physical: u32, bytes: &[u8]) -> bool {
        let number = self.index[(physical >> self.line_shift) as usize] as usize;
        if number == 0 {
            return false;
        }
        // SAFETY: as in `raw`.
        let raw = unsafe {
            let line = self.base.add((number - 1) * self.shape.stride);
            std::slice::from_raw_parts(line.add(self.shape.raw), self.shape.words * 4)
        };
        // A line of 32 bytes needs no call.
        match (<&[u8; 32]>::try_from(raw), <&[u8; 32]>::try_from(bytes)) {
            (Ok(raw), Ok(bytes)) => raw == bytes,
            _ => raw == bytes,
        }
    }

    /// The words that the I-cache's line at `physical` was filled with.
    pub fn content(&mut self, physical: u32) -> Option<Vec<u8>> {
        match *self.index.get((physical >> self.line_shift) as usize)? {
            0 => None,
            entry => Some(self.raw(entry as usize - 1).to_vec()),
        }
    }

    /// What has been compiled of a line is stale.
    fn make_stale(&mut self, number: usize) {
        if std::mem::take(&mut self.header(number).compiled) {
            self.stale.push(number as u32);
        }
    }

    /// True if there is stale compiled code.
    #[inline(always)]
    pub(crate) fn has_stale(&self) -> bool {
        self.all_stale || !self.stale.is_empty()
    }

    /// True if all compiled code is stale; and the numbers of the lines whose compiled code is.
    pub(crate) fn take_stale(&mut self) -> (bool, Vec<u32>) {
        let all = std::mem::take(&mut self.all_stale);
        (all, std::mem::take(&mut self.stale))
    }

    /// The line of `op`: its number, its tag word in the I-cache, and its cause. `None` if the instruction was decoded
    /// on its own.
    ///
    /// # Safety
    /// `op` must point into this store.
    pub(crate) unsafe fn place_of(&self, op: *const Op) -> Option<(u32, u32, u8)> {
        // SAFETY: the caller's.
        let (number, line) = unsafe {
            let line = Self::line(op);
            let away = line.byte_offset_from(self.base) as usize;
            (away / self.shape.stride, &*line)
        };
        (number < self.capacity).then_some((number as u32, line.physical, line.cause))
    }

    /// Code has been compiled from the line of `op`.
    ///
    /// # Safety
    /// `op` must point into this store, and nothing else refer to its line.
    pub(crate) unsafe fn mark_compiled(&mut self, op: *const Op) {
        // SAFETY: the caller's.
        unsafe { (*Self::line(op).cast_mut()).compiled = true };
    }

    /// What words are decoded with.
    pub(crate) fn set(&self) -> InstructionSet {
        self.set
    }

    /// Instructions in a line.
    pub(crate) fn words(&self) -> usize {
        self.shape.words
    }

    fn write(&mut self, number: usize, all: &[Decoded]) {
        self.make_stale(number);
        let header = self.header(number);
        header.decoded = header.decoded.wrapping_add(1);
        let decoded = header.decoded;
        if decoded == 0 {
            self.timings.forget_blocks();
            self.all_stale = true;
        }
        // The op after the last instruction begins the next line and costs nothing itself.
        let end = Op {
            run: next_line,
            operands: Operands::default(),
            timing: BlockTiming::none(all.len() as u8),
            instructions: 0,
            accesses: 0,
            decoded,
            link: Link::NONE,
        };
        // SAFETY: in bounds as `op` asserts; nothing else refers to this line while it is decoded.
        unsafe { self.op(number, all.len()).write(end) };
        let (mut instructions, mut accesses) = (0, 0);
        for (index, op) in all.iter().enumerate().rev() {
            if op.ends {
                (instructions, accesses) = (0, 0);
            }
            instructions += 1;
            accesses += u8::from(op.accesses);
            let op = Op {
                run: op.run,
                operands: op.operands,
                timing: BlockTiming::none(index as u8),
                instructions,
                accesses,
                decoded,
                link: Link::NONE,
            };
            // SAFETY: as above.
            unsafe { self.op(number, index).write(op) };
        }
        // SAFETY: as above. The first op has just been written.
        unsafe { self.others(self.op(number, 0)).fill(BlockTiming::none(0)) };
    }
}

/// The op that ends a line: on to the next one.
///
/// # Safety
/// `op` must be running.
unsafe fn next_line(m: &mut Processor, op: *const Op) -> *const Op {
    // SAFETY: `op` is running.
    unsafe { m.follow(op, m.address(op)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::CoreKind;
    use crate::powerpc::engine::timing::NO_STATE;

    /// `addi r3, r3, n` in each word of a line of 32 bytes.
    fn code(n: u32) -> Vec<u8> {
        [0x3863_0000 | n; 8]
            .iter()
            .flat_map(|word| word.to_be_bytes())
            .collect()
    }

    #[test]
    fn ops_stay_while_their_store_is_written() {
        let mut lines = Lines::new(4096, 32, 8, InstructionSet::of(CoreKind::Ppc604));
        let (index, base, stride) = lines.parts();
        lines.fill(0x20, &code(1), 3, |_| true);
        let last = lines.at(0x3c);
        lines.fill(0x40, &code(2), 4, |_| true);
        let next = lines.at(0x44);
        // SAFETY: `last` and `next` are ops of this store, as are those that its parts lead to; no reference lives.
        let key = unsafe {
            let number = *index.add(1) - 1;
            let line = base.add(number as usize * stride);
            assert_eq!((*line.cast::<Line>()).cause, 3);
            assert_eq!(line.add(HEADER).cast::<Op>().add(7), last);
            (*last.cast_mut()).link = Link::new(base, next, 0x40 | IN_USE, 5, 4);
            lines.key(last)
        };
        lines.fill(0x60, &code(3), 4, |_| true);
        let single = lines.single(0x3863_0009, 1);
        // SAFETY: as above. Filling another line wrote to none of these ops.
        unsafe {
            let link = &(*last).link;
            assert_eq!((link.place(), link.cause(), link.tag), (5, 4, 0x41));
            assert_eq!(link.op(base), next);
            assert_eq!(lines.word(link.op(base)), 0x3863_0002);
            assert_eq!(lines.place_of(last), Some((*index.add(1) - 1, 0x21, 3)));
            assert_eq!(lines.place_of(single), None);
        }
        lines.fill(0x20, &code(7), 3, |_| true);
        assert_eq!(lines.at(0x3c), last);
        // SAFETY: as above.
        unsafe {
            assert_eq!((*last).link.tag, Link::NONE.tag);
            assert_ne!(lines.key(last), key);
            assert_eq!(lines.word(last), 0x3863_0007);
        }
    }

    #[test]
    fn a_line_keeps_costs_until_it_is_decoded_anew() {
        for bytes in [16, 32, 128] {
            let mut lines = Lines::new(4096, bytes, 8, InstructionSet::of(CoreKind::Ppc604));
            lines.fill(0, &code(1).repeat(4)[..bytes], 3, |_| true);
            let (first, last) = (lines.at(0), lines.at(bytes as u32 - 4));
            // SAFETY: both are ops of this store, and no reference to a cost lives longer than its statement.
            unsafe {
                let count = lines.others(first).len();
                assert!(count >= OTHERS);
                lines.others(first)[count - 1].before = 7;
                assert_eq!(lines.others(last)[count - 1].before, 7);
                assert_eq!(lines.word(last), 0x3863_0001);
                lines.fill(0, &code(2).repeat(4)[..bytes], 3, |_| true);
                let forgotten = |cost: &BlockTiming| cost.before == NO_STATE;
                assert!(lines.others(last).iter().all(forgotten));
                lines.others(first)[0].before = 8;
                lines.forget_timings();
                assert!(lines.others(first).iter().all(forgotten));
            }
        }
    }
}
