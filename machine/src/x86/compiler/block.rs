//! Compiles a block, op by op. [`instruction`] has what the templates are made of, [`edge`] how the block goes on.

#![allow(
    clippy::useless_conversion,
    reason = "the assembler's macro converts every operand"
)]

use dynasmrt::{DynamicLabel, DynasmApi, DynasmLabelApi, dynasm};

use super::calls::{SLOTS_MOST, packed};
use super::code::{BYTES, Code, Kind, Site, Version};
use super::emit::{DEADLINE, Emitter};
use super::hot::run_compiled;
use super::shape::Shape;
use super::templates::{self, Gives, Template};
use super::thunks::Thunks;
use crate::engine::compiler::SITES;
use crate::engine::compiler::memory::{CodeMemory, Slot, refusal};
use crate::x86::blocks::COMPILED;
use crate::x86::decode::decode;
use crate::x86::op::{END, FETCH, HEAD, Op};
use crate::x86::processor::Processor;
use crate::x86::tlb::Tlb;

mod edge;
mod instruction;
mod memory;
mod predict;

/// One op of a block that is being compiled.
struct Item {
    op: *const Op,
    what: What,
    /// Something may read the flags that it gives.
    flags_live: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum What {
    Template(Template),
    /// Runs by the interpreter's function.
    Alone,
    /// Ends the block, and runs by its chain.
    Stay,
    Fetch,
    End,
}

/// Code that stands behind that of the block: what follows where a check has failed.
type Cold = Box<dyn FnOnce(&mut Block<'_>)>;

/// A block that is being compiled.
struct Block<'a> {
    e: Emitter,
    version: Version,
    number: u32,
    thunks: Thunks,
    memory: &'a mut CodeMemory,
    sites: &'a mut Vec<Site>,
    shape: Shape,
    /// What its ops so far count.
    accesses: u8,
    fetches: u8,
    /// The linear address of the line that was fetched last.
    fetched: u32,
    /// The host's flags are the guest's, but for AF.
    flags_held: bool,
    /// The op that is compiled is a jump.
    branches: bool,
    cold: Vec<Cold>,
    /// Where the slots of its jumps lead at first.
    stubs: Vec<(Slot, usize)>,
    /// Where the block that follows is expected: the physical address, by whether it is jumped to.
    expected: [Option<u32>; 2],
}

impl Processor {
    /// Compiles the block at `head`, which has been entered.
    ///
    /// # Safety
    /// `head` must be the head of a block.
    pub(super) unsafe fn compile(&mut self, head: *const Op) -> Option<u32> {
        // SAFETY: the caller's.
        let (this, original) = unsafe { (&*head, (*head.add(1)).chain) };
        if self.compiler.refused.is_some()
            || this.slots > SLOTS_MOST
            || this.rm == 0
            || !self.runs_compiled(self.mark)
        {
            return None;
        }
        let shape = self.shape();
        if ![shape.data, shape.code]
            .iter()
            .all(|side| (2..16).contains(&side.rotation))
        {
            return None;
        }
        let version = Version {
            head,
            original,
            eip: self.block_eip,
            linear: self.block_linear,
            pa: self.block_pa,
            length: this.at.into(),
            slots: this.slots,
            mark: self.mark,
            body: 0,
            lacks: 0,
            valid: true,
        };
        // SAFETY: the caller's.
        let items = unsafe { self.items(head) }?;
        if self.compiler.code.is_none() {
            match Code::new(self.places(), &shape) {
                Ok(code) => self.compiler.code = Some(code),
                Err(error) => {
                    self.compiler.refused = Some(refusal(&error));
                    return None;
                }
            }
        }
        let full = self
            .compiler
            .code
            .as_ref()
            .is_some_and(|code| code.is_full(self.compiler.most));
        if full {
            self.forget_compiled();
        }
        // SAFETY: the caller's.
        let expected = unsafe { expected(this, head) };
        let Some(code) = &mut self.compiler.code else {
            unreachable!("it has just been made");
        };
        let number = code.versions.len() as u32;
        let mut b = Block {
            e: Emitter::new(code.memory.next()),
            version,
            number,
            thunks: code.thunks,
            memory: &mut code.memory,
            sites: &mut code.sites,
            shape,
            accesses: 0,
            fetches: 0,
            fetched: version.linear & !(shape.line - 1),
            flags_held: false,
            branches: false,
            cold: Vec::new(),
            stubs: Vec::new(),
            expected,
        };
        b.version.body = b.e.here();
        for item in &items {
            b.item(item);
        }
        while !b.cold.is_empty() {
            for cold in std::mem::take(&mut b.cold) {
                cold(&mut b);
            }
        }
        let Block {
            e, version, stubs, ..
        } = b;
        let bytes = e.finish();
        assert!(bytes.len() <= BYTES, "the code of a block fits");
        code.memory.write(&bytes);
        for (slot, stub) in stubs {
            code.memory.lead(slot, stub);
        }
        let number = code.add(version);
        // SAFETY: the caller's; nothing else refers to these ops. The pointer comes from `Blocks`, and so may be
        // written through.
        unsafe {
            (*head.cast_mut()).issued = COMPILED;
            (*head.add(1).cast_mut()).chain = run_compiled;
        }
        Some(number)
    }

