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

use super::arch::{PowerPc, RegisterFile, RegisterId, target_description};
use super::registers;
use crate::machine::{Limits, Machine, Stop, Watchpoint};
use crate::processor::Processor;

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
pub enum Ended {
    /// The guest stopped for good.
    Stopped(Stop),
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

struct Debuggee<'a> {
    machine: &'a mut Machine,
    mode: Mode,
    /// GDB expects a PowerPC to stop before a watched access, and then steps over it. Here the access is done
    /// already, so that step must run nothing.
    step_over_watched: bool,
    /// The reason why the guest cannot go on, if there is one.
    ended: Option<Stop>,
    description: String,
    /// Instructions that the guest may run before it is stopped for good.
    limits: Limits,
}

/// Waits for GDB on `port` of the local host (0: any free one, announced by `announce`), then runs
/// the machine under its control.
///
/// # Errors
/// When the port is taken or the connection breaks.
pub fn serve(
    machine: &mut Machine,
    port: u16,
    limits: Limits,
    announce: impl FnOnce(u16),
) -> Result<Ended, DebugError> {
    let listen = |error: std::io::Error| DebugError::Listen {
        port,
        message: error.to_string(),
    };
    let listener = TcpListener::bind(("127.0.0.1", port)).map_err(listen)?;
    announce(listener.local_addr().map_err(listen)?.port());
    let (stream, _) = listener.accept().map_err(listen)?;
    let _ = stream.set_nodelay(true);
    let mut debuggee = Debuggee {
        machine,
        mode: Mode::default(),
        step_over_watched: false,
        ended: None,
        description: target_description(),
        limits,
    };
    let reason = GdbStub::new(stream)
        .run_blocking::<Loop<'_>>(&mut debuggee)
        .map_err(|error| DebugError::Connection {
            message: error.to_string(),
        })?;
    let ended = debuggee.ended.take();
    machine.clear_breakpoints();
    Ok(match (ended, reason) {
        (Some(stop), _) => Ended::Stopped(stop),
        (None, DisconnectReason::Kill) => Ended::Killed,
        (None, _) => Ended::Detached,
    })
}

