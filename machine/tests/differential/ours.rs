//! The machine as the other party: user mode, no translation, caches on.

use std::path::Path;

use pagewalk_machine::board::Console;
use pagewalk_machine::config::MachineConfig;
use pagewalk_machine::powerpc::instruction::decode;
use pagewalk_machine::powerpc::loader::Boot;
use pagewalk_machine::powerpc::machine::{Limits, Machine as Computer, Stop};
use pagewalk_machine::powerpc::mmu::ppc405::RealMode;
use pagewalk_machine::powerpc::{Exception, Registers, msr};

use super::generate::{CODE, Core, DATA, DATA_SIZE, Sequence};
use super::judge::Answer;
use super::multiply;

pub struct Machine {
    computer: Computer,
    core: Core,
}

/// More instructions than a sequence ever runs.
const LIMIT: u64 = 100_000;

impl Machine {
    pub fn new(core: Core) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../machines");
        let file = folder.join(core.machine()).with_extension("toml");
        let config = MachineConfig::from_file(&file, &[]).expect("the machine file is right");
        let mut computer =
            Computer::new(config, &Boot::default(), Console::memory()).expect("it can be built");
        computer.set_hosted(true);
        computer.set_compiler(None);
        if core == Core::Ppc405 {
            let unit = computer.processor_mut().mmu.ppc405_mut();
            let unit = unit.expect("a 405 has the unit of a 405");
            // Nothing has been remembered yet that a change would reach.
            let _ = unit.set_real_mode(RealMode::CacheFetches, u32::MAX);
            let _ = unit.set_real_mode(RealMode::CacheData, u32::MAX);
        } else {
            computer.processor_mut().memory.enable_caches();
        }
        Machine { computer, core }
    }

    /// The same machine, which compiles all code to the host's at once.
    pub fn compiling(core: Core) -> Self {
        let mut machine = Machine::new(core);
        machine.computer.set_compiler(Some(1));
        machine
    }

    /// Forgets all compiled code, and which blocks were seen: whatever runs is compiled again.
    pub fn compile_anew(&mut self) {
        self.computer.set_compiler(Some(1));
    }

    /// Cycles and instructions so far.
    pub fn counts(&self) -> (u64, u64) {
        let now = self.computer.instant();
        (now.cycles, now.instructions)
    }

    /// Blocks that were compiled.
    pub fn compiled(&self) -> u64 {
        self.computer.processor().compiler.made()
    }

    /// Puts a sequence and what it begins with into the machine.
    fn load(&mut self, sequence: &Sequence) {
        let computer = &mut self.computer;
        let ram = computer.processor_mut().memory.uncore.ram.bytes_mut();
        for (n, word) in sequence.words.iter().enumerate() {
            let start = CODE as usize + 4 * n;
            ram[start..start + 4].copy_from_slice(&word.to_be_bytes());
        }
        computer.processor_mut().memory.instruction.invalidate_all();
        self.begin(sequence);
    }

    /// Puts what a sequence begins with into the machine, whose code is there.
    fn begin(&mut self, sequence: &Sequence) {
        let computer = &mut self.computer;
        let ram = computer.processor_mut().memory.uncore.ram.bytes_mut();
        ram[data()].copy_from_slice(&sequence.data);
        let r = &mut computer.processor_mut().registers;
        r.gpr.set_all_whole(&sequence.gpr);
        r.cr.set_word(sequence.cr);
        r.xer.set_word(sequence.xer);
        (r.lr, r.ctr, r.pc) = (sequence.lr as u32, sequence.ctr as u32, CODE);
        if self.core.doubles() {
            // dcbz is for 32 bytes there, as on a 604.
            const DCBZ_32: u64 = 0x80;
            r.wide.hid[3] = DCBZ_32;
            r.wide.mode = self.core == Core::Ppc970;
            let upper = |value: u64| (value >> 32) as u32;
            (r.wide.lr, r.wide.ctr, r.wide.pc) = (upper(sequence.lr), upper(sequence.ctr), 0);
        }
        r.fpr = sequence.fpr;
        r.fpscr = 0;
        r.msr = match self.core {
            Core::Ppc405 => msr::PR,
            _ => msr::PR | msr::FP | msr::FE0 | msr::FE1,
        };
        r.reservation = None;
        computer.processor_mut().state_changed();
    }

    pub fn run(&mut self, sequence: &Sequence) -> Answer {
        self.load(sequence);
        self.go_on(sequence)
    }

    /// Runs a sequence twice. The second time its code is in the I-cache, so that it can be compiled.
    pub fn run_twice(&mut self, sequence: &Sequence) -> [Answer; 2] {
        let first = self.run(sequence);
        self.begin(sequence);
        [first, self.go_on(sequence)]
    }

    fn go_on(&mut self, sequence: &Sequence) -> Answer {
        let counted = self.counted();
        let computer = &mut self.computer;
        let instructions = computer.instant().instructions + LIMIT;
        let stop = computer.run(Limits {
            instructions,
            cycles: u64::MAX,
        });
        let signal = match stop {
            Stop::Exception(Exception::Program { srr1 }) => match srr1 {
                0x0002_0000 => 5,
                0x0010_0000 => 8,
                _ => 4,
            },
            Stop::Exception(Exception::Alignment { .. }) => 7,
            Stop::Exception(_) => 11,
            other => panic!("{other:?}\n{}", sequence.describe()),
        };
        let r = &computer.processor_mut().registers;
        Answer {
            signal,
            pc: r.pc,
            gpr: r.gpr.all_whole().map(|value| value & counted),
            cr: r.cr.word(),
            xer: r.xer.word(),
            lr: (u64::from(r.wide.lr) << 32 | u64::from(r.lr)) & counted,
            ctr: (u64::from(r.wide.ctr) << 32 | u64::from(r.ctr)) & counted,
            fpscr: r.fpscr,
            fpr: if self.core == Core::Ppc405 {
                [0; 32]
            } else {
                r.fpr
            },
            data: computer.processor_mut().memory.uncore.ram.bytes()[data()].to_vec(),
        }
    }

    /// The bits of a register that the judge has.
    fn counted(&self) -> u64 {
        if self.core.doubles() {
            u64::MAX
        } else {
            u32::MAX.into()
        }
    }

    /// Index of the first instruction that qemu-ppc 7.2 is known to get wrong.
    pub fn misjudged(&mut self, sequence: &Sequence) -> Option<usize> {
        self.load(sequence);
        loop {
            let before = self.computer.processor().registers.clone();
            let index = (before.pc.wrapping_sub(CODE) / 4) as usize;
            let &word = sequence.words.get(index)?;
            let instructions = self.computer.instant().instructions + 1;
            let stop = self.computer.run(Limits {
                instructions,
                cycles: u64::MAX,
            });
            if misjudged(word, &before, &self.computer.processor().registers) {
                return Some(index);
            }
            if stop != Stop::Limit {
                return None;
            }
        }
    }
}

