//! What the translation sanitizer ([`crate::observe::stale`]) must know of an x86 processor.
//!
//! - An entry is made of a word of the directory and one of a table, or of a large page's word alone (SDM volume 3, 4.3
//!   and 4.4). With CR4.PAE the low halves are watched: no machine has memory that only the high half could name.
//! - A set of A and D bits by a walk is no change. An access without A is none that hardware looks at again.
//! - An entry may allow less than the tables: the access raises a page fault, which removes the entry (4.10.4.3).
//! - An invalid entry is never kept, so that a page that becomes present needs no flush.
//! - A store by an entry whose D bit the table has lost is a lost write: hardware sets D only where the entry lacks it.
//! - A large page that was split into the same translations needs no flush for the accesses to be right.
//! - A global entry stays when CR3 changes. i386 kernels copy the directory's words of the kernel to each process, and
//!   fill them when an access faults: a global entry is good while its last word is, though the directory in force has
//!   no word for it.
//! - A thread is named by ESP0 in its task-state segment, or by ESP1, where Linux since 4.20 keeps the thread's stack.

use super::paging::{Found, WIDE_LARGE_SHIFT};
use super::processor::Processor;
use super::registers::{cr0, cr4};
use super::stop::{Fatal, Stop};
use super::tlb::{Entry, Need, permits, pte};
use crate::computer::Sanitized;
use crate::debug::Debugged as _;
use crate::observe::stale::{CALLS_MOST, Key, Origin, Rules, Side, Truth, Use, Who};

const RULES: Rules = Rules {
    grain: 2,
    big_endian: false,
    gives: Some(gives),
    levels: &["directory", "table"],
    global: "a write of CR3 keeps it; INVLPG of its page, or a write of CR4 that changes PGE, removes it",
};

/// Bits of a word that must be as they were, and those that must not have gone.
fn gives(origin: &Origin, number: usize, now: u64) -> bool {
    const ALWAYS: u32 = 0xffff_f000 | pte::PRESENT | pte::LARGE;
    let mut words = origin.words().skip(number);
    let Some(word) = words.next() else {
        return true;
    };
    let is_leaf = words.next().is_none();
    let (before, now) = (word.value as u32, now as u32);
    let (same, kept) = if is_leaf {
        (
            ALWAYS | pte::THROUGH | pte::UNCACHED,
            pte::WRITE | pte::USER | pte::DIRTY,
        )
    } else {
        (ALWAYS, pte::WRITE | pte::USER)
    };
    (before ^ now) & same == 0 && before & !now & kept == 0
}

