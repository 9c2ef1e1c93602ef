//! What compiled code calls: the interpreter's own functions, with exact state.

use super::code::{Code, Kind, Part, Site, Target, Version};
use super::hot::CALL;
use crate::board::VIRT_RAM;
use crate::engine::schedule::{IDLE, Number, Step};
use crate::engine::straight::Runs as _;
use crate::memory::cache::VALID;
use crate::riscv::op::Op;
use crate::riscv::processor::{Processor, op};
use crate::riscv::tlb::PageShortcut;
use crate::riscv::trap::Raised;

/// The data that compiled code shares with Rust.
#[derive(Debug)]
#[repr(C)]
pub struct Shared {
    /// What versions count, and is not yet in the processor's counts: see [`packed`].
    pub counts: u64,
    /// A version whose last issue is at or after this cycle does not begin.
    pub until: u64,
    /// Not 0: an exception was raised.
    pub raised: u64,
    /// The shortcuts of the TLB of data.
    pub pages: *const PageShortcut,
    /// The D-cache's tags.
    pub tags: *const u32,
    /// Where the host would have the byte at physical address 0, if RAM began there.
    pub ram: *mut u8,
    /// Likewise the words that say where a page of RAM holds code.
    pub code_pieces: *const u64,
    /// The look-up of jumps to registers.
    pub targets: *const Target,
}

// SAFETY: the pointers are of the same processor's memory. `enter` sets them anew whenever compiled code begins.
unsafe impl Send for Shared {}

impl Shared {
    pub const NEW: Shared = Shared {
        counts: 0,
        until: 0,
        raised: 0,
        pages: std::ptr::null(),
        tags: std::ptr::null(),
        ram: std::ptr::null_mut(),
        code_pieces: std::ptr::null(),
        targets: std::ptr::null(),
    };
}

/// Bits of a count.
const BITS: u32 = 16;

/// Cycles after which the counts are added. In each of them are less than four of anything that is counted.
const UNTIL_ADDED: u64 = 1 << (BITS - 2);

/// Line fetches, instructions, accesses and branches as one number.
pub const fn packed(fetches: u64, instructions: u64, accesses: u64, branches: u64) -> u64 {
    fetches | instructions << BITS | accesses << (2 * BITS) | branches << (3 * BITS)
}

/// What is known of the version of a site, while it may be dropped.
#[derive(Clone, Copy)]
struct Here {
    part: Part,
    head: Part,
    state: Number,
    end: Number,
    va: u64,
    last: u64,
    count: usize,
}

impl Processor {
    /// The counts of versions go to the processor's, but for those that are ahead.
    fn add_counts(&mut self, ahead: u64) {
        const MASK: u64 = (1 << BITS) - 1;
        let counts = std::mem::take(&mut self.compiler.shared.counts).wrapping_sub(ahead);
        let fetches = counts & MASK;
        self.line_fetches += fetches;
        self.look_ups[0] += fetches;
        self.instructions += counts >> BITS & MASK;
        let accesses = counts >> (2 * BITS) & MASK;
        self.accesses += accesses;
        self.look_ups[1] += accesses;
        self.branches += counts >> (3 * BITS);
        self.compiler.pays.cost += CALL;
    }

    /// The cycle at or after which no version ends.
    fn compiled_until(&self) -> u64 {
        if self.observers.batch_is_full() {
            return 0;
        }
        // No cycle has more than two instructions. Those of a version that runs may not be counted yet.
        let limit = self.running.limits.instructions;
        let left = limit.saturating_sub(self.instructions);
        let most = UNTIL_ADDED.min(left.saturating_sub(128) / 2);
        self.running.deadline.min(self.cycles + most)
    }

    /// At this cycle the pipeline is in this state. When compiled code was entered it was in another one, and since
    /// then no register's time was entered.
    fn set_state(&mut self, state: Number, cycle: u64) {
        let entered = std::mem::replace(&mut self.compiler.entered, state);
        for &(register, _) in self.schedules.waits(entered) {
            let ready = &mut self.ready[usize::from(register)];
            *ready = cycle.min(*ready);
        }
        for &(register, left) in self.schedules.waits(state) {
            self.ready[usize::from(register)] = cycle + left;
        }
        (self.cycles, self.used) = (cycle, self.schedules.used(state));
        self.schedules.now_in(state, cycle);
    }

