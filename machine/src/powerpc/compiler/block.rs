//! Compiles a block for one state of the pipeline, instruction by instruction. [`branch`] has how the block goes on.

#![allow(
    clippy::useless_conversion,
    reason = "the assembler's macro converts every operand"
)]

use dynasmrt::{DynamicLabel, DynasmLabelApi, dynasm};

use super::calls::SLACK;
use super::calls::packed;
use super::code::{BLOCK, BYTES, Code, Kind, Rest, Site, To, Version};
use super::emit::Emitter;
use super::hot::{VERSIONS, run_compiled};
use super::thunks::Thunks;
use crate::engine::compiler::memory::{self, CodeMemory};
use crate::memory::cache::VALID;
use crate::pipeline::predictor::Places;
use crate::powerpc::engine::line::{Lines, Op};
use crate::powerpc::engine::shortcut::Shortcut;
use crate::powerpc::engine::timing::{BlockTiming, State};
use crate::powerpc::processor::Processor;
use crate::powerpc::templates::{self, Branch, Goal, Template};
use branch::End;

mod branch;

/// An edge of a version that is being compiled.
struct Edge {
    label: DynamicLabel,
    ea: u32,
    to: To,
    state: State,
}

/// What code calls where a check has failed.
enum Slow {
    /// The instruction runs alone.
    Alone(Kind),
    /// The model makes the access of the instruction, a store if the flag is set. The instruction goes on at the label,
    /// or runs alone if the model has made no access.
    Access(Kind, bool, DynamicLabel),
    /// The next line is entered.
    Edge(Kind),
}

/// Code that stands behind the rest: the calls of a version.
struct Behind {
    version: u32,
    begin: DynamicLabel,
    /// Where the code goes on then.
    on: DynamicLabel,
    what: Slow,
    ea: u32,
}

/// A branch behind which the code goes on: see [`Block::branch_behind`].
struct Cold {
    number: u32,
    version: Version,
    end: End,
    taken: Option<DynamicLabel>,
    slow: DynamicLabel,
}

/// A block in code that is being written.
#[derive(Clone, Copy)]
struct Part {
    op: *const Op,
    timing: BlockTiming,
    ea: u32,
    /// The number of its decoded line.
    line: u32,
    length: u8,
    accesses: u8,
}

impl Part {
    /// The address of its last instruction.
    fn last(&self) -> u32 {
        self.ea.wrapping_add(4 * (u32::from(self.length) - 1))
    }
}

/// Instructions in a piece of code at most: as many as the longest line has.
const INSTRUCTIONS: u32 = 32;

/// Blocks in a piece of code at most: the code of a branch is long.
const PARTS: usize = 8;

