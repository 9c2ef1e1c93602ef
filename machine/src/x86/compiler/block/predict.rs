//! The prediction of branches, as [`crate::x86::predictor::Predictor`] makes it.

#![allow(
    clippy::useless_conversion,
    reason = "the assembler's macro converts every operand"
)]

use std::mem::offset_of;

use dynasmrt::{DynasmApi, DynasmLabelApi, dynasm};

use super::Block;
use crate::x86::compiler::emit::RETURNS;
use crate::x86::compiler::thunks::Branched;
use crate::x86::op::Op;
use crate::x86::predictor::Entry;

const TARGET: i32 = offset_of!(Entry, target) as i32;
const BRANCH: i32 = offset_of!(Entry, branch) as i32;
const COUNTER: i32 = offset_of!(Entry, counter) as i32;

impl Block<'_> {
    /// A conditional branch to `target` has been `taken`, or not.
    pub(super) fn predict(&mut self, op: &Op, target: u32, taken: bool) {
        let Some(prediction) = self.shape.predictor else {
            return;
        };
        let branch = self.version.eip.wrapping_add(op.at.into());
        let entry = prediction.entry(branch);
        let (other, on) = (self.e.label(), self.e.label());
        dynasm!(self.e.ops; .arch x64; mov rax, QWORD entry);
        let thunk = if taken {
            const { assert!(TARGET == 0 && BRANCH == 4) };
            let both = (u64::from(branch) << 32 | u64::from(target)).cast_signed();
            dynasm!(self.e.ops; .arch x64
                ; mov rdx, QWORD both
                ; cmp [rax], rdx
                ; jne =>other
                ; cmp BYTE [rax + COUNTER], Entry::SUREST as i8
                ; jne =>other
            );
            Branched::Taken
        } else {
            dynasm!(self.e.ops; .arch x64
                ; cmp DWORD [rax + BRANCH], branch.cast_signed()
                ; jne =>other
                ; cmp BYTE [rax + COUNTER], 0
                ; jne =>other
            );
            Branched::Not
        };
        self.e.bind(on);
        let thunk = self.thunks.branched[thunk as usize];
        self.cold.push(Box::new(move |b| {
            dynasm!(b.e.ops; .arch x64
                ; =>other
                ; mov edx, DWORD branch.cast_signed()
                ; mov ecx, DWORD target.cast_signed()
            );
            b.e.call(thunk);
            dynasm!(b.e.ops; .arch x64; jmp =>on);
        }));
    }

    /// A branch to different places goes to `ecx`, which stays.
    pub(super) fn predict_target(&mut self, op: &Op) {
        let Some(prediction) = self.shape.predictor else {
            return;
        };
        let branch = self.version.eip.wrapping_add(op.at.into());
        let entry = prediction.entry(branch);
        let (other, on) = (self.e.label(), self.e.label());
        dynasm!(self.e.ops; .arch x64
            ; mov rax, QWORD entry
            ; cmp [rax + TARGET], ecx
            ; jne =>other
            ; cmp DWORD [rax + BRANCH], branch.cast_signed()
            ; jne =>other
            ; cmp BYTE [rax + COUNTER], Entry::SUREST as i8
            ; jne =>other
            ; =>on
        );
        let thunk = self.thunks.branched[Branched::Anywhere as usize];
        self.cold.push(Box::new(move |b| {
            dynasm!(b.e.ops; .arch x64; =>other; mov edx, DWORD branch.cast_signed());
            b.e.call(thunk);
            dynasm!(b.e.ops; .arch x64; jmp =>on);
        }));
    }

    /// A return goes to `ecx`, which stays.
    pub(super) fn predict_return(&mut self) {
        let Some(prediction) = self.shape.predictor else {
            return;
        };
        let (top, addresses) = RETURNS;
        let (other, on) = (self.e.label(), self.e.label());
        dynasm!(self.e.ops; .arch x64
            ; mov eax, [rbx + top]
            ; mov edx, ecx
            ; cmp rdx, [rbx + rax * 8 + addresses]
            ; jne =>other
            ; =>on
            ; sub eax, 1
            ; and eax, 7
            ; mov [rbx + top], rax
        );
        self.cold.push(Box::new(move |b| {
            b.e.bind(other);
            b.e.mispredict(Some(&prediction));
            dynasm!(b.e.ops; .arch x64; jmp =>on);
        }));
    }
}
