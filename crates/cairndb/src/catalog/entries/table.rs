//! Tables, and what they are besides.

use std::sync::Arc;

use cairn_storage::TreeId;

use super::column::{decode_column, decode_dropped, encode_column, encode_dropped};
use super::constraint::{decode_check, decode_foreign_key, encode_check, encode_foreign_key};
use super::definition::{decode_references, encode_definition};
use super::index::{decode_index, encode_index};
use crate::Result;
use crate::catalog::Definition;
use crate::catalog::codec::{self, Fields, Writer, corrupt};
use crate::catalog::rules::{RuleKind, Rules};
use crate::catalog::schema::{
    Column, Deferral, Feed, Index, IndexColumn, Maintained, Materialized, ObjectId, OnCommit, Table, TableKind,
};
use crate::catalog::trigger::{decode_trigger, encode_trigger};
use crate::catalog::user_types::Types;
use crate::catalog::version::{Features, Version};
use crate::types::row::VERSIONS;

const FEATURES: &Features<Table> = &[
    (Version::Layouts, |table| table.layout_version > 0),
    (Version::Expressions, |table| table.indexes.iter().any(|index| !index.is_old())),
    (Version::Generated, |table| table.columns.iter().any(|column| column.generated.is_some())),
    (Version::Deferrals, |table| table.foreign_keys.iter().any(|key| key.deferral != Deferral::Never || !key.valid)),
    (Version::Deferrals, |table| table.checks.iter().any(|check| !check.valid)),
    (Version::Types, Table::has_user_types),
    (Version::Triggers, |table| !table.triggers.is_empty()),
    (Version::Inverted, |table| table.indexes.iter().any(|index| index.is_inverted())),
    (Version::TriggerKinds, |table| table.triggers.iter().any(|trigger| trigger.is_of_later_kind())),
    (Version::Query, Table::is_materialized),
    (Version::LateKeys, Table::has_deferrable_keys),
    (Version::Feed, |table| table.feed.is_some()),
    (Version::Maintained, |table| table.materialized().is_some_and(|of| of.maintained.is_some())),
    (Version::Maintained, |table| !table.views.is_empty()),
    (Version::Virtual, Table::has_virtual),
    (Version::Collection, |table| table.is_collection),
    (Version::Rules, |table| !table.rules.is_empty()),
    (Version::KeyForms, |table| table.foreign_keys.iter().any(|key| key.full || !key.set_on_delete.is_empty())),
];

/// A table with its indexes, checks and foreign keys. `change`: a number never used before, so that rewriting an entry
/// always changes its bytes (whoever relied on the old entry must notice).
pub(in crate::catalog) fn encode_table(table: &Table, change: u64) -> Vec<u8> {
    let version = Version::of_types(table.types()).max(Version::of(table, FEATURES));
    let mut w = Writer::entry(version).temporary(table.is_temporary());
    w.text(1, &table.name);
    w.number(2, table.tree.0.into());
    w.numbers(3, &table.row_key().iter().map(|part| part.column).collect::<Vec<_>>());
    if let Some(key) = table.primary.as_ref().filter(|key| !key.name.is_empty()) {
        w.text(4, &key.name);
    }
    w.number(5, table.layout_version.into());
    for column in &table.columns {
        w.record(6, |w| encode_column(column, w));
    }
    for index in &table.indexes {
        w.record(7, |w| encode_index(index, w));
    }
    for check in &table.checks {
        w.record(8, |w| encode_check(check, w));
    }
    for key in &table.foreign_keys {
        w.record(9, |w| encode_foreign_key(key, w));
    }
    w.number(10, change);
    w.number(11, table.columns_made.into());
    w.number(12, table.primary.as_ref().map_or(0, |key| key.id.0).into());
    w.number(13, table.schema.0.into());
    match table.on_commit {
        OnCommit::Preserve => {}
        OnCommit::DeleteRows => w.number(14, 1),
        OnCommit::Drop => w.number(14, 2),
    }
    for column in &table.dropped {
        w.record(15, |w| encode_dropped(column, w));
    }
    if let Some(key) = table.primary.as_ref().filter(|key| !key.included.is_empty()) {
        w.numbers(16, &key.included);
    }
    for trigger in &table.triggers {
        w.record(17, |w| encode_trigger(trigger, w));
    }
    if let Some(materialized) = table.materialized() {
        w.record(18, |w| encode_materialized(materialized, w));
    }
    if let Some(feed) = table.feed {
        w.record(19, |w| {
            w.number(1, feed.tree.0.into());
            w.number(2, feed.schema.into());
        });
    }
    if !table.views.is_empty() {
        w.numbers(20, &table.views.iter().map(|view| view.0 as usize).collect::<Vec<_>>());
    }
    w.flag(21, table.is_collection);
    if !table.rules.is_empty() {
        w.record(22, |w| encode_rules(&table.rules, w));
    }
    w.finish()
}

