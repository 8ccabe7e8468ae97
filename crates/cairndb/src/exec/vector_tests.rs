//! Vectors of every type beside the same values by themselves: what they hold, and how that is equal, ordered and hashed.

use std::cmp::Ordering;

use super::row_order::{Direction, sorted_rows};
use crate::columns::{NO_ROW, Vector, compare_values, hash_rows, values_equal};
use crate::types::testing::{Random, random_value};
use crate::types::{Interval, Numeric, sample_types};
use crate::{DataType, Value};

/// Values of which many are equal without being the same, and some are NULL.
fn values(random: &mut Random, data_type: DataType, count: usize) -> Vec<Value> {
    // Decimals lie in vectors in one way or another.
    let form = random.below(5);
    let random_value = |random: &mut Random, data_type| match data_type {
        DataType::Numeric(None) if form < 4 => Value::Numeric(random_decimal(random, form)),
        other => random_value(random, other),
    };
    let pool: Vec<Value> = (0..6).map(|_| random_value(random, data_type)).collect();
    let value = |random: &mut Random| match (random.below(8), data_type) {
        (0, _) => Value::Null,
        (4, DataType::Numeric(None)) => match &pool[random.below(6) as usize] {
            Value::Numeric(value) if form > 0 => Value::Numeric(value.round(i32::from(value.scale()) + 1)),
            other => other.clone(),
        },
        (1..4, _) => pool[random.below(6) as usize].clone(),
        (4, DataType::Interval(_)) => {
            Value::Interval(Interval { months: 0, days: random.below(3) as i32 * 30, micros: 0 })
        }
        (5, DataType::Interval(_)) => Value::Interval(Interval { months: random.below(3) as i32, days: 0, micros: 0 }),
        (4, DataType::Uuid) => Value::Uuid(std::array::from_fn(|at| if at < 9 { 7 } else { random.below(2) as u8 })),
        _ => random_value(random, data_type),
    };
    (0..count).map(|_| value(random)).collect()
}

/// Of one scale, of several, of 128 bits too, and of one scale and 128 bits.
fn random_decimal(random: &mut Random, form: u64) -> Numeric {
    let wide = i128::from(random.integer()) * i128::from(random.integer());
    match form {
        0 => Numeric::small(random.integer(), 2),
        1 => Numeric::small(random.integer() >> 8, random.below(4) as u16),
        2 => Numeric::from_i128(wide, random.below(30) as u16),
        _ => Numeric::from_i128(wide, 6),
    }
}

fn shown(values: &[Value]) -> String {
    format!("{values:?}")
}

fn all(vector: &Vector) -> Vec<Value> {
    (0..vector.len()).map(|row| vector.value(row)).collect()
}

fn rows(random: &mut Random, len: usize) -> Vec<u32> {
    (0..random.below(2 * len as u64)).map(|_| random.below(len as u64) as u32).collect()
}

fn each_type(seed: u64, mut test: impl FnMut(&mut Random, DataType, &[Value], &Vector)) {
    let mut random = Random::new(seed);
    for data_type in sample_types() {
        for _ in 0..12 {
            let values = values(&mut random, data_type, 40);
            let vector = Vector::from_values(data_type, &values).unwrap();
            test(&mut random, data_type, &values, &vector);
        }
    }
}

#[test]
fn a_vector_gives_back_what_it_was_given() {
    each_type(1, |random, data_type, values, vector| {
        assert_eq!(shown(&all(vector)), shown(values), "{data_type}");
        let lent: Vec<Value> = (0..vector.len()).map(|row| vector.value_ref(row).unwrap().to_value()).collect();
        assert_eq!(shown(&lent), shown(values), "{data_type}");
        assert!(vector.value(values.len()).is_null() && vector.value_ref(values.len()).unwrap().is_null());

        let mut picked = rows(random, values.len());
        let expected: Vec<Value> = picked.iter().map(|&row| values[row as usize].clone()).collect();
        assert_eq!(shown(&all(&vector.gather(&picked))), shown(&expected), "{data_type}");
        picked.insert(picked.len() / 2, NO_ROW);
        let mut expected: Vec<Value> =
            picked.iter().map(|&row| values.get(row as usize).cloned().unwrap_or(Value::Null)).collect();
        let mut gathered = vector.gather(&picked);
        assert_eq!(shown(&all(&gathered)), shown(&expected), "{data_type}");

        gathered.append(vector);
        expected.extend_from_slice(values);
        gathered.push_null();
        expected.push(Value::Null);
        gathered.append_rows(vector, &[3, 3]);
        expected.extend([values[3].clone(), values[3].clone()]);
        assert_eq!(shown(&all(&gathered)), shown(&expected), "{data_type}");
        let repeated = Vector::repeat(data_type, &values[0], 3).unwrap();
        assert_eq!(shown(&all(&repeated)), shown(&vec![values[0].clone(); 3]), "{data_type}");
    });
}

#[test]
fn values_in_vectors_are_equal_and_ordered_as_by_themselves() {
    let mut equals = 0;
    each_type(2, |random, data_type, values, vector| {
        // Another vector: what is in it decides how it lies there.
        let picked = rows(random, values.len());
        let other = vector.gather(&picked);
        let hashes = [hash_rows(&[vector], values.len()), hash_rows(&[&other], picked.len())];
        for (row, value) in values.iter().enumerate() {
            for (at, &same) in picked.iter().enumerate() {
                let found = &values[same as usize];
                let order = value.compare_as(found, data_type);
                let place = format!("{data_type}: {value:?} {found:?}");
                assert_eq!(values_equal(vector, row, &other, at), order.is_eq(), "{place}");
                if order.is_eq() {
                    assert_eq!(hashes[0][row], hashes[1][at], "{place}");
                    equals += usize::from(format!("{value:?}") != format!("{found:?}"));
                }
                if !value.is_null() && !found.is_null() {
                    assert_eq!(compare_values(vector, row, &other, at), order, "{place}");
                }
            }
        }
    });
    assert!(equals > 100, "{equals} pairs are equal and not the same");
}

#[test]
fn rows_sort_as_their_values_do() {
    each_type(3, |random, data_type, values, vector| {
        let direction = Direction { descending: random.below(2) == 0, nulls_first: random.below(2) == 0 };
        let order = |a: &Value, b: &Value| match (a.is_null(), b.is_null()) {
            (true, true) => Ordering::Equal,
            (true, false) if direction.nulls_first => Ordering::Less,
            (false, true) if !direction.nulls_first => Ordering::Less,
            (true, false) | (false, true) => Ordering::Greater,
            _ if direction.descending => b.compare_as(a, data_type),
            _ => a.compare_as(b, data_type),
        };
        let mut expected: Vec<u32> = (0..values.len() as u32).collect();
        expected.sort_by(|&a, &b| order(&values[a as usize], &values[b as usize]));
        assert_eq!(sorted_rows(&[vector], &[direction], values.len()), expected, "{data_type}: {values:?}");
    });
}
