//! Losses in words of tables and keys: a range of a tree's bytes becomes the two saved rows that it lies between.

use std::collections::BTreeMap;
use std::ops::Bound;

use cairn_storage::{Loss, Lost, Reader, Reasons, Store, TreeId};

use super::report::{LostRows, LostWhat, Salvaged};
use crate::Result;
use crate::catalog::{Catalog, Table, TableLayout, system_trees};
use crate::types::{EvalContext, to_text};

/// A name as SQL writes it.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Adds what the storage engine lost to the report.
pub(super) fn losses(
    store: &Store,
    catalog: &Catalog,
    eval: &EvalContext,
    losses: &[Loss],
    report: &mut Salvaged,
) -> Result<()> {
    let snapshot = store.snapshot()?;
    let reader = snapshot.reader();
    let system = system_trees(reader)?;
    let mut nobodys: BTreeMap<TreeId, (usize, Reasons)> = BTreeMap::new();
    for loss in losses {
        let why = &loss.why;
        if let Some(table) = catalog.tables().find(|table| table.tree == loss.tree) {
            report.lost.push(lost_rows(reader, table, eval, loss)?);
        } else if system.is_some_and(|trees| trees.statistics == loss.tree) {
            report.notes.push(format!("statistics of tables are lost ({why}); ANALYZE takes them anew"));
        } else if loss.tree == TreeId::CATALOG {
            report.lost_besides.push(format!("definitions of tables, views, functions or sequences ({why})"));
        } else if system.is_none_or(|trees| trees.sequences != loss.tree) {
            let (count, reasons) = nobodys.entry(loss.tree).or_default();
            *count += 1;
            reasons.add(why.clone());
        }
    }
    for (tree, (count, reasons)) in nobodys {
        let places = if count == 1 { String::new() } else { format!(" at {count} places") };
        report.lost_besides.push(format!(
            "rows{places} of tree {}, how many is not known; no table has it: its definition is lost, or it was dropped ({reasons})",
            tree.number()
        ));
    }
    Ok(())
}

fn lost_rows(reader: &Reader, table: &Table, eval: &EvalContext, loss: &Loss) -> Result<LostRows> {
    let what = match &loss.what {
        Lost::Entry(key) => LostWhat::Row(key_text(table, key, eval)),
        Lost::Range { from, to } | Lost::Part { from, to } => {
            let before = to.as_deref().map(|to| neighbour(reader, table, eval, to, true)).transpose()?.flatten();
            let after = neighbour(reader, table, eval, from, false)?;
            match &loss.what {
                Lost::Range { .. } => LostWhat::Between(after, before),
                _ => LostWhat::SomeBetween(after, before),
            }
        }
    };
    let columns = match table.row_key() {
        [] => vec!["row number".to_string()],
        key => key.iter().map(|part| table.columns[part.column].name.clone()).collect(),
    };
    Ok(LostRows { table: table.name.clone(), columns, what, why: loss.why.to_string() })
}

/// The key of the first saved row at or behind a place in the table, or of the last before it.
fn neighbour(
    reader: &Reader,
    table: &Table,
    eval: &EvalContext,
    place: &[u8],
    behind: bool,
) -> Result<Option<Vec<String>>> {
    let found = match behind {
        true => {
            reader.cursor(table.tree, Bound::Included(place), Bound::Unbounded)?.next()?.map(|(key, _)| key.to_vec())
        }
        false => {
            reader.cursor(table.tree, Bound::Unbounded, Bound::Excluded(place))?.prev()?.map(|(key, _)| key.to_vec())
        }
    };
    Ok(found.map(|key| key_text(table, &key, eval)))
}

/// A row's key in text. What of it can not be read is shown as bytes.
fn key_text(table: &Table, key: &[u8], eval: &EvalContext) -> Vec<String> {
    if table.primary.is_none() {
        return match crate::state::row_number(key) {
            Ok(number) => vec![number.to_string()],
            Err(_) => vec![bytes_text(key)],
        };
    }
    let mut rest = key;
    let mut texts = Vec::new();
    for &data_type in TableLayout::new(table).key_types() {
        match crate::types::key::decode_value(&mut rest, data_type, false, false) {
            Ok(value) => texts.push(to_text(&value, eval)),
            Err(_) => {
                texts.push(bytes_text(rest));
                break;
            }
        }
    }
    texts
}

fn bytes_text(bytes: &[u8]) -> String {
    bytes.iter().fold("\\x".to_string(), |text, byte| text + &format!("{byte:02x}"))
}
