//! A machine for short pieces of code: protected mode, flat segments of ring 0 and 3, a TSS, an empty IDT.

use pagewalk_machine::board::Console;
use pagewalk_machine::config::Override;
use pagewalk_machine::powerpc::machine::Limits;
use pagewalk_machine::x86::registers::{Registers, Segment, Table, cr0, eflags, segment};
use pagewalk_machine::x86::{Config, Machine, Processor, Stop};

/// Where code, stacks and tables are.
pub const CODE: u32 = 0x1_0000;
pub const DATA: u32 = 0x2_0000;
pub const STACK: u32 = 0x3_0000;
pub const INNER_STACK: u32 = 0x3_8000;
pub const GDT: u32 = 0x4_0000;
pub const IDT: u32 = 0x4_1000;
pub const TSS: u32 = 0x4_2000;
pub const DIRECTORY: u32 = 0x5_0000;
pub const TABLE: u32 = 0x5_1000;

/// A setting of a P6: later instructions run while loads wait.
pub const WINDOW: &str = "window={ entries = 40, misses = 4 }";

/// Selectors.
pub const CODE0: u16 = 0x08;
pub const DATA0: u16 = 0x10;
pub const CODE3: u16 = 0x1b;
pub const DATA3: u16 = 0x23;
pub const TASK: u16 = 0x28;

