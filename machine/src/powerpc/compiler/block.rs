//! Versions of blocks: what is compiled of a block for one state of the pipeline, and how they lead to each other.

#![allow(
    clippy::useless_conversion,
    reason = "the assembler's macro converts every operand"
)]

use std::mem::offset_of;

use dynasmrt::{DynamicLabel, DynasmApi, DynasmLabelApi, dynasm};
use rustc_hash::FxHashMap;

use super::calls::{Shared, packed};
use super::emit::{Emitter, hot, register};
use super::hot::{VERSIONS, run_compiled};
use super::memory::{CodeMemory, Slot};
use super::thunks::{Thunks, shared};
use crate::engine::Hot;
use crate::engine::line::Op;
use crate::engine::shortcut::Shortcut;
use crate::engine::timing::{BlockTiming, State};
use crate::memory::Fixed;
use crate::memory::cache::VALID;
use crate::pipeline::Predictor;
use crate::pipeline::predictor::Places;
use crate::powerpc::dispatch::Alone;
use crate::powerpc::mmu::Used;
use crate::powerpc::processor::Processor;
use crate::powerpc::templates::{self, Branch, Goal, Template};

/// Sites at most.
const SITES: usize = 1 << 19;

/// Bytes of a version at most: a line has 32 instructions at most.
const BYTES: usize = 1 << 14;

/// A block, compiled for one state of the pipeline.
#[derive(Clone, Copy, Debug)]
pub struct Version {
    /// Its block and state.
    key: u64,
    pub op: *const Op,
    pub timing: BlockTiming,
    /// Effective address of the line.
    pub line: u32,
    /// Effective address of the block.
    pub(super) ea: u32,
    /// The I-cache's tag word of the line, and where it is.
    tag: u32,
    tag_at: *const u32,
    /// The shortcut of fetches from the page.
    shortcut: *const Shortcut,
    cause: u32,
    /// The mode of fetches.
    mode: u8,
    /// Physical minus effective address.
    delta: u32,
    /// It ends with a compiled branch.
    pub branch: bool,
    /// Its code from its account on, and behind that.
    begin: usize,
    pub body: usize,
    /// It has not been dropped.
    valid: bool,
}

impl Version {
    /// True if fetches come from its page in its mode, and its cause is the one that the account has.
    pub fn is_in(&self, hot: &Hot, mode: usize) -> bool {
        mode == usize::from(self.mode)
            && hot.page == self.ea & !0xfff
            && hot.page_delta == self.delta
            && hot.code_cause == self.cause
    }

    /// True if `op`, whose block has just begun in the state of this version, can run by it.
    ///
    /// # Safety
    /// `op` must point to a decoded op.
    pub unsafe fn can_run(&self, hot: &Hot, mode: usize, op: *const Op) -> bool {
        // SAFETY: the caller's.
        let timing = unsafe { (*op).timing };
        self.is_in(hot, mode)
            && self.line == hot.line
            && hot.pipeline == timing.after
            && (timing.after, timing.cycles) == (self.timing.after, self.timing.cycles)
    }
}

/// Where an edge leads.
#[derive(Clone, Copy, Debug)]
pub enum To {
    /// To this op, in the same line.
    Near(*const Op),
    /// By the link of this op.
    Follow(*const Op),
}

/// What compiled code calls for.
#[derive(Clone, Copy)]
pub enum Kind {
    /// A way out of a block, which leads to [`Site::ea`] in this state. Its jump goes through the slot, at first to
    /// `stub`. An edge without a slot is not linked. `delta`: physical minus effective address there.
    Edge {
        to: To,
        state: State,
        delta: u32,
        slot: Option<(Slot, usize)>,
    },
    /// A jump to a register.
    Register { state: State },
    /// An instruction that only the interpreter runs.
    Stay { op: *const Op },
    /// An instruction that runs alone.
    Alone { op: *const Op, run: Alone },
    /// The prediction of a branch at [`Site::ea`]; its static prediction, if it is conditional.
    Predict { conditional: Option<bool> },
}

/// A place in compiled code that calls Rust.
#[derive(Clone, Copy)]
pub struct Site {
    pub version: u32,
    pub ea: u32,
    pub kind: Kind,
}

/// Places of the look-up of versions that is tried first.
const FRONT: usize = 1 << 12;

/// Where a jump to a register goes on.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Target {
    /// Its effective address, and what must be as in the version: [`Target::key`].
    ea: u32,
    key: u32,
    /// Where the I-cache's tag of its line is, and what it must be.
    tag_at: *const u32,
    tag: u32,
    /// Physical minus effective address.
    delta: u32,
    /// The shortcut of fetches from its page.
    shortcut: *const Shortcut,
    code: usize,
}

/// Targets at a time, and the logarithm of the size of one.
const TARGETS: usize = 1 << 12;
const TARGET_SHIFT: i8 = 6;

const _: () = assert!(size_of::<Target>() <= 1 << TARGET_SHIFT);

impl Target {
    const NONE: Target = Target {
        ea: 1,
        key: 0,
        tag_at: std::ptr::null(),
        tag: 0,
        delta: 0,
        shortcut: std::ptr::null(),
        code: 0,
    };

