//! JSON patch (RFC 6902): a list of operations on parts of a document, all of them or none.

use std::borrow::Cow;

use super::filter::wrong;
use super::tree::Tree;
use crate::types::Document;
use crate::{Error, Jsonb, Result, SqlState};

/// Operations of one patch.
const OPERATIONS_MAX: usize = 10_000;
/// Bytes that `copy` may make of a document; a copy of a copy would grow without end.
const COPIED_MAX: usize = 1 << 26;

/// The document as the patch makes it.
///
/// # Errors
///
/// SQLSTATE 22023: it is no patch, or it names what is not there. 22000: what it tests is not so.
pub(super) fn patched(document: &Jsonb, patch: &Jsonb) -> Result<Jsonb> {
    let operations = Document::Node(patch.root());
    if operations.kind()?.name() != "array" {
        return Err(wrong("a JSON patch is an array of operations")
            .with_hint("Write [{\"op\": \"replace\", \"path\": \"/a\", \"value\": 1}]."));
    }
    let operations = operations.elements()?;
    if operations.len() > OPERATIONS_MAX {
        return Err(wrong(format!("a JSON patch has at most {OPERATIONS_MAX} operations")));
    }
    let (mut tree, mut copied) = (Tree::Whole(document.root()), 0);
    for operation in operations {
        apply(&mut tree, operation, &mut copied)?;
    }
    tree.built()
}

fn apply<'a>(tree: &mut Tree<'a>, operation: Document<'a>, copied: &mut usize) -> Result<()> {
    let member = |name: &str| match operation.field(name)? {
        Some(value) if value.kind()?.name() == "string" => Ok(value.to_text()?.as_str().map(str::to_owned)),
        _ => Ok::<_, Error>(None),
    };
    let needed =
        |name: &str| member(name)?.ok_or_else(|| wrong(format!("an operation of the patch has no \"{name}\"")));
    let value = || match operation.field("value")? {
        Some(Document::Node(node)) => Ok(Tree::Whole(node)),
        _ => Err(wrong("an operation of the patch has no \"value\"")),
    };
    let (op, path) = (needed("op")?, pointer(&needed("path")?)?);
    match op.as_str() {
        "add" => add(tree, &path, value()?),
        "remove" => remove(tree, &path).map(drop),
        "replace" => {
            *found(tree, &path)? = value()?;
            Ok(())
        }
        "move" => {
            let from = pointer(&needed("from")?)?;
            if path.len() > from.len() && path.starts_with(&from) {
                return Err(wrong("a patch can not move a part into itself"));
            }
            let moved = remove(tree, &from)?;
            add(tree, &path, moved)
        }
        "copy" => {
            let from = found(tree, &pointer(&needed("from")?)?)?;
            *copied += from.size();
            if *copied > COPIED_MAX {
                return Err(wrong(format!("the patch copies more than {COPIED_MAX} bytes")));
            }
            let copy = from.clone();
            add(tree, &path, copy)
        }
        "test" => {
            let wanted = value()?.built()?;
            match found(tree, &path)?.is_equal(&wanted)? {
                true => Ok(()),
                false => Err(Error::new(
                    SqlState::DATA_EXCEPTION,
                    format!("what the patch tests at \"{}\" is not so", needed("path")?),
                )),
            }
        }
        other => Err(wrong(format!("the patch has an unknown operation \"{other}\""))
            .with_hint("There are add, remove, replace, move, copy and test.")),
    }
}

/// A JSON pointer's steps.
fn pointer(text: &str) -> Result<Vec<String>> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let Some(rest) = text.strip_prefix('/') else {
        return Err(wrong(format!("\"{text}\" is no JSON pointer")).with_hint("Write \"/a/0\"."));
    };
    Ok(rest.split('/').map(|step| step.replace("~1", "/").replace("~0", "~")).collect())
}

fn missing(step: &str) -> Error {
    wrong(format!("the patch names \"{step}\", which is not there"))
}

/// A position in an array: digits without a zero before them.
fn position(step: &str, end: usize) -> Result<usize> {
    let is_number = step == "0" || (!step.starts_with('0') && step.bytes().all(|byte| byte.is_ascii_digit()));
    let at = step.parse().ok().filter(|at| is_number && *at <= end);
    at.ok_or_else(|| missing(step))
}

fn found<'t, 'a>(tree: &'t mut Tree<'a>, path: &[String]) -> Result<&'t mut Tree<'a>> {
    let mut at = tree;
    for step in path {
        at = match at.opened()? {
            Tree::Object(fields) => {
                let field = fields.iter_mut().find(|(key, _)| key == step);
                field.map(|(_, value)| value).ok_or_else(|| missing(step))?
            }
            Tree::Array(items) => {
                let at = position(step, items.len())?;
                items.get_mut(at).ok_or_else(|| missing(step))?
            }
            Tree::Whole(_) => return Err(missing(step)),
        };
    }
    Ok(at)
}

fn add<'a>(tree: &mut Tree<'a>, path: &[String], value: Tree<'a>) -> Result<()> {
    let Some((last, parents)) = path.split_last() else {
        *tree = value;
        return Ok(());
    };
    match found(tree, parents)?.opened()? {
        Tree::Object(fields) => match fields.iter_mut().find(|(key, _)| key == last) {
            Some((_, there)) => *there = value,
            None => fields.push((Cow::Owned(last.clone()), value)),
        },
        Tree::Array(items) => {
            let at = if last == "-" { items.len() } else { position(last, items.len())? };
            items.insert(at, value);
        }
        Tree::Whole(_) => return Err(missing(last)),
    }
    Ok(())
}

fn remove<'a>(tree: &mut Tree<'a>, path: &[String]) -> Result<Tree<'a>> {
    let Some((last, parents)) = path.split_last() else {
        return Err(wrong("a patch can not remove the whole document").with_hint("Delete the document."));
    };
    match found(tree, parents)?.opened()? {
        Tree::Object(fields) => {
            let at = fields.iter().position(|(key, _)| key == last).ok_or_else(|| missing(last))?;
            Ok(fields.remove(at).1)
        }
        Tree::Array(items) => {
            let at = position(last, items.len())?;
            if at == items.len() { Err(missing(last)) } else { Ok(items.remove(at)) }
        }
        Tree::Whole(_) => Err(missing(last)),
    }
}
