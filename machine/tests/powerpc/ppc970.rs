//! The 970 core by bare-metal programs: modes, exceptions, registers, missing instructions, SLB, ERATs, TLB and caches.

use crate::support;
use crate::support::{Program, counter};
use pagewalk_machine::powerpc::machine::{Limits, Stop};
use pagewalk_machine::powerpc::registers::Register;
use pagewalk_machine::powerpc::session::Session;

const MACHINE: &str = "ppc970-1600";

const LIMITS: Limits = Limits {
    cycles: 1_000_000,
    ..Limits::NONE
};

/// Runs a program that ends with status 0.
fn run(source: &str) -> Session {
    let mut session = Program::on(MACHINE, source).session(MACHINE, &[]);
    support::finish(&mut session, LIMITS);
    session
}

fn whole(session: &Session, number: u32) -> u64 {
    let registers = &session.machine().processor().registers;
    registers.gpr.whole(Register::new(number))
}

fn gprs<const N: usize>(session: &Session, numbers: [u32; N]) -> [u64; N] {
    numbers.map(|number| whole(session, number))
}

const VECTORS: [u32; 13] = [
    0x100, 0x200, 0x300, 0x380, 0x400, 0x480, 0x500, 0x600, 0x700, 0x800, 0x900, 0xc00, 0xd00,
];

/// Runs `source` with handlers that leave the vector in r20, SRR0 in r21, SRR1 in r22, DAR in r23, DSISR in r24 and the
/// MSR of the handler in r27. `cause:` stands at the instruction that raises. Returns the session and whether SRR0 is
/// there.
fn raising(source: &str) -> (Session, bool) {
    let install: String = VECTORS
        .iter()
        .map(|vector| format!("vector {vector:#x}, handler_{vector:x}\n"))
        .collect();
    let code: String = VECTORS
        .iter()
        .map(|vector| format!("handler_{vector:x}:\nli 20, {vector:#x}\nba note\n.space 120\n"))
        .collect();
    let text = format!(
        "_start:\n{install}{source}\nb .\n{code}\nnote:\nmfspr 21, 26\nmfspr 22, 27\nmfspr 23, 19\n\
         mfspr 24, 18\nmfmsr 27\nnarrow\npower_off 0\n.globl cause\n.data\n.long cause\n"
    );
    let program = Program::on(MACHINE, &text);
    let elf = std::fs::read(program.elf()).unwrap();
    let image = pagewalk_machine::loader::ElfImage::parse(&elf, "a.elf").unwrap();
    let cause = image.symbols.by_name("cause").unwrap().address;
    let mut session = program.session(MACHINE, &[]);
    let stop = session.run(LIMITS);
    assert_eq!(
        stop,
        Stop::PowerOff { status: 0 },
        "{}",
        session.explain(&stop)
    );
    let there = whole(&session, 21) == u64::from(cause);
    (session, there)
}

const SF: u64 = 1 << 63;
const ILLEGAL: u64 = 0x8_0000;
const PRIVILEGED: u64 = 0x4_0000;
const TRAP: u64 = 0x2_0000;
const NO_PTE: u64 = 0x4000_0000;
const NO_EXECUTE: u64 = 0x1000_0000;
const PROTECTION: u64 = 0x0800_0000;
const STORE: u64 = 0x0200_0000;

#[test]
fn what_the_core_lacks_is_illegal() {
    for lacked in [
        ".long 0x4c000064", // rfi
        ".long 0x7c0002e4", // tlbia
        ".long 0x7c0003ac", // dcbi
        ".long 0x7c000fe4", // tlbli
        ".long 0x7c601a6c", // eciwx
        ".long 0x7c0000ce", // lvx
        ".long 0x10000484", // vor
        ".long 0x7c0005ec", // dcba
        ".long 0",
        "mfspr 3, 528",
        "mtspr 543, 3",
        "mfspr 3, 282",
        "mfspr 3, 1017",
        "mfspr 3, 1019",
        "mfspr 3, 256",
        "mtspr 268, 3",
    ] {
        let (session, there) = raising(&format!("cause: {lacked}"));
        assert_eq!((whole(&session, 20), there), (0x700, true), "{lacked}");
        assert_eq!(whole(&session, 22), ILLEGAL, "{lacked}");
        assert_eq!(whole(&session, 27), SF, "{lacked}");
    }
}

