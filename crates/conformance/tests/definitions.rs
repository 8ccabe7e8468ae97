//! Definitions are told in the words of PostgreSQL 15, where one is installed: those of views, of functions, of triggers, of indexes, of
//! constraints, of defaults, made in the manner of applications' (`definitions/`).

use std::collections::BTreeMap;

use cairn_conformance::engine::{CairnEngine, Engine, PostgresEngine, PostgresServer};
use cairndb::split_script;

const SCHEMA: &str = include_str!("../definitions/schema.sql");
/// A query in each line.
const VIEWS: &str = include_str!("../definitions/views.sql");
const OTHERS: &str = include_str!("../definitions/others.sql");

/// What is asked for each kind of definition: a name, and texts.
const ASKED: &[(&str, &str)] = &[
    (
        "view",
        "SELECT relname, pg_get_viewdef(oid) FROM pg_class WHERE relkind IN ('v', 'm') AND relnamespace = 'public'::regnamespace",
    ),
    (
        "pretty view",
        "SELECT relname, pg_get_viewdef(oid, true) FROM pg_class WHERE relkind IN ('v', 'm') AND relnamespace = 'public'::regnamespace",
    ),
    (
        "wrapped view",
        "SELECT relname, pg_get_viewdef(oid, 60) FROM pg_class WHERE relkind IN ('v', 'm') AND relnamespace = 'public'::regnamespace",
    ),
    ("listed view", "SELECT viewname, definition FROM pg_views WHERE schemaname = 'public'"),
    (
        "standard view",
        "SELECT table_name::text, view_definition::text FROM information_schema.views WHERE table_schema = 'public'",
    ),
    (
        "rule",
        "SELECT c.relname, pg_get_ruledef(r.oid) FROM pg_rewrite r JOIN pg_class c ON c.oid = r.ev_class WHERE c.relname LIKE 'v1%' AND c.relkind = 'v' AND c.relnamespace = 'public'::regnamespace",
    ),
    (
        "function",
        "SELECT proname, pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace IN ('public'::regnamespace, 'sales'::regnamespace)",
    ),
    (
        "arguments",
        "SELECT proname, pg_get_function_arguments(oid) || ' / ' || pg_get_function_identity_arguments(oid) || ' / ' || coalesce(pg_get_function_result(oid), '-') FROM pg_proc WHERE pronamespace IN ('public'::regnamespace, 'sales'::regnamespace)",
    ),
    ("trigger", "SELECT tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal"),
    ("pretty trigger", "SELECT tgname, pg_get_triggerdef(oid, true) FROM pg_trigger WHERE NOT tgisinternal"),
    (
        "index",
        "SELECT c.relname, pg_get_indexdef(i.indexrelid) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE c.relnamespace IN ('public'::regnamespace, 'sales'::regnamespace)",
    ),
    (
        "pretty index",
        "SELECT c.relname, pg_get_indexdef(i.indexrelid, 0, true) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE c.relnamespace IN ('public'::regnamespace, 'sales'::regnamespace)",
    ),
    (
        "index's column",
        "SELECT c.relname || ' ' || n, pg_get_indexdef(i.indexrelid, n, false) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid, generate_series(1, 3) n WHERE c.relnamespace IN ('public'::regnamespace, 'sales'::regnamespace)",
    ),
    ("listed index", "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname IN ('public', 'sales')"),
    (
        "constraint",
        "SELECT coalesce(conrelid::regclass::text, '') || ' ' || conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace IN ('public'::regnamespace, 'sales'::regnamespace) AND contype IN ('c', 'f', 'p', 'u')",
    ),
    (
        "pretty constraint",
        "SELECT coalesce(conrelid::regclass::text, '') || ' ' || conname, pg_get_constraintdef(oid, true) FROM pg_constraint WHERE connamespace IN ('public'::regnamespace, 'sales'::regnamespace) AND contype IN ('c', 'f', 'p', 'u')",
    ),
    (
        "default",
        "SELECT c.relname || '.' || a.attname, pg_get_expr(d.adbin, d.adrelid) FROM pg_attrdef d JOIN pg_class c ON c.oid = d.adrelid JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum WHERE c.relnamespace IN ('public'::regnamespace, 'sales'::regnamespace)",
    ),
    (
        "pretty default",
        "SELECT c.relname || '.' || a.attname, pg_get_expr(d.adbin, d.adrelid, true) FROM pg_attrdef d JOIN pg_class c ON c.oid = d.adrelid JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum WHERE c.relnamespace IN ('public'::regnamespace, 'sales'::regnamespace)",
    ),
    (
        "standard default",
        "SELECT table_name || '.' || column_name, column_default::text FROM information_schema.columns WHERE table_schema IN ('public', 'sales') AND column_default IS NOT NULL",
    ),
    (
        "sequence",
        "SELECT 'author', pg_get_serial_sequence('author', 'id') UNION ALL SELECT 'post', pg_get_serial_sequence('public.post', 'id')",
    ),
    ("partition", "SELECT relname, pg_get_partkeydef(oid) FROM pg_class WHERE relname IN ('author', 'post')"),
];