    /// The ops of the block, and what they become. `None`: few of them have templates.
    ///
    /// # Safety
    /// As [`Processor::compile`].
    unsafe fn items(&self, head: *const Op) -> Option<Vec<Item>> {
        // SAFETY: the caller's: the ops stand behind the head.
        let this = unsafe { &*head };
        let mode = self.mode();
        let page = (self.block_pa | 0xfff) as usize + 1;
        let code = (self.memory.uncore.ram.bytes()).get(self.block_pa as usize..page)?;
        let mut items = Vec::new();
        let (mut op, mut plain) = (head, 0);
        loop {
            // SAFETY: the last op of a block ends it, and what stands before it has one behind it.
            let part = unsafe {
                op = op.add(1);
                &*op
            };
            let mut item = |what| {
                items.push(Item {
                    op,
                    what,
                    flags_live: true,
                });
            };
            match part.length {
                FETCH => {
                    item(What::Fetch);
                    continue;
                }
                END | HEAD => {
                    item(What::End);
                    break;
                }
                _ => {}
            }
            let decoded = decode(code.get(part.at.into()..)?, mode, 0)?;
            if let Some(template) = templates::of(part, &decoded.form) {
                plain += 1;
                item(What::Template(template));
            } else if decoded.ends {
                item(What::Stay);
                break;
            } else {
                item(What::Alone);
            }
            if decoded.jumps {
                break;
            }
        }
        // To call functions from compiled code takes longer than to run them as a chain.
        if plain * 2 < u32::from(this.number) {
            return None;
        }
        let mut live = true;
        for item in items.iter_mut().rev() {
            item.flags_live = live;
            live = match item.what {
                What::Template(template) => {
                    // It may also be left behind the instruction.
                    item.flags_live |= template.may_leave();
                    template.may_leave()
                        || template.reads_flags()
                        || live && template.gives_flags() != Gives::All
                }
                _ => true,
            };
        }
        Some(items)
    }
}

/// Where the blocks behind the one at `head` are expected: those that it is linked to.
///
/// # Safety
/// `head` must be the head of a block.
unsafe fn expected(this: &Op, head: *const Op) -> [Option<u32>; 2] {
    use crate::engine::blocks::{Part, Successor};
    [Successor::Straight, Successor::Taken].map(|successor| {
        let next = head.wrapping_byte_offset(this.away(successor) as isize);
        // SAFETY: a link leads to a head; one that has not been made leads to the head that has it.
        let next = unsafe { &*next };
        let known = this.away(successor) != 0 && next.length == HEAD && next.rm == this.rm;
        (known && next.immediate != u32::MAX).then_some(next.immediate)
    })
}

impl Block<'_> {
    fn item(&mut self, item: &Item) {
        // SAFETY: the ops of a block stay where they are while it is compiled.
        let op = unsafe { &*item.op };
        match item.what {
            What::Template(template) => self.instruction(item, op, template),
            What::Alone => {
                self.flags_held = false;
                self.site(
                    item.op,
                    Kind::Alone {
                        flags: true,
                        template: false,
                    },
                    0,
                );
                let alone = self.thunks.alone;
                self.e.call(alone);
            }
            What::Stay => self.stay(item.op),
            What::Fetch => self.fetch(op, item.op),
            What::End => {
                let end = self.version.eip.wrapping_add(self.version.length);
                self.edge(item.op, end, false, 0);
            }
        }
    }