#[test]
fn the_supervisors_instructions_and_registers_are_privileged() {
    let user = "load 3, 0x5000\nmtspr 27, 3\nload 3, cause\nmtspr 26, 3\nrfid\n";
    for denied in [
        "mfmsr 3",
        "mtmsrd 3",
        "rfid",
        "slbmte 3, 4",
        "slbie 3",
        "slbia",
        "slbmfee 3, 4",
        "slbmfev 3, 4",
        "tlbie 3",
        "tlbiel 3",
        "tlbsync",
        "mfsr 3, 4",
        "mtsr 4, 3",
        "mfsrin 3, 4",
        "mtspr 25, 3",
        "mfspr 3, 1014",
        "mtspr 311, 3",
    ] {
        let (session, there) = raising(&format!("{user}cause: {denied}"));
        assert_eq!((whole(&session, 20), there), (0x700, true), "{denied}");
        assert_eq!(whole(&session, 22), PRIVILEGED | 0x5000, "{denied}");
        assert_eq!(whole(&session, 27), SF | 0x1000, "{denied}");
    }
    for trap in ["tw 31, 3, 3", "td 4, 3, 3", "tdi 31, 3, 7"] {
        let (session, there) = raising(&format!("{user}cause: {trap}"));
        assert_eq!((whole(&session, 20), there), (0x700, true), "{trap}");
        assert_eq!(whole(&session, 22), TRAP | 0x5000, "{trap}");
    }
}

/// Only the lower halves are compared by `tw`, and all bits by `td`.
#[test]
fn traps_compare_words_or_double_words() {
    for (trap, taken) in [("tw 4, 3, 4", true), ("td 4, 3, 4", false)] {
        let (session, there) = raising(&format!(
            "li 3, 7\nsldi 3, 3, 32\nori 3, 3, 9\nli 4, 9\nmtsprg 0, 3\nstart: {trap}\nb 1f\n.set cause, start\n1: sc"
        ));
        assert_eq!(whole(&session, 20) == 0x700, taken, "{trap}");
        assert_eq!(there, taken, "{trap}");
    }
}

/// mtmsr leaves SF alone; mtmsrd and rfid set it; with L they change EE and RI only.
#[test]
fn the_mode_follows_mtmsrd_and_rfid() {
    let session = run(
        "_start:\nmfmsr 20\nli 3, 1\nrotrdi 3, 3, 1\nori 3, 3, 0x1000\nmtmsrd 3\nisync\nmfmsr 21\n\
         load 4, 0x1002\nmtmsr 4\nmfmsr 22\n.long 0x7c610164\nmfmsr 23\nload 5, 0x2000\nmtspr 27, 5\n\
         load 5, 1f\nmtspr 26, 5\nrfid\n1: mfmsr 24\npower_off 0\n",
    );
    let sf = SF;
    assert_eq!(
        gprs(&session, [20, 21, 22, 23, 24]),
        [0, sf | 0x1000, sf | 0x1002, sf | 0x1000, 0x2000]
    );
}

/// In 32-bit mode the upper half of an address does not count; in 64-bit mode it does.
#[test]
fn addresses_have_the_bits_of_the_mode() {
    const FAR: &str = "load 10, 0x00300000\nli 5, 3\nrldimi 10, 5, 32, 0\npoke 0x00300008, 77\n";
    let session = run(&format!(
        "_start:\n{FAR}lwz 20, 8(10)\nldu 21, 8(10)\npower_off 0\n"
    ));
    assert_eq!(gprs(&session, [20, 21]), [77, 77 << 32]);
    // The sum has 64 bits, of which 32 are the address.
    assert_eq!(whole(&session, 10), 0x30_0008);
    let wide = "mfmsr 3\nli 4, 1\nrldimi 3, 4, 63, 0\nmtmsrd 3\nisync\n";
    let (session, there) = raising(&format!(
        "{FAR}load 3, 0x1000\nmtmsr 3\n{wide}cause: lwz 20, 8(10)"
    ));
    assert_eq!((whole(&session, 20), there), (0x200, true));
    let (session, there) = raising(&format!("paging\n{FAR}{wide}cause: stw 20, 9(10)"));
    assert_eq!((whole(&session, 20), there), (0x380, true));
    assert_eq!(whole(&session, 23), 0x3_0030_0009);
    assert_eq!(whole(&session, 22), SF | 0x1030);
}

