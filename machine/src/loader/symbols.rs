//! Names of functions by address.

use serde::{Deserialize, Serialize};

/// A function or label of an image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Symbol {
    pub address: u32,
    /// 0 if the image does not say: then it reaches to the next symbol.
    pub size: u32,
    pub name: String,
}

/// Symbols in address order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SymbolTable {
    symbols: Vec<Symbol>,
}

impl SymbolTable {
    /// Of several symbols at an address the one with a size is kept, then the first by name.
    pub fn new(mut symbols: Vec<Symbol>) -> Self {
        symbols.sort_by(|a, b| {
            (a.address, a.size == 0, &a.name).cmp(&(b.address, b.size == 0, &b.name))
        });
        symbols.dedup_by_key(|symbol| symbol.address);
        SymbolTable { symbols }
    }

    /// With labels for code in the first 64 KB that has no symbol of its own: each is left out if a symbol lies in the
    /// 256 bytes from its address.
    #[must_use]
    pub fn with_labels(self, labels: &[(u32, String)]) -> Self {
        let named = |address: u32| {
            let near = |symbol: &Symbol| (address..address + 0x100).contains(&symbol.address);
            self.symbols.iter().any(near)
        };
        let missing: Vec<Symbol> = labels
            .iter()
            .filter(|(address, _)| !named(*address))
            .map(|(address, name)| Symbol {
                address: *address,
                size: 0x100,
                name: name.clone(),
            })
            .collect();
        Self::new(self.symbols.into_iter().chain(missing).collect())
    }

    /// With more symbols.
    #[must_use]
    pub fn with(self, more: impl IntoIterator<Item = Symbol>) -> Self {
        Self::new(self.symbols.into_iter().chain(more).collect())
    }

    /// Those at this address and above.
    #[must_use]
    pub fn from(mut self, address: u32) -> Self {
        self.symbols.retain(|symbol| symbol.address >= address);
        self
    }

    /// The names of all symbols.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.symbols.iter().map(|symbol| &symbol.name[..])
    }

    /// Are the symbols in order of address?
    pub(crate) fn is_ordered(&self) -> bool {
        self.symbols.is_sorted_by(|a, b| a.address < b.address)
    }

    /// Ends each symbol without a size at the end of its segment: `end` gives the first address behind the segment of
    /// an address. Symbols outside all segments are dropped, because they name no code.
    #[must_use]
    pub(super) fn within(mut self, end: impl Fn(u32) -> Option<u32>) -> Self {
        self.symbols.retain_mut(|symbol| {
            let Some(end) = end(symbol.address) else {
                return false;
            };
            if symbol.size == 0 {
                symbol.size = end - symbol.address;
            }
            true
        });
        self
    }

    /// Index and symbol that `address` lies in.
    pub fn find(&self, address: u32) -> Option<(usize, &Symbol)> {
        let after = self
            .symbols
            .partition_point(|symbol| symbol.address <= address);
        let index = after.checked_sub(1)?;
        let symbol = &self.symbols[index];
        let inside = symbol.size == 0 || address - symbol.address < symbol.size;
        inside.then_some((index, symbol))
    }

    /// The symbol that `address` lies in, and the first and last address that give the same symbol.
    pub fn range(&self, address: u32) -> (Option<usize>, u32, u32) {
        let after = self
            .symbols
            .partition_point(|symbol| symbol.address <= address);
        let next = self
            .symbols
            .get(after)
            .map_or(u32::MAX, |symbol| symbol.address - 1);
        let Some(index) = after.checked_sub(1) else {
            return (None, 0, next);
        };
        let symbol = &self.symbols[index];
        let end = symbol.address.saturating_add(symbol.size);
        if symbol.size == 0 {
            (Some(index), symbol.address, next)
        } else if address < end {
            (Some(index), symbol.address, next.min(end - 1))
        } else {
            (None, end, next)
        }
    }

    pub fn get(&self, index: usize) -> Option<&Symbol> {
        self.symbols.get(index)
    }

    /// `name+0x1c`, or the bare address in hexadecimal.
    pub fn describe(&self, address: u32) -> String {
        match self.find(address) {
            Some((_, symbol)) if symbol.address == address => symbol.name.clone(),
            Some((_, symbol)) => format!("{}+{:#x}", symbol.name, address - symbol.address),
            None => format!("{address:#010x}"),
        }
    }

    pub fn by_name(&self, name: &str) -> Option<&Symbol> {
        self.symbols.iter().find(|symbol| symbol.name == name)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Symbol> {
        self.symbols.iter()
    }

    pub fn len(&self) -> usize {
        self.symbols.len()
    }

    pub fn is_empty(&self) -> bool {
        self.symbols.is_empty()
    }
}
