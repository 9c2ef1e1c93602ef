//! Random sequences against a model that keeps sets and counts tick by tick.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

/// What the manual says, in sets: slow and plain.
#[derive(Clone)]
struct Model {
    processors: usize,
    mixed: bool,
    /// By source: masked, level, active high, priority, destinations.
    masked: Vec<bool>,
    level: Vec<bool>,
    active_high: Vec<bool>,
    priority: Vec<u32>,
    destinations: Vec<BTreeSet<usize>>,
    high: Vec<bool>,
    edges: BTreeSet<usize>,
    /// Source and processor.
    events: BTreeSet<(usize, usize)>,
    task: Vec<u32>,
    /// By processor: source by priority.
    service: Vec<BTreeMap<u32, usize>>,
    counters: [Counter; 4],
}

#[derive(Clone, Copy, Default)]
struct Counter {
    running: bool,
    toggle: bool,
    count: u32,
    base: u32,
}

const SOURCES: usize = INPUTS + 8;

impl Model {
    fn new(processors: usize) -> Self {
        Model {
            processors,
            mixed: false,
            masked: vec![true; SOURCES],
            level: vec![false; SOURCES],
            active_high: vec![false; SOURCES],
            priority: vec![0; SOURCES],
            destinations: vec![BTreeSet::new(); SOURCES],
            high: vec![false; INPUTS],
            edges: BTreeSet::new(),
            events: BTreeSet::new(),
            task: vec![15; processors],
            service: vec![BTreeMap::new(); processors],
            counters: [Counter::default(); 4],
        }
    }

    fn served_by(&self, source: usize) -> BTreeSet<usize> {
        let all = 0..self.processors;
        all.filter(|&p| self.service[p].values().any(|&s| s == source))
            .collect()
    }

    fn wants(&self, source: usize) -> bool {
        if source >= INPUTS {
            return self.events.iter().any(|&(s, _)| s == source);
        }
        if self.level[source] {
            self.high[source] == self.active_high[source]
        } else {
            self.edges.contains(&source)
        }
    }

    fn interrupts(&self, source: usize, processor: usize) -> bool {
        let asked = if source < INPUTS {
            let lowest = self.destinations[source]
                .iter()
                .map(|&p| self.task[p])
                .min();
            let chosen = self.destinations[source]
                .iter()
                .find(|&&p| Some(self.task[p]) == lowest);
            self.wants(source) && self.served_by(source).is_empty() && chosen == Some(&processor)
        } else {
            self.events.contains(&(source, processor))
                && !self.served_by(source).contains(&processor)
        };
        let served = self.service[processor].keys().max().copied().unwrap_or(0);
        asked
            && !self.masked[source]
            && self.priority[source] > self.task[processor]
            && self.priority[source] > served
    }

    fn best(&self, processor: usize) -> Option<usize> {
        let mut all: Vec<usize> = (0..SOURCES).collect();
        all.sort_by_key(|&source| std::cmp::Reverse(self.priority[source]));
        all.into_iter()
            .find(|&source| self.mixed && self.interrupts(source, processor))
    }

    fn outputs(&self) -> Vec<bool> {
        (0..self.processors)
            .map(|processor| {
                if self.mixed {
                    self.best(processor).is_some()
                } else {
                    processor == 0 && self.high[0]
                }
            })
            .collect()
    }

