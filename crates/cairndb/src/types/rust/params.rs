//! Parameters of a statement. Values are lent, not copied, so that a point statement can encode them straight into its
//! key and row buffers.

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

use crate::Value;
use crate::types::{Interval, Jsonb, Made, MakeValue, Numeric, ValueRef};

/// A Rust value that can be a parameter. Text given for a parameter of another type is read as that type's text form.
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// use cairndb::{ToValue, ValueRef};
///
/// struct Celsius(f64);
///
/// impl ToValue for Celsius {
///     fn to_value(&self) -> ValueRef<'_> {
///         self.0.to_value()
///     }
/// }
///
/// let warmer: f64 = conn.query_row("SELECT $1 + 1.0::float8", (Celsius(21.5),), |row| row.get(0))?;
/// assert_eq!(warmer, 22.5);
/// # Ok::<(), cairndb::Error>(())
/// ```
pub trait ToValue {
    /// The SQL value, borrowing what is long.
    fn to_value(&self) -> ValueRef<'_>;
}

macro_rules! to_value {
    ($($rust:ty => $variant:ident,)*) => {$(
        impl ToValue for $rust {
            fn to_value(&self) -> ValueRef<'_> {
                ValueRef::$variant((*self).into())
            }
        }
    )*};
}
to_value! {
    bool => Boolean,
    i8 => SmallInt,
    i16 => SmallInt,
    i32 => Integer,
    i64 => BigInt,
    u8 => SmallInt,
    u16 => Integer,
    u32 => BigInt,
    f32 => Real,
    f64 => Double,
    [u8; 16] => Uuid,
    Interval => Interval,
}

impl ToValue for Value {
    fn to_value(&self) -> ValueRef<'_> {
        self.into()
    }
}
impl ToValue for ValueRef<'_> {
    fn to_value(&self) -> ValueRef<'_> {
        *self
    }
}
impl ToValue for Numeric {
    fn to_value(&self) -> ValueRef<'_> {
        ValueRef::Numeric(self.into())
    }
}
impl ToValue for Jsonb {
    fn to_value(&self) -> ValueRef<'_> {
        ValueRef::Jsonb(self)
    }
}
impl ToValue for str {
    fn to_value(&self) -> ValueRef<'_> {
        ValueRef::Text(self)
    }
}
impl ToValue for String {
    fn to_value(&self) -> ValueRef<'_> {
        ValueRef::Text(self)
    }
}
impl ToValue for [u8] {
    fn to_value(&self) -> ValueRef<'_> {
        ValueRef::Bytea(self)
    }
}
impl ToValue for Vec<u8> {
    fn to_value(&self) -> ValueRef<'_> {
        ValueRef::Bytea(self)
    }
}
impl<T: ToValue + ToOwned + ?Sized> ToValue for Cow<'_, T> {
    fn to_value(&self) -> ValueRef<'_> {
        (**self).to_value()
    }
}
macro_rules! pointers {
    ($($pointer:ident),*) => {$(
        impl<T: ToValue + ?Sized> ToValue for $pointer<T> {
            fn to_value(&self) -> ValueRef<'_> {
                (**self).to_value()
            }
        }
    )*};
}
pointers!(Box, Rc, Arc);

/// Implements [`ToValue`] for types that are made a value when it is copied.
macro_rules! made {
    ($($rust:ty: |$value:ident| $make:expr,)*) => {$(
        impl $crate::types::MakeValue for $rust {
            fn make_value(&self) -> $crate::Value {
                let $value = self;
                $make
            }
        }
        impl $crate::ToValue for $rust {
            fn to_value(&self) -> $crate::types::ValueRef<'_> {
                $crate::types::ValueRef::Made($crate::types::Made(self))
            }
        }
    )*};
}
pub(super) use made;
made! {
    char: |value| Value::text(String::from(*value)),
}

/// Integers that BIGINT may be too small for; they are NUMERIC then.
macro_rules! wide {
    ($($rust:ty),*) => {$(
        impl MakeValue for $rust {
            fn make_value(&self) -> Value {
                Value::Numeric(Numeric::from_i128(*self as i128, 0))
            }
        }
        impl ToValue for $rust {
            fn to_value(&self) -> ValueRef<'_> {
                i64::try_from(*self).map_or(ValueRef::Made(Made(self)), ValueRef::BigInt)
            }
        }
    )*};
}
wide!(u64, usize, isize, i128);

