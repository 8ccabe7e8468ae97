"""psycopg 3, and its pool."""

import threading
import time

import psycopg
from psycopg.types.enum import EnumInfo, register_enum
from psycopg.types.json import Json
from psycopg_pool import ConnectionPool

from said import TYPES, ok, quoted

BOUND = "channel_binding=require"


def login():
    with psycopg.connect(BOUND) as conn:
        assert conn.pgconn.ssl_in_use and conn.info.server_version >= 150000
    try:
        psycopg.connect("password=wrong")
    except psycopg.OperationalError as error:
        assert "password authentication failed" in str(error)
    else:
        raise AssertionError("a wrong password is accepted")


def sent(of, value):
    wraps = of in ("json", "jsonb")
    return Json(value) if wraps and value is not None else value


def types(conn):
    register_enum(EnumInfo.fetch(conn, "mood"), conn)
    for binary, mark in ((False, "%t"), (True, "%b")):
        for of, text in TYPES:
            with conn.cursor(binary=binary) as cur:
                literal = f"{quoted(text)}::{of}"
                value = cur.execute(f"SELECT {literal}").fetchone()[0]
                same = f"SELECT ({mark}::{of})::text = ({literal})::text"
                assert cur.execute(same, [sent(of, value)]).fetchone()[0], (of, binary, value)
                assert cur.execute(f"SELECT ({mark}::{of}) IS NULL", [None]).fetchone()[0], of
                values = cur.execute(f"SELECT ARRAY[{literal}, NULL, {literal}]").fetchone()[0]
                assert values == [value, None, value], (of, binary, values)
                same = f"SELECT ({mark}::{of}[])::text = (ARRAY[{literal}, NULL, {literal}])::text"
                values = [sent(of, value) for value in values]
                assert cur.execute(same, [values]).fetchone()[0], (of, binary, values)


def ten(conn):
    conn.execute("CREATE TABLE ten (id int PRIMARY KEY, name text)")
    for turn in range(10):
        conn.execute("INSERT INTO ten VALUES (%s, %s)", [turn, f"name {turn}"], prepare=True)
        found = conn.execute("SELECT name FROM ten WHERE id = %s", [turn], prepare=True).fetchone()
        assert found == (f"name {turn}",)


def batch(conn):
    conn.execute("CREATE TABLE batch (id int PRIMARY KEY)")
    with conn.pipeline():
        with conn.cursor() as cur:
            cur.executemany("INSERT INTO batch VALUES (%s)", [(id,) for id in range(100)])
        counted = conn.execute("SELECT count(*) FROM batch")
    assert counted.fetchone() == (100,)
    with conn.cursor() as cur:
        rows = [(id,) for id in range(100, 103)]
        cur.executemany("INSERT INTO batch VALUES (%s) RETURNING id", rows, returning=True)
        assert cur.fetchone() == (100,)
    try:
        with conn.pipeline():
            conn.execute("INSERT INTO batch VALUES (1000)")
            conn.execute("INSERT INTO batch VALUES (1)")
            conn.execute("INSERT INTO batch VALUES (1001)")
    except psycopg.errors.UniqueViolation:
        pass
    # Nothing behind the error was done.
    assert conn.execute("SELECT count(*) FROM batch WHERE id > 1000").fetchone() == (0,)


def copy(conn):
    conn.execute("CREATE TABLE copied (id int8, name text)")
    with conn.cursor() as cur:
        with cur.copy("COPY copied FROM STDIN (FORMAT BINARY)") as copy:
            copy.set_types(["int8", "text"])
            for id in range(1000):
                copy.write_row((id, None if id % 7 == 0 else f"n {id}"))
        with cur.copy("COPY copied FROM STDIN") as copy:
            copy.write_row((1000, "tab\tand\nline"))
        with cur.copy("COPY (SELECT * FROM copied ORDER BY id) TO STDOUT (FORMAT BINARY)") as copy:
            copy.set_types(["int8", "text"])
            rows = list(copy.rows())
    assert len(rows) == 1001 and rows[7] == (7, None) and rows[1000] == (1000, "tab\tand\nline")


def cancel(conn):
    threading.Timer(1, conn.cancel_safe).start()
    try:
        conn.execute("SELECT count(*) FROM generate_series(1, 100000000000)")
    except psycopg.errors.QueryCanceled as error:
        assert error.sqlstate == "57014"
    else:
        raise AssertionError("it was not cancelled")


def errors(conn):
    conn.execute("CREATE TABLE failing (id int CONSTRAINT one_only PRIMARY KEY)")
    conn.execute("INSERT INTO failing VALUES (1)")
    try:
        conn.execute("INSERT INTO failing VALUES (1)")
    except psycopg.errors.UniqueViolation as error:
        diag = error.diag
        assert (diag.schema_name, diag.table_name, diag.constraint_name) == ("public", "failing", "one_only")
        assert diag.message_detail == "Key (id)=(1) already exists." and diag.severity == "ERROR"
    try:
        conn.execute("SELECT 1 + nope")
    except psycopg.errors.UndefinedColumn as error:
        assert error.diag.statement_position == "12"


def retry(conn):
    conn.execute("CREATE TABLE account (id int PRIMARY KEY, n int)")
    conn.execute("INSERT INTO account VALUES (1, 0)")
    turns = 0
    while True:
        turns += 1
        try:
            with conn.transaction():
                (n,) = conn.execute("SELECT n FROM account WHERE id = 1").fetchone()
                if turns == 1:
                    with psycopg.connect(autocommit=True) as other:
                        other.execute("UPDATE account SET n = n + 10 WHERE id = 1")
                conn.execute("UPDATE account SET n = %s WHERE id = 1", [n + 1])
            break
        except psycopg.errors.SerializationFailure:
            continue
    assert turns == 2 and conn.execute("SELECT n FROM account").fetchone() == (11,)


def listen(conn):
    conn.execute("LISTEN news")
    with psycopg.connect(autocommit=True) as other:
        threading.Timer(0.1, lambda: other.execute("NOTIFY news, 'at last'")).start()
        begun = time.monotonic()
        heard = list(conn.notifies(timeout=10, stop_after=1))
    assert [(of.channel, of.payload) for of in heard] == [("news", "at last")] and time.monotonic() - begun < 5


def pool():
    def reset(conn):
        conn.autocommit = True
        conn.execute("DISCARD ALL")
        conn.autocommit = False

    with ConnectionPool(BOUND, min_size=1, max_size=1, reset=reset) as pool:
        with pool.connection() as conn:
            conn.execute("SET work_mem = '1MB'")
            conn.execute("CREATE TEMP TABLE gone (a int)")
        with pool.connection() as conn:
            assert conn.execute("SHOW work_mem").fetchone() != ("1MB",)
            assert conn.execute("SELECT to_regclass('gone')").fetchone() == (None,)


login()
ok("login")
with psycopg.connect(BOUND, autocommit=True) as conn:
    for item in (types, ten, batch, copy, cancel, errors, retry, listen):
        item(conn)
        ok(item.__name__)
pool()
ok("pool")
