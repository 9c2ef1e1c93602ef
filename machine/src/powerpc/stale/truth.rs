//! What the processor would load instead of a suspect entry, which its copy tells.

use rustc_hash::FxHashMap;

use super::copy::{Answer, Copy, HIDDEN, INSTRUCTIONS, INSTRUCTIONS_UNTRACED, Reloaded};
use crate::computer::Sanitized;
use crate::observe::stale::{Change, Key, Origin, Stale, Truth};
use crate::powerpc::mmu::held::Held;
use crate::powerpc::mmu::{Access, Translation};
use crate::powerpc::processor::Processor;

/// Answers that are kept.
const TRUTHS_MOST: usize = 4096;

/// What was found out of suspect entries.
#[derive(Debug, Default)]
pub struct Truths {
    /// [`crate::observe::stale::Stale::changes_of_spaces`] when it was found out.
    spaces: u64,
    known: FxHashMap<(Held, Access, bool), Known>,
}

/// The answer of one case.
#[derive(Debug)]
struct Known {
    truth: Truth,
    /// [`crate::observe::stale::Stale::generation`] when it was true.
    generation: u64,
    /// The words that it depends on, if no others do.
    words: Vec<(u32, u32)>,
}

/// What the processor would load instead of an entry, compared with it.
enum Seen {
    Same(Reloaded),
    Other {
        now: &'static str,
        frame: Option<u32>,
        gone: bool,
        /// The first table, if it is known.
        root: Option<u64>,
    },
    Unknown,
}

/// An access that used a suspect entry.
#[derive(Clone, Copy)]
pub(super) struct Suspected<'a> {
    pub ea: u32,
    pub pc: u32,
    pub access: Access,
    pub held: &'a Held,
    pub translation: &'a Translation,
}

impl Processor {
    /// What the processor would load now. As long as no word of a table changes, the answer stays.
    pub(super) fn truth(&mut self, at: Suspected<'_>) -> Truth {
        let now = |stale: &mut Stale| (stale.generation(), stale.changes_of_spaces());
        let (generation, spaces) = self.stale().map_or((0, 0), now);
        if self.truths.spaces != spaces || self.truths.known.len() > TRUTHS_MOST {
            self.truths = Truths {
                spaces,
                ..Truths::default()
            };
        }
        let case = (*at.held, at.access, self.in_user_mode());
        if let Some(known) = self.truths.known.get_mut(&case) {
            let ram = &self.memory.uncore.ram;
            let stays = |&(at, value): &(u32, u32)| ram.read_u32(at) == Some(value);
            if known.generation == generation
                || !known.words.is_empty() && known.words.iter().all(stays)
            {
                known.generation = generation;
                return known.truth.clone();
            }
        }
        let truth = match self.seen(at) {
            // The words as they were before a change give an answer: the change is what keeps the kernel from one.
            Seen::Unknown => match self.change(at) {
                None if self.is_untraced(at.held.key) => return Truth::Unknown,
                None => Truth::Unknown,
                change => Truth::Other {
                    root: self.root_now(at.held.key),
                    now: "allows what the kernel's handler does not load at once",
                    frame: None,
                    gone: true,
                    change,
                },
            },
            Seen::Other {
                now,
                frame,
                gone,
                root,
            } => Truth::Other {
                root: root.unwrap_or_else(|| self.root_now(at.held.key)),
                now,
                frame: frame.map(u64::from),
                gone,
                change: self.change(at),
            },
            Seen::Same(loaded) => {
                let whole = loaded.held.is_some_and(|held| {
                    (held.bits, held.key.shift) == (at.held.bits, at.held.key.shift)
                        && (held.changed || !at.held.changed || self.permits_store(at))
                });
                Truth::Same {
                    origin: loaded.origin,
                    whole,
                }
            }
        };
        if !matches!(truth, Truth::Unknown) {
            let known = Known {
                words: self.words_of(at.held.key, &truth),
                truth: truth.clone(),
                generation,
            };
            self.truths.known.insert(case, known);
        }
        truth
    }

    /// What the words hold now that an entry was made of and would be made of: as long as they do, it is as good.
    fn words_of(&mut self, key: Key, truth: &Truth) -> Vec<(u32, u32)> {
        let Truth::Same { origin, .. } = truth else {
            return Vec::new();
        };
        let number = Sanitized::number(self);
        let old = self.stale().and_then(|stale| stale.origin(number, key));
        let places = old.iter().chain([origin]).flat_map(Origin::words);
        let ram = &self.memory.uncore.ram;
        places
            .filter_map(|word| Some((word.at, ram.read_u32(word.at)?)))
            .collect()
    }

