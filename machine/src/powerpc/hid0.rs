//! HID0 of the 603, 604 and 750: what its bits do to the caches, to broadcasts and to the clocks.

use crate::memory::Memory;

/// Power-saving modes.
pub const DOZE: u32 = 0x0080_0000;
pub const NAP: u32 = 0x0040_0000;
pub const SLEEP: u32 = 0x0020_0000;
/// Instruction cache enable.
pub const ICE: u32 = 0x8000;
/// Data cache enable.
pub const DCE: u32 = 0x4000;
/// Instruction cache lock.
pub const ILOCK: u32 = 0x2000;
/// Data cache lock.
pub const DLOCK: u32 = 0x1000;
/// Instruction cache flash invalidate.
pub const ICFI: u32 = 0x0800;
/// Data cache flash invalidate.
pub const DCFI: u32 = 0x0400;
/// Address broadcast enable (750).
pub const ABE: u32 = 0x0008;

/// What a write of HID0 does to the processor's memory: enables, locks, flash invalidation, broadcasts.
pub fn write(memory: &mut Memory, value: u32) {
    let is_set = |bit: u32| value & bit != 0;
    memory.forget_touches();
    memory.instruction.set_enabled(is_set(ICE));
    memory.data.set_enabled(is_set(DCE));
    memory.instruction.set_locked(is_set(ILOCK));
    memory.data.set_locked(is_set(DLOCK));
    memory.set_broadcasts(is_set(ABE));
    if is_set(ICFI) {
        memory.instruction.invalidate_all();
    }
    if is_set(DCFI) {
        memory.data.invalidate_all();
    }
}
