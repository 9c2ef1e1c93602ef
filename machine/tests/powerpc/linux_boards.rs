//! The boards that Linux knows: every register, the way of an interrupt, the device trees, and accesses that nothing
//! answers.

use crate::support::{Program, config};
use pagewalk_machine::board::{Board, Console, Effect, Instant};
use pagewalk_machine::powerpc::loader::{Target, device_tree};
use pagewalk_machine::powerpc::machine::{Fatal, Limits, Stop};
use pagewalk_machine::powerpc::registers::Register;
use pagewalk_machine::powerpc::session::Session;

const MPC83XX: (&str, &str) = ("ppc603-133", "board.kind=mpc83xx");
const MPC86XX: (&str, &str) = ("ppc604-133", "board.kind=mpc86xx");
const MPC8XX: (&str, &str) = ("mpc855t-48", "board.kind=mpc8xx");

const IMMR_83XX: u32 = 0xe000_0000;
const CCSR_86XX: u32 = 0xffe0_0000;
const IMMR_8XX: u32 = 0xff00_0000;
const UART_83XX: u32 = IMMR_83XX + 0x4500;
const UART_86XX: u32 = CCSR_86XX + 0x4500;
const UART_8XX: u32 = 0xfa00_0000;

const LIMITS: Limits = Limits {
    cycles: 1_000_000,
    ..Limits::NONE
};

fn board((machine, kind): (&str, &str)) -> Board {
    Board::new(&config(machine, &[kind]), Console::memory())
}

fn get(board: &mut Board, address: u32, size: u32) -> u32 {
    let value = board.read(address.into(), size, Instant::default());
    value.unwrap_or_else(|error| panic!("{error}")) as u32
}

fn put(board: &mut Board, address: u32, size: u32, value: u32) -> Option<Effect> {
    let effect = board.write(address.into(), size, value.into(), Instant::default());
    effect.unwrap_or_else(|error| panic!("{error}"))
}

/// Registers that keep what is written, and nothing else.
fn keeps(board: &mut Board, base: u32, offsets: impl IntoIterator<Item = u32>) {
    for offset in offsets {
        let value = 0x1234_0000 | offset;
        assert_eq!(put(board, base + offset, 4, value), None, "{offset:#x}");
        assert_eq!(get(board, base + offset, 4), value, "{offset:#x}");
        assert_eq!(
            get(board, base + offset + 2, 2),
            value & 0xffff,
            "{offset:#x}"
        );
        put(board, base + offset, 1, 0xab);
        assert_eq!(get(board, base + offset, 4) >> 24, 0xab, "{offset:#x}");
        put(board, base + offset, 4, 0);
    }
}

#[test]
fn the_83xx_keeps_its_system_registers_and_resets() {
    let mut board = board(MPC83XX);
    keeps(&mut board, IMMR_83XX, [0x110, 0x114, 0x118, 0x918, 0xa08]);
    put(&mut board, IMMR_83XX + 0x918, 4, 0x5253_5445);
    let reset = put(&mut board, IMMR_83XX + 0x91c, 4, 2);
    assert_eq!(reset, Some(Effect::PowerOff(0)));
}

#[test]
fn the_ipic_gives_the_uarts_vector_while_its_level_is_there() {
    const IPIC: u32 = IMMR_83XX + 0x700;
    const UART1: u32 = 0x80;
    let mut board = board(MPC83XX);
    // Configuration, priorities, masks, force and error registers.
    let words = (0x00..0x60).step_by(4);
    for offset in words.filter(|offset| ![0x04, 0x08, 0x0c, 0x40].contains(offset)) {
        put(&mut board, IPIC + offset, 4, 0x0530_9770);
        assert_eq!(
            get(&mut board, IPIC + offset, 4),
            0x0530_9770,
            "{offset:#x}"
        );
        put(&mut board, IPIC + offset, 4, 0);
    }
    // SIVCR, SIPNR_H, SIPNR_L, SERSR, SCVCR and SMVCR are not written.
    for offset in [0x04, 0x08, 0x0c, 0x40] {
        put(&mut board, IPIC + offset, 4, u32::MAX);
    }
    for offset in [0x04, 0x08, 0x0c, 0x40, 0x60, 0x64] {
        assert_eq!(get(&mut board, IPIC + offset, 4), 0, "{offset:#x}");
    }
    // The UART's transmitter is empty, and says so.
    put(&mut board, UART_83XX + 1, 1, 2);
    assert_eq!(get(&mut board, IPIC + 0x08, 4), UART1, "pending");
    assert!(!board.interrupt(0), "masked");
    assert_eq!(get(&mut board, IPIC + 0x04, 4), 0);
    put(&mut board, IPIC + 0x20, 4, UART1);
    assert!(board.interrupt(0));
    assert_eq!(get(&mut board, IPIC + 0x04, 4) & 0x7f, 9);
    // Reading IIR takes the cause away; no end of interrupt is needed.
    assert_eq!(get(&mut board, UART_83XX + 2, 1) & 0xf, 2);
    assert!(!board.interrupt(0));
    assert_eq!(get(&mut board, IPIC + 0x04, 4), 0);
}