impl Debuggee<'_> {
    /// Runs a slice, or one instruction. `None`: nothing happened that GDB must hear of.
    fn run(&mut self) -> Option<MultiThreadStopReason<u32>> {
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
        match (stop, self.mode.step) {
            (Stop::Limit, _)
                if now.instructions >= self.limits.instructions
                    || now.cycles >= self.limits.cycles =>
            {
                self.ended = Some(Stop::Limit);
                Some(self.reason(&Stop::Limit))
            }
            (Stop::Limit, None) => None,
            (Stop::Limit, Some(number)) => Some(done_step(number)),
            (stop @ (Stop::PowerOff { .. } | Stop::Fatal(_)), _) => {
                let reason = self.reason(&stop);
                self.ended = Some(stop);
                Some(reason)
            }
            (stop, _) => Some(self.reason(&stop)),
        }
    }

    /// Runs until the processor has completed an instruction. `None`: only others have, as yet.
    fn step(&mut self, number: usize) -> Option<Stop> {
        let completed = |machine: &Machine| machine.processors()[number].instant().instructions;
        let before = completed(self.machine);
        for _ in 0..STEPS {
            let stop = self.go(u64::MAX, 1);
            let now = self.machine.instant();
            if stop != Stop::Limit
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
    fn go(&mut self, cycles: u64, instructions: u64) -> Stop {
        let now = self.machine.instant();
        let limits = Limits {
            cycles: now.cycles.saturating_add(cycles).min(self.limits.cycles),
            instructions: now
                .instructions
                .saturating_add(instructions)
                .min(self.limits.instructions),
        };
        match self.mode.step.or(self.mode.named) {
            Some(number) if self.mode.locked => self.machine.run_alone(number, limits),
            _ => self.machine.run(limits),
        }
    }

    fn reason(&self, stop: &Stop) -> MultiThreadStopReason<u32> {
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

    /// Looks at a processor, or changes it. Whose turn it is does not change.
    fn at<T>(&mut self, tid: Tid, look: impl FnOnce(&mut Processor) -> T) -> TargetResult<T, Self> {
        let number = self.number(tid).ok_or(TargetError::NonFatal)?;
        Ok(self.machine.at(number, look))
    }

    fn number(&self, tid: Tid) -> Option<usize> {
        let number = tid.get() - 1;
        (number < self.machine.processors().len()).then_some(number)
    }

    fn known(&self, tid: Tid) -> Result<usize, String> {
        self.number(tid).ok_or(format!("there is no thread {tid}"))
    }
}

/// The thread of a processor: no thread has the number 0.
fn thread(number: usize) -> Tid {
    Tid::MIN.saturating_add(number)
}

fn done_step(number: usize) -> MultiThreadStopReason<u32> {
    MultiThreadStopReason::SignalWithThread {
        tid: thread(number),
        signal: Signal::SIGTRAP,
    }
}

struct Loop<'a>(std::marker::PhantomData<&'a ()>);

impl<'a> BlockingEventLoop for Loop<'a> {
    type Target = Debuggee<'a>;
    type Connection = TcpStream;
    type StopReason = MultiThreadStopReason<u32>;

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

impl Target for Debuggee<'_> {
    type Arch = PowerPc;
    type Error = String;

    fn base_ops(&mut self) -> BaseOps<'_, PowerPc, String> {
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

impl TargetDescriptionXmlOverride for Debuggee<'_> {
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

impl MultiThreadBase for Debuggee<'_> {
    fn read_registers(&mut self, file: &mut RegisterFile, tid: Tid) -> TargetResult<(), Self> {
        *file = self.at(tid, registers::read)?;
        Ok(())
    }

    fn write_registers(&mut self, file: &RegisterFile, tid: Tid) -> TargetResult<(), Self> {
        self.at(tid, |processor| registers::write(processor, file))
    }

    fn support_single_register_access(&mut self) -> Option<SingleRegisterAccessOps<'_, Tid, Self>> {
        Some(self)
    }

    fn read_addrs(&mut self, start: u32, data: &mut [u8], tid: Tid) -> TargetResult<usize, Self> {
        self.at(tid, |processor| {
            (start..=u32::MAX)
                .zip(data)
                .map_while(|(address, place)| {
                    *place = processor.peek(address)?;
                    Some(())
                })
                .count()
        })
    }

    fn write_addrs(&mut self, start: u32, data: &[u8], tid: Tid) -> TargetResult<(), Self> {
        let written = self.at(tid, |processor| {
            (start..=u32::MAX)
                .zip(data)
                .all(|(address, &byte)| processor.poke(address, byte))
        })?;
        if written {
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

impl ThreadExtraInfo for Debuggee<'_> {
    fn thread_extra_info(&self, tid: Tid, buffer: &mut [u8]) -> Result<usize, String> {
        let number = self.known(tid)?;
        let state = if self.machine.is_held(number) {
            ", held in reset"
        } else if self.machine.processors()[number].sleeps() {
            ", saves power"
        } else {
            ""
        };
        let text = format!("processor {number}{state}");
        let count = text.len().min(buffer.len());
        buffer[..count].copy_from_slice(&text.as_bytes()[..count]);
        Ok(count)
    }
}

impl SingleRegisterAccess<Tid> for Debuggee<'_> {
    fn read_register(
        &mut self,
        tid: Tid,
        register: RegisterId,
        buffer: &mut [u8],
    ) -> TargetResult<usize, Self> {
        let file = self.at(tid, registers::read)?;
        let mut put = |bytes: &[u8]| {
            buffer[..bytes.len()].copy_from_slice(bytes);
            Ok(bytes.len())
        };
        match register {
            RegisterId::Float(n) => put(&file.fpr[n].to_be_bytes()),
            RegisterId::Whole(n) => put(&file.whole[n].to_be_bytes()),
            other => put(&registers::word(&file, other).to_be_bytes()),
        }
    }

    fn write_register(
        &mut self,
        tid: Tid,
        register: RegisterId,
        bytes: &[u8],
    ) -> TargetResult<(), Self> {
        let mut file = self.at(tid, registers::read)?;
        let doubleword = bytes
            .iter()
            .fold(0, |value: u64, &byte| value << 8 | u64::from(byte));
        match (register, bytes.len()) {
            (RegisterId::Float(n), 8) => file.fpr[n] = doubleword,
            (RegisterId::Whole(n), 8) => file.whole[n] = doubleword,
            (RegisterId::Float(_) | RegisterId::Whole(_), _) => return Err(TargetError::NonFatal),
            (other, 4) => {
                let value = bytes
                    .iter()
                    .fold(0, |value, &byte| value << 8 | u32::from(byte));
                registers::set_word(&mut file, other, value);
            }
            _ => return Err(TargetError::NonFatal),
        }
        self.at(tid, |processor| registers::write(processor, &file))
    }
}

impl MultiThreadResume for Debuggee<'_> {
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

impl MultiThreadSingleStep for Debuggee<'_> {
    fn set_resume_action_step(&mut self, tid: Tid, _: Option<Signal>) -> Result<(), String> {
        self.mode.step = Some(self.known(tid)?);
        Ok(())
    }
}

