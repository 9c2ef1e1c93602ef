//! Random instruction sequences that stay within their code and data.

use super::multiply;
use super::random::Random;

/// First instruction of a sequence, in both machines.
pub const CODE: u32 = 0x0110_0000;
/// The memory that sequences load and store.
pub const DATA: u32 = 0x0100_0000;
pub const DATA_SIZE: u32 = 256;

const FX: u32 = 0x8000_0000;

/// What a sequence ends with.
const TRAP: u32 = 0x7fe0_0008;

/// Everything that a sequence begins with.
#[derive(Clone, Debug)]
pub struct Sequence {
    /// The upper halves are 0 for cores of 32 bits.
    pub gpr: [u64; 32],
    pub cr: u32,
    pub xer: u32,
    pub lr: u64,
    pub ctr: u64,
    pub fpr: [u64; 32],
    pub data: Vec<u8>,
    pub words: Vec<u32>,
}

/// Instruction words, as PEM appendix A forms them.
fn d(opcode: u32, t: u32, a: u32, immediate: u32) -> u32 {
    opcode << 26 | t << 21 | a << 16 | immediate & 0xffff
}

fn x(opcode: u32, t: u32, a: u32, b: u32, extended: u32, record: u32) -> u32 {
    opcode << 26 | t << 21 | a << 16 | b << 11 | extended << 1 | record
}

fn li(t: u32, value: u32) -> [u32; 2] {
    [d(15, t, 0, value >> 16), d(24, t, t, value)]
}

/// As [`Random::value`], of 64 bits.
fn doubleword(r: &mut Random) -> u64 {
    let (high, low) = (r.value(), r.value());
    match r.below(4) {
        0 => u64::from(low),
        1 => low.cast_signed() as u64,
        _ => u64::from(high) << 32 | u64::from(low),
    }
}

/// The core that sequences are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Core {
    Ppc604,
    /// It has multiply-accumulate instructions and no floating point.
    Ppc405,
    /// In 32-bit mode, with its own instructions: results have 64 bits, addresses and compares 32.
    Ppc970In32Bits,
    /// In 64-bit mode.
    Ppc970,
}

impl Core {
    pub fn machine(self) -> &'static str {
        match self {
            Core::Ppc604 => "ppc604-133",
            Core::Ppc405 => "ppc405-200",
            Core::Ppc970In32Bits | Core::Ppc970 => "ppc970-1600",
        }
    }

    /// The emulator that judges it, and its name there.
    pub fn judge(self) -> (&'static str, &'static str) {
        match self {
            Core::Ppc604 => ("qemu-ppc", "604"),
            Core::Ppc405 => ("qemu-ppc", "405gp"),
            Core::Ppc970 => ("qemu-ppc64", "970"),
            Core::Ppc970In32Bits => ("qemu-system-ppc64", "970fx"),
        }
    }

    /// Registers have 64 bits.
    pub fn doubles(self) -> bool {
        matches!(self, Core::Ppc970In32Bits | Core::Ppc970)
    }
}

/// Makes sequences of one seed.
///
/// Left out, because qemu-ppc 7.2 gets it wrong:
/// - fnmadd and fnmsub under a directed rounding mode: it negates before it rounds (PEM `fnmadd`:
///   rounded, then negated). A sequence has either these or a directed mode;
/// - FX: it is set whenever an exception is raised, not only when its bit turns from 0 to 1 (PEM
///   table 2-4). It is set from the beginning where an exception bit is, after
///   everything that may have set one, and cleared last;
/// - FX after mtfsb1 of an invalid-operation bit: it is not set (same table). It is set before;
/// - fcmpo of a signalling NaN with VE set: it raises VXVC as well (PEM `fcmpo`: only while VE is
///   clear);
/// - fcfid of what no double holds, with XE set: it leaves the target as it was (PEM 3.3.6.2.3: it gets the result);
/// - FR, FI and C (see `ours::UNJUDGED`): field 3 is read only after it has been set.
pub struct Generator {
    random: Random,
    words: Vec<u32>,
    core: Core,
    /// FPSCR[RN] may be 2 or 3 in this sequence.
    directed: bool,
    /// Overflow or underflow may be enabled in it: then frsp of what no single can hold even with
    /// its exponent adjusted is undefined (PEM 3.3.6.2.1), and so is single-precision arithmetic
    /// on operands that are no singles.
    enabled: bool,
    /// Invalid operation may be enabled.
    invalid_enabled: bool,
    /// So may inexact results: `mtfsf` sets that bit together with the rounding mode.
    inexact_enabled: bool,
}

