//! Compiles the instructions behind a part of a block for one state of the pipeline. [`edge`] has how they go on.

#![allow(
    clippy::useless_conversion,
    reason = "the assembler's macro converts every operand"
)]

use dynasmrt::{DynamicLabel, DynasmApi, DynasmLabelApi, dynasm};

use super::calls::packed;
use super::code::{BYTES, Kind, Part, Site, Version};
use super::emit::{Emitter, Lookup, UNTIL};
use super::hot::keep;
use super::templates;
use super::thunks::Thunks;
use crate::engine::compiler::SITES;
use crate::engine::compiler::memory::{CodeMemory, Slot};
use crate::engine::schedule::Number;
use crate::engine::straight::Straight;
use crate::memory::RamAddress;
use crate::memory::cache::VALID;
use crate::riscv::op::{Class, Op};
use crate::riscv::pmp::right;
use crate::riscv::processor::Processor;
use crate::riscv::tlb::PageShortcut;

mod edge;

/// Code that stands behind that of the version: what follows where a check has failed.
type Cold = Box<dyn FnOnce(&mut Block<'_>)>;

/// A version that is being compiled.
struct Block<'a> {
    e: Emitter,
    number: u32,
    thunks: Thunks,
    memory: &'a mut CodeMemory,
    sites: &'a mut Vec<Site>,
    lookup: Lookup,
    around: Around,
    va: u64,
    pa: RamAddress,
    mode: u8,
    /// The virtual address of the line that was fetched last.
    line: u64,
    /// What has not been counted by what is emitted.
    ahead: u64,
    cold: Vec<Cold>,
    /// Where the slots of its jumps lead at first.
    stubs: Vec<(Slot, usize)>,
    /// Ways on that there are, by address and state.
    edges: Vec<(u64, Number, DynamicLabel)>,
    shortcut: &'a dyn Fn(u64) -> (*const PageShortcut, PageShortcut),
}

/// Places and numbers that stand in the code of a version.
#[derive(Clone, Copy)]
struct Around {
    tags: *const u32,
    rotation: u32,
    mask: u32,
    line: u64,
    mispredict: u32,
    /// The predictor's tables, and masks for their places.
    counters: (usize, usize),
    targets: (usize, usize),
    /// The state at the end, and after a wrong prediction there.
    end: Number,
    wrong: Number,
}

impl Processor {
    /// Compiles what is behind `part` of the block at `head`, at which the processor is, for this state.
    ///
    /// # Safety
    /// They must be parts of a block that lives.
    pub(super) unsafe fn compile(
        &mut self,
        (part, head): (Part, Part),
        key: u64,
        state: Number,
        mode: u8,
    ) -> Option<u32> {
        let data = self.memory.data.places();
        // Room for states cannot be made while compiled code runs.
        if !(2..16).contains(&data.0) || !self.schedules.have_room_for(8) {
            return None;
        }
        // SAFETY: the caller's: instructions follow the part, up to the block's end, and stay as they are.
        let ops: Vec<&Op> = (1..)
            .map_while(|n| match unsafe { &*part.add(n) } {
                Straight::Instruction(op) => Some(op),
                _ => None,
            })
            .collect();
        let places = self.places();
        if ops.is_empty() || !has_templates(&ops) || !self.compiler.makes_room(places) {
            return None;
        }
        if self.compiler.code().is_full(self.compiler.most) {
            self.forget_compiled();
        }
        if !self.compiler.code().takes_more_of(key) {
            return None;
        }
        let schedule = self
            .schedules
            .schedule(state, ops.iter().copied(), &self.costs);
        let mispredict = self.config.branch.mispredict;
        let around = Around {
            tags: self.memory.instruction.tags().pointer(),
            rotation: self.memory.instruction.places().0,
            mask: self.memory.instruction.places().1,
            line: self.line,
            mispredict,
            counters: (
                self.predictor.counters.pointer() as usize,
                self.predictor.counters.len() - 1,
            ),
            targets: (
                self.predictor.targets.pointer() as usize,
                self.predictor.targets.len() - 1,
            ),
            end: schedule.end,
            wrong: self.schedules.after(schedule.end, mispredict.into()),
        };
        let (va, line) = (self.pc, self.line);
        let pa = self.fetched.1 & !0xfff | (va & 0xfff) as RamAddress;
        let shortcuts = self.mmu.first[0].shortcuts();
        let shortcut = |va: u64| {
            let place = (va >> 12) as usize % shortcuts.len();
            (
                shortcuts.pointer().wrapping_add(place).cast_const(),
                shortcuts[place],
            )
        };
        let code = self.compiler.code_mut();
        let number = code.versions.len() as u32;
        let mut b = Block {
            e: Emitter::new(code.memory.next()),
            number,
            thunks: code.thunks,
            memory: &mut code.memory,
            sites: &mut code.sites,
            lookup: Lookup {
                mode: mode & 15,
                rotation: data.0,
                set_mask: data.1,
                line: line as u32,
                note_fetch: code.thunks.notes[0],
                note_data: code.thunks.notes[1],
            },
            around,
            va,
            pa,
            mode,
            line: self.fetched.0,
            ahead: 0,
            cold: Vec::new(),
            stubs: Vec::new(),
            edges: Vec::new(),
            shortcut: &shortcut,
        };
        let begin = b.e.here();
        b.ops(&ops, schedule.last.0);
        while !b.cold.is_empty() {
            for cold in std::mem::take(&mut b.cold) {
                cold(&mut b);
            }
        }
        let Block { e, stubs, .. } = b;
        let bytes = e.finish();
        assert!(bytes.len() <= BYTES, "the code of a version fits");
        code.memory.write(&bytes);
        for (slot, stub) in stubs {
            code.memory.lead(slot, stub);
        }
        code.add(Version {
            key,
            part,
            state,
            head,
            va,
            pa,
            mode,
            schedule,
            begin,
            valid: true,
        });
        // SAFETY: the caller's; nothing refers to the head.
        unsafe { keep(head, true) };
        Some(number)
    }
}

