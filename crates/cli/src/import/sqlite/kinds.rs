//! Which type a column gets: what its declaration says, if its values agree; what they are, if not. SQLite takes any value
//! in any column, so all of them are looked at.

use cairndb::{DataType, EvalContext, from_text};
use rusqlite::types::ValueRef;
use rusqlite::{Result, Transaction};

use super::schema::{Column, Table};
use super::translate::selected;
use crate::import::report::Report;

/// Up to here every integer is a double precision number.
const EXACT_IN_DOUBLE: i64 = 1 << 53;

/// A column's type, and whether it has NULLs.
pub struct Kind {
    pub data_type: DataType,
    pub nulls: bool,
}

/// What the values of a column are.
struct Values {
    wishes: Vec<DataType>,
    nulls: bool,
    integers: bool,
    reals: bool,
    texts: bool,
    blobs: bool,
    /// Least and greatest integer.
    range: (i64, i64),
    infinite: bool,
    /// A text that no text of PostgreSQL's can be, and why.
    no_text: Option<&'static str>,
    /// Characters of the longest text.
    longest: usize,
    /// The first value that the declared type does not have, with the type.
    refused: Option<(DataType, String)>,
}

/// The types of a table's columns and the number of its rows; what surprises is reported.
pub fn of_table(sqlite: &Transaction<'_>, table: &Table, report: &mut Report) -> Result<(Vec<Kind>, u64)> {
    let mut columns: Vec<Values> = table.columns.iter().map(Values::new).collect();
    let context = EvalContext::now();
    let mut rows = 0;
    if !columns.is_empty() {
        let mut statement = sqlite.prepare(&selected(table))?;
        let mut found = statement.query(())?;
        while let Some(row) = found.next()? {
            rows += 1;
            for (at, values) in columns.iter_mut().enumerate() {
                values.see(row.get_ref(at)?, &context);
            }
        }
    }
    let kinds = table.columns.iter().zip(columns).map(|(column, values)| {
        let (data_type, why) = match table.is_row_id(column) {
            true => (DataType::BigInt, None),
            false => values.data_type(&column.declared),
        };
        let place = format!("{}.{}", table.name, column.name);
        if let Some(why) = why {
            let declared = if column.declared.is_empty() { "no type" } else { column.declared.as_str() };
            report.change(&place, &format!("{declared} is {data_type} here: {why}"));
        }
        Kind { data_type, nulls: values.nulls }
    });
    Ok((kinds.collect(), rows))
}

impl Values {
    fn new(column: &Column) -> Values {
        Values {
            wishes: wishes(&column.declared),
            nulls: false,
            integers: false,
            reals: false,
            texts: false,
            blobs: false,
            range: (i64::MAX, i64::MIN),
            infinite: false,
            no_text: None,
            longest: 0,
            refused: None,
        }
    }

    fn see(&mut self, value: ValueRef<'_>, context: &EvalContext) {
        match value {
            ValueRef::Null => return self.nulls = true,
            ValueRef::Integer(number) => {
                self.integers = true;
                self.range = (self.range.0.min(number), self.range.1.max(number));
            }
            ValueRef::Real(number) => {
                self.reals = true;
                self.infinite |= number.is_infinite();
            }
            ValueRef::Text(bytes) => {
                self.texts = true;
                match std::str::from_utf8(bytes) {
                    Err(_) => self.no_text = Some("some texts are no valid UTF-8"),
                    Ok(text) if text.contains('\0') => self.no_text = Some("some texts hold a zero byte"),
                    Ok(text) => self.longest = self.longest.max(text.chars().count()),
                }
            }
            ValueRef::Blob(_) => self.blobs = true,
        }
        let refused = self.wishes.first().copied().filter(|wish| !has(wish, value, context));
        if let Some(refused) = refused {
            self.refused.get_or_insert_with(|| (refused, shown(value)));
        }
        self.wishes.retain(|wish| has(wish, value, context));
    }

    /// The type, and why it is not the declared one.
    fn data_type(&self, declared: &str) -> (DataType, Option<String>) {
        let why_not = self.refused.as_ref().map(|(wish, value)| format!("{value} is no {wish}"));
        if let Some(wish) = self.wishes.first() {
            return (*wish, why_not);
        }
        let (numbers, others) = (self.integers || self.reals, self.texts || self.blobs);
        let by_values =
            || why_not.clone().or_else(|| declared.is_empty().then(|| "that is what the values are".to_string()));
        match (numbers, others) {
            _ if self.blobs && (numbers || self.texts) => (
                DataType::Bytea,
                Some("its values are bytes and others, which are there as the bytes of their texts".into()),
            ),
            _ if self.no_text.is_some() => (DataType::Bytea, self.no_text.map(str::to_string)),
            _ if self.blobs => (DataType::Bytea, by_values()),
            (true, true) => (DataType::Text, Some("its values are numbers and texts; all are texts now".into())),
            (false, true) => (DataType::Text, by_values()),
            (true, false) if !self.reals => (DataType::BigInt, by_values()),
            (true, false) if self.integers && !fits_double(self.range) => (DataType::Numeric(None), by_values()),
            (true, false) => (DataType::Double, by_values()),
            (false, false) => (DataType::Text, by_values()),
        }
    }
}

