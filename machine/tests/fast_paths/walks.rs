//! Random walks over pages, lines and code that share sets of TLBs and caches, with everything in
//! between that takes a shortcut away: bare-metal programs made of random steps.
//!
//! Segment 4 is mapped by the hash table with either of two VSIDs, 256 pages each. In every page stands
//! a routine that adds to r29.

use std::fmt::Write as _;

use proptest::prelude::*;

/// Pages of segment 4: the same classes of the TLBs again and again.
const PAGES: [u32; 10] = [0, 1, 2, 32, 33, 64, 65, 128, 130, 192];
/// Lines of a page: the same sets of the caches again and again.
const LINES: [u32; 4] = [0, 0x200, 0x400, 0xc20];
/// Where the routine of a page stands.
const ROUTINE: u32 = 0xf80;

#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// A load (`lbz`, `lhz`, `lwz`, `lfd`, unaligned `lwz`, `lwarx`) from a page and line.
    Load(u8, u8, u8),
    /// The store of the same kind.
    Store(u8, u8, u8),
    /// Calls the routine of a page.
    Call(u8),
    /// Patches the routine of a page, and makes the change seen or not.
    Patch(u8, bool),
    /// `dcbf`, `dcbst`, `dcbt`, `dcbz` or `icbi` of a page and line.
    Cache(u8, u8, u8),
    /// `tlbie` of a page.
    Invalidate(u8),
    /// The other VSID, or the same again.
    Segment(bool),
    /// A load with MSR\[DR\] off.
    Real(u8, u8),
    /// HID0 with the caches enabled, locked, off or flash-invalidated in some way, and enabled again.
    Hid0(u8, u8),
    /// A BAT written, with what it held.
    Bat,
    /// What TLB_SELECT shows of a TLB entry: its page goes into r29.
    Look(u8, bool),
    /// Instructions that need one another, of a kind, so often: as many as several lines hold.
    Chain(u8, u8),
    /// A loop of one block, or of one to a line, around such an instruction.
    Loop(u8, u8, bool),
}

pub fn step() -> impl Strategy<Value = Step> {
    let page = || 0..PAGES.len() as u8;
    let line = || 0..LINES.len() as u8;
    prop_oneof![
        12 => (0..6u8, page(), line()).prop_map(|(kind, page, line)| Step::Load(kind, page, line)),
        12 => (0..6u8, page(), line()).prop_map(|(kind, page, line)| Step::Store(kind, page, line)),
        8 => page().prop_map(Step::Call),
        1 => (page(), any::<bool>()).prop_map(|(page, seen)| Step::Patch(page, seen)),
        2 => (0..5u8, page(), line()).prop_map(|(kind, page, line)| Step::Cache(kind, page, line)),
        1 => page().prop_map(Step::Invalidate),
        1 => any::<bool>().prop_map(Step::Segment),
        1 => (page(), line()).prop_map(|(page, line)| Step::Real(page, line)),
        1 => (0..5u8, page()).prop_map(|(kind, page)| Step::Hid0(kind, page)),
        1 => Just(Step::Bat),
        2 => (any::<u8>(), any::<bool>()).prop_map(|(number, fetch)| Step::Look(number % 128, fetch)),
        4 => (0..CHAINS.len() as u8, 1..24u8).prop_map(|(kind, count)| Step::Chain(kind, count)),
        4 => (0..CHAINS.len() as u8, 1..9u8, any::<bool>())
            .prop_map(|(kind, count, lines)| Step::Loop(kind, count, lines)),
    ]
}

const LOADS: [&str; 6] = [
    "lbz 6, 3(7)",
    "lhz 6, 6(7)",
    "lwz 6, 8(7)",
    "lfd 1, 16(7)",
    "lwz 6, 29(7)",
    "lwarx 6, 0, 7",
];
const STORES: [&str; 6] = [
    "stb 29, 3(7)",
    "sth 29, 6(7)",
    "stw 29, 8(7)",
    "stfd 1, 16(7)",
    "stw 29, 29(7)",
    "stwcx. 29, 0, 7",
];
const CHAINS: [&str; 8] = [
    "addi 29, 29, 3",
    "mullw 29, 29, 28",
    "divwu 29, 29, 28",
    "rlwinm. 29, 29, 3, 0, 31",
    "adde 29, 29, 29",
    "fadd 1, 1, 1",
    "cmpwi 29, 5\nmfcr 6\nadd 29, 29, 6",
    "cmpwi 29, 0\nblt 1f\naddi 29, 29, 1\n1: add 29, 29, 28",
];
const CACHE: [&str; 5] = ["dcbf", "dcbst", "dcbt", "dcbz", "icbi"];
/// D-cache locked, D-cache off, I-cache locked, I-cache off, I-cache flash-invalidated.
const HID0: [u32; 5] = [0xd000, 0x8000, 0xe000, 0x4000, 0xc800];

fn place(page: u8, line: u8) -> u32 {
    0x4000_0000 + (PAGES[usize::from(page)] << 12) + LINES[usize::from(line)]
}