/// An SLB entry above 4 GB: loads, stores, unaligned ones, fetches and returns there.
#[test]
fn segments_above_4_gb() {
    let far = "li 10, 5\nsldi 10, 10, 32\noris 10, 10, 0x4000\n";
    let session = run(&format!(
        "_start:\nvector 0xc00, call\npaging\n{far}oris 4, 10, 0x0800\nori 4, 4, 9\nload 3, 0x00123000\nslbmte 3, 4\n\
         load 11, 0x40000000\nload 5, 0x38a00055\nstw 5, 0x100(11)\nload 5, 0x4e800021\n\
         stw 5, 0x104(11)\nload 5, 0x44000002\n\
         stw 5, 0x108(11)\ndcbst 0, 11\nsync\nisync\n\
         mfmsr 3\nli 4, 1\nrldimi 3, 4, 63, 0\nmtmsrd 3\nisync\n\
         li 5, 0x123\nli 6, 61\nstdx 5, 10, 6\nldx 20, 10, 6\nlwz 21, 65(11)\nlhzu 22, 67(10)\nmr 23, 10\n{far}\
         addi 6, 10, 0x100\nmtctr 6\nbctrl\nmflr 24\naddi 6, 10, 0x108\nmtctr 6\nbctr\n\
         call: ba 1f\n.space 124\n1: mfspr 25, 26\nnarrow\npower_off 0\n"
    ));
    assert_eq!(
        gprs(&session, [20, 21, 22, 23]),
        [0x123, 0x123, 0x123, 0x5_4000_0043]
    );
    // The callee's `blrl` left its own address, above 4 GB; so did `sc`.
    assert_eq!(gprs(&session, [24, 25]), [0x5_4000_0108, 0x5_4000_010c]);
    assert_eq!(whole(&session, 5), 0x55);
}

const MISS: &str = "paging\nload 10, 0x40001124\n";

#[test]
fn failed_accesses_tell_address_and_kind() {
    for (setup, access, vector, dsisr) in [
        ("", "lwz 3, 0(10)", 0x300, NO_PTE),
        ("", "std 3, 4(10)", 0x300, NO_PTE | STORE),
        ("", "dcbz 0, 10", 0x300, NO_PTE | STORE),
        ("", "icbi 0, 10", 0x300, NO_PTE),
        ("addis 10, 10, 0x1000\n", "lwz 3, 0(10)", 0x380, 0),
        ("addis 10, 10, 0x1000\n", "stb 3, 0(10)", 0x380, 0),
        (
            "segment 0x48000004, 0x00123800\nsubi 10, 10, 0x1000\npoke 0x0020918c, 0x00300191\n",
            "stw 3, 0(10)",
            0x300,
            PROTECTION | STORE,
        ),
        (
            "segment 0x48000004, 0x00123800\nsubi 10, 10, 0x1000\npoke 0x0020918c, 0x00300190\n",
            "lwz 3, 0(10)",
            0x300,
            PROTECTION,
        ),
    ] {
        let (session, there) = raising(&format!("{MISS}{setup}cause: {access}"));
        assert_eq!((whole(&session, 20), there), (vector, true), "{access}");
        if vector == 0x300 {
            assert_eq!(whole(&session, 24), dsisr, "{access}");
        }
        let address = session
            .machine()
            .processor()
            .registers
            .gpr
            .get(Register::new(10));
        let offset = if access.starts_with("std") { 4 } else { 0 };
        assert_eq!(whole(&session, 23), u64::from(address + offset), "{access}");
        assert_eq!(whole(&session, 22), 0x1030, "{access}");
    }
    // Hints do nothing.
    run(&format!(
        "_start:\n{MISS}dcbt 0, 10\naddis 10, 10, 0x1000\ndcbtst 0, 10\npower_off 0\n"
    ));
}

#[test]
fn failed_fetches_tell_the_cause() {
    for (setup, to, vector, srr1) in [
        ("", 0x4000_1000_u32, 0x400, NO_PTE),
        ("", 0x5000_1000, 0x480, 0),
        (
            "poke 0x0020918c, 0x00300196\n",
            0x4000_0000,
            0x400,
            NO_EXECUTE,
        ),
        (
            "poke 0x0020918c, 0x0030019a\n",
            0x4000_0000,
            0x400,
            NO_EXECUTE,
        ),
        (
            "segment 0x48000004, 0x00123200\n",
            0x4000_0000,
            0x400,
            NO_EXECUTE,
        ),
        (
            "segment 0x48000004, 0x00123800\npoke 0x0020918c, 0x00300190\n",
            0x4000_0000,
            0x400,
            PROTECTION,
        ),
    ] {
        let (session, _) = raising(&format!(
            "paging\n{setup}load 10, {to:#x}\nmtctr 10\nbctr\ncause: nop"
        ));
        let seen = gprs(&session, [20, 21, 22]);
        assert_eq!(seen, [vector, to.into(), srr1 | 0x1030], "{setup}{to:#x}");
    }
}