#[test]
fn the_86xx_resets_and_keeps_its_reset_register() {
    let mut board = board(MPC86XX);
    keeps(&mut board, CCSR_86XX, [0xe_00b0]);
    let reset = put(&mut board, CCSR_86XX + 0xe_00b0, 4, 2);
    assert_eq!(reset, Some(Effect::PowerOff(0)));
}

#[test]
fn the_mpic_gives_the_uarts_vector_to_its_processor() {
    const MPIC: u32 = CCSR_86XX + 0x4_0000;
    const UART: u32 = MPIC + 0x1_0000 + 42 * 0x20;
    let (machine, kind) = MPC86XX;
    let config = config(machine, &[kind, "processors=2"]);
    let mut board = Board::new(&config, Console::memory());
    assert_eq!(get(&mut board, MPIC, 4), 0x0040_0200, "block revision");
    assert_eq!(get(&mut board, MPIC + 0x1000, 4), 0x00ff_0102, "features");
    put(&mut board, MPIC + 0x1020, 4, 0x2000_0000);
    put(&mut board, MPIC + 0x10e0, 4, 0x7ff);
    put(&mut board, UART, 4, 0x00c8_002a);
    put(&mut board, UART + 0x10, 4, 2);
    put(&mut board, MPIC + 0x2_1080, 4, 0);
    put(&mut board, UART_86XX + 1, 1, 2);
    assert_eq!((board.interrupt(0), board.interrupt(1)), (false, true));
    assert_eq!(get(&mut board, MPIC + 0x2_10a0, 4), 42);
    assert_eq!(get(&mut board, UART_86XX + 2, 1) & 0xf, 2, "its cause goes");
    put(&mut board, MPIC + 0x2_10b0, 4, 0);
    assert!(!board.interrupt(1));
    assert_eq!(get(&mut board, MPIC + 0x2_10a0, 4), 0x7ff, "spurious");
    // An interrupt between processors, with the high vectors that Linux takes.
    put(&mut board, MPIC + 0x10b0, 4, 0x000a_07fc);
    put(&mut board, MPIC + 0x2_0050, 4, 2);
    assert_eq!((board.interrupt(0), board.interrupt(1)), (false, true));
    assert_eq!(get(&mut board, MPIC + 0x2_10a0, 4), 0x7fc);
}

#[test]
fn the_port_configuration_register_starts_processors() {
    const PORT: u32 = CCSR_86XX + 0x1010;
    let (machine, kind) = MPC86XX;
    let config = config(machine, &[kind, "processors=4"]);
    let mut board = Board::new(&config, Console::memory());
    let held = |board: &Board| [0, 1, 2, 3].map(|number| board.holds(number));
    assert_eq!(get(&mut board, PORT, 4), 0x0100_0000);
    assert_eq!(held(&board), [false, true, true, true]);
    put(&mut board, PORT, 4, 0x0500_0000);
    assert_eq!(get(&mut board, PORT, 4), 0x0500_0000);
    assert_eq!(held(&board), [false, true, false, true]);
    put(&mut board, PORT, 4, 0);
    assert_eq!(get(&mut board, PORT, 4), 0x0100_0000, "the first runs on");
}

