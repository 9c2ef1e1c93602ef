//! The machine as a target of GDB: memory by the current translation without side effects,
//! breakpoints, watchpoints, single step.

use std::net::{TcpListener, TcpStream};

use gdbstub::common::Signal;
use gdbstub::conn::ConnectionExt as _;
use gdbstub::stub::run_blocking::{BlockingEventLoop, Event, WaitForStopReasonError};
use gdbstub::stub::{DisconnectReason, GdbStub, SingleThreadStopReason};
use gdbstub::target::ext::base::BaseOps;
use gdbstub::target::ext::base::single_register_access::{
    SingleRegisterAccess, SingleRegisterAccessOps,
};
use gdbstub::target::ext::base::singlethread::{
    SingleThreadBase, SingleThreadResume, SingleThreadResumeOps, SingleThreadSingleStep,
    SingleThreadSingleStepOps,
};
use gdbstub::target::ext::breakpoints::{
    Breakpoints, BreakpointsOps, HwBreakpoint, HwBreakpointOps, HwWatchpoint, HwWatchpointOps,
    SwBreakpoint, SwBreakpointOps, WatchKind,
};
use gdbstub::target::ext::target_description_xml_override::{
    TargetDescriptionXmlOverride, TargetDescriptionXmlOverrideOps,
};
use gdbstub::target::{Target, TargetError, TargetResult};

use super::arch::{PowerPc, RegisterFile, RegisterId, target_description};
use super::registers;
use crate::machine::{Limits, Machine, Stop, Watchpoint};

/// Instructions between two checks of the connection while the guest runs.
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

/// What the guest does after GDB resumes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Step,
    Continue,
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
        mode: Mode::Continue,
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
    fn run(&mut self) -> Option<SingleThreadStopReason<u32>> {
        if let Some(stop) = self.ended.clone() {
            return Some(reason(&stop));
        }
        if std::mem::take(&mut self.step_over_watched) && self.mode == Mode::Step {
            return Some(SingleThreadStopReason::DoneStep);
        }
        let now = self.machine.instant();
        let instructions = match self.mode {
            Mode::Step => 1,
            Mode::Continue => SLICE,
        };
        let limits = Limits {
            instructions: (now.instructions + instructions).min(self.limits.instructions),
            cycles: self.limits.cycles,
        };
        let stop = self.machine.run(limits);
        self.step_over_watched = matches!(stop, Stop::Watchpoint { .. });
        let now = self.machine.instant();
        match (stop, self.mode) {
            (Stop::Limit, _)
                if now.instructions >= self.limits.instructions
                    || now.cycles >= self.limits.cycles =>
            {
                self.ended = Some(Stop::Limit);
                Some(reason(&Stop::Limit))
            }
            (Stop::Limit, Mode::Continue) => None,
            (Stop::Limit, Mode::Step) => Some(SingleThreadStopReason::DoneStep),
            (stop @ (Stop::PowerOff { .. } | Stop::Fatal(_)), _) => {
                let reason = reason(&stop);
                self.ended = Some(stop);
                Some(reason)
            }
            (stop, _) => Some(reason(&stop)),
        }
    }
}

fn reason(stop: &Stop) -> SingleThreadStopReason<u32> {
    match stop {
        Stop::PowerOff { status } => SingleThreadStopReason::Exited(*status as u8),
        Stop::Limit => SingleThreadStopReason::Terminated(Signal::SIGXCPU),
        Stop::Breakpoint { .. } => SingleThreadStopReason::SwBreak(()),
        Stop::Watchpoint { address, write } => SingleThreadStopReason::Watch {
            tid: (),
            kind: if *write {
                WatchKind::Write
            } else {
                WatchKind::Read
            },
            addr: *address,
        },
        Stop::Exception(_) | Stop::Fatal(_) => SingleThreadStopReason::Signal(Signal::SIGABRT),
    }
}

struct Loop<'a>(std::marker::PhantomData<&'a ()>);

