//! Random walks for the MPC8xx: the same physical pages through entries of every size, in two address spaces,
//! with misses and errors that handlers answer from tables, and everything in between that changes what an
//! entry says: the counter, reserved entries, protection modes, entries that overlap, cache commands.
//!
//! EA 0 and 0x80000000 are pages of 8 MB, RAM and devices. What lies from physical 0x300000 on is seen at
//! 0x40000000 by 4 KB, at 0x44000000 by 16 KB, at 0x48000000 by 512 KB and at 0x4c000000 by 8 MB; in the
//! second address space the first is from 0x400000 on. In every page stands a routine that adds to r29.

use std::fmt::Write as _;

use proptest::prelude::*;

/// Pages of each region: more than a TLB holds, and some that lie in one larger page.
const PAGES: [u32; 12] = [0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144];
/// Lines of a page, one in each subpage.
const LINES: [u32; 4] = [0, 0x400, 0x840, 0xc20];
/// Where the routine of a page stands.
const ROUTINE: u32 = 0xf80;
/// Where each region begins, and what its first page is of the 4 KB from physical 0x300000.
const REGIONS: [u32; 4] = [0x4000_0000, 0x4400_0000, 0x4800_0000, 0x4c30_0000];

#[derive(Clone, Copy, Debug)]
pub struct Place {
    region: u8,
    page: u8,
    line: u8,
}

impl Place {
    fn page(self) -> u32 {
        REGIONS[usize::from(self.region)] + (PAGES[usize::from(self.page)] << 12)
    }

    fn address(self) -> u32 {
        self.page() + LINES[usize::from(self.line)]
    }
}

#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// One of [`LOADS`] or [`STORES`].
    Access(u8, Place),
    /// Calls the routine of a page.
    Call(Place),
    /// Patches it, and makes the change seen or not.
    Patch(Place, bool),
    /// `dcbf`, `dcbst`, `dcbt`, `dcbz` or `icbi`.
    Cache(u8, Place),
    /// `tlbie` of a page.
    Invalidate(Place),
    /// `tlbia`.
    InvalidateAll,
    /// The other address space with its table, or the same again.
    Space(bool),
    /// Loads an entry of 4 KB for a page at once, whether or not there is one, for either frame.
    Load(Place, bool),
    /// Flips a bit of MD_CTR, of MI_CTR, or of both.
    Control(u8, u8),
    /// Where the next entry goes, and the kind of side as in `Control`.
    Index(u8, u8),
    /// A load with MSR\[DR\] off.
    Real(Place),
    /// A command of IC_CST or DC_CST, accesses, and caches that are on again.
    Command(u8, Place),
    /// What the debug registers show of an entry of the data TLB or the instruction TLB goes into r29.
    Show(u8, bool),
    /// The same by the control device.
    Look(u8, bool),
    /// Instructions that need one another.
    Chain(u8, u8),
}

pub fn step() -> impl Strategy<Value = Step> {
    let place =
        || {
            let (regions, pages, lines) = (REGIONS.len(), PAGES.len(), LINES.len());
            (0..regions as u8, 0..pages as u8, 0..lines as u8)
                .prop_map(|(region, page, line)| Place { region, page, line })
        };
    let accesses = ACCESSES.len() as u8;
    prop_oneof![
        24 => (0..accesses, place()).prop_map(|(kind, place)| Step::Access(kind, place)),
        8 => place().prop_map(Step::Call),
        1 => (place(), any::<bool>()).prop_map(|(place, seen)| Step::Patch(place, seen)),
        2 => (0..5u8, place()).prop_map(|(kind, place)| Step::Cache(kind, place)),
        2 => place().prop_map(Step::Invalidate),
        1 => Just(Step::InvalidateAll),
        2 => any::<bool>().prop_map(Step::Space),
        2 => (place(), any::<bool>()).prop_map(|(place, other)| Step::Load(place, other)),
        2 => (0..3u8, 0..CONTROLS.len() as u8).prop_map(|(side, bit)| Step::Control(side, bit)),
        1 => (0..3u8, 0..32u8).prop_map(|(side, index)| Step::Index(side, index)),
        1 => place().prop_map(Step::Real),
        1 => (0..COMMANDS.len() as u8, place()).prop_map(|(kind, place)| Step::Command(kind, place)),
        1 => (0..32u8, any::<bool>()).prop_map(|(number, fetch)| Step::Show(number, fetch)),
        1 => (0..40u8, any::<bool>()).prop_map(|(number, fetch)| Step::Look(number, fetch)),
        2 => (0..CHAINS.len() as u8, 1..12u8).prop_map(|(kind, count)| Step::Chain(kind, count)),
    ]
}