impl Generator {
    pub fn new(seed: u64, core: Core) -> Self {
        Generator {
            random: Random::new(seed),
            words: Vec::new(),
            core,
            directed: false,
            enabled: false,
            invalid_enabled: false,
            inexact_enabled: false,
        }
    }

    /// One sequence of `length` units, most of them one instruction.
    pub fn sequence(&mut self, length: u32) -> Sequence {
        self.words.clear();
        let r = &mut self.random;
        let narrow = !self.core.doubles();
        let gpr = std::array::from_fn(|_| {
            if narrow {
                r.value().into()
            } else {
                doubleword(r)
            }
        });
        let mut fpr: [u64; 32] = std::array::from_fn(|_| r.double());
        let mut data: Vec<u8> = (0..DATA_SIZE).map(|_| r.word() as u8).collect();
        for place in data.chunks_exact_mut(8).step_by(2) {
            place.copy_from_slice(&r.double().to_be_bytes());
        }
        // The FPSCR comes from f0 by the first instruction. Enabled exceptions are rare, because
        // they end a sequence.
        let enables = if r.chance(8) { r.word() & 0xf8 } else { 0 };
        let sticky = if r.chance(2) {
            FX | r.word() & 0x1ffb_f700
        } else {
            0
        };
        let directed = r.chance(2);
        let rounding = if directed { r.word() & 3 } else { r.word() & 1 };
        fpr[0] = u64::from(sticky | enables | rounding);
        let (cr, xer) = (r.word(), r.word() & 0xe000_007f);
        let mut register = || {
            let low = u64::from(r.word() & !3);
            if narrow {
                low
            } else {
                u64::from(r.word()) << 32 | low
            }
        };
        let (lr, ctr) = (register(), register());
        if self.core != Core::Ppc405 {
            self.words.push(63 << 26 | 0xff << 17 | 711 << 1);
        }
        self.directed = directed;
        self.enabled = enables & 0x60 != 0;
        self.invalid_enabled = enables & 0x80 != 0;
        self.inexact_enabled = directed || enables & 8 != 0;
        let kind = self.random.below(8);
        for _ in 0..length {
            self.unit(kind);
        }
        if self.core != Core::Ppc405 && self.random.chance(4) {
            self.clear_summary();
        }
        self.words.push(TRAP);
        Sequence {
            gpr,
            cr,
            xer,
            lr,
            ctr,
            fpr,
            data,
            words: self.words.clone(),
        }
    }

    fn register(&mut self) -> u32 {
        self.random.below(32)
    }

    fn unit(&mut self, kind: u32) {
        let choice = if self.random.chance(3) {
            self.random.below(8)
        } else {
            kind
        };
        if self.wide() && self.random.chance(2) {
            match choice {
                0 | 1 | 3 => return self.doubleword(),
                2 => return self.doubleword_memory(),
                6 | 7 => return self.doubleword_float(),
                _ => {}
            }
        }
        match choice {
            0 | 1 => self.integer(),
            2 => self.memory(),
            3 => self.branch(),
            4 => self.condition(),
            _ if self.core == Core::Ppc405 => self.multiply(),
            5 => self.float_memory(),
            _ => self.float(),
        }
    }

    /// Multiplication of half-words, with or without a sum. Floating-point instructions, which end the sequence, are
    /// rare. So are the forms that neither check nor saturate the sum: qemu-ppc gets every one of them wrong.
    fn multiply(&mut self) {
        if self.random.chance(64) {
            return if self.random.chance(2) {
                self.float_memory();
            } else {
                self.float();
            };
        }
        let (t, a, b) = (self.register(), self.register(), self.register());
        let record = self.random.below(2);
        let forms = multiply::forms();
        let plain = self.random.chance(64);
        let extended = loop {
            let form = self.random.pick(&forms);
            if plain || !multiply::discards_sum(form) {
                break form;
            }
        };
        self.words.push(x(4, t, a, b, extended, record));
    }

