//! Parts that the TLBs of any architecture are made of.

pub mod pointers;
pub mod remembered;
pub mod replacement;
pub mod second_level;
pub mod sized;

/// An entry of a TLB's set, as a part sees it.
pub trait Slot {
    /// It translates a page.
    fn valid(&self) -> bool;

    /// Its way, which stays the same while the order of a set's entries changes.
    fn way(&self) -> u8;
}
