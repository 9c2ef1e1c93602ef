//! Control transfers between segments and rings: interrupts, exceptions, IRET, far jumps, calls and returns (SDM volume
//! 3, chapters 5 and 6). Task switches and virtual-8086 mode are not modelled: a task gate, IRET with NT, and the
//! system's IRET to virtual-8086 mode raise #GP.

use super::access::{Double, Width, Word};
use super::exception::Exception;
use super::processor::Processor;
use super::registers::{Segment, access, eflags, segment};
use super::segmentation::{Descriptor, index, system};

/// Why a gate of the interrupt descriptor table is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// INT n: the gate's privilege level is checked.
    Software,
    Exception,
    External,
}

/// In the error code of a fault that was raised while an exception or an interrupt was delivered.
const EXTERNAL: u16 = 1;
/// The selector in an error code is an index of the interrupt descriptor table.
const OF_IDT: u16 = 2;

/// What must be put back if a transfer faults half-way.
struct Before {
    cs: Segment,
    ss: Segment,
    esp: u32,
    eip: u32,
    cpl: u8,
}

impl Processor {
    fn before(&self) -> Before {
        let registers = &self.registers;
        Before {
            cs: *registers.segment(segment::CS),
            ss: *registers.segment(segment::SS),
            esp: registers.gpr[4],
            eip: registers.eip,
            cpl: registers.cpl,
        }
    }

    fn put_back(&mut self, before: &Before) {
        self.set_segment(segment::CS, before.cs);
        self.set_segment(segment::SS, before.ss);
        self.registers.gpr[4] = before.esp;
        self.registers.eip = before.eip;
        self.set_ring(before.cpl);
    }

    /// Puts everything back if `transfer` fails; otherwise the mode has changed.
    fn transfer(
        &mut self,
        transfer: impl FnOnce(&mut Self) -> Result<(), Exception>,
    ) -> Result<(), Exception> {
        let before = self.before();
        // The inner ring pays for the way in and for the way back.
        let from_user = before.cpl == 3;
        if from_user {
            self.settle();
        }
        match transfer(self) {
            Ok(()) => {
                if self.registers.cpl != before.cpl {
                    if !from_user {
                        self.settle();
                    }
                    self.modes_changed();
                    if self.sanitized && self.registers.cpl == 3 {
                        self.note_return();
                    }
                }
                self.fetched = super::processor::NOWHERE;
                Ok(())
            }
            Err(exception) => {
                self.put_back(&before);
                Err(exception)
            }
        }
    }

    /// INT n
    pub(super) fn software_interrupt(&mut self, vector: u8) -> Result<(), Exception> {
        self.software = true;
        if self.running.hosted {
            self.halt_for_host(vector, None);
            return Ok(());
        }
        self.deliver(vector, None, Reason::Software)
    }

    /// Goes to the handler of `vector`.
    pub(super) fn deliver(
        &mut self,
        vector: u8,
        code: Option<u16>,
        reason: Reason,
    ) -> Result<(), Exception> {
        if self.noting {
            self.note_exception(vector);
        }
        self.account.counters.exception[usize::from(vector)] += 1;
        if let Some(set) = self.config.tlb.extreme.leaves(self.now()) {
            self.mmu.leave(set);
        }
        self.breaks_off();
        if !self.registers.protected() {
            return self.transfer(|p| p.deliver_real(vector));
        }
        self.transfer(|p| p.deliver_protected(vector, code, reason))
    }

    fn deliver_real(&mut self, vector: u8) -> Result<(), Exception> {
        let at = 4 * u32::from(vector);
        if at + 3 > self.registers.idtr.limit.into() {
            return Err(Exception::GENERAL);
        }
        let entry = self.load_system::<Double>(self.registers.idtr.base.wrapping_add(at))?;
        let flags = self.registers.eflags();
        let cs = self.registers.segment(segment::CS).selector;
        let eip = self.registers.eip;
        self.push::<Word>(flags & 0xffff)?;
        self.push::<Word>(cs.into())?;
        self.push::<Word>(eip & 0xffff)?;
        self.add_clocks(self.config.clocks.interrupt_same.into());
        (self.registers).set_eflags(0, eflags::IF | eflags::TF | eflags::AC);
        self.set_segment(segment::CS, Segment::real((entry >> 16) as u16));
        self.registers.eip = entry & 0xffff;
        Ok(())
    }

