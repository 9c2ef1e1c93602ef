//! A PowerPC under GDB's control: its registers, and how GDB names them.
//!
//! Numbers follow GDB's own for PowerPC (`rs6000-tdep`: r0-r31, f0-f31, pc, msr, cr, lr, ctr, xer, fpscr); the
//! supervisor's registers follow and are found by name.

use super::Processor;
use super::registers::Register;
use super::word::Word as _;
use super::{msr, spr, spr_970};
use crate::debug::{Debugged, Layout, Row};
use crate::memory::RamAddress;

/// A 32-bit big-endian PowerPC with the supervisor's registers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PowerPc;

/// Where the machine keeps a register, or registers with a number each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    General,
    Float,
    Pc,
    Msr,
    Cr,
    Lr,
    Ctr,
    Xer,
    Fpscr,
    /// Special-purpose registers.
    Spr,
    /// Those that only a 405 has under these numbers.
    Spr405,
    Segment,
    /// Temporary registers of the 603's TLB-miss handlers.
    Temporary,
    /// In its whole width of 64 bits.
    Whole,
    WholeLr,
    WholeCtr,
    /// GDB cannot write it here.
    WholeMsr,
    /// Special-purpose registers that only a 970 has in this width.
    WholeSpr,
}

use Place::{
    Cr, Ctr, Float, Fpscr, General, Lr, Msr, Pc, Segment, Spr, Spr405, Temporary, Whole, WholeCtr,
    WholeLr, WholeMsr, WholeSpr, Xer,
};

impl Place {
    /// Feature, bits and attributes of such a register in the target description.
    fn shape(self) -> (&'static str, usize, &'static str) {
        const CORE: &str = "org.gnu.gdb.power.core";
        const FLOAT: &str = "org.gnu.gdb.power.fpu";
        const WHOLE: &str = "type=\"uint64\" group=\"system\"";
        match self {
            General | Msr | Cr | Ctr | Xer => (CORE, 32, "type=\"uint32\""),
            Pc | Lr => (CORE, 32, "type=\"code_ptr\""),
            Float => (FLOAT, 64, "type=\"ieee_double\""),
            Fpscr => (FLOAT, 32, "group=\"float\""),
            Spr | Spr405 | Segment | Temporary => (
                "org.pagewalk.supervisor",
                32,
                "type=\"uint32\" group=\"system\"",
            ),
            Whole | WholeLr | WholeCtr | WholeMsr | WholeSpr => ("org.pagewalk.whole", 64, WHOLE),
        }
    }
}

