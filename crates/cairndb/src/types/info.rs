//! The one list of types, and what each is.
//!
//! A type is an id and a modifier, as PostgreSQL's `oid` and `typmod` are: [`TypeInfo`] says what is known by the id, a
//! [`DataType`] is both. An array's type holds its element's as such a pair ([`ElementType`]), so that it stays a small
//! `Copy` value and any type may be an element. Nothing else lists types: what is added to [`TYPES`] has names, an array
//! type, text and binary forms in rows and keys of arrays, and a place in every generated test.

use super::DataType;
use super::composite::{self, CompositeType};
use super::data_type::TypeCategory;
use super::datetime::{IntervalField, IntervalLimit};
use super::enums::{self, EnumType};
use super::extension::{self, ExtensionType, ExtensionTypeKind};
use super::reg::Reg;

/// How values of a type lie in memory and in vectors: few, closed, and all that the hot paths look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Physical {
    /// `bool`
    Bool,
    /// `i16`
    I16,
    /// `i32`: integers and dates.
    I32,
    /// `i64`: integers, times and timestamps.
    I64,
    /// `f32`
    F32,
    /// `f64`
    F64,
    /// Text and bytes.
    Bytes,
    /// Decimals, by mantissa and scale.
    Decimal,
    /// 16 bytes.
    Uuid,
    /// [`Interval`](super::Interval)
    Interval,
    /// Anything else, as [`Value`](super::Value)s.
    Values,
}

/// What is known of a type whatever its modifiers.
#[derive(Debug)]
pub struct TypeInfo {
    /// The type without modifiers.
    pub base: DataType,
    /// PostgreSQL's `oid` of it.
    pub oid: u32,
    /// PostgreSQL's `oid` of its array type.
    pub array_oid: u32,
    /// The name without modifiers, as `pg_typeof` and error messages give it.
    pub name: &'static str,
    /// The same of its array type.
    pub array_name: &'static str,
    /// PostgreSQL's name in its catalog: `int4`.
    pub catalog_name: &'static str,
    /// Other names by which it is asked for.
    pub other_names: &'static [&'static str],
    /// The type family.
    pub category: TypeCategory,
    /// PostgreSQL's `typispreferred`: the type that a family's unknowns lean to.
    pub preferred: bool,
    /// How its values lie in memory.
    pub physical: Physical,
    /// Bytes of a value in a row where they do not depend on the value.
    pub width: Option<usize>,
    /// Rows keep its values as integers of as many bytes as they need.
    pub is_integer: bool,
    /// Its number in the entries of the catalog, for good; 0: these say otherwise what it is.
    pub(crate) code: u8,
}

/// An element's type: an id and a modifier.
///
/// ```
/// let integers = cairndb::DataType::Integer.array().expect("any type has one");
/// let cairndb::DataType::Array(element) = integers else { panic!("it is one") };
/// assert_eq!(element.data_type(), cairndb::DataType::Integer);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ElementType {
    /// The place in [`TYPES`], or [`ENUM`], [`COMPOSITE`], [`EXTENSION`].
    id: u16,
    /// A length; a precision and a scale; digits of seconds and one; an interval's limit; an enum's, a composite
    /// type's or an extension's type's number; [`VECTOR`]. 0: none.
    modifier: u32,
}

/// The id of enums, which are told apart by the modifier.
const ENUM: u16 = u16::MAX;
/// The id of composite types, likewise.
const COMPOSITE: u16 = u16::MAX - 1;
/// The id of types of extensions, likewise.
const EXTENSION: u16 = u16::MAX - 2;

/// The modifier of `smallint` and `oid` as the elements of `int2vector` and `oidvector`.
const VECTOR: u32 = 1;

