//! The interrupt controllers of a P6: a local APIC in each processor and an I/O APIC (82093AA data sheet), joined by
//! the APIC bus of three wires, on which one message follows another (SDM volume 3A, chapter 10).
//!
//! Local APICs begin as firmware leaves them: that of the first processor passes the 8259's interrupts on (LINT0 as
//! ExtINT), the others wait for a start-up message. Not modelled: remote reads, system management interrupts, the
//! polarity of inputs, and the priorities of bus arbitration; of messages that wait, the oldest goes first.

mod io;
mod local;
mod message;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use super::{At, Console, Device, Effect, restored, saved};
use io::IoApic;
use local::Local;
use message::{Delivery, Destination, Message, Mode};

/// Address windows: the registers of the processor's own APIC, and those of the I/O APIC.
pub const LOCAL: u8 = 0;
pub const IO: u8 = 1;

/// The input that the 8259 pair drives: LINT0 of every processor. Those below are the I/O APIC's.
pub const LINT0: u8 = io::INPUTS as u8;

/// Cycles of the APIC bus: a message, one that asks for the lowest priority first, and an end of interrupt (SDM volume
/// 3A, section 10.13).
const SHORT: u64 = 21;
const LOWEST: u64 = 34;
const END: u64 = 14;

/// Clocks of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Clocks {
    /// Core cycles in a second.
    pub core: u64,
    /// Cycles of the APIC bus in a second.
    pub bus: u64,
    /// Core cycles in two cycles of the processor bus, which the timers count.
    pub per_two_ticks: u64,
}

/// A message on the bus, or before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Sent {
    message: Message,
    /// The core cycle of its last bus cycle; `None` until the bus takes it.
    arrives: Option<u64>,
}

/// Messages that wait at most: each source has one at a time, and an input of the I/O APIC is a source.
const WAITING: usize = 256;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Apics {
    clocks: Clocks,
    locals: Vec<Local>,
    io: IoApic,
    queue: Vec<Sent>,
    /// The core cycle from which the bus is free.
    free: u64,
    /// The 8259 pair asks for an interrupt.
    external: bool,
}

impl Apics {
    pub fn new(processors: u8, clocks: Clocks) -> Self {
        Apics {
            clocks,
            locals: (0..processors).map(Local::new).collect(),
            io: IoApic::new(processors),
            queue: Vec::new(),
            free: 0,
            external: false,
        }
    }

    /// True if APICs can be in this state. A snapshot is checked by this before use.
    fn fits(&self, own: &Apics) -> bool {
        self.clocks == own.clocks
            && self.locals.len() == own.locals.len()
            && self.queue.len() <= WAITING
            && self.io.fits()
    }

    /// Core cycles that so many cycles of the APIC bus take.
    fn cycles(&self, bus: u64) -> u64 {
        (bus * self.clocks.core).div_ceil(self.clocks.bus)
    }

    fn send(&mut self, message: Message) {
        if self.queue.len() < WAITING {
            self.queue.push(Sent {
                message,
                arrives: None,
            });
        }
    }

    /// Puts the oldest message on the bus, if that is free.
    fn schedule(&mut self, now: u64) {
        let Some(waiting) = self.queue.iter().position(|sent| sent.arrives.is_none()) else {
            return;
        };
        let length = match self.queue[waiting].message.delivery {
            Delivery::EndOfInterrupt => END,
            Delivery::Lowest => LOWEST,
            _ => SHORT,
        };
        let end = self.free.max(now) + self.cycles(length);
        self.queue[waiting].arrives = Some(end);
        self.free = end;
    }

    /// Messages that have arrived by cycle `now` are delivered.
    fn advance(&mut self, now: u64) {
        while self.queue.iter().any(|sent| sent.arrives.is_none()) {
            self.schedule(now);
        }
        while let Some(index) = self.first_by(now) {
            let Sent { message, arrives } = self.queue.remove(index);
            if self.deliver(&message, arrives.unwrap_or(now)) {
                if let Some(processor) = message.sender {
                    self.locals[usize::from(processor)].sent();
                }
            } else {
                // Refused: the sender tries again.
                self.send(message);
                self.schedule(now);
            }
        }
        for local in &mut self.locals {
            local.tick(now, self.clocks.per_two_ticks);
        }
    }

    fn first_by(&self, now: u64) -> Option<usize> {
        let due = |sent: &Sent| sent.arrives.is_some_and(|at| at <= now);
        self.queue.iter().position(due)
    }

