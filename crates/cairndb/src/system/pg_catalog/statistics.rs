//! Statistics: what the database counts of itself. What it does not count is NULL.

use std::collections::HashMap;

use super::Made;
use super::rows::{expression_name, oid};
use crate::Value;
use crate::catalog::{Catalog, ColumnStatistics, EXPRESSIONS, ObjectId};
use crate::system::Rows;
use crate::system::{asked, served};
use crate::system::{schema_name, text};
use crate::types::DataType::{self, Real, Text};
use crate::types::{Array, EvalContext, Uses, to_text};

/// What makes the rows of statistics. (In `pg_stats` values of any type are texts of arrays: they have no type of their own here.)
pub(in crate::system) const STATISTICS: &[(&str, Made)] = &[
    ("pg_locks", Made::Function(&asked::LOCKS)),
    ("pg_stat_activity", Made::Served(&served::ACTIVITY)),
    ("pg_stat_database", Made::Served(&served::COUNTED)),
    ("pg_stat_statements", Made::Served(&served::STATEMENTS)),
    ("pg_stat_all_tables", Made::Counted(all_tables)),
    ("pg_stat_user_tables", Made::Counted(all_tables)),
    ("pg_statio_all_tables", Made::Rows(all_tables_blocks)),
    ("pg_statio_user_tables", Made::Rows(all_tables_blocks)),
    ("pg_stat_all_indexes", Made::Counted(all_indexes)),
    ("pg_stat_user_indexes", Made::Counted(all_indexes)),
    ("pg_statio_all_indexes", Made::Rows(all_indexes_blocks)),
    ("pg_statio_user_indexes", Made::Rows(all_indexes_blocks)),
    ("pg_statio_all_sequences", Made::Rows(all_sequences)),
    ("pg_statio_user_sequences", Made::Rows(all_sequences)),
    ("pg_stat_progress_create_index", Made::Function(&asked::BUILDS)),
    ("pg_cursors", Made::Function(&asked::CURSORS)),
    ("pg_prepared_statements", Made::Function(&asked::PREPARED)),
    ("pg_timezone_names", Made::Function(&asked::ZONES)),
    ("pg_timezone_abbrevs", Made::Function(&asked::ABBREVIATIONS)),
    ("pg_stats", Made::Rows(of_columns)),
];

/// How many different values there may be, as a share of the rows, before they are taken to become more with the rows.
const GROWING: f64 = 0.1;

fn of_columns(catalog: &Catalog, rows: &mut Rows) {
    for table in rows.tables(catalog) {
        let Some(statistics) = &table.statistics else { continue };
        let schema = schema_name(catalog, table.schema);
        let mut put = |relation: &str, name: &str, of: (&ColumnStatistics, DataType)| {
            let named = [("schemaname", schema.clone()), ("tablename", text(relation)), ("attname", text(name))];
            rows.put_known(named.into_iter().chain(found(of, statistics.rows)).collect());
        };
        for (column, of) in table.columns.iter().zip(&statistics.columns) {
            put(&table.name, &column.name, (of, column.data_type));
        }
        for index in &table.indexes {
            for (at, part) in (1..).zip(index.positions()).filter(|(_, part)| *part >= EXPRESSIONS) {
                if let Some(of) = table.key_statistics(part, statistics) {
                    put(&index.name, &expression_name(at), of);
                }
            }
        }
    }
}

/// What was found of a column's values, of a table of so many rows.
fn found((of, data_type): (&ColumnStatistics, DataType), rows: f64) -> Vec<(&'static str, Value)> {
    let distinct = match of.distinct > GROWING * rows {
        true => -of.distinct / rows.max(1.0),
        false => of.distinct,
    };
    let mut found = vec![
        ("inherited", Value::Boolean(false)),
        ("null_frac", Value::Real(of.null_fraction as f32)),
        ("avg_width", Value::Integer(of.average_width.round() as i32)),
        ("n_distinct", Value::Real(distinct as f32)),
    ];
    if !of.most_common.is_empty() {
        let values = listed(data_type, of.most_common.iter().map(|(value, _)| value));
        let shares = of.most_common.iter().map(|(_, share)| Value::Real(*share as f32)).collect();
        found.extend([("most_common_vals", values), ("most_common_freqs", Array::new(Real, shares).into())]);
    }
    if !of.histogram.is_empty() {
        found.push(("histogram_bounds", listed(data_type, of.histogram.iter())));
    }
    found
}

