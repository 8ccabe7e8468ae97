use super::*;
use crate::types::testing::{Random, random_value};
use crate::types::{DataType, Value, ValueRef, sample_types};

fn random_row(random: &mut Random, types: &[DataType]) -> Vec<Value> {
    let mut value = |data_type: &DataType| match random.below(5) {
        0 => Value::Null,
        _ => random_value(random, *data_type),
    };
    types.iter().map(&mut value).collect()
}

fn random_type(random: &mut Random) -> DataType {
    let types = sample_types();
    types[random.below(types.len() as u64) as usize]
}

#[test]
fn rows_come_back_column_by_column_and_whole() {
    let mut random = Random::new(7);
    for _ in 0..3000 {
        let columns = random.below(12) as usize;
        let types: Vec<_> = (0..columns).map(|_| random_type(&mut random)).collect();
        let layout = RowLayout::with_version(&types, 300);
        let row = random_row(&mut random, &types);
        let mut bytes = Vec::new();
        layout.encode(&row, &mut bytes);
        let mut back = Vec::new();
        layout.decode(&bytes, &mut back).unwrap();
        assert_eq!(format!("{back:?}"), format!("{row:?}"));
        for (column, value) in row.iter().enumerate() {
            let back = layout.decode_column(&bytes, column).unwrap();
            assert_eq!(format!("{back:?}"), format!("{value:?}"));
        }
    }
}

#[test]
fn a_row_of_raw_columns_is_the_row() {
    let mut random = Random::new(8);
    for _ in 0..500 {
        let columns = random.below(12) as usize;
        let types: Vec<_> = (0..columns).map(|_| random_type(&mut random)).collect();
        let layout = RowLayout::new(&types);
        let (mut bytes, mut again) = (Vec::new(), Vec::new());
        layout.encode(&random_row(&mut random, &types), &mut bytes);
        layout.encode_raw(|column| layout.column_bytes(&bytes, column), &mut again);
        assert_eq!(again, bytes);
    }
}

#[test]
fn integers_take_as_few_bytes_as_they_need_and_one_to_grow_into() {
    let layout = RowLayout::new(&[DataType::Integer, DataType::Text, DataType::BigInt, DataType::Text]);
    let length = |a: i32, b: i64| {
        let mut bytes = Vec::new();
        layout.encode(&[Value::Integer(a), Value::text("ab"), Value::BigInt(b), Value::text("cde")], &mut bytes);
        assert_eq!(layout.column_bytes(&bytes, 3), Some(b"cde".as_slice()));
        // Besides the integers and the strings: a header, the second integer's width, the first string's length.
        bytes.len() - 5 - 3
    };
    for (number, bytes) in [(0, 1), (-1, 1), (127, 1), (-128, 1), (128, 3), (-129, 3), (32_767, 3), (32_768, 4)] {
        assert_eq!((length(number, 0), length(0, number.into())), (bytes + 1, bytes + 1), "{number}");
    }
    assert_eq!(length(i32::MIN, i64::MIN), 4 + 8);
    assert_eq!(length(i32::MAX, 1 << 55), 4 + 8);
    let layout = RowLayout::new(&[DataType::Date, DataType::SmallInt, DataType::TIMESTAMP]);
    let mut bytes = Vec::new();
    layout.encode(&[Value::Date(9_000), Value::SmallInt(300), Value::Timestamp(1 << 50)], &mut bytes);
    assert_eq!(bytes.len(), 1 + 1 + 2 + 2 + 7);
}

#[test]
fn many_integers_are_found_and_rows_read_together_agree_with_others() {
    let mut random = Random::new(9);
    for round in 0..1000 {
        let columns = 1 + random.below(40) as usize;
        let types: Vec<_> = (0..columns).map(|_| random_type(&mut random)).collect();
        let layout = RowLayout::new(&types);
        let mut value = |data_type: &DataType| match round % 2 == 1 && random.below(3) == 0 {
            true => Value::Null,
            false => random_value(&mut random, *data_type),
        };
        let row: Vec<Value> = types.iter().map(&mut value).collect();
        let mut bytes = Vec::new();
        layout.encode(&row, &mut bytes);
        match layout.nulls_of(&[&bytes]).unwrap() {
            NullsOfRows::No(none) => {
                assert!(row.iter().all(|value| !value.is_null()));
                agrees(&layout, &bytes, none);
            }
            NullsOfRows::Some(some) => agrees(&layout, &bytes, some),
        }
        // Beside one that has NULLs, each is read as if it might have some.
        let mut nulls = Vec::new();
        layout.encode(&vec![Value::Null; columns], &mut nulls);
        let Some(NullsOfRows::Some(some)) = layout.nulls_of(&[&bytes, &nulls]) else { panic!("NULLs") };
        agrees(&layout, &bytes, some);
        assert!(
            layout.nulls_of(&[&bytes, &[]]).is_none()
                && RowLayout::with_version(&types, 1).nulls_of(&[&bytes]).is_none()
        );
    }
}

