//! The machine as a target of GDB: memory by the current translation without side effects,
//! breakpoints, watchpoints, single step. Each processor is a thread, whose number is the
//! processor's plus one; a breakpoint or watchpoint holds for all processors.

use std::net::{TcpListener, TcpStream};

use gdbstub::common::{Signal, Tid};
use gdbstub::conn::ConnectionExt as _;
use gdbstub::stub::run_blocking::{BlockingEventLoop, Event, WaitForStopReasonError};
use gdbstub::stub::{DisconnectReason, GdbStub, MultiThreadStopReason};
use gdbstub::target::ext::base::BaseOps;
use gdbstub::target::ext::base::multithread::{
    MultiThreadBase, MultiThreadResume, MultiThreadResumeOps, MultiThreadSchedulerLocking,
    MultiThreadSchedulerLockingOps, MultiThreadSingleStep, MultiThreadSingleStepOps,
};
use gdbstub::target::ext::base::single_register_access::{
    SingleRegisterAccess, SingleRegisterAccessOps,
};
use gdbstub::target::ext::breakpoints::{
    Breakpoints, BreakpointsOps, HwBreakpoint, HwBreakpointOps, HwWatchpoint, HwWatchpointOps,
    SwBreakpoint, SwBreakpointOps, WatchKind,
};
use gdbstub::target::ext::target_description_xml_override::{
    TargetDescriptionXmlOverride, TargetDescriptionXmlOverrideOps,
};
use gdbstub::target::ext::thread_extra_info::{ThreadExtraInfo, ThreadExtraInfoOps};
use gdbstub::target::{Target, TargetError, TargetResult};

use super::guest::Debugged;
use super::registers::{File, Id, Of, description};
use crate::computer::{Breakpoints as Marks, Computer, Limits, Stop, StopOf, Watchpoint};

/// Cycles between two checks of the connection while the guest runs: a limit of instructions would change the run.
const SLICE: u64 = 200_000;

/// Why a debugging session could not be held.
#[derive(Debug, thiserror::Error)]
pub enum DebugError {
    #[error("gdb: cannot listen on port {port}: {message}")]
    Listen { port: u16, message: String },
    #[error("gdb: the connection broke: {message}")]
    Connection { message: String },
}

/// How a debugging session ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended<S> {
    /// The guest stopped for good.
    Stopped(S),
    /// GDB detached; the guest can run on.
    Detached,
    /// GDB killed the guest.
    Killed,
}

/// Instructions of others between two checks of the connection while one processor is stepped.
const STEPS: u32 = 10_000;

/// What the guest does after GDB resumes it.
#[derive(Clone, Copy, Debug, Default)]
struct Mode {
    /// The processor that runs one instruction, or until something stops it.
    step: Option<usize>,
    /// The processor that GDB names, if it names one.
    named: Option<usize>,
    /// Whether the other processors stand still: GDB has locked the scheduler.
    locked: bool,
}

struct Debuggee<'a, C: Debugged> {
    machine: &'a mut Computer<C>,
    mode: Mode,
    /// GDB expects a PowerPC to stop before a watched access, and then steps over it. Here the access is done
    /// already, so that step must run nothing.
    step_over_watched: bool,
    /// The reason why the guest cannot go on, if there is one.
    ended: Option<StopOf<C>>,
    description: String,
    /// Instructions that the guest may run before it is stopped for good.
    limits: Limits,
}

/// Waits for GDB on `port` of the local host (0: any free one, announced by `announce`), then runs
/// the machine under its control.
///
/// # Errors
/// When the port is taken or the connection breaks.
pub fn serve<C: Debugged>(
    machine: &mut Computer<C>,
    port: u16,
    limits: Limits,
    announce: impl FnOnce(u16),
) -> Result<Ended<StopOf<C>>, DebugError> {
    let listen = |error: std::io::Error| DebugError::Listen {
        port,
        message: error.to_string(),
    };
    let listener = TcpListener::bind(("127.0.0.1", port)).map_err(listen)?;
    announce(listener.local_addr().map_err(listen)?.port());
    let (stream, _) = listener.accept().map_err(listen)?;
    let _ = stream.set_nodelay(true);
    let description = description::<C::Layout>();
    let mut debuggee = Debuggee {
        machine,
        mode: Mode::default(),
        step_over_watched: false,
        ended: None,
        description,
        limits,
    };
    let reason = GdbStub::new(stream)
        .run_blocking::<Loop<'_, C>>(&mut debuggee)
        .map_err(|error| DebugError::Connection {
            message: error.to_string(),
        })?;
    let ended = debuggee.ended.take();
    machine.breakpoints(Marks::clear);
    Ok(match (ended, reason) {
        (Some(stop), _) => Ended::Stopped(stop),
        (None, DisconnectReason::Kill) => Ended::Killed,
        (None, _) => Ended::Detached,
    })
}

