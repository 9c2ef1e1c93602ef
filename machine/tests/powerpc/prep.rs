//! Board `prep` as Linux of the years before device trees uses it: timer, clock, non-volatile memory, reset, empty
//! addresses, residual data.

use crate::support;
use std::path::Path;
use std::process::Command;

use crate::support::{Program, config};
use pagewalk_machine::board::{Board, Console, Effect, Instant};
use pagewalk_machine::loader::ElfImage;
use pagewalk_machine::powerpc::loader::{Boot, Given, Protocol};
use pagewalk_machine::powerpc::machine::{Limits, Stop};
use pagewalk_machine::powerpc::registers::Register;
use pagewalk_machine::powerpc::session::Session;

const MACHINE: &str = "ppc604-185";
const ONES: &str = "board.empty-bus=ones";
const IO: u64 = 0x8000_0000;

/// The board with core cycles as its time: 1.19318 million cycles make a second, so a cycle is a tick of the timer.
struct Bench {
    board: Board,
    now: u64,
}

impl Bench {
    fn new(clock: u64) -> Self {
        let mut config = config(MACHINE, &[ONES]);
        config.core.clock = clock;
        Bench {
            board: Board::new(&config, Console::memory()),
            now: 0,
        }
    }

    fn at(&self) -> Instant {
        Instant {
            cycles: self.now,
            ..Instant::default()
        }
    }

    fn get(&mut self, port: u64) -> u8 {
        self.board.read(IO + port, 1, self.at()).unwrap() as u8
    }

    fn put(&mut self, port: u64, value: u8) -> Option<Effect> {
        let now = self.at();
        self.board.write(IO + port, 1, value.into(), now).unwrap()
    }

    /// Goes to the next instant at which the board changes.
    fn next(&mut self) -> u64 {
        self.now = self.board.deadline(self.now).unwrap();
        self.board.poll(self.now);
        self.now
    }
}

const TICKS: u64 = 1_193_182;

#[test]
fn the_timer_interrupts_at_the_end_of_each_period() {
    let mut bench = Bench::new(TICKS);
    for (port, value) in [(0x20, 0x11), (0x21, 0), (0x21, 4), (0x21, 1), (0x21, 0)] {
        bench.put(port, value);
    }
    assert_eq!(bench.board.deadline(0), None, "nothing counts yet");
    // Mode 2, low byte and high byte.
    bench.put(0x43, 0x34);
    bench.put(0x40, 0x10);
    bench.put(0x40, 0x27);
    let requests = |bench: &mut Bench| bench.get(0x20) & 1;
    assert_eq!(requests(&mut bench), 1, "the output rises with the mode");
    bench.put(0x20, 0x20);
    assert_eq!(bench.board.read(0xbfff_fff0, 1, Instant::default()), Ok(0));
    bench.put(0x20, 0x20);
    assert_eq!(requests(&mut bench), 0);
    assert_eq!((bench.next(), bench.next()), (9_999, 10_000));
    assert_eq!(requests(&mut bench), 1);
    assert_eq!(bench.board.read(0xbfff_fff0, 1, Instant::default()), Ok(0));
    bench.put(0x20, 0x20);
    assert_eq!((bench.next(), bench.next()), (19_999, 20_000));
    assert_eq!(requests(&mut bench), 1);
    // A latched count stays until both bytes are read.
    bench.now = 20_004;
    bench.put(0x43, 0x00);
    bench.now = 20_100;
    let count = [bench.get(0x40), bench.get(0x40)];
    assert_eq!(u16::from_le_bytes(count), 10_000 - 4);
    let count = [bench.get(0x40), bench.get(0x40)];
    assert_eq!(u16::from_le_bytes(count), 10_000 - 100);
}