const ACCESSES: [&str; 10] = [
    "lbz 6, 3(7)",
    "lhz 6, 6(7)",
    "lwz 6, 8(7)",
    "lwz 6, 29(7)",
    "lwarx 6, 0, 7",
    "stb 29, 3(7)",
    "sth 29, 6(7)",
    "stw 29, 8(7)",
    "stw 29, 13(7)",
    "stwcx. 29, 0, 7",
];
const CHAINS: [&str; 4] = [
    "addi 29, 29, 3",
    "mullw 29, 29, 28",
    "divwu 29, 29, 28",
    "cmpwi 29, 0\nblt 1f\naddi 29, 29, 1\n1: add 29, 29, 28",
];
const CACHE: [&str; 5] = ["dcbf", "dcbst", "dcbt", "dcbz", "icbi"];
/// Domains (group 0 is a client then, as it takes the page's word otherwise), protection by subpage, reserved entries,
/// entries that hit by mode, real mode inhibited, real mode written through.
const CONTROLS: [u32; 6] = [0x8000, 0x4000, 0x0800, 0x0200, 0x2000, 0x1000];
/// Register and command: D-cache off, written through, I-cache off, invalid.
const COMMANDS: [(u32, u32); 4] = [(568, 0x0400), (568, 0x0100), (560, 0x0400), (560, 0x0c00)];

fn routine(place: Place) -> u32 {
    place.page() + ROUTINE
}

/// SPR numbers of Mx_CTR for a side: data, instruction, both.
fn controls(side: u8) -> &'static [u32] {
    [&[792][..], &[784], &[784, 792]][usize::from(side)]
}

