//! Conversations that were thought of.

use crate::Both;
use crate::talk::Talk;

/// Name by name, what a client says.
fn scenarios() -> Vec<(&'static str, Talk)> {
    let mut all = Vec::new();
    all.extend(simple());
    all.extend(implicit());
    all.extend(extended());
    all.extend(portals());
    all.extend(cursors());
    all.extend(parameters());
    all.extend(commands());
    all.extend(copies());
    all.extend(malformed());
    all
}

fn simple() -> Vec<(&'static str, Talk)> {
    let new = Talk::new;
    vec![
        ("one statement", new().query("SELECT * FROM t ORDER BY id")),
        ("several", new().query("SELECT 1 AS a; SELECT 'x'::text AS b, true; SHOW server_encoding")),
        ("none", new().query("").query(" ; ;").query("-- only this")),
        ("an error", new().query("SELECT nope FROM t").query("SELECT 1/(id-id) FROM t")),
        ("an error behind another statement", new().query("SELECT 1;\n SELECT nope").query("SELECT 1; SELEC 2")),
        ("transactions", new().query("BEGIN").query("SELECT 1/(id-id) FROM t").query("SELECT 1").query("COMMIT").query("SELECT 2")),
        ("modes", new().query("BEGIN READ ONLY").query("DELETE FROM t").query("ROLLBACK")),
        ("warnings", new().query("COMMIT").query("BEGIN; BEGIN; ROLLBACK")),
        ("notices", new().query("DROP TABLE IF EXISTS nothing")),
        ("tags", new().query("CREATE TABLE tags (a int); INSERT INTO tags VALUES (1), (2); UPDATE tags SET a = 3; DELETE FROM tags; DROP TABLE tags")),
        ("returning", new().query("BEGIN; INSERT INTO t VALUES (7) RETURNING id, name; ROLLBACK")),
        ("constraints", new().query("INSERT INTO t VALUES (1)")),
        ("no columns", new().query("SELECT FROM t")),
    ]
}

fn implicit() -> Vec<(&'static str, Talk)> {
    let new = Talk::new;
    let count = "SELECT count(*) FROM t";
    vec![
        (
            "an error undoes what came with it",
            new().query("INSERT INTO t VALUES (50); SELECT 1/(id-id) FROM t").query(count),
        ),
        ("BEGIN takes over", new().query("INSERT INTO t VALUES (51); BEGIN; SELECT 1").query("ROLLBACK").query(count)),
        ("COMMIT ends", new().query("DELETE FROM t WHERE id = 99; COMMIT; SELECT 1/(id-id) FROM t").query(count)),
        ("ROLLBACK ends", new().query("INSERT INTO t VALUES (52); ROLLBACK; SELECT 1").query(count)),
        ("SAVEPOINT is refused", new().query("SELECT 1; SAVEPOINT a; SELECT 2").query("SELECT 3")),
        ("RELEASE is refused", new().query("SELECT 1; RELEASE a")),
        ("ROLLBACK TO is refused", new().query("SELECT 1; ROLLBACK TO a")),
        ("CHAIN is refused", new().query("SELECT 1; COMMIT AND CHAIN").query("SELECT 1; ROLLBACK AND CHAIN")),
        (
            "a transaction of the client's stays open",
            new().query("BEGIN; SELECT 1").query("SELECT 2; SELECT 3").query("COMMIT; SELECT 4"),
        ),
        (
            "a pipeline is one transaction",
            new()
                .run("INSERT INTO t VALUES (53)", &[])
                .run("SELECT 1/(id-id) FROM t", &[])
                .run("SELECT 1", &[])
                .sync()
                .query(count),
        ),
        (
            "BEGIN in a pipeline",
            new().run("SELECT 1", &[]).run("BEGIN", &[]).run("SELECT 2", &[]).sync().query("ROLLBACK"),
        ),
        (
            "COMMIT in a pipeline",
            new().run("SELECT 1", &[]).run("COMMIT", &[]).run("SELECT 1/(id-id) FROM t", &[]).sync().query("SELECT 1"),
        ),
        (
            "ROLLBACK in a pipeline",
            new().run("INSERT INTO t VALUES (54)", &[]).run("ROLLBACK", &[]).sync().query(count),
        ),
    ]
}

