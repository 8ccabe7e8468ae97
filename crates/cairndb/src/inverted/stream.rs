//! The rows that a query finds, in the order of their keys.

use std::ops::Bound;

use cairn_storage::{Cursor, TreeId};

use super::postings::Postings;
use super::{Item, Query};
use crate::Result;
use crate::state::Reader;

/// Where it goes from a row to a later one without looking at those between.
pub(crate) enum Stream {
    /// Every row of the table.
    All {
        cursor: Box<Cursor>,
        row: Vec<u8>,
        is_over: bool,
    },
    None,
    Item {
        item: Item,
        postings: Box<Postings>,
        place: Vec<u8>,
    },
    And(Vec<Stream>),
    /// With those that have a row left; the first has the first.
    Or(Vec<Stream>),
}

impl Stream {
    /// `trees`: the table's and the index's.
    pub(crate) fn of(query: &Query, reader: &Reader, trees: (TreeId, TreeId)) -> Result<Stream> {
        let all = |parts: &[Query]| parts.iter().map(|part| Stream::of(part, reader, trees)).collect::<Result<_>>();
        Ok(match query {
            Query::All => {
                let cursor = reader.cursor(trees.0, Bound::Unbounded, Bound::Unbounded)?;
                Stream::All { cursor: Box::new(cursor), row: vec![], is_over: false }
            }
            Query::None => Stream::None,
            Query::Item(item) => {
                let place = item.to_be_bytes().to_vec();
                let postings = Box::new(Postings::of_item(reader, trees.1, *item)?);
                Stream::Item { item: *item, postings, place }
            }
            Query::And(parts) => Stream::And(all(parts)?),
            Query::Or(parts) => Stream::Or(all(parts)?),
        })
    }

    /// Goes to the first row at or behind `from`, forward only; whether there is one.
    pub(crate) fn seek(&mut self, from: &[u8]) -> Result<bool> {
        match self {
            Stream::None => Ok(false),
            Stream::All { cursor, row, is_over } => {
                while !*is_over && (row.is_empty() || **row < *from) {
                    match cursor.next()? {
                        Some((key, _)) => {
                            row.clear();
                            row.extend_from_slice(key);
                        }
                        None => *is_over = true,
                    }
                }
                Ok(!*is_over)
            }
            Stream::Item { item, postings, place } => {
                place.clear();
                place.extend_from_slice(&item.to_be_bytes());
                place.extend_from_slice(from);
                postings.seek(place)
            }
            Stream::And(parts) => {
                let mut from = from.to_vec();
                let (mut agree, mut at) = (0, 0);
                while agree < parts.len() {
                    if !parts[at].seek(&from)? {
                        return Ok(false);
                    }
                    match parts[at].row() == from {
                        true => agree += 1,
                        false => {
                            from.clear();
                            from.extend_from_slice(parts[at].row());
                            agree = 1;
                        }
                    }
                    at = (at + 1) % parts.len();
                }
                Ok(true)
            }
            Stream::Or(parts) => {
                let mut first: Option<usize> = None;
                let mut at = 0;
                while at < parts.len() {
                    if !parts[at].seek(from)? {
                        parts.swap_remove(at);
                        continue;
                    }
                    if first.is_none_or(|first| parts[at].row() < parts[first].row()) {
                        first = Some(at);
                    }
                    at += 1;
                }
                if let Some(first) = first {
                    parts.swap(0, first);
                }
                Ok(first.is_some())
            }
        }
    }

    /// The key of the row where it is.
    pub(crate) fn row(&self) -> &[u8] {
        match self {
            Stream::None => &[],
            Stream::All { row, .. } => row,
            Stream::Item { postings, .. } => postings.row(),
            Stream::And(parts) | Stream::Or(parts) => parts.first().map_or(&[], Stream::row),
        }
    }
}
