//! What is known of each entry in the TLBs of one processor.

use super::fast::Map;
use super::words::{Frames, Watching};
use super::{Flush, Key, Origin, Side, Who};

/// Entries of one processor that are remembered.
pub const FILLS_MOST: usize = 1 << 16;
/// So many, and it asks which of them are still in the TLBs.
const SWEEP_FROM: usize = 1 << 12;

/// How an entry came into a TLB.
#[derive(Clone, Debug)]
pub struct Fill {
    /// When, in the order of all events of the run.
    pub time: u64,
    /// Stores to its words count from then on.
    pub since: u64,
    pub who: Who,
    pub origin: Origin,
    /// The page's physical address.
    pub frame: u64,
    /// A flush of all but global entries keeps it.
    pub global: bool,
    /// It was counted as a suspect, and as one in the window.
    pub counted: bool,
    pub in_window: bool,
    pub reported: bool,
    pub undetermined: bool,
    /// How often nobody could tell what is so, and the cycle from which it is asked again.
    pub tries: u8,
    pub again: u64,
    /// Stores to its frame are counted.
    pub watches: bool,
}

impl Fill {
    pub fn new(time: u64, who: Who, origin: Origin, frame: u64, global: bool) -> Fill {
        Fill {
            time,
            since: time,
            who,
            origin,
            frame,
            global,
            counted: false,
            in_window: false,
            reported: false,
            undetermined: false,
            tries: 0,
            again: 0,
            watches: false,
        }
    }

    /// The page frame, if it is one of those that are counted.
    pub fn counted_frame(&self, key: &Key) -> Option<u32> {
        u32::try_from(self.frame).ok().filter(|_| key.shift == 12)
    }

    fn has_words_of(&self, other: &Fill) -> bool {
        let places = |fill: &Fill| fill.origin.words.map(|word| word.map(|word| word.at));
        places(self) == places(other)
    }

    fn let_go(&mut self, frames: &mut Frames) {
        if std::mem::take(&mut self.watches) {
            frames.leave(self.frame as u32);
        }
    }
}

/// The entries of one processor.
#[derive(Clone, Debug)]
pub struct Fills {
    processor: u8,
    /// By the first address of the page.
    pages: Map<u64, Vec<(Key, Fill)>>,
    count: usize,
    /// Sizes of pages, as bits.
    shifts: u64,
    sweep_at: usize,
    forgotten: u64,
}

impl Fills {
    pub fn new(processor: u8) -> Fills {
        Fills {
            processor,
            pages: Map::default(),
            count: 0,
            shifts: 0,
            sweep_at: SWEEP_FROM,
            forgotten: 0,
        }
    }

    /// Entries that it had no room for.
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }

    pub fn get(&self, key: &Key) -> Option<&Fill> {
        let page = self.pages.get(&key.page)?.iter();
        page.into_iter()
            .find_map(|(held, fill)| (held == key).then_some(fill))
    }

    pub fn get_mut(&mut self, key: &Key) -> Option<&mut Fill> {
        let page = self.pages.get_mut(&key.page)?.iter_mut();
        page.into_iter()
            .find_map(|(held, fill)| (held == key).then_some(fill))
    }

    pub fn iter(&self) -> impl Iterator<Item = &(Key, Fill)> {
        self.pages.values().flatten()
    }

    /// An entry came into a TLB, in place of one of the same page.
    pub fn insert(&mut self, key: Key, fill: Fill, watching: &mut Watching) {
        let entry = (self.processor, key);
        if let Some(held) = self.get_mut(&key).filter(|held| held.has_words_of(&fill)) {
            // As a TLB does that loads the same pages again and again.
            held.let_go(&mut watching.frames);
            *held = fill;
            for word in held.origin.words() {
                watching.words.renew(word.at, entry);
            }
            return;
        }
        self.remove(&key, watching);
        if self.count >= FILLS_MOST {
            self.forgotten += self.count as u64;
            self.retain(watching, |_, _| false);
        }
        for word in fill.origin.words() {
            watching
                .words
                .depends(word.at, entry, &mut watching.to_watch);
        }
        self.shifts |= 1 << key.shift;
        self.count += 1;
        self.pages.entry(key.page).or_default().push((key, fill));
    }

    pub fn remove(&mut self, key: &Key, watching: &mut Watching) {
        self.retain_of_page(key.page, watching, |held, _| held != key);
    }

    fn retain_of_page(
        &mut self,
        page: u64,
        watching: &mut Watching,
        keep: impl Fn(&Key, &Fill) -> bool,
    ) {
        let Some(held) = self.pages.get_mut(&page) else {
            return;
        };
        let before = held.len();
        held.retain_mut(|(key, fill)| kept(self.processor, watching, (key, fill), &keep));
        self.count -= before - held.len();
        if held.is_empty() {
            self.pages.remove(&page);
        }
    }

    fn retain(&mut self, watching: &mut Watching, keep: impl Fn(&Key, &Fill) -> bool) {
        let mut count = 0;
        self.pages.retain(|_, held| {
            held.retain_mut(|(key, fill)| kept(self.processor, watching, (key, fill), &keep));
            count += held.len();
            !held.is_empty()
        });
        self.count = count;
    }

    /// Entries were removed.
    pub fn flushed(&mut self, what: Flush, watching: &mut Watching) {
        if let Flush::Page(address, _) = what {
            let shifts = self.shifts;
            for shift in (0..64).filter(|shift| shifts >> shift & 1 != 0) {
                let page = address >> shift << shift;
                self.retain_of_page(page, watching, |key, fill| what.keeps(key, fill).is_some());
            }
        } else {
            self.retain(watching, |key, fill| what.keeps(key, fill).is_some());
        }
    }

    /// Are there so many that entries may have left the TLBs for others long ago?
    pub fn wants_sweep(&self) -> bool {
        self.count >= self.sweep_at
    }

    /// Forgets the entries that are in no TLB. `live`: those that are.
    pub fn sweep(&mut self, mut live: Vec<Key>, watching: &mut Watching) {
        live.sort_unstable();
        self.retain(watching, |key, _| live.binary_search(key).is_ok());
        self.sweep_at = SWEEP_FROM.max(2 * self.count);
    }
}

fn kept(
    processor: u8,
    watching: &mut Watching,
    (key, fill): (&Key, &mut Fill),
    keep: impl Fn(&Key, &Fill) -> bool,
) -> bool {
    let keeps = keep(key, fill);
    if !keeps {
        for word in fill.origin.words() {
            watching.words.leave(word.at, (processor, *key));
        }
        fill.let_go(&mut watching.frames);
    }
    keeps
}

impl Flush {
    /// Why it keeps this entry of its processor; `None` if it removes it.
    pub fn keeps(self, key: &Key, fill: &Fill) -> Option<&'static str> {
        const GLOBAL: Option<&str> = Some("it keeps global entries");
        if key.side == Side::Hashed {
            return Some("it keeps the hash table");
        }
        match self {
            Flush::NotGlobal | Flush::Space(_) | Flush::Page(_, Some(_)) if fill.global => GLOBAL,
            Flush::All | Flush::NotGlobal => None,
            Flush::Page(address, _) if (address ^ key.page) >> key.shift != 0 => {
                Some("another page")
            }
            Flush::Page(_, Some(space)) | Flush::Space(space) if space != key.space => {
                Some("another address space")
            }
            Flush::Page(..) | Flush::Space(_) => None,
        }
    }
}
