//! Snapshots of x86 machines ([`crate::snapshot`]): from there on a restored machine counts what the saved one counted.
//!
//! Decoded blocks are not in a snapshot: they are made anew, which costs no cycle.

use serde::{Deserialize, Serialize};

use super::Config;
use super::accounting::Settled;
use super::decode::Repeating;
use super::machine::{Machine, Turns};
use super::paging::Mmu;
use super::predictor::Predictor;
use super::processor::Processor;
use super::registers::{Registers, Segment, gpr};
use super::tlb::pte;
use super::wide_paging::FIRST_RESERVED;
use super::x87::Fpu;
use crate::board::{Board, Console};
use crate::config::LATEST;
use crate::loader::CauseRange;
use crate::memory::l2::L2;
use crate::memory::{Memory, UncoreState};
use crate::observe::regions::Regions;
use crate::observe::symbolize::Symbolizer;
use crate::observe::{Account, Cause};
use crate::snapshot::{self, MAGIC_X86, SnapshotError};

#[derive(Serialize, Deserialize)]
struct Snapshot {
    config: Config,
    causes: Vec<CauseRange>,
    processors: Vec<ProcessorState>,
    turns: Turns,
    uncore: UncoreState,
    /// The observers' state that a run depends on. Profiles start empty.
    symbols: Symbolizer,
    regions: Regions,
    /// The pieces of pages that an I-cache may hold.
    fetched: Vec<u64>,
}

#[derive(Serialize, Deserialize)]
struct ProcessorState {
    registers: Registers,
    fpu: Option<Box<Fpu>>,
    mmu: Mmu,
    memory: Memory,
    /// Its own L2, where each has one.
    l2: Option<L2>,
    account: Account,
    core: CoreState,
}

/// The processor's state beside registers, TLBs, caches and account.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct CoreState {
    /// Issue slots since reset.
    time: u64,
    instructions: u64,
    exceptions: Vec<u64>,
    predictor: Predictor,
    fetched: u32,
    fetched_page: u32,
    wrote: u8,
    repeating: Option<Repeating>,
    inhibited: bool,
    halted: bool,
    turn_end: u64,
    polled_at: u64,
    wake: Option<u64>,
    dynamic_cause: u32,
    code_cause: u8,
    settled: Settled,
}

/// The machine's state as bytes for a file.
///
/// # Errors
/// When it cannot be written down, which no state of a machine is known to cause.
pub(super) fn save(machine: &mut Machine, causes: &[CauseRange]) -> Result<Vec<u8>, SnapshotError> {
    let turns = machine.turns();
    let processors = machine.each(|processor| {
        // This settles the account: it goes first.
        let core = processor.core_state();
        ProcessorState {
            registers: processor.registers.clone(),
            fpu: processor.fpu.clone(),
            mmu: processor.mmu.clone(),
            memory: processor.memory.clone(),
            l2: processor.memory.own_l2().cloned(),
            account: processor.account.clone(),
            core,
        }
    });
    let processor = machine.processor();
    let snapshot = Snapshot {
        config: processor.config().clone(),
        causes: causes.to_vec(),
        processors,
        turns,
        uncore: processor.memory.uncore.state(),
        symbols: processor.observers.symbols.clone(),
        regions: processor.observers.regions.clone(),
        fetched: processor.blocks.fetched().to_vec(),
    };
    snapshot::file_of(MAGIC_X86, &snapshot)
}

/// A machine in the state that [`save`] wrote, and the causes of its code; `file` is the name used in messages.
///
/// # Errors
/// When the bytes are no snapshot of an x86 machine, or a damaged one.
pub(super) fn restore(
    bytes: &[u8],
    file: &str,
    console: Console,
) -> Result<(Machine, Vec<CauseRange>), SnapshotError> {
    if snapshot::is_of_power_pc(bytes) {
        return Err(SnapshotError::OtherMachine {
            file: file.to_owned(),
            kind: "a PowerPC",
        });
    }
    let snapshot = snapshot::unpack(MAGIC_X86, bytes, file)?;
    put_back(snapshot, console).map_err(|message| SnapshotError::Damaged {
        file: file.to_owned(),
        message,
    })
}

