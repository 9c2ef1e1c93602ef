//! Exact profile: every cycle and instruction charged to program, mode, cause and function.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use serde::Serialize;

use super::stacks::{Calls, Frame, Stack, Stacks};
use super::symbolize::{Function, Symbolizer};
use crate::account::Cause;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    program: u32,
    user: bool,
    cause: Cause,
    function: Function,
    /// With `function` as the last, unless that was not known yet.
    stack: Stack,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sums {
    cycles: u64,
    instructions: u64,
}

/// The charges so far, and a shortcut for runs inside one function.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// Only code inside this region of interest is charged; all code if there is none.
    region: Option<u32>,
    /// True outside of that region.
    outside: bool,
    sums: HashMap<Key, Sums>,
    stacks: Stacks,
    open: Option<Open>,
    /// The last charge, after it was closed.
    last: Option<Key>,
}

/// The function that ran last, with its pending charge.
#[derive(Clone, Copy, Debug)]
struct Open {
    key: Key,
    low: u32,
    high: u32,
    sums: Sums,
}

/// The cycles of one call stack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StackRow {
    /// As [`ProfileRow::program`].
    pub program: String,
    /// Functions, the outermost first; those of the kernel end in `_[k]`.
    pub frames: Vec<String>,
    pub cause: String,
    pub cycles: u64,
    pub instructions: u64,
}

/// A line of the profile's table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProfileRow {
    /// Path of the program whose address space ran; `kernel` before the first one.
    pub program: String,
    /// `user` or `kernel`, by MSR\[PR\].
    pub mode: String,
    pub cause: String,
    pub function: String,
    pub cycles: u64,
    pub instructions: u64,
}

impl Profile {
    /// A profile of everything that runs, or of one region of interest alone.
    #[must_use]
    pub fn new(region: Option<u32>) -> Self {
        Profile {
            region,
            outside: region.is_some(),
            ..Profile::default()
        }
    }

    /// A region of interest begins or ends.
    pub fn region(&mut self, number: u32, begins: bool) {
        if self.region == Some(number) {
            self.close();
            self.last = None;
            self.outside = !begins;
        }
    }

    /// The code at `pc` begins to run, called as `calls` tells.
    pub fn enters(&mut self, symbols: &Symbolizer, pc: u32, calls: &dyn Calls) {
        self.stacks.enters(symbols, pc, calls);
    }

    /// An exception is about to be taken; `r1` is the stack pointer.
    pub fn interrupted(&mut self, r1: u32) {
        self.stacks.interrupted(r1);
    }

    /// Another processor runs from now on.
    pub fn select(&mut self, processor: u8) {
        self.close();
        self.stacks.select(processor);
    }

    /// Charges what ran at `pc`.
    pub fn charge(
        &mut self,
        symbols: &Symbolizer,
        pc: u32,
        user: bool,
        cause: Cause,
        cycles: u64,
        instructions: u64,
    ) {
        if self.outside {
            return;
        }
        if let Some(open) = &mut self.open
            && (open.low..=open.high).contains(&pc)
            && open.key.user == user
            && open.key.cause == cause
            && open.key.stack == self.stacks.now()
        {
            open.sums.cycles += cycles;
            open.sums.instructions += instructions;
            return;
        }
        self.close();
        let located = symbols.locate(pc, user);
        self.open = Some(Open {
            key: Key {
                program: symbols.program(),
                user,
                cause,
                function: located.function,
                stack: self.stacks.now(),
            },
            low: located.low,
            high: located.high,
            sums: Sums {
                cycles,
                instructions,
            },
        });
    }

    /// Books the pending charge. To be called before the address space or its program changes.
    pub fn close(&mut self) {
        if let Some(open) = self.open.take() {
            let sums = self.sums.entry(open.key).or_default();
            sums.cycles += open.sums.cycles;
            sums.instructions += open.sums.instructions;
            self.last = Some(open.key);
        }
    }

    /// Takes back a part of the last charge.
    pub fn take_back(&mut self, cycles: u64, instructions: u64) {
        if (cycles, instructions) == (0, 0) {
            return;
        }
        self.close();
        if let Some(sums) = self.last.and_then(|key| self.sums.get_mut(&key)) {
            sums.cycles -= cycles;
            sums.instructions -= instructions;
        }
    }

    /// Everything charged, the most cycles first.
    #[must_use]
    pub fn rows(&self, symbols: &Symbolizer) -> Vec<ProfileRow> {
        let mut whole = self.clone();
        whole.close();
        // A function may have several symbols, one for each place it runs at.
        let mut named: BTreeMap<(&str, &str, &str, &str), Sums> = BTreeMap::new();
        for (key, sums) in &whole.sums {
            let mode = if key.user { "user" } else { "kernel" };
            let name = symbols.function_name(key.function);
            let program = symbols.program_name(key.program);
            let row = named
                .entry((program, mode, symbols.causes.name(key.cause), name))
                .or_default();
            row.cycles += sums.cycles;
            row.instructions += sums.instructions;
        }
        let mut rows: Vec<ProfileRow> = named
            .into_iter()
            .map(|((program, mode, cause, function), sums)| ProfileRow {
                program: program.to_owned(),
                mode: mode.to_owned(),
                cause: cause.to_owned(),
                function: function.to_owned(),
                cycles: sums.cycles,
                instructions: sums.instructions,
            })
            .collect();
        rows.sort_by(|a, b| {
            (b.cycles, &a.program, &a.mode, &a.cause, &a.function).cmp(&(
                a.cycles,
                &b.program,
                &b.mode,
                &b.cause,
                &b.function,
            ))
        });
        rows
    }

