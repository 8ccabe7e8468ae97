//! Random values of every type, for property tests.

use super::cast::name_of;
use super::datetime::{MICROS_PER_DAY, round_time, round_timestamp};
use super::{
    Array, Citext, Composite, DataType, Dimension, ExtensionType, Hstore, Inet, Interval, JsonBuilder, JsonPath, Jsonb,
    Numeric, RegValue, Value,
};
use crate::types::datetime::TimeTz;
use std::net::IpAddr;

/// A small generator (splitmix64): tests repeat exactly.
pub(crate) struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// Integers of all magnitudes, small ones often.
    pub fn integer(&mut self) -> i64 {
        let bits = self.below(64);
        (self.next() as i64) >> bits
    }
}

/// A value of the type, never NULL; edge cases are frequent.
pub(crate) fn random_value(random: &mut Random, data_type: DataType) -> Value {
    match data_type {
        DataType::Boolean => Value::Boolean(random.below(2) == 0),
        DataType::SmallInt => Value::SmallInt(random.integer() as i16),
        DataType::Integer => Value::Integer(random.integer() as i32),
        DataType::BigInt => Value::BigInt(random.integer()),
        DataType::Real => Value::Real(random_double(random) as f32),
        DataType::Double => Value::Double(random_double(random)),
        DataType::Numeric(None) => Value::Numeric(random_numeric(random)),
        DataType::Numeric(Some((precision, scale))) => {
            let limit = 10_i64.pow(u32::from(precision).min(18));
            Value::Numeric(Numeric::small((random.integer() >> 24) % limit, scale as u16))
        }
        DataType::Varchar(Some(length)) => {
            Value::text(random_text(random).chars().take(length as usize).collect::<String>())
        }
        // Without a length: as short as it is.
        DataType::Char(0) => Value::text(random_text(random)),
        DataType::Char(length) => {
            let mut text: String = random_text(random).chars().take(length as usize).collect();
            text.extend(std::iter::repeat_n(' ', length as usize - text.chars().count()));
            Value::text(text)
        }
        DataType::Name => Value::text(name_of(&random_text(random))),
        DataType::InternalChar => Value::text(["", "a", "Z", " ", "~"][random.below(5) as usize]),
        DataType::Oid => Value::BigInt(i64::from(random.integer() as u32)),
        DataType::Void => Value::text(""),
        DataType::Reg(of) => Value::Reg(RegValue { of, oid: random.integer() as u32 }),
        DataType::Text | DataType::Varchar(None) | DataType::RegName(_) | DataType::Unknown => {
            Value::text(random_text(random))
        }
        DataType::Bytea => {
            let length = random.below(6);
            Value::Bytea((0..length).map(|_| [0, 1, 2, 254, 255, 97][random.below(6) as usize]).collect())
        }
        DataType::Date => Value::Date(random.integer() as i32),
        DataType::Time(digits) => Value::Time(round_time(random.below(MICROS_PER_DAY as u64 + 1) as i64, digits)),
        DataType::TimeTz(digits) => {
            let micros = random.below(MICROS_PER_DAY as u64 + 1) as i64;
            let time = TimeTz::new(micros, random.below(115_199) as i32 - 57_599).expect("a zone that there is");
            Value::TimeTz(time.rounded(digits).packed())
        }
        DataType::Timestamp(digits) => Value::Timestamp(round_timestamp(random.integer(), digits)),
        DataType::TimestampTz(digits) => Value::TimestampTz(round_timestamp(random.integer(), digits)),
        DataType::Interval(limit) => {
            let interval =
                Interval { months: random.integer() as i32, days: random.integer() as i32, micros: random.integer() };
            Value::Interval(limit.map_or(interval, |limit| limit.fit(interval)))
        }
        DataType::Composite(of) => {
            let attributes = of.attributes().iter();
            let each = attributes.map(|attribute| match random.below(5) {
                0 => Value::Null,
                _ => random_value(random, attribute.data_type),
            });
            Composite::new(of, each.collect()).into()
        }
        DataType::Array(element) => random_array(random, element.data_type()).into(),
        DataType::Json => Value::Json(random_json(random).to_string().into()),
        DataType::Jsonb => Value::Jsonb(random_json(random)),
        DataType::JsonPath => {
            const PATHS: [&str; 6] =
                ["$", "$.a", "strict $[*]", "$.** ? (@ > 1 || @ starts with \"x\")", "-$.size() + 1", "$[last]"];
            let path = PATHS[random.below(6) as usize];
            Value::JsonPath(JsonPath::parse(path).expect("a path").into())
        }
        DataType::Citext(of) => Value::Citext(Citext::new(of, &random_text(random))),
        DataType::Hstore(of) => Value::Hstore(random_hstore(random, of)),
        DataType::Enum(of) => {
            let labels = of.labels();
            Value::Enum(of.value(labels[random.below(labels.len() as u64) as usize].key))
        }
        DataType::Uuid => Value::Uuid(std::array::from_fn(|_| random.next() as u8)),
        DataType::Inet => Value::Inet(random_inet(random)),
        DataType::Cidr => Value::Cidr(random_inet(random).network()),
        DataType::Macaddr => Value::Macaddr(std::array::from_fn(|_| random.below(3) as u8)),
        DataType::Macaddr8 => Value::Macaddr8(std::array::from_fn(|_| random.below(3) as u8)),
    }
}

