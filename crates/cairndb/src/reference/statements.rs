//! The statements, each with its syntax and an example that runs.

/// A statement of SQL.
///
/// ```
/// let merge = cairndb::reference::STATEMENTS.iter().find(|statement| statement.name == "MERGE").expect("it is there");
/// println!("{}\n{}", merge.syntax, merge.example);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Statement {
    /// Its first words.
    pub name: &'static str,
    /// What can be written: `[]` may be left out, `|` is a choice, `...` may be repeated.
    pub syntax: &'static str,
    /// A script that runs behind those of the statements above it.
    pub example: &'static str,
}

const fn of(name: &'static str, syntax: &'static str, example: &'static str) -> Statement {
    Statement { name, syntax, example }
}

/// What there is, in the order of learning it.
pub static STATEMENTS: &[Statement] = &[
    of(
        "CREATE TABLE",
        "CREATE [TEMPORARY] TABLE [IF NOT EXISTS] name (\n    \
         column type [COLLATE \"C\"] [NOT NULL] [DEFAULT expression] [PRIMARY KEY] [UNIQUE] [CHECK (condition)]\n        \
         [REFERENCES table (column) [ON DELETE action] [ON UPDATE action] [DEFERRABLE [INITIALLY DEFERRED]]]\n        \
         [GENERATED ALWAYS | BY DEFAULT AS IDENTITY [(options)]] [GENERATED ALWAYS AS (expression) [STORED | VIRTUAL]], ...\n    \
         [CONSTRAINT name] PRIMARY KEY | UNIQUE [NULLS NOT DISTINCT] | CHECK | FOREIGN KEY ..., ...\n    \
         [LIKE table [INCLUDING what] ...]\n) [WITH (collection = on, change_feed = on, ...)]",
        "CREATE TABLE author (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE);
         CREATE TABLE book (id bigint PRIMARY KEY, author bigint REFERENCES author (id) ON DELETE CASCADE,
             title text NOT NULL, price numeric(8,2) CHECK (price >= 0), tags jsonb);
         CREATE TABLE note () WITH (collection = on)",
    ),
    of(
        "CREATE TABLE AS",
        "CREATE [TEMPORARY] TABLE [IF NOT EXISTS] name [(columns)]
    AS query | EXECUTE name [(expressions)] [WITH [NO] DATA]",
        "CREATE TABLE numbers AS SELECT n FROM generate_series(1, 10) n",
    ),
    of(
        "INSERT",
        "[WITH name AS (query), ...]\nINSERT INTO table [(columns)] [OVERRIDING SYSTEM | USER VALUE]\n    \
         VALUES (expression | DEFAULT, ...), ... | query | DEFAULT VALUES\n    \
         [ON CONFLICT [(columns or expressions) [WHERE condition] | ON CONSTRAINT name]\n        \
         DO NOTHING | DO UPDATE SET column = expression, ... [WHERE condition]]\n    \
         [RETURNING expression [AS name], ...]",
        "INSERT INTO author (name) VALUES ('Ada'), ('Grace') RETURNING id;
         INSERT INTO book VALUES (1, 1, 'Notes', 12.50, '{\"year\": 1843}')
             ON CONFLICT (id) DO UPDATE SET title = excluded.title",
    ),
    of(
        "SELECT",
        "[WITH [RECURSIVE] name [(columns)] AS [[NOT] MATERIALIZED] (query), ...]\n\
         SELECT [ALL | DISTINCT [ON (expressions)]] expression [AS name], ...\n    \
         FROM table | (query) | function(...) [WITH ORDINALITY] [AS name [(columns)]] [JOIN ...] [LATERAL ...], ...\n    \
         [WHERE condition] [GROUP BY expressions | ROLLUP | CUBE | GROUPING SETS (...) [HAVING condition]]\n    \
         [WINDOW name AS (definition), ...] [UNION | INTERSECT | EXCEPT [ALL] query]\n    \
         [ORDER BY expression [ASC | DESC] [NULLS FIRST | LAST], ...]\n    \
         [LIMIT n] [OFFSET n] [FETCH FIRST n ROWS ONLY | WITH TIES] [FOR UPDATE | FOR SHARE]",
        "SELECT a.name, count(b.id), sum(b.price) FILTER (WHERE b.price > 1)
             FROM author a LEFT JOIN book b ON b.author = a.id GROUP BY a.name ORDER BY a.name;
         WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 5)
             SELECT i, sum(i) OVER (ORDER BY i) FROM n",
    ),
    of("VALUES", "VALUES (expression, ...), ... [ORDER BY ...] [LIMIT n]", "VALUES (1, 'one'), (2, 'two')"),
    of("TABLE", "TABLE name", "TABLE author"),
    of(
        "UPDATE",
        "UPDATE table [AS name] SET column = expression | (columns) = (expressions | query), ...\n    \
         [FROM tables] [WHERE condition | WHERE CURRENT OF cursor] [RETURNING ...]",
        "UPDATE book SET price = price * 1.1, tags['year'] = '1844' WHERE id = 1 RETURNING old.price, new.price",
    ),
    of(
        "DELETE",
        "DELETE FROM table [AS name] [USING tables] [WHERE condition | WHERE CURRENT OF cursor] [RETURNING ...]",
        "DELETE FROM numbers WHERE n > 5 RETURNING n",
    ),
    of(
        "MERGE",
        "MERGE INTO table [AS name] USING table | (query) ON condition\n    \
         WHEN [NOT] MATCHED [AND condition] THEN UPDATE SET ... | DELETE | INSERT ... | DO NOTHING, ...\n    \
         [RETURNING merge_action(), ...]",
        "MERGE INTO numbers USING (VALUES (1), (20)) s (n) ON numbers.n = s.n
             WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (s.n) RETURNING merge_action(), numbers.n",
    ),
    of(
        "TRUNCATE",
        "TRUNCATE [TABLE] name, ... [RESTART IDENTITY | CONTINUE IDENTITY] [CASCADE | RESTRICT]",
        "TRUNCATE numbers RESTART IDENTITY",
    ),
    of(
        "COPY",
        "COPY table [(columns)] FROM STDIN [WITH (option, ...)] [WHERE condition]\n\
         COPY table [(columns)] | (query) TO STDOUT [WITH (option, ...)]\n\
         option: FORMAT text | csv | binary, HEADER [boolean | MATCH], DELIMITER 'x', NULL 'text', QUOTE 'x', ESCAPE 'x',\n    \
         FORCE_QUOTE (columns) | *, FORCE_NOT_NULL (columns), FORCE_NULL (columns), FREEZE, ENCODING 'name'",
        "COPY (SELECT * FROM author) TO STDOUT WITH (FORMAT csv, HEADER)",
    ),
    of(
        "CREATE INDEX",
        "CREATE [UNIQUE] INDEX [CONCURRENTLY] [IF NOT EXISTS] [name] ON table [USING btree | gin]\n    \
         (column | (expression) [ASC | DESC] [NULLS FIRST | LAST], ...) [INCLUDE (columns)]\n    \
         [NULLS [NOT] DISTINCT] [WHERE condition]",
        "CREATE INDEX book_title ON book (lower(title), price DESC) WHERE price > 0;
         CREATE INDEX book_tags ON book USING gin (tags jsonb_path_ops)",
    ),
    of(
        "ALTER TABLE",
        "ALTER TABLE [IF EXISTS] name\n    \
         ADD [COLUMN] column type ... | DROP [COLUMN] column [CASCADE] | ALTER [COLUMN] column\n        \
         TYPE type [USING expression] | SET DEFAULT expression | DROP DEFAULT | SET NOT NULL | DROP NOT NULL |\n        \
         ADD GENERATED ... AS IDENTITY | SET GENERATED ... | DROP IDENTITY |\n        \
         SET EXPRESSION AS (expression) | DROP EXPRESSION\n    \
         ADD constraint [NOT VALID] | VALIDATE CONSTRAINT name | DROP CONSTRAINT name | ALTER CONSTRAINT name ...\n    \
         ENABLE | DISABLE TRIGGER name | ALL | USER\n    \
         SET (collection = on | off, change_feed = on | off, change_feed_age = 'interval', change_feed_bytes = 'size') | RESET (...), ...\n\
         ALTER TABLE name RENAME [COLUMN | CONSTRAINT] name TO name | RENAME TO name | SET SCHEMA name",
        "ALTER TABLE book ADD COLUMN pages integer NOT NULL DEFAULT 0, ADD CHECK (pages >= 0);
         ALTER TABLE book RENAME COLUMN pages TO leaves",
    ),
    of(
        "CREATE VIEW",
        "CREATE [OR REPLACE] [TEMPORARY] VIEW name [(columns)] AS query [WITH [LOCAL | CASCADED] CHECK OPTION]",
        "CREATE VIEW titles AS SELECT a.name, b.title FROM author a JOIN book b ON b.author = a.id",
    ),
    of(
        "ALTER VIEW",
        "ALTER VIEW [IF EXISTS] name RENAME [COLUMN] name TO name | RENAME TO name | SET SCHEMA name |\n    \
         ALTER [COLUMN] column SET DEFAULT expression | ALTER [COLUMN] column DROP DEFAULT |\n    \
         SET (check_option = local | cascaded) | RESET (check_option)",
        "ALTER VIEW titles RENAME COLUMN title TO book",
    ),
    of(
        "CREATE MATERIALIZED VIEW",
        "CREATE MATERIALIZED VIEW [IF NOT EXISTS] name [(columns)] [WITH (maintained [= commit | after])]\n    AS query [WITH [NO] DATA]",
        "CREATE MATERIALIZED VIEW prices AS SELECT author, sum(price) FROM book GROUP BY author",
    ),
    of(
        "REFRESH MATERIALIZED VIEW",
        "REFRESH MATERIALIZED VIEW [CONCURRENTLY] name [WITH [NO] DATA]",
        "REFRESH MATERIALIZED VIEW prices",
    ),
    of(
        "CREATE SEQUENCE",
        "CREATE [TEMPORARY] SEQUENCE [IF NOT EXISTS] name [AS type] [START n] [INCREMENT n] [MINVALUE n] [MAXVALUE n]\n    \
         [CACHE n] [CYCLE] [OWNED BY table.column]",
        "CREATE SEQUENCE numbering START 100; SELECT nextval('numbering')",
    ),
    of(
        "ALTER SEQUENCE",
        "ALTER SEQUENCE name [RESTART [WITH n]] [INCREMENT n] [MINVALUE n] [MAXVALUE n] [CYCLE] [OWNED BY ...]",
        "ALTER SEQUENCE numbering RESTART WITH 5",
    ),
    of(
        "CREATE TYPE",
        "CREATE TYPE name AS ENUM ('label', ...) | AS (attribute type, ...)",
        "CREATE TYPE mood AS ENUM ('sad', 'happy'); CREATE TYPE pair AS (a integer, b text)",
    ),
    of(
        "ALTER TYPE",
        "ALTER TYPE name ADD VALUE [IF NOT EXISTS] 'label' [BEFORE | AFTER 'label'] | RENAME VALUE 'label' TO 'label' |\n    \
         RENAME TO name | SET SCHEMA name | ADD ATTRIBUTE ... | DROP ATTRIBUTE ... | ALTER ATTRIBUTE ...",
        "ALTER TYPE mood ADD VALUE 'calm' BEFORE 'happy'",
    ),
    of(
        "CREATE DOMAIN",
        "CREATE DOMAIN name AS type [DEFAULT expression] [NOT NULL] [CONSTRAINT name] [CHECK (condition on VALUE)] ...",
        "CREATE DOMAIN positive AS integer CHECK (VALUE > 0)",
    ),
    of(
        "CREATE FUNCTION",
        "CREATE [OR REPLACE] FUNCTION name ([IN | OUT | INOUT | VARIADIC] [argument] type [DEFAULT expression], ...)\n    \
         RETURNS [SETOF] type | record | TABLE (column type, ...) | trigger\n    \
         LANGUAGE sql | plpgsql [IMMUTABLE | STABLE | VOLATILE] [STRICT] [SET search_path = schema, ...]\n    \
         AS $$ body $$ | RETURN expression | BEGIN ATOMIC statements END",
        "CREATE FUNCTION twice(n integer) RETURNS integer LANGUAGE sql IMMUTABLE RETURN n * 2; SELECT twice(21)",
    ),
    of(
        "CREATE PROCEDURE",
        "CREATE [OR REPLACE] PROCEDURE name (...) LANGUAGE sql | plpgsql [SET search_path = schema, ...] AS $$ body $$",
        "CREATE PROCEDURE add_author(name text) LANGUAGE sql AS $$ INSERT INTO author (name) VALUES (name) $$",
    ),
    of(
        "ALTER FUNCTION",
        "ALTER FUNCTION | PROCEDURE | ROUTINE name [(types)] RENAME TO name | SET SCHEMA name | OWNER TO role |\n    \
         [IMMUTABLE | STABLE | VOLATILE] [STRICT | CALLED ON NULL INPUT] [SET search_path = schema, ... | RESET search_path]",
        "ALTER FUNCTION twice(integer) STRICT SET search_path = public; ALTER FUNCTION twice(integer) RENAME TO doubled",
    ),
    of(
        "CALL",
        "CALL procedure (arguments)
bodies of CALL and DO outside of a transaction block, in PL/pgSQL: COMMIT [AND [NO] CHAIN]; ROLLBACK [AND [NO] CHAIN];",
        "CALL add_author('Barbara')",
    ),
    of(
        "DO",
        "DO [LANGUAGE plpgsql] $$ body $$",
        "DO $$ BEGIN RAISE NOTICE 'there are %', (SELECT count(*) FROM book); END $$",
    ),
    of(
        "CREATE TRIGGER",
        "CREATE [OR REPLACE] [CONSTRAINT] TRIGGER name BEFORE | AFTER | INSTEAD OF\n    \
         INSERT | UPDATE [OF columns] | DELETE | TRUNCATE [OR ...] ON table or view\n    \
         [REFERENCING OLD | NEW TABLE AS name ...] [FOR EACH ROW | STATEMENT] [WHEN (condition)]\n    \
         EXECUTE FUNCTION name ('argument', ...)",
        "CREATE FUNCTION shout() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN NEW.title := upper(NEW.title); RETURN NEW; END $$;
         CREATE TRIGGER shouting BEFORE INSERT ON book FOR EACH ROW EXECUTE FUNCTION shout()",
    ),
    of("CREATE SCHEMA", "CREATE SCHEMA [IF NOT EXISTS] name", "CREATE SCHEMA archive"),
    of(
        "CREATE AGGREGATE",
        "CREATE [OR REPLACE] AGGREGATE name (arguments | *) (SFUNC = function, STYPE = type [, FINALFUNC = function]\n    \
         [, FINALFUNC_EXTRA] [, INITCOND = 'state'] [, COMBINEFUNC = ..., PARALLEL = ..., ...])\n\
         ALTER AGGREGATE name (arguments | *) RENAME TO name | SET SCHEMA schema\n\
         DROP AGGREGATE [IF EXISTS] name (arguments | *), ... [CASCADE | RESTRICT]",
        "CREATE AGGREGATE last_of(text) (SFUNC = text_larger, STYPE = text); SELECT last_of(title) FROM book",
    ),
    of(
        "CREATE EXTENSION",
        "CREATE EXTENSION [IF NOT EXISTS] name [WITH] [SCHEMA schema] [VERSION version] [CASCADE]\n\
         ALTER EXTENSION name UPDATE [TO version] | SET SCHEMA schema\nDROP EXTENSION [IF EXISTS] name, ... [CASCADE | RESTRICT]",
        "CREATE EXTENSION \"uuid-ossp\" WITH SCHEMA public; SELECT public.uuid_generate_v4() IS NOT NULL",
    ),
    of(
        "COMMENT ON",
        "COMMENT ON TABLE | COLUMN | INDEX | VIEW | SEQUENCE | TRIGGER | TYPE | ... name IS 'text' | NULL",
        "COMMENT ON TABLE book IS 'what was written'",
    ),
    of(
        "DROP",
        "DROP TABLE | VIEW | MATERIALIZED VIEW | INDEX | SEQUENCE | TYPE | DOMAIN | FUNCTION | PROCEDURE | SCHEMA\n    \
         [IF EXISTS] name, ... [CASCADE | RESTRICT]\nDROP TRIGGER [IF EXISTS] name ON table",
        "DROP TRIGGER shouting ON book; DROP TABLE IF EXISTS numbers, nothing; DROP SCHEMA archive",
    ),
    of(
        "BEGIN",
        "BEGIN | START TRANSACTION [ISOLATION LEVEL SERIALIZABLE | ...] [READ ONLY | READ WRITE] [DEFERRABLE]",
        "BEGIN; INSERT INTO author (name) VALUES ('Margaret')",
    ),
    of("SAVEPOINT", "SAVEPOINT name", "SAVEPOINT before; DELETE FROM author"),
    of("ROLLBACK", "ROLLBACK [TO [SAVEPOINT] name] [AND CHAIN]", "ROLLBACK TO before"),
    of("RELEASE SAVEPOINT", "RELEASE [SAVEPOINT] name", "RELEASE before"),
    of("SET CONSTRAINTS", "SET CONSTRAINTS ALL | name, ... DEFERRED | IMMEDIATE", "SET CONSTRAINTS ALL IMMEDIATE"),
    of("COMMIT", "COMMIT [AND CHAIN]", "COMMIT"),
    of(
        "PREPARE",
        "PREPARE name [(types)] AS statement\nEXECUTE name [(expressions)]\nDEALLOCATE name | ALL",
        "PREPARE by_id (bigint) AS SELECT name FROM author WHERE id = $1; EXECUTE by_id (1); DEALLOCATE by_id",
    ),
    of(
        "DECLARE",
        "DECLARE name [[NO] SCROLL] CURSOR [WITH HOLD] FOR query\n\
         FETCH | MOVE [NEXT | PRIOR | FIRST | LAST | ABSOLUTE n | RELATIVE n | FORWARD n | BACKWARD n | ALL] FROM name\n\
         CLOSE name | ALL",
        "DECLARE all_authors CURSOR WITH HOLD FOR TABLE author; FETCH 2 FROM all_authors; CLOSE all_authors",
    ),
    of(
        "LISTEN",
        "LISTEN channel\nNOTIFY channel [, 'payload']\nUNLISTEN channel | *",
        "LISTEN news; NOTIFY news, 'a new book'; SELECT pg_notify('news', title) FROM book; UNLISTEN *",
    ),
    of("SUBSCRIBE", "SUBSCRIBE query", "SUBSCRIBE SELECT id, title FROM book WHERE price > 1"),
    of(
        "EXPLAIN",
        "EXPLAIN [(ANALYZE, VERBOSE, COSTS off, FORMAT text | json | yaml, ...)]
    statement | EXECUTE name [(expressions)] | CREATE TABLE AS ... | CREATE MATERIALIZED VIEW ... | DECLARE ...",
        "EXPLAIN (ANALYZE) SELECT count(*) FROM book",
    ),
    of("ANALYZE", "ANALYZE [table [(columns)], ...]", "ANALYZE book"),
    of("CHECKPOINT", "CHECKPOINT", "CHECKPOINT"),
    of("VACUUM", "VACUUM [(FULL)] [table]", "VACUUM"),
    of(
        "REINDEX",
        "REINDEX [(CONCURRENTLY)] INDEX | TABLE | SCHEMA | DATABASE [CONCURRENTLY] name",
        "REINDEX TABLE book",
    ),
    of(
        "SET",
        "SET [LOCAL | SESSION] setting = value | DEFAULT\nRESET setting | ALL\nSHOW setting | ALL",
        "SET search_path = public; SHOW search_path; RESET search_path",
    ),
];
