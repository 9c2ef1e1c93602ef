//! The 405's MMU against a plain model: what each entry, PID, ZPR and the shadow TLBs make of an access.

use crate::common::{SUPERVISOR, USER, account, cases};
use pagewalk_machine::account::Account;
use pagewalk_machine::memory::attribute;
use pagewalk_machine::powerpc::mmu::ppc405::RealMode;
use pagewalk_machine::powerpc::mmu::{
    Access, FaultKind, Invalidation, Ppc405, Ppc405Fault, Unit as _,
};
use proptest::prelude::*;

const ESR_STORE: u32 = 0x0080_0000;
const ESR_ZONE: u32 = 0x0040_0000;

/// What an access gives.
#[derive(Debug, PartialEq, Eq)]
enum Given {
    /// Physical address, and W, I, M, G.
    Address(u32, u32),
    /// ESR.
    Refused(u32),
    /// ESR.
    Miss(u32),
}

fn touch(
    unit: &mut Ppc405,
    ea: u32,
    access: Access,
    msr: u32,
    account: &mut Account,
) -> (Given, u64) {
    match unit.translate(ea, access, msr, account) {
        Ok(translation) => {
            let given = Given::Address(translation.pa, translation.attributes.into());
            (given, translation.cycles)
        }
        Err(fault) => {
            let FaultKind::Ppc405 {
                fault: kind,
                instruction,
            } = fault.kind
            else {
                panic!("{fault:?}");
            };
            assert_eq!(instruction, access == Access::Fetch);
            let given = match kind {
                Ppc405Fault::Miss { esr } => Given::Miss(esr),
                Ppc405Fault::Storage { esr } => Given::Refused(esr),
            };
            (given, fault.cycles)
        }
    }
}

/// An entry as the manual lists its fields.
#[derive(Clone, Copy, Debug)]
struct Page {
    ea: u32,
    bytes: u32,
    pid: u32,
    physical: u32,
    execute: bool,
    write: bool,
    zone: u32,
    wimg: u32,
}

/// A shadow entry: the page, and the field of its zone when it was copied.
type Shadow = (Page, u32);

#[derive(Default)]
struct Model {
    entries: Vec<Option<Page>>,
    pid: u32,
    zpr: u32,
    shadows: [Vec<Option<Shadow>>; 2],
    next: [usize; 2],
}

fn holds(page: &Page, ea: u32) -> bool {
    ea / page.bytes == page.ea / page.bytes
}

