//! Random walks for the 405: the same physical pages through entries of 1 KB, 4 KB, 64 KB and 1 MB, in two address
//! spaces, with misses and refusals that handlers answer, and everything that makes a shadow entry differ from the
//! entry that it was copied from.
//!
//! EA 0 and 0x80000000 are pages of 16 MB, RAM and devices. What lies from physical 0x300000 on is seen at 0x40000000
//! by 4 KB, at 0x44000000 by 1 KB, at 0x48000000 by 64 KB and at 0x4c000000 by 1 MB; in the second address space the
//! first is from 0x400000 on. In every page stands a routine that adds to r29. Handlers use r10 to r15.

use std::fmt::Write as _;

use proptest::prelude::*;

/// Pages of each region.
const PAGES: [u32; 12] = [0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144];
/// Lines of a page, one in each 1 KB.
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
    fn page(self) -> u32 {
        0x4000_0000 + (u32::from(self.region) << 26) + (PAGES[usize::from(self.page)] << 12)
    }

    fn address(self) -> u32 {
        self.page() + LINES[usize::from(self.line)]
    }
}

/// The flag of a step: `isync` follows, so that the shadow TLBs are emptied.
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
    /// Makes the entry of a page invalid.
    Invalidate(Place, bool),
    /// `tlbia`.
    InvalidateAll(bool),
    /// PID.
    Space(u8, bool),
    /// ZPR.
    Zones(u8, bool),
    /// Loads an entry of 4 KB for a page, whether or not there is one, for either frame.
    Load(Place, u8, bool),
    /// A load and a store with MSR\[DR\] off.
    Real(Place),
    /// Flips ICCR, DCCR or DCWR.
    Storage(u8),
    /// The PIT interrupts so many ticks later.
    Timer(u16),
    /// Time base or PIT goes into r29.
    Clock(u8),
    /// `wrteei 0`, some work, `wrteei 1`.
    Masked(u8),
    /// What `tlbre` and the control device show of an entry goes into r29.
    Show(u8),
    /// System call.
    Call405,
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
        2 => (place(), seen()).prop_map(|(place, seen)| Step::Invalidate(place, seen)),
        1 => seen().prop_map(Step::InvalidateAll),
        2 => (1..3u8, seen()).prop_map(|(pid, seen)| Step::Space(pid, seen)),
        1 => (0..4u8, seen()).prop_map(|(field, seen)| Step::Zones(field, seen)),
        2 => (place(), 0..128u8, seen()).prop_map(|(place, number, seen)| Step::Load(place, number, seen)),
        1 => place().prop_map(Step::Real),
        1 => (0..3u8).prop_map(Step::Storage),
        2 => (1..3000u16).prop_map(Step::Timer),
        1 => (0..3u8).prop_map(Step::Clock),
        1 => (1..12u8).prop_map(Step::Masked),
        1 => (0..64u8).prop_map(Step::Show),
        1 => Just(Step::Call405),
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
const CHAINS: [&str; 5] = [
    "addi 29, 29, 3",
    "mullw 29, 29, 28",
    "divwu 29, 29, 28",
    "macchw 29, 28, 27",
    "cmpwi 29, 0\nblt 1f\naddi 29, 29, 1\n1: add 29, 29, 28",
];
const CACHE: [&str; 9] = [
    "dcbf", "dcbst", "dcbt", "dcbz", "icbi", "dcba", "icbt", "dccci", "iccci",
];

fn routine(place: Place) -> u32 {
    place.page() + ROUTINE
}

fn barrier(seen: bool) -> &'static str {
    if seen { "isync" } else { "" }
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
            Step::Invalidate(place, seen) => {
                writeln!(
                    text,
                    "load 7, {}\ntlbsx. 6, 0, 7\nbne 1f\ntlbwe 6, 6, 0\n1: {}",
                    place.address(),
                    barrier(seen)
                )
            }
            Step::InvalidateAll(seen) => writeln!(text, "tlbia\n{}", barrier(seen)),
            Step::Space(pid, seen) => {
                writeln!(text, "li 7, {pid}\nmtspr 945, 7\n{}", barrier(seen))
            }
            Step::Zones(field, seen) => {
                // All pages of the walk are in zone 1.
                let zones = u32::from(field) << 28;
                writeln!(text, "load 7, {zones:#x}\nmtspr 944, 7\n{}", barrier(seen))
            }
            Step::Load(place, number, seen) => {
                let page = place.page();
                let frame = if number > 63 { 0x40_0000 } else { 0x30_0000 };
                let frame = frame + (PAGES[usize::from(place.page)] << 12);
                writeln!(
                    text,
                    "li 8, {number}\nload 7, {:#x}\ntlbwe 7, 8, 1\nload 7, {:#x}\ntlbwe 7, 8, 0\n{}",
                    frame | 0x310,
                    page | 0xc0,
                    barrier(seen)
                )
            }
            Step::Real(place) => {
                let frame = 0x30_0000 + (PAGES[usize::from(place.page)] << 12);
                let address = frame + LINES[usize::from(place.line)];
                writeln!(
                    text,
                    "load 8, 0x9020\nmtmsr 8\nisync\nload 7, {address}\nlwz 6, 0(7)\nstw 29, 4(7)\n\
                     load 8, 0x9030\nmtmsr 8\nisync\nadd 29, 29, 6"
                )
            }
            Step::Storage(which) => {
                let register = [1018, 1019, 954][usize::from(which)];
                writeln!(
                    text,
                    "mfspr 7, {register}\nxoris 7, 7, 0x8000\nmtspr {register}, 7\nisync"
                )
            }
            Step::Timer(ticks) => writeln!(text, "li 7, {ticks}\nmtspr 987, 7"),
            Step::Clock(which) => {
                let register = ["mftb 6", "mfspr 6, 987", "mfspr 6, 984"][usize::from(which)];
                writeln!(text, "{register}\nadd 29, 29, 6")
            }
            Step::Masked(count) => {
                let work = "addi 29, 29, 1\n".repeat(count.into());
                writeln!(text, "wrteei 0\n{work}wrteei 1")
            }
            Step::Show(number) => writeln!(
                text,
                "li 7, {number}\nmfspr 8, 945\ntlbre 6, 7, 0\nmtspr 945, 8\nadd 29, 29, 6\ntlbre 6, 7, 1\n\
                 xor 29, 29, 6\npoke 0x80000f2c, {number}\nlwz 6, 8(30)\nadd 29, 29, 6"
            ),
            Step::Call405 => writeln!(text, "sc"),
            Step::Chain(kind, count) => {
                let link = format!("{}\n", CHAINS[usize::from(kind)]);
                writeln!(text, "{}", link.repeat(count.into()))
            }
        };
    }
}

