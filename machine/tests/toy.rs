//! An architecture as small as it can be: 64 bits, little-endian, instructions of 2 and 4 bytes that cross lines
//! and pages, RAM at 2 GB and at 1 TB, a page table of three levels. It is built of nothing but what the library offers
//! to every architecture, and shows what that is (docs/machine.md, "To add an architecture").

#[path = "toy/computer.rs"]
mod computer;
#[path = "toy/instructions.rs"]
mod instructions;
#[path = "toy/processor.rs"]
mod processor;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use computer::{CONTROL, MORE, RAM};
use instructions::{Binary, Op, Values, code, run};
use pagewalk_machine::board::Console;
use pagewalk_machine::computer::{Computer, Cpu as _, Limits, Session, Shape, Stop};
use pagewalk_machine::debug::{Ended, serve};
use pagewalk_machine::memory::Physical;
use pagewalk_machine::observe::trace::Window;
use processor::{Toy, control, pte};

/// Where the kernel and the control device are mapped, in the upper half, and the user's code and data.
const KERNEL: u64 = 0xffff_ffc0_0000_0000;
const CONTROL_PAGE: u64 = KERNEL + (1 << 21);
const CODE: u64 = 0x12_3456_7000;
const DATA: u64 = CODE + 0x1_0000;
const USER_CODE: Physical = RAM + 0x10_0000;
/// The user's program begins here, so that its fourth instruction lies in two pages.
const START: u64 = CODE + 0xff2;
const ROUNDS: i16 = 50;

fn short(code: u8, rd: u8, rs: u8) -> Vec<u8> {
    vec![code, rd | rs << 4]
}

fn long(code: u8, rd: u8, rs: u8, immediate: i16) -> Vec<u8> {
    [short(code, rd, rs), immediate.to_le_bytes().to_vec()].concat()
}

/// `rd` becomes this number.
fn load(rd: u8, number: u64) -> Vec<u8> {
    let part = |n: u32| (number >> (16 * n)) as i16;
    let mut all = long(code::OR_IMMEDIATE, rd, 0, part(3));
    for n in [2, 1, 0] {
        all.extend(long(code::SHIFT, rd, rd, 16));
        all.extend(long(code::OR_IMMEDIATE, rd, rd, part(n)));
    }
    all
}

fn write_control(number: usize, value: u64) -> Vec<u8> {
    [
        load(1, value),
        long(code::WRITE_CONTROL, 0, 1, number as i16),
    ]
    .concat()
}

const TABLES: Physical = RAM + 0x8000;
const HANDLER: u64 = 0x800;

/// Begins a region, turns translation on and goes to the user. x10 is the processor's number; each has a line of data.
fn boot() -> Vec<u8> {
    [
        load(9, CONTROL + 0x1000),
        long(code::STORE_WORD, 0, 9, 0),
        write_control(control::ROOT, TABLES),
        write_control(control::VECTOR, KERNEL + HANDLER),
        write_control(control::PC, START),
        write_control(control::USER, 1),
        long(code::READ_CONTROL, 10, 0, control::NUMBER as i16),
        long(code::SHIFT, 11, 10, 6),
        load(1, DATA),
        short(code::ADD, 1, 11),
        long(code::OR_IMMEDIATE, 2, 0, ROUNDS),
        load(5, START + 0x1a),
        load(
            6,
            u32::from_le_bytes(long(code::ADD_IMMEDIATE, 7, 0, 2).try_into().unwrap()).into(),
        ),
        load(9, CONTROL_PAGE + 0xf08),
        short(code::RETURN, 0, 0),
    ]
    .concat()
}

/// The first processor powers off with x7, another one does nothing more.
fn handler() -> Vec<u8> {
    [
        long(code::BRANCH, 10, 0, 8),
        long(code::STORE_WORD, 7, 9, 0),
        long(code::BRANCH, 9, 0, 0),
    ]
    .concat()
}

/// Adds 5 to its data in each round, then changes an instruction that comes next, so that x7 becomes 2 and not 1.
fn program() -> Vec<u8> {
    [
        long(code::LOAD, 3, 1, 0),
        long(code::ADD_IMMEDIATE, 3, 3, 5),
        long(code::STORE, 3, 1, 0),
        long(code::ADD_IMMEDIATE, 2, 2, -1),
        short(code::ADD, 4, 3),
        long(code::BRANCH, 2, 0, -0x12),
        long(code::STORE_WORD, 6, 5, 0),
        long(code::ADD_IMMEDIATE, 7, 0, 1),
        short(code::TRAP, 0, 0),
    ]
    .concat()
}

fn put(machine: &mut Computer<Toy>, at: Physical, bytes: &[u8]) {
    let ram = &mut machine.uncore_mut().ram;
    let at = ram.at(at, bytes.len() as u32).expect("there is RAM") as usize;
    ram.bytes_mut()[at..at + bytes.len()].copy_from_slice(bytes);
}