impl Step {
    fn write(self, n: usize, text: &mut String) {
        let _ = match self {
            Step::Access(kind, place) => {
                let access = ACCESSES[usize::from(kind)];
                let address = place.address();
                writeln!(text, "load 7, {address}\n{access}\nadd 29, 29, 6")
            }
            Step::Call(place) => {
                writeln!(text, "load 7, {}\nmtlr 7\nblrl", routine(place))
            }
            Step::Patch(place, seen) => {
                // addi 29, 29, n
                let word = 0x3bbd_0000 + n;
                let at = routine(place);
                let _ = writeln!(text, "load 7, {at}\nload 6, {word}\nstw 6, 0(7)");
                let seen = if seen {
                    "dcbst 0, 7\nsync\nicbi 0, 7\nisync"
                } else {
                    ""
                };
                writeln!(text, "{seen}")
            }
            Step::Cache(kind, place) => {
                let operation = CACHE[usize::from(kind)];
                writeln!(text, "load 7, {}\n{operation} 0, 7", place.address())
            }
            Step::Invalidate(place) => {
                writeln!(text, "load 7, {}\ntlbie 7\ntlbsync", place.address())
            }
            Step::InvalidateAll => writeln!(text, "tlbia"),
            Step::Space(other) => {
                let (asid, base) = if other {
                    (2, 0x21_0000)
                } else {
                    (1, 0x20_0000)
                };
                writeln!(
                    text,
                    "li 7, {asid}\nmtspr 793, 7\nload 7, {base}\nmtspr 796, 7\nisync"
                )
            }
            Step::Load(place, other) => {
                let page = place.page();
                let frame = if other { 0x40_0000 } else { 0x30_0000 };
                let frame = frame + (PAGES[usize::from(place.page)] << 12);
                writeln!(
                    text,
                    "load 7, {:#x}\nmfspr 6, 793\nor 7, 7, 6\nmtspr 795, 7\nli 7, 1\n\
                     mtspr 797, 7\nload 7, {:#x}\nmtspr 798, 7\nisync",
                    page | 0x200,
                    frame | 0x9f1
                )
            }
            Step::Control(side, bit) => {
                let bit = CONTROLS[usize::from(bit)];
                for register in controls(side) {
                    let _ = writeln!(
                        text,
                        "mfspr 7, {register}\nxoris 7, 7, {bit:#x}\nmtspr {register}, 7"
                    );
                }
                writeln!(text, "isync")
            }
            Step::Index(side, index) => {
                for register in controls(side) {
                    let _ = writeln!(
                        text,
                        "mfspr 7, {register}\nli 6, {index}\nrlwimi 7, 6, 8, 19, 23\nmtspr {register}, 7"
                    );
                }
                Ok(())
            }
            Step::Real(place) => {
                let frame = 0x30_0000 + (PAGES[usize::from(place.page)] << 12);
                let address = frame + LINES[usize::from(place.line)];
                writeln!(
                    text,
                    "load 8, 0x1022\nmtmsr 8\nisync\nload 7, {address}\nlwz 6, 0(7)\nstw 29, 4(7)\n\
                     load 8, 0x1032\nmtmsr 8\nisync\nadd 29, 29, 6"
                )
            }
            Step::Command(kind, place) => {
                let (register, command) = COMMANDS[usize::from(kind)];
                writeln!(
                    text,
                    "lis 8, {command:#x}\nmtspr {register}, 8\nisync\nload 7, {}\nmtlr 7\nblrl\n\
                     lwz 6, -64(7)\nstw 6, -60(7)\nadd 29, 29, 6\nlis 8, 0x0200\nmtspr 560, 8\nmtspr 568, 8\n\
                     lis 8, 0x0300\nmtspr 568, 8\nisync",
                    routine(place)
                )
            }
            Step::Show(number, fetch) => {
                let (control, cam) = if fetch { (784, 816) } else { (792, 824) };
                writeln!(
                    text,
                    "mfspr 7, {control}\nli 6, {number}\nrlwimi 7, 6, 8, 19, 23\nmtspr {control}, 7\n\
                     mtspr {cam}, 7\nmfspr 6, {cam}\nadd 29, 29, 6\nmfspr 6, {}\nxor 29, 29, 6\n\
                     mfspr 6, {}\nadd 29, 29, 6",
                    cam + 1,
                    cam + 2
                )
            }
            Step::Look(number, fetch) => {
                let selected = u32::from(number) | u32::from(fetch) << 31;
                writeln!(
                    text,
                    "poke 0x80000f2c, {selected}\nlwz 6, 8(30)\nadd 29, 29, 6\nlwz 6, 16(30)\nxor 29, 29, 6"
                )
            }
            Step::Chain(kind, count) => {
                let link = format!("{}\n", CHAINS[usize::from(kind)]);
                writeln!(text, "{}", link.repeat(count.into()))
            }
        };
    }
}

/// Handlers, tables, routines. Every third page of 4 KB is unchanged at first.
const START: &str = "
_start:
  caches_on
  vector 0x1100, itlb_miss
  vector 0x1200, dtlb_miss
  vector 0x1400, dtlb_error
  load 3, 0x40000000
  mtspr 786, 3
  mtspr 794, 3
  tlbia
  load 3, 0x00200000
  load 4, 0x00201001
  bl table
  load 3, 0x00210000
  load 4, 0x00211001
  bl table
  load 3, 0x00201000
  load 4, 0x003009f1
  bl pages
  load 3, 0x00211000
  load 4, 0x004009f1
  bl pages
  load 3, 0x00202000
  load 4, 0x003009f9
  bl sixteen
  load 3, 0x00203000
  load 4, 0x003009f1
  bl large
  load 3, 0x00204000
  load 4, 0x000009fd
  bl large
  load 3, 0x00205000
  load 4, 0x800009ff
  bl large
  load 7, 0x00300000
  li 5, 512
  mtctr 5
  load 5, 0x3bbd0001
  load 6, 0x4e800020