pub fn config(name: &str, settings: &[&str]) -> Config {
    let file = format!("{}/../machines/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let mut all = vec![Override::parse("memory.size=0x200000").unwrap()];
    all.extend(settings.iter().map(|text| Override::parse(text).unwrap()));
    Config::from_file(file.as_ref(), &all).unwrap()
}

/// [`config`] of a machine file without its `[window]`: a load that misses stops what follows.
pub fn config_without_window(name: &str, settings: &[&str]) -> Config {
    let file = format!("{}/../machines/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(file).unwrap();
    let of_window = ["[window]", "entries = 40 ", "misses = 4 ", "window."];
    let lines = text
        .lines()
        .filter(|line| !of_window.iter().any(|start| line.starts_with(start)));
    let text: Vec<&str> = lines.collect();
    let mut all = vec![Override::parse("memory.size=0x200000").unwrap()];
    all.extend(settings.iter().map(|text| Override::parse(text).unwrap()));
    let config = Config::from_toml(&text.join("\n"), "m.toml", &all).unwrap();
    assert_eq!(
        config.window.is_some(),
        settings.iter().any(|text| text.starts_with("window="))
    );
    config
}

pub struct Bench {
    pub machine: Machine,
}

impl Bench {
    /// A machine in ring 0, without paging, about to run `code`.
    pub fn new(name: &str, code: &[u8]) -> Bench {
        Self::with(&config(name, &[]), code)
    }

    pub fn with(config: &Config, code: &[u8]) -> Bench {
        let mut machine = Machine::build(config, Console::memory(), &[]).unwrap();
        machine.set_compiler(Some(1));
        let mut bench = Bench { machine };
        let descriptors = [
            (0, 0),
            (0xffff, 0x00cf_9b00),
            (0xffff, 0x00cf_9300),
            (0xffff, 0x00cf_fb00),
            (0xffff, 0x00cf_f300),
            (TSS << 16 | 0x67, 0x8900 | TSS >> 16),
        ];
        for (n, (low, high)) in (0..).zip(descriptors) {
            bench.put_word(GDT + 8 * n, low);
            bench.put_word(GDT + 8 * n + 4, high);
        }
        bench.put_word(TSS + 4, INNER_STACK);
        bench.put_word(TSS + 8, DATA0.into());
        // No map of ports.
        bench.put(TSS + 102, &[0x68, 0]);
        bench.put(CODE, code);
        let registers = bench.registers();
        registers.cr0 |= cr0::PE;
        registers.gdtr = Table {
            base: GDT,
            limit: 0xfff,
        };
        registers.idtr = Table {
            base: IDT,
            limit: 0x7ff,
        };
        registers.segments = [Segment::new(DATA0, 0, u32::MAX, 0xc093); 8];
        registers.segments[usize::from(segment::CS)] = Segment::new(CODE0, 0, u32::MAX, 0xc09b);
        registers.tr = Segment::new(TASK, TSS, 0x67, 0x8b);
        registers.eip = CODE;
        registers.gpr = [0; 16];
        registers.gpr[4] = STACK;
        bench.processor().modes_changed();
        bench
    }

    /// In ring 3.
    pub fn user(mut self) -> Bench {
        let registers = self.registers();
        registers.cpl = 3;
        registers.segments = [Segment::new(DATA3, 0, u32::MAX, 0xc0f3); 8];
        registers.segments[usize::from(segment::CS)] = Segment::new(CODE3, 0, u32::MAX, 0xc0fb);
        self.processor().modes_changed();
        self
    }

    /// With paging: every page of the first 2 MB at its own address, with these bits beside P.
    pub fn paged(mut self, bits: u32) -> Bench {
        self.put_word(DIRECTORY, TABLE | 7);
        for page in 0..512 {
            self.put_word(TABLE + 4 * page, page << 12 | 1 | bits);
        }
        let registers = self.registers();
        registers.cr3 = DIRECTORY;
        registers.cr0 |= cr0::PG;
        self.processor().modes_changed();
        self
    }

    /// An interrupt gate for `vector`, open to ring `dpl`, to a handler that halts at `CODE + 0x800 + 16 * vector`.
    pub fn gate(mut self, vector: u32, dpl: u32) -> Bench {
        let handler = handler(vector);
        self.put(handler, &[0xf4]);
        self.put_word(IDT + 8 * vector, u32::from(CODE0) << 16 | handler & 0xffff);
        let high = handler & 0xffff_0000 | 0x8e00 | dpl << 13;
        self.put_word(IDT + 8 * vector + 4, high);
        self
    }

    pub fn processor(&mut self) -> &mut Processor {
        self.machine.processor_mut()
    }

    pub fn registers(&mut self) -> &mut Registers {
        &mut self.machine.processor_mut().registers
    }

    pub fn put(&mut self, at: u32, bytes: &[u8]) {
        let at = at as usize;
        self.machine.uncore_mut().ram.bytes_mut()[at..at + bytes.len()].copy_from_slice(bytes);
    }

    pub fn put_word(&mut self, at: u32, word: u32) {
        self.put(at, &word.to_le_bytes());
    }

    pub fn word(&self, at: u32) -> u32 {
        self.machine.processor().ram_word(at).unwrap()
    }

    /// Runs so many instructions, or until the machine stops. A string instruction may repeat itself four billion
    /// times: so cycles are limited, too.
    pub fn run(&mut self, instructions: u64) -> Stop {
        const CYCLES: u64 = 2_000_000;
        let done = self.machine.instant();
        self.machine.run(Limits {
            instructions: done.instructions + instructions,
            cycles: done.cycles + CYCLES,
        })
    }

    /// Runs until the handler of a gate halts; returns EIP behind its HLT as the handler's vector.
    pub fn run_to_handler(&mut self) -> u32 {
        let stop = self.run(1000);
        assert!(
            matches!(
                stop,
                Stop::Fatal(pagewalk_machine::x86::Fatal::Asleep { .. })
            ),
            "{stop:?}"
        );
        let eip = self.registers().eip;
        let vector = (eip - 1 - handler(0)) / 16;
        assert_eq!(handler(vector) + 1, eip, "no handler halts there");
        vector
    }

    /// The word so far above the top of the stack.
    pub fn stacked(&mut self, words: u32) -> u32 {
        let esp = self.registers().gpr[4];
        self.word(esp + 4 * words)
    }

    pub fn flags(&mut self) -> u32 {
        self.registers().eflags() & eflags::STATUS
    }

    /// A counter by its name.
    pub fn counter(&mut self, name: &str) -> u64 {
        let processor = self.machine.processor_mut();
        processor.settle();
        processor.account.counters.get(name).unwrap()
    }
}

/// Where the handler of `vector` is.
pub fn handler(vector: u32) -> u32 {
    CODE + 0x800 + 16 * vector
}
