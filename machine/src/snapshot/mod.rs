//! Snapshots: the whole computer at an instant, in a file. From there on a restored machine counts
//! exactly what the saved one counted.

#[cfg(test)]
mod tests;

use std::io::{Read as _, Write as _};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::board::Console;
use crate::computer::TurnsState;
use crate::config::MachineConfig;
use crate::loader::{Boot, CauseRange};
use crate::machine::Machine;
use crate::memory::l2::L2;
use crate::memory::{Memory, UncoreState};
use crate::mmu::Mmu;
use crate::observe::Account;
use crate::observe::regions::Regions;
use crate::observe::sanitizers::Sanitizers;
use crate::observe::symbolize::Symbolizer;
use crate::powerpc::Registers;
use crate::processor::CoreState;

/// How a file begins: of a PowerPC machine, and of an x86 machine.
const MAGIC: &[u8; 8] = b"PWSNAP\0\x02";
pub(crate) const MAGIC_X86: &[u8; 8] = b"PWSNAP\0\x86";

/// A hash of the machine's sources (build.rs). A snapshot of another version is refused.
const VERSION: &[u8] = env!("PAGEWALK_VERSION").as_bytes();

/// Bytes of a snapshot before compression: twice the largest RAM. A damaged or made-up file cannot ask for more.
const MOST: u64 = 2 << 30;

/// Fast rather than small, because most of a snapshot is zeroed RAM.
const COMPRESSION: i32 = 3;

/// A snapshot file that cannot be used, or a state that cannot be saved.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    #[error("{file}: is not a snapshot of this version of the machine")]
    NotASnapshot { file: String },
    #[error("{file}: is a snapshot of {kind} machine")]
    OtherMachine { file: String, kind: &'static str },
    #[error("{file}: the snapshot is damaged: {message}")]
    Damaged { file: String, message: String },
    #[error("snapshot: {message}")]
    Unsaved { message: String },
}

/// The observers' state that a run depends on. Profiles and traces start empty.
#[derive(Serialize, Deserialize)]
struct ObserverState {
    symbols: Symbolizer,
    regions: Regions,
    sanitizers: Option<Sanitizers>,
}

#[derive(Serialize, Deserialize)]
struct Snapshot {
    config: MachineConfig,
    causes: Vec<CauseRange>,
    processors: Vec<ProcessorState>,
    turns: TurnsState,
    uncore: UncoreState,
    observers: ObserverState,
}

#[derive(Serialize, Deserialize)]
struct ProcessorState {
    registers: Registers,
    mmu: Mmu,
    memory: Memory,
    /// Its own L2, where each has one.
    l2: Option<L2>,
    account: Account,
    core: CoreState,
}

