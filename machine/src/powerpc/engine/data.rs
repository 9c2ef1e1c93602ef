//! Loads and stores: the data side of the fast path, and the slow path behind it.

use super::shortcut::{self, FAR, NO_PAGE, SHOWN, Shortcut};
use crate::memory::cache::{DIRTY, SHARED, VALID};
use crate::memory::{Datum, Fixed, LINE_MODES, LineShortcuts, NewLine, attribute};
use crate::powerpc::Exception;
use crate::powerpc::foreseen::Foreseen;
use crate::powerpc::mmu::{Access, Reached, Reaches, Source, Translation};
use crate::powerpc::processor::Processor;

impl Processor {
    /// Loads the `T` at `ea`.
    #[inline(always)]
    pub(crate) fn load_data<T: Datum>(&mut self, ea: u32) -> Result<T, Exception> {
        match self.load_at_once(ea) {
            Some(value) => Ok(value),
            None => self.load_slowly(ea, T::BYTES).map(T::from_raw),
        }
    }

    /// Stores `value` at `ea`.
    #[inline(always)]
    pub(crate) fn store_data<T: Datum>(&mut self, ea: u32, value: T) -> Result<(), Exception> {
        match self.store_at_once(ea, value) {
            Some(()) => Ok(()),
            None => self.store_slowly(ea, T::BYTES, value.raw()),
        }
    }

    /// Loads the `T` at `ea`, if that changes nothing but the TLB's way used last.
    #[inline(always)]
    pub(crate) fn load_at_once<T: Datum>(&self, ea: u32) -> Option<T> {
        // SAFETY: `direct` gives the address of `T::BYTES` bytes of RAM.
        (self.direct::<T>(ea, false)).map(|host| unsafe { T::read(host) })
    }

    /// Stores `value` at `ea`, if that changes nothing but RAM, the TLB's way used last and the line's modified bit.
    #[inline(always)]
    pub(crate) fn store_at_once<T: Datum>(&mut self, ea: u32, value: T) -> Option<()> {
        // SAFETY: `direct` gives the address of `T::BYTES` bytes of RAM.
        (self.direct::<T>(ea, true)).map(|host| unsafe { value.write(host) })
    }

    /// The host address of the `T` at `ea`, if the line there has a shortcut: the access changes nothing else than RAM
    /// and the TLB's way used last, which is set here.
    #[inline(always)]
    fn direct<T: Datum>(&self, ea: u32, store: bool) -> Option<*mut u8> {
        // SAFETY: `choose_lines` points this at shortcuts of this processor's D-cache, or at none; `refresh` drops
        // those that are not of its RAM and its TLB.
        unsafe { LineShortcuts::of(self.hot.lines, ea).host(ea, T::BYTES, store) }
    }

    /// True if the access to the `bytes` at `ea` changes nothing else than RAM, the TLB's way used last, which has been
    /// set, and the line's modified bit, which is set here. The line gets a shortcut then. `physical` is the address
    /// that the page's shortcut gives.
    #[inline(always)]
    pub(in crate::powerpc) fn line_at_once(
        &mut self,
        ea: u32,
        physical: u32,
        bytes: u32,
        store: bool,
    ) -> bool {
        let hot = &self.hot;
        // SAFETY: the mask is the table's length less one. `refresh` points both at this processor's.
        let known = unsafe { &mut *hot.shortcuts.add(shortcut::place(ea, hot.shortcut_mask)) };
        let page = if store { known.store } else { known.load };
        // One comparison for page and alignment: an unaligned address has low bits that no page has.
        if ea & (0xffff_f000 | (bytes - 1)) != page {
            return false;
        }
        // SAFETY: `refresh` points this at the data TLB's table, which has every class.
        let recent = unsafe { hot.data_recent.add(usize::from(known.used.set)) };
        let probe = &hot.data_tags;
        let line = physical & !probe.offset_mask;
        let modified = line | VALID | DIRTY;
        // SAFETY: the probe is of this processor's D-cache, and shortcuts are made of pages that lie in
        // RAM altogether.
        unsafe {
            let tag = probe.tags.add(probe.place(physical) as usize);
            // A store to a shared line must be told to the other processors.
            let (ignored, wanted) = if store {
                (hot.may_modify, modified)
            } else {
                (DIRTY | SHARED, modified | SHARED)
            };
            if *tag | ignored != wanted {
                return false;
            }
            if store {
                *tag = modified;
            }
            let new = NewLine {
                ea,
                host: hot.ram.add(physical as usize),
                store: known.store == known.load && *tag == modified,
                recent,
                way: known.used.way,
            };
            let lines = self.memory.data.shortcuts();
            known.lines |= lines.parts(ea);
            lines.set(self.data_mode, &new);
        }
        true
    }

