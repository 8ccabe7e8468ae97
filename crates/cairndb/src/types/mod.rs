//! SQL types and values, their text forms, comparison, casts, and their bytes in rows and keys.

mod array;
mod binary;
mod builds;
mod cast;
mod citext;
mod coercion;
mod collation;
mod compare;
mod composite;
mod context;
mod data_type;
pub mod datetime;
mod definition;
mod encoding;
mod enums;
mod extension;
pub(crate) mod fnv;
mod form;
mod generator;
mod hstore;
mod info;
mod interned;
mod json;
pub mod key;
mod network;
mod numeric;
mod object_id;
mod reg;
mod regex_error;
pub mod row;
mod rust;
mod server;
mod style;
#[cfg(test)]
pub(crate) mod testing;
pub mod text;
mod typmod;
mod uses;
mod value;
mod value_ref;
mod version;

pub use array::{Array, Dimension};
pub(crate) use array::{DIMENSIONS_MAX, ELEMENTS_MAX, Subscript, count_of, too_many_dimensions};
pub use binary::{read_binary, write_binary};
pub(crate) use builds::{Builds, Built, RunningBuild};
pub(crate) use cast::{NAME_BYTES_MAX, date_to_timestamp, name_of, to_utc};
pub use cast::{cast, cast_assign};
pub use citext::Citext;
pub(crate) use citext::lower;
pub(crate) use coercion::names_fixed_moment;
pub use coercion::{CastContext, can_cast, cast_is_fixed, cast_is_immutable, common_type};
pub(crate) use collation::{COLLATION_HINT, is_known_collation};
pub use compare::{compare_blank_padded, compare_f64, float_hash_bits};
pub(crate) use composite::Shape;
pub use composite::{Attribute, Composite, CompositeType};
pub(crate) use composite::{CompositeDefinition, NamedComposite};
pub(crate) use composite::{is_open, read_open, write_open};
pub(crate) use context::{
    Advisory, FunctionCalls, ListedCursor, ListedStatement, LockScope, SessionNames, SessionServices, SettingChange,
    ShownSettings,
};
pub use context::{EvalContext, ZoneName};
pub use data_type::{DataType, TypeCategory};
pub use datetime::{IntervalField, IntervalLimit, TimeTz};
pub use definition::Definition;
pub(crate) use definition::{KnownColumn, Reference};
pub(crate) use encoding::{Decoder, Encoding};
pub(crate) use enums::{EnumDefinition, EnumLabel, first_keys, key_between};
pub use enums::{EnumType, EnumValue};
pub use extension::ExtensionType;
pub(crate) use extension::{ExtensionTypeDefinition, ExtensionTypeKind};
pub use form::Form;
pub(crate) use generator::{Generator, mixed};
pub use hstore::Hstore;
pub(crate) use hstore::hstore_json;
pub use info::{ElementType, Physical, TYPES, sample_types};
#[cfg(test)]
pub(crate) use info::{sample_composite, sample_enum, sample_of_extension};
pub(crate) use json::{
    BinaryOp, Builder as JsonBuilder, Document, Items, Json, Kind as JsonKind, Method, Node as JsonNode, PathExpr,
    Step, check_depth, check_json, write_node, write_pretty, write_quoted,
};
pub use json::{JsonPath, Jsonb};
pub use network::Inet;
pub use numeric::{Numeric, NumericRef, SCALE_MAX};
pub(crate) use numeric::{Residues, division_by_zero, plain_decimal};
pub use object_id::ObjectId;
pub(crate) use object_id::{oid_of, row_array_oid, type_id};
pub(crate) use reg::{OidNames, names_oids};
pub use reg::{Reg, RegValue};
pub(crate) use regex_error::invalid_regex;
pub use rust::{ArrayElement, FromValue, Params, ToValue};
pub(crate) use rust::{check_count, collect, fit};
pub use server::{ServedDatabase, ServedSession, ServedStatement, Server};
pub(crate) use style::{ByteaOutput, DateOrder, DateStyle, IntervalStyle, TextStyle};
pub(crate) use text::is_plain_text;
pub use text::{from_text, to_text, write_text};
pub(crate) use text::{has_zero_byte, parse_integer, plain_integer, utf8};
pub(crate) use uses::{ExecutionUses, FewUses, SessionUses, UseCounts, UseShard, Used, Uses};
pub use value::{Interval, Value};
pub use value_ref::{Made, MakeValue, ValueRef};
