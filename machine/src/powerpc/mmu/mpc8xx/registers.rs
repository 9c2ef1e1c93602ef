//! The registers of the unit: their numbers, bits of Mx_CTR, and the entry that the debug registers show.

use super::Side;
use super::tlb::{Entry, rpn};
use crate::powerpc::mmu::Access;

/// SPR numbers (Linux asm/mmu-8xx.h).
pub mod number {
    /// Instruction MMU control.
    pub const MI_CTR: u32 = 784;
    /// Instruction access protection.
    pub const MI_AP: u32 = 786;
    /// Instruction effective page number.
    pub const MI_EPN: u32 = 787;
    /// Instruction tablewalk control: level-one descriptor.
    pub const MI_TWC: u32 = 789;
    /// Instruction real page number: level-two descriptor. Writing it loads an entry.
    pub const MI_RPN: u32 = 790;
    /// Data MMU control.
    pub const MD_CTR: u32 = 792;
    /// Current address space.
    pub const M_CASID: u32 = 793;
    /// Data access protection.
    pub const MD_AP: u32 = 794;
    /// Data effective page number.
    pub const MD_EPN: u32 = 795;
    /// Tablewalk base.
    pub const M_TWB: u32 = 796;
    /// Data tablewalk control.
    pub const MD_TWC: u32 = 797;
    /// Data real page number.
    pub const MD_RPN: u32 = 798;
    /// Scratch.
    pub const M_TW: u32 = 799;
    /// Instruction TLB entry as read: CAM half. Writing it reads the entry that MI_CTR points to.
    pub const MI_CAM: u32 = 816;
    /// RAM half, first word.
    pub const MI_RAM0: u32 = 817;
    /// RAM half, second word.
    pub const MI_RAM1: u32 = 818;
    /// The same of the data TLB.
    pub const MD_CAM: u32 = 824;
    /// RAM half, first word.
    pub const MD_RAM0: u32 = 825;
    /// RAM half, second word.
    pub const MD_RAM1: u32 = 826;
}

use number as n;

/// Every register of the unit.
pub const REGISTERS: [u32; 19] = [
    n::MI_CTR,
    n::MI_AP,
    n::MI_EPN,
    n::MI_TWC,
    n::MI_RPN,
    n::MD_CTR,
    n::M_CASID,
    n::MD_AP,
    n::MD_EPN,
    n::M_TWB,
    n::MD_TWC,
    n::MD_RPN,
    n::M_TW,
    n::MI_CAM,
    n::MI_RAM0,
    n::MI_RAM1,
    n::MD_CAM,
    n::MD_RAM0,
    n::MD_RAM1,
];

/// Bits of Mx_CTR.
pub mod control {
    /// GPM: groups are domains.
    pub const DOMAINS: u32 = 0x8000_0000;
    /// PPM: pages of 4 KB have protection by subpage.
    pub const SUBPAGES: u32 = 0x4000_0000;
    /// CIDEF: memory is cache-inhibited in real mode.
    pub const REAL_INHIBITED: u32 = 0x2000_0000;
    /// WTDEF: memory is written through in real mode (MD_CTR alone).
    pub const REAL_WRITE_THROUGH: u32 = 0x1000_0000;
    /// RSV4I, RSV4D: the last entries are reserved.
    pub const RESERVE: u32 = 0x0800_0000;
    /// TWAM: the tables are for pages of 4 KB, not subpages of 1 KB (MD_CTR alone).
    pub const WALK_4K: u32 = 0x0400_0000;
    /// PPCS: entries hit by mode.
    pub const MODES: u32 = 0x0200_0000;
    /// INDX: the entry that is loaded next.
    pub const INDEX: u32 = 0x0000_1f00;
}

/// Subpages, a bit each, of which `allows` is true.
fn each_subpage(entry: &Entry, allows: impl Fn(u32) -> bool) -> u32 {
    (0..4).fold(0, |bits, n| {
        bits << 1 | u32::from(allows(entry.page() | n << 10))
    })
}

/// The entry that Mx_CTR points to.
fn shown(side: &Side) -> Entry {
    let entry = side.tlb.entry(side.tlb.index());
    entry.copied().unwrap_or_default()
}

/// MI_CAM: EPN, page size (20-22), ASID (23-26), SH (27), valid subpages (28-31; none if the entry is invalid).
/// MI_RAM0: RPN, page size (20-22), CI (23), group (24-27), subpages that the supervisor may execute (28-31).
/// MI_RAM1: those that users may (26-29), page valid (30), G (31).
pub(super) fn instruction_halves(side: &Side) -> [u32; 3] {
    let entry = shown(side);
    if !entry.valid() {
        return [0; 3];
    }
    let size = entry.size().code() << 9;
    let executes = |user| each_subpage(&entry, |ea| entry.permits(ea, Access::Fetch, user));
    [
        entry.page()
            | size
            | u32::from(entry.asid()) << 5
            | u32::from(entry.shared()) << 4
            | entry.subpages(),
        entry.rpn() & rpn::PAGE
            | size
            | u32::from(entry.inhibited()) << 8
            | entry.group() << 4
            | executes(false),
        executes(true) << 2 | u32::from(entry.page_valid()) << 1 | u32::from(entry.guarded()),
    ]
}

/// MD_CAM: EPN, valid subpages (20-23), page size (24-26), SH (27), ASID (28-31). MD_RAM0: RPN, page size (20-22),
/// group (23-26), G (27), WT (28), CI (29). MD_RAM1: C (17), entry valid (18), subpages that the supervisor may access
/// (19-22), which it may write (23), and for each subpage whether users may read and write it (24-31).
pub(super) fn data_halves(side: &Side) -> [u32; 3] {
    let entry = shown(side);
    if !entry.valid() {
        return [0; 3];
    }
    let may = |access, user| each_subpage(&entry, |ea| entry.permits(ea, access, user));
    let (reads, writes) = (may(Access::Load, true), may(Access::Store, true));
    let users = (0..4).fold(0, |bits, n| {
        bits << 2 | (reads >> (3 - n) & 1) << 1 | writes >> (3 - n) & 1
    });
    [
        entry.page()
            | entry.subpages() << 8
            | entry.size().code() << 5
            | u32::from(entry.shared()) << 4
            | u32::from(entry.asid()),
        entry.rpn() & rpn::PAGE
            | entry.size().code() << 9
            | entry.group() << 5
            | u32::from(entry.guarded()) << 4
            | u32::from(entry.write_through()) << 3
            | u32::from(entry.inhibited()) << 2,
        u32::from(entry.changed()) << 14
            | u32::from(entry.page_valid()) << 13
            | may(Access::Load, false) << 9
            | u32::from(may(Access::Store, false) != 0) << 8
            | users,
    ]
}
