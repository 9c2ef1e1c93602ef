//! Who has chosen the number of an address space that a thread goes on with.

use crate::observe::stale::Who;

/// Numbers that are written over for a moment, one within the other.
const DEEP: usize = 8;

/// The numbers that the kernel has written since a thread went on, the one in force last, and who wrote each.
///
/// A handler of a miss, or the flush of another space's page, writes a number for a moment and then the one before
/// again, which is no choice.
#[derive(Debug, Default)]
pub struct Choice {
    written: Vec<(u32, Option<Who>)>,
}

impl Choice {
    /// Is this the number that was in force before the last one? It is in force again, by whoever wrote it first.
    pub fn restores(&mut self, number: u32) -> bool {
        let before = self.written.iter().rev().nth(1);
        let restores = before.is_some_and(|&(before, _)| before == number);
        if restores {
            self.written.pop();
        }
        restores
    }

    /// The number is in force, by `who`.
    pub fn write(&mut self, number: u32, who: Who) {
        if self.written.last().is_some_and(|&(last, _)| last == number) {
            self.written.pop();
        } else if self.written.len() == DEEP {
            self.written.remove(0);
        }
        self.written.push((number, Some(who)));
    }

    /// Who has chosen the number in force, if anybody has since the last call.
    pub fn take(&mut self) -> Option<Who> {
        let (number, who) = self.written.pop()?;
        self.written.clear();
        self.written.push((number, None));
        who
    }
}
