//! One processor: its parts, its run loop, and why it stopped.

mod accounting;
mod breakpoints;
mod control;
mod exceptions;
mod idle;
mod interrupts;
mod snapshot;
mod stop;
mod turn;

#[cfg(test)]
mod tests;

pub use snapshot::CoreState;
pub use stop::{Fatal, Stop};

use crate::account::CodeCauses;
use crate::account::{Account, Cause};
use crate::board::{BusError, Instant};
use crate::computer::{Limits, Pause, Running, Sanitized as _};
use crate::config::{Family, MachineConfig};
use crate::loader::CauseRange;
use crate::memory::cache::DIRTY;
use crate::memory::{Fixed, Memory};
use crate::observe::Observers;
use crate::observe::causes::numbered;
use crate::observe::stale::{Holder, Key};
use crate::pipeline::{Predictor, Schedule};
use crate::powerpc::compiler::Compiler;
use crate::powerpc::dump::StateDump;
use crate::powerpc::engine::line::Lines;
use crate::powerpc::engine::shortcut::{FAR, NO_PAGE, Shortcuts};
use crate::powerpc::engine::timing::DRAINED;
use crate::powerpc::engine::{CacheProbe, Exit, Hot};
use crate::powerpc::instruction_set::InstructionSet;
use crate::powerpc::mmu::Mmu;
use crate::powerpc::performance::PerformanceMonitor;
use crate::powerpc::registers::Embedded;
use crate::powerpc::stale::{Choice, Copy, Traces, Trail, Truths, Watched};
use crate::powerpc::timers::Timers;
use crate::powerpc::{Registers, Vector, msr};
use accounting::BlockTotals;
use rustc_hash::FxHashSet;

/// A simulated processor, with its access to the uncore.
pub struct Processor {
    /// The processor's number in the machine.
    number: u8,
    pub registers: Registers,
    pub(crate) hot: Hot,
    pub mmu: Mmu,
    pub memory: Memory,
    /// The counters, as of the last call of [`Processor::settle`].
    pub account: Account,
    pub timers: Timers,
    pub performance: PerformanceMonitor,
    pub predictor: Predictor,
    pub observers: Box<Observers<StateDump>>,
    pub(crate) config: MachineConfig,
    pub(crate) schedule: Schedule,
    pub(crate) lines: Lines,
    /// What is compiled of the code.
    pub compiler: Compiler,
    pub(crate) causes: CodeCauses,
    pub(crate) data_shortcuts: Shortcuts,
    pub(crate) fetch_shortcuts: Shortcuts,
    /// Tags of a cache without lines, while a fill blocks the D-cache.
    pub(crate) no_tags: Fixed<u32>,
    /// Index of the data shortcuts in use: 1 for user mode, plus 2 when data translation is off.
    pub(crate) data_mode: usize,
    /// Index of the fetch shortcuts in use, numbered as `data_mode`.
    pub(crate) fetch_mode: usize,
    /// Address after the last instruction that was fetched without the I-cache.
    pub(crate) uncached_next: u32,
    /// Cost category that the guest set through the control device, if it is not 0.
    dynamic_cause: Option<Cause>,
    /// Cost category of the running code, encoded as in a line's header.
    code_cause: u8,
    settled: BlockTotals,
    pub(crate) running: Running<Processor>,
    /// The last vector taken, and the number of instructions completed at that time.
    last_exception: Option<(Vector, u64)>,
    /// Exceptions in a row since an instruction completed.
    in_a_row: u32,
    /// The current access, if no device has answered it and that ends the run.
    unanswered: Option<BusError>,
    /// The machine has several processors, which take turns.
    pub(crate) several: bool,
    /// The translation sanitizer is on.
    pub(crate) sanitized: bool,
    /// A handler that may load an entry is followed: its accesses take no shortcuts.
    pub(crate) following: bool,
    /// Where it will return to.
    pub(crate) followed_from: u32,
    /// The address that had no entry.
    pub(crate) followed_for: u32,
    /// What it has loaded and stored.
    pub(crate) trail: Trail,
    /// Entries whose next use the sanitizer must see.
    pub(crate) suspects: FxHashSet<Key>,
    /// What stores are shown of. The processor that has the uncore has it.
    pub(crate) watched_pieces: Watched,
    /// The last of its changes that this processor knows.
    pub(crate) watched_changes: u64,
    /// Who has chosen the numbers of address spaces that the next thread to go on has.
    pub(crate) choice: Choice,
    /// Whose address space the last program had, with the numbers of the segments; and those that ever changed.
    pub(crate) spaces_before: Option<(Holder, Vec<u32>)>,
    pub(crate) own_segments: u16,
    /// What was found out of suspect entries.
    pub(crate) truths: Truths,
    /// Words that were found before.
    pub(crate) traces: Traces,
    /// In which the guest's handlers are tried.
    pub(crate) copy: Option<Copy>,
    /// Of a copy: the stack pointer of the access.
    pub(crate) copied_stack: Option<u32>,
    /// Of a copy: an instruction has just returned from an exception.
    pub(crate) returned: bool,
}

