//! The host's assembler: labels, and jumps to code that has a place already.

use dynasmrt::x64::X64Relocation;
use dynasmrt::{DynamicLabel, DynasmApi, DynasmLabelApi, VecAssembler, dynasm};

/// Code that is being written. `Guest`: the instruction set that it stands for, which adds methods.
pub struct Assembler<Guest> {
    pub ops: VecAssembler<X64Relocation>,
    base: usize,
    /// What the instruction set knows of the code so far.
    pub guest: Guest,
}

impl<Guest: Default> Assembler<Guest> {
    /// Code that will stand at `base`.
    #[must_use]
    pub fn new(base: usize) -> Self {
        Assembler {
            ops: VecAssembler::new_with_capacity(base, 2048, 32, 0, 0, 64, 0),
            base,
            guest: Guest::default(),
        }
    }
}

impl<Guest> Assembler<Guest> {
    pub fn label(&mut self) -> DynamicLabel {
        self.ops.new_dynamic_label()
    }

    pub fn bind(&mut self, label: DynamicLabel) {
        dynasm!(self.ops; .arch x64; =>label);
    }

    /// Where the next instruction will stand.
    #[must_use]
    pub fn here(&self) -> usize {
        self.base + self.ops.offset().0
    }

    /// Jumps to the code at `target`.
    pub fn jump_to(&mut self, target: usize) {
        self.ops.push(0xe9);
        self.relative(target);
    }

    /// Calls the code at `target`.
    pub fn call(&mut self, target: usize) {
        self.ops.push(0xe8);
        self.relative(target);
    }

    /// Jumps to what stands at `place`.
    pub fn jump_through(&mut self, place: usize) {
        self.ops.push(0xff);
        self.ops.push(0x25);
        self.relative(place);
    }

    /// Compares the word at `place` with a number. `rax` is free then.
    pub fn compare_word(&mut self, place: usize, number: i32) {
        match self.reach(place, 10) {
            Some(distance) => {
                self.ops.extend([0x81, 0x3d]);
                self.ops.push_i32(distance);
                self.ops.push_i32(number);
            }
            None => {
                dynasm!(self.ops; .arch x64; mov rax, QWORD place as i64; cmp DWORD [rax], number)
            }
        }
    }

    /// On to `slow` unless the word at `place` is this tag. `rax` is free then.
    pub fn tag(&mut self, place: usize, tag: u32, slow: DynamicLabel) {
        self.compare_word(place, tag.cast_signed());
        dynasm!(self.ops; .arch x64; jne =>slow);
    }

    /// Compares the byte at `place` with a number. `rax` is free then.
    pub fn compare_byte(&mut self, place: usize, number: i8) {
        match self.reach(place, 7) {
            Some(distance) => {
                self.ops.extend([0x80, 0x3d]);
                self.ops.push_i32(distance);
                self.ops.push_i8(number);
            }
            None => {
                dynasm!(self.ops; .arch x64; mov rax, QWORD place as i64; cmp BYTE [rax], number)
            }
        }
    }

    /// `eax` := the word at `place`.
    pub fn load_word_at(&mut self, place: usize) {
        match self.reach(place, 6) {
            Some(distance) => {
                self.ops.extend([0x8b, 0x05]);
                self.ops.push_i32(distance);
            }
            None => dynasm!(self.ops; .arch x64; mov rax, QWORD place as i64; mov eax, [rax]),
        }
    }

    /// The distance of `place` from the end of the next instruction, of so many bytes, if an instruction can hold it.
    fn reach(&self, place: usize, length: usize) -> Option<i32> {
        let distance = (place as i64).wrapping_sub((self.here() + length) as i64);
        i32::try_from(distance).ok()
    }

    /// The distance of `target` from the end of an instruction that ends with it. All code and all slots are less than
    /// 2 GB apart.
    fn relative(&mut self, target: usize) {
        let distance = target.wrapping_sub(self.here() + 4);
        self.ops.push_i32(distance as i32);
    }

    /// The code, as it will stand at `base`.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        match self.ops.finalize() {
            Ok(code) => code,
            Err(error) => unreachable!("every label is bound: {error}"),
        }
    }
}
