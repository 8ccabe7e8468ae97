//! Operators, casts and aggregates: those that there are, as PostgreSQL 15 has them. What they have there is theirs here: a tool that
//! knows an operator by its oid finds it.

use super::{owner, routine, yes};
use crate::Value;
use crate::catalog::Catalog;
use crate::system::reg::PG_CATALOG_OID;
use crate::system::{Rows, text};

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

pub(in crate::system::pg_catalog) fn pg_aggregate(_: &Catalog, rows: &mut Rows) {
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
