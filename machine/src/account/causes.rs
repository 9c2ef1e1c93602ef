//! Causes of events: three of the hardware, and those that a guest names.

use serde::{Deserialize, Serialize};

/// How many causes there can be: a power of two, so that a cause's number needs no check where it indexes an array.
pub const CAUSES: usize = 16;

/// The longest name of a cause.
pub const NAME_MOST: usize = 16;

/// The names at the beginning, by number: the hardware's, and those that every guest has unless it gives them other
/// names (docs/interfaces.md, section 3).
const NAMES: [&str; 13] = [
    "user",
    "kernel",
    "walk",
    "reload",
    "flush",
    "entry",
    "switch",
    "copy",
    "clear",
    "fault",
    "idle",
    "reclaim",
    "coherence",
];

/// Why something happened, by its number. The names are in [`CauseNames`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct Cause(u8);

impl Cause {
    /// A user program.
    pub const USER: Cause = Cause(0);
    /// The kernel, if no other cause applies.
    pub const KERNEL: Cause = Cause(1);
    /// The hardware's walk of the page tables.
    pub const WALK: Cause = Cause(2);

    /// The cause with this number, if there can be one.
    #[must_use]
    pub fn from_number(number: u32) -> Option<Self> {
        (number < CAUSES as u32).then_some(Cause(number as u8))
    }

    /// Its number.
    #[inline(always)]
    #[must_use]
    pub const fn number(self) -> u8 {
        self.0
    }

    /// Its position in an array of all causes.
    #[inline(always)]
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize % CAUSES
    }

    /// The cause of code that nothing else is known of.
    #[must_use]
    pub fn of_mode(user: bool) -> Self {
        if user { Self::USER } else { Self::KERNEL }
    }

    /// True if code can have it, so that a guest may name it.
    #[must_use]
    pub fn is_of_code(self) -> bool {
        self.0 > Self::WALK.0
    }
}

impl From<Cause> for u8 {
    fn from(cause: Cause) -> u8 {
        cause.0
    }
}

impl TryFrom<u8> for Cause {
    type Error = &'static str;

    fn try_from(number: u8) -> Result<Cause, &'static str> {
        Cause::from_number(number.into()).ok_or("there is no cause of this number")
    }
}

/// What a machine's causes are called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CauseNames {
    /// By number; an empty name is none.
    names: [String; CAUSES],
    /// How many the guest gave that cannot be names.
    refused: u64,
}

impl Default for CauseNames {
    fn default() -> Self {
        let name = |number: usize| NAMES.get(number).copied().unwrap_or_default().to_owned();
        CauseNames {
            names: std::array::from_fn(name),
            refused: 0,
        }
    }
}

impl CauseNames {
    /// The names at the beginning, and each of `names` that is not among them, with the next free number.
    ///
    /// # Errors
    /// The name for which there is no number, or which is none.
    pub fn with<'a>(names: impl Iterator<Item = &'a str>) -> Result<Self, &'a str> {
        let mut all = CauseNames::default();
        for name in names.filter(|name| !name.is_empty()) {
            if all.find(name).is_some() {
                continue;
            }
            let free = all.names.iter().position(String::is_empty);
            if !free.is_some_and(|number| all.set(number, name)) {
                return Err(name);
            }
        }
        Ok(all)
    }

    /// The causes that have a name, in the order of their numbers.
    pub fn all(&self) -> impl Iterator<Item = (Cause, &str)> + Clone {
        let numbered = (0..).map(Cause).zip(&self.names);
        let named = numbered.filter(|(_, name)| !name.is_empty());
        named.map(|(cause, name)| (cause, name.as_str()))
    }

    /// What the cause is called.
    #[must_use]
    pub fn name(&self, cause: Cause) -> &str {
        &self.names[cause.index()]
    }

    /// The cause with this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<Cause> {
        self.all()
            .find(|(_, known)| *known == name)
            .map(|(cause, _)| cause)
    }

    /// The cause with this number, if it has a name.
    #[must_use]
    pub fn numbered(&self, number: u32) -> Option<Cause> {
        Cause::from_number(number).filter(|&cause| !self.name(cause).is_empty())
    }

    /// The guest names the cause with this number. What cannot be a name is counted.
    pub fn register(&mut self, number: u8, name: &str) {
        if !self.set(number.into(), name) {
            self.refused += 1;
        }
    }

    /// How many names of the guest were refused.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Names a cause. False if code cannot have this cause, or if this can be no name or is that of another cause.
    fn set(&mut self, number: usize, name: &str) -> bool {
        let letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let cause = Cause::from_number(number as u32).filter(|cause| cause.is_of_code());
        let Some(cause) = cause else { return false };
        let good = (1..=NAME_MOST).contains(&name.len())
            && name.bytes().all(letter)
            && self.find(name).is_none_or(|known| known == cause);
        if good {
            self.names[cause.index()] = name.to_owned();
        }
        good
    }

    /// True if a run can lead to these names. A snapshot is checked by this before use.
    pub(crate) fn fits(&self) -> bool {
        let mut fresh = CauseNames::default();
        let mut given = self.all().filter(|(cause, _)| cause.is_of_code());
        // A name may have moved from one number to another.
        (fresh.names[3..].iter_mut()).for_each(String::clear);
        self.refused < crate::config::LATEST
            && self.names[..3] == fresh.names[..3]
            && given.all(|(cause, name)| fresh.set(cause.index(), name))
    }
}

/// The number that stands for code to which the guest has given no cause.
pub const NO_CAUSE: u8 = 0xff;

/// Code with a cause of its own, by physical address.
#[derive(Clone, Debug, Default)]
pub struct CodeCauses {
    /// Start, end and number of the cause; in order.
    ranges: Vec<(u32, u32, u8)>,
}

impl CodeCauses {
    pub fn new(mut ranges: Vec<(u32, u32, u8)>) -> Self {
        ranges.sort_unstable();
        CodeCauses { ranges }
    }

    /// The cause of the code at `physical`, or [`NO_CAUSE`].
    pub fn of(&self, physical: u32) -> u8 {
        let after = self
            .ranges
            .partition_point(|&(start, ..)| start <= physical);
        match self.ranges[..after].last() {
            Some(&(_, end, cause)) if physical < end => cause,
            _ => NO_CAUSE,
        }
    }
}
