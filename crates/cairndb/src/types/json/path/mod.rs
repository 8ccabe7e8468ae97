//! `jsonpath`: SQL/JSON's language for the parts of a document, parsed once.
//!
//! Source: PostgreSQL's manual, "The SQL/JSON Path Language".

mod parse;
mod pattern;
mod show;

use pattern::Pattern;

use crate::types::Numeric;
use crate::{Error, SqlState};

/// A value of type `jsonpath`.
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// let path = conn.query_row("SELECT '$.a[*] ? (@ > 1)'::jsonpath", (), |row| Ok(row.value(0).clone()))?;
/// assert!(matches!(path, cairndb::Value::JsonPath(_)));
/// assert_eq!(path.to_string(), "$.\"a\"[*]?(@ > 1)");
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct JsonPath {
    /// Structural errors are passed over, arrays unwrapped and other values wrapped where that helps.
    pub(crate) lax: bool,
    pub(crate) expr: PathExpr,
}

/// Expressions and predicates.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PathExpr {
    /// `$`
    Root,
    /// `@`
    Current,
    /// `last`
    Last,
    /// `$name`
    Variable(String),
    Null,
    Boolean(bool),
    Number(Numeric),
    String(String),
    /// What stands in front, and the steps behind it.
    Steps(Box<PathExpr>, Vec<Step>),
    Binary(BinaryOp, Box<PathExpr>, Box<PathExpr>),
    /// `-x`; false: `+x`.
    Sign(bool, Box<PathExpr>),
    Not(Box<PathExpr>),
    Exists(Box<PathExpr>),
    IsUnknown(Box<PathExpr>),
    LikeRegex(Box<PathExpr>, Pattern),
}

/// Operators between two operands, the least binding first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BinaryOp {
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    StartsWith,
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

/// A step from a value to others.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    /// `.key`
    Key(String),
    /// `.*`
    AnyKey,
    /// `.**{from to to}`; `None`: the last level.
    Levels(Option<u32>, Option<u32>),
    /// `[*]`
    AnyElement,
    /// `[1, 3 to last]`
    Elements(Vec<(PathExpr, Option<PathExpr>)>),
    /// `?(predicate)`
    Filter(Box<PathExpr>),
    Method(Method),
    /// `.datetime()`, `.datetime("template")`
    Datetime(Option<String>),
}

/// `.size()` and its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Type,
    Size,
    Double,
    Ceiling,
    Floor,
    Abs,
    KeyValue,
}

impl Method {
    const ALL: [Method; 7] =
        [Method::Type, Method::Size, Method::Double, Method::Ceiling, Method::Floor, Method::Abs, Method::KeyValue];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Method::Type => "type",
            Method::Size => "size",
            Method::Double => "double",
            Method::Ceiling => "ceiling",
            Method::Floor => "floor",
            Method::Abs => "abs",
            Method::KeyValue => "keyvalue",
        }
    }
}

impl BinaryOp {
    pub(crate) fn symbol(self) -> &'static str {
        match self {
            BinaryOp::Or => "||",
            BinaryOp::And => "&&",
            BinaryOp::Equal => "==",
            BinaryOp::NotEqual => "!=",
            BinaryOp::Less => "<",
            BinaryOp::LessEqual => "<=",
            BinaryOp::Greater => ">",
            BinaryOp::GreaterEqual => ">=",
            BinaryOp::StartsWith => "starts with",
            BinaryOp::Add => "+",
            BinaryOp::Subtract => "-",
            BinaryOp::Multiply => "*",
            BinaryOp::Divide => "/",
            BinaryOp::Modulo => "%",
        }
    }

    /// It makes a number of two.
    pub(crate) fn is_arithmetic(self) -> bool {
        self.power() >= 3
    }

    /// How tightly it binds.
    fn power(self) -> u8 {
        match self {
            BinaryOp::Or => 0,
            BinaryOp::And => 1,
            BinaryOp::Add | BinaryOp::Subtract => 3,
            BinaryOp::Multiply | BinaryOp::Divide | BinaryOp::Modulo => 4,
            _ => 2,
        }
    }
}

impl PathExpr {
    /// A condition, not values.
    pub(crate) fn is_predicate(&self) -> bool {
        match self {
            PathExpr::Binary(op, ..) => op.power() < 3,
            PathExpr::Not(_) | PathExpr::Exists(_) | PathExpr::IsUnknown(_) | PathExpr::LikeRegex(..) => true,
            _ => false,
        }
    }
}

fn syntax_error(what: &str) -> Error {
    Error::new(SqlState::SYNTAX_ERROR, format!("{what} of jsonpath input"))
}
