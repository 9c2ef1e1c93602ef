//! The states of lines in several D-caches against a small model.

use crate::memory::RamAddress;
use proptest::prelude::*;

use super::fixture::{Machine, PROCESSORS, account};
use crate::account::Plain;
use crate::config::MachineConfig;
use crate::memory::attribute;
use crate::memory::cache::{DIRTY, SHARED};

const LINES: usize = 4;

/// A line that another processor holds modified comes by three tenures: the address that is retried, the write to
/// memory, the read. Memory's parts take the write as any other, and the read waits for their precharge.
#[test]
fn a_push_takes_its_tenures_on_parts() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../machines/ppc604-185x2.toml");
    let config = MachineConfig::from_file(file.as_ref(), &[]).expect("a machine file");
    let mut machine = Machine::new(&config, false);
    // A bus of one core cycle a clock: see `parts::tests`.
    let pace = crate::memory::parts::tests::timing(0, false);
    machine.all[0].uncore.bus = crate::memory::Bus::new(pace);
    let (pa, coherent) = (0x4000, attribute::COHERENT);
    let mut access = |number: usize, now: u64, store: bool| {
        machine.select(number);
        let (memory, account) = (&mut machine.all[number], &mut machine.account);
        if store {
            memory.store(pa, coherent, now, account);
        } else {
            let stall = memory.load(pa, coherent, now, account);
            let count = |event| account.counters.plain(event);
            let counts = [Plain::BusRetried, Plain::BusRead, Plain::BusWrite].map(count);
            return (stall, counts);
        }
        (0, [0; 3])
    };
    // Modified in the D-cache of the first: one read of its line.
    access(0, 0, true);
    // Asked for at 100: the address at 101 is retried by 104. The write: address at 105, row strobe at 107, beats at
    // 112, 115, 118, 121. The read: asked for at 121, address at 122; its row strobe could come at 125, the end of
    // precharge. The first beat is there at 130, and what the core forwards decides when it goes on.
    let (stall, counts) = access(1, 100, false);
    assert_eq!(counts, [1, 2, 1]);
    assert!((30..=39).contains(&stall), "{stall}");
    // Shared by both now: no tenure.
    assert_eq!(access(0, 200, false), (0, [1, 2, 1]));
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Modified,
    Exclusive,
    Shared,
    Invalid,
}

use State::{Exclusive, Invalid, Modified, Shared};

#[derive(Clone, Copy, Debug)]
enum Operation {
    Load,
    Store,
    Reserve,
    Zero,
    Flush,
    Clean,
    Kill,
    StoreUncached,
    LoadUncached,
}

fn operation() -> impl Strategy<Value = Operation> {
    use Operation::*;
    prop_oneof![
        6 => Just(Load), 6 => Just(Store), 2 => Just(Reserve), 1 => Just(Zero), 1 => Just(Flush),
        1 => Just(Clean), 1 => Just(Kill), 1 => Just(StoreUncached), 1 => Just(LoadUncached),
    ]
}

/// How a processor's D-cache holds a line.
fn state(machine: &mut Machine, number: usize, pa: RamAddress) -> State {
    let memory = machine.select(number);
    let Some(index) = memory.data.find(pa) else {
        return Invalid;
    };
    match memory.data.tags()[index] {
        tag if tag & (DIRTY | SHARED) == DIRTY | SHARED => panic!("modified and shared"),
        tag if tag & DIRTY != 0 => Modified,
        tag if tag & SHARED != 0 => Shared,
        _ => Exclusive,
    }
}

/// What the architecture says of one line.
struct Model {
    states: [State; PROCESSORS],
    reserved: [bool; PROCESSORS],
    mei: bool,
}

impl Model {
    fn others(&self, me: usize) -> impl Iterator<Item = usize> + use<> {
        (0..PROCESSORS).filter(move |&other| other != me)
    }

    fn take(&mut self, me: usize) {
        for other in self.others(me) {
            self.states[other] = Invalid;
            self.reserved[other] = false;
        }
    }

