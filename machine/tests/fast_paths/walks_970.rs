//! Random walks for the 970: the same physical pages through pages of 4 KB in three address spaces and through a large
//! page, in both modes and above 4 GB, with segment and page faults that handlers answer, and everything that makes
//! ERAT and TLB differ from SLB and hash table.
//!
//! EA 0 and 0x80000000 are large pages, RAM and devices. What lies from physical 0x300000 on is seen at 0x40000000
//! and, as `Step::Space` says, at 0x50000000, where another space shows what is from 0x400000 on; at 0x60300000
//! through a large page; at 5_40000000 as at 0x40000000. In every page stands a routine that adds to r29. Handlers use
//! r10 to r15, and steps r6 to r8.

use std::fmt::Write as _;

use proptest::prelude::*;

/// Pages of each region.
const PAGES: [u32; 12] = [0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144];
/// Lines of a page.
const LINES: [u32; 4] = [0, 0x400, 0x840, 0xc20];
/// Where the routine of a page stands.
const ROUTINE: u32 = 0xf80;

#[derive(Clone, Copy, Debug)]
pub struct Place {
    region: u8,
    page: u8,
    line: u8,
}

impl Place {
    fn index(self) -> u32 {
        PAGES[usize::from(self.page)]
    }

    /// The lower half.
    fn page(self) -> u32 {
        [0x4000_0000, 0x5000_0000, 0x6030_0000, 0x4000_0000][usize::from(self.region)]
            + (self.index() << 12)
    }

    fn address(self) -> u32 {
        self.page() + LINES[usize::from(self.line)]
    }

    fn far(self) -> bool {
        self.region == 3
    }

    /// The groups that can have its PTE.
    fn groups(self) -> Vec<u32> {
        let spaces: &[u32] =
            [&[0x140][..], &[0x150, 0x151], &[], &[0x140]][usize::from(self.region)];
        let group = |vsid: &u32| 0x20_0000 + ((vsid ^ self.index()) << 7);
        spaces.iter().map(group).collect()
    }
}

/// The flag of a step: it is followed by what makes it seen.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// One of [`ACCESSES`].
    Access(u8, Place),
    /// Calls the routine of a page.
    Call(Place),
    /// Patches it, and makes the change seen or not.
    Patch(Place, bool),
    /// One of [`CACHE`].
    Cache(u8, Place),
    /// Takes the PTEs of a page away; then `tlbie`, or not.
    Remove(Place, bool),
    /// Makes the PTEs of a page what this says: read-only, unreferenced, not to be fetched from; then `tlbie`, or not.
    Change(u8, Place, bool),
    /// `tlbie` or `tlbiel`, with L.
    Invalidate(Place, u8),
    /// The space of segment 5; then `slbie`, or not.
    Space(bool, bool),
    /// By `mtsr` too.
    Bridge(bool),
    /// `slbia`.
    Segments,
    /// A load and a store with MSR\[DR\] off.
    Real(Place),
    /// Flips a bit of HID4 or HID5: real-mode inhibit, flash invalidation, the size of `dcbz`.
    Hid(u8),
    /// The decrementer interrupts so many ticks later.
    Timer(u16),
    /// Time base or decrementer goes into r29.
    Clock(u8),
    /// MSR\[EE\] off, some work, MSR\[EE\] on.
    Masked(u8),
    /// What the SLB and the control device show of an entry goes into r29.
    Show(u8),
    /// System call.
    System,
    /// Instructions that need one another.
    Chain(u8, u8),
}