/// All registers, by number. On a core without one it reads zero and ignores writes.
///
/// Those in their whole width are last. A kernel of 32 bits saves and finds the lower halves, so that `r0` to `r31`
/// have 32 bits on a 970, too, and the last names have all. On other cores the upper half reads zero.
fn table() -> Vec<(Row, Place, u32)> {
    let row = |place: Place, first, names: Vec<String>| {
        let (feature, bits, attributes) = place.shape();
        let row = Row {
            feature,
            names,
            bits,
            attributes,
        };
        (row, place, first)
    };
    let listed = |place, first, names: &str| {
        let names = names.split(' ').map(str::to_owned);
        row(place, first, names.collect())
    };
    let counted = |place, first, (name, count)| {
        let names = (0..count).map(|n| format!("{name}{n}"));
        row(place, first, names.collect())
    };
    vec![
        counted(General, 0, ("r", 32)),
        counted(Float, 0, ("f", 32)),
        listed(Pc, 0, "pc"),
        listed(Msr, 0, "msr"),
        listed(Cr, 0, "cr"),
        listed(Lr, 0, "lr"),
        listed(Ctr, 0, "ctr"),
        listed(Xer, 0, "xer"),
        listed(Fpscr, 0, "fpscr"),
        counted(Segment, 0, ("sr", 16)),
        listed(
            Spr,
            528,
            "ibat0u ibat0l ibat1u ibat1l ibat2u ibat2l ibat3u ibat3l dbat0u dbat0l dbat1u dbat1l dbat2u dbat2l dbat3u dbat3l",
        ),
        listed(Spr, 25, "sdr1 srr0 srr1"),
        listed(Spr, 18, "dsisr dar"),
        listed(Spr, 22, "dec"),
        listed(Spr, 268, "tbl tbu"),
        counted(Spr, 272, ("sprg", 4)),
        listed(Spr, 282, "ear"),
        listed(Spr, 287, "pvr"),
        listed(Spr, 1008, "hid0 hid1 iabr"),
        listed(Spr, 1013, "dabr"),
        listed(Spr, 952, "mmcr0 pmc1 pmc2 sia"),
        listed(Spr, 959, "sda"),
        listed(Spr, 976, "dmiss dcmp hash1 hash2 imiss icmp rpa"),
        counted(Temporary, 0, ("tgpr", 4)),
        listed(Spr, 784, "mi_ctr"),
        listed(Spr, 786, "mi_ap mi_epn"),
        listed(Spr, 789, "mi_twc mi_rpn"),
        listed(
            Spr,
            792,
            "md_ctr m_casid md_ap md_epn m_twb md_twc md_rpn m_tw",
        ),
        listed(Spr, 816, "mi_cam mi_ram0 mi_ram1"),
        listed(Spr, 824, "md_cam md_ram0 md_ram1"),
        listed(Spr405, 256, "usprg0"),
        listed(Spr405, 276, "sprg4 sprg5 sprg6 sprg7"),
        listed(Spr405, 944, "zpr pid"),
        listed(Spr405, 947, "ccr0"),
        listed(Spr405, 953, "sgr dcwr"),
        listed(Spr405, 979, "icdbdr esr dear evpr"),
        listed(Spr405, 984, "tsr"),
        listed(Spr405, 986, "tcr pit"),
        listed(Spr405, 990, "srr2 srr3"),
        listed(Spr405, 1008, "dbsr"),
        listed(Spr405, 1010, "dbcr0"),
        listed(Spr405, 1018, "dccr iccr"),
        listed(Spr405, 957, "dbcr1"),
        counted(Whole, 0, ("x", 32)),
        listed(WholeLr, 0, "xlr"),
        listed(WholeCtr, 0, "xctr"),
        listed(WholeMsr, 0, "xmsr"),
        listed(WholeSpr, 25, "xsdr1 xsrr0 xsrr1"),
        listed(WholeSpr, 19, "xdar"),
        listed(WholeSpr, 1008, "xhid0"),
        listed(WholeSpr, 311, "hior"),
        listed(WholeSpr, 1012, "hid4"),
        listed(WholeSpr, 1014, "hid5"),
    ]
}

/// The place of each register, by number.
fn places() -> impl Iterator<Item = (Place, u32)> {
    let each = |(row, place, first): (Row, Place, u32)| {
        (first..).map(move |n| (place, n)).take(row.names.len())
    };
    table().into_iter().flat_map(each)
}

impl Layout for PowerPc {
    const ARCHITECTURE: &'static str = "powerpc:common";
    const BIG_ENDIAN: bool = true;
    const PC: usize = 64;

    fn rows() -> Vec<Row> {
        table().into_iter().map(|(row, ..)| row).collect()
    }
}

/// Special-purpose registers are read as the supervisor reads them, whatever mode the guest is in.
fn as_supervisor<T>(processor: &mut Processor, action: impl FnOnce(&mut Processor) -> T) -> T {
    let state = processor.registers.msr;
    processor.registers.msr &= !msr::PR;
    let result = action(processor);
    processor.registers.msr = state;
    result
}

/// A 405 and the other cores have different registers under the same numbers, but for these.
fn on_all_cores(number: u32) -> bool {
    use spr::number as n;
    matches!(
        number,
        n::SRR0 | n::SRR1 | n::SPRG0..=n::SPRG3 | n::TBL_READ | n::TBU_READ | n::PVR
    )
}

/// Does the core lack the register?
fn is_missing(processor: &Processor, place: Place, number: u32) -> bool {
    let is_405 = processor.registers.embedded.is_some();
    match place {
        Spr => is_405 && !on_all_cores(number),
        Spr405 => !is_405,
        WholeSpr => !processor.registers.wide.there,
        _ => false,
    }
}

