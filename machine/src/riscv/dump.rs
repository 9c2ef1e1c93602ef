//! The state of translation at an instant, for people and programs.

use std::fmt;

use serde_json::{Value, json};

use super::mmu::Mmu;
use super::tlb::Entry;
use crate::observe::Shown;

/// What a processor's MMU holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dump {
    /// The number that DUMP was given.
    pub label: u32,
    /// Whose state it is, by number. None if the machine has one processor.
    pub processor: Option<u8>,
    pub cycle: u64,
    pub satp: u64,
    /// Each TLB by name: its entries, with their sets.
    pub tlbs: Vec<(&'static str, Vec<(usize, Entry)>)>,
}

impl Dump {
    /// The state now.
    #[must_use]
    pub fn take(label: u32, cycle: u64, satp: u64, mmu: &Mmu) -> Self {
        let tlbs = mmu.all().map(|(name, tlb)| (name, tlb.valid().collect()));
        Dump {
            label,
            processor: None,
            cycle,
            satp,
            tlbs: tlbs.collect(),
        }
    }
}

/// The bits of an entry as letters: those of a page-table entry, from bit 1 on.
fn letters(entry: &Entry) -> String {
    let bits = (1..).map(|bit| entry.bits >> bit & 1 != 0);
    let letters = "rwxugad".chars().zip(bits);
    letters
        .map(|(letter, set)| if set { letter } else { '-' })
        .collect()
}

impl fmt::Display for Dump {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "dump {} at cycle {}", self.label, self.cycle)?;
        if let Some(processor) = self.processor {
            write!(out, " of processor {processor}")?;
        }
        writeln!(out, ": satp {:016x}", self.satp)?;
        for (name, entries) in &self.tlbs {
            writeln!(out, "tlb.{name}: {} entries", entries.len())?;
            for (set, entry) in entries {
                writeln!(
                    out,
                    "  set {set} way {}: {:016x} -> {:014x} {} KB asid {} {}",
                    entry.way,
                    entry.page,
                    entry.frame,
                    1_u64 << (entry.shift - 10),
                    entry.asid,
                    letters(entry)
                )?;
            }
        }
        Ok(())
    }
}

impl Shown for Dump {
    fn to_json(&self) -> Value {
        let tlbs: serde_json::Map<String, Value> = (self.tlbs.iter())
            .map(|(name, entries)| {
                let entries = entries.iter().map(|(set, entry)| {
                    json!({
                        "set": set,
                        "way": entry.way,
                        "page": format!("{:#x}", entry.page),
                        "frame": format!("{:#x}", entry.frame),
                        "bytes": 1_u64 << entry.shift,
                        "asid": entry.asid,
                        "bits": letters(entry),
                    })
                });
                ((*name).to_owned(), entries.collect())
            })
            .collect();
        json!({
            "label": self.label,
            "processor": self.processor,
            "cycle": self.cycle,
            "satp": format!("{:#x}", self.satp),
            "tlb": tlbs,
        })
    }
}
