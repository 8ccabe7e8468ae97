//! What views, columns and domains use.

use super::relations::all_columns;
use super::types::TypeName;
use super::{DOMAIN, Named, TABLE, VIEW, located};
use crate::Value;
use crate::catalog::{Catalog, Definition, ObjectId};
use crate::system::{Rows, text};

/// The schema, the name and the used columns of each relation that a definition speaks of, once.
fn spoken_of(catalog: &Catalog, definition: &Definition) -> Vec<(ObjectId, String, Vec<String>)> {
    let mut all: Vec<(ObjectId, String, Vec<String>)> = vec![];
    for reference in definition.references() {
        let (schema, name, columns) =
            match (catalog.table_by_id(reference.object), catalog.view_by_id(reference.object)) {
                (Some(table), _) if !table.is_materialized() => {
                    let used = |number: u32| reference.columns.iter().any(|known| known.number == number && known.used);
                    let columns = table.columns.iter().filter(|column| used(column.number));
                    (table.schema, &table.name, columns.map(|column| column.name.clone()).collect::<Vec<_>>())
                }
                (_, Some(view)) => {
                    let columns = reference.columns.iter().filter(|known| known.used);
                    (view.schema, &view.name, columns.map(|known| known.name.clone()).collect())
                }
                _ => continue,
            };
        match all.iter_mut().find(|(other, called, _)| *other == schema && called == name) {
            Some((_, _, known)) => known.extend(columns),
            None => all.push((schema, name.clone(), columns)),
        }
    }
    for (_, _, columns) in &mut all {
        columns.sort();
        columns.dedup();
    }
    all
}

pub(super) fn view_column_usage(catalog: &Catalog, rows: &mut Rows) {
    for (place, columns) in used_by_views(catalog) {
        for column in columns {
            let mut row = place.clone();
            row.push(("column_name", Value::text(column)));
            rows.put_known(row);
        }
    }
}

pub(super) fn view_table_usage(catalog: &Catalog, rows: &mut Rows) {
    for (place, _) in used_by_views(catalog) {
        rows.put_known(place);
    }
}

/// Each view with each relation that it speaks of, and the columns that it uses of it.
fn used_by_views(catalog: &Catalog) -> Vec<(Named, Vec<String>)> {
    let mut all = Vec::new();
    for view in catalog.views() {
        for (schema, name, columns) in spoken_of(catalog, &view.query) {
            let mut place = located(VIEW, catalog, view.schema, &view.name);
            place.extend(located(TABLE, catalog, schema, &name));
            all.push((place, columns));
        }
    }
    all
}

/// The columns that generated ones are computed from.
pub(super) fn column_column_usage(catalog: &Catalog, rows: &mut Rows) {
    for table in catalog.base_tables() {
        for dependent in &table.columns {
            let used = dependent.generated.iter().flat_map(|of| &of.columns);
            for column in used.filter_map(|number| table.columns.iter().find(|column| column.number == *number)) {
                let mut row = located(TABLE, catalog, table.schema, &table.name);
                row.extend([("column_name", text(&column.name)), ("dependent_column", text(&dependent.name))]);
                rows.put_known(row);
            }
        }
    }
}

pub(super) fn column_udt_usage(catalog: &Catalog, rows: &mut Rows) {
    for of in all_columns(catalog, rows) {
        let mut row = of.located(catalog);
        row.extend(of.type_name(catalog).located(catalog));
        rows.put_known(row);
    }
}

pub(super) fn column_domain_usage(catalog: &Catalog, rows: &mut Rows) {
    for of in all_columns(catalog, rows) {
        let Some(domain) = of.domain else { continue };
        let mut row = of.located(catalog);
        row.extend(located(DOMAIN, catalog, domain.schema, &domain.name));
        rows.put_known(row);
    }
}

pub(super) fn domain_udt_usage(catalog: &Catalog, rows: &mut Rows) {
    for of in catalog.types().filter(|of| of.domain().is_some()) {
        let mut row = located(DOMAIN, catalog, of.schema, &of.name);
        row.extend(TypeName::under(catalog, of).located(catalog));
        rows.put_known(row);
    }
}
