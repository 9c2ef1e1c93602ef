//! TLBs that make errors of a kernel visible (`[tlb.extreme]`), on a PowerPC.

use super::spaces::verdict_with;
use super::stale::{HASHED, SOFTWARE};
use crate::support::machine_file;
use pagewalk_machine::config::{MachineConfig, Override};

const KEEP: &str = "tlb.extreme.keep=until-flushed";
const AHEAD: &str = "tlb.extreme.ahead=true";

/// Moves the page without a flush; of a hash table the entry goes, but not that of the TLB.
const MOVED: &str = "poke 0x00221000, 0x00302192\n poke 0x002048c0, 0";
/// Two more pages of the same set, whose entries displace that of the page.
const OTHERS: &str =
    "load 10, 0x40040000\n lwz 6, 0(10)\n load 10, 0x40080000\n lwz 6, 0(10)\n lwz 6, 0(5)";

#[test]
fn an_entry_that_a_real_tlb_has_displaced_is_kept() {
    for machine in [SOFTWARE, HASHED] {
        assert_eq!(verdict_with(machine, &[], MOVED, OTHERS), None, "{machine}");
        let report = verdict_with(machine, &[KEEP], MOVED, OTHERS).expect(machine);
        for words in ["(late)", "another page frame", "none since the change"] {
            assert!(report.contains(words), "{machine}: {words} in\n{report}");
        }
        let flushed = format!("{MOVED}\n tlbie 5\n sync");
        assert_eq!(verdict_with(machine, &[KEEP], &flushed, OTHERS), None);
    }
}

#[test]
fn a_walk_ahead_loads_a_page_that_the_kernel_takes_for_unused() {
    // The hash table has the second page; the kernel moves it without a flush, because nobody has used it.
    let kernel = |referenced: &str, flush: &str| {
        format!(
            "poke 0x00204884, {referenced}
             poke 0x00204880, 0x80009180
             poke 0x002048c0, 0
             tlbie 5
             lwz 6, 0(5)
             poke 0x00221004, 0x00302192
             poke 0x00204880, 0
             {flush}"
        )
    };
    let (used, reads) = (kernel("0x00301192", ""), "lwz 6, 0x1000(5)");
    assert_eq!(verdict_with(HASHED, &[], &used, reads), None);
    let report = verdict_with(HASHED, &[AHEAD], &used, reads).unwrap();
    assert!(report.contains("another page frame"), "{report}");
    // A walk ahead writes nothing: an entry without R stays where it is.
    let fresh = kernel("0x00301092", "");
    assert_eq!(verdict_with(HASHED, &[AHEAD], &fresh, reads), None);
    let flushed = kernel("0x00301192", "addi 7, 5, 0x1000\n tlbie 7\n sync");
    assert_eq!(verdict_with(HASHED, &[AHEAD], &flushed, reads), None);
}

#[test]
fn entries_may_leave_at_any_exception() {
    for machine in [SOFTWARE, HASHED] {
        for seed in 1..4 {
            let keys = [KEEP, &format!("tlb.extreme.evict={seed}")];
            let flushed = format!("{MOVED}\n tlbie 5\n sync");
            assert_eq!(verdict_with(machine, &keys, &flushed, OTHERS), None);
        }
    }
}

#[test]
fn what_a_core_cannot_do_is_refused() {
    for (machine, key, words) in [
        (SOFTWARE, AHEAD, "software reloads the TLBs: remove it"),
        ("mpc855t-48", KEEP, "software chooses the entries"),
        (
            "ppc405-200",
            "tlb.extreme.evict=1",
            "software chooses the entries",
        ),
        ("ppc970-1600", AHEAD, "ERATs"),
        (
            HASHED,
            "tlb.extreme.keep=forever",
            "allowed is \"until-flushed\"",
        ),
        (HASHED, "tlb.extreme.kept=1", "unknown key"),
    ] {
        let settings = [Override::parse(key).unwrap()];
        let refused = MachineConfig::from_file(&machine_file(machine), &settings);
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains(words), "{machine}: {refused}");
    }
}

#[test]
fn a_tlb_that_keeps_entries_has_sets_as_before() {
    for (machine, sets) in [(SOFTWARE, 32), (HASHED, 64)] {
        let settings = [Override::parse(KEEP).unwrap()];
        let config = MachineConfig::from_file(&machine_file(machine), &settings).unwrap();
        assert_eq!((config.tlb.data.sets(), config.tlb.data.ways), (sets, 64));
    }
}