fn extended() -> Vec<(&'static str, Talk)> {
    let new = Talk::new;
    vec![
        ("one round", new().run("SELECT id, name FROM t WHERE id = $1", &[Some("2")]).sync()),
        ("in binary", new().parse("", "SELECT 1::int2, 2, 3::int8, 1.5::float8, 'x'::text, true, 2.50::numeric(6,2), date '2020-02-29', NULL::int", &[]).bind("", "", &[], true).describe('P', "").execute("", 0).sync()),
        ("describing a statement", new().parse("", "SELECT $1 + 1, $2::text, name FROM t WHERE id = $3", &[]).describe('S', "").sync()),
        ("declared types", new().parse("", "SELECT $1, $2", &[23, 1700]).describe('S', "").bind("", "", &[Some("7"), Some("1.50")], false).execute("", 0).sync()),
        ("names", new().parse("a", "SELECT 1", &[]).parse("a", "SELECT 2", &[]).sync().bind("", "a", &[], false).execute("", 0).close('S', "a").sync().bind("", "a", &[], false).sync()),
        ("what is not there", new().bind("", "no", &[], false).sync().describe('S', "no").sync().describe('P', "no").sync().execute("no", 0).sync().close('S', "no").close('P', "no").sync()),
        ("no statement without a name", new().bind("", "", &[], false).sync().describe('S', "").sync()),
        ("behind an error all is skipped", new().parse("", "SELECT nope", &[]).bind("", "", &[], false).execute("", 0).query("SELECT 1").sync().query("SELECT 2")),
        ("nothing to run", new().parse("", "", &[]).describe('S', "").bind("", "", &[], false).describe('P', "").execute("", 0).sync()),
        ("several in one", new().parse("", "SELECT 1; SELECT 2", &[]).sync()),
        ("no rows", new().run("CREATE TABLE made (a int)", &[]).sync().run("DROP TABLE made", &[]).sync()),
        ("returning", new().query("BEGIN").run("UPDATE t SET n = 9 WHERE id = $1 RETURNING n", &[Some("1")]).sync().query("ROLLBACK")),
        ("flush", new().parse("", "SELECT 1", &[]).flush().bind("", "", &[], false).flush().execute("", 0).flush().sync()),
        ("an error fails the transaction", new().query("BEGIN").parse("", "SELECT nope", &[]).sync().parse("", "SELECT 1", &[]).sync().run("ROLLBACK", &[]).sync()),
        ("a name that is not there fails the transaction", new().query("BEGIN").bind("", "no", &[], false).sync().query("ROLLBACK")),
        ("binding in a failed transaction", new().parse("a", "SELECT 1", &[]).sync().query("BEGIN; SELECT 1/(id-id) FROM t").bind("", "a", &[], false).sync().describe('S', "a").sync().query("ROLLBACK")),
        ("the statement without a name survives Sync", new().parse("", "SELECT 1", &[]).sync().bind("", "", &[], false).execute("", 0).sync()),
        ("a simple query takes it away", new().parse("", "SELECT 1", &[]).sync().query("SELECT 2").bind("", "", &[], false).sync()),
        ("SQL executes what the protocol has prepared", new().parse("a", "SELECT $1::int + 1 AS b", &[]).sync().query("EXECUTE a(1)").query("SELECT name || statement || parameter_types::text, from_sql FROM pg_prepared_statements").query("DEALLOCATE a").bind("", "a", &[], false).sync().query("EXECUTE a(1)").query("DEALLOCATE a")),
        ("the protocol executes what SQL has prepared", new().query("PREPARE a AS SELECT $1::int + 1 AS b").describe('S', "a").bind("", "a", &[Some("1")], true).execute("", 0).sync().bind("", "a", &[Some("2")], false).describe('P', "").execute("", 0).sync().query("DEALLOCATE a").describe('S', "a").sync()),
        ("a name is one of both", new().query("PREPARE a AS SELECT 1").parse("a", "SELECT 2", &[]).sync().close('S', "a").sync().query("EXECUTE a").parse("a", "SELECT 3", &[]).sync().query("PREPARE a AS SELECT 4").query("EXECUTE a").close('S', "a").sync().query("EXECUTE a")),
        ("all are deallocated", new().query("PREPARE a AS SELECT 1").parse("b", "SELECT 2", &[]).parse("c", "SELECT 3", &[]).sync().query("DEALLOCATE c").bind("", "b", &[], false).execute("", 0).bind("", "c", &[], false).sync().query("DEALLOCATE ALL").bind("", "b", &[], false).sync().bind("", "a", &[], false).sync()),
        ("names in a transaction that failed", new().query("PREPARE a AS SELECT 1").query("BEGIN; SELECT 1/(id-id) FROM t").bind("", "a", &[], false).sync().bind("", "no", &[], false).sync().query("ROLLBACK").bind("", "a", &[], false).execute("", 0).sync()),
        ("a portal goes on without its statement", new().query("BEGIN").parse("a", "SELECT id FROM t ORDER BY id", &[]).bind("p", "a", &[], false).execute("p", 1).sync().query("DEALLOCATE a").execute("p", 1).sync().query("COMMIT")),
        ("settings", new().run("SHOW server_encoding", &[]).sync()),
        ("syncs alone", new().sync().sync()),
    ]
}

