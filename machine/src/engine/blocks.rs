//! Decoded code of instructions of any length: blocks, straight runs of them, kept by RAM address until a store changes
//! them. The instruction set is a [`Part`]: several can be in one program.
//!
//! A block is a row of parts. The first one is its head, which says where the block begins, and has links to the heads
//! of the blocks that follow it, as distances in bytes.

use std::mem::MaybeUninit;

use crate::computer::pages;
use crate::memory::{Fixed, RamAddress, prefetch};

/// One of the parts of a block: its head, an instruction, or what else the instruction set puts between them.
pub trait Part: Copy {
    /// Bytes of a block at most.
    const BYTES_MOST: u32;

    /// Is it the head of the block at `pa` in this mode, and is that block valid?
    fn heads(&self, pa: RamAddress, mode: bool) -> bool;

    /// The same of what is known to be a head, valid or not.
    fn begins_at(&self, pa: RamAddress, mode: bool) -> bool;

    /// Of a head: the bytes of its block.
    fn bytes(&self) -> u32;

    /// Of a head: its block is no longer valid, and begins nowhere from now on.
    fn drop_block(&mut self);

    /// Of a head: is more kept of its block elsewhere? Then [`Blocks::take_dropped`] tells when it is dropped.
    fn is_kept(&self) -> bool {
        false
    }

    /// Of a head: how far away, in bytes, the head of this successor is. A link that has not been made leads to the
    /// head that has it. An instruction set that makes no links need not keep them.
    fn away(&self, _successor: Successor) -> i32 {
        0
    }

    /// Of a head: makes the link to a successor.
    fn set_away(&mut self, _successor: Successor, _away: i32) {}
}

/// Which way a block is left.
#[derive(Clone, Copy)]
pub enum Successor {
    Taken,
    Straight,
}

/// Places for blocks.
const PLACES: usize = 1 << 19;

/// Parts of all blocks at most. When they are used up, all blocks are dropped.
const PARTS: usize = 1 << 19;

/// Targets of jumps that go to different places.
const TARGETS: usize = 1 << 14;

/// A store looks for code in pieces of this size: bits of a word for each page.
pub const PIECE_SHIFT: u32 = 6;

/// All blocks.
pub struct Blocks<P> {
    /// What [`key`] gives of a block, and from [`HEAD_SHIFT`] on the place of its head among the parts.
    slots: Box<[u64]>,
    /// The parts of all blocks, one block after another. Pointers lead to them, so that no reference to a part outlives
    /// a call. A part that has been entered stays as it is until [`Blocks::enter`] begins anew.
    parts: Fixed<MaybeUninit<P>>,
    /// How many parts there are.
    count: usize,
    /// How often all blocks were dropped.
    resets: u64,
    /// How far the head that [`Blocks::following`] or [`Blocks::enter`] gave last is behind the first part, in bytes.
    last: Option<u32>,
    /// The heads of dropped blocks of which more is kept elsewhere: their places among the parts.
    dropped: Vec<u32>,
    /// Where jumps that go to different places went: by target, the place of the block's head among the parts, or of
    /// another part.
    targets: Box<[u32; TARGETS]>,
    /// For each page of RAM: the pieces that hold decoded code.
    pieces: Box<[u64]>,
    /// The pieces that an I-cache may hold.
    fetched: Box<[u64]>,
    /// The pieces whose stores an observer must see; empty without one.
    watched: Box<[u64]>,
    /// All together: what a store looks at.
    either: Fixed<u64>,
}

const VALID: u64 = 1 << 33;
const MODE: u32 = 32;
const HEAD_SHIFT: u32 = 34;
const KEY: u64 = (1 << HEAD_SHIFT) - 1;

fn key(pa: RamAddress, mode: bool) -> u64 {
    VALID | u64::from(mode) << MODE | u64::from(pa)
}

fn place(pa: RamAddress) -> usize {
    (pa ^ pa >> 19) as usize % PLACES
}

impl<P: Part> Blocks<P> {
    /// No blocks, for a machine with so much RAM.
    #[must_use]
    pub fn new(ram: usize) -> Self {
        let mut slots = vec![0; PLACES].into_boxed_slice();
        let mut parts = Box::new_uninit_slice(PARTS).into_vec();
        pages::large(&mut slots);
        pages::large(&mut parts);
        Blocks {
            slots,
            parts: parts.into(),
            count: 0,
            resets: 0,
            last: None,
            dropped: Vec::new(),
            targets: Box::new([0; TARGETS]),
            pieces: vec![0; ram >> 12].into_boxed_slice(),
            fetched: vec![0; ram >> 12].into_boxed_slice(),
            watched: Box::default(),
            either: vec![0; ram >> 12].into(),
        }
    }

