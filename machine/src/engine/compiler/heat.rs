//! How often code was seen that is not compiled yet.

use rustc_hash::FxHashMap;

use super::GONE_TO;

/// In place of a compiled version's number: there will be none.
pub const NEVER: u32 = u32::MAX;

/// Keys that are counted at most.
const COUNTED: usize = 1 << 16;

/// What a sighting says of a key's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    /// The code was not seen often enough.
    Cold,
    /// The code is to be compiled.
    Hot,
    /// The code was to be compiled before: there is a version, or there was a reason against one.
    Done,
}

/// How often the code of each key was seen; `None`: it was to be compiled.
#[derive(Debug, Default)]
pub struct Heat(FxHashMap<u64, Option<u32>>);

impl Heat {
    /// The code of `key` is seen. The run loop must see it `enough` times; `from_compiled`: compiled code goes there.
    pub fn see(&mut self, key: u64, enough: u32, from_compiled: bool) -> Sight {
        if self.0.len() >= COUNTED {
            self.0.clear();
        }
        let enough = match enough {
            1 => 1,
            enough if from_compiled => enough * GONE_TO,
            enough => enough,
        };
        let seen = self.0.entry(key).or_insert(Some(0));
        let Some(times) = seen else {
            return Sight::Done;
        };
        *times += 1;
        if *times < enough {
            return Sight::Cold;
        }
        *seen = None;
        Sight::Hot
    }

    /// The code of `key` is as if it had never been seen.
    pub fn forget(&mut self, key: u64) {
        self.0.remove(&key);
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_becomes_hot_once() {
        let mut heat = Heat::default();
        let sights = |heat: &mut Heat| [0; 4].map(|_| heat.see(5, 3, false));
        let once = [Sight::Cold, Sight::Cold, Sight::Hot, Sight::Done];
        assert_eq!(sights(&mut heat), once);
        assert_eq!(heat.see(6, 1, true), Sight::Hot);
        heat.forget(5);
        assert_eq!(sights(&mut heat), once);
        assert_eq!(heat.see(6, 1, false), Sight::Done);
    }
}
