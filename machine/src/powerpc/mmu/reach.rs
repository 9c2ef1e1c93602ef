//! The addresses that a change of translations affects. An engine that caches translations drops these.

/// Which entries a program invalidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Invalidation {
    /// Those that an address selects (`tlbie`).
    Address(u32),
    /// Those of large pages that an address selects (`tlbie` with L, of a 970).
    Large(u32),
    /// All of them (`tlbia`).
    All,
}

/// The effective addresses of an entry, or of a set of entries.
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
    /// Those of one or two reaches.
    These([Option<Reach>; 2]),
    /// All.
    Everything,
}

impl Reached {
    /// Adds a reach. The third one turns it into [`Reached::Everything`].
    pub fn add(&mut self, reach: Reach) {
        *self = match *self {
            Self::Nothing => Self::These([Some(reach), None]),
            Self::These([first, None]) => Self::These([first, Some(reach)]),
            Self::These(_) | Self::Everything => Self::Everything,
        };
    }
}

/// The addresses that a change of translations affects, for both sides.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[must_use]
pub struct Reaches {
    /// Of fetches.
    pub instruction: Reached,
    /// Of loads and stores.
    pub data: Reached,
}

impl Reaches {
    /// No translation has changed.
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
