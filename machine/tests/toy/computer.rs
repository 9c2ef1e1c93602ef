//! What a computer, a session, a snapshot and GDB ask of the toy.

use pagewalk_machine::account::Names;
use pagewalk_machine::board::{Board, Console, Instant};
use pagewalk_machine::computer::{Cpu, Guest, Progressing as _, Saved, Shape};
use pagewalk_machine::debug::{Debugged, Layout, Row};
use pagewalk_machine::engine::straight::Runs as _;
use pagewalk_machine::loader::{ElfImage, LoadError};
use pagewalk_machine::memory::{
    BusTiming, CacheGeometry, Forward, Memory, MemoryPace, MemoryTiming, Pattern, Physical, Ram,
    RamAddress, Replacement, Uncore,
};
use pagewalk_machine::observe::sanitizers::SanitizerSet;
use pagewalk_machine::observe::symbolize::Symbolizer;

use super::processor::{LINE, State, Toy, Trap, control, descend};

/// RAM at 2 GB, more of it at 1 TB, and the control device at 32 TB.
pub const RAM: Physical = 0x8000_0000;
pub const MORE: Physical = 1 << 40;
pub const CONTROL: Physical = 1 << 45;
pub const FORWARD: Forward = Forward::Beats;

impl Cpu for Toy {
    /// A machine file.
    type Config = Shape;
    type Exception = Trap;
    type Fatal = Trap;
    type Dump = String;

    fn shape(config: &Shape) -> Shape {
        *config
    }

    fn uncore(config: &Shape, console: Console) -> Result<Uncore, String> {
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
            line: LINE as u32,
        };
        let ram = Ram::in_pieces(&[(RAM, 2 << 20), (MORE, 1 << 20)])?;
        let board = Board::bare(CONTROL, config.clock, console);
        Uncore::new(ram, [None, None], bus, board)
    }

    fn caches(config: &Shape, uncore: Uncore) -> Result<Memory, String> {
        let cache = CacheGeometry {
            size: 4096,
            ways: 2,
            line: LINE as u32,
            replacement: Replacement::Lru,
        };
        let timing = MemoryTiming {
            several: config.processors > 1,
            ..MemoryTiming::plain(FORWARD, FORWARD, 2)
        };
        Memory::new(uncore, cache, cache, timing)
    }

    pagewalk_machine::computer::cpu_parts!(blocks);

    fn instant(&self) -> Instant {
        self.state.now
    }

    fn settle(&mut self) {
        self.settle_time(0, 0);
    }

    fn pass(&mut self, cycle: u64) {
        self.state.now.cycles = cycle;
    }

    fn start(&mut self, now: u64) {
        self.start_clock(now);
    }

    fn asleep(&self) -> Trap {
        Trap::Illegal
    }

    fn state(&self, _: u32, _: bool, _: bool) -> String {
        let entries = self.state.tlb.valid();
        let shown = entries.map(|(_, entry)| format!("{:#x} {:#x}\n", entry.page, entry.frame));
        shown.collect()
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

    pagewalk_machine::computer::shared_blocks!();

    fn problem(config: &Shape) -> Option<String> {
        (config.processors == 0).then(|| "a computer has a processor".to_owned())
    }

    fn saved(&mut self) -> State {
        self.settle();
        self.state.clone()
    }

    fn put_back(&mut self, state: State) -> Result<(), &'static str> {
        let fetched = state.fetched;
        self.state = state;
        self.modes_changed();
        self.state.fetched = fetched;
        Ok(())
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

    fn place(&self, address: u64) -> Option<RamAddress> {
        let (root, ram) = (self.state.control[control::ROOT], &self.memory.uncore.ram);
        let read = |at| ram.little(ram.at(at, 8)?, 8);
        let physical = match root {
            0 => address,
            root => descend(root, address, read)?.physical(address),
        };
        ram.at(physical, 1)
    }

    fn is_written(&mut self, at: RamAddress) {
        self.written(at, 1);
    }
}