impl<C: Debugged> Debuggee<'_, C> {
    /// Runs a slice, or one instruction. `None`: nothing happened that GDB must hear of.
    fn run(&mut self) -> Option<MultiThreadStopReason<u64>> {
        if let Some(stop) = self.ended.clone() {
            return Some(self.reason(&stop));
        }
        let over = std::mem::take(&mut self.step_over_watched);
        let stop = match self.mode.step {
            Some(number) if over && thread(number) == self.current() => {
                return Some(done_step(number));
            }
            Some(number) => self.step(number)?,
            None => self.go(SLICE, u64::MAX),
        };
        self.step_over_watched = matches!(stop, Stop::Watchpoint { .. });
        let now = self.machine.instant();
        match (&stop, self.mode.step) {
            (Stop::Limit | Stop::Batch, _)
                if now.instructions >= self.limits.instructions
                    || now.cycles >= self.limits.cycles =>
            {
                self.ended = Some(Stop::Limit);
                Some(self.reason(&Stop::Limit))
            }
            (Stop::Limit | Stop::Batch, None) => None,
            (Stop::Limit | Stop::Batch, Some(number)) => Some(done_step(number)),
            (Stop::PowerOff { .. } | Stop::Exception(_) | Stop::Fatal(_), _) => {
                let reason = self.reason(&stop);
                self.ended = Some(stop);
                Some(reason)
            }
            (Stop::Breakpoint { .. } | Stop::Watchpoint { .. }, _) => Some(self.reason(&stop)),
        }
    }

    /// Runs until the processor has completed an instruction. `None`: only others have, as yet.
    fn step(&mut self, number: usize) -> Option<StopOf<C>> {
        let completed = |machine: &Computer<C>| machine.processors()[number].instant().instructions;
        let before = completed(self.machine);
        for _ in 0..STEPS {
            let stop = self.go(u64::MAX, 1);
            let now = self.machine.instant();
            if !matches!(stop, Stop::Limit | Stop::Batch)
                || completed(self.machine) != before
                || now.instructions >= self.limits.instructions
                || now.cycles >= self.limits.cycles
            {
                return Some(stop);
            }
        }
        None
    }

    /// Runs for so many cycles, or for so many instructions.
    fn go(&mut self, cycles: u64, instructions: u64) -> StopOf<C> {
        let now = self.machine.instant();
        let limits = Limits {
            cycles: now.cycles.saturating_add(cycles).min(self.limits.cycles),
            instructions: now
                .instructions
                .saturating_add(instructions)
                .min(self.limits.instructions),
        };
        let named = self.mode.step.or(self.mode.named);
        match named.filter(|_| self.mode.locked) {
            Some(number) => self.machine.run_alone(number, limits),
            None => self.machine.run(limits),
        }
    }

    fn reason(&self, stop: &StopOf<C>) -> MultiThreadStopReason<u64> {
        let tid = self.current();
        match stop {
            Stop::PowerOff { status } => MultiThreadStopReason::Exited(*status as u8),
            Stop::Limit | Stop::Batch => MultiThreadStopReason::Terminated(Signal::SIGXCPU),
            Stop::Breakpoint { .. } => MultiThreadStopReason::SwBreak(tid),
            Stop::Watchpoint { address, write } => MultiThreadStopReason::Watch {
                tid,
                kind: if *write {
                    WatchKind::Write
                } else {
                    WatchKind::Read
                },
                addr: *address,
            },
            Stop::Exception(_) | Stop::Fatal(_) => MultiThreadStopReason::SignalWithThread {
                tid,
                signal: Signal::SIGABRT,
            },
        }
    }

    /// The thread of the processor that stopped the last run.
    fn current(&self) -> Tid {
        thread(usize::from(self.machine.instant().processor))
    }

    /// The number of a thread's processor.
    fn at(&self, tid: Tid) -> TargetResult<usize, Self> {
        self.number(tid).ok_or(TargetError::NonFatal)
    }

    fn number(&self, tid: Tid) -> Option<usize> {
        let number = tid.get() - 1;
        (number < self.machine.processors().len()).then_some(number)
    }

    fn file(&mut self, tid: Tid) -> TargetResult<File<C::Layout>, Self> {
        let number = self.at(tid)?;
        Ok(File::new(self.machine.at(number, C::values)))
    }

    fn known(&self, tid: Tid) -> Result<usize, String> {
        self.number(tid).ok_or(format!("there is no thread {tid}"))
    }
}

/// The thread of a processor: no thread has the number 0.
fn thread(number: usize) -> Tid {
    Tid::MIN.saturating_add(number)
}

fn done_step<A>(number: usize) -> MultiThreadStopReason<A> {
    MultiThreadStopReason::SignalWithThread {
        tid: thread(number),
        signal: Signal::SIGTRAP,
    }
}

