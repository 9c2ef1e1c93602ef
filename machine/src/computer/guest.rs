//! What a session asks of a processor beside [`Cpu`]: names and words for people.

use super::cpu::Cpu;
use crate::account::Names;
use crate::loader::{ElfImage, LoadError};
use crate::observe::sanitizers::SanitizerSet;
use crate::observe::symbolize::Symbolizer;

/// A processor that can explain itself.
pub trait Guest: Cpu {
    /// The name of its architecture: at most 8 letters.
    const NAME: &'static str;

    /// A profile follows its calls.
    const FOLLOWS_CALLS: bool = false;

    /// Observers are told of each block that is entered, by its first instruction.
    const ENTERS_BLOCKS: bool = true;

    /// A recorder is told of each instruction.
    const RECORDS: bool = false;

    /// How its counters are called.
    const NAMES: Names;

    /// Reads a static executable for it. Messages call it `name`.
    ///
    /// # Errors
    /// When these bytes are none.
    fn executable(elf: &[u8], name: &str) -> Result<ElfImage, LoadError>;

    /// The sanitizers of `set` that it has. Most have none of fetches, because their caches see every store to code: it
    /// is left out beside another one.
    ///
    /// # Errors
    /// When one is asked for that it has not.
    fn sanitizers(&self, set: SanitizerSet) -> Result<SanitizerSet, String> {
        if set.fetch && !set.stale() {
            let name = Self::NAME;
            return Err(format!(
                "{name} machines have the sanitizers translation and reuse"
            ));
        }
        Ok(SanitizerSet {
            fetch: false,
            ..set
        })
    }

    /// The address of the next instruction.
    fn next_instruction(&self) -> u64;

    /// A user's code runs.
    fn is_user(&self) -> bool;

    /// The registers as lines of text.
    fn registers(&self, symbols: &Symbolizer) -> String;

    /// The name of an exception.
    fn exception_name(exception: &Self::Exception) -> &'static str;

    /// Why the guest cannot go on; `place` describes an address.
    fn explain(&self, fatal: &Self::Fatal, place: &dyn Fn(u64) -> String) -> String;

    /// What a kernel that has printed nothing wrote into its own log, in words; empty if there is nothing to say.
    /// `symbols` are the kernel's.
    fn unheard(&self, symbols: &Symbolizer) -> String {
        let _ = symbols;
        String::new()
    }
}