1: stw 5, 0xf80(7)
  stw 6, 0xf84(7)
  addi 7, 7, 0x1000
  bdnz 1b
  li 3, 1
  mtspr 793, 3
  load 3, 0x00200000
  mtspr 796, 3
  load 3, 0x1032
  mtmsr 3
  isync
  li 29, 0
  li 28, 6
  b again
# A level-one table at r3, the region of 4 KB by the descriptor in r4.
table:
  load 5, 0x0020400d
  stw 5, 0(3)
  stw 5, 4(3)
  stw 4, 0x400(3)
  load 5, 0x00202001
  stw 5, 0x440(3)
  load 5, 0x00203005
  stw 5, 0x480(3)
  load 5, 0x0020400d
  stw 5, 0x4c0(3)
  stw 5, 0x4c4(3)
  load 5, 0x0020501d
  stw 5, 0x800(3)
  blr
pages:
  li 5, 256
  mtctr 5
  li 6, 0
1: cmpwi 6, 2
  addi 6, 6, 1
  mr 5, 4
  bne 2f
  rlwinm 5, 4, 0, 24, 22
  li 6, 0
2: stw 5, 0(3)
  addi 3, 3, 4
  addi 4, 4, 0x1000
  bdnz 1b
  blr
sixteen:
  li 5, 64
  mtctr 5
1: stw 4, 0(3)
  stw 4, 4(3)
  stw 4, 8(3)
  stw 4, 12(3)
  addi 3, 3, 16
  addi 4, 4, 0x4000
  bdnz 1b
  blr
# A level-two table of one descriptor for pages of 512 KB from the first on, or of 8 MB.
large:
  li 5, 1024
  mtctr 5
  li 6, 0
1: stw 4, 0(3)
  addi 3, 3, 4
  addi 6, 6, 1
  andi. 5, 6, 127
  bne 2f
  andi. 5, 4, 8
  bne 2f
  addis 4, 4, 8
2: bdnz 1b
  blr
itlb_miss:
  mtsprg 0, 10
  mfspr 10, 26
  mtspr 795, 10
  mfspr 10, 796
  lwz 10, 0(10)
  mtspr 789, 10
  mtspr 797, 10
  mfspr 10, 797
  lwz 10, 0(10)
  mtspr 790, 10
  mfsprg 10, 0
  rfi
dtlb_miss:
  mtsprg 0, 10
  mfspr 10, 796
  lwz 10, 0(10)
  mtspr 797, 10
  mfspr 10, 797
  lwz 10, 0(10)
  mtspr 798, 10
  mfsprg 10, 0
  rfi
dtlb_error:
  mtsprg 0, 10
  mtsprg 1, 11
  mfspr 10, 19
  tlbie 10
  rlwinm 10, 10, 0, 0, 19
  mfspr 11, 793
  or 10, 10, 11
  ori 10, 10, 0x200
  mtspr 795, 10
  mfspr 10, 796
  lwz 11, 0(10)
  mtspr 797, 11
  mfspr 10, 797
  lwz 11, 0(10)
  ori 11, 11, 0x100
  stw 11, 0(10)
  mtspr 798, 11
  mfsprg 10, 0
  mfsprg 11, 1
  rfi
again:
";

/// A program that repeats the steps several times.
pub fn program(steps: &[Step]) -> String {
    let mut text = START.to_owned();
    for (n, step) in steps.iter().enumerate() {
        step.write(n, &mut text);
    }
    text + "addic. 28, 28, -1\nbeq done\nb again\ndone:\npower_off 0\n"
}
