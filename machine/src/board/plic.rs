//! The platform-level interrupt controller (RISC-V PLIC Specification 1.0.0): a source asks while its input is high and
//! nobody has claimed it. Each processor has two contexts, for machine and for supervisor mode.

use serde::{Deserialize, Serialize};

use super::{At, Console, Device, Effect, restored, saved};

/// Sources are numbered from 1 on.
const SOURCES: usize = 96;
const WORDS: usize = SOURCES / 32;

const PENDING: u32 = 0x1000;
const ENABLES: u32 = 0x2000;
const ENABLES_OF_CONTEXT: u32 = 0x80;
const CONTEXTS: u32 = 0x20_0000;
const CONTEXT: u32 = 0x1000;
/// Priorities have three bits.
const PRIORITY: u64 = 7;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Context {
    enabled: [u32; WORDS],
    threshold: u8,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Plic {
    priorities: Vec<u8>,
    inputs: [u32; WORDS],
    claimed: [u32; WORDS],
    contexts: Vec<Context>,
}

fn bit(words: [u32; WORDS], source: usize) -> bool {
    words[source / 32] >> (source % 32) & 1 != 0
}

fn set(words: &mut [u32; WORDS], source: usize, high: bool) {
    let (word, place) = (source / 32, source % 32);
    words[word] = words[word] & !(1 << place) | u32::from(high) << place;
}

impl Plic {
    pub fn new(processors: u8) -> Self {
        Plic {
            priorities: vec![0; SOURCES],
            inputs: [0; WORDS],
            claimed: [0; WORDS],
            contexts: vec![Context::default(); 2 * usize::from(processors)],
        }
    }

    fn pending(&self, source: usize) -> bool {
        bit(self.inputs, source) && !bit(self.claimed, source)
    }

    /// The source with the highest priority that asks a context; of equal ones the first.
    fn best(&self, context: &Context) -> Option<usize> {
        let asking = (1..SOURCES).filter(|&source| {
            self.pending(source)
                && bit(context.enabled, source)
                && self.priorities[source] > context.threshold
        });
        asking.max_by_key(|&source| (self.priorities[source], SOURCES - source))
    }

    /// The context, and the word of its enables, at this offset.
    fn enables(&mut self, offset: u32) -> Option<&mut u32> {
        let offset = offset.checked_sub(ENABLES)?;
        let context = self
            .contexts
            .get_mut((offset / ENABLES_OF_CONTEXT) as usize)?;
        context
            .enabled
            .get_mut((offset % ENABLES_OF_CONTEXT / 4) as usize)
    }
}

impl Device for Plic {
    fn widths(&self) -> &'static [u32] {
        &[4]
    }

    fn read(&mut self, at: At, _: &mut Console) -> Result<u64, &'static str> {
        let word = (at.offset / 4) as usize;
        Ok(match at.offset {
            0..PENDING => self.priorities.get(word).copied().unwrap_or(0).into(),
            PENDING..ENABLES => {
                let first = (word - PENDING as usize / 4) * 32;
                let sources =
                    (first..first + 32).filter(|&source| source < SOURCES && self.pending(source));
                sources.fold(0, |all, source| all | 1 << (source % 32))
            }
            ENABLES..CONTEXTS => self.enables(at.offset).map_or(0, |word| (*word).into()),
            _ => {
                let number = ((at.offset - CONTEXTS) / CONTEXT) as usize;
                let Some(context) = self.contexts.get(number) else {
                    return Ok(0);
                };
                match at.offset % CONTEXT {
                    0 => context.threshold.into(),
                    4 => {
                        let source = self.best(context).unwrap_or(0);
                        if source != 0 {
                            set(&mut self.claimed, source, true);
                        }
                        source as u64
                    }
                    _ => 0,
                }
            }
        })
    }

    fn write(
        &mut self,
        at: At,
        value: u64,
        _: &mut Console,
    ) -> Result<Option<Effect>, &'static str> {
        match at.offset {
            0..PENDING => {
                if let Some(priority) = self.priorities.get_mut((at.offset / 4) as usize) {
                    *priority = (value & PRIORITY) as u8;
                }
            }
            PENDING..ENABLES => {}
            ENABLES..CONTEXTS => {
                if let Some(word) = self.enables(at.offset) {
                    *word = value as u32;
                }
            }
            _ => {
                let number = ((at.offset - CONTEXTS) / CONTEXT) as usize;
                let Some(context) = self.contexts.get_mut(number) else {
                    return Ok(None);
                };
                match at.offset % CONTEXT {
                    0 => context.threshold = (value & PRIORITY) as u8,
                    // Only what the context has enabled can be completed by it.
                    4 if value < SOURCES as u64 && bit(context.enabled, value as usize) => {
                        set(&mut self.claimed, value as usize, false);
                    }
                    _ => {}
                }
            }
        }
        Ok(None)
    }

    fn set_input(&mut self, line: u8, high: bool) {
        set(&mut self.inputs, usize::from(line) % SOURCES, high);
    }

    fn drives(&self, line: u8) -> bool {
        let context = self.contexts.get(usize::from(line));
        context.is_some_and(|context| self.best(context).is_some())
    }

    fn save(&self) -> Vec<u8> {
        saved(self)
    }

    fn restore(&mut self, state: &[u8]) -> bool {
        let contexts = self.contexts.len();
        restored(self, state, |state: &Self| {
            state.contexts.len() == contexts && state.priorities.len() == SOURCES
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::Instant;

    fn at(offset: u32) -> At {
        At {
            window: 0,
            offset,
            size: 4,
            now: Instant::default(),
        }
    }

    #[test]
    fn the_highest_priority_is_claimed_first_and_asks_again_while_its_input_is_high() {
        let (mut plic, mut console) = (Plic::new(1), Console::memory());
        let mut write = |plic: &mut Plic, offset, value| {
            plic.write(at(offset), value, &mut console).unwrap();
        };
        write(&mut plic, 4 * 10, 1);
        write(&mut plic, 4 * 11, 5);
        write(&mut plic, ENABLES + ENABLES_OF_CONTEXT, 3 << 10);
        assert!(!plic.drives(1));
        plic.set_input(10, true);
        plic.set_input(11, true);
        assert!(plic.drives(1) && !plic.drives(0));
        let claim = CONTEXTS + CONTEXT + 4;
        let mut quiet = Console::memory();
        for expected in [11, 10, 0] {
            assert_eq!(plic.read(at(claim), &mut quiet), Ok(expected));
        }
        write(&mut plic, claim, 11);
        assert!(plic.drives(1));
        write(&mut plic, CONTEXTS + CONTEXT, 5);
        assert!(!plic.drives(1), "the threshold is not exceeded");
        plic.set_input(11, false);
        write(&mut plic, CONTEXTS + CONTEXT, 0);
        assert!(!plic.drives(1));
    }
}
