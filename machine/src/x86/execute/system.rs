//! Instructions of the system: tables, ports, halt, identification.

use super::{Done, Source, Target};
use crate::account::Plain;
use crate::computer::Progressing as _;
use crate::x86::access::{Double, Width, Word};
use crate::x86::config::Kind;
use crate::x86::exception::Exception;
use crate::x86::op::Op;
use crate::x86::processor::Processor;
use crate::x86::registers::{Table, cr0, cr4, eflags};

impl Processor {
    /// #GP outside of ring 0.
    pub(in crate::x86) fn privileged(&self) -> Done {
        if self.registers.cpl == 0 {
            Ok(())
        } else {
            Err(Exception::GENERAL)
        }
    }

    fn iopl(&self) -> u8 {
        (self.registers.system >> 12 & 3) as u8
    }

    /// #GP where IOPL forbids CLI, STI and the ports.
    pub(in crate::x86) fn io_privileged(&self) -> Done {
        if self.registers.cpl <= self.iopl() {
            Ok(())
        } else {
            Err(Exception::GENERAL)
        }
    }

    /// The flags that POPF and IRET may change at this privilege level.
    pub(in crate::x86) fn writable_flags(&self) -> u32 {
        let mut mask = eflags::STATUS | eflags::TF | eflags::DF | eflags::NT | eflags::AC;
        if self.kind == Kind::P6 {
            mask |= eflags::ID;
        }
        if self.registers.cpl == 0 {
            mask |= eflags::IOPL;
        }
        if self.registers.cpl <= self.iopl() {
            mask |= eflags::IF;
        }
        mask
    }

    /// May the program use these ports? The TSS has a bit for each (SDM volume 1, 18.5).
    pub(in crate::x86) fn may_use_port(&mut self, port: u16, bytes: u32) -> Done {
        if !self.registers.protected() || self.io_privileged().is_ok() {
            return Ok(());
        }
        const BASE: u32 = 102;
        let tr = self.registers.tr;
        if tr.limit < BASE + 1 {
            return Err(Exception::GENERAL);
        }
        let map = self.load_system::<Word>(tr.base.wrapping_add(BASE))?;
        let at = map + u32::from(port) / 8;
        if at + 1 > tr.limit {
            return Err(Exception::GENERAL);
        }
        let bits = self.load_system::<Word>(tr.base.wrapping_add(at))?;
        let wanted = (1 << bytes) - 1;
        if bits >> (port & 7) & wanted == 0 {
            Ok(())
        } else {
            Err(Exception::GENERAL)
        }
    }

    pub(in crate::x86) fn read_port(&mut self, port: u16, bytes: u32) -> u32 {
        self.charge_port();
        let now = self.instant();
        self.due_at_once();
        self.memory.uncore.board.port_read(port, bytes, now)
    }

    pub(in crate::x86) fn write_port(&mut self, port: u16, bytes: u32, value: u32) {
        // OUT waits until buffered writes are on the bus (486 hardware manual 3-10).
        let now = self.now();
        let wait = self.memory.drain(now);
        self.add_clocks(wait);
        self.charge_port();
        let now = self.instant();
        let effect = (self.memory.uncore.board).port_write(port, bytes, value, now);
        self.device_was_written(effect);
    }

    fn charge_port(&mut self) {
        let clocks = u64::from(self.config.bus.port);
        self.add_clocks(self.config.bus.core_cycles(clocks));
    }

    pub(in crate::x86) fn read_control(&mut self, number: u8) -> Result<u32, Exception> {
        self.privileged()?;
        self.add_clocks(self.config.clocks.read_cr.into());
        match number {
            0 => Ok(self.registers.cr0),
            2 => Ok(self.registers.cr2),
            3 => Ok(self.registers.cr3),
            4 if self.kind == Kind::P6 => Ok(self.registers.cr4),
            _ => Err(Exception::INVALID_OPCODE),
        }
    }