pub fn step() -> impl Strategy<Value = Step> {
    let place = || {
        (0..4u8, 0..PAGES.len() as u8, 0..LINES.len() as u8)
            .prop_map(|(region, page, line)| Place { region, page, line })
    };
    let seen = any::<bool>;
    prop_oneof![
        24 => (0..ACCESSES.len() as u8, place()).prop_map(|(kind, place)| Step::Access(kind, place)),
        8 => place().prop_map(Step::Call),
        1 => (place(), seen()).prop_map(|(place, seen)| Step::Patch(place, seen)),
        2 => (0..CACHE.len() as u8, place()).prop_map(|(kind, place)| Step::Cache(kind, place)),
        2 => (place(), seen()).prop_map(|(place, seen)| Step::Remove(place, seen)),
        2 => (0..3u8, place(), seen()).prop_map(|(what, place, seen)| Step::Change(what, place, seen)),
        2 => (place(), 0..4u8).prop_map(|(place, how)| Step::Invalidate(place, how)),
        2 => (seen(), seen()).prop_map(|(space, seen)| Step::Space(space, seen)),
        1 => seen().prop_map(Step::Bridge),
        1 => Just(Step::Segments),
        1 => place().prop_map(Step::Real),
        1 => (0..3u8).prop_map(Step::Hid),
        2 => (1..3000u16).prop_map(Step::Timer),
        1 => (0..2u8).prop_map(Step::Clock),
        1 => (1..12u8).prop_map(Step::Masked),
        1 => (0..64u8).prop_map(Step::Show),
        1 => Just(Step::System),
        2 => (0..CHAINS.len() as u8, 1..12u8).prop_map(|(kind, count)| Step::Chain(kind, count)),
    ]
}

const ACCESSES: [&str; 16] = [
    "lbz 6, 3(7)",
    "lhz 6, 6(7)",
    "lwz 6, 8(7)",
    "lwz 6, 29(7)",
    "lwa 6, 8(7)",
    "ld 6, 16(7)",
    "ldu 6, 24(7)",
    "lwarx 6, 0, 7",
    "ldarx 6, 0, 7",
    "stb 29, 3(7)",
    "sth 29, 6(7)",
    "stw 29, 8(7)",
    "stw 29, 13(7)",
    "std 29, 16(7)",
    "stwcx. 29, 0, 7",
    "stdcx. 29, 0, 7",
];
const CHAINS: [&str; 6] = [
    "addi 29, 29, 3",
    "mulld 29, 29, 28",
    "divdu 29, 29, 28",
    "rldicl 29, 29, 7, 3",
    "cmpdi 29, 0\nblt 1f\naddi 29, 29, 1\n1: add 29, 29, 28",
    "fcfid 1, 2\nfsqrt 2, 1",
];
const CACHE: [&str; 6] = ["dcbf", "dcbst", "dcbt", "dcbtst", "dcbz", "icbi"];

/// Loads an address into r7, and enters 64-bit mode where it needs that; r6 is lost.
fn reach(place: Place, address: u32, text: &mut String) {
    let _ = writeln!(text, "load 7, {address}");
    if place.far() {
        let _ = writeln!(text, "li 6, 5\nrldimi 7, 6, 32, 0");
        enter(text);
    }
}

fn enter(text: &mut String) {
    let _ = writeln!(
        text,
        "mfmsr 31\nli 6, 1\nrldimi 31, 6, 63, 0\nmtmsrd 31\nisync"
    );
}

fn leave(place: Place, text: &mut String) {
    if place.far() {
        let _ = writeln!(text, "narrow");
    }
}

