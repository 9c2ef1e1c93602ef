//! What the translation sanitizer ([`crate::observe::stale`]) must know of a RISC-V processor.
//!
//! - An entry is made of one word for each level of the table (Privileged Architecture 20211203, 4.3 to 4.5), which
//!   are watched as 8 bytes. What a walk cache gave counts as the word that it was when the cache read it.
//! - A set of A and D bits by a walk is no change. An entry without A is loaded by no walk, and nobody looks at A
//!   again.
//! - An entry may allow less than the table: the access raises a page fault, which software may answer by a fence.
//! - These cores keep no invalid entries, so that a page that becomes valid needs no fence.
//! - A store by an entry whose D bit the table has lost is a lost write.
//! - A write of satp removes nothing. An entry of the address space that satp names is compared with the table that
//!   satp names. Global entries belong to all address spaces.
//! - A thread is named by `tp` in the kernel, which Linux keeps in `sscratch` while a program runs. A kernel that has
//!   the processor's number in `tp` (below one page) has one thread for each processor.

use super::csr::{privilege, satp};
use super::mmu::Translation;
use super::pmp::right;
use super::processor::Processor;
use super::tlb::{Entry, pte};
use super::trap::Fatal;
use crate::board::VIRT_RAM;
use crate::computer::{Sanitized, Stop};
use crate::observe::stale::{CALLS_MOST, Flush, Key, Origin, Rules, Side, Truth, Use, Who};

const RULES: Rules = Rules {
    grain: 3,
    big_endian: false,
    gives: Some(gives),
    levels: &["level 1", "level 2", "level 3", "level 4"],
    global: "a write of satp, and a fence of one address space, keep it; a fence of all address spaces removes it",
};

const RIGHTS: u64 = pte::READ | pte::WRITE | pte::EXECUTE | pte::USER;

/// Does the word of this number, of which the origin was made, give the same with the value `now`?
fn gives(origin: &Origin, number: usize, now: u64) -> bool {
    const SAME: u64 = satp::PPN << 10 | pte::VALID;
    let Some(word) = origin.words().nth(number) else {
        return true;
    };
    let leaf = word.value & (pte::READ | pte::EXECUTE) != 0;
    if (word.value ^ now) & SAME != 0 {
        return false;
    }
    if leaf {
        word.value & !now & (RIGHTS | pte::DIRTY) == 0
            // The right of a user is not one more: it keeps the kernel out.
            && (word.value ^ now) & pte::USER == 0
    } else {
        now & (pte::READ | pte::EXECUTE) == 0
    }
}

impl Sanitized for Processor {
    const RULES: Rules = RULES;

    fn sanitized(&mut self) -> &mut bool {
        &mut self.sanitized
    }

    fn number(&self) -> u8 {
        self.number
    }

    fn in_user_mode(&self) -> bool {
        self.privilege == privilege::USER
    }

    fn who(&self) -> Who {
        Who {
            processor: self.number,
            cycle: self.cycles,
            pc: self.pc,
            user: self.in_user_mode(),
            thread: self.thread(self.x(4)),
            program: self.observers.symbols.program(),
            calls: Vec::new(),
        }
    }

    /// `ra`, then by the frames that `s0` leads to.
    fn calls(&self) -> Vec<u64> {
        const DEEP: u64 = 16384;
        let known = |pc: u64| {
            let symbols = &self.observers.symbols;
            // Below are the names of firmware, which no frame of a kernel returns to.
            pc as u32 >= VIRT_RAM as u32 && symbols.locate(pc as u32, false).function.is_known()
        };
        let word = |va: u64| {
            let at = self.ram_address(self.peek(va)?, 8)?;
            self.memory.uncore.ram.get(at).map(u64::from_le_bytes)
        };
        let (sp, mut frame) = (self.x(2), self.x(8));
        let mut calls = Vec::new();
        if known(self.x(1)) {
            calls.push(self.x(1));
        }
        while calls.len() < CALLS_MOST && frame > sp && frame - sp < DEEP && frame & 7 == 0 {
            let Some(back) = word(frame - 8).filter(|&pc| known(pc)) else {
                break;
            };
            if calls.last() != Some(&back) {
                calls.push(back);
            }
            match word(frame - 16) {
                Some(next) if next > frame => frame = next,
                _ => break,
            }
        }
        calls
    }