fn data() -> std::ops::Range<usize> {
    DATA as usize..(DATA + DATA_SIZE) as usize
}

/// Does qemu-ppc 7.2 get `word` wrong, which took the registers from `before` to `after`?
fn misjudged(word: u32, before: &Registers, after: &Registers) -> bool {
    const VXSNAN_VXIMZ: u32 = 0x0110_0000;
    let (primary, target) = (word >> 26, (word >> 21 & 31) as usize);
    if primary == 4 {
        return misjudged_sum(word, before);
    }
    let fused = word >> 1 & 31 >= 28;
    // (infinity x 0) + SNaN raises VXSNAN besides VXIMZ (PEM 3.3.6.1.1); there VXIMZ alone.
    let both_raised = matches!(primary, 59 | 63)
        && fused
        && after.fpscr & VXSNAN_VXIMZ == VXSNAN_VXIMZ
        && before.fpscr & VXSNAN_VXIMZ != VXSNAN_VXIMZ;
    // A single-precision infinity is packed with an exponent that makes it 0.5 there.
    let infinite = primary == 59 && f64::from_bits(after.fpr[target]).is_infinite();
    both_raised || infinite
}

/// Does qemu-ppc 7.2 get this multiplication and sum wrong?
fn misjudged_sum(word: u32, before: &Registers) -> bool {
    let gpr = before.gpr.all();
    let register = |shift: u32| gpr[(word >> shift & 31) as usize];
    let operands = multiply::Operands {
        a: register(16),
        b: register(11),
        before: multiply::Outcome {
            rt: register(21),
            so: before.xer.so,
            ov: before.xer.ov,
        },
    };
    let extended = word >> 1 & 0x3ff;
    multiply::judged(extended, &operands) != multiply::manual(extended, &operands)
}

