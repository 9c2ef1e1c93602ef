//! Where the page tables of PowerPC kernels can have a page, for the steps of walks in a trace.

use serde_json::{Value, json};

use super::hash64::{Page, table};
use super::{hash, segment};
use crate::account::tlb_events::{Layout, Step, Tables};

/// Where the page tables can have a page, as the MMU's registers say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Places {
    /// In one of two groups of a hash table.
    Hash {
        /// The segment register.
        segment: u32,
        /// SDR1.
        sdr1: u32,
    },
    /// In one of two groups of a 970's hash table.
    Wide {
        /// The page.
        page: Page,
        /// SDR1.
        sdr1: u64,
    },
    /// Behind an 8xx's level-one entry.
    Tree {
        /// The address space.
        asid: u8,
        /// Physical address of the entry (M_TWB).
        level_one: u32,
    },
    /// Wherever the handler looks: no register of the MMU tells (405).
    Software {
        /// The address space.
        pid: u8,
    },
}

impl From<Places> for Tables {
    #[inline]
    fn from(places: Places) -> Tables {
        let numbers = match places {
            Places::Hash { segment, sdr1 } => [0, segment.into(), sdr1.into(), 0],
            Places::Wide { page, sdr1 } => {
                [1 | u64::from(page.large) << 8, page.ea, page.vsid, sdr1]
            }
            Places::Tree { asid, level_one } => [2, asid.into(), level_one.into(), 0],
            Places::Software { pid } => [3, pid.into(), 0, 0],
        };
        Tables {
            layout: &PowerPc,
            numbers,
        }
    }
}

impl Places {
    /// What [`Tables::from`] made of them.
    fn of([kind, a, b, c]: [u64; 4]) -> Places {
        match kind & 0xff {
            0 => Places::Hash {
                segment: a as u32,
                sdr1: b as u32,
            },
            1 => Places::Wide {
                page: Page {
                    ea: a,
                    vsid: b,
                    large: kind >> 8 != 0,
                },
                sdr1: c,
            },
            2 => Places::Tree {
                asid: a as u8,
                level_one: b as u32,
            },
            _ => Places::Software { pid: a as u8 },
        }
    }

    fn group_of(self, ea: u32, pa: u32) -> Option<(&'static str, bool)> {
        let (primary, secondary, bytes) = match self {
            Places::Hash { segment, sdr1 } => {
                let (primary, secondary) = hash::groups(sdr1, segment, ea);
                (primary, secondary, hash::PTEG_BYTES)
            }
            Places::Wide { page, sdr1 } => {
                let [(primary, _), (secondary, _)] = table::Place::of(sdr1).groups(&page);
                (primary as u32, secondary as u32, table::GROUP_BYTES)
            }
            Places::Tree { .. } | Places::Software { .. } => return None,
        };
        let group = pa & !(bytes - 1);
        [(primary, "primary", false), (secondary, "secondary", true)]
            .into_iter()
            .find_map(|(at, name, second)| (at == group).then_some((name, second)))
    }

    fn in_level_one(self, ea: u32, step: &Step) -> bool {
        match self {
            Places::Tree { level_one, .. } => step.pa == level_one,
            Places::Hash { .. } | Places::Wide { .. } | Places::Software { .. } => {
                step.pa & 0xffc == ea >> 20 & 0xffc
            }
        }
    }
}

fn in_level_two(ea: u32, step: &Step) -> bool {
    step.pa & 0xffc == ea >> 10 & 0xffc
}

/// PowerPC kernels keep trees of two levels of 1024 words each, beside a hash table or alone. The 8xx's registers
/// address such trees. An access counts as a read of a tree if its offset in the page is that of the address's entry.
struct PowerPc;

