//! Checks sizes and replacement of the TLBs.

use crate::config::REPLACEMENTS;

use super::Checker;
use crate::config::{Family, MachineConfig, SecondTlbConfig, shape};

pub(super) fn check(checker: &mut Checker, config: &MachineConfig) {
    let tlb = &config.tlb;
    for (paths, tlb) in [
        (
            ["tlb.instruction.entries", "tlb.instruction.ways"],
            &tlb.instruction,
        ),
        (["tlb.data.entries", "tlb.data.ways"], &tlb.data),
    ] {
        let rule = if config.core.kind.core().is_970() {
            shape::erat(tlb.entries, tlb.ways)
        } else {
            shape::tlb(tlb.entries, tlb.ways)
        };
        checker.shape(&paths, rule);
    }
    if let Some(second) = &tlb.l2 {
        second_tlb(checker, second);
    }
    extreme(checker, config);
    let second = (tlb.l2.as_ref()).and_then(|second| second.replacement.as_deref());
    for (path, name) in [
        (
            "tlb.instruction.replacement",
            tlb.instruction.replacement.as_deref(),
        ),
        ("tlb.data.replacement", tlb.data.replacement.as_deref()),
        ("tlb.l2.replacement", second),
    ] {
        let Some(name) = name else { continue };
        if !replacement(checker, path, name) {
            continue;
        }
        if config.core.kind.core().is_8xx() {
            checker.fail(
                path,
                "does not go with core.kind \"8xx\", where software chooses the entry by Mx_CTR: remove it",
            );
        } else if config.core.kind.core().family == Family::Ppc405 {
            checker.fail(
                path,
                "does not go with core.kind \"405\", whose shadow TLBs are replaced round robin: remove it",
            );
        } else if config.core.kind.core().is_970() {
            checker.fail(
                path,
                "does not go with core.kind \"970\", whose ERATs are replaced round robin: remove it",
            );
        }
    }
}

/// Checks what a TLB does that makes errors of a kernel visible: hardware must choose entries, or walk, for that.
fn extreme(checker: &mut Checker, config: &MachineConfig) {
    let (extreme, kind) = (&config.tlb.extreme, config.core.kind);
    extreme.check(checker);
    let core = kind.core();
    let (keys, why): (&[&'static str], _) = if core.is_8xx() || core.family == Family::Ppc405 {
        (
            &["keep", "evict", "ahead"],
            "where software chooses the entries that it overwrites",
        )
    } else if core.is_970() {
        (
            &["evict", "ahead"],
            "whose ERATs may keep a page that its TLB has lost",
        )
    } else if kind.hash_walk() {
        return;
    } else {
        (&["ahead"], "where software reloads the TLBs")
    };
    extreme.refuse(checker, keys, kind.name(), why);
}

/// Checks sizes and times of a second-level TLB.
pub(crate) fn second_tlb(checker: &mut Checker, second: &SecondTlbConfig) {
    let paths = ["tlb.l2.entries", "tlb.l2.ways"];
    checker.shape(&paths, shape::tlb(second.entries, second.ways));
    checker.range("tlb.l2.hit", second.hit.into(), 0, 1000);
    checker.range("tlb.l2.miss", second.miss.into(), 0, 1000);
}

/// Checks the name of a replacement policy. True if there is such a policy.
pub(crate) fn replacement(checker: &mut Checker, path: &'static str, name: &str) -> bool {
    let known = REPLACEMENTS.contains(&name);
    if !known {
        let allowed = REPLACEMENTS.join(", ");
        checker.fail(path, format!("is \"{name}\": allowed are {allowed}"));
    }
    known
}
