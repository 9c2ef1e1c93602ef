//! What a recorder is told: each instruction, and its accesses. The oracle is on then, so that each instruction runs
//! alone, and no access has a shortcut.

use super::decode::LONGEST;
use super::processor::Processor;
use super::registers::{cr4, segment};
use super::tlb::pte;
use crate::observe::recorder::{Branch, Instruction};

impl Processor {
    /// The instruction of `size` bytes at the beginning of the block is about to run.
    #[cold]
    #[inline(never)]
    pub(super) fn record_begin(&mut self, size: u16) {
        if self.observers.recorder.is_none() {
            return;
        }
        let pc = self.block_linear;
        let count = LONGEST.min(size.into());
        let bytes = (0..count as u32).map(|n| {
            let pa = self.peek_translation(pc.wrapping_add(n))?;
            self.memory.uncore.ram.read_u8(pa)
        });
        let bytes: Vec<u8> = bytes.map_while(|byte| byte).collect();
        let (branch, repeats) = kind(&bytes);
        let what = Instruction {
            pc,
            size: size.into(),
            branch,
            repeats,
        };
        let (mode, completed) = ((self.registers.cpl == 3, !self.paging), self.completed());
        if let Some(recorder) = &mut self.observers.recorder {
            recorder.begins(what, mode, &self.observers.symbols, completed);
        }
        self.record_page(pc);
    }

    /// It has run, unless it goes on with its next element.
    #[cold]
    #[inline(never)]
    pub(super) fn record_end(&mut self) {
        let base = self.registers.segment(segment::CS).base;
        let (next, completed) = (base.wrapping_add(self.registers.eip), self.completed());
        let Some(recorder) = &mut self.observers.recorder else {
            return;
        };
        if self.repeating.is_none() {
            recorder.ends(next, completed);
        }
        if recorder.is_full() {
            self.due_at_once();
        }
    }

    /// It has read or written `bytes` at `linear`.
    #[cold]
    #[inline(never)]
    pub(super) fn record_access(&mut self, linear: u32, bytes: u32, store: bool) {
        if let Some(recorder) = &mut self.observers.recorder {
            recorder.accesses(linear, bytes, store, !self.paging);
            self.record_page(linear);
        }
    }

    /// It reads and writes `bytes` at `linear`.
    #[cold]
    #[inline(never)]
    pub(super) fn record_change(&mut self, linear: u32, bytes: u32) {
        self.record_access(linear, bytes, false);
        self.record_access(linear, bytes, true);
    }

    /// If the page of `linear` is a large one, the recorder learns it.
    fn record_page(&mut self, linear: u32) {
        let Some(bytes) = self.large_page(linear) else {
            return;
        };
        if let Some(recorder) = &mut self.observers.recorder {
            recorder.uses_large(linear & !(bytes - 1), bytes);
        }
    }

    /// The size of the page of `linear`, if that is larger than 4 KB.
    fn large_page(&self, linear: u32) -> Option<u32> {
        let registers = &self.registers;
        if !self.paging {
            return None;
        }
        let (entry, bytes) = if registers.wide_entries() {
            let directory = registers.directories[(linear >> 30) as usize] as u32 & !0xfff;
            (directory | linear >> 18 & 0xff8, 1 << 21)
        } else if registers.cr4 & cr4::PSE != 0 {
            (registers.cr3 & !0xfff | linear >> 20 & 0xffc, 1 << 22)
        } else {
            return None;
        };
        let entry = self.ram_word(entry)?;
        (entry & pte::PRESENT != 0 && entry & pte::LARGE != 0).then_some(bytes)
    }
}

/// How an instruction goes on, and whether it repeats (SDM volume 2, appendix A).
fn kind(bytes: &[u8]) -> (Branch, bool) {
    let mut repeats = false;
    let mut rest = bytes.iter().copied();
    let opcode = loop {
        match rest.next() {
            Some(0xf2 | 0xf3) => repeats = true,
            Some(0x26 | 0x2e | 0x36 | 0x3e | 0x64..=0x67 | 0xf0) => {}
            Some(opcode) => break opcode,
            None => return (Branch::None, false),
        }
    };
    let string = matches!(opcode, 0x6c..=0x6f | 0xa4..=0xa7 | 0xaa..=0xaf);
    let branch = match opcode {
        0x0f if matches!(rest.next(), Some(0x80..=0x8f)) => Branch::Conditional,
        0x70..=0x7f | 0xe0..=0xe3 => Branch::Conditional,
        0xe8 | 0x9a => Branch::Call,
        0xe9..=0xeb => Branch::Jump,
        0xc2 | 0xc3 | 0xca | 0xcb | 0xcf => Branch::Return,
        0xff => match rest.next().map(|modrm| modrm >> 3 & 7) {
            Some(2 | 3) => Branch::IndirectCall,
            Some(4 | 5) => Branch::Indirect,
            _ => Branch::None,
        },
        _ => Branch::None,
    };
    (branch, repeats && string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_are_known_by_their_opcodes() {
        for (bytes, branch) in [
            (&[0x90][..], Branch::None),
            (&[0x74, 0x02], Branch::Conditional),
            (&[0x0f, 0x84, 0, 0, 0, 0], Branch::Conditional),
            (&[0x0f, 0xa2], Branch::None),
            (&[0xe2, 0xfe], Branch::Conditional),
            (&[0xe8, 0, 0, 0, 0], Branch::Call),
            (&[0x66, 0xe9, 0, 0], Branch::Jump),
            (&[0xc3], Branch::Return),
            (&[0xcf], Branch::Return),
            (&[0xff, 0xd0], Branch::IndirectCall),
            (&[0x2e, 0xff, 0x25, 0, 0, 0, 0], Branch::Indirect),
            (&[0xff, 0x30], Branch::None),
            (&[0x66], Branch::None),
        ] {
            assert_eq!(kind(bytes), (branch, false), "{bytes:x?}");
        }
    }

    #[test]
    fn string_instructions_repeat_with_a_prefix() {
        assert_eq!(kind(&[0xf3, 0xa5]), (Branch::None, true));
        assert_eq!(kind(&[0x66, 0xf2, 0xae]), (Branch::None, true));
        assert_eq!(kind(&[0xa5]), (Branch::None, false));
        // PAUSE, which is REP NOP.
        assert_eq!(kind(&[0xf3, 0x90]), (Branch::None, false));
    }
}