fn cursors() -> Vec<(&'static str, Talk)> {
    let new = Talk::new;
    let ids = "SELECT id FROM t ORDER BY id";
    let open = || new().query("BEGIN").parse("", ids, &[]).bind("p", "", &[], false);
    let of = |text: &str| new().query("BEGIN").parse("", text, &[]).bind("p", "", &[], false);
    let declared = || new().query(&format!("BEGIN; DECLARE c CURSOR FOR {ids}"));
    let held = || new().query(&format!("BEGIN; DECLARE c CURSOR WITH HOLD FOR {ids}; COMMIT"));
    let failing = "SELECT 1/(id-id) FROM t";
    let adding = "INSERT INTO t VALUES (60), (61) RETURNING id";
    let listed =
        "SELECT name, statement, is_holdable, is_binary, is_scrollable FROM pg_cursors WHERE name <> '' ORDER BY name";
    let taking =
        "DO $$ DECLARE c refcursor := 'p'; r record; BEGIN FETCH c INTO r; RAISE NOTICE '%', r; CLOSE c; END $$";
    let end = |talk: Talk| talk.query("ROLLBACK");
    vec![
        (
            "FETCH goes on where Execute stopped",
            open().execute("p", 1).sync().query("FETCH p").execute("p", 0).sync().query("FETCH p").query("COMMIT"),
        ),
        (
            "Execute goes on where FETCH stopped",
            open()
                .sync()
                .query("FETCH 2 FROM p")
                .execute("p", 1)
                .sync()
                .execute("p", 1)
                .sync()
                .query("FETCH p")
                .query("COMMIT"),
        ),
        ("a portal goes forward", end(open().execute("p", 2).sync().query("FETCH BACKWARD 1 FROM p"))),
        (
            "a portal goes forward to a row",
            end(open().execute("p", 1).sync().query("FETCH ABSOLUTE 3 FROM p").query("FETCH 0 FROM p")),
        ),
        ("MOVE in a portal", end(open().sync().query("MOVE 2 IN p").execute("p", 0).sync())),
        ("CLOSE of a portal", end(open().sync().query("CLOSE p").execute("p", 0).sync())),
        (
            "CLOSE ALL",
            end(open()
                .sync()
                .query(&format!("DECLARE c CURSOR FOR {ids}; CLOSE ALL"))
                .execute("c", 0)
                .sync()
                .execute("p", 0)
                .sync()),
        ),
        ("CLOSE ALL in a portal", end(of("CLOSE ALL").execute("p", 0).execute("p", 0).sync())),
        ("CLOSE in the portal that it closes", end(of("CLOSE p").execute("p", 0).sync())),
        ("FETCH in the portal that it fetches from", end(of("FETCH p").execute("p", 0).sync())),
        ("DECLARE of a portal's name", end(open().sync().query("DECLARE p CURSOR FOR SELECT 1"))),
        ("Bind of a cursor's name", end(declared().parse("", ids, &[]).bind("c", "", &[], false).sync())),
        (
            "Bind of a cursor's name with what is no value",
            end(declared().parse("", "SELECT $1::int", &[]).bind("c", "", &[Some("x")], false).sync()),
        ),
        (
            "Bind of a name that was closed",
            end(declared().query("CLOSE c").parse("", ids, &[]).bind("c", "", &[], false).execute("c", 0).sync()),
        ),
        (
            "Execute of a cursor",
            end(declared()
                .execute("c", 2)
                .sync()
                .query("FETCH c")
                .execute("c", 0)
                .execute("c", 0)
                .sync()
                .describe('P', "c")
                .close('P', "c")
                .sync()
                .query("FETCH c")),
        ),
        (
            "Execute of a cursor that scrolls",
            end(new()
                .query(&format!("BEGIN; DECLARE c SCROLL CURSOR FOR {ids}"))
                .execute("c", 0)
                .sync()
                .query("FETCH PRIOR c")
                .execute("c", 0)
                .sync()),
        ),
        (
            "Execute of a cursor that was held",
            held().execute("c", 2).sync().execute("c", 2).sync().close('P', "c").sync().execute("c", 0).sync(),
        ),
        (
            "Execute of a cursor that was held and declared again",
            held()
                .execute("c", 2)
                .sync()
                .query("CLOSE c")
                .query("DECLARE c CURSOR WITH HOLD FOR SELECT name FROM t ORDER BY id")
                .describe('P', "c")
                .execute("c", 1)
                .sync()
                .query("CLOSE c"),
        ),
        ("Close of a cursor", end(declared().close('P', "c").sync().query("FETCH c"))),
        ("a portal that returns nothing is listed", end(of("DELETE FROM t").sync().query(listed))),
        (
            "a portal that was run and returned nothing",
            end(of("DELETE FROM t").execute("p", 0).sync().query("FETCH p")),
        ),
        (
            "rows of what changes rows",
            end(of(adding).sync().query("FETCH p").execute("p", 0).execute("p", 0).sync().query("FETCH p")),
        ),
        (
            "rows of what has changed rows",
            end(of(adding).execute("p", 1).sync().query("FETCH p").execute("p", 0).sync().query("FETCH p")),
        ),
        (
            "rows of SHOW",
            end(of("SHOW server_encoding").sync().query("FETCH p").query("FETCH p").execute("p", 0).sync()),
        ),
        (
            "nothing to run is listed, and closed",
            end(of("").sync().query(listed).query("CLOSE p").execute("p", 0).sync()),
        ),
        (
            "all are listed",
            end(open()
                .bind("q", "", &[], false)
                .sync()
                .query(&format!("DECLARE c SCROLL CURSOR FOR {ids}"))
                .query(listed)),
        ),
        ("a portal lists itself", new().parse("", listed, &[]).bind("p", "", &[], false).execute("p", 0).sync()),
        (
            "opened behind a savepoint",
            end(new()
                .query("BEGIN; SAVEPOINT s")
                .parse("", ids, &[])
                .bind("p", "", &[], false)
                .sync()
                .query("ROLLBACK TO s")
                .execute("p", 0)
                .sync()),
        ),
        (
            "opened before a savepoint",
            end(open().execute("p", 1).sync().query("SAVEPOINT s").query("ROLLBACK TO s").execute("p", 0).sync()),
        ),
        (
            "in a failed transaction",
            end(open()
                .sync()
                .query("SELECT nope")
                .execute("p", 0)
                .sync()
                .execute("no", 0)
                .sync()
                .query("FETCH p")
                .describe('P', "p")
                .sync()
                .describe('P', "no")
                .sync()
                .close('P', "p")
                .execute("p", 0)
                .sync()),
        ),
        (
            "a cursor in a failed transaction",
            end(declared()
                .query("SELECT nope")
                .execute("c", 0)
                .sync()
                .describe('P', "c")
                .sync()
                .close('P', "c")
                .sync()
                .execute("c", 0)
                .sync()),
        ),
        (
            "FETCH is described",
            end(open()
                .sync()
                .parse("", "FETCH p", &[])
                .describe('S', "")
                .bind("", "", &[], false)
                .describe('P', "")
                .execute("", 0)
                .sync()),
        ),
        (
            "FETCH is prepared before its cursor is there",
            end(new()
                .query("BEGIN")
                .parse("f", "FETCH 2 FROM c", &[])
                .describe('S', "f")
                .sync()
                .query(&format!("DECLARE c CURSOR FOR {ids}"))
                .bind("", "f", &[], true)
                .describe('P', "")
                .execute("", 0)
                .bind("", "f", &[], false)
                .execute("", 0)
                .sync()),
        ),
        (
            "FETCH of what returns no rows is described",
            end(of("DELETE FROM t")
                .sync()
                .parse("", "FETCH p", &[])
                .describe('S', "")
                .bind("", "", &[], false)
                .describe('P', "")
                .sync()),
        ),
        ("a function fetches and closes", end(open().execute("p", 1).sync().query(taking).execute("p", 0).sync())),
        (
            "an error in FETCH",
            end(of(failing).sync().query("SAVEPOINT s").query("FETCH p").query("ROLLBACK TO s").execute("p", 0).sync()),
        ),
        (
            "an error in Execute",
            end(of(failing).sync().query("SAVEPOINT s").execute("p", 0).sync().query("ROLLBACK TO s").query("FETCH p")),
        ),
        (
            "in a pipeline",
            new()
                .parse("", ids, &[])
                .bind("p", "", &[], false)
                .run("FETCH p", &[])
                .run("CLOSE p", &[])
                .execute("p", 0)
                .sync(),
        ),
        (
            "DECLARE in a pipeline",
            new()
                .run("SELECT 1", &[])
                .run(&format!("DECLARE c CURSOR FOR {ids}"), &[])
                .sync()
                .query(&format!("SELECT 1; DECLARE c CURSOR FOR {ids}; FETCH c")),
        ),
        (
            "DECLARE WITH HOLD in a pipeline",
            new()
                .run("SELECT 1", &[])
                .run(&format!("DECLARE c CURSOR WITH HOLD FOR {ids}"), &[])
                .sync()
                .query("FETCH c")
                .query("CLOSE c"),
        ),
        ("DISCARD ALL", held().execute("c", 1).sync().query("DISCARD ALL").execute("c", 0).sync()),
        ("AND CHAIN", end(open().sync().query("COMMIT AND CHAIN").execute("p", 0).sync())),
        (
            "a cursor's name with a quote in it",
            end(new().query(&format!("BEGIN; DECLARE \"a\"\"b\" CURSOR FOR {ids}")).execute("a\"b", 1).sync()),
        ),
        (
            "FETCH of FETCH",
            end(open()
                .parse("", "FETCH 2 FROM p", &[])
                .bind("q", "", &[], false)
                .sync()
                .query("FETCH q")
                .query("FETCH p")
                .query("FETCH q")),
        ),
    ]
}