    fn deliver_protected(
        &mut self,
        vector: u8,
        code: Option<u16>,
        reason: Reason,
    ) -> Result<(), Exception> {
        let external = if reason == Reason::Software {
            0
        } else {
            EXTERNAL
        };
        let fault = Exception::general(u16::from(vector) << 3 | OF_IDT | external);
        let at = 8 * u32::from(vector);
        if at + 7 > self.registers.idtr.limit.into() {
            return Err(fault);
        }
        let base = self.registers.idtr.base.wrapping_add(at);
        let low = self.load_system::<Double>(base)?;
        let high = self.load_system::<Double>(base.wrapping_add(4))?;
        let kind = high >> 8 & 0x1f;
        let wide = kind & 8 != 0;
        if !matches!(
            kind & !1,
            system::INTERRUPT_GATE | system::INTERRUPT_GATE_16
        ) {
            return Err(fault);
        }
        if reason == Reason::Software && (high >> 13 & 3) < self.registers.cpl.into() {
            return Err(fault);
        }
        if high & 1 << 15 == 0 {
            return Err(Exception::absent(
                u16::from(vector) << 3 | OF_IDT | external,
            ));
        }
        let selector = (low >> 16) as u16;
        let offset = if wide {
            high & 0xffff_0000 | low & 0xffff
        } else {
            low & 0xffff
        };
        if index(selector) == 0 {
            return Err(Exception::general(external));
        }
        let wrong = Exception::general(index(selector) | external);
        let mut target = self.descriptor_or(selector, wrong)?;
        if !target.is_code() || target.dpl() > self.registers.cpl {
            return Err(wrong);
        }
        if !target.present() {
            return Err(Exception::absent(index(selector) | external));
        }
        self.mark_accessed(&mut target)?;
        let inner = !target.is_conforming() && target.dpl() < self.registers.cpl;
        let frame = [
            self.registers.eflags(),
            self.registers.segment(segment::CS).selector.into(),
            self.registers.eip,
        ];
        let clocks = &self.config.clocks;
        let cost = if inner {
            clocks.interrupt_inner
        } else {
            clocks.interrupt_same
        };
        self.add_clocks(cost.into());
        let ring = if inner {
            target.dpl()
        } else {
            self.registers.cpl
        };
        let mut bits = external;
        if inner {
            let old = [
                self.registers.segment(segment::SS).selector.into(),
                self.registers.gpr[4],
            ];
            self.enter_ring(ring)
                .map_err(|fault| fault.with_bits(external))?;
            // A push that does not fit names the new stack.
            bits |= index(self.registers.segment(segment::SS).selector);
            self.push_all(wide, &old, bits)?;
        }
        self.push_all(wide, &frame, bits)?;
        if let Some(code) = code {
            self.push_all(wide, &[code.into()], bits)?;
        }
        let segment = target.segment(index(selector) | u16::from(ring));
        if offset > segment.limit {
            return Err(Exception::general(external));
        }
        self.set_segment(segment::CS, segment);
        self.registers.cpl = ring;
        self.registers.eip = offset;
        let interrupt = kind & 1 == 0;
        let cleared = eflags::TF | eflags::NT | eflags::VM | eflags::RF;
        let cleared = if interrupt {
            cleared | eflags::IF
        } else {
            cleared
        };
        self.registers.system &= !cleared;
        Ok(())
    }

