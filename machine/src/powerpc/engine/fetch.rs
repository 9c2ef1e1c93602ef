//! Entering lines: the instruction side of the fast path, and the slow path behind it.

use super::Exit;
use super::line::{Line, Link, Op};
use super::shortcut::{NO_PAGE, Shortcut, TRANSLATED_MODES};
use crate::memory::cache::{ARRIVING, VALID};
use crate::memory::{attribute, prefetch};
use crate::powerpc::Exception;
use crate::powerpc::mmu::{Access, Source};
use crate::powerpc::processor::Processor;

/// A fetch that has been translated.
#[derive(Clone, Copy)]
struct Fetch {
    physical: u32,
    /// What the I-cache looks up, if it may hold the line.
    place: u32,
    attributes: u8,
}

impl Processor {
    /// Continues at `ea`. Returns the op there, with its block accounted for, or null.
    #[inline(always)]
    pub(crate) fn enter(&mut self, ea: u32) -> *const Op {
        match self.look_up(ea) {
            // SAFETY: `look_up` gives an op of this processor's lines.
            Some((op, _)) => unsafe { self.begin_line(op, ea) },
            None => self.enter_elsewhere(ea),
        }
    }

    /// The op at `ea` and its line's header, if nothing else must be done before it runs.
    #[inline(always)]
    fn look_up(&self, ea: u32) -> Option<(*const Op, *const Line)> {
        self.look_up_until(self.hot.deadline, ea, 0)
    }

    /// `look_up` before cycle `until`. Bits of the tag word in `but` may be set.
    #[inline(always)]
    fn look_up_until(&self, until: u64, ea: u32, but: u32) -> Option<(*const Op, *const Line)> {
        let hot = &self.hot;
        if ea & !0xfff != hot.page || hot.cycles >= until {
            return None;
        }
        let place = ea.wrapping_add(hot.page_delta);
        let probe = &hot.instruction_tags;
        let line_address = place & !probe.offset_mask;
        // SAFETY: the probe is of this processor's I-cache; `refresh` saw to that. A page is only
        // remembered while it lies in RAM, so the index has an entry for it, and a line that the
        // I-cache holds has a decoded form.
        unsafe {
            if probe.most_recent(place) & !but != line_address | VALID {
                return None;
            }
            let number = *hot.line_index.add((place >> probe.line_shift) as usize) - 1;
            let line = hot.line_base.add(number as usize * hot.line_stride);
            let header = line.cast::<Line>();
            if u32::from((*header).cause) != hot.code_cause {
                return None;
            }
            let index = (place & probe.offset_mask) >> 2;
            let op = line.add(size_of::<Line>()).cast::<Op>().add(index as usize);
            Some((op, header))
        }
    }

    /// Begins at `op`, which stands at `ea`.
    ///
    /// # Safety
    /// `op` must point into the decoded lines of this processor.
    #[inline(always)]
    unsafe fn begin_line(&mut self, op: *const Op, ea: u32) -> *const Op {
        self.hot.line = ea & !self.hot.instruction_tags.offset_mask;
        // SAFETY: the caller's.
        unsafe { self.begin(op) }
    }

    /// `enter` by the link of `op`, which always goes on at `ea` while its line runs where it runs.
    ///
    /// # Safety
    /// `op` must be running.
    #[inline(always)]
    pub(crate) unsafe fn follow(&mut self, op: *const Op, ea: u32) -> *const Op {
        let hot = &self.hot;
        // SAFETY: `op` is running. A link names a tag of the I-cache; while that is the tag of the
        // line that was linked, its decoded form is where it was.
        unsafe {
            let link = &(*op).link;
            if *hot.instruction_tags.tags.add(link.place()) == link.tag
                && ea & !0xfff == hot.page
                && hot.cycles < hot.deadline
                && link.cause() == hot.code_cause
            {
                return self.begin_line(link.op(hot.line_base), ea);
            }
            self.link(op, ea)
        }
    }

    /// Enters at `ea`, and links `op` to the op there if it lies in the same page.
    ///
    /// # Safety
    /// As [`Processor::follow`].
    #[inline(never)]
    unsafe fn link(&mut self, op: *const Op, ea: u32) -> *const Op {
        let Some((next, header)) = self.look_up(ea) else {
            return self.enter_elsewhere(ea);
        };
        let probe = &self.hot.instruction_tags;
        // SAFETY: `op` is running, and nothing else refers to it; `header` is of a decoded line.
        unsafe {
            let line = (*header).physical;
            let link = Link::new(
                self.hot.line_base,
                next,
                line,
                probe.place(line),
                (*header).cause,
            );
            (*op.cast_mut()).link = link;
            self.begin_line(next, ea)
        }
    }