impl Step {
    fn write(self, n: usize, text: &mut String) {
        let _ = match self {
            Step::Access(kind, place) => {
                reach(place, place.address(), text);
                let _ = writeln!(text, "{}\nadd 29, 29, 6", ACCESSES[usize::from(kind)]);
                leave(place, text);
                Ok(())
            }
            Step::Call(place) => {
                reach(place, place.page() + ROUTINE, text);
                if place.far() {
                    // The routine returns through LR to the low addresses.
                    let _ = writeln!(text, "mtctr 7\nbctrl");
                } else {
                    let _ = writeln!(text, "mtlr 7\nblrl");
                }
                leave(place, text);
                Ok(())
            }
            Step::Patch(place, seen) => {
                // addi 29, 29, n
                let word = 0x3bbd_0000 + n;
                reach(place, place.page() + ROUTINE, text);
                let _ = writeln!(text, "load 6, {word}\nstw 6, 0(7)");
                if seen {
                    let _ = writeln!(text, "dcbst 0, 7\nsync\nicbi 0, 7\nisync");
                }
                leave(place, text);
                Ok(())
            }
            Step::Cache(kind, place) => {
                reach(place, place.address(), text);
                let _ = writeln!(text, "{} 0, 7", CACHE[usize::from(kind)]);
                leave(place, text);
                Ok(())
            }
            Step::Remove(place, seen) => {
                for group in place.groups() {
                    let _ = writeln!(text, "li 6, 0\nload 7, {group}");
                    for slot in 0..8 {
                        let _ = writeln!(text, "std 6, {}(7)", 16 * slot);
                    }
                }
                Self::invalidate(place, seen, text)
            }
            Step::Change(what, place, seen) => {
                for group in place.groups() {
                    let _ = writeln!(text, "load 7, {group}");
                    for slot in 0..8 {
                        let at = 16 * slot + 8;
                        let change = ["ori 6, 6, 3", "li 8, 0x180\nandc 6, 6, 8", "ori 6, 6, 4"]
                            [usize::from(what)];
                        let _ = writeln!(text, "ld 6, {at}(7)\n{change}\nstd 6, {at}(7)");
                    }
                }
                Self::invalidate(place, seen, text)
            }
            Step::Invalidate(place, how) => {
                let how = ["tlbie 7", "tlbiel 7", "tlbie 7, 1", "tlbiel 7, 1"][usize::from(how)];
                writeln!(text, "load 7, {}\n{how}", place.page())
            }
            Step::Space(space, seen) => {
                let seen = if seen { "lis 7, 0x5000\nslbie 7" } else { "" };
                let vsid = 0x15_0000 + (u32::from(space) << 12);
                writeln!(
                    text,
                    "load 7, vsids\nload 6, {vsid:#x}\nstd 6, 40(7)\n{seen}\nlis 7, 0x5800\nori 7, 7, 5\nslbmte 6, 7"
                )
            }
            Step::Bridge(space) => {
                let value = 0x150 + u32::from(space);
                writeln!(
                    text,
                    "load 7, vsids\nload 6, {:#x}\nstd 6, 40(7)\nli 6, {value:#x}\nmtsr 5, 6\nmfsr 6, 5\nadd 29, 29, 6",
                    value << 12
                )
            }
            Step::Segments => writeln!(text, "slbia\nisync"),
            Step::Real(place) => {
                let address = 0x30_0000 + (place.index() << 12) + LINES[usize::from(place.line)];
                writeln!(
                    text,
                    "load 8, 0xb020\nmtmsr 8\nisync\nload 7, {address}\nld 6, 0(7)\nstw 29, 4(7)\n\
                     load 8, 0xb030\nmtmsr 8\nisync\nadd 29, 29, 6"
                )
            }
            Step::Hid(which) => {
                let (register, shift) = [(1012, 40), (1012, 35), (1014, 7)][usize::from(which)];
                writeln!(
                    text,
                    "mfspr 7, {register}\nli 6, 1\nsldi 6, 6, {shift}\nxor 7, 7, 6\nmtspr {register}, 7"
                )
            }
            Step::Timer(ticks) => writeln!(text, "li 7, {ticks}\nmtdec 7"),
            Step::Clock(which) => {
                let register = ["mftb 6", "mfdec 6"][usize::from(which)];
                writeln!(text, "{register}\nadd 29, 29, 6")
            }
            Step::Masked(count) => {
                let work = "addi 29, 29, 1\n".repeat(count.into());
                writeln!(
                    text,
                    "load 8, 0x3030\nmtmsr 8\n{work}load 8, 0xb030\nmtmsr 8"
                )
            }
            Step::Show(number) => writeln!(
                text,
                "li 7, {number}\nslbmfee 6, 7\nadd 29, 29, 6\nslbmfev 6, 7\nxor 29, 29, 6\n\
                 poke 0x80000f2c, {}\nlwz 6, 8(30)\nadd 29, 29, 6",
                u32::from(number) * 16
            ),
            Step::System => writeln!(text, "sc"),
            Step::Chain(kind, count) => {
                let link = format!("{}\n", CHAINS[usize::from(kind)]);
                writeln!(text, "{}", link.repeat(count.into()))
            }
        };
    }

    fn invalidate(place: Place, seen: bool, text: &mut String) -> std::fmt::Result {
        let seen = if seen { "tlbie 7" } else { "" };
        writeln!(text, "load 7, {}\nptesync\n{seen}", place.page())
    }
}

/// Handlers, routines. A page fault gives the page a PTE that permits no fetches at first; a fetch then gets it, and a
/// store to a read-only page does.
const START: &str = "
_start:
  vector 0x300, to_data
  vector 0x380, to_data_segment
  vector 0x400, to_fetch
  vector 0x480, to_fetch_segment
  vector 0x900, to_tick
  vector 0xc00, to_call
  load 7, 0x00300000
  li 5, 512
  mtctr 5
  load 5, 0x3bbd0001
  load 6, 0x4e800020
