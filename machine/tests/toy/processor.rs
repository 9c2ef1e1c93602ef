//! The toy's processor: translation by a tree of three levels, fetches, accesses, traps.

use pagewalk_machine::account::tlb_events::{Space, Step, Tables, TlbMiss, TlbPage, Tree};
use pagewalk_machine::account::{Account, Event, Plain};
use pagewalk_machine::computer::{
    Breakpoints, Cpu as _, Limits, Pause, Progress, Progressing, Stop, TurnTimes,
};
use pagewalk_machine::config::TlbConfig;
use pagewalk_machine::engine::blocks::Blocks;
use pagewalk_machine::engine::straight::{Instruction as _, Runs, Straight};
use pagewalk_machine::memory::{Memory, Physical, Ram, RamAddress, attribute};
use pagewalk_machine::observe::{Interruption, Observers};
use pagewalk_machine::tlb::sized::{Entry, Tlb};
use serde::{Deserialize, Serialize};

use super::computer::{Config, Dump};
use super::instructions::{Binary, Op, Values, code, run};

/// Why an instruction does not end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trap {
    Illegal = 2,
    Misaligned = 4,
    NoMemory = 5,
    Call = 8,
    PageFault = 12,
}

/// Numbers of the control registers.
pub mod control {
    pub const ROOT: usize = 0;
    pub const VECTOR: usize = 1;
    pub const PC: usize = 2;
    pub const CAUSE: usize = 3;
    pub const ADDRESS: usize = 4;
    pub const USER: usize = 5;
    pub const NUMBER: usize = 6;
    pub const ALL: usize = 7;
}

/// Bits of a page-table entry.
pub mod pte {
    pub const VALID: u64 = 1;
    pub const READ: u64 = 2;
    pub const WRITE: u64 = 4;
    pub const EXECUTE: u64 = 8;
    pub const USER: u64 = 16;
}

const TLB_ENTRIES: u32 = 8;
const LINE: u64 = 32;
/// No line has this address.
const NOWHERE: u64 = 1;

/// What a snapshot holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct State {
    pub x: [u64; 16],
    pub pc: u64,
    pub user: bool,
    pub control: [u64; control::ALL],
    pub tlb: Tlb,
    pub cycles: u64,
    pub instructions: u64,
    pub progress: Progress,
    /// The line that was fetched last, and where it is in RAM.
    pub fetched: (u64, RamAddress),
}

pub struct Toy {
    pub number: u8,
    pub config: Config,
    pub state: State,
    pub memory: Memory,
    pub account: Account,
    pub observers: Observers<Dump>,
    pub blocks: Box<Blocks<Straight<Op>>>,
    pub breakpoints: Breakpoints,
    pub limits: Limits,
    pub stop: Option<Stop<Trap, Trap>>,
    pub times: TurnTimes,
    pub oracle: bool,
    pub hosted: bool,
    /// Code may have changed, or something else comes before the next instruction.
    stale: bool,
}

/// A TLB for pages of all sizes, which forgets the oldest one.
fn tlb() -> Tlb {
    let config = TlbConfig {
        entries: TLB_ENTRIES,
        ways: TLB_ENTRIES,
        replacement: Some("fifo".to_owned()),
    };
    Tlb::new(&config).expect("fifo is there")
}

impl Toy {
    pub fn new(number: u8, config: Config, memory: Memory) -> Toy {
        let ram = memory.uncore.ram.size();
        let mut control = [0; control::ALL];
        control[control::NUMBER] = number.into();
        let mut toy = Toy {
            number,
            account: Account::new(ram, LINE as usize),
            blocks: Box::new(Blocks::new(ram)),
            config,
            state: State {
                x: [0; 16],
                pc: super::computer::RAM,
                user: false,
                control,
                tlb: tlb(),
                cycles: 0,
                instructions: 0,
                progress: Progress::default(),
                fetched: (NOWHERE, 0),
            },
            memory,
            observers: Observers::default(),
            breakpoints: Breakpoints::default(),
            limits: Limits::NONE,
            stop: None,
            times: TurnTimes::default(),
            oracle: false,
            hosted: false,
            stale: false,
        };
        toy.memory.enable_caches();
        toy.modes_changed();
        toy
    }

    /// Who is charged may be another, and what was fetched may be another's.
    pub fn modes_changed(&mut self) {
        self.settle();
        self.choose_cause();
        self.state.fetched = (NOWHERE, 0);
    }

