//! The built-in functions, of those that there are, as PostgreSQL 15's `pg_proc` has them: what is called has the oid there that it has
//! elsewhere. What is a syntax of its own (`coalesce`, `greatest`, `trim`) has no row in either.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use super::rows::operator_of;
use crate::functions::{
    Declared, Function, Parallel, Parameter, Volatility, aggregate_overloads, exact_overload, overloads,
};
use crate::system::entries;
use crate::types::DataType;

/// A row of `pg_proc`.
#[derive(Debug)]
pub(in crate::system) struct BuiltIn {
    pub(in crate::system) oid: i64,
    pub(in crate::system) name: &'static str,
    /// `f`, `a` (an aggregate), `w` (a window function).
    pub(in crate::system) kind: &'static str,
    /// The type of the last argument's elements, if it may be given several times; or 0.
    pub(in crate::system) variadic: i64,
    pub(in crate::system) returns: i64,
    pub(in crate::system) arguments: Vec<i64>,
    /// What tells PostgreSQL's planner of its calls, or 0.
    pub(in crate::system) support: i64,
    /// Of what no call means here (a type's input, an operator's function), and so has no entry: `proretset`, `proisstrict`, `proleakproof`,
    /// `provolatile` and `proparallel`.
    uncalled: &'static str,
    /// Of the same: what its arguments are called, where they have names.
    parameters: Vec<Parameter>,
}

/// All of them, by oid. A line is the oid, `proname`, `prokind`, `provariadic`, `prorettype`, `proargtypes` and `prosupport`: what is promised
/// of a function its entry says ([`BuiltIn::promised`]), and what its arguments are called, or, where it has none, the line.
pub(in crate::system) static BUILT_IN: LazyLock<Vec<BuiltIn>> =
    LazyLock::new(|| include_str!("routines.tsv").lines().filter_map(of_line).collect());

fn of_line(line: &'static str) -> Option<BuiltIn> {
    let mut fields = line.split('\t');
    let mut next = || fields.next();
    Some(BuiltIn {
        oid: next()?.parse().ok()?,
        name: next()?,
        kind: next()?,
        variadic: next()?.parse().ok()?,
        returns: next()?.parse().ok()?,
        arguments: next()?.split_whitespace().filter_map(|oid| oid.parse().ok()).collect(),
        support: next()?.parse().ok()?,
        uncalled: next()?,
        parameters: next().map_or(Vec::new(), |names| names.split(' ').map(|name| (name, None)).collect()),
    })
}

/// What the entry of a function says of its calls.
pub(in crate::system) struct Promised {
    pub(in crate::system) set: bool,
    pub(in crate::system) strict: bool,
    pub(in crate::system) leakproof: bool,
    pub(in crate::system) volatility: Volatility,
    pub(in crate::system) parallel: Parallel,
}

/// What is called how.
pub(in crate::system) struct Names {
    pub(in crate::system) parameters: &'static [Parameter],
    pub(in crate::system) columns: Vec<(&'static str, Declared)>,
}

impl BuiltIn {
    /// What aggregates and window functions give rests on their rows, in whatever process.
    pub(in crate::system) fn promised(&self) -> Promised {
        if let [set, strict, leakproof, volatility, parallel] = self.uncalled.as_bytes() {
            return Promised {
                set: *set == b't',
                strict: *strict == b't',
                leakproof: *leakproof == b't',
                volatility: Volatility::of_letter(*volatility),
                parallel: Parallel::of_letter(*parallel),
            };
        }
        let aggregate = aggregate_overloads(self.name).first().filter(|_| self.kind == "a");
        let volatility = aggregate.map_or(Volatility::Immutable, |aggregate| aggregate.volatility);
        let parallel = Parallel::Safe;
        let strict = self.kind != "a" && !self.arguments.is_empty();
        let of_rows = Promised { set: false, strict, leakproof: false, volatility, parallel };
        self.entry().filter(|_| self.kind == "f").map_or(of_rows, |entry| Promised {
            set: entry.is_set(),
            strict: entry.strict,
            leakproof: entry.leakproof,
            volatility: entry.volatility,
            parallel: entry.parallel,
        })
    }

    /// What its arguments and the columns of its rows are called; `None`: some have no name.
    pub(in crate::system) fn names(&'static self) -> Option<Names> {
        if !self.parameters.is_empty() {
            return Some(Names { parameters: &self.parameters, columns: Vec::new() });
        }
        let entry = self.entry().filter(|_| self.kind == "f")?;
        let parameters = entry.parameters;
        let columns: Vec<_> = entry.declared_columns().filter(|(name, _)| !name.is_empty()).collect();
        let is_named = parameters.len() == self.arguments.len() && !(parameters.is_empty() && columns.is_empty());
        is_named.then_some(Names { parameters, columns })
    }

    /// The entry for its arguments, or, where these are otherwise there, of its name.
    fn entry(&self) -> Option<&'static Function> {
        if !self.uncalled.is_empty() {
            return None;
        }
        let of_system = entries(self.name).iter().map(|entry| &entry.function);
        let all = || overloads(self.name).iter().map(|function| &**function).chain(of_system.clone());
        let takes = |function: &&Function| {
            let mut each = (0..self.arguments.len()).map(|at| function.declared(at));
            function.args.len() == self.arguments.len()
                && each
                    .by_ref()
                    .zip(&self.arguments)
                    .all(|(declared, oid)| declared.map(|of| i64::from(of.oid())) == Some(*oid))
        };
        all().find(takes).or_else(|| all().next())
    }
}

