//! Blocks that jump to each other again and again, when the one that a jump leads to loses its place. The fast paths
//! and the oracle must agree on all of it.

use pagewalk_machine::x86::{Fatal, Stop};

use super::bench::{Bench, CODE, DATA, TABLE};
use super::random_code::outcome;

/// Where the block that loses its place is, and the one that does something to it.
const SECOND: u32 = CODE + 0x2000;
const THIRD: u32 = CODE + 0x1000;
/// Rounds of the loop, and how many are left when that happens.
const ROUNDS: u32 = 30;
const LEFT: u8 = 10;

fn relative(code: &mut Vec<u8>, at: u32, opcode: &[u8], target: u32) {
    code.extend(opcode);
    let end = at + code.len() as u32 + 4;
    code.extend(target.wrapping_sub(end).to_le_bytes());
}

/// Three blocks in three pages: the first counts in EAX, the second, with `second` as its first instruction, in EDX,
/// and the third carries out `action` once.
fn bench(name: &str, second: &[u8], action: &[u8]) -> Bench {
    let mut first = vec![0x40]; // inc eax
    relative(&mut first, CODE, &[0xe9], SECOND);
    let mut bench = Bench::new(name, &first).paged(6).gate(14, 0);
    let mut code = second.to_vec();
    code.push(0x49); // dec ecx
    relative(&mut code, SECOND, &[0x0f, 0x85], THIRD); // jnz
    code.push(0xf4); // hlt
    bench.put(SECOND, &code);
    let mut code = vec![0x83, 0xf9, LEFT]; // cmp ecx, LEFT
    relative(&mut code, THIRD, &[0x0f, 0x85], CODE); // jne
    code.extend(action);
    relative(&mut code, THIRD, &[0xe9], CODE);
    bench.put(THIRD, &code);
    bench.registers().gpr[1] = ROUNDS;
    bench
}

/// Runs it with the fast paths and with the oracle, which must agree; returns the first.
fn both(name: &str, second: &[u8], action: &[u8]) -> (Bench, Stop) {
    let mut fast = bench(name, second, action);
    let a = outcome(&mut fast, false, 5000);
    let mut plain = bench(name, second, action);
    let b = outcome(&mut plain, true, 5000);
    assert_eq!(a, b, "{name}");
    (fast, a.0)
}

const INC_EDX: &[u8] = &[0x42];
const DEC_EDX: u8 = 0x4a;
const MACHINES: [&str; 2] = ["i486dx-50", "p6-200"];
/// EDX, if the second block counts down from the action on.
const UP_AND_DOWN: u32 = ROUNDS - 2 * LEFT as u32;

/// mov dword [at], value
fn store(at: u32, value: u32) -> Vec<u8> {
    [&[0xc7, 0x05][..], &at.to_le_bytes(), &value.to_le_bytes()].concat()
}

/// invlpg [at]
fn invalidate(at: u32) -> Vec<u8> {
    [&[0x0f, 0x01, 0x3d][..], &at.to_le_bytes()].concat()
}

/// Loads EBX from so many addresses, each `step` behind the one before.
fn touch(from: u32, step: u32, count: u32) -> Vec<u8> {
    let load = |n: u32| [&[0x8b, 0x1d][..], &(from + n * step).to_le_bytes()].concat();
    (1..=count).flat_map(load).collect()
}

fn entry(page: u32) -> u32 {
    TABLE + (page >> 12) * 4
}

fn asleep(stop: &Stop) -> bool {
    matches!(stop, Stop::Fatal(Fatal::Asleep { .. }))
}

#[test]
fn its_code_is_overwritten() {
    let action = [&[0xc6, 0x05][..], &SECOND.to_le_bytes(), &[DEC_EDX]].concat();
    for name in MACHINES {
        let (mut bench, stop) = both(name, INC_EDX, &action);
        assert!(asleep(&stop), "{name}: {stop:?}");
        assert_eq!(bench.registers().gpr[2], UP_AND_DOWN, "{name}");
    }
}

