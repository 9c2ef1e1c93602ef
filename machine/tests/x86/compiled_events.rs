//! Compiled code beside the interpreter and the oracle where something ends it from inside or from outside: single
//! steps, device memory, ports, interrupts.

use pagewalk_machine::x86::{Config, Stop};

use super::bench::{Bench, CODE, DATA, STACK, TABLE, handler};
use super::compiled::{POINTERS, Random, agrees_in_parts, configs, instruction, machine, scatter};
use super::random_code::outcome;

/// Where programs begin.
const START: u32 = CODE + 0x2000;

/// A page that programs map elsewhere, and where it can be: at home, at another page, where nothing answers, at the
/// control device.
const TURNING: u32 = 0x6_0000;
const FRAMES: [u32; 5] = [TURNING, TURNING, 0x6_1000, 0x20_0000, 0x8000_1000];

/// Rounds that are left, traps until their handler ends the steps, interrupts so far.
const ROUNDS: u32 = DATA + 0xf00;
const STEPS: u32 = DATA + 0xf04;
const INTERRUPTS: u32 = DATA + 0xf08;

/// The timer's interrupt.
const TIMER: u32 = 0x20;

/// An operation that has an address behind it.
fn at(opcode: &[u8], address: u32) -> Vec<u8> {
    [opcode, &address.to_le_bytes()].concat()
}

/// OUT of a byte to a port below 0x100.
fn out(port: u8, byte: u8) -> [u8; 4] {
    [0xb0, byte, 0xe6, port]
}

/// Maps the page to a frame. `forgets`: an INVLPG follows.
fn map(frame: u32, bits: u32, forgets: bool) -> Vec<u8> {
    let mut code = at(&[0xc7, 0x05], TABLE + (TURNING >> 10));
    code.extend((frame | 1 | bits).to_le_bytes());
    if forgets {
        code.extend(at(&[0x0f, 0x01, 0x3d], TURNING));
    }
    code
}

/// What ends compiled code: one of these kinds.
fn event(random: &mut Random, interrupts: bool) -> Vec<u8> {
    let operand = random.pick(&POINTERS);
    match random.below(if interrupts { 12 } else { 10 }) {
        // PUSHF, TF on or off, POPF.
        0 | 1 => vec![0x9c, 0x81, 0x0c, 0x24, 0, 1, 0, 0, 0x9d],
        2 => vec![0x9c, 0x81, 0x24, 0x24, 0xff, 0xfe, 0xff, 0xff, 0x9d],
        3 | 4 => {
            let bits = random.pick(&[6, 6, 0x66, 0x46, 0x76, 4, 0]);
            map(random.pick(&FRAMES), bits, !random.chance(4))
        }
        // Access to the page, by a pointer.
        5 => {
            let mut code = at(&[0xb8 | operand], TURNING + 0x10 * random.below(4));
            let far = random.below(16) as u8;
            let opcode = random.pick(&[0x89, 0x8b, 0x88, 0x8a, 0x01, 0x03, 0x31, 0x39]);
            code.extend([
                opcode,
                0x40 | operand | random.pick(&[0, 1, 2, 7]) << 3,
                far,
            ]);
            code
        }
        // IN and OUT: the timer, and the UART.
        6 => vec![0xe4, random.pick(&[0x40, 0x61, 0x21, 0x20])],
        7 => {
            let port = 0x3f8 + random.below(8);
            let what = random.pick(&[0xec, 0xec, 0xed, 0xee]);
            let mut code = at(&[0xba], port);
            code.push(what);
            code
        }
        // Strings, of 5 elements.
        8 => {
            let mut code = at(&[0xb9], 5);
            code.extend(at(&[0xbf], DATA + 0x400));
            code.extend([0xf3, random.pick(&[0xa4, 0xa5, 0xaa, 0xab, 0xac])]);
            code
        }
        // INT3 with a NOP that its handler skips; MOV to SS; LOOP to what follows; PUSHA and POPA.
        9 => match random.below(4) {
            0 => vec![0xcc, 0x90],
            1 => vec![0x8c, 0xd0, 0x8e, 0xd0],
            2 => vec![0xe2, 0x00],
            _ => vec![0x60, 0x61],
        },
        10 => vec![random.pick(&[0xfa, 0xfb, 0xfb])],
        // Another period of the timer.
        _ => {
            let mut code = out(0x43, 0x34).to_vec();
            code.extend(out(0x40, random.next() as u8));
            code.extend(out(0x40, random.below(3) as u8));
            code
        }
    }
}

