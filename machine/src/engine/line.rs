//! Decoded instructions, kept by physical cache line.
//!
//! A line that the I-cache holds keeps executing what it was filled with: a store does not touch
//! its decoded form. When the I-cache fills the line again, the words are compared with those that
//! were decoded, and decoded anew where memory has changed.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};

use super::Handler;
use super::dispatch;
use crate::pipeline::Schedule;
use crate::powerpc::Operands;
use crate::powerpc::instruction::{Class, Instruction, decode, uses};

/// One decoded instruction.
#[repr(C)]
pub struct Op {
    pub run: Handler,
    pub operands: Operands,
    /// Issue cycles from here to the end of the block.
    pub cycles: u16,
    /// Instructions from here to the end of the block.
    pub instructions: u16,
    /// Data accesses from here to the end of the block.
    pub accesses: u16,
    /// Position in the line.
    pub index: u16,
}

/// A decoded line: this header, one [`Op`] a word, and one that goes on to the next line.
#[repr(C)]
pub struct Line {
    /// Physical address, or [`NOTHING`].
    pub physical: u32,
    /// Number of the code's own cause, or [`NO_CAUSE`].
    pub cause: u8,
}

/// No line has this address.
pub const NOTHING: u32 = 1;

/// The code has no cause of its own.
pub const NO_CAUSE: u8 = 0xff;

/// Bytes before the first op of a line.
const HEADER: usize = 8;
const _: () = assert!(size_of::<Line>() == HEADER && size_of::<Op>() == 24);

/// Lines that the store holds at most; many times what an I-cache holds.
const CAPACITY: usize = 1 << 15;

/// Where a line's parts are.
#[derive(Clone, Copy, Debug)]
struct Shape {
    /// Instructions in a line.
    words: usize,
    /// Bytes from the header to the raw words.
    raw: usize,
    /// Bytes from one line to the next.
    stride: usize,
}

impl Shape {
    fn new(words: usize) -> Shape {
        let raw = HEADER + (words + 1) * size_of::<Op>();
        Shape {
            words,
            raw,
            stride: (raw + words * 4).next_multiple_of(64),
        }
    }
}

/// All decoded lines.
pub struct Lines {
    base: *mut u8,
    shape: Shape,
    line_shift: u32,
    /// For each line of RAM the number of its decoded form plus one, or 0.
    index: Box<[u32]>,
    /// The next to be given out, and to be taken away once all are in use.
    next: usize,
}

// SAFETY: `base` is this structure's own allocation.
unsafe impl Send for Lines {}

impl Drop for Lines {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with the same layout.
        unsafe { dealloc(self.base, Self::layout(self.shape)) }
    }
}

impl Lines {
    pub fn new(ram_bytes: usize, line_bytes: usize) -> Lines {
        let shape = Shape::new(line_bytes / 4);
        let layout = Self::layout(shape);
        // SAFETY: the layout's size is not zero. Pages that are never touched cost nothing.
        let base = unsafe { alloc_zeroed(layout) };
        if base.is_null() {
            handle_alloc_error(layout);
        }
        Lines {
            base,
            shape,
            line_shift: line_bytes.trailing_zeros(),
            index: vec![0; ram_bytes.div_ceil(line_bytes)].into_boxed_slice(),
            next: 0,
        }
    }

    fn layout(shape: Shape) -> Layout {
        Layout::from_size_align(shape.stride * (CAPACITY + 1), 64).expect("the size is constant")
    }

    fn header(&mut self, number: usize) -> &mut Line {
        // SAFETY: `number` <= CAPACITY, and zeroed memory is a valid `Line`.
        unsafe { &mut *self.base.add(number * self.shape.stride).cast::<Line>() }
    }