    fn wide(&self) -> bool {
        self.core.doubles()
    }

    /// Arithmetic, shifts, rotates and compares of double words, and what the 970 has besides.
    fn doubleword(&mut self) {
        let (t, a, b) = (self.register(), self.register(), self.register());
        let record = self.random.below(2);
        let word = match self.random.below(8) {
            0 | 1 => {
                let extended = self.random.pick(&[233, 73, 9, 489, 457]);
                let has_overflow = !matches!(extended, 73 | 9);
                let overflow = (u32::from(has_overflow) * self.random.below(2)) << 9;
                x(31, t, a, b, extended | overflow, record)
            }
            2 | 3 => {
                let extended = self.random.pick(&[986, 58, 27, 539, 794, 826, 827]);
                let unary = matches!(extended, 986 | 58);
                x(31, t, a, if unary { 0 } else { b }, extended, record)
            }
            4 | 5 => {
                let bound = self.random.below(64);
                let bound = (bound & 31) << 6 | bound & 32;
                let by = self.random.below(2) << 1;
                let kind = self.random.pick(&[0, 4, 8, 12, 16, 18]);
                // Those by a register have no bit of the amount there.
                let by = if kind >= 16 { 0 } else { by };
                30 << 26 | t << 21 | a << 16 | b << 11 | bound | kind | by | record
            }
            6 => {
                let field = self.random.below(8) << 2 | 1;
                match self.random.below(3) {
                    0 => x(31, field, a, b, self.random.pick(&[0, 32]), 0),
                    1 => d(10, field, a, self.random.value()),
                    _ => d(11, field, a, self.random.value()),
                }
            }
            _ => match self.random.below(8) {
                // td and tdi, of which one that traps ends the sequence.
                0 => x(31, t, a, b, 68, 0),
                1 => d(2, t, a, self.random.value()),
                // mfocrf and mtocrf.
                n => {
                    let field = 0x8_0000 >> self.random.below(8);
                    let extended = if n & 1 == 0 { 19 } else { 144 };
                    31 << 26 | t << 21 | 1 << 20 | field | extended << 1
                }
            },
        };
        self.words.push(word);
    }

    fn doubleword_memory(&mut self) {
        let alignment = if self.random.chance(4) { 1 } else { 8 };
        let address = self.address(8, alignment);
        match self.random.below(8) {
            0..=3 => {
                let (opcode, kind) =
                    self.random
                        .pick(&[(58, 0), (58, 1), (58, 2), (62, 0), (62, 1)]);
                let base = 1 + self.random.below(31);
                let displacement = self.random.word() as u16 as i16 as u32 & !3;
                self.words
                    .extend(li(base, address.wrapping_sub(displacement)));
                self.fill_upper(base);
                let t = self.other_register(base);
                self.words.push(d(opcode, t, base, displacement | kind));
            }
            4..=6 => {
                let (base, index) = self.indexed(address);
                let extended = self.random.pick(&[21, 53, 149, 181, 341, 373]);
                let t = self.other_register(base);
                self.words.push(x(31, t, base, index, extended, 0));
            }
            _ => {
                let (base, index) = self.indexed(address & !7);
                let t = self.other_register(base);
                let t = if t == index { 0 } else { t };
                if t != 0 && t != base && !self.random.chance(4) {
                    self.words.push(x(31, t, base, index, 84, 0));
                }
                self.words.push(x(31, t, base, index, 214, 1));
            }
        }
    }

    /// fcfid, fctid, fctidz; fsqrt.
    fn doubleword_float(&mut self) {
        let (t, b) = (self.register(), self.register());
        let record = self.random.below(2);
        let all = [22, 814, 815, 846];
        let extended = self
            .random
            .pick(&all[..all.len() - usize::from(self.inexact_enabled)]);
        let single = extended == 22 && !self.enabled && self.random.chance(2);
        let opcode = if single { 59 } else { 63 };
        self.words.push(x(opcode, t, 0, b, extended, record));
    }

