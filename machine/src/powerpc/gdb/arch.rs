//! The processor as GDB sees it: register file and target description.
//!
//! Numbers follow GDB's own for PowerPC (`rs6000-tdep`: r0-r31, f0-f31, pc, msr, cr, lr, ctr, xer, fpscr); the
//! supervisor's registers follow and are found by name.

use std::fmt::Write as _;

use gdbstub::arch::{Arch, RegId, Registers};

/// A 32-bit big-endian PowerPC with the supervisor's registers.
#[derive(Debug)]
pub enum PowerPc {}

/// Where the machine keeps a supervisor's register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    /// Special-purpose register by number.
    Spr(u32),
    /// One that only a 405 has under this number.
    Spr405(u32),
    /// Segment register.
    Segment(u32),
    /// Temporary register of the 603's TLB-miss handlers.
    Temporary(usize),
}

use System::{Segment, Spr, Spr405, Temporary};

/// The registers after the user's, in the order of their numbers. On a core without one it reads zero and ignores
/// writes.
pub const SYSTEM: [(&str, System); 109] = [
    ("sr0", Segment(0)),
    ("sr1", Segment(1)),
    ("sr2", Segment(2)),
    ("sr3", Segment(3)),
    ("sr4", Segment(4)),
    ("sr5", Segment(5)),
    ("sr6", Segment(6)),
    ("sr7", Segment(7)),
    ("sr8", Segment(8)),
    ("sr9", Segment(9)),
    ("sr10", Segment(10)),
    ("sr11", Segment(11)),
    ("sr12", Segment(12)),
    ("sr13", Segment(13)),
    ("sr14", Segment(14)),
    ("sr15", Segment(15)),
    ("ibat0u", Spr(528)),
    ("ibat0l", Spr(529)),
    ("ibat1u", Spr(530)),
    ("ibat1l", Spr(531)),
    ("ibat2u", Spr(532)),
    ("ibat2l", Spr(533)),
    ("ibat3u", Spr(534)),
    ("ibat3l", Spr(535)),
    ("dbat0u", Spr(536)),
    ("dbat0l", Spr(537)),
    ("dbat1u", Spr(538)),
    ("dbat1l", Spr(539)),
    ("dbat2u", Spr(540)),
    ("dbat2l", Spr(541)),
    ("dbat3u", Spr(542)),
    ("dbat3l", Spr(543)),
    ("sdr1", Spr(25)),
    ("srr0", Spr(26)),
    ("srr1", Spr(27)),
    ("dsisr", Spr(18)),
    ("dar", Spr(19)),
    ("dec", Spr(22)),
    ("tbl", Spr(268)),
    ("tbu", Spr(269)),
    ("sprg0", Spr(272)),
    ("sprg1", Spr(273)),
    ("sprg2", Spr(274)),
    ("sprg3", Spr(275)),
    ("ear", Spr(282)),
    ("pvr", Spr(287)),
    ("hid0", Spr(1008)),
    ("hid1", Spr(1009)),
    ("iabr", Spr(1010)),
    ("dabr", Spr(1013)),
    ("mmcr0", Spr(952)),
    ("pmc1", Spr(953)),
    ("pmc2", Spr(954)),
    ("sia", Spr(955)),
    ("sda", Spr(959)),
    ("dmiss", Spr(976)),
    ("dcmp", Spr(977)),
    ("hash1", Spr(978)),
    ("hash2", Spr(979)),
    ("imiss", Spr(980)),
    ("icmp", Spr(981)),
    ("rpa", Spr(982)),
    ("tgpr0", Temporary(0)),
    ("tgpr1", Temporary(1)),
    ("tgpr2", Temporary(2)),
    ("tgpr3", Temporary(3)),
    ("mi_ctr", Spr(784)),
    ("mi_ap", Spr(786)),
    ("mi_epn", Spr(787)),
    ("mi_twc", Spr(789)),
    ("mi_rpn", Spr(790)),
    ("md_ctr", Spr(792)),
    ("m_casid", Spr(793)),
    ("md_ap", Spr(794)),
    ("md_epn", Spr(795)),
    ("m_twb", Spr(796)),
    ("md_twc", Spr(797)),
    ("md_rpn", Spr(798)),
    ("m_tw", Spr(799)),
    ("mi_cam", Spr(816)),
    ("mi_ram0", Spr(817)),
    ("mi_ram1", Spr(818)),
    ("md_cam", Spr(824)),
    ("md_ram0", Spr(825)),
    ("md_ram1", Spr(826)),
    ("usprg0", Spr405(256)),
    ("sprg4", Spr405(276)),
    ("sprg5", Spr405(277)),
    ("sprg6", Spr405(278)),
    ("sprg7", Spr405(279)),
    ("zpr", Spr405(944)),
    ("pid", Spr405(945)),
    ("ccr0", Spr405(947)),
    ("sgr", Spr405(953)),
    ("dcwr", Spr405(954)),
    ("icdbdr", Spr405(979)),
    ("esr", Spr405(980)),
    ("dear", Spr405(981)),
    ("evpr", Spr405(982)),
    ("tsr", Spr405(984)),
    ("tcr", Spr405(986)),
    ("pit", Spr405(987)),
    ("srr2", Spr405(990)),
    ("srr3", Spr405(991)),
    ("dbsr", Spr405(1008)),
    ("dbcr0", Spr405(1010)),
    ("dccr", Spr405(1018)),
    ("iccr", Spr405(1019)),
    ("dbcr1", Spr405(957)),
];

