//! The 405 core by bare-metal programs: its exceptions, registers, missing instructions, timers, shadow TLBs and single
//! steps.

use crate::support;
use crate::support::{Program, counter, gpr};
use pagewalk_machine::powerpc::dump::StateDump;
use pagewalk_machine::powerpc::loader::{Target, device_tree};
use pagewalk_machine::powerpc::machine::{Limits, Stop};
use pagewalk_machine::powerpc::session::Session;

const MACHINE: &str = "ppc405-200";

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

/// A handler that leaves its vector in r20, SRR0 in r21, SRR1 in r22, DEAR in r23, ESR in r24, SRR2 in r25, SRR3 in
/// r26, the MSR in r27, and ends the program.
fn handlers(vectors: &[u32]) -> (String, String) {
    let install: String = vectors
        .iter()
        .map(|vector| format!("vector {vector:#x}, handler_{vector:x}\n"))
        .collect();
    let code = vectors
        .iter()
        .map(|vector| {
            // FIT and watchdog have room for four instructions each.
            format!("handler_{vector:x}:\nli 20, {vector:#x}\nba note\n.space 120\n")
        })
        .collect();
    (install, code)
}

const VECTORS: [u32; 12] = [
    0x100, 0x200, 0x300, 0x400, 0x500, 0x600, 0x700, 0x1000, 0x1010, 0x1020, 0x1100, 0x1200,
];

