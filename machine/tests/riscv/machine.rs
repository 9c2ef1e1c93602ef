//! The machine from outside.

use pagewalk_machine::board::Console;
use pagewalk_machine::computer::{Limits, Stop, snapshot};
use pagewalk_machine::config::Override;
use pagewalk_machine::riscv::Config;
use pagewalk_machine::riscv::session::{Given, Session};

use super::debugger::gdb;
use super::support::{config, elf, root, session};

/// li t0, 0x100000; li t1, 0x5555; sw t1, (t0): powers off.
const POWER_OFF: [u32; 4] = [0x0010_02b7, 0x0000_5337, 0x5553_0313, 0x0062_a023];

/// A loop that stores and loads, then [`POWER_OFF`].
fn program() -> Vec<u32> {
    let mut code = vec![
        0x0000_0517, // auipc a0, 0
        0x0800_0593, // li a1, 128
        0x10b5_3023, // 1: sd a1, 256(a0)
        0x1005_3603, // ld a2, 256(a0)
        0x02c6_0633, // mul a2, a2, a2
        0xfff5_8593, // addi a1, a1, -1
        0xfe05_98e3, // bnez a1, 1b
    ];
    code.extend(POWER_OFF);
    code
}

#[test]
fn it_powers_off_and_the_oracle_counts_the_same() {
    let config = config("u74-1500", &[]);
    let counters = [false, true].map(|oracle| {
        let mut session = session(&config, &elf(&program()), "program");
        session.set_oracle(oracle);
        assert_eq!(session.run(Limits::NONE), Stop::PowerOff { status: 0 });
        session.counters()
    });
    assert_eq!(counters[0], counters[1]);
    let count = |name: &str| {
        counters[0]
            .iter()
            .find(|(other, _)| other == name)
            .unwrap()
            .1
    };
    assert_eq!(count("instructions"), 2 + 5 * 128 + 4);
    assert!(count("cycles") > count("instructions") / 2);
}

#[test]
fn a_snapshot_goes_on_as_the_machine_would_have() {
    let config = config("u74-1500", &[]);
    let mut first = session(&config, &elf(&program()), "program");
    let limits = Limits {
        instructions: 100,
        ..Limits::NONE
    };
    assert_eq!(first.run(limits), Stop::Limit);
    let bytes = first.save().unwrap();
    assert_eq!(snapshot::architecture(&bytes), Some("RISC-V"));
    let mut second = Session::restore(&bytes, "snapshot", Console::memory()).unwrap();
    for session in [&mut first, &mut second] {
        assert_eq!(session.run(Limits::NONE), Stop::PowerOff { status: 0 });
    }
    assert_eq!(first.counters(), second.counters());
}

#[test]
fn wrong_input_gets_a_sentence() {
    let config = config("u74-1500", &[]);
    let refused = |bytes: &[u8], given: &Given<'_>| {
        let session = Session::with_riscv_kernel(&config, (bytes, "k"), given, Console::memory());
        session
            .err()
            .map(|error| error.to_string())
            .expect("it is refused")
    };
    let none = Given::default();
    assert!(refused(b"\x7fELF\x01\x02", &none).contains("32-bit"));
    assert!(refused(b"\x1f\x8b", &none).contains("gunzip"));
    let mut low = elf(&program());
    low[0x78 - 40..0x78 - 24].copy_from_slice(&[0; 16]);
    assert!(
        refused(&low, &none).contains("RAM begins at"),
        "{}",
        refused(&low, &none)
    );
    let mut image = vec![0; 64];
    image[8..16].copy_from_slice(&0x20_0000_u64.to_le_bytes());
    image[0x38..0x3c].copy_from_slice(b"RSC\x05");
    assert!(refused(&image, &none).contains("--firmware"));
    let with = |firmware: &'static [u8]| Given {
        firmware: Some((firmware, "fw")),
        ..Given::default()
    };
    // Firmware that is packed, an ELF file, or too long.
    assert!(refused(&image, &with(b"\x1f\x8b\x08")).contains("fw: is compressed"));
    assert!(refused(&image, &with(b"\x7fELF")).contains("fw: is no firmware"));
    assert!(refused(&image, &with(&[0; 3 << 20])).contains("fw: is no firmware"));
    // A Linux that is linked for another distance from the beginning of RAM, and one for another board.
    image[8..16].copy_from_slice(&0x8_0000_u64.to_le_bytes());
    assert!(refused(&image, &with(b"code")).contains("another place than 2 MB"));
    let powerpc = b"\x7fELF\x01\x02\x01";
    assert!(refused(powerpc, &none).contains("allowed is a static ELF executable for RISC-V"));
}