1: stw 5, 0xf80(7)
  stw 6, 0xf84(7)
  addi 7, 7, 0x1000
  bdnz 1b
  load 3, 0x00200000
  mtspr 25, 3
  pte 0x00228000, 0x00500005, 0x00000192
  pte 0x00230000, 0x00600005, 0x800001aa
  pte 0x00238000, 0x00700005, 0x00000012
  segment 0x08000000, 0x00500100
  li 3, 0
  mtsprg 1, 3
  mtsprg 2, 3
  load 3, 0xb030
  mtmsr 3
  isync
  li 29, 0
  li 28, 6
  li 27, 0x123
  b again
  .balign 8
vsids:
  .long 0, 0x00500100, 0, 0, 0, 0, 0, 0, 0, 0x00140000, 0, 0x00150000, 0, 0x00700100, 0, 0
  .long 0, 0x00600100, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
to_data: ba data
to_data_segment: ba data_segment
to_fetch: ba fetch
to_fetch_segment: ba fetch_segment
to_tick: ba tick
to_call: ba call
  .space 128
call:
  addi 27, 27, 1
  rfid
tick:
  lis 10, 0x7fff
  mtdec 10
  addi 27, 27, 7
  rfid
data_segment:
  mfspr 10, 19
  b 1f
fetch_segment:
  mfspr 10, 26
1: mfcr 15
  rldicr 12, 10, 0, 35
  oris 12, 12, 0x0800
  mfsprg 13, 1
  addi 13, 13, 1
  mtsprg 1, 13
  andi. 13, 13, 3
  addi 13, 13, 16
  rldicl 11, 10, 36, 60
  cmpwi 11, 5
  bne 1f
  li 13, 5
1: or 12, 12, 13
  sldi 11, 11, 3
  load 14, vsids
  ldx 14, 14, 11
  slbmte 14, 12
  mtcr 15
  rfid
data:
  mfcr 15
  mfspr 10, 19
  mfspr 11, 18
  andis. 11, 11, 0x4000
  li 13, 3
  b 1f
fetch:
  mfcr 15
  mfspr 10, 26
  mfspr 11, 27
  andis. 11, 11, 0x4000
  li 13, 4
1: mtsprg 3, 13
  rldicl 11, 10, 36, 60
  sldi 11, 11, 3
  load 14, vsids
  ldx 14, 14, 11
  srdi 14, 14, 12
  rldicl 11, 10, 52, 48
  xor 12, 14, 11
  rldicl 12, 12, 0, 53
  sldi 12, 12, 7
  addis 12, 12, 0x20
  bne 3f
  mfctr 13
  mtsprg 0, 13
  li 13, 8
  mtctr 13
2: ld 13, 8(12)
  mfsprg 11, 3
  andc 13, 13, 11
  ori 13, 13, 2
  std 13, 8(12)
  addi 12, 12, 16
  bdnz 2b
  mfsprg 13, 0
  mtctr 13
  ptesync
  tlbie 10
  mtcr 15
  rfid
3: mfsprg 13, 2
  addi 13, 13, 1
  mtsprg 2, 13
  rldicl 13, 13, 0, 61
  sldi 13, 13, 4
  add 12, 12, 13
  sldi 11, 11, 12
  addis 11, 11, 0x30
  andi. 13, 14, 1
  sldi 13, 13, 20
  add 11, 11, 13
  ori 11, 11, 0x16
  std 11, 8(12)
  sldi 14, 14, 12
  rldicl 13, 10, 41, 59
  sldi 13, 13, 7
  or 14, 14, 13
  ori 14, 14, 1
  std 14, 0(12)
  ptesync
  mtcr 15
  rfid
again:
";

/// A program that repeats the steps several times.
pub fn program(steps: &[Step]) -> String {
    let mut text = START.to_owned();
    for (n, step) in steps.iter().enumerate() {
        step.write(n, &mut text);
    }
    text + "addic. 28, 28, -1\nbeq done\nb again\ndone:\nload 3, 0x1030\nmtmsr 3\npower_off 0\n"
}
