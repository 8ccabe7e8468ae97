//! Constraints, and what depends on what.

use super::{class, default_oid, has_default, namespace, numbers, oid, small_ints, yes};
use crate::Value;
use std::sync::Arc;

use crate::catalog::{Catalog, Deferral, ObjectId, ReferentialAction, Relation, Trigger, number_at};
use crate::functions::database_oid;
use crate::system::ExpressionOver;
use crate::system::describe::Telling;
use crate::system::{Rows, maybe, oid_of, text};
use crate::types::DataType;

fn action(action: ReferentialAction) -> &'static str {
    match action {
        ReferentialAction::NoAction => "a",
        ReferentialAction::Restrict => "r",
        ReferentialAction::Cascade => "c",
        ReferentialAction::SetNull => "n",
        ReferentialAction::SetDefault => "d",
    }
}

/// What all constraints have.
fn constraint(id: ObjectId, name: &str, schema: ObjectId, kind: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("oid", oid(id)),
        ("conname", text(name)),
        ("connamespace", namespace(schema)),
        ("contype", text(kind)),
        ("convalidated", yes(true)),
        ("confupdtype", text(" ")),
        ("confdeltype", text(" ")),
        ("confmatchtype", text(" ")),
        ("conislocal", yes(true)),
        ("connoinherit", yes(kind != "c")),
    ]
}

pub(in crate::system::pg_catalog) fn pg_constraint(catalog: &Catalog, rows: &mut Rows) {
    let told = Telling::new(catalog, rows.bound);
    for table in rows.tables(catalog) {
        for index in table.all_indexes().filter(|index| index.constraint) {
            let mut row = constraint(index.id, &index.name, table.schema, if index.primary { "p" } else { "u" });
            row.extend([
                ("conrelid", oid(table.id)),
                ("conindid", oid(index.id)),
                ("conkey", small_ints(numbers(table, index.positions()).into_iter())),
                ("condeferrable", yes(index.deferral != Deferral::Never)),
                ("condeferred", yes(index.deferral == Deferral::Deferred)),
            ]);
            rows.put(row);
        }
        for check in &table.checks {
            let used: Vec<i16> = check.columns.iter().filter_map(|number| i16::try_from(*number).ok()).collect();
            let mut row = constraint(check.id, &check.name, table.schema, "c");
            row.extend([
                ("conrelid", oid(table.id)),
                ("convalidated", yes(check.valid)),
                (
                    "conbin",
                    Value::text(told.condition(&catalog.text_of(&check.condition), ExpressionOver::Table(table))),
                ),
            ]);
            row.extend((!used.is_empty()).then(|| ("conkey", small_ints(used.into_iter()))));
            rows.put(row);
        }
        for key in &table.foreign_keys {
            let parent = catalog.table_by_id(key.referenced_table);
            let unique = parent.and_then(|parent| parent.unique_index_of(&key.referenced_columns));
            let referred = parent.map(|parent| numbers(parent, &key.referenced_columns)).unwrap_or_default();
            let mut row = constraint(key.id, &key.name, table.schema, "f");
            row.extend([
                ("condeferrable", yes(key.deferral != Deferral::Never)),
                ("condeferred", yes(key.deferral == Deferral::Deferred)),
                ("convalidated", yes(key.valid)),
                ("conrelid", oid(table.id)),
                ("conindid", Value::BigInt(unique.map_or(0, |index| oid_of(index.id)))),
                ("confrelid", oid(key.referenced_table)),
                ("confupdtype", text(action(key.on_update))),
                ("confdeltype", text(action(key.on_delete))),
                ("confmatchtype", text(if key.full { "f" } else { "s" })),
                ("conkey", small_ints(numbers(table, &key.columns).into_iter())),
                ("confkey", small_ints(referred.into_iter())),
            ]);
            if !key.set_on_delete.is_empty() {
                row.push(("confdelsetcols", small_ints(numbers(table, &key.set_on_delete).into_iter())));
            }
            rows.put(row);
        }
    }
    for of in catalog.types() {
        let checks = of.domain().into_iter().flat_map(|domain| domain.checks.iter().map(|check| (domain.base, check)));
        for (base, check) in checks {
            let mut row = constraint(check.id, &check.name, of.schema, "c");
            row.extend([
                ("contypid", oid(of.id)),
                ("convalidated", yes(check.valid)),
                ("connoinherit", yes(false)),
                (
                    "conbin",
                    Value::text(told.condition(&catalog.text_of(&check.condition), ExpressionOver::Value(base))),
                ),
            ]);
            rows.put(row);
        }
    }
}

pub(in crate::system::pg_catalog) fn pg_description(catalog: &Catalog, rows: &mut Rows) {
    for on in catalog.commented().filter(|on| on.id != crate::catalog::Commentable::DATABASE.id) {
        let relation = catalog.relation_of(on.id).map(|(.., relation)| relation);
        // One that has an index shares its oid with that.
        let of_index = on.part == 1 && matches!(relation, Some(Relation::Index(..)));
        let is_trigger = |triggers: &[Arc<Trigger>]| triggers.iter().any(|of| of.id == on.id);
        let what = match relation {
            _ if of_index => "pg_constraint",
            Some(Relation::Table(table)) if is_trigger(&table.triggers) => "pg_trigger",
            Some(Relation::View(view)) if is_trigger(&view.triggers) => "pg_trigger",
            Some(Relation::Table(table)) if table.id != on.id => "pg_constraint",
            None if catalog.type_by_id(on.id).is_some() => "pg_type",
            None if catalog.schema_name(on.id).is_some() => "pg_namespace",
            None if catalog.routine_by_id(on.id).is_some() => "pg_proc",
            _ => "pg_class",
        };
        let of_schema = what == "pg_namespace" && on.id == ObjectId::PUBLIC;
        rows.put(vec![
            ("objoid", if of_schema { namespace(on.id) } else { oid(on.id) }),
            ("classoid", class(what)),
            ("objsubid", Value::Integer(if of_index { 0 } else { i32::try_from(on.part).unwrap_or(i32::MAX) })),
            ("description", maybe(catalog.comment(*on).map(text))),
        ]);
    }
}

