//! Shared ownership: [`std::sync::Arc`], with reference counts that the search knows.

use std::fmt;
use std::mem::needs_drop;
use std::ops::Deref;
use std::sync;

use super::HELD;
use crate::code::operation::{Operation, YES};
use crate::code::runtime::{new_object, perform};

/// A value that several threads own: [`std::sync::Arc`]. Who drops the last reference, and who asks how
/// many there are, races with others who do.
///
/// A reference to a trait object is made by [`from_std`](Self::from_std): other types than the standard
/// library's are not coerced.
pub struct Arc<T: ?Sized> {
    number: u32,
    /// Others may notice who drops the value.
    matters: bool,
    /// `None` only while it is dropped, or taken apart.
    value: Option<sync::Arc<T>>,
}

/// A reference that does not keep its value: [`std::sync::Weak`].
pub struct Weak<T: ?Sized> {
    number: u32,
    matters: bool,
    value: sync::Weak<T>,
}

impl<T> Arc<T> {
    /// The first reference to a value.
    ///
    /// # Panics
    /// Outside of a check.
    pub fn new(value: T) -> Self {
        Self {
            number: new_object(),
            matters: needs_drop::<T>(),
            value: Some(sync::Arc::new(value)),
        }
    }

    /// The value, if this is the only reference to it.
    ///
    /// # Errors
    /// The reference, if there are others.
    ///
    /// # Panics
    /// Outside of a check.
    pub fn try_unwrap(mut this: Self) -> Result<T, Self> {
        match perform(Operation::UnwrapArc(this.number)) {
            YES => Ok(this
                .value
                .take()
                .and_then(sync::Arc::into_inner)
                .expect(HELD)),
            _ => Err(this),
        }
    }

    /// The value, if this is the last reference to it, which is dropped.
    ///
    /// # Panics
    /// Outside of a check.
    pub fn into_inner(mut this: Self) -> Option<T> {
        perform(Operation::DropArc(this.number, true));
        this.value.take().and_then(sync::Arc::into_inner)
    }
}

impl<T: ?Sized> Arc<T> {
    /// From the standard library's, of which there must be no other.
    ///
    /// # Panics
    /// Outside of a check.
    pub fn from_std(value: sync::Arc<T>) -> Self {
        Self {
            number: new_object(),
            matters: true,
            value: Some(value),
        }
    }

    /// Drops a reference that nobody else can ask about any more.
    pub(crate) fn forget(mut self) {
        self.value = None;
    }

    /// How many references there are, weak ones aside.
    ///
    /// # Panics
    /// Outside of a check.
    pub fn strong_count(this: &Self) -> usize {
        perform(Operation::CountArc(this.number)) as usize
    }

    /// Whether both refer to the same value.
    pub fn ptr_eq(this: &Self, other: &Self) -> bool {
        this.number == other.number
    }

    /// A reference that does not keep the value.
    pub fn downgrade(this: &Self) -> Weak<T> {
        Weak {
            number: this.number,
            matters: this.matters,
            value: sync::Arc::downgrade(this.value.as_ref().expect(HELD)),
        }
    }
}

impl<T: ?Sized> Deref for Arc<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value.as_deref().expect(HELD)
    }
}

impl<T: ?Sized> AsRef<T> for Arc<T> {
    fn as_ref(&self) -> &T {
        self
    }
}

impl<T> From<T> for Arc<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: Default> Default for Arc<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized> Clone for Arc<T> {
    fn clone(&self) -> Self {
        perform(Operation::CloneArc(self.number));
        Self {
            value: self.value.clone(),
            ..*self
        }
    }
}

impl<T: ?Sized> Drop for Arc<T> {
    fn drop(&mut self) {
        if let Some(value) = self.value.take() {
            perform(Operation::DropArc(self.number, self.matters));
            drop(value);
        }
    }
}

impl<T: ?Sized> Weak<T> {
    /// A reference that keeps the value, if it is still there.
    ///
    /// # Panics
    /// Outside of a check.
    pub fn upgrade(&self) -> Option<Arc<T>> {
        if perform(Operation::UpgradeWeak(self.number)) != YES {
            return None;
        }
        Some(Arc {
            number: self.number,
            matters: self.matters,
            value: Some(self.value.upgrade()?),
        })
    }

    /// How many references keep the value.
    ///
    /// # Panics
    /// Outside of a check.
    pub fn strong_count(&self) -> usize {
        perform(Operation::CountArc(self.number)) as usize
    }
}

impl<T: ?Sized> Clone for Weak<T> {
    fn clone(&self) -> Self {
        Self {
            value: self.value.clone(),
            ..*self
        }
    }
}

impl<T: ?Sized> fmt::Debug for Weak<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(Weak)")
    }
}
