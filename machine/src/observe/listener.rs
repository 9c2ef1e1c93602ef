//! A listener: someone outside of the machine who is told of TLB misses, evictions, exceptions, context switches, and
//! interrupts that one processor sends to another. Queries also hear of calls of a function.
//!
//! A filter chooses among them here. What passes is collected in a batch; a full batch stops the run between two
//! blocks, so that the listener can take it and look at the machine before the run goes on. Listening changes no count.

use std::ops::RangeInclusive;

use super::Interruption;
use super::calls::Call;
use super::owners::{Owner, Owners};
use super::stacks::Stack;
use super::symbolize::{Function, Symbolizer};
use super::tally::Tally;
use crate::account::Cause;
use crate::account::causes::CAUSES;
use crate::account::counters::named;
use crate::account::tlb_events::{TlbLoad, TlbMiss, TlbNote, TlbPage};

named! {
    /// What a listener can be told of.
    #[repr(usize)]
    Kind, KINDS {
        /// An access that a TLB could not translate.
        Miss = "miss",
        /// A TLB entry that was replaced by another page's.
        Eviction = "eviction",
        /// An exception that was taken, an interrupt among them.
        Exception = "exception",
        /// Another address space runs on a processor.
        Switch = "switch",
        /// A processor interrupts another one.
        Interrupt = "interrupt",
        /// A call of a function that a query names has ended.
        Call = "call",
    }
}

/// What a listener wants to be told of: events that satisfy all of these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    /// By [`Kind`].
    pub kinds: [bool; KINDS],
    /// A miss passes by its effective address, an eviction by that of the access for which the entry was replaced or by
    /// the page that lost it, an exception by the address that it interrupted. A switch has no address and passes.
    pub addresses: RangeInclusive<u32>,
    /// The address space that runs; of a switch the new one, or the old one.
    pub context: Option<u32>,
    /// By [`Cause`]: what the access, or the code that was interrupted, is charged to. A switch passes.
    pub causes: [bool; CAUSES],
    /// MSR\[PR\] of the access, or of the code that was interrupted. A switch passes.
    pub user: Option<bool>,
    /// Of these only the n-th, the 2n-th and so on.
    pub every: u64,
}

impl Default for Filter {
    /// Everything.
    fn default() -> Self {
        Self {
            kinds: [true; KINDS],
            addresses: 0..=u32::MAX,
            context: None,
            causes: [true; CAUSES],
            user: None,
            every: 1,
        }
    }
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    Miss(TlbMiss),
    Eviction {
        load: TlbLoad,
        victim: TlbPage,
        /// Who loaded the entry that is gone, if that was while someone listened.
        owner: Option<Owner>,
    },
    Exception(Interruption),
    Switch {
        /// The address space that ran before.
        from: u32,
    },
    Interrupt {
        /// The processor that is interrupted.
        target: u8,
        /// The functions that led there, as a number of the symbolizer.
        path: u32,
    },
    Call {
        caller: Function,
        /// Until it had returned.
        cycles: u64,
    },
}

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heard {
    pub what: What,
    /// The processor's number.
    pub processor: u8,
    /// Core cycle at which it began.
    pub cycle: u64,
    /// Of a fetch and an exception the address of the instruction; of another access the cache line of code that runs.
    pub pc: u32,
    /// The address space that runs; of a switch the new one.
    pub context: u32,
    /// The program that runs, as a number of the symbolizer; of a switch the one that ran.
    pub program: u32,
    /// MSR\[PR\].
    pub user: bool,
    pub cause: Cause,
}

/// Who names what runs, and the call stack of the running code.
pub(super) type Names<'a> = (&'a Symbolizer, Stack);

/// Events of a batch at most.
pub const BATCH_MOST: usize = 1 << 16;

/// What is known of one processor.
#[derive(Clone, Debug, Default)]
struct Track {
    owners: Owners,
    /// Mode and cause of the last miss of the data and of the instruction TLB.
    missed: [(bool, Cause); 2],
}

/// A listener's filter, and what has passed it since the listener took the last batch.
#[derive(Clone, Debug)]
pub struct Listener {
    filter: Filter,
    batch: usize,
    /// Events that satisfied the filter before `every`.
    seen: u64,
    pending: Vec<Heard>,
    tracks: Vec<Track>,
    /// The processor that runs.
    processor: u8,
    /// Queries that count events here, whatever the filter says.
    pub(super) tallies: Vec<Tally>,
}

impl Listener {
    /// A listener who takes batches of `batch` events: 1 to [`BATCH_MOST`]. The rest of a block may add a few.
    #[must_use]
    pub fn new(filter: Filter, batch: usize, processors: usize, processor: u8) -> Self {
        Self {
            filter,
            batch: batch.clamp(1, BATCH_MOST),
            seen: 0,
            pending: Vec::new(),
            tracks: vec![Track::default(); processors],
            processor,
            tallies: Vec::new(),
        }
    }

    /// A listener who takes no events, and has them counted.
    #[must_use]
    pub fn counting(tallies: Vec<Tally>, processors: usize, processor: u8) -> Self {
        let nothing = Filter {
            kinds: [false; KINDS],
            ..Filter::default()
        };
        Self {
            tallies,
            ..Self::new(nothing, BATCH_MOST, processors, processor)
        }
    }

