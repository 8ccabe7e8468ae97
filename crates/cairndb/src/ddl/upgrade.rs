//! Files of earlier libraries are brought up to date when they are opened, in one transaction.
//!
//! Version 2 of the catalog's entries knew the objects in definitions by their names alone. What those names mean is what
//! they mean now, for such a library renamed nothing that a definition used.

use cairn_storage::Store;
use std::sync::Arc;

use crate::Result;
use crate::bind::{resolve_check, resolve_default, resolve_query};
use crate::catalog::{Catalog, CatalogStore, Definition, ObjectId, Table, View, is_up_to_date, load};
use crate::state::Transaction;

/// Does nothing where there is nothing to do.
pub(crate) fn upgrade(store: &Store) -> Result<()> {
    if is_up_to_date(store.snapshot()?.reader())? {
        return Ok(());
    }
    let tx = Transaction::new(store.begin()?, None)?;
    let catalog = load(tx.reader().database())?;
    upgrade_in(&tx, &catalog)?;
    Ok(tx.commit()?)
}

fn upgrade_in(tx: &Transaction, catalog: &Catalog) -> Result<()> {
    let store = CatalogStore::new(tx);
    for table in catalog.tables() {
        store.put_table(&upgraded_table(table, catalog, &store)?)?;
    }
    for view in catalog.views() {
        // A view that does not bind is left as it is, for its owner to drop.
        let query = resolve_query(view.query.text.clone(), catalog, None)
            .map_or_else(|_| view.query.clone(), |(query, _)| query);
        store.put_view(&View { query, ..View::clone(view) })?;
    }
    catalog.sequences().try_for_each(|sequence| store.put_sequence(sequence))?;
    store.put_schema(ObjectId::PUBLIC, "public")?;
    store.put_version()
}

fn upgraded_table(table: &Table, catalog: &Catalog, store: &CatalogStore<'_>) -> Result<Table> {
    let mut new = table.clone();
    let id_of = |known: ObjectId| if known == ObjectId(0) { store.allocate_id(table.schema) } else { Ok(known) };
    for column in &mut new.columns {
        if let Some(default) = &mut column.default {
            let of = (column.name.as_str(), column.data_type);
            upgrade_definition(default, |text| resolve_default(text, of, catalog, None));
        }
    }
    if let Some(key) = new.primary.as_mut().map(Arc::make_mut) {
        key.id = id_of(key.id)?;
    }
    for check in &mut new.checks {
        check.id = id_of(check.id)?;
        if let Ok((condition, columns)) = resolve_check(check.condition.text.clone(), table, catalog, None) {
            (check.condition, check.columns) = (condition, columns);
        }
    }
    for key in &mut new.foreign_keys {
        key.id = id_of(key.id)?;
    }
    Ok(new)
}

fn upgrade_definition(definition: &mut Definition, resolve: impl FnOnce(String) -> Result<Definition>) {
    if let Ok(resolved) = resolve(definition.text.clone()) {
        *definition = resolved;
    }
}