    /// How often all blocks were dropped. Until then, a head is the head of the same instructions.
    #[inline(always)]
    #[must_use]
    pub fn resets(&self) -> u64 {
        self.resets
    }

    /// Have blocks been dropped of which more is kept elsewhere, since [`Blocks::take_dropped`] told of them?
    #[inline(always)]
    #[must_use]
    pub fn has_dropped(&self) -> bool {
        !self.dropped.is_empty()
    }

    /// The heads of the blocks that have been dropped, of which more is kept elsewhere.
    pub fn take_dropped(&mut self) -> Vec<*const P> {
        let places = std::mem::take(&mut self.dropped);
        let heads = places.into_iter().filter_map(|n| self.part(n as usize));
        heads.map(<*mut P>::cast_const).collect()
    }

    /// Where the parts are. They stay there.
    #[must_use]
    pub fn pointer(&self) -> *const P {
        self.parts.pointer().cast()
    }

    /// The part in this place, if there is one.
    #[inline(always)]
    fn part(&self, place: usize) -> Option<*mut P> {
        let first = self.parts.pointer().cast::<P>();
        // SAFETY: there is room for all parts that there are.
        (place < self.count).then(|| unsafe { first.add(place) })
    }

    /// The head of the block at `pa`, or null. Its parts are good until the next call of [`Blocks::enter`].
    #[inline(always)]
    #[must_use]
    pub fn find(&self, pa: RamAddress, mode: bool) -> *const P {
        let slot = self.slots[place(pa)];
        match self.part((slot >> HEAD_SHIFT) as usize) {
            Some(head) if slot & KEY == key(pa, mode) => head,
            _ => std::ptr::null(),
        }
    }

    /// [`Blocks::find`] for a jump to `target`. The host can go on with what it finds before it knows `pa`.
    #[inline(always)]
    #[must_use]
    pub fn target(&mut self, target: u32, pa: RamAddress, mode: bool) -> *const P {
        let place = self.targets[target as usize % TARGETS] as usize;
        match self.part(place) {
            // SAFETY: a part that is there has been written.
            Some(head) if unsafe { (*head).heads(pa, mode) } => head,
            _ => self.target_anew(target, pa, mode),
        }
    }

    #[inline(never)]
    fn target_anew(&mut self, target: u32, pa: RamAddress, mode: bool) -> *const P {
        let head = self.find(pa, mode);
        if !head.is_null() {
            let place = self.slots[place(pa)] >> HEAD_SHIFT;
            self.targets[target as usize % TARGETS] = place as u32;
        }
        head
    }

    /// [`Blocks::target`] for a block that runs behind the block that this function or [`Blocks::enter`] gave last, as
    /// far as the caller knows. The two are linked, so that the host finds the second one at once the next time.
    #[inline(always)]
    #[must_use]
    pub fn following(&mut self, target: u32, pa: RamAddress, mode: bool) -> *const P {
        let first = self.parts.pointer().cast::<P>().cast_const();
        let mut head;
        // SAFETY: `last` leads to a head that was written, even if its block is dropped: only `enter` drops all parts,
        // and it replaces `last`.
        unsafe {
            let last = self.last.map(|last| first.byte_add(last as usize));
            let successor = match last {
                Some(last) if !(*last).begins_at(pa.wrapping_sub((*last).bytes()), mode) => {
                    Successor::Taken
                }
                _ => Successor::Straight,
            };
            head = last.map_or(std::ptr::null(), |last| linked(last, successor, pa, mode));
            if head.is_null() {
                head = self.target(target, pa, mode);
                if head.is_null() {
                    return head;
                }
                if let Some(last) = last {
                    self.link(last, successor, head);
                }
            }
            self.last = Some(head.byte_offset_from(first) as u32);
            expect_successors(head);
        }
        head
    }

    /// What runs next does not follow the last block.
    #[inline(always)]
    pub fn lose_last(&mut self) {
        self.last = None;
    }