    /// `enter` at another page, in an incomplete line or after one, or by the slow path.
    #[inline(never)]
    pub(crate) fn enter_elsewhere(&mut self, ea: u32) -> *const Op {
        // A watched line is not found.
        if let Some((op, _)) = self.look_up_until(self.hot.due, ea, ARRIVING) {
            let place = ea.wrapping_add(self.hot.page_delta);
            // SAFETY: `look_up_until` gives an op of this processor's lines.
            return unsafe { self.begin_arriving(op, ea, place) };
        }
        let hot = &self.hot;
        if ea & !0xfff != hot.page && hot.cycles < hot.deadline && self.turn_page(ea) {
            // SAFETY: `look_up` gives an op of this processor's lines.
            if let Some((op, _)) = self.look_up(ea) {
                return unsafe { self.begin_line(op, ea) };
            }
        }
        match self.enter_again(ea) {
            Some(op) => op,
            None => self.enter_slowly(ea),
        }
    }

    /// `enter` of a line that is not its set's most recently used one, or that the I-cache does not hold, if the line
    /// was decoded before, and nothing else must be done.
    #[inline(always)]
    fn enter_again(&mut self, ea: u32) -> Option<*const Op> {
        if self.hot.cycles >= self.hot.due
            || !self.hot.unseen
            || self.steps_now()
            || self.breaks_in(ea, self.hot.instruction_tags.offset_mask)
            || ea & !0xfff != self.hot.page && !self.turn_page(ea)
        {
            return None;
        }
        let place = ea.wrapping_add(self.hot.page_delta);
        let (op, cause) = self.lines.decoded(place)?;
        let cache = &self.memory.instruction;
        let resident = cache.find(place).is_some();
        let line = cache.line_address(self.memory.places.physical(place));
        if !resident {
            if cache.locked() {
                return None;
            }
            prefetch::soon(self.memory.uncore.ram.bytes().get(line as usize));
            // Most often the next line misses next.
            let bytes = self.hot.instruction_tags.offset_mask + 1;
            self.lines.expect(place.wrapping_add(bytes));
            let next = line.wrapping_add(bytes) as usize;
            prefetch::soon(self.memory.uncore.ram.bytes().get(next));
        }
        self.charge_code(cause, ea);
        let (attributes, now) = (self.attributes_by_shortcut(), self.hot.cycles);
        let (memory, account) = (&mut self.memory, &mut self.account);
        let stall = if resident {
            memory.fetch(place, attributes, now, account)
        } else {
            memory.fetch_missed(place, attributes, now, account)
        };
        self.wait(stall);
        if !resident {
            self.keep_or_decode(line, place, cause);
        }
        // SAFETY: `decoded` gives an op of this processor's lines.
        Some(unsafe { self.begin_fetched(op, ea, place) })
    }

    /// The I-cache has just been filled with the `line` of RAM in this place. The line's decoded form is kept if it was
    /// made of the same words, and made anew otherwise.
    #[inline(always)]
    fn keep_or_decode(&mut self, line: u32, place: u32, cause: u8) {
        let cache = &self.memory.instruction;
        let (start, bytes) = (line as usize, cache.geometry().line as usize);
        let content = &self.memory.uncore.ram.bytes()[start..start + bytes];
        let place = cache.line_address(place);
        if !self.lines.has_words(place, content) {
            self.lines.fill(place, content, cause, |other| {
                other != place && cache.find(other).is_some()
            });
        }
    }

    /// Begins at `op`, which stands at `ea` in the line that has just been fetched. The line may be incomplete.
    ///
    /// # Safety
    /// `op` must point into the decoded lines of this processor.
    #[inline(always)]
    unsafe fn begin_fetched(&mut self, op: *const Op, ea: u32, place: u32) -> *const Op {
        self.hot.deadline = self.hot.due;
        if !self.memory.instruction.marked(place) {
            // SAFETY: the caller's.
            return unsafe { self.begin_line(op, ea) };
        }
        self.make_room_for_a_wait();
        // SAFETY: the caller's.
        unsafe {
            self.begin_line(op, ea);
            self.wait_for_rest(op, place);
        }
        // As a rule, the block has waited until the whole line was there. Who watches the time is told of each block.
        let watched = !self.hot.unseen && self.observers.watch_time();
        if self.memory.instruction.marked(place) || watched {
            self.hot.deadline = 0;
        }
        op
    }

