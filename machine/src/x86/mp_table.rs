//! The tables by which firmware tells which processors and interrupt controllers there are (Intel MultiProcessor
//! Specification 1.4, chapter 4).

use super::config::{Config, Kind};

/// Where the loader puts them: in the memory of the firmware, where kernels look for them.
pub(super) const BASE: u32 = 0x000f_0000;

const LOCAL_APIC: u32 = 0xfee0_0000;
const IO_APIC: u32 = 0xfec0_0000;
/// Version of an integrated local APIC, and of the I/O APIC.
const VERSION: u8 = 0x11;
/// Bytes of the floating pointer, and of the table's header.
const POINTER: usize = 16;
const HEADER: usize = 44;

/// Kinds of entries, and of interrupts.
const PROCESSOR: u8 = 0;
const BUS: u8 = 1;
const CONTROLLER: u8 = 2;
const INTERRUPT: u8 = 3;
const LOCAL_INTERRUPT: u8 = 4;
const VECTORED: u8 = 0;
const NON_MASKABLE: u8 = 1;
const EXTERNAL: u8 = 3;

/// The tables, to lie at `base`. Only a P6 has APICs.
pub(super) fn build(config: &Config, base: u32) -> Option<Vec<u8>> {
    if config.core.kind != Kind::P6 {
        return None;
    }
    let io = config.processors;
    let mut entries: Vec<Vec<u8>> = Vec::new();
    for number in 0..config.processors {
        const ENABLED: u8 = 1;
        const FIRST: u8 = 2;
        /// A floating-point unit, and a local APIC.
        const FEATURES: u32 = 1 | 1 << 9;
        let flags = if number == 0 {
            ENABLED | FIRST
        } else {
            ENABLED
        };
        let mut entry = vec![PROCESSOR, number, VERSION, flags];
        entry.extend(config.core.signature.to_le_bytes());
        entry.extend(FEATURES.to_le_bytes());
        entry.extend([0; 8]);
        entries.push(entry);
    }
    entries.push([&[BUS, 0][..], b"ISA   "].concat());
    entries.push([&[CONTROLLER, io, VERSION, 1][..], &IO_APIC.to_le_bytes()].concat());
    // ISA requests go to the inputs of their numbers, but that of the timer to 2, which is the 8259s' cascade.
    for request in (0..16).filter(|&request| request != 2) {
        let input = if request == 0 { 2 } else { request };
        entries.push(vec![INTERRUPT, VECTORED, 0, 0, 0, request, io, input]);
    }
    entries.push(vec![LOCAL_INTERRUPT, EXTERNAL, 0, 0, 0, 0, 0, 0]);
    entries.push(vec![LOCAL_INTERRUPT, NON_MASKABLE, 0, 0, 0, 0, 0xff, 1]);

    let mut table = Vec::from(*b"PCMP");
    let length = HEADER + entries.iter().map(Vec::len).sum::<usize>();
    table.extend((length as u16).to_le_bytes());
    // Revision 1.4, and the sum.
    table.extend([4, 0]);
    table.extend(b"PAGEWALKPC          ");
    table.extend([0; 6]);
    table.extend((entries.len() as u16).to_le_bytes());
    table.extend(LOCAL_APIC.to_le_bytes());
    table.extend([0; 4]);
    table.extend(entries.concat());
    settle(&mut table, 7);

    let mut bytes = Vec::from(*b"_MP_");
    bytes.extend((base + POINTER as u32).to_le_bytes());
    // In units of 16 bytes; revision 1.4; the sum; no default configuration.
    bytes.extend([1, 4, 0, 0, 0, 0, 0, 0]);
    settle(&mut bytes, 10);
    bytes.extend(table);
    Some(bytes)
}

/// Makes the sum of all bytes zero by that at `at`.
fn settle(bytes: &mut [u8], at: usize) {
    let sum = bytes.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
    bytes[at] = bytes[at].wrapping_sub(sum);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(name: &str) -> Config {
        let path = format!("{}/../machines/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        Config::from_file(path.as_ref(), &[]).expect("a machine file")
    }

    #[test]
    fn sums_are_zero_and_lengths_are_right() {
        let bytes = build(&config("p6-200x4"), BASE).expect("a table");
        let sum = |bytes: &[u8]| bytes.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
        assert_eq!(sum(&bytes[..POINTER]), 0);
        assert_eq!(sum(&bytes[POINTER..]), 0);
        let table = &bytes[POINTER..];
        assert_eq!(
            usize::from(u16::from_le_bytes([table[4], table[5]])),
            table.len()
        );
        assert_eq!(table.len(), HEADER + 4 * 20 + 8 + 8 + 15 * 8 + 2 * 8);
        let count = u16::from_le_bytes([table[34], table[35]]);
        assert_eq!(count, 4 + 1 + 1 + 15 + 2);
    }

    #[test]
    fn an_i486_has_none() {
        assert_eq!(build(&config("i486dx-50"), BASE), None);
    }
}