    /// A site, and what is known of its version.
    ///
    /// # Safety
    /// `site` must be a site of the code that runs.
    unsafe fn at_site(&mut self, site: *const Site) -> (Site, Here) {
        // SAFETY: the caller's.
        let site = unsafe { *site };
        let version = self.compiler.code().version(site.version);
        let here = Here {
            part: version.part,
            head: version.head,
            state: version.state,
            end: version.schedule.end,
            va: version.va,
            last: version.last(),
            count: version.schedule.count,
        };
        self.fetched = (site.line, version.in_ram(site.line));
        self.add_counts(site.ahead);
        (site, here)
    }

    /// The step of this number of a site's version.
    fn step_of(&self, site: &Site, number: u16) -> Step {
        let version = self.compiler.code().version(site.version);
        version.schedule.steps[usize::from(number)]
    }

    /// Compiled code goes on behind what the site does, in a version that ends at this cycle.
    fn resume(&mut self, site: &Site, end: u64) -> usize {
        self.compiler.shared.until = self.compiled_until();
        self.cycles = end;
        self.compiler.shared.counts = site.behind;
        0
    }

    /// Compiled code is left.
    fn leaves(&mut self, result: Result<(), Raised>) -> usize {
        self.compiler.shared.raised = result.is_err().into();
        self.compiler.code().thunks.leave
    }

    /// Goes on with a version, which begins now, or leaves if it would end too late.
    pub(super) fn begins(&mut self, number: u32) -> Option<usize> {
        let until = self.compiled_until();
        let version = self.compiler.code().version(number);
        let (begin, state) = (version.begin, version.state);
        if self.cycles + version.last() >= until {
            return None;
        }
        self.compiler.entered = state;
        self.compiler.shared.until = until;
        self.compiler.shared.counts = 0;
        Some(begin)
    }

    /// A block has ended: what the run loop does then, as far as compiled code goes on. The jump of `site` may lead
    /// there.
    fn goes_on(&mut self, site: Option<&Site>) -> usize {
        if self.observers.batch_is_full() || self.is_due() {
            return self.leaves(Ok(()));
        }
        self.running.stale = false;
        let pa = match self.fetch(self.pc) {
            Ok(pa) => pa,
            Err(raised) => return self.leaves(Err(raised)),
        };
        if self.is_due() {
            // Of what has been fetched one instruction runs.
            let result = self.run_fetched();
            return self.leaves(result);
        }
        let head = self.blocks.target((self.pc >> 1) as u32, pa, false);
        if head.is_null() || !self.page_fetched {
            return self.leaves(Ok(()));
        }
        let cleared = self.compiler.code().cleared;
        // SAFETY: the head of a block, at which the processor is.
        let Some(number) = (unsafe { self.compiled(head, head, true) }) else {
            return self.leaves(Ok(()));
        };
        let Some(begin) = self.begins(number) else {
            return self.leaves(Ok(()));
        };
        if let Some(site) = site
            && self.compiler.code().cleared == cleared
        {
            self.link(site, number);
        }
        begin
    }

    #[cold]
    fn run_fetched(&mut self) -> Result<(), Raised> {
        self.run_block()
    }

    fn link(&mut self, site: &Site, to: u32) {
        let (rotation, mask) = self.memory.instruction.places();
        let tags = self.memory.instruction.tags().pointer();
        let line = self.line as u32;
        let find = |next: &Version| Target {
            va: next.va,
            key: Target::key(next.state, next.mode),
            tag: next.pa & !(line - 1) | VALID,
            tag_at: tags.wrapping_add((next.pa.rotate_right(rotation) & mask) as usize),
            delta: (VIRT_RAM + u64::from(next.pa)).wrapping_sub(next.va),
            code: next.begin,
            page: next.pa & !0xfff,
        };
        self.compiler.code_mut().link(site, to, find);
    }

