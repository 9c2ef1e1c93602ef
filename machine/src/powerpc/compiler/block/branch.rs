//! How a version goes on behind its last instruction: branches, jumps to registers, and edges to other versions.

#![allow(
    clippy::useless_conversion,
    reason = "the assembler's macro converts every operand"
)]

use std::mem::offset_of;

use dynasmrt::{DynamicLabel, DynasmApi, DynasmLabelApi, dynasm};

use super::{Block, Costs, Edge};
use crate::engine::compiler::SITES;
use crate::pipeline::Predictor;
use crate::pipeline::predictor::Places;
use crate::powerpc::compiler::calls::Shared;
use crate::powerpc::compiler::code::{Kind, Site, TARGET_SHIFT, TARGETS, Target, To};
use crate::powerpc::compiler::emit::{Emitter, hot, register};
use crate::powerpc::compiler::thunks::shared;
use crate::powerpc::engine::Hot;
use crate::powerpc::engine::line::Op;
use crate::powerpc::engine::shortcut::Shortcut;
use crate::powerpc::engine::timing::State;
use crate::powerpc::mmu::Used;
use crate::powerpc::templates::{Branch, Goal};

const LOAD: i32 = offset_of!(Shortcut, load) as i32;
const DELTA: i32 = offset_of!(Shortcut, delta) as i32;
const PAGE: i32 = hot(offset_of!(Hot, page));
const PAGE_DELTA: i32 = hot(offset_of!(Hot, page_delta));

impl Emitter {
    /// Notes that the page with the shortcut at `rdx` was used. `rcx` and `rdx` are free then.
    pub(super) fn note_page(&mut self) {
        const SET: i32 = (offset_of!(Shortcut, used) + offset_of!(Used, set)) as i32;
        const WAY: i32 = (offset_of!(Shortcut, used) + offset_of!(Used, way)) as i32;
        dynasm!(self.ops; .arch x64
            ; movzx ecx, WORD [rdx + SET]
            ; mov dl, [rdx + WAY]
            ; add rcx, [rbx + hot(offset_of!(Hot, fetch_recent))]
            ; mov [rcx], dl
        );
    }

    /// Adds cycles.
    pub(super) fn spend(&mut self, cycles: u64) {
        if cycles != 0 {
            dynasm!(self.ops; .arch x64; add r13, cycles as i32);
        }
    }
}

