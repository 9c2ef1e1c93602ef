//! How long calls of a function take, with everything that it calls: for queries.
//!
//! A call begins when the function's first instruction runs behind another function, and ends when that other one runs
//! on, on the same processor and in the same mode. What runs between is part of it: interrupts, and the function's own
//! callees. It ends too early if its caller runs for another reason before.

use rustc_hash::FxHashMap;

use super::symbolize::{Function, Symbolizer};
use crate::account::Cause;

/// The most calls of a processor that have not ended. Beyond it the oldest one is forgotten.
const OPEN_MOST: usize = 64;

/// A call that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Call {
    pub caller: Function,
    /// Where the function begins.
    pub pc: u32,
    pub user: bool,
    /// That of its first instruction.
    pub cause: Cause,
    pub from: u64,
    pub until: u64,
}

/// What runs on one processor.
#[derive(Clone, Debug, Default)]
struct Track {
    /// The function that ran last, and whether it ran in user mode.
    last: Option<(Function, bool)>,
    /// The calls that have not ended, the outermost first. `until` is not known yet.
    open: Vec<Call>,
}

/// The calls of the functions that queries name.
#[derive(Clone, Debug)]
pub struct Calls {
    names: Vec<String>,
    wanted: FxHashMap<Function, bool>,
    tracks: Vec<Track>,
    /// The processor that runs.
    processor: usize,
}

impl Calls {
    /// Calls of functions with these names.
    #[must_use]
    pub fn new(names: Vec<String>, processors: usize, processor: u8) -> Self {
        Calls {
            names,
            wanted: FxHashMap::default(),
            tracks: vec![Track::default(); processors],
            processor: processor.into(),
        }
    }

    /// Another processor runs from now on.
    pub(super) fn select(&mut self, processor: u8) {
        self.processor = processor.into();
    }

    /// Code of this mode and cause at `pc` ran from cycle `from` on. Returns the call that ended before.
    pub(super) fn ran(
        &mut self,
        symbols: &Symbolizer,
        (pc, user, cause): (u32, bool, Cause),
        from: u64,
    ) -> Option<Call> {
        let located = symbols.locate(pc, user);
        let track = self.tracks.get_mut(self.processor)?;
        let now = (located.function, user);
        let before = track.last.replace(now);
        if before == Some(now) {
            return None;
        }
        let returned = |call: &Call| (call.caller, call.user) == now;
        let ended = track.open.iter().position(returned).map(|place| {
            let call = track.open[place];
            track.open.truncate(place);
            Call {
                until: from,
                ..call
            }
        });
        if let Some((caller, mode)) = before
            && (pc, user) == (located.low, mode)
            && self.is_wanted(symbols, located.function)
        {
            let open = &mut self.tracks[self.processor].open;
            if open.len() == OPEN_MOST {
                open.remove(0);
            }
            open.push(Call {
                caller,
                pc,
                user,
                cause,
                from,
                until: from,
            });
        }
        ended
    }

    fn is_wanted(&mut self, symbols: &Symbolizer, function: Function) -> bool {
        let names = &self.names;
        let named = || {
            names
                .iter()
                .any(|name| name == symbols.function_name(function))
        };
        *self.wanted.entry(function).or_insert_with(named)
    }
}
