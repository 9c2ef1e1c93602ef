//! TLB misses and loads as a trace shows them.
//!
//! An MMU notes its last miss and its last load in the account. While a trace is recorded, the processor hands
//! the note on after each access and each instruction that loads an entry. Without a trace nothing reads it, and
//! the steps of a walk are not noted at all.

use serde_json::{Value, json};

use super::{Account, Cause};

/// The name of an address space in TLB entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// A virtual segment identifier.
    Vsid(u32),
    /// An address space identifier.
    Asid(u16),
    /// The entry has no tag: it is dropped when the space is left.
    Untagged,
}

impl std::fmt::Display for Space {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Vsid(vsid) => write!(f, "VSID {vsid:06x}"),
            Self::Asid(asid) => write!(f, "ASID {asid:x}"),
            Self::Untagged => f.write_str("untagged"),
        }
    }
}

/// The page that a TLB entry translates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TlbPage {
    /// Its first address. An entry tagged by a VSID knows only the part within the segment (EA\[4-19\]).
    pub address: u32,
    /// The address space; `None` for a page that all share.
    pub space: Option<Space>,
}

/// A TLB miss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TlbMiss {
    /// Of the instruction TLB.
    pub fetch: bool,
    /// Effective address of the access.
    pub ea: u32,
    /// The set that was searched.
    pub set: u32,
    /// Core cycles that the hardware's walk took; `None` where software loads the TLB.
    pub walk: Option<u64>,
    /// MSR\[PR\]: a user's access.
    pub user: bool,
    /// What the access was charged to.
    pub cause: Cause,
    /// Where the page tables can have the page.
    pub tables: Tables,
}

impl Account {
    /// Notes that a TLB has missed at `ea`, in this set; hardware has walked for so many cycles.
    pub fn note_miss(
        &mut self,
        fetch: bool,
        (ea, set): (u32, u32),
        walk: Option<u64>,
        tables: Tables,
    ) {
        if self.tlb.unheard {
            return;
        }
        self.tlb.miss = Some(TlbMiss {
            fetch,
            ea,
            set,
            walk,
            user: self.user,
            cause: self.cause,
            tables,
        });
    }

    /// Hardware's walk for the last miss has taken so many cycles.
    #[inline(always)]
    pub fn note_walk(&mut self, cycles: u64) {
        if !self.tlb.unheard
            && let Some(miss) = &mut self.tlb.miss
        {
            miss.walk = Some(cycles);
        }
    }
}

/// Where the page tables can have a page: what the MMU's registers say, and who can explain it.
#[derive(Clone, Copy)]
pub struct Tables {
    pub layout: &'static dyn Layout,
    /// What the layout makes of them is its own business.
    pub numbers: [u64; 4],
}

impl Tables {
    /// A tree of tables whose entries have 8 bytes, with this root.
    #[must_use]
    pub fn tree(root: u64) -> Self {
        Tables {
            layout: &Tree,
            numbers: [root, 0, 0, 0],
        }
    }
}

impl std::fmt::Debug for Tables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Tables({:x?})", self.numbers)
    }
}

impl PartialEq for Tables {
    fn eq(&self, other: &Self) -> bool {
        self.numbers == other.numbers
    }
}

impl Eq for Tables {}

/// How an MMU's page tables are laid out, to show the steps of a walk. `numbers` are those of [`Tables`], and `ea` is
/// the address of the access.
pub trait Layout: Sync {
    /// Adds what the MMU's registers say of the page.
    fn describe(&self, numbers: [u64; 4], ea: u32, shown: &mut Value);

    /// True if the access can be one of the page tables.
    fn may_read(&self, numbers: [u64; 4], ea: u32, step: &Step) -> bool;

    /// Adds what a step has read of a table that is no tree. False if it has not.
    fn entry(&self, numbers: [u64; 4], ea: u32, step: &Step, shown: &mut Value) -> bool {
        let _ = (numbers, ea, step, shown);
        false
    }

    /// The level of the tree that each step reads.
    fn levels(&self, numbers: [u64; 4], ea: u32, steps: &[Step]) -> Vec<Option<u32>>;
}

/// A tree of tables whose entries have 8 bytes. The first of the numbers is the root's address.
struct Tree;

impl Layout for Tree {
    fn describe(&self, [root, ..]: [u64; 4], _: u32, shown: &mut Value) {
        shown["root"] = json!(format!("{root:#x}"));
    }

    fn may_read(&self, _: [u64; 4], _: u32, step: &Step) -> bool {
        step.bytes == 8
    }

    fn levels(&self, _: [u64; 4], _: u32, steps: &[Step]) -> Vec<Option<u32>> {
        (1..).take(steps.len()).map(Some).collect()
    }
}

/// An access of memory during a walk, by hardware or by the handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Core cycle at which it began.
    pub cycle: u64,
    /// Core cycles that it took.
    pub took: u64,
    /// Physical address.
    pub pa: u32,
    /// 1, 2, 4 or 8 bytes.
    pub bytes: u32,
    /// What was read or written.
    pub value: u64,
    /// It was a store.
    pub store: bool,
}

/// The most steps of one walk that are noted.
pub const STEPS_MOST: usize = 128;

/// What the TLB's set held at the last miss, and the steps of the walks since.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WalkNote {
    /// By way; `None` for an entry that is not valid.
    pub ways: Vec<Option<TlbPage>>,
    /// In order.
    pub steps: Vec<Step>,
}

impl WalkNote {
    /// A miss: the set holds these pages, and no step has been made.
    pub fn begin(&mut self, ways: impl Iterator<Item = Option<TlbPage>>) {
        self.steps.clear();
        self.ways.clear();
        self.ways.extend(ways);
    }

    /// An access of memory.
    pub fn step(&mut self, step: Step) {
        if self.steps.len() < STEPS_MOST {
            self.steps.push(step);
        }
    }
}

/// An entry was loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TlbLoad {
    /// Into the instruction TLB.
    pub fetch: bool,
    /// Effective address that it was loaded for.
    pub ea: u32,
    /// Its set.
    pub set: u32,
    /// Its way; of a fully associative TLB the number of the entry.
    pub way: u32,
    /// Its page.
    pub page: TlbPage,
    /// The valid entry of another page that it replaced.
    pub victim: Option<TlbPage>,
}

/// What an MMU noted last.
#[derive(Clone, Debug, Default)]
pub struct TlbNote {
    /// The last miss.
    pub miss: Option<TlbMiss>,
    /// The last load.
    pub load: Option<TlbLoad>,
    /// Nobody reads this, so that an MMU need not note anything. A PowerPC sets it when a turn begins. Nobody begins to
    /// listen within a turn.
    pub unheard: bool,
    /// The last walk, while walks are recorded. Boxed, because an account is moved with its processor.
    pub walk: Option<Box<WalkNote>>,
}

impl TlbNote {
    /// A note that takes in the steps of walks.
    #[must_use]
    pub fn of_walks() -> Self {
        Self {
            walk: Some(Box::default()),
            ..Self::default()
        }
    }
}
