//! Board `fads`: the communications processor's registers, its UART by buffer descriptors, the way of its interrupt,
//! and the board information structure.

use crate::support::{Program, config};
use pagewalk_machine::board::{Board, Console, Effect, Instant};
use pagewalk_machine::powerpc::loader::{Given, Protocol};
use pagewalk_machine::powerpc::machine::{Fatal, Limits, Stop};
use pagewalk_machine::powerpc::registers::Register;
use pagewalk_machine::powerpc::session::Session;

const MACHINE: &str = "mpc855t-48";
const FADS: &str = "board.kind=fads";
const IMMR: u32 = 0xff00_0000;

const SIPEND: u32 = IMMR + 0x10;
const SIMASK: u32 = IMMR + 0x14;
const SIVEC: u32 = IMMR + 0x1c;
const CIVR: u32 = IMMR + 0x930;
const CICR: u32 = IMMR + 0x940;
const CIPR: u32 = IMMR + 0x944;
const CIMR: u32 = IMMR + 0x948;
const CISR: u32 = IMMR + 0x94c;
const CPCR: u32 = IMMR + 0x9c0;
const SMCMR: u32 = IMMR + 0xa82;
const SMCE: u32 = IMMR + 0xa86;
const SMCM: u32 = IMMR + 0xa8a;
/// SMC1's parameters, and two rings of two descriptors.
const PARAMETERS: u32 = IMMR + 0x3e80;
const RECEIVE: u32 = 0x800;
const TRANSMIT: u32 = 0x810;

const SMC1: u32 = 1 << 4;
const EVENT_DELAY: u64 = 10_000;

const LIMITS: Limits = Limits {
    cycles: 1_000_000,
    ..Limits::NONE
};

/// The board, its RAM and the time.
struct Bench {
    board: Board,
    ram: Vec<u8>,
    now: u64,
}

impl Bench {
    fn new() -> Self {
        Bench {
            board: Board::new(&config(MACHINE, &[FADS]), Console::memory()),
            ram: vec![0; 0x10000],
            now: 0,
        }
    }

    fn get(&mut self, address: u32, size: u32) -> u32 {
        let value = self.board.read(address.into(), size, Instant::default());
        value.unwrap_or_else(|error| panic!("{error}")) as u32
    }

    fn put(&mut self, address: u32, size: u32, value: u32) -> Option<Effect> {
        let effect = self
            .board
            .write(address.into(), size, value.into(), Instant::default());
        self.board
            .transfer(self.now, &mut self.ram)
            .unwrap_or_else(|error| panic!("{error}"));
        effect.unwrap_or_else(|error| panic!("{error}"))
    }

    fn wait(&mut self, cycles: u64) {
        self.now += cycles;
        self.board.poll(self.now);
        let _ = self.board.transfer(self.now, &mut self.ram);
    }

    fn descriptor(&mut self, at: u32, status: u32, length: u32, buffer: u32) {
        self.put(IMMR + 0x2000 + at + 4, 4, buffer);
        self.put(IMMR + 0x2000 + at + 2, 2, length);
        self.put(IMMR + 0x2000 + at, 2, status);
    }

    fn status(&mut self, at: u32) -> u32 {
        self.get(IMMR + 0x2000 + at, 2)
    }

    /// SMC1 as a UART: rings, buffers of four bytes, both directions on.
    fn begin(&mut self) {
        self.put(PARAMETERS, 2, RECEIVE);
        self.put(PARAMETERS + 2, 2, TRANSMIT);
        self.put(PARAMETERS + 6, 2, 4);
        self.put(CPCR, 2, 0x0091);
        assert_eq!(self.get(CPCR, 2), 0x0090, "done");
        assert_eq!(self.get(PARAMETERS + 0x10, 2), RECEIVE);
        assert_eq!(self.get(PARAMETERS + 0x20, 2), TRANSMIT);
        self.put(SMCE, 1, 0xff);
        self.put(SMCM, 1, 3);
        self.put(SMCMR, 2, 0x4823);
        assert_eq!(self.get(SMCMR, 2), 0x4823);
    }

    fn printed(&self) -> &[u8] {
        self.board.console().printed()
    }
}