/// Every type that is no array, without modifiers (and without `unknown` and what users make).
pub static TYPES: [TypeInfo; 34] = {
    use DataType as T;
    use TypeCategory as C;
    [
        of(T::Boolean, [16, 1000], ["boolean", "boolean[]", "bool"], &["bool"], C::Boolean, true),
        of(T::SmallInt, [21, 1005], ["smallint", "smallint[]", "int2"], &["int2"], C::Numeric, false),
        of(T::Integer, [23, 1007], ["integer", "integer[]", "int4"], &["int4", "int"], C::Numeric, false),
        of(T::BigInt, [20, 1016], ["bigint", "bigint[]", "int8"], &["int8"], C::Numeric, false),
        of(T::Real, [700, 1021], ["real", "real[]", "float4"], &["float4"], C::Numeric, false),
        of(
            T::Double,
            [701, 1022],
            ["double precision", "double precision[]", "float8"],
            &["float8", "float"],
            C::Numeric,
            true,
        ),
        of(T::Numeric(None), [1700, 1231], ["numeric", "numeric[]", "numeric"], &["decimal"], C::Numeric, false),
        of(T::Text, [25, 1009], ["text", "text[]", "text"], &[], C::String, true),
        of(
            T::Varchar(None),
            [1043, 1015],
            ["character varying", "character varying[]", "varchar"],
            &["varchar"],
            C::String,
            false,
        ),
        of(T::Char(0), [1042, 1014], ["character", "character[]", "bpchar"], &[], C::String, false),
        of(T::Bytea, [17, 1001], ["bytea", "bytea[]", "bytea"], &[], C::User, false),
        of(T::Date, [1082, 1182], ["date", "date[]", "date"], &[], C::DateTime, false),
        of(
            T::Time(None),
            [1083, 1183],
            ["time without time zone", "time without time zone[]", "time"],
            &["time"],
            C::DateTime,
            false,
        ),
        of(
            T::Timestamp(None),
            [1114, 1115],
            ["timestamp without time zone", "timestamp without time zone[]", "timestamp"],
            &["timestamp"],
            C::DateTime,
            false,
        ),
        of(
            T::TimestampTz(None),
            [1184, 1185],
            ["timestamp with time zone", "timestamp with time zone[]", "timestamptz"],
            &["timestamptz"],
            C::DateTime,
            true,
        ),
        of(T::Interval(None), [1186, 1187], ["interval", "interval[]", "interval"], &[], C::Timespan, true),
        of(T::Uuid, [2950, 2951], ["uuid", "uuid[]", "uuid"], &[], C::User, false),
        of(T::Json, [114, 199], ["json", "json[]", "json"], &[], C::User, false),
        of(T::Jsonb, [3802, 3807], ["jsonb", "jsonb[]", "jsonb"], &[], C::User, false),
        of(T::JsonPath, [4072, 4073], ["jsonpath", "jsonpath[]", "jsonpath"], &[], C::User, false),
        of(T::Name, [19, 1003], ["name", "name[]", "name"], &[], C::String, false),
        of(T::InternalChar, [18, 1002], ["\"char\"", "\"char\"[]", "char"], &[], C::Internal, false),
        of(T::Oid, [26, 1028], ["oid", "oid[]", "oid"], &[], C::Numeric, true),
        of(
            T::TimeTz(None),
            [1266, 1270],
            ["time with time zone", "time with time zone[]", "timetz"],
            &["timetz"],
            C::DateTime,
            false,
        ),
        of(T::Reg(Reg::Class), [2205, 2210], ["regclass", "regclass[]", "regclass"], &[], C::Numeric, false),
        of(T::Reg(Reg::Type), [2206, 2211], ["regtype", "regtype[]", "regtype"], &[], C::Numeric, false),
        of(T::Reg(Reg::Proc), [24, 1008], ["regproc", "regproc[]", "regproc"], &[], C::Numeric, false),
        of(
            T::Reg(Reg::Procedure),
            [2202, 2207],
            ["regprocedure", "regprocedure[]", "regprocedure"],
            &[],
            C::Numeric,
            false,
        ),
        of(
            T::Reg(Reg::Namespace),
            [4089, 4090],
            ["regnamespace", "regnamespace[]", "regnamespace"],
            &[],
            C::Numeric,
            false,
        ),
        of(T::Reg(Reg::Role), [4096, 4097], ["regrole", "regrole[]", "regrole"], &[], C::Numeric, false),
        of(T::Inet, [869, 1041], ["inet", "inet[]", "inet"], &[], C::Network, true),
        of(T::Cidr, [650, 651], ["cidr", "cidr[]", "cidr"], &[], C::Network, false),
        of(T::Macaddr, [829, 1040], ["macaddr", "macaddr[]", "macaddr"], &[], C::User, false),
        of(T::Macaddr8, [774, 775], ["macaddr8", "macaddr8[]", "macaddr8"], &[], C::User, false),
    ]
};