    pub(super) fn is_untraced(&mut self, key: Key) -> bool {
        let number = Sanitized::number(self);
        let origin = self.stale().and_then(|stale| stale.origin(number, key));
        origin.is_some_and(|origin| origin.leaf().is_none())
    }

    /// Would a store be as good as the access was?
    fn permits_store(&mut self, at: Suspected<'_>) -> bool {
        let at = Suspected {
            access: Access::Store,
            ..at
        };
        matches!(self.seen(at), Seen::Same(_))
    }

    /// The newest change without which the processor would load the entry.
    fn change(&mut self, at: Suspected<'_>) -> Option<Change> {
        let (number, key) = (Sanitized::number(self), at.held.key);
        let sanitizers = self.observers.sanitizers.take();
        let stale = sanitizers.as_ref().and_then(|all| all.stale.as_deref());
        let ram = &self.memory.uncore.ram;
        let changes = stale.map(|stale| stale.changes(number, key, ram));
        self.observers.sanitizers = sanitizers;
        let changes = changes.unwrap_or_default();
        let word = |machine: &Self, at: u32| machine.memory.uncore.ram.read_u32(at);
        let held: Vec<_> = (changes.iter())
            .filter_map(|change| Some((change.at, word(self, change.at)?)))
            .collect();
        let mut found = None;
        for change in changes {
            let old = change.old as u32;
            self.memory.uncore.ram.write_u32(change.at, old);
            if matches!(self.seen(at), Seen::Same(_)) {
                found = Some(change);
                break;
            }
        }
        for (at, value) in held {
            self.memory.uncore.ram.write_u32(at, value);
        }
        found
    }

    fn answer(&mut self, at: Suspected<'_>) -> Answer {
        let Some(mut copy) = self.copy.take().or_else(|| Copy::of(self)) else {
            return Answer::Unknown;
        };
        let answer = self.answer_of(&mut copy, at);
        self.copy = Some(copy);
        answer
    }

    /// A word that no other word leads to may be a copy that the kernel keeps for the next miss: it is hidden, and the
    /// kernel is asked again.
    fn answer_of(&mut self, copy: &mut Copy, at: Suspected<'_>) -> Answer {
        let place = (at.ea, at.pc);
        copy.most = if self.is_untraced(at.held.key) {
            INSTRUCTIONS_UNTRACED
        } else {
            INSTRUCTIONS
        };
        let first = copy.answer(self, place, at.access, (at.held, None));
        let words: Vec<_> = match &first {
            Answer::Loaded(loaded) => loaded.origin.words().collect(),
            _ => Vec::new(),
        };
        let [only] = words[..] else {
            return first;
        };
        let (number, key) = (Sanitized::number(self), at.held.key);
        let known = self.stale().and_then(|stale| stale.origin(number, key));
        let known = known.and_then(|origin| origin.leaf());
        if known.is_some_and(|word| word.at == only.at) {
            return first;
        }
        let hidden = Some(only.at & !(HIDDEN - 1));
        let again = copy.answer(self, place, at.access, (at.held, hidden));
        let is_led_to = matches!(&again, Answer::Loaded(again) if again.origin.words().count() > 1);
        if known.is_some() || is_led_to {
            again
        } else {
            first
        }
    }

    fn seen(&mut self, at: Suspected<'_>) -> Seen {
        let loaded = match self.answer(at) {
            Answer::Unknown => return Seen::Unknown,
            Answer::Refused => {
                return Seen::Other {
                    now: "allows what the kernel's handler refuses",
                    frame: None,
                    gone: true,
                    root: None,
                };
            }
            Answer::Loaded(loaded) => loaded,
        };
        let now = &loaded.translation;
        let root = Some(loaded.origin.root).filter(|&root| root != 0 && !at.held.global);
        let other = |now, frame, gone| Seen::Other {
            now,
            frame,
            gone,
            root,
        };
        if now.pa != at.translation.pa {
            let frame = Some(now.pa & !0xfff);
            return other("leads to another page frame than the table", frame, true);
        }
        if loaded.wrote {
            return other("reaches a page that the kernel would fill anew", None, true);
        }
        if now.attributes != at.translation.attributes {
            return other("has other cache attributes than the table", None, false);
        }
        if at.access.is_store() && loaded.changed.is_some() {
            // For a store the handler may set what a load would not: the page becomes dirty.
            let by_load = Suspected {
                access: Access::Load,
                ..at
            };
            let known = match self.answer(by_load) {
                Answer::Loaded(known) => known.changed,
                _ => loaded.changed,
            };
            let kept = known.or_else(|| loaded.origin.leaf().map(|word| word.value));
            if kept != loaded.changed {
                return other(
                    "is dirty where the table no longer is, so that the write will be lost",
                    None,
                    false,
                );
            }
        }
        Seen::Same(loaded)
    }
}