pub(in crate::system::pg_catalog) fn pg_shdescription(catalog: &Catalog, rows: &mut Rows) {
    if let Some(comment) = catalog.comment(crate::catalog::Commentable::DATABASE) {
        let of = class("pg_database");
        rows.put(vec![
            ("objoid", Value::BigInt(database_oid(catalog.database_name()))),
            ("classoid", of),
            ("description", text(comment)),
        ]);
    }
}

/// Which relation an object's row is in, its oid, and the part of it.
type Place = (&'static str, i64, u32);

fn depends(rows: &mut Rows, on: [Place; 2], how: &str) {
    let [(class_of, object, part), (class_of_other, other, part_of_other)] = on;
    rows.put(vec![
        ("classid", class(class_of)),
        ("objid", Value::BigInt(object)),
        ("objsubid", Value::Integer(part.cast_signed())),
        ("refclassid", class(class_of_other)),
        ("refobjid", Value::BigInt(other)),
        ("refobjsubid", Value::Integer(part_of_other.cast_signed())),
        ("deptype", text(how)),
    ]);
}

pub(in crate::system::pg_catalog) fn pg_depend(catalog: &Catalog, rows: &mut Rows) {
    for sequence in catalog.sequences() {
        let owner = sequence.owner.and_then(|(table, position)| {
            let table = catalog.table_by_id(table)?;
            Some((table, table.columns.get(position)?))
        });
        if let Some((table, column)) = owner {
            let is_identity = column.identity.is_some_and(|identity| identity.sequence == sequence.id);
            let how = if is_identity { "i" } else { "a" };
            let itself = ("pg_class", oid_of(sequence.id), 0);
            depends(rows, [itself, ("pg_class", oid_of(table.id), column.number)], how);
        }
    }
    for table in catalog.tables() {
        for index in table.all_indexes() {
            let itself = ("pg_class", oid_of(index.id), 0);
            if index.constraint {
                depends(rows, [itself, ("pg_constraint", oid_of(index.id), 0)], "i");
            }
            for number in numbers(table, index.positions()) {
                let column = ("pg_class", oid_of(table.id), number.unsigned_abs().into());
                let of = if index.constraint { ("pg_constraint", oid_of(index.id), 0) } else { itself };
                depends(rows, [of, column], "a");
            }
        }
        for column in table.columns.iter().filter(|column| has_default(column)) {
            let itself = ("pg_attrdef", default_oid(table.id, column.number), 0);
            depends(rows, [itself, ("pg_class", oid_of(table.id), column.number)], "a");
            for reference in column.default.iter().flat_map(|default| default.references()) {
                depends(rows, [itself, ("pg_class", oid_of(reference.object), 0)], "n");
            }
        }
    }
    for view in catalog.views() {
        for (place, default) in &view.defaults {
            let itself = ("pg_attrdef", default_oid(view.id, number_at(*place)), 0);
            depends(rows, [itself, ("pg_class", oid_of(view.id), number_at(*place))], "a");
            for reference in default.references() {
                depends(rows, [itself, ("pg_class", oid_of(reference.object), 0)], "n");
            }
        }
    }
    for (relation, query) in catalog.queries() {
        let rule = ("pg_rewrite", oid_of(relation.id()), 0);
        depends(rows, [rule, ("pg_class", oid_of(relation.id()), 0)], "i");
        for reference in query.references() {
            let mut used = reference.columns.iter().filter(|column| column.used).peekable();
            if used.peek().is_none()
                && let Some(class) = class_of(catalog, reference.object)
            {
                depends(rows, [rule, (class, oid_of(reference.object), 0)], "n");
            }
            for column in used {
                depends(rows, [rule, ("pg_class", oid_of(reference.object), column.number)], "n");
            }
        }
    }
    types_depend(catalog, rows);
}

/// Where an object is that a definition names as a whole.
fn class_of(catalog: &Catalog, id: ObjectId) -> Option<&'static str> {
    let routine = || catalog.routine_by_id(id).map(|_| "pg_proc");
    catalog.relation_of(id).map(|_| "pg_class").or_else(routine)
}

/// What types are made of others.
fn types_depend(catalog: &Catalog, rows: &mut Rows) {
    // The system's own are no matter of anybody's.
    let is_users = |oid: &i64| *oid >= oid_of(ObjectId(0));
    for of in catalog.types() {
        let itself = ("pg_type", oid_of(of.id), 0);
        if let Some(domain) = of.domain() {
            let base = domain.parent.map_or_else(|| domain.base.oid().into(), oid_of);
            Some(base).filter(is_users).into_iter().for_each(|base| depends(rows, [itself, ("pg_type", base, 0)], "n"));
        }
        if let DataType::Composite(composite) = of.data_type {
            depends(rows, [("pg_class", oid_of(of.id), 0), itself], "i");
            for attribute in composite.attributes() {
                let column = ("pg_class", oid_of(of.id), attribute.number);
                let used = Some(i64::from(attribute.data_type.oid())).filter(is_users);
                used.into_iter().for_each(|used| depends(rows, [column, ("pg_type", used, 0)], "n"));
            }
        }
    }
}
