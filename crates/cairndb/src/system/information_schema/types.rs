//! Types: domains, composite types and their attributes, elements of arrays; collations.

use super::relations::all_columns;
use super::routines::{self, specific_name};
use super::{COLLATION, DOMAIN, Named, OBJECT, UDT, located, located_in, number};
use crate::Value;
use crate::catalog::{Catalog, Table, TypeKind, UserType};
use crate::system::describe::Telling;
use crate::system::{Rows, maybe, schema_name, text, type_schema, yes_or_no};
use crate::types::DataType;
use crate::types::datetime::{DIGITS_MAX, IntervalLimit};

/// How a type is called.
pub(super) struct TypeName {
    /// By the standard.
    pub(super) standard: Value,
    pub(super) schema: Value,
    pub(super) name: Value,
}

const USERS: &str = "USER-DEFINED";

impl TypeName {
    pub(super) fn of(data_type: DataType) -> TypeName {
        let standard = match data_type {
            DataType::Array(_) => "ARRAY",
            DataType::Citext(_) | DataType::Hstore(_) | DataType::Enum(_) => USERS,
            DataType::Composite(_) if type_schema(data_type) != "pg_catalog" => USERS,
            _ => data_type.base().type_name(),
        };
        TypeName {
            standard: text(standard),
            schema: text(type_schema(data_type)),
            name: Value::text(data_type.catalog_name()),
        }
    }

    /// That of a system's type which no value has.
    pub(super) fn pseudo(name: &str) -> TypeName {
        TypeName { standard: text(name), schema: text("pg_catalog"), name: text(name) }
    }

    /// That of a table's rows.
    pub(super) fn of_rows(catalog: &Catalog, table: &Table) -> TypeName {
        TypeName { standard: text(USERS), schema: schema_name(catalog, table.schema), name: text(&table.name) }
    }

    /// That of what a domain is made of, be it another domain.
    pub(super) fn under(catalog: &Catalog, domain: &UserType) -> TypeName {
        let of = domain.domain();
        match of.and_then(|of| of.parent).and_then(|parent| catalog.type_by_id(parent)) {
            Some(parent) => TypeName::of_domain(catalog, parent),
            None => TypeName::of(of.map_or(domain.data_type, |of| of.base)),
        }
    }

    /// That of a domain itself.
    pub(super) fn of_domain(catalog: &Catalog, of: &UserType) -> TypeName {
        TypeName { standard: text(USERS), schema: schema_name(catalog, of.schema), name: text(&of.name) }
    }

    pub(super) fn told(self, catalog: &Catalog) -> Named {
        let mut told = self.located(catalog);
        told.push(("data_type", self.standard));
        told
    }

    pub(super) fn located(&self, catalog: &Catalog) -> Named {
        located_in(catalog, UDT, self.schema.clone(), self.name.clone())
    }
}

/// The sizes that a type says, and its collation. A domain that is made of another says none.
pub(super) fn sizes(catalog: &Catalog, data_type: DataType, domain: Option<&UserType>) -> Named {
    let mut sizes = collation(catalog, data_type);
    if domain.and_then(UserType::domain).is_some_and(|domain| domain.parent.is_some()) {
        return sizes;
    }
    let [length, octets] = match data_type {
        DataType::Varchar(Some(length)) | DataType::Char(length @ 1..) => {
            [number(length as usize), number(length as usize * 4)]
        }
        DataType::Text | DataType::Varchar(None) | DataType::Char(0) => [Value::Null, Value::Integer(1 << 30)],
        _ => [Value::Null, Value::Null],
    };
    let [precision, radix, scale] = numeric_sizes(data_type);
    sizes.extend([
        ("character_maximum_length", length),
        ("character_octet_length", octets),
        ("numeric_precision", precision),
        ("numeric_precision_radix", radix),
        ("numeric_scale", scale),
        ("datetime_precision", fraction(data_type)),
        ("interval_type", interval_fields(data_type)),
    ]);
    sizes
}

