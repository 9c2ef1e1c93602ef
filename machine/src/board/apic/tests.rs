use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::board::Instant;

/// One core cycle for each cycle of the APIC bus, and two for each tick of the timers.
const CLOCKS: Clocks = Clocks {
    core: 100_000_000,
    bus: 100_000_000,
    per_two_ticks: 4,
};

const EOI: u32 = 0xb0;
const SVR: u32 = 0xf0;
const ICR: u32 = 0x300;
const ICR_HIGH: u32 = 0x310;

fn at(processor: u8, window: u8, offset: u32, cycles: u64) -> At {
    At {
        window,
        offset,
        size: 4,
        now: Instant {
            processor,
            cycles,
            instructions: 0,
        },
    }
}

struct Bench {
    apics: Apics,
    console: Console,
}

impl Bench {
    /// Processors that have been started and whose APICs are on.
    fn new(processors: u8) -> Self {
        let mut bench = Bench {
            apics: Apics::new(processors, CLOCKS),
            console: Console::memory(),
        };
        bench.write(0, ICR, 0x000c_4612, 0);
        bench.poll(21);
        for processor in 0..processors {
            assert!(!bench.apics.holds(processor));
            bench.write(processor, SVR, 0x1ff, 21);
        }
        bench
    }

    fn write(&mut self, processor: u8, offset: u32, value: u32, now: u64) {
        let at = at(processor, LOCAL, offset, now);
        self.apics
            .write(at, value.into(), &mut self.console)
            .expect("a register");
    }

    fn read(&mut self, processor: u8, offset: u32, now: u64) -> u32 {
        let at = at(processor, LOCAL, offset, now);
        let value = self.apics.read(at, &mut self.console);
        value.expect("a register") as u32
    }

    fn write_io(&mut self, register: u32, value: u32, now: u64) {
        for (offset, value) in [(0, register), (0x10, value)] {
            let at = at(0, IO, offset, now);
            self.apics
                .write(at, value.into(), &mut self.console)
                .expect("a register");
        }
    }

    fn poll(&mut self, now: u64) {
        self.apics.poll(now, &mut self.console);
    }
}

#[test]
fn a_processor_waits_for_its_start_and_is_told_the_page() {
    let bench = Bench::new(4);
    assert_eq!(bench.apics.start_page(3), 0x12);
    assert_eq!(bench.apics.start_page(0), 0);
}

#[test]
fn an_interrupt_arrives_after_its_message_and_ends() {
    let mut bench = Bench::new(2);
    bench.write(0, ICR_HIGH, 1 << 24, 100);
    bench.write(0, ICR, 0x40f1, 100);
    assert_ne!(bench.read(0, ICR, 110) & 1 << 12, 0);
    assert_eq!(bench.apics.deadline(110, &bench.console), Some(121));
    bench.poll(120);
    assert!(!bench.apics.interrupts(1));
    bench.poll(121);
    assert_eq!(bench.read(0, ICR, 121) & 1 << 12, 0);
    assert!(bench.apics.interrupts(1) && !bench.apics.interrupts(0));
    assert_eq!(bench.apics.acknowledge(1), Some(0xf1));
    assert!(!bench.apics.interrupts(1));
    assert_eq!(bench.read(1, 0xa0, 121), 0xf0);
    bench.write(1, EOI, 0, 130);
    assert_eq!(bench.read(1, 0xa0, 131), 0);
}

#[test]
fn messages_queue_one_after_another() {
    let mut bench = Bench::new(4);
    // Everyone but the sender, from each.
    for processor in 0..4 {
        bench.write(processor, ICR, 0x000c_4040 + u32::from(processor), 1000);
    }
    for n in 1..=4 {
        bench.poll(1000 + 21 * n - 1);
        let before = bench.read(3, 0x220, 1000 + 21 * n - 1).count_ones();
        bench.poll(1000 + 21 * n);
        let after = bench.read(3, 0x220, 1000 + 21 * n).count_ones();
        assert_eq!(after - before, u32::from(n != 4), "message {n}");
    }
}

#[test]
fn a_priority_holds_lower_classes_back() {
    let mut bench = Bench::new(1);
    bench.write(0, 0x80, 0x40, 50);
    bench.write(0, ICR, 0x0004_4045, 50);
    bench.write(0, ICR, 0x0004_4051, 50);
    assert_eq!(bench.apics.acknowledge(0), Some(0x51));
    assert!(!bench.apics.interrupts(0));
    bench.write(0, EOI, 0, 60);
    assert!(!bench.apics.interrupts(0));
    bench.write(0, 0x80, 0x30, 60);
    assert_eq!(bench.apics.acknowledge(0), Some(0x45));
}

#[test]
fn a_second_request_of_a_vector_is_refused_and_sent_again() {
    let mut bench = Bench::new(2);
    bench.write(1, ICR, 0x000c_4061, 100);
    bench.poll(121);
    bench.write(1, ICR, 0x000c_4061, 121);
    bench.poll(142);
    assert_ne!(bench.read(1, ICR, 143) & 1 << 12, 0);
    assert_eq!(bench.apics.acknowledge(0), Some(0x61));
    bench.poll(163);
    assert_eq!(bench.read(1, ICR, 163) & 1 << 12, 0);
    bench.write(0, EOI, 0, 164);
    assert_eq!(bench.apics.acknowledge(0), Some(0x61));
}

