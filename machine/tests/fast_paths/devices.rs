//! Random accesses to devices in loops, while their timers run and interrupt: bare-metal programs made of random steps.
//!
//! r29 sums what the devices answer and where each interrupt came. Between the steps are cached accesses, so that
//! blocks end at many cycles.

use std::fmt::Write as _;

use proptest::prelude::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Board {
    /// Board `prep`: an 8259 pair, 8254, MC146818 and 16550.
    Prep,
    /// The same behind an OpenPIC with its timers. Every processor runs the steps.
    Openpic,
    /// Board `mpc8xx`: the SIU and a 16550.
    Mpc8xx,
}

const PREP_BOARD: &str = "board.kind=prep";
const ONES: &str = "board.empty-bus=ones";

/// Machines, their settings, and their boards.
pub const MACHINES: &[(&str, &[&str], Board)] = &[
    ("ppc603-133", &[PREP_BOARD], Board::Prep),
    ("ppc604-133", &[PREP_BOARD], Board::Prep),
    (
        "ppc604-133",
        &[
            PREP_BOARD,
            ONES,
            "cache.instruction.size=1024",
            "cache.data.size=1024",
        ],
        Board::Prep,
    ),
    ("ppc750-400", &[PREP_BOARD, ONES], Board::Prep),
    (
        "ppc604-185",
        &[PREP_BOARD, "board.interrupt-controller=openpic"],
        Board::Openpic,
    ),
    ("ppc604-185x2", &[PREP_BOARD], Board::Openpic),
    ("mpc855t-48", &[PREP_BOARD], Board::Prep),
    ("mpc855t-48", &["board.kind=mpc8xx"], Board::Mpc8xx),
];

#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// An access of some kind to a device or to nobody.
    Access(u8, u8),
    /// Reads registers of the clock so often, in a block or one to a line.
    Clock(u8, u8, bool),
    /// Sets a counter of the timer: counter, mode, count.
    SetTimer(u8, u8, u16),
    /// Latches a counter of the timer and reads it.
    ReadTimer(u8),
    /// Sets a timer of the OpenPIC to interrupt, or stops it.
    SetOpenpic(u8, u16),
    /// Reads a timer of the OpenPIC.
    ReadOpenpic(u8),
    /// Reads a register of the UART so often.
    Uart(u8, u8),
    /// Enables interrupts of the UART's transmitter, or disables them.
    Transmitter(bool),
    /// Masks some interrupts.
    Mask(u8),
    /// Sets the decrementer.
    Decrementer(u16),
    /// Reads the time base, the decrementer, or a clock of the control device.
    Time(u8),
    /// Marks a region of interest: begins or ends it.
    Region(bool),
    /// Sets MSR\[EE\].
    Enable(bool),
    /// Saves power until the decrementer wakes it.
    Doze(u16),
    /// Loads or stores of cached memory, so many lines apart, so often.
    Memory(bool, u8, u8),
    /// Instructions that need one another, so often.
    Chain(u8, u8),
}

pub fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (any::<u8>(), any::<u8>()).prop_map(|(kind, place)| Step::Access(kind, place)),
        6 => (0..14u8, 1..40u8, any::<bool>()).prop_map(|(index, count, lines)| Step::Clock(index, count, lines)),
        4 => (0..3u8, 0..6u8, 5..400u16).prop_map(|(counter, mode, count)| Step::SetTimer(counter, mode, count)),
        3 => (0..3u8).prop_map(Step::ReadTimer),
        2 => (0..4u8, 0..900u16).prop_map(|(timer, count)| Step::SetOpenpic(timer, count)),
        2 => (0..4u8).prop_map(Step::ReadOpenpic),
        3 => (1..8u8, 1..30u8).prop_map(|(register, count)| Step::Uart(register, count)),
        1 => any::<bool>().prop_map(Step::Transmitter),
        1 => prop::sample::select(vec![0, 0, 0, 0x01, 0x10, 0xff]).prop_map(Step::Mask),
        2 => (1..3000u16).prop_map(Step::Decrementer),
        3 => (0..4u8).prop_map(Step::Time),
        1 => any::<bool>().prop_map(Step::Region),
        2 => any::<bool>().prop_map(Step::Enable),
        1 => (1..2000u16).prop_map(Step::Doze),
        4 => (any::<bool>(), 1..200u8, 1..12u8).prop_map(|(store, lines, count)| Step::Memory(store, lines, count)),
        4 => (0..CHAINS.len() as u8, 1..24u8).prop_map(|(kind, count)| Step::Chain(kind, count)),
    ]
}

