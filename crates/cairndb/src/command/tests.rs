use super::{Command, Explain, SchemaCommand, SessionCommand, TransactionCommand, first_words, said_in_vain};
use crate::catalog::ObjectName;
use crate::sql::parse_one;

fn command(text: &str) -> Command {
    let parsed = parse_one(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
    Command::of(&parsed).unwrap_or_else(|error| panic!("{text}: {error:?}"))
}

/// The place and the feature that a text is refused for.
fn refused(text: &str) -> (usize, String) {
    let parsed = parse_one(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
    let explains = first_words(&parsed).is_some_and(|words| words.starts_with("EXPLAIN"));
    let error = match explains {
        true => Explain::of(&parsed).expect_err(text),
        false => Command::of(&parsed).expect_err(text),
    };
    assert_eq!(error.sqlstate().0, "0A000", "{text}");
    let feature = error.message().strip_suffix(" is not supported").unwrap_or_else(|| panic!("{text}: {error:?}"));
    (error.position().unwrap_or(0), feature.to_owned())
}

/// `^` stands before the place.
#[test]
fn what_cannot_be_done_is_refused_with_its_name_and_place() {
    let mut wrong = Vec::new();
    for (text, what) in [
        ("create function f() returns int ^language c as 'f'", "LANGUAGE c"),
        ("create function f() returns int ^transform for type t language sql as 'select 1'", "TRANSFORM"),
        (
            "create function f() returns int ^set timezone = 'utc' language sql as 'select 1'",
            "SET timezone as an option of a function",
        ),
        (
            "create function f() returns int ^set timezone from current language sql as 'select 1'",
            "SET timezone FROM CURRENT as an option of a function",
        ),
        ("^create policy p on t", "CREATE POLICY"),
        ("^create tablespace s location '/x'", "CREATE TABLESPACE"),
        ("^create event trigger e on ddl_command_start execute function f()", "CREATE EVENT TRIGGER"),
        ("^drop policy p on t", "DROP POLICY"),
        ("^alter function f() depends on extension e", "ALTER FUNCTION"),
        ("copy t to stdout ^encoding 'euc_tw'", "the encoding EUC_TW"),
        ("^create database d", "CREATE DATABASE"),
        ("^drop foreign table if exists v", "DROP FOREIGN TABLE"),
        ("create index i on t ^using gist (a)", "an index method other than btree and gin"),
        ("create index i on t (a text_ops ^(x = 1))", "an option of an operator class"),
        ("create table t (a int) ^inherits (u)", "INHERITS"),
        ("create table t (a int) ^partition by range (a)", "a partitioned table"),
        ("create table t ^partition of u default", "a partitioned table"),
        ("create table t ^of u", "a typed table"),
        ("create table t (a int) ^using columnar", "a table access method"),
        ("create table t (a text ^collate \"de_DE\")", "collation de_DE"),
        ("create table t (a int primary key ^with (fillfactor = 70))", "a storage parameter"),
        (
            "create table t (a int generated always as identity (^owned by t.b))",
            "OWNED BY of an identity column's sequence",
        ),
        (
            "create constraint trigger c after insert on t ^from u for each row execute function f()",
            "a constraint trigger FROM another table",
        ),
        ("create table t (a int, ^exclude (a with =))", "an exclusion constraint"),
        ("alter view v set (^security_barrier)", "the option security_barrier of a view"),
        ("alter table t add a int, ^enable row level security", "ALTER TABLE ... ENABLE ROW LEVEL SECURITY"),
        ("alter table t ^attach partition u default", "a partitioned table"),
        ("^alter sequence s set logged", "ALTER SEQUENCE ... SET LOGGED"),
        ("^alter index i set (fillfactor = 70)", "ALTER INDEX ... SET"),
        ("comment on ^cast (int as text) is 'x'", "COMMENT ON CAST"),
        ("analyze ^verbose", "ANALYZE VERBOSE"),
        ("analyze t ^(a)", "ANALYZE of some columns"),
        ("set ^role r", "SET ROLE"),
        ("set ^session authorization default", "SET SESSION AUTHORIZATION"),
        ("set time zone ^interval '1' hour", "an interval as a time zone"),
        ("declare c ^binary cursor for select 1", "a BINARY cursor"),
        ("^reindex (verbose) table t", "REINDEX (VERBOSE)"),
        ("^analyze (verbose) t", "ANALYZE VERBOSE"),
        ("^commit prepared 'x'", "COMMIT PREPARED"),
        ("^lock table t", "LOCK TABLE"),
        ("explain (analyze, ^wal) select 1", "EXPLAIN (WAL)"),
        ("explain (analyze, ^format xml) select 1", "EXPLAIN (FORMAT XML)"),
        ("explain ^refresh materialized view v", "EXPLAIN of REFRESH MATERIALIZED VIEW"),
        (
            "^explain analyze create materialized view v with (maintained) as select 1",
            "EXPLAIN ANALYZE of a materialized view that is maintained",
        ),
    ] {
        let place = text.find('^').expect(text) + 1;
        let found = refused(&text.replace('^', ""));
        if found != (place, what.to_owned()) {
            wrong.push(format!("{text}: {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A notice says that it does nothing.
#[test]
fn what_only_postgresqls_storage_and_roles_know_is_taken() {
    for text in [
        "grant select on t to r",
        "grant r to s with admin option granted by t",
        "revoke admin option for r from s",
        "revoke all on schema s from public cascade",
        "alter default privileges in schema s grant select on tables to r",
        "create index i on t using hash (a)",
        "create index i on t (a) with (fillfactor = 70)",
        "create table t (a int) with (fillfactor = 70, autovacuum_enabled = off, toast.vacuum_truncate)",
        "alter table t alter a set statistics 10, alter a set storage plain, alter a set compression lz4, cluster on i",
        "alter table t set without cluster, set (fillfactor = 70), reset (fillfactor), replica identity full",
        "alter table t set unlogged, set tablespace x, disable row level security, no force row level security",
        "alter table t alter a set (n_distinct = 5), alter a reset (n_distinct)",
        "create table t (a int compression lz4, primary key (a) using index tablespace x) using heap tablespace x",
        "create index i on t (a) tablespace x",
        "create unlogged table t as select 1",
        "select 1 into unlogged t",
        "create unlogged sequence s",
        "create function f() returns int set work_mem = '1MB' set enable_seqscan = off language sql as 'select 1'",
        "create function f() returns int set search_path from current language sql as 'select 1'",
        "alter function f() reset work_mem",
        "create or replace procedural language plpgsql",
    ] {
        command(text);
    }
    for (text, notice) in [
        ("create publication p for all tables", "CREATE PUBLICATION does nothing: nothing is replicated"),
        ("alter publication p owner to x", "ALTER PUBLICATION does nothing"),
        ("create subscription s connection 'x' publication p", "CREATE SUBSCRIPTION does nothing"),
        ("drop subscription if exists s", "DROP SUBSCRIPTION does nothing"),
        ("create statistics s (ndistinct) on a, b from t", "CREATE STATISTICS does nothing"),
        ("alter statistics s set statistics 10", "ALTER STATISTICS does nothing"),
        ("comment on statistics s is 'x'", "COMMENT ON STATISTICS does nothing"),
        ("comment on language plpgsql is 'x'", "COMMENT ON LANGUAGE does nothing"),
        ("alter procedural language plpgsql owner to x", "ALTER LANGUAGE does nothing"),
        ("drop policy if exists p on t", "DROP POLICY IF EXISTS does nothing: there is none"),
        ("drop cast if exists (int as text)", "DROP CAST IF EXISTS does nothing: there is none"),
        ("drop event trigger if exists e", "DROP EVENT TRIGGER IF EXISTS does nothing: there is none"),
    ] {
        let Command::Schema(SchemaCommand::InVain(said)) = command(text) else { panic!("{text} does something") };
        assert!(said.notice.starts_with(notice), "{text}: {}", said.notice);
    }
    for (text, notices) in [
        ("create unlogged table t (a int compression lz4) tablespace fast", 3),
        ("select 1 into unlogged t", 1),
        ("alter table t add primary key (a) using index tablespace fast", 1),
        ("create function f() returns int set work_mem = '1MB' language sql as 'select 1'", 1),
        ("create table t (a int) tablespace pg_default", 0),
    ] {
        let found = said_in_vain(&parse_one(text).expect("parses"));
        assert!(
            found.len() == notices && found.iter().all(|notice| notice.contains("does nothing")),
            "{text}: {found:?}"
        );
    }
    for (text, state) in [
        ("create table t (a text compression zip)", "22023"),
        ("create function f() returns int set work_mem = 'x' language sql as 'select 1'", "22023"),
        ("create unlogged view v as select 1", "42601"),
    ] {
        assert_eq!(Command::of(&parse_one(text).expect("parses")).expect_err(text).sqlstate().0, state, "{text}");
    }
    let parsed = parse_one("create table t (a int) with (engine = 'x')").expect("parses");
    let error = Command::of(&parsed).expect_err("refused");
    assert_eq!((error.sqlstate().0, error.message()), ("22023", "unrecognized parameter \"engine\""));
}

#[test]
fn what_says_what_is_so_anyway_is_taken() {
    for text in [
        "create table t (a int null default 1, check (a > 1) no inherit not deferrable initially immediate) without oids",
        "create table t (a text collate \"C\" references only_one match simple on update no action)",
        "create table t (a int constraint c primary key, b int unique nulls distinct)",
        "alter table t set logged",
        "create index on only t using btree (a collate pg_catalog.\"default\" desc nulls last)",
        "create sequence s as int cache 1 owned by none no cycle no minvalue",
        "alter table only public.t owner to somebody, validate constraint c",
        "drop view if exists a, public.b restrict",
        "truncate only t, u continue identity restrict",
        "vacuum (full, verbose) t",
        "comment on schema public is null",
        "set session characteristics as transaction isolation level read committed, read write",
        "begin transaction isolation level repeatable read, read write, not deferrable",
        "set names 'utf8'",
        "discard temp",
    ] {
        command(text);
    }
    let parsed = parse_one("explain (buffers off, format text, costs 0, analyze) select 1").expect("parses");
    let explain = Explain::of(&parsed).expect("options");
    let told = explain.told;
    assert!(told.analyze && !told.costs && told.timing && told.summary);
}

#[test]
fn settings_are_told_with_their_values() {
    for (text, name, value, local) in [
        ("set work_mem = '4MB'", "work_mem", Some("4MB"), false),
        ("set session a.B to Off", "a.b", Some("off"), false),
        ("set local x = -5", "x", Some("-5"), true),
        ("set search_path to \"$user\", public", "search_path", Some("\"$user\", public"), false),
        ("set x to true", "x", Some("true"), false),
        ("set x to default", "x", None, false),
        ("set time zone 'Europe/Berlin'", "timezone", Some("Europe/Berlin"), false),
        ("set local time zone local", "timezone", None, true),
        ("set time zone -8", "timezone", Some("-8"), false),
        ("set schema 's'", "search_path", Some("s"), false),
    ] {
        let Command::Session(SessionCommand::Set { name: found, value: said, local: is_local }) = command(text) else {
            panic!("{text} is no setting")
        };
        assert_eq!((found.as_str(), said.as_deref(), is_local), (name, value, local), "{text}");
    }
}

#[test]
fn the_last_access_mode_counts() {
    for (text, expected) in [
        ("begin", None),
        ("begin read only", Some(true)),
        ("start transaction isolation level serializable, read only", Some(true)),
        ("begin work read only, read write", Some(false)),
    ] {
        let Command::Transaction(TransactionCommand::Begin { read_only, .. }) = command(text) else {
            panic!("{text} begins nothing")
        };
        assert_eq!(read_only, expected, "{text}");
    }
}

#[test]
fn contradictions_and_unknown_options_are_syntax_errors() {
    for (text, place) in [
        ("create sequence s start 1 start 2", 27),
        ("create sequence s start 1.5", 19),
        ("alter sequence s restart restart 5", 26),
        ("alter table t alter a restart set generated always set generated always", 52),
        ("create table t (a int generated always as identity (increment 1 increment 2))", 65),
        ("create table t (a int deferrable)", 23),
        ("create table t (a int check (a > 1) not deferrable)", 37),
        ("create table t (a int unique deferrable, b int default 1 initially deferred)", 58),
        ("create sequence s sequence name q", 19),
        ("alter sequence s sequence name q", 18),
        ("alter table t alter a set sequence name q", 27),
        ("alter table t reset (fillfactor = 10)", 22),
        ("alter view t reset (check_option = local)", 21),
        ("create function f() returns int language sql immutable stable as 'select 1'", 56),
        ("create function f() returns int language sql parallel often as 'select 1'", 46),
        ("do 'begin end' 'begin end'", 1),
    ] {
        let error = Command::of(&parse_one(text).expect("parses")).expect_err(text);
        assert_eq!((error.sqlstate().0, error.position()), ("42601", Some(place)), "{text}: {error:?}");
    }
    for (text, place, state) in [
        ("create table t (a int) with (fillfactor = 10, fillfactor = 20)", 47, "22023"),
        ("alter table t set (change_feed = on, engine = 1)", 38, "22023"),
        ("create function f() returns int language sql cost 0 as 'select 1'", 46, "22023"),
        ("create procedure f() language sql immutable as 'select 1'", 35, "42P13"),
        ("create index i on t (a mine.int4_ops)", 24, "42704"),
    ] {
        let error = Command::of(&parse_one(text).expect("parses")).expect_err(text);
        assert_eq!((error.sqlstate().0, error.position()), (state, Some(place)), "{text}: {error:?}");
    }
    for text in ["explain (nothing) select 1", "explain (analyze maybe) select 1"] {
        let error = Explain::of(&parse_one(text).expect("parses")).expect_err(text);
        assert_eq!((error.sqlstate().0, error.position()), ("42601", Some(10)), "{text}");
    }
}

#[test]
fn names_are_folded_and_have_at_most_a_schema() {
    let Command::Schema(SchemaCommand::Drop(drop)) = command("drop table Public.A, \"B\" cascade") else {
        panic!("no DROP")
    };
    assert_eq!(
        (drop.names, drop.cascade, drop.if_exists),
        (vec![ObjectName::new(Some("public"), "a"), "B".into()], true, false)
    );
    let error = Command::of(&parse_one("truncate a.b.c").expect("parses")).expect_err("a name of three parts");
    assert_eq!((error.sqlstate().0, error.position()), ("0A000", Some(10)));
}
