//! The toy's processor: translation by a tree of three levels, fetches, accesses, traps.

use pagewalk_machine::account::tlb_events::Tables;
use pagewalk_machine::account::{Account, Event, Plain};
use pagewalk_machine::board::Instant;
use pagewalk_machine::computer::{Cpu as _, Progress, Progressing, Running, Shape, Stop};
use pagewalk_machine::config::TlbConfig;
use pagewalk_machine::engine::blocks::Blocks;
use pagewalk_machine::engine::straight::{Instruction as _, Runs, Straight};
use pagewalk_machine::loader::CauseRange;
use pagewalk_machine::memory::{Memory, Physical, RamAddress, attribute};
use pagewalk_machine::observe::Observers;
use pagewalk_machine::tlb::sized::{Entry, Tlb};
use serde::{Deserialize, Serialize};

use super::computer::FORWARD;
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
pub const LINE: u64 = 32;
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
    pub now: Instant,
    pub progress: Progress,
    /// The line that was fetched last, and where it is in RAM.
    pub fetched: (u64, RamAddress),
}

pub struct Toy {
    pub config: Shape,
    pub state: State,
    pub memory: Memory,
    pub account: Account,
    pub observers: Observers<String>,
    pub blocks: Box<Blocks<Straight<Op>>>,
    pub running: Running<Toy>,
}

impl Toy {
    pub fn new(
        processor: u8,
        config: Shape,
        memory: Memory,
        _: &[CauseRange],
    ) -> Result<Toy, String> {
        let ram = memory.uncore.ram.size();
        let mut control = [0; control::ALL];
        control[control::NUMBER] = processor.into();
        let now = Instant {
            processor,
            ..Instant::default()
        };
        let tlb = TlbConfig {
            entries: TLB_ENTRIES,
            ways: TLB_ENTRIES,
            replacement: Some("fifo".to_owned()),
        };
        let mut toy = Toy {
            config,
            state: State {
                x: [0; 16],
                pc: super::computer::RAM,
                user: false,
                control,
                tlb: Tlb::new(&tlb)?,
                now,
                progress: Progress::default(),
                fetched: (NOWHERE, 0),
            },
            memory,
            account: Account::new(ram, LINE as usize),
            observers: Observers::default(),
            blocks: Box::new(Blocks::new(ram)),
            running: Running::default(),
        };
        toy.memory.enable_caches();
        toy.modes_changed();
        Ok(toy)
    }

    /// Who is charged may be another, and what was fetched may be another's.
    pub fn modes_changed(&mut self) {
        self.settle();
        self.choose_cause();
        self.state.fetched = (NOWHERE, 0);
    }