const CHAINS: [&str; 4] = [
    "addi 29, 29, 3",
    "mullw 29, 29, 28",
    "divwu 29, 29, 28",
    "cmpwi 29, 0\nblt 1f\naddi 29, 29, 1\n1: add 29, 29, 28",
];

/// Accesses by r7. Those that a core lacks, and those that the device does not take, raise exceptions.
const ACCESSES: [&str; 26] = [
    "lbz 6, 0(7)",
    "lhz 6, 0(7)",
    "lwz 6, 0(7)",
    "lwz 6, 1(7)",
    "lwz 6, 5(7)",
    "lbzu 6, 1(7)",
    "lhbrx 6, 0, 7",
    "lwbrx 6, 0, 7",
    "lwarx 6, 0, 7",
    "lmw 24, 0(7)",
    "lswi 24, 7, 7",
    "lfd 1, 0(7)",
    "stb 29, 0(7)",
    "sth 29, 0(7)",
    "stw 29, 0(7)",
    "stw 29, 1(7)",
    "stwbrx 29, 0, 7",
    "stwcx. 29, 0, 7",
    "stmw 24, 0(7)",
    "stswi 24, 7, 7",
    "stfd 1, 0(7)",
    "dcbz 0, 7",
    "dcbf 0, 7",
    "dcbst 0, 7",
    "dcbt 0, 7",
    "icbi 0, 7",
];
/// Clock, non-volatile memory, UART, nobody, the control device's magic number.
const PREP: [u32; 8] = [
    0x8000_0070,
    0x8000_0071,
    0x8000_0074,
    0x8000_03f9,
    0x8000_03ff,
    0x8000_0300,
    0x9000_0000,
    0x8000_1018,
];
/// Registers of the OpenPIC, of which the last is none, besides.
const OPENPIC: [u32; 3] = [0xfc00_10f0, 0xfc00_1100, 0xfc00_1001];
/// What nobody answers ends the run: these are what takes every access.
const MPC8XX: [u32; 2] = [0xff00_0030, 0xff00_2000];

impl Board {
    fn uart(self) -> u32 {
        match self {
            Board::Prep | Board::Openpic => 0x8000_03f8,
            Board::Mpc8xx => 0xfa00_0000,
        }
    }

    fn place(self, number: u8) -> u32 {
        let places: Vec<u32> = match self {
            Board::Prep => PREP.into(),
            Board::Openpic => [&PREP[..], &OPENPIC].concat(),
            Board::Mpc8xx => MPC8XX.into(),
        };
        places[usize::from(number) % places.len()]
    }

    fn has(self, step: Step) -> bool {
        match step {
            Step::Clock(..) | Step::SetTimer(..) | Step::ReadTimer(_) => self != Board::Mpc8xx,
            Step::SetOpenpic(..) | Step::ReadOpenpic(_) => self == Board::Openpic,
            // On board `mpc8xx` only words.
            Step::Access(kind, _) => self != Board::Mpc8xx || [2, 8, 14, 17].contains(&(kind % 26)),
            _ => true,
        }
    }
}

