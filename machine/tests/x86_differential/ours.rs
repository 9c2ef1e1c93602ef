//! The same sequences by our processors.

use pagewalk_machine::board::Console;
use pagewalk_machine::debug::Debugged as _;
use pagewalk_machine::powerpc::machine::Limits;
use pagewalk_machine::x86::registers::{Segment, cr0, eflags, segment};
use pagewalk_machine::x86::{Config, Machine, Raised, Stop};

use super::Core;
use super::generate::{CODE, DATA, DATA_SIZE, IMAGE_SIZE, LOADED, STORED, Sequence};
use super::judge::Answer;

/// More than any sequence runs.
const INSTRUCTIONS: u64 = 10_000;

pub struct Computer(Machine);

impl Computer {
    pub fn new(core: Core) -> Self {
        let path = format!(
            "{}/../machines/{}.toml",
            env!("CARGO_MANIFEST_DIR"),
            core.machine()
        );
        let config = Config::from_file(path.as_ref(), &[]).expect("the machine file is right");
        let machine = Machine::build(&config, Console::memory(), &[]);
        let mut machine = machine.expect("the machine can be built");
        machine.set_hosted(true);
        Computer(machine)
    }

    fn bytes(&mut self, at: u32, size: usize) -> &mut [u8] {
        let ram = self.0.uncore_mut().ram.bytes_mut();
        &mut ram[at as usize..at as usize + size]
    }

    fn load(&mut self, sequence: &Sequence) {
        const CODE_ACCESS: u32 = 0xc0fb;
        const DATA_ACCESS: u32 = 0xc0f3;
        let processor = self.0.processor_mut();
        for (address, &byte) in (CODE..).zip(&sequence.code) {
            assert!(processor.write_byte(address.into(), byte));
        }
        self.bytes(DATA, DATA_SIZE as usize)
            .copy_from_slice(&sequence.data);
        self.bytes(LOADED, IMAGE_SIZE)
            .copy_from_slice(&sequence.image);
        self.bytes(STORED, IMAGE_SIZE).fill(0);
        let processor = self.0.processor_mut();
        let registers = &mut processor.registers;
        registers.cr0 = cr0::ET | cr0::PE | cr0::NE;
        registers.cpl = 3;
        registers.gpr[..8].copy_from_slice(&sequence.gpr);
        registers.eip = CODE;
        registers.set_eflags(sequence.eflags | eflags::IF, !0);
        registers.segments = [Segment::new(0x2b, 0, u32::MAX, DATA_ACCESS); 8];
        registers.segments[usize::from(segment::CS)] = Segment::new(0x23, 0, u32::MAX, CODE_ACCESS);
        processor.modes_changed();
    }

    pub fn run(&mut self, sequence: &Sequence) -> Answer {
        self.load(sequence);
        let instructions = self.0.instant().instructions + INSTRUCTIONS;
        let stop = self.0.run(Limits {
            instructions,
            cycles: u64::MAX,
        });
        let signal = match stop {
            Stop::Exception(Raised { vector: 3, .. }) => 5,
            Stop::Exception(Raised { vector: 0 | 16, .. }) => 8,
            Stop::Exception(Raised { vector: 6, .. }) => 4,
            Stop::Exception(_) => 11,
            other => panic!("{other:?}\n{}", sequence.describe()),
        };
        let registers = &self.0.processor().registers;
        let (eip, eflags) = (registers.eip, registers.eflags());
        let gpr = std::array::from_fn(|n| registers.gpr[n]);
        Answer {
            signal,
            eip,
            gpr,
            eflags,
            image: self.bytes(STORED, IMAGE_SIZE).to_vec(),
            data: self.bytes(DATA, DATA_SIZE as usize).to_vec(),
        }
    }
}