/// What a table's rows are read by, and nothing else of it: the same bytes mean that they are read alike.
pub(crate) fn encode_described(table: &Table) -> Vec<u8> {
    let column = |column: &Column| Column {
        domain: None,
        not_null: column.not_null,
        is_virtual: column.is_virtual,
        since: column.since,
        missing: column.missing.clone(),
        ..Column::new(column.number, &*column.name, column.data_type)
    };
    let described = Table {
        schema: table.schema,
        columns: table.columns.iter().map(column).collect(),
        primary: table.primary.as_ref().map(|key| Arc::new(Index::primary(TreeId(0), key.positions()))),
        layout_version: table.layout_version,
        dropped: table.dropped.clone(),
        columns_made: table.columns_made,
        ..Table::new(table.id, table.name.clone(), TreeId(0))
    };
    let mut bytes = table.id.0.to_be_bytes().to_vec();
    bytes.extend(encode_table(&described, 0));
    bytes
}

/// Each under the number of its kind, from 1 on.
fn encode_rules(rules: &Rules, w: &mut Writer) {
    for (tag, kind) in (1..).zip(RuleKind::ALL) {
        if let Some(rule) = rules.of(kind) {
            w.text(tag, rule);
        }
    }
}

fn decode_rules(bytes: &[u8]) -> Result<Rules> {
    let (mut rules, mut fields) = (Rules::default(), Fields::record(bytes));
    while let Some((tag, value)) = fields.next()? {
        if let Some((_, kind)) = (1..).zip(RuleKind::ALL).find(|(known, _)| *known == tag) {
            rules.set(kind, Some(codec::text(value)?));
        }
    }
    Ok(rules)
}

pub(super) fn decode_feed(bytes: &[u8]) -> Result<Feed> {
    let mut feed = Feed { tree: TreeId(0), schema: 0 };
    let mut fields = Fields::record(bytes);
    while let Some((tag, value)) = fields.next()? {
        match tag {
            1 => feed.tree = TreeId(codec::number(value)?),
            2 => feed.schema = codec::number(value)?,
            _ => {}
        }
    }
    Ok(feed)
}