impl Model {
    fn touch(&mut self, ea: u32, access: Access, user: bool) -> (Given, u64) {
        let store = if access == Access::Store {
            ESR_STORE
        } else {
            0
        };
        let side = usize::from(access != Access::Fetch);
        let found = self.shadows[side]
            .iter()
            .flatten()
            .find(|(page, _)| holds(page, ea));
        let (copy, cycles) = match found {
            Some(copy) => (*copy, 0),
            None => {
                let pid = self.pid;
                let matches = |page: &&Page| holds(page, ea) && (page.pid == 0 || page.pid == pid);
                let Some(page) = self.entries.iter().flatten().find(matches) else {
                    return (Given::Miss(store), 0);
                };
                let copy = (*page, self.zpr >> (30 - 2 * page.zone) & 3);
                let slot = self.next[side];
                self.shadows[side][slot] = Some(copy);
                self.next[side] = (slot + 1) % self.shadows[side].len();
                (copy, [4, 3][side])
            }
        };
        let (page, field) = copy;
        let (write, execute) = match (field, user) {
            (0, true) => return (Given::Refused(ESR_ZONE | store), cycles),
            (3, _) | (2, false) => (true, true),
            _ => (page.write, page.execute),
        };
        let refused = match access {
            Access::Fetch => !execute || page.wimg & 1 != 0,
            Access::Load => false,
            Access::Store => !write,
        };
        if refused {
            (Given::Refused(store), cycles)
        } else {
            (
                Given::Address(page.physical + ea % page.bytes, page.wimg),
                cycles,
            )
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// Number, EA, size, valid, TLBLO without the page, physical address.
    Write(u32, u32, u32, bool, u32, u32),
    Touch(u32, u8, bool),
    Pid(u32),
    Zones(u32),
    Synchronize,
    Search(u32),
    InvalidateAll,
}

fn step() -> impl Strategy<Value = Step> {
    // A few megabytes, so that pages of all sizes meet.
    let ea = || 0x4000_0000..0x4200_0000_u32;
    prop_oneof![
        6 => (0..64u32, ea(), 0..8u32, prop::bool::weighted(0.9), 0..0x400_u32, 0..0x0800_0000_u32)
            .prop_map(|(n, ea, size, valid, low, physical)| Step::Write(n, ea, size, valid, low, physical)),
        20 => (ea(), 0..3u8, any::<bool>()).prop_map(|(ea, kind, user)| Step::Touch(ea, kind, user)),
        2 => (0..4u32).prop_map(Step::Pid),
        2 => any::<u32>().prop_map(Step::Zones),
        3 => Just(Step::Synchronize),
        2 => ea().prop_map(Step::Search),
        1 => Just(Step::InvalidateAll),
    ]
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn the_unit_is_the_model(steps in prop::collection::vec(step(), 1..300), near in 0..3u32) {
        let mut unit = Ppc405::new([4, 8], [4, 3]);
        let mut model = Model {
            entries: vec![None; 64],
            shadows: [vec![None; 4], vec![None; 8]],
            ..Model::default()
        };
        let mut account = account();
        // Some runs stay within a few pages.
        let mask = 0x4000_0000 | [0x01ff_ffff, 0xffff, 0x3fff][near as usize];
        for step in steps {
            match step {
                Step::Write(number, ea, size, valid, low, physical) => {
                    let bytes = 1024 << (2 * size);
                    let ea = ea & mask;
                    let high = ea & 0xffff_fc00 | size << 7 | u32::from(valid) << 6;
                    unit.write_low(number, physical & 0xffff_fc00 | low);
                    unit.write_high(number, high, &mut account);
                    prop_assert_eq!(unit.read_low(number), physical & 0xffff_fc00 | low);
                    prop_assert_eq!(unit.read_high(number), high);
                    model.entries[number as usize] = valid.then_some(Page {
                        ea,
                        bytes,
                        pid: model.pid,
                        physical: physical / bytes * bytes,
                        execute: low & 0x200 != 0,
                        write: low & 0x100 != 0,
                        zone: low >> 4 & 15,
                        wimg: low & 15,
                    });
                }
                Step::Touch(ea, kind, user) => {
                    let access = [Access::Fetch, Access::Load, Access::Store][usize::from(kind)];
                    let (ea, msr) = (ea & mask, if user { USER } else { SUPERVISOR });
                    let given = touch(&mut unit, ea, access, msr, &mut account);
                    let expected = model.touch(ea, access, user);
                    let missed = given.0 != expected.0 || given.1 != expected.1;
                    prop_assert!(!missed, "{:#x} {:?}: {:x?}, not {:x?}", ea, access, given, expected);
                }
                Step::Pid(pid) => {
                    unit.set_pid(pid as u8);
                    model.pid = pid;
                }
                Step::Zones(zones) => {
                    unit.set_zpr(zones);
                    model.zpr = zones;
                }
                Step::Synchronize => {
                    let _ = unit.synchronize();
                    model.shadows.iter_mut().for_each(|shadow| shadow.fill(None));
                }
                Step::Search(ea) => {
                    let pid = model.pid;
                    let matches = |page: &Option<Page>| {
                        page.is_some_and(|page| holds(&page, ea & mask) && (page.pid == 0 || page.pid == pid))
                    };
                    let expected = model.entries.iter().position(matches);
                    prop_assert_eq!(unit.search(ea & mask), expected.map(|n| n as u32));
                }
                Step::InvalidateAll => {
                    let _ = unit.invalidate(Invalidation::All, &mut account);
                    model.entries.fill(None);
                }
            }
        }
    }
}

/// Without translation each 128 MB has its attributes.
#[test]
fn registers_say_what_is_cached_without_translation() {
    let mut unit = Ppc405::new([4, 8], [4, 3]);
    let attributes = |unit: &mut Ppc405, ea, access| {
        let (given, _) = touch(unit, ea, access, 0, &mut Account::default());
        let Given::Address(physical, attributes) = given else {
            panic!("{given:?}");
        };
        assert_eq!(physical, ea);
        attributes as u8
    };
    let uncached = attribute::INHIBITED | attribute::GUARDED;
    assert_eq!(attributes(&mut unit, 0, Access::Load), uncached);
    for (register, value) in [
        (RealMode::CacheData, 0x4000_0000),
        (RealMode::CacheFetches, 0x8000_0000),
        (RealMode::WriteThrough, 0x4000_0001),
        (RealMode::Guarded, 0),
    ] {
        let _ = unit.set_real_mode(register, value);
    }
    for (ea, access, expected) in [
        (0, Access::Load, attribute::INHIBITED),
        (0, Access::Fetch, 0),
        (0x0fff_ffff, Access::Load, attribute::WRITE_THROUGH),
        (0x0fff_ffff, Access::Fetch, attribute::INHIBITED),
        (
            0xf800_0000,
            Access::Store,
            attribute::INHIBITED | attribute::WRITE_THROUGH,
        ),
    ] {
        assert_eq!(attributes(&mut unit, ea, access), expected, "{ea:#x}");
    }
}