    /// Enters a new block, and returns its head.
    pub fn enter(&mut self, pa: RamAddress, mode: bool, block: &[P]) -> *const P {
        if self.count + block.len() > PARTS {
            self.slots.fill(0);
            self.pieces.fill(0);
            self.either.copy_from_slice(&self.fetched);
            for (either, watched) in self.either.iter_mut().zip(&self.watched) {
                *either |= watched;
            }
            self.count = 0;
            self.resets += 1;
            self.dropped.clear();
        }
        let head = self.count;
        for part in block {
            self.parts[self.count].write(*part);
            self.count += 1;
        }
        self.drop_place(place(pa));
        self.slots[place(pa)] = key(pa, mode) | (head as u64) << HEAD_SHIFT;
        let length = block.first().map_or(1, P::bytes);
        let (first, last) = (pa & 0xfff, (pa & 0xfff) + length - 1);
        for piece in first >> PIECE_SHIFT..=last >> PIECE_SHIFT {
            let page = (pa >> 12) as usize;
            mark(&mut self.pieces, page, piece);
            mark(&mut self.either, page, piece);
        }
        self.last = Some((head * size_of::<P>()) as u32);
        self.part(head).unwrap_or(std::ptr::null_mut())
    }

    /// The block in this place is no longer found, nor do links lead to it.
    fn drop_place(&mut self, place: usize) {
        let slot = std::mem::take(&mut self.slots[place]);
        if slot & VALID != 0
            && let Some(head) = self.part((slot >> HEAD_SHIFT) as usize)
        {
            // SAFETY: as in [`Blocks::target`]; the references end with the calls.
            unsafe {
                (*head).drop_block();
                if (*head).is_kept() {
                    self.dropped.push((slot >> HEAD_SHIFT) as u32);
                }
            }
        }
    }

    /// The line at `pa` goes into an I-cache.
    #[inline(always)]
    pub fn mark_fetched(&mut self, pa: RamAddress) {
        let (page, piece) = ((pa >> 12) as usize, (pa & 0xfff) >> PIECE_SHIFT);
        mark(&mut self.fetched, page, piece);
        mark(&mut self.either, page, piece);
    }

    /// For each page of RAM: the pieces that an I-cache may hold.
    #[must_use]
    pub fn fetched(&self) -> &[u64] {
        &self.fetched
    }

    /// Puts back what [`Blocks::fetched`] gave. False if it is of another RAM.
    #[must_use]
    pub fn set_fetched(&mut self, fetched: &[u64]) -> bool {
        if fetched.len() != self.fetched.len() {
            return false;
        }
        self.fetched.copy_from_slice(fetched);
        for (either, (pieces, fetched)) in
            (self.either.iter_mut()).zip(self.pieces.iter().zip(fetched))
        {
            *either = pieces | fetched;
        }
        for (either, watched) in self.either.iter_mut().zip(&self.watched) {
            *either |= watched;
        }
        true
    }

    /// Stores to the piece at `pa` are for an observer to see.
    pub fn watch(&mut self, pa: RamAddress) {
        if self.watched.is_empty() {
            self.watched = vec![0; self.either.len()].into_boxed_slice();
        }
        let (page, piece) = ((pa >> 12) as usize, (pa & 0xfff) >> PIECE_SHIFT);
        mark(&mut self.watched, page, piece);
        mark(&mut self.either, page, piece);
    }

    /// Ends what [`Blocks::watch`] began.
    pub fn unwatch(&mut self, pa: RamAddress) {
        let (page, piece) = ((pa >> 12) as usize, (pa & 0xfff) >> PIECE_SHIFT);
        if let Some(watched) = self.watched.get_mut(page) {
            *watched &= !(1 << piece);
            self.either[page] = self.pieces[page] | self.fetched[page] | *watched;
        }
    }

    /// Must an observer see a store to these bytes?
    #[must_use]
    pub fn is_watched(&self, pa: RamAddress, bytes: u32) -> bool {
        let watched = self.watched.get((pa >> 12) as usize);
        watched.is_some_and(|&watched| marked(watched, pa, bytes))
    }

    /// True if these bytes of RAM may be decoded code, or in an I-cache.
    #[inline(always)]
    #[must_use]
    pub fn holds(&self, pa: RamAddress, bytes: u32) -> bool {
        let either = self.either.get((pa >> 12) as usize);
        either.is_some_and(|&either| marked(either, pa, bytes))
    }

    /// For each page of RAM, a bit for each piece about which [`Blocks::holds`] would be true. The words stay where
    /// they are.
    #[must_use]
    pub fn held(&self) -> *const u64 {
        self.either.pointer().cast_const()
    }