/// What Linux does: a branch at the reset vector, the enable bit, and a wait for the number that the processor writes.
#[test]
fn processors_start_at_the_reset_vector() {
    let program = Program::new(
        "
_start:
  vector 0x100, second
  load 5, 0xffe01010
  lwz 6, 0(5)
  oris 6, 6, 0x0e00
  stw 6, 0(5)
  li 20, 0
  lis 5, 1
1: lwz 6, 0(5)
  cmpwi 6, 14
  bne 1b
  mfspr 7, 286
  power_off 9
second:
  mfspr 20, 1023
  lis 5, 1
  li 6, 1
  slw 6, 6, 20
2: lwarx 7, 0, 5
  or 7, 7, 6
  stwcx. 7, 0, 5
  bne 2b
  b .
",
    );
    let (machine, kind) = MPC86XX;
    let mut session = program.session(machine, &[kind, "processors=4"]);
    let stop = session.run(LIMITS);
    assert_eq!(
        stop,
        Stop::PowerOff { status: 9 },
        "{}",
        session.explain(&stop)
    );
    let svr = session.machine().processors()[0]
        .registers
        .gpr
        .get(Register::new(7));
    assert_eq!(svr, 0x8090_0020);
    // The system's version is the board's register, not the core's.
    let mut session = Program::new("_start: mfspr 7, 286\n power_off 0").session(machine, &[]);
    assert!(matches!(
        session.run(LIMITS),
        Stop::Fatal(Fatal::NoHandler { .. })
    ));
}

/// A 603 has no DABR, but the chips of these boards have, and it works there.
#[test]
fn an_83xx_and_an_86xx_have_dabr() {
    let source = "
_start:
  vector 0x300, broken
  load 4, 0x00010003
  mtspr 1013, 4
  mfspr 5, 1013
  cmpw 4, 5
  bne .
  lis 6, 1
  lwz 7, 0(6)
  power_off 2
broken:
  power_off 1
";
    for (kind, expected) in [
        ("board.kind=mpc83xx", Some(1)),
        ("board.kind=mpc86xx", Some(1)),
        ("board.kind=prep", None),
    ] {
        let mut session = Program::new(source).session("ppc603-133", &[kind]);
        let status = match session.run(LIMITS) {
            Stop::PowerOff { status } => Some(status),
            _ => None,
        };
        assert_eq!(status, expected, "{kind}");
    }
}

#[test]
fn the_siu_gives_the_number_of_the_interrupt() {
    const IRQ2: u32 = 0x8000_0000 >> 4;
    let mut board = board(MPC8XX);
    let [sipend, simask, siel, sivec] = [0x10, 0x14, 0x18, 0x1c].map(|offset| IMMR_8XX + offset);
    assert_eq!(get(&mut board, sivec, 4) >> 26, 15, "none");
    put(&mut board, UART_8XX + 1, 1, 2);
    assert_eq!(get(&mut board, sipend, 4), IRQ2);
    assert_eq!(
        (board.interrupt(0), get(&mut board, sivec, 4) >> 26),
        (false, 15)
    );
    put(&mut board, simask, 4, IRQ2);
    assert_eq!(
        (board.interrupt(0), get(&mut board, sivec, 4) >> 26),
        (true, 4)
    );
    put(&mut board, sipend, 4, IRQ2);
    assert!(board.interrupt(0), "a level stays");
    put(&mut board, siel, 4, 0xaaaa_0000);
    assert_eq!(get(&mut board, siel, 4), 0xaaaa_0000);
    assert_eq!(get(&mut board, UART_8XX + 2, 1) & 0xf, 2);
    assert!(!board.interrupt(0));
}

