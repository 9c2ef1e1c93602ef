//! The OpenPIC's registers one by one; `model` has random sequences.

mod model;

use super::{Model, OpenPic, Shape};
use crate::board::{At, Console, Device, Instant};

const TICK: u64 = 12;
const INPUTS: usize = 16;

const CONFIGURATION: u32 = 0x1020;
const PROCESSOR_INIT: u32 = 0x1090;
const SPURIOUS: u32 = 0x10e0;
const MIXED: u32 = 0x2000_0000;
const MASK: u32 = 0x8000_0000;
const ACTIVITY: u32 = 0x4000_0000;
const HIGH_LEVEL: u32 = 0x00c0_0000;
const RISING: u32 = 0x0080_0000;
const LOW_LEVEL: u32 = 0x0040_0000;

fn shape(processors: u8) -> Shape {
    Shape {
        model: Model::Raven,
        processors,
        inputs: INPUTS,
        tick: TICK,
    }
}

fn at(offset: u32, processor: u8, cycles: u64) -> At {
    At {
        window: 0,
        offset,
        size: 4,
        now: Instant {
            processor,
            cycles,
            instructions: 0,
        },
    }
}

/// A controller and who accesses it when.
struct Bench {
    pic: OpenPic,
    console: Console,
    processor: u8,
    cycle: u64,
}

impl Bench {
    fn new(processors: u8) -> Self {
        Bench {
            pic: OpenPic::new(shape(processors)),
            console: Console::memory(),
            processor: 0,
            cycle: 0,
        }
    }

    /// In mixed mode, with task priority 0 on all processors.
    fn ready(processors: u8) -> Self {
        let mut bench = Bench::new(processors);
        bench.put(CONFIGURATION, MIXED);
        for processor in 0..processors {
            bench.put(local(processor, 0x80), 0);
        }
        bench
    }

    fn try_get(&mut self, offset: u32) -> Option<u32> {
        let at = at(offset, self.processor, self.cycle);
        let value = self.pic.read(at, &mut self.console).ok()?;
        Some((value as u32).swap_bytes())
    }

    fn get(&mut self, offset: u32) -> u32 {
        self.try_get(offset).unwrap()
    }

    fn try_put(&mut self, offset: u32, value: u32) -> bool {
        let at = at(offset, self.processor, self.cycle);
        let value = value.swap_bytes().into();
        match self.pic.write(at, value, &mut self.console) {
            Ok(effect) => {
                assert_eq!(effect, None);
                true
            }
            Err(_) => false,
        }
    }

    fn put(&mut self, offset: u32, value: u32) {
        assert!(self.try_put(offset, value), "{offset:#x}");
    }

    fn wait(&mut self, ticks: u64) {
        self.cycle += ticks * TICK;
        self.pic.poll(self.cycle, &mut self.console);
    }

    fn outputs(&self) -> Vec<bool> {
        (0..self.pic.shape.processors)
            .map(|processor| self.pic.interrupts(processor))
            .collect()
    }

    fn acknowledge(&mut self, processor: u8) -> u32 {
        self.get(local(processor, 0xa0))
    }

    fn end(&mut self, processor: u8) {
        self.put(local(processor, 0xb0), 0);
    }
}

fn local(processor: u8, register: u32) -> u32 {
    0x2_0000 + 0x1000 * u32::from(processor) + register
}

fn source(number: u32) -> u32 {
    0x1_0000 + 0x20 * number
}

fn timer(number: u32) -> u32 {
    0x1100 + 0x40 * number
}

fn ipi(channel: u32) -> u32 {
    0x10a0 + 0x10 * channel
}

/// Vector/priority register: priority and vector.
fn control(priority: u32, vector: u32) -> u32 {
    priority << 16 | vector
}