const fn of(
    base: DataType,
    [oid, array_oid]: [u32; 2],
    [name, array_name, catalog_name]: [&'static str; 3],
    other_names: &'static [&'static str],
    category: TypeCategory,
    preferred: bool,
) -> TypeInfo {
    use DataType::*;
    let (physical, width, is_integer) = match base {
        Boolean => (Physical::Bool, Some(1), false),
        SmallInt => (Physical::I16, Some(2), true),
        Integer | Date => (Physical::I32, Some(4), true),
        BigInt | Oid | Reg(_) | Time(_) | TimeTz(_) | Timestamp(_) | TimestampTz(_) => (Physical::I64, Some(8), true),
        Real => (Physical::F32, Some(4), false),
        Double => (Physical::F64, Some(8), false),
        Text | Varchar(_) | Char(_) | Name | InternalChar | Bytea | Void | RegName(_) => (Physical::Bytes, None, false),
        Interval(_) => (Physical::Interval, Some(16), false),
        Uuid => (Physical::Uuid, Some(16), false),
        Numeric(_) => (Physical::Decimal, None, false),
        Enum(_) => (Physical::I64, Some(8), true),
        Inet | Cidr | Macaddr | Macaddr8 | Json | Jsonb | JsonPath | Citext(_) | Hstore(_) | Composite(_)
        | Array(_) | Unknown => (Physical::Values, None, false),
    };
    // (From 18 on others stand between: arrays, what users and extensions make, and the two vectors.)
    let code = match base {
        Boolean => 1,
        SmallInt => 2,
        Integer => 3,
        BigInt => 4,
        Real => 5,
        Double => 6,
        Numeric(_) => 7,
        Text => 8,
        Varchar(_) => 9,
        Char(_) => 10,
        Bytea => 11,
        Date => 12,
        Time(_) => 13,
        Timestamp(_) => 14,
        TimestampTz(_) => 15,
        Interval(_) => 16,
        Uuid => 17,
        Json => 19,
        Jsonb => 20,
        JsonPath => 21,
        Name => 25,
        InternalChar => 26,
        Oid => 27,
        TimeTz(_) => 28,
        Inet => 33,
        Cidr => 34,
        Macaddr => 35,
        Macaddr8 => 36,
        Reg(_) | Void | RegName(_) | Citext(_) | Hstore(_) | Enum(_) | Composite(_) | Array(_) | Unknown => 0,
    };
    TypeInfo {
        base,
        oid,
        array_oid,
        name,
        array_name,
        catalog_name,
        other_names,
        category,
        preferred,
        physical,
        width,
        is_integer,
        code,
    }
}

/// A literal whose type has yet to be decided.
static UNKNOWN: TypeInfo = of(DataType::Unknown, [705, 0], ["unknown"; 3], &[], TypeCategory::Unknown, false);

static VOID: TypeInfo = of(DataType::Void, [2278, 0], ["void"; 3], &[], TypeCategory::User, false);

/// Of names in results, by [`Reg`]: what is known of its oids, but for the array type.
static REG_NAMES: [TypeInfo; Reg::ALL.len()] = {
    let [a, b, c, d, e, f] = Reg::ALL;
    [of_name(a), of_name(b), of_name(c), of_name(d), of_name(e), of_name(f)]
};

const fn of_name(reg: Reg) -> TypeInfo {
    let oids = &TYPES[DataType::Reg(reg).id() as usize];
    of(DataType::RegName(reg), [oids.oid, 0], [oids.name; 3], &[], TypeCategory::Numeric, false)
}

impl DataType {
    /// `int2vector`, of PostgreSQL's catalog: an array of `smallint` that is counted from 0 and written as numbers with blanks between
    /// them. It converts to such an array, not back.
    pub const INT2VECTOR: DataType = DataType::Array(ElementType::OF_INT2VECTOR);
    /// `oidvector`: the same of `oid`.
    pub const OIDVECTOR: DataType = DataType::Array(ElementType::OF_OIDVECTOR);

