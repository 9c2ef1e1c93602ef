//! What a session says to a person or a file when a run has stopped.

use serde_json::{Value, json};

use super::Session;
use crate::computer::{Guest, Stop, StopOf};

impl<C: Guest> Session<C> {
    /// Counters, regions and the reason for the stop as one JSON object.
    #[must_use]
    pub fn report(&self, stop: &StopOf<C>) -> Value {
        let object = |counters: Vec<(String, u64)>| {
            Value::Object(
                counters
                    .into_iter()
                    .map(|(name, value)| (name, json!(value)))
                    .collect(),
            )
        };
        let regions: Vec<Value> = self
            .regions()
            .map(|(number, region)| {
                json!({
                    "number": number,
                    "passes": region.passes,
                    "counters": object(self.named(&region.counters)),
                })
            })
            .collect();
        let (kind, status) = stop.kind();
        let mut report = json!({
            "clock_hz": self.machine.shape().clock,
            "stop": {"kind": kind, "status": status, "message": self.explain(stop)},
            "counters": object(self.counters()),
            "regions": regions,
        });
        if self.machine.processors().len() > 1 {
            let each = self.counters_of_each().into_iter().map(object);
            report["processors"] = each.collect();
        }
        report
    }

    /// Requests of the guest that were refused, and output that was dropped, to keep memory use within its limit; and
    /// that hot code was not compiled, if the host forbids it.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = self.observers().warnings();
        let dropped = self.machine.uncore().board.console().dropped();
        if dropped != 0 {
            warnings.push(format!(
                "{dropped} bytes of the console's output were dropped"
            ));
        }
        warnings.extend(self.machine.compiler_refused().map(str::to_owned));
        warnings
    }

    /// Why the machine stopped, as text for a person, with the warnings. A fatal stop comes with the program counter,
    /// its symbol and the registers.
    #[must_use]
    pub fn explain(&self, stop: &StopOf<C>) -> String {
        let mut text = self.explain_stop(stop);
        if matches!(stop, Stop::Limit | Stop::Fatal(_)) {
            for number in self.in_reset() {
                text += &format!("\nprocessor {number} was never started");
            }
        }
        if matches!(stop, Stop::Limit | Stop::Fatal(_) | Stop::PowerOff { .. })
            && self.printed().is_empty()
        {
            text += &self.machine.processor().unheard(&self.observers().symbols);
        }
        for warning in self.warnings() {
            text += "\nwarning: ";
            text += &warning;
        }
        text
    }

    fn explain_stop(&self, stop: &StopOf<C>) -> String {
        let now = self.machine.instant();
        let processor = self.machine.processor();
        let here = self.place(processor.next_instruction());
        match stop {
            Stop::PowerOff { status } => format!("power-off {status}"),
            Stop::Limit => format!(
                "limit: reached after {} cycles and {} instructions at {here}",
                now.cycles, now.instructions
            ),
            Stop::Batch => "the listener's batch is full".to_owned(),
            Stop::Breakpoint { address } => format!("breakpoint at {}", self.place(*address)),
            Stop::Watchpoint { address, write } => format!(
                "watchpoint: {} of {address:#010x} before {here}",
                if *write { "write" } else { "read" },
            ),
            Stop::Exception(exception) => {
                format!("{} exception at {here}", C::exception_name(exception))
            }
            Stop::Fatal(fatal) => {
                let why = processor.explain(fatal, &|address| self.place(address));
                format!("fatal: {why}\n{}", self.registers())
            }
        }
    }

    /// Observers know the low 32 bits of an address.
    fn place(&self, address: u64) -> String {
        let user = self.machine.processor().is_user();
        let symbol = self.observers().symbols.describe(address as u32, user);
        format!("{address:#010x} <{symbol}>")
    }

    /// The processors that the board keeps in reset.
    fn in_reset(&self) -> impl Iterator<Item = usize> {
        let all = 0..self.machine.processors().len();
        all.filter(|&number| self.machine.is_in_reset(number))
    }

    /// The registers as text: with several processors those of each that has been started, first of the one that
    /// stopped.
    #[must_use]
    pub fn registers(&self) -> String {
        let symbols = &self.observers().symbols;
        let (stopped, all) = (self.machine.processor(), self.machine.processors());
        if all.len() == 1 {
            return stopped.registers(symbols);
        }
        let number = |processor: &C| usize::from(processor.instant().processor);
        let others = (all.iter()).filter(|other| {
            number(other) != number(stopped) && !self.machine.is_in_reset(number(other))
        });
        let shown = std::iter::once(stopped).chain(others);
        shown
            .map(|processor| {
                format!(
                    "processor {}, cycle {}:\n{}",
                    number(processor),
                    processor.instant().cycles,
                    processor.registers(symbols)
                )
            })
            .collect()
    }
}