#[test]
fn the_8xx_keeps_its_internal_registers() {
    let mut board = board(MPC8XX);
    let ranges = [
        (0x000, 0x008),
        (0x030, 0x034),
        (0x100, 0x180),
        (0x200, 0x210),
        (0x220, 0x230),
        (0x240, 0x24c),
        (0x280, 0x284),
        (0x300, 0x310),
        (0x320, 0x330),
        (0x340, 0x348),
        (0x380, 0x38c),
        (0x930, 0x934),
        (0x940, 0x97c),
        (0x9c4, 0x9c8),
        (0x9f0, 0xa00),
        (0xab8, 0xaf4),
        (0x2000, 0x4000),
    ];
    for (first, end) in ranges {
        keeps(&mut board, IMMR_8XX, (first..end).step_by(4));
    }
    // CPCR: reset and flag; the command is done at once. PLPRCR: CSR ends the run.
    put(&mut board, IMMR_8XX + 0x9c0, 2, 0x8001);
    assert_eq!(get(&mut board, IMMR_8XX + 0x9c0, 2), 0x8000);
    assert_eq!(put(&mut board, IMMR_8XX + 0x284, 4, 0x0050_0000), None);
    assert_eq!(get(&mut board, IMMR_8XX + 0x284, 4), 0x0050_0000);
    let reset = put(&mut board, IMMR_8XX + 0x284, 4, 0x0050_0080);
    assert_eq!(reset, Some(Effect::PowerOff(0)));
}

#[test]
fn what_nothing_answers_names_its_node() {
    for (kind, address, size, node) in [
        (MPC83XX, 0xe000_0000, 4, Some("/soc@e0000000")),
        (MPC83XX, 0xe000_0768, 4, Some("/soc@e0000000/pic@700")),
        (MPC83XX, 0xe000_0704, 1, Some("/soc@e0000000/pic@700")),
        (MPC83XX, 0xe000_4508, 1, Some("/soc@e0000000/serial@4500")),
        (MPC83XX, 0xf000_0000, 4, None),
        (MPC86XX, 0xffe0_1000, 4, Some("/soc@ffe00000/mcm@1000")),
        (MPC86XX, 0xffe0_4508, 1, Some("/soc@ffe00000/serial@4500")),
        (MPC86XX, 0xffe4_1090, 4, Some("/soc@ffe00000/pic@40000")),
        (MPC86XX, 0xffe4_1000, 1, Some("/soc@ffe00000/pic@40000")),
        (
            MPC86XX,
            0xffee_0000,
            4,
            Some("/soc@ffe00000/global-utilities@e0000"),
        ),
        (MPC86XX, 0xffe0_8000, 4, Some("/soc@ffe00000")),
        (MPC86XX, 0xe000_0110, 4, None),
        (
            MPC8XX,
            0xff00_0008,
            4,
            Some("/soc@ff000000/interrupt-controller@0"),
        ),
        (MPC8XX, 0xff00_09c8, 4, Some("/soc@ff000000/cpm@9c0")),
        (MPC8XX, 0xff00_0e00, 4, Some("/soc@ff000000")),
        (MPC8XX, 0xfa00_0010, 1, Some("/localbus@fa000000/serial@0")),
        (MPC8XX, 0x8000_03f8, 1, None),
    ] {
        let mut board = board(kind);
        for error in [
            board.read(address, size, Instant::default()).err(),
            board.write(address, size, 0, Instant::default()).err(),
        ] {
            let error = error.expect("nothing answers");
            assert_eq!((error.node, error.fatal), (node, true), "{error}");
        }
    }
}

/// On each board: the console prints, and the control device ends the run.
#[test]
fn programs_reach_the_console_and_the_control_device() {
    for ((machine, kind), uart) in [
        (MPC83XX, UART_83XX),
        (MPC86XX, UART_86XX),
        (MPC8XX, UART_8XX),
    ] {
        let source = format!(
            "_start: load 5, {uart:#x}\n li 6, 'o'\n stb 6, 0(5)\n li 6, 'k'\n stb 6, 0(5)\n power_off 3"
        );
        let mut session = Program::on(machine, &source).session(machine, &[kind]);
        assert_eq!(session.run(LIMITS), Stop::PowerOff { status: 3 });
        assert_eq!(session.printed(), b"ok");
        let saved = session.save().expect("it can be saved");
        assert!(Session::restore(&saved, "s", Console::memory()).is_ok());
    }
}