#[test]
fn the_timers_other_modes_and_counters() {
    let mut bench = Bench::new(TICKS);
    // Mode 3: half of the period high, half low.
    bench.put(0x43, 0x36);
    bench.put(0x40, 11);
    bench.put(0x40, 0);
    assert_eq!([bench.next(), bench.next(), bench.next()], [6, 11, 17]);
    // Mode 0, low byte only: low until the count is over, once.
    bench.put(0x43, 0x10);
    bench.put(0x40, 5);
    assert_eq!(bench.next(), 22);
    assert_eq!(bench.board.deadline(bench.now), None);
    // Counter 2, high byte only, by the read-back command.
    bench.put(0x43, 0xa4);
    bench.put(0x42, 2);
    bench.now += 0x100;
    bench.put(0x43, 0xd8);
    bench.now += 0x100;
    assert_eq!(bench.get(0x42), 1);
    // The most that a counter can count to is 65536.
    bench.put(0x43, 0x34);
    bench.put(0x40, 0);
    bench.put(0x40, 0);
    let begin = bench.now;
    assert_eq!(
        [bench.next() - begin, bench.next() - begin],
        [0xffff, 0x1_0000]
    );
    // Every control word and count, at any time: nothing overflows.
    for word in 0..=0xff {
        for count in [0, 1, 2, 0xff] {
            bench.now += 0x1234_5678_9abc;
            bench.put(0x43, word);
            bench.put(0x40, count);
            bench.put(0x40, count);
            bench.get(0x40);
            assert!(
                bench
                    .board
                    .deadline(bench.now)
                    .is_none_or(|at| at > bench.now)
            );
        }
    }
}

#[test]
fn the_clock_tells_the_time() {
    const SECOND: u64 = 1_000_000;
    let mut bench = Bench::new(SECOND);
    let read = |bench: &mut Bench, seconds: u64| {
        bench.now = seconds * SECOND;
        [9, 8, 7, 6, 4, 2, 0].map(|index| {
            bench.put(0x70, index);
            bench.get(0x71)
        })
    };
    assert_eq!(read(&mut bench, 0), [0x99, 1, 1, 6, 0, 0, 0]);
    assert_eq!(read(&mut bench, 86_399), [0x99, 1, 1, 6, 0x23, 0x59, 0x59]);
    assert_eq!(read(&mut bench, 86_400), [0x99, 1, 2, 7, 0, 0, 0]);
    assert_eq!(read(&mut bench, 2 * 86_400), [0x99, 1, 3, 1, 0, 0, 0]);
    let leap_day = (365 + 31 + 28) * 86_400;
    assert_eq!(read(&mut bench, leap_day), [0, 2, 0x29, 3, 0, 0, 0]);
    assert_eq!(
        read(&mut bench, leap_day + 306 * 86_400)[..3],
        [0, 0x12, 0x31]
    );
    // In binary.
    bench.put(0x70, 11);
    assert_eq!(bench.get(0x71), 2);
    bench.put(0x71, 6);
    assert_eq!(read(&mut bench, 45)[6], 45);
    // An update is announced.
    bench.put(0x70, 10);
    for (at, updating) in [(0, 0), (997_000, 0), (998_000, 0x80), (999_999, 0x80)] {
        bench.now = SECOND + at;
        assert_eq!(bench.get(0x71), 0x26 | updating, "{at}");
    }
    // The time cannot be set; RAM keeps what is written.
    for (index, value, kept) in [(0, 33, 1), (13, 0, 0x80), (12, 0xff, 0), (0x55, 77, 77)] {
        bench.put(0x70, index);
        bench.put(0x71, value);
        assert_eq!(bench.get(0x71), kept, "{index:#x}");
    }
}

#[test]
fn memory_reset_and_empty_addresses() {
    let mut bench = Bench::new(TICKS);
    let select = |bench: &mut Bench, address: u16| {
        bench.put(0x74, address as u8);
        bench.put(0x75, (address >> 8) as u8);
    };
    for address in [0, 1, 0x1ff8, 0x1fff] {
        select(&mut bench, address);
        assert_eq!(bench.get(0x77), 0);
        bench.put(0x77, 0xa5 ^ address as u8);
    }
    for address in [0, 1, 0x1ff8, 0x1fff] {
        select(&mut bench, address);
        assert_eq!(bench.get(0x77), 0xa5 ^ address as u8);
    }
    assert_eq!((bench.get(0x74), bench.get(0x75)), (0xff, 0x1f));
    assert_eq!(bench.put(0x92, 0), None);
    assert_eq!(bench.put(0x92, 1), Some(Effect::PowerOff(0)));
    // ISA ports, PCI configuration, PCI memory.
    let now = Instant::default();
    let mut other = Board::new(&config(MACHINE, &[]), Console::memory());
    for address in [
        IO + 0x852,
        0x8080_0800,
        0x80ff_f000,
        0xc000_0000,
        0xf000_0000,
    ] {
        for (size, ones) in [(1, 0xff), (2, 0xffff), (4, 0xffff_ffff), (8, u64::MAX)] {
            assert_eq!(bench.board.read(address, size, now), Ok(ones));
            assert_eq!(bench.board.write(address, size, 0, now), Ok(None));
            assert!(other.read(address, size, now).is_err());
            assert!(other.write(address, size, 0, now).is_err());
        }
    }
    for address in [0x7fff_fffc, 0xff00_0000] {
        assert!(bench.board.read(address, 4, now).is_err(), "{address:#x}");
    }
}

