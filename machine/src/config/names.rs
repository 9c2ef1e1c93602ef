//! The names of parts that a machine file chooses among, and the options of each.

use std::collections::BTreeMap;

/// How a TLB chooses the entry to replace. `tlb::replacement` has each of them.
pub const REPLACEMENTS: &[&str] = &["lru", "pseudo-lru", "fifo", "random", "not-mru"];

/// Targets that a branch predictor remembers at most.
pub const TARGETS_MOST: u32 = 64;
/// Lines of a buffer in a memory controller at most.
pub const BUFFER_MOST: u32 = 8;
/// Entries of a 405's unified TLB.
pub const UNIFIED_405: u32 = 64;

/// The keys of `[walk.options]` in a machine file.
pub type Options = BTreeMap<String, u32>;

/// Walkers of an architecture by name, with their options.
pub type Walkers = &'static [(&'static str, &'static [WalkOption])];

/// An option of a walker: its default, and the values that it can have.
pub struct WalkOption {
    name: &'static str,
    default: u32,
    low: u32,
    high: u32,
    power_of_two: bool,
}

const fn size(name: &'static str, default: u32, low: u32, high: u32) -> WalkOption {
    WalkOption {
        name,
        default,
        low,
        high,
        power_of_two: true,
    }
}

const fn hit(default: u32) -> WalkOption {
    WalkOption {
        name: "hit",
        default,
        low: 0,
        high: 1000,
        power_of_two: false,
    }
}

/// Walkers of x86. `x86::walk_cache` is the second.
pub const WALKERS_X86: Walkers = &[
    ("tables", &[]),
    ("walk-cache", &[size("entries", 16, 1, 1024), hit(8)]),
];

/// Walkers of the hash table. `powerpc::mmu::walker` has each of them.
pub const WALKERS: Walkers = &[
    ("hash", &[]),
    ("wide", &[size("ptes", 4, 2, 8)]),
    ("walk-cache", &[size("entries", 256, 1, 1 << 16)]),
    ("group-cache", &[size("groups", 64, 1, 1024), hit(2)]),
];

/// The values of the options of the walker `name`, one of `walkers`, in their order.
///
/// # Errors
/// There is no such walker, or it does not have these options or values.
pub fn walk_options(walkers: Walkers, name: &str, options: &Options) -> Result<Vec<u32>, String> {
    let Some((_, known)) = walkers.iter().find(|walker| walker.0 == name) else {
        let names: Vec<&str> = walkers.iter().map(|walker| walker.0).collect();
        return Err(format!("is \"{name}\": allowed are {}", names.join(", ")));
    };
    let mut keys = options.keys();
    if let Some(key) = keys.find(|key| known.iter().all(|option| option.name != **key)) {
        let names: Vec<&str> = known.iter().map(|option| option.name).collect();
        return Err(match names.len() {
            0 => format!("has no option \"{key}\""),
            _ => format!("has no option \"{key}\": allowed is {}", names.join(", ")),
        });
    }
    let value = |option: &WalkOption| {
        let WalkOption {
            name, low, high, ..
        } = *option;
        let value = options.get(name).copied().unwrap_or(option.default);
        let fits = (low..=high).contains(&value);
        match (option.power_of_two, fits) {
            (true, _) if !(fits && value.is_power_of_two()) => Err(format!(
                "has {value} {name}: allowed are powers of two from {low} to {high}"
            )),
            (false, false) => Err(format!(
                "has a {name} of {value} cycles: allowed are {low} to {high}"
            )),
            _ => Ok(value),
        }
    };
    known.iter().map(value).collect()
}
