//! Typed places in a tree.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::num::NonZeroU32;

/// A node of the kinds that `T` lists.
pub struct Id<T>(pub(crate) NonZeroU32, PhantomData<fn() -> T>);

/// A list of nodes of the kinds that `T` lists.
pub struct List<T>(pub(crate) u32, PhantomData<fn() -> T>);

impl<T> Id<T> {
    pub(crate) fn new(number: NonZeroU32) -> Id<T> {
        Id(number, PhantomData)
    }
}

impl<T> List<T> {
    /// The list without items: the header at the start of every tree's words.
    pub const EMPTY: List<T> = List(0, PhantomData);

    pub(crate) fn new(start: u32) -> List<T> {
        List(start, PhantomData)
    }

    /// Whether it has no items.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

macro_rules! plain_value {
    ($name:ident) => {
        impl<T> Clone for $name<T> {
            fn clone(&self) -> $name<T> {
                *self
            }
        }
        impl<T> Copy for $name<T> {}
        impl<T> PartialEq for $name<T> {
            fn eq(&self, other: &$name<T>) -> bool {
                self.0 == other.0
            }
        }
        impl<T> Eq for $name<T> {}
        impl<T> Hash for $name<T> {
            fn hash<H: Hasher>(&self, state: &mut H) {
                self.0.hash(state);
            }
        }
        impl<T> fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0)
            }
        }
    };
}

plain_value!(Id);
plain_value!(List);
