//! A copy of the processor, in which the guest's own handler reloads an entry. The copy has caches, an MMU and devices
//! of its own; it borrows RAM, and what it writes there is undone.
//!
//! Whatever a kernel's handler computes of its tables, by whatever layout, is so found out exactly, and the machine
//! does not notice it.

use super::{STACK, origin};
use crate::board::{Board, Console};
use crate::computer::{Cpu as _, Limits, Pause};
use crate::memory::{Memory, Uncore};
use crate::observe::stale::Origin;
use crate::powerpc::mmu::held::Held;
use crate::powerpc::mmu::{Access, Translation};
use crate::powerpc::msr;
use crate::powerpc::processor::{Processor, Stop};
use crate::powerpc::registers::Register;
use crate::powerpc::timers::Timers;

/// Exceptions that one access may raise before it is given up.
const EXCEPTIONS: u32 = 4;
/// Instructions of one handler.
pub const INSTRUCTIONS: u64 = 20_000;
/// The same for an entry whose words are not known.
pub const INSTRUCTIONS_UNTRACED: u64 = 4000;
/// After so many it is asked whether a program runs.
const STEP: u64 = 1000;
/// So many instructions without a store, and a handler waits for a word, which nobody writes: a lock that another
/// processor holds, or the program that the handler has interrupted.
const SPIN: u64 = 2 * STEP;
/// How many locks of one handler are let go.
const LOCKS: u32 = 4;
/// Words that a handler has loaded last, among which a lock is looked for.
const WAITED: usize = 32;
/// How far a ticket is ahead of the one that is served, at most. Two pointers are further apart.
const WAITING: u32 = 3;
/// The smaller part of a lock's word. A kernel's pointers are in the upper half of the addresses.
const TOKEN: u32 = 0x8000_ffff;
/// The first register that a call leaves as it was.
const KEPT: u32 = 14;
/// How often one handler may stop without an instruction.
const STOPS: u32 = 10;
/// Double words that are written to a page that is filled. To the page of the kernel's stack a handler writes less.
const FILLED_LEAST: usize = 256;
/// Bytes that are hidden of a copy of a word that the kernel keeps for the next miss.
pub const HIDDEN: u32 = 16;
/// What of the MSR says where an access was made.
const MODE: u32 = msr::PR | msr::IR | msr::DR;

/// What the guest does if an access finds no entry.
#[derive(Debug)]
pub enum Answer {
    /// It loads an entry.
    Loaded(Reloaded),
    /// The program goes on somewhere else.
    Refused,
    /// That did not end.
    Unknown,
}

/// An entry that the guest has loaded in the copy.
#[derive(Debug)]
pub struct Reloaded {
    pub translation: Translation,
    pub held: Option<Held>,
    /// The words it was made of, with what they hold outside of the copy.
    pub origin: Origin,
    /// What the copy has left in the last of these words, if that is another value.
    pub changed: Option<u64>,
    /// It has filled the page, as it does one that is new.
    pub wrote: bool,
}

/// The copy.
pub struct Copy {
    processor: Box<Processor>,
    /// [`crate::memory::cache::Cache::invalidations`] of the I-cache when the copy's code was known to be that of RAM.
    code: u64,
    /// Instructions of the next handler.
    pub most: u64,
}

impl Copy {
    /// One of `processor`'s kind; `None` if none can be made.
    pub fn of(processor: &Processor) -> Option<Copy> {
        let config = processor.config();
        let board = Board::new(config, Console::memory());
        let uncore = Uncore::from_config(config, board).ok()?;
        let memory = Memory::from_config(config, uncore).ok()?;
        let mut copy = Processor::new(0, config.clone(), memory, &[]).ok()?;
        copy.several = false;
        copy.compiler.set(None);
        copy.following = true;
        Some(Copy {
            processor: Box::new(copy),
            code: 0,
            most: INSTRUCTIONS,
        })
    }

