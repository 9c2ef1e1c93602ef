//! Names of functions of firmware, and who is charged with its time.

use pagewalk_machine::board::Console;
use pagewalk_machine::computer::{Limits, Stop};
use pagewalk_machine::riscv::names::functions;
use pagewalk_machine::riscv::session::{Given, Session};

use super::support::config;

#[test]
fn calls_tell_where_functions_begin() {
    // c.nop; jal ra, 8; nop; ret; jal ra, -10; jal ra, far away
    let words = [0x0080_00ef_u32, 0x13, 0x8067, 0xff7f_f0ef, 0x7fff_f0ef];
    let mut code = vec![1, 0];
    code.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    let found = functions(&code);
    let ranges: Vec<_> = found.iter().map(|one| (one.address, one.size)).collect();
    assert_eq!(ranges, [(0, 4), (4, 6), (10, 12)]);
    assert_eq!(found[2].name, "firmware+0xa");
    assert!(functions(&[]).is_empty());
    assert_eq!(functions(&[1]).len(), 1);
}

/// In machine mode above firmware, where a Linux has functions at the same lower 32 bits.
#[test]
fn firmwares_time_has_its_functions_names() {
    let code = [
        0x0080_00ef_u32, // jal ra, 8
        0x0000_006f,     // j .
        0x4000_0593,     // li a1, 1024
        0xfff5_8593,     // 1: addi a1, a1, -1
        0xfe05_9ee3,     // bnez a1, 1b
        0x0010_02b7,     // lui t0, 0x100: the test device
        0x0000_5337,     // lui t1, 5
        0x5553_0313,     // addi t1, t1, 0x555
        0x0062_a023,     // sw t1, (t0)
    ];
    let firmware: Vec<u8> = code.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut linux = vec![0; 64];
    linux[8..16].copy_from_slice(&0x20_0000_u64.to_le_bytes());
    linux[0x38..0x3c].copy_from_slice(b"RSC\x05");
    let given = Given {
        firmware: Some((&firmware, "fw")),
        ..Given::default()
    };
    let config = config("u74-1500", &[]);
    let console = Console::memory();
    let mut session = Session::with_riscv_kernel(&config, (&linux, "k"), &given, console).unwrap();
    session.record_profile(None);
    assert_eq!(session.run(Limits::NONE), Stop::PowerOff { status: 0 });
    let rows = session.profile();
    assert_eq!(
        rows[0].function,
        "firmware+0x8",
        "{}",
        session.profile_table(5)
    );
    assert!(rows.iter().all(|row| row.function.starts_with("firmware+")));
}