fn routine(page: u8) -> u32 {
    0x4000_0000 + (PAGES[usize::from(page)] << 12) + ROUTINE
}

impl Step {
    fn write(self, n: usize, text: &mut String) {
        let _ = match self {
            Step::Load(kind, page, line) => {
                let load = LOADS[usize::from(kind)];
                let address = place(page, line);
                writeln!(text, "load 7, {address}\n{load}\nadd 29, 29, 6")
            }
            Step::Store(kind, page, line) => {
                let store = STORES[usize::from(kind)];
                writeln!(text, "load 7, {}\n{store}", place(page, line))
            }
            Step::Call(page) => {
                writeln!(text, "load 7, {}\nmtlr 7\nblrl", routine(page))
            }
            Step::Patch(page, seen) => {
                // addi 29, 29, n
                let word = 0x3bbd_0000 + n;
                let _ = writeln!(
                    text,
                    "load 7, {}\nload 6, {word}\nstw 6, 0(7)",
                    routine(page)
                );
                let seen = if seen {
                    "dcbst 0, 7\nsync\nicbi 0, 7\nisync"
                } else {
                    ""
                };
                writeln!(text, "{seen}")
            }
            Step::Cache(kind, page, line) => {
                let operation = CACHE[usize::from(kind)];
                writeln!(text, "load 7, {}\n{operation} 0, 7", place(page, line))
            }
            Step::Invalidate(page) => {
                writeln!(text, "load 7, {}\ntlbie 7\ntlbsync", place(page, 0))
            }
            Step::Segment(other) => {
                let vsid = if other { 0x456 } else { 0x123 };
                writeln!(text, "load 7, {:#x}\nmtsr 4, 7\nisync", 0x2000_0000 + vsid)
            }
            Step::Real(page, line) => {
                let address = place(page, line) - 0x4000_0000 + 0x30_0000;
                writeln!(
                    text,
                    "load 8, 0x3020\nmtmsr 8\nisync\nload 7, {address}\nlwz 6, 0(7)\nstw 29, 4(7)\n\
                     load 8, 0x3030\nmtmsr 8\nisync\nadd 29, 29, 6"
                )
            }
            Step::Hid0(kind, page) => {
                let value = HID0[usize::from(kind)];
                writeln!(
                    text,
                    "load 8, {value}\nmtspr 1008, 8\nisync\nload 7, {}\nmtlr 7\nblrl\n\
                     lwz 6, -64(7)\nadd 29, 29, 6\nload 8, 0xc000\nmtspr 1008, 8\nisync",
                    routine(page)
                )
            }
            Step::Bat => writeln!(text, "mfspr 8, 536\nmtspr 536, 8\nisync"),
            Step::Look(number, fetch) => {
                let selected = u32::from(number) | u32::from(fetch) << 31;
                writeln!(
                    text,
                    "poke 0x80000f2c, {selected}\nlwz 6, 8(30)\nadd 29, 29, 6\nrotlwi 29, 29, 1"
                )
            }
            Step::Chain(kind, count) => {
                let link = format!("{}\n", CHAINS[usize::from(kind)]);
                writeln!(text, "{}", link.repeat(count.into()))
            }
            Step::Loop(kind, count, lines) => {
                let align = if lines { ".balign 32" } else { "" };
                let link = CHAINS[usize::from(kind)];
                writeln!(
                    text,
                    "li 6, {count}\nmtctr 6\n{align}\n2: {link}\n{align}\nbdnz 2b"
                )
            }
        };
    }
}

/// A program that takes the steps many times over. The code alone must fit what its BAT maps.
pub fn program(steps: &[Step]) -> String {
    let mut text = String::from(
        "
_start:
  caches_on
  li 5, 0
  load 8, 0x80009180
  load 9, 0x00300012
  load 11, 0x80022b00
  load 12, 0x00400012
  load 13, 0x3bbd0001
  load 14, 0x4e800020
1: xori 6, 5, 0x123
  slwi 6, 6, 6
  addis 6, 6, 0x20
  stw 8, 0(6)
  stw 9, 4(6)
  xori 6, 5, 0x056
  slwi 6, 6, 6
  addis 6, 6, 0x20
  stw 11, 0(6)
  stw 12, 4(6)
  rlwinm 7, 9, 0, 0, 19
  stw 13, 0xf80(7)
  stw 14, 0xf84(7)
  rlwinm 7, 12, 0, 0, 19
  stw 13, 0xf80(7)
  stw 14, 0xf84(7)
  addi 9, 9, 0x1000
  addi 12, 12, 0x1000
  addi 5, 5, 1
  cmpwi 5, 256
  blt 1b
  paging
  load 3, 0x3030
  mtmsr 3
  isync
  li 29, 0
  li 28, 12
again:
",
    );
    for (n, step) in steps.iter().enumerate() {
        step.write(n, &mut text);
    }
    text + "addic. 28, 28, -1\nbeq done\nb again\ndone:\npower_off 0\n"
}