/// What the functions of a name take that are neither aggregates nor windows' own, as far as there are values of such types.
pub(crate) fn listed(name: &str) -> impl Iterator<Item = Vec<Declared>> {
    let takes = |of: &&BuiltIn| of.arguments.iter().map(|oid| Declared::of_oid(*oid)).collect();
    named(name).iter().filter(|of| of.kind == "f").filter_map(takes)
}

/// A function that aggregates may name.
pub(crate) struct Listed {
    pub(crate) oid: u32,
    pub(crate) arguments: Vec<Declared>,
    pub(crate) returns: Declared,
    pub(crate) strict: bool,
}

/// Those of a name that give one value, as far as there are values of their types.
pub(crate) fn callees(name: &str) -> impl Iterator<Item = Listed> {
    named(name).iter().filter(|of| of.kind == "f" && !of.promised().set).filter_map(|of| {
        Some(Listed {
            oid: u32::try_from(of.oid).ok()?,
            arguments: of.arguments.iter().map(|oid| Declared::of_oid(*oid)).collect::<Option<_>>()?,
            returns: Declared::of_oid(of.returns)?,
            strict: of.promised().strict,
        })
    })
}

/// What a function of PostgreSQL's is here for these types, and whether it is not called with NULL: an entry of its name, the operator
/// whose function it is, or, of two values of a type, the greater or the less of them. `None`: it is not here.
pub(crate) fn callee(oid: u32, types: &[DataType]) -> Option<(Arc<Function>, bool)> {
    let of = built_in(oid.into())?;
    let operator = || exact_overload(operator_of(oid)?, types);
    let extreme = || {
        let larger = of.name.ends_with("larger").then_some("greatest");
        let name = larger.or_else(|| of.name.ends_with("smaller").then_some("least"))?;
        exact_overload(name, types).filter(|_| types.len() == 2)
    };
    let function = exact_overload(of.name, types).filter(|function| function.is_built_in());
    let function = function.or_else(operator).or_else(extreme)?;
    Some((function, of.promised().strict))
}

static BY_NAME: LazyLock<HashMap<&'static str, Vec<&'static BuiltIn>>> = LazyLock::new(|| {
    let mut by_name: HashMap<_, Vec<_>> = HashMap::new();
    BUILT_IN.iter().for_each(|of| by_name.entry(of.name).or_default().push(of));
    by_name
});

/// Those of a name, by oid.
pub(in crate::system) fn named(name: &str) -> &'static [&'static BuiltIn] {
    BY_NAME.get(name).map_or(&[], Vec::as_slice)
}

/// The one with this oid.
pub(in crate::system) fn built_in(oid: i64) -> Option<&'static BuiltIn> {
    BUILT_IN.binary_search_by_key(&oid, |of| of.oid).ok().map(|at| &BUILT_IN[at])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::extensions::EXTENSIONS;
    use crate::reference::{RoutineKind, routines};

    /// Those that PostgreSQL has in another schema, later, or not at all: they have no oid there.
    const NOT_LISTED: &[&str] = &[
        "information_schema._pg_expandarray",
        "json_matches_schema",
        "jsonb_matches_schema",
        "jsonschema_is_valid",
        "jsonschema_validation_errors",
        "merge_action",
    ];

    #[test]
    fn every_function_is_listed_by_its_name() {
        // Nor have those of extensions, but one that PostgreSQL has itself, too.
        let of_extensions = EXTENSIONS.iter().flat_map(|of| of.functions).filter(|name| **name != "gen_random_uuid");
        let not_listed: Vec<&str> = of_extensions.chain(NOT_LISTED).copied().collect();
        let missing = |name: &String, kind: &str| {
            let is_syntax = kind == "f" && overloads(name).iter().all(|function| function.syntax);
            !not_listed.contains(&name.as_str()) && !is_syntax && !named(name).iter().any(|of| of.kind == kind)
        };
        let kind = |kind: RoutineKind| match kind {
            RoutineKind::Operator => None,
            RoutineKind::Function => Some("f"),
            RoutineKind::Aggregate => Some("a"),
            RoutineKind::Window => Some("w"),
        };
        let all = routines().into_iter().filter_map(|of| Some((of.name, kind(of.kind)?)));
        let missing: Vec<_> = all.filter(|(name, kind)| missing(name, kind)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

    /// What columns name is there: a tool finds it by its oid.
    #[test]
    fn what_others_refer_to_is_listed() {
        assert!(BUILT_IN.iter().all(|of| of.support == 0 || built_in(of.support).is_some()));
    }

    #[test]
    fn the_list_is_in_order_and_whole() {
        assert_eq!(BUILT_IN.len(), include_str!("routines.tsv").lines().count());
        assert!(BUILT_IN.is_sorted_by(|a, b| a.oid < b.oid));
    }
}