    /// What the guest does if an access of `processor` to `ea`, by the instruction at `pc`, finds no entry, nor what is
    /// at `hidden`.
    pub fn answer(
        &mut self,
        processor: &mut Processor,
        (ea, pc): (u32, u32),
        access: Access,
        (entry, hidden): (&Held, Option<u32>),
    ) -> Answer {
        let copy = &mut *self.processor;
        std::mem::swap(
            &mut processor.memory.uncore.ram,
            &mut copy.memory.uncore.ram,
        );
        copy.registers = processor.registers.clone();
        copy.registers.reservation = None;
        copy.registers.pc = pc;
        copy.mmu = processor.mmu.clone();
        let user = copy.registers.msr & msr::PR != 0;
        copy.mmu.drop_held(ea, access.is_fetch(), user);
        copy.begin_copy();
        let code = &processor.memory.instruction;
        if self.code != code.invalidations() {
            self.code = code.invalidations();
            copy.memory.instruction.invalidate_all();
        }
        copy.memory.instruction.set_enabled(code.enabled());
        copy.memory
            .data
            .set_enabled(processor.memory.data.enabled());
        copy.memory.undo = Some(Vec::new());
        copy.mmu.hide_in_table(&entry.key, &mut copy.memory);
        if let Some(at) = hidden {
            copy.memory.remember(at, HIDDEN);
            copy.memory.uncore.ram.write_u64(at, 0);
            copy.memory.uncore.ram.write_u64(at + 8, 0);
        }
        copy.trail.clear();
        copy.followed_for = ea;
        copy.state_changed();
        copy.make_ready();
        copy.copied_stack = Some(copy.registers.gpr.get(Register::new(1)));
        let mut answer = copy.reload((ea, pc), access, self.most);
        let undo = copy.memory.undo.take().unwrap_or_default();
        let mut leaf = None;
        if let Answer::Loaded(loaded) = &mut answer {
            let frame = loaded.translation.pa >> 12;
            let written = undo.iter().filter(|(at, _)| at >> 12 == frame);
            loaded.wrote = written.count() >= FILLED_LEAST;
            loaded.origin.read_again(&copy.memory.uncore.ram);
            leaf = loaded.origin.leaf();
        }
        for (at, value) in undo.into_iter().rev() {
            copy.memory.uncore.ram.write_u64(at, value);
        }
        if let Answer::Loaded(loaded) = &mut answer {
            loaded.origin.read_again(&copy.memory.uncore.ram);
            let left = leaf.map(|word| word.value);
            loaded.changed = left.filter(|_| leaf != loaded.origin.leaf());
        }
        copy.memory.uncore.notices.clear();
        copy.memory.uncore.effects.clear();
        std::mem::swap(
            &mut processor.memory.uncore.ram,
            &mut copy.memory.uncore.ram,
        );
        answer
    }
}

impl Processor {
    /// The copy's clock goes on alone, and no timer interrupts a handler.
    fn begin_copy(&mut self) {
        self.timers = Timers::new(&self.config);
        self.timers
            .set_decrementer(i32::MAX as u32, self.hot.cycles);
        self.settle_copy();
    }

    fn reload(&mut self, (ea, pc): (u32, u32), access: Access, most: u64) -> Answer {
        let mode = self.registers.msr;
        for _ in 0..=EXCEPTIONS {
            let (memory, cycles) = (&mut self.memory, self.hot.cycles);
            let found = self
                .mmu
                .translate(ea, access, mode, memory, cycles, &mut self.account);
            let fault = match found {
                Ok(translation) => {
                    let user = mode & msr::PR != 0;
                    let held = self.mmu.held(ea, access.is_fetch(), user);
                    let place = self.mmu.table_place();
                    let origin = held.map(|held| origin(&self.trail, &held, place));
                    return Answer::Loaded(Reloaded {
                        translation,
                        held,
                        origin: origin.unwrap_or_default(),
                        changed: None,
                        wrote: false,
                    });
                }
                Err(fault) => fault,
            };
            let exception = self.fault(fault, ea);
            if !self.take(exception, 0) {
                return Answer::Unknown;
            }
            match self.handled((pc, mode), most) {
                None => {}
                Some(answer) => return answer,
            }
        }
        Answer::Unknown
    }

