//! Names in trees: what they say, and how messages show them.

use cairn_parser::token::fold_identifier;
use cairn_parser::{Id, List, Name, Span, Tree};

use crate::catalog::{ObjectName, take_quoted};
use crate::functions::DATABASE_NAME;
use crate::{Error, Result, SqlState};

/// The schemas that functions, types and operators are in.
const SCHEMAS: &[&str] = &["public", "pg_catalog"];

/// What a name says.
pub(crate) fn name_text<'t>(tree: &'t Tree<'_>, name: Id<Name>) -> &'t str {
    tree.text(tree.get(name).text)
}

/// A name of any parts as messages show it.
pub(crate) fn dotted(tree: &Tree<'_>, parts: List<Name>) -> String {
    let parts: Vec<&str> = tree.list(parts).map(|part| name_text(tree, part)).collect();
    parts.join(".")
}

/// The last part of a name, where the parts before it are a schema we have, and where the whole name stands.
pub(crate) fn plain_name<'t>(tree: &'t Tree<'_>, parts: List<Name>) -> Option<(&'t str, Span)> {
    let span = list_span(tree, parts)?;
    let mut names = tree.list(parts).map(|part| name_text(tree, part));
    let last = names.next_back()?;
    let known = match (names.next(), names.next()) {
        (None, _) => true,
        (Some(schema), None) => SCHEMAS.contains(&schema),
        _ => false,
    };
    known.then_some((last, span))
}

/// From the first of a list to the last; none where it is empty.
pub(crate) fn list_span<T>(tree: &Tree<'_>, list: List<T>) -> Option<Span> {
    let mut items = tree.list(list);
    let first = tree.span(items.next()?);
    let last = items.next_back().map_or(first, |last| tree.span(last));
    Some(Span { start: first.start, end: last.end })
}

/// The relation that a name of these parts means; SQLSTATE 0A000, 42601 for names of more than a schema's.
pub(crate) fn object_name(parts: Vec<String>) -> Result<ObjectName> {
    let all = parts.join(".");
    match <[String; 1]>::try_from(parts) {
        Ok([name]) => Ok(ObjectName::from(name.as_str())),
        Err(parts) => match parts.as_slice() {
            [schema, name] => Ok(ObjectName::new(Some(schema), name)),
            [database, schema, name] if database == DATABASE_NAME => Ok(ObjectName::new(Some(schema), name)),
            [_, _, _] => {
                let message = format!("cross-database references are not implemented: \"{all}\"");
                Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message))
            }
            _ => {
                let message = format!("improper qualified name (too many dotted names): {all}");
                Err(Error::new(SqlState::SYNTAX_ERROR, message))
            }
        },
    }
}

/// A relation's name as written in a string: `s`, `public.s`, `"S"`. SQLSTATE 42602 where it is none.
pub(crate) fn relation_name(text: &str) -> Result<ObjectName> {
    let invalid = || Error::new(SqlState::INVALID_NAME, "invalid name syntax");
    let (mut parts, mut rest) = (Vec::new(), text.trim());
    loop {
        let (part, behind) = match rest.strip_prefix('"') {
            Some(quoted) => take_quoted(quoted).ok_or_else(invalid)?,
            None => {
                let end = rest.find('.').unwrap_or(rest.len());
                (fold_identifier(rest[..end].trim_end()), &rest[end..])
            }
        };
        if part.is_empty() {
            return Err(invalid());
        }
        parts.push(part);
        match (behind.trim_start(), behind.trim_start().strip_prefix('.')) {
            ("", _) => return object_name(parts),
            (_, Some(more)) => rest = more.trim_start(),
            _ => return Err(invalid()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_strings_fold_unless_quoted() {
        let of = |text: &str| relation_name(text).map(|name| (name.schema, name.name)).unwrap();
        assert_eq!(of("public.Seq"), (Some("public".to_owned()), "seq".to_owned()));
        assert_eq!(of("\"Se\"\"q\""), (None, "Se\"q".to_owned()));
        assert_eq!(of(" \"A.b\" . c "), (Some("A.b".to_owned()), "c".to_owned()));
        for wrong in ["", "a.", "\"a", "\"a\"b", ".a"] {
            assert_eq!(relation_name(wrong).unwrap_err().sqlstate().0, "42602", "{wrong}");
        }
        assert_eq!(relation_name("a.b.c").unwrap_err().sqlstate().0, "0A000");
    }
}
