//! What a finding says: the access, the entry, the change, and each flush since then with why it did not reach the
//! entry.

use serde_json::{Value, json};

use super::words::{CALLS_MOST, Change, Who};
use super::{Fill, Flush, Flushed, Key, Origin, Rules, Side, Stale, Use};
use crate::observe::symbolize::Symbolizer;

/// Flushes that a finding shows.
const SHOWN_MOST: usize = 3;

/// Why a use is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The thread that made the change has returned to user mode since.
    Late,
    /// The page's frame got another use since the change.
    Reuse,
    /// Another page table was chosen, and entries of the last one stayed.
    Context,
}

impl Kind {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::Late => "late",
            Kind::Reuse => "reuse",
            Kind::Context => "context",
        }
    }

    fn explain(self) -> &'static str {
        match self {
            Kind::Late => "the thread that made the change has returned to user mode since",
            Kind::Reuse => "the page's frame got another use since the change",
            Kind::Context => "another page table was chosen since the entry was loaded",
        }
    }
}

/// A place in code, and who was there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Place {
    who: Who,
    function: String,
    program: String,
}

impl Place {
    fn of(who: Who) -> Place {
        Place {
            who,
            ..Place::default()
        }
    }

    fn name(&mut self, symbols: &Symbolizer) {
        self.function = symbols.describe(self.who.pc as u32, self.who.user);
        // A program that nobody has named runs as a part of the kernel.
        let unnamed = self.who.user && self.who.program == 0;
        self.program = match symbols.program_name(self.who.program) {
            _ if unnamed => "?".to_owned(),
            name => name.to_owned(),
        };
    }

    /// The function without the distance from its begin.
    fn short(&self) -> &str {
        self.function.split('+').next().unwrap_or_default()
    }

    fn text(&self) -> String {
        let Who {
            processor,
            cycle,
            pc,
            user,
            ..
        } = &self.who;
        let mode = if *user { "user" } else { "kernel" };
        format!(
            "processor {processor}, cycle {cycle}, {pc:#010x} <{}>, {mode} mode, program {}",
            self.function, self.program
        )
    }

    fn json(&self) -> Value {
        json!({
            "processor": self.who.processor,
            "cycle": self.who.cycle,
            "pc": format!("{:#x}", self.who.pc),
            "function": self.short(),
            "user": self.who.user,
            "program": self.program,
            "thread": format!("{:#x}", self.who.thread),
        })
    }
}

/// A use of a stale translation.
#[derive(Clone, Debug)]
pub struct Finding {
    pub kind: Kind,
    /// How often it was found again.
    pub times: u64,
    access: Place,
    used: Use,
    filled: Place,
    origin: Origin,
    global: bool,
    rules: Rules,
    now: &'static str,
    /// Where the page is now.
    frame: Option<u64>,
    change: Option<(Change, Place, Vec<String>)>,
    flushes: Vec<(Place, String)>,
    /// Flushes since the change beyond these.
    more: usize,
    named: bool,
}

fn shown(what: Flush) -> String {
    match what {
        Flush::All => "all entries".to_owned(),
        Flush::NotGlobal => "all entries that are not global".to_owned(),
        Flush::Page(address, None) => format!("page {address:#010x}"),
        Flush::Page(address, Some(space)) => {
            format!("page {address:#010x} of address space {space:#x}")
        }
        Flush::Space(space) => format!("address space {space:#x}"),
    }
}

