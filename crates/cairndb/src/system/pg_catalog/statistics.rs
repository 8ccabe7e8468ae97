//! Statistics: what the database counts of itself. What it does not count is NULL.

use super::rows::oid;
use super::{Made, SystemRelation, asked};
use crate::Value;
use crate::catalog::RelationKind::View;
use crate::catalog::{Catalog, ObjectId};
use crate::system::Rows;
use crate::system::describe::indexes;
use crate::system::{schema_name, text};
use crate::types::DataType::{self, BigInt, Boolean, Double, Integer, Name, Oid, Real, SmallInt, Text};
use crate::types::{Array, ElementType, EvalContext, to_text};

const MOMENT: DataType = DataType::TIMESTAMPTZ;
const SPAN: DataType = DataType::INTERVAL;
const REALS: DataType = DataType::Array(ElementType::REAL);

pub(in crate::system) const RELATIONS: &[SystemRelation] = &[
    SystemRelation {
        name: "pg_locks",
        kind: View,
        columns: &[
            ("locktype", Text),
            ("database", Oid),
            ("relation", Oid),
            ("page", Integer),
            ("tuple", SmallInt),
            ("virtualxid", Text),
            ("transactionid", BigInt),
            ("classid", Oid),
            ("objid", Oid),
            ("objsubid", SmallInt),
            ("virtualtransaction", Text),
            ("pid", Integer),
            ("mode", Text),
            ("granted", Boolean),
            ("fastpath", Boolean),
            ("waitstart", MOMENT),
        ],
        made: Made::Function(&asked::LOCKS),
    },
    SystemRelation {
        name: "pg_stat_activity",
        kind: View,
        columns: &[
            ("datid", Oid),
            ("datname", Name),
            ("pid", Integer),
            ("leader_pid", Integer),
            ("usesysid", Oid),
            ("usename", Name),
            ("application_name", Text),
            ("client_addr", Text),
            ("client_hostname", Text),
            ("client_port", Integer),
            ("backend_start", MOMENT),
            ("xact_start", MOMENT),
            ("query_start", MOMENT),
            ("state_change", MOMENT),
            ("wait_event_type", Text),
            ("wait_event", Text),
            ("state", Text),
            ("backend_xid", BigInt),
            ("backend_xmin", BigInt),
            ("query_id", BigInt),
            ("query", Text),
            ("backend_type", Text),
        ],
        made: Made::Function(&asked::ACTIVITY),
    },
    SystemRelation {
        name: "pg_stat_database",
        kind: View,
        columns: &[
            ("datid", Oid),
            ("datname", Name),
            ("numbackends", Integer),
            ("xact_commit", BigInt),
            ("xact_rollback", BigInt),
            ("blks_read", BigInt),
            ("blks_hit", BigInt),
            ("tup_returned", BigInt),
            ("tup_fetched", BigInt),
            ("tup_inserted", BigInt),
            ("tup_updated", BigInt),
            ("tup_deleted", BigInt),
            ("conflicts", BigInt),
            ("temp_files", BigInt),
            ("temp_bytes", BigInt),
            ("deadlocks", BigInt),
            ("checksum_failures", BigInt),
            ("checksum_last_failure", MOMENT),
            ("blk_read_time", Double),
            ("blk_write_time", Double),
            ("session_time", Double),
            ("active_time", Double),
            ("idle_in_transaction_time", Double),
            ("sessions", BigInt),
            ("sessions_abandoned", BigInt),
            ("sessions_fatal", BigInt),
            ("sessions_killed", BigInt),
            ("stats_reset", MOMENT),
        ],
        made: Made::Function(&asked::DATABASE),
    },
    SystemRelation {
        name: "pg_stat_all_tables",
        kind: View,
        columns: &[
            ("relid", Oid),
            ("schemaname", Name),
            ("relname", Name),
            ("seq_scan", BigInt),
            ("seq_tup_read", BigInt),
            ("idx_scan", BigInt),
            ("idx_tup_fetch", BigInt),
            ("n_tup_ins", BigInt),
            ("n_tup_upd", BigInt),
            ("n_tup_del", BigInt),
            ("n_tup_hot_upd", BigInt),
            ("n_live_tup", BigInt),
            ("n_dead_tup", BigInt),
            ("n_mod_since_analyze", BigInt),
            ("n_ins_since_vacuum", BigInt),
            ("last_vacuum", MOMENT),
            ("last_autovacuum", MOMENT),
            ("last_analyze", MOMENT),
            ("last_autoanalyze", MOMENT),
            ("vacuum_count", BigInt),
            ("autovacuum_count", BigInt),
            ("analyze_count", BigInt),
            ("autoanalyze_count", BigInt),
        ],
        made: Made::Rows(all_tables),
    },
    SystemRelation {
        name: "pg_stat_user_tables",
        kind: View,
        columns: &[
            ("relid", Oid),
            ("schemaname", Name),
            ("relname", Name),
            ("seq_scan", BigInt),
            ("seq_tup_read", BigInt),
            ("idx_scan", BigInt),
            ("idx_tup_fetch", BigInt),
            ("n_tup_ins", BigInt),
            ("n_tup_upd", BigInt),
            ("n_tup_del", BigInt),
            ("n_tup_hot_upd", BigInt),
            ("n_live_tup", BigInt),
            ("n_dead_tup", BigInt),
            ("n_mod_since_analyze", BigInt),
            ("n_ins_since_vacuum", BigInt),
            ("last_vacuum", MOMENT),
            ("last_autovacuum", MOMENT),
            ("last_analyze", MOMENT),
            ("last_autoanalyze", MOMENT),
            ("vacuum_count", BigInt),
            ("autovacuum_count", BigInt),
            ("analyze_count", BigInt),
            ("autoanalyze_count", BigInt),
        ],
        made: Made::Rows(all_tables),
    },
    SystemRelation {
        name: "pg_stat_sys_tables",
        kind: View,
        columns: &[
            ("relid", Oid),
            ("schemaname", Name),
            ("relname", Name),
            ("seq_scan", BigInt),
            ("seq_tup_read", BigInt),
            ("idx_scan", BigInt),
            ("idx_tup_fetch", BigInt),
            ("n_tup_ins", BigInt),
            ("n_tup_upd", BigInt),
            ("n_tup_del", BigInt),
            ("n_tup_hot_upd", BigInt),
            ("n_live_tup", BigInt),
            ("n_dead_tup", BigInt),
            ("n_mod_since_analyze", BigInt),
            ("n_ins_since_vacuum", BigInt),
            ("last_vacuum", MOMENT),
            ("last_autovacuum", MOMENT),
            ("last_analyze", MOMENT),
            ("last_autoanalyze", MOMENT),
            ("vacuum_count", BigInt),
            ("autovacuum_count", BigInt),
            ("analyze_count", BigInt),
            ("autoanalyze_count", BigInt),
        ],
        made: Made::Nothing,
    },
    SystemRelation {
        name: "pg_statio_all_tables",
        kind: View,
        columns: &[
            ("relid", Oid),
            ("schemaname", Name),
            ("relname", Name),
            ("heap_blks_read", BigInt),
            ("heap_blks_hit", BigInt),
            ("idx_blks_read", BigInt),
            ("idx_blks_hit", BigInt),
            ("toast_blks_read", BigInt),
            ("toast_blks_hit", BigInt),
            ("tidx_blks_read", BigInt),
            ("tidx_blks_hit", BigInt),
        ],
        made: Made::Rows(all_tables_blocks),
    },
    SystemRelation {
        name: "pg_statio_user_tables",
        kind: View,
        columns: &[
            ("relid", Oid),
            ("schemaname", Name),
            ("relname", Name),
            ("heap_blks_read", BigInt),
            ("heap_blks_hit", BigInt),
            ("idx_blks_read", BigInt),
            ("idx_blks_hit", BigInt),
            ("toast_blks_read", BigInt),
            ("toast_blks_hit", BigInt),
            ("tidx_blks_read", BigInt),
            ("tidx_blks_hit", BigInt),
        ],
        made: Made::Rows(all_tables_blocks),
    },
    SystemRelation {
        name: "pg_stat_all_indexes",
        kind: View,
        columns: &[
            ("relid", Oid),
            ("indexrelid", Oid),
            ("schemaname", Name),
            ("relname", Name),
            ("indexrelname", Name),
            ("idx_scan", BigInt),
            ("idx_tup_read", BigInt),
            ("idx_tup_fetch", BigInt),
        ],
        made: Made::Rows(all_indexes),
    },
    SystemRelation {
        name: "pg_stat_user_indexes",
        kind: View,
        columns: &[
            ("relid", Oid),
            ("indexrelid", Oid),
            ("schemaname", Name),
            ("relname", Name),
            ("indexrelname", Name),
            ("idx_scan", BigInt),
            ("idx_tup_read", BigInt),
            ("idx_tup_fetch", BigInt),
        ],
        made: Made::Rows(all_indexes),
    },
    SystemRelation {
        name: "pg_statio_all_indexes",
        kind: View,
        columns: &[
            ("relid", Oid),
            ("indexrelid", Oid),
            ("schemaname", Name),
            ("relname", Name),
            ("indexrelname", Name),
            ("idx_blks_read", BigInt),
            ("idx_blks_hit", BigInt),
        ],
        made: Made::Rows(all_indexes),
    },
    SystemRelation {
        name: "pg_statio_user_indexes",
        kind: View,
        columns: &[
            ("relid", Oid),
            ("indexrelid", Oid),
            ("schemaname", Name),
            ("relname", Name),
            ("indexrelname", Name),
            ("idx_blks_read", BigInt),
            ("idx_blks_hit", BigInt),
        ],
        made: Made::Rows(all_indexes),
    },
    SystemRelation {
        name: "pg_statio_all_sequences",
        kind: View,
        columns: &[
            ("relid", Oid),
            ("schemaname", Name),
            ("relname", Name),
            ("blks_read", BigInt),
            ("blks_hit", BigInt),
        ],
        made: Made::Rows(all_sequences),
    },
    SystemRelation {
        name: "pg_statio_user_sequences",
        kind: View,
        columns: &[
            ("relid", Oid),
            ("schemaname", Name),
            ("relname", Name),
            ("blks_read", BigInt),
            ("blks_hit", BigInt),
        ],
        made: Made::Rows(all_sequences),
    },
    SystemRelation {
        name: "pg_stat_progress_create_index",
        kind: View,
        columns: &[
            ("pid", Integer),
            ("datid", Oid),
            ("datname", Name),
            ("relid", Oid),
            ("index_relid", Oid),
            ("command", Text),
            ("phase", Text),
            ("lockers_total", BigInt),
            ("lockers_done", BigInt),
            ("current_locker_pid", BigInt),
            ("blocks_total", BigInt),
            ("blocks_done", BigInt),
            ("tuples_total", BigInt),
            ("tuples_done", BigInt),
            ("partitions_total", BigInt),
            ("partitions_done", BigInt),
        ],
        made: Made::Function(&asked::BUILDS),
    },
    SystemRelation {
        name: "pg_cursors",
        kind: View,
        columns: &[
            ("name", Text),
            ("statement", Text),
            ("is_holdable", Boolean),
            ("is_binary", Boolean),
            ("is_scrollable", Boolean),
            ("creation_time", MOMENT),
        ],
        made: Made::Function(&asked::CURSORS),
    },
    SystemRelation {
        name: "pg_prepared_statements",
        kind: View,
        columns: &[
            ("name", Text),
            ("statement", Text),
            ("prepare_time", MOMENT),
            ("parameter_types", DataType::Array(ElementType::TEXT)),
            ("from_sql", Boolean),
            ("generic_plans", BigInt),
            ("custom_plans", BigInt),
        ],
        made: Made::Function(&asked::PREPARED),
    },
    SystemRelation {
        name: "pg_timezone_names",
        kind: View,
        columns: &[("name", Text), ("abbrev", Text), ("utc_offset", SPAN), ("is_dst", Boolean)],
        made: Made::Function(&asked::ZONES),
    },
    SystemRelation {
        name: "pg_timezone_abbrevs",
        kind: View,
        columns: &[("abbrev", Text), ("utc_offset", SPAN), ("is_dst", Boolean)],
        made: Made::Function(&asked::ABBREVIATIONS),
    },
    // Values of any type have no type of their own here: they are texts of arrays.
    SystemRelation {
        name: "pg_stats",
        kind: View,
        columns: &[
            ("schemaname", Name),
            ("tablename", Name),
            ("attname", Name),
            ("inherited", Boolean),
            ("null_frac", Real),
            ("avg_width", Integer),
            ("n_distinct", Real),
            ("most_common_vals", Text),
            ("most_common_freqs", REALS),
            ("histogram_bounds", Text),
            ("correlation", Real),
            ("most_common_elems", Text),
            ("most_common_elem_freqs", REALS),
            ("elem_count_histogram", REALS),
        ],
        made: Made::Rows(of_columns),
    },
];

