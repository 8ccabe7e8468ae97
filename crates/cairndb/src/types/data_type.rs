//! The SQL types: their names as PostgreSQL writes them, their families, their storage widths.
//!
//! A type with modifiers (`numeric(10,2)`) and without (`numeric`) are different `DataType`s of the same
//! [`base`](DataType::base): operators and functions are declared for bases.

use std::borrow::Cow;
use std::fmt;

use super::composite::CompositeType;
use super::datetime::{IntervalLimit, write_digits};
use super::enums::EnumType;
use super::extension::ExtensionType;
use super::info::{ElementType, Physical, TYPES, TypeInfo};
use super::reg::Reg;

/// A SQL type with its modifiers.
///
/// ```
/// use cairndb::{DataType, TypeCategory};
///
/// let data_type = DataType::from_name("varchar").expect("it is known");
/// assert!(data_type.is_string() && !data_type.is_numeric() && !data_type.is_array() && data_type.is_comparable());
/// assert_eq!((data_type.type_name(), data_type.category()), ("character varying", TypeCategory::String));
/// assert_eq!((data_type.oid(), data_type.base(), &*data_type.catalog_name()), (1043, data_type, "varchar"));
/// let integers = DataType::Integer.array().expect("any type has one");
/// assert_eq!((integers.to_string().as_str(), integers.element()), ("integer[]", Some(DataType::Integer)));
/// assert!(DataType::Integer.is_integer() && DataType::Integer.is_fixed_width() && DataType::Text.is_preferred());
/// assert_eq!((DataType::BigInt.width(), DataType::Text.width()), (Some(8), None));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DataType {
    /// `boolean`
    Boolean,
    /// `smallint`
    SmallInt,
    /// `integer`
    Integer,
    /// `bigint`
    BigInt,
    /// `real`
    Real,
    /// `double precision`
    Double,
    /// `numeric(precision, scale)`; `None`: unconstrained.
    Numeric(Option<(u16, i16)>),
    /// `text`
    Text,
    /// `varchar(n)`; `None`: unlimited.
    Varchar(Option<u32>),
    /// `char(n)`, blank-padded; trailing blanks are insignificant. 0: `bpchar` without a length (never a column's).
    Char(u32),
    /// `bytea`
    Bytea,
    /// `date`
    Date,
    /// `time(p) without time zone`; `None`: all digits of seconds.
    Time(Option<u8>),
    /// `time(p) with time zone`
    TimeTz(Option<u8>),
    /// `timestamp(p) without time zone`
    Timestamp(Option<u8>),
    /// `timestamp(p) with time zone`
    TimestampTz(Option<u8>),
    /// `interval day to second(p)`; `None`: all fields and digits.
    Interval(Option<IntervalLimit>),
    /// `uuid`
    Uuid,
    /// `inet`: an address of IPv4 or IPv6, and how many of its bits say the network.
    Inet,
    /// `cidr`: a network.
    Cidr,
    /// `macaddr`
    Macaddr,
    /// `macaddr8`
    Macaddr8,
    /// `json`
    Json,
    /// `jsonb`
    Jsonb,
    /// `jsonpath`
    JsonPath,
    /// `name`, of PostgreSQL's catalog: text of at most 63 bytes; what is longer is cut.
    Name,
    /// `"char"`, of PostgreSQL's catalog: one character of ASCII, or none.
    InternalChar,
    /// `oid`, of PostgreSQL's catalog: an unsigned number of 32 bits. Its values are `Value::BigInt`s.
    Oid,
    /// `citext`, of the extension of that name: text that is compared without regard to case.
    Citext(ExtensionType),
    /// `hstore`, of the extension of that name: texts by texts.
    Hstore(ExtensionType),
    /// An enum: one of a list of labels.
    Enum(EnumType),
    /// A row: one of a user's composite types, a table's row, a `record`.
    Composite(CompositeType),
    /// An array, of any number of dimensions, of this type.
    Array(ElementType),
    /// `void`: what a function gives that gives nothing; its values are empty texts. Never a column's type.
    Void,
    /// `regclass` or one of its kin: an oid that is read and written as a name (see [`RegValue`](crate::RegValue)).
    Reg(Reg),
    /// The same as a column of a statement's result: the name, as text. Never a table's column's type.
    RegName(Reg),
    /// A literal or parameter whose type context has yet to decide. Never a column's type.
    Unknown,
}

/// PostgreSQL's `typcategory`: implicit conversions prefer to stay inside one.
///
/// ```
/// use cairndb::{DataType, TypeCategory};
///
/// assert_eq!(DataType::Double.category(), TypeCategory::Numeric);
/// assert_eq!(DataType::Uuid.category(), TypeCategory::User);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TypeCategory {
    /// `boolean`
    Boolean,
    /// Integers, floats, `numeric`.
    Numeric,
    /// `text`, `varchar`, `char`, `citext`.
    String,
    /// `date`, `time`, `timestamp`, `timestamptz`.
    DateTime,
    /// `interval`
    Timespan,
    /// `inet`, `cidr`.
    Network,
    /// `bytea`, `uuid`, `macaddr`, `json`, `jsonb`, `hstore`: no family.
    User,
    /// `"char"`
    Internal,
    /// Enums.
    Enum,
    /// Composite types.
    Composite,
    /// Arrays.
    Array,
    /// An untyped literal.
    Unknown,
}