/// The value of a register; nothing changes.
fn value(processor: &mut Processor, place: Place, number: u32) -> u64 {
    if is_missing(processor, place, number) {
        return 0;
    }
    let registers = &processor.registers;
    match place {
        General => registers.gpr.all()[number as usize].into(),
        Float => registers.fpr[number as usize],
        Pc => registers.pc.into(),
        Msr => registers.msr.into(),
        Cr => registers.cr.word().into(),
        Lr => registers.lr.into(),
        Ctr => registers.ctr.into(),
        Xer => registers.xer.word().into(),
        Fpscr => registers.fpscr.into(),
        Spr if number == spr::number::TBL_READ => u64::from(processor.time_base() as u32),
        Spr if number == spr::number::TBU_READ => processor.time_base() >> 32,
        Spr | Spr405 => {
            let read = |processor: &mut Processor| {
                if processor.registers.wide.there {
                    spr_970::read(processor, number).map(|value| value as u32)
                } else {
                    spr::read(processor, number)
                }
            };
            as_supervisor(processor, read).unwrap_or(0).into()
        }
        Segment => {
            let mmu = &processor.mmu;
            let front = mmu.front().map(|front| front.segments.read(number));
            let slb = mmu.hash64().map(|unit| unit.read_segment(number));
            front.or(slb).unwrap_or(0).into()
        }
        Temporary => registers.temporary[number as usize].into(),
        Whole => registers.gpr.whole(Register::new(number)),
        WholeLr => u64::link(registers),
        WholeCtr => u64::count(registers),
        WholeMsr => u64::from(registers.wide.msr()) << 32 | u64::from(registers.msr),
        WholeSpr => as_supervisor(processor, |processor| {
            spr_970::read(processor, number).unwrap_or(0)
        }),
    }
}

fn set_value(processor: &mut Processor, place: Place, number: u32, value: u64) {
    if is_missing(processor, place, number) {
        return;
    }
    let registers = &mut processor.registers;
    let (wide, word) = (registers.wide.there, value as u32);
    match place {
        // The upper half of a register stays, unless the lower one is changed.
        General => registers.gpr.set(Register::new(number), word),
        Float => registers.fpr[number as usize] = value,
        Pc => registers.pc = word,
        Msr => registers.msr = word,
        Cr => registers.cr.set_word(word),
        Lr => (registers.lr, registers.wide.lr) = (word, 0),
        Ctr => (registers.ctr, registers.wide.ctr) = (word, 0),
        Xer => registers.xer.set_word(word),
        Fpscr => registers.fpscr = word,
        Spr | Spr405 => {
            let number = match number {
                spr::number::TBL_READ => spr::number::TBL_WRITE,
                spr::number::TBU_READ => spr::number::TBU_WRITE,
                other => other,
            };
            // A register that the core lacks ignores the write.
            let write = |processor: &mut Processor| {
                if wide {
                    spr_970::write(processor, number, value)
                } else {
                    spr::write(processor, number, word)
                }
            };
            let _ = as_supervisor(processor, write);
        }
        Segment => {
            if let Some(front) = processor.mmu.front_mut() {
                front.segments.write(number, word);
            }
            if let Some(unit) = processor.mmu.hash64_mut() {
                unit.write_segment(number, word);
            }
        }
        Temporary => registers.temporary[number as usize] = word,
        Whole if wide => registers.gpr.set_whole(Register::new(number), value),
        WholeLr if wide => u64::set_link(registers, value),
        WholeCtr if wide => u64::set_count(registers, value),
        Whole | WholeLr | WholeCtr | WholeMsr => {}
        WholeSpr => {
            // All of these can be written.
            let _ = as_supervisor(processor, |processor| {
                spr_970::write(processor, number, value)
            });
        }
    }
}

impl Debugged for Processor {
    type Layout = PowerPc;

    const WATCHES: bool = true;
    const SLEEPS: &'static str = "saves power";

    fn values(&mut self) -> Vec<u128> {
        let value = |(place, number)| value(self, place, number).into();
        places().map(value).collect()
    }

    fn set_values(&mut self, values: &[u128], before: &[u128]) {
        for (place, (&value, &old)) in places().zip(values.iter().zip(before)) {
            if value != old {
                set_value(self, place.0, place.1, value as u64);
            }
        }
        self.state_changed();
    }

    fn place(&self, address: u64) -> Option<RamAddress> {
        self.peek_translation(address.try_into().ok()?)
    }

    /// Code in the line is decoded again, so that a debugger can place a breakpoint.
    fn is_written(&mut self, at: RamAddress) {
        for place in self.memory.places.all(at) {
            self.memory.instruction.invalidate(place);
        }
    }

    /// A ROM can be read, too.
    fn read_byte(&self, address: u64) -> Option<u8> {
        let (at, uncore) = (self.place(address)?, &self.memory.uncore);
        uncore
            .ram
            .read_u8(at)
            .or_else(|| uncore.board.peek(at.into()))
    }
}
