//! Pieces of RAM whose stores are shown to the sanitizer.

/// Pieces of RAM whose stores the sanitizer must see.
#[derive(Debug, Default)]
pub struct Watched {
    /// Of each page.
    pieces: Vec<u64>,
    /// How often a page was watched anew: its shortcuts for stores must go, of all processors.
    pub changes: u64,
    /// The last of these pages.
    last: [u32; RECENT],
}

/// Pages that were watched anew and are remembered.
const RECENT: usize = 16;

impl Watched {
    fn bit(pa: u32) -> u64 {
        1 << (pa >> 6 & 63)
    }

    pub(super) fn watch(&mut self, pa: u32) {
        let page = (pa >> 12) as usize;
        if page >= self.pieces.len() {
            self.pieces.resize(page + 1, 0);
        }
        if self.pieces[page] == 0 {
            self.last[self.changes as usize % RECENT] = pa;
            self.changes += 1;
        }
        self.pieces[page] |= Self::bit(pa);
    }

    /// The pages that were watched anew since `changes` was this; `None` if they are not all remembered.
    pub(super) fn since(&self, changes: u64) -> Option<Vec<u32>> {
        let known = self.changes - changes <= RECENT as u64;
        known.then(|| {
            (changes..self.changes)
                .map(|n| self.last[n as usize % RECENT])
                .collect()
        })
    }

    pub(super) fn unwatch(&mut self, pa: u32) {
        if let Some(pieces) = self.pieces.get_mut((pa >> 12) as usize) {
            *pieces &= !Self::bit(pa);
        }
    }

    /// Is something of the page watched?
    pub fn in_page(&self, pa: u32) -> bool {
        let pieces = self.pieces.get((pa >> 12) as usize);
        pieces.is_some_and(|&pieces| pieces != 0)
    }

    pub(super) fn holds(&self, pa: u32, bytes: u32) -> bool {
        let pieces = self.pieces.get((pa >> 12) as usize).copied().unwrap_or(0);
        let last = (pa & 0xfff).saturating_add(bytes.max(1) - 1).min(0xfff);
        (pa >> 6 & 63..=last >> 6).any(|piece| pieces >> piece & 1 != 0)
    }
}