/// A block that jumps to itself and changes its own first instruction.
#[test]
fn it_overwrites_itself() {
    let mut code = INC_EDX.to_vec();
    code.extend([0x80, 0x35]); // xor byte [CODE], 8: inc edx or dec edx
    code.extend(CODE.to_le_bytes());
    code.extend([8, 0x49, 0x75]); // dec ecx; jnz
    code.push((code.len() as u8 + 1).wrapping_neg());
    code.push(0xf4);
    for name in MACHINES {
        let make = || {
            let mut bench = Bench::new(name, &code).paged(6);
            bench.registers().gpr[1] = ROUNDS + 1;
            bench
        };
        let (mut fast, mut plain) = (make(), make());
        let a = outcome(&mut fast, false, 5000);
        assert_eq!(a, outcome(&mut plain, true, 5000), "{name}");
        assert!(asleep(&a.0), "{name}: {:?}", a.0);
        assert_eq!(fast.registers().gpr[2], 1, "{name}");
    }
}

#[test]
fn its_page_is_unmapped() {
    let action = [store(entry(SECOND), 0), invalidate(SECOND)].concat();
    for name in MACHINES {
        let (mut bench, stop) = both(name, INC_EDX, &action);
        assert!(asleep(&stop), "{name}: {stop:?}");
        assert_eq!(bench.registers().cr2, SECOND, "{name}");
        assert_eq!(bench.registers().gpr[2], ROUNDS - u32::from(LEFT), "{name}");
    }
}

#[test]
fn its_page_gets_another_frame() {
    // The frame at DATA has the same code, but for the first byte, which is written there.
    let copy = [
        &[0xbe][..],
        &SECOND.to_le_bytes(),
        &[0xbf],
        &DATA.to_le_bytes(),
    ]
    .concat();
    // mov esi, SECOND; mov edi, DATA; movsd three times
    let action = [
        copy,
        vec![0xa5, 0xa5, 0xa5, 0xc6, 0x05],
        DATA.to_le_bytes().to_vec(),
        vec![DEC_EDX],
        store(entry(SECOND), DATA | 7),
        invalidate(SECOND),
    ]
    .concat();
    for name in MACHINES {
        let (mut bench, stop) = both(name, INC_EDX, &action);
        assert!(asleep(&stop), "{name}: {stop:?}");
        assert_eq!(bench.registers().gpr[2], UP_AND_DOWN, "{name}");
    }
}

/// The page table has changed, and the TLB learns of it when other pages have driven the old entry out.
#[test]
fn its_translation_is_evicted() {
    let action = [store(entry(SECOND), 0), touch(SECOND, 0x8000, 12)].concat();
    for name in MACHINES {
        let (mut bench, stop) = both(name, INC_EDX, &action);
        assert!(asleep(&stop), "{name}: {stop:?}");
        // A P6 has a TLB for fetches alone.
        let faults = name == "i486dx-50";
        assert_eq!(bench.registers().cr2 == SECOND, faults, "{name}");
    }
}

#[test]
fn its_line_is_evicted() {
    let action = touch(SECOND, 0x800, 12);
    for name in MACHINES {
        let (mut bench, stop) = both(name, INC_EDX, &action);
        assert!(asleep(&stop), "{name}: {stop:?}");
        let (mut quiet, _) = both(name, INC_EDX, &touch(SECOND, 0, 12));
        let misses = |bench: &mut Bench| bench.counter("cache.instruction.miss");
        let more = misses(&mut bench) > misses(&mut quiet);
        // A P6 has a cache for fetches alone.
        assert_eq!(more, name == "i486dx-50", "{name}");
    }
}

/// The second block's first instruction reads memory, whose page is unmapped, or whose line is evicted, in between.
#[test]
fn what_it_reads_loses_its_place() {
    // add edx, [DATA]
    let second = [&[0x03, 0x15][..], &DATA.to_le_bytes()].concat();
    let unmap = [store(entry(DATA), 0), invalidate(DATA)].concat();
    for name in MACHINES {
        for action in [touch(DATA, 0x800, 12), store(DATA, 7)] {
            let (_, stop) = both(name, &second, &action);
            assert!(asleep(&stop), "{name}: {stop:?}");
        }
        let (mut bench, _) = both(name, &second, &unmap);
        assert_eq!(bench.registers().cr2, DATA, "{name}");
    }
}