impl DataType {
    /// `time`, all digits.
    pub const TIME: DataType = DataType::Time(None);
    /// `timetz`, all digits.
    pub const TIMETZ: DataType = DataType::TimeTz(None);
    /// `timestamp`, all digits.
    pub const TIMESTAMP: DataType = DataType::Timestamp(None);
    /// `timestamptz`, all digits.
    pub const TIMESTAMPTZ: DataType = DataType::TimestampTz(None);
    /// `interval`, all fields and digits.
    pub const INTERVAL: DataType = DataType::Interval(None);

    /// A type by one of its plain names (`int4`, `character varying`, `timestamptz`), without modifiers.
    ///
    /// ```
    /// use cairndb::DataType;
    ///
    /// assert_eq!(DataType::from_name("int8"), Some(DataType::BigInt));
    /// assert_eq!(DataType::from_name("nothing"), None);
    /// ```
    pub fn from_name(name: &str) -> Option<DataType> {
        match name {
            // `bpchar` has no length.
            "character" => return Some(DataType::Char(1)),
            // A cursor's name.
            "refcursor" => return Some(DataType::Text),
            "int2vector" => return Some(DataType::INT2VECTOR),
            "oidvector" => return Some(DataType::OIDVECTOR),
            _ => {}
        }
        // (`char` as a name; the word of the grammar is another type.)
        let is_it =
            |info: &&TypeInfo| [info.name, info.catalog_name].contains(&name) || info.other_names.contains(&name);
        let known = TYPES.iter().find(is_it);
        // An array type's own name, as `_int4`.
        let array = || DataType::from_name(name.strip_prefix('_')?)?.array();
        known.map(|info| info.base).or_else(array)
    }

    /// The type without modifiers: what function overloads are declared for.
    pub fn base(self) -> DataType {
        match self {
            DataType::Numeric(_) => DataType::Numeric(None),
            DataType::Varchar(_) => DataType::Varchar(None),
            DataType::Char(_) => DataType::Char(0),
            DataType::Time(_) => DataType::TIME,
            DataType::TimeTz(_) => DataType::TIMETZ,
            DataType::Timestamp(_) => DataType::TIMESTAMP,
            DataType::TimestampTz(_) => DataType::TIMESTAMPTZ,
            DataType::Interval(_) => DataType::INTERVAL,
            DataType::Array(element) => DataType::Array(element.base()),
            other => other,
        }
    }

