//! What compiled code calls: the interpreter's own functions, with exact state.

use super::code::{Kind, Site, Target, To, Version};
use super::compared::Compared;
use crate::pipeline::Predictor;
use crate::powerpc::engine::line::Op;
use crate::powerpc::processor::Processor;

/// The data that compiled code shares with Rust.
#[derive(Debug)]
#[repr(C)]
pub struct Shared {
    /// Instructions, branches and accesses since they were last added to the processor's counts: see [`packed`].
    pub counts: u64,
    /// A block entered at or after this cycle leaves compiled code: the deadline, or earlier, so that the counts fit.
    pub until: u64,
    /// Where the interpreter goes on.
    pub next: *const Op,
    /// The look-up of jumps to registers ([`super::code::Target`]).
    pub targets: *const Target,
    pub compared: Compared,
}

impl Shared {
    pub const NEW: Shared = Shared {
        counts: 0,
        until: 0,
        next: std::ptr::null(),
        targets: std::ptr::null(),
        compared: Compared::NONE,
    };
}

/// What a call costs that runs one instruction: see [`Pays::cost`](crate::engine::compiler::pays::Pays::cost). It takes
/// some 150 instructions of the host; to run an instruction by the interpreter takes some 20.
const ALONE: u64 = 8;

/// What a call costs that only makes an access: the interpreter takes hardly less for the access.
const ACCESS: u64 = 3;

/// What each other call costs: it searches for code, leaves compiled code, or asks the predictor.
pub const OTHER_CALL: u64 = 15;

/// Bits of each of the lower two counts.
const BITS: u32 = 20;

/// Cycles after which the counts are added. In each cycle fewer than 2^4 instructions are counted.
const UNTIL_ADDED: u64 = 1 << (BITS - 4);

/// Compiled code leaves so many cycles before the deadline: the blocks of a piece of code, but for the last one, take
/// no longer.
pub const SLACK: u64 = 64;

/// Instructions, branches and accesses as one number.
pub fn packed(instructions: u8, branches: bool, accesses: u8) -> u64 {
    u64::from(instructions) | u64::from(branches) << BITS | u64::from(accesses) << (2 * BITS)
}

/// The state becomes as if the interpreter ran a block of `version`, whose branch has not been reached, for a call of
/// this cost.
///
/// # Safety
/// The version must be valid.
unsafe fn prepare(m: &mut Processor, version: &Version, cost: u64) {
    m.hot.block = version.op;
    // SAFETY: the caller's; nothing else refers to the op.
    unsafe { (*version.op.cast_mut()).timing = version.timing };
    m.hot.pipeline = version.timing.after;
    m.hot.line = version.line;
    const MASK: u64 = (1 << BITS) - 1;
    let counts = std::mem::take(&mut m.compiler.shared.counts) - version.rest.counts;
    m.hot.cycles -= version.rest.cycles;
    m.hot.instructions += counts & MASK;
    m.compiler.pays.cost += cost;
    m.predictor.branches += counts >> BITS & MASK;
    m.predictor.branches -= u64::from(version.branch);
    m.hot.accesses += counts >> (2 * BITS);
    m.compiler.shared.compared.make(&mut m.registers);
}

/// Compiled code goes on in a block of `version`, whose branch has not been reached.
fn resume(m: &mut Processor, version: &Version) {
    m.compiler.shared.counts = packed(0, version.branch, 0) + version.rest.counts;
    let hot = &mut m.hot;
    m.compiler.shared.until = if version.is_in(hot, m.fetch_mode) {
        (hot.deadline.min(hot.cycles + UNTIL_ADDED)).saturating_sub(SLACK)
    } else {
        0
    };
    hot.cycles += version.rest.cycles;
}

/// Runs `op`, whose block has just begun, by compiled code of `version`.
///
/// # Safety
/// `op` must be running, and the version be valid and of this block and state.
pub(super) unsafe fn enter(m: &mut Processor, version: u32) -> *const Op {
    let Some(code) = &m.compiler.code else {
        unreachable!("there is a version");
    };
    let version = *code.version(version);
    let enter = code.thunks.enter;
    let begun = m.hot.instructions;
    let skipped = begun.saturating_sub(m.compiler.left_at);
    m.compiler.pays.skip(skipped, begun);
    resume(m, &version);
    // SAFETY: `Thunks::write` has written this function.
    let next = unsafe {
        let enter: extern "sysv64" fn(*mut Processor, usize) -> *const Op =
            std::mem::transmute(enter);
        enter(&raw mut *m, version.body)
    };
    m.compiler.left_at = m.hot.instructions;
    next
}

