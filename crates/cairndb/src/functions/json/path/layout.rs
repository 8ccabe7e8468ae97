//! Where PostgreSQL's binary form has an object: what `.keyvalue()` gives as `id`.
//!
//! There an array or object is a word, a word for each element (for each key, and each value), and then their bytes one
//! behind the other: keys before values, numbers and what has parts at multiples of four.

use std::collections::HashMap;
use std::fmt::Write;

use crate::Result;
use crate::types::{Json, JsonNode, Numeric};

/// The place there of each object of a document, by its place in the document's bytes here.
pub(super) fn objects_of(root: JsonNode<'_>) -> Result<HashMap<usize, i64>> {
    let mut layout = Layout { start: root.bytes().as_ptr().addr(), objects: HashMap::new() };
    layout.put(root, 0)?;
    Ok(layout.objects)
}

struct Layout {
    start: usize,
    objects: HashMap<usize, i64>,
}

impl Layout {
    /// The end of a value that begins at `at` or soon behind it.
    fn put(&mut self, node: JsonNode<'_>, at: usize) -> Result<usize> {
        Ok(match node.read()? {
            Json::Null | Json::Boolean(_) => at,
            Json::String(text) => at + text.len(),
            Json::Number(value) => at.next_multiple_of(4) + number_bytes(&value),
            Json::Array(items) => {
                let first = at.next_multiple_of(4) + 4 + 4 * items.len();
                items.elements().try_fold(first, |at, element| self.put(element?, at))?
            }
            Json::Object(items) => {
                let at = at.next_multiple_of(4);
                self.objects.insert(node.bytes().as_ptr().addr() - self.start, at as i64);
                let mut end = at + 4 + 8 * items.len();
                for place in 0..items.len() {
                    end += items.key(place)?.len();
                }
                items.pairs().try_fold(end, |at, pair| self.put(pair?.1, at))?
            }
        })
    }
}

/// The bytes of a number: a head, and two for each four decimal digits from the first that are not all zero to the last.
fn number_bytes(value: &Numeric) -> usize {
    let mut text = String::new();
    // Writing to a String cannot fail.
    _ = write!(text, "{value}");
    let text = text.trim_start_matches('-');
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let before = whole.len().div_ceil(4);
    let mut digits = "0".repeat(before * 4 - whole.len());
    digits.extend([whole, fraction]);
    digits.push_str(&"0".repeat(digits.len().next_multiple_of(4) - digits.len()));
    let groups: Vec<&[u8]> = digits.as_bytes().chunks(4).collect();
    let is_some = |group: &&[u8]| *group != b"0000";
    let Some(first) = groups.iter().position(is_some) else {
        return if fraction.len() <= 63 { 6 } else { 8 };
    };
    let last = groups.iter().rposition(is_some).unwrap_or(first);
    let weight = before as i64 - 1 - first as i64;
    let head = if fraction.len() <= 63 && (-64..=63).contains(&weight) { 6 } else { 8 };
    head + 2 * (last + 1 - first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Jsonb;

    #[test]
    fn objects_are_where_postgresql_has_them() {
        let places = |text: &str| {
            let document: Jsonb = text.parse().unwrap();
            let mut places: Vec<i64> = objects_of(document.root()).unwrap().into_values().collect();
            places.sort_unstable();
            places
        };
        assert_eq!(places(r#"{"a":1,"b":[1,2,{"x":1,"yy":2}]}"#), [0, 64]);
        assert_eq!(places(r#"[{"a":1},{}]"#), [12, 36]);
        assert_eq!(places("[1, \"a\"]"), Vec::<i64>::new());
    }

    #[test]
    fn numbers_take_two_bytes_for_four_digits() {
        let bytes = |text: &str| number_bytes(&Numeric::parse(text).unwrap());
        assert_eq!([bytes("0"), bytes("1"), bytes("10000"), bytes("10001"), bytes("-0.001")], [6, 8, 8, 10, 8]);
        assert_eq!([bytes("1234567.00891"), bytes("1e300"), bytes("1e-70")], [14, 10, 10]);
    }
}