#[test]
fn an_access_that_nothing_answers_ends_the_run_and_says_where() {
    let (machine, kind) = MPC83XX;
    for (access, what) in [
        ("lwz 4, 0x20(5)", "read of 4 bytes"),
        ("stb 4, 0x20(5)", "write of 1 bytes"),
    ] {
        let source =
            format!("_start: load 5, 0xe0000000\n .globl wrong\nwrong: {access}\n power_off 0");
        let mut session = Program::new(&source).session(machine, &[kind]);
        let stop = session.run(LIMITS);
        let there = matches!(stop, Stop::Fatal(Fatal::Unanswered { pc: 0x4008, .. }));
        assert!(there, "{stop:?}");
        let message = session.explain(&stop);
        let expected = format!(
            "{what} at physical address 0xe0000020 (/soc@e0000000): no device answers, at 0x00004008 <wrong>"
        );
        assert!(
            message.contains("fatal: ") && message.contains(&expected),
            "{message}"
        );
    }
    // So does a fetch.
    let mut session =
        Program::new("_start: load 5, 0xf0000000\n mtctr 5\n bctr").session(machine, &[kind]);
    let stop = session.run(LIMITS);
    assert!(
        matches!(
            stop,
            Stop::Fatal(Fatal::Unanswered {
                pc: 0xf000_0000,
                ..
            })
        ),
        "{stop:?}"
    );
}

/// A kernel that ends before its console begins: the end says whether it has a driver, and what its log holds.
#[test]
fn a_silent_kernels_log_is_shown() {
    let (machine, kind) = MPC83XX;
    let driver = ".globl univ8250_console_init\nuniv8250_console_init: blr\n";
    let log = ".globl __log_buf\n.type __log_buf, @object\n.size __log_buf, 0x40\n__log_buf: .long 7\n\
               .ascii \"No suitable machine\"\n.byte 0\n.zero 0x28\n";
    let has = "has a driver for its ns16550";
    let lacks = "SERIAL_8250_CONSOLE";
    let logged = "the last messages in the kernel's memory:\n  No suitable machine";
    let silent = "nothing was printed on /soc@e0000000/serial@4500";
    for (parts, expected, not) in [
        ("", [lacks, silent], logged),
        (driver, [has, silent], lacks),
        (log, [lacks, logged], has),
    ] {
        let source = format!("_start: b _start\n{parts}");
        let mut session = Program::new(&source).session(machine, &[kind]);
        let stop = session.run(LIMITS);
        let message = session.explain(&stop);
        for text in expected {
            assert!(message.contains(text), "{message}");
        }
        assert!(!message.contains(not), "{message}");
    }
    // Nor is a reset of the board silent about it.
    let source = format!("_start: load 5, {IMMR_83XX:#x}\n stw 5, 0x91c(5)\n{log}");
    let mut session = Program::new(&source).session(machine, &[kind]);
    let stop = session.run(LIMITS);
    assert!(session.explain(&stop).contains(logged));
    // One that has printed says nothing of it.
    let source =
        format!("_start: load 5, {UART_83XX:#x}\n li 6, 'o'\n stb 6, 0(5)\n1: b 1b\n{log}");
    let mut session = Program::new(&source).session(machine, &[kind]);
    let stop = session.run(LIMITS);
    assert!(!session.explain(&stop).contains("nothing was printed"));
}

/// Messages of Linux from 5.10 on: each begins and ends where its descriptor and info say.
#[test]
fn the_messages_of_a_ring_are_told_apart() {
    // Three descriptors: the third message, which has wrapped to the beginning of the text; an overwritten one; the
    // second. What is left of others between them is not shown. Infos have the number and the length.
    let ring = |second: &str| {
        let second = format!("{second:28}");
        format!(
            "
.macro variable name
  .globl \\name
  .type \\name, @object
\\name:
.endm
  .balign 8
variable __log_buf
  .long 0x3ffffff2
  .ascii \"third\\nlast left of another\"
  .balign 4
  .org __log_buf + 0x40
  .long 0x3ffffff1
  .ascii \"{second}xyz\"
  .org __log_buf + 0x80
  .size __log_buf, 0x80
variable _printk_rb_static_descs
  .long 0xfffffff2, 0x1070, 0x1090
  .long 0xbffffff0, 0x1008, 0x1040
  .long 0xbffffff1, 0x1040, 0x1070
  .size _printk_rb_static_descs, 36
variable _printk_rb_static_infos
  .quad 8, 0
  .short 10, 0
  .long 0
  .quad 6, 0
  .short 40, 0
  .long 0
  .quad 7, 0
  .short {}, 0
  .long 0
  .size _printk_rb_static_infos, 72
",
            second.trim_end().len()
        )
    };
    let (machine, kind) = MPC83XX;
    for (second, shown) in [
        ("the second", ":\n  the second\n  third\n  last"),
        (
            "Kernel panic - not\tso",
            ":\n  Kernel panic - not?so\n  third\n  last",
        ),
    ] {
        let source = format!("_start: b _start\n{}", ring(second));
        let mut session = Program::new(&source).session(machine, &[kind]);
        let stop = session.run(LIMITS);
        let message = session.explain(&stop);
        assert!(message.ends_with(shown), "{message}");
    }
}