struct Loop<'a, C>(std::marker::PhantomData<&'a C>);

impl<'a, C: Debugged> BlockingEventLoop for Loop<'a, C> {
    type Target = Debuggee<'a, C>;
    type Connection = TcpStream;
    type StopReason = MultiThreadStopReason<u64>;

    fn wait_for_stop_reason(
        target: &mut Self::Target,
        connection: &mut TcpStream,
    ) -> Result<Event<Self::StopReason>, WaitForStopReasonError<String, std::io::Error>> {
        loop {
            if connection
                .peek()
                .map_err(WaitForStopReasonError::Connection)?
                .is_some()
            {
                let byte = connection
                    .read()
                    .map_err(WaitForStopReasonError::Connection)?;
                return Ok(Event::IncomingData(byte));
            }
            if let Some(reason) = target.run() {
                return Ok(Event::TargetStopped(reason));
            }
        }
    }

    fn on_interrupt(target: &mut Self::Target) -> Result<Option<Self::StopReason>, String> {
        Ok(Some(MultiThreadStopReason::SignalWithThread {
            tid: target.current(),
            signal: Signal::SIGINT,
        }))
    }
}

impl<C: Debugged> Target for Debuggee<'_, C> {
    type Arch = Of<C::Layout>;
    type Error = String;

    fn base_ops(&mut self) -> BaseOps<'_, Of<C::Layout>, String> {
        BaseOps::MultiThread(self)
    }

    fn support_breakpoints(&mut self) -> Option<BreakpointsOps<'_, Self>> {
        Some(self)
    }

    fn support_target_description_xml_override(
        &mut self,
    ) -> Option<TargetDescriptionXmlOverrideOps<'_, Self>> {
        Some(self)
    }
}

impl<C: Debugged> TargetDescriptionXmlOverride for Debuggee<'_, C> {
    fn target_description_xml(
        &self,
        annex: &[u8],
        offset: u64,
        length: usize,
        buffer: &mut [u8],
    ) -> TargetResult<usize, Self> {
        if annex != b"target.xml" {
            return Err(TargetError::NonFatal);
        }
        let text = self.description.as_bytes();
        let start = usize::try_from(offset)
            .unwrap_or(usize::MAX)
            .min(text.len());
        let count = length.min(buffer.len()).min(text.len() - start);
        buffer[..count].copy_from_slice(&text[start..start + count]);
        Ok(count)
    }
}

impl<C: Debugged> MultiThreadBase for Debuggee<'_, C> {
    fn read_registers(&mut self, file: &mut File<C::Layout>, tid: Tid) -> TargetResult<(), Self> {
        *file = self.file(tid)?;
        Ok(())
    }

    fn write_registers(&mut self, file: &File<C::Layout>, tid: Tid) -> TargetResult<(), Self> {
        let number = self.at(tid)?;
        self.machine.at(number, |processor| {
            let before = processor.values();
            processor.set_values(&file.0, &before);
        });
        Ok(())
    }

    fn support_single_register_access(&mut self) -> Option<SingleRegisterAccessOps<'_, Tid, Self>> {
        Some(self)
    }

    fn read_addrs(&mut self, start: u64, data: &mut [u8], tid: Tid) -> TargetResult<usize, Self> {
        let number = self.at(tid)?;
        let read = |processor: &mut C| {
            let bytes = (start..=u64::MAX).zip(data).map_while(|(address, place)| {
                *place = processor.read_byte(address)?;
                Some(())
            });
            bytes.count()
        };
        Ok(self.machine.at(number, read))
    }

    fn write_addrs(&mut self, start: u64, data: &[u8], tid: Tid) -> TargetResult<(), Self> {
        let number = self.at(tid)?;
        let write = |processor: &mut C| {
            let mut bytes = (start..=u64::MAX).zip(data);
            bytes.all(|(address, &byte)| processor.write_byte(address, byte))
        };
        if self.machine.at(number, write) {
            Ok(())
        } else {
            Err(TargetError::NonFatal)
        }
    }

    fn list_active_threads(&mut self, active: &mut dyn FnMut(Tid)) -> Result<(), String> {
        (0..self.machine.processors().len()).for_each(|number| active(thread(number)));
        Ok(())
    }

    fn support_thread_extra_info(&mut self) -> Option<ThreadExtraInfoOps<'_, Self>> {
        Some(self)
    }

    fn support_resume(&mut self) -> Option<MultiThreadResumeOps<'_, Self>> {
        Some(self)
    }
}