#[test]
fn registers_after_a_reset_and_the_bits_that_they_keep() {
    // Offset, value after a reset, bits that keep what is written.
    let mut registers = vec![
        (0x1000, 0x000f_0103, 0),
        (CONFIGURATION, 0, MIXED),
        (0x1080, 0, 0),
        (PROCESSOR_INIT, 2, 2),
        (SPURIOUS, 0xff, 0xff),
        (0x10f0, 0, u32::MAX),
    ];
    for n in 0..4 {
        registers.push((ipi(n), MASK, MASK | 0x000f_00ff));
        registers.push((timer(n), 0, 0));
        registers.push((timer(n) + 0x20, MASK, MASK | 0x000f_00ff));
        registers.push((timer(n) + 0x30, 0, 3));
    }
    for n in 0..INPUTS as u32 {
        registers.push((source(n), MASK, MASK | 0x00cf_00ff));
        registers.push((source(n) + 0x10, 0, 3));
    }
    for processor in 0..2 {
        for register in [0x40, 0x50, 0x60, 0x70, 0xb0] {
            registers.push((local(processor, register), 0, 0));
        }
        registers.push((local(processor, 0x80), 15, 15));
        registers.push((local(processor, 0x90), processor.into(), 0));
        registers.push((local(processor, 0xa0), 0xff, 0));
    }
    for (offset, reset, kept) in registers {
        let mut bench = Bench::new(2);
        assert_eq!(bench.get(offset), reset, "{offset:#x} after a reset");
        // All ones would reset the controller.
        let ones = if offset == CONFIGURATION {
            !MASK
        } else {
            u32::MAX
        };
        for written in [ones, 0] {
            bench.put(offset, written);
            let expected = reset & !kept | written & kept;
            // A level source is active while its line is low and its polarity says so.
            let active = if reset == MASK { ACTIVITY } else { 0 };
            assert_eq!(bench.get(offset) & !active, expected, "{offset:#x}");
        }
    }
    let mut bench = Bench::new(2);
    for written in [0x8000_1234, 0xffff_ffff, 0x8000_0000] {
        bench.put(timer(0) + 0x10, written);
        assert_eq!(bench.get(timer(0) + 0x10), written, "base count");
    }
}

#[test]
fn an_access_to_no_register_is_refused() {
    let mut bench = Bench::new(3);
    let none = [
        0x0, 0x30, 0xc0, 0x44, 0x1001, 0x1010, 0x1030, 0x1098, 0x1200, 0x1_0008, 0x1_0200,
        0x1_fff0, 0x2_0000, 0x2_00c0, 0x2_3080, 0x2_7080, 0x3_0000, 0x3_ffff,
    ];
    for offset in none {
        assert_eq!(bench.try_get(offset), None, "{offset:#x}");
        assert!(!bench.try_put(offset, 0), "{offset:#x}");
    }
    bench.processor = 3;
    assert_eq!(bench.try_get(0x80), None, "there is no fourth processor");
    assert_eq!(bench.pic.widths(), [4]);
}

#[test]
fn the_mpc8641_has_it_big_endian_with_wide_vectors_and_no_processor_init() {
    let mut console = Console::memory();
    let mut pic = OpenPic::new(Shape {
        model: Model::Mpc8641,
        inputs: 256,
        ..shape(2)
    });
    let mut get = |pic: &mut OpenPic, offset| pic.read(at(offset, 0, 0), &mut console);
    assert_eq!(get(&mut pic, 0), Ok(0x0040_0200), "version below 3.1");
    assert_eq!(get(&mut pic, 0x1000), Ok(0x00ff_0102));
    assert_eq!(get(&mut pic, SPURIOUS), Ok(0xffff));
    assert!(get(&mut pic, source(255)).is_ok());
    assert!(get(&mut pic, PROCESSOR_INIT).is_err());
    assert!(!pic.holds(1));
    let mut console = Console::memory();
    let mut put = |pic: &mut OpenPic, offset, value| {
        assert_eq!(pic.write(at(offset, 0, 0), value, &mut console), Ok(None));
    };
    put(&mut pic, CONFIGURATION, MIXED.into());
    put(&mut pic, ipi(1), control(10, 2044).into());
    put(&mut pic, local(1, 0x80), 0);
    put(&mut pic, local(0, 0x50), 2);
    assert!(pic.interrupts(1) && !pic.interrupts(0));
    let vector = pic.read(at(local(1, 0xa0), 1, 0), &mut Console::memory());
    assert_eq!(vector, Ok(2044));
    let mut little = OpenPic::new(shape(2));
    let feature = little.read(at(0x1000, 0, 0), &mut Console::memory());
    assert_eq!(feature, Ok(0x0301_0f00));
    let block = little.read(at(0, 0, 0), &mut Console::memory());
    assert!(block.is_err());
}

