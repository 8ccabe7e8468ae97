"""pgcli: the questions that its completion asks, its commands, and the program itself."""

import os
import subprocess
import sys
from pathlib import Path

from pgcli.pgexecute import PGExecute
from pgspecial.main import PGSpecial

from said import ok, url


def connect(password=os.environ["PGPASSWORD"]):
    # `sslmode` and the certificate come from the environment, as for libpq.
    return PGExecute(os.environ["PGDATABASE"], os.environ["PGUSER"], password, "localhost", os.environ["PGPORT"], "")


def run(executor, text, special=None):
    return list(executor.run(text, special, exception_formatter=str, on_error_resume=True))


def login():
    executor = connect()
    assert executor.server_version >= "15" and not executor.is_virtual_database()
    try:
        connect("wrong")
    except Exception as error:
        assert "password authentication failed" in str(error), error
    else:
        raise AssertionError("a wrong password is accepted")
    return executor


def complete(executor):
    run(executor, """
        CREATE SCHEMA other;
        CREATE TABLE author (id int PRIMARY KEY, name text NOT NULL DEFAULT 'Ada', how mood);
        CREATE TABLE other.book (id int PRIMARY KEY, author int REFERENCES author, title varchar(40));
        CREATE VIEW titles AS SELECT title FROM other.book;
        CREATE FUNCTION twice(n int, OUT m int) LANGUAGE sql RETURN 2 * n;
    """)
    assert "other" in executor.schemata() and executor.search_path() == ["pg_catalog", "public"], executor.search_path()
    tables = list(executor.tables())
    assert ("public", "author") in tables and ("other", "book") in tables, tables
    assert ("public", "titles") in executor.views()
    columns = [of for of in executor.table_columns() if of[:2] == ("public", "author")]
    assert columns == [
        ("public", "author", "id", "integer", False, None),
        ("public", "author", "name", "text", True, "'Ada'::text"),
        ("public", "author", "how", "mood", False, None),
    ], columns
    assert ("public", "titles", "title", "character varying", False, None) in executor.view_columns()
    assert os.environ["PGDATABASE"] in executor.databases()
    assert [tuple(of) for of in executor.foreignkeys()] == [("public", "author", "id", "other", "book", "author")]
    (twice,) = [of for of in executor.functions() if of.func_name == "twice"]
    assert (list(twice.arg_names), list(twice.arg_types), list(twice.arg_modes)) == (["n", "m"], ["integer", "integer"], ["i", "o"]), twice
    assert len(list(executor.functions())) > 1
    assert ("public", "mood") in executor.datatypes()
    assert isinstance(list(executor.casing()), list)
    assert "FROM" in executor.view_definition("titles")
    assert "twice" in executor.function_definition("twice")
    executor.set_timezone("Europe/Berlin")
    assert executor.get_timezone() == "Europe/Berlin"


def commands(executor):
    special = PGSpecial()
    for command in ["\\d", "\\dt", "\\dt+", "\\d author", "\\d+ author", "\\d other.book", "\\dv", "\\di", "\\ds", "\\df", "\\df twice",
                    "\\dn", "\\dn+", "\\dT", "\\dT+", "\\l", "\\l+", "\\du", "\\dp", "\\dD", "\\db", "\\dx", "\\sf twice", "\\ddp"]:
        for result in run(executor, command, special):
            assert result[5] is True, (command, result)
    (described,) = run(executor, "\\d other.book", special)
    assert [row[:2] for row in described[1]] == [["id", "integer"], ["author", "integer"], ["title", "character varying(40)"]] or \
        [tuple(row[:2]) for row in described[1]] == [("id", "integer"), ("author", "integer"), ("title", "character varying(40)")], described
    assert "FOREIGN KEY (author) REFERENCES author(id)" in described[3], described[3]


def errors(executor):
    (result,) = run(executor, "SELECT 1 + nope")
    assert result[5] is False and 'column "nope" does not exist' in result[3], result
    assert executor.valid_transaction() is False
    run(executor, "BEGIN")
    assert executor.valid_transaction()
    run(executor, "SELECT 1/0")
    assert executor.failed_transaction()
    run(executor, "ROLLBACK")


def program():
    said = subprocess.run(
        [Path(sys.executable).with_name("pgcli"), "--less-chatty", "-t", "-c", "SELECT 40 + 2", "-c", "\\dt", url("postgresql")],
        capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60,
    )
    assert said.returncode == 0 and "42" in said.stdout and "author" in said.stdout, said


executor = login()
ok("login")
for item in (complete, commands, errors):
    item(executor)
    ok(item.__name__)
program()
ok("program")