    /// Switches to the stack that the TSS names for an inner ring. CS is left to the caller.
    fn enter_ring(&mut self, ring: u8) -> Result<(), Exception> {
        let tr = self.registers.tr;
        let wide = tr.access & 8 != 0;
        let fault = Exception::task(index(tr.selector));
        let (at, bytes) = if wide {
            (4 + 8 * u32::from(ring), 6)
        } else {
            (2 + 4 * u32::from(ring), 4)
        };
        if tr.access == 0 || at + bytes - 1 > tr.limit {
            return Err(fault);
        }
        let base = tr.base.wrapping_add(at);
        let (esp, ss) = if wide {
            let esp = self.load_system::<Double>(base)?;
            (esp, self.load_system::<Word>(base.wrapping_add(4))?)
        } else {
            let sp = self.load_system::<Word>(base)?;
            (sp, self.load_system::<Word>(base.wrapping_add(2))?)
        };
        let stack = self.stack_segment(ss as u16, ring, Exception::task)?;
        self.set_segment(segment::SS, stack);
        self.registers.gpr[4] = esp;
        self.set_ring(ring);
        Ok(())
    }

    /// Pushes these; `bits` are set in the code of a fault.
    fn push_all(&mut self, wide: bool, values: &[u32], bits: u16) -> Result<(), Exception> {
        for &value in values {
            self.push_sized(wide, value)
                .map_err(|fault| fault.with_bits(bits))?;
        }
        Ok(())
    }

    fn push_sized(&mut self, wide: bool, value: u32) -> Result<(), Exception> {
        if wide {
            self.push::<Double>(value)
        } else {
            self.push::<Word>(value & 0xffff)
        }
    }

    /// Checks that CS may be loaded with `descriptor` by a jump or a call without a gate.
    fn check_direct(&self, selector: u16, descriptor: &Descriptor) -> Result<(), Exception> {
        let fault = Exception::general(index(selector));
        let (cpl, rpl, dpl) = (self.registers.cpl, (selector & 3) as u8, descriptor.dpl());
        let allowed = if descriptor.is_conforming() {
            dpl <= cpl
        } else {
            dpl == cpl && rpl <= cpl
        };
        if !descriptor.is_code() || !allowed {
            return Err(fault);
        }
        if !descriptor.present() {
            return Err(Exception::absent(index(selector)));
        }
        Ok(())
    }

    fn enter_code(
        &mut self,
        selector: u16,
        mut descriptor: Descriptor,
        offset: u32,
    ) -> Result<(), Exception> {
        let segment = descriptor.segment(index(selector) | u16::from(self.registers.cpl));
        if offset > segment.limit {
            return Err(Exception::GENERAL);
        }
        self.mark_accessed(&mut descriptor)?;
        self.set_segment(segment::CS, segment);
        self.registers.eip = offset;
        Ok(())
    }

    fn enter_real(&mut self, selector: u16, offset: u32) -> Result<(), Exception> {
        let old = *self.registers.segment(segment::CS);
        if offset > old.limit {
            return Err(Exception::GENERAL);
        }
        let base = u32::from(selector) << 4;
        self.set_segment(
            segment::CS,
            Segment {
                selector,
                base,
                ..old
            },
        );
        self.registers.eip = offset;
        Ok(())
    }

    /// JMP to another segment
    pub(super) fn far_jump(&mut self, selector: u16, offset: u32) -> Result<(), Exception> {
        self.add_clocks(self.config.clocks.far_jump.into());
        if !self.registers.protected() {
            return self.transfer(|p| p.enter_real(selector, offset));
        }
        self.transfer(|p| {
            if index(selector) == 0 {
                return Err(Exception::GENERAL);
            }
            let fault = Exception::general(index(selector));
            let descriptor = p.descriptor_or(selector, fault)?;
            let Some(kind) = descriptor.system() else {
                p.check_direct(selector, &descriptor)?;
                return p.enter_code(selector, descriptor, offset);
            };
            let (target, code) = p.through_gate(selector, &descriptor, kind)?;
            // A jump does not change the ring.
            if !code.is_conforming() && code.dpl() != p.registers.cpl {
                return Err(Exception::general(index(target)));
            }
            let wide = kind == system::CALL_GATE;
            p.enter_code(target, code, descriptor.gate_offset(wide))
        })
    }