/// An image as Linux 2.x makes it with linkers of today: all addresses virtual, ELF headers below the first. `base` is
/// where the kernel maps physical address 0.
fn image(base: u32, source: &str) -> ElfImage {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    std::fs::write(path.join("a.s"), format!("{}\n{source}", support::MACROS)).unwrap();
    assemble(path, "powerpc-linux-gnu-as", &["-m604", "-o", "a.o", "a.s"]);
    let headers = format!("-Ttext-segment={:#x}", base - 0x1_0000);
    let text = format!("-Ttext={base:#x}");
    let arguments = [&headers, &text, "-o", "a.elf", "a.o"];
    assemble(path, "powerpc-linux-gnu-ld", &arguments);
    ElfImage::parse(&std::fs::read(path.join("a.elf")).unwrap(), "a.elf").unwrap()
}

fn assemble(folder: &Path, program: &str, arguments: &[&str]) {
    let mut command = Command::new(program);
    let output = command
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// What a boot loader of the time does to the image, and what the kernel finds.
#[test]
fn a_kernel_is_handed_residual_data() {
    for base in [0xc000_0000, 0x9000_0000] {
        is_handed_residual_data(base);
    }
}

fn is_handed_residual_data(base: u32) {
    let image = image(
        base,
        "
.globl _start
_start: .long 0, 0, 0
  lwz 8, 0(0)
  mflr 9
  bl 1f
1: mflr 9
  power_off 3
",
    );
    let initramfs = vec![9; 5_000];
    let given = Given {
        protocol: Some(Protocol::ResidualData),
        initramfs: Some(&initramfs),
        arguments: "nobats",
        ..Given::default()
    };
    let boot = Boot::kernel(&config(MACHINE, &[]), &image, &given).unwrap();
    assert_eq!(boot.entry, 12);
    let mut session = Session::new(config(MACHINE, &[]), &boot, Console::memory()).unwrap();
    let stop = session.run(Limits {
        cycles: 100_000,
        ..Limits::NONE
    });
    assert_eq!(
        stop,
        Stop::PowerOff { status: 3 },
        "{}",
        session.explain(&stop)
    );
    let register = |number| {
        let registers = &session.machine().processor().registers;
        registers.gpr.get(Register::new(number))
    };
    assert_eq!(register(8), 0xdead_c0de, "the mark");
    assert_eq!(register(9), 24, "entered at 12, where it is in memory");
    let ram = session.machine().uncore().ram.bytes();
    let at = register(3) as usize;
    let word = |offset: usize| u32::from_be_bytes(ram[at + offset..][..4].try_into().unwrap());
    assert_eq!(ram[at + 8..][..19], *b"IBM PPS Model 6015\0");
    // The offsets are those of the structure, counted by hand: vital product data take 236 bytes from 8 on.
    assert_eq!(
        word(0) as usize,
        244 + 4 + 256 + 12 + 768 + 4 + 256 + 4 + 9216 + 16384
    );
    let clocks = [140, 144].map(word);
    assert_eq!(clocks, [185_000_000, 61_666_667]);
    assert_eq!(
        [152, 156, 160].map(word),
        [4000, 32, 4096],
        "time base, word, page"
    );
    assert_eq!(word(244), 0x0001_0001, "processors");
    assert_eq!(word(248) >> 16, 9, "a 604e");
    let size = config(MACHINE, &[]).memory.size;
    assert_eq!([504, 508].map(word), [size; 2], "memory");
    assert_eq!(ram[register(4) as usize..register(5) as usize], initramfs);
    assert_eq!(
        ram[register(6) as usize..=register(7) as usize],
        *b"nobats\0"
    );
    assert!(register(1) > register(7));
}

/// Linux from 2.3 on reads its command line and initrd from records behind the beginning of its zeroed data.
#[test]
fn a_later_kernel_is_handed_boot_information_records() {
    let source = |version: &str| {
        format!(
            "
.globl _start, __bss_start
_start: .long 0, 0, 0
  power_off 0
  .asciz \"Linux version {version} (x)\"
  .asciz \"machine\\t\\t: PReP %s\"
.bss
  .skip 8192
__bss_start:
  .skip 8192
"
        )
    };
    let initramfs = vec![9; 5_000];
    let given = Given {
        initramfs: Some(&initramfs),
        arguments: "root=/dev/ram0",
        ..Given::default()
    };
    let config = config(MACHINE, &[]);
    let boot =
        |version| Boot::kernel(&config, &image(0xc000_0000, &source(version)), &given).unwrap();
    // It is 1 MB behind the label, rounded up to 1 MB.
    let records = |boot: Boot| {
        boot.chunks
            .into_iter()
            .find(|chunk| chunk.physical == 0x20_0000)
    };
    assert_eq!(records(boot("2.2.14")), None);
    let later = boot("2.4.18");
    let initrd = later.initramfs.clone().unwrap();
    let bytes = records(later).unwrap().bytes;
    let mut found = Vec::new();
    let mut at = 0;
    let word = |at: usize| u32::from_be_bytes(bytes[at..][..4].try_into().unwrap());
    while at < bytes.len() {
        let size = word(at + 4) as usize;
        found.push((word(at), bytes[at + 8..at + size].to_vec()));
        at += size;
    }
    let words = |words: &[u32]| {
        words
            .iter()
            .flat_map(|word| word.to_be_bytes())
            .collect::<Vec<_>>()
    };
    let expected = [
        (0x1010, vec![]),
        (0x1016, words(&[1, 0])),
        (0x1017, words(&[config.memory.size])),
        (0x1012, b"root=/dev/ram0\0\0".to_vec()),
        (0x1014, words(&[initrd.start, 5_000])),
        (0x1011, vec![]),
    ];
    assert_eq!(found, expected);
}

#[test]
fn the_timer_interrupts_a_program_as_the_oracle_says() {
    let source = "
.macro out port, value
  load 30, 0x80000000 + \\port
  li 31, \\value
  stb 31, 0(30)
.endm
_start:
  vector 0x500, handler
  out 0x20, 0x11
  out 0x21, 0
  out 0x21, 4
  out 0x21, 1
  out 0x21, 0xfe
  out 0x43, 0x34
  out 0x40, 100
  out 0x40, 0
  li 20, 0
  li 3, 0x1000
  ori 3, 3, 0x8000
  mtmsr 3
1: addi 21, 21, 1
  cmpwi 20, 6
  blt 1b
  power_off 0
handler:
  load 10, 0xbffffff0
  lbz 11, 0(10)
  load 10, 0x80000000
  li 11, 0x20
  stb 11, 0x20(10)
  addi 20, 20, 1
  rfi
";
    let program = Program::new(source);
    let run = |session: &mut Session| {
        let stop = session.run(Limits {
            cycles: 1_000_000,
            ..Limits::NONE
        });
        assert_eq!(
            stop,
            Stop::PowerOff { status: 0 },
            "{}",
            session.explain(&stop)
        );
        session.counters()
    };
    let mut fast = program.session(MACHINE, &[]);
    let counters = run(&mut fast);
    let mut slow = program.session(MACHINE, &[]);
    slow.set_oracle(true);
    assert_eq!(run(&mut slow), counters);
    let cycles = fast.machine().instant().cycles;
    let period = 185_000_000 * 100 / TICKS;
    assert!((4..=6).contains(&(cycles / period)), "{cycles}");
    let mut session = program.session(MACHINE, &["memory.size=0x100000"]);
    session.run(Limits {
        cycles: cycles / 2,
        ..Limits::NONE
    });
    let saved = session.save().unwrap();
    let mut restored = Session::restore(&saved, "s", Console::memory()).unwrap();
    assert_eq!(run(&mut restored), counters);
}