    /// `rdx` := a new site. `own`: what the op counts, if it runs at once.
    fn site(&mut self, op: *const Op, kind: Kind, own: u64) {
        let counts = packed(0, 0, self.accesses, self.fetches);
        self.site_with(op, kind, counts, own);
    }

    fn site_with(&mut self, op: *const Op, kind: Kind, counts: u64, own: u64) {
        let place = self.sites.len();
        assert!(place < SITES, "there is room for the sites of a block");
        self.sites.push(Site {
            version: self.number,
            op,
            counts,
            own,
            fetched: self.fetched,
            kind,
        });
        let site = (&raw const self.sites[place]) as i64;
        dynasm!(self.e.ops; .arch x64; mov rdx, QWORD site);
    }

    /// Leaves before an op, which runs by its chain.
    fn stay(&mut self, op: *const Op) {
        self.site(op, Kind::Stay, 0);
        let stay = self.thunks.stay;
        self.e.jump_to(stay);
    }

    /// The fetch of a line in the block.
    fn fetch(&mut self, op: &Op, at: *const Op) {
        self.flags_held = false;
        let (slow, miss, on) = (self.e.label(), self.e.label(), self.e.label());
        let (pa, issued) = (
            self.version.pa.wrapping_add(op.immediate),
            i32::from(op.issued),
        );
        let nowhere = Tlb::NOWHERE.cast_signed();
        dynasm!(self.e.ops; .arch x64; cmp DWORD [rbx + self.shape.code.fetched()], nowhere; je =>slow);
        let (tag_at, tag) = (self.shape.code.tag_at(pa), self.shape.code.tag(pa));
        self.e.tag(tag_at, tag, miss);
        self.e.bind(on);
        // SAFETY: an instruction stands behind a fetch.
        let next = unsafe { at.add(1) };
        let thunk = self.thunks.fetch;
        let (accesses, fetches, fetched) = (self.accesses, self.fetches, self.fetched);
        let line = self.version.linear.wrapping_add(op.immediate) & !(self.shape.line - 1);
        // The whole line is asked for, from its first byte on.
        let first = pa & !(self.shape.line - 1);
        self.cold.push(Box::new(move |b| {
            b.e.bind(slow);
            b.as_it_was(accesses, fetches, fetched, |b| {
                b.site(at, Kind::Fetch, packed(0, 0, 0, 1));
                let alone = b.thunks.alone;
                b.e.call(alone);
            });
            dynasm!(b.e.ops; .arch x64
                ; jmp =>on
                ; =>miss
                ; mov ecx, DWORD first.cast_signed()
                ; mov eax, issued
            );
            b.e.call(thunk);
            let late = b.e.label();
            b.on_time(late);
            dynasm!(b.e.ops; .arch x64; jmp =>on);
            b.e.bind(late);
            b.as_it_was(accesses, fetches + 1, line, |b| {
                b.site(next, Kind::Rest { check: false }, 0);
                let rest = b.thunks.rest;
                b.e.jump_to(rest);
            });
        }));
        self.fetches += 1;
        self.fetched = line;
    }

    /// Emits what stands for a place at which so much had been counted.
    fn as_it_was(&mut self, accesses: u8, fetches: u8, fetched: u32, emit: impl FnOnce(&mut Self)) {
        let now = (self.accesses, self.fetches, self.fetched);
        (self.accesses, self.fetches, self.fetched) = (accesses, fetches, fetched);
        emit(self);
        (self.accesses, self.fetches, self.fetched) = now;
    }

    /// On to `late` if the block no longer ends before the deadline. An op has taken time.
    fn on_time(&mut self, late: DynamicLabel) {
        let slots = i32::from(self.version.slots);
        dynasm!(self.e.ops; .arch x64
            ; lea rdx, [r13 + slots]
            ; cmp rdx, [rbx + DEADLINE]
            ; jae =>late
        );
    }
}
