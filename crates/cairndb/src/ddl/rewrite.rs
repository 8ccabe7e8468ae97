//! Rewriting a table's rows in another shape (sorted by their new keys, as an index is built), and its expressions' texts with
//! other names.

use std::sync::Arc;

use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::tokenizer::{Token, Tokenizer, Word};

use super::context::Ddl;
use super::names::quoted;
use crate::catalog::{Index, Table, delete_statistics};
use crate::dml::{Target, Writer};
use crate::exec::EntrySorter;
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

fn tokens(text: &str) -> Vec<Token> {
    Tokenizer::new(&PostgreSqlDialect {}, text).tokenize().unwrap_or_default()
}

fn folded(word: &Word) -> String {
    if word.quote_style.is_some() { word.value.clone() } else { word.value.to_lowercase() }
}

/// The names in an expression's text.
pub(super) fn words(text: &str) -> Vec<String> {
    let tokens = tokens(text);
    let word = |token: &Token| if let Token::Word(word) = token { Some(folded(word)) } else { None };
    tokens.iter().filter_map(word).collect()
}

/// The text with one column's name replaced. A name before a parenthesis is a function's.
pub(super) fn rename_word(text: &str, from: &str, to: &str) -> String {
    let tokens = tokens(text);
    let mut renamed = String::with_capacity(text.len());
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Word(word) if folded(word) == from && !matches!(tokens.get(at + 1), Some(Token::LParen)) => {
                renamed.push_str(&quoted(to));
            }
            other => renamed.push_str(&other.to_string()),
        }
    }
    renamed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renaming_leaves_strings_and_functions_alone() {
        assert_eq!(
            rename_word("lower > 1 AND Lower(x) = 'lower'", "lower", "low"),
            "\"low\" > 1 AND Lower(x) = 'lower'"
        );
    }

    #[test]
    fn words_are_folded() {
        assert_eq!(words("A > \"B\""), ["a", "B"]);
    }
}
