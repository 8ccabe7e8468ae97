//! Reading tables: by their own tree, by an index, by one key.

mod both;
mod firsts;
mod index_scan;
mod item_scan;
mod key_range;
mod point_get;
mod row_reader;
mod sieve;
#[cfg(test)]
mod sieve_alike;
mod table_scan;

pub(crate) use both::Both;
pub(crate) use firsts::Firsts;
pub(crate) use index_scan::{EntryReader, IndexScan, of_rows, row_key};
pub(crate) use item_scan::ItemScan;
pub(crate) use key_range::{KeyPart, KeyRanges, encode_prefix};
pub(crate) use point_get::PointGet;
pub(crate) use row_reader::{RowReader, column_type};
pub(crate) use table_scan::{TableScan, keep_true};
