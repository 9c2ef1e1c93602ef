//! Snapshots: the whole computer at an instant, in a file. From there on a restored machine counts
//! exactly what the saved one counted.

#[cfg(test)]
pub(crate) mod tests;

use std::io::{Read as _, Write as _};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{Computer, Guest, TurnsState};
use crate::account::Account;
use crate::board::Console;
use crate::loader::CauseRange;
use crate::memory::l2::L2;
use crate::memory::{Memory, UncoreState};
use crate::observe::regions::Regions;
use crate::observe::sanitizers::Sanitizers;
use crate::observe::symbolize::Symbolizer;

/// A part of a processor's state: fields that the processor has under the same names.
macro_rules! state_of {
    ($(#[$about:meta])* $state:ident of $processor:ty; $($(#[$field:meta])* $name:ident: $of:ty,)*) => {
        $(#[$about])*
        #[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
        pub struct $state {
            $($(#[$field])* $name: $of,)*
        }

        impl $state {
            /// A copy.
            fn of(processor: &$processor) -> Self {
                Self { $($name: processor.$name.clone(),)* }
            }

            fn put_into(self, processor: &mut $processor) {
                $(processor.$name = self.$name;)*
            }
        }
    };
}

/// What is in a snapshot once, of processors that keep their code in blocks: the pieces of pages that an I-cache may
/// hold.
#[macro_export]
macro_rules! shared_blocks {
    () => {
        type Shared = Vec<u64>;

        fn shared(&self) -> Vec<u64> {
            self.blocks.fetched().to_vec()
        }

        fn set_shared(&mut self, fetched: Vec<u64>) -> bool {
            self.blocks.set_fetched(&fetched)
        }
    };
}

pub use shared_blocks;
pub(crate) use state_of;

/// How a file begins. The name of the architecture follows, filled up with zeros.
const MAGIC: &[u8; 8] = b"PWSNAP\0\x03";
const NAME_BYTES: usize = 8;

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
    #[error("{file}: is a snapshot of a machine of another architecture: {name}")]
    OtherMachine { file: String, name: String },
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
#[serde(bound = "")]
struct Snapshot<C: Saved> {
    config: C::Config,
    causes: Vec<CauseRange>,
    processors: Vec<ProcessorState<C>>,
    turns: TurnsState,
    uncore: UncoreState,
    observers: ObserverState,
    shared: C::Shared,
}

#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
struct ProcessorState<C: Saved> {
    own: C::State,
    memory: Memory,
    /// Its own L2, where each has one.
    l2: Option<L2>,
    account: Account,
}

/// What a snapshot asks of a processor.
pub trait Saved: Guest {
    /// A processor's state beside its caches and its account.
    type State: Serialize + DeserializeOwned;
    /// What there is once for all processors beside the uncore and the observers.
    type Shared: Serialize + DeserializeOwned;

    /// What is wrong with a machine file, if it is not one that the checks let through.
    fn problem(config: &Self::Config) -> Option<String>;

    /// Copies the state out, and settles the account. The machine must not be running.
    fn saved(&mut self) -> Self::State;

    /// Puts the processor into a state that [`Saved::saved`] gave; caches and account have been put back before.
    ///
    /// # Errors
    /// The part that no processor like this one can have come to.
    fn put_back(&mut self, state: Self::State) -> Result<(), &'static str>;

    fn shared(&self) -> Self::Shared;

    /// Puts back what [`Saved::shared`] gave, when all else has been put back. False if this machine cannot have it.
    fn set_shared(&mut self, shared: Self::Shared) -> bool;
}

/// The machine's state as bytes for a file.
///
/// # Errors
/// When it cannot be written down, which no state of a machine is known to cause.
pub(super) fn save<C: Saved>(
    machine: &mut Computer<C>,
    causes: &[CauseRange],
) -> Result<Vec<u8>, SnapshotError> {
    let turns = machine.turns_state();
    let processors = machine.each(|processor| {
        // This settles the account: it goes first.
        let own = processor.saved();
        ProcessorState {
            own,
            memory: processor.memory().clone(),
            l2: processor.memory().own_l2().cloned(),
            account: processor.account().clone(),
        }
    });
    let processor = machine.processor();
    let observers = processor.observers();
    let snapshot = Snapshot::<C> {
        config: processor.config().clone(),
        causes: causes.to_vec(),
        processors,
        turns,
        uncore: processor.memory().uncore.state(),
        observers: ObserverState {
            symbols: observers.symbols.clone(),
            regions: observers.regions.clone(),
            sanitizers: observers.sanitizers.clone(),
        },
        shared: processor.shared(),
    };
    file_of::<C>(&snapshot)
}

/// The file that holds this state.
fn file_of<C: Saved>(snapshot: &Snapshot<C>) -> Result<Vec<u8>, SnapshotError> {
    let unsaved = |message: String| SnapshotError::Unsaved { message };
    let plain = postcard::to_stdvec(snapshot).map_err(|error| unsaved(error.to_string()))?;
    if plain.len() as u64 > MOST {
        return Err(unsaved(format!("it would have more than {MOST} bytes")));
    }
    pack(C::NAME, &plain).map_err(|error| unsaved(error.to_string()))
}

/// How a file of this architecture begins.
fn beginning(name: &str) -> Vec<u8> {
    let mut padded = [0; NAME_BYTES];
    padded[..name.len()].copy_from_slice(name.as_bytes());
    [&MAGIC[..], &padded, VERSION].concat()
}

/// The file: what it is, which version wrote it, and a compressed frame with a checksum.
fn pack(name: &str, plain: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = zstd::Encoder::new(beginning(name), COMPRESSION)?;
    encoder.include_checksum(true)?;
    encoder.write_all(plain)?;
    encoder.finish()
}

/// The architecture of the machine whose snapshot these bytes are, if they are one.
#[must_use]
pub fn architecture(bytes: &[u8]) -> Option<&str> {
    let rest = bytes.strip_prefix(MAGIC)?;
    let name = std::str::from_utf8(rest.get(..NAME_BYTES)?).ok()?;
    let name = name.trim_end_matches('\0');
    let word = name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    word.then_some(name)
}

/// A machine in the state that [`save`] wrote, and the causes of its code; `file` is the name used in messages. The
/// guest's earlier output is in `console`'s memory again, but is not printed again.
///
/// # Errors
/// When the bytes are no snapshot of such a machine, or a damaged one.
pub(super) fn restore<C: Saved>(
    bytes: &[u8],
    file: &str,
    console: Console,
) -> Result<(Computer<C>, Vec<CauseRange>), SnapshotError> {
    if let Some(name) = architecture(bytes)
        && name != C::NAME
    {
        return Err(SnapshotError::OtherMachine {
            file: file.to_owned(),
            name: name.to_owned(),
        });
    }
    put_back(unpack::<C>(bytes, file)?, console).map_err(|message| SnapshotError::Damaged {
        file: file.to_owned(),
        message,
    })
}

/// The content of a file, unchecked.
fn unpack<C: Saved>(bytes: &[u8], file: &str) -> Result<Snapshot<C>, SnapshotError> {
    let damaged = |message: String| SnapshotError::Damaged {
        file: file.to_owned(),
        message,
    };
    let packed =
        bytes
            .strip_prefix(&beginning(C::NAME)[..])
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
fn put_back<C: Saved>(
    snapshot: Snapshot<C>,
    console: Console,
) -> Result<(Computer<C>, Vec<CauseRange>), String> {
    if let Some(problem) = C::problem(&snapshot.config) {
        return Err(problem);
    }
    let mut machine = Computer::<C>::build(&snapshot.config, console, &snapshot.causes)?;
    let unfit = |what: &str| format!("no machine like this one can have come to its {what}");
    let needs = |fits: bool, what: &str| if fits { Ok(()) } else { Err(unfit(what)) };
    let uncore = machine.uncore_mut();
    needs(uncore.set_state(snapshot.uncore), "memory and board")?;
    let mut states = snapshot.processors.into_iter();
    for number in 0..machine.processors().len() {
        let Some(state) = states.next() else {
            return Err("processors are missing".to_owned());
        };
        let processor = machine.select(number);
        let memory = processor.memory_mut();
        needs(state.memory.fits(memory), "caches")?;
        let loan = std::mem::take(&mut memory.uncore);
        *memory = state.memory;
        memory.uncore = loan;
        needs(memory.set_own_l2(state.l2), "L2")?;
        needs(state.account.fits(processor.account()), "account")?;
        *processor.account_mut() = state.account;
        processor.put_back(state.own).map_err(unfit)?;
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
        .is_none_or(|s| s.fits(processor.memory()));
    needs(sane, "sanitizers")?;
    let observers = processor.observers_mut();
    observers.symbols = symbols;
    observers.regions = regions;
    observers.sanitizers = sanitizers;
    processor.observers_changed();
    needs(processor.set_shared(snapshot.shared), "decoded code")?;
    Ok((machine, snapshot.causes))
}