/// Precision, radix, scale.
pub(super) fn numeric_sizes(data_type: DataType) -> [Value; 3] {
    match data_type {
        DataType::SmallInt => [Value::Integer(16), Value::Integer(2), Value::Integer(0)],
        DataType::Integer => [Value::Integer(32), Value::Integer(2), Value::Integer(0)],
        DataType::BigInt => [Value::Integer(64), Value::Integer(2), Value::Integer(0)],
        DataType::Real => [Value::Integer(24), Value::Integer(2), Value::Null],
        DataType::Double => [Value::Integer(53), Value::Integer(2), Value::Null],
        DataType::Numeric(Some((precision, scale))) => {
            [Value::Integer(precision.into()), Value::Integer(10), Value::Integer(scale.into())]
        }
        DataType::Numeric(None) => [Value::Null, Value::Integer(10), Value::Null],
        _ => [Value::Null, Value::Null, Value::Null],
    }
}

/// The digits of seconds.
fn fraction(data_type: DataType) -> Value {
    match data_type {
        DataType::Date => Value::Integer(0),
        DataType::Time(digits)
        | DataType::TimeTz(digits)
        | DataType::Timestamp(digits)
        | DataType::TimestampTz(digits) => Value::Integer(digits.unwrap_or(DIGITS_MAX).into()),
        DataType::Interval(limit) => Value::Integer(limit.and_then(IntervalLimit::digits).unwrap_or(DIGITS_MAX).into()),
        _ => Value::Null,
    }
}

/// `YEAR TO MONTH`, `DAY TO SECOND(2)`.
fn interval_fields(data_type: DataType) -> Value {
    let said = matches!(data_type, DataType::Interval(_)).then(|| data_type.to_string());
    maybe(said.and_then(|said| Some(said.split_once(' ')?.1.to_uppercase())))
}

/// Text has the database's collation, of which nothing is said.
fn collation(catalog: &Catalog, data_type: DataType) -> Named {
    let is_name = data_type.element().unwrap_or(data_type) == DataType::Name;
    if is_name { located_in(catalog, COLLATION, text("pg_catalog"), text("C")) } else { Vec::new() }
}

pub(super) fn domains(catalog: &Catalog, rows: &mut Rows) {
    let told = Telling::new(catalog, rows.bound);
    for of in catalog.types() {
        let Some(domain) = of.domain() else { continue };
        let default = domain.default.as_ref().map(|default| catalog.text_of(default));
        let mut row = located(DOMAIN, catalog, of.schema, &of.name);
        row.extend(TypeName::under(catalog, of).told(catalog));
        row.extend(sizes(catalog, domain.base, Some(of)));
        row.extend([
            ("domain_default", maybe(default.map(|text| told.value(&text, domain.base)))),
            ("dtd_identifier", text("1")),
        ]);
        if domain.base.is_array() && domain.parent.is_none() {
            row.push(("data_type", Value::text(domain.base.base().to_string())));
        }
        rows.put_known(row);
    }
}

fn composites(catalog: &Catalog) -> impl Iterator<Item = &UserType> {
    catalog.types().map(AsRef::as_ref).filter(|of| matches!(of.kind, TypeKind::Composite(_)))
}

pub(super) fn user_defined_types(catalog: &Catalog, rows: &mut Rows) {
    for of in composites(catalog) {
        let place = ["user_defined_type_catalog", "user_defined_type_schema", "user_defined_type_name"];
        let mut row = located(place, catalog, of.schema, &of.name);
        row.extend([("user_defined_type_category", text("STRUCTURED")), ("is_instantiable", yes_or_no(true))]);
        rows.put_known(row);
    }
}

pub(super) fn attributes(catalog: &Catalog, rows: &mut Rows) {
    for of in composites(catalog) {
        for attribute in of.attributes() {
            let TypeName { standard, schema, name } = TypeName::of(attribute.data_type);
            let place = ["attribute_udt_catalog", "attribute_udt_schema", "attribute_udt_name"];
            let at = attribute.number as usize;
            let mut row = located(UDT, catalog, of.schema, &of.name);
            row.extend(located_in(catalog, place, schema, name));
            row.extend(sizes(catalog, attribute.data_type, None));
            row.extend([
                ("attribute_name", text(&attribute.name)),
                ("ordinal_position", number(at)),
                ("is_nullable", yes_or_no(true)),
                ("data_type", standard),
                ("dtd_identifier", Value::text(at.to_string())),
                ("is_derived_reference_attribute", yes_or_no(false)),
            ]);
            rows.put_known(row);
        }
    }
}