#[test]
fn an_input_reaches_the_processor_that_its_entry_names() {
    let mut bench = Bench::new(2);
    // Input 4: level, vector 0x34, to processor 1.
    bench.write_io(0x19, 1 << 24, 100);
    bench.write_io(0x18, 0x8034, 100);
    bench.apics.set_input(4, true);
    bench.poll(101);
    bench.poll(122);
    assert_eq!(bench.apics.acknowledge(1), Some(0x34));
    assert!(!bench.apics.interrupts(0));
    // Still high at its end: it comes again, after both messages.
    bench.write(1, EOI, 0, 200);
    bench.poll(200 + 14 + 21);
    assert_eq!(bench.apics.acknowledge(1), Some(0x34));
    bench.apics.set_input(4, false);
    bench.write(1, EOI, 0, 300);
    bench.poll(400);
    assert!(!bench.apics.interrupts(1));
}

#[test]
fn the_8259_reaches_the_first_processor_until_its_input_is_masked() {
    let mut bench = Bench::new(2);
    bench.apics.set_input(LINT0, true);
    assert!(bench.apics.interrupts(0) && !bench.apics.interrupts(1));
    assert_eq!(bench.apics.acknowledge(0), None);
    bench.write(0, 0x350, 1 << 16, 50);
    assert!(!bench.apics.interrupts(0));
}

#[test]
fn the_timer_counts_the_bus() {
    let mut bench = Bench::new(1);
    // Periodic, vector 0x50, undivided: 100 counts of two core cycles.
    bench.write(0, 0x3e0, 0xb, 1000);
    bench.write(0, 0x320, 0x2_0050, 1000);
    bench.write(0, 0x380, 100, 1000);
    assert_eq!(bench.read(0, 0x390, 1100), 50);
    assert_eq!(bench.apics.deadline(1100, &bench.console), Some(1200));
    bench.poll(1200);
    assert_eq!(bench.apics.acknowledge(0), Some(0x50));
    assert_eq!(bench.apics.deadline(1200, &bench.console), Some(1400));
    // Divided by four.
    bench.write(0, 0x3e0, 0x1, 2000);
    bench.write(0, 0x380, 100, 2000);
    assert_eq!(bench.apics.deadline(2000, &bench.console), Some(2800));
}

#[test]
fn a_state_comes_back_and_another_machine_s_does_not() {
    let mut bench = Bench::new(2);
    bench.write(0, ICR, 0x000c_40f1, 100);
    let saved = bench.apics.save();
    let mut other = Apics::new(2, CLOCKS);
    assert!(other.restore(&saved));
    assert_eq!(other, bench.apics);
    assert!(!Apics::new(1, CLOCKS).restore(&saved));
    assert!(!other.restore(&saved[..8]));
}

/// What software and devices do to a local APIC.
#[derive(Clone, Copy, Debug)]
enum Step {
    Request(u8),
    Priority(u8),
    Accept,
    End,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0x10u8..=0xff).prop_map(Step::Request),
        1 => any::<u8>().prop_map(Step::Priority),
        3 => Just(Step::Accept),
        2 => Just(Step::End),
    ]
}

proptest! {
    /// A local APIC against the rules alone (SDM volume 3, 11.8.3): the highest request is taken if its class is above
    /// that of software's priority and of what is in service; the end of an interrupt is that of the highest.
    #[test]
    fn interrupts_come_in_the_order_of_the_model(steps in proptest::collection::vec(step(), 1..200)) {
        let mut bench = Bench::new(1);
        let (mut requests, mut service) = (BTreeSet::new(), BTreeSet::<u8>::new());
        let mut priority = 0;
        for step in steps {
            let serviced = service.last().copied().unwrap_or(0);
            let held = (priority >> 4).max(serviced >> 4);
            let next = requests.last().copied().filter(|vector: &u8| vector >> 4 > held);
            match step {
                Step::Request(vector) if requests.contains(&vector) => {}
                Step::Request(vector) => {
                    bench.write(0, ICR, 0x0004_4000 | u32::from(vector), 50);
                    requests.insert(vector);
                }
                Step::Priority(value) => {
                    bench.write(0, 0x80, value.into(), 50);
                    priority = value;
                }
                Step::Accept => {
                    prop_assert_eq!(bench.apics.interrupts(0), next.is_some());
                    if let Some(vector) = next {
                        prop_assert_eq!(bench.apics.acknowledge(0), Some(vector));
                        requests.remove(&vector);
                        service.insert(vector);
                    }
                }
                Step::End => {
                    bench.write(0, EOI, 0, 50);
                    service.pop_last();
                }
            }
            let serviced = service.last().copied().unwrap_or(0);
            let wanted = if priority >> 4 >= serviced >> 4 { priority } else { serviced & 0xf0 };
            prop_assert_eq!(bench.read(0, 0xa0, 50), u32::from(wanted));
            for (first, held) in [(0x100, &service), (0x200, &requests)] {
                for word in 0..8_u8 {
                    let bits = held.iter().filter(|&&vector| vector >> 5 == word);
                    let bits = bits.fold(0, |bits, vector| bits | 1_u32 << (vector & 31));
                    prop_assert_eq!(bench.read(0, first + 16 * u32::from(word), 50), bits);
                }
            }
        }
    }
}