    /// True if these bytes of RAM may be in an I-cache.
    #[must_use]
    pub fn may_be_cached(&self, pa: RamAddress, bytes: u32) -> bool {
        let fetched = self.fetched.get((pa >> 12) as usize);
        fetched.is_some_and(|&fetched| marked(fetched, pa, bytes))
    }

    /// These bytes of RAM change: blocks in their pieces are dropped.
    pub fn forget(&mut self, pa: RamAddress, bytes: u32) {
        let pieces = self.pieces.get((pa >> 12) as usize);
        if !pieces.is_some_and(|&pieces| marked(pieces, pa, bytes)) {
            return;
        }
        let page = pa & !0xfff;
        let first = (pa & 0xfff) >> PIECE_SHIFT;
        let last = ((pa & 0xfff) + bytes - 1).min(0xfff) >> PIECE_SHIFT;
        let begin = (first << PIECE_SHIFT).saturating_sub(P::BYTES_MOST);
        let end = (last + 1) << PIECE_SHIFT;
        for offset in begin..end {
            let pa = page | offset;
            if self.slots[place(pa)] & KEY & !(1 << MODE) == key(pa, false) {
                self.drop_place(place(pa));
            }
        }
        let page = (pa >> 12) as usize;
        let all = (self.pieces.get_mut(page)).zip(self.either.get_mut(page));
        if let (Some((pieces, either)), Some(fetched)) = (all, self.fetched.get(page)) {
            for piece in first..=last {
                *pieces &= !(1 << piece);
            }
            *either = *pieces | fetched | self.watched.get(page).unwrap_or(&0);
        }
    }

    /// Links the block at `head` to this successor, whose head is at `next`.
    ///
    /// # Safety
    /// Both must be heads of these blocks.
    pub unsafe fn link(&mut self, head: *const P, successor: Successor, next: *const P) {
        // SAFETY: the caller's; both pointers come from [`Blocks::part`], and so may be written through. There are less
        // than 2 GB of parts.
        unsafe {
            let away = next.byte_offset_from(head) as i32;
            (*head.cast_mut()).set_away(successor, away);
        }
    }
}

/// The head of this successor of the block at `head`, or null if the link does not lead to the block at `pa`.
///
/// # Safety
/// `head` must be the head of one of a processor's [`Blocks`].
#[inline(always)]
#[must_use]
pub unsafe fn linked<P: Part>(
    head: *const P,
    successor: Successor,
    pa: RamAddress,
    mode: bool,
) -> *const P {
    // SAFETY: a link leads to a head, even if that is dead. One that has not been made leads to the head that has it.
    unsafe {
        let next = head.wrapping_byte_offset((*head).away(successor) as isize);
        if (*next).begins_at(pa, mode) {
            next
        } else {
            std::ptr::null()
        }
    }
}

/// The block at `head` is about to run. The host brings its next parts, and the heads of the blocks that it is linked
/// to.
///
/// # Safety
/// As [`linked`].
#[inline(always)]
unsafe fn expect_successors<P: Part>(head: *const P) {
    // SAFETY: as in `linked`. What is prefetched need not be there.
    unsafe {
        for successor in [Successor::Taken, Successor::Straight] {
            prefetch::at(head.wrapping_byte_offset((*head).away(successor) as isize));
        }
        for line in 1..3 {
            prefetch::at(head.cast::<[u8; 64]>().wrapping_add(line));
        }
    }
}

/// Marks a piece of a page.
#[inline(always)]
fn mark(pieces: &mut [u64], page: usize, piece: u32) {
    if let Some(pieces) = pieces.get_mut(page) {
        *pieces |= 1 << piece;
    }
}