// SAFETY: the raw pointers of `hot` point into this processor's own heap blocks, and are set anew
// whenever it begins to run.
unsafe impl Send for Processor {}

/// Number of shortcuts in each mode.
const DATA_SHORTCUTS: usize = 256;
const FETCH_SHORTCUTS: usize = 64;

impl Processor {
    /// Makes a processor in its state after reset, with its view of memory. `causes` says which code has its own cost
    /// category.
    ///
    /// # Errors
    /// When the models cannot build what the machine file asks for.
    pub fn new(
        number: u8,
        config: MachineConfig,
        memory: Memory,
        causes: &[CauseRange],
    ) -> Result<Processor, String> {
        let mmu = Mmu::from_config(&config)?;
        let line = config.cache.instruction.line as usize;
        let ram = memory.uncore.ram.size();
        let places = memory.places.size(ram);
        let cache_lines = (config.cache.instruction.size as usize) / line;
        let data_shortcuts = Shortcuts::new(DATA_SHORTCUTS, &mmu.recency(false));
        let fetch_shortcuts = Shortcuts::new(FETCH_SHORTCUTS, &mmu.recency(true));
        let mut processor = Processor {
            number,
            registers: Registers::default(),
            hot: Hot {
                cycles: 0,
                deadline: 0,
                due: 0,
                instructions: 0,
                accesses: 0,
                block: std::ptr::null(),
                pipeline: DRAINED,
                page: NO_PAGE,
                page_delta: 0,
                line: 0,
                code_cause: u32::MAX,
                instruction_tags: CacheProbe::NONE,
                data_tags: CacheProbe::NONE,
                line_index: std::ptr::null(),
                line_base: std::ptr::null(),
                line_stride: 0,
                ram: std::ptr::null_mut(),
                may_modify: DIRTY,
                shortcuts: std::ptr::null_mut(),
                lines: std::ptr::null(),
                shortcut_mask: data_shortcuts.mask(),
                data_recent: std::ptr::null_mut(),
                fetch_recent: std::ptr::null_mut(),
                foresees: false,
                unseen: false,
                exit: Exit::Deadline,
            },
            account: Account::new(ram, line),
            timers: Timers::new(&config),
            performance: PerformanceMonitor::default(),
            predictor: Predictor::new(&config),
            observers: Box::default(),
            schedule: crate::powerpc::timing::schedule(&config),
            lines: Lines::new(
                places,
                line,
                cache_lines,
                InstructionSet::of(config.core.kind),
            ),
            compiler: Compiler::new(config.processors, config.lead),
            causes: CodeCauses::new(numbered(causes)),
            data_shortcuts,
            fetch_shortcuts,
            no_tags: Fixed::default(),
            data_mode: 0,
            fetch_mode: 0,
            uncached_next: 1,
            dynamic_cause: None,
            code_cause: crate::account::NO_CAUSE,
            settled: BlockTotals::default(),
            running: Running::default(),
            last_exception: None,
            in_a_row: 0,
            unanswered: None,
            several: config.processors > 1,
            sanitized: false,
            following: false,
            followed_from: 0,
            followed_for: 0,
            trail: Trail::new(),
            suspects: FxHashSet::default(),
            watched_pieces: Watched::default(),
            watched_changes: 0,
            choice: Choice::default(),
            spaces_before: None,
            own_segments: 0,
            truths: Truths::default(),
            traces: Traces::default(),
            copy: None,
            copied_stack: None,
            returned: false,
            mmu,
            memory,
            config,
        };
        let core = processor.config.core.kind.core();
        for (has, bit) in [(core.temporary_registers, msr::TGPR), (core.marks, msr::PM)] {
            if !has {
                processor.registers.msr_absent |= bit;
            }
        }
        if core.family == Family::Ppc405 {
            processor.registers.msr_absent = !msr::OF_405;
            processor.registers.embedded = Some(Embedded::default());
            // No register switches the caches off: pages, ICCR and DCCR say what is cached.
            processor.memory.enable_caches();
        }
        if core.family == Family::Ppc970 {
            processor.registers.msr_absent = !msr::OF_970;
            processor.registers.wide.there = true;
            // No register switches them off.
            processor.memory.enable_caches();
        }
        if core.registers.pir {
            processor.registers.pir = number.into();
        }
        processor.state_changed();
        Ok(processor)
    }

