//! Power saving by MSR[POW], the L2 after a reset, and the time base read by `mfspr`.

use crate::support::{Program, config, counter, gpr};
use pagewalk_machine::board::Console;
use pagewalk_machine::powerpc::machine::{Fatal, Limits, Stop};
use pagewalk_machine::powerpc::session::Session;

const LIMITS: Limits = Limits {
    cycles: 1_000_000,
    ..Limits::NONE
};

const DOZE: u32 = 0x0080_0000;
const NAP: u32 = 0x0040_0000;
const SLEEP: u32 = 0x0020_0000;

/// Waits three times for the decrementer, with `hid0` and the MSR `waiting`; counts its interrupts in r20.
fn waits(hid0: u32, waiting: u32) -> Program {
    Program::new(&format!(
        "_start:
           caches_on
           vector 0x900, tick
           load 3, 0xc000 + {hid0:#x}
           mtspr 1008, 3
           li 20, 0
           li 21, 3
         1: li 3, 1000
           mtspr 22, 3
           load 3, {waiting:#x}
           sync
           mtmsr 3
           isync
           addic. 21, 21, -1
           bne 1b
           power_off 0
         tick:
           addi 20, 20, 1
           rfi"
    ))
}

const POW: u32 = 0x4_0000;
const EE: u32 = 0x8000;
const ME: u32 = 0x1000;

#[test]
fn a_waiting_processor_runs_nothing_until_its_interrupt() {
    for (machine, hid0) in [
        ("ppc603-133", DOZE),
        ("ppc603-180", NAP),
        ("ppc604-133", 0),
        ("ppc750-400", DOZE),
        ("ppc750-400", NAP),
    ] {
        let program = waits(hid0, POW | EE | ME);
        let mut sessions = [false, true].map(|oracle| {
            let mut session = program.session(machine, &[]);
            session.set_oracle(oracle);
            assert_eq!(
                session.run(LIMITS),
                Stop::PowerOff { status: 0 },
                "{machine}"
            );
            session
        });
        let session = &mut sessions[0];
        assert_eq!(gpr(session, 20), 3, "{machine}");
        let bus = session.machine().config().bus.clone();
        let tick = bus.core_cycles(u64::from(bus.timebase_divider));
        let idle = counter(session, "idle.cycles");
        assert!(
            (2900 * tick..=3003 * tick).contains(&idle),
            "{machine}: {idle}"
        );
        assert!(counter(session, "instructions") < 600, "{machine}");
        let counters = sessions.each_ref().map(Session::counters);
        assert_eq!(counters[0], counters[1], "{machine}");
    }
}

#[test]
fn without_a_mode_in_hid0_a_603_goes_on() {
    let mut session = waits(0, POW | EE | ME).session("ppc603-133", &[]);
    assert_eq!(session.run(LIMITS), Stop::PowerOff { status: 0 });
    assert_eq!(
        (gpr(&session, 20), counter(&session, "idle.cycles")),
        (0, 0)
    );
}

#[test]
fn a_limit_and_a_snapshot_within_the_wait_change_nothing() {
    let program = waits(DOZE, POW | EE | ME);
    let mut whole = program.session("ppc750-400", &[]);
    whole.run(LIMITS);
    let mut first = program.session("ppc750-400", &[]);
    let at = 20_000;
    let stop = first.run(Limits {
        cycles: at,
        ..LIMITS
    });
    assert_eq!((stop, first.machine().instant().cycles), (Stop::Limit, at));
    let saved = first.save().expect("it can be saved");
    let mut second = Session::restore(&saved, "s", Console::memory()).expect("a snapshot");
    assert_eq!(second.run(LIMITS), Stop::PowerOff { status: 0 });
    assert_eq!(second.counters(), whole.counters());
    assert!(counter(&whole, "idle.cycles") > 2 * at);
}

#[test]
fn a_wait_that_nothing_can_end_is_fatal() {
    for (hid0, waiting) in [(DOZE, POW | ME), (SLEEP, POW | EE | ME)] {
        let mut session = waits(hid0, waiting).session("ppc603-133", &[]);
        let stop = session.run(Limits::NONE);
        assert!(
            matches!(stop, Stop::Fatal(Fatal::Asleep { .. })),
            "{stop:?}"
        );
        let message = session.explain(&stop);
        assert!(message.contains("no interrupt can wake it"), "{message}");
    }
}

const L2CR: &str = "_start: mfspr 20, 1017\n caches_on\n lwz 3, 0(0)\n power_off 0";

#[test]
fn the_loader_enables_the_l2_as_firmware_does() {
    let mut session = Program::new(L2CR).session("ppc750-400", &[]);
    session.run(LIMITS);
    assert_eq!(gpr(&session, 20), 0xb000_0000, "enabled, 1 MB");
    assert!(counter(&session, "cache.l2.access") > 0);
}

#[test]
fn after_a_reset_the_l2_is_off() {
    // mfspr r20, L2CR; caches on; lwz r3, 0(0); the control device's POWER_OFF.
    let words: [u32; 10] = [
        0x7e99_faa6,
        0x3c60_0000,
        0x6063_c000,
        0x7c70_fba6,
        0x4c00_012c,
        0x8060_0000,
        0x3fc0_8000,
        0x63de_0f08,
        0x93fe_0000,
        0x4800_0000,
    ];
    let mut rom = vec![0; 0x100];
    rom.extend(words.iter().flat_map(|word| word.to_be_bytes()));
    let config = config("ppc750-400", &[]);
    let mut session = Session::with_rom(config, &rom, "r", Console::memory()).expect("a ROM");
    assert_eq!(session.run(LIMITS), Stop::PowerOff { status: 0 });
    assert_eq!(
        (gpr(&session, 20), counter(&session, "cache.l2.access")),
        (0, 0)
    );
}

#[test]
fn programs_read_the_time_base_by_mfspr() {
    for machine in ["ppc603-133", "ppc604-133", "ppc750-400", "mpc855t-48"] {
        let program = Program::on(
            machine,
            "_start:
               li 3, 0
               mtspr 284, 3
               li 3, 7
               mtspr 285, 3
               load 3, user
               mtspr 26, 3
               load 3, 0x5000
               mtspr 27, 3
               rfi
             user:
               mftb 20
               .long 0x7eac42a6
               mftb 22
               .long 0x7eed42a6
               mftbu 24
               power_off 0",
        );
        let mut session = program.session(machine, &[]);
        assert_eq!(
            session.run(LIMITS),
            Stop::PowerOff { status: 0 },
            "{machine}"
        );
        let low = [20, 21, 22].map(|n| gpr(&session, n));
        assert!(low.is_sorted() && low[2] < 1000, "{machine}: {low:?}");
        assert_eq!([gpr(&session, 23), gpr(&session, 24)], [7, 7], "{machine}");
    }
}
