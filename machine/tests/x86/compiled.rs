//! Compiled code beside the interpreter and the oracle: each template alone, programs, and code that changes; on an
//! i486, on a P6, and on a P6 that waits for each load.

use pagewalk_machine::powerpc::machine::Limits;
use pagewalk_machine::x86::flags::Flags;
use pagewalk_machine::x86::{Config, Stop};

use super::bench::{Bench, CODE, DATA, STACK, config, config_without_window, handler};
use super::random_code::outcome;

/// Random numbers by xorshift.
pub(super) struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as u32
    }

    pub fn below(&mut self, end: u32) -> u32 {
        self.next() % end
    }

    pub fn chance(&mut self, of: u32) -> bool {
        self.below(of) == 0
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u32) as usize]
    }

    /// A number of a kind that finds errors at the ends of ranges.
    pub fn value(&mut self) -> u32 {
        match self.below(6) {
            0 => self.below(4),
            1 => 0_u32.wrapping_sub(self.below(4)),
            2 => self.pick(&[
                0x7fff_ffff,
                0x8000_0000,
                0x7f,
                0x80,
                0x7fff,
                0x8000,
                0xff,
                0xffff,
            ]),
            3 => 1 << self.below(32),
            _ => self.next(),
        }
    }
}

/// How registers are used: these hold addresses of data, all others numbers.
pub(super) const POINTERS: [u8; 3] = [3, 5, 6];

/// ModRM with what follows it: a register, or memory by one of the pointers. `reg`: the middle part.
fn modrm(random: &mut Random, reg: u8, memory: bool) -> Vec<u8> {
    let reg = (reg & 7) << 3;
    if !memory {
        return vec![0xc0 | reg | random.below(8) as u8];
    }
    let base = random.pick(&POINTERS);
    let near =
        (random.below(64) as u8 * random.pick(&[1, 4, 4, 4])) & 0x7c | random.pick(&[0, 0, 0, 1]);
    match random.below(5) {
        0 => [
            &[0x05 | reg][..],
            &(DATA + random.below(0x3f0)).to_le_bytes(),
        ]
        .concat(),
        1 => vec![0x44 | reg, 0x20 | base, near],
        2 => {
            let far = u32::from(near) + 0x100 * random.below(4);
            [&[0x80 | reg | base][..], &far.to_le_bytes()].concat()
        }
        3 => vec![0x40 | reg | base, near],
        // An index: a pointer of which most of its place is taken away again.
        _ => {
            let (index, scale) = (random.pick(&POINTERS), random.below(4));
            let far = u32::from(near).wrapping_sub(DATA.wrapping_mul(1 << scale));
            let sib = (scale as u8) << 6 | index << 3 | base;
            [&[0x84 | reg, sib][..], &far.to_le_bytes()].concat()
        }
    }
}