/// Where the machine keeps a register of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whole {
    General(u32),
    Link,
    Count,
    /// MSR. GDB cannot write it here.
    State,
    /// Special-purpose register that only a 970 has in this width.
    Spr(u32),
}

/// Registers in their whole width, after the supervisor's. A kernel of 32 bits saves and finds the lower halves, so
/// that `r0` to `r31` have 32 bits on a 970, too, and these names have all. On other cores the upper half reads zero.
pub const WHOLE: [(&str, Whole); 43] = [
    ("x0", Whole::General(0)),
    ("x1", Whole::General(1)),
    ("x2", Whole::General(2)),
    ("x3", Whole::General(3)),
    ("x4", Whole::General(4)),
    ("x5", Whole::General(5)),
    ("x6", Whole::General(6)),
    ("x7", Whole::General(7)),
    ("x8", Whole::General(8)),
    ("x9", Whole::General(9)),
    ("x10", Whole::General(10)),
    ("x11", Whole::General(11)),
    ("x12", Whole::General(12)),
    ("x13", Whole::General(13)),
    ("x14", Whole::General(14)),
    ("x15", Whole::General(15)),
    ("x16", Whole::General(16)),
    ("x17", Whole::General(17)),
    ("x18", Whole::General(18)),
    ("x19", Whole::General(19)),
    ("x20", Whole::General(20)),
    ("x21", Whole::General(21)),
    ("x22", Whole::General(22)),
    ("x23", Whole::General(23)),
    ("x24", Whole::General(24)),
    ("x25", Whole::General(25)),
    ("x26", Whole::General(26)),
    ("x27", Whole::General(27)),
    ("x28", Whole::General(28)),
    ("x29", Whole::General(29)),
    ("x30", Whole::General(30)),
    ("x31", Whole::General(31)),
    ("xlr", Whole::Link),
    ("xctr", Whole::Count),
    ("xmsr", Whole::State),
    ("xsdr1", Whole::Spr(25)),
    ("xsrr0", Whole::Spr(26)),
    ("xsrr1", Whole::Spr(27)),
    ("xdar", Whole::Spr(19)),
    ("xhid0", Whole::Spr(1008)),
    ("hior", Whole::Spr(311)),
    ("hid4", Whole::Spr(1012)),
    ("hid5", Whole::Spr(1014)),
];

/// A snapshot of all registers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RegisterFile {
    pub gpr: [u32; 32],
    pub fpr: [u64; 32],
    pub pc: u32,
    pub msr: u32,
    pub cr: u32,
    pub lr: u32,
    pub ctr: u32,
    pub xer: u32,
    pub fpscr: u32,
    /// In the order of [`SYSTEM`].
    pub system: Vec<u32>,
    /// In the order of [`WHOLE`].
    pub whole: Vec<u64>,
}