    /// Checks a call gate; returns the selector and the descriptor that it leads to.
    fn through_gate(
        &mut self,
        selector: u16,
        gate: &Descriptor,
        kind: u32,
    ) -> Result<(u16, Descriptor), Exception> {
        let fault = Exception::general(index(selector));
        let rpl = (selector & 3) as u8;
        if !matches!(kind, system::CALL_GATE | system::CALL_GATE_16)
            || gate.dpl() < self.registers.cpl
            || gate.dpl() < rpl
        {
            return Err(fault);
        }
        if !gate.present() {
            return Err(Exception::absent(index(selector)));
        }
        let target = gate.gate_selector();
        if index(target) == 0 {
            return Err(Exception::GENERAL);
        }
        let wrong = Exception::general(index(target));
        let code = self.descriptor_or(target, wrong)?;
        if !code.is_code() || code.dpl() > self.registers.cpl {
            return Err(wrong);
        }
        if !code.present() {
            return Err(Exception::absent(index(target)));
        }
        Ok((target, code))
    }

    /// CALL to another segment
    pub(super) fn far_call<W: Width>(
        &mut self,
        selector: u16,
        offset: u32,
    ) -> Result<(), Exception> {
        let back = (
            u32::from(self.registers.segment(segment::CS).selector),
            self.registers.eip,
        );
        if !self.registers.protected() {
            self.add_clocks(self.config.clocks.far_call.into());
            return self.transfer(|p| {
                p.push::<W>(back.0)?;
                p.push::<W>(back.1 & W::MASK)?;
                p.enter_real(selector, offset)
            });
        }
        self.transfer(|p| {
            if index(selector) == 0 {
                return Err(Exception::GENERAL);
            }
            let fault = Exception::general(index(selector));
            let descriptor = p.descriptor_or(selector, fault)?;
            let Some(kind) = descriptor.system() else {
                p.add_clocks(p.config.clocks.far_call.into());
                p.check_direct(selector, &descriptor)?;
                p.push::<W>(back.0)?;
                p.push::<W>(back.1 & W::MASK)?;
                return p.enter_code(selector, descriptor, offset);
            };
            let (target, code) = p.through_gate(selector, &descriptor, kind)?;
            let wide = kind == system::CALL_GATE;
            let inner = !code.is_conforming() && code.dpl() < p.registers.cpl;
            let clocks = &p.config.clocks;
            let cost = if inner {
                clocks.gate_inner
            } else {
                clocks.gate_same
            };
            p.add_clocks(cost.into());
            if inner {
                p.call_inner(wide, descriptor.high & 31, code.dpl())?;
            }
            p.push_sized(wide, back.0)?;
            p.push_sized(wide, back.1)?;
            p.enter_code(target, code, descriptor.gate_offset(wide))
        })
    }

    /// A call gate's way to an inner ring: the new stack gets the old one's address and `count` operands.
    fn call_inner(&mut self, wide: bool, count: u32, ring: u8) -> Result<(), Exception> {
        let size = if wide { 4 } else { 2 };
        let mut operands = [0; 31];
        for n in 0..count {
            let value = if wide {
                self.peek_stack::<Double>(n * size)?
            } else {
                self.peek_stack::<Word>(n * size)?
            };
            if let Some(place) = operands.get_mut(n as usize) {
                *place = value;
            }
        }
        let old = (
            u32::from(self.registers.segment(segment::SS).selector),
            self.registers.gpr[4],
        );
        self.enter_ring(ring)?;
        self.push_sized(wide, old.0)?;
        self.push_sized(wide, old.1)?;
        for &value in operands[..count as usize].iter().rev() {
            self.push_sized(wide, value)?;
        }
        Ok(())
    }

