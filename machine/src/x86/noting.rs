//! What trace, listener and recorder are told: TLB misses with the steps of their walks, entries that are loaded,
//! exceptions.
//!
//! Nothing is noted while none of them is there.

use serde_json::{Value, json};

use super::exception;
use super::processor::Processor;
use super::tlb::{Replaced, Tlb, pte};
use crate::account::tlb_events::{Layout, Space, Step, Tables, TlbLoad, TlbPage};
use crate::computer::Progressing as _;
use crate::observe::Interruption;

/// A page directory and page tables. The numbers are CR3, and 1 if entries have 64 bits: then the first table that a
/// walk reads is the directory, since the processor keeps what points to it.
struct TwoLevels;

/// Physical address of the entry for `ea` in the directory that CR3 names.
fn directory(cr3: u64, ea: u32) -> u32 {
    cr3 as u32 & !0xfff | ea >> 20 & 0xffc
}

impl Layout for TwoLevels {
    fn describe(&self, [cr3, wide, ..]: [u64; 4], _: u32, shown: &mut Value) {
        shown["cr3"] = json!(format!("{cr3:#010x}"));
        shown["entry_bytes"] = json!(if wide == 0 { 4 } else { 8 });
    }

    fn may_read(&self, [cr3, ..]: [u64; 4], ea: u32, step: &Step) -> bool {
        step.bytes == 4 && (step.pa == directory(cr3, ea) || step.pa & 0xffc == ea >> 10 & 0xffc)
    }

    fn levels(&self, [cr3, wide, ..]: [u64; 4], ea: u32, steps: &[Step]) -> Vec<Option<u32>> {
        let first = match (wide, steps.first()) {
            (0, _) | (_, None) => directory(cr3, ea),
            (_, Some(step)) => step.pa & !7,
        };
        let level = |step: &Step| {
            let entry = if wide == 0 { step.pa } else { step.pa & !7 };
            Some(if entry == first { 1 } else { 2 })
        };
        steps.iter().map(level).collect()
    }
}

/// The page of an entry, by its tag and its bits.
fn page(tag: u32, bits: u32) -> TlbPage {
    TlbPage {
        address: tag & !0xfff,
        space: (bits & pte::GLOBAL == 0).then_some(Space::Untagged),
    }
}

impl Tlb {
    /// The set of `linear`, and what its ways hold.
    fn held(&self, linear: u32) -> (u32, Vec<Option<TlbPage>>) {
        let number = self.set(linear);
        let mut ways = vec![None; self.ways()];
        for (_, entry) in self.valid().filter(|&(set, _)| set == number) {
            ways[usize::from(entry.way())] = Some(page(entry.tag, entry.bits));
        }
        (number as u32, ways)
    }
}

impl Processor {
    /// Misses, loads and exceptions are noted from now on, if somebody is told of them.
    pub(super) fn choose_noting(&mut self) {
        let observers = &self.observers;
        self.noting = observers.trace.is_some()
            || observers.listener.is_some()
            || observers.recorder.is_some();
    }

    /// No TLB has the page of `linear`.
    #[cold]
    pub(super) fn note_miss(&mut self, linear: u32, fetch: bool) {
        let (set, ways) = self.mmu.small_mut(fetch).held(linear);
        if let Some(walk) = &mut self.account.tlb.walk {
            walk.begin(ways.into_iter());
        }
        let (root, wide) = (self.registers.cr3, self.registers.wide_entries());
        let tables = Tables {
            layout: &TwoLevels,
            numbers: [root.into(), wide.into(), 0, 0],
        };
        self.account.note_miss(fetch, (linear, set), None, tables);
    }

    /// The walk has read or written an entry, since cycle `from`.
    #[cold]
    pub(super) fn note_step(&mut self, pa: u32, value: u32, from: u64, store: bool) {
        let step = Step {
            cycle: from,
            took: self.now() - from,
            pa,
            bytes: 4,
            value: value.into(),
            store,
        };
        if let Some(walk) = &mut self.account.tlb.walk {
            walk.step(step);
        }
    }

    /// `entry` has been loaded for `linear`, and took the place of `out`. Sets for large pages come behind the others.
    #[cold]
    pub(super) fn note_load(
        &mut self,
        linear: u32,
        fetch: bool,
        large: bool,
        out: Option<Replaced>,
    ) {
        let fetch = fetch && self.mmu.instruction.is_some();
        let before = if large {
            self.mmu.small_mut(fetch).sets()
        } else {
            0
        };
        let Some(tlb) = self.mmu.loaded(fetch, large) else {
            return;
        };
        let entry = tlb.recent(linear);
        self.account.tlb.load = Some(TlbLoad {
            fetch,
            ea: linear,
            set: before + tlb.set(linear) as u32,
            way: entry.way().into(),
            page: page(entry.tag, entry.bits),
            victim: out.map(|out| page(out.tag, out.bits)),
        });
    }

    /// Tells of a walk for `linear` that began at cycle `from` and has taken so many.
    #[cold]
    pub(super) fn tell_walk(&mut self, linear: u32, fetch: bool, from: u64, cycles: u64) {
        if let Some(miss) = &mut self.account.tlb.miss {
            miss.walk = Some(cycles);
        }
        let pc = if fetch { linear } else { self.block_eip };
        self.observers.tlb(&mut self.account.tlb, pc, from);
        self.heed_listener();
    }

    /// An exception or an interrupt is about to be delivered.
    #[cold]
    pub(super) fn note_exception(&mut self, vector: u8) {
        self.close_watch();
        if let Some(recorder) = &mut self.observers.recorder {
            recorder.breaks_off();
        }
        let which = Interruption {
            name: exception::name(vector),
            counter: exception::counter_name(vector).trim_start_matches("exception."),
        };
        let code = (self.registers.eip, self.account.user, self.account.cause);
        let now = self.now();
        self.observers.exception(which, code, now);
        self.heed_listener();
    }

    /// Stops the machine before the next instruction, if a listener's batch is full.
    fn heed_listener(&mut self) {
        if self.observers.batch_is_full() {
            self.due_at_once();
        }
    }
}