impl RegisterFile {
    fn words(&self) -> [u32; 6] {
        [self.pc, self.msr, self.cr, self.lr, self.ctr, self.xer]
    }
}

impl Registers for RegisterFile {
    type ProgramCounter = u32;

    fn pc(&self) -> u32 {
        self.pc
    }

    fn gdb_serialize(&self, mut write_byte: impl FnMut(Option<u8>)) {
        let mut put = |bytes: &[u8]| bytes.iter().for_each(|&byte| write_byte(Some(byte)));
        self.gpr.iter().for_each(|word| put(&word.to_be_bytes()));
        self.fpr.iter().for_each(|value| put(&value.to_be_bytes()));
        self.words()
            .iter()
            .for_each(|word| put(&word.to_be_bytes()));
        put(&self.fpscr.to_be_bytes());
        self.system.iter().for_each(|word| put(&word.to_be_bytes()));
        self.whole
            .iter()
            .for_each(|value| put(&value.to_be_bytes()));
    }

    fn gdb_deserialize(&mut self, bytes: &[u8]) -> Result<(), ()> {
        let mut rest = bytes;
        let mut word = || {
            let (head, tail) = rest.split_first_chunk::<4>()?;
            rest = tail;
            Some(u32::from_be_bytes(*head))
        };
        let mut read = || {
            let mut file = RegisterFile::default();
            for register in &mut file.gpr {
                *register = word()?;
            }
            for register in &mut file.fpr {
                *register = u64::from(word()?) << 32 | u64::from(word()?);
            }
            for register in [
                &mut file.pc,
                &mut file.msr,
                &mut file.cr,
                &mut file.lr,
                &mut file.ctr,
                &mut file.xer,
                &mut file.fpscr,
            ] {
                *register = word()?;
            }
            for _ in SYSTEM {
                file.system.push(word()?);
            }
            for _ in WHOLE {
                file.whole
                    .push(u64::from(word()?) << 32 | u64::from(word()?));
            }
            Some(file)
        };
        *self = read().ok_or(())?;
        Ok(())
    }
}

/// One register by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegisterId {
    General(usize),
    Float(usize),
    Pc,
    Msr,
    Cr,
    Lr,
    Ctr,
    Xer,
    Fpscr,
    /// Index in [`SYSTEM`].
    System(usize),
    /// Index in [`WHOLE`].
    Whole(usize),
}

/// The numbers of the registers of [`SYSTEM`], and of [`WHOLE`], begin here.
const FIRST_SYSTEM: usize = 71;
const FIRST_WHOLE: usize = FIRST_SYSTEM + SYSTEM.len();
const END: usize = FIRST_WHOLE + WHOLE.len();

impl RegId for RegisterId {
    fn from_raw_id(id: usize) -> Option<(Self, Option<std::num::NonZeroUsize>)> {
        let (register, size) = match id {
            0..32 => (RegisterId::General(id), 4),
            32..64 => (RegisterId::Float(id - 32), 8),
            64 => (RegisterId::Pc, 4),
            65 => (RegisterId::Msr, 4),
            66 => (RegisterId::Cr, 4),
            67 => (RegisterId::Lr, 4),
            68 => (RegisterId::Ctr, 4),
            69 => (RegisterId::Xer, 4),
            70 => (RegisterId::Fpscr, 4),
            FIRST_SYSTEM..FIRST_WHOLE => (RegisterId::System(id - FIRST_SYSTEM), 4),
            FIRST_WHOLE..END => (RegisterId::Whole(id - FIRST_WHOLE), 8),
            _ => return None,
        };
        Some((register, std::num::NonZeroUsize::new(size)))
    }
}

impl Arch for PowerPc {
    type Usize = u32;
    type Registers = RegisterFile;
    type BreakpointKind = usize;
    type RegId = RegisterId;
}

