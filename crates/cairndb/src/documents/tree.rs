//! A document that changes: parts of documents that are there, taken apart where something becomes of them, and put together once.
//!
//! Both patches are worked out here. What they do not touch is lent as the bytes that it is.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::filter::Path;
use crate::types::{Document, JsonBuilder, JsonNode};
use crate::{Error, Jsonb, Result};

#[derive(Clone, Debug)]
pub(super) enum Tree<'a> {
    /// As it is.
    Whole(JsonNode<'a>),
    Array(Vec<Tree<'a>>),
    Object(Vec<(Cow<'a, str>, Tree<'a>)>),
}

/// What a document is: its parts, if it has some.
enum Parts<'a> {
    None,
    Array(Vec<JsonNode<'a>>),
    Object(Vec<(&'a str, JsonNode<'a>)>),
}

fn parts_of(node: JsonNode<'_>) -> Result<Parts<'_>> {
    use crate::types::Json;
    Ok(match node.read()? {
        Json::Array(items) => Parts::Array(items.elements().collect::<Result<_>>()?),
        Json::Object(items) => Parts::Object(items.pairs().collect::<Result<_>>()?),
        _ => Parts::None,
    })
}

impl<'a> Tree<'a> {
    /// The same, taken apart by a level.
    pub(super) fn opened(&mut self) -> Result<&mut Tree<'a>> {
        if let Tree::Whole(node) = *self {
            match parts_of(node)? {
                Parts::None => {}
                Parts::Array(items) => *self = Tree::Array(items.into_iter().map(Tree::Whole).collect()),
                Parts::Object(pairs) => {
                    let pair = |(key, value): (&'a str, JsonNode<'a>)| (Cow::Borrowed(key), Tree::Whole(value));
                    *self = Tree::Object(pairs.into_iter().map(pair).collect());
                }
            }
        }
        Ok(self)
    }

    pub(super) fn built(&self) -> Result<Jsonb> {
        let mut builder = JsonBuilder::default();
        self.build(&mut builder)?;
        builder.finish()
    }

    /// (Recursion is bounded by the builder, which refuses what is too deep.)
    fn build(&self, builder: &mut JsonBuilder) -> Result<()> {
        match self {
            Tree::Whole(node) => builder.node(*node),
            Tree::Array(items) => {
                builder.begin_array()?;
                items.iter().try_for_each(|item| item.build(builder))?;
                builder.end()
            }
            Tree::Object(pairs) => {
                builder.begin_object()?;
                for (key, value) in pairs {
                    builder.key(key);
                    value.build(builder)?;
                }
                builder.end()
            }
        }
    }

    /// Bytes, about.
    pub(super) fn size(&self) -> usize {
        match self {
            Tree::Whole(node) => node.bytes().len() + 1,
            Tree::Array(items) => 1 + items.iter().map(Tree::size).sum::<usize>(),
            Tree::Object(pairs) => 1 + pairs.iter().map(|(key, value)| key.len() + value.size()).sum::<usize>(),
        }
    }

    pub(super) fn is_equal(&self, other: &Jsonb) -> Result<bool> {
        Ok(self.built()?.compare(other) == Ordering::Equal)
    }
}

/// RFC 7396: objects of the patch are merged into objects, null takes away, everything else takes the place of what was there.
pub(super) fn merged(document: &Jsonb, patch: &Jsonb) -> Result<Jsonb> {
    let mut tree = Tree::Whole(document.root());
    merge(&mut tree, patch.root())?;
    tree.built()
}

fn merge<'a>(into: &mut Tree<'a>, patch: JsonNode<'a>) -> Result<()> {
    let Parts::Object(pairs) = parts_of(patch)? else {
        *into = Tree::Whole(patch);
        return Ok(());
    };
    if !matches!(into.opened()?, Tree::Object(_)) {
        *into = Tree::Object(Vec::new());
    }
    let Tree::Object(fields) = into else { return Err(Error::internal("an object is none")) };
    for (key, value) in pairs {
        let at = fields.iter().position(|(known, _)| known == key);
        match (at, Document::Node(value).kind()?.name()) {
            (Some(at), "null") => drop(fields.remove(at)),
            (None, "null") => {}
            (Some(at), _) => merge(&mut fields[at].1, value)?,
            (None, _) => {
                // Also in what comes new null is nothing.
                let mut new = Tree::Object(Vec::new());
                merge(&mut new, value)?;
                fields.push((Cow::Borrowed(key), new));
            }
        }
    }
    Ok(())
}

/// Those parts of a document that lie on one of the paths: of an array what its elements have there. (Of what has none of them an empty
/// object.)
pub(super) fn projected(document: &Jsonb, paths: &[Path]) -> Result<Jsonb> {
    let paths: Vec<&[String]> = paths.iter().map(Path::steps).collect();
    kept(document.root(), &paths)?.unwrap_or(Tree::Object(Vec::new())).built()
}

fn kept<'a>(node: JsonNode<'a>, paths: &[&[String]]) -> Result<Option<Tree<'a>>> {
    if paths.iter().any(|path| path.is_empty()) {
        return Ok(Some(Tree::Whole(node)));
    }
    Ok(match parts_of(node)? {
        Parts::None => None,
        Parts::Array(items) => {
            let items = items.into_iter().filter_map(|item| kept(item, paths).transpose());
            Some(Tree::Array(items.collect::<Result<_>>()?))
        }
        Parts::Object(pairs) => {
            let mut fields = Vec::new();
            for (key, value) in pairs {
                let below = paths.iter().filter_map(|path| path.split_first()).filter(|(first, _)| **first == key);
                let below: Vec<&[String]> = below.map(|(_, rest)| rest).collect();
                if let Some(value) = if below.is_empty() { None } else { kept(value, &below)? } {
                    fields.push((Cow::Borrowed(key), value));
                }
            }
            Some(Tree::Object(fields))
        }
    })
}
