//! `regclass` and its kin: oids that are read and written as names.

use std::fmt;

use super::DataType;
use crate::Result;

/// What an oid is one of.
///
/// ```
/// use cairndb::{DataType, Reg};
///
/// assert_eq!((Reg::named("regclass"), Reg::Class.name()), (Some(Reg::Class), "regclass"));
/// assert_eq!((DataType::Reg(Reg::Class).oid(), DataType::Reg(Reg::Class).to_string().as_str()), (2205, "regclass"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reg {
    /// `regclass`: a relation.
    Class,
    /// `regtype`: a type.
    Type,
    /// `regproc`: a function, by its name alone.
    Proc,
    /// `regprocedure`: a function, with its arguments' types.
    Procedure,
    /// `regnamespace`: a schema.
    Namespace,
    /// `regrole`: a role.
    Role,
}

/// A value of `regclass` or one of its kin: an oid that is read and written as a name. 0 is none, and is written `-`.
///
/// A statement's result has the name instead, as text; arrays and rows have these, whose names
/// [`Connection::text_context`](crate::Connection::text_context) knows.
///
/// ```
/// use cairndb::{Reg, RegValue, Value};
///
/// let value = Value::Reg(RegValue { of: Reg::Class, oid: 1259 });
/// assert_eq!((value.as_i64(), value.to_string().as_str()), (Some(1259), "1259"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegValue {
    /// What it is an oid of.
    pub of: Reg,
    /// The oid.
    pub oid: u32,
}

impl RegValue {
    /// Of the number that rows and vectors hold.
    #[inline]
    pub(crate) fn of_number(of: Reg, number: i64) -> RegValue {
        RegValue { of, oid: number as u32 }
    }

    /// That number.
    #[inline]
    pub(crate) fn number(self) -> i64 {
        self.oid.into()
    }
}

/// What oids are called, and which oid has a name.
pub(crate) trait OidNames: fmt::Debug + Send + Sync {
    /// The oid that a text means. SQLSTATE of what is not there: 42P01, 42704, 42883, 3F000.
    fn read_name(&self, of: Reg, text: &str) -> Result<i64>;

    /// As SQL would say it here; the number where there is no such thing (any more).
    fn name(&self, of: Reg, oid: i64) -> String;
}

impl Reg {
    /// All of them, in their order.
    pub(crate) const ALL: [Reg; 6] = [Reg::Class, Reg::Type, Reg::Proc, Reg::Procedure, Reg::Namespace, Reg::Role];

    /// By the type's name.
    pub fn named(name: &str) -> Option<Reg> {
        Reg::ALL.into_iter().find(|reg| reg.name() == name)
    }

    /// The type's name.
    pub const fn name(self) -> &'static str {
        match self {
            Reg::Class => "regclass",
            Reg::Type => "regtype",
            Reg::Proc => "regproc",
            Reg::Procedure => "regprocedure",
            Reg::Namespace => "regnamespace",
            Reg::Role => "regrole",
        }
    }
}

/// Whether a cast makes oids of names, or names of oids.
pub(crate) fn names_oids(from: DataType, to: DataType) -> bool {
    let is_text = |data_type: DataType| data_type == DataType::Unknown || data_type.is_string();
    from.has_reg() && to.element().unwrap_or(to).is_string()
        || to.has_reg()
            && (is_text(from.element().unwrap_or(from)) || matches!(from.info().base, DataType::Composite(_)))
}