    /// The fast path uses the shortcuts of lines of the current mode, or none while it does not see the D-cache's tags,
    /// or while a handler is followed, whose every access counts.
    pub(crate) fn choose_lines(&mut self) {
        let seen = self.hot.data_tags.tags == self.memory.data.tags().pointer();
        let mode = if seen && !self.following {
            self.data_mode
        } else {
            LINE_MODES
        };
        self.hot.lines = self.memory.data.shortcuts().table(mode);
    }

    /// Translates a data access, and gives its page a shortcut if that is exact.
    pub(crate) fn translate_data(
        &mut self,
        ea: u32,
        access: Access,
    ) -> Result<Translation, Exception> {
        let mode = self.mode();
        let result = self.mmu.translate_by(
            (ea, access, mode),
            &mut self.memory,
            self.hot.cycles,
            &mut self.account,
        );
        if !self.account.tlb.unheard {
            self.tell_translation(self.hot.line);
        }
        let translation = match result {
            Ok(translation) => translation,
            Err(fault) => return Err(self.fault(fault, ea)),
        };
        self.hot.cycles += translation.cycles;
        self.heed_walk(ea, access, &translation);
        let sound = self.note_use(ea, access, &translation);
        self.make_shortcut(ea, access, &translation, sound);
        Ok(translation)
    }

    /// Passes on what the MMU has noted of an access of the code in the line of `pc`.
    #[cold]
    #[inline(never)]
    pub(super) fn tell_translation(&mut self, pc: u32) {
        self.note_load();
        self.observers
            .tlb(&mut self.account.tlb, pc, self.hot.cycles);
        self.heed_listener();
    }

    /// `sound`: the sanitizer need not see the next use of the translation.
    #[inline(always)]
    pub(crate) fn make_shortcut(
        &mut self,
        ea: u32,
        access: Access,
        translation: &Translation,
        sound: bool,
    ) {
        let page = ea & !0xfff;
        let used = self.mmu.used_by(false, page, translation.source);
        let lines = self.memory.data.shortcuts();
        if self.data_mode == FAR {
            self.data_shortcuts.translated_far(used, lines);
            return;
        }
        let (used, place) = self.data_shortcuts.translated(page, used, lines);
        let whole = translation.source != Source::Subpage;
        let cached = translation.attributes & attribute::INHIBITED == 0
            && self.memory.data.enabled()
            && whole;
        let in_ram = self
            .memory
            .uncore
            .ram
            .contains(translation.pa & !0xfff, 4096);
        // The way by shortcuts takes all memory for what others see.
        let seen = translation.attributes & attribute::COHERENT != 0 || !self.several;
        let kept = sound && !self.follows_handler() && !self.running.oracle && !self.watched(page);
        if !cached || !seen || !in_ram || !kept {
            return;
        }
        let back =
            translation.attributes & attribute::WRITE_THROUGH == 0 && !self.memory.write_through();
        let known =
            access.is_store() && back && !self.observers.holds_code(translation.pa, &self.memory);
        let delta = translation.pa.wrapping_sub(ea);
        let old = self.data_shortcuts.of(self.data_mode, page);
        let store = if known && self.watched_pieces.in_page(translation.pa) {
            page | SHOWN
        } else if known {
            page
        } else if old.load == page && old.delta == delta {
            old.store
        } else {
            NO_PAGE
        };
        let shortcut = Shortcut {
            load: page,
            store,
            delta,
            used,
            lines: 0,
        };
        let lines = self.memory.data.shortcuts();
        (self.data_shortcuts).set(self.data_mode, shortcut, place, lines);
    }

