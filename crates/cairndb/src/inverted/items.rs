//! The items of a value. Part of the file format: the same value has the same items in every version.

use super::{Item, ItemClass};
use crate::types::{Array, DataType, Json, JsonNode, Numeric, Value, fnv, key};
use crate::{Error, Result};

/// What an item says; hashed before anything else of it.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    /// An array's element.
    Element = 1,
    /// NULL among an array's elements.
    NullElement = 2,
    /// An array has no elements.
    NoElements = 3,
    /// A document's key, or a string that is an element of an array in it (or all of it): what `?` asks for.
    Key = 4,
    /// A string that is the value of a key.
    Text = 5,
    Number = 6,
    True = 7,
    False = 8,
    Null = 9,
    /// A value with the keys that lead to it.
    Path = 10,
}

/// An item on the way: FNV-1a over its parts, each followed by its length, of which [`ItemHash::item`] mixes the bits.
#[derive(Clone, Copy)]
pub(super) struct ItemHash(u64);

impl ItemHash {
    /// `column`: which of the index's columns it is.
    pub(super) fn new(column: usize, kind: Kind) -> ItemHash {
        ItemHash(fnv::START).bytes(&[column as u8, kind as u8])
    }

    fn bytes(self, bytes: &[u8]) -> ItemHash {
        ItemHash(fnv::hash(self.0, bytes))
    }

    pub(super) fn with(self, part: &[u8]) -> ItemHash {
        self.bytes(part).bytes(&(part.len() as u32).to_le_bytes())
    }

    /// `splitmix64`'s last steps.
    pub(super) fn item(self) -> Item {
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// Appends the items of a value, in any order, perhaps twice; NULL has none. `column`: which of the index's columns it is in.
pub(crate) fn add_items(
    class: ItemClass,
    column: usize,
    (value, data_type): (&Value, DataType),
    out: &mut Vec<Item>,
) -> Result<()> {
    match (class, value) {
        (_, Value::Null) => Ok(()),
        (ItemClass::Array, Value::Array(array)) => {
            out.extend(elements(column, array, data_type));
            if array.values().is_empty() {
                out.push(no_elements(column));
            }
            Ok(())
        }
        (ItemClass::Jsonb, Value::Jsonb(document)) => of_document(column, document.root(), true, out),
        (ItemClass::JsonbPath, Value::Jsonb(document)) => {
            of_paths(ItemHash::new(column, Kind::Path), document.root(), out)
        }
        _ => Err(Error::internal("a value without items in an inverted index")),
    }
}

pub(super) fn no_elements(column: usize) -> Item {
    ItemHash::new(column, Kind::NoElements).item()
}

pub(super) fn null_element(column: usize) -> Item {
    ItemHash::new(column, Kind::NullElement).item()
}

/// Of an array of this type. Equal values of a type have equal keys.
pub(super) fn elements(column: usize, array: &Array, data_type: DataType) -> impl Iterator<Item = Item> {
    let element = data_type.element().unwrap_or(data_type);
    let mut bytes = Vec::new();
    array.values().iter().map(move |value| {
        if value.is_null() {
            return null_element(column);
        }
        bytes.clear();
        key::encode_value(value, element, false, false, &mut bytes);
        ItemHash::new(column, Kind::Element).with(&bytes).item()
    })
}

pub(super) fn key_item(column: usize, name: &str) -> Item {
    ItemHash::new(column, Kind::Key).with(name.as_bytes()).item()
}

pub(super) fn text_item(column: usize, text: &str) -> Item {
    ItemHash::new(column, Kind::Text).with(text.as_bytes()).item()
}

pub(super) fn number_item(column: usize, number: &Numeric) -> Item {
    ItemHash::new(column, Kind::Number).with(&number_bytes(number)).item()
}

pub(super) fn truth_item(column: usize, value: bool) -> Item {
    ItemHash::new(column, if value { Kind::True } else { Kind::False }).item()
}

pub(super) fn null_item(column: usize) -> Item {
    ItemHash::new(column, Kind::Null).item()
}

/// Equal numbers, equal bytes.
fn number_bytes(number: &Numeric) -> Vec<u8> {
    let mut bytes = Vec::new();
    key::encode_value(&Value::Numeric(number.clone()), DataType::Numeric(None), false, false, &mut bytes);
    bytes
}

/// `jsonb_ops`. `as_key`: a string is one that `?` finds.
pub(super) fn of_document(column: usize, node: JsonNode<'_>, as_key: bool, out: &mut Vec<Item>) -> Result<()> {
    match node.read()? {
        Json::Null => out.push(null_item(column)),
        Json::Boolean(value) => out.push(truth_item(column, value)),
        Json::Number(number) => out.push(number_item(column, &number)),
        Json::String(text) if as_key => out.push(key_item(column, text)),
        Json::String(text) => out.push(text_item(column, text)),
        Json::Array(items) => {
            for element in items.elements() {
                of_document(column, element?, true, out)?;
            }
        }
        Json::Object(items) => {
            for pair in items.pairs() {
                let (name, value) = pair?;
                out.push(key_item(column, name));
                of_document(column, value, false, out)?;
            }
        }
    }
    Ok(())
}

/// `jsonb_path_ops`: arrays are no part of the way.
pub(super) fn of_paths(way: ItemHash, node: JsonNode<'_>, out: &mut Vec<Item>) -> Result<()> {
    match node.read()? {
        Json::Array(items) => {
            for element in items.elements() {
                of_paths(way, element?, out)?;
            }
        }
        Json::Object(items) => {
            for pair in items.pairs() {
                let (name, value) = pair?;
                of_paths(way_on(way, name), value, out)?;
            }
        }
        scalar => out.extend(at_end(way, &scalar)),
    }
    Ok(())
}

pub(super) fn way_on(way: ItemHash, name: &str) -> ItemHash {
    way.with(name.as_bytes())
}

/// The item of a scalar at the end of a way.
pub(super) fn at_end(way: ItemHash, scalar: &Json<'_>) -> Option<Item> {
    let (kind, bytes) = match scalar {
        Json::Null => (Kind::Null, vec![]),
        Json::Boolean(true) => (Kind::True, vec![]),
        Json::Boolean(false) => (Kind::False, vec![]),
        Json::Number(number) => (Kind::Number, number_bytes(number)),
        Json::String(text) => (Kind::Text, text.as_bytes().to_vec()),
        Json::Array(_) | Json::Object(_) => return None,
    };
    // A key is followed by its length, of four bytes: this stands for none that there is.
    Some(way.bytes(&[0xff, kind as u8]).with(&bytes).item())
}