/// Whether the row read as one of several is what it is by itself.
fn agrees(layout: &RowLayout, bytes: &[u8], nulls: impl Nulls) {
    for (column, &data_type) in layout.types().iter().enumerate() {
        let raw = layout.column_bytes(bytes, column);
        assert_eq!(nulls.is_null(bytes, column), raw.is_none());
        match (layout.bytes_of(column), raw) {
            (ColumnBytes::Integer(place), raw) => {
                let expected = raw.map(|raw| integer_from_raw(raw, data_type).unwrap());
                assert_eq!(place.read(bytes, nulls), expected);
            }
            (ColumnBytes::Fixed(offset), Some(raw)) => {
                assert!(bytes[layout.fixed_start(bytes, nulls) + offset..].starts_with(raw));
            }
            (ColumnBytes::Fixed(_), None) | (ColumnBytes::Variable, _) => {}
        }
    }
    let (mut together, variable) = (Vec::new(), layout.variable_columns());
    layout.append_variable_ranges(bytes, nulls, variable.len(), &mut together).unwrap();
    let others = variable.iter().map(|&column| layout.value_range(bytes, column).unwrap());
    assert_eq!(together, others.collect::<Vec<_>>());
}

fn patched(layout: &RowLayout, bytes: &[u8], column: usize, value: &Value) -> Option<Vec<u8>> {
    let (mut row, mut patch) = (bytes.to_vec(), Vec::new());
    let start = layout.patch(bytes, column, value.into(), &mut patch).unwrap()?;
    row[start..start + patch.len()].copy_from_slice(&patch);
    Some(row)
}

#[test]
fn a_column_is_patched_where_the_new_value_has_room() {
    let types = [DataType::Text, DataType::Integer, DataType::BigInt, DataType::Boolean, DataType::Integer];
    let layout = RowLayout::new(&types);
    let mut bytes = Vec::new();
    let row = [Value::Null, Value::Integer(1), Value::BigInt(-1000), Value::Boolean(false), Value::Null];
    layout.encode(&row, &mut bytes);
    let cases = [
        (1, Value::Integer(-128), true),
        (1, Value::Integer(128), false),
        (2, Value::BigInt(7), true),
        (2, Value::BigInt(-32_768), true),
        (2, Value::BigInt(40_000), true),
        (2, Value::BigInt(9_000_000), false),
        (3, Value::Boolean(true), true),
        (3, Value::Null, false),
        (0, Value::text(""), false),
        (4, Value::Integer(0), false),
    ];
    for (column, value, fits) in cases {
        let patched = patched(&layout, &bytes, column, &value);
        assert_eq!(patched.is_some(), fits, "{column} {value:?}");
        let Some(patched) = patched else { continue };
        let (mut back, mut expected) = (Vec::new(), row.to_vec());
        layout.decode(&patched, &mut back).unwrap();
        expected[column] = value;
        assert_eq!(format!("{back:?}"), format!("{expected:?}"));
    }
}

#[test]
fn widths_that_no_integer_has_are_damage() {
    let layout = RowLayout::new(&[DataType::SmallInt, DataType::Integer, DataType::BigInt]);
    let mut bytes = Vec::new();
    layout.encode(&[Value::SmallInt(1), Value::Integer(1), Value::BigInt(1)], &mut bytes);
    bytes.extend([0; 30]);
    for (half, column, most) in [(0, 0, 2), (2, 1, 4), (3, 2, 8)] {
        for width in 0..16 {
            let mut damaged = bytes.clone();
            let byte = &mut damaged[half / 2];
            *byte = *byte & !(15 << (4 * (half % 2))) | width << (4 * (half % 2));
            let sound = (1..=most).contains(&width);
            assert_eq!(layout.decode_column(&damaged, column).is_ok(), sound, "{column} {width}");
            let ColumnBytes::Integer(place) = layout.bytes_of(column) else { panic!("an integer") };
            assert_eq!(place.read(&damaged, NoNulls).is_some(), sound, "{column} {width}");
            assert!(
                sound
                    || layout
                        .patch(&damaged, column, ValueRef::SmallInt(0), &mut Vec::new())
                        .map_or(true, |place| width == 0 && place.is_none())
            );
        }
    }
}

#[test]
fn every_truncation_is_an_error_or_another_row() {
    let layout = RowLayout::new(&[DataType::Integer, DataType::Bytea, DataType::Numeric(None), DataType::Text]);
    let mut bytes = Vec::new();
    let row = [Value::Integer(1), Value::from(vec![9; 200]), Value::Numeric(5.into()), Value::text("x")];
    layout.encode(&row, &mut bytes);
    for length in 0..bytes.len() {
        let result = layout.decode_column(&bytes[..length], 1);
        assert!(length >= 205 || result.is_err(), "{length}");
    }
    assert!(RowLayout::with_version(&[DataType::Integer], 1).decode_column(&bytes, 0).is_err());
}