    fn integer(&mut self) {
        let (t, a, b) = (self.register(), self.register(), self.register());
        let immediate = self.random.value();
        let record = self.random.below(2);
        let word = match self.random.below(8) {
            0 => {
                let opcode = self.random.pick(&[14, 15, 12, 13, 8, 7]);
                d(opcode, t, a, immediate)
            }
            1 => {
                let opcode = self.random.pick(&[24, 25, 26, 27, 28, 29]);
                d(opcode, t, a, immediate)
            }
            2 => {
                let field = self.random.below(8) << 2;
                let opcode = self.random.pick(&[10, 11]);
                d(opcode, field, a, immediate)
            }
            3 => {
                let field = self.random.below(8) << 2;
                let extended = self.random.pick(&[0, 32]);
                x(31, field, a, b, extended, 0)
            }
            4 | 5 => {
                let arithmetic = [
                    266, 10, 138, 234, 202, 40, 8, 136, 232, 200, 104, 235, 75, 11, 491, 459,
                ];
                let extended = self.random.pick(&arithmetic);
                let unary = matches!(extended, 234 | 202 | 232 | 200 | 104);
                let has_overflow = !matches!(extended, 75 | 11);
                let overflow = (u32::from(has_overflow) * self.random.below(2)) << 9;
                x(
                    31,
                    t,
                    a,
                    if unary { 0 } else { b },
                    extended | overflow,
                    record,
                )
            }
            6 => {
                let logic = [
                    28, 444, 316, 476, 124, 284, 60, 412, 954, 922, 26, 24, 536, 792, 824,
                ];
                let extended = self.random.pick(&logic);
                let unary = matches!(extended, 954 | 922 | 26);
                x(31, t, a, if unary { 0 } else { b }, extended, record)
            }
            _ => {
                let opcode = self.random.pick(&[20, 21, 23]);
                let (begin, end) = (self.register(), self.register());
                opcode << 26 | t << 21 | a << 16 | b << 11 | begin << 6 | end << 1 | record
            }
        };
        if self.random.chance(16) {
            self.special();
        }
        self.words.push(word);
    }

    /// mfspr and mtspr of XER, LR and CTR; mcrxr.
    fn special(&mut self) {
        let t = self.register();
        let spr = self.random.pick(&[1, 8, 9]) << 16;
        let word = match self.random.below(3) {
            0 => 31 << 26 | t << 21 | spr | 339 << 1,
            1 => {
                // Only the implemented bits of XER: rlwinm t,t,0,25,2.
                if spr == 1 << 16 {
                    self.words
                        .push(21 << 26 | t << 21 | t << 16 | 25 << 6 | 2 << 1);
                    if self.wide() {
                        // Nor the upper half: rldicl t,t,0,32.
                        self.words.push(30 << 26 | t << 21 | t << 16 | 32);
                    }
                }
                31 << 26 | t << 21 | spr | 467 << 1
            }
            _ => x(31, self.random.below(8) << 2, 0, 0, 512, 0),
        };
        self.words.push(word);
    }

    fn condition(&mut self) {
        let (t, a, b) = (self.register(), self.register(), self.register());
        let word = match self.random.below(6) {
            0..=2 => {
                let logic = [257, 449, 193, 225, 33, 289, 129, 417];
                let extended = self.random.pick(&logic);
                x(19, t, a, b, extended, 0)
            }
            3 => x(19, t & 28, a & 28, 0, 0, 0),
            4 => x(31, t, 0, 0, 19, 0),
            _ => 31 << 26 | t << 21 | self.random.below(256) << 12 | 144 << 1,
        };
        self.words.push(word);
    }

    /// An address in the data, with room for `bytes` after it.
    fn address(&mut self, bytes: u32, alignment: u32) -> u32 {
        DATA + (self.random.below(DATA_SIZE - bytes) & !(alignment - 1))
    }

    /// Loads a base register and gives it with a displacement to add.
    fn base(&mut self, address: u32) -> (u32, u32) {
        let base = 1 + self.random.below(31);
        let displacement = self.random.word() as u16 as i16 as u32;
        self.words
            .extend(li(base, address.wrapping_sub(displacement)));
        self.fill_upper(base);
        (base, displacement)
    }

