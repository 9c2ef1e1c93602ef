//! Board `prep` with an OpenPIC: where it is, the 8259 pair behind it, a program that its timer interrupts, snapshots.

use crate::support::{Program, machine_file};
use pagewalk_machine::board::{Board, Console, Instant};
use pagewalk_machine::config::{MachineConfig, Override};
use pagewalk_machine::powerpc::loader::{Target, device_tree};
use pagewalk_machine::powerpc::machine::{Limits, Stop};

const OPENPIC: &str = "board.interrupt-controller=openpic";
const BASE: u32 = 0xfc00_0000;
const MASTER: u32 = 0x8000_0020;
const UART: u32 = 0x8000_03f8;

fn config() -> MachineConfig {
    let setting = Override::parse(OPENPIC).unwrap();
    MachineConfig::from_file(&machine_file("ppc604-185"), &[setting]).unwrap()
}

fn get(board: &mut Board, offset: u32) -> u32 {
    let value = board
        .read((BASE + offset).into(), 4, Instant::default())
        .unwrap();
    (value as u32).swap_bytes()
}

fn put(board: &mut Board, offset: u32, value: u32) {
    let value = value.swap_bytes().into();
    let effect = board.write((BASE + offset).into(), 4, value, Instant::default());
    assert_eq!(effect, Ok(None));
}

fn port(board: &mut Board, address: u32, value: u8) {
    let effect = board.write(address.into(), 1, value.into(), Instant::default());
    assert_eq!(effect, Ok(None));
}

#[test]
fn the_8259_pair_is_the_first_source() {
    let mut board = Board::new(&config(), Console::memory());
    for value in [0x11, 0, 4, 1, 0xef] {
        let address = MASTER + u32::from(value != 0x11);
        port(&mut board, address, value);
    }
    port(&mut board, UART + 1, 2);
    assert!(board.interrupt(0), "passed through");
    put(&mut board, 0x1020, 0x2000_0000);
    assert!(!board.interrupt(0));
    put(&mut board, 0x1_0000, 0x00c8_0042);
    put(&mut board, 0x1_0010, 1);
    put(&mut board, 0x80, 0);
    assert!(board.interrupt(0));
    assert!(!board.interrupt(1), "there is one processor");
    assert_eq!(get(&mut board, 0xa0), 0x42);
    assert!(!board.interrupt(0), "in service");
    port(&mut board, MASTER, 0x0c);
    let answer = board.read(MASTER.into(), 1, Instant::default());
    assert_eq!(answer, Ok(0x84), "the 8259 is polled");
    port(&mut board, MASTER, 0x20);
    put(&mut board, 0xb0, 0);
    assert!(!board.interrupt(0), "an edge of the 8259 comes once");
    port(&mut board, UART + 1, 0);
    port(&mut board, UART + 1, 2);
    assert!(board.interrupt(0), "another");
    port(&mut board, UART + 1, 0);
    assert!(!board.interrupt(0));
    assert_eq!(get(&mut board, 0xa0), 0xff);
    assert!(!board.holds(0) && !board.holds(1));
}

#[test]
fn an_access_to_no_register_is_answered_by_nobody() {
    let mut board = Board::new(&config(), Console::memory());
    for (address, size) in [
        (BASE, 4),
        (BASE + 0x1000, 1),
        (BASE + 0x1000, 8),
        (BASE + 0x2_1080, 4),
    ] {
        let error = board
            .read(address.into(), size, Instant::default())
            .unwrap_err();
        assert_eq!(error.node, Some("/interrupt-controller@fc000000"));
        assert!(
            board
                .write(address.into(), size, 0, Instant::default())
                .is_err()
        );
    }
    assert!(
        board
            .read((BASE + 0x4_0000).into(), 4, Instant::default())
            .is_err()
    );
    let plain = MachineConfig::from_file(&machine_file("ppc604-185"), &[]).unwrap();
    let mut plain = Board::new(&plain, Console::memory());
    assert!(
        plain
            .read((BASE + 0x1000).into(), 4, Instant::default())
            .is_err()
    );
}

/// Cells of a property whose value is `cells`.
fn holds(tree: &[u8], cells: &[u32]) -> bool {
    let bytes: Vec<u8> = cells.iter().flat_map(|cell| cell.to_be_bytes()).collect();
    tree.windows(bytes.len()).any(|window| window == bytes)
}