    /// The cycles of each call stack, by program and cause; ordered by their names.
    #[must_use]
    pub fn stacks(&self, symbols: &Symbolizer) -> Vec<StackRow> {
        let mut whole = self.clone();
        whole.close();
        let mut named: BTreeMap<(&str, Vec<String>, &str), Sums> = BTreeMap::new();
        for (key, sums) in &whole.sums {
            let (function, user) = (key.function, key.user);
            let names = whole.names(symbols, key.stack, Frame { function, user });
            let program = symbols.program_name(key.program);
            let row = named.entry((program, names, symbols.causes.name(key.cause)));
            let row = row.or_default();
            row.cycles += sums.cycles;
            row.instructions += sums.instructions;
        }
        named
            .into_iter()
            .map(|((program, frames, cause), sums)| StackRow {
                program: program.to_owned(),
                frames,
                cause: cause.to_owned(),
                cycles: sums.cycles,
                instructions: sums.instructions,
            })
            .collect()
    }

    /// The functions of a stack, the outermost first, and `frame`, which is the last of them. Those of the kernel end
    /// in `_[k]`.
    pub(super) fn names(&self, symbols: &Symbolizer, stack: Stack, frame: Frame) -> Vec<String> {
        let mut frames = self.stacks.frames(stack);
        if frames.last() != Some(&frame) {
            frames.push(frame);
        }
        let name = |frame: Frame| {
            let mark = if frame.user { "" } else { "_[k]" };
            format!("{}{mark}", symbols.function_name(frame.function))
        };
        frames.into_iter().map(name).collect()
    }

    /// The stack of the running code.
    pub(super) fn stack(&self) -> Stack {
        self.stacks.now()
    }

    /// Folded stacks, one line `program;function;...;function cycles` each: what flame-graph tools read. Functions of
    /// the kernel end in `_[k]`.
    #[must_use]
    pub fn folded(&self, symbols: &Symbolizer) -> String {
        let mut stacks: BTreeMap<(String, Vec<String>), u64> = BTreeMap::new();
        for row in self.stacks(symbols) {
            *stacks.entry((row.program, row.frames)).or_default() += row.cycles;
        }
        let mut text = String::new();
        for ((program, frames), cycles) in stacks {
            let _ = writeln!(text, "{program};{} {cycles}", frames.join(";"));
        }
        text
    }

    /// The profile as a table of `limit` lines, with each function's share of all cycles.
    #[must_use]
    pub fn table(&self, symbols: &Symbolizer, limit: usize) -> String {
        let rows = self.rows(symbols);
        let all: u64 = rows.iter().map(|row| row.cycles).sum();
        let mut text = String::from(
            "   share          cycles    instructions  mode    cause    program: function\n",
        );
        for row in rows.iter().take(limit) {
            let share = 100.0 * row.cycles as f64 / all.max(1) as f64;
            let _ = writeln!(
                text,
                "{share:7.2}% {:15} {:15}  {:6}  {:7}  {}: {}",
                row.cycles, row.instructions, row.mode, row.cause, row.program, row.function
            );
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loader::{Symbol, SymbolTable};

    fn table(names: &[(&str, u32, u32)]) -> SymbolTable {
        let symbol = |&(name, address, size): &(&str, u32, u32)| Symbol {
            address,
            size,
            name: name.to_owned(),
        };
        SymbolTable::new(names.iter().map(symbol).collect())
    }

    fn symbols() -> Symbolizer {
        let mut symbols =
            Symbolizer::new(table(&[("start", 0x100, 0x40), ("copy_page", 0x200, 0x10)]));
        symbols.add_program(
            "bin/ls",
            table(&[("main", 0x1000, 0x100), ("out", 0x1100, 0)]),
            0x1000,
        );
        symbols
    }

    #[test]
    fn cycles_go_to_function_program_and_cause() {
        let mut symbols = symbols();
        let mut profile = Profile::default();
        profile.charge(&symbols, 0x104, false, Cause::KERNEL, 5, 2);
        profile.charge(&symbols, 0x13c, false, Cause::KERNEL, 5, 2);
        profile.charge(&symbols, 0x140, false, Cause::KERNEL, 1, 1);
        profile.close();
        symbols.set_context(4);
        symbols.set_command("/bin/ls");
        profile.charge(&symbols, 0x1004, true, Cause::USER, 100, 80);
        profile.charge(
            &symbols,
            0x208,
            false,
            Cause::from_number(7).unwrap(),
            40,
            30,
        );
        profile.charge(&symbols, 0x1104, true, Cause::USER, 7, 7);
        profile.close();
        symbols.set_context(5);
        profile.charge(&symbols, 0x1004, true, Cause::USER, 3, 3);
        profile.close();
        symbols.set_context(4);
        symbols.set_fork(6);
        symbols.set_context(6);
        profile.charge(&symbols, 0x1004, true, Cause::USER, 11, 9);
        assert_eq!(
            profile.folded(&symbols),
            "/bin/ls;copy_page_[k] 40\n\
             /bin/ls;main 111\n\
             /bin/ls;out 7\n\
             context 5;(no symbol) 3\n\
             kernel;(no symbol)_[k] 1\n\
             kernel;start_[k] 10\n"
        );
        let rows = profile.rows(&symbols);
        assert_eq!(
            (
                rows[0].function.as_str(),
                rows[0].cycles,
                rows[0].instructions
            ),
            ("main", 111, 89)
        );
        assert!(
            profile.table(&symbols, 1).contains("  64.53%"),
            "{}",
            profile.table(&symbols, 1)
        );
    }
}