impl Step {
    fn write(self, board: Board, text: &mut String) {
        let uart = board.uart();
        let _ = match self {
            Step::Access(kind, place) => {
                let access = ACCESSES[usize::from(kind) % ACCESSES.len()];
                writeln!(
                    text,
                    "load 7, {}\n{access}\nadd 29, 29, 6",
                    board.place(place)
                )
            }
            Step::Clock(index, count, lines) => {
                let align = if lines { ".balign 32" } else { "" };
                writeln!(
                    text,
                    "li 6, {count}\nmtctr 6\nload 7, 0x80000070\nli 6, {index}\n{align}\n\
                     2: stb 6, 0(7)\neieio\n{align}\nlbz 5, 1(7)\nadd 29, 29, 5\n{align}\nbdnz 2b"
                )
            }
            Step::SetTimer(counter, mode, count) => {
                // A period is longer than the handler.
                let count = if matches!(mode, 2 | 3) {
                    count + 60
                } else {
                    count
                };
                let control = counter << 6 | 0x30 | mode << 1;
                writeln!(
                    text,
                    "load 7, 0x80000040\nli 6, {control}\nstb 6, 3(7)\nli 6, {}\nstb 6, {counter}(7)\n\
                     eieio\nli 6, {}\nstb 6, {counter}(7)",
                    count & 0xff,
                    count >> 8
                )
            }
            Step::ReadTimer(counter) => {
                let control = counter << 6;
                writeln!(
                    text,
                    "load 7, 0x80000040\nli 6, {control}\nstb 6, 3(7)\nlbz 5, {counter}(7)\nadd 29, 29, 5\n\
                     lbz 5, {counter}(7)\nadd 29, 29, 5"
                )
            }
            Step::SetOpenpic(timer, count) => {
                let register = 0xfc00_1110_u32 + 0x40 * u32::from(timer);
                let count = if count < 100 {
                    1 << 31
                } else {
                    u32::from(count)
                };
                writeln!(text, "load 7, {register}\nload 6, {count}\nstwbrx 6, 0, 7")
            }
            Step::ReadOpenpic(timer) => {
                let register = 0xfc00_1100_u32 + 0x40 * u32::from(timer);
                writeln!(text, "load 7, {register}\nlwbrx 6, 0, 7\nadd 29, 29, 6")
            }
            Step::Uart(register, count) => {
                writeln!(
                    text,
                    "li 6, {count}\nmtctr 6\nload 7, {uart}\n\
                     2: lbz 5, {register}(7)\nadd 29, 29, 5\neieio\nbdnz 2b"
                )
            }
            Step::Transmitter(on) => {
                let enabled = u8::from(on) << 1;
                writeln!(
                    text,
                    "load 7, {uart}\nli 6, {enabled}\nstb 6, 1(7)\nli 6, 'x'\nstb 6, 0(7)"
                )
            }
            Step::Mask(mask) => match board {
                Board::Prep | Board::Openpic => {
                    writeln!(text, "load 7, 0x80000021\nli 6, {mask}\nstb 6, 0(7)")
                }
                Board::Mpc8xx => {
                    let mask = u32::from(mask) << 24;
                    writeln!(text, "load 7, 0xff000014\nload 6, {mask}\nstw 6, 0(7)")
                }
            },
            Step::Decrementer(count) => writeln!(text, "li 6, {count}\nmtdec 6"),
            Step::Time(kind) => {
                let read = ["mftb 6", "mfdec 6", "lwz 6, 8(7)", "lwz 6, 16(7)"];
                let read = read[usize::from(kind)];
                writeln!(text, "load 7, 0x80001000\n{read}\nadd 29, 29, 6")
            }
            Step::Region(end) => {
                let register = if end { 4 } else { 0 };
                writeln!(text, "load 7, 0x80001000\nli 6, 3\nstw 6, {register}(7)")
            }
            Step::Enable(on) => {
                let change = if on {
                    "ori 6, 6, 0x8000"
                } else {
                    "rlwinm 6, 6, 0, 17, 15"
                };
                writeln!(text, "mfmsr 6\n{change}\nmtmsr 6\nisync")
            }
            Step::Doze(count) => writeln!(
                text,
                "li 6, {count}\nmtdec 6\nmfmsr 6\noris 6, 6, 4\nori 6, 6, 0x8000\nsync\nmtmsr 6\nisync"
            ),
            Step::Memory(store, lines, count) => {
                let access = if store { "stwu 29" } else { "lwzu 6" };
                let apart = 32 * u32::from(lines) + 4;
                writeln!(
                    text,
                    "li 6, {count}\nmtctr 6\nload 7, 0x40000\n2: {access}, {apart}(7)\nadd 29, 29, 6\nbdnz 2b"
                )
            }
            Step::Chain(kind, count) => {
                let link = format!("{}\n", CHAINS[usize::from(kind)]);
                writeln!(text, "{}", link.repeat(count.into()))
            }
        };
    }
}

/// Machine checks, storage, alignment, program and floating-point exceptions, misses and errors of a TLB.
const SKIPPED: [u32; 10] = [
    0x200, 0x300, 0x600, 0x700, 0x800, 0x1000, 0x1100, 0x1200, 0x1300, 0x1400,
];

/// A handler that goes on after the instruction: for accesses that fail.
const SKIP: &str = "
skip:
  mtspr 274, 3
  mfspr 3, 26
  add 29, 29, 3
  addi 3, 3, 4
  mtspr 26, 3
  mfspr 3, 274
  rfi
decrementer:
  mtspr 274, 3
  mfspr 3, 26
  add 29, 29, 3
  mfspr 3, 274
  rfi
";

