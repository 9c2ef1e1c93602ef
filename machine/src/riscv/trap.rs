//! Traps: exceptions and interrupts, who handles them, and the way back (RISC-V Privileged Architecture 20211203, 3.1
//! and 4.1).

use std::fmt;

use super::csr::{menvcfg, mstatus, privilege};
use super::processor::Processor;
use crate::account::Names;
use crate::computer::{EXCEPTIONS_MOST, Progressing as _, Stop};

/// Exceptions: their numbers, from 0 on, and their names in counters and messages.
macro_rules! exceptions {
    ($($(#[$doc:meta])* $constant:ident $number:literal $name:literal;)*) => {
        pub mod cause {
            $($(#[$doc])* pub const $constant: u8 = $number;)*
        }

        const EXCEPTION_NAMES: [&str; 16] = [$($name),*];
    };
}

exceptions! {
    FETCH_MISALIGNED 0 "fetch-misaligned";
    FETCH_ACCESS 1 "fetch-access";
    ILLEGAL 2 "illegal";
    BREAKPOINT 3 "breakpoint";
    LOAD_MISALIGNED 4 "load-misaligned";
    LOAD_ACCESS 5 "load-access";
    STORE_MISALIGNED 6 "store-misaligned";
    STORE_ACCESS 7 "store-access";
    /// From user mode; the numbers of calls from other modes follow.
    CALL 8 "call.user";
    CALL_SUPERVISOR 9 "call.supervisor";
    RESERVED_10 10 "exception-10";
    CALL_MACHINE 11 "call.machine";
    FETCH_PAGE 12 "fetch-page";
    LOAD_PAGE 13 "load-page";
    RESERVED_14 14 "exception-14";
    STORE_PAGE 15 "store-page";
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
        if self.running.hosted {
            self.account.counters.exception[usize::from(cause)] += 1;
            self.running.stop = Some(Stop::Exception(self.raised));
            self.running.deadline = 0;
            return;
        }
        if self.is_stuck() {
            self.running.stop = Some(Stop::Fatal(Fatal::Stuck { pc: self.pc, cause }));
            self.running.deadline = 0;
            return;
        }
        let delegated = self.privilege < privilege::MACHINE && self.csr.medeleg >> cause & 1 != 0;
        self.enter_trap(cause.into(), false, value, handler(delegated));
    }

    /// Goes to the handler of a trap, which runs in this mode.
    fn enter_trap(&mut self, number: u64, interrupts: bool, value: u64, mode: u8) {
        let slot = number as usize + if interrupts { INTERRUPTS } else { 0 };
        self.account.counters.exception[slot] += 1;
        if let Some(set) = self.config.tlb.extreme.leaves(self.cycles) {
            self.mmu.leave(set);
            self.fetched = super::processor::NOWHERE;
        }
        if self.observers.watch_time() {
            self.close_watch();
        }
        let name = if interrupts {
            interrupt_name(number as usize).unwrap_or("interrupt")
        } else {
            name(number as u8)
        };
        self.note_exception(name);
        if self.observers.listener.is_some() {
            self.note_path(number == u64::from(cause::CALL + privilege::SUPERVISOR) && !interrupts);
        }
        self.advance(self.config.clocks.trap);
        let old = self.csr.mstatus;
        let (mask, shift) = before(mode);
        self.csr.mstatus = old & !(1 << mode | 16 << mode | mask)
            | (old & 1 << mode) << 4
            | u64::from(self.privilege) << shift & mask;
        self.privilege = mode;
        let level = self.csr.level(mode);
        level.cause = number | u64::from(interrupts) << 63;
        (level.epc, level.tval) = (self.pc, value);
        let vectored = interrupts && level.tvec & 1 != 0;
        let offset = if vectored { 4 * number } else { 0 };
        self.pc = (level.tvec & !3).wrapping_add(offset);
        self.modes_changed();
    }

    /// mret or sret: back from a handler that runs in this mode.
    pub(super) fn return_from(&mut self, mode: u8) {
        let old = self.csr.mstatus;
        let (mask, shift) = before(mode);
        self.privilege = ((old & mask) >> shift) as u8;
        let lost = if self.privilege == privilege::MACHINE {
            mask
        } else {
            mask | mstatus::MPRV
        };
        self.csr.mstatus = old & !(1 << mode | lost) | (old & 16 << mode) >> 4 | 16 << mode;
        self.next = self.csr.level(mode).epc;
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

    /// The interrupt that is taken next, and the mode whose handler takes it.
    fn interrupt(&self) -> Option<(u8, u8)> {
        let asking = self.mip() & self.csr.mie;
        if asking == 0 {
            return None;
        }
        [false, true].into_iter().find_map(|delegated| {
            let mode = handler(delegated);
            let enabled = self.privilege < mode
                || self.privilege == mode && self.csr.mstatus >> mode & 1 != 0;
            let other = if delegated { !0 } else { 0 };
            let asking = asking & !(self.csr.mideleg ^ other);
            let mut order = interrupt::ORDER.into_iter().filter(|_| enabled);
            Some((order.find(|&number| asking >> number & 1 != 0)?, mode))
        })
    }

    /// Takes an interrupt, if one asks and is allowed.
    pub(super) fn take_interrupt(&mut self) {
        if !self.running.hosted
            && let Some((number, mode)) = self.interrupt()
        {
            self.enter_trap(number.into(), true, 0, mode);
        }
    }
}

/// The mode whose handler takes what is delegated, or is not.
fn handler(delegated: bool) -> u8 {
    if delegated {
        privilege::SUPERVISOR
    } else {
        privilege::MACHINE
    }
}

/// Where mstatus has the mode that a trap to this mode came from: the field, and its lowest bit.
fn before(mode: u8) -> (u64, u32) {
    if mode == privilege::MACHINE {
        (mstatus::MPP, 11)
    } else {
        (mstatus::SPP, 8)
    }
}