/// A version that is being compiled.
struct Block<'a> {
    e: Emitter,
    version: Version,
    number: u32,
    thunks: Thunks,
    memory: &'a mut CodeMemory,
    sites: &'a mut Vec<Site>,
    edges: Vec<Edge>,
    slow: Vec<Behind>,
    cold: Vec<Cold>,
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
        // Each part may need a number for the state that it leaves, and three for what its branch costs. Numbers cannot
        // be dropped while a block runs.
        if self.compiler.refused.is_some()
            || self.registers.wide.there
            || length == 0
            || !self.lines.timings.has_room_for(4 * INSTRUCTIONS as usize)
        {
            return None;
        }
        let probe = self.hot.instruction_tags;
        let line = self.hot.line;
        let ea = line + u32::from(timing.index) * 4;
        // SAFETY: the caller's.
        let (number, tag, cause) = unsafe { self.lines.place_of(op) }?;
        let delta = self.hot.page_delta;
        let version = Version {
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
            rest: Rest::default(),
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
                    self.compiler.refused = Some(memory::refusal(&error));
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
        let made = unsafe {
            let first = Part {
                op,
                timing,
                ea,
                line: number,
                length,
                accesses,
            };
            self.compile_into(&mut code, &version, first)
        };
        self.compiler.code = Some(code);
        let (parts, versions) = made?;
        let Some(code) = &mut self.compiler.code else {
            unreachable!("it has just been put back");
        };
        let count = code.counts.entry(key & BLOCK).or_default();
        *count += 1;
        let id = code.versions.len() as u32;
        code.made += 1;
        code.versions.extend(versions);
        code.known.insert(key, id);
        for part in parts {
            code.lines.entry(part.line).or_default().push(id);
            // SAFETY: a part is in a decoded line; nothing else refers to it.
            unsafe { self.lines.mark_compiled(part.op) };
        }
        // SAFETY: the caller's; nothing else refers to the op.
        unsafe {
            if !super::hot::is_compiled(op) {
                self.compiler.originals.insert(op as usize, (*op).run);
                (*op.cast_mut()).run = run_compiled;
            }
        }
        Some(id)
    }

    /// Where the code goes on behind `part`, if that is sure now: the part ends with its line, or with a branch that is
    /// expected not to be taken, or with a branch that is always taken and whose target is at hand.
    fn goes_on(&self, part: &Part) -> Option<u32> {
        let (pc, straight) = (part.last(), part.last().wrapping_add(4));
        let Some(branch) = self.branch_of(part) else {
            let behind = usize::from(part.timing.index) + usize::from(part.length);
            return (behind == self.lines.words()).then_some(straight);
        };
        if branch.conditional {
            let tests_once = branch.count.is_some() != branch.bit.is_some();
            let expected = (self.predictor).is_sure(pc, false, branch.statically_taken, || 1);
            return (tests_once && expected).then_some(straight);
        }
        match branch.goal {
            Goal::Address { ea, .. } if self.predictor.target_at_once(pc) => Some(ea),
            _ => None,
        }
    }

    /// The block that follows at `ea`, in this state of the pipeline, if it can be in the same code.
    ///
    /// # Safety
    /// The lines of this processor must be decoded.
    unsafe fn next_part(&mut self, version: &Version, ea: u32, state: State) -> Option<Part> {
        let physical = ea.wrapping_add(version.delta);
        if (ea ^ version.ea) & !0xfff != 0 || !self.lines.has(physical) {
            return None;
        }
        let op = self.lines.at(physical);
        // SAFETY: it is the op of a decoded line.
        unsafe {
            let (line, _, cause) = self.lines.place_of(op)?;
            let (length, accesses) = ((*op).instructions, (*op).accesses);
            if u32::from(cause) != version.cause || length == 0 {
                return None;
            }
            Some(Part {
                op,
                timing: self.lines.time(&self.schedule, op, length, state).timing,
                ea,
                line,
                length,
                accesses,
            })
        }
    }

    /// True if most of the part's instructions have templates: only then is it compiled.
    fn has_templates(&self, part: &Part) -> bool {
        let set = self.lines.set();
        let last = part.length - 1;
        // SAFETY: a part is a block in a line.
        let instruction = |n: u8| set.decode(self.lines.word(unsafe { part.op.add(n.into()) }));
        let branch = self.branch_of(part);
        let templated = (0..part.length)
            .filter(|&n| templates::has(&instruction(n)))
            .count() as u8
            + u8::from(branch.is_some());
        debug_assert!(branch.is_none() || !templates::has(&instruction(last)));
        u32::from(templated) * 2 > u32::from(part.length)
    }

    /// The branch at the end of the part.
    fn branch_of(&self, part: &Part) -> Option<Branch> {
        // SAFETY: a part is a block in a line.
        let word = self
            .lines
            .word(unsafe { part.op.add(usize::from(part.length) - 1) });
        let line = self.lines.words() as u32 * 4;
        templates::branch(&self.lines.set().decode(word), part.last(), line)
    }

    /// `first` and the blocks that follow it in the same piece of code.
    ///
    /// # Safety
    /// As [`Processor::next_part`].
    unsafe fn parts(&mut self, version: &Version, first: Part) -> Vec<Part> {
        let mut parts = vec![first];
        let (mut instructions, mut cycles) = (u32::from(first.length), 0);
        while let Some(&last) = parts.last()
            && let Some(ea) = self.goes_on(&last)
            // SAFETY: the caller's.
            && let Some(next) = unsafe { self.next_part(version, ea, last.timing.after) }
        {
            instructions += u32::from(next.length);
            cycles += u64::from(last.timing.cycles);
            let again = parts.iter().any(|part| std::ptr::eq(part.op, next.op));
            if again
                || parts.len() == PARTS
                || instructions > INSTRUCTIONS
                || cycles > SLACK
                || !self.has_templates(&next)
            {
                break;
            }
            parts.push(next);
        }
        parts
    }

    /// Writes the code of the block and of what follows it. Returns the parts and a version for each; the first version
    /// is that of the whole code.
    ///
    /// # Safety
    /// As [`Processor::compile`].
    unsafe fn compile_into(
        &mut self,
        code: &mut Code,
        version: &Version,
        first: Part,
    ) -> Option<(Vec<Part>, Vec<Version>)> {
        // SAFETY: the caller's.
        let block = unsafe { self.lines.key(first.op) };
        let versions = code.counts.get(&block).copied().unwrap_or_default();
        if versions >= VERSIONS || !self.has_templates(&first) {
            return None;
        }
        // SAFETY: the caller's.
        let parts = unsafe { self.parts(version, first) };
        let mut rest = Rest::default();
        let mut versions: Vec<Version> = (parts.iter().rev())
            .map(|part| {
                let branch = self.branch_of(part).is_some();
                let this = Version {
                    op: part.op,
                    timing: part.timing,
                    line: part.ea - 4 * u32::from(part.timing.index),
                    ea: part.ea,
                    branch,
                    rest,
                    ..*version
                };
                rest.cycles += u64::from(part.timing.cycles);
                rest.counts += packed(part.length, branch, part.accesses);
                this
            })
            .collect();
        versions.reverse();
        let costs: Vec<Costs> = (parts.iter())
            .map(|part| self.costs(part.timing, part.last()))
            .collect();
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
            version: versions[0],
            number,
            thunks: code.thunks,
            memory: &mut code.memory,
            sites: &mut code.sites,
            edges: Vec::new(),
            slow: Vec::new(),
            cold: Vec::new(),
            tag_place: &tag_place,
            turn: &turn,
        };
        // The account of all parts.
        versions[0].begin = b.e.here();
        b.e.spend(rest.cycles);
        b.e.count(rest.counts.cast_signed());
        versions[0].body = b.e.here();
        for (n, part) in parts.iter().enumerate() {
            (b.version, b.number) = (versions[n], number + n as u32);
            b.edges.clear();
            // SAFETY: the caller's.
            unsafe {
                let last = n + 1 == parts.len();
                b.part(&self.lines, part, costs[n], self.branch_of(part), last);
            }
        }
        for cold in std::mem::take(&mut b.cold) {
            (b.version, b.number) = (cold.version, cold.number);
            b.edges.clear();
            b.branch_behind(&cold.end, cold.taken, cold.slow);
        }
        for behind in std::mem::take(&mut b.slow) {
            b.number = behind.version;
            b.e.bind(behind.begin);
            match behind.what {
                Slow::Alone(kind) => {
                    b.alone(kind, behind.ea);
                    let on = behind.on;
                    dynasm!(b.e.ops; .arch x64; jmp =>on);
                }
                Slow::Access(kind, store, reached) => {
                    b.site(behind.ea, kind);
                    b.e.call(b.thunks.access[usize::from(store)]);
                    dynasm!(b.e.ops; .arch x64; test rcx, rcx; jnz =>reached);
                    b.e.call(b.thunks.alone);
                    let on = behind.on;
                    dynasm!(b.e.ops; .arch x64; jmp =>on);
                }
                Slow::Edge(kind) => {
                    b.site(behind.ea, kind);
                    b.e.jump_to(b.thunks.go);
                }
            }
        }
        let written = b.e.finish();
        assert!(written.len() <= BYTES, "there is room for a piece of code");
        code.memory.write(&written);
        Some((parts, versions))
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

