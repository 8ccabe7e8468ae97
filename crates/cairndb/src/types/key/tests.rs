use super::*;
use crate::types::row::RowLayout;
use crate::types::testing::{Random, random_value};
use crate::types::{DataType, Numeric, Value, sample_types};

fn encode(value: &Value, data_type: DataType, descending: bool) -> Vec<u8> {
    let mut out = Vec::new();
    encode_value(value, data_type, descending, descending, &mut out);
    out
}

#[test]
fn order_of_bytes_is_order_of_values() {
    let mut random = Random::new(1);
    for data_type in sample_types() {
        for _ in 0..4000 {
            let (a, b) = (random_value(&mut random, data_type), random_value(&mut random, data_type));
            let order = a.compare_as(&b, data_type);
            let (x, y) = (encode(&a, data_type, false), encode(&b, data_type, false));
            assert_eq!(x.cmp(&y), order, "{data_type}: {a:?} {b:?}");
            let (x, y) = (encode(&a, data_type, true), encode(&b, data_type, true));
            assert_eq!(y.cmp(&x), order, "{data_type} descending: {a:?} {b:?}");
        }
    }
}

#[test]
fn values_come_back_and_end_where_they_should() {
    let mut random = Random::new(2);
    for data_type in sample_types() {
        for round in 0..1000 {
            let (value, descending) = (random_value(&mut random, data_type), round % 2 == 0);
            let mut bytes = encode(&value, data_type, descending);
            bytes.extend_from_slice(b"next");
            let mut rest = bytes.as_slice();
            let back = decode_value(&mut rest, data_type, descending, descending).unwrap();
            assert_eq!(rest, b"next", "{data_type}");
            let mut rest = bytes.as_slice();
            skip_value(&mut rest, data_type, descending, descending).unwrap();
            assert_eq!(rest, b"next", "{data_type} passed");
            assert!(back.compare_as(&value, data_type).is_eq(), "{data_type}: {value:?} {back:?}");
            if is_decodable(data_type) {
                assert_eq!(format!("{back:?}"), format!("{value:?}"), "{data_type}");
            }
        }
    }
}

#[test]
fn nulls_go_where_they_are_asked_to() {
    for nulls_first in [false, true] {
        for descending in [false, true] {
            let (mut null, mut value) = (Vec::new(), Vec::new());
            encode_value(&Value::Null, DataType::Text, descending, nulls_first, &mut null);
            for text in ["", "\u{0}", "\u{10ffff}"] {
                value.clear();
                encode_value(&Value::text(text), DataType::Text, descending, nulls_first, &mut value);
                assert_eq!(null < value, nulls_first);
            }
            let mut rest = null.as_slice();
            assert!(decode_value(&mut rest, DataType::Text, descending, nulls_first).unwrap().is_null());
        }
    }
}

#[test]
fn small_integers_take_one_byte_and_widths_agree() {
    assert_eq!(encode(&Value::Integer(5), DataType::Integer, false), [0x25]);
    assert_eq!(encode(&Value::Integer(-1), DataType::Integer, false), [0x17, 0xff]);
    assert_eq!(encode(&Value::BigInt(300), DataType::BigInt, false), [0xa2, 1, 44]);
    assert_eq!(encode(&Value::SmallInt(300), DataType::SmallInt, false), [0xa2, 1, 44]);
}

#[test]
fn an_integer_is_read_from_its_two_parts_wherever_it_is_cut() {
    let mut random = Random::new(4);
    for number in (0..2000).map(|_| random.integer()).chain([0, 127, 128, -1, -256, -257, i64::MIN, i64::MAX]) {
        let mut key = encode(&Value::BigInt(number), DataType::BigInt, false);
        let length = key.len();
        key.extend_from_slice(b"next");
        for cut in 1..key.len() {
            let (prefix, rest) = key.split_at(cut);
            let start = IntegerStart::of(prefix).unwrap();
            assert_eq!(start.finish(rest), Some(number), "{number} {cut}");
            assert!(cut >= length || start.finish(&rest[..length - cut - 1]).is_none());
        }
    }
    assert!(IntegerStart::of(&[]).is_none() && IntegerStart::of(&[NULL_LAST]).is_none());
}

#[test]
fn equal_numerics_have_equal_keys() {
    for (a, b) in [("1.0", "1"), ("0", "0.000"), ("1500", "1.5e3"), ("-0.10", "-0.1"), ("100", "100.00")] {
        let encoded =
            |text: &str| encode(&Value::Numeric(Numeric::parse(text).unwrap()), DataType::Numeric(None), false);
        assert_eq!(encoded(a), encoded(b), "{a} {b}");
    }
}

#[test]
fn numerics_that_no_encoder_writes_are_damaged() {
    let decode = |bytes: &[u8], modifiers| decode_value(&mut &*bytes, DataType::Numeric(modifiers), false, false);
    let encoded = |text: &str| encode(&Value::Numeric(Numeric::parse(text).unwrap()), DataType::Numeric(None), false);
    let fitting = encoded("25.035");
    assert!(decode(&fitting, Some((12, 3))).is_ok());
    assert_eq!(decode(&encoded("25.0359"), Some((12, 3))).unwrap_err().sqlstate().0, "XX001");
    // 25.035 again, with two more zeroes behind it.
    let mut longer = fitting.clone();
    *longer.last_mut().unwrap() |= 1;
    longer.push(0);
    assert_eq!(decode(&longer, None).unwrap_err().sqlstate().0, "XX001");
}

#[test]
fn chars_that_no_encoder_writes_are_damaged() {
    let decode = |text: &str| {
        let bytes = encode(&Value::text(text), DataType::Text, false);
        decode_value(&mut bytes.as_slice(), DataType::Char(3), false, false)
    };
    assert_eq!(format!("{:?}", decode("ab").unwrap()), format!("{:?}", Value::text("ab ")));
    for text in ["ab ", "abcd"] {
        assert_eq!(decode(text).unwrap_err().sqlstate().0, "XX001");
    }
}

#[test]
fn a_text_prefix_begins_the_keys_of_its_extensions() {
    let mut prefix = Vec::new();
    encode_text_prefix("ab", &mut prefix);
    assert!(encode(&Value::text("abc"), DataType::Text, false).starts_with(&prefix));
    let end = prefix_end(&prefix).unwrap();
    assert!(encode(&Value::text("ab\u{10ffff}"), DataType::Text, false) < end);
    assert!(encode(&Value::text("ac"), DataType::Text, false) >= end);
    assert_eq!(prefix_end(&[0xff, 0xff]), None);
}

#[test]
fn garbage_never_panics() {
    let mut random = Random::new(3);
    for _ in 0..20_000 {
        let length = random.below(24) as usize;
        let bytes: Vec<u8> = (0..length).map(|_| random.next() as u8).collect();
        for data_type in sample_types() {
            let (mut rest, mut passed, descending) = (bytes.as_slice(), bytes.as_slice(), random.below(2) == 0);
            let skipped = skip_value(&mut passed, data_type, descending, false);
            match decode_value(&mut rest, data_type, descending, false) {
                Ok(_) => assert_eq!(passed, rest, "{data_type}"),
                Err(error) => assert_eq!(error.sqlstate().0, "XX001"),
            }
            if let Err(error) = skipped {
                assert_eq!(error.sqlstate().0, "XX001");
            }
            let layout = RowLayout::new(&[data_type, DataType::Text, data_type]);
            for column in 0..3 {
                if let Err(error) = layout.decode_column(&bytes, column) {
                    assert_eq!(error.sqlstate().0, "XX001");
                }
            }
        }
    }
}
