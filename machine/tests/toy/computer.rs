//! What a computer, a session, a snapshot and GDB ask of the toy.

use std::fmt;

use pagewalk_machine::account::Names;
use pagewalk_machine::board::{Board, Console, Instant};
use pagewalk_machine::computer::{
    Breakpoints, Cpu, Guest, Limits, Pause, Progressing as _, Saved, Shape, Stop,
};
use pagewalk_machine::debug::{Debugged, Layout, Row};
use pagewalk_machine::loader::{CauseRange, ElfImage, LoadError};
use pagewalk_machine::memory::{
    BusTiming, CacheGeometry, Forward, Memory, MemoryPace, MemoryTiming, Pattern, Physical, Ram,
    Replacement, Uncore,
};
use pagewalk_machine::observe::Shown;
use pagewalk_machine::observe::sanitizers::SanitizerSet;
use pagewalk_machine::observe::symbolize::Symbolizer;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::processor::{State, Toy, Trap};

/// RAM at 2 GB, more of it at 1 TB, and the control device at 32 TB.
pub const RAM: Physical = 0x8000_0000;
pub const MORE: Physical = 1 << 40;
pub const CONTROL: Physical = 1 << 45;
const CLOCK: u64 = 100_000_000;
pub const FORWARD: Forward = Forward::Beats;

/// A machine file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Config {
    pub processors: u8,
}

/// The state of translation.
#[derive(Clone, Debug)]
pub struct Dump(pub Vec<(u64, u64)>);

impl fmt::Display for Dump {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .try_for_each(|(page, pte)| writeln!(out, "{page:#x} {pte:#x}"))
    }
}

impl Shown for Dump {
    fn to_json(&self) -> Value {
        json!(self.0)
    }
}

impl Cpu for Toy {
    type Config = Config;
    type Exception = Trap;
    type Fatal = Trap;
    type Dump = Dump;

    fn shape(config: &Config) -> Shape {
        Shape {
            processors: config.processors,
            lead: 100,
            clock: CLOCK,
        }
    }

    fn uncore(_: &Config, console: Console) -> Result<Uncore, String> {
        let pattern = Pattern {
            read_first: 5,
            read_next: 1,
            write_first: 3,
            write_next: 1,
        };
        let bus = BusTiming {
            ratio_x2: 4,
            request: 1,
            turnaround: 1,
            return_path: 0,
            depth: 1,
            streaming: false,
            memory: MemoryPace::Constant(pattern),
            address_only: 2,
            beat: 8,
        };
        let ram = Ram::in_pieces(&[(RAM, 2 << 20), (MORE, 1 << 20)])?;
        Uncore::new(ram, [None, None], bus, Board::bare(CONTROL, CLOCK, console))
    }

    fn caches(config: &Config, uncore: Uncore) -> Result<Memory, String> {
        let replacement = Replacement::Lru;
        let cache = CacheGeometry {
            size: 4096,
            ways: 2,
            line: 32,
            replacement,
        };
        let timing = MemoryTiming {
            write_back_buffers: 1,
            several: config.processors > 1,
            ..MemoryTiming::plain(FORWARD, FORWARD, 2)
        };
        Memory::new(uncore, cache, cache, timing)
    }

    fn with_memory(
        number: u8,
        config: &Config,
        memory: Memory,
        _: &[CauseRange],
    ) -> Result<Self, String> {
        Ok(Toy::new(number, *config, memory))
    }

    pagewalk_machine::computer::cpu_parts!();

    fn instant(&self) -> Instant {
        Instant {
            processor: self.number,
            cycles: self.state.cycles,
            instructions: self.state.instructions,
        }
    }

    fn settle(&mut self) {
        self.settle_time(0, 0);
    }

    fn set_oracle(&mut self, on: bool) {
        self.oracle = on;
    }

    fn set_hosted(&mut self, on: bool) {
        self.hosted = on;
    }

    fn breakpoints_mut(&mut self) -> &mut Breakpoints {
        &mut self.breakpoints
    }

    fn turn(&mut self, limits: Limits) -> Pause<Stop<Trap, Trap>> {
        self.run_turn(limits)
    }