    pub(in crate::x86) fn write_control(&mut self, number: u8, value: u32) -> Done {
        self.privileged()?;
        let clocks = &self.config.clocks;
        let cost = if number == 3 {
            clocks.write_cr3
        } else {
            clocks.write_cr
        };
        self.add_clocks(cost.into());
        match number {
            0 => self.write_cr0(value),
            2 => {
                self.registers.cr2 = value;
                Ok(())
            }
            3 => {
                // An i486 keeps the address of a page and two flags, a P6 that of 32 bytes.
                let kept = match self.kind {
                    Kind::I486 => !0xfe7,
                    Kind::P6 => !0x7,
                };
                let value = value & kept;
                if self.registers.paging() && self.registers.wide_entries() {
                    self.registers.directories = self.read_directories(value)?;
                }
                self.registers.cr3 = value;
                self.account.add_plain(Plain::TlbLoad, 1);
                self.flush_tlbs(true);
                self.note_space();
                Ok(())
            }
            4 if self.kind == Kind::P6 => {
                const PAGING: u32 = cr4::PSE | cr4::PAE | cr4::PGE;
                if value & !(PAGING | cr4::TSD) != 0 {
                    return Err(Exception::GENERAL);
                }
                let changed = value ^ self.registers.cr4;
                let reads = changed & PAGING != 0 && value & cr4::PAE != 0;
                if reads && self.registers.paging() {
                    self.registers.directories = self.read_directories(self.registers.cr3)?;
                }
                self.registers.cr4 = value;
                if changed & PAGING != 0 {
                    self.flush_tlbs(false);
                }
                self.mmu.set_wide(value & cr4::PAE != 0);
                Ok(())
            }
            _ => Err(Exception::INVALID_OPCODE),
        }
    }

    pub(in crate::x86) fn write_cr0(&mut self, value: u32) -> Done {
        const OWN: u32 = cr0::PE
            | cr0::MP
            | cr0::EM
            | cr0::TS
            | cr0::ET
            | cr0::NE
            | cr0::WP
            | cr0::AM
            | cr0::NW
            | cr0::CD
            | cr0::PG;
        let value = value & OWN | cr0::ET;
        let impossible = value & cr0::PG != 0 && value & cr0::PE == 0
            || value & cr0::NW != 0 && value & cr0::CD == 0;
        if impossible {
            return Err(Exception::GENERAL);
        }
        let changed = value ^ self.registers.cr0;
        let reads = changed & (cr0::PG | cr0::CD | cr0::NW) != 0 && value & cr0::PG != 0;
        if reads && self.registers.wide_entries() {
            self.registers.directories = self.read_directories(self.registers.cr3)?;
        }
        self.settle();
        self.registers.cr0 = value;
        if changed & (cr0::PG | cr0::PE) != 0 {
            self.flush_tlbs(false);
        }
        if changed & cr0::WP != 0 {
            self.protect_pages();
        }
        self.modes_changed();
        Ok(())
    }
}

/// LGDT, LIDT, SGDT, SIDT: `reg` is ModRM's reg
pub(in crate::x86) fn table<W: Width>(p: &mut Processor, op: &Op) -> Done {
    let load = op.reg >= 2;
    if load {
        p.privileged()?;
    }
    let offset = p.offset(op);
    let own = if op.reg & 1 == 0 {
        p.registers.gdtr
    } else {
        p.registers.idtr
    };
    if !load {
        let linear = p.linear_write(op.segment, offset, 6)?;
        p.store::<Word>(linear, own.limit.into())?;
        return p.store::<Double>(linear.wrapping_add(2), own.base);
    }
    p.add_clocks(p.config.clocks.load_table.into());
    let linear = p.linear_read(op.segment, offset, 6)?;
    let limit = p.load::<Word>(linear)? as u16;
    let mut base = p.load::<Double>(linear.wrapping_add(2))?;
    if W::BYTES == 2 {
        base &= 0x00ff_ffff;
    }
    let table = Table { base, limit };
    if op.reg & 1 == 0 {
        p.registers.gdtr = table;
    } else {
        p.registers.idtr = table;
    }
    Ok(())
}

