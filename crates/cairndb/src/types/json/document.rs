//! What reads `json` and `jsonb` alike.

use std::borrow::Cow;

use super::input::unquoted;
use super::output::write_scalar;
use super::scan::Scan;
use super::{DEPTH_MAX, Json, Jsonb, Node, write_node};
use crate::types::{Numeric, Value};
use crate::{Error, Result};

/// A value of type `json` or `jsonb`, or a part of one.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Document<'a> {
    /// `json`
    Text(&'a str),
    /// `jsonb`
    Node(Node<'a>),
}

/// What a document is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Null,
    Boolean,
    Number,
    String,
    Array,
    Object,
}

impl Kind {
    /// As `json_typeof` names it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Null => "null",
            Kind::Boolean => "boolean",
            Kind::Number => "number",
            Kind::String => "string",
            Kind::Array => "array",
            Kind::Object => "object",
        }
    }

    /// No array or object.
    pub(crate) fn is_scalar(self) -> bool {
        !matches!(self, Kind::Array | Kind::Object)
    }
}

impl<'a> Document<'a> {
    /// The document that a value is.
    pub(crate) fn of(value: &'a Value) -> Result<Document<'a>> {
        match value {
            Value::Json(text) => Ok(Document::Text(text)),
            Value::Jsonb(document) => Ok(Document::Node(document.root())),
            _ => Err(Error::internal(format!("{value:?} is no document"))),
        }
    }

    /// That of a `jsonb` with these bytes, of which nothing was looked at yet: what is asked of it fails where they are
    /// damaged.
    pub(crate) fn of_stored(bytes: &'a [u8]) -> Document<'a> {
        Document::Node(Node::of(bytes))
    }

    /// Looks at all that is in it, if it is an array or object.
    pub(crate) fn check_parts(self) -> Result<()> {
        match self {
            Document::Node(node) if node.is_container() => node.check(DEPTH_MAX),
            _ => Ok(()),
        }
    }

    pub(crate) fn kind(self) -> Result<Kind> {
        match self {
            Document::Text(text) => Scan::of(text).kind(),
            Document::Node(node) => Ok(match node.read()? {
                Json::Null => Kind::Null,
                Json::Boolean(_) => Kind::Boolean,
                Json::Number(_) => Kind::Number,
                Json::String(_) => Kind::String,
                Json::Array(_) => Kind::Array,
                Json::Object(_) => Kind::Object,
            }),
        }
    }

    /// The value of an object's key; `None`: it has none, or is no object.
    pub(crate) fn field(self, key: &str) -> Result<Option<Document<'a>>> {
        match self {
            Document::Text(_) if self.kind()? != Kind::Object => Ok(None),
            Document::Text(text) => {
                // Of equal keys the last one counts.
                for (quoted, value) in Scan::of(text).parts()?.into_iter().rev() {
                    if unquoted(quoted.unwrap_or_default())? == key {
                        return Ok(Some(Document::Text(value)));
                    }
                }
                Ok(None)
            }
            Document::Node(node) => Ok(node.field(key)?.map(Document::Node)),
        }
    }

    /// An array's element, counted from its end where negative; `None`: there is none, or it is no array.
    pub(crate) fn at(self, index: i64) -> Result<Option<Document<'a>>> {
        match self {
            Document::Text(_) if self.kind()? != Kind::Array => Ok(None),
            Document::Text(_) => {
                let elements = self.elements()?;
                let index = if index < 0 { index + elements.len() as i64 } else { index };
                Ok(usize::try_from(index).ok().and_then(|at| elements.get(at)).copied())
            }
            Document::Node(node) => match node.read()? {
                Json::Array(items) => Ok(items.at(index)?.map(Document::Node)),
                _ => Ok(None),
            },
        }
    }

    /// The elements of an array; none of anything else.
    pub(crate) fn elements(self) -> Result<Vec<Document<'a>>> {
        match self {
            Document::Text(_) if self.kind()? != Kind::Array => Ok(vec![]),
            Document::Text(text) => {
                Ok(Scan::of(text).parts()?.into_iter().map(|(_, value)| Document::Text(value)).collect())
            }
            Document::Node(node) => match node.read()? {
                Json::Array(items) => items.elements().map(|element| element.map(Document::Node)).collect(),
                _ => Ok(vec![]),
            },
        }
    }

    /// The pairs of an object, also those of equal keys; none of anything else.
    pub(crate) fn pairs(self) -> Result<Vec<(Cow<'a, str>, Document<'a>)>> {
        match self {
            Document::Text(_) if self.kind()? != Kind::Object => Ok(vec![]),
            Document::Text(text) => {
                let pair = |(key, value): (Option<&'a str>, &'a str)| {
                    Ok((unquoted(key.unwrap_or_default())?, Document::Text(value)))
                };
                Scan::of(text).parts()?.into_iter().map(pair).collect()
            }
            Document::Node(node) => match node.read()? {
                Json::Object(items) => {
                    items.pairs().map(|pair| pair.map(|(key, value)| (key.into(), Document::Node(value)))).collect()
                }
                _ => Ok(vec![]),
            },
        }
    }

    /// The part at the end of a path of keys and of positions in arrays.
    pub(crate) fn path<'p>(self, path: impl Iterator<Item = &'p str>) -> Result<Option<Document<'a>>> {
        let mut at = self;
        for step in path {
            let next = match at.kind()? {
                Kind::Object => at.field(step)?,
                Kind::Array => match step.trim_start().parse::<i32>() {
                    Ok(index) => at.at(index.into())?,
                    Err(_) => None,
                },
                _ => None,
            };
            match next {
                Some(next) => at = next,
                None => return Ok(None),
            }
        }
        Ok(Some(at))
    }

    /// A value of the type it is a part of.
    pub(crate) fn to_value(self) -> Value {
        match self {
            Document::Text(text) => Value::Json(text.into()),
            Document::Node(node) => Value::Jsonb(Jsonb::of_part(node)),
        }
    }

    /// As `->>` gives it: NULL for null, a string without its quotes.
    pub(crate) fn to_text(self) -> Result<Value> {
        let mut text = String::new();
        Ok(self.text(&mut text)?.map_or(Value::Null, Value::text))
    }

    /// As [`Document::to_text`]; what has to be written is written to the buffer, which is empty.
    pub(crate) fn text<'t>(self, buffer: &'t mut String) -> Result<Option<&'t str>>
    where
        'a: 't,
    {
        if let Document::Node(node) = self
            && let Some((mantissa, scale)) = node.small_number()
        {
            // Writing to a String cannot fail.
            _ = Numeric::small(mantissa, scale).write_text(buffer);
            return Ok(Some(buffer));
        }
        Ok(match self {
            Document::Text(text) => match self.kind()? {
                Kind::Null => None,
                Kind::String => {
                    *buffer = unquoted(text)?.into_owned();
                    Some(buffer)
                }
                _ => Some(text),
            },
            Document::Node(node) => match node.read()? {
                Json::Null => None,
                Json::String(text) => Some(text),
                Json::Array(_) | Json::Object(_) => {
                    write_node(node, buffer)?;
                    Some(buffer)
                }
                scalar => {
                    write_scalar(&scalar, buffer);
                    Some(buffer)
                }
            },
        })
    }
}