    fn suspect(&mut self, key: Key) {
        self.mmu.suspect(key);
    }

    fn live(&self) -> Vec<Key> {
        self.mmu.keys().map(|(key, _)| key).collect()
    }

    /// Those that agree with the table are good.
    fn look_at_entries(&mut self) {
        self.mmu.drop_shortcuts();
        self.mmu.trust_all();
        if !self.sanitized {
            return;
        }
        let asid = self.asid();
        let all: Vec<(Key, Entry)> = self.mmu.keys().collect();
        for (key, entry) in all.into_iter().filter(|(_, entry)| entry.asid == asid) {
            let (found, origin) = self.follow(entry.page);
            let global = u64::from(entry.bits) & pte::GLOBAL != 0;
            self.note_entry(key, origin, (entry.frame, global), false, false);
            let lost = |value: u64| u64::from(entry.bits) & !value & (RIGHTS | pte::DIRTY) != 0;
            if found.is_none_or(|(pa, value)| pa != entry.frame || lost(value)) {
                self.mmu.suspect(key);
            }
        }
    }

    fn watch_piece(&mut self, at: u32) {
        self.blocks.watch(at);
    }

    fn unwatch_piece(&mut self, at: u32) {
        self.blocks.unwatch(at);
    }

    fn stop_with(&mut self, report: String) {
        (self.running.stop).get_or_insert(Stop::Fatal(Fatal::Sanitizer { report }));
        self.running.deadline = 0;
    }
}

impl Processor {
    fn thread(&self, pointer: u64) -> u64 {
        if pointer < 0x1000 {
            self.number.into()
        } else {
            pointer
        }
    }

    /// The page frame, and the last word, that the table has for `va`, and all words of the walk; counts nothing.
    pub(super) fn follow(&self, va: u64) -> (Option<(u64, u64)>, Origin) {
        let mut origin = Origin::new(self.csr.satp & satp::PPN);
        let levels = self.levels();
        let mut table = (self.csr.satp & satp::PPN) << 12;
        for level in (0..levels).rev() {
            let shift = 12 + 9 * level;
            let Some(at) = self.ram_address(table + (va >> shift & 511) * 8, 8) else {
                return (None, origin);
            };
            let value = self.memory.uncore.ram.get(at).map_or(0, u64::from_le_bytes);
            origin.push(at, value);
            if value & pte::VALID == 0 {
                return (None, origin);
            }
            table = (value >> 10 & satp::PPN) << 12;
            if value & (pte::READ | pte::EXECUTE) != 0 {
                let inside = (1_u64 << shift) - 1;
                return (
                    Some((table & !inside | va & inside & !0xfff, value)),
                    origin,
                );
            }
        }
        (None, origin)
    }

    /// A walk has loaded an entry, from the words that were noted.
    #[cold]
    pub(super) fn note_fill(&mut self, entry: &Entry, fetch: bool, second: bool) {
        self.refilled = true;
        let origin = self.walked;
        let global = u64::from(entry.bits) & pte::GLOBAL != 0;
        let ram = &self.memory.uncore.ram;
        let older = origin.words().enumerate().any(|(n, word)| {
            let now = ram.get(word.at).map_or(0, u64::from_le_bytes);
            !gives(&origin, n, now)
        });
        let key = key(entry, Side::of(fetch));
        self.note_entry(key, origin, (entry.frame, global), second, older);
    }

    /// The second-level TLB has given its entry to the first level.
    #[cold]
    pub(super) fn note_second(&mut self, entry: &Entry, fetch: bool) {
        self.note_copy(key(entry, Side::of(fetch)));
    }

