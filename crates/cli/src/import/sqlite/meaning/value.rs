//! A translated expression with what is known of it, and what may become of it beside others.

use cairndb::DataType;

use crate::import::sqlite::kinds::is_moment;

/// What the values are here; in SQLite moments, uuids and documents are texts, and booleans are the numbers 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// NULL, and nothing else.
    Null,
    Integer,
    Real,
    /// Where SQLite has integers and reals, as each value is.
    Numeric,
    Text,
    Blob,
    Boolean,
    Date,
    Time,
    Timestamp,
    TimestampTz,
    Uuid,
    Json,
    /// As Json, but written in another way than it came.
    Jsonb,
}

impl Kind {
    pub fn of(data_type: &DataType) -> Kind {
        match data_type {
            DataType::SmallInt | DataType::Integer | DataType::BigInt => Kind::Integer,
            DataType::Double => Kind::Real,
            DataType::Numeric(_) => Kind::Numeric,
            DataType::Bytea => Kind::Blob,
            DataType::Boolean => Kind::Boolean,
            DataType::Date => Kind::Date,
            DataType::Time(_) => Kind::Time,
            DataType::Timestamp(_) => Kind::Timestamp,
            DataType::TimestampTz(_) => Kind::TimestampTz,
            DataType::Uuid => Kind::Uuid,
            DataType::Json => Kind::Json,
            DataType::Jsonb => Kind::Jsonb,
            _ => Kind::Text,
        }
    }

    pub fn is_number(self) -> bool {
        matches!(self, Kind::Integer | Kind::Real | Kind::Numeric)
    }

    pub fn is_moment(self) -> bool {
        matches!(self, Kind::Date | Kind::Time | Kind::Timestamp | Kind::TimestampTz)
    }

    pub fn name(self) -> &'static str {
        match self {
            Kind::Null => "NULL",
            Kind::Integer => "an integer",
            Kind::Real => "a real number",
            Kind::Numeric => "a number",
            Kind::Text => "a text",
            Kind::Blob => "a blob",
            Kind::Boolean => "a boolean",
            Kind::Date => "a date",
            Kind::Time => "a time",
            Kind::Timestamp | Kind::TimestampTz => "a timestamp",
            Kind::Uuid => "a uuid",
            Kind::Json | Kind::Jsonb => "a document",
        }
    }
}

/// How an expression came about.
#[derive(Clone, Debug, PartialEq)]
pub enum Form {
    /// A column, whose affinity counts in comparisons; whether it compares without looking at case.
    Column {
        no_case: bool,
    },
    Number(f64),
    String(String),
    /// A moment in whole seconds, as SQLite's functions write it.
    Seconds,
    Other,
}

/// How tightly what stands outermost binds: operands that bind less get parentheses.
pub mod level {
    pub const OR: u8 = 0;
    pub const AND: u8 = 1;
    pub const NOT: u8 = 2;
    pub const COMPARISON: u8 = 3;
    pub const OTHER: u8 = 4;
    pub const SUM: u8 = 5;
    pub const PRODUCT: u8 = 6;
    pub const SIGN: u8 = 7;
    pub const ATOM: u8 = 9;
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Value {
    pub text: String,
    pub kind: Kind,
    pub form: Form,
    level: u8,
    /// It may be another one each time: it must stand once, as it did.
    pub is_volatile: bool,
    /// It is never below zero, and never NULL where what it is made of is not.
    pub is_count: bool,
}

/// What a translation gives, or why there is none.
pub type Found<T = Value> = Result<T, String>;

impl Value {
    pub fn atom(text: impl Into<String>, kind: Kind) -> Value {
        Value::of(text, kind, level::ATOM)
    }

    pub fn of(text: impl Into<String>, kind: Kind, level: u8) -> Value {
        Value { text: text.into(), kind, form: Form::Other, level, is_volatile: false, is_count: false }
    }

    pub fn in_form(self, form: Form) -> Value {
        Value { form, ..self }
    }

