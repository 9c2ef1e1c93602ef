//! A local APIC (SDM volume 3A, sections 10.4 to 10.8).

use serde::{Deserialize, Serialize};

use super::message::{Delivery, Destination, Message, Mode};

/// Offsets of registers.
mod register {
    pub const ID: u32 = 0x20;
    pub const VERSION: u32 = 0x30;
    pub const TASK_PRIORITY: u32 = 0x80;
    pub const PROCESSOR_PRIORITY: u32 = 0xa0;
    pub const END: u32 = 0xb0;
    pub const LOGICAL: u32 = 0xd0;
    pub const FORMAT: u32 = 0xe0;
    pub const SPURIOUS: u32 = 0xf0;
    pub const IN_SERVICE: u32 = 0x100;
    pub const TRIGGER: u32 = 0x180;
    pub const REQUEST: u32 = 0x200;
    pub const ERROR: u32 = 0x280;
    pub const COMMAND: u32 = 0x300;
    pub const COMMAND_HIGH: u32 = 0x310;
    pub const TIMER: u32 = 0x320;
    pub const LINT0: u32 = 0x350;
    pub const LINT1: u32 = 0x360;
    pub const INITIAL: u32 = 0x380;
    pub const CURRENT: u32 = 0x390;
    pub const DIVIDE: u32 = 0x3e0;
}

/// An integrated APIC of a P6: version 0x11, five local vectors (recalled).
const VERSION: u32 = 0x0004_0011;
const ENABLED: u32 = 1 << 8;
const MASKED: u32 = 1 << 16;
const PERIODIC: u32 = 1 << 17;
/// Delivery mode of a local vector: the 8259's interrupt; a non-maskable one.
const EXTERNAL: u32 = 7 << 8;
const NON_MASKABLE: u32 = 4 << 8;
/// The interrupt command: the message has not been delivered yet.
const PENDING: u32 = 1 << 12;
/// Errors: a vector below 16 was sent or received; a register that does not exist was written.
const SENT_ILLEGAL: u32 = 1 << 5;
const RECEIVED_ILLEGAL: u32 = 1 << 6;
const NO_REGISTER: u32 = 1 << 7;

/// One of the bit maps of 256 vectors.
type Vectors = [u32; 8];

fn highest(vectors: &Vectors) -> Option<u8> {
    let (n, word) = (vectors.iter().enumerate()).rfind(|(_, word)| **word != 0)?;
    Some((32 * n as u32 + 31 - word.leading_zeros()) as u8)
}

fn has(vectors: &Vectors, vector: u8) -> bool {
    vectors[usize::from(vector >> 5)] >> (vector & 31) & 1 != 0
}