/// LLDT, LTR: `extra` tells which
pub(in crate::x86) fn load_system_segment<S: Source>(p: &mut Processor, op: &Op) -> Done {
    if !p.registers.protected() {
        return Err(Exception::INVALID_OPCODE);
    }
    p.privileged()?;
    let selector = S::get::<Word>(p, op)? as u16;
    let clocks = &p.config.clocks;
    let cost = if op.extra == 2 {
        clocks.load_local
    } else {
        clocks.load_task
    };
    p.add_clocks(cost.into());
    if op.extra == 2 {
        p.load_local_table(selector)
    } else {
        p.load_task(selector)
    }
}

/// VERR, VERW, LAR, LSL: `extra` is 4, 5, 2, 3
pub(in crate::x86) fn check_segment<W: Width, S: Source>(p: &mut Processor, op: &Op) -> Done {
    if !p.registers.protected() {
        return Err(Exception::INVALID_OPCODE);
    }
    let selector = S::get::<Word>(p, op)? as u16;
    let seen = p.inspect_segment(selector, op.extra)?;
    let zero = eflags::ZF;
    let flags = p.registers.eflags() & eflags::STATUS & !zero;
    let found = if seen.is_some() { zero } else { 0 };
    p.registers.set_eflags(flags | found, eflags::STATUS);
    if let Some(value) = seen
        && op.extra < 4
    {
        p.set_register::<W>(op.reg, value);
    }
    Ok(())
}

/// ARPL
pub(in crate::x86) fn adjust<D: Target>(p: &mut Processor, op: &Op) -> Done {
    if !p.registers.protected() {
        return Err(Exception::INVALID_OPCODE);
    }
    let wanted = p.register::<Word>(op.reg) & 3;
    let mut raised = false;
    D::change::<Word>(p, op, |_, old| {
        raised = old & 3 < wanted;
        if raised { old & !3 | wanted } else { old }
    })?;
    let flag = if raised { eflags::ZF } else { 0 };
    p.registers.set_eflags(flag, eflags::ZF);
    Ok(())
}

/// LMSW
pub(in crate::x86) fn load_status<S: Source>(p: &mut Processor, op: &Op) -> Done {
    const LOW: u32 = cr0::PE | cr0::MP | cr0::EM | cr0::TS;
    p.privileged()?;
    let value = S::get::<Word>(p, op)?;
    let old = p.registers.cr0;
    // It cannot leave protected mode.
    p.write_cr0(old & !(LOW & !cr0::PE) | value & LOW)
}

/// CLTS
pub(in crate::x86) fn clear_task(p: &mut Processor, _: &Op) -> Done {
    p.privileged()?;
    p.close_window();
    p.registers.cr0 &= !cr0::TS;
    Ok(())
}

/// INVLPG
pub(in crate::x86) fn invalidate_page(p: &mut Processor, op: &Op) -> Done {
    p.privileged()?;
    p.add_clocks(p.config.clocks.invalidate_page.into());
    let offset = p.offset(op);
    let linear = p.registers.segment(op.segment).base.wrapping_add(offset);
    p.invalidate_page(linear);
    Ok(())
}

/// INVD, WBINVD: RAM always holds the newest data, so that nothing is lost
pub(in crate::x86) fn empty_caches(p: &mut Processor, _: &Op) -> Done {
    p.privileged()?;
    p.add_clocks(p.config.clocks.write_back.into());
    p.empty_caches();
    Ok(())
}

/// HLT
pub(in crate::x86) fn halt(p: &mut Processor, _: &Op) -> Done {
    p.privileged()?;
    p.sleep();
    Ok(())
}

