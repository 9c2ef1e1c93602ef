//! Measures the hardware costs that "Optimizing the Idle Task and Other MMU Tricks" (Dougan, Mackerras, Yodaiken, OSDI
//! 1999) states, and compares them with the published figures.
//!
//! A bare-metal program, `machine/guest/constants.S`, does the measuring. Some of these figures are inputs, not
//! results: the costs of an exception's entry and return are keys of the machine file that were set from the paper's
//! own figures. [`Nature`] tells them apart.

use std::fmt;

use pagewalk_machine::board::Console;
use pagewalk_machine::config::{L2Place, MachineConfig};
use pagewalk_machine::loader::ElfImage;
use pagewalk_machine::powerpc::loader::Boot;
use pagewalk_machine::powerpc::machine::{Limits, Stop};
use pagewalk_machine::powerpc::session::{Session, SessionError};

/// Whether a measured figure is a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nature {
    /// A result: it follows from caches, bus and table search. The costs of these come from other sources.
    Result,
    /// An input: the exception costs in the machine file were set from this published figure. Equality shows only that
    /// the machine charges the cost that it was given.
    Input,
    /// It follows from the hash table's layout alone, which the architecture defines.
    Structure,
}

impl fmt::Display for Nature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Nature::Result => "result",
            Nature::Input => "input",
            Nature::Structure => "structure",
        })
    }
}

/// One published figure and the measured one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figure {
    /// What is measured.
    pub name: &'static str,
    /// Section of the paper.
    pub section: &'static str,
    /// The paper's figure; `None` if the paper gives none.
    pub published: Option<&'static str>,
    pub measured: u64,
    pub unit: &'static str,
    pub nature: Nature,
    /// A remark that a reader needs; may be empty.
    pub note: &'static str,
}

/// Why the figures could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum ConstantsError {
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error("{file}: not the program that measures the constants: no symbol '{symbol}'")]
    NoSymbol { file: String, symbol: &'static str },
    #[error(
        "core.kind is \"{core}\": the paper gives figures for the 603 and 604; the program runs on these and the 750"
    )]
    Core { core: &'static str },
    #[error("{file}: stopped before its end: {stop}")]
    Stopped { file: String, stop: String },
}

/// Indices of the results, as the program numbers them.
const HIT_LOAD: usize = 0;
const SEARCH_CACHED: usize = 1;
const SEARCH_MEMORY: usize = 2;
const NO_PTE: usize = 3;
/// On a 603 a store that hits; on other cores an empty measurement.
const HIT_STORE: usize = 4;
const NOTHING: usize = 4;
const MISS_LOAD: usize = 5;
const MISS_STORE: usize = 6;
/// After the numbers of the regions that are counted, not timed.
const SEARCH_L2: usize = 10;
const RESULTS: usize = 11;

/// Regions of interest, as the program numbers them.
const FLUSH: u32 = 7;
const RELOAD: u32 = 8;
const EMPTY: u32 = 9;

/// Runs the program on a machine.
///
/// # Errors
/// When the image is not that program, or the machine cannot run it to its end.
pub fn measure(
    config: MachineConfig,
    image: &[u8],
    file: &str,
) -> Result<Vec<Figure>, ConstantsError> {
    let kind = config.core.kind;
    if !kind.hash_walk() && !kind.software_reload() {
        return Err(ConstantsError::Core { core: kind.name() });
    }
    let elf = ElfImage::parse(image, file).map_err(SessionError::Load)?;
    let symbol = elf
        .symbols
        .by_name("results")
        .ok_or(ConstantsError::NoSymbol {
            file: file.to_owned(),
            symbol: "results",
        })?;
    let results = symbol.address;
    let boot = Boot::program(&config, &elf).map_err(SessionError::Load)?;
    let mut session = Session::new(config, &boot, Console::memory())?;
    let stop = session.run(Limits {
        cycles: 10_000_000,
        ..Limits::NONE
    });
    if stop != (Stop::PowerOff { status: 0 }) {
        return Err(ConstantsError::Stopped {
            file: file.to_owned(),
            stop: session.explain(&stop),
        });
    }
    let mut cycles = [0; RESULTS];
    for (n, value) in (0..).zip(&mut cycles) {
        let word = session
            .machine()
            .processor()
            .memory
            .uncore
            .ram
            .read_u32(results + 4 * n);
        *value = u64::from(word.unwrap_or_default());
    }
    Ok(if kind.hash_walk() {
        hardware(&cycles, &session)
    } else {
        software(&cycles)
    })
}

fn software(cycles: &[u64; RESULTS]) -> Vec<Figure> {
    let load = cycles[MISS_LOAD] - cycles[HIT_LOAD];
    // The handler of the store executes the isync and the reload twice.
    let reload = (cycles[MISS_STORE] - cycles[HIT_STORE]).saturating_sub(load);
    vec![
        Figure {
            name: "TLB-miss handler: invoke and return, reload excluded",
            section: "5",
            published: Some("32"),
            measured: load.saturating_sub(reload),
            unit: "cycles",
            nature: Nature::Input,
            note: "exception.tlb-miss-entry + exception.leave + 1 were set to 32",
        },
        Figure {
            name: "isync, mfspr DMISS and tlbld in that handler",
            section: "",
            published: None,
            measured: reload,
            unit: "cycles",
            nature: Nature::Result,
            note: "",
        },
    ]
}