    /// What is known of the type; of an array, of its elements'.
    pub(crate) fn info(self) -> &'static TypeInfo {
        match self {
            DataType::Array(element) => element.info(),
            DataType::Unknown => &UNKNOWN,
            DataType::Void => &VOID,
            DataType::RegName(of) => &REG_NAMES[of as usize],
            DataType::Citext(of) | DataType::Hstore(of) => of.info(),
            DataType::Enum(of) => of.info(),
            DataType::Composite(of) => of.info(),
            other => &TYPES[usize::from(other.id())],
        }
    }

    /// The type that has this `oid` in PostgreSQL, if it is one of ours.
    pub(crate) fn of_oid(oid: u32) -> Option<DataType> {
        if let Some(vector) = [DataType::INT2VECTOR, DataType::OIDVECTOR].into_iter().find(|of| of.oid() == oid) {
            return Some(vector);
        }
        TYPES.iter().find_map(|info| match oid {
            0 => None,
            _ if info.oid == oid => Some(info.base),
            _ if info.array_oid == oid => info.base.array(),
            _ => None,
        })
    }

    /// PostgreSQL's `oid` of the type.
    pub fn oid(self) -> u32 {
        match self {
            DataType::INT2VECTOR => 22,
            DataType::OIDVECTOR => 30,
            DataType::Array(element) => element.info().array_oid,
            other => other.info().oid,
        }
    }

    /// The type of arrays of this type; an array's own type (its dimensions are no part of it). `None`: of a type that is
    /// still unknown, and of what only results have.
    pub fn array(self) -> Option<DataType> {
        match self {
            DataType::Array(_) => Some(self),
            DataType::Unknown | DataType::Void | DataType::RegName(_) => None,
            other => Some(DataType::Array(ElementType { id: other.id(), modifier: other.modifier() })),
        }
    }

    /// An array's elements' type.
    pub fn element(self) -> Option<DataType> {
        match self {
            DataType::Array(element) => Some(element.data_type()),
            _ => None,
        }
    }

    /// The place in [`TYPES`].
    const fn id(self) -> u16 {
        match self {
            DataType::Boolean => 0,
            DataType::SmallInt => 1,
            DataType::Integer => 2,
            DataType::BigInt => 3,
            DataType::Real => 4,
            DataType::Double => 5,
            DataType::Numeric(_) => 6,
            DataType::Text => 7,
            DataType::Varchar(_) => 8,
            DataType::Char(_) => 9,
            DataType::Bytea => 10,
            DataType::Date => 11,
            DataType::Time(_) => 12,
            DataType::Timestamp(_) => 13,
            DataType::TimestampTz(_) => 14,
            DataType::Interval(_) => 15,
            DataType::Uuid => 16,
            DataType::Json => 17,
            DataType::Jsonb => 18,
            DataType::JsonPath => 19,
            DataType::Name => 20,
            DataType::InternalChar => 21,
            DataType::Oid => 22,
            DataType::TimeTz(_) => 23,
            DataType::Array(element) => element.id,
            DataType::Reg(of) => 24 + of as u16,
            DataType::Inet => 30,
            DataType::Cidr => 31,
            DataType::Macaddr => 32,
            DataType::Macaddr8 => 33,
            DataType::Unknown | DataType::Void | DataType::RegName(_) => TYPES.len() as u16,
            DataType::Citext(_) | DataType::Hstore(_) => EXTENSION,
            DataType::Enum(_) => ENUM,
            DataType::Composite(_) => COMPOSITE,
        }
    }

    fn modifier(self) -> u32 {
        match self {
            // A precision is never 0.
            DataType::Numeric(Some((precision, scale))) => {
                u32::from(precision) << 16 | u32::from(scale.cast_unsigned())
            }
            DataType::Varchar(Some(length)) | DataType::Char(length) => length,
            // 0 digits are a modifier too.
            DataType::Time(Some(digits))
            | DataType::TimeTz(Some(digits))
            | DataType::Timestamp(Some(digits))
            | DataType::TimestampTz(Some(digits)) => u32::from(digits) + 1,
            DataType::Interval(Some(limit)) => limit.code(),
            DataType::Citext(of) | DataType::Hstore(of) => of.number(),
            DataType::Enum(of) => of.number(),
            DataType::Composite(of) => of.number(),
            _ => 0,
        }
    }
}

impl ElementType {
    /// `name`
    pub(crate) const NAME: ElementType = ElementType { id: 20, modifier: 0 };

    /// Of `int2vector`
    const OF_INT2VECTOR: ElementType = ElementType { id: 1, modifier: VECTOR };
    /// Of `oidvector`
    const OF_OIDVECTOR: ElementType = ElementType { id: 22, modifier: VECTOR };

    /// The array is a vector: see [`DataType::INT2VECTOR`].
    pub(crate) fn is_of_vector(self) -> bool {
        matches!(self, ElementType::OF_INT2VECTOR | ElementType::OF_OIDVECTOR)
    }

    /// The type.
    pub fn data_type(self) -> DataType {
        let ElementType { modifier, .. } = self;
        let digits = || modifier.checked_sub(1).map(|digits| digits as u8);
        match self.info().base {
            made @ (DataType::Citext(_) | DataType::Hstore(_) | DataType::Enum(_) | DataType::Composite(_)) => made,
            DataType::Numeric(_) if modifier != 0 => {
                DataType::Numeric(Some(((modifier >> 16) as u16, (modifier as u16).cast_signed())))
            }
            DataType::Varchar(_) if modifier != 0 => DataType::Varchar(Some(modifier)),
            DataType::Char(_) => DataType::Char(modifier),
            DataType::Time(_) => DataType::Time(digits()),
            DataType::TimeTz(_) => DataType::TimeTz(digits()),
            DataType::Timestamp(_) => DataType::Timestamp(digits()),
            DataType::TimestampTz(_) => DataType::TimestampTz(digits()),
            DataType::Interval(_) => DataType::Interval(IntervalLimit::from_code(modifier)),
            base => base,
        }
    }

