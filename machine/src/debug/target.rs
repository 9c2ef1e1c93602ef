//! The machine as a target of GDB: memory by the current translation without side effects,
//! breakpoints, watchpoints, single step. Each processor is a thread, whose number is the
//! processor's plus one; a breakpoint or watchpoint holds for all processors.

use std::net::{TcpListener, TcpStream};

use gdbstub::arch::Arch;
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

use super::guest::{Guest, Halt};
use crate::computer::{Breakpoints as Marks, Limits, Watchpoint};
use crate::machine::{Machine, Stop};

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
pub enum Ended<S = Stop> {
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

type File<G> = <<G as Guest>::Arch as Arch>::Registers;
type Id<G> = <<G as Guest>::Arch as Arch>::RegId;

struct Debuggee<'a, G: Guest> {
    machine: &'a mut G,
    mode: Mode,
    /// GDB expects a PowerPC to stop before a watched access, and then steps over it. Here the access is done
    /// already, so that step must run nothing.
    step_over_watched: bool,
    /// The reason why the guest cannot go on, if there is one.
    ended: Option<G::Stop>,
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
    serve_guest(machine, port, limits, announce)
}

/// The same for an x86 machine.
///
/// # Errors
/// As of [`serve`].
pub fn serve_x86(
    machine: &mut crate::x86::Machine,
    port: u16,
    limits: Limits,
    announce: impl FnOnce(u16),
) -> Result<Ended<crate::x86::Stop>, DebugError> {
    serve_guest(machine, port, limits, announce)
}

fn serve_guest<G: Guest>(
    machine: &mut G,
    port: u16,
    limits: Limits,
    announce: impl FnOnce(u16),
) -> Result<Ended<G::Stop>, DebugError> {
    let listen = |error: std::io::Error| DebugError::Listen {
        port,
        message: error.to_string(),
    };
    let listener = TcpListener::bind(("127.0.0.1", port)).map_err(listen)?;
    announce(listener.local_addr().map_err(listen)?.port());
    let (stream, _) = listener.accept().map_err(listen)?;
    let _ = stream.set_nodelay(true);
    let description = machine.description();
    let mut debuggee = Debuggee {
        machine,
        mode: Mode::default(),
        step_over_watched: false,
        ended: None,
        description,
        limits,
    };
    let reason = GdbStub::new(stream)
        .run_blocking::<Loop<'_, G>>(&mut debuggee)
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

impl<G: Guest> Debuggee<'_, G> {
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
        let halt = G::halt(&stop);
        self.step_over_watched = matches!(halt, Halt::Watchpoint { .. });
        let now = self.machine.instant();
        match (halt, self.mode.step) {
            (Halt::Limit, _)
                if now.instructions >= self.limits.instructions
                    || now.cycles >= self.limits.cycles =>
            {
                self.ended = Some(G::limit());
                Some(self.reason(&G::limit()))
            }
            (Halt::Limit, None) => None,
            (Halt::Limit, Some(number)) => Some(done_step(number)),
            (Halt::Exited(_) | Halt::Dead, _) => {
                let reason = self.reason(&stop);
                self.ended = Some(stop);
                Some(reason)
            }
            (Halt::Breakpoint | Halt::Watchpoint { .. }, _) => Some(self.reason(&stop)),
        }
    }

    /// Runs until the processor has completed an instruction. `None`: only others have, as yet.
    fn step(&mut self, number: usize) -> Option<G::Stop> {
        let before = self.machine.completed(number);
        for _ in 0..STEPS {
            let stop = self.go(u64::MAX, 1);
            let now = self.machine.instant();
            if G::halt(&stop) != Halt::Limit
                || self.machine.completed(number) != before
                || now.instructions >= self.limits.instructions
                || now.cycles >= self.limits.cycles
            {
                return Some(stop);
            }
        }
        None
    }

    /// Runs for so many cycles, or for so many instructions.
    fn go(&mut self, cycles: u64, instructions: u64) -> G::Stop {
        let now = self.machine.instant();
        let limits = Limits {
            cycles: now.cycles.saturating_add(cycles).min(self.limits.cycles),
            instructions: now
                .instructions
                .saturating_add(instructions)
                .min(self.limits.instructions),
        };
        let named = self.mode.step.or(self.mode.named);
        self.machine.run(limits, named.filter(|_| self.mode.locked))
    }

    fn reason(&self, stop: &G::Stop) -> MultiThreadStopReason<u32> {
        let tid = self.current();
        match G::halt(stop) {
            Halt::Exited(status) => MultiThreadStopReason::Exited(status),
            Halt::Limit => MultiThreadStopReason::Terminated(Signal::SIGXCPU),
            Halt::Breakpoint => MultiThreadStopReason::SwBreak(tid),
            Halt::Watchpoint { address, write } => MultiThreadStopReason::Watch {
                tid,
                kind: if write {
                    WatchKind::Write
                } else {
                    WatchKind::Read
                },
                addr: address,
            },
            Halt::Dead => MultiThreadStopReason::SignalWithThread {
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
        (number < self.machine.processors()).then_some(number)
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

struct Loop<'a, G>(std::marker::PhantomData<&'a G>);

impl<'a, G: Guest> BlockingEventLoop for Loop<'a, G> {
    type Target = Debuggee<'a, G>;
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

impl<G: Guest> Target for Debuggee<'_, G> {
    type Arch = G::Arch;
    type Error = String;

    fn base_ops(&mut self) -> BaseOps<'_, G::Arch, String> {
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

impl<G: Guest> TargetDescriptionXmlOverride for Debuggee<'_, G> {
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

impl<G: Guest> MultiThreadBase for Debuggee<'_, G> {
    fn read_registers(&mut self, file: &mut File<G>, tid: Tid) -> TargetResult<(), Self> {
        let number = self.at(tid)?;
        *file = self.machine.registers(number);
        Ok(())
    }

    fn write_registers(&mut self, file: &File<G>, tid: Tid) -> TargetResult<(), Self> {
        let number = self.at(tid)?;
        self.machine.set_registers(number, file);
        Ok(())
    }

    fn support_single_register_access(&mut self) -> Option<SingleRegisterAccessOps<'_, Tid, Self>> {
        Some(self)
    }

    fn read_addrs(&mut self, start: u32, data: &mut [u8], tid: Tid) -> TargetResult<usize, Self> {
        let number = self.at(tid)?;
        Ok(self.machine.read(number, start, data))
    }

    fn write_addrs(&mut self, start: u32, data: &[u8], tid: Tid) -> TargetResult<(), Self> {
        let number = self.at(tid)?;
        if self.machine.write(number, start, data) {
            Ok(())
        } else {
            Err(TargetError::NonFatal)
        }
    }

    fn list_active_threads(&mut self, active: &mut dyn FnMut(Tid)) -> Result<(), String> {
        (0..self.machine.processors()).for_each(|number| active(thread(number)));
        Ok(())
    }

    fn support_thread_extra_info(&mut self) -> Option<ThreadExtraInfoOps<'_, Self>> {
        Some(self)
    }

    fn support_resume(&mut self) -> Option<MultiThreadResumeOps<'_, Self>> {
        Some(self)
    }
}

