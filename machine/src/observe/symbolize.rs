//! Names the running code: the program of the current address space, and the function at an address.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use crate::account::CauseNames;
use crate::loader::{ElfImage, SymbolTable, cpio_files};

/// A function of the kernel or of a program. The kernel is table 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Function {
    table: u32,
    /// Index in the table, or `UNKNOWN`.
    index: u32,
}

const UNKNOWN: u32 = u32::MAX;
/// The most different paths of calls.
const PATHS_MOST: usize = 1 << 16;

impl Function {
    /// A symbol names it.
    #[must_use]
    pub fn is_known(self) -> bool {
        self.index != UNKNOWN
    }
}

/// The range of addresses around one that belong to the same function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Located {
    pub function: Function,
    pub low: u32,
    /// Last address, inclusive.
    pub high: u32,
}

/// The most programs, and the most address spaces, that are remembered.
pub const PROGRAMS_MOST: usize = 4096;
pub const CONTEXTS_MOST: usize = 1 << 18;

/// Symbols of the kernel and of programs, and which program each address space runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Symbolizer {
    tables: Vec<SymbolTable>,
    /// Table of a program, by the last part of its path.
    by_name: HashMap<String, u32>,
    /// Program names that profiles refer to; 0 is the kernel alone.
    programs: Vec<String>,
    /// What each address space runs, as an index of `programs`.
    commands: BTreeMap<u32, u32>,
    context: u32,
    /// The address space that the hardware was first told of, which is the kernel's own. From then on address spaces
    /// are told by the hardware.
    first_space: Option<u32>,
    /// The guest has written CONTEXT, which counts from then on.
    explicit: bool,
    /// The program that begins at an address, unless several do.
    entries: BTreeMap<u32, Option<String>>,
    /// Programs and address spaces beyond these limits.
    refused: u64,
    pub causes: CauseNames,
    /// `programs`, by name.
    #[serde(skip)]
    numbers: HashMap<String, u32>,
    /// Paths of calls, the outermost function first, and their numbers.
    #[serde(skip)]
    paths: Vec<Vec<Function>>,
    #[serde(skip)]
    path_numbers: HashMap<Vec<Function>, u32>,
}

impl Default for Symbolizer {
    fn default() -> Self {
        Self::new(SymbolTable::default())
    }
}

impl Symbolizer {
    #[must_use]
    pub fn new(kernel: SymbolTable) -> Self {
        Symbolizer {
            tables: vec![kernel],
            by_name: HashMap::new(),
            programs: vec!["kernel".to_owned()],
            commands: BTreeMap::new(),
            context: 0,
            first_space: None,
            explicit: false,
            entries: BTreeMap::new(),
            refused: 0,
            causes: CauseNames::default(),
            numbers: HashMap::new(),
            paths: Vec::new(),
            path_numbers: HashMap::new(),
        }
    }

    /// The kernel has these symbols.
    pub fn set_kernel(&mut self, symbols: SymbolTable) {
        self.tables[0] = symbols;
    }

    /// Programs and address spaces beyond the limits; they are shown as the kernel's.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// True if a run can lead to this state. A snapshot is checked by this before use.
    pub(crate) fn fits(&self) -> bool {
        let (tables, programs) = (self.tables.len() as u32, self.programs.len() as u32);
        tables > 0
            && self.tables.iter().all(SymbolTable::is_ordered)
            && self.by_name.values().all(|&table| table < tables)
            && (1..=PROGRAMS_MOST).contains(&self.programs.len())
            && self.commands.len() <= CONTEXTS_MOST
            && self.commands.values().all(|&program| program < programs)
            && self.refused < crate::config::LATEST
            && self.causes.fits()
    }

    /// Symbols of the program whose path ends in `name`'s last part, and where it begins.
    pub fn add_program(&mut self, name: &str, symbols: SymbolTable, entry: u32) {
        let path = format!("/{}", name.trim_start_matches('/'));
        let begins = self.entries.entry(entry);
        begins
            .and_modify(|known| *known = known.take().filter(|known| *known == path))
            .or_insert(Some(path));
        let table = self.tables.len() as u32;
        self.tables.push(symbols);
        self.by_name.insert(base_name(name).to_owned(), table);
    }

