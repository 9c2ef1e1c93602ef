//! Checks sizes and combinations in a machine file: only what hardware could have is allowed.

mod bus;
mod caches;
mod core;
mod families;
mod levels;
mod pipeline;
mod tables;
mod tlbs;

use std::fmt;

use super::MachineConfig;
use super::shape::{self, Misfit};

pub(crate) use self::core::{dead_processor, walker};
pub(crate) use bus::{AroundBus, shared as bus};
pub(crate) use caches::{CODE, DATA, lines, plain as plain_cache};
pub(crate) use levels::{Before, check as levels};
pub(super) use tables::refusal;
pub(crate) use tlbs::{replacement, second_tlb};

/// The largest RAM, in bytes.
pub(crate) const MEMORY_MOST: u32 = 1 << 30;

/// A value that is out of range or does not fit another.
pub(crate) struct Problem {
    /// Dotted path of the key.
    pub path: &'static str,
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "`{}` {}", self.path, self.message)
    }
}

#[derive(Default)]
pub(crate) struct Checker {
    pub problems: Vec<Problem>,
}

impl Checker {
    /// RAM has `least` bytes or more, and a multiple of `step`, which people call by that name.
    pub fn memory_size(&mut self, size: u32, least: u64, (step, name): (u32, &str)) {
        self.range("memory.size", size.into(), least, MEMORY_MOST.into());
        if !size.is_multiple_of(step) {
            let message = format!("is {size}: allowed are multiples of {name}");
            self.fail("memory.size", message);
        }
    }

    pub fn fail(&mut self, path: &'static str, message: impl Into<String>) {
        self.problems.push(Problem {
            path,
            message: message.into(),
        });
    }

    pub fn power_of_two(&mut self, path: &'static str, value: u32, low: u32, high: u32) {
        if let Err(misfit) = shape::power_of_two(path, value, &(low..=high)) {
            self.fail(path, misfit.message);
        }
    }

    /// Core clocks in a bus clock, `bus.core-to-bus`.
    pub fn core_to_bus(&mut self, ratio: f64) {
        if !(1.0..=20.0).contains(&ratio) || (ratio * 2.0).fract() != 0.0 {
            self.fail(
                "bus.core-to-bus",
                format!("is {ratio}: allowed are multiples of 0.5 from 1 to 20"),
            );
        }
    }

    /// A cache or TLB whose keys are `paths`.
    pub fn shape(&mut self, paths: &[&'static str], rule: Result<(), Misfit>) {
        if let Err(misfit) = rule {
            let path = paths.iter().find(|path| path.ends_with(misfit.key));
            self.fail(path.unwrap_or(&paths[0]), misfit.message);
        }
    }

    pub fn range(&mut self, path: &'static str, value: u64, low: u64, high: u64) -> bool {
        let good = (low..=high).contains(&value);
        if !good {
            self.fail(path, format!("is {value}: allowed are {low} to {high}"));
        }
        good
    }
}

pub(super) fn problems(config: &MachineConfig) -> Vec<Problem> {
    let mut checker = Checker::default();
    core::check(&mut checker, config);
    tlbs::check(&mut checker, config);
    caches::check(&mut checker, config);
    bus::check(&mut checker, config);
    pipeline::check(&mut checker, config);
    version(&mut checker, config);
    checker.problems
}

fn version(checker: &mut Checker, config: &MachineConfig) {
    let kind = config.core.kind;
    if !kind.versions().contains(&((config.core.pvr >> 16) as u16)) {
        checker.fail(
            "core.pvr",
            format!(
                "is {:#010x}: its upper half is none of core.kind \"{}\"",
                config.core.pvr,
                kind.name()
            ),
        );
    }
}
