//! What the use of a suspect entry means.

use super::{
    Change, FINDINGS_MOST, Fill, Finding, Key, Kind, Origin, Ram, Stale, Truth, Use, Verdict, Who,
};

/// How often an undetermined entry is judged again: the kernel may wait for a lock.
const TRIES: u8 = 40;
/// The same of an entry whose words are not known.
pub const TRIES_UNTRACED: u8 = 4;
/// Cycles between the first two of these tries. Each time it is twice as long, up to `PAUSE << DOUBLINGS`.
const PAUSE: u64 = 500;
const DOUBLINGS: u8 = 6;

impl Stale {
    /// An access has used a suspect entry.
    pub fn judge(&mut self, access: Use, who: Who, truth: &Truth, ram: &Ram) -> Verdict {
        let processor = who.processor;
        let Some(mut fill) = self.fill(processor, &access.key).cloned() else {
            return Verdict::Good;
        };
        if !fill.counted && fill.origin.leaf().is_some() {
            fill.counted = true;
            self.counts.suspects += 1;
        }
        let untraced = fill.origin.leaf().is_none();
        let tries = if untraced { TRIES_UNTRACED } else { TRIES };
        if !matches!(truth, Truth::Unknown) {
            fill.tries = 0;
            self.counts.undetermined -= u64::from(std::mem::take(&mut fill.undetermined));
        }
        let verdict = match truth.clone() {
            Truth::Same {
                whole: false,
                origin,
            } if untraced => {
                self.replace_origin(access.key, processor, &mut fill, origin);
                Verdict::Look
            }
            Truth::Same { whole: false, .. } => Verdict::Look,
            Truth::Same { ref origin, .. } => {
                self.replace_origin(access.key, processor, &mut fill, *origin);
                return Verdict::Good;
            }
            Truth::Unknown if fill.tries < tries => {
                fill.again = who.cycle + (PAUSE << fill.tries.min(DOUBLINGS));
                fill.tries += 1;
                if !untraced {
                    self.undetermined(&mut fill);
                }
                Verdict::Look
            }
            Truth::Unknown | Truth::Other { .. } if untraced => {
                // What became of its words cannot be seen.
                self.counts.untraced += 1;
                return Verdict::Good;
            }
            Truth::Unknown => {
                self.undetermined(&mut fill);
                Verdict::Good
            }
            Truth::Other { .. } if fill.reported => Verdict::Look,
            Truth::Other {
                root,
                now,
                frame,
                gone,
                change,
            } => {
                let change = change.or_else(|| self.blame(&fill, ram));
                match self.kind(&fill, change.as_ref(), (root, gone)) {
                    None if change.is_none() => {
                        self.undetermined(&mut fill);
                        Verdict::Look
                    }
                    None => {
                        if !fill.in_window {
                            fill.in_window = true;
                            self.counts.windows += 1;
                        }
                        Verdict::Look
                    }
                    Some(kind) => {
                        let change = change.or_else(|| self.choice(&access.key, &fill));
                        fill.reported = true;
                        self.counts.stale += 1;
                        let finding =
                            self.describe(kind, &access, who, &fill, change, (now, frame));
                        self.report(finding)
                    }
                }
            }
        };
        if let Some(held) = self.of(processor).0.get_mut(&access.key) {
            *held = fill;
        }
        verdict
    }

    fn replace_origin(&mut self, key: Key, processor: u8, fill: &mut Fill, origin: Origin) {
        fill.origin = origin;
        fill.since = self.time;
        fill.watches = false;
        let (fills, watching) = self.of(processor);
        fills.insert(key, fill.clone(), watching);
    }

    /// The words that an entry was made of, which were not known before.
    pub fn trace(&mut self, processor: u8, key: Key, origin: Origin) {
        if let Some(mut fill) = self.fill(processor, &key).cloned() {
            self.replace_origin(key, processor, &mut fill, origin);
        }
    }

    fn undetermined(&mut self, fill: &mut Fill) {
        if !fill.undetermined {
            fill.undetermined = true;
            self.counts.undetermined += 1;
        }
    }

    fn report(&mut self, finding: Finding) -> Verdict {
        let full = self.findings.len() >= FINDINGS_MOST;
        let mut known = self.findings.iter_mut();
        match known.find(|known| known.is_like(&finding)) {
            Some(known) => known.times += 1,
            None if full => self.forgotten.findings += 1,
            None => self.findings.push(finding),
        }
        if self.stops {
            Verdict::Stop
        } else {
            Verdict::Look
        }
    }

    /// The change that made the entry wrong: of each word of its origin the last one after which the word no longer
    /// gives the entry; of several words the earliest.
    fn blame(&self, fill: &Fill, ram: &Ram) -> Option<Change> {
        let rule = self.rules.gives?;
        let words = fill.origin.words().enumerate();
        let each = words.filter_map(|(number, word)| {
            let gives = |value| rule(&fill.origin, number, value);
            self.watching
                .words
                .last_loss(word.at, fill.since, ram, gives)
        });
        each.min_by_key(|change| change.time)
    }

    /// How a use of the entry is classed: `None` is within the window.
    fn kind(
        &self,
        fill: &Fill,
        change: Option<&Change>,
        (root, gone): (u64, bool),
    ) -> Option<Kind> {
        let change = match change {
            Some(change) => change,
            // Without a store to the entry's words, another root was chosen, which is done at once.
            None if fill.origin.root != root => return self.late.then_some(Kind::Context),
            None => return None,
        };
        let returned = self.returned.get(&change.who.thread);
        if self.late && returned.is_some_and(|&time| time > change.time) {
            return Some(Kind::Late);
        }
        // A frame to which the page still belongs gets no other use.
        let frame = u32::try_from(fill.frame).ok().filter(|_| gone)?;
        let reused = self.watching.frames.reused(frame);
        (reused.is_some_and(|time| time > change.time)).then_some(Kind::Reuse)
    }
}