/// An instruction: any of those with templates, and some without.
pub(super) fn instruction(random: &mut Random) -> Vec<u8> {
    let mut code = Vec::new();
    let narrow = random.chance(8);
    if narrow {
        code.push(0x66);
    }
    let memory = random.chance(2);
    // Pointers are not written, so that they remain what they are.
    let any = random.below(8) as u8;
    let to = random.pick(&[0, 1, 2, 7]);
    let immediate = |random: &mut Random| {
        let value = random.value().to_le_bytes();
        value[..if narrow { 2 } else { 4 }].to_vec()
    };
    match random.below(25) {
        0..=3 => {
            let what = random.below(8) as u8 * 8;
            code.push(what | random.below(2) as u8);
            let mut rest = modrm(random, any, memory);
            if !memory {
                rest[0] = rest[0] & !7 | to;
            }
            code.extend(rest);
        }
        4..=6 => {
            let what = random.below(8) as u8 * 8;
            code.push(what | 2 | random.below(2) as u8);
            code.extend(modrm(random, to, memory));
        }
        7 => {
            code.push((random.below(8) as u8 * 8) | 5);
            code.extend(immediate(random));
        }
        8 | 9 => {
            let opcode = random.pick(&[0x80, 0x81, 0x83, 0x83]);
            code.push(opcode);
            let what = random.below(8) as u8;
            let mut rest = modrm(random, what, memory);
            if !memory {
                rest[0] = rest[0] & !7 | to;
            }
            code.extend(rest);
            if opcode == 0x81 {
                code.extend(immediate(random));
            } else {
                code.push(random.value() as u8);
            }
        }
        10 => {
            code.push(random.pick(&[0x84, 0x85]));
            code.extend(modrm(random, any, memory));
        }
        11 => {
            code.push(random.pick(&[0x88, 0x89]));
            let mut rest = modrm(random, any, true);
            if random.chance(3) {
                rest = vec![0xc0 | any << 3 | to];
            }
            code.extend(rest);
        }
        12 => {
            code.push(random.pick(&[0x8a, 0x8b, 0x8b, 0x8d]));
            code.extend(modrm(random, to, true));
        }
        13 => {
            code.push(random.pick(&[0x40, 0x48]) | to);
        }
        14 => {
            let opcode = random.pick(&[0xc1, 0xd1, 0xd3]);
            code.push(opcode);
            let what = random.pick(&[0, 1, 4, 5, 7, 2, 3]);
            code.push(0xc0 | what << 3 | to);
            if opcode == 0xc1 {
                code.push(random.next() as u8);
            }
        }
        15 => {
            code.extend([0x0f, 0x90 | random.below(16) as u8]);
            let mut rest = modrm(random, 0, memory);
            if !memory {
                rest[0] = rest[0] & !7 | random.pick(&[0, 1, 2, 4, 6]);
            }
            code.extend(rest);
        }
        16 => {
            code.extend([0x0f, random.pick(&[0xb6, 0xb7, 0xbe, 0xbf])]);
            code.extend(modrm(random, to, memory));
        }
        17 => {
            let opcode = random.pick(&[0x69, 0x6b, 0xaf]);
            if opcode == 0xaf {
                code.push(0x0f);
            }
            code.push(opcode);
            code.extend(modrm(random, to, memory));
            match opcode {
                0x69 => code.extend(immediate(random)),
                0x6b => code.push(random.value() as u8),
                _ => {}
            }
        }
        18 => {
            let what = random.pick(&[0, 2, 3, 4, 5]);
            let wide = random.below(2) as u8;
            code.push(0xf6 | wide);
            let mut rest = modrm(random, what, memory);
            if !memory && what < 4 {
                rest[0] = rest[0] & !7 | to;
            }
            code.extend(rest);
            match (what, wide) {
                (0, 0) => code.push(random.next() as u8),
                (0, _) => code.extend(immediate(random)),
                _ => {}
            }
        }
        19 => {
            code.push(random.pick(&[0xfe, 0xff]));
            let mut rest = modrm(random, any & 1, memory);
            if !memory {
                rest[0] = rest[0] & !7 | to;
            }
            code.extend(rest);
        }
        20 => {
            code.push(random.pick(&[0xc6, 0xc7]));
            let byte = *code.last().unwrap() == 0xc6;
            code.extend(modrm(random, 0, true));
            if byte {
                code.push(random.next() as u8);
            } else {
                code.extend(immediate(random));
            }
        }
        21 => match random.below(4) {
            0 => code.extend([0x50 | any]),
            1 => code.extend([0x6a, random.next() as u8]),
            2 => {
                code.push(0x68);
                code.extend(immediate(random));
            }
            _ => code.extend([0x50 | any, 0x58 | to]),
        },
        22 => code.push(random.pick(&[0x90, 0x98, 0x99, 0x97, 0x91, 0x92, 0xf5, 0xf8, 0xf9])),
        23 => code.extend([0x0f, 0xc8 | to]),
        _ => {
            code.push(random.pick(&[0xa0, 0xa1, 0xa2, 0xa3]));
            code.extend((DATA + random.below(0x400)).to_le_bytes());
        }
    }
    code
}

/// Registers and flags at random, and memory for the instructions.
pub(super) fn scatter(bench: &mut Bench, random: &mut Random) {
    for n in 0..8_u8 {
        let value = match n {
            4 => STACK,
            _ if POINTERS.contains(&n) => {
                DATA + 0x400 * random.below(2) + random.pick(&[0, 0, 0, 0, 0xffc, 0xffe, 1])
            }
            _ => random.value(),
        };
        bench.registers().gpr[usize::from(n)] = value;
    }
    bench.registers().flags = Flags::from_word(random.next());
}

/// The machines that the tests run on.
pub(super) fn configs() -> [Config; 3] {
    [
        config("i486dx-50", &[]),
        config("p6-200", &[]),
        // With few places for its branches.
        config_without_window("p6-200", &["branch.entries=8"]),
    ]
}

