//! Memory controllers: what each of them can do, as far as it bears on time. The clocks that they take are keys of the
//! machine file.

use super::Checker;
use super::parts::{Around, Parts, PartsKind};
use serde::{Deserialize, Serialize};

/// A memory controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Controller {
    /// Motorola MPC105, bridge and memory controller.
    Mpc105,
    /// Motorola MPC106, bridge and memory controller.
    Mpc106,
    /// IBM 27-82650 and 27-82660, bridge and memory controller.
    #[serde(rename = "82660")]
    Ibm82660,
    /// Apple's memory controller of the Power Macintosh 7500 to 9600.
    Hammerhead,
    /// Motorola's pair of memory controllers with ECC.
    Falcon,
    /// Intel 440FX.
    #[serde(rename = "440fx")]
    Intel440fx,
    /// Intel 82450KX and 82450GX.
    #[serde(rename = "450kx")]
    Intel450kx,
    /// The chip set of a board with an i486.
    I486,
}

/// Which bus a core has, and so which controllers it can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BusKind {
    /// The bus of the 603, 604 and 750.
    Sixty,
    I486,
    P6,
    /// Another one, with the controller on the processor's chip or unknown.
    Other,
}

impl BusKind {
    fn name(self) -> &'static str {
        match self {
            BusKind::Sixty => "the 60x bus",
            BusKind::I486 => "the i486's bus",
            BusKind::P6 => "the P6's bus",
            BusKind::Other => "another bus",
        }
    }
}

/// What a controller can do.
struct Facts {
    name: &'static str,
    bus: BusKind,
    kinds: &'static [PartsKind],
    /// Transactions on the bus at a time, at most.
    depth: u32,
    /// Processors that a look-aside L2 beside it can serve; 0: it has none.
    look_aside: u8,
    /// It may strobe the parts while the data bus is busy.
    overlap: bool,
    /// Writes that it can take before the parts do.
    write_buffer: u32,
    /// Lines of its copy-back buffer for a look-aside L2.
    copy_back: u32,
    processors: u8,
}

/// What several controllers have, and no limit where no source tells of one.
const USUAL: Facts = Facts {
    name: "",
    bus: Sixty,
    kinds: &[Fpm],
    depth: 2,
    look_aside: u8::MAX,
    overlap: true,
    write_buffer: 0,
    copy_back: u32::MAX,
    processors: u8::MAX,
};

use BusKind::{P6, Sixty};
use PartsKind::{Edo, Fpm, Sdram};

impl Controller {
    fn facts(self) -> Facts {
        match self {
            // MPC105 User's Manual 4-19: the data bus is the memory's too, and is not granted while the memory has it.
            // Page mode DRAM or, recalled, EDO; the depth, the L2 with the copy-back buffer of the MPC106, and the
            // missing write buffer are recalled; so is that the L2's signals have the pins by which further processors
            // ask for the bus.
            Controller::Mpc105 => Facts {
                name: "mpc105",
                kinds: &[Fpm, Edo],
                look_aside: 1,
                overlap: false,
                copy_back: 1,
                ..USUAL
            },
            // MPC106 User's Manual 4-18: one level of pipelining; 5-43: HIT is sampled before memory is started; 8-3: a
            // copy-back buffer of a line; writes of the processor go through a buffer with ECC only. 6-26, 6-43: DRAM,
            // EDO, SDRAM. The pins of the L2 are recalled, as the MPC105's.
            Controller::Mpc106 => Facts {
                name: "mpc106",
                kinds: &[Fpm, Edo, Sdram],
                look_aside: 1,
                overlap: false,
                write_buffer: 1,
                copy_back: 1,
                ..USUAL
            },
            // IBM 604 SMP Reference Design: page mode parity DRAM of 70 ns, EDO timings as a possibility; section CPU
            // Bus: one level of address pipelining, one level of posted writes. The rest is recalled.
            Controller::Ibm82660 => Facts {
                name: "82660",
                kinds: &[Fpm, Edo],
                write_buffer: 1,
                ..USUAL
            },
            // A text that quotes Apple's developer notes of the 7500, 8500 and 9500: FPM of 70 ns, interleaved, read
            // into a buffer; the L2 is on the processor's bus. The depth and the write buffer are recalled.
            Controller::Hammerhead => Facts {
                name: "hammerhead",
                write_buffer: 4,
                ..USUAL
            },
            // MVME3600 manual p.3-12: an address is acknowledged at once or with the last beat before it. MTX manual
            // p.3-6: the next access begins earlier if its address is there already.
            Controller::Falcon => Facts {
                name: "falcon",
                kinds: &[Fpm, Edo],
                write_buffer: 1,
                ..USUAL
            },
            // Memory kinds: documented; the in-order queue, the write buffer and the two processors are recalled.
            Controller::Intel440fx => Facts {
                name: "440fx",
                bus: P6,
                kinds: &[Fpm, Edo],
                depth: 8,
                look_aside: 0,
                write_buffer: 8,
                processors: 2,
                ..USUAL
            },
            // 82450KX/GX data sheet, p.128: memory of one, two or four words; p.6: an in-order queue of 1 or 8, of
            // which the memory controller takes 4; FPM only. The write buffer is recalled.
            Controller::Intel450kx => Facts {
                name: "450kx",
                bus: P6,
                depth: 8,
                look_aside: 0,
                write_buffer: 8,
                ..USUAL
            },
            // The i486's bus has one transaction at a time. The write buffer is recalled.
            Controller::I486 => Facts {
                name: "i486",
                bus: BusKind::I486,
                depth: 1,
                overlap: false,
                write_buffer: 4,
                ..USUAL
            },
        }
    }

    /// The name in machine files.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// Refuses what this controller cannot do.
    pub(super) fn check(self, checker: &mut Checker, parts: &Parts, around: &Around) {
        let facts = self.facts();
        let name = facts.name;
        if facts.bus != around.bus {
            let (own, other) = (facts.bus.name(), around.bus.name());
            let message = format!("is \"{name}\", which is for {own}: the core has {other}");
            checker.fail("memory.controller", message);
        }
        let named = format!("memory.controller \"{name}\"");
        if !facts.kinds.contains(&parts.kind) {
            let kinds: Vec<_> = facts.kinds.iter().map(|kind| kind.name()).collect();
            let (kind, kinds) = (parts.kind.name(), kinds.join(" or "));
            checker.fail("memory.kind", format!("is \"{kind}\": {named} has {kinds}"));
        }
        let (copy_back, lines) = around.copy_back.unwrap_or(("", 0));
        for (path, value, most, verb) in [
            ("bus.depth", around.depth, facts.depth, "allows"),
            (
                "memory.write-buffer",
                parts.write_buffer,
                facts.write_buffer,
                "has",
            ),
            (copy_back, lines, facts.copy_back, "has"),
            (
                "processors",
                around.processors.into(),
                facts.processors.into(),
                "goes with",
            ),
        ] {
            if value > most {
                let message = format!("is {value}: {named} {verb} {most} at most");
                checker.fail(path, message);
            }
        }
        if let Some(place) = around.look_aside
            && around.processors > facts.look_aside
        {
            let message = match facts.look_aside {
                0 => format!("is \"look-aside\": {named} has no cache beside it on the bus"),
                most => format!(
                    "is \"look-aside\", and processors is {}: {named} runs such a cache for {most} at most",
                    around.processors
                ),
            };
            checker.fail(place, message);
        }
        if parts.overlap && !facts.overlap {
            let message = format!(
                "is true: the data bus of {named} is the memory's too, so that allowed is false"
            );
            checker.fail("memory.overlap", message);
        }
    }
}
