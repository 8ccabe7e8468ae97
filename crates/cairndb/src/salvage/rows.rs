//! Rows that can not be rows of their table are taken out of it.

use std::ops::Bound;
use std::sync::Arc;

use cairn_storage::Store;

use super::uncertain::UncertainRows;
use crate::catalog::{Catalog, Table};
use crate::dml::Target;
use crate::dml::row::{Env, Rules, Stop};
use crate::exec::ExecContext;
use crate::{Error, Result, Value};

/// Rows taken out by one transaction.
const STEP: usize = 1000;

/// Takes out rows that do not decode, or that violate NOT NULL or a CHECK constraint.
pub(super) fn check(
    store: &Store,
    catalog: &Catalog,
    table: &Arc<Table>,
    context: &ExecContext,
    apart: &mut UncertainRows<'_>,
) -> Result<()> {
    // What never had to hold for all rows takes none out.
    let mut holding = Table::clone(table);
    holding.checks.retain(|check| check.valid);
    let table = &Arc::new(holding);
    // A condition that no longer binds can not be checked; it is told when the table is written to.
    let target = Target::new(table, catalog).or_else(|_| {
        let unchecked = Table { checks: Vec::new(), foreign_keys: Vec::new(), ..Table::clone(table) };
        Target::new(&Arc::new(unchecked), catalog)
    })?;
    let rules = Rules::of_row(&Arc::new(target));
    let mut wrong = Vec::new();
    let mut cursor = context.reader.cursor(table.tree, Bound::Unbounded, Bound::Unbounded)?;
    while let Some((key, value)) = cursor.next()? {
        let Some(why) = what_is_wrong(&rules, key, value, context) else { continue };
        apart.push(table, key, value, &why, None)?;
        wrong.push(key.to_vec());
        if wrong.len() >= STEP {
            remove(store, table, &mut wrong)?;
        }
    }
    remove(store, table, &mut wrong)
}

fn what_is_wrong(rules: &Rules, key: &[u8], value: &[u8], context: &ExecContext) -> Option<String> {
    let target = &rules.target;
    let row = match target.layout.decode(key, value) {
        Ok(row) => row,
        Err(error) => return Some(error.message().to_string()),
    };
    if !is_keyed(target, key, &row) {
        return Some("its key is another row's".to_string());
    }
    match rules.check(&row.as_slice(), Env::of(context)) {
        Err(Stop::Violation(violation)) => {
            Some(violation.worded(target, &row.as_slice(), Env::of(context)).message().to_string())
        }
        _ => None,
    }
}

fn is_keyed(target: &Target, key: &[u8], row: &[Value]) -> bool {
    if target.layout.has_row_numbers() {
        return key.len() == 8;
    }
    let mut expected = Vec::new();
    target.layout.encode_key(row, &mut expected);
    expected == key
}

fn remove(store: &Store, table: &Table, keys: &mut Vec<Vec<u8>>) -> Result<()> {
    if keys.is_empty() {
        return Ok(());
    }
    let transaction = store.begin()?;
    keys.drain(..).try_for_each(|key| transaction.delete(table.tree, &key).map(drop))?;
    transaction.commit(None).map_err(Error::from)
}
