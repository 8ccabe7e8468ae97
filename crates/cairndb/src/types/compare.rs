//! Order, equality and hashing of values, all consistent with each other and with the key encoding.
//!
//! Floats: -0.0 equals 0.0, NaN equals NaN and is greater than all others. Text by bytes (the C collation, the
//! documented default). Intervals by their span. Values of different types (which binding prevents, except among
//! integers and among floats) have some fixed order.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use super::{DataType, Value};

impl Value {
    /// The order of values of one type; NULL equals NULL and is greater than everything (NULLS LAST).
    pub fn compare(&self, other: &Value) -> Ordering {
        use Value::*;
        match (self, other) {
            (Boolean(a), Boolean(b)) => a.cmp(b),
            (Integer(a), Integer(b)) => a.cmp(b),
            (BigInt(a), BigInt(b)) => a.cmp(b),
            (Double(a), Double(b)) => compare_f64(*a, *b),
            (Numeric(a), Numeric(b)) => a.cmp(b),
            (Text(a), Text(b)) => a.as_bytes().cmp(b.as_bytes()),
            (Bytea(a), Bytea(b)) => a.cmp(b),
            (Date(a), Date(b)) => a.cmp(b),
            (Time(a), Time(b))
            | (TimeTz(a), TimeTz(b))
            | (Timestamp(a), Timestamp(b))
            | (TimestampTz(a), TimestampTz(b)) => a.cmp(b),
            (Interval(a), Interval(b)) => a.span().cmp(&b.span()),
            (Uuid(a), Uuid(b)) => a.cmp(b),
            // A network is an address.
            (Inet(a) | Cidr(a), Inet(b) | Cidr(b)) => a.cmp(b),
            (Macaddr(a), Macaddr(b)) => a.cmp(b),
            (Macaddr8(a), Macaddr8(b)) => a.cmp(b),
            (Json(a), Json(b)) => a.cmp(b),
            (Jsonb(a), Jsonb(b)) => a.compare(b),
            (JsonPath(a), JsonPath(b)) => a.to_string().cmp(&b.to_string()),
            (Citext(a), Citext(b)) => a.cmp(b),
            (Hstore(a), Hstore(b)) => a.cmp(b),
            (Enum(a), Enum(b)) => a.key().cmp(&b.key()),
            (Reg(a), Reg(b)) => a.oid.cmp(&b.oid),
            (Composite(a), Composite(b)) => a.compare(b),
            (Array(a), Array(b)) => a.compare(b),
            _ => self.compare_mixed(other),
        }
    }

    /// As [`compare`](Value::compare), for values of a column of `data_type`: trailing blanks of `char(n)` are
    /// insignificant.
    ///
    /// ```
    /// use cairndb::{DataType, Value};
    ///
    /// let (long, short) = (Value::text("a  "), Value::text("a"));
    /// assert!(long.compare_as(&short, DataType::Char(3)).is_eq() && long.compare(&short).is_gt());
    /// ```
    pub fn compare_as(&self, other: &Value, data_type: DataType) -> Ordering {
        match (data_type, self, other) {
            (DataType::Char(_), Value::Text(a), Value::Text(b)) => compare_blank_padded(a, b),
            _ => self.compare(other),
        }
    }

    fn compare_mixed(&self, other: &Value) -> Ordering {
        if let (Some(a), Some(b)) = (self.as_i64(), other.as_i64()) {
            return a.cmp(&b);
        }
        if let (Some(a), Some(b)) = (self.as_float(), other.as_float()) {
            return compare_f64(a, b);
        }
        self.rank().cmp(&other.rank())
    }

    /// A `real` or `double precision`, widened.
    fn as_float(&self) -> Option<f64> {
        match *self {
            Value::Real(value) => Some(value.into()),
            Value::Double(value) => Some(value),
            _ => None,
        }
    }

