//! OpenPIC interrupt controller (AMD and Cyrix, Open Programmable Interrupt Controller Register Interface Specification
//! 1.2) for up to eight processors, as the Raven bridge of Motorola's PReP machines has it (Raven: MTX Series
//! Programmer's Reference Guide, 2-47 to 2-77; the Hawk's is the same: MVME5100 Programmer's Reference Guide, 2-53 to
//! 2-65). The source of what follows is the Raven's manual where nothing else is named.
//!
//! - After a reset, interrupt source 0, an 8259, goes to processor 0 past the controller, which is disabled, until bit
//!   M of the configuration register is set.
//! - A request reaches a processor when its priority is above the processor's task priority and above all that is in
//!   service there: from the read of the acknowledge register to the write of the end-of-interrupt register. Of equal
//!   priorities external sources come first, then timers, then interrupts between processors, each by number (2-57 of
//!   the MVME5100 guide).
//! - External sources are distributed: of the processors in the destination register the one with the lowest task
//!   priority gets the interrupt, of equal ones the first. The Raven's tie mode, which alternates, is not here.
//! - Timers and interrupts between processors are directed: each destination gets its own.
//! - An edge and an event are remembered while they are masked (text of the MASK bit).
//!
//! Apart from the manual: an access to no register is an error (the Raven returns 0); registers take 32-bit accesses
//! only; and processors other than the first begin with their bits in the processor-init register set, held in reset,
//! as there is no firmware that would make them wait.
//!
//! The MPC8641's MPIC has the same registers on the processor's own bus (MPC8641D Reference Manual, chapter 10). It
//! differs in byte order, width of the vectors, version, and block revision register 1; and it holds no processor in
//! reset. Its second group of timers, message and error interrupts are not here.

mod shape;
mod timer;

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use super::{At, Console, Device, Effect, restored, saved};
use crate::config::LATEST;
use shape::{BLOCK_REVISION, TIMERS};
pub(super) use shape::{Model, Shape};
use timer::Timer;

const PRIORITY_MOST: u8 = 15;

/// Bits of the global configuration register.
mod configuration {
    pub const RESET: u32 = 0x8000_0000;
    /// M, mixed mode: the 8259 is a source like the others.
    pub const MIXED: u32 = 0x2000_0000;
}

/// Bits of the vector/priority registers.
mod control {
    pub const MASK: u32 = 0x8000_0000;
    pub const ACTIVITY: u32 = 0x4000_0000;
    /// Active high, or a rising edge.
    pub const POLARITY: u32 = 0x0080_0000;
    /// Level-triggered.
    pub const SENSE: u32 = 0x0040_0000;
    pub const PRIORITY: u32 = 0x000f_0000;
    pub const PRIORITY_SHIFT: u32 = 16;
}

/// An interrupt source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Source {
    /// Vector/priority register without its activity bit.
    control: u32,
    /// Destination register; 0 of an interrupt between processors, which has none.
    destination: u8,
    /// Processors for which an event waits. An edge of an external source waits for all at once.
    pending: u8,
    /// Level of the input.
    high: bool,
}

impl Source {
    fn new(high: bool) -> Self {
        Source {
            control: control::MASK,
            destination: 0,
            pending: 0,
            high,
        }
    }

    fn priority(&self) -> u8 {
        ((self.control & control::PRIORITY) >> control::PRIORITY_SHIFT) as u8
    }

    fn is_level(&self) -> bool {
        self.control & control::SENSE != 0
    }

    fn masked(&self) -> bool {
        self.control & control::MASK != 0
    }

    /// Is the input at the level that the polarity bit calls active?
    fn asserted(&self) -> bool {
        self.high == (self.control & control::POLARITY != 0)
    }

    /// Does an external source ask for an interrupt?
    fn requests(&self) -> bool {
        if self.is_level() {
            self.asserted()
        } else {
            self.pending != 0
        }
    }
}

/// An interrupt that a processor has acknowledged and not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct InService {
    source: u16,
    /// When it was acknowledged.
    priority: u8,
}

/// What each processor has of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Local {
    task: u8,
    /// By rising priority: each interrupted the one before it.
    service: Vec<InService>,
}

impl Local {
    fn serves(&self, source: usize) -> bool {
        let mut service = self.service.iter();
        service.any(|entry| usize::from(entry.source) == source)
    }

