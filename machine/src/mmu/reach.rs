//! What a change of translations reaches: an engine that remembers translations forgets these.

/// Which entries a program invalidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Invalidation {
    /// Those that an address selects (`tlbie`).
    Address(u32),
    /// All of them (`tlbia`).
    All,
}

/// Effective addresses that an entry, or a set of entries, translates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// The addresses of the same TLB set as this one.
    Set(u32),
    /// A page.
    Page {
        /// Its first address.
        ea: u32,
        /// Its size, a power of two.
        bytes: u32,
    },
}

/// Addresses of one side, instructions or data, whose translation may have changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Reached {
    /// None.
    #[default]
    Nothing,
    /// Those of at most two reaches.
    These([Option<Reach>; 2]),
    /// All.
    Everything,
}

impl Reached {
    /// Adds one more reach. A third one makes it [`Reached::Everything`].
    pub fn add(&mut self, reach: Reach) {
        *self = match *self {
            Self::Nothing => Self::These([Some(reach), None]),
            Self::These([first, None]) => Self::These([first, Some(reach)]),
            Self::These(_) | Self::Everything => Self::Everything,
        };
    }
}

/// What a change of translations reaches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[must_use]
pub struct Reaches {
    /// Of fetches.
    pub instruction: Reached,
    /// Of loads and stores.
    pub data: Reached,
}

impl Reaches {
    /// Translations are as they were.
    pub const NOTHING: Self = Self {
        instruction: Reached::Nothing,
        data: Reached::Nothing,
    };

    /// Every translation may have changed.
    pub const EVERYTHING: Self = Self {
        instruction: Reached::Everything,
        data: Reached::Everything,
    };

    /// Adds a reach of fetches, or of loads and stores.
    pub fn add(&mut self, fetch: bool, reach: Reach) {
        if fetch {
            self.instruction.add(reach);
        } else {
            self.data.add(reach);
        }
    }
}