/// Is one of the pieces of these bytes, which are in one page, marked?
#[inline(always)]
fn marked(pieces: u64, pa: RamAddress, bytes: u32) -> bool {
    let (first, last) = (pa & 0xfff, (pa & 0xfff) + bytes - 1);
    (pieces >> (first >> PIECE_SHIFT) | pieces >> (last >> PIECE_SHIFT & 63)) & 1 != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A head, or what stands behind one.
    #[derive(Clone, Copy)]
    struct Toy {
        pa: RamAddress,
        bytes: u32,
        valid: bool,
        away: [i32; 2],
    }

    impl Part for Toy {
        const BYTES_MOST: u32 = 16;

        fn heads(&self, pa: RamAddress, mode: bool) -> bool {
            self.begins_at(pa, mode)
        }

        fn begins_at(&self, pa: RamAddress, mode: bool) -> bool {
            self.valid && self.pa == pa && !mode
        }

        fn bytes(&self) -> u32 {
            self.bytes
        }

        fn drop_block(&mut self) {
            self.valid = false;
        }

        fn away(&self, successor: Successor) -> i32 {
            self.away[successor as usize]
        }

        fn set_away(&mut self, successor: Successor, away: i32) {
            self.away[successor as usize] = away;
        }
    }

    fn block(pa: RamAddress) -> [Toy; 2] {
        let head = Toy {
            pa,
            bytes: 8,
            valid: true,
            away: [0; 2],
        };
        let behind = Toy {
            valid: false,
            ..head
        };
        [head, behind]
    }

    #[test]
    fn a_block_is_found_and_linked_until_a_store_changes_it() {
        let mut blocks: Blocks<Toy> = Blocks::new(1 << 16);
        let first = blocks.enter(0x1000, false, &block(0x1000));
        let second = blocks.enter(0x2000, false, &block(0x2000));
        assert_eq!(blocks.find(0x1000, false), first);
        assert!(blocks.find(0x1000, true).is_null());
        assert_eq!(blocks.target(7, 0x2000, false), second);
        assert_eq!(
            blocks.target(7, 0x2000, false),
            second,
            "from the table of targets"
        );
        // SAFETY: all are heads of these blocks.
        unsafe {
            assert!(linked(first, Successor::Taken, 0x2000, false).is_null());
            blocks.link(first, Successor::Taken, second);
            assert_eq!(linked(first, Successor::Taken, 0x2000, false), second);
            assert!(linked(first, Successor::Straight, 0x2000, false).is_null());
            assert_eq!((*first.add(1)).pa, 0x1000, "the part behind the head");
        }
        blocks.forget(0x2004, 4);
        assert!(blocks.find(0x2000, false).is_null());
        assert!(!blocks.holds(0x2000, 8) && blocks.holds(0x1000, 8));
        // SAFETY: as above. A head stays where it is when its block is dropped.
        unsafe {
            assert!(linked(first, Successor::Taken, 0x2000, false).is_null());
        }
        assert_eq!(blocks.find(0x1000, false), first);
    }

    #[test]
    fn a_block_is_linked_to_what_follows_it() {
        let mut blocks: Blocks<Toy> = Blocks::new(1 << 16);
        let other = blocks.enter(0x2000, false, &block(0x2000));
        let behind = blocks.enter(0x1008, false, &block(0x1008));
        let first = blocks.enter(0x1000, false, &block(0x1000));
        assert_eq!(blocks.following(1, 0x1008, false), behind);
        assert!(blocks.following(2, 0x3000, false).is_null());
        assert_eq!(blocks.following(2, 0x2000, false), other);
        // SAFETY: all are heads of these blocks.
        let links = |head| unsafe {
            let at = |successor, pa| linked(head, successor, pa, false);
            (
                at(Successor::Straight, 0x1008),
                at(Successor::Taken, 0x2000),
            )
        };
        assert_eq!(links(first), (behind, std::ptr::null()));
        assert_eq!(links(behind), (behind, other), "a link that is not made");
        blocks.lose_last();
        assert_eq!(blocks.following(0, 0x1000, false), first);
        assert_eq!(blocks.following(2, 0x2000, false), other);
        assert_eq!(links(first), (behind, other));
        blocks.forget(0x2000, 4);
        assert_eq!(blocks.following(0, 0x1000, false), first);
        assert!(blocks.following(2, 0x2000, false).is_null());
        blocks.count = PARTS - 1;
        let anew = blocks.enter(0x1008, false, &block(0x1008));
        assert!(blocks.following(0, 0x1000, false).is_null());
        assert_eq!(blocks.following(1, 0x1008, false), anew);
    }

    #[test]
    fn all_blocks_are_dropped_when_there_is_no_room() {
        let mut blocks: Blocks<Toy> = Blocks::new(1 << 16);
        blocks.enter(0x1000, false, &block(0x1000));
        blocks.count = PARTS - 1;
        let head = blocks.enter(0x3000, false, &block(0x3000));
        assert!(blocks.find(0x1000, false).is_null());
        assert!(!blocks.holds(0x1000, 8));
        assert_eq!(blocks.find(0x3000, false), head);
    }
}