fn portals() -> Vec<(&'static str, Talk)> {
    let new = Talk::new;
    let open = || new().query("BEGIN").parse("", "SELECT id FROM t ORDER BY id", &[]).bind("p", "", &[], false);
    vec![
        ("rows by pieces", open().execute("p", 2).execute("p", 2).execute("p", 2).sync().query("COMMIT")),
        (
            "pieces over several syncs",
            open().execute("p", 1).sync().execute("p", 1).sync().execute("p", 0).sync().query("COMMIT"),
        ),
        ("as many as there are", open().execute("p", 3).execute("p", 3).sync().query("COMMIT")),
        ("again, when it is over", open().execute("p", 0).execute("p", 0).sync().query("COMMIT")),
        ("it ends with its transaction", open().execute("p", 1).sync().query("COMMIT").execute("p", 1).sync()),
        (
            "without a transaction it ends with Sync",
            new().parse("", "SELECT 1", &[]).bind("p", "", &[], false).sync().execute("p", 0).sync(),
        ),
        ("a name twice", open().bind("p", "", &[], false).sync().query("ROLLBACK")),
        ("closing one", open().execute("p", 1).close('P', "p").execute("p", 1).sync().query("ROLLBACK")),
        (
            "what changes rows runs once",
            new()
                .query("BEGIN")
                .parse("", "INSERT INTO t VALUES (60), (61) RETURNING id", &[])
                .bind("", "", &[], false)
                .execute("", 1)
                .execute("", 0)
                .sync()
                .query("ROLLBACK"),
        ),
        (
            "what gives no rows runs once",
            new()
                .query("BEGIN")
                .parse("", "DELETE FROM t", &[])
                .bind("", "", &[], false)
                .execute("", 0)
                .execute("", 0)
                .sync()
                .query("ROLLBACK"),
        ),
        ("its statement may go", open().close('S', "").execute("p", 0).sync().query("COMMIT")),
        ("its statement may be another", open().parse("", "SELECT 'x'", &[]).execute("p", 1).sync().query("COMMIT")),
        (
            "it reads what was there",
            open().execute("p", 1).run("INSERT INTO t VALUES (0)", &[]).execute("p", 0).sync().query("ROLLBACK"),
        ),
        (
            "a limit without a transaction",
            new().parse("", "SELECT id FROM t ORDER BY id", &[]).bind("", "", &[], false).execute("", 2).sync(),
        ),
        (
            "describing a cursor",
            new()
                .query("BEGIN; DECLARE c CURSOR FOR SELECT id, name FROM t")
                .describe('P', "c")
                .sync()
                .query("ROLLBACK"),
        ),
        (
            "two at a time",
            open()
                .parse("", "SELECT name FROM t ORDER BY id", &[])
                .bind("q", "", &[], false)
                .execute("p", 1)
                .execute("q", 1)
                .execute("p", 1)
                .execute("q", 0)
                .sync()
                .query("COMMIT"),
        ),
    ]
}