#[test]
fn the_8259_passes_through_to_processor_0_after_a_reset() {
    let mut bench = Bench::new(2);
    bench.pic.set_input(0, true);
    assert_eq!(bench.outputs(), [true, false]);
    assert_eq!(bench.acknowledge(0), 0xff, "the controller is disabled");
    bench.put(CONFIGURATION, MIXED);
    assert_eq!(bench.outputs(), [false, false], "the source is masked");
    bench.put(SPURIOUS, 0x55);
    bench.put(CONFIGURATION, MASK | MIXED);
    assert_eq!(bench.get(CONFIGURATION), 0, "reset, and done");
    assert_eq!(bench.get(SPURIOUS), 0xff);
    assert_eq!(bench.outputs(), [true, false], "the line is still high");
    bench.pic.set_input(0, false);
    assert_eq!(bench.outputs(), [false, false]);
}

#[test]
fn a_level_comes_again_until_it_goes() {
    let mut bench = Bench::ready(2);
    bench.put(source(3), HIGH_LEVEL | control(5, 0x33));
    bench.put(source(3) + 0x10, 2);
    bench.pic.set_input(3, true);
    assert_eq!(bench.outputs(), [false, true]);
    assert_eq!(bench.get(source(3)) & ACTIVITY, ACTIVITY);
    assert_eq!(bench.acknowledge(1), 0x33);
    assert_eq!(bench.outputs(), [false, false], "in service");
    bench.end(1);
    assert_eq!(bench.outputs(), [false, true], "still high");
    bench.pic.set_input(3, false);
    assert_eq!(bench.outputs(), [false, false]);
    assert_eq!(bench.acknowledge(1), 0xff, "spurious: it went before");
    assert_eq!(bench.get(source(3)) & ACTIVITY, 0);
    bench.put(source(3), LOW_LEVEL | control(5, 0x33));
    assert_eq!(bench.outputs(), [false, true], "active low");
}

#[test]
fn an_edge_comes_once_and_is_remembered_while_masked() {
    let mut bench = Bench::ready(1);
    bench.put(source(2), RISING | MASK | control(4, 0x20));
    bench.put(source(2) + 0x10, 1);
    bench.pic.set_input(2, true);
    bench.pic.set_input(2, false);
    assert_eq!(bench.outputs(), [false]);
    bench.put(source(2), RISING | control(4, 0x20));
    assert_eq!(bench.outputs(), [true]);
    bench.put(source(2), RISING | MASK | control(4, 0x20));
    assert_eq!(bench.acknowledge(0), 0xff, "masked before it was taken");
    bench.put(source(2), RISING | control(4, 0x20));
    assert_eq!(bench.acknowledge(0), 0x20);
    bench.end(0);
    assert_eq!(bench.outputs(), [false]);
    bench.put(source(2), control(4, 0x20));
    bench.pic.set_input(2, true);
    assert_eq!(bench.outputs(), [false]);
    bench.pic.set_input(2, false);
    assert_eq!(bench.outputs(), [true], "a falling edge");
}

#[test]
fn only_higher_priorities_interrupt_and_ends_unwind() {
    let mut bench = Bench::ready(1);
    for (channel, priority) in [(0, 3), (1, 7), (2, 7), (3, 0)] {
        bench.put(ipi(channel), control(priority, 0x40 + channel));
    }
    bench.put(local(0, 0x80), 3);
    bench.put(local(0, 0x40), 1);
    bench.put(local(0, 0x70), 1);
    assert_eq!(bench.outputs(), [false], "not above the task; priority 0");
    bench.put(local(0, 0x80), 2);
    assert_eq!(bench.acknowledge(0), 0x40);
    bench.put(local(0, 0x60), 1);
    bench.put(local(0, 0x50), 1);
    assert_eq!(bench.acknowledge(0), 0x41, "of equal ones the first");
    assert_eq!(bench.outputs(), [false], "an equal one is in service");
    bench.end(0);
    assert_eq!(bench.acknowledge(0), 0x42);
    bench.put(local(0, 0x40), 1);
    bench.end(0);
    assert_eq!(bench.outputs(), [false], "the first is still in service");
    bench.end(0);
    assert_eq!(bench.acknowledge(0), 0x40);
    bench.end(0);
    bench.end(0);
    assert_eq!(bench.acknowledge(0), 0xff, "an end of nothing is harmless");
}