/// Handlers, routines. A reload permits neither stores nor fetches on pages of 4 KB at first.
const START: &str = "
_start:
  caches_on
  vector 0x300, to_refused
  vector 0x400, to_fetch_refused
  vector 0xc00, to_call
  vector 0x1000, to_pit
  vector 0x1100, to_data_miss
  vector 0x1200, to_instruction_miss
  tlbia
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
  mtspr 945, 3
  lis 3, 0x0400
  mtspr 986, 3
  load 3, 0x9030
  mtmsr 3
  isync
  li 29, 0
  li 28, 6
  li 27, 0x123
  b again
to_refused: ba refused
to_fetch_refused: ba fetch_refused
to_call: ba call
to_pit: ba pit
to_data_miss: ba data_miss
to_instruction_miss: ba instruction_miss
  .space 128
call:
  addi 27, 27, 1
  rfi
pit:
  lis 10, 0x0800
  mtspr 984, 10
  addi 27, 27, 7
  rfi
refused:
  mfcr 15
  mfspr 10, 981
  li 13, 0x100
  b permit
fetch_refused:
  mfcr 15
  mfspr 10, 26
  li 13, 0x200
permit:
  tlbsx. 11, 0, 10
  bne 1f
  tlbre 12, 11, 1
  or 12, 12, 13
  tlbwe 12, 11, 1
1: mtcr 15
  rfi
instruction_miss:
  mfcr 15
  mfspr 10, 26
  b reload
data_miss:
  mfcr 15
  mfspr 10, 981
reload:
  mfspr 14, 945
  srwi 11, 10, 28
  cmpwi 11, 0
  beq 1f
  cmpwi 11, 8
  beq 2f
  rlwinm 12, 10, 0, 6, 31
  addis 12, 12, 0x30
  rlwinm 11, 10, 6, 30, 31
  cmpwi 11, 1
  beq 4f
  cmpwi 11, 2
  beq 5f
  bgt 6f
  cmpwi 14, 2
  bne 3f
  addis 12, 12, 0x10
3: rlwinm 10, 10, 0, 0, 19
  ori 10, 10, 0xc0
  rlwinm 12, 12, 0, 0, 19
  ori 12, 12, 0x10
  b 8f
1: li 10, 0x3c0
  li 12, 0x300
  b 7f
2: lis 10, 0x8000
  mr 12, 10
  ori 10, 10, 0x3c0
  ori 12, 12, 0x305
  b 7f
4: rlwinm 10, 10, 0, 0, 21
  ori 10, 10, 0x40
  rlwinm 12, 12, 0, 0, 21
  ori 12, 12, 0x310
  b 7f
5: rlwinm 10, 10, 0, 0, 15
  ori 10, 10, 0x1c0
  rlwinm 12, 12, 0, 0, 15
  ori 12, 12, 0x310
  b 7f
6: rlwinm 10, 10, 0, 0, 11
  ori 10, 10, 0x2c0
  rlwinm 12, 12, 0, 0, 11
  ori 12, 12, 0x310
7: li 13, 0
  mtspr 945, 13
8: mfspr 11, 278
  addi 11, 11, 1
  mtspr 278, 11
  tlbwe 12, 11, 1
  tlbwe 10, 11, 0
  mtspr 945, 14
  mtcr 15
  rfi
again:
";

/// A program that repeats the steps several times.
pub fn program(steps: &[Step]) -> String {
    let mut text = START.to_owned();
    for (n, step) in steps.iter().enumerate() {
        step.write(n, &mut text);
    }
    text + "addic. 28, 28, -1\nbeq done\nb again\ndone:\nwrteei 0\npower_off 0\n"
}
