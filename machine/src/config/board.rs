//! The section `[board]` of a PowerPC machine.

use super::Family;
use serde::{Deserialize, Serialize};

/// Which board: chooses devices, address map and device tree. Any board goes with any core that its kernels run on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BoardKind {
    /// ISA bus with a UART and a pair of 8259s.
    #[default]
    Prep,
    /// MPC8313E, as Linux for `MPC8313ERDB` knows it.
    Mpc83xx,
    /// MPC8641, as Linux for `MPC8641HPCN` knows it, for several processors.
    Mpc86xx,
    /// MPC875 with a 16550 UART, as Linux for `adder875` knows it.
    Mpc8xx,
    /// MPC855T or MPC860T, as Linux 2.4 and 2.6 (arch/ppc) for `FADS` know it.
    Fads,
    /// PPC405GP, as Linux for boards with a 405 knows it.
    #[serde(rename = "ppc405gp")]
    Ppc405gp,
}

impl BoardKind {
    pub(crate) const ALL: [BoardKind; 6] = [
        BoardKind::Prep,
        BoardKind::Mpc83xx,
        BoardKind::Mpc86xx,
        BoardKind::Mpc8xx,
        BoardKind::Fads,
        BoardKind::Ppc405gp,
    ];

    /// The name in machine files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            BoardKind::Prep => "prep",
            BoardKind::Mpc83xx => "mpc83xx",
            BoardKind::Mpc86xx => "mpc86xx",
            BoardKind::Mpc8xx => "mpc8xx",
            BoardKind::Fads => "fads",
            BoardKind::Ppc405gp => "ppc405gp",
        }
    }

    /// The cores that the board's kernels are for; board `prep` is for others too.
    pub(crate) fn family(self) -> Family {
        match self {
            BoardKind::Mpc8xx | BoardKind::Fads => Family::Mpc8xx,
            BoardKind::Ppc405gp => Family::Ppc405,
            BoardKind::Prep | BoardKind::Mpc83xx | BoardKind::Mpc86xx => Family::Classic,
        }
    }

    /// The board's real chip has a core with DABR (an MPC83xx an e300, an MPC86xx an e600), so the register is there
    /// whichever core is configured. Linux without PERF_EVENTS writes it at every exec.
    pub(crate) fn has_dabr(self) -> bool {
        matches!(self, BoardKind::Mpc83xx | BoardKind::Mpc86xx)
    }

    /// What SVR reads, on a board whose chip has it: an MPC8641 of revision 2 (recalled). No kernel is known to depend
    /// on it.
    pub(crate) fn system_version(self) -> Option<u32> {
        match self {
            BoardKind::Mpc86xx => Some(0x8090_0020),
            BoardKind::Prep
            | BoardKind::Mpc83xx
            | BoardKind::Mpc8xx
            | BoardKind::Fads
            | BoardKind::Ppc405gp => None,
        }
    }
}

/// What drives the processors' external interrupt inputs on board `prep`. The other boards have a controller of their
/// own and take no notice of this key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InterruptController {
    /// The pair of 8259s.
    #[default]
    I8259,
    /// An OpenPIC, with the pair of 8259s behind one of its inputs.
    Openpic,
}

/// What happens at an access to the ISA and PCI buses of board `prep` that no device answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EmptyBus {
    /// It raises a machine check, which shows errors of a kernel.
    #[default]
    MachineCheck,
    /// A read gives ones, and a write does nothing, as on the bus: kernels that look for devices need that.
    Ones,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct BoardConfig {
    #[serde(default)]
    pub kind: BoardKind,
    #[serde(default)]
    pub interrupt_controller: InterruptController,
    #[serde(default)]
    pub empty_bus: EmptyBus,
    /// Input clock of the UART in Hz: 16 clocks make a bit at divisor 1.
    pub uart_clock: u32,
    /// The control device is fitted.
    pub control: bool,
    /// A processor that does not start: it stays in reset, as if it were broken.
    #[serde(default)]
    pub dead_processor: Option<u8>,
}

impl BoardConfig {
    /// The board is for kernels of other people, which do not know the control device.
    pub(crate) fn is_foreign(&self) -> bool {
        self.kind != BoardKind::Prep || self.empty_bus == EmptyBus::Ones
    }

    /// The board starts several processors and lets them interrupt each other.
    pub(crate) fn joins_processors(&self) -> bool {
        match self.kind {
            BoardKind::Prep => self.interrupt_controller == InterruptController::Openpic,
            BoardKind::Mpc86xx => true,
            BoardKind::Mpc83xx | BoardKind::Mpc8xx | BoardKind::Fads | BoardKind::Ppc405gp => false,
        }
    }
}
