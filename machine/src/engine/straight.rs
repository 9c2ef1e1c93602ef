//! The seam for an instruction set: what a processor says of its instructions, and how they run, one after another,
//! each decoded once. Several processors can implement [`Runs`] in one program; RISC-V and the toy of
//! `machine/tests/toy` do.

use super::blocks::{Blocks, Part, Successor};
use crate::computer::{Limits, Pause, Progressing, Stop, StopOf};
use crate::memory::RamAddress;

/// A decoded instruction.
pub trait Instruction: Copy {
    /// Bytes of an instruction at most.
    const LONGEST: u32;

    /// Its bytes.
    fn length(&self) -> u32;

    /// It ends a block: what comes behind it is fetched anew.
    fn ends(&self) -> bool;
}

/// Instructions of a block at most.
const MOST: usize = 32;

/// A part of a block.
#[derive(Clone, Copy)]
pub enum Straight<I> {
    /// Its head. One without bytes is of no valid block. `kept`: more is kept of it elsewhere. `away` has its links to
    /// what it jumps to, and to what is behind it.
    Head {
        pa: RamAddress,
        bytes: u32,
        away: [i32; 2],
        kept: bool,
    },
    Instruction(I),
    End,
}

impl<I: Instruction> Part for Straight<I> {
    const BYTES_MOST: u32 = I::LONGEST * MOST as u32;

    fn heads(&self, pa: RamAddress, _mode: bool) -> bool {
        matches!(self, Straight::Head { pa: at, bytes, .. } if *at == pa && *bytes != 0)
    }

    fn begins_at(&self, pa: RamAddress, mode: bool) -> bool {
        self.heads(pa, mode)
    }

    fn bytes(&self) -> u32 {
        match self {
            Straight::Head { bytes, .. } => *bytes,
            _ => 0,
        }
    }

    fn drop_block(&mut self) {
        *self = Straight::Head {
            pa: 0,
            bytes: 0,
            away: [0; 2],
            kept: self.is_kept(),
        };
    }

    #[inline(always)]
    fn away(&self, successor: Successor) -> i32 {
        match self {
            Straight::Head { away, .. } => away[successor as usize],
            _ => 0,
        }
    }

    #[inline(always)]
    fn set_away(&mut self, successor: Successor, to: i32) {
        if let Straight::Head { away, .. } = self {
            away[successor as usize] = to;
        }
    }

    #[inline(always)]
    fn is_kept(&self) -> bool {
        matches!(self, Straight::Head { kept: true, .. })
    }
}

/// A processor that runs one instruction after another.
///
/// # Safety
/// [`Runs::blocks`] always gives the same blocks, and [`Runs::step`] neither enters one nor drops them all.
pub unsafe trait Runs: Progressing {
    type Instruction: Instruction;

    /// Why an instruction does not end.
    type Raised;

    /// The instruction at `at`, which these bytes begin with. Bytes that it has and that are not here are 0.
    fn decode(&self, at: RamAddress, bytes: &[u8]) -> Self::Instruction;

    /// Where the next instruction is.
    #[inline(always)]
    fn address(&self) -> u64 {
        self.next_instruction()
    }

    /// Where the instruction at `va` is in RAM. Its line is fetched unless it was fetched last.
    ///
    /// # Errors
    /// There is none, or it must not be fetched.
    fn fetch(&mut self, va: u64) -> Result<RamAddress, Self::Raised>;

    /// Runs one instruction. The caller has fetched the line of the first one of a block; `step` fetches each line that
    /// is reached after it.
    ///
    /// # Errors
    /// Why it does not end.
    fn step(&mut self, instruction: &Self::Instruction) -> Result<(), Self::Raised>;

    fn blocks(&mut self) -> &mut Blocks<Straight<Self::Instruction>>;

    /// These bytes of RAM change: code there is decoded anew.
    #[inline]
    fn drop_code(&mut self, at: RamAddress, bytes: u32) {
        if self.blocks().holds(at, bytes) {
            self.blocks().forget(at, bytes);
            self.running_mut().stale = true;
        }
    }

    /// Takes the exception for which an instruction did not end.
    fn take_exception(&mut self, raised: Self::Raised);

    /// Takes an interrupt, if one asks and is allowed.
    fn take_interrupt(&mut self) {}

    /// Each instruction is decoded when it runs: with the oracle on, or while the debugger has a breakpoint.
    #[inline(always)]
    fn decodes_each(&self) -> bool {
        self.running().oracle || !self.running().breakpoints.is_empty()
    }

    /// An event or a limit comes before the next block.
    #[inline(always)]
    fn is_due(&self) -> bool {
        let (now, running) = (self.instant(), self.running());
        now.cycles >= running.deadline || now.instructions >= running.limits.instructions
    }

    /// Runs until something stops the machine, a limit is reached, or the turn is over.
    fn run_turn(&mut self, limits: Limits) -> Pause<StopOf<Self>> {
        self.running_mut().limits = limits;
        self.running_mut().deadline = 0;
        self.begin_watch();
        loop {
            if self.is_due()
                && let Some(pause) = self.events()
            {
                self.close_watch();
                return pause;
            }
            if self.observers().watch_time() {
                self.tell_observers(self.next_instruction());
            }
            self.running_mut().stale = false;
            if let Err(raised) = self.run_block() {
                self.take_exception(raised);
            }
            if !self.running().breakpoints.is_empty() || self.observers().batch_is_full() {
                self.running_mut().deadline = 0;
            }
        }
    }

