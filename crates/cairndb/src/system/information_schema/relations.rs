//! Schemas, tables, views, their columns, sequences.

use std::collections::HashMap;
use std::sync::Arc;

use super::types::{self, TypeName};
use super::{DOMAIN, Named, TABLE, located, number};
use crate::Value;
use crate::catalog::{Catalog, Column, ObjectId, Relation, TriggerEvent, UserType, View};
use crate::system::describe::{self, Telling};
use crate::system::reg::OWNER;
use crate::system::{BoundViews, Rows, maybe, text, yes_or_no};
use crate::types::DataType;

pub(super) fn schemata(catalog: &Catalog, rows: &mut Rows) {
    let own = catalog.schemas().map(|(name, _)| name);
    for name in own.chain(["pg_catalog", "information_schema"]) {
        rows.put_known(vec![
            ("catalog_name", text(catalog.database_name())),
            ("schema_name", text(name)),
            ("schema_owner", text(OWNER)),
        ]);
    }
}

pub(super) fn tables(catalog: &Catalog, rows: &mut Rows) {
    for (schema, name, relation) in rows.relations(catalog) {
        let (kind, is_insertable) = match relation {
            Relation::Table(table) if table.is_materialized() => continue,
            Relation::Table(table) if table.is_temporary() => ("LOCAL TEMPORARY", true),
            Relation::Table(_) => ("BASE TABLE", true),
            Relation::View(view) => ("VIEW", rows.bound.updatable_columns(view, catalog).is_some()),
            _ => continue,
        };
        let mut row = located(TABLE, catalog, schema, name);
        row.extend([
            ("table_type", text(kind)),
            ("is_insertable_into", yes_or_no(is_insertable)),
            ("is_typed", yes_or_no(false)),
        ]);
        rows.put_known(row);
    }
}

/// A column of a table or a view.
pub(super) struct ColumnOf<'c> {
    pub(super) schema: ObjectId,
    pub(super) relation: &'c str,
    pub(super) name: String,
    pub(super) number: usize,
    pub(super) data_type: DataType,
    pub(super) domain: Option<&'c UserType>,
    of: Origin<'c>,
}

enum Origin<'c> {
    Table(&'c Column),
    View(&'c Arc<View>),
}

impl ColumnOf<'_> {
    pub(super) fn located(&self, catalog: &Catalog) -> Named {
        let mut place = located(TABLE, catalog, self.schema, self.relation);
        place.push(("column_name", text(&self.name)));
        place
    }

    /// The name of its type, of a domain that of what it is made of.
    pub(super) fn type_name(&self, catalog: &Catalog) -> TypeName {
        self.domain.map_or_else(|| TypeName::of(self.data_type), |domain| TypeName::under(catalog, domain))
    }
}

/// The columns of all tables and views, by schema and name.
pub(super) fn all_columns<'c>(catalog: &'c Catalog, rows: &Rows) -> Vec<ColumnOf<'c>> {
    let mut all = Vec::new();
    for (schema, relation, of) in rows.relations(catalog) {
        match of {
            Relation::Table(table) if !table.is_materialized() => all.extend(table.columns.iter().map(|column| {
                let domain = column.domain.and_then(|domain| catalog.type_by_id(domain)).map(AsRef::as_ref);
                let (name, data_type, number) = (column.name.clone(), column.data_type, column.number as usize);
                ColumnOf { schema, relation, name, number, data_type, domain, of: Origin::Table(column) }
            })),
            Relation::View(view) => {
                all.extend((1..).zip(rows.bound.columns(view, catalog)).map(|(number, field)| {
                    let (name, data_type, of) = (field.name, field.data_type, Origin::View(view));
                    ColumnOf { schema, relation, name, number, data_type, domain: None, of }
                }));
            }
            _ => {}
        }
    }
    all
}

/// Which columns of views can be given values, each view asked once.
struct Updatable {
    bound: &'static dyn BoundViews,
    known: HashMap<ObjectId, Vec<bool>>,
}

impl Updatable {
    fn has(&mut self, view: &Arc<View>, at: usize, catalog: &Catalog) -> bool {
        let ask = || self.bound.updatable_columns(view, catalog).unwrap_or_default();
        self.known.entry(view.id).or_insert_with(ask).get(at) == Some(&true)
    }
}

pub(super) fn columns(catalog: &Catalog, rows: &mut Rows) {
    let mut updatable = Updatable { bound: rows.bound, known: HashMap::new() };
    // There are many, and of most statements few columns wanted.
    let [wants_type, wants_sizes, wants_rest] = [TYPE_COLUMNS, SIZE_COLUMNS, REST_COLUMNS].map(|of| rows.wants(of));
    for of in all_columns(catalog, rows) {
        let mut row = of.located(catalog);
        row.push(("ordinal_position", number(of.number)));
        if wants_type {
            row.extend(of.type_name(catalog).told(catalog));
        }
        if wants_sizes {
            row.extend(types::sizes(catalog, of.data_type, of.domain));
        }
        if wants_rest {
            row.extend(rest(catalog, &of, &mut updatable));
        }
        rows.put_known(row);
    }
}

