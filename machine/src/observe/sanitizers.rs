//! Checks for mistakes in memory management that nothing else sees. Off, they cost nothing: the
//! machine holds no [`Sanitizers`] then.

use std::collections::{HashMap, HashSet};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::memory::Memory;
use crate::mmu::{Mmu, Source, Translation, segment, tlb};

/// Which checks are on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SanitizerSet {
    /// Use of a translation whose page frame was freed (FRAME_FREED, FRAME_ALLOCATED).
    pub translation: bool,
    /// Fetch of instructions that memory does not hold any more, or not yet.
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
        self.translation || self.fetch || self.vsid
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
                "fetch" => set.fetch = true,
                "vsid" => set.vsid = true,
                "all" => {
                    set = SanitizerSet {
                        translation: true,
                        fetch: true,
                        vsid: true,
                    }
                }
                other => {
                    return Err(format!(
                        "unknown sanitizer `{other}`: allowed are translation, fetch, vsid, all"
                    ));
                }
            }
        }
        Ok(set)
    }
}

/// The state of the checks.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Sanitizers {
    pub set: SanitizerSet,
    /// Page frames that no user translation may reach.
    freed: HashSet<u32>,
    /// What a fetch gets of lines that were stored to.
    written: HashMap<u32, Written>,
}

/// A line that was stored to, as others than the D-cache have it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Written {
    /// In memory, while the D-cache holds it modified.
    memory: Option<Box<[u8]>>,
    /// In the I-cache, if it was stored to while that held it.
    cache: Option<Box<[u8]>>,
}

impl Sanitizers {
    #[must_use]
    pub fn new(set: SanitizerSet) -> Self {
        Sanitizers {
            set,
            ..Self::default()
        }
    }

    /// FRAME_FREED.
    pub fn frame_freed(&mut self, frame: u32) {
        if self.set.translation {
            self.freed.insert(frame);
        }
    }

    /// FRAME_ALLOCATED.
    pub fn frame_allocated(&mut self, frame: u32) {
        self.freed.remove(&frame);
    }

    /// An access to `ea` was translated. Reports a page translation that lets user programs reach a
    /// freed frame: the kernel's own mapping of all RAM is none of these, whoever made the access.
    #[must_use]
    pub fn translated(
        &self,
        ea: u32,
        fetch: bool,
        translation: &Translation,
        mmu: &Mmu,
    ) -> Option<String> {
        let frame = translation.pa >> 12;
        if translation.source != Source::Tlb || !self.freed.contains(&frame) {
            return None;
        }
        let register = mmu.segments.get(ea);
        let side = if fetch { &mmu.itlb } else { &mmu.dtlb };
        let entry = side.find(tlb::tag(register, ea))?;
        let user_key = segment::key(register, true);
        tlb::permits(entry.pp(), user_key, false).then(|| {
            format!(
                "stale translation: {ea:#010x} (VSID {:06x}) still reaches page frame {frame:#x}, which was freed",
                entry.vsid()
            )
        })
    }

    /// A store, or `dcbz`, is about to write the line at `pa`.
    pub fn storing(&mut self, pa: u32, memory: &Memory) {
        if !self.set.fetch {
            return;
        }
        let held = memory.instruction.find(pa).is_some();
        let dirty = memory.data.is_dirty(pa);
        if dirty && !held {
            return;
        }
        // No call tells that a line has left both caches.
        let geometry = memory.data.geometry();
        if self.written.len() > 4 * (geometry.size / geometry.line) as usize {
            self.written.retain(|&line, _| {
                memory.instruction.find(line).is_some() || memory.data.is_dirty(line)
            });
        }
        let line = memory.instruction.line_address(pa);
        let written = self.written.entry(line).or_default();
        if !dirty {
            written.memory = Some(content(line, memory).into());
        }
        if held && written.cache.is_none() {
            written.cache = Some(content(line, memory).into());
        }
    }

    /// Instructions are about to be fetched from `pa` on; call before the I-cache looks. Reports a line
    /// in which the fetch finds others, from there on, than were written last.
    #[must_use]
    pub fn fetched(&mut self, pa: u32, memory: &Memory) -> Option<String> {
        if !self.set.fetch {
            return None;
        }
        let line = memory.instruction.line_address(pa);
        let held = memory.instruction.enabled() && memory.instruction.find(pa).is_some();
        if !held && !memory.data.is_dirty(pa) {
            self.written.remove(&line);
            return None;
        }
        let written = self.written.get_mut(&line)?;
        if !held {
            // A fill: the I-cache has what memory has.
            written.cache = written.memory.clone();
        }
        let from = (pa - line) as usize;
        if written.cache.as_ref()?[from..] == content(line, memory)[from..] {
            return None;
        }
        Some(if held {
            format!(
                "stale fetch: the instruction cache holds line {line:#010x} as it was before it was written; no icbi came between"
            )
        } else {
            format!(
                "incoherent fetch: the data cache holds line {line:#010x} modified; no dcbst came between"
            )
        })
    }

    /// VSID_ISSUED: reports the first TLB or hash-table entry that carries `vsid`.
    #[must_use]
    pub fn vsid_issued(&self, vsid: u32, mmu: &Mmu, memory: &Memory) -> Option<String> {
        if !self.set.vsid {
            return None;
        }
        for (name, side) in [("instruction", &mmu.itlb), ("data", &mmu.dtlb)] {
            if let Some((set, entry)) = side.valid_entries().find(|(_, entry)| entry.vsid() == vsid)
            {
                return Some(format!(
                    "VSID {vsid:06x} issued while the {name} TLB holds it: set {set} way {}, page {:#06x}",
                    entry.way(),
                    entry.page()
                ));
            }
        }
        let table = super::dump::HashTable::read(mmu.sdr1, memory)?;
        let row = table.entries.iter().find(|row| row.vsid == vsid)?;
        Some(format!(
            "VSID {vsid:06x} issued while the hash table holds it: PTEG {} slot {}, page {:#06x}",
            row.group, row.slot, row.page_index
        ))
    }
}

/// A line of RAM, its newest data.
fn content(line: u32, memory: &Memory) -> &[u8] {
    let bytes = memory.instruction.geometry().line as usize;
    &memory.ram.bytes()[line as usize..line as usize + bytes]
}