/// The address of compiled code that goes on at `op`, or of the thunk that leaves. The jump of the site may be linked
/// to that code.
///
/// # Safety
/// `op` must be null or its block have just begun.
unsafe fn on(m: &mut Processor, op: *const Op, site: *const Site) -> usize {
    let cleared = m.compiler.code.as_ref().map(|code| code.cleared);
    // SAFETY: compiled code has passed it.
    let from = unsafe { *site };
    // The interpreter runs what is left until the deadline.
    let near = m.compiler.leaves_early() && m.hot.cycles + SLACK >= m.hot.deadline;
    let version = if op.is_null() || near {
        None
    } else {
        // SAFETY: the caller's.
        unsafe { m.compiled(op, true) }
    };
    let Some(code) = &mut m.compiler.code else {
        unreachable!("compiled code runs");
    };
    match version {
        Some(number) => {
            if cleared == Some(code.cleared) {
                code.link(&from, number);
            }
            let version = *code.version(number);
            resume(m, &version);
            version.body
        }
        None => {
            m.compiler.shared.next = op;
            code.thunks.leave
        }
    }
}

/// A site and its version.
///
/// # Safety
/// `site` must be a site, and nothing be compiled or dropped while they are used.
unsafe fn at<'a>(m: &Processor, site: *const Site) -> (&'a Site, &'a Version) {
    let Some(code) = &m.compiler.code else {
        unreachable!("compiled code runs");
    };
    // SAFETY: the caller's.
    unsafe {
        let site = &*site;
        let version: *const Version = code.version(site.version);
        (site, &*version)
    }
}

/// See [`super::thunks::Thunks::go`].
///
/// # Safety
/// Compiled code passes the processor that entered it, which nothing else uses meanwhile, and a site of its own.
pub(super) unsafe extern "sysv64" fn go(m: *mut Processor, site: *const Site) -> usize {
    // SAFETY: compiled code passes the processor that entered it, which nothing else uses meanwhile, and a site of its
    // own. An edge's ops are in a line of its version, which is valid while it runs.
    unsafe {
        let m = &mut *m;
        let (&Site { kind, ea, .. }, version) = at(m, site);
        let Kind::Edge { to, state, .. } = kind else {
            unreachable!("a jump");
        };
        // The code may have turned to the other page already; an op's link stays in the op's page.
        let elsewhere = (ea ^ version.ea) & !0xfff != 0;
        prepare(m, version, OTHER_CALL);
        m.predictor.branches += u64::from(version.branch);
        m.hot.pipeline = state;
        let next = match to {
            To::Follow(_) if elsewhere => m.enter(ea),
            To::Follow(op) => m.follow(op, ea),
            To::Near(_) if m.hot.cycles >= m.hot.deadline => m.enter_elsewhere(ea),
            To::Near(op) => {
                m.begin(op);
                if (*op).instructions == 0 && elsewhere {
                    m.enter(ea)
                } else if (*op).instructions == 0 {
                    m.follow(op, ea)
                } else {
                    op
                }
            }
        };
        on(m, next, site)
    }
}

/// See [`super::thunks::Thunks::go_to_register`].
///
/// # Safety
/// Compiled code passes the processor that entered it, which nothing else uses meanwhile, and a site of its own.
pub(super) unsafe extern "sysv64" fn go_to_register(
    m: *mut Processor,
    site: *const Site,
    target: u32,
) -> usize {
    // SAFETY: as in `go`.
    unsafe {
        let m = &mut *m;
        let (&Site { kind, .. }, version) = at(m, site);
        let Kind::Register { state } = kind else {
            unreachable!("a jump to a register");
        };
        prepare(m, version, OTHER_CALL);
        m.predictor.branches += u64::from(version.branch);
        m.hot.pipeline = state;
        let next = m.enter(target);
        on(m, next, site)
    }
}

/// See [`super::thunks::Thunks::stay`].
///
/// # Safety
/// Compiled code passes the processor that entered it, which nothing else uses meanwhile, and a site of its own.
pub(super) unsafe extern "sysv64" fn stay(m: *mut Processor, site: *const Site) {
    // SAFETY: as in `go`.
    unsafe {
        let m = &mut *m;
        let (&Site { kind, .. }, version) = at(m, site);
        let Kind::Stay { op } = kind else {
            unreachable!("an instruction");
        };
        prepare(m, version, OTHER_CALL);
        m.compiler.shared.next = op;
    }
}

