//! Replays a memory trace that another tool has recorded: its accesses go through the machine's own TLBs, walkers and
//! caches. No instruction runs, so that what the trace's processor was does not matter.
//!
//! Rules, which docs/replay.md explains to users:
//! - A page gets the next free frame before its first access. Hardware that walks a table finds it there. Software
//!   that loads a TLB reads two words through the data cache, one of each level of a tree, and takes no other time.
//! - An area of 4 MB keeps its address if the machine has that address and it is free. Otherwise it moves to the lowest
//!   free area. No two areas share one, whatever their address spaces.
//! - An instruction takes one cycle, and what the memory system makes it wait.

mod areas;
mod champsim;
mod drmemtrace;
mod lackey;
mod pages;
mod records;

pub use pages::{PageRule, PageRules};
pub use records::{Format, Reader, Record};

use crate::board::Console;
use crate::computer::Computer;
use crate::shim::areas::PAGE;
use crate::shim::{Asked, Hosted, Space};
use areas::Areas;

/// What an access is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Fetch,
    Load,
    Store,
}

/// What a replay asks of a processor.
pub trait Replayed: Hosted {
    /// An address space has a number in the TLBs, so that a switch to another one leaves them as they are.
    const TAGS_SPACES: bool;

    /// The sizes of pages that it can map, the smallest first.
    fn page_sizes(&self) -> Vec<u32>;

    /// Enters a page where hardware looks for it, before the first access. False: RAM is full.
    fn map_ahead(&mut self, space: &mut Space<Self>, address: u32) -> bool {
        space.frame(self, address).is_some()
    }

    /// One access to `address` in user mode, within a cache line, with all its costs.
    ///
    /// # Errors
    /// What the access raised.
    fn access(&mut self, access: Access, address: u32) -> Result<(), Self::Exception>;

    /// An instruction was completed, and took a cycle.
    fn complete(&mut self);

    /// Software loads the TLB at this exception.
    fn is_reload(exception: &Self::Exception) -> bool;

    /// Software reads a word of its page table.
    fn read_table(&mut self, address: u32);

    /// The TLBs lose the entries that hold `address`.
    fn invalidate(&mut self, address: u32);

    /// The TLBs lose every entry.
    fn flush(&mut self);
}

/// Which part of a trace counts, in instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// So many are left out at the beginning.
    pub skip: u64,
    /// So many more are replayed and not counted.
    pub warmup: u64,
    /// So many are counted at most.
    pub count: u64,
}

impl Default for Part {
    fn default() -> Self {
        Part {
            skip: 0,
            warmup: 0,
            count: u64::MAX,
        }
    }
}

/// What was replayed, beside the machine's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub instructions: u64,
    pub loads: u64,
    pub stores: u64,
    /// Changes of the address space.
    pub switches: u64,
    pub invalidations: u64,
    /// Misses of a TLB that software loads.
    pub reloads: u64,
}

impl Totals {
    fn since(self, before: Self) -> Self {
        Totals {
            instructions: self.instructions - before.instructions,
            loads: self.loads - before.loads,
            stores: self.stores - before.stores,
            switches: self.switches - before.switches,
            invalidations: self.invalidations - before.invalidations,
            reloads: self.reloads - before.reloads,
        }
    }
}

/// What [`Replay::seen`] is at the end.
const OVER: u64 = u64::MAX;

/// Exceptions of one access at most: an instruction's own, and what its reload meets.
const TRIES: usize = 8;

/// The largest access of a record, in bytes.
pub const ACCESS_MOST: u32 = 1 << 16;

/// A trace on its way through a machine.
pub struct Replay<C: Replayed> {
    machine: Computer<C>,
    space: Space<C>,
    areas: Areas,
    rules: PageRules,
    /// Frames of the tree that software reads: the root, and a table for each area.
    tree: Option<(u32, Vec<u32>)>,
    part: Part,
    seen: u64,
    /// A bit for each page of the machine's addresses that was touched.
    known: Vec<u64>,
    /// The address space of the last access.
    context: Option<u32>,
    totals: Totals,
    warm: Option<(Vec<(String, u64)>, Totals)>,
    line: u32,
    /// What a side file tells, in order, and how much of it is done.
    events: Vec<(u64, SideEvent)>,
    done: usize,
    /// Instructions of the trace, the skipped ones too.
    begun: u64,
    /// The address space that a side file tells.
    told: Option<u32>,
}

