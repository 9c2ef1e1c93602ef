//! Descriptors, and the loads of segment registers (SDM volume 3, chapters 3 and 5).

use super::access::Double;
use super::exception::Exception;
use super::processor::Processor;
use super::registers::{Segment, access, segment};

/// A selector without its privilege level.
pub(super) const fn index(selector: u16) -> u16 {
    selector & !3
}

/// Types of system descriptors.
pub(super) mod system {
    pub const TASK_16: u32 = 1;
    pub const LOCAL_TABLE: u32 = 2;
    pub const CALL_GATE_16: u32 = 4;
    pub const INTERRUPT_GATE_16: u32 = 6;
    pub const TASK: u32 = 9;
    pub const CALL_GATE: u32 = 12;
    /// One more is a trap gate.
    pub const INTERRUPT_GATE: u32 = 14;
}

/// A descriptor as it is in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Descriptor {
    pub low: u32,
    pub high: u32,
    /// Its linear address.
    at: u32,
}

impl Descriptor {
    /// Bits of [`access`].
    pub fn access(&self) -> u32 {
        self.high >> 8 & 0xf0ff
    }

    pub fn is(&self, bits: u32) -> bool {
        self.access() & bits == bits
    }

    pub fn dpl(&self) -> u8 {
        (self.high >> 13 & 3) as u8
    }

    pub fn present(&self) -> bool {
        self.is(access::PRESENT)
    }

    /// Code, conforming or not.
    pub fn is_code(&self) -> bool {
        self.is(access::ORDINARY | access::CODE)
    }

    pub fn is_conforming(&self) -> bool {
        self.is_code() && self.is(access::DOWN_CONFORMING)
    }

    /// Data that may be written.
    pub fn is_writable(&self) -> bool {
        self.is(access::ORDINARY | access::READ_WRITE) && !self.is(access::CODE)
    }

    /// Its type, if it is a system descriptor: one of [`system`].
    pub fn system(&self) -> Option<u32> {
        (!self.is(access::ORDINARY)).then_some(self.access() & 15)
    }

    pub fn segment(&self, selector: u16) -> Segment {
        Segment::from_descriptor(selector, self.low, self.high)
    }

    /// Of a gate: the selector that it leads to.
    pub fn gate_selector(&self) -> u16 {
        (self.low >> 16) as u16
    }

    /// Of a gate: the offset that it leads to.
    pub fn gate_offset(&self, wide: bool) -> u32 {
        let low = self.low & 0xffff;
        if wide {
            self.high & 0xffff_0000 | low
        } else {
            low
        }
    }
}

impl Processor {
    /// The descriptor of a selector; `None` if it lies outside of its table.
    pub(super) fn descriptor(&mut self, selector: u16) -> Result<Option<Descriptor>, Exception> {
        let offset = u32::from(selector & !7);
        let (base, limit) = if selector & 4 != 0 {
            let table = &self.registers.ldtr;
            if table.access == 0 {
                return Ok(None);
            }
            (table.base, table.limit)
        } else {
            (self.registers.gdtr.base, self.registers.gdtr.limit.into())
        };
        if offset + 7 > limit {
            return Ok(None);
        }
        let at = base.wrapping_add(offset);
        let low = self.load_system::<Double>(at)?;
        let high = self.load_system::<Double>(at.wrapping_add(4))?;
        Ok(Some(Descriptor { low, high, at }))
    }

    /// The descriptor of a selector that must have one.
    pub(super) fn descriptor_or(
        &mut self,
        selector: u16,
        fault: Exception,
    ) -> Result<Descriptor, Exception> {
        self.descriptor(selector)?.ok_or(fault)
    }

    /// Sets a descriptor's accessed bit in memory, if it is clear.
    pub(super) fn mark_accessed(&mut self, descriptor: &mut Descriptor) -> Result<(), Exception> {
        const ACCESSED: u32 = access::ACCESSED << 8;
        if descriptor.high & ACCESSED == 0 {
            descriptor.high |= ACCESSED;
            self.store_system::<Double>(descriptor.at.wrapping_add(4), descriptor.high)?;
        }
        Ok(())
    }

    /// Puts a segment into a segment register.
    pub(super) fn set_segment(&mut self, number: u8, value: Segment) {
        self.registers.segments[usize::from(number & 7)] = value;
    }

