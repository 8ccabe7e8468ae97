//! `json` and `jsonb`.
//!
//! `json` is its text, checked. `jsonb` is [`Jsonb`]: bytes in which a field or an element is found without looking at the
//! others ([`bytes`] has the format). Whoever reads either of them reads a [`Document`].
//!
//! The bytes of a [`Jsonb`] are whole: they were built here, or checked when they were read from a row.

mod build;
mod bytes;
mod document;
mod input;
mod order;
mod output;
mod path;
mod scan;
#[cfg(test)]
mod tests;

pub(crate) use build::Builder;
pub(crate) use bytes::{Items, Json, Node};
pub(crate) use document::{Document, Kind};
pub(crate) use input::check_json;
pub(super) use input::parse_jsonb;
pub(super) use order::{KeyReader, KeyWriter, decode_key, encode_key};
pub(crate) use output::{write_node, write_pretty, write_quoted};
pub use path::JsonPath;
pub(crate) use path::{BinaryOp, Method, PathExpr, Step};
pub(crate) use scan::check_depth;

use std::sync::Arc;

use crate::{Error, Result};

/// Arrays and objects within each other: recursion over them is bounded by it.
pub(crate) const DEPTH_MAX: usize = 256;

/// A value of type `jsonb`.
///
/// ```
/// use cairndb::{Database, Value};
///
/// let connection = Database::open_in_memory()?.connect()?;
/// let document = connection.query_row("SELECT '{\"b\": 1, \"a\": [true]}'::jsonb", (), |row| row.get::<Value>(0))?;
/// assert_eq!(document.to_string(), r#"{"a": [true], "b": 1}"#);
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Jsonb(Arc<[u8]>);

impl Jsonb {
    /// Of bytes as rows keep them.
    ///
    /// # Errors
    ///
    /// SQLSTATE XX001: they are no value's.
    pub(crate) fn from_stored(bytes: &[u8]) -> Result<Jsonb> {
        Node::of(bytes).check(DEPTH_MAX)?;
        Ok(Jsonb(bytes.into()))
    }

    /// A copy of a part of another one.
    pub(crate) fn of_part(part: Node<'_>) -> Jsonb {
        Jsonb(part.bytes().into())
    }

    /// How many bytes the form has that rows keep: about what it takes in memory, told without making text of it.
    ///
    /// ```
    /// use cairndb::{Database, Jsonb};
    ///
    /// let connection = Database::open_in_memory()?.connect()?;
    /// let sql = "SELECT jsonb_build_object('text', repeat('a', 1000))";
    /// let document = connection.query_row(sql, (), |row| row.get::<Jsonb>(0))?;
    /// assert!((1000..1100).contains(&document.stored_len()));
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn stored_len(&self) -> usize {
        self.as_bytes().len()
    }

    /// The bytes that rows keep.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// What it is.
    pub(crate) fn root(&self) -> Node<'_> {
        Node::of(&self.0)
    }
}

/// The document of a JSON text.
///
/// # Errors
///
/// SQLSTATE 22P02: it is no JSON. 22P05: it has the character 0. 54001: it is nested too deep.
impl std::str::FromStr for Jsonb {
    type Err = Error;

    fn from_str(text: &str) -> Result<Jsonb> {
        parse_jsonb(text)
    }
}

/// The text as PostgreSQL writes it: keys in their order, a blank after each colon and comma.
impl std::fmt::Display for Jsonb {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = String::new();
        // Its bytes are whole.
        _ = write_node(self.root(), &mut text);
        out.pad(&text)
    }
}