    fn pass(&mut self, cycle: u64) {
        self.state.cycles = cycle;
    }

    fn park(&mut self) {
        self.memory
            .exchange(self.number, &mut None, &mut self.account);
    }

    fn hand_over(&mut self, next: &mut Self) {
        std::mem::swap(&mut self.memory.uncore, &mut next.memory.uncore);
        std::mem::swap(&mut self.observers, &mut next.observers);
        std::mem::swap(&mut self.blocks, &mut next.blocks);
    }

    fn start(&mut self, now: u64) {
        self.start_clock(now);
    }

    fn asleep(&self) -> Trap {
        Trap::Illegal
    }

    fn state(&self, _: u32, _: bool, _: bool) -> Dump {
        let tlb = self.state.tlb.valid();
        Dump(
            tlb.map(|(_, entry)| (entry.page, entry.frame >> 12 << 10 | u64::from(entry.bits)))
                .collect(),
        )
    }
}

impl Guest for Toy {
    const NAME: &'static str = "toy";
    const NAMES: Names = Names::GENERAL;

    fn executable(elf: &[u8], name: &str) -> Result<ElfImage, LoadError> {
        ElfImage::parse(elf, name)
    }

    fn sanitizers(&self, _: SanitizerSet) -> Result<SanitizerSet, String> {
        Err("a toy has no sanitizer".to_owned())
    }

    fn next_instruction(&self) -> u64 {
        self.state.pc
    }

    fn is_user(&self) -> bool {
        self.state.user
    }

    fn registers(&self, _: &Symbolizer) -> String {
        format!("{:x?}", self.state.x)
    }

    fn exception_name(_: &Trap) -> &'static str {
        "trap"
    }

    fn explain(&self, trap: &Trap, place: &dyn Fn(u64) -> String) -> String {
        format!("{trap:?} at {}", place(self.state.pc))
    }
}

impl Saved for Toy {
    type State = State;
    type Shared = Vec<u64>;

    fn problem(config: &Config) -> Option<String> {
        (config.processors == 0).then(|| "a computer has a processor".to_owned())
    }

    fn saved(&mut self) -> State {
        self.settle();
        self.state.clone()
    }

    fn put_back(&mut self, state: State) -> Result<(), &'static str> {
        let (user, fetched) = (state.user, state.fetched);
        self.state = state;
        self.modes_changed();
        self.state.fetched = fetched;
        (user == self.account.user).then_some(()).ok_or("mode")
    }

    fn shared(&self) -> Vec<u64> {
        self.blocks.fetched().to_vec()
    }

    fn set_shared(&mut self, fetched: Vec<u64>) -> bool {
        self.blocks.set_fetched(&fetched)
    }
}

/// x0 to x15, and the program counter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wide;

impl Layout for Wide {
    const ARCHITECTURE: &'static str = "toy";
    const BIG_ENDIAN: bool = false;
    const PC: usize = 16;

    fn rows() -> Vec<Row> {
        vec![
            Row::counted("toy", ("x", 16), 64, ""),
            Row::named("toy", &["pc"], 64, ""),
        ]
    }
}

impl Debugged for Toy {
    type Layout = Wide;
    const WATCHES: bool = false;
    const HELD: &'static str = "";
    const SLEEPS: &'static str = "";

    fn values(&mut self) -> Vec<u128> {
        let all = self.state.x.iter().chain([&self.state.pc]);
        all.map(|&value| value.into()).collect()
    }

    fn set_values(&mut self, values: &[u128], _: &[u128]) {
        for (register, &value) in self.state.x.iter_mut().zip(values) {
            *register = value as u64;
        }
        self.state.pc = values[16] as u64;
    }

    fn read_byte(&self, address: u64) -> Option<u8> {
        self.memory.uncore.ram.read_u8(self.peek(address)?)
    }

    fn write_byte(&mut self, address: u64, byte: u8) -> bool {
        let Some(at) = self.peek(address) else {
            return false;
        };
        self.blocks.forget(at, 1);
        self.memory.uncore.ram.write_u8(at, byte)
    }
}