impl Layout for PowerPc {
    fn describe(&self, numbers: [u64; 4], ea: u32, args: &mut Value) {
        match Places::of(numbers) {
            Places::Hash { segment, sdr1 } => {
                let (primary, secondary) = hash::groups(sdr1, segment, ea);
                args["segment"] = json!(ea >> 28);
                args["vsid"] = json!(format!("{:#08x}", segment & segment::VSID));
                args["page_index"] = json!(format!("{:#06x}", ea >> 12 & 0xffff));
                args["hash"] = json!(format!("{:#07x}", hash::hash(segment, ea)));
                args["primary"] = json!(hexadecimal(primary));
                args["secondary"] = json!(hexadecimal(secondary));
            }
            Places::Wide { page, sdr1 } => {
                let [(primary, _), (secondary, _)] = table::Place::of(sdr1).groups(&page);
                args["segment"] = json!(page.ea >> 28);
                args["vsid"] = json!(format!("{:#x}", page.vsid));
                args["page_index"] = json!(format!("{:#06x}", page.index()));
                args["large"] = json!(page.large);
                args["hash"] = json!(format!("{:#x}", page.hash()));
                args["primary"] = json!(hexadecimal(primary as u32));
                args["secondary"] = json!(hexadecimal(secondary as u32));
            }
            Places::Tree { asid, level_one } => {
                args["asid"] = json!(asid);
                args["level_one"] = json!(hexadecimal(level_one));
            }
            Places::Software { pid } => args["pid"] = json!(pid),
        }
    }

    fn may_read(&self, numbers: [u64; 4], ea: u32, step: &Step) -> bool {
        let places = Places::of(numbers);
        let word = step.bytes == 4 && !step.store;
        places.group_of(ea, step.pa).is_some()
            || word && (places.in_level_one(ea, step) || in_level_two(ea, step))
    }

    fn entry(&self, numbers: [u64; 4], ea: u32, step: &Step, shown: &mut Value) -> bool {
        let places = Places::of(numbers);
        let Some((name, second)) = places.group_of(ea, step.pa) else {
            return false;
        };
        shown["table"] = json!(name);
        if let Places::Wide { page, .. } = places {
            shown["slot"] = json!(step.pa % table::GROUP_BYTES / table::PTE_BYTES);
            if step.pa.is_multiple_of(table::PTE_BYTES) && !step.store {
                shown["found"] = json!(if page.matches(step.value, second) {
                    "match"
                } else if step.value & table::first::V == 0 {
                    "empty"
                } else {
                    "other"
                });
            }
            return true;
        }
        shown["slot"] = json!(step.pa % hash::PTEG_BYTES / 8);
        if step.pa.is_multiple_of(8) && step.bytes >= 4 && !step.store {
            let word0 = (step.value >> (8 * (step.bytes - 4))) as u32;
            entry(word0, step.pa & !(hash::PTEG_BYTES - 1), shown);
            if let Places::Hash { segment, .. } = places
                && word0 == hash::word0(segment, ea, second)
            {
                shown["found"] = json!("match");
            }
        }
        true
    }

    /// A word of level one names the page where a later step reads level two, by its physical or by the kernel's
    /// virtual address.
    fn levels(&self, numbers: [u64; 4], ea: u32, steps: &[Step]) -> Vec<Option<u32>> {
        let places = Places::of(numbers);
        let mut levels = vec![None; steps.len()];
        let word = |step: &Step| step.bytes == 4 && !step.store;
        for (first, one) in steps.iter().enumerate() {
            if !word(one) || !places.in_level_one(ea, one) {
                continue;
            }
            let leads = |two: &Step| {
                word(two) && in_level_two(ea, two) && (one.value as u32 ^ two.pa) & 0x0fff_f000 == 0
            };
            let second = steps.iter().skip(first + 1).position(leads);
            if let Some(second) = second {
                levels[first] = Some(1);
                levels[first + 1 + second] = Some(2);
            } else if matches!(places, Places::Tree { .. }) {
                levels[first] = Some(1);
            }
        }
        levels
    }
}

/// Adds what word 0 of a hash-table entry in `group` says. The group gives the part of the page index that the entry
/// leaves out.
fn entry(word0: u32, group: u32, shown: &mut Value) {
    if word0 & hash::V == 0 {
        shown["found"] = json!("empty");
        return;
    }
    let secondary = word0 & hash::H != 0;
    let vsid = word0 >> 7 & segment::VSID;
    let number = group / hash::PTEG_BYTES;
    let hashed = if secondary { !number } else { number };
    let page_index = (word0 & 0x3f) << 10 | (hashed ^ vsid) & 0x3ff;
    shown["found"] = json!("other");
    shown["vsid"] = json!(format!("{vsid:#08x}"));
    shown["page_index"] = json!(format!("{page_index:#06x}"));
    shown["by_secondary_hash"] = json!(secondary);
}

fn hexadecimal(address: u32) -> String {
    format!("{address:#010x}")
}