#[test]
fn external_sources_come_before_timers_and_these_before_ipis() {
    let mut bench = Bench::ready(1);
    bench.put(ipi(0), control(5, 3));
    bench.put(timer(0) + 0x20, control(5, 2));
    bench.put(timer(0) + 0x30, 1);
    bench.put(source(15), HIGH_LEVEL | control(5, 1));
    bench.put(source(15) + 0x10, 1);
    bench.put(local(0, 0x40), 1);
    bench.put(timer(0) + 0x10, 1);
    bench.wait(1);
    bench.put(timer(0) + 0x10, MASK);
    bench.pic.set_input(15, true);
    assert_eq!(bench.acknowledge(0), 1);
    bench.pic.set_input(15, false);
    for vector in [2, 3, 0xff] {
        bench.end(0);
        assert_eq!(bench.acknowledge(0), vector);
    }
}

#[test]
fn an_external_interrupt_goes_to_one_of_its_processors() {
    let mut bench = Bench::ready(3);
    bench.put(source(4), HIGH_LEVEL | control(9, 0x44));
    bench.put(source(4) + 0x10, 6);
    bench.pic.set_input(4, true);
    assert_eq!(bench.outputs(), [false, true, false], "a tie: the first");
    bench.put(local(1, 0x80), 1);
    assert_eq!(bench.outputs(), [false, false, true], "the lowest task");
    assert_eq!(bench.acknowledge(2), 0x44);
    bench.put(local(1, 0x80), 0);
    assert_eq!(
        bench.outputs(),
        [false, false, false],
        "in service elsewhere"
    );
    bench.end(2);
    assert_eq!(bench.outputs(), [false, true, false]);
}

#[test]
fn ipis_wait_for_each_processor_and_merge() {
    let mut bench = Bench::ready(8);
    bench.put(ipi(1), control(10, 0x81));
    bench.processor = 5;
    bench.put(0x50, 0b1010_0001);
    bench.put(local(2, 0x50), 0b1000_0000);
    let expected = [true, false, false, false, false, true, false, true];
    assert_eq!(bench.outputs(), expected);
    assert_eq!(bench.get(0x90), 5, "who am I");
    assert_eq!(bench.get(0xa0), 0x81, "by the page of the reader");
    assert_eq!(bench.acknowledge(7), 0x81);
    assert_eq!(bench.acknowledge(7), 0xff, "the two are one");
    assert_eq!(bench.get(ipi(1)) & ACTIVITY, ACTIVITY);
    bench.put(0xb0, 0);
    bench.end(7);
    assert_eq!(bench.acknowledge(0), 0x81, "still waits for this one");
    bench.put(local(3, 0x50), 1);
    bench.end(0);
    assert_eq!(bench.acknowledge(0), 0x81, "sent again while in service");
    bench.end(0);
    assert_eq!(bench.get(ipi(1)) & ACTIVITY, 0);
}

#[test]
fn the_processor_init_register_holds_all_but_the_first() {
    let mut bench = Bench::ready(4);
    let held = |bench: &Bench| (0..5).map(|n| bench.pic.holds(n)).collect::<Vec<_>>();
    assert_eq!(held(&bench), [false, true, true, true, false]);
    bench.put(PROCESSOR_INIT, 0b1001);
    assert_eq!(bench.get(PROCESSOR_INIT), 0b1000, "never the first");
    assert_eq!(held(&bench), [false, false, false, true, false]);
    assert_eq!(bench.get(local(3, 0x80)), 0);
    bench.put(PROCESSOR_INIT, 0b1100);
    assert_eq!(bench.get(local(2, 0x80)), 15, "held anew");
    assert_eq!(bench.get(local(3, 0x80)), 0, "held all the time");
}

