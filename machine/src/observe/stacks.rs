//! Call stacks of the running code, for a profile.
//!
//! The stacks are followed, not sampled: whenever another function begins to run, its registers tell how it began.
//!
//! - The link register points into the function before: that one called it.
//! - It began because of an exception: it stands on what was interrupted.
//! - It goes on in its middle: it was left with this stack pointer before, and gets back the stack that it had then.
//! - It began in another way: it was jumped to, and takes the place of the function before.
//!
//! Where none of this gives a stack (a profile has just begun, or a program), the back chain does: what the
//! architecture finds in memory.

use rustc_hash::FxHashMap;

use super::symbolize::{Function, Symbolizer};

/// The number of a stack; 0 is the empty one.
pub type Stack = u32;

/// The deepest stack. Calls beyond it are charged to the function at this depth.
const DEPTH_MOST: u32 = 128;
/// The most different stacks. Later ones are charged to functions without a stack.
const STACKS_MOST: usize = 1 << 18;
/// At most so many places are remembered where a function was left. Then all are forgotten.
const PLACES_MOST: usize = 1 << 16;

/// The processor whose stacks are followed.
pub trait Calls {
    /// It runs in user mode.
    fn is_user(&self) -> bool;

    fn stack_pointer(&self) -> u32;

    /// Where the running function returns to, if it has just been called.
    fn link(&self) -> u32;

    /// The return addresses of the frames on the stack, the innermost first.
    fn back_chain(&self) -> Box<dyn Iterator<Item = u32> + '_>;
}

/// A function on a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    pub function: Function,
    /// It runs in user mode.
    pub user: bool,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    caller: Stack,
    frame: Frame,
    depth: u32,
}

/// Where a function was left: its address space, itself, and r1.
type Place = (u32, Frame, u32);

/// The function that runs.
#[derive(Clone, Copy, Debug)]
struct Running {
    low: u32,
    high: u32,
    frame: Frame,
    context: u32,
}

/// The stacks so far, and the one of the running code.
#[derive(Clone, Debug, Default)]
pub struct Stacks {
    /// Stack n is node n - 1.
    nodes: Vec<Node>,
    known: FxHashMap<(Stack, Frame), Stack>,
    left: FxHashMap<Place, Stack>,
    now: Stack,
    running: Option<Running>,
    /// r1 when an exception was taken, if its handler has not begun.
    interrupted: Option<u32>,
    /// The processor that runs, and where the others are.
    processor: u8,
    parked: FxHashMap<u8, (Stack, Option<Running>)>,
}

impl Stacks {
    /// The stack of the running code.
    #[must_use]
    pub fn now(&self) -> Stack {
        self.now
    }

    /// The frames of a stack, the outermost first.
    #[must_use]
    pub fn frames(&self, stack: Stack) -> Vec<Frame> {
        let mut frames: Vec<Frame> = self.up(stack).map(|node| node.frame).collect();
        frames.reverse();
        frames
    }

    /// The functions of a stack, the innermost first.
    fn up(&self, stack: Stack) -> impl Iterator<Item = &Node> {
        let first = self.node(stack);
        std::iter::successors(first, |node| self.node(node.caller))
    }

    fn node(&self, stack: Stack) -> Option<&Node> {
        self.nodes.get((stack as usize).checked_sub(1)?)
    }

    fn caller(&self, stack: Stack) -> Stack {
        self.node(stack).map_or(0, |node| node.caller)
    }

    /// The stack of `frame` called from `caller`.
    fn push(&mut self, caller: Stack, frame: Frame) -> Stack {
        let depth = self.node(caller).map_or(0, |node| node.depth) + 1;
        if depth > DEPTH_MOST {
            return caller;
        }
        if let Some(&known) = self.known.get(&(caller, frame)) {
            return known;
        }
        if self.nodes.len() >= STACKS_MOST {
            return 0;
        }
        self.nodes.push(Node {
            caller,
            frame,
            depth,
        });
        let stack = self.nodes.len() as Stack;
        self.known.insert((caller, frame), stack);
        stack
    }

    /// An exception is about to be taken; `r1` is the stack pointer.
    pub fn interrupted(&mut self, r1: u32) {
        self.interrupted = Some(r1);
    }

    /// Another processor runs from now on.
    pub fn select(&mut self, processor: u8) {
        if processor != self.processor {
            self.parked.insert(self.processor, (self.now, self.running));
            (self.now, self.running) = self.parked.remove(&processor).unwrap_or_default();
            self.processor = processor;
        }
    }

    /// The code at `pc` begins to run.
    pub fn enters(&mut self, symbols: &Symbolizer, pc: u32, calls: &dyn Calls) {
        let user = calls.is_user();
        // The kernel's stacks are at different addresses in all processes.
        let context = if user { symbols.context() } else { 0 };
        let before = self.running;
        if let Some(running) = before
            && (running.low..=running.high).contains(&pc)
            && (running.frame.user, running.context) == (user, context)
            && self.interrupted.is_none()
        {
            return;
        }
        let exception = self.interrupted.take();
        let r1 = calls.stack_pointer();
        if let Some(running) = before {
            if self.left.len() >= PLACES_MOST {
                self.left.clear();
            }
            let place = (running.context, running.frame, exception.unwrap_or(r1));
            self.left.insert(place, self.now);
        }
        let located = symbols.locate(pc, user);
        let frame = Frame {
            function: located.function,
            user,
        };
        let link = calls.link();
        let begins = pc == located.low;
        let same_mode =
            before.filter(|running| (running.frame.user, running.context) == (user, context));
        self.now = match (exception, same_mode) {
            (Some(_), _) => self.push(self.now, frame),
            // A call.
            (None, Some(caller))
                if begins && (caller.low..=caller.high).contains(&link.wrapping_sub(4)) =>
            {
                self.push(self.now, frame)
            }
            // A return to code with a name of its own, behind a call.
            (None, Some(_)) if begins && link == pc => {
                let caller = self.caller(self.caller(self.now));
                self.push(caller, frame)
            }
            // A jump.
            (None, Some(_)) if begins => self.push(self.caller(self.now), frame),
            _ => match self.left.get(&(context, frame, r1)) {
                Some(&stack) => stack,
                None => self.found(symbols, frame, begins, calls),
            },
        };
        self.running = Some(Running {
            low: located.low,
            high: located.high,
            frame,
            context,
        });
    }

    /// A stack for `frame`, which nobody has seen being called: that of the function's last call, if it is among those
    /// that have not returned, else the back chain's.
    fn found(
        &mut self,
        symbols: &Symbolizer,
        frame: Frame,
        begins: bool,
        calls: &dyn Calls,
    ) -> Stack {
        if !begins {
            let mut stack = self.now;
            while let Some(node) = self.node(stack) {
                if node.frame == frame {
                    return stack;
                }
                stack = node.caller;
            }
        }
        let link = begins.then_some(calls.link());
        let addresses = link.into_iter().chain(calls.back_chain());
        let mut callers: Vec<Frame> = addresses
            .take(DEPTH_MOST as usize)
            .map(|address| symbols.locate(address.wrapping_sub(4), frame.user))
            .map_while(|located| located.function.is_known().then_some(located.function))
            .map(|function| Frame {
                function,
                user: frame.user,
            })
            .collect();
        callers.reverse();
        let stack = callers
            .into_iter()
            .fold(0, |stack, caller| self.push(stack, caller));
        self.push(stack, frame)
    }
}