    fn rank(&self) -> u8 {
        use Value::*;
        match self {
            Boolean(_) => 0,
            SmallInt(_) | Integer(_) | BigInt(_) | Reg(_) => 1,
            Real(_) | Double(_) => 2,
            Numeric(_) => 3,
            Text(_) => 4,
            Bytea(_) => 5,
            Date(_) => 6,
            Time(_) => 7,
            Timestamp(_) => 8,
            TimestampTz(_) => 9,
            Interval(_) => 10,
            Uuid(_) => 11,
            Json(_) => 12,
            Jsonb(_) => 13,
            JsonPath(_) => 14,
            Enum(_) => 15,
            Array(_) => 16,
            Composite(_) => 17,
            TimeTz(_) => 18,
            Citext(_) => 19,
            Hstore(_) => 20,
            Inet(_) | Cidr(_) => 21,
            Macaddr(_) => 22,
            Macaddr8(_) => 23,
            Null => 24,
        }
    }
}

/// Floats in SQL's order: NaN equals NaN and is the greatest, -0.0 equals 0.0.
pub fn compare_f64(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

/// Strings as `char(n)` compares them: without trailing blanks.
pub fn compare_blank_padded(a: &str, b: &str) -> Ordering {
    a.trim_end_matches(' ').as_bytes().cmp(b.trim_end_matches(' ').as_bytes())
}

impl PartialEq for Value {
    fn eq(&self, other: &Value) -> bool {
        self.compare(other).is_eq()
    }
}
impl Eq for Value {}

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        use Value::*;
        match self {
            Null => state.write_u8(0xff),
            Boolean(value) => state.write_u8((*value).into()),
            SmallInt(value) => state.write_i64((*value).into()),
            Integer(value) => state.write_i64((*value).into()),
            BigInt(value) => state.write_i64(*value),
            Real(value) => state.write_u64(float_hash_bits((*value).into())),
            Double(value) => state.write_u64(float_hash_bits(*value)),
            Numeric(value) => value.hash(state),
            Text(text) => text.hash(state),
            Bytea(bytes) => bytes.hash(state),
            Date(days) => state.write_i32(*days),
            Time(micros) | TimeTz(micros) | Timestamp(micros) | TimestampTz(micros) => state.write_i64(*micros),
            Interval(interval) => state.write_i128(interval.span()),
            Uuid(bytes) => state.write(bytes),
            Inet(value) | Cidr(value) => value.hash(state),
            Macaddr(bytes) => state.write(bytes),
            Macaddr8(bytes) => state.write(bytes),
            Json(text) => text.hash(state),
            Jsonb(document) => document.hash(state),
            JsonPath(path) => path.to_string().hash(state),
            Citext(text) => text.hash(state),
            Hstore(of) => of.hash(state),
            Enum(value) => state.write_i64(value.key()),
            Reg(value) => state.write_i64(value.number()),
            Composite(row) => row.hash(state),
            Array(array) => array.hash(state),
        }
    }
}

/// One bit pattern for all floats that compare equal.
pub fn float_hash_bits(value: f64) -> u64 {
    if value.is_nan() {
        f64::NAN.to_bits()
    } else {
        // Adding zero turns -0.0 into 0.0 and changes nothing else.
        (value + 0.0).to_bits()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::{BuildHasher, RandomState};

    #[test]
    fn equal_values_hash_alike() {
        let hasher = RandomState::new();
        let pairs = [
            (Value::Double(0.0), Value::Double(-0.0)),
            (Value::Double(f64::NAN), Value::Double(-f64::NAN)),
            (Value::Real(1.5), Value::Double(1.5)),
            (Value::Integer(7), Value::BigInt(7)),
            (Value::Null, Value::Null),
        ];
        for (a, b) in pairs {
            assert_eq!(a, b);
            assert_eq!(hasher.hash_one(&a), hasher.hash_one(&b), "{a:?}");
        }
    }

    #[test]
    fn nan_and_null_are_greatest() {
        assert!(Value::Double(f64::INFINITY).compare(&Value::Double(f64::NAN)).is_lt());
        assert!(Value::Double(f64::NAN).compare(&Value::Null).is_lt());
    }

    #[test]
    fn trailing_blanks_of_char_are_insignificant() {
        let (a, b) = (Value::text("ab  "), Value::text("ab"));
        assert!(a.compare_as(&b, DataType::Char(4)).is_eq());
        assert!(a.compare_as(&b, DataType::Text).is_gt());
    }
}