/// A machine whose exceptions are skipped, with code at [`CODE`].
pub(super) fn machine(config: &Config, code: &[u8], user: bool) -> Bench {
    let mut bench = Bench::with(config, code).paged(6);
    if user {
        bench = bench.user();
    }
    for vector in 0..20 {
        bench = bench.gate(vector, 3);
        let coded = matches!(vector, 8 | 10..=14 | 17);
        let skip: &[u8] = if coded {
            &[0x83, 0xc4, 0x04, 0x83, 0x04, 0x24, 0x01, 0xcf]
        } else {
            &[0x83, 0x04, 0x24, 0x01, 0xcf]
        };
        bench.put(handler(vector), skip);
    }
    bench.processor().modes_changed();
    bench
}

/// What some instructions leave but for memory.
fn left_by(bench: &mut Bench) -> String {
    let stop = bench.run(1500);
    let processor = bench.machine.processor();
    format!(
        "{stop:?} {:?} {:?} {:?}",
        processor.registers,
        processor.instant(),
        processor.account.counters
    )
}

/// Each instruction alone, on random operands: the registers, flags, counters and cycles that the interpreter gives.
#[test]
fn each_template_does_what_the_interpreter_does() {
    for config in configs() {
        each_template_on(&config);
    }
}

fn each_template_on(config: &Config) {
    let mut random = Random(0x1234_5678_9abc_def1);
    let mut compiled = 0;
    for _ in 0..20 {
        let (mut code, mut places) = (vec![0x90; 0x1000], Vec::new());
        for _ in 0..200 {
            places.push(CODE + code.len() as u32);
            code.extend(instruction(&mut random));
            code.extend([0xeb, 0xfe]);
        }
        let mut ours = machine(config, &code, false);
        let mut theirs = machine(config, &code, false);
        ours.machine.set_compiler(Some(1));
        theirs.machine.set_compiler(None);
        for at in places {
            let seed = random.0;
            for bench in [&mut ours, &mut theirs] {
                scatter(bench, &mut Random(seed));
                bench.registers().eip = at;
                bench.processor().modes_changed();
            }
            random.0 = seed;
            random.next();
            let bytes = &code[(at - CODE) as usize..];
            let bytes = &bytes[..bytes.len().min(12)];
            assert_eq!(left_by(&mut ours), left_by(&mut theirs), "{bytes:x?}");
            for from in [DATA, STACK - 0x1000] {
                let memory = |bench: &Bench| {
                    bench.machine.uncore().ram.bytes()[from as usize..][..0x2000].to_vec()
                };
                assert!(memory(&ours) == memory(&theirs), "memory: {bytes:x?}");
            }
        }
        compiled += ours.machine.processor().compiler.made();
    }
    if cfg!(all(
        feature = "compiler",
        target_arch = "x86_64",
        target_os = "linux"
    )) {
        assert!(compiled > 20 * 100, "{compiled}");
    }
}

/// A program: rounds of random instructions with jumps forward, calls, jumps by a table, and at times a store that
/// changes code.
fn program(random: &mut Random) -> Vec<u8> {
    let count = DATA + 0xf00;
    let mut code = vec![0xc7, 0x05];
    code.extend(count.to_le_bytes());
    code.extend((20 + random.below(40)).to_le_bytes());
    let top = code.len();
    // The pointers, again in each round.
    for register in POINTERS {
        code.push(0xb8 | register);
        code.extend((DATA + 0x100 * random.below(8) + random.pick(&[0, 0, 2])).to_le_bytes());
    }
    code.extend([0xbc]);
    code.extend(STACK.to_le_bytes());
    for _ in 0..6 + random.below(20) {
        let mut body = Vec::new();
        for _ in 0..1 + random.below(9) {
            let mut one = instruction(random);
            while one.iter().any(|&byte| (0x50..0x60).contains(&byte)) {
                one = instruction(random);
            }
            body.extend(one);
        }
        match random.below(10) {
            0..=3 => {
                code.extend([0x70 | random.below(16) as u8, body.len() as u8]);
                code.extend(body);
            }
            4 => {
                code.extend([0x0f, 0x80 | random.below(16) as u8]);
                code.extend((body.len() as u32).to_le_bytes());
                code.extend(body);
            }
            5 => {
                // A call of the body, which stands behind a jump over it.
                code.push(0xe8);
                code.extend(2_u32.to_le_bytes());
                code.extend([0xeb, body.len() as u8 + 1]);
                code.extend(body);
                code.push(0xc3);
            }
            6 => {
                // Jumps and calls by a register, and by memory.
                let operand = random.pick(&[0xe0, 0xd0, 0x25, 0x15]);
                let by_memory = operand < 0xd0;
                let bytes = if by_memory { 5 + 5 + 6 } else { 5 + 2 };
                let target = CODE + 0x1000 + code.len() as u32 + bytes;
                code.push(0xb8);
                code.extend(target.to_le_bytes());
                if by_memory {
                    code.push(0xa3);
                    code.extend((DATA + 0xf10).to_le_bytes());
                }
                code.extend([0xff, operand]);
                if by_memory {
                    code.extend((DATA + 0xf10).to_le_bytes());
                }
                code.extend(body);
            }
            7 => {
                // The immediate of the next instruction changes in each round.
                let at = CODE + 0x1000 + code.len() as u32 + 6 + 1;
                code.extend([0xff, 0x05]);
                code.extend(at.to_le_bytes());
                code.extend([0xb8, 1, 0, 0, 0]);
                code.extend(body);
            }
            8 => {
                // push ebp; mov ebp, esp; ...; leave
                code.extend([0x55, 0x89, 0xe5]);
                code.extend(body);
                code.push(0xc9);
            }
            _ => code.extend(body),
        }
        if random.chance(12) {
            code.resize((code.len() | 0xfff) - random.below(8) as usize, 0x90);
        }
    }
    code.extend([0xff, 0x0d]);
    code.extend(count.to_le_bytes());
    let back = top as i32 - (code.len() as i32 + 6);
    code.extend([0x0f, 0x85]);
    code.extend(back.to_le_bytes());
    code.push(0xf4);
    code
}

