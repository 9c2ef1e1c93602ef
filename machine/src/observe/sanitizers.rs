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
    /// Use of a translation that the page table no longer gives.
    pub translation: bool,
    /// Of these uses only those of a page frame that has got another use: of a kernel that puts off its flushes on
    /// purpose.
    pub reuse: bool,
    /// Fetch of instructions that differ from those written last.
    pub fetch: bool,
}

impl SanitizerSet {
    /// Are the uses of translations looked at?
    #[must_use]
    pub fn stale(self) -> bool {
        self.translation || self.reuse
    }

    #[must_use]
    pub fn any(self) -> bool {
        self.stale() || self.fetch
    }
}

impl FromStr for SanitizerSet {
    type Err = String;

    /// Parses `translation`, `reuse`, `fetch`, a list of them, or `all`, which is `translation` and `fetch`.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut set = SanitizerSet::default();
        for word in text.split(',') {
            match word.trim() {
                "translation" => set.translation = true,
                "reuse" => set.reuse = true,
                "fetch" => set.fetch = true,
                "all" => {
                    set = SanitizerSet {
                        translation: true,
                        fetch: true,
                        ..set
                    }
                }
                other => {
                    return Err(format!(
                        "unknown sanitizer `{other}`: allowed are translation, reuse, fetch, all"
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
    code: Option<Code>,
    /// The translation sanitizer. A snapshot does not have it: it begins anew, with the entries that are there.
    #[serde(skip)]
    pub stale: Option<Box<Stale>>,
}

impl Sanitizers {
    /// Checks for a machine with this memory, without knowledge of earlier events.
    #[must_use]
    pub fn new(set: SanitizerSet, memory: &Memory) -> Self {
        Sanitizers {
            set,
            code: set.fetch.then(|| Code::new(memory)),
            stale: None,
        }
    }

    /// True if the sanitizers of a machine with this memory can be in this state. A snapshot is checked by this
    /// before use.
    pub(crate) fn fits(&self, memory: &Memory) -> bool {
        let fresh = Self::new(self.set, memory);
        match (&self.code, &fresh.code) {
            (Some(code), Some(fresh)) => code.fits(fresh, memory),
            (None, None) => true,
            _ => false,
        }
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