/// What the handler of external interrupts does, with r3 and r4.
const ACKNOWLEDGE_8259: &str = "
  load 3, 0xbffffff0
  lbz 4, 0(3)
  add 29, 29, 4
  lis 3, 0x8000
  li 4, 0x20
  stb 4, 0xa0(3)
  stb 4, 0x20(3)
";
const BEGIN_OPENPIC: &str = "
  lis 3, 0xfc02
  li 4, 0xa0
  lwbrx 4, 4, 3
  add 29, 29, 4
";
const END_OPENPIC: &str = "
  lis 3, 0xfc02
  li 4, 0xb0
  stwbrx 4, 4, 3
";
const ACKNOWLEDGE_8XX: &str = "
  lis 3, 0xff00
  lwz 4, 0x1c(3)
  add 29, 29, 4
  lis 3, 0xfa00
  lbz 4, 2(3)
  add 29, 29, 4
";

/// Sets up the 8259 pair.
const SET_8259: &str = "
  load 7, 0x80000000
  li 6, 0x11
  stb 6, 0x20(7)
  li 6, 0
  stb 6, 0x21(7)
  li 6, 4
  stb 6, 0x21(7)
  li 6, 1
  stb 6, 0x21(7)
  li 6, 0
  stb 6, 0x21(7)
";
/// The OpenPIC passes the pair on to processor 0, and its timers to both; the other processors begin.
const SET_OPENPIC: &str = "
  load 7, 0xfc001020
  load 6, 0x20000000
  stwbrx 6, 0, 7
  load 7, 0xfc010000
  load 6, 0x00c80042
  stwbrx 6, 0, 7
  li 6, 1
  li 5, 0x10
  stwbrx 6, 5, 7
  load 7, 0xfc001120
  load 8, 0x00050011
  li 9, 4
  mtctr 9
1: stwbrx 8, 0, 7
  li 5, 0x10
  li 6, 3
  stwbrx 6, 5, 7
  addi 7, 7, 0x40
  bdnz 1b
  load 7, 0xfc001090
  li 6, 0
  stwbrx 6, 0, 7
";

/// A program that takes the steps some times over. With `paged`, devices and RAM are mapped.
pub fn program(board: Board, paged: bool, steps: &[Step]) -> String {
    let openpic = board == Board::Openpic;
    let mut text = String::from("_start:\n  vector 0x500, external\n  vector 0x900, decrementer\n");
    for vector in SKIPPED {
        let _ = writeln!(text, "vector {vector}, skip");
    }
    if openpic {
        text += "vector 0x100, reset\n";
    }
    text += match board {
        Board::Prep | Board::Openpic => SET_8259,
        Board::Mpc8xx => "  load 7, 0xff000014\n  load 6, 0x08000000\n  stw 6, 0(7)\n",
    };
    if openpic {
        text += SET_OPENPIC;
    }
    text += "
common:
  caches_on
";
    if openpic {
        text += "load 7, 0xfc000090\nlwbrx 20, 0, 7\nload 7, 0xfc020080\nli 6, 0\nstwbrx 6, 0, 7\n";
    } else {
        text += "li 20, 0\n";
    }
    if board != Board::Mpc8xx {
        // Doze, on cores that choose by HID0.
        text += "mfspr 6, 1008\noris 6, 6, 0x80\nmtspr 1008, 6\nisync\n";
    }
    // Of board `mpc8xx` the mapped addresses are the control device's only.
    if paged && board != Board::Mpc8xx {
        text += "paging\n";
    }
    text += "
  mfmsr 3
  ori 3, 3, 0x9000
  mtmsr 3
  isync
  li 29, 0
  li 28, 5
again:
";
    for &step in steps {
        if board.has(step) {
            step.write(board, &mut text);
        }
    }
    text += "
  addic. 28, 28, -1
  beq done
  b again
done:
  cmpwi 20, 0
  bne .
  power_off 0
external:
  mtspr 272, 3
  mtspr 273, 4
  mfspr 3, 26
  add 29, 29, 3
";
    text += if openpic { BEGIN_OPENPIC } else { "" };
    text += if board == Board::Mpc8xx {
        ACKNOWLEDGE_8XX
    } else {
        ACKNOWLEDGE_8259
    };
    text += if openpic { END_OPENPIC } else { "" };
    text += "
  mfspr 3, 272
  mfspr 4, 273
  rfi
reset:
  load 3, common
  mtctr 3
  bctr
";
    text + SKIP
}