    /// Returns to `selector`:`offset`, whose frame on the stack has `taken` bytes so far. `operands` are taken off both
    /// stacks.
    fn return_to<W: Width>(
        &mut self,
        selector: u16,
        offset: u32,
        taken: u32,
        operands: u32,
    ) -> Result<bool, Exception> {
        if index(selector) == 0 {
            return Err(Exception::GENERAL);
        }
        let fault = Exception::general(index(selector));
        let mut code = self.descriptor_or(selector, fault)?;
        let (cpl, rpl) = (self.registers.cpl, (selector & 3) as u8);
        let allowed = if code.is_conforming() {
            code.dpl() <= rpl
        } else {
            code.dpl() == rpl
        };
        if !code.is_code() || rpl < cpl || !allowed {
            return Err(fault);
        }
        if !code.present() {
            return Err(Exception::absent(index(selector)));
        }
        let segment = code.segment(selector);
        if offset > segment.limit {
            return Err(Exception::GENERAL);
        }
        let outer = rpl > cpl;
        if outer {
            let esp = self.peek_stack::<W>(taken + operands)?;
            let ss = self.peek_stack::<W>(taken + operands + W::BYTES)? as u16;
            let stack = self.stack_segment(ss, rpl, Exception::general)?;
            self.set_segment(segment::SS, stack);
            let mask = self.registers.stack_mask() & W::MASK;
            let old = self.registers.gpr[4];
            self.registers.gpr[4] = old & !mask | esp.wrapping_add(operands) & mask;
        } else {
            self.drop_stack(taken + operands);
        }
        self.mark_accessed(&mut code)?;
        self.set_segment(segment::CS, segment);
        self.registers.eip = offset;
        self.set_ring(rpl);
        if outer {
            // Data segments that the outer ring may not use are emptied.
            for number in [segment::ES, segment::DS, segment::FS, segment::GS] {
                let held = *self.registers.segment(number);
                let conforming = held.is(access::CODE | access::DOWN_CONFORMING);
                if held.access != 0 && !conforming && held.dpl() < rpl {
                    self.set_segment(number, Segment::default());
                }
            }
        }
        Ok(outer)
    }

    /// RETF
    pub(super) fn far_return<W: Width>(&mut self, operands: u32) -> Result<(), Exception> {
        self.transfer(|p| {
            let offset = p.peek_stack::<W>(0)?;
            let selector = p.peek_stack::<W>(W::BYTES)? as u16;
            if !p.registers.protected() {
                p.add_clocks(p.config.clocks.far_return_same.into());
                p.enter_real(selector, offset)?;
                p.drop_stack(2 * W::BYTES + operands);
                return Ok(());
            }
            let outer = p.return_to::<W>(selector, offset, 2 * W::BYTES, operands)?;
            let clocks = &p.config.clocks;
            let cost = if outer {
                clocks.far_return_outer
            } else {
                clocks.far_return_same
            };
            p.add_clocks(cost.into());
            Ok(())
        })
    }

    /// IRET
    pub(super) fn interrupt_return<W: Width>(&mut self) -> Result<(), Exception> {
        let mask = self.writable_flags() | eflags::RF;
        let mut flags = 0;
        self.transfer(|p| {
            let offset = p.peek_stack::<W>(0)?;
            let selector = p.peek_stack::<W>(W::BYTES)? as u16;
            flags = p.peek_stack::<W>(2 * W::BYTES)?;
            if !p.registers.protected() {
                p.add_clocks(p.config.clocks.return_same.into());
                p.enter_real(selector, offset)?;
                p.drop_stack(3 * W::BYTES);
                return Ok(());
            }
            let is_systems = p.registers.cpl == 0;
            let enters_8086 = W::BYTES == 4 && is_systems && flags & eflags::VM != 0;
            if p.registers.system & eflags::NT != 0 || enters_8086 {
                return Err(Exception::GENERAL);
            }
            let outer = p.return_to::<W>(selector, offset, 3 * W::BYTES, 0)?;
            let clocks = &p.config.clocks;
            let cost = if outer {
                clocks.return_outer
            } else {
                clocks.return_same
            };
            p.add_clocks(cost.into());
            Ok(())
        })?;
        self.registers.set_eflags(flags, mask & W::MASK);
        self.flags_changed();
        Ok(())
    }
}
