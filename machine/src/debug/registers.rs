//! The registers of a processor as GDB sees them. An architecture lists them by number; how GDB sends, reads and finds
//! them follows from this list.

use std::fmt::{Debug, Write as _};
use std::iter::repeat_n;
use std::marker::PhantomData;
use std::num::NonZeroUsize;

use gdbstub::arch::{Arch, RegId, Registers};

/// Registers that are alike and whose numbers follow one another.
pub struct Row {
    /// The feature of the target description that they belong to.
    pub feature: &'static str,
    pub names: Vec<String>,
    pub bits: usize,
    /// What else the target description says of them: their type, their group.
    pub attributes: &'static str,
}

impl Row {
    /// Registers with these names.
    pub fn named(
        feature: &'static str,
        names: &[&str],
        bits: usize,
        attributes: &'static str,
    ) -> Row {
        Row {
            feature,
            names: names.iter().copied().map(str::to_owned).collect(),
            bits,
            attributes,
        }
    }

    /// So many registers, whose names end with their places from 0 on.
    pub fn counted(
        feature: &'static str,
        (name, count): (&str, usize),
        bits: usize,
        attributes: &'static str,
    ) -> Row {
        Row {
            names: (0..count).map(|n| format!("{name}{n}")).collect(),
            ..Row::named(feature, &[], bits, attributes)
        }
    }
}

/// The registers of an architecture.
pub trait Layout: Clone + Debug + Default + PartialEq {
    /// The architecture's name in a target description.
    const ARCHITECTURE: &'static str;
    const BIG_ENDIAN: bool;
    /// The number of the program counter.
    const PC: usize;

    /// All registers, in the order of their numbers.
    fn rows() -> Vec<Row>;
}

/// The bytes of each register.
fn sizes<L: Layout>() -> Vec<usize> {
    let rows = L::rows().into_iter();
    rows.flat_map(|row| repeat_n(row.bits / 8, row.names.len()))
        .collect()
}

/// The target description, which GDB reads first.
pub fn description<L: Layout>() -> String {
    let rows = L::rows();
    let mut text = format!(
        "<?xml version=\"1.0\"?><!DOCTYPE target SYSTEM \"gdb-target.dtd\">\
         <target version=\"1.0\"><architecture>{}</architecture>",
        L::ARCHITECTURE
    );
    // A feature whose rows are apart is told where the first of them is.
    let mut told = Vec::new();
    for feature in rows.iter().map(|row| row.feature) {
        if told.contains(&feature) {
            continue;
        }
        told.push(feature);
        let _ = write!(text, "<feature name=\"{feature}\">");
        let all = rows
            .iter()
            .flat_map(|row| row.names.iter().map(move |name| (row, name)));
        for (number, (row, name)) in all.enumerate() {
            if row.feature == feature {
                let _ = write!(
                    text,
                    "<reg name=\"{name}\" bitsize=\"{}\" {} regnum=\"{number}\"/>",
                    row.bits, row.attributes
                );
            }
        }
        text += "</feature>";
    }
    text + "</target>"
}

/// An architecture with these registers. Addresses of 32 bits are sent as those of 64 are.
#[derive(Debug)]
pub struct Of<L>(PhantomData<L>);

impl<L: Layout> Arch for Of<L> {
    type Usize = u64;
    type Registers = File<L>;
    type BreakpointKind = usize;
    type RegId = Id<L>;
}

/// The number of a register.
#[derive(Debug)]
pub struct Id<L>(usize, PhantomData<L>);

impl<L: Layout> RegId for Id<L> {
    fn from_raw_id(id: usize) -> Option<(Self, Option<NonZeroUsize>)> {
        let size = *sizes::<L>().get(id)?;
        Some((Id(id, PhantomData), NonZeroUsize::new(size)))
    }
}

/// The values of all registers, by number.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct File<L>(pub Vec<u128>, PhantomData<L>);

impl<L: Layout> File<L> {
    /// These values.
    pub fn new(values: Vec<u128>) -> Self {
        File(values, PhantomData)
    }

