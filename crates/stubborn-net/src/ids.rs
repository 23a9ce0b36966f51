//! Typed ids of places and transitions: a place can never be taken for a transition.

use std::fmt;

macro_rules! typed_id {
    ($(#[$meta:meta])* $name:ident, $letter:literal) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// The id as an index into arrays that have one entry per node.
            #[inline]
            pub fn index(self) -> usize {
                self.0 as usize
            }

            /// The id of the node at `index`.
            ///
            /// Readers bound the number of nodes below `u32::MAX`, so the cast is exact.
            #[inline]
            pub fn new(index: usize) -> Self {
                debug_assert!(u32::try_from(index).is_ok());
                Self(index as u32)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($letter, "{}"), self.0)
            }
        }
    };
}

typed_id!(
    /// A place of a [`Net`](crate::Net), numbered from 0 in the order of the file.
    PlaceId,
    "p"
);
typed_id!(
    /// A transition of a [`Net`](crate::Net), numbered from 0 in the order of the file.
    TransitionId,
    "t"
);
