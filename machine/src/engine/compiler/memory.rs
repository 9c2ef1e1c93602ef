//! Memory for compiled code.
//!
//! No address is both writable and executable: the code is one file in memory, mapped twice, and written through the
//! mapping that is not executable. In front of the executable mapping, so that code finds them by their distance, are
//! the *slots*: places of jumps that code makes, which lead elsewhere as soon as more code is compiled. They are data,
//! so nothing that the host may be executing is ever written.

use std::ptr;

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munmap};

/// Bytes of code at most.
const CODE: usize = 16 << 20;

/// Bytes of slots.
const SLOTS: usize = 2 << 20;

/// Bytes between the data that code looks at and the code, about: an instruction reaches 2 GB, and the heap, which may
/// hold the data, grows.
const DISTANCE: usize = 1 << 30;

/// What code begins at a multiple of, in bytes.
const ALIGNMENT: usize = 16;

/// What a user is told where the host gives no memory for code.
pub fn refusal(error: &std::io::Error) -> String {
    format!(
        "this computer gives no memory for compiled code ({error}): the interpreter runs all code"
    )
}

/// A place that a jump goes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot(u32);

/// Slots and code.
pub struct CodeMemory {
    /// The slots, and behind them the code as it is executed.
    base: *mut u8,
    /// The code as it is written.
    writable: *mut u8,
    /// Bytes of code in use.
    used: usize,
    /// Bytes of code that are never given back.
    kept: usize,
    slots: usize,
}

// SAFETY: the mappings are this structure's own.
unsafe impl Send for CodeMemory {}

impl Drop for CodeMemory {
    fn drop(&mut self) {
        // SAFETY: `new` has mapped both.
        unsafe {
            let _ = munmap(self.base.cast(), SLOTS + CODE);
            let _ = munmap(self.writable.cast(), CODE);
        }
    }
}

impl CodeMemory {
    /// Empty memory, if possible in reach of the data at `near`. The host gives pages to it as they are used.
    ///
    /// # Errors
    /// When the host forbids executable memory, or has no room for it.
    pub fn new(near: usize) -> std::io::Result<CodeMemory> {
        let file = memfd_create("pagewalk-code", MemfdFlags::CLOEXEC)?;
        ftruncate(&file, CODE as u64)?;
        let (read, write) = (ProtFlags::READ, ProtFlags::READ | ProtFlags::WRITE);
        // SAFETY: new mappings, but for the last one, which replaces a part of the first one.
        unsafe {
            let wished = ptr::without_provenance_mut(near.wrapping_add(DISTANCE) & !0xffff);
            let base = mmap_anonymous(wished, SLOTS + CODE, write, MapFlags::PRIVATE)?;
            let writable = match mmap(ptr::null_mut(), CODE, write, MapFlags::SHARED, &file, 0) {
                Ok(writable) => writable,
                Err(error) => {
                    let _ = munmap(base, SLOTS + CODE);
                    return Err(error.into());
                }
            };
            let memory = CodeMemory {
                base: base.cast(),
                writable: writable.cast(),
                used: 0,
                kept: 0,
                slots: 0,
            };
            let code = base.byte_add(SLOTS);
            let executable = read | ProtFlags::EXEC;
            mmap(
                code,
                CODE,
                executable,
                MapFlags::SHARED | MapFlags::FIXED,
                &file,
                0,
            )?;
            Ok(memory)
        }
    }

    /// Where the code that is written next will be executed.
    pub fn next(&self) -> usize {
        self.base as usize + SLOTS + self.used
    }

    /// True if there is room for so many bytes of code and so many slots.
    pub fn has_room(&self, code: usize, slots: usize) -> bool {
        self.used + code + ALIGNMENT <= CODE && (self.slots + slots) * size_of::<usize>() <= SLOTS
    }

    /// Writes code, for which there must be room, and returns where it is.
    pub fn write(&mut self, code: &[u8]) -> usize {
        assert!(self.has_room(code.len(), 0), "there is room for the code");
        let at = self.next();
        // SAFETY: in the mapping, as has been asserted; nothing refers to what is written.
        unsafe {
            let to = self.writable.add(self.used);
            ptr::copy_nonoverlapping(code.as_ptr(), to, code.len());
        }
        self.used = (self.used + code.len()).next_multiple_of(ALIGNMENT);
        at
    }

    /// Code so far is never given back.
    pub fn keep(&mut self) {
        self.kept = self.used;
    }

    /// A new slot, for which there must be room.
    pub fn slot(&mut self) -> Slot {
        let slot = self.slots;
        self.slots += 1;
        Slot(slot as u32)
    }

    /// Where a slot is.
    pub fn place(&self, slot: Slot) -> usize {
        self.base as usize + slot.0 as usize * size_of::<usize>()
    }

    /// Where a jump through `slot` goes.
    pub fn leads(&self, slot: Slot) -> usize {
        assert!((slot.0 as usize) < self.slots, "a slot in use");
        // SAFETY: a slot in use lies in the mapping.
        unsafe { *(self.place(slot) as *const usize) }
    }

    /// A jump through `slot` goes to `code` from now on.
    pub fn lead(&mut self, slot: Slot, code: usize) {
        assert!((slot.0 as usize) < self.slots, "a slot in use");
        // SAFETY: a slot in use lies in the mapping.
        unsafe { *(self.place(slot) as *mut usize) = code }
    }

    /// Gives back all code but what is kept, and all slots.
    pub fn clear(&mut self) {
        let page = rustix::param::page_size();
        let from = self.kept.next_multiple_of(page);
        // SAFETY: the code there will not be executed again, nor its slots used. If the host does not take the pages,
        // they are written anew all the same.
        unsafe {
            let code = self.writable.add(from).cast();
            let _ = madvise(code, CODE - from, Advice::LinuxRemove);
            let _ = madvise(self.base.cast(), SLOTS, Advice::LinuxDontNeed);
        }
        self.used = self.kept;
        self.slots = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_executed_and_given_back() {
        let mut memory = CodeMemory::new(0).unwrap();
        // mov eax, imm32; ret
        let code = |n: u8| [0xb8, n, 0, 0, 0, 0xc3];
        let run = |at: usize| {
            // SAFETY: the code above.
            let f: extern "sysv64" fn() -> u32 = unsafe { std::mem::transmute(at) };
            f()
        };
        let kept = memory.write(&code(1));
        memory.keep();
        let first = memory.write(&code(2));
        assert_eq!((run(kept), run(first)), (1, 2));
        memory.clear();
        let second = memory.write(&code(3));
        assert_eq!(second, first);
        assert_eq!((run(kept), run(second)), (1, 3));
    }

    #[test]
    fn memory_is_bounded() {
        let mut memory = CodeMemory::new(0).unwrap();
        assert!(memory.has_room(1 << 20, 1000));
        assert!(!memory.has_room(CODE, 0) && !memory.has_room(0, SLOTS));
        while memory.has_room(1 << 20, 0) {
            memory.write(&vec![0; 1 << 20]);
        }
        let slot = memory.slot();
        memory.lead(slot, 5);
        // SAFETY: the place of a slot.
        assert_eq!(unsafe { *(memory.place(slot) as *const usize) }, 5);
        memory.clear();
        assert!(memory.has_room(CODE / 2, 1));
    }
}
