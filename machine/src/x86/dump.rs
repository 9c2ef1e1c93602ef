//! The state of translation at an instant, for people and programs.

use std::fmt;

use serde_json::{Value, json};

use super::mmu::Mmu;
use super::registers::Registers;
use super::tlb::pte;
use crate::observe::Shown;

/// A TLB entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    pub set: usize,
    pub way: u8,
    pub page: u32,
    pub frame: u64,
    /// Bits of [`pte`].
    pub bits: u32,
}

/// What a processor's MMU holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dump {
    /// The number that DUMP was given.
    pub label: u32,
    /// Whose state it is, by number. None if the machine has one processor.
    pub processor: Option<u8>,
    pub cycle: u64,
    pub cr0: u32,
    pub cr3: u32,
    pub cr4: u32,
    /// The entries of the first table, with CR4.PAE.
    pub directories: Option<[u64; 4]>,
    /// Each TLB by name.
    pub tlbs: Vec<(&'static str, Vec<Line>)>,
}

impl Dump {
    /// The state now.
    #[must_use]
    pub fn take(label: u32, cycle: u64, registers: &Registers, mmu: &Mmu) -> Self {
        let tlbs = mmu.all().map(|(name, tlb)| {
            let lines = tlb.valid().map(|(set, entry)| Line {
                set,
                way: entry.way(),
                page: entry.tag & !0xfff,
                frame: entry.physical(),
                bits: entry.bits,
            });
            (name, lines.collect())
        });
        Dump {
            label,
            processor: None,
            cycle,
            cr0: registers.cr0,
            cr3: registers.cr3,
            cr4: registers.cr4,
            directories: registers.wide_entries().then_some(registers.directories),
            tlbs: tlbs.collect(),
        }
    }

    /// As JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let tlb = |lines: &[Line]| -> Value {
            let lines = lines.iter().map(|line| {
                json!({
                    "set": line.set,
                    "way": line.way,
                    "page": line.page,
                    "frame": line.frame,
                    "rights": rights(line.bits),
                })
            });
            lines.collect()
        };
        let tlbs: serde_json::Map<_, _> = (self.tlbs.iter())
            .map(|(name, lines)| ((*name).to_owned(), tlb(lines)))
            .collect();
        let mut dump = json!({
            "label": self.label,
            "cycle": self.cycle,
            "cr0": self.cr0,
            "cr3": self.cr3,
            "cr4": self.cr4,
            "tlb": tlbs,
        });
        if let Some(directories) = self.directories {
            dump["directories"] = json!(directories);
        }
        if let Some(number) = self.processor {
            dump["processor"] = json!(number);
        }
        dump
    }
}

/// Rights and state of a page as letters: write, user, dirty, global, write-through, uncached.
fn rights(bits: u32) -> String {
    [
        (pte::WRITE, 'w'),
        (pte::USER, 'u'),
        (pte::DIRTY, 'd'),
        (pte::GLOBAL, 'g'),
        (pte::THROUGH, 't'),
        (pte::UNCACHED, 'i'),
    ]
    .into_iter()
    .map(|(bit, letter)| if bits & bit != 0 { letter } else { '-' })
    .collect()
}

impl Shown for Dump {
    fn to_json(&self) -> serde_json::Value {
        Dump::to_json(self)
    }
}

impl fmt::Display for Dump {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "dump {}", self.label)?;
        if let Some(number) = self.processor {
            write!(out, " of processor {number}")?;
        }
        writeln!(
            out,
            " at cycle {}: cr0 {:08x} cr3 {:08x} cr4 {:08x}",
            self.cycle, self.cr0, self.cr3, self.cr4
        )?;
        if let Some([a, b, c, d]) = self.directories {
            writeln!(out, "directories {a:09x} {b:09x} {c:09x} {d:09x}")?;
        }
        for (name, lines) in &self.tlbs {
            writeln!(out, "TLB, {name}: {} entries", lines.len())?;
            for line in lines {
                writeln!(
                    out,
                    "  set {:3} way {} page {:08x} frame {:08x} {}",
                    line.set,
                    line.way,
                    line.page,
                    line.frame,
                    rights(line.bits)
                )?;
            }
        }
        Ok(())
    }
}