/// A machine in the state of `snapshot`, which may have been forged: each part is used only if a machine like this
/// one can be in that state.
fn put_back(snapshot: Snapshot, console: Console) -> Result<(Machine, Vec<CauseRange>), String> {
    if let Some(problem) = snapshot.config.problem() {
        return Err(problem);
    }
    let board = Board::pc(&snapshot.config, console);
    let mut machine = Machine::new(&snapshot.config, board, &snapshot.causes)?;
    let needs = |fits: bool, what: &str| {
        let message = || format!("no machine like this one can have come to its {what}");
        if fits { Ok(()) } else { Err(message()) }
    };
    needs(
        machine.uncore_mut().set_state(snapshot.uncore),
        "memory and board",
    )?;
    let mut states = snapshot.processors.into_iter();
    for number in 0..machine.processors().len() {
        let Some(state) = states.next() else {
            return Err("processors are missing".to_owned());
        };
        let processor = machine.select(number);
        needs(registers_fit(&state.registers), "registers")?;
        let unit = state.fpu.as_ref().is_some_and(|fpu| fpu.fits());
        needs(unit, "floating-point unit")?;
        (processor.mmu).set_wide(state.registers.wide_entries());
        needs(state.mmu.fits(&processor.mmu), "TLBs")?;
        needs(state.memory.fits(&processor.memory), "caches")?;
        needs(state.account.fits(&processor.account), "account")?;
        processor.registers = state.registers;
        processor.fpu = state.fpu;
        processor.mmu = state.mmu;
        let held = std::mem::take(&mut processor.memory.uncore);
        processor.memory = state.memory;
        processor.memory.uncore = held;
        needs(processor.memory.set_own_l2(state.l2), "L2")?;
        processor.account = state.account;
        needs(processor.set_core_state(state.core), "processor")?;
    }
    needs(machine.set_turns(&snapshot.turns), "turns")?;
    let (symbols, regions) = (snapshot.symbols, snapshot.regions);
    needs(symbols.fits() && regions.fits(), "regions and programs")?;
    let processor = machine.processor_mut();
    needs(
        processor.blocks.set_fetched(&snapshot.fetched),
        "fetched code",
    )?;
    processor.observers.symbols = symbols;
    processor.observers.regions = regions;
    Ok((machine, snapshot.causes))
}

/// Can a processor have these registers? What a descriptor said is looked at when it is used.
fn registers_fit(registers: &Registers) -> bool {
    let whole = |segment: &Segment| {
        *segment
            == Segment::new(
                segment.selector,
                segment.base,
                segment.limit,
                segment.access,
            )
    };
    let none = &registers.gpr[usize::from(gpr::NONE)..];
    let directories = registers.directories.iter();
    let mut directories = directories.filter(|&entry| entry & u64::from(pte::PRESENT) != 0);
    directories.all(|entry| entry & FIRST_RESERVED == 0)
        && none.iter().all(|&zero| zero == 0)
        && registers.cpl < 4
        && registers.segments.iter().all(whole)
}

impl Processor {
    /// Copies the processor's state out. The machine must not be running.
    fn core_state(&mut self) -> CoreState {
        self.settle();
        CoreState {
            time: self.time,
            instructions: self.instructions,
            exceptions: self.exceptions.to_vec(),
            predictor: self.predictor.clone(),
            fetched: self.fetched,
            fetched_page: self.fetched_page,
            wrote: self.wrote,
            repeating: self.repeating,
            inhibited: self.inhibited,
            halted: self.halted,
            turn_end: self.turn_end,
            polled_at: self.polled_at,
            wake: self.wake,
            dynamic_cause: self.dynamic_cause.map_or(0, |cause| cause as u32),
            code_cause: self.code_cause,
            settled: self.settled,
        }
    }

    /// Puts the processor into a state that [`Processor::core_state`] gave; the rest must have been put back before.
    /// False, with nothing changed, if no machine like this one can be in that state.
    fn set_core_state(&mut self, state: CoreState) -> bool {
        let exceptions: Option<Box<[u64; 256]>> = state.exceptions.try_into().ok();
        let counts = [state.time, state.instructions];
        let cycles = state.time / u64::from(self.kind.slots());
        let fits = counts.iter().all(|&count| count < LATEST)
            && state.predictor.fits(&self.predictor)
            && state.settled.fits(cycles, state.instructions);
        let Some(exceptions) = exceptions.filter(|_| fits) else {
            return false;
        };
        if exceptions.iter().any(|&count| count >= LATEST) {
            return false;
        }
        self.time = state.time;
        self.instructions = state.instructions;
        self.exceptions = exceptions;
        self.predictor = state.predictor;
        self.inhibited = state.inhibited;
        self.halted = state.halted;
        self.turn_end = state.turn_end;
        self.polled_at = state.polled_at;
        self.wake = state.wake;
        self.dynamic_cause = match state.dynamic_cause {
            0 => None,
            number => Cause::from_number(number),
        };
        self.code_cause = state.code_cause;
        self.settled = state.settled;
        self.modes_changed();
        // That line must be fetched again after a change of modes, and not after a snapshot.
        self.fetched = state.fetched;
        self.fetched_page = state.fetched_page & !0xfff;
        self.wrote = state.wrote;
        self.repeating = state.repeating;
        true
    }
}
