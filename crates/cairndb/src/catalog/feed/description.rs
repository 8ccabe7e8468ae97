//! What a feed's entries are read by: the table as it was described when they were written.
//!
//! It lies in the feed's own tree, under position 0 and its number, as a catalog entry of the table without all that rows are
//! not read by. It stays for as long as the feed does: tables are not altered often.

use cairn_storage::AppendKey;

use super::{EntryKind, write_entry};
use crate::Result;
use crate::catalog::entries::encode_described;
use crate::catalog::store::decode_described;
use crate::catalog::{Feed, Table};
use crate::state::Transaction;

/// Sees to it that the feed has a description of the table as it is now; the feed with its number. Tells of it in the feed,
/// where it is another.
pub(crate) fn put_description(tx: &Transaction, table: &Table, feed: Feed) -> Result<Feed> {
    let now = encode_described(table);
    let mut feed = feed;
    let at = |schema| AppendKey::new(0, schema);
    let mut known = tx.reader().get(feed.tree, at(feed.schema).bytes())?;
    // Who altered the table before, in the same statement, may not know the number.
    while let Some(later) = tx.reader().get(feed.tree, at(feed.schema + 1).bytes())? {
        (known, feed.schema) = (Some(later), feed.schema + 1);
    }
    if known.as_deref() == Some(&now[..]) {
        return Ok(feed);
    }
    let kind = if known.is_none() { EntryKind::Begun } else { EntryKind::Altered };
    feed.schema += 1;
    tx.put(feed.tree, at(feed.schema).bytes(), &now)?;
    let mut entry = Vec::new();
    write_entry(kind, feed.schema, None, None, &mut entry);
    tx.append(feed.tree, &entry)?;
    Ok(feed)
}

/// The table as a description says; `None`: there is none of this number.
pub(crate) fn description(
    reader: &cairn_storage::Reader,
    feed: cairn_storage::TreeId,
    schema: u32,
) -> Result<Option<Table>> {
    let bytes = reader.get(feed, AppendKey::new(0, schema).bytes())?;
    bytes.map(|bytes| decode_described(reader, &bytes)).transpose()
}