    fn tick(&mut self) {
        for (number, counter) in self.counters.iter_mut().enumerate() {
            if !counter.running || counter.count == 0 {
                continue;
            }
            counter.count -= 1;
            if counter.count == 0 {
                counter.toggle = !counter.toggle;
                counter.count = counter.base;
                let source = INPUTS + number;
                for &processor in &self.destinations[source] {
                    self.events.insert((source, processor));
                }
            }
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Mode(bool),
    Line(usize, bool),
    Control(usize, bool, bool, bool, u32),
    Destination(usize, u32),
    Task(usize, u32),
    Dispatch(usize, usize, u32),
    Acknowledge(usize),
    End(usize),
    Base(usize, bool, u32),
    Wait(u64),
    Snapshot,
}

fn step() -> impl Strategy<Value = Step> {
    // Few inputs and priorities, so that they meet.
    let some_source = prop_oneof![0..4_usize, INPUTS..SOURCES];
    prop_oneof![
        1 => any::<bool>().prop_map(Step::Mode),
        6 => (0..4_usize, any::<bool>()).prop_map(|(n, high)| Step::Line(n, high)),
        6 => (some_source.clone(), 0..4_u8, any::<bool>(), any::<bool>(), 0..5_u32)
            .prop_map(|(n, mask, level, high, priority)| Step::Control(n, mask == 0, level, high, priority)),
        3 => (some_source, 0..256_u32).prop_map(|(n, set)| Step::Destination(n, set)),
        4 => (0..8_usize, 0..4_u32).prop_map(|(p, task)| Step::Task(p, task)),
        5 => (0..8_usize, 0..4_usize, 0..256_u32).prop_map(|(p, n, set)| Step::Dispatch(p, n, set)),
        8 => (0..8_usize).prop_map(Step::Acknowledge),
        6 => (0..8_usize).prop_map(Step::End),
        2 => (0..4_usize, any::<bool>(), 0..9_u32).prop_map(|(n, stop, base)| Step::Base(n, stop, base)),
        4 => (1..20_u64).prop_map(Step::Wait),
        1 => Just(Step::Snapshot),
    ]
}

/// Offset of a source's vector/priority register.
fn control_of(number: usize) -> u32 {
    let n = number as u32;
    match number {
        0..INPUTS => source(n),
        16..20 => timer(n - 16) + 0x20,
        _ => ipi(n - 20),
    }
}

fn vector_of(number: usize) -> u32 {
    0x80 + number as u32
}

impl Bench {
    /// One step here and in the model; what it shows must be the same.
    fn follow(&mut self, model: &mut Model, step: &Step) {
        let count = model.processors;
        let set = |bits: u32| (0..count).filter(move |n| bits >> n & 1 != 0);
        match *step {
            Step::Mode(mixed) => {
                model.mixed = mixed;
                self.put(CONFIGURATION, if mixed { MIXED } else { 0 });
            }
            Step::Line(line, high) => {
                let edge = model.high[line] != high && high == model.active_high[line];
                if edge && !model.level[line] {
                    model.edges.insert(line);
                }
                model.high[line] = high;
                self.pic.set_input(line as u8, high);
            }
            Step::Control(number, masked, level, high, priority) => {
                model.masked[number] = masked;
                model.priority[number] = priority;
                let mut value = control(priority, vector_of(number));
                value |= if masked { MASK } else { 0 };
                if number < INPUTS {
                    model.level[number] = level;
                    model.active_high[number] = high;
                    if level {
                        model.edges.remove(&number);
                    }
                    value |= if level { LOW_LEVEL } else { 0 };
                    value |= if high { RISING } else { 0 };
                }
                self.put(control_of(number), value);
            }
            Step::Destination(number, bits) => {
                let offset = match number {
                    0..20 => control_of(number) + 0x10,
                    _ => return,
                };
                model.destinations[number] = set(bits).collect();
                self.put(offset, bits);
            }
            Step::Task(processor, task) if processor < count => {
                model.task[processor] = task;
                self.put(local(processor as u8, 0x80), task);
            }
            Step::Dispatch(processor, channel, bits) if processor < count => {
                let source = INPUTS + 4 + channel;
                model.events.extend(set(bits).map(|to| (source, to)));
                self.processor = processor as u8;
                self.put(0x40 + 0x10 * channel as u32, bits);
            }
            Step::Acknowledge(processor) if processor < count => {
                let best = model.best(processor);
                if let Some(source) = best {
                    model.edges.remove(&source);
                    model.events.remove(&(source, processor));
                    model.service[processor].insert(model.priority[source], source);
                }
                let expected = best.map_or(0xff, vector_of);
                assert_eq!(self.acknowledge(processor as u8), expected);
            }
            Step::End(processor) if processor < count => {
                model.service[processor].pop_last();
                self.end(processor as u8);
            }
            Step::Base(number, stop, base) => {
                let counter = &mut model.counters[number];
                if !counter.running && !stop {
                    counter.toggle = false;
                    counter.count = base;
                }
                counter.running = !stop;
                counter.base = base;
                let inhibit = if stop { MASK } else { 0 };
                self.put(timer(number as u32) + 0x10, inhibit | base);
            }
            Step::Wait(ticks) => {
                for _ in 0..ticks {
                    let (before, due) =
                        (self.outputs(), self.pic.deadline(self.cycle, &self.console));
                    model.tick();
                    self.wait(1);
                    let on_time = due.is_some_and(|due| due == self.cycle);
                    assert!(before == self.outputs() || on_time, "without a deadline");
                }
            }
            Step::Snapshot => {
                let saved = self.pic.save();
                self.pic = OpenPic::new(shape(count as u8));
                assert!(self.pic.restore(&saved));
            }
            Step::Task(..) | Step::Dispatch(..) | Step::Acknowledge(_) | Step::End(_) => {}
        }
    }

    fn compare(&mut self, model: &Model) {
        assert_eq!(self.outputs(), model.outputs());
        for number in 0..SOURCES {
            let active = self.get(control_of(number)) & ACTIVITY != 0;
            let expected = model.wants(number) || !model.served_by(number).is_empty();
            assert_eq!(active, expected, "activity of source {number}");
        }
        for (number, counter) in model.counters.iter().enumerate() {
            let expected = u32::from(counter.toggle) << 31 | counter.count;
            assert_eq!(self.get(timer(number as u32)), expected, "timer {number}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_sequences_do_what_the_model_does(
        processors in 1..9_u8,
        steps in prop::collection::vec(step(), 1..200),
    ) {
        let mut bench = Bench::ready(processors);
        let mut model = Model::new(processors.into());
        model.mixed = true;
        model.task.fill(0);
        for step in &steps {
            bench.follow(&mut model, step);
            bench.compare(&model);
        }
    }
}