    /// Begins at `op`, which stands at `ea` in the most recently used line of its I-cache set. The line may be
    /// incomplete.
    ///
    /// # Safety
    /// `op` must point into the decoded lines of this processor.
    #[inline(always)]
    unsafe fn begin_arriving(&mut self, op: *const Op, ea: u32, place: u32) -> *const Op {
        if self.memory.instruction.arriving(place) {
            let now = self.hot.cycles;
            let stall = self.memory.fetch_arriving(place, now, &mut self.account);
            self.wait(stall);
        }
        // SAFETY: the caller's.
        unsafe { self.begin_fetched(op, ea, place) }
    }

    /// Fetches from the page of `ea` from now on, if it has a shortcut.
    fn turn_page(&mut self, ea: u32) -> bool {
        let shortcut = *self.fetch_shortcuts.of(self.fetch_mode, ea);
        if shortcut.load != ea & !0xfff {
            return false;
        }
        // SAFETY: `refresh` points this at the instruction TLB's table, which has every class.
        unsafe { *self.hot.fetch_recent.add(usize::from(shortcut.used.set)) = shortcut.used.way };
        self.hot.page = shortcut.load;
        self.hot.page_delta = shortcut.delta;
        true
    }

    /// Accounts for the block that begins at `op`.
    ///
    /// # Safety
    /// `op` must point into the decoded lines of this processor.
    #[inline(always)]
    pub(crate) unsafe fn begin(&mut self, op: *const Op) -> *const Op {
        // SAFETY: the caller's.
        unsafe {
            if (*op).timing.before == self.hot.pipeline {
                self.account(op)
            } else {
                self.begin_anew(op)
            }
        }
    }

    /// `begin` for an op that keeps its block's cost in another state of the pipeline.
    ///
    /// # Safety
    /// As [`Processor::begin`].
    #[inline(never)]
    unsafe fn begin_anew(&mut self, op: *const Op) -> *const Op {
        // SAFETY: the caller's.
        unsafe {
            if self.time_block_by_line(op) || self.time_block_by_table(op) {
                self.account(op)
            } else {
                self.begin_slowly(op)
            }
        }
    }

    /// `begin` for an op whose cost in this state of the pipeline is not known yet.
    ///
    /// # Safety
    /// As [`Processor::begin`].
    #[inline(never)]
    unsafe fn begin_slowly(&mut self, op: *const Op) -> *const Op {
        // SAFETY: the caller's.
        unsafe {
            self.time_block(op);
            self.account(op)
        }
    }

    /// Accounts for the block that begins at `op`, whose cost the op keeps.
    ///
    /// # Safety
    /// As [`Processor::begin`].
    #[inline(always)]
    unsafe fn account(&mut self, op: *const Op) -> *const Op {
        // SAFETY: the caller's.
        let block = unsafe { &*op };
        self.hot.block = op;
        self.hot.pipeline = block.timing.after;
        self.hot.cycles += u64::from(block.timing.cycles);
        self.hot.instructions += u64::from(block.instructions);
        self.hot.accesses += u64::from(block.accesses);
        op
    }

    /// Takes back the account of `op` and the rest of its block.
    ///
    /// # Safety
    /// `op` must point into the decoded lines of this processor.
    #[cold]
    pub(crate) unsafe fn take_back(&mut self, op: *const Op) {
        // SAFETY: the caller's.
        let rest = unsafe {
            self.cut_block(op);
            &*op
        };
        self.hot.instructions -= u64::from(rest.instructions);
        self.hot.accesses -= u64::from(rest.accesses);
        self.unsettle();
    }

    /// Effective address of `op`, which is running.
    ///
    /// # Safety
    /// `op` must point into the decoded lines of this processor.
    #[inline(always)]
    pub(crate) unsafe fn address(&self, op: *const Op) -> u32 {
        // SAFETY: the caller's.
        let index = unsafe { (*op).timing.index };
        self.hot.line.wrapping_add(u32::from(index) * 4)
    }

