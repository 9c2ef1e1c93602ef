//! What FNSTENV, FNSAVE, FLDENV and FRSTOR keep in memory (SDM volume 1, 8.1.10): the forms of protected mode.

use super::extended::{Class, Extended};
use super::{Fpu, Host, status};
use crate::x86::exception::Exception;

/// Bytes of the environment with operands of 16 and of 32 bits.
pub(super) fn environment_size(narrow: bool) -> u32 {
    if narrow { 14 } else { 28 }
}

/// Bytes of a register.
const REGISTER: u32 = 10;

const VALID: u16 = 0;
const ZERO: u16 = 1;
const SPECIAL: u16 = 2;
const EMPTY: u16 = 3;

impl Fpu {
    /// The status word as software sees it.
    pub(super) fn status_word(&self) -> u16 {
        self.status | u16::from(self.top) << status::TOP
    }

    fn set_status_word(&mut self, word: u16) {
        self.top = (word >> status::TOP & 7) as u8;
        self.status = word & !(7 << status::TOP);
        self.summarize();
    }

    /// The tag word: two bits a register, by its content.
    fn tag_word(&self) -> u16 {
        let tag = |n: usize| {
            if self.empty >> n & 1 != 0 {
                return EMPTY;
            }
            match self.registers[n].class() {
                Class::Normal => VALID,
                Class::Zero => ZERO,
                _ => SPECIAL,
            }
        };
        (0..8).fold(0, |word, n| word | tag(n) << (2 * n))
    }

    fn set_tag_word(&mut self, word: u16) {
        let empty = |n: &u8| word >> (2 * n) & 3 == EMPTY;
        self.empty = (0..8).filter(empty).fold(0, |mask, n| mask | 1 << n);
    }

    fn environment(&self) -> [u32; 7] {
        let last = self.last;
        [
            self.control.into(),
            self.status_word().into(),
            self.tag_word().into(),
            last.eip,
            u32::from(last.opcode & 0x7ff) << 16 | u32::from(last.cs),
            last.offset,
            last.ds.into(),
        ]
    }

    /// FNSTENV: then it masks all exceptions.
    pub(super) fn store_environment<H: Host>(&mut self, host: &mut H) -> Result<(), Exception> {
        self.write_environment(host)?;
        self.control |= status::EXCEPTIONS;
        self.summarize();
        Ok(())
    }

    fn write_environment<H: Host>(&self, host: &mut H) -> Result<(), Exception> {
        let (words, narrow) = (self.environment(), host.narrow());
        let step = environment_size(narrow) / 7;
        for (n, word) in (0..).zip(words) {
            // The upper half of the first three and of the last is reserved, and stored as ones.
            let word = match (narrow, n) {
                (true, 4) => word & 0xffff,
                (false, 0..=2 | 6) => word | 0xffff_0000,
                _ => word,
            };
            host.store(n * step, step, word.into())?;
        }
        Ok(())
    }

    pub(super) fn load_environment<H: Host>(&mut self, host: &mut H) -> Result<(), Exception> {
        let narrow = host.narrow();
        let step = environment_size(narrow) / 7;
        let mut words = [0; 7];
        for (n, word) in (0..).zip(&mut words) {
            *word = host.load(n * step, step)? as u32;
        }
        let [control, status, tags, eip, selector, offset, ds] = words;
        self.set_control_word(control as u16);
        self.set_status_word(status as u16);
        self.set_tag_word(tags as u16);
        self.last.eip = eip;
        self.last.cs = selector as u16;
        self.last.opcode = if narrow {
            0
        } else {
            (selector >> 16) as u16 & 0x7ff
        };
        self.last.offset = offset;
        self.last.ds = ds as u16;
        Ok(())
    }

    /// For a debugger: the registers from the top of the stack on; control, status and tag word, CS and EIP of the last
    /// instruction, DS and offset of its operand, its opcode.
    pub(in crate::x86) fn shown(&self) -> [u128; 16] {
        let last = self.last;
        let words = [
            self.control.into(),
            self.status_word().into(),
            self.tag_word().into(),
            last.cs.into(),
            last.eip,
            last.ds.into(),
            last.offset,
            last.opcode.into(),
        ];
        std::array::from_fn(|n| {
            let Some(word) = n.checked_sub(8) else {
                let value = self.content(n as u8);
                return u128::from(value.head) << 64 | u128::from(value.significand);
            };
            words[word].into()
        })
    }

    /// Writes back what [`Fpu::shown`] gave, but for where the last instruction was.
    pub(in crate::x86) fn set_shown(&mut self, values: &[u128]) {
        self.set_control_word(values[8] as u16);
        self.set_status_word(values[9] as u16);
        self.set_tag_word(values[10] as u16);
        for (i, &value) in (0..8).zip(values) {
            let number = usize::from(self.top.wrapping_add(i) & 7);
            self.registers[number] = Extended {
                head: (value >> 64) as u16,
                significand: value as u64,
            };
        }
    }

    /// FNSAVE: environment and registers, then FNINIT.
    pub(super) fn save<H: Host>(&mut self, host: &mut H) -> Result<(), Exception> {
        let first = environment_size(host.narrow());
        self.write_environment(host)?;
        for i in 0..8 {
            let value = self.content(i);
            let at = first + REGISTER * u32::from(i);
            host.store(at, 8, value.significand)?;
            host.store(at + 8, 2, value.head.into())?;
        }
        self.initialize();
        Ok(())
    }

    /// FRSTOR. A fault in the middle leaves the FPU as it was.
    pub(super) fn restore<H: Host>(&mut self, host: &mut H) -> Result<(), Exception> {
        let mut next = self.clone();
        let first = environment_size(host.narrow());
        next.load_environment(host)?;
        for i in 0..8 {
            let at = first + REGISTER * u32::from(i);
            let significand = host.load(at, 8)?;
            let head = host.load(at + 8, 2)? as u16;
            let number = usize::from((next.top + i) & 7);
            next.registers[number] = Extended { head, significand };
        }
        *self = next;
        Ok(())
    }
}