/// Hardware sets R at a reload and C at the first store; the store needs no reload then.
#[test]
fn the_walk_sets_r_and_c() {
    let session = run(
        "_start:\npaging\npoke 0x0020918c, 0x00300012\nload 10, 0x40000000\nlwz 5, 0(10)\nload 11, 0x00209180\n\
         lwz 20, 12(11)\nstw 5, 0(10)\nlwz 21, 12(11)\nstw 5, 4(10)\nlwz 22, 12(11)\npower_off 0\n",
    );
    assert_eq!(
        gprs(&session, [20, 21, 22]),
        [0x0030_0112, 0x0030_0192, 0x0030_0192]
    );
    assert_eq!(counter(&session, "hash.changed"), 1);
    assert_eq!(counter(&session, "hash.referenced"), 1);
}

/// A PTE of the secondary group, and an SLB entry beyond the sixteenth.
#[test]
fn the_secondary_group_is_searched() {
    // VSID 0x7ff_ffff_f123: hash 0x7fffffff..123, whose complement's low 11 bits are 0x6dc.
    let session = run(
        "_start:\npaging\nload 3, 0x00123000\nload 4, 0x4800003f\nli 5, 0\nli 6, 4\nslbmte 5, 6\nslbmte 3, 4\n\
         pte 0x00209180, 0, 0\npte 0x00236e10, 0x00123003, 0x00301192\nptesync\npoke 0x00301000, 99\n\
         load 10, 0x40000000\nlwz 20, 0(10)\npower_off 0\n",
    );
    assert_eq!(whole(&session, 20), 99);
    assert_eq!(counter(&session, "hash.hit.secondary"), 1);
}

/// ERAT entries outlive SLB and hash table until something removes them.
#[test]
fn erat_entries_outlive_what_they_were_made_from() {
    for (between, sees) in [
        ("nop", 1),
        ("segment 0x48000004, 0x00124000", 1),
        ("load 3, 0x124\nmtsr 4, 3", 1),
        (
            "segment 0x48000004, 0x00124000\nload 3, 0x40000000\nslbie 3\nsegment 0x48000004, 0x00124000",
            2,
        ),
        // The SLB's first entry stays; the devices' and the page's go.
        (
            "slbia\nsegment 0x88000008, 0x00018100\nsegment 0x48000004, 0x00124000",
            2,
        ),
        (
            "segment 0x48000004, 0x00124000\nload 3, 0x40000000\ntlbie 3",
            2,
        ),
        (
            "segment 0x48000004, 0x00124000\nload 3, 0x10100000\ntlbiel 3",
            2,
        ),
        (
            "segment 0x48000004, 0x00124000\nload 3, 0x40001000\ntlbie 3",
            1,
        ),
    ] {
        let session = run(&format!(
            "_start:\npaging\npoke 0x00300000, 1\npoke 0x00301000, 2\npte 0x00209200, 0x00124001, 0x00301192\n\
             load 10, 0x40000000\nlwz 20, 0(10)\n{between}\nisync\nlwz 21, 0(10)\npower_off 0\n"
        ));
        assert_eq!(gprs(&session, [20, 21]), [1, sees], "{between}");
    }
}

/// `tlbie` empties a set of the TLB; without it the TLB has the old translation.
#[test]
fn tlb_entries_outlive_the_table() {
    for (between, sees) in [
        ("slbie 10\nsegment 0x48000004, 0x00123000", 1),
        ("tlbie 10", 2),
    ] {
        let session = run(&format!(
            "_start:\npaging\npoke 0x00300000, 1\npoke 0x00301000, 2\nload 10, 0x40000000\n\
             lwz 20, 0(10)\npoke 0x0020918c, 0x00301192\nptesync\n{between}\nlwz 21, 0(10)\npower_off 0\n"
        ));
        assert_eq!(gprs(&session, [20, 21]), [1, sees], "{between}");
    }
}

