//! The devices of board `prep`, as a kernel sees them.

use std::path::Path;

use pagewalk_machine::board::{Board, Console, Effect, Instant, TlbView};
use pagewalk_machine::config::MachineConfig;

const UART: u32 = 0x8000_03f8;
const PIC: u32 = 0x8000_0020;
const SLAVE: u32 = 0x8000_00a0;
const ACKNOWLEDGE: u32 = 0xbfff_fff0;

fn board() -> Board {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../machines/ppc604-185.toml");
    Board::new(
        &MachineConfig::from_file(&path, &[]).unwrap(),
        Console::memory(),
    )
}

fn get(board: &mut Board, address: u32) -> u8 {
    board.read(address.into(), 1, Instant::default()).unwrap() as u8
}

fn put(board: &mut Board, address: u32, value: u8) {
    assert_eq!(
        board.write(address.into(), 1, value.into(), Instant::default()),
        Ok(None)
    );
}

/// Both controllers as Linux and our kernel set them up: vectors 0 and 8, cascade on input 2.
fn initialize_pics(board: &mut Board) {
    for (port, vector, cascade) in [(PIC, 0, 4), (SLAVE, 8, 2)] {
        put(board, port, 0x11);
        put(board, port + 1, vector);
        put(board, port + 1, cascade);
        put(board, port + 1, 1);
        put(board, port + 1, 0xff);
    }
    put(board, PIC + 1, !(1 << 4 | 1 << 2));
}

#[test]
fn printing_reaches_the_console() {
    let mut board = board();
    for byte in b"hello\n" {
        assert_eq!(
            get(&mut board, UART + 5) & 0x20,
            0x20,
            "the transmitter is free"
        );
        put(&mut board, UART, *byte);
    }
    assert_eq!(board.console().printed(), b"hello\n");
}

#[test]
fn the_divisor_latch_hides_data_and_interrupt_enable() {
    let mut board = board();
    put(&mut board, UART + 1, 5);
    put(&mut board, UART + 3, 0x83);
    put(&mut board, UART, 12);
    put(&mut board, UART + 1, 1);
    assert_eq!((get(&mut board, UART), get(&mut board, UART + 1)), (12, 1));
    put(&mut board, UART + 3, 3);
    assert_eq!(get(&mut board, UART + 1), 5);
    assert_eq!(board.console().printed(), b"");
    put(&mut board, UART + 7, 0xa5);
    assert_eq!(get(&mut board, UART + 7), 0xa5);
}

#[test]
fn input_waits_until_it_is_read() {
    let mut board = board();
    put(&mut board, UART + 2, 1);
    let typed: Vec<u8> = (0..40).collect();
    board.console_mut().type_in(&typed);
    let mut read = Vec::new();
    while get(&mut board, UART + 5) & 1 != 0 {
        read.push(get(&mut board, UART));
    }
    assert_eq!(read, typed);
}

#[test]
fn input_survives_a_driver_that_starts() {
    let mut board = board();
    board.console_mut().type_in(b"typed");
    // A driver empties what there may be, without a look, and opens the line twice.
    for _ in 0..2 {
        for (register, value) in [(1, 0), (2, 1), (2, 7), (2, 0)] {
            put(&mut board, UART + register, value);
        }
        for register in [5, 0, 2, 6, 5, 5, 0] {
            get(&mut board, UART + register);
        }
        put(&mut board, UART + 1, 1);
        put(&mut board, UART + 2, 1);
    }
    let mut read = Vec::new();
    while get(&mut board, UART + 5) & 1 != 0 {
        read.push(get(&mut board, UART));
    }
    assert_eq!(read, b"typed");
}

#[test]
fn received_data_interrupt_through_the_controllers() {
    let mut board = board();
    initialize_pics(&mut board);
    put(&mut board, UART + 1, 1);
    assert!(!board.interrupt(0));
    board.console_mut().type_in(b"x");
    board.poll(0);
    assert!(board.interrupt(0));
    assert_eq!(get(&mut board, ACKNOWLEDGE), 4);
    assert!(!board.interrupt(0), "in service");
    assert_eq!(get(&mut board, UART + 2), 0x04);
    assert_eq!(get(&mut board, UART), b'x');
    put(&mut board, PIC, 0x20);
    assert!(!board.interrupt(0));
    board.console_mut().type_in(b"y");
    board.poll(0);
    assert!(board.interrupt(0), "a second edge");
}

#[test]
fn transmitter_empty_interrupt_is_acknowledged_by_reading_iir() {
    let mut board = board();
    initialize_pics(&mut board);
    put(&mut board, UART + 1, 2);
    assert!(board.interrupt(0));
    assert_eq!(get(&mut board, UART + 2), 0x02);
    assert_eq!(get(&mut board, UART + 2), 0x01);
    assert!(!board.interrupt(0));
    put(&mut board, UART, b'a');
    assert!(board.interrupt(0));
}

#[test]
fn a_masked_or_acknowledged_request_gives_the_spurious_vector() {
    let mut board = board();
    initialize_pics(&mut board);
    put(&mut board, PIC + 1, 0xff);
    put(&mut board, UART + 1, 2);
    assert!(!board.interrupt(0));
    assert_eq!(get(&mut board, ACKNOWLEDGE), 7);
    put(&mut board, PIC, 0x0a);
    assert_eq!(get(&mut board, PIC), 1 << 4, "requested");
    put(&mut board, PIC, 0x0b);
    assert_eq!(get(&mut board, PIC), 0, "nothing in service");
    assert_eq!(get(&mut board, PIC + 1), 0xff, "the mask");
}

