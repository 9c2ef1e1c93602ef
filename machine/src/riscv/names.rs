//! Names for the functions of firmware, which has no symbols: profiles tell them apart by them.
//!
//! Profiles know the lower 32 bits of an address, in which firmware and Linux lie at the same place. What runs in
//! machine mode is therefore told by its distance from the beginning of RAM, where Linux has nothing.

use std::collections::BTreeSet;

use super::csr::privilege;
use super::processor::Processor;
use crate::board::VIRT_RAM;
use crate::loader::Symbol;

/// The functions of firmware: what its calls (jal ra) go to, and code that makes room on the stack behind a return or a
/// jump, as functions begin that are called by their address. They are named by their distance from its beginning.
pub fn functions(firmware: &[u8]) -> Vec<Symbol> {
    let size = firmware.len() as u32;
    let mut starts = BTreeSet::from([0, size]);
    let (mut at, mut leaves) = (0, false);
    while let Some(&[low, high]) = firmware.get(at..at + 2) {
        let length = if low & 3 == 3 { 4 } else { 2 };
        let half = u16::from_le_bytes([low, high]);
        // c.addi sp and c.addi16sp with a negative number.
        if leaves && matches!(half & 0xff83, 0x1101 | 0x7101) {
            starts.insert(at as u32);
        }
        // c.jr ra and c.j.
        leaves = half == 0x8082 || half & 0xe003 == 0xa001;
        if let Some(&[a, b, c, d]) = firmware.get(at..at + 4)
            && length == 4
        {
            let word = u32::from_le_bytes([a, b, c, d]);
            if word & 0xfff == 0x0ef {
                let sign = ((word as i32) >> 31 << 20) as u32;
                let rest = word & 0xf_f000 | word >> 9 & 0x800 | word >> 20 & 0x7fe;
                let target = (at as u32).wrapping_add(sign | rest);
                if target < size {
                    starts.insert(target);
                }
            }
        }
        at += length;
    }
    let ends = starts.iter().skip(1);
    let all = starts.iter().zip(ends);
    all.map(|(&address, &end)| Symbol {
        address,
        size: end - address,
        name: format!("firmware+{address:#x}"),
    })
    .collect()
}

impl Processor {
    /// An address of code that runs in this mode, as profiles have it.
    pub(super) fn told(&self, pc: u64) -> u64 {
        let named = self.observers.symbols.lowest_kernel() == 0;
        if named && self.privilege == privilege::MACHINE {
            pc.wrapping_sub(VIRT_RAM)
        } else {
            pc
        }
    }
}