/// The bridge: `mtsr` makes an SLB entry, which `slbmfee` and `slbmfev` show, and `mfsr` gives back.
#[test]
fn segment_registers_are_slb_entries() {
    let session = run(
        "_start:\nload 3, 0x7fabcdef\nmtsr 5, 3\nli 4, 5\nslbmfee 20, 4\nslbmfev 21, 4\nmfsr 22, 5\n\
         load 5, 0x50000000\nmfsrin 23, 5\nmfsr 24, 6\nslbie 5\nmfsr 25, 5\npower_off 0\n",
    );
    assert_eq!(
        gprs(&session, [20, 21, 22, 23, 24, 25]),
        [
            0x5800_0000,
            0xfab_cdef << 12 | 0xe00,
            0x7fab_cdef,
            0x7fab_cdef,
            0,
            0
        ]
    );
}

/// A large page: one walk for all of its 4 KB parts, of which each takes an ERAT entry. HID4 can switch them off.
#[test]
fn large_pages_take_one_tlb_entry() {
    let session = run(
        "_start:\npaging\nload 10, 0x00300000\nli 5, 100\nmtctr 5\n1: lwz 5, 0(10)\naddi 10, 10, 0x1000\nbdnz 1b\npower_off 0\n",
    );
    // RAM for fetches comes first, then the devices.
    assert_eq!(counter(&session, "tlb.data.miss"), 1);
    assert_eq!(counter(&session, "tlb.instruction.miss"), 1);
    assert_eq!(counter(&session, "tlb.shadow.data"), 101);
    let (session, _) = raising(
        "paging\nmfspr 3, 1012\nori 3, 3, 4\nmtspr 1012, 3\nload 10, 0x00700000\ncause: lwz 3, 0(10)",
    );
    // The code goes on by its ERAT entry.
    assert_eq!(whole(&session, 20), 0x300);
}

#[test]
fn refills_are_counted_and_cost_cycles() {
    let body = "paging\nload 10, 0x40000000\nlwz 5, 0(10)\nlwz 5, 4(10)\npower_off 0\n";
    let cycles = |settings: &[&str]| {
        let mut session =
            Program::on(MACHINE, &format!("_start:\n{body}")).session(MACHINE, settings);
        support::finish(&mut session, LIMITS);
        (session.machine().processor().cycles(), session)
    };
    let (short, session) = cycles(&[]);
    // The page and the devices; and the code.
    assert_eq!(counter(&session, "tlb.shadow.data"), 2);
    assert_eq!(counter(&session, "tlb.shadow.instruction"), 1);
    assert_eq!(counter(&session, "tlb.shadow.cycles"), 3 * 7);
    let (long, _) = cycles(&[
        "tlb.unified.data-refill=107",
        "tlb.unified.instruction-refill=17",
    ]);
    assert!((210..=220).contains(&(long - short)), "{}", long - short);
}

/// 128 bytes, or 32 as HID5 says, where `dcbzl` still clears 128.
#[test]
fn dcbz_clears_what_hid5_says() {
    for (hid5, clear, cleared) in [
        (0, "dcbz 0, 10", 128),
        (0x80, "dcbz 0, 10", 32),
        (0x80, ".long 0x7c2057ec", 128),
    ] {
        let session = run(&format!(
            "_start:\nload 10, 0x00300000\nli 5, -1\nli 6, 64\nmtctr 6\nsubi 7, 10, 4\n1: stwu 5, 4(7)\nbdnz 1b\n\
             li 3, {hid5}\nmtspr 1014, 3\naddi 10, 10, 60\n{clear}\npower_off 0\n"
        ));
        let ram = session.machine().uncore().ram.bytes();
        let zeros: Vec<usize> = (0x30_0000..0x30_0100).filter(|&n| ram[n] == 0).collect();
        let first = if cleared == 32 { 32 } else { 0 };
        let expected: Vec<usize> = (0x30_0000 + first..0x30_0000 + first + cleared).collect();
        assert_eq!(zeros, expected, "{clear} with {hid5:#x}");
    }
    let (session, there) =
        raising("load 10, 0x00300000\nli 3, 0xc0\nmtspr 1014, 3\ncause: dcbz 0, 10");
    assert_eq!((whole(&session, 20), there), (0x700, true));
}