    /// Another one each time.
    pub fn volatile(self) -> Value {
        Value { is_volatile: true, ..self }
    }

    pub fn null() -> Value {
        Value::atom("NULL", Kind::Null)
    }

    pub fn string(text: &str) -> Value {
        Value::atom(quoted_string(text), Kind::Text).in_form(Form::String(text.to_string()))
    }

    /// A number as it is written in SQL.
    pub fn number(text: &str) -> Found {
        let digits = text.replace('_', "");
        let lower = digits.to_ascii_lowercase();
        let (digits, kind) = match lower.strip_prefix("0x") {
            Some(hex) => {
                // All 64 bits, the highest of which is the sign.
                let bits = u64::from_str_radix(hex, 16).map_err(|_| format!("{text} is too long a number"))?;
                ((bits as i64).to_string(), Kind::Integer)
            }
            None if digits.parse::<i64>().is_ok() => (digits, Kind::Integer),
            None => (digits, Kind::Real),
        };
        let number = digits.parse().map_err(|_| format!("{text} is no number"))?;
        let level = if digits.starts_with('-') { level::SIGN } else { level::ATOM };
        Ok(Value::of(&digits, kind, level).in_form(Form::Number(number)))
    }

    /// As volatile as what it is made of.
    pub fn made_of<'v>(mut self, parts: impl IntoIterator<Item = &'v Value>) -> Value {
        self.is_volatile |= parts.into_iter().any(|part| part.is_volatile);
        self
    }

    /// As an operand of what binds as tightly as this, at its left side.
    pub fn left(&self, level: u8) -> String {
        if self.level < level { format!("({})", self.text) } else { self.text.clone() }
    }

    /// The same at the right side.
    pub fn right(&self, level: u8) -> String {
        self.left(level + 1)
    }

    pub fn cast(&self, data_type: &str, kind: Kind) -> Value {
        Value::atom(format!("{}::{data_type}", self.left(level::ATOM)), kind).made_of([self])
    }

    pub fn is_null(&self) -> bool {
        self.kind == Kind::Null
    }

    /// By itself: a number with a point is a double precision one, as in SQLite.
    pub fn plain(&self) -> Value {
        match (&self.form, self.kind) {
            (Form::Number(_), Kind::Real) => self.cast("double precision", Kind::Real),
            _ => self.clone(),
        }
    }

    /// As a condition: in SQLite every number is one.
    pub fn condition(&self) -> Found<Value> {
        match (self.kind, &self.form) {
            (Kind::Boolean | Kind::Null, _) => Ok(self.clone()),
            (_, Form::Number(number)) => Ok(Value::atom(if *number == 0.0 { "false" } else { "true" }, Kind::Boolean)),
            (Kind::Integer | Kind::Real | Kind::Numeric, _) => {
                let text = format!("{} <> 0", self.left(level::COMPARISON + 1));
                Ok(Value::of(text, Kind::Boolean, level::COMPARISON).made_of([self]))
            }
            (kind, _) => Err(format!("{} is taken for a condition", kind.name())),
        }
    }

    /// As a number that is counted with.
    pub fn as_number(&self) -> Found<Value> {
        match self.kind {
            Kind::Boolean => Ok(self.cast("int", Kind::Integer)),
            Kind::Null | Kind::Integer | Kind::Real | Kind::Numeric => Ok(self.clone()),
            kind => Err(format!("{} is taken for a number", kind.name())),
        }
    }

    pub fn as_integer(&self) -> Found<Value> {
        let number = self.as_number()?;
        match number.kind {
            Kind::Integer | Kind::Null => Ok(number),
            kind => Err(format!("{} is taken for an integer", kind.name())),
        }
    }

