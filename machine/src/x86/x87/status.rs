//! Bits of the status word (SDM volume 1, figure 8-4); the first six are the masks of the control word too.

pub(super) const INVALID: u16 = 0x01;
pub(super) const DENORMAL: u16 = 0x02;
pub(super) const DIVIDE: u16 = 0x04;
pub(super) const OVERFLOW: u16 = 0x08;
pub(super) const UNDERFLOW: u16 = 0x10;
pub(super) const PRECISION: u16 = 0x20;
pub(super) const EXCEPTIONS: u16 = 0x3f;
/// The invalid operation was one of the register stack.
pub(super) const STACK: u16 = 0x40;
/// Error summary: an exception that is not masked is pending. Bit 15, once "busy", is its copy.
pub(super) const SUMMARY: u16 = 0x80 | 0x8000;
pub(super) const C0: u16 = 0x0100;
pub(super) const C1: u16 = 0x0200;
pub(super) const C2: u16 = 0x0400;
pub(super) const C3: u16 = 0x4000;
pub(super) const CODES: u16 = C0 | C1 | C2 | C3;
/// Bit number of TOP.
pub(super) const TOP: u32 = 11;