    fn op(&self, number: usize, index: usize) -> *mut Op {
        debug_assert!(number <= CAPACITY && index <= self.shape.words);
        // SAFETY: within the allocation.
        unsafe {
            self.base
                .add(number * self.shape.stride + HEADER + index * size_of::<Op>())
                .cast()
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
        (self.index.as_ptr(), self.base, self.shape.stride)
    }

    /// Makes the decoded form of the line at `physical` be that of `bytes`. `resident` tells whether
    /// the I-cache holds a line: those are not taken away.
    pub fn fill(
        &mut self,
        physical: u32,
        bytes: &[u8],
        cause: u8,
        schedule: &Schedule,
        resident: impl Fn(u32) -> bool,
    ) {
        let slot = (physical >> self.line_shift) as usize;
        let number = match self.index[slot] {
            0 => {
                let number = self.take(resident);
                self.index[slot] = number as u32 + 1;
                number
            }
            entry => {
                let number = entry as usize - 1;
                if self.raw(number) == bytes {
                    return;
                }
                number
            }
        };
        self.raw(number).copy_from_slice(bytes);
        let line_cause = Line {
            physical: physical | NOTHING,
            cause,
        };
        *self.header(number) = line_cause;
        let instructions: Vec<Instruction> = bytes
            .chunks_exact(4)
            .map(|word| decode(u32::from_be_bytes([word[0], word[1], word[2], word[3]])))
            .collect();
        self.write(number, &instructions, schedule, true);
    }

    /// A decoded form that is free, or that of a line which the I-cache does not hold.
    fn take(&mut self, resident: impl Fn(u32) -> bool) -> usize {
        loop {
            let number = self.next;
            self.next = (self.next + 1) % CAPACITY;
            let physical = self.header(number).physical;
            if physical == 0 {
                return number;
            }
            let physical = physical & !NOTHING;
            if !resident(physical) {
                self.index[(physical >> self.line_shift) as usize] = 0;
                return number;
            }
        }
    }

    /// Decodes one instruction on its own, to be run outside any line.
    pub fn single(&mut self, word: u32, cause: u8, schedule: &Schedule) -> *const Op {
        *self.header(CAPACITY) = Line {
            physical: NOTHING,
            cause,
        };
        self.write(CAPACITY, &[decode(word)], schedule, false);
        self.raw(CAPACITY)[..4].copy_from_slice(&word.to_be_bytes());
        self.op(CAPACITY, 0)
    }

    /// The word that `op` was decoded from.
    pub fn word(&self, op: *const Op) -> u32 {
        // SAFETY: every op that runs lies in a line of this store, whose raw words follow its ops.
        unsafe {
            let index = usize::from((*op).index);
            let raw = op
                .sub(index)
                .cast::<u8>()
                .add(self.shape.raw - HEADER + index * 4);
            u32::from_be_bytes(raw.cast::<[u8; 4]>().read())
        }
    }

    /// The op of the instruction at `physical`, whose line must have been filled.
    pub fn at(&self, physical: u32) -> *const Op {
        let number = self.index[(physical >> self.line_shift) as usize] as usize - 1;
        let index = (physical as usize >> 2) & (self.shape.words - 1);
        self.op(number, index)
    }

    /// The words that the I-cache's line at `physical` was filled with.
    pub fn content(&mut self, physical: u32) -> Option<Vec<u8>> {
        match *self.index.get((physical >> self.line_shift) as usize)? {
            0 => None,
            entry => Some(self.raw(entry as usize - 1).to_vec()),
        }
    }

    fn write(&mut self, number: usize, all: &[Instruction], schedule: &Schedule, near: bool) {
        // The op after the last instruction begins the next line and costs nothing itself.
        let mut ends = all.len();
        for index in (0..=all.len()).rev() {
            let op = match all.get(index) {
                None => Op {
                    run: dispatch::next_line(),
                    operands: Operands {
                        imm: index as u32 * 4,
                        ..Operands::default()
                    },
                    cycles: 0,
                    instructions: 0,
                    accesses: 0,
                    index: index as u16,
                },
                Some(instruction) => {
                    if instruction.opcode.uses() & uses::END != 0 {
                        ends = index + 1;
                    }
                    let block = &all[index..ends];
                    let accesses = block
                        .iter()
                        .filter(|i| i.opcode.uses() & (uses::LOAD | uses::STORE) != 0)
                        .count();
                    let resolved = instruction.opcode.class() == Class::Branch
                        && schedule.resolved(&all[..index], instruction);
                    let (run, operands) =
                        dispatch::handler(instruction, index, all.len(), near, resolved);
                    Op {
                        run,
                        operands,
                        cycles: schedule.block(block),
                        instructions: block.len() as u16,
                        accesses: accesses as u16,
                        index: index as u16,
                    }
                }
            };
            // SAFETY: in bounds as `op` asserts; nothing else refers to this line while it is decoded.
            unsafe { self.op(number, index).write(op) };
        }
    }
}