    fn encoded(value: u128, size: usize) -> Vec<u8> {
        let mut bytes = value.to_le_bytes()[..size].to_vec();
        if L::BIG_ENDIAN {
            bytes.reverse();
        }
        bytes
    }

    /// The bytes of one register, as GDB reads them.
    pub fn bytes(&self, id: &Id<L>) -> Vec<u8> {
        Self::encoded(self.0[id.0], sizes::<L>()[id.0])
    }

    /// False if the register has not so many bytes.
    pub fn set(&mut self, id: &Id<L>, bytes: &[u8]) -> bool {
        let fold = |value, &byte: &u8| value << 8 | u128::from(byte);
        self.0[id.0] = if L::BIG_ENDIAN {
            bytes.iter().fold(0, fold)
        } else {
            bytes.iter().rev().fold(0, fold)
        };
        bytes.len() == sizes::<L>()[id.0]
    }
}

impl<L: Layout> Registers for File<L> {
    type ProgramCounter = u64;

    fn pc(&self) -> u64 {
        self.0[L::PC] as u64
    }

    fn gdb_serialize(&self, write_byte: impl FnMut(Option<u8>)) {
        let values = self.0.iter().zip(sizes::<L>());
        let bytes = values.flat_map(|(&value, size)| Self::encoded(value, size));
        bytes.map(Some).for_each(write_byte);
    }

    fn gdb_deserialize(&mut self, bytes: &[u8]) -> Result<(), ()> {
        let sizes = sizes::<L>();
        self.0 = vec![0; sizes.len()];
        let mut rest = bytes;
        for (number, size) in sizes.into_iter().enumerate() {
            let (own, others) = rest.split_at_checked(size).ok_or(())?;
            self.set(&Id(number, PhantomData), own);
            rest = others;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, Default, PartialEq)]
    struct Small<const BIG_ENDIAN: bool>;

    impl<const BIG_ENDIAN: bool> Layout for Small<BIG_ENDIAN> {
        const ARCHITECTURE: &'static str = "small";
        const BIG_ENDIAN: bool = BIG_ENDIAN;
        const PC: usize = 3;

        fn rows() -> Vec<Row> {
            vec![
                Row::counted("core", ("r", 2), 32, "type=\"uint32\""),
                Row::counted("float", ("f", 1), 80, "type=\"i387_ext\""),
                Row::named("core", &["pc"], 64, "type=\"code_ptr\""),
            ]
        }
    }

    fn survives<const BIG_ENDIAN: bool>(first: u8) {
        let file = File::<Small<BIG_ENDIAN>>::new(vec![1, 2, 3 << 72 | 4, 5]);
        let mut bytes = Vec::new();
        file.gdb_serialize(|byte| bytes.push(byte.unwrap()));
        assert_eq!((bytes.len(), bytes[0]), (4 + 4 + 10 + 8, first));
        let mut other = File::default();
        other.gdb_deserialize(&bytes).unwrap();
        assert_eq!((&other, other.pc()), (&file, 5));
        assert!(other.gdb_deserialize(&bytes[1..]).is_err());
        let (id, size) = Id::from_raw_id(2).unwrap();
        assert_eq!(size.unwrap().get(), 10);
        assert!(!other.set(&id, &[1; 8]) && other.set(&id, &[1; 10]));
        assert_eq!(other.bytes(&id), [1; 10]);
        assert!(Id::<Small<BIG_ENDIAN>>::from_raw_id(4).is_none());
    }

    #[test]
    fn registers_survive_the_wire() {
        survives::<true>(0);
        survives::<false>(1);
    }

    #[test]
    fn a_feature_is_described_once_and_every_number_is_there() {
        let text = description::<Small<true>>();
        assert_eq!(text.matches("<feature").count(), 2);
        for number in 0..4 {
            assert!(text.contains(&format!("regnum=\"{number}\"")), "{text}");
        }
    }
}
