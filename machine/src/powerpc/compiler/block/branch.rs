//! How a version goes on behind its last instruction: branches, jumps to registers, and edges to other versions.

#![allow(
    clippy::useless_conversion,
    reason = "the assembler's macro converts every operand"
)]

use std::mem::offset_of;

use dynasmrt::{DynamicLabel, DynasmApi, DynasmLabelApi, dynasm};

use super::{Behind, Block, Cold, Costs, Edge, Slow};
use crate::engine::compiler::SITES;
use crate::pipeline::Predictor;
use crate::pipeline::predictor::Places;
use crate::powerpc::compiler::calls::Shared;
use crate::powerpc::compiler::code::{Kind, Rest, Site, TARGET_SHIFT, TARGETS, Target, To};
use crate::powerpc::compiler::emit::{Emitter, hot, register};
use crate::powerpc::compiler::thunks::shared;
use crate::powerpc::engine::Hot;
use crate::powerpc::engine::line::Op;
use crate::powerpc::engine::shortcut::Shortcut;
use crate::powerpc::engine::timing::State;
use crate::powerpc::mmu::Used;
use crate::powerpc::templates::{Branch, Goal};

const LR: i32 = register!(lr);
const CTR: i32 = register!(ctr);
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

/// A branch at the end of a block: the op `op`, at `pc`.
#[derive(Clone, Copy)]
pub(super) struct End {
    pub branch: Branch,
    pub costs: Costs,
    pub op: *const Op,
    pub pc: u32,
}

