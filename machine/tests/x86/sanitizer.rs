//! The sanitizer of translations: a page that users reach must not lead to a freed frame.

use pagewalk_machine::x86::{Fatal, Stop};

use super::bench::{Bench, DATA, DIRECTORY, TABLE};

const FRAME_FREED: u32 = 0x8000_0f10;
const FRAME_ALLOCATED: u32 = 0x8000_0f14;
const PAGE: u32 = DATA >> 12;

fn with_address(code: &mut Vec<u8>, opcode: &[u8], address: u32) {
    code.extend(opcode);
    code.extend(address.to_le_bytes());
}

/// mov dword [address], value
fn store(code: &mut Vec<u8>, address: u32, value: u32) {
    with_address(code, &[0xc7, 0x05], address);
    code.extend(value.to_le_bytes());
}

/// Reads the page, clears its entry, says that the frame is free, and reads again.
fn bench(name: &str, bits: u32, invalidates: bool, allocates: bool) -> Bench {
    let mut code = Vec::new();
    with_address(&mut code, &[0xa1], DATA);
    store(&mut code, TABLE + 4 * PAGE, 0);
    if invalidates {
        with_address(&mut code, &[0x0f, 0x01, 0x3d], DATA);
    }
    store(&mut code, FRAME_FREED, PAGE);
    if allocates {
        store(&mut code, FRAME_ALLOCATED, PAGE);
    }
    with_address(&mut code, &[0xa1], DATA);
    code.push(0xf4);
    let mut bench = Bench::new(name, &code).paged(bits).gate(14, 0);
    bench.put_word(DIRECTORY + 0x800, 0x5_2000 | 7);
    bench.put_word(0x5_2000, 0x8000_0013);
    bench
}

#[test]
fn a_tlb_that_keeps_a_freed_frame_is_reported() {
    for name in ["i486dx-50", "p6-200"] {
        let mut stale = bench(name, 6, false, false);
        stale.machine.sanitize("translation".parse().unwrap());
        let stop = stale.run(1000);
        let Stop::Fatal(Fatal::Sanitizer { report }) = stop else {
            panic!("{name}: {stop:?}");
        };
        assert_eq!(
            report,
            "stale translation: 0x00020000 (CR3 0x00050000) still reaches page frame 0x20, which was freed"
        );
        // Without the sanitizer, by the kernel's own mapping, of a frame in use again, after INVLPG.
        let halts = |mut bench: Bench, sanitizes: bool| {
            if sanitizes {
                bench.machine.sanitize("translation".parse().unwrap());
            }
            let stop = bench.run(1000);
            assert!(
                matches!(stop, Stop::Fatal(Fatal::Asleep { .. })),
                "{name}: {stop:?}"
            );
            let counters = bench.machine.counters();
            (bench.machine.instant(), counters)
        };
        halts(bench(name, 2, false, false), true);
        halts(bench(name, 6, false, true), true);
        halts(bench(name, 6, true, false), true);
        // It changes no count.
        let plain = halts(bench(name, 6, false, true), false);
        assert_eq!(halts(bench(name, 6, false, true), true), plain, "{name}");
        halts(bench(name, 6, false, false), false);
    }
}