/// IN, with the port in `immediate` or, if `extra` says so, in DX
pub(in crate::x86) fn input<W: Width>(p: &mut Processor, op: &Op) -> Done {
    let port = port(p, op);
    p.may_use_port(port, W::BYTES)?;
    let value = p.read_port(port, W::BYTES);
    p.set_register::<W>(0, value);
    Ok(())
}

/// OUT
pub(in crate::x86) fn output<W: Width>(p: &mut Processor, op: &Op) -> Done {
    let port = port(p, op);
    p.may_use_port(port, W::BYTES)?;
    let value = p.register::<W>(0);
    p.write_port(port, W::BYTES, value);
    Ok(())
}

fn port(p: &Processor, op: &Op) -> u16 {
    if op.extra != 0 {
        p.registers.gpr[2] as u16
    } else {
        op.immediate as u16
    }
}

/// What CPUID says of a P6: FPU, 4 MB pages, TSC, MSRs, PAE, CMPXCHG8B, APIC, global pages, CMOV (SDM volume 2, CPUID).
const FEATURES: u32 = 1 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 8 | 1 << 9 | 1 << 13 | 1 << 15;

/// Descriptors of its TLBs and caches: 32 and 64 entries of 4 KB pages, 2 and 8 of large ones, 8 KB, 8 KB, 256 KB
/// (SDM99).
const DESCRIPTORS: [u32; 4] = [0x0302_0101, 0, 0, 0x0604_0a42];

/// CPUID
pub(in crate::x86) fn identify(p: &mut Processor, _: &Op) -> Done {
    p.close_window();
    let number = p.instant().processor;
    let [eax, ebx, ecx, edx] = match p.registers.gpr[0] {
        0 => [2, 0x756e_6547, 0x6c65_746e, 0x4965_6e69],
        1 => [
            p.config.core.signature,
            u32::from(number) << 24,
            0,
            FEATURES,
        ],
        _ => DESCRIPTORS,
    };
    p.registers.gpr[0] = eax;
    p.registers.gpr[1] = ecx;
    p.registers.gpr[2] = edx;
    p.registers.gpr[3] = ebx;
    Ok(())
}

/// RDTSC
pub(in crate::x86) fn time(p: &mut Processor, _: &Op) -> Done {
    if p.registers.cr4 & cr4::TSD != 0 {
        p.privileged()?;
    }
    let now = p.now();
    p.registers.gpr[0] = now as u32;
    p.registers.gpr[2] = (now >> 32) as u32;
    Ok(())
}

/// The model-specific registers that there are: the time stamp counter, the local APIC's base, and the signature of
/// the microcode (SDM volume 4, the registers of P6 family processors).
mod msr {
    pub const TIME: u32 = 0x10;
    pub const APIC_BASE: u32 = 0x1b;
    /// CPUID puts the number of the update that has been loaded into its upper half (SDM volume 3, "Determining the
    /// signature"). None has: it reads 0, whatever was written.
    pub const MICROCODE: u32 = 0x8b;
}

/// RDMSR, WRMSR: `extra` is the opcode's second byte
pub(in crate::x86) fn model_register(p: &mut Processor, op: &Op) -> Done {
    p.privileged()?;
    p.close_window();
    let number = p.registers.gpr[1];
    if op.extra == 0x32 {
        let value = match number {
            msr::TIME => p.now(),
            msr::APIC_BASE => {
                let first = if p.instant().processor == 0 { 0x100 } else { 0 };
                u64::from(p.registers.apic_base | first)
            }
            msr::MICROCODE => 0,
            _ => return Err(Exception::GENERAL),
        };
        p.registers.gpr[0] = value as u32;
        p.registers.gpr[2] = (value >> 32) as u32;
        return Ok(());
    }
    // The time stamp counter is not written here, and the APIC stays where it is.
    match number {
        msr::APIC_BASE | msr::MICROCODE => Ok(()),
        _ => Err(Exception::GENERAL),
    }
}