/// How many different values there may be, as a share of the rows, before they are taken to become more with the rows.
const GROWING: f64 = 0.1;

fn of_columns(catalog: &Catalog, rows: &mut Rows) {
    for table in rows.tables(catalog) {
        let Some(statistics) = &table.statistics else { continue };
        for (column, of) in table.columns.iter().zip(&statistics.columns) {
            let distinct = match of.distinct > GROWING * statistics.rows {
                true => -of.distinct / statistics.rows.max(1.0),
                false => of.distinct,
            };
            let mut row = vec![
                ("schemaname", schema_name(catalog, table.schema)),
                ("tablename", text(&table.name)),
                ("attname", text(&column.name)),
                ("inherited", Value::Boolean(false)),
                ("null_frac", Value::Real(of.null_fraction as f32)),
                ("avg_width", Value::Integer(of.average_width.round() as i32)),
                ("n_distinct", Value::Real(distinct as f32)),
            ];
            if !of.most_common.is_empty() {
                let values = listed(column.data_type, of.most_common.iter().map(|(value, _)| value));
                let shares = of.most_common.iter().map(|(_, share)| Value::Real(*share as f32)).collect();
                row.extend([("most_common_vals", values), ("most_common_freqs", Array::new(Real, shares).into())]);
            }
            if !of.histogram.is_empty() {
                row.push(("histogram_bounds", listed(column.data_type, of.histogram.iter())));
            }
            rows.put_known(row);
        }
    }
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

fn all_tables(catalog: &Catalog, rows: &mut Rows) {
    for table in rows.tables(catalog) {
        let mut row = said(catalog, table.id, table.schema, &table.name);
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
    for table in rows.tables(catalog) {
        for index in indexes(table) {
            let mut row = said(catalog, table.id, table.schema, &table.name);
            row.extend([("indexrelid", oid(index.id)), ("indexrelname", text(index.name))]);
            rows.put_known(row);
        }
    }
}

fn all_sequences(catalog: &Catalog, rows: &mut Rows) {
    for of in catalog.sequences() {
        rows.put_known(said(catalog, of.id, of.schema, &of.name));
    }
}