    /// Only priorities above this one interrupt.
    fn floor(&self) -> u8 {
        let served = self.service.last().map_or(0, |entry| entry.priority);
        self.task.max(served)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct State {
    mixed: bool,
    /// Processors that are held in reset: the processor-init register.
    held: u8,
    spurious: u32,
    /// What software has written about the timers' frequency, for software to read.
    timer_frequency: u32,
    /// External sources, timers, interrupts between processors.
    sources: Vec<Source>,
    timers: Vec<Timer>,
    locals: Vec<Local>,
}

impl State {
    /// After power-on, with these levels of the inputs.
    fn new(shape: &Shape, levels: impl Iterator<Item = bool>) -> Self {
        State {
            mixed: false,
            held: shape.holdable(),
            spurious: shape.model.vector(),
            timer_frequency: 0,
            sources: levels.map(Source::new).collect(),
            timers: vec![Timer::new(); TIMERS],
            locals: vec![
                Local {
                    task: PRIORITY_MOST,
                    service: Vec::new(),
                };
                shape.processors.into()
            ],
        }
    }

    /// Could a controller of this shape have come to this? A snapshot is asked before use.
    fn fits(&self, shape: &Shape) -> bool {
        let all = shape.all();
        let source = |(number, source): (usize, &Source)| {
            let external = shape.is_external(number);
            let ipi = number >= shape.ipi(0);
            source.control & !shape.control_bits(number) == 0
                && source.destination & !if ipi { 0 } else { all } == 0
                && source.pending & !all == 0
                && !(source.is_level() && source.pending != 0)
                && !(external && source.pending != 0 && source.pending != all)
                && (external || !source.high)
        };
        let local = |local: &Local| {
            let entries = &local.service;
            local.task <= PRIORITY_MOST
                && entries.iter().enumerate().all(|(index, entry)| {
                    let above = index.checked_sub(1).map_or(0, |i| entries[i].priority);
                    usize::from(entry.source) < shape.sources()
                        && entry.priority > above
                        && entry.priority <= PRIORITY_MOST
                        && entries.iter().filter(|e| e.source == entry.source).count() == 1
                })
        };
        let served_once = |source| self.locals.iter().filter(|l| l.serves(source)).count() <= 1;
        self.held & !shape.holdable() == 0
            && self.spurious & !shape.model.vector() == 0
            && self.sources.len() == shape.sources()
            && self.timers.len() == TIMERS
            && self.locals.len() == usize::from(shape.processors)
            && self.sources.iter().enumerate().all(source)
            && self.timers.iter().all(|timer| timer.fits(LATEST))
            && self.locals.iter().all(local)
            && (0..shape.inputs).all(served_once)
    }
}

/// A register by what it does. Sources, timers and processors by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Register {
    BlockRevision,
    Feature,
    Configuration,
    Vendor,
    ProcessorInit,
    Spurious,
    TimerFrequency,
    Control(usize),
    Destination(usize),
    CurrentCount(usize),
    BaseCount(usize),
    Dispatch(usize),
    Task(usize),
    WhoAmI(usize),
    Acknowledge(usize),
    End(usize),
}

#[derive(Debug)]
pub(super) struct OpenPic {
    shape: Shape,
    state: State,
    /// Processors whose interrupt output is high; follows from the state.
    output: u8,
}

impl OpenPic {
    pub fn new(shape: Shape) -> Self {
        OpenPic {
            shape,
            state: State::new(&shape, (0..shape.sources()).map(|_| false)),
            output: 0,
        }
    }

    fn register(&self, at: At) -> Option<Register> {
        let part = (at.offset & 0xfff) as usize;
        match at.offset {
            0x0 if self.shape.model == Model::Mpc8641 => Some(Register::BlockRevision),
            // Each processor finds its own registers here too.
            0x40..=0xb0 => self.local_register(at.now.processor.into(), part),
            0x1000 => Some(Register::Feature),
            0x1020 => Some(Register::Configuration),
            0x1080 => Some(Register::Vendor),
            0x1090 if self.shape.model == Model::Raven => Some(Register::ProcessorInit),
            0x10a0 | 0x10b0 | 0x10c0 | 0x10d0 => {
                Some(Register::Control(self.shape.ipi((part - 0xa0) / 0x10)))
            }
            0x10e0 => Some(Register::Spurious),
            0x10f0 => Some(Register::TimerFrequency),
            0x1100..=0x11f0 => {
                let timer = (part - 0x100) / 0x40;
                match part % 0x40 {
                    0x00 => Some(Register::CurrentCount(timer)),
                    0x10 => Some(Register::BaseCount(timer)),
                    0x20 => Some(Register::Control(self.shape.timer(timer))),
                    0x30 => Some(Register::Destination(self.shape.timer(timer))),
                    _ => None,
                }
            }
            0x1_0000..=0x1_ffff => {
                let place = (at.offset - 0x1_0000) as usize;
                let source = Some(place / 0x20).filter(|&s| self.shape.is_external(s))?;
                match place % 0x20 {
                    0x00 => Some(Register::Control(source)),
                    0x10 => Some(Register::Destination(source)),
                    _ => None,
                }
            }
            0x2_0000..=0x2_7fff => {
                self.local_register(((at.offset - 0x2_0000) / 0x1000) as usize, part)
            }
            _ => None,
        }
    }