/// Maps a page of `1 << shift` bytes, by tables behind `next`.
fn map(
    machine: &mut Computer<Toy>,
    next: &mut Physical,
    va: u64,
    pa: Physical,
    shift: u32,
    rights: u64,
) {
    let mut table = TABLES;
    for level in [2, 1, 0] {
        let at = table + (va >> (12 + 9 * level) & 511) * 8;
        let ram = &machine.uncore().ram;
        let old = ram
            .get(ram.at(at, 8).unwrap())
            .map(u64::from_le_bytes)
            .unwrap();
        if shift == 12 + 9 * level {
            let entry = pa >> 12 << 10 | rights | pte::VALID;
            return put(machine, at, &entry.to_le_bytes());
        }
        table = old >> 10 << 12;
        if old == 0 {
            *next += 0x1000;
            table = *next;
            put(machine, at, &(table >> 12 << 10 | pte::VALID).to_le_bytes());
        }
    }
}

fn session(processors: u8) -> Session<Toy> {
    let config = Shape {
        processors,
        lead: 100,
        clock: 100_000_000,
    };
    let mut machine = Computer::<Toy>::build(&config, Console::memory(), &[]).unwrap();
    put(&mut machine, RAM, &boot());
    put(&mut machine, RAM + HANDLER, &handler());
    put(&mut machine, USER_CODE + (START - CODE), &program());
    let (mut next, all) = (TABLES, pte::READ | pte::WRITE | pte::EXECUTE);
    map(&mut machine, &mut next, RAM, RAM, 30, all);
    map(&mut machine, &mut next, KERNEL, RAM, 12, all);
    map(
        &mut machine,
        &mut next,
        CONTROL_PAGE,
        CONTROL,
        21,
        pte::READ | pte::WRITE,
    );
    for page in [0, 0x1000] {
        map(
            &mut machine,
            &mut next,
            CODE + page,
            USER_CODE + page,
            12,
            all | pte::USER,
        );
    }
    map(
        &mut machine,
        &mut next,
        DATA,
        MORE + 0x3000,
        12,
        pte::READ | pte::WRITE | pte::USER,
    );
    Session::of(machine, Vec::new(), Vec::new())
}

const END: Stop<processor::Trap, processor::Trap> = Stop::PowerOff { status: 2 };

fn counter(session: &Session<Toy>, name: &str) -> u64 {
    session
        .counters()
        .into_iter()
        .find(|(other, _)| other == name)
        .unwrap()
        .1
}

#[test]
fn it_runs_on_ram_above_4_gb_and_counts() {
    let mut toy = session(1);
    assert_eq!(toy.run(Limits::NONE), END, "{}", toy.registers());
    let state = &toy.machine().processor().state;
    let rounds = u64::from(ROUNDS.unsigned_abs());
    assert_eq!(
        (state.x[3], state.x[4]),
        (5 * rounds, 5 * rounds * (rounds + 1) / 2)
    );
    let ram = &toy.machine().uncore().ram;
    let data = ram
        .get(ram.at(MORE + 0x3000, 8).unwrap())
        .map(u64::from_le_bytes);
    assert_eq!(data, Some(5 * rounds));
    // The kernel's page at 2 GB, the handler's, the control device's; two of code, one of data.
    assert_eq!(counter(&toy, "tlb.instruction.miss"), 4);
    assert_eq!(counter(&toy, "tlb.data.miss"), 2);
    assert!(counter(&toy, "cache.data.miss") > 0 && counter(&toy, "walk.cycles") > 0);
    let by_mode = ["cycles.user", "cycles.kernel"].map(|name| counter(&toy, name));
    assert_eq!(by_mode[0] + by_mode[1], counter(&toy, "cycles"));
}

#[test]
fn the_oracle_counts_the_same() {
    for processors in [1, 2] {
        let counters = [false, true].map(|oracle| {
            let mut toy = session(processors);
            toy.set_oracle(oracle);
            assert_eq!(toy.run(Limits::NONE), END);
            toy.counters_of_each()
        });
        assert_eq!(counters[0], counters[1]);
        assert_eq!(counters[0].len(), usize::from(processors));
    }
}

#[test]
fn two_take_turns_and_the_same_run_is_the_same() {
    let runs = [0, 1].map(|_| {
        let mut toy = session(2);
        assert_eq!(toy.run(Limits::NONE), END);
        assert!(toy.machine().processors()[1].instant().instructions > 100);
        toy.counters_of_each()
    });
    assert_eq!(runs[0], runs[1]);
}

#[test]
fn a_snapshot_goes_on_as_the_machine_would_have() {
    for processors in [1, 2] {
        let mut toy = session(processors);
        assert_eq!(
            toy.run(Limits {
                cycles: 400,
                ..Limits::NONE
            }),
            Stop::Limit
        );
        let bytes = toy.save().unwrap();
        let mut other = Session::<Toy>::restore(&bytes, "toy", Console::memory()).unwrap();
        assert_eq!((toy.run(Limits::NONE), other.run(Limits::NONE)), (END, END));
        assert_eq!(toy.counters_of_each(), other.counters_of_each());
        assert!(
            Session::<pagewalk_machine::x86::Processor>::restore(&bytes, "toy", Console::memory())
                .is_err()
        );
    }
}

