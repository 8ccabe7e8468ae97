//! Rows as tuples and structs.

use super::Row;
use crate::types::FromValue;
use crate::{Error, Result, SqlState};

/// A Rust type that a row can be read as: what a column can be read as ([`FromValue`]) takes the only one; a tuple takes the
/// columns in their order, all of them; a struct that derives it (with
/// the feature `derive`) takes those of its fields' names, wherever they stand, whatever else there is.
///
/// ```
/// # let conn = cairndb::Database::open_in_memory()?.connect()?;
/// # conn.execute_script("CREATE TABLE task (id int PRIMARY KEY, title text, done boolean); INSERT INTO task VALUES (1, 'write', null)")?;
/// let tasks: Vec<(i32, String, Option<bool>)> = conn.query_as("SELECT * FROM task", ())?.collect::<Result<_, _>>()?;
/// assert_eq!(tasks, [(1, "write".to_owned(), None)]);
/// assert_eq!(conn.query_row_as::<i64>("SELECT count(*) FROM task", ())?, 1);
/// # Ok::<(), cairndb::Error>(())
/// ```
#[cfg_attr(
    feature = "derive",
    doc = r#"
```
#[derive(cairndb::FromRow)]
struct Task {
    id: i32,
    #[cairndb(rename = "title")]
    name: String,
}
# let conn = cairndb::Database::open_in_memory()?.connect()?;
let insert = "INSERT INTO task (title) VALUES ($1) RETURNING *";
conn.execute("CREATE TABLE task (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, title text)", ())?;
let task: Task = conn.query_row_as(insert, ("read",))?;
assert_eq!((task.id, task.name.as_str()), (1, "read"));
# Ok::<(), cairndb::Error>(())
```
"#
)]
pub trait FromRow: Sized {
    /// Reads it. SQLSTATE 42703 where a column is missing, 42804 where there are more or fewer than a tuple has, and what
    /// [`FromValue`] fails with, with the column's name.
    fn from_row(row: &Row<'_>) -> Result<Self>;
}

/// A column of a struct that derives [`FromRow`].
#[doc(hidden)]
pub fn column_of<T: FromValue>(row: &Row<'_>, name: &str) -> Result<T> {
    row.get(name).map_err(|error| of_column(error, name))
}

fn of_column(error: Error, name: &str) -> Error {
    let is_told = error.detail().is_some() || error.sqlstate() == SqlState::UNDEFINED_COLUMN;
    if is_told { error } else { error.with_detail(format!("Column \"{name}\".")) }
}

/// SQLSTATE 42804 for a row of another number of columns.
fn check_width(row: &Row<'_>, wanted: usize, what: &str) -> Result<()> {
    match row.columns().len() {
        width if width == wanted => Ok(()),
        width => {
            let message = format!("cannot read a row of {width} columns as {what}");
            Err(Error::new(SqlState::DATATYPE_MISMATCH, message))
        }
    }
}

impl<T: FromValue> FromRow for T {
    fn from_row(row: &Row<'_>) -> Result<Self> {
        check_width(row, 1, "one value")?;
        row.get::<T>(0).map_err(|error| of_column(error, &row.columns()[0].name))
    }
}

macro_rules! tuples {
    ($($count:literal: $($name:ident $index:tt),+;)*) => {$(
        impl<$($name: FromValue),+> FromRow for ($($name,)+) {
            fn from_row(row: &Row<'_>) -> Result<Self> {
                check_width(row, $count, concat!("a tuple of ", $count))?;
                let columns = row.columns();
                Ok(($(row.get::<$name>($index).map_err(|error| of_column(error, &columns[$index].name))?,)+))
            }
        }
    )*};
}
tuples! {
    1: A 0;
    2: A 0, B 1;
    3: A 0, B 1, C 2;
    4: A 0, B 1, C 2, D 3;
    5: A 0, B 1, C 2, D 3, E 4;
    6: A 0, B 1, C 2, D 3, E 4, F 5;
    7: A 0, B 1, C 2, D 3, E 4, F 5, G 6;
    8: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7;
    9: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8;
    10: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9;
    11: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10;
    12: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11;
}