    /// A target's place among all.
    fn place(ea: u32, state: State) -> usize {
        (ea >> 2 ^ Self::mixed(state)) as usize % TARGETS
    }

    /// The part of the place that the state gives.
    fn mixed(state: State) -> u32 {
        u32::from(state).wrapping_mul(0x9e5) & (TARGETS as u32 - 1)
    }

    /// The state, cause and mode.
    fn key(version: &Version, state: State) -> u32 {
        u32::from(state) | (version.cause & 0xff) << 16 | u32::from(version.mode) << 24
    }
}

/// In place of a version: there will be none.
pub const NEVER: u32 = u32::MAX;

/// The place of a version there.
fn front(key: u64) -> usize {
    (key ^ key >> 17 ^ key >> 45) as usize % FRONT
}

/// The bits of a key that say which block it is.
const BLOCK: u64 = (1 << 48) - 1;

/// All compiled code of a processor.
pub struct Code {
    memory: CodeMemory,
    pub thunks: Thunks,
    versions: Vec<Version>,
    /// Versions that were ever made.
    made: u64,
    cleared: u64,
    sites: Vec<Site>,
    /// By block and state.
    known: FxHashMap<u64, u32>,
    targets: Fixed<Target>,
    front: Box<[(u64, u32); FRONT]>,
    /// The versions in a decoded line.
    lines: FxHashMap<u32, Vec<u32>>,
    /// How many versions a block has.
    counts: FxHashMap<u64, u8>,
    /// The slots that lead to a version, and where they lead otherwise.
    incoming: FxHashMap<u32, Vec<(Slot, usize)>>,
}

// SAFETY: the pointers of sites and versions point into the decoded lines of the same processor.
unsafe impl Send for Code {}

impl Code {
    fn new() -> std::io::Result<Box<Code>> {
        let mut memory = CodeMemory::new()?;
        let thunks = Thunks::write(&mut memory);
        Ok(Box::new(Code {
            memory,
            thunks,
            // Compiled code has pointers to sites, which stay where they are.
            versions: Vec::new(),
            made: 0,
            cleared: 0,
            sites: Vec::with_capacity(SITES),
            known: FxHashMap::default(),
            targets: vec![Target::NONE; TARGETS].into(),
            front: Box::new([(0, 0); FRONT]),
            lines: FxHashMap::default(),
            counts: FxHashMap::default(),
            incoming: FxHashMap::default(),
        }))
    }

    pub fn version(&self, number: u32) -> &Version {
        &self.versions[number as usize]
    }

    pub fn made(&self) -> u64 {
        self.made
    }

    /// The version of a block and state, or [`NEVER`].
    #[inline]
    pub fn find(&mut self, key: u64) -> Option<u32> {
        let place = front(key);
        let (known, number) = self.front[place];
        if known == key {
            return Some(number);
        }
        let number = *self.known.get(&key)?;
        self.front[place] = (key, number);
        Some(number)
    }

    /// Nothing will be compiled of a block and state.
    pub fn never(&mut self, key: u64) {
        self.front[front(key)] = (key, NEVER);
    }

    /// How often everything was dropped: then there are other sites.
    pub fn cleared(&self) -> u64 {
        self.cleared
    }

    /// Drops everything.
    pub fn clear(&mut self) {
        self.cleared += 1;
        self.memory.clear();
        self.versions.clear();
        self.sites.clear();
        self.known.clear();
        self.targets.fill(Target::NONE);
        self.front.fill((0, 0));
        self.lines.clear();
        self.counts.clear();
        self.incoming.clear();
    }

    /// Drops the versions of a decoded line. Their code stays, but nothing leads to it.
    pub fn drop_line(&mut self, line: u32) {
        for number in self.lines.remove(&line).unwrap_or_default() {
            self.versions[number as usize].valid = false;
            for (slot, stub) in self.incoming.remove(&number).unwrap_or_default() {
                self.memory.lead(slot, stub);
            }
            let version = &self.versions[number as usize];
            let key = version.key;
            let target = &mut self.targets[Target::place(version.ea, version.timing.before)];
            if target.code == version.begin {
                *target = Target::NONE;
            }
            self.known.remove(&key);
            self.front[front(key)] = (0, 0);
            if let Some(count) = self.counts.get_mut(&(key & BLOCK)) {
                *count = count.saturating_sub(1);
            }
        }
    }

    /// The jump of `site` goes to this version from now on, if it always can.
    pub fn link(&mut self, site: &Site, to: u32) {
        let Site { version, ea, kind } = *site;
        let (from, next) = (
            &self.versions[version as usize],
            &self.versions[to as usize],
        );
        if !from.valid || !next.valid || (from.mode, from.cause) != (next.mode, next.cause) {
            return;
        }
        match kind {
            Kind::Edge {
                state,
                delta,
                slot: Some((slot, stub)),
                ..
            } if (next.ea, next.timing.before, next.delta) == (ea, state, delta)
                // A jump that is linked comes here, too, when a check of it failed.
                && self.memory.leads(slot) != next.begin =>
            {
                self.memory.lead(slot, next.begin);
                self.incoming.entry(to).or_default().push((slot, stub));
            }
            Kind::Register { state } if next.timing.before == state => {
                self.targets[Target::place(next.ea, state)] = Target {
                    ea: next.ea,
                    key: Target::key(next, state),
                    tag_at: next.tag_at,
                    tag: next.tag,
                    delta: next.delta,
                    shortcut: next.shortcut,
                    code: next.begin,
                };
            }
            _ => {}
        }
    }

