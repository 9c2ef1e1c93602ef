//! How long calls of a function take, with everything that it calls: for queries.
//!
//! A call begins when the function's first instruction runs, and ends when its return address is reached with the stack
//! pointer of then: by the function itself, or by another one that it has jumped to. What runs between is part of it:
//! interrupts, the function's own callees, and whoever runs while it sleeps. Where an exception leads to is not called.

use rustc_hash::FxHashMap;

use super::symbolize::{Function, Symbolizer};
use crate::account::Cause;

/// The most calls that have not ended. Beyond it the oldest one is forgotten.
const OPEN_MOST: usize = 256;

/// A function takes fewer bytes of arguments from the stack than this when it returns. No other stack is so near.
const ARGUMENTS_MOST: u64 = 64;

/// A call that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    /// The function that called, or jumped.
    pub caller: Function,
    /// Where the function begins.
    pub pc: u32,
    pub user: bool,
    /// That of its first instruction.
    pub cause: Cause,
    pub from: u64,
    pub until: u64,
}

/// How far a call is whose function's first instruction has not completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Begins {
    /// It has.
    Done,
    Now,
    /// An exception came before it.
    Later,
}

/// A call that has not ended: its `until` is not known yet.
#[derive(Clone, Copy, Debug)]
struct Open {
    call: Call,
    function: Function,
    processor: usize,
    /// Where it returns to, and the stack pointer there if no argument is taken from the stack.
    back: (u64, u64),
    begins: Begins,
}

/// A function of those that queries name has been entered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entered {
    call: Call,
    function: Function,
    /// In the mode of the code before, which can only then have called it.
    same_mode: bool,
}

impl Open {
    fn ends(&self, (pc, user): (u64, bool), stack: u64) -> bool {
        self.back.0 == pc
            && self.call.user == user
            && stack.wrapping_sub(self.back.1) < ARGUMENTS_MOST
    }
}

/// What runs on one processor.
#[derive(Clone, Debug, Default)]
struct Track {
    /// The function that ran last, and whether it ran in user mode.
    last: Option<(Function, bool)>,
    /// Its address, mode and stack pointer.
    place: Option<(u64, bool, u64)>,
    /// An exception has been taken, whose handler runs next.
    interrupted: bool,
}

/// The calls of the functions that queries name.
#[derive(Clone, Debug)]
pub struct Calls {
    names: Vec<String>,
    wanted: FxHashMap<Function, bool>,
    tracks: Vec<Track>,
    /// Of all processors, because a thread may go to another one; in the order in which they began.
    open: Vec<Open>,
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
            open: Vec::new(),
            processor: processor.into(),
        }
    }

    /// Another processor runs from now on.
    pub(super) fn select(&mut self, processor: u8) {
        self.processor = processor.into();
    }

    /// Those whose function has been entered, and none of whose instructions has completed.
    fn beginning(&mut self) -> impl Iterator<Item = &mut Open> {
        let processor = self.processor;
        let all = self.open.iter_mut();
        all.filter(move |one| one.processor == processor && one.begins == Begins::Now)
    }

    /// Instructions of the code that was entered last have completed, charged to `cause`.
    pub(super) fn ran(&mut self, cause: Cause) {
        for one in self.beginning() {
            one.call.cause = cause;
            one.begins = Begins::Done;
        }
    }

    /// An exception is taken.
    pub(super) fn interrupted(&mut self) {
        for one in self.beginning() {
            one.begins = Begins::Later;
        }
        if let Some(track) = self.tracks.get_mut(self.processor) {
            track.interrupted = true;
        }
    }

    /// A call that ends when `pc` is reached in this mode at cycle `now`, with this stack pointer.
    pub(super) fn end(&mut self, place: (u64, bool), stack: u64, now: u64) -> Option<Call> {
        let here = |one: &Open| one.processor == self.processor;
        let ended = |one: &Open| one.ends(place, stack);
        let own = self.open.iter().rposition(|one| ended(one) && here(one));
        let at = own.or_else(|| self.open.iter().rposition(ended))?;
        let call = self.open.remove(at).call;
        Some(Call {
            until: now.max(call.from),
            ..call
        })
    }

    /// Code at `pc` runs in this mode from cycle `now` on, with this stack pointer. Returns the call of one of the
    /// functions that may begin with it.
    pub(super) fn enter(
        &mut self,
        symbols: &Symbolizer,
        (pc, user): (u64, bool),
        stack: u64,
        now: u64,
    ) -> Option<Entered> {
        let track = self.tracks.get_mut(self.processor)?;
        let place = (pc, user, stack);
        if track.place.replace(place) == Some(place) {
            return None;
        }
        let located = symbols.locate(pc as u32, user);
        let function = located.function;
        let (caller, mode) = track.last.replace((function, user))?;
        let handler = std::mem::take(&mut track.interrupted);
        let begins = !handler && pc as u32 == located.low && self.is_wanted(symbols, function);
        begins.then_some(Entered {
            call: Call {
                caller,
                pc: pc as u32,
                user,
                cause: Cause::of_mode(user),
                from: now,
                until: now,
            },
            function,
            same_mode: mode == user,
        })
    }

    /// The call returns to `back`, an address and the stack pointer there.
    pub(super) fn begin(&mut self, entered: Entered, back: (u64, u64)) {
        let Entered { call, function, .. } = entered;
        let processor = self.processor;
        let same =
            |one: &Open| (one.function, one.call.user, one.back) == (function, call.user, back);
        let again = |one: &&mut Open| same(one) && one.begins == Begins::Later;
        if let Some(one) = self.open.iter_mut().find(again) {
            (one.begins, one.processor) = (Begins::Now, processor);
            return;
        }
        if !entered.same_mode {
            return;
        }
        // Nothing returns twice: that one was left for good, or has jumped to its own beginning.
        self.open
            .retain(|one| !same(one) || one.processor != processor);
        if self.open.len() == OPEN_MOST {
            self.open.remove(0);
        }
        self.open.push(Open {
            call,
            function,
            processor,
            back,
            begins: Begins::Now,
        });
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