fn parameters() -> Vec<(&'static str, Talk)> {
    let parse = |text: &str| Talk::new().parse("", text, &[]);
    let one: [Option<&[u8]>; 1] = [Some(&[0, 0, 0, 7])];
    vec![
        ("in binary", parse("SELECT $1::int + 1").bind_with("", "", &[1], &one, &[0]).execute("", 0).sync()),
        (
            "oids with names, and vectors, in binary",
            Talk::new()
                .parse("", "SELECT 'pg_class'::regclass, 'integer'::regtype, 'array_in'::regproc, 'abs(integer)'::regprocedure, 0::regproc, '{int4}'::regtype[], '1 2'::int2vector, '3 4'::oidvector", &[])
                .bind("", "", &[], true)
                .describe('P', "")
                .execute("", 0)
                .sync(),
        ),
        ("too few bytes", parse("SELECT $1::int8").bind_with("", "", &[1], &one, &[0]).execute("", 0).sync()),
        ("too many bytes", parse("SELECT $1::int2").bind_with("", "", &[1], &one, &[0]).execute("", 0).sync()),
        ("no such format", parse("SELECT $1::int").bind_with("", "", &[2], &one, &[0]).sync()),
        ("too many formats", parse("SELECT $1::int").bind_with("", "", &[1, 1], &one, &[0]).sync()),
        ("too few values", parse("SELECT $1::int, $2::int").bind_with("", "", &[], &one, &[0]).sync()),
        ("too many results", parse("SELECT 1").bind_with("", "", &[], &[], &[0, 0]).sync()),
        (
            "each its own format",
            parse("SELECT 1, 2, 3").bind_with("", "", &[], &[], &[0, 1, 0]).describe('P', "").execute("", 0).sync(),
        ),
        ("no number", parse("SELECT $1::int").bind("", "", &[Some("x")], false).execute("", 0).sync()),
        ("NULL", parse("SELECT $1::int IS NULL").bind("", "", &[None], false).execute("", 0).sync()),
        ("not UTF-8", parse("SELECT $1::text").bind_with("", "", &[], &[Some(&[0xFF])], &[0]).execute("", 0).sync()),
    ]
}