fn set(vectors: &mut Vectors, vector: u8, on: bool) {
    let bit = 1 << (vector & 31);
    let word = &mut vectors[usize::from(vector >> 5)];
    *word = if on { *word | bit } else { *word & !bit };
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Local {
    number: u8,
    id: u8,
    task_priority: u8,
    logical: u8,
    format: u32,
    spurious: u32,
    in_service: Vectors,
    trigger: Vectors,
    request: Vectors,
    /// Errors as software reads them, and those since.
    error: u32,
    new_error: u32,
    command: u32,
    command_high: u32,
    /// Timer, performance counter, LINT0, LINT1 and error, 0x10 apart from 0x320 on (0x330 does not exist).
    vectors: [u32; 6],
    initial: u32,
    divide: u32,
    /// The core cycle at which the timer began to count.
    began: Option<u64>,
    /// The core cycle at which it reaches zero.
    ends: Option<u64>,
    non_maskable: bool,
    /// It waits for a start-up message.
    waits: bool,
    page: u8,
}

impl Local {
    pub fn new(number: u8) -> Self {
        let mut local = Local {
            number,
            id: number,
            task_priority: 0,
            logical: 0,
            format: u32::MAX,
            spurious: 0xff,
            in_service: [0; 8],
            trigger: [0; 8],
            request: [0; 8],
            error: 0,
            new_error: 0,
            command: 0,
            command_high: 0,
            vectors: [MASKED; 6],
            initial: 0,
            divide: 0,
            began: None,
            ends: None,
            non_maskable: false,
            waits: number != 0,
            page: 0,
        };
        if number == 0 {
            local.vectors[3] = EXTERNAL;
            local.vectors[4] = NON_MASKABLE;
        }
        local
    }

    pub fn id(&self) -> u8 {
        self.id
    }

    /// Does a physical destination mean this one?
    pub fn has_id(&self, id: u8) -> bool {
        id & 0xf == 0xf || id & 0xf == self.id
    }

    /// Does a logical destination mean this one? The format is flat, or of clusters.
    pub fn is_in(&self, destination: u8) -> bool {
        if destination == 0xff {
            return true;
        }
        if self.format >> 28 == 0xf {
            return destination & self.logical != 0;
        }
        destination >> 4 == self.logical >> 4 && destination & self.logical & 0xf != 0
    }

    fn is_enabled(&self) -> bool {
        self.spurious & ENABLED != 0
    }

    /// The processor priority.
    pub fn priority(&self) -> u8 {
        let service = highest(&self.in_service).unwrap_or(0) & 0xf0;
        if self.task_priority & 0xf0 >= service {
            self.task_priority
        } else {
            service
        }
    }

    /// The vector that may interrupt the processor.
    pub fn next(&self) -> Option<u8> {
        let vector = highest(&self.request).filter(|_| self.is_enabled())?;
        (vector >> 4 > self.priority() >> 4).then_some(vector)
    }

    /// Does it pass the 8259's interrupts on? Firmware's setting does so without the enable bit.
    pub fn passes_external(&self) -> bool {
        self.vectors[3] & (MASKED | EXTERNAL) == EXTERNAL
    }

    /// The processor takes the interrupt: its vector, or the spurious one.
    pub fn accept(&mut self) -> u8 {
        let Some(vector) = self.next() else {
            return self.spurious as u8;
        };
        set(&mut self.request, vector, false);
        set(&mut self.in_service, vector, true);
        vector
    }

    pub fn take_non_maskable(&mut self) -> bool {
        std::mem::take(&mut self.non_maskable)
    }

    pub fn waits(&self) -> bool {
        self.waits
    }

    pub fn start_page(&self) -> u8 {
        self.page
    }

    /// It holds one interrupt of a vector in service and one that waits, and refuses more (SDM volume 3A, 10.8.4).
    pub fn refuses(&self, message: &Message) -> bool {
        matches!(message.delivery, Delivery::Fixed | Delivery::Lowest)
            && self.is_enabled()
            && has(&self.request, message.vector)
    }

    pub fn receive(&mut self, message: &Message) {
        match message.delivery {
            Delivery::Fixed | Delivery::Lowest => self.request(message.vector, message.level),
            Delivery::NonMaskable => self.non_maskable = true,
            // All but the identification is as after a reset.
            Delivery::Init => {
                *self = Local {
                    id: self.id,
                    vectors: [MASKED; 6],
                    waits: true,
                    ..Local::new(self.number)
                };
            }
            Delivery::StartUp if self.waits => {
                self.waits = false;
                self.page = message.vector;
            }
            _ => {}
        }
    }

    fn request(&mut self, vector: u8, level: bool) {
        if !self.is_enabled() {
            return;
        }
        if vector < 16 {
            self.new_error |= RECEIVED_ILLEGAL;
            return;
        }
        set(&mut self.request, vector, true);
        set(&mut self.trigger, vector, level);
    }

    /// Its message has been delivered.
    pub fn sent(&mut self) {
        self.command &= !PENDING;
    }

    pub fn deadline(&self) -> Option<u64> {
        self.ends
    }

    /// Core cycles between two counts of the timer, doubled.
    fn period(&self, per_two_ticks: u64) -> u64 {
        let shift = match (self.divide & 3 | self.divide >> 1 & 4) + 1 {
            8 => 0,
            shift => shift,
        };
        per_two_ticks << shift
    }

    fn start(&mut self, now: u64, per_two_ticks: u64) {
        self.began = (self.initial != 0).then_some(now);
        let cycles = u64::from(self.initial) * self.period(per_two_ticks);
        self.ends = self.began.map(|began| began + cycles.div_ceil(2).max(1));
    }

    /// The timer reaches zero by cycle `now`.
    pub fn tick(&mut self, now: u64, per_two_ticks: u64) {
        if self.initial != 0 && self.began.is_none() {
            self.start(now, per_two_ticks);
        }
        let Some(ends) = self.ends.filter(|&ends| ends <= now) else {
            return;
        };
        let vector = self.vectors[0];
        if vector & PERIODIC != 0 {
            self.start(ends, per_two_ticks);
            if self.ends.is_some_and(|ends| ends <= now) {
                self.start(now, per_two_ticks);
            }
        } else {
            self.initial = 0;
            self.began = None;
            self.ends = None;
        }
        if vector & MASKED == 0 {
            self.request(vector as u8, false);
        }
    }

    fn current(&self, now: u64, per_two_ticks: u64) -> u32 {
        let Some(ends) = self.ends else { return 0 };
        let left = 2 * ends.saturating_sub(now);
        u32::try_from(left.div_ceil(self.period(per_two_ticks))).unwrap_or(u32::MAX)
    }

    pub fn read(&self, offset: u32, now: u64, per_two_ticks: u64) -> u32 {
        let map = |vectors: &Vectors| vectors[(offset >> 4 & 7) as usize];
        match offset & !0xf {
            register::ID => u32::from(self.id) << 24,
            register::VERSION => VERSION,
            register::TASK_PRIORITY => self.task_priority.into(),
            register::PROCESSOR_PRIORITY => self.priority().into(),
            register::LOGICAL => u32::from(self.logical) << 24,
            register::FORMAT => self.format,
            register::SPURIOUS => self.spurious,
            register::IN_SERVICE..register::TRIGGER => map(&self.in_service),
            register::TRIGGER..register::REQUEST => map(&self.trigger),
            register::REQUEST..register::ERROR => map(&self.request),
            register::ERROR => self.error,
            register::COMMAND => self.command,
            register::COMMAND_HIGH => self.command_high,
            at @ (register::TIMER | 0x340..=0x370) => {
                self.vectors[((at - register::TIMER) >> 4) as usize]
            }
            register::INITIAL => self.initial,
            register::CURRENT => self.current(now, per_two_ticks),
            register::DIVIDE => self.divide,
            _ => 0,
        }
    }

    /// A write, and the message that it sends.
    pub fn write(&mut self, offset: u32, value: u32, now: u64) -> Option<Message> {
        match offset & !0xf {
            register::ID => self.id = (value >> 24) as u8 & 0xf,
            register::TASK_PRIORITY => self.task_priority = value as u8,
            register::END => return self.end(),
            register::LOGICAL => self.logical = (value >> 24) as u8,
            register::FORMAT => self.format = value | 0x0fff_ffff,
            register::SPURIOUS => {
                // The lower four bits of the vector are ones on a P6.
                self.spurious = value & 0x3f0 | 0xf;
                if !self.is_enabled() {
                    for vector in &mut self.vectors {
                        *vector |= MASKED;
                    }
                }
            }
            register::ERROR => self.error = std::mem::take(&mut self.new_error),
            register::COMMAND => return self.command(value),
            register::COMMAND_HIGH => self.command_high = value & 0xff00_0000,
            at @ (register::TIMER | 0x340..=0x370) => {
                // Software cannot unmask local vectors while the APIC is off, but those of firmware.
                let masked = if self.is_enabled() { 0 } else { MASKED };
                let bits = match at {
                    register::TIMER => 0x3_10ff,
                    register::LINT0 | register::LINT1 => 0x1_f7ff,
                    _ => 0x1_17ff,
                };
                self.vectors[((at - register::TIMER) >> 4) as usize] =
                    value & bits & !PENDING | masked;
            }
            register::INITIAL => {
                self.initial = value;
                // It begins with the next look at the clocks, which comes at once.
                (self.began, self.ends) = (None, None);
            }
            register::DIVIDE => {
                self.divide = value & 0xb;
                if self.began.is_some() {
                    self.began = None;
                    self.ends = None;
                }
            }
            register::VERSION | register::PROCESSOR_PRIORITY | register::CURRENT => {}
            _ => self.new_error |= NO_REGISTER,
        }
        let _ = now;
        None
    }

    /// End of interrupt. That of a level-triggered one goes to the I/O APIC.
    fn end(&mut self) -> Option<Message> {
        let vector = highest(&self.in_service)?;
        set(&mut self.in_service, vector, false);
        has(&self.trigger, vector).then_some(Message {
            vector,
            delivery: Delivery::EndOfInterrupt,
            destination: Destination::All,
            mode: Mode::Bus,
            level: true,
            sender: None,
            input: None,
        })
    }

    fn command(&mut self, value: u32) -> Option<Message> {
        const LOGICAL: u32 = 1 << 11;
        const ASSERTED: u32 = 1 << 14;
        const LEVEL: u32 = 1 << 15;
        self.command = value & !PENDING;
        let delivery = Delivery::from_bits(value);
        let vector = value as u8;
        // The message that ends an INIT only sets arbitration priorities.
        if delivery == Delivery::Init && value & (ASSERTED | LEVEL) == LEVEL {
            return None;
        }
        if matches!(delivery, Delivery::Nothing | Delivery::External) {
            return None;
        }
        if matches!(delivery, Delivery::Fixed | Delivery::Lowest) && vector < 16 {
            self.new_error |= SENT_ILLEGAL;
        }
        let target = (self.command_high >> 24) as u8;
        let (destination, mode) = match value >> 18 & 3 {
            0 if value & LOGICAL != 0 => (Destination::Logical(target), Mode::Bus),
            0 => (Destination::Physical(target), Mode::Bus),
            1 => (Destination::Physical(self.id), Mode::Own),
            2 => (Destination::All, Mode::Bus),
            _ => (Destination::Others, Mode::Bus),
        };
        self.command |= PENDING;
        Some(Message {
            vector,
            delivery,
            destination,
            mode,
            level: false,
            sender: Some(self.number),
            input: None,
        })
    }
}