impl Stale {
    pub(super) fn describe(
        &self,
        kind: Kind,
        used: &Use,
        who: Who,
        fill: &Fill,
        change: Option<Change>,
        (now, frame): (&'static str, Option<u64>),
    ) -> Finding {
        let since = change.as_ref().map_or(fill.time, |change| change.time);
        let (flushes, more) = self.missed(used, who.processor, fill, since);
        Finding {
            kind,
            times: 1,
            access: Place::of(who),
            used: *used,
            filled: Place::of(fill.who.clone()),
            origin: fill.origin,
            global: fill.global,
            rules: self.rules,
            now,
            frame,
            change: change.map(|change| {
                let who = change.who.clone();
                (change, Place::of(who), Vec::new())
            }),
            flushes,
            more,
            named: false,
        }
    }

    /// The flushes since `since`, the nearest misses first, and how many are not shown; and the last one before that
    /// would have reached the entry.
    fn missed(
        &self,
        used: &Use,
        processor: u8,
        fill: &Fill,
        since: u64,
    ) -> (Vec<(Place, String)>, usize) {
        let twin = Key {
            side: Side::Hashed,
            ..used.key
        };
        let hashed = self.fill(processor, &twin).is_some();
        let keeps = |flushed: &Flushed| flushed.what.keeps(&used.key, fill);
        let why = |flushed: &Flushed| match keeps(flushed) {
            None if flushed.who.processor != processor => "another processor's TLB",
            None if hashed => "the hash table kept the entry",
            None => "the entry was loaded behind it",
            Some(why) => why,
        };
        let line = |flushed: &Flushed, why: &str| {
            let place = Place::of(flushed.who.clone());
            (place, format!("{}: {why}", shown(flushed.what)))
        };
        let mut since_then: Vec<_> = (self.flushes.iter())
            .filter(|flushed| flushed.time > since)
            .collect();
        since_then.sort_by_key(|flushed| {
            let near = keeps(flushed).is_none();
            (!near, flushed.who.processor != processor, flushed.time)
        });
        let more = since_then.len().saturating_sub(SHOWN_MOST);
        since_then.truncate(SHOWN_MOST);
        let mut lines: Vec<_> = (since_then.into_iter())
            .map(|flushed| line(flushed, why(flushed)))
            .collect();
        let before = self.flushes.iter().rev().find(|flushed| {
            flushed.time < since && flushed.time > fill.time && keeps(flushed).is_none()
        });
        if lines.len() < SHOWN_MOST
            && let Some(before) = before
        {
            lines.push(line(before, "before the change"));
        }
        (lines, more)
    }
}

impl Finding {
    /// Is it the same error, at the same places?
    #[must_use]
    pub fn is_like(&self, other: &Finding) -> bool {
        let places = |finding: &Finding| {
            let change = finding.change.as_ref();
            let change = change.map(|(change, ..)| change.who.pc);
            (finding.kind.name(), change, finding.access.who.pc)
        };
        places(self) == places(other)
    }

    /// Gives functions and programs their names, as they are called now.
    pub fn name(&mut self, symbols: &Symbolizer) {
        if self.named {
            return;
        }
        self.named = true;
        self.access.name(symbols);
        self.filled.name(symbols);
        for (place, _) in &mut self.flushes {
            place.name(symbols);
        }
        if let Some((change, place, calls)) = &mut self.change {
            place.name(symbols);
            let known = change.who.calls.iter().take(CALLS_MOST);
            *calls = known
                .map(|&pc| symbols.describe((pc as u32).wrapping_sub(1), change.who.user))
                .collect();
        }
    }

    fn level(&self, number: usize) -> &'static str {
        self.rules.levels.get(number).copied().unwrap_or("word")
    }

    /// What is special of the entry, in brackets.
    fn traits(&self) -> String {
        let global = self.global.then_some("global");
        let tlb = match self.used.key.side {
            Side::Data => None,
            Side::Instruction => Some("instructions"),
            Side::Second => Some("second-level TLB"),
            Side::Hashed => Some("hash table"),
        };
        let space = self.used.key.space;
        let space = (space != 0).then(|| format!("number {space:#x}"));
        let traits = global.into_iter().chain(tlb).map(str::to_owned);
        let traits: Vec<String> = traits.chain(space).collect();
        if traits.is_empty() {
            String::new()
        } else {
            format!(" ({})", traits.join(", "))
        }
    }