#[test]
fn observers_see_it() {
    let mut toy = session(1);
    toy.record_profile(None);
    toy.record_translation(Window::default());
    assert_eq!(toy.run(Limits::NONE), END);
    let charged: u64 = toy.profile().iter().map(|row| row.cycles).sum();
    assert_eq!(charged, counter(&toy, "cycles"));
    let trace = toy.trace().to_string();
    assert!(trace.contains(&format!("{TABLES:#x}")), "{trace}");
    assert!(toy.dump(0)[0].to_string().contains("0x1234567000"));
}

#[test]
fn gdb_reads_addresses_of_64_bits() {
    let mut toy = session(1);
    let (ended, client) = {
        let mut client = None;
        let ended = serve(toy.machine_mut(), 0, Limits::NONE, |port| {
            client = Some(std::thread::spawn(move || talk(port)));
        });
        (ended.unwrap(), client.unwrap())
    };
    let [stopped, registers, memory, gone] = client.join().unwrap();
    assert!(stopped.contains("swbreak"), "{stopped}");
    let pc: String = (START + 0x12)
        .to_le_bytes()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert!(registers.ends_with(&pc), "{registers}");
    assert_eq!(memory, "0500000000000000");
    assert!(gone.starts_with('W'), "{gone}");
    assert_eq!(ended, Ended::Stopped(END));
}

/// Stops behind the first round's store, and reads registers and what was stored.
fn talk(port: u16) -> [String; 4] {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let mut ask = |question: String| {
        let sum = question.bytes().fold(0_u8, u8::wrapping_add);
        stream
            .write_all(format!("+${question}#{sum:02x}").as_bytes())
            .unwrap();
        let (mut answer, mut byte) = (String::new(), [0]);
        while !answer.contains('#') {
            stream.read_exact(&mut byte).unwrap();
            answer.push(byte[0].into());
        }
        // The sum of the answer's bytes.
        stream.read_exact(&mut [0; 2]).unwrap();
        unpacked(answer.trim_matches(['+', '$', '#']))
    };
    ask("qSupported:multiprocess+;swbreak+;vContSupported+".to_owned());
    assert_eq!(ask(format!("Z0,{:x},2", START + 0x12)), "OK");
    let stopped = ask("vCont;c".to_owned());
    let registers = ask("g".to_owned());
    let memory = ask(format!("m{DATA:x},8"));
    assert_eq!(ask(format!("z0,{:x},2", START + 0x12)), "OK");
    [stopped, registers, memory, ask("vCont;c".to_owned())]
}

/// An answer in which `*` and a letter stand for so many repetitions of what is before them.
fn unpacked(answer: &str) -> String {
    let (mut text, mut letters) = (String::new(), answer.chars());
    while let Some(letter) = letters.next() {
        match (letter, text.chars().last()) {
            ('*', Some(last)) => {
                let count = letters.next().map_or(0, |count| count as usize - 29);
                text.extend(std::iter::repeat_n(last, count));
            }
            _ => text.push(letter),
        }
    }
    text
}

/// A compiler's first half: a value is the name of a result.
#[derive(Default)]
struct Listing(Vec<String>);

impl Listing {
    fn result(&mut self, text: String) -> usize {
        self.0.push(text);
        self.0.len() - 1
    }
}

impl Values for Listing {
    type Value = usize;
    type Stop = ();

    fn constant(&mut self, number: u64) -> usize {
        self.result(format!("{number:#x}"))
    }

    fn register(&mut self, number: u8) -> usize {
        self.result(format!("x{number}"))
    }

    fn set_register(&mut self, number: u8, value: usize) {
        self.result(format!("x{number} = v{value}"));
    }

    fn binary(&mut self, op: Binary, a: usize, b: usize) -> usize {
        self.result(format!("{op:?} v{a} v{b}"))
    }

    fn load(&mut self, at: usize, bytes: u32) -> Result<usize, ()> {
        Ok(self.result(format!("load{bytes} v{at}")))
    }

    fn store(&mut self, at: usize, bytes: u32, value: usize) -> Result<(), ()> {
        self.result(format!("store{bytes} v{at}, v{value}"));
        Ok(())
    }

    fn jump_unless_equal(&mut self, a: usize, b: usize, to: usize) {
        self.result(format!("jump v{to} unless v{a} == v{b}"));
    }

    fn system(&mut self, op: &Op) -> Result<(), ()> {
        self.result(format!("system {:#x}", op.code));
        Ok(())
    }
}

#[test]
fn a_compiler_reads_the_interpreters_text() {
    let mut listing = Listing::default();
    for bytes in [long(code::LOAD, 3, 1, 16), short(code::ADD, 2, 3)] {
        run(&mut listing, START, &Op::decode(&bytes)).unwrap();
    }
    let expected = [
        "x3",
        "x1",
        "0x10",
        "Add v1 v2",
        "load8 v3",
        "x3 = v4",
        "x2",
        "x3",
        "Add v6 v7",
        "x2 = v8",
    ];
    assert_eq!(listing.0, expected);
}