/// Commands with parameters: which take some, and what those say that take none.
fn commands() -> Vec<(&'static str, Talk)> {
    let new = Talk::new;
    let call = |text: &str, types: &[u32], values: &[Option<&str>]| {
        let whole = |talk: Talk| talk.bind("", "", values, false).describe('P', "").execute("", 0).sync();
        whole(new().query(PROCEDURES).parse("", text, types).describe('S', "")).query("ROLLBACK")
    };
    let named = |text: &str, values: &[Option<&str>]| {
        let prepared = new().query("BEGIN; PREPARE p (int) AS SELECT $1");
        let talk = prepared.parse("", text, &[]).describe('S', "").bind("", "", values, false).execute("", 0).sync();
        talk.query("ROLLBACK; DEALLOCATE p")
    };
    let declared = |text: &str| {
        new().parse("", text, &[23]).describe('S', "").bind("", "", &[Some("3")], false).execute("", 0).sync()
    };
    let (one, four) = ([Some("3")], Some("4"));
    vec![
        ("CALL", call("CALL does($1, $2)", &[], &[four, None])),
        ("CALL, as pgjdbc says it", call("CALL does($1, $2)", &[23, 2278], &[four, None])),
        ("CALL with a type that is none of its", call("CALL does($1, $2)", &[20, 0], &[four, None])),
        ("CALL with NULL for what comes out", call("CALL does($1, NULL)", &[], &[four])),
        ("CALL with too few values", call("CALL does($1, $2)", &[], &[four])),
        ("CALL with what is no number", call("CALL does($1, $2)", &[], &[Some("x"), None])),
        ("CALL with an expression", call("CALL does($1 + 1, $2)", &[], &[four, four])),
        ("CALL the other way round", call("CALL does($2, $1)", &[], &[None, four])),
        ("CALL of what goes in and out", call("CALL turns($1, $2)", &[], &[four, Some("ab")])),
        ("CALL with a default", call("CALL turns($1)", &[], &[four])),
        ("CALL by names", call("CALL turns(b => $1, a => $2)", &[], &[four, Some("5")])),
        ("CALL that gives nothing", call("CALL adds($1)", &[], &[Some("70")])),
        ("CALL that fails", call("CALL adds($1)", &[], &[Some("1")])),
        ("CALL with too many arguments", call("CALL adds($1, $2)", &[], &[four, four])),
        ("CALL of what there is not", call("CALL nothing($1)", &[], &[four])),
        ("CALL of one of two", call("CALL two($1)", &[], &[four])),
        ("CALL of the other", call("CALL two($1, $2)", &[], &[four, None])),
        ("CALL alone", new().query("BEGIN; SELECT 1").query("CALL nothing(1)").query("ROLLBACK")),
        (
            "CREATE TABLE AS",
            new()
                .query("BEGIN")
                .run("CREATE TABLE made AS SELECT $1::int AS a, $2 AS b", &[Some("3"), Some("x")])
                .sync()
                .query("SELECT * FROM made; ROLLBACK"),
        ),
        (
            "CREATE TABLE AS on its own",
            new()
                .parse("", "CREATE TEMP TABLE made AS SELECT id FROM t WHERE id > $1", &[])
                .describe('S', "")
                .bind_with("", "", &[1], &[Some(&[0, 0, 0, 1])], &[])
                .execute("", 0)
                .sync()
                .query("SELECT * FROM made ORDER BY id"),
        ),
        (
            "SELECT INTO",
            new()
                .query("BEGIN")
                .run("SELECT $1::int AS a INTO made", &one)
                .sync()
                .query("SELECT * FROM made; ROLLBACK"),
        ),
        (
            "DECLARE",
            new()
                .query("BEGIN")
                .parse("", "DECLARE c CURSOR FOR SELECT id FROM t WHERE id < $1 ORDER BY id", &[])
                .describe('S', "")
                .bind("", "", &one, false)
                .execute("", 0)
                .sync()
                .query("FETCH ALL FROM c; ROLLBACK"),
        ),
        ("DECLARE outside of a transaction", new().run("DECLARE c CURSOR FOR SELECT $1::int", &one).sync()),
        ("EXPLAIN", new().run("EXPLAIN (COSTS OFF) SELECT $1::int", &one).sync()),
        ("CREATE MATERIALIZED VIEW", new().run("CREATE MATERIALIZED VIEW v AS SELECT $1::int", &one).sync()),
        ("CREATE VIEW", new().run("CREATE VIEW v AS SELECT $1::int", &one).sync()),
        ("DEFAULT", new().run("CREATE TABLE made (a int DEFAULT $1)", &one).sync()),
        ("ALTER TABLE", new().run("ALTER TABLE t ALTER n SET DEFAULT $1", &one).sync()),
        ("EXECUTE", named("EXECUTE p($1)", &one)),
        ("EXECUTE of what needs none", named("EXECUTE p(3)", &one)),
        ("CREATE TABLE AS EXECUTE", named("CREATE TABLE made AS EXECUTE p($1)", &one)),
        ("PREPARE", new().run("PREPARE q AS SELECT $1::int", &one).sync()),
        ("COPY", new().run("COPY (SELECT $1::int) TO STDOUT", &one).sync()),
        ("BEGIN", new().run("BEGIN", &one).sync()),
        ("SET", new().run("SET work_mem = $1", &one).sync()),
        ("SHOW", new().run("SHOW server_encoding", &one).sync()),
        ("SHOW with one that was declared", declared("SHOW server_encoding")),
        ("BEGIN with one that was declared", declared("BEGIN").query("ROLLBACK")),
        ("TRUNCATE with one that was declared", new().query("BEGIN").then(declared("TRUNCATE t")).query("ROLLBACK")),
    ]
}