    /// In 32-bit mode the upper half of an address register does not count: rldimi base,other,32,0.
    fn fill_upper(&mut self, base: u32) {
        if self.core == Core::Ppc970In32Bits && self.random.chance(2) {
            let other = self.register();
            self.words
                .push(30 << 26 | other << 21 | base << 16 | 3 << 2 | 1 << 1);
        }
    }

    /// A register that is not `other`.
    fn other_register(&mut self, other: u32) -> u32 {
        (other + 1 + self.random.below(31)) & 31
    }

    /// Loads base and index registers for `address`.
    fn indexed(&mut self, address: u32) -> (u32, u32) {
        let base = 1 + self.random.below(31);
        let index = self.other_register(base);
        let offset = self.random.value();
        // In 64-bit mode a sum does not wrap around.
        let offset = if self.core == Core::Ppc970 {
            offset & 0xf_ffff
        } else {
            offset
        };
        self.words.extend(li(base, address.wrapping_sub(offset)));
        self.words.extend(li(index, offset));
        self.fill_upper(base);
        self.fill_upper(index);
        (base, index)
    }

    fn memory(&mut self) {
        match self.random.below(12) {
            0..=4 => {
                // lwz lwzu lbz lbzu stw stwu stb stbu lhz lhzu lha lhau sth sthu
                let opcode = 32 + self.random.below(14);
                let address = self.address(8, 1);
                let (base, displacement) = self.base(address);
                let t = self.other_register(base);
                self.words.push(d(opcode, t, base, displacement));
            }
            5..=7 => {
                let all = [
                    23, 55, 87, 119, 279, 311, 343, 375, 151, 183, 215, 247, 407, 439, 534, 790,
                    662, 918,
                ];
                let extended = self.random.pick(&all);
                let address = self.address(8, 1);
                let (base, index) = self.indexed(address);
                let t = self.other_register(base);
                self.words.push(x(31, t, base, index, extended, 0));
            }
            8 => {
                // lmw, stmw: the base register must not be among those loaded.
                let t = 16 + self.random.below(16);
                let address = self.address(4 * (32 - t), 4);
                let base = 1 + self.random.below(15);
                let displacement = self.random.word() as u16 as i16 as u32;
                self.words
                    .extend(li(base, address.wrapping_sub(displacement)));
                let opcode = self.random.pick(&[46, 47]);
                self.words.push(d(opcode, t, base, displacement));
            }
            9 => self.string(),
            10 => {
                // A reservation and its store, sometimes without the reservation.
                let address = self.address(4, 4);
                let (base, index) = self.indexed(address);
                let t = self.other_register(base);
                let t = if t == index { 0 } else { t };
                if t != 0 && t != base && !self.random.chance(4) {
                    self.words.push(x(31, t, base, index, 20, 0));
                }
                self.words.push(x(31, t, base, index, 150, 1));
            }
            _ => {
                // dcbz dcbst dcbf dcbt dcbtst icbi sync isync eieio
                let address = self.address(4, 1);
                let (base, index) = self.indexed(address);
                let extended = self.random.pick(&[1014, 54, 86, 278, 246, 982]);
                self.words.push(x(31, 0, base, index, extended, 0));
                let barrier = [
                    x(31, 0, 0, 0, 598, 0),
                    x(19, 0, 0, 0, 150, 0),
                    x(31, 0, 0, 0, 854, 0),
                ];
                let word = self.random.pick(&barrier);
                self.words.push(word);
            }
        }
    }

    fn string(&mut self) {
        let count = self.random.below(33);
        let address = self.address(32, 1);
        let registers = (if count == 0 { 32 } else { count }).div_ceil(4);
        // Targets from `t` on; base and index elsewhere.
        let base = 1 + self.random.below(31);
        let index = self.other_register(base);
        let t = (0..32)
            .map(|n| (base + n) & 31)
            .find(|t| (0..registers).all(|n| ((t + n) & 31) != base && ((t + n) & 31) != index))
            .unwrap_or(0);
        if self.random.chance(2) {
            self.words.extend(li(base, address));
            let extended = self.random.pick(&[597, 725]);
            self.words.push(x(31, t, base, count & 31, extended, 0));
        } else {
            let offset = self.random.below(1000);
            self.words.extend(li(index, count));
            self.words.push(31 << 26 | index << 21 | 1 << 16 | 467 << 1);
            self.words.extend(li(base, address - offset));
            self.words.extend(li(index, offset));
            let extended = self.random.pick(&[533, 661]);
            self.words.push(x(31, t, base, index, extended, 0));
        }
    }

