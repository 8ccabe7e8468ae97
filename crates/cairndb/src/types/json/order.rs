//! The order, hash and key of `jsonb`: PostgreSQL's.
//!
//! Object > array > boolean > number > string > null; of two objects or arrays the one with more parts is greater, otherwise
//! the first parts that differ decide (of objects: key, value, key, value). An empty array that is the whole value is less
//! than everything: PostgreSQL's order had that by mistake once, and files keep it.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use super::{Builder, Json, Jsonb, Node};
use crate::Result;
use crate::types::Numeric;

impl Jsonb {
    pub(crate) fn compare(&self, other: &Jsonb) -> Ordering {
        let empty = |node: Node<'_>| matches!(whole(node), Json::Array(items) if items.len() == 0);
        let (a, b) = (self.root(), other.root());
        match (empty(a), empty(b)) {
            (false, false) => compare(a, b),
            (a, b) => b.cmp(&a),
        }
    }
}

impl Node<'_> {
    /// As parts of documents compare.
    pub(crate) fn compare(self, other: Node<'_>) -> Ordering {
        compare(self, other)
    }
}

/// A value's bytes were checked when it was made.
fn whole(node: Node<'_>) -> Json<'_> {
    node.read().unwrap_or(Json::Null)
}

fn compare(a: Node<'_>, b: Node<'_>) -> Ordering {
    match (whole(a), whole(b)) {
        (Json::Boolean(a), Json::Boolean(b)) => a.cmp(&b),
        (Json::Number(a), Json::Number(b)) => a.cmp(&b),
        (Json::String(a), Json::String(b)) => a.as_bytes().cmp(b.as_bytes()),
        (Json::Array(a), Json::Array(b)) => (a.len().cmp(&b.len())).then_with(|| {
            let pairs = a.elements().flatten().zip(b.elements().flatten());
            pairs.map(|(a, b)| compare(a, b)).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
        }),
        (Json::Object(a), Json::Object(b)) => (a.len().cmp(&b.len())).then_with(|| {
            let both = a.pairs().flatten().zip(b.pairs().flatten());
            let orders = both.map(|((key, value), (other_key, other))| {
                key.as_bytes().cmp(other_key.as_bytes()).then_with(|| compare(value, other))
            });
            orders.into_iter().find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
        }),
        (a, b) => rank(&a).cmp(&rank(&b)),
    }
}

fn rank(json: &Json<'_>) -> u8 {
    match json {
        Json::Null => 0,
        Json::String(_) => 1,
        Json::Number(_) => 2,
        Json::Boolean(_) => 3,
        Json::Array(_) => 4,
        Json::Object(_) => 5,
    }
}

impl Hash for Jsonb {
    fn hash<H: Hasher>(&self, state: &mut H) {
        hash(self.root(), state);
    }
}

/// Numbers that are equal hash alike, whatever their scale.
fn hash<H: Hasher>(node: Node<'_>, state: &mut H) {
    let json = whole(node);
    state.write_u8(rank(&json));
    match json {
        Json::Null => {}
        Json::Boolean(value) => state.write_u8(value.into()),
        Json::Number(value) => value.hash(state),
        Json::String(text) => text.hash(state),
        Json::Array(items) => {
            state.write_usize(items.len());
            items.elements().flatten().for_each(|element| hash(element, state));
        }
        Json::Object(items) => {
            state.write_usize(items.len());
            for (key, value) in items.pairs().flatten() {
                key.hash(state);
                hash(value, state);
            }
        }
    }
}

const EMPTY_ARRAY: u8 = 0x21;
const NULL: u8 = 0x22;
const STRING: u8 = 0x23;
const NUMBER: u8 = 0x24;
const FALSE: u8 = 0x25;
const TRUE: u8 = 0x26;
const ARRAY: u8 = 0x27;
const OBJECT: u8 = 0x28;

/// What writes the parts of a key that other types have too.
pub(in crate::types) trait KeyWriter {
    fn head(&mut self, head: u8);
    fn count(&mut self, value: i64);
    fn number(&mut self, value: &Numeric);
    fn string(&mut self, value: &str);
}

/// What reads them.
pub(in crate::types) trait KeyReader {
    fn head(&mut self) -> Result<u8>;
    fn count(&mut self) -> Result<i64>;
    fn number(&mut self) -> Result<Numeric>;
    fn string(&mut self) -> Result<String>;
    fn corrupted(&self) -> crate::Error;
}

/// A key whose bytes are ordered as values are.
pub(in crate::types) fn encode_key(value: &Jsonb, out: &mut impl KeyWriter) {
    match whole(value.root()) {
        Json::Array(items) if items.len() == 0 => out.head(EMPTY_ARRAY),
        _ => encode_node(value.root(), out),
    }
}

fn encode_node(node: Node<'_>, out: &mut impl KeyWriter) {
    match whole(node) {
        Json::Null => out.head(NULL),
        Json::Boolean(value) => out.head(if value { TRUE } else { FALSE }),
        Json::Number(value) => {
            out.head(NUMBER);
            out.number(&value);
        }
        Json::String(text) => {
            out.head(STRING);
            out.string(text);
        }
        Json::Array(items) => {
            out.head(ARRAY);
            out.count(items.len() as i64);
            items.elements().flatten().for_each(|element| encode_node(element, out));
        }
        Json::Object(items) => {
            out.head(OBJECT);
            out.count(items.len() as i64);
            for (key, value) in items.pairs().flatten() {
                out.string(key);
                encode_node(value, out);
            }
        }
    }
}

/// An equal value: numbers have lost their scale.
pub(in crate::types) fn decode_key(reader: &mut impl KeyReader) -> Result<Jsonb> {
    let mut builder = Builder::default();
    let head = reader.head()?;
    if head == EMPTY_ARRAY {
        builder.begin_array()?;
        builder.end()?;
    } else {
        decode_node(head, reader, &mut builder)?;
    }
    builder.finish()
}

fn decode_node(head: u8, reader: &mut impl KeyReader, builder: &mut Builder) -> Result<()> {
    match head {
        NULL => builder.null(),
        FALSE => builder.boolean(false),
        TRUE => builder.boolean(true),
        NUMBER => builder.number(&reader.number()?),
        STRING => builder.string(&reader.string()?),
        ARRAY => {
            builder.begin_array()?;
            for _ in 0..reader.count()? {
                let head = reader.head()?;
                decode_node(head, reader, builder)?;
            }
            builder.end()?;
        }
        OBJECT => {
            builder.begin_object()?;
            for _ in 0..reader.count()? {
                builder.key(&reader.string()?);
                let head = reader.head()?;
                decode_node(head, reader, builder)?;
            }
            builder.end()?;
        }
        _ => return Err(reader.corrupted()),
    }
    Ok(())
}
