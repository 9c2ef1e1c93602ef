//! Traps: exceptions and interrupts, who handles them, and the way back (RISC-V Privileged Architecture 20211203, 3.1
//! and 4.1).

use std::fmt;

use super::csr::{menvcfg, mstatus, privilege};
use super::processor::Processor;
use crate::account::Names;
use crate::computer::{EXCEPTIONS_MOST, Progressing as _, Stop};
use crate::observe::Interruption;

/// Numbers of exceptions.
pub mod cause {
    pub const FETCH_ACCESS: u8 = 1;
    pub const ILLEGAL: u8 = 2;
    pub const BREAKPOINT: u8 = 3;
    pub const LOAD_MISALIGNED: u8 = 4;
    pub const LOAD_ACCESS: u8 = 5;
    pub const STORE_MISALIGNED: u8 = 6;
    pub const STORE_ACCESS: u8 = 7;
    /// From user mode; the numbers of calls from other modes follow.
    pub const CALL: u8 = 8;
    pub const FETCH_PAGE: u8 = 12;
    pub const LOAD_PAGE: u8 = 13;
    pub const STORE_PAGE: u8 = 15;
}

/// Bits of mip and mie, by number.
pub mod interrupt {
    pub const SUPERVISOR_SOFTWARE: u64 = 1 << 1;
    pub const MACHINE_SOFTWARE: u64 = 1 << 3;
    pub const SUPERVISOR_TIMER: u64 = 1 << 5;
    pub const MACHINE_TIMER: u64 = 1 << 7;
    pub const SUPERVISOR_EXTERNAL: u64 = 1 << 9;
    pub const MACHINE_EXTERNAL: u64 = 1 << 11;
    /// Those of supervisor mode.
    pub const SUPERVISOR: u64 = SUPERVISOR_SOFTWARE | SUPERVISOR_TIMER | SUPERVISOR_EXTERNAL;
    pub const ALL: u64 = SUPERVISOR | MACHINE_SOFTWARE | MACHINE_TIMER | MACHINE_EXTERNAL;
    /// Numbers, the one that goes first first.
    pub const ORDER: [u8; 6] = [11, 3, 7, 9, 1, 5];
}

/// An instruction has raised an exception, which is in [`Processor::raised`].
#[derive(Debug)]
pub struct Raised;

/// An exception: its number, and what xtval says of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trap {
    pub cause: u8,
    pub value: u64,
}

/// In the account interrupts follow exceptions.
const INTERRUPTS: usize = 32;

const EXCEPTION_NAMES: [&str; 16] = [
    "fetch-misaligned",
    "fetch-access",
    "illegal",
    "breakpoint",
    "load-misaligned",
    "load-access",
    "store-misaligned",
    "store-access",
    "call.user",
    "call.supervisor",
    "exception-10",
    "call.machine",
    "fetch-page",
    "load-page",
    "exception-14",
    "store-page",
];

fn interrupt_name(number: usize) -> Option<&'static str> {
    Some(match number {
        1 => "software.supervisor",
        3 => "software.machine",
        5 => "timer.supervisor",
        7 => "timer.machine",
        9 => "external.supervisor",
        11 => "external.machine",
        _ => return None,
    })
}

/// The name of an exception in messages.
#[must_use]
pub fn name(cause: u8) -> &'static str {
    EXCEPTION_NAMES.get(usize::from(cause)).unwrap_or(&"?")
}

/// How a RISC-V processor's counters are called.
pub const COUNTERS: Names = Names {
    renamed: &[
        ("hash.search", "walk.count"),
        ("hash.search.instruction", "walk.count.instruction"),
        ("hash.referenced", "walk.accessed"),
        ("hash.changed", "walk.dirty"),
        ("tlb.invalidate", "tlb.fence"),
        ("tlb.load", "tlb.fence.all"),
        ("tlb.taken", "tlb.fence.entries"),
    ],
    absent: &[
        "hash.",
        "sync.",
        "tlb.shadow.",
        "tlb.received",
        "tlb.retried",
        "tlb.data.unchanged",
    ],
    exception: |number| match number {
        0..16 => Some(format!("exception.{}", EXCEPTION_NAMES[number])),
        INTERRUPTS.. => interrupt_name(number - INTERRUPTS).map(|name| format!("interrupt.{name}")),
        _ => None,
    },
};

/// A state from which the guest cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fatal {
    /// Exceptions follow one another without an instruction that completes: this was the last one.
    Stuck { pc: u64, cause: u8 },
    /// WFI, and no interrupt can come.
    Asleep { pc: u64 },
    /// A sanitizer has found an error.
    Sanitizer { report: String },
}

impl fmt::Display for Fatal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fatal::Stuck { cause, .. } => write!(
                out,
                "no instruction completes: {EXCEPTIONS_MOST} exceptions came in a row, and another {} exception",
                name(*cause)
            ),
            Fatal::Sanitizer { report } => write!(out, "sanitizer: {report}"),
            Fatal::Asleep { pc } => {
                write!(
                    out,
                    "the processor waits at {pc:#x}, and no interrupt can wake it"
                )
            }
        }
    }
}

impl Processor {
    /// The running instruction raises an exception. Never `Ok`.
    #[inline(never)]
    pub(super) fn raise<T>(&mut self, cause: u8, value: u64) -> Result<T, Raised> {
        self.raised = Trap { cause, value };
        Err(Raised)
    }