/// Rounds of random instructions, and of what ends compiled code.
fn program(random: &mut Random, interrupts: bool) -> Vec<u8> {
    let mut code = at(&[0xc7, 0x05], ROUNDS);
    code.extend((20 + random.below(40)).to_le_bytes());
    if interrupts {
        for (port, byte) in [
            (0x20, 0x11),
            (0x21, 0x20),
            (0x21, 4),
            (0x21, 1),
            (0x21, 0xfe),
        ] {
            code.extend(out(port, byte));
        }
        code.extend(out(0x43, 0x34));
        code.extend(out(0x40, random.next() as u8));
        code.extend(out(0x40, random.below(3) as u8));
        code.push(0xfb);
    }
    let top = code.len();
    // The pointers, again in each round.
    for register in POINTERS {
        let page = random.pick(&[DATA, DATA, TURNING]);
        code.extend(at(
            &[0xb8 | register],
            page + 0x40 * random.below(8) + random.pick(&[0, 0, 2]),
        ));
    }
    code.extend(at(&[0xbc], STACK));
    for _ in 0..4 + random.below(16) {
        let mut body = Vec::new();
        for _ in 0..random.below(8) {
            let mut one = instruction(random);
            while one.iter().any(|&byte| (0x50..0x60).contains(&byte)) {
                one = instruction(random);
            }
            body.extend(one);
        }
        if random.chance(3) {
            body.extend(event(random, interrupts));
        }
        if random.chance(3) {
            code.extend([0x70 | random.below(16) as u8, body.len() as u8]);
        }
        code.extend(body);
    }
    code.extend(at(&[0xff, 0x0d], ROUNDS));
    let back = top as i32 - (code.len() as i32 + 6);
    code.extend([0x0f, 0x85]);
    code.extend(back.to_le_bytes());
    code.push(0xf4);
    code
}

/// A machine with that program, whose handlers count.
fn bench(config: &Config, code: &[u8], user: bool) -> Bench {
    let code = [vec![0x90; 0x2000], code.to_vec()].concat();
    let mut bench = machine(config, &code, user).gate(TIMER, 3);
    // DEC of the steps that are left, and after the last one TF is off.
    let mut trap = at(&[0xff, 0x0d], STEPS);
    trap.extend([0x75, 8, 0x81, 0x64, 0x24, 8, 0xff, 0xfe, 0xff, 0xff, 0xcf]);
    bench.put(handler(1), &trap);
    let mut timer = at(&[0xff, 0x05], INTERRUPTS);
    timer.extend([0x50, 0xb0, 0x20, 0xe6, 0x20, 0x58, 0xcf]);
    bench.put(handler(TIMER), &timer);
    bench
}

/// The same program by the oracle, the interpreter, and compiled code, whole and in parts. Returns how many blocks were
/// compiled, the steps and the interrupts, and whether the parts came to the program's end.
fn agrees(config: &Config, seed: u64, interrupts: bool) -> (u64, u32, u32, bool) {
    let mut random = Random((seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let code = program(&mut random, interrupts);
    let user = random.chance(4);
    let steps = 1 + random.below(60);
    let start = random.0;
    let make = |seen: Option<u32>| {
        let mut bench = bench(config, &code, user);
        bench.machine.set_compiler(seen);
        scatter(&mut bench, &mut Random(start));
        bench.put_word(STEPS, steps);
        let registers = bench.registers();
        registers.eip = START;
        // All ports are open to all rings.
        registers.system |= 3 << 12;
        bench.processor().modes_changed();
        bench
    };
    let wanted = outcome(&mut make(None), true, 20_000);
    let mut made = 0;
    let mut told = (0, 0);
    for seen in [None, Some(1), Some(3)] {
        let mut bench = make(seen);
        let found = outcome(&mut bench, false, 20_000);
        assert_eq!(found, wanted, "seed {seed}, {seen:?}");
        made += bench.machine.processor().compiler.made();
        told = (
            steps.wrapping_sub(bench.word(STEPS)),
            bench.word(INTERRUPTS),
        );
    }
    agrees_in_parts(&mut make(Some(1)), &wanted, &mut random, seed);
    (made, told.0, told.1, wanted.0 != Stop::Limit)
}

/// Runs all programs of a kind on a machine. Returns how many of them single-stepped, and how many took an interrupt.
fn all_agree(config: &Config, seeds: std::ops::Range<u64>, interrupts: bool) -> (u32, u32) {
    let (mut made, mut steps, mut taken, mut ended) = (0, 0, 0_u32, 0);
    for seed in seeds {
        let (more, stepped, interrupted, whole) = agrees(config, seed, interrupts);
        ended += u32::from(whole);
        made += more;
        steps += u32::from(stepped != 0);
        taken += u32::from(interrupted != 0);
    }
    if cfg!(all(
        feature = "compiler",
        target_arch = "x86_64",
        target_os = "linux"
    )) {
        assert!(made > 700, "{made}");
    }
    assert!(ended > 20, "{ended}");
    (steps, taken)
}

/// TF is set and cleared inside hot code, which also uses ports and a page that turns from RAM to a device and back.
#[test]
fn steps_devices_and_ports_end_compiled_code_exactly() {
    for config in configs() {
        let (steps, _) = all_agree(&config, 0..100, false);
        assert!(steps > 20, "{steps}");
    }
}

/// The same while a timer interrupts.
#[test]
fn interrupts_end_compiled_code_exactly() {
    for config in configs() {
        let (_, taken) = all_agree(&config, 1000..1100, true);
        assert!(taken > 20, "{taken}");
    }
}