/// The machine's state as bytes for a file.
///
/// # Errors
/// When it cannot be written down, which no state of a machine is known to cause.
pub fn save(machine: &mut Machine, causes: &[CauseRange]) -> Result<Vec<u8>, SnapshotError> {
    let turns = machine.turns_state();
    let processors = machine.each(|processor| {
        // This settles the account: it goes first.
        let core = processor.core_state();
        ProcessorState {
            registers: processor.registers.clone(),
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
        observers: ObserverState {
            symbols: processor.observers.symbols.clone(),
            regions: processor.observers.regions.clone(),
            sanitizers: processor.observers.sanitizers.clone(),
        },
    };
    file_of(MAGIC, &snapshot)
}

/// The file that holds this state.
///
/// # Errors
/// When it cannot be written down.
pub(crate) fn file_of(
    magic: &[u8; 8],
    snapshot: &impl Serialize,
) -> Result<Vec<u8>, SnapshotError> {
    let unsaved = |message: String| SnapshotError::Unsaved { message };
    let plain = postcard::to_stdvec(snapshot).map_err(|error| unsaved(error.to_string()))?;
    if plain.len() as u64 > MOST {
        return Err(unsaved(format!("it would have more than {MOST} bytes")));
    }
    pack(magic, &plain).map_err(|error| unsaved(error.to_string()))
}

/// The file: what it is, which version wrote it, and a compressed frame with a checksum.
fn pack(magic: &[u8; 8], plain: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = zstd::Encoder::new([magic, VERSION].concat(), COMPRESSION)?;
    encoder.include_checksum(true)?;
    encoder.write_all(plain)?;
    encoder.finish()
}

/// A machine in the state that [`save`] wrote, and the causes of its code; `file` is the name used in messages. The
/// guest's earlier output is in `console`'s memory again, but is not printed again.
///
/// # Errors
/// When the bytes are no snapshot, or a damaged one.
pub fn restore(
    bytes: &[u8],
    file: &str,
    console: Console,
) -> Result<(Machine, Vec<CauseRange>), SnapshotError> {
    let damaged = |message: String| SnapshotError::Damaged {
        file: file.to_owned(),
        message,
    };
    if is_of_x86(bytes) {
        return Err(SnapshotError::OtherMachine {
            file: file.to_owned(),
            kind: "an x86",
        });
    }
    let snapshot = unpack(MAGIC, bytes, file)?;
    put_back(snapshot, console).map_err(damaged)
}

/// Whether these bytes are a snapshot of an x86 machine, by how they begin.
#[must_use]
pub fn is_of_x86(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC_X86)
}

/// Whether these bytes are a snapshot of a PowerPC machine, by how they begin.
pub(crate) fn is_of_power_pc(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// The content of a file, unchecked.
///
/// # Errors
/// When it is none, or damaged.
pub(crate) fn unpack<T: DeserializeOwned>(
    magic: &[u8; 8],
    bytes: &[u8],
    file: &str,
) -> Result<T, SnapshotError> {
    let damaged = |message: String| SnapshotError::Damaged {
        file: file.to_owned(),
        message,
    };
    let packed = bytes
        .strip_prefix(magic)
        .and_then(|rest| rest.strip_prefix(VERSION))
        .ok_or_else(|| SnapshotError::NotASnapshot {
            file: file.to_owned(),
        })?;
    let mut plain = Vec::new();
    zstd::Decoder::new(packed)
        .and_then(|decoder| decoder.take(MOST + 1).read_to_end(&mut plain))
        .map_err(|error| damaged(error.to_string()))?;
    if plain.len() as u64 > MOST {
        return Err(damaged(format!("it holds more than {MOST} bytes")));
    }
    postcard::from_bytes(&plain).map_err(|error| damaged(error.to_string()))
}

/// A machine in the state of `snapshot`, which may have been forged: each part is used only if a machine like this
/// one can be in that state.
fn put_back(snapshot: Snapshot, console: Console) -> Result<(Machine, Vec<CauseRange>), String> {
    if let Some(problem) = snapshot.config.problem() {
        return Err(problem);
    }
    let boot = Boot {
        causes: snapshot.causes,
        ..Boot::default()
    };
    let mut machine = Machine::new(snapshot.config, &boot, console)?;
    let needs = |fits: bool, what: &str| {
        let message = || format!("no machine like this one can have come to its {what}");
        if fits { Ok(()) } else { Err(message()) }
    };
    let uncore = machine.uncore_mut();
    needs(uncore.set_state(snapshot.uncore), "memory and board")?;
    let mut states = snapshot.processors.into_iter();
    for number in 0..machine.processors().len() {
        let Some(state) = states.next() else {
            return Err("processors are missing".to_owned());
        };
        let processor = machine.select(number);
        let own = &processor.registers;
        let same_bits =
            state.registers.msr_absent == own.msr_absent && state.registers.wide.fits(&own.wide);
        needs(same_bits, "registers")?;
        needs(state.mmu.fits(&processor.mmu), "MMU")?;
        needs(state.memory.fits(&processor.memory), "caches")?;
        needs(state.account.fits(&processor.account), "account")?;
        processor.registers = state.registers;
        processor.mmu = state.mmu;
        let held = std::mem::take(&mut processor.memory.uncore);
        processor.memory = state.memory;
        processor.memory.uncore = held;
        needs(processor.memory.set_own_l2(state.l2), "L2")?;
        processor.account = state.account;
        needs(processor.set_core_state(state.core), "processor")?;
    }
    needs(machine.set_turns_state(&snapshot.turns), "turns")?;
    let processor = machine.processor_mut();
    let ObserverState {
        symbols,
        regions,
        sanitizers,
    } = snapshot.observers;
    needs(symbols.fits() && regions.fits(), "regions and programs")?;
    let sane = sanitizers
        .as_ref()
        .is_none_or(|s| s.fits(&processor.memory));
    needs(sane, "sanitizers")?;
    processor.observers.symbols = symbols;
    processor.observers.regions = regions;
    processor.observers.sanitizers = sanitizers;
    processor.state_changed();
    Ok((machine, boot.causes))
}