    /// The type without its modifier; that of a vector's elements stays, for a vector is another type than an array.
    pub(super) fn base(self) -> ElementType {
        if matches!(self.id, ENUM | COMPOSITE | EXTENSION) || self.is_of_vector() {
            self
        } else {
            ElementType { modifier: 0, ..self }
        }
    }

    fn info(self) -> &'static TypeInfo {
        match self.id {
            EXTENSION => ExtensionType::from_number(self.modifier).map_or(&UNKNOWN, DataType::info),
            ENUM => EnumType::from_number(self.modifier).map_or(&UNKNOWN, EnumType::info),
            COMPOSITE => CompositeType::from_number(self.modifier).map_or(&UNKNOWN, CompositeType::info),
            id => &TYPES[usize::from(id)],
        }
    }
}

/// The types that tests go through: each one, some with modifiers too, and arrays of all of them.
pub fn sample_types() -> Vec<DataType> {
    let modified = [
        DataType::Numeric(Some((12, 3))),
        DataType::Numeric(Some((5, 2))),
        DataType::Varchar(Some(20)),
        DataType::Varchar(Some(4)),
        DataType::Char(3),
        DataType::Char(6),
        DataType::Time(Some(0)),
        DataType::TimeTz(Some(2)),
        DataType::Timestamp(Some(3)),
        DataType::TimestampTz(Some(6)),
        DataType::Interval(IntervalLimit::new(Some((IntervalField::Day, IntervalField::Minute)), None)),
        DataType::Interval(IntervalLimit::new(None, Some(2))),
    ];
    // `bpchar` without a length is no column's type.
    let plain = TYPES.iter().map(|info| info.base).filter(|base| *base != DataType::Char(0));
    let made = enums::sample().map(DataType::Enum).into_iter().chain(composite::sample().map(DataType::Composite));
    let extensions = ExtensionTypeKind::ALL.into_iter().filter_map(extension::sample);
    let scalars: Vec<DataType> = plain.chain(modified).chain(made).chain(extensions).collect();
    let arrays = scalars.iter().filter_map(|data_type| data_type.array());
    scalars.iter().copied().chain(arrays).collect()
}

/// The composite type of [`sample_types`].
#[cfg(test)]
pub(crate) fn sample_composite() -> DataType {
    DataType::Composite(composite::sample().expect("room for it"))
}

/// That of an extension of [`sample_types`].
#[cfg(test)]
pub(crate) fn sample_of_extension(kind: ExtensionTypeKind) -> DataType {
    extension::sample(kind).expect("room for it")
}

/// The enum of [`sample_types`].
#[cfg(test)]
pub(crate) fn sample_enum() -> DataType {
    DataType::Enum(enums::sample().expect("room for it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_is_found_where_the_list_has_it() {
        for (at, info) in TYPES.iter().enumerate() {
            assert_eq!(usize::from(info.base.id()), at, "{}", info.name);
            assert_eq!(info.base.info().name, info.name);
            assert_eq!(info.array_name, format!("{}[]", info.name));
        }
        for info in &REG_NAMES {
            assert_eq!(
                (info.base.info().oid, Reg::named(info.name).map(DataType::RegName)),
                (info.oid, Some(info.base))
            );
        }
    }

    #[test]
    fn an_array_keeps_its_elements_modifiers() {
        for data_type in sample_types() {
            let array = data_type.array().unwrap();
            assert_eq!(array.array(), Some(array));
            assert!(data_type.element().is_some() || array.element() == Some(data_type), "{data_type}");
        }
        for (vector, name, element) in [
            (DataType::INT2VECTOR, "int2vector", DataType::SmallInt),
            (DataType::OIDVECTOR, "oidvector", DataType::Oid),
        ] {
            assert_eq!((vector.type_name(), vector.to_string().as_str()), (name, name));
            assert_eq!((DataType::from_name(name), DataType::of_oid(vector.oid())), (Some(vector), Some(vector)));
            assert_eq!((vector.base(), vector.array(), vector.element()), (vector, Some(vector), Some(element)));
        }
        assert_eq!(DataType::Unknown.array(), None);
        assert_eq!((DataType::Void.array(), DataType::RegName(Reg::Class).array()), (None, None));
        let negative = DataType::Numeric(Some((3, -2)));
        assert_eq!(negative.array().unwrap().element(), Some(negative));
    }

    #[test]
    fn a_type_stays_small() {
        assert!(size_of::<DataType>() <= 12);
    }
}