    /// `enter` after a check failed.
    #[cold]
    #[inline(never)]
    pub(crate) fn enter_slowly(&mut self, ea: u32) -> *const Op {
        self.set_pc(ea);
        loop {
            if self.hot.cycles >= self.hot.due {
                return self.leave(Exit::Deadline);
            }
            if self.single_steps() {
                return self.leave(Exit::Single);
            }
            let ea = self.pc();
            let offset_mask = self.hot.instruction_tags.offset_mask;
            if self.breaks_in(ea, offset_mask) {
                return self.leave(Exit::Single);
            }
            let begun = self.hot.cycles;
            let fetch = match self.translate_fetch(ea) {
                Ok(fetch) => fetch,
                Err(exception) => {
                    if self.take(exception, 0) {
                        continue;
                    }
                    return self.leave(Exit::Stopped);
                }
            };
            let filled = self.fill_line(ea, fetch);
            self.go_on_for(self.hot.cycles - begun);
            if !filled {
                return self.leave(Exit::Single);
            }
            let op = self.lines.at(fetch.place);
            // SAFETY: `at` gives an op of this processor's lines.
            unsafe {
                if self.running.oracle {
                    self.time_block(op);
                }
                self.begin_fetched(op, ea, fetch.place);
            }
            if self.running.oracle {
                self.hot.deadline = 0;
            }
            return op;
        }
    }

    /// The block at `op`, from `place` on, has begun in a line that may be incomplete: it cannot end before its
    /// last instruction has arrived.
    ///
    /// # Safety
    /// `op` must point into the decoded lines of this processor.
    #[inline(always)]
    unsafe fn wait_for_rest(&mut self, op: *const Op, place: u32) {
        // SAFETY: the caller's.
        let further = unsafe { u32::from((*op).instructions) }.saturating_sub(1);
        let (last, end) = (place + 4 * further, self.hot.cycles);
        let stall = self.memory.fetch_rest(last, end, &mut self.account);
        self.wait(stall);
    }

    fn leave(&mut self, exit: Exit) -> *const Op {
        self.hot.exit = exit;
        std::ptr::null()
    }

    /// True if fetches are translated. Of those that are not, other processors see none.
    fn translates_fetches(&self) -> bool {
        self.fetch_mode < TRANSLATED_MODES
    }

    /// The attributes of a page that has a shortcut of fetches.
    #[inline(always)]
    fn attributes_by_shortcut(&self) -> u8 {
        if self.several && self.translates_fetches() {
            attribute::COHERENT
        } else {
            0
        }
    }

    /// Translates a fetch.
    #[inline(always)]
    fn translate_fetch(&mut self, ea: u32) -> Result<Fetch, Exception> {
        if ea & !0xfff == self.hot.page || self.turn_page(ea) {
            let place = ea.wrapping_add(self.hot.page_delta);
            return Ok(Fetch {
                physical: self.memory.places.physical(place),
                place,
                attributes: self.attributes_by_shortcut(),
            });
        }
        self.translate_fetch_anew(ea)
    }

    /// Translates a fetch by the MMU, and gives its page a shortcut if no further check is needed for it.
    #[inline(never)]
    fn translate_fetch_anew(&mut self, ea: u32) -> Result<Fetch, Exception> {
        let mode = self.mode();
        let result = self.mmu.translate_by(
            (ea, Access::Fetch, mode),
            &mut self.memory,
            self.hot.cycles,
            &mut self.account,
        );
        if !self.account.tlb.unheard {
            self.tell_translation(ea);
        }
        let translation = match result {
            Ok(translation) => translation,
            Err(fault) => return Err(self.fault(fault, ea)),
        };
        self.hot.cycles += translation.cycles;
        self.heed_walk(ea, Access::Fetch, &translation);
        let physical = translation.pa;
        let place = self.memory.places.of(ea, physical);
        self.hot.page = NO_PAGE;
        let cached =
            translation.attributes & attribute::INHIBITED == 0 && self.memory.instruction.enabled();
        // Of several processors' translated pages only those that the others see have shortcuts.
        let seen = translation.attributes & attribute::COHERENT != 0
            || !(self.several && self.translates_fetches());
        let in_ram = self.memory.uncore.ram.contains(physical & !0xfff, 4096);
        let sound = self.note_use(ea, Access::Fetch, &translation);
        let (page, source) = (ea & !0xfff, translation.source);
        let used = self.mmu.used_by(true, page, source);
        let lines = self.memory.instruction.shortcuts();
        let (used, place_of_entry) = self.fetch_shortcuts.translated(page, used, lines);
        let whole = source != Source::Subpage;
        if cached
            && seen
            && in_ram
            && sound
            && whole
            && !self.running.oracle
            && !self.breaks_in(ea, 0xfff)
        {
            self.hot.page = page;
            self.hot.page_delta = place.wrapping_sub(ea);
            let shortcut = Shortcut {
                load: page,
                store: NO_PAGE,
                delta: self.hot.page_delta,
                used,
                lines: 0,
            };
            (self.fetch_shortcuts).set(self.fetch_mode, shortcut, place_of_entry, lines);
        }
        Ok(Fetch {
            physical,
            place,
            attributes: translation.attributes,
        })
    }