/// Of a transaction that is open then.
const PROCEDURES: &str = "BEGIN; \
     CREATE PROCEDURE does(a int, OUT b int) LANGUAGE plpgsql AS 'BEGIN b := 2 * a; END'; \
     CREATE PROCEDURE turns(INOUT a int, INOUT b text DEFAULT 'x') LANGUAGE plpgsql AS 'BEGIN a := 2 * a; b := b || b; END'; \
     CREATE PROCEDURE adds(a int) LANGUAGE plpgsql AS 'BEGIN INSERT INTO t VALUES (a); END'; \
     CREATE PROCEDURE two(a int) LANGUAGE plpgsql AS 'BEGIN NULL; END'; \
     CREATE PROCEDURE two(a text, OUT b int) LANGUAGE plpgsql AS 'BEGIN b := 1; END'";

fn copies() -> Vec<(&'static str, Talk)> {
    let new = Talk::new;
    let begin = || new().query("CREATE TEMP TABLE c (a int, b text)").query("COPY c FROM STDIN");
    let count = "SELECT * FROM c ORDER BY a";
    vec![
        ("in", begin().raw(b'd', b"1\tx\n2\t\\N\n").raw(b'c', b"").query(count)),
        ("in by pieces", begin().raw(b'd', b"1\t").raw(b'd', b"x\n2").raw(b'd', b"\ty\n").raw(b'c', b"").query(count)),
        ("in, given up", begin().raw(b'd', b"1\tx\n").raw(b'f', b"enough\0").query(count)),
        ("in, with an error", begin().raw(b'd', b"1\tx\nz\ty\n").raw(b'd', b"3\tz\n").raw(b'c', b"").query(count)),
        ("in, with something else", begin().raw(b'd', b"1\tx\n").query("SELECT 1").query(count)),
        ("in, nothing", begin().raw(b'c', b"").query(count)),
        (
            "in, of what is not there",
            new().query("COPY nothing FROM STDIN").raw(b'd', b"1\n").raw(b'c', b"").query("SELECT 1"),
        ),
        (
            "in by its steps",
            new()
                .query("CREATE TEMP TABLE c (a int, b text)")
                .parse("", "COPY c FROM STDIN", &[])
                .bind("", "", &[], false)
                .describe('P', "")
                .execute("", 0)
                .sync()
                .raw(b'd', b"1\tx\n")
                .raw(b'c', b"")
                .sync()
                .query(count),
        ),
        ("out", new().query("COPY (SELECT id, name FROM t ORDER BY id) TO STDOUT")),
        ("out, nothing", new().query("COPY (SELECT 1 WHERE false) TO STDOUT")),
        ("out in CSV", new().query("COPY (SELECT 1 AS a, E'x\\ny' AS b) TO STDOUT (FORMAT csv, HEADER)")),
        ("out in binary", new().query("COPY (SELECT id, name FROM t ORDER BY id) TO STDOUT (FORMAT binary)")),
        ("out by its steps", new().run("COPY (SELECT 1) TO STDOUT", &[]).sync()),
        ("out among others", new().query("SELECT 1; COPY (SELECT 2) TO STDOUT; SELECT 3")),
        ("data of none", new().raw(b'd', b"x").raw(b'c', b"").raw(b'f', b"x\0").query("SELECT 1")),
    ]
}

