//! What instructions do to the segments of a 970, and by that to its ERATs.

use super::slb::bits;
use super::{Hash64, Reaches};
use crate::powerpc::mmu::segment;

impl Hash64 {
    /// `slbmte`. ERAT entries stay.
    pub fn write_slb(&mut self, esid: u64, vsid: u64) {
        self.slb.write(esid, vsid);
    }

    /// `slbmfee`.
    #[must_use]
    pub fn read_esid(&self, number: u64) -> u64 {
        let entry = self.slb.entry(number);
        entry.segment() | if entry.valid() { bits::VALID } else { 0 }
    }

    /// `slbmfev`.
    #[must_use]
    pub fn read_vsid(&self, number: u64) -> u64 {
        self.slb.entry(number).vsid_word()
    }

    /// `slbie`, which removes the segment's ERAT entries too.
    pub fn invalidate_segment(&mut self, ea: u64) -> Reaches {
        self.slb.invalidate(ea);
        self.remove(|entry| entry.ea & bits::ESID == ea & bits::ESID)
    }

    /// `slbia`, which empties the ERATs too.
    pub fn invalidate_segments(&mut self) -> Reaches {
        self.slb.invalidate_all();
        self.remove(|_| true)
    }

    /// `mtsr`: VSID, keys and no-execute of a segment register go to the SLB entry of the same number. ERAT entries
    /// stay.
    pub fn write_segment(&mut self, number: u32, value: u32) {
        let number = u64::from(number & 15);
        let flag = |register: u32, slb: u64| if value & register != 0 { slb } else { 0 };
        let vsid = u64::from(value & 0x0fff_ffff) << bits::VSID_SHIFT
            | flag(segment::KS, bits::KS)
            | flag(segment::KP, bits::KP)
            | flag(segment::N, bits::N);
        self.slb.write(number << 28 | bits::VALID | number, vsid);
    }

    /// `mfsr`: what `mtsr` would have to write for the SLB entry of this number; 0 if it is not valid.
    #[must_use]
    pub fn read_segment(&self, number: u32) -> u32 {
        let entry = self.slb.entry(u64::from(number & 15));
        if !entry.valid() {
            return 0;
        }
        let word = entry.vsid_word();
        let flag = |slb: u64, register: u32| if word & slb != 0 { register } else { 0 };
        entry.vsid() as u32 & 0x0fff_ffff
            | flag(bits::KS, segment::KS)
            | flag(bits::KP, segment::KP)
            | flag(bits::N, segment::N)
    }
}
