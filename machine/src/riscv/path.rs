//! The calls that led to a call of the firmware, as far as the stack shows them: for listeners.

use super::csr::privilege;
use super::processor::Processor;

/// Words of the stack that are looked at: all of a kernel's stack of 16 KB.
const WORDS: u64 = 2048;
/// The most calls of a path.
const CALLS: usize = 24;

impl Processor {
    /// A trap is about to be taken, which is a call of the firmware or not.
    pub(super) fn note_path(&mut self, calls: bool) {
        if !calls {
            if self.privilege < privilege::MACHINE {
                self.path.clear();
            }
            return;
        }
        // sp; a kernel's stack ends at a multiple of its size.
        let sp = self.x(2);
        let end = (sp | (8 * WORDS - 1)) + 1;
        let words = (sp..end).step_by(8).map_while(|va| self.peek_word(va));
        let mut path: Vec<u32> = words
            .filter(|&word| self.follows_call(word))
            .map(|word| (word - 1) as u32)
            .take(CALLS)
            .collect();
        path.reverse();
        path.push(self.pc as u32);
        self.path = path;
    }

    fn peek_word(&self, va: u64) -> Option<u64> {
        let at = self.ram_address(self.peek(va)?, 8)?;
        self.memory.uncore.ram.get(at).map(u64::from_le_bytes)
    }

    /// Is this an address of the kernel behind an instruction that puts it into ra?
    fn follows_call(&self, word: u64) -> bool {
        if word >> 31 != 0x1_ffff_ffff || word & 1 != 0 {
            return false;
        }
        let half = |va| -> Option<u32> {
            let at = self.ram_address(self.peek(va)?, 2)?;
            self.memory
                .uncore
                .ram
                .get(at)
                .map(u16::from_le_bytes)
                .map(u32::from)
        };
        let (Some(first), Some(second)) = (half(word - 4), half(word - 2)) else {
            return false;
        };
        // jal ra and jalr ra; c.jalr.
        let whole = first | second << 16;
        matches!(whole & 0xfff, 0x0ef | 0x0e7) || second & 0xf07f == 0x9002 && second & 0xf80 != 0
    }
}