    pub fn run_turn(&mut self, limits: Limits) -> Pause<Stop<Trap, Trap>> {
        self.limits = limits;
        self.begin_watch();
        loop {
            let (stop, turn_over) = (self.stop.take(), self.state.cycles >= self.times.end);
            if let Some(pause) = self.pauses(stop, limits, turn_over) {
                self.close_watch();
                return pause;
            }
            let address = self.state.pc;
            if self.breakpoints.stops_at(address) {
                return Pause::Stopped(Stop::Breakpoint { address });
            }
            self.breakpoints.passed();
            if self.observers.watch_time() {
                self.tell_observers(address);
            }
            self.stale = false;
            if let Err(trap) = self.run_block() {
                self.trap(trap);
            }
        }
    }

    fn translate(&mut self, va: u64, right: u64) -> Result<Physical, Trap> {
        let root = self.state.control[control::ROOT];
        if root == 0 {
            return Ok(va);
        }
        self.state.control[control::ADDRESS] = va;
        let fetch = right == pte::EXECUTE;
        let (access, miss) = if fetch {
            (Event::InstructionTlbAccess, Event::InstructionTlbMiss)
        } else {
            (Event::DataTlbAccess, Event::DataTlbMiss)
        };
        self.account.add(access, 1);
        let entry = match self.state.tlb.look_up(va, 0) {
            Some(entry) => entry,
            None => {
                self.account.add(miss, 1);
                let entry = self.walk(root, va, fetch)?;
                let evicted = Plain::DataTlbEvicted;
                self.state.tlb.enter(entry, &mut self.account, evicted);
                entry
            }
        };
        let bits = u64::from(entry.bits);
        if bits & right == 0 || (bits & pte::USER != 0) != self.state.user {
            return Err(Trap::PageFault);
        }
        Ok(entry.physical(va))
    }

    /// Reads the tables: memory accesses like any others.
    fn walk(&mut self, root: u64, va: u64, fetch: bool) -> Result<Entry, Trap> {
        let from = self.state.cycles;
        if let Some(note) = &mut self.account.tlb.walk {
            let page = |entry: &Entry| TlbPage {
                address: entry.page as u32,
                space: Some(Space::Asid(0)),
            };
            let entries = self.state.tlb.valid();
            note.begin(entries.map(|(_, entry)| Some(page(&entry))));
        }
        let canonical = va.cast_signed() << 25 >> 25 == va.cast_signed();
        let (state, account, memory) = (&mut self.state, &mut self.account, &mut self.memory);
        let read = |at| {
            let (at, cycle) = (memory.uncore.ram.at(at, 8)?, state.cycles);
            let took = memory.walk_read(
                at,
                attribute::COHERENT,
                super::computer::FORWARD,
                cycle,
                account,
            );
            state.cycles += took;
            let value = memory.uncore.ram.get(at).map(u64::from_le_bytes)?;
            if let Some(note) = &mut account.tlb.walk {
                note.step(Step {
                    cycle,
                    took,
                    pa: at,
                    bytes: 8,
                    value,
                    store: false,
                });
            }
            Some(value)
        };
        let found = if canonical {
            descend(root, va, read)
        } else {
            None
        };
        let walk = self.state.cycles - from;
        self.account.add_plain(Plain::WalkCycles, walk);
        self.account.tlb.miss = Some(TlbMiss {
            fetch,
            ea: va as u32,
            set: 0,
            walk: Some(walk),
            user: self.state.user,
            cause: self.account.cause,
            tables: Tables {
                layout: &Tree,
                numbers: [root, 0, 0, 0],
            },
        });
        self.observers
            .tlb(&mut self.account.tlb, self.state.pc as u32, from);
        found.ok_or(Trap::PageFault)
    }

    /// Where `va` is in RAM, for a debugger: without side effects.
    pub fn peek(&self, va: u64) -> Option<RamAddress> {
        let (root, ram) = (self.state.control[control::ROOT], &self.memory.uncore.ram);
        let read = |at| ram.get(ram.at(at, 8)?).map(u64::from_le_bytes);
        let physical = if root == 0 {
            va
        } else {
            descend(root, va, read)?.physical(va)
        };
        ram.at(physical, 1)
    }

