//! Causes of a kernel without `__cause_` symbols: a file names its functions.

use crate::support::{Program, config};
use pagewalk_machine::board::Console;
use pagewalk_machine::powerpc::loader::Given;
use pagewalk_machine::powerpc::machine::{Limits, Stop};
use pagewalk_machine::powerpc::session::Session;

/// Lines of 32 bytes: what lies between two labels fills whole ones, apart from `odd`.
const SOURCE: &str = "
_start: bl copy_page
  bl zero
  bl zero.part.0
  b more
  .balign 32
copy_page: blr
  .balign 32
copy_end:
more: nop
  b odd
  .balign 32
  .type zero, @function
zero: .rept 15
  nop
  .endr
  blr
  .size zero, . - zero
  .type zero.part.0, @function
zero.part.0: .rept 7
  nop
  .endr
  blr
  .size zero.part.0, . - zero.part.0
  nop
odd: .rept 7
  nop
  .endr
  load 3, 0x80000f08
  li 4, 0
  stw 4, 0(3)
  b .
";

fn session(causes: &str) -> Result<Session, String> {
    let program = Program::new(SOURCE);
    let elf = std::fs::read(program.elf()).unwrap();
    let config = config("ppc604-133", &["board.kind=mpc83xx"]);
    let console = Console::memory();
    let kernel = (elf.as_slice(), "a.elf");
    let session = Session::with_causes(
        config,
        kernel,
        Some((causes, "c.toml")),
        &Given::default(),
        console,
    );
    session.map_err(|error| error.to_string())
}

/// Instructions of each cause, and cycles in all.
fn run(causes: &str) -> (impl Fn(&str) -> u64, u64) {
    let mut session = session(causes).unwrap_or_else(|error| panic!("{error}"));
    let stop = session.run(Limits::NONE);
    assert_eq!(stop, Stop::PowerOff { status: 0 });
    let counters = session.counters();
    let get = move |name: &str| {
        let found = counters.iter().find(|(counter, _)| counter == name);
        found.unwrap_or_else(|| panic!("{name}")).1
    };
    let cycles = get("cycles");
    (
        move |cause: &str| get(&format!("instructions.cause.{cause}")),
        cycles,
    )
}

#[test]
fn code_is_charged_by_the_names_of_functions() {
    let (instructions, cycles) = run("
        [clear]
        symbols = [\"zero\", \"absent\"]
        [copy]
        symbols = [\"copy_page..copy_end\", \"absent..copy_end\"]
    ");
    assert_eq!(instructions("copy"), 1);
    assert_eq!(instructions("clear"), 16 + 8, "with its part");
    // A boundary is that of the nearest line: `odd` begins 4 bytes behind it.
    let (instructions, same) = run("[fault]\nsymbols = [\"odd\"]");
    assert_eq!(instructions("fault"), 7 + 4);
    assert_eq!(instructions("copy"), 0);
    assert_eq!(cycles, same, "whatever the causes are");
}

#[test]
fn a_file_that_fits_no_kernel_is_refused() {
    for (causes, said) in [
        (
            "[copy]\nsymbols = [\"absent\", \"gone\"]",
            "c.toml: [copy]: a.elf has none of these symbols: absent, gone",
        ),
        ("[copy]\nsymbols = []", "has none of these symbols"),
        (
            "[walk]\nsymbols = [\"more\"]",
            "[walk] is no cause of code; allowed are reload, flush",
        ),
        (
            "[walk]\nnew = true\nsymbols = [\"more\"]",
            "[walk] is no cause of code",
        ),
        (
            "[Paint]\nnew = true\nsymbols = [\"zero\"]",
            "code cannot have the cause `Paint`: a name has at most 16 of a to z",
        ),
        (
            "[paint]\nsymbols = [\"more\"]",
            "[paint] is no cause of code",
        ),
        (
            "[copy]\nsymbols = [\"more..absent\"]",
            "[copy] \"more..absent\": there is no absent behind more",
        ),
        (
            "[copy]\nsymbols = [\"more..copy_page\"]",
            "there is no copy_page behind more",
        ),
        (
            "[copy]\nsymbols = [\"odd\"]\n[clear]\nsymbols = [\"zero..odd\"]",
            "",
        ),
        (
            "[copy]\nsymbols = [\"zero..odd\"]\n[clear]\nsymbols = [\"zero.part.0\"]",
            "[copy] \"zero..odd\" and [clear] \"zero.part.0\" share the code at physical address 0x",
        ),
        ("[copy]\nsymbol = []", "unknown field `symbol`"),
        ("copy = 3", "invalid type"),
        ("[copy", "c.toml: TOML parse error"),
    ] {
        match session(causes) {
            Ok(_) => assert_eq!(said, "", "{causes}"),
            Err(message) => assert!(message.contains(said) && !said.is_empty(), "{message}"),
        }
    }
    let endless = "#".repeat(2 << 20);
    assert!(session(&endless).is_err_and(|message| message.contains("bytes")));
}

#[test]
fn a_file_gives_a_cause_a_new_name() {
    let (instructions, _) = run("[paint]\nnew = true\nsymbols = [\"copy_page..copy_end\"]");
    assert_eq!((instructions("paint"), instructions("copy")), (1, 0));
}

/// Names cause 14 by CAUSE_NAME, runs under it, then under a number that has no name.
const NAMES_A_CAUSE: &str = "
_start: load 3, 0x80000f00
  load 4, named
  stw 4, 0x44(3)
  load 4, bad
  stw 4, 0x44(3)
  li 4, 14
  stw 4, 0xc(3)
  .rept 10
  nop
  .endr
  li 4, 15
  stw 4, 0xc(3)
  .rept 20
  nop
  .endr
  li 4, 0
  stw 4, 8(3)
  b .
named: .byte 14
  .asciz \"page-cache\"
bad: .byte 1
  .asciz \"core\"
";

#[test]
fn a_guest_names_a_cause_by_the_control_device() {
    let program = Program::new(NAMES_A_CAUSE);
    let mut session = program.session("ppc604-133", &[]);
    assert_eq!(session.run(Limits::NONE), Stop::PowerOff { status: 0 });
    let counters = session.counters();
    let count = |name: &str| {
        counters
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, count)| *count)
    };
    assert_eq!(count("instructions.cause.page-cache"), Some(12));
    assert!(count("instructions.cause.kernel") > Some(20));
    let warnings = session.warnings();
    assert!(
        warnings
            .iter()
            .any(|line| line.contains("1 names of causes were refused")),
        "{warnings:?}"
    );
    let saved = session.save().unwrap();
    let back = Session::restore(&saved, "s", Console::memory()).unwrap();
    assert_eq!(back.counters(), counters);
}