/// Runs a program in parts that are cut at random places, and compares what it leaves with what the whole run left.
pub fn agrees_in_parts(
    bench: &mut Bench,
    wanted: &(Stop, String, u64),
    random: &mut Random,
    seed: u64,
) {
    let last = loop {
        let now = bench.machine.instant();
        let stop = bench.machine.run(Limits {
            cycles: now.cycles + 1 + u64::from(random.below(4000)),
            instructions: (now.instructions + 40 + u64::from(random.below(900))).min(20_000),
        });
        let now = bench.machine.instant();
        if stop != Stop::Limit || now.instructions >= 20_000 {
            break stop;
        }
    };
    let found = outcome(bench, false, 0);
    if wanted.0 != Stop::Limit {
        assert_eq!(last, wanted.0, "seed {seed}");
        assert_eq!(
            (&found.1, found.2),
            (&wanted.1, wanted.2),
            "seed {seed}, cut"
        );
    }
}

#[test]
fn programs_run_as_by_the_interpreter_and_the_oracle() {
    for config in configs() {
        programs_on(&config);
    }
}

fn programs_on(config: &Config) {
    let mut linked = 0;
    for seed in 1..130_u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let code = program(&mut random);
        let code: Vec<u8> = [vec![0x90; 0x1000], code].concat();
        let user = random.chance(3);
        let start = random.0;
        let make = |seen: Option<u32>| {
            let mut bench = machine(config, &code, user);
            bench.machine.set_compiler(seen);
            scatter(&mut bench, &mut Random(start));
            bench.registers().eip = CODE + 0x1000;
            bench.processor().modes_changed();
            bench
        };
        let mut plain = make(None);
        let wanted = outcome(&mut plain, true, 20_000);
        for seen in [None, Some(1), Some(3)] {
            let mut bench = make(seen);
            let found = outcome(&mut bench, false, 20_000);
            assert_eq!(found, wanted, "seed {seed}, {seen:?}");
            linked += bench.machine.processor().compiler.links();
        }
        agrees_in_parts(&mut make(Some(1)), &wanted, &mut random, seed);
    }
    if cfg!(all(
        feature = "compiler",
        target_arch = "x86_64",
        target_os = "linux"
    )) {
        assert!(linked > 100, "{linked}");
    }
}

/// A guest that changes its code in each round has it compiled a few times only.
#[test]
fn code_that_changes_again_and_again_is_not_compiled_again_and_again() {
    let mut code = vec![0xb9];
    code.extend(20_000_u32.to_le_bytes());
    let top = code.len();
    code.extend([0xff, 0x05]); // inc dword [immediate]
    code.extend((CODE + code.len() as u32 + 4 + 1).to_le_bytes());
    code.extend([0xbb, 0, 0, 0, 0]); // mov ebx, immediate
    code.extend([0x01, 0xd8, 0x49, 0x75]); // add eax, ebx; dec ecx; jnz top
    code.push((top as i32 - (code.len() as i32 + 1)) as u8);
    code.push(0xf4);
    for (config, seen) in configs().iter().zip([Some(1), Some(3), Some(1)]) {
        let mut bench = machine(config, &code, false);
        bench.machine.set_compiler(seen);
        let stop = bench.run(200_000);
        assert_ne!(stop, Stop::Limit);
        assert_eq!(bench.registers().gpr[3], 20_000);
        let made = bench.machine.processor().compiler.made();
        assert!(made < 100, "{made}");
    }
}