impl<T: ToValue> ToValue for Option<T> {
    fn to_value(&self) -> ValueRef<'_> {
        self.as_ref().map_or(ValueRef::Null, ToValue::to_value)
    }
}
impl<T: ToValue + ?Sized> ToValue for &T {
    fn to_value(&self) -> ValueRef<'_> {
        (**self).to_value()
    }
}

/// The parameters of one execution: `()`, a tuple, a slice or array of [`Value`]s or `&dyn ToValue`s, or what
/// [`params!`](crate::params) gives.
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// conn.execute("CREATE TABLE t (a int, b text)", ())?;
/// conn.execute("INSERT INTO t VALUES ($1, $2)", (1, "a tuple"))?;
/// conn.execute("INSERT INTO t SELECT $1, 'an array'", [2])?;
/// conn.execute("INSERT INTO t VALUES ($1, $2)", cairndb::params![3, "a list"])?;
/// conn.execute("INSERT INTO t VALUES (:a, :b)", cairndb::params! { a: 4, b: "names" })?;
/// assert_eq!(conn.query_row_as::<i64>("SELECT count(*) FROM t", ())?, 4);
/// # Ok::<(), cairndb::Error>(())
/// ```
pub trait Params {
    /// How many there are.
    fn count(&self) -> usize;
    /// The value of `$1` at index 0, and so on. NULL beyond `count`.
    fn value(&self, index: usize) -> ValueRef<'_>;
    /// Their names, where they are a statement's `:name`; then `$1` is the first of them, and so on.
    fn names(&self) -> Option<&[&str]> {
        None
    }
}

impl Params for () {
    fn count(&self) -> usize {
        0
    }
    fn value(&self, _index: usize) -> ValueRef<'_> {
        ValueRef::Null
    }
}

impl<T: ToValue> Params for [T] {
    fn count(&self) -> usize {
        self.len()
    }
    fn value(&self, index: usize) -> ValueRef<'_> {
        self.get(index).map_or(ValueRef::Null, ToValue::to_value)
    }
}
impl<T: ToValue, const N: usize> Params for [T; N] {
    fn count(&self) -> usize {
        N
    }
    fn value(&self, index: usize) -> ValueRef<'_> {
        self.as_slice().value(index)
    }
}
impl<T: ToValue> Params for Vec<T> {
    fn count(&self) -> usize {
        self.len()
    }
    fn value(&self, index: usize) -> ValueRef<'_> {
        self.as_slice().value(index)
    }
}
impl<P: Params + ?Sized> Params for &P {
    fn count(&self) -> usize {
        (**self).count()
    }
    fn value(&self, index: usize) -> ValueRef<'_> {
        (**self).value(index)
    }
    fn names(&self) -> Option<&[&str]> {
        (**self).names()
    }
}

macro_rules! tuple_params {
    ($count:literal: $($name:ident $index:tt),+) => {
        impl<$($name: ToValue),+> Params for ($($name,)+) {
            fn count(&self) -> usize {
                $count
            }
            fn value(&self, index: usize) -> ValueRef<'_> {
                match index {
                    $($index => self.$index.to_value(),)+
                    _ => ValueRef::Null,
                }
            }
        }
    };
}
tuple_params!(1: A 0);
tuple_params!(2: A 0, B 1);
tuple_params!(3: A 0, B 1, C 2);
tuple_params!(4: A 0, B 1, C 2, D 3);
tuple_params!(5: A 0, B 1, C 2, D 3, E 4);
tuple_params!(6: A 0, B 1, C 2, D 3, E 4, F 5);
tuple_params!(7: A 0, B 1, C 2, D 3, E 4, F 5, G 6);
tuple_params!(8: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
tuple_params!(9: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8);
tuple_params!(10: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9);
tuple_params!(11: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10);
tuple_params!(12: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tuples_arrays_and_dyn_slices_give_their_values_in_order() {
        let owned = String::from("x");
        assert!(matches!((1i32, &owned).value(1), ValueRef::Text("x")));
        let dynamic: &[&dyn ToValue] = &[&1i64, &"y", &None::<i32>];
        assert_eq!(dynamic.count(), 3);
        assert!(matches!(dynamic.value(0), ValueRef::BigInt(1)));
        assert!(matches!(dynamic.value(2), ValueRef::Null));
        assert!(matches!([Value::Integer(7)].value(0), ValueRef::Integer(7)));
        assert!(matches!(().value(0), ValueRef::Null));
    }
}
