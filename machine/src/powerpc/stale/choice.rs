//! Who has chosen the number of an address space that a thread goes on with.

use crate::observe::stale::Who;

/// Numbers that are written over for a moment, one within the other.
const DEEP: usize = 8;

/// A call of a function: its link register and its stack.
pub type Call = (u32, u32);

/// The numbers that the kernel has written since a thread went on, the one in force last, and who wrote each.
///
/// A handler of a miss, or the flush of another space's page, writes a number for a moment and then the one before
/// again, in the same call of a function. That is no choice.
#[derive(Debug, Default)]
pub struct Choice {
    written: Vec<(u32, Call, Option<Who>)>,
}

impl Choice {
    /// Is this the number that was in force before the last one, which this call has written? It is in force again, by
    /// whoever wrote it first.
    pub fn restores(&mut self, number: u32, call: Call) -> bool {
        let [.., (before, ..), (_, last, _)] = &self.written[..] else {
            return false;
        };
        let restores = *before == number && *last == call;
        if restores {
            self.written.pop();
        }
        restores
    }

    /// The number is in force, by `who`.
    pub fn write(&mut self, number: u32, call: Call, who: Who) {
        let last = self.written.last();
        if last.is_some_and(|&(last, ..)| last == number) {
            self.written.pop();
        } else if self.written.len() == DEEP {
            self.written.remove(0);
        }
        self.written.push((number, call, Some(who)));
    }

    /// Who has chosen the number in force, if anybody has since the last call.
    pub fn take(&mut self) -> Option<Who> {
        let (number, call, who) = self.written.pop()?;
        self.written.clear();
        self.written.push((number, call, None));
        who
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by(pc: u64) -> Who {
        Who {
            pc,
            ..Who::default()
        }
    }

    fn chosen(writes: &[(u32, Call, u64)]) -> Option<u64> {
        let mut choice = Choice::default();
        choice.write(2, (0, 0), by(1));
        choice.take();
        for &(number, call, pc) in writes {
            if !choice.restores(number, call) {
                choice.write(number, call, by(pc));
            }
        }
        choice.take().map(|who| who.pc)
    }

    #[test]
    fn a_number_that_one_call_puts_back_is_not_chosen() {
        assert_eq!(chosen(&[(0, (8, 16), 10), (2, (8, 16), 20)]), None);
    }

    /// All numbers are given out anew: the running space gets another one, and the next space that which it had.
    #[test]
    fn a_number_that_another_call_writes_is_chosen() {
        assert_eq!(chosen(&[(1, (8, 16), 10), (2, (9, 16), 20)]), Some(20));
        assert_eq!(chosen(&[(1, (8, 16), 10), (2, (8, 32), 20)]), Some(20));
    }
}
