//! Names in trees: what they say, and how messages show them.

use cairn_parser::{Id, List, Name, Span, Tree};

/// The schemas that every name is looked up in; there are no others.
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

/// A relation's name as written in a string: `s`, `public.s`, `"S"`.
pub(crate) fn relation_name(text: &str) -> String {
    let text = text.trim();
    let text = text.strip_prefix("public.").unwrap_or(text);
    match text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
        Some(quoted) => quoted.replace("\"\"", "\""),
        None => text.to_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_strings_fold_unless_quoted() {
        assert_eq!(relation_name("public.Seq"), "seq");
        assert_eq!(relation_name("\"Se\"\"q\""), "Se\"q");
    }
}
