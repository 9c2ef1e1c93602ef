//! The kernel on board `prep` with an OpenPIC: each kind of core, typed input through the 8259 pair behind it.

use crate::kernel;
use crate::support;
use crate::support::machine_file;
use pagewalk_machine::board::Console;
use pagewalk_machine::config::{MachineConfig, Override};
use pagewalk_machine::powerpc::machine::{Limits, Stop};
use pagewalk_machine::powerpc::session::Session;

fn boot(machine: &str, settings: &[&str], words: &str) -> Session {
    let settings: Vec<_> = settings
        .iter()
        .map(|setting| Override::parse(setting).unwrap())
        .collect();
    let config = MachineConfig::from_file(&machine_file(machine), &settings).unwrap();
    let kernel = kernel::build();
    let (image, archive) = (&kernel.image, Some(&kernel.initramfs[..]));
    Session::with_kernel(config, image, "vmlinux", archive, words, Console::memory()).unwrap()
}

fn finish(session: &mut Session) -> String {
    let limits = Limits {
        instructions: 400_000_000,
        ..Limits::NONE
    };
    support::finish(session, limits);
    String::from_utf8_lossy(session.printed()).into_owned()
}

const OPENPIC: &str = "board.interrupt-controller=openpic";
const TESTED: &str = "processor 0 interrupts itself: 4 kinds";

#[test]
fn the_kernel_interrupts_itself_on_every_kind_of_core() {
    for machine in ["mpc855t-48", "ppc603-133", "ppc604-185", "ppc750-400"] {
        for map in ["", "kernel.map=pte "] {
            let words = format!("check=on {map}-- /bin/hello");
            let printed = finish(&mut boot(machine, &[OPENPIC], &words));
            assert!(printed.contains(TESTED), "{machine} {map}: {printed}");
        }
    }
    let printed = finish(&mut boot("ppc604-185", &[], "check=on -- /bin/hello"));
    assert!(!printed.contains(TESTED), "the 8259 pair cannot: {printed}");
}

#[test]
fn typed_input_comes_with_either_controller() {
    let run = |settings: &[&str]| {
        let mut session = boot("ppc604-185", settings, "quiet -- /bin/tlb-stress");
        let booted = session.run(Limits {
            cycles: 20_000_000,
            ..Limits::NONE
        });
        assert_eq!(booted, Stop::Limit);
        // The terminal shows what is typed as soon as its interrupt comes.
        session.type_in(b"typed\n");
        let soon = session.run(Limits {
            cycles: session.machine().processor().cycles() + 100_000,
            ..Limits::NONE
        });
        assert_eq!(soon, Stop::Limit);
        assert_eq!(session.printed(), b"typed\r\n", "{settings:?}");
        finish(&mut session);
        (session.machine().processor().cycles(), session.counters())
    };
    let (plain, openpic) = (run(&[]), run(&[OPENPIC]));
    assert_eq!(run(&["board.interrupt-controller=i8259"]), plain);
    assert_ne!(openpic, plain);
}