impl Block<'_> {
    /// The branch at the end of a block.
    ///
    /// # Safety
    /// As [`Processor::compile`]; the branch is the instruction `last` of its block.
    pub(super) unsafe fn branch(&mut self, branch: &Branch, costs: &Costs, pc: u32, last: u8) {
        let b = self;
        let timing = b.version.timing;
        // SAFETY: the caller's. Behind the last instruction of a line is the op that ends it.
        let (op, next) = unsafe {
            let op = b.version.op.add(last.into());
            (op, op.add(1))
        };
        let Costs {
            places,
            hit,
            miss,
            wrong,
            straight,
        } = costs;
        let (hit, miss, wrong, straight) = (*hit, *miss, *wrong, *straight);
        let conditional = branch.conditional.then_some(branch.statically_taken);
        let to_register = !matches!(branch.goal, Goal::Address { .. });
        const LR: i32 = register!(lr);
        const CTR: i32 = register!(ctr);
        if let Goal::Link = branch.goal {
            dynasm!(b.e.ops; .arch x64; mov ecx, [rbx + LR]);
        }
        if branch.link {
            let link = pc.wrapping_add(4).cast_signed();
            dynasm!(b.e.ops; .arch x64; mov DWORD [rbx + LR], link);
        }
        let not_taken = b.e.label();
        if let Some(if_zero) = branch.count {
            dynasm!(b.e.ops; .arch x64; sub DWORD [rbx + CTR], 1);
            if if_zero {
                dynasm!(b.e.ops; .arch x64; jnz =>not_taken);
            } else {
                dynasm!(b.e.ops; .arch x64; jz =>not_taken);
            }
        }
        if let Some((bit, wanted)) = branch.bit {
            b.e.unless(bit, wanted, not_taken, &b.thunks.make_field);
        }
        match branch.goal {
            Goal::Link => dynasm!(b.e.ops; .arch x64; and ecx, -4),
            // In an invalid form the counter is the target after it has been decremented.
            Goal::Count => dynasm!(b.e.ops; .arch x64; mov ecx, [rbx + CTR]; and ecx, -4),
            Goal::Address { .. } => {}
        }
        // Taken.
        let slow_taken = b.e.label();
        let sure = b.sure(branch, places, true, slow_taken);
        let mut goals = Vec::new();
        if sure {
            let moved = b.e.label();
            if let (Some(known), Some(entry)) = (places.known, places.entry) {
                b.e.compare_word(known as usize, pc.cast_signed());
                dynasm!(b.e.ops; .arch x64; jne =>slow_taken);
                if to_register {
                    let registers = places.registers as i64;
                    b.e.load_word_at(entry as usize);
                    dynasm!(b.e.ops; .arch x64
                        ; mov rdx, QWORD registers
                        ; cmp [rdx + rax * 4], ecx
                        ; jne =>moved
                    );
                }
            }
            b.e.spend(hit.0);
            b.goal(branch, op, hit.1, &mut goals);
            if to_register && places.known.is_some() {
                // The target cache has another target, and gets this one.
                dynasm!(b.e.ops; .arch x64; =>moved; mov [rdx + rax * 4], ecx);
                b.e.spend(miss.0);
                b.goal(branch, op, miss.1, &mut goals);
            } else {
                b.e.bind(moved);
            }
        }
        b.e.bind(slow_taken);
        b.site(pc, Kind::Predict { conditional });
        if to_register {
            let thunk = b.thunks.predict_register;
            dynasm!(b.e.ops; .arch x64; sub rsp, 8; push rcx);
            b.e.call(thunk);
            dynasm!(b.e.ops; .arch x64; pop rcx; add rsp, 8);
        } else {
            let thunk = b.thunks.predict;
            dynasm!(b.e.ops; .arch x64; mov ecx, 1);
            b.e.call(thunk);
        }
        let mut costs = vec![hit, miss];
        if branch.conditional && timing.doubt != 0 {
            costs.push(wrong);
        }
        b.by_cost(&costs, |b, state| b.goal(branch, op, state, &mut goals));
        if !branch.conditional {
            b.e.bind(not_taken);
            return;
        }
        // Not taken.
        b.e.bind(not_taken);
        if branch.count.is_none() && branch.bit.is_none() {
            return;
        }
        let slow_straight = b.e.label();
        let straight_ea = pc.wrapping_add(4);
        if b.sure(branch, places, false, slow_straight) {
            b.edge_here(straight_ea, To::Near(next), straight.1);
        }
        b.e.bind(slow_straight);
        b.site(pc, Kind::Predict { conditional });
        let thunk = b.thunks.predict;
        dynasm!(b.e.ops; .arch x64; xor ecx, ecx);
        b.e.call(thunk);
        let costs = if timing.doubt != 0 {
            vec![straight, wrong]
        } else {
            vec![straight]
        };
        b.by_cost(&costs, |b, state| {
            b.edge_here(straight_ea, To::Near(next), state)
        });
    }

    /// `rdx` := a new site.
    pub(super) fn site(&mut self, ea: u32, kind: Kind) {
        let place = self.sites.len();
        assert!(place < SITES, "there is room for the sites of a block");
        self.sites.push(Site {
            version: self.number,
            ea,
            kind,
        });
        let site = (&raw const self.sites[place]) as i64;
        dynasm!(self.e.ops; .arch x64; mov rdx, QWORD site);
    }

    /// Leaves before `op`.
    pub(super) fn stay(&mut self, op: *const Op, pc: u32) {
        self.site(pc, Kind::Stay { op });
        self.e.jump_to(self.thunks.stay);
    }

    /// Runs an instruction alone.
    pub(super) fn alone(&mut self, kind: Kind, pc: u32) {
        self.site(pc, kind);
        self.e.call(self.thunks.alone);
    }

    /// On to `slow` unless the branch is certainly predicted rightly, and its history cannot become surer. False: it
    /// never is.
    fn sure(&mut self, branch: &Branch, places: &Places, taken: bool, slow: DynamicLabel) -> bool {
        if !branch.conditional {
            return true;
        }
        let Some(history) = places.history else {
            return branch.statically_taken == taken || self.version.timing.doubt == 0;
        };
        let surest = if taken { Predictor::SUREST as i8 } else { 0 };
        self.e.compare_byte(history as usize, surest);
        dynasm!(self.e.ops; .arch x64; jne =>slow);
        true
    }

    /// On to the branch's goal, in this state. `goals`: the states for which there is such code already, and where.
    fn goal(
        &mut self,
        branch: &Branch,
        op: *const Op,
        state: State,
        goals: &mut Vec<(State, DynamicLabel)>,
    ) {
        if let Some(&(_, there)) = goals.iter().find(|(other, _)| *other == state) {
            dynasm!(self.e.ops; .arch x64; jmp =>there);
            return;
        }
        let here = self.e.label();
        self.e.bind(here);
        goals.push((state, here));
        match branch.goal {
            Goal::Address { ea, near } => {
                let to = if near {
                    let away = ea.wrapping_sub(self.version.line) / 4;
                    // SAFETY: the target of a near branch is in its line.
                    let first =
                        unsafe { self.version.op.sub(usize::from(self.version.timing.index)) };
                    // SAFETY: as above.
                    To::Near(unsafe { first.add(away as usize) })
                } else {
                    To::Follow(op)
                };
                self.edge_here(ea, to, state);
            }
            Goal::Link | Goal::Count => {
                self.jump_to_target(state);
                self.site(0, Kind::Register { state });
                self.e.jump_to(self.thunks.go_to_register);
            }
        }
    }

    /// Jumps to the code of the target `ecx`, if it is known. `ecx` stays as it is otherwise.
    fn jump_to_target(&mut self, state: State) {
        let (known, same, unknown, lost) = (
            self.e.label(),
            self.e.label(),
            self.e.label(),
            self.e.label(),
        );
        let mixed = Target::mixed(state).cast_signed();
        let last = TARGETS as i32 - 1;
        let key = Target::key(&self.version, state).cast_signed();
        let page = (self.version.ea & !0xfff).cast_signed();
        let delta = self.version.delta.cast_signed();
        const EA: i32 = offset_of!(Target, ea) as i32;
        const KEY: i32 = offset_of!(Target, key) as i32;
        const TAG_AT: i32 = offset_of!(Target, tag_at) as i32;
        const TAG: i32 = offset_of!(Target, tag) as i32;
        const TARGET_DELTA: i32 = offset_of!(Target, delta) as i32;
        const SHORTCUT: i32 = offset_of!(Target, shortcut) as i32;
        const CODE: i32 = offset_of!(Target, code) as i32;
        dynasm!(self.e.ops; .arch x64
            ; cmp r13, [rbx + shared(offset_of!(Shared, until))]
            ; jae =>unknown
            ; mov eax, ecx
            ; shr eax, 2
            ; xor eax, mixed
            ; and eax, last
            ; shl eax, TARGET_SHIFT
            ; add rax, [rbx + shared(offset_of!(Shared, targets))]
            ; cmp ecx, [rax + EA]
            ; jne =>unknown
            ; cmp DWORD [rax + KEY], key
            ; jne =>unknown
            ; mov rdx, [rax + TAG_AT]
            ; mov edx, [rdx]
            ; cmp edx, [rax + TAG]
            ; jne =>unknown
            ; mov edx, ecx
            ; and edx, -4096
            ; cmp edx, page
            ; je =>same
            ; mov rcx, [rax + SHORTCUT]
            ; cmp edx, [rcx + LOAD]
            ; jne =>lost
            ; mov edx, [rcx + DELTA]
            ; cmp edx, [rax + TARGET_DELTA]
            ; jne =>lost
            ; mov [rbx + PAGE_DELTA], edx
            ; mov edx, [rcx + LOAD]
            ; mov [rbx + PAGE], edx
            ; mov rdx, rcx
        );
        self.e.note_page();
        dynasm!(self.e.ops; .arch x64
            ; =>known
            ; jmp QWORD [rax + CODE]
            ; =>same
            ; cmp DWORD [rax + TARGET_DELTA], delta
            ; je =>known
            ; =>lost
            ; mov ecx, [rax + EA]
            ; =>unknown
        );
    }

    /// A branch has cost `eax`, one of these: on in the state that follows from it.
    fn by_cost(&mut self, costs: &[(u64, State)], mut on: impl FnMut(&mut Self, State)) {
        let mut done: Vec<State> = Vec::new();
        for (n, &(cost, state)) in costs.iter().enumerate() {
            if costs[..n].iter().any(|&(other, _)| other == cost) {
                continue;
            }
            done.push(state);
            let other = self.e.label();
            dynasm!(self.e.ops; .arch x64; cmp eax, cost as i32; jne =>other);
            on(self, state);
            self.e.bind(other);
        }
        dynasm!(self.e.ops; .arch x64; ud2);
    }

    /// An edge to `ea`: here, or where it is already.
    pub(super) fn edge_here(&mut self, ea: u32, to: To, state: State) {
        let known = (self.edges.iter())
            .find(|edge| (edge.ea, edge.state) == (ea, state) && same(edge.to, to));
        if let Some(edge) = known {
            let label = edge.label;
            dynasm!(self.e.ops; .arch x64; jmp =>label);
            return;
        }
        let (label, stub) = (self.e.label(), self.e.label());
        self.e.bind(label);
        self.edges.push(Edge {
            label,
            ea,
            to,
            state,
        });
        let near = match to {
            // SAFETY: an op of the version's line.
            To::Near(op) => unsafe { (*op).instructions != 0 },
            To::Follow(_) => false,
        };
        // From a line's end on as by its link: a block of no instructions costs nothing.
        let page = ea & !0xfff;
        let in_page = page == self.version.ea & !0xfff;
        let turned = if in_page { None } else { (self.turn)(ea) };
        let delta = turned.map_or(self.version.delta, |(_, delta)| delta);
        let mut slot = None;
        if in_page || turned.is_some() {
            if !near {
                let (place, tag) = (self.tag_place)(ea.wrapping_add(delta));
                self.e.compare_word(place, tag.cast_signed());
                dynasm!(self.e.ops; .arch x64; jne =>stub);
            }
            dynasm!(self.e.ops; .arch x64; cmp r13, [rbx + shared(offset_of!(Shared, until))]; jae =>stub);
            if let Some((shortcut, _)) = turned {
                let shortcut = shortcut as i64;
                dynasm!(self.e.ops; .arch x64
                    ; mov rdx, QWORD shortcut
                    ; cmp DWORD [rdx + LOAD], page.cast_signed()
                    ; jne =>stub
                    ; cmp DWORD [rdx + DELTA], delta.cast_signed()
                    ; jne =>stub
                    ; mov DWORD [rbx + PAGE], page.cast_signed()
                    ; mov DWORD [rbx + PAGE_DELTA], delta.cast_signed()
                );
                self.e.note_page();
            }
            let place = self.memory.slot();
            self.e.jump_through(self.memory.place(place));
            slot = Some((place, self.e.here()));
        }
        self.e.bind(stub);
        if let Some((place, here)) = slot {
            self.memory.lead(place, here);
        }
        self.site(
            ea,
            Kind::Edge {
                to,
                state,
                delta,
                slot,
            },
        );
        self.e.jump_to(self.thunks.go);
    }
}

fn same(a: To, b: To) -> bool {
    match (a, b) {
        (To::Near(a), To::Near(b)) | (To::Follow(a), To::Follow(b)) => std::ptr::eq(a, b),
        _ => false,
    }
}
