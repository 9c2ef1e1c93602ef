//! The observers of a run: symbols, regions of interest, profile.

use std::collections::HashMap;

use super::dump::{DUMPS_MOST, Dump};
use crate::board::Effect;
use crate::memory::Ram;
use crate::observe::profile::Profile;
use crate::observe::regions::{REGIONS_MOST, Regions};
use crate::observe::sanitizers::Freed;
use crate::observe::symbolize::{CONTEXTS_MOST, PROGRAMS_MOST, Symbolizer};
use crate::observe::{Cause, Counters};

/// The longest program path that COMMAND reads.
const PATH_LIMIT: u32 = 4096;

/// All observers of one machine.
#[derive(Clone, Debug, Default)]
pub struct Observers {
    pub symbols: Symbolizer,
    pub regions: Regions,
    pub profile: Option<Profile>,
    /// With the sanitizer of translations: frames that no user translation may reach.
    pub(super) freed: Option<Freed>,
    /// What CONTEXT named the address spaces of these values of CR3.
    spaces: HashMap<u32, u32>,
    /// Dumps that the guest asked for.
    pub dumps: Vec<Dump>,
    /// Those beyond [`DUMPS_MOST`].
    pub dumps_refused: u64,
}

impl Observers {
    /// [`Observers::ran`] must be called for every block.
    #[inline(always)]
    #[must_use]
    pub fn watches(&self) -> bool {
        self.profile.is_some()
    }

    /// Instructions of one function, mode and cause ran, the first at `eip`.
    pub fn ran(&mut self, (eip, user, cause): (u32, bool, Cause), cycles: u64, instructions: u64) {
        if let Some(profile) = &mut self.profile
            && (cycles, instructions) != (0, 0)
        {
            profile.charge(&self.symbols, eip, user, cause, cycles, instructions);
        }
    }

    /// Carries out a write to the control device, as far as it concerns observers.
    pub fn effect(&mut self, effect: Effect, counters: &Counters, ram: &Ram) {
        match effect {
            Effect::Context(context) => {
                self.symbols.set_explicit();
                self.close();
                self.symbols.set_context(context);
            }
            Effect::Command(address) => {
                self.close();
                let bytes: Vec<u8> = (0..PATH_LIMIT)
                    .map_while(|n| ram.read_u8(address.checked_add(n)?))
                    .take_while(|&byte| byte != 0)
                    .collect();
                self.symbols.set_command(&String::from_utf8_lossy(&bytes));
            }
            Effect::Fork(child) => self.symbols.set_fork(child),
            Effect::FrameFreed(frame) => self.set_freed(frame, true),
            Effect::FrameAllocated(frame) => self.set_freed(frame, false),
            Effect::RegionBegin(_) | Effect::RegionEnd(_) => {
                self.region(effect, counters);
            }
            _ => {}
        }
    }

    fn set_freed(&mut self, frame: u32, freed: bool) {
        if let Some(frames) = &mut self.freed {
            frames.set(frame, freed);
        }
    }

    /// CONTEXT names the address space of this CR3.
    pub fn name_space(&mut self, cr3: u32, context: u32) {
        if self.spaces.len() < CONTEXTS_MOST || self.spaces.contains_key(&cr3) {
            self.spaces.insert(cr3, context);
        }
    }

    /// CR3 has been loaded.
    pub fn space_runs(&mut self, cr3: u32) {
        if let Some(&context) = self.spaces.get(&cr3)
            && context != self.symbols.context()
        {
            self.close();
            self.symbols.set_context(context);
        }
    }

    /// REGION_BEGIN and REGION_END, with the counters of all processors.
    pub fn region(&mut self, effect: Effect, counters: &Counters) {
        let (number, begins) = match effect {
            Effect::RegionBegin(number) => {
                self.regions.begin(number, counters);
                (number, true)
            }
            Effect::RegionEnd(number) => {
                self.regions.end(number, counters);
                (number, false)
            }
            _ => return,
        };
        if let Some(profile) = &mut self.profile {
            profile.region(number, begins);
        }
    }

    /// DUMP, of each processor.
    pub fn add_dumps(&mut self, dumps: Vec<Dump>) {
        if self.dumps.len() + dumps.len() <= DUMPS_MOST {
            self.dumps.extend(dumps);
        } else {
            self.dumps_refused += dumps.len() as u64;
        }
    }

    fn close(&mut self) {
        if let Some(profile) = &mut self.profile {
            profile.close();
        }
    }

    /// Another processor runs from now on, in the address space `context`. Returns that of the one before.
    pub fn select(&mut self, processor: u8, context: u32) -> u32 {
        let before = self.symbols.context();
        self.symbols.select(context);
        if let Some(profile) = &mut self.profile {
            profile.select(processor);
        }
        before
    }

    /// Requests of the guest that were refused, because they would need unlimited memory.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let refused = self.regions.refused();
        if refused != 0 {
            warnings.push(format!(
                "{refused} regions were not counted: {REGIONS_MOST} numbers are the most"
            ));
        }
        if self.dumps_refused != 0 {
            let refused = self.dumps_refused;
            warnings.push(format!(
                "{refused} state dumps were not written: {DUMPS_MOST} are the most"
            ));
        }
        let refused = self.symbols.refused();
        if refused != 0 {
            warnings.push(format!(
                "{refused} programs or contexts go without a name: {PROGRAMS_MOST} programs and {CONTEXTS_MOST} contexts are the most"
            ));
        }
        warnings
    }
}