    /// An aligned access; `store` is what is written.
    fn access(&mut self, va: u64, bytes: u32, store: Option<u64>) -> Result<u64, Trap> {
        if !va.is_multiple_of(u64::from(bytes)) {
            return Err(Trap::Misaligned);
        }
        let right = if store.is_some() {
            pte::WRITE
        } else {
            pte::READ
        };
        let physical = self.translate(va, right)?;
        self.account.add(Event::DataCacheAccess, 1);
        let Some(at) = self.memory.uncore.ram.at(physical, bytes) else {
            return self.device(physical, bytes, store);
        };
        let (now, account, memory) = (self.state.cycles, &mut self.account, &mut self.memory);
        let Some(value) = store else {
            self.state.cycles += memory.load(at, attribute::COHERENT, now, account);
            return (memory.uncore.ram.get(at).map(u64::from_le_bytes)).ok_or(Trap::NoMemory);
        };
        self.state.cycles += memory.store(at, attribute::COHERENT, now, account);
        if self.blocks.holds(at, bytes) {
            self.blocks.forget(at, bytes);
            self.stale = true;
            // Whether or not a block was decoded of it: the I-cache sees the store.
            if self.blocks.may_be_cached(at, bytes) {
                self.memory.instruction.invalidate(at);
                self.state.fetched = (NOWHERE, 0);
            }
        }
        let ram = &mut self.memory.uncore.ram;
        match bytes {
            8 => ram.put(at, value.to_le_bytes()),
            _ => ram.put(at, (value as u32).to_le_bytes()),
        };
        Ok(0)
    }

    fn device(&mut self, at: Physical, bytes: u32, store: Option<u64>) -> Result<u64, Trap> {
        let now = self.instant();
        let uncore = &mut self.memory.uncore;
        let Some(value) = store else {
            return uncore
                .board
                .read(at, bytes, now)
                .map_err(|_| Trap::NoMemory);
        };
        let effect = uncore
            .write_device(at, bytes, value, now)
            .map_err(|_| Trap::NoMemory)?;
        self.stale = true;
        if self.config.processors > 1 {
            // The others see at once what the device does.
            self.end_turn();
        }
        if let Some(effect) = effect {
            self.carry_out(effect);
        }
        Ok(0)
    }

    fn trap(&mut self, trap: Trap) {
        self.account.counters.exception[trap as usize] += 1;
        if self.hosted {
            self.stop = Some(Stop::Exception(trap));
            return;
        }
        if self.state.control[control::VECTOR] == 0 {
            self.stop = Some(Stop::Fatal(trap));
            return;
        }
        let which = Interruption {
            name: "trap",
            counter: "trap",
        };
        let at = (self.state.pc as u32, self.account.user, self.account.cause);
        self.observers.exception(which, at, self.state.cycles);
        // A call has run.
        let ran = u64::from(trap == Trap::Call);
        self.state.instructions += ran;
        let control = &mut self.state.control;
        control[control::PC] = self.state.pc + 2 * ran;
        control[control::CAUSE] = trap as u64;
        control[control::USER] = self.state.user.into();
        self.state.pc = control[control::VECTOR];
        self.state.user = false;
        self.modes_changed();
    }
}

/// What the tree of tables says of `va`.
fn descend(
    root: Physical,
    va: u64,
    mut read: impl FnMut(Physical) -> Option<u64>,
) -> Option<Entry> {
    let mut table = root;
    for shift in [30, 21, 12] {
        let pte = read(table + (va >> shift & 511) * 8).filter(|pte| pte & pte::VALID != 0)?;
        if pte & (pte::READ | pte::WRITE | pte::EXECUTE) != 0 {
            let inside = (1 << shift) - 1;
            return Some(Entry {
                page: va & !inside,
                frame: pte >> 10 << 12 & !inside,
                shift,
                bits: pte as u8,
                ..Entry::default()
            });
        }
        table = pte >> 10 << 12;
    }
    None
}

impl Progressing for Toy {
    fn progress(&mut self) -> &mut Progress {
        &mut self.state.progress
    }

    fn space(&self) -> u32 {
        self.state.control[control::ROOT] as u32
    }

    fn set_clock(&mut self, cycle: u64) {
        self.state.cycles = cycle;
    }

    fn stop_for(&mut self, stop: Stop<Trap, Trap>) {
        self.stop.get_or_insert(stop);
    }

