//! Compiles a block for one state of the pipeline, instruction by instruction. [`branch`] has how the block goes on.

#![allow(
    clippy::useless_conversion,
    reason = "the assembler's macro converts every operand"
)]

use dynasmrt::{DynamicLabel, DynasmApi, DynasmLabelApi, dynasm};

use super::calls::packed;
use super::code::{BLOCK, Code, Kind, Site, To, Version};
use super::emit::Emitter;
use super::hot::{VERSIONS, run_compiled};
use super::thunks::Thunks;
use crate::engine::compiler::memory::CodeMemory;
use crate::memory::cache::VALID;
use crate::pipeline::predictor::Places;
use crate::powerpc::engine::line::Op;
use crate::powerpc::engine::shortcut::Shortcut;
use crate::powerpc::engine::timing::{BlockTiming, State};
use crate::powerpc::processor::Processor;
use crate::powerpc::templates::{self, Template};

mod branch;

/// An edge of a version that is being compiled.
struct Edge {
    label: DynamicLabel,
    ea: u32,
    to: To,
    state: State,
}

/// A version that is being compiled.
struct Block<'a> {
    e: Emitter,
    version: Version,
    number: u32,
    thunks: Thunks,
    memory: &'a mut CodeMemory,
    sites: &'a mut Vec<Site>,
    edges: Vec<Edge>,
    /// Where the I-cache's tag of the line of a place is, and what it must be.
    tag_place: &'a dyn Fn(u32) -> (usize, u32),
    /// The shortcut of fetches from the page of an address, if it has one.
    turn: &'a dyn Fn(u32) -> Option<(*const Shortcut, u32)>,
}

impl Processor {
    /// Compiles the block at `op`, which has just begun, in its state.
    ///
    /// # Safety
    /// `op` must point into the decoded lines of this processor.
    pub(super) unsafe fn compile(&mut self, op: *const Op, key: u64) -> Option<u32> {
        // SAFETY: the caller's.
        let (timing, length, accesses) =
            unsafe { ((*op).timing, (*op).instructions, (*op).accesses) };
        // A branch has three costs at most. Room cannot be made while a block runs.
        if self.compiler.refused.is_some()
            || self.registers.wide.there
            || length == 0
            || !self.lines.timings.has_room_for(8)
        {
            return None;
        }
        let probe = self.hot.instruction_tags;
        let line = self.hot.line;
        let ea = line + u32::from(timing.index) * 4;
        // SAFETY: the caller's.
        let (number, tag, cause) = unsafe { self.lines.place_of(op) }?;
        let delta = self.hot.page_delta;
        let mut version = Version {
            key,
            op,
            timing,
            line,
            ea,
            tag,
            // SAFETY: the place of a set among the tags.
            tag_at: unsafe { probe.tags.add(probe.place(ea.wrapping_add(delta)) as usize) },
            shortcut: self.fetch_shortcuts.of(self.fetch_mode, ea),
            cause: cause.into(),
            mode: self.fetch_mode as u8,
            delta,
            branch: false,
            begin: 0,
            body: 0,
            valid: true,
        };
        // SAFETY: the caller's.
        let in_place = unsafe { version.can_run(&self.hot, self.fetch_mode, op) }
            && ea.wrapping_add(delta) & !probe.offset_mask | VALID == tag;
        if !in_place {
            return None;
        }
        if self.compiler.code.is_none() {
            match Code::new(probe.tags as usize) {
                Ok(code) => {
                    self.compiler.shared.targets = code.targets.pointer();
                    self.compiler.code = Some(code);
                }
                Err(error) => {
                    self.compiler.refused = Some(format!(
                        "this computer gives no memory for compiled code ({error}): the interpreter runs all code"
                    ));
                    return None;
                }
            }
        }
        let Some(mut code) = self.compiler.code.take() else {
            unreachable!("it has just been made");
        };
        if code.is_full(self.compiler.most) {
            code.clear();
            self.compiler.heat.clear();
        }
        // SAFETY: the caller's.
        let made = unsafe { self.compile_into(&mut code, &mut version, length, accesses) };
        self.compiler.code = Some(code);
        if !made {
            return None;
        }
        let Some(code) = &mut self.compiler.code else {
            unreachable!("it has just been put back");
        };
        let count = code.counts.entry(key & BLOCK).or_default();
        *count += 1;
        let id = code.versions.len() as u32;
        code.made += 1;
        code.versions.push(version);
        code.known.insert(key, id);
        code.lines.entry(number).or_default().push(id);
        // SAFETY: the caller's; nothing else refers to the op.
        unsafe {
            self.lines.mark_compiled(op);
            if !super::hot::is_compiled(op) {
                self.compiler.originals.insert(op as usize, (*op).run);
                (*op.cast_mut()).run = run_compiled;
            }
        }
        Some(id)
    }