    /// The translations of these addresses may have changed.
    pub(crate) fn forget(&mut self, reaches: Reaches) {
        let lines = self.memory.data.shortcuts();
        self.data_shortcuts.forget(reaches.data, lines);
        if reaches.instruction != Reached::Nothing {
            let lines = self.memory.instruction.shortcuts();
            self.fetch_shortcuts.forget(reaches.instruction, lines);
            self.hot.page = NO_PAGE;
        }
    }

    /// Drops every shortcut of fetches.
    pub(crate) fn drop_fetch_shortcuts(&mut self) {
        let lines = self.memory.instruction.shortcuts();
        self.fetch_shortcuts.drop_all(lines);
        self.hot.page = NO_PAGE;
    }

    /// Drops every shortcut, of data accesses and of fetches: translations or caches have changed.
    pub(crate) fn drop_shortcuts(&mut self) {
        self.data_shortcuts.drop_all(self.memory.data.shortcuts());
        self.drop_fetch_shortcuts();
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn load_slowly(&mut self, ea: u32, bytes: u32) -> Result<u64, Exception> {
        if (ea & 7) + bytes > 8 {
            return self.load_pieces(ea, bytes);
        }
        if let Some(physical) = self.known(ea, false) {
            self.load_known(ea, physical, bytes)
        } else if let Some(foreseen) = self.foresee(ea, false) {
            self.load_foreseen(ea, bytes, foreseen)
        } else {
            self.load_translated(ea, bytes)
        }
    }

    /// A load within one double word of a page with a shortcut, which says that it is at `physical`.
    #[inline(never)]
    fn load_known(&mut self, ea: u32, physical: u32, bytes: u32) -> Result<u64, Exception> {
        if !self.line_at_once(ea, physical, bytes, false) {
            self.memory.expect(physical, &self.account);
            self.load_ordinary(physical);
        }
        let value = self.at(physical, bytes);
        if self.following {
            self.note_handler_access((physical, bytes, value));
        }
        Ok(value)
    }

    /// A load of RAM that the enabled D-cache may hold, and that others see.
    #[inline(always)]
    pub(in crate::powerpc) fn load_ordinary(&mut self, physical: u32) {
        let (now, account) = (self.hot.cycles, &mut self.account);
        self.hot.cycles += self.memory.load_cached(physical, now, account);
        self.heed_block();
    }

    /// The `bytes` at `physical`, which lie in one double word; 0 outside RAM.
    #[inline(always)]
    fn at(&self, physical: u32, bytes: u32) -> u64 {
        let double_word = self.memory.uncore.ram.read_u64(physical & !7);
        double_word.map_or(0, |double_word| part(double_word, physical, bytes))
    }

    /// An access may have begun a fill that blocks the D-cache, or waited for its end: while it is blocked, each access
    /// takes the slow path, where it waits.
    #[inline(always)]
    pub(crate) fn heed_block(&mut self) {
        if self.memory.timing().data_blocked {
            self.heed_block_slowly();
        }
    }

    #[inline(never)]
    fn heed_block_slowly(&mut self) {
        let tags = self.memory.data.tags();
        self.hot.data_tags.tags = if self.memory.is_blocked(self.hot.cycles) {
            if self.no_tags.len() != tags.len() {
                self.no_tags = Fixed::from(vec![0; tags.len()]);
            }
            self.no_tags.pointer()
        } else {
            tags.pointer()
        };
        self.choose_lines();
    }

    /// A load that crosses a double word.
    #[cold]
    #[inline(never)]
    fn load_pieces(&mut self, ea: u32, bytes: u32) -> Result<u64, Exception> {
        let mut value = 0;
        for (n, (ea, bytes)) in pieces(ea, bytes).enumerate() {
            self.another_access(n);
            let piece = self.load_slowly(ea, bytes)?;
            value = if bytes == 8 {
                piece
            } else {
                value << (8 * bytes) | piece
            };
        }
        Ok(value)
    }

    /// The physical address of `ea`, translated by its page's shortcut, if that has one for such an
    /// access: cached memory, and written back for a store.
    #[inline(always)]
    pub(in crate::powerpc) fn known(&self, ea: u32, store: bool) -> Option<u32> {
        let hot = &self.hot;
        // SAFETY: as in `direct`.
        let shortcut = unsafe { &*hot.shortcuts.add(shortcut::place(ea, hot.shortcut_mask)) };
        let physical = ea.wrapping_add(shortcut.delta);
        let page = if !store {
            shortcut.load
        } else if self.watched_pieces.in_page(physical) {
            shortcut.store & !SHOWN
        } else {
            // As soon as nothing of the page is watched any more, it gets a shortcut for all stores.
            shortcut.store
        };
        if page != ea & !0xfff {
            return None;
        }
        // SAFETY: as in `direct`.
        unsafe { *hot.data_recent.add(usize::from(shortcut.used.set)) = shortcut.used.way };
        Some(physical)
    }

    /// A load within one double word of a page without a shortcut, whose walk was foreseen.
    #[inline(never)]
    fn load_foreseen(&mut self, ea: u32, bytes: u32, foreseen: Foreseen) -> Result<u64, Exception> {
        let physical = self.walk_as_foreseen(ea, false, foreseen);
        self.load_ordinary(physical);
        Ok(self.at(physical, bytes))
    }

    /// Any other load within one double word of a page without a shortcut.
    #[inline(never)]
    fn load_translated(&mut self, ea: u32, bytes: u32) -> Result<u64, Exception> {
        let Translation {
            pa: physical,
            attributes,
            source,
            ..
        } = self.translate_data(ea, Access::Load)?;
        self.check_access(ea, false)?;
        self.watch(ea, bytes, false);
        // RAM ends at the end of a page.
        if !self.memory.uncore.ram.contains(physical & !7, 8) {
            return self.read_device(physical, bytes);
        }
        let (from, account) = (self.hot.cycles, &mut self.account);
        self.hot.cycles += self.memory.load(physical, attributes, from, account);
        self.heed_block();
        let value = self.at(physical, bytes);
        self.note_step(source, (physical, bytes, value), from, false);
        if self.following {
            self.note_handler_access((physical, bytes, value));
        }
        Ok(value)
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn store_slowly(
        &mut self,
        ea: u32,
        bytes: u32,
        value: u64,
    ) -> Result<(), Exception> {
        if (ea & 7) + bytes > 8 {
            return self.store_pieces(ea, bytes, value);
        }
        if let Some(physical) = self.known(ea, true) {
            self.store_known((ea, physical), bytes, value)
        } else if let Some(foreseen) = self.foresee(ea, true) {
            self.store_foreseen((ea, foreseen), bytes, value)
        } else {
            self.store_translated(ea, bytes, value)
        }
    }

    /// A store within one double word of a page with a shortcut, which says that it is at `physical`.
    #[inline(never)]
    fn store_known(
        &mut self,
        (ea, physical): (u32, u32),
        bytes: u32,
        value: u64,
    ) -> Result<(), Exception> {
        if !self.line_at_once(ea, physical, bytes, true) {
            self.memory.expect(physical, &self.account);
            self.storing(physical, bytes);
            self.store_ordinary(physical);
        }
        self.memory.uncore.ram.write_part(physical, bytes, value);
        if self.following {
            self.note_handler_access((physical, bytes, value));
        }
        Ok(())
    }

    /// A store to RAM that the enabled D-cache may hold, that is written back, and that others see.
    #[inline(always)]
    pub(in crate::powerpc) fn store_ordinary(&mut self, physical: u32) {
        let (now, account) = (self.hot.cycles, &mut self.account);
        self.hot.cycles += self.memory.store_cached(physical, now, account);
        self.heed_block();
    }

    /// A store that crosses a double word.
    #[cold]
    #[inline(never)]
    fn store_pieces(&mut self, ea: u32, bytes: u32, value: u64) -> Result<(), Exception> {
        let mut left = bytes;
        for (n, (ea, bytes)) in pieces(ea, bytes).enumerate() {
            self.another_access(n);
            left -= bytes;
            self.store_slowly(ea, bytes, value >> (8 * left))?;
        }
        Ok(())
    }

    /// A store within one double word of a page without a shortcut, whose walk was foreseen.
    #[inline(never)]
    fn store_foreseen(
        &mut self,
        (ea, foreseen): (u32, Foreseen),
        bytes: u32,
        value: u64,
    ) -> Result<(), Exception> {
        let physical = self.walk_as_foreseen(ea, true, foreseen);
        self.storing(physical, bytes);
        self.store_ordinary(physical);
        self.memory.uncore.ram.write_part(physical, bytes, value);
        Ok(())
    }

    /// Any other store within one double word of a page without a shortcut.
    #[inline(never)]
    fn store_translated(&mut self, ea: u32, bytes: u32, value: u64) -> Result<(), Exception> {
        let Translation {
            pa: physical,
            attributes,
            source,
            ..
        } = self.translate_data(ea, Access::Store)?;
        self.check_access(ea, true)?;
        self.watch(ea, bytes, true);
        if !self.memory.uncore.ram.contains(physical, bytes as usize) {
            return self.write_device(physical, bytes, value);
        }
        self.storing(physical, bytes);
        let (from, account) = (self.hot.cycles, &mut self.account);
        self.hot.cycles += self.memory.store(physical, attributes, from, account);
        self.heed_block();
        self.memory.uncore.ram.write_part(physical, bytes, value);
        self.note_step(source, (physical, bytes, value), from, true);
        if self.following {
            self.note_handler_access((physical, bytes, value));
        }
        Ok(())
    }

    /// A store, or `dcbz`, is about to write at `physical`. If that is in the running line, an observer may watch it
    /// from now on, so the next block is entered the slow way.
    #[inline(always)]
    pub(crate) fn storing(&mut self, physical: u32, bytes: u32) {
        if self.observers.sanitizers.is_some() || self.memory.undo.is_some() {
            self.show_store(physical, bytes);
        }
    }

    #[cold]
    fn show_store(&mut self, physical: u32, bytes: u32) {
        self.memory.remember(physical, bytes);
        if self.sanitized {
            self.note_store(physical, bytes);
        }
        self.observers.storing(physical, &mut self.memory);
        if self.observers.watch_stores() {
            self.hot.deadline = 0;
        }
    }

    /// An operand that crosses a double word takes a second access, a cycle later.
    fn another_access(&mut self, number: usize) {
        self.hot.accesses += number as u64;
        self.hot.cycles += number as u64;
    }

    /// What a device answers is not cached and not translated further. The control device is the
    /// simulator's own and costs nothing.
    fn read_device(&mut self, physical: u32, bytes: u32) -> Result<u64, Exception> {
        let now = self.instant();
        let value = self.memory.uncore.board.read(physical.into(), bytes, now);
        self.charge_device(physical);
        self.look_at_board();
        value.map_err(|error| self.unanswered(error))
    }

    fn write_device(&mut self, physical: u32, bytes: u32, value: u64) -> Result<(), Exception> {
        let now = self.instant();
        let uncore = &mut self.memory.uncore;
        let asked = (self.observers.listener.is_some()).then(|| uncore.board.asked());
        let effect = uncore.write_device(physical.into(), bytes, value, now);
        if let Some(asked) = asked {
            let targets = uncore.board.asked() & !asked & !(1 << now.processor);
            let by = (self.account.user, self.account.cause);
            (self.observers).interrupts(targets, &[self.registers.pc], by, now.cycles);
        }
        self.charge_device(physical);
        self.look_at_board();
        if self.several && !self.memory.uncore.board.is_free(physical.into()) {
            self.end_turn();
        }
        match effect {
            Ok(effect) => {
                if let Some(effect) = effect {
                    self.carry_out(effect);
                }
                Ok(())
            }
            Err(error) => Err(self.unanswered(error)),
        }
    }
}

/// The `bytes` at `physical` of the double word there.
fn part(double_word: u64, physical: u32, bytes: u32) -> u64 {
    double_word << (8 * (physical & 7)) >> (64 - 8 * bytes)
}

/// The parts of an operand that lie in one double word each: two at most.
fn pieces(ea: u32, bytes: u32) -> impl Iterator<Item = (u32, u32)> {
    let first = bytes.min(8 - (ea & 7));
    [(ea, first), (ea.wrapping_add(first), bytes - first)]
        .into_iter()
        .filter(|&(_, bytes)| bytes != 0)
}