impl<'a> BlockingEventLoop for Loop<'a> {
    type Target = Debuggee<'a>;
    type Connection = TcpStream;
    type StopReason = SingleThreadStopReason<u32>;

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

    fn on_interrupt(_: &mut Self::Target) -> Result<Option<Self::StopReason>, String> {
        Ok(Some(SingleThreadStopReason::Signal(Signal::SIGINT)))
    }
}

impl Target for Debuggee<'_> {
    type Arch = PowerPc;
    type Error = String;

    fn base_ops(&mut self) -> BaseOps<'_, PowerPc, String> {
        BaseOps::SingleThread(self)
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

impl SingleThreadBase for Debuggee<'_> {
    fn read_registers(&mut self, file: &mut RegisterFile) -> TargetResult<(), Self> {
        *file = registers::read(self.machine.processor_mut());
        Ok(())
    }

    fn write_registers(&mut self, file: &RegisterFile) -> TargetResult<(), Self> {
        registers::write(self.machine.processor_mut(), file);
        Ok(())
    }

    fn support_single_register_access(&mut self) -> Option<SingleRegisterAccessOps<'_, (), Self>> {
        Some(self)
    }

    fn read_addrs(&mut self, start: u32, data: &mut [u8]) -> TargetResult<usize, Self> {
        let readable = (start..=u32::MAX)
            .zip(data)
            .map_while(|(address, place)| {
                *place = self.machine.processor_mut().peek(address)?;
                Some(())
            })
            .count();
        Ok(readable)
    }

    fn write_addrs(&mut self, start: u32, data: &[u8]) -> TargetResult<(), Self> {
        for (address, &byte) in (start..=u32::MAX).zip(data) {
            if !self.machine.processor_mut().poke(address, byte) {
                return Err(TargetError::NonFatal);
            }
        }
        Ok(())
    }

    fn support_resume(&mut self) -> Option<SingleThreadResumeOps<'_, Self>> {
        Some(self)
    }
}

impl SingleRegisterAccess<()> for Debuggee<'_> {
    fn read_register(
        &mut self,
        _: (),
        register: RegisterId,
        buffer: &mut [u8],
    ) -> TargetResult<usize, Self> {
        let file = registers::read(self.machine.processor_mut());
        let mut put = |bytes: &[u8]| {
            buffer[..bytes.len()].copy_from_slice(bytes);
            Ok(bytes.len())
        };
        match register {
            RegisterId::Float(n) => put(&file.fpr[n].to_be_bytes()),
            other => put(&registers::word(&file, other).to_be_bytes()),
        }
    }

    fn write_register(
        &mut self,
        _: (),
        register: RegisterId,
        bytes: &[u8],
    ) -> TargetResult<(), Self> {
        let mut file = registers::read(self.machine.processor_mut());
        match (register, bytes.len()) {
            (RegisterId::Float(n), 8) => {
                file.fpr[n] = bytes
                    .iter()
                    .fold(0, |value, &byte| value << 8 | u64::from(byte));
            }
            (RegisterId::Float(_), _) => return Err(TargetError::NonFatal),
            (other, 4) => {
                let value = bytes
                    .iter()
                    .fold(0, |value, &byte| value << 8 | u32::from(byte));
                registers::set_word(&mut file, other, value);
            }
            _ => return Err(TargetError::NonFatal),
        }
        registers::write(self.machine.processor_mut(), &file);
        Ok(())
    }
}

impl SingleThreadResume for Debuggee<'_> {
    fn resume(&mut self, _: Option<Signal>) -> Result<(), String> {
        self.mode = Mode::Continue;
        Ok(())
    }

    fn support_single_step(&mut self) -> Option<SingleThreadSingleStepOps<'_, Self>> {
        Some(self)
    }
}

impl SingleThreadSingleStep for Debuggee<'_> {
    fn step(&mut self, _: Option<Signal>) -> Result<(), String> {
        self.mode = Mode::Step;
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
