//! A 405 that is stopped anywhere and gone on with in another machine: its TLB, shadow TLBs, timers, special registers
//! and interrupt controller go on as if it had not stopped.

use crate::support;
use crate::support::Program;
use pagewalk_machine::board::Console;
use pagewalk_machine::powerpc::machine::{Limits, Stop};
use pagewalk_machine::powerpc::registers::Register;
use pagewalk_machine::powerpc::session::Session;

const MACHINE: &str = "ppc405-200";

const LIMITS: Limits = Limits {
    cycles: 1_000_000,
    ..Limits::NONE
};

/// Reads nine pages in turn, more than the shadow TLB of data holds, under a PIT that reloads itself, and steps through
/// their entries of the unified TLB. r11 counts the ticks; r12 to r21 end with what the registers hold.
fn source() -> String {
    let pages: String = (0..9u32)
        .map(|page| {
            let (high, low) = (0x5000_00c0 + page * 0x1000, 0x0030_0300 + page * 0x1000);
            format!("map {}, {high:#x}, {low:#x}\n", 10 + page)
        })
        .collect();
    format!(
        "_start:\nvector 0x1000, tick\ncaches_on\npaging\n{pages}\
         load 3, 0xffffff80\nmtdcr 0xc4, 3\nload 3, 0xffffffff\nmtdcr 0xc0, 3\nload 3, 0x87654321\nmtdcr 0xc2, 3\n\
         load 3, 0x80000000\nmtdcr 0xc3, 3\n\
         li 3, 0x5a5\nmtspr 256, 3\nmtspr 279, 3\nload 3, 0x10000000\nmtspr 944, 3\nli 3, 9\nmtspr 945, 3\nisync\n\
         li 11, 0\nload 3, 150\nmtspr 987, 3\nload 3, 0x04400000\nmtspr 986, 3\nload 3, 0x9030\nmtmsr 3\nisync\n\
         li 6, 12\n2: load 10, 0x50000000\nli 5, 9\nmtctr 5\n1: lwz 5, 0(10)\naddi 5, 5, 1\nstw 5, 0(10)\n\
         addi 10, 10, 0x1000\nbdnz 1b\naddic. 6, 6, -1\nbne 2b\n\
         wrteei 0\nmfspr 12, 987\nmfspr 13, 256\nmfspr 14, 263\nmfspr 15, 944\nmfspr 16, 945\nmfdcr 17, 0xc2\n\
         mfdcr 18, 0xc3\nmfspr 19, 986\nmftb 20\nload 3, 0x50008000\nli 4, 0\nmtspr 945, 4\ntlbsx 21, 0, 3\n\
         poke 0x80000f24, 5\npower_off 0\n\
         tick: lis 7, 0x0800\nmtspr 984, 7\naddi 11, 11, 1\nrfi\n.space 112\n"
    )
}

fn results(session: &Session) -> Vec<u32> {
    let registers = &session.machine().processor().registers;
    (11..22)
        .map(|number| registers.gpr.get(Register::new(number)))
        .collect()
}

#[test]
fn a_snapshot_holds_tlbs_timers_and_registers() {
    let program = Program::on(MACHINE, &source());
    let begin = || program.session(MACHINE, &["board.kind=ppc405gp", "memory.size=0x400000"]);
    let mut whole = begin();
    support::finish(&mut whole, LIMITS);
    let found = results(&whole);
    assert!(found[0] > 5, "{found:x?}");
    assert_eq!(
        found[2..8],
        [0x5a5, 0x5a5, 0x1000_0000, 9, 0x8765_4321, 0x8000_0000]
    );
    assert_eq!(found[10], 18);
    let end = whole.machine().instant().cycles;
    for part in 1..24 {
        let mut first = begin();
        assert_eq!(
            first.run(Limits {
                cycles: end * part / 24,
                ..Limits::NONE
            }),
            Stop::Limit
        );
        let saved = first.save().unwrap();
        let mut second = Session::restore(&saved, "s.snap", Console::memory()).unwrap();
        assert_eq!(second.dump(0), first.dump(0), "{part}");
        assert_eq!(second.run(LIMITS), Stop::PowerOff { status: 0 });
        assert_eq!(second.counters(), whole.counters(), "{part}");
        assert_eq!(second.machine().instant(), whole.machine().instant());
        assert_eq!(results(&second), found, "{part}");
        assert_eq!(second.dumps(), whole.dumps(), "{part}");
    }
}