    /// The configuration that the machine was made from.
    #[must_use]
    pub fn config(&self) -> &MachineConfig {
        &self.config
    }

    /// The processor's number in the machine.
    pub(crate) fn number_of(&self) -> u8 {
        self.number
    }

    /// A copy begins anew: nothing has happened yet.
    pub(crate) fn settle_copy(&mut self) {
        self.settle();
        (self.last_exception, self.in_a_row) = (None, 0);
    }

    /// Makes ready to run, after whatever was done to it from outside.
    pub(crate) fn make_ready(&mut self) {
        self.running.stop = None;
        self.choose_sanitizer();
        self.refresh();
    }

    /// Runs until something stops the machine, a limit is reached, or the turn is over.
    pub(crate) fn run_turn(&mut self, limits: Limits) -> Pause<Stop> {
        self.running.limits = limits;
        let observers = &self.observers;
        let heard = observers.hears_of_tlbs() || observers.recorder.is_some();
        self.account.tlb.unheard = !heard && !self.sanitized && self.memory.undo.is_none();
        self.hot.foresees = self.foresees();
        self.hot.unseen = self.fetches_unseen();
        self.begin_watch();
        loop {
            if let Some(pause) = self.events() {
                self.close_watch();
                return pause;
            }
            let mut op = self.enter_slowly(self.registers.pc);
            while !op.is_null() {
                // SAFETY: `enter_slowly` and the ops themselves return pointers to ops in this processor's own lines.
                unsafe {
                    self.look_for_hot_code(op);
                    op = ((*op).run)(self, op);
                }
            }
            match self.hot.exit {
                Exit::Deadline | Exit::Stopped => {}
                Exit::Single => self.run_single(),
            }
            self.note_block();
        }
    }