#[test]
fn buffers_that_are_ready_are_sent_in_order() {
    let mut bench = Bench::new();
    bench.ram[0x5000..0x5005].copy_from_slice(b"hello");
    bench.descriptor(TRANSMIT, 0x1000, 0, 0x5000);
    bench.descriptor(TRANSMIT + 8, 0x3000, 0, 0x5000);
    bench.begin();
    bench.descriptor(TRANSMIT, 0x9000, 5, 0x5000);
    assert_eq!(bench.status(TRANSMIT), 0x1000, "sent");
    // A buffer in the dual-port RAM; the last of the ring; then the first again, without an event.
    bench.put(IMMR + 0x2900, 4, u32::from_be_bytes(*b", wo"));
    bench.descriptor(TRANSMIT + 8, 0xb000, 4, IMMR + 0x2900);
    assert_eq!(bench.status(TRANSMIT + 8), 0x3000);
    bench.descriptor(TRANSMIT, 0x8000, 3, 0x5001);
    assert_eq!(bench.printed(), b"hello, woell");
    assert_eq!(bench.get(SMCE, 1), 0, "no event yet");
    bench.wait(EVENT_DELAY);
    assert_eq!(bench.get(SMCE, 1), 2);
    bench.put(SMCE, 1, 2);
    assert_eq!(bench.get(SMCE, 1), 0);
    // STOP TRANSMIT and RESTART TRANSMIT.
    bench.put(CPCR, 2, 0x0491);
    bench.descriptor(TRANSMIT + 8, 0xb000, 1, 0x5000);
    assert_eq!(bench.status(TRANSMIT + 8), 0xb000, "it waits");
    bench.put(CPCR, 2, 0x0691);
    assert_eq!(bench.status(TRANSMIT + 8), 0x3000);
    // Off, nothing is sent.
    bench.put(SMCMR, 2, 0x4821);
    bench.descriptor(TRANSMIT, 0x8000, 3, 0x5001);
    assert_eq!(bench.status(TRANSMIT), 0x8000);
    // A reset of the module leaves the channel off.
    bench.put(CPCR, 2, 0x8001);
    assert_eq!((bench.get(CPCR, 2), bench.get(SMCMR, 2)), (0x8000, 0));
}

#[test]
fn input_comes_a_buffer_at_a_time() {
    let mut bench = Bench::new();
    bench.descriptor(RECEIVE, 0x9000, 0, 0x5000);
    bench.descriptor(RECEIVE + 8, 0xb000, 0, 0x5100);
    bench.begin();
    bench.board.console_mut().type_in(b"abcdef");
    assert_eq!(bench.board.deadline(bench.now), Some(1), "at once");
    bench.wait(1);
    assert_eq!(bench.status(RECEIVE), 0x1000);
    assert_eq!(bench.get(IMMR + 0x2000 + RECEIVE + 2, 2), 4, "MRBLR");
    assert_eq!(bench.ram[0x5000..0x5004], *b"abcd");
    assert_eq!(bench.get(SMCE, 1), 1);
    bench.put(SMCE, 1, 1);
    assert_eq!(bench.status(RECEIVE + 8), 0xb000, "not yet");
    assert_eq!(bench.board.deadline(bench.now), Some(1 + EVENT_DELAY));
    bench.wait(EVENT_DELAY);
    assert_eq!(bench.status(RECEIVE + 8), 0x3000);
    assert_eq!(bench.get(IMMR + 0x2000 + RECEIVE + 0xa, 2), 2);
    assert_eq!(bench.ram[0x5100..0x5102], *b"ef");
    assert_eq!(bench.get(SMCE, 1), 1);
    assert_eq!(bench.get(PARAMETERS + 0x10, 2), RECEIVE, "it wrapped");
    assert_eq!(bench.board.deadline(bench.now), None);
    // Without an empty buffer input waits.
    bench.board.console_mut().type_in(b"g");
    bench.wait(EVENT_DELAY);
    assert_eq!(bench.board.deadline(bench.now), None);
    bench.descriptor(RECEIVE, 0xa000, 0, 0x5000);
    assert_eq!(bench.ram[0x5000], b'g');
}

