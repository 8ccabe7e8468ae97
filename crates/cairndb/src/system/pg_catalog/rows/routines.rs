//! Functions, their languages, and triggers.

use super::{namespace, number, oid, oids, owner, small, texts, vector, yes};
use crate::Value;
use crate::catalog::{
    Catalog, Deferral, ParameterMode, Returns, Routine, RoutineKind, RoutineParameter, SearchPath, Timing, TriggerEvent,
};
use crate::system::describe::{self};
use crate::system::pg_catalog::{BUILT_IN, BuiltIn, Names};
use crate::system::reg::PG_CATALOG_OID;
use crate::system::{Rows, maybe, text};
use crate::types::DataType;

/// The language of what is built in.
const INTERNAL: i64 = 12;

fn language_oid(of: &Routine) -> i64 {
    match describe::language(of) {
        _ if of.aggregate.is_some() => INTERNAL,
        "sql" => 14,
        _ => 13_533,
    }
}

pub(in crate::system::pg_catalog) fn pg_language(_: &Catalog, rows: &mut Rows) {
    for (oid, name, user) in [(INTERNAL, "internal", false), (14, "sql", false), (13_533, "plpgsql", true)] {
        rows.put(vec![
            ("oid", Value::BigInt(oid)),
            ("lanname", text(name)),
            ("lanowner", owner()),
            ("lanispl", yes(user)),
            ("lanpltrusted", yes(name != "internal")),
        ]);
    }
}

pub(in crate::system::pg_catalog) fn pg_proc(catalog: &Catalog, rows: &mut Rows) {
    for of in catalog.routines().filter_map(|function| function.routine()) {
        let outs = of.parameters.iter().any(|parameter| parameter.mode != ParameterMode::In);
        let named = of.parameters.iter().any(|parameter| parameter.name.is_some());
        let mode = |mode: ParameterMode| match mode {
            ParameterMode::In => "i",
            ParameterMode::Out => "o",
            ParameterMode::InOut => "b",
            ParameterMode::Variadic => "v",
            ParameterMode::Table => "t",
        };
        let returns = match of.returns {
            Returns::Type(_) if of.domain.is_some() => {
                of.domain.as_ref().map_or(0, |domain| crate::catalog::oid_of(domain.id)).into()
            }
            Returns::Void => 2278,
            Returns::Trigger => 2279,
            Returns::Type(data_type) => data_type.oid().into(),
            Returns::Any(declared) => declared.oid().into(),
            // The type of a table's rows has the table's number here.
            Returns::RowOf(table) => i64::from(crate::catalog::oid_of(table)),
            Returns::Row | Returns::Record => 2249,
        };
        let inputs = of.inputs().map(|input| Value::BigInt(input.oid())).collect();
        let last = of.parameters.iter().find(|parameter| parameter.mode == ParameterMode::Variadic);
        let element = last.and_then(|last| last.declared().element()).map_or(0, |element| element.oid());
        let mut row = vec![
            ("oid", oid(of.id)),
            ("proname", text(&of.name)),
            ("pronamespace", namespace(of.schema)),
            ("proowner", owner()),
            ("prolang", Value::BigInt(language_oid(of))),
            ("procost", Value::Real(100.0)),
            ("prorows", Value::Real(if of.set { 1000.0 } else { 0.0 })),
            ("provariadic", number(element)),
            ("prokind", text(kind_letter(of.kind))),
            ("proisstrict", yes(of.strict)),
            ("proretset", yes(of.set)),
            ("provolatile", text(of.volatility.letter())),
            ("proparallel", text("u")),
            ("pronargs", small(of.inputs().count())),
            ("pronargdefaults", small(of.inputs().filter(|input| input.default.is_some()).count())),
            ("prorettype", Value::BigInt(returns)),
            ("proargtypes", vector(DataType::Oid, inputs)),
            ("prosrc", text(if of.aggregate.is_some() { "aggregate_dummy" } else { &of.body })),
        ];
        if outs {
            row.push(("proallargtypes", oids(of.parameters.iter().map(RoutineParameter::oid))));
            row.push(("proargmodes", texts(of.parameters.iter().map(|of| mode(of.shown_mode()).to_owned()))));
        }
        if !of.search_path.is_empty() {
            let path = SearchPath { schemas: of.search_path.clone(), ..SearchPath::default() };
            row.push(("proconfig", texts(std::iter::once(format!("search_path={path}")))));
        }
        if named {
            row.push(("proargnames", texts(of.parameters.iter().map(|of| of.name.clone().unwrap_or_default()))));
        }
        rows.put(row);
    }
    BUILT_IN.iter().for_each(|of| rows.put(built_in(of)));
}

