//! Typed indices: a field can never be used as a transition.

use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $name(u32);

        impl $name {
            /// The id with this index.
            ///
            /// # Panics
            /// Beyond 2^32 - 1; nothing in memory has that many.
            #[inline]
            pub const fn new(index: usize) -> Self {
                assert!(index <= u32::MAX as usize);
                Self(index as u32)
            }

            /// The position in the table this id points into.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
    };
}

id!(
    /// A field of the state, see [`Layout`](crate::Layout).
    FieldId, "f"
);
id!(
    /// A structural transition, see [`Structure`](crate::Structure).
    TransitionId, "t"
);
id!(
    /// A guard or a proposition, see [`Structure`](crate::Structure).
    LabelId, "g"
);
id!(
    /// A process, see [`Structure`](crate::Structure).
    ProcessId, "p"
);
id!(
    /// A message channel, see [`Layout::channels`](crate::Layout::channels).
    ChannelId, "c"
);
