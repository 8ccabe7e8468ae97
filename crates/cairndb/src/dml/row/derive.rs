//! What a row's change leaves behind besides the row: its entry in the table's change feed, and what it counts for in the
//! materialized views that commits keep.

use super::{Stop, Target, Trees};
use crate::change_feed::{EntryKind, write_entry};

/// A key and a row as the table's tree has them.
pub(super) type Raw<'a> = (&'a [u8], &'a [u8]);

/// A row was inserted, changed or deleted.
#[inline]
pub(super) fn derive(
    trees: &mut dyn Trees,
    target: &Target,
    old: Option<Raw<'_>>,
    new: Option<Raw<'_>>,
) -> Result<(), Stop> {
    if let Some(feed) = target.table.feed {
        let kind = match (old, new) {
            (None, _) => EntryKind::Insert,
            (_, None) => EntryKind::Delete,
            _ => EntryKind::Update,
        };
        let mut entry = Vec::new();
        write_entry(kind, feed.schema, old, new, &mut entry);
        trees.append(feed.tree, &entry)?;
    }
    target.additions.iter().try_for_each(|addition| addition.add(trees, &target.layout, old, new))
}
