//! DELETE of all rows of a large table: its trees are replaced by empty ones, as TRUNCATE does it, and the old ones freed behind it.
//!
//! Only where nobody looks at the rows: nothing is returned, no trigger, foreign key, change feed or materialized view asks for them, and
//! the statement is a transaction of its own, so that no other statement of that is planned anew. Small tables go row by row: others' plans
//! of a table are made anew when its trees are others, and a transaction that has written to it meanwhile is to begin again (SQLSTATE
//! 40001), also where it only inserted.

use std::ops::Bound;
use std::sync::Arc;

use cairn_parser::token::quoted;

use super::{Executed, State, tag_of};
use crate::Result;
use crate::catalog::{Table, TableKind};
use crate::exec::ExecContext;
use crate::plan::{ModificationKind, ModifiedRows, PhysicalNode, PhysicalPlan};
use crate::session::Session;
use crate::sql::{ParsedStatement, parse_one};
use crate::state::{Reader, Transaction};
use crate::types::{ExecutionUses, Uses};

/// Leaves from which on a table is large: some 5,000 rows of 100 bytes.
const LARGE: usize = 64;

/// Entries that are counted between two looks at what stops the statement.
const AT_ONCE: usize = 1 << 20;

impl Session {
    /// `None`: it is to go row by row.
    pub(super) fn delete_all(
        &self,
        tx: &Transaction,
        (statement, plan): (&ParsedStatement, &PhysicalPlan),
        (state, context): (&State<'_>, &ExecContext),
    ) -> Result<Option<Executed>> {
        let Some(table) = emptied(plan).filter(|_| state.started.is_none()) else { return Ok(None) };
        let schema = state.catalog.schema_name(table.schema);
        let (Some(schema), true) = (schema, is_large(table, state.reader)?) else { return Ok(None) };
        let affected = count(table, state.reader, context)?;
        let uses = Uses { scans: 1, read: affected, fetched: affected };
        ExecutionUses::of(context.uses.clone()).note(table.used_whole(), uses);
        let truncate = format!("TRUNCATE {}.{}", quoted(schema), quoted(&table.name));
        self.change_schema(tx, (&Arc::new(parse_one(&truncate)?), &()), state)?;
        Ok(Some(Executed { tag: tag_of(statement.syntax()), affected, rows: None }))
    }
}

/// The table that the plan deletes every row of, if nobody looks at them.
fn emptied(plan: &PhysicalPlan) -> Option<&Table> {
    let PhysicalNode::Modify { change, rows: ModifiedRows::Plan(rows) } = &plan.node else { return None };
    let PhysicalNode::TableScan { table: scanned, ranges, filter: None, .. } = &rows.node else { return None };
    let table = &change.table;
    let is_all = matches!(change.kind, ModificationKind::Delete)
        && change.returning.is_none()
        && change.view_checks.is_empty()
        && scanned.id == table.id
        && ranges.iter().all(|range| range.is_whole());
    let is_looked_at = !table.triggers.is_empty()
        || !table.referenced_by.is_empty()
        || !table.views.is_empty()
        || table.feed.is_some()
        || table.is_collection
        || table.id.is_temporary();
    (is_all && !is_looked_at && matches!(table.kind, TableKind::Table)).then_some(table)
}

fn is_large(table: &Table, reader: &Reader) -> Result<bool> {
    let shape = reader.tree_shape(table.tree)?;
    Ok(shape.level > 1 || shape.level == 1 && shape.fan_out >= LARGE)
}

fn count(table: &Table, reader: &Reader, context: &ExecContext) -> Result<u64> {
    let mut cursor = reader.cursor(table.tree, Bound::Unbounded, Bound::Unbounded)?;
    let (mut rows, mut looked) = (0, 0);
    while let Some(more) = cursor.next_entries(usize::MAX, |entries| (entries.len(), entries.len()))? {
        rows += more as u64;
        looked += more;
        if looked >= AT_ONCE {
            context.check()?;
            looked = 0;
        }
    }
    Ok(rows)
}