    fn read(&mut self, me: usize) -> bool {
        if self.mei {
            // What is reserved elsewhere is had as shared.
            for other in self.others(me) {
                self.states[other] = Invalid;
            }
            return self.others(me).any(|other| self.reserved[other]);
        }
        let mut kept = false;
        for other in self.others(me) {
            if self.states[other] != Invalid {
                self.states[other] = Shared;
                kept = true;
            }
            kept |= self.reserved[other];
        }
        kept
    }

    fn step(&mut self, me: usize, what: Operation) {
        match what {
            Operation::Load | Operation::Reserve => {
                if self.states[me] == Invalid {
                    self.states[me] = if self.read(me) { Shared } else { Exclusive };
                }
                self.reserved[me] |= matches!(what, Operation::Reserve);
            }
            Operation::Store | Operation::Zero => {
                if matches!(self.states[me], Invalid | Shared) {
                    self.take(me);
                }
                self.states[me] = Modified;
            }
            Operation::Flush => {
                if self.states[me] != Modified {
                    for other in self.others(me) {
                        self.states[other] = Invalid;
                    }
                }
                self.states[me] = Invalid;
            }
            Operation::Clean => {
                if self.states[me] == Modified {
                    self.states[me] = Exclusive;
                } else {
                    for other in self.others(me) {
                        if self.states[other] == Modified {
                            self.states[other] = Exclusive;
                        }
                    }
                }
            }
            Operation::Kill => {
                self.take(me);
                self.states[me] = Invalid;
            }
            Operation::StoreUncached => {
                self.states[me] = Invalid;
                self.take(me);
            }
            Operation::LoadUncached => {
                self.states[me] = Invalid;
                self.read(me);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    /// A million steps.
    #[test]
    fn lines_have_the_states_of_the_model(
        mei: bool,
        steps in prop::collection::vec((0..PROCESSORS, 0..LINES, operation()), 1000),
    ) {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../machines/ppc604-133.toml");
        let config = MachineConfig::from_file(file.as_ref(), &[]).expect("a machine file");
        let mut machine = Machine::new(&config, mei);
        let mut models: Vec<Model> = (0..LINES)
            .map(|_| Model { states: [Invalid; PROCESSORS], reserved: [false; PROCESSORS], mei })
            .collect();
        let mut account = account();
        for (me, line, what) in steps {
            // One reservation for each processor.
            if matches!(what, Operation::Reserve) {
                for model in &mut models {
                    model.reserved[me] = false;
                }
            }
            models[line].step(me, what);
            let pa = 0x4000 + 32 * line as u32;
            let (mut now, m) = (machine.now, attribute::COHERENT);
            let reserved = matches!(what, Operation::Reserve);
            let memory = machine.select(me);
            now += match what {
                Operation::Load | Operation::Reserve => memory.load(pa, m, now, &mut account),
                Operation::Store => memory.store(pa, m, now, &mut account),
                Operation::Zero => memory.dcbz(pa, m, now, &mut account).expect("cached"),
                Operation::Flush => memory.dcbf(pa, m, now, &mut account),
                Operation::Clean => memory.dcbst(pa, m, now, &mut account),
                Operation::Kill => memory.dcbi(pa, m, now, &mut account),
                Operation::StoreUncached => memory.store(pa, m | attribute::INHIBITED, now, &mut account),
                Operation::LoadUncached => memory.load(pa, m | attribute::INHIBITED, now, &mut account),
            };
            machine.now = now + 1;
            if reserved {
                machine.reservations[me] = Some(pa);
            }
            for (line, model) in models.iter().enumerate() {
                let pa = 0x4000 + 32 * line as u32;
                for number in 0..PROCESSORS {
                    prop_assert_eq!(state(&mut machine, number, pa), model.states[number]);
                    prop_assert_eq!(machine.reservations[number] == Some(pa), model.reserved[number]);
                }
            }
        }
    }
}