/// The target description that GDB reads first.
#[must_use]
pub fn target_description() -> String {
    let mut xml = String::from(
        "<?xml version=\"1.0\"?><!DOCTYPE target SYSTEM \"gdb-target.dtd\">\
         <target version=\"1.0\"><architecture>powerpc:common</architecture>\
         <feature name=\"org.gnu.gdb.power.core\">",
    );
    let mut put = |text: String| xml.push_str(&text);
    for n in 0..32 {
        put(format!(
            "<reg name=\"r{n}\" bitsize=\"32\" type=\"uint32\" regnum=\"{n}\"/>"
        ));
    }
    for (number, name, kind) in [
        (64, "pc", "code_ptr"),
        (65, "msr", "uint32"),
        (66, "cr", "uint32"),
        (67, "lr", "code_ptr"),
        (68, "ctr", "uint32"),
        (69, "xer", "uint32"),
    ] {
        put(format!(
            "<reg name=\"{name}\" bitsize=\"32\" type=\"{kind}\" regnum=\"{number}\"/>"
        ));
    }
    put("</feature><feature name=\"org.gnu.gdb.power.fpu\">".to_owned());
    for n in 0..32 {
        put(format!(
            "<reg name=\"f{n}\" bitsize=\"64\" type=\"ieee_double\" regnum=\"{}\"/>",
            32 + n
        ));
    }
    put("<reg name=\"fpscr\" bitsize=\"32\" group=\"float\" regnum=\"70\"/></feature>".to_owned());
    put("<feature name=\"org.pagewalk.supervisor\">".to_owned());
    for (n, (name, _)) in SYSTEM.iter().enumerate() {
        put(format!(
            "<reg name=\"{name}\" bitsize=\"32\" type=\"uint32\" group=\"system\" regnum=\"{}\"/>",
            FIRST_SYSTEM + n
        ));
    }
    put("</feature><feature name=\"org.pagewalk.whole\">".to_owned());
    for (n, (name, _)) in WHOLE.iter().enumerate() {
        put(format!(
            "<reg name=\"{name}\" bitsize=\"64\" type=\"uint64\" group=\"system\" regnum=\"{}\"/>",
            FIRST_WHOLE + n
        ));
    }
    let _ = write!(xml, "</feature></target>");
    xml
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_register_file_survives_the_wire() {
        let mut file = RegisterFile {
            pc: 0xc000_0100,
            msr: 0x1032,
            cr: 1,
            lr: 2,
            ctr: 3,
            xer: 4,
            fpscr: 5,
            system: (100..100 + SYSTEM.len() as u32).collect(),
            whole: (0..WHOLE.len() as u64).map(|n| n << 33 | 5).collect(),
            ..RegisterFile::default()
        };
        file.gpr[31] = 0xdead_beef;
        file.fpr[7] = 1.5f64.to_bits();
        let mut bytes = Vec::new();
        file.gdb_serialize(|byte| bytes.push(byte.unwrap()));
        assert_eq!(
            bytes.len(),
            32 * 4 + 32 * 8 + 7 * 4 + SYSTEM.len() * 4 + WHOLE.len() * 8
        );
        let mut other = RegisterFile::default();
        other.gdb_deserialize(&bytes).unwrap();
        assert_eq!(other, file);
        assert!(other.gdb_deserialize(&bytes[1..]).is_err());
    }

    #[test]
    fn every_number_has_its_register() {
        let last = FIRST_SYSTEM + SYSTEM.len() + WHOLE.len() - 1;
        assert_eq!(
            RegisterId::from_raw_id(last - WHOLE.len()).unwrap().0,
            RegisterId::System(SYSTEM.len() - 1)
        );
        assert_eq!(
            RegisterId::from_raw_id(last).unwrap().0,
            RegisterId::Whole(WHOLE.len() - 1)
        );
        assert!(RegisterId::from_raw_id(last + 1).is_none());
        assert_eq!(RegisterId::from_raw_id(40).unwrap().0, RegisterId::Float(8));
        let xml = target_description();
        for number in 0..=last {
            assert!(xml.contains(&format!("regnum=\"{number}\"")), "{number}");
        }
    }
}