/// What [`TypeName::told`] says.
const TYPE_COLUMNS: &[&str] = &["udt_catalog", "udt_schema", "udt_name", "data_type"];
/// What [`types::sizes`] says.
const SIZE_COLUMNS: &[&str] = &[
    "collation_catalog",
    "collation_schema",
    "collation_name",
    "character_maximum_length",
    "character_octet_length",
    "numeric_precision",
    "numeric_precision_radix",
    "numeric_scale",
    "datetime_precision",
    "interval_type",
];
/// What [`rest`] says.
const REST_COLUMNS: &[&str] = &[
    "dtd_identifier",
    "is_self_referencing",
    "domain_catalog",
    "domain_schema",
    "domain_name",
    "column_default",
    "is_nullable",
    "is_identity",
    "identity_generation",
    "identity_start",
    "identity_increment",
    "identity_maximum",
    "identity_minimum",
    "identity_cycle",
    "is_generated",
    "generation_expression",
    "is_updatable",
];

/// What is neither its name nor its type.
fn rest(catalog: &Catalog, of: &ColumnOf<'_>, updatable: &mut Updatable) -> Named {
    let mut row =
        vec![("dtd_identifier", Value::text(of.number.to_string())), ("is_self_referencing", yes_or_no(false))];
    row.extend(of.domain.into_iter().flat_map(|domain| located(DOMAIN, catalog, domain.schema, &domain.name)));
    let told = Telling::new(catalog, updatable.bound);
    match of.of {
        Origin::Table(column) => row.extend(of_table(told, column, of.domain)),
        Origin::View(view) => {
            let at = of.number - 1;
            let default = view.defaults.get(&at).map(|of| catalog.text_of(of));
            row.extend([
                ("column_default", maybe(default.map(|text| told.value(&text, of.data_type)))),
                ("is_nullable", yes_or_no(true)),
                ("is_identity", yes_or_no(false)),
                ("identity_cycle", yes_or_no(false)),
                ("is_generated", text("NEVER")),
                ("is_updatable", yes_or_no(updatable.has(view, at, catalog))),
            ]);
        }
    }
    row
}

/// What only the column of a table says.
fn of_table(told: Telling<'_>, column: &Column, domain: Option<&UserType>) -> Named {
    let catalog = told.catalog;
    let domain_refuses_null = domain.and_then(UserType::domain).is_some_and(|domain| domain.not_null);
    let identity = column.identity;
    let values = identity.and_then(|identity| catalog.sequence_by_id(identity.sequence));
    let generated = column.generated.as_ref().map(|generated| catalog.text_of(&generated.definition));
    let number = |value: Option<i64>| maybe(value.map(|value| value.to_string()));
    vec![
        ("column_default", maybe(describe::default(told, column))),
        ("is_nullable", yes_or_no(!column.not_null && !domain_refuses_null)),
        ("is_identity", yes_or_no(identity.is_some())),
        ("identity_generation", maybe(identity.map(|of| if of.always { "ALWAYS" } else { "BY DEFAULT" }).map(text))),
        ("identity_start", number(values.map(|of| of.start))),
        ("identity_increment", number(values.map(|of| of.increment))),
        ("identity_maximum", number(values.map(|of| of.max))),
        ("identity_minimum", number(values.map(|of| of.min))),
        ("identity_cycle", yes_or_no(values.is_some_and(|of| of.cycle))),
        ("is_generated", text(if generated.is_some() { "ALWAYS" } else { "NEVER" })),
        ("generation_expression", maybe(generated)),
        ("is_updatable", yes_or_no(true)),
    ]
}

pub(super) fn views(catalog: &Catalog, rows: &mut Rows) {
    for view in rows.views(catalog) {
        let is_updatable = yes_or_no(rows.bound.updatable_columns(view, catalog).is_some());
        let check = view.check.map_or("NONE".to_owned(), |check| check.name().to_ascii_uppercase());
        let mut row = located(TABLE, catalog, view.schema, &view.name);
        row.extend([
            ("view_definition", Value::text(Telling::new(catalog, rows.bound).view(view, 0))),
            ("check_option", Value::text(check)),
            ("is_updatable", is_updatable.clone()),
            ("is_insertable_into", is_updatable),
            ("is_trigger_updatable", yes_or_no(view.has_instead_of(TriggerEvent::Update))),
            ("is_trigger_deletable", yes_or_no(view.has_instead_of(TriggerEvent::Delete))),
            ("is_trigger_insertable_into", yes_or_no(view.has_instead_of(TriggerEvent::Insert))),
        ]);
        rows.put_known(row);
    }
}

/// Those of identity columns are their columns' own.
pub(super) fn sequences(catalog: &Catalog, rows: &mut Rows) {
    for sequence in catalog.sequences() {
        let is_internal = sequence.owner.is_some_and(|(table, column)| {
            let column = catalog.table_by_id(table).and_then(|table| table.columns.get(column));
            column.is_some_and(|column| column.identity.is_some())
        });
        if is_internal {
            continue;
        }
        let place = ["sequence_catalog", "sequence_schema", "sequence_name"];
        let mut row = located(place, catalog, sequence.schema, &sequence.name);
        let [precision, radix, scale] = types::numeric_sizes(sequence.data_type);
        row.extend([
            ("data_type", text(sequence.data_type.type_name())),
            ("numeric_precision", precision),
            ("numeric_precision_radix", radix),
            ("numeric_scale", scale),
            ("start_value", Value::text(sequence.start.to_string())),
            ("minimum_value", Value::text(sequence.min.to_string())),
            ("maximum_value", Value::text(sequence.max.to_string())),
            ("increment", Value::text(sequence.increment.to_string())),
            ("cycle_option", yes_or_no(sequence.cycle)),
        ]);
        rows.put_known(row);
    }
}