    /// Symbols of every ELF executable in an uncompressed cpio archive. Returns how many there were.
    pub fn add_archive(&mut self, archive: &[u8]) -> usize {
        let mut added = 0;
        for file in cpio_files(archive) {
            if let Ok(image) = ElfImage::parse(file.data, file.path)
                && !image.symbols.is_empty()
            {
                self.add_program(file.path, image.symbols, image.entry);
                added += 1;
            }
        }
        added
    }

    /// The hardware was told of an address space, by the MMU's number for it. Returns the new context, for a guest that
    /// never writes CONTEXT.
    pub(crate) fn space(&mut self, space: u32) -> Option<u32> {
        if self.explicit {
            return None;
        }
        let first = *self.first_space.get_or_insert(space);
        let context = if space == first { 0 } else { space };
        (context != self.context).then_some(context)
    }

    /// CONTEXT was written.
    pub(crate) fn set_explicit(&mut self) {
        self.explicit = true;
    }

    /// Finds the program whose first instruction is at `pc`, for guests that never write CONTEXT. Reaching it ends an
    /// exec. `None` too if the program is known to run.
    pub(crate) fn begins(&self, pc: u32) -> Option<&str> {
        if self.explicit || self.first_space.is_none() {
            return None;
        }
        let path = self.entries.get(&pc)?.as_deref()?;
        (self.program_name(self.program()) != path).then_some(path)
    }

    /// CONTEXT: this address space runs from now on. It is named by its number until COMMAND or FORK names its
    /// program; 0 is the kernel's own.
    pub fn set_context(&mut self, context: u32) {
        self.context = context;
        let named = self.commands.contains_key(&context);
        if context != 0 && !named && self.commands.len() < CONTEXTS_MOST {
            // An operating system without CONTEXT has many processes, and no way to name them.
            let last = !self.explicit
                && self.first_space.is_some()
                && self.programs.len() + 1 >= PROGRAMS_MOST;
            if last {
                self.set_command("other contexts");
            } else {
                self.set_command(&format!("context {context}"));
            }
        }
    }

    /// The address space `context` is the current one, as it was before.
    pub(crate) fn select(&mut self, context: u32) {
        self.context = context;
    }

    /// COMMAND: the current address space runs this program from now on.
    pub fn set_command(&mut self, path: &str) {
        if self.numbers.len() != self.programs.len() {
            let names = self.programs.iter().cloned();
            self.numbers = names.zip(0..).collect();
        }
        let program = match self.numbers.get(path) {
            Some(&known) => known,
            None if self.programs.len() < PROGRAMS_MOST => {
                let number = self.programs.len() as u32;
                self.programs.push(path.to_owned());
                self.numbers.insert(path.to_owned(), number);
                number
            }
            None => {
                self.refused += 1;
                0
            }
        };
        self.runs(self.context, program);
    }

    /// The address space `context` runs `program` from now on.
    fn runs(&mut self, context: u32, program: u32) {
        if self.commands.len() < CONTEXTS_MOST || self.commands.contains_key(&context) {
            self.commands.insert(context, program);
        } else {
            self.refused += 1;
        }
    }

    /// FORK: the address space `child` runs the program of the current one from now on. An earlier address space of
    /// that number is forgotten.
    pub fn set_fork(&mut self, child: u32) {
        self.runs(child, self.program());
    }

    /// Number of the program in the current address space; 0 where none was named.
    #[must_use]
    pub fn program(&self) -> u32 {
        self.commands.get(&self.context).copied().unwrap_or(0)
    }

    #[must_use]
    pub fn context(&self) -> u32 {
        self.context
    }

    /// Path of a program by its number.
    #[must_use]
    pub fn program_name(&self, program: u32) -> &str {
        self.programs.get(program as usize).map_or("?", |name| name)
    }

    /// Paths of all programs that have run; `kernel` is one of them.
    pub fn programs(&self) -> impl Iterator<Item = &str> {
        self.programs.iter().map(|path| &path[..])
    }