fn hardware(cycles: &[u64; RESULTS], session: &Session) -> Vec<Figure> {
    let cached = cycles[SEARCH_CACHED] - cycles[HIT_LOAD];
    let memory = cycles[SEARCH_MEMORY] - cycles[HIT_LOAD];
    // The access that ends a region is counted in it.
    let count = |region: u32, name: &str| {
        let of = |number: u32| {
            let region = session.machine().processor().observers.regions.get(number);
            region
                .and_then(|region| region.counters.get(name))
                .unwrap_or_default()
        };
        of(region).saturating_sub(of(EMPTY))
    };
    let searched = session
        .machine()
        .processor()
        .observers
        .regions
        .get(SEARCH_MEMORY as u32)
        .map_or(0, |region| {
            region.counters.get("hash.access").unwrap_or_default() / region.passes
        });
    let mut figures = vec![
        Figure {
            name: "hash-table search, last of 16 PTEs, table in memory",
            section: "5",
            published: Some("120"),
            measured: memory,
            unit: "cycles",
            nature: Nature::Result,
            note: "walk.*, bus.*, cache.data.forward",
        },
        Figure {
            name: "the same, table in the D-cache",
            section: "",
            published: None,
            measured: cached,
            unit: "cycles",
            nature: Nature::Result,
            note: "walk.*",
        },
        Figure {
            name: "of the search in memory, waiting for its lines",
            section: "",
            published: None,
            measured: memory.saturating_sub(cached),
            unit: "cycles",
            nature: Nature::Result,
            note: "bus.*, cache.data.forward",
        },
        Figure {
            name: "memory accesses of that search",
            section: "5",
            published: Some("16"),
            measured: searched,
            unit: "accesses",
            nature: Nature::Structure,
            note: "",
        },
        Figure {
            name: "further cycles to invoke the handler when no PTE matches",
            section: "5",
            published: Some(">= 91"),
            measured: cycles[NO_PTE].saturating_sub(cached + cycles[NOTHING]),
            unit: "cycles",
            nature: Nature::Input,
            note: "exception.tlb-miss-entry, on the 604s set to 91",
        },
        Figure {
            name: "accesses to look for one PTE to flush",
            section: "7",
            published: Some("16"),
            measured: count(FLUSH, "cache.data.access"),
            unit: "accesses",
            nature: Nature::Structure,
            note: "",
        },
        Figure {
            name: "accesses to bring in one PTE (search, tree, insert)",
            section: "8",
            published: Some("34"),
            measured: count(RELOAD, "cache.data.access"),
            unit: "accesses",
            nature: Nature::Structure,
            note: "",
        },
        Figure {
            name: "cache lines that this fills",
            section: "8",
            published: Some("18"),
            measured: count(RELOAD, "cache.data.miss"),
            unit: "lines",
            nature: Nature::Structure,
            note: "two PTEGs of 64 bytes are 4 lines of 32 bytes, the tree 2; the paper counts a line for each of 16 PTEs",
        },
    ];
    // A back-side L2 is off until a kernel sets L2CR.
    let l2 = &session.machine().config().cache.l2;
    if l2.as_ref().is_some_and(|l2| l2.place != L2Place::BackSide) {
        figures.push(Figure {
            name: "hash-table search, last of 16 PTEs, table in the L2",
            section: "5",
            published: Some("120"),
            measured: cycles[SEARCH_L2] - cycles[HIT_LOAD],
            unit: "cycles",
            nature: Nature::Result,
            note: "walk.*, bus.*, cache.l2.*, cache.data.forward",
        });
    }
    figures
}

/// The figures of one machine as lines of a table.
#[must_use]
pub fn table(machine: &str, figures: &[Figure]) -> String {
    let mut text = format!(
        "{machine}\n  {:<66} {:>9} {:>8}  {:<8}  nature\n",
        "figure (section of the paper)", "published", "measured", ""
    );
    for figure in figures {
        let name = if figure.section.is_empty() {
            figure.name.to_owned()
        } else {
            format!("{} ({})", figure.name, figure.section)
        };
        let line = format!(
            "  {name:<66} {:>9} {:>8}  {:<8}  {:<9}  {}",
            figure.published.unwrap_or("-"),
            figure.measured,
            figure.unit,
            figure.nature,
            figure.note
        );
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// Explains the words in the table's last column.
pub const LEGEND: &str = "\
result: follows from caches, bus and search, whose figures come from elsewhere
input: the machine file's exception costs were set from the published figure; it cannot fail to come out
structure: follows from the layout of the hash table
";