pub(in crate::catalog) fn decode_table(id: ObjectId, bytes: &[u8], types: &Types) -> Result<Table> {
    let mut table = Table::new(id, String::new(), TreeId(0));
    // The primary key's parts are fields of the table's.
    let mut primary = Index::primary(TreeId(0), []);
    let mut fields = Fields::entry(bytes)?;
    while let Some((tag, value)) = fields.next()? {
        match tag {
            1 => table.name = codec::text(value)?,
            2 => table.tree = TreeId(codec::number(value)?),
            3 => primary.columns = codec::numbers(value)?.into_iter().map(IndexColumn::ascending).collect(),
            4 => primary.name = codec::text(value)?,
            5 => table.layout_version = codec::number(value)?,
            6 => table.columns.push(decode_column(value, types)?),
            7 => table.indexes.push(Arc::new(decode_index(value, types)?)),
            8 => table.checks.push(decode_check(value)?),
            9 => table.foreign_keys.push(decode_foreign_key(value)?),
            10 => table.change = codec::number(value)?,
            11 => table.columns_made = codec::number(value)?,
            12 => primary.id = ObjectId(codec::number(value)?),
            13 => table.schema = ObjectId(codec::number(value)?),
            14 => {
                table.on_commit = match codec::number::<u32>(value)? {
                    1 => OnCommit::DeleteRows,
                    2 => OnCommit::Drop,
                    _ => OnCommit::Preserve,
                }
            }
            15 => table.dropped.push(decode_dropped(value, types)?),
            17 => table.triggers.push(Arc::new(decode_trigger(value)?)),
            16 => primary.included = codec::numbers(value)?,
            18 => table.kind = TableKind::Materialized(decode_materialized(value)?),
            19 => table.feed = Some(decode_feed(value)?),
            20 => {
                let view = |id| u32::try_from(id).map(ObjectId).map_err(|_| corrupt("id of a view"));
                table.views = codec::numbers(value)?.into_iter().map(view).collect::<Result<_>>()?;
            }
            21 => table.is_collection = true,
            22 => table.rules = Arc::new(decode_rules(value)?),
            _ => {}
        }
    }
    table.primary = (!primary.columns.is_empty()).then(|| Arc::new(Index { tree: table.tree, ..primary }));
    number_columns(&mut table);
    check_positions(&table)?;
    if table.layout_version >= VERSIONS {
        return Err(corrupt("version of the row layout"));
    }
    Ok(table)
}

pub(super) fn encode_materialized(materialized: &Materialized, w: &mut Writer) {
    encode_definition(&materialized.query, (1, 2), w);
    w.flag(3, materialized.is_populated);
    match materialized.maintained {
        None => {}
        Some(Maintained::ByCommits) => w.number(4, 1),
        Some(Maintained::ByFollower) => w.number(4, 2),
    }
    if let Some(reason) = &materialized.stopped {
        w.text(5, reason);
    }
}

pub(super) fn decode_materialized(bytes: &[u8]) -> Result<Materialized> {
    let query = Definition { text: String::new(), references: None };
    let mut materialized = Materialized { query, is_populated: false, maintained: None, stopped: None };
    let mut fields = Fields::record(bytes);
    while let Some((tag, value)) = fields.next()? {
        match tag {
            1 => materialized.query.text = codec::text(value)?,
            2 => materialized.query.references = decode_references(value)?,
            3 => materialized.is_populated = true,
            4 => match codec::number::<u32>(value)? {
                1 => materialized.maintained = Some(Maintained::ByCommits),
                2 => materialized.maintained = Some(Maintained::ByFollower),
                _ => return Err(corrupt("kind of maintenance")),
            },
            5 => materialized.stopped = Some(codec::text(value)?),
            _ => {}
        }
    }
    Ok(materialized)
}

/// Version 2 did not number columns.
pub(super) fn number_columns(table: &mut Table) {
    for (column, number) in table.columns.iter_mut().zip(1..).filter(|(column, _)| column.number == 0) {
        column.number = number;
    }
    let greatest = table.columns.iter().map(|column| column.number).max();
    table.columns_made = table.columns_made.max(greatest.unwrap_or(0));
}

/// Every column position in the entry must exist: all later code indexes by them.
pub(super) fn check_positions(table: &Table) -> Result<()> {
    let keys = table.foreign_keys.iter().flat_map(|key| key.columns.iter().chain(&key.set_on_delete));
    let beyond = |position: &usize| *position >= table.columns.len();
    let is_nothing = |index: &Arc<Index>| {
        let of_index = |column: usize| index.expressions.iter().any(|key| key.column == column);
        index.columns.iter().any(|part| beyond(&part.column) && !of_index(part.column))
    };
    let included = table.all_indexes().flat_map(|index| &index.included);
    match keys.chain(included).any(beyond) || table.all_indexes().any(is_nothing) {
        true => Err(corrupt("column position out of range")),
        false => Ok(()),
    }
}