    /// The instructions behind `part` of the block at `head` go on.
    ///
    /// # Safety
    /// They must be parts of a block that lives, and have been reached.
    unsafe fn rest(&mut self, part: Part, head: Part, ended: bool) -> usize {
        if self.running.stale || self.is_due() {
            return self.leaves(Ok(()));
        }
        if ended {
            return self.goes_on(None);
        }
        // SAFETY: the caller's.
        let version = unsafe { self.compiled(part, head, true) };
        if let Some(begin) = version.and_then(|number| self.begins(number)) {
            return begin;
        }
        // SAFETY: the caller's.
        match unsafe { self.run_scheduled(part) } {
            Ok(()) => self.goes_on(None),
            Err(raised) => self.leaves(Err(raised)),
        }
    }
}

/// See [`super::thunks::Thunks::go`]: the address of the code that goes on.
///
/// # Safety
/// Compiled code passes the processor that entered it, which nothing else uses meanwhile, and a site of its own.
pub(super) unsafe extern "sysv64" fn go(p: *mut Processor, site: *const Site) -> usize {
    // SAFETY: the caller's.
    unsafe {
        let p = &mut *p;
        let (site, _) = p.at_site(site);
        let Kind::Edge { target, state, .. } = site.kind else {
            unreachable!("a jump");
        };
        p.set_state(state, p.cycles);
        p.pc = target;
        p.goes_on(Some(&site))
    }
}

/// See [`super::thunks::Thunks::go_to_register`].
///
/// # Safety
/// As [`go`].
pub(super) unsafe extern "sysv64" fn go_to_register(
    p: *mut Processor,
    site: *const Site,
    target: u64,
) -> usize {
    // SAFETY: as in `go`.
    unsafe {
        let p = &mut *p;
        let (site, _) = p.at_site(site);
        let Kind::Indirect { state } = site.kind else {
            unreachable!("a jump to a register");
        };
        p.set_state(state, p.cycles);
        p.pc = target;
        p.goes_on(Some(&site))
    }
}

/// See [`super::thunks::Thunks::late`].
///
/// # Safety
/// As [`go`].
pub(super) unsafe extern "sysv64" fn late(p: *mut Processor, site: *const Site) -> usize {
    // SAFETY: as in `go`.
    unsafe {
        let p = &mut *p;
        let (site, here) = p.at_site(site);
        p.set_state(here.state, p.cycles - here.last);
        p.pc = here.va;
        match p.begins(site.version) {
            Some(begin) => begin,
            None => p.leaves(Ok(())),
        }
    }
}

/// See [`super::thunks::Thunks::alone`]: 0, or the address of the code that goes on.
///
/// # Safety
/// As [`go`].
pub(super) unsafe extern "sysv64" fn alone(p: *mut Processor, site: *const Site) -> usize {
    // SAFETY: as in `go`. The parts are of the block of the version that runs, which lives.
    unsafe {
        let p = &mut *p;
        let (site, here) = p.at_site(site);
        let Kind::Alone { step } = site.kind else {
            unreachable!("an instruction");
        };
        let step = p.step_of(&site, step);
        let (end, number) = (p.cycles, usize::from(site.number));
        let begin = end - here.last;
        let part = here.part.add(number);
        let op = op(part);
        let issued = step.issued(begin);
        (p.cycles, p.used) = issued;
        p.pc = here.va.wrapping_add(step.at());
        p.next = p.pc.wrapping_add(op.length.into());
        let done = (op.run)(p, op);
        let late = p.cycles - issued.0;
        if number == here.count {
            let (cycles, used) = (p.cycles, p.used);
            p.set_state(here.end, end);
            (p.cycles, p.used) = (cycles, used);
            if let Err(raised) = done {
                return p.leaves(Err(raised));
            }
            p.pc = p.next;
            p.instructions += 1;
            return p.goes_on(None);
        }
        let stops = p.running.stale || end >= p.running.deadline;
        if done.is_ok() && late == 0 && !stops {
            p.instructions += 1;
            return p.resume(&site, end);
        }
        let (cycles, used) = (p.cycles, p.used);
        if late >= step.longest() {
            p.set_state(IDLE, cycles);
        } else {
            p.issue_to(&here, number, begin);
        }
        (p.cycles, p.used) = (cycles, used);
        if let Err(raised) = done {
            return p.leaves(Err(raised));
        }
        p.pc = p.next;
        p.instructions += 1;
        p.rest(part, here.head, false)
    }
}