    fn waits(&mut self) -> bool {
        false
    }
}

// SAFETY: no other blocks take the place of these, and no instruction enters or drops them.
unsafe impl Runs for Toy {
    type Instruction = Op;
    type Raised = Trap;

    fn decode(&self, _at: RamAddress, bytes: &[u8]) -> Op {
        Op::decode(bytes)
    }

    fn address(&self) -> u64 {
        self.state.pc
    }

    fn fetch(&mut self, va: u64) -> Result<RamAddress, Trap> {
        let (line, at) = self.state.fetched;
        if va & !(LINE - 1) == line {
            return Ok(at | (va & (LINE - 1)) as u32);
        }
        let physical = self.translate(va, pte::EXECUTE)?;
        let at = (self.memory.uncore.ram.at(physical, 2)).ok_or(Trap::NoMemory)?;
        self.account.add(Event::InstructionCacheAccess, 1);
        self.blocks.mark_fetched(at);
        let (now, account) = (self.state.cycles, &mut self.account);
        self.state.cycles += self.memory.fetch(at, attribute::COHERENT, now, account);
        self.state.fetched = (va & !(LINE - 1), at & !(LINE as u32 - 1));
        Ok(at)
    }

    fn step(&mut self, op: &Op) -> Result<(), Trap> {
        let (pc, length) = (self.state.pc, u64::from(op.length()));
        self.fetch(pc)?;
        self.fetch(pc.wrapping_add(length - 1))?;
        self.state.cycles += 1;
        self.state.pc = pc.wrapping_add(length);
        if let Err(trap) = run(self, pc, op) {
            self.state.pc = pc;
            return Err(trap);
        }
        self.state.instructions += 1;
        Ok(())
    }

    fn ram(&self) -> &Ram {
        &self.memory.uncore.ram
    }

    fn blocks(&mut self) -> &mut Blocks<Straight<Op>> {
        &mut self.blocks
    }

    fn decodes_each(&self) -> bool {
        self.oracle || !self.breakpoints.is_empty()
    }

    fn is_due(&self) -> bool {
        let (now, limits) = (&self.state, self.limits);
        let end = self.times.end.min(limits.cycles);
        self.stale || now.cycles >= end || now.instructions >= limits.instructions
    }
}

/// The interpreter: a value is a number.
impl Values for Toy {
    type Value = u64;
    type Stop = Trap;

    fn constant(&mut self, number: u64) -> u64 {
        number
    }

    fn register(&mut self, number: u8) -> u64 {
        self.state.x[usize::from(number)]
    }

    fn set_register(&mut self, number: u8, value: u64) {
        if number != 0 {
            self.state.x[usize::from(number)] = value;
        }
    }

    fn binary(&mut self, op: Binary, a: u64, b: u64) -> u64 {
        match op {
            Binary::Add => a.wrapping_add(b),
            Binary::Subtract => a.wrapping_sub(b),
            Binary::Or => a | b,
            Binary::ShiftLeft => a << b,
        }
    }

    fn load(&mut self, at: u64, bytes: u32) -> Result<u64, Trap> {
        self.access(at, bytes, None)
    }

    fn store(&mut self, at: u64, bytes: u32, value: u64) -> Result<(), Trap> {
        self.access(at, bytes, Some(value)).map(|_| ())
    }

    fn jump(&mut self, to: u64) {
        self.state.pc = to;
    }

    fn jump_unless_equal(&mut self, a: u64, b: u64, to: u64) {
        if a != b {
            self.state.pc = to;
        }
    }

    fn system(&mut self, op: &Op) -> Result<(), Trap> {
        let control = usize::from(op.immediate.cast_unsigned());
        match op.code {
            code::TRAP => return Err(Trap::Call),
            _ if self.state.user => return Err(Trap::Illegal),
            code::RETURN => {
                self.state.pc = self.state.control[control::PC];
                self.state.user = self.state.control[control::USER] != 0;
            }
            code::FENCE => {
                self.state.tlb.fence(None, None);
            }
            code::READ_CONTROL if control < control::ALL => {
                self.set_register(op.rd, self.state.control[control]);
                return Ok(());
            }
            code::WRITE_CONTROL if control < control::NUMBER => {
                self.state.control[control] = self.register(op.rs);
            }
            _ => return Err(Trap::Illegal),
        }
        self.modes_changed();
        Ok(())
    }
}