fn fits_double((least, greatest): (i64, i64)) -> bool {
    least >= -EXACT_IN_DOUBLE && greatest <= EXACT_IN_DOUBLE
}

/// The types that a declaration may mean, the best first. None: the values decide.
fn wishes(declared: &str) -> Vec<DataType> {
    let upper = declared.to_ascii_uppercase();
    let (word, numbers) = upper.split_once('(').map_or((upper.as_str(), ""), |(word, rest)| (word, rest));
    let word = word.trim();
    let mut numbers = numbers.trim_end_matches(')').split(',').map(|number| number.trim().parse::<u32>().ok());
    let (first, second) = (numbers.next().flatten(), numbers.next().flatten());
    let text = || match first {
        Some(length @ 1..=10_485_760) => vec![DataType::Varchar(Some(length)), DataType::Text],
        _ => vec![DataType::Text],
    };
    match word {
        _ if word.contains("BOOL") => vec![DataType::Boolean, DataType::BigInt],
        "TINYINT" | "SMALLINT" | "INT2" => vec![DataType::SmallInt, DataType::BigInt],
        "DATE" => vec![DataType::Date],
        "DATETIME" | "TIMESTAMP" => vec![DataType::Timestamp(None), DataType::TimestampTz(None)],
        "TIMESTAMPTZ" | "TIMESTAMP WITH TIME ZONE" => vec![DataType::TimestampTz(None)],
        "TIME" => vec![DataType::Time(None)],
        "UUID" | "GUID" => vec![DataType::Uuid],
        "JSON" => vec![DataType::Json],
        "JSONB" => vec![DataType::Jsonb],
        // SQLite's own rules of affinity, in their order.
        _ if word.contains("INT") => vec![DataType::BigInt],
        _ if ["CHAR", "CLOB", "TEXT"].iter().any(|part| word.contains(part)) => text(),
        _ if word.contains("BLOB") => vec![DataType::Bytea],
        _ if ["REAL", "FLOA", "DOUB"].iter().any(|part| word.contains(part)) => vec![DataType::Double],
        "DECIMAL" | "NUMERIC" => match (first, second.unwrap_or(0)) {
            (Some(precision @ 1..=1000), scale) if scale <= precision => {
                vec![DataType::Numeric(Some((precision as u16, scale as i16))), DataType::Numeric(None)]
            }
            _ => vec![DataType::Numeric(None)],
        },
        _ => vec![],
    }
}

/// Whether the type has the value as it is.
fn has(wish: &DataType, value: ValueRef<'_>, context: &EvalContext) -> bool {
    let text = match value {
        ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => Some(text),
            _ => return false,
        },
        _ => None,
    };
    match (wish, value) {
        (DataType::Boolean, ValueRef::Integer(number)) => matches!(number, 0 | 1),
        (DataType::SmallInt, ValueRef::Integer(number)) => i16::try_from(number).is_ok(),
        (DataType::BigInt, ValueRef::Integer(_)) => true,
        (DataType::Double, ValueRef::Real(_)) => true,
        (DataType::Double, ValueRef::Integer(number)) => fits_double((number, number)),
        (DataType::Numeric(None), ValueRef::Integer(_) | ValueRef::Real(_)) => true,
        (DataType::Numeric(Some((precision, scale))), ValueRef::Integer(number)) => {
            number.unsigned_abs().checked_ilog10().map_or(0, |digits| digits + 1)
                <= u32::from(*precision - *scale as u16)
        }
        (DataType::Numeric(Some((precision, scale))), ValueRef::Real(number)) => {
            let written = format!("{number:.*}", *scale as usize);
            let digits = written
                .trim_start_matches('-')
                .split('.')
                .next()
                .map_or(0, |whole| whole.trim_start_matches('0').len());
            written.parse() == Ok(number) && digits <= usize::from(*precision - *scale as u16)
        }
        (DataType::Varchar(Some(length)), ValueRef::Text(_)) => {
            text.is_some_and(|text| text.chars().count() <= *length as usize)
        }
        (DataType::Text, ValueRef::Text(_)) => true,
        (DataType::Bytea, ValueRef::Blob(_)) => true,
        (DataType::Date | DataType::Timestamp(_) | DataType::TimestampTz(_) | DataType::Time(_), ValueRef::Text(_)) => {
            text.is_some_and(|text| is_moment(wish, text) && from_text(text, *wish, context).is_ok())
        }
        (DataType::Uuid | DataType::Json | DataType::Jsonb, ValueRef::Text(_)) => {
            text.is_some_and(|text| from_text(text, *wish, context).is_ok())
        }
        _ => false,
    }
}

