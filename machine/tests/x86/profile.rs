//! What observers see of a kernel: causes, regions, profile, dumps.

use pagewalk_machine::board::Console;
use pagewalk_machine::loader::{Symbol, SymbolTable};
use pagewalk_machine::powerpc::machine::Limits;
use pagewalk_machine::x86::Stop;
use pagewalk_machine::x86::session::Session;

use super::bench::config;
use super::files::{executable, header};

/// mov dword [address], value
fn store(address: u32, value: u32) -> Vec<u8> {
    let mut code = vec![0xc7, 0x05];
    code.extend(address.to_le_bytes());
    code.extend(value.to_le_bytes());
    code
}

const CONTROL: u32 = 0x8000_0f00;
const REGIONS: u32 = 0x8000_1000;

#[test]
fn a_kernel_marks_regions_and_causes_and_powers_off() {
    let mut text = header(0);
    text.extend(store(REGIONS, 7));
    text.extend(store(CONTROL + 0x0c, 8)); // CAUSE: clear
    text.extend([0x90; 40]);
    text.extend(store(CONTROL + 0x0c, 0));
    text.extend(store(REGIONS + 4, 7));
    text.extend(store(CONTROL + 0x24, 3)); // DUMP
    // The clock: mov eax, [CONTROL + 0x40]; a read of one byte of it is nothing.
    text.push(0xa1);
    text.extend((CONTROL + 0x40).to_le_bytes());
    text.extend([0x89, 0xc6, 0xa0]);
    text.extend((CONTROL + 0x40).to_le_bytes());
    text.extend(store(CONTROL + 0x08, 42));
    text.extend([0xeb, 0xfe]);
    let mut kernel = executable(0x10_0000, &text);
    kernel[24..28].copy_from_slice(&0x10_000c_u32.to_le_bytes());
    let config = config("i486dx-50", &[]);
    let given = (&kernel[..], "kernel");
    let console = Console::memory();
    let mut session = Session::with_kernel(&config, given, None, None, "", console).unwrap();
    session.record_profile(None);
    let stop = session.run(Limits {
        instructions: 10_000,
        ..Limits::NONE
    });
    assert_eq!(stop, Stop::PowerOff { status: 42 });
    let processor = session.machine().processor();
    assert_eq!(processor.registers.gpr[6], 50_000_000);
    assert_eq!(processor.registers.gpr[0] & 0xff, 0xff);
    let regions: Vec<_> = session.regions().collect();
    assert_eq!(regions.len(), 1);
    let counter = |name: &str| regions[0].1.counters.get(name).unwrap();
    assert_eq!(regions[0].0, 7);
    // The stores that end region and cause are charged to it, and 40 instructions between.
    assert_eq!(counter("instructions.cause.clear"), 41);
    assert!(counter("cycles.cause.clear") >= 41);
    assert_eq!(session.dumps().len(), 1);
    assert_eq!(session.dumps()[0].label, 3);
    let cycles: u64 = session.profile().iter().map(|row| row.cycles).sum();
    assert_eq!(cycles, session.machine().instant().cycles);
    let report = session.report(&stop);
    assert_eq!(report["stop"]["kind"], "power-off");
    assert_eq!(report["counters"]["exception.pf"], 0);
    let of_region = &report["regions"][0]["counters"];
    assert_eq!(of_region["exception.pf"], 0);
    assert!(report["counters"].get("hash.search").is_none());
}

/// `t` jumps to `f`, which returns to the caller of `t`; that runs long before `t` runs again. `r` calls itself.
#[test]
fn calls_by_jumps_and_recursive_calls_end_at_their_returns() {
    let mut text = header(0);
    text.extend([0xbc, 0, 0, 0x18, 0]); // mov esp, 0x180000
    text.extend([0xe8, 0x23, 0, 0, 0]); // call t
    text.extend([0xb9, 0, 4, 0, 0]); // mov ecx, 1024
    text.extend([0x49, 0x75, 0xfd]); // 1: dec ecx; jnz 1b
    text.extend([0xe8, 0x16, 0, 0, 0]); // call t
    text.extend([0xb9, 3, 0, 0, 0]); // mov ecx, 3
    text.extend([0xe8, 0x10, 0, 0, 0]); // call r
    text.extend(store(CONTROL + 0x08, 42));
    text.extend([0xeb, 0xfe]);
    text.extend([0xeb, 0]); // t: jmp f
    text.extend([0x90, 0xc3]); // f: nop; ret
    text.extend([0x49, 0x74, 5]); // r: dec ecx; jz 1f
    text.extend([0xe8, 0xf8, 0xff, 0xff, 0xff, 0xc3]); // call r; 1: ret
    let mut kernel = executable(0x10_0000, &text);
    kernel[24..28].copy_from_slice(&0x10_000c_u32.to_le_bytes());
    let config = config("i486dx-50", &[]);
    let functions = [
        ("start", 0x0c, 0x2d),
        ("t", 0x39, 2),
        ("f", 0x3b, 2),
        ("r", 0x3d, 9),
    ];
    let symbols = functions.map(|(name, at, size)| Symbol {
        address: 0x10_0000 + at,
        size,
        name: name.to_owned(),
    });
    let session = || {
        let given = (&kernel[..], "kernel");
        let console = Console::memory();
        let mut made = Session::with_kernel(&config, given, None, None, "", console).unwrap();
        let observers = &mut made.machine_mut().processor_mut().observers;
        (observers.symbols).set_kernel(SymbolTable::new(symbols.to_vec()));
        made
    };
    let mut watched = session();
    let queries = ["f", "t", "r"].map(|name| {
        let text = format!("call by caller where function == {name} histogram cycles");
        text.parse().unwrap()
    });
    watched.tally(queries.into(), None).unwrap();
    assert_eq!(watched.run(Limits::NONE), Stop::PowerOff { status: 42 });
    let tallied = watched.tallied().unwrap();
    let rows = |n: usize| {
        let mut rows: Vec<_> = (tallied[n].0.iter())
            .map(|row| (&row.group[0][..], row.count))
            .collect();
        rows.sort_unstable();
        rows
    };
    assert_eq!(rows(0), [("t", 2)]);
    assert_eq!(rows(1), [("start", 2)]);
    assert_eq!(rows(2), [("r", 2), ("start", 1)]);
    // The loop between the calls takes longer than 1024 cycles.
    let sum = |n: usize| tallied[n].0.iter().map(|row| row.sum).sum::<u64>();
    assert!(
        0 < sum(0) && sum(0) < sum(1) && sum(1) < 1024,
        "{tallied:?}"
    );
    let mut alone = session();
    assert_eq!(alone.run(Limits::NONE), Stop::PowerOff { status: 42 });
    assert_eq!(alone.counters(), watched.counters());
}