#[test]
fn a_timer_counts_down_toggles_and_starts_again() {
    let mut bench = Bench::ready(2);
    bench.put(timer(1) + 0x20, control(6, 0x61));
    bench.put(timer(1) + 0x30, 3);
    bench.cycle = 5;
    bench.put(timer(1) + 0x10, 3);
    assert_eq!(
        bench.pic.deadline(5, &bench.console),
        Some(3 * TICK),
        "at the prescaler's tick"
    );
    bench.cycle = 0;
    for count in [2, 1] {
        bench.wait(1);
        assert_eq!(bench.get(timer(1)), count);
        assert_eq!(bench.outputs(), [false, false]);
    }
    bench.wait(1);
    assert_eq!(bench.get(timer(1)), MASK | 3, "toggled and loaded again");
    assert_eq!(bench.outputs(), [true, true], "both");
    let quiet = bench.pic.deadline(bench.cycle, &bench.console);
    assert_eq!(quiet, None, "more would change nothing");
    assert_eq!((bench.acknowledge(0), bench.acknowledge(1)), (0x61, 0x61));
    bench.wait(2 * 3 + 1);
    assert_eq!(bench.get(timer(1)), MASK | 2, "two more zeros");
    bench.put(timer(1) + 0x10, 9);
    bench.wait(2);
    assert_eq!(bench.get(timer(1)), 9, "the new base at the next zero");
    bench.put(timer(1) + 0x10, MASK | 9);
    bench.wait(4);
    assert_eq!(bench.get(timer(1)), 9, "inhibited");
    bench.put(timer(1) + 0x10, 0);
    bench.wait(4);
    assert_eq!(bench.get(timer(1)), 0, "a base of 0 never ends");
}

#[test]
fn a_damaged_snapshot_is_refused_and_changes_nothing() {
    let mut bench = Bench::ready(2);
    bench.put(ipi(0), control(9, 1));
    bench.put(0x40, 3);
    bench.acknowledge(0);
    bench.put(timer(2) + 0x10, 77);
    let good = bench.pic.save();
    let before = bench.pic.state.clone();
    for length in 0..good.len() {
        assert!(!bench.pic.restore(&good[..length]), "cut at {length}");
    }
    let spoil: &[fn(&mut super::State)] = &[
        |state| state.held = 1,
        |state| state.held = 4,
        |state| state.spurious = 0x100,
        |state| state.sources.truncate(5),
        |state| state.sources[0].control |= ACTIVITY,
        |state| state.sources[20].control |= HIGH_LEVEL,
        |state| state.sources[3].destination = 4,
        |state| state.sources[20].destination = 1,
        |state| state.sources[3].pending = 1,
        |state| {
            state.sources[3].control = HIGH_LEVEL;
            state.sources[3].pending = 3;
        },
        |state| state.sources[20].pending = 8,
        |state| state.sources[20].high = true,
        |state| state.timers.push(super::Timer::new()),
        |state| state.locals.truncate(1),
        |state| state.locals[1].task = 16,
        |state| state.locals[0].service[0].priority = 16,
        |state| state.locals[0].service[0].priority = 0,
        |state| state.locals[0].service[0].source = 24,
        |state| {
            let same = state.locals[0].service[0];
            state.locals[0].service.push(same);
        },
        |state| {
            state.locals[0].service[0].source = 1;
            state.locals[1] = state.locals[0].clone();
        },
    ];
    for (number, spoil) in spoil.iter().enumerate() {
        let mut state = before.clone();
        spoil(&mut state);
        let bytes = postcard::to_stdvec(&state).unwrap();
        assert!(!bench.pic.restore(&bytes), "damage {number}");
        assert_eq!(bench.pic.state, before);
    }
    assert!(!OpenPic::new(shape(3)).restore(&good), "another shape");
    assert!(bench.pic.restore(&good));
}