    /// # Safety
    /// As [`Processor::compile`].
    unsafe fn compile_into(
        &mut self,
        code: &mut Code,
        version: &mut Version,
        length: u8,
        accesses: u8,
    ) -> bool {
        let (op, ea, timing) = (version.op, version.ea, version.timing);
        // SAFETY: the caller's.
        let block = unsafe { self.lines.key(op) };
        if code.counts.get(&block).is_some_and(|&n| n >= VERSIONS) {
            return false;
        }
        let set = self.lines.set();
        let words = self.lines.words();
        let last = length - 1;
        let pc = |n: u8| ea.wrapping_add(4 * u32::from(n));
        let costs = self.costs(timing, pc(last));
        // SAFETY: the caller's: the block is in a line.
        let word = |n: u8| unsafe { self.lines.word(op.add(n.into())) };
        let instruction = |n: u8| set.decode(word(n));
        let branch = templates::branch(&instruction(last), pc(last), words as u32 * 4);
        version.branch = branch.is_some();
        // A block of nothing that has a template is left to the interpreter.
        let templated = (0..length)
            .filter(|&n| templates::has(&instruction(n)))
            .count() as u8
            + u8::from(branch.is_some());
        if u32::from(templated) * 2 <= u32::from(length) {
            return false;
        }
        let probe = self.hot.instruction_tags;
        let (shortcuts, mode) = (&self.fetch_shortcuts, self.fetch_mode);
        let turn = move |ea: u32| {
            let shortcut = shortcuts.of(mode, ea);
            (shortcut.load == ea & !0xfff).then_some((&raw const *shortcut, shortcut.delta))
        };
        let tag_place = move |place: u32| {
            // SAFETY: the place of a set among the tags.
            let at = unsafe { probe.tags.add(probe.place(place) as usize) };
            (at as usize, place & !probe.offset_mask | VALID)
        };
        let number = code.versions.len() as u32;
        let mut b = Block {
            e: Emitter::new(code.memory.next()),
            version: *version,
            number,
            thunks: code.thunks,
            memory: &mut code.memory,
            sites: &mut code.sites,
            edges: Vec::new(),
            tag_place: &tag_place,
            turn: &turn,
        };
        // The account.
        version.begin = b.e.here();
        if timing.cycles != 0 {
            let cycles = i32::from(timing.cycles);
            dynasm!(b.e.ops; .arch x64; add r13, cycles);
        }
        let counts = packed(length, branch.is_some(), accesses);
        let counts_label = b.e.label();
        match i32::try_from(counts) {
            Ok(counts) => dynasm!(b.e.ops; .arch x64; add r14, counts),
            Err(_) => dynasm!(b.e.ops; .arch x64; add r14, [=>counts_label]),
        }
        version.body = b.e.here();
        // The instructions.
        let mut slow = Vec::new();
        let mut left = false;
        for n in 0..length {
            let i = instruction(n);
            if n == last && branch.is_some() {
                break;
            }
            // SAFETY: the caller's.
            let op = unsafe { op.add(n.into()) };
            let (form, _) = crate::powerpc::dispatch::handler::<u32>(&i, 0, words, false);
            let label = b.e.label();
            let Some(run) = form.alone else {
                b.stay(op, pc(n));
                left = true;
                break;
            };
            match templates::emit(&mut b.e, &i, label) {
                Template::Whole => dynasm!(b.e.ops; .arch x64; =>label),
                Template::MayBeSlow => {
                    let on = b.e.label();
                    b.e.bind(on);
                    slow.push((label, on, Kind::Alone { op, run }, pc(n)));
                }
                Template::None => {
                    dynasm!(b.e.ops; .arch x64; =>label);
                    b.alone(Kind::Alone { op, run }, pc(n));
                    b.e.forget_comparisons();
                }
            }
        }
        if !left {
            match branch {
                // SAFETY: the caller's.
                Some(branch) => unsafe { b.branch(&branch, &costs, pc(last), last) },
                None => {
                    // SAFETY: every line has an op behind its last instruction.
                    let end = unsafe { op.add(length.into()) };
                    b.edge_here(pc(length), To::Follow(end), timing.after);
                }
            }
        }
        for (label, on, kind, pc) in slow {
            b.e.bind(label);
            b.alone(kind, pc);
            dynasm!(b.e.ops; .arch x64; jmp =>on);
        }
        dynasm!(b.e.ops; .arch x64; .align 8; =>counts_label; .u64 counts);
        let Block { e, .. } = b;
        code.memory.write(&e.finish());
        true
    }

    /// What a branch at `pc`, the end of a block with this timing, may cost.
    fn costs(&mut self, timing: BlockTiming, pc: u32) -> Costs {
        let (hit, miss) = self.predictor.taken_costs();
        let wrong = self.predictor.misprediction(timing.doubt);
        let mut after = |cost| (cost, self.lines.timings.after_wait(timing.after, cost));
        Costs {
            places: self.predictor.places(pc),
            hit: after(hit),
            miss: after(miss),
            wrong: after(wrong),
            straight: after(0),
        }
    }
}

/// A branch's place in the predictor, and each way to go on behind it: what it costs, and the state after it.
struct Costs {
    places: Places,
    hit: (u64, State),
    miss: (u64, State),
    wrong: (u64, State),
    straight: (u64, State),
}