#[test]
fn the_device_tree_has_a_node_for_it() {
    let tree = device_tree(&config(), Target::Pagewalk, "", None).unwrap();
    let text = String::from_utf8_lossy(&tree).into_owned();
    for word in [
        "interrupt-controller@fc000000",
        "open-pic",
        "chrp,open-pic",
        "#interrupt-cells",
    ] {
        assert!(text.contains(word), "{word}");
    }
    assert!(holds(&tree, &[BASE, 0x4_0000]));
    let plain = MachineConfig::from_file(&machine_file("ppc604-185"), &[]).unwrap();
    let plain = device_tree(&plain, Target::Pagewalk, "", None).unwrap();
    assert!(!String::from_utf8_lossy(&plain).contains("open-pic"));
    let error = device_tree(&config(), Target::Qemu40p, "", None).unwrap_err();
    assert!(error.to_string().contains("no OpenPIC"), "{error}");
}

/// Timer 0 interrupts every 1000 ticks of 24 core cycles, and an interrupt to the processor itself comes besides; r9
/// counts the vectors of both. What the program does meanwhile is `wait`.
fn program(wait: &str) -> Program {
    let source = format!(
        "
_start:
  vector 0x0500, external
  load 10, 0xfc000000
  addis 11, 10, 2
  li 5, 0x80
  lis 6, 0x2000
  ori 7, 10, 0x1020
  stwbrx 6, 0, 7
  li 6, 0
  stwbrx 6, 5, 11
  load 6, 0x00050011
  ori 7, 10, 0x1120
  stwbrx 6, 0, 7
  li 6, 1
  ori 7, 10, 0x1130
  stwbrx 6, 0, 7
  load 6, 0x00060020
  ori 7, 10, 0x10a0
  stwbrx 6, 0, 7
  li 6, 1000
  ori 7, 10, 0x1110
  stwbrx 6, 0, 7
  li 6, 1
  li 5, 0x40
  stwbrx 6, 5, 10
  li 9, 0
  li 8, 0
  load 6, 0x8000
  mtmsr 6
  isync
again:
  {wait}
  cmpwi 8, 6
  blt again
  power_off 0
external:
  li 20, 0xa0
  lwbrx 21, 20, 11
  add 9, 9, 21
  addi 8, 8, 1
  li 20, 0xb0
  stwbrx 20, 20, 11
  rfi
"
    );
    Program::on("ppc604-185", &source)
}

#[test]
fn a_timer_and_an_own_interrupt_come_when_they_are_due() {
    let mut ends = Vec::new();
    for wait in ["nop", "mfmsr 6; oris 6, 6, 4; sync; mtmsr 6; isync"] {
        let run = |oracle: bool| {
            let mut session = program(wait).session("ppc604-185", &[OPENPIC]);
            session.set_oracle(oracle);
            let stop = session.run(Limits {
                cycles: 1_000_000,
                ..Limits::NONE
            });
            assert!(matches!(stop, Stop::PowerOff { status: 0 }), "{stop:?}");
            let gpr = session.machine().processor().registers.gpr.all();
            assert_eq!((gpr[8], gpr[9]), (6, 0x20 + 5 * 0x11), "the vectors");
            (session.machine().processor().cycles(), session.counters())
        };
        let fast = run(false);
        assert_eq!(fast, run(true), "the oracle");
        // Five periods of 1000 ticks, after the few accesses that begin them.
        assert!((120_000..132_000).contains(&fast.0), "{}", fast.0);
        ends.push(fast.0);
    }
    let apart = ends[0].abs_diff(ends[1]);
    assert!(apart < 500, "awake and asleep: {ends:?}");
}

#[test]
fn a_snapshot_between_two_interrupts_goes_on_the_same() {
    let finish = |session: &mut pagewalk_machine::powerpc::session::Session| {
        session.run(Limits {
            cycles: 1_000_000,
            ..Limits::NONE
        });
        (session.machine().processor().cycles(), session.counters())
    };
    let program = program("nop");
    let mut session = program.session("ppc604-185", &[OPENPIC]);
    session.run(Limits {
        cycles: 60_000,
        ..Limits::NONE
    });
    let saved = session.save().unwrap();
    let mut restored =
        pagewalk_machine::powerpc::session::Session::restore(&saved, "saved", Console::memory())
            .unwrap();
    assert_eq!(finish(&mut session), finish(&mut restored));
}