    /// Loads ES, SS, DS, FS or GS as an instruction does.
    pub(super) fn load_segment(&mut self, number: u8, selector: u16) -> Result<(), Exception> {
        if !self.registers.protected() {
            let old = *self.registers.segment(number);
            const REAL_MODE: u64 = 3;
            self.add_clocks(REAL_MODE);
            // Limit and rights stay, as firmware may have widened them.
            let base = u32::from(selector) << 4;
            self.set_segment(
                number,
                Segment {
                    selector,
                    base,
                    ..old
                },
            );
            return Ok(());
        }
        self.add_clocks(self.config.clocks.load_segment.into());
        if number == segment::SS {
            let cpl = self.registers.cpl;
            let segment = self.stack_segment(selector, cpl, Exception::general)?;
            self.set_segment(number, segment);
            return Ok(());
        }
        if index(selector) == 0 {
            self.set_segment(
                number,
                Segment {
                    selector,
                    ..Segment::default()
                },
            );
            return Ok(());
        }
        let fault = Exception::general(index(selector));
        let mut descriptor = self.descriptor_or(selector, fault)?;
        let readable = descriptor.is(access::ORDINARY)
            && (!descriptor.is(access::CODE) || descriptor.is(access::READ_WRITE));
        let rpl = (selector & 3) as u8;
        let allowed = descriptor.is_conforming()
            || (rpl <= descriptor.dpl() && self.registers.cpl <= descriptor.dpl());
        if !readable || !allowed {
            return Err(fault);
        }
        if !descriptor.present() {
            return Err(Exception::absent(index(selector)));
        }
        self.mark_accessed(&mut descriptor)?;
        self.set_segment(number, descriptor.segment(selector));
        Ok(())
    }

    /// Checks a selector for SS at privilege level `cpl`. `fault` makes the exception: #GP of an instruction, #TS of a
    /// change of rings.
    pub(super) fn stack_segment(
        &mut self,
        selector: u16,
        cpl: u8,
        fault: fn(u16) -> Exception,
    ) -> Result<Segment, Exception> {
        if index(selector) == 0 {
            return Err(fault(0));
        }
        let wrong = fault(index(selector));
        let mut descriptor = self.descriptor_or(selector, wrong)?;
        let rpl = (selector & 3) as u8;
        if rpl != cpl || descriptor.dpl() != cpl || !descriptor.is_writable() {
            return Err(wrong);
        }
        if !descriptor.present() {
            return Err(Exception::stack(index(selector)));
        }
        self.mark_accessed(&mut descriptor)?;
        Ok(descriptor.segment(selector))
    }

    /// LLDT
    pub(super) fn load_local_table(&mut self, selector: u16) -> Result<(), Exception> {
        if index(selector) == 0 {
            self.registers.ldtr = Segment {
                selector,
                ..Segment::default()
            };
            return Ok(());
        }
        let fault = Exception::general(index(selector));
        if selector & 4 != 0 {
            return Err(fault);
        }
        let descriptor = self.descriptor_or(selector, fault)?;
        if descriptor.system() != Some(system::LOCAL_TABLE) {
            return Err(fault);
        }
        if !descriptor.present() {
            return Err(Exception::absent(index(selector)));
        }
        self.registers.ldtr = descriptor.segment(selector);
        Ok(())
    }

    /// LTR
    pub(super) fn load_task(&mut self, selector: u16) -> Result<(), Exception> {
        let fault = Exception::general(index(selector));
        if index(selector) == 0 || selector & 4 != 0 {
            return Err(fault);
        }
        let mut descriptor = self.descriptor_or(selector, fault)?;
        if !matches!(descriptor.system(), Some(system::TASK | system::TASK_16)) {
            return Err(fault);
        }
        if !descriptor.present() {
            return Err(Exception::absent(index(selector)));
        }
        const BUSY: u32 = 1 << 9;
        descriptor.high |= BUSY;
        self.store_system::<Double>(descriptor.at.wrapping_add(4), descriptor.high)?;
        self.registers.tr = descriptor.segment(selector);
        Ok(())
    }

    /// VERR (`what` 4), VERW (5), LAR (2), LSL (3). `None`: the segment cannot be used so.
    pub(super) fn inspect_segment(
        &mut self,
        selector: u16,
        what: u8,
    ) -> Result<Option<u32>, Exception> {
        const RIGHTS: u32 = 0x00f0_ff00;
        if index(selector) == 0 {
            return Ok(None);
        }
        let Some(descriptor) = self.descriptor(selector)? else {
            return Ok(None);
        };
        let rpl = (selector & 3) as u8;
        let reached = descriptor.is_conforming()
            || (self.registers.cpl <= descriptor.dpl() && rpl <= descriptor.dpl());
        let kind = descriptor.system();
        let usable = match what {
            4 => {
                kind.is_none()
                    && (!descriptor.is(access::CODE) || descriptor.is(access::READ_WRITE))
            }
            5 => descriptor.is_writable(),
            2 => matches!(kind, None | Some(1..=5 | 9 | 11 | 12)),
            _ => matches!(kind, None | Some(1..=3 | 9 | 11)),
        };
        if !usable || !reached {
            return Ok(None);
        }
        Ok(Some(if what == 2 {
            descriptor.high & RIGHTS
        } else {
            descriptor.segment(selector).limit
        }))
    }
}
