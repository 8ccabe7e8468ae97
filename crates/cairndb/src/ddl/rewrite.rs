//! Rewriting a table's rows in another shape (sorted by their new keys, as an index is built), and its expressions' texts with
//! other names.

use std::sync::Arc;

use cairn_parser::Span;
use cairn_parser::token::quoted;

use super::context::Ddl;
use super::index_build::not_unique;
use crate::bind::said;
use crate::catalog::{Definition, Index, Table, TableLayout, delete_statistics};
use crate::change_feed::{EntryKind, write_rewritten};
use crate::dml::{Target, key_detail};
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
        self.give_trees(&mut new)?;
        self.store.put_table(&new)?;
        new.feed = self.feed_now(&new)?;
        let new = Arc::new(new);
        self.move_rows(old, &new, map)?;
        new.indexes.iter().try_for_each(|index| self.build_index(&new, index))?;
        self.drop_trees(old)?;
        delete_statistics(self.dml.tx, self.trees, old.id)?;
        self.reload()
    }

    /// Empty trees for a table that had others.
    pub(super) fn give_trees(&self, table: &mut Table) -> Result<()> {
        table.tree = self.dml.tx.create_tree(table.schema)?;
        table.primary = table.primary.take().map(|index| Arc::new(Index { tree: table.tree, ..Index::clone(&index) }));
        table.forget_layouts();
        for index in &mut table.indexes {
            let tree = self.dml.tx.create_derived_tree(table.schema)?;
            *index = Arc::new(Index { tree, ..Index::clone(index) });
        }
        Ok(())
    }

    pub(super) fn drop_trees(&self, table: &Table) -> Result<()> {
        self.dml.tx.drop_tree(table.tree)?;
        table.indexes.iter().try_for_each(|index| Ok(self.dml.tx.drop_tree(index.tree)?))
    }

    /// The rows without their index entries, in the order of their new keys.
    fn move_rows(
        &self,
        old: &Table,
        new: &Arc<Table>,
        mut map: impl FnMut(Vec<Value>) -> Result<Vec<Value>>,
    ) -> Result<()> {
        let rows = self.rows();
        self.tell_feed(new, EntryKind::Rewriting)?;
        let target = Target::of(new, &self.catalog)?;
        let mut sorter = EntrySorter::new(self.dml.exec);
        let (mut key, mut bytes, mut entry) = (Vec::new(), Vec::new(), Vec::new());
        let layout = TableLayout::new(old);
        self.for_each_stored(old, |old_key, old_row| {
            let row = map(layout.decode(old_key, old_row)?)?;
            bytes.clear();
            target.layout.encode_row(&row, &mut bytes);
            target.encode_new_key(|column| (&row[column]).into(), rows.numbers(new.tree), &mut key)?;
            if let (Some(before), Some(now)) = (old.feed, new.feed) {
                let schemas = (before.schema, now.schema);
                write_rewritten(schemas, (old_key, old_row), (&key, &bytes), &mut entry);
                self.dml.tx.append(now.tree, &entry)?;
            }
            sorter.add(&key, &bytes)
        })?;
        let mut last: Option<Vec<u8>> = None;
        sorter.for_each(|key, row| {
            if last.as_deref() == Some(key) {
                let row = target.layout.decode(key, row)?;
                let name = new.primary.as_ref().map_or(&new.name, |index| &index.name);
                let columns: Vec<usize> = new.row_key().iter().map(|part| part.column).collect();
                let values = columns.iter().map(|&column| &row[column]);
                return Err(not_unique(name, &key_detail(new, &columns, values, &self.dml.exec.eval)));
            }
            let last = last.get_or_insert_default();
            last.clear();
            last.extend_from_slice(key);
            Ok(self.dml.tx.put(new.tree, key, row)?)
        })
    }
}

/// Replaces one column's name.
pub(super) fn rename_column(definition: &mut Definition, from: &str, to: &str) {
    rename(definition, from, to, |parts| parts.last());
}

/// Replaces the name of the columns' table, where it stands before them.
pub(super) fn rename_table(definition: &mut Definition, from: &str, to: &str) {
    rename(definition, from, to, |parts| parts.len().checked_sub(2).and_then(|table| parts.get(table)));
}

/// What the definition refers to moves with the text.
fn rename(definition: &mut Definition, from: &str, to: &str, which: fn(&[Span]) -> Option<&Span>) {
    let text = &definition.text;
    let Ok(parsed) = parse_expression(text) else { return };
    let mut spans: Vec<Span> =
        places(&parsed, which).into_iter().filter(|(name, _)| name == from).map(|(_, span)| span).collect();
    spans.sort_by_key(|span| span.start);
    let name = quoted(to);
    let (mut renamed, mut done) = (String::with_capacity(text.len()), 0);
    let mut references = definition.references.clone();
    for span in spans {
        renamed.push_str(&text[done..span.start as usize]);
        renamed.push_str(&name);
        done = span.end as usize;
        let (longer, shorter) = (name.len() as u32, span.end - span.start);
        let behind = definition.references().iter().map(|reference| reference.place > span.start);
        for (reference, is_behind) in references.iter_mut().flatten().zip(behind) {
            if is_behind {
                reference.place = reference.place + longer - shorter;
            }
        }
    }
    renamed.push_str(&text[done..]);
    *definition = Definition { text: renamed, references };
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

#[cfg(test)]
mod tests {
    use super::*;

    fn renamed(text: &str, rename: impl Fn(&mut Definition)) -> String {
        let mut definition = Definition::from(text);
        rename(&mut definition);
        definition.text
    }

    #[test]
    fn renaming_leaves_strings_functions_and_types_alone() {
        let column = |text: &str, from: &str, to: &str| renamed(text, |text| rename_column(text, from, to));
        let text = "lower > 1 AND Lower(x) = 'lower' AND t.LOWER <> 2";
        assert_eq!(column(text, "lower", "low"), "low > 1 AND Lower(x) = 'lower' AND t.low <> 2");
        assert_eq!(column("date > DATE '2020-01-01'", "date", "Day"), "\"Day\" > DATE '2020-01-01'");
        assert_eq!(column("\"a\"\"b\" > 1", "a\"b", "order"), "\"order\" > 1");
    }

    #[test]
    fn a_renamed_table_is_renamed_before_its_columns() {
        let text = renamed("t.a > 0 AND \"T\".t = t", |text| rename_table(text, "t", "U"));
        assert_eq!(text, "\"U\".a > 0 AND \"T\".t = t");
    }

    #[test]
    fn what_a_text_refers_to_moves_with_it() {
        let text = "a > 0 AND nextval('s') > a";
        let place = u32::try_from(text.find("'s'").unwrap()).unwrap();
        let reference = crate::catalog::Reference {
            place,
            object: crate::catalog::ObjectId(1),
            schema: String::new(),
            columns: Vec::new(),
            by_key: false,
        };
        let mut definition = Definition { text: text.to_string(), references: Some(vec![reference]) };
        rename_column(&mut definition, "a", "longer");
        let place = definition.references()[0].place as usize;
        assert!(definition.text[place..].starts_with("'s'"), "{}", definition.text);
    }
}
