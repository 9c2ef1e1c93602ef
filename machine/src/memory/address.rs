//! Addresses in RAM.

/// The address of a byte among the bytes of RAM, whose pieces are numbered through one after another. Cache tags,
/// decoded code and shortcuts name lines of RAM by it, in 32 bits. In a machine whose RAM is one piece from physical
/// address 0 on, as all of PowerPC and x86 have it, it is the physical address; an address beyond RAM is no line's.
pub type RamAddress = u32;