    fn local_register(&self, processor: usize, part: usize) -> Option<Register> {
        if processor >= self.shape.processors.into() {
            return None;
        }
        match part {
            0x40 | 0x50 | 0x60 | 0x70 => Some(Register::Dispatch((part - 0x40) / 0x10)),
            0x80 => Some(Register::Task(processor)),
            0x90 => Some(Register::WhoAmI(processor)),
            0xa0 => Some(Register::Acknowledge(processor)),
            0xb0 => Some(Register::End(processor)),
            _ => None,
        }
    }

    fn get(&mut self, register: Register, now: u64) -> u32 {
        match register {
            Register::BlockRevision => BLOCK_REVISION,
            Register::Feature => {
                let last_input = self.shape.inputs as u32 - 1;
                let last_processor = u32::from(self.shape.processors) - 1;
                last_input << 16 | last_processor << 8 | self.shape.model.version()
            }
            Register::Configuration if self.state.mixed => configuration::MIXED,
            Register::ProcessorInit => self.state.held.into(),
            Register::Spurious => self.state.spurious,
            Register::TimerFrequency => self.state.timer_frequency,
            Register::Control(source) => {
                let active = if self.active(source) {
                    control::ACTIVITY
                } else {
                    0
                };
                self.state.sources[source].control | active
            }
            Register::Destination(source) => self.state.sources[source].destination.into(),
            Register::CurrentCount(timer) => self.state.timers[timer].current(now),
            Register::BaseCount(timer) => self.state.timers[timer].base(),
            Register::Task(processor) => self.state.locals[processor].task.into(),
            Register::WhoAmI(processor) => processor as u32,
            Register::Acknowledge(processor) => self.acknowledge(processor),
            Register::Configuration
            | Register::Vendor
            | Register::Dispatch(_)
            | Register::End(_) => 0,
        }
    }

    /// A write to a register that is only read changes nothing.
    fn put(&mut self, register: Register, value: u32, now: u64) {
        let all = self.shape.all();
        let state = &mut self.state;
        match register {
            Register::Configuration if value & configuration::RESET != 0 => {
                *state = State::new(&self.shape, state.sources.iter().map(|s| s.high));
            }
            Register::Configuration => state.mixed = value & configuration::MIXED != 0,
            Register::ProcessorInit => {
                let held = value as u8 & self.shape.holdable();
                for (number, local) in state.locals.iter_mut().enumerate() {
                    if (held & !state.held) >> number & 1 != 0 {
                        local.task = PRIORITY_MOST;
                    }
                }
                state.held = held;
            }
            Register::Spurious => state.spurious = value & self.shape.model.vector(),
            Register::TimerFrequency => state.timer_frequency = value,
            Register::Control(number) => {
                let source = &mut state.sources[number];
                source.control = value & self.shape.control_bits(number);
                if source.is_level() {
                    source.pending = 0;
                }
            }
            Register::Destination(source) => state.sources[source].destination = value as u8 & all,
            Register::BaseCount(timer) => state.timers[timer].set_base(value, now),
            Register::Dispatch(channel) => {
                state.sources[self.shape.ipi(channel)].pending |= value as u8 & all;
            }
            Register::Task(processor) => {
                state.locals[processor].task = value as u8 & PRIORITY_MOST;
            }
            Register::End(processor) => {
                state.locals[processor].service.pop();
            }
            Register::BlockRevision
            | Register::Feature
            | Register::Vendor
            | Register::CurrentCount(_)
            | Register::WhoAmI(_)
            | Register::Acknowledge(_) => {}
        }
    }

    /// Is the source requested, or in service anywhere?
    fn active(&self, source: usize) -> bool {
        let requested = if self.shape.is_external(source) {
            self.state.sources[source].requests()
        } else {
            self.state.sources[source].pending != 0
        };
        requested || self.in_service(source)
    }

    fn in_service(&self, source: usize) -> bool {
        self.state.locals.iter().any(|local| local.serves(source))
    }

    /// Does the source ask this processor, whatever the priorities?
    fn asks(&self, source: usize, processor: usize) -> bool {
        let it = &self.state.sources[source];
        if self.shape.is_external(source) {
            it.requests()
                && !self.in_service(source)
                && self.recipient(it.destination) == Some(processor)
        } else {
            it.pending >> processor & 1 != 0 && !self.state.locals[processor].serves(source)
        }
    }

