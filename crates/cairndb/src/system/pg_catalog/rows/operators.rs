//! Operators, casts and aggregates: those that there are, as PostgreSQL 15 has them. What they have there is theirs here: a tool that
//! knows an operator by its oid finds it.

use super::{owner, routine, yes};
use crate::Value;
use crate::catalog::{AggregateParts, Callee, Catalog, Routine, oid_of};
use crate::system::reg::PG_CATALOG_OID;
use crate::system::{Rows, maybe, text};

/// A line: the oid, `oprname`, `oprkind`, `oprcanmerge`, `oprcanhash`, `oprleft`, `oprright`, `oprresult`, `oprcom`, `oprnegate`,
/// `oprcode`, `oprrest` and `oprjoin`.
const OPERATORS: &str = include_str!("../operators.tsv");

/// A line: the oid, `castsource`, `casttarget`, `castfunc`, `castcontext` and `castmethod`.
const CASTS: &str = include_str!("../casts.tsv");

/// A line: the columns of `pg_aggregate`.
const AGGREGATES: &str = include_str!("../aggregates.tsv");

fn number(field: &str) -> Value {
    Value::BigInt(field.parse().unwrap_or_default())
}

fn function(field: &str) -> Value {
    routine(field.parse().unwrap_or_default())
}

fn fields<const N: usize>(line: &'static str) -> Option<[&'static str; N]> {
    line.split('\t').collect::<Vec<_>>().try_into().ok()
}

pub(in crate::system::pg_catalog) fn pg_operator(_: &Catalog, rows: &mut Rows) {
    for [oid, name, kind, merges, hashes, rest @ ..] in OPERATORS.lines().filter_map(fields::<13>) {
        let [left, right, result, commutator, negator, ..] = rest.map(number);
        let [.., code, restriction, join] = rest.map(function);
        rows.put(vec![
            ("oid", number(oid)),
            ("oprname", text(name)),
            ("oprnamespace", Value::BigInt(PG_CATALOG_OID)),
            ("oprowner", owner()),
            ("oprkind", text(kind)),
            ("oprcanmerge", yes(merges == "t")),
            ("oprcanhash", yes(hashes == "t")),
            ("oprleft", left),
            ("oprright", right),
            ("oprresult", result),
            ("oprcom", commutator),
            ("oprnegate", negator),
            ("oprcode", code),
            ("oprrest", restriction),
            ("oprjoin", join),
        ]);
    }
}

/// The oids of what operators of this name take on their left, and on their right; 0: nothing.
pub(in crate::system) fn operators(symbol: &str) -> impl Iterator<Item = [i64; 2]> {
    let all = OPERATORS.lines().filter_map(fields::<13>).filter(move |fields| fields[1] == symbol);
    all.map(|fields| [fields[5], fields[6]].map(|oid| oid.parse().unwrap_or_default()))
}

/// Whether a function converts what has one oid to what has the other.
pub(in crate::system) fn is_function_cast(from: u32, to: u32) -> bool {
    let mut all = CASTS.lines().filter_map(fields::<6>);
    all.any(|[_, source, target, .., method]| method == "f" && source.parse() == Ok(from) && target.parse() == Ok(to))
}

/// The operator whose function has this oid.
pub(in crate::system::pg_catalog) fn operator_of(function: u32) -> Option<&'static str> {
    let mut all = OPERATORS.lines().filter_map(fields::<13>);
    all.find(|fields| fields[10].parse() == Ok(function)).map(|fields| fields[1])
}

pub(in crate::system::pg_catalog) fn pg_cast(_: &Catalog, rows: &mut Rows) {
    for [oid, source, target, function, context, method] in CASTS.lines().filter_map(fields) {
        rows.put(vec![
            ("oid", number(oid)),
            ("castsource", number(source)),
            ("casttarget", number(target)),
            ("castfunc", number(function)),
            ("castcontext", text(context)),
            ("castmethod", text(method)),
        ]);
    }
}

/// An aggregate of the schema's.
fn stored_aggregate(of: &Routine, parts: &AggregateParts) -> Vec<(&'static str, Value)> {
    let known = |callee: Option<Callee>| routine(callee.map_or(0, |callee| callee.oid().into()));
    vec![
        ("aggfnoid", routine(oid_of(of.id).into())),
        ("aggkind", text("n")),
        ("aggnumdirectargs", Value::SmallInt(0)),
        ("aggtransfn", known(Some(parts.transition))),
        ("aggfinalfn", known(parts.last)),
        ("aggcombinefn", known(None)),
        ("aggserialfn", known(None)),
        ("aggdeserialfn", known(None)),
        ("aggmtransfn", known(None)),
        ("aggminvtransfn", known(None)),
        ("aggmfinalfn", known(None)),
        ("aggfinalextra", yes(parts.last_extra)),
        ("aggmfinalextra", yes(false)),
        ("aggfinalmodify", text("r")),
        ("aggmfinalmodify", text("r")),
        ("aggsortop", Value::BigInt(0)),
        ("aggtranstype", Value::BigInt(parts.state.oid().into())),
        ("aggtransspace", Value::Integer(0)),
        ("aggmtranstype", Value::BigInt(0)),
        ("aggmtransspace", Value::Integer(0)),
        ("agginitval", maybe(parts.initial.as_deref().map(Value::text))),
        ("aggminitval", Value::Null),
    ]
}