    /// Takes the exception that has been raised.
    #[cold]
    pub(super) fn take_exception(&mut self) {
        let Trap { cause, value } = self.raised;
        if self.hosted {
            self.account.counters.exception[usize::from(cause)] += 1;
            self.stop = Some(Stop::Exception(self.raised));
            self.due = 0;
            return;
        }
        if self.is_stuck() {
            self.stop = Some(Stop::Fatal(Fatal::Stuck { pc: self.pc, cause }));
            self.due = 0;
            return;
        }
        let delegated = self.privilege < privilege::MACHINE && self.csr.medeleg >> cause & 1 != 0;
        self.enter_trap(cause.into(), false, value, delegated);
    }

    /// Goes to the handler of a trap.
    fn enter_trap(&mut self, number: u64, interrupts: bool, value: u64, supervisor: bool) {
        let slot = number as usize + if interrupts { INTERRUPTS } else { 0 };
        self.account.counters.exception[slot] += 1;
        if self.observers.watch_time() {
            self.close_watch();
        }
        let name = if interrupts {
            interrupt_name(number as usize).unwrap_or("interrupt")
        } else {
            name(number as u8)
        };
        let which = Interruption {
            name,
            counter: name,
        };
        let at = (self.pc as u32, self.account.user, self.account.cause);
        self.observers.exception(which, at, self.cycles);
        self.advance(self.config.clocks.trap);
        let csr = &mut self.csr;
        let cause = number | u64::from(interrupts) << 63;
        let (from, old) = (u64::from(self.privilege), csr.mstatus);
        let vector;
        if supervisor {
            (csr.scause, csr.sepc, csr.stval) = (cause, self.pc, value);
            csr.mstatus = old & !(mstatus::SIE | mstatus::SPIE | mstatus::SPP)
                | (old & mstatus::SIE) << 4
                | (from & 1) << 8;
            vector = csr.stvec;
            self.privilege = privilege::SUPERVISOR;
        } else {
            (csr.mcause, csr.mepc, csr.mtval) = (cause, self.pc, value);
            csr.mstatus = old & !(mstatus::MIE | mstatus::MPIE | mstatus::MPP)
                | (old & mstatus::MIE) << 4
                | from << 11;
            vector = csr.mtvec;
            self.privilege = privilege::MACHINE;
        }
        let offset = if interrupts && vector & 1 != 0 {
            4 * number
        } else {
            0
        };
        self.pc = (vector & !3).wrapping_add(offset);
        self.modes_changed();
    }

    /// mret.
    pub(super) fn return_from_machine(&mut self) {
        let old = self.csr.mstatus;
        let to = (old >> 11 & 3) as u8;
        let kept = if to == privilege::MACHINE {
            old
        } else {
            old & !mstatus::MPRV
        };
        self.csr.mstatus =
            kept & !(mstatus::MIE | mstatus::MPP) | (old & mstatus::MPIE) >> 4 | mstatus::MPIE;
        self.privilege = to;
        self.next = self.csr.mepc;
        self.advance(self.config.clocks.return_);
        self.modes_changed();
        if self.sanitized && to == privilege::USER {
            self.note_return();
        }
    }

    /// sret.
    pub(super) fn return_from_supervisor(&mut self) {
        let old = self.csr.mstatus;
        self.csr.mstatus = old & !(mstatus::SIE | mstatus::SPP | mstatus::MPRV)
            | (old & mstatus::SPIE) >> 4
            | mstatus::SPIE;
        self.privilege = (old >> 8 & 1) as u8;
        self.next = self.csr.sepc;
        self.advance(self.config.clocks.return_);
        self.modes_changed();
        if self.sanitized && self.privilege == privilege::USER {
            self.note_return();
        }
    }

    /// The interrupts that ask now.
    pub(super) fn mip(&self) -> u64 {
        let lines = self.memory.uncore.board.lines(self.number, self.instant());
        if self.csr.menvcfg & menvcfg::STCE == 0 {
            return lines | self.csr.software;
        }
        let rung = self.config.ticks(self.cycles) >= self.csr.stimecmp;
        let timer = if rung { interrupt::SUPERVISOR_TIMER } else { 0 };
        lines | self.csr.software & !interrupt::SUPERVISOR_TIMER | timer
    }

    /// The interrupt that is taken next, and whether supervisor mode takes it.
    fn interrupt(&self) -> Option<(u8, bool)> {
        let asking = self.mip() & self.csr.mie;
        if asking == 0 {
            return None;
        }
        let status = self.csr.mstatus;
        let machine = asking & !self.csr.mideleg;
        let supervisor = asking & self.csr.mideleg;
        let first = |set: u64| {
            interrupt::ORDER
                .into_iter()
                .find(|&number| set >> number & 1 != 0)
        };
        let enabled = self.privilege < privilege::MACHINE || status & mstatus::MIE != 0;
        if enabled && let Some(number) = first(machine) {
            return Some((number, false));
        }
        let enabled = self.privilege < privilege::SUPERVISOR
            || self.privilege == privilege::SUPERVISOR && status & mstatus::SIE != 0;
        let number = first(supervisor).filter(|_| enabled)?;
        Some((number, true))
    }

    /// Takes an interrupt, if one asks and is allowed.
    pub(super) fn take_interrupt(&mut self) {
        if !self.hosted
            && let Some((number, supervisor)) = self.interrupt()
        {
            self.enter_trap(number.into(), true, 0, supervisor);
        }
    }

    /// An interrupt asks that ends WFI, whether or not it is taken.
    pub(super) fn is_roused(&self) -> bool {
        self.mip() & self.csr.mie != 0
    }
}
