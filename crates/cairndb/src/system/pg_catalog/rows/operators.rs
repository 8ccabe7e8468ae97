//! Operators, casts and aggregates: those that there are, as PostgreSQL 15 has them. What they have there is theirs here: a tool that
//! knows an operator by its oid finds it.

use super::super::BUILT_IN;
use super::{owner, yes};
use crate::Value;
use crate::catalog::Catalog;
use crate::system::reg::PG_CATALOG_OID;
use crate::system::{Rows, text};

/// A line: the oid, `oprname`, `oprkind`, `oprcanmerge`, `oprcanhash`, `oprleft`, `oprright`, `oprresult`, `oprcom`, `oprnegate`
/// and `oprcode`.
const OPERATORS: &str = include_str!("../operators.tsv");

/// A line: the oid, `castsource`, `casttarget`, `castfunc`, `castcontext` and `castmethod`.
const CASTS: &str = include_str!("../casts.tsv");

/// Aggregates that are no plain ones, with how many of their arguments stand in front of WITHIN GROUP.
const ORDERED_SETS: &[(&str, i16)] = &[("mode", 0), ("percentile_cont", 1), ("percentile_disc", 1)];

fn number(field: &str) -> Value {
    Value::BigInt(field.parse().unwrap_or_default())
}

fn fields<const N: usize>(line: &'static str) -> Option<[&'static str; N]> {
    line.split('\t').collect::<Vec<_>>().try_into().ok()
}

pub(in crate::system::pg_catalog) fn pg_operator(_: &Catalog, rows: &mut Rows) {
    for [oid, name, kind, merges, hashes, rest @ ..] in OPERATORS.lines().filter_map(fields::<11>) {
        let [left, right, result, commutator, negator, code] = rest.map(number);
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
    for of in BUILT_IN.iter().filter(|of| of.kind == "a") {
        let direct = ORDERED_SETS.iter().find(|(name, _)| *name == of.name).map(|(_, direct)| *direct);
        rows.put(vec![
            ("aggfnoid", Value::BigInt(of.oid)),
            ("aggkind", text(if direct.is_some() { "o" } else { "n" })),
            ("aggnumdirectargs", Value::SmallInt(direct.unwrap_or(0))),
        ]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::exact_overload;
    use crate::types::{CastContext, DataType, TYPES, can_cast};

    fn data_type(oid: &str) -> Option<DataType> {
        let oid: u32 = oid.parse().ok()?;
        TYPES.iter().find(|info| info.oid == oid).map(|info| info.base)
    }

    #[test]
    fn every_operator_that_is_listed_is_there() {
        for [_, name, _, _, _, left, right, ..] in OPERATORS.lines().filter_map(fields::<11>) {
            let types: Vec<DataType> = [left, right].into_iter().filter_map(data_type).collect();
            let said = [left, right].into_iter().filter(|oid| *oid != "0").count();
            // Others are of any array, enum or row.
            if types.len() == said {
                assert!(exact_overload(name, &types).is_some(), "{name} {types:?}");
            }
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