/// Do most of these instructions have templates? To call functions from compiled code takes longer than to run them as
/// a block.
fn has_templates(ops: &[&Op]) -> bool {
    let mut e = Emitter::new(0);
    let with = ops.iter().filter(|op| {
        templates::access(op).is_some()
            || op.class == Class::Branch
            || templates::plain(&mut e, op, 0)
    });
    with.count() * 2 >= ops.len()
}

impl Block<'_> {
    /// Where a virtual address of its page is in RAM.
    fn in_ram(&self, va: u64) -> RamAddress {
        self.pa & !0xfff | (va & 0xfff) as RamAddress
    }

    /// The lines that an instruction at `va` fetches, if `line` was fetched last.
    fn fetches(&self, op: &Op, va: u64, line: u64) -> Vec<u64> {
        if !op.fetches {
            return Vec::new();
        }
        let of = |va: u64| va & !(self.around.line - 1);
        let mut lines = vec![line, of(va), of(va + u64::from(op.length) - 2)];
        lines.dedup();
        lines.split_off(1)
    }

    fn ops(&mut self, ops: &[&Op], last: u64) {
        // The account.
        let late = self.e.label();
        if last != 0 {
            dynasm!(self.e.ops; .arch x64; add r13, last as i32);
        }
        dynasm!(self.e.ops; .arch x64; cmp r13, [rbx + UNTIL]; jae =>late);
        let (mut va, mut line, mut all) = (self.va, self.line, 0_u64);
        let mut owns = Vec::new();
        for op in ops {
            let fetches = self.fetches(op, va, line);
            line = fetches.last().copied().unwrap_or(line);
            let own = own(op);
            all += own + packed(fetches.len() as u64, 0, 0, 0);
            owns.push((va, fetches, own));
            va = va.wrapping_add(op.length.into());
        }
        let counts = self.e.label();
        match i32::try_from(all) {
            Ok(all) => dynasm!(self.e.ops; .arch x64; add r14, all),
            Err(_) => dynasm!(self.e.ops; .arch x64; add r14, [=>counts]),
        }
        let first = self.line;
        self.cold.push(Box::new(move |b| {
            b.e.bind(late);
            let line = std::mem::replace(&mut b.line, first);
            b.site(Kind::Late, 1, (0, 0));
            b.line = line;
            let late = b.thunks.late;
            b.e.jump_to(late);
            dynasm!(b.e.ops; .arch x64; .align 8; =>counts; .u64 all);
        }));
        self.ahead = all;
        let mut step = 0;
        for (n, (op, (va, fetches, own))) in (1_u8..).zip(ops.iter().zip(owns)) {
            self.fetch(&fetches, n, step);
            if usize::from(n) == ops.len() && op.class == Class::Branch {
                self.branch(op, va);
                return;
            }
            let number = step;
            step += u16::from(!op.plain);
            self.op(op, n, va, number, own);
        }
        let last = ops.last().map(|op| op.class);
        if !matches!(last, Some(Class::System | Class::Fence)) {
            let next = ops
                .iter()
                .fold(self.va, |va, op| va.wrapping_add(op.length.into()));
            self.edge(next, self.around.end);
        } else {
            // The last instruction has left compiled code.
            dynasm!(self.e.ops; .arch x64; ud2);
        }
    }

    /// An instruction that is no jump.
    fn op(&mut self, op: &Op, n: u8, va: u64, step: u16, own: u64) {
        if let Some(access) = templates::access(op) {
            let (slow, on) = (self.e.label(), self.e.label());
            let lookup = self.lookup;
            templates::load_or_store(&mut self.e, op, access, &lookup, slow);
            self.e.bind(on);
            let (ahead, line) = (self.ahead, self.line);
            self.cold.push(Box::new(move |b| {
                b.e.bind(slow);
                let now = std::mem::replace(&mut b.line, line);
                b.site(Kind::Alone { step }, n, (ahead, ahead - own));
                b.line = now;
                let alone = b.thunks.alone;
                b.e.call(alone);
                dynasm!(b.e.ops; .arch x64; jmp =>on);
            }));
        } else if !templates::plain(&mut self.e, op, va) {
            let (kind, thunk) = if op.class.is_plain() {
                (Kind::Plain, self.thunks.plain)
            } else {
                (Kind::Alone { step }, self.thunks.alone)
            };
            self.site(kind, n, (self.ahead, self.ahead - own));
            self.e.call(thunk);
        }
        self.ahead -= own;
    }

    /// The fetches of these lines, by instruction `n`.
    fn fetch(&mut self, lines: &[u64], n: u8, step: u16) {
        if lines.is_empty() {
            return;
        }
        let behind = self.ahead - packed(lines.len() as u64, 0, 0, 0);
        let on = self.e.label();
        for &va in lines {
            let slow = self.e.label();
            let (at, tag) = self.instruction_tag(self.in_ram(va));
            self.e.tag(at, tag, slow);
            let (ahead, line) = (self.ahead, self.line);
            self.cold.push(Box::new(move |b| {
                b.e.bind(slow);
                let now = std::mem::replace(&mut b.line, line);
                b.site(Kind::Fetch { step }, n, (ahead, behind));
                b.line = now;
                let fetch = b.thunks.fetch;
                b.e.call(fetch);
                dynasm!(b.e.ops; .arch x64; jmp =>on);
            }));
            self.ahead -= packed(1, 0, 0, 0);
            self.line = va;
        }
        self.e.bind(on);
    }

    /// Where the I-cache's tag of the line of `pa` is, and what it is if that line was used last in its set.
    fn instruction_tag(&self, pa: RamAddress) -> (usize, u32) {
        let place = (pa.rotate_right(self.around.rotation) & self.around.mask) as usize;
        let line = pa & !(self.around.line as u32 - 1);
        (self.around.tags.wrapping_add(place) as usize, line | VALID)
    }

    /// `rdx` := a new site.
    fn site(&mut self, kind: Kind, number: u8, (ahead, behind): (u64, u64)) {
        let place = self.sites.len();
        assert!(place < SITES, "there is room for the sites of a version");
        self.sites.push(Site {
            version: self.number,
            kind,
            number,
            ahead,
            behind,
            line: self.line,
        });
        let site = (&raw const self.sites[place]) as i64;
        dynasm!(self.e.ops; .arch x64; mov rdx, QWORD site);
    }

    /// The shortcut of fetches from the page of `va`, if it has one now.
    fn turn(&self, va: u64) -> Option<(*const PageShortcut, u64, u64)> {
        let (place, shortcut) = (self.shortcut)(va);
        let wanted = PageShortcut::wanted(va, self.mode >> 4);
        shortcut
            .is_for(wanted, right::EXECUTE)
            .then(|| (place, wanted, shortcut.delta()))
    }
}

/// What an instruction counts that compiled code runs at once. What runs by the interpreter's function is counted
/// there.
fn own(op: &Op) -> u64 {
    if templates::access(op).is_some() {
        packed(0, 1, 1, 0)
    } else if op.class == Class::Branch {
        packed(0, 1, 0, 1)
    } else if op.class.is_plain() {
        packed(0, 1, 0, 0)
    } else {
        0
    }
}