impl Processor {
    /// Enters the times of the registers that the first `count` instructions of a version write, which began at this
    /// cycle.
    ///
    /// # Safety
    /// The version's block must live.
    unsafe fn issue_to(&mut self, here: &Here, count: usize, begin: u64) {
        self.set_state(here.state, begin);
        let issued = (begin, self.used);
        // SAFETY: the caller's.
        unsafe { self.issue_again(here.part, count, issued) };
    }
}

/// See [`super::thunks::Thunks::fetch`]: 0, or the address of the code that goes on.
///
/// # Safety
/// As [`go`].
pub(super) unsafe extern "sysv64" fn fetch(p: *mut Processor, site: *const Site) -> usize {
    // SAFETY: as in `alone`.
    unsafe {
        let p = &mut *p;
        let (site, here) = p.at_site(site);
        let Kind::Fetch { step } = site.kind else {
            unreachable!("a fetch");
        };
        let step = p.step_of(&site, step);
        let (end, number) = (p.cycles, usize::from(site.number));
        let begin = end - here.last;
        let part = here.part.add(number);
        let op = op(part);
        let before = step.before(begin);
        (p.cycles, p.used) = before;
        p.pc = here.va.wrapping_add(step.at());
        let fetched = p.fetch_lines(op);
        let (cycles, used) = (p.cycles, p.used);
        if fetched.is_ok() && (cycles, used) == before {
            return p.resume(&site, end);
        }
        p.issue_to(&here, number - 1, begin);
        (p.cycles, p.used) = (cycles, used);
        if let Err(raised) = fetched {
            return p.leaves(Err(raised));
        }
        let last = p.pc.wrapping_add(u64::from(op.length) - 1);
        if (p.pc ^ last) & !(p.line - 1) == 0 {
            let version = p.compiled(part.sub(1), here.head, true);
            if let Some(begin) = version.and_then(|number| p.begins(number)) {
                return begin;
            }
        }
        let fetched = Op {
            fetches: false,
            ..*op
        };
        if let Err(raised) = p.step(&fetched) {
            return p.leaves(Err(raised));
        }
        p.rest(part, here.head, number == here.count)
    }
}

/// See [`super::thunks::Thunks::plain`].
///
/// # Safety
/// As [`go`].
pub(super) unsafe extern "sysv64" fn plain(p: *mut Processor, site: *const Site) -> usize {
    // SAFETY: as in `alone`. A plain instruction changes registers and nothing else.
    unsafe {
        let p = &mut *p;
        let site = *site;
        let version = p.compiler.code().version(site.version);
        let op = op(version.part.add(site.number.into()));
        let done = (op.run)(p, op);
        debug_assert!(done.is_ok(), "a plain instruction raises no exception");
        p.compiler.pays.cost += CALL;
        0
    }
}

/// See [`super::thunks::Thunks::notes`].
///
/// # Safety
/// As [`go`].
pub(super) unsafe extern "sysv64" fn note<const DATA: bool>(p: *mut Processor, place: u32) {
    // SAFETY: the caller's.
    unsafe { (&mut (*p).mmu.first)[usize::from(DATA)].use_place(place) }
}

/// Runs a version, at whose beginning the processor is.
///
/// # Safety
/// `begin` must be what [`Processor::begins`] has given.
pub(super) unsafe fn enter(p: &mut Processor, begin: usize) -> Result<(), Raised> {
    let pages = VIRT_RAM as usize >> 12;
    p.compiler.shared.raised = 0;
    p.compiler.shared.pages = p.mmu.first[1].shortcuts().pointer();
    p.compiler.shared.tags = p.memory.data.tags().pointer();
    p.compiler.shared.ram = (p.memory.uncore.ram.pointer()).wrapping_sub(VIRT_RAM as usize);
    p.compiler.shared.code_pieces = p.blocks.held().wrapping_sub(pages);
    let code: &Code = p.compiler.code();
    let (enter, targets) = (code.thunks.enter, code.targets.pointer());
    p.compiler.shared.targets = targets;
    // SAFETY: `Thunks::write` has written this function.
    let raised = unsafe {
        let enter: extern "sysv64" fn(*mut Processor, usize) -> u64 = std::mem::transmute(enter);
        enter(&raw mut *p, begin)
    };
    if raised == 0 { Ok(()) } else { Err(Raised) }
}