impl MultiThreadSchedulerLocking for Debuggee<'_> {
    fn set_resume_action_scheduler_lock(&mut self) -> Result<(), String> {
        self.mode.locked = true;
        Ok(())
    }
}

impl Breakpoints for Debuggee<'_> {
    fn support_sw_breakpoint(&mut self) -> Option<SwBreakpointOps<'_, Self>> {
        Some(self)
    }

    fn support_hw_breakpoint(&mut self) -> Option<HwBreakpointOps<'_, Self>> {
        Some(self)
    }

    fn support_hw_watchpoint(&mut self) -> Option<HwWatchpointOps<'_, Self>> {
        Some(self)
    }
}

impl SwBreakpoint for Debuggee<'_> {
    fn add_sw_breakpoint(&mut self, address: u32, _: usize) -> TargetResult<bool, Self> {
        self.machine.add_breakpoint(address);
        Ok(true)
    }

    fn remove_sw_breakpoint(&mut self, address: u32, _: usize) -> TargetResult<bool, Self> {
        Ok(self.machine.remove_breakpoint(address))
    }
}

impl HwBreakpoint for Debuggee<'_> {
    fn add_hw_breakpoint(&mut self, address: u32, _: usize) -> TargetResult<bool, Self> {
        self.machine.add_breakpoint(address);
        Ok(true)
    }

    fn remove_hw_breakpoint(&mut self, address: u32, _: usize) -> TargetResult<bool, Self> {
        Ok(self.machine.remove_breakpoint(address))
    }
}

fn watchpoint(address: u32, length: u32, kind: WatchKind) -> Watchpoint {
    Watchpoint {
        address,
        length,
        reads: kind != WatchKind::Write,
        writes: kind != WatchKind::Read,
    }
}

impl HwWatchpoint for Debuggee<'_> {
    fn add_hw_watchpoint(
        &mut self,
        address: u32,
        length: u32,
        kind: WatchKind,
    ) -> TargetResult<bool, Self> {
        self.machine
            .add_watchpoint(watchpoint(address, length, kind));
        Ok(true)
    }

    fn remove_hw_watchpoint(
        &mut self,
        address: u32,
        length: u32,
        kind: WatchKind,
    ) -> TargetResult<bool, Self> {
        Ok(self
            .machine
            .remove_watchpoint(&watchpoint(address, length, kind)))
    }
}