    /// Who gets an external interrupt for these processors.
    fn recipient(&self, destination: u8) -> Option<usize> {
        (0..self.shape.processors.into())
            .filter(|&processor| destination >> processor & 1 != 0)
            .min_by_key(|&processor: &usize| self.state.locals[processor].task)
    }

    /// The source that interrupts this processor now.
    fn request(&self, processor: usize) -> Option<usize> {
        if !self.state.mixed {
            return None;
        }
        let mut best = None;
        let mut floor = self.state.locals[processor].floor();
        for (number, source) in self.state.sources.iter().enumerate() {
            if source.priority() > floor && !source.masked() && self.asks(number, processor) {
                floor = source.priority();
                best = Some(number);
            }
        }
        best
    }

    /// The vector of what interrupts, which is in service from now on; or the spurious vector.
    fn acknowledge(&mut self, processor: usize) -> u32 {
        let Some(number) = self.request(processor) else {
            return self.state.spurious;
        };
        let source = &mut self.state.sources[number];
        source.pending &= if self.shape.is_external(number) {
            0
        } else {
            !(1 << processor)
        };
        self.state.locals[processor].service.push(InService {
            source: number as u16,
            priority: source.priority(),
        });
        source.control & self.shape.model.vector()
    }

    fn ticks(&self, cycle: u64) -> u64 {
        cycle / self.shape.tick
    }

    /// Notes the timers that have come to zero.
    fn advance(&mut self, now: u64) {
        for (number, timer) in self.state.timers.iter_mut().enumerate() {
            if timer.advance(now) {
                let source = &mut self.state.sources[self.shape.timer(number)];
                source.pending |= source.destination;
            }
        }
    }

    /// The outputs, after a change.
    fn settle(&mut self) {
        self.output = if self.state.mixed {
            (0..self.shape.processors).fold(0, |output, processor| {
                output | u8::from(self.request(processor.into()).is_some()) << processor
            })
        } else {
            self.state.sources[0].high.into()
        };
    }

    /// Between the processor, as the device trait has it, and the register.
    fn order(&self, value: u32) -> u32 {
        match self.shape.model {
            Model::Raven => value.swap_bytes(),
            Model::Mpc8641 => value,
        }
    }
}

impl Device for OpenPic {
    fn widths(&self) -> &'static [u32] {
        &[4]
    }

    fn read(&mut self, at: At, _: &mut Console) -> Result<u64, &'static str> {
        let register = self.register(at).ok_or("there is no register")?;
        let now = self.ticks(at.now.cycles);
        self.advance(now);
        let value = self.get(register, now);
        self.settle();
        Ok(self.order(value).into())
    }

    fn write(
        &mut self,
        at: At,
        value: u64,
        _: &mut Console,
    ) -> Result<Option<Effect>, &'static str> {
        let register = self.register(at).ok_or("there is no register")?;
        let now = self.ticks(at.now.cycles);
        self.advance(now);
        self.put(register, self.order(value as u32), now);
        self.settle();
        Ok(None)
    }

    fn interrupt(&self) -> bool {
        self.interrupts(0)
    }

    fn interrupts(&self, processor: u8) -> bool {
        processor < self.shape.processors && self.output >> processor & 1 != 0
    }

    fn holds(&self, processor: u8) -> bool {
        processor < self.shape.processors && self.state.held >> processor & 1 != 0
    }

    fn set_input(&mut self, line: u8, high: bool) {
        if !self.shape.is_external(line.into()) {
            return;
        }
        let all = self.shape.all();
        let source = &mut self.state.sources[usize::from(line)];
        let was = source.asserted();
        source.high = high;
        if !source.is_level() && source.asserted() && !was {
            source.pending = all;
        }
        self.settle();
    }

    /// A timer's next zero matters if it can make a request that is not there yet.
    fn deadline(&self, _: u64, _: &Console) -> Option<u64> {
        let timers = self.state.timers.iter().enumerate();
        timers
            .filter_map(|(number, timer)| {
                let source = &self.state.sources[self.shape.timer(number)];
                let news = source.destination & !source.pending != 0;
                let heard = self.state.mixed && news && !source.masked() && source.priority() > 0;
                timer.next_zero().filter(|_| heard)
            })
            .min()
            .map(|tick| tick * self.shape.tick)
    }

    fn poll(&mut self, now: u64, _: &mut Console) {
        self.advance(self.ticks(now));
        self.settle();
    }

    fn save(&self) -> Vec<u8> {
        saved(&self.state)
    }

    fn restore(&mut self, state: &[u8]) -> bool {
        let shape = self.shape;
        let fits = restored(&mut self.state, state, |state: &State| state.fits(&shape));
        self.settle();
        fits
    }
}
