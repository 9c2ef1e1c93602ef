//! Checks for errors in memory management that have no visible effect. Off, they cost nothing, because the machine
//! then has no [`Sanitizers`].

mod code;

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::stale::Stale;
use crate::memory::Memory;
use code::Code;

/// Which checks are on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SanitizerSet {
    /// Use of a translation whose page frame was freed (FRAME_FREED, FRAME_ALLOCATED).
    pub translation: bool,
    /// Use of a translation that the page table no longer gives, by any kernel, of a PowerPC. Other architectures begin
    /// that by `translation`. A snapshot does not have it, as it does not have what was found.
    #[serde(skip)]
    pub entries: bool,
    /// Fetch of instructions that differ from those written last.
    pub fetch: bool,
    /// A VSID given out while entries with it live (VSID_ISSUED).
    pub vsid: bool,
}

impl SanitizerSet {
    /// Bits of the control device's FEATURES register.
    #[must_use]
    pub fn features(self) -> u32 {
        u32::from(self.translation) | u32::from(self.vsid) << 1
    }

    #[must_use]
    pub fn any(self) -> bool {
        self.translation || self.entries || self.fetch || self.vsid
    }
}

impl FromStr for SanitizerSet {
    type Err = String;

    /// Parses `translation,fetch,vsid`, or a part of it.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut set = SanitizerSet::default();
        for word in text.split(',') {
            match word.trim() {
                "translation" => set.translation = true,
                "entries" => set.entries = true,
                "fetch" => set.fetch = true,
                "vsid" => set.vsid = true,
                "all" => {
                    set = SanitizerSet {
                        translation: true,
                        entries: set.entries,
                        fetch: true,
                        vsid: true,
                    }
                }
                other => {
                    return Err(format!(
                        "unknown sanitizer `{other}`: allowed are translation, entries, fetch, vsid, all"
                    ));
                }
            }
        }
        Ok(set)
    }
}

/// The state of the checks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sanitizers {
    pub set: SanitizerSet,
    freed: Freed,
    code: Option<Code>,
    /// The translation sanitizer of the processors that have one for any kernel. A snapshot does not have it: it begins
    /// anew, with the entries that are there.
    #[serde(skip)]
    pub stale: Option<Box<Stale>>,
}

/// Page frames that no user translation may reach: a bit for each.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Freed(Vec<u64>);

impl Freed {
    /// Page frames that 32 bits of address reach.
    const FRAMES: u32 = 1 << 20;

    fn set(&mut self, frame: u32, freed: bool) {
        let (word, bit) = ((frame / 64) as usize, frame % 64);
        if frame >= Self::FRAMES {
            return;
        }
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        self.0[word] = self.0[word] & !(1 << bit) | u64::from(freed) << bit;
    }

    fn contains(&self, frame: u32) -> bool {
        let word = self.0.get((frame / 64) as usize);
        word.is_some_and(|word| word >> (frame % 64) & 1 != 0)
    }
}

impl Sanitizers {
    /// Checks for a machine with this memory, without knowledge of earlier events.
    #[must_use]
    pub fn new(set: SanitizerSet, memory: &Memory) -> Self {
        Sanitizers {
            set,
            freed: Freed::default(),
            code: set.fetch.then(|| Code::new(memory)),
            stale: None,
        }
    }

    /// Bits of the control device's FEATURES register. The translation sanitizer of any kernel asks for nothing.
    #[must_use]
    pub fn features(&self) -> u32 {
        let mut asked = self.set;
        asked.translation &= self.stale.is_none();
        asked.features()
    }

    /// True if the sanitizers of a machine with this memory can be in this state. A snapshot is checked by this
    /// before use.
    pub(crate) fn fits(&self, memory: &Memory) -> bool {
        let fresh = Self::new(self.set, memory);
        let code = match (&self.code, &fresh.code) {
            (Some(code), Some(fresh)) => code.fits(fresh, memory),
            (None, None) => true,
            _ => false,
        };
        code && self.freed.0.len() <= (Freed::FRAMES / 64) as usize
    }

    /// FRAME_FREED.
    pub fn frame_freed(&mut self, frame: u32) {
        if self.set.translation {
            self.freed.set(frame, true);
        }
    }

    /// FRAME_ALLOCATED.
    pub fn frame_allocated(&mut self, frame: u32) {
        self.freed.set(frame, false);
    }

    /// An access to `ea` was translated to the frame by an entry that pages have. Reports a translation that lets user
    /// programs reach a freed frame: then `space` names the address space. The kernel's own mapping of all RAM is
    /// exempt.
    #[must_use]
    pub fn translated(
        &self,
        ea: u32,
        frame: u32,
        space: impl FnOnce() -> Option<String>,
    ) -> Option<String> {
        if !self.freed.contains(frame) {
            return None;
        }
        let space = space()?;
        Some(format!(
            "stale translation: {ea:#010x} ({space}) still reaches page frame {frame:#x}, which was freed"
        ))
    }

    /// See [`Code::storing`].
    pub fn storing(&mut self, pa: u32, memory: &mut Memory) {
        if let Some(code) = &mut self.code {
            code.storing(pa, memory);
        }
    }

    /// See [`Code::fetched`].
    #[must_use]
    pub fn fetched(&mut self, pa: u32, memory: &Memory) -> Option<String> {
        self.code.as_mut()?.fetched(pa, memory)
    }

    /// See [`Code::filled`].
    #[must_use]
    pub fn filled(&mut self, pa: u32, memory: &mut Memory) -> bool {
        self.code
            .as_mut()
            .is_some_and(|code| code.filled(pa, memory))
    }

    /// See [`Code::holds`].
    pub fn holds_code(&mut self, pa: u32, memory: &Memory) -> bool {
        self.code
            .as_mut()
            .is_some_and(|code| code.holds(pa, memory))
    }
}