/// The forms that SQLite's own functions write and read, and nothing that a database reads another way (`now`, `1/2/3`), nor
/// digits of seconds that would be lost.
pub fn is_moment(wish: &DataType, text: &str) -> bool {
    let is_date = |text: &str| has_form(text, "0000-00-00");
    let (date, time) = match text.get(..10).filter(|date| is_date(date)) {
        Some(date) => (Some(date), text[10..].strip_prefix([' ', 'T'])),
        None => (None, Some(text)),
    };
    let (clock, zone) = time.map_or((None, ""), |time| {
        let end = time.find(['Z', '+', '-']).unwrap_or(time.len());
        (Some(&time[..end]), &time[end..])
    });
    let is_clock = clock.is_some_and(|clock| {
        let (whole, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
        let digits = (1..=6).contains(&fraction.len()) && fraction.bytes().all(|byte| byte.is_ascii_digit());
        (has_form(whole, "00:00:00") && digits) || (has_form(clock, "00:00"))
    });
    let is_zone = zone == "Z" || has_form(zone, "+00:00") || has_form(zone, "-00:00");
    match wish {
        DataType::Date => date.is_some() && text.len() == 10,
        DataType::Time(_) => date.is_none() && is_clock && zone.is_empty(),
        DataType::TimestampTz(_) => date.is_some() && is_clock && is_zone,
        _ => date.is_some() && (text.len() == 10 || (is_clock && zone.is_empty())),
    }
}

/// Digits where the form has some, and its other characters.
fn has_form(text: &str, form: &str) -> bool {
    let fits = |(byte, like): (u8, u8)| if like == b'0' { byte.is_ascii_digit() } else { byte == like };
    text.len() == form.len() && text.bytes().zip(form.bytes()).all(fits)
}

/// A value in a report.
fn shown(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => "NULL".to_string(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Blob(_) => "a blob".to_string(),
        ValueRef::Text(bytes) => {
            let text = String::from_utf8_lossy(bytes);
            let short: String = text.chars().take(30).collect();
            format!("'{short}{}'", if short.len() < text.len() { "..." } else { "" })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(declared: &str, values: &[ValueRef<'_>]) -> String {
        let name = String::new();
        let column = Column {
            name,
            declared: declared.to_string(),
            not_null: false,
            default: None,
            no_case: false,
            generated: None,
        };
        let mut seen = Values::new(&column);
        values.iter().for_each(|value| seen.see(*value, &EvalContext::now()));
        seen.data_type(declared).0.to_string()
    }

    fn text(text: &str) -> ValueRef<'_> {
        ValueRef::Text(text.as_bytes())
    }

    #[test]
    fn declarations_hold_where_the_values_agree() {
        use ValueRef::{Blob, Integer, Null, Real};
        for (declared, values, expected) in [
            ("INTEGER", vec![Integer(1), Null], "bigint"),
            ("INT", vec![Integer(1), Real(1.5)], "double precision"),
            ("INT", vec![Integer(i64::MAX), Real(9.223372036854776e18)], "numeric"),
            ("INT", vec![Integer(1), text("x")], "text"),
            ("smallint", vec![Integer(32_767)], "smallint"),
            ("smallint", vec![Integer(32_768)], "bigint"),
            ("BOOLEAN", vec![Integer(1), Integer(0)], "boolean"),
            ("BOOLEAN", vec![Integer(2)], "bigint"),
            ("NVARCHAR(3)", vec![text("äöü")], "character varying(3)"),
            ("VARCHAR(3)", vec![text("abcd")], "text"),
            ("TEXT", vec![text("a\0b")], "bytea"),
            ("TEXT", vec![ValueRef::Text(b"\xff")], "bytea"),
            ("TEXT", vec![Blob(b"a"), text("b")], "bytea"),
            ("DECIMAL(5,2)", vec![Real(999.99), Integer(-999)], "numeric(5,2)"),
            ("DECIMAL(5,2)", vec![Integer(1000)], "numeric"),
            ("DECIMAL(5,2)", vec![Real(0.125)], "numeric"),
            ("REAL", vec![Real(f64::INFINITY), Integer(1)], "double precision"),
            ("REAL", vec![Integer(i64::MAX)], "bigint"),
            ("DATE", vec![text("2024-02-29")], "date"),
            ("DATE", vec![text("2023-02-29")], "text"),
            ("DATE", vec![text("now")], "text"),
            ("DATETIME", vec![text("2024-02-29 10:11:12.123456"), text("2024-02-29")], "timestamp without time zone"),
            ("DATETIME", vec![text("2024-02-29T10:11:12Z")], "timestamp with time zone"),
            ("DATETIME", vec![text("2024-02-29 10:11:12"), text("2024-02-29T10:11:12Z")], "text"),
            ("DATETIME", vec![Integer(1_700_000_000)], "bigint"),
            ("", vec![], "text"),
            ("", vec![Blob(b"")], "bytea"),
            ("STRING", vec![Integer(7)], "bigint"),
            ("JSON", vec![text("{\"a\": 1}")], "json"),
            ("JSON", vec![text("{")], "text"),
        ] {
            assert_eq!(of(declared, &values), expected, "{declared} {values:?}");
        }
    }
}
