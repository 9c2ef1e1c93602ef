//! The costs of each class of instruction on a core: unit, latency, initiation interval.

use super::micro_op::MicroOp;
use super::run::{Pending, Run, Timing};
use crate::config::{Cost, PipelineConfig};

/// The cost of a class. Each lane of a unit starts one such instruction every initiation interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassTiming {
    /// The unit's number, below [`super::micro_op::UNITS`].
    pub unit: u8,
    /// How many lanes of the unit take this class, counted from the first; at most [`super::micro_op::LANES`].
    pub lanes: u8,
    pub cost: Cost,
}

/// The timing description of a core.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// Instructions fetched, dispatched and completed in a cycle, and in flight between the last two.
    pub(super) fetch: u32,
    pub(super) dispatch: u32,
    pub(super) complete: usize,
    pub(super) queue: usize,
    pub(super) fold_branches: bool,
    /// By [`MicroOp::class`].
    classes: Vec<ClassTiming>,
    /// The unit that has several lanes, all alike, if the core has one: then any free lane will do.
    pub(super) interchangeable: Option<u8>,
    element: u32,
}

impl Schedule {
    /// The core that `pipeline` describes, with a row for each class. `element`: cycles for each word of a load or
    /// store multiple or string.
    #[must_use]
    pub fn with_classes(
        pipeline: &PipelineConfig,
        classes: Vec<ClassTiming>,
        interchangeable: Option<u8>,
        element: u32,
    ) -> Self {
        Schedule {
            fetch: pipeline.fetch,
            dispatch: pipeline.dispatch,
            complete: pipeline.complete as usize,
            queue: pipeline.completion_queue as usize,
            fold_branches: pipeline.fold_branches,
            classes,
            interchangeable,
            element,
        }
    }

    /// Cycles for each word of a load or store multiple or string.
    #[must_use]
    pub fn element(&self) -> u64 {
        self.element.into()
    }

    /// The cost of instructions of `class`.
    pub(super) fn class(&self, class: u8) -> &ClassTiming {
        &self.classes[usize::from(class)]
    }

    /// The time of `block`, if the pipeline is in the state `before`.
    pub fn time(&self, before: &Pending, block: impl IntoIterator<Item = MicroOp>) -> Timing {
        let mut run = Run::new(before);
        for instruction in block {
            run.issue(self, &instruction);
        }
        run.end(self)
    }
}