const SIGFPE: u32 = 8;

/// A record form whose exception is enabled sets CR1 (PEM 4.2.2); qemu-ppc leaves it.
const CR1: u32 = 0x0f00_0000;

/// Bits of the FPSCR that qemu-ppc 7.2 does not model: it has no FR; it clears FI in compares, which leave it alone
/// (PEM `fcmpu`); it sets C in an ordered compare of NaNs, which leaves that alone too, and clears it for a
/// denormalized single result (PEM appendix D.4: the class is that of the single).
const UNJUDGED: u32 = 0x0007_0000;

impl Answer {
    /// What is not the same, a line each.
    pub fn differences(&self, other: &Answer) -> Vec<String> {
        let mut lines = Vec::new();
        let mut compare = |name: String, ours: u64, theirs: u64| {
            if ours != theirs {
                lines.push(format!("{name}: {ours:#x}, {theirs:#x}"));
            }
        };
        compare("signal".into(), self.signal.into(), other.signal.into());
        compare("pc".into(), self.pc.into(), other.pc.into());
        let cr = if self.signal == SIGFPE { !CR1 } else { !0 };
        compare("cr".into(), (self.cr & cr).into(), (other.cr & cr).into());
        compare("xer".into(), self.xer.into(), other.xer.into());
        compare("lr".into(), self.lr, other.lr);
        compare("ctr".into(), self.ctr, other.ctr);
        let fpscr = |answer: &Answer| u64::from(answer.fpscr & !UNJUDGED);
        compare("fpscr".into(), fpscr(self), fpscr(other));
        for n in 0..32 {
            compare(format!("r{n}"), self.gpr[n], other.gpr[n]);
            compare(format!("f{n}"), self.fpr[n], other.fpr[n]);
        }
        for n in 0..DATA_SIZE as usize {
            compare(
                format!("data[{n}]"),
                self.data[n].into(),
                other.data[n].into(),
            );
        }
        lines
    }
}

impl Sequence {
    /// The sequence as words with their mnemonics, and the registers that it began with.
    pub fn describe(&self) -> String {
        let words = self.words.iter().enumerate().map(|(n, &word)| {
            let address = CODE + 4 * n as u32;
            let mnemonic = decode(word).opcode.description().mnemonic;
            format!("{address:08x}: {word:08x} {mnemonic}")
        });
        let gpr = self
            .gpr
            .iter()
            .enumerate()
            .map(|(n, value)| format!("r{n}={value:x}"));
        let fpr = self
            .fpr
            .iter()
            .enumerate()
            .map(|(n, value)| format!("f{n}={value:x}"));
        let registers: Vec<String> = gpr.chain(fpr).collect();
        format!(
            "{}\n{} cr={:x} xer={:x}",
            words.collect::<Vec<_>>().join("\n"),
            registers.join(" "),
            self.cr,
            self.xer
        )
    }
}