/// Of few networks, so that some are in others.
fn random_inet(random: &mut Random) -> Inet {
    let number = [random.below(4), random.below(1 << 16), random.next()][random.below(3) as usize];
    let address = match random.below(2) {
        0 => IpAddr::V4((number as u32).rotate_left(30).into()),
        _ => IpAddr::V6(u128::from(number).rotate_left(126).into()),
    };
    let bits_max = if address.is_ipv4() { 32 } else { 128 };
    let bits = [bits_max, random.below(bits_max + 1), 2][random.below(3) as usize];
    Inet::new(address, bits as u8).expect("no more bits than there are")
}

fn random_hstore(random: &mut Random, of: ExtensionType) -> Hstore {
    let count = random.below(4);
    // (A text of one has no zero byte, as none has that comes from outside.)
    let text = |random: &mut Random| random_text(random).replace('\0', "");
    let mut pair = || (text(random), (random.below(4) > 0).then(|| text(random)));
    let pairs: Vec<_> = (0..count).map(|_| pair()).collect();
    Hstore::new(of, pairs.iter().map(|(key, value)| (key.as_str(), value.as_deref())).collect()).expect("short texts")
}

/// Small, so that some are equal but for the scale of their numbers.
fn random_json(random: &mut Random) -> Jsonb {
    let mut builder = JsonBuilder::default();
    random_node(random, 0, &mut builder);
    builder.finish().expect("one value")
}

fn random_node(random: &mut Random, depth: u64, builder: &mut JsonBuilder) {
    let few = |random: &mut Random| random.below(4 - depth.min(3));
    match random.below(8) {
        0 => builder.null(),
        1 => builder.boolean(random.below(2) == 0),
        2 => builder.number(&Numeric::small(random.below(3) as i64 * 10, random.below(2) as u16)),
        3 => builder.string(&random_text(random).replace('\0', "")),
        4 | 5 => {
            builder.begin_array().expect("not deep");
            (0..few(random)).for_each(|_| random_node(random, depth + 1, builder));
            builder.end().expect("it was begun");
        }
        _ => {
            builder.begin_object().expect("not deep");
            for _ in 0..few(random) {
                builder.key(["a", "b", "ab", "é", ""][random.below(5) as usize]);
                random_node(random, depth + 1, builder);
            }
            builder.end().expect("it was begun");
        }
    }
}

/// Of few elements in few dimensions, so that some are equal.
fn random_array(random: &mut Random, element: DataType) -> Array {
    let count = random.below(3) as usize;
    let dimensions: Vec<Dimension> = (0..count)
        .map(|_| Dimension { lower: [1, 1, 1, 0, -7][random.below(5) as usize], length: 1 + random.below(3) as usize })
        .collect();
    let length = if count == 0 { 0 } else { dimensions.iter().map(|dimension| dimension.length).product() };
    let pool: Vec<Value> = (0..2).map(|_| random_value(random, element)).collect();
    let values = (0..length).map(|_| match random.below(8) {
        0 => Value::Null,
        at if at < 4 => pool[(at % 2) as usize].clone(),
        _ => random_value(random, element),
    });
    let values = values.collect();
    Array::with_dimensions(element, &dimensions, values).expect("as many values as the dimensions say")
}

fn random_double(random: &mut Random) -> f64 {
    match random.below(8) {
        0 => [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE][random.below(6) as usize],
        1 => f64::from_bits(random.next()),
        _ => random.integer() as f64 / 1024.0,
    }
}

fn random_numeric(random: &mut Random) -> Numeric {
    match random.below(12) {
        0 => Numeric::NAN,
        1 => [Numeric::INFINITY, Numeric::NEGATIVE_INFINITY][random.below(2) as usize].clone(),
        2 => Numeric::small(10_i64.pow(random.below(19) as u32), random.below(25) as u16),
        3 => {
            let wide = i128::from(random.integer()) * i128::from(random.integer());
            Numeric::from_i128(wide, random.below(40) as u16)
        }
        _ => Numeric::small(random.integer(), random.below(8) as u16),
    }
}

fn random_text(random: &mut Random) -> String {
    const LETTERS: [char; 10] = ['a', 'b', 'z', ' ', '\u{0}', '\u{1}', '\u{2}', 'é', '\u{ff}', '\u{10ffff}'];
    let length = random.below(7);
    (0..length).map(|_| LETTERS[random.below(10) as usize]).collect()
}