    /// Runs a handler until the access is made again; otherwise returns the answer. That the program goes on somewhere
    /// else, or the kernel, is seen where the handler returns by `rfi`, a 405's `rfci` or a 970's `rfid`. One that goes
    /// back into the kernel by `mtmsr` and a branch, to another place than the access, is not seen to end:
    /// [`Answer::Unknown`].
    fn handled(&mut self, (pc, mode): (u32, u32), most: u64) -> Option<Answer> {
        let last = self.hot.instructions + most;
        let mut stops = 0;
        let mut written = (usize::MAX, self.hot.instructions);
        let mut locks = 0;
        while stops < STOPS {
            let stores = self.stores();
            if stores != written.0 {
                written = (stores, self.hot.instructions);
            } else if self.hot.instructions - written.1 >= SPIN {
                if locks == LOCKS || !self.let_go() {
                    break;
                }
                locks += 1;
                written.1 = self.hot.instructions;
            }
            let before = self.hot.instructions;
            let limits = Limits {
                instructions: self.hot.instructions + STEP,
                ..Limits::NONE
            };
            let state = &self.registers;
            if state.pc == pc && (state.msr ^ mode) & MODE == 0 {
                return None;
            }
            if self.hot.instructions >= last {
                break;
            }
            self.running.stop = None;
            self.hot.set_deadline(0);
            self.returned = false;
            self.times_mut().end = u64::MAX;
            match self.run_turn(limits) {
                Pause::TurnOver | Pause::Stopped(Stop::Limit) => {
                    if self.registers.pc != pc && self.has_come_back(mode) {
                        return Some(Answer::Refused);
                    }
                }
                Pause::Stopped(_) => break,
            }
            if self.hot.instructions == before {
                stops += 1;
            }
        }
        Some(Answer::Unknown)
    }

    /// How often the copy has written, its stack apart: a handler that waits may call functions.
    fn stores(&self) -> usize {
        let stack = self.registers.gpr.get(Register::new(1)) & STACK;
        let undo = self.memory.undo.iter().flatten();
        undo.filter(|(at, _)| at & STACK != stack).count()
    }

    /// A lock becomes free in the copy: what the tables say then is what the handler would load as soon as it may.
    /// False if there is no lock among the words that were loaded last.
    ///
    /// Of a lock with tickets, the word with the number that is served becomes the number that the handler waits with
    /// in a register. Of any other one, the word becomes 0. A lock holds 1, or who has it as a number or a physical
    /// address.
    fn let_go(&mut self) -> bool {
        let words = || self.trail.iter().rev().take(WAITED);
        let ticket = words().find_map(|&(at, served)| Some((at, self.ticket(served)?)));
        let taken = |word: &&(u32, u32)| word.1 != 0 && (word.1 < 1 << 31 || word.1 & !TOKEN == 0);
        let lock = || words().find(taken).map(|word| (word.0, 0));
        let Some((at, free)) = ticket.or_else(lock) else {
            return false;
        };
        self.memory.remember(at, 4);
        self.memory.uncore.ram.write_u32(at, free)
    }

    /// The number of a register that waits for this one to be served.
    fn ticket(&self, served: u32) -> Option<u32> {
        let gpr = &self.registers.gpr;
        let mut kept = (KEPT..32).map(|n| gpr.get(Register::new(n)));
        kept.find(|number| served != 0 && (1..=WAITING).contains(&number.wrapping_sub(served)))
    }

    /// A program goes on, or the code of the kernel that made the access: `rfi` has gone back to its mode and stack.
    fn has_come_back(&self, mode: u32) -> bool {
        let stack = self.registers.gpr.get(Register::new(1));
        self.registers.msr & msr::PR != 0
            || (self.registers.msr ^ mode) & MODE == 0
                && self.returned
                && self.copied_stack == Some(stack)
    }

    /// An instruction has returned from an exception: a copy looks whether the access is made again.
    pub(crate) fn note_return_of_copy(&mut self) {
        if self.memory.undo.is_some() {
            self.returned = true;
            self.halt(Stop::Limit);
        }
    }
}
