//! Checks the pipeline, its latencies, branches and exceptions.

use crate::config::TARGETS_MOST;

use super::Checker;
use crate::config::{Cost, Family, MachineConfig, Part};

pub(super) fn check(checker: &mut Checker, config: &MachineConfig) {
    let pipeline = &config.pipeline;
    checker.range("pipeline.fetch", pipeline.fetch.into(), 1, 16);
    checker.range("pipeline.dispatch", pipeline.dispatch.into(), 1, 16);
    checker.range("pipeline.complete", pipeline.complete.into(), 1, 16);
    checker.range(
        "pipeline.completion-queue",
        pipeline.completion_queue.into(),
        1,
        256,
    );
    for (path, cost) in config.latency.all() {
        latency(checker, path, cost);
    }
    checker.range(
        "latency.multiple-word",
        config.latency.multiple_word.into(),
        0,
        1000,
    );
    let kind = config.core.kind;
    for (path, part, cost) in config.latency.of_parts() {
        let (there, name) = match part {
            Part::Float => (kind.core().has_float(), "floating-point unit"),
            Part::Segments => (kind.core().has_float(), "segment registers"),
            Part::Wide => (kind.core().is_970(), "64-bit instructions"),
            Part::TlbLoad if kind.core().family == Family::Ppc405 => {
                (true, "tlbre, tlbsx and tlbwe")
            }
            Part::TlbLoad => (kind.software_reload(), "tlbld and tlbli"),
        };
        match cost {
            Some(cost) if there => latency(checker, path, cost),
            None if there => checker.fail(
                path,
                format!(
                    "is missing: core.kind \"{}\" has {name}; add latency and interval",
                    kind.name()
                ),
            ),
            Some(_) => checker.fail(
                path,
                format!(
                    "does not go with core.kind \"{}\", which has no {name}: remove it",
                    kind.name()
                ),
            ),
            None => {}
        }
    }
    let branch = &config.branch;
    if branch.history_entries != 0 {
        checker.power_of_two("branch.history-entries", branch.history_entries, 2, 65536);
    }
    if branch.target_entries != 0 {
        checker.power_of_two(
            "branch.target-entries",
            branch.target_entries,
            2,
            TARGETS_MOST,
        );
    }
    checker.range("branch.taken", branch.taken.into(), 0, 100);
    checker.range(
        "branch.taken-target-miss",
        branch.taken_target_miss.into(),
        0,
        100,
    );
    checker.range("branch.mispredict", branch.mispredict.into(), 0, 100);
    let exception = &config.exception;
    checker.range("exception.entry", exception.entry.into(), 0, 1000);
    checker.range(
        "exception.tlb-miss-entry",
        exception.tlb_miss_entry.into(),
        0,
        1000,
    );
    checker.range("exception.leave", exception.leave.into(), 0, 1000);
}

fn latency(checker: &mut Checker, path: &'static str, cost: Cost) {
    if cost.latency > 1000 || cost.interval > 1000 {
        checker.fail(
            path,
            "is out of range: latency and interval are 0 to 1000 core cycles",
        );
    }
}