    /// The function that `pc` lies in, in user or kernel mode of the current address space.
    #[must_use]
    pub fn locate(&self, pc: u32, user: bool) -> Located {
        let table = if user { self.user_table() } else { Some(0) };
        let Some(table) = table else {
            let function = Function {
                table: UNKNOWN,
                index: UNKNOWN,
            };
            return Located {
                function,
                low: 0,
                high: u32::MAX,
            };
        };
        let (index, low, high) = self.tables[table as usize].range(pc);
        let index = index.map_or(UNKNOWN, |index| index as u32);
        Located {
            function: Function { table, index },
            low,
            high,
        }
    }

    /// The number of a path of calls at these addresses. Beyond a limit all paths have one number.
    pub fn path(&mut self, calls: &[u32], user: bool) -> u32 {
        let path: Vec<Function> = (calls.iter())
            .map(|&pc| self.locate(pc, user).function)
            .collect();
        if let Some(&known) = self.path_numbers.get(&path) {
            return known;
        }
        if self.paths.len() >= PATHS_MOST {
            return UNKNOWN;
        }
        let number = self.paths.len() as u32;
        self.paths.push(path.clone());
        self.path_numbers.insert(path, number);
        number
    }

    /// The names of the functions of a path.
    #[must_use]
    pub fn path_names(&self, number: u32) -> String {
        let Some(path) = self.paths.get(number as usize) else {
            return "(too many paths)".to_owned();
        };
        let names = path.iter().map(|&function| self.function_name(function));
        names.collect::<Vec<_>>().join(" > ")
    }

    /// Name of a function; `(no symbol)` where no symbol covers it.
    #[must_use]
    pub fn function_name(&self, function: Function) -> &str {
        self.tables
            .get(function.table as usize)
            .and_then(|table| table.get(function.index as usize))
            .map_or("(no symbol)", |symbol| &symbol.name)
    }

    /// The known function with this name, or the one whose name is the nearest; `None` if there are no symbols.
    #[must_use]
    pub fn nearest_function(&self, name: &str) -> Option<&str> {
        let names = self.tables.iter().flat_map(SymbolTable::names);
        names.min_by_key(|known| (distance(name, known), *known))
    }

    /// `name+0x1c` for messages.
    #[must_use]
    pub fn describe(&self, pc: u32, user: bool) -> String {
        let table = if user { self.user_table() } else { Some(0) };
        match table {
            Some(table) => self.tables[table as usize].describe(pc),
            None => format!("{pc:#010x}"),
        }
    }

    /// The lowest address of a function of the kernel.
    #[must_use]
    pub(crate) fn lowest_kernel(&self) -> u32 {
        self.tables[0]
            .get(0)
            .map_or(u32::MAX, |symbol| symbol.address)
    }

    /// The kernel's symbols.
    #[must_use]
    pub fn kernel(&self) -> &SymbolTable {
        &self.tables[0]
    }

    fn user_table(&self) -> Option<u32> {
        let program = self.commands.get(&self.context)?;
        let path = &self.programs[*program as usize];
        self.by_name.get(base_name(path)).copied()
    }
}

/// How many letters of two names differ.
fn distance(one: &str, two: &str) -> usize {
    let mut row: Vec<usize> = (0..=two.len()).collect();
    for (n, a) in one.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], n + 1);
        for (m, b) in two.bytes().enumerate() {
            let changed = diagonal + usize::from(a != b);
            diagonal = row[m + 1];
            row[m + 1] = changed.min(diagonal + 1).min(row[m] + 1);
        }
    }
    row[two.len()]
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contexts_and_programs_without_end_have_a_limit() {
        let mut symbols = Symbolizer::default();
        for context in 1..=CONTEXTS_MOST as u32 + 10 {
            symbols.set_context(context);
        }
        assert_eq!(symbols.programs.len(), PROGRAMS_MOST);
        assert_eq!(symbols.commands.len(), CONTEXTS_MOST);
        assert!(symbols.refused() > 0);
        symbols.set_context(7);
        assert_eq!(symbols.program_name(symbols.program()), "context 7");
        symbols.set_command("context 9");
        assert_eq!(symbols.program_name(symbols.program()), "context 9");
    }
}