    fn is_full(&self, most: usize) -> bool {
        !self.memory.has_room(BYTES, 256)
            || self.versions.len() >= most
            || self.sites.len() + 512 > SITES
    }
}

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
            match Code::new() {
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

const LOAD: i32 = offset_of!(Shortcut, load) as i32;
const DELTA: i32 = offset_of!(Shortcut, delta) as i32;
const PAGE: i32 = hot(offset_of!(Hot, page));
const PAGE_DELTA: i32 = hot(offset_of!(Hot, page_delta));

impl Emitter {
    /// Notes that the page with the shortcut at `rdx` was used. `rcx` and `rdx` are free then.
    fn note_page(&mut self) {
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
    fn spend(&mut self, cycles: u64) {
        dynasm!(self.ops; .arch x64; add r13, cycles as i32);
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

impl Block<'_> {
    /// The branch at the end of a block.
    ///
    /// # Safety
    /// As [`Processor::compile`]; the branch is the instruction `last` of its block.
    unsafe fn branch(&mut self, branch: &Branch, costs: &Costs, pc: u32, last: u8) {
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
        let taken_cost = hit.0;
        let conditional = branch.conditional.then_some(branch.statically_taken);
        let to_register = !matches!(branch.goal, Goal::Address { .. });
        const LR: i32 = register!(lr);
        const CTR: i32 = register!(ctr);
        match branch.goal {
            Goal::Link => dynasm!(b.e.ops; .arch x64; mov ecx, [rbx + LR]; and ecx, -4),
            Goal::Count => {
                dynasm!(b.e.ops; .arch x64; mov ecx, [rbx + CTR]);
                if branch.count.is_some() {
                    // An invalid form, in which the counter is the target after it has been decremented.
                    dynasm!(b.e.ops; .arch x64; sub ecx, 1);
                }
                dynasm!(b.e.ops; .arch x64; and ecx, -4);
            }
            Goal::Address { .. } => {}
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
            let mask = (8i8) >> (bit & 3);
            dynasm!(b.e.ops; .arch x64; test BYTE [rbx + super::emit::field(bit >> 2)], mask);
            if wanted {
                dynasm!(b.e.ops; .arch x64; jz =>not_taken);
            } else {
                dynasm!(b.e.ops; .arch x64; jnz =>not_taken);
            }
        }
        // Taken.
        let slow_taken = b.e.label();
        let sure = b.sure(branch, places, true, slow_taken);
        if sure {
            if let (Some(known), Some(entry)) = (places.known, places.entry) {
                let known = known as i64;
                dynasm!(b.e.ops; .arch x64
                    ; mov rax, QWORD known
                    ; cmp DWORD [rax], pc.cast_signed()
                    ; jne =>slow_taken
                );
                if to_register {
                    let (entry, registers) = (entry as i64, places.registers as i64);
                    dynasm!(b.e.ops; .arch x64
                        ; mov rax, QWORD entry
                        ; mov eax, [rax]
                        ; mov rdx, QWORD registers
                        ; cmp [rdx + rax * 4], ecx
                        ; jne =>slow_taken
                    );
                }
            }
            if taken_cost != 0 {
                b.e.spend(taken_cost);
            }
            b.goal_here(branch, op, hit.1);
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
        b.by_cost(&costs, |b, state| b.goal_here(branch, op, state));
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
    fn site(&mut self, ea: u32, kind: Kind) {
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
    fn stay(&mut self, op: *const Op, pc: u32) {
        self.site(pc, Kind::Stay { op });
        self.e.jump_to(self.thunks.stay);
    }

    /// Runs an instruction alone.
    fn alone(&mut self, kind: Kind, pc: u32) {
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
        let history = history as i64;
        let surest = if taken { Predictor::SUREST as i8 } else { 0 };
        dynasm!(self.e.ops; .arch x64
            ; mov rax, QWORD history
            ; cmp BYTE [rax], surest
            ; jne =>slow
        );
        true
    }

    /// On to the branch's goal, in this state.
    fn goal_here(&mut self, branch: &Branch, op: *const Op, state: State) {
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
            ; cmp r13, r15
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
    fn edge_here(&mut self, ea: u32, to: To, state: State) {
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
                let (place, tag) = (place as i64, tag.cast_signed());
                dynasm!(self.e.ops; .arch x64
                    ; mov rax, QWORD place
                    ; cmp DWORD [rax], tag
                    ; jne =>stub
                );
            }
            dynasm!(self.e.ops; .arch x64; cmp r13, r15; jae =>stub);
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
