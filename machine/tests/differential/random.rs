//! Random numbers, and operands in which something happens.

/// xorshift64*: small, and the same everywhere.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn word(&mut self) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) as u32
    }

    /// Below `n`.
    pub fn below(&mut self, n: u32) -> u32 {
        ((u64::from(self.word()) * u64::from(n)) >> 32) as u32
    }

    /// True about once in that many calls.
    pub fn chance(&mut self, of: u32) -> bool {
        self.below(of) == 0
    }

    /// One of these.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u32) as usize]
    }

    /// A word in which carries, signs and overflows happen.
    pub fn value(&mut self) -> u32 {
        match self.below(8) {
            0 => 0,
            1 => u32::MAX,
            2 => self.pick(&[
                0x7fff_ffff,
                0x8000_0000,
                0x8000_0001,
                1,
                2,
                0xffff,
                0x1_0000,
            ]),
            3 => self.below(64),
            4 => 1 << self.below(32),
            5 => self.word() as u16 as i16 as u32,
            _ => self.word(),
        }
    }

    /// A double in which every class of number is likely.
    pub fn double(&mut self) -> u64 {
        let sign = u64::from(self.word() & 1) << 63;
        let fraction = (u64::from(self.word()) << 32 | u64::from(self.word())) & 0xf_ffff_ffff_ffff;
        let single_fraction = fraction & !0x1fff_ffff;
        let exponent = |e: u32| u64::from(e) << 52;
        sign | match self.below(16) {
            0 => 0,
            1 => exponent(0x7ff),
            2 => exponent(0x7ff) | fraction | 1 << 51,
            3 => exponent(0x7ff) | fraction & !(1 << 51) | 1,
            4 => fraction,
            5 => exponent(1 + self.below(60)) | fraction,
            6 => exponent(0x7fe - self.below(60)) | fraction,
            7 => exponent(1023),
            // Around the limits of single precision.
            8 => exponent(1023 + 120 + self.below(12)) | fraction,
            9 => exponent(1023 - 155 + self.below(40)) | single_fraction,
            10 | 11 => exponent(1013 + self.below(20)) | single_fraction,
            // Integers and halves, for the conversions.
            12 => (f64::from(self.word().cast_signed()) / 4.0).to_bits() & !(1 << 63),
            13 => exponent(1020 + self.below(40)) | fraction & !0 << self.below(52),
            _ => exponent(1000 + self.below(50)) | fraction,
        }
    }
}