/// What is told otherwise, by its kind's last word and its name, and why.
const OTHERWISE: &[(&str, &str, &str)] = &[
    ("function", "rows_of", "how many rows a function is thought to give is not kept"),
    ("view", "v188", "names of information_schema are of no domain"),
    ("rule", "v188", "names of information_schema are of no domain"),
];

type Told = BTreeMap<(String, String), String>;

/// What an engine tells, and what it refuses to make.
fn told(engine: &dyn Engine) -> (Told, Vec<String>) {
    let mut session = engine.session().expect("a session");
    let mut refused = Vec::new();
    let views = VIEWS.lines().enumerate().map(|(at, query)| format!("CREATE VIEW v{} AS {query}", at + 1));
    let others = split_script(OTHERS).map(|statement| statement.text.to_owned());
    let schema = split_script(SCHEMA).map(|statement| statement.text.to_owned());
    for statement in schema.chain(views).chain(others) {
        if let Err(failure) = session.run(&statement) {
            refused.push(format!("{}: {statement}", failure.message));
        }
    }
    let mut told = Told::new();
    for (kind, query) in ASKED {
        let answer = session.run(query).unwrap_or_else(|failure| panic!("{query}: {}", failure.message));
        for row in answer.rows {
            let [name, text] = <[Option<String>; 2]>::try_from(row).expect("two columns");
            told.insert(((*kind).to_owned(), name.unwrap_or_default()), text.unwrap_or_else(|| "NULL".to_owned()));
        }
    }
    (told, refused)
}

#[test]
fn definitions_are_told_as_postgresql_tells_them() {
    let Some(server) = PostgresServer::start_for_test() else { return };
    let (there, refused_there) = told(&PostgresEngine::create(&server).expect("a database"));
    assert!(refused_there.is_empty(), "{}", refused_there.join("\n"));
    let (here, refused_here) = told(&CairnEngine::create().expect("a database"));
    let is_known =
        |(kind, name): &(String, String)| OTHERWISE.iter().any(|(known, of, _)| kind.ends_with(known) && name == of);
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut different = Vec::new();
    for (key, expected) in &there {
        let found = here.get(key);
        let count = counts.entry(&key.0).or_default();
        count.1 += 1;
        match found == Some(expected) {
            true => count.0 += 1,
            false if is_known(key) => {}
            false => {
                different.push(format!("{} {}:\n{}\nthere:\n{expected}", key.0, key.1, found.map_or("-", |it| it)))
            }
        }
    }
    let alike: usize = counts.values().map(|count| count.0).sum();
    println!("{alike} of {} are alike: {counts:?}", there.len());
    assert!(different.is_empty() && refused_here.is_empty(), "{}\n{}", different.join("\n\n"), refused_here.join("\n"));
}
