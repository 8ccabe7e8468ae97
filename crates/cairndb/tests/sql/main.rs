//! What SQL does here, asked through the public interface: one program of many rooms, so that it is linked once.
//!
//! `cargo test -p cairndb --test sql ROOM::` runs those of one file. Tests that need a process of their own (an allocator, a hook for
//! panics, the clock undisturbed, `fork`) are programs beside it.

mod common;

mod advisory_locks;
mod altered_rows;
mod arrays;
mod basics;
mod bulk_updates;
mod change_feed;
mod chinook;
mod concurrency;
mod constraints;
mod copy;
mod counting;
mod cursors;
mod deferrable_keys;
mod documents;
mod domains;
mod earlier_formats;
mod enums;
mod followed_views;
mod foreign_keys;
mod functions_under_indexes;
mod index_beside;
mod index_build;
mod index_expressions;
mod indexed_questions;
mod insert_batches;
mod insert_constants;
mod inverted_indexes;
mod limits;
mod live_queries;
mod live_statistics;
mod maintained_views;
mod materialized_views;
mod merge;
mod named_parameters;
mod nested_reads;
mod nesting;
mod notifications;
mod optimizer;
mod point;
mod point_paths;
mod point_reads;
mod positions;
mod prepared_again;
mod procedures;
mod results;
mod routines;
mod row_programs;
mod rows;
mod salvage;
mod scans;
mod schema;
mod spilling;
mod stale_reads;
mod subscribe;
mod system_names;
mod temporary_tables;
mod transactions;
mod updatable_views;
mod user_functions;
mod virtual_columns;
mod volatile;
