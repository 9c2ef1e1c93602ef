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