/// Runs `source` with all handlers; `cause:` stands at the instruction that raises. Returns the session and whether the
/// saved address is there.
fn raising(source: &str) -> (Session, bool) {
    let (install, code) = handlers(&VECTORS);
    let text = format!(
        "_start:\n{install}{source}\nb .\n{code}\nnote:\nmfspr 21, 26\nmfspr 22, 27\nmfspr 23, 981\n\
         mfspr 24, 980\nmfspr 25, 990\nmfspr 26, 991\nmfmsr 27\npower_off 0\n.data\n.long cause\n"
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
    let there = gpr(&session, 21) == cause || gpr(&session, 25) == cause;
    (session, there)
}

const ILLEGAL: u32 = 0x0800_0000;
const PRIVILEGED: u32 = 0x0400_0000;
const TRAP: u32 = 0x0200_0000;
const STORE: u32 = 0x0080_0000;
const ZONE: u32 = 0x0040_0000;

#[test]
fn what_the_core_lacks_is_illegal() {
    for lacked in [
        ".long 0xfc22182a", // fadd
        ".long 0xc82a0000", // lfd
        ".long 0xd02a0000", // stfs
        ".long 0xfc20048e", // mffs
        ".long 0x7c6004a6", // mfsr
        ".long 0x7c8401a4", // mtsr
        ".long 0x7c001a64", // tlbie
        ".long 0x7c001fe4", // tlbli
        ".long 0x7c601a6c", // eciwx
        ".long 0x10000100",
        ".long 0",
        "mfspr 3, 1011",
        "mfspr 3, 18",
        "mfspr 3, 22",
        "mtspr 25, 3",
        "mtspr 528, 3",
        "mtspr 268, 3",
    ] {
        let (session, there) = raising(&format!("cause: {lacked}\n.globl cause"));
        assert_eq!((gpr(&session, 20), there), (0x700, true), "{lacked}");
        assert_eq!(gpr(&session, 24), ILLEGAL, "{lacked}");
    }
}

#[test]
fn the_supervisors_instructions_and_registers_are_privileged() {
    let user = "load 3, 0x5000\nmtspr 27, 3\nload 3, cause\nmtspr 26, 3\nrfi\n";
    for denied in [
        "mfmsr 3",
        "rfi",
        "rfci",
        "wrtee 3",
        "wrteei 1",
        "mfspr 3, 945",
        "mtspr 944, 3",
        "mtspr 276, 3",
        ".long 0x7c601a86", // mfdcr
        ".long 0x7c601b86", // mtdcr
        "tlbia",
        "tlbsync",
        "tlbwe 3, 4, 0",
        "tlbre 3, 4, 1",
        "tlbsx 3, 0, 4",
        "dccci 0, 3",
        "iccci 0, 3",
        "icread 0, 3",
        "dcread 3, 0, 3",
        "dcbi 0, 3",
    ] {
        let (session, there) = raising(&format!("{user}cause: {denied}\n.globl cause"));
        assert_eq!((gpr(&session, 20), there), (0x700, true), "{denied}");
        assert_eq!(gpr(&session, 24), PRIVILEGED, "{denied}");
        assert_eq!((gpr(&session, 22), gpr(&session, 27)), (0x5000, 0x1000));
    }
    let (session, _) = raising(&format!("{user}cause: trap\n.globl cause"));
    assert_eq!((gpr(&session, 20), gpr(&session, 24)), (0x700, TRAP));
    // What users may read.
    let session = run(
        "_start:\nli 3, 77\nmtspr 279, 3\nmtspr 256, 3\nload 3, 0x5000\nmtspr 27, 3\n\
         load 3, 1f\nmtspr 26, 3\nrfi\n1: mfspr 20, 263\nmfspr 21, 256\nmftb 22\npower_off 0\n",
    );
    assert_eq!((gpr(&session, 20), gpr(&session, 21)), (77, 77));
    assert!(gpr(&session, 22) > 0);
}

/// The offset of a vector is added to EVPR.
#[test]
fn evpr_moves_the_vectors() {
    let session = run(
        "_start:\nload 3, 0x00128000\nmtspr 982, 3\nmfspr 22, 982\nload 3, handler\nload 4, 0x00120c00\n\
         bl install\nsc\nmr 21, 20\npower_off 0\nhandler:\nli 20, 9\nrfi\n.space 128\n# vector \n",
    );
    assert_eq!((gpr(&session, 21), gpr(&session, 22)), (9, 0x0012_0000));
}

const MISS: &str = "paging\ntlbia\nmap 63, 0x000003c0, 0x00000300\nmap 62, 0x800003c0, 0x80000305\nisync\n\
                    load 10, 0x40000123\n";

#[test]
fn misses_tell_address_and_kind() {
    for (access, vector, esr) in [
        ("lwz 3, 0(10)", 0x1100, 0),
        ("stb 3, 0(10)", 0x1100, STORE),
        ("dcbz 0, 10", 0x1100, STORE),
        ("dcbf 0, 10", 0x1100, 0),
        ("icbi 0, 10", 0x1100, 0),
        ("dccci 0, 10", 0x1100, STORE),
    ] {
        let source = format!("{MISS}cause: {access}\n.globl cause");
        let (session, there) = raising(&source);
        assert_eq!((gpr(&session, 20), there), (vector, true), "{access}");
        assert_eq!(gpr(&session, 24), esr, "{access}");
        assert_eq!(gpr(&session, 23), 0x4000_0123, "{access}");
        assert_eq!(gpr(&session, 22), 0x1030, "{access}");
        assert_eq!(counter(&session, "exception.dtlb-miss"), 1, "{access}");
    }
    let (session, _) = raising(&format!("{MISS}mtctr 10\nbctr\ncause: nop\n"));
    assert_eq!(
        (gpr(&session, 20), gpr(&session, 21)),
        (0x1200, 0x4000_0120)
    );
    // Hints and dcba do nothing.
    run(&format!(
        "_start:\n{MISS}dcbt 0, 10\ndcbtst 0, 10\nicbt 0, 10\ndcba 0, 10\npower_off 0\n"
    ));
}

/// What an entry and its zone permit, for supervisor and user.
#[test]
fn zones_widen_and_withdraw_permissions() {
    const ENTRY: u32 = 0x0030_0020; // Zone 2.
    for user in [false, true] {
        for field in 0..4_u32 {
            for permissions in [0, 0x100, 0x200, 0x300_u32] {
                let all = field == 3 || field == 2 && !user;
                let none = field == 0 && user;
                let refused = |by: bool| !all && (none || by);
                for (access, fetch, is_refused, esr) in [
                    ("lwz 3, 0(10)", false, refused(false), 0),
                    (
                        "stw 3, 0(10)",
                        false,
                        refused(permissions & 0x100 == 0),
                        STORE,
                    ),
                    ("mtctr 10\nbctr", true, refused(permissions & 0x200 == 0), 0),
                ] {
                    let state: u32 = if user { 0x5030 } else { 0x1030 };
                    let source = format!(
                        "paging\nmap 61, 0x400000c0, {:#x}\nload 3, {:#x}\nmtspr 944, 3\nload 10, 0x40000000\n\
                         load 3, {state:#x}\nmtspr 27, 3\nload 3, start\nmtspr 26, 3\nrfi\n\
                         start: {access}\ncause: trap\n",
                        ENTRY | permissions,
                        0x4000_0000 | field << 26,
                    );
                    // Zone 0, of the program and the devices, permits by EX and WR: field 1.
                    let (session, _) = raising(&source);
                    let vector = match (is_refused, fetch) {
                        (true, true) => 0x400,
                        (true, false) => 0x300,
                        (false, _) => 0x700,
                    };
                    let what = format!("{access}, user {user}, field {field}, {permissions:#x}");
                    assert_eq!(gpr(&session, 20), vector, "{what}");
                    if is_refused {
                        let zone = if none { ZONE } else { 0 };
                        assert_eq!(gpr(&session, 24), esr | zone, "{what}");
                    }
                    if vector == 0x300 {
                        assert_eq!(gpr(&session, 23), 0x4000_0000, "{what}");
                    }
                }
            }
        }
    }
}

/// An entry that software changes is seen when the shadow TLBs have been emptied.
#[test]
fn shadow_entries_stay_until_the_context_is_synchronized() {
    for (between, sees) in [("nop", 1), ("isync", 2), ("sc", 2), ("sync", 1)] {
        let session = run(&format!(
            "_start:\nvector 0xc00, back\npaging\npoke 0x00300000, 1\npoke 0x00301000, 2\nload 10, 0x40000000\n\
             lwz 20, 0(10)\nmap 61, 0x400000c0, 0x00301300\n{between}\nlwz 21, 0(10)\npower_off 0\n\
             back: rfi\n.space 124\n"
        ));
        assert_eq!(
            (gpr(&session, 20), gpr(&session, 21)),
            (1, sees),
            "{between}"
        );
    }
    // A write of PID, too.
    let session = run(
        "_start:\npaging\npoke 0x00300000, 1\npoke 0x00301000, 2\nli 5, 7\nmtspr 945, 5\n\
         map 61, 0x400000c0, 0x00301300\nli 5, 6\nmtspr 945, 5\nmap 60, 0x400000c0, 0x00300300\nisync\n\
         load 10, 0x40000000\nlwz 20, 0(10)\nli 5, 7\nmtspr 945, 5\nlwz 21, 0(10)\nisync\nlwz 22, 0(10)\n\
         tlbsx. 23, 0, 10\nli 6, 60\nli 7, 0\ntlbre 24, 6, 0\nmfspr 25, 945\npower_off 0\n",
    );
    assert_eq!([20, 21, 22, 23].map(|n| gpr(&session, n)), [1, 1, 2, 61]);
    assert_eq!((gpr(&session, 24), gpr(&session, 25)), (0x4000_00c0, 6));
}

/// 405 UM 7-7: a shadow miss takes 4 cycles for fetches and 3 for data.
#[test]
fn refills_are_counted_and_cost_cycles() {
    let body = "paging\nload 10, 0x40000000\nlwz 5, 0(10)\nlwz 5, 4(10)\nisync\nlwz 5, 0(10)\npower_off 0\n";
    let session = run(&format!("_start:\n{body}"));
    // Data: the page twice, the devices once. Fetches: after mtmsr, and after each isync.
    assert_eq!(counter(&session, "tlb.shadow.data"), 3);
    assert_eq!(counter(&session, "tlb.shadow.instruction"), 3);
    assert_eq!(counter(&session, "tlb.shadow.cycles"), 3 * 3 + 3 * 4);
    assert_eq!(counter(&session, "tlb.data.miss"), 0);
}

/// The shadow TLB of data has eight entries, replaced in turn.
#[test]
fn nine_pages_in_turn_never_hit_the_shadow_tlb_of_data() {
    for (pages, refills) in [(8, 8), (9, 90)] {
        let map: String = (0..pages)
            .map(|page| {
                let (high, low) = (0x4000_00c0_u32 + page * 0x1000, 0x0030_0300 + page * 0x1000);
                format!("map {}, {high:#x}, {low:#x}\n", 10 + page)
            })
            .collect();
        let session = run(&format!(
            "_start:\npaging\ntlbia\nmap 63, 0x000003c0, 0x00000300\nmap 62, 0x800003c0, 0x80000305\n{map}isync\n\
             li 6, 10\n2: load 10, 0x40000000\nli 5, {pages}\nmtctr 5\n1: lwz 5, 0(10)\naddi 10, 10, 0x1000\n\
             bdnz 1b\naddic. 6, 6, -1\nbne 2b\npower_off 0\n"
        ));
        // And the devices.
        assert_eq!(counter(&session, "tlb.shadow.data"), refills + 1, "{pages}");
    }
}

#[test]
fn timers_interrupt_at_their_own_vectors() {
    for (setup, enabled, vector) in [
        (
            "lis 3, 0x0400\nmtspr 986, 3\nli 3, 500\nmtspr 987, 3",
            0x8000,
            0x1000,
        ),
        ("lis 3, 0x0080\nmtspr 986, 3", 0x8000, 0x1010),
        ("lis 3, 0x0800\nmtspr 986, 3", 0x2_0000, 0x1020),
    ] {
        let source = format!(
            "{setup}\nload 3, {:#x}\nmtmsr 3\ncause: b .\n",
            enabled | 0x1000
        );
        let (session, there) = raising(&source);
        assert_eq!((gpr(&session, 20), there), (vector, true), "{setup}");
        let saved = if vector == 0x1020 { 26 } else { 22 };
        assert_eq!(gpr(&session, saved), enabled | 0x1000, "{setup}");
    }
}

/// MSR[WE] waits for an interrupt.
#[test]
fn the_wait_state_ends_with_an_interrupt() {
    let (session, _) = raising(
        "lis 3, 0x0400\nmtspr 986, 3\nload 3, 50000\nmtspr 987, 3\nload 3, 0x00049000\nmtmsr 3\nisync\ncause: b .\n",
    );
    assert_eq!(gpr(&session, 20), 0x1000);
    assert_eq!(gpr(&session, 22), 0x0004_9000);
    assert!(counter(&session, "idle.cycles") > 49_000);
}

#[test]
fn the_time_base_counts_core_cycles() {
    let session = run("_start:\nmftb 20\n.rept 100\ndivw 5, 6, 7\n.endr\nmftb 21\npower_off 0\n");
    let passed = gpr(&session, 21) - gpr(&session, 20);
    assert!((3400..3700).contains(&passed), "{passed}");
}

/// A machine check is critical: it saves in SRR2 and SRR3.
#[test]
fn machine_checks_are_critical() {
    let (session, there) =
        raising("load 3, 0x1000\nmtmsr 3\nload 10, 0xc0000000\ncause: lwz 3, 0(10)\n");
    assert_eq!((gpr(&session, 20), there), (0x200, true));
    assert_eq!((gpr(&session, 26), gpr(&session, 27)), (0x1000, 0));
}

#[test]
fn rfci_and_wrtee_change_the_state() {
    let session = run(
        "_start:\nload 3, 0x21000\nmtspr 991, 3\nload 3, 1f\nmtspr 990, 3\nrfci\n1: mfmsr 20\n\
         wrteei 1\nmfmsr 21\nwrteei 0\nmfmsr 22\nload 5, 0x8000\nwrtee 5\nmfmsr 23\npower_off 0\n",
    );
    let states = [20, 21, 22, 23].map(|n| gpr(&session, n));
    assert_eq!(states, [0x2_1000, 0x2_9000, 0x2_1000, 0x2_9000]);
}

/// Runs a program in user state with DBCR0 and MSR\[DE\], whose debug handler notes SRR2 and SRR3 of each step and
/// returns. Returns how many steps there were, the words that the handler has noted, and DBSR of the last step.
fn steps(control: u32, state: u32) -> (u32, Vec<u32>, u32) {
    let text = format!(
        "_start:\nvector 0x2000, step\nvector 0x700, trapped\nvector 0xc00, called\nload 10, 0x9000\nli 11, 0\n\
         li 12, 0\n\
         load 3, {control:#x}\nmtspr 1010, 3\nload 3, user\nmtsrr0 3\nload 3, {state:#x}\nmtsrr1 3\nrfi\n\
         user: li 4, 1\nb 1f\nnop\n1: sc\nli 4, 2\nstw 4, 256(10)\nend: trap\n\
         step: mfspr 5, 990\nmfspr 6, 991\nstwu 5, 4(10)\nstwu 6, 4(10)\naddi 11, 11, 1\n\
         mfspr 12, 1008\nmtspr 1008, 12\n\
         rfci\n.space 64\ncalled: rfi\n.space 124\ntrapped: power_off 0\n.space 124\n"
    );
    let session = run(&text);
    let count = gpr(&session, 11);
    let ram = session.machine().processor().memory.uncore.ram.clone();
    let words = (0..2 * count).map(|n| ram.read_u32(0x9004 + 4 * n).unwrap());
    (count, words.collect(), gpr(&session, 12))
}

/// DBCR0\[IDM\] and \[IC\] with MSR\[DE\]: a critical exception after each instruction that is completed, also in the
/// handler of another exception, which DE enters.
#[test]
fn each_instruction_can_end_in_a_debug_exception() {
    const USER: u32 = 0x5000;
    const DE: u32 = 0x200;
    let (count, words, status) = steps(0x4800_0000, USER | DE);
    assert_eq!(status, 0x8000_0000);
    // li, b, the store and li; sc raises an exception itself, whose handler's rfi is no step. Then the trap's handler.
    let (user, supervisor) = words.split_at(8);
    let at: Vec<u32> = user
        .chunks_exact(2)
        .map(|step| step[0] - words[0])
        .collect();
    // To the branch, over the nop to sc, past li, past the store.
    assert_eq!(at, [0, 8, 16, 20]);
    assert!(
        user.chunks_exact(2).all(|step| step[1] == USER | DE),
        "{words:x?}"
    );
    assert!(
        count > 4
            && supervisor
                .chunks_exact(2)
                .all(|step| step[1] == 0x1000 | DE),
        "{words:x?}"
    );
    for (control, state) in [
        (0x4800_0000, USER),
        (0x4000_0000, USER | DE),
        (0x0800_0000, USER | DE),
        (0xc800_0000, USER | DE),
    ] {
        assert_eq!(steps(control, state).0, 0, "{control:#x} {state:#x}");
    }
}

/// A reset by DBCR0 or the watchdog ends the run.
#[test]
fn a_reset_ends_the_run() {
    for text in [
        "_start:\nlis 3, 0x3000\nmtspr 1010, 3\nb .\n",
        "_start:\nlis 3, 0x3000\nmtspr 986, 3\nb .\n",
    ] {
        let mut session = Program::on(MACHINE, text).session(MACHINE, &[]);
        assert_eq!(session.run(LIMITS), Stop::PowerOff { status: 0 }, "{text}");
    }
}

/// Without translation ICCR and DCCR say what is cached.
#[test]
fn storage_attributes_without_translation() {
    let body = "load 10, 0x00300000\nlwz 5, 0(10)\nlwz 5, 4(10)\n";
    let uncached = run(&format!("_start:\n{body}power_off 0\n"));
    assert_eq!(counter(&uncached, "cache.data.miss"), 0);
    let cached = run(&format!(
        "_start:\nlis 3, 0x8000\nmtspr 1018, 3\nmtspr 1019, 3\nisync\n{body}power_off 0\n"
    ));
    assert_eq!(counter(&cached, "cache.data.miss"), 1);
    assert!(counter(&cached, "cache.instruction.miss") > 0);
    assert!(cached.machine().processor().cycles() > 0);
}

/// Board `ppc405gp`: the UART's interrupt reaches the external or the critical input by the UIC.
#[test]
fn the_uic_hands_on_the_uarts_interrupt() {
    for (critical, vector) in [(0, 0x500), (0x8000_0000_u32, 0x100)] {
        let (install, code) = handlers(&VECTORS);
        let source = format!(
            "_start:\n{install}load 3, 0xffffff80\nmtdcr 0xc4, 3\nload 3, 0xffffffff\nmtdcr 0xc0, 3\nlis 3, 0x8000\n\
             mtdcr 0xc2, 3\nload 3, {critical:#x}\nmtdcr 0xc3, 3\nload 10, 0xef600300\nli 3, 65\nstb 3, 0(10)\n\
             li 3, 2\nstb 3, 1(10)\nmfdcr 18, 0xc6\nload 3, 0x29000\nmtmsr 3\nb .\n{code}\nnote:\n\
             mfdcr 19, 0xc0\nlbz 16, 2(10)\nlis 3, 0x8000\nmtdcr 0xc0, 3\nmfdcr 17, 0xc6\npower_off 0\n"
        );
        let program = Program::on(MACHINE, &source);
        let mut session = program.session(MACHINE, &["board.kind=ppc405gp"]);
        support::finish(&mut session, LIMITS);
        assert_eq!(gpr(&session, 20), vector);
        assert_eq!(gpr(&session, 18), 1 << 31);
        assert_eq!(gpr(&session, 19) >> 31, 1);
        assert_eq!(gpr(&session, 17), 0);
    }
}

/// An access beside the board's devices ends the run, and names the unit.
#[test]
fn what_the_board_lacks_ends_the_run() {
    let program = Program::on(MACHINE, "_start:\nload 10, 0xef600800\nlwz 3, 0(10)\n");
    let mut session = program.session(MACHINE, &["board.kind=ppc405gp"]);
    let stop = session.run(LIMITS);
    assert!(session.explain(&stop).contains("(/plb/opb)"), "{stop:?}");
}

#[test]
fn the_device_tree_names_the_uic_and_the_clocks() {
    let config = support::config(MACHINE, &["board.kind=ppc405gp"]);
    let tree = device_tree(&config, Target::Pagewalk, "", None).unwrap();
    let holds = |bytes: &[u8]| tree.windows(bytes.len()).any(|window| window == bytes);
    assert!(holds(b"ibm,uic\0") && holds(b"ibm,opb\0") && holds(b"amcc,acadia\0"));
    // The time base counts the processor's clock.
    let clock = 200_000_000_u32.to_be_bytes();
    assert!(tree.windows(4).filter(|window| *window == clock).count() >= 2);
}

#[test]
fn a_dump_shows_the_unified_tlb() {
    let session =
        run("_start:\npaging\nli 3, 5\nmtspr 945, 3\nmap 7, 0x10000040, 0x00400134\npower_off 0\n");
    let machine = session.machine();
    let processor = machine.processor();
    let dump = StateDump::take(
        1,
        0,
        &processor.registers,
        &processor.mmu,
        &processor.memory,
    );
    let text = dump.to_string();
    assert!(
        text.contains("unified TLB, 4 valid, in address space 05, ZPR 00000000"),
        "{text}"
    );
    assert!(
        text.contains(" 7 10000000 -> 00400000     1K tid 05 zone  3 -W -I--"),
        "{text}"
    );
    assert!(
        text.contains("62 80000000 -> 80000000 16384K tid 00 zone  0 XW -I-G"),
        "{text}"
    );
    let json = dump.to_json();
    assert_eq!(json["unified_tlb"]["entries"].as_array().unwrap().len(), 4);
}

/// Half-words are signed by the sign of the mnemonic; sums wrap or saturate; OE tells that one did not fit.
#[test]
fn multiply_accumulate_of_half_words() {
    const SO_OV: u32 = 0xc000_0000;
    let cases: [(&str, u32, u32, u32, u32, u32); 15] = [
        ("macchw 5, 6, 7", 5, 0x0001_0002, 0x0003_0004, 11, 0),
        ("machhw 5, 6, 7", 5, 0x0001_0002, 0x0003_0004, 8, 0),
        ("maclhw 5, 6, 7", 5, 0x0001_0002, 0x0003_0004, 13, 0),
        ("macchw 5, 6, 7", 5, 2, 0xfffd_0000, 0xffff_ffff, 0),
        ("macchwu 5, 6, 7", 5, 2, 0xfffd_0000, 0x0001_ffff, 0),
        ("nmacchw 5, 6, 7", 5, 2, 0x0003_0000, 0xffff_ffff, 0),
        (
            "macchwo 5, 6, 7",
            0x7fff_ffff,
            2,
            0x0003_0000,
            0x8000_0005,
            SO_OV,
        ),
        (
            "macchwso 5, 6, 7",
            0x7fff_ffff,
            2,
            0x0003_0000,
            0x7fff_ffff,
            SO_OV,
        ),
        (
            "nmacchwso 5, 6, 7",
            0x8000_0000,
            2,
            0x0003_0000,
            0x8000_0000,
            SO_OV,
        ),
        (
            "macchwsuo 5, 6, 7",
            0xffff_fffe,
            1,
            0x0003_0000,
            0xffff_ffff,
            SO_OV,
        ),
        ("macchwuo 5, 6, 7", 0xffff_fffe, 1, 0x0003_0000, 1, SO_OV),
        (
            "macchws 5, 6, 7",
            0x7fff_ffff,
            2,
            0x0003_0000,
            0x7fff_ffff,
            0,
        ),
        (
            "mulchw 5, 6, 7",
            0,
            0xffff_8000,
            0x8000_ffff,
            0x4000_0000,
            0,
        ),
        (
            "mulhhwu 5, 6, 7",
            0,
            0xffff_8000,
            0x8000_ffff,
            0x7fff_8000,
            0,
        ),
        ("mullhw 5, 6, 7", 0, 0xffff_8000, 0x8000_ffff, 0x8000, 0),
    ];
    for (instruction, t, a, b, value, xer) in cases {
        let session = run(&format!(
            "_start:\nload 5, {t:#x}\nload 6, {a:#x}\nload 7, {b:#x}\nli 8, 0\nmtxer 8\n{instruction}\nmr 20, 5\n\
             mfxer 21\npower_off 0\n"
        ));
        let (given, status) = (gpr(&session, 20), gpr(&session, 21));
        assert_eq!((given, status), (value, xer), "{instruction}: {given:#x}");
    }
}

/// The number of the first zero byte goes to rA and to XER, and CR0 tells in which register it is.
#[test]
fn the_leftmost_zero_byte() {
    let cases: [(u32, u32, u32, u32); 6] = [
        (0x0000_0000, 0x0000_0000, 1, 4),
        (0x8001_ff00, 0x1100_0000, 4, 4),
        (0x0101_0101, 0x0011_2233, 5, 8),
        (0xff00_ff00, 0xffff_ff00, 2, 4),
        (0xffff_ffff, 0x1111_1100, 8, 8),
        (0xffff_ffff, 0x0101_0101, 8, 2),
    ];
    for (s, b, count, field) in cases {
        for (xer, so) in [(0x55, 0), (0x8000_0003_u32, 1)] {
            let session = run(&format!(
                "_start:\nload 5, {s:#x}\nload 7, {b:#x}\nload 8, {xer:#x}\nmtxer 8\n.long 0x7ca6389d\nmfxer 21\n\
                 mfcr 22\npower_off 0\n"
            ));
            assert_eq!(gpr(&session, 6), count, "{s:#x} {b:#x}");
            assert_eq!(gpr(&session, 21), xer & !0x7f | count, "{s:#x} {b:#x}");
            assert_eq!(gpr(&session, 22) >> 28, field | so, "{s:#x} {b:#x}");
        }
    }
}