    /// Brings the line into the I-cache. False if it cannot be cached: then instructions are fetched one by one.
    #[inline(always)]
    fn fill_line(&mut self, ea: u32, fetch: Fetch) -> bool {
        let Fetch {
            physical, place, ..
        } = fetch;
        let cached =
            fetch.attributes & attribute::INHIBITED == 0 && self.memory.instruction.enabled();
        let line = self.memory.instruction.line_address(physical);
        let bytes = self.memory.instruction.geometry().line;
        if !cached || !self.memory.uncore.ram.contains(line, bytes as usize) {
            return false;
        }
        let resident = self.memory.instruction.find(place).is_some();
        if !resident && self.memory.instruction.locked() {
            return false;
        }
        let cause = self.causes.of(line);
        self.charge_code(cause, ea);
        self.sanitize_fetch(ea, place);
        let (memory, now) = (&mut self.memory, self.hot.cycles);
        self.hot.cycles += if resident {
            memory.fetch(place, fetch.attributes, now, &mut self.account)
        } else {
            memory.fetch_missed(place, fetch.attributes, now, &mut self.account)
        };
        if !resident {
            self.keep_or_decode(line, place, cause);
            let place = self.memory.instruction.line_address(place);
            if self.observers.filled(place, &mut self.memory) {
                let lines = self.memory.data.shortcuts();
                self.data_shortcuts.drop_stores(line, lines);
            }
        }
        true
    }

    /// Runs only the instruction at the program counter, because it is not in the I-cache, or needs a check before or
    /// after it.
    pub(crate) fn run_single(&mut self) {
        let ea = self.pc();
        let begun = self.hot.cycles;
        let fetch = match self.check_fetch(ea).and_then(|()| self.translate_fetch(ea)) {
            Ok(fetch) => fetch,
            Err(exception) => {
                if !self.take(exception, 0) {
                    self.hot.exit = Exit::Stopped;
                }
                return;
            }
        };
        let physical = fetch.physical;
        let word = if self.fill_line(ea, fetch) {
            self.lines.word(self.lines.at(fetch.place))
        } else {
            match self.fetch_uncached(ea, fetch) {
                Ok(word) => word,
                Err(exception) => {
                    if !self.take(exception, 0) {
                        self.hot.exit = Exit::Stopped;
                    }
                    return;
                }
            }
        };
        self.go_on_for(self.hot.cycles - begun);
        self.before_single(ea, word);
        let cause = self.causes.of(physical);
        let op = self.lines.single(word, cause);
        self.hot.line = ea;
        let traced = self.traced();
        let due = std::mem::replace(&mut self.hot.due, 0);
        self.hot.deadline = 0;
        // SAFETY: `single` gives an op of this processor's lines, followed by one that ends the line.
        let next = unsafe {
            self.begin(op);
            ((*op).run)(self, op)
        };
        debug_assert!(next.is_null());
        // An event in the meantime has set the deadline itself.
        if self.hot.due == 0 {
            self.hot.set_deadline(due);
        }
        self.after_single(ea, word, traced);
    }

    /// A fetch that bypasses the I-cache: one bus read for each double word.
    fn fetch_uncached(&mut self, ea: u32, fetch: Fetch) -> Result<u32, Exception> {
        let physical = fetch.physical & !3;
        let sequential = self.uncached_next == ea && ea & 7 != 0;
        self.uncached_next = ea.wrapping_add(4);
        self.charge_code(self.causes.of(physical), ea);
        self.sanitize_fetch(ea, physical);
        if !sequential {
            self.hot.cycles += self.memory.fetch(
                physical,
                fetch.attributes | attribute::INHIBITED,
                self.hot.cycles,
                &mut self.account,
            );
        }
        if let Some(word) = self.memory.uncore.ram.read_u32(physical) {
            return Ok(word);
        }
        let now = self.instant();
        self.memory
            .uncore
            .board
            .read(physical.into(), 4, now)
            .map(|word| word as u32)
            .map_err(|error| self.unanswered(error))
    }
}