    /// Handles interrupts, limits and stops before the next instruction, and sets the next deadline.
    fn events(&mut self) -> Option<Pause<StopOf<Self>>> {
        let turn_over = self.instant().cycles >= self.times().end;
        let (stop, limits) = (self.running_mut().stop.take(), self.running().limits);
        if let Some(pause) = self.pauses(stop, limits, turn_over) {
            return Some(pause);
        }
        self.take_interrupt();
        let quiet = self.quiet_until(limits);
        let address = self.address();
        let running = self.running_mut();
        running.deadline = quiet.min(running.times.end);
        if !running.breakpoints.is_empty() {
            if running.breakpoints.stops_at(address) {
                return Some(Pause::Stopped(Stop::Breakpoint { address }));
            }
            running.breakpoints.passed();
        }
        None
    }

    /// Runs the block at the program counter, or as much of it as nothing else is due.
    ///
    /// # Errors
    /// Why an instruction did not end.
    #[inline(always)]
    fn run_block(&mut self) -> Result<(), Self::Raised> {
        let pa = self.fetch(self.address())?;
        if self.decodes_each() {
            return self.run_apart(pa);
        }
        // Instructions lie at even addresses, or, where they do not, two of them may share a place.
        let target = (self.address() >> 1) as u32;
        let mut head = self.blocks().following(target, pa, false);
        if head.is_null() {
            let block = self.block(pa);
            if block.is_empty() {
                return self.run_apart(pa);
            }
            head = self.blocks().enter(pa, false, &block);
        }
        // SAFETY: `head` is of a block of these blocks.
        unsafe { self.run_decoded(head) }
    }

    /// Runs the instructions of a block behind `part`, its head or one of them, or as many as nothing else is due. A
    /// processor may know a faster way than [`Runs::run_behind`].
    ///
    /// # Errors
    /// Why an instruction did not end.
    ///
    /// # Safety
    /// `part` must be the head, or an instruction, of a block of [`Runs::blocks`].
    #[inline(always)]
    unsafe fn run_decoded(
        &mut self,
        part: *const Straight<Self::Instruction>,
    ) -> Result<(), Self::Raised> {
        // SAFETY: the caller's.
        unsafe { self.run_behind(part) }
    }

    /// Runs the instructions of a block behind `part`, one after another, or as many as nothing else is due.
    ///
    /// # Errors
    /// Why an instruction did not end.
    ///
    /// # Safety
    /// As [`Runs::run_decoded`].
    #[inline(always)]
    unsafe fn run_behind(
        &mut self,
        part: *const Straight<Self::Instruction>,
    ) -> Result<(), Self::Raised> {
        for n in 1.. {
            // SAFETY: no block is entered meanwhile, as an implementor promises; the block's end comes behind its last
            // instruction. No part behind the head is written.
            let Straight::Instruction(instruction) = (unsafe { &*part.add(n) }) else {
                break;
            };
            self.step(instruction)?;
            if self.running().stale || self.is_due() {
                break;
            }
        }
        Ok(())
    }

    /// RAM from `pa` to the end of its page.
    fn rest_of_page(&self, pa: RamAddress) -> &[u8] {
        let page = pa as usize..(pa as usize | 0xfff) + 1;
        self.memory()
            .uncore
            .ram
            .bytes()
            .get(page)
            .unwrap_or_default()
    }

    /// The block at `pa`. Empty if the first instruction goes on in the next page.
    fn block(&self, pa: RamAddress) -> Vec<Straight<Self::Instruction>> {
        let (code, mut bytes) = (self.rest_of_page(pa), 0);
        let head = |bytes| Straight::Head {
            pa,
            bytes,
            away: [0; 2],
            kept: false,
        };
        let mut block = vec![head(bytes)];
        while block.len() <= MOST && (bytes as usize) < code.len() {
            let instruction = self.decode(pa + bytes, &code[bytes as usize..]);
            if (bytes + instruction.length()) as usize > code.len() {
                break;
            }
            bytes += instruction.length();
            block.push(Straight::Instruction(instruction));
            if instruction.ends() {
                break;
            }
        }
        if bytes == 0 {
            return Vec::new();
        }
        block[0] = head(bytes);
        block.push(Straight::End);
        block
    }

    /// Runs the instruction at `pa`, decoded anew; it may go on in another page.
    ///
    /// # Errors
    /// Why it does not end.
    #[inline(never)]
    fn run_apart(&mut self, pa: RamAddress) -> Result<(), Self::Raised> {
        let code = self.rest_of_page(pa);
        let mut instruction = self.decode(pa, code);
        if instruction.length() as usize > code.len() {
            let mut bytes = code.to_vec();
            let next = self.fetch((self.address() | 0xfff).wrapping_add(1))?;
            let more = self.rest_of_page(next);
            bytes.extend(&more[..more.len().min(Self::Instruction::LONGEST as usize)]);
            instruction = self.decode(pa, &bytes);
        }
        self.step(&instruction)
    }
}
