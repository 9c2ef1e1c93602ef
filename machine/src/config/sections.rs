//! What the machine files of all architectures have: how they are read, the section `[bus]`, sections of whole numbers.

use toml::de::DeTable;

/// How a machine file of this type is read and checked. One that is not the PowerPC's is known by its board or by its
/// core.
macro_rules! machine_file {
    ($file:ty $(, board $board:literal, cores $cores:expr)?) => {
        impl $file {
            $(
                /// True if `text` is the file of such a machine, as far as it can be read: by its core, or by its
                /// board, so that a core without a name or with a wrong one is told of with the names of these.
                #[must_use]
                pub fn is_of(text: &str) -> bool {
                    $crate::config::sections::names(text, $board, $cores)
                }

                /// As `is_of`, of a file.
                ///
                /// # Errors
                /// When it cannot be read.
                pub fn is_of_file(
                    path: &std::path::Path,
                ) -> Result<bool, $crate::config::ConfigError> {
                    Ok(Self::is_of(&$crate::config::text_of(path)?))
                }
            )?

            /// Reads a machine file and applies `overrides` in order.
            ///
            /// # Errors
            /// Names file, line, key and what is allowed, or the override at fault.
            pub fn from_file(
                path: &std::path::Path,
                overrides: &[$crate::config::Override],
            ) -> Result<Self, $crate::config::ConfigError> {
                let text = $crate::config::text_of(path)?;
                Self::from_toml(&text, &path.display().to_string(), overrides)
            }

            /// As `from_file`, from text; `file` is the name used in messages.
            ///
            /// # Errors
            /// As `from_file`.
            pub fn from_toml(
                text: &str,
                file: &str,
                overrides: &[$crate::config::Override],
            ) -> Result<Self, $crate::config::ConfigError> {
                $crate::config::read(text, file, overrides)
            }

            /// The first error in a machine that does not come from a file, if there is one.
            pub(crate) fn problem(&self) -> Option<String> {
                let problems = $crate::config::MachineFile::problems(self);
                problems.first().map(ToString::to_string)
            }
        }
    };
}

/// True if a machine file names this board, or one of these cores. Numbers are not looked at: one that is too large is
/// for the reader of such a file to name.
pub(crate) fn names(text: &str, board: &str, cores: &[&str]) -> bool {
    let Ok(table) = DeTable::parse(text) else {
        return false;
    };
    let kind = |section| {
        let section = table.get_ref().get(section)?;
        section.get_ref().get("kind")?.get_ref().as_str()
    };
    kind("board") == Some(board) || kind("core").is_some_and(|core| cores.contains(&core))
}

/// Processors of a machine whose file does not say how many.
pub(crate) fn one_processor() -> u8 {
    1
}

/// About as long as three reads of a line from memory take: a shorter lead orders accesses to shared lines no better
/// than the bus does, and costs the host more turns.
pub(crate) fn default_lead() -> u32 {
    100
}

/// What every section `[bus]` says.
#[derive(Clone, Copy)]
pub(crate) struct Bus {
    pub core_to_bus: f64,
    /// Core clocks in two bus clocks.
    pub core_per_two_bus: u64,
    pub width: u32,
    pub request: u32,
    pub turnaround: u32,
    pub return_path: u32,
    /// The times of memory, and their keys.
    pub pattern: [(&'static str, Option<u32>); 4],
}

impl Bus {
    /// Hz of the bus clock.
    pub fn clock(&self, core_clock: u64) -> u64 {
        core_clock.saturating_mul(2) / self.core_per_two_bus.max(1)
    }
}

/// The section `[bus]` of an architecture: what all have, and the keys that are given here.
macro_rules! bus_config {
    ($($(#[$doc:meta])* $key:ident: $of:ty,)*) => {
        /// The processor bus. Times are in bus clocks; a beat moves `width` bytes.
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(deny_unknown_fields, rename_all = "kebab-case")]
        pub struct BusConfig {
            /// Core clocks in one bus clock: a multiple of a half.
            pub core_to_bus: f64,
            /// Bytes in a beat.
            pub width: u32,
            /// From a miss to the start of its bus cycle on an idle bus.
            pub request: u32,
            /// From the last beat of a transfer until the next one can begin; with a depth of more than 1, dead clocks
            /// between the data of two transactions.
            pub turnaround: u32,
            /// From a beat of a read on the bus to the core.
            pub return_path: u32,
            /// Read: from the address to the first beat; also a read of one beat. This and the next three are there
            /// exactly if the file does not tell the memory's parts.
            pub read_first: Option<u32>,
            /// Read: each further beat of a burst.
            pub read_next: Option<u32>,
            /// Write: from the address to the first beat; also a write of one beat.
            pub write_first: Option<u32>,
            /// Write: each further beat of a burst.
            pub write_next: Option<u32>,
            /// An access to a register of a device of the board.
            pub device: u32,
            $($(#[$doc])* pub $key: $of,)*
        }

        impl BusConfig {
            /// Core clocks in two bus clocks: the ratio as an integer.
            #[must_use]
            pub fn core_per_two_bus(&self) -> u64 {
                (self.core_to_bus * 2.0).round() as u64
            }

            /// Core cycles that `bus_clocks` take, rounded up to a whole core cycle.
            #[must_use]
            pub fn core_cycles(&self, bus_clocks: u64) -> u64 {
                (bus_clocks * self.core_per_two_bus()).div_ceil(2)
            }

            /// What the section of every architecture says.
            pub(crate) fn shared(&self) -> $crate::config::Bus {
                $crate::config::Bus {
                    core_to_bus: self.core_to_bus,
                    core_per_two_bus: self.core_per_two_bus(),
                    width: self.width,
                    request: self.request,
                    turnaround: self.turnaround,
                    return_path: self.return_path,
                    pattern: [
                        ("bus.read-first", self.read_first),
                        ("bus.read-next", self.read_next),
                        ("bus.write-first", self.write_first),
                        ("bus.write-next", self.write_next),
                    ],
                }
            }
        }
    };
}

/// A section whose keys are whole numbers, each with its dotted path; behind a semicolon keys of other types.
macro_rules! numbers {
    ($(#[$about:meta])* $section:ident; $($(#[$doc:meta])* $key:ident $path:literal,)*
     $(; $($(#[$more_doc:meta])* $more:ident: $of:ty,)*)?) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[serde(deny_unknown_fields, rename_all = "kebab-case")]
        pub struct $section {
            $($(#[$doc])* pub $key: u32,)*
            $($($(#[$more_doc])* pub $more: $of,)*)?
        }

        impl $section {
            /// The dotted paths of the keys that are whole numbers, and these.
            pub(super) fn all(&self) -> impl Iterator<Item = (&'static str, u32)> {
                [$(($path, self.$key),)*].into_iter()
            }
        }
    };
}

/// A TLB's dotted path, and those of its entries, its ways and its replacement.
macro_rules! tlb_keys {
    ($path:literal) => {
        [
            $path,
            concat!($path, ".entries"),
            concat!($path, ".ways"),
            concat!($path, ".replacement"),
        ]
    };
}

pub(crate) use {bus_config, machine_file, numbers, tlb_keys};