/// What the tables say of an address.
enum Walked {
    /// The physical address, and the bits that an entry would have.
    Page(u32, u32),
    /// No page, because of the directory.
    NoTable,
    /// No page.
    Nothing,
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
        self.registers.cpl == 3
    }

    fn who(&self) -> Who {
        Who {
            processor: self.number,
            cycle: self.now(),
            pc: self.pc().into(),
            user: self.in_user_mode(),
            thread: self.thread(),
            program: self.observers.symbols.program(),
            calls: Vec::new(),
        }
    }

    /// By the frames that EBP leads to, or else, of a kernel without frames, whatever
    /// on the stack points behind a call.
    fn calls(&self) -> Vec<u64> {
        const DEEP: u32 = 8192;
        const WORDS: u32 = 96;
        let lowest = self.observers.symbols.lowest_kernel();
        let known = |pc: u32| {
            let symbols = &self.observers.symbols;
            pc >= lowest && symbols.locate(pc, false).function.is_known()
        };
        let (esp, mut frame) = (self.registers.gpr[4], self.registers.gpr[5]);
        let mut calls = Vec::new();
        let mut last = esp;
        while calls.len() < CALLS_MOST && frame >= last && frame - esp < DEEP && frame & 3 == 0 {
            let Some(back) = self.word_at(frame.wrapping_add(4)).filter(|&pc| known(pc)) else {
                break;
            };
            calls.push(back.into());
            last = frame + 4;
            frame = self.word_at(frame).unwrap_or(0);
        }
        if calls.len() > 1 {
            return calls;
        }
        calls.clear();
        let mut page = None;
        for at in (esp..esp.saturating_add(4 * WORDS)).step_by(4) {
            if at & 0xfff == 0 || page.is_none() {
                page = self.peek_translation(at).map(|pa| pa.wrapping_sub(at));
            }
            let Some(word) = page.and_then(|delta| self.ram_word(at.wrapping_add(delta))) else {
                break;
            };
            if word < lowest {
                continue;
            }
            let byte = |back: u32| self.read_byte(word.wrapping_sub(back).into());
            // A call of an address has 5 bytes, one by a register or a word of memory 2, 3, 6 or 7.
            let indirect = || [2, 3, 6, 7].iter().any(|&back| byte(back) == Some(0xff));
            if known(word) && (byte(5) == Some(0xe8) || indirect()) {
                calls.push(word.into());
                if calls.len() == CALLS_MOST {
                    break;
                }
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

    /// Those that agree with the tables are good.
    fn look_at_entries(&mut self) {
        let protects = self.registers.cr0 & cr0::WP != 0;
        self.mmu.trust_all(protects);
        if !self.sanitized {
            return;
        }
        let all: Vec<(Key, Entry)> = (self.mmu.keys())
            .map(|(key, entry)| (key, *entry))
            .collect();
        for (key, entry) in all {
            let (walked, origin) = self.look_at_tables(key.page as u32);
            let global = entry.bits & pte::GLOBAL != 0;
            self.note_entry(key, origin, (entry.physical(), global), false, false);
            let agrees = matches!(walked, Walked::Page(pa, bits)
                if pa == entry.frame && entry.bits & !bits & (pte::WRITE | pte::USER | pte::DIRTY) == 0);
            if !agrees {
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
        self.due_at_once();
    }
}

impl Processor {
    /// EIP of the instruction that runs.
    fn pc(&self) -> u32 {
        self.block_eip.wrapping_add(self.here.op().at.into())
    }

    pub(super) fn word_at(&self, linear: u32) -> Option<u32> {
        self.ram_word(self.peek_translation(linear)?)
    }

    /// What names the thread that runs.
    fn thread(&self) -> u64 {
        let task = self.registers.tr.base;
        let word = |offset: u32| self.word_at(task.wrapping_add(offset)).unwrap_or(0);
        match word(12) {
            0 => word(4).into(),
            stack => stack.into(),
        }
    }

    fn side(&self, fetch: bool) -> Side {
        Side::of(fetch && self.mmu.instruction.is_some())
    }

    fn key(&self, linear: u32, large: bool, side: Side) -> Key {
        let shift = match large {
            true if self.registers.wide_entries() => WIDE_LARGE_SHIFT,
            true => 22,
            false => 12,
        };
        Key {
            page: (linear >> shift << shift).into(),
            shift: shift as u8,
            space: 0,
            side,
        }
    }

    /// The words that translate `linear`, and what they say; counts nothing. `known`: an entry of the directory that
    /// the walk cache has.
    fn follow(&self, linear: u32, known: Option<u64>) -> (Walked, Origin) {
        let wide = self.registers.wide_entries();
        let (directory, root) = if wide {
            let pointer = self.registers.directories[(linear >> 30) as usize];
            if pointer & u64::from(pte::PRESENT) == 0 {
                return (Walked::NoTable, Origin::new(pointer));
            }
            let at = pointer as u32 & !0xfff | linear >> 18 & 0xff8;
            (at, pointer & !0xfff)
        } else {
            let cr3 = self.registers.cr3 & !0xfff;
            (cr3 | linear >> 20 & 0xffc, cr3.into())
        };
        let read = |at: u32| {
            let low = self.ram_word(at)?;
            let high = if wide { self.ram_word(at | 4)? } else { 0 };
            Some(u64::from(high) << 32 | u64::from(low))
        };
        let mut origin = Origin::new(root);
        let Some(pde) = known.or_else(|| read(directory)) else {
            return (Walked::NoTable, origin);
        };
        let low = pde as u32;
        origin.push(directory, low.into());
        if low & pte::PRESENT == 0 || pde >> 32 != 0 {
            return (Walked::NoTable, origin);
        }
        if low & pte::LARGE != 0 && (wide || self.registers.cr4 & cr4::PSE != 0) {
            let mask = (1 << if wide { WIDE_LARGE_SHIFT } else { 22 }) - 1;
            let pa = low & !mask | linear & mask;
            return (Walked::Page(pa, self.page_bits(low, low)), origin);
        }
        let table = if wide {
            low & !0xfff | linear >> 9 & 0xff8
        } else {
            low & !0xfff | linear >> 10 & 0xffc
        };
        let Some(entry) = read(table) else {
            return (Walked::Nothing, origin);
        };
        origin.push(table, u64::from(entry as u32));
        if entry as u32 & pte::PRESENT == 0 || entry >> 32 != 0 {
            return (Walked::Nothing, origin);
        }
        let pa = entry as u32 & !0xfff | linear & 0xfff;
        (Walked::Page(pa, self.page_bits(low, entry as u32)), origin)
    }

    /// The page of `linear` of 4 KB whose words are present and were used before.
    pub(super) fn next_page(&self, linear: u32) -> Option<Found> {
        let (walked, origin) = self.look_at_tables(linear);
        let used = |value: u64| value as u32 & pte::ACCESSED != 0;
        match walked {
            Walked::Page(pa, bits)
                if origin.words().count() == 2 && origin.words().all(|word| used(word.value)) =>
            {
                Some(Found {
                    frame: (pa & !0xfff).into(),
                    bits,
                    large: false,
                })
            }
            _ => None,
        }
    }

    fn look_at_tables(&self, linear: u32) -> (Walked, Origin) {
        self.follow(linear, None)
    }

    /// A walk has loaded an entry for `linear`.
    #[cold]
    pub(super) fn note_fill(&mut self, linear: u32, fetch: bool, found: &Found) {
        self.refilled = true;
        let known = self.known.take();
        let (_, origin) = self.follow(linear, known);
        let key = self.key(linear, found.large, self.side(fetch));
        let global = found.bits & pte::GLOBAL != 0;
        // What the walk cache has may differ from the directory.
        let older = known.is_some_and(|known| {
            let first = origin.words().next();
            let now = first.and_then(|word| self.ram_word(word.at));
            now.is_none_or(|now| !gives(&origin, 0, now.into())) && known != 0
        });
        let second = self.mmu.second.is_some() && !found.large;
        self.note_entry(key, origin, (found.frame, global), second, older);
    }

    /// The second-level TLB has given its entry for `linear` to the first level.
    #[cold]
    pub(super) fn note_second(&mut self, linear: u32, fetch: bool) {
        self.note_copy(self.key(linear, false, self.side(fetch)));
    }

    /// The kernel goes to ring 3.
    #[cold]
    pub(super) fn note_return(&mut self) {
        let thread = self.thread();
        if let Some(stale) = self.stale() {
            stale.returned(thread);
        }
    }

    /// The suspect entry that an access to `linear` is about to use, which is an ordinary one from now on.
    #[cold]
    pub(super) fn take_suspect(&mut self, linear: u32, fetch: bool) -> Option<(Key, Entry)> {
        self.refilled = false;
        let protects = self.registers.cr0 & cr0::WP != 0;
        let side = self.side(fetch);
        for (large, side) in [(false, side), (true, side), (false, Side::Second)] {
            let key = self.key(linear, large, side);
            if let Some((entry, suspect)) = self.mmu.take_suspect(key, protects) {
                return suspect.then_some((key, entry));
            }
        }
        None
    }

    /// An access to `linear` with `need` has used what was a suspect entry.
    #[cold]
    pub(super) fn judge_use(
        &mut self,
        linear: u32,
        need: Need,
        fetch: bool,
        (key, entry): (Key, Entry),
    ) {
        if self.refilled {
            return;
        }
        let protects = self.registers.cr0 & cr0::WP != 0;
        let inside = (1_u32 << key.shift) - 1;
        let used = entry.frame | linear & inside;
        let write = need & 1 != 0;
        let (walked, origin) = self.look_at_tables(linear);
        let gone = match walked {
            Walked::Page(pa, _) => pa != used,
            Walked::NoTable | Walked::Nothing => true,
        };
        let other = |now, frame: Option<u32>| Truth::Other {
            root: origin.root,
            now,
            frame: frame.map(u64::from),
            gone,
            change: None,
        };
        let number = self.number;
        let truth = match walked {
            Walked::NoTable if entry.bits & pte::GLOBAL != 0 && self.leaf_stays(key) => {
                Truth::Same {
                    origin: (self.stale())
                        .and_then(|stale| stale.origin(number, key))
                        .unwrap_or(origin),
                    whole: true,
                }
            }
            Walked::NoTable | Walked::Nothing => {
                other("reaches a page that is no longer present", None)
            }
            Walked::Page(pa, _) if pa != used => {
                other("leads to another page frame than the table", Some(pa))
            }
            Walked::Page(_, bits) if (bits ^ entry.bits) & (pte::THROUGH | pte::UNCACHED) != 0 => {
                other("has other cache attributes than the table", None)
            }
            Walked::Page(_, bits) if !permits(bits, need, protects) => {
                other("has rights that the table no longer gives", None)
            }
            Walked::Page(_, bits) if write && bits & pte::DIRTY == 0 => other(
                "is dirty where the table no longer is, so that the write will be lost",
                None,
            ),
            Walked::Page(_, bits) => Truth::Same {
                origin,
                // A table may give the other pages of a large one something else.
                whole: entry.bits & !bits & (pte::WRITE | pte::USER | pte::DIRTY) == 0
                    && (key.shift == 12 || origin.words().count() == 1),
            },
        };
        let access = Use {
            key,
            address: linear.into(),
            frame: entry.frame.into(),
            access: match (fetch, write) {
                (true, _) => "a fetch from",
                (_, true) => "a write to",
                _ => "a read of",
            },
        };
        let who = Who {
            pc: if fetch { linear } else { self.pc() }.into(),
            ..self.who()
        };
        self.conclude(access, who, &truth, self.side(fetch));
    }

    /// Is the last word, of which the entry was made, still good?
    fn leaf_stays(&mut self, key: Key) -> bool {
        let number = self.number;
        let Some(origin) = self.stale().and_then(|stale| stale.origin(number, key)) else {
            return false;
        };
        let last = origin.words().enumerate().last();
        last.is_some_and(|(n, word)| {
            let now = self.ram_word(word.at);
            now.is_some_and(|now| gives(&origin, n, now.into()))
        })
    }
}