#[test]
fn polling_takes_the_place_of_the_acknowledge_cycle() {
    let mut board = board();
    initialize_pics(&mut board);
    put(&mut board, UART + 1, 2);
    put(&mut board, PIC, 0x0c);
    assert_eq!(get(&mut board, PIC), 0x84);
    assert!(!board.interrupt(0), "in service");
    put(&mut board, PIC, 0x60 | 4);
    put(&mut board, PIC, 0x0c);
    assert_eq!(get(&mut board, PIC), 7, "nothing left");
    put(&mut board, SLAVE, 0x0c);
    assert_eq!(get(&mut board, SLAVE), 7, "nothing at the slave");
}

#[test]
fn trigger_register_keeps_what_can_be_level() {
    let mut board = board();
    put(&mut board, 0x8000_04d0, 0xff);
    put(&mut board, 0x8000_04d1, 0xff);
    assert_eq!(
        (get(&mut board, 0x8000_04d0), get(&mut board, 0x8000_04d1)),
        (0xf8, 0xde)
    );
}

#[test]
fn control_device_reports_and_commands() {
    let mut board = board();
    let now = Instant {
        processor: 0,
        cycles: 0x1_2345_6789,
        instructions: 0x2_0000_0003,
    };
    let mut read = |address| board.read(address, 4, now);
    assert_eq!(read(0x8000_0f00), Ok(0x5057_4c4b));
    assert_eq!(read(0x8000_0f04), Ok(12));
    assert_eq!(read(0x8000_100c), Ok(0), "nothing latched yet");
    assert_eq!(
        (read(0x8000_1008), read(0x8000_100c)),
        (Ok(0x2345_6789), Ok(1))
    );
    assert_eq!((read(0x8000_1010), read(0x8000_1014)), (Ok(3), Ok(2)));
    assert_eq!(read(0x8000_1018), Ok(0x5057_4c4b));
    assert!(read(0x8000_0f08).is_err(), "POWER_OFF cannot be read");
    for (address, effect) in [
        (0x8000_0f08, Effect::PowerOff(9)),
        (0x8000_0f0c, Effect::Cause(9)),
        (0x8000_0f1c, Effect::Context(9)),
        (0x8000_0f20, Effect::Command(9)),
        (0x8000_0f24, Effect::Dump(9)),
        (0x8000_0f28, Effect::Fork(9)),
        (0x8000_0f2c, Effect::TlbSelect(9)),
        (0x8000_1000, Effect::RegionBegin(9)),
        (0x8000_1004, Effect::RegionEnd(9)),
    ] {
        assert_eq!(
            board.write(address, 4, 9, Instant::default()),
            Ok(Some(effect))
        );
    }
    for size in [1, 2, 8] {
        assert!(board.read(0x8000_0f00, size, now).is_err());
        assert!(
            board
                .write(0x8000_0f08, size, 0, Instant::default())
                .is_err()
        );
    }
    assert!(board.write(0x8000_0f30, 4, 0, Instant::default()).is_err());
}

#[test]
fn control_device_shows_the_selected_tlb_entry() {
    let shown = TlbView {
        shape: 0x40_0002,
        vsid: 0x80ab_cdef,
        page: 0x0123_4000,
        word1: 0x0765_4092,
        level_one: 0x1ed,
    };
    let mut board = board();
    board.show_tlb(shown);
    let mut read = |address| board.read(address, 4, Instant::default());
    assert_eq!(
        [0x2c, 0x30, 0x34, 0x38, 0x3c].map(|offset| read(0x8000_0f00 + offset)),
        [
            shown.shape,
            shown.vsid,
            shown.page,
            shown.word1,
            shown.level_one
        ]
        .map(|value| Ok(value.into()))
    );
}

#[test]
fn without_control_device_nothing_answers_there() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../machines/ppc604-185.toml");
    let setting = pagewalk_machine::config::Override::parse("board.control=false").unwrap();
    let config = MachineConfig::from_file(&path, &[setting]).unwrap();
    let mut board = Board::new(&config, Console::memory());
    assert!(board.read(0x8000_0f00, 4, Instant::default()).is_err());
}

#[test]
fn rom_is_read_in_every_size_and_not_written() {
    let mut board = board();
    assert!(
        board.read(0xfff0_0100, 4, Instant::default()).is_err(),
        "no ROM fitted"
    );
    board.fit_rom(&[1, 2, 3, 4, 5, 6, 7, 8]);
    let mut read = |address, size| board.read(address, size, Instant::default());
    assert_eq!(read(0xfff0_0000, 8), Ok(0x0102_0304_0506_0708));
    assert_eq!(read(0xfff0_0002, 2), Ok(0x0304));
    assert_eq!(read(0xffff_fffc, 4), Ok(0xffff_ffff), "erased flash");
    assert!(read(0xffff_fffe, 4).is_err(), "past the end");
    assert!(board.write(0xfff0_0000, 4, 0, Instant::default()).is_err());
}

#[test]
fn nothing_answers_elsewhere() {
    let mut board = board();
    for address in [
        0x4000_0000,
        0x8000_0000,
        0x8000_0400,
        0xc000_0000,
        0xbfff_ffe0,
    ] {
        assert!(
            board.read(address, 1, Instant::default()).is_err(),
            "{address:#x}"
        );
        assert!(
            board.write(address, 1, 0, Instant::default()).is_err(),
            "{address:#x}"
        );
    }
    assert!(
        board.read(UART.into(), 4, Instant::default()).is_err(),
        "devices are a byte wide"
    );
}