#[test]
fn the_interrupt_goes_to_the_level_that_software_chose() {
    let mut bench = Bench::new();
    bench.begin();
    bench.put(CICR, 4, 0x00e4_0000 | 6 << 13 | 0x1f00);
    bench.put(CIMR, 4, SMC1);
    bench.descriptor(TRANSMIT, 0xb000, 0, 0x5000);
    bench.wait(EVENT_DELAY);
    assert_eq!(bench.get(CIPR, 4), SMC1);
    assert_eq!(bench.get(SIPEND, 4), 0, "not enabled");
    bench.put(CICR, 4, 0x00e4_0080 | 6 << 13 | 0x1f00);
    assert_eq!(bench.get(SIPEND, 4), 0x8000_0000 >> 13, "level 6");
    assert!(!bench.board.interrupt(0), "masked");
    bench.put(SIMASK, 4, 0x8000_0000 >> 13);
    assert!(bench.board.interrupt(0));
    assert_eq!(bench.get(SIVEC, 4) >> 26, 13);
    // Another level.
    bench.put(CICR, 4, 0x00e4_0080 | 2 << 13 | 0x1f00);
    assert_eq!(bench.get(SIPEND, 4), 0x8000_0000 >> 5);
    bench.put(CICR, 4, 0x00e4_0080 | 6 << 13 | 0x1f00);
    // The acknowledge gives the vector and puts it in service, which holds it back.
    bench.put(CIVR, 2, 1);
    assert_eq!(bench.get(CIVR, 2) >> 11, 4);
    assert_eq!(bench.get(CISR, 4), SMC1);
    assert!(!bench.board.interrupt(0));
    bench.put(CISR, 4, SMC1);
    assert!(bench.board.interrupt(0), "the event is still there");
    bench.put(SMCE, 1, 2);
    assert!(!bench.board.interrupt(0));
    bench.put(CIVR, 2, 1);
    assert_eq!(bench.get(CIVR, 2), 0, "the error vector");
    assert_eq!(bench.get(CISR, 4), 0);
}

#[test]
fn registers_without_effect_keep_what_is_written() {
    let mut bench = Bench::new();
    let system = [
        0x000, 0x004, 0x030, 0x100, 0x200, 0x220, 0x280, 0x300, 0x320, 0x380,
    ];
    let ports = [0x950, 0x9f0, 0xabc, 0xac4, 0xae0];
    let control = (0x1_0000..0x1_0014).step_by(4);
    for offset in system.into_iter().chain(ports).chain(control) {
        bench.put(IMMR + offset, 4, 0x1234_0000 | offset);
        assert_eq!(bench.get(IMMR + offset, 4), 0x1234_0000 | offset);
    }
    assert_eq!(
        bench.put(IMMR + 0x284, 4, 0x80),
        Some(Effect::PowerOff(0)),
        "PLPRCR[CSR]"
    );
}

#[test]
fn descriptors_cannot_stop_the_machine_or_grow_without_limit() {
    let mut bench = Bench::new();
    // A continuous buffer of 64 KB, whose ring is itself.
    bench.ram = vec![0; 0x20000];
    bench.descriptor(TRANSMIT, 0xa200, 0xffff, 0x5000);
    bench.begin();
    assert_eq!(bench.printed().len(), 0xffff);
    assert_eq!(bench.board.deadline(0), Some(EVENT_DELAY));
    bench.put(IMMR + 0x2900, 4, 0);
    assert_eq!(bench.printed().len(), 0xffff, "no more in this time");
    bench.wait(EVENT_DELAY);
    assert_eq!(bench.printed().len(), 2 * 0xffff);
    // Empty buffers, around the whole dual-port RAM.
    let mut bench = Bench::new();
    for at in (0..0x1c00).step_by(8) {
        bench.descriptor(at, 0x8200, 0, 0);
    }
    bench.begin();
    bench.wait(EVENT_DELAY);
    assert_eq!(bench.printed(), b"");
    // Every place of descriptors, those that cross the end included.
    for base in 0x1ff0..=0x2010_u32 {
        // The buffers of some are nowhere.
        for (address, value) in [
            (PARAMETERS, base),
            (PARAMETERS + 2, base ^ 0xe000),
            (CPCR, 0x0091_u32),
        ] {
            let written = bench
                .board
                .write(address.into(), 2, value.into(), Instant::default());
            assert_eq!(written, Ok(None));
            let _ = bench.board.transfer(bench.now, &mut bench.ram);
        }
        bench.board.console_mut().type_in(b"x");
        bench.wait(EVENT_DELAY);
    }
}