#[test]
fn the_loader_does_what_linux_expects() {
    for ((machine, kind), reach) in [
        (MPC83XX, 256 << 20),
        (MPC86XX, 256 << 20),
        (MPC8XX, 32 << 20),
    ] {
        let mut session = Program::on(machine, "_start: power_off 0").session(machine, &[kind]);
        let gpr = |session: &Session, n| {
            session
                .machine()
                .processor()
                .registers
                .gpr
                .get(Register::new(n))
        };
        let (stack, tree) = (gpr(&session, 1), gpr(&session, 3));
        assert!((0x5000..reach).contains(&tree), "{tree:#x}");
        let ram = &session.machine().processor().memory.uncore.ram;
        assert_eq!(ram.read_u32(tree), Some(0xd00d_feed), "{machine}");
        if machine != MPC8XX.0 {
            assert!(
                stack % 16 == 0 && (tree - 4096..tree).contains(&stack),
                "{stack:#x}"
            );
        }
        assert_eq!(session.run(LIMITS), Stop::PowerOff { status: 0 });
    }
}

#[test]
fn each_board_has_its_own_tree_and_only_prep_is_on_qemu() {
    for ((machine, kind), compatible, serial) in [
        (MPC83XX, "MPC8313ERDB", "/soc@e0000000/serial@4500"),
        (MPC86XX, "fsl,mpc8641hpcn", "/soc@ffe00000/serial@4500"),
        (
            MPC8XX,
            "analogue-and-micro,adder875",
            "/localbus@fa000000/serial@0",
        ),
    ] {
        let config = config(machine, &[kind]);
        let tree = device_tree(&config, Target::Pagewalk, "quiet", None).expect("a tree");
        let holds = |text: &str| tree.windows(text.len()).any(|part| part == text.as_bytes());
        let control = "pagewalk,control";
        for text in [
            compatible,
            serial,
            "stdout-path",
            "ns16550",
            "simple-bus",
            control,
        ] {
            assert!(holds(text), "{kind}: {text}");
        }
        assert!(!holds("prep"), "{kind}");
        let error = device_tree(&config, Target::Qemu40p, "", None).expect_err("refused");
        assert!(error.to_string().contains("board.kind"), "{error}");
    }
}

/// Linux's entry is a virtual address.
#[test]
fn a_virtual_entry_is_taken_for_its_physical_one() {
    let program = Program::new("_start: power_off 5");
    let mut elf = std::fs::read(program.elf()).unwrap();
    let word = |bytes: &[u8], at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    let first = word(&elf, 28) as usize;
    let load = (first..)
        .step_by(32)
        .find(|&at| word(&elf, at) == 1)
        .unwrap();
    for at in [24, load + 8] {
        let virtual_address = word(&elf, at) + 0xc000_0000;
        elf[at..at + 4].copy_from_slice(&virtual_address.to_be_bytes());
    }
    let config = config("ppc603-133", &["board.kind=mpc83xx"]);
    let mut session =
        Session::with_kernel(config, &elf, "a.elf", None, "", Console::memory()).unwrap();
    assert_eq!(session.machine().processor().registers.pc, 0x4000);
    assert_eq!(session.run(LIMITS), Stop::PowerOff { status: 5 });
}
