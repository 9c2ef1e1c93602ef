//! What the translation sanitizer ([`crate::observe::stale`]) asks of a processor of any architecture, and does with
//! it.

use super::cpu::Cpu;
use crate::observe::stale::{Flush, Key, Origin, Rules, Side, Stale, Truth, Use, Verdict, Who};

/// A processor whose TLBs the sanitizer can watch.
pub trait Sanitized: Cpu {
    /// What the architecture says of its page tables.
    const RULES: Rules;

    /// Is the sanitizer on?
    fn sanitized(&mut self) -> &mut bool;

    /// The processor's number.
    fn number(&self) -> u8;

    /// Does a program run?
    fn in_user_mode(&self) -> bool;

    /// Who runs now, without the callers.
    fn who(&self) -> Who;

    /// Where the callers go on, the innermost first.
    fn calls(&self) -> Vec<u64>;

    /// The next use of this entry, if it is there, is for the sanitizer to see.
    fn suspect(&mut self, key: Key);

    /// The same of an entry that has no shortcuts: it was loaded, or was suspect until its last use.
    fn suspect_still(&mut self, key: Key) {
        self.suspect(key);
    }

    /// The entries that are in the TLBs.
    fn live(&self) -> Vec<Key>;

    /// Makes known the entries that are in the TLBs when the sanitizer begins; without it, none is suspect.
    fn look_at_entries(&mut self);

    /// Stores to the piece of RAM at `at` are shown by [`Sanitized::watched_store`] from now on.
    fn watch_piece(&mut self, at: u32);

    /// They are not any more.
    fn unwatch_piece(&mut self, at: u32);

    /// Ends the run with this report.
    fn stop_with(&mut self, report: String);

    fn stale(&mut self) -> Option<&mut Stale> {
        let sanitizers = self.observers_mut().sanitizers.as_mut()?;
        sanitizers.stale.as_deref_mut()
    }

    /// Begins or ends the sanitizer, as the observers have it.
    fn choose_sanitizer(&mut self) {
        let sanitizers = self.observers_mut().sanitizers.as_mut();
        let mut on = false;
        if let Some(all) = sanitizers.filter(|all| all.set.stale()) {
            let late = all.set.translation;
            all.stale
                .get_or_insert_with(|| Box::new(Stale::new(Self::RULES, late)));
            on = true;
        }
        if on != *self.sanitized() {
            *self.sanitized() = on;
            self.look_at_entries();
            self.watch_words();
        }
    }

    /// Stores to what the sanitizer asks for are shown to it from now on.
    fn watch_words(&mut self) {
        let Some(stale) = self.stale() else {
            return;
        };
        let (done, watched) = (stale.take_unwatched(), stale.take_watched());
        for at in done {
            self.unwatch_piece(at);
        }
        for at in watched {
            self.watch_piece(at);
        }
    }

    /// The running instruction is about to write to a piece that the sanitizer watches.
    #[cold]
    fn watched_store(&mut self, at: u32, bytes: u32) {
        let mut sanitizers = self.observers_mut().sanitizers.take();
        let stale = sanitizers.as_mut().and_then(|all| all.stale.as_deref_mut());
        let mut own = Vec::new();
        let mut is_done = false;
        if let Some(stale) = stale {
            let who = || Who {
                calls: self.calls(),
                ..self.who()
            };
            let user = self.in_user_mode();
            own = stale.storing((at, bytes), &self.memory().uncore.ram, user, who);
            is_done = stale.is_done_with(at);
        }
        self.observers_mut().sanitizers = sanitizers;
        if is_done {
            self.unwatch_piece(at);
        }
        for key in own {
            self.suspect(key);
        }
        self.watch_words();
    }

    /// Its turn begins: others may have stored to words that its entries were made of.
    fn heed_stores(&mut self) {
        let number = self.number();
        let told = self.stale().map(|stale| stale.take_told(number));
        for key in told.unwrap_or_default() {
            self.suspect(key);
        }
    }

    /// An entry was loaded from these words. `second`: into the second-level TLB too. `older`: words have changed since
    /// they were read.
    fn note_entry(
        &mut self,
        key: Key,
        origin: Origin,
        (frame, global): (u64, bool),
        second: bool,
        older: bool,
    ) {
        let who = self.who();
        let number = who.processor;
        let twin = second.then_some(Key {
            side: Side::Second,
            ..key
        });
        for key in twin.into_iter().chain([key]) {
            if let Some(stale) = self.stale() {
                stale.filled(key, who.clone(), origin, frame, global);
                if older {
                    stale.filled_from_older(number, key);
                }
            }
            if older {
                self.suspect(key);
            }
        }
        if self.stale().is_some_and(|stale| stale.wants_sweep(number)) {
            let live = self.live();
            if let Some(stale) = self.stale() {
                stale.sweep(number, live);
            }
        }
        self.watch_words();
    }

    /// The second-level TLB has given its entry to a TLB of the first level, which knows it by `key`.
    #[cold]
    fn note_copy(&mut self, key: Key) {
        let number = self.number();
        let from = Key {
            side: Side::Second,
            ..key
        };
        if let Some(stale) = self.stale() {
            stale.copied(number, from, key);
        }
        self.watch_words();
    }

    #[cold]
    fn note_flush(&mut self, what: Flush) {
        let who = self.who();
        if let Some(stale) = self.stale() {
            stale.flushed(who, what);
        }
        self.watch_words();
    }

    /// An access has used what was a suspect entry. `first`: the TLB of the first level that has the entry now.
    fn conclude(&mut self, access: Use, who: Who, truth: &Truth, first: Side) {
        let (observers, _, memory) = self.parts();
        let (verdict, report) = observers.judge(access, who, truth, &memory.uncore.ram);
        let key = access.key;
        if key.side == Side::Second {
            // The first level has a copy, of which the same is known.
            self.note_copy(Key { side: first, ..key });
        }
        if verdict != Verdict::Good {
            self.suspect_still(key);
            if key.side == Side::Second {
                self.suspect_still(Key { side: first, ..key });
            }
        }
        self.watch_words();
        if let Some(report) = report {
            self.stop_with(report);
        }
    }
}
