//! A guest that runs through links, line shortcuts and lines that are decoded again, on the fast path and with the
//! oracle. Miri runs it, too (`make soak-miri-machine`).

use crate::board::Console;
use crate::computer::Limits;
use crate::config::{MachineConfig, Override};
use crate::powerpc::loader::{Boot, Chunk};
use crate::powerpc::registers::Register;
use crate::powerpc::session::Session;

/// Where the guest's code begins, and where its data.
const CODE: u32 = 0x2000;
const DATA: u32 = 0x4000;
/// Rounds of each of its two loops. Miri takes a thousand times as long for one.
const ROUNDS: u32 = if cfg!(miri) { 4 } else { 60 };

/// An instruction with two registers and 16 bits.
fn immediate(opcode: u32, target: u32, source: u32, value: u32) -> u32 {
    opcode << 26 | target << 21 | source << 16 | value & 0xffff
}

/// Adds to two words of memory in a loop, through two lines; then writes another step into the loop, makes it visible
/// to fetches, and runs the loop once more. r8 is the sum of all that it loaded.
fn guest() -> Vec<u32> {
    let addi = |target, source, value| immediate(14, target, source, value);
    let ori = |target, value| immediate(24, target, target, value);
    let lwz = |target, offset| immediate(32, target, 4, offset);
    let stw = |target, base, offset| immediate(36, target, base, offset);
    let another_step = addi(6, 6, 2);
    let mut words = vec![
        0x3c60_0000, // lis r3, 0
        ori(3, 0xc000),
        0x7c70_fba6, // mtspr HID0, r3
        0x4c00_012c, // isync
        addi(4, 0, DATA),
        addi(5, 0, ROUNDS),
        0x7ca9_03a6, // mtctr r5
    ];
    let outer = words.len() as u32;
    words.push(lwz(6, 0));
    let step = CODE + 4 * words.len() as u32;
    words.extend([
        addi(6, 6, 1),
        stw(6, 4, 0),
        stw(6, 4, 32),
        lwz(7, 32),
        0x7d08_3a14, // add r8, r8, r7
    ]);
    let back = |from: usize| (4 * outer).wrapping_sub(4 * from as u32) & 0xfffc;
    words.push(immediate(16, 16, 0, back(words.len()))); // bdnz
    words.extend([
        immediate(11, 0, 11, 0), // cmpwi r11, 0
        addi(11, 0, 1),
        addi(9, 0, step),
        immediate(15, 10, 0, another_step >> 16), // lis r10
        ori(10, another_step),
        stw(10, 9, 0),
        0x7c00_486c, // dcbst 0, r9
        0x7c00_04ac, // sync
        0x7c00_4fac, // icbi 0, r9
        0x4c00_012c, // isync
        0x7ca9_03a6, // mtctr r5
    ]);
    words.push(immediate(16, 12, 2, back(words.len()))); // beq
    words.push(0x4800_0000); // b .
    words
}

fn run(machine: &str, oracle: bool) -> (u32, Vec<(String, u64)>) {
    let file = format!("{}/../machines/{machine}.toml", env!("CARGO_MANIFEST_DIR"));
    let small = Override::parse("memory.size=0x100000").expect("a setting");
    let config = MachineConfig::from_file(file.as_ref(), &[small]).expect("a machine file");
    let bytes = guest().iter().flat_map(|word| word.to_be_bytes()).collect();
    let boot = Boot {
        chunks: vec![Chunk {
            physical: CODE,
            bytes,
        }],
        entry: CODE,
        ..Boot::default()
    };
    let mut session = Session::new(config, &boot, Console::memory()).expect("it fits");
    session.set_oracle(oracle);
    session.set_compiler(None);
    session.run(Limits {
        instructions: (20 * ROUNDS).into(),
        ..Limits::NONE
    });
    let processor = session.machine().processor();
    let sum = processor.registers.gpr.get(Register::new(8));
    let counters = if cfg!(miri) {
        Vec::new()
    } else {
        session.counters()
    };
    (sum, counters)
}

#[test]
#[cfg_attr(
    miri,
    ignore = "under Miri a whole machine takes longer than 12 minutes: make soak-miri-machine"
)]
fn a_loop_that_is_patched_runs_as_with_the_oracle() {
    let to = |n: u32| n * (n + 1) / 2;
    let sum = to(ROUNDS) + ROUNDS * ROUNDS + 2 * to(ROUNDS);
    let machines = ["ppc603-133", "ppc604-133"];
    for machine in &machines[..if cfg!(miri) { 1 } else { 2 }] {
        let fast = run(machine, false);
        assert_eq!(fast.0, sum, "{machine}");
        if !cfg!(miri) {
            assert_eq!(fast, run(machine, true), "{machine}");
        }
    }
}
