//! Listeners: they hear every event once, filters choose among these, and nothing is counted otherwise.

use crate::kernel;
use crate::support;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use pagewalk_machine::observe::listener::{Filter, Heard, KINDS, Kind, What};
use pagewalk_machine::powerpc::machine::{Limits, Stop};
use pagewalk_machine::powerpc::session::Session;
use proptest::prelude::*;

static KERNEL: LazyLock<kernel::Kernel> = LazyLock::new(kernel::build);

fn session(machine: &str, settings: &[&str]) -> Session {
    KERNEL.session(
        support::config(machine, settings),
        "quiet -- /bin/tlb-stress iterations=1 warmup=0 processes=2 pages=100",
    )
}

const LIMITS: Limits = Limits {
    cycles: 6_000_000,
    instructions: u64::MAX,
};

/// Runs to the limit; returns the batches.
fn listened(session: &mut Session, filter: Filter, batch: usize) -> Vec<Vec<Heard>> {
    session.listen(filter, batch);
    let mut batches = Vec::new();
    loop {
        let stop = session.run(LIMITS);
        batches.push(session.heard());
        if stop != Stop::Batch {
            assert_eq!(stop, Stop::Limit);
            return batches;
        }
    }
}

type Counts = BTreeMap<String, u64>;

fn counts(session: &Session) -> Counts {
    session.counters().into_iter().collect()
}

fn of_kind(all: &[Heard], kind: fn(&What) -> bool) -> u64 {
    all.iter().filter(|heard| kind(&heard.what)).count() as u64
}

#[test]
fn every_event_is_heard_once_and_nothing_counts_otherwise() {
    let parts: &[&str] = &["tlb.l2.entries=64", "tlb.data.replacement=fifo"];
    for (machine, settings) in [
        ("ppc603-133", &[][..]),
        ("ppc604-133", &[]),
        ("mpc855t-48", &[]),
        ("ppc604-133", parts),
        ("ppc604-185x2", &[]),
    ] {
        let mut alone = session(machine, settings);
        alone.run(LIMITS);
        let plain = counts(&alone);
        for batch in [1, 7, 1 << 16] {
            let what = format!("{machine}, batches of {batch}");
            let mut session = session(machine, settings);
            let batches = listened(&mut session, Filter::default(), batch);
            assert_eq!(counts(&session), plain, "{what}");
            let full = &batches[..batches.len() - 1];
            // The rest of a block can add some.
            assert!(
                full.iter()
                    .all(|events| (batch..batch + 64).contains(&events.len())),
                "{what}"
            );
            let all = batches.concat();
            let misses = plain["tlb.data.miss"] + plain["tlb.instruction.miss"];
            assert_eq!(
                of_kind(&all, |what| matches!(what, What::Miss(_))),
                misses,
                "{what}"
            );
            let evicted = plain["tlb.data.evicted"] + plain["tlb.instruction.evicted"];
            let heard = of_kind(&all, |what| matches!(what, What::Eviction { .. }));
            assert_eq!(heard, evicted, "{what}");
            let taken = plain
                .iter()
                .filter(|(name, _)| name.starts_with("exception."));
            let heard = of_kind(&all, |what| matches!(what, What::Exception(_)));
            assert_eq!(heard, taken.map(|(_, count)| count).sum::<u64>(), "{what}");
            for processor in 0..session.machine().processors().len() {
                let own = all
                    .iter()
                    .filter(|heard| usize::from(heard.processor) == processor);
                assert!(own.clone().is_sorted_by_key(|heard| heard.cycle), "{what}");
                let mut context = 0;
                for heard in own {
                    if let What::Switch { from } = heard.what {
                        assert_eq!(from, context, "{what}");
                        context = heard.context;
                    }
                    assert_eq!(heard.context, context, "{what}: {heard:?}");
                }
            }
        }
    }
}

/// The events of one run, all of them.
static ALL: LazyLock<Vec<Heard>> = LazyLock::new(|| {
    listened(&mut session("ppc604-133", &[]), Filter::default(), 1 << 16).concat()
});

/// Does the filter let this event pass, but for `every`? In other words than the listener's.
fn passes(filter: &Filter, heard: &Heard) -> bool {
    let within = |address: u32| filter.addresses.contains(&address);
    let (kind, there) = match heard.what {
        What::Miss(miss) => (Kind::Miss, within(miss.ea)),
        What::Eviction { load, owner, .. } => (
            Kind::Eviction,
            within(load.ea) || owner.is_some_and(|owner| within(owner.address)),
        ),
        What::Exception(_) => (Kind::Exception, within(heard.pc)),
        What::Interrupt { .. } => (Kind::Interrupt, within(heard.pc)),
        What::Call { .. } => (Kind::Call, within(heard.pc)),
        What::Switch { from } => {
            let mine = filter
                .context
                .is_none_or(|wanted| wanted == from || wanted == heard.context);
            return filter.kinds[Kind::Switch as usize] && mine;
        }
    };
    filter.kinds[kind as usize]
        && there
        && filter.context.is_none_or(|wanted| wanted == heard.context)
        && filter.causes[heard.cause.index()]
        && filter.user.is_none_or(|user| user == heard.user)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_filter_chooses_among_all_events(
        kinds in any::<[bool; KINDS]>(),
        low in prop_oneof![Just(0u32), Just(0x2000_0000), Just(0xc000_0000)],
        high in prop_oneof![Just(u32::MAX), Just(0x5fff_ffff)],
        context in prop_oneof![3 => Just(None), 1 => (0u32..5).prop_map(Some)],
        without in prop::option::of(0..13_usize),
        user in any::<Option<bool>>(),
        every in 1u64..5,
    ) {
        let mut filter = Filter { kinds, addresses: low..=high, context, user, every, ..Filter::default() };
        if let Some(cause) = without {
            filter.causes[cause] = false;
        }
        let expected: Vec<Heard> = (ALL.iter())
            .filter(|heard| passes(&filter, heard))
            .skip(every as usize - 1)
            .step_by(every as usize)
            .copied()
            .collect();
        let heard = listened(&mut session("ppc604-133", &[]), filter, 100).concat();
        prop_assert_eq!(heard, expected);
    }
}