    /// A branch over a few instructions, taken or not; a counted loop; a call and a return.
    fn branch(&mut self) {
        let skipped = 1 + self.random.below(4);
        let (bo, bi) = (
            self.random
                .pick(&[0, 2, 4, 8, 10, 12, 16, 18, 20, 5, 13, 17]),
            self.register(),
        );
        let link = self.random.below(2);
        match self.random.below(6) {
            0..=2 => {
                self.words
                    .push(16 << 26 | bo << 21 | bi << 16 | ((skipped + 1) * 4) | link);
                for _ in 0..skipped {
                    self.plain();
                }
            }
            3 => {
                self.words.push(18 << 26 | ((skipped + 1) * 4) | link);
                for _ in 0..skipped {
                    self.plain();
                }
            }
            4 => {
                // A loop: its body leaves CTR alone.
                let counter = self.register();
                let count = 1 + self.random.below(4);
                self.words.extend(li(counter, count));
                self.words
                    .push(31 << 26 | counter << 21 | 9 << 16 | 467 << 1);
                for _ in 0..skipped {
                    self.plain();
                }
                let back = (skipped * 4).wrapping_neg() & 0xfffc;
                self.words.push(16 << 26 | 16 << 21 | back | link);
            }
            _ => {
                // To LR or CTR: behind the branch, computed from where it stands. Counting is not
                // for bcctr.
                let t = self.register();
                let to_count = self.random.chance(2);
                let bo = if to_count { bo | 4 } else { bo };
                let (spr, extended) = if to_count { (9, 528) } else { (8, 16) };
                self.words.push(18 << 26 | 4 | 1);
                self.words.push(31 << 26 | t << 21 | 8 << 16 | 339 << 1);
                self.words.extend([
                    // addic has no (rA|0).
                    d(12, t, t, 16 + skipped * 4),
                    31 << 26 | t << 21 | spr << 16 | 467 << 1,
                    x(19, bo, bi, 0, extended, link),
                ]);
                for _ in 0..skipped {
                    self.plain();
                }
            }
        }
    }

    /// One instruction that neither jumps nor touches CTR or memory.
    fn plain(&mut self) {
        let (t, a, b) = (self.register(), self.register(), self.register());
        let word = match self.random.below(4) {
            0 => d(14, t, a, self.random.word()),
            1 => x(31, t, a, b, 266, 1),
            2 => x(31, self.random.below(8) << 2, a, b, 0, 0),
            _ => x(31, t, a, b, 316, 0),
        };
        self.words.push(word);
    }

    fn float_memory(&mut self) {
        let t = self.register();
        if self.random.chance(2) {
            // lfs lfsu lfd lfdu stfs stfsu stfd stfdu
            let opcode = 48 + self.random.below(8);
            let address = self.address(8, 4);
            let (base, displacement) = self.base(address);
            self.words.push(d(opcode, t, base, displacement));
        } else {
            let extended = self
                .random
                .pick(&[535, 567, 599, 631, 663, 695, 727, 759, 983]);
            let address = self.address(8, 4);
            let (base, index) = self.indexed(address);
            self.words.push(x(31, t, base, index, extended, 0));
        }
    }