/// What has a type: where it is, what it is, the number of the type in it, the type.
struct Typed {
    place: Named,
    kind: &'static str,
    number: usize,
    /// `None`: no value has it.
    data_type: Option<DataType>,
    /// The number is of a domain's column, which is an array only by its domain.
    by_domain: bool,
}

impl Typed {
    fn told(&self) -> Named {
        let mut told = self.place.clone();
        told.push(("object_type", text(self.kind)));
        told
    }
}

fn all_typed(catalog: &Catalog, rows: &Rows) -> Vec<Typed> {
    let mut all = Vec::new();
    for of in composites(catalog) {
        all.extend(of.attributes().iter().map(|attribute| Typed {
            place: located(OBJECT, catalog, of.schema, &of.name),
            kind: "USER-DEFINED TYPE",
            number: attribute.number as usize,
            data_type: Some(attribute.data_type),
            by_domain: false,
        }));
    }
    all.extend(all_columns(catalog, rows).iter().map(|of| Typed {
        place: located(OBJECT, catalog, of.schema, of.relation),
        kind: "TABLE",
        number: of.number,
        data_type: Some(of.data_type),
        by_domain: of.domain.is_some(),
    }));
    for of in catalog.types() {
        all.extend(of.domain().map(|domain| Typed {
            place: located(OBJECT, catalog, of.schema, &of.name),
            kind: "DOMAIN",
            number: 1,
            data_type: Some(domain.base),
            by_domain: domain.parent.is_some(),
        }));
    }
    for of in catalog.routines().filter_map(|function| function.routine()) {
        let parameters = of.parameters.iter().map(routines::type_of_values);
        let result = routines::has_result(of).then(|| routines::type_of_result(of));
        let numbered = (1..).zip(parameters).chain(result.map(|of| (0, of)));
        all.extend(numbered.map(|(number, data_type)| Typed {
            place: located_in(catalog, OBJECT, schema_name(catalog, of.schema), specific_name(of)),
            kind: "ROUTINE",
            number,
            data_type,
            by_domain: false,
        }));
    }
    all
}

pub(super) fn element_types(catalog: &Catalog, rows: &mut Rows) {
    for of in all_typed(catalog, rows).iter().filter(|of| !of.by_domain) {
        let Some(element) = of.data_type.and_then(DataType::element) else { continue };
        let mut row = of.told();
        row.extend(TypeName::of(element).told(catalog));
        row.extend((of.kind != "ROUTINE").then(|| collation(catalog, element)).into_iter().flatten());
        row.extend([
            ("collection_type_identifier", Value::text(of.number.to_string())),
            ("dtd_identifier", Value::text(format!("a{}", of.number))),
        ]);
        rows.put_known(row);
    }
}

pub(super) fn data_type_privileges(catalog: &Catalog, rows: &mut Rows) {
    for of in all_typed(catalog, rows) {
        let mut row = of.told();
        row.push(("dtd_identifier", Value::text(of.number.to_string())));
        rows.put_known(row);
    }
    let routines = catalog.routines().filter_map(|function| function.routine());
    for of in routines.filter(|of| !routines::has_result(of)) {
        let mut row = located_in(catalog, OBJECT, schema_name(catalog, of.schema), specific_name(of));
        row.push(("object_type", text("ROUTINE")));
        rows.put_known(row);
    }
}

/// As in `pg_collation`.
pub(super) const COLLATIONS: [&str; 3] = ["default", "C", "POSIX"];

pub(super) fn collations(catalog: &Catalog, rows: &mut Rows) {
    for name in COLLATIONS {
        let mut row = located_in(catalog, COLLATION, text("pg_catalog"), text(name));
        row.push(("pad_attribute", text("NO PAD")));
        rows.put_known(row);
    }
}

pub(super) fn collated_sets(catalog: &Catalog, rows: &mut Rows) {
    for name in COLLATIONS {
        let mut row = located_in(catalog, COLLATION, text("pg_catalog"), text(name));
        row.push(("character_set_name", text("UTF8")));
        rows.put_known(row);
    }
}

pub(super) fn character_sets(catalog: &Catalog, rows: &mut Rows) {
    rows.put_known(vec![
        ("character_set_name", text("UTF8")),
        ("character_repertoire", text("UCS")),
        ("form_of_use", text("UTF8")),
        ("default_collate_catalog", text(catalog.database_name())),
        ("default_collate_schema", text("pg_catalog")),
        ("default_collate_name", text("C")),
    ]);
}