/// Bytes of a program of [`elf`] that begin at `at` are these numbers.
fn patched(quads: &[(usize, u64)]) -> Vec<u8> {
    let mut file = elf(&program());
    for &(at, value) in quads {
        file[at..at + 8].copy_from_slice(&value.to_le_bytes());
    }
    file
}

#[test]
fn bad_kernels_get_the_right_sentence() {
    const ENTRY: usize = 24;
    const VIRTUAL: usize = 80;
    const PHYSICAL: usize = 88;
    let config = config("u74-1500", &[]);
    let refused = |bytes: &[u8], given: &Given<'_>| {
        let session = Session::with_riscv_kernel(&config, (bytes, "k"), given, Console::memory());
        let error = session.err().expect("it is refused");
        error.to_string()
    };
    let none = Given::default();
    let firmware = Given {
        firmware: Some((b"code", "fw")),
        ..Given::default()
    };
    let packed: [(&[u8], &str); 8] = [
        (b"\x1f\x8b\x08\0", "gunzip"),
        (b"\xfd7zXZ\0", "unxz"),
        (b"\x28\xb5\x2f\xfd", "unzstd"),
        (b"BZh91AY", "bunzip2"),
        (b"\x02\x21\x4c\x18", "unlz4"),
        (b"\x04\x22\x4d\x18", "unlz4"),
        (b"\x89LZO\0", "lzop -d"),
        (b"\x5d\0\0\0", "unlzma"),
    ];
    for (bytes, by) in packed {
        let said = format!("is compressed: unpack it first, with {by}");
        let error = refused(bytes, &none);
        assert!(
            error.contains(&said) && error.ends_with("or a Linux Image"),
            "{error}"
        );
        let as_firmware = Given {
            firmware: Some((bytes, "fw")),
            ..Given::default()
        };
        let error = refused(&elf(&program()), &as_firmware);
        assert_eq!(error, format!("fw: {said}"));
    }
    assert!(refused(b"MZ\0\0zimg", &none).contains("is a program for EFI"));
    for (entry, said) in [
        (0, "begins at 0x0"),
        (0x8000_0001, "begins at 0x80000001"),
        (0x9000_0000, "begins at 0x90000000"),
        (0xf000_0000, "begins at 0xf0000000"),
        (0x1_8000_0000, "begins at 0x180000000"),
        (0xffff_ffff_8000_0000, "begins at 0xffffffff80000000"),
    ] {
        for given in [&none, &firmware] {
            let error = refused(&patched(&[(ENTRY, entry)]), given);
            assert!(error.contains(said), "{error}");
        }
    }
    for physical in [0x1_8000_0000, 0xffff_ffff_8000_0000] {
        let error = refused(&patched(&[(PHYSICAL, physical)]), &none);
        assert!(
            error.contains(&format!("physical address {physical:#x}")),
            "{error}"
        );
    }
    // A kernel of which one part lies nearly 4 GB behind the other: it is refused before memory is asked for.
    let kernel: u64 = 0xffff_ffff_0000_1000;
    let mut spread = patched(&[(ENTRY, kernel), (VIRTUAL, kernel)]);
    let header: Vec<u8> = spread[64..0x78].to_vec();
    let code = spread.split_off(0x78);
    spread.extend(header);
    spread.extend(code);
    spread[56] = 2;
    spread[64 + 56 + 16..][..8].copy_from_slice(&0xffff_ffff_f000_0000_u64.to_le_bytes());
    let error = refused(&spread, &firmware);
    assert!(error.contains("needs 0x80200000..0x1702"), "{error}");
    let mut image = vec![0; 64];
    image[8..16].copy_from_slice(&0x20_0000_u64.to_le_bytes());
    image[16..24].copy_from_slice(&u64::MAX.to_le_bytes());
    image[0x38..0x3c].copy_from_slice(b"RSC\x05");
    let error = refused(&image, &firmware);
    assert!(
        error.contains("needs 0x80200000..0xffffffffffffffff"),
        "{error}"
    );
}