    /// As the text that SQLite makes of it.
    pub fn as_text(&self) -> Found<Value> {
        match (self.kind, &self.form) {
            (Kind::Null | Kind::Text, _) => Ok(self.clone()),
            (Kind::Integer, Form::Number(_)) => Ok(Value::string(&self.text)),
            (Kind::Integer | Kind::Json, _) => Ok(self.cast("text", Kind::Text)),
            (Kind::Boolean, _) => Ok(self.cast("int", Kind::Integer).cast("text", Kind::Text)),
            (Kind::Date, _) => Ok(self.written("YYYY-MM-DD")),
            (Kind::Time, Form::Seconds) => Ok(self.written("HH24:MI:SS")),
            (Kind::Timestamp, Form::Seconds) => Ok(self.written("YYYY-MM-DD HH24:MI:SS")),
            (kind, _) => Err(format!("{} is taken for a text, which is written in another way here", kind.name())),
        }
    }

    fn written(&self, form: &str) -> Value {
        Value::atom(format!("to_char({}, '{form}')", self.text), Kind::Text).made_of([self])
    }

    /// As it is assigned to a column of the type, where that keeps what SQLite would have kept.
    pub fn assigned_to(&self, data_type: &DataType) -> Found<Value> {
        let target = Kind::of(data_type);
        let wrong = || format!("{} does not become a {data_type} as in SQLite", self.kind.name());
        match (target, self.kind, &self.form) {
            _ if self.is_null() => Ok(self.clone()),
            (Kind::Boolean, _, Form::Number(number)) if *number == 0.0 || *number == 1.0 => {
                Ok(Value::atom(if *number == 0.0 { "false" } else { "true" }, Kind::Boolean))
            }
            (Kind::Integer | Kind::Real | Kind::Numeric, _, Form::String(text)) => {
                Value::number(text).map_err(|_| wrong())?.assigned_to(data_type)
            }
            (Kind::Integer, Kind::Real, Form::Number(number)) if number.fract() == 0.0 && number.abs() < 1e15 => {
                Value::number(&format!("{number:.0}"))
            }
            (Kind::Integer, Kind::Integer, _) => Ok(self.clone()),
            (Kind::Integer | Kind::Real | Kind::Numeric, Kind::Boolean, _) => self.as_number(),
            (Kind::Real, kind, _) if kind.is_number() => Ok(self.clone()),
            (Kind::Numeric, _, Form::Number(_)) if has_room(data_type, &self.text) => Ok(self.clone()),
            (Kind::Numeric, Kind::Integer | Kind::Numeric, _) => Ok(self.clone()),
            (Kind::Numeric, Kind::Real, _) if *data_type == DataType::Numeric(None) => Ok(self.clone()),
            (Kind::Text, Kind::Real, Form::Number(number)) if number.to_string() == self.text => {
                Ok(Value::string(&self.text))
            }
            (Kind::Text, ..) => self.as_text(),
            (_, Kind::Text, Form::String(text)) if target.is_moment() => match is_moment(data_type, text) {
                true => Ok(self.clone()),
                false => Err(wrong()),
            },
            (Kind::Uuid | Kind::Json | Kind::Jsonb, Kind::Text, Form::String(_)) => Ok(self.clone()),
            (Kind::Timestamp, Kind::Date, _) => Ok(self.clone()),
            (Kind::TimestampTz, Kind::Timestamp, Form::Seconds) => {
                Ok(Value::of(format!("{} AT TIME ZONE 'UTC'", self.left(level::ATOM)), Kind::TimestampTz, level::OTHER))
            }
            (target, kind, _) if target == kind => Ok(self.clone()),
            _ => Err(wrong()),
        }
    }
}

/// The type keeps all digits of the number.
fn has_room(data_type: &DataType, number: &str) -> bool {
    let DataType::Numeric(Some((_, scale))) = data_type else { return true };
    let digits = number.split_once('.').map_or(0, |(_, digits)| digits.trim_end_matches('0').len());
    !number.contains(['e', 'E']) && digits <= usize::try_from(*scale).unwrap_or(0)
}

pub fn quoted_string(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

pub fn quoted_bytes(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("'\\x{digits}'::bytea")
}