/// The values as the text of an array.
fn listed<'a>(data_type: DataType, values: impl Iterator<Item = &'a Value>) -> Value {
    // An array's elements are no arrays: those are shown as their texts.
    let context = EvalContext::now();
    let array = match data_type.is_array() {
        true => Array::new(Text, values.map(|value| Value::text(to_text(value, &context))).collect()),
        false => Array::new(data_type, values.cloned().collect()),
    };
    Value::text(to_text(&array.into(), &context))
}

/// What all of these relations say of a relation.
fn said(catalog: &Catalog, id: ObjectId, schema: ObjectId, name: &str) -> Vec<(&'static str, Value)> {
    vec![("relid", oid(id)), ("schemaname", schema_name(catalog, schema)), ("relname", text(name))]
}

/// How often tables and indexes were used since the database was opened; what is a session's own is not counted.
struct Counted(Option<HashMap<ObjectId, Uses>>);

impl Counted {
    fn of(rows: &Rows) -> Counted {
        Counted(rows.uses())
    }

    fn of_all(&self, ids: impl IntoIterator<Item = ObjectId>) -> Option<Uses> {
        let counted = self.0.as_ref()?;
        let mut all = Uses::default();
        for id in ids {
            if id.is_temporary() {
                return None;
            }
            all += counted.get(&id).copied().unwrap_or_default();
        }
        Some(all)
    }
}

fn number(uses: Option<Uses>, of: fn(Uses) -> u64) -> Value {
    uses.map_or(Value::Null, |uses| Value::BigInt(of(uses).cast_signed()))
}

fn all_tables(catalog: &Catalog, rows: &mut Rows) {
    let uses = Counted::of(rows);
    for table in rows.tables(catalog) {
        let mut row = said(catalog, table.id, table.schema, &table.name);
        let whole = uses.of_all([table.id]);
        row.extend([("seq_scan", number(whole, |of| of.scans)), ("seq_tup_read", number(whole, |of| of.read))]);
        // As in PostgreSQL, NULL where there is no index.
        let by_index = uses.of_all(table.all_indexes().map(|index| index.id));
        let by_index = by_index.filter(|_| table.all_indexes().next().is_some());
        row.extend([
            ("idx_scan", number(by_index, |of| of.scans)),
            ("idx_tup_fetch", number(by_index, |of| of.fetched)),
        ]);
        let counted = table.statistics.as_ref().map_or(0, |of| of.rows as i64);
        // What is overwritten or deleted leaves nothing behind.
        row.extend([("n_live_tup", Value::BigInt(counted)), ("n_dead_tup", Value::BigInt(0))]);
        rows.put_known(row);
    }
}

fn all_tables_blocks(catalog: &Catalog, rows: &mut Rows) {
    for table in rows.tables(catalog) {
        rows.put_known(said(catalog, table.id, table.schema, &table.name));
    }
}

fn all_indexes(catalog: &Catalog, rows: &mut Rows) {
    let counted = Counted::of(rows);
    for table in rows.tables(catalog) {
        for index in table.all_indexes() {
            let mut row = said(catalog, table.id, table.schema, &table.name);
            row.extend([("indexrelid", oid(index.id)), ("indexrelname", text(&index.name))]);
            let uses = counted.of_all([index.id]);
            row.extend([("idx_scan", number(uses, |of| of.scans)), ("idx_tup_read", number(uses, |of| of.read))]);
            row.push(("idx_tup_fetch", number(uses, |of| of.fetched)));
            rows.put_known(row);
        }
    }
}

fn all_indexes_blocks(catalog: &Catalog, rows: &mut Rows) {
    for table in rows.tables(catalog) {
        for index in table.all_indexes() {
            let mut row = said(catalog, table.id, table.schema, &table.name);
            row.extend([("indexrelid", oid(index.id)), ("indexrelname", text(&index.name))]);
            rows.put_known(row);
        }
    }
}

fn all_sequences(catalog: &Catalog, rows: &mut Rows) {
    for of in catalog.sequences() {
        rows.put_known(said(catalog, of.id, of.schema, &of.name));
    }
}