impl<C: Debugged> ThreadExtraInfo for Debuggee<'_, C> {
    fn thread_extra_info(&self, tid: Tid, buffer: &mut [u8]) -> Result<usize, String> {
        let number = self.known(tid)?;
        let does = if self.machine.is_in_reset(number) {
            [", ", C::HELD]
        } else if self.machine.processors()[number].sleeps() {
            [", ", C::SLEEPS]
        } else {
            [""; 2]
        };
        let text = format!("processor {number}{}", does.concat());
        let count = text.len().min(buffer.len());
        buffer[..count].copy_from_slice(&text.as_bytes()[..count]);
        Ok(count)
    }
}

impl<C: Debugged> SingleRegisterAccess<Tid> for Debuggee<'_, C> {
    fn read_register(
        &mut self,
        tid: Tid,
        register: Id<C::Layout>,
        buffer: &mut [u8],
    ) -> TargetResult<usize, Self> {
        let bytes = self.file(tid)?.bytes(&register);
        buffer[..bytes.len()].copy_from_slice(&bytes);
        Ok(bytes.len())
    }

    fn write_register(
        &mut self,
        tid: Tid,
        register: Id<C::Layout>,
        bytes: &[u8],
    ) -> TargetResult<(), Self> {
        let mut file = self.file(tid)?;
        if !file.set(&register, bytes) {
            return Err(TargetError::NonFatal);
        }
        self.write_registers(&file, tid)
    }
}

impl<C: Debugged> MultiThreadResume for Debuggee<'_, C> {
    fn resume(&mut self) -> Result<(), String> {
        Ok(())
    }

    fn clear_resume_actions(&mut self) -> Result<(), String> {
        self.mode = Mode::default();
        Ok(())
    }

    fn set_resume_action_continue(&mut self, tid: Tid, _: Option<Signal>) -> Result<(), String> {
        self.mode.named = Some(self.known(tid)?);
        Ok(())
    }

    fn support_single_step(&mut self) -> Option<MultiThreadSingleStepOps<'_, Self>> {
        Some(self)
    }

    fn support_scheduler_locking(&mut self) -> Option<MultiThreadSchedulerLockingOps<'_, Self>> {
        Some(self)
    }
}

impl<C: Debugged> MultiThreadSingleStep for Debuggee<'_, C> {
    fn set_resume_action_step(&mut self, tid: Tid, _: Option<Signal>) -> Result<(), String> {
        self.mode.step = Some(self.known(tid)?);
        Ok(())
    }
}

impl<C: Debugged> MultiThreadSchedulerLocking for Debuggee<'_, C> {
    fn set_resume_action_scheduler_lock(&mut self) -> Result<(), String> {
        self.mode.locked = true;
        Ok(())
    }
}

impl<C: Debugged> Breakpoints for Debuggee<'_, C> {
    fn support_sw_breakpoint(&mut self) -> Option<SwBreakpointOps<'_, Self>> {
        Some(self)
    }

    fn support_hw_breakpoint(&mut self) -> Option<HwBreakpointOps<'_, Self>> {
        Some(self)
    }

    fn support_hw_watchpoint(&mut self) -> Option<HwWatchpointOps<'_, Self>> {
        if C::WATCHES { Some(self) } else { None }
    }
}

impl<C: Debugged> SwBreakpoint for Debuggee<'_, C> {
    fn add_sw_breakpoint(&mut self, address: u64, _: usize) -> TargetResult<bool, Self> {
        self.machine.breakpoints(|all| all.add(address));
        Ok(true)
    }

    fn remove_sw_breakpoint(&mut self, address: u64, _: usize) -> TargetResult<bool, Self> {
        Ok(self.machine.breakpoints(|all| all.remove(address)))
    }
}

/// Both kinds of breakpoints are the same here.
impl<C: Debugged> HwBreakpoint for Debuggee<'_, C> {
    fn add_hw_breakpoint(&mut self, address: u64, size: usize) -> TargetResult<bool, Self> {
        self.add_sw_breakpoint(address, size)
    }

    fn remove_hw_breakpoint(&mut self, address: u64, size: usize) -> TargetResult<bool, Self> {
        self.remove_sw_breakpoint(address, size)
    }
}

fn watchpoint(address: u64, length: u64, kind: WatchKind) -> Watchpoint {
    Watchpoint {
        address,
        length,
        reads: kind != WatchKind::Write,
        writes: kind != WatchKind::Read,
    }
}

impl<C: Debugged> HwWatchpoint for Debuggee<'_, C> {
    fn add_hw_watchpoint(
        &mut self,
        address: u64,
        length: u64,
        kind: WatchKind,
    ) -> TargetResult<bool, Self> {
        let watched = watchpoint(address, length, kind);
        self.machine.breakpoints(|all| all.watch(watched));
        Ok(true)
    }

    fn remove_hw_watchpoint(
        &mut self,
        address: u64,
        length: u64,
        kind: WatchKind,
    ) -> TargetResult<bool, Self> {
        let watched = watchpoint(address, length, kind);
        Ok(self.machine.breakpoints(|all| all.watch_no_more(&watched)))
    }
}