/// A U74's marchid has its upper bit set, which no whole number of TOML has.
#[test]
fn identities_have_all_64_bits_and_extensions_are_named_once() {
    let settings = ["core.marchid=0x8000000000000007", "core.mvendorid=0x489"];
    let large = config("u74-1500", &settings);
    assert_eq!(
        (large.core.marchid, large.core.mvendorid),
        (0x8000_0000_0000_0007, 0x489)
    );
    let text = toml::to_string(&large).unwrap();
    assert_eq!(Config::from_toml(&text, "machine", &[]).unwrap(), large);
    // csrr a0, marchid
    let code = [&[0xf120_2573], &POWER_OFF[..]].concat();
    let mut session = session(&large, &elf(&code), "program");
    assert_eq!(session.run(Limits::NONE), Stop::PowerOff { status: 0 });
    let registers = session.registers();
    assert!(registers.contains("a0   8000000000000007"), "{registers}");
    let bytes = session.save().unwrap();
    let restored = Session::restore(&bytes, "snapshot", Console::memory()).unwrap();
    assert_eq!(restored.registers(), registers);

    let path = root().join("machines/u74-1500.toml");
    for (setting, words) in [
        ("core.marchid=0x10000000000000000", "of 64 bits"),
        ("core.marchid=-1", "of 64 bits"),
        ("core.marchid=u74", "of 64 bits"),
        ("core.extensions=zba_zba", "\"zba\" twice"),
        ("core.extensions=zbb_zba_zbc", "\"zbc\": allowed are"),
    ] {
        let setting = Override::parse(setting).unwrap();
        let error = Config::from_file(&path, &[setting])
            .unwrap_err()
            .to_string();
        assert!(error.contains(words), "{error}");
    }
}

/// Processors that nobody starts wait, and what they wait for is told once nothing else can happen.
#[test]
fn a_processor_that_never_starts_is_told() {
    // bnez a0, 8; j 12; wfi; j -4; j .
    let code = [
        0x0005_1463,
        0x00c0_006f,
        0x1050_0073,
        0xffdf_f06f,
        POWER_OFF[0],
    ];
    let code = [&code[..], &POWER_OFF[1..]].concat();
    let config = config("u74-1500x4", &[]);
    let mut first = session(&config, &elf(&code), "program");
    assert_eq!(first.run(Limits::NONE), Stop::PowerOff { status: 0 });
    // All four wait.
    let mut asleep = session(&config, &elf(&[0x1050_0073, 0xffdf_f06f]), "program");
    match asleep.run(Limits::NONE) {
        Stop::Fatal(fatal) => assert!(fatal.to_string().contains("waits"), "{fatal}"),
        other => panic!("{other:?}"),
    }
}

/// Exact counts: a change of any of them is a change of the model.
#[test]
fn cycles_are_those_on_record() {
    let cycles = ["u74-1500", "c906-1000", "c910-1850x4"].map(|name| {
        let config = config(name, &["processors=1"]);
        let mut session = session(&config, &elf(&program()), "program");
        assert_eq!(session.run(Limits::NONE), Stop::PowerOff { status: 0 });
        let all = session.counters();
        all.iter().find(|(name, _)| name == "cycles").unwrap().1
    });
    assert_eq!(cycles, [1208, 1130, 1224]);
}

/// A processor that writes the other one's software interrupt is heard; a second write while the first waits is not.
#[test]
fn an_interrupt_of_another_processor_is_heard() {
    // bnez a0, 40; lui t0, 0x2000; li t1, 1; sw t1, 0(t0); sw t1, 4(t0); sw t1, 4(t0)
    let code = [
        0x0205_1463,
        0x0200_02b7,
        0x0010_0313,
        0x0062_a023,
        0x0062_a223,
        0x0062_a223,
    ];
    // The other one stays in a loop.
    let code = [&code[..], &POWER_OFF, &[0x6f]].concat();
    let config = config("u74-1500x4", &["processors=2"]);
    let mut session = session(&config, &elf(&code), "program");
    let query = "interrupt by processor, target".parse().unwrap();
    session.tally(vec![query], None).unwrap();
    assert_eq!(session.run(Limits::NONE), Stop::PowerOff { status: 0 });
    let (rows, _) = session.tallied().unwrap().remove(0);
    let groups: Vec<_> = rows.iter().map(|row| (&row.group[..], row.count)).collect();
    let expected = ["0", "1"].map(str::to_owned);
    assert_eq!(groups, [(&expected[..], 1)]);
}

#[test]
fn gdb_reads_writes_and_steps() {
    let commands = [
        "break *0x80000008",
        "continue",
        "print $a1",
        "x/1xw $pc",
        "stepi",
        "print $pc",
        "set $a1 = 2",
        "delete",
        "continue",
    ];
    let (text, status) = gdb("u74-1500", &elf(&program()), "riscv:rv64", &commands);
    for part in [
        "Breakpoint 1, ",
        "$1 = 128\n",
        "0x80000008:\t0x10b53023",
        "$2 = (void (*)()) 0x8000000c",
        "exited normally",
    ] {
        assert!(text.contains(part), "`{part}` in\n{text}");
    }
    assert_eq!(status, Some(0), "{text}");
}
