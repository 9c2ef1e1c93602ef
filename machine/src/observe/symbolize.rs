//! Whose code runs: the program of the current address space, and the function at an address.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use crate::loader::{ElfImage, SymbolTable, cpio_files};

/// A function of the kernel or of a program. The kernel is table 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Function {
    table: u32,
    /// Index in the table, or `UNKNOWN`.
    index: u32,
}

const UNKNOWN: u32 = u32::MAX;

/// The range of addresses around one that belong to the same function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Located {
    pub function: Function,
    pub low: u32,
    /// Last address, inclusive.
    pub high: u32,
}

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
        }
    }

    /// Symbols of the program whose path ends in `name`'s last part.
    pub fn add_program(&mut self, name: &str, symbols: SymbolTable) {
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
                self.add_program(file.path, image.symbols);
                added += 1;
            }
        }
        added
    }

    /// CONTEXT: this address space runs from now on. One of which neither COMMAND nor FORK has told
    /// goes by its number; 0 is the kernel's own.
    pub fn set_context(&mut self, context: u32) {
        self.context = context;
        if context != 0 && !self.commands.contains_key(&context) {
            self.set_command(&format!("context {context}"));
        }
    }

    /// COMMAND: the current address space runs this program from now on.
    pub fn set_command(&mut self, path: &str) {
        let program = self.programs.iter().position(|known| known == path);
        let program = program.unwrap_or_else(|| {
            self.programs.push(path.to_owned());
            self.programs.len() - 1
        });
        self.commands.insert(self.context, program as u32);
    }

    /// FORK: the address space `child` runs the current one's program from now on, whatever an
    /// earlier one of the same number ran.
    pub fn set_fork(&mut self, child: u32) {
        self.commands.insert(child, self.program());
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

    /// Name of a function; `?` where no symbol covers it.
    #[must_use]
    pub fn function_name(&self, function: Function) -> &str {
        self.tables
            .get(function.table as usize)
            .and_then(|table| table.get(function.index as usize))
            .map_or("?", |symbol| &symbol.name)
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

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
