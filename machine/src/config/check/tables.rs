//! Tables of a machine file that some PowerPC cores cannot have.

use super::Checker;
use crate::config::{CoreKind, Family};

/// Why a core of this kind cannot have the table at `path`, if it cannot.
pub(in crate::config) fn refusal(kind: CoreKind, path: &str) -> Option<String> {
    let family = kind.core().family;
    let why = match (path, family) {
        ("walk", _) if !kind.hash_walk() => ", whose TLBs software reloads",
        ("tlb.unified", Family::Classic | Family::Mpc8xx) => ", as only a 405 or 970 has one",
        ("tlb.l2", Family::Mpc8xx) => ", whose software loads and numbers the entries of its TLBs",
        ("tlb.l2", Family::Ppc405) => ", whose unified TLB is behind the others",
        ("tlb.l2", Family::Ppc970) => ", whose TLB is behind its ERATs",
        ("cache.l2" | "cache.l3", Family::Mpc8xx | Family::Ppc405) => ", which has none",
        _ => return None,
    };
    Some(format!(
        "does not go with core.kind \"{}\"{why}",
        kind.name()
    ))
}

impl Checker {
    /// Reports the table at `path`, which the file has, if a core of this kind cannot have it.
    pub(super) fn table(&mut self, path: &'static str, kind: CoreKind) {
        if let Some(reason) = refusal(kind, path) {
            self.fail(path, format!("{reason}: remove [{path}]"));
        }
    }
}