/// See [`super::thunks::Thunks::alone`]. Not 0: leave.
///
/// # Safety
/// Compiled code passes the processor that entered it, which nothing else uses meanwhile, and a site of its own.
pub(super) unsafe extern "sysv64" fn alone(m: *mut Processor, site: *const Site) -> u64 {
    // SAFETY: as in `go`.
    unsafe {
        let m = &mut *m;
        let (&Site { kind, .. }, version) = at(m, site);
        let Kind::Alone { op, run, .. } = kind else {
            unreachable!("an instruction");
        };
        prepare(m, version, ALONE);
        let result = run(m, &(*op).operands);
        if let Some(physical) = m.compiler.lent.take() {
            m.memory.data.shortcuts().drop_set(physical);
        }
        match result {
            // The next block in the same code makes no check of its own.
            Ok(())
                if version.rest.counts != 0
                    && !(version.is_early(&m.hot) && version.is_in(&m.hot, m.fetch_mode)) =>
            {
                m.compiler.shared.next = op.add(1);
                1
            }
            Ok(()) => {
                resume(m, version);
                0
            }
            Err(exception) => {
                m.compiler.shared.next = m.raise(op, exception);
                1
            }
        }
    }
}

/// See [`super::thunks::Thunks::access`]. Null: the instruction must run alone.
///
/// # Safety
/// Compiled code passes the processor that entered it, which nothing else uses meanwhile, and a site of its own.
pub(super) unsafe extern "sysv64" fn access<const STORE: bool>(
    m: *mut Processor,
    site: *const Site,
    ea: u32,
) -> *mut u8 {
    // SAFETY: as in `go`. `access_for_compiled` gives an address of a page with a shortcut, or of one that was
    // foreseen: both lie in RAM altogether.
    unsafe {
        let m = &mut *m;
        let (&Site { kind, .. }, version) = at(m, site);
        let Kind::Alone { bytes, .. } = kind else {
            unreachable!("an instruction");
        };
        m.hot.cycles -= version.rest.cycles;
        let reached = m.access_for_compiled(ea, bytes.into(), STORE);
        let early = version.is_early(&m.hot);
        m.hot.cycles += version.rest.cycles;
        match reached {
            Some(physical) if early => {
                m.compiler.pays.cost += ACCESS;
                m.hot.ram.add(physical as usize)
            }
            Some(physical) => {
                // Compiled code must be left behind the instruction. [`alone`] lets the instruction move its data.
                m.lend_line(ea, physical);
                m.compiler.lent = Some(physical);
                std::ptr::null_mut()
            }
            None => std::ptr::null_mut(),
        }
    }
}

/// See [`super::thunks::Thunks::predict`].
///
/// # Safety
/// Compiled code passes the processor that entered it, which nothing else uses meanwhile, and a site of its own.
pub(super) unsafe extern "sysv64" fn predict(
    m: *mut Processor,
    site: *const Site,
    taken: u32,
) -> u64 {
    // SAFETY: as in `go`.
    unsafe {
        predicted(m, site, |predictor, pc, conditional| match conditional {
            Some((statically, doubt)) => predictor.conditional(pc, taken != 0, statically, doubt),
            None => predictor.unconditional(pc),
        })
    }
}

/// See [`super::thunks::Thunks::predict_register`].
///
/// # Safety
/// Compiled code passes the processor that entered it, which nothing else uses meanwhile, and a site of its own.
pub(super) unsafe extern "sysv64" fn predict_register(
    m: *mut Processor,
    site: *const Site,
    target: u32,
) -> u64 {
    // SAFETY: as in `go`.
    unsafe {
        predicted(m, site, |predictor, pc, conditional| match conditional {
            Some((statically, doubt)) => {
                predictor.conditional_to_register(pc, true, statically, doubt, target)
            }
            None => predictor.to_register(pc, target),
        })
    }
}

/// Lets `predict` say what the branch at the end of a version costs, which it counts. It gets the branch's address and,
/// of a conditional one, the static prediction and the doubt.
///
/// # Safety
/// As [`go`].
unsafe fn predicted(
    m: *mut Processor,
    site: *const Site,
    predict: impl FnOnce(&mut Predictor, u32, Option<(bool, u8)>) -> u64,
) -> u64 {
    // SAFETY: the caller's.
    unsafe {
        let m = &mut *m;
        let (&Site { kind, ea: pc, .. }, version) = at(m, site);
        let Kind::Predict { conditional } = kind else {
            unreachable!("a branch");
        };
        prepare(m, version, OTHER_CALL);
        let conditional = conditional.map(|statically| (statically, version.timing.doubt));
        let wait = predict(&mut m.predictor, pc, conditional);
        // It is among the counts of compiled code again.
        m.predictor.branches -= 1;
        resume(m, version);
        m.hot.cycles += wait;
        wait
    }
}