    /// Sets the fast path's pointers, and checks what the fast path assumes: RAM, caches and TLBs have the sizes that
    /// the machine was made with, and every I-cache line in RAM has a decoded form. The caller may have changed
    /// [`Processor::memory`] and [`Processor::mmu`] since the last run.
    ///
    /// # Panics
    /// When RAM, a cache or a TLB was replaced by one of another size.
    fn refresh(&mut self) {
        let (code, config) = (self.memory.instruction.geometry(), &self.config.cache);
        let line = code.line as usize;
        assert!(
            (code.size, code.ways) == (config.instruction.size, config.instruction.ways)
                && self
                    .lines
                    .are_for(self.memory.places.size(self.memory.uncore.ram.size()), line)
                && self.memory.data.geometry().line as usize == line
                && self.data_shortcuts.are_for(&self.mmu.recency(false))
                && self.fetch_shortcuts.are_for(&self.mmu.recency(true)),
            "RAM, caches and TLBs keep their sizes"
        );
        let lines = self.memory.instruction.lines();
        let unknown: Vec<u32> = lines
            .map(|(_, _, physical, _)| physical)
            .filter(|&physical| !self.lines.has(physical))
            .collect();
        for physical in unknown {
            self.memory.instruction.invalidate(physical);
        }
        self.hot.instruction_tags = CacheProbe::of(&self.memory.instruction);
        self.hot.data_tags = CacheProbe::of(&self.memory.data);
        self.memory.data.make_shortcuts();
        let (index, base, stride) = self.lines.parts();
        self.hot.line_index = index;
        self.hot.line_base = base;
        self.hot.line_stride = stride;
        self.hot.ram = self.memory.uncore.ram.pointer();
        self.hot.may_modify = if self.observers.watch_stores() || self.memory.stores_through() {
            0
        } else {
            DIRTY
        };
        self.hot.data_recent = self.data_shortcuts.recent(&self.mmu.recency(false));
        self.hot.fetch_recent = self.fetch_shortcuts.recent(&self.mmu.recency(true));
        self.compiler
            .check(self.hot.instruction_tags.tags, self.predictor.tables());
        self.select_shortcuts();
        self.heed_block();
        self.hot.set_deadline(0);
    }

    /// Selects the shortcuts for the current MSR[PR], MSR[DR] and MSR[IR].
    pub(crate) fn select_shortcuts(&mut self) {
        let state = self.registers.msr;
        let user = usize::from(state & msr::PR != 0);
        self.fetch_mode = user + 2 * usize::from(state & msr::IR == 0);
        self.select_data_shortcuts();
        self.hot.page = NO_PAGE;
    }

    /// Selects those of data accesses.
    pub(crate) fn select_data_shortcuts(&mut self) {
        let state = self.registers.msr;
        let user = usize::from(state & msr::PR != 0);
        // A copy remembers what each of its stores overwrites.
        self.data_mode = if self.registers.wide.far == 0 && self.memory.undo.is_none() {
            user + 2 * usize::from(state & msr::DR == 0)
        } else {
            FAR
        };
        self.hot.shortcuts = self.data_shortcuts.table(self.data_mode);
        self.choose_lines();
    }

    /// Must be called after a change from outside to registers, translations or memory.
    pub fn state_changed(&mut self) {
        self.registers.wide.far = 0;
        self.go_to(self.registers.wide.pc);
        self.drop_shortcuts();
        self.select_shortcuts();
        self.choose_cause();
        self.hot.set_deadline(0);
    }

    /// Core cycles since reset.
    #[must_use]
    pub fn cycles(&self) -> u64 {
        self.hot.cycles
    }

    pub(crate) fn add_cycles(&mut self, cycles: u64) {
        self.hot.cycles += cycles;
    }

    /// Cycles and completed instructions since reset.
    #[must_use]
    pub fn instant(&self) -> Instant {
        Instant {
            processor: self.number,
            cycles: self.hot.cycles,
            instructions: self.hot.instructions,
        }
    }

    /// The time base.
    #[must_use]
    pub fn time_base(&self) -> u64 {
        self.timers.time_base(self.hot.cycles)
    }

    /// The decrementer.
    #[must_use]
    pub fn decrementer(&self) -> u32 {
        self.timers.decrementer(self.hot.cycles)
    }

    /// The physical address of `ea` by the current translation, without side effects.
    pub(crate) fn peek_translation(&self, ea: u32) -> Option<u32> {
        use crate::powerpc::mmu::Access::{Fetch, Load};
        let state = self.registers.msr;
        self.mmu
            .peek(ea, Load, state, &self.memory)
            .or_else(|| self.mmu.peek(ea, Fetch, state, &self.memory))
    }
}