fn malformed() -> Vec<(&'static str, Talk)> {
    let new = Talk::new;
    vec![
        ("a kind that there is not", new().raw(b'?', b"x").query("SELECT 1")),
        ("Describe of neither", new().describe('X', "a").sync()),
        ("Close of neither", new().close('X', "a").sync()),
        ("a Parse that ends too soon", new().raw(b'P', b"\0SELECT 1\0\0").sync()),
        ("a Bind that ends too soon", new().parse("", "SELECT 1", &[]).raw(b'B', b"\0\0\0\0\0\x01").sync()),
        ("a text without an end", new().raw(b'Q', b"SELECT 1").query("SELECT 2")),
        ("too much", new().raw(b'Q', b"SELECT 1\0x").query("SELECT 2")),
        ("a Sync with something in it", new().parse("", "SELECT 1", &[]).close('S', "").sync()),
        ("not UTF-8", new().raw(b'Q', b"SELECT '\xff'\0").query("SELECT 1")),
    ]
}

#[test]
fn conversations_come_out_as_in_postgresql() {
    let Some(both) = Both::start() else { return };
    let mut wrong = Vec::new();
    for (name, talk) in scenarios() {
        let (ours, theirs) = both.exchange(&talk);
        if ours != theirs {
            wrong.push(format!("--- {name}\nours:\n{ours}\ntheirs:\n{theirs}"));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}
