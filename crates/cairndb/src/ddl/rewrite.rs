//! Rewriting a table's rows in another shape (sorted by their new keys, as an index is built), and its expressions' texts with
//! other names.

use std::sync::Arc;

use cairn_parser::Span;
use cairn_parser::token::{fold_identifier, quote_identifier};

use super::context::Ddl;
use crate::catalog::{Index, Table, delete_statistics};
use crate::dml::{Target, Writer};
use crate::exec::EntrySorter;
use crate::sql::{ParsedExpression, parse_expression};
use crate::{Result, Value};

impl Ddl<'_> {
    /// Moves every row of `old`, changed by `map`, into `new` under new trees, whose ids `new` gets; stores `new`.
    /// SQLSTATE 23505 where the rows are not as unique as `new` wants them.
    pub(super) fn rewrite_table(
        &mut self,
        old: &Table,
        mut new: Table,
        map: impl FnMut(Vec<Value>) -> Result<Vec<Value>>,
    ) -> Result<()> {
        let tx = self.dml.tx;
        new.tree = tx.create_tree()?;
        for index in &mut new.indexes {
            *index = Arc::new(Index { tree: tx.create_derived_tree()?, ..Index::clone(index) });
        }
        let new = Arc::new(new);
        self.store.put_table(&new)?;
        self.move_rows(old, &new, map)?;
        new.indexes.iter().try_for_each(|index| self.build_index(&new, index))?;
        tx.drop_tree(old.tree)?;
        for index in &old.indexes {
            tx.drop_tree(index.tree)?;
        }
        delete_statistics(tx, self.trees, old.id)?;
        self.reload()
    }

    /// The rows without their index entries, in the order of their new keys.
    fn move_rows(
        &self,
        old: &Table,
        new: &Arc<Table>,
        mut map: impl FnMut(Vec<Value>) -> Result<Vec<Value>>,
    ) -> Result<()> {
        let rows = self.rows();
        let target = Target::new(new, &self.catalog)?;
        let writer = Writer::new(&target, &rows);
        let (mut sorter, mut bytes) = (EntrySorter::new(self.dml.exec), Vec::new());
        self.for_each_row(old, |_, row| {
            let row = map(row)?;
            bytes.clear();
            target.layout.encode_row(&row, &mut bytes);
            sorter.add(&writer.new_key(&row)?, &bytes)
        })?;
        let mut last: Option<Vec<u8>> = None;
        sorter.for_each(|key, row| {
            if last.as_deref() == Some(key) {
                let row = target.layout.decode(key, row)?;
                let name = new.primary_key_name.as_deref().unwrap_or(&new.name);
                return Err(self.not_unique(new, name, &new.primary_key, &row));
            }
            let last = last.get_or_insert_default();
            last.clear();
            last.extend_from_slice(key);
            Ok(self.dml.tx.put(new.tree, key, row)?)
        })
    }
}

/// The names of the columns that an expression's text speaks of.
pub(super) fn columns_of(text: &str) -> Vec<String> {
    let Ok(parsed) = parse_expression(text) else { return Vec::new() };
    places(&parsed, |parts| parts.last()).into_iter().map(|(name, _)| name).collect()
}

/// The text with one column's name replaced.
pub(super) fn rename_column(text: &str, from: &str, to: &str) -> String {
    rename(text, from, to, |parts| parts.last())
}

/// The text with the name of the columns' table replaced, where it stands before them.
pub(super) fn rename_table(text: &str, from: &str, to: &str) -> String {
    rename(text, from, to, |parts| parts.len().checked_sub(2).and_then(|table| parts.get(table)))
}

fn rename(text: &str, from: &str, to: &str, which: fn(&[Span]) -> Option<&Span>) -> String {
    let Ok(parsed) = parse_expression(text) else { return text.to_owned() };
    let mut spans: Vec<Span> =
        places(&parsed, which).into_iter().filter(|(name, _)| name == from).map(|(_, span)| span).collect();
    spans.sort_by_key(|span| span.start);
    let mut name = String::new();
    quote_identifier(to, &mut name);
    let (mut renamed, mut done) = (String::with_capacity(text.len()), 0);
    for span in spans {
        renamed.push_str(&text[done..span.start as usize]);
        renamed.push_str(&name);
        done = span.end as usize;
    }
    renamed + &text[done..]
}

/// Of the names with dots that are columns in an expression, the part that `which` takes, and where it stands.
fn places(parsed: &ParsedExpression, which: fn(&[Span]) -> Option<&Span>) -> Vec<(String, Span)> {
    let tree = &parsed.tree;
    let (mut found, mut left) = (Vec::new(), vec![tree.reference(parsed.expr)]);
    while let Some(node) = left.pop() {
        if tree.kind(node).name != "Expr::Column" {
            tree.children(node, |child| left.push(child));
            continue;
        }
        let mut parts = Vec::new();
        tree.children(node, |name| parts.push(tree.place(name)));
        let part = which(&parts).copied();
        found.extend(part.map(|span| (said(&tree.source()[span.start as usize..span.end as usize]), span)));
    }
    found
}

/// What a written name says.
fn said(written: &str) -> String {
    match written.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(quoted) => quoted.replace("\"\"", "\""),
        None => fold_identifier(written),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn renaming_leaves_strings_functions_and_types_alone() {
        let renamed = rename_column("lower > 1 AND Lower(x) = 'lower' AND t.LOWER <> 2", "lower", "low");
        assert_eq!(renamed, "low > 1 AND Lower(x) = 'lower' AND t.low <> 2");
        assert_eq!(rename_column("date > DATE '2020-01-01'", "date", "Day"), "\"Day\" > DATE '2020-01-01'");
        assert_eq!(rename_column("\"a\"\"b\" > 1", "a\"b", "order"), "\"order\" > 1");
    }

    #[test]
    fn a_renamed_table_is_renamed_before_its_columns() {
        assert_eq!(rename_table("t.a > 0 AND \"T\".t = t", "t", "U"), "\"U\".a > 0 AND \"T\".t = t");
    }

    #[test]
    fn columns_are_folded_unless_quoted() {
        assert_eq!(
            columns_of("b(A) > \"B\"").into_iter().collect::<BTreeSet<_>>(),
            ["B", "a"].map(String::from).into()
        );
    }
}