    /// About ten lines.
    #[must_use]
    pub fn text(&self) -> String {
        let used = &self.used;
        let (kind, why) = (self.kind.name(), self.kind.explain());
        let mut lines = vec![
            format!(
                "stale translation ({kind}): {} {:#010x} by an entry that {}; {why}",
                used.access, used.address, self.now
            ),
            format!("  access  {}", self.access.text()),
            format!(
                "  entry   page {:#010x} of {} KB at {:#010x}{}, loaded by {}",
                used.key.page,
                1_u64 << (used.key.shift - 10),
                used.frame,
                self.traits(),
                self.filled.text()
            ),
        ];
        let words = self.origin.words().enumerate();
        let words: Vec<String> = words
            .map(|(n, word)| {
                format!(
                    "{} at {:#010x} = {:#010x}",
                    self.level(n),
                    word.at,
                    word.value
                )
            })
            .collect();
        let root = match self.origin.root {
            0 => String::new(),
            root => format!("; root {root:#010x}"),
        };
        lines.push(format!("  from    {}{root}", words.join(", ")));
        if let Some(frame) = self.frame {
            lines.push(format!("  now     the page is at {frame:#010x}"));
        }
        if let Some((change, place, calls)) = &self.change {
            let what = match change.space {
                Some(space) => format!("address space number {space:#x} for another space"),
                None => format!(
                    "word {:#010x} from {:#010x} to {:#010x}",
                    change.at, change.old, change.new
                ),
            };
            let (place, thread) = (place.text(), change.who.thread);
            lines.push(format!("  change  {place}: {what}, thread {thread:#010x}"));
            if !calls.is_empty() {
                lines.push(format!("  called  from {}", calls.join(" < ")));
            }
        }
        for (place, what) in &self.flushes {
            lines.push(format!("  flush   {}: {what}", place.text()));
        }
        match (self.flushes.is_empty(), self.more) {
            (true, _) => lines.push("  flush   none since the change".to_owned()),
            (false, 0) => {}
            (false, more) => lines.push(format!("  flush   {more} more since the change")),
        }
        if self.global {
            lines.push(format!("  global  {}", self.rules.global));
        }
        lines.join("\n")
    }

    #[must_use]
    pub fn json(&self) -> Value {
        let words = self.origin.words().enumerate();
        let words: Vec<Value> = words
            .map(|(n, word)| {
                json!({
                    "level": self.level(n),
                    "address": format!("{:#x}", word.at),
                    "value": format!("{:#x}", word.value),
                })
            })
            .collect();
        let change = self.change.as_ref().map(|(change, place, calls)| {
            let mut shown = place.json();
            if let Some(space) = change.space {
                shown["space"] = json!(space);
            } else {
                shown["address"] = json!(format!("{:#x}", change.at));
                shown["old"] = json!(format!("{:#x}", change.old));
                shown["new"] = json!(format!("{:#x}", change.new));
            }
            shown["calls"] = json!(calls);
            shown
        });
        let flushes = self.flushes.iter().map(|(place, what)| {
            let mut shown = place.json();
            shown["what"] = json!(what);
            shown
        });
        let mut access = self.access.json();
        access["address"] = json!(format!("{:#x}", self.used.address));
        access["what"] = json!(self.used.access);
        let mut entry = self.filled.json();
        entry["page"] = json!(format!("{:#x}", self.used.key.page));
        entry["bytes"] = json!(1_u64 << self.used.key.shift);
        entry["frame"] = json!(format!("{:#x}", self.used.frame));
        entry["words"] = words.into();
        entry["root"] = json!(format!("{:#x}", self.origin.root));
        entry["space"] = json!(self.used.key.space);
        entry["tlb"] = json!(self.used.key.side.name());
        entry["global"] = json!(self.global);
        let frame = self.frame.map(|frame| format!("{frame:#x}"));
        json!({
            "kind": self.kind.name(),
            "times": self.times,
            "why": self.now,
            "frame_now": frame,
            "access": access,
            "entry": entry,
            "change": change,
            "flushes": flushes.collect::<Vec<_>>(),
            "flushes_more": self.more,
            "global_entries": self.global.then_some(self.rules.global),
            "text": self.text(),
        })
    }
}