#[test]
fn a_buffer_outside_memory_is_named() {
    let mut program = String::from(
        ".macro half a, v\n load 30, \\a\n li 31, \\v\n sth 31, 0(30)\n.endm\n_start:\n",
    );
    for (at, value) in [(PARAMETERS + 2, TRANSMIT), (CPCR, 0x91), (SMCMR, 0x4823)] {
        program += &format!(" half {at:#x}, {value:#x}\n");
    }
    program += &format!(
        " poke {:#x}, 0xc0005000\n half {:#x}, 1\n load 30, {:#x}\nhere: li 31, -0x6000\n sth 31, 0(30)\n b .\n",
        IMMR + 0x2814,
        IMMR + 0x2812,
        IMMR + 0x2810
    );
    let mut session = Program::on(MACHINE, &program).session(MACHINE, &[FADS]);
    let stop = session.run(LIMITS);
    let said = session.explain(&stop);
    assert!(
        matches!(stop, Stop::Fatal(Fatal::Unanswered { .. })),
        "{said}"
    );
    for part in ["0xc0005000", "communications processor", "here+0x4"] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn what_is_missing_is_named() {
    for (address, name) in [
        (IMMR + 0xa00, "SCC1 to SCC4"),
        (IMMR + 0xe00, "FEC"),
        (0xfa20_0000, "MBX and RPX"),
        (0xfff0_0000, "TQM8xx"),
        (0x9000_0000, "0x90000000"),
    ] {
        let source = format!("_start: load 3, {address:#x}\nhere: lwz 4, 0(3)\n b .\n");
        let mut session = Program::on(MACHINE, &source).session(MACHINE, &[FADS]);
        let stop = session.run(LIMITS);
        let said = session.explain(&stop);
        assert!(matches!(stop, Stop::Fatal(_)), "{said}");
        assert!(said.contains(name) && said.contains("here"), "{said}");
    }
}

/// Reads SMC1 by interrupts and sends everything back; ends at `!`.
const ECHO: &str = "
.macro half a, v
  load 30, \\a
  li 31, \\v
  sth 31, 0(30)
.endm
.macro byte a, v
  load 30, \\a
  li 31, \\v
  stb 31, 0(30)
.endm
_start:
  vector 0x500, entry
  half 0xff003e80, 0x800
  half 0xff003e82, 0x808
  half 0xff003e86, 4
  poke 0xff002804, 0x9000
  half 0xff002800, -0x5000
  poke 0xff00280c, 0x9100
  half 0xff002808, 0x3000
  half 0xff0009c0, 0x91
  byte 0xff000a8a, 3
  half 0xff000a82, 0x4823
  poke 0xff000948, 0x10
  poke 0xff000940, 0x00e4df80
  poke 0xff000014, 0x00040000
  li 20, 0
  li 3, 0x1002
  ori 3, 3, 0x8000
  mtmsr 3
1: addi 21, 21, 1
  b 1b
entry:
  load 9, handler
  mtctr 9
  bctr
handler:
  load 10, 0xff000000
  lwz 11, 0x1c(10)
  srwi 11, 11, 26
  cmpwi 11, 13
  bne bad
  li 11, 1
  sth 11, 0x930(10)
  lhz 11, 0x930(10)
  srwi 11, 11, 11
  cmpwi 11, 4
  bne bad
  lbz 12, 0xa86(10)
  stb 12, 0xa86(10)
  andi. 13, 12, 2
  add 20, 20, 13
  andi. 13, 12, 1
  beq 9f
  lhz 14, 0x2802(10)
  li 15, 0x7000
  addi 15, 15, 0x2000
  mtctr 14
  li 16, 0
2: lbzx 17, 15, 16
  addi 18, 16, 0x100
  stbx 17, 15, 18
  cmpwi 17, 33
  beq ends
  addi 16, 16, 1
  bdnz 2b
  sth 14, 0x280a(10)
  li 18, -0x5000
  sth 18, 0x2808(10)
  sth 18, 0x2800(10)
9: li 11, 0x10
  stw 11, 0x94c(10)
  rfi
ends:
  power_off 0
bad:
  power_off 1
";

fn echo(oracle: bool) -> Session {
    let mut session = Program::on(MACHINE, ECHO).session(MACHINE, &[FADS]);
    session.set_oracle(oracle);
    session.type_in(b"by interrupts, both ways!");
    session
}

#[test]
fn the_uart_works_by_interrupts_and_as_the_oracle_says() {
    let run = |mut session: Session| {
        let stop = session.run(LIMITS);
        let said = session.explain(&stop);
        assert_eq!(stop, Stop::PowerOff { status: 0 }, "{said}");
        assert_eq!(session.printed(), b"by interrupts, both ways");
        let gpr = &session.machine().processor().registers.gpr;
        let sent = gpr.get(Register::new(20)) / 2;
        assert!((5..=6).contains(&sent), "{sent} events of sent buffers");
        session.counters()
    };
    let fast = run(echo(false));
    assert_eq!(fast, run(echo(true)));
    // A snapshot at any time goes on the same.
    for cycles in [500, 5_000, 25_000, 45_000] {
        let mut session = echo(false);
        let stop = session.run(Limits {
            cycles,
            ..Limits::NONE
        });
        assert_eq!(stop, Stop::Limit);
        let saved = session.save().unwrap();
        let session = Session::restore(&saved, "s", Console::memory()).unwrap();
        assert_eq!(run(session), fast, "{cycles}");
    }
}

#[test]
fn a_kernel_is_handed_board_information() {
    let program = Program::on(MACHINE, "_start: power_off 0\n");
    let elf = std::fs::read(program.elf()).unwrap();
    let load = |given: &Given, settings: &[&str]| {
        let config = config(MACHINE, settings);
        let console = Console::memory();
        Session::with_causes(config, (&elf, "a.elf"), None, given, console)
            .map_err(|error| error.to_string())
    };
    let initramfs: Vec<u8> = (0..10_001).map(|n| n as u8).collect();
    let given = Given {
        protocol: Some(Protocol::BoardInformation),
        initramfs: Some(&initramfs),
        arguments: "root=/dev/ram0 quiet",
        ..Given::default()
    };
    let mut session = load(&given, &[FADS]).unwrap();
    assert_eq!(session.run(LIMITS), Stop::PowerOff { status: 0 });
    let register = |number| {
        let registers = &session.machine().processor().registers;
        registers.gpr.get(Register::new(number)) as usize
    };
    let ram = session.machine().uncore().ram.bytes();
    let word = |at: usize| u32::from_be_bytes(ram[at..at + 4].try_into().unwrap());
    let at = register(3);
    assert!(at < 8 << 20 && at.is_multiple_of(4096));
    let information: Vec<u32> = (0..16).map(|n| word(at + 4 * n)).collect();
    let clocks = [48_000_000, 48_000_000, 115_200];
    assert_eq!(information[..2], [0, 128 << 20]);
    assert_eq!(information[7], IMMR);
    assert_eq!(information[12..15], clocks);
    assert_eq!(ram[register(4)..register(5)], initramfs);
    assert_eq!(ram[register(6)..=register(7)], *b"root=/dev/ram0 quiet\0");
    assert!(register(1) > register(7) && register(1) < 8 << 20);
    // Nothing is handed over that is not given.
    let mut session = load(&Given::default(), &[FADS]).unwrap();
    session.run(LIMITS);
    let registers = &session.machine().processor().registers;
    for number in 4..8 {
        assert_eq!(registers.gpr.get(Register::new(number)), 0);
    }
    for (protocol, board, said) in [
        (
            Protocol::DeviceTree,
            FADS,
            "a.elf: cannot be given a device tree: board.kind = \"fads\" goes with --protocol board-information; board.kind = \"mpc8xx\" with device-tree",
        ),
        (
            Protocol::BoardInformation,
            "board.kind=prep",
            "board.kind = \"prep\" goes with --protocol device-tree, residual-data; board.kind = \"fads\" with board-information",
        ),
        (
            Protocol::ResidualData,
            "board.kind=mpc8xx",
            "cannot be given residual data: board.kind = \"mpc8xx\" goes with --protocol device-tree",
        ),
    ] {
        let given = Given {
            protocol: Some(protocol),
            ..Given::default()
        };
        let error = load(&given, &[board]).map(|_| ()).unwrap_err();
        assert!(error.contains(said), "{error}");
    }
    for (arguments, said) in [
        ("a\0b", "holds a NUL byte"),
        (
            &"x".repeat(512)[..],
            "has 512 bytes; these kernels have room for 511",
        ),
    ] {
        let given = Given {
            arguments,
            ..Given::default()
        };
        let error = load(&given, &[FADS]).map(|_| ()).unwrap_err();
        assert!(error.contains(said), "{error}");
    }
    let huge = vec![0; 16 << 20];
    let given = Given {
        initramfs: Some(&huge),
        ..Given::default()
    };
    let error = load(&given, &[FADS, "memory.size=0x1000000"]).map(|_| ());
    assert!(error.unwrap_err().contains("the initramfs"));
}