impl Block<'_> {
    /// A part of the code. `last`: nothing follows it here.
    ///
    /// # Safety
    /// As [`Processor::compile`].
    unsafe fn part(
        &mut self,
        lines: &Lines,
        part: &Part,
        costs: Costs,
        branch: Option<Branch>,
        last: bool,
    ) {
        let b = self;
        let (set, words) = (lines.set(), lines.words());
        let Part {
            op: first, length, ..
        } = *part;
        for n in 0..length {
            // SAFETY: the caller's: the block is in a line.
            let op = unsafe { first.add(n.into()) };
            let pc = part.ea.wrapping_add(4 * u32::from(n));
            if let Some(branch) = branch
                && n + 1 == length
            {
                let end = End {
                    branch,
                    costs,
                    op,
                    pc,
                };
                // SAFETY: the caller's.
                return unsafe { b.branch(end, !last) };
            }
            let i = set.decode(lines.word(op));
            let (form, _) = crate::powerpc::dispatch::handler::<u32>(&i, 0, words, false);
            let label = b.e.label();
            let Some(run) = form.alone else {
                return b.stay(op, pc);
            };
            let alone = |bytes| Kind::Alone { op, run, bytes };
            let what = match templates::emit(&mut b.e, &i, label) {
                Template::Whole => {
                    b.e.bind(label);
                    continue;
                }
                Template::None => {
                    b.e.bind(label);
                    b.alone(alone(0), pc);
                    b.e.forget_comparisons();
                    continue;
                }
                Template::MayBeSlow => Slow::Alone(alone(0)),
                Template::Access {
                    bytes,
                    store,
                    reached,
                } => Slow::Access(alone(bytes), store, reached),
            };
            let on = b.e.label();
            b.e.join(on);
            b.slow.push(Behind {
                version: b.number,
                begin: label,
                on,
                what,
                ea: pc,
            });
        }
        // SAFETY: every line has an op behind its last instruction.
        let to = To::Follow(unsafe { first.add(length.into()) });
        let (next, state) = (part.last().wrapping_add(4), part.timing.after);
        if last {
            return b.edge_here(next, to, state);
        }
        b.joint(next, to, state);
    }
}

/// A branch's place in the predictor, and each way to go on behind it: what it costs, and the state after it.
#[derive(Clone, Copy)]
struct Costs {
    places: Places,
    hit: (u64, State),
    miss: (u64, State),
    wrong: (u64, State),
    straight: (u64, State),
}