    /// False if a receiver refuses the message.
    fn deliver(&mut self, message: &Message, now: u64) -> bool {
        if message.delivery == Delivery::EndOfInterrupt {
            if let Some(again) = self.io.end_of_interrupt(message.vector) {
                self.send(again);
                self.schedule(now);
            }
            return true;
        }
        let mut targets: Vec<usize> = (0..self.locals.len())
            .filter(|&number| self.reaches(message, number))
            .collect();
        if message.delivery == Delivery::Lowest {
            let lowest = targets
                .iter()
                .copied()
                .min_by_key(|&n| self.locals[n].priority());
            targets = lowest.into_iter().collect();
        }
        // Every receiver must be able to take it: a message is refused as a whole.
        if targets.iter().any(|&n| self.locals[n].refuses(message)) {
            return false;
        }
        for number in targets {
            self.locals[number].receive(message);
        }
        if let Some(input) = message.input {
            self.io.delivered(input);
        }
        true
    }

    fn reaches(&self, message: &Message, number: usize) -> bool {
        match message.destination {
            Destination::All => true,
            Destination::Others => message.sender.map(usize::from) != Some(number),
            Destination::Physical(id) => self.locals[number].has_id(id),
            Destination::Logical(set) => self.locals[number].is_in(set),
        }
    }

    fn write_local(&mut self, processor: usize, offset: u32, value: u32, now: u64) {
        let local = &mut self.locals[processor];
        if let Some(message) = local.write(offset, value, now) {
            if message.destination == Destination::Physical(local.id())
                && message.sender.is_some()
                && message.mode == Mode::Own
            {
                // To itself it needs no bus.
                if !local.refuses(&message) {
                    local.receive(&message);
                }
                local.sent();
            } else {
                self.send(message);
            }
        }
        self.advance(now);
    }
}

impl Device for Apics {
    fn widths(&self) -> &'static [u32] {
        &[4]
    }

    fn read(&mut self, at: At, _: &mut Console) -> Result<u64, &'static str> {
        let now = at.now.cycles;
        self.advance(now);
        if at.window == IO {
            return Ok(self.io.read(at.offset).into());
        }
        let processor = usize::from(at.now.processor);
        let per_two_ticks = self.clocks.per_two_ticks;
        let local = self.locals.get_mut(processor).ok_or("no such processor")?;
        Ok(local.read(at.offset, now, per_two_ticks).into())
    }

    fn write(
        &mut self,
        at: At,
        value: u64,
        _: &mut Console,
    ) -> Result<Option<Effect>, &'static str> {
        let now = at.now.cycles;
        self.advance(now);
        let processor = usize::from(at.now.processor);
        if at.window == IO {
            if let Some(message) = self.io.write(at.offset, value as u32) {
                self.send(message);
            }
            self.advance(now);
        } else if processor < self.locals.len() {
            self.write_local(processor, at.offset, value as u32, now);
        }
        Ok(None)
    }

    fn interrupts(&self, processor: u8) -> bool {
        let Some(local) = self.locals.get(usize::from(processor)) else {
            return false;
        };
        local.next().is_some() || self.external && local.passes_external()
    }

    fn acknowledge(&mut self, processor: u8) -> Option<u8> {
        let local = self.locals.get_mut(usize::from(processor))?;
        if local.next().is_none() && self.external && local.passes_external() {
            return None;
        }
        Some(local.accept())
    }

    fn take_non_maskable(&mut self, processor: u8) -> bool {
        let local = self.locals.get_mut(usize::from(processor));
        local.is_some_and(Local::take_non_maskable)
    }

    fn holds(&self, processor: u8) -> bool {
        let local = self.locals.get(usize::from(processor));
        local.is_some_and(Local::waits)
    }

    fn start_page(&self, processor: u8) -> u8 {
        let local = self.locals.get(usize::from(processor));
        local.map_or(0, Local::start_page)
    }

    fn set_input(&mut self, line: u8, high: bool) {
        if line == LINT0 {
            self.external = high;
        } else if let Some(message) = self.io.set_input(line, high) {
            self.send(message);
        }
    }

    fn deadline(&self, now: u64, _: &Console) -> Option<u64> {
        let messages = self.queue.iter().map(|sent| sent.arrives.unwrap_or(0));
        let timers = self.locals.iter().filter_map(Local::deadline);
        let next = messages.chain(timers).min()?;
        Some(next.max(now + 1))
    }

    fn poll(&mut self, now: u64, _: &mut Console) {
        self.advance(now);
    }

    fn save(&self) -> Vec<u8> {
        saved(self)
    }

    fn restore(&mut self, state: &[u8]) -> bool {
        let own = self.clone();
        restored(self, state, |apics: &Apics| apics.fits(&own))
    }
}