impl<G: Guest> ThreadExtraInfo for Debuggee<'_, G> {
    fn thread_extra_info(&self, tid: Tid, buffer: &mut [u8]) -> Result<usize, String> {
        let number = self.known(tid)?;
        let text = format!("processor {number}{}", self.machine.state(number));
        let count = text.len().min(buffer.len());
        buffer[..count].copy_from_slice(&text.as_bytes()[..count]);
        Ok(count)
    }
}

impl<G: Guest> SingleRegisterAccess<Tid> for Debuggee<'_, G> {
    fn read_register(
        &mut self,
        tid: Tid,
        register: Id<G>,
        buffer: &mut [u8],
    ) -> TargetResult<usize, Self> {
        let number = self.at(tid)?;
        let bytes = G::register(&self.machine.registers(number), register);
        buffer[..bytes.len()].copy_from_slice(&bytes);
        Ok(bytes.len())
    }

    fn write_register(
        &mut self,
        tid: Tid,
        register: Id<G>,
        bytes: &[u8],
    ) -> TargetResult<(), Self> {
        let number = self.at(tid)?;
        let mut file = self.machine.registers(number);
        if !G::set_register(&mut file, register, bytes) {
            return Err(TargetError::NonFatal);
        }
        self.machine.set_registers(number, &file);
        Ok(())
    }
}

impl<G: Guest> MultiThreadResume for Debuggee<'_, G> {
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

impl<G: Guest> MultiThreadSingleStep for Debuggee<'_, G> {
    fn set_resume_action_step(&mut self, tid: Tid, _: Option<Signal>) -> Result<(), String> {
        self.mode.step = Some(self.known(tid)?);
        Ok(())
    }
}

impl<G: Guest> MultiThreadSchedulerLocking for Debuggee<'_, G> {
    fn set_resume_action_scheduler_lock(&mut self) -> Result<(), String> {
        self.mode.locked = true;
        Ok(())
    }
}

impl<G: Guest> Breakpoints for Debuggee<'_, G> {
    fn support_sw_breakpoint(&mut self) -> Option<SwBreakpointOps<'_, Self>> {
        Some(self)
    }

    fn support_hw_breakpoint(&mut self) -> Option<HwBreakpointOps<'_, Self>> {
        Some(self)
    }

    fn support_hw_watchpoint(&mut self) -> Option<HwWatchpointOps<'_, Self>> {
        if G::WATCHES { Some(self) } else { None }
    }
}

impl<G: Guest> SwBreakpoint for Debuggee<'_, G> {
    fn add_sw_breakpoint(&mut self, address: u32, _: usize) -> TargetResult<bool, Self> {
        self.machine.breakpoints(|all| all.add(address));
        Ok(true)
    }

    fn remove_sw_breakpoint(&mut self, address: u32, _: usize) -> TargetResult<bool, Self> {
        Ok(self.machine.breakpoints(|all| all.remove(address)))
    }
}

impl<G: Guest> HwBreakpoint for Debuggee<'_, G> {
    fn add_hw_breakpoint(&mut self, address: u32, _: usize) -> TargetResult<bool, Self> {
        self.machine.breakpoints(|all| all.add(address));
        Ok(true)
    }

    fn remove_hw_breakpoint(&mut self, address: u32, _: usize) -> TargetResult<bool, Self> {
        Ok(self.machine.breakpoints(|all| all.remove(address)))
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

impl<G: Guest> HwWatchpoint for Debuggee<'_, G> {
    fn add_hw_watchpoint(
        &mut self,
        address: u32,
        length: u32,
        kind: WatchKind,
    ) -> TargetResult<bool, Self> {
        let watched = watchpoint(address, length, kind);
        self.machine.breakpoints(|all| all.watch(watched));
        Ok(true)
    }

    fn remove_hw_watchpoint(
        &mut self,
        address: u32,
        length: u32,
        kind: WatchKind,
    ) -> TargetResult<bool, Self> {
        let watched = watchpoint(address, length, kind);
        Ok(self.machine.breakpoints(|all| all.watch_no_more(&watched)))
    }
}
