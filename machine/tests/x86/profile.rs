//! What observers see of a kernel: causes, regions, profile, dumps.

use pagewalk_machine::board::Console;
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