    /// The name without modifiers, as `pg_typeof` and error messages give it.
    pub fn type_name(self) -> &'static str {
        match self {
            DataType::INT2VECTOR => "int2vector",
            DataType::OIDVECTOR => "oidvector",
            DataType::Array(_) => self.info().array_name,
            _ => self.info().name,
        }
    }

    /// PostgreSQL's name in its catalog, without a schema: `int4`, `_text`.
    pub fn catalog_name(self) -> Cow<'static, str> {
        match self {
            DataType::INT2VECTOR | DataType::OIDVECTOR => self.type_name().into(),
            DataType::Array(element) => format!("_{}", element.data_type().catalog_name()).into(),
            _ => self.info().catalog_name.into(),
        }
    }

    /// The type family.
    pub fn category(self) -> TypeCategory {
        match self {
            DataType::Array(_) => TypeCategory::Array,
            _ => self.info().category,
        }
    }

    /// PostgreSQL's `typispreferred`: the type a family's unknowns lean to.
    pub fn is_preferred(self) -> bool {
        !matches!(self, DataType::Array(_)) && self.info().preferred
    }

    /// A time or an interval, or an array of them, that keeps less than it could.
    pub(crate) fn has_limited_time(self) -> bool {
        match self.element().unwrap_or(self) {
            DataType::Time(digits)
            | DataType::TimeTz(digits)
            | DataType::Timestamp(digits)
            | DataType::TimestampTz(digits) => digits.is_some(),
            DataType::Interval(limit) => limit.is_some(),
            _ => false,
        }
    }

    /// `regclass` or one of its kin, or an array of them.
    pub(crate) fn is_reg(self) -> bool {
        matches!(self.info().base, DataType::Reg(_))
    }

    /// The type has, wherever within it, a name that only the catalog knows.
    pub(crate) fn has_reg(self) -> bool {
        match self.info().base {
            DataType::Reg(_) => true,
            DataType::Composite(of) => of.attributes().iter().any(|attribute| attribute.data_type.has_reg()),
            _ => false,
        }
    }

    /// An address of a network or of a card, or an array of them.
    pub(crate) fn is_address(self) -> bool {
        use DataType::{Cidr, Inet, Macaddr, Macaddr8};
        matches!(self.info().base, Inet | Cidr | Macaddr | Macaddr8)
    }

    /// `name`, `"char"` or `oid`, or an array of them.
    pub(crate) fn is_of_catalog(self) -> bool {
        matches!(self.info().base, DataType::Name | DataType::InternalChar | DataType::Oid)
    }

    /// `timetz`, or an array of it.
    pub(crate) fn is_zoned_time(self) -> bool {
        matches!(self.info().base, DataType::TimeTz(_))
    }

    /// Whether a session's time zone has a say in what a value means among those that have none.
    pub(crate) fn has_zone(self) -> bool {
        matches!(self, DataType::TimeTz(_) | DataType::TimestampTz(_))
    }

    /// `text`, `varchar`, `char` or `name`.
    pub fn is_string(self) -> bool {
        self.category() == TypeCategory::String && !matches!(self, DataType::Citext(_))
    }

    /// A number of any kind.
    pub fn is_numeric(self) -> bool {
        self.category() == TypeCategory::Numeric
    }

    /// `smallint`, `integer` or `bigint`.
    pub fn is_integer(self) -> bool {
        matches!(self, DataType::SmallInt | DataType::Integer | DataType::BigInt)
    }

    /// Whether what holds its values could hold others: see `ValueRef::is_sound`.
    pub(crate) fn may_be_unsound(self) -> bool {
        let is_moment = self.has_zone() || matches!(self, DataType::Date | DataType::Time(_) | DataType::Timestamp(_));
        is_moment
            || matches!(self, DataType::InternalChar | DataType::Cidr)
            || self.is_string()
            || self == DataType::Json
    }

    /// A composite type, or an array of one.
    pub(crate) fn is_composite(self) -> bool {
        matches!(self.info().base, DataType::Composite(_))
    }

    /// `int2vector` or `oidvector`.
    pub(crate) fn is_vector(self) -> bool {
        matches!(self, DataType::INT2VECTOR | DataType::OIDVECTOR)
    }

    /// `[]`: an array of anything.
    pub fn is_array(self) -> bool {
        matches!(self, DataType::Array(_))
    }

    /// Its values have an order and an equality: those of `json`, `jsonpath` and `void` have not, nor have arrays of them.
    pub fn is_comparable(self) -> bool {
        match self.info().base {
            DataType::Json | DataType::JsonPath | DataType::Void => false,
            DataType::Composite(of) => of.attributes().iter().all(|attribute| attribute.data_type.is_comparable()),
            _ => true,
        }
    }

    /// How values lie in memory.
    #[inline]
    pub(crate) fn physical(self) -> Physical {
        match self {
            DataType::Array(_) => Physical::Values,
            DataType::Enum(_) => Physical::I64,
            _ => self.info().physical,
        }
    }

    /// Bytes of a value in a row where they do not depend on the value.
    pub fn width(self) -> Option<usize> {
        match self {
            DataType::Array(_) => None,
            _ => self.info().width,
        }
    }

    /// The most bytes that a value needs, where values are kept as integers: numbers without fraction, dates, times,
    /// timestamps.
    pub(crate) fn integer_width(self) -> Option<usize> {
        let info = self.info();
        if self.is_array() || !info.is_integer { None } else { info.width }
    }

    /// Values all have the same number of bytes in memory.
    pub fn is_fixed_width(self) -> bool {
        self.width().is_some()
    }
}

/// The name with modifiers, as PostgreSQL's `format_type` writes it.
impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DataType::Numeric(Some((precision, scale))) => write!(f, "numeric({precision},{scale})"),
            DataType::Varchar(Some(length)) => write!(f, "character varying({length})"),
            DataType::Char(0) => f.write_str("bpchar"),
            DataType::Char(length) => write!(f, "character({length})"),
            // The digits stand behind the first word.
            DataType::Time(digits)
            | DataType::TimeTz(digits)
            | DataType::Timestamp(digits)
            | DataType::TimestampTz(digits) => {
                let (first, rest) = self.type_name().split_once(' ').unwrap_or((self.type_name(), ""));
                f.write_str(first)?;
                write_digits(*digits, f)?;
                write!(f, " {rest}")
            }
            DataType::Interval(Some(limit)) => write!(f, "interval{limit}"),
            DataType::Array(element) if !element.is_of_vector() => write!(f, "{}[]", element.data_type()),
            other => f.write_str(other.type_name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::datetime::IntervalField;

    #[test]
    fn names_carry_modifiers_as_format_type_writes_them() {
        assert_eq!(DataType::Varchar(Some(160)).to_string(), "character varying(160)");
        assert_eq!(DataType::Numeric(Some((10, 2))).to_string(), "numeric(10,2)");
        assert_eq!(DataType::Char(3).to_string(), "character(3)");
        assert_eq!(DataType::TIMESTAMP.to_string(), "timestamp without time zone");
        assert_eq!(DataType::TimestampTz(Some(3)).to_string(), "timestamp(3) with time zone");
        assert_eq!(DataType::Time(Some(0)).to_string(), "time(0) without time zone");
        let fields = Some((IntervalField::Day, IntervalField::Second));
        assert_eq!(DataType::Interval(IntervalLimit::new(fields, Some(2))).to_string(), "interval day to second(2)");
        assert_eq!(DataType::Char(3).type_name(), "character");
    }
}
