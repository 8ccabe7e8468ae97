//! Schema objects as catalog entries.

use std::sync::Arc;

use cairn_storage::TreeId;

use super::codec::{self, Fields, Writer, corrupt};
use super::schema::{
    Check, Column, DroppedColumn, Feed, ForeignKey, Identity, Index, IndexColumn, Materialized, ObjectId, Table, View,
};
use super::schema::{CheckOption, EXPRESSIONS, KeyExpression, RowExpression};
use super::schema::{Deferral, Maintained, OnCommit, ReferentialAction, Sequence};
use super::trigger::{decode_trigger, encode_trigger};
use super::user_types::Types;
use super::version::{Features, Version};
use super::{Definition, KnownColumn, Reference};
use crate::Result;
use crate::inverted::ItemClass;
use crate::types::DataType;
use crate::types::row::{VERSIONS, decode_raw};

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
    (Version::Maintained, |table| table.materialized.as_ref().is_some_and(|of| of.maintained.is_some())),
    (Version::Maintained, |table| !table.views.is_empty()),
    (Version::Virtual, Table::has_virtual),
    (Version::KeyForms, |table| table.foreign_keys.iter().any(|key| key.full || !key.set_on_delete.is_empty())),
];

/// A table with its indexes, checks and foreign keys. `change`: a number never used before, so that rewriting an entry
/// always changes its bytes (whoever relied on the old entry must notice).
pub(super) fn encode_table(table: &Table, change: u64) -> Vec<u8> {
    let version = Version::of_types(table.types()).max(Version::of(table, FEATURES));
    let mut w = Writer::entry(version).temporary(table.is_temporary());
    w.text(1, &table.name);
    w.number(2, table.tree.0.into());
    w.numbers(3, &table.primary_key);
    if let Some(name) = &table.primary_key_name {
        w.text(4, name);
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
    w.number(12, table.primary_key_id.0.into());
    w.number(13, table.schema.0.into());
    match table.on_commit {
        OnCommit::Preserve => {}
        OnCommit::DeleteRows => w.number(14, 1),
        OnCommit::Drop => w.number(14, 2),
    }
    for column in &table.dropped {
        w.record(15, |w| encode_dropped(column, w));
    }
    if !table.primary_key_included.is_empty() {
        w.numbers(16, &table.primary_key_included);
    }
    for trigger in &table.triggers {
        w.record(17, |w| encode_trigger(trigger, w));
    }
    if let Some(materialized) = &table.materialized {
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
        primary_key: table.primary_key.clone(),
        layout_version: table.layout_version,
        dropped: table.dropped.clone(),
        columns_made: table.columns_made,
        ..Table::new(table.id, table.name.clone(), TreeId(0))
    };
    let mut bytes = table.id.0.to_be_bytes().to_vec();
    bytes.extend(encode_table(&described, 0));
    bytes
}

fn decode_feed(bytes: &[u8]) -> Result<Feed> {
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

pub(super) fn decode_table(id: ObjectId, bytes: &[u8], types: &Types) -> Result<Table> {
    let mut table = Table::new(id, String::new(), TreeId(0));
    let mut fields = Fields::entry(bytes)?;
    while let Some((tag, value)) = fields.next()? {
        match tag {
            1 => table.name = codec::text(value)?,
            2 => table.tree = TreeId(codec::number(value)?),
            3 => table.primary_key = codec::numbers(value)?,
            4 => table.primary_key_name = Some(codec::text(value)?),
            5 => table.layout_version = codec::number(value)?,
            6 => table.columns.push(decode_column(value, types)?),
            7 => table.indexes.push(Arc::new(decode_index(value, types)?)),
            8 => table.checks.push(decode_check(value)?),
            9 => table.foreign_keys.push(decode_foreign_key(value)?),
            10 => table.change = codec::number(value)?,
            11 => table.columns_made = codec::number(value)?,
            12 => table.primary_key_id = ObjectId(codec::number(value)?),
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
            16 => table.primary_key_included = codec::numbers(value)?,
            18 => table.materialized = Some(decode_materialized(value)?),
            19 => table.feed = Some(decode_feed(value)?),
            20 => {
                let view = |id| u32::try_from(id).map(ObjectId).map_err(|_| corrupt("id of a view"));
                table.views = codec::numbers(value)?.into_iter().map(view).collect::<Result<_>>()?;
            }
            _ => {}
        }
    }
    number_columns(&mut table);
    check_positions(&table)?;
    if table.layout_version >= VERSIONS {
        return Err(corrupt("version of the row layout"));
    }
    Ok(table)
}

fn encode_materialized(materialized: &Materialized, w: &mut Writer) {
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

fn decode_materialized(bytes: &[u8]) -> Result<Materialized> {
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
fn number_columns(table: &mut Table) {
    for (column, number) in table.columns.iter_mut().zip(1..).filter(|(column, _)| column.number == 0) {
        column.number = number;
    }
    let greatest = table.columns.iter().map(|column| column.number).max();
    table.columns_made = table.columns_made.max(greatest.unwrap_or(0));
}

/// Every column position in the entry must exist: all later code indexes by them.
fn check_positions(table: &Table) -> Result<()> {
    let keys = table.foreign_keys.iter().flat_map(|key| key.columns.iter().chain(&key.set_on_delete));
    let beyond = |position: &usize| *position >= table.columns.len();
    let is_nothing = |index: &Arc<Index>| {
        let of_index = |column: usize| index.expressions.iter().any(|key| key.column == column);
        index.columns.iter().any(|part| beyond(&part.column) && !of_index(part.column))
    };
    let included = table.indexes.iter().flat_map(|index| &index.included).chain(&table.primary_key_included);
    match table.primary_key.iter().chain(keys).chain(included).any(beyond) || table.indexes.iter().any(is_nothing) {
        true => Err(corrupt("column position out of range")),
        false => Ok(()),
    }
}

fn encode_column(column: &Column, w: &mut Writer) {
    w.text(1, &column.name);
    w.data_type(2, column.data_type);
    w.flag(3, column.not_null);
    if let Some(default) = &column.default {
        encode_definition(default, (4, 8), w);
    }
    if let Some(identity) = column.identity {
        w.number(5, identity.sequence.0.into());
        w.flag(6, identity.always);
    }
    w.number(7, column.number.into());
    if column.since > 0 {
        w.number(9, column.since.into());
    }
    if let Some(missing) = &column.missing {
        w.bytes(10, missing);
    }
    if let Some(domain) = column.domain {
        w.number(12, domain.0.into());
    }
    if let Some(generated) = &column.generated {
        w.record(11, |w| encode_row_expression(generated, (3, 4, 5), w));
    }
    w.flag(13, column.is_virtual);
}

fn encode_dropped(column: &DroppedColumn, w: &mut Writer) {
    w.number(1, column.number.into());
    w.data_type(2, column.data_type);
    w.number(3, column.since.into());
    w.number(4, column.until.into());
}

fn decode_dropped(bytes: &[u8], types: &Types) -> Result<DroppedColumn> {
    let mut column = DroppedColumn { number: 0, data_type: DataType::Unknown, since: 0, until: 0 };
    let mut fields = Fields::record(bytes);
    while let Some((tag, value)) = fields.next()? {
        match tag {
            1 => column.number = codec::number(value)?,
            2 => column.data_type = codec::data_type(value, types)?,
            3 => column.since = codec::number(value)?,
            4 => column.until = codec::number(value)?,
            _ => {}
        }
    }
    Ok(column)
}

/// A definition as two fields: its text, and what it refers to.
pub(super) fn encode_definition(definition: &Definition, (text, references): (u8, u8), w: &mut Writer) {
    w.text(text, &definition.text);
    if let Some(all) = &definition.references {
        w.record(references, |w| all.iter().for_each(|reference| w.record(1, |w| encode_reference(reference, w))));
    }
}

fn encode_reference(reference: &Reference, w: &mut Writer) {
    w.number(1, reference.place.into());
    w.number(2, reference.object.0.into());
    for column in &reference.columns {
        w.record(3, |w| {
            w.number(1, column.number.into());
            w.text(2, &column.name);
            w.flag(3, column.used);
        });
    }
    w.flag(4, reference.by_key);
    w.text(5, &reference.schema);
}

pub(super) fn decode_references(bytes: &[u8]) -> Result<Option<Vec<Reference>>> {
    let mut references = Vec::new();
    let mut fields = Fields::record(bytes);
    while let Some((tag, value)) = fields.next()? {
        if tag == 1 {
            references.push(decode_reference(value)?);
        }
    }
    Ok(Some(references))
}

fn decode_reference(bytes: &[u8]) -> Result<Reference> {
    let (object, schema) = (ObjectId(0), String::from("public"));
    let mut reference = Reference { place: 0, object, schema, columns: Vec::new(), by_key: false };
    let mut fields = Fields::record(bytes);
    while let Some((tag, value)) = fields.next()? {
        match tag {
            1 => reference.place = codec::number(value)?,
            2 => reference.object = ObjectId(codec::number(value)?),
            3 => reference.columns.push(decode_known_column(value)?),
            4 => reference.by_key = true,
            5 => reference.schema = codec::text(value)?,
            _ => {}
        }
    }
    Ok(reference)
}

pub(super) fn decode_known_column(bytes: &[u8]) -> Result<KnownColumn> {
    let mut column = KnownColumn { number: 0, name: String::new(), used: false };
    let mut fields = Fields::record(bytes);
    while let Some((tag, value)) = fields.next()? {
        match tag {
            1 => column.number = codec::number(value)?,
            2 => column.name = codec::text(value)?,
            3 => column.used = true,
            _ => {}
        }
    }
    Ok(column)
}

fn decode_column(bytes: &[u8], types: &Types) -> Result<Column> {
    let mut column = Column::new(0, String::new(), DataType::Unknown);
    let (mut sequence, mut always, mut references) = (None, false, None);
    let mut fields = Fields::record(bytes);
    while let Some((tag, value)) = fields.next()? {
        match tag {
            1 => column.name = codec::text(value)?,
            2 => column.data_type = codec::data_type(value, types)?,
            3 => column.not_null = true,
            4 => column.default = Some(Definition { text: codec::text(value)?, references: None }),
            5 => sequence = Some(ObjectId(codec::number(value)?)),
            6 => always = true,
            7 => column.number = codec::number(value)?,
            8 => references = decode_references(value)?,
            9 => column.since = codec::number(value)?,
            10 => column.missing = Some(value.into()),
            11 => column.generated = Some(decode_row_expression(value, types)?.expression),
            12 => column.domain = Some(ObjectId(codec::number(value)?)),
            13 => column.is_virtual = true,
            _ => {}
        }
    }
    if let Some(default) = &mut column.default {
        default.references = references;
    }
    if let Some(missing) = &column.missing {
        decode_raw(missing, column.data_type)?;
    }
    column.identity = sequence.map(|sequence| Identity { always, sequence });
    Ok(column)
}

fn encode_index(index: &Index, w: &mut Writer) {
    w.number(1, index.id.0.into());
    w.text(2, &index.name);
    w.number(3, index.tree.0.into());
    w.flag(4, index.unique);
    w.flag(5, index.constraint);
    w.flag(9, index.nulls_equal);
    for column in &index.columns {
        w.record(6, |w| {
            w.number(1, column.column as u64);
            w.flag(2, column.descending);
            w.flag(3, column.nulls_first);
        });
    }
    for key in &index.expressions {
        w.record(7, |w| {
            w.number(1, key.column as u64);
            w.data_type(2, key.data_type);
            encode_row_expression(&key.expression, (3, 4, 5), w);
        });
    }
    if let Some(predicate) = &index.predicate {
        w.record(8, |w| encode_row_expression(predicate, (3, 4, 5), w));
    }
    if !index.included.is_empty() {
        w.numbers(10, &index.included);
    }
    if let Some(inverted) = &index.inverted {
        inverted.classes.iter().for_each(|class| w.number(11, class.code()));
    }
    encode_deferral(index.deferral, 12, w);
    w.flag(13, index.primary);
}

/// An expression as three fields: its text, what that refers to, and its columns.
fn encode_row_expression(expression: &RowExpression, (text, references, columns): (u8, u8, u8), w: &mut Writer) {
    encode_definition(&expression.definition, (text, references), w);
    expression.columns.iter().for_each(|&column| w.number(columns, column.into()));
}

fn decode_row_expression(bytes: &[u8], types: &Types) -> Result<KeyExpression> {
    let mut key = KeyExpression { column: 0, data_type: DataType::Unknown, expression: RowExpression::default() };
    let mut fields = Fields::record(bytes);
    while let Some((tag, value)) = fields.next()? {
        match tag {
            1 => key.column = codec::number(value)?,
            2 => key.data_type = codec::data_type(value, types)?,
            3 => key.expression.definition.text = codec::text(value)?,
            4 => key.expression.definition.references = decode_references(value)?,
            5 => key.expression.columns.push(codec::number(value)?),
            _ => {}
        }
    }
    Ok(key)
}

fn decode_key_expression(bytes: &[u8], types: &Types) -> Result<KeyExpression> {
    let key = decode_row_expression(bytes, types)?;
    if key.column < EXPRESSIONS || key.data_type == DataType::Unknown {
        Err(corrupt("expression of an index"))
    } else {
        Ok(key)
    }
}

fn decode_index(bytes: &[u8], types: &Types) -> Result<Index> {
    let mut index = Index {
        id: ObjectId(0),
        name: String::new(),
        tree: TreeId(0),
        columns: Vec::new(),
        unique: false,
        nulls_equal: false,
        constraint: false,
        expressions: Vec::new(),
        predicate: None,
        included: Vec::new(),
        inverted: None,
        deferral: Deferral::Never,
        primary: false,
    };
    let mut fields = Fields::record(bytes);
    while let Some((tag, value)) = fields.next()? {
        match tag {
            1 => index.id = ObjectId(codec::number(value)?),
            2 => index.name = codec::text(value)?,
            3 => index.tree = TreeId(codec::number(value)?),
            4 => index.unique = true,
            5 => index.constraint = true,
            6 => index.columns.push(decode_index_column(value)?),
            7 => index.expressions.push(decode_key_expression(value, types)?),
            9 => index.nulls_equal = true,
            8 => index.predicate = Some(decode_row_expression(value, types)?.expression),
            10 => index.included = codec::numbers(value)?,
            11 => {
                let class = ItemClass::of_code(codec::number(value)?).ok_or_else(|| corrupt("class of an index"))?;
                index.inverted.get_or_insert_default().classes.push(class);
            }
            12 => index.deferral = decode_deferral(codec::number(value)?)?,
            13 => index.primary = true,
            _ => {}
        }
    }
    if index.inverted.as_ref().is_some_and(|inverted| inverted.classes.len() != index.columns.len()) {
        return Err(corrupt("classes of an index"));
    }
    Ok(index)
}

fn decode_index_column(bytes: &[u8]) -> Result<IndexColumn> {
    let mut column = IndexColumn { column: usize::MAX, descending: false, nulls_first: false };
    let mut fields = Fields::record(bytes);
    while let Some((tag, value)) = fields.next()? {
        match tag {
            1 => column.column = codec::number(value)?,
            2 => column.descending = true,
            3 => column.nulls_first = true,
            _ => {}
        }
    }
    Ok(column)
}

pub(super) fn encode_check(check: &Check, w: &mut Writer) {
    w.text(1, &check.name);
    encode_definition(&check.condition, (2, 3), w);
    w.number(4, check.id.0.into());
    for &column in &check.columns {
        w.number(5, column.into());
    }
    w.flag(6, !check.valid);
}

pub(super) fn decode_check(bytes: &[u8]) -> Result<Check> {
    let (id, name, condition) = (ObjectId(0), String::new(), Definition::default());
    let mut check = Check { id, name, condition, columns: Vec::new(), valid: true };
    let mut fields = Fields::record(bytes);
    while let Some((tag, value)) = fields.next()? {
        match tag {
            1 => check.name = codec::text(value)?,
            2 => check.condition.text = codec::text(value)?,
            3 => check.condition.references = decode_references(value)?,
            4 => check.id = ObjectId(codec::number(value)?),
            5 => check.columns.push(codec::number(value)?),
            6 => check.valid = false,
            _ => {}
        }
    }
    Ok(check)
}

fn encode_foreign_key(key: &ForeignKey, w: &mut Writer) {
    w.text(1, &key.name);
    w.numbers(2, &key.columns);
    w.number(3, key.referenced_table.0.into());
    w.numbers(4, &key.referenced_columns);
    w.number(5, encode_action(key.on_delete));
    w.number(6, encode_action(key.on_update));
    w.number(7, key.id.0.into());
    encode_deferral(key.deferral, 8, w);
    w.flag(9, !key.valid);
    w.flag(10, key.full);
    if !key.set_on_delete.is_empty() {
        w.numbers(11, &key.set_on_delete);
    }
}

fn decode_foreign_key(bytes: &[u8]) -> Result<ForeignKey> {
    let mut key = ForeignKey {
        id: ObjectId(0),
        name: String::new(),
        columns: Vec::new(),
        referenced_table: ObjectId(0),
        referenced_columns: Vec::new(),
        on_delete: ReferentialAction::NoAction,
        set_on_delete: Vec::new(),
        on_update: ReferentialAction::NoAction,
        full: false,
        deferral: Deferral::Never,
        valid: true,
    };
    let mut fields = Fields::record(bytes);
    while let Some((tag, value)) = fields.next()? {
        match tag {
            1 => key.name = codec::text(value)?,
            2 => key.columns = codec::numbers(value)?,
            3 => key.referenced_table = ObjectId(codec::number(value)?),
            4 => key.referenced_columns = codec::numbers(value)?,
            5 => key.on_delete = decode_action(codec::number(value)?)?,
            6 => key.on_update = decode_action(codec::number(value)?)?,
            7 => key.id = ObjectId(codec::number(value)?),
            8 => key.deferral = decode_deferral(codec::number(value)?)?,
            9 => key.valid = false,
            10 => key.full = true,
            11 => key.set_on_delete = codec::numbers(value)?,
            _ => {}
        }
    }
    Ok(key)
}

fn encode_deferral(deferral: Deferral, tag: u8, w: &mut Writer) {
    match deferral {
        Deferral::Never => {}
        Deferral::Immediate => w.number(tag, 1),
        Deferral::Deferred => w.number(tag, 2),
    }
}

fn decode_deferral(number: u64) -> Result<Deferral> {
    match number {
        1 => Ok(Deferral::Immediate),
        2 => Ok(Deferral::Deferred),
        _ => Err(corrupt("unknown time of a constraint")),
    }
}

fn encode_action(action: ReferentialAction) -> u64 {
    match action {
        ReferentialAction::NoAction => 0,
        ReferentialAction::Restrict => 1,
        ReferentialAction::Cascade => 2,
        ReferentialAction::SetNull => 3,
        ReferentialAction::SetDefault => 4,
    }
}

fn decode_action(number: u64) -> Result<ReferentialAction> {
    Ok(match number {
        0 => ReferentialAction::NoAction,
        1 => ReferentialAction::Restrict,
        2 => ReferentialAction::Cascade,
        3 => ReferentialAction::SetNull,
        4 => ReferentialAction::SetDefault,
        _ => return Err(corrupt("unknown referential action")),
    })
}

pub(super) fn encode_view(view: &View, change: u64) -> Vec<u8> {
    let features: &Features<View> = &[
        (Version::ViewRules, |view| !view.triggers.is_empty() || view.check.is_some()),
        (Version::ViewDefaults, |view| !view.defaults.is_empty()),
    ];
    let mut w = Writer::entry(Version::of(view, features)).temporary(view.id.is_temporary());
    w.text(1, &view.name);
    for column in &view.columns {
        w.text(2, column);
    }
    encode_definition(&view.query, (3, 5), &mut w);
    w.number(4, change);
    w.number(6, view.schema.0.into());
    for trigger in &view.triggers {
        w.record(7, |w| encode_trigger(trigger, w));
    }
    if let Some(check) = view.check {
        w.number(8, u64::from(check == CheckOption::Cascaded));
    }
    for (place, default) in &view.defaults {
        w.record(9, |w| {
            w.number(1, *place as u64);
            encode_definition(default, (2, 3), w);
        });
    }
    w.finish()
}

pub(super) fn decode_view(id: ObjectId, bytes: &[u8]) -> Result<View> {
    let mut view = View::new(id, ObjectId::PUBLIC, String::new());
    let mut fields = Fields::entry(bytes)?;
    while let Some((tag, value)) = fields.next()? {
        match tag {
            1 => view.name = codec::text(value)?,
            2 => view.columns.push(codec::text(value)?),
            3 => view.query.text = codec::text(value)?,
            4 => view.change = codec::number(value)?,
            5 => view.query.references = decode_references(value)?,
            6 => view.schema = ObjectId(codec::number(value)?),
            7 => view.triggers.push(Arc::new(decode_trigger(value)?)),
            8 if codec::number::<u32>(value)? == 0 => view.check = Some(CheckOption::Local),
            8 => view.check = Some(CheckOption::Cascaded),
            9 => view.defaults.extend([decode_view_default(value)?]),
            _ => {}
        }
    }
    Ok(view)
}

fn decode_view_default(bytes: &[u8]) -> Result<(usize, Definition)> {
    let (mut place, mut default) = (0, Definition::default());
    let mut fields = Fields::record(bytes);
    while let Some((tag, value)) = fields.next()? {
        match tag {
            1 => place = codec::number(value)?,
            2 => default.text = codec::text(value)?,
            3 => default.references = decode_references(value)?,
            _ => {}
        }
    }
    Ok((place, default))
}

/// An entry of nothing but a text: a schema's name, a comment.
pub(super) fn encode_text(text: &str, change: u64) -> Vec<u8> {
    let mut w = Writer::entry(Version::Plain);
    w.text(1, text);
    w.number(2, change);
    w.finish()
}

pub(super) fn decode_text(bytes: &[u8]) -> Result<String> {
    let mut name = String::new();
    let mut fields = Fields::entry(bytes)?;
    while let Some((tag, value)) = fields.next()? {
        if tag == 1 {
            name = codec::text(value)?;
        }
    }
    Ok(name)
}

pub(super) fn encode_sequence(sequence: &Sequence, change: u64) -> Vec<u8> {
    let features: &Features<Sequence> = &[(Version::Restart, |sequence| sequence.restarted.is_some())];
    let mut w = Writer::entry(Version::of(sequence, features));
    w.text(1, &sequence.name);
    w.signed(2, sequence.start);
    w.signed(3, sequence.increment);
    w.signed(4, sequence.min);
    w.signed(5, sequence.max);
    w.flag(6, sequence.cycle);
    if let Some((table, column)) = sequence.owner {
        w.number(7, table.0.into());
        w.number(8, column as u64);
    }
    w.number(9, change);
    w.number(10, sequence.generation);
    w.number(11, sequence.schema.0.into());
    w.data_type(12, sequence.data_type);
    if let Some(first) = sequence.restarted {
        w.signed(13, first);
    }
    w.finish()
}

pub(super) fn decode_sequence(id: ObjectId, bytes: &[u8]) -> Result<Sequence> {
    let mut sequence = Sequence {
        id,
        schema: ObjectId::PUBLIC,
        name: String::new(),
        data_type: DataType::Unknown,
        start: 1,
        restarted: None,
        increment: 1,
        min: 1,
        max: i64::MAX,
        cycle: false,
        owner: None,
        generation: 0,
        change: 0,
    };
    let (mut table, mut column) = (None, 0);
    let mut fields = Fields::entry(bytes)?;
    while let Some((tag, value)) = fields.next()? {
        match tag {
            1 => sequence.name = codec::text(value)?,
            2 => sequence.start = codec::signed(value)?,
            3 => sequence.increment = codec::signed(value)?,
            4 => sequence.min = codec::signed(value)?,
            5 => sequence.max = codec::signed(value)?,
            6 => sequence.cycle = true,
            7 => table = Some(ObjectId(codec::number(value)?)),
            8 => column = codec::number(value)?,
            9 => sequence.change = codec::number(value)?,
            10 => sequence.generation = codec::number(value)?,
            11 => sequence.schema = ObjectId(codec::number(value)?),
            12 => sequence.data_type = codec::data_type(value, &Types::default())?,
            13 => sequence.restarted = Some(codec::signed(value)?),
            _ => {}
        }
    }
    if sequence.data_type == DataType::Unknown {
        sequence.data_type = type_within(sequence.min, sequence.max);
    }
    sequence.owner = table.map(|table| (table, column));
    Ok(sequence)
}

/// The type of a sequence whose entry does not say it: one that ends where a type does is of that.
fn type_within(min: i64, max: i64) -> DataType {
    let ends = |least: i64, greatest: i64| min == least || max == greatest;
    match () {
        () if ends(i16::MIN.into(), i16::MAX.into()) => DataType::SmallInt,
        () if ends(i32::MIN.into(), i32::MAX.into()) => DataType::Integer,
        () => DataType::BigInt,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{Deferral, Enabled, Timing, Trigger, TriggerEvent};

    fn table() -> Table {
        let known = KnownColumn { number: 2, name: "x".to_string(), used: true };
        let reference =
            Reference { place: 9, object: ObjectId(9), schema: "s".to_string(), columns: vec![known], by_key: true };
        let column = |number, name: &str, data_type| Column {
            not_null: true,
            default: Some(Definition { text: "nextval('s')".to_string(), references: Some(vec![reference.clone()]) }),
            identity: Some(Identity { always: true, sequence: ObjectId(9) }),
            generated: Some(RowExpression { definition: "b || b".into(), columns: vec![4] }),
            since: number - 1,
            missing: (data_type != DataType::Numeric(Some((10, -2)))).then(|| [120].into()),
            ..Column::new(number, name, data_type)
        };
        let part = IndexColumn { column: 1, descending: true, nulls_first: true };
        let key = ForeignKey {
            id: ObjectId(5),
            name: "fk".to_string(),
            columns: vec![1],
            referenced_table: ObjectId(7),
            referenced_columns: vec![0],
            on_delete: ReferentialAction::Cascade,
            set_on_delete: vec![1],
            full: true,
            on_update: ReferentialAction::SetDefault,
            deferral: Deferral::Deferred,
            valid: false,
        };
        Table {
            id: ObjectId(7),
            schema: ObjectId(3),
            name: "t".to_string(),
            columns: vec![
                column(1, "a", DataType::Numeric(Some((10, -2)))),
                column(4, "b", DataType::Varchar(Some(300))),
            ],
            tree: TreeId(1000),
            primary_key: vec![1, 0],
            primary_key_name: Some("t_pkey".to_string()),
            primary_key_included: vec![1],
            primary_key_id: ObjectId(6),
            indexes: vec![Arc::new(Index {
                id: ObjectId(8),
                name: "i".to_string(),
                tree: TreeId(1001),
                columns: vec![part, IndexColumn { column: EXPRESSIONS + 2, ..part }],
                unique: true,
                nulls_equal: true,
                constraint: true,
                expressions: vec![KeyExpression {
                    column: EXPRESSIONS + 2,
                    data_type: DataType::Text,
                    expression: RowExpression { definition: "lower(b)".into(), columns: vec![4] },
                }],
                included: vec![1],
                deferral: Deferral::Deferred,
                primary: true,
                inverted: Some(crate::catalog::Inverted {
                    classes: vec![ItemClass::JsonbPath, ItemClass::Array],
                    ..crate::catalog::Inverted::default()
                }),
                predicate: Some(RowExpression { definition: "a > 0".into(), columns: vec![1] }),
            })],
            checks: vec![Check {
                id: ObjectId(4),
                name: "c".to_string(),
                condition: "a > 0".into(),
                columns: vec![1],
                valid: false,
            }],
            foreign_keys: vec![key],
            referenced_by: Vec::new(),
            layout_version: 3,
            dropped: vec![DroppedColumn { number: 2, data_type: DataType::Text, since: 0, until: 2 }],
            columns_made: 4,
            change: 5,
            analyzed: 0,
            statistics: None,
            live: Arc::default(),
            on_commit: OnCommit::DeleteRows,
            materialized: Some(Materialized {
                query: Definition { text: "SELECT a, b FROM u".to_string(), references: Some(Vec::new()) },
                is_populated: true,
                maintained: Some(Maintained::ByFollower),
                stopped: Some("division by zero".to_owned()),
            }),
            is_face: false,
            feed: Some(crate::catalog::Feed { tree: TreeId(1002), schema: 2 }),
            views: vec![ObjectId(31), ObjectId(70_000)],
            of_groups: false,
            triggers: vec![Arc::new(Trigger {
                id: ObjectId(11),
                name: "tr".to_string(),
                routine: ObjectId(12),
                timing: Timing::InsteadOf,
                per_row: true,
                events: vec![TriggerEvent::Truncate, TriggerEvent::Insert],
                columns: vec![4],
                when: Some("new.a > 0".to_string()),
                known: vec![KnownColumn { number: 1, name: "a".to_string(), used: true }],
                args: vec!["x".to_string(), String::new()],
                enabled: Enabled::Always,
                old_table: Some("was".to_string()),
                new_table: Some("is".to_string()),
                deferral: Some(Deferral::Immediate),
            })],
        }
    }

    #[test]
    fn a_table_comes_back_as_it_was() {
        let table = table();
        let back = decode_table(table.id, &encode_table(&table, 5), &Types::default()).unwrap();
        assert_eq!(format!("{back:?}"), format!("{table:?}"));
    }

    #[test]
    fn damaged_entries_are_errors_or_other_entries_but_never_panics() {
        let bytes = encode_table(&table(), 5);
        for length in 0..bytes.len() {
            let _ = decode_table(ObjectId(7), &bytes[..length], &Types::default());
        }
        let mut refused = 0;
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut flipped = bytes.clone();
                flipped[at] ^= 1 << bit;
                refused += u32::from(decode_table(ObjectId(7), &flipped, &Types::default()).is_err());
                let _ = decode_view(ObjectId(7), &flipped);
                let _ = decode_sequence(ObjectId(7), &flipped);
            }
        }
        assert!(refused > 0, "some flips must be noticed");
    }

    #[test]
    fn entries_of_an_older_format_are_refused() {
        let (id, schema, name) = (ObjectId(1), ObjectId(2), "v".to_string());
        let view = View { query: "SELECT 1".into(), change: 5, ..View::new(id, schema, name) };
        let mut bytes = encode_view(&view, 5);
        bytes[0] = 1;
        let error = decode_view(ObjectId(1), &bytes).unwrap_err();
        assert_eq!(error.sqlstate(), crate::SqlState::FEATURE_NOT_SUPPORTED);
        assert!(error.to_string().contains("format 1"), "{error}");
    }

    #[test]
    fn fields_of_a_later_version_are_skipped() {
        let sequence = Sequence {
            id: ObjectId(1),
            schema: ObjectId(4),
            name: "s".to_string(),
            data_type: DataType::SmallInt,
            restarted: Some(-7),
            start: -5,
            increment: -1,
            min: i64::MIN,
            max: -1,
            cycle: true,
            owner: Some((ObjectId(3), 2)),
            generation: 77,
            change: 5,
        };
        let mut bytes = encode_sequence(&sequence, 5);
        bytes.extend_from_slice(&[200, 2, 1, 2]);
        assert_eq!(format!("{:?}", decode_sequence(ObjectId(1), &bytes).unwrap()), format!("{sequence:?}"));
        bytes[0] = 99;
        assert_eq!(decode_sequence(ObjectId(1), &bytes).unwrap_err().sqlstate(), crate::SqlState::DATA_CORRUPTED);
    }
}