    /// True if a batch is full.
    #[inline]
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.pending.len() >= self.batch
    }

    /// Takes what has been heard, in order.
    pub fn take(&mut self) -> Vec<Heard> {
        std::mem::take(&mut self.pending)
    }

    /// What follows happens on this processor.
    pub(super) fn select(&mut self, processor: u8) {
        self.processor = processor;
    }

    fn track(&mut self) -> &mut Track {
        &mut self.tracks[usize::from(self.processor)]
    }

    /// Does the filter let this pass? `addresses` are those of which one must be in its range.
    fn hears(&mut self, heard: &Heard, kind: Kind, addresses: [Option<u32>; 2]) -> bool {
        let filter = &self.filter;
        let switch = match heard.what {
            What::Switch { from } => Some(from),
            _ => None,
        };
        let in_range = |address: u32| filter.addresses.contains(&address);
        let in_context = |wanted| wanted == heard.context || switch == Some(wanted);
        let of_code = switch.is_some()
            || addresses.into_iter().flatten().any(in_range)
                && filter.causes[heard.cause.index()]
                && filter.user.is_none_or(|user| user == heard.user);
        if !filter.kinds[kind as usize] || !of_code || !filter.context.is_none_or(in_context) {
            return false;
        }
        self.seen += 1;
        self.seen.is_multiple_of(self.filter.every.max(1))
    }

    fn tell(
        &mut self,
        heard: Heard,
        kind: Kind,
        addresses: [Option<u32>; 2],
        (symbols, stack): Names<'_>,
    ) {
        for tally in &mut self.tallies {
            tally.hear(&heard, kind, symbols, stack);
        }
        if self.hears(&heard, kind, addresses) {
            self.pending.push(heard);
        }
    }

    /// What the MMU has noted of an access or a load that began at `cycle`.
    pub(super) fn tlb(&mut self, note: &TlbNote, names: Names<'_>, pc: u32, cycle: u64) {
        let (symbols, _) = names;
        let processor = self.processor;
        let event = |what, (user, cause)| heard(processor, what, symbols, (pc, user, cause), cycle);
        if let Some(miss) = note.miss {
            let by = (miss.user, miss.cause);
            self.track().missed[usize::from(miss.fetch)] = by;
            self.tell(
                event(What::Miss(miss), by),
                Kind::Miss,
                [Some(miss.ea), None],
                names,
            );
        }
        if let Some(load) = note.load {
            let track = self.track();
            let owner = track.owners.loaded(&load, symbols);
            let by = track.missed[usize::from(load.fetch)];
            if let Some(victim) = load.victim {
                let lost = owner.map(|owner| owner.address);
                let what = What::Eviction {
                    load,
                    victim,
                    owner,
                };
                self.tell(
                    event(what, by),
                    Kind::Eviction,
                    [Some(load.ea), lost],
                    names,
                );
            }
        }
    }

    /// An exception interrupted code of this mode and cause at `pc`.
    pub(super) fn exception(
        &mut self,
        which: Interruption,
        names: Names<'_>,
        (pc, user, cause): (u32, bool, Cause),
        cycle: u64,
    ) {
        let what = What::Exception(which);
        let heard = heard(self.processor, what, names.0, (pc, user, cause), cycle);
        self.tell(heard, Kind::Exception, [Some(pc), None], names);
    }

    /// Code of this mode and cause at `pc` interrupts another processor.
    pub(super) fn interrupt(
        &mut self,
        (target, path): (u8, u32),
        names: Names<'_>,
        (pc, user, cause): (u32, bool, Cause),
        cycle: u64,
    ) {
        let what = What::Interrupt { target, path };
        let heard = heard(self.processor, what, names.0, (pc, user, cause), cycle);
        self.tell(heard, Kind::Interrupt, [Some(pc), None], names);
    }

    /// A call has ended.
    pub(super) fn called(&mut self, call: &Call, names: Names<'_>) {
        let what = What::Call {
            caller: call.caller,
            cycles: call.until - call.from,
        };
        let code = (call.pc, call.user, call.cause);
        let heard = heard(self.processor, what, names.0, code, call.from);
        self.tell(heard, Kind::Call, [Some(call.pc), None], names);
    }

    /// The address space `context` runs from now on.
    pub(super) fn switch(&mut self, context: u32, symbols: &Symbolizer, cycle: u64) {
        let from = symbols.context();
        if from == context {
            return;
        }
        let named = symbols.causes.find("switch");
        let by = (0, false, named.unwrap_or(Cause::KERNEL));
        let what = What::Switch { from };
        let heard = Heard {
            context,
            ..heard(self.processor, what, symbols, by, cycle)
        };
        self.tell(heard, Kind::Switch, [None, None], (symbols, 0));
    }
}

/// What is told of an event in code of this mode and cause at `pc`, in the address space that runs.
fn heard(
    processor: u8,
    what: What,
    symbols: &Symbolizer,
    (pc, user, cause): (u32, bool, Cause),
    cycle: u64,
) -> Heard {
    Heard {
        what,
        processor,
        cycle,
        pc,
        context: symbols.context(),
        program: symbols.program(),
        user,
        cause,
    }
}