#[test]
fn unaligned_accesses_that_trap() {
    for trapping in [
        "lwarx 3, 0, 10",
        "stwcx. 3, 0, 10",
        "lmw 30, 0(10)",
        "stmw 30, 0(10)",
    ] {
        let (session, there) = raising(&format!("load 10, 0x00300002\ncause: {trapping}"));
        assert_eq!((whole(&session, 20), there), (0x600, true), "{trapping}");
        assert_eq!(whole(&session, 23), 0x30_0002, "{trapping}");
    }
    for trapping in ["ldarx 3, 0, 10", "stdcx. 3, 0, 10"] {
        let (session, there) = raising(&format!("load 10, 0x00300004\ncause: {trapping}"));
        assert_eq!((whole(&session, 20), there), (0x600, true), "{trapping}");
    }
    // Floating-point operands do where they cross the end of a page; those of general registers never do.
    for (address, access, traps) in [
        (0x30_0ff9, "lfd 1, 0(10)", true),
        (0x30_0ffe, "stfd 1, 0(10)", true),
        (0x30_0ffd, "lfs 1, 0(10)", true),
        (0x30_0ffe, "stfiwx 1, 0, 10", true),
        (0x30_0ffc, "lfd 1, 0(10)", false),
        (0x30_0ff7, "lfd 1, 0(10)", false),
        (0x30_0801, "stfd 1, 0(10)", false),
        (0x30_0803, "stfs 1, 0(10)", false),
        (0x30_0ff9, "ldx 3, 0, 10", false),
        (0x30_0fff, "stdx 3, 0, 10", false),
    ] {
        let (session, there) = raising(&format!(
            "load 3, 0x3000\nmtmsr 3\nload 10, {address:#x}\ncause: {access}\nsc"
        ));
        let expected = if traps { (0x600, true) } else { (0xc00, false) };
        assert_eq!(
            (whole(&session, 20), there),
            expected,
            "{access} at {address:#x}"
        );
        if traps {
            assert_eq!(whole(&session, 23), address, "{access}");
        }
    }
}

/// Stores go through to the L2: the L1 has no modified lines, and takes no line for a store.
#[test]
fn stores_go_through_to_the_l2() {
    let session = run(
        "_start:\nload 10, 0x00300000\nli 5, 7\nstw 5, 0(10)\nstw 5, 4(10)\nlwz 5, 0(10)\nstw 5, 0x80(10)\npower_off 0\n",
    );
    // Two stores and a load miss the L1; then the line is there. The other line is not.
    assert_eq!(counter(&session, "cache.data.miss"), 4);
    let memory = &session.machine().processor().memory;
    assert!(memory.data.lines().all(|(_, _, _, modified)| !modified));
    let l2 = memory.uncore.l2.as_ref().unwrap();
    let modified: Vec<u32> = l2
        .cache
        .lines()
        .filter(|&(_, _, _, modified)| modified)
        .map(|(_, _, physical, _)| physical)
        .collect();
    assert_eq!(modified, [0x30_0000, 0x30_0080]);
    assert_eq!(counter(&session, "cache.data.writeback"), 0);
}

/// HIOR has the vectors' address; the decrementer interrupts there.
#[test]
fn hior_moves_the_vectors() {
    let session = run(
        "_start:\nload 3, 0x00100000\nmtspr 311, 3\nmfspr 22, 311\nload 3, handler\nload 4, 0x00100900\n\
         bl install\nli 3, 100\nmtdec 3\nload 3, 0x9000\nmtmsr 3\n1: cmpwi 20, 9\nbne 1b\npower_off 0\n\
         handler:\nli 20, 9\nload 3, 0x1000\nmtspr 27, 3\nrfid\n.space 128\n# vector \n",
    );
    assert_eq!(gprs(&session, [20, 22]), [9, 0x10_0000]);
}

/// `mftb` reads all 64 bits; so do HID4 and SPRG0.
#[test]
fn special_registers_have_64_bits() {
    let session = run(
        "_start:\nli 3, 5\nmtspr 285, 3\nmftb 20\nmftbu 21\nli 4, 9\nsldi 4, 4, 40\n\
         ori 4, 4, 3\nmtsprg 0, 4\nmfsprg 22, 0\n\
         li 5, 1\nsldi 5, 5, 36\nmtspr 1008, 5\nmfspr 23, 1008\nmtlr 4\nmflr 24\nmtctr 4\nmfctr 25\npower_off 0\n",
    );
    assert_eq!(whole(&session, 20) >> 32, 5);
    let number = 9 << 40 | 3;
    assert_eq!(
        gprs(&session, [21, 22, 23, 24, 25]),
        [5, number, 1 << 36, number, number]
    );
}