/// What a side file tells: before the instruction with a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SideEvent {
    /// An address space runs.
    Switch(u32),
    Invalidate(u64),
    Flush,
}

impl<C: Replayed> Replay<C> {
    /// A machine with empty TLBs and caches, ready for a trace.
    ///
    /// # Errors
    /// When the machine cannot be built, has several processors, or has no page of a size that the rules name.
    pub fn new(config: &C::Config, mut rules: PageRules, part: Part) -> Result<Self, String> {
        let mut machine = Computer::<C>::build(config, Console::memory(), &[])?;
        if machine.processors().len() > 1 {
            return Err("a trace is replayed on a machine of one processor".to_owned());
        }
        machine.set_hosted(true);
        let processor = machine.processor_mut();
        let sizes = processor.page_sizes();
        rules.check(&sizes)?;
        rules.keep(&sizes);
        let (pages, first) = processor.pages();
        let mut space = Space::new(pages, first);
        space.add_area(0, areas::END);
        processor.enter_user(0, 0);
        processor.state_changed();
        let line = processor.memory().data.geometry().line;
        Ok(Replay {
            machine,
            space,
            areas: Areas::new(rules.shared_from()),
            rules,
            tree: None,
            part,
            seen: 0,
            known: vec![0; 1 << 14],
            context: None,
            totals: Totals::default(),
            warm: None,
            line,
            events: Vec::new(),
            done: 0,
            begun: 0,
            told: None,
        })
    }

    /// What a side file tells, in order.
    pub fn set_events(&mut self, events: Vec<(u64, SideEvent)>) {
        self.events = events;
    }

    /// Does what the side file tells before the next instruction.
    fn follow_side(&mut self) -> Result<(), String> {
        while let Some(&(at, event)) = self.events.get(self.done)
            && at <= self.begun
        {
            self.done += 1;
            let space = self.told.unwrap_or(0);
            match event {
                SideEvent::Switch(space) => self.told = Some(space),
                SideEvent::Invalidate(address) => {
                    self.take(&Record::Invalidate { space, address })?;
                }
                SideEvent::Flush => self.take(&Record::Flush)?,
            }
        }
        self.begun += 1;
        Ok(())
    }

