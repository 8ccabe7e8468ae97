//! Every built-in function and operator is as immutable, stable or volatile as in PostgreSQL, where one is installed: what is stored may rest on
//! what is immutable. And `pg_proc` says the same of each, as far as its entry does.

use std::collections::{BTreeMap, BTreeSet};

use cairn_conformance::engine::{CairnEngine, Engine, PostgresEngine, PostgresServer};
use cairndb::reference::{Routine, RoutineKind, catalog_routines, extensions, routines};

/// What there is by names: the types of arguments, and how it is called there.
type Known = BTreeMap<String, Vec<(String, String)>>;

const FUNCTIONS: &str = "
    SELECT proname, (SELECT string_agg(format_type(t, NULL), ', ' ORDER BY n) FROM unnest(proargtypes) WITH ORDINALITY u (t, n)),
           CASE provolatile WHEN 'i' THEN 'immutable' WHEN 's' THEN 'stable' ELSE 'volatile' END
    FROM pg_proc WHERE prokind = 'f'";

const OPERATORS: &str = "
    SELECT oprname, concat_ws(', ', format_type(nullif(oprleft, 0), NULL), format_type(oprright, NULL)),
           CASE provolatile WHEN 'i' THEN 'immutable' WHEN 's' THEN 'stable' ELSE 'volatile' END
    FROM pg_operator JOIN pg_proc p ON p.oid = oprcode";

/// What PostgreSQL reads as syntax, or does not have.
const NOT_THERE: &[&str] = &[
    "current_catalog",
    "current_date",
    "current_role",
    "current_time",
    "current_timestamp",
    "greatest",
    "information_schema._pg_expandarray",
    "json_matches_schema",
    "jsonb_matches_schema",
    "jsonschema_is_valid",
    "jsonschema_validation_errors",
    "least",
    "localtime",
    "localtimestamp",
    "merge_action",
    "trim",
    "user",
];

/// What is otherwise here: the age of times with a zone is told in the session's, and what is stored is the same for all sessions.
/// (A sign before an interval there is not.) A row's values are written and read as the session has it.
const OTHERWISE: &[(&str, &str)] = &[
    ("age", "timestamp with time zone, timestamp with time zone"),
    ("+", "interval"),
    ("#=", "anyelement, hstore"),
    ("populate_record", "anyelement, hstore"),
    ("hstore", "record"),
];

fn known(engine: &PostgresEngine<'_>, query: &str) -> Known {
    let answer = engine.session().expect("a session").run(query).expect("the catalog");
    let mut known = Known::new();
    for row in answer.rows {
        let [name, arguments, volatility] = &row[..] else { panic!("three columns") };
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        known.entry(text(name)).or_default().push((text(arguments), text(volatility)));
    }
    known
}

/// Makes the extensions that there are; the functions of others, which are not installed.
fn missing(engine: &PostgresEngine<'_>) -> Vec<&'static str> {
    let mut session = engine.session().expect("a session");
    let mut made = |name: &str| session.run(&format!("CREATE EXTENSION IF NOT EXISTS \"{name}\"")).is_ok();
    let others = extensions().filter(|of| !made(of.name));
    others.flat_map(|of| of.functions).copied().collect()
}

/// What PostgreSQL may call it: of those with its arguments, or else of all of its name.
fn called(known: &Known, routine: &Routine) -> BTreeSet<String> {
    let of_name = known.get(&routine.name).map_or(&[][..], Vec::as_slice);
    let arguments = routine.arguments.join(", ");
    let exact: BTreeSet<_> =
        of_name.iter().filter(|(known, _)| *known == arguments).map(|(_, it)| it.clone()).collect();
    if exact.is_empty() { of_name.iter().map(|(_, it)| it.clone()).collect() } else { exact }
}

#[test]
fn every_function_is_as_volatile_as_in_postgresql() {
    let Some(server) = PostgresServer::start_for_test() else { return };
    let engine = PostgresEngine::create(&server).expect("a database");
    let missing = missing(&engine);
    let (functions, operators) = (known(&engine, FUNCTIONS), known(&engine, OPERATORS));
    let (mut compared, mut wrong) = (0, Vec::new());
    for routine in routines().into_iter().chain(catalog_routines()) {
        let there = match routine.kind {
            RoutineKind::Function if NOT_THERE.contains(&routine.name.as_str()) => continue,
            RoutineKind::Function if missing.contains(&routine.name.as_str()) => continue,
            RoutineKind::Function => called(&functions, &routine),
            RoutineKind::Operator => called(&operators, &routine),
            RoutineKind::Aggregate | RoutineKind::Window => continue,
        };
        compared += 1;
        let is_other = OTHERWISE.contains(&(routine.name.as_str(), &routine.arguments.join(", ")));
        if !there.contains(routine.volatility) && !is_other {
            wrong.push(format!(
                "{}({}) is {}, there {there:?}",
                routine.name,
                routine.arguments.join(", "),
                routine.volatility
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {compared}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(compared > 800, "{compared}");
}

/// What `pg_proc` says of built-in functions: those that are here.
const PROMISES: &str = "
    SELECT oid::text, proname, prokind, proretset, provolatile, proisstrict, proleakproof, proparallel, prorettype::oid::text,
           proargtypes::text, proallargtypes::oid[]::text, proargmodes::text, proargnames::text, pronargdefaults
    FROM pg_proc WHERE oid < 10000 ORDER BY oid";

/// What is said otherwise, by name, and why.
const PROMISED_OTHERWISE: &[(&str, &str)] = &[
    ("age", "of times with a zone it is told in the session's, and what is stored is the same for all sessions"),
    ("pg_current_xact_id", "there is no type xid8: it gives a bigint"),
    ("pg_current_xact_id_if_assigned", "the same"),
    ("bpcharcmp", "it is named by classes of operators, and has no entry that could be called"),
];

#[test]
fn the_catalog_says_of_every_function_what_postgresql_says() {
    let Some(server) = PostgresServer::start_for_test() else { return };
    let engine = PostgresEngine::create(&server).expect("a database");
    let run = |engine: &dyn Engine| engine.session().expect("a session").run(PROMISES).expect("the catalog").rows;
    let there: BTreeSet<_> = run(&engine).into_iter().collect();
    let here = run(&CairnEngine::create().expect("a database"));
    let name = |row: &[Option<String>]| row[1].clone().unwrap_or_default();
    let is_known = |row: &[Option<String>]| PROMISED_OTHERWISE.iter().any(|(known, _)| *known == name(row));
    let other: Vec<_> = here.iter().filter(|row| !there.contains(*row) && !is_known(row)).collect();
    let of_oid = |row: &[Option<String>]| there.iter().find(|other| other[0] == row[0]).cloned();
    let shown: Vec<String> = other.iter().map(|row| format!("{row:?}, there {:?}", of_oid(row))).collect();
    assert!(shown.is_empty(), "{} of {}:\n{}", shown.len(), here.len(), shown.join("\n"));
    assert!(here.len() > 600, "{}", here.len());
    for (known, why) in PROMISED_OTHERWISE {
        assert!(here.iter().any(|row| name(row) == *known && !there.contains(row)), "{known} is as there: {why}");
    }
}