pub(in crate::system::pg_catalog) fn pg_aggregate(catalog: &Catalog, rows: &mut Rows) {
    for of in catalog.routines().filter_map(|function| function.routine()) {
        of.aggregate.iter().for_each(|parts| rows.put(stored_aggregate(of, parts)));
    }
    let known = |field: &'static str| if field.is_empty() { Value::Null } else { text(field) };
    for [
        oid,
        kind,
        direct,
        functions @ ..,
        extra,
        moving_extra,
        modifies,
        moving_modifies,
        sort,
        state,
        space,
        moving_state,
        moving_space,
        initial,
        moving_initial,
    ] in AGGREGATES.lines().filter_map(fields::<22>)
    {
        let [transition, last, combine, serial, deserial, moving, inverse, moving_last] = functions.map(function);
        rows.put(vec![
            ("aggfnoid", function(oid)),
            ("aggkind", text(kind)),
            ("aggnumdirectargs", Value::SmallInt(direct.parse().unwrap_or_default())),
            ("aggtransfn", transition),
            ("aggfinalfn", last),
            ("aggcombinefn", combine),
            ("aggserialfn", serial),
            ("aggdeserialfn", deserial),
            ("aggmtransfn", moving),
            ("aggminvtransfn", inverse),
            ("aggmfinalfn", moving_last),
            ("aggfinalextra", yes(extra == "t")),
            ("aggmfinalextra", yes(moving_extra == "t")),
            ("aggfinalmodify", text(modifies)),
            ("aggmfinalmodify", text(moving_modifies)),
            ("aggsortop", number(sort)),
            ("aggtranstype", number(state)),
            ("aggtransspace", Value::Integer(space.parse().unwrap_or_default())),
            ("aggmtranstype", number(moving_state)),
            ("aggmtransspace", Value::Integer(moving_space.parse().unwrap_or_default())),
            ("agginitval", known(initial)),
            ("aggminitval", known(moving_initial)),
        ]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::exact_overload;
    use crate::system::pg_catalog::{BUILT_IN, built_in};
    use crate::types::{CastContext, DataType, TYPES, can_cast};

    fn data_type(oid: &str) -> Option<DataType> {
        let oid: u32 = oid.parse().ok()?;
        TYPES.iter().find(|info| info.oid == oid).map(|info| info.base)
    }

    #[test]
    fn every_operator_that_is_listed_is_there() {
        for [_, name, _, _, _, left, right, ..] in OPERATORS.lines().filter_map(fields::<13>) {
            let types: Vec<DataType> = [left, right].into_iter().filter_map(data_type).collect();
            let said = [left, right].into_iter().filter(|oid| *oid != "0").count();
            // Others are of any array, enum or row.
            if types.len() == said {
                assert!(exact_overload(name, &types).is_some(), "{name} {types:?}");
            }
        }
    }

    #[test]
    fn every_aggregate_is_listed_with_functions_that_are() {
        let listed: Vec<&str> = AGGREGATES.lines().filter_map(fields::<22>).map(|[oid, ..]| oid).collect();
        assert_eq!(listed.len(), AGGREGATES.lines().count());
        let aggregates = BUILT_IN.iter().filter(|of| of.kind == "a").map(|of| of.oid.to_string());
        assert_eq!(listed, aggregates.collect::<Vec<_>>());
        let is_there = |field: &str| field == "0" || field.parse().ok().and_then(built_in).is_some();
        for [_, _, _, functions @ .., _, _, _, _, _, _, _, _, _, _, _] in AGGREGATES.lines().filter_map(fields::<22>) {
            let functions: [&str; 8] = functions;
            assert!(functions.into_iter().all(is_there), "{functions:?}");
        }
        for [.., code, restriction, join] in OPERATORS.lines().filter_map(fields::<13>) {
            assert!([code, restriction, join].into_iter().all(is_there), "{code} {restriction} {join}");
        }
        for [.., function, _, _] in CASTS.lines().filter_map(fields::<6>) {
            assert!(is_there(function), "{function}");
        }
    }

    #[test]
    fn casts_are_done_where_the_list_says_so() {
        for [_, source, target, _, context, _] in CASTS.lines().filter_map(fields::<6>) {
            let (Some(source), Some(target)) = (data_type(source), data_type(target)) else { continue };
            let [least, less] = match context {
                "i" => [Some(CastContext::Implicit), None],
                "a" => [Some(CastContext::Assignment), Some(CastContext::Implicit)],
                _ => [Some(CastContext::Explicit), Some(CastContext::Assignment)],
            };
            let may = |context: Option<CastContext>| context.is_some_and(|context| can_cast(source, target, context));
            // A type's own modifiers are no matter of the context.
            assert!(may(least) && (source == target || !may(less)), "{source} {target} {context}");
        }
    }
}
