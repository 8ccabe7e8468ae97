//! Entries there and back.

use std::sync::Arc;

use cairn_storage::TreeId;

use super::sequence::{decode_sequence, encode_sequence};
use super::table::{decode_table, encode_table};
use super::view::{decode_view, encode_view};
use crate::catalog::rules::Rules;
use crate::catalog::schema::*;
use crate::catalog::user_types::Types;
use crate::catalog::{Definition, KnownColumn, Reference};
use crate::catalog::{Enabled, Timing, Trigger, TriggerEvent};
use crate::inverted::ItemClass;
use crate::types::DataType;

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
        columns: vec![column(1, "a", DataType::Numeric(Some((10, -2)))), column(4, "b", DataType::Varchar(Some(300)))],
        tree: TreeId(1000),
        primary: Some(Arc::new(Index {
            id: ObjectId(6),
            name: "t_pkey".to_string(),
            included: vec![1],
            ..Index::primary(TreeId(1000), [1, 0])
        })),
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
        kind: TableKind::Materialized(Materialized {
            query: Definition { text: "SELECT a, b FROM u".to_string(), references: Some(Vec::new()) },
            is_populated: true,
            maintained: Some(Maintained::ByFollower),
            stopped: Some("division by zero".to_owned()),
        }),
        feed: Some(crate::catalog::Feed { tree: TreeId(1002), schema: 2 }),
        views: vec![ObjectId(31), ObjectId(70_000)],
        is_collection: true,
        rules: Arc::new(Rules {
            list: Some("true".to_owned()),
            update: Some("old.doc = doc".to_owned()),
            delete: Some("false".to_owned()),
            ..Rules::default()
        }),
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