impl Block<'_> {
    /// The branch at the end of a block. `goes_on`: the block where it is expected to go follows here.
    ///
    /// # Safety
    /// As [`Processor::compile`]; the branch is the last instruction of its block, `op`.
    pub(super) unsafe fn branch(&mut self, end: End, goes_on: bool) {
        let (taken, straight) = (self.e.label(), self.e.label());
        let branch = end.branch;
        if let Goal::Link = branch.goal {
            dynasm!(self.e.ops; .arch x64; mov ecx, [rbx + LR]);
        }
        if branch.link {
            let link = end.pc.wrapping_add(4).cast_signed();
            dynasm!(self.e.ops; .arch x64; mov DWORD [rbx + LR], link);
        }
        if goes_on && branch.conditional {
            // The branch tests either the counter or the condition.
            self.test(&branch, false, taken);
            // SAFETY: behind the last instruction of a line is the op that ends it.
            let next = unsafe { end.op.add(1) };
            let (slow, state) = (self.e.label(), end.costs.straight.1);
            let sure = self.sure(&branch, &end.costs.places, false, slow);
            debug_assert!(sure, "the branch may go on straight");
            self.joint(end.pc.wrapping_add(4), To::Near(next), state);
            self.go_on_behind(end, Some(taken), slow);
        } else if goes_on {
            let slow = self.e.label();
            self.target_at_once(&end, slow);
            let Goal::Address { ea, near } = branch.goal else {
                unreachable!("only a branch to an address goes on here");
            };
            let to = self.to(end.op, ea, near);
            self.joint(ea, to, end.costs.hit.1);
            self.go_on_behind(end, None, slow);
        } else {
            self.test(&branch, true, straight);
            self.taken(&end);
            self.e.bind(straight);
            if branch.count.is_some() || branch.bit.is_some() {
                let slow = self.e.label();
                if self.sure(&branch, &end.costs.places, false, slow) {
                    self.straight(&end, end.costs.straight.1);
                }
                self.e.bind(slow);
                self.straight_slowly(&end);
            }
        }
    }

    /// What is not expected of a branch is written later.
    fn go_on_behind(&mut self, end: End, taken: Option<DynamicLabel>, slow: DynamicLabel) {
        self.cold.push(Cold {
            number: self.number,
            version: self.version,
            end,
            taken,
            slow,
        });
    }

    /// What stands behind the code of a branch that goes on there. `taken`: where the branch is taken, which was not
    /// expected; `slow`: where the branch must be predicted.
    pub(super) fn branch_behind(
        &mut self,
        end: &End,
        taken: Option<DynamicLabel>,
        slow: DynamicLabel,
    ) {
        if let Some(taken) = taken {
            self.e.bind(taken);
            self.taken(end);
            self.e.bind(slow);
            self.straight_slowly(end);
        } else {
            self.e.bind(slow);
            self.taken_slowly(end, &mut Vec::new());
        }
    }

    /// Tests what the branch tests. On to `otherwise` unless it is taken; if `taken` is false, unless it is not.
    fn test(&mut self, branch: &Branch, taken: bool, otherwise: DynamicLabel) {
        if let Some(if_zero) = branch.count {
            dynasm!(self.e.ops; .arch x64; sub DWORD [rbx + CTR], 1);
            if if_zero == taken {
                dynasm!(self.e.ops; .arch x64; jnz =>otherwise);
            } else {
                dynasm!(self.e.ops; .arch x64; jz =>otherwise);
            }
        }
        if let Some((bit, wanted)) = branch.bit {
            let make = self.thunks.make_field;
            (self.e).unless(bit, wanted == taken, otherwise, &make);
        }
    }

    /// The branch is taken.
    fn taken(&mut self, end: &End) {
        let End {
            branch, costs, op, ..
        } = end;
        match branch.goal {
            Goal::Link => dynasm!(self.e.ops; .arch x64; and ecx, -4),
            // In an invalid form the counter is the target after it has been decremented.
            Goal::Count => dynasm!(self.e.ops; .arch x64; mov ecx, [rbx + CTR]; and ecx, -4),
            Goal::Address { .. } => {}
        }
        let slow = self.e.label();
        let mut goals = Vec::new();
        if self.sure(branch, &costs.places, true, slow) {
            let moved = self.target_at_once(end, slow);
            self.e.spend(costs.hit.0);
            self.goal(branch, *op, costs.hit.1, &mut goals);
            if let Some(moved) = moved {
                // The target cache has another target, and gets this one.
                dynasm!(self.e.ops; .arch x64; =>moved; mov [rdx + rax * 4], ecx);
                self.e.spend(costs.miss.0);
                self.goal(branch, *op, costs.miss.1, &mut goals);
            }
        }
        self.e.bind(slow);
        self.taken_slowly(end, &mut goals);
    }

    /// On to `slow` unless the target of a branch that is taken is at hand. Returns the label where the target cache
    /// has another target than the one in `ecx`: `rdx + rax * 4` is the place of that target then.
    fn target_at_once(&mut self, end: &End, slow: DynamicLabel) -> Option<DynamicLabel> {
        let places = &end.costs.places;
        let (Some(known), Some(entry)) = (places.known, places.entry) else {
            return None;
        };
        self.e.compare_word(known as usize, end.pc.cast_signed());
        dynasm!(self.e.ops; .arch x64; jne =>slow);
        if let Goal::Address { .. } = end.branch.goal {
            return None;
        }
        let (registers, moved) = (places.registers as i64, self.e.label());
        self.e.load_word_at(entry as usize);
        dynasm!(self.e.ops; .arch x64
            ; mov rdx, QWORD registers
            ; cmp [rdx + rax * 4], ecx
            ; jne =>moved
        );
        Some(moved)
    }

    /// The branch is taken, and must be predicted.
    fn taken_slowly(&mut self, end: &End, goals: &mut Vec<(State, DynamicLabel)>) {
        let End {
            branch,
            costs,
            op,
            pc,
        } = end;
        let conditional = branch.conditional.then_some(branch.statically_taken);
        self.site(*pc, Kind::Predict { conditional });
        if let Goal::Address { .. } = branch.goal {
            dynasm!(self.e.ops; .arch x64; mov ecx, 1);
            self.e.call(self.thunks.predict);
        } else {
            dynasm!(self.e.ops; .arch x64; sub rsp, 8; push rcx);
            self.e.call(self.thunks.predict_register);
            dynasm!(self.e.ops; .arch x64; pop rcx; add rsp, 8);
        }
        let mut ways = vec![costs.hit, costs.miss];
        if branch.conditional && self.version.timing.doubt != 0 {
            ways.push(costs.wrong);
        }
        self.by_cost(&ways, |b, state| b.goal(branch, *op, state, goals));
    }

    /// The branch is not taken, and must be predicted.
    fn straight_slowly(&mut self, end: &End) {
        let conditional = Some(end.branch.statically_taken);
        self.site(end.pc, Kind::Predict { conditional });
        dynasm!(self.e.ops; .arch x64; xor ecx, ecx);
        self.e.call(self.thunks.predict);
        let mut ways = vec![end.costs.straight];
        if self.version.timing.doubt != 0 {
            ways.push(end.costs.wrong);
        }
        self.by_cost(&ways, |b, state| b.straight(end, state));
    }

    /// On to the instruction behind the branch.
    fn straight(&mut self, end: &End, state: State) {
        // SAFETY: behind the last instruction of a line is the op that ends it.
        let next = unsafe { end.op.add(1) };
        self.edge_here(end.pc.wrapping_add(4), To::Near(next), state);
    }

    /// The next block follows here, in this state: only the tag of its line is checked.
    pub(super) fn joint(&mut self, ea: u32, to: To, state: State) {
        if is_near(to) {
            return;
        }
        let (delta, label) = (self.version.delta, self.e.label());
        let (place, tag) = (self.tag_place)(ea.wrapping_add(delta));
        self.e.tag(place, tag, label);
        let kind = Slow::Edge(Kind::Edge {
            to,
            state,
            delta,
            slot: None,
        });
        self.slow.push(Behind {
            version: self.number,
            begin: label,
            on: label,
            what: kind,
            ea,
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
                let to = self.to(op, ea, near);
                self.edge_here(ea, to, state);
            }
            Goal::Link | Goal::Count => {
                self.jump_to_target(state);
                self.site(0, Kind::Register { state });
                self.e.jump_to(self.thunks.go_to_register);
            }
        }
    }

    /// Where the branch `op` leads that goes to `ea`; `near`: in its line.
    fn to(&self, op: *const Op, ea: u32, near: bool) -> To {
        if !near {
            return To::Follow(op);
        }
        let away = ea.wrapping_sub(self.version.line) / 4;
        // SAFETY: the target of a near branch is in its line, as the op of its block is.
        unsafe {
            let first = (self.version.op).sub(usize::from(self.version.timing.index));
            To::Near(first.add(away as usize))
        }
    }

    /// Adds the account of the rest of the code, or takes it back.
    fn rest(&mut self, added: bool) {
        let Rest { cycles, counts } = self.version.rest;
        if counts == 0 {
            return;
        }
        let (cycles, counts) = (cycles.cast_signed(), counts.cast_signed());
        let (cycles, counts) = if added {
            (cycles, counts)
        } else {
            (-cycles, -counts)
        };
        dynasm!(self.e.ops; .arch x64; add r13, cycles as i32);
        self.e.count(counts);
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
        );
        self.rest(false);
        dynasm!(self.e.ops; .arch x64
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
        let near = is_near(to);
        // From a line's end on as by its link: a block of no instructions costs nothing.
        let page = ea & !0xfff;
        let in_page = page == self.version.ea & !0xfff;
        let turned = if in_page { None } else { (self.turn)(ea) };
        let delta = turned.map_or(self.version.delta, |(_, delta)| delta);
        let mut slot = None;
        if in_page || turned.is_some() {
            if !near {
                let (place, tag) = (self.tag_place)(ea.wrapping_add(delta));
                self.e.tag(place, tag, stub);
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
            self.rest(false);
            let place = self.memory.slot();
            self.e.jump_through(self.memory.place(place));
            slot = Some((place, self.e.here()));
            self.rest(true);
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

/// True if the op is in the same line.
fn is_near(to: To) -> bool {
    match to {
        // SAFETY: an op of the version's line, or the one that ends it.
        To::Near(op) => unsafe { (*op).instructions != 0 },
        To::Follow(_) => false,
    }
}

fn same(a: To, b: To) -> bool {
    match (a, b) {
        (To::Near(a), To::Near(b)) | (To::Follow(a), To::Follow(b)) => std::ptr::eq(a, b),
        _ => false,
    }
}
