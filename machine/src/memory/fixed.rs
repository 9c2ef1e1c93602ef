//! Memory at an address that stays.

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A row of items to which an engine may keep pointers. A `Box` may not be used so: what is done through it ends the
/// validity of every other pointer to its items.
///
/// Each reference that this gives is derived anew from the pointer of the allocation. To use one therefore ends no
/// pointer that [`Fixed::pointer`] has given, and such a pointer may be used whenever no reference is.
pub struct Fixed<T> {
    /// The items, as `Box::into_raw` has given them.
    items: NonNull<[T]>,
}

// SAFETY: the items are this structure's own.
unsafe impl<T: Send> Send for Fixed<T> {}
// SAFETY: as above; shared references only read.
unsafe impl<T: Sync> Sync for Fixed<T> {}

impl<T> Fixed<T> {
    /// The first item. It is where it is until this is dropped.
    #[inline(always)]
    #[must_use]
    pub fn pointer(&self) -> *mut T {
        self.items.as_ptr().cast()
    }
}

impl<T> From<Vec<T>> for Fixed<T> {
    fn from(items: Vec<T>) -> Self {
        let items = Box::into_raw(items.into_boxed_slice());
        Fixed {
            // SAFETY: a box is not null.
            items: unsafe { NonNull::new_unchecked(items) },
        }
    }
}

impl<T> FromIterator<T> for Fixed<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Fixed::from(Vec::from_iter(items))
    }
}

impl<T> Drop for Fixed<T> {
    fn drop(&mut self) {
        // SAFETY: it came from a box, and nothing else frees it.
        drop(unsafe { Box::from_raw(self.items.as_ptr()) });
    }
}

impl<T> Deref for Fixed<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: the items live as long as this; an engine that writes through a pointer has no reference.
        unsafe { self.items.as_ref() }
    }
}

impl<T> DerefMut for Fixed<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above.
        unsafe { self.items.as_mut() }
    }
}

impl<T> Default for Fixed<T> {
    fn default() -> Self {
        Fixed::from(Vec::new())
    }
}

impl<T: Clone> Clone for Fixed<T> {
    fn clone(&self) -> Self {
        Fixed::from(self.to_vec())
    }
}

impl<T: std::fmt::Debug> std::fmt::Debug for Fixed<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: Serialize> Serialize for Fixed<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Fixed<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Fixed::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_outlive_references() {
        let mut row: Fixed<u32> = (0..4).collect();
        let pointer = row.pointer();
        row[1] = 10;
        row.fill(7);
        // SAFETY: the row has four items, and no reference lives.
        unsafe {
            assert_eq!(*pointer.add(1), 7);
            *pointer.add(2) = 8;
        }
        assert_eq!(*row, [7, 7, 8, 7]);
        let copy = row.clone();
        row[0] = 1;
        assert_eq!((copy[0], copy.len()), (7, 4));
        // SAFETY: as above.
        assert_eq!(unsafe { *pointer }, 1);
    }
}