    /// Has all been counted that was asked for?
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.seen == OVER
    }

    /// The trace has ended, or no more of it is wanted.
    ///
    /// # Errors
    /// When nothing of it counts.
    pub fn finish(&self) -> Result<(), String> {
        if self.warm.is_some() {
            return Ok(());
        }
        Err(match self.seen {
            0 => "the trace has no instructions".to_owned(),
            seen => format!(
                "the trace has {seen} instructions, and all of them are skipped or warm the caches up"
            ),
        })
    }

    /// Replays a record.
    ///
    /// # Errors
    /// What the machine has no place for, in words.
    pub fn take(&mut self, record: &Record) -> Result<(), String> {
        if matches!(record, Record::Fetch { .. } | Record::Repeat) {
            self.follow_side()?;
            let before = self.part.skip.saturating_add(self.part.warmup);
            if self.seen == before && self.warm.is_none() {
                self.warm = Some((self.machine_counters(), self.totals));
            }
            if self.seen >= before.saturating_add(self.part.count) {
                // The accesses of the last instruction are over with it.
                self.seen = OVER;
                return Ok(());
            }
            self.seen += 1;
        }
        if self.seen == OVER || self.seen <= self.part.skip {
            return Ok(());
        }
        match *record {
            Record::Fetch {
                space,
                address,
                size,
            } => {
                self.totals.instructions += 1;
                self.machine.processor_mut().complete();
                self.whole(Access::Fetch, space, address, size)
            }
            Record::Repeat => {
                self.totals.instructions += 1;
                self.machine.processor_mut().complete();
                Ok(())
            }
            Record::Load {
                space,
                address,
                size,
            } => {
                self.totals.loads += 1;
                self.whole(Access::Load, space, address, size)
            }
            Record::Store {
                space,
                address,
                size,
            } => {
                self.totals.stores += 1;
                self.whole(Access::Store, space, address, size)
            }
            Record::Invalidate { space, address } => {
                self.totals.invalidations += 1;
                let place = self.areas.place(space, address)?;
                self.machine.processor_mut().invalidate(place);
                Ok(())
            }
            Record::Flush => {
                self.totals.invalidations += 1;
                self.machine.processor_mut().flush();
                Ok(())
            }
        }
    }

    /// An access that may reach into further cache lines.
    fn whole(&mut self, access: Access, space: u32, address: u64, size: u32) -> Result<(), String> {
        let space = self.told.unwrap_or(space);
        if self.context != Some(space) {
            let switched = self.context.replace(space).is_some();
            self.totals.switches += u64::from(switched);
            if switched && !C::TAGS_SPACES {
                self.machine.processor_mut().flush();
            }
        }
        let last = address.wrapping_add(u64::from(size.clamp(1, ACCESS_MOST) - 1));
        let line = !u64::from(self.line - 1);
        let mut at = address;
        loop {
            self.once(access, space, at)?;
            if at & line == last & line {
                return Ok(());
            }
            at = (at & line).wrapping_add(u64::from(self.line));
        }
    }

    fn once(&mut self, access: Access, space: u32, address: u64) -> Result<(), String> {
        let place = self.areas.place(space, address)?;
        let page = (place >> 12) as usize;
        if self.known[page / 64] & 1 << (page % 64) == 0 {
            self.touch(place, self.rules.size(address))?;
            self.known[page / 64] |= 1 << (page % 64);
        }
        for _ in 0..TRIES {
            let processor = self.machine.processor_mut();
            let Err(exception) = processor.access(access, place) else {
                return Ok(());
            };
            if C::is_reload(&exception) {
                self.totals.reloads += 1;
                self.read_tree(place)?;
            }
            let processor = self.machine.processor_mut();
            match processor.answer(&mut self.space, &exception) {
                Asked::Done => {}
                Asked::Call | Asked::Wrong(_) => {
                    let name = C::exception_name(&exception);
                    return Err(format!(
                        "the access to {address:#x} raises a {name} exception"
                    ));
                }
            }
        }
        Err(format!("the access to {address:#x} never comes to an end"))
    }

    /// A page is accessed for the first time: it gets its frame, and an entry where hardware looks for one.
    fn touch(&mut self, place: u32, size: u32) -> Result<(), String> {
        let processor = self.machine.processor_mut();
        let large = size > PAGE && !self.space.has(place);
        if large && !self.space.make_large(processor, place, size)
            || !processor.map_ahead(&mut self.space, place)
        {
            return Err(self.full());
        }
        Ok(())
    }

    /// Software reads the entry of `place`: the root's word, then the table's.
    fn read_tree(&mut self, place: u32) -> Result<(), String> {
        let processor = self.machine.processor_mut();
        if self.tree.is_none() {
            let root = self.space.fresh(processor);
            self.tree = root.map(|root| (root, vec![0; areas::COUNT]));
        }
        let (area, page) = ((place >> areas::SHIFT) as usize, place >> 12 & 0x3ff);
        let Some((root, tables)) = &mut self.tree else {
            return Err(self.full());
        };
        let (root, table) = (*root, &mut tables[area]);
        if *table == 0 {
            *table = self.space.fresh(processor).unwrap_or(0);
        }
        let table = *table;
        if table == 0 {
            return Err(self.full());
        }
        processor.read_table(root + 4 * area as u32);
        processor.read_table(table + 4 * page);
        Ok(())
    }

    fn full(&self) -> String {
        let size = self.machine.uncore().ram.size() >> 20;
        format!(
            "the trace touches more memory than the machine has ({size} MB): set memory.size to more, at most 1 GB"
        )
    }

    fn machine_counters(&mut self) -> Vec<(String, u64)> {
        self.machine.processor_mut().settle();
        self.machine.named_counters()
    }

    /// Every counter of the machine, without the warm-up.
    pub fn counters(&mut self) -> Vec<(String, u64)> {
        let mut counters = self.machine_counters();
        if let Some((before, _)) = &self.warm {
            let before = before.iter().map(|(_, value)| value);
            for ((_, value), before) in counters.iter_mut().zip(before) {
                *value -= before;
            }
        } else {
            counters.iter_mut().for_each(|(_, value)| *value = 0);
        }
        counters
    }

    /// What was replayed, without the warm-up.
    #[must_use]
    pub fn totals(&self) -> Totals {
        let before = self.warm.as_ref();
        before.map_or_else(Totals::default, |(_, before)| self.totals.since(*before))
    }

    /// Pages of 4 KB that were touched, and areas of 4 MB that have another address than in the trace.
    #[must_use]
    pub fn touched(&self) -> (usize, usize) {
        (self.space.touched(), self.areas.moved())
    }
}