fn kind_letter(kind: RoutineKind) -> &'static str {
    match kind {
        RoutineKind::Function => "f",
        RoutineKind::Procedure => "p",
        RoutineKind::Aggregate => "a",
    }
}

fn built_in(of: &'static BuiltIn) -> Vec<(&'static str, Value)> {
    let arguments = of.arguments.iter().map(|oid| Value::BigInt(*oid)).collect();
    let (promised, names) = (of.promised(), of.names());
    let has_default = |names: &Names| names.parameters.iter().filter(|(_, default)| default.is_some()).count();
    let defaults = names.as_ref().map_or(0, has_default);
    let mut row = vec![
        ("oid", Value::BigInt(of.oid)),
        ("proname", text(of.name)),
        ("pronamespace", Value::BigInt(PG_CATALOG_OID)),
        ("proowner", owner()),
        ("prolang", Value::BigInt(INTERNAL)),
        ("procost", Value::Real(1.0)),
        ("prorows", Value::Real(if promised.set { 1000.0 } else { 0.0 })),
        ("provariadic", Value::BigInt(of.variadic)),
        ("prosupport", super::routine(of.support)),
        ("prokind", text(of.kind)),
        ("proisstrict", yes(promised.strict)),
        ("proretset", yes(promised.set)),
        ("proleakproof", yes(promised.leakproof)),
        ("provolatile", text(promised.volatility.letter())),
        ("proparallel", text(promised.parallel.letter())),
        ("pronargs", small(of.arguments.len())),
        ("pronargdefaults", small(defaults)),
        ("prorettype", Value::BigInt(of.returns)),
        ("prosrc", text(of.name)),
    ];
    let columns = names.as_ref().map_or(&[][..], |names| &names.columns);
    if of.variadic != 0 || !columns.is_empty() {
        let last = of.arguments.len() - usize::from(of.variadic != 0);
        let modes = (0..of.arguments.len()).map(|at| if at == last { "v" } else { "i" });
        let modes = modes.chain(columns.iter().map(|_| "o")).map(str::to_owned);
        row.push(("proargmodes", texts(modes)));
        let given = columns.iter().map(|(_, declared)| declared.oid().into());
        row.push(("proallargtypes", oids(of.arguments.iter().copied().chain(given))));
    }
    if let Some(names) = &names {
        let all = names.parameters.iter().map(|(name, _)| *name).chain(columns.iter().map(|(name, _)| *name));
        row.push(("proargnames", texts(all.map(str::to_owned))));
    }
    row.push(("proargtypes", vector(DataType::Oid, arguments)));
    row
}

pub(in crate::system::pg_catalog) fn pg_trigger(catalog: &Catalog, rows: &mut Rows) {
    for (on, of) in catalog.triggers() {
        let event = |event: &TriggerEvent| match event {
            TriggerEvent::Insert => 4,
            TriggerEvent::Delete => 8,
            TriggerEvent::Update => 16,
            TriggerEvent::Truncate => 32,
        };
        let timing = match of.timing {
            Timing::Before => 2,
            Timing::After => 0,
            Timing::InsteadOf => 64,
        };
        let bits = of.events.iter().map(event).sum::<i16>() | i16::from(of.per_row) | timing;
        let columns = of.columns.iter().map(|number| Value::SmallInt(*number as i16)).collect();
        rows.put(vec![
            ("oid", oid(of.id)),
            ("tgrelid", oid(on.id())),
            ("tgname", text(&of.name)),
            ("tgfoid", oid(of.routine)),
            ("tgtype", Value::SmallInt(bits)),
            ("tgenabled", text(of.enabled.code())),
            ("tgdeferrable", yes(of.deferral.is_some_and(|deferral| deferral != Deferral::Never))),
            ("tginitdeferred", yes(of.deferral == Some(Deferral::Deferred))),
            ("tgoldtable", maybe(of.old_table.as_deref().map(text))),
            ("tgnewtable", maybe(of.new_table.as_deref().map(text))),
            ("tgnargs", small(of.args.len())),
            ("tgattr", vector(DataType::SmallInt, columns)),
            ("tgqual", maybe(of.when.as_deref().map(text))),
        ]);
    }
}