/// An instruction that begins in one line and has most of its bytes in the next, which is not in the cache: the line is
/// fetched from its first byte, so that a load of its first word waits as long as by the interpreter.
#[test]
fn a_line_is_fetched_from_its_first_byte() {
    let line = CODE + 0x1040;
    let mut code = vec![0x90; 0x1000];
    // Loads that take the line's place: 8 KB of four ways.
    for way in 0..5 {
        code.push(0xa1);
        code.extend((DATA + (line & 0x7f0) + 0x800 * way).to_le_bytes());
    }
    code.resize(0x1000 + 0x31, 0x90);
    code.extend([0x31, 0xdb, 0x81, 0xf2, 1, 2, 0, 0, 0x81, 0xc7, 1, 2, 0, 0]);
    assert_eq!(CODE as usize + code.len() + 1, line as usize);
    code.extend([0xf7, 0xc3, 4, 3, 2, 1]); // test ebx, immediate
    code.push(0xa1);
    code.extend(line.to_le_bytes());
    code.extend([0x49, 0x0f, 0x85]); // dec ecx; jnz
    code.extend((0x1000 - (code.len() as i32 + 4)).to_le_bytes());
    code.push(0xf4);
    let run = |config: &Config, seen: Option<u32>, oracle: bool| {
        let mut bench = machine(config, &code, false);
        bench.machine.set_compiler(seen);
        bench.registers().gpr[1] = 500;
        bench.registers().eip = CODE + 0x1000;
        bench.processor().modes_changed();
        outcome(&mut bench, oracle, 40_000)
    };
    for config in configs() {
        let wanted = run(&config, None, true);
        assert_ne!(wanted.0, Stop::Limit);
        for seen in [None, Some(1), Some(3)] {
            assert_eq!(run(&config, seen, false), wanted, "{seen:?}");
        }
    }
}

/// Loads, and changes of what memory holds, from more lines of a few sets than these have ways, in any order: what
/// compiled code does for a line that was not used last leaves the order in which lines give way.
#[test]
fn lines_of_a_set_give_way_as_by_the_interpreter() {
    for config in configs() {
        lines_give_way_on(&config);
    }
}

fn lines_give_way_on(config: &Config) {
    let made = std::cell::Cell::new(0);
    for seed in 1..40_u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut code = Vec::new();
        for _ in 0..20 + random.below(100) {
            // mov eax, mov eax to, and add eax to, dec; a jump to the next line now and then
            let what: &[u8] =
                random.pick(&[&[0xa1][..], &[0xa1], &[0xa3], &[0x01, 0x05], &[0xff, 0x0d]]);
            code.extend(what);
            let line = 0x800 * random.below(2 + (seed % 5) as u32) + 0x10 * random.below(3);
            code.extend((DATA + line + 4 * random.below(4)).to_le_bytes());
            if random.chance(8) {
                code.extend([0xeb, random.below(16) as u8]);
                code.resize(code.len() + 16, 0x90);
            }
        }
        code.extend([0x49, 0x0f, 0x85]); // dec ecx; jnz
        code.extend((-(code.len() as i32 + 4)).to_le_bytes());
        code.push(0xf4);
        let run = |seen: Option<u32>, oracle: bool| {
            let mut bench = machine(config, &code, false);
            bench.machine.set_compiler(seen);
            bench.registers().gpr[1] = 100;
            let outcome = outcome(&mut bench, oracle, 20_000);
            made.set(made.get() + bench.machine.processor().compiler.made());
            outcome
        };
        let wanted = run(None, true);
        for seen in [None, Some(1), Some(3)] {
            assert_eq!(run(seen, false), wanted, "seed {seed}, {seen:?}");
        }
    }
    if cfg!(all(
        feature = "compiler",
        target_arch = "x86_64",
        target_os = "linux"
    )) {
        assert!(made.get() > 39, "{}", made.get());
    }
}