    #[cold]
    pub(super) fn note_fence(&mut self, va: Option<u64>, asid: Option<u16>) {
        let what = match (va, asid) {
            (None, None) => Flush::All,
            (None, Some(asid)) => Flush::Space(asid.into()),
            (Some(va), asid) => Flush::Page(va, asid.map(u32::from)),
        };
        self.note_flush(what);
    }

    /// satp was written: entries of its address space may be of another table.
    #[cold]
    pub(super) fn note_root(&mut self) {
        let (number, root, asid) = (self.number, self.csr.satp & satp::PPN, self.asid());
        let others = self
            .stale()
            .map(|stale| stale.of_other_root(number, asid.into(), root));
        for key in others.unwrap_or_default() {
            self.mmu.suspect(key);
        }
    }

    /// The kernel goes to user mode.
    #[cold]
    pub(super) fn note_return(&mut self) {
        let (scratch, own) = (self.thread(self.csr.sscratch), self.number.into());
        if let Some(stale) = self.stale() {
            stale.returned(scratch);
            stale.returned(own);
        }
    }

    /// The suspect entry that an access to `va` is about to use, which is an ordinary one from now on.
    #[cold]
    pub(super) fn take_suspect(&mut self, va: u64, fetch: bool) -> Option<(Key, Entry)> {
        self.refilled = false;
        let asid = self.asid();
        for side in [Side::of(fetch), Side::Second] {
            if let Some((entry, suspect)) = self.mmu.take_suspect(va, asid, side) {
                return suspect.then(|| (key(&entry, side), entry));
            }
        }
        None
    }

    /// An access to `va` has used what was a suspect entry.
    #[cold]
    pub(super) fn judge_use(&mut self, va: u64, access: u8, (key, entry): (Key, Entry)) {
        if self.refilled {
            return;
        }
        let (fetch, write) = (access == right::EXECUTE, access == right::WRITE);
        let by = if fetch { self.fetches_by } else { self.data_by };
        let Translation::By(mode) = by else {
            return;
        };
        let (found, origin) = self.follow(va);
        let inside = (1_u64 << entry.shift) - 1;
        let used = entry.frame | va & inside & !0xfff;
        let gone = found.is_none_or(|(pa, _)| pa != used);
        let other = |now, frame| Truth::Other {
            root: origin.root,
            now,
            frame,
            gone,
            change: None,
        };
        let allows = |value: u64| {
            let bits = value as u8;
            Entry { bits, ..entry }.allows(access, mode)
        };
        let truth = match found {
            None => other("reaches a page that is no longer valid", None),
            Some((pa, _)) if pa != used => {
                other("leads to another page frame than the table", Some(pa))
            }
            Some((_, value)) if !allows(value) => {
                other("has rights that the table no longer gives", None)
            }
            Some((_, value)) if write && value & pte::DIRTY == 0 => other(
                "is dirty where the table no longer is, so that the write will be lost",
                None,
            ),
            Some((_, value)) => {
                let lost = u64::from(entry.bits) & !value & (RIGHTS | pte::DIRTY);
                let leaf_shift = 12 + 9 * (self.levels() - origin.words().count() as u32);
                Truth::Same {
                    origin,
                    // A table may give the other pages of a large one something else.
                    whole: lost == 0 && u32::from(entry.shift) <= leaf_shift,
                }
            }
        };
        let what = Use {
            key,
            address: va,
            frame: entry.frame,
            access: match (fetch, write) {
                (true, _) => "a fetch from",
                (_, true) => "a write to",
                _ => "a read of",
            },
        };
        self.conclude(what, self.who(), &truth, Side::of(fetch));
    }
}

/// The sanitizer's name for an entry.
pub(super) fn key(entry: &Entry, side: Side) -> Key {
    Key {
        page: entry.page,
        shift: entry.shift,
        space: entry.asid.into(),
        side,
    }
}