    fn float(&mut self) {
        let (t, a, b, c) = (
            self.register(),
            self.register(),
            self.register(),
            self.register(),
        );
        let record = self.random.below(2);
        let word = match self.random.below(10) {
            0..=4 => {
                let opcode = if self.enabled || self.random.chance(2) {
                    63
                } else {
                    59
                };
                let all = [21, 20, 25, 18, 28, 29, 30, 31];
                let extended = self.random.pick(&all[..if self.directed { 6 } else { 8 }]);
                let (b, c) = match extended {
                    25 => (0, c),
                    18 | 20 | 21 => (b, 0),
                    _ => (b, c),
                };
                opcode << 26 | t << 21 | a << 16 | b << 11 | c << 6 | extended << 1 | record
            }
            5 => {
                let all = [72, 40, 264, 136, 14, 15, 12];
                let extended = self
                    .random
                    .pick(&all[..all.len() - usize::from(self.enabled)]);
                if matches!(extended, 14 | 15) {
                    // The upper word of an integer is undefined: only the lower one is kept.
                    self.words.push(x(63, t, 0, b, extended, record));
                    let address = self.address(4, 4);
                    let (base, index) = self.indexed(address);
                    self.words.push(x(31, t, base, index, 983, 0));
                    x(63, t, 0, (t + 1) & 31, 72, 0)
                } else {
                    x(63, t, 0, b, extended, record)
                }
            }
            6 => {
                let extended = self.random.pick(&[0, 32]);
                let extended = if self.invalid_enabled { 0 } else { extended };
                x(63, t & 28, a, b, extended, 0)
            }
            7 => 63 << 26 | t << 21 | a << 16 | b << 11 | c << 6 | 23 << 1 | record,
            8 => {
                let word = self.status(t, record);
                self.words.push(word);
                // FX: see above.
                x(63, 0, 0, 0, 38, 0)
            }
            // Estimates of what is no ordinary number, where every core gives the same.
            _ => {
                let special = self.random.pick(&[31, 30]);
                let value =
                    self.random
                        .pick(&[0, 1 << 31, 0x7ff0_0000, 0xfff0_0000u32, 0x7ff8_0000]);
                let base = 1 + self.register() % 31;
                self.words.extend(li(base, value));
                let (address, index) = (DATA + 248, 0);
                let place = if base == 31 { 30 } else { base + 1 };
                self.words.extend(li(place, address));
                self.words.push(d(36, base, place, index));
                self.words.extend(li(base, 0));
                self.words.push(d(36, base, place, 4));
                self.words.push(d(50, special, place, 0));
                x(63, t, 0, special, 26, record)
            }
        };
        self.words.push(word);
    }

    /// Clears FPSCR[FX], which must not be followed by arithmetic.
    fn clear_summary(&mut self) {
        let b = self.register();
        let word = match self.random.below(4) {
            0 => x(63, 0, 0, 0, 70, 0),
            1 => x(63, 4, 0, 0, 64, 0),
            2 => 63 << 26 | self.random.below(8) << 12 | 134 << 1 | 1,
            _ => 63 << 26 | 0x80 << 17 | b << 11 | 711 << 1,
        };
        self.words.push(word);
    }

    /// mffs mtfsf mtfsfi mtfsb0 mtfsb1 mcrfs. Enables are left as they are.
    fn status(&mut self, t: u32, record: u32) -> u32 {
        match self.random.below(6) {
            0 => {
                // What qemu-ppc knows of field 3 (VXVC, FR, FI, C) is set first.
                let value = self.random.below(16);
                self.words.push(63 << 26 | 3 << 23 | value << 12 | 134 << 1);
                x(63, t, 0, 0, 583, record)
            }
            1 => {
                let rounding = u32::from(!self.directed);
                let fields = self.random.below(256) & !(0x86 | rounding);
                63 << 26 | fields << 17 | self.register() << 11 | 711 << 1 | record
            }
            2 => {
                let field = self.random.pick(&[1, 2, 3, 4, 7]);
                // The last field holds an enable, bit 28.
                let values = match (field, self.directed) {
                    (7, true) => 4,
                    (7, false) => 2,
                    _ => 16,
                };
                let value = self.random.below(values);
                63 << 26 | field << 23 | value << 12 | 134 << 1 | record
            }
            3 | 4 => {
                let bits = [
                    3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 19, 21, 22, 23, 31, 30,
                ];
                let allowed = bits.len() - usize::from(!self.directed);
                let bit = self.random.pick(&bits[..allowed]);
                let extended = self.random.pick(&[70, 38]);
                if extended == 38 {
                    self.words.push(x(63, 0, 0, 0, 38, 0));
                }
                x(63, bit, 0, 0, extended, record)
            }
            _ => {
                let field = self.random.pick(&[1, 2, 4, 5, 6, 7]);
                x(63, t & 28, field << 2, 0, 64, 0)
            }
        }
    }
}