    fn translate(&mut self, va: u64, right: u64) -> Result<Physical, Trap> {
        if self.state.control[control::ROOT] == 0 {
            return Ok(va);
        }
        self.state.control[control::ADDRESS] = va;
        let fetch = right == pte::EXECUTE;
        let accesses = [Event::DataTlbAccess, Event::InstructionTlbAccess];
        self.account.add(accesses[usize::from(fetch)], 1);
        let entry = match self.state.tlb.look_up(va, 0) {
            Some(entry) => entry,
            None => {
                self.account.add(Event::tlb_miss(fetch), 1);
                let entry = self.walk(va, fetch).ok_or(Trap::PageFault)?;
                let evicted = Plain::tlb_evicted(fetch);
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
    fn walk(&mut self, va: u64, fetch: bool) -> Option<Entry> {
        let (root, from) = (self.state.control[control::ROOT], self.state.now.cycles);
        self.state.tlb.begin_walk(&mut self.account);
        let (state, account, memory) = (&mut self.state, &mut self.account, &mut self.memory);
        let found = descend(root, va, |at| {
            let at = memory.uncore.ram.at(at, 8)?;
            let (value, took) = memory.read_entry(at, FORWARD, state.now.cycles, account)?;
            state.now.cycles += took;
            Some(value)
        });
        let took = self.state.now.cycles - from;
        self.account.add_plain(Plain::WalkCycles, took);
        self.note_walk(fetch, va, from, Tables::tree(root));
        found
    }

    /// The physical address of an aligned access.
    fn aligned(&mut self, va: u64, bytes: u32, right: u64) -> Result<Physical, Trap> {
        if !va.is_multiple_of(u64::from(bytes)) {
            return Err(Trap::Misaligned);
        }
        let physical = self.translate(va, right)?;
        self.account.add(Event::DataCacheAccess, 1);
        Ok(physical)
    }

    /// These bytes change: code there is decoded anew.
    pub fn written(&mut self, at: RamAddress, bytes: u32) {
        self.drop_code(at, bytes);
        // Whether or not a block was decoded of it: the I-cache sees the store.
        if self.blocks.may_be_cached(at, bytes) {
            self.memory.instruction.invalidate(at);
            self.state.fetched = (NOWHERE, 0);
        }
    }
}

/// What the tree of tables says of `va`.
pub fn descend(
    root: Physical,
    va: u64,
    mut read: impl FnMut(Physical) -> Option<u64>,
) -> Option<Entry> {
    if va.cast_signed() << 25 >> 25 != va.cast_signed() {
        return None;
    }
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
        self.state.now.cycles = cycle;
    }
}

// SAFETY: no other blocks take the place of these, and no instruction enters or drops them.
unsafe impl Runs for Toy {
    type Instruction = Op;
    type Raised = Trap;

    fn decode(&self, _at: RamAddress, bytes: &[u8]) -> Op {
        Op::decode(bytes)
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
        let (now, account) = (self.state.now.cycles, &mut self.account);
        self.state.now.cycles += self.memory.fetch(at, attribute::COHERENT, now, account);
        self.state.fetched = (va & !(LINE - 1), at & !(LINE as u32 - 1));
        Ok(at)
    }

    fn step(&mut self, op: &Op) -> Result<(), Trap> {
        let (pc, length) = (self.state.pc, u64::from(op.length()));
        self.fetch(pc)?;
        self.fetch(pc.wrapping_add(length - 1))?;
        self.state.now.cycles += 1;
        self.state.pc = pc.wrapping_add(length);
        if let Err(trap) = run(self, pc, op) {
            self.state.pc = pc;
            return Err(trap);
        }
        self.state.now.instructions += 1;
        Ok(())
    }

    fn blocks(&mut self) -> &mut Blocks<Straight<Op>> {
        &mut self.blocks
    }

    fn take_exception(&mut self, trap: Trap) {
        self.account.counters.exception[trap as usize] += 1;
        if self.running.hosted {
            return self.stop_for(Stop::Exception(trap));
        }
        if self.state.control[control::VECTOR] == 0 {
            return self.stop_for(Stop::Fatal(trap));
        }
        self.note_exception("trap");
        // A call has run.
        let ran = u64::from(trap == Trap::Call);
        self.state.now.instructions += ran;
        let control = &mut self.state.control;
        control[control::PC] = self.state.pc + 2 * ran;
        control[control::CAUSE] = trap as u64;
        control[control::USER] = self.state.user.into();
        self.state.pc = control[control::VECTOR];
        self.state.user = false;
        self.modes_changed();
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
            Binary::Or => a | b,
            Binary::ShiftLeft => a << b,
        }
    }

    fn load(&mut self, va: u64, bytes: u32) -> Result<u64, Trap> {
        let physical = self.aligned(va, bytes, pte::READ)?;
        let (now, account, memory) = (self.state.now, &mut self.account, &mut self.memory);
        let Some(at) = memory.uncore.ram.at(physical, bytes) else {
            let read = memory.uncore.board.read(physical, bytes, now);
            return read.map_err(|_| Trap::NoMemory);
        };
        self.state.now.cycles += memory.load(at, attribute::COHERENT, now.cycles, account);
        memory.uncore.ram.little(at, bytes).ok_or(Trap::NoMemory)
    }

    fn store(&mut self, va: u64, bytes: u32, value: u64) -> Result<(), Trap> {
        let physical = self.aligned(va, bytes, pte::WRITE)?;
        let (now, account, memory) = (self.state.now, &mut self.account, &mut self.memory);
        let Some(at) = memory.uncore.ram.at(physical, bytes) else {
            let effect = (memory.uncore).write_device(physical, bytes, value, now);
            self.device_was_written(effect.map_err(|_| Trap::NoMemory)?);
            return Ok(());
        };
        self.state.now.cycles += memory.store(at, attribute::COHERENT, now.cycles, account);
        self.written(at, bytes);
        self.memory.uncore.ram.put_little(at, bytes, value);
        Ok(())
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
            code::FENCE => _ = self.state.tlb.fence(None, None),
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
