//! `SET n = n + 1` is done on the row's bytes where it can be: the same answers, errors and rows as the general path gives,
//! over every width, at every limit, with NULLs.

use cairndb::{Connection, Result, Value};

const SCHEMA: &str = "CREATE TABLE t (id int PRIMARY KEY, a text, s smallint, i int, d date, b bigint);\
    INSERT INTO t VALUES (1, 'text', 1, 1, '2024-01-01', 1);";

const COLUMNS: [&str; 3] = ["s", "i", "b"];

const CHANGES: [&str; 5] = ["n + $1", "$1 + n", "n - $1", "$1 - n", "n + n"];

fn value(column: &str, number: i64) -> Option<Value> {
    Some(match column {
        "s" => Value::SmallInt(number.try_into().ok()?),
        "i" => Value::Integer(number.try_into().ok()?),
        _ => Value::BigInt(number),
    })
}

/// NULL, and the first and last number of every width.
fn values(column: &str) -> Vec<Value> {
    let limits = (0..8).map(|bytes| 1_i64.checked_shl(8 * bytes + 7).unwrap_or(i64::MIN));
    let around = limits.flat_map(|limit| [limit, limit.wrapping_sub(1), limit.wrapping_neg(), !limit]);
    let numbers = [0, 1, -1, 3].into_iter().chain(around);
    [Value::Null].into_iter().chain(numbers.filter_map(|number| value(column, number))).collect()
}

/// The new value, or the error.
fn changed(conn: &Connection, column: &str, change: &str, operand: &Value) -> std::result::Result<Value, String> {
    let sql = format!("UPDATE t SET {column} = {} WHERE id = 1", change.replace('n', column));
    let run = || -> Result<u64> {
        match change.contains("$1") {
            true => conn.execute(&sql, (operand.clone(),)),
            false => conn.execute(&sql, ()),
        }
    };
    match run() {
        Ok(affected) => assert_eq!(affected, 1),
        Err(error) => return Err(format!("{:?} {}", error.sqlstate(), error.message())),
    }
    let rows = crate::common::typed_rows(conn, &format!("SELECT {column}, a, d::text FROM t"));
    assert_eq!(rows[0][1..], [Value::text("text"), Value::text("2024-01-01")]);
    Ok(rows[0][0].clone())
}

#[test]
fn counting_is_adding() {
    let (point, general) = (crate::common::connect(SCHEMA), crate::common::connect_general(SCHEMA));
    let (mut answers, mut errors) = (0, 0);
    for column in COLUMNS {
        let values = values(column);
        for old in &values {
            for operand in &values {
                for change in CHANGES {
                    let both = [&point, &general].map(|conn| {
                        let set = format!("UPDATE t SET {column} = $1 WHERE id = 1");
                        conn.execute(&set, (old.clone(),)).unwrap();
                        changed(conn, column, change, operand)
                    });
                    assert_eq!(both[0], both[1], "{column}: {change} of {old:?} and {operand:?}");
                    *if both[0].is_ok() { &mut answers } else { &mut errors } += 1;
                }
            }
        }
    }
    assert!(answers > 3_000 && errors > 300, "{answers} answers, {errors} errors");
}
