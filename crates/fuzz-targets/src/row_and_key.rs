//! Rows and keys decoded from any bytes, and values from any text.
//!
//! ```text
//! number of columns u8 | type u8, order u8, each | the rest is a key, a row, and lines of text for the values
//! ```
//! Promised besides: bytes are decoded to values or are damaged (SQLSTATE XX001); what was decoded, encoded again,
//! decodes to the same; the order of keys is the order of values; a row read as a whole is the row read column by
//! column; a value that was read from text survives keys, rows and its own text form.

use cairndb::internals::key::{decode_value, encode_value, is_decodable, skip_value};
use cairndb::internals::row::RowLayout;
use cairndb::internals::sample_types;
use cairndb::{DataType, Error, Value};
use cairndb::{EvalContext, from_text, to_text};

const COLUMNS_MAX: usize = 5;
#[derive(Clone, Copy, Debug)]
struct Column {
    data_type: DataType,
    descending: bool,
    nulls_first: bool,
}

/// The target.
pub fn row_and_key(data: &[u8]) {
    let Some((count, data)) = data.split_first() else { return };
    let count = 1 + usize::from(*count) % COLUMNS_MAX;
    let Some((head, rest)) = data.split_at_checked(2 * count) else { return };
    let columns: Vec<Column> = head.chunks_exact(2).map(|pair| Column::parse(pair[0], pair[1])).collect();
    key(&columns, rest);
    row(&columns, rest);
    texts(&columns, rest);
}

impl Column {
    fn parse(data_type: u8, order: u8) -> Column {
        let types = sample_types();
        let data_type = types[usize::from(data_type) % types.len()];
        Column { data_type, descending: order & 1 != 0, nulls_first: order & 2 != 0 }
    }

    fn decode(self, bytes: &mut &[u8]) -> Result<Value, Error> {
        decode_value(bytes, self.data_type, self.descending, self.nulls_first)
    }

    fn encode(self, value: &Value) -> Vec<u8> {
        let mut out = Vec::new();
        encode_value(value, self.data_type, self.descending, self.nulls_first, &mut out);
        out
    }
}

fn assert_damaged(error: &Error) {
    assert_eq!(error.sqlstate().0, "XX001", "{error:?}");
}

fn shown(value: &Value) -> String {
    format!("{value:?}")
}

/// A key of these columns, then a second value of the last column, for the order.
fn key(columns: &[Column], mut bytes: &[u8]) {
    let mut before: Option<Value> = None;
    for (number, column) in columns.iter().chain(columns.last()).enumerate() {
        let mut skipped = bytes;
        let skip = skip_value(&mut skipped, column.data_type, column.descending, column.nulls_first);
        let value = match column.decode(&mut bytes) {
            Ok(value) => value,
            Err(error) => return assert_damaged(&error),
        };
        assert!(skip.is_ok() && skipped == bytes, "{column:?}: skipping and decoding end in different places");
        survives_key(*column, &value);
        if let (true, Some(before)) = (number == columns.len(), &before) {
            in_order(*column, before, &value);
        }
        before = Some(value);
    }
}

/// Encoded and decoded, the value is equal; where its type promises so, it is the same.
fn survives_key(column: Column, value: &Value) {
    let bytes = column.encode(value);
    let mut rest = bytes.as_slice();
    let back = column.decode(&mut rest).unwrap_or_else(|error| panic!("{column:?} {value:?}: {error:?}"));
    assert!(rest.is_empty(), "{column:?} {value:?}: {} bytes are left", rest.len());
    assert!(back.compare_as(value, column.data_type).is_eq(), "{column:?}: {value:?} became {back:?}");
    let same = !is_decodable(column.data_type) || shown(&back) == shown(value);
    assert!(same, "{column:?}: {value:?} became {back:?}");
}

fn in_order(column: Column, a: &Value, b: &Value) {
    if a.is_null() || b.is_null() {
        return;
    }
    let order = a.compare_as(b, column.data_type);
    let order = if column.descending { order.reverse() } else { order };
    assert_eq!(column.encode(a).cmp(&column.encode(b)), order, "{column:?}: {a:?} and {b:?}");
}

/// A row of these columns.
fn row(columns: &[Column], bytes: &[u8]) {
    let types: Vec<DataType> = columns.iter().map(|column| column.data_type).collect();
    let layout = RowLayout::new(&types);
    let mut values = Vec::new();
    let whole = layout.decode(bytes, &mut values);
    let single: Result<Vec<Value>, Error> = (0..types.len()).map(|at| layout.decode_column(bytes, at)).collect();
    single.as_ref().err().into_iter().chain(whole.as_ref().err()).for_each(assert_damaged);
    let Ok(()) = whole else { return };
    let single = single.unwrap_or_else(|error| panic!("{types:?}: a whole row, but of a column {error:?}"));
    assert_eq!(shown_all(&values), shown_all(&single), "{types:?}");
    survives_row(&types, &values);
}

fn shown_all(values: &[Value]) -> Vec<String> {
    values.iter().map(shown).collect()
}

fn survives_row(types: &[DataType], values: &[Value]) {
    let layout = RowLayout::new(types);
    let (mut bytes, mut back) = (Vec::new(), Vec::new());
    layout.encode(values, &mut bytes);
    layout.decode(&bytes, &mut back).unwrap_or_else(|error| panic!("{types:?} {values:?}: {error:?}"));
    assert_eq!(shown_all(&back), shown_all(values), "{types:?}");
}

/// A line of text for each column.
fn texts(columns: &[Column], bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let context = EvalContext::default();
    let mut values = Vec::new();
    for (column, line) in columns.iter().zip(text.split('\n')) {
        match from_text(line, column.data_type, &context) {
            Ok(value) => {
                survives_key(*column, &value);
                survives_text(*column, &value, &context);
                values.push(value);
            }
            Err(error) => {
                assert_ne!(error.sqlstate().0, "XX000", "{column:?} {line:?}: {error:?}");
                values.push(Value::Null);
            }
        }
    }
    values.resize(columns.len(), Value::Null);
    let types: Vec<DataType> = columns.iter().map(|column| column.data_type).collect();
    survives_row(&types, &values);
}

fn survives_text(column: Column, value: &Value, context: &EvalContext) {
    let text = to_text(value, context);
    let back = from_text(&text, column.data_type, context);
    let back = back.unwrap_or_else(|error| panic!("{column:?}: {value:?} is written {text:?}: {error:?}"));
    assert_eq!(shown(&back), shown(value), "{column:?}: written {text:?}");
}
